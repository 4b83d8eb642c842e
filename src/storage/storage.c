/*
 * storage/storage.c - where the variables of a plan live in a rewritten program.
 */
#include "storage/storage.h"
#include "inject/trap_record.h"

#include "plan/describe.h"

#include <assert.h>
#include <stdio.h>

_Static_assert((int)TYPE_U8 == (int)REPORT_U8 && (int)TYPE_BOOL == (int)REPORT_BOOL &&
                   (int)TYPE_F32 == (int)REPORT_F32 && (int)TYPE_I64 == (int)REPORT_I64,
               "report kinds are in the order of types");

static ReportKind storage_kind_of(const PlanVar *v) {
    return (ReportKind)v->decl->type->kind;
}

static const char *wasm_name(const Type *leaf) {
    switch (type_wasm(leaf)) {
    case WASM_I64: return "i64";
    case WASM_F32: return "f32";
    case WASM_F64: return "f64";
    case WASM_FUNCREF: return "funcref";
    default: return "i32";
    }
}

/* The column wasm_type, where a str is an address and a length. */
static void storage_wasm_types(const Type *t, Buf *out) {
    uint32_t n = type_leaves(t);
    if (t->kind != TYPE_TUPLE && t->kind != TYPE_STR) {
        buf_str(out, str_of(wasm_name(t)));
        return;
    }
    buf_str(out, STR("("));
    for (uint32_t i = 0; i < n; i++) {
        const Type *leaf = type_leaf(t, i);
        buf_printf(out, "%s%s%s", i ? "; " : "", wasm_name(leaf),
                   leaf->kind == TYPE_STR ? "; i32" : "");
    }
    buf_str(out, STR(")"));
}

static void describe_var(Store *s, const PlanVar *v) {
    Buf description = {0}, types = {0};
    char script[32];
    snprintf(script, sizeof script, "script%u", v->script);
    describe_type(v->decl->type, &description);
    storage_wasm_types(v->decl->type, &types);
    s->rows.of_var[v->id] =
        image_var(s->rows.image, storage_kind_of(v), buf_view(&description), v->decl->name,
                  str_of(v->decl->type->text), buf_view(&types), str_of(script));
    buf_free(&description);
    buf_free(&types);
}

/* Returns the variable's group. As in the report: one per type of tuples, else one per kind. */
static uint32_t group_for(Store *s, const PlanVar *v, Map *groups) {
    const Type *type = v->decl->type;
    bool added, hidden = !v->decl->report;
    Buf key = {0};
    buf_u8(&key, hidden);
    buf_u8(&key, (uint8_t)type->kind);
    if (type->kind == TYPE_TUPLE)
        buf_str(&key, str_of(type->text));
    uint32_t group = (uint32_t)*map_put(groups, buf_view(&key), s->groups.len, &added);
    buf_free(&key);
    if (added) {
        vec_push(
            &s->groups,
            ((SlotGroup){
                .type = type, .hidden = hidden, .last = COUNT_NONE, .leaves = type_leaves(type)}));
        if (!hidden)
            vec_last(&s->groups).rows = image_group(s->rows.image, s->rows.of_var[v->id]);
    }
    return group;
}

/* Returns the first frame variable of the same name in the script. */
static uint32_t first_of_frame(const PlanVar *v, Map *frames) {
    if (v->decl->storage != STORAGE_FRAME)
        return v->id;
    Buf key = {0};
    buf_u32le(&key, v->script);
    buf_str(&key, v->decl->name);
    uint32_t first = (uint32_t)*map_put(frames, buf_view(&key), v->id, NULL);
    buf_free(&key);
    return first;
}

static void number_maps(Store *s);

