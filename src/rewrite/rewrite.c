/*
 * rewrite/rewrite.c - a program and a plan go in, an instrumented program comes out.
 *
 * The steps are in program.h. What this target does in them:
 *
 *   match   each site gets its storage and its row of the report (store.c)
 *   link    decide where storage and runtime live, add them to the module (flush.c); compile the
 *           shapes that occurred to templates (gen/); lay out the module; add the start and the
 *           flush function (flush.c)
 *   splice  templates go in (splice.c)
 */
#include "rewrite/rewrite.h"

#include <assert.h>

#include "plan/alt.h"
#include "wasm/emit.h"
#include "flush/flush.h"
#include "flush/flush_library.h"
#include "rewrite/engine_frames.h"
#include "rewrite/frames.h"
#include "rewrite/keep.h"
#include "rewrite/leaf.h"
#include "rewrite/outline.h"
#include "rewrite/polls.h"
#include "rewrite/rare.h"
#include "rewrite/saved_frames.h"
#include "rewrite/continuations.h"
#include "rewrite/suspend.h"
#include "inject/program.h"
#include "link/runtime.h"
#include "storage/count_ahead.h"
#include "base/workers.h"
#include "storage/loop_count.h"
#include "edit/edit.h"
#include "valid/subtype.h"
#include "valid/valid.h"
#include "library/builtin.h"
#include "gen/template.h"
#include "gen/compile_options.h"
#include "gen/gen.h"

typedef struct Rewrite {
    Program p;
    const RewriteOptions *given;   /* the options as they were given */
    const RewriteOptions *options; /* `decided` */
    RewriteOptions decided;        /* without LINK_AUTO */
    HostChoice host;               /* without HOST_AUTO */
    Store store;
    Coalesce coalesce;
    KindCounts kinds;
    CountAhead ahead;
    uint32_t region_func; /* the function that splicer.one_region is about */
    Vec(Match) coded;     /* the matches of a site that have code there */
    Flush flush;
    Fill fill;
    Shadow shadow;
    BrTables br_tables;
    MemoryOps memories;
    StackPlaces stack;
    OnceShapes once;
    Polls polls;
    Frames frames;
    EngineFrames engine_frames;
    Keep keep;
    Continuations continuations;
    uint32_t helpers[HELPER_COUNT];
    uint32_t *fns;     /* handles of the script's functions */
    bool saves_frames; /* while functions are left and called again (Asyncify) */
    bool sets_aside;   /* frames of the shadow stack, while the host leaves a stack */
    bool *seen_alt;    /* for the message about two alt probes */
} Rewrite;

/* ---- pass 1 ---- */

static void check_alts(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    const Match *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!matches[i].shape->variant->alt.is)
            continue;
        if (first && !r->seen_alt[matches[i].shape->variant->source]) {
            r->seen_alt[matches[i].shape->variant->source] = true;
            Diag *d = diag(r->p.diags, DIAG_ALT_CLASH, matches[i].shape->variant->probe->rule.span,
                           "two alt probes replace the %s at offset %u of function %u",
                           wasm_ops[site->instr->op].mnemonic, site->pc, site->func);
            diag_label(r->p.diags, d, first->shape->variant->probe->rule.span,
                       "the first one is here");
        }
        first = &matches[i];
    }
}

static bool subtypes(const WasmModule *m, const WasmType *a, uint32_t na, const WasmType *b,
                     uint32_t nb) {
    bool ok = na == nb;
    for (uint32_t i = 0; ok && i < na; i++)
        ok = wasm_subtype(m, a[i], b[i]);
    return ok;
}

/* Checks that the function of an alt call exists, and has the callee's parameters and the results
 * that are needed. */
static void check_alt_calls(Rewrite *r, const Site *site, const SiteTypes *types,
                            const Variant *v) {
    const WasmTypes *given = &types->operands, *needed = &types->supplies;
    for (uint32_t i = 0; i < v->alt_calls.len; i++) {
        const AltCall *call = &v->alt_calls.at[i];
        int64_t target = alt_call_target(&r->p.m, call);
        if (target < 0) {
            diag(r->p.diags, DIAG_ALT_RESULT, call->span, "the program has no function %s",
                 call->by_name ? "of this name" : "of this index");
            return;
        }
        const WasmTypeDef *t = wasm_func_type(&r->p.m, (uint32_t)target);
        if (!subtypes(&r->p.m, given->at, given->len, t->params, t->nparams) ||
            !subtypes(&r->p.m, t->results, t->nresults, needed->at, needed->len))
            diag(r->p.diags, DIAG_ALT_RESULT, call->span,
                 "function %u does not have the type of the callee at offset %u of function %u",
                 (uint32_t)target, site->pc, site->func);
    }
}

