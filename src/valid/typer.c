/*
 * valid/typer.c - the operand stack and the open constructs of one function body, instruction by
 * instruction.
 *
 * An instruction is checked in three steps: its signature (signature.c), its operands popped, and
 * its results pushed or its effect on the open constructs. Instructions with fixed types take a
 * short way. This file is compiled into the runtime of monitors, too.
 */
#include "valid/typer.h"
#include "valid/signature.h"
#include "valid/subtype.h"

/* ---- the stack ---- */

WasmType wasm_typer_operand(const WasmTyper *t, uint32_t n) {
    if (!t->frames.len)
        return WASM_NONE;
    const WasmFrame *f = &vec_last(&t->frames);
    if (t->stack.len - f->height > n) {
        WasmType type = t->stack.at[t->stack.len - 1 - n];
        return type == WASM_BOT_REF ? WASM_BOT : type;
    }
    return f->unreachable ? WASM_BOT : WASM_NONE;
}

/* "expected i32 on top of the stack, found f64" */
static bool mismatch(WasmTyper *t, const WasmInstr *i, WasmType want, WasmType have,
                     uint32_t depth) {
    char a[32], b[32];
    if (depth)
        return wasm_typer_fail(t, i, "expected %s %u below the top of the stack, found %s",
                               wasm_type_words(want, a), depth, wasm_type_words(have, b));
    return wasm_typer_fail(t, i, "expected %s on top of the stack, found %s",
                           wasm_type_words(want, a), wasm_type_words(have, b));
}

/* The operand `depth` below the top is of type want. */
static inline bool check_operand(WasmTyper *t, const WasmInstr *i, WasmType want, uint32_t depth) {
    const WasmFrame *f = &vec_last(&t->frames);
    if (t->stack.len - f->height > depth) {
        WasmType have = t->stack.at[t->stack.len - 1 - depth];
        if (have == want || want == WASM_BOT || wasm_subtype(t->m, have, want))
            return true;
        return mismatch(t, i, want, have, depth);
    }
    return f->unreachable || mismatch(t, i, want, WASM_NONE, depth);
}

/* Checks operands from `depth` below the top downwards: types in order, deepest first. */
static bool typer_check_operands(WasmTyper *t, const WasmInstr *i, WasmTypeList types,
                                 uint32_t depth) {
    for (uint32_t k = types.len; k-- > 0; depth++)
        if (!check_operand(t, i, types.at[k], depth))
            return false;
    return true;
}

static inline void drop_operands(WasmTyper *t, uint32_t n) {
    uint32_t have = t->stack.len - vec_last(&t->frames).height;
    t->stack.len -= have < n ? have : n;
}

static bool push_all(WasmTyper *t, const WasmInstr *i, WasmTypeList types) {
    if (types.len == 0)
        return true;
    if (t->stack.len > WASM_MAX_STACK)
        return wasm_typer_fail(t, i, "more than %d operands on the stack", WASM_MAX_STACK);
    vec_reserve(&t->stack, types.len);
    memcpy(t->stack.at + t->stack.len, types.at, types.len * sizeof *types.at);
    t->stack.len += types.len;
    return true;
}

/* ---- constructs ---- */

static void typer_push_frame(WasmTyper *t, const WasmInstr *i) {
    wasm_open_frame(t, i->op, i->type, t->stack.len, i->offset);
}

static void unreachable(WasmTyper *t) {
    WasmFrame *f = &vec_last(&t->frames);
    f->unreachable = true;
    t->stack.len = f->height;
}

static void set_local(WasmTyper *t, uint32_t local) {
    if (t->local_init[local])
        return;
    t->local_init[local] = 1;
    vec_push(&t->inits, local);
}

/* The locals set since the construct began have no value any more. */
static void reset_inits(WasmTyper *t, uint32_t to) {
    while (t->inits.len > to)
        t->local_init[t->inits.at[--t->inits.len]] = 0;
}

/* The open construct's (or its part's) results lie on the stack, and nothing else. */
static bool check_finished(WasmTyper *t, const WasmInstr *i) {
    const WasmFrame *f = &vec_last(&t->frames);
    WasmTypeList results = wasm_frame_results(t->m, f);
    if (!typer_check_operands(t, i, results, 0))
        return false;
    uint32_t have = t->stack.len - f->height;
    if (have <= results.len)
        return true;
    char text[32];
    return wasm_typer_fail(t, i, "%u operand%s too many on the stack (%s%s)", have - results.len,
                           have - results.len == 1 ? "" : "s",
                           wasm_type_words(t->stack.at[t->stack.len - 1 - results.len], text),
                           results.len ? " below the results" : "");
}