void store_init(Store *s, const Plan *plan) {
    *s = (Store){.plan = plan,
                 .rows = {.image = image_new(), .last_func = UINT32_MAX},
                 .memory = UINT32_MAX};
    uint32_t n = plan->vars.len;
    s->rows.of_var = mem_zalloc(sizeof *s->rows.of_var * (n + 1u));
    s->var_in_memory = mem_zalloc(sizeof *s->var_in_memory * (n + 1u));
    s->frame_of = mem_zalloc(sizeof *s->frame_of * (n + 1u));
    s->global = mem_zalloc(sizeof *s->global * (n + 1u));
    s->address = mem_zalloc(sizeof *s->address * (n + 1u));
    s->group_of = mem_zalloc(sizeof *s->group_of * (n + 1u));
    s->maps.of_var = mem_zalloc(sizeof *s->maps.of_var * (n + 1u));
    s->rows.of_probe = mem_zalloc(sizeof *s->rows.of_probe * 2 * (plan->actions.len + 1u));
    Map groups = {0}, frames = {0};
    for (uint32_t i = 0; i < n; i++) {
        const PlanVar *v = &plan->vars.at[i];
        s->frame_of[i] = first_of_frame(v, &frames);
        if (v->decl->report && !plan_is_for_modules(plan, v)) {
            s->rows.reported = true;
            s->rows.reports = !plan->by_kind[EVENT_REPORT].len;
            describe_var(s, v);
        }
        if (v->decl->storage == STORAGE_UNSHARED)
            s->group_of[i] = group_for(s, v, &groups);
    }
    map_free(&groups);
    map_free(&frames);
    for (uint32_t i = 0; i < plan->texts.list.len; i++)
        store_text(s, plan->texts.list.at[i]);
    number_maps(s);
    tallies_init(&s->tallies, plan, s->maps.of_var);
    cells_init(&s->cells, plan);
}

void store_free(Store *s) {
    image_free(s->rows.image);
    cells_free(&s->cells);
    free(s->rows.of_var);
    free(s->rows.of_probe);
    free(s->var_in_memory);
    free(s->frame_of);
    free(s->global);
    free(s->address);
    free(s->group_of);
    free(s->maps.of_var);
    vec_free(&s->groups);
    vec_free(&s->inits);
    tallies_free(&s->tallies);
    vec_free(&s->tail);
    vec_free(&s->texts.list);
    vec_free(&s->texts.at);
    map_free(&s->texts.ids);
}

uint32_t store_action_row(Store *s, const Action *a, unsigned ways) {
    int32_t place = counts_place(counts_event(a, ways));
    uint32_t *id = &s->rows.of_probe[2 * (a - s->plan->actions.at) + (ways != WAY_BOTH && place)];
    if (!*id) {
        Buf text = {0};
        action_text(s->plan, a, &text);
        *id = 1 + image_probe(s->rows.image, buf_view(&text));
        image_place(s->rows.image, *id - 1, place);
        buf_free(&text);
    }
    return *id - 1;
}

/* Records the initial value of a slot, if it is known now. */
static void note_init(Store *s, const Site *site, const Var *var, uint32_t group, uint32_t slot) {
    uint64_t bits = 0;
    Value v;
    if (var->type->kind == TYPE_MAP)
        bits = s->maps.count++;
    else if (var->init && !var_starts_dynamic(var) && fold(var->init, site, &v))
        bits = value_wasm_bits(v);
    if (bits)
        vec_push(&s->inits, ((SlotInit){group, slot, bits}));
}

/* Notes the strings that the match's code needs at this site. */
static void note_texts(Store *s, const Site *site, const Variant *v) {
    for (uint32_t i = 0; i < v->consts.len; i++) {
        Value value;
        if (v->consts.at[i]->type->kind == TYPE_STR && fold(v->consts.at[i], site, &value))
            store_text(s, value.text);
    }
}

static void name_function(Store *s, const WasmModule *m, uint32_t func) {
    if (s->rows.last_func == func)
        return;
    s->rows.last_func = func;
    Str name = wasm_known_name(m, func);
    image_func(s->rows.image, func, name.ptr ? name : STR("")); /* then reports show the number */
}

static SlotGroup *group_of_row(Store *s, const CountedRow *row) {
    return &s->groups.at[s->group_of[row->var]];
}

static ImageCount storage_count_of(const Counts *counts, uint32_t value) {
    const CountValue *v = &counts->values.at[value];
    return (ImageCount){v->amount, v->flag, value};
}

static void storage_put_row(Store *s, const WasmModule *m, uint32_t func, uint32_t pc,
                            const CountedRow *row, uint32_t value) {
    SlotGroup *g = group_of_row(s, row);
    name_function(s, m, func);
    if (value == g->last) { /* often the value of the row before */
        image_same_row(s->rows.image, s->rows.of_var[row->var], row->probe, func, pc);
        return;
    }
    ImageCount count = storage_count_of(s->counts, value);
    image_count_row(s->rows.image, s->rows.of_var[row->var], row->probe, func, pc, &count);
    g->last = value;
}

