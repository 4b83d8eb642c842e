/*
 * gen/local.c - the locals of a function that is being made.
 *
 * Binaryen finds out which locals can share a slot, but the time it takes for that grows with the
 * square of their number. In bodies that have many already, statements take over the locals of
 * those before them.
 */
#include "gen/expr.h"

/* Locals of some types, one after the other, that a statement used. */
struct LocalRun {
    uint32_t first;
    uint32_t pool; /* index into Body.pools */
};

/* A body has many locals. */
enum { MANY_LOCALS = 300 };

/* The pool for runs of such types, empty if there was none. */
static uint32_t pool_for(Body *b, const BinaryenType *types, uint32_t n) {
    bool added;
    Str key = {(const char *)types, (uint32_t)(n * sizeof *types)};
    uint32_t pool = (uint32_t)*map_put(&b->pool_of, key, b->pools.len, &added);
    if (added)
        vec_add(&b->pools);
    return pool;
}

uint32_t gen_temps(Body *b, const BinaryenType *types, uint32_t n) {
    uint32_t first = b->nparams + b->locals.len;
    uint32_t pool = b->locals.len >= MANY_LOCALS ? pool_for(b, types, n) : UINT32_MAX;
    if (pool != UINT32_MAX && b->pools.at[pool].len)
        first = b->pools.at[pool].at[--b->pools.at[pool].len];
    else
        for (uint32_t i = 0; i < n; i++)
            vec_push(&b->locals, types[i]);
    if (pool != UINT32_MAX)
        vec_push(&b->lent, ((struct LocalRun){first, pool}));
    return first;
}

uint32_t gen_temp(Body *b, BinaryenType type) {
    return gen_temps(b, &type, 1);
}

uint32_t gen_leaf_temps(Body *b, const Type *t) {
    Vec(BinaryenType) types = {0};
    for (uint32_t i = 0; i < type_leaves(t); i++)
        vec_push(&types, gen_type(type_leaf(t, i)));
    uint32_t first = gen_temps(b, types.at, types.len);
    vec_free(&types);
    return first;
}

void gen_free_temps(Body *b, uint32_t from) {
    while (b->lent.len > from) {
        struct LocalRun run = b->lent.at[--b->lent.len];
        vec_push(&b->pools.at[run.pool], run.first);
    }
}

void body_free(Body *b) {
    vec_free(&b->locals);
    free(b->local_of);
    vec_free(&b->lent);
    for (uint32_t i = 0; i < b->pools.len; i++)
        vec_free(&b->pools.at[i]);
    vec_free(&b->pools);
    map_free(&b->pool_of);
}
