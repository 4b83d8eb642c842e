/*
 * inject/splice.c - templates at their sites: saving and restoring operands and results, code
 * before, after and instead of instructions and constructs.
 */
#include "inject/splice.h"

#include "edit/catch_all.h"
#include "edit/edit.h"
#include "gen/template.h"
#include "inject/splice_hole.h"
#include "inject/unwind.h"
#include "plan/alt.h"
#include "wasm/emit.h"

#include <assert.h>

/* ---- locals ---- */

void pool_reset(LocalPool *p, uint32_t first) {
    p->first = first;
    p->types.len = p->state.len = p->taken.len = p->lowest = 0;
}

enum { FREE, TAKEN, KEPT };

static uint32_t pool_get(LocalPool *p, WasmType type, uint8_t state) {
    while (p->lowest < p->types.len && p->state.at[p->lowest] != FREE)
        p->lowest++;
    uint32_t i = state == TAKEN ? p->lowest : p->types.len;
    while (i < p->types.len && (p->types.at[i] != type || p->state.at[i] != FREE))
        i++;
    if (i == p->types.len) {
        vec_push(&p->types, type);
        vec_push(&p->state, FREE);
    }
    p->state.at[i] = state;
    if (state == TAKEN)
        vec_push(&p->taken, i);
    return p->first + i;
}

uint32_t pool_take(LocalPool *p, WasmType type) {
    return pool_get(p, type, TAKEN);
}

/* A kept local is always a new one: it must still be zero at function entry. */
uint32_t pool_keep(LocalPool *p, WasmType type) {
    return pool_get(p, type, KEPT);
}

static void set_free(LocalPool *p, uint32_t i) {
    p->state.at[i] = FREE;
    if (i < p->lowest)
        p->lowest = i;
}

void pool_free_local(LocalPool *p, uint32_t local) {
    assert(p->state.at[local - p->first] == TAKEN);
    set_free(p, local - p->first);
}

void pool_release(LocalPool *p) {
    for (uint32_t i = 0; i < p->taken.len; i++)
        set_free(p, p->taken.at[i]);
    p->taken.len = 0;
}

void pool_free(LocalPool *p) {
    vec_free(&p->types);
    vec_free(&p->state);
    vec_free(&p->taken);
}

/* ---- the splicer ---- */

void splicer_init(Splicer *s, const WasmModule *m, const Plan *plan, const SpliceBackend *backend,
                  void *ctx) {
    *s = (Splicer){.m = m, .plan = plan, .backend = backend, .ctx = ctx, .proc_exit = -1};
    s->state = UINT32_MAX;
}

static void free_saved(Saved *v) {
    vec_free(&v->local);
    vec_free(&v->type);
}

void splicer_free(Splicer *s) {
    pool_free(&s->pool);
    free_saved(&s->site.args);
    free_saved(&s->site.results);
    vec_free(&s->site.got);
    vec_free(&s->site.gives);
    vec_free(&s->site.leaves);
    vec_free(&s->site.ends_after);
    vec_free(&s->site.all_words);
    vec_free(&s->site.words_at);
    vec_free(&s->temps);
    vec_free(&s->func.wrapped);
    vec_free(&s->rare);
    vec_free(&s->func.nullable);
}

void splicer_begin(Splicer *s, uint32_t locals) {
    pool_reset(&s->pool, locals);
    if (s->backend->begin)
        s->backend->begin(s->ctx);
    s->func.wrapped.len = s->rare.len = 0;
    s->func.active_call = s->func.landing_flag = s->func.back = s->func.left = UINT32_MAX;
    s->func.nways = s->func.nlandings = s->site.before_loop = 0;
}

void splice_words(Splicer *s, const Site *site, const Match *matches, uint32_t n) {
    s->site.all_words.len = s->site.words_at.len = 0;
    vec_reserve(&s->site.all_words, 1);
    for (uint32_t m = 0; m < n; m++) {
        uint32_t count;
        vec_push(&s->site.words_at, s->site.all_words.len);
        const uint64_t *words = s->backend->words(s->ctx, site, &matches[m], &count);
        for (uint32_t i = 0; i < count; i++)
            vec_push(&s->site.all_words, words[i]);
    }
}

/* ---- sites at instructions ---- */

/* The number of operands (or results) from the top that matches use, and whether one is
 * assigned. */
typedef struct Need {
    uint32_t count;
    bool assigned;
} Need;

