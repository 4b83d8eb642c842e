/*
 * view/profile_join.c - adds one profile to another.
 */
#include "view/profile_join.h"
#include "base/capped.h"

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

/* Where Profile.index has the function that other modules may know; NULL = they cannot. */
static uint64_t *find_known(Profile *p, const ProfileFunc *f, uint32_t module_id) {
    ProfileHome home = f->home.module_id ? f->home : (ProfileHome){module_id, f->id};
    bool none = !home.module_id || home.func == PROFILE_NOBODY;
    return none ? NULL
                : map_put(&p->index, (Str){(const char *)&home, sizeof home}, PROFILE_NONE, NULL);
}

/* As the joined profile has it. */
static ProfileFunc joined(Profile *p, const ProfileFunc *f, Str module) {
    bool bare = f->outside || f->home.module_id;
    ProfileFunc copy = *f;
    copy.module = bare ? PROFILE_NOBODY : p->modules;
    copy.name = bare ? kept(p, f->name) : with_module(p, f->name, module);
    copy.symbol = !f->symbol.len      ? (Str){"", 0}
                  : f->home.module_id ? kept(p, f->symbol)
                                      : with_module(p, f->symbol, module);
    copy.file = kept(p, f->file);
    return copy;
}

static uint32_t add_func(Profile *p, const ProfileFunc *f, Str module, uint32_t module_id) {
    uint32_t known = f->outside ? find_outside(p, f->name) : PROFILE_NONE;
    uint64_t *at = find_known(p, f, module_id);
    if (at && *at != PROFILE_NONE) {
        known = (uint32_t)*at;
        if (p->funcs.at[known].home.module_id && !f->home.module_id)
            p->funcs.at[known] = joined(p, f, module); /* its own module knows more */
    }
    if (known != PROFILE_NONE)
        return known;
    if (at)
        *at = p->funcs.len;
    vec_push(&p->funcs, joined(p, f, module));
    return p->funcs.len - 1;
}

/* ---- trees that have functions of several modules ---- */

static bool has_others(const Profile *p) {
    for (uint32_t i = 0; i < p->funcs.len; i++)
        if (p->funcs.at[i].home.module_id)
            return true;
    return false;
}

static uint64_t *find_path(Profile *p, uint32_t parent, uint32_t func, uint32_t pc, bool *added) {
    uint32_t key[] = {parent, func, pc};
    return map_put(&p->paths, (Str){(const char *)key, sizeof key}, p->nodes.len, added);
}

/* Adds what the nodes of equal paths have. */
static void add_to_node(Profile *p, ProfileNode *to, const Profile *from, const ProfileNode *n) {
    to->calls = capped_add(to->calls, n->calls);
    to->self = capped_add(to->self, n->self);
    for (uint32_t v = 0; n->first != PROFILE_NONE && v < p->values.len; v++) {
        int64_t *sum = &p->numbers.at[to->first + v];
        *sum = profile_add_ns(*sum, from->numbers.at[n->first + v]);
    }
}

/* The nodes are in no order then, but that parents come first. */
static void unite_nodes(Profile *p, const Profile *from, const uint32_t *funcs) {
    uint32_t *to = mem_alloc((from->nodes.len + 1u) * sizeof *to), known = p->nodes.len;
    bool added;
    for (uint32_t i = 0; !p->paths.len && i < known; i++) {
        const ProfileNode *n = &p->nodes.at[i];
        *find_path(p, n->parent, n->func, n->pc, &added) = i;
    }
    for (uint32_t i = 0; i < from->nodes.len; i++) {
        ProfileNode n = from->nodes.at[i];
        n.parent = n.parent == PROFILE_NONE ? PROFILE_NONE : to[n.parent];
        n.func = funcs[n.func];
        to[i] = (uint32_t)*find_path(p, n.parent, n.func, n.pc, &added);
        if (!added && p->nodes.at[to[i]].first != PROFILE_NONE) {
            add_to_node(p, &p->nodes.at[to[i]], from, &n);
            continue;
        }
        to[i] = p->nodes.len;
        uint32_t first = p->numbers.len;
        for (uint32_t v = 0; n.first != PROFILE_NONE && v < p->values.len; v++)
            vec_push(&p->numbers, from->numbers.at[n.first + v]);
        n.first = n.first == PROFILE_NONE ? PROFILE_NONE : first;
        vec_push(&p->nodes, n);
    }
    free(to);
}

