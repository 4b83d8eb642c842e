/*
 * runtime/print.c - values as text: strings, tuples and maps in reports, and what scripts print.
 *
 * Maps are printed by ascending keys. For that, the index of a map, which has twice the necessary
 * size, is overwritten with its entries, sorted, and rebuilt afterwards, so printing needs no
 * memory. The map that shows the calling-context tree (tree.h) has the tree's nodes as entries.
 */
#include "memory.h"
#include "tree.h"

/* The depth of nested tuples and maps, which is that of types. */
enum { MAX_NESTING = 40 };

typedef struct Printer {
    FormatOut *out;
    FormatStyle style;
    uint32_t nesting;
    bool in_map;               /* tuples are written without blanks */
    const uint8_t *d, *d_end;  /* the rest of the description */
    const uint8_t *leaf, *end; /* the leaves */
} Printer;

static void print_value(Printer *p);

static void put_word(FormatOut *o, uint64_t word) {
    for (; word; word >>= 8)
        format_byte(o, (uint8_t)word);
}

/* ---- descriptions ---- */

uint32_t format_leaves(const uint8_t *d, uint32_t len) {
    uint32_t leaves = 0, rest = 1;
    for (uint32_t i = 0; rest && i < len; rest--) {
        uint8_t kind = d[i++];
        if (kind == REPORT_TUPLE)
            rest += i < len ? d[i++] : 0;
        else
            leaves++;
    }
    return leaves;
}

/* Skips a description. */
static void skip_description(Printer *p) {
    for (uint32_t rest = 1; rest && p->d < p->d_end; rest--) {
        uint8_t kind = *p->d++;
        if (kind == REPORT_TUPLE)
            rest += p->d < p->d_end ? *p->d++ : 0;
        else if (kind == REPORT_MAP)
            rest += 2;
    }
}

/* ---- strings and tuples ---- */

static uint32_t low32(const uint8_t *leaf) {
    uint32_t v;
    __builtin_memcpy(&v, leaf, sizeof v);
    return v;
}

/* A string object; one that exceeds the memory is empty. */
static const uint8_t *string_bytes(uint32_t s, uint32_t *len) {
    uint64_t end = values_end();
    *len = s + (uint64_t)4 <= end ? get32(s) : 0;
    if (s + (uint64_t)4 + *len > end)
        *len = 0;
    return *len ? at(s + 4) : NULL;
}

static void print_string(Printer *p, uint32_t s) {
    uint32_t len;
    const uint8_t *bytes = string_bytes(s, &len);
    switch (p->style) {
    case FORMAT_STYLE_JSON:
        format_byte(p->out, '"');
        format_json(p->out, bytes, len);
        format_byte(p->out, '"');
        break;
    case FORMAT_STYLE_QUOTED:
        if (p->nesting)
            format_in_quotes(p->out, bytes, len);
        else
            format_quoted(p->out, bytes, len);
        break;
    default:
        if (p->nesting)
            format_csv(p->out, bytes, len); /* rows of tuples and maps remain single lines */
        else
            format_bytes(p->out, bytes, len);
    }
}

static void print_tuple(Printer *p) {
    bool json = p->style == FORMAT_STYLE_JSON;
    uint32_t fields = p->d < p->d_end ? *p->d++ : 0;
    format_byte(p->out, json ? '[' : '(');
    for (uint32_t i = 0; i < fields; i++) {
        if (i) {
            format_byte(p->out, json || p->in_map ? ',' : ';');
            if (!json && !p->in_map)
                format_byte(p->out, ' ');
        }
        print_value(p);
    }
    format_byte(p->out, json ? ']' : ')');
}

/* ---- maps by ascending keys ---- */

static int compare_strings(uint32_t a, uint32_t b) {
    uint32_t a_len, b_len;
    const uint8_t *x = string_bytes(a, &a_len), *y = string_bytes(b, &b_len);
    for (uint32_t i = 0; i < a_len && i < b_len; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return a_len < b_len ? -1 : a_len > b_len;
}

static int compare_keys(const MapHeader *h, uint32_t a, uint32_t b) {
    const uint8_t *d = at(h->type + 4 + 2);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = *d++;
        for (; kind == REPORT_TUPLE; kind = *d++)
            d++;
        uint64_t x = get64(a + 8 * i), y = get64(b + 8 * i);
        if (x == y)
            continue;
        if (kind == REPORT_STR) {
            int order = compare_strings((uint32_t)x, (uint32_t)y);
            if (order)
                return order;
        } else {
            return format_key_order(kind, x) < format_key_order(kind, y) ? -1 : 1;
        }
    }
    return 0;
}

