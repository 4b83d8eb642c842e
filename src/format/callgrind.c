/*
 * format/callgrind.c - callgrind's format, for KCachegrind and callgrind_annotate: costs of
 * instructions and lines, and calls with their counts and inclusive costs. And cachegrind's, for
 * cg_annotate: costs of lines.
 *
 * Each value is an event. Costs become records, which are sorted and added up when they are
 * written.
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

enum { NOBODY = UINT32_MAX, CALLS = UINT32_MAX };

/* A function of the output. */
typedef struct Fn {
    Str name;
    uint32_t file; /* index into files */
} Fn;

/* A part of a cost: a value at a line, or the inclusive value of a call from there. */
typedef struct Record {
    uint32_t fn, file, callee; /* callee: NOBODY = the function's own cost */
    uint32_t address, line;
    uint32_t value; /* CALLS: the number of calls */
    int64_t n;
} Record;

typedef struct Writer {
    const Stacks *s;
    bool inlined;
    bool addresses;   /* there are some */
    uint32_t nvalues; /* exclusive values only */
    uint32_t *order;  /* by event: its value */
    uint32_t *events; /* by value: its event; of an inclusive value, the exclusive one's */
    uint32_t calls;   /* the value with the number of calls; NOBODY = none */
    uint32_t ndeep;   /* nodes of stacks; counters at sites follow */
    uint32_t ntotals; /* events of these */
    int64_t *totals;  /* by such node and event: the inclusive cost */
    Vec(Str) files;
    Vec(Fn) fns;
    Map file_index, fn_index, names;
    uint32_t *fn_of; /* by function of the stacks */
    Vec(Record) records;
    Arena arena;
} Writer;

/* ---- names ---- */

static Str callgrind_shown(Writer *w, Str s) {
    Buf text = {0};
    escape_shown(&text, s);
    Str clean = {arena_strndup(&w->arena, text.data ? (const char *)text.data : "", text.len),
                 (uint32_t)text.len};
    buf_free(&text);
    return clean;
}

static uint32_t callgrind_file_of(Writer *w, Str path) {
    bool added;
    Str name = path.len ? callgrind_shown(w, path) : STR("???");
    uint32_t n = (uint32_t)*map_put(&w->file_index, name, w->files.len, &added);
    if (added)
        vec_push(&w->files, name);
    return n;
}

/* Readers drop blanks before a name, and take functions with the same name in a file for one: these
 * are distinguished by their index. */
static Str callgrind_name_of(Writer *w, const StacksFunc *f, uint32_t file) {
    bool added = false;
    uint32_t index = f->fid != PROFILE_NOBODY ? f->fid : w->fns.len;
    Str name = callgrind_shown(w, f->name);
    for (; name.len && name.ptr[0] == ' '; name.len--)
        name.ptr++;
    if (!name.len)
        name = str_of(arena_printf(&w->arena, "#%u", index));
    if (f->inlined)
        name = str_of(arena_printf(&w->arena, "%.*s (inlined)", STR_ARG(name)));
    for (;;) {
        Str key = str_of(arena_printf(&w->arena, "%u %.*s", file, STR_ARG(name)));
        map_put(&w->names, key, 0, &added);
        if (added)
            return name;
        name = str_of(arena_printf(&w->arena, "%.*s [%u]", STR_ARG(name), index));
    }
}

/* A function of the program is one function, whatever files its lines are in. */
static uint32_t callgrind_add_fn(Writer *w, const StacksFunc *f) {
    bool added;
    uint32_t file = callgrind_file_of(w, f->file);
    Str key = f->fid != PROFILE_NOBODY
                  ? str_of(arena_printf(&w->arena, "%u %u", f->module, f->fid))
                  : str_of(arena_printf(&w->arena, "%u:%.*s", file, STR_ARG(f->name)));
    uint32_t n = (uint32_t)*map_put(&w->fn_index, key, w->fns.len, &added);
    if (added)
        vec_push(&w->fns, ((Fn){callgrind_name_of(w, f, file), file}));
    return n;
}

