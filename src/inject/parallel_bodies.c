/*
 * inject/parallel_bodies.c - bodies that are made ahead, on threads.
 */
#include "inject/parallel_bodies.h"

/* Bytes of code: per part, and ahead per thread. */
#ifdef NDEBUG
enum { PART = 64 << 10, AHEAD = 8 * PART };
#else
enum { PART = 1 << 10, AHEAD = 4 * PART }; /* small programs have several, too */
#endif

/* The bodies of an AheadPart. */
struct ApartPart {
    Buf out;
    Vec(uint32_t) sizes;
    size_t taken; /* of `out` */
    bool ok;
};

static void parallel_bodies_make_part(void *ctx, uint32_t worker, AheadPart *at) {
    ParallelBodies *a = ctx;
    ApartPart *part = &a->parts[at->slot];
    part->out.len = part->sizes.len = part->taken = 0;
    part->ok = at->whole = true;
    for (uint32_t f = at->from; f < at->to && part->ok; f++) {
        size_t before = part->out.len;
        bool apart = a->is_apart(a->ctx, f);
        if (apart)
            part->ok = a->make(a->ctx, &a->pieces[worker], f, &part->out);
        at->whole &= apart && part->ok;
        vec_push(&part->sizes, (uint32_t)(part->out.len - before));
    }
}

void parallel_init(ParallelBodies *a, const WasmModule *m, uint32_t threads) {
    a->ahead = (Ahead){.m = m,
                       .threads = threads,
                       .part = PART,
                       .first = AHEAD * threads,
                       .most = AHEAD * threads,
                       .job = parallel_bodies_make_part,
                       .ctx = a};
    a->parts = mem_zalloc(sizeof *a->parts * ahead_slots(&a->ahead));
    a->pieces = mem_zalloc(sizeof *a->pieces * threads);
}

bool parallel_put(ParallelBodies *a, uint32_t func, Buf *out) {
    const AheadPart *at = ahead_part(&a->ahead, func);
    if (!a->is_apart(a->ctx, func))
        return false;
    ApartPart *part = &a->parts[at->slot];
    if (!part->ok)
        return false;
    uint32_t size = part->sizes.at[func - at->from];
    buf_bytes(out, part->out.data + part->taken, size);
    part->taken += size;
    return true;
}

void parallel_free(ParallelBodies *a) {
    if (!a->parts)
        return;
    uint32_t slots = ahead_slots(&a->ahead), threads = a->ahead.threads;
    ahead_free(&a->ahead);
    for (uint32_t i = 0; i < slots; i++) {
        buf_free(&a->parts[i].out);
        vec_free(&a->parts[i].sizes);
    }
    for (uint32_t i = 0; i < threads; i++)
        pieces_free(&a->pieces[i]);
    free(a->parts);
    free(a->pieces);
}
