/*
 * profile/profile_join.c - adds one profile to another.
 */
#include "profile/profile_join.h"

#include <assert.h>
#include <stdlib.h>

static Str kept(Profile *p, Str s) {
    return (Str){arena_strndup(&p->arena, s.ptr ? s.ptr : "", s.len), s.len};
}

static Str with_title(Profile *p, Str name, const Str *title) {
    if (!title)
        return kept(p, name);
    return str_of(arena_printf(&p->arena, "%.*s (%.*s)", STR_ARG(name), STR_ARG(*title)));
}

static bool same_values(const Profile *a, const Profile *b) {
    bool calls = !a->values.len || !b->values.len; /* without a tree */
    bool same = calls || a->values.len == b->values.len;
    for (uint32_t i = 0; same && !calls && i < a->values.len; i++)
        same = str_eq(a->values.at[i].name, b->values.at[i].name) &&
               str_eq(a->values.at[i].unit, b->values.at[i].unit);
    return same;
}

/* Whether `longer` has the values of `p`, and times. */
static bool lacks_time(const Profile *p, const Profile *longer) {
    uint32_t n = p->values.len;
    return n && longer->values.len == n + 1 && str_is(longer->values.at[n].unit, "nanoseconds");
}

/* Gives all nodes the time 0, which is left out of trees that have no other (drop_no_time). */
static void add_no_time(Profile *p, ProfileValue time) {
    uint32_t n = p->values.len, rows = p->numbers.len / n;
    vec_push(&p->values,
             ((ProfileValue){kept(p, time.name), kept(p, time.unit), time.is_unsigned}));
    for (uint32_t i = 0; i < rows; i++)
        vec_push(&p->numbers, 0);
    for (uint32_t row = rows; row-- > 0;)
        for (uint32_t v = n + 1; v-- > 0;)
            p->numbers.at[row * (n + 1) + v] = v < n ? p->numbers.at[row * n + v] : 0;
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        ProfileNode *node = &p->nodes.at[i];
        node->first = node->first == PROFILE_NONE ? PROFILE_NONE : node->first / n * (n + 1);
        if (!p->weight)
            node->self = node->total = 0;
    }
    p->total = p->weight ? p->total : 0;
}

static bool profile_join_is_empty(const Profile *p) {
    return !p->funcs.len && !p->values.len;
}

/* State that profiles of the same module, and of other modules that know its functions, share in
 * all threads. */
static void profile_join_put_key(const ProfileFunc *f, const ProfilePart *part, Buf *key) {
    bool own = part->module_id && f->id != PROFILE_NOBODY;
    ProfileHome home = own ? (ProfileHome){part->module_id, f->id} : f->home;
    if (home.module_id) {
        buf_bytes(key, &home, sizeof home);
        buf_name(key, part->only_thread.ptr ? part->only_thread : STR(""));
        return;
    }
    const uint32_t numbers[] = {f->outside ? PROFILE_NOBODY : part->module, f->id, f->line,
                                f->outside, f->inlined};
    buf_bytes(key, numbers, sizeof numbers);
    buf_name(key, f->name);
    buf_name(key, f->file.ptr ? f->file : STR(""));
}

/* As the joined profile has it. Those of other modules have a title. */
static ProfileFunc joined(Profile *p, const ProfileFunc *f, const ProfilePart *part) {
    bool bare = f->outside || f->home.module_id;
    const Str *title = bare ? NULL : part->title;
    ProfileFunc copy = *f;
    copy.module = bare ? PROFILE_NOBODY : part->module;
    copy.name = with_title(p, f->name, title);
    copy.symbol = f->symbol.len ? with_title(p, f->symbol, title) : (Str){"", 0};
    copy.file = kept(p, f->file);
    return copy;
}

/* A function that was counted in one thread may be timed in another; its own module knows more of
 * it than others do. */
