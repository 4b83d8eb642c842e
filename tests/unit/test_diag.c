/*
 * tests/unit/test_diag.c - diagnostics: places, carets, order, limits, JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/diag.h"

static void assert_text(Diags *d, bool colour, const char *expected) {
    Buf out = {0};
    diag_render_text(d, &out, colour);
    assert_string_equal(buf_cstr(&out), expected);
    buf_free(&out);
}

static void assert_json(Diags *d, const char *expected) {
    Buf out = {0};
    diag_render_json(d, &out);
    assert_string_equal(buf_cstr(&out), expected);
    buf_free(&out);
}

static void test_order(void **state) {
    (void)state;
    Diags d = {0};
    const char *text = "one\ntwo";
    DiagFileId a = diag_file(&d, "a.whamm", text, strlen(text), false);
    DiagFileId b = diag_file(&d, "b.wasm", "\0asm", 4, true);
    diag(&d, DIAG_INVALID, (Span){b, 0x1a3, 0x1a3}, "in the module");
    diag(&d, DIAG_SYNTAX, (Span){a, 4, 7}, "later in the text");
    diag(&d, DIAG_SYNTAX, (Span){a, 0, 3}, "first");
    diag(&d, DIAG_NESTING, (Span){a, 0, 1}, "at the same place, reported later");
    diag(&d, DIAG_CANNOT_WRITE, NO_SPAN, "no place");
    diag(&d, DIAG_SYNTAX, (Span){a, 0, 3}, "the same again");
    assert_int_equal(d.errors, 5);
    assert_text(&d, false,
                "whammc: error: no place [cannot-write]\n"
                "a.whamm:1:1: error: first [syntax]\n"
                "    1 | one\n"
                "      | ^~~\n"
                "a.whamm:1:1: error: at the same place, reported later [nesting]\n"
                "    1 | one\n"
                "      | ^\n"
                "a.whamm:2:1: error: later in the text [syntax]\n"
                "    2 | two\n"
                "      | ^~~\n"
                "b.wasm:0x1a3: error: in the module [invalid-module]\n");
    diag_free(&d);
}

/* A file that is empty, and was never put anywhere. */
static void test_empty_file(void **state) {
    (void)state;
    Diags d = {0};
    Buf out = {0};
    DiagFileId a = diag_file(&d, "a", NULL, 0, false);
    diag(&d, DIAG_SYNTAX, (Span){a, 0, 0}, "nothing is there");
    diag_render_text(&d, &out, false);
    assert_string_equal(buf_cstr(&out), "a:1:1: error: nothing is there [syntax]\n"
                                        "    1 | \n"
                                        "      | ^\n");
    buf_free(&out);
    diag_free(&d);
}

static void test_labels(void **state) {
    (void)state;
    Diags d = {0};
    const char *text = "var x;\r\nvar x;\r\n";
    DiagFileId a = diag_file(&d, "a.whamm", text, strlen(text), false);
    DiagFileId b = diag_file(&d, "b.wasm", "", 0, true);
    Diag *g = diag(&d, DIAG_DUPLICATE_NAME, (Span){a, 12, 13}, "'%s' again", "x");
    diag_label(&d, g, (Span){a, 4, 5}, "first here");
    diag_label(&d, g, (Span){b, 16, 17}, "and here");
    diag_hint(&d, g, "rename it");
    assert_text(&d, false,
                "a.whamm:2:5: error: 'x' again [duplicate-name]\n"
                "    2 | var x;\n"
                "      |     ^\n"
                "a.whamm:1:5: note: first here\n"
                "    1 | var x;\n"
                "      |     ^\n"
                "b.wasm:0x10: note: and here\n"
                "      hint: rename it\n");
    assert_json(
        &d,
        "{\"severity\":\"error\",\"tag\":\"duplicate-name\",\"message\":\"'x' "
        "again\",\"file\":\"a.whamm\","
        "\"offset\":12,\"end_offset\":13,\"line\":2,\"column\":5,\"end_line\":2,\"end_column\":6,"
        "\"labels\":[{\"message\":\"first "
        "here\",\"file\":\"a.whamm\",\"offset\":4,\"end_offset\":5,"
        "\"line\":1,\"column\":5,\"end_line\":1,\"end_column\":6},"
        "{\"message\":\"and here\",\"file\":\"b.wasm\",\"offset\":16,\"end_offset\":17}],"
        "\"hints\":[\"rename it\"]}\n");
    diag_free(&d);
}

