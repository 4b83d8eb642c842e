/*
 * flush/flush_sum.c - values, when a report is due, of variables partly counted by segments.
 *
 * Counters are never reset, as rows of sites are made of them, too. So the value of a sum is the
 * value in its place plus the counted part; a flag is set if the counted part is not zero. If code
 * reads the place when a report is due, or the place is in the value area, it is *settled* first:
 * it gets the counts since the last settlement. The counts at that time are kept after the
 * counters.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

#include "storage/loop_count.h"

/* Returns code that truncates a value, kept in a wider type, to its small type. */
static const char *flush_sum_narrow(const Type *t) {
    switch (t->kind) {
    case TYPE_U8: return "i32.const 255 i32.and";
    case TYPE_U16: return "i32.const 65535 i32.and";
    case TYPE_I8: return "i32.extend8_s";
    case TYPE_I16: return "i32.extend16_s";
    default: return "";
    }
}

/* ---- counted parts ---- */

static EmitNumber flush_sum_counter_at(const void *ctx, uint32_t n) {
    const Flush *f = ctx;
    return store_counter(f->store, f->m, n);
}

void flush_push_sum(const Flush *f, const FlushSource *source, Buf *out) {
    const CounterPlaces places = {flush_sum_counter_at, f};
    if (!source->tabled) {
        counter_push_sum(out, f->m, &places, &source->counted);
        return;
    }
    uint64_t table = flush_image_at(f) + f->image.len,
             words = flush_values_at(f) + image_counters_offset(f->store->rows.image);
    emit(out, "%s", flush_address(f, table + source->tabled - 1));
    emit(out, "%s call %u", flush_address(f, words), func_index(f, f->at.sum));
}

void flush_combine(const Sum *sum, const Buf *counted, Buf *out) {
    WasmType type = type_wasm(sum->type);
    if (sum->flag) { /* place, value, nothing was counted */
        emit(out, "%s.const %" PRIu64 " %p i64.eqz select", emit_type(type), sum->to, counted);
        return;
    }
    emit(out, "%p %s %s.add %s", counted, emit_resized(WASM_I64, type), emit_type(type),
         flush_sum_narrow(sum->type));
}

void flush_combine_number(EmitNumber place, const Sum *sum, const char *amount, Buf *out) {
    Buf counted = {0};
    emit(&counted, "%s", amount);
    emit_begin_set(out, place);
    emit_get(out, place);
    flush_combine(sum, &counted, out);
    emit_set(out, place);
    buf_free(&counted);
}

bool flush_settles(const Flush *f, uint32_t n, const Sum *sum, bool cell) {
    return sum && store_settles(f->store, sum, cell) && counts_sum(f->store->counts, n)->n;
}

/* ---- the table ---- */

/* Puts the sum of a variable of Counts into the table if it is long; returns its parts there. */
static uint32_t table_sum(Flush *f, uint32_t n, const Sum *sum, bool cell) {
    const CountSum *counted = counts_sum(f->store->counts, n);
    if (counted->n <= COUNTER_PARTS_INLINE || (!f->own && flush_settles(f, n, sum, cell)))
        return 0;
    f->sums.at[n] = 1 + (uint32_t)f->sums.table.len;
    buf_u32le(&f->sums.table, (uint32_t)counted->parts.len);
    buf_bytes(&f->sums.table, counted->parts.data, counted->parts.len);
    return counted->n;
}

static uint64_t table_cell(Flush *f, const MapCell *cell) {
    uint32_t n = f->plan->vars.len + cell->first_sum;
    uint64_t parts = 0;
    for (uint32_t k = 0; k <= f->plan->cells.maps.at[cell->map].leaves; k++)
        parts += table_sum(f, n + k, store_cell_sum(f->store, cell, k), true);
    return parts;
}