/* The memories that dup_at writes to are there. */
static void check_dups(Rewrite *r, const Site *site, const Variant *v) {
    for (uint32_t i = 0; i < v->dups.len; i++) {
        const Expr *memory = v->dups.at[i].memory;
        bool imported = r->options->link == LINK_IMPORT;
        if (memory_named(&r->memories, memory, site, imported))
            continue;
        Diag *d = diag(r->p.diags, DIAG_NO_MEMORY, memory->span, "the program has no such memory");
        if (imported && memory_named(&r->memories, memory, site, false))
            diag_hint(r->p.diags, d, "with --link=import it is in another module");
    }
}

/* Nothing is to be noted of a variant that only counts. */
static bool has_no_needs(const Variant *v) {
    return !v->alt_calls.len && !v->dups.len && !v->memory_calls.len && !v->asks.targets &&
           !v->asks.entry && !v->alt.is;
}

/* Counts what is the same at all instructions of the kind. */
static bool count_kind(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    if (!site->decided || !r->store.coalesce ||
        wasm_asyncify_spans(&site->survey->asyncify, site->func))
        return false;
    for (uint32_t i = 0; i < n && !r->kinds.of[site->instr->op].found; i++)
        if (!has_no_needs(matches[i].shape->variant))
            return false;
    return kinds_count(&r->kinds, &r->store, site, matches, n);
}

