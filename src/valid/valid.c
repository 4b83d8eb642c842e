/*
 * valid/valid.c - validation of a whole module: sections, constant expressions, bodies.
 *
 * The reader guarantees that indices outside of code exist and that byte ranges lie in the file;
 * this file checks types and limits. After a fault in a section the others are still checked, but
 * bodies are only checked if the sections are good.
 */
#include "valid/valid.h"
#include "base/phase.h"
#include "base/work_queue.h"
#include "valid/frame.h"
#include "valid/signature.h"
#include "valid/subtype.h"
#include "valid/typer.h"
#include "wasm/read.h"
#include "wasm/remap.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct Valid {
    WasmModule *m;
    Diags *diags;
    WasmTyper typer;
    Buf refs;             /* WasmModule.func_refs of the bodies that this one has checked */
    const WasmKept *kept; /* bodies to leave out, or NULL */
    bool exact;           /* the module names exact types */
    bool ok;
} Valid;

/* ---- messages ---- */

static void valid_report(Valid *v, DiagTag tag, uint32_t offset, uint32_t len, const char *format,
                         ...) __attribute__((format(printf, 5, 6)));
static void valid_report(Valid *v, DiagTag tag, uint32_t offset, uint32_t len, const char *format,
                         ...) {
    char text[320];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    diag(v->diags, tag, (Span){v->m->file, offset, offset + len}, "%s", text);
    v->ok = false;
}

/* The file offset of a section's contents; 0 if there is none. */
static uint32_t section_offset(const WasmModule *m, uint8_t id) {
    for (uint32_t k = 0; k < m->sections.len; k++)
        if (m->sections.at[k].id == id)
            return m->sections.at[k].payload;
    return 0;
}

/* Where an entity came from: the section that defines it, or the imports. */
static uint32_t entity_offset(const WasmModule *m, int32_t import, uint8_t id) {
    return section_offset(m, import >= 0 ? WASM_SEC_IMPORT : id);
}

/* ---- types ---- */

static bool field_fits(const WasmModule *m, const WasmField *sub, const WasmField *super) {
    if (sub->mutable != super->mutable || !wasm_subtype(m, sub->type, super->type))
        return false;
    return !sub->mutable || wasm_subtype(m, super->type, sub->type);
}

/* Structural match of a definition with its declared supertype. */
static bool def_fits(const WasmModule *m, const WasmTypeDef *sub, const WasmTypeDef *super) {
    if (sub->kind != super->kind)
        return false;
    if (sub->kind == WASM_TYPE_FUNC) {
        WasmTypeList p = {sub->params, sub->nparams}, sp = {super->params, super->nparams};
        WasmTypeList r = {sub->results, sub->nresults}, sr = {super->results, super->nresults};
        return wasm_subtypes(m, sp, p) && wasm_subtypes(m, r, sr);
    }
    if (sub->nfields < super->nfields)
        return false;
    for (uint32_t k = 0; k < super->nfields; k++)
        if (!field_fits(m, &sub->fields[k], &super->fields[k]))
            return false;
    return true;
}

/* Whether the descriptor of a type, or the type that it describes, is as it has to be: `index` says
 * which, `back` what its clause says. */
static bool clause_fits(const WasmModule *m, const WasmTypeDef *d, uint32_t own, uint32_t index,
                        bool has_back, uint32_t back) {
    return index >= d->group && index - d->group < d->group_len && has_back && back == own &&
           d->kind == WASM_TYPE_STRUCT && m->types.at[index].kind == WASM_TYPE_STRUCT;
}

/* As the supertype's: the descriptors of a type's subtypes are of subtypes of its descriptor. */
static bool descriptors_fit(const WasmModule *m, const WasmTypeDef *sub, const WasmTypeDef *super) {
    if (sub->is_descriptor != super->is_descriptor || sub->has_descriptor < super->has_descriptor)
        return false;
    return (!super->is_descriptor ||
            wasm_subtype(m, WASM_REF(0, sub->describes), WASM_REF(0, super->describes))) &&
           (!super->has_descriptor ||
            wasm_subtype(m, WASM_REF(0, sub->descriptor), WASM_REF(0, super->descriptor)));
}

