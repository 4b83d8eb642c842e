/*
 * plan/make.c - from checked scripts to a plan.
 */
#include "plan/make.h"

#include "event/blame.h"
#include "event/branch.h"
#include "event/derive.h"
#include "plan/access.h"
#include "plan/cell.h"
#include "plan/cut.h"
#include "plan/prune.h"
#include "plan/removal.h"
#include "plan/statics.h"

#include <assert.h>

/* ---- variants: one typed copy of a probe per combination of name types ---- */

/* Collects the names of locations in a map: their types differ from event to event. */
static void collect_name(void *ctx, Expr *e) {
    Map *names = ctx;
    bool named = e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_FIELD;
    Str name = named ? e->name : e->kind == EXPR_METHOD ? e->recv : (Str){0};
    if (name.len && event_name_exists(name))
        map_put(names, name, 0, NULL);
}

/* Values of constants that fit into the same types are alike. */
static uint8_t value_class(uint64_t value) {
    return (value > INT8_MAX) + (value > UINT8_MAX) + (value > INT16_MAX) + (value > UINT16_MAX);
}

/* Events share a variant if this key is equal: types of used names, ranges of constants, bases of
 * derived names. */
static void event_key(Event e, const Map *names, Buf *key) {
    key->len = 0;
    buf_u8(key, (uint8_t)e.kind);
    buf_u8(key, (uint8_t)e.mode);
    if (e.mode == MODE_ALT)
        buf_printf(key, "%s|%s|", wasm_ops[e.op].operands, wasm_ops[e.op].results);
    for (uint32_t i = 0; i < names->len; i++) {
        Bound b;
        if (!event_name_lookup(e, names->entries[i].key, &b)) {
            buf_u8(key, 0xff);
            continue;
        }
        buf_u8(key, b.type ? (uint8_t)b.type->kind : 0xfe);
        if (b.literal)
            buf_u8(key, value_class(b.value));
        if (e.kind == EVENT_OPCODE && (b.id == NAME_ARG || b.id == NAME_RES))
            buf_u8(key, cut_fixed_type(e, b.id == NAME_RES, b.n) != WASM_BOT);
        if (derived_depends_on_op(b.id))
            buf_u32le(key, e.op);
    }
}

typedef struct ScopeCtx {
    Event event;
    Plan *plan;
    uint32_t script;
    Diags *diags;
    const PlanProbe *probe; /* NULL = there is none */
    Variant *variant;       /* likewise */
} ScopeCtx;

/* Conditions that other instructions of the same rule may meet: false here (event/derive.h). */
static bool is_met_elsewhere(const ScopeCtx *c, Str name, Bound *out) {
    uint32_t n = c->probe && c->event.kind == EVENT_OPCODE ? c->probe->events.len : 0;
    for (uint32_t i = 0; i < n && event_name_exists(name); i++)
        if (event_name_lookup(c->probe->events.at[i], name, out))
            return derived_is_condition(out->id);
    return false;
}

static bool scope_name(void *ctx, Str name, Bound *out) {
    ScopeCtx *c = ctx;
    return event_name_lookup(c->event, name, out) || is_met_elsewhere(c, name, out);
}

static bool scope_access(void *ctx, const Expr *e, const Access **out) {
    ScopeCtx *c = ctx;
    Str root = {0};
    access_root(e, &root);
    if (!c->variant || !access_at(c->event.kind, root))
        return false;
    *out = NULL;
    if (!c->variant->access.values) {
        vec_push(&c->variant->access.wanted, e);
        return true;
    }
    Buf text = {0};
    access_text(e, &text);
    const uint64_t *found = map_get(c->variant->access.values, buf_view(&text));
    buf_free(&text);
    assert(found);
    *out = (const Access *)(uintptr_t)*found;
    return true;
}

