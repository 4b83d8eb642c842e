/*
 * report/parts.c - sorts reports by the instances that have made them.
 */
#include "report/parts.h"

#include <assert.h>

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

static ReportPart *untold_part(ReportParts *p, const Report *r) {
    for (uint32_t i = p->all.len; i-- > 0;)
        if (is_flush_of(&p->all.at[i], r))
            return &p->all.at[i];
    return vec_add(&p->all);
}

static ReportPart *told_part(ReportParts *p, const ReportOrigin *o) {
    Buf key = {0};
    const Str texts[] = {o->module, o->name, o->run, o->thread, o->instance};
    buf_u8(&key, o->less);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_name(&key, texts[i].ptr ? texts[i] : STR(""));
    bool added;
    uint64_t at = *map_put(&p->index, buf_view(&key), p->all.len, &added);
    buf_free(&key);
    return added ? vec_add(&p->all) : &p->all.at[at];
}

/* A ReportTaker's. */
static void take(void *ctx, const ReportOrigin *origin, Report *r) {
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
}

bool parts_read(ReportParts *p, Str text, uint32_t which) {
    assert(!p->all.len);
    ReportTaker taker = {&p->arena, &p->vars, take, p};
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
    buf_free(&p->rest);
    arena_free(&p->arena);
    *p = (ReportParts){0};
}
