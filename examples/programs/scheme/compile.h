/*
 * compile.h - the tree between the two halves of the compiler: analyse.c makes it from forms,
 * emit.c makes code of it.
 */
#ifndef SCHEME_COMPILE_H
#define SCHEME_COMPILE_H

#include "vm.h"

typedef enum NodeKind {
    NODE_CONSTANT,
    NODE_LOCAL, /* a variable of this or an outer lambda */
    NODE_GLOBAL,
    NODE_SET_LOCAL,
    NODE_SET_GLOBAL,
    NODE_DEFINE,
    NODE_IF, /* kids: condition, then, else */
    NODE_OR, /* kids: the alternatives, at least two */
    NODE_LAMBDA,
    NODE_SEQUENCE,
    NODE_LET, /* kids: one per variable, then the body; `recursive`: the variables are visible in
                 all */
    NODE_CALL /* kids: the function, then the arguments */
} NodeKind;

typedef struct Variable {
    Value name;
    struct Lambda *owner;
    bool captured, assigned; /* both: its slot has a box */
    uint16_t slot;
} Variable;

typedef struct Node {
    NodeKind kind;
    bool recursive;
    uint32_t len;
    Value value;          /* CONSTANT; the symbol of GLOBAL, SET_GLOBAL, DEFINE */
    Variable *variable;   /* LOCAL, SET_LOCAL */
    Variable **variables; /* LET */
    struct Lambda *lambda;
    struct Node **kids;
} Node;

typedef struct Lambda {
    struct Lambda *outer;
    Value name;
    Variable **parameters;
    uint32_t required;
    bool rest;
    Node *body;
    Variable **free; /* variables of outer lambdas that this one or its inner ones use */
    uint32_t free_len, free_cap;
} Lambda;

/* Memory for one form's tree, freed at once. */
typedef struct Pool {
    struct PoolBlock *blocks;
    size_t used, size;
} Pool;

void *pool_new(Pool *p, size_t size); /* zeroed */
void pool_free(Pool *p);

/* The tree of a top-level form as the body of a lambda without parameters, or NULL (vm->condition
 * tells why). */
Lambda *analyse_form(Vm *vm, Pool *pool, Value form);

/* The code of a lambda, or FAILED. */
Value emit_lambda(Vm *vm, Lambda *lambda);

static inline bool is_boxed(const Variable *v) {
    return v->captured && v->assigned;
}

#endif
