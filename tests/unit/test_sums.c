/*
 * tests/unit/test_sums.c - words that follow from counters, and what traps make of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "inject/counter_code.h"
#include "stdlib/runtime/sums.h"

enum { COUNTERS = 4, DERIVED = 4 };

/* Counters 100, 20, 3, 0xffffffffffffffff, then derived words that are not computed yet. */
typedef struct Words {
    uint8_t bytes[8 * (COUNTERS + DERIVED)];
} Words;

static Words words_of_counters(void) {
    static const uint64_t counters[COUNTERS] = {100, 20, 3, UINT64_MAX};
    Words w;
    for (uint32_t i = 0; i < COUNTERS + DERIVED; i++)
        store64(w.bytes + 8 * i, i < COUNTERS ? counters[i] : 0x5a5a);
    return w;
}

static void derive(Words *w, const Buf *table, SumsTraps traps) {
    static const uint8_t none[1];
    const uint8_t *at = table->len ? table->data : none;
    Reader r = {at, at + table->len};
    SumsWords words = {w->bytes, w->bytes + 8 * COUNTERS, COUNTERS, DERIVED};
    sums_derive(&r, words, traps);
}

static uint64_t derived(const Words *w, uint32_t i) {
    return load64(w->bytes + 8 * (COUNTERS + i));
}

static void head(Buf *b, uint32_t terms, uint32_t flags) {
    buf_uleb(b, terms << SUMS_TERMS_SHIFT | flags);
}

static void counter(Buf *b, int32_t distance, uint32_t flags) {
    uint32_t zigzag = (uint32_t)distance << 1 ^ (distance < 0 ? UINT32_MAX : 0);
    buf_uleb(b, (uint64_t)zigzag << SUMS_TERM_SHIFT | flags);
}

static void before(Buf *b, uint32_t distance, uint32_t flags) {
    buf_uleb(b, (uint64_t)distance << SUMS_TERM_SHIFT | SUMS_DERIVED | flags);
}

static void test_terms(void **state) {
    (void)state;
    Buf table = {0};
    head(&table, 2, 0); /* 100 - 20 */
    counter(&table, 0, 0);
    counter(&table, 1, SUMS_SUBTRACTED);
    head(&table, 2, 0); /* 3 - that: distances go on from word to word */
    counter(&table, 1, 0);
    before(&table, 1, SUMS_SUBTRACTED);
    head(&table, 0, SUMS_MOVED); /* the last word: nothing */
    buf_uleb(&table, 1 << 1);
    head(&table, 3, SUMS_MOVED); /* back to the third: the second + counter 3 + counter 0 */
    buf_uleb(&table, 3);         /* zigzag of -2 */
    before(&table, 1, 0);
    counter(&table, 1, 0);
    counter(&table, -3, 0);
    Words w = words_of_counters();
    derive(&w, &table, (SumsTraps){0});
    assert_int_equal(derived(&w, 0), 80);
    assert_int_equal(derived(&w, 1), (uint64_t)-77);
    assert_int_equal(derived(&w, 2), 22);
    assert_int_equal(derived(&w, 3), 0);
    buf_free(&table);
}

/* A record, as the host tells of a trap. */
static void put_trap(Buf *b, uint32_t fid, uint32_t from, uint32_t to, uint32_t times,
                     uint32_t deficit) {
    const uint32_t words[] = {fid, from, to, times, deficit, 0};
    for (uint32_t i = 0; i < 6; i++)
        buf_u32le(b, words[i]);
}

