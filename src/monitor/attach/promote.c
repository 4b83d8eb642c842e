/*
 * monitor/attach/promote.c - register promotion: counters of monitors in globals.
 *
 * A monitor keeps its counters in memory. If all that its probes do with memory, at all sites, is
 * to change numbers at addresses that are known now, then these cells live in globals while the
 * program runs, which engines access faster than additional memories. They are written back to
 * memory before wasm:exit.
 */
#include "monitor/attach/attach_code.h"

#include <assert.h>
#include <inttypes.h>

#include "wasm/emit.h"

enum {
    MAX_CELLS = 250000, /* a memory starts faster than very many globals */
    DUMP_CELLS = 1000,  /* in one function */
};

/* A cell of a monitor's memory. */
typedef struct Cell {
    uint32_t memory; /* the monitor's */
    WasmType type;
    uint64_t at;
} Cell;
typedef Vec(Cell) Cells;

typedef Vec(WasmInstr) Instrs;

typedef struct Finder {
    Bind *b;
    BindState *s;
    BindRule *r;
    const BindAddress *in_bounds;
    Instrs instrs;
} Finder;

/* ---- code ---- */

static uint32_t promote_size_of(WasmType t) {
    return t == WASM_I64 || t == WASM_F64 ? 8 : 4;
}

/* The type of the number that the instruction loads or stores, if it does so as a whole; else
 * WASM_NONE. */
static WasmType accessed(const WasmInstr *i, WasmCategory category) {
    const WasmOpInfo *op = &wasm_ops[i->op];
    if (op->category != category)
        return WASM_NONE;
    WasmType t = wasm_letter_type(category == WASM_CAT_STORE ? op->operands[1] : op->results[0]);
    return wasm_access_bytes((WasmOp)i->op) == promote_size_of(t) ? t : WASM_NONE;
}

/* Other instructions of a probe that do not reveal where its cells are. */
static bool is_harmless(const WasmInstr *i) {
    switch (wasm_ops[i->op].category) {
    case WASM_CAT_ARITH:
    case WASM_CAT_COMPARE:
    case WASM_CAT_CONST:
    case WASM_CAT_CONVERT:
    case WASM_CAT_LOCAL:
    case WASM_CAT_GLOBAL: return true;
    default: break;
    }
    switch (i->op) {
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF:
    case WASM_OP_ELSE:
    case WASM_OP_END:
    case WASM_OP_BR:
    case WASM_OP_BR_IF:
    case WASM_OP_BR_TABLE:
    case WASM_OP_RETURN:
    case WASM_OP_SELECT:
    case WASM_OP_DROP:
    case WASM_OP_NOP: return true;
    default: return false;
    }
}

/* Computes from the stack, constants, locals and globals; *growth is how much the stack grows. */
static bool is_computing(const WasmInstr *i, uint32_t address_local, int32_t *growth) {
    uint8_t category = wasm_ops[i->op].category;
    *growth = (int32_t)strlen(wasm_ops[i->op].results) - (int32_t)strlen(wasm_ops[i->op].operands);
    if (i->op == WASM_OP_LOCAL_GET || i->op == WASM_OP_LOCAL_TEE) {
        *growth = i->op == WASM_OP_LOCAL_GET;
        return i->op == WASM_OP_LOCAL_GET || i->a != address_local;
    }
    return category == WASM_CAT_ARITH || category == WASM_CAT_COMPARE ||
           category == WASM_CAT_CONST || category == WASM_CAT_CONVERT ||
           i->op == WASM_OP_GLOBAL_GET;
}

/* The index of the store that completes an update beginning at `at` with address, address, load; 0
 * = no such update begins there. */
