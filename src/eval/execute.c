/*
 * eval/execute.c - runs prepared code: one switch in one loop, for all instances.
 *
 * Calls between functions of modules do not nest in C: a frame remembers where the caller was. The
 * locals of a function are slots of one stack; its parameters are where the caller put them, its
 * results go there as well, and its operands are after the locals. Only host functions that call
 * back nest, to a limit.
 */
#include "eval/number.h"
#include "eval/store.h"

#include <assert.h>

/* Slots that cost one unit of fuel when they are moved together; the cost of calling a host
 * function, which may read a clock, say. */
enum { SLOTS_SHIFT = 3, HOST_CALL = 50 };

/* ---- host functions ---- */

/* Calls a host function whose arguments end at `sp`; the results take their place. */
static bool call_host(EvalStore *s, EvalInstance *caller, EvalFunc *f, uint64_t *sp,
                      EvalError *error) {
    enum { FEW = 16 };
    EvalValue few[FEW], *values = few;
    uint32_t nparams = f->nparams, nresults = f->nresults;
    const WasmType *params = s->types.types.at[f->type].params;
    const WasmType *results = s->types.types.at[f->type].results;
    if (nparams + nresults > FEW)
        values = mem_alloc((nparams + nresults) * sizeof *values);
    uint64_t *args = sp - nparams;
    for (uint32_t k = 0; k < nparams; k++)
        values[k] = (EvalValue){params[k], args[k]};
    for (uint32_t k = 0; k < nresults; k++)
        values[nparams + k] = (EvalValue){results[k], 0};
    s->top = sp;
    *error = (EvalError){.func = EVAL_NOWHERE};
    EvalCall call = {s, caller, values, values + nparams, error};
    bool ok = f->host(f->ctx, &call);
    if (!ok && error->status == EVAL_OK)
        eval_fail(error, EVAL_HOST, NULL);
    for (uint32_t k = 0; ok && k < nresults; k++) {
        EvalValue v = {results[k], values[nparams + k].bits};
        ok = eval_value_fits(s, v, v.type) ||
             eval_fail(error, EVAL_HOST, "result %u of a host function does not fit its type", k);
        args[k] = eval_slot(v);
    }
    if (values != few)
        free(values);
    return ok;
}

/* ---- instructions that need more than a line ---- */

/* The function in a table item that call_indirect calls. */
static EvalStatus indirect(const EvalStore *s, const EvalTable *t, uint64_t index, uint32_t type,
                           EvalFunc **callee) {
    if (index >= t->size)
        return EVAL_UNDEFINED_ELEMENT;
    if (!t->items[index])
        return EVAL_UNINITIALIZED_ELEMENT;
    *callee = (EvalFunc *)(uintptr_t)t->items[index];
    uint32_t have = (*callee)->type;
    if (have == type || wasm_subtype(&s->types, WASM_REF(0, have), WASM_REF(0, type)))
        return EVAL_OK;
    return EVAL_CALL_TYPE;
}

/* Moves the n slots before `sp` down to `to`; returns the slot after them. */
static inline uint64_t *execute_move(uint64_t *to, const uint64_t *sp, uint32_t n) {
    if (n == 1)
        *to = sp[-1];
    else if (n)
        memmove(to, sp - n, n * sizeof *to);
    return to + n;
}

/* -1 as a size of 32 or 64 bits. */
static uint64_t minus_one(bool is64) {
    return is64 ? UINT64_MAX : UINT32_MAX;
}

/* memory.fill, memory.copy, memory.init and the same for tables; `x` are their operands. */
static EvalStatus bulk(EvalInstance *in, uint32_t op, const uint32_t *imm, const uint64_t *x) {
    switch (op) {
    case WASM_OP_MEMORY_FILL:
        return eval_memory_fill(in->memories[imm[0]], x[0], (uint8_t)x[1], x[2]);
    case WASM_OP_MEMORY_COPY:
        return eval_memory_copy(in->memories[imm[0]], x[0], in->memories[imm[1]], x[1], x[2]);
    case WASM_OP_MEMORY_INIT:
        return eval_memory_init(in->memories[imm[1]], &in->datas[imm[0]], x[0], x[1], x[2]);
    case WASM_OP_TABLE_FILL: return eval_table_fill(in->tables[imm[0]], x[0], x[1], x[2]);
    case WASM_OP_TABLE_COPY:
        return eval_table_copy(in->tables[imm[0]], x[0], in->tables[imm[1]], x[1], x[2]);
    default: /* table.init */
        return eval_table_init(in->tables[imm[1]], &in->elems[imm[0]], x[0], x[1], x[2]);
    }
}

