/*
 * eval/instance.c - instances: supported features, imports, constant expressions, segments.
 */
#include "eval/store.h"
#include "valid/subtype.h"

/* ---- unsupported features ---- */

bool eval_knows(const WasmInstr *i) {
    switch (wasm_ops[i->op].category) {
    case WASM_CAT_SIMD:
    case WASM_CAT_ATOMIC:
    case WASM_CAT_EXN: return false;
    default:
        return wasm_ops[i->op].prefix != 0xfb && i->op != WASM_OP_F32_LOAD_F16 &&
               i->op != WASM_OP_F32_STORE_F16 && i->op != WASM_OP_REF_EQ &&
               i->op != WASM_OP_TRY_TABLE && !wasm_is_of_stacks(i->op);
    }
}

/* Looks at `count` expressions at a file offset. */
static bool check_exprs(const WasmModule *m, uint32_t at, uint32_t count, EvalError *error) {
    WasmCode code = wasm_code(m->bytes, m->size, at);
    WasmInstr i;
    for (uint32_t left = at ? count : 0; left && wasm_next(&code, &i);) {
        if (!eval_knows(&i)) {
            eval_fail(error, EVAL_UNSUPPORTED, "%s is not supported at compile time",
                      wasm_ops[i.op].mnemonic);
            error->module = m;
            return false;
        }
        left -= i.op == WASM_OP_END;
    }
    return true;
}

bool eval_supported(const WasmModule *m, EvalError *error) {
    const char *what = NULL;
    for (uint32_t k = 0; k < m->memories.len; k++)
        if (m->memories.at[k].limits.shared)
            what = "shared memory is";
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (m->funcs.at[k].added)
            what = "a module that was added to is";
    if (what) {
        eval_fail(error, EVAL_UNSUPPORTED, "%s not supported at compile time", what);
        error->module = m;
        return false;
    }
    for (uint32_t k = 0; k < m->tables.len; k++)
        if (!check_exprs(m, m->tables.at[k].init, 1, error))
            return false;
    for (uint32_t k = 0; k < m->elems.len; k++) {
        const WasmElem *e = &m->elems.at[k];
        if (!check_exprs(m, e->offset, e->mode == WASM_ACTIVE, error) ||
            !check_exprs(m, e->items, e->exprs ? e->count : 0, error))
            return false;
    }
    for (uint32_t k = 0; k < m->datas.len; k++)
        if (!check_exprs(m, m->datas.at[k].offset, m->datas.at[k].mode == WASM_ACTIVE, error))
            return false;
    return true;
}

/* ---- constant expressions ---- */

/* The value of one instruction without operands, but for `end` and arithmetic. */
static uint64_t const_value(const EvalInstance *in, const WasmInstr *i) {
    switch (i->op) {
    case WASM_OP_I32_CONST: return (uint32_t)i->c;
    case WASM_OP_REF_FUNC: return (uint64_t)(uintptr_t)in->funcs[i->a];
    case WASM_OP_GLOBAL_GET: return in->globals[i->a]->bits;
    case WASM_OP_REF_NULL: return 0;
    default: return i->c; /* i64.const, f32.const, f64.const */
    }
}

static bool const_binary(uint16_t op, uint64_t *a, uint64_t b) {
    switch (op) {
    case WASM_OP_I32_ADD: *a = (uint32_t)(*a + b); return true;
    case WASM_OP_I32_SUB: *a = (uint32_t)(*a - b); return true;
    case WASM_OP_I32_MUL: *a = (uint32_t)(*a * b); return true;
    case WASM_OP_I64_ADD: *a += b; return true;
    case WASM_OP_I64_SUB: *a -= b; return true;
    case WASM_OP_I64_MUL: *a *= b; return true;
    default: return false;
    }
}

/* The value of the (valid) expression at file offset *at, which is moved after its end. */
static uint64_t const_expr(const EvalInstance *in, uint32_t *at) {
    const WasmModule *m = in->module;
    WasmCode code = wasm_code(m->bytes, m->size, *at);
    Vec(uint64_t) stack = {0};
    WasmInstr i;
    while (wasm_next(&code, &i) && i.op != WASM_OP_END) {
        if (stack.len >= 2 && const_binary(i.op, &stack.at[stack.len - 2], vec_last(&stack)))
            stack.len--;
        else
            vec_push(&stack, const_value(in, &i));
    }
    *at = (uint32_t)(code.at - code.start);
    uint64_t value = stack.len ? vec_last(&stack) : 0;
    vec_free(&stack);
    return value;
}

/* Whether a global's value cannot be known: it is a vector, or something else that takes
 * instructions which the interpreter does not have. */
static bool is_opaque(const EvalInstance *in, const WasmGlobal *g) {
    WasmCode code = wasm_code(in->module->bytes, in->module->size, g->init);
    WasmInstr i;
    bool opaque = g->type == WASM_V128;
    while (!opaque && wasm_next(&code, &i) && i.op != WASM_OP_END)
        opaque = !eval_knows(&i) || (i.op == WASM_OP_GLOBAL_GET && in->globals[i.a]->opaque);
    return opaque;
}

