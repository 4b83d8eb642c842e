/*
 * api/api_report_values.c - the public interface to reports (include/whammc/report.h): variables,
 * rows, values and profiles as data.
 */
#include "api/api_report.h"

#include "base/json.h"
#include "profile/graph.h"
#include "report/bucket.h"
#include "report/value.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static_assert((uint32_t)WHAMMC_OUTSIDE == (uint32_t)PROFILE_NOBODY &&
                  (uint32_t)PROFILE_NONE == UINT32_MAX,
              "as the header says");

/* ---- variables and rows ---- */

/* The last text that was copied: consecutive rows often have the same one. */
typedef struct Copied {
    Str from;
    const char *text;
} Copied;

/* With a NUL; NULL if there is no text. */
static const char *api_report_values_copy_of(Arena *arena, Copied *last, Str s) {
    if (!s.ptr)
        return NULL;
    if (!last->text || !str_eq(last->from, s))
        *last = (Copied){s, arena_strndup(arena, s.ptr, s.len)};
    return last->text;
}

static const char *api_report_values_text_of(Arena *arena, Str s) {
    return arena_strndup(arena, s.ptr ? s.ptr : "", s.len);
}

static WhammcVariable describe_variable(Arena *arena, const ReportVar *var) {
    return (WhammcVariable){
        .name = api_report_values_text_of(arena, var->name),
        .type = api_report_values_text_of(arena, var->type),
        .wasm_type = api_report_values_text_of(arena, var->wasm_type),
        .id_type = api_report_values_text_of(arena, var->id_type),
        .script = api_report_values_text_of(arena, var->script),
        .formula = var->formula.ptr ? api_report_values_text_of(arena, var->formula) : NULL};
}

/* The index of the row's variable; describes it if it is new. */
static size_t api_report_values_number_of(ReportContents *c, Map *known, const ReportVar *var) {
    bool added;
    Str key = {(const char *)&var, sizeof var}; /* equal variables are the same pointer */
    size_t number = (size_t)*map_put(known, key, c->variables.len, &added);
    if (added)
        vec_push(&c->variables, describe_variable(&c->arena, var));
    c->variables.at[number].rows++;
    return number;
}

static void fill_rows(const WhammcReport *r, ReportContents *c) {
    const Str *instructions = api_instructions(r, &c->shown); /* with NULs */
    Map known = {0};
    Copied module = {0}, thread = {0}, fname = {0}, shown = {0}, probe = {0};
    vec_reserve(&c->rows, c->shown.rows.len);
    for (uint32_t i = 0; i < c->shown.rows.len; i++) {
        const ReportRow *row = &r->report->rows.at[i];
        WhammcRow w = {
            .variable = api_report_values_number_of(c, &known, row->var),
            .id = api_report_values_text_of(&c->arena, row->id),
            .module =
                row->module ? api_report_values_copy_of(&c->arena, &module, *row->module) : NULL,
            .thread =
                row->thread ? api_report_values_copy_of(&c->arena, &thread, *row->thread) : NULL,
            .fname = api_report_values_copy_of(&c->arena, &fname, row->fname),
            .shown_fname = api_report_values_copy_of(&c->arena, &shown, c->shown.rows.at[i].fname),
            .probe = api_report_values_copy_of(&c->arena, &probe, row->probe),
            .instruction = instructions ? instructions[i].ptr : NULL,
            .has_place = row->has_place,
            .fid = row->fid,
            .pc = row->pc};
        vec_push(&c->rows, w);
    }
    map_free(&known);
}

static ReportContents *contents_of(WhammcReport *r) {
    if (!r->contents) {
        ReportContents *c = mem_zalloc(sizeof *c);
        api_prepare(r); /* which forgets older contents */
        r->contents = c;
        api_copy_report(r, false, &c->shown);
        fill_rows(r, c);
        c->values = mem_zalloc((c->rows.len + 1u) * sizeof *c->values);
    }
    return r->contents;
}

void api_forget_contents(WhammcReport *r) {
    ReportContents *c = r->contents;
    if (!c)
        return;
    report_free(&c->shown);
    vec_free(&c->variables);
    vec_free(&c->rows);
    free(c->values);
    arena_free(&c->arena);
    free(c);
    r->contents = NULL;
}

