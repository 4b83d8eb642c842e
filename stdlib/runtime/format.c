/*
 * runtime/format.c - decodes a report image row by row and prints it. The image's layout is in
 * format.h.
 */
#include "format.h"

/* Whether values can be more than scalars. */
#if defined VALUES || !defined __wasm__
enum { WITH_VALUES = true };
#else
enum { WITH_VALUES = false };
#endif

/* ---- output ---- */

void format_byte(FormatOut *o, uint8_t byte) {
    if (o->used == FORMAT_OUT_SIZE)
        format_flush(o);
    o->data[o->used++] = byte;
}

void format_bytes(FormatOut *o, const uint8_t *p, uint32_t len) {
    while (len) {
        if (o->used == FORMAT_OUT_SIZE)
            format_flush(o);
        uint32_t room = FORMAT_OUT_SIZE - o->used, n = len < room ? len : room;
        __builtin_memcpy(o->data + o->used, p, n);
        o->used += n;
        p += n;
        len -= n;
    }
}

/* ---- reading; past the end everything is 0 ---- */

typedef struct Reader {
    const uint8_t *at, *end;
} Reader;

static Reader reader_at(const uint8_t *image, uint32_t size, uint32_t offset) {
    return (Reader){image + (offset < size ? offset : size), image + size};
}

