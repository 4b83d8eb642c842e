/*
 * inject/counts.c - chooses the counters of a program and derives values from them.
 */
#include "inject/counts.h"

#include <assert.h>

#include "../../stdlib/runtime/sums.h" /* the table of derived counts */

/* The share of a deficit that each trap in a segment ending in a class adds to a variable. */
struct CountDeficit {
    uint32_t class, var;
    uint64_t amount;
};

/* Sets a list to n zeroed items. */
#define vec_zero(v, n)                                                                             \
    ((v)->len = 0, vec_reserve(v, n), (v)->len = (uint32_t)(n),                                    \
     (void)((v)->len && memset((v)->at, 0, (v)->len * sizeof *(v)->at)))

void counts_init(Counts *c, const WasmModule *m, bool exact_traps) {
    *c = (Counts){.m = m, .here.func = COUNT_NONE, .corrections.exact = exact_traps};
}

void counts_free_sums(Counts *c) {
    for (uint32_t i = 0; i < c->sums.len; i++)
        buf_free(&c->sums.at[i].parts);
    vec_free(&c->sums);
    c->sums_freed = true;
}

void counts_free_values(Counts *c) {
    vec_free(&c->values);
    vec_free(&c->run.numbered);
    buf_free(&c->derived);
}

void counts_free_here(CountsHere *h) {
    segments_free(&h->segments);
    vec_free(&h->shares);
    vec_free(&h->vars);
    vec_free(&h->last_share);
    vec_free(&h->starts);
    vec_free(&h->deficits);
    vec_free(&h->by_class);
    vec_free(&h->to_correct);
    vec_free(&h->amounts);
    vec_free(&h->of.weights);
    vec_free(&h->of.needed);
    vec_free(&h->of.asked);
    vec_free(&h->of.derived);
    vec_free(&h->weighed);
    vec_free(&h->of.refs);
    vec_free(&h->deficit_of);
    vec_free(&h->place_of);
    vec_free(&h->ways_out);
    vec_free(&h->exits);
}

void counts_written(Counts *c) {
    counts_free_sums(c);
    counts_free_values(c);
    vec_free(&c->points);
    vec_free(&c->loops);
    vec_free(&c->corrections.corrected);
    vec_free(&c->corrections.corrects);
    counts_free_here(&c->here);
}

void counts_free(Counts *c) {
    counts_written(c);
    vec_free(&c->funcs);
    vec_free(&c->of_func);
    buf_free(&c->corrections.table);
    vec_free(&c->corrections.points);
    free(c->corrections.moved);
}

void counts_cut_exits(Counts *c, int64_t proc_exit) {
    c->cuts_exits = true;
    c->proc_exit = proc_exit;
}

/* ---- pass 1 ---- */

static void close_function(Counts *c);

void counts_leave(Counts *c) {
    CountsHere *h = &c->here;
    close_function(c);
    for (uint32_t i = 0; i < h->vars.len; i++)
        h->last_share.at[h->vars.at[i]] = 0;
    h->func = COUNT_NONE;
    h->first_value = c->values.len;
    h->shares.len = h->vars.len = h->nshares = h->stage = 0;
}

void counts_enter(Counts *c, uint32_t func) {
    assert(func < c->m->input_count[WASM_SPACE_FUNC]);
    counts_leave(c);
    c->here.func = func;
    c->here.found = false;
    c->here.cursor = 0;
}

/* Configures the search for the function's segments. */
static void prepare_segments(Counts *c, WasmCode code) {
    Segments *s = &c->here.segments;
    if (c->cuts_exits) {
        exits_find(c->m, code, c->proc_exit, &c->here.ways_out);
        s->cuts = c->here.ways_out.at;
        s->ncuts = c->here.ways_out.len;
    }
    s->splits_tables = c->options.splits_tables;
    s->estimates = c->options.asks_ways;
    s->polls = c->options.polls;
}

/* Lists the exits, once the segments are found. */
static void list_exits(Counts *c) {
    c->here.exits.len = 0;
    for (uint32_t i = 0, cursor = 0; i < c->here.segments.ncuts; i++) {
        const Segment *s = segments_seek(&c->here.segments, &cursor, c->here.ways_out.at[i]);
        if (!s->dead)
            vec_push(&c->here.exits, (uint32_t)(s - c->here.segments.at.at));
    }
}

/* Returns the code of the current function, which the walk has found well formed. */
static WasmCode code_here(const Counts *c) {
    WasmCode code;
    wasm_func_code(c->m, c->here.func, &code);
    wasm_use_decoded(c->decoded, c->here.func, &code);
    return code;
}

