/*
 * analysis/ahead.c - threads that work on functions ahead of a walk.
 */
#include "analysis/ahead.h"

#include <assert.h>

static AheadPart *part_at(const Ahead *a, uint32_t number) {
    return &a->parts[number % ahead_slots(a)];
}

static void ahead_make_part(void *ctx, uint32_t worker, uint32_t number) {
    const Ahead *a = ctx;
    a->job(a->ctx, worker, part_at(a, number));
}

/* The size of further parts: if little may be ahead, there are several, too, unless they are tiny.
 */
static uint32_t part_size(const Ahead *a) {
    enum { EACH = 4, LEAST = 16 };
    uint32_t size = a->size / (EACH * a->threads), least = a->part / LEAST;
    size = size > least ? size : least;
    return size < a->part ? size : a->part;
}

static void divide_part(Ahead *a) {
    AheadPart *part = part_at(a, a->end);
    uint32_t size = part_size(a), func = a->divided;
    *part = (AheadPart){.from = func, .slot = a->end % ahead_slots(a)};
    for (; func < a->m->input_count[WASM_SPACE_FUNC] && part->size < size; func++)
        part->size += a->m->funcs.at[func].body_size;
    part->to = a->divided = func;
    a->now += part->size;
    a->end++;
}

/* Whether to start a further part. */
static bool ahead_has_room(const Ahead *a) {
    return a->divided < a->m->input_count[WASM_SPACE_FUNC] && a->end - a->at < ahead_slots(a) &&
           a->now < a->size;
}

/* Lets as many parts be made as may be ahead. */
static void go_ahead(Ahead *a) {
    if (!a->prepared && a->prepare && !a->prepare(a->ctx))
        return;
    a->prepared = true;
    while (ahead_has_room(a))
        divide_part(a);
    work_queue_allow(a->queue, a->end);
}

/* Waits until no thread works; parts that have not begun are divided again. */
static void stay(Ahead *a) {
    uint32_t made = work_queue_hold(a->queue);
    while (a->end > made) {
        const AheadPart *part = part_at(a, --a->end);
        a->now -= part->size;
        a->divided = part->from;
    }
    a->prepared = false;
}

static void leave_part(Ahead *a) {
    a->walked += part_at(a, a->at++)->size;
    if (a->walked >= a->size && a->size < a->most) {
        a->size = a->size < a->most / 2 ? 2 * a->size : a->most;
        a->walked = 0;
    }
}

static const AheadPart *ahead_next_part(Ahead *a, uint32_t func) {
    if (a->at == a->end) {
        a->divided = func;
        go_ahead(a);
        if (a->at == a->end)
            return NULL;
    }
    work_queue_wait(a->queue, a->at);
    const AheadPart *part = part_at(a, a->at);
    a->now -= part->size;
    a->in_part = true;
    if (part->whole)
        go_ahead(a);
    else
        stay(a);
    return part;
}

const AheadPart *ahead_part(Ahead *a, uint32_t func) {
    assert(func < a->m->input_count[WASM_SPACE_FUNC]);
    if (!a->queue) {
        a->queue = work_queue_new(a->threads, ahead_make_part, a);
        a->parts = mem_zalloc(sizeof *a->parts * ahead_slots(a));
        a->size = a->first;
    }
    if (a->in_part && func < part_at(a, a->at)->to)
        return part_at(a, a->at);
    if (a->in_part)
        leave_part(a);
    a->in_part = false;
    return ahead_next_part(a, func);
}

void ahead_free(Ahead *a) {
    if (a->queue)
        work_queue_free(a->queue);
    free(a->parts);
}
