/*
 * monitor/attach/freeze.c - makes instances part of a program in their current state.
 *
 * Objects are matched by identity, not by name: an import of one instance is bound to an object of
 * the store, and the instance that defines the object has it copied.
 */
#include "monitor/attach/freeze.h"

#include "edit/merge.h"
#include "wasm/emit.h"

#include <assert.h>

/* ---- whose it is ---- */

/* The binding of an instance's slot: a pointer to an object of the store, or NULL. */
static const void *object(const EvalInstance *i, WasmSpace space, uint32_t index) {
    switch (space) {
    case WASM_SPACE_FUNC: return eval_func(i, index);
    case WASM_SPACE_TABLE: return eval_table(i, index);
    case WASM_SPACE_MEMORY: return eval_memory(i, index);
    case WASM_SPACE_GLOBAL: return eval_global(i, index);
    case WASM_SPACE_TAG: return eval_tag(i, index);
    default: return NULL;
    }
}

static Frozen *find_instance(const Freeze *f, const EvalInstance *i) {
    for (uint32_t k = 0; k < f->modules.len; k++)
        if (f->modules.at[k]->instance == i)
            return f->modules.at[k];
    return NULL;
}

/* The module that defines an object and its index there; NULL if it is a host's. */
static Frozen *find_owner(const Freeze *f, WasmSpace space, const void *what, uint32_t *index) {
    if (space == WASM_SPACE_FUNC)
        return find_instance(f, eval_func_instance((const EvalFunc *)what, index));
    for (uint32_t k = 0; k < f->modules.len; k++) {
        const WasmModule *m = f->modules.at[k]->merge.from;
        for (*index = m->input_imports[space]; *index < m->input_count[space]; (*index)++)
            if (object(f->modules.at[k]->instance, space, *index) == what)
                return f->modules.at[k];
    }
    return NULL;
}

/* A module that imports a host function, and its index there; NULL if none does. */
static Frozen *find_importer(const Freeze *f, const EvalFunc *func, uint32_t *index) {
    for (uint32_t k = 0; k < f->modules.len; k++)
        for (*index = 0; *index < f->modules.at[k]->merge.from->input_imports[WASM_SPACE_FUNC];
             (*index)++)
            if (eval_func(f->modules.at[k]->instance, *index) == func)
                return f->modules.at[k];
    return NULL;
}

static Frozen *freeze_find_func(const Freeze *f, const EvalFunc *func, uint32_t *index) {
    Frozen *owner = find_owner(f, WASM_SPACE_FUNC, func, index);
    return owner ? owner : find_importer(f, func, index);
}

/* ---- merging ---- */

static bool null_fits(WasmType t) {
    return (t & WASM_NULL_BIT) != 0;
}

/* WasmMerge.keep: true for objects whose state the interpreter does not hold. */
static bool freeze_keep(void *ctx, WasmSpace space, uint32_t index) {
    const Frozen *x = ctx;
    switch (space) {
    case WASM_SPACE_GLOBAL: return eval_global_opaque(eval_global(x->instance, index));
    case WASM_SPACE_DATA: return eval_data_size(x->instance, index) != 0;
    case WASM_SPACE_TABLE:
        return !null_fits(x->merge.from->tables.at[index].type) &&
               eval_table_size(eval_table(x->instance, index)) == 0;
    default: return false;
    }
}

/* The handle in the program of anything of an instance, which is copied if need be: UINT32_MAX with
 * a message if that cannot be done. */
static uint32_t freeze_handle_of(Freeze *f, Frozen *module, WasmSpace space, uint32_t index);

