/*
 * valid/signature.c - operand and result types of single instructions.
 *
 * Most instructions have fixed types, which are in a table (signature_check.c). The others are
 * worked out here from immediates, the module and, for a few, the operands. GC instructions are in
 * signature_gc.c, those on continuations in signature_cont.c. These files are compiled into the
 * runtime of monitors, too, without messages and checks of what is there.
 */
#include <assert.h>

#include "valid/signature.h"

/* ---- helpers ---- */

bool wasm_sig_type_exists(WasmSig *s, WasmType t) {
    uint32_t index;
    return !wasm_heap_index(t, &index) || wasm_sig_exists(s, "type", index, s->t->m->types.len);
}

const WasmTypeDef *wasm_sig_tag(WasmSig *s, uint32_t index) {
    const WasmModule *m = s->t->m;
    return wasm_sig_exists(s, "tag", index, m->tags.len)
               ? wasm_sig_def(s, m->tags.at[index].type, WASM_TYPE_FUNC)
               : NULL;
}

void wasm_sig_put(WasmTypes *to, const WasmType *types, uint32_t n) {
    assert(to->at != types || !n);
    if (n == 0)
        return;
    vec_reserve(to, n);
    memcpy(to->at + to->len, types, n * sizeof *types);
    to->len += n;
}

static void signature_put_list(WasmTypes *to, WasmTypeList l) {
    wasm_sig_put(to, l.at, l.len);
}

static bool memory_exists(WasmSig *s, uint32_t memory) {
    return wasm_sig_exists(s, "memory", memory, s->t->m->memories.len);
}

static bool table_exists(WasmSig *s, uint32_t table) {
    return wasm_sig_exists(s, "table", table, s->t->m->tables.len);
}

bool wasm_sig_label(WasmSig *s, uint32_t depth, WasmTypeList *types) {
    const WasmTyper *t = s->t;
    if (depth >= t->frames.len)
        return wasm_sig_fail(s, "label %u does not exist (there are %u)", depth, t->frames.len);
    *types = wasm_frame_label(t->m, wasm_label(t, depth));
    return true;
}

WasmTypeList wasm_frame_params(const WasmModule *m, const WasmFrame *f) {
    if ((f->block_type & WASM_REF_BIT) || !(f->block_type & WASM_FUNC_TYPE_BIT))
        return (WasmTypeList){NULL, 0};
    const WasmTypeDef *d = &m->types.at[f->block_type & ~WASM_FUNC_TYPE_BIT];
    return (WasmTypeList){d->params, d->nparams};
}

WasmTypeList wasm_frame_results(const WasmModule *m, const WasmFrame *f) {
    if (f->block_type == WASM_NONE)
        return (WasmTypeList){NULL, 0};
    if ((f->block_type & WASM_REF_BIT) || !(f->block_type & WASM_FUNC_TYPE_BIT))
        return (WasmTypeList){&f->block_type, 1};
    const WasmTypeDef *d = &m->types.at[f->block_type & ~WASM_FUNC_TYPE_BIT];
    return (WasmTypeList){d->results, d->nresults};
}

/* ---- simple instructions ---- */

static bool simple(WasmSig *s) {
    const WasmSimpleSig *g = wasm_simple_sig(s->i->op);
    if (g->kind != WASM_SIG_SIMPLE && !wasm_sig_check_simple(s))
        return false;
    for (uint32_t k = 0; k < g->nparams; k++)
        wasm_sig_param(s, g->params[k] ? g->params[k] : wasm_memory_address(s->t->m, s->i->b));
    for (uint32_t k = 0; k < g->nresults; k++)
        wasm_sig_result(s, g->results[k]);
    return true;
}

/* ---- control ---- */

static bool signature_block(WasmSig *s) {
    WasmType type = s->i->type;
    WasmFrame f = {.block_type = type};
    if (!(type & WASM_REF_BIT) && (type & WASM_FUNC_TYPE_BIT)) {
        if (!wasm_sig_def(s, type & ~WASM_FUNC_TYPE_BIT, WASM_TYPE_FUNC))
            return false;
    } else if (!wasm_sig_type_exists(s, type)) {
        return false;
    }
    WasmTypeList params = wasm_frame_params(s->t->m, &f);
    signature_put_list(s->params, params);
    signature_put_list(s->results, params);
    if (s->i->op == WASM_OP_IF)
        wasm_sig_param(s, WASM_I32);
    return true;
}

/* One catch clause: the values that it pushes must fit its label, which is counted from outside the
 * try_table. */
