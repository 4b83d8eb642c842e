/*
 * valid/typer_run.c - the instructions that most code consists of, checked without decoding them
 * into a WasmInstr.
 *
 * An instruction is taken if it is of a common form and valid. Any other is left to wasm_next and
 * wasm_typer_step, which know all forms and report mistakes.
 */
#include "valid/signature.h"
#include "valid/typer.h"

/* Actions at opcodes of one byte. */
typedef enum RunForm {
    RUN_OTHER,
    RUN_NOTHING,  /* neither operands nor results */
    RUN_UNARY,    /* from one operand to a result, fixed types, no immediate */
    RUN_BINARY,   /* ... from two */
    RUN_NUMBER,   /* a number that is any, of 32 bits */
    RUN_LONG,     /* ... of 64 bits */
    RUN_NUMBER_4, /* ... of so many bytes */
    RUN_NUMBER_8,
    RUN_LOAD,
    RUN_STORE,
    RUN_GET,
    RUN_SET,
    RUN_TEE,
    RUN_GLOBAL_GET,
    RUN_GLOBAL_SET,
    RUN_DROP,
    RUN_OPEN, /* block, loop */
    RUN_IF,
    RUN_ELSE,
    RUN_END,
    RUN_BR,
    RUN_BR_IF,
    RUN_RETURN,
    RUN_TRAP,
    RUN_CALL,
    RUN_CALL_INDIRECT,
    RUN_SELECT,
} RunForm;

/* The form of an instruction whose types are fixed, by its immediates. */
#define SIMPLE_FORM(imm, operands, results)                                                        \
    ((imm) == WASM_IMM_I32                                             ? RUN_NUMBER                \
     : (imm) == WASM_IMM_I64                                           ? RUN_LONG                  \
     : (imm) == WASM_IMM_F32                                           ? RUN_NUMBER_4              \
     : (imm) == WASM_IMM_F64                                           ? RUN_NUMBER_8              \
     : (imm) == WASM_IMM_MEMARG && COUNTS_ARE(1, 1, operands, results) ? RUN_LOAD                  \
     : (imm) == WASM_IMM_MEMARG && COUNTS_ARE(2, 0, operands, results) ? RUN_STORE                 \
     : (imm) != WASM_IMM_NONE                                          ? RUN_OTHER                 \
     : COUNTS_ARE(0, 0, operands, results)                             ? RUN_NOTHING               \
     : COUNTS_ARE(1, 1, operands, results)                             ? RUN_UNARY                 \
     : COUNTS_ARE(2, 1, operands, results)                             ? RUN_BINARY                \
                                                                       : RUN_OTHER)
#define COUNTS_ARE(from, to, operands, results)                                                    \
    (sizeof(operands) == (from) + 1 && sizeof(results) == (to) + 1)
#define IS_STAR(types) (sizeof(types) == 2 && (types)[0] == '*')
#define FORM(op, operands, results, imm)                                                           \
    ((op) == WASM_OP_LOCAL_GET                       ? RUN_GET                                     \
     : (op) == WASM_OP_LOCAL_SET                     ? RUN_SET                                     \
     : (op) == WASM_OP_LOCAL_TEE                     ? RUN_TEE                                     \
     : (op) == WASM_OP_GLOBAL_GET                    ? RUN_GLOBAL_GET                              \
     : (op) == WASM_OP_GLOBAL_SET                    ? RUN_GLOBAL_SET                              \
     : (op) == WASM_OP_DROP                          ? RUN_DROP                                    \
     : (op) == WASM_OP_BLOCK || (op) == WASM_OP_LOOP ? RUN_OPEN                                    \
     : (op) == WASM_OP_IF                            ? RUN_IF                                      \
     : (op) == WASM_OP_ELSE                          ? RUN_ELSE                                    \
     : (op) == WASM_OP_END                           ? RUN_END                                     \
     : (op) == WASM_OP_BR                            ? RUN_BR                                      \
     : (op) == WASM_OP_BR_IF                         ? RUN_BR_IF                                   \
     : (op) == WASM_OP_RETURN                        ? RUN_RETURN                                  \
     : (op) == WASM_OP_UNREACHABLE                   ? RUN_TRAP                                    \
     : (op) == WASM_OP_CALL                          ? RUN_CALL                                    \
     : (op) == WASM_OP_CALL_INDIRECT                 ? RUN_CALL_INDIRECT                           \
     : (op) == WASM_OP_SELECT                        ? RUN_SELECT                                  \
     : IS_STAR(operands) || IS_STAR(results)         ? RUN_OTHER                                   \
                                                     : SIMPLE_FORM(imm, operands, results))
