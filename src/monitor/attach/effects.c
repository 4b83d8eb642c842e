/*
 * monitor/attach/effects.c - finds probes of monitors that only count, to count them by segments.
 *
 * The code of a probe is evaluated symbolically at each site. If its only effect is to add known
 * amounts to numbers in the monitor's memories and globals, and if all other code leaves these
 * numbers alone, then the time of the additions does not matter, and no code is inserted at the
 * site. The number of its executions is derived from counters of segments (inject/counts.h), and
 * the sums are computed from these before wasm:exit (sums.c). The same holds for a probe that
 * always sets a number to the same value, a flag. Before a branch, the code is evaluated for both
 * ways of it if it uses the operand.
 */
#include "monitor/attach/attach_code.h"

#include "eval/number.h"

enum {
    MAX_FOLLOWED = 256, /* bytes of a body that is followed */
    MAX_ADDITIONS = 4,  /* of a probe */
    MAX_STACK = 16,     /* values */
    MAX_OPEN = 8,       /* constructs */
};

/* ---- the effects of a probe at a location ---- */

/* A value: known, or the previous value of a number plus a constant, or not 0, or unknown. */
typedef enum TermKind { TERM_KNOWN, TERM_HELD, TERM_NONZERO, TERM_UNKNOWN } TermKind;
typedef struct Term {
    TermKind kind;
    uint64_t bits; /* held: the amount added */
    uint32_t of;   /* held: index into Follow.done */
} Term;

/* The changes of a number so far. */
typedef struct Done {
    BindPlace place;
    uint64_t amount;
    bool set, stored; /* set to the amount; anything at all */
    uint8_t ways;     /* of a branch, on which that happens: WAY_... */
} Done;

typedef struct Follow {
    Bind *b;
    const BindState *s;
    const BindRule *r;
    const uint64_t *words;
    const WasmInstr *code; /* of the rule */
    uint32_t ncode;
    Vec(Term) locals;
    Term stack[MAX_STACK];
    uint32_t height;
    uint32_t open[MAX_OPEN], nopen; /* heights at the constructs around the instruction */
    Done done[MAX_ADDITIONS];
    uint32_t ndone;
    unsigned way; /* of the branch at the location, if one is assumed: WAY_... */
    bool lost;    /* it does something else */
} Follow;

static Term effects_known(uint64_t bits) {
    return (Term){TERM_KNOWN, bits, 0};
}

static void effects_push(Follow *f, Term t) {
    if (f->height < MAX_STACK)
        f->stack[f->height++] = t;
    else
        f->lost = true;
}

static Term effects_pop(Follow *f) {
    return f->stack[--f->height]; /* the code is valid */
}

static uint32_t effects_handle_of(const Follow *f, WasmSpace space, uint32_t index) {
    return f->s->part->monitor->merge.handles[space][index];
}

/* The record of a number's changes; NULL if there are too many. */
static Done *find_done(Follow *f, BindPlace place) {
    for (uint32_t i = 0; i < f->ndone; i++) {
        const BindPlace *p = &f->done[i].place;
        if (p->space == place.space && p->handle == place.handle && p->at == place.at &&
            p->size_log2 == place.size_log2)
            return &f->done[i];
    }
    if (f->ndone == MAX_ADDITIONS)
        return NULL;
    f->done[f->ndone] = (Done){.place = place, .ways = WAY_BOTH};
    return &f->done[f->ndone++];
}

static void effects_read_place(Follow *f, BindPlace place) {
    Done *d = find_done(f, place);
    if (d && !d->set)
        effects_push(f, (Term){TERM_HELD, d->amount, (uint32_t)(d - f->done)});
    else
        f->lost = true;
}

static void write_place(Follow *f, BindPlace place, Term t) {
    Done *d = find_done(f, place);
    bool adds = d && t.kind == TERM_HELD && d == &f->done[t.of] && !d->set;
    bool sets = d && t.kind == TERM_KNOWN && (d->set || !d->stored);
    if (adds || sets) {
        d->set = sets;
        d->stored = true;
        d->amount = t.bits;
    } else {
        f->lost = true;
    }
}

/* ---- instructions ---- */

/* How many bytes a load or store accesses; 0: of a float. */
static uint32_t integer_bytes(WasmOp op, bool store) {
    WasmType type = wasm_letter_type(store ? wasm_ops[op].operands[1] : wasm_ops[op].results[0]);
    return type == WASM_I32 || type == WASM_I64 ? wasm_access_bytes(op) : 0;
}

