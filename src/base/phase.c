/*
 * base/phase.c - how long the phases of a compilation take.
 */
#include "base/phase.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

const char *const phase_names[PHASE_COUNT] = {
#define PHASE_NAME(id, name) name,
    PHASES(PHASE_NAME)
#undef PHASE_NAME
};

static _Thread_local Phases *measured;

static int64_t phase_now(clockid_t clock) {
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

static void phase_change(Phase phase) {
    PhaseTime t = {phase_now(CLOCK_MONOTONIC), phase_now(CLOCK_PROCESS_CPUTIME_ID)};
    PhaseTime *spent = &measured->spent[measured->current];
    spent->wall += t.wall - measured->last.wall;
    spent->cpu += t.cpu - measured->last.cpu;
    measured->last = t;
    measured->current = phase;
}

void phases_start(Phases *p) {
    assert(!measured); /* not nested */
    *p = (Phases){.last = {phase_now(CLOCK_MONOTONIC), phase_now(CLOCK_PROCESS_CPUTIME_ID)},
                  .current = PHASE_OTHER};
    measured = p;
}

void phases_stop(void) {
    if (measured)
        phase_change(PHASE_OTHER);
    measured = NULL;
}

Phase phase_begin(Phase phase) {
    if (!measured)
        return phase;
    Phase before = measured->current;
    phase_change(phase);
    return before;
}

void phase_end(Phase before) {
    if (measured)
        phase_change(before);
}
