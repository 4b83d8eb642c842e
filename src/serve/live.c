/*
 * serve/live.c - asking the runner for reports.
 *
 * Requests are numbered; the number of the last one is in shared memory, which the runner reads.
 * Reports arrive through a pipe, each preceded by the number of the last request that the runner
 * had seen before it made the report (stdlib/host/node/live.js). A thread reads the pipe.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "serve/live.h"

#ifdef HAVE_HTTP

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    FRESH_MS = 50,      /* reports that are newer are reused for new requests */
    PATIENCE_MS = 1000, /* then the last report is used */
    LARGEST = 1 << 30,
};

struct Live {
    int wanted, from, to; /* the file, and the pipe's ends; -1 = closed */
    char option[32];
    bool reads; /* the thread has begun */
    pthread_t reader;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t came;
    uint32_t asked, answered; /* numbers of requests */
    bool any, good, ended;
    LiveReport last; /* or a message, if not good */
    int64_t arrived; /* its time of arrival, by the monotonic clock */
};

static int64_t live_now(clockid_t clock) {
    enum { SECOND = 1000000000 };
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- the pipe ---- */

static bool live_read_all(int fd, void *to, size_t n) {
    for (uint8_t *at = to; n;) {
        ssize_t got = read(fd, at, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0)
            at += got, n -= (size_t)got;
    }
    return true;
}

static void *read_reports(void *ctx) {
    Live *l = ctx;
    struct {
        uint32_t number, good;
        uint64_t size;
    } head;
    while (live_read_all(l->from, &head, sizeof head) && head.size <= LARGEST) {
        Buf text = {0};
        buf_reserve(&text, head.size + 1);
        if (!live_read_all(l->from, text.data, head.size)) {
            buf_free(&text);
            break;
        }
        text.len = head.size;
        pthread_mutex_lock(&l->lock);
        buf_free(&l->last.text);
        l->last = (LiveReport){text, live_now(CLOCK_REALTIME)};
        l->arrived = live_now(CLOCK_MONOTONIC);
        l->answered = head.number;
        l->good = head.good;
        l->any = true;
        pthread_cond_broadcast(&l->came);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* ---- */

Live *live_open(void) {
    Live *l = mem_alloc(sizeof *l);
    int ends[2];
    uint32_t zero = 0;
    *l = (Live){.wanted = -1, .from = -1, .to = -1};
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&l->came, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_init(&l->lock, NULL);
    l->wanted = memfd_create("wanted", 0);
    if (l->wanted >= 0 && pipe(ends) == 0) {
        l->from = ends[0];
        l->to = ends[1];
        fcntl(l->from, F_SETFD, FD_CLOEXEC);
        snprintf(l->option, sizeof l->option, "--live=%d,%d", l->wanted, l->to);
        if (pwrite(l->wanted, &zero, sizeof zero, 0) == sizeof zero)
            return l;
    }
    int error = errno;
    live_close(l);
    errno = error;
    return NULL;
}

const char *live_option(const Live *l) {
    return l->option;
}

void live_begin(Live *l) {
    l->reads = pthread_create(&l->reader, NULL, read_reports, l) == 0;
}

void live_end(Live *l, const Buf *report) {
    if (l->to >= 0)
        close(l->to); /* the runner's end is closed, so reading ends */
    l->to = -1;
    if (l->reads)
        pthread_join(l->reader, NULL);
    l->reads = false;
    pthread_mutex_lock(&l->lock);
    if (report->len) {
        l->last.text.len = 0;
        buf_bytes(&l->last.text, report->data, report->len);
        l->last.time = live_now(CLOCK_REALTIME);
        l->any = l->good = true;
    }
    l->ended = true;
    pthread_cond_broadcast(&l->came);
    pthread_mutex_unlock(&l->lock);
}

void live_close(Live *l) {
    if (!l)
        return;
    live_end(l, &(Buf){0});
    if (l->wanted >= 0)
        close(l->wanted);
    if (l->from >= 0)
        close(l->from);
    buf_free(&l->last.text);
    pthread_cond_destroy(&l->came);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* Returns the time `ms` milliseconds from now. */
static struct timespec later(int64_t ms) {
    enum { SECOND = 1000000000, MILLISECOND = 1000000 };
    int64_t until = live_now(CLOCK_MONOTONIC) + ms * MILLISECOND;
    return (struct timespec){until / SECOND, until % SECOND};
}

bool live_sleep(Live *l, uint32_t seconds) {
    struct timespec end = later((int64_t)seconds * 1000);
    int error = 0;
    pthread_mutex_lock(&l->lock);
    while (!error && !l->ended)
        error = pthread_cond_timedwait(&l->came, &l->lock, &end);
    bool ended = l->ended;
    pthread_mutex_unlock(&l->lock);
    return ended;
}

/* Waits until the request is answered, or until waiting is pointless. */
static void await(Live *l, uint32_t request) {
    struct timespec end = later(PATIENCE_MS);
    int error = 0;
    while (!error && !l->ended && (int32_t)(l->answered - request) < 0)
        error = pthread_cond_timedwait(&l->came, &l->lock, &end);
}

bool live_take(Live *l, LiveReport *report, const char **why) {
    enum { MILLISECOND = 1000000 };
    *report = (LiveReport){0};
    pthread_mutex_lock(&l->lock);
    bool fresh = l->any && live_now(CLOCK_MONOTONIC) - l->arrived < (int64_t)FRESH_MS * MILLISECOND;
    if (!fresh && !l->ended) {
        uint32_t request = ++l->asked;
        if (pwrite(l->wanted, &request, sizeof request, 0) == sizeof request)
            await(l, request);
    }
    bool good = l->any && l->good;
    *why = good     ? NULL
           : l->any ? "the program could not make a report"
                    : "the program has not come to a place yet where it can make a report";
    if (l->any) {
        buf_bytes(&report->text, l->last.text.data, l->last.text.len);
        report->time = l->last.time;
    }
    pthread_mutex_unlock(&l->lock);
    return good;
}

void live_report_free(LiveReport *report) {
    buf_free(&report->text);
}

/* ---- from time to time ---- */

static void *take_from_time_to_time(void *ctx) {
    LiveTimer *t = ctx;
    while (!live_sleep(t->live, t->seconds)) {
        LiveReport report;
        const char *why;
        if (live_take(t->live, &report, &why))
            t->on(t->ctx, &report);
        live_report_free(&report);
    }
    return NULL;
}

bool live_timer_start(LiveTimer *t, Buf *why) {
    sigset_t all, before;
    assert(t->live && t->seconds && t->on);
    sigfillset(&all); /* all signals are for the running program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&t->thread, NULL, take_from_time_to_time, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        t->live = NULL;
        buf_printf(why, "%s", strerror(error));
    }
    return !error;
}

void live_timer_end(LiveTimer *t) {
    if (t->live)
        pthread_join(t->thread, NULL);
    t->live = NULL;
}

#endif