static int64_t freeze_resolve(void *ctx, const WasmImport *im) {
    Frozen *x = ctx;
    uint32_t index;
    const void *what = object(x->instance, im->space, im->handle);
    Frozen *owner = find_owner(x->freeze, im->space, what, &index);
    if (owner) {
        uint32_t handle = freeze_handle_of(x->freeze, owner, im->space, index);
        return handle == UINT32_MAX ? -2 : (int64_t)handle;
    }
    if (im->space != WASM_SPACE_FUNC || !x->freeze->resolve)
        return -1;
    /* a library may re-export an import from the host */
    const Frozen *importer = find_importer(x->freeze, what, &index);
    const WasmModule *from = importer->merge.from;
    WasmImport original = from->imports.at[from->funcs.at[index].import];
    original.handle = im->handle;
    return x->freeze->resolve(x->freeze->ctx, x, &original);
}

Frozen *freeze_add(Freeze *f, EvalInstance *instance, Str prefix) {
    Frozen *x = mem_zalloc(sizeof *x);
    x->freeze = f;
    x->instance = instance;
    x->merge = (WasmMerge){.to = f->to,
                           .from = eval_module(instance),
                           .whole = true,
                           .resolve = freeze_resolve,
                           .keep = freeze_keep,
                           .ctx = x,
                           .prefix = prefix};
    vec_push(&f->modules, x);
    return x;
}

/* Memories and tables are as large as they are now, so that imports of them fit. */
static void set_sizes(Frozen *x) {
    const WasmModule *m = x->merge.from;
    for (uint32_t k = m->input_imports[WASM_SPACE_MEMORY]; k < m->memories.len; k++) {
        uint32_t h = x->merge.handles[WASM_SPACE_MEMORY][k];
        if (h != UINT32_MAX)
            x->merge.to->memories.at[h].limits.min =
                eval_memory_size(eval_memory(x->instance, k)) >> m->memories.at[k].limits.page_log2;
    }
    for (uint32_t k = m->input_imports[WASM_SPACE_TABLE]; k < m->tables.len; k++) {
        uint32_t h = x->merge.handles[WASM_SPACE_TABLE][k];
        if (h != UINT32_MAX)
            x->merge.to->tables.at[h].limits.min = eval_table_size(eval_table(x->instance, k));
    }
}

bool freeze_merge(Freeze *f, Frozen *x, const uint32_t *roots, uint32_t nroots) {
    assert(x->freeze == f);
    if (!wasm_merge(&x->merge, roots, nroots, f->diags))
        return false;
    set_sizes(x);
    return true;
}

static uint32_t freeze_handle_of(Freeze *f, Frozen *x, WasmSpace space, uint32_t index) {
    uint32_t *const *handles = x->merge.handles;
    if (handles[space] && handles[space][index] != UINT32_MAX)
        return handles[space][index];
    if (!wasm_merge_one(&x->merge, space, index, f->diags))
        return UINT32_MAX;
    set_sizes(x);
    return handles[space][index];
}

/* ---- functions that are reached by way of tables and globals ---- */

/* The state of one freeze_finish: visited and found functions. By module. */
typedef struct Reach {
    uint8_t *seen[WASM_SPACE_COUNT]; /* by index: 1 = its references have been followed */
    Vec(uint32_t) roots;             /* functions that are to be copied */
} Reach;

typedef struct Finish {
    Freeze *f;
    Reach *reach;
    bool ok;
} Finish;

/* Requests the copy of a function that a reference in module `x` names. */
static void want(Finish *c, const Frozen *x, EvalValue v) {
    uint32_t index;
    if (!v.bits)
        return;
    Frozen *owner = freeze_find_func(c->f, eval_as_func(v), &index);
    for (uint32_t k = 0; owner && k < c->f->modules.len; k++) {
        Reach *r = &c->reach[k];
        if (c->f->modules.at[k] != owner || r->seen[WASM_SPACE_FUNC][index])
            continue;
        r->seen[WASM_SPACE_FUNC][index] = 1;
        if (!owner->merge.handles[WASM_SPACE_FUNC] ||
            owner->merge.handles[WASM_SPACE_FUNC][index] == UINT32_MAX)
            vec_push(&r->roots, index);
    }
    if (!owner) {
        diag(c->f->diags, DIAG_CANNOT_MERGE, (Span){x->merge.from->file, 0, 0},
             "a table or global holds a reference to something outside of the monitor");
        c->ok = false;
    }
}

