/*
 * wasm/merge.c - making parts of one module parts of another.
 *
 * First everything that the roots reach is marked; then each marked entity gets a handle in the
 * target; then expressions and bodies are copied with their indices mapped.
 */
#include <stdarg.h>
#include <stdio.h>

#include "wasm/leb.h"
#include "wasm/module.h"

typedef struct Merge {
    WasmMerge *g;
    const WasmModule *from;
    WasmModule *to;
    Diags *diags;
    uint8_t *marked[WASM_SPACE_COUNT];
    Vec(uint32_t) todo;     /* functions marked but not scanned */
    Vec(uint32_t) declared; /* functions that code takes references of */
    WasmRemap map;
} Merge;

static bool fail(Merge *x, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(Merge *x, uint32_t offset, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char text[200];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag(x->diags, DIAG_CANNOT_MERGE, (Span){x->from->file, offset, offset}, "%s", text);
    return false;
}

/* ---- marking ---- */

static bool mark(Merge *x, WasmSpace space, uint32_t index) {
    if (index >= x->from->input_count[space])
        return fail(x, 0, "unknown %s %u", wasm_space_name(space), index);
    if (x->marked[space][index])
        return true;
    x->marked[space][index] = 1;
    if (space == WASM_SPACE_FUNC)
        vec_push(&x->todo, index);
    return true;
}

static bool mark_type(Merge *x, WasmType t) {
    if (WASM_IS_REF(t))
        return (t & WASM_ABSTRACT_BIT) || mark(x, WASM_SPACE_TYPE, WASM_HEAP_OF(t));
    return !(t & WASM_FUNC_TYPE_BIT) || mark(x, WASM_SPACE_TYPE, t & WASM_MAX_TYPE_INDEX);
}

static bool mark_try_table(Merge *x, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        WasmCatch c = wasm_vec_catch(&at);
        if (c.kind < 2 && !mark(x, WASM_SPACE_TAG, c.tag))
            return false;
    }
    return mark_type(x, i->type);
}