void store_count_row(Store *s, const Site *site, const CountedRow *row) {
    assert(row->var < s->plan->vars.len);
    uint32_t last = group_of_row(s, row)->last;
    storage_put_row(
        s, site->m, site->func, site->pc, row,
        counts_value(&s->coalesce->counts, row->segment, row->k.amount, row->k.flag, last));
}

/* Whether a count can only be 0. */
static bool is_never(const Counts *counts, uint32_t value) {
    return value != COUNT_NONE && !counts->values.at[value].amount;
}

void store_join_row(Store *s, const WasmModule *m, uint32_t func, uint32_t pc,
                    const CountedRow *row, uint32_t value) {
    uint32_t last = group_of_row(s, row)->last;
    bool same = is_never(s->counts, value) && is_never(s->counts, last); /* counts_value's rule */
    storage_put_row(s, m, func, pc, row, same ? last : value);
}

void store_join_rows(Store *s, uint32_t group, const ImageRows *rows, const uint32_t *values,
                     uint32_t nvalues, uint32_t first) {
    assert(group < s->groups.len);
    SlotGroup *g = &s->groups.at[group];
    image_append_rows(s->rows.image, g->rows, rows);
    for (uint32_t i = 0; i < nvalues; i++) {
        ImageCount count = storage_count_of(s->counts, first + values[i]);
        image_append_value(s->rows.image, g->rows, &count);
        g->last = count.number;
    }
}

void store_join_func(Store *s, const WasmModule *m, uint32_t func) {
    name_function(s, m, func);
    image_func_has_rows(s->rows.image, func);
}

void store_note_constants(Store *s, const Site *site, const Variant *v) {
    if (v->has_texts)
        note_texts(s, site, v);
    s->maps.elements += v->nelements;
    s->slots += cells_count(&s->cells, v, site);
}

static void count_values(Store *s, const Site *site, const Match *match) {
    const Variant *v = match->shape->variant;
    coalesce_note(s->coalesce, &s->cells, site, match);
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        if (var->storage != STORAGE_UNSHARED || !var->report)
            continue;
        uint32_t id = v->vars[var->index];
        CountedAmount k = coalesce_amount(s->coalesce, site, match, id);
        CountEvent event = counts_event(match->action, k.ways);
        CountedRow row = {id, store_action_row(s, match->action, k.ways),
                          counts_segment(&s->coalesce->counts, site, event), k};
        store_count_row(s, site, &row);
    }
}

bool store_count(Store *s, const Site *site, const Match *match) {
    const Variant *v = match->shape->variant;
    match->action->sites++;
    s->sites++;
    store_note_constants(s, site, v);
    if (s->coalesce && coalesce_takes(s->coalesce, site, match)) {
        count_values(s, site, match);
        return true;
    }
    tallies_site(&s->tallies, site);
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        if (var->storage != STORAGE_UNSHARED)
            continue;
        uint32_t id = v->vars[var->index];
        SlotGroup *g = &s->groups.at[s->group_of[id]];
        if (var->report) {
            name_function(s, site->m, site->func);
            g->last = COUNT_NONE;
            image_site_row(s->rows.image, s->rows.of_var[id],
                           store_action_row(s, match->action, WAY_BOTH), site->func, site->pc);
        }
        s->slots += g->leaves;
        note_init(s, site, var, s->group_of[id], g->count++);
        tallies_count(&s->tallies, id, site, s->maps.count - 1);
    }
    return false;
}

void store_count_once(Store *s, const ShapeList *shapes, const WasmModule *m) {
    Site nowhere = plan_nowhere(s->plan, m);
    for (uint32_t i = 0; i < shapes->len; i++) {
        note_texts(s, &nowhere, shapes->at[i]->variant);
        s->maps.elements += shapes->at[i]->variant->nelements;
        s->slots += cells_count(&s->cells, shapes->at[i]->variant, &nowhere);
    }
}

/* Returns the id of a whole probe, for shared variables: the id of its actions if they share one,
 * else an id of its first number and its rule. */
static uint32_t probe_row_id(Store *s, const PlanProbe *p) {
    const Action *first = p->nactions ? &s->plan->actions.at[p->first_action] : NULL;
    if (first && first[p->nactions - 1].number == first->number)
        return store_action_row(s, first, WAY_BOTH);
    Buf text = {0};
    buf_printf(&text, "%u_", first ? first->number : 0);
    const Rule *r = &p->probe->rule;
    for (uint32_t i = 0; i < r->nparts; i++)
        buf_printf(&text, "%s%.*s", i ? ":" : "", STR_ARG(r->parts[i].pattern));
    uint32_t id = image_probe(s->rows.image, buf_view(&text));
    buf_free(&text);
    return id;
}

