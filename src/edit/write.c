/*
 * edit/write.c - writes a module: the input's bytes, with new indices and with additions.
 *
 * A section in which nothing changes is copied as it is. Others are the old items, patched through
 * the module's `refs`, and the added items after them.
 */
#include "edit/write.h"

#include "base/phase.h"
#include "base/workers.h"
#include "edit/edit.h"
#include "wasm/leb.h"
#include "wasm/read.h"
#include "wasm/remap.h"

#include <assert.h>

typedef struct Writer {
    WasmModule *m;
    const WasmWriter *w;
    Buf *out;
    uint32_t threads;
    WasmRemap map;
    bool *resized; /* by function handle: the body has another length than in the input */
    Buf code;      /* contents of the code section, if they had to be written first */
    bool has_code;
    bool names_done; /* the additions are in a name section */
    size_t given;    /* so much of `out` has gone to the sink */
    bool ok;
} Writer;

/* ---- the sink ---- */

/* Bytes that are worth telling the sink of. */
#ifdef NDEBUG
enum { PIECE = 1 << 20 };
#else
enum { PIECE = 1 << 10 };
#endif

/* Hands over the pending bytes, if there are at least so many. */
static void write_give(Writer *r, size_t least) {
    const Sink *sink = r->w ? r->w->sink : NULL;
    if (!sink || r->out->len - r->given < least)
        return;
    sink->put(sink->ctx, r->out->data, r->given, r->out->len);
    r->given = r->out->len;
}

/* The output from here on will change. */
static void take_back(Writer *r, size_t from) {
    if (r->given <= from)
        return;
    r->w->sink->hold(r->w->sink->ctx);
    r->given = from;
}

/* ---- additions ---- */

static uint32_t added_defs(const WasmModule *m, WasmSpace space) {
    uint32_t n = wasm_space_count(m, space) - m->input_count[space];
    for (uint32_t i = m->input_import_count; i < m->imports.len; i++)
        n -= m->imports.at[i].space == space;
    return n;
}

static uint32_t added_groups(const WasmModule *m) {
    uint32_t n = 0;
    for (uint32_t i = m->input_count[WASM_SPACE_TYPE]; i < m->types.len; i++)
        n += m->types.at[i].group == i;
    return n;
}

/* The number of items to put after a section's own. */
static uint32_t added_items(const WasmModule *m, uint8_t id) {
    switch (id) {
    case WASM_SEC_TYPE: return added_groups(m);
    case WASM_SEC_IMPORT: return m->imports.len - m->input_import_count;
    case WASM_SEC_FUNCTION:
    case WASM_SEC_CODE: return added_defs(m, WASM_SPACE_FUNC);
    case WASM_SEC_TABLE: return added_defs(m, WASM_SPACE_TABLE);
    case WASM_SEC_MEMORY: return added_defs(m, WASM_SPACE_MEMORY);
    case WASM_SEC_GLOBAL: return added_defs(m, WASM_SPACE_GLOBAL);
    case WASM_SEC_TAG: return added_defs(m, WASM_SPACE_TAG);
    case WASM_SEC_EXPORT: return m->exports.len - m->input_export_count;
    case WASM_SEC_ELEMENT: return m->elems.len - m->input_count[WASM_SPACE_ELEM];
    case WASM_SEC_DATA: return m->datas.len - m->input_count[WASM_SPACE_DATA];
    default: return 0;
    }
}

static bool needs_data_count(const WasmModule *m) {
    if (m->needs_data_count)
        return true;
    for (uint32_t i = m->input_count[WASM_SPACE_DATA]; i < m->datas.len; i++)
        if (m->datas.at[i].mode == WASM_PASSIVE)
            return true;
    return false;
}

static void put_limits(Buf *out, const WasmLimits *l, bool memory) {
    bool odd_page = memory && l->page_log2 != 16;
    buf_u8(out, (uint8_t)(l->has_max | l->shared << 1 | l->is64 << 2 | odd_page << 3));
    buf_uleb(out, l->min);
    if (l->has_max)
        buf_uleb(out, l->max);
    if (odd_page)
        buf_uleb(out, l->page_log2);
}

static void put_table_type(Buf *out, const WasmTable *t) {
    wasm_put_type(out, t->type);
    put_limits(out, &t->limits, false);
}

static void put_global_type(Buf *out, const WasmGlobal *g) {
    wasm_put_type(out, g->type);
    buf_u8(out, g->mutable);
}

static void write_put_types(Buf *out, const WasmType *types, uint32_t n) {
    buf_uleb(out, n);
    for (uint32_t i = 0; i < n; i++)
        wasm_put_type(out, types[i]);
}

