/*
 * wasm/read.h - interfaces between the files of the module reader (read.c, read_types.c,
 * read_names.c).
 */
#ifndef WHAMMC_WASM_READ_H
#define WHAMMC_WASM_READ_H

#include "wasm/leb.h"
#include "wasm/module.h"

/* An item of a section as it stands in the file: an import, a recursion group, a segment ... */
typedef void WasmItemFn(void *ctx, uint8_t section, Str bytes);

/* The first data segments of a module, which are known to be well-formed and valid. */
typedef struct WasmKeptDatas {
    uint32_t count, size; /* bytes of all together */
} WasmKeptDatas;

typedef struct WasmReader {
    WasmModule *m;
    Diags *diags;
    WasmCode c;          /* over the current section; offsets are file offsets */
    const char *section; /* its name for messages */
    WasmItemFn *item;    /* is told of each item; NULL = nobody is */
    void *ctx;
    WasmKeptDatas datas;           /* are skipped */
    struct WasmUnvalidated *apart; /* its sections code and data are left; NULL: they are read */
} WasmReader;

/* A module as it was read. Every index outside of code is in range, functions and tags have
 * function types, type indices in types exist; function bodies are only delimited. */
typedef struct WasmUnvalidated {
    WasmModule m;
    WasmReader code, data; /* the bytes that wasm_read_apart leaves; empty: none */
    WasmModule datas;      /* the module into which `data` is read: only data segments */
    Diags diags;           /* errors of the steps */
} WasmUnvalidated;

/* `kept` may be NULL. False if there was an error; wasm_unvalidated_free is needed in both cases,
 * or wasm_read_done. */
bool wasm_read(WasmUnvalidated *u, const uint8_t *bytes, size_t size, DiagFileId file,
               const WasmKeptDatas *kept, Diags *diags);

/*
 * The same in steps: first all sections but the largest, code and data; then these, at the same
 * time if wanted; then the rest. `u` must not move meanwhile. False if there was an error, which
 * only wasm_read reports. After wasm_read_code the module is as it has to be, but has neither data
 * segments nor names yet.
 */
bool wasm_read_apart(WasmUnvalidated *u, const uint8_t *bytes, size_t size, DiagFileId file,
                     const WasmKeptDatas *kept);
bool wasm_read_code(WasmUnvalidated *u);
bool wasm_read_datas(WasmUnvalidated *u);
bool wasm_read_rest(WasmUnvalidated *u);

/* Moves the module to `m`; frees the rest. */
void wasm_read_done(WasmUnvalidated *u, WasmModule *m);
void wasm_unvalidated_free(WasmUnvalidated *u);

/* Tells of the items of all sections but `code`, in order, of a module that was read. */
void wasm_read_each_item(const WasmModule *m, WasmItemFn *item, void *ctx);

/* Reports malformed or invalid input at a file offset. Returns false. */
bool wasm_read_fail(WasmReader *r, DiagTag tag, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports the cursor's error. Returns false. */
bool wasm_read_error(WasmReader *r);

/* A u32, a count (of items of at least one byte each: not more than bytes left), a byte below
 * `limit`. */
bool wasm_read_u32(WasmReader *r, uint32_t *v);
bool wasm_read_count(WasmReader *r, uint32_t *v);
bool wasm_read_flag(WasmReader *r, uint8_t limit, const char *what, uint8_t *v);
/* A name; must be UTF-8. */
bool wasm_read_name(WasmReader *r, Str *name);
/* A value type whose type index exists. */
bool wasm_read_type(WasmReader *r, WasmType *t);
/* The same; only reference types. */
bool wasm_read_ref_type(WasmReader *r, WasmType *t);

/* What follows the names of an import: its kind and type. The import is added to the module. */
bool wasm_read_import_type(WasmReader *r, WasmImport im);
/* Reads the type section, up to its end; types that are the same get one canonical index. */
bool wasm_read_type_section(WasmReader *r);
/* Recursion groups, to find equal ones. A zeroed one is valid and empty. */
typedef struct WasmTypeGroups {
    Map known; /* key to first type index */
    Buf key;
} WasmTypeGroups;
/* Reads a recursion group, whose first type is `first` of its index space; appends to
 * r->m->types. */
bool wasm_read_group(WasmReader *r, uint32_t first);
/* The types of a module from `first` on become a group: equal ones get one canonical index. */
void wasm_close_group(WasmTypeGroups *k, WasmModule *m, uint32_t first);
void wasm_groups_free(WasmTypeGroups *k);
/* Tells of the item that begins at `from` and ends at the cursor. */
void wasm_read_note(WasmReader *r, uint8_t section, const uint8_t *from);
/* Counts an active data segment in its memory's data_start and data_end (constant.c). */
void wasm_note_data(WasmModule *m, const WasmData *d);
/* The same for `size` bytes that begin at `at`. */
static inline void wasm_note_bytes(WasmMemory *memory, uint64_t at, uint32_t size) {
    if (!memory->limits.is64)
        at = (uint32_t)at;
    if (!size)
        return;
    bool first = memory->data_start == memory->data_end;
    memory->data_unknown |= at + size < at;
    if (first || at < memory->data_start)
        memory->data_start = at;
    if (first || at + size > memory->data_end)
        memory->data_end = at + size;
}
/* Reads the well-formed parts of a name section; errors there are not errors of the module. */
void wasm_read_names(WasmModule *m, const WasmSection *s);
/* Reads the custom sections metadata.code.*; malformed ones are left out. */
void wasm_read_hints(WasmModule *m);
/* Whether a section is one of them. */
bool wasm_is_hint_section(const WasmSection *s);

#endif