static bool mark_instr(Merge *x, const WasmInstr *i) {
    switch ((WasmImm)wasm_ops[i->op].imm) {
    case WASM_IMM_BLOCK:
    case WASM_IMM_HEAP: return mark_type(x, i->type);
    case WASM_IMM_TRY_TABLE: return mark_try_table(x, i);
    case WASM_IMM_FUNC:
        if (i->op == WASM_OP_REF_FUNC)
            vec_push(&x->declared, i->a);
        return mark(x, WASM_SPACE_FUNC, i->a);
    case WASM_IMM_TYPE:
    case WASM_IMM_TYPE_FIELD:
    case WASM_IMM_TYPE_U32: return mark(x, WASM_SPACE_TYPE, i->a);
    case WASM_IMM_TYPE_TABLE:
        return mark(x, WASM_SPACE_TYPE, i->a) && mark(x, WASM_SPACE_TABLE, i->b);
    case WASM_IMM_TYPE_TYPE:
        return mark(x, WASM_SPACE_TYPE, i->a) && mark(x, WASM_SPACE_TYPE, i->b);
    case WASM_IMM_TYPE_DATA:
        return mark(x, WASM_SPACE_TYPE, i->a) && mark(x, WASM_SPACE_DATA, i->b);
    case WASM_IMM_TYPE_ELEM:
        return mark(x, WASM_SPACE_TYPE, i->a) && mark(x, WASM_SPACE_ELEM, i->b);
    case WASM_IMM_GLOBAL: return mark(x, WASM_SPACE_GLOBAL, i->a);
    case WASM_IMM_TABLE: return mark(x, WASM_SPACE_TABLE, i->a);
    case WASM_IMM_TABLE_TABLE:
        return mark(x, WASM_SPACE_TABLE, i->a) && mark(x, WASM_SPACE_TABLE, i->b);
    case WASM_IMM_TAG: return mark(x, WASM_SPACE_TAG, i->a);
    case WASM_IMM_DATA:
    case WASM_IMM_DATA_MEMORY: return mark(x, WASM_SPACE_DATA, i->a);
    case WASM_IMM_ELEM: return mark(x, WASM_SPACE_ELEM, i->a);
    case WASM_IMM_ELEM_TABLE:
        return mark(x, WASM_SPACE_ELEM, i->a) && mark(x, WASM_SPACE_TABLE, i->b);
    case WASM_IMM_CAST: return mark_type(x, i->type) && mark_type(x, i->type2);
    case WASM_IMM_SELECT: {
        const uint8_t *at = i->vec;
        for (uint32_t k = 0; k < i->count; k++)
            if (!mark_type(x, wasm_vec_type(&at)))
                return false;
        return true;
    }
    default: return true;
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
        return fail(x, base + c.error_offset, "%s", c.error);
    return true;
}

static bool mark_expr(Merge *x, uint32_t offset, uint32_t len) {
    return mark_code(x, wasm_code(x->from->bytes + offset, len, 0), offset);
}

static bool mark_func(Merge *x, uint32_t func) {
    const WasmFunc *f = &x->from->funcs.at[func];
    if (!mark(x, WASM_SPACE_TYPE, f->type))
        return false;
    if (f->import >= 0)
        return true;
    WasmTypes locals = {0};
    const char *error = "";
    uint32_t at = wasm_func_locals(x->from, func, &locals, &error);
    bool ok = at || fail(x, f->body, "%s", error);
    for (uint32_t k = 0; ok && k < locals.len; k++)
        ok = mark_type(x, locals.at[k]);
    vec_free(&locals);
    return ok && mark_code(x, wasm_code(wasm_func_body(x->from, func), f->body_size, at), f->body);
}

static bool mark_elem(Merge *x, const WasmElem *e) {
    WasmCode c = {.start = x->from->bytes,
                  .at = x->from->bytes + e->items,
                  .end = x->from->bytes + x->from->size};
    uint32_t func;
    if (e->exprs)
        return fail(x, e->items, "element segments of expressions cannot be merged");
    for (uint32_t k = 0; k < e->count; k++)
        if (!wasm_get_u32(&c, &func) || !mark(x, WASM_SPACE_FUNC, func))
            return false;
    return true; /* the offset becomes a constant */
}

static bool mark_global(Merge *x, const WasmGlobal *g) {
    return mark_type(x, g->type) && (g->import >= 0 || mark_expr(x, g->init, g->init_len));
}

/* Marks what the marked entities other than functions need, each once (2 = done). */
static bool mark_others(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->globals.len; k++)
        if (x->marked[WASM_SPACE_GLOBAL][k] == 1) {
            x->marked[WASM_SPACE_GLOBAL][k] = 2;
            if (!mark_global(x, &m->globals.at[k]))
                return false;
        }
    for (uint32_t k = 0; k < m->elems.len; k++) {
        const WasmElem *e = &m->elems.at[k];
        bool used = e->mode == WASM_ACTIVE && x->marked[WASM_SPACE_TABLE][e->table];
        if (x->marked[WASM_SPACE_ELEM][k] == 2 || (!used && !x->marked[WASM_SPACE_ELEM][k]))
            continue;
        x->marked[WASM_SPACE_ELEM][k] = 2;
        if (!mark_elem(x, e) || (e->mode == WASM_ACTIVE && !mark(x, WASM_SPACE_TABLE, e->table)))
            return false;
    }
    for (uint32_t k = 0; k < m->tables.len; k++)
        if (x->marked[WASM_SPACE_TABLE][k] && !mark_type(x, m->tables.at[k].type))
            return false;
    for (uint32_t k = 0; k < m->tags.len; k++)
        if (x->marked[WASM_SPACE_TAG][k] && !mark(x, WASM_SPACE_TYPE, m->tags.at[k].type))
            return false;
    return true;
}

static uint32_t count_marks(const Merge *x) {
    uint32_t n = 0;
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        for (uint32_t k = 0; k < x->from->input_count[space]; k++)
            n += x->marked[space][k];
    return n;
}

