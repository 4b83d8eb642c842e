/*
 * base/workers.c - work that is divided over threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Work {
    WorkerJob *job;
    void *ctx;
    uint32_t n;
    atomic_uint next;
} Work;

typedef struct Worker {
    Work *work;
    uint32_t number;
    pthread_t thread;
} Worker;

static void *do_items(void *arg) {
    const Worker *self = arg;
    Work *work = self->work;
    for (;;) {
        uint32_t item = atomic_fetch_add(&work->next, 1);
        if (item >= work->n)
            return NULL;
        work->job(work->ctx, self->number, item);
    }
}

void workers_run(uint32_t threads, uint32_t n, WorkerJob *job, void *ctx) {
    Work work = {.job = job, .ctx = ctx, .n = n};
    Worker workers[WORKERS_MAX];
    uint32_t started = 1, most = threads < n ? threads : n;
    if (most > WORKERS_MAX)
        most = WORKERS_MAX;
    for (; started < most; started++) {
        workers[started] = (Worker){.work = &work, .number = started};
        if (pthread_create(&workers[started].thread, NULL, do_items, &workers[started]) != 0)
            break;
    }
    workers[0] = (Worker){.work = &work};
    do_items(&workers[0]);
    for (uint32_t k = 1; k < started; k++)
        pthread_join(workers[k].thread, NULL);
}

uint32_t workers_threads(uint32_t wanted) {
    if (!wanted) {
        cpu_set_t set;
        wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    }
    return wanted < WORKERS_MAX ? wanted : WORKERS_MAX;
}
