/*
 * tests/unit/test_report.c - report images and how they print, numbers, the reader, the tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "one_report.h"
#include "report/image.h"
#include "report/table.h"
#include "whammc/report.h"

#define CSV_HEAD                                                                                   \
    "\n================================= REPORT CSV FLUSH ====================================\n"  \
    "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)\n"

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 2685821657736338717u;
}

static void assert_text(const Buf *b, const char *expected) {
    if (b->len != strlen(expected) || memcmp(b->data, expected, b->len) != 0)
        fail_msg("got:\n%.*s\nexpected:\n%s", (int)b->len, (const char *)b->data, expected);
}

static Str as_str(const Buf *b) {
    return (Str){(const char *)b->data, (uint32_t)b->len};
}

static uint32_t scalar(Image *img, ReportKind kind, const char *name, const char *type,
                       const char *wasm) {
    return image_var(img, kind, STR(""), str_of(name), str_of(type), str_of(wasm), STR("script0"));
}

/* The image's text with these values; checks that the image can be rendered twice. */
static Buf render(const Image *img, ImageFormat format, const Buf *values) {
    Buf image = {0}, text = {0};
    ImageOptions options = {.format = format, .dest = REPORT_STDOUT};
    assert_true(image_finish(img, &options, &image));
    assert_int_equal(values->len, image_values_size(img));
    image_render(image.data, (uint32_t)image.len, values->data, &text);
    buf_free(&image);
    return text;
}

/* ---- images ---- */

/* Two per-site variables of different kinds, a shared and a script variable. */
static Image *small_image(void) {
    Image *img = image_new();
    uint32_t count = scalar(img, REPORT_I64, "count", "i64", "i64");
    uint32_t taken = scalar(img, REPORT_U8, "taken", "u8", "i32");
    uint32_t sum = scalar(img, REPORT_F64, "sum", "f64", "f64");
    uint32_t seen = scalar(img, REPORT_BOOL, "seen", "bool", "i32");
    uint32_t call = image_probe(img, STR("1_wasm:opcode:call:before"));
    uint32_t br = image_probe(img, STR("2_wasm:opcode:br_if:before"));
    image_func(img, 9, STR("unused"));
    image_func(img, 7, STR("main"));
    image_func(img, 3, STR("f(int, \"x\")"));
    image_site_row(img, count, call, 3, 5);
    image_site_row(img, taken, br, 3, 6);
    image_site_row(img, count, call, 3, 70000);
    image_site_row(img, count, call, 7, 2);
    image_site_row(img, taken, br, 8, 1);
    image_shared_row(img, sum, br);
    image_script_row(img, seen);
    return img;
}

static Buf small_values(void) {
    Buf v = {0};
    buf_u32le(&v, 0x105); /* taken: the low byte counts */
    buf_u32le(&v, 255);
    buf_u64le(&v, 12);
    buf_u64le(&v, (uint64_t)-3);
    buf_u64le(&v, (uint64_t)INT64_MIN);
    buf_u64le(&v, 0x4004000000000000); /* 2.5 */
    buf_u64le(&v, 1);
    return v;
}

static void test_csv(void **state) {
    (void)state;
    Image *img = small_image();
    Buf values = small_values(), text = render(img, IMAGE_CSV, &values);
    assert_text(
        &text, CSV_HEAD
        "4, memaddr, taken, u8, i32, script0, f(int, \"x\"), 3, 6, 2_wasm:opcode:br_if:before, 5\n"
        "33, memaddr, taken, u8, i32, script0, #8, 8, 1, 2_wasm:opcode:br_if:before, 255\n"
        "62, memaddr, count, i64, i64, script0, f(int, \"x\"), 3, 5, 1_wasm:opcode:call:before, "
        "12\n"
        "98, memaddr, count, i64, i64, script0, f(int, \"x\"), 3, 70000, "
        "1_wasm:opcode:call:before, -3\n"
        "134, memaddr, count, i64, i64, script0, main, 7, 2, 1_wasm:opcode:call:before, "
        "-9223372036854775808\n"
        "170, memaddr, sum, f64, f64, script0, , , , 2_wasm:opcode:br_if:before, +2.5e0\n"
        "0, global_id, seen, bool, i32, script0, , , , , true\n");
    buf_free(&values);
    buf_free(&text);
    image_free(img);
}

static void test_json(void **state) {
    (void)state;
    Image *img = small_image();
    Buf values = small_values(), text = render(img, IMAGE_JSON, &values);
    static const char first[] =
        "\n{\"id\":4,\"id_type\":\"memaddr\",\"name\":\"taken\",\"type\":\"u8\",\"wasm_type\":"
        "\"i32\","
        "\"script\":\"script0\",\"fname\":\"f(int, \\\"x\\\")\",\"fid\":3,\"pc\":6,"
        "\"probe\":\"2_wasm:opcode:br_if:before\",\"value\":5}\n";
    static const char last[] =
        "{\"id\":170,\"id_type\":\"memaddr\",\"name\":\"sum\",\"type\":\"f64\",\"wasm_type\":"
        "\"f64\","
        "\"script\":\"script0\",\"fname\":null,\"fid\":null,\"pc\":null,"
        "\"probe\":\"2_wasm:opcode:br_if:before\",\"value\":2.5e0}\n"
        "{\"id\":0,\"id_type\":\"global_id\",\"name\":\"seen\",\"type\":\"bool\","
        "\"wasm_type\":\"i32\",\"script\":\"script0\",\"fname\":null,\"fid\":null,\"pc\":null,"
        "\"probe\":null,\"value\":true}\n";
    assert_true(text.len > sizeof first + sizeof last);
    assert_memory_equal(text.data, first, sizeof first - 1);
    assert_memory_equal(text.data + text.len - (sizeof last - 1), last, sizeof last - 1);
    buf_free(&values);
    buf_free(&text);
    image_free(img);
}

