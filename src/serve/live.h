/*
 * serve/live.h - reports of a program while it runs, from the runner that runs it.
 *
 * The runner looks for requests when the program comes to a poll (rewrite/polls.h). So a program
 * that waits for something, or computes where there are no polls, does not answer; it left a report
 * before a wait of WASI.
 */
#ifndef WHAMMC_SERVE_LIVE_H
#define WHAMMC_SERVE_LIVE_H

#include "base/buf.h"

typedef struct Live Live;

/* A report as the program writes it. */
typedef struct LiveReport {
    Buf text;
    int64_t time; /* when it was made, nanoseconds since 1970 */
} LiveReport;

/* NULL: errno. */
Live *live_open(void);
/* The value of the runner's option --live; file descriptors that it inherits. */
const char *live_option(const Live *l);
/* To be called before the runner starts, and when it has ended: then nobody waits any longer. */
void live_begin(Live *l);
void live_end(Live *l);
/* NULL does nothing. */
void live_close(Live *l);

/*
 * Receives a copy of a report that is not older than this call, or nearly so; if none comes in
 * time, of the last one. False if there is none yet, or it could not be made: *why is a message
 * (static), and report->text what the engine says. Any number of threads may call it.
 */
bool live_take(Live *l, LiveReport *report, const char **why);
void live_report_free(LiveReport *report);

/* Waits so long, or until the program ends: true if it has. */
bool live_sleep(Live *l, uint32_t seconds);

#endif
