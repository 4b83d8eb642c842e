/*
 * runtime/site/site_module.c - what the program declares: types, imports, functions, tables,
 * memories, globals, tags. Sections are read when they are first needed.
 */
#include "site_state.h"

enum { SECTION_TYPE = 1, SECTION_IMPORT = 2, SECTION_EXPORT = 7, SECTION_CODE = 10 };

static uint32_t section_of(SiteKind kind) {
    return kind == SITE_FUNC ? 3 : kind == SITE_TAG ? 13 : 3 + (uint32_t)kind;
}

SiteModel *site_model(void) {
    if (!S->model) {
        S->model = values_block(sizeof(SiteModel));
        *(SiteModel *)(void *)at(S->model) = (SiteModel){.m.exact = true};
    }
    return (SiteModel *)(void *)at(S->model);
}

/* ---- what is declared ---- */

static void number(WasmCode *r) {
    uint64_t v;
    if (!wasm_get_u64(r, &v))
        site_read_fail(r);
}

static WasmLimits limits(WasmCode *r) {
    enum { MAX = 1, IS_64 = 4, PAGE_SIZE = 8 };
    WasmLimits l = {0};
    uint8_t flags = site_u8(r);
    number(r);
    if (flags & MAX)
        number(r);
    l.page_log2 = flags & PAGE_SIZE ? site_u32(r) & 63 : 16;
    l.is64 = flags & IS_64;
    return l;
}

typedef struct Entry {
    uint32_t type;
    WasmLimits limits;
    bool mutable;
} Entry;

/* The type of an import, or the part of a section's item before its expression. */
static Entry entry(WasmCode *r, uint32_t kind) {
    Entry e = {0};
    switch (kind) {
    case SITE_FUNC: e.type = site_u32(r); break;
    case SITE_TABLE:
        e.type = site_type(r);
        e.limits = limits(r);
        break;
    case SITE_MEMORY: e.limits = limits(r); break;
    case SITE_GLOBAL:
        e.type = site_type(r);
        e.mutable = site_u8(r);
        break;
    case SITE_TAG:
        site_u8(r);
        e.type = site_u32(r);
        break;
    default: site_read_fail(r);
    }
    return e;
}

INLINE void add(WasmModule *m, SiteKind kind, const Entry *e) {
    switch (kind) {
    case SITE_FUNC: vec_push(&m->funcs, ((WasmFunc){.type = e->type, .exact = true})); break;
    case SITE_TABLE:
        vec_push(&m->tables, ((WasmTable){.type = e->type, .limits = e->limits}));
        break;
    case SITE_MEMORY: vec_push(&m->memories, ((WasmMemory){.limits = e->limits})); break;
    case SITE_GLOBAL:
        vec_push(&m->globals, ((WasmGlobal){.type = e->type, .mutable = e->mutable}));
        break;
    default: vec_push(&m->tags, ((WasmTag){.type = e->type}));
    }
}

static void name(WasmCode *r) {
    site_skip(r, site_u32(r));
}

/* ---- imports ---- */

/* A walk over the imports. The compact form (a proposal): several names from one module, each with
 * its type or all with one. */
typedef struct Imports {
    WasmCode r;
    uint32_t left;   /* imports or groups of them */
    uint32_t inside; /* names left of a group */
    const uint8_t *shared, *module, *name;
    Entry entry;
    uint32_t kind;
} Imports;
enum { EXACT_FUNC = 0x20, COMPACT_TYPES = 0x7f, COMPACT_TYPE = 0x7e };

static void import_type(Imports *w) {
    const uint8_t *back = w->r.at;
    if (w->shared)
        w->r.at = w->shared;
    w->kind = site_u8(&w->r);
    if (w->kind == EXACT_FUNC)
        w->kind = SITE_FUNC;
    w->entry = entry(&w->r, w->kind);
    if (w->shared)
        w->r.at = back;
}

/* The head of a group; the reader is after the names. */
static void import_group(Imports *w) {
    w->shared = NULL;
    if (site_u8(&w->r) == COMPACT_TYPE) {
        const uint8_t *type = w->r.at;
        import_type(w);
        w->shared = type;
    }
    w->inside = site_u32(&w->r);
}

