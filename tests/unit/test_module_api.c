/*
 * test_module_api.c - the public interface to modules, as far as it looks at them: names, sizes,
 * imports and exports; and the output of whammc_instrument while it is made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "whammc/module.h"
#include "whammc/whammc.h"

/* (module
 *   (import "env" "f" (func))
 *   (import "env" "m" (memory 1))
 *   (func $"named 1" nop nop)
 *   (func (export "e") (export "again"))
 *   (func)
 *   (export "mem" (memory 0))) */
static const uint8_t app[] = {
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x04, 0x01, 0x60, 0x00, 0x00, 0x02, 0x12,
    0x02, 0x03, 'e',  'n',  'v',  0x01, 'f',  0x00, 0x00, 0x03, 'e',  'n',  'v',  0x01, 'm',  0x02,
    0x00, 0x01, 0x03, 0x04, 0x03, 0x00, 0x00, 0x00, 0x07, 0x13, 0x03, 0x01, 'e',  0x00, 0x02, 0x05,
    'a',  'g',  'a',  'i',  'n',  0x00, 0x02, 0x03, 'm',  'e',  'm',  0x02, 0x00, 0x0a, 0x0c, 0x03,
    0x04, 0x00, 0x01, 0x01, 0x0b, 0x02, 0x00, 0x0b, 0x02, 0x00, 0x0b, 0x00, 0x11, 0x04, 'n',  'a',
    'm',  'e',  0x01, 0x0a, 0x01, 0x01, 0x07, 'n',  'a',  'm',  'e',  'd',  ' ',  '1'};

static WhammcModule *read_app(void) {
    WhammcModule *m = whammc_module_read(app, sizeof app, NULL);
    assert_non_null(m);
    return m;
}

static void test_names(void **state) {
    (void)state;
    static const char *const shown[] = {"env.f", "named 1", "e", "#3"};
    static const char *const own[] = {"f", "named 1", "e", ""};
    WhammcModule *m = read_app();
    assert_int_equal(whammc_module_count(m, WHAMMC_FUNC), 4);
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t f = 0; f < 4; f++) {
            assert_string_equal(whammc_module_shown_name(m, f), shown[f]);
            assert_string_equal(whammc_module_func_name(m, f), own[f]);
        }
    assert_string_equal(whammc_module_shown_name(m, 4), "");
    whammc_module_free(m);
}

static void test_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 4, 2, 2, 0};
    WhammcModule *m = read_app();
    WhammcCode *code = whammc_code_new();
    for (uint32_t f = 0; f < 5; f++)
        assert_int_equal(whammc_module_func_size(m, f), sizes[f]);
    uint32_t type = whammc_module_add_type(m, NULL, 0, NULL, 0);
    uint32_t added = whammc_module_add_func(m, type, "added", NULL, 0, code);
    assert_int_equal(whammc_module_func_size(m, added), 0);
    assert_string_equal(whammc_module_shown_name(m, added), "added");
    whammc_code_free(code);
    whammc_module_free(m);
}

static void assert_extern(const WhammcExtern *e, const char *module, const char *name,
                          WhammcKind kind, uint32_t handle) {
    assert_string_equal(e->module, module);
    assert_string_equal(e->name, name);
    assert_int_equal(e->kind, kind);
    assert_int_equal(e->handle, handle);
}

static void test_externs(void **state) {
    (void)state;
    WhammcModule *m = read_app();
    WhammcExtern e;
    assert_true(whammc_module_import(m, 0, &e));
    assert_extern(&e, "env", "f", WHAMMC_FUNC, 0);
    assert_true(whammc_module_import(m, 1, &e));
    assert_extern(&e, "env", "m", WHAMMC_MEMORY, 0);
    assert_true(whammc_module_export(m, 0, &e));
    assert_extern(&e, "", "e", WHAMMC_FUNC, 2);
    assert_true(whammc_module_export(m, 1, &e));
    assert_extern(&e, "", "again", WHAMMC_FUNC, 2);
    assert_true(whammc_module_export(m, 2, &e));
    assert_extern(&e, "", "mem", WHAMMC_MEMORY, 0);
    /* Additions are not of the input. */
    whammc_module_import_global(m, "env", "g", WHAMMC_I32, false);
    whammc_module_add_export(m, "more", WHAMMC_FUNC, 1);
    assert_false(whammc_module_import(m, 2, &e));
    assert_false(whammc_module_export(m, 3, &e));
    assert_false(whammc_module_export(m, UINT32_MAX, &e));
    whammc_module_free(m);
}

