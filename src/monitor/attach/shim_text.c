/*
 * monitor/attach/shim_text.c - wizeng in a program: a monitor's output goes through the runtime
 * that prints the text of scripts (stdlib/runtime/print.c), in a memory of its own.
 */
#include "monitor/attach/shim_imports.h"

#include "../../../stdlib/runtime/values.h" /* the layout of the runtime's memory */
#include "edit/merge.h"
#include "inject/program.h"
#include "link/runtime.h"
#include "report/image.h"
#include "valid/valid.h"

enum { PAGE = 65536, CHUNK = 1024 }; /* bytes that go from a monitor's memory at once */

typedef enum TextFn {
    TEXT_PUTI,
    TEXT_PUTC,
    TEXT_PUTS,
    TEXT_FLUSH,
    TEXT_NOW,
    TEXT_FUNCTIONS
} TextFn;

static const char *const exports[TEXT_FUNCTIONS] = {"whammc_puti32", "whammc_putc", "whammc_puts",
                                                    "whammc_flush", "whammc_now_ns"};

/* wizeng.puts for one memory. */
typedef struct Puts {
    uint32_t memory, func;
} Puts;

typedef struct BindText {
    BindShim *shim;
    HostChoice host;
    WasmModule from;
    RuntimePlace place; /* of `from` */
    WasmMerge merge;
    Vec(Puts) puts;
    bool prints; /* there is something to flush */
    bool reads_clock;
} BindText;

/* ---- where text goes ---- */

/* The WASI functions of bind_wasi. */
static bool shim_text_is_replaced(const WasmImport *im) {
    return str_is(im->module, "wasi_snapshot_preview1") &&
           (str_is(im->name, "fd_write") || str_is(im->name, "clock_time_get"));
}

/* Whether a module uses more of WASI. */
static bool module_needs_wasi(const WasmModule *m) {
    for (uint32_t i = 0; i < m->input_import_count; i++)
        if (wasm_is_wasi(m->imports.at[i].module) && !shim_text_is_replaced(&m->imports.at[i]))
            return true;
    return false;
}

static bool monitors_need_wasi(const BindShim *s) {
    bool needs = false;
    for (uint32_t k = 0; k < s->parts.len; k++)
        for (uint32_t n = 0; n < bind_host_count(s->parts.at[k]->host); n++)
            needs |= module_needs_wasi(bind_host_module(s->parts.at[k]->host, n)->module);
    return needs;
}

static HostChoice choose_host(const BindShim *s) {
    return runtime_host(s->to, s->options.host, monitors_need_wasi(s));
}

bool bind_replaces_wasi(const BindShim *s, const Frozen *module) {
    return bind_memory(module) >= 0 && choose_host(s) != HOST_WASI && !monitors_need_wasi(s);
}

/* ---- the runtime ---- */

/* The memory: the runtime's state, room for a chunk, an image that says where text goes, the heap.
 */
static void shim_text_add_memory(BindText *t) {
    WasmModule *to = t->shim->to;
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    Image *image = image_new();
    Buf bytes = {0};
    image_finish(image, &(ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}, &bytes);
    image_free(image);
    uint32_t image_at = VALUES_STACK + CHUNK;
    uint32_t heap = (image_at + (uint32_t)bytes.len + 7) & ~7u;
    limits.min = (heap + PAGE - 1) / PAGE;
    t->place.memory = wasm_add_memory(to, limits, STR("whammc.text"));
    runtime_add_state(
        to, t->place.memory,
        &(RuntimeState){
            .heap = heap, .maps = heap, .image = image_at, .image_len = (uint32_t)bytes.len},
        STR("whammc.text.state"));
    wasm_add_data_active(to, t->place.memory, image_at, &bytes, STR("whammc.text.image"));
    t->place.stack_pointer = wasm_add_global_i32(to, true, STR("whammc.text.stack"), VALUES_STACK);
}

/* A function of the runtime, with a message -2. */
static int64_t runtime_func(BindText *t, const char *name) {
    const WasmExport *e = wasm_find_export(&t->from, WASM_SPACE_FUNC, str_of(name));
    if (!wasm_merge(&t->merge, &e->handle, 1, t->shim->diags))
        return -2;
    return t->merge.handles[WASM_SPACE_FUNC][e->handle];
}

