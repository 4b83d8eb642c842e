/*
 * valid/signature_check.c - fixed types of instructions, and whether what an instruction names is
 * there; messages.
 */
#include <stdarg.h>
#include <stdio.h>

#include "valid/signature.h"

/* ---- the table ---- */

#define LETTER_TYPE(c)                                                                             \
    ((c) == 'i'   ? WASM_I32                                                                       \
     : (c) == 'l' ? WASM_I64                                                                       \
     : (c) == 'f' ? WASM_F32                                                                       \
     : (c) == 'd' ? WASM_F64                                                                       \
     : (c) == 'v' ? WASM_V128                                                                      \
                  : 0)
#define LEN(s)             (sizeof(s) - 1)
#define CHAR(s, k)         ((s)[LEN(s) > (k) ? (k) : 0])
#define STARS(s)           (CHAR(s, 0) == '*')
#define PARAM(s, k)        (LEN(s) > (k) ? LETTER_TYPE(CHAR(s, k)) : 0)
#define KIND_NONE          WASM_SIG_SIMPLE
#define KIND_I32           WASM_SIG_SIMPLE
#define KIND_I64           WASM_SIG_SIMPLE
#define KIND_F32           WASM_SIG_SIMPLE
#define KIND_F64           WASM_SIG_SIMPLE
#define KIND_V128          WASM_SIG_SIMPLE
#define KIND_ZERO          WASM_SIG_SIMPLE
#define KIND_MEMARG        WASM_SIG_MEMORY
#define KIND_LANE          WASM_SIG_LANE
#define KIND_LANES16       WASM_SIG_LANE
#define KIND_MEMARG_LANE   WASM_SIG_LANE
#define KIND_BLOCK         WASM_SIG_OTHER
#define KIND_TRY_TABLE     WASM_SIG_OTHER
#define KIND_RESUME        WASM_SIG_OTHER
#define KIND_RESUME_TAG    WASM_SIG_OTHER
#define KIND_LABEL         WASM_SIG_OTHER
#define KIND_BR_TABLE      WASM_SIG_OTHER
#define KIND_FUNC          WASM_SIG_OTHER
#define KIND_TYPE          WASM_SIG_OTHER
#define KIND_TYPE_TABLE    WASM_SIG_OTHER
#define KIND_LOCAL         WASM_SIG_OTHER
#define KIND_GLOBAL        WASM_SIG_OTHER
#define KIND_TABLE         WASM_SIG_OTHER
#define KIND_TAG           WASM_SIG_OTHER
#define KIND_MEMORY        WASM_SIG_OTHER
#define KIND_DATA          WASM_SIG_OTHER
#define KIND_ELEM          WASM_SIG_OTHER
#define KIND_HEAP          WASM_SIG_OTHER
#define KIND_SELECT        WASM_SIG_OTHER
#define KIND_DATA_MEMORY   WASM_SIG_OTHER
#define KIND_MEMORY_MEMORY WASM_SIG_OTHER
#define KIND_ELEM_TABLE    WASM_SIG_OTHER
#define KIND_TABLE_TABLE   WASM_SIG_OTHER
#define KIND_TYPE_FIELD    WASM_SIG_OTHER
#define KIND_TYPE_U32      WASM_SIG_OTHER
#define KIND_TYPE_DATA     WASM_SIG_OTHER
#define KIND_TYPE_ELEM     WASM_SIG_OTHER
#define KIND_TYPE_TYPE     WASM_SIG_OTHER
#define KIND_TYPE_TAG      WASM_SIG_OTHER
#define KIND_CAST          WASM_SIG_OTHER
/* log2 of the N in "mem(N,...": the atomic waits say 0 there, they access 4 bytes, wait64 8 */
#define ALIGN(names, code)                                                                         \
    (CHAR(names, 4) == '8'   ? 3                                                                   \
     : CHAR(names, 4) == '4' ? 2                                                                   \
     : CHAR(names, 4) == '2' ? 1                                                                   \
     : CHAR(names, 4) == '0' ? ((code) == 2 ? 3 : 2)                                               \
     : CHAR(names, 5) == '6' ? 4                                                                   \
                             : 0)

const WasmSimpleSig wasm_simple_sigs[WASM_OP_COUNT] = {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    {STARS(operands) || STARS(results) ? WASM_SIG_OTHER : KIND_##imm,                              \
     LEN(operands),                                                                                \
     LEN(results),                                                                                 \
     {PARAM(operands, 0), PARAM(operands, 1), PARAM(operands, 2), PARAM(operands, 3)},             \
     {PARAM(results, 0), PARAM(results, 1)},                                                       \
     ALIGN(names, code)},
#include "wasm/opcode.def"
};

/* ---- messages ---- */

const char *wasm_type_words(WasmType t, char buf[32]) {
    if (t == WASM_BOT || t == WASM_NONE || t == WASM_BOT_REF) {
        snprintf(buf, 32, "%s",
                 t == WASM_BOT    ? "a value"
                 : t == WASM_NONE ? "nothing"
                                  : "a reference");
        return buf;
    }
    return wasm_type_text(t, buf);
}