static void need(Need *n, const Operands *list, bool may_assign) {
    for (uint32_t i = 0; i < list->len; i++) {
        if (!list->at[i].used)
            continue;
        if (list->at[i].n >= n->count)
            n->count = list->at[i].n + 1;
        n->assigned |= may_assign && list->at[i].assigned;
    }
}

/* Returns the type of operand (or result) k from the top: from the site's types, else fixed by the
 * opcode. */
static WasmType splice_operand_type(const Site *site, const SiteTypes *types, bool result,
                                    uint32_t k) {
    if (types->known) {
        const WasmTypes *list = result ? &types->results : &types->operands;
        WasmType t = k < list->len ? list->at[list->len - 1 - k] : WASM_BOT;
        return t == WASM_BOT ? WASM_I32 : t;
    }
    const char *letters =
        result ? wasm_ops[site->instr->op].results : wasm_ops[site->instr->op].operands;
    size_t count = strlen(letters);
    WasmType t = k < count ? wasm_letter_type(letters[count - 1 - k]) : WASM_BOT;
    return t == WASM_BOT ? WASM_I32 : t;
}

static uint32_t add_saved(LocalPool *pool, Saved *v, WasmType type, bool keep) {
    uint32_t local = keep ? pool_keep(pool, type) : pool_take(pool, type);
    vec_push(&v->local, local);
    vec_push(&v->type, type);
    return local;
}

/* Moves the top n values into new locals, first the top; the deepest stays on the stack too if
 * `tee`. */
static void save(Splicer *s, const Site *site, const SiteTypes *types, bool result, uint32_t n,
                 bool tee, bool keep) {
    Saved *v = result ? &s->site.results : &s->site.args;
    v->local.len = v->type.len = 0;
    for (uint32_t k = 0; k < n; k++) {
        WasmType type = splice_operand_type(site, types, result, k);
        uint32_t local = add_saved(&s->pool, v, type, keep);
        hole_put_local(s, k + 1 == n && tee ? HOLE_TEE : HOLE_SET, local);
    }
}

/* ---- results of functions ---- */

/* Returns code for a zero of the type; NULL = scripts do not see its values. */
static const char *zero_of(WasmType type) {
    switch (type) {
    case WASM_I32: return "i32.const 0";
    case WASM_I64: return "i64.const 0";
    case WASM_F32: return "f32.const 0";
    case WASM_F64: return "f64.const 0";
    case WASM_FUNCREF: return "ref.null func";
    default: return NULL;
    }
}

bool splice_results_take(Splicer *s, const Site *site, const Match *matches, uint32_t n) {
    const WasmTypeDef *t = wasm_func_type(s->m, site->func);
    Saved *v = &s->site.results;
    Need wanted = {0};
    for (uint32_t i = 0; i < n; i++)
        need(&wanted, &matches[i].shape->variant->operands.results, false);
    v->local.len = v->type.len = 0;
    for (uint32_t k = 0; k < wanted.count; k++) {
        assert(k < t->nresults);
        add_saved(&s->pool, v, t->results[t->nresults - 1 - k], true);
        hole_put_local(s, HOLE_SET, v->local.at[k]);
    }
    return wanted.count > 0;
}

void splice_results_clear(Splicer *s) {
    for (uint32_t k = 0; k < s->site.results.local.len; k++) {
        const char *zero = zero_of(s->site.results.type.at[k]);
        if (zero) /* scripts cannot use the others */
            emit(s->out, "%s local.set %u", zero, s->site.results.local.at[k]);
    }
}

void splice_results_give(Splicer *s) {
    hole_restore(s, &s->site.results, s->site.results.local.len);
}

static bool in_mode(const Match *m, Mode mode) {
    return m->action->event.mode == mode;
}

/* Returns the state of Asyncify in which a match does not happen, or 0. Places on the shadow stack
 * are put back however a function ends. */
static uint32_t silent_state(const Splicer *s, const Site *site, const Match *match) {
    if (s->state == UINT32_MAX || match->shape->variant->asks.leaves)
        return 0;
    return site_silent_state(site, &match->action->event);
}

void splice_match(Splicer *s, const Site *site, const Match *matches, uint32_t n) {
    uint32_t silent = silent_state(s, site, &matches[n]);
    if (silent)
        emit(s->out, "global.get %u i32.const %u i32.ne if", s->state, silent);
    s->site.words = s->site.all_words.at + s->site.words_at.at[n];
    splice_template(s, matches[n].shape->template, matches[n].shape->variant, site);
    if (silent)
        wasm_put_op(s->out, WASM_OP_END);
}

