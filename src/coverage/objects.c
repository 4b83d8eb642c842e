/*
 * coverage/objects.c - object files, alone or in archives.
 */
#include "coverage/objects.h"
#include "coverage/archive.h"
#include "locations/section.h"
#include "valid/valid.h"

/* Adds an object if it has DWARF, and takes the title. Returns whether it does, or is not
 * well-formed, which was said. */
static bool objects_add_object(CoverageObjects *o, char *title, Str bytes, Diags *diags) {
    DiagFileId file = diag_file(diags, title, bytes.ptr, bytes.len, true);
    CoverageObject object = {.title = title};
    bool loaded = wasm_load(&object.m, (const uint8_t *)bytes.ptr, bytes.len, file, diags);
    if (loaded && section_find(bytes, ".debug_info").len) {
        vec_push(&o->all, object);
        return true;
    }
    wasm_module_free(&object.m);
    free(title);
    return !loaded;
}

static void say_no_debug(DiagFileId file, const char *which, Diags *diags) {
    diag_hint(diags, diag(diags, DIAG_NO_DEBUG, (Span){file, 0, 0}, "%s", which),
              "compile with -g, and give the files that the linker read");
}

static bool objects_is_module(Str bytes) {
    return bytes.len >= 4 && memcmp(bytes.ptr, "\0asm", 4) == 0;
}

static char *member_title(const char *archive, Str member) {
    Buf title = {0};
    buf_printf(&title, "%s(%.*s)", archive, STR_ARG(member));
    buf_cstr(&title);
    return (char *)title.data;
}

static void add_archive(CoverageObjects *o, const char *name, Str bytes, Diags *diags) {
    DiagFileId file = diag_file(diags, name, bytes.ptr, bytes.len, true);
    Archive a = {.bytes = bytes};
    uint32_t modules = 0;
    bool any = false;
    for (ArchiveMember m; archive_next(&a, &m);)
        if (objects_is_module(m.content)) {
            modules++;
            any |= objects_add_object(o, member_title(name, m.name), m.content, diags);
        }
    if (a.problem)
        diag(diags, DIAG_BAD_ARCHIVE, (Span){file, a.at, a.at}, "%s", a.problem);
    else if (!modules)
        diag(diags, DIAG_BAD_ARCHIVE, (Span){file, 0, 0},
             "expected object files of WebAssembly in the archive, found none");
    else if (!any)
        say_no_debug(file, "no object file in the archive has DWARF sections", diags);
}

void objects_add(CoverageObjects *o, const char *name, Str bytes, Diags *diags) {
    if (archive_is(bytes)) {
        add_archive(o, name, bytes, diags);
    } else {
        Buf title = {0};
        buf_printf(&title, "%s", name);
        buf_cstr(&title);
        if (!objects_add_object(o, (char *)title.data, bytes, diags))
            say_no_debug(diag_file(diags, name, bytes.ptr, bytes.len, true),
                         "the object file has no DWARF sections", diags);
    }
}

void objects_register(CoverageObjects *o, const PathMap *maps, uint32_t nmaps, Diags *diags) {
    o->maps = maps;
    o->nmaps = nmaps;
    o->diags = diags;
    for (uint32_t i = 0; i < o->all.len; i++) {
        WasmModule *m = &o->all.at[i].m;
        m->file = diag_file(diags, o->all.at[i].title, m->bytes, m->size, true);
    }
}

void objects_free(CoverageObjects *o) {
    for (uint32_t i = 0; i < o->all.len; i++) {
        wasm_module_free(&o->all.at[i].m);
        free(o->all.at[i].title);
    }
    vec_free(&o->all);
    *o = (CoverageObjects){0};
}