static void test_value_area(void **state) {
    (void)state;
    Image *img = small_image();
    assert_int_equal(image_group_offset(img, REPORT_U8), 0);
    assert_int_equal(image_group_rows(img, REPORT_U8), 2);
    assert_int_equal(image_group_offset(img, REPORT_I64), 8);
    assert_int_equal(image_group_offset(img, REPORT_BOOL), 32);
    assert_int_equal(image_tail_offset(img, 1), 40);
    assert_int_equal(image_values_size(img), 48);
    image_site_row(img, 1, 0, 9, 9); /* a third u8: the group is padded to 16 bytes */
    assert_int_equal(image_group_offset(img, REPORT_I64), 16);
    assert_int_equal(image_values_size(img), 56);
    image_free(img);
}

/* A map with known keys: (str, i8) -> (u64 that counts, bool), marks, three entries. */
static Image *cells_image(bool marked) {
    static const char key[] = {REPORT_TUPLE, 2, REPORT_STR, REPORT_I8};
    static const char value[] = {REPORT_TUPLE, 2, REPORT_U64, REPORT_BOOL};
    static const bool counts[] = {true, false};
    static const ImageKeyLeaf keys[] = {{.text = {"", 0}},      {.word = 5},
                                        {.text = {"a\"\n", 3}}, {.word = 0xfffffffe},
                                        {.text = {"a\"\n", 3}}, {.word = 7}};
    Image *img = image_new();
    uint32_t var = image_var(img, REPORT_MAP, STR(""), STR("m"), STR("map"), STR("i32"), STR("s"));
    ImageCells cells = {.id = 3,
                        .key = {key, sizeof key},
                        .value = {value, sizeof value},
                        .marked = marked,
                        .counts = counts,
                        .leaves = 2,
                        .n = 3,
                        .keys = keys};
    assert_true(image_compare_keys(cells.key, keys, keys + 2) < 0);
    assert_true(image_compare_keys(cells.key, keys + 4, keys + 2) > 0);
    assert_int_equal(image_compare_keys(cells.key, keys + 4, keys + 4), 0);
    image_cells_row(img, var, &cells);
    image_script_row(img, scalar(img, REPORT_U8, "n", "u8", "i32"));
    return img;
}

/* Renders it with words as values. */
static Buf render_cells(ImageFormat format, bool marked, const uint64_t *words, uint32_t n) {
    Image *img = cells_image(marked);
    Buf values = {0};
    for (uint32_t i = 0; i < n; i++)
        buf_u64le(&values, words[i]);
    Buf text = render(img, format, &values);
    buf_free(&values);
    image_free(img);
    return text;
}

static void test_cells(void **state) {
    (void)state;
    /* by a mark, not there although there is a value, by a count */
    static const uint64_t words[] = {0, 1, 1, 0, 1, 0, UINT64_C(1) << 40, 0, 0, 9};
    static const uint64_t counted[] = {0, 1, 2, 0, 0, 1, 9}, none[10] = {0};
    Buf text = render_cells(IMAGE_CSV, true, words, 10);
    assert_text(&text,
                CSV_HEAD "3, map_id, m, map, i32, s, , , , , (,5)->(0,true);(a\" ,7)->"
                         "(1099511627776,false)\n0, global_id, n, u8, i32, script0, , , , , 9\n");
    buf_free(&text);
    text = render_cells(IMAGE_CSV, false, counted, 7);
    assert_text(&text, CSV_HEAD "3, map_id, m, map, i32, s, , , , , (a\" ,-2)->(2,false)\n"
                                "0, global_id, n, u8, i32, script0, , , , , 9\n");
    buf_free(&text);
    text = render_cells(IMAGE_CSV, true, none, 10);
    assert_text(&text, CSV_HEAD "3, map_id, m, map, i32, s, , , , , empty map\n"
                                "0, global_id, n, u8, i32, script0, , , , , 0\n");
    buf_free(&text);
    text = render_cells(IMAGE_CSV_RFC4180, true, words, 10);
    assert_non_null(
        strstr(buf_cstr(&text), ",\"(,5)->(0,true);(a\"\"\n,7)->(1099511627776,false)\""));
    buf_free(&text);
    text = render_cells(IMAGE_CSV_RFC4180, true, none, 10);
    assert_non_null(strstr(buf_cstr(&text), ",\"empty map\"\r\n"));
    buf_free(&text);
    text = render_cells(IMAGE_JSON, true, words, 10);
    assert_non_null(strstr(buf_cstr(&text),
                           "\"value\":[{\"key\":[\"\",5],\"value\":[0,true]},{\"key\":"
                           "[\"a\\\"\\n\",7],\"value\":[1099511627776,false]}]}\n"));
    buf_free(&text);
    text = render_cells(IMAGE_JSON, true, none, 10);
    assert_non_null(strstr(buf_cstr(&text), "\"value\":[]}\n"));
    buf_free(&text);
}

/* Whatever is in an image, printing it ends and reads nothing else. */
static void test_damaged_cells(void **state) {
    (void)state;
    Image *img = cells_image(true);
    ImageOptions options = {.dest = REPORT_STDOUT};
    Buf image = {0};
    assert_true(image_finish(img, &options, &image));
    for (size_t at = FORMAT_HEADER; at < image.len; at++) {
        for (uint32_t x = 1; x < 256; x = x * 3 + 1) {
            uint8_t *copy = mem_alloc(image.len), *values = mem_zalloc(80);
            memcpy(copy, image.data, image.len);
            copy[at] ^= (uint8_t)x;
            memset(values, 1, 80);
            Buf text = {0};
            image_render(copy, (uint32_t)image.len, values, &text);
            assert_true(text.len < 100000);
            text.len = 0;
            image_render(copy, (uint32_t)at, values, &text);
            buf_free(&text);
            free(copy);
            free(values);
        }
    }
    buf_free(&image);
    image_free(img);
}