/* Those of other modules are these modules' own. */
static void find_fns(Writer *w) {
    Map own = {0};
    w->fn_of = mem_alloc((w->s->funcs.len + 1u) * sizeof *w->fn_of);
    for (uint32_t away = 0; away < 2; away++)
        for (uint32_t i = 0; i < w->s->funcs.len; i++) {
            const StacksFunc *f = &w->s->funcs.at[i];
            if (f->away != away || (f->inlined && !w->inlined))
                continue;
            const uint64_t *known = away ? map_get(&own, f->name) : NULL;
            w->fn_of[i] = known ? (uint32_t)*known : callgrind_add_fn(w, f);
            if (!away && f->fid != PROFILE_NOBODY)
                map_put(&own, f->name, w->fn_of[i], NULL);
        }
    map_free(&own);
}

/* ---- events ---- */

static void callgrind_find_events(Writer *w) {
    const Stacks *s = w->s;
    w->events = mem_alloc((s->values.len + 1u) * sizeof *w->events);
    w->order = mem_alloc((s->values.len + 1u) * sizeof *w->order);
    w->calls = NOBODY;
    if (s->values.len)
        w->order[w->nvalues++] = s->shown;
    for (uint32_t i = 0; i < s->values.len; i++) {
        const StacksValue *v = &s->values.at[i];
        if (str_is(v->name, "calls") && str_is(v->unit, "count"))
            w->calls = i;
        w->events[i] = i == s->shown ? 0 : v->inclusive ? w->events[i - 1] : w->nvalues;
        if (i != s->shown && !v->inclusive)
            w->order[w->nvalues++] = i;
    }
}

/* Converts a value of a node to the cost of an event. */
typedef struct Cost {
    uint32_t event;
    int64_t n;
    bool whole; /* inclusive */
} Cost;

static Cost cost_of(const Writer *w, uint32_t number) {
    const StacksNumber *from = &w->s->numbers.at[number];
    return (Cost){w->events[from->value], from->n < 0 ? 0 : from->n,
                  w->s->values.at[from->value].inclusive};
}

/* The nodes of stacks with several functions, and the events that these have. */
static void find_deep(Writer *w) {
    const Stacks *s = w->s;
    for (uint32_t i = 0; i < s->nodes.len; i++)
        if (s->nodes.at[i].parent != STACKS_NONE)
            w->ndeep = i + 1;
    for (uint32_t i = 0; i < w->ndeep; i++) {
        const StacksNode *n = &s->nodes.at[i];
        for (uint32_t k = n->first; k < n->first + n->count; k++)
            if (cost_of(w, k).event >= w->ntotals)
                w->ntotals = cost_of(w, k).event + 1;
    }
}

/* Computes the inclusive costs of nodes; arcs have inclusive values of their own. */
static void add_up(Writer *w) {
    const Stacks *s = w->s;
    find_deep(w);
    w->totals = mem_zalloc(((size_t)w->ndeep * w->ntotals + 1) * sizeof *w->totals);
    for (uint32_t i = w->ndeep; i-- > 0;) {
        const StacksNode *n = &s->nodes.at[i];
        int64_t *mine = &w->totals[(size_t)i * w->ntotals];
        for (uint32_t k = n->first; k < n->first + n->count; k++) {
            Cost c = cost_of(w, k);
            mine[c.event] = profile_add_ns(c.whole ? 0 : mine[c.event], c.n);
        }
        for (uint32_t k = 0; k < w->ntotals && n->parent != STACKS_NONE; k++) {
            int64_t *to = &w->totals[(size_t)n->parent * w->ntotals + k];
            *to = profile_add_ns(*to, mine[k]);
        }
    }
}

/* ---- records ---- */

static int64_t callgrind_calls_of(const Writer *w, const StacksNode *n) {
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        if (w->s->numbers.at[i].value == w->calls)
            return cost_of(w, i).n;
    return 0;
}

/* A record for a line of a location; its function is the one in the module, unless inlined ones are
 * shown. */
static Record record_at(Writer *w, const StacksPlace *p, uint32_t line) {
    const StacksLine *l = &w->s->lines.at[p->first + line];
    const StacksLine *own = w->inlined ? l : &w->s->lines.at[p->first + p->count - 1];
    return (Record){.fn = w->fn_of[own->func],
                    .file = callgrind_file_of(w, w->s->funcs.at[l->func].file),
                    .callee = NOBODY,
                    .address = p->address,
                    .line = l->line};
}