static void put_fields(Buf *out, const WasmTypeDef *d) {
    if (d->kind == WASM_TYPE_STRUCT)
        buf_uleb(out, d->nfields);
    for (uint32_t i = 0; i < d->nfields; i++) {
        wasm_put_type(out, d->fields[i].type);
        buf_u8(out, d->fields[i].mutable);
    }
}

static uint8_t form_of(const WasmTypeDef *d) {
    switch (d->kind) {
    case WASM_TYPE_FUNC: return 0x60;
    case WASM_TYPE_STRUCT: return 0x5f;
    case WASM_TYPE_ARRAY: return 0x5e;
    default: return 0x5d;
    }
}

static void put_type_def(Buf *out, const WasmTypeDef *d, uint32_t index) {
    if (d->group == index && d->group_len > 1) {
        buf_u8(out, 0x4e);
        buf_uleb(out, d->group_len);
    }
    if (!d->final || d->has_super) {
        buf_u8(out, d->final ? 0x4f : 0x50);
        buf_u8(out, d->has_super);
        if (d->has_super)
            buf_uleb(out, d->super);
    }
    if (d->is_descriptor) {
        buf_u8(out, 0x4c);
        buf_uleb(out, d->describes);
    }
    if (d->has_descriptor) {
        buf_u8(out, 0x4d);
        buf_uleb(out, d->descriptor);
    }
    buf_u8(out, form_of(d));
    if (d->kind == WASM_TYPE_CONT) {
        wasm_put_heap(out, d->fields[0].type);
    } else if (d->kind != WASM_TYPE_FUNC) {
        put_fields(out, d);
    } else {
        write_put_types(out, d->params, d->nparams);
        write_put_types(out, d->results, d->nresults);
    }
}

/* Kinds of imports and exports by space. */
static uint8_t write_kind_of(uint8_t space) {
    switch (space) {
    case WASM_SPACE_TABLE: return 1;
    case WASM_SPACE_MEMORY: return 2;
    case WASM_SPACE_GLOBAL: return 3;
    case WASM_SPACE_TAG: return 4;
    default: return 0;
    }
}

static void put_import(const WasmModule *m, Buf *out, const WasmImport *im) {
    buf_name(out, im->module);
    buf_name(out, im->name);
    bool exact = im->space == WASM_SPACE_FUNC && m->funcs.at[im->handle].exact;
    buf_u8(out, exact ? 0x20 : write_kind_of(im->space));
    switch (im->space) {
    case WASM_SPACE_FUNC: buf_uleb(out, m->funcs.at[im->handle].type); break;
    case WASM_SPACE_TABLE: put_table_type(out, &m->tables.at[im->handle]); break;
    case WASM_SPACE_MEMORY: put_limits(out, &m->memories.at[im->handle].limits, true); break;
    case WASM_SPACE_GLOBAL: put_global_type(out, &m->globals.at[im->handle]); break;
    default: buf_u8(out, 0); buf_uleb(out, m->tags.at[im->handle].type);
    }
}

/* Expressions that are added; there may be none. */
static void put_expr(Writer *r, Buf *out, const Buf *expr) {
    if (!expr->len)
        return;
    WasmCode c = wasm_code(expr->data, expr->len, 0);
    r->ok &= wasm_copy_code(&c, &r->map, out);
}

/* An added table, with its initial value if it has one. */
static void write_put_table(Writer *r, Buf *out, const WasmTable *t) {
    if (t->code.len) {
        buf_u8(out, 0x40);
        buf_u8(out, 0);
    }
    put_table_type(out, t);
    put_expr(r, out, &t->code);
}

static void write_put_elem(Writer *r, Buf *out, const WasmElem *e) {
    enum { NOT_ACTIVE = 1, EXPLICIT = 2, DECLARED = 2, EXPRS = 4 };
    const WasmModule *m = r->m;
    uint32_t table = wasm_final(m, WASM_SPACE_TABLE, e->table);
    bool active = e->mode == WASM_ACTIVE;
    bool explicit = table || (e->exprs && e->type != WASM_FUNCREF); /* table and type are given */
    uint8_t flags = active ? explicit ? EXPLICIT : 0
                           : NOT_ACTIVE | (e->mode == WASM_DECLARATIVE ? DECLARED : 0);
    buf_u8(out, flags | (e->exprs ? EXPRS : 0));
    if (active && explicit)
        buf_uleb(out, table);
    if (active)
        put_expr(r, out, &e->code);
    if (flags && e->exprs)
        wasm_put_type(out, e->type);
    else if (flags)
        buf_u8(out, 0);
    buf_uleb(out, e->count);
    if (e->exprs)
        put_expr(r, out, &e->content);
    for (uint32_t i = 0; !e->exprs && i < e->count; i++)
        buf_uleb(out, wasm_final(m, WASM_SPACE_FUNC, e->added_funcs[i]));
}

