/*
 * eval/store.c - the store: its types, ownership, and access from outside.
 */
#include "eval/store.h"
#include "valid/subtype.h"
#include "valid/typer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- errors ---- */

const char *eval_status_text(EvalStatus status) {
    static const char *const texts[] = {
#define EVAL_STATUS(id, text) text,
        EVAL_STATUSES(EVAL_STATUS)
#undef EVAL_STATUS
    };
    assert(status < sizeof texts / sizeof *texts);
    return texts[status];
}

bool eval_fail(EvalError *error, EvalStatus status, const char *format, ...) {
    *error = (EvalError){.status = status, .func = EVAL_NOWHERE};
    if (!format) {
        snprintf(error->text, sizeof error->text, "%s", eval_status_text(status));
        return false;
    }
    va_list ap;
    va_start(ap, format);
    vsnprintf(error->text, sizeof error->text, format, ap);
    va_end(ap);
    return false;
}

Span eval_error_span(const EvalError *error) {
    const WasmModule *m = error->module;
    if (!m || error->func >= m->funcs.len || m->funcs.at[error->func].import >= 0)
        return NO_SPAN;
    uint32_t body = m->funcs.at[error->func].body, at = body + error->pc;
    WasmCode code = wasm_code(m->bytes + body, m->funcs.at[error->func].body_size, error->pc);
    WasmInstr i;
    return (Span){m->file, at, wasm_next(&code, &i) ? at + i.size : at};
}

Diag *eval_report(const EvalError *error, Diags *diags, DiagTag tag, const char *what) {
    Span at = eval_error_span(error);
    if (error->func == EVAL_NOWHERE || !error->module)
        return diag(diags, tag, at, "%s: %s", what, error->text);
    Str name = wasm_func_name(error->module, error->func);
    if (!name.len)
        return diag(diags, tag, at, "%s: %s, in function %u", what, error->text, error->func);
    return diag(diags, tag, at, "%s: %s, in function %u (%.*s)", what, error->text, error->func,
                name.len > 80 ? 80 : (int)name.len, name.ptr);
}

/* ---- types ---- */

/* The types of a recursion group, as they are interned. */
typedef struct Group {
    const WasmTypeDef *defs;
    uint32_t first, len;
    const uint32_t *ids; /* the store's index of types before the group; NULL = they are those */
    uint32_t base;       /* the number of the first one */
} Group;

/* A type index in terms of the store. */
static uint32_t group_index(const Group *g, uint32_t index) {
    if (index - g->first < g->len)
        return g->base + (index - g->first);
    return g->ids ? g->ids[index] : index;
}

static WasmType group_type(const Group *g, WasmType t) {
    uint32_t index;
    if (!wasm_heap_index(t, &index))
        return t;
    return wasm_with_index(t, group_index(g, index));
}

/* The key's part for an index: types of the group itself are counted from its start. */
static void store_key_index(const Group *g, uint32_t index, Buf *key) {
    bool inside = index - g->first < g->len;
    buf_u8(key, inside);
    buf_u32le(key, inside ? index - g->first : group_index(g, index));
}

static void store_key_type(const Group *g, WasmType t, Buf *key) {
    uint32_t index;
    bool concrete = wasm_heap_index(t, &index);
    buf_u32le(key, concrete ? wasm_with_index(t, 0) : t);
    if (concrete)
        store_key_index(g, index, key);
}

static void store_key_def(const Group *g, const WasmTypeDef *d, Buf *key) {
    buf_u8(key, d->kind);
    buf_u8(key, (uint8_t)(d->final | d->has_super << 1));
    if (d->has_super)
        store_key_index(g, d->super, key);
    buf_u8(key, (uint8_t)(d->has_descriptor | d->is_descriptor << 1));
    if (d->has_descriptor)
        store_key_index(g, d->descriptor, key);
    if (d->is_descriptor)
        store_key_index(g, d->describes, key);
    buf_u32le(key, d->nparams);
    buf_u32le(key, d->nresults);
    buf_u32le(key, d->nfields);
    for (uint32_t k = 0; k < d->nparams; k++)
        store_key_type(g, d->params[k], key);
    for (uint32_t k = 0; k < d->nresults; k++)
        store_key_type(g, d->results[k], key);
    for (uint32_t k = 0; k < d->nfields; k++) {
        store_key_type(g, d->fields[k].type, key);
        buf_u8(key, d->fields[k].mutable);
    }
}

