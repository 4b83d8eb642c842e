/*
 * cli/process.h - running other programs.
 */
#ifndef WHAMMC_CLI_PROCESS_H
#define WHAMMC_CLI_PROCESS_H

#include "base/buf.h"

/* ---- child processes (find_program.c, process.c or process_node.c) ---- */

/* Where a program is: $variable if set, else `name` in $PATH. On the heap; NULL if there is none.
 */
char *process_find(const char *variable, const char *name);

/* A child's streams; -1 = the same as ours. */
typedef struct ProcessStreams {
    int in, out, err;
    bool interrupt;   /* each signal that asks us to terminate reaches it as SIGINT, until it has
                         ended */
    bool deaf;        /* ... and SIGINT is ignored when it starts, until it handles it */
    unsigned seconds; /* of CPU time after which it is ended, and of PROCESS_PATIENCE times that in
                         all; 0 = never. In Node only the latter. */
} ProcessStreams;

/* A program that waits, or that has a busy machine, may take so much longer than its CPU time. */
enum { PROCESS_PATIENCE = 20 };
/* Whether it was ended because it took too long. */
bool process_took_long(int wait_status);

/* Runs a program to its end; returns the status of waitpid(), or -1 (errno) if it could not be
 * started. argv[0] is its path. */
int process_run(const char *const *argv, ProcessStreams streams);
/* The same; what the program writes to standard output is passed to `take` as it arrives. If `take`
 * returns false, nothing more is read, which the program notices when it writes. Our own writing to
 * a closed pipe fails (EPIPE) until the program has ended. */
int process_read(const char *const *argv, ProcessStreams streams,
                 bool (*take)(void *ctx, const uint8_t *bytes, size_t n), void *ctx);

/*
 * Between these calls a signal that asks us to end goes to the child that runs, and is done with
 * when that has ended; if none runs it takes effect in process_unguard, and process_run then starts
 * nothing (EINTR). A second call of the first does nothing.
 */
void process_guard(void);
void process_unguard(void);
/* The signal that has gone to a child since process_guard; 0 = none. */
int process_asked(void);

/* The most memory, in bytes, that this process has had (`children`: that a child has had which has
 * ended), and the CPU time of all children that have ended, in nanoseconds; 0 = not known. */
uint64_t process_peak(bool children);
int64_t process_children_cpu(void);

/* Ends as a child did: returns its exit status, or dies by the same signal, or by that which it was
 * interrupted or ended by force for. */
int process_imitate(int wait_status);

#endif
