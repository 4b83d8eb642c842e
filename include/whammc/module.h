/*
 * whammc/module.h - instrument WebAssembly modules from C, without a script.
 *
 * Read a module, inspect its functions and instructions, attach code to them, add the entities that
 * this code needs, write the module. Unchanged code keeps its bytes; all indices are adjusted to
 * the additions.
 *
 *     WhammcModule *m = whammc_module_read(bytes, size, &error);
 *     uint32_t counter = whammc_module_add_global(m, WHAMMC_I64, true, "counter", 0);
 *     WhammcCode *code = whammc_code_new();
 *     whammc_code_global_get(code, counter);
 *     whammc_code_i64_const(code, 1);
 *     whammc_code_op(code, "i64.add", NULL, 0);
 *     whammc_code_global_set(code, counter);
 *     whammc_module_attach(m, func, offset, WHAMMC_BEFORE, code);
 *     whammc_module_write(m, &out, &out_size);
 *
 * HANDLES. Functions, globals, memories and so on are named by handles. The handle of an entity of
 * the input is its index; additions, imports included, get the next numbers. Handles never change,
 * and code that is attached or added uses handles; whammc_module_write replaces them by the final
 * indices.
 *
 * ERRORS. Functions that can fail return false, NULL or WHAMMC_NONE; whammc_module_error has the
 * text. For functions that only read, handles that do not exist are no error: the result is empty
 * ("", 0, WHAMMC_VOID).
 *
 * OWNERSHIP. Arguments are copied. Returned texts belong to the module, code and walks to the
 * caller, which must free them; a walk before its module.
 *
 * THREADS. Nothing here prints, exits or has global state; different modules can be used by
 * different threads at the same time, one module, with its walks, by one thread at a time.
 */
#ifndef WHAMMC_MODULE_H
#define WHAMMC_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WhammcModule WhammcModule;
typedef struct WhammcCode WhammcCode;
typedef struct WhammcWalk WhammcWalk;

#define WHAMMC_NONE UINT32_MAX /* no handle */

/* Value types: the bytes of the binary format, other references WHAMMC_OTHER_REF. */
typedef enum WhammcType {
    WHAMMC_I32 = 0x7f,
    WHAMMC_I64 = 0x7e,
    WHAMMC_F32 = 0x7d,
    WHAMMC_F64 = 0x7c,
    WHAMMC_V128 = 0x7b,
    WHAMMC_FUNCREF = 0x70,
    WHAMMC_EXTERNREF = 0x6f,
    WHAMMC_OTHER_REF = 0x64,
    WHAMMC_VOID = 0x40, /* block types: no result */
} WhammcType;

typedef enum WhammcKind {
    WHAMMC_FUNC,
    WHAMMC_TABLE,
    WHAMMC_MEMORY,
    WHAMMC_GLOBAL,
    WHAMMC_TAG,
    WHAMMC_DATA,
} WhammcKind;

/* ---- reading and writing ---- */

/* Reads and validates a core module; whammc_core_modules finds those of components. The bytes are
 * copied. On failure NULL, and *error (if error is not NULL) is the text, to be released with
 * whammc_release. */
WhammcModule *whammc_module_read(const void *bytes, size_t size, char **error);
/* Accepts NULL. */
void whammc_module_free(WhammcModule *m);

/* Writes the module as it is now to *bytes, to be released with whammc_release. After the first
 * write no imports can be added; other changes are still possible. The result is validated: false
 * if attached code was wrong. */
bool whammc_module_write(WhammcModule *m, uint8_t **bytes, size_t *size);

/* Returns the text of the last failure. Valid until the next call with this module. */
const char *whammc_module_error(const WhammcModule *m);

/* Releases memory that this library has allocated for the caller. */
void whammc_release(void *p);

/* ---- looking ---- */

/* Returns the number of entities of a kind, additions included, and the number that the input
 * imports (they come first). */
uint32_t whammc_module_count(const WhammcModule *m, WhammcKind kind);
uint32_t whammc_module_imports(const WhammcModule *m, WhammcKind kind);

/* Returns the name of a function from the name section, an export or an import, in this order; ""
 * if there is none. Owned by the module. */
const char *whammc_module_func_name(WhammcModule *m, uint32_t func);

/* Returns the name that reports show and scripts match: from the name section, a (first) export, an
 * import ("module.name"), or the number, "#12"; "" if there is no such function. Owned by the
 * module. */
const char *whammc_module_shown_name(WhammcModule *m, uint32_t func);

/* Returns the size of a function's body in the input, with its declarations of locals; 0 if it has
 * none. */
uint32_t whammc_module_func_size(const WhammcModule *m, uint32_t func);

/* Returns the type of a function: the numbers of parameters and results, and each of them. */
uint32_t whammc_module_func_params(const WhammcModule *m, uint32_t func);
uint32_t whammc_module_func_results(const WhammcModule *m, uint32_t func);
WhammcType whammc_module_func_param(const WhammcModule *m, uint32_t func, uint32_t k);
WhammcType whammc_module_func_result(const WhammcModule *m, uint32_t func, uint32_t k);

/* Returns the handle of the export with this name, or WHAMMC_NONE. */
uint32_t whammc_module_find_export(const WhammcModule *m, WhammcKind kind, const char *name);

/* An import or an export. The texts are owned by the module. */
typedef struct WhammcExtern {
    const char *module; /* of an import; "" for exports */
    const char *name;
    WhammcKind kind;
    uint32_t handle;
} WhammcExtern;

/* Fills *out with the nth import or export of the input, in the order of the module. Returns false
 * if n is out of range. */
bool whammc_module_import(WhammcModule *m, uint32_t n, WhammcExtern *out);
bool whammc_module_export(WhammcModule *m, uint32_t n, WhammcExtern *out);

