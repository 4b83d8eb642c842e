/*
 * storage/kind_count.c - counts the probes at all instructions of one kind.
 */
#include "storage/kind_count.h"

/* ---- at the first instruction of a kind ---- */

static bool all_same(const Store *s, const Expr *const *list, uint32_t n, WasmOp op) {
    for (uint32_t i = 0; i < n; i++)
        if (!plan_value_is_same_at(s->plan, list[i], op))
            return false;
    return true;
}

/* Whether the effect of a variant depends only on the kind of the instruction; its conditions are
 * decided. */
static bool kind_count_is_same_everywhere(const Store *s, const Variant *v, WasmOp op) {
    if (!all_same(s, (const Expr *const *)v->consts.at, v->consts.len, op))
        return false;
    for (uint32_t i = 0; i < v->keys.list.len; i++)
        if (!all_same(s, v->keys.list.at[i].leaves, v->keys.list.at[i].nleaves, op))
            return false;
    return true;
}

/* Whether the amounts added depend only on the kind of the instruction. */
static bool adds_the_same(const Store *s, const Counting *counting, WasmOp op) {
    for (uint32_t i = counting->first; i < counting->first + counting->n; i++) {
        const Expr *by = s->coalesce->counters.additions.at[i].by;
        if (by && !plan_value_is_same_at(s->plan, by, op))
            return false;
    }
    return true;
}

static void kind_count_add_share(void *ctx, uint32_t var, uint64_t amount, unsigned ways) {
    KindCounts *k = ctx;
    vec_push(&k->shares, ((KindShare){var, ways, amount}));
}

static void kind_count_add_rows(KindCounts *k, Store *s, const Site *site, const Match *match) {
    const Variant *v = match->shape->variant;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        if (var->storage != STORAGE_UNSHARED || !var->report)
            continue;
        uint32_t id = v->vars[var->index];
        CountedAmount amount = coalesce_amount(s->coalesce, site, match, id);
        uint32_t probe = store_action_row(s, match->action, amount.ways);
        vec_push(&k->rows,
                 ((KindRow){.counted = {.var = id, .probe = probe, .k = amount},
                            .group = s->group_of[id],
                            .pair = image_pair(s->rows.image, s->rows.of_var[id], probe)}));
    }
}

static void kind_count_add_match(KindCounts *k, Store *s, const Site *site, const Match *match) {
    KindMatch m = {.action = match->action,
                   .event = counts_event(match->action, WAY_BOTH),
                   .before = match->action->event.mode == MODE_BEFORE,
                   .first_share = k->shares.len,
                   .first_row = k->rows.len};
    store_note_constants(s, site, match->shape->variant);
    coalesce_each_share(s->coalesce, &s->cells, site, match, kind_count_add_share, k);
    kind_count_add_rows(k, s, site, match);
    m.nshares = k->shares.len - m.first_share;
    m.nrows = k->rows.len - m.first_row;
    m.before = m.before && !m.event.entering;
    for (uint32_t i = m.first_share; i < k->shares.len; i++)
        m.ways |= k->shares.at[i].ways != WAY_BOTH;
    for (uint32_t i = m.first_row; i < k->rows.len; i++)
        m.ways |= k->rows.at[i].counted.k.ways != WAY_BOTH;
    vec_push(&k->matches, m);
}

/* Summarises the matches of a kind, once they are listed. */
static void sum_up(const KindCounts *k, KindCount *kind) {
    const KindMatch *first = &k->matches.at[kind->first];
    for (uint32_t i = 0; i < kind->n; i++)
        kind->decoded |= !first[i].before || first[i].ways;
    if (kind->n != 1 || kind->decoded || first->nshares + first->nrows != 1)
        return;
    kind->only = first->nrows ? KIND_ROW : KIND_SHARE;
    kind->row = first->first_row;
    kind->share = first->nshares ? k->shares.at[first->first_share] : (KindShare){0};
}

/* Actions at an instruction, determined by its first byte. */
enum {
    SKIM_NOT = 1,   /* it must be decoded */
    SKIM_SHARE = 2, /* count one share */
    SKIM_MORE = 4,  /* count anything else */
    SKIM_TRAP = 8,  /* it can trap */
};

