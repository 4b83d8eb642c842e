/*
 * attach/reflect.c - the answers of whamm:reflect about a program.
 */
#include "attach/reflect.h"

#include "wasm/leb.h"

/* ---- functions ---- */

static const ReflectFn functions[] = {
    {"get_module_size", REFLECT_NUMBER, REFLECT_SIZE},
    {"get_num_types", REFLECT_NUMBER, REFLECT_TYPES},
    {"get_num_imports", REFLECT_NUMBER, REFLECT_IMPORTS},
    {"get_num_functions", REFLECT_NUMBER, REFLECT_FUNCTIONS},
    {"get_num_tables", REFLECT_NUMBER, REFLECT_TABLES},
    {"get_num_memories", REFLECT_NUMBER, REFLECT_MEMORIES},
    {"get_num_globals", REFLECT_NUMBER, REFLECT_GLOBALS},
    {"get_num_tags", REFLECT_NUMBER, REFLECT_TAGS},
    {"get_num_exports", REFLECT_NUMBER, REFLECT_EXPORTS},
    {"get_num_elements", REFLECT_NUMBER, REFLECT_ELEMENTS},
    {"get_num_data", REFLECT_NUMBER, REFLECT_DATA},
    {"get_num_custom_sections", REFLECT_NUMBER, REFLECT_CUSTOM_SECTIONS},
    {"get_import_index", REFLECT_IMPORT, 0},
    {"read_module_path", REFLECT_WHOLE, REFLECT_PATH},
    {"read_module_name", REFLECT_WHOLE, REFLECT_NAME},
    {"read_module_def", REFLECT_WHOLE, REFLECT_BYTES},
    {"read_section", REFLECT_SECTION, 0},
    {"read_type_def", REFLECT_ITEM, REFLECT_TYPES},
    {"read_import_def", REFLECT_ITEM, REFLECT_IMPORTS},
    {"read_function_def", REFLECT_ITEM, REFLECT_FUNCTIONS},
    {"read_table_def", REFLECT_ITEM, REFLECT_TABLES},
    {"read_memory_def", REFLECT_ITEM, REFLECT_MEMORIES},
    {"read_global_def", REFLECT_ITEM, REFLECT_GLOBALS},
    {"read_tag_def", REFLECT_ITEM, REFLECT_TAGS},
    {"read_export_def", REFLECT_ITEM, REFLECT_EXPORTS},
    {"read_element_def", REFLECT_ITEM, REFLECT_ELEMENTS},
    {"read_data_def", REFLECT_ITEM, REFLECT_DATA},
    {"read_function_name", REFLECT_ITEM, REFLECT_NAMES},
    {"read_function_body", REFLECT_ITEM, REFLECT_BODIES},
    {"read_custom_section", REFLECT_ITEM, REFLECT_CUSTOM_SECTIONS},
};

const ReflectFn *reflect_find(Str name) {
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (str_is(name, functions[k].name))
            return &functions[k];
    return NULL;
}

uint32_t reflect_nparams(const ReflectFn *fn) {
    switch (fn->kind) {
    case REFLECT_NUMBER: return 0;
    case REFLECT_IMPORT:
    case REFLECT_WHOLE: return 2;
    case REFLECT_ITEM: return 3;
    default: return 4;
    }
}

/* ---- items of sections; the module was read, so that nothing fails ---- */

static void skip_number(WasmCode *c) {
    uint64_t v;
    wasm_get_u64(c, &v);
}

static uint32_t number(WasmCode *c) {
    uint32_t v = 0;
    wasm_get_u32(c, &v);
    return v;
}

static uint8_t byte(WasmCode *c) {
    uint8_t v = 0;
    wasm_get_u8(c, &v);
    return v;
}

static void skip_bytes(WasmCode *c) {
    const uint8_t *at;
    wasm_get_bytes(c, number(c), &at);
}

static void skip_type(WasmCode *c, bool packed) {
    WasmType t;
    wasm_get_type(c, packed, &t);
}

static void skip_types(WasmCode *c) {
    for (uint32_t n = number(c); n && !c->error; n--)
        skip_type(c, false);
}

static void skip_expr(WasmCode *c) {
    WasmInstr i;
    while (wasm_next(c, &i) && i.op != WASM_OP_END) {
    }
}

static void skip_limits(WasmCode *c) {
    enum { HAS_MAX = 1, PAGE_SIZE = 8 };
    uint8_t flags = byte(c);
    skip_number(c);
    if (flags & HAS_MAX)
        skip_number(c);
    if (flags & PAGE_SIZE)
        skip_number(c);
}

