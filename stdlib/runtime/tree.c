/*
 * runtime/tree.c - the calling-context tree.
 *
 * Nodes are in linked blocks, and refer to each other by address. A node with few children has a
 * list of them, the most recently called one first; the children of all others are in one hash
 * table, by parent, function and call site. In both cases the most recently called child is tried
 * first, so a call in a loop costs one comparison.
 *
 * Time is attributed when the current node changes: the previous one gets the time since it became
 * current. So a report at any time only has to add the time of one node.
 */
#include "tree.h"
#include "memory.h"

/* 48 bytes, as millions of them may be needed. */
typedef struct Node {
    uint32_t function;
    uint32_t site;   /* where in the parent's function it was called; 0 = unknown */
    uint32_t parent; /* addresses, 0 = none */
    uint32_t child;  /* the one called last; the first of the list unless WIDE */
    uint32_t next;   /* in the parent's list */
    uint32_t number; /* from 1 */
    uint32_t depth;  /* and WIDE */

    uint64_t calls;
    uint64_t ns;
} Node;

enum { WIDE = 1u << 30 }; /* in Node.depth: its children are in the hash table */
/* In handles, which are addresses of nodes: the node was current before the activation, and stays
 * current when it is left. */
enum { STAYS = 1 };

/* A block of memory: the address of the next one, 4 bytes of nothing, nodes. With the 8 bytes of
 * the allocator it is as long as a page. */
enum { BLOCK_BYTES = PAGE - 8, BLOCK_HEAD = 8 };
enum { BLOCK_NODES = (BLOCK_BYTES - BLOCK_HEAD) / sizeof(Node) };

typedef struct Tree {
    uint64_t since;         /* when the current node became the current one */
    uint64_t lost;          /* calls */
    uint32_t current;       /* its address, XOR that of the root: 0 at start */
    uint32_t limit;         /* of depth; 0 = none */
    uint32_t hosts;         /* functions below this one have no time */
    uint32_t map;           /* 1 + the map that shows the tree; 0 = none */
    uint32_t sites;         /* 1 + the map that shows where nodes were called; 0 = none */
    uint32_t count;         /* of nodes, without the root */
    uint32_t first, last;   /* blocks */
    uint32_t slots, shift;  /* the hash table: address, 64 - log2 of its size */
    uint32_t nslots, nwide; /* its size (a power of 2, or 0), how many are used */
    Node root;              /* its function and time mean nothing */
} Tree;

#ifdef HOST_IMPORT
static Tree tree_state;
#define TREE (&tree_state)
#define ROOT ((uint32_t)(uintptr_t)&tree_state.root)
#else
#define TREE ((Tree *)(void *)at(TREE_STATE))
#define ROOT ((uint32_t)(TREE_STATE + __builtin_offsetof(Tree, root)))
_Static_assert(VALUES_STATE + sizeof(Values) <= TREE_STATE &&
                   TREE_STATE + sizeof(Tree) <= VALUES_ROWS,
               "the state has its place");
#endif
_Static_assert(TREE_STATE % 8 == 0 && sizeof(Node) == 48 && sizeof(Node) % 8 == 0,
               "nodes are where handles have bits to spare");

INLINE Node *node(uint32_t address) {
    return (Node *)(void *)at(address);
}

INLINE bool is_for(uint32_t n, uint32_t function, uint32_t site) {
    return node(n)->function == function && node(n)->site == site;
}

INLINE uint32_t current(void) {
    return TREE->current ^ ROOT;
}

INLINE void set_current(uint32_t n) {
    TREE->current = n ^ ROOT;
}

/* Adds the time until now to the current node. A calibrated clock can go backwards, where
 * measuring took less than its average: negative times are added, too. */
INLINE void spend(uint64_t now) {
    node(current())->ns += now - TREE->since;
    TREE->since = now;
}

/* ---- nodes with many children ---- */

static uint32_t slot_at(uint32_t place) {
    return TREE->slots + 4 * place;
}