static KindSkim find_skim(const KindCounts *k, const WasmShortOp *op) {
    const KindCount *kind = &k->of[op->op];
    KindSkim skim = {.plain = op->plain,
                     .op = op->op,
                     .match = kind->first,
                     .var = kind->share.var,
                     .amount = kind->share.amount};
    if (!op->plain || kind->decoded || op_hides_trap((WasmOp)op->op))
        skim.does = SKIM_NOT;
    else if (kind->n)
        skim.does = kind->only == KIND_SHARE ? SKIM_SHARE : SKIM_MORE;
    if (!wasm_is_straight(op->op))
        skim.does |= SKIM_TRAP;
    return skim;
}

/* Determines the actions for each first byte, after a new kind is found. */
static void find_skims(KindCounts *k) {
    for (uint32_t byte = 0; byte < 256; byte++)
        k->skims[byte] = find_skim(k, &wasm_short_ops[byte]);
}

static void kind_count_find(KindCounts *k, Store *s, const Site *site, const Match *matches,
                            uint32_t n) {
    WasmOp op = (WasmOp)site->instr->op;
    KindCount *kind = &k->of[op];
    *kind = (KindCount){.found = true, .all = true, .first = k->matches.len, .n = n};
    for (uint32_t i = 0; i < n && kind->all; i++) {
        const Counting *counting = counters_shape(&s->coalesce->counters, matches[i].shape);
        kind->all = counting->why_not == WHY_NOTHING && adds_the_same(s, counting, op) &&
                    kind_count_is_same_everywhere(s, matches[i].shape->variant, op);
    }
    for (uint32_t i = 0; i < n && kind->all; i++)
        kind_count_add_match(k, s, site, &matches[i]);
    if (kind->all && n)
        sum_up(k, kind);
    find_skims(k);
}

/* ---- at each ---- */

/* The destination of counts: the store, or a tally. */
typedef struct Counter {
    const KindCounts *k;
    Store *store;
    KindTally *tally; /* or NULL */
    Counts *counts;   /* of the one or the other */
    const uint32_t *next_pairs;
} Counter;

static inline void kind_count_note_site(const Counter *c, uint32_t match) {
    if (c->tally) {
        c->tally->sites.at[match]++;
        return;
    }
    c->k->matches.at[match].action->sites++;
    c->store->sites++;
}

/* How far the rows of a group have got. */
static KindMark mark_rows(const KindGroup *g) {
    return (KindMark){g->rows.n,  g->rows.pair,      g->rows.fid,
                      g->rows.pc, g->rows.bytes.len, g->values.len};
}

/* Adds a row that cannot be encoded yet; those after it are. */
static void add_first(KindTally *t, KindGroup *g, uint32_t row, const KindRow *r,
                      const Site *site) {
    if (g->first)
        t->firsts.at[g->first - 1].end = mark_rows(g);
    KindFirst first = {.row = row, .func = site->func, .pc = site->pc, .value = g->last};
    vec_push(&t->firsts, first);
    g->first = t->firsts.len;
    g->rows.n = 0;
    g->rows.pair = r->pair;
    g->rows.fid = site->func;
    g->rows.pc = site->pc;
}

/* Adds any row to a tally. */
static void tally_any_row(const Counter *c, const Site *site, uint32_t row, uint32_t segment) {
    const KindRow *r = &c->k->rows.at[row];
    KindGroup *g = &c->tally->groups.at[r->group];
    const CountedAmount *k = &r->counted.k;
    uint32_t value = counts_value(c->counts, segment, k->amount, k->flag, g->last);
    bool same = value == g->last;
    g->last = value;
    g->segment = segment;
    g->k = *k;
    if (!g->first ||
        !image_encode_row(c->next_pairs, &g->rows, r->pair, site->func, site->pc, same))
        add_first(c->tally, g, row, r, site);
    else if (!same)
        vec_push(&g->values, g->last);
}