/* Runs only where control enters a loop, not where a branch goes back to it. */
static bool is_entering(const Match *m) {
    return m->shape->atoms & SHAPE_ENTERING;
}

static void splice_mode(Splicer *s, const Site *site, const Match *matches, uint32_t n, Mode mode) {
    for (uint32_t i = mode == MODE_BEFORE ? s->site.before_loop : 0; i < n; i++) {
        if (!in_mode(&matches[i], mode))
            continue;
        if (is_entering(&matches[i]))
            emit_if_equal(s->out, s->func.back, 0);
        splice_match(s, site, matches, i);
        if (is_entering(&matches[i]))
            wasm_put_op(s->out, WASM_OP_END);
    }
}

/* The requirements of a site's matches. */
typedef struct Wanted {
    Need args, results;
    bool before, after, alt, unwind;
    bool landing;   /* pieces where the branch lands */
    bool construct; /* pieces inside or after the construct that the instruction opens */
} Wanted;

static Wanted wanted_by(const Match *matches, uint32_t n) {
    Wanted w = {0};
    for (uint32_t i = 0; i < n; i++) {
        const Variant *v = matches[i].shape->variant;
        w.before |= in_mode(&matches[i], MODE_BEFORE);
        w.after |= in_mode(&matches[i], MODE_AFTER);
        w.alt |= in_mode(&matches[i], MODE_ALT);
        w.unwind |= in_mode(&matches[i], MODE_UNWIND);
        w.landing |= in_mode(&matches[i], MODE_AT_TARGET);
        w.construct |= w.landing || in_mode(&matches[i], MODE_ENTRY) ||
                       in_mode(&matches[i], MODE_EXIT) || in_mode(&matches[i], MODE_SEMANTIC_AFTER);
        need(&w.args, &v->operands.args, in_mode(&matches[i], MODE_BEFORE) || v->alt.is);
        need(&w.results, &v->operands.results, true);
        uint32_t nreferences = v->asks.reference + wasm_compares_descriptors(v->event.op);
        if (v->asks.reference && w.args.count < nreferences)
            w.args.count = nreferences;
    }
    return w;
}

WasmType splice_result_type(WasmModule *m, const WasmTypes *results) {
    if (results->len < 2)
        return results->len ? results->at[0] : WASM_NONE;
    return WASM_FUNC_TYPE_BIT | wasm_add_func_type(m, NULL, 0, results->at, results->len);
}

/* Returns the block type of code that leaves such values; the type was added in pass 1. */
static WasmType splice_block_type(const WasmModule *m, const WasmTypes *results) {
    if (results->len < 2)
        return results->len ? results->at[0] : WASM_NONE;
    return WASM_FUNC_TYPE_BIT |
           (uint32_t)wasm_find_func_type(m, NULL, 0, results->at, results->len);
}

typedef struct Relabel {
    const Splicer *s;
    const Site *site;
    uint32_t blocks; /* number of blocks around the copy */
} Relabel;

/* Returns the depth of a label in an instruction that is copied into blocks: one more for each of
 * these, and for each wrapped construct that the branch leaves. */
static uint32_t label_inside(void *ctx, uint32_t depth) {
    const Relabel *r = ctx;
    const Site *site = r->site;
    uint32_t crossed = 0, end = UINT32_MAX; /* of the target */
    if (depth < site->nopen)
        end = site->constructs[site->open[site->nopen - 1 - depth]].end;
    for (uint32_t k = 0; k < r->s->func.wrapped.len; k++) {
        const Wrapped *w = &r->s->func.wrapped.at[k];
        crossed += w->start < site->pc && site->pc < w->end && w->end < end;
    }
    return depth + r->blocks + crossed;
}

/* ---- stacks that are left ---- */

static void put_leave_stack(Splicer *s) {
    if (s->func.left == UINT32_MAX)
        s->func.left = pool_keep(&s->pool, WASM_I32);
    emit(s->out, "call %u local.set %u", s->stacks.leave, s->func.left);
}

/* Makes the stack current again, if it was left; the one that it has resumed may have ended. */
static void put_back_on_stack(Splicer *s, bool ended) {
    emit_if_set(s->out, s->func.left);
    emit(s->out, "local.get %u call %u i32.const 0 local.set %u end", s->func.left,
         ended ? s->stacks.ended : s->stacks.back, s->func.left);
}

