/*
 * tests/unit/test_values.c - strings, maps and memory of the runtime, in this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "values_fixture.h"

/* ---- memory ---- */

static void test_blocks(void **state) {
    (void)state;
    start();
    enum { N = 200 };
    uint32_t at[N] = {0}, size[N];
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t i = (uint32_t)(next_random() % N);
        if (at[i]) {
            for (uint32_t k = 0; k < size[i]; k++)
                assert_int_equal(values_load8(at[i] + k), (uint8_t)(i + k));
            values_mem_free(at[i]);
            at[i] = 0;
            continue;
        }
        size[i] = (uint32_t)(next_random() % (round % 50 ? 100 : 5000));
        at[i] = values_mem_alloc(size[i]);
        assert_true(at[i] && at[i] % 8 == 0);
        for (uint32_t k = 0; k < size[i]; k++)
            values_store8(at[i] + k, i + k);
    }
    assert_true(values_mem_alloc(8) < VALUES_STACK + (4 << 20)); /* freed blocks are used again */
    assert_int_equal(values_mem_alloc(MEMORY), 0);
    assert_int_equal(values_mem_alloc(UINT32_MAX), 0);
    values_mem_free(0);
    values_mem_free(UINT32_MAX);
    end();
}

/* ---- strings ---- */

static void test_strings(void **state) {
    (void)state;
    start();
    uint32_t hello = string(STR("hello, world")), empty = string(STR(""));
    assert_int_equal(empty, 0);
    assert_int_equal(values_load32(empty), 0);
    assert_int_equal(string(STR("hello, world")), hello);
    uint32_t before = values_str_new(5);
    values_str_drop(before);
    assert_int_equal(values_str_new(7), before); /* dropped strings leave nothing behind */
    uint32_t other = string(STR("hello, worlD"));
    assert_int_not_equal(other, hello);
    assert_int_equal(values_load32(other), 12);
    assert_int_equal(values_load8(other + 15), 'D');
    assert_true(values_str_eq(hello, hello) && !values_str_eq(hello, other));
    uint32_t copy = values_str_new(12); /* as a literal, which is not the interned one */
    for (uint32_t i = 0; i < 12; i++)
        values_store8(copy + 4 + i, values_load8(hello + 4 + i));
    assert_true(copy != hello && values_str_eq(copy, hello));
    values_str_drop(copy);
    struct {
        const char *part;
        bool starts, ends, contains;
    } parts[] = {
        {"", true, true, true},
        {"hello", true, false, true},
        {"world", false, true, true},
        {"o, w", false, false, true},
        {"hello, world", true, true, true},
        {"hello, world!", false, false, false},
        {"worlds", false, false, false},
        {"d", false, true, true},
        {"hellO", false, false, false},
    };
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint32_t part = string(str_of(parts[i].part));
        assert_int_equal(values_str_starts(hello, part), parts[i].starts);
        assert_int_equal(values_str_ends(hello, part), parts[i].ends);
        assert_int_equal(values_str_contains(hello, part), parts[i].contains);
    }
    assert_false(values_str_contains(empty, hello));
    end();
}

/* Equal contents are one object, for many strings, with bytes of all kinds. */
static void test_interning(void **state) {
    (void)state;
    start();
    enum { N = 50000 };
    uint32_t *at = calloc(N, sizeof *at);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++) {
            uint8_t text[40];
            uint32_t len = 4 + i % 37;
            for (uint32_t k = 4; k < len; k++)
                text[k] = (uint8_t)(i * 7 + k * (i >> 8));
            memcpy(text, &i, 4);
            uint32_t s = string((Str){(const char *)text, len});
            assert_int_equal(s % 8, 0);
            assert_true(round == 0 || at[i] == s);
            at[i] = s;
        }
    }
    for (uint32_t i = 1; i < N; i++)
        assert_int_not_equal(at[i], at[i - 1]);
    free(at);
    end();
}

/* ---- maps ---- */

/* Any of the functions that look a key of n leaves up. */
static uint32_t at_n(uint32_t map, uint32_t type, uint32_t n, const uint64_t *key, bool insert,
                     bool general) {
    if (n == 1 && !general)
        return insert ? values_map_at1(map, type, key[0]) : values_map_find1(map, type, key[0]);
    if (n == 2 && !general)
        return insert ? values_map_at2(map, type, key[0], key[1])
                      : values_map_find2(map, type, key[0], key[1]);
    if (n == 3 && !general)
        return insert ? values_map_at3(map, type, key[0], key[1], key[2])
                      : values_map_find3(map, type, key[0], key[1], key[2]);
    for (uint32_t i = 0; i < n; i++)
        values_key(i, key[i]);
    return insert ? values_map_at(map, type) : values_map_find(map, type);
}

