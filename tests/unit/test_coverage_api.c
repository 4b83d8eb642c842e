/*
 * tests/unit/test_coverage_api.c - coverage through the public interface, of a program and reports
 * written here.
 */
#include "whammc/coverage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* br_table 0 1 0 2 at 9, nop at 16 (label 0), nop at 18 (label 1), if at 22, nop at 24. The body
 * begins at byte 23. */
static const char program[] =
    "\0asm\1\0\0\0\1\5\1`\1\177\0\3\2\1\0\12\35\1\33\0\2@\2@\2@ \0\16\3\0\1\0"
    "\2\13\1\13\1\13 \0\4@\1\13\13";
/* The body in line 1, br_table in 3, the nops in 4 and 5, the if in 7, its nop in 8. */
static const char map[] =
    "{\"version\":3,\"sources\":[\"a.c\"],\"mappings\":\"uBAAA,SAEA,OACA,EACA,IAEA,EACA\","
    "\"sourcesContent\":[\"f\\n\\nswitch\\na\\nb // LCOV_EXCL_LINE\\n\\nif // LCOV_EXCL_BR_LINE\\n"
    "then </script>\\n\"]}";

#define HEADER                                                                                     \
    "\n================================= REPORT CSV FLUSH ====================================\n"  \
    "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)\n"
#define ROW(id, name, type, pc, probe, value)                                                      \
    id ", memaddr, " name ", " type ", i64, script0, f, 0, " pc ", " probe ", " value "\n"
#define BLOCKS                                                                                     \
    ROW("4", "entered", "u64", "1", "0_wasm:func:entry:<no-mode>", "4")                            \
    ROW("5", "executed", "u64", "1", "1_wasm:block:start:<no-mode>", "4")                          \
    ROW("6", "executed", "u64", "16", "1_wasm:block:start:<no-mode>", "3")                         \
    ROW("7", "executed", "u64", "18", "1_wasm:block:start:<no-mode>", "0")                         \
    ROW("8", "executed", "u64", "20", "1_wasm:block:start:<no-mode>", "4")                         \
    ROW("9", "executed", "u64", "24", "1_wasm:block:start:<no-mode>", "2")                         \
    ROW("1", "times_taken", "u64", "22", "6_wasm:opcode:if:before", "2")                           \
    ROW("2", "times_not_taken", "u64", "22", "6_wasm:opcode:if:before", "2")                       \
    ROW("3", "targets_taken", "map<u32,u64>", "9", "11_wasm:opcode:br_table:before",               \
        "0->1;2->2;3->1")
static const char run[] = HEADER BLOCKS;
/* Of two modules. */
static const char both[] =
    "{\"whammc\":1,\"module\":\"1\",\"name\":\"one\",\"instance\":0}" HEADER BLOCKS
    "{\"whammc\":\"end\"}\n{\"whammc\":1,\"module\":\"2\",\"name\":\"two\",\"instance\":1}" HEADER
        BLOCKS "{\"whammc\":\"end\"}\n";

static const whammc_debug_info info = {
    .file_name = "a.map", .file = map, .file_size = sizeof map - 1};

static WhammcCoverage *coverage_of(const char *report) {
    WhammcCoverage *c = whammc_coverage_new();
    assert_int_equal(whammc_coverage_set_module(c, "app.wasm", program, sizeof program - 1),
                     WHAMMC_OK);
    whammc_coverage_locate(c, &info);
    assert_int_equal(whammc_coverage_add(c, "report", report, strlen(report)), WHAMMC_OK);
    return c;
}

/* The result ends with a NUL. */
static char *written(WhammcCoverage *c, WhammcCoverageFormat format,
                     const WhammcCoverageOptions *options) {
    uint8_t *out;
    size_t size;
    assert_int_equal(whammc_coverage_write(c, format, options, &out, &size), WHAMMC_OK);
    assert_int_equal(strlen((const char *)out), size);
    return (char *)out;
}

static void assert_written(WhammcCoverage *c, WhammcCoverageFormat format,
                           const WhammcCoverageOptions *options, const char *text) {
    char *out = written(c, format, options);
    assert_string_equal(out, text);
    whammc_release(out);
}

static void lcov_has_lines_and_ways(void **state) {
    (void)state;
    static const char once[] =
        "TN:\nSF:a.c\nFN:1,#0\nFNDA:4,#0\nFNF:1\nFNH:1\n"
        "BRDA:3,0,0,3\nBRDA:3,0,1,0\nBRDA:3,0,2,1\nBRF:3\nBRH:2\n"
        "DA:1,4\nDA:3,4\nDA:4,3\nDA:7,4\nDA:8,2\nLF:5\nLH:5\nend_of_record\n";
    WhammcCoverage *c = coverage_of(run);
    assert_written(c, WHAMMC_COVERAGE_LCOV, NULL, once);
    WhammcCoverageTotals t = whammc_coverage_totals(c);
    assert_int_equal(t.lines, 5);
    assert_int_equal(t.branches, 3);
    assert_int_equal(t.branches_executed, 2);
    whammc_coverage_free(c);
}

