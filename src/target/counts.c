/*
 * target/counts.c - which counters a program gets, and how values follow from them.
 */
#include "target/counts.h"

/* What each execution of a segment adds to a variable. */
struct CountShare {
    uint32_t var, segment;
    uint64_t amount;
};

void counts_init(Counts *c, const WasmModule *m) {
    *c = (Counts){.m = m, .func = COUNT_NONE};
}

void counts_free(Counts *c) {
    for (uint32_t i = 0; i < c->parts.len; i++)
        vec_free(&c->parts.at[i]);
    vec_free(&c->parts);
    segments_free(&c->segments);
    vec_free(&c->points);
    vec_free(&c->funcs);
    vec_free(&c->words);
    vec_free(&c->values);
    vec_free(&c->shares);
    vec_free(&c->weights);
    vec_free(&c->needed);
    vec_free(&c->refs);
}

/* ---- pass 1 ---- */

static void close_function(Counts *c);

void counts_enter(Counts *c, uint32_t func) {
    close_function(c);
    c->func = func;
    c->found = false;
    c->cursor = 0;
    c->first_value = c->values.len;
    c->shares.len = 0;
}

static void find_segments(Counts *c) {
    WasmCode code;
    wasm_func_code(c->m, c->func, &code); /* the walk has found it well formed */
    segments_find(&c->segments, code);
    c->found = true;
}

uint32_t counts_segment(Counts *c, const Site *site, Event e) {
    if (!c->found)
        find_segments(c);
    if (e.kind == EVENT_FUNC_ENTRY)
        return 0;
    if (site->at_func_end && e.mode == MODE_AFTER)
        return COUNT_NONE;
    const Segment *all = c->segments.at.at;
    uint32_t k = (uint32_t)(segments_seek(&c->segments, &c->cursor, site->pc) - all);
    if (e.kind != EVENT_OPCODE && all[k].at_end && all[k].start == site->pc)
        k--; /* in front of an `end`: only what runs into it */
    uint32_t behind = site->pc + site->instr->size;
    if (e.kind == EVENT_OPCODE && e.mode == MODE_AFTER && k + 1 < c->segments.at.len &&
        all[k + 1].start == behind && !all[k + 1].at_end)
        k++;
    return all[k].dead ? COUNT_NONE : k;
}

void counts_share(Counts *c, uint32_t var, uint32_t segment, uint64_t amount) {
    if (segment != COUNT_NONE && amount)
        vec_push(&c->shares, ((struct CountShare){var, segment, amount}));
}

uint32_t counts_value(Counts *c, uint32_t segment, uint64_t amount, uint32_t last) {
    CountValue v = {COUNT_NONE, {0, 0}, 0};
    if (segment != COUNT_NONE && amount)
        v = (CountValue){c->funcs.len, {segment & 0x7fffffff, 0}, amount};
    if (last != COUNT_NONE) {
        const CountValue *before = &c->values.at[last];
        if (before->func == v.func && before->ref.index == v.ref.index &&
            before->amount == v.amount)
            return last;
    }
    vec_push(&c->values, v);
    return c->values.len - 1;
}

/* ---- choosing counters ---- */

static void clear_work(Counts *c) {
    uint32_t n = c->segments.at.len;
    c->weights.len = c->needed.len = c->refs.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        vec_push(&c->weights, 0);
        vec_push(&c->needed, false);
        vec_push(&c->refs, ((CountRef){0, 0}));
    }
}

/* Segments whose counts the report asks for. */
static void mark_asked(Counts *c) {
    clear_work(c);
    for (uint32_t i = c->first_value; i < c->values.len; i++)
        if (c->values.at[i].func != COUNT_NONE)
            c->needed.at[c->values.at[i].ref.index] = true;
    for (uint32_t i = 0; i < c->shares.len; i++)
        c->needed.at[c->shares.at[i].segment] = true;
}

