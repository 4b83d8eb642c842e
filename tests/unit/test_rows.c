/*
 * tests/unit/test_rows.c - reports that monitors make of their records are those that the compiler
 * makes of the same rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/image.h"
#include "values_fixture.h"

#include "stdlib/runtime/rows.c"

enum {
    MAX_VARS = 12,
    MAX_PROBES = 6,
    MAX_CLASSES = 8,
    MAX_FIELDS = 6,
    MAX_SITES = 600,
    FUNCS = 40
};

/* ---- the program whose functions have names ---- */

static Str names[FUNCS];

uint32_t reflect_read_function_name(uint32_t fid, uint32_t to, uint32_t len) {
    Str name = fid < FUNCS ? names[fid] : STR("");
    for (uint32_t i = 0; i < len && i < name.len; i++)
        values_store8(to + i, (uint8_t)name.ptr[i]);
    return name.len;
}

/* Functions without a name that are exported. */
static const Str exported = {"out", 3};
static uint32_t exported_at; /* a str in the memory; 0 = none is */

uint32_t site_export_name(uint32_t fid) {
    return fid % 3 == 1 ? exported_at : 0;
}

static uint32_t put_in_memory(const Buf *b) {
    uint32_t to = values_block(b->len + 1);
    if (b->len)
        memcpy(at(to), b->data, b->len);
    return to;
}

static void put_exported(void) {
    Buf text = {0};
    buf_u32le(&text, exported.len);
    buf_str(&text, exported);
    exported_at = put_in_memory(&text);
    buf_free(&text);
}

static Str shown_name(uint32_t fid) {
    return names[fid].len ? names[fid] : fid % 3 == 1 ? exported : STR("");
}

static uint32_t below(uint32_t n) {
    return (uint32_t)(next_random() >> 33) % n;
}

/* Names with all that has to be escaped, some longer than a piece; `plain` ones for those who look
 * for lines. */
static void make_names(bool plain) {
    static const char *const parts[] = {"a",
                                        "\xe2\x82\xac",
                                        "\xff",
                                        "\"",
                                        ",",
                                        "\\",
                                        "\t",
                                        "\n",
                                        "\x80\x80\x80\x80\x80\x80",
                                        "\xf0\x9f\x98\x80",
                                        "f(x)"};
    for (uint32_t i = 0; i < FUNCS; i++) {
        Buf b = {0};
        uint32_t n = below(4) ? below(5) : below(8) ? 0 : below(2000);
        for (uint32_t k = 0; k < n; k++) {
            const char *part = plain ? "ab" : parts[below(sizeof parts / sizeof *parts)];
            buf_bytes(&b, part, strlen(part));
        }
        names[i] = (Str){(const char *)b.data, (uint32_t)b.len}; /* freed by free_names */
    }
}

static void free_names(void) {
    for (uint32_t i = 0; i < FUNCS; i++)
        free((char *)names[i].ptr);
}

/* ---- a model of a monitor ---- */

typedef struct ModelVar {
    ReportKind kind;
    uint32_t id, group, bytes;
} ModelVar;

typedef struct ModelClass {
    RowsRank rank;
    uint32_t nfields, address;
    ImageField fields[MAX_FIELDS];
} ModelClass;

typedef struct ModelSite {
    uint32_t class_, fid, pc, order, record, number;
} ModelSite;

typedef struct Model {
    Image *img;
    uint32_t nvars, nprobes, nclasses, nsites;
    ModelVar vars[MAX_VARS];
    ModelClass classes[MAX_CLASSES];
    ModelSite sites[MAX_SITES];
    Buf tail;
} Model;

static const uint8_t *const tuples[] = {
    DESC(PAIR(REPORT_I32, REPORT_U64)),
    DESC(TRIPLE(REPORT_BOOL, REPORT_STR, REPORT_F32)),
};
static const uint32_t tuple_len[] = {4, 5}, tuple_leaves[] = {2, 3};

static void make_var(Model *m) {
    static const char *const types[] = {"(i32,u64)", "(bool,str,f32)"};
    ModelVar *v = &m->vars[m->nvars];
    v->kind = (ReportKind)below(REPORT_KINDS);
    if (v->kind == REPORT_FUNCREF || v->kind == REPORT_MAP)
        v->kind = REPORT_TUPLE;
    uint32_t t = below(2);
    Str description = {(const char *)tuples[t], tuple_len[t]};
    char name[16];
    snprintf(name, sizeof name, "v%u", m->nvars);
    v->id = image_var(m->img, v->kind, description, str_of(name),
                      v->kind == REPORT_TUPLE ? str_of(types[t]) : STR("type"), STR("wasm"),
                      STR("script0"));
    v->group = image_group(m->img, v->id);
    v->bytes = v->kind == REPORT_TUPLE ? 8 * tuple_leaves[t] : image_value_size(v->kind);
    m->nvars++;
}

