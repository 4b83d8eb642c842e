/*
 * test_work_queue.c - base/work_queue.h: with random allowing, waiting and holding each item is
 * done once, none that is not allowed, and never one while the queue is held.
 */
#include "base/work_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 2000, MOST_AHEAD = 12, ROUNDS = 20 };

typedef struct Done {
    atomic_uint times[ITEMS]; /* each item */
    atomic_uint workers[WORKERS_MAX];
    atomic_uint allowed;
    atomic_uint not_allowed, side_by_side; /* faults */
    unsigned results[ITEMS];               /* not atomic: the queue has to order accesses */
} Done;

static void do_item(void *ctx, uint32_t worker, uint32_t item) {
    Done *d = ctx;
    d->not_allowed += item >= d->allowed;
    d->side_by_side += atomic_fetch_add(&d->workers[worker], 1) != 0;
    volatile unsigned spin = item * 2654435761U >> 20;
    while (spin)
        spin--;
    d->results[item] = item + 1;
    d->times[item]++;
    d->workers[worker]--;
}

static bool all_done_once(Done *d, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        if (d->times[i] != 1 || d->results[i] != i + 1)
            return false;
    return true;
}

static void run(uint32_t threads, unsigned seed) {
    Done *d = calloc(1, sizeof *d);
    WorkQueue *q = work_queue_new(threads, do_item, d);
    srand(seed);
    for (uint32_t at = 0, end = 0; at < ITEMS; at++) {
        if (at == end || rand() % 3 == 0) {
            uint32_t most = at + 1 + (uint32_t)rand() % MOST_AHEAD;
            end = most < end ? end : most < ITEMS ? most : ITEMS;
            d->allowed = end;
            work_queue_allow(q, end);
        }
        work_queue_wait(q, at);
        assert_true(all_done_once(d, at, at + 1));
        if (rand() % 8 == 0) {
            uint32_t done = work_queue_hold(q);
            assert_in_range(done, at + 1, end);
            assert_true(all_done_once(d, at, done));
            d->allowed = end = done; /* whoever does more now is found out */
        }
    }
    work_queue_free(q);
    assert_true(all_done_once(d, 0, ITEMS));
    assert_int_equal(d->not_allowed, 0);
    assert_int_equal(d->side_by_side, 0);
    free(d);
}

static void test_random(void **state) {
    static const uint32_t threads[] = {1, 2, 3, 8};
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++)
        run(threads[i % 4], i);
}

/* What was allowed but is not waited for need not be done. */
static void test_given_up(void **state) {
    (void)state;
    Done *d = calloc(1, sizeof *d);
    WorkQueue *q = work_queue_new(4, do_item, d);
    d->allowed = ITEMS;
    work_queue_allow(q, ITEMS);
    work_queue_wait(q, 3);
    work_queue_free(q);
    uint32_t done = 0;
    while (done < ITEMS && d->times[done])
        done++;
    assert_in_range(done, 4, ITEMS);
    assert_true(all_done_once(d, 0, done));
    for (uint32_t i = done; i < ITEMS; i++)
        assert_int_equal(d->times[i], 0);
    free(d);
}

/* A single item that was given is done although nobody waits for it. */
static void test_given(void **state) {
    (void)state;
    Done *d = calloc(1, sizeof *d);
    WorkQueue *q = work_queue_new(2, do_item, d);
    d->allowed = 1;
    work_queue_give(q, 1);
    for (int tries = 0; tries < 10000 && !d->times[0]; tries++)
        usleep(1000);
    assert_int_equal(d->times[0], 1);
    work_queue_free(q);
    free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_given_up),
                                       cmocka_unit_test(test_given)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
