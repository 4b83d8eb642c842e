/*
 * flush/flush_trap.c - traps in the middle of segments, which the host reports
 * (inject/trap_record.h), and their effect on the report.
 */
#include "flush/flush_code.h"
#include "inject/trap_record.h"

static bool flush_trap_has_traps(const Store *store) {
    return store->counts && store->counts->corrections.table.len;
}

void flush_trap_plan(Flush *f) {
    if (flush_trap_has_traps(f->store) && !f->store->all_in_memory)
        f->at.traps = trap_record_add_globals(f->m);
}

static EmitNumber first_word(const Flush *f) {
    const Store *s = f->store;
    if (s->all_in_memory)
        return store_number(s, f->m, WASM_I32, s->values_at + image_trap_offset(s->rows.image, 0));
    return emit_global(WASM_I32, global_index(f, f->at.traps));
}

void flush_each_trap(const Flush *f, FlushValue *value, void *ctx) {
    for (uint32_t i = 0;
         i < TRAP_RECORDS && flush_trap_has_traps(f->store) && !f->store->all_in_memory; i++)
        for (uint32_t k = 0; k < TRAP_WORDS; k++) {
            FlushSource source = {.place = trap_record_word(first_word(f), i, k)};
            value(ctx, WASM_I32, &source, image_trap_offset(f->store->rows.image, i) + 4 * k);
        }
}

/* Appends code: if (variable == id) it, or its counter of corrections, += amount. */
static void put_correction(Chunks *c, uint32_t id) {
    const Flush *f = c->f;
    const Store *s = f->store;
    uint32_t counter = s->coalesce->corrections.at[id];
    emit(&c->body, "local.get 0 i32.const %u i32.eq if", id);
    if (counter)
        emit_update(&c->body, store_counter(s, f->m, counter - 1), "local.get 1 i64.add");
    else
        flush_combine_number(store_variable(s, f->m, &f->plan->vars.at[id], 0), store_sum(s, id),
                             "local.get 1", &c->body);
    emit(&c->body, "end");
    chunks_item(c);
}

static void flush_trap_add_correct(Flush *f, Splicer *s) {
    const Counts *c = f->store->counts;
    Chunks chunks = {
        .f = f, .s = s, .name = "whammc.correct", .params = {WASM_I32, WASM_I64}, .nparams = 2};
    for (uint32_t i = 0; i < c->corrections.corrected.len; i++)
        put_correction(&chunks, c->corrections.corrected.at[i]);
    Buf b = {0};
    chunks_call(&chunks, "local.get 0 local.get 1", &b);
    trap_record_add_correct(f->m, &b);
    buf_free(&b);
}

void flush_add_traps(Flush *f, Splicer *s) {
    if (!flush_trap_has_traps(f->store) || !f->flushes)
        return;
    EmitNumber first = first_word(f);
    trap_record_add_trapped(f->m, &first);
    flush_trap_add_correct(f, s);
}