static const WasmType *store_copy_types(Arena *a, const Group *g, const WasmType *types,
                                        uint32_t n) {
    WasmType *copy = arena_array(a, WasmType, n);
    for (uint32_t k = 0; k < n; k++)
        copy[k] = group_type(g, types[k]);
    return copy;
}

static void add_def(WasmModule *to, const Group *g, const WasmTypeDef *d) {
    WasmTypeDef copy = *d;
    WasmField *fields = arena_array(&to->arena, WasmField, d->nfields);
    for (uint32_t k = 0; k < d->nfields; k++)
        fields[k] = (WasmField){group_type(g, d->fields[k].type), d->fields[k].mutable};
    copy.fields = fields;
    copy.params = store_copy_types(&to->arena, g, d->params, d->nparams);
    copy.results = store_copy_types(&to->arena, g, d->results, d->nresults);
    copy.super = d->has_super ? group_index(g, d->super) : 0;
    copy.descriptor = d->has_descriptor ? group_index(g, d->descriptor) : 0;
    copy.describes = d->is_descriptor ? group_index(g, d->describes) : 0;
    copy.canonical = to->types.len;
    copy.group = g->base;
    copy.group_len = g->len;
    vec_push(&to->types, copy);
}

/* The store's index of the first type of a group. */
static uint32_t store_intern(EvalStore *s, Group *g) {
    Buf key = {0};
    g->base = s->types.types.len;
    for (uint32_t k = 0; k < g->len; k++)
        store_key_def(g, &g->defs[k], &key);
    bool added;
    uint64_t first = *map_put(&s->groups, buf_view(&key), g->base, &added);
    for (uint32_t k = 0; added && k < g->len; k++)
        add_def(&s->types, g, &g->defs[k]);
    buf_free(&key);
    return (uint32_t)first;
}

void eval_intern_types(EvalStore *s, const WasmModule *m, uint32_t *ids) {
    for (uint32_t k = 0; k < m->types.len;) {
        uint32_t len = m->types.at[k].group_len ? m->types.at[k].group_len : 1;
        Group g = {.defs = &m->types.at[k], .first = k, .len = len, .ids = ids};
        uint32_t first = store_intern(s, &g);
        for (uint32_t j = 0; j < len; j++)
            ids[k++] = first + j;
    }
}

WasmType eval_type(const EvalInstance *i, WasmType t) {
    uint32_t index;
    if (!wasm_heap_index(t, &index))
        return t;
    return wasm_with_index(t, i->types[index]);
}

bool eval_value_fits(const EvalStore *s, EvalValue v, WasmType type) {
    if (!WASM_IS_REF(type) || !WASM_IS_REF(v.type))
        return v.type == type;
    WasmType top = wasm_top_type(&s->types, type);
    if (top != wasm_top_type(&s->types, v.type))
        return false;
    if (v.bits == 0)
        return (type & WASM_NULL_BIT) != 0;
    if (top != WASM_FUNCREF)
        return true;
    return wasm_subtype(&s->types, WASM_REF(0, eval_as_func(v)->type), type);
}

/* ---- the store ---- */

EvalStore *eval_store_new(const EvalLimits *limits) {
    EvalStore *s = mem_zalloc(sizeof *s);
    if (limits)
        s->limits = *limits;
    EvalLimits *l = &s->limits;
    l->memory_bytes = l->memory_bytes ? l->memory_bytes : (uint64_t)1 << 30;
    l->table_items = l->table_items ? l->table_items : 10000000;
    l->call_depth = l->call_depth ? l->call_depth : 20000;
    l->stack_slots = l->stack_slots ? l->stack_slots : 1000000;
    wasm_module_init(&s->types);
    s->stack = s->top = mem_alloc(l->stack_slots * sizeof *s->stack);
    return s;
}