static void test_empty_image(void **state) {
    (void)state;
    Image *img = image_new();
    Buf values = {0}, text = render(img, IMAGE_CSV, &values);
    assert_true(image_is_empty(img));
    assert_text(&text, CSV_HEAD);
    buf_free(&text);
    image_free(img);
}

static void test_finish_refuses(void **state) {
    (void)state;
    Image *img = small_image();
    char path[IMAGE_PATH_MAX + 1];
    memset(path, 'x', sizeof path);
    Buf out = {0};
    ImageOptions options = {.dest = REPORT_FILE, .path = {path, sizeof path}};
    assert_false(image_finish(img, &options, &out));
    assert_int_equal(out.len, 0);
    options.path.len--;
    assert_true(image_finish(img, &options, &out));
    buf_free(&out);
    image_free(img);
}

static void test_names(void **state) {
    (void)state;
    Image *img = image_new();
    uint32_t var = scalar(img, REPORT_U32, "n", "u32", "i32");
    uint32_t probe = image_probe(img, STR("1_wasm:func:entry:<no-mode>"));
    image_func(img, 0, STR(""));
    image_func(img, 0, STR("line\nbreak\x7f"));
    image_func(img, 1, STR("caf\xc3\xa9 \xff\"\\\x01"));
    image_func(img, 1, STR("second name"));
    image_site_row(img, var, probe, 0, 0);
    image_site_row(img, var, probe, 1, 0);
    image_site_row(img, var, probe, 0, 1); /* out of order: allowed */
    Buf values = {0};
    buf_u64le(&values, 0);
    buf_u64le(&values, UINT32_MAX);
    Buf text = render(img, IMAGE_CSV, &values);
    assert_text(
        &text, CSV_HEAD
        "4, memaddr, n, u32, i32, script0, line break , 0, 0, 1_wasm:func:entry:<no-mode>, 0\n"
        "36, memaddr, n, u32, i32, script0, caf\xc3\xa9 \xff\"\\ , 1, 0, "
        "1_wasm:func:entry:<no-mode>, 0\n"
        "68, memaddr, n, u32, i32, script0, line break , 0, 1, 1_wasm:func:entry:<no-mode>, "
        "4294967295\n");
    Buf json = render(img, IMAGE_JSON, &values);
    buf_u8(&json, 0);
    assert_non_null(strstr((char *)json.data, "\"fname\":\"line\\nbreak\\u007f\","));
    assert_non_null(
        strstr((char *)json.data, "\"fname\":\"caf\xc3\xa9 \xef\xbf\xbd\\\"\\\\\\u0001\","));
    buf_free(&values);
    buf_free(&text);
    buf_free(&json);
    image_free(img);
}

/* What an image costs: a byte a row for one variable in one probe, or for two that alternate. */
static void test_size(void **state) {
    (void)state;
    enum { ROWS = 200000 };
    for (uint32_t vars = 1; vars <= 2; vars++) {
        Image *img = image_new();
        uint32_t a = scalar(img, REPORT_I64, "a", "i64", "i64");
        uint32_t b = scalar(img, REPORT_I64, "b", "i64", "i64");
        uint32_t probe = image_probe(img, STR("1_wasm:opcode:*:before"));
        for (uint32_t i = 0; i < ROWS; i++) {
            uint32_t site = i / vars;
            image_site_row(img, i % vars ? b : a, probe, site / 100, site % 100 * 3);
        }
        Buf out = {0};
        assert_true(image_finish(img, &(ImageOptions){.dest = REPORT_STDOUT}, &out));
        assert_true(out.len < ROWS + ROWS / 20 + 1000);
        buf_free(&out);
        image_free(img);
    }
}

typedef struct Expected {
    uint32_t var, probe, fid, pc;
    uint64_t bits;
} Expected;

/* Random rows of one kind, read back from both formats. */
typedef struct CountedRow {
    uint32_t probe, fid, pc;
    ImageCount count;
    bool same;
} CountedRow;

static void add_counted(Image *img, uint32_t var, const CountedRow *r) {
    if (r->same)
        image_same_row(img, var, r->probe, r->fid, r->pc);
    else
        image_count_row(img, var, r->probe, r->fid, r->pc, &r->count);
}

/* Encodes rows[from...), which begin with one that was added, as long as that is possible. */
static uint32_t append_counted(Image *img, uint32_t var, const CountedRow *rows, uint32_t from,
                               uint32_t to) {
    const CountedRow *r = &rows[from - 1];
    ImageRows more = {.pair = image_pair(img, var, r->probe), .fid = r->fid, .pc = r->pc};
    uint32_t at = from;
    for (; at < to; at++) {
        r = &rows[at];
        uint32_t pair = image_pair(img, var, r->probe);
        uint32_t pairs;
        const uint32_t *next = image_next_pairs(img, &pairs);
        bool is_short = r->fid == more.fid && r->pc % 3 &&
                        image_encode_short(next, &more, pair, r->pc, r->same);
        if (!is_short && !image_encode_row(next, &more, pair, r->fid, r->pc, r->same))
            break;
    }
    image_append_rows(img, image_group(img, var), &more);
    for (uint32_t i = from; i < at; i++) {
        image_func_has_rows(img, rows[i].fid);
        if (!rows[i].same)
            image_append_value(img, image_group(img, var), &rows[i].count);
    }
    buf_free(&more.bytes);
    return at;
}