static bool next_import(Imports *w) {
    for (;;) {
        if (w->inside) {
            w->inside--;
            w->name = w->r.at;
            name(&w->r);
            import_type(w);
            return true;
        }
        if (!w->left)
            return false;
        w->left--;
        w->shared = NULL;
        w->module = w->r.at;
        name(&w->r);
        w->name = w->r.at;
        name(&w->r);
        bool group = *w->name == 0 && w->r.at != w->r.end && *w->r.at >= COMPACT_TYPE;
        if (!group) {
            import_type(w);
            return true;
        }
        import_group(w);
    }
}

static Imports imports(SiteBlock *b) {
    Imports w = {.r = site_section(SECTION_IMPORT, b)};
    w.left = w.r.at == w.r.end ? 0 : site_u32(&w.r);
    return w;
}

/* ---- lists ---- */

/* Skips an initial value. */
static void expression(WasmCode *r) {
    uint32_t depth = 0;
    WasmInstr i;
    do {
        site_decode(r, &i);
        depth += i.op == WASM_OP_BLOCK || i.op == WASM_OP_LOOP || i.op == WASM_OP_IF;
    } while (i.op != WASM_OP_END || depth--);
}

/* An item of a section. */
INLINE Entry defined(WasmCode *r, SiteKind kind) {
    enum { WITH_INIT = 0x40 };
    bool init = kind == SITE_GLOBAL;
    if (kind == SITE_TABLE && r->at != r->end && *r->at == WITH_INIT) {
        site_skip(r, 2);
        init = true;
    }
    Entry e = entry(r, kind);
    if (init)
        expression(r);
    return e;
}

/* How many items of a byte or more. */
static uint32_t count(WasmCode *r, uint32_t least) {
    uint32_t n = site_u32(r);
    if (n > (uint32_t)(r->end - r->at) / least)
        site_read_fail(r);
    return n;
}

INLINE void load(WasmModule *m, SiteKind kind) {
    SiteBlock b;
    Imports w = imports(&b);
    while (next_import(&w)) {
        if (w.kind == kind)
            add(m, kind, &w.entry);
    }
    if (kind == SITE_MEMORY)
        S->imported_memories = m->memories.len;
    site_drop(&b);
    WasmCode r = site_section(section_of(kind), &b);
    for (uint32_t n = r.at == r.end ? 0 : count(&r, 1); n; n--) {
        Entry e = defined(&r, kind);
        add(m, kind, &e);
    }
    site_drop(&b);
}

/* ---- types ---- */

/* Room for lists, as many bytes as they can have in all. */
static void *room(uint32_t n, uint32_t each) {
    uint8_t *to = at(S->types.at + S->ntypes);
    S->ntypes += n * each;
    return to;
}

static const WasmType *type_list(WasmCode *r, uint32_t *n) {
    *n = count(r, 1);
    WasmType *list = room(*n, sizeof *list);
    for (uint32_t k = 0; k < *n; k++)
        list[k] = site_type(r);
    return list;
}

static void fields(WasmCode *r, WasmTypeDef *d) {
    d->nfields = d->kind == WASM_TYPE_STRUCT ? count(r, 2) : 1;
    WasmField *list = room(d->nfields, sizeof *list);
    d->fields = list;
    for (uint32_t k = 0; k < d->nfields; k++) {
        bool cont = d->kind == WASM_TYPE_CONT; /* has the type of its function */
        WasmType type = WASM_NONE;
        if (!cont)
            type = site_type(r);
        else if (!wasm_get_heap(r, &type))
            site_read_fail(r);
        list[k] = (WasmField){type, cont || site_u8(r)};
    }
}

/* A clause with an index, if it is next; *form becomes the byte after it. */
static bool clause(WasmCode *r, uint8_t which, uint8_t *form, uint32_t *index) {
    if (*form != which)
        return false;
    *index = site_u32(r);
    *form = site_u8(r);
    return true;
}

/* All types have the same canonical one, and all references to functions are exact, so that the
 * typer finds all subtypes valid. */
