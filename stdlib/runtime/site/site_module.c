/*
 * runtime/site/site_module.c - what the program declares: types, imports, functions, tables,
 * memories, globals, tags. Sections are read when they are first needed.
 */
#include "site_state.h"

enum { SECTION_TYPE = 1, SECTION_IMPORT = 2, SECTION_EXPORT = 7, SECTION_CODE = 10 };

static uint32_t section_of(SiteKind kind) {
    return kind == SITE_FUNC ? 3 : kind == SITE_TAG ? 13 : 3 + (uint32_t)kind;
}

/* ---- entries of the lists ---- */

static uint32_t limits(SiteReader *r) {
    uint32_t flags = site_u8(r), page_log2 = 16;
    site_uleb_slow(r);
    if (flags & LIMITS_MAX)
        site_uleb_slow(r);
    if (flags & LIMITS_PAGE)
        page_log2 = site_u32(r) & 63;
    return flags | page_log2 << 8;
}

/* The type of an import, or the part of a section's item before its expression. */
static SiteEntry entry(SiteReader *r, uint32_t kind) {
    SiteEntry e = {0, 0};
    switch (kind) {
    case SITE_FUNC: e.type = site_u32(r); break;
    case SITE_TABLE:
        e.type = site_type(r);
        e.bits = limits(r);
        break;
    case SITE_MEMORY: e.bits = limits(r); break;
    case SITE_GLOBAL:
        e.type = site_type(r);
        site_u8(r);
        break;
    case SITE_TAG:
        site_u8(r);
        e.type = site_u32(r);
        break;
    default: site_read_fail(r, SITE_MALFORMED, 0);
    }
    return e;
}

static void add(SiteList *list, SiteEntry e) {
    uint64_t each = sizeof e;
    site_reserve(&list->entries, (uint32_t)(list->count * each), (list->count + 1) * each);
    __builtin_memcpy(at(list->entries.at) + list->count * each, &e, sizeof e);
    list->count++;
}

static void name(SiteReader *r) {
    site_skip(r, site_u32(r));
}

/* ---- imports ---- */

/* A walk over the imports. The compact form (a proposal): several names from one module, each with
 * its type or all with one. */
typedef struct Imports {
    SiteReader r;
    uint32_t left;   /* imports or groups of them */
    uint32_t inside; /* names left of a group */
    const uint8_t *shared, *module, *name;
    SiteEntry entry;
    uint32_t kind;
} Imports;
enum { COMPACT_TYPES = 0x7f, COMPACT_TYPE = 0x7e };