static Image *counted_image(uint32_t *var) {
    Image *img = image_new();
    *var = scalar(img, REPORT_I64, "count", "i64", "i64");
    for (uint32_t i = 0; i < 4; i++)
        image_probe(img, STR("1_wasm:opcode:call:before"));
    image_func(img, 3, STR("f"));
    return img;
}

static ImageWord word_of_row(void *ctx, uint32_t number) {
    (void)ctx;
    return (ImageWord){number / 2, number % 2};
}

/* Rows that are encoded apart make the same image. */
static void test_encoded_rows(void **state) {
    enum { ROWS = 200 };
    CountedRow rows[ROWS];
    uint32_t encoded = 0;
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t var;
        Image *one = counted_image(&var), *other = counted_image(&var);
        for (uint32_t i = 0, fid = 0, pc = 0; i < ROWS; i++) {
            bool next = next_random() % 16 == 0;
            fid += next ? 1 + (uint32_t)(next_random() % 100) : 0;
            pc = (next ? 0 : pc) + (uint32_t)(next_random() % (i % 8 ? 5 : 1000));
            rows[i] = (CountedRow){(uint32_t)(next_random() % (round % 4 + 1)),
                                   fid,
                                   pc,
                                   {next_random() % 3, next_random() % 2, i},
                                   i && next_random() % 2};
            add_counted(one, var, &rows[i]);
        }
        for (uint32_t i = 0; i < ROWS;) {
            add_counted(other, var, &rows[i++]);
            uint32_t to = i + (uint32_t)(next_random() % (ROWS + 1 - i));
            uint32_t end = append_counted(other, var, rows, i, to);
            encoded += end - i;
            i = end;
        }
        ImageCounts counts = {.ncounters = ROWS, .nderived = ROWS, .word = word_of_row};
        image_set_counts(one, counts);
        image_set_counts(other, counts);
        Buf a = {0}, b = {0};
        assert_true(image_finish(one, &(ImageOptions){.format = IMAGE_CSV}, &a));
        assert_true(image_finish(other, &(ImageOptions){.format = IMAGE_CSV}, &b));
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        buf_free(&a);
        buf_free(&b);
        image_free(one);
        image_free(other);
    }
    assert_true(encoded > 10000);
    (void)state;
}

static void check_round_trip(ReportKind kind, const char *type, ImageFormat format) {
    enum { ROWS = 2000 };
    static Expected rows[ROWS];
    Image *img = image_new();
    for (uint32_t i = 0; i < 3; i++) {
        scalar(img, kind, i ? "x" : "y", type, "i32");
        image_probe(img, i ? STR("1_a:b:c:d") : STR("2_a:b:c:d"));
    }
    Buf values = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t big = next_random() % 50 == 0;
        rows[i] = (Expected){next_random() % 3, next_random() % 3,
                             (uint32_t)(big ? next_random() : next_random() % 4),
                             (uint32_t)(big ? next_random() : next_random() % 1000),
                             next_random() >> next_random() % 64};
        assert_int_equal(image_site_row(img, rows[i].var, rows[i].probe, rows[i].fid, rows[i].pc),
                         i);
        if (image_value_size(kind) == 8)
            buf_u64le(&values, rows[i].bits);
        else
            buf_u32le(&values, (uint32_t)rows[i].bits);
    }
    Buf text = render(img, format, &values);
    Report r = {0};
    ReportParts parts = {0};
    assert_true(one_report(&r, &parts, as_str(&text), 0));
    assert_int_equal(r.rows.len, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        const ReportRow *row = &r.rows.at[i];
        assert_true(row->has_place && row->fid == rows[i].fid && row->pc == rows[i].pc);
        assert_true(str_is(row->var->name, rows[i].var ? "x" : "y"));
        assert_true(str_is(row->probe, rows[i].probe ? "1_a:b:c:d" : "2_a:b:c:d"));
        if (kind == REPORT_U64)
            assert_true(row->class == REPORT_CLASS_UNSIGNED && row->number.u == rows[i].bits);
        else if (kind == REPORT_I32)
            assert_true(row->class == REPORT_CLASS_SIGNED &&
                        row->number.i == (int32_t)(uint32_t)rows[i].bits);
        else if (row->class == REPORT_CLASS_REAL && row->number.real == row->number.real)
            assert_memory_equal(&row->number.real, &rows[i].bits, 8);
    }
    one_report_free(&r, &parts);
    buf_free(&values);
    buf_free(&text);
    image_free(img);
}

static void test_round_trip(void **state) {
    (void)state;
    for (ImageFormat format = IMAGE_CSV; format <= IMAGE_JSON; format++) {
        check_round_trip(REPORT_U64, "u64", format);
        check_round_trip(REPORT_I32, "i32", format);
        check_round_trip(REPORT_F64, "f64", format);
    }
}

/* Changed bytes, but for the size of the values. */
static void test_damaged_image(void **state) {
    (void)state;
    Image *img = small_image();
    Buf image = {0}, values = small_values();
    assert_true(image_finish(img, &(ImageOptions){.dest = REPORT_STDOUT}, &image));
    for (uint32_t round = 0; round < 20000; round++) {
        Buf copy = {0}, text = {0};
        uint32_t len = (uint32_t)(round % 4 ? image.len : next_random() % image.len);
        buf_bytes(&copy, image.data, len);
        for (uint32_t i = 0; i < 1 + round % 3; i++) {
            uint32_t at = (uint32_t)(next_random() % (len + 1));
            if (at < len && at != 0 && (at < FORMAT_VALUES || at >= FORMAT_HEADER))
                copy.data[at] = (uint8_t)next_random();
        }
        image_render(copy.data, len, values.data, &text);
        buf_free(&copy);
        buf_free(&text);
    }
    buf_free(&image);
    buf_free(&values);
    image_free(img);
}

/* ---- numbers ---- */

