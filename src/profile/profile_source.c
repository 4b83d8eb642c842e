/*
 * profile/profile_source.c - inlined functions and source lines in profiles.
 */
#include "profile/profile_source.h"

#include "analysis/call_sites.h"
#include "base/demangle.h"
#include "profile/profile_untimed.h"

#include <assert.h>

/* Longer chains of inlined calls are cut; the outermost are kept. */
enum { CHAIN_MAX = 64 };

/* The inlined functions that calls come from, the outermost first: indices into Profile.funcs. */
typedef struct Chain {
    uint32_t *funcs;
    uint32_t len;
} Chain;

typedef struct Inliner {
    Profile *p;
    const WasmModule *m;
    Locator *l;
    bool demangled;
    CallSites sites;
    Map chains;     /* caller, callee: in Profile.funcs -> index into the following */
    Vec(Chain) all; /* in the arena */
    Map inlined;    /* file and name -> index into Profile.funcs */
    Buf text;
    Arena arena;
} Inliner;

static Str profile_source_keep(Profile *p, Str s) {
    return (Str){arena_strndup(&p->arena, s.ptr, s.len), s.len};
}

/* ---- the calls in a function ---- */

/* The function of the profile that stands for an inlined one; PROFILE_NONE: it has no name. */
static uint32_t profile_source_inlined_func(Inliner *x, const LocationFrame *f) {
    bool added;
    x->text.len = 0;
    if (!x->demangled || !f->linkage.len || !demangle(f->linkage, &x->text))
        buf_str(&x->text, f->function.len ? f->function : f->linkage);
    if (!x->text.len)
        return PROFILE_NONE;
    buf_str(&x->text, STR(" (inlined)"));
    size_t name = x->text.len;
    buf_u8(&x->text, 0);
    buf_str(&x->text, f->file);
    uint64_t n = *map_put(&x->inlined, buf_view(&x->text), x->p->funcs.len, &added);
    if (added)
        vec_push(&x->p->funcs,
                 ((ProfileFunc){.id = PROFILE_NOBODY,
                                .inlined = true,
                                .name = profile_source_keep(
                                    x->p, (Str){(const char *)x->text.data, (uint32_t)name}),
                                .file = profile_source_keep(x->p, f->file)}));
    return (uint32_t)n;
}

/* The functions that the code at a location was inlined from. */
static uint32_t chain_at(Inliner *x, uint32_t func, uint32_t pc, uint32_t chain[CHAIN_MAX]) {
    const LocationFrame *frames;
    bool inside = func < x->m->funcs.len && x->m->funcs.at[func].import < 0;
    uint32_t n = inside ? locator_at(x->l, x->m, func, pc, &frames) : 0, len = 0;
    for (uint32_t i = n; i-- > 1 && len < CHAIN_MAX; len++) {
        chain[len] = profile_source_inlined_func(x, &frames[i - 1]);
        if (chain[len] == PROFILE_NONE)
            break;
    }
    return len;
}

/* The inlined functions that all calls from one function of the program to another come from. */
static Chain common_chain(Inliner *x, uint32_t caller, uint32_t callee) {
    uint32_t funcs[CHAIN_MAX], at = 0, pc;
    Chain chain = {0};
    while ((pc = call_sites_next(&x->sites, caller, callee, &at)) != CALL_SITES_END) {
        uint32_t len = chain_at(x, caller, pc, funcs), same = 0;
        if (!chain.funcs) {
            chain.funcs = arena_array(&x->arena, uint32_t, len + 1);
            memcpy(chain.funcs, funcs, len * sizeof *funcs);
            chain.len = len;
        }
        while (same < chain.len && same < len && chain.funcs[same] == funcs[same])
            same++;
        chain.len = same;
    }
    return chain;
}

