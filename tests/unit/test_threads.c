/*
 * test_threads.c - several threads use the library at once, each with its own compiler: every
 * output is the one that a single thread makes.
 */
#include "whammc/whammc.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 10 };

/* (module (memory (export "memory") 1)
 *   (func (export "_start") (local i32)
 *     (loop (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const
 * 9)))))) */
static const uint8_t app[] = {
    0, 'a',  's',  'm', 1,    0,   0,    0,    1, 4,    1,   0x60, 0,    0,   3,    2,   1,
    0, 5,    3,    1,   0,    1,   7,    19,   2, 6,    'm', 'e',  'm',  'o', 'r',  'y', 2,
    0, 6,    '_',  's', 't',  'a', 'r',  't',  0, 0,    10,  21,   1,    19,  1,    1,   0x7f,
    3, 0x40, 0x20, 0,   0x41, 1,   0x6a, 0x22, 0, 0x41, 9,   0x49, 0x0d, 0,   0x0b, 0x0b};

static const char *const scripts[] = {
    "wasm:opcode:*:before { report unshared var n: i64; n++; }",
    "report var t: i32; fn f(a: i32) -> i32 { return a + 1; } wasm:opcode:br_if:before { if "
    "(taken) { t = f(t); } }",
    "wasm:block:end { report var n: u32; n = n + instr_count; } wasm:opcode:i32.add:alt / arg0 == "
    "1 / { return arg1 + 1; }",
};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

typedef struct Output {
    uint8_t *bytes;
    size_t size;
} Output;

static Output instrument(size_t script) {
    Output o = {NULL, 0};
    whammc *w = whammc_new();
    whammc_add_script(w, "script", scripts[script], strlen(scripts[script]));
    whammc_instrument(w, "app", app, sizeof app, NULL, &o.bytes, &o.size);
    whammc_free(w);
    return o;
}

static Output expected[SCRIPTS];

static void *work(void *arg) {
    size_t first = *(size_t *)arg, differ = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t k = (first + i) % SCRIPTS;
        Output o = instrument(k);
        differ += !o.bytes || o.size != expected[k].size ||
                  memcmp(o.bytes, expected[k].bytes, o.size) != 0;
        whammc_release(o.bytes);
    }
    return (void *)differ;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    size_t first[THREADS];
    for (size_t i = 0; i < SCRIPTS; i++) {
        expected[i] = instrument(i);
        assert_non_null(expected[i].bytes);
    }
    for (size_t i = 0; i < THREADS; i++) {
        first[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &first[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *differ;
        pthread_join(threads[i], &differ);
        assert_null(differ);
    }
    for (size_t i = 0; i < SCRIPTS; i++)
        whammc_release(expected[i].bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