/* Adds code at the targets of a resume's handlers. */
static void splice_arrivals(Splicer *s, const Site *site, SplicePiece *piece, void *ctx) {
    const uint8_t *at = site->instr->vec;
    for (uint32_t k = 0; wasm_has_handlers(site->instr->op) && k < site->instr->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        size_t from = s->out->len;
        if (h.switches)
            continue;
        put_back_on_stack(s, false);
        piece(ctx, WASM_AFTER, site_target(site, h.label), RANK_ARRIVES, from, s->out->len);
    }
}

/* Appends the original instruction inside `blocks` more blocks. */
static void put_original(Splicer *s, const Site *site, uint32_t blocks) {
    const WasmInstr *i = site->instr;
    const uint8_t *bytes = wasm_func_body(s->m, site->func) + i->offset;
    bool leaves = splice_leaves_stack(s, site);
    if (s->backend->instead && s->backend->instead(s->ctx, site, s->out))
        return;
    if (leaves)
        put_leave_stack(s);
    WasmRemap map = wasm_program_remap(s->m);
    Relabel relabel = {s, site, blocks};
    if (wasm_has_labels(i))
        wasm_copy_branch(bytes, i, &map, label_inside, &relabel, s->out);
    else
        wasm_copy_instr(bytes, i, &map, s->out);
    WasmBodyEdit edit = {.nullable = s->func.nullable.at, .nnullable = s->func.nullable.len};
    if (wasm_reads_nullable(&edit, i))
        wasm_put_op(s->out, WASM_OP_REF_AS_NON_NULL);
    if (leaves)
        put_back_on_stack(s, wasm_has_handlers(i->op));
}

static const Match *alt_of(const Match *matches, uint32_t n, Mode mode) {
    for (uint32_t i = 0; i < n; i++)
        if (in_mode(&matches[i], mode))
            return &matches[i];
    return NULL;
}

/* Pushes the value of the dynamic predicate. */
static void splice_predicate(Splicer *s, const Site *site, const Match *matches, const Match *alt) {
    s->site.words = s->site.all_words.at + s->site.words_at.at[alt - matches];
    splice_template(s, alt->shape->predicate, alt->shape->variant, site);
}

/* Sets, before the branch of the site, the flag that control comes from it, if there are at_target
 * probes. */
static void put_landing_flag(Splicer *s) {
    if (!s->site.landing)
        return;
    if (s->func.landing_flag == UINT32_MAX)
        s->func.landing_flag = pool_keep(&s->pool, WASM_I32);
    emit_assign(s->out, s->func.landing_flag, (int32_t)s->site.landing);
}

/* Appends the body of an alt probe and the values it supplies. */
static void splice_body(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                        const Match *alt) {
    const Variant *v = alt->shape->variant;
    WasmOp op = (WasmOp)site->instr->op;
    s->site.gives.len = 0;
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    if (v->alt.gives)
        hole_push_given(s);
    if (v->alt.returns && wasm_ops[op].results[0] == 'a' &&
        splice_operand_type(site, types, true, 0) == WASM_I64)
        wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_S); /* a size */
    for (uint32_t n = alt_carries(v, op, types), k = s->site.args.local.len; n > 0; n--)
        hole_put_local(s, HOLE_GET, s->site.args.local.at[--k]);
    if (alt_returns(v, op)) {
        hole_put_leave(s, false);
        wasm_put_op(s->out, WASM_OP_RETURN);
    }
}

/* Appends the body instead of the instruction; with a dynamic predicate, one or the other. */
static void splice_alt(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                       uint32_t n, uint32_t saved, uint32_t blocks) {
    const Match *alt = alt_of(matches, n, MODE_ALT);
    bool guarded = alt->shape->variant->alt.guarded;
    bool diverges = alt_diverges((WasmOp)site->instr->op);
    emit_drops(s->out, hole_operand_count(site, types) - saved);
    if (guarded) {
        splice_predicate(s, site, matches, alt);
        emit_if(s->out, diverges ? WASM_NONE : splice_block_type(s->m, &types->supplies));
    }
    splice_body(s, site, types, matches, alt);
    if (guarded) {
        wasm_put_op(s->out, WASM_OP_ELSE);
        put_landing_flag(s);
        hole_restore(s, &s->site.args, s->site.args.local.len);
        if (diverges || s->site.ends)
            hole_put_leave(s, s->site.ends); /* if it is a way out */
        put_original(s, site, blocks + 1);
        wasm_put_op(s->out, WASM_OP_END);
    }
    if (diverges && !types->falls_through)
        wasm_put_op(s->out, WASM_OP_UNREACHABLE); /* code after it need not fit the operands here */
}

