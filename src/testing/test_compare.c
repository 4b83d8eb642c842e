/*
 * testing/test_compare.c - compares what a test has given with what it expects.
 */
#include "base/json.h"
#include "testing/condition.h"
#include "testing/testing.h"

#include <stdio.h>
#include <sys/wait.h>

enum { LINES_MAX = 60 }; /* of a difference, that are shown */

typedef struct Comparing {
    TestFile *file;
    const TestCase *test;
    TestResult *found;
    bool update;
    Buf *problems;
    Arena arena;
} Comparing;

/* ---- texts ---- */

typedef Vec(Str) Lines;

static Lines test_lines_of(Str text) {
    Lines lines = {0};
    for (uint32_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        uint32_t n = end ? (uint32_t)(end - text.ptr) - at : text.len - at;
        vec_push(&lines, ((Str){text.ptr + at, n}));
        at += n + 1;
    }
    return lines;
}

static void test_put_lines(Buf *out, const char *mark, const Lines *lines, uint32_t from,
                           uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        if (i - from == LINES_MAX) {
            buf_printf(out, "  %s ... %u more lines\n", mark, to - i);
            return;
        }
        buf_printf(out, "  %s ", mark);
        message_clean(out, lines->at[i]);
        buf_u8(out, '\n');
    }
}

/* Appends the lines that differ, between those that both texts begin and end with. */
static void put_difference(Buf *out, Str expected, Str found) {
    Lines a = test_lines_of(expected), b = test_lines_of(found);
    uint32_t same = 0, tail = 0, least = a.len < b.len ? a.len : b.len;
    while (same < least && str_eq(a.at[same], b.at[same]))
        same++;
    while (tail < least - same && str_eq(a.at[a.len - 1 - tail], b.at[b.len - 1 - tail]))
        tail++;
    if (same == a.len && same == b.len)
        buf_str(out, STR("  they differ in the line feed at the end\n"));
    else if (same)
        buf_printf(out, "  after %u equal line%s\n", same, same == 1 ? "" : "s");
    test_put_lines(out, "-", &a, same, a.len - tail);
    test_put_lines(out, "+", &b, same, b.len - tail);
    vec_free(&a);
    vec_free(&b);
}

/* Returns the place of a section for a problem, or that of the case. */
static void put_problem_place(Comparing *c, const Section *s) {
    test_put_place(c->problems, s ? s->file : c->file->path, s ? s->line : c->test->line);
}

/* Lets the file expect something else, or notes the problem. */
static bool mend(Comparing *c, const Section *s, SectionKind kind, const char *argument, Str text) {
    if (c->update)
        test_file_edit(c->file, c->test, s, kind, argument, text);
    return c->update;
}

/* Finds lines in a text, in their order. Returns the first that is not there, or no ptr. */
static Str missing_line(Str lines, Str text) {
    Lines wanted = test_lines_of(lines);
    Str missing = {0};
    const char *at = text.ptr;
    for (uint32_t i = 0; i < wanted.len && !missing.ptr; i++) {
        size_t left = (size_t)(text.ptr + text.len - at);
        Str line = wanted.at[i];
        const char *hit = line.len ? memmem(at ? at : "", left, line.ptr, line.len) : at;
        if (hit)
            at = hit + line.len;
        else
            missing = line;
    }
    vec_free(&wanted);
    return missing;
}

static void compare_text(Comparing *c, SectionKind kind, const char *name, Str found) {
    const Section *s = test_section(c->test, kind);
    const char *how = s ? s->argument : "";
    Str expected = s ? s->text : (Str){"", 0};
    if (strcmp(how, "any") == 0 || (!*how && str_eq(expected, found)))
        return;
    if (strcmp(how, "contains") == 0) {
        Str missing = missing_line(expected, found);
        if (!missing.ptr)
            return;
        put_problem_place(c, s);
        buf_printf(c->problems, "expected in %s: %.*s; found:\n", name, STR_ARG(missing));
        Lines lines = test_lines_of(found);
        test_put_lines(c->problems, "+", &lines, 0, lines.len);
        vec_free(&lines);
    } else if (*how) {
        put_problem_place(c, s);
        buf_printf(c->problems, "expected any, contains or nothing after --- %s\n", name);
    } else if (!mend(c, s, kind, "", found)) {
        put_problem_place(c, s);
        buf_printf(c->problems, "expected %s (-), found (+):\n", name);
        put_difference(c->problems, expected, found);
    }
}

/* ---- both streams, if scripts print into that of the program ---- */