static void skip_field(WasmCode *c) {
    skip_type(c, true);
    byte(c);
}

static void skip_subtype(WasmCode *c) {
    uint8_t form = byte(c);
    if (form == 0x50 || form == 0x4f) { /* sub, sub final */
        for (uint32_t n = number(c); n && !c->error; n--)
            skip_number(c);
        form = byte(c);
    }
    if (form == 0x60) { /* func */
        skip_types(c);
        skip_types(c);
    } else if (form == 0x5e) { /* array */
        skip_field(c);
    } else { /* struct */
        for (uint32_t n = number(c); n && !c->error; n--)
            skip_field(c);
    }
}

/* A type or a whole recursion group. */
static void skip_type_def(WasmCode *c) {
    if (c->at == c->end || *c->at != 0x4e) {
        skip_subtype(c);
        return;
    }
    byte(c);
    for (uint32_t n = number(c); n && !c->error; n--)
        skip_subtype(c);
}

static void skip_tag(WasmCode *c) {
    byte(c);
    skip_number(c);
}

static void skip_global_type(WasmCode *c) {
    skip_type(c, false);
    byte(c);
}

static void skip_table_type(WasmCode *c) {
    skip_type(c, false);
    skip_limits(c);
}

static void skip_import(WasmCode *c) {
    skip_bytes(c);
    skip_bytes(c);
    switch (byte(c)) {
    case 0: skip_number(c); break;
    case 1: skip_table_type(c); break;
    case 2: skip_limits(c); break;
    case 3: skip_global_type(c); break;
    default: skip_tag(c);
    }
}

static void skip_table(WasmCode *c) {
    bool init = c->at < c->end && *c->at == 0x40;
    if (init) {
        byte(c);
        byte(c);
    }
    skip_table_type(c);
    if (init)
        skip_expr(c);
}

static void skip_global(WasmCode *c) {
    skip_global_type(c);
    skip_expr(c);
}

static void skip_export(WasmCode *c) {
    skip_bytes(c);
    byte(c);
    skip_number(c);
}

static void skip_element(WasmCode *c) {
    enum { NOT_ACTIVE = 1, EXPLICIT = 2, EXPRS = 4 };
    uint32_t flags = number(c);
    if (!(flags & NOT_ACTIVE) && (flags & EXPLICIT))
        skip_number(c);
    if (!(flags & NOT_ACTIVE))
        skip_expr(c);
    if ((flags & (NOT_ACTIVE | EXPLICIT)) && (flags & EXPRS))
        skip_type(c, false);
    else if (flags & (NOT_ACTIVE | EXPLICIT))
        byte(c);
    for (uint32_t n = number(c); n && !c->error; n--) {
        if (flags & EXPRS)
            skip_expr(c);
        else
            skip_number(c);
    }
}

static void skip_data(WasmCode *c) {
    enum { PASSIVE = 1, EXPLICIT = 2 };
    uint32_t flags = number(c);
    if (flags & EXPLICIT)
        skip_number(c);
    if (!(flags & PASSIVE))
        skip_expr(c);
    skip_bytes(c);
}

/* ---- reading ---- */

/* Where items of a section go, and how far one reaches. */
static const struct {
    uint8_t list;
    void (*skip)(WasmCode *c); /* NULL: there are no items */
} sections[WASM_SEC_COUNT] = {
    [WASM_SEC_TYPE] = {REFLECT_TYPES, skip_type_def},
    [WASM_SEC_IMPORT] = {REFLECT_IMPORTS, skip_import},
    [WASM_SEC_FUNCTION] = {REFLECT_FUNCTIONS, skip_number},
    [WASM_SEC_TABLE] = {REFLECT_TABLES, skip_table},
    [WASM_SEC_MEMORY] = {REFLECT_MEMORIES, skip_limits},
    [WASM_SEC_GLOBAL] = {REFLECT_GLOBALS, skip_global},
    [WASM_SEC_TAG] = {REFLECT_TAGS, skip_tag},
    [WASM_SEC_EXPORT] = {REFLECT_EXPORTS, skip_export},
    [WASM_SEC_ELEMENT] = {REFLECT_ELEMENTS, skip_element},
    [WASM_SEC_DATA] = {REFLECT_DATA, skip_data},
};

static Str slice(const uint8_t *from, const uint8_t *to) {
    return (Str){(const char *)from, (uint32_t)(to - from)};
}

