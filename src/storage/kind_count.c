/*
 * storage/kind_count.c - what is counted at the instructions of one kind.
 */
#include "storage/kind_count.h"

/* ---- at the first instruction of a kind ---- */

static bool all_same(const Store *s, const Expr *const *list, uint32_t n, WasmOp op) {
    for (uint32_t i = 0; i < n; i++)
        if (!plan_value_is_same_at(s->plan, list[i], op))
            return false;
    return true;
}

/* Nothing that a variant does at a site depends on more than the kind of the instruction; what its
 * conditions say is decided. */
static bool is_same_everywhere(const Store *s, const Variant *v, WasmOp op) {
    if (!all_same(s, (const Expr *const *)v->consts.at, v->consts.len, op))
        return false;
    for (uint32_t i = 0; i < v->keys.len; i++)
        if (!all_same(s, v->keys.at[i].leaves, v->keys.at[i].nleaves, op))
            return false;
    return true;
}

/* What is added depends on no more than that. */
static bool adds_the_same(const Store *s, const Counting *counting, WasmOp op) {
    for (uint32_t i = counting->first; i < counting->first + counting->n; i++) {
        const Expr *by = s->coalesce->counters.additions.at[i].by;
        if (by && !plan_value_is_same_at(s->plan, by, op))
            return false;
    }
    return true;
}

static void add_share(void *ctx, uint32_t var, uint64_t amount, unsigned ways) {
    KindCounts *k = ctx;
    vec_push(&k->shares, ((KindShare){var, ways, amount}));
}

static void add_rows(KindCounts *k, Store *s, const Site *site, const Match *match) {
    const Variant *v = match->shape->variant;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        if (var->storage != STORAGE_UNSHARED || !var->report)
            continue;
        uint32_t id = v->vars[var->index];
        CountedAmount amount = coalesce_amount(s->coalesce, site, match, id);
        uint32_t probe = store_action_row(s, match->action, amount.ways);
        vec_push(&k->rows, ((CountedRow){.var = id, .probe = probe, .k = amount}));
    }
}

static void add_match(KindCounts *k, Store *s, const Site *site, const Match *match) {
    KindMatch m = {.action = match->action,
                   .event = counts_event(match->action, WAY_BOTH),
                   .before = match->action->event.mode == MODE_BEFORE,
                   .first_share = k->shares.len,
                   .first_row = k->rows.len};
    store_note_constants(s, site, match->shape->variant);
    coalesce_each_share(s->coalesce, &s->cells, site, match, add_share, k);
    add_rows(k, s, site, match);
    m.nshares = k->shares.len - m.first_share;
    m.nrows = k->rows.len - m.first_row;
    m.before = m.before && !m.event.entering;
    for (uint32_t i = m.first_share; i < k->shares.len; i++)
        m.ways |= k->shares.at[i].ways != WAY_BOTH;
    for (uint32_t i = m.first_row; i < k->rows.len; i++)
        m.ways |= k->rows.at[i].k.ways != WAY_BOTH;
    vec_push(&k->matches, m);
}

static void find(KindCounts *k, Store *s, const Site *site, const Match *matches, uint32_t n) {
    WasmOp op = (WasmOp)site->instr->op;
    KindCount *kind = &k->of[op];
    *kind = (KindCount){.found = true, .all = true, .first = k->matches.len, .n = n};
    for (uint32_t i = 0; i < n && kind->all; i++) {
        const Counting *counting = counters_shape(&s->coalesce->counters, matches[i].shape);
        kind->all = counting->why_not == WHY_NOTHING && adds_the_same(s, counting, op) &&
                    is_same_everywhere(s, matches[i].shape->variant, op);
    }
    for (uint32_t i = 0; i < n && kind->all; i++)
        add_match(k, s, site, &matches[i]);
}

/* ---- at each ---- */

/* ... where some of it happens only on one way of a branch. */
static void count_ways(const KindCounts *k, Store *s, const Site *site, const KindMatch *m) {
    Counts *counts = &s->coalesce->counts;
    CountEvent event = m->event;
    m->action->sites++;
    s->sites++;
    for (uint32_t i = m->first_share; i < m->first_share + m->nshares; i++) {
        const KindShare *share = &k->shares.at[i];
        event.ways = (uint8_t)share->ways;
        counts_share(counts, share->var, counts_segment(counts, site, event),
                     counts_key(site, event), share->amount);
    }
    for (uint32_t i = m->first_row; i < m->first_row + m->nrows; i++) {
        CountedRow row = k->rows.at[i];
        event.ways = row.k.ways;
        row.segment = counts_segment(counts, site, event);
        store_count_row(s, site, &row);
    }
}

static inline void count(const KindCounts *k, Store *s, const Site *site, const KindMatch *m) {
    Counts *counts = &s->coalesce->counts;
    uint32_t segment = m->before ? counts_segment_before(counts, site->pc)
                                 : counts_segment(counts, site, m->event);
    m->action->sites++;
    s->sites++;
    if (m->nshares) {
        uint32_t key = m->before ? 2 * site->pc : counts_key(site, m->event);
        for (uint32_t i = m->first_share; i < m->first_share + m->nshares; i++)
            counts_share(counts, k->shares.at[i].var, segment, key, k->shares.at[i].amount);
    }
    for (uint32_t i = m->first_row; i < m->first_row + m->nrows; i++) {
        CountedRow row = k->rows.at[i];
        row.segment = segment;
        store_count_row(s, site, &row);
    }
}

static inline void count_any(const KindCounts *k, Store *s, const Site *site, const KindMatch *m) {
    if (m->ways)
        count_ways(k, s, site, m);
    else
        count(k, s, site, m);
}

bool kinds_count(KindCounts *k, Store *s, const Site *site, const Match *matches, uint32_t n) {
    const KindCount *kind = &k->of[site->instr->op];
    if (!kind->found)
        find(k, s, site, matches, n);
    if (!kind->all || !coalesce_allows(s->coalesce, site->func))
        return false;
    counts_find(&s->coalesce->counts);
    for (uint32_t i = 0; i < kind->n; i++)
        count_any(k, s, site, &k->matches.at[kind->first + i]);
    return true;
}

bool kinds_count_body(KindCounts *k, Store *s, const Matcher *w, const Site *at,
                      const WasmDecoded *body) {
    bool any = false;
    for (const WasmInstr *i = body->at.at; i->size; i++) {
        if (w->same[i->op].n && !k->of[i->op].all)
            return false;
        any |= w->same[i->op].n > 0;
    }
    if (!any || !coalesce_allows(s->coalesce, at->func))
        return !any;
    Site site = *at;
    counts_find(&s->coalesce->counts);
    uint32_t end = body->at.at[body->at.len - 1].offset;
    for (const WasmInstr *i = body->at.at; i->size; i++) {
        const KindCount *kind = &k->of[i->op];
        site.instr = i;
        site.pc = i->offset;
        site.at_func_end = i->offset + i->size == end;
        for (uint32_t n = 0; n < kind->n; n++)
            count_any(k, s, &site, &k->matches.at[kind->first + n]);
    }
    return true;
}

void kinds_free(KindCounts *k) {
    vec_free(&k->matches);
    vec_free(&k->shares);
    vec_free(&k->rows);
}
