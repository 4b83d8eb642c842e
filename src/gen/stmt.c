/*
 * gen/stmt.c - statements, bodies and calls of the script's functions.
 *
 * A map that is a local variable and never used as a whole is made when the body begins and given
 * back when it ends.
 */
#include "gen/expr.h"
#include "gen/template.h"

#include <assert.h>
#include <stdio.h>

/* ---- calls of functions ---- */

WasmType gen_result(const Type *type) {
    uint32_t n = type_leaves(type);
    return n == 1 ? gen_type(type_leaf(type, 0)) : WASM_NONE;
}

Ref gen_fn_call(Body *b, const Expr *e) {
    assert(e->nargs == e->fn->nparams);
    char name[32];
    hole_name(name, HOLE_FN, plan_fn_id(b->plan, b->variant, e->fn), WASM_I32);
    Refs args = {0};
    for (uint32_t i = 0; i < e->nargs; i++)
        gen_leaves(b, e->args[i], &args);
    Ref call = code_call(b->module, name, args.at, args.len, gen_result(e->fn->result));
    vec_free(&args);
    return e->fn->steps ? gen_steps_call(b, e->fn, call) : call;
}

/* ---- statements ---- */

/* A variable, or a field of one, that is counted up or down. */
static bool is_count(const Stmt *s) {
    bool step = s->kind == STMT_INC || s->kind == STMT_DEC;
    const Expr *e = s->target;
    return step && e->var && e->kind != EXPR_INDEX && type_is_integer(e->type);
}

bool gen_only_counts(const Block *block) {
    uint32_t n = 0;
    for (const Stmt *s = block->first; s; s = s->next, n++)
        if (s->kind == STMT_DECL ? s->var->storage == STORAGE_LOCAL : !is_count(s) || n == 8)
            return false;
    return true;
}

Ref gen_counts(Body *b, const Block *block, uint32_t condition, bool negate) {
    Refs code = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        if (s->kind == STMT_DECL)
            continue;
        Ref by = code_get(b->module, condition, WASM_I32);
        if (negate)
            by = code_op1(b->module, WASM_OP_I32_EQZ, by);
        vec_push(&code, gen_add(b, s->target, s->kind == STMT_INC ? OP_ADD : OP_SUB, by));
    }
    return gen_block_of(b, &code);
}

/* if (c) { x++; } else { y++; } as x += c, y += !c. */
static Ref gen_counting_if(Body *b, const Stmt *s, uint32_t arm) {
    uint32_t condition = gen_temp(b, WASM_I32);
    Refs code = {0};
    vec_push(&code, code_set(b->module, condition, gen_truth(b, s->arms[arm].cond)));
    for (uint32_t i = arm; i < s->narms; i++)
        vec_push(&code, gen_counts(b, &s->arms[i].body, condition, i > arm));
    return gen_block_of(b, &code);
}

static bool is_counting_if(const Stmt *s, uint32_t arm) {
    uint32_t n = s->narms - arm;
    return s->arms[arm].cond && gen_only_counts(&s->arms[arm].body) &&
           (n == 1 ||
            (n == 2 && !s->arms[arm + 1].cond && gen_only_counts(&s->arms[arm + 1].body)));
}

static Ref gen_if(Body *b, const Stmt *s, uint32_t arm) {
    if (arm == s->narms)
        return NULL;
    Tri decided = s->arms[arm].cond ? gen_decided(b, s->arms[arm].cond) : TRI_YES;
    if (decided != TRI_UNKNOWN)
        return decided == TRI_YES ? gen_block(b, &s->arms[arm].body) : gen_if(b, s, arm + 1);
    if (b->ops && is_counting_if(s, arm))
        return gen_counting_if(b, s, arm);
    Ref body = gen_block(b, &s->arms[arm].body);
    return code_if(b->module, gen_expr(b, s->arms[arm].cond), body, gen_if(b, s, arm + 1));
}

static Ref var_init(Body *b, const Var *v) {
    Refs leaves = {0};
    gen_leaves(b, v->init, &leaves);
    Ref r = gen_var_set(b, v, &leaves);
    vec_free(&leaves);
    return r;
}

/* A map that the body makes and frees. */
static bool is_own_map(const Var *v) {
    return v->type->kind == TYPE_MAP && v->storage == STORAGE_LOCAL && !v->param && !v->escapes;
}

/* The variables of a block start anew wherever it is executed, though only in a loop that may be
 * more than once. */
