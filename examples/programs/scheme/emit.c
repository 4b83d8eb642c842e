/*
 * emit.c - the second half of the compiler: trees to code.
 *
 * Each node leaves one value on the stack. The emitter knows how deep the stack is at each place,
 * so variables of LET live where their values were pushed.
 */
#include "compile.h"

#include <stdlib.h>

enum { MAX_CODE = 0xffff };

typedef struct Emitter {
    Vm *vm;
    Lambda *lambda;
    uint8_t *bytes;
    uint32_t len, cap;
    Value *constants;
    uint32_t constant_count, constant_cap;
    uint32_t depth, max_depth;
    bool failed;
} Emitter;

/* Global functions that are put into the code, if the name still has its first meaning. */
static const struct {
    const char *name;
    uint8_t arguments, op;
} inlined[] = {
    {"+", 2, OP_ADD},          {"-", 2, OP_SUBTRACT},
    {"*", 2, OP_MULTIPLY},     {"=", 2, OP_EQUAL},
    {"<", 2, OP_LESS},         {">", 2, OP_GREATER},
    {"<=", 2, OP_NOT_GREATER}, {">=", 2, OP_NOT_LESS},
    {"car", 1, OP_CAR},        {"cdr", 1, OP_CDR},
    {"cons", 2, OP_CONS},      {"null?", 1, OP_IS_NULL},
    {"pair?", 1, OP_IS_PAIR},  {"eq?", 2, OP_IS_EQ},
    {"not", 1, OP_NOT},        {"vector-ref", 2, OP_VECTOR_REF},
};

static void emit(Emitter *e, Node *n, bool tail);

static void put(Emitter *e, uint8_t byte) {
    if (e->len == e->cap) {
        uint32_t cap = e->cap * 2 + 64;
        uint8_t *bytes = cap > MAX_CODE * 2 ? NULL : realloc(e->bytes, cap);
        if (!bytes) {
            e->failed = true;
            return;
        }
        e->bytes = bytes;
        e->cap = cap;
    }
    e->bytes[e->len++] = byte;
}

static void put16(Emitter *e, uint32_t v) {
    e->failed |= v > MAX_CODE;
    put(e, (uint8_t)v);
    put(e, (uint8_t)(v >> 8));
}

static void put_op(Emitter *e, Op op, uint32_t operand) {
    put(e, (uint8_t)op);
    put16(e, operand);
}

static void deeper(Emitter *e, int32_t by) {
    e->depth = (uint32_t)((int32_t)e->depth + by);
    if (e->depth > e->max_depth)
        e->max_depth = e->depth;
}

static uint32_t add_constant(Emitter *e, Value v) {
    for (uint32_t i = 0; i < e->constant_count; i++)
        if (e->constants[i] == v)
            return i;
    if (e->constant_count == e->constant_cap) {
        uint32_t cap = e->constant_cap * 2 + 8;
        Value *constants = realloc(e->constants, cap * sizeof *constants);
        if (!constants) {
            e->failed = true;
            return 0;
        }
        e->constants = constants;
        e->constant_cap = cap;
    }
    e->constants[e->constant_count] = v;
    return e->constant_count++;
}

/* A jump whose target is not known yet; patch() sets it to the present place. */
static uint32_t put_jump(Emitter *e, Op op) {
    put_op(e, op, 0);
    return e->len - 2;
}

static void patch(Emitter *e, uint32_t at) {
    if (e->failed || e->len > MAX_CODE) {
        e->failed = true;
        return;
    }
    e->bytes[at] = (uint8_t)e->len;
    e->bytes[at + 1] = (uint8_t)(e->len >> 8);
}

static uint32_t free_index(const Lambda *l, const Variable *v) {
    uint32_t i = 0;
    while (l->free[i] != v)
        i++;
    return i;
}

static void emit_read(Emitter *e, const Variable *v) {
    bool local = v->owner == e->lambda;
    Op op = local         ? (is_boxed(v) ? OP_LOCAL_BOXED : OP_LOCAL)
            : is_boxed(v) ? OP_FREE_BOXED
                          : OP_FREE;
    put_op(e, op, local ? v->slot : free_index(e->lambda, v));
    deeper(e, 1);
}