/* Parameters with tuples as the script's types are. */
static const Type *const *interned(Script *s, const Type *const *params, uint32_t n) {
    const Type **own = arena_array(&s->arena, const Type *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        own[i] = params[i]->kind == TYPE_TUPLE
                     ? type_tuple(s, params[i]->fields, params[i]->nfields)
                     : params[i];
    return own;
}

static bool scope_function(void *ctx, Str name, Bound *out, const Type *const **params,
                           uint32_t *nparams, const Type **result) {
    ScopeCtx *c = ctx;
    if (!event_function_lookup(c->event, name, out, params, nparams, result))
        return false;
    *params = interned(c->plan->scripts.at[c->script], *params, *nparams);
    return true;
}

typedef struct SuggestCtx {
    void (*add)(void *ctx, Str name);
    void *ctx;
} SuggestCtx;

static void suggest_one(void *ctx, Str name, const Bound *bound) {
    (void)bound;
    SuggestCtx *s = ctx;
    s->add(s->ctx, name);
}

static void suggest_function(void *ctx, FnId id) {
    SuggestCtx *s = ctx;
    s->add(s->ctx, str_of(function_name(id)));
}

static void scope_suggest(void *ctx, bool functions, void (*add)(void *add_ctx, Str name),
                          void *add_ctx) {
    ScopeCtx *c = ctx;
    SuggestCtx s = {add, add_ctx};
    if (functions)
        event_function_each(c->event, suggest_function, &s);
    else
        event_name_each(c->event, suggest_one, &s);
}

static bool scope_library(void *ctx, const Expr *call, Bound *out, const Type *const **params,
                          uint32_t *nparams, const Type **result) {
    ScopeCtx *c = ctx;
    int64_t id = plan_library_call(c->plan, c->script, call, c->diags);
    if (id < 0)
        return false;
    const LibraryFn *f = &c->plan->library_fns.at[id];
    out->id = (int)id;
    *params = f->params;
    *nparams = f->nparams;
    *result = f->result;
    return true;
}

static bool scope_exported(void *ctx, Str name, Str *library) {
    ScopeCtx *c = ctx;
    return plan_exported(c->plan, c->script, name, library);
}

static Scope scope_of(ScopeCtx *ctx, const char *describe) {
    return (Scope){.ctx = ctx,
                   .name = scope_name,
                   .function = scope_function,
                   .access = scope_access,
                   .suggest = scope_suggest,
                   .library = scope_library,
                   .exported = scope_exported,
                   .describe = describe};
}

/* The type of the value that an alt body must supply: known if the instruction has one result, of a
 * fixed type. */
static const Type *alt_type(Event e) {
    static const struct {
        char letter;
        TypeKind kind;
    } letters[] = {
        {'i', TYPE_I32}, {'l', TYPE_I64}, {'f', TYPE_F32}, {'d', TYPE_F64}, {'a', TYPE_I32}};
    const char *results = wasm_ops[e.op].results;
    for (uint32_t i = 0; i < 5; i++)
        if (results[0] == letters[i].letter && !results[1])
            return &type_scalar[letters[i].kind];
    return NULL;
}

/* ---- variables ---- */

/* Registers the long-lived variables of a probe, once per probe; frame variables once per name and
 * script. */
static void plan_vars(Plan *plan, Variant *v) {
    PlanProbe *p = &plan->probes.at[v->source];
    bool first = p->nvars == UINT32_MAX;
    if (first) {
        p->first_var = plan->vars.len;
        p->nvars = 0;
    }
    v->vars = arena_array(&plan->arena, uint32_t, v->probe->nvars + 1);
    uint32_t nth = 0;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        uint32_t id = UINT32_MAX;
        if (var->storage == STORAGE_UNSHARED || var->storage == STORAGE_SHARED ||
            var->storage == STORAGE_FRAME) {
            id = p->first_var + nth++;
            if (first) {
                vec_push(&plan->vars, ((PlanVar){var, v->script, v->source, id}));
                p->nvars++;
            }
        }
        v->vars[var->index] = id;
    }
}

/* ---- making the plan ---- */

static void note_static(void *ctx, Expr *e) {
    Variant *v = ctx;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        vec_push(&v->statics, e);
}

static void forget_static(void *ctx, Expr *e) {
    Variant *v = ctx;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->statics.len; i++)
        if (v->statics.at[i] != e)
            v->statics.at[n++] = v->statics.at[i];
    v->statics.len = n;
}

/* Collects the '@static' calls that are made at each site: not those of shared variables. */
static void note_statics(Variant *v) {
    ast_walk_probe(v->probe, note_static, v);
    for (uint32_t i = 0; v->statics.len && i < v->probe->nvars; i++)
        if (v->probe->vars[i]->storage == STORAGE_SHARED && v->probe->vars[i]->init)
            ast_walk_probe(&(Probe){.predicate = v->probe->vars[i]->init}, forget_static, v);
}

/* Some operand or the result is as wide as a memory or table. */
static bool has_address(Event e) {
    bool has = e.kind == EVENT_OPCODE && operand_is_address(e.op, true, 0);
    for (uint32_t n = 0; n < 3 && e.kind == EVENT_OPCODE; n++)
        has |= operand_is_address(e.op, false, n);
    return has;
}