static int by_name(const void *a, const void *b) {
    const PlanVar *x = *(const PlanVar *const *)a, *y = *(const PlanVar *const *)b;
    if (x->script != y->script)
        return x->script < y->script ? -1 : 1;
    uint32_t n = x->decl->name.len < y->decl->name.len ? x->decl->name.len : y->decl->name.len;
    int order = memcmp(x->decl->name.ptr, y->decl->name.ptr, n);
    return order
               ? order
               : (x->decl->name.len > y->decl->name.len) - (x->decl->name.len < y->decl->name.len);
}

/* Lists the variables of a storage, script scope by name, shared in order; returns their number. */
static uint32_t list_vars(const Plan *plan, Storage storage, const PlanVar **list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->vars.len; i++)
        if (plan->vars.at[i].decl->storage == storage &&
            !plan_is_for_modules(plan, &plan->vars.at[i]))
            list[n++] = &plan->vars.at[i];
    if (storage == STORAGE_SCRIPT && n)
        qsort(list, n, sizeof *list, by_name);
    return n;
}

/* Numbers the maps that live for the whole run, except per-site ones: script scope first. */
static void number_maps(Store *s) {
    const PlanVar **list = mem_alloc(sizeof *list * (s->plan->vars.len + 1u));
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t n = list_vars(s->plan, k ? STORAGE_SHARED : STORAGE_SCRIPT, list);
        for (uint32_t i = 0; i < n; i++)
            if (list[i]->decl->type->kind == TYPE_MAP)
                s->maps.of_var[list[i]->id] = s->maps.count++;
    }
    free(list);
}

static ImageWord count_word(void *ctx, uint32_t number) {
    CountRef ref = ((const Counts *)ctx)->values.at[number].ref;
    return (ImageWord){ref.index, ref.derived};
}

/* Whether the runtime computes rows or sums from counters: then the image's values include them. */
static bool counters_in_image(const Store *s) {
    return s->counts && (s->counts->values.len || s->counters.added_up);
}

static void close_counts(Store *s) {
    const Counts *c = s->counts;
    image_set_counts(s->rows.image,
                     (ImageCounts){.traps = c->corrections.table.len ? TRAP_RECORDS : 0,
                                   .ncounters = counters_in_image(s) ? c->ncounters : 0,
                                   .nderived = c->nderived,
                                   .derived = &c->derived,
                                   .word = count_word,
                                   .ctx = (void *)(uintptr_t)c});
}

/* Rows of derived columns: they have no storage, and nothing but these is in the program. */
static void add_derived(Store *s) {
    Buf type = {0};
    char script[32];
    for (uint32_t i = 0; i < s->plan->scripts.len; i++) {
        const Script *of = s->plan->scripts.at[i];
        snprintf(script, sizeof script, "script%u", i);
        for (uint32_t k = 0; k < of->derived.len; k++) {
            const Var *v = of->derived.at[k];
            type.len = 0;
            buf_printf(&type, "%s=%.*s", v->type->text, STR_ARG(v->formula));
            image_derived_row(s->rows.image, image_var(s->rows.image, (ReportKind)v->type->kind,
                                                       STR(""), v->name, buf_view(&type),
                                                       str_of(wasm_name(v->type)), str_of(script)));
        }
    }
    buf_free(&type);
}

