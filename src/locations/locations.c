/*
 * locations/locations.c - chooses where locations come from, and asks it.
 */
#include "locations/locations.h"
#include "base/path_pool.h"
#include "dwarf/dwarf.h"
#include "locations/section.h"
#include "locations/source_map.h"
#include "locations/url.h"

#include <assert.h>

/* So many functions are looked at to tell whether a source map is stale. */
enum { STALE_SAMPLE = 64 };

struct Locations {
    const WasmModule *m;
    const LocationOptions *options;
    uint32_t code; /* file offset of the code section's contents */
    DwarfBody *bodies;
    uint32_t nbodies;
    Dwarf *dwarf; /* one of these, or both are NULL */
    SourceMap *map;
    DiagFileId file; /* their origin */
    Str bytes;       /* its contents */
    Buf decoded;     /* a data URL's contents */
    Vec(LocationFrame) frames;
    PathPool paths; /* changed by options.maps */
    Map sources;    /* of `map`: path -> number, filled on demand */
    Map recorded;   /* path -> number in dwarf_changed_paths, likewise */
    uint32_t recorded_known;
};

/* ---- modules ---- */

static Str locations_bytes_of(const WasmModule *m) {
    return (Str){(const char *)m->bytes, (uint32_t)m->size};
}

static void find_bodies(Locations *l) {
    const WasmModule *m = l->m;
    Str code = section_find(locations_bytes_of(m), NULL);
    uint32_t first = m->input_imports[WASM_SPACE_FUNC], n = m->input_count[WASM_SPACE_FUNC] - first;
    l->code = code.len ? (uint32_t)((const uint8_t *)code.ptr - m->bytes) : 0;
    l->bodies = mem_alloc((n + 1) * sizeof *l->bodies);
    for (uint32_t i = 0; i < n; i++) {
        const WasmFunc *f = &m->funcs.at[first + i];
        uint32_t start = f->body - l->code;
        l->bodies[i] = (DwarfBody){start, start + f->body_size};
    }
    l->nbodies = n;
}

static bool locations_is_module(Str bytes) {
    return bytes.len >= 8 && memcmp(bytes.ptr, "\0asm", 4) == 0;
}

/* ---- DWARF ---- */

/* Takes the DWARF of a module: the program, or one with the same code. False if it has none. */
static bool take_dwarf(Locations *l, Str module, DiagFileId file, Diags *diags) {
    DwarfSections sections = section_dwarf(module);
    if (!sections.info.len)
        return false;
    l->dwarf = dwarf_open(&sections, l->bodies, l->nbodies);
    if (dwarf_is_stale(l->dwarf)) {
        Diag *g = diag(diags, DIAG_STALE_DEBUG, (Span){file, 0, 0},
                       "the DWARF sections describe other code than this: their functions are not "
                       "where those of the program are");
        diag_hint(diags, g,
                  "a tool such as wasm-opt has changed the code without the sections; give it -g");
        dwarf_free(l->dwarf);
        l->dwarf = NULL;
        return true;
    }
    l->file = file;
    l->bytes = module;
    return true;
}

Dwarf *locations_values(Locations *l, uint32_t func, uint32_t *start) {
    uint32_t first = l->m->input_imports[WASM_SPACE_FUNC];
    if (!l->dwarf || func < first || func - first >= l->nbodies)
        return NULL;
    *start = l->bodies[func - first].start;
    return l->dwarf;
}

/* ---- source maps ---- */

/* Counts the mappings in a function, and those of them that are at its start or at an instruction.
 */
static void count_mappings(const Locations *l, uint32_t func, uint32_t *all, uint32_t *fitting) {
    const WasmFunc *f = &l->m->funcs.at[func];
    WasmCode c;
    WasmInstr i;
    uint32_t n;
    const SourceMapping *m = source_map_at(l->map, 0, f->body - 1);
    const SourceMapping *first = source_map_all(l->map, &n), *end = first + n;
    m = m ? m + 1 : first;
    if (!wasm_func_code(l->m, func, &c))
        return;
    for (; m < end && m->column == f->body; m++)
        ++*all, ++*fitting;
    while (m < end && m->column < f->body + f->body_size && wasm_next(&c, &i)) {
        for (; m < end && m->column < f->body + i.offset; m++)
            ++*all;
        if (m < end && m->column == f->body + i.offset)
            ++*all, ++*fitting, m++;
    }
}

static bool map_is_stale(const Locations *l) {
    uint32_t all = 0, fitting = 0, step = l->nbodies / STALE_SAMPLE + 1, n;
    uint32_t first = l->m->input_imports[WASM_SPACE_FUNC];
    for (uint32_t i = 0; i < l->nbodies; i += step)
        count_mappings(l, first + i, &all, &fitting);
    source_map_all(l->map, &n);
    return all ? fitting * 2 < all : n > 0 && step == 1;
}

