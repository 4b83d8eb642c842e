/*
 * report/image_cells.c - maps whose keys are known, in images: text that does not depend on values
 * is made here, as stdlib/runtime/print.c of the runtime would make it.
 */
#include "report/image.h"

#include "base/escape.h"

#include <assert.h>

static const uint8_t *skip_tuples(const uint8_t *d) {
    while (*d == REPORT_TUPLE)
        d += 2;
    return d;
}

int image_compare_keys(Str description, const ImageKeyLeaf *a, const ImageKeyLeaf *b) {
    const uint8_t *d = (const uint8_t *)description.ptr;
    uint32_t leaves = format_leaves(d, description.len);
    for (uint32_t i = 0; i < leaves; i++) {
        d = skip_tuples(d);
        uint8_t kind = *d++;
        uint64_t x = format_key_order(kind, a[i].word), y = format_key_order(kind, b[i].word);
        int order = kind == REPORT_STR ? str_order(a[i].text, b[i].text) : (x > y) - (x < y);
        if (order)
            return order;
    }
    return 0;
}

static Str copy_text(Arena *arena, Str s) {
    return (Str){arena_strndup(arena, s.ptr, s.len), s.len};
}

const ImageCells *cells_copy(Arena *arena, const ImageCells *cells) {
    assert(cells->leaves);
    ImageCells *c = arena_new(arena, ImageCells);
    uint64_t n = (uint64_t)cells->n * cells->leaves;
    ImageKeyLeaf *keys = arena_array(arena, ImageKeyLeaf, n + 1);
    for (uint64_t i = 0; i < n; i++)
        keys[i] = cells->keys[i];
    *c = *cells;
    c->keys = keys;
    c->key = copy_text(arena, cells->key);
    c->value = copy_text(arena, cells->value);
    uint32_t leaves = format_leaves((const uint8_t *)c->value.ptr, c->value.len);
    bool *counts = arena_array(arena, bool, leaves + 1);
    for (uint32_t i = 0; i < leaves; i++)
        counts[i] = cells->counts[i];
    c->counts = counts;
    return c;
}

static uint32_t value_leaves(const ImageCells *cells) {
    return format_leaves((const uint8_t *)cells->value.ptr, cells->value.len);
}

uint64_t cells_bytes(const ImageCells *cells) {
    return (uint64_t)cells->n * 8 * (value_leaves(cells) + cells->marked);
}

/* ---- text ---- */

/* Text with placeholders for leaves. */
typedef struct Pattern {
    Buf *out;
    ImageFormat format;
    const uint8_t *d;
    const ImageKeyLeaf *key; /* the leaf that follows; NULL: text is cut where leaves are */
    const bool *counts;
    Buf text; /* before the next leaf */
} Pattern;

static void image_cells_put_text(Buf *out, Buf *text) {
    buf_vec(out, text);
    text->len = 0;
}

static void put_scalar(Pattern *p, uint8_t kind, uint64_t word) {
    uint8_t bytes[8];
    for (uint32_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
    FormatOut o;
    o.sink = &p->text;
    o.used = 0;
    format_scalar(&o, (FormatStyle)p->format, kind, bytes);
    format_flush(&o);
}

static void image_cells_put_string(Pattern *p, Str s) {
    switch (p->format) {
    case IMAGE_JSON: escape_json_string(&p->text, s); break;
    case IMAGE_CSV_RFC4180: escape_in_quotes(&p->text, s); break;
    default: escape_csv(&p->text, s);
    }
}

static void image_cells_put_leaf(Pattern *p, uint8_t kind) {
    if (!p->key) {
        buf_u8(p->out, (uint8_t)(kind | (*p->counts++ ? FORMAT_LEAF_COUNTS : 0)));
        image_cells_put_text(p->out, &p->text);
        return;
    }
    if (kind == REPORT_STR)
        image_cells_put_string(p, p->key->text);
    else
        put_scalar(p, kind, p->key->word);
    p->key++;
}

static void image_cells_put_value(Pattern *p) {
    bool json = p->format == IMAGE_JSON;
    uint8_t kind = *p->d++;
    if (kind != REPORT_TUPLE) {
        image_cells_put_leaf(p, kind);
        return;
    }
    uint32_t fields = *p->d++;
    buf_u8(&p->text, json ? '[' : '(');
    for (uint32_t i = 0; i < fields; i++) {
        if (i)
            buf_u8(&p->text, ',');
        image_cells_put_value(p);
    }
    buf_u8(&p->text, json ? ']' : ')');
}

/* The text around entries: `[{"key":K,"value":V},{"key":K,"value":V}]`. */
typedef struct Frame {
    const char *empty, *first, *next, *last, *value;
} Frame;

static const Frame frames[] = {
    [IMAGE_CSV] = {"empty map", "", ";", "", "->"},
    [IMAGE_JSON] = {"[]", "[{\"key\":", "},{\"key\":", "}]", ",\"value\":"},
    [IMAGE_CSV_RFC4180] = {"\"empty map\"", "\"", ";", "\"", "->"},
};

static void put_joined(Buf *out, const Buf *before, const char *text) {
    buf_uleb(out, before->len + strlen(text));
    buf_bytes(out, before->data, before->len);
    buf_str(out, str_of(text));
}

void cells_put(const ImageCells *cells, ImageFormat format, Buf *out) {
    const Frame *f = &frames[format];
    Buf leaves = {0};
    Pattern p = {.out = &leaves,
                 .format = format,
                 .d = (const uint8_t *)cells->value.ptr,
                 .counts = cells->counts};
    buf_str(&p.text, str_of(f->value));
    image_cells_put_value(&p); /* the text after the last leaf is left */
    /* A key that is text begins the field of the first entry. */
    bool guarded = format == IMAGE_CSV_RFC4180 && *cells->key.ptr == REPORT_STR;
    buf_u8(out, (uint8_t)((cells->marked ? FORMAT_CELLS_MARKED : 0) |
                          (guarded ? FORMAT_CELLS_GUARDED : 0)));
    buf_name(out, str_of(f->empty));
    buf_name(out, str_of(f->first));
    put_joined(out, &p.text, f->next);
    put_joined(out, &p.text, f->last);
    buf_uleb(out, value_leaves(cells));
    buf_bytes(out, leaves.data, leaves.len);
    buf_uleb(out, cells->n);
    for (uint32_t i = 0; i < cells->n; i++) {
        p.text.len = 0;
        p.d = (const uint8_t *)cells->key.ptr;
        p.key = cells->keys + (size_t)i * cells->leaves;
        if (guarded)
            buf_u8(&p.text, escape_is_guarded(p.key->text, *f->value) ? '\'' : 0);
        image_cells_put_value(&p);
        image_cells_put_text(out, &p.text);
    }
    buf_free(&p.text);
    buf_free(&leaves);
}

void cells_put_derived(ReportKind kind, ImageFormat format, Buf *out) {
    enum { AROUND = 3 }; /* the texts around entries */
    Str text = kind != REPORT_F64 ? STR("0") : format == IMAGE_JSON ? STR("\"NaN\"") : STR("NaN");
    buf_u8(out, 0);
    buf_name(out, text);
    for (uint32_t i = 0; i < AROUND; i++)
        buf_name(out, STR(""));
    buf_uleb(out, 1); /* a leaf, without text before it */
    buf_u8(out, REPORT_U32);
    buf_name(out, STR(""));
    buf_uleb(out, 0);
}