static void follow_access(Follow *f, const WasmInstr *i) {
    bool store = wasm_ops[i->op].category == WASM_CAT_STORE;
    uint32_t size = integer_bytes((WasmOp)i->op, store);
    Term value = store && size ? effects_pop(f) : effects_known(0);
    Term address = size ? effects_pop(f) : (Term){TERM_UNKNOWN, 0, 0};
    const WasmModule *to = &f->b->p.m;
    uint32_t memory = effects_handle_of(f, WASM_SPACE_MEMORY, i->b);
    const WasmLimits *l = &to->memories.at[memory].limits;
    uint64_t at = (uint32_t)address.bits + i->c, bytes = l->min << l->page_log2;
    if (address.kind != TERM_KNOWN || l->is64 || at > bytes || bytes - at < size) {
        f->lost = true;
        return;
    }
    BindPlace place = {WASM_SPACE_MEMORY, (uint8_t)__builtin_ctz(size), memory, (uint32_t)at};
    if (store)
        write_place(f, place, value);
    else
        effects_read_place(f, place);
}

static void follow_global(Follow *f, const WasmInstr *i) {
    EvalGlobal *g = eval_global(bind_host_monitor(f->s->host), i->a);
    WasmType type = f->s->monitor.m.globals.at[i->a].type;
    uint8_t size = type == WASM_I32 ? 2 : 3;
    BindPlace place = {WASM_SPACE_GLOBAL, size, effects_handle_of(f, WASM_SPACE_GLOBAL, i->a), 0};
    if ((type != WASM_I32 && type != WASM_I64) || eval_global_opaque(g))
        f->lost = true;
    else if (!eval_global_mutable(g))
        effects_push(f, effects_known(eval_global_get(g).bits));
    else if (i->op == WASM_OP_GLOBAL_GET)
        effects_read_place(f, place);
    else
        write_place(f, place, effects_pop(f));
}

static Term param(const Follow *f, uint32_t n) {
    const BindFormal *formal = &f->r->formals[n];
    if (f->way && formal->kind == PARAM_ARG && !formal->n && formal->type == WASM_I32)
        return f->way == WAY_TAKEN ? (Term){TERM_NONZERO, 0, 0} : effects_known(0);
    if (!formal->is_static || (formal->type != WASM_I32 && formal->type != WASM_I64))
        return (Term){TERM_UNKNOWN, 0, 0};
    uint64_t bits = f->words[formal->word];
    return effects_known(formal->type == WASM_I32 ? (uint32_t)bits : bits);
}

/* Arithmetic on known integers, as the interpreter does it; false if it is something else. */
static bool effects_compute(uint16_t op, uint64_t x, uint64_t y, uint64_t *result) {
    switch (op) {
#define I32(op, value)                                                                             \
    case WASM_OP_##op: {                                                                           \
        uint32_t a = (uint32_t)x, b = (uint32_t)y;                                                 \
        (void)a, (void)b;                                                                          \
        *result = (uint32_t)(value);                                                               \
        return true;                                                                               \
    }
#define I64(op, value)                                                                             \
    case WASM_OP_##op: {                                                                           \
        uint64_t a = x, b = y;                                                                     \
        (void)a, (void)b;                                                                          \
        *result = (uint64_t)(value);                                                               \
        return true;                                                                               \
    }
#define I32_UNARY(op, value) I32(op, value)
#define I64_UNARY(op, value) I64(op, value)
#define F32(op, value)
#define F64(op, value)
#define F32_UNARY(op, value)
#define F64_UNARY(op, value)
#define F32_COMPARE(op, value)
#define F64_COMPARE(op, value)
#define CONVERT(op, from, value)
#define TRUNC(op, from, integer)
#define TRUNC_SAT(op, from, integer, natural, lowest, highest)
#define LOAD(op, bits, value)
#define STORE(op, bits)
#include "eval/numeric.def"
    case WASM_OP_I32_WRAP_I64:
    case WASM_OP_I64_EXTEND_I32_U: *result = (uint32_t)x; return true;
    case WASM_OP_I64_EXTEND_I32_S: *result = (uint64_t)(int32_t)(uint32_t)x; return true;
    default: return false;
    }
}

/* Comparisons of a value that is not 0 with 0, and its extension; returns false for other
 * instructions. */
static bool compare_nonzero(uint16_t op, Term x, Term y, Term *result) {
    bool left = x.kind == TERM_NONZERO && y.kind == TERM_KNOWN && !y.bits;
    bool right = y.kind == TERM_NONZERO && x.kind == TERM_KNOWN && !x.bits;
    if (left && (op == WASM_OP_I64_EXTEND_I32_U || op == WASM_OP_I64_EXTEND_I32_S)) {
        *result = x;
        return true;
    }
    switch (op) {
    case WASM_OP_I32_EQZ:
    case WASM_OP_I64_EQZ:
    case WASM_OP_I32_EQ:
    case WASM_OP_I64_EQ: *result = effects_known(0); return left || right;
    case WASM_OP_I32_NE:
    case WASM_OP_I64_NE: *result = effects_known(1); return left || right;
    case WASM_OP_I32_GT_U:
    case WASM_OP_I64_GT_U: *result = effects_known(1); return left;
    case WASM_OP_I32_LE_U:
    case WASM_OP_I64_LE_U: *result = effects_known(0); return left;
    case WASM_OP_I32_LT_U:
    case WASM_OP_I64_LT_U: *result = effects_known(1); return right;
    case WASM_OP_I32_GE_U:
    case WASM_OP_I64_GE_U: *result = effects_known(0); return right;
    default: return false;
    }
}