static void splice_after(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                         uint32_t n, Need results) {
    save(s, site, types, true, results.count, !results.assigned, false);
    splice_mode(s, site, matches, n, MODE_AFTER);
    if (results.count)
        hole_restore(s, &s->site.results, results.assigned ? results.count : results.count - 1);
}

/* Whether the alt body makes a call with the operands, of the same function or another one. */
static bool alt_calls(const Match *alt) {
    return alt->shape->variant->alt.guarded || alt->shape->variant->calls.alts.len;
}

/* Whether operands may be needed again after they have been popped: for a call that the alt body
 * makes, or for the values of the branch that it replaces. */
static bool needs_operands(const Match *alt, const Site *site, const SiteTypes *types) {
    return alt_calls(alt) || alt_carries(alt->shape->variant, (WasmOp)site->instr->op, types);
}

void splice_unwind_types(WasmModule *m, WasmExceptions form, const WasmInstr *call,
                         const Match *matches, uint32_t n) {
    const Match *alt = alt_of(matches, n, MODE_ALT);
    UnwindCall u = {m, call, form, alt != NULL};
    if (!alt || alt_calls(alt))
        unwind_add_types(&u, m);
}

enum { MANY_CALLS = 16 };

bool splice_wants_one_region(const WasmModule *m, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    uint32_t calls = 0;
    if (wasm_may_have(m, func, WASM_OP_TRY) || wasm_may_have(m, func, WASM_OP_TRY_TABLE))
        return false;
    wasm_func_code(m, func, &code);
    while (calls < MANY_CALLS && wasm_next(&code, &i))
        calls += wasm_flow(i.op) == WASM_FLOW_CALL;
    return calls == MANY_CALLS;
}

static void put_under_way(Splicer *s, uint32_t n) {
    if (s->func.active_call == UINT32_MAX)
        s->func.active_call = pool_keep(&s->pool, WASM_I32);
    emit_assign(s->out, s->func.active_call, (int32_t)n);
}

/* Appends to the handler of the whole function the bodies of the unwind probes of the call that was
 * numbered last. */
static void splice_caught(Splicer *s, const Site *site, const Match *matches, uint32_t n) {
    emit_if_equal(s->out, s->func.active_call, (int32_t)s->func.nways);
    splice_mode(s, site, matches, n, MODE_UNWIND);
    wasm_put_op(s->out, WASM_OP_END);
}

/* Appends the call, or its replacement, with the bodies of its unwind probes, unless these go into
 * the handler of the whole function. */
static void splice_call(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                        uint32_t n, uint32_t saved, bool unwinds) {
    const Match *alt = alt_of(matches, n, MODE_ALT);
    UnwindCall u = {s->m, site->instr, s->exceptions, alt != NULL};
    if (unwinds && s->func.one_region)
        put_under_way(s, ++s->func.nways);
    else if (unwinds)
        unwind_open(&u, s->out);
    uint32_t blocks = unwinds && !s->func.one_region ? unwind_blocks(&u) : 0;
    if (alt)
        splice_alt(s, site, types, matches, n, saved, blocks);
    else
        put_original(s, site, blocks);
    if (!unwinds)
        return;
    if (s->func.one_region) {
        put_under_way(s, 0);
        return;
    }
    unwind_caught(&u, s->out);
    if (splice_leaves_stack(s, site))
        put_back_on_stack(s, wasm_has_handlers(site->instr->op));
    splice_mode(s, site, matches, n, MODE_UNWIND);
    unwind_close(&u, s->out);
}

/* Adds the bodies of at_target probes, run if the flag says that control comes from the branch. */
static void put_landing(Splicer *s, const Site *site, const Match *matches, uint32_t n, uint32_t at,
                        SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    emit_if_equal(s->out, s->func.landing_flag, (int32_t)s->site.landing);
    emit_assign(s->out, s->func.landing_flag, 0);
    splice_mode(s, site, matches, n, MODE_AT_TARGET);
    wasm_put_op(s->out, WASM_OP_END);
    piece(ctx, WASM_AFTER, at, RANK_CONSTRUCT, from, s->out->len);
}

/* Adds landing code after the end of each target (at the head of a loop); a br_if that falls
 * through lands after itself. */