/* Tabs, wide, combining and control characters, bytes that are not UTF-8, spans over several lines
 * and past the end. */
static void test_columns(void **state) {
    (void)state;
    Diags d = {0};
    const char *text = "\tx\n漢y\ne\xcc\x81z\n\x1b[31m!\n\xff\xfe?\nab\ncd";
    DiagFileId a = diag_file(&d, "a", text, strlen(text), false);
    diag(&d, DIAG_SYNTAX, (Span){a, 1, 2}, "tab");
    diag(&d, DIAG_SYNTAX, (Span){a, 6, 7}, "wide");
    diag(&d, DIAG_SYNTAX, (Span){a, 11, 12}, "combining");
    diag(&d, DIAG_SYNTAX, (Span){a, 18, 19}, "control");
    diag(&d, DIAG_SYNTAX, (Span){a, 22, 23}, "bytes");
    diag(&d, DIAG_SYNTAX, (Span){a, 25, 29}, "lines");
    diag(&d, DIAG_SYNTAX, (Span){a, 500, 600}, "past the end");
    assert_text(&d, false,
                "a:1:2: error: tab [syntax]\n"
                "    1 |     x\n"
                "      |     ^\n"
                "a:2:2: error: wide [syntax]\n"
                "    2 | 漢y\n"
                "      |   ^\n"
                "a:3:3: error: combining [syntax]\n"
                "    3 | e\xcc\x81z\n"
                "      |  ^\n"
                "a:4:6: error: control [syntax]\n"
                "    4 | \xef\xbf\xbd[31m!\n"
                "      |      ^\n"
                "a:5:3: error: bytes [syntax]\n"
                "    5 | \xef\xbf\xbd\xef\xbf\xbd?\n"
                "      |   ^\n"
                "a:6:2: error: lines [syntax]\n"
                "    6 | ab\n"
                "      |  ^\n"
                "a:7:3: error: past the end [syntax]\n"
                "    7 | cd\n"
                "      |   ^\n");
    diag_free(&d);
}

static void test_long_line(void **state) {
    (void)state;
    Diags d = {0};
    char text[400];
    memset(text, '-', sizeof text);
    memcpy(text + 200, "HERE", 4);
    DiagFileId a = diag_file(&d, "a", text, sizeof text, false);
    diag(&d, DIAG_SYNTAX, (Span){a, 200, 204}, "far right");
    assert_text(&d, false,
                "a:1:201: error: far right [syntax]\n"
                "    1 | ...--------------------------------------------------HERE"
                "----------------------------------------------...\n"
                "      |                                                      ^~~~\n");
    diag_free(&d);
}