/* The slot of the child, or the free one where it belongs. */
static uint32_t find_slot(uint32_t parent, uint32_t function, uint32_t site) {
    uint64_t key = ((uint64_t)function << 32 | parent) ^ site * GOLDEN;
    uint32_t place = (uint32_t)((key ^ key >> 32) * GOLDEN >> TREE->shift);
    for (;; place = (place + 1) & (TREE->nslots - 1)) {
        uint32_t n = get32(slot_at(place));
        if (!n || (is_for(n, function, site) && node(n)->parent == parent))
            return slot_at(place);
    }
}

static void put_wide(uint32_t n) {
    set32(find_slot(node(n)->parent, node(n)->function, node(n)->site), n);
}

/* Makes room for `more` children in a table that stays half empty. */
static bool reserve(uint32_t more) {
    enum { FIRST_SLOTS = 256 };
    uint32_t old = TREE->slots, nold = TREE->nslots;
    if (TREE->nwide + more <= nold / 2)
        return true;
    uint32_t n = nold ? 2 * nold : FIRST_SLOTS, slots = values_mem_alloc(4 * n);
    if (!slots)
        return false;
    __builtin_memset(at(slots), 0, 4 * (size_t)n);
    TREE->slots = slots;
    TREE->nslots = n;
    TREE->shift = (uint32_t)(64 - __builtin_ctz(n));
    for (uint32_t i = 0; i < nold; i++)
        if (get32(old + 4 * i))
            put_wide(get32(old + 4 * i));
    if (old)
        values_mem_free(old);
    return true;
}

/* Puts the children of a list into the table. Without memory it stays a list. */
static void make_wide(Node *parent, uint32_t children) {
    if (!reserve(children + 1))
        return;
    for (uint32_t n = parent->child; n; n = node(n)->next)
        put_wide(n);
    TREE->nwide += children;
    parent->depth |= WIDE;
}

/* ---- nodes ---- */

/* An address for a node, not cleared; 0 = memory is exhausted. */
static uint32_t new_node(void) {
    uint32_t used = TREE->count % BLOCK_NODES;
    if (used == 0) {
        uint32_t block = values_mem_alloc(BLOCK_BYTES);
        if (!block)
            return 0;
        set32(block, 0);
        if (TREE->last)
            set32(TREE->last, block);
        else
            TREE->first = block;
        TREE->last = block;
    }
    TREE->count++;
    return TREE->last + BLOCK_HEAD + used * (uint32_t)sizeof(Node);
}

static uint32_t add_child(uint32_t parent, uint32_t function, uint32_t site) {
    Node *above = node(parent);
    bool wide = above->depth & WIDE;
    if (wide && !reserve(1))
        return 0;
    uint32_t n = new_node();
    if (!n)
        return 0;
    *node(n) = (Node){.function = function,
                      .site = site,
                      .parent = parent,
                      .number = TREE->count,
                      .depth = (above->depth & ~(uint32_t)WIDE) + 1,
                      .next = wide ? 0 : above->child};
    if (wide) {
        put_wide(n);
        TREE->nwide++;
    }
    return n;
}

/* Finds a child in the parent's list and moves it to the front; 0 if there is none. */
static uint32_t find_listed(Node *parent, uint32_t function, uint32_t site) {
    uint32_t children = 0, last = 0;
    for (uint32_t n = parent->child; n; last = n, n = node(n)->next, children++) {
        if (!is_for(n, function, site))
            continue;
        if (last) {
            node(last)->next = node(n)->next;
            node(n)->next = parent->child;
        }
        return n;
    }
    if (children >= TREE_LIST)
        make_wide(parent, children);
    return 0;
}

/* The handle of an activation whose node is not the child that was called last. */
__attribute__((noinline)) static uint32_t find_or_add(uint32_t parent, uint32_t function,
                                                      uint32_t site) {
    Node *above = node(parent);
    if (TREE->limit && (above->depth & ~(uint32_t)WIDE) >= TREE->limit) {
        if (above->function == TREE_ANY) {
            above->calls++;
            return parent | STAYS;
        }
        function = TREE_ANY;
        site = 0;
    }
    uint32_t n = above->depth & WIDE ? get32(find_slot(parent, function, site))
                                     : find_listed(above, function, site);
    if (!n)
        n = add_child(parent, function, site);
    if (!n) {
        TREE->lost++;
        return parent | STAYS;
    }
    above->child = n;
    node(n)->calls++;
    set_current(n);
    return n;
}

