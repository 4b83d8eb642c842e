/*
 * monitor/attach/sums.c - the sums of monitors' probes, made of counters before wasm:exit.
 *
 * Counters are i64 globals or, if they are very many, words of a memory of their own. The memory
 * holds the input of stdlib/runtime/sums_bound.c, which computes the numbers in the monitors'
 * memories: records of traps, a word for each counter and each derived count, and tables. Variables
 * that are globals are few; code makes their sums.
 */
#include "monitor/attach/attach_code.h"

#include <assert.h>
#include <inttypes.h>

#include "../../../stdlib/runtime/sums_bound.h" /* its input */
#include "edit/edit.h"
#include "inject/counter_code.h"
#include "inject/trap_record.h"
#include "link/runtime.h"
#include "wasm/emit.h"

enum {
    MAX_GLOBALS = 50000, /* a memory starts faster than very many globals */
    STACK = 1024,        /* of stdlib/runtime/sums_bound.c: the memory begins with it */
    BOUND_WORDS = 8,     /* of Bound */
};
#define TRAPS_AT ((uint64_t)STACK)
#define WORDS_AT (TRAPS_AT + TRAP_RECORDS * SUMS_TRAP)

typedef struct Maker {
    Bind *b;
    WasmModule *m;
    Buf numbers;           /* the table */
    uint32_t nwords;       /* counters and derived counts */
    uint32_t traps;        /* handle of the first global of records of traps */
    uint32_t change;       /* ... of app.change */
    uint32_t *corrections; /* by variable that is set: handle of the correction of its count */
    Buf code;              /* of the function that makes the sums */
} Maker;

/* ---- numbers in memories ---- */

/* Whether numbers of this memory follow from counts; of any if it is UINT32_MAX. */
static bool has_numbers(const Bind *b, uint32_t memory) {
    bool any = false;
    for (uint32_t i = 0; i < b->runs.len && !any; i++)
        any = memory == UINT32_MAX || b->runs.at[i].place.handle == memory;
    for (uint32_t i = 0; i < b->vars.len && !any; i++) {
        const BindPlace *p = &b->sums.at[b->vars.at[i]].place;
        any = p->space == WASM_SPACE_MEMORY && (memory == UINT32_MAX || p->handle == memory);
    }
    return any;
}

/* By the logarithm of the size; of a number at a local. */
static const char *const loads[] = {
    "local.get $address i64.load8_u $this 0", "local.get $address i64.load16_u $this 0",
    "local.get $address i64.load32_u $this 0", "local.get $address i64.load $this 0"};
static const char *const stores[] = {"i64.store8", "i64.store16", "i64.store32", "i64.store"};

/* Changes a number of this memory and size if the parameters name it. */
static void emit_change(Buf *b, uint32_t memory, uint32_t size, bool sets) {
    emit(b,
         "$memory $address $flags $number $this=%u $mask=%u $kind=%u"
         " local.get $memory i32.const $this i32.eq"
         " local.get $flags i32.const $mask i32.and i32.const $kind i32.eq i32.and"
         " if"
         "   local.get $address %s local.get $number %s %s $this 0 return"
         " end",
         memory, BOUND_SIZE | BOUND_SETS, size | (sets ? BOUND_SETS : 0), sets ? "" : loads[size],
         sets ? "" : "i64.add", stores[size]);
}

/* app.change */
static uint32_t add_change(Maker *x) {
    Buf cases = {0};
    for (uint32_t k = 0; k < x->m->memories.len; k++)
        for (uint32_t size = 0; size < 4 && has_numbers(x->b, k); size++)
            for (uint32_t sets = 0; sets < 2; sets++)
                emit_change(&cases, k, size, sets);
    uint32_t func =
        emit_function(x->m, "whammc.sums.change",
                      "param $memory i32 $address i32 $flags i32 $number i64 %p", &cases);
    buf_free(&cases);
    return func;
}

