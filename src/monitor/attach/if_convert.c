/*
 * monitor/attach/if_convert.c - probe functions that count under conditions.
 *
 * Monitors for engines add a condition, 0 or 1, to a count instead of branching on it, because
 * engines inline only straight-line code. Here a branch is cheaper than loading and storing a value
 * that does not change, so such code is converted:
 *
 *     A, A, load, CONDITION, extend, add, store
 *     becomes CONDITION, if, A, A, load, 1, add, store, end
 *
 * Consecutive counts with the same condition, or with its negation, share the branch.
 */
#include "monitor/attach/attach_code.h"

#include "wasm/emit.h"

#include <assert.h>

typedef Vec(WasmInstr) Instrs;

/* instrs[from..): where a count begins, its condition, and the end of its store. */
typedef struct Count {
    uint32_t from, condition, condition_end, end;
    bool wide;     /* of 64 bits */
    int64_t local; /* that holds the condition afterwards, -1 = none */
    bool negated;  /* the condition is local.get, i32.eqz */
    bool plain;    /* the condition is local.get */
} Count;

typedef struct Counter {
    const BindAddress *in_bounds;
    const uint8_t *body;
    Instrs instrs;
    Vec(uint8_t) is_condition; /* by local: it holds 0 or 1 */
    Buf *out;
} Counter;

static void if_convert_copy(const Counter *x, uint32_t from, uint32_t end) {
    for (uint32_t i = from; i < end; i++)
        buf_bytes(x->out, x->body + x->instrs.at[i].offset, x->instrs.at[i].size);
}

/* Instructions without effects but on locals. */
static bool if_convert_is_pure(const WasmInstr *i) {
    uint8_t category = wasm_ops[i->op].category;
    return (category == WASM_CAT_ARITH && !op_can_trap((WasmOp)i->op)) ||
           category == WASM_CAT_COMPARE || category == WASM_CAT_CONST ||
           i->op == WASM_OP_LOCAL_GET || i->op == WASM_OP_GLOBAL_GET;
}

/* How much higher the stack is after it. */
static int32_t growth(const WasmInstr *i) {
    if (i->op == WASM_OP_LOCAL_GET)
        return 1;
    if (i->op == WASM_OP_LOCAL_TEE)
        return 0;
    return (int32_t)strlen(wasm_ops[i->op].results) - (int32_t)strlen(wasm_ops[i->op].operands);
}

static bool same_access(const WasmInstr *a, const WasmInstr *b) {
    return a->b == b->b && a->c == b->c;
}

/* instrs[from..end) leave 0 or 1; fills c->local ... */
static bool is_condition(const Counter *x, uint32_t from, uint32_t end, Count *c) {
    const WasmInstr *list = x->instrs.at, *last = &list[end - 1];
    if (last->op == WASM_OP_LOCAL_TEE && end - 1 > from) {
        c->local = last->a;
        last--;
    }
    if (last->op == WASM_OP_LOCAL_GET && end - from == 1 && x->is_condition.at[last->a]) {
        c->plain = true;
        c->local = last->a;
        return true;
    }
    if (end - from == 2 && last->op == WASM_OP_I32_EQZ && list[from].op == WASM_OP_LOCAL_GET &&
        x->is_condition.at[list[from].a]) {
        c->negated = true;
        c->local = list[from].a;
    }
    return wasm_ops[last->op].category == WASM_CAT_COMPARE;
}

/* The end of the count, if it is instruction k: the extension or the addition. */
static bool adds(const Counter *x, uint32_t k, Count *c) {
    const WasmInstr *list = x->instrs.at, *load = &list[c->from + 2];
    uint32_t add = k + c->wide;
    if (c->wide && list[k].op != WASM_OP_I64_EXTEND_I32_U)
        return false;
    if (add + 1 >= x->instrs.len || list[add].op != (c->wide ? WASM_OP_I64_ADD : WASM_OP_I32_ADD) ||
        list[add + 1].op != (c->wide ? WASM_OP_I64_STORE : WASM_OP_I32_STORE) ||
        !same_access(load, &list[add + 1]))
        return false;
    c->condition_end = k;
    c->end = add + 2;
    return true;
}

