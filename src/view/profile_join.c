/*
 * view/profile_join.c - adds one profile to another.
 */
#include "view/profile_join.h"

#include <stdlib.h>

static Str kept(Profile *p, Str s) {
    return (Str){arena_strndup(&p->arena, s.ptr ? s.ptr : "", s.len), s.len};
}

static Str with_module(Profile *p, Str name, Str module) {
    return str_of(arena_printf(&p->arena, "%.*s (%.*s)", STR_ARG(name), STR_ARG(module)));
}

static bool same_values(const Profile *a, const Profile *b) {
    bool calls = !a->values.len || !b->values.len; /* without a tree */
    bool same = calls || a->values.len == b->values.len;
    for (uint32_t i = 0; same && !calls && i < a->values.len; i++)
        same = str_eq(a->values.at[i].name, b->values.at[i].name) &&
               str_eq(a->values.at[i].unit, b->values.at[i].unit);
    return same;
}

static bool is_empty(const Profile *p) {
    return !p->funcs.len && !p->values.len;
}

/* Who is outside of all modules, under this name; PROFILE_NONE = nobody yet. */
static uint32_t find_outside(const Profile *p, Str name) {
    for (uint32_t i = 0; i < p->funcs.len; i++)
        if (p->funcs.at[i].outside && str_eq(p->funcs.at[i].name, name))
            return i;
    return PROFILE_NONE;
}

static uint32_t add_func(Profile *p, const ProfileFunc *f, Str module) {
    uint32_t known = f->outside ? find_outside(p, f->name) : PROFILE_NONE;
    if (known != PROFILE_NONE)
        return known;
    ProfileFunc copy = *f;
    copy.module = f->outside ? PROFILE_NOBODY : p->modules;
    copy.name = f->outside ? kept(p, f->name) : with_module(p, f->name, module);
    copy.symbol = f->symbol.len ? with_module(p, f->symbol, module) : (Str){"", 0};
    copy.file = kept(p, f->file);
    vec_push(&p->funcs, copy);
    return p->funcs.len - 1;
}

static void add_nodes(Profile *p, const Profile *from, const uint32_t *funcs) {
    uint32_t nodes = p->nodes.len, numbers = p->numbers.len;
    for (uint32_t i = 0; i < from->nodes.len; i++) {
        ProfileNode n = from->nodes.at[i];
        n.parent += n.parent == PROFILE_NONE ? 0 : nodes;
        n.end += nodes;
        n.func = funcs[n.func];
        n.first += n.first == PROFILE_NONE ? 0 : numbers;
        vec_push(&p->nodes, n);
    }
    for (uint32_t i = 0; i < from->numbers.len; i++)
        vec_push(&p->numbers, from->numbers.at[i]);
}

static void begin(Profile *p, const Profile *from) {
    for (uint32_t i = 0; i < from->values.len; i++) {
        ProfileValue v = from->values.at[i];
        vec_push(&p->values, ((ProfileValue){kept(p, v.name), kept(p, v.unit), v.is_unsigned}));
    }
    p->weight = from->weight;
    p->sampled = from->sampled;
    p->counted = true;
}

bool profile_join(Profile *into, const Profile *from, Str module) {
    if (is_empty(into))
        begin(into, from);
    else if (!same_values(into, from))
        return false;
    into->modules++;
    uint32_t *funcs = mem_alloc((from->funcs.len + 1u) * sizeof *funcs);
    for (uint32_t i = 0; i < from->funcs.len; i++)
        funcs[i] = add_func(into, &from->funcs.at[i], module);
    for (uint32_t i = 0; i < from->arcs.len; i++) {
        ProfileArc a = from->arcs.at[i];
        vec_push(&into->arcs, ((ProfileArc){funcs[a.caller], funcs[a.callee], a.calls, a.ns}));
    }
    add_nodes(into, from, funcs);
    into->timed |= from->timed;
    into->sampled &= from->sampled;
    into->counted &= from->counted;
    into->calibrated = capped_add(into->calibrated, from->calibrated);
    into->total = capped_add(into->total, from->total);
    free(funcs);
    return true;
}