static uint32_t find_change(const Finder *x, uint32_t at) {
    const WasmInstr *i = x->instrs.at + at;
    if (at + 4 > x->instrs.len || (i->op != WASM_OP_LOCAL_GET && i->op != WASM_OP_I32_CONST) ||
        i[1].op != i->op || i[1].a != i->a || i[1].c != i->c)
        return 0;
    WasmType type = accessed(&i[2], WASM_CAT_LOAD);
    if (type == WASM_NONE ||
        !x->in_bounds->holds(x->in_bounds->ctx, i, &i[2], promote_size_of(type)))
        return 0;
    uint32_t local = i->op == WASM_OP_LOCAL_GET ? i->a : UINT32_MAX;
    int32_t height = 1, growth;
    for (uint32_t k = at + 3; k < x->instrs.len; k++) {
        const WasmInstr *next = &x->instrs.at[k];
        if (accessed(next, WASM_CAT_STORE) == type && height == 1 && next->b == i[2].b &&
            next->c == i[2].c)
            return k;
        if (!is_computing(next, local, &growth))
            return 0;
        height += growth;
        if (height < 1)
            return 0;
    }
    return 0;
}

/* A memory may be imported more than once: the first of its indices. */
static uint32_t first_index(const Finder *x, uint32_t memory) {
    const uint32_t *handles = x->s->part->monitor->merge.handles[WASM_SPACE_MEMORY];
    uint32_t first = 0;
    while (handles[first] != handles[memory])
        first++;
    return first;
}

/* Marks a change in the rule's code. */
static void promote_mark(const Finder *x, uint32_t at, uint32_t store) {
    const WasmInstr *i = x->instrs.at + at;
    BindSource *s = x->r->source;
    BindCell cell = {.monitor = x->r->monitor,
                     .memory = first_index(x, i[2].b),
                     .type = accessed(&i[2], WASM_CAT_LOAD),
                     .base = i[2].c};
    cell.word = UINT32_MAX;
    if (i->op == WASM_OP_I32_CONST)
        cell.base += (uint32_t)i->c;
    else
        cell.word = x->r->formals[i->a].word;
    uint32_t ref = x->b->cells.len;
    vec_push(&x->b->cells, cell);
    s->role[i->offset] = s->role[i[1].offset] = (BindRole){CELL_ADDRESS, ref};
    s->role[i[2].offset] = (BindRole){CELL_LOAD, ref};
    s->role[x->instrs.at[store].offset] = (BindRole){CELL_STORE, ref};
}

static bool scan(Finder *x) {
    BindSource *s = x->r->source;
    WasmCode code = wasm_code(s->code.data, s->code.len, 0);
    WasmInstr i;
    x->instrs.len = 0;
    while (wasm_next(&code, &i))
        vec_push(&x->instrs, i);
    s->role = arena_array(&x->b->plan.arena, BindRole, s->code.len + 1);
    s->first_cell = x->b->cells.len;
    for (uint32_t k = 0; k < x->instrs.len; k++) {
        uint32_t store = find_change(x, k);
        if (store) {
            promote_mark(x, k, store);
            k = store;
        } else if (!is_harmless(&x->instrs.at[k])) {
            return false;
        }
    }
    s->ncells = x->b->cells.len - s->first_cell;
    return true;
}

bool bind_changes(Bind *b, BindState *s, BindRule *r, const BindAddress *in_bounds) {
    if (r->source->role)
        return r->source->only_changes;
    Finder x = {.b = b, .s = s, .r = r, .in_bounds = in_bounds};
    r->source->only_changes = scan(&x);
    vec_free(&x.instrs);
    return r->source->only_changes;
}

/* ---- cells ---- */

static uint64_t cell_at(const BindCell *c, const uint64_t *words) {
    return c->base + (c->word == UINT32_MAX ? 0 : (uint32_t)words[c->word]);
}

