/*
 * gen/stack.c - calls of the bundled library `stack`, which become a few instructions each.
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

static Ref set_top(Body *b, Ref address) {
    BinaryenType i32 = BinaryenTypeInt32();
    return operation(b, STACK_SET_TOP, &address, &i32, 1, BinaryenTypeNone());
}

/* Stores the frame at the top, and gives its address. `raise`: what is called goes above it. */
static Ref push(Body *b, const Expr *frame, bool raise) {
    BinaryenModuleRef m = b->module;
    BinaryenType i32 = BinaryenTypeInt32(), store[] = {i32, BinaryenTypeInt64()};
    uint32_t at = gen_temp(b, i32);
    Ref top = operation(b, STACK_TOP, NULL, NULL, 0, i32);
    Ref fits = BinaryenBinary(m, BinaryenLtUInt32(), get(b, at), const_i32(b, STACK_LAST));
    Ref place = BinaryenSelect(m, fits, get(b, at), const_i32(b, STACK_LAST), i32);
    Ref args[] = {BinaryenLocalTee(m, at, place, i32),
                  BinaryenUnary(m, BinaryenExtendUInt32(), gen_expr(b, frame))};
    Refs all = {0};
    vec_push(&all, BinaryenLocalSet(m, at, top));
    vec_push(&all, operation(b, STACK_PUT_FRAME, args, store, 2, BinaryenTypeNone()));
    if (raise)
        vec_push(&all, set_top(b, BinaryenBinary(m, BinaryenAddInt32(), get(b, at),
                                                 const_i32(b, STACK_STEP))));
    vec_push(&all, get(b, at));
    return gen_block_of(b, &all, i32);
}

static Ref pop(Body *b, const Expr *place, bool raised) {
    BinaryenModuleRef m = b->module;
    BinaryenType i32 = BinaryenTypeInt32(), store[] = {i32, i32};
    uint32_t at = gen_temp(b, i32);
    Ref args[] = {BinaryenLocalTee(m, at, gen_expr(b, place), i32), const_i32(b, 0)};
    Refs all = {0};
    vec_push(&all, operation(b, STACK_PUT_END, args, store, 2, BinaryenTypeNone()));
    if (raised)
        vec_push(&all, set_top(b, get(b, at)));
    return gen_block_of(b, &all, BinaryenTypeNone());
}

Ref gen_stack_call(Body *b, const Expr *e, const BundledFn *f) {
    BinaryenType i64 = BinaryenTypeInt64(), both[] = {i64, i64};
    if (strcmp(f->name, "push") == 0)
        return push(b, e->args[0], true);
    if (strcmp(f->name, "push_leaf") == 0)
        return push(b, e->args[0], false);
    if (strcmp(f->name, "pop") == 0)
        return pop(b, e->args[0], true);
    if (strcmp(f->name, "pop_leaf") == 0)
        return pop(b, e->args[0], false);
    if (strcmp(f->name, "sample") == 0) {
        Ref args[] = {gen_expr(b, e->args[0]), gen_expr(b, e->args[1])};
        return operation(b, STACK_SAMPLE, args, both, 2, BinaryenTypeNone());
    }
    if (strcmp(f->name, "collect") == 0)
        return operation(b, STACK_COLLECT, NULL, NULL, 0, BinaryenTypeNone());
    if (strcmp(f->name, "every") == 0) {
        BinaryenType store[] = {BinaryenTypeInt32(), i64};
        Ref args[] = {const_i32(b, STACK_INTERVAL), gen_expr(b, e->args[0])};
        return operation(b, STACK_PUT_FRAME, args, store, 2, BinaryenTypeNone());
    }
    return BinaryenNop(b->module); /* share: the memory is (storage/stack.h) */
}