void store_close(Store *s, const WasmModule *m) {
    Site nowhere = plan_nowhere(s->plan, m);
    for (uint32_t i = 0; i < s->plan->scopes.len; i++) {
        note_texts(s, &nowhere, s->plan->scopes.at[i]);
        s->maps.elements += s->plan->scopes.at[i]->nelements;
        s->slots += cells_count(&s->cells, s->plan->scopes.at[i], &nowhere);
    }
    for (uint32_t i = 0; i < s->plan->probes.len; i++)
        if (s->plan->probes.at[i].shared_from) {
            s->maps.elements += s->plan->probes.at[i].shared_from->nelements;
            s->slots += cells_count(&s->cells, s->plan->probes.at[i].shared_from, NULL);
        }
    cells_close(&s->cells);
    const PlanVar **list = mem_alloc(sizeof *list * (s->plan->vars.len + 1u));
    uint32_t n = list_vars(s->plan, STORAGE_SHARED, list);
    for (uint32_t i = 0; i < n; i++) {
        if (!list[i]->decl->report)
            continue;
        image_shared_row(s->rows.image, s->rows.of_var[list[i]->id],
                         probe_row_id(s, &s->plan->probes.at[list[i]->probe]));
        vec_push(&s->tail, list[i]->id);
    }
    /* of script scope: globals, then maps */
    n = list_vars(s->plan, STORAGE_SCRIPT, list);
    for (uint32_t maps = 0; maps < 2; maps++) {
        for (uint32_t i = 0; i < n; i++) {
            if (!list[i]->decl->report || (list[i]->decl->type->kind == TYPE_MAP) != maps)
                continue;
            if (list[i]->decl->cells)
                cells_add_row(&s->cells, s->rows.image, s->rows.of_var[list[i]->id],
                              list[i]->decl->cells - 1, s->maps.of_var[list[i]->id]);
            else
                image_script_row(s->rows.image, s->rows.of_var[list[i]->id]);
            vec_push(&s->tail, list[i]->id);
        }
    }
    free(list);
    add_derived(s);
}

/* ---- strings ---- */

uint32_t store_text(Store *s, Str text) {
    bool added;
    uint64_t *id = map_put(&s->texts.ids, text, s->texts.list.len, &added);
    uint32_t result = (uint32_t)*id;
    if (added)
        vec_push(&s->texts.list, text);
    return result;
}

void store_put_texts(Store *s, uint64_t at, Buf *out) {
    for (uint32_t i = 0; i < s->texts.list.len; i++) {
        Str text = s->texts.list.at[i];
        if (i < s->plan->texts.list.len && s->plan->alone.texts && s->plan->alone.texts[i])
            text.len = 0;                                     /* never read */
        vec_push(&s->texts.at, text.len ? at + out->len : 0); /* the empty string is at 0 */
        if (!text.len)
            continue;
        buf_u32le(out, text.len);
        buf_str(out, text);
        while (out->len % 4)
            buf_u8(out, 0);
    }
}

void store_push_text(const Store *s, const WasmModule *m, uint32_t id, Buf *out) {
    assert(id < s->texts.list.len);
    uint64_t at = id < s->texts.at.len ? s->texts.at.at[id] : 0; /* never read */
    if (s->texts.in_globals)
        put_index(out, WASM_OP_GLOBAL_GET, wasm_final(m, WASM_SPACE_GLOBAL, (uint32_t)at));
    else
        put_i32(out, at);
}

void store_push_str(const Store *s, const WasmModule *m, Str text, Buf *out) {
    store_push_text(s, m, (uint32_t)*map_get(&s->texts.ids, text), out);
}

/* ---- layout ---- */

static uint32_t leaf_bytes(const SlotGroup *g) {
    WasmType t = type_wasm(g->type);
    return g->type->kind == TYPE_TUPLE || t == WASM_I64 || t == WASM_F64 ? 8 : 4;
}

/* Offset of a hidden group's slots after the reported values. */
static uint64_t hidden_offset(const Store *s, uint32_t group) {
    uint64_t at = align8(image_values_size(s->rows.image));
    for (uint32_t i = 0; i < group; i++) {
        const SlotGroup *g = &s->groups.at[i];
        if (g->hidden)
            at = align8(at + (uint64_t)g->count * g->leaves * leaf_bytes(g));
    }
    return at;
}

/* Counters, and the settled parts of sums. */
static uint32_t counter_words(const Store *s) {
    return s->counts ? s->counts->ncounters + s->counters.nsettled : 0;
}

uint64_t store_words(const Store *s) {
    return s->slots + counter_words(s);
}

/* A variable of a probe without sites, or for other programs, which nothing reads or writes. */
static bool storage_is_idle(const Store *s, const PlanVar *v) {
    const Plan *plan = s->plan;
    if (plan_is_for_modules(plan, v))
        return true;
    if (!s->knows_sites || v->decl->storage != STORAGE_SHARED || v->decl->report)
        return false;
    const PlanProbe *p = &plan->probes.at[v->probe];
    for (uint32_t k = 0; k < p->nactions; k++)
        if (plan->actions.at[p->first_action + k].sites)
            return false;
    return !p->shared_from;
}