static bool catch_clause(WasmSig *s, const WasmCatch *c) {
    static const char *const names[] = {"catch", "catch_ref", "catch_all", "catch_all_ref"};
    const WasmModule *m = s->t->m;
    WasmTypeList values = {NULL, 0}, label;
    if (c->kind < 2) {
        const WasmTypeDef *d = wasm_sig_tag(s, c->tag);
        if (!d)
            return false;
        values = (WasmTypeList){d->params, d->nparams};
    }
    if (!wasm_sig_label(s, c->label, &label))
        return false;
    bool ref = (c->kind & 1) != 0;
    if (values.len + ref != label.len)
        return wasm_sig_fail(s, "%s passes %u values, label %u expects %u", names[c->kind & 3],
                             values.len + ref, c->label, label.len);
    if (ref) {
        label.len--;
        if (!wasm_subtype(m, WASM_REF(0, WASM_HEAP(WASM_HEAP_EXN)), label.at[label.len]))
            return wasm_sig_fail(s, "%s passes a (ref exn), which label %u does not expect last",
                                 names[c->kind & 3], c->label);
    }
    if (!wasm_subtypes(m, values, label))
        return wasm_sig_fail(s, "the types of tag %u do not fit label %u", c->tag, c->label);
    return true;
}

static bool try_table(WasmSig *s) {
    if (!signature_block(s))
        return false;
    const uint8_t *at = s->i->vec;
    for (uint32_t k = 0; k < s->i->count; k++) {
        WasmCatch c = wasm_vec_catch(&at);
        if (!catch_clause(s, &c))
            return false;
    }
    return true;
}

/* else, catch, catch_all, delegate: they continue or close only certain constructs. */
static bool continues(WasmSig *s) {
    const WasmTyper *t = s->t;
    WasmOp op = (WasmOp)s->i->op, open = (WasmOp)vec_last(&t->frames).op;
    bool ok = op == WASM_OP_ELSE       ? open == WASM_OP_IF
              : op == WASM_OP_DELEGATE ? open == WASM_OP_TRY
                                       : open == WASM_OP_TRY || open == WASM_OP_CATCH;
    if (!ok)
        return wasm_sig_fail(s, "there is no open %s here", op == WASM_OP_ELSE ? "if" : "try");
    if (op == WASM_OP_DELEGATE && s->i->a >= t->frames.len - 1)
        return wasm_sig_fail(s, "label %u does not exist (there are %u)", s->i->a,
                             t->frames.len - 1);
    return true;
}

/* catch and throw: the tag's parameters. */
static bool tag(WasmSig *s, WasmTypes *to) {
    const WasmTypeDef *d = wasm_sig_tag(s, s->i->a);
    if (d)
        wasm_sig_put(to, d->params, d->nparams);
    return d != NULL;
}

static bool rethrow(WasmSig *s) {
    WasmTypeList unused;
    if (!wasm_sig_label(s, s->i->a, &unused))
        return false;
    uint16_t op = wasm_label(s->t, s->i->a)->op;
    if (op != WASM_OP_CATCH && op != WASM_OP_CATCH_ALL)
        return wasm_sig_fail(s, "label %u is not a catch", s->i->a);
    return true;
}

/* br, br_if, br_table: the (default) label's types, and the condition. */
static bool signature_branch(WasmSig *s) {
    WasmTypeList label;
    if (!wasm_sig_label(s, s->i->a, &label))
        return false;
    signature_put_list(s->params, label);
    if (s->i->op != WASM_OP_BR)
        wasm_sig_param(s, WASM_I32);
    if (s->i->op == WASM_OP_BR_IF)
        signature_put_list(s->results, label);
    return true;
}

/* A call of a function of this type, with whatever else it pops after the arguments. */
static bool signature_call_type(WasmSig *s, const WasmTypeDef *d, WasmType extra) {
    wasm_sig_put(s->params, d->params, d->nparams);
    if (extra != WASM_NONE)
        wasm_sig_param(s, extra);
    if (wasm_flow(s->i->op) != WASM_FLOW_TAIL_CALL) {
        wasm_sig_put(s->results, d->results, d->nresults);
        return true;
    }
    WasmTypeList own = wasm_frame_results(s->t->m, &s->t->frames.at[0]);
    return wasm_subtypes(s->t->m, (WasmTypeList){d->results, d->nresults}, own) ||
           wasm_sig_fail(s, "the callee's results are not those of the caller");
}

static bool signature_call(WasmSig *s) {
    const WasmModule *m = s->t->m;
    if (!wasm_sig_exists(s, "function", s->i->a, m->funcs.len))
        return false;
    const WasmTypeDef *d = wasm_sig_def(s, m->funcs.at[s->i->a].type, WASM_TYPE_FUNC);
    return d && signature_call_type(s, d, WASM_NONE);
}

static bool signature_call_indirect(WasmSig *s) {
    const WasmModule *m = s->t->m;
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_FUNC);
    if (!d || !table_exists(s, s->i->b))
        return false;
    char text[32];
    WasmType type = m->tables.at[s->i->b].type;
    if (!wasm_subtype(m, type, WASM_FUNCREF))
        return wasm_sig_fail(s, "expected a table of functions, table %u has %s", s->i->b,
                             wasm_type_words(type, text));
    return signature_call_type(s, d, wasm_table_address(m, s->i->b));
}

