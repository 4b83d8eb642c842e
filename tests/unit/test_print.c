/*
 * tests/unit/test_print.c - strings, tuples and maps in reports of each format, the reader of
 * those, and the text of scripts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "one_report.h"
#include "report/image.h"
#include "report/table.h"
#include "values_fixture.h"

#define CSV_HEAD                                                                                   \
    "\n================================= REPORT CSV FLUSH ====================================\n"  \
    "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)\n"
#define QUOTED_COLUMNS                                                                             \
    "id,id_type,name,whamm_type,wasm_type,script_id,fname,fid,pc,probe_id,value(s)\r\n"

static void assert_text(const Buf *b, const char *expected) {
    if (b->len != strlen(expected) || memcmp(b->data, expected, b->len) != 0)
        fail_msg("got:\n%.*s\nexpected:\n%s", (int)b->len, (const char *)b->data, expected);
}

static Str desc_str(const uint8_t *d) {
    const uint8_t *end = d;
    leaves(&end);
    return (Str){(const char *)d, (uint32_t)(end - d)};
}

static Buf render(const Image *img, ImageOptions options, const Buf *values) {
    Buf image = {0}, text = {0};
    assert_true(image_finish(img, &options, &image));
    assert_int_equal(values->len, image_values_size(img));
    image_render(image.data, (uint32_t)image.len, values->data, &text);
    buf_free(&image);
    return text;
}

static void set64(Buf *values, uint64_t at, uint64_t v) {
    for (uint32_t i = 0; i < 8; i++)
        values->data[at + i] = (uint8_t)(v >> 8 * i);
}

/* A leaf of a site row's value. */
static void set_site(const Image *img, Buf *values, uint32_t var, uint32_t row, uint32_t leaf,
                     uint64_t v) {
    uint32_t group = image_group(img, var), bytes = image_row_bytes(img, group);
    uint64_t at = image_group_offset(img, group) + (uint64_t)row * bytes + 8 * leaf;
    for (uint32_t i = 0; i < 8 && i < bytes; i++)
        values->data[at + i] = (uint8_t)(v >> 8 * i);
}

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* ---- one of each ---- */

typedef struct Sample {
    Image *img;
    Buf values;
} Sample;

static uint32_t var(Image *img, ReportKind kind, const uint8_t *desc, const char *name,
                    const char *type, const char *wasm) {
    return image_var(img, kind, desc ? desc_str(desc) : STR(""), str_of(name), str_of(type),
                     str_of(wasm), STR("script0"));
}

#define AWKWARD "a, \"b\"\n\xff"

/* A map from pairs to numbers, with three entries. */
static uint32_t pairs_map(void) {
    uint32_t type = map_type(DESC(PAIR(REPORT_I32, REPORT_BOOL)), DESC(REPORT_U8));
    uint32_t map = values_map_new();
    values_store32(values_map_at2(map, type, 7, 1), 70);
    values_store32(values_map_at2(map, type, 7, 0), 60);
    values_store32(values_map_at2(map, type, (uint32_t)-2, 1), 50);
    return map;
}

/* Strings, tuples of two types and maps, per site, per probe and per script. */
static Sample sample(void) {
    Image *img = image_new();
    const uint8_t *mixed = DESC(TRIPLE(REPORT_U8, REPORT_STR, PAIR(REPORT_I64, REPORT_F64)));
    const uint8_t *pair = DESC(PAIR(REPORT_I32, REPORT_BOOL));
    uint32_t text = var(img, REPORT_STR, NULL, "text", "str", "(i32; i32)");
    uint32_t tuple =
        var(img, REPORT_TUPLE, mixed, "t", "(u8,str,(i64,f64))", "(i32; i32; i64; f64)");
    uint32_t small = var(img, REPORT_TUPLE, pair, "p", "(i32,bool)", "(i32; i32)");
    uint32_t other = var(img, REPORT_TUPLE, pair, "q", "(i32,bool)", "(i32; i32)");
    uint32_t map = var(img, REPORT_MAP, DESC(REPORT_MAP, PAIR(REPORT_I32, REPORT_BOOL), REPORT_U8),
                       "m", "map<(i32,bool),u8>", "i32");
    uint32_t count = var(img, REPORT_U32, NULL, "n", "u32", "i32");
    uint32_t call = image_probe(img, STR("1_wasm:opcode:call:before"));
    image_func(img, 1, STR("f(int, \"x\")"));
    image_site_row(img, tuple, call, 1, 2);
    image_site_row(img, map, call, 1, 2);
    image_site_row(img, small, call, 1, 2);
    image_site_row(img, text, call, 1, 2);
    image_site_row(img, text, call, 3, 4);
    image_site_row(img, other, call, 3, 4);
    image_site_row(img, count, call, 3, 4);
    assert_int_equal(image_group(img, small), image_group(img, other));
    assert_int_not_equal(image_group(img, small), image_group(img, tuple));
    uint32_t tails[] = {image_shared_row(img, tuple, call), image_shared_row(img, map, call),
                        image_script_row(img, count),       image_script_row(img, text),
                        image_script_row(img, small),       image_script_row(img, count),
                        image_script_row(img, map),         image_script_row(img, map)};

    Buf v = {0};
    uint64_t size = image_values_size(img);
    for (uint64_t i = 0; i < size; i++)
        buf_u8(&v, 0);
    uint32_t awkward = string(STR(AWKWARD)), numbers = pairs_map();
    uint64_t leaf[] = {200, awkward, (uint64_t)-5, bits_of(2.5)};
    for (uint32_t i = 0; i < 4; i++) {
        set_site(img, &v, tuple, 0, i, leaf[i]);
        set64(&v, image_tail_offset(img, tails[0]) + 8 * i, leaf[i]);
    }
    set_site(img, &v, map, 0, 0, numbers);
    set_site(img, &v, small, 0, 0, (uint32_t)-1);
    set_site(img, &v, small, 0, 1, 1);
    set_site(img, &v, text, 0, 0, string(STR("plain text")));
    set_site(img, &v, text, 1, 0, awkward);
    set_site(img, &v, count, 0, 0, 12);
    set64(&v, image_tail_offset(img, tails[1]), 1); /* a static map, never used */
    set64(&v, image_tail_offset(img, tails[2]), 13);
    set64(&v, image_tail_offset(img, tails[3]), awkward);
    set64(&v, image_tail_offset(img, tails[4]), 14);
    set64(&v, image_tail_offset(img, tails[5]), 15);
    set64(&v, image_tail_offset(img, tails[6]), 0);
    set64(&v, image_tail_offset(img, tails[7]), numbers);
    return (Sample){img, v};
}

