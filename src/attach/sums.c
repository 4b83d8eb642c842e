/*
 * attach/sums.c - the sums of monitors' probes, made of counters before wasm:exit.
 *
 * Counters are i64 globals or, if they are very many, words of a memory of their own. That has
 * records of traps in the middle of segments (counts.h), a word for each counter and each derived
 * count, and a table in LEB128 of what these are and what is made of them. Small functions go
 * through it:
 *
 *   a derived count   its leak, doubled, + 1 if that is subtracted; how many terms; these: index
 *                     << 1, + 1 if it is subtracted
 *   numbers           flags; [how many, step]; the count's index; distance of the first from where
 *                     those before ended; a factor, or what they are set to; [distance of the
 *                     function's index from the one before, for each number distance of its key].
 *                     Step, distance, factor have their sign in bit 0.
 *
 * Numbers of each memory follow each other. Globals are few; code makes their sums.
 */
#include "attach/attach_code.h"

#include "wasm/emit.h"
#include "inject/trap_section.h"
#include "edit/edit.h"

enum {
    MAX_GLOBALS = 50000,  /* a memory starts faster than very many globals */
    CHUNK_COUNTERS = 1000 /* in one function */
};

/* Of numbers, beside the logarithm of their size. */
enum {
    FLAG_SIZE = 3,
    FLAG_SETS = 4,
    FLAG_SEVERAL = 8,
    FLAG_TRAPS = 16, /* something in the segment can trap */
};

/* Of the records of traps. */
enum { RECORD = 4 * TRAP_WORDS, RECORDS_SIZE = TRAP_RECORDS * RECORD };

typedef struct Maker {
    Bind *b;
    WasmModule *m;
    Buf table;
    uint32_t *first_derived; /* by index into Counts.funcs: number of its first derived count */
    uint32_t nwords;         /* counters and derived counts */
    uint32_t cursor;         /* handle of the global that goes through the table */
    uint32_t next;           /* handle of the function that reads it, */
    uint32_t leaks, times;   /* and of those that ask for traps */
    uint32_t *corrections;   /* by variable that is set: handle of what its count is corrected by */
    Buf code;                /* of the function that makes the sums */
} Maker;

static uint32_t add_func(Maker *x, const char *params, const char *results, const char *name,
                         Buf *code) {
    WasmType types[8];
    uint32_t n = 0, k;
    for (; *params; params++)
        types[n++] = *params == 'l' ? WASM_I64 : WASM_I32;
    for (k = n; *results; results++)
        types[k++] = *results == 'l' ? WASM_I64 : WASM_I32;
    uint32_t type = wasm_add_func_type(x->m, types, n, types + n, k - n);
    return wasm_add_func(x->m, type, str_of(name), code, false);
}

/* ---- code ---- */

static void put_get(Buf *b, uint32_t local) {
    put_index(b, WASM_OP_LOCAL_GET, local);
}

static void put_set(Buf *b, uint32_t local) {
    put_index(b, WASM_OP_LOCAL_SET, local);
}

static void put_i64(Buf *b, uint64_t v) {
    wasm_put_const(b, WASM_I64, v);
}

/* Local declarations: so many of i32, then of i64. */
static void put_locals(Buf *b, uint32_t i32, uint32_t i64) {
    buf_uleb(b, (i32 > 0) + (i64 > 0));
    if (i32) {
        buf_uleb(b, i32);
        wasm_put_type(b, WASM_I32);
    }
    if (i64) {
        buf_uleb(b, i64);
        wasm_put_type(b, WASM_I64);
    }
}

static void put_ops(Buf *b, const WasmOp *ops, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        wasm_put_op(b, ops[i]);
}
#define OPS(b, ...)                                                                                \
    put_ops(b, (const WasmOp[]){__VA_ARGS__}, sizeof((WasmOp[]){__VA_ARGS__}) / sizeof(WasmOp))

static void put_next(const Maker *x, Buf *b) {
    put_index(b, WASM_OP_CALL, x->next);
}

/* The next number of the table, with its sign: (n >> 1) ^ -(n & 1); `local` is for its use. */
static void put_signed(const Maker *x, Buf *b, uint32_t local) {
    put_i64(b, 0);
    put_next(x, b);
    put_index(b, WASM_OP_LOCAL_TEE, local);
    put_i64(b, 1);
    OPS(b, WASM_OP_I64_AND, WASM_OP_I64_SUB);
    put_get(b, local);
    put_i64(b, 1);
    OPS(b, WASM_OP_I64_SHR_U, WASM_OP_I64_XOR);
}