static void check_clauses(Valid *v, uint32_t index) {
    const WasmModule *m = v->m;
    const WasmTypeDef *d = &m->types.at[index];
    const WasmTypeDef *other = &m->types.at[d->descriptor];
    uint32_t at = section_offset(m, WASM_SEC_TYPE);
    if (d->has_descriptor &&
        !clause_fits(m, d, index, d->descriptor, other->is_descriptor, other->describes))
        valid_report(v, DIAG_INVALID, at, 0,
                     "type %u: expected a structure of the same recursion group that describes it "
                     "as descriptor, found type %u",
                     index, d->descriptor);
    other = &m->types.at[d->describes];
    if (d->is_descriptor &&
        (d->describes >= index ||
         !clause_fits(m, d, index, d->describes, other->has_descriptor, other->descriptor)))
        valid_report(v, DIAG_INVALID, at, 0,
                     "type %u: expected an earlier structure of the same recursion group whose "
                     "descriptor it is, found type %u",
                     index, d->describes);
}

static bool valid_is_func_type(const WasmModule *m, WasmType ref) {
    uint32_t index;
    return wasm_heap_index(ref, &index) && m->types.at[index].kind == WASM_TYPE_FUNC;
}

/* How many supertypes a type has; at most one more than there may be. */
static uint32_t super_depth(const WasmModule *m, const WasmTypeDef *d) {
    uint32_t depth = 0;
    for (; d->has_super && depth <= WASM_MAX_SUBTYPE_DEPTH; depth++)
        d = &m->types.at[d->super];
    return depth;
}

static void check_def(Valid *v, uint32_t index) {
    const WasmModule *m = v->m;
    const WasmTypeDef *d = &m->types.at[index];
    uint32_t at = section_offset(m, WASM_SEC_TYPE);
    char text[32];
    if (d->nparams > WASM_MAX_ARITY || d->nresults > WASM_MAX_ARITY)
        valid_report(v, DIAG_INVALID, at, 0,
                     "type %u has %u parameters and %u results, engines allow %d of each", index,
                     d->nparams, d->nresults, WASM_MAX_ARITY);
    if (d->nfields > WASM_MAX_FIELDS)
        valid_report(v, DIAG_INVALID, at, 0, "type %u has %u fields, engines allow %d", index,
                     d->nfields, WASM_MAX_FIELDS);
    if (d->kind == WASM_TYPE_CONT && !valid_is_func_type(m, d->fields[0].type))
        valid_report(v, DIAG_INVALID, at, 0,
                     "type %u: expected the type of a function for a continuation, found %s", index,
                     wasm_type_words(d->fields[0].type, text));
    if (d->has_descriptor || d->is_descriptor)
        check_clauses(v, index);
    if (!d->has_super)
        return;
    const WasmTypeDef *super = &m->types.at[d->super];
    if (super->final)
        valid_report(v, DIAG_INVALID, at, 0, "type %u has the supertype %u, which is final", index,
                     d->super);
    else if (super_depth(m, d) > WASM_MAX_SUBTYPE_DEPTH)
        valid_report(v, DIAG_INVALID, at, 0,
                     "type %u has more than the %d supertypes that engines allow", index,
                     WASM_MAX_SUBTYPE_DEPTH);
    else if (!def_fits(m, d, super) || !descriptors_fit(m, d, super))
        valid_report(v, DIAG_INVALID, at, 0, "type %u does not match its supertype %u", index,
                     d->super);
}

static void valid_check_types(Valid *v, uint32_t first) {
    for (uint32_t k = first; k < v->m->types.len; k++)
        check_def(v, k);
}

/* ---- constant expressions ---- */

/* Why an instruction cannot be in a constant expression, or NULL. `globals`: how many can be used.
 */
static const char *not_constant(const WasmModule *m, const WasmInstr *i, uint32_t globals) {
    switch (i->op) {
    case WASM_OP_GLOBAL_GET:
        if (i->a >= m->globals.len)
            return NULL; /* the typer says so */
        if (i->a >= globals)
            return "the global is defined later";
        return m->globals.at[i->a].mutable ? "the global is mutable" : NULL;
    case WASM_OP_END:
    case WASM_OP_I32_CONST:
    case WASM_OP_I64_CONST:
    case WASM_OP_F32_CONST:
    case WASM_OP_F64_CONST:
    case WASM_OP_V128_CONST:
    case WASM_OP_I32_ADD:
    case WASM_OP_I32_SUB:
    case WASM_OP_I32_MUL:
    case WASM_OP_I64_ADD:
    case WASM_OP_I64_SUB:
    case WASM_OP_I64_MUL:
    case WASM_OP_REF_NULL:
    case WASM_OP_REF_FUNC:
    case WASM_OP_REF_I31:
    case WASM_OP_STRUCT_NEW:
    case WASM_OP_STRUCT_NEW_DEFAULT:
    case WASM_OP_STRUCT_NEW_DESC:
    case WASM_OP_STRUCT_NEW_DEFAULT_DESC:
    case WASM_OP_ARRAY_NEW:
    case WASM_OP_ARRAY_NEW_DEFAULT:
    case WASM_OP_ARRAY_NEW_FIXED:
    case WASM_OP_ANY_CONVERT_EXTERN:
    case WASM_OP_EXTERN_CONVERT_ANY: return NULL;
    default: return "not a constant instruction";
    }
}

