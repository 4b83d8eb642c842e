/*
 * tests/fuzz/fuzz_report.c - fuzz target: the reader of reports, and all that the library makes of
 * what it reads, also coverage; or the printer of images. The first two bytes choose what and the
 * options.
 */
#include "report/image.h"
#include "stdlib/runtime/values.h"
#include "whammc/coverage.h"
#include "whammc/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What an image prints, with values that are all `fill`. */
static void print(const uint8_t *image, uint32_t len, uint8_t fill, Buf *out) {
    enum { MOST = 1 << 16, MEMORY = 1 << 18 };
    uint32_t bytes = 0;
    if (len >= FORMAT_HEADER)
        memcpy(&bytes, image + FORMAT_VALUES, sizeof bytes);
    if (bytes > MOST)
        return;
    uint8_t *values = malloc(bytes + 1u);
    if (!values)
        return;
    memset(values, fill, bytes);
    values_native_memory(MEMORY);
    image_render(image, len, values, out);
    values_native_memory(0);
    WhammcReport *r = whammc_report_new();
    whammc_report_read_image(r, "image", image, len, values, bytes);
    whammc_report_free(r);
    free(values);
}

static uint64_t count_parts(const WhammcValue *v) {
    uint64_t n = 1;
    if (v->kind >= WHAMMC_VALUE_TUPLE && v->kind <= WHAMMC_VALUE_BUCKETS)
        for (size_t i = 0; i < v->size; i++)
            n += count_parts(&v->as.parts[i]);
    return n;
}

/* All that a report has, as data. */
static uint64_t look(WhammcReport *r) {
    size_t rows, variables;
    const WhammcProfile *p;
    whammc_report_rows(r, &rows);
    whammc_report_variables(r, &variables);
    uint64_t n = variables;
    for (size_t i = 0; i < rows; i++)
        n += count_parts(whammc_report_value(r, i));
    if (whammc_report_profile(r, WHAMMC_PROFILE_CALLS, NULL, &p) == WHAMMC_OK)
        n += p->narcs;
    if (whammc_report_profile(r, WHAMMC_PROFILE_TREE, NULL, &p) == WHAMMC_OK)
        n += p->nnodes;
    return n;
}

/* A function with a br_table, an if and nops, and its source map: as in test_coverage_api.c. */
static const char program[] =
    "\0asm\1\0\0\0\1\5\1`\1\177\0\3\2\1\0\12\35\1\33\0\2@\2@\2@ \0\16\3\0\1\0"
    "\2\13\1\13\1\13 \0\4@\1\13\13";
static const char map[] =
    "{\"version\":3,\"sources\":[\"a.c\"],\"mappings\":\"uBAAA,SAEA,OACA,EACA,IAEA,EACA\","
    "\"sourcesContent\":[\"f\\n\\nswitch\\na\\nb // LCOV_EXCL_LINE\\n\\nif\\nthen\\n\"]}";

static void cover(const void *text, size_t size, bool markers) {
    whammc_debug_info info = {.file_name = "a.map", .file = map, .file_size = sizeof map - 1};
    WhammcCoverageOptions options = {.no_markers = !markers};
    WhammcCoverage *c = whammc_coverage_new();
    whammc_coverage_set_module(c, "app.wasm", program, sizeof program - 1);
    whammc_coverage_locate(c, &info);
    whammc_coverage_add(c, "report", text, size);
    whammc_coverage_add(c, "again", text, size);
    for (WhammcCoverageFormat f = WHAMMC_COVERAGE_TEXT; f <= WHAMMC_COVERAGE_JSON; f++) {
        uint8_t *out;
        size_t written;
        if (whammc_coverage_write(c, f, &options, &out, &written) != WHAMMC_OK)
            whammc_coverage_messages(c, 0);
        whammc_release(out);
    }
    whammc_coverage_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    Buf text = {0};
    const void *input = data + 2;
    size -= 2;
    if (size && data[2] == FORMAT_VERSION) {
        print(data + 2, (uint32_t)size, data[1], &text);
        input = text.data;
        size = text.len;
    }
    WhammcReportOptions options = {.top = data[0] >> 4,
                                   .width = data[1],
                                   .colour = data[0] & 1,
                                   .ascii = data[0] & 2,
                                   .mangled = data[1] & 1,
                                   .by = (WhammcReportBy)(data[1] >> 1 & 3),
                                   .sort = (WhammcReportSort)((data[1] >> 3 & 3) % 3),
                                   .nonzero = data[1] & 32,
                                   .hex = data[1] & 64,
                                   .lines = data[1] & 128,
                                   .inlined = data[1] & 16,
                                   .title = "<\"title\">"};
    whammc_debug_info info = {.file_name = "a.map", .file = map, .file_size = sizeof map - 1};
    WhammcReport *r = whammc_report_new();
    if (data[0] & 8)
        whammc_report_set_module(r, "app.wasm", program, sizeof program - 1);
    whammc_report_locate(r, &info);
    whammc_report_read(r, "report", input, size, data[0] >> 2 & 3);
    for (WhammcReportFormat f = WHAMMC_REPORT_TABLE; f <= WHAMMC_REPORT_PERFETTO; f++) {
        uint8_t *out;
        size_t written;
        if (whammc_report_write(r, f, &options, &out, &written) != WHAMMC_OK)
            whammc_report_messages(r, 0);
        whammc_release(out);
    }
    if (look(r) > UINT64_MAX / 2)
        abort();
    if (data[1] & 4) /* half of it with all of it, and without it again */
        whammc_report_read(r, "half", input, size / 2, 0);
    if (whammc_report_add(r, "again", input, size, 0) == WHAMMC_OK &&
        whammc_report_subtract(r, "again", input, size, 0) == WHAMMC_OK && look(r) > UINT64_MAX / 2)
        abort();
    whammc_report_free(r);
    cover(input, size, data[0] & 4);
    buf_free(&text);
    return 0;
}
