/*
 * tests/unit/test_lang.c - the front end against tests/unit/lang.cases: scripts, and the tree or
 * the messages that they must give, character by character.
 *
 * A case is
 *     ## KIND: title
 *     script
 *     --
 *     expected
 * where KIND is `tree` (parsed), `typed` (checked; must be without errors, and messages follow the
 * tree), `errors` (must fail; the rendered messages), `warnings` (must not fail), `json` (the
 * messages as JSON lines). With WHAMMC_UPDATE=1 in the environment the file is rewritten with what
 * came out, to be reviewed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "fake_scope.h"

typedef struct Case {
    Str kind, title, script, expected;
    Buf actual;
} Case;

typedef Vec(Case) Cases;

static bool kind_is(const Case *k, const char *kind) {
    return str_is(k->kind, kind);
}

/* Runs a case: what came out, and whether the script was accepted. */
static bool run(const Case *k, Buf *out) {
    Diags diags = {0};
    Script script = {0};
    /* a copy of the exact size, so that sanitizers see a read past the end */
    char *text = mem_alloc(k->script.len + 1u);
    memcpy(text, k->script.ptr, k->script.len);
    text = mem_realloc(text, k->script.len ? k->script.len : 1);
    DiagFileId file = diag_file(&diags, "t.whamm", text, k->script.len, false);
    bool ok = lang_parse(&script, text, k->script.len, file, &diags);
    if (!kind_is(k, "tree"))
        ok = fake_check(&script, &diags) && ok;
    if (kind_is(k, "tree") || kind_is(k, "typed"))
        lang_dump(&script, out);
    if (kind_is(k, "json"))
        diag_render_json(&diags, out);
    else
        diag_render_text(&diags, out, false);
    assert_true(ok == (diags.errors == 0));
    script_free(&script);
    diag_free(&diags);
    free(text);
    return ok;
}

static void test_case(void **state) {
    Case *k = *state;
    bool ok = run(k, &k->actual);
    bool must_fail = kind_is(k, "errors") || kind_is(k, "json");
    const char *actual = buf_cstr(&k->actual);
    if (getenv("WHAMMC_UPDATE"))
        return;
    char *expected = mem_alloc(k->expected.len + 1u);
    memcpy(expected, k->expected.ptr, k->expected.len);
    expected[k->expected.len] = 0;
    assert_string_equal(actual, expected);
    free(expected);
    assert_true(ok != must_fail);
}

static char *read_source(const char *name);

/* The scripts of docs/language.md follow the grammar. */
static void test_manual(void **state) {
    (void)state;
    static const char fence[] = "```whamm\n";
    char *text = read_source("docs/language.md");
    assert_non_null(text);
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, fence)); count++) {
        at += strlen(fence);
        const char *end = strstr(at, "\n```");
        assert_non_null(end);
        Diags diags = {0};
        Script script = {0};
        Buf out = {0};
        size_t len = (size_t)(end - at);
        bool ok =
            lang_parse(&script, at, len, diag_file(&diags, "language.md", at, len, false), &diags);
        diag_render_text(&diags, &out, false);
        assert_string_equal(buf_cstr(&out), "");
        assert_true(ok);
        buf_free(&out);
        script_free(&script);
        diag_free(&diags);
    }
    assert_in_range(count, 4, 1000);
    free(text);
}

/* before + middle * n + after must be refused with the tag, in little time and stack. */
static void assert_too_deep(const char *before, const char *middle, uint32_t n, const char *after) {
    Buf text = {0}, out = {0};
    buf_printf(&text, "%s", before);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%s", middle);
    buf_printf(&text, "%s", after);
    Diags diags = {0};
    Script script = {0};
    DiagFileId file = diag_file(&diags, "t.whamm", text.data, text.len, false);
    assert_false(lang_parse(&script, (const char *)text.data, text.len, file, &diags));
    assert_int_equal(diags.list.len, 1);
    assert_string_equal(diag_tag_name(diags.list.at[0]->tag), "nesting");
    fake_check(&script, &diags);
    lang_dump(&script, &out);
    buf_free(&text);
    buf_free(&out);
    script_free(&script);
    diag_free(&diags);
}

static void test_depth(void **state) {
    (void)state;
    assert_too_deep("wasm:begin { x = ", "(", 100000, "1; }");
    assert_too_deep("wasm:begin { x = ", "f(", 100000, "1; }");
    assert_too_deep("wasm:begin { x = m", "[m", 100000, "1; }");
    assert_too_deep("wasm:begin { x = 1", " + 1", 100000, "; }");
    assert_too_deep("wasm:begin { x = 1", " ? 1 : 1", 100000, "; }");
    assert_too_deep("wasm:begin { x = 1", " ? 1", 100000, "; }");
    assert_too_deep("wasm:begin { ", "if (a) { ", 100000, "");
    assert_too_deep("var x: ", "map<i32,", 100000, "i32;");
    assert_too_deep("var x: ", "(", 100000, "i32;");
}

static void count_name(void *ctx, Expr *e) {
    uint32_t *sum = ctx;
    if (e->kind == EXPR_NAME)
        (*sum)++;
}