static void follow_arithmetic(Follow *f, const WasmInstr *i) {
    uint32_t n = (uint32_t)strlen(wasm_ops[i->op].operands);
    Term y = n == 2 ? effects_pop(f) : effects_known(0), x = effects_pop(f),
         result = {TERM_UNKNOWN, 0, 0};
    bool add = i->op == WASM_OP_I32_ADD || i->op == WASM_OP_I64_ADD;
    bool sub = i->op == WASM_OP_I32_SUB || i->op == WASM_OP_I64_SUB;
    if (add && y.kind == TERM_HELD && x.kind == TERM_KNOWN)
        result = (Term){TERM_HELD, x.bits + y.bits, y.of};
    else if ((add || sub) && x.kind == TERM_HELD && y.kind == TERM_KNOWN)
        result = (Term){TERM_HELD, add ? x.bits + y.bits : x.bits - y.bits, x.of};
    else if (x.kind == TERM_KNOWN && y.kind == TERM_KNOWN &&
             effects_compute(i->op, x.bits, y.bits, &result.bits))
        result.kind = TERM_KNOWN;
    else if (!compare_nonzero(i->op, x, y, &result))
        result = (Term){TERM_UNKNOWN, 0, 0};
    effects_push(f, result);
}

/* From instruction k, inside, to the `end` of the construct that is `depth` further out; or, if
 * that comes first, to the `else` of the innermost one. */
static uint32_t skip(const Follow *f, uint32_t k, uint32_t depth, bool stops_at_else) {
    uint32_t inner = 0;
    for (k++; k < f->ncode; k++) {
        WasmFlow flow = wasm_flow(f->code[k].op);
        inner += wasm_flow_opens(flow);
        if (f->code[k].op == WASM_OP_ELSE && !inner && stops_at_else)
            break;
        if (flow != WASM_FLOW_END)
            continue;
        if (!inner && !depth)
            break;
        if (inner)
            inner--;
        else
            depth--;
    }
    return k;
}

/* A branch is taken: the `end` that it leads to, as if control ran into it. */
static uint32_t jump(Follow *f, uint32_t k, uint32_t depth) {
    if (depth >= f->nopen)
        return f->ncode; /* the function returns */
    f->nopen -= depth;
    return skip(f, k, depth, false) - 1;
}

/* Control flow; returns the instruction before the next. */
static uint32_t follow_control(Follow *f, uint32_t k) {
    const WasmInstr *i = &f->code[k];
    Term condition = effects_known(1);
    if (i->op == WASM_OP_IF || i->op == WASM_OP_BR_IF)
        condition = effects_pop(f);
    f->lost |= condition.kind != TERM_KNOWN && condition.kind != TERM_NONZERO;
    bool yes = condition.kind == TERM_NONZERO || (uint32_t)condition.bits != 0;
    switch (i->op) {
    case WASM_OP_BLOCK:
    case WASM_OP_IF:
        if (f->nopen == MAX_OPEN || i->type != WASM_NONE) {
            f->lost = true;
            return k;
        }
        f->open[f->nopen++] = f->height;
        if (yes)
            return k;
        k = skip(f, k, 0, true);
        return f->code[k].op == WASM_OP_END ? k - 1 : k;
    case WASM_OP_ELSE: return jump(f, k, 0);
    case WASM_OP_END:
        if (f->nopen)
            f->height = f->open[--f->nopen];
        return k;
    case WASM_OP_BR:
    case WASM_OP_BR_IF: return yes ? jump(f, k, i->a) : k;
    case WASM_OP_RETURN: return f->ncode;
    case WASM_OP_NOP: return k;
    default: f->lost = true; return k;
    }
}

static void follow_select(Follow *f) {
    Term condition = effects_pop(f), b = effects_pop(f), a = effects_pop(f);
    Term result = {TERM_UNKNOWN, 0, 0};
    if (condition.kind == TERM_KNOWN)
        result = (uint32_t)condition.bits ? a : b;
    else if (condition.kind == TERM_NONZERO)
        result = a;
    effects_push(f, result);
}

