/*
 * coverage/marks.c - execution counts from reports.
 */
#include "coverage/marks.h"
#include "base/json.h"

/* The rule that a probe has matched: "3_wasm:block:start:<no-mode>" without the number. */
static Str rule_of(Str probe) {
    uint32_t at = 0;
    while (at < probe.len && probe.ptr[at] != '_')
        at++;
    return at < probe.len ? (Str){probe.ptr + at + 1, probe.len - at - 1} : (Str){0};
}

/* Decides what a row counts; returns false if it is irrelevant for coverage. */
static bool marks_kind_of(const ReportRow *row, CoverageMark *mark) {
    Str rule = rule_of(row->probe), name = row->var->name;
    mark->way = 0;
    if (str_begins(rule, STR("wasm:func:entry"))) {
        mark->kind = MARK_ENTERED;
    } else if (str_begins(rule, STR("wasm:block:start"))) {
        mark->kind = MARK_BLOCK;
    } else if (!str_begins(rule, STR("wasm:opcode:"))) {
        return false;
    } else if (str_ends(rule, STR(":after")) && str_is(name, "returned")) {
        mark->kind = MARK_RETURNED;
    } else if (!str_ends(rule, STR(":before"))) {
        return false;
    } else if (str_is(name, "times_taken") || str_is(name, "times_not_taken")) {
        mark->kind = MARK_WAY;
        mark->way = str_is(name, "times_not_taken");
    } else if (str_is(name, "targets_taken")) {
        mark->kind = MARK_WAY;
    } else {
        mark->kind = MARK_INSTRUCTION;
    }
    return true;
}

/* A number that is a count; false if it is none. */
static bool marks_count_of(const ReportRow *row, uint64_t *count) {
    switch (row->class) {
    case REPORT_CLASS_UNSIGNED:
    case REPORT_CLASS_BOOL: *count = row->number.u; return true;
    case REPORT_CLASS_SIGNED:
        *count = row->number.i > 0 ? (uint64_t)row->number.i : 0;
        return row->number.i >= 0;
    default: return false;
    }
}

/* Adds the ways of a br_table: [{"key":0,"value":3},...]. */
static bool add_ways(CoverageMarks *c, CoverageMark mark, Str map) {
    Json j = {.at = map.ptr, .end = map.ptr + map.len};
    uint64_t way;
    if (!json_char(&j, '['))
        return false;
    if (json_char(&j, ']'))
        return true;
    do {
        if (!json_char(&j, '{') || !json_member(&j, "key") || !json_integer(&j, &way) ||
            !json_char(&j, ',') || !json_member(&j, "value") || !json_integer(&j, &mark.count) ||
            !json_char(&j, '}') || way > UINT32_MAX)
            return false;
        mark.way = (uint32_t)way;
        vec_push(&c->all, mark);
    } while (json_char(&j, ','));
    return json_char(&j, ']');
}

/* If several variables count instructions, only the first is used. */
static bool is_other_variable(const ReportVar **first, const ReportRow *row) {
    if (!*first)
        *first = row->var;
    return !str_eq((*first)->name, row->var->name) || !str_eq((*first)->script, row->var->script);
}

bool marks_add(CoverageMarks *c, const Report *r) {
    uint32_t before = c->all.len;
    const ReportVar *first[MARK_RETURNED + 1] = {0};
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        CoverageMark mark = {.fid = row->fid, .pc = row->pc};
        if (!row->has_place || !row->probe.ptr || !marks_kind_of(row, &mark))
            continue;
        if (mark.kind != MARK_WAY && is_other_variable(&first[mark.kind], row))
            continue;
        if (marks_count_of(row, &mark.count))
            vec_push(&c->all, mark);
        else if (mark.kind == MARK_WAY)
            add_ways(c, mark, row->value);
    }
    return (first[MARK_BLOCK] || first[MARK_INSTRUCTION]) && c->all.len > before;
}

/* ---- settling ---- */

static int marks_by_place(const void *pa, const void *pb) {
    const CoverageMark *a = pa, *b = pb;
    if (a->fid != b->fid)
        return a->fid < b->fid ? -1 : 1;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->way < b->way ? -1 : a->way > b->way;
}

void marks_settle(CoverageMarks *c) {
    uint32_t n = 0;
    if (c->all.len)
        qsort(c->all.at, c->all.len, sizeof *c->all.at, marks_by_place);
    for (uint32_t i = 0; i < c->all.len; i++) {
        CoverageMark *last = n ? &c->all.at[n - 1] : NULL;
        if (last && marks_by_place(last, &c->all.at[i]) == 0)
            last->count = capped_add(last->count, c->all.at[i].count);
        else
            c->all.at[n++] = c->all.at[i];
    }
    c->all.len = n;
}

void marks_free(CoverageMarks *c) {
    vec_free(&c->all);
}