static uint32_t sorted(const MapHeader *h, uint32_t i) {
    return get32(h->index + 4 * i);
}

/* Sifts the entry at `i` down in the heap of the first n. */
static void sift(const MapHeader *h, uint32_t i, uint32_t n) {
    uint32_t entry = sorted(h, i);
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && compare_keys(h, sorted(h, child), sorted(h, child + 1)) < 0)
            child++;
        if (compare_keys(h, entry, sorted(h, child)) >= 0)
            break;
        set32(h->index + 4 * i, sorted(h, child));
    }
    set32(h->index + 4 * i, entry);
}

void values_map_sort(const MapHeader *h) {
    uint32_t each = 8 * ((uint32_t)h->key_leaves + h->value_leaves);
    for (uint32_t i = 0; i < h->count; i++)
        set32(h->index + 4 * i, h->entries + i * each);
    for (uint32_t i = h->count / 2; i-- > 0;)
        sift(h, i, h->count);
    for (uint32_t n = h->count; n-- > 1;) {
        uint32_t last = sorted(h, n);
        set32(h->index + 4 * n, sorted(h, 0));
        set32(h->index, last);
        sift(h, 0, n);
    }
}

enum { WORD_LEAVES = 65 }; /* of a key, whose leaves have a bit at least, and of the value */

/* How the entries of a map are written. */
typedef struct MapText {
    uint64_t key, value[2], end, next; /* words: before the key, the value; after it; between */
} MapText;

/* Prints the next entry of the description and the leaves. */
static void print_entry(Printer *p, const MapText *t, bool first) {
    if (!first)
        put_word(p->out, t->next);
    put_word(p->out, t->key);
    print_value(p);
    put_word(p->out, t->value[0]);
    put_word(p->out, t->value[1]);
    print_value(p);
    put_word(p->out, t->end);
}

/* Before a map's first key, which begins the field unless the map is part of another value. */
static void print_guard(const Printer *p) {
    if (p->style != FORMAT_STYLE_QUOTED || p->nesting > 1 || *p->d != REPORT_STR)
        return;
    uint32_t len;
    const uint8_t *bytes = string_bytes(low32(p->leaf), &len);
    format_guard(p->out, bytes, len, '-'); /* "->" */
}

/* A map of words, which are neither strings nor maps. */
static void print_words(Printer *p, const MapHeader *h, const MapText *t) {
    uint64_t leaves[WORD_LEAVES];
    WordCursor c;
    words_first(h, &c);
    for (uint32_t value, i = 0; (value = words_next(h, &c, leaves)) != 0; i++) {
        leaves[h->key_leaves] = h->slot_log == 3 ? get64(value) : get32(value);
        p->d = at(h->type + 4 + 2);
        p->d_end = at(h->type + 4) + get32(h->type);
        p->leaf = (const uint8_t *)leaves;
        p->end = p->leaf + sizeof leaves;
        print_entry(p, t, i == 0);
    }
}

static void print_sorted(Printer *p, MapHeader *h, const MapText *t) {
    if (h->words) {
        print_words(p, h, t);
        return;
    }
    values_map_sort(h);
    for (uint32_t i = 0; i < h->count; i++) {
        p->d = at(h->type + 4 + 2);
        p->d_end = at(h->type + 4) + get32(h->type);
        p->leaf = at(sorted(h, i));
        p->end = p->leaf + 8 * ((uint32_t)h->key_leaves + h->value_leaves);
        if (i == 0)
            print_guard(p);
        print_entry(p, t, i == 0);
    }
    values_map_reindex(h);
}

/* The kinds of a map from u32 to (u32, u32, u64, u64), the first in the lowest byte. */
#define TREE_KINDS                                                                                 \
    ((uint64_t)REPORT_U32 | REPORT_TUPLE << 8 | 4 << 16 | REPORT_U32 << 24 |                       \
     (uint64_t)REPORT_U32 << 32 | (uint64_t)REPORT_U64 << 40 | (uint64_t)REPORT_U64 << 48)
#define SITE_KINDS ((uint64_t)REPORT_U32 | REPORT_U32 << 8)
enum { TREE_KINDS_LENGTH = 7, SITE_KINDS_LENGTH = 2 };

