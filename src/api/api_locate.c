/*
 * api/api_locate.c - source locations for callers of the public library.
 */
#include "api/api_locate.h"
#include "api/api.h"

void whammc_locate(whammc *w, const whammc_debug_info *info) {
    w->debug = info;
}

size_t whammc_debug_reference(const void *bytes, size_t size, const char **name) {
    Str found = {0};
    bool any = size <= UINT32_MAX && locations_named((Str){bytes, (uint32_t)size}, &found);
    *name = found.ptr;
    return any ? found.len : 0;
}

static LocationFile api_locate_file_of(const char *name, const void *bytes, size_t size) {
    return (LocationFile){name, str_of(name), {bytes, (uint32_t)size}};
}

/* Of a component the core module inside that is called as that of the program. */
static LocationFile file_of_part(const char *part, LocationFile file) {
    CoreProgram p = {.name = file.title,
                     .bytes = (const uint8_t *)file.bytes.ptr,
                     .size = file.bytes.len,
                     .unvalidated = true};
    Diags unread = {0};
    bool read = *part && file.bytes.ptr && core_program_open(&p, &unread);
    for (uint32_t i = 0; read && i < p.parts.len; i++)
        if (strcmp(p.parts.at[i].name, part) == 0)
            file.bytes = (Str){(const char *)p.parts.at[i].bytes, (uint32_t)p.parts.at[i].size};
    core_program_close(&p);
    diag_free(&unread);
    return file;
}

static void api_locate_prepare(void *ctx, LocationOptions *options) {
    static const whammc_debug_info nothing;
    ApiLocator *l = ctx;
    const whammc_debug_info *i = l->info ? l->info : &nothing;
    if (i->prepare)
        i->prepare(i->ctx);
    for (size_t k = 0; k < i->nmaps; k++)
        vec_push(&l->maps, ((PathMap){str_of(i->maps[k].from), str_of(i->maps[k].to)}));
    *options = (LocationOptions){
        .debug = file_of_part(l->part, api_locate_file_of(i->file_name, i->file, i->file_size)),
        .named = api_locate_file_of(i->named_name, i->named, i->named_size),
        .program = str_of(l->program),
        .maps = l->maps.at,
        .nmaps = l->maps.len};
}

void api_locator_begin(ApiLocator *l, const whammc_debug_info *info, const char *name,
                       Diags *diags) {
    *l = (ApiLocator){.locator = {.prepare = api_locate_prepare, .ctx = l, .diags = diags},
                      .info = info,
                      .program = name,
                      .part = ""};
}

static const char *api_locate_text(ApiLocator *l, Str s) {
    return s.len ? arena_strndup(&l->texts, s.ptr, s.len) : "";
}

const whammc_frame *api_locator_at(ApiLocator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                                   size_t *n) {
    const LocationFrame *found;
    *n = locator_at(&l->locator, m, func, pc, &found);
    arena_free(&l->texts);
    l->frames.len = 0;
    for (size_t i = 0; i < *n; i++) {
        const LocationFrame *f = &found[i];
        vec_push(&l->frames,
                 ((whammc_frame){api_locate_text(l, f->file), f->line, f->column,
                                 api_locate_text(l, f->function), api_locate_text(l, f->linkage)}));
    }
    return l->frames.at;
}

void api_locator_end(ApiLocator *l) {
    locator_close(&l->locator);
    vec_free(&l->maps);
    vec_free(&l->frames);
    arena_free(&l->texts);
}

/* A SourceReader; ctx: the ApiTexts. */
static bool api_locate_read_text(void *ctx, const char *path, size_t limit, Buf *out) {
    const ApiTexts *texts = ctx;
    size_t size = 0;
    const void *text = texts->source(texts->ctx, path, &size);
    if (text && size <= limit)
        buf_bytes(out, text, size);
    return text && size <= limit;
}

Sources api_sources(const ApiTexts *texts, const char *program) {
    const char *slash = strrchr(program, '/');
    Sources s = {.folder = {program, slash ? (uint32_t)(slash + 1 - program) : 0}};
    if (texts->source) {
        s.read = api_locate_read_text;
        s.ctx = (void *)(uintptr_t)texts;
    }
    return s;
}