/* Whether it is a script or shared variable present in the program. */
static bool storage_is_kept(const Store *s, const PlanVar *v) {
    bool once = v->decl->storage == STORAGE_SCRIPT || v->decl->storage == STORAGE_SHARED;
    return once && !v->decl->cells && !storage_is_idle(s, v);
}

static bool goes_to_memory(const Store *s, const PlanVar *v) {
    return s->all_in_memory && v->decl->type->kind != TYPE_FUNCREF && storage_is_kept(s, v);
}

/* Offset of variables and loops, after the hidden values of sites. */
static uint64_t once_offset(const Store *s) {
    uint64_t at = hidden_offset(s, s->groups.len);
    return s->cells.in_memory ? align8(at + cells_hidden_size(&s->cells)) : at;
}

static uint64_t loops_offset(const Store *s) {
    uint64_t at = once_offset(s);
    for (uint32_t i = 0; i < s->plan->vars.len; i++) {
        const PlanVar *v = &s->plan->vars.at[i];
        if (!v->decl->report && goes_to_memory(s, v))
            at += 8 * (uint64_t)type_leaves(v->decl->type);
    }
    return at;
}

static uint64_t tallies_offset(const Store *s) {
    uint64_t loops = s->all_in_memory && s->counts ? s->counts->loops.len : 0;
    return loops_offset(s) + 8 * loops;
}

uint64_t store_values_size(const Store *s) {
    uint64_t size = tallies_offset(s) + 8 * s->tallies.words;
    if (!s->in_memory)
        return size;
    uint32_t words = counter_words(s) - (counters_in_image(s) ? s->counts->ncounters : 0);
    return size + 8 * (uint64_t)words;
}

/* ---- sums ---- */

const Sum *store_sum(const Store *s, uint32_t var) {
    return s->coalesce ? &s->coalesce->counters.sums.at[var] : NULL;
}

const Sum *store_cell_sum(const Store *s, const MapCell *cell, uint32_t n) {
    if (!s->coalesce)
        return NULL;
    const Counters *c = &s->coalesce->counters;
    return &c->sums.at[c->map_sums[cell->map] + n];
}

bool store_settles(const Store *s, const Sum *sum, bool cell) {
    return sum->late || (cell ? s->cells.in_memory : s->all_in_memory);
}

void store_chosen(Store *s) {
    s->counters.nsettled = 0;
    if (s->counts)
        close_counts(s);
    for (uint32_t i = 0; s->counts && i < s->plan->vars.len; i++)
        s->counters.nsettled +=
            counts_sum(s->counts, i)->n && store_settles(s, store_sum(s, i), false);
    for (uint32_t i = 0; s->counts && i < s->cells.list.len; i++) {
        const MapCell *cell = &s->cells.list.at[i];
        uint32_t var = s->plan->vars.len + cell->first_sum;
        for (uint32_t k = 0; k <= s->plan->cells.maps.at[cell->map].leaves; k++)
            s->counters.nsettled += counts_sum(s->counts, var + k)->n &&
                                    store_settles(s, store_cell_sum(s, cell, k), true);
    }
}

/* The first value of a variable, as code has it; other ones are computed at start-up. */
static uint64_t first_bits(const Store *s, const PlanVar *v) {
    const Type *type = v->decl->type;
    Value value = {.kind = type->kind};
    if (type->kind == TYPE_MAP)
        value.bits = s->maps.of_var[v->id];
    else if (type->kind <= TYPE_BOOL && v->decl->init)
        fold(v->decl->init, NULL, &value);
    return type->kind == TYPE_TUPLE ? 0 : value_wasm_bits(value);
}

static void add_variable(Store *s, WasmModule *m, const PlanVar *v) {
    const Type *type = v->decl->type;
    Buf init = {0};
    Str name = {arena_printf(&m->arena, "whammc.%.*s", STR_ARG(v->decl->name)),
                v->decl->name.len + 7};
    s->global[v->id] = m->globals.len;
    for (uint32_t i = 0; i < type_leaves(type); i++) {
        WasmType leaf = type_wasm(type_leaf(type, i));
        wasm_put_init(&init, leaf, first_bits(s, v));
        wasm_add_global(m, leaf, true, name, &init);
    }
    buf_free(&init);
}