/* All counters are such globals. */
static void put_zero_i64(Buf *out, const WasmGlobal *g) {
    const uint8_t bytes[] = {WASM_I64, g->mutable, (uint8_t)wasm_ops[WASM_OP_I64_CONST].code, 0,
                             (uint8_t)wasm_ops[WASM_OP_END].code};
    buf_bytes(out, bytes, sizeof bytes);
}

static void write_put_global(Writer *r, Buf *out, const WasmGlobal *g) {
    if (g->type == WASM_I64 && !g->extra) {
        put_zero_i64(out, g);
        return;
    }
    const Buf *code = &wasm_extra(r->m, g->extra)->code;
    put_global_type(out, g);
    if (code->len)
        put_expr(r, out, code);
    else
        wasm_put_init(out, g->type, 0);
}

/* buf_bytes on threads. */
static void write_put_bytes(Buf *out, uint32_t threads, const uint8_t *from, size_t n) {
    buf_reserve(out, n);
    workers_copy(threads, out->data + out->len, from, n);
    out->len += n;
}

static void put_data(Writer *r, Buf *out, const WasmData *d) {
    uint32_t memory = wasm_final(r->m, WASM_SPACE_MEMORY, d->memory);
    const WasmExtra *extra = wasm_extra(r->m, d->extra);
    buf_u8(out, d->mode == WASM_PASSIVE ? 1 : memory ? 2 : 0);
    if (d->mode == WASM_ACTIVE) {
        if (memory)
            buf_uleb(out, memory);
        put_expr(r, out, &extra->code);
    }
    buf_uleb(out, extra->content.len);
    if (extra->content.len)
        write_put_bytes(out, r->threads, extra->content.data, extra->content.len);
}

static void put_added_func(Writer *r, Buf *out, const WasmFunc *f) {
    if (f->code_final || !wasm_remap_mask(&r->map)) {
        buf_vec(out, &f->code);
        return;
    }
    Buf body = {0};
    WasmCode c = wasm_code(f->code.data, f->code.len, 0);
    r->ok &= wasm_copy_locals(&c, &r->map, &body) && wasm_copy_code(&c, &r->map, &body);
    buf_vec(out, &body);
    buf_free(&body);
}

static void put_added(Writer *r, uint8_t id, Buf *out) {
    const WasmModule *m = r->m;
    const uint32_t *from = m->input_count;
    switch (id) {
    case WASM_SEC_TYPE:
        for (uint32_t i = from[WASM_SPACE_TYPE]; i < m->types.len; i++)
            put_type_def(out, &m->types.at[i], i);
        break;
    case WASM_SEC_IMPORT:
        for (uint32_t i = m->input_import_count; i < m->imports.len; i++)
            put_import(m, out, &m->imports.at[i]);
        break;
    case WASM_SEC_FUNCTION:
        for (uint32_t i = from[WASM_SPACE_FUNC]; i < m->funcs.len; i++)
            if (m->funcs.at[i].import < 0)
                buf_uleb(out, m->funcs.at[i].type);
        break;
    case WASM_SEC_CODE:
        for (uint32_t i = from[WASM_SPACE_FUNC]; i < m->funcs.len; i++)
            if (m->funcs.at[i].import < 0)
                put_added_func(r, out, &m->funcs.at[i]);
        break;
    case WASM_SEC_TABLE:
        for (uint32_t i = from[WASM_SPACE_TABLE]; i < m->tables.len; i++)
            write_put_table(r, out, &m->tables.at[i]);
        break;
    case WASM_SEC_MEMORY:
        for (uint32_t i = from[WASM_SPACE_MEMORY]; i < m->memories.len; i++)
            if (m->memories.at[i].import < 0)
                put_limits(out, &m->memories.at[i].limits, true);
        break;
    case WASM_SEC_TAG:
        for (uint32_t i = from[WASM_SPACE_TAG]; i < m->tags.len; i++) {
            if (m->tags.at[i].import >= 0)
                continue;
            buf_u8(out, 0);
            buf_uleb(out, m->tags.at[i].type);
        }
        break;
    case WASM_SEC_GLOBAL:
        for (uint32_t i = from[WASM_SPACE_GLOBAL]; i < m->globals.len; i++) {
            if (m->globals.at[i].imported)
                continue;
            write_put_global(r, out, &m->globals.at[i]);
        }
        break;
    case WASM_SEC_EXPORT:
        for (uint32_t i = m->input_export_count; i < m->exports.len; i++) {
            const WasmExport *e = &m->exports.at[i];
            buf_name(out, e->name);
            buf_u8(out, write_kind_of(e->space));
            buf_uleb(out, wasm_final(m, e->space, e->handle));
        }
        break;
    case WASM_SEC_ELEMENT:
        for (uint32_t i = from[WASM_SPACE_ELEM]; i < m->elems.len; i++)
            write_put_elem(r, out, &m->elems.at[i]);
        break;
    case WASM_SEC_DATA:
        for (uint32_t i = from[WASM_SPACE_DATA]; i < m->datas.len; i++)
            put_data(r, out, &m->datas.at[i]);
        break;
    default: break;
    }
}

