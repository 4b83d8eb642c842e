/*
 * tests/unit/test_locations.c - corners of DWARF, source maps and URLs that compilers do not write
 * on demand, and input that would take forever if something were read again and again.
 * tests/checks/locations has what compilers write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dwarf/dwarf_parts.h"
#include "locations/source_map.h"
#include "locations/url.h"

/* ---- making DWARF ---- */

/* Sections in the making, of version 4 unless `version` says otherwise. */
typedef struct Maker {
    Buf info, abbrev, line, ranges;
    uint8_t version;
    bool wide;       /* the 64-bit format */
    size_t unit;     /* where the current unit or line program begins */
    size_t function; /* in the unit: the last function that was put */
} Maker;

enum { UNIT = 1, FUNCTION, CALL, DECLARATION, RANGED_CALL };

static void put_abbrev(Buf *b, uint8_t code, uint8_t tag, bool children, const uint8_t *specs) {
    buf_u8(b, code);
    buf_u8(b, tag);
    buf_u8(b, children);
    for (; *specs; specs += 2)
        buf_bytes(b, specs, 2);
    buf_u8(b, 0);
    buf_u8(b, 0);
}

static void put_abbrevs(Buf *b) {
    put_abbrev(b, UNIT, DW_TAG_COMPILE_UNIT, true,
               (uint8_t[]){DW_AT_COMP_DIR, 0x08, DW_AT_STMT_LIST, 0x17, DW_AT_LOW_PC, 0x01,
                           DW_AT_HIGH_PC, 0x06, 0});
    put_abbrev(b, FUNCTION, DW_TAG_SUBPROGRAM, true,
               (uint8_t[]){DW_AT_NAME, 0x08, DW_AT_LOW_PC, 0x01, DW_AT_HIGH_PC, 0x06, 0});
    put_abbrev(b, CALL, DW_TAG_INLINED_SUBROUTINE, true,
               (uint8_t[]){DW_AT_ABSTRACT_ORIGIN, 0x13, DW_AT_LOW_PC, 0x01, DW_AT_HIGH_PC, 0x06,
                           DW_AT_CALL_FILE, 0x0b, DW_AT_CALL_LINE, 0x0b, 0});
    put_abbrev(b, DECLARATION, DW_TAG_SUBPROGRAM, false, (uint8_t[]){DW_AT_NAME, 0x08, 0});
    put_abbrev(b, RANGED_CALL, DW_TAG_INLINED_SUBROUTINE, true,
               (uint8_t[]){DW_AT_ABSTRACT_ORIGIN, 0x13, DW_AT_RANGES, 0x17, 0});
    buf_u8(b, 0);
}

static void put_offset(const Maker *m, Buf *b, uint64_t offset) {
    if (m->wide)
        buf_u64le(b, offset);
    else
        buf_u32le(b, (uint32_t)offset);
}

static void begin(Maker *m, Buf *b) {
    m->unit = b->len;
    if (m->wide)
        buf_u32le(b, UINT32_MAX);
    put_offset(m, b, 0);
}

/* The length, now that it is known. */
static void end(const Maker *m, Buf *b) {
    size_t head = m->wide ? 12 : 4;
    uint32_t length = (uint32_t)(b->len - m->unit - head);
    memcpy(b->data + m->unit + head - (m->wide ? 8 : 4), &length, 4);
}

static void put_text(Buf *b, const char *s) {
    buf_bytes(b, s, strlen(s) + 1);
}

static void begin_unit(Maker *m, const char *directory, size_t lines, uint32_t low, uint32_t size) {
    if (!m->abbrev.len)
        put_abbrevs(&m->abbrev);
    begin(m, &m->info);
    buf_u8(&m->info, m->version);
    buf_u8(&m->info, 0);
    if (m->version == 5) {
        buf_u8(&m->info, 1);
        buf_u8(&m->info, 4);
    }
    put_offset(m, &m->info, 0);
    if (m->version < 5)
        buf_u8(&m->info, 4);
    buf_u8(&m->info, UNIT);
    put_text(&m->info, directory);
    put_offset(m, &m->info, lines);
    buf_u32le(&m->info, low);
    buf_u32le(&m->info, size);
}

