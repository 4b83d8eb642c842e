/*
 * test_report_api.c - reports through the public interface: every format read and written, values,
 * views, profiles, names, and what is wrong with input.
 */
#include "whammc/report.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* (module (func $main (call 1)) (func $f)) */
static const uint8_t app[] = {0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x04,
                              0x01, 0x60, 0x00, 0x00, 0x03, 0x03, 0x02, 0x00, 0x00, 0x0a,
                              0x09, 0x02, 0x04, 0x00, 0x10, 0x01, 0x0b, 0x02, 0x00, 0x0b,
                              0x00, 0x11, 0x04, 'n',  'a',  'm',  'e',  0x01, 0x0a, 0x02,
                              0x00, 0x04, 'm',  'a',  'i',  'n',  0x01, 0x01, 'f'};
enum { APP_UNNAMED = 30 }; /* bytes before its name section */

#define ROW(id, id_type, name, type, wasm_type, place, value)                                      \
    "{\"id\":" id ",\"id_type\":\"" id_type "\",\"name\":\"" name "\",\"type\":\"" type            \
    "\",\"wasm_type\":\"" wasm_type "\",\"script\":\"script0\"," place ",\"value\":" value "}\n"
#define SITE(fname, fid, pc)                                                                       \
    "\"fname\":\"" fname "\",\"fid\":" fid ",\"pc\":" pc ",\"probe\":\"1_wasm:opcode:call:"        \
    "before\""
#define PROBE    "\"fname\":null,\"fid\":null,\"pc\":null,\"probe\":\"2_wasm:func:exit:<no-mode>\""
#define NO_PLACE "\"fname\":null,\"fid\":null,\"pc\":null,\"probe\":null"
#define CSV_HEAD                                                                                   \
    "\n================================= REPORT CSV FLUSH ====================================\n"  \
    "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)\n"
#define CSV_ROW(n)   #n ", global_id, n, u32, i32, script0, , , , , " #n "\n"
#define CSV_FLUSH(n) "0, global_id, n, u32, i32, script0, , , , , " #n "\n" CSV_ROW(3)

/* One of each kind, all of which every format can say. */
static const char json[] = ROW("4", "memaddr", "count", "u64", "i64", SITE("#0", "0", "1"),
                               "18446744073709551615") ROW("12", "memaddr", "count", "u64", "i64",
                                                           SITE("f(int, \\\"x\\\")", "1", "0"), "7")
    ROW("20", "memaddr", "low", "i64", "i64", PROBE,
        "-9223372036854775808") ROW("0", "global_id", "real", "f32", "f32", NO_PLACE, "-1e-1")
        ROW("1", "global_id", "all", "f64", "f64", NO_PLACE,
            "\"+inf\"") ROW("2", "global_id", "flag", "bool", "i32", NO_PLACE, "true")
            ROW("3", "global_id", "text", "str", "(i32; i32)", NO_PLACE, "\"=a, b\"")
                ROW("5", "global_id", "pair", "(u8,(str,f64))", "(i32; i32; f64)", NO_PLACE,
                    "[250,[\"x y\",2.5e0]]")
                    ROW("0", "map_id", "m", "map<(u32,str),u64>", "i32", NO_PLACE,
                        "[{\"key\":[1,\"a\"],\"value\":5},{\"key\":[4294967295,\"\"],\"value\":6}]")
                        ROW("1", "map_id", "deep", "map<str,map<u8,bool>>", "i32", NO_PLACE,
                            "[{\"key\":\"k\",\"value\":[{\"key\":1,\"value\":true}]},{\"key\":"
                            "\"l\",\"value\":[]}]")
                            ROW("2", "map_id", "none", "map<u8,u8>", "i32", NO_PLACE, "[]");

static const char csv[] =
    CSV_HEAD "4, memaddr, count, u64, i64, script0, #0, 0, 1, 1_wasm:opcode:call:before, "
             "18446744073709551615\n"
             "12, memaddr, count, u64, i64, script0, f(int, \"x\"), 1, 0, "
             "1_wasm:opcode:call:before, 7\n"
             "20, memaddr, low, i64, i64, script0, , , , 2_wasm:func:exit:<no-mode>, "
             "-9223372036854775808\n"
             "0, global_id, real, f32, f32, script0, , , , , -1e-1\n"
             "1, global_id, all, f64, f64, script0, , , , , +inf\n"
             "2, global_id, flag, bool, i32, script0, , , , , true\n"
             "(3; 4), (global_id; global_id), text, str, (i32; i32), script0, , , , , =a, b\n"
             "(5; 6; 7), (global_id; global_id; global_id), pair, (u8,(str,f64)), "
             "(i32; i32; f64), script0, , , , , (250; (x y; +2.5e0))\n"
             "0, map_id, m, map<(u32,str),u64>, i32, script0, , , , , "
             "(1,a)->5;(4294967295,)->6\n"
             "1, map_id, deep, map<str,map<u8,bool>>, i32, script0, , , , , k->{1->true};l->{}\n"
             "2, map_id, none, map<u8,u8>, i32, script0, , , , , empty map\n";

static const char quoted[] =
    "id,id_type,name,whamm_type,wasm_type,script_id,fname,fid,pc,probe_id,value(s)\r\n"
    "4,memaddr,count,u64,i64,script0,#0,0,1,1_wasm:opcode:call:before,18446744073709551615\r\n"
    "12,memaddr,count,u64,i64,script0,\"f(int, \"\"x\"\")\",1,0,1_wasm:opcode:call:before,7\r\n"
    "20,memaddr,low,i64,i64,script0,,,,2_wasm:func:exit:<no-mode>,-9223372036854775808\r\n"
    "0,global_id,real,f32,f32,script0,,,,,-1e-1\r\n"
    "1,global_id,all,f64,f64,script0,,,,,+inf\r\n"
    "2,global_id,flag,bool,i32,script0,,,,,true\r\n"
    "(3; 4),(global_id; global_id),text,str,(i32; i32),script0,,,,,\"'=a, b\"\r\n"
    "(5; 6; 7),(global_id; global_id; global_id),pair,\"(u8,(str,f64))\",(i32; i32; f64),script0,"
    ",,,,\"(250; (x y; +2.5e0))\"\r\n"
    "0,map_id,m,\"map<(u32,str),u64>\",i32,script0,,,,,\"(1,a)->5;(4294967295,)->6\"\r\n"
    "1,map_id,deep,\"map<str,map<u8,bool>>\",i32,script0,,,,,\"k->{1->true};l->{}\"\r\n"
    "2,map_id,none,\"map<u8,u8>\",i32,script0,,,,,\"empty map\"\r\n";