/* ---- sections of the input ---- */

/* The first of m->refs at or after a file offset. */
static uint32_t first_ref(const WasmModule *m, uint32_t offset) {
    return vec_first(&m->refs, offset, offset);
}

/* The new index of the nth ref of a section. */
static uint32_t ref_index(const WasmModule *m, const WasmSection *s, const WasmIndexRef *ref,
                          uint32_t nth) {
    uint32_t handle = ref->value;
    if (s->id == WASM_SEC_EXPORT)
        handle = m->exports.at[nth].handle;
    else if (s->id == WASM_SEC_START)
        handle = (uint32_t)m->start;
    return ref->space == WASM_SPACE_FUNC ? wasm_entered(m, handle)
                                         : wasm_final(m, ref->space, handle);
}

static bool refs_move(const WasmModule *m, const WasmSection *s) {
    uint32_t first = first_ref(m, s->payload);
    for (uint32_t k = first; k < m->refs.len && m->refs.at[k].offset < s->end; k++)
        if (ref_index(m, s, &m->refs.at[k], k - first) != m->refs.at[k].value)
            return true;
    return false;
}

static bool limits_change(const WasmModule *m, const WasmSection *s) {
    for (uint32_t i = 0; i < m->input_count[WASM_SPACE_MEMORY]; i++) {
        const WasmMemory *mem = &m->memories.at[i];
        if (mem->relimited && mem->entry >= s->payload && mem->entry < s->end)
            return true;
    }
    return false;
}

/* Copies [from, end) of an import or memory section with new limits. */
static void copy_memories(const WasmModule *m, const WasmSection *s, uint32_t from, Buf *out) {
    for (uint32_t i = 0; i < m->input_count[WASM_SPACE_MEMORY]; i++) {
        const WasmMemory *mem = &m->memories.at[i];
        if (!mem->relimited || mem->entry < from || mem->entry >= s->end)
            continue;
        buf_bytes(out, m->bytes + from, mem->entry - from);
        put_limits(out, &mem->limits, true);
        from = mem->entry + mem->entry_len;
    }
    buf_bytes(out, m->bytes + from, s->end - from);
}

static bool types_change(const WasmModule *m, const WasmSection *s) {
    bool change = false;
    for (uint32_t f = 0; s->id == WASM_SEC_FUNCTION && f < m->input_count[WASM_SPACE_FUNC]; f++)
        change |= m->funcs.at[f].new_type > 0;
    return change;
}

/* The items of the function section. */
static void put_func_types(const WasmModule *m, Buf *out) {
    for (uint32_t i = m->input_imports[WASM_SPACE_FUNC]; i < m->input_count[WASM_SPACE_FUNC]; i++) {
        const WasmFunc *f = &m->funcs.at[i];
        buf_uleb(out, f->new_type ? f->new_type - 1 : f->type);
    }
}

/* The copied part of a section. */
typedef struct Copy {
    const WasmModule *m;
    const WasmSection *s;
    Buf *out;
    uint32_t threads;
    uint32_t from;       /* the offset from which on it is yet to be copied */
    uint32_t first, ref; /* of its indices: the first one, the next one */
} Copy;

/* Copies up to an offset with the indices patched. */
static void copy_up_to(Copy *c, uint32_t to) {
    const WasmModule *m = c->m;
    for (; c->ref < m->refs.len && m->refs.at[c->ref].offset < to; c->ref++) {
        const WasmIndexRef *ref = &m->refs.at[c->ref];
        uint32_t index = ref_index(m, c->s, ref, c->ref - c->first);
        if (index == ref->value)
            continue;
        buf_bytes(c->out, m->bytes + c->from, ref->offset - c->from);
        c->from = ref->offset + ref->width;
        wasm_put_index(c->out, m->bytes + ref->offset, ref->width, ref->value, index);
    }
    write_put_bytes(c->out, c->threads, m->bytes + c->from, to - c->from);
    c->from = to;
}

/* Whether data segments that do not name their memory, 0, are to name it. */
static bool datas_move(const WasmModule *m) {
    return m->memories.len && wasm_final(m, WASM_SPACE_MEMORY, 0) != 0;
}