/* Stores the top of the stack. */
static void emit_write(Emitter *e, const Variable *v) {
    if (v->owner == e->lambda)
        put_op(e, is_boxed(v) ? OP_SET_LOCAL_BOXED : OP_SET_LOCAL, v->slot);
    else
        put_op(e, OP_SET_FREE_BOXED, free_index(e->lambda, v));
    deeper(e, -1);
}

static void emit_constant(Emitter *e, Value v) {
    if (v == UNSPECIFIED)
        put(e, OP_UNSPECIFIED);
    else if (is_int(v) && as_int(v) >= 0 && as_int(v) < 0x8000)
        put_op(e, OP_INT, (uint32_t)as_int(v));
    else
        put_op(e, OP_CONST, add_constant(e, v));
    deeper(e, 1);
}

static void emit_if(Emitter *e, Node *n, bool tail) {
    emit(e, n->kids[0], false);
    uint32_t otherwise = put_jump(e, OP_JUMP_IF_FALSE);
    deeper(e, -1);
    emit(e, n->kids[1], tail);
    uint32_t end = tail ? 0 : put_jump(e, OP_JUMP);
    deeper(e, -1);
    patch(e, otherwise);
    emit(e, n->kids[2], tail);
    if (!tail)
        patch(e, end);
}

static void emit_or(Emitter *e, Node *n, bool tail) {
    uint32_t *ends = calloc(n->len, sizeof *ends);
    if (!ends) {
        e->failed = true;
        return;
    }
    for (uint32_t i = 0; i + 1 < n->len; i++) {
        emit(e, n->kids[i], false);
        ends[i] = put_jump(e, OP_JUMP_OR_POP);
        deeper(e, -1);
    }
    emit(e, n->kids[n->len - 1], tail);
    for (uint32_t i = 0; i + 1 < n->len; i++)
        patch(e, ends[i]);
    if (tail)
        put(e, OP_RETURN);
    free(ends);
}

static void emit_sequence(Emitter *e, Node *n, bool tail) {
    for (uint32_t i = 0; i + 1 < n->len; i++) {
        emit(e, n->kids[i], false);
        put(e, OP_POP);
        deeper(e, -1);
    }
    emit(e, n->kids[n->len - 1], tail);
}

static void emit_let(Emitter *e, Node *n, bool tail) {
    uint32_t count = n->len - 1;
    for (uint32_t i = 0; i < count; i++) {
        Variable *v = n->variables[i];
        v->slot = (uint16_t)e->depth;
        if (n->recursive) {
            put(e, OP_UNBOUND);
            deeper(e, 1);
        } else {
            emit(e, n->kids[i], false);
        }
        if (is_boxed(v))
            put_op(e, OP_BOX, v->slot);
    }
    for (uint32_t i = 0; n->recursive && i < count; i++) {
        emit(e, n->kids[i], false);
        emit_write(e, n->variables[i]);
    }
    emit(e, n->kids[count], tail);
    if (!tail && count)
        put_op(e, OP_SLIDE, count);
    deeper(e, -(int32_t)count);
}

static void emit_closure(Emitter *e, Lambda *l) {
    Value code = emit_lambda(e->vm, l);
    if (code == FAILED) {
        e->failed = true;
        return;
    }
    put_op(e, OP_CLOSURE, add_constant(e, code));
    put16(e, l->free_len);
    for (uint32_t i = 0; i < l->free_len; i++) {
        Variable *v = l->free[i];
        bool local = v->owner == e->lambda;
        put(e, local);
        put16(e, local ? v->slot : free_index(e->lambda, v));
    }
    deeper(e, 1);
}

/* The instruction that does what the call of a global function would do, or OP_COUNT. */
static Op find_inlined(const Node *call) {
    Node *callee = call->kids[0];
    if (callee->kind != NODE_GLOBAL || !is_type(AS(Symbol, callee->value)->global, TYPE_BUILTIN))
        return OP_COUNT;
    const char *name = AS(Builtin, AS(Symbol, callee->value)->global)->name;
    for (size_t i = 0; i < sizeof inlined / sizeof *inlined; i++)
        if (inlined[i].arguments == call->len - 1 && strcmp(inlined[i].name, name) == 0)
            return (Op)inlined[i].op;
    return OP_COUNT;
}