static void read_section(Reflect *r, const WasmSection *s) {
    WasmCode c = wasm_code(r->m->bytes, s->end, s->payload);
    if (!sections[s->id].skip)
        return;
    for (uint32_t n = number(&c); n && !c.error; n--) {
        const uint8_t *from = c.at;
        sections[s->id].skip(&c);
        vec_push(&r->items[sections[s->id].list], slice(from, c.at));
    }
}

/* A custom section with its name. */
static Str custom(const Reflect *r, const WasmSection *s) {
    WasmCode c = wasm_code(r->m->bytes, s->end, s->header + 1);
    skip_number(&c);
    return slice(c.at, c.end);
}

void reflect_init(Reflect *r, const WasmModule *m, Str path) {
    static const uint8_t spaces[][2] = {{REFLECT_FUNCTIONS, WASM_SPACE_FUNC},
                                        {REFLECT_TABLES, WASM_SPACE_TABLE},
                                        {REFLECT_MEMORIES, WASM_SPACE_MEMORY},
                                        {REFLECT_GLOBALS, WASM_SPACE_GLOBAL},
                                        {REFLECT_TAGS, WASM_SPACE_TAG}};
    *r = (Reflect){.m = m, .path = path};
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++)
        for (uint32_t n = 0; n < m->input_imports[spaces[k][1]]; n++)
            vec_push(&r->items[spaces[k][0]], (Str){0});
    for (uint32_t k = 0; k < m->sections.len; k++) {
        const WasmSection *s = &m->sections.at[k];
        if (s->id == WASM_SEC_CUSTOM)
            vec_push(&r->items[REFLECT_CUSTOM_SECTIONS], custom(r, s));
        else
            read_section(r, s);
    }
}

void reflect_free(Reflect *r) {
    for (uint32_t k = 0; k < REFLECT_LISTS; k++)
        vec_free(&r->items[k]);
}

/* ---- answers ---- */

uint32_t reflect_number(const Reflect *r, const ReflectFn *fn) {
    return fn->list == REFLECT_SIZE ? (uint32_t)r->m->size : r->items[fn->list].len;
}

uint32_t reflect_count(const Reflect *r, const ReflectFn *fn) {
    bool funcs = fn->list == REFLECT_NAMES || fn->list == REFLECT_BODIES;
    return r->items[funcs ? REFLECT_FUNCTIONS : fn->list].len;
}

/* What a section holds, if it is one whose contents are told. */
static Str section(const Reflect *r, uint32_t id) {
    for (uint32_t k = 0; k < r->m->sections.len; k++) {
        const WasmSection *s = &r->m->sections.at[k];
        if (s->id == id && sections[id].skip)
            return slice(r->m->bytes + s->payload, r->m->bytes + s->end);
    }
    return (Str){0};
}

Str reflect_bytes(const Reflect *r, const ReflectFn *fn, uint32_t index) {
    const WasmModule *m = r->m;
    if (fn->kind == REFLECT_SECTION)
        return section(r, index);
    switch (fn->list) {
    case REFLECT_PATH: return r->path;
    case REFLECT_NAME: return m->name;
    case REFLECT_BYTES: return slice(m->bytes, m->bytes + m->size);
    case REFLECT_NAMES: return wasm_func_name(m, index);
    case REFLECT_BODIES:
        if (m->funcs.at[index].import >= 0)
            return (Str){0};
        return (Str){(const char *)wasm_func_body(m, index), m->funcs.at[index].body_size};
    default: return r->items[fn->list].at[index];
    }
}

bool reflect_import(const Reflect *r, uint32_t section_id, uint32_t index, int32_t *import) {
    const WasmModule *m = r->m;
    static const uint8_t spaces[WASM_SEC_COUNT] = {[WASM_SEC_FUNCTION] = WASM_SPACE_FUNC,
                                                   [WASM_SEC_TABLE] = WASM_SPACE_TABLE,
                                                   [WASM_SEC_MEMORY] = WASM_SPACE_MEMORY,
                                                   [WASM_SEC_GLOBAL] = WASM_SPACE_GLOBAL,
                                                   [WASM_SEC_TAG] = WASM_SPACE_TAG};
    uint8_t space = section_id < WASM_SEC_COUNT ? spaces[section_id] : 0;
    if (!space || index >= m->input_count[space])
        return false;
    *import = -1;
    for (uint32_t k = 0; k < m->input_import_count; k++)
        if (m->imports.at[k].space == space && m->imports.at[k].handle == index)
            *import = (int32_t)k;
    return true;
}