static void print_tree(Printer *p, const MapText *t, bool sites) {
    uint64_t kinds = sites ? SITE_KINDS : TREE_KINDS, leaves[TREE_LEAVES];
    TreeCursor c = {0};
    while (tree_next(&c, leaves)) {
        if (sites)
            leaves[1] = leaves[TREE_LEAVES - 1];
        p->d = (const uint8_t *)&kinds;
        p->d_end = p->d + (sites ? SITE_KINDS_LENGTH : TREE_KINDS_LENGTH);
        p->leaf = (const uint8_t *)leaves;
        p->end = (const uint8_t *)(leaves + (sites ? 2 : TREE_LEAVES - 1));
        print_entry(p, t, c.number == 1);
    }
}

/* The entries that a map shows: those of the tree, or its own. */
static void print_entries(const Printer *p, uint32_t map, const MapText *t) {
    Printer inner = *p;
    inner.in_map = true;
    TreeShown shown = tree_is_shown(map);
    if (shown != TREE_NOT_SHOWN)
        print_tree(&inner, t, shown == TREE_SITES_SHOWN);
    else
        print_sorted(&inner, values_map_header(map), t);
}

static bool is_empty(uint32_t map) {
    const MapHeader *h = values_map_header(map);
    return tree_is_shown(map) == TREE_NOT_SHOWN && (!h || !h->count);
}

static void print_empty(FormatOut *o) {
    put_word(o, WORD("empty ma"));
    put_word(o, WORD("p"));
}

static void print_map(Printer *p, uint32_t map) {
    bool json = p->style == FORMAT_STYLE_JSON, empty = is_empty(map);
    bool in_braces = !json && p->in_map;
    if (json || in_braces)
        format_byte(p->out, json ? '[' : '{');
    if (empty && !json && !in_braces)
        print_empty(p->out);
    if (!empty && json)
        print_entries(p, map,
                      &(MapText){.key = WORD("{\"key\":"),
                                 .value = {WORD(",\"value\""), WORD(":")},
                                 .end = WORD("}"),
                                 .next = WORD(",")});
    else if (!empty)
        print_entries(p, map, &(MapText){.value = {WORD("->")}, .next = WORD(";")});
    if (json || in_braces)
        format_byte(p->out, json ? ']' : '}');
}

/* ---- values ---- */

static void print_nested(Printer *p, uint8_t kind) {
    p->nesting++;
    if (kind == REPORT_TUPLE) {
        print_tuple(p);
    } else {
        skip_description(p);
        skip_description(p);
        print_map(p, low32(p->leaf));
        p->leaf += 8;
    }
    p->nesting--;
}

static void print_value(Printer *p) {
    if (p->d == p->d_end)
        return;
    uint8_t kind = *p->d++;
    if (kind == REPORT_TUPLE || kind == REPORT_MAP) {
        /* A map that is not nested has four bytes only. */
        if (p->nesting < MAX_NESTING && (kind == REPORT_TUPLE || p->end - p->leaf >= 4))
            print_nested(p, kind);
        return;
    }
    if (p->end - p->leaf < 8 && !(p->nesting == 0 && p->end - p->leaf >= 4))
        return;
    if (kind == REPORT_STR)
        print_string(p, low32(p->leaf));
    else
        format_scalar(p->out, p->style, kind, p->leaf);
    p->leaf += 8;
}

void format_value(FormatOut *o, FormatStyle style, const uint8_t *description, uint32_t len,
                  const uint8_t *leaves, const uint8_t *end) {
    Printer p = {.out = o,
                 .style = style,
                 .d = description,
                 .d_end = description + len,
                 .leaf = leaves,
                 .end = end};
    bool quotes = style == FORMAT_STYLE_QUOTED && len &&
                  (*description == REPORT_TUPLE || *description == REPORT_MAP);
    if (quotes)
        format_byte(o, '"');
    print_value(&p);
    if (quotes)
        format_byte(o, '"');
}

/* ---- text of scripts ---- */

void values_text_before(const uint8_t *image) {
    FormatOut *o = host_text();
    bool own_line = image[1] == FORMAT_STYLE_CSV || image[2] != REPORT_FILE;
    if (!own_line && o->used && o->data[o->used - 1] != '\n')
        format_byte(o, '\n');
    format_flush(o);
}

VALUES_EXPORT(putc)
void values_putc(uint32_t c) {
    format_byte(host_text(), (uint8_t)c);
    if ((uint8_t)c == '\n')
        host_text_line();
}