/* Adds the location to an error that has none yet. */
static bool execute_note_site(EvalError *error, const EvalFunc *f, const uint32_t *pc) {
    if (!f || error->module)
        return false;
    error->module = f->instance->module;
    error->func = f->index;
    error->pc = eval_site(f->code, (uint32_t)(pc - f->code->words.at) - 1);
    return false;
}

/* Room for a call of a prepared function whose locals start at `base`. */
static bool execute_has_room(const EvalStore *s, const EvalCode *code, const uint64_t *base) {
    size_t left = s->limits.stack_slots - (size_t)(base - s->stack);
    return code->slots <= left && s->frames.len < s->limits.call_depth;
}

/* ---- the loop ---- */

#define TRAP(id)                                                                                   \
    do {                                                                                           \
        status = EVAL_##id;                                                                        \
        goto trapped;                                                                              \
    } while (0)
#define CHECK(result)                                                                              \
    do {                                                                                           \
        status = (result);                                                                         \
        if (status != EVAL_OK)                                                                     \
            goto trapped;                                                                          \
    } while (0)
/* Consumes fuel for something of `size` >> shift. */
#define BURN(size, shift)                                                                          \
    do {                                                                                           \
        uint64_t cost_ = (uint64_t)(size) >> (shift);                                              \
        if (fuel < cost_) {                                                                        \
            fuel = 0;                                                                              \
            TRAP(FUEL);                                                                            \
        }                                                                                          \
        fuel -= cost_;                                                                             \
    } while (0)

/* clang-format off */
#define BINARY(id, T, get, put, result)                                                            \
    case WASM_OP_##id: {                                                                           \
        T a = get(sp[-2]), b = get(sp[-1]);                                                        \
        sp--;                                                                                      \
        sp[-1] = put(result);                                                                      \
        break;                                                                                     \
    }
#define UNARY(id, T, get, put, result)                                                             \
    case WASM_OP_##id: {                                                                           \
        T a = get(sp[-1]);                                                                         \
        sp[-1] = put(result);                                                                      \
        break;                                                                                     \
    }
#define slot_u64(slot) (slot)
#define I32(id, result) BINARY(id, uint32_t, (uint32_t), (uint32_t), result)
#define I64(id, result) BINARY(id, uint64_t, (uint64_t), (uint64_t), result)
#define F32(id, result) BINARY(id, float, slot_f32, f32_slot, result)
#define F64(id, result) BINARY(id, double, slot_f64, f64_slot, result)
#define F32_COMPARE(id, result) BINARY(id, float, slot_f32, (uint32_t), result)
#define F64_COMPARE(id, result) BINARY(id, double, slot_f64, (uint32_t), result)
#define I32_UNARY(id, result) UNARY(id, uint32_t, (uint32_t), (uint32_t), result)
#define I64_UNARY(id, result) UNARY(id, uint64_t, (uint64_t), (uint64_t), result)
#define F32_UNARY(id, result) UNARY(id, float, slot_f32, f32_slot, result)
#define F64_UNARY(id, result) UNARY(id, double, slot_f64, f64_slot, result)
#define TYPE_u64 uint64_t
#define TYPE_f32 float
#define TYPE_f64 double
#define CONVERT(id, from, result) UNARY(id, TYPE_##from, slot_##from, , result)
#define TRUNC(id, from, T)                                                                         \
    case WASM_OP_##id: {                                                                           \
        double a = slot_##from(sp[-1]);                                                            \
        if (a != a)                                                                                \
            TRAP(CONVERSION);                                                                      \
        if (!fits_##T(a))                                                                          \
            TRAP(INTEGER_OVERFLOW);                                                                \
        sp[-1] = (uint64_t)(T)a;                                                                   \
        if (sizeof(T) == 4)                                                                        \
            sp[-1] = (uint32_t)sp[-1];                                                             \
        break;                                                                                     \
    }
