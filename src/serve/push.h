/*
 * serve/push.h - pushes profiles of a running program to a collector.
 *
 * It uses Pyroscope's protocol: POST /ingest, a form with a pprof profile and a description of its
 * values (https://grafana.com/docs/pyroscope/latest/reference-server-api/). Each profile covers the
 * time since the last one that was accepted; heap profiles, which are snapshots, contain
 * everything.
 */
#ifndef WHAMMC_SERVE_PUSH_H
#define WHAMMC_SERVE_PUSH_H

#include "serve/live.h"
#include "serve/served.h"

enum {
    PUSH_SECONDS = 15,
    PUSH_SECONDS_MAX = 3600
}; /* seconds between two profiles: default, maximum */

typedef struct PushOptions {
    const char *url;
    uint32_t seconds; /* between two profiles */
    ServedProgram of;
    /* Called by any thread with a message when a profile is rejected, once until another one has
     * been accepted. */
    void (*failed)(void *ctx, const char *why);
    void *ctx;
} PushOptions;

typedef struct Push Push;

/* Returns whether the URL is valid; if not, appends a message to `why`. */
bool push_check(const char *url, Buf *why);
/* Starts pushing. The caller keeps the arguments alive until push_finish. On failure returns NULL
 * and appends a message to `why`. */
Push *push_start(const PushOptions *options, Live *live, Buf *why);
/* Sends the last profile, after live_end(), and frees `p`. `report` is the program's last report,
 * empty if there is none. NULL does nothing. */
void push_finish(Push *p, const Buf *report);

#endif
