/*
 * paths.c - a library for scripts: numbers for the paths through functions, as Ball and Larus give
 * them (Efficient Path Profiling, 1996). For ../scripts/paths.whamm.
 *
 * A path begins at the start of a function or at a loop, after a branch back to it, and ends where
 * the function ends or where a branch leads back to a loop. Its number is the sum of the values of
 * its edges. Each edge into a place gets the number of paths that come by earlier edges as its
 * value; so the sum identifies the path, given the place. In WebAssembly the order of the text is a
 * topological order of all edges but those back to loops: a single pass finds the values. It is
 * made twice: while a program is instrumented, for the values, and when it starts, for the edges,
 * by which paths are decoded.
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o paths.wasm paths.c
 */
#include <stdbool.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { MAX_DEPTH = 4096, TEXT_SIZE = 4096, MAX_SEGMENTS = 1024, NONE = -1 };

/* Where there are more paths to a place, paths end there, and others begin. */
static const uint64_t MANY = UINT64_C(1) << 32;

/* A place that several paths reach, or where they end. */
typedef struct Node {
    int32_t fid, pc;
    int32_t edges; /* into it, those that were found last first */
} Node;

typedef struct Edge {
    uint64_t value;
    int32_t next, from; /* the node that was passed last before it; NONE = a path begins */
    int32_t pc;         /* of the last instruction before it */
    bool jumps;         /* otherwise the next instruction follows in the text */
} Edge;

typedef enum { BLOCK, LOOP, IF, ELSE } Kind;

typedef struct Label {
    Kind kind;
    int32_t node;      /* for branches to it */
    uint64_t paths;    /* by the edges into it so far */
    uint64_t before;   /* at an `if` */
    int32_t condition; /* the node before an `if` */
    int32_t pc;
} Label;

static int32_t function = NONE;
static Label labels[MAX_DEPTH];
static int32_t depth;
static uint64_t paths; /* that lead here; 0 = none does */
static int32_t here;   /* the node that was passed last */

/* ---- nodes and edges: arrays that grow, by turns, in memory ---- */

typedef struct Array {
    char *at;
    uint32_t len, room;
} Array;

static Array nodes, edges;
extern char __heap_base;
static char *heap = &__heap_base;

static void *add(Array *a, uint32_t size) {
    if (a->len == a->room) {
        uint32_t room = a->room ? 2 * a->room : 1024;
        char *to = heap;
        heap += (room * size + 7) & ~7u;
        uint32_t pages = (uint32_t)__builtin_wasm_memory_size(0),
                 needed = ((uint32_t)heap + 65535) >> 16;
        if (needed > pages && __builtin_wasm_memory_grow(0, needed - pages) == (unsigned long)-1)
            __builtin_trap();
        if (a->len)
            __builtin_memcpy(to, a->at, a->len * size);
        a->at = to;
        a->room = room;
    }
    return a->at + a->len++ * size;
}

static Node *node(int32_t n) {
    return (Node *)nodes.at + n;
}

static int32_t new_node(int32_t pc) {
    *(Node *)add(&nodes, sizeof(Node)) = (Node){function, pc, NONE};
    return (int32_t)nodes.len - 1;
}

static void new_edge(int32_t to, uint64_t value, int32_t from, int32_t pc, bool jumps) {
    Edge *e = add(&edges, sizeof(Edge));
    *e = (Edge){value, node(to)->edges, from, pc, jumps};
    node(to)->edges = (int32_t)edges.len - 1;
}

/* ---- the pass over the code ---- */

static Label *push(Kind kind, int32_t pc) {
    if (depth == MAX_DEPTH)
        __builtin_trap();
    Label *l = &labels[depth++];
    *l = (Label){.kind = kind, .node = new_node(pc), .pc = pc};
    return l;
}

static void begin(int32_t pc) {
    here = new_node(pc);
    new_edge(here, 0, NONE, 0, false);
    paths = 1;
}

/* To be called for each instruction that is the first of its function, too. */
static void at(int32_t fid) {
    if (fid == function)
        return;
    function = fid;
    depth = 0;
    push(BLOCK, 0);
    begin(0);
}

EXPORT("block") void block(int32_t fid, int32_t pc) {
    at(fid);
    push(BLOCK, pc);
}

/* Returns the number of the path that begins at the loop after a branch to it. */
EXPORT("loop") int64_t loop(int32_t fid, int32_t pc) {
    at(fid);
    push(LOOP, pc);
    int32_t before = here;
    uint64_t others = paths;
    here = new_node(pc);
    new_edge(here, 0, before, pc, false);
    new_edge(here, others, NONE, 0, false);
    if (paths)
        paths++;
    return (int64_t)others;
}

/* The edge for a false condition has the value 0, should it lead to the end. */
EXPORT("condition") void condition(int32_t fid, int32_t pc) {
    at(fid);
    Label *l = push(IF, pc);
    l->before = l->paths = paths;
    l->condition = here;
    if (paths)
        new_edge(l->node, 0, here, pc, true);
}

/* Of a branch. */
static uint64_t edge_to(Label *l, uint64_t value, int32_t pc) {
    if (paths) {
        new_edge(l->node, value, here, pc, true);
        l->paths = value + paths;
    }
    return value;
}

