/*
 * storage/fill.c - the contents of the holes of templates in rewritten programs.
 */
#include "storage/fill.h"

#include <assert.h>
#include <stdlib.h>

#include "../../stdlib/runtime/values.h" /* values_kept_page */
#include "inject/splice_hole.h"
#include "wasm/emit.h"

/* ---- words: the slots of unshared variables, then the numbers of their tallies ---- */

static const uint64_t *words(void *ctx, const Site *site, const Match *match, uint32_t *n) {
    Fill *f = ctx;
    const Variant *v = match->shape->variant;
    f->slots.len = 0;
    vec_reserve(&f->slots, 1);
    *n = 0;
    if (f->store->coalesce && coalesce_takes(f->store->coalesce, site, match))
        return f->slots.at;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        uint64_t slot = 0;
        if (var->storage == STORAGE_UNSHARED)
            slot = store_slot(f->store, &f->cursor, &f->plan->vars.at[v->vars[var->index]]);
        vec_push(&f->slots, slot); /* vars are in the order of Var.index */
    }
    for (uint32_t i = 0; f->plan->tallies && i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        bool has = var->storage == STORAGE_UNSHARED && tallies_has(f->plan, v->vars[var->index]);
        vec_push(&f->slots, has ? f->cursor.tally++ : 0);
    }
    *n = f->slots.len;
    return f->slots.at;
}

/* ---- variables ---- */

/* Returns the local of the first leaf; the locals of the other leaves follow. */
static uint32_t frame_local(Fill *f, Splicer *s, uint32_t var) {
    uint32_t id = f->store->frame_of[var];
    if (f->frame.local[id] == UINT32_MAX) {
        const Type *type = f->plan->vars.at[id].decl->type;
        f->frame.local[id] = s->pool.first + s->pool.types.len; /* kept ones are new */
        for (uint32_t leaf = 0; leaf < type_leaves(type); leaf++)
            pool_keep(&s->pool, type_wasm(type_leaf(type, leaf)));
        vec_push(&f->frame.used, id);
    }
    return f->frame.local[id];
}

void fill_each_frame_local(const Fill *f, bool backwards,
                           void (*each)(void *ctx, uint32_t local, WasmType type), void *ctx) {
    uint32_t n = f->frame.used.len;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t id = f->frame.used.at[backwards ? n - 1 - k : k];
        const Type *type = f->plan->vars.at[id].decl->type;
        uint32_t leaves = type_leaves(type);
        for (uint32_t i = 0; i < leaves; i++) {
            uint32_t leaf = backwards ? leaves - 1 - i : i;
            each(ctx, f->frame.local[id] + leaf, type_wasm(type_leaf(type, leaf)));
        }
    }
}

static void fill_begin(void *ctx) {
    Fill *f = ctx;
    for (uint32_t i = 0; i < f->frame.used.len; i++)
        f->frame.local[f->frame.used.at[i]] = UINT32_MAX;
    f->frame.used.len = 0;
}

static void put_variable(Fill *f, Splicer *s, const Hole *h) {
    assert(h->n / HOLE_LEAVES < f->plan->vars.len);
    uint32_t id = h->n / HOLE_LEAVES, leaf = h->n % HOLE_LEAVES;
    const PlanVar *var = &f->plan->vars.at[id];
    switch (var->decl->storage) {
    case STORAGE_FRAME: hole_put_local(s, h->access, frame_local(f, s, id) + leaf); break;
    case STORAGE_UNSHARED:
        hole_put_global(s, h->access, s->site.words[var->decl->index] + leaf);
        break;
    default:
        hole_put_global(s, h->access,
                        wasm_final(f->m, WASM_SPACE_GLOBAL, f->store->global[id] + leaf));
        break;
    }
}

static uint64_t variable_address(const Fill *f, const Splicer *s, uint32_t id) {
    assert(id < f->plan->vars.len);
    const Var *var = f->plan->vars.at[id].decl;
    return var->storage == STORAGE_UNSHARED ? s->site.words[var->index] : f->store->address[id];
}

static void put_tally_address(const Fill *f, Splicer *s, uint32_t id, const Variant *v) {
    const Tallies *t = &f->store->tallies;
    const Var *var = f->plan->vars.at[id].decl;
    uint64_t n = var->storage == STORAGE_UNSHARED
                     ? t->once + s->site.words[v->probe->nvars + var->index]
                     : t->of_var[id];
    assert(n < t->list.len && t->list.at[n].keys); /* for all keys in the range that was found */
    put_i32(s->out, (int32_t)tallies_address(t, (uint32_t)n));
}

/* ---- floats of loops ---- */

static void put_keep(const Fill *f, Splicer *s, uint32_t fn) {
    bool keeps = f->floats.n && f->floats.fn == fn;
    for (uint32_t i = 0; keeps && i < f->floats.n; i++)
        hole_put_local(s, HOLE_GET, f->floats.locals[i]);
    hole_put_call(s, f->fns[keeps ? f->floats.keeper : fn]);
}