/* `else`, `catch`, `catch_all`: the next part of a construct. */
static bool typer_next_part(WasmTyper *t, const WasmInstr *i, WasmTypeList start) {
    if (!check_finished(t, i))
        return false;
    WasmFrame *f = &vec_last(&t->frames);
    t->stack.len = f->height;
    reset_inits(t, f->inits);
    f->op = i->op;
    f->unreachable = false;
    return push_all(t, i, start);
}

static bool typer_end(WasmTyper *t, const WasmInstr *i) {
    if (!check_finished(t, i))
        return false;
    WasmFrame f = vec_last(&t->frames);
    WasmTypeList results = wasm_frame_results(t->m, &f);
    if (f.op == WASM_OP_IF && !wasm_subtypes(t->m, wasm_frame_params(t->m, &f), results))
        return wasm_typer_fail(
            t, i, "an if without else must have results of the types of its parameters");
    t->stack.len = f.height;
    reset_inits(t, f.inits);
    t->frames.len--;
    return push_all(t, i, results);
}

/* All labels of a br_table take as many operands, of types that are there. */
static bool check_br_table(WasmTyper *t, const WasmInstr *i) {
    uint32_t arity = t->params.len - 1, last = i->a;
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        uint32_t depth = wasm_vec_u32(&at);
        if (depth == last)
            continue;
        last = depth;
        if (depth >= t->frames.len)
            return wasm_typer_fail(t, i, "label %u does not exist (there are %u)", depth,
                                   t->frames.len);
        WasmTypeList label = wasm_frame_label(t->m, wasm_label(t, depth));
        if (label.len != arity)
            return wasm_typer_fail(t, i, "label %u expects %u operands, the default label %u",
                                   depth, label.len, arity);
        if (!typer_check_operands(t, i, label, 1))
            return false;
    }
    return true;
}

/* ---- steps ---- */

/* The memory argument is as most are; otherwise the long check tells. */
static inline bool plain_memarg(const WasmTyper *t, const WasmInstr *i, const WasmSimpleSig *g) {
    return g->kind == WASM_SIG_MEMORY && i->a == g->align && i->b < t->m->memories.len &&
           i->c <= UINT32_MAX;
}

/* Instructions whose types are fixed, but perhaps for the address. */
static inline bool step_simple(WasmTyper *t, const WasmInstr *i, const WasmSimpleSig *g) {
    WasmType address = 0;
    if (g->kind != WASM_SIG_SIMPLE) {
        WasmSig s = {t, i, NULL, NULL, t->error};
        if (!plain_memarg(t, i, g) && !wasm_sig_check_simple(&s)) {
            t->error_offset = i->offset;
            return false;
        }
        if (g->nparams && g->params[0] == 0)
            address = wasm_memory_address(t->m, i->b);
    }
    for (uint32_t k = 0; k < g->nparams; k++) {
        WasmType want = g->params[g->nparams - 1 - k];
        if (!check_operand(t, i, want ? want : address, k))
            return false;
    }
    drop_operands(t, g->nparams);
    for (uint32_t k = 0; k < g->nresults; k++)
        vec_push(&t->stack, g->results[k]);
    return true;
}

/* Updates the constructs, once the operands are popped. */
static bool typer_apply(WasmTyper *t, const WasmInstr *i) {
    WasmTypeList results = {t->results.at, t->results.len};
    WasmFlow flow = wasm_flow(i->op);
    if (flow == WASM_FLOW_NEXT) {
        if (t->tracks_inits && (i->op == WASM_OP_LOCAL_SET || i->op == WASM_OP_LOCAL_TEE))
            set_local(t, i->a);
    } else if (wasm_flow_opens(flow)) {
        typer_push_frame(t, i);
    } else if (flow == WASM_FLOW_ARM) {
        bool other = i->op == WASM_OP_ELSE;
        return typer_next_part(t, i,
                               other ? wasm_frame_params(t->m, &vec_last(&t->frames)) : results);
    } else if (flow == WASM_FLOW_END) {
        return typer_end(t, i);
    } else if (wasm_flow_stops(flow)) {
        unreachable(t);
        return true;
    }
    return push_all(t, i, results);
}