static int promote_by_place(const void *a, const void *b) {
    const Cell *x = a, *y = b;
    if (x->memory != y->memory)
        return x->memory < y->memory ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* All cells once, in order; false if some overlap or there are too many. */
static bool promote_collect(const Bind *b, const BindState *s, Cells *cells) {
    for (uint32_t i = 0; i < s->hits.len; i++) {
        const BindHit *h = &s->hits.at[i];
        const BindSource *source = b->rules.at[h->rule].source;
        for (uint32_t k = 0; bind_has_code(h) && k < source->ncells; k++) {
            const BindCell *c = &b->cells.at[source->first_cell + k];
            vec_push(cells, ((Cell){c->memory, c->type, cell_at(c, s->words.at + h->words)}));
        }
        if (cells->len > 4 * MAX_CELLS)
            return false;
    }
    if (!cells->len)
        return false;
    qsort(cells->at, cells->len, sizeof *cells->at, promote_by_place);
    uint32_t n = 1;
    for (uint32_t i = 1; i < cells->len; i++) {
        const Cell *last = &cells->at[n - 1], *c = &cells->at[i];
        if (c->memory != last->memory || c->at >= last->at + promote_size_of(last->type))
            cells->at[n++] = *c;
        else if (c->at != last->at || c->type != last->type)
            return false;
    }
    cells->len = n;
    return n <= MAX_CELLS;
}

static Str promote_key_of(const Cell *c) {
    return (Str){(const char *)c, sizeof *c};
}

static void add_global(WasmModule *m, BindState *s, const Cell *c) {
    Buf init = {0};
    uint8_t bytes[8] = {0};
    eval_memory_read(eval_memory(bind_host_monitor(s->host), c->memory), c->at, bytes,
                     promote_size_of(c->type));
    uint64_t bits = 0;
    for (uint32_t k = 0; k < 8; k++)
        bits |= (uint64_t)bytes[k] << 8 * k;
    wasm_put_init(&init, c->type, bits);
    uint32_t handle = wasm_add_global(m, c->type, true, STR(""), &init);
    map_put(&s->cells, promote_key_of(c), handle, NULL);
}

/* Stores cells[from..end) into memory. */
static void add_dump(WasmModule *m, BindState *s, const Cell *cells, uint32_t n) {
    Buf code = {0};
    for (uint32_t i = 0; i < n; i++) {
        const Cell *c = &cells[i];
        emit(&code, "i32.const %" PRIu64 " global.get %u %s.store %u 0", c->at,
             (uint32_t)*map_get(&s->cells, promote_key_of(c)), emit_type(c->type),
             s->part->monitor->merge.handles[WASM_SPACE_MEMORY][c->memory]);
    }
    vec_push(&s->dumps, emit_function(m, "whammc.dump", "%p", &code));
    buf_free(&code);
}

/* ---- */

void bind_cells(Bind *b, BindState *s, const BindAddress *in_bounds, BindRule **current) {
    Cells cells = {0};
    bool all = true;
    for (uint32_t i = 0; i < s->nrules && all; i++) {
        BindRule *r = *current = &b->rules.at[s->first_rule + i];
        all = !r->coded || (r->source && bind_changes(b, s, r, in_bounds));
    }
    if (all && promote_collect(b, s, &cells)) {
        s->in_globals = true;
        for (uint32_t i = 0; i < cells.len; i++)
            add_global(&b->p.m, s, &cells.at[i]);
        for (uint32_t i = 0; i < cells.len; i += DUMP_CELLS)
            add_dump(&b->p.m, s, cells.at + i,
                     cells.len - i < DUMP_CELLS ? cells.len - i : DUMP_CELLS);
    }
    vec_free(&cells);
}

BindPlace bind_place(const Bind *b, const uint64_t *words, uint32_t n) {
    assert(n < b->cells.len);
    const BindCell *c = &b->cells.at[n];
    const uint32_t *handles = b->states[c->monitor].part->monitor->merge.handles[WASM_SPACE_MEMORY];
    return (BindPlace){WASM_SPACE_MEMORY, promote_size_of(c->type) == 8 ? 3 : 2, handles[c->memory],
                       (uint32_t)cell_at(c, words)};
}

uint32_t bind_cell(const Bind *b, const uint64_t *words, uint32_t n) {
    assert(n < b->cells.len);
    const BindCell *c = &b->cells.at[n];
    const BindState *s = &b->states[c->monitor];
    Cell cell = {c->memory, c->type, cell_at(c, words)};
    return (uint32_t)*map_get(&s->cells, promote_key_of(&cell));
}
