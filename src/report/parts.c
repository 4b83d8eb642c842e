/*
 * report/parts.c - sorts reports by the instances that have made them.
 */
#include "report/parts.h"

#include <assert.h>

/* ---- rows ---- */

/* A hash of the members that report_same_row compares. Different rows may have the same hash. */
static uint64_t hash_row(const ReportRow *row) {
    uint64_t hash = HASH_START;
    const Str texts[] = {row->var->name, row->var->type, row->var->script, row->probe, row->fname};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hash = hash_more(hash, texts[i].ptr, texts[i].len);
        hash = hash_more(hash, &texts[i].len, sizeof texts[i].len);
    }
    const uint32_t place[] = {row->has_place, row->has_place ? row->fid : 0,
                              row->has_place ? row->pc : 0};
    return hash_more(hash, place, sizeof place);
}

typedef struct Step {
    uint64_t row, node;
} Step;

#define STEP_KEY(step) ((Str){(const char *)&(step), sizeof(step)})

uint32_t forms_find(const Forms *f, uint32_t node, const ReportRow *row) {
    Step step = {hash_row(row), node};
    const uint64_t *next = map_get(&f->steps, STEP_KEY(step));
    return next ? (uint32_t)*next : FORMS_NONE;
}

uint32_t forms_add(Forms *f, uint32_t node, const ReportRow *row) {
    Step step = {hash_row(row), node};
    return (uint32_t)*map_put(&f->steps, STEP_KEY(step), f->steps.len + 1, NULL);
}

void forms_free(Forms *f) {
    map_free(&f->steps);
}

/* ---- parts ---- */

/* How many rows at the beginning of both are the same. */
static uint32_t common_rows(const Report *a, const Report *b) {
    uint32_t n = 0;
    while (n < a->rows.len && n < b->rows.len && report_same_row(&a->rows.at[n], &b->rows.at[n]))
        n++;
    return n;
}

/* Whether one of the reports is the beginning of the other. */
static bool begin_alike(const Report *a, const Report *b) {
    uint32_t least = a->rows.len < b->rows.len ? a->rows.len : b->rows.len;
    return common_rows(a, b) == least;
}

/* Whether a report of unknown origin is a flush of the same instance. One in which rows are missing
 * or damaged is. */
static bool is_flush_of(const ReportPart *part, const Report *r) {
    const Report *known = &part->report;
    if (part->origin.told)
        return false;
    if (known->wrong.ptr || r->wrong.ptr)
        return true;
    bool longer = r->rows.len > known->rows.len;
    return begin_alike(known, r) && (!longer || known->cut);
}

/* ---- reports of unknown origin, by their rows ---- */

static void parts_mark(ReportParts *p, uint32_t node, uint32_t part, bool ends_cut) {
    while (p->marks.len <= node)
        vec_add(&p->marks);
    PartMark *m = &p->marks.at[node];
    m->through = part > m->through ? part : m->through;
    m->cut = ends_cut && part > m->cut ? part : m->cut;
}

/* Adds the part with this number, from 1. */
static void index_part(ReportParts *p, uint32_t number) {
    const Report *r = &p->all.at[number - 1].report;
    uint32_t node = FORMS_ROOT;
    parts_mark(p, node, number, r->cut && !r->rows.len);
    for (uint32_t i = 0; i < r->rows.len; i++) {
        node = forms_add(&p->forms, node, &r->rows.at[i]);
        parts_mark(p, node, number, r->cut && i + 1 == r->rows.len);
    }
}

/* The number of the last part whose rows begin with the report's, or which has been cut off and
 * whose rows are all in the report; 0 = none. */
static uint32_t find_part(const ReportParts *p, const Report *r) {
    uint32_t node = FORMS_ROOT, last = 0;
    for (uint32_t i = 0; node < p->marks.len; i++) {
        const PartMark *m = &p->marks.at[node];
        uint32_t here = i == r->rows.len ? m->through : m->cut;
        last = here > last ? here : last;
        if (i == r->rows.len)
            break;
        node = forms_find(&p->forms, node, &r->rows.at[i]);
    }
    return last;
}

/* In place of find_part where the index finds too much: rows that a part had before, or different
 * rows with the same hash. */
static uint32_t search_part(const ReportParts *p, const Report *r) {
    for (uint32_t i = p->all.len; i > 0; i--)
        if (is_flush_of(&p->all.at[i - 1], r))
            return i;
    return 0;
}

/* Which part a report of unknown origin is a flush of. The last one has nearly always made it, so
 * only parts before that one are indexed. */
static ReportPart *untold_part(ReportParts *p, const Report *r) {
    uint32_t number = p->last_untold;
    if (number && !is_flush_of(&p->all.at[number - 1], r)) {
        index_part(p, number);
        number = find_part(p, r);
        if (number && !is_flush_of(&p->all.at[number - 1], r))
            number = search_part(p, r);
    }
    if (number)
        return &p->all.at[number - 1];
    vec_add(&p->all);
    p->last_untold = p->all.len;
    return &vec_last(&p->all);
}

static ReportPart *told_part(ReportParts *p, const RunOrigin *o) {
    Buf key = {0};
    const Str texts[] = {o->module.id, o->module.name, o->run, o->thread, o->instance};
    buf_u8(&key, o->less);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_name(&key, texts[i].ptr ? texts[i] : STR(""));
    bool added;
    uint64_t at = *map_put(&p->index, buf_view(&key), p->all.len, &added);
    buf_free(&key);
    return added ? vec_add(&p->all) : &p->all.at[at];
}

/* A ReportTaker's. */
static void parts_take(void *ctx, const RunOrigin *origin, Report *r) {
    ReportParts *p = ctx;
    ReportPart *part = origin->told ? told_part(p, origin) : untold_part(p, r);
    const Report *before = &part->report;
    bool is_first = !part->flushes++;
    if (part->flushes > p->flushes)
        p->flushes = part->flushes;
    r->cut |= !is_first && r->rows.len < before->rows.len && begin_alike(before, r);
    bool is_late = p->which && part->flushes > p->which;
    bool stays = !is_first && r->cut && !before->cut && !p->which;
    if (is_late || stays) {
        part->lost |= stays;
        report_free(r);
        return;
    }
    part->lost = false;
    report_free(&part->report);
    part->origin = *origin;
    part->report = *r;
    uint32_t number = (uint32_t)(part - p->all.at) + 1;
    if (!origin->told && number != p->last_untold)
        index_part(p, number);
}

bool parts_read(ReportParts *p, Str text, uint32_t which) {
    assert(!p->all.len);
    ReportTaker taker = {&p->arena, &p->vars, &p->threads, parts_take, p};
    p->which = which;
    p->torn = !report_read(text, &taker, &p->rest);
    return which ? p->flushes >= which : p->flushes > 0;
}

void parts_free(ReportParts *p) {
    for (uint32_t i = 0; i < p->all.len; i++)
        report_free(&p->all.at[i].report);
    vec_free(&p->all);
    map_free(&p->index);
    map_free(&p->vars);
    vec_free(&p->marks);
    forms_free(&p->forms);
    buf_free(&p->rest);
    arena_free(&p->arena);
    *p = (ReportParts){0};
}