static void note_member(void *ctx, Expr *e) {
    Str root;
    *(bool *)ctx |= access_root(e, &root);
}

/* Whether a parsed probe has expressions that may be values of the program. */
static bool names_members(const Probe *probe) {
    bool has = false;
    ast_walk_probe(probe, note_member, &has);
    return has;
}

Variant *plan_add_variant(Plan *plan, uint32_t source, Event e) {
    const PlanProbe *p = &plan->probes.at[source];
    Variant *v = arena_new(&plan->arena, Variant);
    v->source = source;
    v->script = p->script;
    v->event = e;
    v->branches = branch_has_ways(e);
    v->alt.is = e.mode == MODE_ALT || e.mode == MODE_BLOCK_ALT;
    bool retyped = v->alt.is || has_address(e) || names_members(p->probe); /* at some sites */
    bool only = p->events.len == 1 && !retyped;
    v->probe = only ? p->probe : ast_clone_probe(plan->scripts.at[p->script], p->probe);
    v->alt.wanted = v->alt.is ? alt_type(e) : NULL;
    vec_push(&plan->variants, v);
    return v;
}

/* Whether an expression reads a constant of the script, as predicates do to turn a probe off. */
static bool asks_constant(const Expr *e) {
    bool asks = e->var && e->var->constant;
    for (uint32_t i = 0; i < e->nargs && !asks; i++)
        asks = asks_constant(e->args[i]);
    return asks;
}

/* Bodies of alt probes are part of the program; those of events that happen once, of the report. */
static bool is_at_sites(const Variant *v) {
    return !v->alt.is && !event_is_nowhere(v->event.kind);
}

/* Checks a variant and makes it ready; `all` describes all events of the probe. */
static bool make_make_variant(Plan *plan, Variant *v, const char *all, Diags *diags) {
    Script *script = plan->scripts.at[v->script];
    Event e = v->event;
    Buf text = {0};
    event_text(&text, e, false);
    ScopeCtx ctx = {e, plan, v->script, diags, &plan->probes.at[v->source], v};
    Scope scope = scope_of(&ctx, buf_cstr(&text));
    scope.can_return_value = v->alt.is;
    scope.return_type = v->alt.wanted;
    scope.describe_all = all;
    Bound place;
    if (event_name_lookup(e, STR("fid"), &place))
        removal_prepare(script, plan->libraries, v->probe);
    bool ok = check_probe(script, v->probe, &scope, diags);
    buf_free(&text);
    if (!ok || script->broken || script->faulty)
        return false;
    bool switched = v->probe->predicate && asks_constant(v->probe->predicate);
    bool base = v->access.wanted.len > 0;
    if (base ? access_make_base(plan, v) : prune_probe(script, v->probe)) {
        v->off = switched;
        v->impossible = true;
        return true;
    }
    if (base)
        return cut_variant(plan, v, diags);
    if (plan->empty_bodies && is_at_sites(v))
        prune_to_call(plan, v->script, v->probe);
    note_statics(v);
    if (!cut_variant(plan, v, diags))
        return false;
    plan_vars(plan, v);
    return true;
}

Variant *plan_retyped(Plan *plan, const Variant *v, const Type *wanted) {
    assert(v->alt.is);
    Variant *other = plan_add_variant(plan, v->source, v->event);
    uint32_t deferred = plan->cells.elements.len;
    Diags found = {0};
    other->access.values = v->access.values;
    other->alt.wanted = wanted;
    bool ok = make_make_variant(plan, other, NULL, &found);
    if (ok) {
        ok = cut_elements(plan, deferred, &found);
        cells_variant(plan, other);
    }
    if (!ok) {
        other->impossible = true;
        other->alt.reason =
            found.list.len ? arena_printf(&plan->arena, "%s", found.list.at[0]->message) : NULL;
    }
    diag_free(&found);
    return other;
}

static bool make_variant_of_values(Plan *plan, Variant *v, Diags *diags) {
    return make_make_variant(plan, v, NULL, diags);
}

/* Hints for the errors about a variant for 64-bit addresses. */
static void hint_wide(Diags *diags, uint32_t first, const Site *s) {
    const char *op = wasm_ops[s->instr->op].mnemonic;
    const char *of = wasm_ops[s->instr->op].category == WASM_CAT_TABLE ||
                             wasm_ops[s->instr->op].imm == WASM_IMM_TYPE_TABLE
                         ? "table"
                         : "memory";
    for (uint32_t i = first; i < diags->list.len; i++)
        diag_hint(diags, diags->list.at[i],
                  "the %s at offset %u of function %u is of a %s with 64-bit addresses, so "
                  "addresses there have 64 bits; 'as u64' fits %s of both kinds",
                  op, s->pc, s->func, of, strcmp(of, "table") ? "memories" : "tables");
}