VALUES_EXPORT(puts)
void values_puts(uint32_t ptr, uint32_t len) {
    bool line = false;
    const uint8_t *bytes = at(ptr);
    for (uint32_t i = 0; i < len; i++)
        line |= bytes[i] == '\n';
    format_bytes(host_text(), bytes, len);
    if (line)
        host_text_line();
}

VALUES_EXPORT(putu8)
void values_putu8(uint32_t v) {
    format_u64(host_text(), (uint8_t)v);
}

VALUES_EXPORT(puti8)
void values_puti8(uint32_t v) {
    format_i64(host_text(), (int8_t)v);
}

VALUES_EXPORT(putu16)
void values_putu16(uint32_t v) {
    format_u64(host_text(), (uint16_t)v);
}

VALUES_EXPORT(puti16)
void values_puti16(uint32_t v) {
    format_i64(host_text(), (int16_t)v);
}

VALUES_EXPORT(putu32)
void values_putu32(uint32_t v) {
    format_u64(host_text(), v);
}

VALUES_EXPORT(puti32)
void values_puti32(uint32_t v) {
    format_i64(host_text(), (int32_t)v);
}

VALUES_EXPORT(putu64)
void values_putu64(uint64_t v) {
    format_u64(host_text(), v);
}

VALUES_EXPORT(puti64)
void values_puti64(uint64_t v) {
    format_i64(host_text(), (int64_t)v);
}

VALUES_EXPORT(putf32)
void values_putf32(float v) {
    uint32_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    format_float(host_text(), bits, false, false);
}

VALUES_EXPORT(putf64)
void values_putf64(double v) {
    uint64_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    format_float(host_text(), bits, true, false);
}

VALUES_EXPORT(putbool)
void values_putbool(uint32_t v) {
    uint8_t leaf[8] = {v != 0};
    format_scalar(host_text(), FORMAT_STYLE_CSV, REPORT_BOOL, leaf);
}

static void end_line(FormatOut *o) {
    format_byte(o, '\n');
    host_text_line();
}

VALUES_EXPORT(print_map)
void values_print_map(uint32_t map) {
    Printer p = {.out = host_text(), .style = FORMAT_STYLE_CSV};
    print_map(&p, map);
    end_line(p.out);
}

/* The texts of a type: after the descriptions, a length and the bytes. */
static void print_type_text(Printer *p) {
    uint32_t len = 0;
    for (uint32_t shift = 0; p->d < p->d_end && shift < 32; shift += 7) {
        len |= (uint32_t)(*p->d & 0x7f) << shift;
        if (*p->d++ < 0x80)
            break;
    }
    if (len > (size_t)(p->d_end - p->d))
        len = (uint32_t)(p->d_end - p->d);
    format_byte(p->out, '(');
    format_bytes(p->out, p->d, len);
    format_byte(p->out, ')');
    p->d += len;
}

/* "key (i32), val ((i32,i32))" */
static void print_types(const Printer *p, uint32_t map) {
    const MapHeader *h = values_map_header(map);
    Printer types = *p;
    put_word(p->out, WORD("key "));
    TreeShown shown = tree_is_shown(map);
    if (shown == TREE_SITES_SHOWN) {
        put_word(p->out, WORD("(i32), v"));
        put_word(p->out, WORD("al (i32)"));
        put_word(p->out, WORD("\n"));
        return;
    }
    if (shown == TREE_SHOWN) {
        put_word(p->out, WORD("(i32), v"));
        put_word(p->out, WORD("al ((i32"));
        put_word(p->out, WORD(",i32,i64"));
        put_word(p->out, WORD(",i64))\n"));
        return;
    }
    types.d = at(h->type + 4 + 2);
    types.d_end = at(h->type + 4) + get32(h->type);
    skip_description(&types);
    skip_description(&types);
    print_type_text(&types);
    put_word(p->out, WORD(", val "));
    print_type_text(&types);
    format_byte(p->out, '\n');
}

VALUES_EXPORT(print_map_as_csv)
void values_print_map_as_csv(uint32_t map) {
    Printer p = {.out = host_text(), .style = FORMAT_STYLE_CSV};
    put_word(p.out, WORD("== map"));
    format_u64(p.out, map);
    put_word(p.out, WORD(" CSV FLU"));
    put_word(p.out, WORD("SH ==\n"));
    if (is_empty(map)) {
        print_empty(p.out);
        end_line(p.out);
        return;
    }
    print_types(&p, map);
    print_entries(&p, map, &(MapText){.value = {WORD(", ")}, .next = WORD("\n")});
    end_line(p.out);
}