/* By the first byte. */
typedef struct RunOp {
    uint16_t op;  /* WasmOp */
    uint8_t form; /* RunForm */
} RunOp;
static const RunOp run_ops[256] = {
#define OP_0x00(code, ...) [code] = {__VA_ARGS__},
#define OP_0xfb(code, ...)
#define OP_0xfc(code, ...)
#define OP_0xfd(code, ...)
#define OP_0xfe(code, ...)
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    OP_##prefix(code, WASM_OP_##id, FORM(WASM_OP_##id, operands, results, WASM_IMM_##imm))
#include "wasm/opcode.def"
};

static inline const WasmSimpleSig *sig(const RunOp *is) {
    return &wasm_simple_sigs[is->op];
}

/* The operand stack and the innermost construct, at hand. */
typedef struct Run {
    WasmTyper *t;
    WasmNotes *notes;
    const uint8_t *from, *end; /* of the code; from `from` on it is looked at, */
    uint32_t offset;           /* which is here in the body */
    uint32_t len, height;
    WasmType *stack;  /* has room for as many as there are bytes of code to look at */
    WasmType address; /* of memory 0; WASM_NONE = there is none */
} Run;

/* Where an instruction is in the body. */
static inline uint32_t typer_run_offset_of(const Run *r, const uint8_t *at) {
    return r->offset + (uint32_t)(at - r->from);
}

/* The operand on top is of this type exactly. */
static inline bool typer_run_top_is(const Run *r, WasmType type) {
    return r->len > r->height && r->stack[r->len - 1] == type;
}

/* Whether there are n operands. */
static inline bool typer_run_has(const Run *r, uint32_t n) {
    return r->len - r->height >= n;
}

/* A number more. */
static inline bool typer_run_push(Run *r, WasmType type) {
    r->stack[r->len++] = type;
    return true;
}

/* From operands of fixed types to a result; the first one of a load is an address. */
static inline bool typer_run_unary(Run *r, WasmType from, WasmType to) {
    if (!typer_run_top_is(r, from))
        return false;
    r->stack[r->len - 1] = to;
    return true;
}

static inline bool typer_run_binary(Run *r, const WasmSimpleSig *g) {
    if (!typer_run_has(r, 2) || r->stack[r->len - 2] != g->params[0] ||
        r->stack[r->len - 1] != g->params[1])
        return false;
    r->len--;
    r->stack[r->len - 1] = g->results[0];
    return true;
}

static inline bool typer_run_store(Run *r, WasmType value) {
    if (!typer_run_has(r, 2) || r->stack[r->len - 2] != r->address || r->stack[r->len - 1] != value)
        return false;
    r->len -= 2;
    return true;
}

static inline bool typer_run_get(Run *r, const WasmTypes *locals, uint32_t local) {
    if (local >= locals->len)
        return false;
    return typer_run_push(r, locals->at[local]);
}

static inline bool typer_run_set(Run *r, const WasmTypes *locals, uint32_t local, bool pops) {
    if (local >= locals->len || !typer_run_top_is(r, locals->at[local]))
        return false;
    r->len -= pops;
    return true;
}

static inline bool get_global(Run *r, const WasmModule *m, uint32_t global) {
    if (global >= m->globals.len)
        return false;
    return typer_run_push(r, m->globals.at[global].type);
}

static inline bool set_global(Run *r, const WasmModule *m, uint32_t global) {
    if (global >= m->globals.len || !m->globals.at[global].mutable ||
        !typer_run_top_is(r, m->globals.at[global].type))
        return false;
    r->len--;
    return true;
}

