/*
 * inject/apart.c - bodies that are made ahead, on threads.
 */
#include "inject/apart.h"

#include "base/workers.h"

/* Bytes of code: of a part, which one thread makes in one go; of the window, per thread. */
enum { PART = 64 << 10, AHEAD = 4 * PART };

/* Functions [from, to). */
struct ApartPart {
    uint32_t from, to;
    Buf out;
    size_t taken; /* of `out` */
    bool ok;
};

static void make_part(void *ctx, uint32_t worker, uint32_t item) {
    Apart *a = ctx;
    ApartPart *part = &a->parts.at[item];
    for (uint32_t f = part->from; f < part->to && part->ok; f++) {
        size_t before = part->out.len;
        if (a->is_apart(a->ctx, f))
            part->ok = a->make(a->ctx, &a->pieces[worker], f, &part->out);
        a->sizes.at[f - a->from] = (uint32_t)(part->out.len - before);
    }
}

static void add_part(Apart *a, uint32_t from) {
    ApartPart *part = a->part < a->parts.len ? &a->parts.at[a->part] : vec_add(&a->parts);
    part->from = part->to = from;
    part->out.len = part->taken = 0;
    part->ok = true;
    a->part++;
}

/* Begins a window: the functions from `func` on, as many as fit. Reuses the previous window's
 * memory. */
static void divide(Apart *a, uint32_t func) {
    uint64_t most = (uint64_t)AHEAD * a->threads, size = 0, in_part = PART;
    a->from = func;
    a->part = 0;
    a->sizes.len = 0;
    for (; func < a->m->input_count[WASM_SPACE_FUNC] && size < most; func++) {
        if (in_part >= PART) {
            add_part(a, func);
            in_part = 0;
        }
        in_part += a->m->funcs.at[func].body_size;
        size += a->m->funcs.at[func].body_size;
        a->parts.at[a->part - 1].to = func + 1;
        vec_push(&a->sizes, 0);
    }
    a->to = func;
}

static void make_window(Apart *a, uint32_t func) {
    if (!a->pieces)
        a->pieces = mem_zalloc(sizeof *a->pieces * a->threads);
    divide(a, func);
    workers_run(a->threads, a->part, make_part, a);
    a->part = 0;
}

bool apart_put(Apart *a, uint32_t func, Buf *out) {
    if (func >= a->to)
        make_window(a, func);
    while (func >= a->parts.at[a->part].to)
        a->part++;
    ApartPart *part = &a->parts.at[a->part];
    uint32_t size = a->sizes.at[func - a->from];
    if (!part->ok)
        return false;
    buf_bytes(out, part->out.data + part->taken, size);
    part->taken += size;
    return true;
}

void apart_free(Apart *a) {
    for (uint32_t i = 0; i < a->parts.len; i++)
        buf_free(&a->parts.at[i].out);
    for (uint32_t i = 0; a->pieces && i < a->threads; i++)
        pieces_free(&a->pieces[i]);
    free(a->pieces);
    vec_free(&a->parts);
    vec_free(&a->sizes);
}