static const struct {
    WhammcReportFormat format;
    const char *text;
} forms[] = {
    {WHAMMC_REPORT_JSON, json}, {WHAMMC_REPORT_CSV, csv}, {WHAMMC_REPORT_CSV_RFC4180, quoted}};
enum { FORMS = sizeof forms / sizeof *forms };

#define TREE(name, rows)                                                                           \
    ROW("0", "map_id", name, "map<u32,(u32,u32,u64,u64)>", "i32", NO_PLACE, rows)
#define CALLS(id, name, rows) ROW(id, "map_id", name, "map<(u32,u32),u64>", "i32", NO_PLACE, rows)
/* main runs 1,000 ns and calls f three times, for 500 ns. */
static const char tree[] =
    TREE("tree", "[{\"key\":1,\"value\":[0,0,1,1000]},{\"key\":2,\"value\":[1,1,3,500]}]")
        ROW("1", "map_id", "names", "map<u32,str>", "i32", NO_PLACE,
            "[{\"key\":0,\"value\":\"_ZN3app4mainEv\"},{\"key\":1,\"value\":\"leaf\"}]");
static const char calls[] =
    CALLS("0", "direct", "[{\"key\":[4294967295,0],\"value\":1},{\"key\":[0,1],\"value\":10}]")
        CALLS("1", "indirect", "[{\"key\":[0,1],\"value\":5},{\"key\":[1,1],\"value\":2}]");

static const char sampled[] =
    ROW("0", "global_id", "tree_values", "str", "(i32; i32)", NO_PLACE,
        "\"samples, cpu/nanoseconds\"") TREE("tree", "[{\"key\":1,\"value\":[0,4,1,1000000]}]");

/* ---- helpers ---- */

/* A report of which something is said: `part` is in it. */
static WhammcReport *read_with_warning(const char *text, const char *part) {
    WhammcReport *r = whammc_report_new();
    assert_int_equal(whammc_report_read(r, "test", text, strlen(text), 0), WHAMMC_OK);
    assert_non_null(strstr(whammc_report_messages(r, 0), part));
    return r;
}

static WhammcReport *read_text(const char *text) {
    WhammcReport *r = read_with_warning(text, "");
    assert_string_equal(whammc_report_messages(r, 0), "");
    return r;
}

static void assert_written(WhammcReport *r, WhammcReportFormat format,
                           const WhammcReportOptions *options, const char *expected) {
    uint8_t *out;
    size_t size;
    assert_int_equal(whammc_report_write(r, format, options, &out, &size), WHAMMC_OK);
    assert_string_equal((char *)out, expected);
    assert_int_equal(size, strlen(expected));
    whammc_release(out);
}

/* Something is written that has `part` in it; "" = something or nothing. */
static void assert_writes(WhammcReport *r, WhammcReportFormat format,
                          const WhammcReportOptions *options, const char *part) {
    uint8_t *out;
    size_t size;
    assert_int_equal(whammc_report_write(r, format, options, &out, &size), WHAMMC_OK);
    if (!strstr((char *)out, part))
        assert_string_equal((char *)out, part);
    whammc_release(out);
}

/* Writing fails, with a message that has `part` in it. */
static void assert_cannot(WhammcReport *r, WhammcReportFormat format,
                          const WhammcReportOptions *options, const char *part) {
    uint8_t *out = (uint8_t *)"";
    size_t size = 1;
    assert_int_equal(whammc_report_write(r, format, options, &out, &size), WHAMMC_ERROR);
    assert_null(out);
    assert_int_equal(size, 0);
    assert_int_equal(whammc_report_error_count(r), 1);
    if (!strstr(whammc_report_messages(r, 0), part))
        assert_string_equal(whammc_report_messages(r, 0), part);
}

/* The value of the first row of a variable. */
static const WhammcValue *value_of(WhammcReport *r, const char *name) {
    size_t n, nvariables;
    const WhammcRow *rows = whammc_report_rows(r, &n);
    const WhammcVariable *variables = whammc_report_variables(r, &nvariables);
    for (size_t i = 0; i < n; i++) {
        assert_true(rows[i].variable < nvariables);
        if (strcmp(variables[rows[i].variable].name, name) == 0)
            return whammc_report_value(r, i);
    }
    fail_msg("no variable %s", name);
    return NULL;
}

/* ---- formats ---- */

static void test_conversions(void **state) {
    (void)state;
    for (int from = 0; from < FORMS; from++) {
        WhammcReport *r = read_text(forms[from].text);
        assert_int_equal(whammc_report_count(r), 1);
        for (int to = 0; to < FORMS; to++)
            assert_written(r, forms[to].format, NULL, forms[to].text);
        whammc_report_free(r);
    }
}

static void test_rows(void **state) {
    (void)state;
    for (int from = 0; from < FORMS; from++) {
        WhammcReport *r = read_text(forms[from].text);
        size_t n, nvariables;
        const WhammcRow *rows = whammc_report_rows(r, &n);
        const WhammcVariable *variables = whammc_report_variables(r, &nvariables);
        assert_int_equal(n, 11);
        assert_int_equal(nvariables, 10);
        assert_string_equal(variables[0].name, "count");
        assert_string_equal(variables[0].type, "u64");
        assert_string_equal(variables[0].wasm_type, "i64");
        assert_string_equal(variables[0].id_type, "memaddr");
        assert_string_equal(variables[0].script, "script0");
        assert_int_equal(variables[0].rows, 2);
        assert_int_equal(variables[1].rows, 1);
        assert_int_equal(rows[1].variable, 0);
        assert_string_equal(rows[1].id, "12");
        assert_string_equal(rows[1].fname, "f(int, \"x\")");
        assert_string_equal(rows[1].probe, "1_wasm:opcode:call:before");
        assert_true(rows[1].has_place);
        assert_int_equal(rows[0].fid, 0);
        assert_int_equal(rows[0].pc, 1);
        assert_int_equal(rows[1].fid, 1);
        assert_string_equal(rows[0].shown_fname, "#0");
        assert_null(rows[0].instruction);
        assert_false(rows[2].has_place);
        assert_null(rows[2].fname);
        assert_string_equal(rows[2].probe, "2_wasm:func:exit:<no-mode>");
        assert_null(rows[3].probe);
        assert_null(whammc_report_value(r, n));
        whammc_report_free(r);
    }
}

#define RATE(hits, all)                                                                            \
    ROW("0", "memaddr", "hits", "u64", "i64", SITE("f", "1", "0"), hits)                           \
    ROW("1", "memaddr", "all", "u64", "i64", SITE("f", "1", "0"), all)                             \
    ROW("0", "global_id", "rate", "f64=hits all /", "f64", NO_PLACE, "\"NaN\"")

