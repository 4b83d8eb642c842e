/*
 * storage/coalesce.c - decides which matches are counted by segments, and by which amounts.
 */
#include "storage/coalesce.h"

#include "inject/program.h"

/* Notes where a report may be due in the middle of a segment, when it is partly executed. */
static void watch_reports(Coalesce *c, const Variant *v) {
    for (uint32_t i = 0; i < c->plan->actions.len; i++) {
        const Action *a = &c->plan->actions.at[i];
        if (a->variant != v)
            continue;
        if (a->event.kind == EVENT_OPCODE)
            c->watches = c->watched[a->event.op] = true;
        else
            c->nowhere |= a->event.kind != EVENT_BEGIN && a->event.kind != EVENT_END &&
                          a->event.kind != EVENT_REPORT; /* also where a stack is left */
    }
}

void coalesce_init(Coalesce *c, const Plan *plan, const WasmModule *m, bool exact_traps) {
    *c = (Coalesce){.plan = plan, .m = m, .func = COUNT_NONE};
    counters_init(&c->counters, plan, COUNTERS_ALL);
    counts_init(&c->counts, m, exact_traps);
    c->counts.options.asks_ways = c->counters.asks_ways;
    c->counts.options.splits_tables = c->counters.splits_tables;
    if (plan->by_kind[EVENT_FUNC_EXIT].len)
        counts_cut_exits(&c->counts, program_proc_exit(m));
    for (uint32_t i = 0; i < plan->actions.len; i++) {
        const Action *a = &plan->actions.at[i];
        if (a->variant->alt.is)
            c->watches = c->watched[a->event.op] = true;
    }
    for (uint32_t i = 0; i < plan->variants.len; i++)
        if (c->counters.tells[i])
            watch_reports(c, plan->variants.at[i]);
}

void coalesce_free(Coalesce *c) {
    counters_free(&c->counters);
    counts_free(&c->counts);
    vec_free(&c->corrections);
}

/* Some instruction of the function may be replaced, or a report may be due at it. */
static bool is_interrupted(const Coalesce *c, uint32_t func) {
    if (!c->watches)
        return false;
    WasmCode code;
    WasmInstr i;
    wasm_func_code(c->m, func, &code); /* the walk has found it well formed */
    wasm_use_decoded(c->counts.decoded, func, &code);
    while (wasm_next(&code, &i))
        if (c->watched[i.op])
            return true;
    return false;
}

bool coalesce_allows(Coalesce *c, uint32_t func) {
    if (c->func != func) {
        c->func = func;
        c->allowed = !c->nowhere && !is_interrupted(c, func);
        counts_enter(&c->counts, func);
    }
    return c->allowed;
}

bool coalesce_takes(Coalesce *c, const Site *site, const Match *match) {
    const Event *e = &match->action->event;
    bool ends =
        e->kind == EVENT_FUNC_EXIT && site_is_apart(site, e); /* not in all segments that do */
    return counters_shape(&c->counters, match->shape)->why_not == WHY_NOTHING && !ends &&
           !site_silent_state(site, e) && coalesce_allows(c, site->func);
}

/* Returns the number of the variable that is added to; COUNT_NONE = none. */
static uint32_t variable_of(const Coalesce *c, MapCells *cells, const Site *site,
                            const Match *match, const Addition *a) {
    if (a->key == ADDITION_NO_KEY)
        return a->sum;
    const MapCell *cell = cells_find(cells, match->shape->variant, a->key, site, &cells->scratch);
    return cell ? c->plan->vars.len + cell->first_sum + a->leaf : COUNT_NONE;
}

void coalesce_each_share(Coalesce *c, MapCells *cells, const Site *site, const Match *match,
                         void (*add)(void *ctx, uint32_t var, uint64_t amount, unsigned ways),
                         void *ctx) {
    Counting k = *counters_shape(&c->counters, match->shape);
    for (uint32_t i = k.first; i < k.first + k.n; i++) {
        const Addition *a = &c->counters.additions.at[i];
        if (c->counters.sums.at[a->sum].of_sites)
            continue;
        uint32_t var = variable_of(c, cells, site, match, a);
        if (var != COUNT_NONE)
            add(ctx, var, addition_amount(&c->counters, a, site), a->ways);
    }
}

/* The destination of shares. */
typedef struct SharePlace {
    Counts *counts;
    const Site *site;
    const Action *action;
} SharePlace;

static void coalesce_add_share(void *ctx, uint32_t var, uint64_t amount, unsigned ways) {
    const SharePlace *p = ctx;
    CountEvent event = counts_event(p->action, ways);
    counts_share(p->counts, var, counts_segment(p->counts, p->site, event),
                 counts_key(p->site, event), amount);
}

void coalesce_note(Coalesce *c, MapCells *cells, const Site *site, const Match *match) {
    SharePlace place = {&c->counts, site, match->action};
    coalesce_each_share(c, cells, site, match, coalesce_add_share, &place);
}

CountedAmount coalesce_amount(Coalesce *c, const Site *site, const Match *match, uint32_t var) {
    counters_shape(&c->counters, match->shape);
    const Addition *a = counters_first(&c->counters, match->shape, var);
    CountedAmount out = {.flag = c->counters.sums.at[var].flag, .ways = a ? a->ways : WAY_BOTH};
    for (; a; a = counters_next(&c->counters, a))
        out.amount = (out.flag ? 0 : out.amount) + addition_amount(&c->counters, a, site);
    return out;
}

/* Adds the counters of corrections: corrections after traps are added to script and shared
 * variables, but not to flags, which do not tell how often they were set, nor to cells, which may
 * not be in globals. */
static void add_corrections(Coalesce *c) {
    for (uint32_t i = 0; i < c->counts.corrections.corrected.len; i++) {
        uint32_t var = c->counts.corrections.corrected.at[i];
        while (c->corrections.len <= var)
            vec_push(&c->corrections, 0);
        bool own = var >= c->plan->vars.len || c->counters.sums.at[var].flag;
        if (own && !c->corrections.at[var])
            c->corrections.at[var] = 1 + counts_add_part(&c->counts, var);
    }
}

void coalesce_close(Coalesce *c) {
    counts_close(&c->counts);
    add_corrections(c);
    c->func = COUNT_NONE;
}
