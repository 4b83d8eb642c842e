/*
 * tests/fuzz/fuzz_source.c - fuzz target: texts of sources, which coverage reads for its markers
 * and shows in its page, as annotated sources do. The input is the text of the only source. Totals
 * without markers are never smaller than with them.
 */
#include <stdlib.h>

#include "annotate/source.h"
#include "locations/locations.h"
#include "whammc/coverage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A function with a br_table, an if and nops, and its source map: as in fuzz_report.c. */
static const char program[] =
    "\0asm\1\0\0\0\1\5\1`\1\177\0\3\2\1\0\12\35\1\33\0\2@\2@\2@ \0\16\3\0\1\0"
    "\2\13\1\13\1\13 \0\4@\1\13\13";
static const char map[] =
    "{\"version\":3,\"sources\":[\"a.c\"],\"mappings\":\"uBAAA,SAEA,OACA,EACA,IAEA,EACA\"}";
static const char report[] =
    "\n================================= REPORT CSV FLUSH ====================================\n"
    "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)\n"
    "0, memaddr, entered, u64, i64, script0, f, 0, 1, 0_wasm:func:entry:<no-mode>, 4\n"
    "1, memaddr, times_taken, u64, i64, script0, f, 0, 22, 6_wasm:opcode:if:before, 2\n"
    "2, memaddr, executed, u64, i64, script0, f, 0, 16, 1_wasm:block:start:<no-mode>, 3\n"
    "3, memaddr, executed, u64, i64, script0, f, 0, 24, 1_wasm:block:start:<no-mode>, 3\n";

typedef struct Text {
    const uint8_t *data;
    size_t size;
} Text;

static const void *source(void *ctx, const char *path, size_t *size) {
    const Text *t = ctx;
    (void)path;
    *size = t->size;
    return t->data;
}

static WhammcCoverageTotals cover(Text *text, bool markers) {
    whammc_debug_info info = {.file_name = "a.map", .file = map, .file_size = sizeof map - 1};
    WhammcCoverageOptions options = {
        .no_markers = !markers, .source = source, .ctx = text, .all_files = true};
    WhammcCoverage *c = whammc_coverage_new();
    whammc_coverage_set_module(c, "app.wasm", program, sizeof program - 1);
    whammc_coverage_locate(c, &info);
    if (whammc_coverage_add(c, "report", report, sizeof report - 1) != WHAMMC_OK)
        abort();
    for (WhammcCoverageFormat f = WHAMMC_COVERAGE_TEXT; f <= WHAMMC_COVERAGE_JSON; f++) {
        uint8_t *out;
        size_t size;
        if (whammc_coverage_write(c, f, &options, &out, &size) != WHAMMC_OK)
            abort();
        if (f == WHAMMC_COVERAGE_HTML && memmem(out, size, "<script", 7))
            abort();
        whammc_release(out);
    }
    WhammcCoverageTotals totals = whammc_coverage_totals(c);
    whammc_coverage_free(c);
    return totals;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Text text = {data, size};
    WhammcCoverageTotals with = cover(&text, true), all = cover(&text, false);
    if (with.lines > all.lines || with.lines_executed > all.lines_executed ||
        with.branches > all.branches)
        abort();
    return 0;
}
