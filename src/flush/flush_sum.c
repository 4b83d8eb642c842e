/*
 * flush/flush_sum.c - variables of which a part is counted by segments: their values when a report
 * is due.
 *
 * What is counted never goes back to zero, as rows of sites are made of it, too. So the value of a
 * sum is that of its place and what is counted; a flag is set if anything is. Where code looks at
 * the place when a report is due, or the place is in the value area, it is *settled* first: gets
 * what has been counted since it was settled last, which is kept after the counters.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

enum { PARTS_INLINE = 8, PARTS_FUNCTION = 1000 };

/* Values of small types are kept as if they were wider, without what does not fit. */
static void narrow(const Type *t, Buf *out) {
    switch (t->kind) {
    case TYPE_U8: emit(out, "i32.const 255 i32.and"); break;
    case TYPE_U16: emit(out, "i32.const 65535 i32.and"); break;
    case TYPE_I8: emit(out, "i32.extend8_s"); break;
    case TYPE_I16: emit(out, "i32.extend16_s"); break;
    default: break;
    }
}

/* ---- what is counted ---- */

/* Counters of the same weight are added before they are multiplied. */
static void push_parts(const Flush *f, const CountPart *parts, uint32_t n, Buf *out) {
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && parts[k].weight == parts[i].weight; k++) {
            store_push_counter(f->store, f->m, parts[k].counter, out);
            if (k > i)
                emit(out, "i64.add");
        }
        if (parts[i].weight != 1)
            emit(out, "i64.const %" PRIu64 " i64.mul", parts[i].weight);
        if (i)
            emit(out, "i64.add");
    }
}

void flush_push_sum(const Flush *f, const FlushSource *source, Buf *out) {
    push_parts(f, source->parts.at, source->parts.len, out);
    for (uint32_t i = 0; i < source->nsums; i++) {
        emit(out, "call %u %s", func_index(f, source->sums[i]), i ? "i64.add" : "");
    }
}

void flush_combine(const Sum *sum, const Buf *counted, Buf *out) {
    WasmType type = type_wasm(sum->type);
    if (sum->flag) { /* place, value, nothing was counted */
        wasm_put_const(out, type, sum->to);
        buf_bytes(out, counted->data, counted->len);
        emit(out, "i64.eqz select");
        return;
    }
    buf_bytes(out, counted->data, counted->len);
    emit(out, type == WASM_I32 ? "i32.wrap_i64 i32.add" : "i64.add");
    narrow(sum->type, out);
}

/* The functions for variables of many parts. */
static void add_functions(Flush *f, Splicer *s, CountParts parts) {
    WasmType i64 = WASM_I64;
    for (uint32_t i = 0; i < parts.len && parts.len > PARTS_INLINE; i += PARTS_FUNCTION) {
        Buf body = {0};
        uint32_t type = wasm_add_func_type(f->m, NULL, 0, &i64, 1);
        uint32_t n = parts.len - i < PARTS_FUNCTION ? parts.len - i : PARTS_FUNCTION;
        push_parts(f, parts.at + i, n, &body);
        splicer_begin(s, 0);
        vec_push(&f->sums.funcs, flush_add_code(f, s, type, "whammc.sum", &body));
        buf_free(&body);
    }
}

bool flush_settles(const Flush *f, uint32_t n, const Sum *sum, bool cell) {
    return sum && store_settles(f->store, sum, cell) && counts_parts(f->store->counts, n).len;
}

/* Also of what is settled. */
static void find_parts(const Flush *f, uint32_t n, const Sum *sum, FlushSource *source) {
    uint32_t from = n ? f->sums.end[n - 1] : 0;
    source->sum = sum;
    source->nsums = f->sums.end[n] - from;
    if (source->nsums)
        source->sums = f->sums.funcs.at + from;
    else
        source->parts = counts_parts(f->store->counts, n);
}

void flush_counted(const Flush *f, uint32_t n, const Sum *sum, bool cell, FlushSource *source) {
    if (f->sums.end && !flush_settles(f, n, sum, cell))
        find_parts(f, n, sum, source);
}

/* ---- settling ---- */