static void type_def(WasmCode *r, WasmModule *m) {
    enum {
        SUB = 0x50,
        SUB_FINAL = 0x4f,
        DESCRIPTOR = 0x4d,
        DESCRIBES = 0x4c,
        FUNC = 0x60,
        CONT = 0x5d
    };
    WasmTypeDef d = {0};
    uint8_t form = site_u8(r);
    if (form == SUB || form == SUB_FINAL) {
        for (uint32_t supers = site_u32(r); supers; supers--)
            site_u32(r);
        form = site_u8(r);
    }
    d.is_descriptor = clause(r, DESCRIBES, &form, &d.describes);
    d.has_descriptor = clause(r, DESCRIPTOR, &form, &d.descriptor);
    if ((form < CONT || form > FUNC) && !wasm_code_found(r, r->at - 1, "unknown type form", form))
        site_read_fail(r);
    d.kind = (uint8_t)(FUNC - form);
    if (form == FUNC) {
        d.params = type_list(r, &d.nparams);
        d.results = type_list(r, &d.nresults);
    } else {
        fields(r, &d);
    }
    vec_push(&m->types, d);
}

static void load_types(WasmModule *m) {
    enum { REC = 0x4e };
    SiteBlock b;
    WasmCode r = site_section(SECTION_TYPE, &b);
    m->types.len = S->ntypes = 0;
    site_reserve(&S->types, 0, sizeof(WasmType) * (uint64_t)(r.end - r.at));
    for (uint32_t groups = r.at == r.end ? 0 : site_u32(&r); groups; groups--) {
        uint32_t n = 1;
        if (r.at != r.end && *r.at == REC) {
            r.at++;
            n = site_u32(&r);
        }
        for (; n; n--)
            type_def(&r, m);
    }
    site_drop(&b);
}

static bool is_func_type(const WasmModule *m, uint32_t type) {
    return type < m->types.len && m->types.at[type].kind == WASM_TYPE_FUNC;
}

/* The typer does not check what the compiler's reader has. */
static void check_types(const WasmModule *m) {
    for (uint32_t k = 0; k < m->types.len; k++) {
        const WasmTypeDef *d = &m->types.at[k];
        if (d->kind == WASM_TYPE_CONT && !is_func_type(m, WASM_HEAP_OF(d->fields[0].type)))
            site_fail(SITE_MALFORMED, 0, SECTION_TYPE);
    }
}

static void check_funcs(const WasmModule *m) {
    site_module(SITE_TYPE);
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (!is_func_type(m, m->funcs.at[k].type))
            site_fail(SITE_MALFORMED, 0, section_of(SITE_FUNC));
}

const WasmModule *site_module(SiteKind kind) {
    WasmModule *m = &site_model()->m;
    if (S->loaded & 1u << kind)
        return m;
    if (kind == SITE_TYPE) {
        load_types(m);
        check_types(m);
    } else {
        load(m, kind);
    }
    if (kind == SITE_FUNC)
        check_funcs(m);
    S->loaded |= 1u << kind;
    return m;
}

const WasmTypeDef *site_func_type(uint32_t fid) {
    const WasmModule *m = site_module(SITE_FUNC);
    if (fid >= m->funcs.len)
        site_fail(SITE_MALFORMED, 0, section_of(SITE_FUNC));
    return wasm_func_type(m, fid);
}

/* ---- locals ---- */

const WasmTypes *site_locals(uint32_t fid) {
    WasmTypes *locals = &site_model()->typer.locals;
    if (S->locals_func == fid + 1)
        return locals;
    enum { MOST = 1 << 20 }; /* engines have lower limits */
    const WasmTypeDef *type = site_func_type(fid);
    WasmCode r = site_body(fid);
    S->locals_func = fid + 1;
    S->typer.func = 0;
    locals->len = 0;
    for (uint32_t k = 0; k < type->nparams; k++)
        vec_push(locals, type->params[k]);
    for (uint32_t groups = site_u32(&r); groups; groups--) {
        uint32_t n = site_u32(&r);
        WasmType t = site_type(&r);
        if (n > MOST - locals->len)
            site_read_fail(&r);
        for (; n; n--)
            vec_push(locals, t);
    }
    return locals;
}

/* ---- names ---- */

/* A name that was skipped before. */
static const uint8_t *name_at(const uint8_t *p, uint32_t *len) {
    *len = wasm_vec_u32(&p);
    return p;
}

