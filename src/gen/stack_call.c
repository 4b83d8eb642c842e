/*
 * gen/stack_call.c - calls of the bundled library `stack`, which become a few instructions each.
 */
#include "gen/expr.h"
#include "gen/template.h"

#include "../../stdlib/runtime/stack.h"

static Ref operation(Body *b, StackOp op, Ref *args, const BinaryenType *params, uint32_t n,
                     BinaryenType result) {
    Refs list = {.at = args, .len = n, .cap = n};
    return hole_call(b, HOLE_STACK, op, n ? &list : NULL, params, result);
}

static Ref get(Body *b, uint32_t local) {
    return BinaryenLocalGet(b->module, local, BinaryenTypeInt32());
}

static Ref set_top(Body *b, Ref bytes) {
    BinaryenType i32 = BinaryenTypeInt32(), store[] = {i32, i32};
    Ref args[] = {const_i32(b, 0), bytes};
    return operation(b, STACK_SET_TOP, args, store, 2, BinaryenTypeNone());
}

static Ref set_frame(Body *b, Ref at, Ref frame) {
    BinaryenType i32 = BinaryenTypeInt32(), store[] = {i32, i32};
    Ref args[] = {at, frame};
    return operation(b, STACK_SET_FRAME, args, store, 2, BinaryenTypeNone());
}

/* Stores the frame at the top, and gives its place. The top stays below a leaf. */
static Ref push(Body *b, const Expr *frame, bool leaf) {
    BinaryenModuleRef m = b->module;
    BinaryenType i32 = BinaryenTypeInt32();
    uint32_t at = gen_temp(b, i32);
    Ref zero = const_i32(b, 0), top = operation(b, STACK_GET_TOP, &zero, &i32, 1, i32);
    Ref place = BinaryenBinary(m, BinaryenAndInt32(), top, const_i32(b, STACK_MASK));
    Ref number = gen_expr(b, frame);
    if (leaf)
        number = BinaryenBinary(m, BinaryenOrInt32(), number, const_i32(b, STACK_LEAF));
    Refs all = {0};
    vec_push(&all, set_frame(b, BinaryenLocalTee(m, at, place, i32), number));
    if (!leaf)
        vec_push(&all, set_top(b, BinaryenBinary(m, BinaryenAddInt32(), get(b, at),
                                                 const_i32(b, STACK_STEP))));
    vec_push(&all, get(b, at));
    return gen_block_of(b, &all, i32);
}

/* Adds the stack as it is to the calling-context tree. */
static Ref sample(Body *b, const Expr *e) {
    BinaryenType i64 = BinaryenTypeInt64(), both[] = {i64, i64};
    Ref args[] = {gen_expr(b, e->args[0]), gen_expr(b, e->args[1])};
    return operation(b, STACK_SAMPLE, args, both, 2, BinaryenTypeNone());
}

static Ref set_interval(Body *b, const Expr *ns) {
    BinaryenType store[] = {BinaryenTypeInt32(), BinaryenTypeInt64()};
    Ref args[] = {const_i32(b, 0), gen_expr(b, ns)};
    return operation(b, STACK_SET_INTERVAL, args, store, 2, BinaryenTypeNone());
}

/* The same in an imported runtime, where leaves are nothing special. */
static Ref call_runtime(Body *b, const Expr *e, const char *name) {
    Ref args[] = {e->nargs > 0 ? gen_expr(b, e->args[0]) : NULL,
                  e->nargs > 1 ? gen_expr(b, e->args[1]) : NULL};
    if (strncmp(name, "push", 4) == 0)
        return helper_call(b, HELPER_STACK_PUSH, args);
    if (strncmp(name, "pop", 3) == 0)
        return helper_call(b, HELPER_STACK_POP, args);
    if (strcmp(name, "sample") == 0)
        return helper_call(b, HELPER_STACK_SAMPLE, args);
    return e->nargs ? BinaryenDrop(b->module, args[0]) : BinaryenNop(b->module); /* every */
}

Ref gen_stack_call(Body *b, const Expr *e, const BundledFn *f) {
    if (b->options->stack_calls)
        return call_runtime(b, e, f->name);
    if (strcmp(f->name, "push") == 0)
        return push(b, e->args[0], false);
    if (strcmp(f->name, "push_leaf") == 0)
        return push(b, e->args[0], true);
    if (strcmp(f->name, "pop") == 0)
        return set_top(b, gen_expr(b, e->args[0]));
    if (strcmp(f->name, "pop_leaf") == 0)
        return set_frame(b, gen_expr(b, e->args[0]), const_i32(b, 0));
    if (strcmp(f->name, "sample") == 0)
        return sample(b, e);
    if (strcmp(f->name, "tell") == 0)
        return operation(b, STACK_TELL, NULL, NULL, 0, BinaryenTypeNone());
    if (strcmp(f->name, "collect") == 0)
        return operation(b, STACK_COLLECT, NULL, NULL, 0, BinaryenTypeNone());
    if (strcmp(f->name, "every") == 0)
        return set_interval(b, e->args[0]);
    return BinaryenNop(b->module); /* share: the memory is (storage/stack.h) */
}
