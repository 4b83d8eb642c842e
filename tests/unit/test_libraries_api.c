/*
 * test_libraries_api.c - libraries of scripts through the public interface: all is copied, what
 * they write while compiling goes to the caller, names to import from can be given. Files that
 * scripts include.
 */
#include "whammc/whammc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* (module
 *   (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
 *   (memory (export "memory") 1)
 *   (data (i32.const 0) "\08\00\00\00\03\00\00\00hi\n")
 *   (func (export "say") (result i32)
 *     (call 0 (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 16)))) */
static const uint8_t library[] = {
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x0d, 0x02, 0x60, 0x04, 0x7f, 0x7f, 0x7f,
    0x7f, 0x01, 0x7f, 0x60, 0x00, 0x01, 0x7f, 0x02, 0x23, 0x01, 0x16, 0x77, 0x61, 0x73, 0x69, 0x5f,
    0x73, 0x6e, 0x61, 0x70, 0x73, 0x68, 0x6f, 0x74, 0x5f, 0x70, 0x72, 0x65, 0x76, 0x69, 0x65, 0x77,
    0x31, 0x08, 0x66, 0x64, 0x5f, 0x77, 0x72, 0x69, 0x74, 0x65, 0x00, 0x00, 0x03, 0x02, 0x01, 0x01,
    0x05, 0x03, 0x01, 0x00, 0x01, 0x07, 0x10, 0x02, 0x06, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 0x02,
    0x00, 0x03, 0x73, 0x61, 0x79, 0x00, 0x01, 0x0a, 0x0e, 0x01, 0x0c, 0x00, 0x41, 0x02, 0x41, 0x00,
    0x41, 0x01, 0x41, 0x10, 0x10, 0x00, 0x0b, 0x0b, 0x11, 0x01, 0x00, 0x41, 0x00, 0x0b, 0x0b, 0x08,
    0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x68, 0x69, 0x0a};

/* (module (func (export "main") (result i32) (i32.const 3))) */
static const uint8_t app[] = {0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05,
                              0x01, 0x60, 0x00, 0x01, 0x7f, 0x03, 0x02, 0x01, 0x00, 0x07,
                              0x08, 0x01, 0x04, 0x6d, 0x61, 0x69, 0x6e, 0x00, 0x00, 0x0a,
                              0x06, 0x01, 0x04, 0x00, 0x41, 0x03, 0x0b};

static const char script[] =
    "use lib; wasm:func:entry { @static lib.say(); var r: i32 = lib.say(); }";

static whammc *with_script(void) {
    whammc *w = whammc_new();
    char copy[sizeof script];
    memcpy(copy, script, sizeof script);
    whammc_add_script(w, "s.whamm", copy, sizeof script - 1);
    memset(copy, 'x', sizeof copy);
    return w;
}

/* The name and the bytes are gone when they are needed. */
static void add_library(whammc *w, const char *import_as) {
    char name[] = "lib", module[16] = "";
    uint8_t bytes[sizeof library];
    memcpy(bytes, library, sizeof library);
    if (import_as)
        strncpy(module, import_as, sizeof module - 1);
    whammc_add_library(w, name, import_as ? module : NULL, bytes, sizeof bytes);
    memset(name, 'x', sizeof name - 1);
    memset(module, 'x', sizeof module - 1);
    memset(bytes, 0, sizeof bytes);
}

static void test_missing(void **state) {
    (void)state;
    whammc *w = with_script();
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_messages(w, 0), "[unknown-library]"));
    add_library(w, NULL);
    assert_int_equal(whammc_check(w), WHAMMC_OK);
    whammc_add_library(w, "lib", NULL, library, sizeof library);
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_messages(w, 0), "[duplicate-name]"));
    whammc_free(w);
}

typedef struct Written {
    char text[64];
    size_t len;
    int stream;
} Written;