/* ---- instrumenting ---- */

/* What a sink was given. */
typedef struct Taken {
    uint8_t *bytes;
    size_t len;
} Taken;

static void put(void *ctx, const uint8_t *bytes, size_t from, size_t to) {
    Taken *t = ctx;
    assert_true(from <= t->len);
    t->bytes = realloc(t->bytes, to + 1);
    assert_non_null(t->bytes);
    memcpy(t->bytes + from, bytes + from, to - from);
    t->len = to;
}

static void hold(void *ctx) {
    (void)ctx; /* all was read by put */
}

static whammc *with_script(const char *text) {
    whammc *w = whammc_new();
    whammc_add_script(w, "s", text, strlen(text));
    return w;
}

static void test_sink(void **state) {
    (void)state;
    Taken taken = {0};
    const whammc_sink sink = {put, hold, &taken};
    whammc *w = with_script("wasm:opcode:nop:before { report var n: u32; n++; }");
    uint8_t *out;
    size_t size;
    whammc_set_sink(w, &sink);
    assert_int_equal(whammc_instrument(w, "app", app, sizeof app, NULL, &out, &size), WHAMMC_OK);
    assert_int_equal(taken.len, size);
    assert_memory_equal(taken.bytes, out, size);
    whammc_release(out);
    whammc_set_sink(w, NULL);
    taken.len = 0;
    assert_int_equal(whammc_instrument(w, "app", app, sizeof app, NULL, &out, &size), WHAMMC_OK);
    assert_int_equal(taken.len, 0);
    whammc_release(out);
    free(taken.bytes);
    whammc_free(w);
}

static int answer(const char *script, int (*question)(const whammc *w)) {
    whammc *w = with_script(script);
    uint8_t *out;
    size_t size;
    const whammc_options options = {.host = WHAMMC_HOST_JS, .host_flushes = 1};
    assert_int_equal(whammc_instrument(w, "app", app, sizeof app, &options, &out, &size),
                     WHAMMC_OK);
    int result = question(w);
    whammc_release(out);
    whammc_free(w);
    return result;
}

static int measures(const char *script) {
    return answer(script, whammc_measures_times);
}

static void test_acts(void **state) {
    (void)state;
    assert_true(answer("wasm:func:entry { print(\"x\"); }", whammc_acts));
    assert_true(answer("wasm:func:entry { exit(1); }", whammc_acts));
    assert_true(answer("wasm:opcode:*:before { if (true) { trap(\"x\"); } }", whammc_acts));
    assert_true(answer("wasm:opcode:i32.add:alt { return arg0; }", whammc_acts));
    assert_true(answer("wasm:opcode:i32.add:after { if (fid > 0) { res0++; } }", whammc_acts));
    assert_false(answer("wasm:func:entry { report var n: u32; n++; }", whammc_acts));
}

static void test_measures_times(void **state) {
    (void)state;
    assert_true(measures("use time; report var t: i64;"
                         "wasm:func:entry { t = time.now_ns(); }"));
    assert_false(measures("wasm:func:entry { report var n: u32; n++; }"));
    size_t len;
    assert_false(measures(whammc_bundled_script("sample", &len)));
    assert_true(measures(whammc_bundled_script("calltree", &len)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_externs),        cmocka_unit_test(test_sink),
        cmocka_unit_test(test_measures_times), cmocka_unit_test(test_acts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
