/*
 * rewrite/saved_frames.c - frame variables of functions that Asyncify leaves and calls again.
 */
#include "rewrite/saved_frames.h"

#include "gen/template.h"
#include "wasm/emit.h"

bool saved_frames_needed(const Plan *plan, const WasmAsyncify *asyncify) {
    bool any = false;
    for (uint32_t i = 0; i < plan->vars.len; i++)
        any |= plan->vars.at[i].decl->storage == STORAGE_FRAME;
    return any && asyncify->found;
}

typedef struct Saver {
    const WasmAsyncify *asyncify;
    const Fill *fill;
    Buf *out;
} Saver;

static void open(const Saver *s, uint32_t state) {
    emit(s->out, "global.get %u i32.const %u i32.eq if",
         wasm_final(s->fill->m, WASM_SPACE_GLOBAL, s->asyncify->state), state);
}

/* Pushes the number of the stack: where its data is. */
static void put_stack(const Saver *s) {
    emit(s->out, "global.get %u", wasm_final(s->fill->m, WASM_SPACE_GLOBAL, s->asyncify->data));
    emit_resize(s->out, s->fill->m->globals.at[s->asyncify->data].type, WASM_I32);
}

static const char *to_bits(WasmType type) {
    switch (type) {
    case WASM_I32: return "i64.extend_i32_u";
    case WASM_F32: return "i32.reinterpret_f32 i64.extend_i32_u";
    case WASM_F64: return "i64.reinterpret_f64";
    default: return "";
    }
}

static const char *of_bits(WasmType type) {
    switch (type) {
    case WASM_I32: return "i32.wrap_i64";
    case WASM_F32: return "i32.wrap_i64 f32.reinterpret_i32";
    case WASM_F64: return "f64.reinterpret_i64";
    default: return "";
    }
}

static void push(void *ctx, uint32_t local, WasmType type) {
    const Saver *s = ctx;
    put_stack(s);
    emit(s->out, "local.get %u", local);
    emit(s->out, "%s", to_bits(type));
    emit_calls(s->out, s->fill->m, &s->fill->helpers[HELPER_FRAME_PUSH], 1);
}

static void pop(void *ctx, uint32_t local, WasmType type) {
    const Saver *s = ctx;
    put_stack(s);
    emit_calls(s->out, s->fill->m, &s->fill->helpers[HELPER_FRAME_POP], 1);
    emit(s->out, "%s", of_bits(type));
    emit(s->out, "local.set %u", local);
}

void saved_frames_put(const WasmAsyncify *asyncify, const Fill *fill, uint32_t func,
                      Pieces *pieces) {
    Saver s = {asyncify, fill, &pieces->code};
    if (!wasm_asyncify_spans(asyncify, func) || !fill->frame.used.len)
        return;
    size_t from = s.out->len;
    open(&s, ASYNCIFY_UNWINDING);
    fill_each_frame_local(fill, false, push, &s);
    emit(s.out, "end");
    pieces_add_exit(pieces, from, PIECE_RETURNS);
    from = s.out->len;
    open(&s, ASYNCIFY_REWINDING);
    fill_each_frame_local(fill, true, pop, &s);
    emit(s.out, "end");
    pieces_add_around(pieces, WASM_HEAD, from);
}