static void emit_call(Emitter *e, Node *n, bool tail) {
    Op op = find_inlined(n);
    for (uint32_t i = op != OP_COUNT; i < n->len; i++)
        emit(e, n->kids[i], false);
    if (op != OP_COUNT)
        put(e, (uint8_t)op);
    else
        put_op(e, tail ? OP_TAIL_CALL : OP_CALL, n->len - 1);
    deeper(e, 1 - (int32_t)(n->len - (op != OP_COUNT)));
    if (tail)
        put(e, OP_RETURN); /* after a tail call too: a built-in function comes back here */
}

static void emit_plain(Emitter *e, Node *n) {
    switch (n->kind) {
    case NODE_CONSTANT: emit_constant(e, n->value); break;
    case NODE_LOCAL: emit_read(e, n->variable); break;
    case NODE_GLOBAL:
        put_op(e, OP_GLOBAL, add_constant(e, n->value));
        deeper(e, 1);
        break;
    case NODE_LAMBDA: emit_closure(e, n->lambda); break;
    default:
        emit(e, n->kids[0], false);
        if (n->kind == NODE_SET_LOCAL) {
            emit_write(e, n->variable);
        } else {
            put_op(e, n->kind == NODE_DEFINE ? OP_DEFINE : OP_SET_GLOBAL,
                   add_constant(e, n->value));
            deeper(e, -1);
        }
        emit_constant(e, UNSPECIFIED);
        break;
    }
}

static void emit(Emitter *e, Node *n, bool tail) {
    if (e->failed)
        return;
    switch (n->kind) {
    case NODE_IF: emit_if(e, n, tail); break;
    case NODE_OR: emit_or(e, n, tail); break;
    case NODE_SEQUENCE: emit_sequence(e, n, tail); break;
    case NODE_LET: emit_let(e, n, tail); break;
    case NODE_CALL: emit_call(e, n, tail); break;
    default:
        emit_plain(e, n);
        if (tail)
            put(e, OP_RETURN);
        break;
    }
}

static Value finish(Emitter *e) {
    Heap *h = &e->vm->heap;
    Value constants = vector_new(h, e->constant_count, FALSE);
    for (uint32_t i = 0; i < e->constant_count; i++)
        AS(Vector, constants)->at[i] = e->constants[i];
    Code *code = heap_new(h, TYPE_CODE, sizeof *code + e->len);
    code->name = e->lambda->name;
    code->constants = constants;
    code->len = e->len;
    code->required = (uint16_t)e->lambda->required;
    code->rest = e->lambda->rest;
    code->locals = (uint16_t)e->max_depth;
    memcpy(code->bytes, e->bytes, e->len);
    return from_object(code);
}

Value emit_lambda(Vm *vm, Lambda *l) {
    uint32_t parameters = l->required + l->rest;
    Emitter e = {.vm = vm, .lambda = l, .depth = parameters, .max_depth = parameters};
    for (uint32_t i = 0; i < parameters; i++)
        if (is_boxed(l->parameters[i]))
            put_op(&e, OP_BOX, i);
    emit(&e, l->body, true);
    Value code = FAILED;
    if (e.failed || e.max_depth > MAX_CODE)
        vm_fail(vm, "a function is too large", l->name, UNBOUND);
    else
        code = finish(&e);
    free(e.bytes);
    free(e.constants);
    return code;
}

Value compile_form(Vm *vm, Value form) {
    Pool pool = {0};
    Lambda *top = analyse_form(vm, &pool, form);
    Value code = top ? emit_lambda(vm, top) : FAILED;
    pool_free(&pool);
    if (code == FAILED)
        return FAILED;
    Closure *closure = heap_new(&vm->heap, TYPE_CLOSURE, sizeof *closure);
    closure->code = AS(Code, code);
    return from_object(closure);
}