/* For HOST_NONE: where the text is. */
static bool export_text(BindText *t) {
    int64_t ptr = runtime_func(t, "whammc_report_ptr"), len = runtime_func(t, "whammc_report_len");
    if (ptr < 0 || len < 0)
        return false;
    wasm_add_export(t->shim->to, STR("whammc:report_ptr"), WASM_SPACE_FUNC, (uint32_t)ptr);
    wasm_add_export(t->shim->to, STR("whammc:report_len"), WASM_SPACE_FUNC, (uint32_t)len);
    return true;
}

/* Begins with the first function that is needed. False with a message. */
static bool shim_text_begin(BindShim *s) {
    if (s->text)
        return true;
    BindText *t = s->text = mem_zalloc(sizeof *t);
    t->shim = s;
    t->host = choose_host(s);
    t->place = (RuntimePlace){.to = s->to, .from = &t->from, .prefix = STR("whammc.text.")};
    shim_text_add_memory(t);
    if (!runtime_show(&t->place, t->host, s->diags))
        return false;
    RuntimeModule rt = runtime_module(runtime_for(&t->place, t->host, false), true);
    t->merge = (WasmMerge){.to = s->to,
                           .from = &t->from,
                           .memory = t->place.memory,
                           .resolve = runtime_resolve,
                           .ctx = &t->place,
                           .prefix = t->place.prefix};
    return wasm_load_own(&t->from, rt.bytes, rt.len, s->diags) &&
           (t->host != HOST_NONE || export_text(t));
}

/* ---- wizeng ---- */

static int64_t text_func(BindShim *s, TextFn fn) {
    if (!shim_text_begin(s))
        return -2;
    s->text->reads_clock |= fn == TEXT_NOW;
    if (fn != TEXT_NOW && !s->text->prints) {
        s->text->prints = true;
        if (runtime_func(s->text, exports[TEXT_FLUSH]) < 0)
            return -2;
    }
    return runtime_func(s->text, exports[fn]);
}

/* (address, length): chunk by chunk to the runtime's memory. */
static void emit_puts(Buf *code, const BindText *t, uint32_t memory, uint32_t puts) {
    WasmModule *to = t->shim->to;
    emit_body(code,
              "param $at i32 $len i32 local $n i32 $chunk=%u $stack=%u $text=%u $memory=%u $puts=%u"
              " %s"
              " loop"
              "   local.get $len"
              "   if"
              /* n = min(len, chunk) */
              "     local.get $len i32.const $chunk local.get $len i32.const $chunk i32.lt_u select"
              "     local.set $n"
              "     i32.const $stack local.get $at %s local.get $n memory.copy $text $memory"
              "     i32.const $stack local.get $n call $puts"
              "     local.get $at local.get $n i32.add local.set $at"
              "     local.get $len local.get $n i32.sub local.set $len"
              "     br 1"
              "   end"
              " end",
              CHUNK, VALUES_STACK, t->place.memory, memory, puts,
              bind_check(to, memory, "$at", "$len"),
              emit_resized(WASM_I32, wasm_memory_address(to, memory)));
}

static int64_t add_trap(const Frozen *module, const WasmImport *im) {
    Buf code = {0};
    emit_body(&code, "unreachable");
    return bind_add_func(module, im, &code);
}

/* The function (address, length) for a memory, which is called `name` if it is new. */
static int64_t puts_from(BindShim *s, uint32_t memory, const char *name) {
    int64_t puts = text_func(s, TEXT_PUTS);
    if (puts < 0)
        return puts;
    BindText *t = s->text;
    for (uint32_t k = 0; k < t->puts.len; k++)
        if (t->puts.at[k].memory == memory)
            return t->puts.at[k].func;
    Buf code = {0};
    emit_puts(&code, t, memory, (uint32_t)puts);
    uint32_t type = wasm_add_func_type(s->to, (WasmType[]){WASM_I32, WASM_I32}, 2, NULL, 0);
    uint32_t func = wasm_add_func(s->to, type, str_of(name), &code, false);
    vec_push(&t->puts, (Puts){memory, func});
    return func;
}

static int64_t add_puts(BindShim *s, const Frozen *module, const WasmImport *im) {
    int64_t memory = bind_memory(module);
    return memory < 0 ? add_trap(module, im) : puts_from(s, (uint32_t)memory, "whammc.wizeng.puts");
}

/* (address, length): prints the text as a line, then traps. */
static int64_t shim_text_add_error(BindShim *s, const Frozen *module, const WasmImport *im) {
    if (bind_memory(module) < 0)
        return add_trap(module, im);
    int64_t puts = add_puts(s, module, im);
    int64_t putc = puts < 0 ? puts : text_func(s, TEXT_PUTC);
    int64_t flush = putc < 0 ? putc : text_func(s, TEXT_FLUSH);
    if (flush < 0)
        return flush;
    Buf code = {0};
    emit_body(&code, "local.get 0 local.get 1 call %u i32.const %d call %u call %u unreachable",
              (unsigned)puts, '\n', (unsigned)putc, (unsigned)flush);
    return bind_add_func(module, im, &code);
}