static void free_instance(EvalInstance *i) {
    for (uint32_t k = 0; i->elems && k < i->module->elems.len; k++)
        free(i->elems[k].items);
    free(i->types);
    free(i->funcs);
    free(i->memories);
    free(i->tables);
    free(i->globals);
    free(i->tags);
    free(i->elems);
    free(i->datas);
    free(i);
}

/* Frees a list; `how` releases the contents of `x`. */
#define FREE_LIST(T, list, how)                                                                    \
    for (T *x = (list), *older_; x; x = older_) {                                                  \
        older_ = x->older;                                                                         \
        how;                                                                                       \
    }

void eval_store_free(EvalStore *s) {
    if (!s)
        return;
    FREE_LIST(EvalInstance, s->instances, free_instance(x))
    FREE_LIST(EvalFunc, s->funcs, (eval_code_free(x->code), free(x)))
    FREE_LIST(EvalMemory, s->memories, (free(x->data), free(x)))
    FREE_LIST(EvalTable, s->tables, (free(x->items), free(x)))
    FREE_LIST(EvalGlobal, s->globals, free(x))
    FREE_LIST(EvalTag, s->tags, free(x))
    wasm_module_free(&s->types);
    map_free(&s->groups);
    wasm_typer_free(&s->typer);
    vec_free(&s->frames);
    free(s->stack);
    free(s);
}

void eval_set_fuel(EvalStore *s, uint64_t fuel) {
    s->fuel = fuel;
}

uint64_t eval_fuel(const EvalStore *s) {
    return s->fuel;
}

bool eval_burn(EvalCall *call, uint64_t bytes) {
    EvalStore *s = call->store;
    uint64_t cost = bytes >> EVAL_BYTES_SHIFT;
    bool enough = s->fuel >= cost;
    s->fuel = enough ? s->fuel - cost : 0;
    return enough || eval_fail(call->error, EVAL_FUEL, NULL);
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* Fuzz targets have it, other programs of the same build have not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) __attribute__((weak));

bool eval_is_fuzzed(void) {
    return LLVMFuzzerTestOneInput != NULL;
}
#else
bool eval_is_fuzzed(void) {
    return false;
}
#endif

void eval_say_budget(EvalError *error, uint64_t budget, const char *calls) {
    snprintf(error->text, sizeof error->text, "%s have used up their limit of %llu instructions",
             calls, (unsigned long long)budget);
}

void eval_count(EvalStore *s) {
    s->counting = true;
}

const EvalCount *eval_counts(const EvalFunc *f, uint32_t *n) {
    *n = f->code ? f->code->counts.len : 0;
    return *n ? f->code->counts.at : NULL;
}

/* ---- making things ---- */

EvalFunc *eval_new_func(EvalStore *s, uint32_t type) {
    assert(type < s->types.types.len);
    EvalFunc *f = mem_zalloc(sizeof *f);
    f->type = type;
    f->nparams = s->types.types.at[type].nparams;
    f->nresults = s->types.types.at[type].nresults;
    f->older = s->funcs;
    s->funcs = f;
    return f;
}

EvalFunc *eval_host_func(EvalStore *s, const WasmType *params, uint32_t nparams,
                         const WasmType *results, uint32_t nresults, EvalHost host, void *ctx) {
    WasmTypeDef d = {.kind = WASM_TYPE_FUNC,
                     .final = true,
                     .nparams = nparams,
                     .nresults = nresults,
                     .params = params,
                     .results = results};
    Group g = {.defs = &d, .first = UINT32_MAX, .len = 1};
    EvalFunc *f = eval_new_func(s, store_intern(s, &g));
    f->host = host;
    f->ctx = ctx;
    return f;
}

