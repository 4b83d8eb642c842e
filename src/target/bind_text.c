/*
 * target/bind_text.c - wizeng in a program: what a monitor prints goes out through the runtime that
 * prints the text of scripts (stdlib/runtime/print.c), in a memory of its own.
 */
#include "target/bind_imports.h"

#include "report/image.h"
#include "report/runtime.h"
#include "target/program.h"
#include "../../stdlib/runtime/values.h" /* the layout of the runtime's memory */

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
    uint32_t memory, stack_pointer;
    int64_t shown; /* the memory that WASI sees */
    WasmModule from;
    WasmMerge merge;
    Vec(Puts) puts;
    bool prints; /* there is something to flush */
} BindText;

/* ---- where text goes ---- */

static bool imports_wasi(const WasmModule *m) {
    for (uint32_t k = 0; k < m->input_import_count; k++)
        if (str_is(m->imports.at[k].module, "wasi_snapshot_preview1") ||
            str_is(m->imports.at[k].module, "wasi_unstable"))
            return true;
    return false;
}

static HostChoice choose_host(const BindShim *s) {
    if (s->options.host != HOST_AUTO)
        return s->options.host;
    bool wasi = imports_wasi(s->to);
    for (uint32_t k = 0; k < s->parts.len; k++)
        for (uint32_t n = 0; n < bind_host_count(s->parts.at[k]->host); n++)
            wasi |= imports_wasi(bind_host_module(s->parts.at[k]->host, n)->module);
    if (wasi)
        return HOST_WASI;
    return s->to->input_import_count ? HOST_JS : HOST_NONE;
}

static RuntimeHost runtime_for(const BindText *t) {
    switch (t->host) {
    case HOST_JS: return RUNTIME_JS;
    case HOST_WASI: return t->shown == t->memory ? RUNTIME_WASI : RUNTIME_BORROW;
    default: return RUNTIME_NONE;
    }
}

/* Makes the host see a memory: WASI looks at the one exported as 'memory', which is the program's
 * if it has one. */
static bool show_memory(BindText *t) {
    WasmModule *to = t->shim->to;
    bool wasi = t->host == HOST_WASI;
    t->shown = t->memory;
    for (uint32_t k = 0; wasi && k < to->exports.len; k++) {
        const WasmExport *e = &to->exports.at[k];
        if (!str_is(e->name, "memory"))
            continue;
        t->shown = e->handle;
        if (e->space == WASM_SPACE_MEMORY)
            return true;
        diag(t->shim->diags, DIAG_CANNOT_HOST, (Span){to->file, 0, 0},
             "WASI looks at the exported 'memory', but the program exports a %s under that name",
             wasm_space_name((WasmSpace)e->space));
        return false;
    }
    wasm_add_export(to, wasi ? STR("memory") : STR("whammc:memory"), WASM_SPACE_MEMORY, t->memory);
    return true;
}

/* ---- the runtime ---- */

/* The memory: the runtime's state, room for a chunk, an image that says where text goes, the heap.
 */
static void add_memory(BindText *t) {
    WasmModule *to = t->shim->to;
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    Image *image = image_new();
    Buf bytes = {0}, state = {0};
    image_finish(image, &(ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}, &bytes);
    image_free(image);
    uint32_t image_at = VALUES_STACK + CHUNK;
    uint32_t heap = (image_at + (uint32_t)bytes.len + 7) & ~7u;
    const uint32_t fields[] = {[VALUES_HEAP / 4] = heap,
                               [VALUES_MAPS / 4] = heap,
                               [VALUES_NMAPS / 4] = 0,
                               [VALUES_IMAGE / 4] = image_at,
                               [VALUES_IMAGE_LEN / 4] = (uint32_t)bytes.len};
    for (uint32_t k = 0; k < VALUES_FIELDS / 4; k++)
        buf_u32le(&state, fields[k]);
    limits.min = (heap + PAGE - 1) / PAGE;
    t->memory = wasm_add_memory(to, limits, STR("whammc.text"));
    wasm_add_data_active(to, t->memory, VALUES_STATE, &state, STR("whammc.text.state"));
    wasm_add_data_active(to, t->memory, image_at, &bytes, STR("whammc.text.image"));
    t->stack_pointer = wasm_add_global_i32(to, true, STR("whammc.text.stack"), VALUES_STACK);
}