/* A derived column is computed anew when its report is asked after others were added. */
static void test_derived(void **state) {
    (void)state;
    static const char more[] = RATE("1", "4");
    WhammcReport *r = read_text(RATE("3", "4"));
    for (uint32_t i = 0; i < 3; i++) {
        size_t n, nvariables;
        const WhammcRow *rows = whammc_report_rows(r, &n);
        const WhammcVariable *v = whammc_report_variables(r, &nvariables);
        assert_int_equal(n, 4);
        assert_int_equal(nvariables, 3);
        assert_string_equal(v[2].type, "f64");
        assert_string_equal(v[2].formula, "hits all /");
        assert_null(v[0].formula);
        assert_false(rows[2].has_place);
        assert_true(rows[3].has_place);
        for (size_t row = 2; row < n; row++)
            assert_true(whammc_report_value(r, row)->as.f == (i == 1 ? 0.5 : 0.75));
        if (i < 2)
            assert_int_equal((i ? whammc_report_subtract : whammc_report_add)(r, "more", more,
                                                                              sizeof more - 1, 0),
                             WHAMMC_OK);
    }
    whammc_report_free(r);
}

static void check_parts(WhammcReport *r) {
    const WhammcValue *pair = value_of(r, "pair"), *m = value_of(r, "m");
    assert_int_equal(pair->kind, WHAMMC_VALUE_TUPLE);
    assert_int_equal(pair->size, 2);
    assert_int_equal(pair->as.parts[0].kind, WHAMMC_VALUE_UNSIGNED);
    assert_int_equal(pair->as.parts[0].as.u, 250);
    const WhammcValue *inner = &pair->as.parts[1];
    assert_int_equal(inner->size, 2);
    assert_string_equal(inner->as.parts[0].as.text, "x y");
    assert_int_equal(inner->as.parts[0].size, 3);
    assert_true(inner->as.parts[1].as.f == 2.5);
    assert_int_equal(m->kind, WHAMMC_VALUE_MAP);
    assert_int_equal(m->size, 4);
    const WhammcValue *key = &m->as.parts[2];
    assert_int_equal(key->as.parts[0].as.u, UINT32_MAX);
    assert_int_equal(key->as.parts[1].kind, WHAMMC_VALUE_STRING);
    assert_string_equal(key->as.parts[1].as.text, "");
    assert_int_equal(m->as.parts[3].as.u, 6);
    const WhammcValue *deep = value_of(r, "deep");
    assert_int_equal(deep->size, 4);
    assert_string_equal(deep->as.parts[0].as.text, "k");
    assert_int_equal(deep->as.parts[1].size, 2);
    assert_int_equal(deep->as.parts[1].as.parts[1].kind, WHAMMC_VALUE_BOOL);
    assert_int_equal(deep->as.parts[1].as.parts[1].as.u, 1);
    assert_int_equal(deep->as.parts[3].kind, WHAMMC_VALUE_MAP);
    assert_int_equal(deep->as.parts[3].size, 0);
    assert_null(deep->as.parts[3].as.parts);
    assert_int_equal(value_of(r, "none")->kind, WHAMMC_VALUE_MAP);
    assert_int_equal(value_of(r, "none")->size, 0);
    assert_ptr_equal(value_of(r, "m"), m);
}

static void test_values(void **state) {
    (void)state;
    for (int from = 0; from < FORMS; from++) {
        WhammcReport *r = read_text(forms[from].text);
        assert_int_equal(value_of(r, "count")->kind, WHAMMC_VALUE_UNSIGNED);
        assert_true(value_of(r, "count")->as.u == UINT64_MAX);
        assert_int_equal(value_of(r, "low")->kind, WHAMMC_VALUE_SIGNED);
        assert_true(value_of(r, "low")->as.i == INT64_MIN);
        assert_int_equal(value_of(r, "real")->kind, WHAMMC_VALUE_FLOAT);
        assert_true(value_of(r, "real")->as.f == -0.1);
        assert_true(isinf(value_of(r, "all")->as.f));
        assert_int_equal(value_of(r, "flag")->kind, WHAMMC_VALUE_BOOL);
        assert_int_equal(value_of(r, "flag")->as.u, 1);
        assert_int_equal(value_of(r, "text")->kind, WHAMMC_VALUE_STRING);
        assert_string_equal(value_of(r, "text")->as.text, "=a, b");
        check_parts(r);
        whammc_report_free(r);
    }
}