/* ---- imports ---- */

static bool instance_limits_fit(const WasmLimits *want, uint64_t size, bool has_max, uint64_t max) {
    return size >= want->min && (!want->has_max || (has_max && max <= want->max));
}

static bool global_fits(const EvalInstance *in, const WasmGlobal *want, const EvalGlobal *have) {
    WasmType type = eval_type(in, want->type);
    if (want->mutable != have->mutable)
        return false;
    return want->mutable ? have->type == type : wasm_subtype(&in->store->types, have->type, type);
}

/* Binds an import if it fits. */
static bool instance_bind(EvalInstance *in, const WasmImport *im, const EvalExtern *x) {
    const WasmModule *m = in->module;
    uint32_t k = im->handle;
    if (x->space != im->space)
        return false;
    switch (im->space) {
    case WASM_SPACE_FUNC:
        in->funcs[k] = x->func;
        return wasm_subtype(&in->store->types, WASM_REF(0, x->func->type),
                            WASM_REF(0, in->types[m->funcs.at[k].type]));
    case WASM_SPACE_TABLE: {
        const WasmTable *t = &m->tables.at[k];
        in->tables[k] = x->table;
        return x->table->type == eval_type(in, t->type) && x->table->is64 == t->limits.is64 &&
               instance_limits_fit(&t->limits, x->table->size, x->table->has_max, x->table->max);
    }
    case WASM_SPACE_MEMORY: {
        const WasmLimits *l = &m->memories.at[k].limits;
        in->memories[k] = x->memory;
        return x->memory->is64 == l->is64 && x->memory->page_log2 == l->page_log2 &&
               instance_limits_fit(l, eval_pages(x->memory), x->memory->has_max, x->memory->max);
    }
    case WASM_SPACE_GLOBAL:
        in->globals[k] = x->global;
        return global_fits(in, &m->globals.at[k], x->global);
    case WASM_SPACE_TAG: in->tags[k] = x->tag; return x->tag->type == in->types[m->tags.at[k].type];
    default: return false;
    }
}

static bool bind_imports(EvalInstance *in, EvalResolve resolve, void *ctx, EvalError *error) {
    const WasmModule *m = in->module;
    for (uint32_t k = 0; k < m->imports.len; k++) {
        const WasmImport *im = &m->imports.at[k];
        int module_len = im->module.len > 60 ? 60 : (int)im->module.len;
        int name_len = im->name.len > 60 ? 60 : (int)im->name.len;
        EvalExtern x = {0};
        if (!resolve || !resolve(ctx, im, &x) || !x.func) /* whichever pointer it is */
            return eval_fail(error, EVAL_UNKNOWN_IMPORT, "unknown import %.*s.%.*s", module_len,
                             im->module.ptr, name_len, im->name.ptr);
        if (!instance_bind(in, im, &x))
            return eval_fail(error, EVAL_IMPORT_TYPE,
                             "incompatible import type: %.*s.%.*s is not the %s that is imported",
                             module_len, im->module.ptr, name_len, im->name.ptr,
                             wasm_space_name(im->space));
    }
    return true;
}

/* ---- definitions ---- */

static bool define(EvalInstance *in, EvalError *error) {
    EvalStore *s = in->store;
    const WasmModule *m = in->module;
    for (uint32_t k = m->input_imports[WASM_SPACE_FUNC]; k < m->funcs.len; k++) {
        in->funcs[k] = eval_new_func(s, in->types[m->funcs.at[k].type]);
        in->funcs[k]->instance = in;
        in->funcs[k]->index = k;
    }
    for (uint32_t k = m->input_imports[WASM_SPACE_TAG]; k < m->tags.len; k++)
        in->tags[k] = eval_new_tag(s, in->types[m->tags.at[k].type]);
    for (uint32_t k = m->input_imports[WASM_SPACE_MEMORY]; k < m->memories.len; k++) {
        in->memories[k] = eval_new_memory(s, m->memories.at[k].limits);
        if (!in->memories[k])
            return eval_fail(error, EVAL_TOO_LARGE, "memory %u is larger than the limit of %llu", k,
                             (unsigned long long)s->limits.memory_bytes);
    }
    for (uint32_t k = m->input_imports[WASM_SPACE_GLOBAL]; k < m->globals.len; k++) {
        const WasmGlobal *g = &m->globals.at[k];
        uint32_t at = g->init;
        bool opaque = is_opaque(in, g);
        uint64_t bits = opaque ? 0 : const_expr(in, &at);
        in->globals[k] = eval_put_global(s, eval_type(in, g->type), g->mutable, bits);
        in->globals[k]->opaque = opaque;
    }
    for (uint32_t k = m->input_imports[WASM_SPACE_TABLE]; k < m->tables.len; k++) {
        const WasmTable *t = &m->tables.at[k];
        uint32_t at = t->init;
        EvalValue init = {eval_type(in, t->type), at ? const_expr(in, &at) : 0};
        in->tables[k] = eval_new_table(s, init.type, t->limits, init);
        if (!in->tables[k])
            return eval_fail(error, EVAL_TOO_LARGE, "table %u is larger than the limit of %llu", k,
                             (unsigned long long)s->limits.table_items);
    }
    return true;
}

