/*
 * attach/shim_text.c - wizeng in a program: what a monitor prints goes out through the runtime
 * that prints the text of scripts (stdlib/runtime/print.c), in a memory of its own.
 */
#include "attach/shim_imports.h"

#include "report/image.h"
#include "inject/program.h"
#include "link/runtime.h"
#include "../../stdlib/runtime/values.h" /* the layout of the runtime's memory */
#include "edit/merge.h"
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
} BindText;

/* ---- where text goes ---- */

static HostChoice choose_host(const BindShim *s) {
    bool wasi = false;
    for (uint32_t k = 0; k < s->parts.len; k++)
        for (uint32_t n = 0; n < bind_host_count(s->parts.at[k]->host); n++)
            wasi |= host_uses_wasi(bind_host_module(s->parts.at[k]->host, n)->module);
    return runtime_host(s->to, s->options.host, wasi);
}

/* ---- the runtime ---- */

/* The memory: the runtime's state, room for a chunk, an image that says where text goes, the heap.
 */
static void add_memory(BindText *t) {
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
static bool begin(BindShim *s) {
    if (s->text)
        return true;
    BindText *t = s->text = mem_zalloc(sizeof *t);
    t->shim = s;
    t->host = choose_host(s);
    t->place = (RuntimePlace){.to = s->to, .from = &t->from, .prefix = STR("whammc.text.")};
    add_memory(t);
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
    if (!begin(s))
        return -2;
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

static int64_t add_puts(BindShim *s, const Frozen *module, const WasmImport *im) {
    int64_t memory = bind_memory(module);
    if (memory < 0)
        return add_trap(module, im);
    int64_t puts = text_func(s, TEXT_PUTS);
    if (puts < 0)
        return puts;
    BindText *t = s->text;
    for (uint32_t k = 0; k < t->puts.len; k++)
        if (t->puts.at[k].memory == memory)
            return t->puts.at[k].func;
    Buf code = {0};
    emit_puts(&code, t, (uint32_t)memory, (uint32_t)puts);
    uint32_t func = bind_add_func(module, im, &code);
    vec_push(&t->puts, (Puts){(uint32_t)memory, func});
    return func;
}

/* (address, length): what the text is goes out as a line, then the trap. */
static int64_t add_error(BindShim *s, const Frozen *module, const WasmImport *im) {
    WasmImport as_puts = *im; /* it has the same type */
    as_puts.name = STR("puts");
    if (bind_memory(module) < 0)
        return add_trap(module, im);
    int64_t puts = add_puts(s, module, &as_puts);
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
        return add_error(s, module, im);
    if (str_is(im->name, "crash"))
        return add_trap(module, im);
    return -1;
}

int64_t bind_text_flush(const BindShim *s) {
    const BindText *t = s->text;
    if (!t || !t->prints)
        return -1;
    const WasmExport *e = wasm_find_export(&t->from, WASM_SPACE_FUNC, str_of(exports[TEXT_FLUSH]));
    return t->merge.handles[WASM_SPACE_FUNC][e->handle];
}

void bind_text_free(BindShim *s) {
    if (!s->text)
        return;
    wasm_merge_free(&s->text->merge);
    wasm_module_free(&s->text->from);
    vec_free(&s->text->puts);
    free(s->text);
}