/* The same, fast for most rows: they have the value of the row before in their group. */
static inline void tally_row(const Counter *c, const Site *site, uint32_t row, uint32_t segment) {
    const KindRow *r = &c->k->rows.at[row];
    KindGroup *g = &c->tally->groups.at[r->group];
    if (g->rows.fid != site->func || segment != g->segment || r->counted.k.amount != g->k.amount ||
        r->counted.k.flag != g->k.flag ||
        !image_encode_short(c->next_pairs, &g->rows, r->pair, site->pc, true))
        tally_any_row(c, site, row, segment);
}

static inline void count_row(const Counter *c, const Site *site, uint32_t row, uint32_t segment) {
    if (c->tally) {
        tally_row(c, site, row, segment);
        return;
    }
    CountedRow counted = c->k->rows.at[row].counted;
    counted.segment = segment;
    store_count_row(c->store, site, &counted);
}

/* Counts a match with parts that happen only on one way of a branch. */
static void count_ways(const Counter *c, const Site *site, const KindMatch *m) {
    CountEvent event = m->event;
    for (uint32_t i = m->first_share; i < m->first_share + m->nshares; i++) {
        const KindShare *share = &c->k->shares.at[i];
        event.ways = (uint8_t)share->ways;
        counts_share(c->counts, share->var, counts_segment(c->counts, site, event),
                     counts_key(site, event), share->amount);
    }
    for (uint32_t i = m->first_row; i < m->first_row + m->nrows; i++) {
        event.ways = c->k->rows.at[i].counted.k.ways;
        count_row(c, site, i, counts_segment(c->counts, site, event));
    }
}

static inline void count_plain(const Counter *c, const Site *site, const KindMatch *m) {
    uint32_t segment = m->before ? counts_segment_before(c->counts, site->pc)
                                 : counts_segment(c->counts, site, m->event);
    if (m->nshares) {
        uint32_t key = m->before ? 2 * site->pc : counts_key(site, m->event);
        for (uint32_t i = m->first_share; i < m->first_share + m->nshares; i++)
            counts_share(c->counts, c->k->shares.at[i].var, segment, key,
                         c->k->shares.at[i].amount);
    }
    for (uint32_t i = m->first_row; i < m->first_row + m->nrows; i++)
        count_row(c, site, i, segment);
}

static inline void count_all(const Counter *c, const Site *site) {
    const KindCount *kind = &c->k->of[site->instr->op];
    for (uint32_t i = kind->first; i < kind->first + kind->n; i++) {
        const KindMatch *m = &c->k->matches.at[i];
        kind_count_note_site(c, i);
        if (m->ways)
            count_ways(c, site, m);
        else
            count_plain(c, site, m);
    }
}

bool kinds_count(KindCounts *k, Store *s, const Site *site, const Match *matches, uint32_t n) {
    const KindCount *kind = &k->of[site->instr->op];
    if (!coalesce_allows(s->coalesce, site->func))
        return false;
    if (!kind->found)
        kind_count_find(k, s, site, matches, n);
    if (!kind->all)
        return false;
    counts_find(&s->coalesce->counts);
    count_all(&(Counter){.k = k, .store = s, .counts = &s->coalesce->counts}, site);
    return true;
}

/* ---- by functions ---- */

static void count_more_now(const Counter *c, const Site *site, const KindCount *kind) {
    if (kind->only == KIND_ROW) {
        kind_count_note_site(c, kind->first);
        count_row(c, site, kind->row, counts_segment_now(c->counts));
        return;
    }
    for (uint32_t i = kind->first; i < kind->first + kind->n; i++) {
        const KindMatch *m = &c->k->matches.at[i];
        kind_count_note_site(c, i);
        for (uint32_t k = m->first_share; k < m->first_share + m->nshares; k++)
            counts_share_now(c->counts, c->k->shares.at[k].var, site->pc,
                             c->k->shares.at[k].amount);
        for (uint32_t k = m->first_row; k < m->first_row + m->nrows; k++)
            count_row(c, site, k, counts_segment_now(c->counts));
    }
}

/* Counts at an instruction for which only the offset matters (counts_skims). */
static inline void count_now(const Counter *c, const Site *site, const KindCount *kind) {
    if (kind->only == KIND_SHARE) {
        kind_count_note_site(c, kind->first);
        counts_share_now(c->counts, kind->share.var, site->pc, kind->share.amount);
    } else {
        count_more_now(c, site, kind);
    }
}

