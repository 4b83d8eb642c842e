/*
 * tests/unit/dump_image.c - writes example report images, their values and their native
 * rendering: dump_image DIRECTORY. The files are NAME.image, NAME.values and NAME.expected;
 * test_runtime.mjs gives the first two to the compiled runtimes and compares. Reports with strings,
 * tuples and maps have NAME.memory too: what is in the runtime's memory, for test_values.mjs.
 */
#include "report/image.h"
#include "tests/unit/values_fixture.h"

#include "stdlib/runtime/memory.h"
#include "stdlib/runtime/tree.h"

#include <stdio.h>

enum { SCALARS = REPORT_BOOL + 1 };

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

/* Maps with known keys. */
static void fill_cells(Image *img) {
    static const char keys[] = {REPORT_TUPLE, 2, REPORT_STR, REPORT_I16};
    static const char values[] = {REPORT_TUPLE, 2, REPORT_F64, REPORT_I32};
    static const bool counts[] = {false, true};
    ImageKeyLeaf leaves[40];
    for (uint32_t i = 0; i < 20; i++) {
        leaves[2 * i] = (ImageKeyLeaf){.text = i < 10 ? STR("\xff, \"a\"\n") : STR("b")};
        leaves[2 * i + 1] = (ImageKeyLeaf){.word = (uint32_t)(int32_t)(i % 10) - 5};
    }
    for (uint32_t i = 0; i < 3; i++) {
        ImageCells cells = {.id = i,
                            .key = {keys, sizeof keys},
                            .value = {values, sizeof values},
                            .marked = i == 1,
                            .counts = counts,
                            .leaves = 2,
                            .n = i == 2 ? 0 : 20,
                            .keys = leaves};
        image_cells_row(
            img, image_var(img, REPORT_MAP, STR(""), STR("m"), STR("map"), STR("i32"), STR("s")),
            &cells);
    }
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
    fill_cells(img);
}

enum { COUNTERS = 37, DERIVED = 20 };

/* Words by number: counters and derived ones, nearly in order. */
static ImageWord word_of(void *ctx, uint32_t number) {
    (void)ctx;
    bool derived = number % 3 == 0;
    return (ImageWord){number * 7 / 4 % (derived ? DERIVED : COUNTERS), derived};
}

/* A table of derived words of a few terms, some with a deficit. */
static Buf derived_table(void) {
    Buf table = {0};
    for (uint32_t i = 0; i < DERIVED; i++) {
        uint64_t r = next_random();
        uint32_t terms = r % 4;
        buf_uleb(&table, terms << SUMS_TERMS_SHIFT | (r >> 8 & SUMS_DEFICIT));
        if (r >> 8 & SUMS_DEFICIT)
            buf_uleb(&table, r >> 16 & 15);
        for (uint32_t k = 0; k < terms; k++) {
            uint64_t t = next_random();
            uint32_t derived = i && t & 1 ? SUMS_DERIVED : 0;
            buf_uleb(&table, (derived ? 1 + (t >> 8) % i : (t >> 8) % 9) << SUMS_TERM_SHIFT |
                                 derived | (t >> 4 & SUMS_SUBTRACTED));
        }
    }
    return table;
}

/* Rows that are counted by segments, some together, and room for traps. */
static void fill_counts(Image *img, const Buf *derived) {
    static const ReportKind kinds[] = {REPORT_U8, REPORT_U32, REPORT_I64, REPORT_BOOL};
    uint32_t vars[4], probes[3], pc = 0;
    for (uint32_t i = 0; i < 4; i++)
        vars[i] = image_var(img, kinds[i], STR(""), STR("n"), str_of(kind_names[kinds[i]]),
                            str_of(wasm_type(kinds[i])), STR("script0"));
    for (uint32_t i = 0; i < 3; i++) {
        probes[i] = image_probe(img, STR("1_wasm:opcode:call:before"));
        image_place(img, probes[i], (int32_t)i - 1);
    }
    for (uint32_t i = 0; i < 400; i++) {
        uint64_t r = next_random();
        uint32_t var = vars[i / 100], probe = probes[r % 3];
        pc = i % 40 ? pc + 1 + (r >> 8) % 9 : 5;
        if (i % 100 > 50 && r >> 16 & 1)
            image_same_row(img, var, probe, i / 40, pc);
        else if (r >> 17 & 3)
            image_count_row(img, var, probe, i / 40, pc, &(ImageCount){(r >> 20) % 3, i >= 300, i});
        else
            image_site_row(img, var, probe, i / 40, pc);
    }
    image_script_row(img, vars[2]);
    image_set_counts(img, (ImageCounts){4, COUNTERS, DERIVED, derived, word_of, NULL});
}