static void check(ImageOptions options, const char *expected) {
    start();
    Sample s = sample();
    for (uint32_t twice = 0; twice < 2; twice++) { /* printing leaves maps as they were */
        Buf text = render(s.img, options, &s.values);
        assert_text(&text, expected);
        buf_free(&text);
    }
    image_free(s.img);
    buf_free(&s.values);
    end();
}

static void test_csv(void **state) {
    (void)state;
    check((ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}, CSV_HEAD
          "4, memaddr, n, u32, i32, script0, #3, 3, 4, 1_wasm:opcode:call:before, 12\n"
          "36, memaddr, text, str, (i32; i32), script0, f(int, \"x\"), 1, 2, "
          "1_wasm:opcode:call:before, plain text\n"
          "72, memaddr, text, str, (i32; i32), script0, #3, 3, 4, 1_wasm:opcode:call:before, "
          "a, \"b\"\n\xff\n"
          "108, memaddr, p, (i32,bool), (i32; i32), script0, f(int, \"x\"), 1, 2, "
          "1_wasm:opcode:call:before, (-1; true)\n"
          "141, memaddr, q, (i32,bool), (i32; i32), script0, #3, 3, 4, 1_wasm:opcode:call:before, "
          "(0; false)\n"
          "174, memaddr, t, (u8,str,(i64,f64)), (i32; i32; i64; f64), script0, f(int, \"x\"), 1, "
          "2, 1_wasm:opcode:call:before, (200; a, \"b\" \xff; (-5; +2.5e0))\n"
          "227, memaddr, m, map<(i32,bool),u8>, i32, script0, f(int, \"x\"), 1, 2, "
          "1_wasm:opcode:call:before, (-2,true)->50;(7,false)->60;(7,true)->70\n"
          "259, memaddr, t, (u8,str,(i64,f64)), (i32; i32; i64; f64), script0, , , , "
          "1_wasm:opcode:call:before, (200; a, \"b\" \xff; (-5; +2.5e0))\n"
          "312, memaddr, m, map<(i32,bool),u8>, i32, script0, , , , 1_wasm:opcode:call:before, "
          "empty map\n"
          "0, global_id, n, u32, i32, script0, , , , , 13\n"
          "(1; 2), (global_id; global_id), text, str, (i32; i32), script0, , , , , a, \"b\"\n\xff\n"
          "(3; 4), (global_id; global_id), p, (i32,bool), (i32; i32), script0, , , , , "
          "(14; false)\n"
          "5, global_id, n, u32, i32, script0, , , , , 15\n"
          "0, map_id, m, map<(i32,bool),u8>, i32, script0, , , , , empty map\n"
          "4, map_id, m, map<(i32,bool),u8>, i32, script0, , , , , "
          "(-2,true)->50;(7,false)->60;(7,true)->70\n");
}

#define PLACE1                                                                                     \
    ",\"fname\":\"f(int, \\\"x\\\")\",\"fid\":1,\"pc\":2,\"probe\":\"1_wasm:opcode:call:before\""