/* Counter or derived count `n`, an i64 on the stack. */
static void put_word(const Maker *x, Buf *b) {
    wasm_put_op(b, WASM_OP_I32_WRAP_I64);
    put_i32(b, 3);
    wasm_put_op(b, WASM_OP_I32_SHL);
    put_memarg(b, WASM_OP_I64_LOAD, x->b->total.memory, RECORDS_SIZE);
}

/* Makes the number on the stack negative if bit 0 of a local says so, which is then that bit:
 * (number ^ -bit) + bit. */
static void put_with_sign(Buf *b, uint32_t local) {
    put_i64(b, 0);
    put_get(b, local);
    put_i64(b, 1);
    wasm_put_op(b, WASM_OP_I64_AND);
    put_index(b, WASM_OP_LOCAL_TEE, local);
    OPS(b, WASM_OP_I64_SUB, WASM_OP_I64_XOR);
    put_get(b, local);
    wasm_put_op(b, WASM_OP_I64_ADD);
}

/* Opens a block and a loop in it; leaves the block if the cursor is at the end, local 0. */
static void put_table_loop(const Maker *x, Buf *b) {
    put_open(b, WASM_OP_BLOCK);
    put_open(b, WASM_OP_LOOP);
    put_index(b, WASM_OP_GLOBAL_GET, x->cursor);
    put_get(b, 0);
    wasm_put_op(b, WASM_OP_I32_GE_U);
    put_index(b, WASM_OP_BR_IF, 1);
}

/* The same for as long as a local is not 0, which is then made one less. */
static void put_times(Buf *b, uint32_t local) {
    put_open(b, WASM_OP_BLOCK);
    put_open(b, WASM_OP_LOOP);
    put_get(b, local);
    wasm_put_op(b, WASM_OP_I32_EQZ);
    put_index(b, WASM_OP_BR_IF, 1);
    put_get(b, local);
    put_i32(b, 1);
    wasm_put_op(b, WASM_OP_I32_SUB);
    put_set(b, local);
}

static void put_again(Buf *b) {
    put_index(b, WASM_OP_BR, 0);
    OPS(b, WASM_OP_END, WASM_OP_END);
}

/* () -> i64: the number at the cursor, which goes behind it. */
static uint32_t add_next(Maker *x) {
    enum { BYTE, SHIFT, RESULT };
    Buf b = {0};
    put_locals(&b, 1, 2);
    put_open(&b, WASM_OP_LOOP);
    put_index(&b, WASM_OP_GLOBAL_GET, x->cursor);
    put_memarg(&b, WASM_OP_I32_LOAD8_U, x->b->total.memory, 0);
    put_set(&b, BYTE);
    put_index(&b, WASM_OP_GLOBAL_GET, x->cursor);
    put_i32(&b, 1);
    wasm_put_op(&b, WASM_OP_I32_ADD);
    put_index(&b, WASM_OP_GLOBAL_SET, x->cursor);
    put_get(&b, RESULT);
    put_get(&b, BYTE);
    put_i32(&b, 127);
    OPS(&b, WASM_OP_I32_AND, WASM_OP_I64_EXTEND_I32_U);
    put_get(&b, SHIFT);
    OPS(&b, WASM_OP_I64_SHL, WASM_OP_I64_OR);
    put_set(&b, RESULT);
    put_get(&b, SHIFT);
    put_i64(&b, 7);
    wasm_put_op(&b, WASM_OP_I64_ADD);
    put_set(&b, SHIFT);
    put_get(&b, BYTE);
    put_i32(&b, 128);
    wasm_put_op(&b, WASM_OP_I32_AND);
    put_index(&b, WASM_OP_BR_IF, 0);
    wasm_put_op(&b, WASM_OP_END);
    put_get(&b, RESULT);
    wasm_put_op(&b, WASM_OP_END);
    return add_func(x, "", "l", "whammc.sums.next", &b);
}

