/*
 * edit/merge_mark.c - marks the entities to copy when a module becomes part of another: all that
 * the roots can reach.
 */
#include "edit/merge_mark.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "wasm/leb.h"
#include "wasm/remap.h"

bool merge_fail(Merge *x, uint32_t offset, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char text[400];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag(x->diags, DIAG_CANNOT_MERGE, (Span){x->from->file, offset, offset}, "%s", text);
    return false;
}

/* ---- constant expressions ---- */

bool merge_keeps(const Merge *x, WasmSpace space, uint32_t index) {
    assert(index < wasm_space_count(x->from, space));
    const WasmModule *m = x->from;
    if (!x->g->keep)
        return true;
    if (space == WASM_SPACE_ELEM && m->elems.at[index].mode != WASM_PASSIVE)
        return false;
    if (space == WASM_SPACE_DATA && m->datas.at[index].mode != WASM_PASSIVE)
        return false;
    return x->g->keep(x->g->ctx, space, index);
}

bool merge_is_base(const WasmImport *im, const char *name) {
    return im->space == WASM_SPACE_GLOBAL && str_is(im->module, "env") && str_is(im->name, name);
}

static bool base_value(void *ctx, const WasmImport *im, uint64_t *v) {
    const Merge *x = ctx;
    *v = merge_is_base(im, "__memory_base") ? x->g->memory_base : 0;
    return merge_is_base(im, "__memory_base") || merge_is_base(im, "__table_base");
}

bool merge_const(const Merge *x, uint32_t offset, uint32_t len, uint64_t *v) {
    return wasm_const_value(x->from, offset, len, base_value, (void *)x, v);
}

/* ---- code ---- */

static bool merge_mark_mark(Merge *x, WasmSpace space, uint32_t index) {
    if (index >= x->from->input_count[space])
        return merge_fail(x, 0, "unknown %s %u", wasm_space_name(space), index);
    if (x->marked[space][index])
        return true;
    x->marked[space][index] = 1;
    if (space == WASM_SPACE_FUNC)
        vec_push(&x->todo, index);
    return true;
}

static bool mark_type(Merge *x, WasmType t) {
    if (WASM_IS_REF(t))
        return (t & WASM_ABSTRACT_BIT) || merge_mark_mark(x, WASM_SPACE_TYPE, WASM_HEAP_OF(t));
    return !(t & WASM_FUNC_TYPE_BIT) ||
           merge_mark_mark(x, WASM_SPACE_TYPE, t & WASM_MAX_TYPE_INDEX);
}

static bool mark_try_table(Merge *x, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        WasmCatch c = wasm_vec_catch(&at);
        if (c.kind < 2 && !merge_mark_mark(x, WASM_SPACE_TAG, c.tag))
            return false;
    }
    return mark_type(x, i->type);
}

static bool mark_resume(Merge *x, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    bool ok = merge_mark_mark(x, WASM_SPACE_TYPE, i->a);
    if (wasm_ops[i->op].imm == WASM_IMM_RESUME_TAG)
        ok = ok && merge_mark_mark(x, WASM_SPACE_TAG, i->b);
    for (uint32_t k = 0; ok && k < i->count; k++)
        ok = merge_mark_mark(x, WASM_SPACE_TAG, wasm_vec_handler(&at).tag);
    return ok;
}

static bool mark_instr(Merge *x, const WasmInstr *i) {
    WasmEntity named[2];
    const uint8_t *at = i->vec;
    bool ok = true;
    if (i->op == WASM_OP_REF_FUNC)
        vec_push(&x->declared, i->a);
    switch ((WasmImm)wasm_ops[i->op].imm) {
    case WASM_IMM_BLOCK:
    case WASM_IMM_HEAP: return mark_type(x, i->type);
    case WASM_IMM_TRY_TABLE: return mark_try_table(x, i);
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: return mark_resume(x, i);
    case WASM_IMM_CAST: return mark_type(x, i->type) && mark_type(x, i->type2);
    case WASM_IMM_SELECT:
        for (uint32_t k = 0; ok && k < i->count; k++)
            ok = mark_type(x, wasm_vec_type(&at));
        return ok;
    default:
        for (uint32_t k = 0, n = wasm_instr_names(i, named); ok && k < n; k++)
            ok = named[k].space == WASM_SPACE_LOCAL ||
                 merge_mark_mark(x, named[k].space, named[k].index);
        return ok;
    }
}

/* `base` is the file offset where the code begins. */
static bool mark_code(Merge *x, WasmCode c, uint32_t base) {
    WasmInstr i;
    while (wasm_next(&c, &i)) {
        uint8_t imm = wasm_ops[i.op].imm;
        x->to->needs_data_count |=
            imm == WASM_IMM_DATA || imm == WASM_IMM_DATA_MEMORY || imm == WASM_IMM_TYPE_DATA;
        if (!mark_instr(x, &i))
            return false;
    }
    if (c.error)
        return merge_fail(x, base + c.error_offset, "%s", c.error);
    return true;
}