/* The first of the children of each node, and their order; the last one is that of the roots. */
typedef struct Family {
    uint32_t *child, *next;
} Family;

static Family find_family(const Profile *p) {
    uint32_t n = p->nodes.len;
    Family f = {mem_alloc((n + 1u) * sizeof *f.child), mem_alloc((n + 1u) * sizeof *f.next)};
    for (uint32_t i = 0; i <= n; i++)
        f.child[i] = PROFILE_NONE;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t parent = p->nodes.at[i].parent == PROFILE_NONE ? n : p->nodes.at[i].parent;
        f.next[i] = f.child[parent];
        f.child[parent] = i;
    }
    return f;
}

/* Puts the nodes in the order of ProfileNode. */
static void order_nodes(Profile *p) {
    Family f = find_family(p);
    uint32_t n = p->nodes.len, *to = mem_alloc((n + 1u) * sizeof *to);
    Profile ordered = {0};
    for (uint32_t at = f.child[n], up; at != PROFILE_NONE;) {
        ProfileNode node = p->nodes.at[at];
        to[at] = ordered.nodes.len;
        node.parent = node.parent == PROFILE_NONE ? PROFILE_NONE : to[node.parent];
        node.depth = node.parent == PROFILE_NONE ? 0 : ordered.nodes.at[node.parent].depth + 1;
        node.total = node.self;
        vec_push(&ordered.nodes, node);
        for (up = at, at = f.child[at]; at == PROFILE_NONE && up != PROFILE_NONE;) {
            ordered.nodes.at[to[up]].end = ordered.nodes.len;
            at = f.next[up];
            up = p->nodes.at[up].parent;
        }
    }
    vec_free(&p->nodes);
    p->nodes.at = ordered.nodes.at;
    p->nodes.len = ordered.nodes.len;
    p->nodes.cap = ordered.nodes.cap;
    free(to);
    free(f.child);
    free(f.next);
}

void profile_join_end(Profile *p) {
    if (!p->paths.len)
        return;
    map_free(&p->paths);
    order_nodes(p);
    profile_sum_up(p);
    uint32_t outside = find_outside(p, STR("<spontaneous>"));
    if (p->arcs.len && outside != PROFILE_NONE)
        profile_arcs_of_tree(p, outside);
}

static void append_nodes(Profile *p, const Profile *from, const uint32_t *funcs) {
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

bool profile_join(Profile *into, const Profile *from, Str module, uint32_t module_id) {
    if (is_empty(into))
        begin(into, from);
    else if (!same_values(into, from))
        return false;
    into->modules++;
    uint32_t *funcs = mem_alloc((from->funcs.len + 1u) * sizeof *funcs);
    for (uint32_t i = 0; i < from->funcs.len; i++)
        funcs[i] = add_func(into, &from->funcs.at[i], module, module_id);
    for (uint32_t i = 0; i < from->arcs.len; i++) {
        ProfileArc a = from->arcs.at[i];
        vec_push(&into->arcs, ((ProfileArc){funcs[a.caller], funcs[a.callee], a.calls, a.ns}));
    }
    if (into->paths.len || has_others(from))
        unite_nodes(into, from, funcs);
    else
        append_nodes(into, from, funcs);
    into->timed |= from->timed;
    into->sampled &= from->sampled;
    into->counted &= from->counted;
    into->calibrated = capped_add(into->calibrated, from->calibrated);
    into->total = capped_add(into->total, from->total);
    free(funcs);
    return true;
}
