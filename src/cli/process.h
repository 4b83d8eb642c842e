/*
 * cli/process.h - running other programs.
 */
#ifndef WHAMMC_CLI_PROCESS_H
#define WHAMMC_CLI_PROCESS_H

#include "base/buf.h"

/* ---- child processes (find_program.c, process.c or process_node.c) ---- */

/* Returns the path of a program, on the heap: $variable if set, else `name` in $PATH; NULL if there
 * is none. */
char *process_find(const char *variable, const char *name);

/* A child's streams; -1 = the same as ours. */
typedef struct ProcessStreams {
    int in, out, err;
    bool interrupt;   /* it receives each termination signal as SIGINT, until it has ended */
    bool deaf;        /* ... and SIGINT is ignored when it starts, until it handles it */
    unsigned seconds; /* limit of CPU time; PROCESS_PATIENCE times that limits elapsed time. 0 =
                         none. In Node only the latter. */
    unsigned patience;  /* limit of elapsed time alone, in seconds; 0 = none. It is then killed. */
    uint64_t file_size; /* limit of the size of each file that it writes; 0 = none. Not in Node. */
} ProcessStreams;

/* The allowed factor from CPU time to elapsed time, for programs that wait or have a busy
 * machine. */
enum { PROCESS_PATIENCE = 20 };
/* Returns whether a child was ended because it took too long. */
bool process_took_long(int wait_status);

/* Runs a program to its end; returns the status of waitpid(), or -1 (errno) if it could not be
 * started. argv[0] is its path. */
int process_run(const char *const *argv, ProcessStreams streams);
/* Runs a program like process_run, and passes its standard output to `take` as it arrives. If
 * `take` returns false, reading stops, which the program notices when it writes. Our own writing to
 * a closed pipe fails (EPIPE) until the program has ended. */
int process_read(const char *const *argv, ProcessStreams streams,
                 bool (*take)(void *ctx, const uint8_t *bytes, size_t n), void *ctx);

/*
 * Between these calls, a termination signal goes to the running child, and is settled when that has
 * ended; without a child it takes effect in process_unguard, and process_run then starts nothing
 * (EINTR). A second process_guard does nothing.
 */
void process_guard(void);
void process_unguard(void);
/* Returns the signal that has gone to a child since process_guard; 0 = none. */
int process_asked(void);

/* Returns the peak memory, in bytes, of this process (`children`: of any ended child), and the CPU
 * time of all ended children, in nanoseconds; 0 = not known. */
uint64_t process_peak(bool children);
int64_t process_children_cpu(void);

/* Ends as a child did: returns its exit status, or dies by the same signal, or by the signal for
 * which it was interrupted or killed. */
int process_imitate(int wait_status);

#endif
