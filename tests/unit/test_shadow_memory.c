/*
 * tests/unit/test_shadow_memory.c - shadow memories of the runtime, compared with plain arrays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "values_fixture.h"

/* Units at the beginning, around the border between two pages, and at the end of the memory. */
enum { PAGE_UNITS = 65536, SPAN = 300, WINDOWS = 3, UNITS = WINDOWS * SPAN };

typedef struct Model {
    uint32_t shadow, element_log, unit_log;
    uint64_t at[UNITS];
} Model;

static uint64_t first_unit(const Model *m, uint32_t window) {
    uint64_t all = ((uint64_t)1 << 32) >> m->unit_log;
    return window == 0 ? 0 : window == 1 ? PAGE_UNITS - SPAN / 2 : all - SPAN;
}

static uint64_t address(const Model *m, uint32_t i) {
    uint64_t unit = first_unit(m, i / SPAN) + i % SPAN;
    return (unit << m->unit_log) + next_random() % (1u << m->unit_log);
}

static uint64_t get(const Model *m, uint32_t unit) {
    switch (m->element_log) {
    case 0: return values_shadow_get8(m->shadow, unit);
    case 1: return values_shadow_get16(m->shadow, unit);
    case 2: return values_shadow_get32(m->shadow, unit);
    default: return values_shadow_get64(m->shadow, unit);
    }
}

static void change(Model *m, uint32_t unit, uint64_t v, bool add) {
    uint32_t s = m->shadow, w = (uint32_t)v, missing;
    switch (m->element_log) {
    case 0: missing = add ? values_shadow_add8(s, w, unit) : values_shadow_set8(s, w, unit); break;
    case 1:
        missing = add ? values_shadow_add16(s, w, unit) : values_shadow_set16(s, w, unit);
        break;
    case 2:
        missing = add ? values_shadow_add32(s, w, unit) : values_shadow_set32(s, w, unit);
        break;
    default: missing = add ? values_shadow_add64(s, v, unit) : values_shadow_set64(s, v, unit);
    }
    if (missing)
        values_shadow_begin_page(s);
}

static uint64_t narrow(const Model *m, uint64_t v) {
    return m->element_log == 3 ? v : v & (((uint64_t)1 << (8 << m->element_log)) - 1);
}

static void check_all(const Model *m) {
    for (uint32_t i = 0; i < UNITS; i++)
        assert_int_equal(get(m, values_shadow_unit(address(m, i), m->unit_log)), m->at[i]);
}

/* A range in one window: its first index, and the number of units. */
static uint32_t some_units(uint32_t from) {
    return (uint32_t)(next_random() % (SPAN - from % SPAN) + 1);
}

static uint64_t bytes(const Model *m, uint64_t from, uint32_t units) {
    return (((from >> m->unit_log) + units) << m->unit_log) - from;
}

static void step(Model *m) {
    uint32_t i = (uint32_t)(next_random() % UNITS), n = some_units(i);
    uint64_t at = address(m, i), v = narrow(m, next_random() % 3 ? next_random() : 0);
    uint32_t unit = values_shadow_unit(at, m->unit_log);
    switch (next_random() % 6) {
    case 0:
        change(m, unit, v, false);
        m->at[i] = v;
        break;
    case 1:
        change(m, unit, v, true);
        m->at[i] = narrow(m, m->at[i] + v);
        break;
    case 2:
        values_shadow_fill(m->shadow, at, bytes(m, at, n), v);
        for (uint32_t k = 0; k < n; k++)
            m->at[i + k] = v;
        break;
    case 3: {
        bool any = false;
        for (uint32_t k = 0; k < n; k++)
            any |= m->at[i + k] != 0;
        assert_int_equal(values_shadow_any(m->shadow, at, bytes(m, at, n)), any);
        assert_false(values_shadow_any(m->shadow, at, 0));
        break;
    }
    case 4: {
        uint32_t j = (uint32_t)(next_random() % UNITS);
        n = n < SPAN - j % SPAN ? n : SPAN - j % SPAN;
        at &= ~(((uint64_t)1 << m->unit_log) - 1);
        uint64_t to = address(m, j) & ~(((uint64_t)1 << m->unit_log) - 1);
        values_shadow_copy(m->shadow, to, at, (uint64_t)n << m->unit_log);
        memmove(m->at + j, m->at + i, n * sizeof *m->at);
        break;
    }
    default:
        if (next_random() % 50)
            break;
        values_shadow_clear(m->shadow);
        memset(m->at, 0, sizeof m->at);
    }
}

static void test_random(void **state) {
    (void)state;
    for (uint32_t element = 0; element < 4; element++)
        for (uint32_t unit = 0; unit < 5; unit++) {
            start();
            Model m = {values_shadow_new(element, unit), element, unit, {0}};
            for (uint32_t i = 0; i < 600; i++) {
                step(&m);
                if (i % 20 == 0)
                    check_all(&m);
            }
            check_all(&m);
            assert_int_equal(values_shadow_lost(m.shadow), 0);
            end();
        }
}

static void test_far(void **state) {
    (void)state;
    start();
    uint32_t s = values_shadow_new(0, 0);
    uint64_t far = (uint64_t)1 << 32;
    assert_int_equal(values_shadow_unit(far - 1, 0), UINT32_MAX);
    assert_int_equal(values_shadow_unit(far, 0), UINT32_MAX);
    assert_int_equal(values_shadow_unit(UINT64_MAX, 4), UINT32_MAX >> 4);
    values_shadow_fill(s, far, 100, 1);
    assert_int_equal(values_shadow_get8(s, UINT32_MAX), 0);
    values_shadow_fill(s, far - 1, UINT64_MAX, 1);
    assert_int_equal(values_shadow_get8(s, UINT32_MAX), 1);
    assert_true(values_shadow_any(s, 0, UINT64_MAX));
    assert_false(values_shadow_any(s, 0, far - 1));
    end();
}

/* 256 MB of memory have room for fewer than 512 pages of 512 KB. */
static void test_lost(void **state) {
    (void)state;
    start();
    uint32_t s = values_shadow_new(3, 0);
    uint64_t kept = 0, lost = 0;
    for (uint32_t page = 0; page < 600; page++) {
        uint32_t unit = page * PAGE_UNITS + 5;
        if (values_shadow_set64(s, page + 1, unit))
            values_shadow_begin_page(s);
        uint64_t v = values_shadow_get64(s, unit);
        assert_true(v == page + 1 || v == 0);
        kept += v != 0;
        lost += v == 0;
    }
    assert_true(kept > 400 && lost > 88);
    assert_int_equal(values_shadow_lost(s), lost);
    values_shadow_fill(s, 599 * PAGE_UNITS, 1000, 1);
    assert_int_equal(values_shadow_lost(s), lost + 1000);
    values_shadow_fill(s, 599 * PAGE_UNITS, 1000, 0);
    values_shadow_copy(s, 599 * PAGE_UNITS, 0, 10);
    assert_int_equal(values_shadow_lost(s), lost + 1010);
    values_shadow_copy(s, 599 * PAGE_UNITS, 100, 10);
    assert_int_equal(values_shadow_lost(s), lost + 1010);
    values_shadow_clear(s);
    if (values_shadow_set64(s, 9, 599 * PAGE_UNITS))
        values_shadow_begin_page(s);
    assert_int_equal(values_shadow_get64(s, 599 * PAGE_UNITS), 9);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
