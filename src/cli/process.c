/*
 * cli/process.c - runs other programs: wat2wasm, engines. Where whammc runs in Node,
 * cli/process_node.c replaces it.
 */
#include "cli/process.h"

#ifndef __EMSCRIPTEN__

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- signals ---- */

static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { NASKING = sizeof asking / sizeof *asking };

enum {
    AGAIN_MS = 100,  /* between repeated interrupts of a child, until it ends */
    TWICE_MS = 1000, /* signals closer to each other are one request: a terminal's or timeout's */
};

static volatile sig_atomic_t child;     /* the pid of the running child, else 0 */
static volatile sig_atomic_t interrupt; /* ... and it takes SIGINT for all of them */
static volatile sig_atomic_t pending;   /* a signal that came while no child ran */
static volatile sig_atomic_t asked;     /* the first signal that came while it ran */
static volatile sig_atomic_t forced;    /* a second signal has ended it */
static int64_t asked_at;                /* when, in milliseconds */
static bool guarded;
static struct sigaction before[NASKING], alarm_before;

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void set_alarm(long ms) {
    struct itimerval t = {{0, ms * 1000}, {0, ms * 1000}};
    setitimer(ITIMER_REAL, &t, NULL);
}

/* Interrupts the child again, as it may not have been ready before. */
static void on_alarm(int number) {
    (void)number;
    int saved = errno;
    if (child && interrupt && asked)
        kill((pid_t)child, SIGINT);
    errno = saved;
}

/* Forwards a signal to the child. A terminal's signal has already reached it, as it is in our
 * process group. A second request ends the child without waiting for its reaction to the first: it
 * may be unable to react. */
static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    bool first = !asked, passes = interrupt && number != SIGQUIT;
    if (!child) {
        pending = number;
    } else if (!first && now_ms() - asked_at > TWICE_MS) {
        forced = 1;
        kill((pid_t)child, SIGKILL);
    } else if (passes) {
        kill((pid_t)child, SIGINT);
        set_alarm(AGAIN_MS);
    } else if (info->si_code <= 0) {
        kill((pid_t)child, number);
    }
    if (child && first) {
        asked_at = now_ms();
        asked = number;
    }
    errno = saved;
}

/* Returns whether the signal is ignored, as under nohup; it then stays ignored. */
static bool is_ignored(const struct sigaction *action) {
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

void process_guard(void) {
    if (guarded)
        return;
    guarded = true;
    pending = asked = forced = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* for end_orphans */
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction again = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigemptyset(&again.sa_mask);
    sigaction(SIGALRM, &again, &alarm_before);
    for (int i = 0; i < NASKING; i++) {
        sigaction(asking[i], NULL, &before[i]);
        if (!is_ignored(&before[i]))
            sigaction(asking[i], &action, NULL);
    }
}

void process_unguard(void) {
    if (!guarded)
        return;
    guarded = false;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    for (int i = 0; i < NASKING; i++)
        if (!is_ignored(&before[i]))
            sigaction(asking[i], &before[i], NULL);
    sigaction(SIGALRM, &alarm_before, NULL);
    if (pending && !asked)
        raise(pending);
}

int process_asked(void) {
    return asked;
}

/* ---- running ---- */

/* Sets the limits of time, in the child. Both remain after exec. */
static void limit_time(unsigned seconds) {
    struct rlimit limit = {seconds, seconds + 1}; /* SIGXCPU, then SIGKILL */
    signal(SIGXCPU, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    setrlimit(RLIMIT_CPU, &limit);
    alarm(seconds * PROCESS_PATIENCE);
}

bool process_took_long(int wait_status) {
    return wait_status >= 0 && WIFSIGNALED(wait_status) &&
           (WTERMSIG(wait_status) == SIGXCPU || WTERMSIG(wait_status) == SIGALRM);
}

/* Becomes the program, in the child. Uses only calls that are allowed between fork and exec. */
static _Noreturn void become(const char *const *argv, ProcessStreams streams, const sigset_t *mask,
                             pid_t parent, int failed) {
    const int given[] = {streams.in, streams.out, streams.err};
    bool ok = true;
    /* If we are killed, no reader of its output is left. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    for (int i = 0; i < NASKING; i++)
        if (guarded && !is_ignored(&before[i]))
            signal(asking[i], SIG_DFL);
    if (streams.deaf)
        signal(SIGINT, SIG_IGN);
    if (streams.seconds)
        limit_time(streams.seconds);
    if (streams.file_size)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){streams.file_size, streams.file_size});
    for (int i = 0; i < 3; i++)
        ok = ok && (given[i] < 0 || dup2(given[i], i) >= 0);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (ok)
        execve(argv[0], (char *const *)argv, environ);
    int error = errno;
    ssize_t n = write(failed, &error, sizeof error);
    (void)n;
    _exit(127);
}

/* Returns errno. */
static int cli_process_spawn(pid_t *pid, const char *const *argv, ProcessStreams streams,
                             const sigset_t *mask) {
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0)
        become(argv, streams, mask, parent, ends[1]);
    if (*pid < 0)
        error = errno;
    close(ends[1]);
    ssize_t n = *pid < 0 ? 0 : read(ends[0], &error, sizeof error); /* nothing: it has begun */
    close(ends[0]);
    if (n > 0)
        waitpid(*pid, NULL, 0);
    return error;
}

/* Forwards a signal that arrived before the child was known: other threads receive signals while
 * this one blocks them. */
static void ask_again(void) {
    int number = pending;
    pending = 0;
    if (number)
        kill(getpid(), number);
}

/* Starts a program; false: errno. */
static bool process_start(const char *const *argv, ProcessStreams streams, pid_t *pid) {
    fflush(stdout);
    fflush(stderr);
    sigset_t held, mask;
    sigemptyset(&held);
    for (int i = 0; i < NASKING; i++)
        sigaddset(&held, asking[i]);
    sigprocmask(SIG_BLOCK, &held, &mask);
    int e = pending ? EINTR : cli_process_spawn(pid, argv, streams, &mask);
    interrupt = streams.interrupt;
    if (!e)
        child = *pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (!e)
        ask_again();
    errno = e;
    return e == 0;
}

/* Ends the processes started by a child that was killed: they are our children now. */
static void end_orphans(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int pid = 1; pid > 0;) {
        FILE *file = fopen(path, "re");
        if (!file || fscanf(file, "%d", &pid) != 1)
            pid = 0;
        if (file)
            fclose(file);
        if (pid > 0 && (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) < 0))
            pid = 0;
    }
}