static const char *float_text(uint64_t bits, bool is_f64, bool json) {
    static char text[64];
    static FormatOut out;
    out.used = 0;
    format_float(&out, bits, is_f64, json);
    memcpy(text, out.data, out.used);
    text[out.used] = '\0';
    return text;
}

static void test_floats(void **state) {
    (void)state;
    static const struct {
        uint64_t bits;
        const char *csv, *json;
    } f64[] = {
        {0x4004000000000000, "+2.5e0", "2.5e0"},
        {0xbff199999999999a, "-1.1e0", "-1.1e0"},
        {0, "+0e0", "0e0"},
        {0x8000000000000000, "-0e0", "-0e0"},
        {0x7ff0000000000000, "+inf", "\"+inf\""},
        {0xfff0000000000000, "-inf", "\"-inf\""},
        {0x7ff8000000000000, "NaN", "\"NaN\""},
        {0xfff8000000000001, "NaN", "\"NaN\""},
        {1, "+5e-324", "5e-324"},
        {0x000fffffffffffff, "+2.225073858507201e-308", "2.225073858507201e-308"},
        {0x0010000000000000, "+2.2250738585072014e-308", "2.2250738585072014e-308"},
        {0x7fefffffffffffff, "+1.7976931348623157e308", "1.7976931348623157e308"},
        {0x3fb999999999999a, "+1e-1", "1e-1"},
        {0x4059000000000000, "+1e2", "1e2"},
        {0x44b52d02c7e14af6, "+1e23", "1e23"},
        {0x4340000000000000, "+9.007199254740992e15", "9.007199254740992e15"},
    };
    for (uint32_t i = 0; i < sizeof f64 / sizeof *f64; i++) {
        assert_string_equal(float_text(f64[i].bits, true, false), f64[i].csv);
        assert_string_equal(float_text(f64[i].bits, true, true), f64[i].json);
    }
    assert_string_equal(float_text(0x3dcccccd, false, false), "+1e-1");
    assert_string_equal(float_text(0x7f7fffff, false, false), "+3.4028235e38");
    assert_string_equal(float_text(1, false, false), "+1e-45");
    assert_string_equal(float_text(0xff800000, false, false), "-inf");
}

static double float_value(uint64_t bits, bool is_f64) {
    double v;
    float f;
    uint32_t bits32 = (uint32_t)bits;
    memcpy(&v, &bits, 8);
    memcpy(&f, &bits32, 4);
    return is_f64 ? v : (double)f;
}

/* Reads back as the same number, and no shorter text of printf does. */
static void check_shortest(uint64_t bits, bool is_f64) {
    char text[64], trial[64];
    double v = float_value(bits, is_f64);
    if (v != v || v - v != 0)
        return;
    strcpy(text, float_text(bits, is_f64, false));
    size_t digits = strcspn(text, "e") - 1;
    digits -= digits > 1;
    assert_true(is_f64 ? strtod(text, NULL) == v : (double)strtof(text, NULL) == v);
    snprintf(trial, sizeof trial, "%+.*e", (int)digits - 1, v);
    double again = is_f64 ? strtod(trial, NULL) : (double)strtof(trial, NULL);
    if (again == v && strncmp(text, trial, strcspn(trial, "e")) != 0) {
        /* Both must be equally near: the exact digits go on with 5 and zeros. */
        static char exact[1300];
        snprintf(exact, sizeof exact, "%+.1100e", v);
        size_t at = digits == 1 ? 3 : digits + 2;
        assert_int_equal(exact[at], '5');
        assert_int_equal(strspn(exact + at + 1, "0"), strcspn(exact, "e") - at - 1);
    }
    if (digits > 1) {
        snprintf(trial, sizeof trial, "%+.*e", (int)digits - 2, v);
        assert_false(is_f64 ? strtod(trial, NULL) == v : (double)strtof(trial, NULL) == v);
    }
}

static void test_floats_shortest(void **state) {
    (void)state;
    for (uint64_t e = 0; e < 2047; e++)
        for (uint64_t low = 0; low < 3; low++)
            check_shortest((e << 52) + low - 1, true);
    for (uint64_t e = 0; e < 255; e++)
        for (uint64_t low = 0; low < 3; low++)
            check_shortest((uint32_t)((e << 23) + low - 1), false);
    for (uint32_t i = 0; i < 20000; i++) {
        double plain = (double)(next_random() % 100000000) / 1000;
        uint64_t bits;
        memcpy(&bits, &plain, 8);
        check_shortest(bits, true);
        check_shortest(next_random(), true);
        check_shortest(next_random() >> 32, false);
    }
}

static const char *decimal_text(uint64_t bits, bool is_f64, int precision, bool exponent) {
    static uint8_t text[FORMAT_DECIMAL + 1];
    text[format_decimal(text, bits, is_f64, precision, exponent)] = 0;
    return (const char *)text;
}

/* printf rounds as format_decimal does; it writes exponents as e+05. */
static void check_rounded(uint64_t bits, bool is_f64, int precision) {
    static char plain[400], text[400];
    double v = float_value(bits, is_f64);
    if (v != v || v - v != 0)
        return;
    snprintf(plain, sizeof plain, "%.*f", precision, v);
    assert_string_equal(decimal_text(bits, is_f64, precision, false), plain);
    snprintf(plain, sizeof plain, "%.*e", precision, v);
    size_t e = strcspn(plain, "e");
    snprintf(text, sizeof text, "%.*se%d", (int)e, plain, atoi(plain + e + 1));
    assert_string_equal(decimal_text(bits, is_f64, precision, true), text);
    snprintf(text, sizeof text, "%s", decimal_text(bits, is_f64, -1, precision & 1));
    assert_true(is_f64 ? strtod(text, NULL) == v : (double)strtof(text, NULL) == v);
}