static void take_map(Locations *l, Str json, Str url, DiagFileId file, Diags *diags) {
    const char *error;
    l->map = source_map_read(json, url, &error);
    l->file = file;
    if (!l->map) {
        diag(diags, DIAG_DAMAGED_DEBUG, (Span){file, 0, 0},
             "expected a source map or a WebAssembly module, but %s", error);
    } else if (map_is_stale(l)) {
        diag(diags, DIAG_STALE_DEBUG, (Span){file, 0, 0},
             "the source map describes other code than this: its mappings are not at instructions "
             "of the program");
        source_map_free(l->map);
        l->map = NULL;
    }
}

/* ---- choosing ---- */

/* A file beside the program: a module with the same code, or a source map. */
static void take_file(Locations *l, const LocationFile *f, Diags *diags) {
    const char *name = f->title;
    bool module = locations_is_module(f->bytes);
    DiagFileId file = diag_file(diags, name, f->bytes.ptr, f->bytes.len, true);
    if (!module) {
        take_map(l, f->bytes, f->name, file, diags);
        return;
    }
    Str code = section_find(f->bytes, NULL), own = section_find(locations_bytes_of(l->m), NULL);
    if (code.len && !str_eq(code, own))
        diag(diags, DIAG_STALE_DEBUG, (Span){file, 0, 0},
             "the module has other code than the program");
    else if (!take_dwarf(l, f->bytes, file, diags))
        diag(diags, DIAG_NO_DEBUG, (Span){file, 0, 0}, "the module has no DWARF sections");
}

static void take_inline_map(Locations *l, Str url, Diags *diags) {
    url_decode_data(url, &l->decoded);
    take_map(l, buf_view(&l->decoded), l->options->program, l->m->file, diags);
}

/* The program has nothing, or has it elsewhere. */
static void say_missing(const Locations *l, Diags *diags) {
    const LocationOptions *o = l->options;
    Span at = {l->m->file, 0, 0};
    Str name;
    if (locations_named(locations_bytes_of(l->m), &name)) {
        if (o->named.title)
            name = str_of(o->named.title);
        diag_hint(diags,
                  diag(diags, DIAG_NO_DEBUG_FILE, at,
                       "its source locations are in %.*s, which cannot be read", STR_ARG(name)),
                  "--debug-file=FILE says where it is");
    } else {
        diag_hint(diags,
                  diag(diags, DIAG_NO_DEBUG, at,
                       "the program has neither DWARF sections nor a source map"),
                  "compile and link it with -g, or give the file that has them with --debug-file");
    }
}

static void locations_choose(Locations *l, Diags *diags) {
    const LocationOptions *o = l->options;
    Str url = section_string(locations_bytes_of(l->m), "sourceMappingURL");
    if (o->debug.bytes.ptr) {
        take_file(l, &o->debug, diags);
        return;
    }
    bool any = take_dwarf(l, locations_bytes_of(l->m), l->m->file, diags);
    if (!l->dwarf && o->named.bytes.ptr)
        take_file(l, &o->named, diags);
    else if (!l->dwarf && url_is_data(url))
        take_inline_map(l, url, diags);
    else if (!any)
        say_missing(l, diags);
}

Locations *locations_open(const WasmModule *m, const LocationOptions *options, Diags *diags) {
    Locations *l = mem_zalloc(sizeof *l);
    l->m = m;
    l->options = options;
    find_bodies(l);
    uint32_t before = diags->list.len;
    locations_choose(l, diags);
    if (!locations_any(l) && options->without && diags->list.len > before)
        diag_hint(diags, vec_last(&diags->list), "%s", options->without);
    return l;
}

bool locations_any(const Locations *l) {
    return l->dwarf || l->map;
}

bool locations_mentioned(Str module) {
    Str name;
    return section_find(module, ".debug_info").len || section_find(module, ".debug_line").len ||
           section_string(module, "sourceMappingURL").len || locations_named(module, &name);
}

bool locations_dwarf(const Locations *l, Str *module) {
    if (l->dwarf)
        *module = l->bytes;
    return l->dwarf != NULL;
}

bool locations_named(Str module, Str *name) {
    Str other = section_string(module, "external_debug_info");
    *name = other.len ? other : section_string(module, "sourceMappingURL");
    return name->len && !url_is_data(*name) && !section_find(module, ".debug_info").len;
}

/* ---- answers ---- */

/* The path that is shown for one in the debug information. */
static Str map_path(Locations *l, Str path) {
    const LocationOptions *o = l->options;
    for (uint32_t i = 0; i < o->nmaps; i++) {
        Str rest;
        if (!url_begins_with(path, o->maps[i].from, &rest))
            continue;
        Buf b = {0};
        buf_str(&b, o->maps[i].to);
        buf_str(&b, rest);
        path = path_pool_keep(&l->paths, buf_view(&b));
        buf_free(&b);
        break;
    }
    return path;
}

static LocationFrame frame_of(Locations *l, const DwarfFrame *f) {
    return (LocationFrame){.file = map_path(l, f->path),
                           .line = f->line,
                           .column = f->column,
                           .function = f->name,
                           .linkage = f->linkage,
                           .declared_file = map_path(l, f->declared_path),
                           .declared = f->declared};
}