static void count_site(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                       uint32_t n) {
    Rewrite *r = self;
    bool code = site->instr && matcher_watches(&r->p.matcher, site->instr);
    r->p.matched |= n > 0;
    continuations_note(&r->continuations, &r->p.m, site, matches, n, r->p.touched);
    if (count_kind(r, site, matches, n)) {
        program_touch(&r->p, site, code);
        shadow_note(&r->shadow, site, matches, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool counted = store_count(&r->store, site, &matches[i]);
        code |= !counted;
        if (!counted)
            r->p.plan->shapes.at[matches[i].shape->index]->sites++;
        r->p.touched[site->func] |= counted ? 0 : TOUCHED_CODE;
        check_alt_calls(r, site, types, matches[i].shape->variant);
        check_dups(r, site, matches[i].shape->variant);
        if (matches[i].shape->variant->asks.targets)
            br_tables_note(&r->br_tables, site->instr);
        memory_note(&r->memories, site, matches[i].shape->variant, r->p.diags);
        if (matches[i].shape->variant->alt.is)
            program_note_replaced(&r->p, site);
        if (matches[i].action->event.mode == MODE_AT_TARGET)
            r->p.touched[site->func] |= TOUCHED_END; /* the target may be the function's end */
        if (matches[i].shape->variant->alt.guarded && types->known)
            splice_result_type(&r->p.m, &types->supplies);
        if (matches[i].action->event.mode == MODE_UNWIND)
            splice_unwind_types(&r->p.m, wasm_survey_exceptions(site->survey, &r->p.m), site->instr,
                                matches, n);
    }
    program_touch(&r->p, site, code);
    frames_note(&r->frames, site, matches, n, code);
    shadow_note(&r->shadow, site, matches, n);
    if (n > 1)
        check_alts(r, site, matches, n);
}

/* Counts a function in which all that matches only counts. */
static bool count_func(void *self, uint32_t func) {
    Rewrite *r = self;
    bool any;
    if (!count_ahead(&r->ahead, func, &any))
        return false;
    r->p.touched[func] |= any ? TOUCHED : 0;
    r->p.matched |= any;
    return true;
}

/* Counts a body of such instructions after its entry, or before its exit. */
static bool count_body(void *self, const Site *site, const WasmDecoded *body) {
    Rewrite *r = self;
    uint64_t sites = r->store.sites;
    if (!kinds_count_body(&r->kinds, &r->store, &r->p.matcher, site, body))
        return false;
    if (r->store.sites > sites) {
        r->p.touched[site->func] |= TOUCHED;
        r->p.matched = true;
    }
    return true;
}

/* What asks for memories without a site. */
static void note_scopes(Rewrite *r) {
    Plan *plan = r->p.plan;
    Site nowhere = plan_nowhere(r->p.plan, &r->p.m);
    Value value;
    for (uint32_t i = 0; i < plan->scopes.len; i++) {
        const Variant *v = plan->scopes.at[i];
        memory_note(&r->memories, &nowhere, v, r->p.diags);
        for (uint32_t k = 0; k < v->consts.len && !plan->lack.call; k++)
            if (!fold(v->consts.at[k], &nowhere, &value))
                builtin_lacks(v->consts.at[k], &nowhere, &plan->lack);
    }
    for (uint32_t i = 0; i < plan->probes.len; i++)
        if (plan->probes.at[i].shared_from)
            memory_note(&r->memories, &nowhere, plan->probes.at[i].shared_from, r->p.diags);
}

static void note_once(Rewrite *r, const ShapeList *list) {
    Site nowhere = plan_nowhere(r->p.plan, &r->p.m);
    for (uint32_t i = 0; i < list->len; i++) {
        r->p.plan->shapes.at[list->at[i]->index]->sites++;
        memory_note(&r->memories, &nowhere, list->at[i]->variant, r->p.diags);
    }
    store_count_once(&r->store, list, &r->p.m);
}

/* ---- pass 2 ---- */

static void splice_function_event(Rewrite *r, const Site *site, const Match *matches, uint32_t n,
                                  WasmWhere where) {
    Pieces *pieces = &r->p.pieces;
    size_t from = pieces->code.len;
    program_splice_all(&r->p, site, matches, n);
    pieces_add_around(pieces, where, from);
}

/* Control comes there once, however often the function goes on. */
static void splice_entry(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    Pieces *pieces = &r->p.pieces;
    size_t from = pieces->code.len;
    bool apart = site_is_apart(site, &matches[0].action->event);
    uint32_t start = apart ? wasm_go_start(&r->p.m, site->func) : 0;
    if (!start) {
        splice_function_event(r, site, matches, n, WASM_ENTRY);
        return;
    }
    program_splice_all(&r->p, site, matches, n);
    pieces_add(pieces, WASM_BEFORE, start, RANK_PROBE, from, pieces->code.len);
}

/* Where the function is left in the middle, it returns at once. */
static void pass_exit(Rewrite *r, const Site *site) {
    Pieces *pieces = &r->p.pieces;
    size_t from = pieces->code.len;
    uint32_t left = wasm_go_left(&r->p.m, site->func);
    if (!left)
        return;
    wasm_put_op(&pieces->code, WASM_OP_RETURN);
    pieces_add(pieces, WASM_BEFORE, left, RANK_END, from, pieces->code.len);
}

/* Where the function ends without results, by a trap or a tail call, they are 0. */
static void splice_exit(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    Pieces *pieces = &r->p.pieces;
    Splicer *s = &r->p.splicer;
    size_t from = pieces->code.len;
    bool results = splice_results_take(s, site, matches, n);
    if (results)
        pieces_add_exit(pieces, from, PIECE_RETURNS);
    pieces->exit_from = pieces->code.len;
    if (results) {
        splice_results_clear(s);
        pieces_add_exit(pieces, pieces->exit_from, PIECE_OTHERS);
    }
    splice_function_event(r, site, matches, n, WASM_EXIT);
    pieces->exit_to = from = pieces->code.len;
    if (results) {
        splice_results_give(s);
        pieces_add_exit(pieces, from, PIECE_RETURNS);
    }
}

/* Not for what has left by an exit: throws that no handler catches, and calls that end the program.
 */
static void splice_unwind(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    Pieces *pieces = &r->p.pieces;
    bool leaves = true; /* the stack, and nothing else */
    for (uint32_t k = 0; k < n; k++)
        leaves &= matches[k].shape->variant->asks.leaves;
    if (leaves && !r->stack.host)
        return;
    bool flag = pieces->ends.len || wasm_survey_throws(site->survey, &r->p.m, site->func);
    if (flag)
        pieces_note_left(pieces, pool_keep(&r->p.splicer.pool, WASM_I32));
    size_t from = pieces->code.len;
    if (flag) {
        emit(&pieces->code, "local.get %u i32.eqz if", pieces->left);
    }
    program_splice_all(&r->p, site, matches, n);
    if (flag)
        emit(&pieces->code, "end");
    pieces_add_around(pieces, WASM_UNWIND, from);
}

/* What asks for the size of the memory, or grows it, does not see pages that the report takes. What
 * changes a table or drops a segment keeps the shadow in step. */
static void guard(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (matches[i].action->event.mode == MODE_ALT)
            return;
    Buf *code = &r->p.pieces.code;
    size_t from = code->len;
    if (!fill_put_memory(&r->fill, site->instr, code) && !shadow_put_instr(&r->shadow, site, code))
        return;
    pieces_add(&r->p.pieces, WASM_REPLACE, site->pc, RANK_PROBE, from, code->len);
}

/* Before a br_table: adds one if its operand is beyond its targets. Needs no branch. */
static void put_otherwise(Rewrite *r, uint32_t func, uint32_t n, Pieces *pieces) {
    Buf *code = &pieces->code;
    size_t from = code->len;
    const CountPoint *p = &r->store.counts->points.at[n];
    EmitNumber counter = store_counter(&r->store, &r->p.m, n);
    WasmCode at;
    WasmInstr table;
    wasm_func_code(&r->p.m, func, &at);
    at.at = at.start + p->offset;
    wasm_next(&at, &table);
    uint32_t index = pool_take(&r->p.splicer.pool, WASM_I32);
    emit(code, "local.tee %u", index);
    emit_update(code, counter, "local.get %u i32.const %u i32.ge_u i64.extend_i32_u i64.add", index,
                table.count);
    pool_free_local(&r->p.splicer.pool, index);
    pieces_add(pieces, WASM_BEFORE, p->offset, RANK_PROBE, from, code->len);
}

/* Counter n, which is in the function. */
static void put_count(Rewrite *r, uint32_t func, uint32_t n, Pieces *pieces) {
    Buf *code = &pieces->code;
    size_t from = code->len;
    const CountPoint *p = &r->store.counts->points.at[n];
    if (p->otherwise) {
        put_otherwise(r, func, n, pieces);
        return;
    }
    if (p->loop) {
        loop_count_put_entry(&r->store, &r->p.m, p->loop - 1, code);
        pieces_add_count(pieces, WASM_BEFORE, p->offset, from, code->len);
        from = code->len;
        loop_count_put_head(&r->store, &r->p.m, p->loop - 1, code);
    } else {
        store_put_count(&r->store, &r->p.m, n, p->cool, code);
    }
    pieces_add_count(pieces, p->after ? WASM_AFTER : WASM_BEFORE, p->offset, from, code->len);
}

/* Pass 2, before the sites of a function: its counters. */
static void enter(void *self, uint32_t func, Pieces *pieces) {
    Rewrite *r = self;
    continuations_enter(&r->continuations, func, pieces);
    if (r->options->polls)
        polls_put(&r->polls, &r->p.m, func, pieces);
    if (r->frames.asked)
        frames_put(&r->frames, func, &r->p.splicer.pool, pieces);
    const CountFunc *f = r->store.counts ? counts_func(r->store.counts, func) : NULL;
    for (uint32_t i = f ? f->point : 0; f && i < f->point + f->npoints; i++)
        put_count(r, func, i, pieces);
}

/* Pass 2, after the sites of a function. */
static void leave(void *self, uint32_t func, Pieces *pieces) {
    Rewrite *r = self;
    const WasmAsyncify *asyncify = &r->p.matcher.survey.asyncify;
    saved_frames_put(asyncify, &r->fill, func, pieces);
    stacks_put(asyncify, &r->flush, func, pieces);
}

/* Leaves out what is counted by segments. */
static const Match *coded_matches(Rewrite *r, const Site *site, const Match *matches, uint32_t *n) {
    if (!r->store.counts)
        return matches;
    r->coded.len = 0;
    for (uint32_t i = 0; i < *n; i++)
        if (!coalesce_takes(&r->coalesce, site, &matches[i]))
            vec_push(&r->coded, matches[i]);
    *n = r->coded.len;
    return r->coded.at;
}

static void splice_at(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n) {
    Rewrite *r = self;
    Pieces *pieces = &r->p.pieces;
    bool at_instr = !n || matches[0].action->event.kind == EVENT_OPCODE;
    matches = coded_matches(r, site, matches, &n);
    if (!n && !at_instr)
        return;
    if (n && matches[0].action->event.kind == EVENT_FUNC_ENTRY) {
        splice_entry(r, site, matches, n);
        return;
    }
    if (n && matches[0].action->event.kind == EVENT_FUNC_EXIT) {
        if (site_is_apart(site, &matches[0].action->event) && !r->stack.host)
            pass_exit(r, site);
        splice_exit(r, site, matches, n);
        return;
    }
    if (n && matches[0].action->event.kind == EVENT_FUNC_UNWIND) {
        splice_unwind(r, site, matches, n);
        return;
    }
    if (n && matches[0].action->event.kind != EVENT_OPCODE) { /* block:start, block:end */
        size_t from = pieces->code.len;
        program_splice_all(&r->p, site, matches, n);
        pieces_add(pieces, site->at_label ? WASM_AFTER : WASM_BEFORE, site->pc, RANK_BLOCK, from,
                   pieces->code.len);
        return;
    }
    if (r->region_func != site->func && r->p.plan->asks.unwinds) {
        r->region_func = site->func;
        r->p.splicer.one_region =
            !r->continuations.followed && splice_wants_one_region(&r->p.m, site->func);
    }
    keep_at(&r->keep, site, matches, n, &r->fill.floats);
    program_splice_site(&r->p, site, types, matches, n);
    r->fill.floats.n = 0;
    guard(r, site, matches, n);
}

/* ---- */

static bool compile(Rewrite *r, const Template **init) {
    GenOptions gen = {.optimise = !r->options->no_optimise,
                      .in_memory = r->store.var_in_memory,
                      .cells_in_memory = r->store.cells.in_memory};
    gen.memory_index = r->store.memory == UINT32_MAX ? 0 : r->store.memory;
    gen.imported = r->options->link == LINK_IMPORT;
    gen.stack_calls = !stack_is_in_program(r->p.plan, gen.imported);
    gen.tallies = r->store.tallies.chosen;
    gen.pages = !gen.imported && fill_can_keep_pages(&r->store);
    Site nowhere = plan_nowhere(r->p.plan, &r->p.m);
    gen.nowhere = &nowhere;
    return gen_templates(r->p.plan, &gen, init, r->p.diags);
}

/* Strings and maps that only a report would show need no memory where there is none: compiles to
 * see whether code looks at them. */
static bool drop_values(Rewrite *r, const Template **init) {
    Plan *plan = r->p.plan;
    if (r->host != HOST_PROF || !plan->asks.values || r->saves_frames)
        return true;
    if (!compile(r, init))
        return false;
    plan->asks.values = reach_find(plan, init).values;
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        Shape *s = plan->shapes.at[i];
        s->template = s->predicate = s->init = s->exit = NULL;
    }
    return true;
}