static bool mark_expr(Merge *x, uint32_t offset, uint32_t len) {
    return mark_code(x, wasm_code(x->from->bytes + offset, len, 0), offset);
}

static bool mark_func(Merge *x, uint32_t func) {
    const WasmFunc *f = &x->from->funcs.at[func];
    if (!merge_mark_mark(x, WASM_SPACE_TYPE, f->type))
        return false;
    if (f->import >= 0)
        return true;
    WasmTypes locals = {0};
    const char *error = "";
    uint32_t at = wasm_func_locals(x->from, func, &locals, &error);
    bool ok = at || merge_fail(x, f->body, "%s", error);
    for (uint32_t k = 0; ok && k < locals.len; k++)
        ok = mark_type(x, locals.at[k]);
    vec_free(&locals);
    return ok && mark_code(x, wasm_code(wasm_func_body(x->from, func), f->body_size, at), f->body);
}

/* ---- types ---- */

/* Marks the types that a definition refers to; references lead to lower indices or stay in the
 * group. */
static bool mark_def(Merge *x, const WasmTypeDef *d) {
    bool ok = !d->has_super || merge_mark_mark(x, WASM_SPACE_TYPE, d->super);
    for (uint32_t k = 0; k < d->nparams; k++)
        ok = ok && mark_type(x, d->params[k]);
    for (uint32_t k = 0; k < d->nresults; k++)
        ok = ok && mark_type(x, d->results[k]);
    for (uint32_t k = 0; k < d->nfields; k++)
        ok = ok && mark_type(x, d->fields[k].type);
    return ok;
}

static bool mark_groups(Merge *x) {
    const WasmModule *m = x->from;
    uint8_t *marked = x->marked[WASM_SPACE_TYPE];
    for (uint32_t end = m->types.len, first; end > 0; end = first) {
        first = m->types.at[end - 1].group;
        bool any = false;
        for (uint32_t k = first; k < end; k++)
            any |= marked[k];
        for (uint32_t k = first; any && k < end; k++) {
            marked[k] = 1;
            if (!mark_def(x, &m->types.at[k]))
                return false;
        }
    }
    return true;
}

/* ---- the other sections ---- */

uint32_t merge_items_len(const WasmModule *m, const WasmElem *e) {
    assert(!e->added_funcs && e->exprs);
    WasmCode c = wasm_code(m->bytes, m->size, e->items);
    WasmInstr i;
    for (uint32_t n = e->count; n && wasm_next(&c, &i);)
        n -= i.op == WASM_OP_END; /* constant expressions have no blocks */
    return (uint32_t)(c.at - c.start) - e->items;
}

/* The offset of an active segment, unless it becomes a constant. */
static bool mark_offset(Merge *x, uint32_t offset, uint32_t len) {
    uint64_t v;
    return merge_const(x, offset, len, &v) || mark_expr(x, offset, len);
}

static bool mark_elem(Merge *x, uint32_t index) {
    const WasmElem *e = &x->from->elems.at[index];
    WasmCode c = wasm_code(x->from->bytes, x->from->size, e->items);
    uint32_t func;
    if (!merge_keeps(x, WASM_SPACE_ELEM, index))
        return mark_type(x, e->type);
    if (e->mode == WASM_ACTIVE && (!mark_offset(x, e->offset, e->offset_len) ||
                                   !merge_mark_mark(x, WASM_SPACE_TABLE, e->table)))
        return false;
    if (!mark_type(x, e->type))
        return false;
    if (e->exprs)
        return mark_expr(x, e->items, merge_items_len(x->from, e));
    for (uint32_t k = 0; k < e->count; k++)
        if (!wasm_get_u32(&c, &func) || !merge_mark_mark(x, WASM_SPACE_FUNC, func))
            return false;
    return true;
}

static bool mark_global(Merge *x, uint32_t index) {
    const WasmGlobal *g = &x->from->globals.at[index];
    bool init = !g->imported && merge_keeps(x, WASM_SPACE_GLOBAL, index);
    return mark_type(x, g->type) && (!init || mark_expr(x, g->init, g->init_len));
}

static bool mark_table(Merge *x, uint32_t index) {
    const WasmTable *t = &x->from->tables.at[index];
    bool init = t->init_len && merge_keeps(x, WASM_SPACE_TABLE, index);
    return mark_type(x, t->type) && (!init || mark_expr(x, t->init, t->init_len));
}

static bool mark_data(Merge *x, uint32_t index) {
    const WasmData *d = &x->from->datas.at[index];
    return d->mode != WASM_ACTIVE || !merge_keeps(x, WASM_SPACE_DATA, index) ||
           (mark_offset(x, d->offset, d->offset_len) &&
            merge_mark_mark(x, WASM_SPACE_MEMORY, d->memory));
}

