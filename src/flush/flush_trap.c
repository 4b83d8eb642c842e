/*
 * flush/flush_trap.c - what the host tells of traps in the middle of segments
 * (inject/trap_record.h), and what the report makes of it.
 */
#include "flush/flush_code.h"
#include "inject/trap_record.h"

static bool has_traps(const Flush *f) {
    return f->store->counts && f->store->counts->traps.len;
}

void flush_trap_plan(Flush *f) {
    if (has_traps(f))
        f->traps = trap_record_add_globals(f->m);
}

void flush_each_trap(const Flush *f, FlushValue *value, void *ctx) {
    for (uint32_t i = 0; i < TRAP_RECORDS && has_traps(f); i++)
        for (uint32_t k = 0; k < TRAP_WORDS; k++) {
            FlushSource source = {.global = global_index(f, f->traps) + i * TRAP_WORDS + k};
            value(ctx, WASM_I32, &source, image_trap_offset(f->store->image, i) + 4 * k);
        }
}

/* (deficit, fid, from, to: i32) -> i32: whether there was room */
static void add_trapped(Flush *f, Splicer *s) {
    Buf b = {0};
    WasmType i32[4] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32};
    trap_record_put(&b, global_index(f, f->traps));
    splicer_begin(s, 4);
    uint32_t type = wasm_add_func_type(f->m, i32, 4, i32, 1);
    uint32_t func = flush_add_code(f, s, type, "whammc.trapped", &b);
    wasm_add_export(f->m, text("whammc:trapped"), WASM_SPACE_FUNC, func);
    buf_free(&b);
}

/* What becomes of an amount in a local: is added to a counter, or to a variable. */
static void put_amount(const Flush *f, uint32_t id, Buf *b) {
    const Store *s = f->store;
    Buf amount = {0};
    emit(&amount, "local.get 1");
    uint32_t counter = s->coalesce->corrections.at[id];
    if (counter) {
        store_begin_counter(s, b);
        store_push_counter(s, f->m, counter - 1, b);
        buf_bytes(b, amount.data, amount.len);
        emit(b, "i64.add");
        store_end_counter(s, f->m, counter - 1, b);
    } else {
        uint32_t global = global_index(f, s->global[id]);
        emit(b, "global.get %u", global);
        flush_combine(store_sum(s, id), &amount, b);
        emit(b, "global.set %u", global);
    }
    buf_free(&amount);
}

/* if (var == id) the variable += amount */
static void put_correction(Chunks *c, uint32_t id) {
    Buf *b = &c->body;
    emit(b, "local.get 0 i32.const %u i32.eq if", id);
    put_amount(c->f, id, b);
    emit(b, "end");
    chunks_item(c);
}

/* (var: i32, amount: i64) */
static void add_correct(Flush *f, Splicer *s) {
    const Counts *c = f->store->counts;
    bool *done = mem_zalloc(c->parts.len + 1u);
    Chunks chunks = {
        .f = f, .s = s, .name = "whammc.correct", .params = {WASM_I32, WASM_I64}, .nparams = 2};
    for (uint32_t i = 0; i < c->trap_vars.len; i++) {
        if (!done[c->trap_vars.at[i]])
            put_correction(&chunks, c->trap_vars.at[i]);
        done[c->trap_vars.at[i]] = true;
    }
    chunks_end(&chunks);
    Buf b = {0};
    trap_record_put_show(&b);
    for (uint32_t i = 0; i < chunks.funcs.len; i++)
        emit(&b, "local.get 0 local.get 1 call %u", func_index(f, chunks.funcs.at[i]));
    splicer_begin(s, 2);
    uint32_t type = wasm_add_func_type(f->m, chunks.params, chunks.nparams, NULL, 0);
    uint32_t func = flush_add_code(f, s, type, "whammc.correct", &b);
    wasm_add_export(f->m, text("whammc:correct"), WASM_SPACE_FUNC, func);
    chunks_free(&chunks);
    buf_free(&b);
    free(done);
}

void flush_add_traps(Flush *f, Splicer *s) {
    if (!has_traps(f) || !f->flushes)
        return;
    add_trapped(f, s);
    add_correct(f, s);
}
