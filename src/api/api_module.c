/*
 * api/api_module.c - the public interface to the module model (include/whammc/module.h).
 */
#include "api/api_module.h"

#include <stdarg.h>
#include <stdio.h>

#include "edit/edit.h"
#include "edit/write.h"
#include "valid/limits.h"
#include "valid/valid.h"

typedef struct Piece {
    uint32_t at, order;
    uint8_t where;      /* WasmWhere */
    uint32_t code, len; /* in WhammcModule.pieces, handles as indices */
} Piece;

typedef struct FuncEdit {
    Vec(Piece) pieces;
    WasmTypes locals;    /* added locals */
    uint32_t own_locals; /* parameters and the input's */
    uint8_t *starts;     /* by offset in the body: an instruction begins there */
} FuncEdit;

struct WhammcModule {
    uint8_t *bytes;
    WasmModule m;
    FuncEdit **edits; /* by function of the input, NULL = none */
    Buf pieces;
    Buf error;
    Map exports;                 /* the names of exports */
    const char **names, **shown; /* of functions of the input, as C strings, if asked for */
};

struct WhammcWalk {
    WasmCode code;
};

/* ---- errors and texts ---- */

static bool api_module_fail(WhammcModule *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool api_module_fail(WhammcModule *w, const char *format, ...) {
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->error.len = 0;
    buf_printf(&w->error, "%s", text);
    return false;
}

/* The first message of diags as text. */
static void first_message(Diags *d, const char *what, Buf *out) {
    if (d->list.len)
        buf_printf(out, "%s0x%x: %s", what, d->list.at[0]->span.start, d->list.at[0]->message);
}

const char *whammc_module_error(const WhammcModule *m) {
    return m->error.len ? (const char *)m->error.data : "";
}

/* ---- reading and writing ---- */

WhammcModule *whammc_module_read(const void *bytes, size_t size, char **error) {
    WhammcModule *w = mem_zalloc(sizeof *w);
    w->bytes = mem_alloc(size + 1);
    if (size)
        memcpy(w->bytes, bytes, size);
    Diags diags = {0};
    DiagFileId file = diag_file(&diags, "module", w->bytes, size, true);
    bool ok = wasm_load(&w->m, w->bytes, size, file, &diags);
    if (ok) {
        w->edits = mem_zalloc(sizeof *w->edits * ((size_t)w->m.funcs.len + 1));
    } else {
        Buf text = {0};
        first_message(&diags, "", &text);
        buf_cstr(&text);
        if (error)
            *error = (char *)text.data;
        else
            buf_free(&text);
        whammc_module_free(w);
        w = NULL;
    }
    diag_free(&diags);
    return w;
}

void whammc_module_free(WhammcModule *w) {
    if (!w)
        return;
    for (uint32_t f = 0; w->edits && f < w->m.input_count[WASM_SPACE_FUNC]; f++) {
        if (!w->edits[f])
            continue;
        vec_free(&w->edits[f]->pieces);
        vec_free(&w->edits[f]->locals);
        free(w->edits[f]->starts);
        free(w->edits[f]);
    }
    free(w->edits);
    wasm_module_free(&w->m);
    buf_free(&w->pieces);
    buf_free(&w->error);
    map_free(&w->exports);
    free(w->names);
    free(w->shown);
    free(w->bytes);
    free(w);
}

static bool is_at_function(const Piece *p) {
    return p->where == WASM_ENTRY || p->where == WASM_EXIT;
}

/* The order that wasm_edit_body requires. */
static int api_module_by_place(const void *a, const void *b) {
    const Piece *x = a, *y = b;
    if (is_at_function(x) != is_at_function(y))
        return is_at_function(x) ? -1 : 1;
    if (!is_at_function(x) && x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool edit_body(void *ctx, uint32_t func, Buf *out) {
    WhammcModule *w = ctx;
    FuncEdit *e = w->edits[func];
    const char *error;
    uint32_t offset;
    if (!e)
        return wasm_edit_body(&w->m, func, NULL, out, &error, &offset);
    if (e->pieces.len)
        qsort(e->pieces.at, e->pieces.len, sizeof *e->pieces.at, api_module_by_place);
    Buf code = {0};
    Vec(WasmPatch) patches = {0};
    WasmRemap map = wasm_layout_remap(&w->m);
    for (uint32_t k = 0; k < e->pieces.len; k++) {
        const Piece *p = &e->pieces.at[k];
        WasmCode c = wasm_code(w->pieces.data + p->code, p->len, 0);
        uint32_t at = (uint32_t)code.len;
        wasm_copy_code(&c, &map, &code); /* valid: checked when it was attached */
        vec_push(&patches, (WasmPatch){.at = p->at,
                                       .where = p->where,
                                       .exits = WASM_EXIT_ALL,
                                       .code = at,
                                       .len = (uint32_t)code.len - at});
    }
    WasmBodyEdit edit = {.patches = patches.at,
                         .npatches = patches.len,
                         .code = code.data,
                         .locals = e->locals.at,
                         .nlocals = e->locals.len};
    bool ok = wasm_edit_body(&w->m, func, &edit, out, &error, &offset);
    if (!ok)
        api_module_fail(w, "function %u: %s at offset %u", func, error, offset);
    vec_free(&patches);
    buf_free(&code);
    return ok;
}

static bool api_module_check_output(WhammcModule *w, const Buf *out) {
    Diags diags = {0};
    DiagFileId file = diag_file(&diags, "output", out->data, out->len, true);
    WasmModule m;
    bool ok = wasm_load(&m, out->data, out->len, file, &diags);
    if (!ok) {
        w->error.len = 0;
        first_message(&diags, "the output would be invalid at ", &w->error);
        buf_cstr(&w->error);
    } else if (!limits_check(&m, out->len, &w->m, NO_SPAN, &diags)) {
        ok = api_module_fail(w, "%s", diags.list.at[0]->message);
    }
    wasm_module_free(&m);
    diag_free(&diags);
    return ok;
}

bool whammc_module_write(WhammcModule *w, uint8_t **bytes, size_t *size) {
    Buf out = {0};
    WasmWriter writer = {.body = edit_body, .ctx = w};
    api_module_fail(w, "code that was added is malformed");
    if (!wasm_write(&w->m, &writer, &out) || !api_module_check_output(w, &out)) {
        buf_free(&out);
        return false;
    }
    w->error.len = 0;
    *bytes = out.data;
    *size = out.len;
    return true;
}

/* ---- looking ---- */

static WasmSpace api_module_space_of(WhammcKind kind) {
    switch (kind) {
    case WHAMMC_FUNC: return WASM_SPACE_FUNC;
    case WHAMMC_TABLE: return WASM_SPACE_TABLE;
    case WHAMMC_MEMORY: return WASM_SPACE_MEMORY;
    case WHAMMC_GLOBAL: return WASM_SPACE_GLOBAL;
    case WHAMMC_TAG: return WASM_SPACE_TAG;
    case WHAMMC_DATA: return WASM_SPACE_DATA;
    }
    return WASM_SPACE_COUNT;
}

uint32_t whammc_module_count(const WhammcModule *w, WhammcKind kind) {
    return wasm_space_count(&w->m, api_module_space_of(kind));
}

uint32_t whammc_module_imports(const WhammcModule *w, WhammcKind kind) {
    WasmSpace space = api_module_space_of(kind);
    return space < WASM_SPACE_COUNT ? w->m.input_imports[space] : 0;
}

static bool has_body(const WhammcModule *w, uint32_t func) {
    return func < w->m.input_count[WASM_SPACE_FUNC] && w->m.funcs.at[func].import < 0;
}

static const char *api_module_text_of(WhammcModule *w, Str s) {
    return arena_strndup(&w->m.arena, s.ptr, s.len);
}

/* The name of an import or added function. */
static const char *other_name(WhammcModule *w, uint32_t func) {
    const WasmFunc *f = &w->m.funcs.at[func];
    return api_module_text_of(w, f->name.len || f->import < 0 ? f->name
                                                              : w->m.imports.at[f->import].name);
}

/* Names from the name section, then those of exports. */
static void find_names(WhammcModule *w) {
    WasmModule *m = &w->m;
    w->names = mem_zalloc(sizeof *w->names * ((size_t)m->input_count[WASM_SPACE_FUNC] + 1));
    for (uint32_t f = 0; f < m->input_count[WASM_SPACE_FUNC]; f++)
        if (m->funcs.at[f].name.len)
            w->names[f] = other_name(w, f);
    for (uint32_t k = 0; k < m->input_export_count; k++) {
        const WasmExport *e = &m->exports.at[k];
        if (e->space == WASM_SPACE_FUNC && e->handle < m->input_count[WASM_SPACE_FUNC] &&
            !w->names[e->handle])
            w->names[e->handle] = api_module_text_of(w, e->name);
    }
}

const char *whammc_module_func_name(WhammcModule *w, uint32_t func) {
    if (func >= w->m.funcs.len)
        return "";
    if (func >= w->m.input_count[WASM_SPACE_FUNC])
        return other_name(w, func);
    if (!w->names)
        find_names(w);
    if (!w->names[func])
        w->names[func] = other_name(w, func);
    return w->names[func];
}

const char *whammc_module_shown_name(WhammcModule *w, uint32_t func) {
    uint32_t n = w->m.input_count[WASM_SPACE_FUNC];
    if (func >= n)
        return whammc_module_func_name(w, func);
    if (!w->shown)
        w->shown = mem_zalloc(sizeof *w->shown * n);
    if (!w->shown[func])
        w->shown[func] = api_module_text_of(w, wasm_shown_name(&w->m, func));
    return w->shown[func];
}

uint32_t whammc_module_func_size(const WhammcModule *w, uint32_t func) {
    return has_body(w, func) ? w->m.funcs.at[func].body_size : 0;
}

static WhammcKind api_module_kind_of(uint8_t space) {
    WhammcKind kind = WHAMMC_FUNC;
    while (api_module_space_of(kind) != space)
        kind++;
    return kind;
}

bool whammc_module_import(WhammcModule *w, uint32_t n, WhammcExtern *out) {
    if (n >= w->m.input_import_count)
        return false;
    const WasmImport *i = &w->m.imports.at[n];
    *out = (WhammcExtern){api_module_text_of(w, i->module), api_module_text_of(w, i->name),
                          api_module_kind_of(i->space), i->handle};
    return true;
}

bool whammc_module_export(WhammcModule *w, uint32_t n, WhammcExtern *out) {
    if (n >= w->m.input_export_count)
        return false;
    const WasmExport *e = &w->m.exports.at[n];
    *out =
        (WhammcExtern){"", api_module_text_of(w, e->name), api_module_kind_of(e->space), e->handle};
    return true;
}

static const WasmTypeDef *api_module_func_type(const WhammcModule *w, uint32_t func) {
    return func < w->m.funcs.len ? wasm_func_type(&w->m, func) : NULL;
}

uint32_t whammc_module_func_params(const WhammcModule *w, uint32_t func) {
    const WasmTypeDef *d = api_module_func_type(w, func);
    return d ? d->nparams : 0;
}

uint32_t whammc_module_func_results(const WhammcModule *w, uint32_t func) {
    const WasmTypeDef *d = api_module_func_type(w, func);
    return d ? d->nresults : 0;
}

static WhammcType public_type(WasmType t) {
    if (!WASM_IS_REF(t))
        return (WhammcType)t;
    if (t == WASM_FUNCREF)
        return WHAMMC_FUNCREF;
    return t == WASM_REF(1, WASM_HEAP(WASM_HEAP_EXTERN)) ? WHAMMC_EXTERNREF : WHAMMC_OTHER_REF;
}

WhammcType whammc_module_func_param(const WhammcModule *w, uint32_t func, uint32_t k) {
    const WasmTypeDef *d = api_module_func_type(w, func);
    return d && k < d->nparams ? public_type(d->params[k]) : WHAMMC_VOID;
}

WhammcType whammc_module_func_result(const WhammcModule *w, uint32_t func, uint32_t k) {
    const WasmTypeDef *d = api_module_func_type(w, func);
    return d && k < d->nresults ? public_type(d->results[k]) : WHAMMC_VOID;
}

uint32_t whammc_module_find_export(const WhammcModule *w, WhammcKind kind, const char *name) {
    const WasmExport *e = wasm_find_export(&w->m, api_module_space_of(kind), str_of(name));
    return e ? e->handle : WHAMMC_NONE;
}

WhammcWalk *whammc_walk_new(const WhammcModule *w, uint32_t func) {
    if (!has_body(w, func))
        return NULL;
    WasmTypes locals = {0};
    const char *error;
    uint32_t at = wasm_func_locals(&w->m, func, &locals, &error);
    vec_free(&locals);
    WhammcWalk *walk = mem_zalloc(sizeof *walk);
    walk->code = wasm_code(wasm_func_body(&w->m, func), w->m.funcs.at[func].body_size, at);
    return walk;
}

/* How many of a, b, c, count are immediates that are numbers, by shape. */
static uint32_t api_module_put_imms(const WasmInstr *i, uint64_t imms[3]) {
    imms[0] = i->a;
    imms[1] = i->b;
    imms[2] = i->c;
    WasmImm imm = wasm_ops[i->op].imm;
    switch (imm) {
    case WASM_IMM_LANE: return 1;
    case WASM_IMM_MEMARG:
    case WASM_IMM_MEMARG_LANE: return 3;
    case WASM_IMM_I32:
    case WASM_IMM_I64:
    case WASM_IMM_F32:
    case WASM_IMM_F64: imms[0] = i->c; return 1;
    default: return wasm_imm_indices(imm);
    }
}

bool whammc_walk_next(WhammcWalk *walk, WhammcInstr *out) {
    WasmInstr i;
    if (!wasm_next(&walk->code, &i))
        return false;
    *out = (WhammcInstr){.offset = i.offset,
                         .size = i.size,
                         .mnemonic = wasm_ops[i.op].mnemonic,
                         .category = wasm_category_names[wasm_ops[i.op].category],
                         .bytes = walk->code.start + i.offset};
    out->nimms = api_module_put_imms(&i, out->imms);
    return true;
}

void whammc_walk_free(WhammcWalk *walk) {
    free(walk);
}

/* ---- attaching ---- */

static WasmType inner_type(WhammcType t) {
    return t == WHAMMC_FUNCREF || t == WHAMMC_EXTERNREF ? WASM_REF(1, WASM_HEAP((uint32_t)t))
                                                        : (WasmType)t;
}

static bool is_value_type(WhammcType t) {
    return (t >= WHAMMC_V128 && t <= WHAMMC_I32) || t == WHAMMC_FUNCREF || t == WHAMMC_EXTERNREF;
}

static bool api_module_check_types(WhammcModule *w, const WhammcType *types, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (!is_value_type(types[k]))
            return api_module_fail(w, "0x%02x is not a value type that can be added",
                                   (uint32_t)types[k]);
    return true;
}

/* The encoding is valid; types and indices are checked in the output. */
static bool check_code(WhammcModule *w, const WhammcCode *code) {
    WasmCode c = wasm_code(code->bytes.data, code->bytes.len, 0);
    WasmInstr i;
    while (wasm_next(&c, &i))
        continue;
    return !c.error || api_module_fail(w, "the code is malformed at its byte %u", c.error_offset);
}

static FuncEdit *func_edit(WhammcModule *w, uint32_t func) {
    if (!has_body(w, func)) {
        api_module_fail(w, "function %u has no body in the input", func);
        return NULL;
    }
    if (w->edits[func])
        return w->edits[func];
    FuncEdit *e = w->edits[func] = mem_zalloc(sizeof *e);
    WasmTypes locals = {0};
    const char *error;
    wasm_func_locals(&w->m, func, &locals, &error);
    e->own_locals = locals.len;
    vec_free(&locals);
    return e;
}

/* Whether an instruction begins at an offset. */
static bool is_instr(const WhammcModule *w, uint32_t func, FuncEdit *e, uint32_t offset) {
    uint32_t size = w->m.funcs.at[func].body_size;
    if (!e->starts) {
        e->starts = mem_zalloc(size);
        WhammcWalk *walk = whammc_walk_new(w, func);
        for (WasmInstr i; wasm_next(&walk->code, &i);)
            e->starts[i.offset] = 1;
        whammc_walk_free(walk);
    }
    return offset < size && e->starts[offset];
}

bool whammc_module_attach(WhammcModule *w, uint32_t func, uint32_t offset, WhammcWhere where,
                          const WhammcCode *code) {
    static const uint8_t wheres[] = {WASM_BEFORE, WASM_REPLACE, WASM_AFTER, WASM_ENTRY, WASM_EXIT};
    if ((uint32_t)where >= sizeof wheres)
        return api_module_fail(w, "unknown place %u", (uint32_t)where);
    FuncEdit *e = func_edit(w, func);
    if (!e || !check_code(w, code))
        return false;
    bool anywhere = where == WHAMMC_ENTRY || where == WHAMMC_EXIT;
    if (!anywhere && !is_instr(w, func, e, offset))
        return api_module_fail(w, "no instruction begins at offset %u", offset);
    bool last = offset == w->m.funcs.at[func].body_size - 1;
    if (where == WHAMMC_EXIT || (where == WHAMMC_AFTER && last))
        wasm_exit_block_type(&w->m, func);
    Piece p = {.at = anywhere ? 0 : offset,
               .order = e->pieces.len,
               .where = wheres[where],
               .code = (uint32_t)w->pieces.len,
               .len = (uint32_t)code->bytes.len};
    buf_bytes(&w->pieces, code->bytes.data, code->bytes.len);
    vec_push(&e->pieces, p);
    return true;
}

uint32_t whammc_module_add_local(WhammcModule *w, uint32_t func, WhammcType type) {
    FuncEdit *e = api_module_check_types(w, &type, 1) ? func_edit(w, func) : NULL;
    if (!e)
        return WHAMMC_NONE;
    vec_push(&e->locals, inner_type(type));
    return e->own_locals + e->locals.len - 1;
}

/* ---- adding ---- */

static bool can_import(WhammcModule *w) {
    return !w->m.layout.done || api_module_fail(w, "imports cannot be added after the first write");
}

static bool check_func_type(WhammcModule *w, uint32_t type) {
    return (type < w->m.types.len && w->m.types.at[type].kind == WASM_TYPE_FUNC) ||
           api_module_fail(w, "there is no function type %u", type);
}

uint32_t whammc_module_add_type(WhammcModule *w, const WhammcType *params, uint32_t nparams,
                                const WhammcType *results, uint32_t nresults) {
    if (!api_module_check_types(w, params, nparams) ||
        !api_module_check_types(w, results, nresults))
        return WHAMMC_NONE;
    WasmTypes all = {0};
    for (uint32_t k = 0; k < nparams; k++)
        vec_push(&all, inner_type(params[k]));
    for (uint32_t k = 0; k < nresults; k++)
        vec_push(&all, inner_type(results[k]));
    const WasmType *rest = all.at ? all.at + nparams : NULL;
    uint32_t handle = wasm_add_func_type(&w->m, all.at, nparams, rest, nresults);
    vec_free(&all);
    return handle;
}

uint32_t whammc_module_import_func(WhammcModule *w, const char *module, const char *name,
                                   uint32_t type) {
    if (!can_import(w) || !check_func_type(w, type))
        return WHAMMC_NONE;
    return wasm_add_import_func(&w->m, str_of(module), str_of(name), type);
}

uint32_t whammc_module_import_global(WhammcModule *w, const char *module, const char *name,
                                     WhammcType type, bool mutable_) {
    if (!can_import(w) || !api_module_check_types(w, &type, 1))
        return WHAMMC_NONE;
    return wasm_add_import_global(&w->m, str_of(module), str_of(name), inner_type(type), mutable_);
}

static WasmLimits api_module_limits(uint32_t min, uint32_t max) {
    bool has_max = max != UINT32_MAX;
    return (WasmLimits){.min = min, .max = has_max ? max : 0, .has_max = has_max, .page_log2 = 16};
}

uint32_t whammc_module_import_memory(WhammcModule *w, const char *module, const char *name,
                                     uint32_t min, uint32_t max) {
    if (!can_import(w))
        return WHAMMC_NONE;
    return wasm_add_import_memory(&w->m, str_of(module), str_of(name), api_module_limits(min, max));
}

uint32_t whammc_module_add_func(WhammcModule *w, uint32_t type, const char *name,
                                const WhammcType *locals, uint32_t nlocals,
                                const WhammcCode *code) {
    if (!check_func_type(w, type) || !api_module_check_types(w, locals, nlocals) ||
        !check_code(w, code))
        return WHAMMC_NONE;
    Buf body = {0};
    buf_uleb(&body, nlocals);
    for (uint32_t k = 0; k < nlocals; k++) {
        buf_uleb(&body, 1);
        wasm_put_type(&body, inner_type(locals[k]));
    }
    buf_bytes(&body, code->bytes.data, code->bytes.len);
    wasm_put_op(&body, WASM_OP_END);
    return wasm_add_func(&w->m, type, str_of(name), &body, false);
}

uint32_t whammc_module_add_global(WhammcModule *w, WhammcType type, bool mutable_, const char *name,
                                  uint64_t value) {
    if (!api_module_check_types(w, &type, 1))
        return WHAMMC_NONE;
    WhammcCode init = {{0}};
    switch (type) {
    case WHAMMC_I32: whammc_code_op(&init, "i32.const", &value, 1); break;
    case WHAMMC_I64: whammc_code_op(&init, "i64.const", &value, 1); break;
    case WHAMMC_F32: whammc_code_op(&init, "f32.const", &value, 1); break;
    case WHAMMC_F64: whammc_code_op(&init, "f64.const", &value, 1); break;
    default: return wasm_add_global_zero(&w->m, inner_type(type), mutable_, str_of(name));
    }
    wasm_put_op(&init.bytes, WASM_OP_END);
    return wasm_add_global(&w->m, inner_type(type), mutable_, str_of(name), &init.bytes);
}

uint32_t whammc_module_add_memory(WhammcModule *w, uint32_t min, uint32_t max, const char *name) {
    return wasm_add_memory(&w->m, api_module_limits(min, max), str_of(name));
}

uint32_t whammc_module_add_data(WhammcModule *w, uint32_t memory, uint64_t offset,
                                const void *bytes, size_t size) {
    if (memory >= w->m.memories.len) {
        api_module_fail(w, "there is no memory %u", memory);
        return WHAMMC_NONE;
    }
    Buf content = {0};
    buf_bytes(&content, bytes, size);
    return wasm_add_data_active(&w->m, memory, offset, &content, STR(""));
}

uint32_t whammc_module_add_passive_data(WhammcModule *w, const void *bytes, size_t size) {
    Buf content = {0};
    buf_bytes(&content, bytes, size);
    return wasm_add_data_passive(&w->m, &content, STR(""));
}

bool whammc_module_add_export(WhammcModule *w, const char *name, WhammcKind kind, uint32_t handle) {
    WasmSpace space = api_module_space_of(kind);
    if (kind == WHAMMC_DATA || handle >= wasm_space_count(&w->m, space))
        return api_module_fail(w, "there is nothing with handle %u to export", handle);
    if (!w->exports.len)
        for (uint32_t k = 0; k < w->m.exports.len; k++)
            map_put(&w->exports, w->m.exports.at[k].name, 0, NULL);
    bool added;
    map_put(&w->exports, str_of(name), 0, &added);
    if (!added)
        return api_module_fail(w, "an export of this name is there already");
    wasm_add_export(&w->m, str_of(name), space, handle);
    return true;
}

uint32_t whammc_module_start(const WhammcModule *w) {
    return w->m.start < 0 ? WHAMMC_NONE : (uint32_t)w->m.start;
}

void whammc_module_set_start(WhammcModule *w, uint32_t func) {
    if (func < w->m.funcs.len)
        wasm_set_start(&w->m, func);
}