static bool call_ref(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_FUNC);
    return d && signature_call_type(s, d, WASM_REF(1, s->i->a));
}

static bool signature_control(WasmSig *s) {
    switch (s->i->op) {
    case WASM_OP_UNREACHABLE:
    case WASM_OP_END: return true;
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF:
    case WASM_OP_TRY: return signature_block(s);
    case WASM_OP_TRY_TABLE: return try_table(s);
    case WASM_OP_ELSE:
    case WASM_OP_CATCH_ALL:
    case WASM_OP_DELEGATE: return continues(s);
    case WASM_OP_CATCH: return continues(s) && tag(s, s->results);
    case WASM_OP_THROW: return tag(s, s->params);
    case WASM_OP_RETHROW: return rethrow(s);
    case WASM_OP_THROW_REF: wasm_sig_param(s, WASM_REF(1, WASM_HEAP(WASM_HEAP_EXN))); return true;
    case WASM_OP_BR:
    case WASM_OP_BR_IF:
    case WASM_OP_BR_TABLE: return signature_branch(s);
    case WASM_OP_RETURN:
        signature_put_list(s->params, wasm_frame_results(s->t->m, &s->t->frames.at[0]));
        return true;
    case WASM_OP_CALL:
    case WASM_OP_RETURN_CALL: return signature_call(s);
    case WASM_OP_CALL_INDIRECT:
    case WASM_OP_RETURN_CALL_INDIRECT: return signature_call_indirect(s);
    default: return call_ref(s);
    }
}

/* ---- drop, select ---- */

WasmType wasm_sig_operand(const WasmSig *s, uint32_t n) {
    const WasmTyper *t = s->t;
    const WasmFrame *f = &vec_last(&t->frames);
    if (t->stack.len - f->height > n)
        return t->stack.at[t->stack.len - 1 - n];
    return f->unreachable ? WASM_BOT : WASM_NONE;
}

static bool drop(WasmSig *s) {
    WasmType t = wasm_sig_operand(s, 0);
    wasm_sig_param(s, t == WASM_NONE ? WASM_BOT : t);
    return true;
}

static bool select_untyped(WasmSig *s) {
    WasmType a = wasm_sig_operand(s, 2), b = wasm_sig_operand(s, 1);
    if (WASM_IS_REF(a) || WASM_IS_REF(b))
        return wasm_sig_fail(s, "references need a select with a type");
    WasmType t = b == WASM_BOT || b == WASM_NONE ? a : b;
    if (t == WASM_NONE)
        t = WASM_BOT;
    wasm_sig_param(s, t);
    wasm_sig_param(s, t);
    wasm_sig_param(s, WASM_I32);
    wasm_sig_result(s, t);
    return true;
}

static bool select_typed(WasmSig *s) {
    if (s->i->count != 1)
        return wasm_sig_fail(s, "expected one type, found %u", s->i->count);
    WasmType t = s->i->type;
    if (!wasm_sig_type_exists(s, t))
        return false;
    wasm_sig_param(s, t);
    wasm_sig_param(s, t);
    wasm_sig_param(s, WASM_I32);
    wasm_sig_result(s, t);
    return true;
}

/* ---- variables ---- */

static bool local(WasmSig *s) {
    const WasmTyper *t = s->t;
    if (!wasm_sig_exists(s, "local", s->i->a, t->locals.len))
        return false;
    WasmType type = t->locals.at[s->i->a];
    if (s->i->op != WASM_OP_LOCAL_GET)
        wasm_sig_param(s, type);
    else if (t->tracks_inits && !t->local_init[s->i->a])
        return wasm_sig_fail(s, "local %u has no value yet", s->i->a);
    if (s->i->op != WASM_OP_LOCAL_SET)
        wasm_sig_result(s, type);
    return true;
}

static bool global(WasmSig *s) {
    const WasmModule *m = s->t->m;
    if (!wasm_sig_exists(s, "global", s->i->a, m->globals.len))
        return false;
    const WasmGlobal *g = &m->globals.at[s->i->a];
    if (s->i->op == WASM_OP_GLOBAL_GET) {
        wasm_sig_result(s, g->type);
        return true;
    }
    wasm_sig_param(s, g->type);
    return g->mutable || wasm_sig_fail(s, "global %u cannot be changed", s->i->a);
}

/* ---- memories and tables ---- */

/* Address or length that is good for both. */
static WasmType smaller(WasmType a, WasmType b) {
    return a == WASM_I64 && b == WASM_I64 ? WASM_I64 : WASM_I32;
}