static void test_limit(void **state) {
    (void)state;
    Diags d = {.max_errors = 2};
    const char *text = "abcdef";
    DiagFileId a = diag_file(&d, "a", text, strlen(text), false);
    for (uint32_t i = 0; i < 5; i++) {
        Diag *g = diag(&d, DIAG_SYNTAX, (Span){a, i, i + 1}, "error %u", i);
        diag_label(&d, g, (Span){a, 0, 1}, "label");
        diag_hint(&d, g, "hint");
    }
    diag(&d, DIAG_UNUSED_RESULT, (Span){a, 5, 6}, "a warning is not an error");
    assert_int_equal(d.errors, 5);
    assert_int_equal(d.warnings, 1);
    assert_int_equal(d.list.len, 3);
    assert_json(
        &d, "{\"severity\":\"error\",\"tag\":\"syntax\",\"message\":\"error "
            "0\",\"file\":\"a\",\"offset\":0,"
            "\"end_offset\":1,\"line\":1,\"column\":1,\"end_line\":1,\"end_column\":2,\"labels\":["
            "{\"message\":\"label\",\"file\":\"a\",\"offset\":0,\"end_offset\":1,\"line\":1,"
            "\"column\":1,"
            "\"end_line\":1,\"end_column\":2}],\"hints\":[\"hint\"]}\n"
            "{\"severity\":\"error\",\"tag\":\"syntax\",\"message\":\"error "
            "1\",\"file\":\"a\",\"offset\":1,"
            "\"end_offset\":2,\"line\":1,\"column\":2,\"end_line\":1,\"end_column\":3,\"labels\":["
            "{\"message\":\"label\",\"file\":\"a\",\"offset\":0,\"end_offset\":1,\"line\":1,"
            "\"column\":1,"
            "\"end_line\":1,\"end_column\":2}],\"hints\":[\"hint\"]}\n"
            "{\"severity\":\"warning\",\"tag\":\"unused-result\",\"message\":\"a warning is not an "
            "error\","
            "\"file\":\"a\",\"offset\":5,\"end_offset\":6,\"line\":1,\"column\":6,\"end_line\":1,"
            "\"end_column\":7,\"labels\":[],\"hints\":[]}\n"
            "{\"severity\":\"note\",\"tag\":\"too-many-errors\",\"message\":\"5 errors; the last 3 "
            "are not "
            "shown\",\"labels\":[],\"hints\":[]}\n");
    diag_free(&d);
}

static void test_json_escapes(void **state) {
    (void)state;
    Diags d = {0};
    diag(&d, DIAG_CANNOT_READ, NO_SPAN, "%s", "\"quoted\\\"\n\t\x01\x7f\xff é \xf0\x9f\x98\x80");
    assert_json(&d, "{\"severity\":\"error\",\"tag\":\"cannot-read\",\"message\":"
                    "\"\\\"quoted\\\\\\\"\\n\\u0009\\u0001\\u007f"
                    "\\ufffd é \xf0\x9f\x98\x80\",\"labels\":[],\"hints\":[]}\n");
    diag_free(&d);
}

static void test_colour(void **state) {
    (void)state;
    Diags d = {0};
    DiagFileId a = diag_file(&d, "a", "x", 1, false);
    diag(&d, DIAG_UNREACHABLE, (Span){a, 0, 1}, "w");
    assert_text(&d, true,
                "\33[1ma:1:1: \33[1;35mwarning: \33[0m\33[1mw\33[0m [unreachable-statement]\n"
                "\33[34m    1 | \33[0mx\n"
                "\33[34m      | \33[0m\33[1;35m^\33[0m\n");
    diag_free(&d);
}

static void test_positions(void **state) {
    (void)state;
    Diags d = {0};
    const char *text = "é\n\nx";
    DiagFileId a = diag_file(&d, "a", text, strlen(text), false);
    static const uint32_t expected[][3] = {{0, 1, 1}, {2, 1, 2}, {3, 2, 1},
                                           {4, 3, 1}, {5, 3, 2}, {99, 3, 2}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint32_t line, column;
        diag_position(&d, a, expected[i][0], &line, &column);
        assert_int_equal(line, expected[i][1]);
        assert_int_equal(column, expected[i][2]);
    }
    Span joined = span_join((Span){a, 4, 5}, (Span){a, 0, 2});
    assert_int_equal(joined.start, 0);
    assert_int_equal(joined.end, 5);
    diag_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),        cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_labels),       cmocka_unit_test(test_columns),
        cmocka_unit_test(test_long_line),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_json_escapes), cmocka_unit_test(test_colour),
        cmocka_unit_test(test_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