static Ref gen_decl(Body *b, const Var *v) {
    bool again = b->loop || v->loop, map = v->type->kind == TYPE_MAP;
    if (v->storage == STORAGE_SCRIPT && (!again || (map && !v->init)))
        return var_starts_constant(v) ? NULL : var_init(b, v);
    if (is_own_map(v))
        return b->loop ? helper_call(b, HELPER_MAP_CLEAR, (Ref[]){gen_var_get(b, v, 0)}) : NULL;
    if (v->storage != STORAGE_LOCAL && v->storage != STORAGE_SCRIPT)
        return NULL;
    if (v->init)
        return var_init(b, v);
    Refs zeros = {0};
    for (uint32_t i = 0; i < type_leaves(v->type); i++)
        vec_push(&zeros, v->type->kind == TYPE_MAP ? helper_call(b, HELPER_MAP_NEW, NULL)
                                                   : gen_zero(b, type_leaf(v->type, i)));
    Ref r = gen_var_set(b, v, &zeros);
    vec_free(&zeros);
    return r;
}

/* Wasm's return. */
static Ref gen_plain_return(Body *b, Ref value) {
    Refs code = {0}, exits = {0};
    gen_loop_exits(b, &exits);
    if (exits.len && value) {
        uint32_t local = gen_temp(b, value->type);
        WasmType type = value->type;
        vec_push(&code, code_set(b->module, local, value));
        value = code_get(b->module, local, type);
    }
    for (uint32_t i = 0; i < exits.len; i++)
        vec_push(&code, exits.at[i]);
    vec_free(&exits);
    Ref leave = code_return(b->module, value);
    if (!code.len)
        return leave;
    vec_push(&code, leave);
    return gen_block_of(b, &code);
}

/* Returns the values, which are as many as the result has leaves, or none. */
static Ref gen_return_leaves(Body *b, Refs leaves) {
    Refs code = {0};
    for (uint32_t i = 0; i < leaves.len; i++)
        vec_push(&code,
                 b->variant->alt.gives
                     ? hole_set(b, HOLE_GIVE, i, gen_type(type_leaf(b->result, i)), leaves.at[i])
                     : code_set(b->module, b->given + i, leaves.at[i]));
    vec_free(&leaves);
    gen_loop_exits(b, &code);
    vec_push(&code, code_branch(b->module, b->end_label, NULL));
    return gen_block_of(b, &code);
}

static Ref gen_return(Body *b, const Stmt *s) {
    if (!b->leaves)
        return gen_plain_return(b, s->value ? gen_expr(b, s->value) : NULL);
    Refs leaves = {0};
    if (s->value)
        gen_leaves(b, s->value, &leaves);
    return gen_return_leaves(b, leaves);
}

Ref gen_leave(Body *b) {
    Refs zeros = {0};
    for (uint32_t i = 0; i < type_leaves(b->result); i++)
        vec_push(&zeros, gen_zero(b, type_leaf(b->result, i)));
    if (b->leaves)
        return gen_return_leaves(b, zeros);
    Ref r = gen_plain_return(b, zeros.len ? zeros.at[0] : NULL);
    vec_free(&zeros);
    return r;
}

/* A call whose result is not wanted. */
static Ref gen_dropped(Body *b, const Expr *e) {
    Ref call = gen_expr(b, e);
    return call->type == WASM_NONE ? call : code_drop(b->module, call);
}

/* Annotated calls run at a time of their own; at script scope '@init' runs at start-up. */
static bool runs_here(const Body *b, const Expr *call) {
    return call->annotation == ANN_NONE || (call->annotation == ANN_INIT && !b->variant->probe);
}

/* Makes the maps of a block's own variables, or frees them. */
static void gen_own_maps(Body *b, const Stmt *block, bool make, Refs *code) {
    const Probe *p = b->variant->probe;
    for (uint32_t i = 0; p && i < p->nvars; i++) {
        if (p->vars[i]->within != block || !is_own_map(p->vars[i]))
            continue;
        uint32_t local = b->local_of[p->vars[i]->index];
        Ref map =
            make ? code_set(b->module, local, helper_call(b, HELPER_MAP_NEW, NULL))
                 : helper_call(b, HELPER_MAP_FREE, (Ref[]){code_get(b->module, local, WASM_I32)});
        vec_push(code, map);
    }
}