static Chain chain_of(Inliner *x, uint32_t caller, uint32_t callee) {
    bool added;
    uint32_t key[2] = {caller, callee};
    uint64_t *n = map_put(&x->chains, (Str){(const char *)key, sizeof key}, x->all.len, &added);
    uint32_t index = (uint32_t)*n;
    if (added)
        vec_push(&x->all, common_chain(x, x->p->funcs.at[caller].id, x->p->funcs.at[callee].id));
    return x->all.at[index];
}

/* ---- trees ---- */

typedef struct Branch {
    ProfileNode node;
    uint32_t first, last, next; /* children and brother, PROFILE_NONE = none */
} Branch;

typedef struct Tree {
    Vec(Branch) at;
    uint32_t first, last; /* those without parent */
    Map inlined;          /* parent, function -> the branch of an inlined function */
} Tree;

static uint32_t profile_source_add_branch(Tree *t, uint32_t parent, const ProfileNode *node) {
    uint32_t n = t->at.len;
    vec_push(&t->at, ((Branch){*node, PROFILE_NONE, PROFILE_NONE, PROFILE_NONE}));
    t->at.at[n].node.parent = parent;
    uint32_t *first = parent == PROFILE_NONE ? &t->first : &t->at.at[parent].first;
    uint32_t *last = parent == PROFILE_NONE ? &t->last : &t->at.at[parent].last;
    if (*first == PROFILE_NONE)
        *first = n;
    else
        t->at.at[*last].next = n;
    *last = n;
    return n;
}

/* The branch of an inlined function below a parent, through which the node's calls go. */
static uint32_t inlined_branch(Tree *t, uint32_t parent, uint32_t func, const ProfileNode *node) {
    bool added;
    uint32_t key[2] = {parent, func};
    uint64_t *n = map_put(&t->inlined, (Str){(const char *)key, sizeof key}, t->at.len, &added);
    if (added)
        profile_source_add_branch(
            t, parent, &(ProfileNode){.func = func, .pc = PROFILE_NONE, .first = PROFILE_NONE});
    ProfileNode *b = &t->at.at[*n].node;
    b->calls = capped_add(b->calls, node->calls);
    b->total = capped_add(b->total, node->total);
    return (uint32_t)*n;
}

/* Puts the branches into the profile, depth first. */
static void write_tree(Profile *p, const Tree *t) {
    Vec(uint32_t) open = {0}; /* the nodes around the current one */
    p->nodes.len = 0;
    for (uint32_t b = t->first; b != PROFILE_NONE;) {
        ProfileNode node = t->at.at[b].node;
        uint32_t n = p->nodes.len, next = t->at.at[b].first;
        node.parent = open.len ? vec_last(&open) : PROFILE_NONE;
        node.depth = open.len;
        node.end = n + 1;
        vec_push(&p->nodes, node);
        vec_push(&open, n);
        while (next == PROFILE_NONE && b != PROFILE_NONE) {
            p->nodes.at[vec_last(&open)].end = p->nodes.len;
            open.len--;
            next = t->at.at[b].next;
            b = t->at.at[b].node.parent;
        }
        b = next;
    }
    vec_free(&open);
}

/* The inlined functions that a node was called from. */
static Chain chain_above(Inliner *x, const ProfileNode *node, uint32_t funcs[CHAIN_MAX]) {
    uint32_t caller = x->p->nodes.at[node->parent].func;
    if (node->pc == PROFILE_NONE)
        return chain_of(x, caller, node->func);
    uint32_t len = chain_at(x, x->p->funcs.at[caller].id, node->pc, funcs);
    return (Chain){funcs, len};
}

static void inline_tree(Inliner *x) {
    Profile *p = x->p;
    uint32_t funcs[CHAIN_MAX];
    Tree t = {.first = PROFILE_NONE, .last = PROFILE_NONE};
    uint32_t *branches = mem_alloc((p->nodes.len + 1u) * sizeof *branches);
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode *node = &p->nodes.at[i];
        uint32_t parent = PROFILE_NONE;
        if (node->parent != PROFILE_NONE) {
            Chain chain = chain_above(x, node, funcs);
            parent = branches[node->parent];
            for (uint32_t k = 0; k < chain.len; k++)
                parent = inlined_branch(&t, parent, chain.funcs[k], node);
        }
        branches[i] = profile_source_add_branch(&t, parent, node);
    }
    write_tree(p, &t);
    free(branches);
    map_free(&t.inlined);
    vec_free(&t.at);
}