static void put_function(Maker *m, const char *name, uint32_t start, uint32_t size) {
    m->function = m->info.len - m->unit;
    buf_u8(&m->info, FUNCTION);
    put_text(&m->info, name);
    buf_u32le(&m->info, start);
    buf_u32le(&m->info, size);
}

static uint32_t put_declaration(Maker *m, const char *name) {
    uint32_t at = (uint32_t)(m->info.len - m->unit);
    buf_u8(&m->info, DECLARATION);
    put_text(&m->info, name);
    return at;
}

static void put_call(Maker *m, uint32_t origin, uint32_t start, uint32_t size, uint8_t line) {
    buf_u8(&m->info, CALL);
    buf_u32le(&m->info, origin);
    buf_u32le(&m->info, start);
    buf_u32le(&m->info, size);
    buf_u8(&m->info, 1);
    buf_u8(&m->info, line);
}

static void put_nulls(Maker *m, uint32_t n) {
    while (n--)
        buf_u8(&m->info, 0);
}

/* Begins a line program with one directory and the files "one.c" and, in the directory, "two.c". */
static size_t begin_lines(Maker *m, const char *directory) {
    static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    Buf *b = &m->line;
    begin(m, b);
    size_t start = m->unit;
    buf_u8(b, m->version);
    buf_u8(b, 0);
    if (m->version == 5)
        buf_bytes(b, "\4", 2);
    size_t length = b->len;
    put_offset(m, b, 0);
    size_t from = b->len;
    if (m->version >= 4)
        buf_u8(b, 1); /* operations of an instruction */
    buf_bytes(b, "\1\1\xfb\x0e\x0d", 5);
    buf_bytes(b, lengths, sizeof lengths);
    if (m->version == 5) {
        buf_bytes(b, "\1\1\x08\2", 4); /* directories: a path as string */
        put_text(b, "/comp");
        put_text(b, directory);
        buf_bytes(b, "\2\1\x08\2\x0b\2", 6); /* files: that and the directory in a byte */
        put_text(b, "one.c");
        buf_u8(b, 0);
        put_text(b, "two.c");
        buf_u8(b, 1);
    } else {
        put_text(b, directory);
        buf_u8(b, 0);
        put_text(b, "one.c");
        buf_bytes(b, "\0\0", 3);
        put_text(b, "two.c");
        buf_bytes(b, "\1\0", 3);
        buf_u8(b, 0);
    }
    uint32_t size = (uint32_t)(b->len - from);
    memcpy(b->data + length, &size, 4);
    return start;
}

static void set_address(Buf *b, uint32_t address) {
    buf_bytes(b, "\0\5\2", 3);
    buf_u32le(b, address);
}

/* A row: `advance` bytes and lines further. */
static void put_row(Buf *b, uint8_t advance, int8_t lines) {
    buf_bytes(b, "\2", 1);
    buf_uleb(b, advance);
    buf_u8(b, 3);
    buf_sleb(b, lines);
    buf_u8(b, 1);
}

static void end_sequence(Buf *b, uint8_t advance) {
    buf_u8(b, 2);
    buf_uleb(b, advance);
    buf_bytes(b, "\0\1\1", 3);
}

static Str str_of_buf(const Buf *b) {
    return (Str){(const char *)b->data, (uint32_t)b->len};
}

static Dwarf *open_made(const Maker *m, const DwarfBody *bodies, uint32_t n) {
    DwarfSections s = {.info = str_of_buf(&m->info),
                       .abbrev = str_of_buf(&m->abbrev),
                       .line = str_of_buf(&m->line),
                       .ranges = str_of_buf(&m->ranges)};
    return dwarf_open(&s, bodies, n);
}

static void free_made(Maker *m, Dwarf *d) {
    dwarf_free(d);
    buf_free(&m->info);
    buf_free(&m->abbrev);
    buf_free(&m->line);
    buf_free(&m->ranges);
}

