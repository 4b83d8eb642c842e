/*
 * analysis/ahead.c - what threads do for functions ahead of a walk.
 */
#include "analysis/ahead.h"

static void make_part(void *ctx, uint32_t worker, uint32_t item) {
    AheadWindow *w = ctx;
    w->job(w->ctx, worker, &w->parts.at[item]);
}

/* The size of the parts of a window: small windows have several, too, if they are not tiny. */
static uint64_t part_size(const Ahead *a) {
    enum { EACH = 4, LEAST = 16 };
    uint64_t parts = (uint64_t)EACH * a->threads, least = a->part / LEAST;
    uint64_t size = (a->size + parts - 1) / parts;
    size = size > least ? size : least;
    return size < a->part ? size : a->part;
}

/* The functions from `func` on, as many as fit; `turn` is the window's number. */
static void divide(Ahead *a, uint32_t turn, uint32_t func) {
    AheadWindow *w = &a->windows[turn];
    a->size = !a->size ? a->first : 2 * a->size < a->most ? 2 * a->size : a->most;
    uint64_t part = part_size(a), size = 0, in_part = part;
    w->from = func;
    w->parts.len = 0;
    for (; func < a->m->input_count[WASM_SPACE_FUNC] && size < a->size; func++) {
        uint32_t body = a->m->funcs.at[func].body_size;
        if (in_part >= part) {
            vec_push(&w->parts, ((AheadPart){.from = func, .slot = 2 * w->parts.len + turn}));
            in_part = 0;
        }
        in_part += body;
        size += body;
        vec_last(&w->parts).to = func + 1;
    }
    w->to = func;
}

/* Lets threads begin with a window, if it is wanted. */
static bool begin(Ahead *a, uint32_t turn, uint32_t func) {
    AheadWindow *w = &a->windows[turn];
    if (func >= a->m->input_count[WASM_SPACE_FUNC] || (a->prepare && !a->prepare(a->ctx)))
        return false;
    divide(a, turn, func);
    w->job = a->job;
    w->ctx = a->ctx;
    w->making = workers_begin(a->threads, w->parts.len, make_part, w);
    return true;
}

static void finish(AheadWindow *w) {
    workers_finish(w->making);
    w->making = NULL;
}

/* Comes to the window that begins with a function. */
static bool next_window(Ahead *a, uint32_t func) {
    a->turn ^= a->threads > 1;
    AheadWindow *w = &a->windows[a->turn];
    if (!w->making && !begin(a, a->turn, func))
        return false;
    finish(w);
    a->at = 0;
    return true;
}

/* Lets the next window be made if it can, now that the walk comes to a part of this one. */
static void begin_next(Ahead *a) {
    const AheadWindow *w = &a->windows[a->turn];
    uint32_t next = a->turn ^ 1;
    if (a->threads < 2 || a->windows[next].making)
        return;
    for (uint32_t i = a->at; i < w->parts.len; i++)
        if (!w->parts.at[i].whole)
            return;
    begin(a, next, w->to);
}

const AheadPart *ahead_part(Ahead *a, uint32_t func) {
    if (func >= a->windows[a->turn].to && !next_window(a, func))
        return NULL;
    const AheadWindow *w = &a->windows[a->turn];
    while (func >= w->parts.at[a->at].to)
        a->at++;
    if (func == w->parts.at[a->at].from)
        begin_next(a);
    return &w->parts.at[a->at];
}

void ahead_free(Ahead *a) {
    for (uint32_t i = 0; i < 2; i++) {
        if (a->windows[i].making)
            finish(&a->windows[i]);
        vec_free(&a->windows[i].parts);
    }
}