/* Counts at an instruction that is not decoded; the one after it is at `next`. */
static inline void skim_one(const Counter *c, Site *site, const KindSkim *is, uint32_t offset,
                            uint32_t next) {
    if (is->does & SKIM_SHARE) {
        kind_count_note_site(c, is->match);
        counts_share_now(c->counts, is->var, offset, is->amount);
    } else if (is->does & SKIM_MORE) {
        site->pc = offset;
        count_more_now(c, site, &c->k->of[is->op]);
    }
    if (is->does & SKIM_TRAP)
        counts_step_trap(c->counts, offset, next);
}

/* Counts at the instructions from the cursor on that need not be decoded (most need not), and moves
 * the cursor to the first that must be. */
static void skim(const Counter *c, Site *site, WasmCode *code) {
    const uint8_t *at = code->at, *end = code->end;
    const KindSkim *skims = c->k->skims;
    for (const KindSkim *is; at != end && !((is = &skims[*at])->does & SKIM_NOT);) {
        const uint8_t *next = wasm_plain_next((WasmPlain)is->plain, at);
        if (is->does)
            skim_one(c, site, is, (uint32_t)(at - code->start), (uint32_t)(next - code->start));
        at = next;
    }
    code->at = at;
}

/* The same for one decoded instruction. */
static void count_step(const Counter *c, const Site *site) {
    const KindCount *kind = &c->k->of[site->instr->op];
    bool label = site->instr->op == WASM_OP_LOOP || site->instr->op == WASM_OP_END;
    bool now = kind->n && !kind->decoded;
    if (now && !label)
        count_now(c, site, kind);
    counts_step(c->counts, site->instr);
    if (now && label) {
        count_now(c, site, kind);
    } else if (kind->decoded) {
        count_all(c, site);
        counts_go_on(c->counts);
    }
}

/* Steps over a call for which only the offset matters; false if the instruction is not one. */
static inline bool next_call(const KindCounts *k, WasmCode *code, WasmInstr *i) {
    const uint8_t *from = code->at;
    if (from == code->end || *from != wasm_ops[WASM_OP_CALL].code || k->of[WASM_OP_CALL].decoded)
        return false;
    code->at = wasm_skip_number(from + 1);
    *i = (WasmInstr){.offset = (uint32_t)(from - code->start),
                     .size = (uint32_t)(code->at - from),
                     .op = WASM_OP_CALL,
                     .opcode_size = 1};
    return true;
}

/* Counts at all instructions of a body. */
static void count_body(const Counter *c, const Site *func, WasmCode code) {
    Site site = *func;
    WasmInstr instr;
    bool walks = counts_walk(c->counts, (uint32_t)(code.at - code.start));
    bool skims = walks && counts_skims(c->counts);
    site.instr = &instr;
    for (;;) {
        if (skims)
            skim(c, &site, &code);
        bool called = skims && next_call(c->k, &code, &instr);
        if (!called && !wasm_next_short(&code, &instr) && !wasm_next(&code, &instr))
            break;
        site.pc = instr.offset;
        site.at_func_end = code.at == code.end;
        if (skims) {
            count_step(c, &site);
            continue;
        }
        if (walks)
            counts_step(c->counts, &instr);
        count_all(c, &site);
    }
    if (walks)
        counts_walked(c->counts);
}

bool kinds_count_body(KindCounts *k, Store *s, const Matcher *w, const Site *site,
                      const WasmDecoded *body) {
    bool any = false;
    for (const WasmInstr *i = body->at.at; i->size; i++) {
        if (w->index.same[i->op].n && !k->of[i->op].all)
            return false;
        any |= w->index.same[i->op].n > 0;
    }
    if (!any || !coalesce_allows(s->coalesce, site->func))
        return !any;
    WasmCode code;
    wasm_func_code(site->m, site->func, &code); /* the walk has found it well formed */
    count_body(&(Counter){.k = k, .store = s, .counts = &s->coalesce->counts}, site, code);
    return true;
}

/* ---- by runs of functions ---- */