static void markers_can_mean_nothing(void **state) {
    (void)state;
    WhammcCoverageOptions options = {.no_markers = true};
    WhammcCoverage *c = coverage_of(run);
    whammc_release(written(c, WHAMMC_COVERAGE_JSON, &options));
    WhammcCoverageTotals t = whammc_coverage_totals(c);
    assert_int_equal(t.lines, 6); /* line 5 as well, which goes on up to the if */
    assert_int_equal(t.lines_executed, 6);
    assert_int_equal(t.branches, 5); /* and line 7's */
    whammc_coverage_free(c);
}

static void runs_add_up(void **state) {
    (void)state;
    static const char most[] = HEADER ROW("6", "executed", "u64", "16",
                                          "1_wasm:block:start:<no-mode>", "18446744073709551614");
    WhammcCoverage *c = coverage_of(run);
    assert_int_equal(whammc_coverage_add(c, "run", run, sizeof run - 1), WHAMMC_OK);
    char *out = written(c, WHAMMC_COVERAGE_LCOV, NULL);
    assert_non_null(strstr(out, "FNDA:8,#0\n"));
    assert_non_null(strstr(out, "BRDA:3,0,0,6\nBRDA:3,0,1,0\nBRDA:3,0,2,2\n"));
    assert_non_null(strstr(out, "DA:4,6\n"));
    whammc_release(out);
    assert_int_equal(whammc_coverage_add(c, "most", most, sizeof most - 1), WHAMMC_OK);
    out = written(c, WHAMMC_COVERAGE_LCOV, NULL);
    assert_non_null(strstr(out, "DA:4,18446744073709551615\n")); /* the largest number there is */
    whammc_release(out);
    whammc_coverage_free(c);
}

static void calls_that_do_not_return_end_a_count(void **state) {
    (void)state;
    static const char flags[] =
        HEADER ROW("1", "reached", "bool", "9", "3_wasm:opcode:br_table:before", "true")
            ROW("2", "reached", "bool", "16", "4_wasm:opcode:nop:before", "false");
    static const char returned[] =
        HEADER BLOCKS ROW("7", "returned", "u64", "20", "9_wasm:opcode:call:after", "1");
    WhammcCoverage *c = coverage_of(flags);
    char *out = written(c, WHAMMC_COVERAGE_LCOV, NULL);
    assert_non_null(strstr(out, "DA:3,1\nDA:4,0\n"));
    whammc_release(out);
    whammc_coverage_free(c);
    c = coverage_of(returned); /* "after" the instruction at 20: the if at 22 is reached once */
    out = written(c, WHAMMC_COVERAGE_LCOV, NULL);
    assert_non_null(strstr(out, "DA:7,1\nDA:8,2\n"));
    whammc_release(out);
    whammc_coverage_free(c);
}

static void formats_agree(void **state) {
    (void)state;
    WhammcCoverageOptions options = {.title = "<b>", .time = 5};
    WhammcCoverage *c = coverage_of(run);
    assert_written(
        c, WHAMMC_COVERAGE_TEXT, NULL,
        "file                lines           functions            branches  not executed\n"
        "a.c    100.0%         5/5  100.0%         1/1   66.6%         2/3\n"
        "total  100.0%         5/5  100.0%         1/1   66.6%         2/3\n");
    char *out = written(c, WHAMMC_COVERAGE_COBERTURA, &options);
    assert_non_null(strstr(out, "lines-covered=\"5\" lines-valid=\"5\" branches-covered=\"2\""));
    assert_non_null(strstr(out, "timestamp=\"5\""));
    assert_non_null(strstr(out, "<line number=\"3\" hits=\"4\" branch=\"true\" "
                                "condition-coverage=\"66% (2/3)\">"));
    whammc_release(out);
    out = written(c, WHAMMC_COVERAGE_HTML, &options);
    assert_non_null(strstr(out, "<h1>&lt;b&gt;</h1>"));
    assert_non_null(strstr(out, "then &lt;/script&gt;"));
    assert_non_null(strstr(out, "title=\"3, 0, 1\">2/3</td>"));
    whammc_release(out);
    whammc_coverage_free(c);
}

