/*
 * heap/heap.c - tables of a heap profile.
 *
 * The innermost function of a context is the allocator, or a function that is a part of one: its
 * allocations are its caller's.
 */
#include "heap/heap.h"

#include "base/escape.h"
#include "base/json.h"
#include "report/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, VALUES };
static const char *const value_names[VALUES] = {"alloc_objects", "alloc_space", "inuse_objects",
                                                "inuse_space"};

typedef struct Numbers {
    int64_t of[VALUES];
} Numbers;

/* The numbers of a function, or of a context. */
typedef struct Line {
    uint32_t at; /* of Profile.funcs or nodes */
    Numbers n;
    int64_t key; /* the sort key of rows */
} Line;

typedef Vec(Line) Lines;

typedef struct Heap {
    const Profile *p;
    const HeapView *view;
    uint32_t index[VALUES]; /* where the values are among those of the profile */
    uint32_t by;            /* a value */
    Buf *out;
} Heap;

/* ---- reading ---- */

static uint64_t positive(int64_t n) {
    return n < 0 ? 0 : (uint64_t)n;
}

static bool heap_numbers_of(const Heap *h, const ProfileNode *node, Numbers *n) {
    bool any = false;
    for (uint32_t v = 0; v < VALUES && node->first != PROFILE_NONE; v++) {
        n->of[v] = h->p->numbers.at[node->first + h->index[v]];
        any |= n->of[v] != 0;
    }
    return any;
}

static void heap_add_numbers(Numbers *sum, const Numbers *n) {
    for (uint32_t v = 0; v < VALUES; v++)
        sum->of[v] = profile_add_ns(sum->of[v], n->of[v]);
}

static const ReportRow *row_of(const Report *r, const char *name) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (str_is(r->rows.at[i].var->name, name))
            return &r->rows.at[i];
    return NULL;
}

/* A number that the script reports; 0 if it does not. */
static uint64_t heap_scalar_of(const Report *r, const char *name) {
    const ReportRow *row = row_of(r, name);
    return row && row->class == REPORT_CLASS_UNSIGNED ? row->number.u : 0;
}

bool heap_has_objects(const Profile *p, const Report *report) {
    uint32_t objects;
    bool any = report && heap_scalar_of(report, "unknown_frees") > 0;
    for (uint32_t i = 0; i < p->nodes.len && profile_find_value(p, "alloc_objects", &objects); i++)
        any |= p->nodes.at[i].first != PROFILE_NONE &&
               p->numbers.at[p->nodes.at[i].first + objects] != 0;
    return any;
}

/* ---- lines ---- */

