/*
 * test_constants_api.c - constants of scripts through the public interface, the scripts that come
 * with it, and the reference.
 */
#include "whammc/whammc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char first[] = "const limit: i32 = -5; const timed: bool = true;"
                            "wasm:func:entry / timed && limit < 0 / { report var n: u32; n++; }";
static const char second[] = "const limit: f64 = 0.5; const names: str = \"a\\n\";"
                             "wasm:func:entry / names != \"\" && limit > 0.0 / { }";

static whammc *with_scripts(void) {
    whammc *w = whammc_new();
    whammc_add_script(w, "first", first, strlen(first));
    whammc_add_script(w, "second", second, strlen(second));
    return w;
}

/* "limit=-5 timed=true limit=0.5 names=a " */
static void show(whammc *w, char *out, size_t size) {
    size_t n, len = 0;
    const whammc_constant *c = whammc_constants(w, &n);
    out[0] = 0;
    for (size_t i = 0; i < n && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s.%s:%s=%s;", c[i].script, c[i].name,
                                c[i].type, c[i].value ? c[i].value : "?");
}

static void test_values(void **state) {
    (void)state;
    char text[256], name[] = "limit", value[] = "7";
    whammc *w = with_scripts();
    assert_int_equal(whammc_check(w), WHAMMC_OK);
    show(w, text, sizeof text);
    assert_string_equal(
        text,
        "first.limit:i32=-5;first.timed:bool=true;second.limit:f64=0.5;second.names:str=a\n;");
    whammc_define(w, "limit", "8");
    whammc_define(w, "timed", "false");
    whammc_define(w, name, value); /* the last one counts */
    whammc_define(w, "names", "");
    name[0] = value[0] = 'x'; /* copied */
    assert_int_equal(whammc_check(w), WHAMMC_OK);
    show(w, text, sizeof text);
    assert_string_equal(
        text, "first.limit:i32=7;first.timed:bool=false;second.limit:f64=7;second.names:str=;");
    whammc_define(w, "limit", "300000000000");
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    show(w, text, sizeof text);
    assert_string_equal(text, "first.limit:i32=?;first.timed:bool=false;"
                              "second.limit:f64=300000000000;second.names:str=;");
    whammc_free(w);
}

static void test_unknown(void **state) {
    (void)state;
    whammc *w = with_scripts();
    whammc_define(w, "limits", "5");
    assert_int_equal(whammc_check(w), WHAMMC_ERROR);
    assert_int_equal(whammc_error_count(w), 1);
    assert_non_null(strstr(whammc_messages(w, 0), "no script has a constant 'limits'"));
    whammc_free(w);
    w = with_scripts();
    whammc_define(w, "limit", "5.5");
    assert_int_equal(whammc_check(w), WHAMMC_ERROR); /* of one of the two */
    assert_non_null(strstr(whammc_messages(w, 0), "declared as i32"));
    assert_null(strstr(whammc_messages(w, 0), "declared as f64"));
    whammc_free(w);
}

/* Each script that is there can be checked without anything else. */
/* "// NAME: what it does", as `whammc info --scripts` shows it. */
static void assert_begins_with_name(const char *text, const char *name) {
    size_t len = strlen(name);
    assert_memory_equal(text, "// ", 3);
    assert_memory_equal(text + 3, name, len);
    assert_memory_equal(text + 3 + len, ": ", 2);
}

static void test_bundled(void **state) {
    (void)state;
    size_t n = 0, len = 0;
    const char *name;
    assert_null(whammc_bundled_script("nothing", &len));
    assert_non_null(whammc_bundled_script("calltree", &len));
    assert_non_null(whammc_bundled_script("imix-map", &len));
    for (; (name = whammc_bundled_name(n)); n++) {
        const char *text = whammc_bundled_script(name, &len);
        assert_non_null(text);
        assert_true(n == 0 || strcmp(whammc_bundled_name(n - 1), name) < 0);
        assert_begins_with_name(text, name);
        whammc *w = whammc_new();
        whammc_add_script(w, name, text, len);
        /* Their libraries are not given. */
        static const char *const lacking[] = {"afl", "cache", "cachegrind",
                                              "gas", "paths", "reuse"};
        bool lacks = false;
        for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
            lacks |= strcmp(name, lacking[i]) == 0;
        assert_int_equal(whammc_check(w), lacks ? WHAMMC_ERROR : WHAMMC_OK);
        whammc_free(w);
    }
    assert_true(n > 2);
    assert_null(whammc_bundled_name(n + 5));
}

static void count_entry(void *ctx, const whammc_entry *e) {
    assert_true(*e->topic && *e->word && e->form && e->summary);
    ++*(size_t *)ctx;
}

static void test_reference(void **state) {
    (void)state;
    whammc *w = whammc_new();
    const char *name, *text;
    size_t all = 0, sum = 0, none = 0;
    assert_int_equal(whammc_entries(w, NULL, count_entry, &all), WHAMMC_OK);
    for (size_t i = 0; (name = whammc_topic(i, NULL)); i++)
        assert_int_equal(whammc_entries(w, name, count_entry, &sum), WHAMMC_OK);
    assert_true(all > 500 && sum == all);
    assert_int_equal(whammc_entries(w, "nothing", count_entry, &none), WHAMMC_ERROR);
    assert_int_equal(none, 0);
    assert_int_equal(whammc_manual(w, "functions", "read_str", &text), WHAMMC_OK);
    assert_memory_equal(text, "# read_str\n", 11);
    assert_int_equal(whammc_manual(w, "names", "arg12", &text), WHAMMC_OK);
    assert_int_equal(whammc_manual(w, "names", "arg12x", &text), WHAMMC_ERROR);
    assert_string_equal(text, "");
    assert_int_equal(whammc_manual(w, "nothing", "read_str", &text), WHAMMC_ERROR);
    assert_int_equal(whammc_manual(w, NULL, "name_of", &text), WHAMMC_OK);
    assert_int_equal(whammc_manual(w, NULL, "", &text), WHAMMC_ERROR);
    assert_int_equal(whammc_manual(w, "events", "", &text), WHAMMC_ERROR);
    whammc_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_bundled),
        cmocka_unit_test(test_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