static void test_floats_rounded(void **state) {
    (void)state;
    static const double ties[] = {0.5, 1.5,  2.5,  0.125,  9.5,    99.5,
                                  0.0, -0.0, 1e23, 5e-324, 0.99999};
    for (uint32_t i = 0; i < sizeof ties / sizeof *ties; i++)
        for (int precision = 0; precision <= FORMAT_MAX_PRECISION; precision++) {
            uint64_t bits;
            memcpy(&bits, &ties[i], 8);
            check_rounded(bits, true, precision);
        }
    for (uint32_t i = 0; i < 20000; i++) {
        double plain = (double)(next_random() % 100000000) / 1000;
        uint64_t bits;
        memcpy(&bits, &plain, 8);
        check_rounded(bits, true, (int)(i % 5));
        check_rounded(next_random(), true, (int)(i % (FORMAT_MAX_PRECISION + 1)));
        check_rounded(next_random() >> 32, false, (int)(i % (FORMAT_MAX_PRECISION + 1)));
    }
    assert_string_equal(decimal_text(0x4059000000000000, true, -1, false), "100");
    assert_string_equal(decimal_text(0xbff8000000000000, true, -1, false), "-1.5");
    assert_string_equal(decimal_text(0x3ee4f8b588e368f1, true, -1, false), "0.00001");
    assert_string_equal(decimal_text(0x3eb0c6f7a0b5ed8d, true, -1, false), "1e-6");
    assert_string_equal(decimal_text(0x4341c37937e08000, true, -1, false), "1e16");
    assert_string_equal(decimal_text(0x430c6bf526340000, true, -1, false), "1000000000000000");
    assert_string_equal(decimal_text(0xfff0000000000000, true, -1, false), "-inf");
    assert_string_equal(decimal_text(0x7ff8000000000000, true, 3, true), "nan");
}

/* ---- the reader ---- */

static const char two_reports[] =
    "program output\n" CSV_HEAD
    "4, memaddr, count, u32, i32, script0, main, 1, 2, 1_wasm:opcode:call:before, 5\n"
    "more output, 1, 2, 3_x:y, 4\n"
    "4, memaddr, count, u32, i32, script0, not a row, 1, 2, 1_wasm:opcode:call:before, 6\n" CSV_HEAD
    "4, memaddr, count, u32, i32, script0, g(a, 1, 2, b), 1, 2, 1_wasm:opcode:call:before, 7\n"
    "36, memaddr, count, u32, i32, script0, , 3, 4, 1_wasm:opcode:call:before, 8\n"
    "9, memaddr, s, i8, i32, script0, , , , 2_wasm:opcode:br_if:before, -8\n"
    "0, global_id, f, f32, f32, script0, , , , , -inf\n"
    "2, map_id, m, map<i32,i32>, i32, script0, , , , , 1->2;3->4\n"
    "(4; 5), (global_id; global_id), h, str, (i32; i32), script0, , , , , a, b\n"
    "1, global_id, b, bool, i32, script0, , , , , tr";

static void test_read_csv(void **state) {
    (void)state;
    Report r = {0};
    ReportParts parts = {0};
    assert_true(one_report(&r, &parts, STR(two_reports), 2)); /* 0 is the first: it is complete */
    assert_int_equal(parts.all.len, 1); /* as a row is damaged, they may have the same */
    assert_int_equal(parts.flushes, 2);
    assert_int_equal(r.rows.len, 6);
    assert_true(r.cut);
    const ReportRow *row = r.rows.at;
    assert_true(str_is(row[0].fname, "g(a, 1, 2, b)") && row[0].fid == 1 && row[0].pc == 2);
    assert_true(row[0].class == REPORT_CLASS_UNSIGNED && row[0].number.u == 7);
    assert_true(row[1].has_place && row[1].fname.ptr && row[1].fname.len == 0 && row[1].pc == 4);
    assert_true(!row[2].has_place && !row[2].fname.ptr && row[2].number.i == -8);
    assert_true(str_is(row[2].probe, "2_wasm:opcode:br_if:before") && !row[3].probe.ptr);
    assert_true(row[3].class == REPORT_CLASS_REAL && row[3].number.real < -1e300);
    assert_true(row[4].class == REPORT_CLASS_TEXT && str_is(row[4].value, "1->2;3->4"));
    assert_true(str_is(row[5].id, "(4; 5)") && str_is(row[5].value, "a, b"));
    one_report_free(&r, &parts);
    assert_true(parts_read(&parts, STR(two_reports), 1));
    const Report *first = &parts.all.at[0].report;
    assert_int_equal(first->rows.len, 1);
    assert_int_equal(first->rows.at[0].number.u, 5);
    assert_false(first->cut);
    one_report_free(&r, &parts);
    assert_false(one_report(&r, &parts, STR(two_reports), 3));
    one_report_free(&r, &parts);
    assert_false(one_report(&r, &parts, STR("nothing here\n"), 0));
    one_report_free(&r, &parts);
}