static void take(void *ctx, int stream, const void *bytes, size_t size) {
    Written *w = ctx;
    assert_true(w->len + size < sizeof w->text);
    memcpy(w->text + w->len, bytes, size);
    w->len += size;
    w->stream = stream;
}

/* Instruments with import linking; whether the output names the module to import from. */
static void instrument(whammc *w, const char *module) {
    whammc_options options = {.link = WHAMMC_LINK_IMPORT};
    uint8_t *out = NULL;
    size_t size = 0;
    assert_int_equal(whammc_instrument(w, "app", app, sizeof app, &options, &out, &size),
                     WHAMMC_OK);
    char wanted[32];
    size_t len = strlen(module);
    wanted[0] = (char)len;
    memcpy(wanted + 1, module, len);
    memcpy(wanted + 1 + len, "\3say", 4);
    assert_non_null(memmem(out, size, wanted, len + 5));
    whammc_release(out);
}

static void test_writes(void **state) {
    (void)state;
    Written written = {0};
    whammc *w = with_script();
    add_library(w, NULL);
    instrument(w, "lib"); /* what is written is dropped */
    whammc_set_world(w, &(whammc_world){.write = take, .ctx = &written});
    instrument(w, "lib");
    assert_int_equal(written.stream, 2);
    assert_string_equal(written.text, "hi\n"); /* once, in an instance of its own */
    assert_int_equal(whammc_list(w, "app", app, sizeof app, NULL, NULL), WHAMMC_OK);
    assert_string_equal(written.text, "hi\nhi\n");
    assert_int_equal(whammc_check(w), WHAMMC_OK);
    assert_string_equal(written.text, "hi\nhi\n");
    whammc_free(w);
}

static void test_import_as(void **state) {
    (void)state;
    whammc *w = with_script();
    add_library(w, "elsewhere");
    instrument(w, "elsewhere");
    whammc_free(w);
}

/* Files that were added, relative to the including one; those of a function; neither; the name of a
 * script is the script. */
static int find(void *ctx, const char *from, const char *path, whammc_file *file) {
    static char text[] = "include \"a.whamm\"; const b: u32 = 1;";
    ++*(int *)ctx;
    file->name = path;
    if (strcmp(path, "locked.whamm") == 0)
        file->problem = "it is locked";
    if (strcmp(path, "b.whamm") != 0)
        return 0;
    assert_string_equal(from, "lib/c.whamm");
    file->text = text;
    file->len = strlen(text);
    return 1;
}

static void test_include(void **state) {
    (void)state;
    static const char main[] = "include \"./lib/c.whamm\"; wasm:begin / b == c / { }";
    static const char c[] = "include \"b.whamm\"; include \"../a.whamm\"; const c: u32 = 1;";
    int calls = 0;
    whammc *w = whammc_new();
    whammc_add_script(w, "a.whamm", main, strlen(main));
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_messages(w, 0), "this script was given as text"));
    whammc_add_file(w, "lib/c.whamm", c, strlen(c));
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_messages(w, 0), "lib/c.whamm:1:9: error: expected the file"));
    assert_non_null(
        strstr(whammc_messages(w, 0), "a.whamm:1:1: note: lib/c.whamm is included here"));
    whammc_set_files(w, find, &calls, "in the test");
    assert_int_equal(whammc_check(w), WHAMMC_OK);
    assert_int_equal(calls, 1); /* b.whamm */
    size_t n;
    const whammc_constant *constants = whammc_constants(w, &n);
    assert_int_equal(n, 2);
    assert_string_equal(constants[0].script, "b.whamm");
    assert_string_equal(constants[1].script, "lib/c.whamm");
    static const char locked[] = "include \"locked.whamm\"; wasm:begin { }";
    whammc_add_script(w, "locked", locked, strlen(locked));
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    assert_non_null(strstr(whammc_messages(w, 0), "found locked.whamm: it is locked [include]"));
    whammc_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_import_as),
        cmocka_unit_test(test_include),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
