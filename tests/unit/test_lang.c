/*
 * tests/unit/test_lang.c - the front end against tests/unit/lang.cases: scripts, and the tree or
 * the messages that they must give, character by character.
 *
 * Kinds of cases: `tree` (parsed), `typed` (checked; must be without errors, and messages follow
 * the tree), `errors` (must fail; the rendered messages), `warnings` (must not fail), `json` (the
 * messages as JSON lines).
 */
#include "cases.h"
#include "fake_scope.h"

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

static bool must_fail(const Case *k) {
    return kind_is(k, "errors") || kind_is(k, "json");
}

/* The scripts of docs/language.md follow the grammar. */
/* Any file is there, and empty. */
static bool find_empty(void *ctx, const char *from, const char *path, IncludedFile *out) {
    (void)ctx, (void)from;
    *out = (IncludedFile){.name = path, .text = ""};
    return true;
}

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
        static const Includer empty = {.find = find_empty};
        Diags diags = {0};
        Script script = {.includer = &empty};
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

int main(void) {
    static const struct CMUnitTest more[] = {
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_walk_and_clone),
    };
    return run_cases("lang", "tests/unit/lang.cases", more, 4);
}