static uint64_t read_uleb(Reader *r) {
    uint64_t v = 0;
    for (uint32_t shift = 0; r->at < r->end && shift < 64; shift += 7) {
        uint8_t byte = *r->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return v;
}

static const uint8_t *read_text(Reader *r, uint32_t *len) {
    uint64_t n = read_uleb(r), rest = (uint64_t)(r->end - r->at);
    *len = (uint32_t)(n < rest ? n : rest);
    const uint8_t *text = r->at;
    r->at += *len;
    return text;
}

static uint32_t load32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t load64(const uint8_t *p) {
    return load32(p) | (uint64_t)load32(p + 4) << 32;
}

const uint8_t *format_text(const uint8_t *image, uint32_t size, FormatField field, uint32_t *len) {
    Reader r = reader_at(image, size, load32(image + field));
    return read_text(&r, len);
}

/* ---- rows ---- */

typedef struct Report {
    FormatOut *out;
    const uint8_t *image;
    uint32_t size;
    FormatStyle style;
    const uint8_t *start, *value, *end; /* the values; the next one */
    Reader names;                       /* after the function name that was read last */
    uint32_t name_fid;                  /* its index */
    const uint8_t *name;                /* NULL: none read yet */
    uint32_t name_len;
    const uint8_t *traps; /* what was counted too often */
    uint32_t ntraps;
} Report;

static void print_text_at(const Report *p, uint32_t offset) {
    Reader r = reader_at(p->image, p->size, offset);
    uint32_t len;
    const uint8_t *text = read_text(&r, &len);
    format_bytes(p->out, text, len);
}

static void print_field(const Report *p, FormatField field) {
    print_text_at(p, load32(p->image + field));
}

static void names_restart(Report *p) {
    p->names = reader_at(p->image, p->size, load32(p->image + FORMAT_NAMES));
    uint32_t end = load32(p->image + FORMAT_GROUPS);
    if (end < p->size)
        p->names.end = p->image + end;
    if (p->names.at > p->names.end)
        p->names.at = p->names.end;
    p->name = NULL;
    p->name_fid = 0;
}

/* Rows come by ascending function within a group, so the names are read once a group. */
static void print_fname(Report *p, uint32_t fid) {
    if (p->name && p->name_fid > fid)
        names_restart(p);
    while ((!p->name || p->name_fid < fid) && p->names.at < p->names.end) {
        p->name_fid += (uint32_t)read_uleb(&p->names);
        p->name = read_text(&p->names, &p->name_len);
    }
    if (p->name && p->name_fid == fid) {
        format_bytes(p->out, p->name, p->name_len);
    } else {
        format_byte(p->out, '#');
        format_u64(p->out, fid);
    }
}

static bool kind_is_64(uint8_t kind) {
    return kind == REPORT_U64 || kind == REPORT_I64 || kind == REPORT_F64;
}

static void print_bool(FormatOut *o, bool v) {
    format_byte(o, v ? 't' : 'f');
    format_byte(o, v ? 'r' : 'a');
    format_byte(o, v ? 'u' : 'l');
    if (!v)
        format_byte(o, 's');
    format_byte(o, 'e');
}

void format_scalar(FormatOut *o, FormatStyle style, uint8_t kind, const uint8_t *at) {
    bool json = style == FORMAT_STYLE_JSON;
    uint32_t v = load32(at);
    switch (kind) {
    case REPORT_U8: format_u64(o, (uint8_t)v); break;
    case REPORT_I8: format_i64(o, (int8_t)v); break;
    case REPORT_U16: format_u64(o, (uint16_t)v); break;
    case REPORT_I16: format_i64(o, (int16_t)v); break;
    case REPORT_U32: format_u64(o, v); break;
    case REPORT_I32: format_i64(o, (int32_t)v); break;
    case REPORT_F32: format_float(o, v, false, json); break;
    case REPORT_U64: format_u64(o, load64(at)); break;
    case REPORT_I64: format_i64(o, (int64_t)load64(at)); break;
    case REPORT_F64: format_float(o, load64(at), true, json); break;
    default: print_bool(o, v != 0); break;
    }
}

/* A value's kind, and the description if it is a tuple. */
typedef struct Kind {
    uint8_t kind;
    uint32_t len;
    const uint8_t *description;
} Kind;

static bool is_tuple(const Kind *k) {
    return WITH_VALUES && k->kind == REPORT_TUPLE;
}

static uint32_t value_bytes(const Kind *k) {
    if (is_tuple(k))
        return 8 * format_leaves(k->description, k->len);
    return kind_is_64(k->kind) ? 8 : 4;
}

/* How often a value was executed makes it. */
typedef struct Amount {
    uint64_t by;
    bool flag;          /* the value is `by` if it was executed at all */
    uint64_t too_often; /* so many executions are to be taken away */
} Amount;

/* Prints a scalar that is not what is in the values. */
static void print_corrected(const Report *p, const Kind *k, const Amount *a) {
    uint8_t bytes[8];
    uint64_t v = kind_is_64(k->kind) ? load64(p->value) : load32(p->value);
    if (a->flag)
        v = v > a->too_often ? a->by : 0;
    else
        v -= a->by * a->too_often;
    for (uint32_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> 8 * i);
    format_scalar(p->out, p->style, k->kind, bytes);
}

/* Prints the next value and the end of its row; false if there is none. */
static bool print_value(Report *p, const Kind *k, uint32_t bytes, const Amount *a) {
    if ((size_t)(p->end - p->value) < bytes)
        return false;
    if (WITH_VALUES && k->kind > REPORT_BOOL)
        format_value(p->out, p->style, k->description, k->len, p->value, p->end);
    else if (a->flag || a->too_often)
        print_corrected(p, k, a);
    else
        format_scalar(p->out, p->style, k->kind, p->value);
    print_field(p, FORMAT_ROW_END);
    p->value += bytes;
    return true;
}

static void align_value(Report *p) {
    size_t pad = (size_t)(p->start - p->value) & 7, rest = (size_t)(p->end - p->value);
    p->value += pad < rest ? pad : rest;
}

typedef struct Place {
    uint32_t fid, pc, pair, npairs;
    const uint8_t *pairs;
    bool same; /* as the row before: its value */
} Place;

static const uint8_t *pair_at(const Place *place) {
    return place->pairs + FORMAT_PAIR * (size_t)place->pair;
}

/* Moves to the next row; false if the image is damaged. */
static bool next_place(Reader *r, Place *place) {
    if (r->at >= r->end)
        return false;
    uint64_t v = read_uleb(r);
    uint32_t pc = (uint32_t)(v >> 3);
    place->same = v & 4;
    if (v & 1) {
        uint32_t zigzag = (uint32_t)read_uleb(r);
        place->fid += zigzag >> 1 ^ (0 - (zigzag & 1));
        place->pc = pc;
    } else {
        place->pc += pc;
    }
    place->pair = v & 2 ? (uint32_t)read_uleb(r) : load32(pair_at(place) + 8);
    return place->pair < place->npairs;
}

static void print_row(Report *p, const Place *place, uint64_t id) {
    const uint8_t *pair = pair_at(place);
    print_field(p, FORMAT_ROW);
    format_u64(p->out, id);
    print_text_at(p, load32(pair));
    print_fname(p, place->fid);
    print_field(p, FORMAT_SEP_FID);
    format_u64(p->out, place->fid);
    print_field(p, FORMAT_SEP_PC);
    format_u64(p->out, place->pc);
    print_text_at(p, load32(pair + 4));
}

/* The amounts of a group's values. */
typedef struct Amounts {
    Reader *counts;
    uint64_t left; /* values with the amount; without counts: all of them, and it is 0 */
    Amount now;
} Amounts;

static void next_amount(Amounts *a) {
    while (!a->left && a->counts->at < a->counts->end) {
        a->left = read_uleb(a->counts);
        a->now.flag = a->left & 1;
        a->left >>= 1;
        a->now.by = read_uleb(a->counts);
    }
    a->left -= a->left != 0;
}

/* How often what is at a place was counted too often. */
static uint64_t too_often(const Report *p, const Place *place) {
    uint64_t times = 0;
    uint32_t key = 2 * place->pc + load32(pair_at(place) + 12);
    for (const uint8_t *t = p->traps; t < p->traps + FORMAT_TRAP * (size_t)p->ntraps;
         t += FORMAT_TRAP)
        if (load32(t) == place->fid && load32(t + 4) <= key && key < load32(t + 8))
            times += load32(t + 12);
    return times;
}

static bool print_group(Report *p, const uint8_t *group, Reader *rows, Reader *counts,
                        uint64_t *id) {
    Place place = {.npairs = load32(p->image + FORMAT_NPAIRS),
                   .pairs = p->image + load32(p->image + FORMAT_PAIRS)};
    Amounts amounts = {counts, group[1] ? 0 : UINT64_MAX, {0, false, 0}};
    Reader text = reader_at(p->image, p->size, load32(group + 8));
    Kind k = {.kind = group[0], .len = 1, .description = group};
    if (is_tuple(&k))
        k.description = read_text(&text, &k.len);
    uint32_t bytes = value_bytes(&k);
    names_restart(p);
    for (uint32_t n = load32(group + 4), i = 0; i < n; i++) {
        if (place.npairs == 0 || !next_place(rows, &place) || (place.same && i == 0))
            return false;
        if (place.same)
            p->value -= bytes;
        else
            next_amount(&amounts);
        print_row(p, &place, *id);
        amounts.now.too_often = amounts.now.by && p->ntraps ? too_often(p, &place) : 0;
        if (!print_value(p, &k, bytes, &amounts.now))
            return false;
        *id += group[2] | (uint32_t)group[3] << 8;
    }
    align_value(p);
    return true;
}

/* The rows of all groups; false if the image is damaged. */
static bool print_groups(Report *p) {
    const uint8_t *image = p->image;
    Reader rows = reader_at(image, p->size, load32(image + FORMAT_ROWS));
    Reader counts = reader_at(image, p->size, load32(image + FORMAT_COUNTS));
    uint32_t npairs = load32(image + FORMAT_NPAIRS), ngroups = load32(image + FORMAT_NGROUPS);
    uint32_t groups = load32(image + FORMAT_GROUPS);
    if (load32(image + FORMAT_PAIRS) + (uint64_t)npairs * FORMAT_PAIR > p->size ||
        groups + (uint64_t)ngroups * FORMAT_GROUP > p->size)
        return false;
    uint64_t id = 4;
    for (uint32_t g = 0; g < ngroups; g++)
        if (!print_group(p, image + groups + g * FORMAT_GROUP, &rows, &counts, &id))
            return false;
    return true;
}

/* ---- maps whose keys are known ---- */

static void print_text(FormatOut *o, Reader *r) {
    uint32_t len;
    const uint8_t *text = read_text(r, &len);
    format_bytes(o, text, len);
}

/* Passes over the leaves of an entry: whether one of them says that it is in the map. */
static bool counted(Reader leaves, uint32_t n, const uint8_t *value) {
    bool any = false;
    for (uint32_t len; n && leaves.at < leaves.end; n--, value += 8) {
        uint8_t kind = *leaves.at++;
        uint64_t word = kind_is_64(kind & FORMAT_LEAF_KIND) ? load64(value) : load32(value);
        any |= kind & FORMAT_LEAF_COUNTS && word;
        read_text(&leaves, &len);
    }
    return any;
}

static void print_leaves(const Report *p, Reader leaves, uint32_t n) {
    for (const uint8_t *value = p->value; n && leaves.at < leaves.end; n--, value += 8) {
        uint8_t kind = *leaves.at++ & FORMAT_LEAF_KIND;
        print_text(p->out, &leaves);
        format_scalar(p->out, p->style, kind, value);
    }
}

/* The map at `r`; false if the image is damaged. */
static bool print_cells(Report *p, Reader *r) {
    if (r->at >= r->end)
        return false;
    uint8_t flags = *r->at++;
    uint32_t marked = flags & FORMAT_CELLS_MARKED, len;
    Reader empty = *r, first, next, last;
    read_text(r, &len);
    first = *r;
    read_text(r, &len);
    next = *r;
    read_text(r, &len);
    last = *r;
    read_text(r, &len);
    uint64_t n = read_uleb(r), bytes = 8 * (n + marked);
    Reader leaves = *r;
    for (uint64_t i = 0; i < n && r->at < r->end; i++) {
        r->at++;
        read_text(r, &len);
    }
    bool any = false;
    if (n == 0 || n > 255)
        return false;
    for (uint64_t entries = read_uleb(r); entries; entries--, p->value += bytes) {
        if (r->at == r->end || (size_t)(p->end - p->value) < bytes)
            return false;
        const uint8_t *key = read_text(r, &len);
        if (!(marked && load32(p->value + 8 * n)) && !counted(leaves, (uint32_t)n, p->value))
            continue;
        Reader before = any ? next : first;
        print_text(p->out, &before);
        uint32_t guard = flags & FORMAT_CELLS_GUARDED && len && (any || !*key);
        format_bytes(p->out, key + guard, len - guard);
        print_leaves(p, leaves, (uint32_t)n);
        any = true;
    }
    print_text(p->out, any ? &last : &empty);
    print_field(p, FORMAT_ROW_END);
    return true;
}

/* A row of the tail; false if the image is damaged. */
static bool print_tail(Report *p, Reader *tail) {
    Kind k = {.kind = *tail->at & FORMAT_TAIL_KIND, .len = 1};
    bool id = WITH_VALUES && *tail->at & FORMAT_TAIL_ID, cells = *tail->at & FORMAT_TAIL_CELLS;
    tail->at++;
    k.description = &k.kind;
    if (is_tuple(&k))
        k.description = read_text(tail, &k.len);
    uint32_t len, bytes = value_bytes(&k);
    if (id && p->end - p->value >= 4) {
        print_field(p, FORMAT_ROW);
        format_u64(p->out, load32(p->value));
    }
    const uint8_t *text = read_text(tail, &len);
    format_bytes(p->out, text, len);
    if (cells)
        return print_cells(p, tail);
    if (!print_value(p, &k, bytes, &(Amount){0, false, 0}))
        return false;
    align_value(p);
    return true;
}

/* Where the records of traps are, after the values; those that have been used come first. */
static void find_traps(Report *p) {
    uint32_t n = load32(p->image + FORMAT_TRAPS);
    if (n > (size_t)(p->end - p->start) / FORMAT_TRAP)
        return;
    p->end -= FORMAT_TRAP * (size_t)n;
    p->traps = p->end;
    while (p->ntraps < n && load32(p->traps + FORMAT_TRAP * (size_t)p->ntraps + 12))
        p->ntraps++;
}

void format_report(FormatOut *o, const uint8_t *image, uint32_t size, const uint8_t *values) {
    if (size < FORMAT_HEADER || image[0] != FORMAT_VERSION)
        return;
    Report p = {.out = o, .image = image, .size = size, .start = values, .value = values};
    p.style = (FormatStyle)image[1];
    p.end = values + load32(image + FORMAT_VALUES);
    find_traps(&p);
    print_field(&p, FORMAT_HEAD);
    Reader tail = reader_at(image, size, load32(image + FORMAT_TAIL));
    if (print_groups(&p))
        for (uint32_t n = load32(image + FORMAT_NTAIL); n && tail.at < tail.end; n--)
            if (!print_tail(&p, &tail))
                break;
    format_flush(o);
}
