/*
 * test_locate_api.c - source locations through the public interface.
 */
#include "whammc/report.h"
#include "whammc/whammc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

/* Gives the map when it is asked for. */
typedef struct Late {
    whammc_debug_info info;
    int asked;
} Late;

static void give_late(void *ctx) {
    Late *l = ctx;
    l->asked++;
    l->info.file_name = "dir/a.map";
    l->info.file = map;
    l->info.file_size = sizeof map - 1;
}

static uint64_t instrumented_sites(whammc *w, const char *text) {
    uint8_t *out;
    size_t size, n;
    whammc_add_script(w, "script", text, strlen(text));
    assert_int_equal(
        whammc_instrument(w, "dir/app.wasm", program, sizeof program - 1, NULL, &out, &size),
        WHAMMC_OK);
    whammc_release(out);
    return whammc_probes(w, &n)[0].sites;
}

static void outputs_have_source_maps(void **state) {
    (void)state;
    whammc_debug_info info = {.file_name = "dir/a.map", .file = map, .file_size = sizeof map - 1};
    whammc_options options = {.source_map_url = "out.map"};
    uint8_t *out;
    size_t size;
    whammc *w = whammc_new();
    whammc_locate(w, &info);
    whammc_add_script(w, "script", script, sizeof script - 1);
    assert_int_equal(
        whammc_instrument(w, "dir/app.wasm", program, sizeof program - 1, &options, &out, &size),
        WHAMMC_OK);
    const char *name;
    assert_int_equal(whammc_debug_reference(out, size, &name), 7);
    assert_memory_equal(name, "out.map", 7);
    whammc_release(out);
    const char *text = whammc_source_map(w, &size);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, "\"sources\":[\"dir/src/a.c\"]"));
    assert_int_equal(
        whammc_instrument(w, "dir/app.wasm", program, sizeof program - 1, NULL, &out, &size),
        WHAMMC_OK);
    assert_int_equal(whammc_debug_reference(out, size, &name), 0);
    whammc_release(out);
    assert_string_equal(whammc_source_map(w, &size), "");
    whammc_free(w);
}

static void scripts_name_locations(void **state) {
    (void)state;
    static const char by_line[] =
        "wasm:opcode:nop:before / file == \"dir/src/a.c\" && line == 5 && "
        "column == 3 / { report unshared var n: u32; n++; }";
    static const char by_pc[] =
        "wasm:opcode:nop:before / pc == 2 / { report unshared var n: u32; n++; }";
    Late late = {.info = {.prepare = give_late, .ctx = &late}};
    whammc *w = whammc_new();
    whammc_locate(w, &late.info);
    assert_int_equal(instrumented_sites(w, by_pc), 1);
    assert_int_equal(late.asked, 0); /* nobody needs locations */
    whammc_free(w);

    w = whammc_new();
    whammc_locate(w, &late.info);
    assert_int_equal(instrumented_sites(w, by_line), 1);
    assert_int_equal(late.asked, 1);
    assert_null(strstr(whammc_messages(w, 0), "no-debug-info"));
    whammc_free(w);

    w = whammc_new();
    assert_int_equal(instrumented_sites(w, by_line), 0);
    const char *said = strstr(whammc_messages(w, 0), "no-debug-info");
    assert_non_null(said);
    assert_null(strstr(said + 1, "no-debug-info"));
    whammc_free(w);
}

static void check_write(WhammcReport *r, WhammcReportFormat format, WhammcReportOptions look,
                        const char *wanted) {
    uint8_t *out;
    size_t size;
    assert_int_equal(whammc_report_write(r, format, &look, &out, &size), WHAMMC_OK);
    assert_non_null(strstr((const char *)out, wanted));
    whammc_release(out);
}

static void reports_have_locations(void **state) {
    (void)state;
    static const char text[] =
        "{\"id\":4,\"id_type\":\"memaddr\",\"name\":\"n\",\"type\":\"u32\",\"wasm_type\":\"i32\","
        "\"script\":\"script0\",\"fname\":\"#0\",\"fid\":0,\"pc\":2,"
        "\"probe\":\"0_wasm:opcode:nop:before\",\"value\":7}\n";
    uint8_t *out;
    size_t size;
    WhammcReportOptions lines = {.lines = true}, by_line = {.by = WHAMMC_REPORT_BY_LINE};
    whammc_debug_info info = {.file_name = "dir/a.map", .file = map, .file_size = sizeof map - 1};
    WhammcReport *r = whammc_report_new();
    assert_int_equal(whammc_report_read(r, "r", text, sizeof text - 1, 0), WHAMMC_OK);
    assert_int_equal(whammc_report_write(r, WHAMMC_REPORT_JSON, &lines, &out, &size), WHAMMC_ERROR);
    assert_null(out);
    assert_non_null(strstr(whammc_report_messages(r, 0), "no-program"));
    assert_int_equal(whammc_report_set_module(r, "dir/app.wasm", program, sizeof program - 1),
                     WHAMMC_OK);
    whammc_report_locate(r, &info);
    check_write(r, WHAMMC_REPORT_JSON, lines, "\"file\":\"dir/src/a.c\",\"line\":5,\"column\":3");
    check_write(r, WHAMMC_REPORT_CSV, lines, "before, 7, dir/src/a.c, 5, 3, \n");
    check_write(r, WHAMMC_REPORT_TABLE, by_line, "dir/src/a.c:5");
    check_write(r, WHAMMC_REPORT_JSON, (WhammcReportOptions){0}, "\"value\":7}\n");
    whammc_report_locate(r, NULL);
    check_write(r, WHAMMC_REPORT_TABLE, by_line, "(no line known)");
    assert_non_null(strstr(whammc_report_messages(r, 0), "no-debug-info"));
    whammc_report_free(r);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_have_frames), cmocka_unit_test(outputs_have_source_maps),
        cmocka_unit_test(scripts_name_locations), cmocka_unit_test(reports_have_locations),
        cmocka_unit_test(references_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
