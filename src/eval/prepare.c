/*
 * eval/prepare.c - makes a function body ready to run: words of 32 bits with branch targets.
 *
 * The typer knows the height of the operand stack at each instruction, so that a branch knows where
 * its target is and how far its values move; blocks and their ends need no instructions of their
 * own, and code that cannot be reached is left out. Unsupported instructions trap when executed;
 * only constant expressions must be supported (eval_supported).
 *
 * In a store that counts, an EVAL_OP_COUNT is before each instruction, also of those that become no
 * words; branches to an `end` arrive at its EVAL_OP_COUNT.
 */
#include "eval/store.h"
#include "valid/frame.h"
#include "valid/typer.h"

#include <assert.h>

/* An open construct. */
typedef struct Label {
    uint16_t op;        /* BLOCK, LOOP, IF; WASM_OP_COUNT = the body */
    bool dead;          /* it is itself in unreachable code */
    uint32_t start;     /* its first word, where branches to a loop go */
    uint32_t fixups;    /* last word that shall hold the word of its end, 0 = none; that word holds
                           the one before */
    uint32_t otherwise; /* word of an `if` that shall hold the start of the else-arm, 0 = none */
    uint32_t height;    /* of the operand stack, in slots, where branches put their values */
    uint32_t arity;     /* number of values that branches carry */
} Label;

typedef struct Prepare {
    const EvalInstance *in;
    const WasmModule *m;
    WasmTyper *t;
    EvalCode *code;
    Vec(Label) labels;
    bool counting;
} Prepare;

/* ---- words ---- */

static void prepare_put(Prepare *p, uint32_t word) {
    vec_push(&p->code->words, word);
}

static uint32_t prepare_here(const Prepare *p) {
    return p->code->words.len;
}

static void put1(Prepare *p, uint32_t op, uint32_t a) {
    prepare_put(p, op);
    prepare_put(p, a);
}

static void put2(Prepare *p, uint32_t op, uint32_t a, uint32_t b) {
    put1(p, op, a);
    prepare_put(p, b);
}

/* A word for where a label is. Word 0 is never such a word: an instruction comes before. */
static void put_target(Prepare *p, Label *l) {
    if (l->op == WASM_OP_LOOP) {
        prepare_put(p, l->start);
    } else {
        prepare_put(p, l->fixups);
        l->fixups = prepare_here(p) - 1;
    }
}

/* The end of a construct: patches all references to it. */
static void prepare_bind(Prepare *p, Label *l) {
    for (uint32_t at = l->fixups, older; at; at = older) {
        older = p->code->words.at[at];
        p->code->words.at[at] = prepare_here(p);
    }
    if (l->otherwise)
        p->code->words.at[l->otherwise] = prepare_here(p);
    l->fixups = l->otherwise = 0;
}

/* ---- branches ---- */

static Label *label(Prepare *p, uint32_t depth) {
    return &p->labels.at[p->labels.len - 1 - depth];
}

/* The slots in use when there are `operands` operands. */
static uint32_t slots(const Prepare *p, uint32_t operands) {
    return p->code->nlocals + operands;
}

/* A branch from where the operand stack has `operands` items. */
static void prepare_put_branch(Prepare *p, Label *l, uint32_t operands) {
    bool moves = slots(p, operands) - l->arity != l->height;
    prepare_put(p, moves ? EVAL_OP_BR_MOVE : EVAL_OP_BR);
    put_target(p, l);
    if (moves) {
        prepare_put(p, l->height);
        prepare_put(p, l->arity);
    }
}

/* A branch that is left out by `skip`, an instruction with a target. */
static void put_skipped(Prepare *p, uint32_t skip, Label *l, uint32_t operands) {
    put1(p, skip, 0);
    uint32_t at = prepare_here(p) - 1;
    prepare_put_branch(p, l, operands);
    p->code->words.at[at] = prepare_here(p);
}

static void put_br_if(Prepare *p, Label *l, uint32_t operands) {
    if (slots(p, operands) - l->arity != l->height) {
        put_skipped(p, EVAL_OP_BR_UNLESS, l, operands);
    } else {
        prepare_put(p, EVAL_OP_BR_IF);
        put_target(p, l);
    }
}

