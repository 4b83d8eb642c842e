/*
 * rewrite/continuations.c - tracks the current stack of a program with continuations (the
 * stack-switching proposal), for `wasm:stack:suspend` and `wasm:stack:resume`.
 *
 * A global has the number of the current stack; 0 is that of the host's calls. An instruction that
 * leaves its stack puts NO_STACK there. Code that finds NO_STACK has become current: a function
 * that begins has a new stack, and gets a number; an instruction that had left its stack has kept
 * the number in a local. The functions that instructions call are in inject/splice.h (StackCalls).
 */
#include "rewrite/pass.h"
#include "rewrite/suspend.h"

#include "valid/subtype.h"
#include "wasm/emit.h"

#include <assert.h>

enum { NO_STACK = -1 }; /* no stack is current: one is about to become so */

typedef struct Continuations {
    uint8_t *begins;  /* by function: a stack may begin with it */
    uint32_t current; /* final index of the global */
    uint32_t begin;   /* final index of the function that gives the stack a number */
} Continuations;

/* Makes pass 1 report the instructions that leave stacks. */
static bool continuations_begin(Rewrite *r, void *self) {
    (void)self;
    const Plan *plan = r->p.plan;
    Matcher *matcher = &r->p.matcher;
    bool asked = plan->by_kind[EVENT_STACK_SUSPEND].len || plan->by_kind[EVENT_STACK_RESUME].len;
    bool followed = asked && stacks_are_continuations(&r->p.m);
    for (uint32_t op = 0; followed && op < WASM_OP_COUNT; op++)
        matcher->watch_op[op] |= wasm_leaves_stack(op);
    matcher->uses_constructs |= followed; /* which are named by labels */
    r->stacks.followed = followed;
    return followed;
}

/* Adds types, and marks the function if a handler is at its end. */
static void continuations_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                               const Match *matches, uint32_t n, bool code) {
    (void)self, (void)types, (void)code;
    WasmModule *m = &r->p.m;
    const WasmInstr *i = site->instr;
    if (!i || !wasm_leaves_stack(i->op))
        return;
    splice_unwind_types(m, wasm_survey_exceptions(site->survey, m), i, matches, n);
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; wasm_has_handlers(i->op) && k < i->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        if (!h.switches && h.label >= site->nopen)
            r->p.touched[site->func] |= TOUCHED_END;
    }
}

/* Whether a continuation may be made of a function of this type. */
static bool is_continued(const WasmModule *m, uint32_t type) {
    for (uint32_t k = 0; k < m->types.len; k++)
        if (m->types.at[k].kind == WASM_TYPE_CONT &&
            wasm_subtype(m, WASM_REF(1, type), m->types.at[k].fields[0].type))
            return true;
    return false;
}

/* Finds the functions with which stacks may begin. */
static void continuations_decide(Rewrite *r, void *self) {
    Continuations *c = self;
    const WasmModule *m = &r->p.m;
    WasmSurvey *survey = &r->p.matcher.survey;
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    c->begins = mem_zalloc(n + 1u);
    for (uint32_t f = 0; f < n; f++) {
        if (m->funcs.at[f].import >= 0 || !wasm_survey_escapes(survey, m, f) ||
            !is_continued(m, m->funcs.at[f].type))
            continue;
        c->begins[f] = 1;
        r->p.touched[f] |= TOUCHED | TOUCHED_SITE;
    }
}

/* ---- numbers ---- */

/* Numbers up to 63 of ended stacks form a set from which new stacks take theirs; of higher numbers
 * only the last one becomes free again. */
typedef struct Numbers {
    uint32_t current, free, last; /* globals, final indices */
} Numbers;

static Numbers continuations_add_numbers(WasmModule *m) {
    Buf zero = {0};
    uint32_t current = wasm_add_global_i32(m, true, STR("whammc.stack"), 0);
    uint32_t free = wasm_add_global(m, WASM_I64, true, STR("whammc.free_stacks"), &zero);
    uint32_t last = wasm_add_global_i32(m, true, STR("whammc.last_stack"), 0);
    return (Numbers){emit_index(m, WASM_SPACE_GLOBAL, current),
                     emit_index(m, WASM_SPACE_GLOBAL, free),
                     emit_index(m, WASM_SPACE_GLOBAL, last)};
}

static uint32_t index_of(const WasmModule *m, uint32_t func) {
    return emit_index(m, WASM_SPACE_FUNC, func);
}