#define PLACE3       ",\"fname\":\"#3\",\"fid\":3,\"pc\":4,\"probe\":\"1_wasm:opcode:call:before\""
#define NOWHERE      ",\"fname\":null,\"fid\":null,\"pc\":null,\"probe\":"
#define SHARED       NOWHERE "\"1_wasm:opcode:call:before\""
#define SCRIPT       NOWHERE "null"
#define IS(id, type) "{\"id\":" id ",\"id_type\":\"" type "\","
#define N_VAR        "\"name\":\"n\",\"type\":\"u32\",\"wasm_type\":\"i32\",\"script\":\"script0\""
#define TEXT_VAR                                                                                   \
    "\"name\":\"text\",\"type\":\"str\",\"wasm_type\":\"(i32; i32)\",\"script\":\"script0\""
#define T_VAR                                                                                      \
    "\"name\":\"t\",\"type\":\"(u8,str,(i64,f64))\",\"wasm_type\":\"(i32; i32; i64; "              \
    "f64)\",\"script\":\"script0\""
#define M_VAR                                                                                      \
    "\"name\":\"m\",\"type\":\"map<(i32,bool),u8>\",\"wasm_type\":\"i32\",\"script\":\"script0\""
#define P_VAR(p)                                                                                   \
    "\"name\":\"" p "\",\"type\":\"(i32,bool)\",\"wasm_type\":\"(i32; "                            \
    "i32)\",\"script\":\"script0\""
#define AWKWARD_JSON "\"a, \\\"b\\\"\\n\xef\xbf\xbd\""
#define PAIRS_JSON                                                                                 \
    "[{\"key\":[-2,true],\"value\":50},{\"key\":[7,false],\"value\":60},{\"key\":[7,true],"        \
    "\"value\":70}]"

static void test_json(void **state) {
    (void)state;
    check((ImageOptions){.format = IMAGE_JSON, .dest = REPORT_STDOUT},
          "\n" IS("4", "memaddr") N_VAR PLACE3 ",\"value\":12}\n" IS("36", "memaddr")
              TEXT_VAR PLACE1 ",\"value\":\"plain text\"}\n" IS("72", "memaddr") TEXT_VAR PLACE3
          ",\"value\":" AWKWARD_JSON "}\n" IS("108", "memaddr") P_VAR("p") PLACE1
          ",\"value\":[-1,true]}\n" IS("141", "memaddr") P_VAR("q") PLACE3
          ",\"value\":[0,false]}\n" IS("174", "memaddr") T_VAR PLACE1
          ",\"value\":[200," AWKWARD_JSON ",[-5,2.5e0]]}\n" IS("227", "memaddr") M_VAR PLACE1
          ",\"value\":" PAIRS_JSON "}\n" IS("259", "memaddr") T_VAR SHARED
          ",\"value\":[200," AWKWARD_JSON ",[-5,2.5e0]]}\n" IS("312", "memaddr") M_VAR SHARED
          ",\"value\":[]}\n" IS("0", "global_id") N_VAR SCRIPT
          ",\"value\":13}\n" IS("1", "global_id") TEXT_VAR SCRIPT
          ",\"value\":" AWKWARD_JSON "}\n" IS("3", "global_id") P_VAR("p") SCRIPT
          ",\"value\":[14,false]}\n" IS("5", "global_id") N_VAR SCRIPT
          ",\"value\":15}\n" IS("0", "map_id") M_VAR SCRIPT ",\"value\":[]}\n" IS("4", "map_id")
              M_VAR SCRIPT ",\"value\":" PAIRS_JSON "}\n");
}

#define AWKWARD_QUOTED "a, \"\"b\"\"\n\xff"

static const char quoted_rows[] = QUOTED_COLUMNS
    "4,memaddr,n,u32,i32,script0,#3,3,4,1_wasm:opcode:call:before,12\r\n"
    "36,memaddr,text,str,(i32; i32),script0,\"f(int, \"\"x\"\")\",1,2,1_wasm:opcode:call:before,"
    "plain text\r\n"
    "72,memaddr,text,str,(i32; i32),script0,#3,3,4,1_wasm:opcode:call:before,\"" AWKWARD_QUOTED
    "\"\r\n"
    "108,memaddr,p,\"(i32,bool)\",(i32; i32),script0,\"f(int, \"\"x\"\")\",1,2,"
    "1_wasm:opcode:call:before,\"(-1; true)\"\r\n"
    "141,memaddr,q,\"(i32,bool)\",(i32; i32),script0,#3,3,4,1_wasm:opcode:call:before,"
    "\"(0; false)\"\r\n"
    "174,memaddr,t,\"(u8,str,(i64,f64))\",(i32; i32; i64; f64),script0,\"f(int, \"\"x\"\")\",1,2,"
    "1_wasm:opcode:call:before,\"(200; " AWKWARD_QUOTED "; (-5; +2.5e0))\"\r\n"
    "227,memaddr,m,\"map<(i32,bool),u8>\",i32,script0,\"f(int, \"\"x\"\")\",1,2,"
    "1_wasm:opcode:call:before,\"(-2,true)->50;(7,false)->60;(7,true)->70\"\r\n"
    "259,memaddr,t,\"(u8,str,(i64,f64))\",(i32; i32; i64; f64),script0,,,,"
    "1_wasm:opcode:call:before,\"(200; " AWKWARD_QUOTED "; (-5; +2.5e0))\"\r\n"
    "312,memaddr,m,\"map<(i32,bool),u8>\",i32,script0,,,,1_wasm:opcode:call:before,"
    "\"empty map\"\r\n"
    "0,global_id,n,u32,i32,script0,,,,,13\r\n"
    "(1; 2),(global_id; global_id),text,str,(i32; i32),script0,,,,,\"" AWKWARD_QUOTED "\"\r\n"
    "(3; 4),(global_id; global_id),p,\"(i32,bool)\",(i32; i32),script0,,,,,\"(14; false)\"\r\n"
    "5,global_id,n,u32,i32,script0,,,,,15\r\n"
    "0,map_id,m,\"map<(i32,bool),u8>\",i32,script0,,,,,\"empty map\"\r\n"
    "4,map_id,m,\"map<(i32,bool),u8>\",i32,script0,,,,,"
    "\"(-2,true)->50;(7,false)->60;(7,true)->70\"\r\n";