/* Settling sums, one after the other. */
typedef struct Settling {
    Chunks chunks;
    uint32_t kept; /* the counter after the counters that is next */
} Settling;

/* What was counted since, to the local; and what is counted, to where it is kept. */
static void put_news(Settling *t, const FlushSource *source) {
    const Flush *f = t->chunks.f;
    Buf *b = &t->chunks.body;
    flush_push_sum(f, source, b);
    store_push_counter(f->store, f->m, t->kept, b);
    emit(b, "i64.sub local.set 0");
    store_begin_counter(f->store, b);
    store_push_counter(f->store, f->m, t->kept, b);
    emit(b, "local.get 0 i64.add");
    store_end_counter(f->store, f->m, t->kept++, b);
}

/* `address`: of a cell's leaf in memory, else 0. */
static void settle(Settling *t, uint32_t n, const Sum *sum, uint32_t global, uint64_t address) {
    const Flush *f = t->chunks.f;
    bool cell = n >= f->plan->vars.len, wide = type_wasm(sum->type) == WASM_I64;
    FlushSource source = {0};
    Buf news = {0}, *b = &t->chunks.body;
    if (!flush_settles(f, n, sum, cell))
        return;
    t->chunks.wide = true;
    find_parts(f, n, sum, &source);
    put_news(t, &source);
    emit(&news, "local.get 0");
    if (address) {
        emit(b, "i32.const 0 i32.const 0");
        store_put_access(f->store, f->m, wide ? WASM_OP_I64_LOAD : WASM_OP_I32_LOAD, address, b);
        flush_combine(sum, &news, b);
        store_put_access(f->store, f->m, wide ? WASM_OP_I64_STORE : WASM_OP_I32_STORE, address, b);
    } else {
        emit(b, "global.get %u", global);
        flush_combine(sum, &news, b);
        emit(b, "global.set %u", global);
    }
    buf_free(&news);
    chunks_item(&t->chunks);
}

static void settle_cell(Settling *t, const MapCell *cell) {
    const Store *s = t->chunks.f->store;
    uint32_t n = s->plan->vars.len + cell->first_sum;
    uint64_t global = s->in_memory ? 0 : global_index(t->chunks.f, cell->first_global);
    uint64_t address = s->in_memory ? cells_address(&s->cells, cell) : 0;
    for (uint32_t k = 0; k <= s->plan->cell_maps.at[cell->map].leaves; k++)
        settle(t, n + k, store_cell_sum(s, cell, k), global + k,
               s->in_memory ? address + 8 * (uint64_t)k : 0);
}

static void add_settling(Flush *f, Splicer *s) {
    Store *store = f->store;
    Settling t = {.chunks = {.f = f, .s = s, .name = "whammc.settle"},
                  .kept = store->counts->ncounters};
    for (uint32_t i = 0; i < f->plan->vars.len; i++) {
        const PlanVar *v = &f->plan->vars.at[i];
        bool once = v->decl->storage == STORAGE_SCRIPT || v->decl->storage == STORAGE_SHARED;
        if (once && !v->decl->cells)
            settle(&t, i, store_sum(store, i), global_index(f, store->global[i]), 0);
    }
    for (uint32_t i = 0; i < store->cells.list.len; i++)
        settle_cell(&t, &store->cells.list.at[i]);
    chunks_end(&t.chunks);
    for (uint32_t i = 0; i < t.chunks.funcs.len; i++)
        vec_push(&f->sums.settle, t.chunks.funcs.at[i]);
    chunks_free(&t.chunks);
}

void flush_settle(const Flush *f, Buf *out) {
    for (uint32_t i = 0; i < f->sums.settle.len; i++)
        emit(out, "call %u", func_index(f, f->sums.settle.at[i]));
}

void flush_add_sums(Flush *f, Splicer *s) {
    if (!f->store->counts)
        return;
    uint32_t n = f->plan->vars.len + f->store->cells.nsums;
    uint32_t *end = arena_array(&f->m->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        add_functions(f, s, counts_parts(f->store->counts, i));
        end[i] = f->sums.funcs.len;
    }
    f->sums.end = end;
    if (f->store->nsettled)
        add_settling(f, s);
}