static int by_text(const void *a, const void *b) {
    const Str *x = a, *y = b;
    int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void put_sorted(Buf *out, Str a, Str b) {
    Buf all = {0};
    buf_str(&all, a);
    buf_str(&all, b);
    Lines lines = test_lines_of(buf_view(&all));
    if (lines.len)
        qsort(lines.at, lines.len, sizeof *lines.at, by_text);
    for (uint32_t i = 0; i < lines.len; i++) {
        buf_str(out, lines.at[i]);
        buf_u8(out, '\n');
    }
    vec_free(&lines);
    buf_free(&all);
}

static void compare_mixed(Comparing *c) {
    const Section *out = test_section(c->test, SECTION_STDOUT),
                  *err = test_section(c->test, SECTION_STDERR);
    if ((out && *out->argument) || (err && *err->argument))
        return;
    Buf expected = {0}, found = {0};
    put_sorted(&expected, out ? out->text : STR(""), err ? err->text : STR(""));
    put_sorted(&found, buf_view(&c->found->out), buf_view(&c->found->err));
    if (!str_eq(buf_view(&expected), buf_view(&found))) {
        put_problem_place(c, out ? out : err);
        buf_str(c->problems, STR("expected in stdout and stderr, sorted (-), found (+):\n"));
        put_difference(c->problems, buf_view(&expected), buf_view(&found));
    }
    buf_free(&expected);
    buf_free(&found);
}

/* ---- messages ---- */

enum { SEVERITY, TAG, MESSAGE, MESSAGE_FILE, MESSAGE_LINE, MESSAGE_COLUMN, NMEMBERS };
static const char *const message_members[NMEMBERS] = {"severity", "tag",  "message",
                                                      "file",     "line", "column"};

/* Appends a message as `messages` has it: "error undeclared-name 3:5"; after the name of its file
 * if that is no script of the test. */
static void put_expected_message(Comparing *c, const Str *m, Buf *out) {
    buf_printf(out, "%.*s %.*s", STR_ARG(m[SEVERITY]), STR_ARG(m[TAG]));
    if (m[MESSAGE_LINE].ptr) {
        const char *file = arena_strndup(&c->arena, m[MESSAGE_FILE].ptr, m[MESSAGE_FILE].len);
        buf_u8(out, ' ');
        if (!test_script(c->test, m[MESSAGE_FILE]))
            buf_printf(out, "%s:", file_base(file));
        buf_printf(out, "%.*s:%.*s", STR_ARG(m[MESSAGE_LINE]), STR_ARG(m[MESSAGE_COLUMN]));
    }
    buf_u8(out, '\n');
}

/* Appends a message for people; the lines of scripts in the test file are those of this file. */
static void put_full_message(Comparing *c, const Str *m, Buf *out) {
    buf_str(out, STR("  "));
    const Section *s = m[MESSAGE_FILE].ptr ? test_script(c->test, m[MESSAGE_FILE]) : NULL;
    if (!s && c->found->program && str_is(m[MESSAGE_FILE], c->found->program))
        s = test_section(c->test, SECTION_APP);
    if (s && s->text.len)
        buf_printf(out, "%s:%lu", s->file,
                   s->line + strtoul(m[MESSAGE_LINE].ptr ? m[MESSAGE_LINE].ptr : "0", NULL, 10));
    else
        buf_printf(out, "%.*s%s%.*s", STR_ARG(m[MESSAGE_FILE]), m[MESSAGE_LINE].ptr ? ":" : "",
                   STR_ARG(m[MESSAGE_LINE]));
    if (m[MESSAGE_COLUMN].ptr)
        buf_printf(out, ":%.*s", STR_ARG(m[MESSAGE_COLUMN]));
    buf_printf(out, "%s%.*s: %.*s [%.*s]\n", m[MESSAGE_FILE].ptr ? ": " : "", STR_ARG(m[SEVERITY]),
               STR_ARG(m[MESSAGE]), STR_ARG(m[TAG]));
}

/* Removes the column of an expected line that has none of its own from a found one. */
static bool message_fits(Str expected, Str found) {
    if (str_eq(expected, found))
        return true;
    return str_begins(found, expected) && found.ptr[expected.len] == ':' &&
           memchr(expected.ptr, ' ', expected.len) &&
           !memchr(found.ptr + expected.len + 1, ':', found.len - expected.len - 1);
}

static bool messages_fit(Str expected, Str found) {
    Lines a = test_lines_of(expected), b = test_lines_of(found);
    bool same = a.len == b.len;
    for (uint32_t i = 0; i < a.len && same; i++)
        same = message_fits(a.at[i], b.at[i]);
    vec_free(&a);
    vec_free(&b);
    return same;
}

static void compare_messages(Comparing *c) {
    const Section *s = test_section(c->test, SECTION_MESSAGES);
    Lines lines = test_lines_of(buf_view(&c->found->messages));
    Buf found = {0}, full = {0};
    bool errors = false;
    for (uint32_t i = 0; i < lines.len; i++) {
        Str m[NMEMBERS] = {0};
        Json j = {&c->arena, lines.at[i].ptr, lines.at[i].ptr + lines.at[i].len};
        if (!json_object(&j, message_members, NMEMBERS, m)) { /* of the program, not of whammc */
            buf_printf(&found, "%.*s\n", STR_ARG(lines.at[i]));
            errors = true;
            continue;
        }
        if (str_is(m[SEVERITY], "note"))
            continue;
        bool error = str_is(m[SEVERITY], "error");
        errors |= error;
        put_expected_message(c, m, &found);
        if (s || error)
            put_full_message(c, m, &full);
    }
    Str expected = s ? s->text : (Str){"", 0};
    if ((s || errors) && !messages_fit(expected, buf_view(&found)) &&
        !mend(c, s, SECTION_MESSAGES, "", buf_view(&found))) {
        put_problem_place(c, s);
        buf_str(c->problems, STR("expected messages (-), found (+):\n"));
        put_difference(c->problems, expected, buf_view(&found));
        buf_bytes(c->problems, full.data, full.len);
    }
    buf_free(&found);
    buf_free(&full);
    vec_free(&lines);
}

/* ---- the exit status ---- */

static void compare_exit(Comparing *c) {
    const Section *s = test_section(c->test, SECTION_EXIT);
    const Buf *messages = &c->found->messages;
    int status = c->found->wait_status;
    char found[32];
    if (WIFSIGNALED(status))
        snprintf(found, sizeof found, "signal %d", WTERMSIG(status));
    else
        snprintf(found, sizeof found, "%d", WEXITSTATUS(status));
    static const char error[] = "{\"severity\":\"error\"";
    bool errors = messages->len && memmem(messages->data, messages->len, error, sizeof error - 1);
    const char *expected = s ? s->argument : errors ? "1" : "0";
    if (strcmp(expected, found) != 0 &&
        !mend(c, s, SECTION_EXIT, arena_strndup(&c->file->arena, found, strlen(found)), STR(""))) {
        put_problem_place(c, s);
        buf_printf(c->problems, "expected exit status %s, found %s\n", expected, found);
    }
}

/* ---- the report ---- */

/* Returns the length of the first column of a row: up to the second one. */
static uint32_t id_length(Str row) {
    static const char *const seconds[] = {", memaddr", ", (memaddr", ", global_id", ", (global_id",
                                          ", map_id"};
    uint32_t least = row.len;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        const char *hit = memmem(row.ptr, row.len, seconds[i], strlen(seconds[i]));
        if (hit && hit - row.ptr < least)
            least = (uint32_t)(hit - row.ptr);
    }
    return least < row.len ? least : 0;
}