static void follow_instr(Follow *f, uint32_t *k) {
    const WasmInstr *i = &f->code[*k];
    switch (i->op) {
    case WASM_OP_LOCAL_GET: effects_push(f, f->locals.at[i->a]); return;
    case WASM_OP_LOCAL_SET: f->locals.at[i->a] = effects_pop(f); return;
    case WASM_OP_LOCAL_TEE: f->locals.at[i->a] = f->stack[f->height - 1]; return;
    case WASM_OP_GLOBAL_GET:
    case WASM_OP_GLOBAL_SET: follow_global(f, i); return;
    case WASM_OP_I32_CONST: effects_push(f, effects_known((uint32_t)i->c)); return;
    case WASM_OP_I64_CONST: effects_push(f, effects_known(i->c)); return;
    case WASM_OP_DROP: effects_pop(f); return;
    case WASM_OP_SELECT: follow_select(f); return;
    default: break;
    }
    switch (wasm_ops[i->op].category) {
    case WASM_CAT_LOAD:
    case WASM_CAT_STORE: follow_access(f, i); return;
    case WASM_CAT_ARITH:
    case WASM_CAT_COMPARE:
    case WASM_CAT_CONVERT: {
        uint64_t ignored;
        if (effects_compute(i->op, 0, 0, &ignored))
            follow_arithmetic(f, i);
        else
            f->lost = true; /* it may trap, or has two results */
        return;
    }
    default: *k = follow_control(f, *k); return;
    }
}

/* Follows the rule's code at a location, on a way of the branch there if not 0; false if it does
 * not only add or set. */
static bool effects_follow(Follow *f, const uint64_t *words, unsigned way) {
    f->words = words;
    f->way = way;
    f->height = f->nopen = f->ndone = 0;
    f->lost = false;
    for (uint32_t i = 0; i < f->locals.len; i++)
        f->locals.at[i] = i < f->r->probe->rule.nparams ? param(f, i) : effects_known(0);
    for (uint32_t k = 0; k < f->ncode && !f->lost; k++)
        follow_instr(f, &k);
    for (uint32_t i = 0; i < f->ndone; i++)
        f->lost |= !f->done[i].stored; /* it is read for something else */
    return !f->lost;
}

/* Whether something is the same on both ways. */
static bool is_alike(const Done *a, const Done *b) {
    return a->set == b->set && a->amount == b->amount;
}

static bool adds_nothing(const Done *d) {
    return !d->set && !d->amount;
}

/* The effects on both ways of the branch at the location, separately; returns false if they cannot
 * be counted. */
static bool follow_ways(Follow *f, const uint64_t *words) {
    Done taken[MAX_ADDITIONS], both[2 * MAX_ADDITIONS];
    uint32_t ntaken, n = 0;
    if (!effects_follow(f, words, WAY_TAKEN))
        return false;
    ntaken = f->ndone;
    memcpy(taken, f->done, ntaken * sizeof *taken);
    if (!effects_follow(f, words, WAY_NOT_TAKEN))
        return false;
    for (uint32_t k = 0; k < ntaken; k++) {
        const Done *t = &taken[k];
        Done *other = find_done(f, t->place);
        if (!other || (other->stored && other->set != t->set))
            return false; /* too many, or both added and set */
        both[n] = *t;
        both[n++].ways = other->stored && is_alike(t, other) ? WAY_BOTH : WAY_TAKEN;
        other->ways = other->stored && !is_alike(t, other) ? WAY_NOT_TAKEN : 0;
    }
    for (uint32_t k = 0; k < f->ndone; k++) {
        if (f->done[k].ways == WAY_BOTH)
            f->done[k].ways = WAY_NOT_TAKEN; /* there is nothing on the other way */
        if (f->done[k].ways)
            both[n++] = f->done[k];
    }
    f->ndone = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (adds_nothing(&both[k]))
            continue;
        if (f->ndone == MAX_ADDITIONS)
            return false;
        f->done[f->ndone++] = both[k];
    }
    return true;
}

/* ---- the effects of all probes of a monitor ---- */

/* A rule's code. */
typedef struct Decoded {
    bool can_follow;
    uint32_t first, n;    /* in Decision.instrs */
    uint32_t nlocals;     /* with parameters */
    bool looked, may_end; /* its code may end the program, by a trap or a call */
} Decoded;

typedef struct Decision {
    Bind *b;
    const BindAddress *in_bounds;
    BindRule **current; /* that in_bounds is asked about */
    Vec(WasmInstr) instrs;
    Decoded *rules;  /* by index into Bind.rules */
    bool *uncounted; /* by function: nothing in it is counted by segments */
    Vec(EvalFunc *) reached;
    /* entirely spoilt ones: memories and globals, by handle; members of states */
    bool *spoilt_memories, *spoilt_globals, *spoilt_states;
} Decision;