static bool mark_all(Merge *x, const uint32_t *roots, uint32_t nroots) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < nroots; k++)
        if (!mark(x, WASM_SPACE_FUNC, roots[k]))
            return false;
    for (uint32_t k = 0; k < m->datas.len; k++) {
        const WasmData *d = &m->datas.at[k];
        if (d->mode == WASM_ACTIVE && !mark(x, WASM_SPACE_DATA, k))
            return false;
    }
    for (uint32_t before = UINT32_MAX; before != count_marks(x);) {
        before = count_marks(x);
        while (x->todo.len)
            if (!mark_func(x, x->todo.at[--x->todo.len]))
                return false;
        if (!mark_others(x))
            return false;
    }
    return true;
}

/* ---- types ---- */

/* What a definition refers to is marked; references go down or stay in the group. */
static bool mark_def(Merge *x, const WasmTypeDef *d) {
    bool ok = !d->has_super || mark(x, WASM_SPACE_TYPE, d->super);
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

static WasmType map_type(const Merge *x, WasmType t) {
    if (!WASM_IS_REF(t) || (t & WASM_ABSTRACT_BIT))
        return t;
    uint32_t index = x->g->handles[WASM_SPACE_TYPE][WASM_HEAP_OF(t)];
    return (t & (WASM_REF_BIT | WASM_NULL_BIT)) | index;
}

static const WasmType *map_types(Merge *x, const WasmType *types, uint32_t n) {
    WasmType *copy = arena_array(&x->to->arena, WasmType, n);
    for (uint32_t k = 0; k < n; k++)
        copy[k] = map_type(x, types[k]);
    return copy;
}

static void copy_def(Merge *x, const WasmTypeDef *d, uint32_t index, uint32_t group) {
    WasmTypeDef copy = *d;
    copy.super = d->has_super ? x->g->handles[WASM_SPACE_TYPE][d->super] : 0;
    copy.canonical = index;
    copy.group = group;
    copy.params = map_types(x, d->params, d->nparams);
    copy.results = map_types(x, d->results, d->nresults);
    WasmField *fields = arena_array(&x->to->arena, WasmField, d->nfields);
    for (uint32_t k = 0; k < d->nfields; k++)
        fields[k] = (WasmField){map_type(x, d->fields[k].type), d->fields[k].mutable};
    copy.fields = fields;
    vec_push(&x->to->types, copy);
}

static void copy_types(Merge *x) {
    const WasmModule *m = x->from;
    uint32_t *handles = x->g->handles[WASM_SPACE_TYPE];
    for (uint32_t first = 0, end; first < m->types.len; first = end) {
        const WasmTypeDef *d = &m->types.at[first];
        end = first + d->group_len;
        if (!x->marked[WASM_SPACE_TYPE][first])
            continue;
        if (d->group_len == 1 && d->kind == WASM_TYPE_FUNC && d->final && !d->has_super) {
            handles[first] = x->to->types.len; /* for references to itself */
            handles[first] =
                wasm_add_func_type(x->to, map_types(x, d->params, d->nparams), d->nparams,
                                   map_types(x, d->results, d->nresults), d->nresults);
            continue;
        }
        uint32_t group = x->to->types.len;
        for (uint32_t k = first; k < end; k++)
            handles[k] = group + (k - first);
        for (uint32_t k = first; k < end; k++)
            copy_def(x, &m->types.at[k], group + (k - first), group);
    }
}

/* ---- constant expressions ---- */

static bool const_global(const Merge *x, uint32_t index, uint64_t *v);

/* The value of an expression of at most a few integer operations, if it is known now. */
static bool const_value(const Merge *x, WasmCode c, bool globals, uint64_t *v) {
    uint64_t stack[8] = {0};
    uint32_t n = 0;
    WasmInstr i;
    while (wasm_next(&c, &i) && i.op != WASM_OP_END) {
        bool binary = i.op == WASM_OP_I32_ADD || i.op == WASM_OP_I64_ADD ||
                      i.op == WASM_OP_I32_SUB || i.op == WASM_OP_I64_SUB ||
                      i.op == WASM_OP_I32_MUL || i.op == WASM_OP_I64_MUL;
        if (binary ? n < 2 : n == 8)
            return false;
        if (i.op == WASM_OP_I32_CONST || i.op == WASM_OP_I64_CONST) {
            stack[n++] = i.c;
        } else if (globals && i.op == WASM_OP_GLOBAL_GET) {
            if (!const_global(x, i.a, &stack[n++]))
                return false;
        } else if (binary) {
            uint64_t b = stack[--n], a = stack[n - 1];
            bool add = i.op == WASM_OP_I32_ADD || i.op == WASM_OP_I64_ADD;
            bool sub = i.op == WASM_OP_I32_SUB || i.op == WASM_OP_I64_SUB;
            stack[n - 1] = add ? a + b : sub ? a - b : a * b;
        } else {
            return false;
        }
    }
    *v = stack[0];
    return !c.error && n == 1;
}

static bool is_base(const WasmImport *im, const char *name) {
    return im->space == WASM_SPACE_GLOBAL && str_is(im->module, "env") && str_is(im->name, name);
}

static bool const_global(const Merge *x, uint32_t index, uint64_t *v) {
    const WasmModule *m = x->from;
    const WasmGlobal *g = &m->globals.at[index];
    if (g->mutable)
        return false;
    if (g->import < 0)
        return const_value(x, wasm_code(m->bytes + g->init, g->init_len, 0), false, v);
    const WasmImport *im = &m->imports.at[g->import];
    *v = is_base(im, "__memory_base") ? x->g->memory_base : 0;
    return is_base(im, "__memory_base") || is_base(im, "__table_base");
}

/* ---- copying ---- */

static Str prefixed(Merge *x, Str name) {
    if (!name.len)
        return name;
    char *text = arena_printf(&x->to->arena, "%.*s%.*s", STR_ARG(x->g->prefix), STR_ARG(name));
    return str_of(text);
}

/* The handle for an import, or -1 with a message. */
static int64_t resolve(Merge *x, uint32_t index) {
    const WasmImport *im = &x->from->imports.at[index];
    int64_t handle = x->g->resolve ? x->g->resolve(x->g->ctx, im) : -1;
    if (handle >= 0)
        return handle;
    bool memory_base = is_base(im, "__memory_base");
    if (memory_base || is_base(im, "__table_base")) {
        Buf init = {0};
        WasmType type = x->from->globals.at[im->handle].type;
        wasm_put_op(&init, type == WASM_I64 ? WASM_OP_I64_CONST : WASM_OP_I32_CONST);
        int64_t base = memory_base ? (int64_t)x->g->memory_base : 0;
        buf_sleb(&init, type == WASM_I64 ? base : (int32_t)base);
        wasm_put_op(&init, WASM_OP_END);
        return wasm_add_global(x->to, type, false, prefixed(x, im->name), &init);
    }
    if (im->space == WASM_SPACE_TABLE && str_is(im->name, "__indirect_function_table")) {
        const WasmTable *t = &x->from->tables.at[im->handle];
        return wasm_add_table(x->to, map_type(x, t->type), t->limits, (Str){0});
    }
    fail(x, 0, "nothing is there for the imported %s %.*s.%.*s", wasm_space_name(im->space),
         STR_ARG(im->module), STR_ARG(im->name));
    return -1;
}

static bool copy_imports(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->imports.len; k++) {
        const WasmImport *im = &m->imports.at[k];
        if (im->space == WASM_SPACE_MEMORY || !x->marked[im->space][im->handle])
            continue;
        int64_t handle = resolve(x, k);
        if (handle < 0)
            return false;
        x->g->handles[im->space][im->handle] = (uint32_t)handle;
    }
    return true;
}