/* Reported variables have the places of their values in the report. */
static void place_variables(Store *s, WasmModule *m) {
    uint64_t hidden = s->values_at + once_offset(s);
    for (uint32_t i = 0; i < s->tail.len; i++)
        s->address[s->tail.at[i]] = s->values_at + image_tail_offset(s->rows.image, i);
    for (uint32_t i = 0; i < s->plan->vars.len; i++) {
        const PlanVar *v = &s->plan->vars.at[i];
        if (!s->var_in_memory[i] || v->decl->storage == STORAGE_UNSHARED)
            continue;
        if (!v->decl->report) {
            s->address[i] = hidden;
            hidden += 8 * (uint64_t)type_leaves(v->decl->type);
        }
        uint64_t bits = first_bits(s, v);
        Buf init = {0};
        buf_u64le(&init, bits);
        if (bits)
            wasm_add_data_active(m, s->memory, s->address[i], &init, STR("whammc.variable"));
        buf_free(&init);
    }
}

static void add_slots(Store *s, WasmModule *m) {
    for (uint32_t k = 0; k < s->groups.len; k++) {
        SlotGroup *g = &s->groups.at[k];
        g->first_global = m->globals.len;
        for (uint32_t i = 0; i < g->count && !g->in_memory; i++)
            for (uint32_t leaf = 0; leaf < g->leaves; leaf++)
                wasm_add_global_zero(m, type_wasm(type_leaf(g->type, leaf)), true, STR(""));
    }
    for (uint32_t i = 0; i < s->inits.len; i++) {
        const SlotInit *init = &s->inits.at[i];
        const SlotGroup *g = &s->groups.at[init->group];
        if (!g->in_memory)
            wasm_set_global(m, g->first_global + init->slot, init->bits);
    }
}

static void set_addresses(Store *s) {
    for (uint32_t i = 0; i < s->groups.len; i++) {
        SlotGroup *g = &s->groups.at[i];
        g->base = s->values_at +
                  (g->hidden ? hidden_offset(s, i) : image_group_offset(s->rows.image, g->rows));
    }
    cells_place(&s->cells, s->rows.image, s->values_at,
                s->values_at + hidden_offset(s, s->groups.len));
}

/* Slots that do not start at zero, as initial data of our memory. */
static void add_initial_data(Store *s, WasmModule *m) {
    if (!s->inits.len)
        return;
    Buf bytes = {0};
    uint64_t size = tallies_offset(s); /* the rest starts at zero */
    buf_reserve(&bytes, size);
    memset(bytes.data, 0, size);
    bytes.len = size;
    for (uint32_t i = 0; i < s->inits.len; i++) {
        const SlotInit *init = &s->inits.at[i];
        const SlotGroup *g = &s->groups.at[init->group];
        if (!g->in_memory)
            continue;
        uint32_t width = leaf_bytes(g);
        uint64_t at = g->base - s->values_at + (uint64_t)init->slot * width;
        for (uint32_t b = 0; b < width; b++)
            bytes.data[at + b] = (uint8_t)(init->bits >> (8 * b));
    }
    wasm_add_data_active(m, s->memory, s->values_at, &bytes, STR("whammc.init"));
}

/* Counters are numbered from this one on for the function that increments them, so that twice as
 * many numbers are constants of three bytes. */
enum { MIDDLE_COUNTER = 1 << 20 };
/* From this many counters in memory (20 bytes of code each), calls are worth it. */
#ifdef NDEBUG
enum { VERY_MANY_COUNTERS = 200000 };
#else
enum { VERY_MANY_COUNTERS = 8 };
#endif

/* (number of a counter - MIDDLE_COUNTER): increments it. */
static uint32_t add_count_function(const Store *s, WasmModule *m) {
    return emit_function(m, "whammc.count",
                         "param $at i32 $memory=%u $first=%u"
                         " local.get $at i32.const 3 i32.shl i32.const $first i32.add local.tee $at"
                         " local.get $at i64.load $memory 0 i64.const 1 i64.add"
                         " i64.store $memory 0",
                         s->memory, (uint32_t)s->counters.at + 8u * MIDDLE_COUNTER);
}