/* A construct without parameters and results, whose condition (if it has one) is popped. */
static inline bool typer_run_open(Run *r, uint16_t op, const uint8_t *at, bool pops) {
    if (pops && !typer_run_top_is(r, WASM_I32))
        return false;
    r->len -= pops;
    r->height = r->len;
    wasm_open_frame(r->t, op, WASM_NONE, r->len, typer_run_offset_of(r, at));
    return true;
}

/* Whether the innermost construct is one without results whose code is complete here. */
static inline bool is_finished(const Run *r, const WasmFrame *f) {
    return f->block_type == WASM_NONE && f->op != WASM_OP_COUNT && r->len == r->height;
}

/* The end of the body, of a function of one result at most. */
static inline bool end_body(Run *r, const uint8_t *at) {
    WasmTypeList results = wasm_frame_results(r->t->m, &r->t->frames.at[0]);
    if (at + 1 != r->end || results.len > 1 || r->len != results.len ||
        (results.len && !typer_run_top_is(r, results.at[0])))
        return false;
    r->t->frames.len = 0;
    return true;
}

static inline bool typer_run_end(Run *r, const uint8_t *at) {
    if (r->t->frames.len == 1)
        return end_body(r, at);
    if (!is_finished(r, &vec_last(&r->t->frames)))
        return false;
    r->t->frames.len--;
    r->height = vec_last(&r->t->frames).height;
    return true;
}

static inline bool typer_run_other_arm(Run *r) {
    WasmFrame *f = &vec_last(&r->t->frames);
    if (f->op != WASM_OP_IF || !is_finished(r, f))
        return false;
    f->op = WASM_OP_ELSE;
    f->unreachable = false;
    return true;
}

static inline void stop(Run *r) {
    vec_last(&r->t->frames).unreachable = true;
    r->len = r->height;
}

/* Branches to labels without operands. */
static inline bool typer_run_branch(Run *r, uint32_t depth, bool always) {
    if (depth >= r->t->frames.len || wasm_label(r->t, depth)->block_type != WASM_NONE ||
        !(always || typer_run_top_is(r, WASM_I32)))
        return false;
    if (always)
        stop(r);
    else
        r->len--;
    return true;
}

/* From functions of one result at most. */
static inline bool typer_run_leave(Run *r) {
    WasmTypeList results = wasm_frame_results(r->t->m, &r->t->frames.at[0]);
    if (results.len > 1 || (results.len && !typer_run_top_is(r, results.at[0])))
        return false;
    stop(r);
    return true;
}

/* Takes the operands of a function from the stack and puts its result there, one at most. */
static inline bool typer_run_call_type(Run *r, const WasmTypeDef *d) {
    if (!typer_run_has(r, d->nparams) || d->nresults > 1)
        return false;
    const WasmType *operands = r->stack + (r->len - d->nparams);
    for (uint32_t k = 0; k < d->nparams; k++)
        if (operands[k] != d->params[k])
            return false;
    r->len -= d->nparams;
    return !d->nresults || typer_run_push(r, d->results[0]);
}

static inline bool typer_run_call(Run *r, uint32_t func, const uint8_t *at) {
    const WasmModule *m = r->t->m;
    if (func >= m->funcs.len || !typer_run_call_type(r, wasm_func_type(m, func)))
        return false;
    wasm_note_ref(r->notes, typer_run_offset_of(r, at));
    return true;
}

static inline bool typer_run_call_indirect(Run *r, uint32_t type, uint32_t table) {
    const WasmModule *m = r->t->m;
    if (type >= m->types.len || m->types.at[type].kind != WASM_TYPE_FUNC ||
        table >= m->tables.len || m->tables.at[table].type != WASM_FUNCREF ||
        !typer_run_top_is(r, wasm_table_address(m, table)))
        return false;
    r->len--;
    if (typer_run_call_type(r, &m->types.at[type]))
        return true;
    r->len++;
    return false;
}