/* The typer's message. Where the module does not name exact types, its types are not called exact.
 */
static const char *typer_error(Valid *v, const WasmCode *code) {
    char *text = v->typer.error;
    v->exact |= code->exact;
    for (char *at, *end; !v->exact && (at = strstr(text, "(exact ")) && (end = strchr(at, ')'));) {
        char *index = at + strlen("(exact ");
        memmove(at, index, (size_t)(end - index));
        memmove(at + (end - index), end + 1, strlen(end));
    }
    return text;
}

/* Checks the expression at file offset `at` and returns the offset after its end; 0 if it is not
 * valid. */
static uint32_t valid_check_expr(Valid *v, uint32_t at, WasmType type, uint32_t globals,
                                 const char *what, uint32_t index) {
    WasmModule *m = v->m;
    WasmTyper *t = &v->typer;
    WasmCode code = wasm_code(m->bytes, m->size, at);
    WasmInstr i;
    char text[WASM_CODE_ERROR_SIZE];
    wasm_typer_begin_expr(t, m, type);
    while (t->frames.len && wasm_next(&code, &i)) {
        const char *why = not_constant(m, &i, globals);
        if (why) {
            valid_report(v, DIAG_INVALID, i.offset, i.size, "%s %u: constant expression: %s: %s",
                         what, index, wasm_ops[i.op].mnemonic, why);
            return 0;
        }
        if (!wasm_typer_step(t, &i)) {
            valid_report(v, DIAG_INVALID, i.offset, i.size, "%s %u: constant expression: %s", what,
                         index, typer_error(v, &code));
            return 0;
        }
        if (i.op == WASM_OP_REF_FUNC)
            m->declared[i.a] = 1;
    }
    if (t->frames.len) {
        const char *error = wasm_code_error(&code, text);
        valid_report(v, DIAG_MALFORMED, error ? code.error_offset : at, 0,
                     "%s %u: constant expression: %s", what, index,
                     error ? error : "unexpected end");
        return 0;
    }
    return (uint32_t)(code.at - code.start);
}

/* ---- limits ---- */

static void check_limits(Valid *v, const WasmLimits *l, uint64_t bound, uint32_t at,
                         const char *what, uint32_t index) {
    if (l->has_max && l->max < l->min)
        valid_report(v, DIAG_INVALID, at, 0,
                     "%s %u: the minimum size %llu is greater than the maximum %llu", what, index,
                     (unsigned long long)l->min, (unsigned long long)l->max);
    uint64_t most = l->has_max && l->max > l->min ? l->max : l->min;
    if (most > bound)
        valid_report(v, DIAG_INVALID, at, 0, "%s %u: size %llu, at most %llu is possible", what,
                     index, (unsigned long long)most, (unsigned long long)bound);
}

static void valid_check_memories(Valid *v) {
    const WasmModule *m = v->m;
    for (uint32_t k = 0; k < m->memories.len; k++) {
        const WasmLimits *l = &m->memories.at[k].limits;
        uint32_t at = entity_offset(m, m->memories.at[k].import, WASM_SEC_MEMORY);
        if (l->page_log2 != 0 && l->page_log2 != 16) {
            valid_report(v, DIAG_INVALID, at, 0,
                         "memory %u: page size 2^%u, only 1 and 65536 are possible", k,
                         l->page_log2);
            continue;
        }
        uint64_t bytes = l->is64 ? UINT64_MAX : UINT32_MAX; /* the highest address */
        uint64_t pages = l->page_log2 ? (bytes >> 16) + 1 : bytes;
        check_limits(v, l, pages, at, "memory", k);
        if (l->shared && !l->has_max)
            valid_report(v, DIAG_INVALID, at, 0, "memory %u: a shared memory needs a maximum size",
                         k);
    }
}