bool wasm_writes_datas_as_read(const WasmModule *m) {
    assert(m->layout.done);
    for (uint32_t k = 0; k < m->sections.len; k++)
        if (m->sections.at[k].id == WASM_SEC_DATA)
            return !datas_move(m) && !m->joined_datas && !refs_move(m, &m->sections.at[k]);
    return true;
}

/* Copies segment k up to its size, and lets it name memory 0. */
static void copy_data_header(Copy *c, const WasmData *d) {
    copy_up_to(c, d->offset - d->implicit);
    buf_u8(c->out, 2);
    buf_uleb(c->out, wasm_final(c->m, WASM_SPACE_MEMORY, 0));
    c->from = d->offset;
}

/* Copies segment k and the segments that join it. Returns the next one. */
static uint32_t copy_joined(Copy *c, uint32_t k) {
    const WasmModule *m = c->m;
    const WasmData *d = &m->datas.at[k];
    uint32_t end = k + 1, count = m->input_count[WASM_SPACE_DATA];
    uint64_t size = d->size;
    for (; end < count && m->datas.at[end].joins; end++)
        size += m->datas.at[end].gap + (uint64_t)m->datas.at[end].size;
    copy_up_to(c, d->offset + d->offset_len);
    buf_uleb(c->out, size);
    for (; k < end; k++) {
        d = &m->datas.at[k];
        for (uint32_t i = 0; i < d->gap; i++)
            buf_u8(c->out, 0);
        buf_bytes(c->out, m->bytes + d->bytes, d->size);
    }
    c->from = d->bytes + d->size;
    while (c->ref < m->refs.len && m->refs.at[c->ref].offset < c->from)
        c->ref++; /* of segments that have joined others */
    return end;
}

/* Copies those segments that change. */
static void copy_datas(Copy *c) {
    const WasmModule *m = c->m;
    bool moves = datas_move(m);
    for (uint32_t k = 0, next; k < m->input_count[WASM_SPACE_DATA]; k = next) {
        next = k + 1;
        if (moves && m->datas.at[k].implicit)
            copy_data_header(c, &m->datas.at[k]);
        if (next < m->input_count[WASM_SPACE_DATA] && m->datas.at[next].joins)
            next = copy_joined(c, k);
    }
}

/* Copies [from, end) of a section with its indices patched. */
static void copy_items(const Writer *r, const WasmSection *s, uint32_t from, Buf *out) {
    const WasmModule *m = r->m;
    if (s->id == WASM_SEC_IMPORT || s->id == WASM_SEC_MEMORY) {
        copy_memories(m, s, from, out);
        return;
    }
    uint32_t first = first_ref(m, s->payload);
    Copy c = {m, s, out, r->threads, from, first, first};
    if (s->id == WASM_SEC_DATA && (datas_move(m) || m->joined_datas))
        copy_datas(&c);
    copy_up_to(&c, s->end);
}

/* A section with contents; the header stays as it was if the length does. */
static void write_put_section(Writer *r, uint8_t id, const WasmSection *s, const Buf *content) {
    const WasmModule *m = r->m;
    if (s) {
        const uint8_t *p = m->bytes + s->header + 1;
        uint32_t size = (uint32_t)wasm_uleb(&p);
        if (size == content->len) {
            buf_bytes(r->out, m->bytes + s->header, (size_t)(p - (m->bytes + s->header)));
            buf_bytes(r->out, content->data, content->len);
            return;
        }
    }
    buf_u8(r->out, id);
    buf_vec(r->out, content);
}

/* Begins a section whose contents are written in place: its length is known only afterwards.
 * Returns where it is. */
static size_t begin_section(Writer *r, const WasmSection *s) {
    size_t at = r->out->len, header = 1 + (s ? uleb_size(s->end - s->payload) : 1u);
    for (size_t i = 0; i < header; i++) /* the contents move if that is not its length */
        buf_u8(r->out, 0);
    return at;
}

/* As put_section, for contents written after begin_section. */
static void end_section(Writer *r, uint8_t id, const WasmSection *s, size_t at) {
    size_t header = 1 + (s ? uleb_size(s->end - s->payload) : 1u);
    size_t size = r->out->len - at - header;
    uint32_t width = uleb_size(size);
    if (s && size == s->end - s->payload)
        width = s->payload - s->header - 1;
    size_t given = r->given;
    take_back(r, at);
    if (1 + width != header) {
        given = 0;
        buf_reserve(r->out, 1 + width);
        memmove(r->out->data + at + 1 + width, r->out->data + at + header, size);
    }
    r->out->len = at;
    buf_u8(r->out, id);
    buf_uleb_padded(r->out, size, width);
    if (given > at) { /* all but the header has stayed */
        write_give(r, 1);
        r->given = given;
    }
    r->out->len += size;
}

