/*
 * rewrite/saved_frames.c - frame variables of functions that Asyncify leaves and calls again: their
 * values are kept by the runtime meanwhile, for each stack.
 */
#include "rewrite/pass.h"

#include "wasm/emit.h"

static bool saved_frames_begin(Rewrite *r, void *self) {
    (void)self;
    return r->saves_frames;
}

static void saved_frames_reach(Rewrite *r, void *self, Reach *reach) {
    (void)r, (void)self;
    reach->helpers[HELPER_FRAME_PUSH] = true;
    reach->helpers[HELPER_FRAME_POP] = true;
}

typedef struct Saver {
    const WasmAsyncify *asyncify;
    const Fill *fill;
    Buf *out;
} Saver;

static void saved_frames_open(const Saver *s, uint32_t state) {
    emit(s->out, "global.get %u i32.const %u i32.eq if",
         wasm_final(s->fill->m, WASM_SPACE_GLOBAL, s->asyncify->state), state);
}

/* Pushes the number of the stack: where its data is. */
static void saved_frames_put_stack(const Saver *s) {
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

static const char *saved_frames_of_bits(WasmType type) {
    switch (type) {
    case WASM_I32: return "i32.wrap_i64";
    case WASM_F32: return "i32.wrap_i64 f32.reinterpret_i32";
    case WASM_F64: return "f64.reinterpret_i64";
    default: return "";
    }
}

static void saved_frames_push(void *ctx, uint32_t local, WasmType type) {
    const Saver *s = ctx;
    saved_frames_put_stack(s);
    emit(s->out, "local.get %u", local);
    emit(s->out, "%s", to_bits(type));
    emit_calls(s->out, s->fill->m, &s->fill->helpers[HELPER_FRAME_PUSH], 1);
}

static void saved_frames_pop(void *ctx, uint32_t local, WasmType type) {
    const Saver *s = ctx;
    saved_frames_put_stack(s);
    emit_calls(s->out, s->fill->m, &s->fill->helpers[HELPER_FRAME_POP], 1);
    emit(s->out, "%s", saved_frames_of_bits(type));
    emit(s->out, "local.set %u", local);
}

/* Adds code where the function begins and ends. */
static void saved_frames_leave(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    (void)self;
    const WasmAsyncify *asyncify = &r->p.matcher.survey.asyncify;
    const Fill *fill = &r->fill;
    Saver s = {asyncify, fill, &pieces->code};
    if (!wasm_asyncify_spans(asyncify, func) || !fill->frame.used.len)
        return;
    size_t from = s.out->len;
    saved_frames_open(&s, ASYNCIFY_UNWINDING);
    fill_each_frame_local(fill, false, saved_frames_push, &s);
    emit(s.out, "end");
    pieces_add_exit(pieces, from, PIECE_RETURNS);
    from = s.out->len;
    saved_frames_open(&s, ASYNCIFY_REWINDING);
    fill_each_frame_local(fill, true, saved_frames_pop, &s);
    emit(s.out, "end");
    pieces_add_around(pieces, WASM_HEAD, from);
}

const RewritePass saved_frames_pass = {
    .name = "saved_frames",
    .begin = saved_frames_begin,
    .reach = saved_frames_reach,
    .leave = saved_frames_leave,
};
