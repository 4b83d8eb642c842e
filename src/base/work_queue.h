/*
 * base/work_queue.h - work that threads do ahead of its consumer: items that do not depend on each
 * other, which are begun in their order as soon as they are allowed.
 *
 * All functions are called by the thread that made the queue.
 */
#ifndef WHAMMC_BASE_WORK_QUEUE_H
#define WHAMMC_BASE_WORK_QUEUE_H

#include "base/workers.h"

typedef struct WorkQueue WorkQueue;

/* On at most `threads` threads, including the caller's, which takes part while it waits. */
WorkQueue *work_queue_new(uint32_t threads, WorkerJob *job, void *ctx);

/* Items below `end` may be done, several at a time. */
void work_queue_allow(WorkQueue *q, uint32_t end);

/* The same if this thread does something else before it waits: even a single item gets another
 * thread. */
void work_queue_give(WorkQueue *q, uint32_t end);

/* Returns when an item, which is allowed, is done; does others meanwhile, if there are any. */
void work_queue_wait(WorkQueue *q, uint32_t item);

/* Cancels items that have not begun, and returns when no thread works: the number of items done. */
uint32_t work_queue_hold(WorkQueue *q);

/* Holds and frees. */
void work_queue_free(WorkQueue *q);

#endif
