/*
 * locations/section.c - finds sections of modules that nobody has read.
 */
#include "locations/section.h"
#include "wasm/leb.h"
#include "wasm/module.h"

Str section_find(Str module, const char *name) {
    if (module.len < 8)
        return (Str){0};
    WasmCode c = wasm_code((const uint8_t *)module.ptr, module.len, 8);
    uint8_t id;
    uint32_t size;
    const uint8_t *at;
    while (c.at < c.end && wasm_get_u8(&c, &id) && wasm_get_u32(&c, &size) &&
           wasm_get_bytes(&c, size, &at)) {
        WasmCode s = wasm_code(at, size, 0);
        if (id == WASM_SEC_CODE && !name)
            return (Str){(const char *)at, size};
        if (id != WASM_SEC_CUSTOM || !name || !wasm_get_u32(&s, &size) ||
            !wasm_get_bytes(&s, size, &at) || !str_is((Str){(const char *)at, size}, name))
            continue;
        return (Str){(const char *)s.at, (uint32_t)(s.end - s.at)};
    }
    return (Str){0};
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
                           .rnglists = section_find(module, ".debug_rnglists")};
}