/* Values that are not of their types, and strings with any bytes. */
static void test_odd_values(void **state) {
    (void)state;
    static const char text[] =
        ROW("0", "global_id", "nul", "str", "(i32; i32)", NO_PLACE, "\"a\\u0000b\"")
            ROW("1", "global_id", "large", "u64", "i64", NO_PLACE, "18446744073709551616")
                ROW("2", "global_id", "nan", "f64", "f64", NO_PLACE,
                    "\"NaN\"") ROW("3", "global_id", "unit", "()", "i32", NO_PLACE, "[]")
                    ROW("4", "global_id", "short", "(u8,u8)", "i32", NO_PLACE, "[1]")
                        ROW("5", "global_id", "long", "(u8,u8)", "i32", NO_PLACE, "[1,2,3]")
                            ROW("0", "map_id", "other", "map<u8,u8>", "i32", NO_PLACE,
                                "[{\"key\":1,\"value\":-2}]")
                                ROW("1", "map_id", "type", "map<u8>", "i32", NO_PLACE, "[]")
                                    ROW("6", "global_id", "unknown", "v128", "v128", NO_PLACE, "5");
    WhammcReport *r = read_with_warning(
        text, "line 2: expected a value of type u64 for 'large', found '18446744073709551616'");
    assert_int_equal(value_of(r, "nul")->size, 3);
    assert_memory_equal(value_of(r, "nul")->as.text, "a\0b", 4);
    assert_true(isnan(value_of(r, "nan")->as.f));
    assert_int_equal(value_of(r, "unit")->kind, WHAMMC_VALUE_TUPLE);
    assert_int_equal(value_of(r, "unit")->size, 0);
    static const char *const wrong[] = {"large", "short", "long", "other", "type", "unknown"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(value_of(r, wrong[i])->kind, WHAMMC_VALUE_UNREADABLE);
    assert_string_equal(value_of(r, "large")->as.text, "18446744073709551616");
    assert_string_equal(value_of(r, "other")->as.text, "[{\"key\":1,\"value\":-2}]");
    whammc_report_free(r);
}

static void test_table(void **state) {
    (void)state;
    WhammcReport *r = read_text(json);
    WhammcReportOptions narrow = {.top = 1, .width = 60, .ascii = true};
    assert_writes(r, WHAMMC_REPORT_TABLE, NULL, "count: u64 at 1_wasm:opcode:call:before, 2 sites");
    assert_writes(r, WHAMMC_REPORT_TABLE, NULL, "f(int, \"x\")  ");
    assert_writes(r, WHAMMC_REPORT_TABLE, &narrow, "  and 1 more site\n");
    narrow.colour = true;
    assert_writes(r, WHAMMC_REPORT_TABLE, &narrow, "\033[1mVariables");
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_writes(r, WHAMMC_REPORT_TABLE, NULL, "  main          1  call 1 (f)\n");
    assert_written(r, WHAMMC_REPORT_JSON, NULL, json); /* names stay what they are there */
    whammc_report_free(r);
}

/* ---- several, none, and what is wrong ---- */

static void test_several(void **state) {
    (void)state;
    static const char text[] =
        "hello\n" CSV_HEAD CSV_FLUSH(1) "between\n" CSV_HEAD CSV_FLUSH(2) "bye";
    WhammcReport *r = read_text(text);
    size_t n;
    assert_int_equal(whammc_report_count(r), 2);
    assert_int_equal(value_of(r, "n")->as.u, 2);
    assert_string_equal(whammc_report_rest(r, &n), "hello\nbetween\nbye");
    assert_int_equal(n, 17);
    whammc_report_rows(r, &n);
    assert_int_equal(n, 2);
    assert_int_equal(whammc_report_read(r, "t", text, sizeof text - 1, 1), WHAMMC_OK);
    assert_int_equal(value_of(r, "n")->as.u, 1);
    assert_int_equal(whammc_report_read(r, "t", text, sizeof text - 1, 3), WHAMMC_ERROR);
    assert_string_equal(whammc_report_messages(r, 0),
                        "whammc: error: t: it has no report number 3, but 2 [not-a-report]\n");
    whammc_report_rows(r, &n);
    assert_int_equal(n, 0);
    whammc_report_free(r);
}

static void test_none(void **state) {
    (void)state;
    WhammcReport *r = whammc_report_new();
    size_t n;
    whammc_report_rows(r, &n); /* nothing was read yet */
    assert_int_equal(n, 0);
    assert_written(r, WHAMMC_REPORT_TABLE, NULL, "");
    assert_string_equal(whammc_report_rest(r, &n), "");
    assert_cannot(r, WHAMMC_REPORT_SVG, NULL, "no call tree");
    static const char *const empty[] = {"", "\n", "\r\n\n"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(whammc_report_read(r, "e", empty[i], strlen(empty[i]), 0), WHAMMC_OK);
        assert_written(r, WHAMMC_REPORT_JSON, NULL, "");
        assert_written(r, WHAMMC_REPORT_TABLE, NULL, "");
        assert_written(r, WHAMMC_REPORT_CSV, NULL, CSV_HEAD);
        assert_int_equal(whammc_report_count(r), 0);
    }
    assert_int_equal(whammc_report_read(r, "e", NULL, 0, 2), WHAMMC_ERROR);
    assert_int_equal(whammc_report_read(r, "prose", "prose\n", 6, 0), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_report_messages(r, 0), "prose: there is no report in it"));
    assert_non_null(strstr(whammc_report_messages(r, WHAMMC_JSON), "\"tag\":\"not-a-report\""));
    assert_non_null(strstr(whammc_report_messages(r, WHAMMC_COLOUR), "\033["));
    assert_int_equal(whammc_report_error_count(r), 1);
    assert_int_equal(whammc_report_read(r, "huge", "", SIZE_MAX, 0), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_report_messages(r, 0), "expected less than 4 GiB"));
    whammc_report_free(r);
    whammc_report_free(NULL);
}

static void test_cut(void **state) {
    (void)state;
    static const char text[] = CSV_HEAD CSV_ROW(1) "2, global_id, n, u32";
    WhammcReport *r = whammc_report_new();
    size_t n;
    assert_int_equal(whammc_report_read(r, "t", text, sizeof text - 1, 0), WHAMMC_OK);
    assert_true(whammc_report_is_cut(r));
    assert_int_equal(whammc_report_warning_count(r), 1);
    assert_int_equal(whammc_report_error_count(r), 0);
    assert_non_null(strstr(whammc_report_messages(r, 0), "[cut-report]"));
    whammc_report_rows(r, &n);
    assert_int_equal(n, 1);
    assert_writes(r, WHAMMC_REPORT_TABLE, NULL, "The report is cut off");
    assert_string_equal(whammc_report_messages(r, 0), ""); /* those of the last call */
    whammc_report_free(r);
}

/* The report in the memory of a program without a host: bytes, not a text of its own. */
static void test_memory(void **state) {
    (void)state;
    static char memory[3 * 65536];
    enum { AT = 70000 };
    memset(memory, 0xa5, sizeof memory);
    for (int from = 0; from < FORMS; from++) {
        size_t len = strlen(forms[from].text);
        memcpy(memory + AT, forms[from].text, len);
        WhammcReport *r = whammc_report_new();
        assert_int_equal(whammc_report_read(r, "memory", memory + AT, len, 0), WHAMMC_OK);
        memset(memory + AT, 0xa5, len); /* the program goes on; the report was copied */
        assert_written(r, WHAMMC_REPORT_JSON, NULL, json);
        assert_true(value_of(r, "count")->as.u == UINT64_MAX);
        whammc_report_free(r);
    }
}

/* ---- the module ---- */

static void test_module(void **state) {
    (void)state;
    WhammcReport *r = read_text(json);
    size_t n;
    uint8_t copy[sizeof app];
    memcpy(copy, app, sizeof app);
    assert_int_equal(whammc_report_set_module(r, "app.wasm", copy, sizeof copy), WHAMMC_OK);
    memset(copy, 0, sizeof copy);
    const WhammcRow *rows = whammc_report_rows(r, &n);
    assert_string_equal(rows[0].fname, "#0");
    assert_string_equal(rows[0].shown_fname, "main");
    assert_string_equal(rows[0].instruction, "call 1 (f)");
    assert_null(rows[1].instruction); /* nothing begins there */
    assert_string_equal(rows[1].shown_fname, "f(int, \"x\")");
    /* It stays for other reports. */
    assert_int_equal(whammc_report_read(r, "again", csv, sizeof csv - 1, 0), WHAMMC_OK);
    assert_string_equal(whammc_report_rows(r, &n)[0].shown_fname, "main");
    assert_int_equal(whammc_report_set_module(r, "bad.wasm", app, sizeof app - 25), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_report_messages(r, 0), "bad.wasm"));
    assert_string_equal(whammc_report_rows(r, &n)[0].shown_fname, "#0");
    assert_int_equal(whammc_report_set_module(r, "none", NULL, 0), WHAMMC_ERROR);
    assert_int_equal(n, 11);
    whammc_report_free(r);
}

