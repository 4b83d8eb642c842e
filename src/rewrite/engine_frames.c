/*
 * rewrite/engine_frames.c - functions for the samples of the engine's own profiler.
 */
#include "rewrite/engine_frames.h"

#include "wasm/emit.h"

enum { VERSION = 1 };

static bool is_import(const WasmModule *m, uint32_t func) {
    return m->funcs.at[func].import >= 0;
}

/* A function that only calls the import, and is too large to be inlined. */
static uint32_t add_through(WasmModule *m, uint32_t import) {
    enum { SIZE = 512 }; /* V8 inlines up to 500 bytes */
    uint32_t type = m->funcs.at[import].type;
    Buf body = {0};
    buf_uleb(&body, 0); /* locals */
    for (uint32_t k = 0; k < m->types.at[type].nparams; k++)
        emit(&body, "local.get %u", k);
    emit(&body, "call %u return", wasm_final(m, WASM_SPACE_FUNC, import));
    while (body.len < SIZE)
        emit(&body, "unreachable");
    emit(&body, "end");
    return wasm_add_func(m, type, STR("whammc.through"), &body, true);
}

void engine_frames_add(EngineFrames *e, const Frames *frames, WasmModule *m) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    *e = (EngineFrames){.frames = frames};
    if (!frames->engine)
        return;
    while (e->imports < n && is_import(m, e->imports))
        e->imports++;
    e->through = mem_zalloc(sizeof *e->through * (e->imports + 1u));
    for (uint32_t k = 0; k < e->imports; k++) {
        if (!frames_has(frames, k))
            continue;
        e->through[k] = add_through(m, k);
        wasm_wrap_func(m, k, e->through[k]);
    }
}

void engine_frames_free(EngineFrames *e) {
    free(e->through);
}

typedef struct Last {
    uint32_t body, func;
} Last;

static void put_function(const WasmModule *m, const WasmModule *written, uint32_t handle,
                         uint32_t func, Last *last, Buf *out) {
    uint32_t body = written->funcs.at[wasm_final(m, WASM_SPACE_FUNC, handle)].body;
    int32_t distance = (int32_t)(func - last->func);
    buf_uleb(out, body - last->body);
    buf_uleb(out, (uint32_t)distance << 1 ^ (distance < 0 ? UINT32_MAX : 0));
    *last = (Last){body, func};
}

/* Where the bodies end that are the program's own. */
static uint32_t end_of_own(const WasmModule *m, const WasmModule *written) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    if (!n || is_import(m, n - 1))
        return 0;
    const WasmFunc *last = &written->funcs.at[wasm_final(m, WASM_SPACE_FUNC, n - 1)];
    return last->body + last->body_size;
}

void engine_frames_put_section(const EngineFrames *e, const WasmModule *m,
                               const WasmModule *written, Buf *out) {
    Buf content = {0};
    Last last = {0};
    if (!e->through)
        return;
    buf_name(&content, STR("whammc.functions"));
    buf_u8(&content, VERSION);
    buf_uleb(&content, end_of_own(m, written));
    for (uint32_t f = e->imports; f < m->input_count[WASM_SPACE_FUNC]; f++)
        if (frames_has(e->frames, f))
            put_function(m, written, f, f, &last, &content);
    for (uint32_t k = 0; k < e->imports; k++)
        if (e->through[k])
            put_function(m, written, e->through[k], k, &last, &content);
    buf_u8(out, WASM_SEC_CUSTOM);
    buf_uleb(out, content.len);
    buf_bytes(out, content.data, content.len);
    buf_free(&content);
}