static void test_quoted(void **state) {
    (void)state;
    check(
        (ImageOptions){.format = IMAGE_CSV_RFC4180, .dest = REPORT_FILE, .path = STR("report.csv")},
        quoted_rows);
    Buf text = {0};
    buf_str(&text, STR("\r\n"));
    buf_str(&text, str_of(quoted_rows));
    check((ImageOptions){.format = IMAGE_CSV_RFC4180, .dest = REPORT_STDERR}, buf_cstr(&text));
    buf_free(&text);
}

/* More types than a byte could count, among them one without fields; in the order of their names.
 */
static void test_many_types(void **state) {
    (void)state;
    enum { N = 300 };
    Image *img = image_new();
    Buf values = {0}, expected = {0};
    uint32_t vars[N], probe = image_probe(img, STR("1_a:b:c:d")), id = 4;
    for (uint32_t i = 0; i < N; i++) {
        char type[32];
        uint8_t desc[2 + N] = {REPORT_TUPLE, (uint8_t)(i % 5)};
        memset(desc + 2, REPORT_U16, i % 5);
        snprintf(type, sizeof type, "(%03u)", (i + 77) % N);
        vars[i] = image_var(img, REPORT_TUPLE, (Str){(const char *)desc, 2 + i % 5}, STR("t"),
                            str_of(type), STR("w"), STR("script0"));
        image_site_row(img, vars[i], probe, i, 0);
    }
    for (uint64_t n = image_values_size(img); n; n--)
        buf_u8(&values, 0);
    buf_str(&expected, STR(CSV_HEAD));
    for (uint32_t n = 0; n < N; n++) {
        uint32_t i = (n + N - 77) % N;
        for (uint32_t k = 0; k < i % 5; k++)
            set_site(img, &values, vars[i], 0, k, i + k);
        buf_printf(&expected, "%u, memaddr, t, (%03u), w, script0, #%u, %u, 0, 1_a:b:c:d, (", id, n,
                   i, i);
        for (uint32_t k = 0; k < i % 5; k++)
            buf_printf(&expected, "%s%u", k ? "; " : "", i + k);
        buf_str(&expected, STR(")\n"));
        id += 28 + 2 * (i % 5);
    }
    Buf text = render(img, (ImageOptions){.format = IMAGE_CSV}, &values);
    assert_text(&text, buf_cstr(&expected));
    buf_free(&text);
    buf_free(&values);
    buf_free(&expected);
    image_free(img);
}

/* ---- the reader ---- */

static const ReportRow *named(const Report *r, const char *name, bool site) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (str_is(r->rows.at[i].var->name, name) && r->rows.at[i].has_place == site)
            return &r->rows.at[i];
    fail_msg("no %s", name);
    return NULL;
}

/* What is printed is read back, among other text and behind another report. */
static void test_read(void **state) {
    (void)state;
    static const char *const tuple[] = {"(-1; true)", "[-1,true]", "(-1; true)"};
    static const char *const map[] = {"(-2,true)->50;(7,false)->60;(7,true)->70", PAIRS_JSON,
                                      "(-2,true)->50;(7,false)->60;(7,true)->70"};
    static const char *const text[] = {"a, \"b\"\n\xff", "a, \"b\"\n\xef\xbf\xbd", AWKWARD};
    start();
    Sample s = sample();
    for (uint32_t f = 0; f < 3; f++) {
        Buf report = render(s.img, (ImageOptions){.format = (ImageFormat)f, .dest = REPORT_STDOUT},
                            &s.values);
        Buf all = {0}, out = {0};
        buf_str(&all, STR("4,\"program output\n"));
        buf_bytes(&all, report.data, report.len);
        buf_str(&all, STR("5 more, \"output\n"));
        buf_bytes(&all, report.data, report.len);
        Report r = {0};
        ReportParts parts = {0};
        assert_true(one_report(&r, &parts, (Str){(char *)all.data, (uint32_t)all.len}, 0));
        assert_int_equal(parts.flushes, 2);
        assert_int_equal(r.rows.len, 15);
        assert_false(r.cut);
        assert_true(str_is(named(&r, "p", true)->value, tuple[f]));
        assert_true(str_is(named(&r, "p", true)->fname, "f(int, \"x\")"));
        assert_true(str_is(named(&r, "m", true)->value, map[f]));
        assert_true(str_is(named(&r, "text", false)->value, text[f]));
        assert_int_equal(named(&r, "m", true)->class, REPORT_CLASS_TEXT);
        assert_int_equal(named(&r, "n", true)->number.u, 12);
        assert_true(str_is(named(&r, "t", true)->var->type, "(u8,str,(i64,f64))"));
        assert_true(str_is(named(&r, "t", false)->probe, "1_wasm:opcode:call:before"));
        table_print(&r, &(TableOptions){.width = 80}, &out);
        assert_true(out.len > 500);
        one_report_free(&r, &parts);
        for (size_t len = all.len; len-- > all.len - report.len;) { /* cut anywhere */
            one_report(&r, &parts, (Str){(char *)all.data, (uint32_t)len}, 0);
            assert_true(r.rows.len <= 15);
            one_report_free(&r, &parts);
        }
        buf_free(&out);
        buf_free(&all);
        buf_free(&report);
    }
    image_free(s.img);
    buf_free(&s.values);
    end();
}

