/*
 * event/fold.c - static bound names at a site, and constant evaluation with the language's
 * arithmetic.
 */
#include "event/fold.h"

#include "lang/list.h"

#include <assert.h>
#include <math.h>

WasmType type_wasm(const Type *t) {
    switch (t->kind) {
    case TYPE_U64:
    case TYPE_I64: return WASM_I64;
    case TYPE_F32: return WASM_F32;
    case TYPE_F64: return WASM_F64;
    case TYPE_FUNCREF: return WASM_FUNCREF;
    default: return WASM_I32;
    }
}

/* Reduces bits to the kind's width and extends them by its signedness. */
static uint64_t fold_normalise(TypeKind kind, uint64_t bits) {
    switch (kind) {
    case TYPE_U8: return (uint8_t)bits;
    case TYPE_I8: return (uint64_t)(int64_t)(int8_t)bits;
    case TYPE_U16: return (uint16_t)bits;
    case TYPE_I16: return (uint64_t)(int64_t)(int16_t)bits;
    case TYPE_U32: return (uint32_t)bits;
    case TYPE_I32: return (uint64_t)(int64_t)(int32_t)bits;
    case TYPE_BOOL: return bits != 0;
    default: return bits;
    }
}

static Value event_fold_integer(TypeKind kind, uint64_t bits) {
    return (Value){.kind = kind, .bits = fold_normalise(kind, bits)};
}

static Value floating(TypeKind kind, double real) {
    return (Value){.kind = kind, .real = kind == TYPE_F32 ? (double)(float)real : real};
}

static Value fold_truth(bool b) {
    return (Value){.kind = TYPE_BOOL, .bits = b};
}

static Value fold_text(Str s) {
    return (Value){.kind = TYPE_STR, .text = s};
}

static bool fold_is_real(TypeKind kind) {
    return kind == TYPE_F32 || kind == TYPE_F64;
}

uint64_t value_wasm_bits(Value v) {
    if (v.kind == TYPE_F32) {
        float f = (float)v.real;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
    }
    if (v.kind == TYPE_F64) {
        uint64_t bits;
        memcpy(&bits, &v.real, sizeof bits);
        return bits;
    }
    return v.bits;
}

/* ---- static names ---- */

