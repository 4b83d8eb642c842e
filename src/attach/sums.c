/*
 * attach/sums.c - the sums of monitors' probes, made of counters before wasm:exit.
 *
 * Counters are i64 globals or, if they are very many, words of a memory of their own. That has
 * records of traps in the middle of segments (counts.h), a word for each counter and each derived
 * count, and a table in LEB128 of what these are and what is made of them. Small functions go
 * through it:
 *
 *   a derived count   its leak, doubled, + 1 if that is subtracted; how many terms; these: index
 *                     << 1, + 1 if it is subtracted
 *   numbers           flags; [how many, step]; the count's index; distance of the first from where
 *                     those before ended; a factor, or what they are set to; [distance of the
 *                     function's index from the one before, for each number distance of its key].
 *                     Step, distance, factor have their sign in bit 0.
 *
 * Numbers of each memory follow each other. Globals are few; code makes their sums.
 */
#include "attach/attach_code.h"

#include <inttypes.h>

#include "wasm/emit.h"
#include "inject/trap_section.h"
#include "edit/edit.h"

enum {
    MAX_GLOBALS = 50000,  /* a memory starts faster than very many globals */
    CHUNK_COUNTERS = 1000 /* in one function */
};

/* Of numbers, beside the logarithm of their size. */
enum {
    FLAG_SIZE = 3,
    FLAG_SETS = 4,
    FLAG_SEVERAL = 8,
    FLAG_TRAPS = 16, /* something in the segment can trap */
};

/* Of the records of traps. */
enum { RECORD = 4 * TRAP_WORDS, RECORDS_SIZE = TRAP_RECORDS * RECORD };

typedef struct Maker {
    Bind *b;
    WasmModule *m;
    Buf table;
    uint32_t *first_derived; /* by index into Counts.funcs: number of its first derived count */
    uint32_t nwords;         /* counters and derived counts */
    uint32_t cursor;         /* handle of the global that goes through the table */
    uint32_t next;           /* handle of the function that reads it, */
    uint32_t leaks, times;   /* and of those that ask for traps */
    uint32_t *corrections;   /* by variable that is set: handle of what its count is corrected by */
    Buf code;                /* of the function that makes the sums */
} Maker;

static uint32_t add_func(Maker *x, const char *params, const char *results, const char *name,
                         Buf *code) {
    WasmType types[8];
    uint32_t n = 0, k;
    for (; *params; params++)
        types[n++] = *params == 'l' ? WASM_I64 : WASM_I32;
    for (k = n; *results; results++)
        types[k++] = *results == 'l' ? WASM_I64 : WASM_I32;
    uint32_t type = wasm_add_func_type(x->m, types, n, types + n, k - n);
    return wasm_add_func(x->m, type, str_of(name), code, false);
}

/* ---- code ---- */

/* () -> i64: the number at the cursor, which goes behind it. */
static uint32_t add_next(Maker *x) {
    Buf b = {0};
    emit_locals(&b, 1, 2);
    emit(&b,
         "$byte $shift $result $cursor=%u $memory=%u"
         " loop"
         "   global.get $cursor i32.load8_u $memory 0 local.set $byte"
         "   global.get $cursor i32.const 1 i32.add global.set $cursor"
         "   local.get $result"
         "   local.get $byte i32.const 127 i32.and i64.extend_i32_u local.get $shift i64.shl"
         "   i64.or local.set $result"
         "   local.get $shift i64.const 7 i64.add local.set $shift"
         "   local.get $byte i32.const 128 i32.and br_if 0"
         " end"
         " local.get $result end",
         x->cursor, x->b->total.memory);
    return add_func(x, "", "l", "whammc.sums.next", &b);
}

