/*
 * library/builtin.h - the built-in functions that exist everywhere; they operate on memories.
 *
 * To scripts a memory is a number. Memories of the program have their indices; memid() returns the
 * numbers of the others, which are known when everything is linked (storage/memory.h). If a call
 * names its memories by static values, it is compiled for just these; otherwise the code tests the
 * numbers at run time.
 */
#ifndef WHAMMC_LIBRARY_BUILTIN_H
#define WHAMMC_LIBRARY_BUILTIN_H

#include "event/fold.h"
#include "library/library.h"

typedef enum MemoryKind {
    MEMORY_PROGRAM,   /* n = its index */
    MEMORY_LIBRARY,   /* of library n */
    MEMORY_RUNTIME,   /* where strings and maps are: memid(whamm_core) */
    MEMORY_BY_NUMBER, /* known at run time */
} MemoryKind;

typedef struct MemoryRef {
    MemoryKind kind;
    uint32_t n;
} MemoryRef;

/* A call that reads, writes or names memories at run time. */
typedef struct MemoryCall {
    FnId fn;
    const Expr *call;
    bool by_number; /* the memories are arguments like the others */
} MemoryCall;

/* The memory of a library that memid() means: the export "memory", else the first that is exported;
 * NULL = none. */
const WasmExport *library_memory(const Library *l);

/* The memory that an argument denotes at a site (of m alone: Site with only m). */
MemoryRef builtin_memory(const Libraries *libraries, const Expr *memory, const Site *s);

/* Whether an argument that is a memory is known at each site. */
bool builtin_names_memory(const Expr *memory);

/* Whether the libraries that a call names meet its requirements; else reports that. Records which
 * of their memories must exist at run time. */
bool builtin_fits(const Libraries *libraries, const Expr *call, Diags *diags);

/* Whether a call needs the runtime's memory. */
bool builtin_uses_runtime(const Libraries *libraries, const Expr *call);

/* The value of a call about a library's memory, or the runtime's, that is known; false if it is no
 * such call. */
bool builtin_library_value(const Libraries *libraries, const Expr *call, uint64_t *out);

/* What is missing for a call at a site. */
typedef struct Lack {
    const Expr *call; /* NULL = nothing */
    bool memory;      /* the program does not have memory n; else a value */
    uint32_t n;
    bool placed; /* the site has a place */
    uint32_t func, pc;
} Lack;

/* Whether some static call in e has no value at a site. */
bool builtin_lacks(const Expr *e, const Site *s, Lack *out);

/* What is missing for a call whose memory is known and does not exist. */
Lack builtin_lack(const Expr *call, const Site *s);

/* Reports it as an error at the call. */
void builtin_report(const Lack *l, const WasmModule *m, Diags *diags);

#endif
