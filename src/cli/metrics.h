/*
 * cli/metrics.h - --metrics: what a command has spent, as JSON.
 */
#ifndef WHAMMC_CLI_METRICS_H
#define WHAMMC_CLI_METRICS_H

#include "base/phase.h"
#include "cli/cli.h"

/* Of one command; zeroed: not asked for. */
typedef struct Metrics {
    bool wanted;
    const char *file; /* NULL = standard error */
    Phases phases;
    uint64_t sites, bytes_in, bytes_out;
    Buf run; /* what the runner has measured, a JSON object; empty: nothing was run */
} Metrics;

/* Accepts the option, and begins to measure; `file` may be NULL. */
void metrics_want(Metrics *m, const char *file);
/* Whether the file is neither the output, which may be NULL, nor one of the inputs: STATUS_OK, or
 * another status after a message. */
int metrics_check(const Cli *cli, const Metrics *m, const char *out, const char *const *inputs,
                  uint32_t n);
/* Notes what came out of w, and how large that and the program are. */
void metrics_note(Metrics *m, whammc *w, size_t bytes_in, size_t bytes_out);
/* Writes them, if they are wanted, and frees them; false after a message. */
bool metrics_write(const Cli *cli, Metrics *m);

#endif