static void make_elems(EvalInstance *in, uint32_t index) {
    const WasmElem *e = &in->module->elems.at[index];
    EvalElems *to = &in->elems[index];
    const uint8_t *p = in->module->bytes + e->items;
    uint32_t at = e->items;
    to->len = e->count;
    to->items = mem_alloc(e->count * sizeof *to->items);
    for (uint32_t k = 0; k < e->count; k++)
        to->items[k] =
            e->exprs ? const_expr(in, &at) : (uint64_t)(uintptr_t)in->funcs[wasm_vec_u32(&p)];
}

static void drop_elems(EvalElems *e) {
    free(e->items);
    *e = (EvalElems){0};
}

/* The segments: active ones are copied and dropped. Nothing is undone on a trap. */
static bool apply_segments(EvalInstance *in, EvalError *error) {
    const WasmModule *m = in->module;
    for (uint32_t k = 0; k < m->elems.len; k++) {
        const WasmElem *e = &m->elems.at[k];
        uint32_t at = e->offset;
        if (e->mode == WASM_ACTIVE) {
            EvalStatus status = eval_table_init(in->tables[e->table], &in->elems[k],
                                                const_expr(in, &at), 0, e->count);
            if (status)
                return eval_fail(error, status, "%s: element segment %u", eval_status_text(status),
                                 k);
        }
        if (e->mode != WASM_PASSIVE)
            drop_elems(&in->elems[k]);
    }
    for (uint32_t k = 0; k < m->datas.len; k++) {
        const WasmData *d = &m->datas.at[k];
        uint32_t at = d->offset;
        if (d->mode != WASM_ACTIVE)
            continue;
        EvalStatus status = eval_memory_init(in->memories[d->memory], &in->datas[k],
                                             const_expr(in, &at), 0, d->size);
        if (status)
            return eval_fail(error, status, "%s: data segment %u", eval_status_text(status), k);
        in->datas[k].len = 0;
    }
    return true;
}

/* ---- instances ---- */

static EvalInstance *new_instance(EvalStore *s, const WasmModule *m) {
    EvalInstance *in = mem_zalloc(sizeof *in);
    in->store = s;
    in->module = m;
    in->types = mem_zalloc((m->types.len + 1) * sizeof *in->types);
    in->funcs = mem_zalloc((m->funcs.len + 1) * sizeof *in->funcs);
    in->memories = mem_zalloc((m->memories.len + 1) * sizeof *in->memories);
    in->tables = mem_zalloc((m->tables.len + 1) * sizeof *in->tables);
    in->globals = mem_zalloc((m->globals.len + 1) * sizeof *in->globals);
    in->tags = mem_zalloc((m->tags.len + 1) * sizeof *in->tags);
    in->elems = mem_zalloc((m->elems.len + 1) * sizeof *in->elems);
    in->datas = mem_zalloc((m->datas.len + 1) * sizeof *in->datas);
    in->older = s->instances;
    s->instances = in;
    eval_intern_types(s, m, in->types);
    return in;
}

static bool instance_fill(EvalInstance *in, EvalError *error) {
    const WasmModule *m = in->module;
    for (uint32_t k = 0; k < m->elems.len; k++)
        make_elems(in, k);
    for (uint32_t k = 0; k < m->datas.len; k++)
        in->datas[k] = (EvalBytes){m->bytes + m->datas.at[k].bytes, m->datas.at[k].size};
    return apply_segments(in, error);
}

EvalInstance *eval_link(EvalStore *s, const WasmModule *m, EvalResolve resolve, void *ctx,
                        EvalError *error) {
    if (!eval_supported(m, error))
        return NULL;
    EvalInstance *in = new_instance(s, m);
    if (bind_imports(in, resolve, ctx, error) && define(in, error) && instance_fill(in, error))
        return in;
    if (!error->module)
        error->module = m;
    return NULL;
}

bool eval_start(EvalInstance *i, EvalError *error) {
    const WasmModule *m = i->module;
    if (m->start < 0 || eval_call(i->store, i->funcs[m->start], NULL, 0, NULL, 0, error))
        return true;
    if (!error->module)
        error->module = m;
    return false;
}

EvalInstance *eval_instantiate(EvalStore *s, const WasmModule *m, EvalResolve resolve, void *ctx,
                               EvalError *error) {
    EvalInstance *in = eval_link(s, m, resolve, ctx, error);
    return in && eval_start(in, error) ? in : NULL;
}