static bool copy_expr(Merge *x, uint32_t offset, uint32_t len, Buf *out) {
    WasmCode c = wasm_code(x->from->bytes + offset, len, 0);
    return wasm_copy_code(&c, &x->map, out);
}

static bool copy_tables(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->tables.len; k++) {
        const WasmTable *t = &m->tables.at[k];
        if (!x->marked[WASM_SPACE_TABLE][k] || t->import >= 0)
            continue;
        if (t->init_len)
            return fail(x, t->init, "tables with an initial value cannot be merged");
        x->g->handles[WASM_SPACE_TABLE][k] =
            wasm_add_table(x->to, map_type(x, t->type), t->limits, prefixed(x, t->name));
    }
    for (uint32_t k = 0; k < m->tags.len; k++) {
        const WasmTag *t = &m->tags.at[k];
        if (x->marked[WASM_SPACE_TAG][k] && t->import < 0)
            x->g->handles[WASM_SPACE_TAG][k] =
                wasm_add_tag(x->to, x->g->handles[WASM_SPACE_TYPE][t->type], prefixed(x, t->name));
    }
    return true;
}

/* Functions get their handles here and their code at the end. */
static void copy_func_heads(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const WasmFunc *f = &m->funcs.at[k];
        if (!x->marked[WASM_SPACE_FUNC][k] || f->import >= 0)
            continue;
        Buf none = {0};
        uint32_t type = x->g->handles[WASM_SPACE_TYPE][f->type];
        x->g->handles[WASM_SPACE_FUNC][k] =
            wasm_add_func(x->to, type, prefixed(x, f->name), &none, false);
    }
}