Variant *plan_widened(Plan *plan, Variant *v, const Site *s, uint8_t wide) {
    assert(s->instr);
    for (uint32_t i = 0; i < v->wider.len; i++)
        if (v->wider.at[i]->event.wide == wide)
            return v->wider.at[i];
    if (!wide)
        return v;
    Event e = v->event;
    e.wide = wide;
    Variant *other = plan_add_variant(plan, v->source, e);
    uint32_t deferred = plan->cells.elements.len, first = plan->faults.diags->list.len;
    if (make_make_variant(plan, other, NULL, plan->faults.diags) &&
        cut_elements(plan, deferred, plan->faults.diags)) {
        cells_variant(plan, other);
    } else {
        other->impossible = true;
        hint_wide(plan->faults.diags, first, s);
    }
    vec_push(&v->wider, other);
    return other;
}

/* Checks as much of a probe as is possible without knowing its events. */
static bool check_without_events(Plan *plan, uint32_t script, const Probe *probe, Diags *diags) {
    ScopeCtx ctx = {.plan = plan, .script = script, .diags = diags};
    Scope unknown = {.ctx = &ctx, .library = scope_library, .unknown = true};
    Script *s = plan->scripts.at[script];
    Probe *copy = ast_clone_probe(s, probe);
    removal_prepare(s, plan->libraries, copy);
    check_probe(s, copy, &unknown, diags);
    return false;
}

/* The event has every name that the rule's bounds speak of. Without one of them nothing matches. */
static bool has_bound_names(const Rule *rule, Event e) {
    Bound b;
    for (uint32_t i = 0; i < rule->nbounds; i++)
        if (rule->bounds[i].part < 3 && !event_name_lookup(e, rule->bounds[i].name, &b))
            return false;
    return true;
}

/* The probe number of an event: the next one, or that of `select` in the same mode. */
static uint32_t make_number_of(const Plan *plan, const Rule *rule, Event e, uint32_t *number) {
    if (e.kind != EVENT_OPCODE || !rule_means_select(rule, e.op))
        return (*number)++;
    uint32_t i = plan->actions.len - 1;
    while (plan->actions.at[i].event.op != WASM_OP_SELECT ||
           plan->actions.at[i].event.mode != e.mode)
        i--;
    return plan->actions.at[i].number;
}

/* The events of a probe in groups; each group gets a variant, which is checked. */
static bool plan_events(Plan *plan, uint32_t source, const Events *events, uint32_t *number,
                        Diags *diags) {
    const Probe *probe = plan->probes.at[source].probe;
    uint32_t first = plan->variants.len;
    Map names = {0}, groups = {0};
    Buf key = {0}, all = {0};
    Blame blame = {0};
    bool ok = true, possible = false;
    for (uint32_t i = 0; i < events->len; i++)
        possible |= has_bound_names(&probe->rule, events->at[i]);
    ast_walk_probe(probe, collect_name, &names);
    blame_describe(events->at, events->len, &all);
    for (uint32_t i = 0; i < events->len; i++) {
        Event e = events->at[i];
        bool added, impossible = possible && !has_bound_names(&probe->rule, e);
        event_key(e, &names, &key);
        buf_u8(&key, impossible);
        uint64_t *group = map_put(&groups, buf_view(&key), plan->variants.len, &added);
        if (added) {
            Variant *made = plan_add_variant(plan, source, e);
            Diags *messages = blame_group(&blame);
            made->impossible = impossible;
            ok &= impossible || make_make_variant(plan, made, buf_cstr(&all), messages);
        }
        Variant *v = plan->variants.at[*group];
        v->branches = v->branches && branches_alike(v->event, e);
        blame_event(&blame, e, (uint32_t)*group - first);
        uint32_t own = make_number_of(plan, &probe->rule, e, number);
        vec_push(&plan->actions, ((Action){.variant = v, .event = e, .number = own}));
    }
    blame_report(&blame, &probe->rule, diags);
    blame_free(&blame);
    map_free(&names);
    map_free(&groups);
    buf_free(&key);
    buf_free(&all);
    return ok;
}

