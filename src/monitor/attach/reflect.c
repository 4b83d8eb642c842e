/*
 * monitor/attach/reflect.c - the answers of whamm:reflect about a program.
 */
#include "monitor/attach/reflect.h"

#include "wasm/leb.h"
#include "wasm/read.h"

#include <assert.h>

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

/* ---- reading ---- */

/* The lists of sections' items, from 1; 0: there are no answers. */
static const uint8_t lists[WASM_SEC_COUNT] = {
    [WASM_SEC_TYPE] = REFLECT_TYPES + 1,         [WASM_SEC_IMPORT] = REFLECT_IMPORTS + 1,
    [WASM_SEC_FUNCTION] = REFLECT_FUNCTIONS + 1, [WASM_SEC_TABLE] = REFLECT_TABLES + 1,
    [WASM_SEC_MEMORY] = REFLECT_MEMORIES + 1,    [WASM_SEC_GLOBAL] = REFLECT_GLOBALS + 1,
    [WASM_SEC_TAG] = REFLECT_TAGS + 1,           [WASM_SEC_EXPORT] = REFLECT_EXPORTS + 1,
    [WASM_SEC_ELEMENT] = REFLECT_ELEMENTS + 1,   [WASM_SEC_DATA] = REFLECT_DATA + 1,
};

static void add_item(void *ctx, uint8_t section, Str bytes) {
    Reflect *r = ctx;
    vec_push(&r->items[lists[section] - 1], bytes);
}

static Str reflect_slice(const uint8_t *from, const uint8_t *to) {
    return (Str){(const char *)from, (uint32_t)(to - from)};
}

/* A custom section with its name. */
static Str custom(const Reflect *r, const WasmSection *s) {
    const uint8_t *at = r->m->bytes + s->header + 1;
    wasm_uleb(&at); /* the size */
    return reflect_slice(at, r->m->bytes + s->end);
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
    wasm_read_each_item(m, add_item, r);
    for (uint32_t k = 0; k < m->sections.len; k++)
        if (m->sections.at[k].id == WASM_SEC_CUSTOM)
            vec_push(&r->items[REFLECT_CUSTOM_SECTIONS], custom(r, &m->sections.at[k]));
}

void reflect_free(Reflect *r) {
    for (uint32_t k = 0; k < REFLECT_LISTS; k++)
        vec_free(&r->items[k]);
}

/* ---- answers ---- */

uint32_t reflect_number(const Reflect *r, const ReflectFn *fn) {
    assert(fn->kind == REFLECT_NUMBER);
    return fn->list == REFLECT_SIZE ? (uint32_t)r->m->size : r->items[fn->list].len;
}

uint32_t reflect_count(const Reflect *r, const ReflectFn *fn) {
    bool funcs = fn->list == REFLECT_NAMES || fn->list == REFLECT_BODIES;
    return r->items[funcs ? REFLECT_FUNCTIONS : fn->list].len;
}

/* The contents of a section, if monitors may read it. */
static Str reflect_section(const Reflect *r, uint32_t id) {
    for (uint32_t k = 0; k < r->m->sections.len; k++) {
        const WasmSection *s = &r->m->sections.at[k];
        if (s->id == id && lists[id])
            return reflect_slice(r->m->bytes + s->payload, r->m->bytes + s->end);
    }
    return (Str){0};
}

Str reflect_bytes(const Reflect *r, const ReflectFn *fn, uint32_t index) {
    const WasmModule *m = r->m;
    if (fn->kind == REFLECT_SECTION)
        return reflect_section(r, index);
    switch (fn->list) {
    case REFLECT_PATH: return r->path;
    case REFLECT_NAME: return m->name;
    case REFLECT_BYTES: return reflect_slice(m->bytes, m->bytes + m->size);
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