/* (end): computes all derived counts. */
static uint32_t add_derive(Maker *x) {
    Buf b = {0};
    emit_locals(&b, 2, 2);
    emit(&b,
         "$end $terms $word $ref $sum $cursor=%u $next=%u $leaks=%u $memory=%u $words=%u"
         " i32.const %u local.set $word"
         " block loop"
         "   global.get $cursor local.get $end i32.ge_u br_if 1"
         "   i64.const 0 local.set $sum"
         "   call $next local.tee $ref i64.eqz"
         "   if"
         "   else"
         "     local.get $ref i64.const 1 i64.shr_u i32.wrap_i64 call $leaks"
         /* negative if bit 0 of $ref says so, which is then that bit: (number ^ -bit) + bit */
         "     i64.const 0 local.get $ref i64.const 1 i64.and local.tee $ref i64.sub i64.xor"
         "     local.get $ref i64.add local.set $sum"
         "   end"
         "   call $next i32.wrap_i64 local.set $terms"
         "   block loop"
         "     local.get $terms i32.eqz br_if 1"
         "     local.get $terms i32.const 1 i32.sub local.set $terms"
         "     call $next local.tee $ref i64.const 1 i64.shr_u"
         "     i32.wrap_i64 i32.const 3 i32.shl i64.load $memory $words"
         "     i64.const 0 local.get $ref i64.const 1 i64.and local.tee $ref i64.sub i64.xor"
         "     local.get $ref i64.add"
         "     local.get $sum i64.add local.set $sum"
         "     br 0"
         "   end end"
         "   local.get $word local.get $sum i64.store $memory $words"
         "   local.get $word i32.const 8 i32.add local.set $word"
         "   br 0"
         " end end"
         " end",
         x->cursor, x->next, x->leaks, x->b->total.memory, RECORDS_SIZE,
         8 * x->b->counts.ncounters);
    return add_func(x, "i", "", "whammc.sums.derive", &b);
}

/* By the logarithm of the size. */
static const char *const loads[] = {"i64.load8_u", "i64.load16_u", "i64.load32_u", "i64.load"};
static const char *const stores[] = {"i64.store8", "i64.store16", "i64.store32", "i64.store"};

/* (address, flags, number): sets the number at the address in a memory or (`adds`) adds to it. */
static uint32_t add_change(Maker *x, uint32_t memory, bool adds) {
    Buf b = {0};
    emit_locals(&b, 0, 0);
    for (uint32_t size = 0; size < 4; size++) {
        emit(&b,
             "$address $flags $number"
             " local.get $flags i32.const %u i32.and i32.const %u i32.eq"
             " if local.get $address local.get $number",
             FLAG_SIZE, size);
        if (adds)
            emit(&b, "$address local.get $address %s %u 0 i64.add", loads[size], memory);
        emit(&b, "%s %u 0 return end", stores[size], memory);
    }
    emit(&b, "end");
    return add_func(x, "iil", "", adds ? "whammc.sums.add" : "whammc.sums.set", &b);
}

/* (end): changes numbers of a memory. */
static uint32_t add_apply(Maker *x, uint32_t memory) {
    uint32_t add = add_change(x, memory, true), set = add_change(x, memory, false);
    Buf b = {0};
    emit_locals(&b, 6, 3);
    emit(&b,
         "$end $flags $n $step $at $fid $key $all $factor $count"
         " $cursor=%u $next=%u $times=%u $add=%u $set=%u $memory=%u $words=%u"
         " $sets=%u $several=%u $traps=%u"
         " block loop"
         "   global.get $cursor local.get $end i32.ge_u br_if 1"
         /* what is said of some numbers together; a sign is applied by (n >> 1) ^ -(n & 1) */
         "   i32.const 0 local.set $key"
         "   i32.const 0 local.set $step"
         "   i32.const 1 local.set $n"
         "   call $next i32.wrap_i64 local.set $flags"
         "   local.get $flags i32.const $several i32.and"
         "   if"
         "     call $next i32.wrap_i64 local.set $n"
         "     i64.const 0 call $next local.tee $factor i64.const 1 i64.and i64.sub"
         "       local.get $factor i64.const 1 i64.shr_u i64.xor"
         "     i32.wrap_i64 local.get $step i32.add local.set $step"
         "   end"
         "   call $next i32.wrap_i64 i32.const 3 i32.shl i64.load $memory $words local.set $all"
         "   i64.const 0 call $next local.tee $factor i64.const 1 i64.and i64.sub"
         "     local.get $factor i64.const 1 i64.shr_u i64.xor"
         "   i32.wrap_i64 local.get $at i32.add local.set $at"
         "   i64.const 0 call $next local.tee $factor i64.const 1 i64.and i64.sub"
         "     local.get $factor i64.const 1 i64.shr_u i64.xor"
         "   local.set $factor"
         "   local.get $flags i32.const $traps i32.and"
         "   if call $next i32.wrap_i64 local.get $fid i32.add local.set $fid end"
         /* for each of them */
         "   block loop"
         "     local.get $n i32.eqz br_if 1"
         "     local.get $n i32.const 1 i32.sub local.set $n"
         /* how often its place was executed */
         "     local.get $all local.set $count"
         "     local.get $flags i32.const $traps i32.and"
         "     if"
         "       call $next i32.wrap_i64 local.get $key i32.add local.set $key"
         "       local.get $all local.get $fid local.get $key call $times i64.sub local.set $count"
         "     end"
         "     local.get $flags i32.const $sets i32.and"
         "     if"
         "       local.get $count i64.eqz i32.eqz"
         "       if local.get $at local.get $flags local.get $factor call $set end"
         "     else"
         "       local.get $at local.get $flags"
         "       local.get $count local.get $factor i64.mul call $add"
         "     end"
         "     local.get $at local.get $step i32.add local.set $at"
         "     br 0"
         "   end end"
         "   br 0"
         " end end"
         " end",
         x->cursor, x->next, x->times, add, set, x->b->total.memory, RECORDS_SIZE, FLAG_SETS,
         FLAG_SEVERAL, FLAG_TRAPS);
    return add_func(x, "i", "", "whammc.sums.apply", &b);
}