/* ---- arcs ---- */

typedef struct Arcs {
    Vec(ProfileArc) at;
    Map index; /* caller, callee -> the arc */
} Arcs;

static void profile_source_add_arc(Arcs *arcs, uint32_t caller, uint32_t callee,
                                   const ProfileArc *arc) {
    bool added;
    uint32_t key[2] = {caller, callee};
    uint64_t n = *map_put(&arcs->index, (Str){(const char *)key, sizeof key}, arcs->at.len, &added);
    if (added)
        vec_push(&arcs->at, ((ProfileArc){caller, callee, 0, 0}));
    ProfileArc *sum = &arcs->at.at[n];
    sum->calls = capped_add(sum->calls, arc->calls);
    sum->ns = profile_add_ns(sum->ns, arc->ns);
}

static void inline_arcs(Inliner *x) {
    Profile *p = x->p;
    Arcs arcs = {0};
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc *arc = &p->arcs.at[i];
        Chain chain = chain_of(x, arc->caller, arc->callee);
        uint32_t caller = arc->caller;
        for (uint32_t k = 0; k < chain.len; caller = chain.funcs[k++])
            profile_source_add_arc(&arcs, caller, chain.funcs[k], arc);
        profile_source_add_arc(&arcs, caller, arc->callee, arc);
    }
    p->arcs.len = 0;
    for (uint32_t i = 0; i < arcs.at.len; i++)
        vec_push(&p->arcs, arcs.at.at[i]);
    vec_free(&arcs.at);
    map_free(&arcs.index);
}

void profile_inline(Profile *p, const Report *r, const Places *places, Locator *l, bool demangled) {
    assert(places->m && profile_check(p));
    Inliner x = {.p = p, .m = places->m, .l = l, .demangled = demangled};
    call_sites_open(&x.sites, places->m, untimed_list(r));
    inline_tree(&x);
    inline_arcs(&x);
    call_sites_free(&x.sites);
    map_free(&x.chains);
    map_free(&x.inlined);
    vec_free(&x.all);
    buf_free(&x.text);
    arena_free(&x.arena);
    assert(profile_check(p));
}

/* ---- places ---- */

static Str profile_source_base_of(Str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    uint32_t skip = slash ? (uint32_t)(slash + 1 - path.ptr) : 0;
    return (Str){path.ptr + skip, path.len - skip};
}

static void put_in_name(Profile *p, ProfileFunc *f) {
    Str base = profile_source_base_of(f->file);
    const char *text =
        f->line
            ? arena_printf(&p->arena, "%.*s (%.*s:%u)", STR_ARG(f->name), STR_ARG(base), f->line)
            : arena_printf(&p->arena, "%.*s (%.*s)", STR_ARG(f->name), STR_ARG(base));
    f->name = str_of(text);
}

void profile_locate(Profile *p, const Places *places, Locator *l, bool in_names) {
    assert(places->m);
    const WasmModule *m = places->m;
    for (uint32_t i = 0; i < p->funcs.len; i++) {
        ProfileFunc *f = &p->funcs.at[i];
        const LocationFrame *frames;
        if (!f->inlined && !f->outside && f->id < m->funcs.len && m->funcs.at[f->id].import < 0) {
            uint32_t n = locator_at(l, m, f->id, 0, &frames);
            if (n) {
                Str file;
                locations_beginning(&frames[n - 1], &file, &f->line);
                f->file = profile_source_keep(p, file);
            }
        }
        if (in_names && f->file.len)
            put_in_name(p, f);
    }
}
