/*
 * cli/process_node.c - runs other programs when whammc itself runs in Node, as WebAssembly.
 *
 * Node starts them and waits for them (bindings/js/lib/node.mjs), so signals arrive when they have
 * ended: signals of a terminal reach them as they reach us.
 */
#include "cli/process.h"

#ifdef __EMSCRIPTEN__

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define IMPORT(name) __attribute__((import_module("env"), import_name(#name)))

extern char **environ;

/*
 * Imported from JavaScript. Runs a program to its end in this environment and gives its status as
 * waitpid() does, or an error as a negative number. After `ms` milliseconds, if that is not 0, it
 * is ended, and the status is that of SIGALRM. With `output`, its standard output is there, to be
 * freed.
 */
IMPORT(process_spawn)
int process_spawn(const char *const *argv, char *const *environment, int in, int out, int err,
                  unsigned ms, uint8_t **output, size_t *size);
/* Ends this process by a signal. */
IMPORT(process_raise) void process_raise(int number);
IMPORT(process_umask) int process_umask(int mask);

/* Replaces the C library's umask, which does not ask the system. */
mode_t umask(mode_t mask) {
    return (mode_t)process_umask((int)mask);
}

static int process_node_spawn(const char *const *argv, ProcessStreams streams, uint8_t **output,
                              size_t *size) {
    fflush(stdout);
    fflush(stderr);
    unsigned patience = streams.patience ? streams.patience : streams.seconds * PROCESS_PATIENCE;
    unsigned ms = patience * 1000;
    int status =
        process_spawn(argv, environ, streams.in, streams.out, streams.err, ms, output, size);
    if (status >= 0)
        return status;
    errno = -status;
    return -1;
}

bool process_took_long(int wait_status) {
    return wait_status >= 0 && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGALRM;
}

int process_run(const char *const *argv, ProcessStreams streams) {
    return process_node_spawn(argv, streams, NULL, NULL);
}

int process_read(const char *const *argv, ProcessStreams streams,
                 bool (*take)(void *ctx, const uint8_t *bytes, size_t n), void *ctx) {
    uint8_t *output = NULL;
    size_t size = 0;
    int status = process_node_spawn(argv, streams, &output, &size);
    if (size)
        take(ctx, output, size);
    free(output);
    return status;
}

void process_guard(void) {}

void process_unguard(void) {}

int process_asked(void) {
    return 0;
}

uint64_t process_peak(bool children) {
    (void)children;
    return 0;
}

int64_t process_children_cpu(void) {
    return 0;
}

int process_imitate(int wait_status) {
    enum { SIGNAL = 0x7f };
    int number = wait_status & SIGNAL;
    if (!number)
        return wait_status >> 8 & 0xff;
    fflush(stdout);
    process_raise(number);
    return 128 + number;
}

#endif