/* Adds the function that begins a stack, unless the current one is known. */
static uint32_t continuations_add_begin(WasmModule *m, const Numbers *n, const Buf *resume) {
    return index_of(m,
                    emit_function(m, "whammc.begin_stack",
                                  "$current=%u $free=%u $last=%u"
                                  " global.get $current i32.const %d i32.ne if return end"
                                  " global.get $free i64.eqz"
                                  " if"
                                  "   global.get $last i32.const 1 i32.add global.set $last"
                                  "   global.get $last global.set $current"
                                  " else"
                                  "   global.get $free i64.ctz i32.wrap_i64 global.set $current"
                                  "   global.get $free i64.const 1 i64.sub global.get $free i64.and"
                                  "   global.set $free"
                                  " end"
                                  " global.get $current %p",
                                  n->current, n->free, n->last, NO_STACK, resume));
}

/* Adds the function that leaves the current stack and returns its number + 1. */
static uint32_t add_leave(WasmModule *m, const Numbers *n, uint32_t begin, const Buf *suspend) {
    return index_of(m, emit_function(m, "whammc.leave_stack",
                                     "result i32 local $left i32 $current=%u"
                                     " call %u"
                                     " global.get $current i32.const 1 i32.add local.set $left"
                                     " global.get $current %p"
                                     " i32.const %d global.set $current local.get $left",
                                     n->current, begin, suspend, NO_STACK));
}

/* Adds the function that makes a stack current again. */
static uint32_t add_back(WasmModule *m, const Numbers *n, const Buf *resume) {
    return index_of(m, emit_function(m, "whammc.back_on_stack",
                                     "param $left i32 $current=%u"
                                     " local.get $left i32.const 1 i32.sub global.set $current"
                                     " global.get $current %p",
                                     n->current, resume));
}

/* Adds the function that does the same after the current one has ended. */
static uint32_t add_ended(WasmModule *m, const Numbers *n, uint32_t back) {
    return index_of(m, emit_function(m, "whammc.stack_ended",
                                     "param $left i32 $current=%u $free=%u $last=%u"
                                     " global.get $current i32.const 64 i32.lt_u"
                                     " if"
                                     "   global.get $free"
                                     "   i64.const 1 global.get $current i64.extend_i32_u i64.shl"
                                     "   i64.const -2 i64.and i64.or global.set $free"
                                     " else"
                                     "   global.get $last"
                                     "   global.get $last global.get $current i32.eq i32.sub"
                                     "   global.set $last"
                                     " end"
                                     " local.get $left call %u",
                                     n->current, n->free, n->last, back));
}

/* Returns code that passes a number on the stack to a function, or drops it. */
static Buf told(const WasmModule *m, uint32_t func) {
    Buf code = {0};
    if (func == UINT32_MAX)
        emit(&code, "drop");
    else
        emit_calls(&code, m, &func, 1);
    return code;
}

/* Adds the functions that sites call, which call those with the scripts' code. */
static void continuations_finish(Rewrite *r, void *self, const Reach *reach) {
    (void)reach;
    Continuations *c = self;
    WasmModule *m = &r->p.m;
    StackCalls *calls = &r->stacks;
    Buf suspend = told(m, r->flush.at.suspend), resume = told(m, r->flush.at.resume);
    Numbers n = continuations_add_numbers(m);
    c->current = n.current;
    c->begin = continuations_add_begin(m, &n, &resume);
    calls->leave = add_leave(m, &n, c->begin, &suspend);
    calls->back = add_back(m, &n, &resume);
    calls->ended = add_ended(m, &n, calls->back);
    buf_free(&suspend);
    buf_free(&resume);
}

static void continuations_enter(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    assert(func < r->p.m.input_count[WASM_SPACE_FUNC]);
    const Continuations *c = self;
    if (!c->begins[func])
        return;
    size_t from = pieces->code.len;
    emit(&pieces->code, "global.get %u i32.const %d i32.eq if call %u end", c->current, NO_STACK,
         c->begin);
    pieces_add_around(pieces, WASM_ENTRY, from);
}

static void continuations_free(Rewrite *r, void *self) {
    (void)r;
    Continuations *c = self;
    free(c->begins);
}

const RewritePass continuations_pass = {
    .name = "continuations",
    .size = sizeof(Continuations),
    .begin = continuations_begin,
    .note = continuations_note,
    .notes_kinds = true,
    .decide = continuations_decide,
    .finish = continuations_finish,
    .enter = continuations_enter,
    .free = continuations_free,
};