static void ask_dwarf(Locations *l, uint32_t address) {
    const DwarfFrame *found;
    uint32_t n = dwarf_at(l->dwarf, address, &found);
    for (uint32_t i = 0; i < n; i++)
        vec_push(&l->frames, frame_of(l, &found[i]));
}

/* Mappings count from the function's start: those before are of another one. */
static void ask_map(Locations *l, const WasmFunc *f, uint32_t pc) {
    const SourceMapping *m = source_map_at(l->map, f->body, f->body + pc);
    if (m && m->source != UINT32_MAX)
        vec_push(&l->frames,
                 ((LocationFrame){.file = map_path(l, source_map_path(l->map, m->source)),
                                  .line = m->line,
                                  .column = m->source_column}));
}

uint32_t locations_at(Locations *l, uint32_t func, uint32_t pc, const LocationFrame **frames) {
    assert(func < l->m->funcs.len);
    const WasmFunc *f = &l->m->funcs.at[func];
    l->frames.len = 0;
    if (l->dwarf && f->import < 0)
        ask_dwarf(l, f->body - l->code + pc);
    else if (l->map && f->import < 0)
        ask_map(l, f, pc);
    *frames = l->frames.at;
    return l->frames.len;
}

void locations_beginning(const LocationFrame *frame, Str *file, uint32_t *line) {
    bool declared = frame->declared_file.len && frame->declared;
    *file = declared ? frame->declared_file : frame->file;
    *line = declared ? frame->declared : frame->line;
}

/* ---- removed code ---- */

/* Who wants to know of it. */
typedef struct Finder {
    Locations *l;
    LocationFound *found;
    void *ctx;
} Finder;

static void pass_on(void *ctx, const DwarfFrame *f) {
    const Finder *finder = ctx;
    LocationFrame frame = frame_of(finder->l, f);
    finder->found(finder->ctx, &frame);
}

void locations_removed(Locations *l, LocationFound *line, LocationFound *function, void *ctx) {
    if (!l->dwarf)
        return;
    dwarf_removed_lines(l->dwarf, pass_on, &(Finder){l, line, ctx});
    dwarf_removed_functions(l->dwarf, pass_on, &(Finder){l, function, ctx});
}

void locations_inlined(Locations *l, LocationFound *function, void *ctx) {
    if (l->dwarf)
        dwarf_inlined_functions(l->dwarf, pass_on, &(Finder){l, function, ctx});
}

/* ---- texts ---- */

bool locations_text(Locations *l, Str path, Str *text) {
    uint32_t n = l->map ? source_map_sources(l->map) : 0;
    bool first = !l->sources.len;
    for (uint32_t i = 0; first && i < n; i++)
        map_put(&l->sources, map_path(l, source_map_path(l->map, i)), i, NULL);
    const uint64_t *source = map_get(&l->sources, path);
    return source && path.len && source_map_text(l->map, (uint32_t)*source, text);
}

bool locations_recorded(Locations *l, Str path, Str *recorded) {
    const DwarfPath *changed = NULL;
    uint32_t n = l->dwarf ? dwarf_changed_paths(l->dwarf, &changed) : 0;
    for (; l->recorded_known < n; l->recorded_known++)
        map_put(&l->recorded, map_path(l, changed[l->recorded_known].path), l->recorded_known,
                NULL);
    const uint64_t *index = map_get(&l->recorded, path);
    if (!index || !path.len)
        return false;
    *recorded = map_path(l, changed[*index].recorded);
    return recorded->len;
}

/* ---- the end ---- */

/* The file offset of an offset in a section. */
static uint32_t file_offset(const Locations *l, const char *section, uint32_t offset) {
    Str content = section_find(l->bytes, section);
    return (uint32_t)(content.ptr - l->bytes.ptr) + offset;
}

static void locations_warn(const Locations *l, Diags *diags) {
    const DwarfProblem *p = l->dwarf ? dwarf_problem(l->dwarf) : NULL;
    const char *of_map = l->map ? source_map_problem(l->map) : NULL;
    if (p && p->section) {
        uint32_t at = file_offset(l, p->section, p->offset);
        diag(diags, DIAG_DAMAGED_DEBUG, (Span){l->file, at, at},
             "section %s cannot be read as a whole: %s", p->section, p->what);
    } else if (of_map) {
        diag(diags, DIAG_DAMAGED_DEBUG, (Span){l->file, 0, 0},
             "the source map cannot be read as a whole: %s", of_map);
    }
}

void locations_close(Locations *l, Diags *diags) {
    locations_warn(l, diags);
    dwarf_free(l->dwarf);
    source_map_free(l->map);
    vec_free(&l->frames);
    buf_free(&l->decoded);
    path_pool_free(&l->paths);
    map_free(&l->sources);
    map_free(&l->recorded);
    free(l->bodies);
    free(l);
}