void counts_find(Counts *c) {
    if (c->here.found)
        return;
    WasmCode code = code_here(c);
    prepare_segments(c, code);
    segments_split(&c->here.segments, code, c->corrections.exact);
    c->here.found = true;
    list_exits(c);
}

bool counts_walk(Counts *c, uint32_t offset) {
    if (c->here.found)
        return false;
    prepare_segments(c, code_here(c));
    segments_begin(&c->here.segments, offset, c->corrections.exact);
    c->here.found = true; /* so far */
    c->here.since = c->here.shares.len;
    return true;
}

void counts_walked(Counts *c) {
    segments_end(&c->here.segments);
    list_exits(c);
}

/* Whether the event is after the instruction; at the start of a construct: after its opener. */
static bool happens_after(Event e) {
    return e.kind == EVENT_OPCODE && (e.mode == MODE_AFTER || e.mode == MODE_ENTRY);
}

/* Whether the event's way leads to the next segment, the code after the instruction. */
static bool is_way_on(CountEvent what) {
    return what.ways == (what.event.op == WASM_OP_IF ? WAY_TAKEN : WAY_NOT_TAKEN);
}

/* Returns the segment in which the function's execution begins: see site_is_apart. */
static uint32_t entry_segment(const Counts *c, const Site *site, Event e) {
    uint32_t start = site_is_apart(site, &e) ? wasm_go_start(c->m, site->func) : 0, k = 0;
    if (start)
        segments_seek(&c->here.segments, &k, start);
    return k;
}

uint32_t counts_segment(Counts *c, const Site *site, CountEvent what) {
    Event e = what.event;
    assert(what.ways == WAY_BOTH || branch_has_ways(e));
    assert(what.ways == WAY_BOTH || e.op != WASM_OP_BR_TABLE || c->options.splits_tables);
    counts_find(c);
    if (e.kind == EVENT_FUNC_ENTRY)
        return entry_segment(c, site, e);
    if (e.kind == EVENT_FUNC_EXIT)
        return c->here.exits.len > 1 ? COUNT_EXITS
               : c->here.exits.len   ? c->here.exits.at[0]
                                     : COUNT_NONE;
    if (site->at_func_end && e.mode == MODE_AFTER)
        return COUNT_NONE;
    const Segment *all = c->here.segments.at.at;
    uint32_t k = (uint32_t)(segments_seek(&c->here.segments, &c->here.cursor, site->pc) - all);
    uint32_t after = site->pc + site->instr->size;
    if (what.ways != WAY_BOTH && !all[k].dead)
        return is_way_on(what) ? k + 1 : k | COUNT_LEFT;
    if (what.entering && !all[k].dead)
        k--; /* a loop is the first instruction of its segment */
    else if (happens_after(e) && k + 1 < c->here.segments.at.len && all[k + 1].start == after &&
             !all[k + 1].at_label)
        k += all[k + 1].otherwise ? 2 : 1; /* after a br_table nothing can be reached */
    return all[k].dead ? COUNT_NONE : k;
}

int32_t counts_place(CountEvent what) {
    if (what.ways != WAY_BOTH)
        return is_way_on(what);
    return what.entering ? -1 : happens_after(what.event);
}

uint32_t counts_key(const Site *site, CountEvent what) {
    return 2 * site->pc + (uint32_t)counts_place(what);
}

/* Counts the function's instructions that can trap before `key`, searching from the last result. */
static inline uint32_t stage_of(Counts *c, uint32_t key) {
    const SegmentTrap *traps = c->here.segments.traps.at;
    uint32_t stage = c->here.stage, n = c->here.segments.traps.len;
    while (stage && 2 * traps[stage - 1].offset >= key)
        stage--;
    while (stage < n && 2 * traps[stage].offset < key)
        stage++;
    return c->here.stage = stage;
}

/* Adds a share, merged with the variable's last one if no trap comes between. There is room for one
 * more of the variable. */
static inline void counts_put_share(CountsHere *h, uint32_t var, uint32_t segment, uint32_t key,
                                    uint32_t stage, uint64_t amount) {
    uint32_t last = h->last_share.at[var]; /* from 1; 0 = none */
    h->nshares++;
    if (last && h->shares.at[last - 1].segment == segment &&
        h->shares.at[last - 1].stage == stage) {
        h->shares.at[last - 1].amount += amount;
        return;
    }
    if (!last)
        h->vars.at[h->vars.len++] = var;
    CountShare *share = &h->shares.at[h->shares.len++];
    share->var = var; /* one by one: they are in registers */
    share->segment = segment;
    share->key = key;
    share->stage = stage;
    share->amount = amount;
    share->before = last;
    h->last_share.at[var] = h->shares.len;
}