static void check_tables(Valid *v) {
    const WasmModule *m = v->m;
    for (uint32_t k = 0; k < m->tables.len; k++) {
        const WasmTable *t = &m->tables.at[k];
        uint32_t at = entity_offset(m, t->import, WASM_SEC_TABLE);
        check_limits(v, &t->limits, t->limits.is64 ? UINT64_MAX : UINT32_MAX, at, "table", k);
        char text[32];
        if (t->init)
            valid_check_expr(v, t->init, t->type, m->input_imports[WASM_SPACE_GLOBAL], "table", k);
        else if (t->import < 0 && !wasm_defaultable(t->type))
            valid_report(v, DIAG_INVALID, at, 0,
                         "table %u: elements of type %s need an initial value", k,
                         wasm_type_words(t->type, text));
    }
}

/* ---- the other sections ---- */

static void valid_check_globals(Valid *v) {
    const WasmModule *m = v->m;
    for (uint32_t k = 0; k < m->globals.len; k++) {
        const WasmGlobal *g = &m->globals.at[k];
        if (!g->imported && g->init && !g->constant)
            valid_check_expr(v, g->init, g->type, k, "global", k);
    }
}

static void check_exports(Valid *v) {
    WasmModule *m = v->m;
    Map names = {0};
    for (uint32_t k = 0; k < m->exports.len; k++) {
        const WasmExport *e = &m->exports.at[k];
        bool added;
        map_put(&names, e->name, k, &added);
        if (!added)
            valid_report(v, DIAG_INVALID, (uint32_t)((const uint8_t *)e->name.ptr - m->bytes),
                         e->name.len, "two exports have the name \"%.*s\"",
                         e->name.len > 100 ? 100 : (int)e->name.len, e->name.ptr);
        if (e->space == WASM_SPACE_FUNC)
            m->declared[e->handle] = 1;
    }
    map_free(&names);
}

static void check_start(Valid *v) {
    const WasmModule *m = v->m;
    if (m->start < 0)
        return;
    const WasmTypeDef *d = wasm_func_type(m, (uint32_t)m->start);
    if (d->nparams || d->nresults)
        valid_report(
            v, DIAG_INVALID, section_offset(m, WASM_SEC_START), 0,
            "the start function %u must have neither parameters nor results, it has %u and %u",
            (uint32_t)m->start, d->nparams, d->nresults);
}

static void check_elem(Valid *v, uint32_t index) {
    WasmModule *m = v->m;
    const WasmElem *e = &m->elems.at[index];
    char a[32], b[32];
    if (e->mode == WASM_ACTIVE) {
        const WasmTable *t = &m->tables.at[e->table];
        if (!wasm_subtype(m, e->type, t->type))
            valid_report(
                v, DIAG_INVALID, e->offset, e->offset_len,
                "element segment %u: expected elements of type %s as in table %u, found %s", index,
                wasm_type_words(t->type, a), e->table, wasm_type_words(e->type, b));
        valid_check_expr(v, e->offset, wasm_table_address(m, e->table), m->globals.len,
                         "element segment", index);
    }
    uint32_t at = e->items;
    const uint8_t *p = m->bytes + e->items;
    for (uint32_t k = 0; k < e->count && at; k++) {
        if (e->exprs)
            at = valid_check_expr(v, at, e->type, m->globals.len, "element segment", index);
        else
            m->declared[wasm_vec_u32(&p)] = 1;
    }
}

static void valid_check_datas(Valid *v) {
    const WasmModule *m = v->m;
    for (uint32_t k = 0; k < m->datas.len; k++) {
        const WasmData *d = &m->datas.at[k];
        if (d->mode == WASM_ACTIVE && d->constant != wasm_memory_address(m, d->memory))
            valid_check_expr(v, d->offset, wasm_memory_address(m, d->memory), m->globals.len,
                             "data segment", k);
    }
}

/* ---- bodies ---- */

/* "function 12 (main)", the name in quotes if there is one. */
static const char *func_words(const WasmModule *m, uint32_t func, char buf[120]) {
    Str name = wasm_func_name(m, func);
    if (name.len)
        snprintf(buf, 120, "function %u (%.*s%s)", func, name.len > 80 ? 80 : (int)name.len,
                 name.ptr, name.len > 80 ? "..." : "");
    else
        snprintf(buf, 120, "function %u", func);
    return buf;
}