static void put_kept(const Fill *f, Splicer *s, uint32_t fn) {
    bool keeps = f->floats.n && f->floats.fn == fn;
    for (uint32_t i = f->floats.n; keeps && i > 0; i--)
        hole_put_local(s, HOLE_SET, f->floats.locals[i - 1]);
}

/* ---- elements of maps ---- */

/* The cell for a key of the variant at the site. */
static const MapCell *find_element(Fill *f, const Variant *v, uint32_t key, const Site *site) {
    LastElement *l = &f->last;
    if (l->variant != v || l->key != key || l->func != site->func || l->pc != site->pc ||
        l->instr != site->instr)
        *l = (LastElement){v,        site->instr,
                           key,      site->func,
                           site->pc, cells_find(&f->store->cells, v, key, site, &f->key)};
    return l->cell;
}

/* Reads or writes a leaf of an element, or its mark. Unwritten ones are zero. */
static void put_element(Fill *f, Splicer *s, const Hole *h, const Variant *v, const Site *site) {
    assert(h->n / HOLE_LEAVES < v->keys.list.len);
    uint32_t key = h->n / HOLE_LEAVES, leaf = h->n % HOLE_LEAVES;
    const CellMap *map = &f->plan->cells.maps.at[v->keys.list.at[key].map];
    const Type *value = f->plan->vars.at[map->var].decl->type->value;
    const MapCell *cell = find_element(f, v, key, site);
    bool set = h->kind == HOLE_ELEMENT_SET, mark = leaf == HOLE_MARK;
    if (cell && (!mark || cell->marked)) {
        uint32_t global = cell->first_global + (mark ? map->leaves : leaf);
        hole_put_global(s, set ? HOLE_SET : HOLE_GET, wasm_final(f->m, WASM_SPACE_GLOBAL, global));
    } else if (set) {
        wasm_put_op(s->out, WASM_OP_DROP);
    } else {
        wasm_put_const(s->out, mark ? WASM_I32 : type_wasm(type_leaf(value, leaf)), 0);
    }
}

static void put_element_address(Fill *f, Splicer *s, uint32_t key, const Variant *v,
                                const Site *site) {
    assert(key < v->keys.list.len);
    const MapCell *cell = find_element(f, v, key, site);
    put_i32(s->out, cell ? cells_address(&f->store->cells, cell) : 0); /* there are zeros */
}

/* ---- calls, memories and tables ---- */

static void put_library_call(Fill *f, Splicer *s, uint32_t n) {
    assert(n < f->plan->library_fns.len);
    const LibraryFn *fn = &f->plan->library_fns.at[n];
    hole_put_call(s, fn->handle);
    if (fn->result)
        hole_take_leaves(s, fn->result);
}

/* Repeats memory.init, memory.copy or memory.fill, with the address on the stack in another
 * memory. */
static void put_dup(const Fill *f, Splicer *s, const Expr *to, const Site *site) {
    assert(site->instr && s->site.args.local.len > 1);
    const WasmInstr *i = site->instr;
    uint32_t memory = memory_handle(f->memories, to, site); /* checked in pass 1 */
    uint32_t index = wasm_final(f->m, WASM_SPACE_MEMORY, memory);
    WasmType address = wasm_memory_address(f->m, memory);
    emit(s->out, "%s local.get %u", emit_resized(WASM_I32, address), s->site.args.local.at[1]);
    /* the length is 64 bits wide if all addresses are */
    bool wide = address == WASM_I64 && i->op != WASM_OP_MEMORY_INIT;
    if (i->op == WASM_OP_MEMORY_COPY)
        wide &= wasm_memory_address(f->m, i->b) == WASM_I64;
    hole_put_operand_as(s, 0, wide);
    switch (i->op) {
    case WASM_OP_MEMORY_FILL: emit(s->out, "memory.fill %u", index); break;
    case WASM_OP_MEMORY_COPY:
        emit(s->out, "memory.copy %u %u", index, wasm_final(f->m, WASM_SPACE_MEMORY, i->b));
        break;
    default: emit(s->out, "memory.init %u %u", wasm_final(f->m, WASM_SPACE_DATA, i->a), index);
    }
}

/* Replaces the index of a table's entry by that of the function in it. */
static void put_resolve(const Fill *f, const WasmInstr *i, Buf *out) {
    emit_resize(out, WASM_I32, wasm_table_address(f->m, accessed_table(i)));
    shadow_put_lookup(f->shadow, i, out);
}

/* ---- pages of maps ---- */

bool fill_can_keep_pages(const Store *store) {
    return store->maps.elements <= VALUES_KEPT_PAGES;
}

/* The address where the code of an element keeps the page that it used last; each has its own. */
static uint32_t kept_page(Fill *f, const Site *site, uint32_t element) {
    f->key.len = 0;
    buf_u32le(&f->key, element);
    buf_u32le(&f->key, site->func);
    buf_u32le(&f->key, site->pc);
    bool added;
    uint64_t n = *map_put(&f->kept, buf_view(&f->key), f->kept.len, &added);
    assert(n < VALUES_KEPT_PAGES);
    return values_kept_page((uint32_t)n);
}