#define ROW(id_type, name, type, place, value) ROW_OF("4", id_type, name, type, place, value)
#define SITE(id, name, type, value)            ROW_OF(id, "memaddr", name, type, A_PLACE, value)
#define ROW_OF(id, id_type, name, type, place, value)                                              \
    "{\"id\":" id ",\"id_type\":\"" id_type "\",\"name\":\"" name "\",\"type\":\"" type            \
    "\",\"wasm_type\":\"w\",\"script\":\"script0\"," place ",\"value\":" value "}\n"
#define NO_PLACE "\"fname\":null,\"fid\":null,\"pc\":null,\"probe\":null"
#define A_PLACE  "\"fname\":\"f\",\"fid\":1,\"pc\":2,\"probe\":\"1_a:b:c:d\""

/* Maps make tables of their own; what is no report is kept apart. */
static void test_table(void **state) {
    (void)state;
    static const char text[] = "printed\n\n" ROW(
        "memaddr", "site", "map<u8,(u8,str)>", A_PLACE,
        "[{\"key\":1,\"value\":[2,\"x\"]},{\"key\":3,\"value\":[4,\"y\\n\"]}"
        "]") "{\"not\":[1,{\"a\":\"]\"}]}\n" ROW("global_id", "pair", "(u8,(str,f64))", NO_PLACE,
                                                 "[1,[\"a b\",2.5e0]]")
        ROW("map_id", "edges", "map<(str,u32),u64>", NO_PLACE,
            "[{\"key\":[\"a\",1],\"value\":25},{\"key\":[\"b\\\"\",2],\"value\":75},"
            "{\"key\":[\"\",3],\"value\":0}]") ROW("map_id", "none", "map<u8,u8>", NO_PLACE, "[]")
            ROW("map_id", "deep", "map<u8,map<u8,bool>>", NO_PLACE,
                "[{\"key\":9,\"value\":[{\"key\":1,\"value\":true}]},{\"key\":10,"
                "\"value\":[]}]") ROW("map_id", "words", "map<i8,str>", NO_PLACE,
                                      "[{\"key\":-9,\"value\":\"[{\"}]") "more\n\n\nand";
    Report r = {0};
    ReportParts parts = {0};
    Buf out = {0};
    assert_true(one_report(&r, &parts, STR(text), 0));
    assert_text(&parts.rest, "printed\n{\"not\":[1,{\"a\":\"]\"}]}\nmore\n\n\nand");
    table_print(&r, &(TableOptions){.width = 80, .top = 2, .ascii = true}, &out);
    assert_text(&out, "Variables\n"
                      "  pair  (u8,(str,f64))  (1; (a b; 2.5e0))\n"
                      "  none  map<u8,u8>      empty map\n"
                      "\n"
                      "edges: map<(str,u32),u64>, 3 entries, total 100\n"
                      "  value   share                key\n"
                      "     75   75.0%  ############  (b\",2)\n"
                      "     25   25.0%  ####          (a,1)\n"
                      "  and 1 more entry with 0\n"
                      "\n"
                      "deep: map<u8,map<u8,bool>>, 2 entries\n"
                      "      value  key\n"
                      "  1->true    9\n"
                      "  empty map  10\n"
                      "\n"
                      "words: map<i8,str>, 1 entry\n"
                      "  value  key\n"
                      "  [{     -9\n"
                      "\n"
                      "site: map<u8,(u8,str)> at 1_a:b:c:d, 1 site\n"
                      "               value  function  pc\n"
                      "  1->(2,x);3->(4,y?)  f          2\n");
    buf_free(&out);
    one_report_free(&r, &parts);
}

/* Maps and strings per site: those with something in them first, long ones with what there is room
 * for. */