static void copy_section(Writer *r, const WasmSection *s) {
    write_put_bytes(r->out, r->threads, r->m->bytes + s->header, s->end - s->header);
}

/* The number of items, with the bytes of the input if none are added. Returns where the items
 * begin. */
static uint32_t write_put_count(const WasmModule *m, const WasmSection *s, int64_t added,
                                Buf *out) {
    if (!s) {
        buf_uleb(out, (uint64_t)added);
        return 0;
    }
    const uint8_t *from = m->bytes + s->payload, *p = from;
    uint32_t count = (uint32_t)wasm_uleb(&p);
    if (added)
        buf_uleb(out, (uint64_t)(count + added));
    else
        buf_bytes(out, from, (size_t)(p - from));
    return (uint32_t)(p - m->bytes);
}

/* ---- code ---- */

static bool write_put_body(Writer *r, uint32_t func, Buf *out) {
    const char *error;
    uint32_t offset;
    if (r->w && r->w->body)
        return r->w->body(r->w->ctx, func, out);
    return wasm_edit_body(r->m, func, NULL, out, &error, &offset);
}

static bool put_bodies(Writer *r, Buf *out) {
    const WasmModule *m = r->m;
    for (uint32_t f = m->input_imports[WASM_SPACE_FUNC]; f < m->input_count[WASM_SPACE_FUNC]; f++) {
        size_t before = out->len;
        if (!write_put_body(r, f, out))
            return false;
        const WasmFunc *func = &m->funcs.at[f];
        r->resized[f] = out->len - before != (size_t)func->size_width + func->body_size;
        if (out == r->out)
            write_give(r, PIECE);
    }
    return true;
}

static bool put_code(Writer *r, const WasmSection *s, Buf *out) {
    const WasmModule *m = r->m;
    bool ok = true;
    uint32_t from = write_put_count(m, s, added_items(m, WASM_SEC_CODE), out);
    bool edited = (r->w && r->w->body) || wasm_remap_mask(&r->map);
    if (!edited && s) {
        buf_bytes(out, m->bytes + from, s->end - from);
    } else {
        if (s)
            buf_reserve(out, s->end - from);
        Phase before = phase_begin(PHASE_INJECT);
        ok = put_bodies(r, out);
        phase_end(before);
    }
    if (ok)
        put_added(r, WASM_SEC_CODE, out);
    return ok && r->ok;
}

static bool put_code_section(Writer *r, const WasmSection *s) {
    const WasmModule *m = r->m;
    bool edited = (r->w && r->w->body) || wasm_remap_mask(&r->map);
    if (s && !edited && !added_items(m, WASM_SEC_CODE)) {
        copy_section(r, s);
        return true;
    }
    if (r->has_code) {
        write_put_section(r, WASM_SEC_CODE, s, &r->code);
        return true;
    }
    size_t at = begin_section(r, s);
    if (!put_code(r, s, r->out))
        return false;
    end_section(r, WASM_SEC_CODE, s, at);
    return true;
}

/* ---- custom sections ---- */

static void write_put_names(Writer *r, const WasmSection *s) {
    const WasmModule *m = r->m;
    bool additions = !r->names_done && wasm_names_added(m, s ? r->w : NULL);
    bool same = !additions && !(r->w && r->w->body);
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        same &= m->layout.identity[space];
    r->names_done = true;
    if (s && same) {
        copy_section(r, s);
        return;
    }
    if (!s && !additions)
        return;
    Buf content = {0};
    buf_name(&content, STR("name"));
    wasm_put_names(m, r->w, s, additions, r->resized, &content);
    write_put_section(r, WASM_SEC_CUSTOM, s, &content);
    buf_free(&content);
}

/* Of metadata.code.call_targets, whose notes are functions with how often each is called: with the
 * new index of each. */
static void put_targets(const WasmModule *m, const WasmHint *h, Buf *out) {
    WasmCode c = wasm_code(m->bytes, (size_t)h->data + h->size, h->data);
    Buf targets = {0};
    uint32_t func, often;
    while (c.at < c.end && wasm_get_u32(&c, &func) && wasm_get_u32(&c, &often)) {
        buf_uleb(&targets, func < m->input_count[WASM_SPACE_FUNC] ? wasm_entered(m, func) : func);
        buf_uleb(&targets, often);
    }
    buf_vec(out, &targets);
    buf_free(&targets);
}

static bool hints_move(const WasmModule *m, uint32_t section) {
    if (str_is(m->sections.at[section].name, WASM_CALL_TARGETS) &&
        (!m->layout.identity[WASM_SPACE_FUNC] || m->layout.entered))
        return true;
    for (uint32_t k = 0; k < m->hints.len; k++) {
        const WasmHint *h = &m->hints.at[k];
        if (h->section == section &&
            (h->moved != h->offset || wasm_final(m, WASM_SPACE_FUNC, h->func) != h->func))
            return true;
    }
    return false;
}