/* Records of traps; the last that there is room for is not used. */
static void put_traps(const Image *img, Buf *values) {
    uint64_t at = image_trap_offset(img, 0), end = image_counters_offset(img);
    for (; at < end && end <= image_values_size(img); at += SUMS_TRAP) {
        uint64_t r = next_random();
        uint32_t from = r % 200,
                 record[] = {r >> 8 & 7, from, from + (r >> 12) % 200, 1 + r % 3, r >> 40 & 7, 0};
        record[3] = at + SUMS_TRAP == end ? 0 : record[3];
        memcpy(values->data + at, record, sizeof record);
    }
}

static bool dump(const char *dir, const char *name, const Image *img, ImageOptions options) {
    Buf image = {0}, values = {0}, text = {0};
    for (uint64_t size = image_values_size(img), at = 0; at < size; at += 8)
        buf_u64le(&values, next_random() >> (next_random() % 64));
    put_traps(img, &values);
    bool ok = image_finish(img, &options, &image);
    if (ok) {
        ok = write_file(dir, name, "image", &image) && write_file(dir, name, "values", &values);
        image_render(image.data, (uint32_t)image.len, values.data, &text); /* fills in words */
        ok = ok && write_file(dir, name, "expected", &text);
    }
    buf_free(&image);
    buf_free(&values);
    buf_free(&text);
    return ok;
}

/* ---- with strings, tuples and maps ---- */

/* Strings of some bytes each, maps of four types, at random. */
static uint64_t random_leaf(uint8_t kind) {
    static const char bytes[] = "abc,\"; \\\n\x01\x7f\xc3\xa9\xff";
    uint64_t r = next_random();
    if (kind != REPORT_STR)
        return kind == REPORT_BOOL ? r & 1 : r >> (r % 60);
    char text[8];
    for (uint32_t i = 0; i < sizeof text; i++)
        text[i] = bytes[(r >> 6 * i) % (sizeof bytes - 1)];
    return string((Str){text, (uint32_t)(r >> 56) % 8});
}

/* A map of `n` random entries, or fewer if keys are equal. */
static uint32_t random_map(uint32_t n) {
    static const uint8_t keys[][4] = {
        {REPORT_I32}, {REPORT_STR}, {REPORT_F64}, {REPORT_TUPLE, 2, REPORT_STR, REPORT_U64}};
    static const uint8_t values[][4] = {{REPORT_STR}, {REPORT_TUPLE, 2, REPORT_BOOL, REPORT_F32}};
    uint64_t r = next_random();
    const uint8_t *key = keys[r % 4], *value = values[r / 4 % 2];
    uint32_t map = values_map_new(), type = map_type(key, value);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *k = *key == REPORT_TUPLE ? key + 2 : key;
        const uint8_t *v = *value == REPORT_TUPLE ? value + 2 : value;
        for (uint32_t leaf = 0; leaf < (*key == REPORT_TUPLE ? key[1] : 1u); leaf++)
            values_key(leaf, random_leaf(k[leaf]));
        uint64_t leaves[2] = {random_leaf(v[0]), random_leaf(v[1])};
        uint32_t at = values_map_at(map, type);
        for (uint32_t leaf = 0; leaf < (*value == REPORT_TUPLE ? value[1] : 1u); leaf++)
            values_store64(at + 8 * leaf, leaves[leaf]);
    }
    return map;
}

/* A map that shows a call tree, of several blocks and with a node that has many children. */
static uint32_t tree_map(void) {
    uint64_t now = 1;
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t outer = tree_enter(i % 2, now++), inner = tree_enter(i % 1500, now += i % 7);
        tree_leave(tree_enter(i % 3, now), now + 5);
        if (i % 5)
            tree_leave(inner, now += 3);
        tree_leave(outer, now += 9);
    }
    tree_store(2, now + 1000);
    return 2;
}