bool wasm_sig_fail(WasmSig *s, const char *format, ...) {
    if (!s->error)
        return false;
    size_t size = sizeof s->t->error;
    int n = snprintf(s->error, size, "%s: ", wasm_ops[s->i->op].mnemonic);
    va_list ap;
    va_start(ap, format);
    vsnprintf(s->error + n, size - (size_t)n, format, ap);
    va_end(ap);
    return false;
}

/* ---- what is there ---- */

bool wasm_sig_exists(WasmSig *s, const char *what, uint32_t index, uint32_t count) {
    if (index < count)
        return true;
    if (count == 0)
        return wasm_sig_fail(s, "%s %u does not exist (there is none)", what, index);
    return wasm_sig_fail(s, "%s %u does not exist (the last is %u)", what, index, count - 1);
}

static const char *const kind_names[] = {"function", "structure", "array", "continuation"};

const WasmTypeDef *wasm_sig_def(WasmSig *s, uint32_t index, WasmTypeKind kind) {
    if (!wasm_sig_exists(s, "type", index, s->t->m->types.len))
        return NULL;
    const WasmTypeDef *d = &s->t->m->types.at[index];
    if (d->kind != kind) {
        wasm_sig_fail(s, "type %u is %s %s type, expected %s %s type", index,
                      d->kind == WASM_TYPE_ARRAY ? "an" : "a", kind_names[d->kind],
                      kind == WASM_TYPE_ARRAY ? "an" : "a", kind_names[kind]);
        return NULL;
    }
    return d;
}

bool wasm_sig_elem_exists(WasmSig *s, uint32_t elem) {
    return wasm_sig_exists(s, "element segment", elem, s->t->m->elems.len);
}

bool wasm_sig_elements_fit(WasmSig *s, WasmType from, WasmType to) {
    char a[32], b[32];
    return wasm_subtype(s->t->m, from, to) ||
           wasm_sig_fail(s, "expected elements of type %s, found %s", wasm_type_words(to, b),
                         wasm_type_words(from, a));
}

bool wasm_sig_segment_fits(WasmSig *s, uint32_t elem, WasmType to) {
    return wasm_sig_elem_exists(s, elem) &&
           wasm_sig_elements_fit(s, s->t->m->elems.at[elem].type, to);
}

bool wasm_sig_data_exists(WasmSig *s, uint32_t data) {
    const WasmModule *m = s->t->m;
    if (m->has_data_count && data < m->data_count) /* the segments may still be read */
        return true;
    if (!wasm_sig_exists(s, "data segment", data, wasm_space_count(m, WASM_SPACE_DATA)))
        return false;
    if (!m->has_data_count && data < m->input_count[WASM_SPACE_DATA])
        return wasm_sig_fail(s,
                             "the module has no data count section, which this instruction needs");
    return true;
}

bool wasm_sig_declared(WasmSig *s, uint32_t func) {
    const WasmModule *m = s->t->m;
    bool in_body = s->t->func != UINT32_MAX; /* a constant expression declares it by naming it */
    if (in_body && m->declared && func < m->input_count[WASM_SPACE_FUNC] && !m->declared[func])
        return wasm_sig_fail(s, "function %u is not declared (exported or in an element segment)",
                             func);
    return true;
}

/* ---- memory arguments and lanes ---- */

static uint32_t lane_count(WasmOp op) {
    switch (wasm_ops[op].mnemonic[1]) { /* i8x16, i16x8, i32x4, f64x2 */
    case '8': return 16;
    case '1': return 8;
    case '3': return 4;
    default: return 2;
    }
}

static bool check_memarg(WasmSig *s) {
    const WasmInstr *i = s->i;
    if (!wasm_sig_exists(s, "memory", i->b, s->t->m->memories.len))
        return false;
    uint32_t align = wasm_simple_sigs[i->op].align;
    bool atomic = wasm_ops[i->op].category == WASM_CAT_ATOMIC;
    if (i->a > align || (atomic && i->a != align))
        return wasm_sig_fail(s, "expected an alignment of %s2^%u bytes, found 2^%u",
                             atomic ? "" : "at most ", align, i->a);
    if (i->c > UINT32_MAX && !s->t->m->memories.at[i->b].limits.is64)
        return wasm_sig_fail(s, "offset %llu is outside the memory's 32 bits",
                             (unsigned long long)i->c);
    return true;
}

bool wasm_sig_check_simple(WasmSig *s) {
    const WasmInstr *i = s->i;
    uint32_t lane = 0, lanes = 1;
    switch (wasm_ops[i->op].imm) {
    case WASM_IMM_MEMARG: return check_memarg(s);
    case WASM_IMM_MEMARG_LANE:
        if (!check_memarg(s))
            return false;
        lane = i->count;
        lanes = 16u >> wasm_simple_sigs[i->op].align;
        break;
    case WASM_IMM_LANE:
        lane = i->a;
        lanes = lane_count((WasmOp)i->op);
        break;
    case WASM_IMM_LANES16:
        lanes = 32;
        for (uint32_t k = 0; k < 16; k++)
            if (i->vec[k] > lane)
                lane = i->vec[k];
        break;
    default: break;
    }
    if (lane >= lanes)
        return wasm_sig_fail(s, "lane %u does not exist (the last is %u)", lane, lanes - 1);
    return true;
}
