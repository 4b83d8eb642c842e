/*
 * cli/process.c - running other programs: wat2wasm, engines.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- looking for programs ---- */

static bool is_program(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

char *process_find(const char *variable, const char *name) {
    const char *given = variable ? getenv(variable) : NULL;
    if (given && *given)
        name = given;
    if (strchr(name, '/'))
        return is_program(name) ? strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin";;) {
        size_t n = strcspn(p, ":");
        char *candidate = NULL;
        if (asprintf(&candidate, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name) < 0)
            return NULL;
        if (is_program(candidate))
            return candidate;
        free(candidate);
        if (!p[n])
            return NULL;
        p += n + 1;
    }
}

/* ---- signals ---- */

static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { NASKING = sizeof asking / sizeof *asking };

static volatile sig_atomic_t child;   /* the pid of what runs, else 0 */
static volatile sig_atomic_t pending; /* a signal that came while nothing ran */
static volatile sig_atomic_t asked;   /* SIGINT has come while it ran */
static struct sigaction before[NASKING];

/* A terminal's signal has gone to the child already, which is in our process group. Who asks a
 * second time by SIGINT does not want to wait for what the child makes of the first. */
static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    if (!child)
        pending = number;
    else if (number == SIGINT && asked)
        kill((pid_t)child, SIGTERM);
    else if (info->si_code <= 0)
        kill((pid_t)child, number);
    asked = asked || (child && number == SIGINT);
    errno = saved;
}

/* Whether the signal is ignored, as under nohup: that stays so. */
static bool is_ignored(const struct sigaction *action) {
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

void process_guard(void) {
    pending = asked = 0;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < NASKING; i++) {
        sigaction(asking[i], NULL, &before[i]);
        if (!is_ignored(&before[i]))
            sigaction(asking[i], &action, NULL);
    }
}

void process_unguard(void) {
    for (int i = 0; i < NASKING; i++)
        if (!is_ignored(&before[i]))
            sigaction(asking[i], &before[i], NULL);
    if (pending)
        raise(pending);
}

/* ---- running ---- */

static int spawn(pid_t *pid, const char *const *argv, ProcessStreams streams,
                 const sigset_t *mask) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int e = posix_spawn_file_actions_init(&actions);
    if (e)
        return e;
    if (streams.in >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
    if (streams.out >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
    if (streams.err >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
    if (!(e = posix_spawnattr_init(&attributes))) {
        posix_spawnattr_setsigmask(&attributes, mask);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        e = posix_spawn(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return e;
}

/* Starts a program; false: errno. */
static bool start(const char *const *argv, ProcessStreams streams, pid_t *pid) {
    fflush(stdout);
    fflush(stderr);
    sigset_t held, mask;
    sigemptyset(&held);
    for (int i = 0; i < NASKING; i++)
        sigaddset(&held, asking[i]);
    sigprocmask(SIG_BLOCK, &held, &mask);
    int e = pending ? EINTR : spawn(pid, argv, streams, &mask);
    if (!e)
        child = *pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = e;
    return e == 0;
}

/* Waits until it ends. */
static int finish(pid_t pid) {
    int status = 0;
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    child = 0; /* before the number can belong to another process */
    return waitpid(pid, &status, 0) < 0 ? -1 : status;
}

int process_run(const char *const *argv, ProcessStreams streams) {
    pid_t pid = 0;
    return start(argv, streams, &pid) ? finish(pid) : -1;
}

int process_read(const char *const *argv, ProcessStreams streams,
                 bool (*take)(void *ctx, const uint8_t *bytes, size_t n), void *ctx) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = 0;
    streams.out = ends[1];
    bool started = start(argv, streams, &pid);
    int error = errno;
    close(ends[1]);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, saved;
    sigaction(SIGPIPE, &ignore, &saved);
    uint8_t bytes[4096];
    for (ssize_t n; started && (n = read(ends[0], bytes, sizeof bytes)) != 0;)
        if (n > 0 ? !take(ctx, bytes, (size_t)n) : errno != EINTR)
            break;
    close(ends[0]);
    int status = started ? finish(pid) : -1;
    sigaction(SIGPIPE, &saved, NULL);
    if (!started)
        errno = error;
    return status;
}

int process_imitate(int wait_status) {
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* one core dump is enough */
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}
