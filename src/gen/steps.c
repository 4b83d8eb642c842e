/*
 * gen/steps.c - loops, and what they and recursive functions take: steps (check/check_steps.c).
 *
 * A body counts down the steps that are left of its budget, in a local, or, if it calls functions
 * that take steps, in a variable of the script, where the functions count, too. Where none is left
 * the body is left: a function sets the variable to EXHAUSTED first, which each caller looks at
 * after the call, and returns zeros.
 */
#include "gen/expr.h"

#include <assert.h>

enum { MAX_DEPTH = 1000 }; /* of recursive calls */
static const uint32_t EXHAUSTED = UINT32_MAX;

typedef struct LoopLabels {
    uint32_t end, next;
    const struct LoopLabels *outer;
    const Var *keys; /* of the map over which it goes; NULL = over none */
} LoopLabels;

static const Script *gen_script_of(const Body *b) {
    return b->plan->scripts.at[b->variant->script];
}

static Ref var_set(Body *b, const Var *v, Ref value) {
    Refs leaves = {0};
    vec_push(&leaves, value);
    Ref r = gen_var_set(b, v, &leaves);
    vec_free(&leaves);
    return r;
}

static Ref var_add(Body *b, const Var *v, uint32_t n) {
    return var_set(b, v,
                   code_op2(b->module, WASM_OP_I32_ADD, gen_var_get(b, v, 0), const_i32(b, n)));
}

/* ---- the end of a budget ---- */

static Ref count_stop(Body *b) {
    const Probe *p = b->variant->probe;
    return var_add(b, p ? p->stopped : gen_script_of(b)->counts.stopped, 1);
}

/* Too many steps were taken, in this body or, if the variable tells that already, by its callee. */
static Ref gen_give_up(Body *b, bool told) {
    Refs code = {0};
    if (b->budget != BUDGET_FN)
        vec_push(&code, count_stop(b));
    else if (!told)
        vec_push(&code, var_set(b, gen_script_of(b)->counts.steps, const_i32(b, EXHAUSTED)));
    if (b->budget != BUDGET_CALLS)
        vec_push(&code, gen_leave(b));
    return gen_block_of(b, &code);
}

static bool counts_in_local(const Body *b) {
    return b->budget == BUDGET_BODY && b->steps != UINT32_MAX;
}

static Ref steps_get(Body *b) {
    return counts_in_local(b) ? code_get(b->module, b->steps, WASM_I32)
                              : gen_var_get(b, gen_script_of(b)->counts.steps, 0);
}

static Ref steps_set(Body *b, Ref value) {
    return counts_in_local(b) ? code_set(b->module, b->steps, value)
                              : var_set(b, gen_script_of(b)->counts.steps, value);
}

static void take_step(Body *b, Refs *code) {
    Ref none = code_op1(b->module, WASM_OP_I32_EQZ, steps_get(b));
    Ref rest = code_op2(b->module, WASM_OP_I32_SUB, steps_get(b), const_i32(b, 1));
    vec_push(code, code_if(b->module, none, gen_give_up(b, false), NULL));
    vec_push(code, steps_set(b, rest));
}

static void start_budget(Body *b, Refs *code) {
    vec_push(code, steps_set(b, const_i32(b, b->plan->steps)));
    if (!counts_in_local(b))
        vec_push(code, var_set(b, gen_script_of(b)->counts.depth, const_i32(b, 0)));
}

bool gen_steps_leave(const Block *block) {
    return ast_block_loops(*block) || ast_block_calls_steps(*block);
}

void gen_steps_begin(Body *b, const Block *block, Refs *code) {
    bool calls = ast_block_calls_steps(*block);
    b->budget = b->fn ? BUDGET_FN : BUDGET_BODY;
    b->steps = UINT32_MAX;
    if (b->fn || !(calls || ast_block_loops(*block)))
        return;
    if (!calls)
        b->steps = gen_temp(b, WASM_I32);
    start_budget(b, code);
}

void gen_steps_end(Body *b) {
    b->budget = BUDGET_CALLS;
}

