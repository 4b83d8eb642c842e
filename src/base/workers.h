/*
 * base/workers.h - work that is divided over threads: items that do not depend on each other, each
 * of which is done once. The result must not depend on which thread does an item, or when.
 */
#ifndef WHAMMC_BASE_WORKERS_H
#define WHAMMC_BASE_WORKERS_H

#include <stddef.h>
#include <stdint.h>

/* Does item `item` (0...n - 1). `worker` is the number of the thread, below `threads`;
 * one worker does one item at a time. */
typedef void WorkerJob(void *ctx, uint32_t worker, uint32_t item);

/* Does n items on at most `threads` threads, including the caller's; returns when all are done. If
 * no more threads can be started, the existing ones do the work. */
void workers_run(uint32_t threads, uint32_t n, WorkerJob *job, void *ctx);

/* Begins n items on at most `threads` - 1 other threads, while this one does something else.
 * workers_finish takes part as worker 0, returns when all are done, and frees. */
typedef struct Workers Workers;
Workers *workers_begin(uint32_t threads, uint32_t n, WorkerJob *job, void *ctx);
void workers_finish(Workers *w);

/* memcpy on at most `threads` threads, if there is much to copy. */
void workers_copy(uint32_t threads, void *to, const void *from, size_t size);

/* The number of threads to use if the user wants `wanted`; 0 = one for each processor that this
 * process may use. */
uint32_t workers_threads(uint32_t wanted);

/* Nobody needs more threads. */
enum { WORKERS_MAX = 64 };

#endif