/* ---- traps ---- */

/* The offset of a word of a record. */
static uint32_t word_at(uint32_t record, uint32_t what) {
    return record * RECORD + 4 * what;
}

/* (leak) -> i64: how often there was one */
static uint32_t add_leaks(Maker *x) {
    Buf b = {0};
    emit_locals(&b, 0, 0);
    emit(&b, "i64.const 0");
    for (uint32_t i = 0; i < TRAP_RECORDS; i++)
        emit(&b,
             "$wanted $memory=%u $times=%u $leak=%u"
             " i32.const 0 i32.load $memory $times"
             " local.get $wanted i32.const 0 i32.load $memory $leak i32.eq"
             " i32.mul i64.extend_i32_u i64.add",
             x->b->total.memory, word_at(i, TRAP_TIMES), word_at(i, TRAP_LEAK));
    emit(&b, "end");
    return add_func(x, "i", "l", "whammc.sums.leaks", &b);
}

/* (fid, key) -> i64: how often what is there was counted too often */
static uint32_t add_times(Maker *x) {
    Buf b = {0};
    emit_locals(&b, 0, 1);
    for (uint32_t i = 0; i < TRAP_RECORDS; i++)
        emit(&b,
             "$func $place $sum $memory=%u $fid=%u $from=%u $to=%u $times=%u"
             " i32.const 0 i32.load $memory $times i32.eqz"
             " if local.get $sum return end" /* they are filled from the first on */
             " local.get $func i32.const 0 i32.load $memory $fid i32.eq"
             " local.get $place i32.const 0 i32.load $memory $from i32.ge_u i32.and"
             " local.get $place i32.const 0 i32.load $memory $to i32.lt_u i32.and"
             " i32.const 0 i32.load $memory $times i32.mul i64.extend_i32_u"
             " local.get $sum i64.add local.set $sum",
             x->b->total.memory, word_at(i, TRAP_FID), word_at(i, TRAP_FROM), word_at(i, TRAP_TO),
             word_at(i, TRAP_TIMES));
    emit(&b, "local.get 2 end");
    return add_func(x, "ii", "l", "whammc.sums.times", &b);
}

/* Returns 1 if a record is free, which is filled, or has the place of the parameters. */
static void emit_try_record(const Maker *x, Buf *b, uint32_t record) {
    uint32_t memory = x->b->total.memory, times = word_at(record, TRAP_TIMES);
    emit(b, "i32.const 0 i32.load %u %u i32.eqz if", memory, times);
    for (uint32_t k = 0; k < TRAP_PARAMS; k++)
        emit(b, "i32.const 0 local.get %u i32.store %u %u", k, memory,
             word_at(record, trap_params[k]));
    emit(b, "end");
    for (uint32_t k = 1; k < TRAP_PARAMS; k++)
        emit(b, "local.get %u i32.const 0 i32.load %u %u i32.eq %s", k, memory,
             word_at(record, trap_params[k]), k > 1 ? "i32.and" : "");
    emit(b,
         "$memory=%u $times=%u"
         " if"
         "   i32.const 0"
         "   i32.const 0 i32.load $memory $times i32.const 1 i32.add i32.store $memory $times"
         "   i32.const 1 return"
         " end",
         memory, times);
}