static void effects_decode(Decision *x, const BindState *s, uint32_t rule) {
    const BindRule *r = &x->b->rules.at[rule];
    const WasmModule *m = &s->monitor.m;
    const WasmFunc *f = &m->funcs.at[r->probe->func];
    Decoded *d = &x->rules[rule];
    bool removable = r->id_word != UINT32_MAX && s->ids.flags >= 0;
    d->can_follow = f->import < 0 && f->body_size <= MAX_FOLLOWED && !removable &&
                    !wasm_func_type(m, r->probe->func)->nresults;
    if (!d->can_follow)
        return;
    WasmTypes locals = {0};
    const char *error;
    WasmInstr i;
    uint32_t start = wasm_func_locals(m, r->probe->func, &locals, &error);
    WasmCode code = wasm_code(wasm_func_body(m, r->probe->func), f->body_size, start);
    d->first = x->instrs.len;
    while (wasm_next(&code, &i))
        vec_push(&x->instrs, i);
    d->n = x->instrs.len - d->first;
    d->nlocals = locals.len;
    vec_free(&locals);
}

static BindSum *effects_sum_of(Bind *b, uint32_t monitor, BindPlace place) {
    bool added;
    Str key = {(const char *)&place, sizeof place};
    uint64_t at = *map_put(&b->sum_at, key, b->sums.len, &added);
    if (added)
        vec_push(&b->sums, ((BindSum){.place = place, .monitor = monitor, .var = UINT32_MAX}));
    return &b->sums.at[at];
}

static void add_done(Bind *b, BindHit *h, const Done *d) {
    BindSum *sum = effects_sum_of(b, b->rules.at[h->rule].monitor, d->place);
    sum->spoilt |= sum->hits && (d->set || sum->set); /* more than one location sets it */
    sum->set = d->set;
    sum->hits++;
    vec_push(&b->additions, ((BindAddition){(uint32_t)(sum - b->sums.at), d->ways, d->amount}));
    h->nadditions++;
}

/* The instruction at a hit, which is not at a function's entry. */
static WasmInstr instr_at(const WasmModule *m, const BindHit *h) {
    WasmCode code;
    WasmInstr i;
    wasm_func_code(m, h->func, &code);
    code.at = code.start + h->pc;
    wasm_next(&code, &i);
    return i;
}

/* A branch whose operand says which way it goes. */
static bool is_at_branch(const Bind *b, const BindHit *h) {
    if (!h->pc)
        return false;
    uint16_t op = instr_at(&b->p.m, h).op;
    return op == WASM_OP_IF || op == WASM_OP_BR_IF;
}

/* Follows the probes of a monitor at all their places. */
static void effects_follow_all(Decision *x, BindState *s) {
    Bind *b = x->b;
    Follow f = {.b = b, .s = s};
    for (uint32_t k = 0; k < s->nrules; k++)
        if (b->plan.actions.at[s->first_rule + k].sites)
            effects_decode(x, s, s->first_rule + k);
    for (uint32_t i = 0; i < s->hits.len; i++) {
        BindHit *h = &s->hits.at[i];
        const Decoded *d = &x->rules[h->rule];
        if (h->gone || !d->can_follow)
            continue;
        f.r = &b->rules.at[h->rule];
        f.code = x->instrs.at + d->first;
        f.ncode = d->n;
        f.locals.len = 0;
        for (uint32_t k = 0; k < d->nlocals; k++)
            vec_push(&f.locals, effects_known(0));
        const uint64_t *words = s->words.at + h->words;
        h->counted = effects_follow(&f, words, 0) || (is_at_branch(b, h) && follow_ways(&f, words));
        h->first_addition = b->additions.len;
        for (uint32_t k = 0; k < f.ndone && h->counted; k++)
            add_done(b, h, &f.done[k]);
    }
    vec_free(&f.locals);
}

/* ---- other changes of numbers ---- */

/* Everything in a memory, or a global. */
static void spoil_all(Decision *x, WasmSpace space, uint32_t handle) {
    Bind *b = x->b;
    bool *done = space == WASM_SPACE_MEMORY ? x->spoilt_memories : x->spoilt_globals;
    if (handle == UINT32_MAX || done[handle])
        return;
    done[handle] = true;
    for (uint32_t i = 0; i < b->sums.len; i++) {
        BindSum *sum = &b->sums.at[i];
        sum->spoilt |= sum->place.space == space && sum->place.handle == handle;
    }
}

/* Everything that a monitor adds to. */
static void spoil_state(Decision *x, const BindState *s) {
    Bind *b = x->b;
    uint32_t monitor = (uint32_t)(s - b->states);
    for (uint32_t i = 0; i < b->sums.len && !x->spoilt_states[monitor]; i++)
        b->sums.at[i].spoilt |= b->sums.at[i].monitor == monitor;
    x->spoilt_states[monitor] = true;
}