static bool step_other(WasmTyper *t, const WasmInstr *i) {
    t->params.len = t->results.len = 0;
    WasmSig s = {t, i, &t->params, &t->results, t->error};
    if (!wasm_sig(&s)) {
        t->error_offset = i->offset;
        return false;
    }
    if (!typer_check_operands(t, i, (WasmTypeList){t->params.at, t->params.len}, 0))
        return false;
    if (i->op == WASM_OP_BR_TABLE && !check_br_table(t, i))
        return false;
    drop_operands(t, t->params.len);
    return typer_apply(t, i);
}

/* ---- the short way of frequent instructions ---- */

/* The operand on top is of type `want` exactly. */
static inline bool typer_top_is(const WasmTyper *t, WasmType want) {
    return t->stack.len > vec_last(&t->frames).height && t->stack.at[t->stack.len - 1] == want;
}

static inline bool short_local(WasmTyper *t, const WasmInstr *i) {
    if (i->a >= t->locals.len || t->tracks_inits)
        return false;
    WasmType type = t->locals.at[i->a];
    if (i->op == WASM_OP_LOCAL_GET) {
        vec_push(&t->stack, type);
        return true;
    }
    if (!typer_top_is(t, type))
        return false;
    t->stack.len -= i->op == WASM_OP_LOCAL_SET;
    return true;
}

/* Branches to labels without operands. */
static inline bool short_branch(WasmTyper *t, const WasmInstr *i) {
    if (i->a >= t->frames.len || wasm_frame_label(t->m, wasm_label(t, i->a)).len)
        return false;
    if (i->op == WASM_OP_BR) {
        unreachable(t);
        return true;
    }
    if (!typer_top_is(t, WASM_I32))
        return false;
    t->stack.len--;
    return true;
}

static inline bool short_call(WasmTyper *t, const WasmInstr *i) {
    const WasmModule *m = t->m;
    if (i->a >= m->funcs.len)
        return false;
    const WasmTypeDef *d = wasm_func_type(m, i->a);
    if (t->stack.len - vec_last(&t->frames).height < d->nparams || d->nresults > 1)
        return false;
    uint32_t first = t->stack.len - d->nparams;
    for (uint32_t k = 0; k < d->nparams; k++)
        if (t->stack.at[first + k] != d->params[k])
            return false;
    t->stack.len -= d->nparams;
    if (d->nresults)
        vec_push(&t->stack, d->results[0]);
    return true;
}

/*
 * The common case of frequent instructions. Returns false, without effect, for other cases and for
 * mistakes, which the general case reports.
 */
static inline bool step_short(WasmTyper *t, const WasmInstr *i) {
    switch (i->op) {
    case WASM_OP_LOCAL_GET:
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE: return short_local(t, i);
    case WASM_OP_BR:
    case WASM_OP_BR_IF: return short_branch(t, i);
    case WASM_OP_CALL: return short_call(t, i);
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
        if (i->type != WASM_NONE)
            return false;
        typer_push_frame(t, i);
        return true;
    case WASM_OP_GLOBAL_GET:
        if (i->a >= t->m->globals.len)
            return false;
        vec_push(&t->stack, t->m->globals.at[i->a].type);
        return true;
    case WASM_OP_GLOBAL_SET:
        if (i->a >= t->m->globals.len || !t->m->globals.at[i->a].mutable ||
            !typer_top_is(t, t->m->globals.at[i->a].type))
            return false;
        t->stack.len--;
        return true;
    default: return false;
    }
}

bool wasm_typer_step(WasmTyper *t, const WasmInstr *i) {
    if (t->frames.len == 0)
        return wasm_typer_fail(t, i, "there is code after the last end");
    const WasmSimpleSig *g = wasm_simple_sig(i->op);
    if (g->kind != WASM_SIG_OTHER)
        return step_simple(t, i, g);
    if (i->op == WASM_OP_END)
        return typer_end(t, i);
    return step_short(t, i) || step_other(t, i);
}

/* The bottom reference is the typer's own affair. */
static void hide_bottom(WasmTypes *v, uint32_t from) {
    for (uint32_t k = from; k < v->len; k++)
        if (v->at[k] == WASM_BOT_REF)
            v->at[k] = WASM_BOT;
}

void wasm_instr_types(const WasmTyper *t, const WasmInstr *i, WasmTypes *params,
                      WasmTypes *results) {
    if (!t->frames.len)
        return;
    WasmSig s = {t, i, params, results, NULL};
    uint32_t p = params->len, r = results->len;
    wasm_sig(&s);
    hide_bottom(params, p);
    hide_bottom(results, r);
}
