/*
 * serve/live.h - reports of a running program, requested from its runner.
 *
 * The runner looks for requests when the program reaches a poll (rewrite/polls.c). So a program
 * that waits, or computes without reaching a poll, does not respond. Before WASI calls that wait,
 * the runner sends a report without a request.
 */
#ifndef WHAMMC_SERVE_LIVE_H
#define WHAMMC_SERVE_LIVE_H

#include "base/buf.h"

#include <pthread.h>

typedef struct Live Live;

/* A report, as written by the program. */
typedef struct LiveReport {
    Buf text;
    int64_t time; /* when it was made, nanoseconds since 1970 */
} LiveReport;

/* Returns NULL on failure, with errno. */
Live *live_open(void);
/* Returns the value of the runner's option --live; file descriptors that it inherits. */
const char *live_option(const Live *l);
/* Call live_begin before the runner starts, and live_end when it has ended. The latter wakes all
 * waiting threads; from then on, `report` is the last report, unless it is empty. */
void live_begin(Live *l);
void live_end(Live *l, const Buf *report);
/* Closes and frees it; NULL does nothing. */
void live_close(Live *l);

/*
 * Copies a report that is at most FRESH_MS older than this call into *report; if none arrives in
 * time, the last one. Returns false if there is none yet, or if it could not be made: *why is then
 * a static message, and report->text the engine's message. Thread-safe.
 */
bool live_take(Live *l, LiveReport *report, const char **why);
void live_report_free(LiveReport *report);

/* Waits for this time, or until the program ends; true if it has ended. */
bool live_sleep(Live *l, uint32_t seconds);

/* A thread that takes reports from time to time. */
typedef struct LiveTimer {
    Live *live; /* NULL = there is no thread */
    uint32_t seconds;
    void (*on)(void *ctx, const LiveReport *report); /* in that thread */
    void *ctx;
    pthread_t thread;
} LiveTimer;

/* Starts it, with all but the thread filled in by the caller, who keeps it where it is; after
 * live_begin. On failure appends a message to `why`. */
bool live_timer_start(LiveTimer *t, Buf *why);
/* Waits for its end, after live_end. Without a thread it does nothing. */
void live_timer_end(LiveTimer *t);

#endif