/* Does the same after making room. */
static __attribute__((noinline)) void make_share(CountsHere *h, uint32_t var, uint32_t segment,
                                                 uint32_t key, uint32_t stage, uint64_t amount) {
    while (h->last_share.len <= var)
        vec_push(&h->last_share, 0);
    vec_reserve(&h->vars, 1);
    vec_reserve(&h->shares, 1);
    counts_put_share(h, var, segment, key, stage, amount);
}

/* Does the same; usually there is room, and no other function is called. */
static inline void counts_add_share(CountsHere *h, uint32_t var, uint32_t segment, uint32_t key,
                                    uint32_t stage, uint64_t amount) {
    if (var < h->last_share.len && h->vars.len < h->vars.cap && h->shares.len < h->shares.cap)
        counts_put_share(h, var, segment, key, stage, amount);
    else
        make_share(h, var, segment, key, stage, amount);
}

void counts_share(Counts *c, uint32_t var, uint32_t segment, uint32_t key, uint64_t amount) {
    for (uint32_t i = 0; segment == COUNT_EXITS && i < c->here.exits.len; i++)
        counts_share(c, var, c->here.exits.at[i],
                     2 * c->here.segments.at.at[c->here.exits.at[i]].start, amount);
    if (segment == COUNT_NONE || segment == COUNT_EXITS || !amount)
        return;
    CountsHere *h = &c->here;
    uint32_t own = segment & ~COUNT_LEFT;
    counts_add_share(h, var, own, key, stage_of(c, key), amount);
    if (segment & COUNT_LEFT)
        counts_add_share(h, var, own + 1, key + 1, stage_of(c, key + 1), 0 - amount);
}

void counts_add_now_(Counts *c, uint32_t var, uint32_t offset, uint64_t amount) {
    CountsHere *h = &c->here;
    uint32_t segment = counts_segment_now(c);
    if (segment != COUNT_NONE && amount)
        counts_add_share(h, var, segment, 2 * offset, h->segments.traps.len, amount);
}

uint32_t counts_value(Counts *c, uint32_t segment, uint64_t amount, bool flag, uint32_t last) {
    if (segment == COUNT_NONE || !amount) {
        segment = 0;
        amount = 0;
        flag = false;
    }
    if (last != COUNT_NONE && (last >= c->here.first_value || !c->values.at[last].amount)) {
        const CountValue *before = &c->values.at[last];
        uint32_t left = (uint32_t)before->ref.derived << 31;
        if (before->amount == amount && (before->ref.index | left) == segment &&
            before->flag == flag)
            return last;
    }
    CountRef ref = {segment & ~COUNT_LEFT, segment >> 31};
    vec_push(&c->values, ((CountValue){amount, ref, flag}));
    return c->values.len - 1;
}

/* ---- choosing counters ---- */

static void clear_work(Counts *c) {
    uint32_t n = c->here.segments.at.len;
    vec_zero(&c->here.of.needed, n);
    vec_zero(&c->here.of.asked, n);
    vec_zero(&c->here.of.refs, n);
}

/* Marks segments whose counts are requested or needed. */
static void mark_asked(Counts *c) {
    clear_work(c);
    bool exits = false;
    for (uint32_t i = c->here.first_value; i < c->values.len; i++) {
        uint32_t segment = c->values.at[i].ref.index;
        if (!c->values.at[i].amount)
            continue;
        if (segment == COUNT_EXITS) {
            exits = true;
            continue;
        }
        c->here.of.needed.at[segment] = c->here.of.asked.at[segment] = true;
        if (c->values.at[i].ref.derived)
            c->here.of.needed.at[segment + 1] = c->here.of.asked.at[segment + 1] = true;
    }
    for (uint32_t i = 0; exits && i < c->here.exits.len; i++)
        c->here.of.needed.at[c->here.exits.at[i]] = c->here.of.asked.at[c->here.exits.at[i]] = true;
    for (uint32_t i = 0; i < c->here.shares.len; i++)
        c->here.of.needed.at[c->here.shares.at[i].segment] = true;
}

/* Whether going through the equations for each variable would take too long, or each instruction
 * that can trap would have too many deficits to record. */
static bool counts_too_many(const Counts *c, uint32_t vars) {
    const Segments *s = &c->here.segments;
    uint64_t each = (uint64_t)s->equations.len + s->traps.len;
    return vars * each > 64 * ((uint64_t)s->at.len + c->here.nshares);
}