/* ---- the back end ---- */

static void fill_fill(void *ctx, Splicer *s, const Hole *h, const Variant *v, const Site *site) {
    Fill *f = ctx;
    switch ((HoleKind)h->kind) {
    case HOLE_VAR: put_variable(f, s, h); break;
    case HOLE_VAR_ADDR: put_i32(s->out, (int32_t)variable_address(f, s, h->n)); break;
    case HOLE_ELEMENT:
    case HOLE_ELEMENT_SET: put_element(f, s, h, v, site); break;
    case HOLE_ELEMENT_ADDR: put_element_address(f, s, h->n, v, site); break;
    case HOLE_HELPER:
        assert(h->n < HELPER_COUNT);
        hole_put_call(s, f->helpers[h->n]);
        break;
    case HOLE_FN:
        assert(h->n < f->plan->fns.len);
        hole_put_call(s, f->fns[h->n]);
        hole_take_leaves(s, f->plan->fns.at[h->n].fn->result);
        break;
    case HOLE_KEEP: put_keep(f, s, h->n); break;
    case HOLE_KEPT: put_kept(f, s, h->n); break;
    case HOLE_LIBRARY: put_library_call(f, s, h->n); break;
    case HOLE_SEGMENT: shadow_put_segment(f->shadow, site->instr, s->out); break;
    case HOLE_ENTRY_FID:
        hole_put_local(s, HOLE_GET, s->site.args.local.at[0]);
        shadow_put_lookup(f->shadow, site->instr, s->out);
        break;
    case HOLE_RESOLVE: put_resolve(f, site->instr, s->out); break;
    case HOLE_DEPTH: hole_put_call(s, br_table_function(f->br_tables, site->instr)); break;
    case HOLE_DUP:
        assert(h->n < v->calls.dups.len);
        put_dup(f, s, v->calls.dups.at[h->n].memory, site);
        break;
    case HOLE_TEXT: store_push_text(f->store, f->m, h->n, s->out); break;
    case HOLE_TALLY: put_tally_address(f, s, h->n, v); break;
    case HOLE_PAGE: put_i32(s->out, (int32_t)kept_page(f, site, h->n)); break;
    case HOLE_MEMORY: memory_put_call(f->memories, h->n, site, s->out); break;
    case HOLE_TAG: tags_put(&f->tags, f->m, h, v, site, s->out); break;
    case HOLE_STACK: stack_put(f->stack, f->m, (StackOp)h->n, s->out); break;
    case HOLE_THREAD:
        if (f->thread == UINT32_MAX)
            put_i32(s->out, 0);
        else
            hole_put_global(s, h->access, wasm_final(f->m, WASM_SPACE_GLOBAL, f->thread));
        break;
    case HOLE_ATOMIC: atomics_put(f->atomics, f->m, f->plan, h->n, s->out); break;
    case HOLE_FLUSH:
        if (f->due != UINT32_MAX)
            hole_put_call(s, f->due);
        break;
    default: assert(!"a hole of rewriting");
    }
}

static void push_text(void *ctx, Str text, Buf *out) {
    Fill *f = ctx;
    store_push_str(f->store, f->m, text, out);
}

bool fill_put_memory(const Fill *f, const WasmInstr *i, Buf *out) {
    uint32_t func = i->op == WASM_OP_MEMORY_GROW   ? f->grow
                    : i->op == WASM_OP_MEMORY_SIZE ? f->size
                                                   : UINT32_MAX;
    if (func == UINT32_MAX)
        return false;
    emit_calls(out, f->m, &func, 1);
    return true;
}

static bool instead(void *ctx, const Site *site, Buf *out) {
    Fill *f = ctx;
    return fill_put_memory(f, site->instr, out) || shadow_put_instr(f->shadow, site, out);
}

static const SpliceBackend backend = {words, fill_fill, push_text, fill_begin, instead};

void fill_init(Fill *f, Splicer *s, const WasmModule *m, const Plan *plan, const Store *store) {
    *f = (Fill){.m = m,
                .plan = plan,
                .store = store,
                .due = UINT32_MAX,
                .thread = UINT32_MAX,
                .grow = UINT32_MAX,
                .size = UINT32_MAX};
    f->frame.local = mem_alloc(sizeof *f->frame.local * (plan->vars.len + 1u));
    memset(f->frame.local, 0xff, sizeof *f->frame.local * (plan->vars.len + 1u));
    splicer_init(s, m, plan, &backend, f);
}

void fill_free(Fill *f) {
    tags_free(&f->tags);
    free(f->frame.local);
    vec_free(&f->frame.used);
    vec_free(&f->cursor.next);
    vec_free(&f->slots);
    buf_free(&f->key);
    map_free(&f->kept);
}

void fill_restart(Fill *f) {
    f->cursor.next.len = 0;
    f->cursor.tally = 0;
}
