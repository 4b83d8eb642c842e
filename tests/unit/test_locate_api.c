/*
 * test_locate_api.c - source locations through the public interface.
 */
#include "whammc/whammc.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* One function: nop, nop. Its body begins at byte 22. */
static const char program[] = "\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\x0a\6\1\4\0\1\1\x0b";
static const char reference[] = "\0\x17\x10sourceMappingURL\5a.map";
/* The body in line 3, the second nop in line 5. */
static const char map[] = "{\"version\":3,\"sources\":[\"src/a.c\"],\"mappings\":\"sBAEA,EAEE\"}";
static const char script[] = "wasm:opcode:nop:before { report unshared var n: u32; n++; }";

typedef struct Seen {
    char text[256];
    size_t len;
} Seen;

static void see(void *ctx, const whammc_site *s) {
    Seen *seen = ctx;
    int n = snprintf(seen->text + seen->len, sizeof seen->text - seen->len, "%u", s->pc);
    seen->len += (size_t)n;
    for (size_t i = 0; i < s->nframes; i++) {
        const whammc_frame *f = &s->frames[i];
        n = snprintf(seen->text + seen->len, sizeof seen->text - seen->len, " %s:%u:%u (%s%s)",
                     f->file, f->line, f->column, f->function, f->linkage);
        seen->len += (size_t)n;
    }
    seen->text[seen->len++] = ';';
    seen->text[seen->len] = 0;
}

static const char *sites(whammc *w, Seen *seen) {
    *seen = (Seen){.len = 0};
    assert_int_equal(whammc_list(w, "dir/app.wasm", program, sizeof program - 1, see, seen),
                     WHAMMC_OK);
    return seen->text;
}

static void sites_have_frames(void **state) {
    (void)state;
    Seen seen;
    whammc_path_map maps[] = {{"dir/src", "/home"}};
    whammc_debug_info info = {.file_name = "dir/a.map", .file = map, .file_size = sizeof map - 1};
    whammc *w = whammc_new();
    whammc_add_script(w, "script", script, sizeof script - 1);
    assert_string_equal(sites(w, &seen), "1;2;");
    whammc_locate(w, &info);
    assert_string_equal(sites(w, &seen), "1 dir/src/a.c:3:1 ();2 dir/src/a.c:5:3 ();");
    info.maps = maps;
    info.nmaps = 1;
    assert_string_equal(sites(w, &seen), "1 /home/a.c:3:1 ();2 /home/a.c:5:3 ();");
    info.file_size = 20; /* damaged: a warning */
    assert_string_equal(sites(w, &seen), "1;2;");
    assert_non_null(strstr(whammc_messages(w, 0), "damaged-debug-info"));
    whammc_locate(w, NULL);
    assert_string_equal(sites(w, &seen), "1;2;");
    whammc_free(w);
}

static void references_are_found(void **state) {
    (void)state;
    const char *name;
    char module[sizeof program + sizeof reference];
    memcpy(module, program, sizeof program - 1);
    memcpy(module + sizeof program - 1, reference, sizeof reference - 1);
    size_t size = sizeof program + sizeof reference - 2;
    assert_int_equal(whammc_debug_reference(program, sizeof program - 1, &name), 0);
    assert_int_equal(whammc_debug_reference(module, size, &name), 5);
    assert_memory_equal(name, "a.map", 5);
    assert_int_equal(whammc_debug_reference(module, size - 1, &name), 0);
    assert_int_equal(whammc_debug_reference(module, 3, &name), 0);
    assert_int_equal(whammc_debug_reference(NULL, 0, &name), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sites_have_frames),
                                       cmocka_unit_test(references_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