/* Whether an entity is marked and was not visited yet (2 = visited). */
static bool fresh(Merge *x, WasmSpace space, uint32_t k) {
    if (x->marked[space][k] != 1)
        return false;
    x->marked[space][k] = 2;
    return true;
}

/* Marks the active segments of marked memories and tables. */
static bool mark_segments(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->elems.len; k++) {
        const WasmElem *e = &m->elems.at[k];
        if (e->mode == WASM_ACTIVE && !x->g->keep && x->marked[WASM_SPACE_TABLE][e->table] &&
            !merge_mark_mark(x, WASM_SPACE_ELEM, k))
            return false;
        if (fresh(x, WASM_SPACE_ELEM, k) && !mark_elem(x, k))
            return false;
    }
    for (uint32_t k = 0; k < m->datas.len; k++) {
        const WasmData *d = &m->datas.at[k];
        if (d->mode == WASM_ACTIVE && !x->g->keep &&
            (!x->g->whole || x->marked[WASM_SPACE_MEMORY][d->memory]) &&
            !merge_mark_mark(x, WASM_SPACE_DATA, k))
            return false;
        if (fresh(x, WASM_SPACE_DATA, k) && !mark_data(x, k))
            return false;
    }
    return true;
}

/* Marks the requirements of marked entities other than functions; visits each once. */
static bool mark_others(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->globals.len; k++)
        if (fresh(x, WASM_SPACE_GLOBAL, k) && !mark_global(x, k))
            return false;
    for (uint32_t k = 0; k < m->tables.len; k++)
        if (fresh(x, WASM_SPACE_TABLE, k) && !mark_table(x, k))
            return false;
    for (uint32_t k = 0; k < m->tags.len; k++)
        if (fresh(x, WASM_SPACE_TAG, k) && !merge_mark_mark(x, WASM_SPACE_TYPE, m->tags.at[k].type))
            return false;
    return mark_segments(x);
}

/* The memories that a host function can look into; in a program with attached modules, its first
 * exported one. */
static bool mark_host_memories(Merge *x) {
    for (uint32_t k = 0; x->g->keep && k < x->from->exports.len; k++)
        if (x->from->exports.at[k].space == WASM_SPACE_MEMORY)
            return merge_mark_mark(x, WASM_SPACE_MEMORY, x->from->exports.at[k].handle);
    const WasmExport *e = wasm_find_export(x->from, WASM_SPACE_MEMORY, STR("memory"));
    if (x->from->memories.len && !merge_mark_mark(x, WASM_SPACE_MEMORY, 0))
        return false;
    return !e || merge_mark_mark(x, WASM_SPACE_MEMORY, e->handle);
}

int64_t merge_initialize(const WasmModule *m) {
    const WasmExport *e = wasm_find_export(m, WASM_SPACE_FUNC, STR("_initialize"));
    if (!e)
        return -1;
    const WasmTypeDef *d = wasm_func_type(m, e->handle);
    return d->nparams || d->nresults ? -1 : (int64_t)e->handle;
}

/* Marks the parts of a library that are needed whatever the roots are. */
static bool mark_library(Merge *x) {
    const WasmModule *m = x->from;
    int64_t initialize = merge_initialize(m);
    if (x->g->keep)
        return true;
    for (uint32_t k = 0; x->g->keep_memories && k < m->memories.len; k++)
        if (!merge_mark_mark(x, WASM_SPACE_MEMORY, k))
            return false;
    return (m->start < 0 || merge_mark_mark(x, WASM_SPACE_FUNC, (uint32_t)m->start)) &&
           (initialize < 0 || merge_mark_mark(x, WASM_SPACE_FUNC, (uint32_t)initialize));
}

static uint64_t count_marks(const Merge *x) {
    uint64_t n = 0;
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        for (uint32_t k = 0; k < x->from->input_count[space]; k++)
            n += x->marked[space][k];
    return n;
}

/* Repeats until nothing more is marked. */
static bool mark_reached(Merge *x) {
    for (uint64_t before = UINT64_MAX; before != count_marks(x);) {
        before = count_marks(x);
        while (x->todo.len) {
            uint32_t func = x->todo.at[--x->todo.len];
            bool imported = x->from->funcs.at[func].import >= 0;
            if (!mark_func(x, func) || (imported && x->g->whole && !mark_host_memories(x)))
                return false;
        }
        if (!mark_others(x))
            return false;
    }
    return true;
}

bool merge_mark(Merge *x, WasmSpace space, const uint32_t *roots, uint32_t nroots) {
    for (uint32_t k = 0; k < nroots; k++)
        if (!merge_mark_mark(x, space, roots[k]))
            return false;
    return (!x->g->whole || mark_library(x)) && mark_reached(x) && mark_groups(x);
}