static void test_table_of_sites(void **state) {
    (void)state;
    static const char text[] = SITE("8", "per", "map<i32,i32>", "[]") SITE(
        "16", "per", "map<i32,i32>",
        "[{\"key\":1000,\"value\":1},{\"key\":2000,\"value\":2},{\"key\":3000,\"value\":3},"
        "{\"key\":4000,\"value\":4}]") SITE("24", "per", "map<i32,i32>", "[]")
        SITE("32", "per", "map<i32,i32>", "[{\"key\":1,\"value\":1}]")
            SITE("40", "who", "str", "\"\"") SITE("48", "who", "str", "\"me\"") SITE(
                "56", "long", "map<i32,str>",
                "[{\"key\":1,\"value\":\"a text that is very long\"},{\"key\":2,\"value\":\"b\"}]");
    Report r = {0};
    ReportParts parts = {0};
    Buf out = {0};
    assert_true(one_report(&r, &parts, STR(text), 0));
    table_print(&r, &(TableOptions){.width = 50, .top = 2, .ascii = true}, &out);
    assert_text(&out, "per: map<i32,i32> at 1_a:b:c:d, 4 sites\n"
                      "                      value  function  pc\n"
                      "  4000->4 ... and 3 more     f          2\n"
                      "  1->1                       f          2\n"
                      "  and 2 more sites that are empty\n"
                      "\n"
                      "who: str at 1_a:b:c:d, 2 sites\n"
                      "  value  function  pc\n"
                      "  me     f          2\n"
                      "         f          2\n"
                      "\n"
                      "long: map<i32,str> at 1_a:b:c:d, 1 site\n"
                      "                      value  function  pc\n"
                      "  1->a text t...y long;2->b  f          2\n");
    buf_free(&out);
    one_report_free(&r, &parts);
}

/* Changed images must neither crash nor read where they should not. */
static void test_damaged(void **state) {
    (void)state;
    start();
    Sample s = sample();
    for (uint32_t f = 0; f < 3; f++) {
        Buf image = {0};
        assert_true(image_finish(s.img, &(ImageOptions){.format = (ImageFormat)f}, &image));
        for (uint32_t round = 0; round < 20000; round++) {
            uint8_t *copy = malloc(image.len); /* just as large as it has to be */
            uint32_t len = (uint32_t)(round % 4 ? image.len : next_random() % image.len);
            memcpy(copy, image.data, image.len);
            Buf text = {0};
            for (uint32_t i = 0; i < 1 + round % 3; i++) {
                uint32_t at = (uint32_t)(next_random() % (len + 1));
                if (at < len && at != 0 && (at < FORMAT_VALUES || at >= FORMAT_HEADER))
                    copy[at] = (uint8_t)(round % 2 ? next_random() : next_random() % 16);
            }
            image_render(copy, len, s.values.data, &text);
            buf_free(&text);
            free(copy);
        }
        buf_free(&image);
    }
    image_free(s.img);
    buf_free(&s.values);
    end();
}

/* Values that are no strings and no maps. */
static void test_wrong_values(void **state) {
    (void)state;
    start();
    Sample s = sample();
    for (uint32_t round = 0; round < 300; round++) {
        for (size_t i = 0; i < s.values.len; i++)
            if (next_random() % 8 == 0)
                s.values.data[i] = (uint8_t)next_random();
        Buf text =
            render(s.img, (ImageOptions){.format = (ImageFormat)(round % 3), .dest = REPORT_STDOUT},
                   &s.values);
        buf_free(&text);
    }
    image_free(s.img);
    buf_free(&s.values);
    end();
    s = (Sample){image_new(), {0}}; /* and without any memory */
    image_script_row(s.img, var(s.img, REPORT_STR, NULL, "s", "str", "(i32; i32)"));
    image_script_row(s.img, var(s.img, REPORT_MAP, NULL, "m", "map<i32,i32>", "i32"));
    buf_u64le(&s.values, 1000);
    buf_u64le(&s.values, 1000);
    Buf text = render(s.img, (ImageOptions){.format = IMAGE_CSV}, &s.values);
    assert_text(&text,
                CSV_HEAD "(0; 1), (global_id; global_id), s, str, (i32; i32), script0, , , , , \n"
                         "1000, map_id, m, map<i32,i32>, i32, script0, , , , , empty map\n");
    buf_free(&text);
    buf_free(&s.values);
    image_free(s.img);
}

/* ---- maps as text ---- */

typedef struct Printed {
    const uint8_t *key, *value;
    uint32_t n;
    uint64_t entries[8][3]; /* leaves of key and value */
    const char *csv, *json;
} Printed;

static void print_as(uint32_t map, ImageFormat format, const char *expected) {
    Image *img = image_new();
    Buf values = {0};
    image_script_row(img, var(img, REPORT_MAP, NULL, "m", "map", "i32"));
    buf_u64le(&values, map);
    Buf text = render(img, (ImageOptions){.format = format, .dest = REPORT_FILE}, &values);
    const char *mark = format == IMAGE_JSON ? "\"value\":" : ", , , , , ";
    const char *at = strstr(buf_cstr(&text), mark);
    assert_non_null(at);
    at += strlen(mark);
    char got[400];
    snprintf(got, sizeof got, "%.*s", (int)strcspn(at, "\n"), at);
    if (format == IMAGE_JSON)
        got[strlen(got) - 1] = '\0';
    assert_string_equal(got, expected);
    buf_free(&text);
    buf_free(&values);
    image_free(img);
}

