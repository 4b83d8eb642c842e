/*
 * testing/test_show.c - shows the outcomes of tests: for people, as TAP, as JUnit's XML.
 */
#include "base/escape.h"
#include "testing/testing.h"

#include <stdio.h>

static uint32_t count_outcomes(const Outcomes *all, const char *file, Verdict verdict) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->len; i++)
        n += all->at[i].verdict == verdict && (!file || strcmp(all->at[i].file, file) == 0);
    return n;
}

/* Appends a text whose lines begin so. */
static void put_detail(Buf *out, const char *indent, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        buf_printf(out, "%s%.*s\n", indent, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* Returns "FILE: NAME". */
static void test_put_title(Buf *out, const Outcome *o) {
    message_clean(out, str_of(o->file));
    if (*o->name) {
        buf_str(out, STR(": "));
        message_clean(out, str_of(o->name));
    }
}

/* ---- for people ---- */

static void test_show_text(Buf *out, const Outcome *o, bool verbose) {
    static const char *const verdicts[] = {"passed", "FAILED", "skipped"};
    if (!verbose && o->verdict != FAILED)
        return;
    buf_printf(out, "%s ", verdicts[o->verdict]);
    test_put_title(out, o);
    if (verbose)
        buf_printf(out, " (%.2f s)", o->seconds);
    buf_u8(out, '\n');
    put_detail(out, "  ", o->detail);
}

/* Appends the reasons for which tests were skipped, each with their number. */
static void put_reasons(Buf *out, const Outcomes *all) {
    Map reasons = {0};
    for (uint32_t i = 0; i < all->len; i++)
        if (all->at[i].verdict == SKIPPED)
            ++*map_put(&reasons, str_of(all->at[i].detail), 0, NULL);
    for (uint32_t i = 0; i < reasons.len; i++)
        buf_printf(out, "skipped %llu: %.*s\n", (unsigned long long)reasons.entries[i].value,
                   STR_ARG(reasons.entries[i].key));
    map_free(&reasons);
}

/* ---- TAP ---- */

static void test_show_tap(Buf *out, const Outcome *o, uint32_t number) {
    Buf title = {0};
    test_put_title(&title, o);
    buf_printf(out, "%sok %u - ", o->verdict == FAILED ? "not " : "", number);
    for (size_t i = 0; i < title.len; i++) {
        if (title.data[i] == '#') /* would begin a directive */
            buf_u8(out, '\\');
        buf_u8(out, title.data[i]);
    }
    if (o->verdict == SKIPPED)
        buf_printf(out, " # SKIP %s", o->detail);
    buf_u8(out, '\n');
    if (o->verdict == FAILED)
        put_detail(out, "# ", o->detail);
    buf_free(&title);
}

/* ---- JUnit ---- */

static void put_attribute(Buf *out, const char *name, const char *value) {
    buf_printf(out, " %s=\"", name);
    escape_xml(out, str_of(value));
    buf_u8(out, '"');
}

static void put_xml_lines(Buf *out, const char *text) {
    while (*text) {
        uint32_t n = (uint32_t)strcspn(text, "\n");
        escape_xml(out, (Str){text, n});
        buf_u8(out, '\n');
        text += n + (text[n] == '\n');
    }
}

static void put_junit_case(Buf *out, const Outcome *o) {
    buf_str(out, STR("    <testcase"));
    put_attribute(out, "classname", o->file);
    put_attribute(out, "name", *o->name ? o->name : file_base(o->file));
    buf_printf(out, " time=\"%.3f\"", o->seconds);
    if (o->verdict == PASSED) {
        buf_str(out, STR("/>\n"));
        return;
    }
    Buf first = {0};
    buf_bytes(&first, o->detail, strcspn(o->detail, "\n"));
    buf_printf(out, ">\n      <%s", o->verdict == FAILED ? "failure" : "skipped");
    put_attribute(out, "message", buf_cstr(&first));
    if (o->verdict == FAILED) {
        buf_str(out, STR(">\n"));
        put_xml_lines(out, o->detail);
        buf_str(out, STR("</failure>\n    </testcase>\n"));
    } else {
        buf_str(out, STR("/>\n    </testcase>\n"));
    }
    buf_free(&first);
}

static void test_put_counts(Buf *out, const Outcomes *all, const char *file) {
    uint32_t failed = count_outcomes(all, file, FAILED),
             skipped = count_outcomes(all, file, SKIPPED);
    buf_printf(out, " tests=\"%u\" failures=\"%u\" skipped=\"%u\"",
               failed + skipped + count_outcomes(all, file, PASSED), failed, skipped);
}

static void test_show_junit(Buf *out, const Outcomes *all, double seconds, const Buf *counted) {
    buf_str(out,
            STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"whammc test\""));
    test_put_counts(out, all, NULL);
    buf_printf(out, " time=\"%.3f\">\n", seconds);
    for (uint32_t i = 0; i < all->len;) {
        const char *file = all->at[i].file;
        buf_str(out, STR("  <testsuite"));
        put_attribute(out, "name", file);
        test_put_counts(out, all, file);
        buf_str(out, STR(">\n"));
        for (; i < all->len && strcmp(all->at[i].file, file) == 0; i++)
            put_junit_case(out, &all->at[i]);
        buf_str(out, STR("  </testsuite>\n"));
    }
    if (counted) {
        Buf text = {0};
        cover_show(counted, "", &text);
        buf_str(out,
                STR("  <testsuite name=\"coverage of scripts\" tests=\"0\">\n    <system-out>\n"));
        put_xml_lines(out, buf_cstr(&text));
        buf_str(out, STR("</system-out>\n  </testsuite>\n"));
        buf_free(&text);
    }
    buf_str(out, STR("</testsuites>\n"));
}

/* ---- all ---- */

void test_show(TestFormat format, const Outcomes *all, uint32_t from, bool verbose) {
    Buf out = {0};
    for (uint32_t i = from; i < all->len; i++)
        if (format == TEST_TAP)
            test_show_tap(&out, &all->at[i], i + 1);
        else if (format == TEST_TEXT)
            test_show_text(&out, &all->at[i], verbose);
    message_stdout(&out);
    buf_free(&out);
}

bool test_show_end(TestFormat format, const Outcomes *all, double seconds, const Buf *counted) {
    uint32_t failed = count_outcomes(all, NULL, FAILED),
             skipped = count_outcomes(all, NULL, SKIPPED);
    Buf out = {0};
    switch (format) {
    case TEST_TAP:
        if (counted)
            cover_show(counted, "# ", &out);
        buf_printf(&out, "1..%u\n", all->len);
        break;
    case TEST_JUNIT: test_show_junit(&out, all, seconds, counted); break;
    case TEST_TEXT:
        if (counted)
            cover_show(counted, "", &out);
        put_reasons(&out, all);
        buf_printf(&out, "%u passed, %u failed", count_outcomes(all, NULL, PASSED), failed);
        if (skipped)
            buf_printf(&out, ", %u skipped", skipped);
        buf_printf(&out, ", in %.1f s\n", seconds);
        break;
    }
    message_stdout(&out);
    buf_free(&out);
    return !failed;
}