static void splice_landings(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                            SplicePiece *piece, void *ctx) {
    const WasmInstr *i = site->instr;
    Vec(uint32_t) places = {0};
    const uint8_t *at = i->vec;
    vec_push(&places, site_target(site, i->a));
    for (uint32_t k = 0; i->op == WASM_OP_BR_TABLE && k < i->count; k++) {
        uint32_t place = site_target(site, wasm_vec_u32(&at));
        bool known = false;
        for (uint32_t p = 0; p < places.len && !known; p++)
            known = places.at[p] == place;
        if (!known)
            vec_push(&places, place);
    }
    if (i->op == WASM_OP_BR_IF)
        vec_push(&places, site->pc);
    for (uint32_t p = 0; p < places.len; p++)
        put_landing(s, site, matches, n, places.at[p], piece, ctx);
    vec_free(&places);
}

/* Adds pieces at the top of a construct, before its closing instruction, and after its end. */
static void splice_construct(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                             SplicePiece *piece, void *ctx) {
    static const struct {
        Mode mode;
        WasmWhere where;
    } modes[] = {
        {MODE_ENTRY, WASM_AFTER}, {MODE_EXIT, WASM_BEFORE}, {MODE_SEMANTIC_AFTER, WASM_AFTER}};
    for (uint32_t k = 0; k < 3; k++) {
        size_t from = s->out->len;
        splice_mode(s, site, matches, n, modes[k].mode);
        if (s->out->len == from)
            continue;
        uint32_t at = k == 0 ? site->pc : k == 1 ? site->construct->part_end : site->construct->end;
        piece(ctx, modes[k].where, at, RANK_CONSTRUCT, from, s->out->len);
    }
}

/* Whether the match runs before the instruction and needs nothing of it. */
static bool splice_is_plain(const Match *m) {
    const Variant *v = m->shape->variant;
    return m->action->event.mode == MODE_BEFORE && !v->operands.args.len && !v->asks.reference;
}

/* Returns the offset after the `end` (or `delegate` and its label) of a construct. */
static uint32_t after_construct(const WasmModule *m, const Site *site) {
    const uint8_t *end = wasm_func_body(m, site->func) + site->construct->end, *p = end + 1;
    if (*end == 0x18) /* delegate */
        wasm_vec_u32(&p);
    return site->construct->end + (uint32_t)(p - end);
}

/* Adds the body instead of a whole construct, or of the contents of an arm; the `else` or `catch`
 * stays, and its values on the stack are dropped. */
static void splice_block_alt(Splicer *s, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n, SpliceRegion *region, void *ctx) {
    const WasmInstr *i = site->instr;
    size_t from = s->out->len;
    bool arm = is_arm((WasmOp)i->op);
    if (arm) {
        WasmRemap map = wasm_layout_remap(s->m);
        wasm_copy_instr(wasm_func_body(s->m, site->func) + i->offset, i, &map, s->out);
    }
    const Match *alt = alt_of(matches, n, MODE_BLOCK_ALT);
    if (arm || alt->shape->variant->alt.drops)
        emit_drops(s->out, arm ? types->results.len : types->operands.len);
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    region(ctx, WASM_REPLACE, site->pc,
           arm ? site->construct->part_end : after_construct(s->m, site), from, s->out->len);
}

/* Adds, with a dynamic predicate, at the top of an arm: the body, then a branch out of the
 * construct with the construct's results. */
static void splice_guarded_arm(Splicer *s, const Site *site, const Match *matches, const Match *alt,
                               SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    splice_predicate(s, site, matches, alt);
    emit_if(s->out, WASM_NONE);
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    put_index(s->out, WASM_OP_BR, 1);
    wasm_put_op(s->out, WASM_OP_END);
    piece(ctx, WASM_AFTER, site->pc, RANK_PROBE, from, s->out->len);
}

/* Adds the body, or else the construct, which is wrapped in the else-arm. Its operands are in
 * locals. */
static void splice_wrap(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                        const Match *alt, SpliceRegion *region, void *ctx) {
    size_t from = s->out->len;
    splice_predicate(s, site, matches, alt);
    emit_if(s->out, splice_block_type(s->m, &types->supplies));
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    wasm_put_op(s->out, WASM_OP_ELSE);
    hole_restore(s, &s->site.args, s->site.args.local.len);
    region(ctx, WASM_WRAP, site->pc, site->construct->end, from, s->out->len);
    vec_push(&s->func.wrapped, ((Wrapped){site->pc, site->construct->end}));
}

