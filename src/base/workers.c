/*
 * base/workers.c - work that is divided over threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/workers.h"

#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct Worker {
    Workers *work;
    uint32_t number;
    pthread_t thread;
} Worker;

struct Workers {
    WorkerJob *job;
    void *ctx;
    uint32_t n;
    atomic_uint next;
    uint32_t others; /* the threads at `at` */
    Worker at[WORKERS_MAX];
};

static void do_items(Workers *w, uint32_t worker) {
    for (;;) {
        uint32_t item = atomic_fetch_add(&w->next, 1);
        if (item >= w->n)
            return;
        w->job(w->ctx, worker, item);
    }
}

static void *run_worker(void *arg) {
    const Worker *self = arg;
    do_items(self->work, self->number);
    return NULL;
}

/* Starts at most so many other threads. */
static Workers *workers_start(uint32_t others, uint32_t n, WorkerJob *job, void *ctx) {
    Workers *w = mem_zalloc(sizeof *w);
    w->job = job;
    w->ctx = ctx;
    w->n = n;
    for (; w->others < others && w->others + 1 < WORKERS_MAX; w->others++) {
        Worker *worker = &w->at[w->others];
        *worker = (Worker){.work = w, .number = w->others + 1};
        if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
            break;
    }
    return w;
}

Workers *workers_begin(uint32_t threads, uint32_t n, WorkerJob *job, void *ctx) {
    assert(threads);
    return workers_start(threads - 1 < n ? threads - 1 : n, n, job, ctx);
}

void workers_finish(Workers *w) {
    do_items(w, 0);
    for (uint32_t k = 0; k < w->others; k++)
        pthread_join(w->at[k].thread, NULL);
    free(w);
}

void workers_run(uint32_t threads, uint32_t n, WorkerJob *job, void *ctx) {
    uint32_t most = threads < n ? threads : n;
    workers_finish(workers_start(most ? most - 1 : 0, n, job, ctx));
}

/* ---- copying ---- */

/* Bytes that one thread copies in one go. */
#ifdef NDEBUG
enum { BLOCK = 512 << 10 };
#else
enum { BLOCK = 1 << 10 };
#endif

typedef struct Copy {
    uint8_t *to;
    const uint8_t *from;
    size_t size;
} Copy;

static void copy_block(void *ctx, uint32_t worker, uint32_t item) {
    const Copy *c = ctx;
    size_t at = (size_t)item * BLOCK, left = c->size - at;
    (void)worker;
    memcpy(c->to + at, c->from + at, left < BLOCK ? left : BLOCK);
}

void workers_copy(uint32_t threads, void *to, const void *from, size_t size) {
    Copy c = {to, from, size};
    uint32_t blocks = (uint32_t)((size + BLOCK - 1) / BLOCK);
    workers_run(blocks > 2 ? threads : 1, blocks, copy_block, &c);
}

/* ---- */

uint32_t workers_threads(uint32_t wanted) {
    if (!wanted) {
        cpu_set_t set;
        wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    }
    return wanted < WORKERS_MAX ? wanted : WORKERS_MAX;
}
