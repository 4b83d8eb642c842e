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

/* Adds the stack as it is to the calling-context tree. */
static Ref sample(Body *b, const Expr *e) {
    BinaryenType i64 = binaryen.TypeInt64(), both[] = {i64, i64};
    Ref args[] = {gen_expr(b, e->args[0]), gen_expr(b, e->args[1])};
    if (b->options->stack_calls)
        return helper_call(b, HELPER_STACK_SAMPLE, args);
    return operation(b, STACK_SAMPLE, args, both, 2, binaryen.TypeNone());
}

static Ref set_interval(Body *b, const Expr *ns) {
    BinaryenType store[] = {binaryen.TypeInt32(), binaryen.TypeInt64()};
    Ref args[] = {const_i32(b, 0), gen_expr(b, ns)};
    return operation(b, STACK_SET_INTERVAL, args, store, 2, binaryen.TypeNone());
}

Ref gen_stack_call(Body *b, const Expr *e, const BundledFn *f) {
    bool runtime = b->options->stack_calls; /* the imported one keeps the stack */
    if (strcmp(f->name, "leave") == 0)
        return operation(b, STACK_LEAVE, NULL, NULL, 0, binaryen.TypeNone());
    if (strcmp(f->name, "outermost") == 0)
        return operation(b, STACK_OUTERMOST, NULL, NULL, 0, binaryen.TypeInt32());
    if (strcmp(f->name, "sample") == 0)
        return sample(b, e);
    if (strcmp(f->name, "tell") == 0 && !runtime)
        return operation(b, STACK_TELL, NULL, NULL, 0, binaryen.TypeNone());
    if (strcmp(f->name, "collect") == 0 && !runtime)
        return operation(b, STACK_COLLECT, NULL, NULL, 0, binaryen.TypeNone());
    if (strcmp(f->name, "every") == 0)
        return runtime ? binaryen.Drop(b->module, gen_expr(b, e->args[0]))
                       : set_interval(b, e->args[0]);
    return binaryen.Nop(b->module); /* frame, callee: rewrite/frames.h; share: storage/stack.h */
}