static uint32_t str_of_name(const uint8_t *p) {
    uint32_t len;
    p = name_at(p, &len);
    uint32_t s = values_str_new(len);
    __builtin_memcpy(at(s + 4), p, len);
    return values_str_intern(s);
}

/* Reads the names of imported functions: two words each, module and name. */
static void load_import_names(void) {
    SiteBlock b;
    Imports w = imports(&b);
    while (next_import(&w)) {
        if (w.kind != SITE_FUNC)
            continue;
        site_push(&S->import_names, &S->nimport_names, str_of_name(w.module));
        site_push(&S->import_names, &S->nimport_names, str_of_name(w.name));
    }
    site_drop(&b);
    S->import_names_loaded = true;
}

bool site_import_names(uint32_t fid, uint32_t *module, uint32_t *name) {
    if (!S->import_names_loaded)
        load_import_names();
    if (fid >= S->nimport_names / 2)
        return false;
    const uint32_t *names = words_at(S->import_names.at) + 2 * fid;
    *module = names[0];
    *name = names[1];
    return true;
}

/* By function. */
static void load_export_names(void) {
    SiteBlock b;
    WasmCode r = site_section(SECTION_EXPORT, &b);
    for (uint32_t n = r.at == r.end ? 0 : site_u32(&r); n; n--) {
        const uint8_t *text = r.at;
        name(&r);
        bool func = site_u8(&r) == SITE_FUNC;
        uint32_t index = site_u32(&r);
        if (!func || !*text)
            continue;
        while (S->nexport_names <= index)
            site_push(&S->export_names, &S->nexport_names, 0);
        uint32_t *known = words_at(S->export_names.at) + index;
        if (!*known) {
            uint32_t s = str_of_name(text);
            words_at(S->export_names.at)[index] = s;
        }
    }
    site_drop(&b);
    S->export_names_loaded = true;
}

uint32_t site_export_name(uint32_t fid) {
    if (!S->export_names_loaded)
        load_export_names();
    return fid < S->nexport_names ? words_at(S->export_names.at)[fid] : 0;
}

/* ---- proc_exit ---- */

typedef enum Wasi { WASI_NONE, WASI_PREVIEW1, WASI_UNSTABLE } Wasi;

static Wasi wasi(const uint8_t *name) {
    uint64_t words[3] = {0};
    uint32_t len;
    name = name_at(name, &len);
    if (len > sizeof words)
        return WASI_NONE;
    __builtin_memcpy(words, name, len);
    if (words[0] == WORD("wasi_sna") && words[1] == WORD("pshot_pr") && words[2] == WORD("eview1"))
        return WASI_PREVIEW1;
    bool unstable = words[0] == WORD("wasi_uns") && words[1] == WORD("table") && !words[2];
    return unstable ? WASI_UNSTABLE : WASI_NONE;
}

static bool is_proc_exit(const uint8_t *name) {
    uint64_t words[2] = {0};
    uint32_t len;
    name = name_at(name, &len);
    if (len > sizeof words)
        return false;
    __builtin_memcpy(words, name, len);
    return words[0] == WORD("proc_exi") && words[1] == WORD("t");
}

/* As flush_proc_exit of the compiler (flush/flush.c): the older module counts if nothing is
 * imported from the newer one. */
static void find_proc_exit(void) {
    SiteBlock b;
    Imports w = imports(&b);
    uint32_t preview1 = 0, unstable = 0, funcs = 0;
    bool newer = false;
    while (next_import(&w)) {
        Wasi from = wasi(w.module);
        newer |= from == WASI_PREVIEW1;
        if (w.kind != SITE_FUNC)
            continue;
        funcs++;
        if (from == WASI_NONE || !is_proc_exit(w.name))
            continue;
        uint32_t *found = from == WASI_PREVIEW1 ? &preview1 : &unstable;
        *found = *found ? *found : funcs;
    }
    site_drop(&b);
    S->proc_exit = newer ? preview1 : unstable;
    S->proc_exit_loaded = true;
}

uint32_t site_proc_exit(void) {
    if (!S->proc_exit_loaded)
        find_proc_exit();
    return S->proc_exit;
}
