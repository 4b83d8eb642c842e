/*
 * tests/unit/test_source.c - texts of source files, and pages of HTML with names made to break out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "annotate/html.h"
#include "annotate/source.h"

/* ---- files ---- */

static uint32_t reads; /* how often a file was opened */

static bool put(Buf *out, Str text) {
    buf_str(out, text);
    return true;
}

/* Files that are in memory. */
static bool read_fake(void *ctx, const char *path, size_t limit, Buf *out) {
    Str p = str_of(path);
    assert_null(ctx);
    reads++;
    if (str_is(p, "unix.c") || str_is(p, "/home/unix.c"))
        return put(out, STR("one\n\ntwo"));
    if (str_is(p, "app/dos.c"))
        return put(out, STR("one\r\ntwo\r\n"));
    if (str_is(p, "empty.c"))
        return true;
    if (str_is(p, "binary.c"))
        return put(out, (Str){"a\0b\n", 4});
    if (str_is(p, "half.c"))
        return put(out, STR("partly read")) && false;
    if (p.len > 4 && memcmp(p.ptr, "huge", 4) == 0) {
        buf_reserve(out, limit);
        memset(out->data, 'x', limit);
        out->len = limit;
        return true;
    }
    return false;
}

static void assert_line(const SourceText *t, uint32_t line, const char *text) {
    Str s = source_line(t, line);
    assert_non_null(s.ptr);
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.ptr, text, s.len);
}

static void lines(void **state) {
    (void)state;
    Sources s = {.read = read_fake, .folder = STR("app/")};
    const SourceText *t = source_text(&s, STR("unix.c"));
    assert_int_equal(t->lines.len, 3);
    assert_line(t, 1, "one");
    assert_line(t, 2, "");
    assert_line(t, 3, "two");
    assert_null(source_line(t, 0).ptr);
    assert_null(source_line(t, 4).ptr);
    assert_null(source_line(t, UINT32_MAX).ptr);
    t = source_text(&s, STR("dos.c")); /* beside the program */
    assert_int_equal(t->lines.len, 2);
    assert_line(t, 1, "one");
    assert_line(t, 2, "two");
    assert_int_equal(source_text(&s, STR("empty.c"))->lines.len, 0);
    sources_free(&s);
}

static void none(void **state) {
    (void)state;
    Sources s = {.read = read_fake, .folder = STR("app/")};
    static const Str without[] = {{"", 0},       {"binary.c", 8},    {"half.c", 6},
                                  {"gone.c", 6}, {"/app/dos.c", 10}, {"unix.c\0x", 8}};
    for (uint32_t i = 0; i < sizeof without / sizeof *without; i++) {
        assert_null(source_text(&s, without[i]));
        assert_null(source_line(source_text(&s, without[i]), 1).ptr);
    }
    sources_free(&s);
    Sources nothing = {0};
    assert_null(source_text(&nothing, STR("unix.c")));
    sources_free(&nothing);
}

static void once(void **state) {
    (void)state;
    Sources s = {.read = read_fake};
    reads = 0;
    for (int i = 0; i < 3; i++) {
        assert_non_null(source_text(&s, STR("unix.c")));
        assert_null(source_text(&s, STR("gone.c")));
    }
    assert_int_equal(reads, 2);
    sources_free(&s);
}

static void bounded(void **state) {
    (void)state;
    Sources s = {.read = read_fake};
    char name[] = "hugeAA";
    uint32_t got = 0;
    for (uint32_t i = 0; i < 40; i++) {
        name[4] = (char)('A' + i % 26), name[5] = (char)('A' + i / 26);
        got += source_text(&s, str_of(name)) != NULL;
    }
    assert_int_equal(got, SOURCES_SIZE_MAX / SOURCE_SIZE_MAX + 1);
    sources_free(&s);
}

/* ---- pages ---- */

static void assert_text(Buf *b, const char *wanted) {
    assert_string_equal(buf_cstr(b), wanted);
    buf_free(b);
}

static void markup(void **state) {
    (void)state;
    Buf b = {0};
    html_text(&b, STR("\tif (a<b && c>\"d\")\x1b[31m\t</script>"));
    assert_text(&b, "\tif (a&lt;b &amp;&amp; c&gt;&quot;d&quot;)?[31m\t&lt;/script&gt;");
    html_element(&b, "td class=n", STR("<b>"));
    assert_text(&b, "<td class=n>&lt;b&gt;</td>");
    html_begin(&b, STR("</title><script>"), STR(""));
    html_end(&b);
    assert_null(strstr(buf_cstr(&b), "<script"));
    assert_non_null(strstr(buf_cstr(&b), "<title>&lt;/title&gt;"));
    assert_null(strstr(buf_cstr(&b), "http"));
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),   cmocka_unit_test(none),   cmocka_unit_test(once),
        cmocka_unit_test(bounded), cmocka_unit_test(markup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