static const Frozen *frozen_of(const BindState *s, const EvalInstance *instance) {
    const Freeze *f = &s->part->freeze;
    for (uint32_t k = 0; k < f->modules.len; k++)
        if (f->modules.at[k]->instance == instance)
            return f->modules.at[k];
    return NULL;
}

static void spoil_memories(Decision *x, const Frozen *module) {
    for (uint32_t k = 0; k < module->merge.from->memories.len; k++)
        spoil_all(x, WASM_SPACE_MEMORY, module->merge.handles[WASM_SPACE_MEMORY][k]);
}

static void effects_reach(Decision *x, EvalFunc *f) {
    for (uint32_t k = 0; k < x->reached.len; k++)
        if (x->reached.at[k] == f)
            return;
    vec_push(&x->reached, f);
}

/* How an instruction of a module may change numbers. */
static void spoil_by_instr(Decision *x, const BindState *s, const Frozen *module,
                           const WasmInstr *i) {
    switch (wasm_ops[i->op].category) {
    case WASM_CAT_LOAD:
    case WASM_CAT_STORE:
    case WASM_CAT_MEMORY:
    case WASM_CAT_ATOMIC:
    case WASM_CAT_SIMD: spoil_memories(x, module); return;
    case WASM_CAT_GLOBAL:
        if (eval_global_mutable(eval_global(module->instance, i->a)))
            spoil_all(x, WASM_SPACE_GLOBAL, module->merge.handles[WASM_SPACE_GLOBAL][i->a]);
        return;
    default: break;
    }
    WasmFlow flow = wasm_flow(i->op);
    if (flow != WASM_FLOW_CALL && flow != WASM_FLOW_TAIL_CALL)
        return;
    if (i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL) {
        if (!eval_func_instance(eval_func(module->instance, i->a), &(uint32_t){0}))
            spoil_memories(x, module); /* a function of the engine takes the caller's memory */
        effects_reach(x, eval_func(module->instance, i->a));
    } else {
        spoil_state(x, s);
    }
}

/* How a function and its callees may change numbers. */
static void spoil_by_code(Decision *x, const BindState *s, uint32_t func) {
    x->reached.len = 0;
    effects_reach(x, eval_func(bind_host_monitor(s->host), func));
    for (uint32_t k = 0; k < x->reached.len; k++) {
        uint32_t index;
        const EvalInstance *instance = eval_func_instance(x->reached.at[k], &index);
        const Frozen *module = instance ? frozen_of(s, instance) : NULL;
        WasmCode code;
        WasmInstr i;
        if (!module)
            continue; /* a function of the engine */
        wasm_func_code(module->merge.from, index, &code);
        while (wasm_next(&code, &i))
            spoil_by_instr(x, s, module, &i);
    }
}

/* Accesses do not: bind_changes has looked at these. */
static bool may_trap(const WasmInstr *i) {
    uint8_t category = wasm_ops[i->op].category;
    return category != WASM_CAT_LOAD && category != WASM_CAT_STORE && op_can_trap(i->op);
}

/* A rule that does more than count somewhere: its possible effects there. Returns whether it only
 * changes cells. */
static bool effects_look_at(Decision *x, BindState *s, uint32_t rule) {
    Decoded *d = &x->rules[rule];
    BindRule *r = &x->b->rules.at[rule];
    *x->current = r;
    bool changes = r->source && bind_changes(x->b, s, r, x->in_bounds);
    if (d->looked)
        return changes;
    d->looked = true;
    d->may_end = !changes;
    if (!changes) {
        spoil_by_code(x, s, r->probe->func);
        return false;
    }
    WasmCode code = wasm_code(r->source->code.data, r->source->code.len, 0);
    WasmInstr i;
    while (wasm_next(&code, &i)) {
        d->may_end |= may_trap(&i);
        if (wasm_ops[i.op].category == WASM_CAT_GLOBAL)
            spoil_by_instr(x, s, s->part->monitor, &i);
    }
    return true;
}

static void spoil_others(Decision *x, BindState *s) {
    Bind *b = x->b;
    for (uint32_t i = 0; i < s->hits.len; i++) {
        const BindHit *h = &s->hits.at[i];
        if (h->gone || h->counted)
            continue;
        const BindSource *source = b->rules.at[h->rule].source;
        bool changes = effects_look_at(x, s, h->rule);
        x->uncounted[h->func] |= x->rules[h->rule].may_end;
        for (uint32_t k = 0; changes && k < source->ncells; k++)
            effects_sum_of(b, b->rules.at[h->rule].monitor,
                           bind_place(b, s->words.at + h->words, source->first_cell + k))
                ->spoilt = true;
    }
}

