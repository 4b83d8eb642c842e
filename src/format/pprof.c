/*
 * format/pprof.c - pprof's format: profile.proto, gzipped.
 *
 * Concatenated protobuf messages are one message with the fields of all. So the profile is packed
 * piece by piece, each with one sample, location or function, and is never in memory as a whole.
 */
#include "base/escape.h"
#include "format/format.h"
#include "format/profile.pb-c.h"

#include <assert.h>
#include <zlib.h>

typedef Perftools__Profiles__Profile Piece;
typedef Perftools__Profiles__ValueType ValueType;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Label Label;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Line Line;
typedef Perftools__Profiles__Function Function;

typedef struct Writer {
    const Stacks *s;
    z_stream zip;
    Buf *out;
    Map texts; /* -> index in string_table */
    Buf clean, packed;
} Writer;

/* ---- compression ---- */

/* Compresses more data; `flush` is Z_FINISH for the last part. */
static void compress_more(Writer *w, const uint8_t *bytes, size_t size, int flush) {
    enum { ROOM = 1 << 14, MOST = 1 << 30 };
    int status = Z_OK;
    do {
        uInt some = size < MOST ? (uInt)size : MOST;
        w->zip.next_in = (Bytef *)bytes;
        w->zip.avail_in = some;
        do {
            buf_reserve(w->out, ROOM);
            w->zip.next_out = w->out->data + w->out->len;
            w->zip.avail_out = ROOM;
            status = deflate(&w->zip, size > some ? Z_NO_FLUSH : flush);
            assert(status != Z_STREAM_ERROR);
            w->out->len += ROOM - w->zip.avail_out;
        } while (w->zip.avail_out == 0);
        bytes += some;
        size -= some;
    } while (size);
    assert(flush != Z_FINISH || status == Z_STREAM_END);
    (void)status;
}