static uint32_t profile_join_add_func(Profile *p, const ProfileFunc *f, const ProfilePart *part) {
    bool added;
    Buf key = {0};
    profile_join_put_key(f, part, &key);
    uint32_t n = (uint32_t)*map_put(&p->index, buf_view(&key), p->funcs.len, &added);
    buf_free(&key);
    if (added) {
        vec_push(&p->funcs, joined(p, f, part));
        return n;
    }
    ProfileFunc *known = &p->funcs.at[n];
    ProfileFunc all = known->home.module_id && !f->home.module_id ? joined(p, f, part) : *known;
    all.called = capped_add(known->called, f->called);
    all.untimed = (known->untimed || known->home.module_id) && (f->untimed || f->home.module_id);
    *known = all;
    return n;
}

/* The last node without parent, or PROFILE_NONE. */
static uint32_t last_root(const Profile *p) {
    uint32_t node = p->nodes.len;
    while (node-- > 0)
        if (p->nodes.at[node].parent == PROFILE_NONE)
            return node;
    return PROFILE_NONE;
}

/* ---- trees that have functions of several modules ---- */

static bool has_others(const Profile *p) {
    for (uint32_t i = 0; i < p->funcs.len; i++)
        if (p->funcs.at[i].home.module_id)
            return true;
    return false;
}

static uint64_t *find_path(Profile *p, uint32_t parent, uint32_t func, bool *added) {
    uint32_t key[] = {parent, func};
    return map_put(&p->paths, (Str){(const char *)key, sizeof key}, p->nodes.len, added);
}

/* Adds up nodes of equal paths. */
static void add_to_node(Profile *p, ProfileNode *to, const Profile *from, const ProfileNode *n) {
    to->calls = capped_add(to->calls, n->calls);
    to->self = capped_add(to->self, n->self);
    to->pc = to->pc == n->pc ? n->pc : PROFILE_NONE;
    bool counts = n->first != PROFILE_NONE && to->first != PROFILE_NONE;
    for (uint32_t v = 0; counts && v < p->values.len; v++) {
        int64_t *sum = &p->numbers.at[to->first + v];
        *sum = profile_add_ns(*sum, from->numbers.at[n->first + v]);
    }
}

/* The nodes are in no order then, but that parents come first. */
static void unite_nodes(Profile *p, const Profile *from, const uint32_t *funcs, uint32_t root) {
    uint32_t *to = mem_alloc((from->nodes.len + 1u) * sizeof *to);
    bool added;
    for (; p->pathed < p->nodes.len; p->pathed++) {
        const ProfileNode *n = &p->nodes.at[p->pathed];
        *find_path(p, n->parent, n->func, &added) = p->pathed;
    }
    for (uint32_t i = 0; i < from->nodes.len; i++) {
        ProfileNode n = from->nodes.at[i];
        n.parent = n.parent == PROFILE_NONE ? root : to[n.parent];
        n.func = funcs[n.func];
        to[i] = (uint32_t)*find_path(p, n.parent, n.func, &added);
        if (!added) {
            add_to_node(p, &p->nodes.at[to[i]], from, &n);
            continue;
        }
        uint32_t first = p->numbers.len;
        for (uint32_t v = 0; n.first != PROFILE_NONE && v < p->values.len; v++)
            vec_push(&p->numbers, from->numbers.at[n.first + v]);
        n.first = n.first == PROFILE_NONE ? PROFILE_NONE : first;
        vec_push(&p->nodes, n);
        p->pathed++;
    }
    free(to);
}

/* The first child of each node, and the order of children; the last list is the roots'. */
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
static void profile_join_order_nodes(Profile *p) {
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

/* A call of a function that no module knows, from another module, may be in two profiles. */
static void unite_arcs(Profile *p) {
    Map known = {0};
    uint32_t to = 0;
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        ProfileArc a = p->arcs.at[i];
        uint32_t key[] = {a.caller, a.callee};
        bool added;
        uint64_t *at = map_put(&known, (Str){(const char *)key, sizeof key}, to, &added);
        if (added) {
            p->arcs.at[to++] = a;
            continue;
        }
        p->arcs.at[*at].calls = capped_add(p->arcs.at[*at].calls, a.calls);
        p->arcs.at[*at].ns = profile_add_ns(p->arcs.at[*at].ns, a.ns);
    }
    p->arcs.len = to;
    map_free(&known);
}