/* If counters must be copied only for the table, it should save more code than that takes. */
void flush_plan_sums(Flush *f) {
    Store *s = f->store;
    uint64_t parts = 0;
    if (!s->counts || !s->rows.reports)
        return;
    f->sums.at = arena_array(&f->m->arena, uint32_t, f->plan->vars.len + s->cells.nsums + 1);
    for (uint32_t i = 0; i < f->plan->vars.len; i++)
        parts += table_sum(f, i, store_sum(s, i), false);
    for (uint32_t i = 0; i < s->cells.list.len; i++)
        parts += table_cell(f, &s->cells.list.at[i]);
    s->counters.added_up = parts && (s->in_memory || s->counts->values.len ||
                                     parts + parts / 4 >= s->counts->ncounters);
    if (!s->counters.added_up) {
        f->sums.at = NULL;
        buf_free(&f->sums.table);
    }
}

/* ---- where parts are ---- */

/* Finds the counted part of a variable of Counts, even if it is settled. */
static void find_parts(const Flush *f, uint32_t n, const Sum *sum, FlushSource *source) {
    uint32_t from = n ? f->sums.end[n - 1] : 0;
    source->sum = sum;
    source->tabled = f->sums.at ? f->sums.at[n] : 0;
    if (source->tabled)
        return;
    source->counted.nfuncs = f->sums.end[n] - from;
    if (source->counted.nfuncs)
        source->counted.funcs = f->sums.funcs.at + from;
    else
        source->counted.parts = counts_sum(f->store->counts, n);
}

void flush_counted(const Flush *f, uint32_t n, const Sum *sum, bool cell, FlushSource *source) {
    if (f->sums.end && !flush_settles(f, n, sum, cell))
        find_parts(f, n, sum, source);
}

/* ---- settling ---- */

/* Settling sums, one after the other. */
typedef struct Settling {
    Chunks chunks;
    uint32_t kept; /* the next slot after the counters */
} Settling;

/* Sets the local to the counts since the last settlement, and updates the kept counts. */
static void put_news(Settling *t, const FlushSource *source) {
    const Flush *f = t->chunks.f;
    Buf *b = &t->chunks.body;
    EmitNumber kept = store_counter(f->store, f->m, t->kept++);
    flush_push_sum(f, source, b);
    emit_get(b, kept);
    emit(b, "i64.sub local.set 0");
    emit_update(b, kept, "local.get 0 i64.add");
}

static void flush_sum_settle(Settling *t, uint32_t n, const Sum *sum, EmitNumber place) {
    const Flush *f = t->chunks.f;
    bool cell = n >= f->plan->vars.len;
    FlushSource source = {0};
    if (!flush_settles(f, n, sum, cell))
        return;
    t->chunks.wide = true;
    find_parts(f, n, sum, &source);
    put_news(t, &source);
    flush_combine_number(place, sum, "local.get 0", &t->chunks.body);
    chunks_item(&t->chunks);
}

/* Leaf k of a cell, or its mark. */
static EmitNumber cell_number(const Flush *f, const MapCell *cell, uint32_t k, WasmType type) {
    const Store *s = f->store;
    if (s->cells.in_memory)
        return store_number(s, f->m, type, cells_address(&s->cells, cell) + 8 * (uint64_t)k);
    return emit_global(type, global_index(f, cell->first_global) + k);
}

static void settle_cell(Settling *t, const MapCell *cell) {
    const Store *s = t->chunks.f->store;
    uint32_t n = s->plan->vars.len + cell->first_sum;
    for (uint32_t k = 0; k <= s->plan->cells.maps.at[cell->map].leaves; k++) {
        const Sum *sum = store_cell_sum(s, cell, k);
        if (sum && sum->type)
            flush_sum_settle(t, n + k, sum,
                             cell_number(t->chunks.f, cell, k, type_wasm(sum->type)));
    }
}

/* Adds these functions to the settling functions. */
static void settle_by(Flush *f, Chunks *chunks) {
    chunks_end(chunks);
    for (uint32_t i = 0; i < chunks->funcs.len; i++)
        vec_push(&f->sums.settle, chunks->funcs.at[i]);
    chunks_free(chunks);
}

static void add_settling(Flush *f, Splicer *s) {
    Store *store = f->store;
    Settling t = {.chunks = {.f = f, .s = s, .name = "whammc.settle"},
                  .kept = store->counts->ncounters};
    for (uint32_t i = 0; i < f->plan->vars.len; i++) {
        const PlanVar *v = &f->plan->vars.at[i];
        bool once = v->decl->storage == STORAGE_SCRIPT || v->decl->storage == STORAGE_SHARED;
        if (once && !v->decl->cells)
            flush_sum_settle(&t, i, store_sum(store, i), store_variable(store, f->m, v, 0));
    }
    for (uint32_t i = 0; i < store->cells.list.len; i++)
        settle_cell(&t, &store->cells.list.at[i]);
    settle_by(f, &t.chunks);
}

