/*
 * tests/unit/test_totals.c - reports with source locations: what is written is read again, whatever
 * the names are; totals of lines, functions and files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "one_report.h"
#include "report/report_write.h"
#include "report/totals.h"
#include "report/value.h"

static const ReportVar count = {STR("memaddr"), STR("n"),       STR("u64"),
                                STR("i64"),     STR("script0"), {0}};
static const ReportVar text = {STR("memaddr"),    STR("s"),       STR("str"),
                               STR("(i32; i32)"), STR("script0"), {0}};

static void add(Report *r, const ReportVar *var, const char *value, uint32_t fid, uint32_t pc,
                const RowLocation *location) {
    static uint32_t id;
    ReportRow row = {.var = var,
                     .id = str_of(arena_printf(&r->arena, "%u", ++id * 36)),
                     .fname = str_of(arena_printf(&r->arena, "f, %u", fid)),
                     .probe = STR("1_wasm:opcode:nop:before"),
                     .value = str_of(value),
                     .has_place = true,
                     .fid = fid,
                     .pc = pc,
                     .location = location};
    report_classify(&row);
    vec_push(&r->rows, row);
}

/* ---- writing and reading ---- */

static void assert_str(Str a, Str b) {
    assert_int_equal(a.len, b.len);
    assert_true(str_eq(a, b));
}

static void check_again(const Report *r, WriteForm form, bool lines) {
    Buf out = {0};
    Report again = {0};
    ReportParts parts = {0};
    write_report(r, form, lines, &out);
    assert_true(one_report(&again, &parts, (Str){(char *)out.data, (uint32_t)out.len}, 0));
    assert_int_equal(again.rows.len, r->rows.len);
    assert_int_equal(again.located, lines);
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *a = &r->rows.at[i], *b = &again.rows.at[i];
        assert_str(a->value, b->value);
        assert_int_equal(a->class, b->class);
        assert_str(a->fname, b->fname);
        if (!lines || !a->location) {
            assert_null(b->location);
            continue;
        }
        assert_str(a->location->file, b->location->file);
        assert_str(a->location->function, b->location->function);
        assert_int_equal(a->location->line, b->location->line);
        assert_int_equal(a->location->column, b->location->column);
    }
    one_report_free(&again, &parts);
    buf_free(&out);
}

static void written_and_read(void **state) {
    (void)state;
    static const RowLocation places[] = {
        {STR("/src/a.c"), STR("main"), 7, 12},
        {STR("a b,c.c"), STR("max<int,long>"), 1, 0},
        {STR("=cmd"), STR("\"quoted\""), 4294967295u, 4294967295u},
        {STR("x.c"), STR(""), 3, 4},
        {STR(""), STR("only_name"), 0, 0},
        {STR("only_file.c,"), STR(","), 0, 0},
    };
    static const char *const values[] = {"a, 1, 2, b", "5, x.c, 3, 4, f", "", ", ", "=1+1"};
    Report r = {0};
    for (uint32_t i = 0; i < sizeof places / sizeof *places; i++) {
        add(&r, &count, "18446744073709551615", i, 3, &places[i]);
        add(&r, &count, "0", i, 4, NULL);
    }
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        add(&r, &text, values[i], i, 5, &places[i % 4]);
        add(&r, &text, values[i], i, 6, NULL);
    }
    for (WriteForm form = WRITE_CSV; form <= WRITE_CSV_RFC4180; form++)
        for (int lines = 0; lines < 2; lines++)
            check_again(&r, form, lines);
    report_free(&r);
}

/* ", " is what separates the columns of plain CSV. */
static void names_are_not_split(void **state) {
    (void)state;
    static const RowLocation place = {STR("a,  b.c"), STR("f<int, char>\n"), 1, 2};
    Report r = {0}, again = {0};
    ReportParts parts = {0};
    Buf out = {0};
    add(&r, &count, "1", 0, 1, &place);
    write_report(&r, WRITE_CSV, true, &out);
    assert_true(one_report(&again, &parts, (Str){(char *)out.data, (uint32_t)out.len}, 0));
    assert_int_equal(again.rows.len, 1);
    assert_str(again.rows.at[0].value, STR("1"));
    assert_str(again.rows.at[0].location->file, STR("a,b.c"));
    assert_str(again.rows.at[0].location->function, STR("f<int,char> "));
    one_report_free(&again, &parts);
    report_free(&r);
    buf_free(&out);
}