/* References in copied objects. */
static void freeze_follow(Finish *c, uint32_t module, WasmSpace space, uint32_t index) {
    const Frozen *x = c->f->modules.at[module];
    uint8_t *seen = c->reach[module].seen[space];
    EvalValue v = {0};
    if (x->merge.handles[space][index] == UINT32_MAX || seen[index])
        return;
    seen[index] = 1;
    if (space == WASM_SPACE_GLOBAL) {
        const EvalGlobal *g = eval_global(x->instance, index);
        if (WASM_IS_REF(x->merge.from->globals.at[index].type) && !eval_global_opaque(g))
            want(c, x, eval_global_get(g));
    } else if (space == WASM_SPACE_TABLE) {
        for (uint64_t k = 0; eval_table_get(eval_table(x->instance, index), k, &v); k++)
            want(c, x, v);
    } else {
        for (uint32_t k = 0; k < eval_elem_size(x->instance, index); k++)
            want(c, x, eval_elem_get(x->instance, index, k));
    }
}

static void freeze_follow_all(Finish *c, uint32_t module) {
    static const uint8_t spaces[] = {WASM_SPACE_GLOBAL, WASM_SPACE_TABLE, WASM_SPACE_ELEM};
    const WasmMerge *g = &c->f->modules.at[module]->merge;
    if (!g->handles[WASM_SPACE_FUNC])
        return; /* nothing of it is needed */
    for (uint32_t s = 0; s < sizeof spaces; s++)
        for (uint32_t k = g->from->input_imports[spaces[s]]; k < g->from->input_count[spaces[s]];
             k++)
            freeze_follow(c, module, spaces[s], k);
}

/* Until nothing more is reached. */
static bool reach_all(Finish *c) {
    const Freeze *f = c->f;
    for (bool more = true; more && c->ok;) {
        more = false;
        for (uint32_t k = 0; k < f->modules.len; k++)
            freeze_follow_all(c, k);
        for (uint32_t k = 0; c->ok && k < f->modules.len; k++) {
            Reach *r = &c->reach[k];
            more |= r->roots.len > 0;
            if (r->roots.len)
                c->ok = freeze_merge(c->f, f->modules.at[k], r->roots.at, r->roots.len);
            r->roots.len = 0;
        }
    }
    return c->ok;
}

/* ---- contents ---- */

/* The program's function that a reference is. */
static uint32_t func_handle(const Freeze *f, EvalValue v) {
    uint32_t index = 0;
    const Frozen *owner = freeze_find_func(f, eval_as_func(v), &index);
    return owner->merge.handles[WASM_SPACE_FUNC][index];
}

/* A reference as a constant expression; `type` is the program's. */
static void put_reference(const Freeze *f, Buf *out, WasmType type, EvalValue v) {
    if (v.bits)
        emit(out, "ref.func %u end", func_handle(f, v));
    else
        wasm_put_init(out, type, 0);
}

static void freeze_put_global(const Freeze *f, WasmGlobal *to, const EvalGlobal *from) {
    EvalValue v = eval_global_get(from);
    if (eval_global_opaque(from))
        return;
    Buf *code = &wasm_global_extra(f->to, to)->code;
    if (WASM_IS_REF(to->type)) {
        put_reference(f, code, to->type, v);
        return;
    }
    wasm_put_init(code, to->type, v.bits);
}