/* Returns the value of the edge from the end of the first arm. */
EXPORT("second") int64_t second(int32_t fid, int32_t pc) {
    at(fid);
    Label *l = &labels[depth - 1];
    uint64_t value = edge_to(l, l->paths, pc);
    l->kind = ELSE;
    here = new_node(pc + 1);
    paths = l->before;
    if (paths)
        new_edge(here, 0, l->condition, l->pc, true);
    return (int64_t)value;
}

static int64_t falls; /* the value of the edge from the instruction before an `end` */
static bool cut_here;

/* Returns whether branches lead to this `end`. */
EXPORT("end") int32_t end(int32_t fid, int32_t pc) {
    at(fid);
    cut_here = false;
    Label *l = &labels[--depth];
    if (l->kind == LOOP || !l->paths)
        return 0;
    bool as_if = l->kind == ELSE && paths <= l->before; /* its edge for a false condition is none */
    falls = as_if ? 0 : (int64_t)l->paths;
    int32_t last = here;
    here = l->node;
    node(here)->pc = pc;
    if (paths)
        new_edge(here, (uint64_t)falls, last, pc, false);
    paths = as_if ? l->paths : l->paths + paths;
    cut_here = paths > MANY && depth > 0;
    if (cut_here) {
        int32_t merged = here;
        begin(pc + 1);
        new_edge(new_node(pc), 0, merged, pc, false);
    }
    return 1;
}

EXPORT("falls") int64_t fallthrough(void) {
    return falls;
}

/* Whether paths end at this `end`. */
EXPORT("cut") int32_t cut(void) {
    return cut_here;
}

/* A branch: returns the value of its edge. */
EXPORT("branch") int64_t branch(int32_t fid, int32_t pc, int32_t label) {
    at(fid);
    Label *l = &labels[depth - 1 - label];
    return (int64_t)edge_to(l, l->paths, pc);
}

/* A br_table: its edges all have one value, as if it had one to each label. */
EXPORT("table") int64_t table(int32_t fid, int32_t pc) {
    at(fid);
    uint64_t value = 0;
    for (int32_t i = 0; i < depth; i++)
        value = labels[i].paths > value ? labels[i].paths : value;
    for (int32_t i = 0; i < depth; i++)
        edge_to(&labels[i], value, pc);
    return (int64_t)value;
}

/* What follows is reached by branches only. */
EXPORT("leave") void leave(int32_t fid) {
    at(fid);
    paths = 0;
}

/* Paths end here. */
EXPORT("stop") void stop(int32_t fid, int32_t pc) {
    at(fid);
    new_edge(new_node(pc), 0, here, pc, false);
}

/* ---- decoding ---- */

static char text[TEXT_SIZE];
static int32_t text_len;

static void put_number(int32_t n) {
    char digits[10];
    int32_t k = 0;
    do
        digits[k++] = (char)('0' + n % 10);
    while (n /= 10);
    while (k)
        text[text_len++] = digits[--k];
}

/* The first node of functions from this one on. */
static int32_t first_node(int32_t fid) {
    int32_t low = 0, high = (int32_t)nodes.len;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (node(middle)->fid < fid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The node at which paths end: the last one there, or at a loop the first. */
static int32_t find(int32_t fid, int32_t pc, bool is_loop) {
    int32_t found = NONE, end = first_node(fid + 1);
    for (int32_t i = first_node(fid); i < end && !(is_loop && found != NONE); i++)
        if (node(i)->pc == pc)
            found = i;
    if (found == NONE)
        __builtin_trap();
    return found;
}

/* Makes the text of the path with this number that ends here: the first and last instructions of
 * the code that it executes, by their pc. Returns its length. */
EXPORT("decode") int32_t decode(int32_t fid, int32_t pc, int32_t is_loop, int64_t number) {
    static struct { int32_t first, last; } segments[MAX_SEGMENTS];
    int32_t n = 0, last = NONE;
    uint64_t rest = (uint64_t)number;
    for (int32_t i = find(fid, pc, is_loop); i != NONE;) {
        const Edge *all = (const Edge *)edges.at, *e = 0;
        for (int32_t k = node(i)->edges; k != NONE; k = all[k].next)
            if (all[k].value <= rest && (!e || all[k].value > e->value))
                e = &all[k];
        if (!e)
            __builtin_trap();
        rest -= e->value;
        if ((e->jumps || e->from == NONE) && last != NONE && n < MAX_SEGMENTS) {
            segments[n].first = node(i)->pc;
            segments[n++].last = last;
        }
        if (e->jumps || last == NONE)
            last = e->pc;
        i = e->from;
    }
    text_len = 0;
    while (n-- > 0 && text_len < TEXT_SIZE - 32) {
        put_number(segments[n].first);
        text[text_len++] = '-';
        put_number(segments[n].last);
        if (n)
            text[text_len++] = ' ';
    }
    return text_len;
}

EXPORT("text") int32_t text_address(void) {
    return (int32_t)text;
}

/* Ends by a trap: the ways of exceptions are not known. */
EXPORT("refuse") void refuse(void) {
    __builtin_trap();
}