/* (end): computes all derived counts. */
static uint32_t add_derive(Maker *x) {
    enum { TO, TERMS, WORD, REF, SUM };
    Buf b = {0};
    put_locals(&b, 2, 2);
    put_i32(&b, 8 * x->b->counts.ncounters);
    put_set(&b, WORD);
    put_table_loop(x, &b);
    put_i64(&b, 0);
    put_set(&b, SUM);
    put_next(x, &b);
    put_index(&b, WASM_OP_LOCAL_TEE, REF);
    wasm_put_op(&b, WASM_OP_I64_EQZ);
    put_open(&b, WASM_OP_IF);
    wasm_put_op(&b, WASM_OP_ELSE);
    put_get(&b, REF);
    put_i64(&b, 1);
    OPS(&b, WASM_OP_I64_SHR_U, WASM_OP_I32_WRAP_I64);
    put_index(&b, WASM_OP_CALL, x->leaks);
    put_with_sign(&b, REF);
    put_set(&b, SUM);
    wasm_put_op(&b, WASM_OP_END);
    put_next(x, &b);
    wasm_put_op(&b, WASM_OP_I32_WRAP_I64);
    put_set(&b, TERMS);
    put_times(&b, TERMS);
    put_next(x, &b);
    put_index(&b, WASM_OP_LOCAL_TEE, REF);
    put_i64(&b, 1);
    wasm_put_op(&b, WASM_OP_I64_SHR_U);
    put_word(x, &b);
    put_with_sign(&b, REF);
    put_get(&b, SUM);
    wasm_put_op(&b, WASM_OP_I64_ADD);
    put_set(&b, SUM);
    put_again(&b);
    put_get(&b, WORD);
    put_get(&b, SUM);
    put_memarg(&b, WASM_OP_I64_STORE, x->b->total.memory, RECORDS_SIZE);
    put_get(&b, WORD);
    put_i32(&b, 8);
    wasm_put_op(&b, WASM_OP_I32_ADD);
    put_set(&b, WORD);
    put_again(&b);
    wasm_put_op(&b, WASM_OP_END);
    return add_func(x, "i", "", "whammc.sums.derive", &b);
}

static const WasmOp loads[] = {WASM_OP_I64_LOAD8_U, WASM_OP_I64_LOAD16_U, WASM_OP_I64_LOAD32_U,
                               WASM_OP_I64_LOAD};
static const WasmOp stores[] = {WASM_OP_I64_STORE8, WASM_OP_I64_STORE16, WASM_OP_I64_STORE32,
                                WASM_OP_I64_STORE};

/* (address, flags, number): sets the number at the address in a memory or (`adds`) adds to it. */
static uint32_t add_change(Maker *x, uint32_t memory, bool adds) {
    enum { ADDRESS, KIND, NUMBER };
    Buf b = {0};
    put_locals(&b, 0, 0);
    for (uint32_t size = 0; size < 4; size++) {
        put_get(&b, KIND);
        put_i32(&b, FLAG_SIZE);
        wasm_put_op(&b, WASM_OP_I32_AND);
        put_i32(&b, size);
        wasm_put_op(&b, WASM_OP_I32_EQ);
        put_open(&b, WASM_OP_IF);
        put_get(&b, ADDRESS);
        put_get(&b, NUMBER);
        if (adds) {
            put_get(&b, ADDRESS);
            put_memarg(&b, loads[size], memory, 0);
            wasm_put_op(&b, WASM_OP_I64_ADD);
        }
        put_memarg(&b, stores[size], memory, 0);
        OPS(&b, WASM_OP_RETURN, WASM_OP_END);
    }
    wasm_put_op(&b, WASM_OP_END);
    return add_func(x, "iil", "", adds ? "whammc.sums.add" : "whammc.sums.set", &b);
}

/* Whether a flag is in local `flags`, then an `if`. */
static void put_if_flag(Buf *b, uint32_t flags, uint32_t flag) {
    put_get(b, flags);
    put_i32(b, flag);
    wasm_put_op(b, WASM_OP_I32_AND);
    put_open(b, WASM_OP_IF);
}

/* local += what is on the stack, an i64 */
static void put_add_to(Buf *b, uint32_t local) {
    wasm_put_op(b, WASM_OP_I32_WRAP_I64);
    put_get(b, local);
    wasm_put_op(b, WASM_OP_I32_ADD);
    put_set(b, local);
}

/* Parameter and locals of the function that changes numbers. */
enum { END, FLAGS, N, STEP, AT, FID, KEY, ALL, FACTOR, COUNT, LOCALS };