/* ---- calls ---- */

Ref gen_steps_call(Body *b, const Fn *fn, Ref call) {
    const Var *depth = gen_script_of(b)->counts.depth;
    Refs code = {0};
    bool value = call->type != WASM_NONE, deeper = fn->recursive && b->budget != BUDGET_CALLS;
    uint32_t result = value ? gen_temp(b, call->type) : 0;
    if (b->budget == BUDGET_CALLS)
        start_budget(b, &code);
    if (deeper) {
        take_step(b, &code);
        vec_push(&code, var_add(b, depth, 1));
        Ref too_deep = code_op2(b->module, WASM_OP_I32_GT_U, gen_var_get(b, depth, 0),
                                const_i32(b, MAX_DEPTH));
        vec_push(&code, code_if(b->module, too_deep, gen_give_up(b, false), NULL));
    }
    vec_push(&code, value ? code_set(b->module, result, call) : call);
    if (deeper)
        vec_push(&code, var_add(b, depth, UINT32_MAX));
    Ref exhausted =
        code_op2(b->module, WASM_OP_I32_EQ, gen_var_get(b, gen_script_of(b)->counts.steps, 0),
                 const_i32(b, EXHAUSTED));
    vec_push(&code, code_if(b->module, exhausted, gen_give_up(b, true), NULL));
    if (value)
        vec_push(&code, code_get(b->module, result, call->type));
    return gen_block_of(b, &code);
}

/* ---- loops ---- */

Ref gen_jump(Body *b, const Stmt *s) {
    assert(b->loop);
    return code_branch(b->module, s->kind == STMT_BREAK ? b->loop->end : b->loop->next, NULL);
}

static Ref free_keys(Body *b, const Var *keys) {
    return helper_call(b, HELPER_KEYS_FREE, (Ref[]){gen_var_get(b, keys, 0)});
}

void gen_loop_exits(Body *b, Refs *code) {
    for (const LoopLabels *l = b->loop; l; l = l->outer)
        if (l->keys)
            vec_push(code, free_keys(b, l->keys));
}

/* The variable of the keys. */
static const Var *loop_keys_of(const Stmt *loop) {
    for (const Stmt *s = loop->arms[LOOP_INIT].body.first; s; s = s->next)
        if (s->var->init->kind == EXPR_METHOD && s->var->init->method == MAP_KEYS)
            return s->var;
    return NULL;
}

Ref gen_loop(Body *b, const Stmt *s) {
    assert(s->kind == STMT_LOOP && s->narms == LOOP_ARMS);
    const IfArm *arms = s->arms;
    const LoopLabels *outer = b->loop;
    LoopLabels labels = {code_label(b->module), code_label(b->module), outer, loop_keys_of(s)};
    uint32_t again = code_label(b->module);
    Refs code = {0}, loop = {0};
    vec_push(&code, gen_block(b, &arms[LOOP_INIT].body));
    Tri decided = gen_decided(b, arms[LOOP_BODY].cond);
    if (decided == TRI_NO)
        return gen_block_of(b, &code);
    b->loop = &labels;
    if (decided == TRI_UNKNOWN) {
        Ref ends = code_op1(b->module, WASM_OP_I32_EQZ, gen_truth(b, arms[LOOP_BODY].cond));
        vec_push(&loop, code_branch(b->module, labels.end, ends));
    }
    take_step(b, &loop);
    Ref body = gen_block(b, &arms[LOOP_BODY].body);
    vec_push(&loop, code_block(b->module, labels.next, &body, 1));
    vec_push(&loop, gen_block(b, &arms[LOOP_STEP].body));
    vec_push(&loop, code_branch(b->module, again, NULL));
    b->loop = outer;
    Ref whole = code_loop(b->module, again, gen_block_of(b, &loop));
    vec_push(&code, code_block(b->module, labels.end, &whole, 1));
    if (labels.keys)
        vec_push(&code, free_keys(b, labels.keys));
    return gen_block_of(b, &code);
}