/* The memory's bytes, with the state where compiled runtimes have it. */
static bool dump_memory(const char *dir, const char *name) {
    Buf memory = {0};
    uint32_t end;
    memcpy(&end, (const char *)&values_state + VALUES_HEAP, sizeof end);
    buf_bytes(&memory, values_base, end);
    memcpy(memory.data + VALUES_STATE, &values_state, sizeof values_state);
    bool ok = write_file(dir, name, "memory", &memory);
    buf_free(&memory);
    return ok;
}

static bool dump_values(const char *dir, const char *name, ImageOptions options) {
    static const uint8_t tuple[] = {REPORT_TUPLE, 2, REPORT_STR, REPORT_F64};
    Image *img = image_new();
    Buf image = {0}, values = {0}, text = {0};
    Str desc = {(const char *)tuple, sizeof tuple};
    uint32_t vars[] = {
        image_var(img, REPORT_STR, desc, STR("s"), STR("str"), STR("(i32; i32)"), STR("script0")),
        image_var(img, REPORT_MAP, desc, STR("m"), STR("map<K,V>"), STR("i32"), STR("script0")),
        image_var(img, REPORT_TUPLE, desc, STR("t"), STR("(str,f64)"), STR("(i32; i32; f64)"),
                  STR("script0"))};
    uint32_t probe = image_probe(img, STR("1_wasm:opcode:call:before"));
    start();
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t n = 0; n < 15; n++)
            image_site_row(img, vars[i], probe, n, n);
    for (uint32_t n = 0; n < 15; n++)
        buf_u32le(&values, (uint32_t)random_leaf(REPORT_STR));
    buf_u32le(&values, 0);
    for (uint32_t n = 0; n < 15; n++) {
        buf_u64le(&values, random_leaf(REPORT_STR));
        buf_u64le(&values, random_leaf(REPORT_F64));
    }
    for (uint32_t n = 0; n < 15; n++)
        buf_u32le(&values, random_map(n * n * n));
    buf_u32le(&values, 0);
    image_shared_row(img, vars[1], probe);
    buf_u64le(&values, random_map(10));
    image_script_row(img, vars[0]);
    buf_u64le(&values, random_leaf(REPORT_STR));
    image_script_row(img, vars[1]);
    buf_u64le(&values, tree_map());
    image_script_row(img, vars[1]);
    buf_u64le(&values, 1);
    bool ok = values.len == image_values_size(img) && image_finish(img, &options, &image);
    if (ok) {
        image_render(image.data, (uint32_t)image.len, values.data, &text);
        ok = write_file(dir, name, "image", &image) && write_file(dir, name, "values", &values) &&
             write_file(dir, name, "expected", &text) && dump_memory(dir, name);
    }
    end();
    buf_free(&image);
    buf_free(&values);
    buf_free(&text);
    image_free(img);
    return ok;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    Image *empty = image_new(), *small = image_new(), *large = image_new();
    Image *counts = image_new();
    fill(small, 60);
    fill(large, 5000);
    Buf derived = derived_table();
    fill_counts(counts, &derived);
    Str path = STR("report.out"), bad = STR("no/such/dir/report.out");
    bool ok =
        dump(argv[1], "empty", empty, (ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}) &&
        dump(argv[1], "csv", small, (ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}) &&
        dump(argv[1], "json", small, (ImageOptions){.format = IMAGE_JSON, .dest = REPORT_STDERR}) &&
        dump(argv[1], "counts", counts,
             (ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}) &&
        dump(argv[1], "large", large, (ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDERR}) &&
        dump(argv[1], "file", large,
             (ImageOptions){.format = IMAGE_JSON, .dest = REPORT_FILE, .path = path}) &&
        dump(argv[1], "nofile", small,
             (ImageOptions){.format = IMAGE_CSV, .dest = REPORT_FILE, .path = bad}) &&
        dump(argv[1], "quoted", small,
             (ImageOptions){.format = IMAGE_CSV_RFC4180, .dest = REPORT_STDOUT});
    ok =
        ok &&
        dump_values(argv[1], "values-csv",
                    (ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}) &&
        dump_values(argv[1], "values-json",
                    (ImageOptions){.format = IMAGE_JSON, .dest = REPORT_STDERR}) &&
        dump_values(argv[1], "values-quoted",
                    (ImageOptions){.format = IMAGE_CSV_RFC4180, .dest = REPORT_FILE, .path = path});
    buf_free(&derived);
    image_free(empty);
    image_free(small);
    image_free(large);
    image_free(counts);
    return ok ? 0 : 1;
}