void profile_join_end(Profile *p) {
    if (p->crosses)
        unite_arcs(p);
    if (!p->paths.len)
        return;
    map_free(&p->paths);
    profile_join_order_nodes(p);
    profile_sum_up(p);
    uint32_t outside = 0;
    while (outside < p->funcs.len &&
           !(p->funcs.at[outside].outside && str_is(p->funcs.at[outside].name, "<spontaneous>")))
        outside++;
    if (p->arcs.len && outside < p->funcs.len)
        profile_arcs_of_tree(p, outside);
    assert(profile_check(p));
}

/* The node of a thread; added if the last profile was of another one. */
static uint32_t thread_node(Profile *p, const ProfilePart *part) {
    const ProfileFunc thread = {.id = PROFILE_NOBODY, .outside = true, .name = *part->thread};
    uint32_t func = profile_join_add_func(p, &thread, part), last = last_root(p);
    if (last != PROFILE_NONE && p->nodes.at[last].func == func)
        return last;
    vec_push(
        &p->nodes,
        ((ProfileNode){
            .parent = PROFILE_NONE, .func = func, .pc = PROFILE_NONE, .first = p->numbers.len}));
    for (uint32_t i = 0; i < p->values.len; i++)
        vec_push(&p->numbers, 0);
    return p->nodes.len - 1;
}

/* Below `root`, or PROFILE_NONE. */
static void add_nodes(Profile *p, const Profile *from, const uint32_t *funcs, uint32_t root) {
    uint32_t nodes = p->nodes.len, numbers = p->numbers.len;
    for (uint32_t i = 0; i < from->nodes.len; i++) {
        ProfileNode n = from->nodes.at[i];
        n.parent = n.parent == PROFILE_NONE ? root : n.parent + nodes;
        n.end += nodes;
        n.depth += root != PROFILE_NONE;
        n.func = funcs[n.func];
        n.first += n.first == PROFILE_NONE ? 0 : numbers;
        vec_push(&p->nodes, n);
    }
    for (uint32_t i = 0; i < from->numbers.len; i++)
        vec_push(&p->numbers, from->numbers.at[i]);
    if (root == PROFILE_NONE)
        return;
    ProfileNode *thread = &p->nodes.at[root];
    thread->end = p->nodes.len;
    thread->total = capped_add(thread->total, from->total);
}

static void profile_join_begin(Profile *p, const Profile *from) {
    for (uint32_t i = 0; i < from->values.len; i++) {
        ProfileValue v = from->values.at[i];
        vec_push(&p->values, ((ProfileValue){kept(p, v.name), kept(p, v.unit), v.is_unsigned}));
    }
    p->weight = from->weight;
    p->sampled = from->sampled;
    p->counted = true;
}

bool profile_join(Profile *into, Profile *from, const ProfilePart *part) {
    assert(into != from && profile_check(from));
    if (lacks_time(into, from))
        add_no_time(into, vec_last(&from->values));
    else if (lacks_time(from, into))
        add_no_time(from, vec_last(&into->values));
    if (profile_join_is_empty(into))
        profile_join_begin(into, from);
    else if (!same_values(into, from))
        return false;
    uint32_t *funcs = mem_alloc((from->funcs.len + 1u) * sizeof *funcs);
    for (uint32_t i = 0; i < from->funcs.len; i++)
        funcs[i] = profile_join_add_func(into, &from->funcs.at[i], part);
    for (uint32_t i = 0; i < from->arcs.len; i++) {
        ProfileArc a = from->arcs.at[i];
        vec_push(&into->arcs, ((ProfileArc){funcs[a.caller], funcs[a.callee], a.calls, a.ns}));
    }
    uint32_t root = part->thread ? thread_node(into, part) : PROFILE_NONE;
    if (into->paths.len || has_others(from))
        unite_nodes(into, from, funcs, root);
    else
        add_nodes(into, from, funcs, root);
    into->crosses |= has_others(from);
    into->by_thread |= part->thread != NULL;
    into->timed |= from->timed;
    into->sampled &= from->sampled;
    into->counted &= from->counted;
    into->calibrated = capped_add(into->calibrated, from->calibrated);
    into->total = capped_add(into->total, from->total);
    free(funcs);
    return true;
}
