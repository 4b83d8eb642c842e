/*
 * runtime/format.c - decodes a report image row by row and prints it. The image's layout is in
 * format.h.
 */
#include "format.h"

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
    bool json;
    Reader names;        /* behind the function name that was read last */
    uint32_t name_fid;   /* its index */
    const uint8_t *name; /* NULL: none read yet */
    uint32_t name_len;
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

/* Small kinds are printed from the low bits, whatever stands above them. */
static void print_value(const Report *p, uint8_t kind, const uint8_t *at) {
    FormatOut *o = p->out;
    uint32_t v = load32(at);
    switch (kind) {
    case REPORT_U8: format_u64(o, (uint8_t)v); break;
    case REPORT_I8: format_i64(o, (int8_t)v); break;
    case REPORT_U16: format_u64(o, (uint16_t)v); break;
    case REPORT_I16: format_i64(o, (int16_t)v); break;
    case REPORT_U32: format_u64(o, v); break;
    case REPORT_I32: format_i64(o, (int32_t)v); break;
    case REPORT_F32: format_float(o, v, false, p->json); break;
    case REPORT_U64: format_u64(o, load64(at)); break;
    case REPORT_I64: format_i64(o, (int64_t)load64(at)); break;
    case REPORT_F64: format_float(o, load64(at), true, p->json); break;
    default: print_bool(o, v != 0); break;
    }
    print_field(p, FORMAT_ROW_END);
}

typedef struct Place {
    uint32_t fid, pc, pair, npairs;
} Place;

/* Moves to the next row; false if the image is damaged. */
static bool next_place(const Report *p, Reader *r, Place *place) {
    if (r->at >= r->end)
        return false;
    uint64_t v = read_uleb(r);
    uint32_t pc = (uint32_t)(v >> 2);
    if (v & 1) {
        uint32_t zigzag = (uint32_t)read_uleb(r);
        place->fid += zigzag >> 1 ^ (0 - (zigzag & 1));
        place->pc = pc;
    } else {
        place->pc += pc;
    }
    const uint8_t *pairs = p->image + load32(p->image + FORMAT_PAIRS);
    place->pair = v & 2 ? (uint32_t)read_uleb(r) : load32(pairs + 12 * (size_t)place->pair + 8);
    return place->pair < place->npairs;
}

static void print_row(Report *p, const Place *place, uint64_t id) {
    const uint8_t *pair = p->image + load32(p->image + FORMAT_PAIRS) + 12 * (size_t)place->pair;
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

/* The rows of all groups; gives where the tail's values are, or NULL if the image is damaged. */
static const uint8_t *print_groups(Report *p, const uint8_t *values) {
    const uint8_t *image = p->image, *start = values;
    Reader rows = reader_at(image, p->size, load32(image + FORMAT_ROWS));
    uint32_t npairs = load32(image + FORMAT_NPAIRS), groups = load32(image + FORMAT_GROUPS);
    if (load32(image + FORMAT_PAIRS) + (uint64_t)npairs * 12 > p->size ||
        groups + (uint64_t)image[3] * 8 > p->size)
        return NULL;
    uint64_t id = 4;
    for (uint32_t g = 0; g < image[3]; g++) {
        const uint8_t *group = image + groups + g * 8;
        uint8_t kind = group[0];
        Place place = {.npairs = npairs};
        names_restart(p);
        for (uint32_t n = load32(group + 4); n; n--) {
            if (npairs == 0 || !next_place(p, &rows, &place))
                return NULL;
            print_row(p, &place, id);
            print_value(p, kind, values);
            values += kind_is_64(kind) ? 8 : 4;
            id += group[1];
        }
        values += (start - values) & 7;
    }
    return values;
}

void format_report(FormatOut *o, const uint8_t *image, uint32_t size, const uint8_t *values) {
    if (size < FORMAT_HEADER || image[0] != FORMAT_VERSION)
        return;
    Report p = {.out = o, .image = image, .size = size};
    p.json = image[1] & FORMAT_FLAG_JSON;
    print_field(&p, FORMAT_HEAD);
    values = print_groups(&p, values);
    Reader tail = reader_at(image, size, load32(image + FORMAT_TAIL));
    for (uint32_t n = load32(image + FORMAT_NTAIL); values && n && tail.at < tail.end; n--) {
        uint8_t kind = *tail.at++;
        uint32_t len;
        const uint8_t *text = read_text(&tail, &len);
        format_bytes(o, text, len);
        print_value(&p, kind, values);
        values += 8;
    }
    format_flush(o);
}
