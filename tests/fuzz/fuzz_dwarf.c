/*
 * tests/fuzz/fuzz_dwarf.c - libFuzzer target for DWARF. The input is a module, of which only the
 * sections are looked for: those with DWARF, and the code section for where bodies are. Asks about
 * the first addresses, forwards and then some in another order: answers must be the same, paths and
 * names slices of memory that is there, and chains no longer than their limit.
 */
#include <stdlib.h>

#include "bodies.h"
#include "dwarf/dwarf.h"
#include "locations/section.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESSES_MAX = 250, FRAMES_MAX = 257 };

static uint64_t hash(uint64_t h, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return h;
}

static uint64_t answer(Dwarf *d, uint32_t address) {
    const DwarfFrame *frames;
    uint32_t n = dwarf_at(d, address, &frames);
    uint64_t h = n;
    if (n > FRAMES_MAX)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        const DwarfFrame *f = &frames[i];
        h = hash(h, f->path.ptr, f->path.len);
        h = hash(h, f->name.ptr, f->name.len);
        h = hash(h, f->linkage.ptr, f->linkage.len);
        h = hash(h, &f->line, sizeof f->line);
        h = hash(h, &f->column, sizeof f->column);
    }
    return h;
}

/* Asks for the parameters of the function at an address, by name and order, and for their fields.
 */
static void ask_values(Dwarf *d, uint32_t address) {
    DwarfSignature s;
    DwarfVariable v;
    DwarfField field;
    if (!dwarf_signature(d, address, &s))
        return;
    dwarf_prologue_end(d, address);
    dwarf_type(d, s.result);
    for (uint32_t i = 0; i < s.nparams && i < 20; i++) {
        DwarfType t = dwarf_type(d, s.params[i].type);
        for (uint32_t k = 0; k < 8 && (t.kind == DWARF_POINTER || t.kind == DWARF_ARRAY); k++)
            t = dwarf_type(d, t.target);
        if (t.kind == DWARF_STRUCT) {
            dwarf_field(d, t.entry, s.names[i], &field);
            dwarf_only_field(d, t.entry, &field);
        }
        if (dwarf_variable(d, address, s.names[i], &v) && v.place.where == DWARF_NOWHERE &&
            !v.place.why)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    DwarfBody bodies[BODIES_MAX];
    uint64_t answers[ADDRESSES_MAX];
    Str module = {(const char *)data, (uint32_t)size}, code = section_find(module, NULL);
    DwarfSections sections = section_dwarf(module);
    uint32_t nbodies = find_bodies(code, bodies);
    uint32_t n = code.len < ADDRESSES_MAX ? code.len : ADDRESSES_MAX;
    Dwarf *d = dwarf_open(&sections, bodies, nbodies);
    for (uint32_t i = 0; i < n; i++)
        answers[i] = answer(d, i);
    for (uint32_t i = 0; i < n; i += 7) {
        uint32_t address = (i * 617) % n;
        if (answer(d, address) != answers[address])
            abort();
    }
    for (uint32_t i = 0; i < n; i += 11)
        ask_values(d, i);
    dwarf_is_stale(d);
    if (dwarf_problem(d)->section && !dwarf_problem(d)->what)
        abort();
    dwarf_free(d);
    return 0;
}