/* Waits so many seconds for the end of a child; then ends it, and returns true. */
static bool process_await(pid_t pid, unsigned seconds) {
    int64_t end = now_ms() + 1000 * (int64_t)seconds;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    int ready = fd < 0 ? -1 : 0;
    for (int64_t rest = end - now_ms(); fd >= 0 && ready <= 0 && rest > 0; rest = end - now_ms()) {
        ready = poll(&watched, 1, rest < INT32_MAX ? (int)rest : INT32_MAX);
        if (ready < 0 && errno != EINTR)
            break;
    }
    if (ready == 0)
        kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    return ready == 0;
}

/* Waits for the end of a child; returns its status, or SIGALRM's if its patience is over. */
static int process_finish(pid_t pid, unsigned patience) {
    int status = 0;
    siginfo_t info;
    bool late = patience && process_await(pid, patience);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    set_alarm(0);
    child = 0; /* before the number can belong to another process */
    bool ended = waitpid(pid, &status, 0) == pid;
    if (forced || late)
        end_orphans();
    if (late)
        return SIGALRM;
    return ended ? status : -1;
}

int process_run(const char *const *argv, ProcessStreams streams) {
    pid_t pid = 0;
    return process_start(argv, streams, &pid) ? process_finish(pid, streams.patience) : -1;
}

int process_read(const char *const *argv, ProcessStreams streams,
                 bool (*take)(void *ctx, const uint8_t *bytes, size_t n), void *ctx) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = 0;
    streams.out = ends[1];
    bool started = process_start(argv, streams, &pid);
    int error = errno;
    close(ends[1]);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, saved;
    sigaction(SIGPIPE, &ignore, &saved);
    uint8_t bytes[4096];
    for (ssize_t n; started && (n = read(ends[0], bytes, sizeof bytes)) != 0;)
        if (n > 0 ? !take(ctx, bytes, (size_t)n) : errno != EINTR)
            break;
    close(ends[0]);
    int status = started ? process_finish(pid, streams.patience) : -1;
    sigaction(SIGPIPE, &saved, NULL);
    if (!started)
        errno = error;
    return status;
}

uint64_t process_peak(bool children) {
    struct rusage u;
    if (getrusage(children ? RUSAGE_CHILDREN : RUSAGE_SELF, &u) < 0)
        return 0;
    return (uint64_t)u.ru_maxrss * 1024; /* Linux counts in kibibytes */
}

int64_t process_children_cpu(void) {
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u) < 0)
        return 0;
    return 1000000000 * ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1000 * ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int process_imitate(int wait_status) {
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    if (asked && (number == SIGINT || forced))
        number = asked;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* one core dump is enough */
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}

#endif