static int64_t sums_resolve(void *ctx, const WasmImport *import) {
    Maker *x = ctx;
    if (str_is(import->name, "change"))
        return x->change;
    if (str_is(import->name, "__stack_pointer"))
        return wasm_add_global_i32(x->m, true, STR("whammc.sums.stack"), STACK);
    return x->b->total.memory;
}

/* Adds stdlib/runtime/sums_bound.c; false with a message if it cannot be had. */
static bool add_runtime(Maker *x, uint32_t *func) {
    WasmModule from;
    WasmMerge g = {.to = x->m,
                   .memory = x->b->total.memory,
                   .resolve = sums_resolve,
                   .ctx = x,
                   .prefix = STR("whammc.")};
    const RuntimeFunc sums = {"whammc_sums", func};
    x->change = add_change(x);
    return runtime_merge(&g, &from, runtime_sums(), &sums, 1, x->b->p.diags);
}

/* ---- the table ---- */

static void write_signed(Buf *b, int64_t v) {
    buf_uleb(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static uint32_t sums_word_of(const Maker *x, CountRef ref) {
    return ref.index + (ref.derived ? x->b->counts.ncounters : 0);
}

/* The kind of the last numbers in the table. */
typedef struct Position {
    int64_t memory; /* -1: there are none yet */
    uint32_t at, func;
} Position;

/* Numbers that have one count. */
static void write_numbers(Maker *x, const BindRun *r, uint32_t word, uint64_t factor, Position *p) {
    Buf *b = &x->numbers;
    bool moves = r->place.handle != p->memory;
    if (moves)
        *p = (Position){.memory = r->place.handle};
    buf_uleb(b, r->place.size_log2 | (r->set ? BOUND_SETS : 0) | (r->n > 1 ? BOUND_SEVERAL : 0) |
                    (r->traps ? BOUND_TRAPS : 0) | (moves ? BOUND_MEMORY : 0));
    if (moves)
        buf_uleb(b, r->place.handle);
    if (r->n > 1) {
        buf_uleb(b, r->n);
        write_signed(b, (int32_t)r->step);
    }
    buf_uleb(b, word);
    write_signed(b, (int32_t)(r->place.at - p->at));
    write_signed(b, (int64_t)factor);
    p->at = r->place.at + (r->n > 1 ? r->n * r->step : 0);
    if (!r->traps)
        return;
    buf_uleb(b, r->func - p->func);
    p->func = r->func;
    for (uint32_t k = 0; k < r->n; k++)
        buf_uleb(b, x->b->keys.at[r->key + k] - (k ? x->b->keys.at[r->key + k - 1] : 0));
}

/* All numbers of a memory. */
static void write_memory(Maker *x, uint32_t memory, Position *p) {
    const Bind *b = x->b;
    CountParts parts = {0};
    for (uint32_t i = 0; i < b->runs.len; i++) {
        const BindRun *r = &b->runs.at[i];
        const CountValue *v = &b->counts.values.at[r->value];
        if (r->place.handle == memory && v->amount)
            write_numbers(x, r, sums_word_of(x, v->ref), r->set ? r->to : v->amount, p);
    }
    for (uint32_t i = 0; i < b->vars.len; i++) {
        const BindPlace *place = &b->sums.at[b->vars.at[i]].place;
        BindRun one = {.place = *place, .n = 1};
        if (place->space != WASM_SPACE_MEMORY || place->handle != memory)
            continue;
        counter_parts(counts_sum(&b->counts, i), &parts);
        for (uint32_t k = 0; k < parts.len; k++)
            write_numbers(x, &one, parts.at[k].counter, parts.at[k].weight, p);
    }
    vec_free(&parts);
}

/* ---- all ---- */

static EmitNumber sums_counter_at(const void *ctx, uint32_t n) {
    const Bind *b = ctx;
    const BindTotal *t = &b->total;
    const WasmModule *m = &b->p.m;
    if (t->first_counter != UINT32_MAX)
        return emit_global(WASM_I64, emit_index(m, WASM_SPACE_GLOBAL, t->first_counter + n));
    return (EmitNumber){.in_memory = true,
                        .size_log2 = 3,
                        .type = WASM_I64,
                        .index = emit_index(m, WASM_SPACE_MEMORY, t->memory),
                        .at = WORDS_AT + 8 * (uint64_t)n};
}

/* A number of a monitor; its own if that is a global, else i64. */
static EmitNumber sums_number_at(const BindPlace *p) {
    bool in_memory = p->space == WASM_SPACE_MEMORY;
    return (EmitNumber){.in_memory = in_memory,
                        .size_log2 = (uint8_t)p->size_log2,
                        .type = in_memory || p->size_log2 == 3 ? WASM_I64 : WASM_I32,
                        .index = p->handle,
                        .at = p->at};
}

/* Adds a variable's sum to its global, or sets that if the sum is not 0. */
static void emit_sum(Maker *x, const BindSum *sum, const CountSum *parts) {
    const CounterPlaces places = {sums_counter_at, x->b};
    EmitNumber number = sums_number_at(&sum->place);
    CounterFuncs funcs = {0};
    Buf counted = {0};
    counter_add_functions(x->m, &places, parts, &funcs);
    CounterSum all = {funcs.len ? NULL : parts, funcs.at, funcs.len};
    counter_push_sum(&counted, x->m, &places, &all);
    if (sum->set)
        emit(&x->code,
             "%p global.get %u i64.add i64.eqz i32.eqz"
             " if %s.const %" PRIu64 " global.set %u end",
             &counted, x->corrections[sum->var], emit_type(number.type), sum->to, number.index);
    else
        emit_update(&x->code, number, "%p %s %s.add", &counted, emit_resized(WASM_I64, number.type),
                    emit_type(number.type));
    vec_free(&funcs);
    buf_free(&counted);
}

static void emit_globals(Maker *x) {
    const Bind *b = x->b;
    for (uint32_t i = 0; i < b->vars.len; i++) {
        const BindSum *sum = &b->sums.at[b->vars.at[i]];
        const CountSum *parts = counts_sum(&b->counts, i);
        if (sum->place.space == WASM_SPACE_GLOBAL && parts->n)
            emit_sum(x, sum, parts);
    }
}

/* if (variable == n) its number += amount; for a flag, its count */
static void emit_correction(const Maker *x, Buf *b, uint32_t n) {
    const BindSum *sum = &x->b->sums.at[x->b->vars.at[n]];
    EmitNumber number = sums_number_at(&sum->place);
    if (sum->set && !number.in_memory)
        number = emit_global(WASM_I64, x->corrections[n]);
    emit(b, "local.get 0 i32.const %u i32.eq if", n);
    emit_update(b, number, "local.get 1 %s %s.add", emit_resized(WASM_I64, number.type),
                emit_type(number.type));
    emit(b, "end");
}

static void sums_add_correct(Maker *x) {
    const Counts *c = &x->b->counts;
    Buf b = {0};
    for (uint32_t i = 0; i < c->corrections.corrected.len; i++)
        emit_correction(x, &b, c->corrections.corrected.at[i]);
    trap_record_add_correct(x->m, &b);
    buf_free(&b);
}

/* The memory's contents after the words, which are zero at first: Bound, then the tables. */
static void sums_fill_memory(Maker *x) {
    const Counts *c = &x->b->counts;
    uint64_t at = WORDS_AT + 8 * (uint64_t)x->nwords, derived = at + 4 * BOUND_WORDS;
    uint64_t numbers = derived + c->derived.len, end = numbers + x->numbers.len;
    const uint64_t bound[BOUND_WORDS] = {TRAPS_AT,    TRAP_RECORDS, WORDS_AT, c->ncounters,
                                         c->nderived, derived,      numbers,  end};
    Buf data = {0};
    for (uint32_t i = 0; i < BOUND_WORDS; i++)
        buf_u32le(&data, (uint32_t)bound[i]);
    buf_bytes(&data, c->derived.data, c->derived.len);
    buf_bytes(&data, x->numbers.data, x->numbers.len);
    x->m->memories.at[x->b->total.memory].limits.min = (end + 65535) >> 16;
    wasm_add_data_active(x->m, x->b->total.memory, at, &data, (Str){0});
}

static bool emit_memories(Maker *x) {
    Position last = {.memory = -1};
    uint32_t func = 0;
    bool ok = add_runtime(x, &func);
    x->nwords += x->b->counts.nderived;
    for (uint32_t k = 0; k < x->m->memories.len; k++)
        write_memory(x, k, &last);
    if (x->b->total.first_counter != UINT32_MAX) {
        emit(&x->code, "i32.const %" PRIu64, WORDS_AT);
        counter_save(&x->code, x->m, x->b->total.first_counter, x->b->counts.ncounters,
                     x->b->total.memory);
    }
    if (x->b->counts.corrections.table.len) {
        x->traps = trap_record_add_globals(x->m);
        trap_record_put_copy(&x->code, x->m, x->traps, x->b->total.memory, TRAPS_AT);
    }
    emit(&x->code, "i32.const %" PRIu64 " call %u", WORDS_AT + 8 * (uint64_t)x->nwords, func);
    sums_fill_memory(x);
    return ok;
}

bool bind_total(Bind *b) {
    BindTotal *t = &b->total;
    Maker x = {.b = b, .m = &b->p.m, .nwords = b->counts.ncounters};
    *t = (BindTotal){.first_counter = UINT32_MAX, .memory = UINT32_MAX, .func = -1};
    if (!b->counts.ncounters)
        return true;
    bool globals = b->counts.ncounters <= MAX_GLOBALS, memories = has_numbers(b, UINT32_MAX);
    if (memories || !globals) {
        WasmLimits some = {.min = 1 + ((WORDS_AT + 8 * (uint64_t)x.nwords) >> 16), .page_log2 = 16};
        t->memory = wasm_add_memory(x.m, some, STR("whammc.sums"));
    }
    if (globals)
        t->first_counter = x.m->globals.len;
    for (uint32_t i = 0; i < b->counts.ncounters && globals; i++)
        wasm_add_global_zero(x.m, WASM_I64, true, STR(""));
    x.corrections = mem_zalloc(sizeof *x.corrections * (b->vars.len + 1u));
    for (uint32_t i = 0; i < b->vars.len; i++)
        if (b->sums.at[b->vars.at[i]].set)
            x.corrections[i] = wasm_add_global_zero(x.m, WASM_I64, true, STR(""));
    bool ok = !memories || emit_memories(&x);
    emit_globals(&x);
    if (b->counts.corrections.table.len) {
        EmitNumber traps = emit_global(WASM_I32, x.traps);
        trap_record_add_trapped(x.m, memories ? &traps : NULL);
        sums_add_correct(&x);
    }
    t->func = emit_function(x.m, "whammc.sums", "%p", &x.code);
    buf_free(&x.code);
    free(x.corrections);
    buf_free(&x.numbers);
    return ok;
}

void bind_put_counters(Bind *b, uint32_t func) {
    assert(func < b->p.m.funcs.len);
    Pieces *pieces = &b->p.pieces;
    const Counts *c = &b->counts;
    const CountFunc *f = counts_func(c, func);
    for (uint32_t i = f ? f->point : 0; f && i < f->point + f->npoints; i++) {
        const CountPoint *p = &c->points.at[i];
        size_t from = pieces->code.len;
        emit_increment(&pieces->code, sums_counter_at(b, i), 1);
        pieces_add(pieces, p->after ? WASM_AFTER : WASM_BEFORE, p->offset, RANK_PROBE, from,
                   pieces->code.len);
    }
}