EvalMemory *eval_new_memory(EvalStore *s, WasmLimits limits) {
    EvalMemory *m = mem_zalloc(sizeof *m);
    m->has_max = limits.has_max;
    m->max = limits.max;
    m->is64 = limits.is64;
    m->page_log2 = limits.page_log2;
    if (!eval_memory_grow(s, m, limits.min)) {
        free(m);
        return NULL;
    }
    m->older = s->memories;
    s->memories = m;
    return m;
}

EvalTable *eval_new_table(EvalStore *s, WasmType type, WasmLimits limits, EvalValue init) {
    if (!eval_value_fits(s, init, type))
        return NULL;
    EvalTable *t = mem_zalloc(sizeof *t);
    t->has_max = limits.has_max;
    t->max = limits.max;
    t->is64 = limits.is64;
    t->type = type;
    if (!eval_table_grow(s, t, limits.min, init.bits)) {
        free(t);
        return NULL;
    }
    t->older = s->tables;
    s->tables = t;
    return t;
}

EvalGlobal *eval_new_global(EvalStore *s, WasmType type, bool mutable, EvalValue init) {
    return eval_value_fits(s, init, type) ? eval_put_global(s, type, mutable, eval_slot(init))
                                          : NULL;
}

EvalGlobal *eval_put_global(EvalStore *s, WasmType type, bool mutable, uint64_t bits) {
    EvalGlobal *g = mem_zalloc(sizeof *g);
    g->type = type;
    g->mutable = mutable;
    g->bits = bits;
    g->older = s->globals;
    s->globals = g;
    return g;
}

EvalTag *eval_new_tag(EvalStore *s, uint32_t type) {
    EvalTag *t = mem_zalloc(sizeof *t);
    t->type = type;
    t->older = s->tags;
    s->tags = t;
    return t;
}

/* ---- instances ---- */

EvalFunc *eval_func(const EvalInstance *i, uint32_t index) {
    return index < i->module->funcs.len ? i->funcs[index] : NULL;
}
EvalMemory *eval_memory(const EvalInstance *i, uint32_t index) {
    return index < i->module->memories.len ? i->memories[index] : NULL;
}
EvalTable *eval_table(const EvalInstance *i, uint32_t index) {
    return index < i->module->tables.len ? i->tables[index] : NULL;
}
EvalGlobal *eval_global(const EvalInstance *i, uint32_t index) {
    return index < i->module->globals.len ? i->globals[index] : NULL;
}
EvalTag *eval_tag(const EvalInstance *i, uint32_t index) {
    return index < i->module->tags.len ? i->tags[index] : NULL;
}
uint32_t eval_data_size(const EvalInstance *i, uint32_t index) {
    assert(index < i->module->datas.len);
    return i->datas[index].len;
}
uint32_t eval_elem_size(const EvalInstance *i, uint32_t index) {
    assert(index < i->module->elems.len);
    return i->elems[index].len;
}
EvalValue eval_elem_get(const EvalInstance *i, uint32_t index, uint32_t item) {
    assert(index < i->module->elems.len && item < i->elems[index].len);
    return (EvalValue){eval_type(i, i->module->elems.at[index].type), i->elems[index].items[item]};
}
const WasmModule *eval_module(const EvalInstance *i) {
    return i->module;
}

bool eval_export(const EvalInstance *i, Str name, EvalExtern *what) {
    for (uint32_t k = 0; k < i->module->exports.len; k++) {
        const WasmExport *e = &i->module->exports.at[k];
        if (!str_eq(e->name, name))
            continue;
        what->space = e->space;
        switch (e->space) {
        case WASM_SPACE_FUNC: what->func = i->funcs[e->handle]; return true;
        case WASM_SPACE_TABLE: what->table = i->tables[e->handle]; return true;
        case WASM_SPACE_MEMORY: what->memory = i->memories[e->handle]; return true;
        case WASM_SPACE_GLOBAL: what->global = i->globals[e->handle]; return true;
        case WASM_SPACE_TAG: what->tag = i->tags[e->handle]; return true;
        default: return false;
        }
    }
    return false;
}

