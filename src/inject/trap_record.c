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

/* Returns 1 from the function if the record is of this location, or is free, which fills it. */
static void put_record(Buf *b, uint32_t record) {
    emit(b,
         "$deficit $func $start $end $fid=%u $from=%u $to=%u $times=%u $missing=%u"
         " global.get $times i32.eqz"
         " if"
         "   local.get $deficit global.set $missing"
         "   local.get $func global.set $fid"
         "   local.get $start global.set $from"
         "   local.get $end global.set $to"
         " end"
         " local.get $func global.get $fid i32.eq"
         " local.get $start global.get $from i32.eq i32.and"
         " local.get $end global.get $to i32.eq i32.and"
         " if"
         "   global.get $times i32.const 1 i32.add global.set $times"
         "   i32.const 1 return"
         " end",
         record + TRAP_FID, record + TRAP_FROM, record + TRAP_TO, record + TRAP_TIMES,
         record + TRAP_DEFICIT);
}

void trap_record_add_trapped(WasmModule *m, uint32_t first) {
    Buf records = {0};
    for (uint32_t i = 0; i < TRAP_RECORDS && first != UINT32_MAX; i++)
        put_record(&records, emit_index(m, WASM_SPACE_GLOBAL, first) + i * TRAP_WORDS);
    uint32_t func =
        emit_function(m, "whammc.trapped", "param i32 i32 i32 i32 result i32 %p i32.const %d",
                      &records, first == UINT32_MAX);
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
