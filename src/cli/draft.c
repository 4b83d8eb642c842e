/*
 * cli/draft.c - writes a file while its contents are still being made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, sync_file_range */
#endif
#include "cli/draft.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- drafts without a file ---- */

static void nothing_put(void *ctx, const uint8_t *bytes, size_t from, size_t to) {
    (void)ctx;
    (void)bytes;
    (void)from;
    (void)to;
}

static void nothing_held(void *ctx) {
    (void)ctx;
}

#if defined(O_TMPFILE) && defined(SYNC_FILE_RANGE_WRITE) && !defined(__EMSCRIPTEN__)

/* The bytes per write, which `hold` waits for, and the minimum size of contents that are worth a
 * draft. */
#ifdef NDEBUG
enum { BLOCK = 1 << 20, LEAST = 1 << 20 };
#else
enum { BLOCK = 1 << 12, LEAST = 1 };
#endif

typedef struct Range {
    size_t from, to;
} Range;

typedef struct DraftState DraftState;
struct DraftState {
    char *folder; /* with a '/' at its end */
    bool replaces;
    int fd; /* -1: not begun */
    bool given_up;
    size_t end; /* of the bytes that were put */
    pthread_t thread;
    pthread_mutex_t lock; /* of the following */
    pthread_cond_t changed;
    const uint8_t *data; /* NULL: it is held */
    Vec(Range) todo;
    uint32_t next; /* of `todo` */
    bool writing;
    bool failed;
    bool ending; /* the thread ends when nothing is left to do */
    bool joined; /* it has ended */
};

/* ---- the thread ---- */

/* Writes bytes at their offset. */
static bool write_at(int fd, const uint8_t *data, Range r) {
    while (r.from < r.to) {
        ssize_t n = pwrite(fd, data + r.from, r.to - r.from, (off_t)r.from);
        if (n < 0 && errno != EINTR)
            return false;
        r.from += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Starts writing the contents to the disk, which file systems otherwise do just before the file
 * replaces another one, so that one of the two survives a crash. */
static void write_back(const DraftState *s, Range r) {
    if (s->replaces)
        sync_file_range(s->fd, (off_t)r.from, (off_t)(r.to - r.from), SYNC_FILE_RANGE_WRITE);
}

/* Takes the next bytes to be written, at most BLOCK; with the lock held. */
static Range draft_take(DraftState *s) {
    Range *next = &s->todo.at[s->next], r = *next;
    if (r.to - r.from > BLOCK)
        r.to = r.from + BLOCK;
    next->from = r.to;
    if (next->from == next->to && ++s->next == s->todo.len)
        s->todo.len = s->next = 0;
    return r;
}

static bool has_work(const DraftState *s) {
    return s->data && s->next < s->todo.len;
}

static void *write_all(void *arg) {
    DraftState *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!has_work(s) && !s->ending)
            pthread_cond_wait(&s->changed, &s->lock);
        if (!has_work(s) || s->failed)
            break;
        Range r = draft_take(s);
        const uint8_t *data = s->data;
        s->writing = true;
        pthread_mutex_unlock(&s->lock);
        bool ok = write_at(s->fd, data, r);
        pthread_mutex_lock(&s->lock);
        s->writing = false;
        s->failed = !ok;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        write_back(s, r);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the functions of the sink ---- */

/* Makes the file and the thread. */
static bool draft_start(DraftState *s) {
    s->fd = open(s->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->fd >= 0 && pthread_create(&s->thread, NULL, write_all, s) == 0)
        return true;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->given_up = true;
    return false;
}

/* Adds a range to be written. */
static void draft_enter(DraftState *s, const uint8_t *bytes, size_t from, size_t to) {
    pthread_mutex_lock(&s->lock);
    s->data = bytes;
    if (s->todo.len && vec_last(&s->todo).to == from)
        vec_last(&s->todo).to = to;
    else
        vec_push(&s->todo, ((Range){from, to}));
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void draft_put(void *ctx, const uint8_t *bytes, size_t from, size_t to) {
    DraftState *s = ctx;
    s->end = to > s->end ? to : s->end;
    if (s->given_up || from == to)
        return;
    if (s->fd >= 0)
        draft_enter(s, bytes, from, to);
    else if (s->end >= LEAST && draft_start(s))
        draft_enter(s, bytes, 0, s->end);
}

static void hold(void *ctx) {
    DraftState *s = ctx;
    if (s->fd < 0)
        return;
    pthread_mutex_lock(&s->lock);
    s->data = NULL;
    while (s->writing)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- */

void draft_begin(Draft *d, const char *path, bool replaces) {
    *d = (Draft){.sink = {nothing_put, nothing_held, NULL}};
    if (!path)
        return;
    DraftState *s = mem_zalloc(sizeof *s);
    const char *slash = strrchr(path, '/');
    s->folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup("./");
    s->replaces = replaces;
    s->fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    d->state = s;
    d->sink = (whammc_sink){draft_put, hold, s};
}

/* Lets the thread end when it has nothing left to do; false if it could not write all. */
static bool draft_join(DraftState *s) {
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->joined = true;
    return !s->failed && !s->todo.len;
}

/* Returns whether the file has these contents. */
static bool draft_has(int fd, const Buf *contents) {
    struct stat s;
    Buf read = {0};
    bool same = fstat(fd, &s) == 0 && (size_t)s.st_size == contents->len;
    buf_reserve(&read, contents->len + 1);
    while (same && read.len < contents->len) {
        ssize_t n = pread(fd, read.data + read.len, contents->len - read.len, (off_t)read.len);
        same = n > 0;
        read.len += n > 0 ? (size_t)n : 0;
    }
    same = same && (!read.len || memcmp(read.data, contents->data, read.len) == 0);
    buf_free(&read);
    return same;
}

bool draft_complete(Draft *d, const Buf *contents) {
    DraftState *s = d->state;
    if (!s || s->fd < 0 || s->end > contents->len)
        return false;
    draft_enter(s, contents->data, s->end, contents->len);
    bool ok = draft_join(s);
    assert(!ok || draft_has(s->fd, contents));
    (void)draft_has;
    return ok;
}

bool draft_name(const Draft *d, mode_t mode, const char *name) {
    enum { LONGEST = 64 };
    char nameless[LONGEST];
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", d->state->fd);
    return fchmod(d->state->fd, mode) == 0 &&
           linkat(AT_FDCWD, nameless, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

void draft_end(Draft *d) {
    DraftState *s = d->state;
    if (!s)
        return;
    hold(s);
    if (s->fd >= 0 && !s->joined)
        draft_join(s);
    if (s->fd >= 0)
        close(s->fd);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    vec_free(&s->todo);
    free(s->folder);
    free(s);
    d->state = NULL;
}

#else /* no unnamed files */

void draft_begin(Draft *d, const char *path, bool replaces) {
    (void)path;
    (void)replaces;
    *d = (Draft){.sink = {nothing_put, nothing_held, NULL}};
}

bool draft_complete(Draft *d, const Buf *contents) {
    (void)d;
    (void)contents;
    return false;
}

bool draft_name(const Draft *d, mode_t mode, const char *name) {
    (void)d;
    (void)mode;
    (void)name;
    errno = ENOTSUP;
    return false;
}

void draft_end(Draft *d) {
    (void)d;
}

#endif