static void test_traps(void **state) {
    (void)state;
    Buf records = {0}, table = {0};
    put_trap(&records, 7, 11, 20, 2, 5);
    put_trap(&records, 7, 15, 30, 1, 6);
    put_trap(&records, 8, 11, 20, 4, 5);
    put_trap(&records, 7, 11, 20, 0, 5); /* not used, as those after it */
    put_trap(&records, 7, 11, 20, 100, 5);
    SumsTraps traps = sums_traps(records.data, 5);
    assert_int_equal(traps.n, 3);
    assert_int_equal(sums_traps(records.data, 2).n, 2);
    assert_int_equal(sums_too_often(traps, 7, 10), 0);
    assert_int_equal(sums_too_often(traps, 7, 11), 2);
    assert_int_equal(sums_too_often(traps, 7, 19), 3);
    assert_int_equal(sums_too_often(traps, 7, 20), 1);
    assert_int_equal(sums_too_often(traps, 7, 30), 0);
    assert_int_equal(sums_too_often(traps, 9, 15), 0);
    head(&table, 1, SUMS_DEFICIT); /* 100 and what is missing in it: 2 + 4 */
    buf_uleb(&table, 5 << 1);
    counter(&table, 0, 0);
    head(&table, 1, SUMS_DEFICIT); /* 20 - 1 */
    buf_uleb(&table, 6 << 1 | SUMS_SUBTRACTED);
    counter(&table, 1, 0);
    Words w = words_of_counters();
    derive(&w, &table, traps);
    assert_int_equal(derived(&w, 0), 106);
    assert_int_equal(derived(&w, 1), 19);
    assert_int_equal(derived(&w, 2), 0x5a5a);
    buf_free(&records);
    buf_free(&table);
}

/* Whatever is in a table: only derived words are written, and nothing else is read (sanitizers). */
static void test_damaged(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (uint32_t round = 0; round < 20000; round++) {
        Words *w = mem_alloc(sizeof *w);
        *w = words_of_counters();
        Buf table = {0};
        for (uint32_t i = 0; i < round % 23; i++) {
            seed = seed * 1664525 + 1013904223;
            buf_u8(&table, seed >> 24 & (round & 1 ? 0xff : 0x1f));
        }
        derive(w, &table, (SumsTraps){0});
        Words before_ = words_of_counters();
        assert_memory_equal(w->bytes, before_.bytes, 8 * COUNTERS);
        buf_free(&table);
        free(w);
    }
}

/* Weights in every form, distances of one byte and more. */
static void test_added_up(void **state) {
    (void)state;
    static const CountPart parts[] = {
        {0, 1},   {1, 11},        {2, 12}, {3, 0 - UINT64_C(1)},   {9, 0 - UINT64_C(4)},
        {10, 63}, {11, 1u << 20}, {19, 1}, {400, 0 - UINT64_C(5)}, {5000, UINT64_C(1) << 63},
    };
    enum { N = sizeof parts / sizeof *parts, COUNTERS_HERE = 5001 };
    static uint8_t words[8 * COUNTERS_HERE];
    CountSum sum = {0};
    CountParts list = {0};
    Buf table = {0};
    uint64_t total = 0;
    for (uint32_t i = 0; i < COUNTERS_HERE; i++)
        store64(words + 8 * (size_t)i, 3 * (uint64_t)i + 1);
    for (uint32_t i = 0; i < N; i++) {
        count_sum_add(&sum, parts[i].counter, parts[i].weight);
        total += parts[i].weight * (3 * (uint64_t)parts[i].counter + 1);
    }
    buf_u32le(&table, (uint32_t)sum.parts.len);
    buf_bytes(&table, sum.parts.data, sum.parts.len);
    assert_true(sums_add_up(table.data, words) == total);

    counter_parts(&sum, &list);
    assert_int_equal(list.len, N);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t found = 0;
        for (uint32_t k = 0; k < N; k++)
            found += list.at[k].counter == parts[i].counter && list.at[k].weight == parts[i].weight;
        assert_int_equal(found, 1);
    }
    assert_int_equal(list.at[0].counter, 0); /* those of weight 1 follow one another */
    assert_int_equal(list.at[1].counter, 19);
    vec_free(&list);
    buf_free(&sum.parts);
    buf_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_traps),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_added_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
