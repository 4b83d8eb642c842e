/*
 * rewrite/continuations.c - which stack is the current one in a program with continuations.
 */
#include "rewrite/continuations.h"

#include "valid/subtype.h"
#include "wasm/emit.h"

enum { NO_STACK = -1 }; /* the number of no stack: one is about to become current */

bool continuations_in(const WasmModule *m) {
    WasmOpSet leaving = {0};
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        if (wasm_leaves_stack(op))
            op_set_add(&leaving, (uint16_t)op);
    bool any = false;
    for (uint32_t f = 0; m->ops && f < m->input_count[WASM_SPACE_FUNC]; f++)
        any |= op_sets_meet(&m->ops[f], &leaving);
    return any;
}

void continuations_init(Continuations *c, const WasmModule *m, const Plan *plan, Matcher *matcher) {
    bool asked = plan->by_kind[EVENT_STACK_SUSPEND].len || plan->by_kind[EVENT_STACK_RESUME].len;
    c->followed = asked && continuations_in(m);
    for (uint32_t op = 0; c->followed && op < WASM_OP_COUNT; op++)
        matcher->watch_op[op] |= wasm_leaves_stack(op);
    matcher->uses_constructs |= c->followed; /* which labels name */
}

void continuations_note(const Continuations *c, WasmModule *m, const Site *site,
                        const Match *matches, uint32_t n, uint8_t *touched) {
    const WasmInstr *i = site->instr;
    if (!c->followed || !i || !wasm_leaves_stack(i->op))
        return;
    splice_unwind_types(m, wasm_survey_exceptions(site->survey, m), i, matches, n);
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; wasm_has_handlers(i->op) && k < i->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        if (!h.switches && h.label >= site->nopen)
            touched[site->func] |= TOUCHED_END;
    }
}

/* A continuation may be made of a function of this type. */
static bool is_continued(const WasmModule *m, uint32_t type) {
    for (uint32_t k = 0; k < m->types.len; k++)
        if (m->types.at[k].kind == WASM_TYPE_CONT &&
            wasm_subtype(m, WASM_REF(1, type), m->types.at[k].fields[0].type))
            return true;
    return false;
}

void continuations_touch(Continuations *c, const WasmModule *m, WasmSurvey *survey,
                         uint8_t *touched) {
    if (!c->followed)
        return;
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    c->begins = mem_zalloc(n + 1u);
    for (uint32_t f = 0; f < n; f++) {
        if (m->funcs.at[f].import >= 0 || !wasm_survey_escapes(survey, m, f) ||
            !is_continued(m, m->funcs.at[f].type))
            continue;
        c->begins[f] = 1;
        touched[f] |= TOUCHED | TOUCHED_SITE;
    }
}

/* ---- numbers ---- */

/* Those up to 63 of stacks that have ended are a set, which new ones take theirs from; of others
 * only the last one is free again. */
typedef struct Numbers {
    uint32_t current, free, last; /* globals, final indices */
} Numbers;

static Numbers add_numbers(WasmModule *m) {
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

/* A stack begins, unless the current one is known. */
static uint32_t add_begin(WasmModule *m, const Numbers *n, const Buf *resume) {
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

/* The current stack is left; its number + 1. */
static uint32_t add_leave(WasmModule *m, const Numbers *n, uint32_t begin, const Buf *suspend) {
    return index_of(m, emit_function(m, "whammc.leave_stack",
                                     "result i32 local $left i32 $current=%u"
                                     " call %u"
                                     " global.get $current i32.const 1 i32.add local.set $left"
                                     " global.get $current %p"
                                     " i32.const %d global.set $current local.get $left",
                                     n->current, begin, suspend, NO_STACK));
}

/* A stack is the current one again. */
static uint32_t add_back(WasmModule *m, const Numbers *n, const Buf *resume) {
    return index_of(m, emit_function(m, "whammc.back_on_stack",
                                     "param $left i32 $current=%u"
                                     " local.get $left i32.const 1 i32.sub global.set $current"
                                     " global.get $current %p",
                                     n->current, resume));
}

/* The same after the current one has ended. */
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

/* What is done with a number on the stack. */
static Buf told(const WasmModule *m, uint32_t func) {
    Buf code = {0};
    if (func == UINT32_MAX)
        emit(&code, "drop");
    else
        emit_calls(&code, m, &func, 1);
    return code;
}

void continuations_add(Continuations *c, WasmModule *m, const FlushHandles *at) {
    if (!c->followed)
        return;
    Buf suspend = told(m, at->suspend), resume = told(m, at->resume);
    Numbers n = add_numbers(m);
    c->current = n.current;
    c->begin = add_begin(m, &n, &resume);
    c->calls.followed = true;
    c->calls.leave = add_leave(m, &n, c->begin, &suspend);
    c->calls.back = add_back(m, &n, &resume);
    c->calls.ended = add_ended(m, &n, c->calls.back);
    buf_free(&suspend);
    buf_free(&resume);
}

void continuations_enter(const Continuations *c, uint32_t func, Pieces *pieces) {
    if (!c->begins || !c->begins[func])
        return;
    size_t from = pieces->code.len;
    emit(&pieces->code, "global.get %u i32.const %d i32.eq if call %u end", c->current, NO_STACK,
         c->begin);
    pieces_add_around(pieces, WASM_ENTRY, from);
}

void continuations_free(Continuations *c) {
    free(c->begins);
}