/* The events that a rule matches. Rules of equal text match the same events, so each text is
 * expanded once. */
static bool make_find_events(Plan *plan, uint32_t source, Events *out, Diags *diags) {
    const Rule *rule = &plan->probes.at[source].probe->rule;
    Buf text = {0};
    for (uint32_t i = 0; i < rule->nparts; i++) {
        buf_str(&text, rule->parts[i].pattern);
        buf_u8(&text, ':');
    }
    Str key = buf_view(&text);
    const uint64_t *first = map_get(&plan->rule_probes, key);
    bool found = first || rule_expand(rule, out, diags);
    if (first) {
        const Events *same = &plan->probes.at[*first].events;
        vec_reserve(out, same->len);
        memcpy(out->at, same->at, same->len * sizeof *same->at);
        out->len = same->len;
    } else if (found) {
        map_put(&plan->rule_probes, key, source, NULL);
    }
    buf_free(&text);
    return found;
}

static bool plan_probe(Plan *plan, uint32_t script, Probe *probe, uint32_t *number, Diags *diags) {
    if (probe->rule.broken)
        return check_without_events(plan, script, probe, diags);
    Events events = {0};
    uint32_t source = plan->probes.len;
    vec_push(&plan->probes, ((PlanProbe){.probe = probe,
                                         .script = script,
                                         .first_action = plan->actions.len,
                                         .nvars = UINT32_MAX}));
    bool known = make_find_events(plan, source, &events, diags);
    plan->probes.at[source].events = events;
    bool ok = known ? plan_events(plan, source, &events, number, diags)
                    : check_without_events(plan, script, probe, diags);
    PlanProbe *p = &plan->probes.at[source];
    p->nactions = plan->actions.len - p->first_action;
    return ok;
}

/* Sorts the actions into lists by instruction and by event kind. */
static void index_actions(Plan *plan) {
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < plan->actions.len; i++) {
            Event e = plan->actions.at[i].event;
            ActionList *list = e.kind == EVENT_OPCODE ? &plan->by_op[e.op] : &plan->by_kind[e.kind];
            if (fill)
                list->at[list->len] = i;
            list->len++;
            plan->asks.unwinds |= e.kind == EVENT_OPCODE && e.mode == MODE_UNWIND;
        }
        for (uint32_t k = 0; !fill && k < WASM_OP_COUNT + EVENT_KIND_COUNT; k++) {
            ActionList *list =
                k < WASM_OP_COUNT ? &plan->by_op[k] : &plan->by_kind[k - WASM_OP_COUNT];
            list->at = arena_array(&plan->arena, uint32_t, list->len + 1);
            list->len = 0;
        }
    }
}

/* Two alt probes cannot both replace an instruction: found as soon as their events overlap and no
 * predicate tells them apart. (With static predicates it is found when matching.) */
static bool make_check_alts(const Plan *plan, Diags *diags) {
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const Probe *first = NULL;
        for (uint32_t i = 0; i < plan->by_op[op].len; i++) {
            const Action *a = &plan->actions.at[plan->by_op[op].at[i]];
            const Probe *p = a->variant->probe;
            if ((a->event.mode != MODE_ALT && a->event.mode != MODE_BLOCK_ALT) || p->predicate ||
                a->variant->impossible)
                continue;
            if (first && (first->rule.span.start != p->rule.span.start ||
                          first->rule.span.file != p->rule.span.file)) {
                Diag *d = diag(diags, DIAG_ALT_CLASH, p->rule.span,
                               "a second alt probe replaces %s", wasm_ops[op].mnemonic);
                diag_label(diags, d, first->rule.span, "the first one is here");
                return false;
            }
            first = p;
        }
    }
    return true;
}

/* A function of the script: everything in it can be compiled. */
static bool plan_fn(Plan *plan, uint32_t script, Fn *fn, Diags *diags) {
    prune_block(plan->scripts.at[script], &fn->body);
    vec_push(&plan->fns, ((PlanFn){fn, script, NULL}));
    return cut_common(plan, plan->scopes.at[script], &fn->body, diags);
}

static bool has_exit(const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_ANNOTATED ? s->annotation == ANN_EXIT
                                      : s->kind == STMT_CALL && s->value->annotation == ANN_EXIT)
            return true;
        for (uint32_t i = 0; i < s->narms; i++)
            if (has_exit(&s->arms[i].body))
                return true;
    }
    return false;
}

