/*
 * rewrite/sites.c - the two walks over the sites of a program.
 */
#include "rewrite/sites.h"

#include "storage/count_ahead.h"
#include "wasm/emit.h"

#include <assert.h>

/* ---- pass 1 ---- */

/* Whether a variant that only counts has no requirements to note. */
static bool has_no_needs(const Variant *v) {
    return !v->calls.alts.len && !v->calls.dups.len && !v->calls.memory.len && !v->asks.targets &&
           !v->asks.entry && !v->alt.is;
}

/* Counts matches that are the same at all instructions of the kind. */
static bool count_kind(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    if (!site->decided || !r->store.coalesce ||
        wasm_asyncify_spans(&site->survey->asyncify, site->func))
        return false;
    for (uint32_t i = 0; i < n && !r->kinds.of[site->instr->op].found; i++)
        if (!has_no_needs(matches[i].shape->variant))
            return false;
    return kinds_count(&r->kinds, &r->store, site, matches, n);
}

/* Notes the requirements of a match's code on its function and on the types of the module. */
static void note_code(Rewrite *r, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n, const Match *match) {
    const Variant *v = match->shape->variant;
    Mode mode = match->action->event.mode;
    if (v->alt.is)
        program_note_replaced(&r->p, site);
    if (mode == MODE_AT_TARGET)
        r->p.touched[site->func] |= TOUCHED_END; /* the target may be the function's end */
    if (v->alt.guarded && types->known)
        splice_result_type(&r->p.m, &types->supplies);
    if (mode == MODE_UNWIND)
        splice_unwind_types(&r->p.m, wasm_survey_exceptions(site->survey, &r->p.m), site->instr,
                            matches, n);
}

void sites_count(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                 uint32_t n) {
    assert(site->func < ((Rewrite *)self)->p.m.input_count[WASM_SPACE_FUNC]);
    Rewrite *r = self;
    bool code = site->instr && matcher_watches(&r->p.matcher, site->instr);
    r->p.matched |= n > 0;
    bool kind = count_kind(r, site, matches, n);
    for (uint32_t i = 0; i < n && !kind; i++) {
        bool counted = store_count(&r->store, site, &matches[i]);
        code |= !counted;
        if (!counted)
            r->p.plan->shapes.at[matches[i].shape->index]->sites++;
        r->p.touched[site->func] |= counted ? 0 : TOUCHED_CODE;
        note_code(r, site, types, matches, n, &matches[i]);
    }
    program_touch(&r->p, site, code);
    for (uint32_t k = 0; k < r->passes.nnoting; k++) {
        const RewritePass *pass = rewrite_passes[r->passes.noting[k]];
        if (!kind || pass->notes_kinds)
            pass->note(r, r->passes.state[r->passes.noting[k]], site, types, matches, n, code);
    }
}

/* Counts a function whose matches all only count. */
bool sites_count_func(void *self, uint32_t func) {
    Rewrite *r = self;
    bool any;
    if (!count_ahead(&r->ahead, func, &any))
        return false;
    r->p.touched[func] |= any ? TOUCHED : 0;
    r->p.matched |= any;
    return true;
}

/* Counts a body of such instructions after its entry, or before its exit. */
bool sites_count_body(void *self, const Site *site, const WasmDecoded *body) {
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

/* ---- pass 2 ---- */

static void splice_function_event(Rewrite *r, const Site *site, const Match *matches, uint32_t n,
                                  WasmWhere where) {
    Pieces *pieces = &r->p.pieces;
    size_t from = pieces->code.len;
    program_splice_all(&r->p, site, matches, n);
    pieces_add_around(pieces, where, from);
}

/* What the parser has made comes before all else, also before `before` probes of the first
 * instruction: so `stack` has the function there. */
static void splice_beginning(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    for (uint32_t from = 0, to = 0; from < n; from = to) {
        bool made = matches[from].action->variant->probe->made;
        while (to < n && matches[to].action->variant->probe->made == made)
            to++;
        splice_function_event(r, site, matches + from, to - from, made ? WASM_HEAD : WASM_ENTRY);
    }
}

/* Splices code at the entry, which control reaches once, however often the function goes on. */
static void sites_splice_entry(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    Pieces *pieces = &r->p.pieces;
    size_t from = pieces->code.len;
    bool apart = site_is_apart(site, &matches[0].action->event);
    uint32_t start = apart ? wasm_go_start(&r->p.m, site->func) : 0;
    if (!start) {
        splice_beginning(r, site, matches, n);
        return;
    }
    program_splice_all(&r->p, site, matches, n);
    pieces_add(pieces, WASM_BEFORE, start, RANK_PROBE, from, pieces->code.len);
}

/* Adds code so that the function returns at once where it is left in the middle. */
static void pass_exit(Rewrite *r, const Site *site) {
    Pieces *pieces = &r->p.pieces;
    size_t from = pieces->code.len;
    uint32_t left = wasm_go_left(&r->p.m, site->func);
    if (!left)
        return;
    wasm_put_op(&pieces->code, WASM_OP_RETURN);
    pieces_add(pieces, WASM_BEFORE, left, RANK_END, from, pieces->code.len);
}

/* Splices code at exits; where the function ends without results, by a trap or a tail call, they
 * are 0. */
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

/* Splices unwind code, not run where control has left by an exit: by throws that no handler
 * catches, and by calls that end the program. */
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

/* Returns the matches that are not counted by segments. */
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

static bool is_replaced(const Match *matches, uint32_t n) {
    bool is = false;
    for (uint32_t i = 0; i < n; i++)
        is |= matches[i].action->event.mode == MODE_ALT;
    return is;
}

static void put_pass_replacement(Rewrite *r, const Site *site) {
    Buf *code = &r->p.pieces.code;
    size_t from = code->len;
    bool any = false;
    REWRITE_EACH (r, k, replace)
        any = any || rewrite_passes[k]->replace(r, r->passes.state[k], site, code);
    if (any)
        pieces_add(&r->p.pieces, WASM_REPLACE, site->pc, RANK_PROBE, from, code->len);
}

void sites_splice(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                  uint32_t n) {
    assert(site->func < ((Rewrite *)self)->p.m.input_count[WASM_SPACE_FUNC]);
    Rewrite *r = self;
    Pieces *pieces = &r->p.pieces;
    bool at_instr = !n || matches[0].action->event.kind == EVENT_OPCODE;
    matches = coded_matches(r, site, matches, &n);
    if (!n && !at_instr)
        return;
    if (n && matches[0].action->event.kind == EVENT_FUNC_ENTRY) {
        sites_splice_entry(r, site, matches, n);
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
        r->p.splicer.func.one_region =
            !r->stacks.followed && splice_wants_one_region(&r->p.m, site->func);
    }
    REWRITE_EACH (r, k, before)
        rewrite_passes[k]->before(r, r->passes.state[k], site, matches, n);
    program_splice_site(&r->p, site, types, matches, n);
    r->fill.floats = (FillFloats){0}; /* of this site only */
    if (!is_replaced(matches, n))
        put_pass_replacement(r, site);
}
