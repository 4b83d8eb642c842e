/*
 * link/bridge.c - WASI for a library that becomes part of a program.
 */
#include "link/bridge.h"

#include "edit/merge.h"
#include "report/embedded.h"
#include "valid/valid.h"
#include "wasm/emit.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define WASI_MODULE "wasi_snapshot_preview1"

/* Functions of WASI that take no addresses. */
static const char *const plain[] = {
    "fd_advise",
    "fd_allocate",
    "fd_close",
    "fd_datasync",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_renumber",
    "fd_sync",
    "proc_exit",
    "proc_raise",
    "sched_yield",
    "sock_shutdown",
};

static int64_t bridge_fail(Bridge *b, const WasmImport *im, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int64_t bridge_fail(Bridge *b, const WasmImport *im, const char *format, ...) {
    const WasmModule *from = b->library->from;
    const WasmImport *own = &from->imports.at[from->funcs.at[im->handle].import];
    uint32_t at = (uint32_t)((const uint8_t *)own->name.ptr - from->bytes);
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    Diag *d = diag(b->diags, DIAG_CANNOT_MERGE, (Span){from->file, at, at + own->name.len},
                   "the %s imports %.*s.%.*s, %s", b->of_monitor ? "monitor" : "library",
                   STR_ARG(im->module), STR_ARG(im->name), text);
    if (!b->of_monitor)
        diag_hint(b->diags, d, "use --link=import, which leaves the library a module of its own");
    return -2;
}

/* ---- functions that the adapters import ---- */

/* load (address) -> i32, store (address, i32), or size () -> i64, in bytes. */
static void bridge_put_access(Buf *code, const WasmModule *m, uint32_t memory, Str name) {
    WasmType address = wasm_memory_address(m, memory);
    const char *widen = emit_resized(WASM_I32, address);
    if (str_is(name, "load"))
        emit_body(code, "local.get 0 %s i32.load %u 0", widen, memory);
    else if (str_is(name, "store"))
        emit_body(code, "local.get 0 %s local.get 1 i32.store %u 0", widen, memory);
    else
        emit_body(code, "memory.size %u %s i64.const %u i64.shl", memory,
                  emit_resized(address, WASM_I64), m->memories.at[memory].limits.page_log2);
}

/* Returns the memory that a part of an import's name denotes. */
static uint32_t bridge_memory_of(const Bridge *b, Str name, const char *at) {
    Str word = {name.ptr + (at - name.ptr), 3};
    if (str_is(word, "app"))
        return (uint32_t)b->app;
    if (str_is(word, "lib"))
        return (uint32_t)b->lib;
    return b->adapters.handles[WASM_SPACE_MEMORY][0];
}

/* Resolver of the adapters' own imports. */
static int64_t bridge_resolve(void *ctx, const WasmImport *im) {
    Bridge *b = ctx;
    WasmModule *to = b->adapters.to;
    if (str_is(im->module, WASI_MODULE))
        return wasm_merge_join(&b->adapters, im);
    Buf code = {0};
    if (str_is(im->module, "copy"))
        emit_copy(&code, to, bridge_memory_of(b, im->name, im->name.ptr),
                  bridge_memory_of(b, im->name, im->name.ptr + 4));
    else
        bridge_put_access(&code, to, bridge_memory_of(b, im->module, im->module.ptr), im->name);
    const char *name = arena_printf(&to->arena, "%.*s%.*s.%.*s", STR_ARG(b->adapters.prefix),
                                    STR_ARG(im->module), STR_ARG(im->name));
    return wasm_merge_func(&b->adapters, im, name, &code);
}

/* ---- the library's imports ---- */

static bool bridge_is_plain(Str name) {
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (str_is(name, plain[i]))
            return true;
    return false;
}

static const WasmExport *find_any_export(const WasmModule *m, const char *name) {
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (str_is(m->exports.at[i].name, name))
            return &m->exports.at[i];
    return NULL;
}

/* Finds the two memories; 0, or -2 with a message. */
static int64_t find_memories(Bridge *b, const WasmImport *im) {
    const WasmModule *from = b->library->from;
    const WasmExport *own = wasm_find_export(from, WASM_SPACE_MEMORY, STR("memory"));
    const WasmExport *e = find_any_export(b->library->to, "memory");
    if (!from->memories.len)
        return bridge_fail(b, im, "but has no memory for it");
    b->lib = b->memory >= 0
                 ? b->memory
                 : (int64_t)b->library->handles[WASM_SPACE_MEMORY][own ? own->handle : 0];
    if (!e) {
        wasm_add_export(b->library->to, STR("memory"), WASM_SPACE_MEMORY, (uint32_t)b->lib);
        b->app = b->lib;
        return 0;
    }
    if (e->space != WASM_SPACE_MEMORY)
        return bridge_fail(
            b, im,
            "which looks at the exported 'memory', but what the program exports under that "
            "name is a %s",
            wasm_space_name(e->space));
    if (b->library->to->memories.at[e->handle].limits.shared && e->handle != b->lib)
        return bridge_fail(b, im,
                           "for which bytes of the program's memory have to be borrowed, but other "
                           "threads use that memory too");
    b->app = e->handle;
    return 0;
}

static bool bridge_load(Bridge *b) {
    if (b->loaded)
        return true;
    RuntimeModule rt = runtime_adapters();
    b->loaded = true;
    b->adapters = (WasmMerge){.to = b->library->to,
                              .from = &b->from,
                              .whole = true,
                              .resolve = bridge_resolve,
                              .ctx = b,
                              .prefix = STR("whammc.wasi.")};
    return wasm_load_own(&b->from, rt.bytes, rt.len, b->diags);
}

static int64_t adapter(Bridge *b, const WasmImport *im) {
    if (b->app < 0 && find_memories(b, im) < 0)
        return -2;
    if (b->app == b->lib)
        return wasm_merge_join(b->library, im);
    if (!bridge_load(b))
        return -2;
    const WasmExport *e = wasm_find_export(&b->from, WASM_SPACE_FUNC, im->name);
    if (!e)
        return bridge_fail(b, im, "which a library that is part of a program cannot call");
    if (!wasm_merge(&b->adapters, &e->handle, 1, b->diags))
        return -2;
    return b->adapters.handles[WASM_SPACE_FUNC][e->handle];
}

/* Adds AssemblyScript's abort(message, file, line, column), as a trap. */
static int64_t add_abort(Bridge *b, const WasmImport *im) {
    Buf code = {0};
    emit_body(&code, "unreachable");
    return wasm_merge_func(b->library, im, "whammc.abort", &code);
}

int64_t bridge_import(Bridge *b, const WasmImport *im) {
    if (im->space != WASM_SPACE_FUNC)
        return -1;
    if (str_is(im->module, "env") && str_is(im->name, "abort"))
        return add_abort(b, im);
    if (str_is(im->module, "wasi_unstable"))
        return bridge_fail(b, im,
                           "of an old version of WASI; it has to be compiled for " WASI_MODULE);
    if (!str_is(im->module, WASI_MODULE))
        return -1;
    return bridge_is_plain(im->name) ? wasm_merge_join(b->library, im) : adapter(b, im);
}

/* ---- entries ---- */

/* Adds the function that makes the calls needed before the library's first one. */
static void bridge_add_begin(Bridge *b) {
    const WasmMerge *g = b->library;
    Buf calls = {0};
    b->begun = wasm_add_global_i32(g->to, true, STR("whammc.begun"), 0);
    const int64_t first[] = {g->start, g->initialize};
    for (uint32_t k = 0; k < 2; k++)
        if (first[k] >= 0)
            emit(&calls, "call %u", (uint32_t)first[k]);
    b->begin = emit_function(g->to, "whammc.begin", "i32.const 1 global.set %u %p",
                             (uint32_t)b->begun, &calls);
    buf_free(&calls);
}

uint32_t bridge_entry(Bridge *b, uint32_t func) {
    assert(func < b->library->to->funcs.len);
    const WasmMerge *g = b->library;
    if (g->start < 0 && g->initialize < 0)
        return func;
    if (b->begun < 0)
        bridge_add_begin(b);
    Buf begin = {0};
    emit(&begin, "global.get %u i32.eqz if call %u end", (uint32_t)b->begun, b->begin);
    uint32_t entry = emit_wrapper(g->to, g->to->funcs.at[func].name, func, &begin, NULL);
    buf_free(&begin);
    return entry;
}

void bridge_init(Bridge *b, const WasmMerge *library, Diags *diags) {
    *b = (Bridge){
        .library = library, .diags = diags, .memory = -1, .app = -1, .lib = -1, .begun = -1};
}

void bridge_free(Bridge *b) {
    if (b->loaded) {
        wasm_merge_free(&b->adapters);
        wasm_module_free(&b->from);
    }
}