#define TRUNC_SAT(id, from, T, U, low, high)                                                       \
    case WASM_OP_##id: {                                                                           \
        double a = slot_##from(sp[-1]);                                                            \
        sp[-1] = a != a ? 0 : fits_##T(a) ? (U)(T)a : a < 0 ? (U)low : (U)high;                    \
        break;                                                                                     \
    }
/* Where an access of `bytes` bytes is, in `at`; the address is slot `slot`. */
#define ACCESS(slot, bytes)                                                                        \
    const EvalMemory *mem = in->memories[pc[0]];                                                   \
    uint64_t end_ = (uint64_t)pc[1] + (bytes);                                                     \
    if (mem->size < end_ || (slot) > mem->size - end_)                                             \
        TRAP(MEMORY_BOUNDS);                                                                       \
    uint8_t *at = mem->data + (slot) + pc[1];                                                      \
    pc += 2;
#define LOAD(id, bits, result)                                                                     \
    case WASM_OP_##id: {                                                                           \
        ACCESS(sp[-1], bits / 8)                                                                   \
        uint64_t v = get##bits(at);                                                                \
        sp[-1] = result;                                                                           \
        break;                                                                                     \
    }
#define STORE(id, bits)                                                                            \
    case WASM_OP_##id: {                                                                           \
        ACCESS(sp[-2], bits / 8)                                                                   \
        put##bits(at, sp[-1]);                                                                     \
        sp -= 2;                                                                                   \
        break;                                                                                     \
    }
#define DIVIDE(id, T, U, lowest)                                                                   \
    case WASM_OP_##id##_DIV_S:                                                                     \
        if ((U)sp[-1] == 0)                                                                        \
            TRAP(DIVIDE_BY_ZERO);                                                                  \
        if ((T)sp[-1] == -1 && (T)sp[-2] == lowest)                                                \
            TRAP(INTEGER_OVERFLOW);                                                                \
        sp--;                                                                                      \
        sp[-1] = (U)((T)sp[-1] / (T)sp[0]);                                                        \
        break;                                                                                     \
    case WASM_OP_##id##_DIV_U:                                                                     \
        if ((U)sp[-1] == 0)                                                                        \
            TRAP(DIVIDE_BY_ZERO);                                                                  \
        sp--;                                                                                      \
        sp[-1] = (U)sp[-1] / (U)sp[0];                                                             \
        break;                                                                                     \
    case WASM_OP_##id##_REM_S:                                                                     \
        if ((U)sp[-1] == 0)                                                                        \
            TRAP(DIVIDE_BY_ZERO);                                                                  \
        sp--;                                                                                      \
        sp[-1] = (T)sp[0] == -1 ? 0 : (U)((T)sp[-1] % (T)sp[0]);                                   \
        break;                                                                                     \
    case WASM_OP_##id##_REM_U:                                                                     \
        if ((U)sp[-1] == 0)                                                                        \
            TRAP(DIVIDE_BY_ZERO);                                                                  \
        sp--;                                                                                      \
        sp[-1] = (U)sp[-1] % (U)sp[0];                                                             \
        break;
/* clang-format on */

