/*
 * locations/locations.c - chooses where locations come from, and asks it.
 */
#include "locations/locations.h"
#include "dwarf/dwarf.h"

struct Locations {
    const WasmModule *m;
    const LocationOptions *options;
    uint32_t code; /* file offset of the code section's contents */
    DwarfBody *bodies;
    uint32_t nbodies;
    Dwarf *dwarf; /* NULL = there is none */
    Vec(LocationFrame) frames;
};

/* ---- the program ---- */

static Str section(const WasmModule *m, const char *name) {
    for (uint32_t i = 0; i < m->sections.len; i++) {
        const WasmSection *s = &m->sections.at[i];
        if (s->id == WASM_SEC_CUSTOM && str_is(s->name, name))
            return (Str){(const char *)m->bytes + s->payload, s->end - s->payload};
    }
    return (Str){0};
}

static void find_bodies(Locations *l) {
    const WasmModule *m = l->m;
    for (uint32_t i = 0; i < m->sections.len; i++)
        if (m->sections.at[i].id == WASM_SEC_CODE)
            l->code = m->sections.at[i].payload;
    uint32_t first = m->input_imports[WASM_SPACE_FUNC], n = m->input_count[WASM_SPACE_FUNC] - first;
    l->bodies = mem_alloc((n + 1) * sizeof *l->bodies);
    for (uint32_t i = 0; i < n; i++) {
        const WasmFunc *f = &m->funcs.at[first + i];
        uint32_t start = f->body - l->code;
        l->bodies[i] = (DwarfBody){start, start + f->body_size};
    }
    l->nbodies = n;
}

/* ---- DWARF ---- */

static DwarfSections dwarf_sections(const WasmModule *m) {
    return (DwarfSections){.info = section(m, ".debug_info"),
                           .abbrev = section(m, ".debug_abbrev"),
                           .str = section(m, ".debug_str"),
                           .str_offsets = section(m, ".debug_str_offsets"),
                           .line = section(m, ".debug_line"),
                           .line_str = section(m, ".debug_line_str"),
                           .addr = section(m, ".debug_addr"),
                           .ranges = section(m, ".debug_ranges"),
                           .rnglists = section(m, ".debug_rnglists")};
}

Locations *locations_open(const WasmModule *m, const LocationOptions *options, Diags *diags) {
    Locations *l = mem_zalloc(sizeof *l);
    l->m = m;
    l->options = options;
    find_bodies(l);
    DwarfSections sections = dwarf_sections(m);
    l->dwarf = dwarf_open(&sections, l->bodies, l->nbodies);
    if (dwarf_is_stale(l->dwarf)) {
        dwarf_free(l->dwarf);
        l->dwarf = NULL;
    }
    (void)diags;
    return l;
}

bool locations_any(const Locations *l) {
    return l->dwarf;
}

uint32_t locations_at(Locations *l, uint32_t func, uint32_t pc, const LocationFrame **frames) {
    const DwarfFrame *found;
    uint32_t address = l->m->funcs.at[func].body - l->code + pc;
    uint32_t n = l->dwarf ? dwarf_at(l->dwarf, address, &found) : 0;
    l->frames.len = 0;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&l->frames, ((LocationFrame){found[i].path, found[i].line, found[i].column,
                                              found[i].name, found[i].linkage}));
    *frames = l->frames.at;
    return n;
}

void locations_close(Locations *l, Diags *diags) {
    (void)diags;
    dwarf_free(l->dwarf);
    vec_free(&l->frames);
    free(l->bodies);
    free(l);
}
