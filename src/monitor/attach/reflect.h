/*
 * monitor/attach/reflect.h - the answers of whamm:reflect about a program, as numbers and as ranges
 * of the program's bytes.
 *
 * The formats are those of the Wizard engine: an item of a section as in the binary format, a
 * recursion group as one type, custom sections with their names. There are no answers for imports,
 * nor for the sections `start`, `code`, `data count` and custom sections as a whole.
 */
#ifndef WHAMMC_ATTACH_REFLECT_H
#define WHAMMC_ATTACH_REFLECT_H

#include "wasm/module.h"

typedef enum ReflectKind {
    REFLECT_NUMBER,  /* () -> i32 */
    REFLECT_IMPORT,  /* get_import_index (section, index) -> i32 */
    REFLECT_WHOLE,   /* (address, length) -> i32 size: one text */
    REFLECT_ITEM,    /* (index, address, length) -> i32 size */
    REFLECT_SECTION, /* read_section (section, address, length, ignored) -> i32 size */
} ReflectKind;

/* A function of whamm:reflect. */
typedef struct ReflectFn {
    const char *name;
    ReflectKind kind;
    int list; /* ReflectList */
} ReflectFn;

#define REFLECT_MODULE "whamm:reflect"

/* NULL if there is no such function. */
const ReflectFn *reflect_find(Str name);
/* Its number of parameters, all of them i32; the result is an i32, too. */
uint32_t reflect_nparams(const ReflectFn *fn);

/* The lists that functions are about. */
typedef enum ReflectList {
    REFLECT_TYPES,
    REFLECT_IMPORTS,
    REFLECT_FUNCTIONS,
    REFLECT_TABLES,
    REFLECT_MEMORIES,
    REFLECT_GLOBALS,
    REFLECT_TAGS,
    REFLECT_EXPORTS,
    REFLECT_ELEMENTS,
    REFLECT_DATA,
    REFLECT_CUSTOM_SECTIONS,
    REFLECT_LISTS,
    REFLECT_NAMES = REFLECT_LISTS, /* of functions */
    REFLECT_BODIES,
    REFLECT_SIZE, /* of the module; these four are texts */
    REFLECT_PATH,
    REFLECT_NAME,
    REFLECT_BYTES,
} ReflectList;

typedef struct Reflect {
    const WasmModule *m;
    Str path;
    Vec(Str) items[REFLECT_LISTS]; /* imported ones are empty */
} Reflect;

/* `m` is the program; only its input counts, not additions. */
void reflect_init(Reflect *r, const WasmModule *m, Str path);
/* Frees the lists; the program keeps its bytes. */
void reflect_free(Reflect *r);

/* The result of a function of kind REFLECT_NUMBER. */
uint32_t reflect_number(const Reflect *r, const ReflectFn *fn);
/* The number of items that a function of kind REFLECT_ITEM has. */
uint32_t reflect_count(const Reflect *r, const ReflectFn *fn);
/* An item (the index must be valid), the section of this id, or the one text. */
Str reflect_bytes(const Reflect *r, const ReflectFn *fn, uint32_t index);
/* get_import_index: the number of the import, or -1. False if there is no such item. */
bool reflect_import(const Reflect *r, uint32_t section, uint32_t index, int32_t *import);

#endif