/* whammc:trapped (leak, fid, from, to) -> i32: whether there was room, if numbers need it */
static void add_trapped(Maker *x, bool memories) {
    Buf b = {0};
    emit_locals(&b, 0, 0);
    for (uint32_t i = 0; i < TRAP_RECORDS && memories; i++)
        emit_try_record(x, &b, i);
    emit(&b, "i32.const %d end", !memories);
    uint32_t func = add_func(x, "iiii", "i", "whammc.trapped", &b);
    wasm_add_export(x->m, STR("whammc:trapped"), WASM_SPACE_FUNC, func);
}

/* ---- the table ---- */

static void write_signed(Buf *b, int64_t v) {
    buf_uleb(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static uint32_t word_of(const Maker *x, uint32_t func, CountRef ref) {
    return ref.derived ? x->first_derived[func] + ref.index : ref.index;
}

/* What derived counts are made of. */
static void write_derived(Maker *x) {
    const Counts *c = &x->b->counts;
    x->first_derived = mem_zalloc(sizeof *x->first_derived * (c->funcs.len + 1u));
    x->nwords = c->ncounters;
    for (uint32_t f = 0; f < c->funcs.len; f++) {
        const uint32_t *words = c->words.at + c->funcs.at[f].at;
        uint32_t n = *words++;
        x->first_derived[f] = x->nwords;
        x->nwords += n;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t leak = *words++, plus = *words++, all = *words++;
            buf_uleb(&x->table, leak >> 1 ? leak : 0);
            buf_uleb(&x->table, all);
            for (uint32_t t = 0; t < all; t++, words++) {
                CountRef ref = {*words >> 1 & 0x7fffffff, *words & 1};
                buf_uleb(&x->table, (uint64_t)word_of(x, f, ref) << 1 | (t >= plus));
            }
        }
    }
}

/* Where a table of numbers is. */
typedef struct Position {
    uint32_t at, func;
} Position;

/* Numbers that have one count. */
static void write_numbers(Maker *x, const BindRun *r, uint32_t word, uint64_t factor, Position *p) {
    buf_u8(&x->table, (uint8_t)(r->place.size_log2 | (r->set ? FLAG_SETS : 0) |
                                (r->n > 1 ? FLAG_SEVERAL : 0) | (r->traps ? FLAG_TRAPS : 0)));
    if (r->n > 1) {
        buf_uleb(&x->table, r->n);
        write_signed(&x->table, (int32_t)r->step);
    }
    buf_uleb(&x->table, word);
    write_signed(&x->table, (int32_t)(r->place.at - p->at));
    write_signed(&x->table, (int64_t)factor);
    p->at = r->place.at + (r->n > 1 ? r->n * r->step : 0);
    if (!r->traps)
        return;
    buf_uleb(&x->table, r->func - p->func);
    p->func = r->func;
    for (uint32_t k = 0; k < r->n; k++)
        buf_uleb(&x->table, x->b->keys.at[r->key + k] - (k ? x->b->keys.at[r->key + k - 1] : 0));
}

/* All numbers of a memory; false if there are none. */
static bool write_memory(Maker *x, uint32_t memory) {
    const Bind *b = x->b;
    Position p = {0};
    size_t before = x->table.len;
    for (uint32_t i = 0; i < b->runs.len; i++) {
        const BindRun *r = &b->runs.at[i];
        const CountValue *v = &b->counts.values.at[r->value];
        if (r->place.handle == memory && v->func != COUNT_NONE)
            write_numbers(x, r, word_of(x, v->func, v->ref), r->set ? r->to : v->amount, &p);
    }
    for (uint32_t i = 0; i < b->vars.len; i++) {
        const BindPlace *place = &b->sums.at[b->vars.at[i]].place;
        CountParts parts = counts_parts(&b->counts, i);
        BindRun one = {.place = *place, .n = 1};
        for (uint32_t k = 0; k < parts.len; k++)
            if (place->space == WASM_SPACE_MEMORY && place->handle == memory)
                write_numbers(x, &one, parts.at[k].counter, parts.at[k].weight, &p);
    }
    return x->table.len > before;
}

/* Where the table begins. */
static uint64_t table_at(const Maker *x) {
    return RECORDS_SIZE + 8 * (uint64_t)x->nwords;
}

/* ---- all ---- */

/* The offset of a counter in memory. */
static uint64_t counter_at(uint32_t n) {
    return RECORDS_SIZE + 8 * (uint64_t)n;
}

/* Copies counters from globals into memory. */
static void add_saving(Maker *x) {
    uint32_t n = x->b->total.first_counter == UINT32_MAX ? 0 : x->b->counts.ncounters;
    for (uint32_t i = 0; i < n;) {
        Buf b = {0};
        emit_locals(&b, 0, 0);
        for (uint32_t k = 0; k < CHUNK_COUNTERS && i < n; k++, i++)
            emit(&b, "i32.const 0 global.get %u i64.store %u %" PRIu64,
                 x->b->total.first_counter + i, x->b->total.memory, counter_at(i));
        emit(&b, "end");
        emit(&x->code, "call %u", add_func(x, "", "", "whammc.sums.save", &b));
    }
}

/* Adds a counter, weighted, to the number on the stack. */
static void emit_part(const Maker *x, Buf *b, CountPart part) {
    const BindTotal *t = &x->b->total;
    if (t->first_counter != UINT32_MAX)
        emit(b, "global.get %u", t->first_counter + part.counter);
    else
        emit(b, "i32.const 0 i64.load %u %" PRIu64, t->memory, counter_at(part.counter));
    emit(b, "i64.const %" PRIu64 " i64.mul i64.add", part.weight);
}

/* Pushes a variable's sum. */
static void emit_sum(Maker *x, Buf *code, CountParts parts) {
    emit(code, "i64.const 0");
    for (uint32_t i = 0; i < parts.len;) {
        Buf b = {0};
        emit_locals(&b, 0, 0);
        emit(&b, "i64.const 0");
        for (uint32_t k = 0; k < CHUNK_COUNTERS && i < parts.len; k++, i++)
            emit_part(x, &b, parts.at[i]);
        emit(&b, "end");
        emit(code, "call %u i64.add", add_func(x, "", "l", "whammc.sums.part", &b));
    }
}

/* Adds a variable's sum to its global, or sets that if the sum is not 0. */
static void emit_global(Maker *x, const BindSum *sum, CountParts parts) {
    Buf *code = &x->code;
    const char *type = sum->place.size_log2 == 2 ? "i32" : "i64";
    emit_sum(x, code, parts);
    if (sum->set)
        emit(code,
             "global.get %u i64.add i64.eqz i32.eqz"
             " if %s.const %" PRIu64 " global.set %u end",
             x->corrections[sum->var], type, sum->to, sum->place.handle);
    else
        emit(code, "$global=%u %s global.get $global %s.add global.set $global", sum->place.handle,
             sum->place.size_log2 == 2 ? "i32.wrap_i64" : "", type);
}

static void emit_globals(Maker *x) {
    const Bind *b = x->b;
    for (uint32_t i = 0; i < b->vars.len; i++) {
        const BindSum *sum = &b->sums.at[b->vars.at[i]];
        CountParts parts = counts_parts(&b->counts, i);
        if (sum->place.space == WASM_SPACE_GLOBAL && parts.len)
            emit_global(x, sum, parts);
    }
}

/* if (variable == n) its number += amount; of what is set, the count */
static void emit_correction(const Maker *x, Buf *b, uint32_t n) {
    const BindSum *sum = &x->b->sums.at[x->b->vars.at[n]];
    const BindPlace *place = &sum->place;
    bool narrow = place->size_log2 == 2 && !sum->set;
    emit(b, "$variable local.get $variable i32.const %u i32.eq if", n);
    if (place->space == WASM_SPACE_MEMORY)
        emit(b,
             "$variable $amount $memory=%u $at=%u"
             " i32.const $at i32.const $at %s $memory 0 local.get $amount i64.add %s $memory 0",
             place->handle, place->at, loads[place->size_log2], stores[place->size_log2]);
    else
        emit(b,
             "$variable $amount $global=%u"
             " global.get $global local.get $amount %s %s.add global.set $global",
             sum->set ? x->corrections[n] : place->handle, narrow ? "i32.wrap_i64" : "",
             narrow ? "i32" : "i64");
    emit(b, "end");
}

/* whammc:correct (variable, amount); variable -1 traps, see trap_section.h */
static void add_correct(Maker *x) {
    const Counts *c = &x->b->counts;
    bool *done = mem_zalloc(x->b->vars.len + 1u);
    Buf b = {0};
    emit_locals(&b, 0, 0);
    trap_section_put_show(&b);
    for (uint32_t i = 0; i < c->trap_vars.len; i++) {
        if (!done[c->trap_vars.at[i]])
            emit_correction(x, &b, c->trap_vars.at[i]);
        done[c->trap_vars.at[i]] = true;
    }
    emit(&b, "end");
    uint32_t func = add_func(x, "il", "", "whammc.correct", &b);
    wasm_add_export(x->m, STR("whammc:correct"), WASM_SPACE_FUNC, func);
    free(done);
}

/* Calls a function for the part of the table from its start, or the one before, to here. */
static void emit_stage(Maker *x, uint32_t func) {
    emit(&x->code, "i32.const %" PRIu64 " call %u", table_at(x) + x->table.len, func);
}

/* Whether numbers in memories follow from counts. */
static bool in_memories(const Bind *b) {
    bool any = b->runs.len > 0;
    for (uint32_t i = 0; i < b->vars.len; i++)
        any |= b->sums.at[b->vars.at[i]].place.space == WASM_SPACE_MEMORY;
    return any;
}

static void emit_memories(Maker *x) {
    uint32_t memories = x->m->memories.len;
    x->cursor = wasm_add_global_i32(x->m, true, STR("whammc.sums.cursor"), 0);
    x->next = add_next(x);
    x->leaks = add_leaks(x);
    x->times = add_times(x);
    write_derived(x);
    add_saving(x);
    emit(&x->code, "i32.const %" PRIu64 " global.set %u", table_at(x), x->cursor);
    if (x->table.len)
        emit_stage(x, add_derive(x));
    for (uint32_t k = 0; k < memories; k++)
        if (write_memory(x, k))
            emit_stage(x, add_apply(x, k));
}

void bind_total(Bind *b) {
    BindTotal *t = &b->total;
    Maker x = {.b = b, .m = &b->p.m};
    *t = (BindTotal){.first_counter = UINT32_MAX, .func = -1};
    if (!b->counts.ncounters)
        return;
    bool globals = b->counts.ncounters <= MAX_GLOBALS, memories = in_memories(b);
    x.nwords = b->counts.ncounters;
    if (memories || !globals) {
        WasmLimits one = {.min = 1, .page_log2 = 16};
        t->memory = wasm_add_memory(x.m, one, STR("whammc.sums"));
    }
    if (globals)
        t->first_counter = x.m->globals.len;
    for (uint32_t i = 0; i < b->counts.ncounters && globals; i++)
        wasm_add_global_zero(x.m, WASM_I64, true, STR(""));
    x.corrections = mem_zalloc(sizeof *x.corrections * (b->vars.len + 1u));
    for (uint32_t i = 0; i < b->vars.len; i++)
        if (b->sums.at[b->vars.at[i]].set)
            x.corrections[i] = wasm_add_global_zero(x.m, WASM_I64, true, STR(""));
    emit_locals(&x.code, 0, 0);
    if (memories)
        emit_memories(&x);
    emit_globals(&x);
    if (b->counts.traps.len) {
        add_trapped(&x, memories);
        add_correct(&x);
    }
    emit(&x.code, "end");
    t->func = add_func(&x, "", "", "whammc.sums", &x.code);
    if (memories || !globals) {
        uint64_t table = table_at(&x);
        x.m->memories.at[t->memory].limits.min = (table + x.table.len + 65535) >> 16;
        if (x.table.len)
            wasm_add_data_active(x.m, t->memory, table, &x.table, (Str){0});
    }
    free(x.first_derived);
    free(x.corrections);
    buf_free(&x.table);
}

/* Adds 1 to a counter. */
static void emit_count(const Bind *b, uint32_t n, Buf *code) {
    const WasmModule *m = &b->p.m;
    const BindTotal *t = &b->total;
    if (t->first_counter != UINT32_MAX)
        emit(code, "$counter=%u global.get $counter i64.const 1 i64.add global.set $counter",
             wasm_final(m, WASM_SPACE_GLOBAL, t->first_counter + n));
    else
        emit(code,
             "$memory=%u $at=%" PRIu64 " i32.const 0 i32.const 0 i64.load $memory $at"
             " i64.const 1 i64.add i64.store $memory $at",
             wasm_final(m, WASM_SPACE_MEMORY, t->memory), counter_at(n));
}

void bind_put_counters(Bind *b, uint32_t func) {
    Pieces *pieces = &b->p.pieces;
    const Counts *c = &b->counts;
    for (; b->total.point < c->points.len && c->points.at[b->total.point].func == func;
         b->total.point++) {
        const CountPoint *p = &c->points.at[b->total.point];
        size_t from = pieces->code.len;
        emit_count(b, p->counter, &pieces->code);
        pieces_add(pieces, p->behind ? WASM_AFTER : WASM_BEFORE, p->offset, RANK_PROBE, from,
                   pieces->code.len);
    }
}
