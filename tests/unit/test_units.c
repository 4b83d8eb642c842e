/*
 * tests/unit/test_units.c - what is left of scripts for monitors, against tests/unit/units.cases.
 *
 * Kinds of cases: `units` (what units_print gives) and `errors` (must fail; the rendered messages).
 */
#include "cases.h"

#include "lang/parse.h"
#include "monitor/make/unit.h"
#include "plan/make.h"

static bool run(const Case *k, Buf *out) {
    Diags diags = {0};
    Script script = {0};
    Plan plan = {0};
    Units units = {0};
    Libraries libraries = {0};
    DiagFileId file = diag_file(&diags, "t.whamm", k->script.ptr, k->script.len, false);
    Script *scripts[] = {&script};
    bool ok = lang_parse(&script, k->script.ptr, k->script.len, file, &diags) &&
              plan_make(&plan, scripts, 1, &libraries, &(PlanOptions){0}, &diags) &&
              units_make(&plan, NULL, &units, &diags);
    if (ok)
        units_print(&plan, &units, out);
    diag_render_text(&diags, out, false);
    units_free(&units);
    plan_free(&plan);
    script_free(&script);
    diag_free(&diags);
    return ok;
}

static bool must_fail(const Case *k) {
    return kind_is(k, "errors");
}

static bool in_terms(const UnitTerm *terms, uint32_t n, uint32_t a) {
    for (uint32_t i = 0; i < n; i++)
        if ((a & terms[i].mask) == terms[i].bits)
            return true;
    return false;
}

static bool in_set(const uint64_t set[4], uint32_t a) {
    return set[a >> 6] >> (a & 63) & 1;
}

/* Terms of many sets hold for just the assignments that they should. */
static void test_terms(void **state) {
    (void)state;
    uint64_t seed = 88172645463325252u;
    UnitTerm terms[128];
    for (uint32_t round = 0; round < 400; round++) {
        uint32_t n = round % 9, size = 1u << n;
        uint64_t when[4] = {0}, any[4] = {0};
        for (uint32_t a = 0; a < size; a++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            uint64_t bit = (uint64_t)1 << (a & 63);
            if (seed % 16 < 1 + round % 15)
                when[a >> 6] |= bit;
            else if (seed / 16 % 4 == 0)
                any[a >> 6] |= bit;
        }
        uint32_t count = unit_terms(n, when, any, terms);
        for (uint32_t a = 0; a < size; a++)
            if (!in_set(any, a))
                assert_int_equal(in_terms(terms, count, a), in_set(when, a));
    }
}

/* The parity of eight atoms is the longest there is; what need not be told apart is not. */
static void test_extremes(void **state) {
    (void)state;
    uint64_t when[4] = {0}, any[4] = {0};
    UnitTerm terms[128];
    for (uint32_t a = 0; a < 256; a++)
        if (__builtin_parity(a))
            when[a >> 6] |= (uint64_t)1 << (a & 63);
    assert_int_equal(unit_terms(8, when, any, terms), 128);
    for (uint32_t i = 0; i < 4; i++)
        any[i] = ~when[i];
    assert_int_equal(unit_terms(8, when, any, terms), 1);
    assert_int_equal(terms[0].mask, 0);
    assert_int_equal(unit_terms(8, (uint64_t[4]){0}, any, terms), 0);
}

int main(void) {
    static const struct CMUnitTest more[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_extremes),
    };
    return run_cases("units", "tests/unit/units.cases", more, 2);
}