/* Reads what is said of some numbers together. */
static void put_head(const Maker *x, Buf *b) {
    put_i32(b, 0);
    put_set(b, KEY);
    put_i32(b, 0);
    put_set(b, STEP);
    put_i32(b, 1);
    put_set(b, N);
    put_next(x, b);
    wasm_put_op(b, WASM_OP_I32_WRAP_I64);
    put_set(b, FLAGS);
    put_if_flag(b, FLAGS, FLAG_SEVERAL);
    put_next(x, b);
    wasm_put_op(b, WASM_OP_I32_WRAP_I64);
    put_set(b, N);
    put_signed(x, b, FACTOR);
    put_add_to(b, STEP);
    wasm_put_op(b, WASM_OP_END);
    put_next(x, b);
    put_word(x, b);
    put_set(b, ALL);
    put_signed(x, b, FACTOR);
    put_add_to(b, AT);
    put_signed(x, b, FACTOR);
    put_set(b, FACTOR);
    put_if_flag(b, FLAGS, FLAG_TRAPS);
    put_next(x, b);
    put_add_to(b, FID);
    wasm_put_op(b, WASM_OP_END);
}

/* How often one number's place was executed. */
static void put_own_count(const Maker *x, Buf *b) {
    put_get(b, ALL);
    put_set(b, COUNT);
    put_if_flag(b, FLAGS, FLAG_TRAPS);
    put_next(x, b);
    put_add_to(b, KEY);
    put_get(b, ALL);
    put_get(b, FID);
    put_get(b, KEY);
    put_index(b, WASM_OP_CALL, x->times);
    wasm_put_op(b, WASM_OP_I64_SUB);
    put_set(b, COUNT);
    wasm_put_op(b, WASM_OP_END);
}

/* (end): changes numbers of a memory. */
static uint32_t add_apply(Maker *x, uint32_t memory) {
    uint32_t add = add_change(x, memory, true), set = add_change(x, memory, false);
    Buf b = {0};
    put_locals(&b, ALL - FLAGS, LOCALS - ALL);
    put_table_loop(x, &b);
    put_head(x, &b);
    put_times(&b, N);
    put_own_count(x, &b);
    put_if_flag(&b, FLAGS, FLAG_SETS);
    put_get(&b, COUNT);
    OPS(&b, WASM_OP_I64_EQZ, WASM_OP_I32_EQZ);
    put_open(&b, WASM_OP_IF);
    put_get(&b, AT);
    put_get(&b, FLAGS);
    put_get(&b, FACTOR);
    put_index(&b, WASM_OP_CALL, set);
    OPS(&b, WASM_OP_END, WASM_OP_ELSE);
    put_get(&b, AT);
    put_get(&b, FLAGS);
    put_get(&b, COUNT);
    put_get(&b, FACTOR);
    wasm_put_op(&b, WASM_OP_I64_MUL);
    put_index(&b, WASM_OP_CALL, add);
    wasm_put_op(&b, WASM_OP_END);
    put_get(&b, AT);
    put_get(&b, STEP);
    wasm_put_op(&b, WASM_OP_I32_ADD);
    put_set(&b, AT);
    put_again(&b);
    put_again(&b);
    wasm_put_op(&b, WASM_OP_END);
    return add_func(x, "i", "", "whammc.sums.apply", &b);
}

/* ---- traps ---- */

static void put_record_word(const Maker *x, Buf *b, uint32_t record, uint32_t what) {
    put_i32(b, 0);
    put_memarg(b, WASM_OP_I32_LOAD, x->b->total.memory, record * RECORD + 4 * what);
}

/* (leak) -> i64: how often there was one */
static uint32_t add_leaks(Maker *x) {
    Buf b = {0};
    put_locals(&b, 0, 0);
    put_i64(&b, 0);
    for (uint32_t i = 0; i < TRAP_RECORDS; i++) {
        put_record_word(x, &b, i, TRAP_TIMES);
        put_get(&b, 0);
        put_record_word(x, &b, i, TRAP_LEAK);
        OPS(&b, WASM_OP_I32_EQ, WASM_OP_I32_MUL, WASM_OP_I64_EXTEND_I32_U, WASM_OP_I64_ADD);
    }
    wasm_put_op(&b, WASM_OP_END);
    return add_func(x, "i", "l", "whammc.sums.leaks", &b);
}