/* The locals of a block's own variables. */
static uint32_t *gen_own_locals(Body *b, const Stmt *block) {
    const Probe *p = b->variant->probe;
    uint32_t *local_of = mem_zalloc(sizeof *local_of * (p ? p->nvars + 1u : 1u));
    for (uint32_t i = 0; p && i < p->nvars; i++)
        if (p->vars[i]->within == block && p->vars[i]->storage == STORAGE_LOCAL)
            local_of[p->vars[i]->index] = gen_leaf_temps(b, p->vars[i]->type);
    return local_of;
}

/* An '@init' or '@exit' block; `return` and, in the latter, elements that are not there end it. */
static Ref gen_annotated(Body *b, const Stmt *s) {
    Body outer = *b;
    Refs code = {0};
    b->local_of = gen_own_locals(b, s);
    b->leaves = true;
    b->end_label = code_label(b->module);
    b->result = &type_unit;
    b->skip = s->annotation == ANN_EXIT ? b->end_label : 0;
    b->loop = NULL;
    gen_own_maps(b, s, true, &code);
    gen_steps_begin(b, &s->arms[0].body, &code);
    Ref inner = gen_block(b, &s->arms[0].body);
    vec_push(&code, code_block(b->module, b->end_label, &inner, 1));
    gen_own_maps(b, s, false, &code);
    free(b->local_of);
    b->local_of = outer.local_of;
    b->leaves = outer.leaves;
    b->end_label = outer.end_label;
    b->result = outer.result;
    b->skip = outer.skip;
    b->loop = outer.loop;
    b->budget = outer.budget;
    b->steps = outer.steps;
    return gen_block_of(b, &code);
}

static Ref gen_stmt(Body *b, const Stmt *s) {
    switch (s->kind) {
    case STMT_DECL: return gen_decl(b, s->var);
    case STMT_ASSIGN:
        return s->added && gen_has_tally(b, s->target)
                   ? gen_tally_add(b, s->target, s->value->op, s->added)
                   : gen_assign_stmt(b, s);
    case STMT_INC: return gen_step(b, s->target, OP_ADD);
    case STMT_DEC: return gen_step(b, s->target, OP_SUB);
    case STMT_RETURN: return gen_return(b, s);
    case STMT_IF: return gen_if(b, s, 0);
    case STMT_LOOP: return gen_loop(b, s);
    case STMT_BREAK:
    case STMT_CONTINUE: return gen_jump(b, s);
    case STMT_CALL: return runs_here(b, s->value) ? gen_dropped(b, s->value) : NULL;
    case STMT_ANNOTATED:
        return s->annotation == ANN_INIT && !b->variant->probe ? gen_annotated(b, s) : NULL;
    }
    return NULL;
}

Ref gen_block(Body *b, const Block *block) {
    Refs list = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        Ref r = gen_stmt(b, s);
        if (r)
            vec_push(&list, r);
    }
    return gen_block_of(b, &list);
}

Ref gen_shared_values(Body *b, Var *const *vars, uint32_t nvars) {
    Refs list = {0};
    for (uint32_t i = 0; i < nvars; i++)
        if (vars[i]->storage == STORAGE_SHARED && var_starts_dynamic(vars[i]))
            vec_push(&list, var_init(b, vars[i]));
    return gen_block_of(b, &list);
}

/* A call that is left out if it reads an element of a map that is not there. */
static Ref gen_exit_call(Body *b, const Expr *call) {
    b->skip = code_label(b->module);
    Ref inner = gen_dropped(b, call);
    Ref r = code_block(b->module, b->skip, &inner, 1);
    b->skip = 0;
    return r;
}

/* Whether a static condition leaves out an arm of an if, or (`others`) all arms after it; or the
 * body of a loop. */
static bool arm_is_off(Body *b, const Stmt *s, uint32_t arm, bool *others) {
    if (s->kind == STMT_LOOP)
        return *others || (s->arms[arm].cond && gen_decided(b, s->arms[arm].cond) == TRI_NO);
    Tri decided = s->arms[arm].cond ? gen_decided(b, s->arms[arm].cond) : TRI_YES;
    bool off = *others || decided == TRI_NO;
    *others |= decided == TRI_YES;
    return off;
}