/* What is known of an address: "FUNCTION PATH:LINE, ...". */
static const char *ask(Dwarf *d, uint32_t address) {
    static Buf b;
    const DwarfFrame *f;
    b.len = 0;
    for (uint32_t i = 0, n = dwarf_at(d, address, &f); i < n; i++)
        buf_printf(&b, "%s%.*s %.*s:%u", i ? ", " : "", STR_ARG(f[i].name), STR_ARG(f[i].path),
                   f[i].line);
    return buf_cstr(&b);
}

/* ---- lines ---- */

static const DwarfBody two_bodies[] = {{2, 10}, {12, 30}};

static void check_files(uint8_t version, bool wide) {
    Maker m = {.version = version, .wide = wide};
    size_t lines = begin_lines(&m, "sub");
    set_address(&m.line, 2);
    put_row(&m.line, 0, 4); /* one.c: file 1 of version 4 is file 0 of version 5 */
    buf_bytes(&m.line, version == 5 ? "\4\1" : "\4\2", 2);
    put_row(&m.line, 3, 1);
    put_row(&m.line, 0, 1); /* the last row of an address counts */
    end_sequence(&m.line, 5);
    end(&m, &m.line);
    begin_unit(&m, "/comp", lines, 2, 8);
    put_function(&m, "f", 2, 8);
    put_nulls(&m, 2);
    end(&m, &m.info);
    Dwarf *d = open_made(&m, two_bodies, 2);
    assert_string_equal(ask(d, 2), version == 5 ? "f /comp/sub/two.c:5" : "f /comp/one.c:5");
    assert_string_equal(ask(d, 5), "f /comp/sub/two.c:7");
    assert_string_equal(ask(d, 9), "f /comp/sub/two.c:7");
    assert_string_equal(ask(d, 10), "");
    assert_string_equal(ask(d, 12), "");
    assert_string_equal(ask(d, 1), "");
    assert_null(dwarf_problem(d)->section);
    assert_false(dwarf_is_stale(d));
    free_made(&m, d);
}

/* Files count from 1 or 0, offsets have 4 or 8 bytes. In version 5 file 1, where programs begin, is
 * the second. */
static void files_are_counted(void **state) {
    (void)state;
    for (uint8_t version = 3; version <= 5; version++) {
        check_files(version, false);
        check_files(version, true);
    }
}

/* Sequences of removed code do not count, of those that overlap the first unit's. */
static void sequences_are_chosen(void **state) {
    (void)state;
    static const uint32_t removed[] = {UINT32_MAX, UINT32_MAX - 1, 0};
    Maker m = {.version = 4};
    size_t lines[2];
    for (int unit = 0; unit < 2; unit++) {
        lines[unit] = begin_lines(&m, unit ? "/second" : "/first");
        for (int k = 0; k < 3; k++) {
            set_address(&m.line, removed[k]);
            put_row(&m.line, 2, 99);
            end_sequence(&m.line, 8);
        }
        buf_bytes(&m.line, "\4\2", 2); /* of the sequence that was to begin: no effect */
        set_address(&m.line, 12);
        put_row(&m.line, 0, (int8_t)(unit + 1));
        end_sequence(&m.line, 18);
        end(&m, &m.line);
    }
    for (int unit = 0; unit < 2; unit++) {
        begin_unit(&m, "/comp", lines[unit], 12, 18);
        put_function(&m, unit ? "second" : "first", 12, 18);
        put_function(&m, "removed", UINT32_MAX, 8);
        put_nulls(&m, 3);
        end(&m, &m.info);
    }
    Dwarf *d = open_made(&m, two_bodies, 2);
    assert_string_equal(ask(d, 12), "first /first/two.c:2");
    assert_string_equal(ask(d, 29), "first /first/two.c:2");
    assert_string_equal(ask(d, 3), "");
    assert_false(dwarf_is_stale(d));
    free_made(&m, d);
}