/* Appends a report as CSV, whose first column is "_": what it has there means nothing. */
static void put_csv(WhammcReport *r, Buf *out) {
    uint8_t *csv = NULL;
    size_t size = 0, rows;
    whammc_report_rows(r, &rows);
    if (rows)
        whammc_report_write(r, WHAMMC_REPORT_CSV, NULL, &csv, &size);
    Lines lines = test_lines_of((Str){(char *)csv, (uint32_t)size});
    bool row = false;
    for (uint32_t i = 0; i < lines.len; i++) {
        Str line = lines.at[i];
        uint32_t skip = row ? id_length(line) : 0;
        row |= str_begins(line, STR("id, "));
        if (line.len)
            buf_printf(out, "%s%.*s\n", skip ? "_" : "", (int)(line.len - skip), line.ptr + skip);
    }
    vec_free(&lines);
    whammc_release(csv);
}

/* Puts the found value into a condition `NAME == VALUE`; false if it is another one. */
static bool mend_condition(Str line, Str used, Buf *out) {
    uint32_t at = line.len;
    while (at >= 2 && memcmp(line.ptr + at - 2, "==", 2) != 0)
        at--;
    uint32_t name = at < 2 ? 0 : at - 2;
    while (name && line.ptr[name - 1] == ' ')
        name--;
    uint32_t skip = 0;
    while (skip < name && line.ptr[skip] == ' ')
        skip++;
    Str left = {line.ptr + skip, name - skip};
    if (!left.len || !str_begins(used, left) || used.len < left.len + 3 ||
        memcmp(used.ptr + left.len, " = ", 3) != 0)
        return false;
    buf_printf(out, "%.*s %.*s", (int)at, line.ptr, (int)(used.len - left.len - 3),
               used.ptr + left.len + 3);
    return true;
}