static void make_class(Model *m) {
    ModelClass *c = &m->classes[m->nclasses++];
    *c = (ModelClass){.rank = (RowsRank)below(3), .nfields = below(MAX_FIELDS + 1)};
    uint32_t probe = below(m->nprobes);
    for (uint32_t i = 0; i < c->nfields; i++) {
        bool hidden = !below(5);
        c->fields[i] = (ImageField){.var = hidden ? IMAGE_HIDDEN : below(m->nvars),
                                    .probe = below(3) ? probe : below(m->nprobes),
                                    .bytes = below(2) ? 4 : 8 * (1 + below(3))};
    }
    Buf b = {0};
    image_class(m->img, c->rank, c->fields, c->nfields, &b);
    c->address = values_block(b.len);
    memcpy(at(c->address), b.data, b.len);
    buf_free(&b);
}

static uint32_t random_leaf(uint8_t kind) {
    static const char *const texts[] = {"", "x", "a, \"b\"", "long enough for two words"};
    return kind == REPORT_STR ? string(str_of(texts[below(4)])) : (uint32_t)next_random();
}

/* The bytes of a random value, as value areas have them. */
static void put_value(const ModelVar *v, Buf *out) {
    if (v->kind != REPORT_TUPLE) {
        buf_u32le(out, random_leaf(v->kind));
        if (v->bytes == 8)
            buf_u32le(out, (uint32_t)next_random());
        return;
    }
    for (uint32_t i = 0; i < v->bytes / 8; i++) {
        buf_u32le(out, random_leaf(v->bytes == 24 && i == 1 ? REPORT_STR : REPORT_I32));
        buf_u32le(out, 0);
    }
}

static void make_tail(Model *m) {
    for (uint32_t i = below(5); i; i--) {
        const ModelVar *v = &m->vars[below(m->nvars)];
        if (below(2))
            image_shared_row(m->img, v->id, below(m->nprobes));
        else
            image_script_row(m->img, v->id);
        put_value(v, &m->tail);
        while (m->tail.len % 8)
            buf_u8(&m->tail, 0);
    }
}