static uint64_t f32_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void test_map_order(void **state) {
    (void)state;
    start();
    uint64_t a = string(STR("a")), ab = string(STR("ab")), b = string(STR("b")),
             high = string(STR("\xc3\xa9"));
    Printed cases[] = {
        {DESC(REPORT_U32),
         DESC(REPORT_U32),
         3,
         {{0xffffffff, 1}, {0, 2}, {70, 3}},
         "0->2;70->3;4294967295->1",
         "[{\"key\":0,\"value\":2},{\"key\":70,\"value\":3},{\"key\":4294967295,\"value\":1}]"},
        {DESC(REPORT_I32),
         DESC(REPORT_I32),
         3,
         {{0xffffffff, 1}, {0, 0xfffffff0}, {70, 3}},
         "-1->1;0->-16;70->3",
         "[{\"key\":-1,\"value\":1},{\"key\":0,\"value\":-16},{\"key\":70,\"value\":3}]"},
        {DESC(REPORT_I8),
         DESC(REPORT_BOOL),
         3,
         {{5, 1}, {0xffffff80, 0}, {0xffffffff, 1}},
         "-128->false;-1->true;5->true",
         "[{\"key\":-128,\"value\":false},{\"key\":-1,\"value\":true},{\"key\":5,\"value\":true}]"},
        {DESC(REPORT_U64),
         DESC(REPORT_I64),
         2,
         {{UINT64_MAX, UINT64_MAX}, {1, 1}},
         "1->1;18446744073709551615->-1",
         "[{\"key\":1,\"value\":1},{\"key\":18446744073709551615,\"value\":-1}]"},
        {DESC(REPORT_I64),
         DESC(REPORT_U64),
         2,
         {{1, 1}, {UINT64_MAX, UINT64_MAX}},
         "-1->18446744073709551615;1->1",
         "[{\"key\":-1,\"value\":18446744073709551615},{\"key\":1,\"value\":1}]"},
        {DESC(REPORT_F64),
         DESC(REPORT_F32),
         4,
         {{bits_of(0.5), f32_bits(1)},
          {bits_of(-2), f32_bits(2)},
          {bits_of(-0.0), f32_bits(3)},
          {bits_of(1.0 / 0.0), f32_bits(-1.5F)}},
         "-2e0->+2e0;+0e0->+3e0;+5e-1->+1e0;+inf->-1.5e0",
         "[{\"key\":-2e0,\"value\":2e0},{\"key\":0e0,\"value\":3e0},{\"key\":5e-1,\"value\":1e0},"
         "{\"key\":\"+inf\",\"value\":-1.5e0}]"},
        {DESC(REPORT_F32),
         DESC(REPORT_STR),
         2,
         {{f32_bits(3), b}, {f32_bits(-3), ab}},
         "-3e0->ab;+3e0->b",
         "[{\"key\":-3e0,\"value\":\"ab\"},{\"key\":3e0,\"value\":\"b\"}]"},
        {DESC(REPORT_STR),
         DESC(REPORT_U8),
         4,
         {{high, 1}, {b, 2}, {ab, 3}, {a, 4}},
         "a->4;ab->3;b->2;\xc3\xa9->1",
         "[{\"key\":\"a\",\"value\":4},{\"key\":\"ab\",\"value\":3},{\"key\":\"b\",\"value\":2},"
         "{\"key\":\"\xc3\xa9\",\"value\":1}]"},
        {DESC(PAIR(REPORT_I32, REPORT_STR)),
         DESC(REPORT_U8),
         3,
         {{1, b, 1}, {1, a, 2}, {0xffffffff, b, 3}},
         "(-1,b)->3;(1,a)->2;(1,b)->1",
         "[{\"key\":[-1,\"b\"],\"value\":3},{\"key\":[1,\"a\"],\"value\":2},"
         "{\"key\":[1,\"b\"],\"value\":1}]"},
        {DESC(REPORT_BOOL),
         DESC(PAIR(REPORT_U8, REPORT_F64)),
         2,
         {{1, 2, bits_of(3)}, {0, 4, bits_of(5)}},
         "false->(4,+5e0);true->(2,+3e0)",
         "[{\"key\":false,\"value\":[4,5e0]},{\"key\":true,\"value\":[2,3e0]}]"},
        {DESC(REPORT_TUPLE, 0),
         DESC(REPORT_TUPLE, 0),
         1,
         {{0}},
         "()->()",
         "[{\"key\":[],\"value\":[]}]"},
    };
    for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const Printed *p = &cases[c];
        uint32_t map = values_map_new(), type = map_type(p->key, p->value);
        const uint8_t *d = p->key, *e = p->value;
        uint32_t nk = leaves(&d), nv = leaves(&e);
        for (uint32_t i = 0; i < p->n; i++) {
            for (uint32_t k = 0; k < nk; k++)
                values_key(k, p->entries[i][k]);
            uint32_t at = values_map_at(map, type);
            for (uint32_t k = 0; k < nv; k++)
                store_leaf(at + 8 * k, is_wide_value(p->value), p->entries[i][nk + k]);
        }
        print_as(map, IMAGE_CSV, p->csv);
        print_as(map, IMAGE_JSON, p->json);
    }
    end();
}