static void callgrind_put_call(Writer *w, Record r, uint32_t node, uint32_t callee, int64_t calls) {
    r.callee = callee;
    r.value = CALLS;
    r.n = calls;
    vec_push(&w->records, r);
    for (r.value = 0; r.value < w->ntotals && node < w->ndeep; r.value++) {
        r.n = w->totals[(size_t)node * w->ntotals + r.value];
        if (r.n)
            vec_push(&w->records, r);
    }
    const StacksNode *n = &w->s->nodes.at[node];
    for (uint32_t i = n->first; i < n->first + n->count && node >= w->ndeep; i++) {
        r.value = cost_of(w, i).event;
        r.n = cost_of(w, i).n;
        vec_push(&w->records, r);
    }
}

/* The calls of a node: of the function at its location and, if they are shown, of those inlined
 * there. */
static void put_calls(Writer *w, uint32_t node) {
    const Stacks *s = w->s;
    const StacksNode *n = &s->nodes.at[node];
    const StacksPlace *p = &s->places.at[n->place];
    int64_t calls = callgrind_calls_of(w, n);
    uint32_t entered = s->lines.at[p->first + p->count - 1].func;
    if (n->parent != STACKS_NONE)
        callgrind_put_call(w, record_at(w, &s->places.at[s->nodes.at[n->parent].place], 0), node,
                           w->fn_of[entered], calls);
    for (uint32_t i = p->count - 1; w->inlined && i > 0; i--)
        callgrind_put_call(w, record_at(w, p, i), node,
                           w->fn_of[s->lines.at[p->first + i - 1].func], 0);
}

static void put_costs(Writer *w, const StacksNode *n) {
    const Stacks *s = w->s;
    Record r = record_at(w, &s->places.at[n->place], 0);
    for (uint32_t i = n->first; i < n->first + n->count; i++) {
        Cost c = cost_of(w, i);
        r.value = c.event;
        r.n = c.n;
        if (r.n && !c.whole)
            vec_push(&w->records, r);
    }
}