/* Of numbers and vectors. */
static inline bool typer_run_choose(Run *r) {
    if (!typer_run_has(r, 3) || !typer_run_top_is(r, WASM_I32))
        return false;
    const WasmType *operands = r->stack + (r->len - 3);
    if (operands[0] != operands[1] || operands[0] == WASM_BOT || WASM_IS_REF(operands[0]))
        return false;
    r->len -= 2;
    return true;
}

/* How many bytes a number of 32 bits has; 0 = it is not one. */
static inline uint32_t typer_run_number(const uint8_t *at, uint32_t *v) {
    uint64_t wide = *at;
    uint32_t n = wide < 0x80 ? 1 : wasm_uleb_of_5(at, &wide);
    *v = (uint32_t)wide;
    return wide <= UINT32_MAX ? n : 0;
}

/* The same for one with a sign, whose value does not matter. */
static inline uint32_t signed_number(const uint8_t *at) {
    uint64_t v = *at;
    uint32_t n = v < 0x80 ? 1 : wasm_uleb_of_5(at, &v);
    return n < 5 || wasm_sleb_of_5(v, n) == (int32_t)v ? n : 0;
}

/* How many bytes a number of 64 bits takes, up to eight, in which it cannot be wrong; 0 = more. */
static inline uint32_t long_number(const uint8_t *at) {
    const uint64_t last = 0x8080808080808080;
    uint64_t stop = ~u64le(at) & last;
    return *at < 0x80 ? 1 : stop ? (uint32_t)(__builtin_ctzll(stop) + 1) / 8 : 0;
}

/* How many bytes a memory argument has; 0 = it is another one. */
static inline uint32_t memory_argument(const uint8_t *at, const WasmSimpleSig *g) {
    uint32_t v, n;
    return at[0] <= g->align && (n = typer_run_number(at + 1, &v)) ? 1 + n : 0;
}

/* Applies the instruction at `at`; returns its size, 0 = it is not taken. */
static inline uint32_t typer_run_apply(Run *r, const RunOp *is, const uint8_t *at) {
    const WasmTyper *t = r->t;
    uint32_t v, w, n, k;
    switch ((RunForm)is->form) {
    case RUN_OTHER: return 0;
    case RUN_NOTHING: return 1;
    case RUN_UNARY: return typer_run_unary(r, sig(is)->params[0], sig(is)->results[0]);
    case RUN_BINARY: return typer_run_binary(r, sig(is));
    case RUN_NUMBER:
        return (n = signed_number(at + 1)) && typer_run_push(r, sig(is)->results[0]) ? 1 + n : 0;
    case RUN_LONG:
        return (n = long_number(at + 1)) && typer_run_push(r, sig(is)->results[0]) ? 1 + n : 0;
    case RUN_NUMBER_4: return r->end - at >= 5 && typer_run_push(r, sig(is)->results[0]) ? 5 : 0;
    case RUN_NUMBER_8: return r->end - at >= 9 && typer_run_push(r, sig(is)->results[0]) ? 9 : 0;
    case RUN_LOAD:
        return (n = memory_argument(at + 1, sig(is))) &&
                       typer_run_unary(r, r->address, sig(is)->results[0])
                   ? 1 + n
                   : 0;
    case RUN_STORE:
        return (n = memory_argument(at + 1, sig(is))) && typer_run_store(r, sig(is)->params[1])
                   ? 1 + n
                   : 0;
    case RUN_GET:
        return (n = typer_run_number(at + 1, &v)) && typer_run_get(r, &t->locals, v) ? 1 + n : 0;
    case RUN_SET:
        return (n = typer_run_number(at + 1, &v)) && typer_run_set(r, &t->locals, v, true) ? 1 + n
                                                                                           : 0;
    case RUN_TEE:
        return (n = typer_run_number(at + 1, &v)) && typer_run_set(r, &t->locals, v, false) ? 1 + n
                                                                                            : 0;
    case RUN_GLOBAL_GET:
        return (n = typer_run_number(at + 1, &v)) && get_global(r, t->m, v) ? 1 + n : 0;
    case RUN_GLOBAL_SET:
        return (n = typer_run_number(at + 1, &v)) && set_global(r, t->m, v) ? 1 + n : 0;
    case RUN_DROP: return r->len > r->height ? r->len--, 1 : 0;
    case RUN_OPEN: return at[1] == WASM_NONE && typer_run_open(r, is->op, at, false) ? 2 : 0;
    case RUN_IF: return at[1] == WASM_NONE && typer_run_open(r, is->op, at, true) ? 2 : 0;
    case RUN_ELSE: return typer_run_other_arm(r);
    case RUN_END: return typer_run_end(r, at);
    case RUN_BR:
        return (n = typer_run_number(at + 1, &v)) && typer_run_branch(r, v, true) ? 1 + n : 0;
    case RUN_BR_IF:
        return (n = typer_run_number(at + 1, &v)) && typer_run_branch(r, v, false) ? 1 + n : 0;
    case RUN_RETURN: return typer_run_leave(r);
    case RUN_TRAP: stop(r); return 1;
    case RUN_CALL:
        return (n = typer_run_number(at + 1, &v)) && typer_run_call(r, v, at) ? 1 + n : 0;
    case RUN_CALL_INDIRECT:
        return (n = typer_run_number(at + 1, &v)) && (k = typer_run_number(at + 1 + n, &w)) &&
                       typer_run_call_indirect(r, v, w)
                   ? 1 + n + k
                   : 0;
    case RUN_SELECT: return typer_run_choose(r);
    }
    __builtin_unreachable(); /* all forms of run_ops are above */
}