INLINE uint32_t enter(uint32_t function, uint32_t site) {
    uint32_t parent = current(), n = node(parent)->child;
    if (!n || !is_for(n, function, site))
        return find_or_add(parent, function, site);
    node(n)->calls++;
    set_current(n);
    return n;
}

INLINE void leave(uint32_t handle) {
    if (handle)
        set_current(handle & STAYS ? handle ^ STAYS : node(handle)->parent);
}

VALUES_EXPORT(tree_enter)
uint32_t tree_enter(uint32_t function, uint64_t now) {
    spend(now);
    return enter(function, 0);
}

/* What is called from outside of all functions has no site: the one that is given is that of an
 * earlier call. */
INLINE uint32_t enter_at(uint32_t function, uint32_t site) {
    return enter(function, current() == ROOT ? 0 : site);
}

VALUES_EXPORT(tree_enter_at)
uint32_t tree_enter_at(uint32_t function, uint32_t site, uint64_t now) {
    spend(now);
    return enter_at(function, site);
}

VALUES_EXPORT(tree_enter_untimed_at)
uint32_t tree_enter_untimed_at(uint32_t function, uint32_t site) {
    return enter_at(function, site);
}

VALUES_EXPORT(tree_leave)
void tree_leave(uint32_t handle, uint64_t now) {
    spend(now);
    leave(handle);
}

VALUES_EXPORT(tree_enter_untimed)
uint32_t tree_enter_untimed(uint32_t function) {
    return enter(function, 0);
}

VALUES_EXPORT(tree_leave_untimed)
void tree_leave_untimed(uint32_t handle) {
    leave(handle);
}

/* ---- several stacks ---- */

INLINE void go(uint32_t place) {
    set_current(place ? place : ROOT);
}

/* Enters a node without counting a call. */
INLINE uint32_t enter_uncounted_at(uint32_t function, uint32_t site) {
    uint64_t lost = TREE->lost;
    uint32_t handle = enter(function, site);
    if (TREE->lost != lost)
        TREE->lost = lost;
    else
        node(handle & ~(uint32_t)STAYS)->calls--;
    return handle;
}

static uint32_t enter_uncounted(uint32_t function) {
    return enter_uncounted_at(function, 0);
}

static uint32_t resume(uint32_t function) {
    uint32_t n = current();
    while (n != ROOT && node(n)->function != function)
        n = node(n)->parent;
    if (n != ROOT) {
        set_current(n);
        return n;
    }
    return enter_uncounted(function);
}

VALUES_EXPORT(tree_here)
uint32_t tree_here(void) {
    return current() == ROOT ? 0 : current();
}

VALUES_EXPORT(tree_go)
void tree_go(uint32_t place, uint64_t now) {
    spend(now);
    go(place);
}

VALUES_EXPORT(tree_go_untimed)
void tree_go_untimed(uint32_t place) {
    go(place);
}

VALUES_EXPORT(tree_resume)
uint32_t tree_resume(uint32_t function, uint64_t now) {
    spend(now);
    return resume(function);
}

VALUES_EXPORT(tree_resume_untimed)
uint32_t tree_resume_untimed(uint32_t function) {
    return resume(function);
}

VALUES_EXPORT(tree_limit)
void tree_limit(uint32_t depth) {
    TREE->limit = depth;
}

VALUES_EXPORT(tree_host)
void tree_host(uint32_t function) {
    if (function >= TREE->hosts)
        TREE->hosts = function + 1;
}

/* ---- samples ---- */

VALUES_EXPORT(tree_descend)
void tree_descend(uint32_t function) {
    enter_uncounted(function);
}

VALUES_EXPORT(tree_descend_at)
void tree_descend_at(uint32_t function, uint32_t site) {
    enter_uncounted_at(function, site);
}