/* ---- functions ---- */

static void calls_are_inside(void **state) {
    (void)state;
    Maker m = {.version = 4};
    size_t lines = begin_lines(&m, "sub");
    set_address(&m.line, 12);
    put_row(&m.line, 0, 0);
    end_sequence(&m.line, 18);
    end(&m, &m.line);
    begin_unit(&m, "/comp", lines, 2, 28);
    uint32_t a = put_declaration(&m, "a"), b = put_declaration(&m, "b");
    put_function(&m, "moved", 3, 7); /* no body */
    put_nulls(&m, 1);
    put_function(&m, "f", 12, 18);
    put_call(&m, a, 14, 6, 50);
    put_call(&m, b, 16, 2, 51);
    put_nulls(&m, 1);
    put_call(&m, b, 18, 6, 52); /* beyond the caller */
    put_nulls(&m, 2);
    put_call(&m, a, 24, (uint32_t)-24, 60); /* Binaryen has lost the end */
    put_call(&m, b, 26, 1, 61);
    put_nulls(&m, 4);
    end(&m, &m.info);
    Dwarf *d = open_made(&m, two_bodies, 2);
    assert_string_equal(ask(d, 2), "");
    assert_string_equal(ask(d, 13), "f /comp/one.c:1");
    assert_string_equal(ask(d, 14), "a /comp/one.c:1, f /comp/one.c:50");
    assert_string_equal(ask(d, 17), "b /comp/one.c:1, a /comp/one.c:51, f /comp/one.c:50");
    assert_string_equal(ask(d, 18), "a /comp/one.c:1, f /comp/one.c:50");
    assert_string_equal(ask(d, 20), "f /comp/one.c:1");
    assert_string_equal(ask(d, 25), "f /comp/one.c:1");
    assert_string_equal(ask(d, 26), "b /comp/one.c:1, a /comp/one.c:61, f /comp/one.c:60");
    assert_string_equal(ask(d, 16), "b /comp/one.c:1, a /comp/one.c:51, f /comp/one.c:50");
    free_made(&m, d);
}

static void stale_is_noticed(void **state) {
    (void)state;
    Maker m = {.version = 4};
    begin_unit(&m, "/comp", 0, 2, 28);
    put_function(&m, "right", 2, 8);
    put_nulls(&m, 1);
    put_function(&m, "moved", 13, 17);
    put_nulls(&m, 1);
    put_function(&m, "shorter", 12, 17);
    put_nulls(&m, 2);
    end(&m, &m.info);
    Dwarf *d = open_made(&m, two_bodies, 2);
    assert_true(dwarf_is_stale(d));
    free_made(&m, d);
}

/* ---- too much of something ---- */

/* Each of these would take minutes if what is shared were read anew each time. */

static void programs_are_shared(void **state) {
    (void)state;
    enum { UNITS = 20000, SEQUENCES = 20000 };
    Maker m = {.version = 4};
    size_t lines = begin_lines(&m, "sub");
    for (int i = 0; i < SEQUENCES; i++) {
        set_address(&m.line, 12);
        put_row(&m.line, 0, 0);
        end_sequence(&m.line, 18);
    }
    end(&m, &m.line);
    put_abbrevs(&m.abbrev);
    m.abbrev.len--;
    for (uint8_t i = 6; i < 128; i++)
        put_abbrev(&m.abbrev, i, DW_TAG_LEXICAL_BLOCK, false, (uint8_t[]){DW_AT_NAME, 0x08, 0});
    buf_u8(&m.abbrev, 0);
    for (int i = 0; i < UNITS; i++) {
        begin_unit(&m, "/comp", i & 1 ? lines : lines + (size_t)i % 64, 12, 18);
        put_function(&m, "f", 12, 18);
        put_nulls(&m, 2);
        end(&m, &m.info);
    }
    Dwarf *d = open_made(&m, two_bodies, 2);
    assert_string_equal(ask(d, 12), "f /comp/one.c:1");
    free_made(&m, d);
}