/* (fid, key) -> i64: how often what is there was counted too often */
static uint32_t add_times(Maker *x) {
    enum { FUNC, PLACE, SUM };
    Buf b = {0};
    put_locals(&b, 0, 1);
    for (uint32_t i = 0; i < TRAP_RECORDS; i++) {
        put_record_word(x, &b, i, TRAP_TIMES); /* they are filled from the first on */
        wasm_put_op(&b, WASM_OP_I32_EQZ);
        put_open(&b, WASM_OP_IF);
        put_get(&b, SUM);
        OPS(&b, WASM_OP_RETURN, WASM_OP_END);
        put_get(&b, FUNC);
        put_record_word(x, &b, i, TRAP_FID);
        wasm_put_op(&b, WASM_OP_I32_EQ);
        put_get(&b, PLACE);
        put_record_word(x, &b, i, TRAP_FROM);
        OPS(&b, WASM_OP_I32_GE_U, WASM_OP_I32_AND);
        put_get(&b, PLACE);
        put_record_word(x, &b, i, TRAP_TO);
        OPS(&b, WASM_OP_I32_LT_U, WASM_OP_I32_AND);
        put_record_word(x, &b, i, TRAP_TIMES);
        OPS(&b, WASM_OP_I32_MUL, WASM_OP_I64_EXTEND_I32_U);
        put_get(&b, SUM);
        wasm_put_op(&b, WASM_OP_I64_ADD);
        put_set(&b, SUM);
    }
    put_get(&b, SUM);
    wasm_put_op(&b, WASM_OP_END);
    return add_func(x, "ii", "l", "whammc.sums.times", &b);
}

static void put_set_record_word(const Maker *x, Buf *b, uint32_t record, uint32_t what) {
    put_memarg(b, WASM_OP_I32_STORE, x->b->total.memory, record * RECORD + 4 * what);
}

/* whammc:trapped (leak, fid, from, to) -> i32: whether there was room, if numbers need it */
static void add_trapped(Maker *x, bool memories) {
    Buf b = {0};
    put_locals(&b, 0, 0);
    for (uint32_t i = 0; i < TRAP_RECORDS && memories; i++) {
        put_record_word(x, &b, i, TRAP_TIMES);
        wasm_put_op(&b, WASM_OP_I32_EQZ);
        put_open(&b, WASM_OP_IF);
        for (uint32_t k = 0; k < TRAP_PARAMS; k++) {
            put_i32(&b, 0);
            put_get(&b, k);
            put_set_record_word(x, &b, i, trap_params[k]);
        }
        wasm_put_op(&b, WASM_OP_END);
        for (uint32_t k = 1; k < TRAP_PARAMS; k++) {
            put_get(&b, k);
            put_record_word(x, &b, i, trap_params[k]);
            wasm_put_op(&b, WASM_OP_I32_EQ);
            if (k > 1)
                wasm_put_op(&b, WASM_OP_I32_AND);
        }
        put_open(&b, WASM_OP_IF);
        put_i32(&b, 0);
        put_record_word(x, &b, i, TRAP_TIMES);
        put_i32(&b, 1);
        wasm_put_op(&b, WASM_OP_I32_ADD);
        put_set_record_word(x, &b, i, TRAP_TIMES);
        put_i32(&b, 1);
        OPS(&b, WASM_OP_RETURN, WASM_OP_END);
    }
    put_i32(&b, !memories);
    wasm_put_op(&b, WASM_OP_END);
    uint32_t func = add_func(x, "iiii", "i", "whammc.trapped", &b);
    wasm_add_export(x->m, STR("whammc:trapped"), WASM_SPACE_FUNC, func);
}

/* ---- the table ---- */