static void test_nested_maps(void **state) {
    (void)state;
    start();
    uint32_t inner_type = map_type(DESC(REPORT_U8), DESC(REPORT_U8));
    uint32_t outer_type = map_type(DESC(REPORT_STR), DESC(REPORT_MAP, REPORT_U8, REPORT_U8));
    uint32_t outer = values_map_new();
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t inner = values_map_new();
        char name[] = {(char)('c' - i), '\0'};
        values_store32(values_map_at1(outer, outer_type, string(str_of(name))), inner);
        for (uint32_t k = 0; k < i; k++)
            values_store32(values_map_at1(inner, inner_type, 9 - k), k);
    }
    print_as(outer, IMAGE_CSV, "a->{8->1;9->0};b->{9->0};c->{}");
    print_as(outer, IMAGE_JSON,
             "[{\"key\":\"a\",\"value\":[{\"key\":8,\"value\":1},{\"key\":9,\"value\":0}]},"
             "{\"key\":\"b\",\"value\":[{\"key\":9,\"value\":0}]},{\"key\":\"c\",\"value\":[]}]");
    end();
}

/* Many entries come in order, and are found afterwards. */
static void test_many_sorted(void **state) {
    (void)state;
    start();
    enum { N = 20000 };
    uint32_t type = map_type(DESC(REPORT_I32), DESC(REPORT_U32));
    for (uint32_t i = 0; i < N; i++)
        values_store32(values_map_at1(3, type, i * 2654435761u), i);
    Buf text = {0};
    image_text_to(&text);
    values_print_map(3);
    values_flush();
    image_text_to(NULL);
    long long before = INT64_MIN, key;
    unsigned value, count = 0;
    for (const char *at = buf_cstr(&text); *at && *at != '\n'; count++) {
        int used = 0;
        assert_int_equal(sscanf(at, "%lld->%u%n", &key, &value, &used), 2);
        assert_true(key > before && (uint32_t)key == value * 2654435761u);
        before = key;
        at += used;
        at += *at == ';';
    }
    assert_int_equal(count, N);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(values_load32(values_map_find1(3, type, i * 2654435761u)), i);
    buf_free(&text);
    end();
}

/* ---- text of scripts ---- */

static void test_text(void **state) {
    (void)state;
    start();
    Buf text = {0};
    image_text_to(&text);
    uint32_t hello = string(STR("hello"));
    values_puts(hello + 4, values_load32(hello));
    values_putc(' ');
    values_putu8(0x1ff);
    values_putc(',');
    values_puti8(0x80);
    values_putc(',');
    values_putu16(0x1ffff);
    values_putc(',');
    values_puti16(0x8000);
    values_putc(',');
    values_putu32(UINT32_MAX);
    values_putc(',');
    values_puti32(UINT32_MAX);
    values_putc(',');
    values_putu64(UINT64_MAX);
    values_putc(',');
    values_puti64(UINT64_MAX);
    values_putc('\n');
    values_putf32(0.1F);
    values_putc(' ');
    values_putf64(-0.1);
    values_putc(' ');
    values_putbool(7);
    values_putbool(0);
    values_putc('\n');
    values_print_map(2);
    values_print_map_as_csv(1);
    uint32_t type =
        map_type_of(DESC(PAIR(REPORT_I32, REPORT_I32)), DESC(REPORT_I32), "(i32,i32)", "i32");
    values_store32(values_map_at2(1, type, 3, 4), 5);
    values_store32(values_map_at2(1, type, 2, 9), 6);
    values_print_map(1);
    values_print_map_as_csv(1);
    values_print_map(12345);
    values_flush();
    assert_text(&text, "hello 255,-128,65535,-32768,4294967295,-1,18446744073709551615,-1\n"
                       "+1e-1 -1e-1 truefalse\n"
                       "empty map\n"
                       "== map1 CSV FLUSH ==\nempty map\n"
                       "(2,9)->6;(3,4)->5\n"
                       "== map1 CSV FLUSH ==\n"
                       "key ((i32,i32)), val (i32)\n"
                       "(2,9), 6\n"
                       "(3,4), 5\n"
                       "empty map\n");
    image_text_to(NULL);
    buf_free(&text);
    assert_true(values_now_ns() > 0 && values_now_ns() <= values_now_ns());
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_many_types),
        cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_of_sites),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_map_order),
        cmocka_unit_test(test_nested_maps),
        cmocka_unit_test(test_many_sorted),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