/* Returns the number of the loop that begins the segment, if a local gives its execution count;
 * else 0. */
static uint32_t follow_local(Counts *c, const Segment *s) {
    WasmCode code;
    WasmInstr loop;
    LoopStep step;
    LoopPlace place = {.m = c->m, .grows = c->options.grows_memory};
    if (!c->options.follows_locals || !s->at_label || c->loops.len == COUNT_MAX_LOOPS)
        return 0;
    const uint8_t *body = wasm_func_body(c->m, c->here.func);
    if (body[s->start] != wasm_ops[WASM_OP_LOOP].code)
        return 0;
    code = wasm_code(body, c->m->funcs.at[c->here.func].body_size, s->start);
    if (s > c->here.segments.at.at)
        place.before = wasm_code(body, s->start, (s - 1)->start);
    if (!wasm_next(&code, &loop) || !loop_step_find(&place, code, &step))
        return 0;
    vec_push(&c->loops, ((CountLoop){c->here.func, c->ncounters, step}));
    return c->loops.len;
}

static void counts_add_counters(Counts *c, CountFunc *f, bool derives) {
    for (uint32_t i = 0; i < c->here.segments.at.len; i++) {
        const Segment *s = &c->here.segments.at.at[i];
        if (!c->here.of.needed.at[i] || (derives && !s->counted))
            continue;
        uint32_t loop = follow_local(c, s);
        c->here.of.refs.at[i] = (CountRef){c->ncounters & 0x7fffffff, 0};
        uint32_t at = s->otherwise ? (s - 1)->last_pc : s->start;
        vec_push(&c->points, ((CountPoint){.offset = at,
                                           .loop = loop,
                                           .after = s->at_label,
                                           .cool = !s->depth || s->calls,
                                           .otherwise = s->otherwise}));
        c->ncounters++;
        f->last |= s->last;
        f->otherwise |= s->otherwise;
    }
}

/* Notes that joining the run changes the number that is appended to `derived` next. */
static void note_number(Counts *c) {
    if (c->run.is)
        vec_push(&c->run.numbered, (uint32_t)c->derived.len);
}

/* Appends a term of derived count c->nderived. */
static void put_term(Counts *c, CountRef ref, bool subtracted) {
    uint32_t distance = c->nderived - ref.index;
    if (!ref.derived) {
        if (!c->run.first_term) {
            note_number(c);
            c->run.first_term = (uint32_t)c->derived.len + 1;
        }
        distance = ref.index - c->last_counter;
        distance = distance << 1 ^ (0 - (distance >> 31));
        c->last_counter = ref.index;
    }
    buf_uleb(&c->derived, (uint64_t)distance << SUMS_TERM_SHIFT | (ref.derived ? SUMS_DERIVED : 0) |
                              (subtracted ? SUMS_SUBTRACTED : 0));
}

/* Whether an equation has the count of a segment that starts at its class. */
static bool equation_starts(const Segments *s, const SegmentEquation *e) {
    return s->at.at[e->segment].in == e->class;
}

/* Marks the classes that can have a deficit. */
static void find_deficits(Counts *c) {
    const Segments *s = &c->here.segments;
    c->here.deficits.len = 0;
    vec_zero(&c->here.deficit_of, s->merged.len);
    for (uint32_t i = 0; i < s->traps.len; i++)
        c->here.deficit_of.at[s->at.at[s->traps.at[i].segment].out] = 1;
}

/* Returns the number of the class's deficit, from 1; 0 = none. */
static uint32_t number_deficit(Counts *c, uint32_t class) {
    uint32_t *deficit = &c->here.deficit_of.at[class];
    if (*deficit == 1)
        *deficit += ++c->corrections.ndeficits;
    return *deficit ? *deficit - 1 : 0;
}

/* Appends the header of a derived count. */
static void put_derived(Counts *c, uint32_t terms, uint32_t deficit, bool subtracted) {
    buf_uleb(&c->derived, (uint64_t)terms << SUMS_TERMS_SHIFT | (deficit ? SUMS_DEFICIT : 0));
    if (!deficit)
        return;
    note_number(c);
    buf_uleb(&c->derived, (uint64_t)deficit << 1 | (subtracted ? SUMS_SUBTRACTED : 0));
}

static CountRef next_derived(Counts *c) {
    return (CountRef){c->nderived++ & 0x7fffffff, 1};
}

