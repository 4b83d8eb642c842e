/*
 * tests/fuzz/fuzz_report.c - fuzz target: the reader of reports, and the tables and other formats
 * made from what it reads, or the printer of images. The first two bytes choose what and the
 * table's options.
 */
#include "view/demangle.h"
#include "report/image.h"
#include "report/table.h"
#include "report/value.h"
#include "view/view.h"
#include "report/report_write.h"
#include "stdlib/runtime/values.h"

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
    free(values);
}

/* Every view of the calls in a report. */
static void show_profiles(const Report *r, uint32_t top, Buf *out) {
    Places none = {0};
    Profile arcs = {0}, tree = {0};
    ProfileVariables any = {0};
    if (profile_read_arcs(&arcs, r, any)) {
        profile_name(&arcs, r, &none, true);
        view_gprof(&arcs, top, out);
        view_dot(&arcs, top, out);
    }
    if (profile_read_tree(&tree, r, any)) {
        profile_name(&tree, r, &none, false);
        view_folded(&tree, out);
        view_svg(&tree, STR("<title>"), out);
        view_speedscope(&tree, STR("\"title\""), out);
        view_cpuprofile(&tree, out);
    }
    profile_free(&arcs);
    profile_free(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    Report r = {0};
    Buf text = {0}, out = {0};
    TableOptions options = {
        .top = data[0] >> 4, .width = data[1], .colour = data[0] & 1, .ascii = data[0] & 2};
    Str input = {(const char *)data + 2, (uint32_t)(size - 2)};
    if (input.len && data[2] == FORMAT_VERSION) {
        print(data + 2, input.len, data[1], &text);
        input = (Str){(const char *)text.data, (uint32_t)text.len};
    }
    report_read(&r, input, data[0] >> 2 & 3);
    table_print(&r, &options, &out);
    value_unify(&r);
    write_report(&r, (WriteForm)(data[0] % 3), &out);
    show_profiles(&r, data[0] >> 4, &out);
    demangle_report(&r);
    table_print(&r, &options, &out);
    buf_free(&out);
    buf_free(&text);
    report_free(&r);
    return 0;
}