static void put_signed_number(Buf *b, int64_t v) {
    buf_uleb(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static uint32_t word_of(const Maker *x, uint32_t func, CountRef ref) {
    return ref.derived ? x->first_derived[func] + ref.index : ref.index;
}

/* What derived counts are made of. */
static void put_derived(Maker *x) {
    const Counts *c = &x->b->counts;
    x->first_derived = mem_zalloc(sizeof *x->first_derived * (c->funcs.len + 1u));
    x->nwords = c->ncounters;
    for (uint32_t f = 0; f < c->funcs.len; f++) {
        const uint32_t *words = c->words.at + c->funcs.at[f].at;
        uint32_t n = *words++;
        x->first_derived[f] = x->nwords;
        x->nwords += n;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t leak = *words++, plus = *words++, all = *words++;
            buf_uleb(&x->table, leak >> 1 ? leak : 0);
            buf_uleb(&x->table, all);
            for (uint32_t t = 0; t < all; t++, words++) {
                CountRef ref = {*words >> 1 & 0x7fffffff, *words & 1};
                buf_uleb(&x->table, (uint64_t)word_of(x, f, ref) << 1 | (t >= plus));
            }
        }
    }
}

/* Where a table of numbers is. */
typedef struct Position {
    uint32_t at, func;
} Position;

/* Numbers that have one count. */
static void put_numbers(Maker *x, const BindRun *r, uint32_t word, uint64_t factor, Position *p) {
    buf_u8(&x->table, (uint8_t)(r->place.size_log2 | (r->set ? FLAG_SETS : 0) |
                                (r->n > 1 ? FLAG_SEVERAL : 0) | (r->traps ? FLAG_TRAPS : 0)));
    if (r->n > 1) {
        buf_uleb(&x->table, r->n);
        put_signed_number(&x->table, (int32_t)r->step);
    }
    buf_uleb(&x->table, word);
    put_signed_number(&x->table, (int32_t)(r->place.at - p->at));
    put_signed_number(&x->table, (int64_t)factor);
    p->at = r->place.at + (r->n > 1 ? r->n * r->step : 0);
    if (!r->traps)
        return;
    buf_uleb(&x->table, r->func - p->func);
    p->func = r->func;
    for (uint32_t k = 0; k < r->n; k++)
        buf_uleb(&x->table, x->b->keys.at[r->key + k] - (k ? x->b->keys.at[r->key + k - 1] : 0));
}

/* All numbers of a memory; false if there are none. */
static bool put_memory(Maker *x, uint32_t memory) {
    const Bind *b = x->b;
    Position p = {0};
    size_t before = x->table.len;
    for (uint32_t i = 0; i < b->runs.len; i++) {
        const BindRun *r = &b->runs.at[i];
        const CountValue *v = &b->counts.values.at[r->value];
        if (r->place.handle == memory && v->func != COUNT_NONE)
            put_numbers(x, r, word_of(x, v->func, v->ref), r->set ? r->to : v->amount, &p);
    }
    for (uint32_t i = 0; i < b->vars.len; i++) {
        const BindPlace *place = &b->sums.at[b->vars.at[i]].place;
        CountParts parts = counts_parts(&b->counts, i);
        BindRun one = {.place = *place, .n = 1};
        for (uint32_t k = 0; k < parts.len; k++)
            if (place->space == WASM_SPACE_MEMORY && place->handle == memory)
                put_numbers(x, &one, parts.at[k].counter, parts.at[k].weight, &p);
    }
    return x->table.len > before;
}

/* Where the table begins. */
static uint64_t table_at(const Maker *x) {
    return RECORDS_SIZE + 8 * (uint64_t)x->nwords;
}

/* ---- all ---- */

/* Pushes a counter; handles. */
static void put_counter(const Maker *x, Buf *b, uint32_t n) {
    const BindTotal *t = &x->b->total;
    if (t->first_counter != UINT32_MAX) {
        put_index(b, WASM_OP_GLOBAL_GET, t->first_counter + n);
        return;
    }
    put_i32(b, 0);
    put_memarg(b, WASM_OP_I64_LOAD, t->memory, RECORDS_SIZE + 8 * (uint64_t)n);
}

/* Copies counters from globals into memory. */
static void add_saving(Maker *x) {
    uint32_t n = x->b->total.first_counter == UINT32_MAX ? 0 : x->b->counts.ncounters;
    for (uint32_t i = 0; i < n;) {
        Buf b = {0};
        put_locals(&b, 0, 0);
        for (uint32_t k = 0; k < CHUNK_COUNTERS && i < n; k++, i++) {
            put_i32(&b, 0);
            put_counter(x, &b, i);
            put_memarg(&b, WASM_OP_I64_STORE, x->b->total.memory, RECORDS_SIZE + 8 * (uint64_t)i);
        }
        wasm_put_op(&b, WASM_OP_END);
        put_index(&x->code, WASM_OP_CALL, add_func(x, "", "", "whammc.sums.save", &b));
    }
}

/* Pushes a variable's sum. */
static void put_sum(Maker *x, Buf *code, CountParts parts) {
    put_i64(code, 0);
    for (uint32_t i = 0; i < parts.len;) {
        Buf b = {0};
        put_locals(&b, 0, 0);
        put_i64(&b, 0);
        for (uint32_t k = 0; k < CHUNK_COUNTERS && i < parts.len; k++, i++) {
            put_counter(x, &b, parts.at[i].counter);
            put_i64(&b, parts.at[i].weight);
            OPS(&b, WASM_OP_I64_MUL, WASM_OP_I64_ADD);
        }
        wasm_put_op(&b, WASM_OP_END);
        put_index(code, WASM_OP_CALL, add_func(x, "", "l", "whammc.sums.part", &b));
        wasm_put_op(code, WASM_OP_I64_ADD);
    }
}

static void put_global(Maker *x, const BindSum *sum, CountParts parts) {
    Buf *code = &x->code;
    bool narrow = sum->place.size_log2 == 2;
    put_sum(x, code, parts);
    if (sum->set) {
        put_index(code, WASM_OP_GLOBAL_GET, x->corrections[sum->var]);
        wasm_put_op(code, WASM_OP_I64_ADD);
        OPS(code, WASM_OP_I64_EQZ, WASM_OP_I32_EQZ);
        put_open(code, WASM_OP_IF);
        wasm_put_const(code, narrow ? WASM_I32 : WASM_I64, sum->to);
        put_index(code, WASM_OP_GLOBAL_SET, sum->place.handle);
        wasm_put_op(code, WASM_OP_END);
        return;
    }
    if (narrow)
        wasm_put_op(code, WASM_OP_I32_WRAP_I64);
    put_index(code, WASM_OP_GLOBAL_GET, sum->place.handle);
    wasm_put_op(code, narrow ? WASM_OP_I32_ADD : WASM_OP_I64_ADD);
    put_index(code, WASM_OP_GLOBAL_SET, sum->place.handle);
}

static void put_globals(Maker *x) {
    const Bind *b = x->b;
    for (uint32_t i = 0; i < b->vars.len; i++) {
        const BindSum *sum = &b->sums.at[b->vars.at[i]];
        CountParts parts = counts_parts(&b->counts, i);
        if (sum->place.space == WASM_SPACE_GLOBAL && parts.len)
            put_global(x, sum, parts);
    }
}

/* if (variable == n) its number += amount; of what is set, the count */
static void put_correction(Maker *x, Buf *b, uint32_t n) {
    enum { VARIABLE, AMOUNT };
    const BindSum *sum = &x->b->sums.at[x->b->vars.at[n]];
    const BindPlace *place = &sum->place;
    put_get(b, VARIABLE);
    put_i32(b, n);
    wasm_put_op(b, WASM_OP_I32_EQ);
    put_open(b, WASM_OP_IF);
    if (place->space == WASM_SPACE_MEMORY) {
        put_i32(b, place->at);
        put_i32(b, place->at);
        put_memarg(b, loads[place->size_log2], place->handle, 0);
        put_get(b, AMOUNT);
        wasm_put_op(b, WASM_OP_I64_ADD);
        put_memarg(b, stores[place->size_log2], place->handle, 0);
    } else {
        bool narrow = place->size_log2 == 2 && !sum->set;
        uint32_t global = sum->set ? x->corrections[n] : place->handle;
        put_index(b, WASM_OP_GLOBAL_GET, global);
        put_get(b, AMOUNT);
        if (narrow)
            wasm_put_op(b, WASM_OP_I32_WRAP_I64);
        wasm_put_op(b, narrow ? WASM_OP_I32_ADD : WASM_OP_I64_ADD);
        put_index(b, WASM_OP_GLOBAL_SET, global);
    }
    wasm_put_op(b, WASM_OP_END);
}

/* whammc:correct (variable, amount); variable -1 traps, see trap_section.h */
static void add_correct(Maker *x) {
    const Counts *c = &x->b->counts;
    bool *done = mem_zalloc(x->b->vars.len + 1u);
    Buf b = {0};
    put_locals(&b, 0, 0);
    trap_section_put_show(&b);
    for (uint32_t i = 0; i < c->trap_vars.len; i++) {
        if (!done[c->trap_vars.at[i]])
            put_correction(x, &b, c->trap_vars.at[i]);
        done[c->trap_vars.at[i]] = true;
    }
    wasm_put_op(&b, WASM_OP_END);
    uint32_t func = add_func(x, "il", "", "whammc.correct", &b);
    wasm_add_export(x->m, STR("whammc:correct"), WASM_SPACE_FUNC, func);
    free(done);
}

/* Calls a function for the part of the table from its start, or the one before, to here. */
static void put_stage(Maker *x, uint32_t func) {
    put_i32(&x->code, table_at(x) + x->table.len);
    put_index(&x->code, WASM_OP_CALL, func);
}

/* Whether numbers in memories follow from counts. */
static bool in_memories(const Bind *b) {
    bool any = b->runs.len > 0;
    for (uint32_t i = 0; i < b->vars.len; i++)
        any |= b->sums.at[b->vars.at[i]].place.space == WASM_SPACE_MEMORY;
    return any;
}

static void put_memories(Maker *x) {
    uint32_t memories = x->m->memories.len;
    x->cursor = wasm_add_global_i32(x->m, true, STR("whammc.sums.cursor"), 0);
    x->next = add_next(x);
    x->leaks = add_leaks(x);
    x->times = add_times(x);
    put_derived(x);
    add_saving(x);
    put_i32(&x->code, table_at(x));
    put_index(&x->code, WASM_OP_GLOBAL_SET, x->cursor);
    if (x->table.len)
        put_stage(x, add_derive(x));
    for (uint32_t k = 0; k < memories; k++)
        if (put_memory(x, k))
            put_stage(x, add_apply(x, k));
}

void bind_total(Bind *b) {
    BindTotal *t = &b->total;
    Maker x = {.b = b, .m = &b->p.m};
    *t = (BindTotal){.first_counter = UINT32_MAX, .func = -1};
    if (!b->counts.ncounters)
        return;
    bool globals = b->counts.ncounters <= MAX_GLOBALS, memories = in_memories(b);
    x.nwords = b->counts.ncounters;
    if (memories || !globals) {
        WasmLimits one = {.min = 1, .page_log2 = 16};
        t->memory = wasm_add_memory(x.m, one, STR("whammc.sums"));
    }
    if (globals)
        t->first_counter = x.m->globals.len;
    for (uint32_t i = 0; i < b->counts.ncounters && globals; i++)
        wasm_add_global_zero(x.m, WASM_I64, true, STR(""));
    x.corrections = mem_zalloc(sizeof *x.corrections * (b->vars.len + 1u));
    for (uint32_t i = 0; i < b->vars.len; i++)
        if (b->sums.at[b->vars.at[i]].set)
            x.corrections[i] = wasm_add_global_zero(x.m, WASM_I64, true, STR(""));
    put_locals(&x.code, 0, 0);
    if (memories)
        put_memories(&x);
    put_globals(&x);
    if (b->counts.traps.len) {
        add_trapped(&x, memories);
        add_correct(&x);
    }
    wasm_put_op(&x.code, WASM_OP_END);
    t->func = add_func(&x, "", "", "whammc.sums", &x.code);
    if (memories || !globals) {
        uint64_t table = table_at(&x);
        x.m->memories.at[t->memory].limits.min = (table + x.table.len + 65535) >> 16;
        if (x.table.len)
            wasm_add_data_active(x.m, t->memory, table, &x.table, (Str){0});
    }
    free(x.first_derived);
    free(x.corrections);
    buf_free(&x.table);
}

static void put_count(Bind *b, uint32_t n, Buf *code) {
    const WasmModule *m = &b->p.m;
    const BindTotal *t = &b->total;
    bool global = t->first_counter != UINT32_MAX;
    uint32_t at = global ? wasm_final(m, WASM_SPACE_GLOBAL, t->first_counter + n)
                         : wasm_final(m, WASM_SPACE_MEMORY, t->memory);
    if (global) {
        put_index(code, WASM_OP_GLOBAL_GET, at);
    } else {
        put_i32(code, 0);
        put_i32(code, 0);
        put_memarg(code, WASM_OP_I64_LOAD, at, RECORDS_SIZE + 8 * (uint64_t)n);
    }
    put_i64(code, 1);
    wasm_put_op(code, WASM_OP_I64_ADD);
    if (global)
        put_index(code, WASM_OP_GLOBAL_SET, at);
    else
        put_memarg(code, WASM_OP_I64_STORE, at, RECORDS_SIZE + 8 * (uint64_t)n);
}

void bind_put_counters(Bind *b, uint32_t func) {
    Pieces *pieces = &b->p.pieces;
    const Counts *c = &b->counts;
    for (; b->total.point < c->points.len && c->points.at[b->total.point].func == func;
         b->total.point++) {
        const CountPoint *p = &c->points.at[b->total.point];
        size_t from = pieces->code.len;
        put_count(b, p->counter, &pieces->code);
        pieces_add(pieces, p->behind ? WASM_AFTER : WASM_BEFORE, p->offset, RANK_PROBE, from,
                   pieces->code.len);
    }
}