/* A report of two modules: `app`, of which all names are right, and another one. */
#define MODULE(hash, name, row)                                                                    \
    "{\"whammc\":1,\"module\":\"" hash "\",\"name\":\"" name "\",\"run\":\"r\"}\n" row             \
    "{\"whammc\":\"end\"}\n"
static const char two_modules[] = MODULE(
    "aa", "one", ROW("4", "memaddr", "count", "u64", "i64", SITE("other", "7", "1"), "1"))
    MODULE("bb", "two", ROW("4", "memaddr", "count", "u64", "i64", SITE("main", "0", "1"), "5"));

static void test_program_among_modules(void **state) {
    (void)state;
    WhammcReport *r = read_text(two_modules);
    size_t n;
    assert_int_equal(whammc_report_select(r, NULL), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_report_messages(r, 0), "[no-program]"));
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_int_equal(whammc_report_select(r, NULL), WHAMMC_OK);
    const WhammcRow *rows = whammc_report_rows(r, &n);
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].fname, "main");
    whammc_report_free(r);
    /* The module of another program. */
    r = read_text(two_modules);
    assert_int_equal(whammc_report_set_module(r, "none.wasm", app, 8), WHAMMC_OK);
    assert_int_equal(whammc_report_select(r, NULL), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_report_messages(r, 0), "[other-report]"));
    whammc_report_free(r);
}

/* A program is that of the module with its hash, whatever else the report says. */
static void test_hash(void **state) {
    (void)state;
    char hash[WHAMMC_HASH], text[2000];
    whammc_program_hash("", 0, hash);
    assert_string_equal(hash, "cbf29ce484222325"); /* FNV-1a of nothing */
    whammc_program_hash(app, sizeof app, hash);
    snprintf(text, sizeof text, "%s{\"whammc\":1,\"module\":\"cc\",\"hash\":\"%s\"}\n%s%s",
             two_modules, hash,
             ROW("4", "memaddr", "count", "u64", "i64", SITE("f", "1", "0"), "9"),
             "{\"whammc\":\"end\"}\n");
    WhammcReport *r = read_text(text);
    size_t n;
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_int_equal(whammc_report_select(r, NULL), WHAMMC_OK);
    assert_string_equal(whammc_report_rows(r, &n)[0].fname, "f");
    whammc_report_free(r);
}

static void test_no_instructions(void **state) {
    (void)state;
    const WhammcReportOptions without = {.no_instructions = true};
    WhammcReport *r = read_text(json);
    uint8_t *out;
    size_t size;
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_writes(r, WHAMMC_REPORT_TABLE, NULL, "call 1 (f)");
    assert_int_equal(whammc_report_write(r, WHAMMC_REPORT_TABLE, &without, &out, &size), WHAMMC_OK);
    assert_null(strstr((char *)out, "call 1 (f)"));
    assert_non_null(strstr((char *)out, "main"));
    whammc_release(out);
    whammc_report_free(r);
}

static void test_threads(void **state) {
    (void)state;
    static const char lost[] = "{\"whammc\":\"run\",\"threads\":8,\"complete\":7}\n" ROW(
        "4", "memaddr", "count", "u64", "i64", SITE("f", "0", "1"), "5");
    WhammcReport *r = read_with_warning(lost, "[no-report]");
    size_t complete;
    assert_int_equal(whammc_report_threads(r, &complete), 8);
    assert_int_equal(complete, 7);
    assert_int_equal(whammc_report_threads(r, NULL), 8);
    whammc_report_free(r);
    r = read_text(json);
    assert_int_equal(whammc_report_threads(r, &complete), 0);
    assert_int_equal(complete, 0);
    whammc_report_free(r);
}

/* ---- counts beside instructions; sources are in tests/golden/report/annotate.test ---- */

static void assert_annotates(WhammcReport *r, const WhammcAnnotateOptions *options,
                             whammc_status status, const char *shown, const char *message) {
    uint8_t *out;
    size_t size;
    assert_int_equal(whammc_report_annotate(r, options, &out, &size), status);
    if (shown)
        assert_non_null(memmem(out, size, shown, strlen(shown)));
    else
        assert_null(out);
    if (!strstr(whammc_report_messages(r, 0), message))
        assert_string_equal(whammc_report_messages(r, 0), message);
    whammc_release(out);
}

static void test_annotate(void **state) {
    (void)state;
    static const char counts[] =
        ROW("4", "memaddr", "count", "u64", "i64", SITE("main", "0", "1"), "5")
            ROW("12", "memaddr", "more", "u64", "i64", SITE("main", "0", "1"), "7");
    static const char *const files[] = {"main", "nix", NULL};
    const WhammcAnnotateOptions more = {.variable = "more", .instructions = true},
                                less = {.variable = "less"}, page = {.html = true},
                                some = {.files = files, .instructions = true};
    WhammcReport *r = read_text(counts);
    assert_annotates(r, NULL, WHAMMC_ERROR, NULL, "[no-program]");
    assert_int_equal(whammc_report_set_module(r, "dir/app.wasm", app, sizeof app), WHAMMC_OK);
    assert_annotates(r, NULL, WHAMMC_OK, "count: total 5\n\nmain: 5 (100.0 %)\n",
                     "dir/app.wasm: warning: the program has neither DWARF sections nor a source");
    assert_annotates(r, &more, WHAMMC_OK, "      7  100.0%      1  call 1 (f)\n", "");
    assert_annotates(r, &less, WHAMMC_ERROR, NULL,
                     "the variable 'less' has no numbers at sites [no-counts]");
    assert_annotates(r, &page, WHAMMC_OK, "<title>app.wasm</title>", "");
    assert_annotates(r, &some, WHAMMC_OK, "main: 5", "nix: no function with counts has this name");
    whammc_report_free(r);
}