static bool copy_func_code(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const WasmFunc *f = &m->funcs.at[k];
        if (!x->marked[WASM_SPACE_FUNC][k] || f->import >= 0)
            continue;
        WasmCode c = wasm_code(m->bytes + f->body, f->body_size, 0);
        Buf *out = &x->to->funcs.at[x->g->handles[WASM_SPACE_FUNC][k]].code;
        if (!wasm_copy_locals(&c, &x->map, out) || !wasm_copy_code(&c, &x->map, out))
            return fail(x, f->body + c.error_offset, "%s", c.error);
    }
    return true;
}

static void copy_globals(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->globals.len; k++) {
        const WasmGlobal *g = &m->globals.at[k];
        if (!x->marked[WASM_SPACE_GLOBAL][k] || g->import >= 0)
            continue;
        WasmCode c = wasm_code(m->bytes + g->init, g->init_len, 0);
        bool number = g->type == WASM_I32 || g->type == WASM_I64;
        uint64_t v;
        Buf init = {0};
        if (number && const_value(x, c, true, &v)) {
            wasm_put_op(&init, g->type == WASM_I32 ? WASM_OP_I32_CONST : WASM_OP_I64_CONST);
            buf_sleb(&init, g->type == WASM_I32 ? (int32_t)(uint32_t)v : (int64_t)v);
            wasm_put_op(&init, WASM_OP_END);
        } else {
            copy_expr(x, g->init, g->init_len, &init);
        }
        x->g->handles[WASM_SPACE_GLOBAL][k] =
            wasm_add_global(x->to, map_type(x, g->type), g->mutable, prefixed(x, g->name), &init);
    }
}

static bool copy_elem(Merge *x, uint32_t k) {
    const WasmElem *e = &x->from->elems.at[k];
    const uint8_t *at = x->from->bytes + e->items;
    WasmCode c = wasm_code(x->from->bytes + e->offset, e->offset_len, 0);
    uint64_t offset = 0;
    if (e->mode == WASM_ACTIVE && !const_value(x, c, true, &offset))
        return fail(x, e->offset, "the offset of an element segment is not constant");
    uint32_t *funcs = mem_alloc(sizeof *funcs * ((size_t)e->count + 1));
    for (uint32_t n = 0; n < e->count; n++)
        funcs[n] = x->g->handles[WASM_SPACE_FUNC][(uint32_t)wasm_uleb(&at)];
    uint32_t handle;
    if (e->mode == WASM_ACTIVE)
        handle = wasm_add_elem_active(x->to, x->g->handles[WASM_SPACE_TABLE][e->table], offset,
                                      funcs, e->count);
    else if (e->mode == WASM_PASSIVE)
        handle = wasm_add_elem_passive(x->to, funcs, e->count);
    else
        handle = wasm_add_elem_declared(x->to, funcs, e->count);
    free(funcs);
    x->g->handles[WASM_SPACE_ELEM][k] = handle;
    return true;
}