/* Marks the segments whose counts values need: the requested ones, and the terms of their
 * equations, which come before. Counts needed only by variables are not derived: variables are sums
 * of counters. */
static void mark_derived(Counts *c) {
    const Segments *s = &c->here.segments;
    c->here.of.derived.len = 0;
    vec_reserve(&c->here.of.derived, s->at.len);
    memcpy(c->here.of.derived.at, c->here.of.asked.at, s->at.len * sizeof *c->here.of.asked.at);
    c->here.of.derived.len = s->at.len;
    for (uint32_t k = s->equations.len; k-- > 0;) {
        const SegmentEquation *e = &s->equations.at[k];
        for (uint32_t t = e->from; t < e->to && c->here.of.derived.at[e->segment]; t++)
            c->here.of.derived.at[s->terms.at[t]] = true;
    }
}

/* Adds the derived counts that values need. */
static void add_equations(Counts *c) {
    const Segments *s = &c->here.segments;
    mark_derived(c);
    for (uint32_t k = 0; k < s->equations.len; k++) {
        const SegmentEquation *e = &s->equations.at[k];
        if (!c->here.of.derived.at[e->segment])
            continue;
        put_derived(c, e->to - e->from, number_deficit(c, e->class), equation_starts(s, e));
        for (uint32_t t = e->from; t < e->to; t++)
            put_term(c, c->here.of.refs.at[s->terms.at[t]], t >= e->middle);
        c->here.of.refs.at[e->segment] = next_derived(c);
    }
}

/* Adds the derived count of all ways out of the function. */
static CountRef counts_add_exits(Counts *c) {
    put_derived(c, c->here.exits.len, 0, false);
    for (uint32_t i = 0; i < c->here.exits.len; i++)
        put_term(c, c->here.of.refs.at[c->here.exits.at[i]], false);
    return next_derived(c);
}

/* Adds the derived difference between a segment's count and that of the next one. */
static CountRef add_left(Counts *c, uint32_t segment) {
    put_derived(c, 2, 0, false);
    put_term(c, c->here.of.refs.at[segment], false);
    put_term(c, c->here.of.refs.at[segment + 1], true);
    return next_derived(c);
}

/* Sets the counts that the function's values refer to. */
static void set_values(Counts *c) {
    CountRef exits = {COUNT_EXITS, 0}, left = {0};
    uint32_t left_of = COUNT_NONE; /* the last one, often requested again */
    for (uint32_t i = c->here.first_value; i < c->values.len; i++) {
        CountValue *v = &c->values.at[i];
        if (!v->amount)
            continue;
        uint32_t segment = v->ref.index;
        if (v->ref.derived) {
            left = segment == left_of ? left : add_left(c, segment);
            left_of = segment;
            v->ref = left;
        } else if (segment != COUNT_EXITS) {
            v->ref = c->here.of.refs.at[segment];
        } else {
            exits = exits.index == COUNT_EXITS ? counts_add_exits(c) : exits;
            v->ref = exits;
        }
    }
}

/* ---- sums over segments become sums over counters ---- */

enum { BLOCK = 64 }; /* segments whose weights are looked through together */

/* Adds to the weight of a segment for the current variable. */
static inline void add_weight(CountsHere *h, uint32_t segment, uint64_t weight) {
    h->of.weights.at[segment] += weight;
    h->weighed.at[segment / BLOCK] = true;
}

/* Moves the weight of a derived count to its terms. */
static void spread_weight(CountsHere *h, uint32_t var, const SegmentEquation *e) {
    const Segments *s = &h->segments;
    uint64_t weight = h->of.weights.at[e->segment];
    h->of.weights.at[e->segment] = 0;
    for (uint32_t t = e->from; t < e->middle; t++)
        add_weight(h, s->terms.at[t], weight);
    for (uint32_t t = e->middle; t < e->to; t++)
        add_weight(h, s->terms.at[t], 0 - weight);
    if (h->deficit_of.at[e->class])
        vec_push(&h->deficits, ((struct CountDeficit){
                                   e->class, var, equation_starts(s, e) ? 0 - weight : weight}));
}

enum { MAX_PART = 20 }; /* bytes of a part */

/* Adds a part, for which there is room. */
static inline void put_sum_part(CountSum *sum, uint32_t counter, uint64_t weight) {
    uint64_t code = sums_weight_code(weight);
    assert(counter >= sum->next);
    uint8_t *to = sum->parts.data + sum->parts.len;
    to = uleb_put(to, (uint64_t)(counter - sum->next) << SUMS_WEIGHT_SHIFT | code);
    if (!code)
        to = uleb_put(to, weight << 1 ^ (0 - (weight >> 63)));
    sum->parts.len = (size_t)(to - sum->parts.data);
    sum->next = counter + 1;
    sum->n++;
}

