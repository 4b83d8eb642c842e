/*
 * wasm/read.c - reading modules: the sections' contents become tables, with the file offsets that
 * the writer needs to copy the bytes and to patch indices in them.
 *
 * Postconditions: every index outside of code names something that exists, functions have function
 * types, and every byte range lies in the file. Types of expressions are the validator's.
 */
#include "wasm/read.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- errors and basic items ---- */

bool wasm_read_fail(WasmReader *r, DiagTag tag, const uint8_t *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char text[160];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    uint32_t offset = (uint32_t)(at - r->m->bytes);
    Span span = {r->m->file, offset, offset};
    if (r->section)
        diag(r->diags, tag, span, "%s, in the %s section", text, r->section);
    else
        diag(r->diags, tag, span, "%s", text);
    return false;
}

bool wasm_read_error(WasmReader *r) {
    char text[WASM_CODE_ERROR_SIZE];
    const char *what = wasm_code_error(&r->c, text);
    return wasm_read_fail(r, DIAG_MALFORMED, r->m->bytes + r->c.error_offset, "%s", what);
}

bool wasm_read_u32(WasmReader *r, uint32_t *v) {
    return wasm_get_u32(&r->c, v) || wasm_read_error(r);
}

bool wasm_read_count(WasmReader *r, uint32_t *v) {
    const uint8_t *at = r->c.at;
    if (!wasm_read_u32(r, v))
        return false;
    if (*v > (size_t)(r->c.end - r->c.at))
        return wasm_read_fail(r, DIAG_MALFORMED, at,
                              "unexpected end: %u items are announced, but only %zu bytes follow",
                              *v, (size_t)(r->c.end - r->c.at));
    return true;
}

bool wasm_read_flag(WasmReader *r, uint8_t limit, const char *what, uint8_t *v) {
    const uint8_t *at = r->c.at;
    if (!wasm_get_u8(&r->c, v))
        return wasm_read_error(r);
    return *v < limit || wasm_read_fail(r, DIAG_MALFORMED, at, "malformed %s 0x%02x%s", what, *v,
                                        wasm_proposal(what, 0, *v));
}