/* Many calls with one long list of ranges, nested deeply. */
static void ranges_are_limited(void **state) {
    (void)state;
    enum { CALLS = 20000, RANGES = 20000 };
    Maker m = {.version = 4};
    for (int i = 0; i < RANGES; i++) {
        buf_u32le(&m.ranges, 1);
        buf_u32le(&m.ranges, 5);
    }
    buf_u64le(&m.ranges, 0);
    begin_unit(&m, "/comp", UINT32_MAX, 12, 18);
    uint32_t a = put_declaration(&m, "a");
    put_function(&m, "f", 12, 18);
    for (int i = 0; i < CALLS; i++) {
        buf_u8(&m.info, RANGED_CALL);
        buf_u32le(&m.info, a);
        buf_u32le(&m.info, 0);
    }
    put_nulls(&m, CALLS + 2);
    end(&m, &m.info);
    Dwarf *d = open_made(&m, two_bodies, 2);
    const DwarfFrame *frames;
    for (uint32_t address = 12; address < 30; address++) {
        uint32_t n = dwarf_at(d, address, &frames);
        assert_true(n >= 1 && n <= 257);
    }
    free_made(&m, d);
}

static void nesting_is_limited(void **state) {
    (void)state;
    enum { CALLS = 50000 };
    Maker m = {.version = 4};
    begin_unit(&m, "/comp", UINT32_MAX, 12, 18);
    uint32_t a = put_declaration(&m, "a");
    put_function(&m, "f", 12, 18);
    for (int i = 0; i < CALLS; i++)
        put_call(&m, a, 14, 4, 1);
    put_nulls(&m, CALLS + 2);
    end(&m, &m.info);
    Dwarf *d = open_made(&m, two_bodies, 2);
    const DwarfFrame *frames;
    assert_int_equal(dwarf_at(d, 14, &frames), 257);
    assert_string_equal(ask(d, 13), "f :0");
    free_made(&m, d);
}

/* ---- intervals ---- */

static uint32_t seed = 1;
static uint32_t random_below(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void later_spans_win(void **state) {
    (void)state;
    enum { SIZE = 60 };
    for (int round = 0; round < 2000; round++) {
        uint32_t expected[SIZE], hint = 0;
        DwarfSpans spans = {0};
        for (int i = 0; i < SIZE; i++)
            expected[i] = NONE;
        for (uint32_t i = 0, n = random_below(12); i < n; i++) {
            uint32_t start = random_below(SIZE), length = 1 + random_below(SIZE - start);
            vec_push(&spans, ((DwarfSpan){start, start + length, i}));
            for (uint32_t k = 0; k < length; k++)
                expected[start + k] = i;
        }
        dwarf_settle(&spans);
        for (uint32_t i = 0; i < SIZE; i++) {
            const DwarfSpan *s = dwarf_span_at(&spans, (i * 7) % SIZE, &hint);
            assert_int_equal(s ? s->value : NONE, expected[(i * 7) % SIZE]);
        }
        vec_free(&spans);
    }
}

/* ---- source maps ---- */

static SourceMap *read_map(const char *mappings, const char **error) {
    static Buf b;
    b.len = 0;
    buf_printf(&b, "{\"version\":3,\"sources\":[\"a\",null,\"../b\"],\"mappings\":\"%s\"}",
               mappings);
    return source_map_read(str_of_buf(&b), STR("/x/y/z.map"), error);
}

static void check_map(const char *mappings, uint32_t column, uint32_t line, const char *path,
                      bool problem) {
    const char *error;
    SourceMap *map = read_map(mappings, &error);
    assert_non_null(map);
    const SourceMapping *m = source_map_at(map, 0, column);
    assert_int_equal(m ? m->line : 0, line);
    if (m)
        assert_true(str_is(source_map_path(map, m->source), path));
    assert_int_equal(source_map_problem(map) != NULL, problem);
    source_map_free(map);
}

static void mappings_are_read(void **state) {
    (void)state;
    check_map("EAAA", 1, 0, "", false); /* before the first */
    check_map("EAAA", 2, 1, "/x/y/a", false);
    check_map("EAAA,AEEA", 3, 1, "/x/y/a", false); /* of equal columns the first */
    check_map("EAAA,GEEA", 5, 3, "/x/b", false);
    check_map("EAAA,GCEA", 5, 3, "", false);       /* a source that is null */
    check_map("IAAA,FAEA", 2, 3, "/x/y/a", false); /* columns that go back */
    check_map("EAAA,G", 5, 0, "", false);          /* unmapped */
    check_map("EAAA;GAEA", 9, 1, "/x/y/a", false); /* other lines say nothing */
    check_map("EAAAAC", 2, 0, "", true);           /* six numbers */
    check_map("EAAA,GA", 5, 1, "/x/y/a", true);    /* two numbers */
    check_map("EAAA,GHAA", 5, 1, "/x/y/a", true);  /* a source before the first */
    check_map("EAAA,DDDD", 5, 1, "/x/y/a", true);
    check_map("EAAA,ggggggggE", 5, 1, "/x/y/a", true); /* too large */
    check_map("EAAA,G!AA", 5, 1, "/x/y/a", true);
}

static void bad_maps_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "[]",
                                      "{",
                                      "{\"version\":3}",
                                      "{\"version\":2,\"sources\":[],\"mappings\":\"\"}",
                                      "{\"version\":3,\"sources\":{},\"mappings\":\"\"}",
                                      "{\"version\":3,\"sources\":[\"a\"",
                                      "{\"version\":3,\"sections\":[{\"offset\":1}]}",
                                      ")]}'"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *error = NULL;
        assert_null(source_map_read(str_of(bad[i]), STR("m"), &error));
        assert_non_null(error);
    }
}

