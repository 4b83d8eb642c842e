/*
 * inject/counter_code.c - code that reads counters.
 */
#include "inject/counter_code.h"

#include <inttypes.h>

#include "../../stdlib/runtime/sums.h" /* the parts of sums */

enum {
    PARTS_FUNCTION = 1000,
    SAVED_TOGETHER = 16,
    SAVED_BY_ONE = 256 * SAVED_TOGETHER, /* by one function */
};

/* ---- sums ---- */

static int by_weight(const void *a, const void *b) {
    const CountPart *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    return x->counter < y->counter ? -1 : x->counter > y->counter;
}

/* Returns the position of a weight near 0 in the order of by_weight; WEIGHTS for others. */
enum { NEAR = 4096, WEIGHTS = 2 * NEAR };
static uint32_t near_weight(uint64_t weight) {
    return weight < NEAR        ? (uint32_t)weight
           : 0 - weight <= NEAR ? (uint32_t)(WEIGHTS - (0 - weight))
                                : WEIGHTS;
}

/* Sorts parts, which come in the order of their counters, by weight: in one pass if no weight is
 * large. */
static void sort_parts(const CountParts *parts) {
    uint32_t starts[WEIGHTS + 2] = {0};
    for (uint32_t i = 0; i < parts->len; i++)
        starts[near_weight(parts->at[i].weight) + 1]++;
    if (starts[WEIGHTS + 1]) {
        qsort(parts->at, parts->len, sizeof(CountPart), by_weight);
        return;
    }
    for (uint32_t k = 0; k < WEIGHTS; k++)
        starts[k + 1] += starts[k];
    CountPart *sorted = mem_alloc(parts->len * sizeof *sorted);
    for (uint32_t i = 0; i < parts->len; i++)
        sorted[starts[near_weight(parts->at[i].weight)]++] = parts->at[i];
    memcpy(parts->at, sorted, parts->len * sizeof *sorted);
    free(sorted);
}

void counter_parts(const CountSum *sum, CountParts *parts) {
    const uint8_t *at = sum->parts.data;
    uint32_t counter = 0;
    parts->len = 0;
    vec_reserve(parts, sum->n);
    for (; parts->len < sum->n; counter++) {
        uint64_t weight = sums_part(&at, &counter);
        parts->at[parts->len++] = (CountPart){counter, weight};
    }
    if (parts->len > 1)
        sort_parts(parts);
}

/* Counters of the same weight are added before they are multiplied. */
static void counter_code_push_parts(Buf *b, const CounterPlaces *at, const CountPart *parts,
                                    uint32_t n) {
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && parts[k].weight == parts[i].weight; k++) {
            emit_get(b, at->at(at->ctx, parts[k].counter));
            if (k > i)
                wasm_put_op(b, WASM_OP_I64_ADD); /* there can be very many */
        }
        if (parts[i].weight != 1)
            emit(b, "i64.const %" PRIu64 " i64.mul", parts[i].weight);
        if (i)
            emit(b, "i64.add");
    }
}

void counter_add_functions(WasmModule *m, const CounterPlaces *at, const CountSum *sum,
                           CounterFuncs *funcs) {
    CountParts parts = {0};
    Buf code = {0};
    if (sum->n <= COUNTER_PARTS_INLINE)
        return;
    counter_parts(sum, &parts);
    for (uint32_t i = 0; i < parts.len; i += PARTS_FUNCTION) {
        code.len = 0;
        counter_code_push_parts(&code, at, parts.at + i,
                                parts.len - i < PARTS_FUNCTION ? parts.len - i : PARTS_FUNCTION);
        vec_push(funcs, emit_function(m, "whammc.sum", "result i64 %p", &code));
    }
    vec_free(&parts);
    buf_free(&code);
}

void counter_push_sum(Buf *b, const WasmModule *m, const CounterPlaces *at, const CounterSum *sum) {
    CountParts parts = {0};
    if (sum->parts)
        counter_parts(sum->parts, &parts);
    counter_code_push_parts(b, at, parts.at, parts.len);
    vec_free(&parts);
    for (uint32_t i = 0; i < sum->nfuncs; i++)
        emit(b, "call %u %s", emit_index(m, WASM_SPACE_FUNC, sum->funcs[i]), i ? "i64.add" : "");
}

/* ---- copies ---- */

/* (address: i32, counters: i64 ...) -> i32: stores n counters, returns the address after them. */
static uint32_t add_saver(WasmModule *m, uint32_t n, uint32_t memory) {
    WasmType types[1 + SAVED_TOGETHER] = {WASM_I32};
    Buf stores = {0}, body = {0};
    for (uint32_t i = 0; i < n; i++) {
        types[1 + i] = WASM_I64;
        emit(&stores, "local.get 0 local.get %u i64.store %u %u", 1 + i,
             emit_index(m, WASM_SPACE_MEMORY, memory), 8 * i);
    }
    emit_body(&body, "%p local.get 0 i32.const %u i32.add", &stores, 8 * n);
    buf_free(&stores);
    uint32_t type = wasm_add_func_type(m, types, 1 + n, types, 1);
    return wasm_add_func(m, type, STR("whammc.save"), &body, m->layout.done);
}

/* Indices of the functions that store one counter, and SAVED_TOGETHER of them. */
typedef struct Savers {
    uint32_t one, several;
} Savers;

static void put_saves(Buf *b, uint32_t first, uint32_t n, Savers savers) {
    for (uint32_t i = 0; i < n;) {
        uint32_t together = n - i < SAVED_TOGETHER ? 1 : SAVED_TOGETHER;
        for (uint32_t end = i + together; i < end; i++)
            put_index(b, WASM_OP_GLOBAL_GET, first + i);
        put_index(b, WASM_OP_CALL, together == 1 ? savers.one : savers.several);
    }
}

void counter_save(Buf *b, WasmModule *m, uint32_t first, uint32_t n, uint32_t memory) {
    Savers savers = {0};
    Buf saves = {0};
    if (n % SAVED_TOGETHER)
        savers.one = emit_index(m, WASM_SPACE_FUNC, add_saver(m, 1, memory));
    if (n >= SAVED_TOGETHER)
        savers.several = emit_index(m, WASM_SPACE_FUNC, add_saver(m, SAVED_TOGETHER, memory));
    for (uint32_t i = 0, some; i < n; i += some) {
        some = n - i < SAVED_BY_ONE ? n - i : SAVED_BY_ONE;
        saves.len = 0;
        put_saves(&saves, emit_index(m, WASM_SPACE_GLOBAL, first) + i, some, savers);
        uint32_t func =
            emit_function(m, "whammc.counters", "param i32 result i32 local.get 0 %p", &saves);
        emit(b, "call %u", emit_index(m, WASM_SPACE_FUNC, func));
    }
    emit(b, "drop");
    buf_free(&saves);
}