void kinds_before_runs(KindCounts *k, const Store *s) {
    uint32_t n;
    const uint32_t *next = image_next_pairs(s->rows.image, &n);
    k->next_pairs.len = 0;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&k->next_pairs, next[i]);
}

void kinds_begin(const KindCounts *k, const Store *s, KindTally *t) {
    counts_begin_run(&t->counts, s->counts);
    t->firsts.len = t->funcs.len = t->sites.len = 0;
    for (uint32_t i = 0; i < k->matches.len; i++)
        vec_push(&t->sites, 0);
    while (t->groups.len < s->groups.len)
        vec_add(&t->groups);
    for (uint32_t i = 0; i < t->groups.len; i++) {
        KindGroup *g = &t->groups.at[i];
        g->first = g->values.len = g->rows.bytes.len = 0;
        g->last = COUNT_NONE;
        g->rows.fid = UINT32_MAX; /* of no row */
    }
}

void kinds_tally(const KindCounts *k, Store *s, KindTally *t, const Site *site, bool any) {
    WasmCode code;
    KindFunc func = {.func = site->func, .any = any};
    counts_enter(&t->counts, site->func);
    if (any && wasm_func_code(site->m, site->func, &code))
        count_body(&(Counter){k, s, t, &t->counts, k->next_pairs.at}, site, code);
    counts_leave(&t->counts);
    for (uint32_t i = 0; i < t->groups.len; i++)
        func.rows |= t->groups.at[i].rows.fid == func.func;
    vec_push(&t->funcs, func);
}

/* Puts the encoded rows between two marks into the store; value 0 of the run is `values` there. */
static void join_rows(Store *s, uint32_t group, const KindGroup *g, const KindMark *from,
                      const KindMark *to, uint32_t values) {
    uint32_t nvalues = to->values - from->values;
    ImageRows rows = {.n = to->n, .pair = to->pair, .fid = to->fid, .pc = to->pc};
    rows.bytes.data = g->rows.bytes.data + from->bytes;
    rows.bytes.len = to->bytes - from->bytes;
    store_join_rows(s, group, &rows, nvalues ? &g->values.at[from->values] : NULL, nvalues, values);
}

/* Puts the rows of all groups into the store. */
static void join_groups(const KindCounts *k, Store *s, const WasmModule *m, const KindTally *t,
                        uint32_t values) {
    KindMark *joined = mem_zalloc(sizeof *joined * t->groups.len);
    for (uint32_t i = 0; i < t->firsts.len; i++) {
        const KindFirst *first = &t->firsts.at[i];
        const KindRow *row = &k->rows.at[first->row];
        const KindGroup *g = &t->groups.at[row->group];
        KindMark end = g->first == i + 1 ? mark_rows(g) : first->end;
        store_join_row(s, m, first->func, first->pc, &row->counted, values + first->value);
        if (end.n)
            join_rows(s, row->group, g, &joined[row->group], &end, values);
        joined[row->group] = end;
    }
    free(joined);
}

void kinds_join(const KindCounts *k, Store *s, const WasmModule *m, const KindTally *t) {
    uint32_t values = s->counts->values.len;
    counts_leave(&s->coalesce->counts);
    counts_join(&s->coalesce->counts, &t->counts);
    for (uint32_t i = 0; i < t->sites.len; i++) {
        k->matches.at[i].action->sites += t->sites.at[i];
        s->sites += t->sites.at[i];
    }
    for (uint32_t i = 0; i < t->funcs.len; i++)
        if (t->funcs.at[i].rows)
            store_join_func(s, m, t->funcs.at[i].func);
    join_groups(k, s, m, t, values);
}

void kinds_tally_free(KindTally *t) {
    counts_free(&t->counts);
    vec_free(&t->funcs);
    vec_free(&t->firsts);
    for (uint32_t i = 0; i < t->groups.len; i++) {
        buf_free(&t->groups.at[i].rows.bytes);
        vec_free(&t->groups.at[i].values);
    }
    vec_free(&t->groups);
    vec_free(&t->sites);
}

void kinds_free(KindCounts *k) {
    vec_free(&k->matches);
    vec_free(&k->shares);
    vec_free(&k->rows);
    vec_free(&k->next_pairs);
}
