/*
 * valid/typer_run.c - the instructions that most code consists of, checked without decoding them
 * into a WasmInstr.
 *
 * An instruction is taken if it is of a common form and valid. Any other is left where it is, to
 * wasm_next and wasm_typer_step, which know all forms and say what is wrong.
 */
#include "valid/typer.h"
#include "valid/signature.h"

/* What is to be done at the opcodes of one byte. */
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
     : IS_STAR(operands) || IS_STAR(results)         ? RUN_OTHER                                   \
                                                     : SIMPLE_FORM(imm, operands, results))
/* By the first byte. */
static const struct RunOp {
    uint16_t op;  /* WasmOp */
    uint8_t form; /* RunForm */
} run_ops[256] = {
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

/* The operand stack and the innermost construct, at hand. */
typedef struct Run {
    WasmTyper *t;
    WasmType *stack; /* has room for one more */
    uint32_t len, height;
    WasmType address; /* of memory 0; WASM_NONE = there is none */
} Run;

/* The operand on top is of this type exactly. */
static inline bool top_is(const Run *r, WasmType type) {
    return r->len > r->height && r->stack[r->len - 1] == type;
}

/* Whether there are n operands. */
static inline bool has(const Run *r, uint32_t n) {
    return r->len - r->height >= n;
}

/* A number more. */
static inline bool push(Run *r, WasmType type) {
    r->stack[r->len++] = type;
    return true;
}

/* From operands of fixed types to a result; the first one of a load is an address. */
static inline bool unary(Run *r, WasmType from, WasmType to) {
    if (!top_is(r, from))
        return false;
    r->stack[r->len - 1] = to;
    return true;
}

static inline bool binary(Run *r, const WasmSimpleSig *g) {
    if (!has(r, 2) || r->stack[r->len - 2] != g->params[0] || r->stack[r->len - 1] != g->params[1])
        return false;
    r->len--;
    r->stack[r->len - 1] = g->result;
    return true;
}

static inline bool store(Run *r, WasmType value) {
    if (!has(r, 2) || r->stack[r->len - 2] != r->address || r->stack[r->len - 1] != value)
        return false;
    r->len -= 2;
    return true;
}

static inline bool get(Run *r, const WasmTypes *locals, uint32_t local) {
    if (local >= locals->len)
        return false;
    return push(r, locals->at[local]);
}

static inline bool set(Run *r, const WasmTypes *locals, uint32_t local, bool pops) {
    if (local >= locals->len || !top_is(r, locals->at[local]))
        return false;
    r->len -= pops;
    return true;
}

static inline bool get_global(Run *r, const WasmModule *m, uint32_t global) {
    if (global >= m->globals.len)
        return false;
    return push(r, m->globals.at[global].type);
}

static inline bool set_global(Run *r, const WasmModule *m, uint32_t global) {
    if (global >= m->globals.len || !m->globals.at[global].mutable ||
        !top_is(r, m->globals.at[global].type))
        return false;
    r->len--;
    return true;
}

/* A construct without parameters and results, whose condition (if it has one) is popped. */
static inline bool open(Run *r, uint16_t op, uint32_t offset, bool pops) {
    if (pops && !top_is(r, WASM_I32))
        return false;
    r->len -= pops;
    r->height = r->len;
    wasm_open_frame(r->t, op, WASM_NONE, r->len, offset);
    return true;
}

/* Whether the innermost construct is one without results whose code is complete here. */
static inline bool is_finished(const Run *r, const WasmFrame *f) {
    return f->block_type == WASM_NONE && f->op != WASM_OP_COUNT && r->len == r->height;
}

static inline bool end(Run *r) {
    if (!is_finished(r, &vec_last(&r->t->frames)))
        return false;
    r->t->frames.len--;
    r->height = vec_last(&r->t->frames).height;
    return true;
}

static inline bool other_arm(Run *r) {
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
static inline bool branch(Run *r, uint32_t depth, bool always) {
    if (depth >= r->t->frames.len || wasm_label(r->t, depth)->block_type != WASM_NONE ||
        !(always || top_is(r, WASM_I32)))
        return false;
    if (always)
        stop(r);
    else
        r->len--;
    return true;
}

/* From functions of one result at most. */
static inline bool leave(Run *r) {
    WasmTypeList results = wasm_frame_results(r->t->m, &r->t->frames.at[0]);
    if (results.len > 1 || (results.len && !top_is(r, results.at[0])))
        return false;
    stop(r);
    return true;
}

/* How many bytes a number has that takes one, up to four; 0 = it is longer. */
static inline uint32_t number(const uint8_t *at, uint32_t *v) {
    *v = *at;
    return *at < 0x80 ? 1 : wasm_uleb_of_4(at, v);
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
    return at[0] <= g->align && (n = number(at + 1, &v)) ? 1 + n : 0;
}

/* Applies the instruction at `at`; returns its size, 0 = it is not taken. */
static inline uint32_t apply(Run *r, struct RunOp is, const uint8_t *at, uint32_t offset) {
    const WasmTyper *t = r->t;
    const WasmSimpleSig *g = &wasm_simple_sigs[is.op];
    uint32_t v, n;
    switch ((RunForm)is.form) {
    case RUN_OTHER: return 0;
    case RUN_NOTHING: return 1;
    case RUN_UNARY: return unary(r, g->params[0], g->result);
    case RUN_BINARY: return binary(r, g);
    case RUN_NUMBER: return (n = number(at + 1, &v)) && push(r, g->result) ? 1 + n : 0;
    case RUN_LONG: return (n = long_number(at + 1)) && push(r, g->result) ? 1 + n : 0;
    case RUN_NUMBER_4: return push(r, g->result) ? 5 : 0;
    case RUN_NUMBER_8: return push(r, g->result) ? 9 : 0;
    case RUN_LOAD:
        return (n = memory_argument(at + 1, g)) && unary(r, r->address, g->result) ? 1 + n : 0;
    case RUN_STORE: return (n = memory_argument(at + 1, g)) && store(r, g->params[1]) ? 1 + n : 0;
    case RUN_GET: return (n = number(at + 1, &v)) && get(r, &t->locals, v) ? 1 + n : 0;
    case RUN_SET: return (n = number(at + 1, &v)) && set(r, &t->locals, v, true) ? 1 + n : 0;
    case RUN_TEE: return (n = number(at + 1, &v)) && set(r, &t->locals, v, false) ? 1 + n : 0;
    case RUN_GLOBAL_GET: return (n = number(at + 1, &v)) && get_global(r, t->m, v) ? 1 + n : 0;
    case RUN_GLOBAL_SET: return (n = number(at + 1, &v)) && set_global(r, t->m, v) ? 1 + n : 0;
    case RUN_DROP: return r->len > r->height ? r->len--, 1 : 0;
    case RUN_OPEN: return at[1] == WASM_NONE && open(r, is.op, offset, false) ? 2 : 0;
    case RUN_IF: return at[1] == WASM_NONE && open(r, is.op, offset, true) ? 2 : 0;
    case RUN_ELSE: return other_arm(r);
    case RUN_END: return end(r);
    case RUN_BR: return (n = number(at + 1, &v)) && branch(r, v, true) ? 1 + n : 0;
    case RUN_BR_IF: return (n = number(at + 1, &v)) && branch(r, v, false) ? 1 + n : 0;
    case RUN_RETURN: return leave(r);
    }
    return 0;
}

void wasm_typer_run(WasmTyper *t, WasmCode *code, uint8_t seen[WASM_OP_SET_SIZE]) {
    enum { LONGEST = 9, ROOM = 64 };
    if (!t->frames.len || t->tracks_inits || code->decoded || code->error)
        return;
    vec_reserve(&t->stack, ROOM);
    Run r = {t, t->stack.at, t->stack.len, vec_last(&t->frames).height, WASM_NONE};
    if (t->m->memories.len)
        r.address = wasm_memory_address(t->m, 0);
    const uint8_t *at = code->at;
    uint32_t room = t->stack.cap;
    while (code->end - at >= LONGEST && r.len < room) {
        struct RunOp is = run_ops[*at];
        uint32_t size = apply(&r, is, at, (uint32_t)(at - code->start));
        if (!size)
            break;
        seen[is.op] = 1;
        at += size;
    }
    code->at = at;
    t->stack.len = r.len;
}
