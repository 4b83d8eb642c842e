/*
 * rewrite/storage_passes.c - the passes for the additions of storage/ to a program, and for the
 * scripts' functions.
 */
#include "rewrite/pass.h"

/* ---- the shadow stack ---- */

static void stack_reach(Rewrite *r, void *self, Reach *reach) {
    (void)self;
    stack_helpers(r->p.plan, r->options->link == LINK_IMPORT, r->sets_aside, reach->helpers);
}

static void stack_pass_add(Rewrite *r, void *self, const Reach *reach) {
    (void)self, (void)reach;
    if (stack_is_in_program(r->p.plan, r->options->link == LINK_IMPORT))
        stack_add(&r->stack, r->p.plan, &r->p.m, r->sets_aside, r->helpers);
    else
        stack_import(&r->stack, r->helpers);
}

const RewritePass stack_pass = {.name = "stack", .reach = stack_reach, .add = stack_pass_add};

/* ---- memory operations ---- */

static bool memories_begin(Rewrite *r, void *self) {
    (void)self;
    memory_init(&r->memories, r->p.plan, &r->p.m);
    bool *watch_op = r->p.matcher.watch_op;
    watch_op[WASM_OP_MEMORY_GROW] = watch_op[WASM_OP_MEMORY_SIZE] = true;
    return true;
}

static void memories_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                          const Match *matches, uint32_t n, bool code) {
    (void)self, (void)types, (void)code;
    for (uint32_t i = 0; i < n; i++)
        memory_note(&r->memories, site, matches[i].shape->variant, r->p.diags);
}

/* Notes code that runs at no site. */
static void memories_decide(Rewrite *r, void *self) {
    (void)self;
    Plan *plan = r->p.plan;
    Site nowhere = plan_nowhere(r->p.plan, &r->p.m);
    Value value;
    for (uint32_t i = 0; i < plan->scopes.len; i++) {
        const Variant *v = plan->scopes.at[i];
        memory_note(&r->memories, &nowhere, v, r->p.diags);
        for (uint32_t k = 0; k < v->consts.len && !plan->faults.lack.call; k++)
            if (!fold(v->consts.at[k], &nowhere, &value))
                builtin_lacks(v->consts.at[k], &nowhere, &plan->faults.lack);
    }
    for (uint32_t i = 0; i < plan->probes.len; i++)
        if (plan->probes.at[i].shared_from)
            memory_note(&r->memories, &nowhere, plan->probes.at[i].shared_from, r->p.diags);
}

static void memories_reach(Rewrite *r, void *self, Reach *reach) {
    (void)self;
    memory_helpers(&r->memories, r->options->link == LINK_IMPORT, reach->helpers);
}

static void memories_add(Rewrite *r, void *self, const Reach *reach) {
    (void)self, (void)reach;
    MemoryPlaces at = {.runtime = -1, .helpers = r->helpers};
    if (r->flush.own)
        at.runtime = r->flush.at.memory;
    memory_add(&r->memories, &at);
}

/* Hides pages that the report takes from instructions that query the size of the memory or grow
 * it. */
static bool memories_replace(Rewrite *r, void *self, const Site *site, Buf *out) {
    (void)self;
    return fill_put_memory(&r->fill, site->instr, out);
}

static void memories_free(Rewrite *r, void *self) {
    (void)self;
    memory_free(&r->memories);
}

const RewritePass memories_pass = {
    .name = "memories",
    .begin = memories_begin,
    .note = memories_note,
    .decide = memories_decide,
    .reach = memories_reach,
    .add = memories_add,
    .replace = memories_replace,
    .free = memories_free,
};

/* ---- functions of scripts ---- */

static void add_leaves(WasmTypes *list, const Type *t) {
    for (uint32_t i = 0; i < type_leaves(t); i++)
        vec_push(list, type_wasm(type_leaf(t, i)));
}

/* Adds the scripts' functions, without code at first: calls of them need their indices. */
static void functions_add(Rewrite *r, void *self, const Reach *reach) {
    (void)self;
    r->flush.fns = r->fns = arena_array(&r->p.plan->arena, uint32_t, r->p.plan->fns.len + 1);
    for (uint32_t i = 0; i < r->p.plan->fns.len; i++) {
        const Fn *fn = r->p.plan->fns.at[i].fn;
        if (!reach->fns[i])
            continue;
        WasmTypes params = {0}, results = {0};
        for (uint32_t k = 0; k < fn->nparams; k++)
            add_leaves(&params, fn->params[k]->type);
        add_leaves(&results, fn->result);
        uint32_t type = wasm_add_func_type(&r->p.m, params.at, params.len, results.at, results.len);
        Buf none = {0};
        r->fns[i] = wasm_add_func(&r->p.m, type, fn->name, &none, true);
        vec_free(&params);
        vec_free(&results);
    }
}

const RewritePass functions_pass = {.name = "functions", .add = functions_add};

/* ---- tables and segments ---- */

static bool shadow_pass_begin(Rewrite *r, void *self) {
    (void)self;
    shadow_init(&r->shadow, &r->p.m, r->p.plan, r->p.matcher.watch_op);
    return true;
}

static void shadow_pass_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n, bool code) {
    (void)self, (void)types, (void)code;
    shadow_note(&r->shadow, site, matches, n);
}

static void shadow_pass_add(Rewrite *r, void *self, const Reach *reach) {
    (void)self, (void)reach;
    shadow_add(&r->shadow);
}

/* Keeps the shadow in step after instructions that change a table or drop a segment. */
static bool shadow_pass_replace(Rewrite *r, void *self, const Site *site, Buf *out) {
    (void)self;
    return shadow_put_instr(&r->shadow, site, out);
}

static void shadow_pass_free(Rewrite *r, void *self) {
    (void)self;
    shadow_free(&r->shadow);
}

const RewritePass shadow_pass = {
    .name = "shadow",
    .begin = shadow_pass_begin,
    .note = shadow_pass_note,
    .notes_kinds = true,
    .add = shadow_pass_add,
    .replace = shadow_pass_replace,
    .free = shadow_pass_free,
};

/* ---- targets of br_table ---- */

static void br_tables_pass_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                                const Match *matches, uint32_t n, bool code) {
    (void)self, (void)types, (void)code;
    for (uint32_t i = 0; i < n; i++)
        if (matches[i].shape->variant->asks.targets)
            br_tables_note(&r->br_tables, site->instr);
}

static void br_tables_pass_add(Rewrite *r, void *self, const Reach *reach) {
    (void)self, (void)reach;
    br_tables_add(&r->br_tables, &r->p.m);
}

static void br_tables_pass_free(Rewrite *r, void *self) {
    (void)self;
    br_tables_free(&r->br_tables);
}

const RewritePass br_tables_pass = {
    .name = "br_tables",
    .note = br_tables_pass_note,
    .add = br_tables_pass_add,
    .free = br_tables_pass_free,
};