/* An error at a code offset, the `pc` of scripts. */
static void report_code(Valid *v, DiagTag tag, uint32_t func, uint32_t offset, uint32_t len,
                        const char *what) {
    char name[120];
    valid_report(v, tag, v->m->funcs.at[func].body + offset, len, "%s at code offset %u: %s",
                 func_words(v->m, func, name), offset, what);
}

static inline void valid_note(WasmNotes *n, const WasmInstr *i) {
    n->seen[i->op] = 1;
    if (wasm_op_spaces[i->op] & 1u << WASM_SPACE_FUNC)
        wasm_note_ref(n, i->offset);
}

/* The kinds whose items are 1. */
static WasmOpSet op_set(const uint8_t seen[WASM_OP_SET_SIZE]) {
    WasmOpSet set = {0};
    for (uint32_t k = 0; k < WASM_OP_SET_SIZE; k += 8) /* eight bytes become eight bits */
        set.bits[k / 64] |= u64le(seen + k) * 0x0102040810204080 >> 56 << k % 64;
    return set;
}

static void check_body(Valid *v, uint32_t func) {
    WasmModule *m = v->m;
    WasmTyper *t = &v->typer;
    WasmCode code;
    WasmInstr i;
    char name[120], text[WASM_CODE_ERROR_SIZE];
    WasmNotes notes = {.refs = &v->refs};
    uint32_t body = m->funcs.at[func].body;
    if (!wasm_typer_begin(t, m, func, &code)) {
        valid_report(v, DIAG_MALFORMED, body, 0, "%s: %s", func_words(m, func, name), t->error);
        return;
    }
    m->funcs.at[func].refs = (uint32_t)v->refs.len;
    while (wasm_typer_run(t, &code, &notes), wasm_next(&code, &i)) {
        if (!wasm_typer_step(t, &i)) {
            report_code(v, DIAG_INVALID, func, i.offset, i.size, typer_error(v, &code));
            return;
        }
        valid_note(&notes, &i);
    }
    m->funcs.at[func].refs_end = (uint32_t)v->refs.len;
    v->exact |= code.exact;
    if (m->ops)
        m->ops[func] = op_set(notes.seen);
    if (code.error)
        report_code(v, DIAG_MALFORMED, func, code.error_offset, 0, wasm_code_error(&code, text));
    else if (!wasm_typer_end(t))
        report_code(v, DIAG_MALFORMED, func, t->error_offset, 0, t->error);
}

/* All functions that could be referred to still can be. */
static bool declares_as_before(const WasmModule *m, const WasmModule *from) {
    for (uint32_t k = 0; k < from->input_count[WASM_SPACE_FUNC]; k++)
        if (from->declared[k] && !m->declared[wasm_entered(from, k)])
            return false;
    return true;
}

/* The bodies that are kept, NULL = none; the first n bodies of the code section are requested. */
static const bool *kept_bodies(const Valid *v, uint32_t *n) {
    const WasmKept *kept = v->kept;
    if (!kept || !declares_as_before(v->m, kept->from))
        return NULL;
    *n = kept->from->input_count[WASM_SPACE_FUNC] - kept->from->input_imports[WASM_SPACE_FUNC];
    return kept->bodies;
}

/* The bodies of functions [from, to); stops after as many errors as are shown. */
static void valid_check_range(Valid *v, const bool *kept, uint32_t nkept, uint32_t from,
                              uint32_t to) {
    uint32_t limit = v->diags->max_errors ? v->diags->max_errors : 20;
    uint32_t imports = v->m->input_imports[WASM_SPACE_FUNC];
    for (uint32_t k = from; k < to && v->diags->errors < limit; k++)
        if (v->m->funcs.at[k].import < 0 && !(kept && k - imports < nkept && kept[k - imports]))
            check_body(v, k);
}

/* All but bodies and data segments; v->ok tells. */
static void valid_check_sections(Valid *v) {
    WasmModule *m = v->m;
    m->declared = mem_zalloc(m->funcs.len + 1);
    v->exact = m->exact;
    m->exact = true; /* until it is known whether code names exact types */
    if (!v->kept)
        m->ops = mem_zalloc((m->funcs.len + 1) * sizeof *m->ops);
    valid_check_types(v, 0);
    valid_check_memories(v);
    check_tables(v);
    valid_check_globals(v);
    check_exports(v);
    check_start(v);
    for (uint32_t k = 0; k < m->elems.len; k++)
        check_elem(v, k);
}