/* Walking meets every expression; a clone is checked without a trace on the original. */
static void test_walk_and_clone(void **state) {
    (void)state;
    static const char text[] =
        "wasm:opcode:call:before / fid == pc / {\n"
        "var a: u32 = fid; if (a == pc) { a = fid + (taken ? a : 1); } else { a++; } }";
    Diags diags = {0};
    Script script = {0};
    Buf before = {0}, after = {0};
    uint32_t names = 0;
    DiagFileId file = diag_file(&diags, "t.whamm", text, strlen(text), false);
    assert_true(lang_parse(&script, text, strlen(text), file, &diags));
    Probe *original = script.probes.at[0];
    ast_walk_probe(original, count_name, &names);
    assert_int_equal(names, 10);
    lang_dump_probe(original, &before);
    assert_true(fake_check(&script, &diags));
    assert_ptr_not_equal(script.probes.at[0], original);
    assert_int_equal(script.probes.at[0]->nvars, 1);
    lang_dump_probe(original, &after);
    assert_string_equal(buf_cstr(&before), buf_cstr(&after));
    buf_free(&before);
    buf_free(&after);
    script_free(&script);
    diag_free(&diags);
}

/* A script beyond the limit is refused before it is read. */
static void test_size(void **state) {
    (void)state;
    size_t size = (16u << 20) + 1;
    char *text = mem_alloc(size);
    memset(text, ' ', size);
    Diags diags = {0};
    Script script = {0};
    Buf out = {0};
    DiagFileId file = diag_file(&diags, "t.whamm", text, size, false);
    assert_false(lang_parse(&script, text, size, file, &diags));
    diag_render_json(&diags, &out);
    assert_non_null(strstr(buf_cstr(&out), "\"tag\":\"script-size\",\"message\":\"the script has "
                                           "16777217 bytes, more than 16777216\""));
    buf_free(&out);
    script_free(&script);
    diag_free(&diags);
    free(text);
}

/* The text up to the line `end`; *at is moved behind that line. */
static Str until(const char **at, const char *end) {
    size_t n = strlen(end);
    const char *start = *at, *p = start;
    while (*p && !(strncmp(p, end, n) == 0 && (n > 2 ? true : p[n] == '\n' || p[n] == ' '))) {
        p = strchr(p, '\n');
        p = p ? p + 1 : start + strlen(start);
    }
    *at = p;
    return (Str){start, (uint32_t)(p - start)};
}

static void read_cases(const char *text, Cases *cases) {
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

static const char *source_name(const char *name, char *path, size_t size) {
    const char *directory = getenv("WHAMMC_SRCDIR");
    snprintf(path, size, "%s/%s", directory ? directory : ".", name);
    return path;
}

/* A file of the project; NULL if it cannot be read. */
static char *read_source(const char *name) {
    char path[4096];
    name = source_name(name, path, sizeof path);
    FILE *f = fopen(name, "rb");
    if (!f)
        return NULL;
    Buf b = {0};
    size_t n;
    do {
        buf_reserve(&b, 1 << 16);
        n = fread(b.data + b.len, 1, 1 << 16, f);
        b.len += n;
    } while (n);
    fclose(f);
    buf_cstr(&b);
    return (char *)b.data;
}

static void update(const char *name, const char *text, const Cases *cases) {
    Buf b = {0};
    const char *at = text;
    buf_str(&b, until(&at, "##"));
    for (uint32_t i = 0; i < cases->len; i++) {
        const Case *k = &cases->at[i];
        buf_printf(&b, "## %.*s: %.*s\n%.*s--\n%s%s", STR_ARG(k->kind), STR_ARG(k->title),
                   STR_ARG(k->script), (const char *)k->actual.data,
                   i + 1 < cases->len ? "\n" : "");
    }
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    fwrite(b.data, 1, b.len, f);
    fclose(f);
    buf_free(&b);
}

int main(void) {
    static const char name[] = "tests/unit/lang.cases";
    char path[4096];
    char *text = read_source(name);
    if (!text) {
        fprintf(stderr, "%s: cannot be read\n", name);
        return 1;
    }
    Cases cases = {0};
    read_cases(text, &cases);
    struct CMUnitTest *tests = mem_zalloc(sizeof *tests * (cases.len + 5));
    for (uint32_t i = 0; i < cases.len; i++) {
        char *title = mem_zalloc(cases.at[i].title.len + 1u);
        memcpy(title, cases.at[i].title.ptr, cases.at[i].title.len);
        tests[i] = (struct CMUnitTest){title, test_case, NULL, NULL, &cases.at[i]};
    }
    tests[cases.len] = (struct CMUnitTest)cmocka_unit_test(test_size);
    tests[cases.len + 1] = (struct CMUnitTest)cmocka_unit_test(test_manual);
    tests[cases.len + 2] = (struct CMUnitTest)cmocka_unit_test(test_depth);
    tests[cases.len + 3] = (struct CMUnitTest)cmocka_unit_test(test_walk_and_clone);
    int failed = _cmocka_run_group_tests("lang", tests, cases.len + 4, NULL, NULL);
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