/* ---- URLs ---- */

static void urls_are_resolved(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"a.map", "b.c", "b.c"},
        {"x/y/a.map", "./b.c", "x/y/b.c"},
        {"x/y/a.map", "../../../b.c", "../b.c"},
        {"../x/a.map", "../../b.c", "../../b.c"},
        {"/x/y/a.map", "../../../b.c", "/b.c"},
        {"/x/a.map", "/y//b.c", "/y/b.c"},
        {"x/a.map", "/y/../b.c", "/b.c"},
        {"http://h/x/a.map", "../../b.c", "http://h/b.c"},
        {"http://h/x/a.map", "/b.c", "http://h/b.c"},
        {"x/a.map", "http://h/p/../b.c", "http://h/b.c"},
        {"x/a.map", "webpack:///src/./b.c", "webpack:///src/b.c"},
        {"x/a.map", "~lib/b.ts", "x/~lib/b.ts"},
        {"x/a.map", "", "x/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf b = {0};
        url_resolve(str_of(cases[i][0]), str_of(cases[i][1]), &b);
        assert_string_equal(buf_cstr(&b), cases[i][2]);
        buf_free(&b);
    }
}

static void data_urls_are_decoded(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"data:application/json;base64,eyJ9", "{\"}"},
                                           {"data:;charset=utf-8;base64,aGk=", "hi"},
                                           {"data:text/plain,%7b%22a%22%7D%", "{\"a\"}%"},
                                           {"data:none", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf b = {0};
        assert_true(url_is_data(str_of(cases[i][0])));
        url_decode_data(str_of(cases[i][0]), &b);
        assert_string_equal(buf_cstr(&b), cases[i][1]);
        buf_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_counted),   cmocka_unit_test(sequences_are_chosen),
        cmocka_unit_test(calls_are_inside),    cmocka_unit_test(stale_is_noticed),
        cmocka_unit_test(programs_are_shared), cmocka_unit_test(ranges_are_limited),
        cmocka_unit_test(nesting_is_limited),  cmocka_unit_test(later_spans_win),
        cmocka_unit_test(mappings_are_read),   cmocka_unit_test(bad_maps_are_refused),
        cmocka_unit_test(urls_are_resolved),   cmocka_unit_test(data_urls_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