/* Updates the counters of loops that are counted by an induction variable. */
static void add_loops(Flush *f, Splicer *s) {
    Chunks chunks = {.f = f, .s = s, .name = "whammc.loops"};
    for (uint32_t i = 0; i < f->store->counts->loops.len; i++) {
        loop_count_put_flush(f->store, f->m, i, &chunks.body);
        chunks_item(&chunks);
    }
    settle_by(f, &chunks);
}

/* Consecutive arrays of one variable, for maps with numbers `step` apart. */
typedef struct TallyRun {
    uint32_t map, step, times, keys;
    uint64_t at;
} TallyRun;

static void put_tally_run(Chunks *c, uint32_t var, const TallyRun *r) {
    const Flush *f = c->f;
    if (!r->times)
        return;
    const MapTally *m = &f->plan->tallies[var];
    emit(&c->body, "i32.const %u i32.const %u i32.const %u", r->map, r->step, r->times);
    store_push_text(f->store, f->m, m->text - 1, &c->body);
    emit(&c->body, "i32.const %u i32.const %u i32.const %u call %u", (uint32_t)r->at, r->keys,
         m->marked | m->buckets << 1, func_index(f, f->helpers[HELPER_MAP_TALLY]));
    chunks_item(c);
}

/* False if the array does not continue the run. */
static bool extend_tally_run(TallyRun *r, const Tally *tally, uint64_t at, uint32_t size) {
    if (!r->times || r->keys != tally->keys || at != r->at + (uint64_t)size * r->keys * r->times)
        return false;
    if (r->times == 1)
        r->step = tally->map - r->map;
    if (tally->map != r->map + r->step * r->times)
        return false;
    r->times++;
    return true;
}

/* Adds the counts in arrays to their maps. */
static void add_tallies(Flush *f, Splicer *s) {
    const Tallies *t = &f->store->tallies;
    Chunks chunks = {.f = f, .s = s, .name = "whammc.tallies"};
    TallyRun *runs = mem_zalloc(sizeof *runs * (f->plan->vars.len + 1u));
    for (uint32_t i = 0; i < t->list.len; i++) {
        const Tally *tally = &t->list.at[i];
        TallyRun *run = &runs[tally->var];
        uint64_t at = tallies_address(t, i);
        uint32_t size = f->plan->tallies[tally->var].marked ? 16 : 8;
        if (!tally->keys || extend_tally_run(run, tally, at, size))
            continue;
        put_tally_run(&chunks, tally->var, run);
        *run = (TallyRun){.map = tally->map, .times = 1, .keys = tally->keys, .at = at};
    }
    for (uint32_t i = 0; i < f->plan->vars.len; i++)
        put_tally_run(&chunks, i, &runs[i]);
    free(runs);
    settle_by(f, &chunks);
}

void flush_settle(const Flush *f, Buf *out) {
    emit_calls(out, f->m, f->sums.settle.at, f->sums.settle.len);
}

void flush_add_sums(Flush *f, Splicer *s) {
    add_tallies(f, s);
    if (!f->store->counts)
        return;
    uint32_t n = f->plan->vars.len + f->store->cells.nsums;
    uint32_t *end = arena_array(&f->m->arena, uint32_t, n + 1);
    const CounterPlaces places = {flush_sum_counter_at, f};
    for (uint32_t i = 0; i < n; i++) {
        if (!f->sums.at || !f->sums.at[i])
            counter_add_functions(f->m, &places, counts_sum(f->store->counts, i), &f->sums.funcs);
        end[i] = f->sums.funcs.len;
    }
    f->sums.end = end;
    add_loops(f, s);
    if (!f->store->counters.nsettled)
        return;
    if (f->at.ready != UINT32_MAX && f->own)
        vec_push(&f->sums.settle, f->at.ready);
    add_settling(f, s);
}