static bool copy_elems(Merge *x) {
    for (uint32_t k = 0; k < x->from->elems.len; k++)
        if (x->marked[WASM_SPACE_ELEM][k] && !copy_elem(x, k))
            return false;
    for (uint32_t k = 0; k < x->declared.len; k++)
        x->declared.at[k] = x->g->handles[WASM_SPACE_FUNC][x->declared.at[k]];
    if (x->declared.len)
        wasm_add_elem_declared(x->to, x->declared.at, x->declared.len);
    return true;
}

static bool copy_data(Merge *x, uint32_t k) {
    const WasmData *d = &x->from->datas.at[k];
    Buf content = {0};
    buf_bytes(&content, x->from->bytes + d->bytes, d->size);
    uint32_t *handle = &x->g->handles[WASM_SPACE_DATA][k];
    if (d->mode == WASM_PASSIVE) {
        *handle = wasm_add_data_passive(x->to, &content, prefixed(x, d->name));
        return true;
    }
    WasmCode c = wasm_code(x->from->bytes + d->offset, d->offset_len, 0);
    uint64_t offset = 0;
    if (!const_value(x, c, true, &offset)) {
        buf_free(&content);
        return fail(x, d->offset, "the offset of a data segment is not constant");
    }
    *handle = wasm_add_data_active(x->to, x->g->memory, offset, &content, prefixed(x, d->name));
    return true;
}

static bool copy_all(Merge *x) {
    copy_types(x);
    if (!copy_imports(x) || !copy_tables(x))
        return false;
    copy_func_heads(x);
    copy_globals(x);
    if (!copy_elems(x))
        return false;
    for (uint32_t k = 0; k < x->from->datas.len; k++)
        if (x->marked[WASM_SPACE_DATA][k] && !copy_data(x, k))
            return false;
    return copy_func_code(x);
}

static bool check_memory(Merge *x) {
    const WasmModule *m = x->from;
    if (m->memories.len > 1)
        return fail(x, 0, "the module has %u memories; one can be merged", m->memories.len);
    if (m->memories.len == 0)
        return true;
    bool is64 = x->to->memories.at[x->g->memory].limits.is64;
    if (is64 != m->memories.at[0].limits.is64)
        return fail(x, 0, "memories of 32 and of 64 bits cannot be merged");
    return true;
}

bool wasm_merge(WasmMerge *g, const uint32_t *roots, uint32_t nroots, Diags *diags) {
    Merge x = {.g = g, .from = g->from, .to = g->to, .diags = diags};
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++) {
        uint32_t n = g->from->input_count[space];
        x.marked[space] = mem_zalloc(n + 1u);
        g->handles[space] = mem_alloc(sizeof(uint32_t) * ((size_t)n + 1));
        memset(g->handles[space], 0xff, sizeof(uint32_t) * ((size_t)n + 1));
        x.map.map[space] = space == WASM_SPACE_LOCAL ? NULL : g->handles[space];
        x.map.count[space] = n;
    }
    for (uint32_t k = 0; k < g->from->input_count[WASM_SPACE_MEMORY]; k++)
        g->handles[WASM_SPACE_MEMORY][k] = g->memory;
    bool ok = check_memory(&x) && mark_all(&x, roots, nroots) && mark_groups(&x) && copy_all(&x);
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        free(x.marked[space]);
    vec_free(&x.todo);
    vec_free(&x.declared);
    return ok;
}

void wasm_merge_free(WasmMerge *g) {
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++) {
        free(g->handles[space]);
        g->handles[space] = NULL;
    }
}