static bool plan_script(Plan *plan, uint32_t index, Diags *diags) {
    Script *s = plan->scripts.at[index];
    /* has no names of a location either */
    ScopeCtx ctx = {{.kind = EVENT_BEGIN}, plan, index, diags, NULL, NULL};
    Scope scope = scope_of(&ctx, "script scope");
    bool ok = plan_uses(plan, index, diags);
    ok &= check_script(s, &scope, diags) && !s->broken;
    Variant *common = arena_new(&plan->arena, Variant);
    common->script = index;
    common->vars = arena_array(&plan->arena, uint32_t, s->vars.len + 1);
    for (uint32_t i = 0; i < s->vars.len; i++) {
        Var *var = s->vars.at[i];
        common->vars[var->index] = plan->vars.len;
        vec_push(&plan->vars, ((PlanVar){var, index, UINT32_MAX, plan->vars.len}));
    }
    vec_push(&plan->scopes, common);
    vec_push(&plan->first_fn, plan->fns.len);
    if (ok)
        prune_block(s, &s->init);
    plan->at_exit.any |= has_exit(&s->init);
    ok = ok && cut_common(plan, common, &s->init, diags);
    for (uint32_t i = 0; ok && i < s->fns.len; i++)
        ok &= plan_fn(plan, index, s->fns.at[i], diags);
    uint32_t number = 0;
    for (uint32_t i = 0; i < s->probes.len; i++)
        ok &= plan_probe(plan, index, s->probes.at[i], &number, diags);
    return ok;
}

bool plan_make(Plan *plan, Script *const *scripts, uint32_t n, const Libraries *libraries,
               const PlanOptions *options, Diags *diags) {
    *plan = (Plan){.libraries = libraries,
                   .faults.diags = diags,
                   .cells.wanted = options->cells,
                   .steps = options->steps < UINT32_MAX ? options->steps : UINT32_MAX - 1,
                   .empty_bodies = options->empty_bodies};
    bool ok = true;
    if (!plan->steps)
        plan->steps = 10 * 1000 * 1000;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&plan->scripts, scripts[i]);
    plan->at_exit.code = arena_array(&plan->arena, void *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        ok &= plan_script(plan, i, diags);
    index_actions(plan);
    ok = ok && access_find_sites(plan, &options->program, make_variant_of_values, diags);
    for (uint32_t i = 0; i < plan->probes.len; i++)
        if (plan->probes.at[i].nvars == UINT32_MAX)
            plan->probes.at[i].nvars = 0;
    if (!ok)
        return false;
    cells_choose(plan);
    ok = cut_elements(plan, 0, diags);
    cells_finish(plan);
    assert(plan_check(plan));
    return ok && make_check_alts(plan, diags);
}

static void free_variant(Variant *v) {
    vec_free(&v->atoms);
    vec_free(&v->consts);
    vec_free(&v->keys.list);
    map_free(&v->keys.numbers);
    vec_free(&v->operands.args);
    vec_free(&v->operands.results);
    vec_free(&v->operands.locals);
    vec_free(&v->operands.globals);
    vec_free(&v->calls.alts);
    vec_free(&v->alt.others);
    vec_free(&v->wider);
    vec_free(&v->access.wanted);
    if (v->access.values)
        map_free(v->access.values);
    vec_free(&v->calls.dups);
    vec_free(&v->statics);
    vec_free(&v->calls.memory);
    map_free(&v->shapes.by_atoms);
}

void plan_free(Plan *plan) {
    statics_free(plan);
    for (uint32_t i = 0; i < plan->variants.len; i++)
        free_variant(plan->variants.at[i]);
    for (uint32_t i = 0; i < plan->scopes.len; i++)
        free_variant(plan->scopes.at[i]);
    vec_free(&plan->scopes);
    vec_free(&plan->first_fn);
    vec_free(&plan->scripts);
    for (uint32_t i = 0; i < plan->probes.len; i++)
        vec_free(&plan->probes.at[i].events);
    vec_free(&plan->probes);
    vec_free(&plan->variants);
    vec_free(&plan->actions);
    vec_free(&plan->vars);
    vec_free(&plan->fns);
    vec_free(&plan->library_fns);
    vec_free(&plan->memory_calls);
    vec_free(&plan->shapes);
    vec_free(&plan->faults.misfits);
    vec_free(&plan->cells.maps);
    vec_free(&plan->cells.elements);
    vec_free(&plan->texts.list);
    map_free(&plan->texts.ids);
    map_free(&plan->rule_probes);
    map_free(&plan->accesses.sites);
    arena_free(&plan->arena);
}
