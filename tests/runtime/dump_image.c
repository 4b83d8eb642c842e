/*
 * tests/runtime/dump_image.c - writes example report images, their values and their native
 * rendering: dump_image DIRECTORY. The files are NAME.image, NAME.values and NAME.expected;
 * test_runtime.mjs gives the first two to the compiled runtimes and compares.
 */
#include "report/image.h"

#include <stdio.h>

enum { SCALARS = REPORT_BOOL + 1 };

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 2685821657736338717u;
}

static bool write_file(const char *dir, const char *name, const char *ext, const Buf *b) {
    Buf path = {0};
    buf_printf(&path, "%s/%s.%s", dir, name, ext);
    FILE *f = fopen(buf_cstr(&path), "wb");
    bool ok = f && (b->len == 0 || fwrite(b->data, 1, b->len, f) == b->len);
    if (f && fclose(f) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "cannot write %s\n", buf_cstr(&path));
    buf_free(&path);
    return ok;
}

static const char *const kind_names[SCALARS] = {"u8",  "i8",  "u16", "i16", "u32", "i32",
                                                "f32", "u64", "i64", "f64", "bool"};

static const char *wasm_type(ReportKind kind) {
    if (kind == REPORT_F32 || kind == REPORT_F64)
        return kind == REPORT_F32 ? "f32" : "f64";
    return image_value_size(kind) == 8 ? "i64" : "i32";
}

/* Rows of every kind at random places, several variables and probes, names that need care. */
static void fill(Image *img, uint32_t rows) {
    uint32_t vars[2 * SCALARS], probes[3];
    for (uint32_t i = 0; i < 2 * SCALARS; i++) {
        ReportKind kind = (ReportKind)(i % SCALARS);
        vars[i] = image_var(img, kind, STR(""), i < SCALARS ? STR("count") : STR("other"),
                            str_of(kind_names[kind]), str_of(wasm_type(kind)), STR("script0"));
    }
    probes[0] = image_probe(img, STR("1_wasm:opcode:call:before"));
    probes[1] = image_probe(img, STR("2_wasm:opcode:i32.add:after"));
    probes[2] = image_probe(img, STR("3_wasm:func:entry:<no-mode>"));
    uint32_t fid = 0, pc = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t r = next_random();
        if (r % 16 == 0) {
            fid += 1 + (r >> 8) % 200;
            pc = 0;
        }
        pc += (r >> 20) % (r % 5 ? 9 : 3000);
        for (uint32_t n = 0; n < 1 + (r >> 40) % 3; n++)
            image_site_row(img, vars[next_random() % (2 * SCALARS)], probes[(r >> 50) % 3], fid,
                           pc);
        if (r % 32 == 0) {
            Str odd = r % 64 ? STR("a, \"b\"\\\n\x01") : STR("\xff\xc3\xa9 caf\xc3\xa9");
            image_func(img, fid, r % 96 ? STR("plain") : odd);
        }
    }
    for (uint32_t i = 0; i < SCALARS; i++) {
        image_shared_row(img, vars[i], probes[i % 3]);
        image_script_row(img, vars[i + SCALARS]);
    }
}

static bool dump(const char *dir, const char *name, const Image *img, ImageOptions options) {
    Buf image = {0}, values = {0}, text = {0};
    for (uint64_t size = image_values_size(img), at = 0; at < size; at += 8)
        buf_u64le(&values, next_random() >> (next_random() % 64));
    bool ok = image_finish(img, &options, &image);
    if (ok) {
        image_render(image.data, (uint32_t)image.len, values.data, &text);
        ok = write_file(dir, name, "image", &image) && write_file(dir, name, "values", &values) &&
             write_file(dir, name, "expected", &text);
    }
    buf_free(&image);
    buf_free(&values);
    buf_free(&text);
    return ok;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    Image *empty = image_new(), *small = image_new(), *large = image_new();
    fill(small, 60);
    fill(large, 5000);
    Str path = STR("report.out"), bad = STR("no/such/dir/report.out");
    bool ok = dump(argv[1], "empty", empty, (ImageOptions){IMAGE_CSV, REPORT_STDOUT, {0}}) &&
              dump(argv[1], "csv", small, (ImageOptions){IMAGE_CSV, REPORT_STDOUT, {0}}) &&
              dump(argv[1], "json", small, (ImageOptions){IMAGE_JSON, REPORT_STDERR, {0}}) &&
              dump(argv[1], "large", large, (ImageOptions){IMAGE_CSV, REPORT_STDERR, {0}}) &&
              dump(argv[1], "file", large, (ImageOptions){IMAGE_JSON, REPORT_FILE, path}) &&
              dump(argv[1], "nofile", small, (ImageOptions){IMAGE_CSV, REPORT_FILE, bad});
    image_free(empty);
    image_free(small);
    image_free(large);
    return ok ? 0 : 1;
}