static void put_br_table(Prepare *p, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    put2(p, EVAL_OP_BR_TABLE, label(p, i->a)->arity, i->count);
    for (uint32_t k = 0; k <= i->count; k++) {
        Label *l = label(p, k < i->count ? wasm_vec_u32(&at) : i->a);
        put_target(p, l);
        prepare_put(p, l->height);
    }
}

/* ---- constructs ---- */

/* After the typer's step over the opener. `start`: where branches to a loop lead. */
static void open_label(Prepare *p, uint16_t op, bool dead, uint32_t start) {
    const WasmFrame *f = &vec_last(&p->t->frames);
    Label l = {.op = op, .dead = dead, .start = start};
    l.height = slots(p, f->height);
    l.arity = wasm_frame_label(p->m, f).len;
    if (op == WASM_OP_IF && !dead) {
        put1(p, EVAL_OP_BR_UNLESS, 0);
        l.otherwise = prepare_here(p) - 1;
    }
    vec_push(&p->labels, l);
}

/* Before the typer's step over `else`. */
static void put_else(Prepare *p, bool dead) {
    Label *l = &vec_last(&p->labels);
    if (!dead) {
        prepare_put(p, EVAL_OP_BR);
        put_target(p, l);
    }
    if (l->otherwise)
        p->code->words.at[l->otherwise] = prepare_here(p);
    l->otherwise = 0;
}

/* ---- instructions ---- */

static void prepare_put_memory(Prepare *p, const WasmInstr *i) {
    if (i->c > UINT32_MAX)
        prepare_put(p, EVAL_OP_OUTSIDE);
    else
        put2(p, i->op, i->b, (uint32_t)i->c);
}

/* Instructions that are neither constructs nor branches, with immediates as in the table. */
static void prepare_put_plain(Prepare *p, const WasmInstr *i) {
    WasmImm imm = wasm_ops[i->op].imm;
    switch (imm) {
    case WASM_IMM_I32:
    case WASM_IMM_F32: put1(p, EVAL_OP_CONST32, (uint32_t)i->c); break;
    case WASM_IMM_I64:
    case WASM_IMM_F64: put2(p, EVAL_OP_CONST64, (uint32_t)i->c, (uint32_t)(i->c >> 32)); break;
    case WASM_IMM_HEAP: put1(p, EVAL_OP_CONST32, 0); break; /* ref.null */
    case WASM_IMM_MEMARG: prepare_put_memory(p, i); break;
    default:
        switch (wasm_imm_indices(imm)) {
        case 2: put2(p, i->op, i->a, i->b); break;
        case 1: put1(p, i->op, i->a); break;
        default: prepare_put(p, i->op); break;
        }
    }
}

/* A tail call is the call with the same immediates, marked. */
static void put_tail_call(Prepare *p, const WasmInstr *i) {
    WasmInstr call = *i;
    switch (wasm_ops[i->op].imm) {
    case WASM_IMM_FUNC: call.op = WASM_OP_CALL; break;
    case WASM_IMM_TYPE: call.op = WASM_OP_CALL_REF; break;
    default: call.op = WASM_OP_CALL_INDIRECT; break;
    }
    prepare_put(p, EVAL_OP_TAIL);
    prepare_put_plain(p, &call);
}

/* An instruction that can be reached, before the typer's step. */
static void prepare_put_instr(Prepare *p, const WasmInstr *i) {
    uint32_t operands = p->t->stack.len;
    if (!eval_knows(i)) {
        put1(p, EVAL_OP_UNKNOWN, i->op);
        return;
    }
    switch (i->op) {
    case WASM_OP_NOP:
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF:
    case WASM_OP_ELSE:
    /* These do not change the slot. */
    case WASM_OP_I32_REINTERPRET_F32:
    case WASM_OP_I64_REINTERPRET_F64:
    case WASM_OP_F32_REINTERPRET_I32:
    case WASM_OP_F64_REINTERPRET_I64:
    case WASM_OP_I64_EXTEND_I32_U: break;
    case WASM_OP_BR: prepare_put_branch(p, label(p, i->a), operands); break;
    case WASM_OP_BR_IF: put_br_if(p, label(p, i->a), operands - 1); break;
    case WASM_OP_BR_TABLE: put_br_table(p, i); break;
    case WASM_OP_BR_ON_NULL: put_skipped(p, EVAL_OP_BR_VALUE, label(p, i->a), operands - 1); break;
    case WASM_OP_BR_ON_NON_NULL: put_skipped(p, EVAL_OP_BR_NULL, label(p, i->a), operands); break;
    case WASM_OP_RETURN: prepare_put(p, EVAL_OP_RETURN); break;
    case WASM_OP_TYPED_SELECT: prepare_put(p, WASM_OP_SELECT); break;
    case WASM_OP_GLOBAL_GET:
    case WASM_OP_GLOBAL_SET:
        if (p->in->globals[i->a]->opaque)
            put1(p, EVAL_OP_UNKNOWN, i->op);
        else
            put1(p, i->op, i->a);
        break;
    default:
        if (wasm_flow(i->op) == WASM_FLOW_TAIL_CALL)
            put_tail_call(p, i);
        else
            prepare_put_plain(p, i);
        break;
    }
}