/* The largest first; of equal ones in their order. */
static int heap_compare_lines(const void *x, const void *y) {
    const Line *a = x, *b = y;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static void heap_sort(Lines *lines, uint32_t by) {
    for (uint32_t i = 0; i < lines->len; i++)
        lines->at[i].key = lines->at[i].n.of[by];
    if (lines->len)
        qsort(lines->at, lines->len, sizeof *lines->at, heap_compare_lines);
}

/* How many lines are shown. */
static uint32_t heap_shown(const Heap *h, const Lines *lines) {
    return h->view->top && h->view->top < lines->len ? h->view->top : lines->len;
}

static void put_more(const Heap *h, uint32_t hidden, const char *what) {
    if (hidden)
        buf_printf(h->out, "and %u more %s%s\n", hidden, what, hidden == 1 ? "" : "s");
}

/* ---- text ---- */

static void heap_put_count(Buf *out, uint64_t n, const char *what) {
    buf_grouped(out, n);
    buf_printf(out, " %s%s", what, n == 1 ? "" : "s");
}

static void heap_put_name(const Heap *h, uint32_t func) {
    escape_shown(h->out, h->p->funcs.at[func].name);
}

static void heap_put_cell(Buf *out, int64_t n, uint32_t width) {
    Buf text = {0};
    if (n < 0)
        buf_u8(&text, '-');
    buf_grouped(&text, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
    buf_printf(out, "%*s", (int)width, buf_cstr(&text));
    buf_free(&text);
}

/* "f (a.rs:12)": a function that calls, and where. */
static void put_caller(const Heap *h, uint32_t func, uint32_t pc) {
    const ProfileFunc *f = &h->p->funcs.at[func];
    const LocationFrame *frames;
    heap_put_name(h, func);
    if (!h->view->locator || pc == PROFILE_NONE || !pc || f->id >= h->view->m->funcs.len ||
        !locator_at(h->view->locator, h->view->m, f->id, pc, &frames) || !frames[0].file.len)
        return;
    const char *slash = memrchr(frames[0].file.ptr, '/', frames[0].file.len);
    Str base = frames[0].file;
    if (slash)
        base = (Str){slash + 1, base.len - (uint32_t)(slash + 1 - base.ptr)};
    buf_str(h->out, STR(" ("));
    escape_shown(h->out, base);
    buf_printf(h->out, ":%u)", frames[0].line);
}

/* Whether the engine manages objects of the program: structs and arrays. */
static bool has_managed_objects(const WasmModule *m) {
    for (uint32_t i = 0; m && i < m->types.len; i++)
        if (m->types.at[i].kind != WASM_TYPE_FUNC)
            return true;
    return false;
}

static void put_unseen(const Heap *h) {
    bool nameless = h->view->m && !wasm_names_funcs(h->view->m);
    buf_str(h->out,
            has_managed_objects(h->view->m)
                ? STR("no allocation was seen: the engine manages the objects of this program "
                      "(struct.new, array.new); scripts can count these instructions\n")
            : nameless
                ? STR("no allocation was seen: the program has no names of functions, by which "
                      "allocators are known; link it with names, such as by clang -g, or give "
                      "them with --names\n")
                : STR("no allocation was seen: allocators are known by their names, in "
                      "programs with 32-bit memory; --alloc adds others\n"));
}

static void heap_put_totals(const Heap *h, const Numbers *all) {
    const Report *r = h->view->report;
    Buf *out = h->out;
    uint64_t sampled = heap_scalar_of(r, "sampled"), peak = heap_scalar_of(r, "peak");
    uint64_t unknown = heap_scalar_of(r, "unknown_frees");
    buf_str(out, STR("Heap profile: "));
    heap_put_count(out, positive(all->of[ALLOC_SPACE]), "byte");
    buf_str(out, STR(" in "));
    heap_put_count(out, positive(all->of[ALLOC_OBJECTS]), "object");
    buf_str(out, STR(" allocated, "));
    heap_put_count(out, positive(all->of[INUSE_SPACE]), "byte");
    buf_str(out, STR(" in "));
    heap_put_count(out, positive(all->of[INUSE_OBJECTS]), "object");
    buf_str(out, STR(" in use at the end\n"));
    if (!all->of[ALLOC_OBJECTS])
        put_unseen(h);
    if (unknown) {
        buf_str(out, STR("up to "));
        heap_put_count(out, unknown, "object");
        buf_str(out, STR(" fewer are in use: threads or modules have freed objects of others\n"));
    }
    if (peak) {
        buf_str(out, STR("at most "));
        heap_put_count(out, peak, "byte");
        buf_str(out, STR(" in "));
        heap_put_count(out, heap_scalar_of(r, "peak_objects"), "object");
        buf_printf(out, " in use, first after %.3f ms\n",
                   (double)heap_scalar_of(r, "peak_ns") / 1e6);
    }
    if (sampled)
        buf_printf(out, "estimated from about one sample in %" PRIu64 " bytes\n", sampled);
}

/* ---- tables ---- */

/* The allocations of each function. */
static void heap_put_functions(const Heap *h) {
    const Profile *p = h->p;
    Lines lines = {0};
    Numbers *sums = mem_zalloc((p->funcs.len + 1u) * sizeof *sums), all = {0};
    bool *seen = mem_zalloc(p->funcs.len + 1u);
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode *node = &p->nodes.at[i];
        Numbers n = {0};
        if (!heap_numbers_of(h, node, &n))
            continue;
        uint32_t func = node->parent == PROFILE_NONE ? node->func : p->nodes.at[node->parent].func;
        heap_add_numbers(&sums[func], &n);
        heap_add_numbers(&all, &n);
        seen[func] = true;
    }
    for (uint32_t f = 0; f < p->funcs.len; f++)
        if (seen[f])
            vec_push(&lines, ((Line){.at = f, .n = sums[f]}));
    heap_sort(&lines, h->by);
    heap_put_totals(h, &all);
    buf_printf(h->out, "\n%14s %14s %14s %14s  %s\n", value_names[ALLOC_SPACE],
               value_names[ALLOC_OBJECTS], value_names[INUSE_SPACE], value_names[INUSE_OBJECTS],
               "allocated by");
    for (uint32_t i = 0; i < heap_shown(h, &lines); i++) {
        static const uint8_t order[VALUES] = {ALLOC_SPACE, ALLOC_OBJECTS, INUSE_SPACE,
                                              INUSE_OBJECTS};
        for (uint32_t v = 0; v < VALUES; v++)
            heap_put_cell(h->out, lines.at[i].n.of[order[v]], v ? 15 : 14);
        buf_str(h->out, STR("  "));
        heap_put_name(h, lines.at[i].at);
        buf_u8(h->out, '\n');
    }
    put_more(h, lines.len - heap_shown(h, &lines), "function");
    vec_free(&lines);
    free(seen);
    free(sums);
}

/* The functions that called each other up to the allocation, the innermost first. */
static void heap_put_stack(const Heap *h, const ProfileNode *node) {
    enum { FRAMES = 8 };
    const Profile *p = h->p;
    uint32_t pc = node->pc, depth = 0;
    for (uint32_t at = node->parent; at != PROFILE_NONE; at = p->nodes.at[at].parent) {
        if (depth++ == FRAMES) {
            buf_str(h->out, STR(" < ..."));
            return;
        }
        buf_str(h->out, depth == 1 ? STR("  ") : STR(" < "));
        put_caller(h, p->nodes.at[at].func, pc);
        pc = p->nodes.at[at].pc;
    }
}

/* The contexts of allocations that are still in use. */
static void put_in_use(const Heap *h) {
    Lines lines = {0};
    for (uint32_t i = 0; i < h->p->nodes.len; i++) {
        Line line = {.at = i};
        if (heap_numbers_of(h, &h->p->nodes.at[i], &line.n) && line.n.of[INUSE_OBJECTS] > 0)
            vec_push(&lines, line);
    }
    heap_sort(&lines, INUSE_SPACE);
    if (lines.len)
        buf_printf(h->out, "\n%14s %14s  %s\n", value_names[INUSE_SPACE],
                   value_names[INUSE_OBJECTS], "in use at the end, allocated by");
    for (uint32_t i = 0; i < heap_shown(h, &lines); i++) {
        heap_put_cell(h->out, lines.at[i].n.of[INUSE_SPACE], 14);
        heap_put_cell(h->out, lines.at[i].n.of[INUSE_OBJECTS], 15);
        heap_put_stack(h, &h->p->nodes.at[lines.at[i].at]);
        buf_u8(h->out, '\n');
    }
    put_more(h, lines.len - heap_shown(h, &lines), "context");
    vec_free(&lines);
}

/* [{"key":64,"value":3},...]: the next entry of the map. */
static bool next_size(Json *j, bool first, uint64_t *bound, uint64_t *objects) {
    return (first ? json_char(j, '[') : json_char(j, ',')) && json_char(j, '{') &&
           json_member(j, "key") && json_integer(j, bound) && json_char(j, ',') &&
           json_member(j, "value") && json_integer(j, objects) && json_char(j, '}');
}

static void put_sizes(const Heap *h) {
    const ReportRow *row = row_of(h->view->report, "sizes");
    if (!row)
        return;
    Arena arena = {0};
    Json j = {&arena, row->value.ptr, row->value.ptr + row->value.len};
    uint64_t bound, objects;
    for (bool first = true; next_size(&j, first, &bound, &objects); first = false) {
        if (first)
            buf_printf(h->out, "\n%14s %14s\n", "bytes up to", "objects");
        heap_put_cell(h->out, (int64_t)bound, 14);
        heap_put_cell(h->out, (int64_t)objects, 15);
        buf_u8(h->out, '\n');
    }
    arena_free(&arena);
}

bool view_heap(const Profile *p, const HeapView *view, Buf *out) {
    assert(profile_check(p));
    Heap h = {.p = p, .view = view, .by = ALLOC_SPACE, .out = out};
    for (uint32_t v = 0; v < VALUES; v++) {
        if (!profile_find_value(p, value_names[v], &h.index[v]))
            return false;
        if (view->value && strcmp(view->value, value_names[v]) == 0)
            h.by = v;
    }
    heap_put_functions(&h);
    put_in_use(&h);
    put_sizes(&h);
    return true;
}