static int effects_by_place(const void *a, const void *b) {
    const BindPlace *x = &(*(BindSum *const *)a)->place, *y = &(*(BindSum *const *)b)->place;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : 0;
}

/* Numbers that share bytes are none. */
static void spoil_overlaps(Bind *b) {
    BindSum **list = mem_alloc(sizeof *list * (b->sums.len + 1u)), *last = NULL;
    for (uint32_t i = 0; i < b->sums.len; i++)
        list[i] = &b->sums.at[i];
    qsort(list, b->sums.len, sizeof(BindSum *), effects_by_place);
    for (uint32_t i = 0; i < b->sums.len; i++) {
        BindSum *sum = list[i];
        uint64_t end = (uint64_t)sum->place.at + (UINT64_C(1) << sum->place.size_log2);
        bool same = last && last->place.space == sum->place.space &&
                    last->place.handle == sum->place.handle;
        uint64_t last_end =
            same ? (uint64_t)last->place.at + (UINT64_C(1) << last->place.size_log2) : 0;
        if (sum->place.at < last_end)
            sum->spoilt = last->spoilt = true;
        if (end >= last_end)
            last = sum;
    }
    free(list);
}

/* ---- the decision ---- */

static bool may_count(const Decision *x, const BindHit *h) {
    bool good = !x->uncounted[h->func];
    for (uint32_t k = 0; k < h->nadditions && good; k++)
        good = !x->b->sums.at[x->b->additions.at[h->first_addition + k].sum].spoilt;
    return good;
}

/* If a probe's code stays, no other probe can count the numbers that it changes. Returns false once
 * that changes nothing any more. */
static bool keep_some(Decision *x, BindState *s) {
    bool changed = false;
    for (uint32_t i = 0; i < s->hits.len; i++) {
        BindHit *h = &s->hits.at[i];
        if (!h->counted || may_count(x, h))
            continue;
        h->counted = false;
        changed = true;
        for (uint32_t k = 0; k < h->nadditions; k++)
            x->b->sums.at[x->b->additions.at[h->first_addition + k].sum].spoilt = true;
    }
    return changed;
}

static void effects_decide(Decision *x) {
    Bind *b = x->b;
    for (uint32_t k = 0; k < b->nstates; k++)
        effects_follow_all(x, &b->states[k]);
    for (uint32_t k = 0; k < b->nstates; k++)
        spoil_others(x, &b->states[k]);
    spoil_overlaps(b);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < b->nstates; k++)
            changed |= keep_some(x, &b->states[k]);
    }
}

/* ---- segments ---- */

/* The next hit of any monitor that is counted, in the order of the code; NULL = none. */
static const BindHit *next_counted(Bind *b, uint32_t *at, uint32_t *monitor) {
    const BindHit *first = NULL;
    for (uint32_t k = 0; k < b->nstates; k++) {
        BindState *s = &b->states[k];
        while (at[k] < s->hits.len && !s->hits.at[at[k]].counted)
            at[k]++;
        const BindHit *h = at[k] < s->hits.len ? &s->hits.at[at[k]] : NULL;
        if (h &&
            (!first || h->func < first->func || (h->func == first->func && h->pc < first->pc))) {
            first = h;
            *monitor = k;
        }
    }
    if (first)
        at[*monitor]++;
    return first;
}

/* A hit's location in the current function. */
typedef struct Located {
    uint32_t segment, key;
    bool traps; /* something in the segment can trap */
} Located;

/* Whether something in the segment can trap; *cursor goes with the segments. */
static bool effects_has_traps(const Segments *s, uint32_t segment, uint32_t *cursor) {
    if (segment == COUNT_NONE)
        return false;
    while (*cursor && s->traps.at[*cursor - 1].segment >= segment)
        --*cursor;
    while (*cursor < s->traps.len && s->traps.at[*cursor].segment < segment)
        ++*cursor;
    return *cursor < s->traps.len && s->traps.at[*cursor].segment == segment;
}

static Located effects_locate(Bind *b, const BindHit *h, unsigned ways, uint32_t *cursor) {
    CountEvent e = {{.kind = EVENT_OPCODE, .op = WASM_OP_NOP, .mode = MODE_BEFORE},
                    .ways = (uint8_t)ways};
    Site site = {.m = &b->p.m, .func = h->func, .pc = h->pc};
    WasmInstr i;
    if (!h->pc) {
        e.event = (Event){.kind = EVENT_FUNC_ENTRY, .op = WASM_OP_NOP};
    } else {
        i = instr_at(&b->p.m, h);
        e.event.op = (WasmOp)i.op;
        site.instr = &i;
    }
    uint32_t segment = counts_segment(&b->counts, &site, e);
    uint32_t number = segment == COUNT_NONE ? COUNT_NONE : segment & ~COUNT_LEFT;
    return (Located){segment, counts_key(&site, e),
                     effects_has_traps(&b->counts.here.segments, number, cursor)};
}