/* ---- bodies ---- */

static void prepare_put_count(Prepare *p, const WasmInstr *i) {
    if (!p->counting)
        return;
    put1(p, EVAL_OP_COUNT, p->code->counts.len);
    vec_push(&p->code->counts, ((EvalCount){i->offset, 0}));
}

/* The end of the innermost construct. It takes no words of its own. */
static void close_label(Prepare *p, const WasmInstr *i) {
    prepare_bind(p, &vec_last(&p->labels));
    if (p->counting && !vec_last(&p->labels).dead) {
        vec_push(&p->code->sites, (EvalSite){prepare_here(p), i->offset});
        prepare_put_count(p, i);
    }
    p->labels.len--;
}

static void prepare_step(Prepare *p, const WasmInstr *i, uint32_t *deepest) {
    bool dead = vec_last(&p->labels).dead || wasm_typer_dead(p->t);
    uint32_t start = prepare_here(p);
    if (!dead && i->op != WASM_OP_END) {
        vec_push(&p->code->sites, (EvalSite){prepare_here(p), i->offset});
        prepare_put_count(p, i);
        prepare_put_instr(p, i);
        if (vec_last(&p->code->sites).word == prepare_here(p))
            p->code->sites.len--; /* no words, no site; an `if` gets one below */
    }
    if (i->op == WASM_OP_ELSE)
        put_else(p, dead);
    wasm_typer_step(p->t, i);
    switch (i->op) {
    case WASM_OP_IF:
        if (!dead)
            vec_push(&p->code->sites, (EvalSite){prepare_here(p), i->offset});
        open_label(p, i->op, dead, start);
        break;
    case WASM_OP_TRY: /* these two do not run */
    case WASM_OP_TRY_TABLE:
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP: open_label(p, i->op, dead, start); break;
    case WASM_OP_DELEGATE:
    case WASM_OP_END: close_label(p, i); break;
    default: break;
    }
    if (p->t->stack.len > *deepest)
        *deepest = p->t->stack.len;
}

bool eval_prepare(EvalStore *s, EvalFunc *f, EvalError *error) {
    assert(!f->code && f->instance);
    const WasmModule *m = f->instance->module;
    Prepare p = {.in = f->instance, .m = m, .t = &s->typer, .counting = s->counting};
    WasmCode code;
    WasmInstr i;
    if (!wasm_typer_begin(p.t, m, f->index, &code)) {
        eval_fail(error, EVAL_UNSUPPORTED, "function %u is not valid: %s", f->index, p.t->error);
        return false;
    }
    p.code = mem_zalloc(sizeof *p.code);
    p.code->nlocals = p.t->locals.len;
    uint32_t deepest = f->nresults;
    vec_push(&p.labels,
             (Label){.op = WASM_OP_COUNT, .height = p.code->nlocals, .arity = f->nresults});
    while (p.labels.len && wasm_next(&code, &i))
        prepare_step(&p, &i, &deepest);
    prepare_put(&p, EVAL_OP_RETURN);
    /* Parameters and results have the same location. */
    p.code->slots = p.code->nlocals + deepest;
    vec_free(&p.labels);
    f->code = p.code;
    return true;
}

uint32_t eval_site(const EvalCode *code, uint32_t word) {
    assert(code->sites.len && word < code->words.len);
    uint32_t low = 0, high = code->sites.len;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (code->sites.at[middle].word <= word)
            low = middle;
        else
            high = middle;
    }
    return code->sites.len ? code->sites.at[low].pc : 0;
}

void eval_code_free(EvalCode *code) {
    if (!code)
        return;
    vec_free(&code->words);
    vec_free(&code->sites);
    vec_free(&code->counts);
    free(code);
}
