/*
 * library/library.h - libraries: WebAssembly modules whose functions scripts call.
 *
 * A script can call the module's exported functions whose parameters and results are numbers: i32,
 * i64, f32 and f64 of WebAssembly are those of the language.
 */
#ifndef WHAMMC_LIBRARY_LIBRARY_H
#define WHAMMC_LIBRARY_LIBRARY_H

#include "lang/ast.h"
#include "wasm/module.h"

typedef struct Library {
    Str name;      /* in scripts */
    Str import_as; /* the module that programs import it from (--link=import) */
    Span whole;    /* the module's file */
    WasmModule module;
    bool usable;      /* it was read and is valid */
    bool memory_runs; /* the program uses its memory */
    uint32_t memory;  /* then the handle of that in the program; set by link/ */
} Library;

/* A zeroed one is empty. */
typedef struct Libraries {
    Vec(Library *) list; /* do not move */
    Arena arena;
} Libraries;

/*
 * Reads and validates a library. `import_as` may be empty: the name then. The names are copied; the
 * bytes are borrowed and must outlive the Libraries. False with messages if the module is not valid
 * or there is a library of this name; it is then known by name but not usable.
 */
bool library_add(Libraries *l, Str name, Str import_as, const uint8_t *bytes, size_t size,
                 DiagFileId file, Diags *diags);
void libraries_free(Libraries *l);

/* The library of a name, or NULL. */
Library *library_find(const Libraries *l, Str name);

/* The handle of the function that a library exports under this name, or -1. */
int64_t library_function(const Library *l, Str name);

/* The function that a thunk calls, which does nothing else; any other function is its own target.
 */
uint32_t library_thunk_target(const WasmModule *m, uint32_t func);

/* The language's type for a Wasm type, or NULL. */
const Type *library_type(WasmType t);

/* Calls add() with the name of every function that a library exports. */
void library_each(const Library *l, void (*add)(void *ctx, Str name), void *ctx);

/* ---- bundled libraries: they need no module and consist of functions of the runtime ---- */

typedef struct BundledFn {
    const char *library, *name, *params, *result, *helper; /* as in bundled.def */
} BundledFn;

/* How a call of it is compiled. */
typedef enum BundledKind {
    BUNDLED_HELPER,
    BUNDLED_IMPORT,
    BUNDLED_FLUSH,
    BUNDLED_REMOVE,
    BUNDLED_STACK
} BundledKind;
BundledKind bundled_kind(const BundledFn *f);
/* It is imported, from the module "whammc". */
bool bundled_is_ours(const BundledFn *f);

/* A library of this name is bundled. */
bool bundled_library(Str name);
/* A function of it, or NULL. */
const BundledFn *bundled_function(Str library, Str name);
/* The language's type for a letter, NULL for none. */
const Type *bundled_type(char letter);
/* Calls add() with the name of every bundled library that scripts can name, of every function of
 * one. */
void bundled_libraries(void (*add)(void *ctx, Str name), void *ctx);
void bundled_each(Str library, void (*add)(void *ctx, Str name), void *ctx);

#endif
