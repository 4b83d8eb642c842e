/*
 * base/work_queue.c - work that threads do ahead of its consumer.
 */
#include "base/work_queue.h"

#include "base/mem.h"

#include <assert.h>
#include <pthread.h>

/* The state of a thread without an item. */
static const uint32_t nothing = UINT32_MAX;

typedef struct QueueThread {
    WorkQueue *queue;
    uint32_t number;
    pthread_t thread;
} QueueThread;

struct WorkQueue {
    WorkerJob *job;
    void *ctx;
    uint32_t threads, started; /* at most, and so far; with the first */
    QueueThread others[WORKERS_MAX];

    pthread_mutex_t lock;                 /* of the following members */
    pthread_cond_t may_begin, may_return; /* for the other threads, for the first */
    uint32_t next, end;                   /* items that are not begun, that are not allowed */
    uint32_t doing[WORKERS_MAX];
    bool ending;
};

WorkQueue *work_queue_new(uint32_t threads, WorkerJob *job, void *ctx) {
    assert(threads);
    WorkQueue *q = mem_zalloc(sizeof *q);
    q->job = job;
    q->ctx = ctx;
    q->threads = threads < WORKERS_MAX ? threads : WORKERS_MAX;
    q->started = 1;
    for (uint32_t i = 0; i < WORKERS_MAX; i++)
        q->doing[i] = nothing;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->may_begin, NULL);
    pthread_cond_init(&q->may_return, NULL);
    return q;
}

/* Does the next item; with the lock, which is released meanwhile. */
static void do_next(WorkQueue *q, uint32_t worker) {
    uint32_t item = q->next++;
    q->doing[worker] = item;
    pthread_mutex_unlock(&q->lock);
    q->job(q->ctx, worker, item);
    pthread_mutex_lock(&q->lock);
    q->doing[worker] = nothing;
}

static void *work_queue_run_thread(void *arg) {
    const QueueThread *self = arg;
    WorkQueue *q = self->queue;
    pthread_mutex_lock(&q->lock);
    while (!q->ending) {
        if (q->next < q->end) {
            do_next(q, self->number);
            pthread_cond_signal(&q->may_return);
        } else {
            pthread_cond_wait(&q->may_begin, &q->lock);
        }
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* Starts threads if there are items for them. If no more can be started, the existing ones do the
 * work. */
static void start_threads(WorkQueue *q, uint32_t items) {
    for (; q->started < q->threads && q->started < items; q->started++) {
        QueueThread *t = &q->others[q->started];
        *t = (QueueThread){.queue = q, .number = q->started};
        if (pthread_create(&t->thread, NULL, work_queue_run_thread, t) != 0) {
            q->threads = q->started;
            return;
        }
    }
}

/* How many items are to be done now. */
static uint32_t allow(WorkQueue *q, uint32_t end) {
    pthread_mutex_lock(&q->lock);
    q->end = end;
    uint32_t items = end - q->next;
    pthread_cond_broadcast(&q->may_begin);
    pthread_mutex_unlock(&q->lock);
    return items;
}

void work_queue_allow(WorkQueue *q, uint32_t end) {
    start_threads(q, allow(q, end));
}

void work_queue_give(WorkQueue *q, uint32_t end) {
    start_threads(q, allow(q, end) + 1);
}

/* With the lock. */
static bool is_done(const WorkQueue *q, uint32_t item) {
    for (uint32_t i = 0; i < q->threads; i++)
        if (q->doing[i] == item)
            return false;
    return item < q->next;
}

void work_queue_wait(WorkQueue *q, uint32_t item) {
    pthread_mutex_lock(&q->lock);
    while (!is_done(q, item)) {
        if (q->next < q->end)
            do_next(q, 0);
        else
            pthread_cond_wait(&q->may_return, &q->lock);
    }
    pthread_mutex_unlock(&q->lock);
}

/* With the lock. */
static bool work_queue_is_idle(const WorkQueue *q) {
    for (uint32_t i = 0; i < q->threads; i++)
        if (q->doing[i] != nothing)
            return false;
    return true;
}

uint32_t work_queue_hold(WorkQueue *q) {
    pthread_mutex_lock(&q->lock);
    q->end = q->next;
    while (!work_queue_is_idle(q))
        pthread_cond_wait(&q->may_return, &q->lock);
    uint32_t done = q->next;
    pthread_mutex_unlock(&q->lock);
    return done;
}

void work_queue_free(WorkQueue *q) {
    work_queue_hold(q);
    pthread_mutex_lock(&q->lock);
    q->ending = true;
    pthread_cond_broadcast(&q->may_begin);
    pthread_mutex_unlock(&q->lock);
    for (uint32_t i = 1; i < q->started; i++)
        pthread_join(q->others[i].thread, NULL);
    pthread_cond_destroy(&q->may_return);
    pthread_cond_destroy(&q->may_begin);
    pthread_mutex_destroy(&q->lock);
    free(q);
}