/* Items [from, end) of a table as an active segment. */
static void freeze_put_items(const Freeze *f, uint32_t table, const EvalTable *t, uint64_t from,
                             uint64_t end, bool exprs) {
    const WasmTable *to = &f->to->tables.at[table];
    WasmElem e = {.mode = WASM_ACTIVE,
                  .type = exprs ? to->type : WASM_REF(0, WASM_HEAP(WASM_HEAP_FUNC)),
                  .table = table,
                  .count = (uint32_t)(end - from),
                  .exprs = exprs};
    uint32_t *funcs = exprs ? NULL : mem_alloc(e.count * sizeof *funcs);
    EvalValue v = {0};
    for (uint64_t k = from; k < end; k++) {
        eval_table_get(t, k, &v);
        if (exprs)
            put_reference(f, &e.content, to->type, v);
        else
            funcs[k - from] = func_handle(f, v);
    }
    wasm_put_init(&e.code, wasm_table_address(f->to, table), from);
    e.added_funcs = funcs;
    wasm_add_elem(f->to, e);
    free(funcs);
}

/* More runs of items than this are one segment with nulls in it. */
enum { MAX_RUNS = 1000 };

static void freeze_put_table(const Freeze *f, uint32_t table, const EvalTable *t) {
    WasmTable *to = &f->to->tables.at[table];
    uint64_t size = eval_table_size(t), first = size, last = 0, runs = 0;
    EvalValue v = {0}, before = {0};
    for (uint64_t k = 0; k < size; k++, before = v) {
        eval_table_get(t, k, &v);
        if (!v.bits)
            continue;
        runs += !before.bits;
        first = k < first ? k : first;
        last = k;
    }
    if (runs && !null_fits(to->type)) {
        eval_table_get(t, 0, &v);
        put_reference(f, &to->code, to->type, v);
    }
    if (runs > MAX_RUNS) {
        freeze_put_items(f, table, t, first, last + 1, true);
        return;
    }
    for (uint64_t k = first, end; runs && k <= last; k = end + 1) {
        for (end = k; eval_table_get(t, end, &v) && v.bits; end++) {
        }
        if (end > k)
            freeze_put_items(f, table, t, k, end, to->type != WASM_FUNCREF);
    }
}

/* A passive segment; the merge has added it empty. */
static void freeze_put_elem(const Freeze *f, uint32_t elem, const EvalInstance *i, uint32_t index) {
    WasmElem *to = &f->to->elems.at[elem];
    uint32_t n = eval_elem_size(i, index);
    uint32_t *funcs = to->exprs ? NULL : arena_array(&f->to->arena, uint32_t, n);
    for (uint32_t k = 0; k < n; k++) {
        if (to->exprs)
            put_reference(f, &to->content, to->type, eval_elem_get(i, index, k));
        else
            funcs[k] = func_handle(f, eval_elem_get(i, index, k));
    }
    to->count = n;
    to->added_funcs = funcs;
}

/* ---- memories ---- */

/*
 * Runs of bytes that are not zero become segments. A gap of zeros ends a run if it is longer than
 * the cost of a segment; if that makes too many segments, the longest gaps do. Engines allow
 * 100,000 segments in a module.
 */
enum { MIN_GAP_LOG2 = 4, MAX_SEGMENTS = 95000 };

/* The gaps that end runs. */
typedef struct Gaps {
    uint32_t log2;  /* those of at least 2 << log2 bytes */
    uint64_t equal; /* and so many of at least 1 << log2 */
} Gaps;

/* The first byte that is not zero at or after `at`, or `end`. */
static uint64_t skip_zeros(const uint8_t *data, uint64_t at, uint64_t end) {
    for (uint64_t word; at + sizeof word <= end; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        if (word)
            break;
    }
    while (at < end && !data[at])
        at++;
    return at;
}

/* The first zero after `at`, or `end`. */
static uint64_t skip_run(const uint8_t *data, uint64_t at, uint64_t end) {
    const uint8_t *zero = memchr(data + at, 0, end - at);
    return zero ? (uint64_t)(zero - data) : end;
}

static uint32_t freeze_log2_of(uint64_t n) {
    uint32_t k = 0;
    while (n >>= 1)
        k++;
    return k;
}

