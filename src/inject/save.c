/*
 * inject/save.c - copies counters that are globals into a memory.
 */
#include "inject/save.h"

uint32_t save_type(WasmModule *m, uint32_t n) {
    WasmType params[1 + SAVE_SEVERAL] = {WASM_I32};
    for (uint32_t i = 1; i <= n; i++)
        params[i] = WASM_I64;
    return wasm_add_func_type(m, params, 1 + n, params, 1);
}

void save_put_saver(Buf *b, uint32_t n, uint32_t memory) {
    for (uint32_t i = 0; i < n; i++)
        emit(b, "local.get 0 local.get %u i64.store %u %u", 1 + i, memory, 8 * i);
    emit(b, "local.get 0 i32.const %u i32.add", 8 * n);
}

void save_put(Buf *b, uint32_t first, uint32_t n, Savers savers) {
    for (uint32_t i = 0; i < n;) {
        uint32_t together = n - i < SAVE_SEVERAL ? 1 : SAVE_SEVERAL;
        for (uint32_t end = i + together; i < end; i++)
            emit(b, "global.get %u", first + i);
        emit(b, "call %u", together == 1 ? savers.one : savers.several);
    }
}