static void import_type(Imports *w) {
    const uint8_t *back = w->r.at;
    if (w->shared)
        w->r.at = w->shared;
    w->kind = site_u8(&w->r);
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
static void expression(SiteReader *r) {
    uint32_t depth = 0;
    SiteInstr i;
    do {
        site_decode(r, &i);
        depth += i.op == WASM_OP_BLOCK || i.op == WASM_OP_LOOP || i.op == WASM_OP_IF;
    } while (i.op != WASM_OP_END || depth--);
}

/* An item of a section. */
static SiteEntry defined(SiteReader *r, SiteKind kind, bool expressions) {
    enum { WITH_INIT = 0x40 };
    bool init = kind == SITE_GLOBAL;
    if (kind == SITE_TABLE && r->at != r->end && *r->at == WITH_INIT) {
        site_skip(r, 2);
        init = true;
    }
    SiteEntry e = entry(r, kind);
    if (expressions && init)
        expression(r);
    return e;
}

INLINE void load(SiteKind kind, bool expressions) {
    SiteList *list = &S->lists[kind];
    if (list->loaded)
        return;
    SiteBlock b;
    Imports w = imports(&b);
    while (next_import(&w))
        if (w.kind == kind)
            add(list, w.entry);
    list->imports = list->count;
    site_drop(&b);
    SiteReader r = site_section(section_of(kind), &b);
    for (uint32_t n = r.at == r.end ? 0 : site_u32(&r); n; n--)
        add(list, defined(&r, kind, expressions));
    site_drop(&b);
    list->loaded = true;
}

const SiteList *site_memories(void) {
    load(SITE_MEMORY, false);
    return &S->lists[SITE_MEMORY];
}

const SiteEntry *site_entry(SiteKind kind, uint32_t n) {
    load(kind, true);
    const SiteList *list = &S->lists[kind];
    if (n >= list->count)
        site_fail(SITE_MALFORMED, 0, section_of(kind), 0);
    return (const SiteEntry *)(void *)at(list->entries.at) + n;
}

/* ---- types ---- */

static void type_list(SiteReader *r, uint32_t *n) {
    *n = site_u32(r);
    for (uint32_t k = 0; k < *n; k++)
        site_push(&S->words, &S->nwords, site_type(r));
}

static void type_fields(SiteReader *r, uint32_t n) {
    for (; n; n--) {
        site_push(&S->words, &S->nwords, site_type(r));
        site_u8(r); /* mutability */
    }
}

static void type_def(SiteReader *r) {
    enum { SUB = 0x50, SUB_FINAL = 0x4f };
    uint32_t form = site_u8(r);
    if (form == SUB || form == SUB_FINAL) {
        for (uint32_t supers = site_u32(r); supers; supers--)
            site_u32(r);
        form = site_u8(r);
    }
    SiteType t = {S->nwords, 0, 0, form};
    switch (form) {
    case SITE_FORM_FUNC:
        type_list(r, &t.nparams);
        type_list(r, &t.nresults);
        break;
    case SITE_FORM_STRUCT:
    case SITE_FORM_ARRAY:
        t.nparams = form == SITE_FORM_ARRAY ? 1 : site_u32(r);
        type_fields(r, t.nparams);
        break;
    case SITE_FORM_CONT: /* like one field, a reference to the type of its function */
        t.nparams = 1;
        site_push(&S->words, &S->nwords, site_heap(r));
        break;
    default: site_read_fail(r, SITE_UNKNOWN_TYPE, form);
    }
    uint64_t each = sizeof t;
    site_reserve(&S->types, (uint32_t)(S->ntypes * each), (S->ntypes + 1) * each);
    __builtin_memcpy(at(S->types.at) + S->ntypes * each, &t, sizeof t);
    S->ntypes++;
}

static void load_types(void) {
    enum { REC = 0x4e };
    SiteBlock b;
    SiteReader r = site_section(SECTION_TYPE, &b);
    for (uint32_t groups = r.at == r.end ? 0 : site_u32(&r); groups; groups--) {
        uint32_t n = 1;
        if (r.at != r.end && *r.at == REC) {
            r.at++;
            n = site_u32(&r);
        }
        for (; n; n--)
            type_def(&r);
    }
    site_drop(&b);
    S->types_loaded = true;
}

const SiteType *site_type_def(uint32_t n) {
    if (!S->types_loaded)
        load_types();
    if (n >= S->ntypes)
        site_fail(SITE_MALFORMED, 0, SECTION_TYPE, 0);
    return (const SiteType *)(void *)at(S->types.at) + n;
}

/* ---- locals ---- */

void site_locals(uint32_t fid) {
    if (S->locals_func == fid + 1)
        return;
    enum { MOST = 1 << 20 }; /* engines have lower limits */
    const SiteType *type = site_type_def(site_entry(SITE_FUNC, fid)->type);
    SiteReader r = site_body(fid);
    S->nlocals = 0;
    for (uint32_t k = 0; k < type->nparams; k++)
        site_push(&S->locals, &S->nlocals, site_params(type)[k]);
    for (uint32_t groups = site_u32(&r); groups; groups--) {
        uint32_t n = site_u32(&r);
        WasmType t = site_type(&r);
        if (n > MOST - S->nlocals)
            site_read_fail(&r, SITE_MALFORMED, 0);
        for (; n; n--)
            site_push(&S->locals, &S->nlocals, t);
    }
    S->locals_func = fid + 1;
}

/* ---- names ---- */

/* A name that was skipped before. */
static const uint8_t *name_at(const uint8_t *p, uint32_t *len) {
    SiteReader r = {p, p, p + 5, 0, SECTION_IMPORT};
    *len = site_u32(&r);
    return r.at;
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
    SiteReader r = site_section(SECTION_EXPORT, &b);
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