static int64_t add_nothing(const Frozen *module, const WasmImport *im) {
    Buf code = {0};
    emit_body(&code, "%s", ""); /* no instructions */
    return bind_add_func(module, im, &code);
}

int64_t bind_wizeng(BindShim *s, const Frozen *module, const WasmImport *im) {
    if (str_is(im->name, "puti"))
        return text_func(s, TEXT_PUTI);
    if (str_is(im->name, "putc"))
        return text_func(s, TEXT_PUTC);
    if (str_is(im->name, "puts"))
        return add_puts(s, module, im);
    if (str_is(im->name, "rdtsc"))
        return text_func(s, TEXT_NOW);
    if (str_is(im->name, "force_gc"))
        return add_nothing(module, im);
    if (str_is(im->name, "error"))
        return shim_text_add_error(s, module, im);
    if (str_is(im->name, "crash"))
        return add_trap(module, im);
    return -1;
}

/* ---- WASI ---- */

/* (descriptor, list of addresses and lengths, its length, where the sum goes): standard output and
 * standard error are the text. */
static int64_t add_fd_write(BindShim *s, const Frozen *module, const WasmImport *im) {
    enum { BAD_DESCRIPTOR = 8, PIECE = 8 };
    uint32_t memory = (uint32_t)bind_memory(module);
    int64_t puts = puts_from(s, memory, "whammc.text.puts");
    if (puts < 0)
        return puts;
    const char *widen = emit_resized(WASM_I32, wasm_memory_address(s->to, memory));
    Buf code = {0};
    emit_body(&code,
              "param $fd i32 $list i32 $n i32 $written i32 local $sum i32 $memory=%u $puts=%u"
              " local.get $fd i32.const 1 i32.sub i32.const 1 i32.gt_u if i32.const %d return end"
              " loop"
              "   local.get $n"
              "   if"
              "     local.get $list %s i32.load $memory 0"
              "     local.get $list %s i32.load $memory 4 call $puts"
              "     local.get $sum local.get $list %s i32.load $memory 4 i32.add local.set $sum"
              "     local.get $list i32.const %d i32.add local.set $list"
              "     local.get $n i32.const 1 i32.sub local.set $n"
              "     br 1"
              "   end"
              " end"
              " local.get $written %s local.get $sum i32.store $memory 0 i32.const 0",
              memory, (uint32_t)puts, BAD_DESCRIPTOR, widen, widen, widen, PIECE, widen);
    return bind_add_func(module, im, &code);
}

/* (clock, precision, where the time goes): each clock is the monotonic one. */
static int64_t add_clock(BindShim *s, const Frozen *module, const WasmImport *im) {
    uint32_t memory = (uint32_t)bind_memory(module);
    int64_t now = text_func(s, TEXT_NOW);
    if (now < 0)
        return now;
    Buf code = {0};
    emit_body(&code,
              "param $clock i32 $precision i64 $to i32"
              " local.get $to %s call %u i64.store %u 0 i32.const 0",
              emit_resized(WASM_I32, wasm_memory_address(s->to, memory)), (unsigned)now, memory);
    return bind_add_func(module, im, &code);
}

int64_t bind_wasi(BindShim *s, const Frozen *module, const WasmImport *im) {
    return str_is(im->name, "fd_write") ? add_fd_write(s, module, im) : add_clock(s, module, im);
}

int64_t bind_text_flush(const BindShim *s) {
    const BindText *t = s->text;
    if (!t || !t->prints)
        return -1;
    const WasmExport *e = wasm_find_export(&t->from, WASM_SPACE_FUNC, str_of(exports[TEXT_FLUSH]));
    return t->merge.handles[WASM_SPACE_FUNC][e->handle];
}

HostChoice bind_text_host(const BindShim *s) {
    return s->text && s->text->prints ? s->text->host : HOST_AUTO;
}

bool bind_text_clockless(const BindShim *s) {
    return s->text && s->text->reads_clock && s->text->host == HOST_NONE;
}

void bind_text_free(BindShim *s) {
    if (!s->text)
        return;
    wasm_merge_free(&s->text->merge);
    wasm_module_free(&s->text->from);
    vec_free(&s->text->puts);
    free(s->text);
}