VALUES_EXPORT(tree_add)
void tree_add(uint64_t calls, uint64_t ns) {
    Node *n = node(current());
    n->calls += calls;
    n->ns += ns;
}

/* ---- the report ---- */

VALUES_EXPORT(tree_store)
void tree_store(uint32_t map, uint64_t now) {
    spend(now);
    TREE->map = map + 1;
}

VALUES_EXPORT(tree_store_sites)
void tree_store_sites(uint32_t map) {
    TREE->sites = map + 1;
}

VALUES_EXPORT(tree_current)
uint32_t tree_current(void) {
    return node(current())->number;
}

/* ---- what a place is ---- */

INLINE const Node *node_at(uint32_t place) {
    return node(place ? place : ROOT);
}

VALUES_EXPORT(tree_number)
uint32_t tree_number(uint32_t place) {
    return node_at(place)->number;
}

VALUES_EXPORT(tree_parent)
uint32_t tree_parent(uint32_t place) {
    uint32_t parent = node_at(place)->parent;
    return parent == ROOT ? 0 : parent;
}

VALUES_EXPORT(tree_function)
uint32_t tree_function(uint32_t place) {
    return node_at(place)->function;
}

VALUES_EXPORT(tree_site)
uint32_t tree_site(uint32_t place) {
    return node_at(place)->site;
}

/* ---- the current stack as text ---- */

/* The name of a function in a map<u32, str>. */
static uint32_t name_in(uint32_t names, uint32_t function) {
    const MapHeader *h = values_map_header(names);
    return h && h->type ? get32(values_map_find1(names, h->type, function)) : 0;
}

static uint32_t length_of(uint32_t name) {
    return name ? get32(name) : 0;
}

VALUES_EXPORT(tree_text)
uint32_t tree_text(uint32_t names) {
    enum { DOTS = 4 };
    uint32_t outermost = 0, bytes = 0, frames = 0;
    for (uint32_t n = current(); n != ROOT && frames < TREE_TEXT_FRAMES; n = node(n)->parent) {
        bytes += length_of(name_in(names, node(n)->function)) + 1;
        outermost = node(n)->parent;
        frames++;
    }
    bool cut = frames && outermost != ROOT;
    uint32_t s = values_str_new(bytes + (cut ? DOTS : frames ? 0 : 1) - 1), to = s + 4 + get32(s);
    for (uint32_t n = current(); n != outermost && frames; n = node(n)->parent) {
        uint32_t name = name_in(names, node(n)->function);
        to -= length_of(name);
        __builtin_memcpy(at(to), at(name + 4), length_of(name));
        if (to > s + 4)
            *at(--to) = ';';
    }
    if (cut)
        __builtin_memset(at(s + 4), '.', DOTS - 1);
    return values_str_intern(s);
}

VALUES_EXPORT(tree_lost)
uint64_t tree_lost(void) {
    return TREE->lost;
}

TreeShown tree_is_shown(uint32_t map) {
#ifndef __wasm__
    if (!values_end())
        return TREE_NOT_SHOWN; /* only scalars and empty maps are printed */
#endif
    if (!TREE->count)
        return TREE_NOT_SHOWN;
    return TREE->map == map + 1     ? TREE_SHOWN
           : TREE->sites == map + 1 ? TREE_SITES_SHOWN
                                    : TREE_NOT_SHOWN;
}

uint32_t tree_next(TreeCursor *c, uint64_t leaves[TREE_LEAVES]) {
    if (c->number == TREE->count)
        return 0;
    if (c->number % BLOCK_NODES == 0) {
        c->block = c->block ? get32(c->block) : TREE->first;
        c->node = c->block + BLOCK_HEAD;
    }
    const Node *n = node(c->node);
    leaves[0] = n->number;
    leaves[1] = node(n->parent)->number;
    leaves[2] = n->function;
    leaves[3] = n->calls;
    bool timed = n->function >= TREE->hosts && (int64_t)n->ns > 0;
    leaves[4] = timed ? n->ns : 0;
    leaves[5] = n->site;
    c->node += (uint32_t)sizeof(Node);
    c->number++;
    return 1;
}
