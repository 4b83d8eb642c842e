/*
 * storage/tally.c - arrays that count for maps.
 */
#include "storage/tally.h"

#include <stdlib.h>

/* Limit in words for arrays with sizes not bounded by the program's own tables: 8 MB. */
enum { MAX_WORDS = 1 << 20 };

void tallies_init(Tallies *t, const Plan *plan, const uint32_t *maps) {
    t->plan = plan;
    if (!plan->tallies)
        return;
    t->of_var = mem_zalloc(sizeof *t->of_var * (plan->vars.len + 1u));
    t->chosen = mem_zalloc(plan->vars.len + 1u);
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        if (!tallies_has(plan, i) || plan->vars.at[i].decl->storage == STORAGE_UNSHARED)
            continue;
        t->of_var[i] = t->list.len;
        vec_push(&t->list, ((Tally){.map = maps[i], .var = i, .keys = plan->tallies[i].keys}));
    }
    t->once = t->list.len;
}

void tallies_free(Tallies *t) {
    vec_free(&t->list);
    free(t->of_var);
    free(t->chosen);
}

/* Returns the number of targets of the site, with the default. */
static uint32_t targets_of(const Site *site) {
    return site->instr && site->instr->op == WASM_OP_BR_TABLE ? site->instr->count + 1 : 0;
}

void tallies_site(Tallies *t, const Site *site) {
    uint32_t targets = targets_of(site);
    if (t->targets < targets)
        t->targets = targets;
}

static uint32_t keys_of(const MapTally *m, uint32_t targets) {
    return m->targets && m->keys < targets ? targets : m->keys;
}

void tallies_count(Tallies *t, uint32_t var, const Site *site, uint32_t map) {
    if (tallies_has(t->plan, var))
        vec_push(&t->list, ((Tally){.map = map,
                                    .var = var,
                                    .keys = keys_of(&t->plan->tallies[var], targets_of(site))}));
}

static uint64_t tally_words_of(const Tallies *t, const Tally *tally) {
    return (uint64_t)tally->keys << t->plan->tallies[tally->var].marked;
}

/* Decides which variables have arrays, and where each variable's arrays begin. */
static void choose_vars(Tallies *t, uint32_t n, uint64_t *words) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t own = words[i];
        bool targets = t->plan->tallies[i].targets;
        t->chosen[i] = targets || sum + own <= MAX_WORDS;
        sum += t->chosen[i] && !targets ? own : 0;
        words[i] = t->words;
        t->words += t->chosen[i] ? own : 0;
    }
}

void tallies_choose(Tallies *t, bool can) {
    uint32_t n = t->chosen && can ? t->plan->vars.len : 0;
    uint64_t *words = mem_zalloc(sizeof *words * (n + 1u)); /* by PlanVar.id */
    for (uint32_t i = 0; n && i < t->list.len; i++) {
        Tally *tally = &t->list.at[i];
        if (i < t->once)
            tally->keys = keys_of(&t->plan->tallies[tally->var], t->targets);
        words[tally->var] += tally_words_of(t, tally);
    }
    choose_vars(t, n, words);
    for (uint32_t i = 0; i < t->list.len; i++) {
        Tally *tally = &t->list.at[i];
        if (!t->chosen[tally->var])
            tally->keys = 0;
        else
            tally->first = words[tally->var];
        if (tally->keys)
            words[tally->var] += tally_words_of(t, tally);
    }
    free(words);
}

uint64_t tallies_address(const Tallies *t, uint32_t n) {
    return t->at + 8 * t->list.at[n].first;
}