/* The order of rows. */
static int compare_sites(const void *a, const void *b) {
    const ModelSite *x = a, *y = b;
    if (x->fid != y->fid)
        return x->fid < y->fid ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static const ModelSite *same_exit(const Model *m, const ModelSite *s) {
    for (uint32_t i = 0; i < m->nsites; i++)
        if (m->sites[i].class_ == s->class_ && m->sites[i].fid == s->fid)
            return &m->sites[i];
    return NULL;
}

/* Asks for a record, and what it is to be like. */
static void add_site(Model *m, uint32_t class_, uint32_t fid, uint32_t pc) {
    ModelSite s = {.class_ = class_, .fid = fid, .pc = pc, .number = m->nsites};
    const ModelClass *c = &m->classes[class_];
    s.record = rows_site(c->address, fid, pc);
    assert_int_equal(s.record % 8, 0);
    const ModelSite *same = c->rank == ROWS_EXIT ? same_exit(m, &s) : NULL;
    if (same) {
        assert_int_equal(s.record, same->record);
        return;
    }
    uint32_t bytes = values_load32(c->address);
    for (uint32_t i = 0; i < bytes; i++)
        assert_int_equal(values_load8(s.record + i), 0);
    assert_true(m->nsites < MAX_SITES);
    m->sites[m->nsites++] = s;
}

/* As engines go through a program: functions, entry first, then by pc, in places all classes. */
static void walk(Model *m, uint32_t first, uint32_t step) {
    uint32_t pc;
    for (uint32_t fid = first; fid < FUNCS && m->nsites < MAX_SITES / 2; fid += 1 + below(step)) {
        for (uint32_t i = 0; i < m->nclasses; i++)
            if (m->classes[i].rank == ROWS_ENTRY)
                add_site(m, i, fid, 0);
        pc = 1;
        for (uint32_t n = below(12); n; n--, pc += below(4) ? 1 + below(9) : below(1u << 20))
            for (uint32_t i = 0; i < m->nclasses; i++)
                if (m->classes[i].rank != ROWS_ENTRY && below(3) == 0)
                    add_site(m, i, fid, pc);
    }
}

/* In no order; each place once a class. */
static void scatter(Model *m) {
    for (uint32_t i = 0; i < MAX_SITES / 2; i++)
        add_site(m, below(m->nclasses), below(FUNCS), i * 7919 % 10007);
}

/* What decides between two sites of a function: rank, pc, class. */
static void number_sites(Model *m) {
    for (uint32_t i = 0; i < m->nsites; i++) {
        ModelSite *s = &m->sites[i];
        for (uint32_t k = 0; k < m->nsites; k++) {
            const ModelSite *o = &m->sites[k];
            RowsRank own = m->classes[s->class_].rank, other = m->classes[o->class_].rank;
            bool before = other != own     ? other < own
                          : o->pc != s->pc ? o->pc < s->pc
                                           : o->class_ < s->class_;
            s->order += o->fid == s->fid && before;
        }
    }
    qsort(m->sites, m->nsites, sizeof *m->sites, compare_sites);
}

/* ---- both reports ---- */

static void fill_records(const Model *m) {
    for (uint32_t i = 0; i < m->nsites; i++) {
        const ModelClass *c = &m->classes[m->sites[i].class_];
        for (uint32_t f = 0; f < c->nfields; f++) {
            const ImageField *field = &c->fields[f];
            uint32_t to = m->sites[i].record + field->offset;
            assert_true(field->offset + field->bytes <= values_load32(c->address));
            if (field->var == IMAGE_HIDDEN) {
                memset(at(to), 0xa5, field->bytes);
                continue;
            }
            Buf value = {0};
            put_value(&m->vars[field->var], &value);
            assert_int_equal(value.len, field->bytes);
            memcpy(at(to), value.data, value.len);
            buf_free(&value);
        }
    }
}

/* What the compiler makes of the rows. */
static void expected_report(const Model *m, const ImageOptions *options, Buf *out) {
    Image *img = m->img;
    Buf image = {0}, *groups = mem_zalloc(sizeof *groups * 64);
    for (uint32_t i = 0; i < FUNCS; i++)
        image_func(img, i, shown_name(i));
    for (uint32_t i = 0; i < m->nsites; i++) {
        const ModelSite *s = &m->sites[i];
        const ModelClass *c = &m->classes[s->class_];
        for (uint32_t f = 0; f < c->nfields; f++) {
            const ImageField *field = &c->fields[f];
            if (field->var == IMAGE_HIDDEN)
                continue;
            image_site_row(img, m->vars[field->var].id, field->probe, s->fid, s->pc);
            buf_bytes(&groups[m->vars[field->var].group], at(s->record + field->offset),
                      field->bytes);
        }
    }
    uint64_t size = image_values_size(img);
    uint8_t *values = mem_zalloc(size + 1);
    for (uint32_t g = 0; g < 64; g++) {
        if (groups[g].len)
            memcpy(values + image_group_offset(img, g), groups[g].data, groups[g].len);
        buf_free(&groups[g]);
    }
    if (m->tail.len)
        memcpy(values + image_tail_offset(img, 0), m->tail.data, m->tail.len);
    assert_true(image_finish(img, options, &image));
    image_render(image.data, (uint32_t)image.len, values, out);
    free(values);
    free(groups);
    buf_free(&image);
}

/* The ids of shared rows count those of sites, which skeletons do not know. */
static void blot_ids(Buf *b) {
    static const char json[] = "{\"id\":";
    enum { LENGTH = sizeof json - 1 };
    Buf blotted = {0};
    bool id = true;
    for (size_t i = 0; i < b->len; i++) {
        id |= i >= LENGTH && memcmp(b->data + i - LENGTH, json, LENGTH) == 0;
        id &= b->data[i] >= '0' && b->data[i] <= '9';
        if (!id)
            buf_u8(&blotted, b->data[i]);
        id |= b->data[i] == '\n';
    }
    buf_free(b);
    *b = blotted;
}

static void assert_same(const Buf *got, const Buf *expected) {
    size_t i = 0;
    while (i < got->len && i < expected->len && got->data[i] == expected->data[i])
        i++;
    if (i == got->len && i == expected->len)
        return;
    size_t from = i < 60 ? 0 : i - 60, n = got->len - from, m = expected->len - from;
    fail_msg("at byte %zu, got: ...%.*s, expected: ...%.*s", i, (int)(n < 200 ? n : 200),
             (const char *)got->data + from, (int)(m < 200 ? m : 200),
             (const char *)expected->data + from);
}

static void compare_reports(Model *m, ImageFormat format, bool tail) {
    ImageOptions options = {.format = format, .dest = REPORT_STDOUT};
    Buf skeleton = {0}, got = {0}, again = {0}, expected = {0};
    assert_true(image_skeleton(m->img, &options, &skeleton));
    uint32_t address = put_in_memory(&skeleton), values = put_in_memory(&m->tail);
    fill_records(m);
    image_text_to(&got);
    rows_report(address, (uint32_t)skeleton.len, values, (uint32_t)m->tail.len);
    uint32_t heap = values_mem_alloc(8);
    image_text_to(&again);
    rows_report(address, (uint32_t)skeleton.len, values, (uint32_t)m->tail.len);
    assert_in_range(values_mem_alloc(8), heap, heap + 16); /* the second took no further memory */
    image_text_to(NULL);
    number_sites(m);
    expected_report(m, &options, &expected);
    assert_same(&again, &got);
    if (tail) {
        blot_ids(&got);
        blot_ids(&expected);
    }
    assert_same(&got, &expected);
    buf_free(&skeleton);
    buf_free(&got);
    buf_free(&again);
    buf_free(&expected);
}

typedef enum Order { WALK, WALK_TWICE, SCATTER, NONE, ORDERS } Order;

static void one_monitor(uint64_t number, ImageFormat format, Order order, bool tail) {
    start();
    seed += number * 0x9e3779b97f4a7c15u;
    rows_state = (Rows){0};
    make_names(tail);
    put_exported();
    Model *m = mem_zalloc(sizeof *m);
    m->img = image_new();
    for (uint32_t n = 1 + below(MAX_VARS); m->nvars < n;)
        make_var(m);
    for (uint32_t n = 1 + below(MAX_PROBES); m->nprobes < n; m->nprobes++) {
        char id[24];
        snprintf(id, sizeof id, "%u_wasm:x:y", m->nprobes);
        image_probe(m->img, str_of(id));
    }
    for (uint32_t n = 1 + below(MAX_CLASSES); m->nclasses < n;)
        make_class(m);
    if (tail)
        make_tail(m);
    if (order == WALK || order == WALK_TWICE)
        walk(m, below(3), 4);
    if (order == WALK_TWICE) /* odd functions, and even ones that it came across before */
        walk(m, 0, 1);
    if (order == SCATTER)
        scatter(m);
    compare_reports(m, format, tail);
    image_free(m->img);
    buf_free(&m->tail);
    free(m);
    free_names();
    end();
}

static void test_same_reports(void **state) {
    (void)state;
    static const ImageFormat formats[] = {IMAGE_CSV, IMAGE_JSON, IMAGE_CSV_RFC4180};
    for (uint32_t i = 0; i < 240; i++)
        one_monitor(i, formats[i % 3], (Order)(i / 3 % ORDERS), i / 12 % 2);
}

/* As many records as large programs have sites: made, sorted and printed without a wait. */
static void test_many(void **state) {
    (void)state;
    enum { MANY = 400000 };
    start();
    rows_state = (Rows){0};
    exported_at = 0;
    Image *img = image_new();
    uint32_t var = image_var(img, REPORT_I32, STR(""), STR("n"), STR("i32"), STR("i32"), STR("s"));
    uint32_t probe = image_probe(img, STR("0_p"));
    ImageField field = {.var = var, .probe = probe};
    Buf c = {0}, e = {0}, skeleton = {0}, text = {0};
    image_class(img, ROWS_INSTR, &field, 1, &c);
    image_class(img, ROWS_EXIT, &field, 1, &e);
    uint32_t instr = put_in_memory(&c), exit = put_in_memory(&e);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t fid = FUNCS + i / 40;
        values_store32(rows_site(instr, fid, i % 40), i);
        if (i % 10 == 0)
            values_store32(rows_site(exit, fid, 50), 7);
    }
    ImageOptions options = {.format = IMAGE_CSV, .dest = REPORT_STDOUT};
    assert_true(image_skeleton(img, &options, &skeleton));
    uint32_t address = put_in_memory(&skeleton);
    image_text_to(&text);
    rows_report(address, (uint32_t)skeleton.len, 0, 0);
    uint32_t lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    assert_int_equal(lines, 3 + MANY + MANY / 40);
    image_text_to(NULL);
    buf_free(&c);
    buf_free(&e);
    buf_free(&skeleton);
    buf_free(&text);
    image_free(img);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_reports),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
