/*
 * runtime/format.c - decodes a report image row by row and prints it. The image's layout is in
 * format.h.
 */
#include "format.h"
#include "sums.h"

/* Whether there are values other than scalars. */
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

static Reader reader_at(const uint8_t *image, uint32_t size, uint32_t offset) {
    return (Reader){image + (offset < size ? offset : size), image + size};
}

static const uint8_t *read_text(Reader *r, uint32_t *len) {
    uint64_t n = read_uleb(r), rest = (uint64_t)(r->end - r->at);
    *len = (uint32_t)(n < rest ? n : rest);
    const uint8_t *text = r->at;
    r->at += *len;
    return text;
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
    Reader names;                       /* after the last function name that was read */
    uint32_t name_fid;                  /* its index */
    const uint8_t *name;                /* NULL: none read yet */
    uint32_t name_len;
    SumsTraps traps;
    SumsWords words;
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

/* The rows of a group are sorted by function, so names are read once per group. */
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

static bool print_value(Report *p, const Kind *k, const uint8_t *value, uint32_t bytes) {
    if ((size_t)(p->end - value) < bytes)
        return false;
    if (WITH_VALUES && k->kind > REPORT_BOOL)
        format_value(p->out, p->style, k->description, k->len, value, p->end);
    else
        format_scalar(p->out, p->style, k->kind, value);
    print_field(p, FORMAT_ROW_END);
    return true;
}

/* Prints the next value and the end of its row; false if there is none. */
static bool print_next(Report *p, const Kind *k) {
    uint32_t bytes = value_bytes(k);
    if (!print_value(p, k, p->value, bytes))
        return false;
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

/* The counted rows of a group. */
typedef struct Counting {
    Reader counts, words;
    bool any;      /* the group has some */
    uint64_t left; /* rows like the current one */
    bool counted, flag;
    uint64_t amount, executed;
    uint32_t next[2]; /* the word after the last counter; after the last derived word */
    uint64_t run;     /* rows that have the next words of this kind: */
    uint32_t kind;    /* 1: derived */
} Counting;

/* How far the current row's word is from the next one of its kind. */
static uint32_t word_distance(Counting *c) {
    if (c->run) {
        c->run--;
        return 0;
    }
    uint64_t head = read_uleb(&c->words), zigzag = head >> 2;
    c->kind = head >> 1 & 1;
    c->run = head & 1 ? read_uleb(&c->words) : 0;
    return (uint32_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
}

static void next_word(const Report *p, Counting *c) {
    uint32_t distance = word_distance(c), kind = c->kind, *next = &c->next[kind];
    uint32_t index = *next + distance;
    uint32_t n = kind ? p->words.nderived : p->words.ncounters;
    const uint8_t *words = kind ? p->words.derived : p->words.counters;
    c->executed = index < n ? load64(words + 8 * (size_t)index) : 0;
    *next = index + 1;
}

/* Moves to the next row that has a value of its own. */
static void next_count(const Report *p, Counting *c) {
    while (c->any && !c->left && c->counts.at < c->counts.end) {
        uint64_t head = read_uleb(&c->counts);
        c->left = head >> FORMAT_RUN_SHIFT;
        c->counted = head & FORMAT_COUNTED;
        c->flag = head & FORMAT_FLAG;
        c->amount = read_uleb(&c->counts);
    }
    c->left -= c->left != 0;
    if (c->counted && c->amount)
        next_word(p, c);
}

/* Prints a counted row. */
static void print_count(const Report *p, const Kind *k, const Counting *c, const Place *place) {
    uint64_t times = 0;
    if (c->amount) {
        uint32_t key = 2 * place->pc + load32(pair_at(place) + 12);
        times = c->executed - sums_too_often(p->traps, place->fid, key);
    }
    uint8_t value[8];
    store64(value, c->flag && times ? c->amount : c->amount * times);
    format_scalar(p->out, p->style, k->kind, value);
    print_field(p, FORMAT_ROW_END);
}

static bool print_group(Report *p, const uint8_t *group, Reader *rows, Counting *c, uint64_t *id) {
    Place place = {.npairs = load32(p->image + FORMAT_NPAIRS),
                   .pairs = p->image + load32(p->image + FORMAT_PAIRS)};
    Reader text = reader_at(p->image, p->size, load32(group + 8));
    Kind k = {.kind = group[0], .len = 1, .description = group};
    if (is_tuple(&k))
        k.description = read_text(&text, &k.len);
    uint32_t bytes = value_bytes(&k);
    names_restart(p);
    c->any = group[1];
    c->left = c->counted = 0;
    for (uint32_t n = load32(group + 4), i = 0; i < n; i++) {
        if (place.npairs == 0 || !next_place(rows, &place) || (place.same && i == 0))
            return false;
        if (!place.same)
            next_count(p, c);
        print_row(p, &place, *id);
        if (c->counted)
            print_count(p, &k, c, &place);
        else if (place.same ? !print_value(p, &k, p->value - bytes, bytes) : !print_next(p, &k))
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
    Counting counting = {.counts = reader_at(image, p->size, load32(image + FORMAT_COUNTS)),
                         .words = reader_at(image, p->size, load32(image + FORMAT_WORDS))};
    uint32_t npairs = load32(image + FORMAT_NPAIRS), ngroups = load32(image + FORMAT_NGROUPS);
    uint32_t groups = load32(image + FORMAT_GROUPS);
    if (load32(image + FORMAT_PAIRS) + (uint64_t)npairs * FORMAT_PAIR > p->size ||
        groups + (uint64_t)ngroups * FORMAT_GROUP > p->size)
        return false;
    uint64_t id = 4;
    for (uint32_t g = 0; g < ngroups; g++)
        if (!print_group(p, image + groups + g * FORMAT_GROUP, &rows, &counting, &id))
            return false;
    return true;
}

/* ---- maps whose keys are known ---- */

static void print_text(FormatOut *o, Reader *r) {
    uint32_t len;
    const uint8_t *text = read_text(r, &len);
    format_bytes(o, text, len);
}

/* Skips the leaves of an entry; returns whether one of them says that it is in the map. */
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
    uint32_t len;
    if (id && p->end - p->value >= 4) {
        print_field(p, FORMAT_ROW);
        format_u64(p->out, load32(p->value));
    }
    const uint8_t *text = read_text(tail, &len);
    format_bytes(p->out, text, len);
    if (cells)
        return print_cells(p, tail);
    if (!print_next(p, &k))
        return false;
    align_value(p);
    return true;
}

/* Finds what the values end with: traps, counters, and derived words, which it computes. False if
 * they are too short. */
static bool find_words(Report *p, uint8_t *values) {
    const uint8_t *image = p->image;
    uint64_t traps = load32(image + FORMAT_TRAPS), size = load32(image + FORMAT_VALUES);
    SumsWords w = {.ncounters = load32(image + FORMAT_COUNTERS),
                   .nderived = load32(image + FORMAT_DERIVED)};
    uint64_t bytes = SUMS_TRAP * traps + 8 * ((uint64_t)w.ncounters + w.nderived);
    if (bytes > size)
        return false;
    p->end = values + (size - bytes);
    p->traps = sums_traps(p->end, (uint32_t)traps);
    w.counters = values + (size - bytes) + SUMS_TRAP * traps;
    w.derived = w.counters + 8 * (size_t)w.ncounters;
    p->words = w;
    Reader table = reader_at(image, p->size, load32(image + FORMAT_SUMS));
    uint32_t tail = load32(image + FORMAT_TAIL);
    if (w.nderived && tail < p->size)
        table.end = image + tail;
    if (w.nderived)
        sums_derive(&table, w, p->traps);
    return true;
}

void format_report(FormatOut *o, const uint8_t *image, uint32_t size, uint8_t *values) {
    if (size < FORMAT_HEADER || image[0] != FORMAT_VERSION)
        return;
    Report p = {.out = o, .image = image, .size = size, .start = values, .value = values};
    p.style = (FormatStyle)image[1];
    if (!find_words(&p, values))
        return;
    print_field(&p, FORMAT_HEAD);
    Reader tail = reader_at(image, size, load32(image + FORMAT_TAIL));
    if (print_groups(&p))
        for (uint32_t n = load32(image + FORMAT_NTAIL); n && tail.at < tail.end; n--)
            if (!print_tail(&p, &tail))
                break;
    format_flush(o);
}