/* All bodies that are not kept; stops after diags' limit. */
static void check_bodies(Valid *v) {
    uint32_t nkept;
    const bool *kept = kept_bodies(v, &nkept);
    valid_check_range(v, kept, nkept, 0, v->m->funcs.len);
    v->m->func_refs = v->refs;
    v->m->has_func_refs = v->ok && !kept;
}

/* ---- loading ---- */

/* The data segments that are kept: all of the input. */
static WasmKeptDatas kept_datas(const WasmKept *kept) {
    WasmKeptDatas datas = {0};
    if (!kept || !kept->datas)
        return datas;
    const WasmModule *m = kept->from;
    datas.count = m->input_count[WASM_SPACE_DATA];
    for (uint32_t k = 0; k < m->sections.len; k++)
        if (m->sections.at[k].id == WASM_SEC_DATA) {
            const uint8_t *items = m->bytes + m->sections.at[k].payload;
            wasm_uleb(&items);
            datas.size = (uint32_t)(m->bytes + m->sections.at[k].end - items);
        }
    return datas;
}

/* On this thread, with messages. */
static bool load_here(WasmUnvalidated *u, const uint8_t *bytes, size_t size, DiagFileId file,
                      const WasmKept *kept, Diags *diags) {
    WasmKeptDatas datas = kept_datas(kept);
    Phase before = phase_begin(PHASE_READ);
    bool ok = wasm_read(u, bytes, size, file, &datas, diags);
    phase_begin(PHASE_VALIDATE);
    Valid v = {.m = &u->m, .diags = diags, .kept = kept, .ok = ok};
    if (ok) {
        valid_check_sections(&v);
        valid_check_datas(&v);
    }
    if (v.ok)
        check_bodies(&v);
    u->m.exact = v.exact;
    wasm_typer_free(&v.typer);
    phase_end(before);
    return v.ok;
}

/* ---- on threads ---- */

/* Functions one after the other that one thread checks. */
typedef struct Part {
    uint32_t from, to;
    Buf refs;
    bool exact, ok;
} Part;

/* The data segments are item 0, bodies the others. */
typedef struct Parts {
    WasmUnvalidated *u;
    const bool *kept;
    uint32_t nkept;
    bool datas; /* they are well-formed */
    Vec(Part) at;
} Parts;

static void check_part(void *ctx, uint32_t worker, uint32_t item) {
    Parts *parts = ctx;
    (void)worker;
    if (item == 0) {
        parts->datas = wasm_read_datas(parts->u);
        return;
    }
    Part *part = &parts->at.at[item - 1];
    Diags first = {.max_errors = 1}; /* whoever finds one starts again to tell of all */
    Valid v = {.m = &parts->u->m, .diags = &first, .ok = true};
    valid_check_range(&v, parts->kept, parts->nkept, part->from, part->to);
    wasm_typer_free(&v.typer);
    diag_free(&first);
    part->refs = v.refs;
    part->exact = v.exact;
    part->ok = v.ok;
}

static void valid_divide(Parts *parts) {
    enum { PART = 256 << 10 }; /* bytes of code: so many need no further thread */
    const WasmModule *m = &parts->u->m;
    uint32_t size = PART;
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        if (size >= PART) {
            vec_push(&parts->at, ((Part){.from = k}));
            size = 0;
        }
        size += m->funcs.at[k].body_size;
        vec_last(&parts->at).to = k + 1;
    }
}

/* Joins the references collected by threads. */
static void join_refs(const Parts *parts, Buf *refs) {
    WasmModule *m = &parts->u->m;
    for (uint32_t i = 0; i < parts->at.len; i++) {
        Part *part = &parts->at.at[i];
        for (uint32_t k = part->from; k < part->to; k++) {
            m->funcs.at[k].refs += (uint32_t)refs->len;
            m->funcs.at[k].refs_end += (uint32_t)refs->len;
        }
        if (part->refs.len)
            buf_bytes(refs, part->refs.data, part->refs.len);
    }
}

