/*
 * library/library.c - libraries: WebAssembly modules whose functions scripts call.
 */
#include "library/library.h"

#include "valid/valid.h"

#include <assert.h>

bool library_add(Libraries *l, Str name, Str import_as, const uint8_t *bytes, size_t size,
                 DiagFileId file, Diags *diags) {
    if (library_find(l, name)) {
        diag(diags, DIAG_DUPLICATE_NAME, (Span){file, 0, 0}, "there are two libraries '%.*s'",
             STR_ARG(name));
        return false;
    }
    Library *lib = arena_new(&l->arena, Library);
    if (!import_as.len)
        import_as = name;
    lib->name = (Str){arena_strndup(&l->arena, name.ptr, name.len), name.len};
    lib->import_as = (Str){arena_strndup(&l->arena, import_as.ptr, import_as.len), import_as.len};
    lib->whole.file = file;
    vec_push(&l->list, lib);
    lib->usable = wasm_load(&lib->module, bytes, size, file, diags);
    return lib->usable;
}

void libraries_free(Libraries *l) {
    for (uint32_t i = 0; i < l->list.len; i++)
        wasm_module_free(&l->list.at[i]->module);
    vec_free(&l->list);
    arena_free(&l->arena);
}

Library *library_find(const Libraries *l, Str name) {
    for (uint32_t i = 0; i < l->list.len; i++)
        if (str_eq(l->list.at[i]->name, name))
            return l->list.at[i];
    return NULL;
}

int64_t library_function(const Library *l, Str name) {
    assert(name.ptr);
    const WasmExport *e = l->usable ? wasm_find_export(&l->module, WASM_SPACE_FUNC, name) : NULL;
    return e ? (int64_t)e->handle : -1;
}

const Type *library_type(WasmType t) {
    switch (t) {
    case WASM_I32: return &type_scalar[TYPE_I32];
    case WASM_I64: return &type_scalar[TYPE_I64];
    case WASM_F32: return &type_scalar[TYPE_F32];
    case WASM_F64: return &type_scalar[TYPE_F64];
    default: return NULL;
    }
}

void library_each(const Library *l, void (*add)(void *ctx, Str name), void *ctx) {
    for (uint32_t i = 0; l->usable && i < l->module.exports.len; i++)
        if (l->module.exports.at[i].space == WASM_SPACE_FUNC)
            add(ctx, l->module.exports.at[i].name);
}

/* ---- bundled libraries ---- */

static const BundledFn bundled[] = {
#define BUNDLED(library, name, params, result, helper) {library, name, params, result, helper},
#include "library/bundled.def"
};
enum { BUNDLED_COUNT = sizeof bundled / sizeof *bundled };

bool bundled_library(Str name) {
    for (uint32_t i = 0; i < BUNDLED_COUNT; i++)
        if (str_is(name, bundled[i].library))
            return true;
    return false;
}

const BundledFn *bundled_function(Str library, Str name) {
    for (uint32_t i = 0; i < BUNDLED_COUNT; i++)
        if (str_is(library, bundled[i].library) && str_is(name, bundled[i].name))
            return &bundled[i];
    return NULL;
}

bool bundled_is_ours(const BundledFn *f) {
    return strcmp(f->helper, ":host") == 0;
}

BundledKind bundled_kind(const BundledFn *f) {
    return !*f->helper || *f->helper == '=' || bundled_is_ours(f) ? BUNDLED_IMPORT
           : strcmp(f->helper, ":flush") == 0                     ? BUNDLED_FLUSH
           : strcmp(f->helper, ":remove") == 0                    ? BUNDLED_REMOVE
           : strcmp(f->helper, ":stack") == 0                     ? BUNDLED_STACK
                                                                  : BUNDLED_HELPER;
}

const Type *bundled_type(char letter) {
    switch (letter) {
    case 'i': return &type_scalar[TYPE_I32];
    case 'l': return &type_scalar[TYPE_I64];
    case 'f': return &type_scalar[TYPE_F32];
    case 'd': return &type_scalar[TYPE_F64];
    case 'z': return &type_scalar[TYPE_STR];
    default: return NULL;
    }
}

void bundled_libraries(void (*add)(void *ctx, Str name), void *ctx) {
    for (uint32_t i = 0; i < BUNDLED_COUNT; i++)
        if (bundled[i].library[0] != '.' &&
            (i == 0 || strcmp(bundled[i].library, bundled[i - 1].library) != 0))
            add(ctx, str_of(bundled[i].library));
}

void bundled_each(Str library, void (*add)(void *ctx, Str name), void *ctx) {
    for (uint32_t i = 0; i < BUNDLED_COUNT; i++)
        if (str_is(library, bundled[i].library))
            add(ctx, str_of(bundled[i].name));
}