/* A table like switch; the three labels before it are a call, a return and a trap. */
static bool execute_run(EvalStore *s, EvalFunc *callee, EvalError *error) {
    EvalFunc *func = NULL; /* the running function, its instance, its locals and its code */
    EvalInstance *in = NULL;
    uint64_t *base = s->top, *sp = base + callee->nparams; /* `sp`: after the top operand */
    const uint32_t *pc = NULL, *words = NULL;
    uint64_t fuel = s->fuel;
    bool tail = false; /* the call replaces the function that runs */
    EvalStatus status;

call: /* of `callee`, whose arguments are on top */
    if (tail) {
        BURN(callee->nparams, SLOTS_SHIFT);
        sp = execute_move(base, sp, callee->nparams);
    }
    if (!callee->instance) {
        BURN(HOST_CALL, 0);
        s->fuel = fuel;
        if (!call_host(s, in, callee, sp, error)) {
            fuel = s->fuel;
            goto failed;
        }
        fuel = s->fuel;
        sp = sp - callee->nparams + callee->nresults;
        if (!func)
            return true;
        if (tail)
            goto leave;
        goto next;
    }
    if (!callee->code && !eval_prepare(s, callee, error))
        goto failed;
    if (!execute_has_room(s, callee->code, sp - callee->nparams))
        TRAP(STACK);
    BURN(callee->code->nlocals, SLOTS_SHIFT);
    if (!tail)
        vec_push(&s->frames, (EvalFrame){func, pc, base});
    func = callee;
    in = func->instance;
    base = sp - func->nparams;
    memset(sp, 0, (func->code->nlocals - func->nparams) * sizeof *sp);
    sp = base + func->code->nlocals;
    pc = words = func->code->words.at;
    goto next;

leave:
    BURN(func->nresults, SLOTS_SHIFT);
    sp = execute_move(base, sp, func->nresults);
    func = vec_last(&s->frames).func;
    pc = vec_last(&s->frames).pc;
    base = vec_last(&s->frames).base;
    s->frames.len--;
    if (!func) {
        s->fuel = fuel;
        return true;
    }
    in = func->instance;
    words = func->code->words.at;

next:
    tail = false;
    for (;;) {
        uint32_t op = *pc++;
        if (!fuel)
            TRAP(FUEL);
        fuel--;
        switch (op) {
#include "eval/numeric.def"
#include "valid/subtype.h"
            DIVIDE(I32, int32_t, uint32_t, INT32_MIN)
            DIVIDE(I64, int64_t, uint64_t, INT64_MIN)
        case WASM_OP_I64_ADD128:
            sp -= 2;
            add128(sp - 2, sp);
            break;
        case WASM_OP_I64_SUB128:
            sp -= 2;
            sub128(sp - 2, sp);
            break;
        case WASM_OP_I64_MUL_WIDE_S: mul_wide_s(sp - 2); break;
        case WASM_OP_I64_MUL_WIDE_U: mul_wide_u(sp - 2); break;

        /* control */
        case WASM_OP_UNREACHABLE: TRAP(UNREACHABLE);
        case EVAL_OP_OUTSIDE: TRAP(MEMORY_BOUNDS);
        case EVAL_OP_BR: pc = words + *pc; break;
        case EVAL_OP_BR_IF: pc = (uint32_t) * --sp ? words + *pc : pc + 1; break;
        case EVAL_OP_BR_UNLESS: pc = (uint32_t) * --sp ? pc + 1 : words + *pc; break;
        case EVAL_OP_BR_MOVE:
            BURN(pc[2], SLOTS_SHIFT);
            sp = execute_move(base + pc[1], sp, pc[2]);
            pc = words + pc[0];
            break;
        case EVAL_OP_BR_TABLE: {
            uint32_t index = (uint32_t) * --sp, n = pc[1];
            const uint32_t *to = pc + 2 + 2 * (size_t)(index < n ? index : n);
            BURN(pc[0], SLOTS_SHIFT);
            sp = execute_move(base + to[1], sp, pc[0]);
            pc = words + to[0];
            break;
        }
        case EVAL_OP_BR_NULL:
            if (sp[-1]) {
                pc++;
            } else {
                sp--;
                pc = words + *pc;
            }
            break;
        case EVAL_OP_BR_VALUE:
            if (sp[-1]) {
                pc = words + *pc;
            } else {
                sp--;
                pc++;
            }
            break;
        case EVAL_OP_RETURN: goto leave;
        case EVAL_OP_COUNT:
            func->code->counts.at[*pc++].n++;
            fuel++;
            break;
        case EVAL_OP_TAIL:
            tail = true;
            fuel++;
            break;
        case WASM_OP_CALL: callee = in->funcs[*pc++]; goto call;
        case WASM_OP_CALL_INDIRECT:
            sp--;
            CHECK(indirect(s, in->tables[pc[1]], *sp, in->types[pc[0]], &callee));
            pc += 2;
            goto call;
        case WASM_OP_CALL_REF:
            callee = (EvalFunc *)(uintptr_t) * --sp;
            if (!callee)
                TRAP(NULL_FUNCTION);
            pc++;
            goto call;

        /* locals, globals, operands */
        case WASM_OP_LOCAL_GET: *sp++ = base[*pc++]; break;
        case WASM_OP_LOCAL_SET: base[*pc++] = *--sp; break;
        case WASM_OP_LOCAL_TEE: base[*pc++] = sp[-1]; break;
        case WASM_OP_GLOBAL_GET: *sp++ = in->globals[*pc++]->bits; break;
        case WASM_OP_GLOBAL_SET: in->globals[*pc++]->bits = *--sp; break;
        case EVAL_OP_CONST32: *sp++ = *pc++; break;
        case EVAL_OP_CONST64:
            *sp++ = pc[0] | (uint64_t)pc[1] << 32;
            pc += 2;
            break;
        case WASM_OP_DROP: sp--; break;
        case WASM_OP_SELECT:
            sp -= 2;
            if (!(uint32_t)sp[1])
                sp[-1] = sp[0];
            break;

        /* references */
        case WASM_OP_REF_FUNC: *sp++ = (uint64_t)(uintptr_t)in->funcs[*pc++]; break;
        case WASM_OP_REF_IS_NULL: sp[-1] = sp[-1] == 0; break;
        case WASM_OP_REF_AS_NON_NULL:
            if (!sp[-1])
                TRAP(NULL_REFERENCE);
            break;

        /* memories and tables as a whole */
        case WASM_OP_MEMORY_SIZE: *sp++ = eval_pages(in->memories[*pc++]); break;
        case WASM_OP_MEMORY_GROW: {
            EvalMemory *mem = in->memories[*pc++];
            uint64_t pages = eval_pages(mem), more = sp[-1];
            bool grown = eval_memory_grow(s, mem, more);
            sp[-1] = grown ? pages : minus_one(mem->is64);
            BURN(grown ? more << mem->page_log2 : 0, EVAL_BYTES_SHIFT);
            break;
        }
        case WASM_OP_TABLE_GET: {
            const EvalTable *t = in->tables[*pc++];
            if (sp[-1] >= t->size)
                TRAP(TABLE_BOUNDS);
            sp[-1] = t->items[sp[-1]];
            break;
        }
        case WASM_OP_TABLE_SET: {
            const EvalTable *t = in->tables[*pc++];
            if (sp[-2] >= t->size)
                TRAP(TABLE_BOUNDS);
            t->items[sp[-2]] = sp[-1];
            sp -= 2;
            break;
        }
        case WASM_OP_TABLE_SIZE: *sp++ = in->tables[*pc++]->size; break;
        case WASM_OP_TABLE_GROW: {
            EvalTable *t = in->tables[*pc++];
            uint64_t size = t->size, more = sp[-1];
            bool grown = eval_table_grow(s, t, more, sp[-2]);
            sp--;
            sp[-1] = grown ? size : minus_one(t->is64);
            BURN(grown ? more : 0, SLOTS_SHIFT);
            break;
        }
        case WASM_OP_MEMORY_COPY:
        case WASM_OP_MEMORY_INIT:
        case WASM_OP_MEMORY_FILL:
            sp -= 3;
            CHECK(bulk(in, op, pc, sp));
            pc += op == WASM_OP_MEMORY_FILL ? 1 : 2;
            BURN(sp[2], EVAL_BYTES_SHIFT);
            break;
        case WASM_OP_TABLE_COPY:
        case WASM_OP_TABLE_INIT:
        case WASM_OP_TABLE_FILL:
            sp -= 3;
            CHECK(bulk(in, op, pc, sp));
            pc += op == WASM_OP_TABLE_FILL ? 1 : 2;
            BURN(sp[2], SLOTS_SHIFT);
            break;
        case WASM_OP_DATA_DROP: in->datas[*pc++].len = 0; break;
        case WASM_OP_ELEM_DROP: in->elems[*pc++].len = 0; break;
        case EVAL_OP_UNKNOWN: op = *pc; /* fall through */
        default:
            eval_fail(error, EVAL_UNSUPPORTED, "%s is not supported at compile time",
                      wasm_ops[op].mnemonic);
            goto failed;
        }
    }

trapped:
    eval_fail(error, status, NULL);
failed:
    s->fuel = fuel;
    return execute_note_site(error, func, pc);
}

bool eval_run(EvalStore *s, EvalFunc *f, EvalError *error) {
    assert(s->nesting <= EVAL_MAX_NESTING);
    uint64_t *top = s->top;
    uint32_t depth = s->frames.len;
    if (s->nesting >= EVAL_MAX_NESTING)
        return eval_fail(error, EVAL_STACK, NULL);
    s->nesting++;
    bool ok = execute_run(s, f, error);
    s->nesting--;
    s->frames.len = depth;
    s->top = top;
    return ok;
}