/* Adds the replacement of the instruction, cut where it leaves the function or ends the program:
 * exit code is inserted there. */
static void splice_put_replacement(Splicer *s, const Site *site, size_t from, SplicePiece *piece,
                                   void *ctx) {
    for (uint32_t i = 0; i < s->site.leaves.len; i++) {
        const Leave *l = &s->site.leaves.at[i];
        uint32_t rank = RANK_LEAVES + 2 * i;
        piece(ctx, WASM_REPLACE, site->pc, (PieceRank)rank, from, l->at);
        if (l->ends)
            vec_push(&s->site.ends_after, rank);
        from = l->at;
    }
    piece(ctx, WASM_REPLACE, site->pc, RANK_REPLACED, from, s->out->len);
    s->site.leaves.len = 0;
}

/*
 * The code of a loop's probes is after its opcode, where branches arrive. Code that depends on
 * whether a branch arrived reads a local shared by all loops of a function: it is 0 from before a
 * loop to the end of its head, else 1. Bodies that run only where control enters the loop are
 * before it, if they are the first and need no operands.
 */

static bool asks_back(const Match *m) {
    const Template *t = m->shape->template;
    for (uint32_t i = 0; m->shape->variant->asks.back && i < t->nholes; i++)
        if (t->holes[i].kind == HOLE_BACK)
            return true;
    return false;
}

static uint32_t count_before_loop(const Match *matches, uint32_t n) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!in_mode(&matches[i], MODE_BEFORE))
            continue;
        if (!is_entering(&matches[i]) || !splice_is_plain(&matches[i]))
            break;
        before = i + 1;
    }
    return before;
}

/* Adds code before a loop. Returns whether the head reads the local, which is known if `asks`. */
static bool splice_before_loop(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                               bool asks, SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    uint32_t before = count_before_loop(matches, n);
    for (uint32_t i = 0; i < n; i++) {
        if (i < before && in_mode(&matches[i], MODE_BEFORE))
            splice_match(s, site, matches, i);
        else
            asks |= is_entering(&matches[i]) || asks_back(&matches[i]);
    }
    s->site.before_loop = before;
    if (asks && s->func.back == UINT32_MAX)
        s->func.back = pool_keep(&s->pool, WASM_I32);
    if (asks)
        emit_assign(s->out, s->func.back, 0);
    if (s->out->len > from)
        piece(ctx, WASM_BEFORE, site->pc, RANK_PROBE, from, s->out->len);
    return asks;
}

/* Adds the head of a loop that its alt probe may replace: code before the alternative runs again
 * after each branch back, with the operands of this branch. */
static void splice_again(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                         SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    for (uint32_t k = 0; k < s->site.args.local.len; k++)
        hole_put_local(s, HOLE_SET, s->site.args.local.at[k]);
    emit_if_set(s->out, s->func.back);
    splice_mode(s, site, matches, n, MODE_BEFORE);
    wasm_put_op(s->out, WASM_OP_END);
    hole_restore(s, &s->site.args, s->site.args.local.len);
    piece(ctx, WASM_AFTER, site->pc, RANK_PROBE, from, s->out->len);
}

static void splice_head_end(Splicer *s, const Site *site, SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    emit_assign(s->out, s->func.back, 1);
    piece(ctx, WASM_AFTER, site->pc, RANK_CONSTRUCT, from, s->out->len);
}

/* Whether control may reach the instruction, or the code after it, other than from the one
 * before. */
static bool entered(WasmOp op) {
    return op == WASM_OP_END || op == WASM_OP_DELEGATE || is_arm(op);
}

/* Splices the only match of an instruction, which needs nothing of it. */
static void splice_plain(Splicer *s, const Site *site, const Match *match, SplicePiece *piece,
                         void *ctx) {
    size_t from = s->out->len;
    splice_match(s, site, match, 0);
    if (s->pool.types.len)
        pool_release(&s->pool);
    piece(ctx, site->at_label ? WASM_AFTER : WASM_BEFORE, site->pc, RANK_PROBE, from, s->out->len);
}

/* Adds the code executed in place of the instruction; `unwinds`: exceptions that leave it are
 * caught. */