/* The hints of one function, from hint `k` on; returns the first hint of the next function. */
static uint32_t put_func_hints(const WasmModule *m, uint32_t section, uint32_t k, Buf *out,
                               uint32_t *funcs) {
    uint32_t func = m->hints.at[k].func, end = k, n = 0;
    for (; end < m->hints.len && m->hints.at[end].func == func; end++)
        n += m->hints.at[end].section == section && m->hints.at[end].moved != UINT32_MAX;
    if (!n)
        return end;
    ++*funcs;
    buf_uleb(out, wasm_final(m, WASM_SPACE_FUNC, func));
    buf_uleb(out, n);
    for (; k < end; k++) {
        const WasmHint *h = &m->hints.at[k];
        if (h->section != section || h->moved == UINT32_MAX)
            continue;
        buf_uleb(out, h->moved);
        if (str_is(m->sections.at[section].name, WASM_CALL_TARGETS)) {
            put_targets(m, h, out);
            continue;
        }
        buf_uleb(out, h->size);
        buf_bytes(out, m->bytes + h->data, h->size);
    }
    return end;
}

static void write_put_hints(Writer *r, uint32_t section) {
    const WasmModule *m = r->m;
    const WasmSection *s = &m->sections.at[section];
    if (!hints_move(m, section)) {
        copy_section(r, s);
        return;
    }
    Buf items = {0}, content = {0};
    uint32_t funcs = 0;
    for (uint32_t k = 0; k < m->hints.len;)
        k = put_func_hints(m, section, k, &items, &funcs);
    buf_name(&content, s->name);
    buf_uleb(&content, funcs);
    buf_bytes(&content, items.data, items.len);
    write_put_section(r, WASM_SEC_CUSTOM, s, &content);
    buf_free(&items);
    buf_free(&content);
}

/* The hints of added instructions, in a section of their own. */
static void put_rare(Writer *r) {
    enum { UNLIKELY = 0 };
    const WasmModule *m = r->m;
    Buf items = {0}, content = {0};
    uint32_t funcs = 0;
    for (uint32_t k = 0, end; k < m->rare.len; k = end, funcs++) {
        uint32_t func = m->rare.at[k].func;
        for (end = k; end < m->rare.len && m->rare.at[end].func == func;)
            end++;
        buf_uleb(&items, wasm_final(m, WASM_SPACE_FUNC, func));
        buf_uleb(&items, end - k);
        for (uint32_t one = k; one < end; one++) {
            buf_uleb(&items, m->rare.at[one].at);
            buf_uleb(&items, 1);
            buf_u8(&items, UNLIKELY);
        }
    }
    buf_name(&content, STR(WASM_BRANCH_HINTS));
    buf_uleb(&content, funcs);
    buf_bytes(&content, items.data, items.len);
    if (funcs)
        write_put_section(r, WASM_SEC_CUSTOM, NULL, &content);
    buf_free(&items);
    buf_free(&content);
}

static bool write_is_names(const WasmSection *s) {
    return s->id == WASM_SEC_CUSTOM && str_is(s->name, "name");
}

/* ---- the whole ---- */

/* Sections of items: `s` is NULL if the input does not have it. */
static void put_items_section(Writer *r, uint8_t id, const WasmSection *s) {
    const WasmModule *m = r->m;
    uint32_t added = added_items(m, id);
    bool types = s && types_change(m, s);
    uint32_t joined = id == WASM_SEC_DATA ? m->joined_datas : 0;
    bool moves = s && (refs_move(m, s) || joined || (id == WASM_SEC_DATA && datas_move(m)));
    if (s && !added && !types && !moves && !limits_change(m, s)) {
        copy_section(r, s);
        return;
    }
    if (!s && !added)
        return;
    size_t at = begin_section(r, s);
    uint32_t from = write_put_count(m, s, (int64_t)added - joined, r->out);
    if (types)
        put_func_types(m, r->out);
    else if (s)
        copy_items(r, s, from, r->out);
    put_added(r, id, r->out);
    end_section(r, id, s, at);
}

static void write_put_start(Writer *r, const WasmSection *s) {
    const WasmModule *m = r->m;
    if (m->start < 0)
        return;
    Buf content = {0};
    if (s && !refs_move(m, s))
        copy_section(r, s);
    else {
        if (s)
            copy_items(r, s, s->payload, &content);
        else
            buf_uleb(&content, wasm_final(m, WASM_SPACE_FUNC, (uint32_t)m->start));
        write_put_section(r, WASM_SEC_START, s, &content);
    }
    buf_free(&content);
}