static bool extends(const BindRun *run, const BindSum *sum, const BindAddition *a) {
    uint32_t step = sum->place.at - (run->place.at + (run->n - 1) * run->step);
    return run->place.handle == sum->place.handle && run->set == sum->set &&
           run->place.size_log2 == sum->place.size_log2 && (!run->set || run->to == a->amount) &&
           (run->n == 1 || run->step == step);
}

static void effects_add_run(Bind *b, const BindHit *h, const BindAddition *a, Located at) {
    BindState *s = &b->states[b->rules.at[h->rule].monitor];
    const BindSum *sum = &b->sums.at[a->sum];
    uint64_t amount = sum->set ? 1 : a->amount;
    BindRun *run = s->last_run == UINT32_MAX ? NULL : &b->runs.at[s->last_run];
    uint32_t last = run ? run->value : COUNT_NONE;
    uint32_t value = counts_value(&b->counts, at.segment, amount, sum->set, last);
    bool follows = !at.traps || (run && run->key + run->n == b->keys.len);
    if (value == last && follows && extends(run, sum, a)) {
        run->step = run->n == 1 ? sum->place.at - run->place.at : run->step;
        run->n++;
    } else {
        s->last_run = b->runs.len;
        vec_push(&b->runs, ((BindRun){sum->place, 1, 0, value, sum->set, a->amount, at.traps,
                                      h->func, b->keys.len}));
    }
    if (at.traps)
        vec_push(&b->keys, at.key);
}

static void note_hit(Bind *b, const BindHit *h, uint32_t *cursor) {
    Located at = {0};
    unsigned ways = 0; /* that it is of */
    for (uint32_t k = 0; k < h->nadditions; k++) {
        const BindAddition *a = &b->additions.at[h->first_addition + k];
        if (a->ways != ways)
            at = effects_locate(b, h, a->ways, cursor);
        ways = a->ways;
        if (at.segment == COUNT_NONE)
            return;
        BindSum *sum = &b->sums.at[a->sum];
        if (sum->hits == 1 && sum->place.space == WASM_SPACE_MEMORY) {
            effects_add_run(b, h, a, at);
            continue;
        }
        if (sum->var == UINT32_MAX) {
            sum->var = b->vars.len;
            vec_push(&b->vars, a->sum);
        }
        sum->to = a->amount;
        counts_share(&b->counts, sum->var, at.segment, at.key, sum->set ? 1 : a->amount);
    }
}

/* Tells Bind.counts the required counts. */
static void effects_note_all(Bind *b) {
    uint32_t *next = mem_zalloc(sizeof *next * (b->nstates + 1u));
    uint32_t monitor = 0, func = COUNT_NONE, cursor = 0;
    const BindHit *h;
    for (uint32_t k = 0; k < b->nstates; k++)
        b->states[k].last_run = UINT32_MAX;
    while ((h = next_counted(b, next, &monitor))) {
        if (h->func != func) {
            counts_enter(&b->counts, h->func);
            cursor = 0;
        }
        func = h->func;
        note_hit(b, h, &cursor);
    }
    counts_close(&b->counts);
    free(next);
}

void bind_sums(Bind *b, const BindAddress *in_bounds, BindRule **current) {
    Decision x = {.b = b, .in_bounds = in_bounds, .current = current};
    x.rules = mem_zalloc(sizeof *x.rules * (b->rules.len + 1u));
    x.uncounted = mem_zalloc(sizeof *x.uncounted * (b->p.m.funcs.len + 1u));
    x.spoilt_memories = mem_zalloc(b->p.m.memories.len + 1u);
    x.spoilt_globals = mem_zalloc(b->p.m.globals.len + 1u);
    x.spoilt_states = mem_zalloc(b->nstates + 1u);
    effects_decide(&x);
    counts_init(&b->counts, &b->p.m, b->options->exact_traps);
    for (uint32_t k = 0; k < b->additions.len; k++)
        b->counts.options.asks_ways |= b->additions.at[k].ways != WAY_BOTH;
    effects_note_all(b);
    for (uint32_t k = 0; k < b->counts.funcs.len; k++) {
        const CountFunc *f = &b->counts.funcs.at[k];
        b->p.touched[f->func] |= f->last ? TOUCHED_END : 0;
    }
    free(x.rules);
    free(x.uncounted);
    free(x.spoilt_memories);
    free(x.spoilt_globals);
    free(x.spoilt_states);
    vec_free(&x.instrs);
    vec_free(&x.reached);
}