static void test_read_json(void **state) {
    (void)state;
    static const char text[] =
        "out\n{\"id\":4,\"id_type\":\"memaddr\",\"name\":\"n\",\"type\":\"u8\",\"wasm_type\":"
        "\"i32\","
        "\"script\":\"script0\",\"fname\":\"f\",\"fid\":1,\"pc\":2,\"probe\":\"1_a\",\"value\":5}\n"
        "{\"other\": \"object\"}\n{\"id\":4,\n"
        "{\"id\":4,\"id_type\":\"memaddr\",\"name\":\"n\",\"type\":\"u8\",\"wasm_type\":\"i32\","
        "\"script\":\"script0\",\"fname\":\"f\",\"fid\":1,\"pc\":2,\"probe\":\"1_a\",\"value\":6}\n"
        "{ \"id\" : 0, \"id_type\" : \"global_id\", \"name\" : "
        "\"\\u00e9\\ud83d\\ude00\\n\\ud800\", "
        "\"type\" : \"f64\", \"value\" : \"NaN\", \"fname\" : null }\r\n";
    Report r = {0};
    ReportParts parts = {0};
    assert_true(one_report(&r, &parts, STR(text), 0));
    assert_int_equal(parts.all.len, 2); /* as the second one has more rows */
    assert_int_equal(parts.flushes, 1);
    assert_int_equal(r.rows.len, 2);
    assert_int_equal(r.rows.at[0].number.u, 6);
    assert_true(r.rows.at[0].has_place && r.rows.at[0].pc == 2);
    assert_true(str_is(r.rows.at[1].var->name, "\xc3\xa9\xf0\x9f\x98\x80\n\xef\xbf\xbd"));
    assert_true(!r.rows.at[1].has_place && !r.rows.at[1].fname.ptr);
    assert_true(r.rows.at[1].class == REPORT_CLASS_REAL);
    one_report_free(&r, &parts);
}

/* Changed and cut texts must neither crash nor lose control of memory. */
static void test_read_damaged(void **state) {
    (void)state;
    Image *img = small_image();
    Buf values = small_values(), json = render(img, IMAGE_JSON, &values), text = {0};
    buf_bytes(&text, two_reports, sizeof two_reports - 1);
    buf_bytes(&text, json.data, json.len);
    static const char marks[] = "\",:{}\\u\n= 0123_";
    for (uint32_t round = 0; round < 5000; round++) {
        Buf copy = {0}, out = {0};
        Report r = {0};
        ReportParts parts = {0};
        buf_bytes(&copy, text.data, text.len - next_random() % (text.len / 2));
        for (uint32_t i = 0; i < 1 + round % 8; i++) {
            uint64_t v = next_random();
            copy.data[v % copy.len] =
                v >> 60 ? (uint8_t)marks[(v >> 40) % (sizeof marks - 1)] : (uint8_t)(v >> 32);
        }
        one_report(&r, &parts, as_str(&copy), 0);
        table_print(&r, &(TableOptions){.top = 3, .width = 40 + round % 80}, &out);
        one_report_free(&r, &parts);
        buf_free(&out);
        buf_free(&copy);
    }
    buf_free(&values);
    buf_free(&json);
    buf_free(&text);
    image_free(img);
}

/* ---- images through the library ---- */

/* Reads an image with these values; the JSON of it, or NULL if it is refused. */
static char *read_image(const Image *img, ImageFormat format, const Buf *values, size_t less) {
    Buf image = {0};
    ImageOptions options = {.format = format, .dest = REPORT_STDOUT};
    assert_true(image_finish(img, &options, &image));
    WhammcReport *r = whammc_report_new();
    uint8_t *out = NULL;
    size_t size;
    if (whammc_report_read_image(r, "image", image.data, image.len, values->data,
                                 values->len - less) == WHAMMC_OK)
        assert_int_equal(whammc_report_write(r, WHAMMC_REPORT_JSON, NULL, &out, &size), WHAMMC_OK);
    else
        assert_int_equal(whammc_report_error_count(r), 1);
    whammc_report_free(r);
    buf_free(&image);
    return (char *)out;
}

static void test_read_image(void **state) {
    (void)state;
    Image *img = small_image(), *cells = cells_image(true);
    Buf values = small_values(), words = {0};
    char *first = NULL;
    for (ImageFormat f = IMAGE_CSV; f <= IMAGE_CSV_RFC4180; f++) {
        char *json = read_image(img, f, &values, 0);
        assert_non_null(strstr(json,
                               "\"name\":\"sum\",\"type\":\"f64\",\"wasm_type\":\"f64\","
                               "\"script\":\"script0\",\"fname\":null,\"fid\":null,\"pc\":"
                               "null,\"probe\":\"2_wasm:opcode:br_if:before\",\"value\":2.5e0"));
        assert_true(!first || strcmp(first, json) == 0);
        free(first);
        first = json;
    }
    free(first);
    assert_null(read_image(img, IMAGE_JSON, &values, 1));
    for (uint32_t i = 0; i < 10; i++)
        buf_u64le(&words, i == 9 ? 300 : 1);
    char *json = read_image(cells, IMAGE_JSON, &words, 0);
    /* Its type is not a whole one here, so that the map stays text. */
    assert_non_null(strstr(json, "[{\\\"key\\\":[\\\"\\\",5],\\\"value\\\":[1,true]}"));
    free(json);
    image_free(img);
    image_free(cells);
    buf_free(&values);
    buf_free(&words);
}

/* What is in the memory of the runtime is not among the values. */
static void test_read_image_refuses(void **state) {
    (void)state;
    static const struct {
        ReportKind kind;
        const char *description;
        bool refused;
    } kinds[] = {{REPORT_STR, "", true},
                 {REPORT_MAP, "", true},
                 {REPORT_TUPLE, "\x0d\x02\x04\x0b", true},     /* (u32, str) */
                 {REPORT_TUPLE, "\x0d\x02\x04\x0a", false},    /* (u32, bool) */
                 {REPORT_TUPLE, "\x0d\x01\x0d\x01\x0b", true}, /* ((str)) */
                 {REPORT_F32, "", false}};
    for (int at_site = 0; at_site < 2; at_site++) {
        for (uint32_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            Image *img = image_new();
            Buf values = {0};
            uint32_t var = image_var(img, kinds[k].kind, str_of(kinds[k].description), STR("v"),
                                     STR("u32"), STR("i32"), STR("script0"));
            if (at_site)
                image_site_row(img, var, image_probe(img, STR("1_a:b:c:d")), 0, 1);
            else
                image_script_row(img, var);
            for (uint64_t i = 0; i < image_values_size(img); i++)
                buf_u8(&values, 0);
            char *json = read_image(img, IMAGE_JSON, &values, 0);
            assert_true((json == NULL) == kinds[k].refused);
            free(json);
            buf_free(&values);
            image_free(img);
        }
    }
}