/* Evaluates a condition. If it does not hold, appends the problem, and the line as it should be. */
static bool test_check_condition(Comparing *c, const Section *s, uint32_t number, Str line,
                                 WhammcReport *r, Buf *mended) {
    Buf used = {0};
    Diags d = {0};
    const char *text = arena_strndup(&c->arena, line.ptr, line.len);
    text += strspn(text, " \t");
    bool holds = !*text || *text == '#' || condition_holds(s->file, text, r, NULL, &used, &d);
    bool can_mend = !holds && !d.list.len && mend_condition(line, buf_view(&used), mended);
    if (!can_mend)
        buf_str(mended, line);
    buf_u8(mended, '\n');
    if (!holds && !(c->update && can_mend && test_owns(c->test, s))) {
        uint32_t at, column = 0;
        test_put_place(c->problems, s->file, s->line + number + 1);
        buf_printf(c->problems, "expected %s", text);
        if (d.list.len)
            diag_position(&d, d.list.at[0]->span.file, d.list.at[0]->span.start, &at, &column);
        if (d.list.len)
            buf_printf(c->problems, "\n  column %u: %s\n", column, d.list.at[0]->message);
        else
            buf_printf(c->problems, ", found %.*s\n", STR_ARG(buf_view(&used)));
    }
    diag_free(&d);
    buf_free(&used);
    return holds;
}

static void check_conditions(Comparing *c, const Section *s, WhammcReport *r) {
    Lines lines = test_lines_of(s->text);
    Buf mended = {0};
    bool all = true;
    for (uint32_t i = 0; i < lines.len; i++)
        all &= test_check_condition(c, s, i, lines.at[i], r, &mended);
    if (!all && c->update && test_owns(c->test, s))
        test_file_edit(c->file, c->test, s, SECTION_EXPECT, "", buf_view(&mended));
    buf_free(&mended);
    vec_free(&lines);
}

/* Returns whether conditions may be about source locations. */
static bool wants_places(const TestCase *t) {
    static const char *const columns[] = {"file", "line", "column", "src_function"};
    for (uint32_t i = 0; i < t->sections.len; i++)
        for (int k = 0; k < 4 && t->sections.at[i]->kind == SECTION_EXPECT; k++)
            if (memmem(t->sections.at[i]->text.ptr, t->sections.at[i]->text.len, columns[k],
                       strlen(columns[k])))
                return true;
    return false;
}

static void compare_report(const Cli *cli, Comparing *c) {
    TestResult *found = c->found;
    WhammcReport *r = whammc_report_new();
    Buf program = {0}, csv = {0};
    whammc_report_read(r, "report", found->report.data, found->report.len, 0);
    if (wants_places(c->test) && found->program && file_read_module(cli, found->program, &program))
        whammc_report_set_module(r, found->program, program.data, program.len);
    for (uint32_t i = 0; i < c->test->sections.len; i++)
        if (c->test->sections.at[i]->kind == SECTION_EXPECT)
            check_conditions(c, c->test->sections.at[i], r);
    const Section *s = test_section(c->test, SECTION_REPORT);
    put_csv(r, &csv);
    if (s)
        compare_text(c, SECTION_REPORT, "the report", buf_view(&csv));
    buf_free(&csv);
    buf_free(&program);
    whammc_report_free(r);
}

void test_compare(const Cli *cli, TestFile *f, const TestCase *t, TestResult *found, bool update,
                  Buf *problems) {
    Comparing c = {.file = f, .test = t, .found = found, .update = update, .problems = problems};
    size_t before = problems->len;
    if (!found->mixed)
        compare_messages(&c);
    compare_exit(&c);
    if (found->mixed) {
        compare_mixed(&c);
    } else {
        compare_text(&c, SECTION_STDOUT, "stdout", buf_view(&found->out));
        compare_text(&c, SECTION_STDERR, "stderr", buf_view(&found->err));
    }
    bool failed = problems->len > before && !found->report.len;
    if (!failed) /* without a report, that is the lesser problem */
        compare_report(cli, &c);
    arena_free(&c.arena);
}
