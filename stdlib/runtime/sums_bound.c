/*
 * runtime/sums_bound.c - the sums of monitors bound to a program: computes the numbers that the
 * monitors' probes would have counted from the counters of the program's segments.
 *
 * Compiled like the hosts: no data; app.change is a function that the compiler adds, as the numbers
 * are in the monitors' memories.
 */
#include "sums_bound.h"
#include "host.h"

/* Adds to the number at an address of a memory, or sets it (BOUND_SETS). */
IMPORT("app", "change")
void app_change(uint32_t memory, uint32_t address, uint32_t flags, uint64_t number);

EXPORT("whammc_sums") void sums_bound(const Bound *b);

/* Where the numbers of a memory are. */
typedef struct Position {
    uint32_t memory, address, func;
} Position;

/* What some numbers have in common. */
typedef struct Numbers {
    uint32_t flags, n, step;
    uint64_t executed, factor;
} Numbers;

/* How often the location of the next number was executed. */
static uint64_t next_times(Reader *r, const Numbers *of, SumsTraps traps, uint32_t func,
                           uint32_t *key) {
    if (!(of->flags & BOUND_TRAPS))
        return of->executed;
    *key += (uint32_t)read_uleb(r);
    return of->executed - sums_too_often(traps, func, *key);
}

static void change(Reader *r, const Numbers *of, SumsTraps traps, Position *p) {
    uint32_t key = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        uint64_t times = next_times(r, of, traps, p->func, &key);
        if (times)
            app_change(p->memory, p->address, of->flags,
                       of->flags & BOUND_SETS ? of->factor : of->factor * times);
        p->address += of->step;
    }
}

static void read_numbers(Reader *r, const Bound *b, Numbers *of, Position *p) {
    *of = (Numbers){.flags = (uint32_t)read_uleb(r), .n = 1};
    if (of->flags & BOUND_MEMORY)
        *p = (Position){.memory = (uint32_t)read_uleb(r)};
    if (of->flags & BOUND_SEVERAL) {
        of->n = (uint32_t)read_uleb(r);
        of->step = (uint32_t)read_zigzag(r);
    }
    of->executed = load64(b->words + 8 * (uint32_t)read_uleb(r));
    p->address += (uint32_t)read_zigzag(r);
    of->factor = (uint64_t)read_zigzag(r);
    if (of->flags & BOUND_TRAPS)
        p->func += (uint32_t)read_uleb(r);
}

void sums_bound(const Bound *b) {
    SumsWords words = {b->words, b->words + 8 * b->ncounters, b->ncounters, b->nderived};
    SumsTraps traps = sums_traps(b->traps, b->ntraps);
    Reader derived = {b->derived, b->numbers}, numbers = {b->numbers, b->end};
    sums_derive(&derived, words, traps);
    Position at = {0};
    Numbers of;
    while (numbers.at < numbers.end) {
        read_numbers(&numbers, b, &of, &at);
        change(&numbers, &of, traps, &at);
    }
}