static void add_leaves(WasmTypes *list, const Type *t) {
    for (uint32_t i = 0; i < type_leaves(t); i++)
        vec_push(list, type_wasm(type_leaf(t, i)));
}

/* The script's functions, still without code: calls of them need their indices. */
static void add_functions(Rewrite *r, const Reach *reach) {
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

static void add_memory_functions(Rewrite *r) {
    MemoryPlaces at = {.runtime = -1, .helpers = r->helpers};
    if (r->flush.own)
        at.runtime = r->flush.at.memory;
    memory_add(&r->memories, &at);
}

static bool link(void *self) {
    Rewrite *r = self;
    uint32_t errors = r->p.diags->errors;
    const Template **init =
        arena_array(&r->p.plan->arena, const Template *, r->p.plan->scripts.len + 1);
    r->flush = (Flush){.m = &r->p.m,
                       .store = &r->store,
                       .plan = r->p.plan,
                       .options = r->options,
                       .diags = r->p.diags,
                       .file = r->p.file};
    r->flush.helpers = r->helpers;
    r->flush.memories = &r->memories;
    r->flush.stack = &r->stack;
    r->flush.matcher = &r->p.matcher;
    r->flush.shadow = &r->shadow;
    r->flush.host = r->host;
    r->store.rows.reports = r->store.rows.reported && !r->once.report.len && r->host != HOST_PROF;
    if (r->p.plan->lack.call)
        builtin_report(&r->p.plan->lack, &r->p.m, r->p.diags);
    r->store.cells.outlined = !r->options->no_optimise && outline_wants_memory(r->p.plan);
    if (r->p.diags->errors > errors || !drop_values(r, init) || !flush_plan(&r->flush) ||
        !compile(r, init))
        return false;
    uint64_t growth = leaf_growth(&r->p.m);
    if (!r->options->no_optimise) {
        leaf_inline(r->p.plan, &r->p.m, NULL, &growth);
        outline_shapes(r->p.plan);
        rare_mark(r->p.plan, &r->p.m);
        keep_find(&r->keep, r->p.plan, &r->p.m, &r->p.matcher.survey, r->p.touched);
    }
    Reach reach = reach_find(r->p.plan, init);
    keep_reach(&r->keep, reach.fns);
    memory_helpers(&r->memories, r->options->link == LINK_IMPORT, reach.helpers);
    bool imported = r->options->link == LINK_IMPORT;
    stack_helpers(r->p.plan, imported, r->sets_aside, reach.helpers);
    stacks_helpers(r->p.plan->program.module_id, reach.helpers);
    reach.helpers[HELPER_FRAME_PUSH] |= r->saves_frames;
    reach.helpers[HELPER_FRAME_POP] |= r->saves_frames;
    if (!flush_link(&r->flush, &reach, &r->once) ||
        (reach.helpers[HELPER_FMOD] &&
         !runtime_add_fmod(&r->p.m, &r->helpers[HELPER_FMOD], r->p.diags)) ||
        !libraries_link(&r->flush))
        return false;
    if (stack_is_in_program(r->p.plan, imported))
        stack_add(&r->stack, r->p.plan, &r->p.m, r->sets_aside, r->helpers);
    else
        stack_import(&r->stack, r->helpers);
    frames_add_types(&r->frames);
    add_memory_functions(r);
    add_functions(r, &reach);
    shadow_add(&r->shadow);
    br_tables_add(&r->br_tables, &r->p.m);
    loop_counts_add(&r->store, &r->p.m);
    if (r->options->polls)
        polls_add(&r->polls, &r->p.m);
    wasm_layout(&r->p.m);
    if (!r->options->no_optimise)
        leaf_inline(r->p.plan, &r->p.m, r->helpers, &growth);
    if (r->options->polls)
        polls_fill(&r->polls, &r->p.m);
    store_laid_out(&r->store, &r->p.m);
    program_wrap_ends(&r->p, r->flush.main, r->flush.proc_exit);
    frames_add_entries(&r->frames);
    engine_frames_add(&r->engine_frames, &r->frames, &r->p.m);
    if (!flush_add(&r->flush, init, &r->once, &reach)) {
        map_free(&r->flush.kept);
        return false;
    }
    if (r->continuations.followed)
        continuations_add(&r->continuations, &r->p.m, &r->flush.at);
    else
        stacks_export(&r->p.m, &r->p.matcher.survey.asyncify, &r->flush,
                      r->p.plan->program.module_id, reach.helpers);
    if (r->store.counts) {
        counts_free_sums(&r->coalesce.counts);
        counts_free_values(&r->coalesce.counts);
    }
    Splicer *s = &r->p.splicer;
    fill_init(&r->fill, s, &r->p.m, r->p.plan, &r->store);
    r->fill.kept = r->flush.kept; /* which code at sites shares with no other code */
    if (r->p.matcher.survey.asyncify.found)
        s->state = wasm_final(&r->p.m, WASM_SPACE_GLOBAL, r->p.matcher.survey.asyncify.state);
    s->stacks = r->continuations.calls;
    r->fill.helpers = r->helpers;
    r->fill.fns = r->fns;
    r->region_func = UINT32_MAX;
    if (r->p.matcher.survey.funcs) /* there may be unwind probes */
        s->exceptions = r->p.exceptions = wasm_survey_exceptions(&r->p.matcher.survey, &r->p.m);
    r->fill.shadow = &r->shadow;
    r->fill.br_tables = &r->br_tables;
    r->fill.memories = &r->memories;
    r->fill.stack = &r->stack;
    r->fill.due = r->flush.at.due;
    r->fill.thread = r->flush.at.thread;
    r->fill.atomics = &r->flush.atomics;
    r->fill.grow = r->flush.at.grow;
    r->fill.size = r->flush.at.size;
    bool traps = r->store.counts && r->store.counts->traps.len;
    assert(!traps || r->flush.host != HOST_PROF); /* nobody corrects them there */
    if (r->flush.flushes && traps)
        r->p.counts = &r->coalesce.counts;
    r->p.flush = r->flush.at.flush == UINT32_MAX ? -1 : (int64_t)r->flush.at.flush;
    return true;
}

/* Whether the runtime, or a library, makes an engine with multi-memory necessary that the program
 * could do without. dup_at may write to the runtime's memory, which cannot be imported. */
static bool import_helps(const Rewrite *r) {
    const Plan *plan = r->p.plan;
    bool memory = plan->asks.values || r->options->polls; /* which a running program must not see */
    for (uint32_t i = 0; plan->libraries && i < plan->libraries->list.len; i++)
        memory |= plan->libraries->list.at[i]->module.memories.len > 0;
    for (uint32_t i = 0; i < plan->variants.len; i++)
        memory &= !plan->variants.at[i]->dups.len;
    return memory && r->p.m.memories.len == 1 && !stack_is_read(plan);
}

/* Pass 1 must know what LINK_AUTO means; many slots, which it finds, need a memory after all. */
static void decide_link(Rewrite *r, const RewriteOptions *options) {
    r->decided.link = options->link;
    r->decided.host = options->host;
    if (options->link != LINK_AUTO)
        return;
    bool import = options->host != HOST_PROF && store_words(&r->store) <= STORAGE_MAX_GLOBALS &&
                  import_helps(r);
    r->decided.link = import ? LINK_IMPORT : LINK_MERGE;
    if (import)
        r->decided.host = r->host = HOST_WASI; /* scripts have been told what it is with merge */
}

static void close_counts(Rewrite *r) {
    const Counts *counts = &r->coalesce.counts;
    coalesce_close(&r->coalesce);
    for (uint32_t k = 0; k < counts->funcs.len; k++) {
        const CountFunc *f = &counts->funcs.at[k];
        if (f->last)
            r->p.touched[f->func] |= TOUCHED_END;
        if (f->otherwise)
            r->p.touched[f->func] |= TOUCHED_LOCALS;
        bool keeps = !(r->p.touched[f->func] & TOUCHED_CODE); /* which may change locals */
        for (uint32_t i = f->point; !keeps && i < f->point + f->npoints; i++)
            counts->points.at[i].loop = 0;
    }
}

/* All functions with places for polls are changed. */
static void note_polls(Rewrite *r) {
    for (uint32_t f = 0; f < r->p.m.input_count[WASM_SPACE_FUNC]; f++)
        if (r->p.m.funcs.at[f].import < 0 && polls_has_any(&r->p.m, f))
            r->p.touched[f] |= TOUCHED;
    r->p.matched = true;
}

static bool match(void *self) {
    Rewrite *r = self;
    uint32_t errors = r->p.diags->errors;
    memory_init(&r->memories, r->p.plan, &r->p.m);
    r->ahead = (CountAhead){.walk = &r->p.matcher, .store = &r->store, .kinds = &r->kinds};
    count_ahead_init(&r->ahead, r->p.threads);
    frames_init(&r->frames, &r->p.m, &r->p.matcher.survey, &r->stack);
    r->frames.keeps = r->p.keep_debug; /* which has the numbers of locals */
    r->frames.engine = stack_is_engines(r->p.plan);
    r->frames.watched = r->given->polls || stack_is_read(r->p.plan);
    r->seen_alt = mem_zalloc(r->p.plan->probes.len + 1u);
    r->p.matcher.at = count_site;
    r->p.matcher.watch_op[WASM_OP_MEMORY_GROW] = r->p.matcher.watch_op[WASM_OP_MEMORY_SIZE] = true;
    shadow_init(&r->shadow, &r->p.m, r->p.plan, r->p.matcher.watch_op);
    continuations_init(&r->continuations, &r->p.m, r->p.plan, &r->p.matcher);
    const RewriteOptions *options = r->given;
    wasm_asyncify_find(&r->p.matcher.survey.asyncify, &r->p.m);
    r->saves_frames = saved_frames_needed(r->p.plan, &r->p.matcher.survey.asyncify);
    r->p.plan->asks.values |= r->saves_frames;
    r->host = flush_host(&r->p.m, r->p.plan, options);
    r->p.plan->program.module_id =
        options->alone ? 0 : stacks_module_id(&r->p.m, r->host, options->several);
    r->p.plan->program.asyncify = stacks_are_asyncifys(&r->p.matcher.survey.asyncify);
    r->p.plan->program.threads = flush_has_threads(&r->p.m);
    plan_find_alone(r->p.plan);
    r->sets_aside =
        stack_switches(r->p.plan) && stacks_are_hosts(&r->p.m, &r->p.matcher.survey.asyncify,
                                                      r->host, r->p.plan->program.module_id);
    r->p.plan->asks.values |= r->sets_aside;
    r->decided.polls = options->polls && r->host != HOST_PROF;
    tallies_find(r->p.plan);
    store_init(&r->store, r->p.plan);
    r->store.knows_sites = true;
    if (r->options->coalesce) {
        bool exact = r->options->exact_traps || r->host == HOST_PROF;
        coalesce_init(&r->coalesce, r->p.plan, &r->p.m, exact);
        r->coalesce.counts.decoded = &r->p.matcher.body;
        r->p.matcher.at_body = count_body;
        r->coalesce.counts.polls = r->options->polls;
        r->coalesce.counts.follows_locals = !r->options->no_optimise && !r->options->polls;
        r->coalesce.counts.grows_memory = flush_can_grow(&r->p.m);
        r->store.coalesce = &r->coalesce;
        r->store.counts = &r->coalesce.counts;
    }
    r->p.plan->program.host = host_name(r->host);
    r->p.plan->program.module_name =
        wasm_shown_module(&r->p.m, diag_file_name(r->p.diags, r->p.file));
    r->p.plan->program.nameless = !wasm_names_funcs(&r->p.m);
    decide_link(r, options);
    bool ok = program_walk(&r->p);
    count_ahead_free(&r->ahead);
    alt_report(r->p.plan, &r->p.m, r->p.diags);
    if (ok && r->store.counts)
        close_counts(r);
    if (ok && r->options->polls)
        note_polls(r);
    if (ok)
        frames_decide(&r->frames, r->p.touched);
    if (ok) {
        r->once = plan_once(r->p.plan, &r->p.m);
        note_once(r, &r->once.begin);
        note_once(r, &r->once.end);
        note_once(r, &r->once.report);
        if (stacks_may_change(&r->p.m, &r->p.matcher.survey.asyncify, r->host,
                              r->p.plan->program.module_id))
            plan_once_stacks(r->p.plan, &r->p.m, &r->once);
        note_once(r, &r->once.suspend);
        note_once(r, &r->once.resume);
        if (r->once.suspend.len || r->once.resume.len)
            stacks_touch(&r->p.matcher.survey.asyncify, r->p.touched);
        continuations_touch(&r->continuations, &r->p.m, &r->p.matcher.survey, r->p.touched);
        store_close(&r->store, &r->p.m);
        note_scopes(r);
    }
    decide_link(r, options);
    tallies_choose(&r->store.tallies, r->decided.link == LINK_MERGE && r->host != HOST_PROF);
    return ok && r->p.diags->errors == errors;
}

/* Of what is counted only the section whammc.traps is still to be written. */
static void written(void *self) {
    Rewrite *r = self;
    image_free(r->store.rows.image);
    r->store.rows.image = NULL;
    if (r->store.counts)
        counts_written(&r->coalesce.counts);
}

static void rewrite_append(void *self, const WasmModule *written, Buf *out) {
    const Rewrite *r = self;
    engine_frames_put_section(&r->engine_frames, &r->p.m, written, out);
    atomics_put_section(&r->flush.atomics, &r->store, out);
}

static void blame(void *self, Diag *d) {
    const Rewrite *r = self;
    for (uint32_t i = 0; i < r->p.plan->probes.len; i++) {
        const PlanProbe *p = &r->p.plan->probes.at[i];
        uint32_t sites = 0;
        for (uint32_t k = 0; k < p->nactions; k++)
            sites += r->p.plan->actions.at[p->first_action + k].sites;
        if (sites)
            diag_label(r->p.diags, d, p->probe->rule.span, "this probe matched %u sites", sites);
    }
    diag_hint(
        r->p.diags, d,
        "this is an internal error of whammc; please report it with the script and the program");
}

/* Whether the program needs its host for a report, or imports something from it. */
static bool needs_host(const Rewrite *r) {
    bool needs = r->flush.flushes;
    for (uint32_t i = r->p.m.input_import_count; i < r->p.m.imports.len; i++)
        needs |= str_is(r->p.m.imports.at[i].module, "whammc");
    return needs;
}

static void tell_host(const Rewrite *r, const RewriteOptions *options) {
    Hosted *h = options->hosted;
    *h = (Hosted){.host = HOST_AUTO};
    if (!needs_host(r))
        return;
    h->host = r->host;
    if (r->decided.link == LINK_IMPORT)
        h->why = STR("an imported runtime uses WASI");
    else if (options->host == HOST_AUTO)
        h->why = runtime_host_reason(&r->p.m, r->host, &r->p.plan->arena);
}

static const Target target = {.match = match,
                              .count = count_func,
                              .link = link,
                              .enter = enter,
                              .leave = leave,
                              .enters_apart = true,
                              .splice = splice_at,
                              .append = rewrite_append,
                              .written = written,
                              .blame = blame};

/* Whether the scripts need no engine. */
static bool needs_no_engine(const Plan *plan, Diags *diags) {
    const Expr *number = plan->asks.number;
    if (!number)
        return true;
    Diag *d = diag(diags, DIAG_INSTR_CANNOT, number->span,
                   "'probe_id' is the number that an engine gives the location: only monitors have "
                   "it");
    diag_hint(diags, d, "fid and pc tell locations apart");
    return false;
}

bool rewrite_module(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                    const RewriteOptions *options, Buf *out, Diags *diags) {
    Rewrite r = {.given = options, .decided = *options};
    r.options = &r.decided;
    r.p = (Program){.target = &target,
                    .self = &r,
                    .plan = plan,
                    .file = file,
                    .diags = diags,
                    .keep_debug = options->keep_debug,
                    .map_url = str_of(options->map_url),
                    .map_root = str_of(options->map_root),
                    .map = options->map,
                    .sink = options->sink,
                    .threads = workers_threads(options->threads)};
    bool ok = needs_no_engine(plan, diags) && program_instrument(&r.p, bytes, size, out);
    if (options->linked)
        *options->linked = r.decided.link == LINK_AUTO ? LINK_MERGE : r.decided.link;
    if (ok && options->hosted)
        tell_host(&r, options);
    store_free(&r.store);
    if (r.store.counts)
        coalesce_free(&r.coalesce);
    kinds_free(&r.kinds);
    vec_free(&r.coded);
    shadow_free(&r.shadow);
    br_tables_free(&r.br_tables);
    fill_free(&r.fill);
    polls_free(&r.polls);
    engine_frames_free(&r.engine_frames);
    frames_free(&r.frames);
    keep_free(&r.keep);
    memory_free(&r.memories);
    free(r.seen_alt);
    vec_free(&r.flush.library_starts);
    vec_free(&r.flush.sums.funcs);
    buf_free(&r.flush.sums.table);
    vec_free(&r.flush.sums.settle);
    program_free(&r.p);
    return ok;
}

bool rewrite_list(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                  void (*at)(void *ctx, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n),
                  void *ctx, Diags *diags) {
    static const RewriteOptions options;
    WasmModule m;
    Matcher w = {.plan = plan, .m = &m, .watch_funcs = {-1, -1}, .at = at, .ctx = ctx};
    bool ok = wasm_load(&m, bytes, size, file, diags);
    HostChoice host = flush_host(&m, plan, &options);
    plan->program.host = host_name(host);
    plan->program.module_id = ok ? stacks_module_id(&m, host, false) : 0;
    if (ok)
        wasm_asyncify_find(&w.survey.asyncify, &m);
    plan->program.asyncify = stacks_are_asyncifys(&w.survey.asyncify);
    plan->program.threads = ok && flush_has_threads(&m);
    plan->program.module_name = wasm_shown_module(&m, diag_file_name(diags, file));
    plan->program.nameless = ok && !wasm_names_funcs(&m);
    for (uint32_t f = 0; ok && f < m.funcs.len; f++)
        if (m.funcs.at[f].import < 0 && !match_func(&w, f))
            ok = walk_failed(&w, f, file, diags);
    if (ok && plan->lack.call) {
        builtin_report(&plan->lack, &m, diags);
        ok = false;
    }
    alt_report(plan, &m, diags);
    matcher_free(&w);
    wasm_module_free(&m);
    return ok;
}