/* Many rows that share a long text: an image from which more would come than there is memory. */
static void test_read_image_of_much(void **state) {
    (void)state;
    enum { ROWS = 4000, LONG = 1000000 };
    char *rule = mem_zalloc(LONG + 1);
    memset(rule, 'x', LONG);
    Image *img = image_new();
    Buf values = {0};
    uint32_t var = scalar(img, REPORT_U8, "n", "u8", "i32");
    uint32_t probe = image_probe(img, str_of(rule));
    for (uint32_t i = 0; i < ROWS; i++) {
        image_site_row(img, var, probe, i, 1);
        buf_u32le(&values, i);
    }
    while (values.len < image_values_size(img))
        buf_u8(&values, 0);
    assert_null(read_image(img, IMAGE_CSV, &values, 0));
    buf_free(&values);
    image_free(img);
    free(rule);
}

/* Images with any bytes. */
static void test_read_damaged_image(void **state) {
    (void)state;
    Image *imgs[] = {small_image(), cells_image(true)};
    for (int k = 0; k < 2; k++) {
        Buf image = {0};
        assert_true(image_finish(imgs[k], &(ImageOptions){.dest = REPORT_STDOUT}, &image));
        size_t have = image_values_size(imgs[k]), read = 0;
        for (size_t at = 0; at < image.len; at++) {
            uint8_t *copy = mem_alloc(image.len), *values = mem_zalloc(have);
            WhammcReport *r = whammc_report_new();
            memcpy(copy, image.data, image.len);
            copy[at] ^= (uint8_t)(1u << next_random() % 8);
            read += whammc_report_read_image(r, "i", copy, image.len, values, have) == WHAMMC_OK;
            whammc_report_read_image(r, "i", image.data, at, values, have);
            whammc_report_free(r);
            free(copy);
            free(values);
        }
        assert_true(read > 0 && read < image.len);
        buf_free(&image);
        image_free(imgs[k]);
    }
}

/* ---- tables ---- */

static const char table_report[] =
    CSV_HEAD "4, memaddr, count, u64, i64, script0, main, 1, 2, 1_wasm:opcode:call:before, 250\n"
             "5, memaddr, count, u64, i64, script0, std::vector<int, "
             "std::allocator<int>>::push_back(int), 2, 33, 1_wasm:opcode:call:before, 1234567\n"
             "6, memaddr, count, u64, i64, script0, #3, 3, 4, 1_wasm:opcode:call:before, 0\n"
             "7, memaddr, hit, bool, i32, script0, main, 1, 2, 1_a:b:c:d, false\n"
             "8, memaddr, hit, bool, i32, script0, bell\x07\xff, 1, 3, 2_a:b:c:d, true\n"
             "0, global_id, total, i64, i64, script0, , , , , -1234567\n"
             "9, memaddr, s, f64, f64, script0, , , , 2_a:b:c:d, +2.5e-1\n";

static void check_table(TableOptions options, const char *expected) {
    Report r = {0};
    ReportParts parts = {0};
    Buf out = {0};
    assert_true(one_report(&r, &parts, STR(table_report), 0));
    table_print(&r, &options, &out);
    assert_text(&out, expected);
    buf_free(&out);
    one_report_free(&r, &parts);
}

static void test_table(void **state) {
    (void)state;
    check_table((TableOptions){.width = 80},
                "Variables\n"
                "  total  i64  -1,234,567\n"
                "  s      f64        0.25  2_a:b:c:d\n"
                "\n"
                "count: u64 at 1_wasm:opcode:call:before, 3 sites, total 1,234,817\n"
                "      value   share                function                                   pc\n"
                "  1,234,567  100.0%  ████████████  std::vector<int, std…nt>>::push_back(int)  33\n"
                "        250    0.0%                main                                        2\n"
                "          0    0.0%                #3                                          4\n"
                "\n"
                "hit: bool, 2 sites, true at 1\n"
                "  value  function  pc  probe\n"
                "   true  bell??     3  2_a:b:c:d\n"
                "  false  main       2  1_a:b:c:d\n");
}

static void test_table_narrow(void **state) {
    (void)state;
    check_table((TableOptions){.width = 40, .top = 1, .ascii = true},
                "Variables\n"
                "  total  i64  -1,234,567\n"
                "  s      f64        0.25  2_a:b:c:d\n"
                "\n"
                "count: u64 at 1_wasm:opcode:call:before, 3 sites, total 1,234,817\n"
                "      value   share  function         pc\n"
                "  1,234,567  100.0%  std::v...k(int)  33\n"
                "  and 2 more sites, 1 of them with 0\n"
                "\n"
                "hit: bool, 2 sites, true at 1\n"
                "  value  function  pc  probe\n"
                "   true  bell??     3  2_a:b:c:d\n"
                "  and 1 more site\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_value_area),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_damaged_cells),
        cmocka_unit_test(test_empty_image),
        cmocka_unit_test(test_finish_refuses),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_encoded_rows),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged_image),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_floats_shortest),
        cmocka_unit_test(test_floats_rounded),
        cmocka_unit_test(test_read_csv),
        cmocka_unit_test(test_read_json),
        cmocka_unit_test(test_read_damaged),
        cmocka_unit_test(test_read_image),
        cmocka_unit_test(test_read_image_refuses),
        cmocka_unit_test(test_read_image_of_much),
        cmocka_unit_test(test_read_damaged_image),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