static uint32_t string_of_number(uint64_t v) {
    char text[16];
    memcpy(text, &v, 8);
    memcpy(text + 8, &v, 8);
    return string((Str){text, (uint32_t)(v % 16)});
}

/* A leaf of the kind that stands for the number, each time the same. */
static uint64_t leaf_of(uint8_t kind, uint64_t v) {
    switch (kind) {
    case REPORT_STR: return string_of_number(v);
    case REPORT_F64: return v % 3 ? v << 40 : (uint64_t)(v & 1) << 63;
    case REPORT_F32: return v % 3 ? (uint32_t)(v << 12) : (uint64_t)(v & 1) << 31;
    case REPORT_U64:
    case REPORT_I64: return v << 32 | v;
    case REPORT_U32:
    case REPORT_I32: return (uint32_t)v * 2654435761u;
    default: return number_of_kind(kind, v);
    }
}

static void put_key(uint32_t n, const uint64_t *leaf) {
    for (uint32_t i = 0; i < n; i++)
        values_key(i, leaf[i]);
}

/* Random updates, reads and deletions in two maps of a type, against maps of the compiler, where a
 * deleted key has the value `gone`. */
static void check_maps(const uint8_t *key_desc, const uint8_t *value_desc, uint32_t range,
                       uint32_t rounds) {
    start();
    uint32_t type = map_type(key_desc, value_desc);
    const uint8_t *d = key_desc, *v = value_desc;
    uint32_t nk = leaves(&d), nv = leaves(&v);
    uint8_t kinds[8];
    d = key_desc;
    for (uint32_t i = 0; i < nk; d++) {
        if (*d == REPORT_TUPLE)
            d++;
        else
            kinds[i++] = *d;
    }
    const uint64_t gone = UINT64_MAX;
    Map model[2] = {{0}};
    uint32_t maps[2] = {1, values_map_new()}, len[2] = {0};
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t leaf[8] = {0}, r = next_random();
        Buf key = {0};
        for (uint32_t i = 0; i < nk; i++) {
            leaf[i] = leaf_of(kinds[i], (r >> 8 * i) % range);
            model_leaf(&key, kinds[i], leaf[i]);
        }
        uint32_t m = r >> 63, op = (r >> 56) % 6;
        Str k = {(const char *)key.data, (uint32_t)key.len};
        uint64_t *have = map_get(&model[m], k);
        have = have && *have != gone ? have : NULL;
        bool number = *value_desc <= REPORT_BOOL;
        bool wide = is_wide_value(value_desc);
        if (op == 4 || (op == 5 && round % 3 == 0)) { /* one in nine */
            put_key(nk, leaf);
            values_map_delete(maps[m]);
            if (have)
                *have = gone;
            len[m] -= have != NULL;
            have = NULL;
        }
        put_key(nk, leaf);
        assert_true(values_map_has(maps[m]) == (have != NULL));
        assert_true(values_map_len(maps[m]) == len[m]);
        if (op && (have || number)) {
            uint32_t at = at_n(maps[m], type, nk, leaf, false, op == 1);
            for (uint32_t i = 0; i < nv; i++)
                assert_true(load_leaf(at + 8 * i, wide) == (have ? *have + i : 0));
        }
        if (op < 3) {
            bool added;
            uint32_t at = at_n(maps[m], type, nk, leaf, true, op == 2);
            uint64_t *now = map_put(&model[m], k, 0, &added);
            added |= *now == gone;
            len[m] += added;
            for (uint32_t i = 0; i < nv; i++) {
                assert_true(load_leaf(at + 8 * i, wide) == (added ? 0 : *now + i));
                store_leaf(at + 8 * i, wide, round + i);
            }
            *now = round;
        }
        buf_free(&key);
    }
    for (uint32_t m = 0; m < 2; m++) {
        uint32_t keys = values_map_keys(maps[m]), n = 0;
        for (; values_keys_next(maps[m], keys); n++)
            if (n % 3 == 1) { /* the current one; those to come stay */
                for (uint32_t i = 0; i < nk; i++)
                    values_key(i, values_load64(values_load32(keys) + 8 * i));
                values_map_delete(maps[m]);
            }
        assert_int_equal(n, len[m]);
        assert_int_equal(values_map_len(maps[m]), n - (n + 1) / 3);
        values_keys_free(keys);
        assert_true(range < 100 || len[m] > 100);
        map_free(&model[m]);
        values_map_free(maps[m]);
    }
    end();
}