static void begin_zip(Writer *w) {
    enum { GZIP = 16, MEMORY = 8 };
    /* Operating system "unknown": the same profile has the same bytes everywhere. */
    static gz_header head = {.os = 255};
    if (deflateInit2(&w->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        abort(); /* out of memory */
    deflateSetHeader(&w->zip, &head);
}

static void put(Writer *w, const Piece *piece) {
    w->packed.len = 0;
    size_t size = perftools__profiles__profile__get_packed_size(piece);
    buf_reserve(&w->packed, size + 1);
    perftools__profiles__profile__pack(piece, w->packed.data);
    compress_more(w, w->packed.data, size, Z_NO_FLUSH);
}

/* ---- texts ---- */

/* The index of a string, without invalid UTF-8 and control characters. */
static int64_t text(Writer *w, Str s) {
    w->clean.len = 0;
    escape_shown(&w->clean, s);
    Str clean = buf_view(&w->clean);
    return (int64_t)*map_put(&w->texts, clean, w->texts.len, NULL);
}

/* A string that may be empty, unlike one that must be shown. */
static int64_t optional(Writer *w, Str s) {
    return s.len ? text(w, s) : 0;
}

static void put_texts(Writer *w) {
    for (uint32_t i = 0; i < w->texts.len; i++) {
        Str s = w->texts.entries[i].key;
        Buf copy = {0};
        buf_bytes(&copy, s.ptr, s.len);
        char *string = (char *)(uintptr_t)buf_cstr(&copy);
        Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
        piece.n_string_table = 1;
        piece.string_table = &string;
        put(w, &piece);
        buf_free(&copy);
    }
}

/* ---- the parts ---- */

static void put_types(Writer *w) {
    for (uint32_t i = 0; i < w->s->values.len; i++) {
        const StacksValue *v = &w->s->values.at[i];
        ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *types = &type;
        Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
        type.type = text(w, v->name);
        type.unit = text(w, v->unit);
        piece.n_sample_type = 1;
        piece.sample_type = &types;
        put(w, &piece);
    }
}

/* Whether a node has a nonzero value. */
static bool counts(const Stacks *s, const StacksNode *n) {
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        if (s->numbers.at[i].n)
            return true;
    return false;
}

/* Scratch memory for samples. */
typedef struct Room {
    uint64_t places[STACKS_DEPTH];
    int64_t *values;
    Label *labels, **list;
} Room;

static void add_label(Writer *w, Sample *sample, const StacksLabel *label, Room *room) {
    Label *to = &room->labels[sample->n_label];
    perftools__profiles__label__init(to);
    to->key = text(w, label->key);
    to->str = text(w, label->text);
    room->list[sample->n_label++] = to;
}

static void put_sample(Writer *w, const StacksNode *n, Room *room) {
    const Stacks *s = w->s;
    Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *samples = &sample;
    Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
    for (const StacksNode *up = n;; up = &s->nodes.at[up->parent]) {
        assert(sample.n_location_id < STACKS_DEPTH);
        room->places[sample.n_location_id++] = up->place + 1u;
        if (up->parent == STACKS_NONE)
            break;
    }
    memset(room->values, 0, s->values.len * sizeof *room->values);
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        room->values[s->numbers.at[i].value] = s->numbers.at[i].n;
    for (uint32_t i = 0; i < n->nlabels; i++)
        add_label(w, &sample, &s->labels.at[n->first_label + i], room);
    if (s->threads.len)
        add_label(w, &sample, &(StacksLabel){STR("thread"), s->threads.at[n->thread]}, room);
    sample.location_id = room->places;
    sample.n_value = s->values.len;
    sample.value = room->values;
    sample.label = room->list;
    piece.n_sample = 1;
    piece.sample = &samples;
    put(w, &piece);
}

static void put_samples(Writer *w) {
    const Stacks *s = w->s;
    Room room;
    uint32_t labels = 0;
    for (uint32_t i = 0; i < s->nodes.len; i++)
        if (s->nodes.at[i].nlabels > labels)
            labels = s->nodes.at[i].nlabels;
    room.values = mem_alloc((s->values.len + 1u) * sizeof *room.values);
    room.labels = mem_alloc((labels + 1u) * sizeof *room.labels);
    room.list = mem_alloc((labels + 1u) * sizeof *room.list);
    for (uint32_t i = 0; i < s->nodes.len; i++)
        if (counts(s, &s->nodes.at[i]))
            put_sample(w, &s->nodes.at[i], &room);
    free(room.values);
    free(room.labels);
    free(room.list);
}

static void put_mapping(Writer *w, uint32_t index) {
    const StacksModule *m = &w->s->modules.at[index];
    Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *mappings = &mapping;
    Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
    if (!m->size && !m->program.len)
        return;
    mapping.id = index + 1u;
    mapping.memory_limit = m->size;
    mapping.filename = optional(w, m->program);
    mapping.build_id = optional(w, m->build);
    mapping.has_functions = true;
    mapping.has_filenames = w->s->located;
    mapping.has_line_numbers = w->s->located;
    mapping.has_inline_frames = w->s->located;
    piece.n_mapping = 1;
    piece.mapping = &mappings;
    put(w, &piece);
}

static void put_place(Writer *w, uint32_t index) {
    const StacksPlace *p = &w->s->places.at[index];
    Location location = PERFTOOLS__PROFILES__LOCATION__INIT, *locations = &location;
    Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
    Line *lines = mem_alloc(p->count * sizeof *lines);
    Line **list = mem_alloc(p->count * sizeof *list);
    for (uint32_t i = 0; i < p->count; i++) {
        const StacksLine *l = &w->s->lines.at[p->first + i];
        perftools__profiles__line__init(&lines[i]);
        lines[i].function_id = l->func + 1u;
        lines[i].line = l->line;
        lines[i].column = l->column;
        list[i] = &lines[i];
    }
    location.id = index + 1u;
    location.mapping_id = p->in_program ? p->module + 1u : 0;
    location.address = p->address;
    location.n_line = p->count;
    location.line = list;
    piece.n_location = 1;
    piece.location = &locations;
    put(w, &piece);
    free(lines);
    free(list);
}

static void put_function(Writer *w, uint32_t index) {
    const StacksFunc *f = &w->s->funcs.at[index];
    Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *functions = &function;
    Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
    function.id = index + 1u;
    function.name = text(w, f->name);
    function.system_name = text(w, f->symbol);
    function.filename = optional(w, f->file);
    function.start_line = f->line;
    piece.n_function = 1;
    piece.function = &functions;
    put(w, &piece);
}

static void put_rest(Writer *w) {
    const Stacks *s = w->s;
    ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    Piece piece = PERFTOOLS__PROFILES__PROFILE__INIT;
    int64_t *comments = mem_alloc((s->comments.len + 1u) * sizeof *comments);
    for (uint32_t i = 0; i < s->comments.len; i++)
        comments[i] = text(w, s->comments.at[i]);
    piece.n_comment = s->comments.len;
    piece.comment = comments;
    piece.time_nanos = s->time;
    piece.duration_nanos = s->duration;
    if (s->values.len) {
        const StacksValue *shown = &s->values.at[s->shown];
        piece.default_sample_type = text(w, shown->name);
        type.type = text(w, shown->name);
        type.unit = text(w, shown->unit);
    }
    if (s->period) {
        piece.period_type = &type;
        piece.period = s->period;
    }
    put(w, &piece);
    free(comments);
}

void format_pprof(const Stacks *s, Buf *out) {
    assert(stacks_check(s));
    Writer w = {.s = s, .out = out};
    begin_zip(&w);
    map_put(&w.texts, (Str){"", 0}, 0, NULL);
    put_types(&w);
    put_samples(&w);
    for (uint32_t i = 0; i < s->modules.len; i++)
        put_mapping(&w, i);
    for (uint32_t i = 0; i < s->places.len; i++)
        put_place(&w, i);
    for (uint32_t i = 0; i < s->funcs.len; i++)
        put_function(&w, i);
    put_rest(&w);
    put_texts(&w);
    compress_more(&w, (const uint8_t *)"", 0, Z_FINISH);
    deflateEnd(&w.zip);
    map_free(&w.texts);
    buf_free(&w.clean);
    buf_free(&w.packed);
}