/* The steps before, during and after the work of threads. */
static bool check_on(WorkQueue *q, Parts *parts, Valid *v) {
    bool ok = wasm_read_code(parts->u);
    phase_begin(PHASE_VALIDATE);
    if (ok)
        valid_check_sections(v);
    ok &= v->ok;
    if (ok) {
        parts->kept = kept_bodies(v, &parts->nkept);
        valid_divide(parts);
        work_queue_allow(q, 1 + parts->at.len);
    }
    for (uint32_t i = 0; i < 1 + parts->at.len; i++)
        work_queue_wait(q, i);
    for (uint32_t i = 0; i < parts->at.len; i++) {
        ok &= parts->at.at[i].ok;
        v->exact |= parts->at.at[i].exact;
    }
    if (!ok || !parts->datas || !wasm_read_rest(parts->u))
        return false;
    valid_check_datas(v);
    join_refs(parts, &v->m->func_refs);
    v->m->exact = v->exact;
    v->m->has_func_refs = !parts->kept;
    return v->ok;
}

/* False if it is not valid, without a message. */
static bool load_on(uint32_t threads, WasmUnvalidated *u, const uint8_t *bytes, size_t size,
                    DiagFileId file, const WasmKept *kept) {
    WasmKeptDatas datas = kept_datas(kept);
    Phase before = phase_begin(PHASE_READ);
    Diags none = {0};
    Parts parts = {.u = u};
    Valid v = {.m = &u->m, .diags = &none, .kept = kept, .ok = true};
    bool ok = wasm_read_apart(u, bytes, size, file, &datas);
    if (ok) {
        WorkQueue *q = work_queue_new(threads, check_part, &parts);
        work_queue_give(q, 1);
        ok = check_on(q, &parts, &v);
        work_queue_free(q);
    }
    for (uint32_t i = 0; i < parts.at.len; i++)
        buf_free(&parts.at.at[i].refs);
    vec_free(&parts.at);
    wasm_typer_free(&v.typer);
    diag_free(&none);
    phase_end(before);
    return ok;
}

/* ---- the interface ---- */

static bool valid_load(WasmModule *m, const uint8_t *bytes, size_t size, DiagFileId file,
                       const WasmKept *kept, uint32_t threads, Diags *diags) {
#ifdef NDEBUG
    enum { LARGE = 1 << 20 };
#else
    enum { LARGE = 0 };
#endif
    WasmUnvalidated u;
    bool several = threads > 1 && size > LARGE;
    bool ok = several && load_on(threads, &u, bytes, size, file, kept);
    if (!ok) {
        if (several)
            wasm_unvalidated_free(&u);
        ok = load_here(&u, bytes, size, file, kept, diags);
    }
    wasm_read_done(&u, m);
    if (!ok) {
        wasm_module_free(m);
        wasm_module_init(m);
    }
    return ok;
}

bool wasm_check_types(WasmModule *m, uint32_t first, Diags *diags) {
    Valid v = {.m = m, .diags = diags, .ok = true};
    valid_check_types(&v, first);
    valid_check_memories(&v);
    check_tables(&v);
    wasm_typer_free(&v.typer);
    return v.ok;
}

bool wasm_load(WasmModule *m, const uint8_t *bytes, size_t size, DiagFileId file, Diags *diags) {
    return valid_load(m, bytes, size, file, NULL, 1, diags);
}

bool wasm_load_program(WasmModule *m, const uint8_t *bytes, size_t size, DiagFileId file,
                       uint32_t threads, Diags *diags) {
    return valid_load(m, bytes, size, file, NULL, threads, diags);
}

bool wasm_load_output(WasmModule *m, const uint8_t *bytes, size_t size, const WasmKept *kept,
                      uint32_t threads, Diags *diags) {
#ifndef NDEBUG
    bool all = valid_load(m, bytes, size, 0, NULL, threads, diags);
    wasm_module_free(m);
    if (!all) {
        wasm_module_init(m);
        return false;
    }
#endif
    return valid_load(m, bytes, size, 0, kept, threads, diags);
}

bool wasm_load_own(WasmModule *m, const uint8_t *bytes, size_t size, Diags *diags) {
    WasmUnvalidated u;
    bool ok = wasm_read(&u, bytes, size, 0, NULL, diags);
    wasm_read_done(&u, m);
    return ok;
}

void wasm_load_again(WasmModule *m, const uint8_t *bytes, size_t size) {
    Diags none = {0};
    bool ok = wasm_load_own(m, bytes, size, &none);
    assert(ok);
    (void)ok;
    diag_free(&none);
}