void count_sum_add(CountSum *sum, uint32_t counter, uint64_t weight) {
    buf_reserve(&sum->parts, MAX_PART);
    put_sum_part(sum, counter, weight);
}

static CountSum *counts_sum_of(Counts *c, uint32_t var) {
    while (c->sums.len <= var)
        vec_push(&c->sums, ((CountSum){0}));
    return &c->sums.at[var];
}

/* Adds the parts of a variable that are counters of segments [from, to). */
static void add_block(CountsHere *h, CountSum *sum, uint32_t from, uint32_t to) {
    buf_reserve(&sum->parts, MAX_PART * (size_t)(to - from));
    for (uint32_t i = from; i < to; i++) {
        if (!h->of.weights.at[i])
            continue;
        put_sum_part(sum, h->of.refs.at[i].index, h->of.weights.at[i]);
        h->of.weights.at[i] = 0;
    }
}

/* Adds the parts of a variable, whose weights have been added. Equations of terms precede the
 * equations that use them, so these are processed from last to first. */
static void counts_add_parts(Counts *c, uint32_t var, bool derives) {
    CountsHere *h = &c->here;
    const Segments *s = &h->segments;
    CountSum *sum = counts_sum_of(c, var);
    for (uint32_t k = derives ? s->equations.len : 0; k-- > 0;)
        if (h->of.weights.at[s->equations.at[k].segment])
            spread_weight(h, var, &s->equations.at[k]);
    for (uint32_t from = 0, to; from < s->at.len; from = to) {
        to = s->at.len - from < BLOCK ? s->at.len : from + BLOCK;
        if (h->weighed.at[from / BLOCK])
            add_block(h, sum, from, to);
        h->weighed.at[from / BLOCK] = false;
    }
}

static int counts_by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void add_shares(Counts *c, bool derives) {
    CountsHere *h = &c->here;
    const CountShare *shares = h->shares.at;
    if (!h->vars.len)
        return;
    vec_zero(&h->of.weights, h->segments.at.len);
    vec_zero(&h->weighed, h->segments.at.len / BLOCK + 1);
    qsort(h->vars.at, h->vars.len, sizeof *h->vars.at, counts_by_number);
    for (uint32_t i = 0; i < h->vars.len; i++) {
        uint32_t var = h->vars.at[i];
        for (uint32_t k = h->last_share.at[var]; k; k = shares[k - 1].before)
            add_weight(h, shares[k - 1].segment, shares[k - 1].amount);
        counts_add_parts(c, var, derives);
    }
}

/* ---- traps ---- */

static int counts_by_key(const void *a, const void *b) {
    const CountShare *x = a, *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->var < y->var ? -1 : x->var > y->var;
}

/* Sorts shares by key; they often are, as they come in the order of the code. */
static void sort_by_key(Counts *c) {
    CountShare *at = c->here.shares.at;
    bool sorted = true;
    for (uint32_t i = 1; i < c->here.shares.len && sorted; i++)
        sorted = counts_by_key(&at[i - 1], &at[i]) <= 0;
    if (!sorted)
        qsort(at, c->here.shares.len, sizeof *at, counts_by_key);
}

/* Sorts the deficits, which come by variable, by class. Afterwards `starts` has the end of each
 * class. */
static void sort_deficits(Counts *c) {
    uint32_t n = c->here.deficits.len;
    vec_zero(&c->here.starts, c->here.segments.merged.len + 1);
    uint32_t *starts = c->here.starts.at;
    for (uint32_t i = 0; i < n; i++)
        starts[c->here.deficits.at[i].class + 1]++;
    for (uint32_t k = 1; k < c->here.starts.len; k++)
        starts[k] += starts[k - 1];
    c->here.by_class.len = 0;
    vec_reserve(&c->here.by_class, n);
    for (uint32_t i = 0; i < n; i++)
        c->here.by_class.at[starts[c->here.deficits.at[i].class]++] = c->here.deficits.at[i];
    memcpy(c->here.deficits.at, c->here.by_class.at, n * sizeof *c->here.by_class.at);
}

/* Returns the deficits of a class, once sorted: from the result up to *end. */
static const struct CountDeficit *deficits_of(const CountsHere *h, uint32_t class,
                                              const struct CountDeficit **end) {
    if (!h->deficits.len)
        return *end = NULL;
    *end = h->deficits.at + h->starts.at[class];
    return h->deficits.at + (class ? h->starts.at[class - 1] : 0);
}