const WhammcVariable *whammc_report_variables(WhammcReport *r, size_t *n) {
    const ReportContents *c = contents_of(r);
    *n = c->variables.len;
    return c->variables.at;
}

const WhammcRow *whammc_report_rows(WhammcReport *r, size_t *n) {
    const ReportContents *c = contents_of(r);
    *n = c->rows.len;
    return c->rows.at;
}

/* ---- values ---- */

enum { MAX_DEPTH = 40 }; /* types of scripts are less deeply nested */

typedef Vec(WhammcValue) Values;

static WhammcValue text_value(Arena *arena, WhammcValueKind kind, Str s) {
    return (WhammcValue){kind, s.len, {.text = api_report_values_text_of(arena, s)}};
}

/* A value without parts, which was classified. */
static WhammcValue scalar_value(Arena *arena, const ReportRow *row) {
    switch (row->class) {
    case REPORT_CLASS_UNSIGNED:
        return (WhammcValue){WHAMMC_VALUE_UNSIGNED, 0, {.u = row->number.u}};
    case REPORT_CLASS_SIGNED: return (WhammcValue){WHAMMC_VALUE_SIGNED, 0, {.i = row->number.i}};
    case REPORT_CLASS_REAL: return (WhammcValue){WHAMMC_VALUE_FLOAT, 0, {.f = row->number.real}};
    case REPORT_CLASS_BOOL: return (WhammcValue){WHAMMC_VALUE_BOOL, 0, {.u = row->number.u}};
    default:
        return text_value(
            arena, str_is(row->var->type, "str") ? WHAMMC_VALUE_STRING : WHAMMC_VALUE_UNREADABLE,
            row->value);
    }
}

static bool api_report_values_read_value(Json *j, Str type, uint32_t depth, WhammcValue *v);

static bool api_report_values_read_scalar(Json *j, Str type, WhammcValue *v) {
    ReportVar var = {.type = type};
    ReportRow row = {.var = &var};
    if (!json_value(j, &row.value) || !row.value.ptr)
        return false;
    report_classify(&row);
    *v = scalar_value(j->arena, &row);
    return v->kind != WHAMMC_VALUE_UNREADABLE;
}

static bool api_report_values_read_tuple(Json *j, Str type, uint32_t depth, WhammcValue *v) {
    Str types = value_tuple_types(type), rest = types, part;
    uint32_t n = 0, i = 0;
    while (value_next_type(&rest, &part))
        n++;
    WhammcValue *fields = n ? arena_array(j->arena, WhammcValue, n) : NULL;
    bool ok = json_char(j, '[');
    for (; ok && value_next_type(&types, &part); i++)
        ok = (!i || json_char(j, ',')) && api_report_values_read_value(j, part, depth, &fields[i]);
    *v = (WhammcValue){WHAMMC_VALUE_TUPLE, n, {.parts = fields}};
    return ok && json_char(j, ']');
}

/* After the '[': entries up to the ']'. */
static bool read_entries(Json *j, Str key_type, Str value_type, uint32_t depth, Values *parts) {
    if (json_char(j, ']'))
        return true;
    do {
        WhammcValue key, value;
        if (!json_char(j, '{') || !json_member(j, "key") ||
            !api_report_values_read_value(j, key_type, depth, &key) || !json_char(j, ',') ||
            !json_member(j, "value") ||
            !api_report_values_read_value(j, value_type, depth, &value) || !json_char(j, '}'))
            return false;
        vec_push(parts, key);
        vec_push(parts, value);
    } while (json_char(j, ','));
    return json_char(j, ']');
}

static bool api_report_values_read_map(Json *j, Str type, uint32_t depth, WhammcValue *v) {
    Str key, value;
    Values parts = {0};
    bool ok = value_map_types(type, &key, &value) && json_char(j, '[') &&
              read_entries(j, key, value, depth, &parts);
    *v = (WhammcValue){.kind = WHAMMC_VALUE_MAP, .size = parts.len};
    if (ok && parts.len) {
        WhammcValue *copy = arena_array(j->arena, WhammcValue, parts.len);
        memcpy(copy, parts.at, parts.len * sizeof *copy);
        v->as.parts = copy;
    }
    vec_free(&parts);
    return ok;
}