static double bits_to_real(TypeKind kind, uint64_t bits) {
    if (kind == TYPE_F32) {
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Immediate n in the order of the binary format. */
static bool fold_immediate(const WasmInstr *i, uint32_t n, uint64_t *out) {
    const WasmOpInfo *info = &wasm_ops[i->op];
    switch (info->imm) {
    case WASM_IMM_NONE:
    case WASM_IMM_ZERO: return false;
    case WASM_IMM_I32:
    case WASM_IMM_I64:
    case WASM_IMM_F32:
    case WASM_IMM_F64: *out = i->c; return n == 0;
    case WASM_IMM_BR_TABLE: {
        const uint8_t *at = i->vec;
        if (n > i->count)
            return false;
        *out = i->a;
        for (uint32_t k = 0; k <= n && n < i->count; k++)
            *out = wasm_vec_u32(&at);
        return true;
    }
    case WASM_IMM_MEMARG:
    case WASM_IMM_MEMARG_LANE:
        *out = n == 0 ? i->a : n == 1 ? i->b : n == 2 ? i->c : i->count;
        return n < (info->imm == WASM_IMM_MEMARG ? 3u : 4u);
    case WASM_IMM_LANES16:
    case WASM_IMM_V128: *out = n < 16 ? i->vec[n] : 0; return n < 16;
    case WASM_IMM_BLOCK:
    case WASM_IMM_TRY_TABLE:
    case WASM_IMM_SELECT:
    case WASM_IMM_HEAP: return false;
    case WASM_IMM_LANE:
    case WASM_IMM_CAST:
    case WASM_IMM_RESUME: *out = i->a; return n == 0;
    case WASM_IMM_RESUME_TAG: *out = n == 0 ? i->a : i->b; return n < 2;
    default: *out = n == 0 ? i->a : i->b; return n < wasm_imm_indices((WasmImm)info->imm);
    }
}

static Str fold_called_name(const WasmModule *m, const WasmFunc *f, NameId id) {
    const WasmImport *import = f->import >= 0 ? &m->imports.at[f->import] : NULL;
    if (id == NAME_TARGET_FN_NAME)
        return import ? import->name : f->shown;
    if (id == NAME_TARGET_FN_TYPE)
        return str_of(import ? "import" : "local");
    return import ? import->module : m->name;
}

static const WasmTypeDef *block_def(const WasmModule *m, WasmType block) {
    bool indexed = block & WASM_FUNC_TYPE_BIT && !WASM_IS_REF(block);
    return indexed ? &m->types.at[block & ~WASM_FUNC_TYPE_BIT] : NULL;
}

uint32_t br_table_depth(const WasmInstr *i, uint64_t index) {
    const uint8_t *at = i->vec;
    uint32_t depth = 0;
    for (uint64_t k = 0; k <= index && index < i->count; k++)
        depth = wasm_vec_u32(&at);
    return depth;
}

const WasmType *block_params(const WasmModule *m, const WasmType *block, uint32_t *n) {
    const WasmTypeDef *d = block_def(m, *block);
    *n = d ? d->nparams : 0;
    return d ? d->params : NULL;
}

const WasmType *block_results(const WasmModule *m, const WasmType *block, uint32_t *n) {
    const WasmTypeDef *d = block_def(m, *block);
    *n = d ? d->nresults : *block != WASM_NONE;
    return d ? d->results : block;
}

bool is_arm(WasmOp op) {
    return wasm_flow(op) == WASM_FLOW_ARM;
}

uint32_t site_silent_state(const Site *s, const Event *e) {
    if (!s->survey || !wasm_asyncify_spans(&s->survey->asyncify, s->func))
        return 0;
    bool call = e->kind == EVENT_OPCODE && wasm_flow(e->op) == WASM_FLOW_CALL;
    if (e->kind == EVENT_FUNC_ENTRY || (call && e->mode == MODE_BEFORE))
        return ASYNCIFY_REWINDING;
    if (e->kind == EVENT_FUNC_EXIT || (call && e->mode == MODE_AFTER))
        return ASYNCIFY_UNWINDING;
    return 0;
}

bool site_is_apart(const Site *s, const Event *e) {
    return (e->kind == EVENT_FUNC_ENTRY || e->kind == EVENT_FUNC_EXIT) && s->survey &&
           wasm_survey_leaves(s->survey, s->m, s->func);
}

uint32_t accessed_memory(const WasmInstr *i, uint32_t n) {
    assert(n < 2);
    switch (wasm_ops[i->op].imm) {
    case WASM_IMM_MEMORY: return i->a;
    case WASM_IMM_MEMORY_MEMORY: return n ? i->b : i->a;
    default: return i->b; /* memargs, memory.init */
    }
}

uint32_t accessed_table(const WasmInstr *i) {
    switch (i->op) {
    case WASM_OP_CALL_INDIRECT:
    case WASM_OP_RETURN_CALL_INDIRECT:
    case WASM_OP_TABLE_INIT: return i->b;
    default: return i->a;
    }
}

bool accessed_segment(const WasmInstr *i, uint32_t *segment) {
    switch (i->op) {
    case WASM_OP_MEMORY_INIT:
    case WASM_OP_DATA_DROP: *segment = i->a; return true;
    case WASM_OP_ARRAY_NEW_DATA:
    case WASM_OP_ARRAY_INIT_DATA: *segment = i->b; return true;
    case WASM_OP_ARRAY_NEW_ELEM:
    case WASM_OP_ARRAY_INIT_ELEM: *segment = i->b; return false;
    default: *segment = i->a; return false; /* table.init, elem.drop */
    }
}

static uint32_t storage_size(WasmType t) {
    switch (t) {
    case WASM_I8: return 1;
    case WASM_I16: return 2;
    case WASM_I64:
    case WASM_F64: return 8;
    case WASM_V128: return 16;
    default: return 4;
    }
}

uint32_t site_target(const Site *s, uint32_t depth) {
    assert(s->instr && s->m);
    if (depth >= s->nopen)
        return s->m->funcs.at[s->func].body_size - 1; /* the function's own end */
    const Construct *c = &s->constructs[s->open[s->nopen - 1 - depth]];
    return c->loop ? c->start : c->end;
}

/* A name of the place in the source. */
static bool located_value(const Site *s, NameId id, Value *out) {
    if (!s->locator)
        return false;
    const LocatorPlace *p = locator_place(s->locator, s->m, s->func, s->pc);
    switch (id) {
    case NAME_FILE: *out = fold_text(p->file); return true;
    case NAME_LINE: *out = event_fold_integer(TYPE_U32, p->line); return true;
    case NAME_COLUMN: *out = event_fold_integer(TYPE_U32, p->column); return true;
    case NAME_SRC_FUNCTION: *out = fold_text(p->function); return true;
    default: *out = event_fold_integer(TYPE_U32, p->inlined); return true;
    }
}

bool site_value(const Site *s, const Bound *name, Value *out) {
    const WasmInstr *i = s->instr;
    const WasmOpInfo *info = i ? &wasm_ops[i->op] : NULL;
    uint64_t bits;
    uint32_t arg;
    bool writes = false;
    TypeKind kind = name->type ? name->type->kind : TYPE_U32;
    switch ((NameId)name->id) {
    case NAME_FID: *out = event_fold_integer(kind, s->func); return true;
    case NAME_FNAME: *out = fold_text(wasm_shown_name(s->m, s->func)); return true;
    case NAME_ESCAPES:
        *out = fold_truth(s->survey && wasm_survey_escapes(s->survey, s->m, s->func));
        return s->survey != NULL;
    case NAME_TAIL_CALLS:
        *out = fold_truth(s->survey && wasm_survey_tail_calls(s->survey, s->m));
        return s->survey != NULL;
    case NAME_FN_TAIL_CALLS:
        *out = fold_truth(s->survey && wasm_survey_has_tail_calls(s->survey, s->m, s->func));
        return s->survey != NULL;
    case NAME_FN_CALLS:
        *out = fold_truth(s->survey && wasm_survey_calls(s->survey, s->m, s->func));
        return s->survey != NULL;
    case NAME_FN_LOOPS:
        *out = fold_truth(s->survey && wasm_survey_loops(s->survey, s->m, s->func));
        return s->survey != NULL;
    case NAME_FN_SIZE:
        *out = event_fold_integer(kind, s->m->funcs.at[s->func].body_size);
        return true;
    case NAME_FN_PARAMS:
        *out = event_fold_integer(kind, wasm_func_type(s->m, s->func)->nparams);
        return true;
    case NAME_RESUMABLE:
        *out = fold_truth(s->survey && wasm_survey_resumable(s->survey, s->m, s->func));
        return s->survey != NULL;
    case NAME_RESUMES:
        *out = fold_truth(s->survey && wasm_survey_resumes(s->survey, s->m, s->func));
        return s->survey != NULL;
    case NAME_MODULE_ID: *out = event_fold_integer(kind, s->module_id); return true;
    case NAME_ASYNCIFY: *out = fold_truth(s->asyncify); return true;
    case NAME_MODULE_NAME: *out = fold_text(s->module_name); return true;
    case NAME_COMPONENT_NAME: *out = fold_text(s->component_name); return true;
    case NAME_PC: *out = event_fold_integer(kind, s->pc); return true;
    case NAME_OPIDX: *out = event_fold_integer(kind, s->opidx); return true;
    case NAME_INSTR_COUNT:
        *out = event_fold_integer(kind, s->block_last ? s->instr_count
                                                      : flow_block_length(s->flow, s->after));
        return true;
    case NAME_FILE:
    case NAME_LINE:
    case NAME_COLUMN:
    case NAME_SRC_FUNCTION:
    case NAME_INLINED: return located_value(s, (NameId)name->id, out);
    case NAME_AT_FUNC_END: *out = fold_truth(s->at_func_end); return true;
    case NAME_APP_MEMID: *out = event_fold_integer(kind, app_memory(s->m)); return true;
    case NAME_HOST: *out = fold_text(s->host); return true;
    default: break;
    }
    if (!i)
        return false;
    switch ((NameId)name->id) {
    case NAME_ITEM_SIZE:
        if (i->a >= s->m->types.len || s->m->types.at[i->a].kind != WASM_TYPE_ARRAY)
            return false;
        *out = event_fold_integer(kind, storage_size(s->m->types.at[i->a].fields[0].type));
        return true;
    case NAME_MEMORY_SHARED:
        if (i->b >= s->m->memories.len)
            return false;
        *out = fold_truth(s->m->memories.at[i->b].limits.shared);
        return true;
    case NAME_PAGE_SIZE: {
        uint32_t memory = accessed_memory(i, name->n);
        if (memory >= s->m->memories.len)
            return false;
        *out = event_fold_integer(kind, (uint64_t)1 << s->m->memories.at[memory].limits.page_log2);
        return true;
    }
    case NAME_OPNAME:
        *out = fold_text(str_of(i->op == WASM_OP_TYPED_SELECT ? "select" : info->mnemonic));
        return true;
    case NAME_BYTECODE:
    case NAME_CATEGORY_ID:
    case NAME_DATA_SIZE:
        op_constant((WasmOp)i->op, (NameId)name->id, &bits);
        *out = event_fold_integer(kind, bits);
        return true;
    case NAME_CATEGORY_NAME:
        *out = fold_text(str_of(wasm_category_names[info->category]));
        return true;
    case NAME_IMM:
        if (!fold_immediate(i, name->n, &bits))
            return false;
        *out = fold_is_real(kind) ? floating(kind, bits_to_real(kind, bits))
                                  : event_fold_integer(kind, bits);
        return true;
    case NAME_OFFSET: *out = event_fold_integer(kind, i->c); return true;
    case NAME_ALIGN: *out = event_fold_integer(kind, i->a); return true;
    case NAME_MEMORY: *out = event_fold_integer(kind, i->b); return true;
    case NAME_IS_WRITE:
        op_access((WasmOp)i->op, &arg, &writes);
        *out = fold_truth(writes);
        return true;
    case NAME_NUM_TARGETS: *out = event_fold_integer(kind, i->count); return true;
    case NAME_DEFAULT_TARGET: *out = event_fold_integer(kind, i->a); return true;
    case NAME_TARGET_FN_NAME:
    case NAME_TARGET_FN_TYPE:
    case NAME_TARGET_IMP_MODULE:
        if (i->a >= s->m->funcs.len)
            return false;
        *out = fold_text(fold_called_name(s->m, &s->m->funcs.at[i->a], (NameId)name->id));
        return true;
    case NAME_TARGET_FN_ESCAPES:
        *out = fold_truth(s->survey && wasm_survey_escapes(s->survey, s->m, i->a));
        return s->survey != NULL;
    case NAME_TARGET_FN_TAIL_CALLS:
        *out = fold_truth(s->survey && wasm_survey_has_tail_calls(s->survey, s->m, i->a));
        return s->survey != NULL;
    case NAME_TARGET_FN_RESUMABLE:
        *out = fold_truth(s->survey && wasm_survey_resumable(s->survey, s->m, i->a));
        return s->survey != NULL;
    case NAME_LOOP_CALLS:
        *out = fold_truth(s->survey && wasm_survey_loop_calls(s->survey, s->m, s->func, s->pc));
        return s->survey != NULL;
    case NAME_LOOP_NESTED:
        *out = fold_truth(s->survey && wasm_survey_loop_nested(s->survey, s->m, s->func, s->pc));
        return s->survey != NULL;
    case NAME_TID: *out = event_fold_integer(kind, i->a); return true;
    case NAME_FIELD_IDX: *out = event_fold_integer(kind, i->b); return true;
    case NAME_RESOLVED_FID:
        /* ref.func itself, or a ref.func right before the instruction that takes the reference */
        if (i->op != WASM_OP_REF_FUNC)
            i = s->previous && s->previous->op == WASM_OP_REF_FUNC ? s->previous : NULL;
        *out = event_fold_integer(kind, i ? i->a : (uint64_t)-1);
        return true;
    default: return false;
    }
}

/* ---- expressions ---- */

static bool is_signed(TypeKind kind) {
    return kind == TYPE_I8 || kind == TYPE_I16 || kind == TYPE_I32 || kind == TYPE_I64;
}

static bool fold_cast(const Expr *e, const Site *s, Value *out) {
    Value v;
    if (!fold(e->args[0], s, &v))
        return false;
    TypeKind to = e->cast->kind;
    if (fold_is_real(v.kind)) {
        if (fold_is_real(to)) {
            *out = floating(to, v.real);
            return true;
        }
        if (to == TYPE_BOOL) {
            *out = fold_truth(v.real != 0);
            return true;
        }
        /* The trapping truncation of Wasm: where it would trap there is no value. 8 and 16 bits go
         * through 32. */
        bool wide = to == TYPE_I64 || to == TYPE_U64;
        double low = is_signed(to) ? (wide ? -0x1p63 : -0x1p31) : 0;
        double high = is_signed(to) ? (wide ? 0x1p63 : 0x1p31) : (wide ? 0x1p64 : 0x1p32);
        double t = trunc(v.real);
        if (!(t >= low && t < high))
            return false;
        *out = event_fold_integer(to, is_signed(to) ? (uint64_t)(int64_t)t : (uint64_t)t);
        return true;
    }
    if (fold_is_real(to)) {
        bool as_signed = is_signed(v.kind);
        if (to == TYPE_F32) /* one rounding, not two */
            *out = floating(to, as_signed ? (double)(float)(int64_t)v.bits : (double)(float)v.bits);
        else
            *out = floating(to, as_signed ? (double)(int64_t)v.bits : (double)v.bits);
        return true;
    }
    *out = event_fold_integer(to, v.bits);
    return true;
}

static bool fold_compare(Op op, int order, bool unordered) {
    switch (op) {
    case OP_EQ: return !unordered && order == 0;
    case OP_NE: return unordered || order != 0;
    case OP_LT: return !unordered && order < 0;
    case OP_LE: return !unordered && order <= 0;
    case OP_GT: return !unordered && order > 0;
    default: return !unordered && order >= 0;
    }
}

static int sign(bool less, bool greater) {
    return greater - less;
}

/* As WebAssembly's f64.min and f64.max: NaN if one is, and -0 is less than 0. */
static double extreme(Op op, double x, double y) {
    if (isnan(x) || isnan(y))
        return NAN;
    bool less = x < y || (x == y && signbit(x));
    return less == (op == OP_MIN) ? x : y;
}

static bool fold_real(Op op, Value a, Value b, Value *out) {
    switch (op) {
    case OP_ADD: *out = floating(a.kind, a.real + b.real); return true;
    case OP_SUB: *out = floating(a.kind, a.real - b.real); return true;
    case OP_MUL: *out = floating(a.kind, a.real * b.real); return true;
    case OP_DIV: *out = floating(a.kind, a.real / b.real); return true;
    case OP_REM: *out = floating(a.kind, fmod(a.real, b.real)); return true;
    case OP_MIN:
    case OP_MAX: *out = floating(a.kind, extreme(op, a.real, b.real)); return true;
    default:
        *out = fold_truth(
            fold_compare(op, sign(a.real<b.real, a.real> b.real), isnan(a.real) || isnan(b.real)));
        return true;
    }
}

static bool fold_integer(Op op, Value a, Value b, Value *out) {
    TypeKind k = a.kind;
    uint64_t x = a.bits, y = b.bits;
    int64_t sx = (int64_t)x, sy = (int64_t)y;
    uint64_t shift = y & (k == TYPE_U64 || k == TYPE_I64 ? 63 : 31);
    int64_t min = k == TYPE_I64 ? INT64_MIN : INT32_MIN;
    switch (op) {
    case OP_ADD: *out = event_fold_integer(k, x + y); return true;
    case OP_SUB: *out = event_fold_integer(k, x - y); return true;
    case OP_MUL: *out = event_fold_integer(k, x * y); return true;
    case OP_DIV:
    case OP_REM:
        if (y == 0 || (op == OP_DIV && is_signed(k) && sx == min && sy == -1))
            return false;
        if (op == OP_REM && sy == -1 && is_signed(k))
            *out = event_fold_integer(k, 0);
        else if (is_signed(k))
            *out = event_fold_integer(k, (uint64_t)(op == OP_DIV ? sx / sy : sx % sy));
        else
            *out = event_fold_integer(k, op == OP_DIV ? x / y : x % y);
        return true;
    case OP_SHL: *out = event_fold_integer(k, x << shift); return true;
    case OP_SHR:
        *out = event_fold_integer(k, is_signed(k) ? (uint64_t)(sx >> shift) : x >> shift);
        return true;
    case OP_BITAND: *out = event_fold_integer(k, x & y); return true;
    case OP_BITOR: *out = event_fold_integer(k, x | y); return true;
    case OP_BITXOR: *out = event_fold_integer(k, x ^ y); return true;
    case OP_MIN:
    case OP_MAX: *out = (is_signed(k) ? sx < sy : x < y) == (op == OP_MIN) ? a : b; return true;
    default:
        *out = fold_truth(
            fold_compare(op, is_signed(k) ? sign(sx<sy, sx> sy) : sign(x<y, x> y), false));
        return true;
    }
}

static Value fold_fold_unary(const Expr *e, Value v) {
    uint32_t bits = type_bits(e->type);
    uint64_t pattern = v.bits << (64 - bits) >> (64 - bits); /* without the bits of the sign */
    switch (e->op) {
    case OP_NOT: return fold_truth(!v.bits);
    case OP_LOG2: return event_fold_integer(TYPE_U32, log2_of(v.bits));
    case OP_BUCKET: return event_fold_integer(e->type->kind, type_bucket(e->cast, v.bits));
    case OP_ABS:
        if (fold_is_real(v.kind))
            return floating(v.kind, fabs(v.real));
        return event_fold_integer(v.kind, (int64_t)v.bits < 0 ? 0 - v.bits : v.bits);
    case OP_CLZ: return event_fold_integer(v.kind, pattern ? bits - 1 - log2_of(pattern) : bits);
    case OP_CTZ:
        return event_fold_integer(v.kind, pattern ? (uint64_t)__builtin_ctzll(pattern) : bits);
    case OP_POPCNT: return event_fold_integer(v.kind, (uint64_t)__builtin_popcountll(pattern));
    default: return event_fold_integer(v.kind, ~v.bits);
    }
}

static bool fold_fold_binary(const Expr *e, const Site *s, Value *out) {
    Value a, b;
    if (!fold(e->args[0], s, &a))
        return false;
    if (e->op == OP_AND || e->op == OP_OR) {
        if (a.bits == (e->op == OP_OR)) {
            *out = a;
            return true;
        }
        return fold(e->args[1], s, out);
    }
    if (!fold(e->args[1], s, &b))
        return false;
    if (a.kind == TYPE_STR) {
        *out = fold_truth(str_eq(a.text, b.text) == (e->op == OP_EQ));
        return true;
    }
    return fold_is_real(a.kind) ? fold_real(e->op, a, b, out) : fold_integer(e->op, a, b, out);
}

static bool has_at(Str s, uint32_t at, Str part) {
    return part.len == 0 || (s.len - at >= part.len && memcmp(s.ptr + at, part.ptr, part.len) == 0);
}

/* The methods of str. */
static bool fold_method(const Expr *e, const Site *s, Value *out) {
    Value self, arg = {0};
    if (!e->method || e->method == STR_ADDR || !fold(e->args[0], s, &self) ||
        (e->nargs > 1 && !fold(e->args[1], s, &arg)))
        return false;
    uint32_t n = self.text.len, part = arg.text.len;
    bool found = false;
    switch (e->method) {
    case STR_LEN: *out = event_fold_integer(TYPE_U32, n); return true;
    case STR_STARTS_WITH: found = has_at(self.text, 0, arg.text); break;
    case STR_LISTS:
        found = !(is_signed(arg.kind) && (int64_t)arg.bits < 0) && list_has(e->list, arg.bits);
        break;
    case STR_ENDS_WITH: found = part <= n && has_at(self.text, n - part, arg.text); break;
    default:
        for (uint32_t i = 0; i + part <= n && !found; i++)
            found = has_at(self.text, i, arg.text);
    }
    *out = fold_truth(found);
    return true;
}

/* ---- built-in functions on memories ---- */

static uint32_t count(const WasmModule *m) {
    return m->input_count[WASM_SPACE_MEMORY];
}

uint32_t app_memory(const WasmModule *m) {
    uint32_t imports = m->input_imports[WASM_SPACE_MEMORY];
    return imports < count(m) ? imports : 0;
}

bool memory_value(FnId fn, const WasmModule *m, uint32_t memory, uint64_t *out) {
    if (memory >= count(m))
        return false;
    const WasmMemory *mem = &m->memories.at[memory];
    if (fn == FN_PAGE_SIZE)
        *out = (uint64_t)1 << mem->limits.page_log2;
    else
        *out = fn == FN_ACTIVE_DATA_START ? mem->data_start : mem->data_end - mem->data_start;
    return fn == FN_PAGE_SIZE || (!mem->data_unknown && *out <= UINT32_MAX);
}

/* The value of a static call of a built-in function at a site; false if it has none. */
static bool builtin_value(const Expr *call, const Site *s, Value *out) {
    Value memory;
    uint64_t bits;
    if (!s || call->nargs != 1 || !fold(call->args[0], s, &memory) ||
        !memory_value((FnId)call->bound.id, s->m, (uint32_t)memory.bits, &bits))
        return false;
    *out = (Value){.kind = TYPE_U32, .bits = bits};
    return true;
}

bool fold(const Expr *e, const Site *s, Value *out) {
    assert(e->type);
    switch (e->kind) {
    case EXPR_INT: *out = event_fold_integer(e->type->kind, e->integer); return true;
    case EXPR_FLOAT: *out = floating(e->type->kind, e->real); return true;
    case EXPR_BOOL: *out = fold_truth(e->boolean); return true;
    case EXPR_STR: *out = fold_text(e->text); return true;
    case EXPR_NAME: {
        if (!e->is_bound || !s)
            return false;
        Bound b = e->bound;
        b.type = e->type; /* literal-like names have the type of their context */
        return site_value(s, &b, out);
    }
    case EXPR_INDEX: {
        Value index;
        if (!e->is_bound || !s || !s->instr || !fold(e->args[0], s, &index))
            return false;
        *out = event_fold_integer(TYPE_U32, br_table_depth(s->instr, index.bits));
        return true;
    }
    case EXPR_UNARY:
        if (!fold(e->args[0], s, out))
            return false;
        *out = fold_fold_unary(e, *out);
        return true;
    case EXPR_BINARY: return fold_fold_binary(e, s, out);
    case EXPR_CAST: return fold_cast(e, s, out);
    case EXPR_COND: {
        Value c;
        return fold(e->args[0], s, &c) && fold(e->args[c.bits ? 1 : 2], s, out);
    }
    case EXPR_CALL: return e->is_static && builtin_value(e, s, out);
    case EXPR_METHOD:
        if (e->annotation != ANN_STATIC)
            return fold_method(e, s, out);
        *out = e->known ? *e->known : (Value){.kind = e->type->kind};
        return true;
    default: return false;
    }
}
