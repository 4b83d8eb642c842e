/*
 * inject/debug.c - drops or adjusts custom sections that describe the old code.
 */
#include "inject/debug.h"

#include "dwarf/adjust.h"
#include "locations/section.h"

static bool starts(Str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

/* Kinds of notes on instructions, metadata.code.KIND, that are right after instrumentation, too. */
static bool is_note(Str name) {
    static const char *const kinds[] = {
        WASM_BRANCH_HINTS,          WASM_CALL_TARGETS,
        "metadata.code.instr_freq", "metadata.code.compilation_priority",
        "metadata.code.inline",     "metadata.code.compilation_order",
        "metadata.code.trace_inst",
    };
    bool known = false;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        known |= str_is(name, kinds[k]);
    return known;
}

static bool is_stale(const WasmSection *s) {
    if (s->id != WASM_SEC_CUSTOM)
        return false;
    if (starts(s->name, "metadata.code."))
        return !is_note(s->name);
    return starts(s->name, ".debug_") || starts(s->name, "reloc.") || str_is(s->name, "linking") ||
           str_is(s->name, "sourceMappingURL") || str_is(s->name, "external_debug_info") ||
           str_is(s->name, "whammc") || str_is(s->name, "whammc.traps"); /* other tools kept them */
}

static Span debug_whole(const DebugInfo *d) {
    return (Span){d->m->file, 0, 0};
}

static void debug_add_name(Buf *names, Str name) {
    buf_printf(names, "%s%.*s", names->len ? ", " : "", STR_ARG(name));
}

/* ---- before the module is written ---- */

/* Finds the module with DWARF for the old code: the program, or a file beside it. */
static void find_dwarf(DebugInfo *d) {
    if (!d->keep)
        return;
    Str bytes = {(const char *)d->m->bytes, (uint32_t)d->m->size};
    bool any = section_find(bytes, ".debug_info").len > 0 ||
               section_find(bytes, "external_debug_info").len > 0 ||
               (d->locator && locator_has_file(d->locator));
    if (!any)
        return;
    if (!d->locator)
        d->own = locations_open(d->m, &d->none, d->diags);
    locations_dwarf(d->own ? d->own : locator_open(d->locator, d->m), &d->dwarf);
}

/* Whether the section will be replaced by an adjusted one. */
static bool debug_is_replaced(const DebugInfo *d, Str name) {
    bool dwarf = starts(name, ".debug_") || str_is(name, "external_debug_info");
    return d->dwarf.len ? dwarf : false;
}

bool debug_begin(DebugInfo *d, WasmModule *m) {
    Buf names = {0};
    bool dwarf = false, map = false;
    find_dwarf(d);
    for (uint32_t i = 0; i < m->sections.len; i++) {
        WasmSection *s = &m->sections.at[i];
        if (!is_stale(s))
            continue;
        s->drop = true;
        if (debug_is_replaced(d, s->name) || (d->has_map && !d->keep) ||
            (d->has_map && str_is(s->name, "sourceMappingURL")))
            continue;
        debug_add_name(&names, s->name);
        dwarf |= starts(s->name, ".debug_") || str_is(s->name, "external_debug_info");
        map |= str_is(s->name, "sourceMappingURL");
    }
    if (names.len) {
        Diag *g = diag(d->diags, DIAG_STALE_SECTION, debug_whole(d),
                       "dropped custom sections that describe the old code: %s", buf_cstr(&names));
        if (dwarf && !d->keep)
            diag_hint(d->diags, g, "--keep-debug keeps DWARF, adjusted to the new code");
        else if (map && d->locator)
            diag_hint(d->diags, g, "--source-map=FILE writes a source map of the new code");
    }
    buf_free(&names);
    return d->dwarf.len > 0;
}

/* ---- after it ---- */

typedef Vec(DwarfSection) DwarfSectionList;

static void add_section(void *ctx, Str name, Str content) {
    DwarfSectionList *sections = ctx;
    if (starts(name, ".debug_"))
        vec_push(sections, ((DwarfSection){.name = name, .content = content}));
}

static void debug_put_section(const DwarfSection *s, Buf *out) {
    bool changed = s->fate == DWARF_CHANGED;
    size_t size = changed ? s->changed.len : s->content.len;
    buf_u8(out, WASM_SEC_CUSTOM);
    buf_uleb(out, uleb_size(s->name.len) + s->name.len + size);
    buf_name(out, s->name);
    buf_bytes(out, changed ? s->changed.data : (const uint8_t *)s->content.ptr, size);
}

/* Warns of sections that could not be adjusted. */
static void debug_warn(const DebugInfo *d, const DwarfSectionList *sections,
                       const DwarfAdjusted *done) {
    const DwarfProblem *p = &done->problem;
    Buf names = {0};
    for (uint32_t i = 0; i < sections->len; i++)
        if (sections->at[i].fate == DWARF_DROPPED)
            debug_add_name(&names, sections->at[i].name);
    if (names.len)
        diag(d->diags, DIAG_STALE_SECTION, debug_whole(d),
             "dropped custom sections that describe the old code: %s", buf_cstr(&names));
    if (p->section)
        diag(d->diags, DIAG_DAMAGED_DEBUG, debug_whole(d),
             "section %s cannot be adjusted as a whole: at offset 0x%x %s", p->section, p->offset,
             p->what);
    if (done->split)
        diag(d->diags, DIAG_STALE_DEBUG, debug_whole(d),
             "separate files (.dwo) describe the old code: the program does not refer to them any "
             "more, and has lines alone");
    buf_free(&names);
}

void debug_put(DebugInfo *d, const Moves *moves, const WasmModule *written, Buf *out) {
    DwarfSectionList sections = {0};
    DwarfAdjusted done;
    MovedCode code;
    section_each(d->dwarf, add_section, &sections);
    moves_code(moves, written, &code);
    dwarf_adjust(sections.at, sections.len, &code.moves, &done);
    moved_code_free(&code);
    for (uint32_t i = 0; i < sections.len; i++)
        if (sections.at[i].fate != DWARF_DROPPED)
            debug_put_section(&sections.at[i], out);
    debug_warn(d, &sections, &done);
    for (uint32_t i = 0; i < sections.len; i++)
        buf_free(&sections.at[i].changed);
    vec_free(&sections);
}

void debug_end(DebugInfo *d) {
    if (d->own)
        locations_close(d->own, d->diags);
}