static void three(WasmSig *s, WasmType a, WasmType b, WasmType c) {
    wasm_sig_param(s, a);
    wasm_sig_param(s, b);
    wasm_sig_param(s, c);
}

static bool memory(WasmSig *s) {
    const WasmModule *m = s->t->m;
    const WasmInstr *i = s->i;
    if (i->op == WASM_OP_DATA_DROP)
        return wasm_sig_data_exists(s, i->a);
    uint32_t first = i->op == WASM_OP_MEMORY_INIT ? i->b : i->a;
    if (!memory_exists(s, first))
        return false;
    WasmType address = wasm_memory_address(m, first);
    switch (i->op) {
    case WASM_OP_MEMORY_SIZE: wasm_sig_result(s, address); return true;
    case WASM_OP_MEMORY_GROW:
        wasm_sig_param(s, address);
        wasm_sig_result(s, address);
        return true;
    case WASM_OP_MEMORY_FILL: three(s, address, WASM_I32, address); return true;
    case WASM_OP_MEMORY_INIT:
        three(s, address, WASM_I32, WASM_I32);
        return wasm_sig_data_exists(s, i->a);
    default: { /* memory.copy */
        if (!memory_exists(s, i->b))
            return false;
        WasmType from = wasm_memory_address(m, i->b);
        three(s, address, from, smaller(address, from));
        return true;
    }
    }
}

static bool table_bulk(WasmSig *s, uint32_t table, WasmType address) {
    const WasmModule *m = s->t->m;
    const WasmInstr *i = s->i;
    if (i->op == WASM_OP_TABLE_INIT) {
        three(s, address, WASM_I32, WASM_I32);
        return wasm_sig_segment_fits(s, i->a, m->tables.at[table].type);
    }
    if (!table_exists(s, i->b))
        return false;
    WasmType from = wasm_table_address(m, i->b);
    three(s, address, from, smaller(address, from));
    return wasm_sig_elements_fit(s, m->tables.at[i->b].type, m->tables.at[table].type);
}

static bool table(WasmSig *s) {
    const WasmModule *m = s->t->m;
    const WasmInstr *i = s->i;
    if (i->op == WASM_OP_ELEM_DROP)
        return wasm_sig_elem_exists(s, i->a);
    uint32_t first = i->op == WASM_OP_TABLE_INIT ? i->b : i->a;
    if (!table_exists(s, first))
        return false;
    WasmType address = wasm_table_address(m, first), type = m->tables.at[first].type;
    switch (i->op) {
    case WASM_OP_TABLE_GET:
        wasm_sig_param(s, address);
        wasm_sig_result(s, type);
        return true;
    case WASM_OP_TABLE_SET:
        wasm_sig_param(s, address);
        wasm_sig_param(s, type);
        return true;
    case WASM_OP_TABLE_SIZE: wasm_sig_result(s, address); return true;
    case WASM_OP_TABLE_GROW:
        wasm_sig_param(s, type);
        wasm_sig_param(s, address);
        wasm_sig_result(s, address);
        return true;
    case WASM_OP_TABLE_FILL: three(s, address, type, address); return true;
    default: return table_bulk(s, first, address);
    }
}

/* ---- all ---- */

bool wasm_sig(WasmSig *s) {
    uint16_t op = s->i->op;
    if (wasm_simple_sig(op)->kind != WASM_SIG_OTHER)
        return simple(s);
    switch (op) {
    case WASM_OP_DROP: return drop(s);
    case WASM_OP_SELECT: return select_untyped(s);
    case WASM_OP_TYPED_SELECT: return select_typed(s);
    case WASM_OP_LOCAL_GET:
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE: return local(s);
    case WASM_OP_GLOBAL_GET:
    case WASM_OP_GLOBAL_SET: return global(s);
    case WASM_OP_TABLE_GET:
    case WASM_OP_TABLE_SET:
    case WASM_OP_TABLE_GROW:
    case WASM_OP_TABLE_SIZE:
    case WASM_OP_TABLE_FILL:
    case WASM_OP_TABLE_COPY:
    case WASM_OP_TABLE_INIT:
    case WASM_OP_ELEM_DROP: return table(s);
    case WASM_OP_MEMORY_SIZE:
    case WASM_OP_MEMORY_GROW:
    case WASM_OP_MEMORY_INIT:
    case WASM_OP_MEMORY_COPY:
    case WASM_OP_MEMORY_FILL:
    case WASM_OP_DATA_DROP: return memory(s);
    default: break;
    }
    if (wasm_is_of_stacks(op))
        return wasm_sig_cont(s);
    return (op >= WASM_OP_STRUCT_NEW && op <= WASM_OP_BR_ON_CAST_DESC_EQ_FAIL) ||
                   (op >= WASM_OP_REF_NULL && op <= WASM_OP_BR_ON_NON_NULL)
               ? wasm_sig_gc(s)
               : signature_control(s);
}
