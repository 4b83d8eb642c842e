/*
 * locations/section.c - finds sections of modules that have not been validated.
 */
#include "locations/section.h"
#include "wasm/leb.h"
#include "wasm/module.h"

/* A section: the name is empty unless it is a custom one. */
typedef struct Section {
    uint8_t id;
    Str name, content;
} Section;

/* The next section; false at the end, and where the module is malformed. */
static bool next_section(WasmCode *c, Section *s) {
    uint32_t size;
    const uint8_t *at;
    *s = (Section){0};
    if (c->at >= c->end || !wasm_get_u8(c, &s->id) || !wasm_get_u32(c, &size) ||
        !wasm_get_bytes(c, size, &at))
        return false;
    s->content = (Str){(const char *)at, size};
    WasmCode custom = wasm_code(at, size, 0);
    if (s->id == WASM_SEC_CUSTOM && wasm_get_u32(&custom, &size) &&
        wasm_get_bytes(&custom, size, &at)) {
        s->name = (Str){(const char *)at, size};
        s->content = (Str){(const char *)custom.at, (uint32_t)(custom.end - custom.at)};
    }
    return true;
}

static WasmCode sections_of(Str module) {
    uint32_t header = 8;
    if (!module.len)
        return (WasmCode){0};
    return wasm_code((const uint8_t *)module.ptr, module.len,
                     module.len < header ? module.len : header);
}

Str section_find(Str module, const char *name) {
    WasmCode c = sections_of(module);
    for (Section s; next_section(&c, &s);)
        if (name ? s.id == WASM_SEC_CUSTOM && str_is(s.name, name) : s.id == WASM_SEC_CODE)
            return s.content;
    return (Str){0};
}

void section_each(Str module, SectionFound *found, void *ctx) {
    WasmCode c = sections_of(module);
    for (Section s; next_section(&c, &s);)
        if (s.id == WASM_SEC_CUSTOM)
            found(ctx, s.name, s.content);
}

Str section_string(Str module, const char *name) {
    Str content = section_find(module, name);
    uint32_t len;
    const uint8_t *at;
    if (!content.len)
        return (Str){0};
    WasmCode c = wasm_code((const uint8_t *)content.ptr, content.len, 0);
    if (!wasm_get_u32(&c, &len) || !wasm_get_bytes(&c, len, &at))
        return (Str){0};
    return (Str){(const char *)at, len};
}

DwarfSections section_dwarf(Str module) {
    return (DwarfSections){.info = section_find(module, ".debug_info"),
                           .abbrev = section_find(module, ".debug_abbrev"),
                           .str = section_find(module, ".debug_str"),
                           .str_offsets = section_find(module, ".debug_str_offsets"),
                           .line = section_find(module, ".debug_line"),
                           .line_str = section_find(module, ".debug_line_str"),
                           .addr = section_find(module, ".debug_addr"),
                           .ranges = section_find(module, ".debug_ranges"),
                           .rnglists = section_find(module, ".debug_rnglists"),
                           .loc = section_find(module, ".debug_loc"),
                           .loclists = section_find(module, ".debug_loclists")};
}
