/*
 * test_report_values.c - the values of aggregations, through the public interface.
 */
#include "whammc/report.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "-3": a whole number, "-": none, "1.5". */
static void put_text_of(const WhammcValue *v, char *out, size_t size) {
    size_t n = strlen(out);
    if (v->kind == WHAMMC_VALUE_UNSIGNED)
        snprintf(out + n, size - n, "%" PRIu64 " ", v->as.u);
    else if (v->kind == WHAMMC_VALUE_SIGNED)
        snprintf(out + n, size - n, "%" PRId64 " ", v->as.i);
    else if (v->kind == WHAMMC_VALUE_FLOAT)
        snprintf(out + n, size - n, "%g ", v->as.f);
    else
        snprintf(out + n, size - n, "%s ", v->kind == WHAMMC_VALUE_NONE ? "-" : v->as.text);
}

/* The value of a report with one row of this type. */
static const WhammcValue *read_value(WhammcReport *r, const char *type, const char *value) {
    char text[1000];
    snprintf(text, sizeof text,
             "{\"id\":0,\"id_type\":\"global_id\",\"name\":\"x\",\"type\":\"%s\","
             "\"wasm_type\":\"i64\",\"script\":\"script0\",\"fname\":null,\"fid\":null,"
             "\"pc\":null,\"probe\":null,\"value\":%s}\n",
             type, value);
    assert_int_equal(whammc_report_read(r, "r.json", text, strlen(text), 0), WHAMMC_OK);
    return whammc_report_value(r, 0);
}

static void assert_parts(const char *type, const char *json, WhammcValueKind kind,
                         const char *wanted) {
    char found[400] = "";
    WhammcReport *r = whammc_report_new();
    const WhammcValue *v = read_value(r, type, json);
    assert_int_equal(v->kind, kind);
    for (size_t i = 0; i < v->size; i++)
        put_text_of(&v->as.parts[i], found, sizeof found);
    assert_string_equal(found, wanted);
    whammc_report_free(r);
}

/* Their fields have names; what there is not of no numbers is none. */
static void test_records(void **state) {
    (void)state;
    assert_parts("stats", "[4,8,-1,5,2e0,36e0]", WHAMMC_VALUE_RECORD,
                 "count 4 sum 8 min -1 max 5 mean 2 deviation 3 ");
    assert_parts("stats(u64)", "[0,0,0,0,0e0,0e0]", WHAMMC_VALUE_RECORD,
                 "count 0 sum 0 min - max - mean - deviation - ");
    assert_parts("avg(f64)", "[2,3e0]", WHAMMC_VALUE_RECORD, "count 2 sum 3 mean 1.5 ");
    assert_parts("min", "[1,-7]", WHAMMC_VALUE_RECORD, "count 1 min -7 ");
    assert_parts("max(u64)", "[0,0]", WHAMMC_VALUE_RECORD, "count 0 max - ");
}

/* Buckets are in their order, with both ends. */
static void test_buckets(void **state) {
    (void)state;
    assert_parts("hist",
                 "[{\"key\":4,\"value\":1},{\"key\":-4,\"value\":2},{\"key\":0,\"value\":3},"
                 "{\"key\":4611686018427387904,\"value\":4},"
                 "{\"key\":-9223372036854775808,\"value\":5},{\"key\":-1,\"value\":6}]",
                 WHAMMC_VALUE_BUCKETS,
                 "-9223372036854775808 -9223372036854775807 5 -7 -3 2 -1 0 6 0 1 3 4 8 1 "
                 "4611686018427387904 - 4 ");
    assert_parts("lhist(0,10,4)",
                 "[{\"key\":10,\"value\":1},{\"key\":8,\"value\":2},"
                 "{\"key\":-9223372036854775808,\"value\":3}]",
                 WHAMMC_VALUE_BUCKETS, "- 0 3 8 10 2 10 - 1 ");
    assert_parts("hist(u64)", "[{\"key\":9223372036854775808,\"value\":1},{\"key\":1,\"value\":2}]",
                 WHAMMC_VALUE_BUCKETS, "1 2 2 9223372036854775808 - 1 ");
    assert_parts("hist", "[]", WHAMMC_VALUE_BUCKETS, "");
}

/* The others are numbers and a map. */
static void test_others(void **state) {
    (void)state;
    WhammcReport *r = whammc_report_new();
    const WhammcValue *v = read_value(r, "count", "7");
    assert_true(v->kind == WHAMMC_VALUE_UNSIGNED && v->as.u == 7);
    v = read_value(r, "sum", "-7");
    assert_true(v->kind == WHAMMC_VALUE_SIGNED && v->as.i == -7);
    assert_int_equal(read_value(r, "stats", "[1,2]")->kind, WHAMMC_VALUE_UNREADABLE);
    assert_int_equal(read_value(r, "hist", "[{\"key\":1}]")->kind, WHAMMC_VALUE_UNREADABLE);
    whammc_report_free(r);
    assert_parts("top(2,str)", "[{\"key\":\"f\",\"value\":2}]", WHAMMC_VALUE_MAP, "f 2 ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