/* Lists a variable for the segment. */
static inline void place_var(CountsHere *h, uint32_t var) {
    if (h->place_of.at[var])
        return;
    vec_push(&h->to_correct, var);
    h->place_of.at[var] = h->to_correct.len;
}

/* Returns the sum for the variable at the current trap. */
static inline uint64_t *counts_amount_of(CountsHere *h, uint32_t var) {
    return &h->amounts.at[h->place_of.at[var] - 1];
}

/* The amounts at an instruction, in Counts.corrections.table. */
typedef struct TrapAmounts {
    size_t at, size;
} TrapAmounts;

/* Appends the current amounts, or a mark that they equal the last ones. `width`: bytes reserved for
 * their size. There is room. */
static TrapAmounts put_amounts(const CountsHere *h, TrapAmounts last, uint32_t width, Buf *out) {
    uint8_t *at = out->data + out->len, *to = at + width;
    for (uint32_t k = 0; k < h->amounts.len; k++)
        to = sleb_put(to, (int64_t)h->amounts.at[k]);
    TrapAmounts now = {out->len + width, (size_t)(to - at) - width};
    const uint8_t *bytes = at + width, *before = out->data + last.at;
    if (now.size == last.size && *bytes == *before && !memcmp(bytes, before, now.size)) {
        buf_u8(out, 0);
        return last;
    }
    uleb_put_padded(at, now.size, width);
    out->len += width + now.size;
    return now;
}

/* Appends the corrections for each of n traps of a segment, which subtract the amounts of its
 * shares, [from, to), with keys above the trap's. */
static void put_corrections(Counts *c, const SegmentTrap *traps, uint32_t n, uint32_t from,
                            uint32_t to) {
    enum { LONGEST_LEB = 10 };
    CountsHere *h = &c->here;
    uint32_t class = h->segments.at.at[traps->segment].out;
    const CountShare *shares = h->shares.at;
    TrapAmounts last = {0};
    if (!h->to_correct.len)
        return;
    vec_zero(&h->amounts, h->to_correct.len);
    const struct CountDeficit *end, *d = deficits_of(h, class, &end);
    for (; d < end; d++)
        *counts_amount_of(h, d->var) += d->amount;
    while (from < to && shares[from].key <= 2 * traps[0].offset)
        from++;
    for (uint32_t i = from; i < to; i++)
        *counts_amount_of(h, shares[i].var) -= shares[i].amount;
    size_t most = (size_t)LONGEST_LEB * h->amounts.len;
    uint32_t width = uleb_size(most);
    buf_reserve(&c->corrections.table, n * (width + most));
    for (uint32_t t = 0, before = from; t < n; t++, before = from) {
        for (; from < to && shares[from].key <= 2 * traps[t].offset; from++)
            *counts_amount_of(h, shares[from].var) += shares[from].amount;
        if (t && from == before)
            buf_u8(&c->corrections.table, 0);
        else
            last = put_amounts(h, last, width, &c->corrections.table);
    }
}

/* Returns the first key after the segment. */
static uint32_t end_key(const Segments *s, uint32_t segment) {
    if (segment + 1 == s->at.len)
        return UINT32_MAX;
    const Segment *next = &s->at.at[segment + 1];
    return next->at_label ? 2 * next->start : 2 * s->at.at[segment].last_pc + 1;
}

/* Lists the variables to correct after traps of a segment, whose shares are [from, to). */
static void list_to_correct(Counts *c, uint32_t class, uint32_t from, uint32_t to) {
    CountsHere *h = &c->here;
    for (uint32_t i = 0; i < h->to_correct.len; i++)
        h->place_of.at[h->to_correct.at[i]] = 0;
    h->to_correct.len = 0;
    for (uint32_t i = from; i < to; i++)
        place_var(h, h->shares.at[i].var);
    const struct CountDeficit *end, *d = deficits_of(h, class, &end);
    for (; d < end; d++)
        place_var(h, d->var);
}

void counts_correct(Counts *c, uint32_t var) {
    while (c->corrections.corrects.len <= var)
        vec_push(&c->corrections.corrects, false);
    if (!c->corrections.corrects.at[var])
        vec_push(&c->corrections.corrected, var);
    c->corrections.corrects.at[var] = true;
}

