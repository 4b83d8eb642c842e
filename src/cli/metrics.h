/*
 * cli/metrics.h - --metrics: time and memory used by a command, as JSON.
 */
#ifndef WHAMMC_CLI_METRICS_H
#define WHAMMC_CLI_METRICS_H

#include "base/phase.h"
#include "cli/cli.h"

/* The metrics of a command; zeroed: not requested. */
typedef struct Metrics {
    bool wanted;
    const char *file; /* NULL = standard error */
    Phases phases;
    uint64_t sites, bytes_in, bytes_out;
    Buf run; /* the runner's measurements, a JSON object; empty: nothing was run */
} Metrics;

/* Accepts the option, and starts measuring; `file` may be NULL. */
void metrics_want(Metrics *m, const char *file);
/* Checks that the file is neither the output, which may be NULL, nor one of the inputs: STATUS_OK,
 * or another status after a message. */
int metrics_check(const Cli *cli, const Metrics *m, const char *out, const char *const *inputs,
                  uint32_t n);
/* Records the results of w, and the sizes of its output and the program. */
void metrics_note(Metrics *m, whammc *w, size_t bytes_in, size_t bytes_out);
/* Writes them, if requested, and frees them. On failure, prints a message and returns false. */
bool metrics_write(const Cli *cli, Metrics *m);

#endif