/* A count begins at instruction `at`. */
static bool find_count(const Counter *x, uint32_t at, Count *c) {
    const WasmInstr *i = x->instrs.at + at;
    if (at + 6 > x->instrs.len || (i->op != WASM_OP_LOCAL_GET && i->op != WASM_OP_I32_CONST) ||
        i[1].op != i->op || i[1].a != i->a || i[1].c != i->c ||
        (i[2].op != WASM_OP_I64_LOAD && i[2].op != WASM_OP_I32_LOAD))
        return false;
    *c = (Count){.from = at, .condition = at + 3, .local = -1};
    c->wide = i[2].op == WASM_OP_I64_LOAD;
    if (!x->in_bounds->holds(x->in_bounds->ctx, i, &i[2], c->wide ? 8 : 4))
        return false;
    int32_t height = 0;
    for (uint32_t k = at + 3; k < x->instrs.len; k++) {
        if (height == 1 && adds(x, k, c))
            return is_condition(x, c->condition, k, c);
        const WasmInstr *next = &x->instrs.at[k];
        bool tee = next->op == WASM_OP_LOCAL_TEE && next->a != i->a;
        if (!tee && !if_convert_is_pure(next))
            return false;
        height += growth(next);
        if (height < 1)
            return false;
    }
    return false;
}

/* A, A, load, 1, add, store. */
static void emit_count(const Counter *x, const Count *c) {
    if_convert_copy(x, c->from, c->from + 3);
    emit(x->out, "%s.const 1", c->wide ? "i64" : "i32");
    if_convert_copy(x, c->condition_end + c->wide, c->end);
}

/* Follows which locals hold conditions. */
static void note_local(Counter *x, uint32_t k) {
    const WasmInstr *i = &x->instrs.at[k];
    if (i->op == WASM_OP_LOCAL_SET || i->op == WASM_OP_LOCAL_TEE)
        x->is_condition.at[i->a] =
            k > 0 && wasm_ops[x->instrs.at[k - 1].op].category == WASM_CAT_COMPARE;
}

/* A count and those after it that can share its branch. Returns where the last one ends. */
static uint32_t emit_branch(Counter *x, const Count *first) {
    Count next;
    uint32_t end = first->end;
    bool otherwise = false;
    if_convert_copy(x, first->condition, first->condition_end);
    for (uint32_t k = first->condition; k < first->condition_end; k++)
        note_local(x, k);
    emit(x->out, "if");
    emit_count(x, first);
    bool shares = first->local >= 0 && !first->negated;
    while (shares && find_count(x, end, &next) && next.local == first->local &&
           (next.negated || (next.plain && !otherwise))) {
        if (next.negated && !otherwise)
            emit(x->out, "else");
        otherwise |= next.negated;
        emit_count(x, &next);
        end = next.end;
    }
    emit(x->out, "end");
    return end;
}

static bool is_straight(const WasmInstr *i) {
    uint8_t category = wasm_ops[i->op].category;
    return category != WASM_CAT_CONTROL && category != WASM_CAT_EXN && i->op != WASM_OP_TRY_TABLE &&
           i->op != WASM_OP_UNREACHABLE && !wasm_has_labels(i);
}

bool bind_counts(const WasmModule *m, uint32_t func, const BindAddress *in_bounds, Buf *out) {
    assert(func < m->funcs.len);
    Counter x = {.in_bounds = in_bounds, .body = wasm_func_body(m, func), .out = out};
    WasmTypes locals = {0};
    const char *error;
    uint32_t first = wasm_func_locals(m, func, &locals, &error);
    WasmCode code = wasm_code(x.body, m->funcs.at[func].body_size, first);
    WasmInstr i;
    bool straight = true, any = false;
    while (straight && wasm_next(&code, &i)) {
        vec_push(&x.instrs, i);
        straight = is_straight(&i) || code.at == code.end; /* the function's end */
    }
    for (uint32_t k = 0; k < locals.len; k++)
        vec_push(&x.is_condition, 0);
    for (uint32_t k = 0; straight && k < x.instrs.len;) {
        Count c;
        if (find_count(&x, k, &c)) {
            any = true;
            k = emit_branch(&x, &c);
        } else {
            note_local(&x, k);
            if_convert_copy(&x, k, k + 1);
            k++;
        }
    }
    vec_free(&locals);
    vec_free(&x.instrs);
    vec_free(&x.is_condition);
    return any;
}
