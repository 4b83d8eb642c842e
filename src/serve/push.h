/*
 * serve/push.h - profiles for a server that collects them, sent while a program runs.
 *
 * As Pyroscope and its relatives take them: POST /ingest, a form with a profile of pprof and what
 * its numbers are (https://grafana.com/docs/pyroscope/latest/reference-server-api/). Each has what
 * has happened since the last one that was accepted; profiles of memory, which are states, have all
 * of it.
 */
#ifndef WHAMMC_SERVE_PUSH_H
#define WHAMMC_SERVE_PUSH_H

#include "serve/live.h"
#include "serve/served.h"

enum { PUSH_SECONDS = 15, PUSH_SECONDS_MAX = 3600 }; /* between two profiles: default, most */

typedef struct PushOptions {
    const char *url;
    uint32_t seconds; /* between two profiles */
    ServedProgram of;
    /* Called when a profile was not accepted, the first time and the first after one that was; by
     * any thread. `why` is a message. */
    void (*failed)(void *ctx, const char *why);
    void *ctx;
} PushOptions;

typedef struct Push Push;

/* Whether the URL can be used; else a message is appended to `why`. */
bool push_check(const char *url, Buf *why);
/* Begins; what it gets stays the caller's. NULL: a message is appended to `why`. */
Push *push_start(const PushOptions *options, Live *live, Buf *why);
/* Sends what has happened until the program's end, after live_end(); `report` is its last report,
 * empty if there is none. NULL does nothing. */
void push_finish(Push *p, const Buf *report);

#endif
