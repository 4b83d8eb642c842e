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
    RUN_PLAIN,  /* fixed types, no immediate */
    RUN_NUMBER, /* fixed types, a number that is any */
    RUN_FIXED4, /* fixed types, so many bytes */
    RUN_FIXED8,
    RUN_MEMORY, /* fixed types but for the address, memory argument */
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
#define SIMPLE_FORM(imm)                                                                           \
    ((imm) == WASM_IMM_NONE                           ? RUN_PLAIN                                  \
     : (imm) == WASM_IMM_I32 || (imm) == WASM_IMM_I64 ? RUN_NUMBER                                 \
     : (imm) == WASM_IMM_F32                          ? RUN_FIXED4                                 \
     : (imm) == WASM_IMM_F64                          ? RUN_FIXED8                                 \
     : (imm) == WASM_IMM_MEMARG                       ? RUN_MEMORY                                 \
                                                      : RUN_OTHER)
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
                                                     : SIMPLE_FORM(imm))
/* By the first byte. */
static const uint8_t forms[256] = {
#define OP_0x00(code, form) [code] = form,
#define OP_0xfb(code, form)
#define OP_0xfc(code, form)
#define OP_0xfd(code, form)
#define OP_0xfe(code, form)
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    OP_##prefix(code, FORM(WASM_OP_##id, operands, results, WASM_IMM_##imm))
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

static inline bool simple(Run *r, const WasmSimpleSig *g) {
    uint32_t n = g->nparams;
    if (r->len - r->height < n)
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (r->stack[r->len - n + k] != (g->params[k] ? g->params[k] : r->address))
            return false;
    r->len -= n;
    r->stack[r->len] = g->result;
    r->len += g->nresults;
    return true;
}

static inline bool get(Run *r, const WasmTypes *locals, uint32_t local) {
    if (local >= locals->len)
        return false;
    r->stack[r->len++] = locals->at[local];
    return true;
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
    r->stack[r->len++] = m->globals.at[global].type;
    return true;
}

static inline bool set_global(Run *r, const WasmModule *m, uint32_t global) {
    if (global >= m->globals.len || !m->globals.at[global].mutable ||
        !top_is(r, m->globals.at[global].type))
        return false;
    r->len--;
    return true;
}

/* A construct without parameters and results, whose condition (if it has one) is popped. */
static bool open(Run *r, uint16_t op, uint32_t offset, bool pops) {
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

/* Applies the instruction at `at`; returns its size, 0 = it is not taken. */
static inline uint32_t apply(Run *r, uint16_t op, const uint8_t *at, uint32_t offset) {
    const WasmTyper *t = r->t;
    const WasmSimpleSig *g = &wasm_simple_sigs[op];
    uint32_t v, n;
    switch ((RunForm)forms[*at]) {
    case RUN_OTHER: return 0;
    case RUN_PLAIN: return simple(r, g);
    case RUN_NUMBER: return (n = number(at + 1, &v)) && simple(r, g) ? 1 + n : 0;
    case RUN_FIXED4: return simple(r, g) ? 5 : 0;
    case RUN_FIXED8: return simple(r, g) ? 9 : 0;
    case RUN_MEMORY:
        return at[1] <= g->align && (n = number(at + 2, &v)) && simple(r, g) ? 2 + n : 0;
    case RUN_GET: return (n = number(at + 1, &v)) && get(r, &t->locals, v) ? 1 + n : 0;
    case RUN_SET: return (n = number(at + 1, &v)) && set(r, &t->locals, v, true) ? 1 + n : 0;
    case RUN_TEE: return (n = number(at + 1, &v)) && set(r, &t->locals, v, false) ? 1 + n : 0;
    case RUN_GLOBAL_GET: return (n = number(at + 1, &v)) && get_global(r, t->m, v) ? 1 + n : 0;
    case RUN_GLOBAL_SET: return (n = number(at + 1, &v)) && set_global(r, t->m, v) ? 1 + n : 0;
    case RUN_DROP: return r->len > r->height ? r->len--, 1 : 0;
    case RUN_OPEN: return at[1] == WASM_NONE && open(r, op, offset, false) ? 2 : 0;
    case RUN_IF: return at[1] == WASM_NONE && open(r, op, offset, true) ? 2 : 0;
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
    for (uint32_t n = 1; n && code->end - at >= LONGEST; at += n) {
        if (r.len == t->stack.cap)
            break;
        uint16_t op = wasm_short_ops[*at].op;
        n = apply(&r, op, at, (uint32_t)(at - code->start));
        seen[op] |= n > 0;
    }
    code->at = at;
    t->stack.len = r.len;
}