/* ---- aggregations ---- */

static WhammcValue api_report_values_number(double v) {
    return (WhammcValue){WHAMMC_VALUE_FLOAT, 0, {.f = v}};
}

static double api_report_values_real(const WhammcValue *v) {
    return v->kind == WHAMMC_VALUE_FLOAT    ? v->as.f
           : v->kind == WHAMMC_VALUE_SIGNED ? (double)v->as.i
                                            : (double)v->as.u;
}

/* The fields with their names; nothing but the count and the sum if there were no numbers. */
static WhammcValue api_report_values_record(const AggregateType *t, const WhammcValue *fields,
                                            Arena *arena) {
    bool average = t->kind == AGGREGATE_AVG;
    size_t n = fields->size + average;
    WhammcValue *parts = arena_array(arena, WhammcValue, 2 * n);
    double count = api_report_values_real(&fields->as.parts[0]);
    for (uint32_t i = 0; i < n; i++) {
        AggregateMerge merge = AGGREGATE_MEAN;
        const char *name = i < fields->size ? aggregate_field(t->kind, i, &merge) : "mean";
        WhammcValue v =
            i < fields->size
                ? fields->as.parts[i]
                : api_report_values_number(api_report_values_real(&fields->as.parts[1]) / count);
        if (merge == AGGREGATE_SQUARES) {
            name = "deviation";
            v = api_report_values_number(sqrt(v.as.f / count));
        }
        if (count == 0 && merge != AGGREGATE_ADD)
            v = (WhammcValue){.kind = WHAMMC_VALUE_NONE};
        parts[2 * i] = text_value(arena, WHAMMC_VALUE_STRING, str_of(name));
        parts[2 * i + 1] = v;
    }
    return (WhammcValue){WHAMMC_VALUE_RECORD, 2 * n, {.parts = parts}};
}

static WhammcValue bucket_end(const AggregateBucket *b, bool has, uint64_t end) {
    return (WhammcValue){!has           ? WHAMMC_VALUE_NONE
                         : b->is_signed ? WHAMMC_VALUE_SIGNED
                                        : WHAMMC_VALUE_UNSIGNED,
                         0,
                         {.u = has ? end : 0}};
}

/* The buckets of a map from their bounds to counts. */
static WhammcValue api_report_values_buckets(const AggregateType *t, const WhammcValue *map,
                                             Arena *arena) {
    size_t n = map->size / 2;
    CountedBucket *all = arena_array(arena, CountedBucket, n + 1);
    WhammcValue *parts = arena_array(arena, WhammcValue, 3 * n + 1);
    for (size_t i = 0; i < n; i++) {
        const WhammcValue *bound = &map->as.parts[2 * i];
        aggregate_bucket_at(t, bound->as.u, &all[i].bucket); /* of signed ones the same bits */
        all[i].count = bound[1].as.u;
    }
    aggregate_sort_buckets(all, n);
    for (size_t i = 0; i < n; i++) {
        const AggregateBucket *b = &all[i].bucket;
        parts[3 * i] = bucket_end(b, b->has_low, b->low);
        parts[3 * i + 1] = bucket_end(b, b->has_high, b->high);
        parts[3 * i + 2] = (WhammcValue){WHAMMC_VALUE_UNSIGNED, 0, {.u = all[i].count}};
    }
    return (WhammcValue){WHAMMC_VALUE_BUCKETS, 3 * n, {.parts = parts}};
}

/* A value in JSON; its parts are in the arena. False if it is not of the type. */
static bool api_report_values_read_value(Json *j, Str type, uint32_t depth, WhammcValue *v) {
    AggregateType t = {.kind = AGGREGATE_NONE};
    bool aggregate = aggregate_read(type, &t), ok;
    if (depth == MAX_DEPTH)
        return false;
    if (value_is_tuple(type)) {
        ok = api_report_values_read_tuple(j, type, depth + 1, v);
        *v = ok && aggregate ? api_report_values_record(&t, v, j->arena) : *v;
        return ok;
    }
    if (value_is_map(type)) {
        ok = api_report_values_read_map(j, type, depth + 1, v);
        *v = ok && aggregate && aggregate_is_histogram(&t)
                 ? api_report_values_buckets(&t, v, j->arena)
                 : *v;
        return ok;
    }
    return api_report_values_read_scalar(j, type, v);
}