/* Adds the n traps of a segment, whose shares are [from, to). */
static void add_segment_traps(Counts *c, CountFunc *f, const SegmentTrap *traps, uint32_t n,
                              uint32_t from, uint32_t to) {
    CountsHere *h = &c->here;
    uint32_t class = h->segments.at.at[traps->segment].out, number = h->deficit_of.at[class];
    uint32_t deficit = number > 1 ? number - 1 : 0, end = end_key(&h->segments, traps->segment);
    list_to_correct(c, class, from, to);
    if (!deficit && !h->to_correct.len && !h->of.asked.at[traps->segment])
        return;
    vec_reserve(&c->corrections.points, n);
    for (uint32_t i = 0; i < n; i++)
        c->corrections.points.at[c->corrections.points.len++] = traps[i].offset;
    buf_uleb(&c->corrections.table,
             (uint64_t)n << 2 | (h->to_correct.len ? 2u : 0u) | (deficit ? 1u : 0u));
    if (deficit)
        buf_uleb(&c->corrections.table, deficit - f->deficit);
    if (h->to_correct.len)
        buf_uleb(&c->corrections.table, h->to_correct.len);
    for (uint32_t i = 0; i < h->to_correct.len; i++) {
        uint32_t var = h->to_correct.at[i];
        if (var >= c->corrections.corrects.len || !c->corrections.corrects.at[var])
            counts_correct(c, var);
        buf_uleb(&c->corrections.table, var);
    }
    buf_uleb(&c->corrections.table, end == UINT32_MAX ? 0 : end - 2 * traps[n - 1].offset);
    put_corrections(c, traps, n, from, to);
    f->nsegments++;
}

static void add_traps(Counts *c, CountFunc *f) {
    const Segments *s = &c->here.segments;
    sort_by_key(c);
    while (c->here.place_of.len < c->here.last_share.len)
        vec_push(&c->here.place_of, 0);
    if (c->here.deficits.len)
        sort_deficits(c);
    for (uint32_t at = 0, after, share = 0; at < s->traps.len; at = after) {
        uint32_t segment = s->traps.at[at].segment;
        for (after = at; after < s->traps.len && s->traps.at[after].segment == segment;)
            after++;
        while (share < c->here.shares.len && c->here.shares.at[share].segment < segment)
            share++;
        uint32_t from = share;
        while (share < c->here.shares.len && c->here.shares.at[share].segment == segment)
            share++;
        add_segment_traps(c, f, &s->traps.at[at], after - at, from, share);
    }
}

/* ---- */

/* Returns whether counts are derived; if so, marks the segments that need counters. */
static bool choose_derived(Counts *c) {
    Segments *s = &c->here.segments;
    if (!segments_may_derive(s, c->here.of.needed.at))
        return false;
    segments_solve(s);
    return !counts_too_many(c, c->here.vars.len) && segments_choose(s, c->here.of.needed.at);
}

static void close_function(Counts *c) {
    bool any = c->here.shares.len > 0;
    for (uint32_t i = c->here.first_value; i < c->values.len; i++)
        any |= c->values.at[i].amount != 0;
    if (!any)
        return;
    CountFunc f = {.func = c->here.func,
                   .point = c->points.len,
                   .trap = c->corrections.points.len,
                   .deficit = c->corrections.ndeficits,
                   .segments = c->corrections.table.len};
    mark_asked(c);
    bool derives = choose_derived(c);
    find_deficits(c);
    counts_add_counters(c, &f, derives);
    add_shares(c, derives);
    if (derives)
        add_equations(c);
    set_values(c);
    add_traps(c, &f);
    f.npoints = c->points.len - f.point;
    f.ntraps = c->corrections.points.len - f.trap;
    if (f.npoints || f.ntraps)
        vec_push(&c->funcs, f);
}

void counts_close(Counts *c) {
    counts_leave(c);
    uint32_t funcs = c->funcs.len ? vec_last(&c->funcs).func + 1 : 0;
    vec_zero(&c->of_func, funcs);
    for (uint32_t i = 0; i < c->funcs.len; i++)
        c->of_func.at[c->funcs.at[i].func] = i + 1;
}

const CountFunc *counts_func(const Counts *c, uint32_t func) {
    uint32_t i = func < c->of_func.len ? c->of_func.at[func] : 0;
    return i ? &c->funcs.at[i - 1] : NULL;
}

uint32_t counts_add_part(Counts *c, uint32_t var) {
    count_sum_add(counts_sum_of(c, var), c->ncounters, 1);
    return c->ncounters++;
}

const CountSum *counts_sum(const Counts *c, uint32_t var) {
    assert(!c->sums_freed);
    static const CountSum none;
    assert(!c->sums_freed);
    return var < c->sums.len ? &c->sums.at[var] : &none;
}
