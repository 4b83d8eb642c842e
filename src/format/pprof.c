/*
 * format/pprof.c - pprof's format: messages of profile.proto, compressed.
 *
 * A profile is one message: its fields, each a tag and a number or the bytes of another message.
 * They are compressed one after the other, so that the profile is never in memory as a whole.
 * Fields that are 0 are left out.
 */
#include "base/escape.h"
#include "format/format.h"
#include "format/gzip.h"

typedef struct Writer {
    const Stacks *s;
    Gzip *zip;
    Map texts;       /* -> index in string_table */
    Buf clean;       /* a text */
    Buf part, inner; /* a field of the profile, a field of that */
    Buf field;
} Writer;

/* ---- fields ---- */

enum { KIND_NUMBER = 0, KIND_BYTES = 2 };

/* Of the messages, by their numbers in
 * https://github.com/google/pprof/blob/main/proto/profile.proto. Texts are indices. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3, /* the first one is the main program */
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6, /* the first one is empty */
    PROFILE_TIME_NANOS = 9,   /* when it was recorded, since 1970 in UTC */
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11, /* of which `period` happen between two samples */
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1, /* the leaf first */
    SAMPLE_VALUE = 2,       /* one for each sample_type */
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    MAPPING_ID = 1, /* ids are not 0 */
    MAPPING_MEMORY_LIMIT = 3,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    MAPPING_HAS_INLINE_FRAMES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4, /* the innermost function first; the others are its callers */
    LINE_FUNCTION_ID = 1,
    LINE_LINE = 2,
    LINE_COLUMN = 3,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3, /* as the linker knows it */
    FUNCTION_FILENAME = 4,
    FUNCTION_START_LINE = 5,
};

static void pprof_put_number(Buf *message, uint32_t field, uint64_t n) {
    if (!n)
        return;
    buf_uleb(message, field << 3 | KIND_NUMBER);
    buf_uleb(message, n);
}

static void pprof_put_bytes(Buf *message, uint32_t field, const Buf *bytes) {
    buf_uleb(message, field << 3 | KIND_BYTES);
    buf_vec(message, bytes);
}

/* Several numbers, unless there are none. */
static void pprof_put_list(Buf *message, uint32_t field, const Buf *numbers) {
    if (numbers->len)
        pprof_put_bytes(message, field, numbers);
}

/* Writes the fields of the profile in `b`, which is empty then. */
static void write_fields(Writer *w, Buf *b) {
    gzip_add(w->zip, b->data, b->len);
    b->len = 0;
}

/* Writes `part` as a field of the profile; it is empty then. */
static void write_part(Writer *w, uint32_t field) {
    pprof_put_bytes(&w->field, field, &w->part);
    w->part.len = 0;
    write_fields(w, &w->field);
}

/* ---- texts ---- */

/* The index of a string, without invalid UTF-8 and control characters. */
static uint64_t pprof_text(Writer *w, Str s) {
    w->clean.len = 0;
    escape_shown(&w->clean, s);
    return *map_put(&w->texts, buf_view(&w->clean), w->texts.len, NULL);
}

/* A string that may be empty, as opposed to one of which nothing can be shown. */
static uint64_t optional(Writer *w, Str s) {
    return s.len ? pprof_text(w, s) : 0;
}

static void put_texts(Writer *w) {
    for (uint32_t i = 0; i < w->texts.len; i++) {
        buf_str(&w->part, w->texts.entries[i].key);
        write_part(w, PROFILE_STRING_TABLE);
    }
}

/* ---- the parts ---- */

static void pprof_put_type(Writer *w, Buf *message, const StacksValue *v) {
    pprof_put_number(message, TYPE_TYPE, pprof_text(w, v->name));
    pprof_put_number(message, TYPE_UNIT, pprof_text(w, v->unit));
}

static void pprof_put_types(Writer *w) {
    for (uint32_t i = 0; i < w->s->values.len; i++) {
        pprof_put_type(w, &w->part, &w->s->values.at[i]);
        write_part(w, PROFILE_SAMPLE_TYPE);
    }
}

/* Whether a node has a nonzero value. */
static bool pprof_counts(const Stacks *s, const StacksNode *n) {
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        if (s->numbers.at[i].n)
            return true;
    return false;
}

/* Numbers and labels of a sample go to `inner`, and from there to `part`. */
static void put_values(Writer *w, const StacksNode *n, int64_t *values) {
    const Stacks *s = w->s;
    memset(values, 0, s->values.len * sizeof *values);
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        values[s->numbers.at[i].value] = s->numbers.at[i].n;
    w->inner.len = 0;
    for (uint32_t i = 0; i < s->values.len; i++)
        buf_uleb(&w->inner, (uint64_t)values[i]);
    pprof_put_list(&w->part, SAMPLE_VALUE, &w->inner);
}

static void put_label(Writer *w, const StacksLabel *label) {
    w->inner.len = 0;
    pprof_put_number(&w->inner, LABEL_KEY, pprof_text(w, label->key));
    pprof_put_number(&w->inner, LABEL_STR, pprof_text(w, label->text));
    pprof_put_bytes(&w->part, SAMPLE_LABEL, &w->inner);
}

