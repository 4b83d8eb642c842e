/*
 * rewrite/polls.h - the places of a program where its host can have a report while it runs, however
 * long it computes: safepoints, as those of garbage collectors.
 *
 * No iteration of a loop begins, and no function that calls others, without a poll: it counts down,
 * and calls the host at zero. Whatever runs for long comes to one of these places, as leaves
 * without loops do not. Polls come before all probes of their places, but for func:entry, so none
 * is half done; and before the counter of the segment that begins there, so counts are exact if
 * such segments begin at the class EXIT (Segments.polls). The host is also called before each call
 * of WASI that may wait, after the probes at that location.
 */
#ifndef WHAMMC_REWRITE_POLLS_H
#define WHAMMC_REWRITE_POLLS_H

#include "inject/pieces.h"

/* Handles. */
typedef struct Polls {
    uint32_t host; /* the import */
    uint32_t poll; /* what is called at zero */
    uint32_t left; /* a global: how many polls until then */
    Buf code;      /* of a poll */
} Polls;

/* Whether there is any place in a function of the program. */
bool polls_has_any(const WasmModule *m, uint32_t func);

/* Adds the import, the function and the global to a module; before the layout. */
void polls_add(Polls *p, WasmModule *m);
/* Writes the code of the function and of polls; after the layout. */
void polls_fill(Polls *p, WasmModule *m);
void polls_free(Polls *p);

/* Adds the polls of a function to its pieces, before all others. */
void polls_put(const Polls *p, const WasmModule *m, uint32_t func, Pieces *pieces);

#endif