/* app.copy_in (to the runtime's memory) and app.copy_out. */
static uint32_t add_copy(const BindText *t, bool in) {
    WasmModule *to = t->shim->to;
    Buf code = {0};
    WasmType params[] = {WASM_I32, WASM_I32, WASM_I32};
    uint32_t type = wasm_add_func_type(to, params, 3, NULL, 0), shown = (uint32_t)t->shown;
    buf_u8(&code, 0);
    put_copy(&code, to, in ? t->memory : shown, in ? shown : t->memory);
    wasm_put_op(&code, WASM_OP_END);
    return wasm_add_func(to, type, in ? STR("whammc.text.copy_in") : STR("whammc.text.copy_out"),
                         &code, false);
}

/* Imports of the runtime. */
static int64_t resolve(void *ctx, const WasmImport *im) {
    BindText *t = ctx;
    WasmModule *to = t->shim->to;
    if (str_is(im->module, "env"))
        return str_is(im->name, "memory") ? (int64_t)t->memory : (int64_t)t->stack_pointer;
    if (str_is(im->module, "app"))
        return add_copy(t, str_is(im->name, "copy_in"));
    const WasmTypeDef *d = wasm_func_type(&t->from, im->handle);
    uint32_t type = wasm_add_func_type(to, d->params, d->nparams, d->results, d->nresults);
    bool wasi = str_is(im->module, "wasi_snapshot_preview1");
    Str module = wasi ? str_of(program_wasi_module(to)) : im->module;
    int64_t have = wasm_find_import(to, module, im->name);
    if (have >= 0 && to->funcs.at[have].type == type)
        return have;
    return wasm_add_import_func(to, module, im->name, type);
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
    add_memory(t);
    if (!show_memory(t))
        return false;
    RuntimeModule rt = runtime_module(runtime_for(t), true);
    t->merge = (WasmMerge){.to = s->to,
                           .from = &t->from,
                           .memory = t->memory,
                           .resolve = resolve,
                           .ctx = t,
                           .prefix = STR("whammc.text.")};
    return wasm_read(&t->from, rt.bytes, rt.len, 0, s->diags) &&
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
static void put_puts(Buf *code, const BindText *t, uint32_t memory, uint32_t puts) {
    enum { AT, LEN, N };
    const WasmModule *to = t->shim->to;
    buf_u8(code, 1);
    buf_u8(code, 1);
    buf_u8(code, WASM_I32);
    bind_put_check(code, to, memory, AT);
    put_open(code, WASM_OP_LOOP);
    put_local(code, LEN, false);
    put_open(code, WASM_OP_IF);
    put_local(code, LEN, false); /* N = min(LEN, CHUNK) */
    put_i32(code, CHUNK);
    put_local(code, LEN, false);
    put_i32(code, CHUNK);
    wasm_put_op(code, WASM_OP_I32_LT_U);
    wasm_put_op(code, WASM_OP_SELECT);
    put_index(code, WASM_OP_LOCAL_SET, N);
    put_i32(code, VALUES_STACK);
    put_local(code, AT, to->memories.at[memory].limits.is64);
    put_local(code, N, false);
    wasm_put_op(code, WASM_OP_MEMORY_COPY);
    buf_uleb(code, t->memory);
    buf_uleb(code, memory);
    put_i32(code, VALUES_STACK);
    put_local(code, N, false);
    put_index(code, WASM_OP_CALL, puts);
    put_local(code, AT, false);
    put_local(code, N, false);
    wasm_put_op(code, WASM_OP_I32_ADD);
    put_index(code, WASM_OP_LOCAL_SET, AT);
    put_local(code, LEN, false);
    put_local(code, N, false);
    wasm_put_op(code, WASM_OP_I32_SUB);
    put_index(code, WASM_OP_LOCAL_SET, LEN);
    put_index(code, WASM_OP_BR, 1);
    wasm_put_op(code, WASM_OP_END);
    wasm_put_op(code, WASM_OP_END);
    wasm_put_op(code, WASM_OP_END);
}

static int64_t add_trap(const Frozen *module, const WasmImport *im) {
    Buf code = {0};
    buf_u8(&code, 0);
    wasm_put_op(&code, WASM_OP_UNREACHABLE);
    wasm_put_op(&code, WASM_OP_END);
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
    put_puts(&code, t, (uint32_t)memory, (uint32_t)puts);
    uint32_t func = bind_add_func(module, im, &code);
    vec_push(&t->puts, (Puts){(uint32_t)memory, func});
    return func;
}

static int64_t add_nothing(const Frozen *module, const WasmImport *im) {
    Buf code = {0};
    buf_u8(&code, 0);
    wasm_put_op(&code, WASM_OP_END);
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
    if (str_is(im->name, "error") || str_is(im->name, "crash"))
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