static void put_sample(Writer *w, const StacksNode *n, int64_t *values) {
    const Stacks *s = w->s;
    w->inner.len = 0;
    for (const StacksNode *up = n;; up = &s->nodes.at[up->parent]) {
        buf_uleb(&w->inner, up->place + 1u);
        if (up->parent == STACKS_NONE)
            break;
    }
    pprof_put_list(&w->part, SAMPLE_LOCATION_ID, &w->inner);
    put_values(w, n, values);
    for (uint32_t i = 0; i < n->nlabels; i++)
        put_label(w, &s->labels.at[n->first_label + i]);
    if (s->threads.len)
        put_label(w, &(StacksLabel){STR("thread"), s->threads.at[n->thread]});
    write_part(w, PROFILE_SAMPLE);
}

static void pprof_put_samples(Writer *w) {
    const Stacks *s = w->s;
    int64_t *values = mem_alloc((s->values.len + 1u) * sizeof *values);
    for (uint32_t i = 0; i < s->nodes.len; i++)
        if (pprof_counts(s, &s->nodes.at[i]))
            put_sample(w, &s->nodes.at[i], values);
    free(values);
}

static void put_mapping(Writer *w, uint32_t index) {
    const StacksModule *m = &w->s->modules.at[index];
    bool located = w->s->located;
    if (!m->size && !m->program.len)
        return;
    pprof_put_number(&w->part, MAPPING_ID, index + 1u);
    pprof_put_number(&w->part, MAPPING_MEMORY_LIMIT, m->size);
    pprof_put_number(&w->part, MAPPING_FILENAME, optional(w, m->program));
    pprof_put_number(&w->part, MAPPING_BUILD_ID, optional(w, m->build));
    pprof_put_number(&w->part, MAPPING_HAS_FUNCTIONS, true);
    pprof_put_number(&w->part, MAPPING_HAS_FILENAMES, located);
    pprof_put_number(&w->part, MAPPING_HAS_LINE_NUMBERS, located);
    pprof_put_number(&w->part, MAPPING_HAS_INLINE_FRAMES, located);
    write_part(w, PROFILE_MAPPING);
}

static void pprof_put_place(Writer *w, uint32_t index) {
    const StacksPlace *p = &w->s->places.at[index];
    pprof_put_number(&w->part, LOCATION_ID, index + 1u);
    pprof_put_number(&w->part, LOCATION_MAPPING_ID, p->in_program ? p->module + 1u : 0);
    pprof_put_number(&w->part, LOCATION_ADDRESS, p->address);
    for (uint32_t i = 0; i < p->count; i++) {
        const StacksLine *l = &w->s->lines.at[p->first + i];
        w->inner.len = 0;
        pprof_put_number(&w->inner, LINE_FUNCTION_ID, l->func + 1u);
        pprof_put_number(&w->inner, LINE_LINE, l->line);
        pprof_put_number(&w->inner, LINE_COLUMN, l->column);
        pprof_put_bytes(&w->part, LOCATION_LINE, &w->inner);
    }
    write_part(w, PROFILE_LOCATION);
}

static void pprof_put_function(Writer *w, uint32_t index) {
    const StacksFunc *f = &w->s->funcs.at[index];
    pprof_put_number(&w->part, FUNCTION_ID, index + 1u);
    pprof_put_number(&w->part, FUNCTION_NAME, pprof_text(w, f->name));
    pprof_put_number(&w->part, FUNCTION_SYSTEM_NAME, pprof_text(w, f->symbol));
    pprof_put_number(&w->part, FUNCTION_FILENAME, optional(w, f->file));
    pprof_put_number(&w->part, FUNCTION_START_LINE, f->line);
    write_part(w, PROFILE_FUNCTION);
}

static void pprof_put_rest(Writer *w) {
    const Stacks *s = w->s;
    const StacksValue *shown = s->values.len ? &s->values.at[s->shown] : NULL;
    Buf comments = {0};
    for (uint32_t i = 0; i < s->comments.len; i++)
        buf_uleb(&comments, pprof_text(w, s->comments.at[i]));
    pprof_put_number(&w->field, PROFILE_TIME_NANOS, (uint64_t)s->time);
    pprof_put_number(&w->field, PROFILE_DURATION_NANOS, (uint64_t)s->duration);
    if (s->period) {
        if (shown)
            pprof_put_type(w, &w->part, shown);
        pprof_put_bytes(&w->field, PROFILE_PERIOD_TYPE, &w->part);
        w->part.len = 0;
        pprof_put_number(&w->field, PROFILE_PERIOD, (uint64_t)s->period);
    }
    pprof_put_list(&w->field, PROFILE_COMMENT, &comments);
    if (shown) {
        pprof_put_number(&w->field, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_text(w, shown->name));
        pprof_text(w, shown->unit);
    }
    write_fields(w, &w->field);
    buf_free(&comments);
}

void format_pprof(const Stacks *s, Buf *out) {
    Writer w = {.s = s, .zip = gzip_begin(out)};
    map_put(&w.texts, (Str){"", 0}, 0, NULL);
    pprof_put_types(&w);
    pprof_put_samples(&w);
    for (uint32_t i = 0; i < s->modules.len; i++)
        put_mapping(&w, i);
    for (uint32_t i = 0; i < s->places.len; i++)
        pprof_put_place(&w, i);
    for (uint32_t i = 0; i < s->funcs.len; i++)
        pprof_put_function(&w, i);
    pprof_put_rest(&w);
    put_texts(&w);
    gzip_end(w.zip);
    map_free(&w.texts);
    buf_free(&w.clean);
    buf_free(&w.part);
    buf_free(&w.inner);
    buf_free(&w.field);
}
