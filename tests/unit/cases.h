/*
 * tests/unit/cases.h - tests that are cases in a text file: scripts, and what they must give,
 * character by character.
 *
 * A case is
 *     ## KIND: title
 *     script
 *     --
 *     expected
 * With WHAMMC_UPDATE=1 in the environment the file is rewritten with what came out, to be reviewed.
 */
#ifndef WHAMMC_TESTS_CASES_H
#define WHAMMC_TESTS_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>

#include <cmocka.h>

#include "file.h"

typedef struct Case {
    Str kind, title, script, expected;
    Buf actual;
} Case;

typedef Vec(Case) Cases;

static inline bool kind_is(const Case *k, const char *kind) {
    return str_is(k->kind, kind);
}

/* Runs a case: what came out, and whether the script was accepted. */
static bool run(const Case *k, Buf *out);

/* Kinds of cases that must not be accepted. */
static bool must_fail(const Case *k);

static inline void test_case(void **state) {
    Case *k = *state;
    bool ok = run(k, &k->actual);
    const char *actual = buf_cstr(&k->actual);
    if (getenv("WHAMMC_UPDATE"))
        return;
    char *expected = mem_alloc(k->expected.len + 1u);
    memcpy(expected, k->expected.ptr, k->expected.len);
    expected[k->expected.len] = 0;
    assert_string_equal(actual, expected);
    free(expected);
    assert_true(ok != must_fail(k));
}

/* The text up to the line `end`; *at is moved behind that line. */
static inline Str until(const char **at, const char *end) {
    size_t n = strlen(end);
    const char *start = *at, *p = start;
    while (*p && !(strncmp(p, end, n) == 0 && (n > 2 ? true : p[n] == '\n' || p[n] == ' '))) {
        p = strchr(p, '\n');
        p = p ? p + 1 : start + strlen(start);
    }
    *at = p;
    return (Str){start, (uint32_t)(p - start)};
}

static inline void read_cases(const char *text, Cases *cases) {
    const char *at = text;
    until(&at, "##");
    while (*at) {
        Case *k = vec_add(cases);
        const char *colon = strchr(at, ':'), *eol = strchr(at, '\n');
        k->kind = (Str){at + 3, (uint32_t)(colon - at - 3)};
        k->title = (Str){colon + 2, (uint32_t)(eol - colon - 2)};
        at = eol + 1;
        k->script = until(&at, "--");
        at = strchr(at, '\n') + 1;
        k->expected = until(&at, "##");
        /* the blank line between cases */
        if (k->expected.len > 1 && k->expected.ptr[k->expected.len - 1] == '\n' &&
            k->expected.ptr[k->expected.len - 2] == '\n')
            k->expected.len--;
    }
}

static inline const char *source_name(const char *name, char *path, size_t size) {
    const char *directory = getenv("WHAMMC_SRCDIR");
    snprintf(path, size, "%s/%s", directory ? directory : ".", name);
    return path;
}

/* A file of the project; NULL if it cannot be read. */
static inline char *read_source(const char *name) {
    char path[4096];
    name = source_name(name, path, sizeof path);
    Buf b = {0};
    if (!read_file(name, &b))
        return NULL;
    buf_cstr(&b);
    return (char *)b.data;
}

static inline void update(const char *name, const char *text, const Cases *cases) {
    Buf b = {0};
    const char *at = text;
    buf_str(&b, until(&at, "##"));
    for (uint32_t i = 0; i < cases->len; i++) {
        const Case *k = &cases->at[i];
        buf_printf(&b, "## %.*s: %.*s\n%.*s--\n%s%s", STR_ARG(k->kind), STR_ARG(k->title),
                   STR_ARG(k->script), (const char *)k->actual.data,
                   i + 1 < cases->len ? "\n" : "");
    }
    assert_true(write_file(name, &b));
    buf_free(&b);
}

/* Runs the cases of a file and further tests. */
static inline int run_cases(const char *group, const char *name, const struct CMUnitTest *more,
                            uint32_t nmore) {
    char path[4096];
    char *text = read_source(name);
    if (!text) {
        fprintf(stderr, "%s: cannot be read\n", name);
        return 1;
    }
    Cases cases = {0};
    read_cases(text, &cases);
    struct CMUnitTest *tests = mem_zalloc(sizeof *tests * (cases.len + nmore + 1));
    for (uint32_t i = 0; i < cases.len; i++) {
        char *title = mem_zalloc(cases.at[i].title.len + 1u);
        memcpy(title, cases.at[i].title.ptr, cases.at[i].title.len);
        tests[i] = (struct CMUnitTest){title, test_case, NULL, NULL, &cases.at[i]};
    }
    for (uint32_t i = 0; i < nmore; i++)
        tests[cases.len + i] = more[i];
    int failed = _cmocka_run_group_tests(group, tests, cases.len + nmore, NULL, NULL);
    if (getenv("WHAMMC_UPDATE"))
        update(source_name(name, path, sizeof path), text, &cases);
    for (uint32_t i = 0; i < cases.len; i++) {
        free((char *)tests[i].name);
        buf_free(&cases.at[i].actual);
    }
    free(tests);
    free(text);
    vec_free(&cases);
    return failed;
}

#endif