static int callgrind_compare(const void *a, const void *b) {
    const Record *x = a, *y = b;
    const uint32_t keys[][2] = {
        {x->fn, y->fn},           {x->callee != NOBODY, y->callee != NOBODY},
        {x->file, y->file},       {x->callee, y->callee},
        {x->address, y->address}, {x->line, y->line},
        {~x->value, ~y->value}}; /* the number of calls first */
    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool same_line(const Record *a, const Record *b) {
    return a->fn == b->fn && a->file == b->file && a->callee == b->callee &&
           a->address == b->address && a->line == b->line;
}

/* ---- text ---- */

/* An event's name must be a single word. */
static void callgrind_put_event(Str name, Buf *out) {
    for (uint32_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        buf_u8(out, word ? (uint8_t)c : '_');
    }
}

static void callgrind_put_names(const Writer *w, Buf *out) {
    buf_str(out, STR("\nevents:"));
    for (uint32_t i = 0; i < w->nvalues; i++) {
        buf_u8(out, ' ');
        callgrind_put_event(w->s->values.at[w->order[i]].name, out);
    }
}

static void callgrind_put_head(Writer *w, Buf *out) {
    const Stacks *s = w->s;
    buf_str(out, STR("# callgrind format\nversion: 1\ncreator: whammc\ncmd: "));
    buf_str(out, callgrind_shown(w, s->program));
    for (uint32_t i = 0; i < s->comments.len; i++) {
        buf_str(out, STR("\ndesc: "));
        buf_str(out, callgrind_shown(w, s->comments.at[i]));
    }
    buf_str(out, w->addresses ? STR("\npositions: instr line") : STR("\npositions: line"));
    for (uint32_t i = 0; i < w->nvalues; i++) {
        const StacksValue *v = &s->values.at[w->order[i]];
        buf_str(out, STR("\nevent: "));
        callgrind_put_event(v->name, out);
        buf_str(out, STR(" : "));
        buf_str(out, callgrind_shown(w, v->name));
        buf_printf(out, " (%.*s)", STR_ARG(callgrind_shown(w, v->unit)));
    }
    callgrind_put_names(w, out);
}

/* The sums of exclusive costs. */
static void put_sums(const Writer *w, const char *key, Buf *out) {
    int64_t *sums = mem_zalloc((w->nvalues + 1u) * sizeof *sums);
    for (uint32_t i = 0; i < w->records.len; i++) {
        const Record *r = &w->records.at[i];
        if (r->callee == NOBODY)
            sums[r->value] = profile_add_ns(sums[r->value], r->n);
    }
    buf_printf(out, "\n%s:", key);
    for (uint32_t i = 0; i < w->nvalues; i++)
        buf_printf(out, " %" PRId64, sums[i]);
    buf_u8(out, '\n');
    free(sums);
}

/* "fn=(3) name", or "fn=(3)" if that was written before. */
static void callgrind_put_name(const char *key, uint32_t n, Str name, bool *known, Buf *out) {
    buf_printf(out, "%s=(%u)", key, n + 1);
    if (!*known) {
        buf_u8(out, ' ');
        buf_str(out, name);
    }
    *known = true;
    buf_u8(out, '\n');
}

typedef struct Known {
    bool *files, *fns;
} Known;

/* The file and function of the following lines, if they have changed. */
static void put_where(const Writer *w, const Record *r, const Record *before, Known *k, Buf *out) {
    if (!before || before->fn != r->fn) {
        const Fn *fn = &w->fns.at[r->fn];
        buf_u8(out, '\n');
        callgrind_put_name("fl", fn->file, w->files.at[fn->file], &k->files[fn->file], out);
        callgrind_put_name("fn", r->fn, fn->name, &k->fns[r->fn], out);
        if (r->file != fn->file)
            callgrind_put_name("fi", r->file, w->files.at[r->file], &k->files[r->file], out);
    } else if (before->file != r->file) {
        callgrind_put_name(r->file == w->fns.at[r->fn].file ? "fe" : "fi", r->file,
                           w->files.at[r->file], &k->files[r->file], out);
    }
}

static void put_position(const Writer *w, uint32_t address, uint32_t line, Buf *out) {
    if (w->addresses)
        buf_printf(out, "0x%x ", address);
    buf_printf(out, "%u", line);
}

/* The records of a line, which end before `end`: a line of costs, after the call's. Zeros at its
 * end are left out, unless `k` is NULL, for cachegrind. */
static void callgrind_put_line(const Writer *w, const Record *r, const Record *end, Known *k,
                               Buf *out) {
    if (r->callee != NOBODY) {
        const Fn *callee = &w->fns.at[r->callee];
        uint64_t calls = 0;
        callgrind_put_name("cfi", callee->file, w->files.at[callee->file], &k->files[callee->file],
                           out);
        callgrind_put_name("cfn", r->callee, callee->name, &k->fns[r->callee], out);
        for (; r < end && r->value == CALLS; r++)
            calls = capped_add(calls, (uint64_t)r->n);
        buf_printf(out, "calls=%" PRIu64 " ", calls);
        put_position(w, 0, 0, out);
        buf_u8(out, '\n');
        r--; /* there is always one record, which has the position */
    }
    put_position(w, r->address, r->line, out);
    int64_t *costs = mem_zalloc((w->nvalues + 1u) * sizeof *costs);
    uint32_t n = k ? 0 : w->nvalues;
    for (; r < end; r++)
        if (r->value != CALLS) {
            costs[r->value] = profile_add_ns(costs[r->value], r->n);
            n = r->value + 1 > n ? r->value + 1 : n;
        }
    for (uint32_t i = 0; i < n || i == 0; i++)
        buf_printf(out, " %" PRId64, costs[i]);
    buf_u8(out, '\n');
    free(costs);
}

static void callgrind_put_lines(const Writer *w, Buf *out) {
    Known known = {mem_zalloc(w->files.len + 1u), mem_zalloc(w->fns.len + 1u)};
    for (uint32_t i = 0, end; i < w->records.len; i = end) {
        const Record *r = &w->records.at[i];
        for (end = i + 1; end < w->records.len && same_line(r, &w->records.at[end]);)
            end++;
        put_where(w, r, i ? r - 1 : NULL, &known, out);
        callgrind_put_line(w, r, w->records.at + end, &known, out);
    }
    free(known.files);
    free(known.fns);
}

static Writer callgrind_begin(const Stacks *s) {
    assert(stacks_check(s));
    Writer w = {.s = s, .inlined = s->inlined, .addresses = stacks_have_addresses(s)};
    find_fns(&w);
    callgrind_find_events(&w);
    return w;
}

static void callgrind_end(Writer *w) {
    free(w->fn_of);
    free(w->events);
    free(w->order);
    free(w->totals);
    vec_free(&w->files);
    vec_free(&w->fns);
    vec_free(&w->records);
    map_free(&w->file_index);
    map_free(&w->fn_index);
    map_free(&w->names);
    arena_free(&w->arena);
}

void format_callgrind(const Stacks *s, Buf *out) {
    Writer w = callgrind_begin(s);
    add_up(&w);
    for (uint32_t i = 0; i < s->nodes.len; i++) {
        put_costs(&w, &s->nodes.at[i]);
        put_calls(&w, i);
    }
    if (w.records.len)
        qsort(w.records.at, w.records.len, sizeof *w.records.at, callgrind_compare);
    callgrind_put_head(&w, out);
    put_sums(&w, "summary", out);
    buf_str(out, STR("\nob=(1) "));
    buf_str(out, callgrind_shown(&w, s->program));
    buf_u8(out, '\n');
    callgrind_put_lines(&w, out);
    put_sums(&w, "totals", out);
    callgrind_end(&w);
}

/* ---- cachegrind ---- */

/* Puts the events of cachegrind into its order; others follow. */
static void cachegrind_order_events(Writer *w) {
    static const char *const usual[] = {"Ir",   "I1mr", "ILmr", "Dr",  "D1mr",
                                        "DLmr", "Dw",   "D1mw", "DLmw"};
    const uint32_t n = w->nvalues;
    uint32_t *order = mem_alloc((n + 1u) * sizeof *order),
             *event = mem_alloc((n + 1u) * sizeof *event);
    uint32_t done = 0;
    for (uint32_t k = 0; k <= sizeof usual / sizeof *usual; k++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t rank = 0;
            while (rank < sizeof usual / sizeof *usual &&
                   !str_is(w->s->values.at[w->order[i]].name, usual[rank]))
                rank++;
            if (rank == k) {
                event[i] = done;
                order[done++] = w->order[i];
            }
        }
    for (uint32_t i = 0; i < w->s->values.len; i++)
        w->events[i] = event[w->events[i]];
    free(event);
    free(w->order);
    w->order = order;
}

static void cachegrind_put_where(const Writer *w, const Record *r, Buf *out) {
    buf_printf(out, "fl=%.*s\nfn=%.*s\n", STR_ARG(w->files.at[r->file]),
               STR_ARG(w->fns.at[r->fn].name));
}

void format_cachegrind(const Stacks *s, Buf *out) {
    Writer w = callgrind_begin(s);
    w.addresses = false;
    cachegrind_order_events(&w);
    for (uint32_t i = 0; i < s->nodes.len; i++)
        put_costs(&w, &s->nodes.at[i]);
    for (uint32_t i = 0; i < w.records.len; i++)
        w.records.at[i].address = 0;
    if (w.records.len)
        qsort(w.records.at, w.records.len, sizeof *w.records.at, callgrind_compare);
    buf_str(out, STR("desc: counted by whammc\ncmd: "));
    buf_str(out, callgrind_shown(&w, s->program));
    callgrind_put_names(&w, out);
    buf_u8(out, '\n');
    for (uint32_t i = 0, end; i < w.records.len; i = end) {
        const Record *r = &w.records.at[i];
        for (end = i + 1; end < w.records.len && same_line(r, &w.records.at[end]);)
            end++;
        if (!i || r[-1].fn != r->fn || r[-1].file != r->file)
            cachegrind_put_where(&w, r, out);
        callgrind_put_line(&w, r, w.records.at + end, NULL, out);
    }
    put_sums(&w, "summary", out);
    callgrind_end(&w);
}