const WasmTypeDef *eval_func_type(const EvalStore *s, const EvalFunc *f) {
    assert(f->type < s->types.types.len);
    return &s->types.types.at[f->type];
}

EvalInstance *eval_func_instance(const EvalFunc *f, uint32_t *index) {
    *index = f->index;
    return f->instance;
}

/* ---- calls from outside ---- */

static bool store_check_call(const EvalStore *s, const EvalFunc *f, const EvalValue *args,
                             uint32_t nargs, uint32_t nresults, EvalError *error) {
    const WasmTypeDef *type = eval_func_type(s, f);
    char want[32], have[32];
    if (nargs != type->nparams || nresults != type->nresults)
        return eval_fail(error, EVAL_ARGUMENTS,
                         "the function has %u parameters and %u results, not %u and %u",
                         type->nparams, type->nresults, nargs, nresults);
    for (uint32_t k = 0; k < nargs; k++)
        if (!eval_value_fits(s, args[k], type->params[k]))
            return eval_fail(error, EVAL_ARGUMENTS, "argument %u must be %s, not %s", k,
                             wasm_type_text(type->params[k], want),
                             wasm_type_text(args[k].type, have));
    return true;
}

bool eval_call(EvalStore *s, EvalFunc *f, const EvalValue *args, uint32_t nargs, EvalValue *results,
               uint32_t nresults, EvalError *error) {
    if (!store_check_call(s, f, args, nargs, nresults, error))
        return false;
    uint64_t *top = s->top;
    if ((size_t)(s->stack + s->limits.stack_slots - top) < (size_t)nargs + nresults)
        return eval_fail(error, EVAL_STACK, NULL);
    for (uint32_t k = 0; k < nargs; k++)
        top[k] = eval_slot(args[k]);
    if (!eval_run(s, f, error))
        return false;
    const WasmTypeDef *type = eval_func_type(s, f);
    for (uint32_t k = 0; k < nresults; k++)
        results[k] = (EvalValue){type->results[k], top[k]};
    return true;
}

/* ---- memories, tables, globals ---- */

uint8_t *eval_memory_data(EvalMemory *m) {
    return m->size ? m->data : NULL;
}

uint64_t eval_memory_size(const EvalMemory *m) {
    return m->size;
}

bool eval_memory_read(const EvalMemory *m, uint64_t at, void *to, uint64_t n) {
    if (at > m->size || n > m->size - at)
        return false;
    if (n)
        memcpy(to, m->data + at, n);
    return true;
}

bool eval_memory_write(EvalMemory *m, uint64_t at, const void *from, uint64_t n) {
    if (at > m->size || n > m->size - at)
        return false;
    if (n)
        memcpy(m->data + at, from, n);
    return true;
}

uint64_t eval_table_size(const EvalTable *t) {
    return t->size;
}

WasmType eval_table_type(const EvalTable *t) {
    return t->type;
}

bool eval_table_get(const EvalTable *t, uint64_t index, EvalValue *value) {
    if (index >= t->size)
        return false;
    *value = (EvalValue){t->type, t->items[index]};
    return true;
}

bool eval_table_set(EvalStore *s, EvalTable *t, uint64_t index, EvalValue value) {
    if (index >= t->size || !eval_value_fits(s, value, t->type))
        return false;
    t->items[index] = value.bits;
    return true;
}

EvalValue eval_global_get(const EvalGlobal *g) {
    return (EvalValue){g->type, g->bits};
}

bool eval_global_mutable(const EvalGlobal *g) {
    return g->mutable;
}

bool eval_global_opaque(const EvalGlobal *g) {
    return g->opaque;
}

bool eval_global_set(EvalStore *s, EvalGlobal *g, EvalValue value) {
    if (g->opaque || !eval_value_fits(s, value, g->type))
        return false;
    g->bits = eval_slot(value);
    return true;
}