static Gaps choose_gaps(const uint8_t *data, uint64_t size, uint64_t segments) {
    uint64_t counts[64] = {0};
    for (uint64_t at = skip_zeros(data, 0, size); at < size;) {
        uint64_t run = skip_run(data, at, size);
        at = skip_zeros(data, run, size);
        if (at < size)
            counts[freeze_log2_of(at - run)]++;
    }
    Gaps g = {.log2 = 63, .equal = 0};
    for (; g.log2 > MIN_GAP_LOG2 && counts[g.log2] <= segments; g.log2--)
        segments -= counts[g.log2];
    g.equal = segments;
    return g;
}

static bool ends_run(Gaps *g, uint64_t gap) {
    if (gap >> g->log2 > 1)
        return true;
    if (gap >> g->log2 == 0 || g->equal == 0)
        return false;
    g->equal--;
    return true;
}

static void freeze_put_memory(const Freeze *f, uint32_t memory, EvalMemory *from) {
    const uint8_t *data = eval_memory_data(from);
    uint64_t size = eval_memory_size(from);
    Gaps gaps = choose_gaps(data, size,
                            f->to->datas.len < MAX_SEGMENTS ? MAX_SEGMENTS - f->to->datas.len : 0);
    for (uint64_t at = skip_zeros(data, 0, size), next; at < size; at = next) {
        uint64_t end = skip_run(data, at, size);
        for (next = skip_zeros(data, end, size); next < size && !ends_run(&gaps, next - end);
             next = skip_zeros(data, end, size))
            end = skip_run(data, next, size);
        Buf content = {0};
        buf_bytes(&content, data + at, end - at);
        wasm_add_data_active(f->to, memory, at, &content, (Str){0});
    }
}

/* ---- all ---- */

static void put_contents(const Freeze *f, const Frozen *x) {
    const WasmModule *m = x->merge.from;
    uint32_t *const *h = x->merge.handles;
    if (!h[WASM_SPACE_FUNC])
        return;
    for (uint32_t k = m->input_imports[WASM_SPACE_GLOBAL]; k < m->globals.len; k++)
        if (h[WASM_SPACE_GLOBAL][k] != UINT32_MAX)
            freeze_put_global(f, &f->to->globals.at[h[WASM_SPACE_GLOBAL][k]],
                              eval_global(x->instance, k));
    for (uint32_t k = m->input_imports[WASM_SPACE_TABLE]; k < m->tables.len; k++)
        if (h[WASM_SPACE_TABLE][k] != UINT32_MAX)
            freeze_put_table(f, h[WASM_SPACE_TABLE][k], eval_table(x->instance, k));
    for (uint32_t k = 0; k < m->elems.len; k++)
        if (h[WASM_SPACE_ELEM][k] != UINT32_MAX)
            freeze_put_elem(f, h[WASM_SPACE_ELEM][k], x->instance, k);
    for (uint32_t k = m->input_imports[WASM_SPACE_MEMORY]; k < m->memories.len; k++)
        if (h[WASM_SPACE_MEMORY][k] != UINT32_MAX)
            freeze_put_memory(f, h[WASM_SPACE_MEMORY][k], eval_memory(x->instance, k));
}

bool freeze_finish(Freeze *f) {
    Finish c = {.f = f, .reach = mem_zalloc((f->modules.len + 1) * sizeof(Reach)), .ok = true};
    for (uint32_t k = 0; k < f->modules.len; k++)
        for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
            c.reach[k].seen[space] =
                mem_zalloc(f->modules.at[k]->merge.from->input_count[space] + 1);
    bool ok = reach_all(&c);
    for (uint32_t k = 0; k < f->modules.len; k++) {
        if (ok)
            put_contents(f, f->modules.at[k]);
        for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
            free(c.reach[k].seen[space]);
        vec_free(&c.reach[k].roots);
    }
    free(c.reach);
    return ok;
}

void freeze_free(Freeze *f) {
    for (uint32_t k = 0; k < f->modules.len; k++) {
        wasm_merge_free(&f->modules.at[k]->merge);
        free(f->modules.at[k]);
    }
    vec_free(&f->modules);
}