/* One instruction. */
typedef struct WhammcInstr {
    uint32_t offset; /* of its first byte in the function's body, as for whammc_module_attach */
    uint32_t size;   /* in bytes */
    const char *mnemonic; /* "i32.add" */
    const char *category; /* "arith" */
    const uint8_t *bytes; /* its bytes in the input */
    uint32_t nimms; /* immediates that are numbers, in the order of the binary format; for memory */
    uint64_t
        imms[3]; /* accesses: alignment (log2), memory, offset; constants: the value or the bits */
} WhammcInstr;

/* Goes through the instructions of a function of the input, in order. NULL if it has no body. */
WhammcWalk *whammc_walk_new(const WhammcModule *m, uint32_t func);
/* Fills *i with the next instruction; false after the last. `bytes` belong to the module. */
bool whammc_walk_next(WhammcWalk *w, WhammcInstr *i);
/* Accepts NULL. */
void whammc_walk_free(WhammcWalk *w);

/* ---- attaching code ---- */

typedef enum WhammcWhere {
    WHAMMC_BEFORE,  /* before an instruction */
    WHAMMC_REPLACE, /* instead of it; empty code removes it */
    WHAMMC_AFTER,   /* after it; after a block's opcode: inside it, at the top */
    WHAMMC_ENTRY,   /* when the function is entered (the offset is ignored) */
    WHAMMC_EXIT, /* at every exit: end, branches to the function's label, return, tail calls, throws
                    that the function does not catch, unreachable (the offset is ignored) */
} WhammcWhere;

/* Attaches code to the instruction at `offset` in a function of the input. Several pieces at one
 * instruction run in the order in which they were attached. The code must leave the stack as it
 * was, except with WHAMMC_REPLACE. It is copied. */
bool whammc_module_attach(WhammcModule *m, uint32_t func, uint32_t offset, WhammcWhere where,
                          const WhammcCode *code);

/* Adds a local to a function of the input; returns its index for whammc_code_local_get and so
 * on. */
uint32_t whammc_module_add_local(WhammcModule *m, uint32_t func, WhammcType type);

/* ---- adding ---- */

/* These return the new handle, or WHAMMC_NONE. */

/* Adds a function type, or returns an existing equal one. */
uint32_t whammc_module_add_type(WhammcModule *m, const WhammcType *params, uint32_t nparams,
                                const WhammcType *results, uint32_t nresults);
uint32_t whammc_module_import_func(WhammcModule *m, const char *module, const char *name,
                                   uint32_t type);
uint32_t whammc_module_import_global(WhammcModule *m, const char *module, const char *name,
                                     WhammcType type, bool mutable_);
/* Sizes in pages of 64 KiB; max UINT32_MAX = none. */
uint32_t whammc_module_import_memory(WhammcModule *m, const char *module, const char *name,
                                     uint32_t min, uint32_t max);
/* Adds a function; `code` is without the final `end`. Names may be NULL. */
uint32_t whammc_module_add_func(WhammcModule *m, uint32_t type, const char *name,
                                const WhammcType *locals, uint32_t nlocals, const WhammcCode *code);
/* Adds a global; `value`: an integer, or the bits of a float; references start as null. */
uint32_t whammc_module_add_global(WhammcModule *m, WhammcType type, bool mutable_, const char *name,
                                  uint64_t value);
uint32_t whammc_module_add_memory(WhammcModule *m, uint32_t min, uint32_t max, const char *name);
/* Adds a data segment that is copied to `offset` of a memory when the module is instantiated. */
uint32_t whammc_module_add_data(WhammcModule *m, uint32_t memory, uint64_t offset,
                                const void *bytes, size_t size);
/* Adds a passive data segment, for memory.init. */
uint32_t whammc_module_add_passive_data(WhammcModule *m, const void *bytes, size_t size);
/* Exports the entity with this handle. False if there is an export of this name. */
bool whammc_module_add_export(WhammcModule *m, const char *name, WhammcKind kind, uint32_t handle);
/* Returns or sets the function that runs when the module is instantiated; WHAMMC_NONE: none. */
uint32_t whammc_module_start(const WhammcModule *m);
void whammc_module_set_start(WhammcModule *m, uint32_t func);

/* ---- building code ---- */

/* Returns code without instructions; never NULL. */
WhammcCode *whammc_code_new(void);
void whammc_code_clear(WhammcCode *c); /* removes all instructions */
void whammc_code_free(WhammcCode *c);  /* accepts NULL */

/* These append an instruction. */

void whammc_code_i32_const(WhammcCode *c, int32_t v);
void whammc_code_i64_const(WhammcCode *c, int64_t v);
void whammc_code_f32_const(WhammcCode *c, float v);
void whammc_code_f64_const(WhammcCode *c, double v);
void whammc_code_call(WhammcCode *c, uint32_t func);
void whammc_code_global_get(WhammcCode *c, uint32_t global);
void whammc_code_global_set(WhammcCode *c, uint32_t global);
void whammc_code_local_get(WhammcCode *c, uint32_t local);
void whammc_code_local_set(WhammcCode *c, uint32_t local);
void whammc_code_local_tee(WhammcCode *c, uint32_t local);
/*
 * Appends any instruction by its mnemonic, with its immediates as numbers: indices and labels; for
 * blocks the type (a WhammcType); for memory accesses alignment (log2), memory, offset, and the
 * lane if there is one. False (and nothing is appended) if there is no such instruction, the number
 * of immediates is wrong, or its immediates are lists (use whammc_code_bytes).
 */
bool whammc_code_op(WhammcCode *c, const char *mnemonic, const uint64_t *imms, uint32_t nimms);
/* Appends bytes of the binary format, with handles as indices. */
void whammc_code_bytes(WhammcCode *c, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