static void add_counters(Counts *c, bool derives) {
    for (uint32_t i = 0; i < c->segments.at.len; i++) {
        const Segment *s = &c->segments.at.at[i];
        if (!c->needed.at[i] || (derives && !s->counted))
            continue;
        c->refs.at[i] = (CountRef){c->ncounters & 0x7fffffff, 0};
        vec_push(&c->points, ((CountPoint){c->func, s->start, c->ncounters++, s->at_end, s->last}));
    }
}

static void put_word(Counts *c, CountRef ref) {
    vec_push(&c->words, (uint32_t)ref.index << 1 | ref.derived);
}

/* The derived values that values of sites need. */
static void add_equations(Counts *c) {
    const Segments *s = &c->segments;
    uint32_t count = c->words.len, n = 0;
    vec_push(&c->words, 0);
    for (uint32_t k = 0; k < s->equations.len; k++) {
        const SegmentEquation *e = &s->equations.at[k];
        if (!c->needed.at[e->segment])
            continue;
        vec_push(&c->words, e->middle - e->from);
        vec_push(&c->words, e->to - e->from);
        for (uint32_t t = e->from; t < e->to; t++)
            put_word(c, c->refs.at[s->terms.at[t]]);
        c->refs.at[e->segment] = (CountRef){n++ & 0x7fffffff, 1};
    }
    c->words.at[count] = n;
}

/* A sum over segments is one over counters: what a derived count weighs, its terms do. */
static void add_parts(Counts *c, uint32_t var, bool derives) {
    const Segments *s = &c->segments;
    while (c->parts.len <= var)
        vec_push(&c->parts, ((CountParts){0}));
    for (uint32_t k = s->equations.len; derives && k-- > 0;) {
        const SegmentEquation *e = &s->equations.at[k];
        uint64_t weight = c->weights.at[e->segment];
        for (uint32_t t = e->from; weight && t < e->to; t++)
            c->weights.at[s->terms.at[t]] += t < e->middle ? weight : 0 - weight;
        c->weights.at[e->segment] = 0;
    }
    for (uint32_t i = 0; i < s->at.len; i++) {
        if (c->weights.at[i])
            vec_push(&c->parts.at[var], ((CountPart){c->refs.at[i].index, c->weights.at[i]}));
        c->weights.at[i] = 0;
    }
}

static int by_var(const void *a, const void *b) {
    const struct CountShare *x = a, *y = b;
    return x->var < y->var ? -1 : x->var > y->var;
}

static void add_shares(Counts *c, bool derives) {
    if (c->shares.len)
        qsort(c->shares.at, c->shares.len, sizeof *c->shares.at, by_var);
    for (uint32_t i = 0; i < c->shares.len; i++) {
        const struct CountShare *share = &c->shares.at[i];
        c->weights.at[share->segment] += share->amount;
        if (i + 1 == c->shares.len || c->shares.at[i + 1].var != share->var)
            add_parts(c, share->var, derives);
    }
}

static void close_function(Counts *c) {
    bool any = c->shares.len > 0;
    for (uint32_t i = c->first_value; i < c->values.len; i++)
        any |= c->values.at[i].func != COUNT_NONE;
    if (!any)
        return;
    mark_asked(c);
    bool derives = segments_choose(&c->segments, c->needed.at);
    add_counters(c, derives);
    add_shares(c, derives);
    vec_push(&c->funcs, ((CountFunc){c->words.len}));
    if (derives)
        add_equations(c);
    else
        vec_push(&c->words, 0);
    for (uint32_t i = c->first_value; i < c->values.len; i++)
        if (c->values.at[i].func != COUNT_NONE)
            c->values.at[i].ref = c->refs.at[c->values.at[i].ref.index];
}

void counts_close(Counts *c) {
    close_function(c);
    c->func = COUNT_NONE;
    c->shares.len = 0;
    c->first_value = c->values.len;
}

CountParts counts_parts(const Counts *c, uint32_t var) {
    return var < c->parts.len ? c->parts.at[var] : (CountParts){0};
}