static WhammcValue api_report_values_value_of(const ReportRow *row, Arena *arena) {
    WhammcValue v;
    Str type = row->var->type;
    if (!value_is_tuple(type) && !value_is_map(type))
        return scalar_value(arena, row);
    Json j = {arena, row->value.ptr, row->value.ptr + row->value.len};
    if (api_report_values_read_value(&j, type, 0, &v) && j.at == j.end)
        return v;
    return text_value(arena, WHAMMC_VALUE_UNREADABLE, row->value);
}

const WhammcValue *whammc_report_value(WhammcReport *r, size_t row) {
    ReportContents *c = contents_of(r);
    if (row >= c->rows.len)
        return NULL;
    if (!c->values[row]) {
        locale_t before = api_enter(r);
        WhammcValue *v = arena_new(&c->arena, WhammcValue);
        *v = api_report_values_value_of(&r->report->rows.at[row], &c->arena);
        c->values[row] = v;
        api_leave(before);
    }
    return c->values[row];
}

/* ---- profiles ---- */

static void describe_functions(Profile *p, bool tree, WhammcProfile *out) {
    WhammcProfileFunction *functions = arena_array(&p->arena, WhammcProfileFunction, p->funcs.len);
    Graph graph = {0};
    if (!tree)
        graph_make(&graph, p);
    for (uint32_t i = 0; i < p->funcs.len; i++) {
        const ProfileFunc *f = &p->funcs.at[i];
        WhammcProfileFunction *to = &functions[i];
        *to = (WhammcProfileFunction){.name = api_report_values_text_of(&p->arena, f->name),
                                      .fid = f->id,
                                      .untimed = f->untimed};
        if (tree)
            continue;
        const GraphFunc *g = &graph.funcs[i];
        to->calls = g->calls;
        to->recursive_calls = g->self_calls;
        to->self = g->self;
        to->total = g->total;
        to->cycle = g->cycle;
    }
    graph_free(&graph);
    out->functions = functions;
    out->nfunctions = p->funcs.len;
}

static void describe_arcs(Profile *p, WhammcProfile *out) {
    WhammcProfileArc *arcs = arena_array(&p->arena, WhammcProfileArc, p->arcs.len);
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc *a = &p->arcs.at[i];
        arcs[i] = (WhammcProfileArc){a->caller, a->callee, a->calls, a->ns};
    }
    out->arcs = arcs;
    out->narcs = p->arcs.len;
}

static void describe_nodes(Profile *p, WhammcProfile *out) {
    WhammcProfileNode *nodes = arena_array(&p->arena, WhammcProfileNode, p->nodes.len);
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode *n = &p->nodes.at[i];
        nodes[i] = (WhammcProfileNode){.parent = n->parent,
                                       .end = n->end,
                                       .depth = n->depth,
                                       .function = n->func,
                                       .calls = n->calls,
                                       .self = n->self,
                                       .total = n->total};
    }
    out->nodes = nodes;
    out->nnodes = p->nodes.len;
}

void api_forget_profile(WhammcReport *r) {
    profile_free(&r->profile);
    r->described = (WhammcProfile){0};
}

whammc_status whammc_report_profile(WhammcReport *r, WhammcProfileKind kind,
                                    const WhammcReportOptions *options, const WhammcProfile **out) {
    static const WhammcReportOptions defaults;
    bool tree = kind == WHAMMC_PROFILE_TREE;
    Profile *p = &r->profile;
    *out = NULL;
    api_forget_messages(r);
    api_forget_profile(r);
    if (!api_read_profile(r, tree, FORMAT_TABLE, options ? options : &defaults, p))
        return WHAMMC_ERROR;
    r->described.timed = p->timed;
    r->described.sampled = p->sampled;
    describe_functions(p, tree, &r->described);
    if (tree)
        describe_nodes(p, &r->described);
    else
        describe_arcs(p, &r->described);
    *out = &r->described;
    return WHAMMC_OK;
}