static void files_are_chosen(void **state) {
    (void)state;
    static const char *const none[] = {"b*", NULL}, *const all[] = {"*.c", NULL};
    WhammcCoverageOptions options = {.include = none};
    WhammcCoverage *c = coverage_of(run);
    assert_written(c, WHAMMC_COVERAGE_LCOV, &options, "");
    options = (WhammcCoverageOptions){.include = all, .exclude = none};
    char *out = written(c, WHAMMC_COVERAGE_LCOV, &options);
    assert_non_null(strstr(out, "SF:a.c\n"));
    whammc_release(out);
    options.exclude = all;
    assert_written(c, WHAMMC_COVERAGE_LCOV, &options, "");
    whammc_coverage_free(c);
}

/* The same program with another name section: a program of its own, with the same sources. */
static void programs_add_up(void **state) {
    (void)state;
    static const char *const none[] = {"*", NULL};
    char other[sizeof program + 8];
    memcpy(other, program, sizeof program - 1);
    memcpy(other + sizeof program - 1, "\0\3\1xy", 5);
    WhammcCoverage *c = coverage_of(run);
    assert_int_equal(whammc_coverage_add_module(c, "lib/app.wasm", other, sizeof program + 4),
                     WHAMMC_OK);
    whammc_coverage_locate(c, &info);
    char *alone = written(c, WHAMMC_COVERAGE_TEXT, NULL);
    assert_non_null(strstr(whammc_coverage_messages(c, 0),
                           "there are no counts of 1 of 2 programs: app.wasm #2 [other-program]"));
    assert_non_null(strstr(alone, "module"));
    whammc_release(alone);
    assert_int_equal(whammc_coverage_add(c, "two", both, strlen(both)), WHAMMC_OK);
    assert_written(c, WHAMMC_COVERAGE_LCOV, NULL,
                   "TN:\nSF:a.c\nFN:1,#0\nFNDA:12,#0\nFNF:1\nFNH:1\n"
                   "BRDA:3,0,0,9\nBRDA:3,0,1,0\nBRDA:3,0,2,3\nBRF:3\nBRH:2\n"
                   "DA:1,12\nDA:3,12\nDA:4,9\nDA:7,12\nDA:8,6\nLF:5\nLH:5\nend_of_record\n");
    char *json = written(c, WHAMMC_COVERAGE_JSON, NULL);
    assert_non_null(strstr(json, "{\"module\":\"app.wasm\","));
    assert_non_null(strstr(json, "{\"module\":\"app.wasm #2\","));
    whammc_release(json);
    WhammcCoverageOptions options = {.exclude = none};
    assert_written(c, WHAMMC_COVERAGE_LCOV, &options, "");
    assert_non_null(strstr(whammc_coverage_messages(c, 0), "app.wasm and others: the patterns"));
    assert_int_equal(whammc_coverage_set_module(c, "app.wasm", program, sizeof program - 1),
                     WHAMMC_OK);
    whammc_coverage_free(c);
}

static void wrong_input_is_an_error(void **state) {
    (void)state;
    static const char elsewhere[] =
        HEADER ROW("6", "executed", "u64", "17000", "1_wasm:block:start:<no-mode>", "3");
    static const char inside[] =
        HEADER ROW("6", "executed", "u64", "10", "1_wasm:block:start:<no-mode>", "3");
    static const char sums[] = HEADER "0, global_id, n, u64, i64, script0, , , , , 4\n";
    uint8_t *out;
    size_t size;
    WhammcCoverage *c = whammc_coverage_new();
    assert_int_equal(whammc_coverage_write(c, WHAMMC_COVERAGE_LCOV, NULL, &out, &size),
                     WHAMMC_ERROR); /* there is no program */
    assert_int_equal(whammc_coverage_set_module(c, "app.wasm", program, 20), WHAMMC_ERROR);
    assert_int_equal(whammc_coverage_add(c, "empty", "", 0), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_coverage_messages(c, 0), "not-a-report"));
    assert_int_equal(whammc_coverage_add(c, "sums", sums, sizeof sums - 1), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_coverage_messages(c, 0), "no-counts"));
    whammc_coverage_free(c);
    for (int i = 0; i < 2; i++) {
        c = coverage_of(i ? elsewhere : inside);
        assert_int_equal(whammc_coverage_write(c, WHAMMC_COVERAGE_LCOV, NULL, &out, &size),
                         WHAMMC_ERROR);
        assert_null(out);
        assert_non_null(strstr(whammc_coverage_messages(c, 0), "another program"));
        whammc_coverage_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lcov_has_lines_and_ways),
        cmocka_unit_test(markers_can_mean_nothing),
        cmocka_unit_test(runs_add_up),
        cmocka_unit_test(calls_that_do_not_return_end_a_count),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(files_are_chosen),
        cmocka_unit_test(programs_add_up),
        cmocka_unit_test(wrong_input_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