/* Well-formed UTF-8: no overlong forms, surrogates or code points past U+10FFFF. */
static bool read_is_utf8(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        uint8_t b = *p++;
        if (b < 0x80)
            continue;
        uint32_t more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : 1;
        if (b < 0xc2 || b > 0xf4 || (size_t)(end - p) < more)
            return false;
        uint8_t low = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
        uint8_t high = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
        if (*p < low || *p > high)
            return false;
        for (uint32_t k = 0; k < more; k++)
            if ((*p++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

bool wasm_read_name(WasmReader *r, Str *name) {
    uint32_t n;
    const uint8_t *p;
    if (!wasm_read_u32(r, &n))
        return false;
    if (!wasm_get_bytes(&r->c, n, &p))
        return wasm_read_error(r);
    if (!read_is_utf8(p, p + n))
        return wasm_read_fail(r, DIAG_MALFORMED, p, "malformed UTF-8 encoding");
    *name = (Str){(const char *)p, n};
    return true;
}

bool wasm_read_type(WasmReader *r, WasmType *t) {
    const uint8_t *at = r->c.at;
    if (!wasm_get_type(&r->c, false, t))
        return wasm_read_error(r);
    if (WASM_IS_REF(*t) && !(*t & WASM_ABSTRACT_BIT) && WASM_HEAP_OF(*t) >= r->m->types.len)
        return wasm_read_fail(r, DIAG_INVALID, at, "unknown type %u", WASM_HEAP_OF(*t));
    return true;
}

bool wasm_read_ref_type(WasmReader *r, WasmType *t) {
    const uint8_t *at = r->c.at;
    if (!wasm_read_type(r, t))
        return false;
    return WASM_IS_REF(*t) || wasm_read_fail(r, DIAG_MALFORMED, at, "malformed reference type");
}

/* An index that the writer may have to patch. Its range is checked at the end. */
static bool read_read_index(WasmReader *r, WasmSpace space, uint32_t *v) {
    const uint8_t *at = r->c.at;
    if (!wasm_read_u32(r, v))
        return false;
    vec_push(&r->m->refs, (WasmIndexRef){.offset = (uint32_t)(at - r->m->bytes),
                                         .width = (uint8_t)(r->c.at - at),
                                         .space = (uint8_t)space,
                                         .value = *v});
    return true;
}

/* The index of a function type. */
static bool read_func_type(WasmReader *r, uint32_t *v) {
    const uint8_t *at = r->c.at;
    if (!wasm_read_u32(r, v))
        return false;
    if (*v >= r->m->types.len)
        return wasm_read_fail(r, DIAG_INVALID, at, "unknown type %u", *v);
    if (r->m->types.at[*v].kind != WASM_TYPE_FUNC)
        return wasm_read_fail(r, DIAG_INVALID, at, "type %u is not a function type", *v);
    return true;
}

/* The space of an index immediate that may move, or WASM_SPACE_COUNT. */
static WasmSpace read_space_of(uint8_t imm) {
    switch (imm) {
    case WASM_IMM_FUNC: return WASM_SPACE_FUNC;
    case WASM_IMM_GLOBAL: return WASM_SPACE_GLOBAL;
    case WASM_IMM_TABLE: return WASM_SPACE_TABLE;
    case WASM_IMM_MEMORY: return WASM_SPACE_MEMORY;
    default: return WASM_SPACE_COUNT;
    }
}

/* A constant expression, up to and with its `end`; its indices are recorded. */
static bool read_expr(WasmReader *r, uint32_t *offset, uint32_t *len) {
    const uint8_t *from = r->c.at;
    uint32_t depth = 0;
    WasmInstr i;
    WasmType type;
    int64_t value;
    *offset = (uint32_t)(from - r->m->bytes);
    if ((*len = wasm_short_const(from, r->c.end, &type, &value))) {
        r->c.at += *len;
        return true;
    }
    while (wasm_next(&r->c, &i)) {
        WasmSpace space = read_space_of(wasm_ops[i.op].imm);
        if (space != WASM_SPACE_COUNT)
            vec_push(&r->m->refs, (WasmIndexRef){.offset = i.offset + i.opcode_size,
                                                 .width = (uint8_t)(i.size - i.opcode_size),
                                                 .space = (uint8_t)space,
                                                 .value = i.a});
        if (wasm_ops[i.op].imm == WASM_IMM_BLOCK || i.op == WASM_OP_TRY_TABLE)
            depth++;
        if (i.op == WASM_OP_END && depth-- == 0) {
            *len = (uint32_t)(r->c.at - from);
            return true;
        }
    }
    if (r->c.error)
        return wasm_read_error(r);
    return wasm_read_fail(r, DIAG_MALFORMED, r->c.at, "unexpected end of an expression");
}

/* ---- types of entities ---- */

enum { HAS_MAX = 1, SHARED = 2, IS64 = 4, PAGE_SIZE = 8 };

static bool read_limits(WasmReader *r, bool memory, WasmLimits *l) {
    uint8_t flags;
    const uint8_t *at = r->c.at;
    if (!wasm_read_flag(r, memory ? 16 : 8, "limits flags", &flags))
        return false;
    if (!memory && (flags & SHARED))
        return wasm_read_fail(r, DIAG_MALFORMED, at, "malformed limits flags 0x%02x%s", flags,
                              wasm_proposal("limits flags", 0, flags));
    *l = (WasmLimits){.has_max = flags & HAS_MAX,
                      .shared = flags & SHARED,
                      .is64 = flags & IS64,
                      .page_log2 = 16};
    if (!wasm_get_u64(&r->c, &l->min) || (l->has_max && !wasm_get_u64(&r->c, &l->max)))
        return wasm_read_error(r);
    if (flags & PAGE_SIZE) {
        uint32_t log2;
        at = r->c.at;
        if (!wasm_read_u32(r, &log2))
            return false;
        if (log2 > 63)
            return wasm_read_fail(r, DIAG_MALFORMED, at, "invalid custom page size");
        l->page_log2 = (uint8_t)log2;
    }
    return true;
}

static bool read_table_type(WasmReader *r, int32_t import) {
    WasmTable t = {.import = import};
    if (!wasm_read_ref_type(r, &t.type) || !read_limits(r, false, &t.limits))
        return false;
    vec_push(&r->m->tables, t);
    return true;
}

static bool read_memory_type(WasmReader *r, int32_t import) {
    WasmMemory mem = {.import = import};
    const uint8_t *at = r->c.at;
    if (!read_limits(r, true, &mem.limits))
        return false;
    mem.entry = (uint32_t)(at - r->m->bytes);
    mem.entry_len = (uint32_t)(r->c.at - at);
    vec_push(&r->m->memories, mem);
    return true;
}

static bool read_global_type(WasmReader *r, int32_t import) {
    WasmGlobal g = {.imported = import >= 0, .import = import >= 0 ? (uint32_t)import : 0};
    uint8_t mutable;
    if (!wasm_read_type(r, &g.type) || !wasm_read_flag(r, 2, "mutability", &mutable))
        return false;
    g.mutable = mutable;
    vec_push(&r->m->globals, g);
    return true;
}

static bool read_tag_type(WasmReader *r, int32_t import) {
    WasmTag t = {.import = import};
    uint8_t attribute;
    if (!wasm_read_flag(r, 1, "tag attribute", &attribute) || !read_func_type(r, &t.type))
        return false;
    vec_push(&r->m->tags, t);
    return true;
}

static bool read_func_entry(WasmReader *r, int32_t import) {
    WasmFunc f = {.import = import};
    if (!read_func_type(r, &f.type))
        return false;
    vec_push(&r->m->funcs, f);
    return true;
}

/* ---- sections ---- */

/* Kinds of imports and exports, by their byte. */
static const uint8_t kind_spaces[] = {WASM_SPACE_FUNC, WASM_SPACE_TABLE, WASM_SPACE_MEMORY,
                                      WASM_SPACE_GLOBAL, WASM_SPACE_TAG};

/* The kind of an import. */
static bool read_import_kind(WasmReader *r, uint8_t *kind, bool *exact) {
    enum { EXACT_FUNC = 0x20 };
    *exact = r->c.at < r->c.end && *r->c.at == EXACT_FUNC;
    if (!*exact)
        return wasm_read_flag(r, 5, "import kind", kind);
    r->c.at++;
    r->m->exact = true;
    *kind = 0;
    return true;
}

/* The kind and the type of an import whose names are known. */
bool wasm_read_import_type(WasmReader *r, WasmImport im) {
    WasmModule *m = r->m;
    uint8_t kind;
    bool exact;
    if (!read_import_kind(r, &kind, &exact))
        return false;
    int32_t index = (int32_t)m->imports.len;
    im.space = kind_spaces[kind];
    im.handle = wasm_space_count(m, im.space);
    bool ok = false;
    switch (kind) {
    case 0: ok = read_func_entry(r, index); break;
    case 1: ok = read_table_type(r, index); break;
    case 2: ok = read_memory_type(r, index); break;
    case 3: ok = read_global_type(r, index); break;
    case 4: ok = read_tag_type(r, index); break;
    }
    if (ok && exact)
        vec_last(&m->funcs).exact = true;
    m->input_imports[im.space]++;
    vec_push(&m->imports, im);
    return ok;
}

/* Steps over a kind and a type, which are read for each name. */
static bool skip_import_type(WasmReader *r) {
    uint8_t kind, byte;
    bool exact;
    uint32_t index;
    WasmType type;
    WasmLimits limits;
    if (!read_import_kind(r, &kind, &exact))
        return false;
    switch (kind) {
    case 0: return wasm_read_u32(r, &index);
    case 1: return wasm_read_ref_type(r, &type) && read_limits(r, false, &limits);
    case 2: return read_limits(r, true, &limits);
    case 3: return wasm_read_type(r, &type) && wasm_read_flag(r, 2, "mutability", &byte);
    default: return wasm_read_flag(r, 1, "tag attribute", &byte) && wasm_read_u32(r, &index);
    }
}

/* The compact form (a proposal): several names, each with its type or all with one, from a module.
 */
enum { COMPACT_TYPES = 0x7f, COMPACT_TYPE = 0x7e };
static bool read_compact_imports(WasmReader *r, WasmImport im) {
    uint8_t form = *r->c.at++;
    const uint8_t *type = r->c.at, *names;
    uint32_t n;
    if (form == COMPACT_TYPE && !skip_import_type(r))
        return false;
    if (!wasm_read_count(r, &n))
        return false;
    for (; n; n--) {
        if (!wasm_read_name(r, &im.name))
            return false;
        names = r->c.at;
        if (form == COMPACT_TYPE)
            r->c.at = type;
        if (!wasm_read_import_type(r, im))
            return false;
        if (form == COMPACT_TYPE)
            r->c.at = names;
    }
    return true;
}

static bool read_import(WasmReader *r) {
    WasmImport im;
    if (!wasm_read_name(r, &im.module) || !wasm_read_name(r, &im.name))
        return false;
    bool more = r->c.at < r->c.end && im.name.len == 0;
    if (more && (*r->c.at == COMPACT_TYPES || *r->c.at == COMPACT_TYPE))
        return read_compact_imports(r, im);
    return wasm_read_import_type(r, im);
}

static bool read_read_function(WasmReader *r) {
    return read_func_entry(r, -1);
}

static bool read_table(WasmReader *r) {
    bool with_init = r->c.at < r->c.end && *r->c.at == 0x40;
    uint8_t zero;
    if (with_init) {
        r->c.at++;
        if (!wasm_read_flag(r, 1, "table", &zero))
            return false;
    }
    if (!read_table_type(r, -1))
        return false;
    WasmTable *t = &vec_last(&r->m->tables);
    return !with_init || read_expr(r, &t->init, &t->init_len);
}

static bool read_memory(WasmReader *r) {
    return read_memory_type(r, -1);
}

/* Most globals are numbers that begin at a constant. Returns false for others, which are to be
 * read. */
static bool read_short_global(WasmReader *r) {
    WasmModule *m = r->m;
    const uint8_t *at = r->c.at, *end = r->c.end;
    WasmGlobal g = {0};
    WasmType type;
    int64_t value;
    if (end - at < 2 || at[0] < WASM_F64 || at[0] > WASM_I32 || at[1] > 1 ||
        !(g.init_len = wasm_short_const(at + 2, end, &type, &value)))
        return false;
    g.type = at[0];
    g.mutable = at[1];
    g.constant = type == g.type;
    g.init = (uint32_t)(at + 2 - m->bytes);
    vec_push(&m->globals, g);
    r->c.at = at + 2 + g.init_len;
    return true;
}

static bool read_read_global(WasmReader *r) {
    if (read_short_global(r))
        return true;
    if (!read_global_type(r, -1))
        return false;
    WasmGlobal *g = &vec_last(&r->m->globals);
    return read_expr(r, &g->init, &g->init_len);
}

static bool read_tag(WasmReader *r) {
    return read_tag_type(r, -1);
}

static bool read_export(WasmReader *r) {
    WasmExport e;
    uint8_t kind;
    if (!wasm_read_name(r, &e.name) || !wasm_read_flag(r, 5, "export kind", &kind))
        return false;
    e.space = kind_spaces[kind];
    if (!read_read_index(r, e.space, &e.handle))
        return false;
    vec_push(&r->m->exports, e);
    return true;
}

static bool read_elem(WasmReader *r) {
    WasmElem e = {.type = WASM_REF(0, WASM_HEAP(WASM_HEAP_FUNC))};
    uint32_t flags;
    uint8_t kind;
    const uint8_t *at = r->c.at;
    if (!wasm_read_u32(r, &flags))
        return false;
    if (flags > 7)
        return wasm_read_fail(r, DIAG_MALFORMED, at, "malformed element segment kind %u", flags);
    e.mode = !(flags & 1) ? WASM_ACTIVE : flags & 2 ? WASM_DECLARATIVE : WASM_PASSIVE;
    e.exprs = flags & 4;
    if (e.mode == WASM_ACTIVE) {
        if ((flags & 2) && !read_read_index(r, WASM_SPACE_TABLE, &e.table))
            return false;
        if (!read_expr(r, &e.offset, &e.offset_len))
            return false;
    }
    if (!(flags & 3)) {
        if (e.exprs)
            e.type = WASM_FUNCREF;
    } else if (e.exprs ? !wasm_read_ref_type(r, &e.type)
                       : !wasm_read_flag(r, 1, "element kind", &kind)) {
        return false;
    }
    if (!wasm_read_count(r, &e.count))
        return false;
    e.items = (uint32_t)(r->c.at - r->m->bytes);
    for (uint32_t i = 0, item, len; i < e.count; i++)
        if (e.exprs ? !read_expr(r, &item, &len) : !read_read_index(r, WASM_SPACE_FUNC, &item))
            return false;
    vec_push(&r->m->elems, e);
    return true;
}

/* Most segments are of memory 0, at a constant. Returns false for others, which are to be read. */
static bool read_short_data(WasmReader *r) {
    WasmModule *m = r->m;
    const uint8_t *at = r->c.at, *end = r->c.end;
    WasmData d = {.mode = WASM_ACTIVE, .implicit = 1, .offset = (uint32_t)(at + 1 - m->bytes)};
    WasmType type;
    int64_t offset;
    if (!m->memories.len || at == end || *at++ != 0 ||
        !(d.offset_len = wasm_short_const(at, end, &type, &offset)))
        return false;
    at += d.offset_len;
    uint32_t width = end - at < 4 ? 0 : wasm_uleb_of_4(at, &d.size);
    if (!width || (size_t)(end - at) - width < d.size)
        return false;
    d.bytes = (uint32_t)(at + width - m->bytes);
    d.constant = (uint8_t)type;
    wasm_note_bytes(&m->memories.at[0], (uint64_t)offset, d.size);
    vec_push(&m->datas, d);
    r->c.at = at + width + d.size;
    return true;
}

static bool read_data(WasmReader *r) {
    WasmData d = {0};
    uint32_t flags;
    const uint8_t *at = r->c.at;
    if (read_short_data(r))
        return true;
    if (!wasm_read_u32(r, &flags))
        return false;
    if (flags > 2)
        return wasm_read_fail(r, DIAG_MALFORMED, at, "malformed data segment kind %u", flags);
    d.mode = flags == 1 ? WASM_PASSIVE : WASM_ACTIVE;
    d.implicit = flags == 0 ? (uint8_t)(r->c.at - at) : 0;
    if (flags == 2 && !read_read_index(r, WASM_SPACE_MEMORY, &d.memory))
        return false;
    if (flags != 1 && !read_expr(r, &d.offset, &d.offset_len))
        return false;
    if (!wasm_read_u32(r, &d.size))
        return false;
    if (!wasm_get_bytes(&r->c, d.size, &at))
        return wasm_read_error(r);
    d.bytes = (uint32_t)(at - r->m->bytes);
    vec_push(&r->m->datas, d);
    return true;
}

void wasm_read_note(WasmReader *r, uint8_t section, const uint8_t *from) {
    if (r->item)
        r->item(r->ctx, section, (Str){(const char *)from, (uint32_t)(r->c.at - from)});
}

/* Skips the data segments that are known, of n. */
static bool skip_datas(WasmReader *r, uint32_t *n) {
    const WasmKeptDatas *kept = &r->datas;
    if (kept->count > *n || kept->size > (size_t)(r->c.end - r->c.at))
        return wasm_read_fail(r, DIAG_MALFORMED, r->c.at, "data segments are missing");
    r->m->skipped_datas = kept->count;
    r->c.at += kept->size;
    *n -= kept->count;
    vec_reserve(&r->m->datas, *n);
    return true;
}

/* A section that is a vector of items. Each has a byte at least, a function another for its body.
 */
static bool read_read_items(WasmReader *r, uint8_t section, bool (*item)(WasmReader *)) {
    const uint8_t *at = r->c.at, *end = r->m->bytes + r->m->size;
    uint32_t n;
    if (!wasm_read_count(r, &n))
        return false;
    if (section == WASM_SEC_FUNCTION && n > (size_t)(end - r->c.at) / 2)
        return wasm_read_fail(
            r, DIAG_MALFORMED, at,
            "unexpected end: %u functions are announced, but only %zu bytes follow", n,
            (size_t)(end - r->c.at));
    enum { ADDED = 64 }; /* so many more do not move them */
    if (section == WASM_SEC_FUNCTION && n <= (size_t)(r->c.end - r->c.at))
        vec_reserve(&r->m->funcs, n + ADDED);
    if (section == WASM_SEC_GLOBAL) /* the two kinds that may be very many */
        vec_reserve(&r->m->globals, n);
    if (section == WASM_SEC_DATA && !skip_datas(r, &n))
        return false;
    for (const uint8_t *from = r->c.at; n--; from = r->c.at) {
        if (!item(r))
            return false;
        wasm_read_note(r, section, from);
    }
    return true;
}

static bool read_start(WasmReader *r) {
    uint32_t func;
    if (!read_read_index(r, WASM_SPACE_FUNC, &func))
        return false;
    r->m->start = func;
    return true;
}

static bool bad_counts(WasmReader *r, const uint8_t *at, uint32_t functions, uint32_t bodies) {
    return wasm_read_fail(r, DIAG_MALFORMED, at,
                          "function and code section have inconsistent lengths (%u and %u)",
                          functions, bodies);
}

static bool read_code(WasmReader *r) {
    WasmModule *m = r->m;
    const uint8_t *at = r->c.at;
    uint32_t n, first = m->input_imports[WASM_SPACE_FUNC];
    if (!wasm_read_count(r, &n))
        return false;
    if (n != m->funcs.len - first)
        return bad_counts(r, at, m->funcs.len - first, n);
    for (uint32_t i = first; i < m->funcs.len; i++) {
        WasmFunc *f = &m->funcs.at[i];
        const uint8_t *size = r->c.at;
        if (!wasm_read_u32(r, &f->body_size))
            return false;
        f->size_width = (uint8_t)(r->c.at - size);
        if (!wasm_get_bytes(&r->c, f->body_size, &at))
            return wasm_read_error(r);
        f->body = (uint32_t)(at - m->bytes);
    }
    return true;
}

typedef struct SectionInfo {
    const char *name;
    uint8_t rank; /* order in the file */
    bool (*item)(WasmReader *);
} SectionInfo;

static const SectionInfo section_infos[WASM_SEC_COUNT] = {
    [WASM_SEC_CUSTOM] = {"custom", 0, NULL},
    [WASM_SEC_TYPE] = {"type", 1, NULL},
    [WASM_SEC_IMPORT] = {"import", 2, read_import},
    [WASM_SEC_FUNCTION] = {"function", 3, read_read_function},
    [WASM_SEC_TABLE] = {"table", 4, read_table},
    [WASM_SEC_MEMORY] = {"memory", 5, read_memory},
    [WASM_SEC_TAG] = {"tag", 6, read_tag},
    [WASM_SEC_GLOBAL] = {"global", 7, read_read_global},
    [WASM_SEC_EXPORT] = {"export", 8, read_export},
    [WASM_SEC_START] = {"start", 9, NULL},
    [WASM_SEC_ELEMENT] = {"element", 10, read_elem},
    [WASM_SEC_DATACOUNT] = {"data count", 11, NULL},
    [WASM_SEC_CODE] = {"code", 12, NULL},
    [WASM_SEC_DATA] = {"data", 13, read_data},
};

const char *wasm_section_name(uint8_t id) {
    return id < WASM_SEC_COUNT ? section_infos[id].name : "unknown";
}

uint8_t wasm_section_rank(uint8_t id) {
    return section_infos[id].rank;
}

static bool read_read_contents(WasmReader *r, WasmSection *s) {
    switch (s->id) {
    case WASM_SEC_CUSTOM:
        if (!wasm_read_name(r, &s->name))
            return false;
        s->payload = (uint32_t)(r->c.at - r->m->bytes);
        r->c.at = r->c.end;
        return true;
    case WASM_SEC_TYPE: return wasm_read_type_section(r);
    case WASM_SEC_START: return read_start(r);
    case WASM_SEC_CODE: return read_code(r);
    case WASM_SEC_DATACOUNT:
        r->m->has_data_count = true;
        return wasm_read_u32(r, &r->m->data_count);
    default: return read_read_items(r, s->id, section_infos[s->id].item);
    }
}

typedef struct Progress {
    uint8_t rank; /* of the last section that is not custom */
    bool code;
} Progress;

/* Leaves the contents of a section for later. */
static void read_leave(WasmReader *r, WasmReader *later, WasmModule *m) {
    *later = *r;
    later->m = m;
    later->diags = &r->apart->diags;
    r->c.at = r->c.end;
}

/* One section, from the header at r->c.at; `file` is the cursor over the file. */
static bool read_read_section(WasmReader *r, WasmCode *file, Progress *p) {
    WasmModule *m = r->m;
    WasmSection s = {.id = *file->at, .header = (uint32_t)(file->at - m->bytes)};
    const uint8_t *at = file->at++;
    uint32_t size;
    r->c = *file;
    r->section = NULL;
    if (s.id >= WASM_SEC_COUNT)
        return wasm_read_fail(r, DIAG_MALFORMED, at, "unknown section id %u", s.id);
    r->section = section_infos[s.id].name;
    if (!wasm_read_u32(r, &size))
        return false;
    if (size > (size_t)(file->end - r->c.at))
        return wasm_read_fail(r, DIAG_MALFORMED, at,
                              "unexpected end: the section has %u bytes, but only %zu follow", size,
                              (size_t)(file->end - r->c.at));
    uint8_t rank = section_infos[s.id].rank;
    if (rank && rank <= p->rank)
        return wasm_read_fail(r, DIAG_MALFORMED, at, "unexpected content: the section %s",
                              rank == p->rank ? "occurs twice" : "comes too late");
    if (rank)
        p->rank = rank;
    p->code |= s.id == WASM_SEC_CODE;
    r->c.end = r->c.at + size;
    s.payload = (uint32_t)(r->c.at - m->bytes);
    s.end = (uint32_t)(r->c.end - m->bytes);
    if (s.id == WASM_SEC_CODE && r->apart)
        read_leave(r, &r->apart->code, m);
    else if (s.id == WASM_SEC_DATA && r->apart)
        read_leave(r, &r->apart->data, &r->apart->datas);
    else if (!read_read_contents(r, &s))
        return false;
    if (r->c.at != r->c.end)
        return wasm_read_fail(r, DIAG_MALFORMED, r->c.at,
                              "section size mismatch: %zu bytes are left over",
                              (size_t)(r->c.end - r->c.at));
    vec_push(&m->sections, s);
    m->exact |= r->c.exact;
    file->at = r->c.end;
    return true;
}

/* ---- the file ---- */

static bool starts_with(const uint8_t *bytes, size_t size, const char *magic, size_t n) {
    return size >= n && memcmp(bytes, magic, n) == 0;
}

/* True for text that begins, after blanks and comments, like the text format. */
static bool is_text_format(const uint8_t *p, size_t size) {
    const uint8_t *end = p + size;
    while (p < end) {
        if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
            p++;
        } else if (starts_with(p, (size_t)(end - p), ";;", 2)) {
            while (p < end && *p != '\n')
                p++;
        } else {
            return *p == '(';
        }
    }
    return false;
}

static bool not_wasm(WasmReader *r) {
    WasmModule *m = r->m;
    Span span = {m->file, 0, 0};
    const uint8_t *b = m->bytes;
    Diag *g;
    if (m->size == 0) {
        diag(r->diags, DIAG_NOT_WASM, span, "the file is empty");
    } else if (is_text_format(b, m->size)) {
        g = diag(r->diags, DIAG_NOT_WASM, span, "this is WebAssembly text, not a binary module");
        diag_hint(r->diags, g, "translate it first, for example with `wat2wasm`");
    } else if (starts_with(b, m->size, "\x1f\x8b", 2)) {
        g = diag(r->diags, DIAG_NOT_WASM, span, "the file is compressed (gzip)");
        diag_hint(r->diags, g, "unpack it first");
    } else if (m->size < 8 && memcmp(b, "\0asm\1\0\0\0", m->size) == 0) {
        diag(r->diags, DIAG_NOT_WASM, span, "unexpected end: the file has only %zu bytes", m->size);
    } else {
        diag(r->diags, DIAG_NOT_WASM, span,
             "not a WebAssembly module: the file does not begin with the bytes 00 61 73 6d");
    }
    return false;
}

static bool read_read_header(WasmReader *r) {
    WasmModule *m = r->m;
    const uint8_t *b = m->bytes;
    Span span = {m->file, 4, 8};
    if (m->size < 8 || memcmp(b, "\0asm", 4) != 0)
        return not_wasm(r);
    uint32_t version = b[4] | (uint32_t)b[5] << 8, layer = b[6] | (uint32_t)b[7] << 8;
    if (layer == 1) {
        Diag *g = diag(r->diags, DIAG_COMPONENT, span, "this is a component, not a core module");
        diag_hint(r->diags, g, "programs can be components; libraries, monitors and files of names are core modules");
        return false;
    }
    if (version != 1 || layer != 0) {
        diag(r->diags, DIAG_NOT_WASM, span, "unknown binary version %u (1 is known)",
             version | layer << 16);
        return false;
    }
    if (m->size > INT32_MAX) {
        diag(r->diags, DIAG_MALFORMED, span, "the file is too large (2 GiB are the limit)");
        return false;
    }
    return true;
}

static const char *const space_names[WASM_SPACE_COUNT] = {
    "type", "function",        "table",        "memory", "global",
    "tag",  "element segment", "data segment", "local",
};

const char *wasm_space_name(WasmSpace space) {
    return space_names[space];
}

uint32_t wasm_space_count(const WasmModule *m, WasmSpace space) {
    switch (space) {
    case WASM_SPACE_TYPE: return m->types.len;
    case WASM_SPACE_FUNC: return m->funcs.len;
    case WASM_SPACE_TABLE: return m->tables.len;
    case WASM_SPACE_MEMORY: return m->memories.len;
    case WASM_SPACE_GLOBAL: return m->globals.len;
    case WASM_SPACE_TAG: return m->tags.len;
    case WASM_SPACE_ELEM: return m->elems.len;
    case WASM_SPACE_DATA: return m->skipped_datas + m->datas.len;
    default: return 0;
    }
}

/* Whether the indices [from, ...) of m->refs name something. */
static bool check_refs(WasmReader *r, uint32_t from) {
    const WasmModule *m = r->m;
    for (uint32_t k = from; k < m->refs.len; k++) {
        const WasmIndexRef *ref = &m->refs.at[k];
        if (ref->value >= m->input_count[ref->space])
            return wasm_read_fail(r, DIAG_INVALID, m->bytes + ref->offset, "unknown %s %u",
                                  space_names[ref->space], ref->value);
    }
    return true;
}

/* Checks that need all sections but the data segments. */
static bool read_check_sections(WasmReader *r, const Progress *p) {
    WasmModule *m = r->m;
    r->section = NULL;
    uint32_t defined = m->funcs.len - m->input_imports[WASM_SPACE_FUNC];
    if (!p->code && defined)
        return bad_counts(r, m->bytes + m->size, defined, 0);
    for (uint32_t k = 0; k < WASM_SPACE_COUNT; k++)
        m->input_count[k] = wasm_space_count(m, k);
    if (!check_refs(r, 0))
        return false;
    for (uint32_t k = 0; k < m->elems.len; k++)
        if (m->elems.at[k].mode == WASM_ACTIVE && m->elems.at[k].table >= m->tables.len)
            return wasm_read_fail(r, DIAG_INVALID, m->bytes + m->elems.at[k].offset,
                                  "unknown table %u", m->elems.at[k].table);
    m->input_import_count = m->imports.len;
    m->input_export_count = m->exports.len;
    return true;
}

/* The same for these; their indices are [refs, ...) of m->refs. */
static bool read_check_datas(WasmReader *r, uint32_t refs) {
    WasmModule *m = r->m;
    uint32_t count = wasm_space_count(m, WASM_SPACE_DATA);
    r->section = NULL;
    if (m->has_data_count && m->data_count != count)
        return wasm_read_fail(r, DIAG_MALFORMED, m->bytes + m->size,
                              "data count and data section have inconsistent lengths (%u and %u)",
                              m->data_count, count);
    m->input_count[WASM_SPACE_DATA] = count;
    if (!check_refs(r, refs))
        return false;
    for (uint32_t k = 0; k < m->datas.len; k++) {
        const WasmData *d = &m->datas.at[k];
        if (d->mode != WASM_ACTIVE)
            continue;
        if (d->memory >= m->memories.len)
            return wasm_read_fail(r, DIAG_INVALID, m->bytes + d->offset - d->implicit,
                                  "unknown memory %u", d->memory);
        if (!d->constant)
            wasm_note_data(m, d);
    }
    return true;
}

static bool read_sections(WasmReader *r, Progress *p) {
    WasmCode code = wasm_code(r->m->bytes, r->m->size, 8);
    while (code.at < code.end)
        if (!read_read_section(r, &code, p))
            return false;
    return true;
}

void wasm_read_each_item(const WasmModule *m, WasmItemFn *item, void *ctx) {
    WasmModule again;
    Diags none = {0};
    Progress p = {0};
    wasm_module_init(&again);
    again.bytes = m->bytes;
    again.size = m->size;
    read_sections(&(WasmReader){.m = &again, .diags = &none, .item = item, .ctx = ctx}, &p);
    assert(!none.list.len);
    diag_free(&none);
    wasm_module_free(&again);
}

static void read_begin(WasmUnvalidated *u, const uint8_t *bytes, size_t size, DiagFileId file) {
    *u = (WasmUnvalidated){0};
    wasm_module_init(&u->m);
    wasm_module_init(&u->datas);
    u->m.bytes = u->datas.bytes = bytes;
    u->m.size = u->datas.size = size;
    u->m.file = file;
}

static void read_custom(WasmModule *m) {
    for (uint32_t i = 0; i < m->sections.len; i++)
        if (m->sections.at[i].id == WASM_SEC_CUSTOM && str_is(m->sections.at[i].name, "name"))
            wasm_read_names(m, &m->sections.at[i]);
    wasm_name_funcs(m);
    wasm_read_hints(m);
}

bool wasm_read(WasmUnvalidated *u, const uint8_t *bytes, size_t size, DiagFileId file,
               const WasmKeptDatas *kept, Diags *diags) {
    read_begin(u, bytes, size, file);
    WasmReader r = {.m = &u->m, .diags = diags};
    Progress p = {0};
    if (kept)
        r.datas = *kept;
    if (!read_read_header(&r) || !read_sections(&r, &p) || !read_check_sections(&r, &p) ||
        !read_check_datas(&r, 0))
        return false;
    read_custom(&u->m);
    return true;
}

bool wasm_read_apart(WasmUnvalidated *u, const uint8_t *bytes, size_t size, DiagFileId file,
                     const WasmKeptDatas *kept) {
    read_begin(u, bytes, size, file);
    WasmReader r = {.m = &u->m, .diags = &u->diags, .apart = u};
    Progress p = {0};
    if (kept)
        r.datas = *kept;
    if (!read_read_header(&r) || !read_sections(&r, &p) || !read_check_sections(&r, &p))
        return false;
    u->datas.memories = u->m.memories; /* receives the range of the data */
    return true;
}

bool wasm_read_code(WasmUnvalidated *u) {
    WasmReader *r = &u->code;
    return !r->m || (read_code(r) && r->c.at == r->c.end);
}

bool wasm_read_datas(WasmUnvalidated *u) {
    WasmReader *r = &u->data;
    return !r->m || (read_read_items(r, WASM_SEC_DATA, read_data) && r->c.at == r->c.end);
}

bool wasm_read_rest(WasmUnvalidated *u) {
    WasmModule *m = &u->m;
    WasmReader r = {.m = m, .diags = &u->diags};
    uint32_t refs = m->refs.len;
    for (uint32_t k = 0; k < u->datas.refs.len; k++)
        vec_push(&m->refs, u->datas.refs.at[k]);
    m->datas = u->datas.datas;
    m->skipped_datas = u->datas.skipped_datas;
    memset(&u->datas.datas, 0, sizeof u->datas.datas);
    if (!read_check_datas(&r, refs))
        return false;
    read_custom(m);
    return true;
}

void wasm_read_done(WasmUnvalidated *u, WasmModule *m) {
    *m = u->m;
    wasm_module_init(&u->m);
    wasm_unvalidated_free(u);
}

void wasm_unvalidated_free(WasmUnvalidated *u) {
    wasm_module_free(&u->m);
    memset(&u->datas.memories, 0, sizeof u->datas.memories); /* they were those of u->m */
    wasm_module_free(&u->datas);
    diag_free(&u->diags);
}