/* `runs`: static conditions do not leave out the calls of the block. Its variables exist anyway. */
static Ref site_start(Body *b, const Block *block, bool runs) {
    Refs list = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        const Var *v = s->kind == STMT_DECL ? s->var : NULL;
        if (v && v->storage == STORAGE_UNSHARED && var_starts_dynamic(v))
            vec_push(&list, var_init(b, v));
        if (runs && s->kind == STMT_CALL && s->value->annotation == ANN_INIT)
            vec_push(&list, gen_dropped(b, s->value));
        if (runs && s->kind == STMT_ANNOTATED && s->annotation == ANN_INIT)
            vec_push(&list, gen_annotated(b, s));
        bool others = !runs;
        for (uint32_t i = 0; i < s->narms; i++)
            vec_push(&list, site_start(b, &s->arms[i].body, !arm_is_off(b, s, i, &others)));
    }
    return gen_block_of(b, &list);
}

Ref gen_site_start(Body *b, const Block *block) {
    return site_start(b, block, true);
}

Ref gen_exit_calls(Body *b, const Block *block) {
    Refs list = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        bool others = false;
        if (s->kind == STMT_CALL && s->value->annotation == ANN_EXIT)
            vec_push(&list, gen_exit_call(b, s->value));
        if (s->kind == STMT_ANNOTATED && s->annotation == ANN_EXIT)
            vec_push(&list, gen_annotated(b, s));
        for (uint32_t i = 0; i < s->narms && s->kind != STMT_ANNOTATED; i++) {
            if (arm_is_off(b, s, i, &others))
                continue;
            Ref inner = gen_exit_calls(b, &s->arms[i].body);
            if (inner)
                vec_push(&list, inner);
        }
    }
    return list.len ? gen_block_of(b, &list) : NULL;
}

/* ---- bodies ---- */

void gen_declare_locals(Body *b, Var *const *vars, uint32_t nvars) {
    uint32_t params = 0;
    b->local_of = mem_zalloc(sizeof *b->local_of * (nvars + 1u));
    for (uint32_t i = 0; i < nvars; i++) {
        uint32_t n = type_leaves(vars[i]->type);
        if (vars[i]->param) {
            b->local_of[vars[i]->index] = params;
            params += n;
        }
        if (vars[i]->storage != STORAGE_LOCAL || vars[i]->param)
            continue;
        b->local_of[vars[i]->index] = gen_leaf_temps(b, vars[i]->type);
    }
}

static bool has_return(const Block *block) {
    for (const Stmt *s = block->first; s; s = s->next) {
        if (s->kind == STMT_RETURN)
            return true;
        for (uint32_t i = 0; i < s->narms && s->kind == STMT_IF; i++)
            if (has_return(&s->arms[i].body))
                return true;
    }
    return false;
}

/* The results of a body that does not end with Wasm's `return`. */
static void stmt_give(Body *b, Refs *code) {
    uint32_t n = type_leaves(b->result);
    for (uint32_t i = 0; i < n && !b->variant->alt.gives; i++) {
        WasmType type = gen_type(type_leaf(b->result, i));
        Ref value = code_get(b->module, b->given + i, type);
        vec_push(code, n == 1 ? value : hole_set(b, HOLE_GIVE, i, type, value));
    }
}

Ref gen_body(Body *b, const Block *block, Var *const *vars, uint32_t nvars) {
    assert(b->local_of);
    uint32_t n = type_leaves(b->result);
    Refs code = {0};
    b->leaves = n > 1 || b->variant->alt.gives ||
                (b->part && (has_return(block) || gen_steps_leave(block)));
    if (!b->part)
        b->end_label = code_label(b->module);
    for (uint32_t i = 0; i < nvars; i++) {
        if (!is_own_map(vars[i]) || vars[i]->within)
            continue;
        b->leaves = true;
        vec_push(&code, code_set(b->module, b->local_of[vars[i]->index],
                                 helper_call(b, HELPER_MAP_NEW, NULL)));
    }
    gen_steps_begin(b, block, &code);
    if (b->leaves)
        b->given = gen_leaf_temps(b, b->result);
    Ref inner = gen_block(b, block);
    gen_steps_end(b);
    if (!b->leaves && !code.len) {
        vec_free(&code);
        return inner;
    }
    if (!b->leaves) {
        vec_push(&code, inner);
        return gen_block_of(b, &code);
    }
    vec_push(&code, code_block(b->module, b->end_label, &inner, 1));
    for (uint32_t i = 0; i < nvars; i++)
        if (is_own_map(vars[i]) && !vars[i]->within)
            vec_push(&code, helper_call(b, HELPER_MAP_FREE,
                                        (Ref[]){code_get(b->module, b->local_of[vars[i]->index],
                                                         WASM_I32)}));
    stmt_give(b, &code);
    return gen_block_of(b, &code);
}
