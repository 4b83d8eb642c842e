/*
 * storage/loop_count.c - counters of loops that are counted by an induction variable.
 */
#include "storage/loop_count.h"

#include <assert.h>

#include "wasm/emit.h"

void loop_counts_add(Store *s, WasmModule *m) {
    s->counters.loops = m->globals.len;
    for (uint32_t i = 0; s->counts && i < s->counts->loops.len && !s->all_in_memory; i++) {
        wasm_add_global_zero(m, WASM_I32, true, STR(""));
        wasm_add_global_zero(m, WASM_I32, true, STR(""));
    }
}

static EmitNumber loop_count_number(const Store *s, const WasmModule *m, uint32_t n) {
    if (s->all_in_memory)
        return store_number(s, m, WASM_I32, s->counters.loops_at + 4 * (uint64_t)n);
    return emit_global(WASM_I32, wasm_final(m, WASM_SPACE_GLOBAL, s->counters.loops + n));
}

/* The two numbers of a loop. */
static EmitNumber last_value(const Store *s, const WasmModule *m, uint32_t n) {
    return loop_count_number(s, m, 2 * n);
}

static EmitNumber value_before(const Store *s, const WasmModule *m, uint32_t n) {
    return loop_count_number(s, m, 2 * n + 1);
}

/* Adds the iterations between `before` and `last` to the loop's counter. */
static void put_sum(const Store *s, const WasmModule *m, uint32_t n, bool enters, Buf *out) {
    const CountLoop *loop = &s->counts->loops.at[n];
    EmitNumber counter = store_counter(s, m, loop->counter);
    EmitNumber last = last_value(s, m, n), before = value_before(s, m, n);
    assert(loop->step.log2 < 32); /* at most 2^(32 - log2) iterations: analysis/loop_step.h */
    emit_begin_set(out, counter);
    emit_get(out, counter);
    emit_get(out, loop->step.down ? before : last);
    emit_get(out, loop->step.down ? last : before);
    wasm_put_op(out, WASM_OP_I32_SUB);
    if (loop->step.log2) {
        wasm_put_const(out, WASM_I32, loop->step.log2);
        wasm_put_op(out, WASM_OP_I32_SHR_U);
    }
    wasm_put_op(out, WASM_OP_I64_EXTEND_I32_U);
    wasm_put_op(out, WASM_OP_I64_ADD);
    if (enters) {
        wasm_put_const(out, WASM_I64, 1);
        wasm_put_op(out, WASM_OP_I64_ADD);
    }
    emit_set(out, counter);
}

void loop_count_put_entry(const Store *s, const WasmModule *m, uint32_t n, Buf *out) {
    EmitNumber before = value_before(s, m, n);
    put_sum(s, m, n, true, out);
    emit_begin_set(out, before);
    put_index(out, WASM_OP_LOCAL_GET, s->counts->loops.at[n].step.local);
    emit_set(out, before); /* the code at the loop's head follows, before anything can trap */
}

void loop_count_put_head(const Store *s, const WasmModule *m, uint32_t n, Buf *out) {
    EmitNumber last = last_value(s, m, n);
    emit_begin_set(out, last);
    put_index(out, WASM_OP_LOCAL_GET, s->counts->loops.at[n].step.local);
    emit_set(out, last);
}

void loop_count_put_flush(const Store *s, const WasmModule *m, uint32_t n, Buf *out) {
    EmitNumber before = value_before(s, m, n);
    put_sum(s, m, n, false, out);
    emit_begin_set(out, before);
    emit_get(out, last_value(s, m, n));
    emit_set(out, before);
}