static void splice_instead(Splicer *s, const Site *site, const SiteTypes *types,
                           const Match *matches, uint32_t n, uint32_t nargs, bool unwinds,
                           SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    splice_call(s, site, types, matches, n, nargs, unwinds);
    splice_put_replacement(s, site, from, piece, ctx);
    from = s->out->len;
    if (unwinds && s->func.one_region) {
        splice_caught(s, site, matches, n);
        piece(ctx, WASM_UNWIND, site->pc, RANK_PROBE, from, s->out->len);
    }
}

/* Splices an alt probe that replaces a construct, or an arm of one. `wraps`: its condition
 * decides. */
static void splice_block(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                         uint32_t n, const Match *alt, bool wraps, SplicePiece *piece,
                         SpliceRegion *region, void *ctx) {
    if (wraps)
        splice_wrap(s, site, types, matches, alt, region, ctx);
    else if (alt->shape->variant->alt.guarded)
        splice_guarded_arm(s, site, matches, alt, piece, ctx);
    else
        splice_block_alt(s, site, types, matches, n, region, ctx);
}

/* Adds a piece, if there is code. */
static void splice_put_piece(const Splicer *s, WasmWhere where, uint32_t at, PieceRank rank,
                             size_t from, SplicePiece *piece, void *ctx) {
    if (s->out->len > from)
        piece(ctx, where, at, rank, from, s->out->len);
}

void splice_site(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                 uint32_t n, SplicePiece *piece, SpliceRegion *region, void *ctx) {
    assert(site->instr);
    splice_words(s, site, matches, n);
    s->site.types = types;
    s->site.ends_after.len = 0;
    if (types->known && types->dead && !entered((WasmOp)site->instr->op))
        return; /* counted, but nothing to run */
    s->site.before_loop = 0;
    bool leaves = splice_leaves_stack(s, site);
    if (n == 1 && splice_is_plain(&matches[0]) && !matches[0].action->variant->asks.back &&
        !leaves) {
        splice_plain(s, site, matches, piece, ctx);
        return;
    }
    Wanted w = wanted_by(matches, n);
    const Match *alt = alt_of(matches, n, MODE_ALT);
    w.landing &= !alt || alt->shape->variant->alt.guarded; /* else there is no branch */
    const Match *block_alt = alt_of(matches, n, MODE_BLOCK_ALT);
    bool wraps =
        block_alt && block_alt->shape->variant->alt.guarded && !is_arm((WasmOp)site->instr->op);
    if (wraps || (alt && needs_operands(alt, site, types)))
        w.args.count = hole_operand_count(site, types); /* they may be needed again */
    bool loop = site->instr->op == WASM_OP_LOOP;
    bool asks = loop && splice_before_loop(s, site, matches, n, wraps, piece, ctx);
    WasmWhere here = site->at_label && !block_alt ? WASM_AFTER : WASM_BEFORE;
    size_t from = s->out->len;
    bool popped = w.alt || wraps, keep_on_stack = !w.args.assigned && !popped;
    save(s, site, types, false, w.args.count, keep_on_stack, w.construct);
    if (w.before)
        splice_mode(s, site, matches, n, MODE_BEFORE);
    s->site.landing = w.landing ? ++s->func.nlandings : 0;
    if (!w.alt)
        put_landing_flag(s);
    if (!popped && w.args.count)
        hole_restore(s, &s->site.args, keep_on_stack ? w.args.count - 1 : w.args.count);
    splice_put_piece(s, here, site->pc, RANK_PROBE, from, piece, ctx);
    if (loop && wraps)
        splice_again(s, site, matches, n, piece, ctx);
    if (w.alt || w.unwind || leaves) {
        bool unwinds =
            (w.unwind || leaves) && (!alt || alt_calls(alt)); /* else nothing is called */
        splice_instead(s, site, types, matches, n, w.args.count, unwinds, piece, ctx);
    }
    if (block_alt)
        splice_block(s, site, types, matches, n, block_alt, wraps, piece, region, ctx);
    if (w.after && !site->at_func_end) {
        from = s->out->len;
        splice_after(s, site, types, matches, n, w.results);
        splice_put_piece(s, WASM_AFTER, site->pc, RANK_AFTER, from, piece, ctx);
    }
    if (leaves && s->func.left != UINT32_MAX)
        splice_arrivals(s, site, piece, ctx);
    if (w.landing)
        splice_landings(s, site, matches, n, piece, ctx);
    if (w.construct)
        splice_construct(s, site, matches, n, piece, ctx);
    if (asks && (wraps || !block_alt))
        splice_head_end(s, site, piece, ctx);
    if (s->pool.types.len)
        pool_release(&s->pool);
}
