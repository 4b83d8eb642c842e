/*
 * flush/flush_trap.c - what the host tells of traps in the middle of segments (inject/counts.h),
 * and what the report makes of it.
 *
 * Each place of a trap that is told of is kept in a record of globals, with how often; records are
 * filled from the first on. The report's values end with them (FORMAT_TRAPS).
 */
#include "flush/flush_code.h"
#include "inject/trap_section.h"

bool flush_has_traps(const Flush *f) {
    return f->store->counts && f->store->counts->traps.len;
}

static uint32_t word(const Flush *f, uint32_t record, uint32_t what) {
    return global_index(f, f->sums.traps) + record * TRAP_WORDS + what;
}

void flush_trap_plan(Flush *f) {
    if (!flush_has_traps(f))
        return;
    for (uint32_t i = 0; i < TRAP_RECORDS * TRAP_WORDS; i++) {
        uint32_t global = wasm_add_global_i32(f->m, true, text("whammc.trap"), 0);
        f->sums.traps = i ? f->sums.traps : global;
    }
    image_set_traps(f->store->image, TRAP_RECORDS);
}

void flush_each_trap(const Flush *f, FlushValue *value, void *ctx) {
    for (uint32_t i = 0; i < TRAP_RECORDS && flush_has_traps(f); i++)
        for (uint32_t k = 0; k < FORMAT_TRAP / 4; k++) {
            FlushSource source = {.global = word(f, i, k)};
            value(ctx, WASM_I32, &source, image_trap_offset(f->store->image, i) + 4 * k);
        }
}

/* (leak: i32) -> i64: how often there was one */
static void add_leaks(Flush *f, Splicer *s) {
    Buf b = {0};
    WasmType i32 = WASM_I32, i64 = WASM_I64;
    for (uint32_t i = 0; i < TRAP_RECORDS; i++) {
        emit(&b, "global.get %u local.get 0 global.get %u i32.eq i32.mul i64.extend_i32_u %s",
             word(f, i, TRAP_TIMES), word(f, i, TRAP_LEAK), i ? "i64.add" : "");
    }
    splicer_begin(s, 1);
    uint32_t type = wasm_add_func_type(f->m, &i32, 1, &i64, 1);
    f->sums.leaks = flush_add_code(f, s, type, "whammc.leaks", &b);
    buf_free(&b);
}

void flush_push_leaks(const Flush *f, uint32_t leak, Buf *out) {
    emit(out, "i32.const %u call %u", leak, func_index(f, f->sums.leaks));
}

static void put_record(const Flush *f, uint32_t record, Buf *b) {
    for (uint32_t k = 0; k < TRAP_PARAMS; k++)
        emit(b, "local.get %u global.set %u", k, word(f, record, trap_params[k]));
}

/* Pushes whether the record is of the location that the parameters tell. */
static void put_record_matches(const Flush *f, uint32_t record, Buf *b) {
    for (uint32_t k = 1; k < TRAP_PARAMS; k++)
        emit(b, "local.get %u global.get %u i32.eq %s", k, word(f, record, trap_params[k]),
             k > 1 ? "i32.and" : "");
}

/* (leak, fid, from, to: i32) -> i32: whether there was room */
static void add_trapped(Flush *f, Splicer *s) {
    Buf b = {0};
    WasmType i32[4] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32};
    for (uint32_t i = 0; i < TRAP_RECORDS; i++) {
        uint32_t times = word(f, i, TRAP_TIMES);
        emit(&b, "global.get %u i32.eqz if", times);
        put_record(f, i, &b);
        emit(&b, "end");
        put_record_matches(f, i, &b);
        emit(&b,
             "if global.get %u i32.const 1 i32.add global.set %u"
             " i32.const 1 return end",
             times, times);
    }
    emit(&b, "i32.const 0");
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
    trap_section_put_show(&b);
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
    if (!flush_has_traps(f))
        return;
    add_leaks(f, s);
    if (!f->flushes)
        return;
    add_trapped(f, s);
    add_correct(f, s);
}