enum {
    LONGEST = 16, /* an instruction that is looked at may have so many bytes, or be taken to */
#ifdef NDEBUG
    AT_ONCE = 64 << 10, /* bytes of code, as the operand stack has room for each of them */
#else
    AT_ONCE = 64,
#endif
};

/* Takes instructions that begin before `to`, after which there are LONGEST bytes more. Returns
 * where the next one is. */
static const uint8_t *typer_run_run(Run *state, const uint8_t *to) {
    Run r = *state; /* in registers */
    const uint8_t *at = r.from;
    while (at < to) {
        const RunOp *is = &run_ops[*at];
        uint32_t size = typer_run_apply(&r, is, at);
        if (!size)
            break;
        r.notes->seen[is->op] = 1;
        at += size;
    }
    state->len = r.len;
    state->height = r.height;
    return at;
}

/* The same up to the end of the code, which does not have so many bytes more: they are made, of a
 * kind with which no instruction begins and no number ends. */
static const uint8_t *run_last(Run *r) {
    enum { NOTHING = 0xff };
    uint8_t bytes[2 * LONGEST];
    const uint8_t *from = r->from;
    size_t n = (size_t)(r->end - from);
    memcpy(bytes, from, n);
    memset(bytes + n, NOTHING, LONGEST);
    r->from = bytes;
    r->end = bytes + n;
    return from + (typer_run_run(r, r->end) - bytes);
}

void wasm_typer_run(WasmTyper *t, WasmCode *code, WasmNotes *notes) {
    if (!t->frames.len || t->tracks_inits || code->decoded || code->error)
        return;
    size_t left = (size_t)(code->end - code->at);
    bool whole = left <= AT_ONCE;
    vec_reserve(&t->stack, whole ? left : AT_ONCE);
    Run r = {.t = t,
             .notes = notes,
             .from = code->at,
             .end = code->end,
             .offset = (uint32_t)(code->at - code->start),
             .stack = t->stack.at,
             .len = t->stack.len,
             .height = vec_last(&t->frames).height,
             .address = t->m->memories.len ? wasm_memory_address(t->m, 0) : WASM_NONE};
    if (left > LONGEST)
        code->at = typer_run_run(&r, whole ? r.end - LONGEST : r.from + AT_ONCE - LONGEST);
    r.offset += (uint32_t)(code->at - r.from);
    r.from = code->at;
    if (r.end - r.from <= LONGEST)
        code->at = run_last(&r);
    t->stack.len = r.len;
}