static void test_map_shapes(void **state) {
    (void)state;
    const uint8_t *keys[] = {
        DESC(REPORT_U8),
        DESC(REPORT_I8),
        DESC(REPORT_U16),
        DESC(REPORT_I16),
        DESC(REPORT_U32),
        DESC(REPORT_I32),
        DESC(REPORT_F32),
        DESC(REPORT_U64),
        DESC(REPORT_I64),
        DESC(REPORT_F64),
        DESC(REPORT_BOOL),
        DESC(REPORT_STR),
        DESC(REPORT_TUPLE, 0),
        DESC(REPORT_TUPLE, 1, REPORT_U32),
        DESC(PAIR(REPORT_I32, REPORT_BOOL)),
        DESC(PAIR(REPORT_STR, REPORT_F64)),
        DESC(TRIPLE(REPORT_I32, REPORT_I32, REPORT_I32)),
        DESC(TRIPLE(REPORT_I32, PAIR(REPORT_STR, REPORT_F32), REPORT_U64)),
        DESC(PAIR(TRIPLE(REPORT_I8, REPORT_U64, REPORT_STR), PAIR(REPORT_STR, REPORT_BOOL))),
    };
    const uint8_t *values[] = {
        DESC(REPORT_U32),
        DESC(REPORT_F64),
        DESC(REPORT_STR),
        DESC(REPORT_TUPLE, 0),
        DESC(TRIPLE(REPORT_U64, REPORT_STR, REPORT_BOOL)),
    };
    for (uint32_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (uint32_t v = 0; v < sizeof values / sizeof *values; v++)
            check_maps(keys[k], values[v], k % 2 ? 20 : 77, 3000);
}

static void test_map_large(void **state) {
    (void)state;
    check_maps(DESC(REPORT_U32), DESC(REPORT_U32), 300000, 1000000);
    check_maps(DESC(REPORT_STR), DESC(REPORT_U64), 200000, 300000);
    check_maps(DESC(PAIR(REPORT_U64, REPORT_U32)), DESC(REPORT_U32), 1000, 300000);
}

/* Entries stay where they were found while other maps grow, and tables are used again. */
static void test_map_reuse(void **state) {
    (void)state;
    start();
    uint32_t type = map_type(DESC(REPORT_U32), DESC(REPORT_U32)), end_of_first = 0;
    for (uint32_t round = 0; round < 50; round++) {
        uint32_t ids[10];
        for (uint32_t i = 0; i < 10; i++) {
            ids[i] = values_map_new();
            assert_int_equal(ids[i] >= STATIC_MAPS && ids[i] < STATIC_MAPS + 10, 1);
            for (uint32_t k = 0; k < i; k++)
                assert_int_not_equal(ids[i], ids[k]);
        }
        for (uint32_t k = 0; k < 3000; k++)
            values_store32(values_map_at1(ids[k % 10], type, k * 8), k);
        for (uint32_t k = 0; k < 3000; k++)
            assert_int_equal(values_load32(values_map_find1(ids[k % 10], type, k * 8)), k);
        for (uint32_t i = 0; i < 10; i++) {
            values_map_free(ids[i]);
            assert_int_equal(values_load32(values_map_find1(2, type, i)), 0);
        }
        uint32_t heap = values_str_new(0);
        if (round < 2) /* headers of pages stay that, so the second round is not like the first */
            end_of_first = heap;
        assert_int_equal(heap, end_of_first);
    }
    values_store32(values_map_at1(0, type, 7), 8);
    values_map_free(0); /* a static one becomes empty */
    assert_int_equal(values_load32(values_map_find1(0, type, 7)), 0);
    assert_int_not_equal(values_map_new(), 0);
    end();
}

/* Keys that come and go take no more memory than those that are there at one time. */
static void test_map_window(void **state) {
    (void)state;
    const uint8_t *keys[] = {DESC(REPORT_U64), DESC(REPORT_F64)};
    for (uint32_t kind = 0; kind < 2; kind++) {
        start();
        uint32_t type = map_type(keys[kind], DESC(REPORT_U64)), early = 0;
        for (uint64_t k = 0; k < 200000; k++) {
            uint64_t in = (k + 1001) * 24, out = (k + 1) * 24;
            values_store64(values_map_at1(0, type, in), k);
            if (k < 1000)
                continue;
            put_key(1, &out);
            values_map_delete(0);
            assert_true(values_map_len(0) == 1000);
            if (k == 100000)
                early = values_str_new(0);
        }
        assert_int_equal(values_str_new(0), early);
        values_map_clear(0);
        assert_true(values_map_len(0) == 0);
        end();
    }
}

/* Keys that differ in few bits, wherever those are, do not make long searches. */
static void test_map_spread(void **state) {
    (void)state;
    for (uint32_t shift = 0; shift < 50; shift++) {
        start();
        uint32_t type = map_type(DESC(REPORT_U64), DESC(REPORT_U32));
        for (uint64_t k = 0; k < 10000; k++)
            values_store32(values_map_at1(0, type, k << shift), (uint32_t)k);
        for (uint64_t k = 0; k < 10000; k++)
            assert_int_equal(values_load32(values_map_find1(0, type, k << shift)), k);
        end();
    }
}

/* ---- maps of whamm_core ---- */

/* Types that are made here are those that the compiler would make. */
/* Bytes of memory for each key of a map of counts. */
static uint32_t bytes_for_key(uint64_t (*key)(uint32_t), uint8_t value, uint32_t n) {
    start();
    uint32_t type = map_type(DESC(REPORT_U64), (const uint8_t[]){value}), from = values_str_new(0);
    for (uint32_t i = 0; i < n; i++)
        values_store32(values_map_at1(0, type, key(i)), i + 1);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(values_load32(values_map_find1(0, type, key(i))), i + 1);
    uint32_t bytes = (values_str_new(0) - from) / n;
    end();
    return bytes;
}

static uint64_t one_after_the_other(uint32_t i) {
    return i;
}

static uint64_t each_eighth(uint32_t i) {
    return 5326072 + 8 * (uint64_t)i;
}

static uint64_t downwards(uint32_t i) {
    return 0xffffff00u - 4 * (uint64_t)i;
}

static uint64_t scattered(uint32_t i) {
    return i * UINT64_C(0x9e3779b97f4a7c15);
}

/* Two of each 64, as far apart as can be. */
static uint64_t pairs(uint32_t i) {
    return i / 2 * (uint64_t)64 + i % 2 * 63;
}

/* Three, with every distance. */
static uint64_t loose(uint32_t i) {
    return i * (uint64_t)21;
}

/* First each eighth, then some between them. */
static uint64_t between(uint32_t i) {
    return i < 90000 ? 8 * (uint64_t)i : 8 * (uint64_t)(i - 90000) * 50 + 3;
}

/* Memory is bounded by the number of keys, and that of dense ones is that of an array. */
static void test_map_memory(void **state) {
    (void)state;
    enum { N = 100000 };
    static const struct {
        uint64_t (*key)(uint32_t);
        uint32_t narrow, wide; /* at most so many bytes, for values of 4 and of 8 */
    } cases[] = {
        {one_after_the_other, 12, 24},
        {each_eighth, 12, 24},
        {downwards, 12, 24},
        {scattered, 90, 90},
        {pairs, 90, 90},
        {loose, 90, 90},
        {between, 24, 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t narrow = bytes_for_key(cases[i].key, REPORT_U32, N),
                 wide = bytes_for_key(cases[i].key, REPORT_U64, N);
        if (narrow > cases[i].narrow || wide > cases[i].wide)
            fail_msg("case %zu: %u and %u bytes", i, narrow, wide);
    }
}

static void test_core_types(void **state) {
    (void)state;
    start();
    map_type_of(DESC(REPORT_I32), DESC(REPORT_I32), "i32", "i32");
    map_type_of(DESC(REPORT_I32), DESC(REPORT_STR), "i32", "str");
    map_type_of(DESC(REPORT_STR), DESC(REPORT_I32), "str", "i32");
    map_type_of(DESC(PAIR(REPORT_I32, REPORT_I32)), DESC(REPORT_I32), "(i32,i32)", "i32");
    map_type_of(DESC(PAIR(REPORT_I32, REPORT_BOOL)), DESC(REPORT_I32), "(i32,bool)", "i32");
    map_type_of(DESC(TRIPLE(REPORT_I32, REPORT_I32, REPORT_I32)), DESC(REPORT_I32), "(i32,i32,i32)",
                "i32");
    uint32_t first = values_map_new();
    for (uint32_t i = 1; i < 6; i++)
        values_map_new();
    uint32_t heap = values_str_new(0);
    values_insert_i32_i32(first, 1, 2);
    values_insert_i32_string(first + 1, 1, 0, 0);
    values_insert_string_i32(first + 2, 0, 0, 2);
    values_insert_i32i32tuple_i32(first + 3, 1, 2, 3);
    values_insert_i32booltuple_i32(first + 4, 1, 2, 3);
    values_insert_i32i32i32tuple_i32(first + 5, 1, 2, 3, 4);
    /* but no types: the strings were there. Entries: four, and eight places; words: a page, and
     * eight places with room to sort */
    assert_int_equal(values_str_new(0) - heap, (64 + 64 + 128) + 3 * 32 + 3 * (48 + 48));
    end();
}

static void test_core_maps(void **state) {
    (void)state;
    start();
    enum { N = 3000 };
    uint32_t bytes = values_mem_alloc(N + 8), numbers = values_map_new(),
             strings = values_map_new(), texts = values_map_new();
    for (uint32_t i = 0; i < N + 8; i++)
        values_store8(bytes + i, (uint8_t)next_random());
    assert_int_equal(values_get_i32_i32(numbers, 1), 0);
    assert_int_equal(values_get_string_i32(strings, bytes, 3), 0);
    for (uint32_t i = 0; i < N; i++) {
        values_insert_i32_i32(numbers, i * 0x10001, i);
        values_insert_string_i32(strings, bytes + i, 8, i);
        values_insert_i32_string(texts, 0 - i, bytes + i, i % 9);
    }
    uint32_t heap = values_str_new(0);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(values_get_i32_i32(numbers, i * 0x10001), i);
        assert_int_equal(values_get_string_i32(strings, bytes + i, 8), i);
        uint32_t s = values_get_i32_string(texts, 0 - i);
        assert_int_equal(values_load32(s), i % 9);
        for (uint32_t k = 0; k < i % 9; k++)
            assert_int_equal(values_load8(s + 4 + k), values_load8(bytes + i + k));
        assert_int_equal(values_get_string_i32(strings, bytes + i, 7), 0);
    }
    assert_int_equal(values_str_new(0), heap); /* look-ups leave nothing behind */
    values_map_clear(numbers);
    assert_int_equal(values_get_i32_i32(numbers, 0x10001), 0);
    values_insert_i32i32tuple_i32(numbers, 1, 2, 3);
    values_insert_i32i32tuple_i32(numbers, 2, 1, 4);
    assert_int_equal(values_get_i32i32tuple_i32(numbers, 1, 2), 3);
    assert_int_equal(values_get_i32i32tuple_i32(numbers, 2, 1), 4);
    assert_int_equal(values_get_i32i32tuple_i32(numbers, 1, 1), 0);
    values_map_clear(numbers);
    values_insert_i32booltuple_i32(numbers, 1, 200, 5);
    assert_int_equal(values_get_i32booltuple_i32(numbers, 1, 1), 5); /* any bool but 0 is true */
    assert_int_equal(values_get_i32booltuple_i32(numbers, 1, 0), 0);
    values_map_clear(numbers);
    values_insert_i32i32i32tuple_i32(numbers, 1, 2, 3, 6);
    assert_int_equal(values_get_i32i32i32tuple_i32(numbers, 1, 2, 3), 6);
    assert_int_equal(values_get_i32i32i32tuple_i32(numbers, 3, 2, 1), 0);
    end();
}

/* Maps of the script, with types of the compiler's, are the same maps; u32 counts as i32. */
static void test_core_script_maps(void **state) {
    (void)state;
    start();
    uint32_t type = map_type(DESC(REPORT_U32), DESC(REPORT_U32));
    values_store32(values_map_at1(1, type, 7), 8);
    assert_int_equal(values_get_i32_i32(1, 7), 8);
    values_insert_i32_i32(1, 7, 9);
    values_insert_i32_i32(1, 8, 10);
    assert_int_equal(values_load32(values_map_find1(1, type, 7)), 9);
    assert_int_equal(values_load32(values_map_find1(1, type, 8)), 10);
    values_map_clear(1);
    assert_int_equal(values_load32(values_map_find1(1, type, 8)), 0);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),     cmocka_unit_test(test_strings),
        cmocka_unit_test(test_interning),  cmocka_unit_test(test_map_shapes),
        cmocka_unit_test(test_map_large),  cmocka_unit_test(test_map_reuse),
        cmocka_unit_test(test_map_window), cmocka_unit_test(test_map_spread),
        cmocka_unit_test(test_map_memory), cmocka_unit_test(test_core_types),
        cmocka_unit_test(test_core_maps),  cmocka_unit_test(test_core_script_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