static void test_annotate_several(void **state) {
    (void)state;
    const WhammcAnnotateOptions page = {.html = true, .title = "<all>"};
    WhammcReport *r = read_text(two_modules);
    assert_int_equal(whammc_report_add_module(r, "none.wasm", app, 8), WHAMMC_OK);
    assert_int_equal(whammc_report_add_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_annotates(r, NULL, WHAMMC_ERROR, "module: app.wasm\n\ncount: total 5\n",
                     "[other-report]");
    assert_annotates(r, &page, WHAMMC_ERROR, "<title>&lt;all&gt;</title>", "[other-report]");
    whammc_report_free(r);
}

static whammc_status name(whammc *w, const char *names, size_t size, uint8_t **out, size_t *n) {
    return whammc_name_functions(w, "app.wasm", app, APP_UNNAMED, "names", names, size, out, n);
}

static void test_names(void **state) {
    (void)state;
    whammc *w = whammc_new();
    WhammcReport *r = read_text(json);
    uint8_t *out;
    size_t size, n;
    static const char map[] = "0:start\n1:f\\28int\\29\n";
    assert_int_equal(name(w, map, sizeof map - 1, &out, &size), WHAMMC_OK);
    assert_int_equal(whammc_report_set_module(r, "app.wasm", out, size), WHAMMC_OK);
    assert_string_equal(whammc_report_rows(r, &n)[0].shown_fname, "start");
    assert_string_equal(whammc_report_rows(r, &n)[0].instruction, "call 1 (f(int))");
    whammc_release(out);
    assert_int_equal(name(w, (const char *)app, sizeof app, &out, &size), WHAMMC_OK);
    assert_int_equal(size, sizeof app);
    assert_memory_equal(out, app, sizeof app); /* the other build's names make it that build */
    whammc_release(out);
    assert_int_equal(name(w, "0:a\n2:b\n", 8, &out, &size), WHAMMC_ERROR);
    assert_null(out);
    assert_non_null(strstr(whammc_messages(w, 0), "names:2: the program has no function of this"));
    assert_int_equal(name(w, "", 0, &out, &size), WHAMMC_ERROR);
    assert_int_equal(name(w, "\0asm", 4, &out, &size), WHAMMC_ERROR);
    assert_int_equal(
        whammc_name_functions(w, "bad", app, 9, "names", map, sizeof map - 1, &out, &n),
        WHAMMC_ERROR);
    assert_null(out);
    whammc_free(w);
    whammc_report_free(r);
}

/* ---- views ---- */

static const WhammcReportOptions as_they_are = {.mangled = true};

static void test_tree_views(void **state) {
    (void)state;
    WhammcReport *r = read_text(tree);
    WhammcReportOptions titled = {.title = "<a & b>"};
    assert_written(r, WHAMMC_REPORT_FOLDED, &as_they_are,
                   "_ZN3app4mainEv 1000\n_ZN3app4mainEv;leaf 500\n");
    assert_writes(r, WHAMMC_REPORT_SVG, NULL, "\">test: 1.5 µs</text>");
    assert_writes(r, WHAMMC_REPORT_SVG, &titled, "\">&lt;a &amp; b&gt;: 1.5 µs</text>");
    assert_writes(r, WHAMMC_REPORT_SPEEDSCOPE, NULL, "\"$schema\"");
    assert_writes(r, WHAMMC_REPORT_SPEEDSCOPE, &titled, "\"<a & b>\"");
    assert_writes(r, WHAMMC_REPORT_CPUPROFILE, NULL, "\"functionName\":\"leaf\"");
    assert_writes(r, WHAMMC_REPORT_DOT, NULL, "digraph");
    assert_writes(r, WHAMMC_REPORT_GPROF, NULL, "Call graph\n");
    assert_writes(r, WHAMMC_REPORT_FLAT, NULL, "leaf");
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_writes(r, WHAMMC_REPORT_SVG, NULL, "\">app.wasm: 1.5 µs</text>");
    whammc_report_free(r);
}

static void test_call_views(void **state) {
    (void)state;
    WhammcReport *r = read_text(calls);
    static const char *const both[] = {"direct", "indirect", NULL},
                             *const second[] = {"indirect", NULL},
                             *const missing[] = {"direct", "missing", NULL};
    WhammcReportOptions all = {.variables = both}, one = {.variables = second},
                        wrong = {.variables = missing}, top = {.variables = both, .top = 1};
    assert_writes(r, WHAMMC_REPORT_FLAT, NULL, "11 calls");
    assert_non_null(strstr(whammc_report_messages(r, 0), "'indirect' could be shown, too"));
    assert_writes(r, WHAMMC_REPORT_FLAT, &all, "18 calls");
    assert_null(strstr(whammc_report_messages(r, 0), "could be shown, too"));
    assert_writes(r, WHAMMC_REPORT_FLAT, &one, "7 calls");
    assert_writes(r, WHAMMC_REPORT_GPROF, &all, "15+2");
    assert_writes(r, WHAMMC_REPORT_DOT, &all, "digraph");
    assert_writes(r, WHAMMC_REPORT_GPROF, &top, "and 1 more function");
    assert_cannot(r, WHAMMC_REPORT_GPROF, &wrong, "the variable 'missing' is not in the report");
    assert_cannot(r, WHAMMC_REPORT_SVG, NULL, "test: the report has no call tree");
    assert_cannot(r, WHAMMC_REPORT_FOLDED, &one,
                  "'indirect' is not in the report or has no call tree");
    assert_cannot(r, WHAMMC_REPORT_FOLDED, &all,
                  "expected one variable with a call tree, found 'direct' and 'indirect'");
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_writes(r, WHAMMC_REPORT_GPROF, NULL, "  main [");
    whammc_report_free(r);
    r = read_text(json);
    assert_cannot(r, WHAMMC_REPORT_FLAT, NULL, "the report has no calls");
    whammc_report_free(r);
    r = read_text(
        TREE("round", "[{\"key\":1,\"value\":[2,0,1,1]},{\"key\":2,\"value\":[1,0,1,1]}]"));
    assert_cannot(r, WHAMMC_REPORT_SVG, NULL, "a node is its own ancestor");
    whammc_report_free(r);
}

static void test_format_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        WhammcReportFormat format;
    } names[] = {{"table", WHAMMC_REPORT_TABLE},
                 {"csv-rfc4180", WHAMMC_REPORT_CSV_RFC4180},
                 {"flat", WHAMMC_REPORT_FLAT},
                 {"folded", WHAMMC_REPORT_FOLDED},
                 {"collapsed", WHAMMC_REPORT_FOLDED},
                 {"pprof", WHAMMC_REPORT_PPROF},
                 {"perfetto", WHAMMC_REPORT_PERFETTO},
                 {"callgrind", WHAMMC_REPORT_CALLGRIND},
                 {"cachegrind", WHAMMC_REPORT_CACHEGRIND}};
    WhammcReportFormat format = WHAMMC_REPORT_SVG;
    assert_false(whammc_report_format("pproff", &format));
    assert_false(whammc_report_format("", &format));
    assert_int_equal(format, WHAMMC_REPORT_SVG);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(whammc_report_format(names[i].name, &format));
        assert_int_equal(format, names[i].format);
    }
    assert_false(whammc_report_format_of_file("a.svgz", &format));
    assert_false(whammc_report_format_of_file(".pb.gz", &format));
    assert_int_equal(format, WHAMMC_REPORT_CACHEGRIND);
    assert_true(whammc_report_format_of_file("dir/a.pb.gz", &format));
    assert_int_equal(format, WHAMMC_REPORT_PPROF);
    assert_true(whammc_report_format_of_file("a.speedscope.json", &format));
    assert_int_equal(format, WHAMMC_REPORT_SPEEDSCOPE);
    assert_true(whammc_report_format_of_file("a.json", &format));
    assert_int_equal(format, WHAMMC_REPORT_JSON);
    assert_true(whammc_report_format_of_file("a.csv", &format));
    assert_int_equal(format, WHAMMC_REPORT_CSV);
}