/* A text over several lines, then a report without locations: the last one counts. */
static void values_over_lines(void **state) {
    (void)state;
    static const char head[] =
        "===================== REPORT CSV FLUSH =====================\n"
        "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)";
    Buf b = {0};
    buf_printf(&b,
               "%s, file, line, column, src_function\n"
               "4, memaddr, s, str, (i32; i32), script0, f, 1, 2, 0_w, a\nb, c, x.c, 1, 2, g\n"
               "40, memaddr, s, str, (i32; i32), script0, f, 1, 3, 0_w, d, , , , \n"
               "76, memaddr, n, u64, i64, script0, f, 1, 4, 0_w, 5, y.c, 6, , h\n",
               head);
    Report r = {0};
    ReportParts parts = {0};
    assert_true(one_report(&r, &parts, (Str){(char *)b.data, (uint32_t)b.len}, 0));
    assert_int_equal(r.rows.len, 3);
    assert_str(r.rows.at[0].value, STR("a\nb, c"));
    assert_str(r.rows.at[0].location->file, STR("x.c"));
    assert_str(r.rows.at[1].value, STR("d"));
    assert_null(r.rows.at[1].location);
    assert_int_equal(r.rows.at[2].number.u, 5);
    assert_int_equal(r.rows.at[2].location->line, 6);
    one_report_free(&r, &parts);
    b.len = 0;
    buf_printf(&b, "\n%s\n4, memaddr, s, str, (i32; i32), script0, f, 1, 2, 0_w, a, b, 1, 2, g\n",
               head);
    assert_true(one_report(&r, &parts, (Str){(char *)b.data, (uint32_t)b.len}, 0));
    assert_int_equal(r.rows.len, 1);
    assert_false(r.located);
    assert_str(r.rows.at[0].value, STR("a, b, 1, 2, g"));
    one_report_free(&r, &parts);
    buf_free(&b);
}

/* ---- totals ---- */

static void assert_total(const ReportRow *row, const char *name, uint64_t sum, uint32_t sites) {
    assert_str(row->fname, str_of(name));
    assert_int_equal(row->number.u, sum);
    assert_int_equal(row->pc, sites);
}

static void sums(void **state) {
    (void)state;
    static const RowLocation places[] = {{STR("b.c"), STR("f"), 10, 1},
                                         {STR("a.c"), STR("g"), 20, 1},
                                         {STR("b.c"), STR("h"), 9, 1},
                                         {STR("b.c"), STR("f"), 0, 0}};
    Report r = {0}, t = {0};
    add(&r, &count, "1", 1, 1, &places[0]);
    add(&r, &count, "2", 1, 2, &places[1]);
    add(&r, &text, "text", 1, 2, &places[1]);
    add(&r, &count, "4", 1, 3, &places[0]);
    add(&r, &count, "8", 2, 1, &places[2]);
    add(&r, &count, "32", 2, 2, &places[3]);
    add(&r, &count, "16", 2, 3, NULL);
    totals_make(&r, TOTALS_LINE, &t);
    assert_int_equal(t.rows.len, 4);
    assert_total(&t.rows.at[0], "a.c:20", 2, 1);
    assert_total(&t.rows.at[1], "b.c:9", 8, 1);
    assert_total(&t.rows.at[2], "b.c:10", 5, 2);
    assert_total(&t.rows.at[3], "(no line known)", 48, 2);
    report_free(&t);
    totals_make(&r, TOTALS_FUNCTION, &t);
    assert_int_equal(t.rows.len, 2);
    assert_total(&t.rows.at[0], "f, 1", 7, 3);
    assert_total(&t.rows.at[1], "f, 2", 56, 3);
    report_free(&t);
    totals_make(&r, TOTALS_FILE, &t);
    assert_int_equal(t.rows.len, 3);
    assert_total(&t.rows.at[0], "a.c", 2, 1);
    assert_total(&t.rows.at[1], "b.c", 45, 4);
    assert_total(&t.rows.at[2], "(no file known)", 16, 1);
    report_free(&t);
    report_free(&r);
}

static void large_sums(void **state) {
    (void)state;
    static const ReportVar change = {STR("memaddr"), STR("d"),       STR("i64"),
                                     STR("i64"),     STR("script0"), {0}};
    static const ReportVar real = {STR("memaddr"), STR("x"),       STR("f64"),
                                   STR("f64"),     STR("script0"), {0}};
    static const ReportVar seen = {STR("memaddr"), STR("b"),       STR("bool"),
                                   STR("i32"),     STR("script0"), {0}};
    Report r = {0}, t = {0};
    for (uint32_t i = 0; i < 3; i++) {
        add(&r, &count, "18446744073709551615", 1, i, NULL);
        add(&r, &change, "-9223372036854775808", 1, i, NULL);
        add(&r, &real, "+2.5e0", 1, i, NULL);
        add(&r, &seen, i ? "true" : "false", 1, i, NULL);
    }
    totals_make(&r, TOTALS_FUNCTION, &t);
    assert_int_equal(t.rows.len, 4);
    assert_true(t.rows.at[0].number.u == UINT64_MAX);
    assert_true(t.rows.at[1].number.i == INT64_MIN);
    assert_true(t.rows.at[2].number.real == 7.5);
    assert_int_equal(t.rows.at[3].number.u, 2);
    report_free(&t);
    report_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read),  cmocka_unit_test(names_are_not_split),
        cmocka_unit_test(values_over_lines), cmocka_unit_test(sums),
        cmocka_unit_test(large_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