static void put_data_count(Writer *r, const WasmSection *s) {
    const WasmModule *m = r->m;
    bool changes = m->datas.len - m->joined_datas != m->input_count[WASM_SPACE_DATA];
    if (s && !changes) {
        copy_section(r, s);
    } else if (s || needs_data_count(m)) {
        Buf content = {0};
        buf_uleb(&content, m->datas.len - m->joined_datas);
        write_put_section(r, WASM_SEC_DATACOUNT, s, &content);
        buf_free(&content);
    }
}

static bool write_put_known(Writer *r, uint8_t id, const WasmSection *s) {
    switch (id) {
    case WASM_SEC_START: write_put_start(r, s); return true;
    case WASM_SEC_DATACOUNT: put_data_count(r, s); return true;
    case WASM_SEC_CODE:
        put_rare(r);
        return (!s && !added_items(r->m, id)) || put_code_section(r, s);
    default: put_items_section(r, id, s); return true;
    }
}

/* Sections that the input does not have, with ranks below `limit`; `rank` is the next to look at.
 */
static bool put_new_sections(Writer *r, uint32_t *rank, uint32_t limit, uint32_t present) {
    for (; *rank < limit; ++*rank)
        for (uint8_t id = 1; id < WASM_SEC_COUNT; id++)
            if (wasm_section_rank(id) == *rank && !(present >> id & 1) &&
                !write_put_known(r, id, NULL))
                return false;
    return true;
}

static bool put_input_section(Writer *r, uint32_t k) {
    const WasmSection *s = &r->m->sections.at[k];
    if (s->drop)
        return true;
    if (s->id != WASM_SEC_CUSTOM)
        return write_put_known(r, s->id, s);
    if (write_is_names(s))
        write_put_names(r, s);
    else if (wasm_is_hint_section(s))
        write_put_hints(r, k);
    else
        copy_section(r, s);
    return true;
}

/* The rank of the next section after `k` that is not custom. */
static uint32_t next_rank(const WasmModule *m, uint32_t k) {
    while (++k < m->sections.len)
        if (m->sections.at[k].id != WASM_SEC_CUSTOM)
            return wasm_section_rank(m->sections.at[k].id);
    return WASM_SEC_COUNT;
}

static bool put_sections(Writer *r) {
    const WasmModule *m = r->m;
    uint32_t present = 0, rank = 1;
    for (uint32_t k = 0; k < m->sections.len; k++)
        if (m->sections.at[k].id != WASM_SEC_CUSTOM)
            present |= 1u << m->sections.at[k].id;
    for (uint32_t k = 0; k < m->sections.len; k++) {
        const WasmSection *s = &m->sections.at[k];
        bool known = s->id != WASM_SEC_CUSTOM;
        if (known && !put_new_sections(r, &rank, wasm_section_rank(s->id), present))
            return false;
        if (!known && !present && write_is_names(s) &&
            !put_new_sections(r, &rank, WASM_SEC_COUNT, present))
            return false;
        if (!put_input_section(r, k))
            return false;
        write_give(r, PIECE);
        if (known && !put_new_sections(r, &rank, next_rank(m, k), present))
            return false;
    }
    if (!put_new_sections(r, &rank, WASM_SEC_COUNT, present))
        return false;
    if (!r->names_done)
        write_put_names(r, NULL);
    return r->ok;
}

/* Writes the code first if sections before it depend on the new code. */
static bool prepare_code(Writer *r) {
    const WasmModule *m = r->m;
    bool first = m->hints.len || m->hints_rare;
    const WasmSection *code = NULL;
    for (uint32_t k = 0; k < m->sections.len && !code; k++) {
        if (m->sections.at[k].id == WASM_SEC_CODE)
            code = &m->sections.at[k];
        else
            first |= write_is_names(&m->sections.at[k]);
    }
    if (!first || !code)
        return true;
    r->has_code = true;
    return put_code(r, code, &r->code);
}

bool wasm_write(WasmModule *m, const WasmWriter *w, Buf *out) {
    assert(wasm_module_check(m));
    wasm_layout(m);
    Writer r = {.m = m, .w = w, .out = out, .map = wasm_layout_remap(m), .ok = true};
    r.threads = w && w->threads ? w->threads : 1;
    r.resized = mem_zalloc(m->funcs.len + 1u);
    if (m->bytes)
        buf_bytes(out, m->bytes, 8);
    else
        buf_bytes(out, "\0asm\1\0\0\0", 8);
    buf_reserve(out, m->size + m->size / 8);
    bool ok = prepare_code(&r) && put_sections(&r);
    if (ok)
        write_give(&r, 1);
    free(r.resized);
    buf_free(&r.code);
    return ok;
}