static void test_format_traits(void **state) {
    (void)state;
    static const struct {
        WhammcReportFormat format;
        unsigned traits;
    } of[] = {{WHAMMC_REPORT_TABLE, WHAMMC_SHOWS_ROWS | WHAMMC_SHOWS_DIFFERENCES},
              {WHAMMC_REPORT_JSON, WHAMMC_SHOWS_ROWS},
              {WHAMMC_REPORT_FLAT, 0},
              {WHAMMC_REPORT_GPROF, WHAMMC_SHOWS_PAIRS},
              {WHAMMC_REPORT_SVG, WHAMMC_SHOWS_TREE | WHAMMC_SHOWS_DIFFERENCES},
              {WHAMMC_REPORT_PPROF, WHAMMC_IS_BINARY},
              {WHAMMC_REPORT_HEAP, WHAMMC_SHOWS_TREE}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_int_equal(whammc_report_format_traits(of[i].format), of[i].traits);
}

static void test_views_for_tools(void **state) {
    (void)state;
    static const char *const labels[] = {"thread=3", "empty=", "alone", NULL};
    static const char *const missing[] = {"missing", NULL};
    WhammcReportOptions titled = {.title = "<a & \"b\">", .time = 1500000001, .labels = labels},
                        wrong = {.variables = missing}, lines = {.lines = true};
    WhammcReport *r = read_text(tree);
    uint8_t *out;
    size_t size, again;
    assert_int_equal(whammc_report_write(r, WHAMMC_REPORT_PPROF, &titled, &out, &size), WHAMMC_OK);
    assert_true(size > 100 && memcmp(out, "\x1f\x8b\x08", 3) == 0);
    whammc_release(out);
    assert_int_equal(whammc_report_write(r, WHAMMC_REPORT_PPROF, NULL, &out, &again), WHAMMC_OK);
    assert_true(again < size);
    whammc_release(out);
    assert_writes(r, WHAMMC_REPORT_FIREFOX, &titled, "\"product\":\"<a & \\\"b\\\">\"");
    assert_writes(r, WHAMMC_REPORT_FIREFOX, &titled, "\"startTime\":1500.000001");
    assert_writes(r, WHAMMC_REPORT_CALLGRIND, NULL, "\nsummary: 1500 ");
    assert_writes(r, WHAMMC_REPORT_CACHEGRIND, NULL, "\nsummary: 1500 ");
    assert_writes(r, WHAMMC_REPORT_PERFETTO, NULL, "\"dur\":1.500");
    assert_cannot(r, WHAMMC_REPORT_PPROF, &wrong, "the variable 'missing' is not in the report");
    assert_cannot(r, WHAMMC_REPORT_PPROF, &lines,
                  "no lines of functions, and no program was given");
    assert_int_equal(whammc_report_set_module(r, "app.wasm", app, sizeof app), WHAMMC_OK);
    assert_writes(r, WHAMMC_REPORT_CALLGRIND, NULL, "\npositions: instr line\n");
    whammc_report_free(r);
    r = read_text(calls);
    assert_writes(r, WHAMMC_REPORT_CALLGRIND, NULL, "\nevents: calls\n");
    assert_cannot(r, WHAMMC_REPORT_PERFETTO, NULL, "the report has no call tree");
    whammc_report_free(r);
    r = read_text("");
    assert_cannot(r, WHAMMC_REPORT_PPROF, NULL, "no call tree, no calls and no numbers at sites");
    whammc_report_free(r);
    r = read_text(
        TREE("round", "[{\"key\":1,\"value\":[2,0,1,1]},{\"key\":2,\"value\":[1,0,1,1]}]"));
    assert_cannot(r, WHAMMC_REPORT_FIREFOX, NULL, "a node is its own ancestor");
    whammc_report_free(r);
}

static void test_profile(void **state) {
    (void)state;
    WhammcReport *r = read_text(tree);
    const WhammcProfile *p;
    assert_int_equal(whammc_report_profile(r, WHAMMC_PROFILE_TREE, &as_they_are, &p), WHAMMC_OK);
    assert_true(p->timed);
    assert_false(p->sampled);
    assert_int_equal(p->nnodes, 2);
    assert_int_equal(p->narcs, 0);
    assert_int_equal(p->nodes[0].parent, UINT32_MAX);
    assert_int_equal(p->nodes[0].end, 2);
    assert_int_equal(p->nodes[0].total, 1500);
    assert_int_equal(p->nodes[1].parent, 0);
    assert_int_equal(p->nodes[1].depth, 1);
    assert_int_equal(p->nodes[1].calls, 3);
    assert_int_equal(p->nodes[1].self, 500);
    assert_string_equal(p->functions[p->nodes[0].function].name, "_ZN3app4mainEv");
    assert_int_equal(whammc_report_profile(r, WHAMMC_PROFILE_CALLS, NULL, &p), WHAMMC_OK);
    assert_int_equal(p->narcs, 2);
    assert_int_equal(p->nfunctions, 3);
    for (size_t i = 0; i < p->narcs; i++) {
        const WhammcProfileFunction *callee = &p->functions[p->arcs[i].callee];
        bool leaf = callee->fid == 1;
        assert_int_equal(p->arcs[i].calls, leaf ? 3 : 1);
        assert_int_equal(p->arcs[i].ns, leaf ? 500 : 1500);
        assert_int_equal(callee->calls, p->arcs[i].calls);
        assert_int_equal(callee->self, leaf ? 500 : 1000);
        assert_int_equal(callee->total, p->arcs[i].ns);
        assert_true((p->functions[p->arcs[i].caller].fid == WHAMMC_OUTSIDE) == !leaf);
    }
    whammc_report_free(r);
    r = read_text(calls);
    assert_int_equal(whammc_report_profile(r, WHAMMC_PROFILE_CALLS, NULL, &p), WHAMMC_OK);
    assert_false(p->timed);
    assert_int_equal(p->functions[p->arcs[1].callee].calls, 10);
    assert_int_equal(whammc_report_profile(r, WHAMMC_PROFILE_TREE, NULL, &p), WHAMMC_ERROR);
    assert_null(p);
    whammc_report_free(r);
    r = read_text(sampled);
    assert_int_equal(whammc_report_profile(r, WHAMMC_PROFILE_CALLS, NULL, &p), WHAMMC_OK);
    assert_true(p->sampled);
    whammc_report_free(r);
}

typedef struct Taken {
    size_t size, times;
    char text[4096];
} Taken;

static void take(void *ctx, const void *bytes, size_t size) {
    Taken *t = ctx;
    assert_true(t->size + size < sizeof t->text);
    memcpy(t->text + t->size, bytes, size);
    t->size += size;
    t->times++;
}

static void test_callback(void **state) {
    (void)state;
    static Taken t;
    WhammcReport *r = read_text(csv);
    assert_int_equal(whammc_report_write_to(r, WHAMMC_REPORT_JSON, NULL, take, &t), WHAMMC_OK);
    assert_int_equal(t.size, sizeof json - 1);
    assert_memory_equal(t.text, json, t.size);
    t = (Taken){0};
    assert_int_equal(whammc_report_write_to(r, WHAMMC_REPORT_SVG, NULL, take, &t), WHAMMC_ERROR);
    assert_int_equal(t.times, 0);
    whammc_report_free(r);
}

/* ---- anything ---- */

/* All that can be asked of a report; sums up what there is. */
static uint64_t sum_values(const WhammcValue *v) {
    uint64_t sum = v->size;
    bool parts = v->kind >= WHAMMC_VALUE_TUPLE && v->kind <= WHAMMC_VALUE_BUCKETS;
    for (size_t i = 0; parts && i < v->size; i++)
        sum += sum_values(&v->as.parts[i]);
    if (v->kind == WHAMMC_VALUE_STRING || v->kind == WHAMMC_VALUE_UNREADABLE)
        assert_int_equal(v->as.text[v->size], 0);
    return sum;
}

static void use(WhammcReport *r) {
    size_t n, rows;
    uint64_t sum = strlen(whammc_report_messages(r, 0)) + strlen(whammc_report_rest(r, &n));
    const WhammcProfile *p;
    whammc_report_rows(r, &rows);
    whammc_report_variables(r, &n);
    assert_true(n <= rows);
    for (size_t i = 0; i < rows; i++)
        sum += sum_values(whammc_report_value(r, i));
    for (WhammcReportFormat f = WHAMMC_REPORT_TABLE; f <= WHAMMC_REPORT_PERFETTO; f++) {
        uint8_t *out;
        whammc_status status = whammc_report_write(r, f, NULL, &out, &n);
        assert_true((status == WHAMMC_OK) == (out != NULL));
        assert_true(f > WHAMMC_REPORT_JSON || status == WHAMMC_OK);
        sum += n;
        whammc_release(out);
    }
    if (whammc_report_profile(r, WHAMMC_PROFILE_TREE, NULL, &p) == WHAMMC_OK)
        sum += p->nnodes;
    if (whammc_report_profile(r, WHAMMC_PROFILE_CALLS, NULL, &p) == WHAMMC_OK)
        sum += p->narcs;
    assert_true(sum > 0);
}

static void test_damaged(void **state) {
    (void)state;
    static const char *const texts[] = {json, csv, quoted, tree, calls};
    static const char marks[] = "\",:{}[]()<>\\u\n\r= ;0123_-+\xff";
    uint64_t random = 88172645463325252u;
    for (int t = 0; t < 5; t++) {
        size_t len = strlen(texts[t]);
        char *copy = malloc(len + 1);
        for (int round = 0; round < 300; round++) {
            WhammcReport *r = whammc_report_new();
            memcpy(copy, texts[t], len + 1);
            for (int i = 0; i < round % 6; i++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                copy[random % len] = marks[(random >> 32) % (sizeof marks - 1)];
            }
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            whammc_report_set_module(r, "app", app, round & 1 ? sizeof app : 0);
            whammc_report_read(r, "damaged", copy, round % 3 ? len : random % len, round / 100);
            use(r);
            whammc_report_free(r);
        }
        free(copy);
    }
}

/* Types that are nested more deeply than anything can be. */
static void test_deep(void **state) {
    (void)state;
    enum { DEPTH = 20000 };
    static char text[4 * DEPTH + 1000];
    char type[2 * DEPTH + 1], value[2 * DEPTH + 1];
    for (int i = 0; i < DEPTH; i++) {
        type[i] = '(';
        type[2 * DEPTH - 1 - i] = ')';
        value[i] = '[';
        value[2 * DEPTH - 1 - i] = ']';
    }
    type[2 * DEPTH] = value[2 * DEPTH] = 0;
    snprintf(text, sizeof text,
             "{\"id\":1,\"id_type\":\"global_id\",\"name\":\"deep\",\"type\":\"%s\",\"wasm_type\":"
             "\"i32\",\"script\":\"script0\"," NO_PLACE ",\"value\":%s}\n",
             type, value);
    WhammcReport *r = read_with_warning(text, "for 'deep', found '[[[");
    assert_int_equal(value_of(r, "deep")->kind, WHAMMC_VALUE_UNREADABLE);
    use(r);
    whammc_report_free(r);
}

/* A program whose locale has a decimal comma. */
static void test_locale(void **state) {
    (void)state;
    char folder[] = "/tmp/whammc-locale-XXXXXX", command[200];
    bool made = mkdtemp(folder);
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
             folder);
    made = made && system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
           setlocale(LC_ALL, "de_DE.UTF-8");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    bool removed = system(command) == 0;
    char comma[8];
    snprintf(comma, sizeof comma, "%.1f", 0.5);
    if (made) {
        WhammcReport *r = read_text(csv);
        assert_string_equal(comma, "0,5");
        assert_true(value_of(r, "real")->as.f == -0.1);
        check_parts(r);
        assert_writes(r, WHAMMC_REPORT_TABLE, NULL, "-0.1");
        assert_written(r, WHAMMC_REPORT_JSON, NULL, json);
        whammc_report_free(r);
        r = read_text(tree);
        assert_writes(r, WHAMMC_REPORT_SVG, NULL, ": 1.5 µs</text>");
        whammc_report_free(r);
        snprintf(comma, sizeof comma, "%.1f", 0.5);
        assert_string_equal(comma, "0,5"); /* the program's locale is what it was */
        setlocale(LC_ALL, "C");
    }
    assert_true(removed);
    if (!made)
        skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_derived),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_module),
        cmocka_unit_test(test_program_among_modules),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_no_instructions),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_annotate),
        cmocka_unit_test(test_annotate_several),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_tree_views),
        cmocka_unit_test(test_call_views),
        cmocka_unit_test(test_format_names),
        cmocka_unit_test(test_format_traits),
        cmocka_unit_test(test_views_for_tools),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_callback),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