static void storage_add_counters(Store *s, WasmModule *m) {
    s->counters.global = m->globals.len;
    if (!s->in_memory)
        wasm_add_globals_zero(m, WASM_I64, true, counter_words(s));
    s->counters.loops_at = s->values_at + loops_offset(s);
    s->counters.settled_at =
        s->values_at + store_values_size(s) - 8 * (uint64_t)s->counters.nsettled;
    s->counters.at = counters_in_image(s)
                         ? s->values_at + image_counters_offset(s->rows.image)
                         : s->counters.settled_at - 8 * (uint64_t)s->counts->ncounters;
    bool called = s->in_memory && s->counts->ncounters >= VERY_MANY_COUNTERS;
    s->counters.add = called ? add_count_function(s, m) : UINT32_MAX;
}

void store_add(Store *s, WasmModule *m) {
    assert(!s->in_memory || s->memory != UINT32_MAX);
    for (uint32_t i = 0; i < s->groups.len; i++)
        s->groups.at[i].in_memory = s->in_memory && s->groups.at[i].type->kind != TYPE_FUNCREF;
    for (uint32_t i = 0; i < s->plan->vars.len; i++) {
        const PlanVar *v = &s->plan->vars.at[i];
        if (v->decl->storage == STORAGE_UNSHARED)
            s->var_in_memory[i] = s->groups.at[s->group_of[i]].in_memory;
        else if (goes_to_memory(s, v))
            s->var_in_memory[i] = true;
        else if (storage_is_kept(s, v))
            add_variable(s, m, v);
    }
    place_variables(s, m);
    s->tallies.at = s->values_at + tallies_offset(s);
    if (s->cells.in_memory)
        set_addresses(s);
    else
        cells_add(&s->cells, m);
    if (s->in_memory)
        add_initial_data(s, m);
    add_slots(s, m);
    if (s->counts)
        storage_add_counters(s, m);
}

/* ---- counters ---- */

EmitNumber store_number(const Store *s, const WasmModule *m, WasmType type, uint64_t at) {
    assert(s->memory != UINT32_MAX);
    return (EmitNumber){.in_memory = true,
                        .size_log2 = type == WASM_I64 || type == WASM_F64 ? 3 : 2,
                        .type = type,
                        .index = wasm_final(m, WASM_SPACE_MEMORY, s->memory),
                        .at = at};
}

EmitNumber store_variable(const Store *s, const WasmModule *m, const PlanVar *v, uint32_t leaf) {
    assert(leaf < type_leaves(v->decl->type));
    WasmType type = type_wasm(type_leaf(v->decl->type, leaf));
    if (s->var_in_memory[v->id])
        return store_number(s, m, type, s->address[v->id] + 8 * (uint64_t)leaf);
    return emit_global(type, wasm_final(m, WASM_SPACE_GLOBAL, s->global[v->id] + leaf));
}

EmitNumber store_counter(const Store *s, const WasmModule *m, uint32_t n) {
    assert(n < s->counts->ncounters + s->counters.nsettled);
    uint32_t counters = s->counts->ncounters;
    if (!s->in_memory)
        return emit_global(WASM_I64, wasm_final(m, WASM_SPACE_GLOBAL, s->counters.global + n));
    return store_number(s, m, WASM_I64,
                        n < counters ? s->counters.at + 8 * (uint64_t)n
                                     : s->counters.settled_at + 8 * (uint64_t)(n - counters));
}

void store_put_count(const Store *s, const WasmModule *m, uint32_t n, bool cool, Buf *out) {
    if (cool && s->counters.add != UINT32_MAX)
        emit_call_on(out, wasm_final(m, WASM_SPACE_FUNC, s->counters.add), (int)n - MIDDLE_COUNTER);
    else
        emit_increment(out, store_counter(s, m, n), 1);
}

void store_laid_out(Store *s, const WasmModule *m) {
    for (uint32_t i = 0; i < s->groups.len; i++) {
        SlotGroup *g = &s->groups.at[i];
        g->step = g->in_memory ? leaf_bytes(g) * g->leaves : g->leaves;
        if (!g->in_memory)
            g->base = g->count ? wasm_final(m, WASM_SPACE_GLOBAL, g->first_global) : 0;
    }
}

uint64_t store_slot(const Store *s, SlotCursor *c, const PlanVar *v) {
    assert(v->decl->storage == STORAGE_UNSHARED);
    uint32_t group = s->group_of[v->id];
    while (c->next.len <= group)
        vec_push(&c->next, 0);
    const SlotGroup *g = &s->groups.at[group];
    uint32_t slot = c->next.at[group]++;
    return g->base + (uint64_t)slot * g->step;
}
