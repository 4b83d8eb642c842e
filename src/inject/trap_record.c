/*
 * inject/trap_record.c - the records of traps, and the code that fills them.
 */
#include "inject/trap_record.h"

#include <inttypes.h>

#include "../../stdlib/runtime/sums.h" /* the layout of records */

uint32_t trap_record_add_globals(WasmModule *m) {
    uint32_t first = m->globals.len;
    for (uint32_t i = 0; i < TRAP_RECORDS * TRAP_WORDS; i++)
        wasm_add_global_i32(m, true, STR("whammc.trap"), 0);
    return first;
}

EmitNumber trap_record_word(EmitNumber first, uint32_t n, uint32_t k) {
    first.index += first.in_memory ? 0 : n * TRAP_WORDS + k;
    first.at += first.in_memory ? SUMS_TRAP * n + 4 * k : 0;
    return first;
}

/* The arguments of whammc:trapped, in order. */
static const uint32_t told[] = {TRAP_DEFICIT, TRAP_FID, TRAP_FROM, TRAP_TO};
enum { TOLD = sizeof told / sizeof *told };

/* Returns 1 from the function if the record is of this location, or is free, which fills it. */
static void put_record(Buf *b, EmitNumber first, uint32_t record) {
    EmitNumber times = trap_record_word(first, record, TRAP_TIMES);
    emit_get(b, times);
    emit(b, "i32.eqz if");
    for (uint32_t i = 0; i < TOLD; i++) {
        EmitNumber word = trap_record_word(first, record, told[i]);
        emit_begin_set(b, word);
        emit(b, "local.get %u", i);
        emit_set(b, word);
    }
    emit(b, "end i32.const 1");
    for (uint32_t i = 1; i < TOLD; i++) { /* the location has the same deficit */
        emit(b, "local.get %u", i);
        emit_get(b, trap_record_word(first, record, told[i]));
        emit(b, "i32.eq i32.and");
    }
    emit(b, "if");
    emit_update(b, times, "i32.const 1 i32.add");
    emit(b, "i32.const 1 return end");
}

void trap_record_add_trapped(WasmModule *m, const EmitNumber *first) {
    Buf records = {0};
    for (uint32_t i = 0; i < TRAP_RECORDS && first; i++)
        put_record(&records, *first, i);
    uint32_t func = emit_function(
        m, "whammc.trapped", "param i32 i32 i32 i32 result i32 %p i32.const %d", &records, !first);
    wasm_add_export(m, STR("whammc:trapped"), WASM_SPACE_FUNC, func);
    buf_free(&records);
}

void trap_record_put_copy(Buf *b, const WasmModule *m, uint32_t first, uint32_t memory,
                          uint64_t at) {
    for (uint32_t i = 0; i < TRAP_RECORDS; i++)
        for (uint32_t k = 0; k < TRAP_WORDS; k++)
            emit(b, "i32.const 0 global.get %u i32.store %u %" PRIu64,
                 emit_index(m, WASM_SPACE_GLOBAL, first) + i * TRAP_WORDS + k,
                 emit_index(m, WASM_SPACE_MEMORY, memory), at + SUMS_TRAP * i + 4 * k);
}

void trap_record_add_correct(WasmModule *m, const Buf *code) {
    uint32_t func = emit_function(m, "whammc.correct",
                                  "param $variable i32 $amount i64"
                                  " local.get $variable i32.const -1 i32.eq if unreachable end %p",
                                  code);
    wasm_add_export(m, STR("whammc:correct"), WASM_SPACE_FUNC, func);
}
