/*
 * eval/eval.h - an interpreter for validated WebAssembly, for code that must run at compile time.
 *
 * A store holds everything that runs: instances of modules, their functions, memories, tables and
 * globals, and host functions. All of it lives until the store is freed, so that references between
 * instances stay good. Nothing a module does can harm the program that runs it: there are limits
 * for memory, calls and the operand stack, and every instruction costs fuel.
 *
 *     EvalStore *s = eval_store_new(NULL);
 *     EvalInstance *i = eval_instantiate(s, &module, resolve, ctx, &error);
 *     eval_set_fuel(s, 1000000);
 *     if (i && eval_call(s, eval_func(i, 3), args, 1, results, 1, &error)) ...
 *     eval_store_free(s);
 *
 * The same on every machine: where WebAssembly leaves the bits of a NaN open, it is the positive
 * canonical one (the deterministic profile).
 *
 * What runs: MVP, sign extension, saturating truncation, bulk memory, reference types, multi-value,
 * several memories, 64-bit memories and tables, custom page sizes, tail calls, typed function
 * references, extended constant expressions. What does not: SIMD, GC, exceptions, threads. Modules
 * that contain such instructions can be instantiated, but executing one is an error, as is using a
 * global whose initial value takes one. Vectors take one slot, as there are only zeros.
 */
#ifndef WHAMMC_EVAL_EVAL_H
#define WHAMMC_EVAL_EVAL_H

#include "wasm/module.h"

typedef struct EvalStore EvalStore;
typedef struct EvalInstance EvalInstance;
typedef struct EvalFunc EvalFunc;
typedef struct EvalMemory EvalMemory;
typedef struct EvalTable EvalTable;
typedef struct EvalGlobal EvalGlobal;
typedef struct EvalTag EvalTag;

/* ---- errors ---- */

/* Errors. The texts of traps are the specification's. */
/* clang-format off */
#define EVAL_STATUSES(X)                                                                           \
    X(OK, "no error")                                                                              \
    /* instantiation */                                                                            \
    X(UNKNOWN_IMPORT, "unknown import")                                                            \
    X(IMPORT_TYPE, "incompatible import type")                                                     \
    X(UNSUPPORTED, "not supported")                                                                \
    X(TOO_LARGE, "too large")                                                                      \
    /* calls from outside */                                                                       \
    X(ARGUMENTS, "wrong arguments")                                                                \
    X(HOST, "host function failed")                                                                \
    /* traps */                                                                                    \
    X(UNREACHABLE, "unreachable")                                                                  \
    X(DIVIDE_BY_ZERO, "integer divide by zero")                                                    \
    X(INTEGER_OVERFLOW, "integer overflow")                                                        \
    X(CONVERSION, "invalid conversion to integer")                                                 \
    X(MEMORY_BOUNDS, "out of bounds memory access")                                                \
    X(TABLE_BOUNDS, "out of bounds table access")                                                  \
    X(UNDEFINED_ELEMENT, "undefined element")                                                      \
    X(UNINITIALIZED_ELEMENT, "uninitialized element")                                              \
    X(CALL_TYPE, "indirect call type mismatch")                                                    \
    X(NULL_FUNCTION, "null function reference")                                                    \
    X(NULL_REFERENCE, "null reference")                                                            \
    X(STACK, "call stack exhausted")                                                               \
    X(FUEL, "out of fuel")
/* clang-format on */
typedef enum EvalStatus {
#define EVAL_STATUS(id, text) EVAL_##id,
    EVAL_STATUSES(EVAL_STATUS)
#undef EVAL_STATUS
} EvalStatus;

/* The text of a status, as above. */
const char *eval_status_text(EvalStatus status);

#define EVAL_NOWHERE UINT32_MAX

/* An error, and its place if that is an instruction. */
typedef struct EvalError {
    EvalStatus status;
    const WasmModule *module; /* the module that was being instantiated or run; may be NULL */
    uint32_t func;            /* the function that ran, by handle, or EVAL_NOWHERE */
    uint32_t pc;              /* the instruction's offset in its body */
    char text[200];           /* the status' text, with details if there are some */
} EvalError;

/* The instruction in the bytes of the module; NO_SPAN if it has no location. */
Span eval_error_span(const EvalError *error);

/*
 * Adds a message "WHAT: TEXT, in function 3 (name)" at that location, in the file that the module
 * was read from.
 */
Diag *eval_report(const EvalError *error, Diags *diags, DiagTag tag, const char *what);

/* Sets status and text (printf-like, NULL = the status' own) and no location. Returns false, for
 * host functions to return. */
bool eval_fail(EvalError *error, EvalStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- values ---- */

/*
 * A number or a reference. `bits`: i32 and f32 in the low half, the rest 0; references: 0 is null,
 * functions are EvalFunc pointers, external references whatever else the host likes. Type indices
 * in `type` are the store's (eval_type).
 */
typedef struct EvalValue {
    WasmType type;
    uint64_t bits;
} EvalValue;

#define EVAL_EXTERNREF WASM_REF(1, WASM_HEAP(WASM_HEAP_EXTERN))

/* Values from numbers and references, and back. */
static inline EvalValue eval_i32(uint32_t v) {
    return (EvalValue){WASM_I32, v};
}
static inline EvalValue eval_i64(uint64_t v) {
    return (EvalValue){WASM_I64, v};
}
static inline EvalValue eval_f32(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (EvalValue){WASM_F32, bits};
}
static inline EvalValue eval_f64(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (EvalValue){WASM_F64, bits};
}
static inline EvalValue eval_funcref(const EvalFunc *func) {
    return (EvalValue){WASM_FUNCREF, (uint64_t)(uintptr_t)func};
}
static inline EvalValue eval_externref(uint64_t v) {
    return (EvalValue){EVAL_EXTERNREF, v};
}
static inline float eval_as_f32(EvalValue v) {
    float f;
    uint32_t bits = (uint32_t)v.bits;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline double eval_as_f64(EvalValue v) {
    double f;
    memcpy(&f, &v.bits, sizeof f);
    return f;
}
static inline EvalFunc *eval_as_func(EvalValue v) {
    return (EvalFunc *)(uintptr_t)v.bits;
}

/* ---- the store ---- */

/* 0 = the default. */
typedef struct EvalLimits {
    uint64_t memory_bytes; /* of all memories together; default 1 GiB */
    uint64_t table_items;  /* of all tables together; default 10 million */
    uint32_t call_depth;   /* calls within calls; default 20,000 */
    uint32_t stack_slots;  /* locals and operands of all calls together; default 1 million */
} EvalLimits;

/* A new store with fuel for nothing yet. `limits` may be NULL. Free with eval_store_free. */
EvalStore *eval_store_new(const EvalLimits *limits);
void eval_store_free(EvalStore *s);

/*
 * Fuel: one unit an instruction; bulk operations, growing, branches with many values and calls of
 * host functions and of functions with many locals cost more, by size. Instantiation needs fuel for
 * the start function.
 */
void eval_set_fuel(EvalStore *s, uint64_t fuel);
uint64_t eval_fuel(const EvalStore *s);

/* Whether this program is a fuzz target: limits are then to be small, so that it tries many inputs.
 */
bool eval_is_fuzzed(void);

/* Makes the message of an EVAL_FUEL say that the limit was for many calls: "all calls have used up
 * their limit of N instructions". */
void eval_say_budget(EvalError *error, uint64_t budget, const char *calls);

/* ---- host functions ---- */

/* One call of a host function. */
typedef struct EvalCall {
    EvalStore *store;
    EvalInstance *caller; /* the instance whose code calls; NULL if called from outside */
    const EvalValue *args;
    EvalValue *results; /* typed, zero; the function sets `bits`, to values that fit */
    EvalError *error;   /* filled by eval_fail when it returns false */
} EvalCall;

/* Consumes fuel for bytes that a host function reads or writes. False, with the call's error, if
 * there is not enough; the function must return then. */
bool eval_burn(EvalCall *call, uint64_t bytes);
enum { EVAL_WRITE_COST = 1 << 16 }; /* a write to a file costs as much as so many bytes, besides */

/* False = trap. It may call eval_call on the same store; such nesting is limited. */
typedef bool (*EvalHost)(void *ctx, EvalCall *call);

/* New things to import, owned by the store. Type indices are the store's. NULL if a memory or table
 * is too large, or if `init` does not fit the type. */
EvalFunc *eval_host_func(EvalStore *s, const WasmType *params, uint32_t nparams,
                         const WasmType *results, uint32_t nresults, EvalHost host, void *ctx);
EvalMemory *eval_new_memory(EvalStore *s, WasmLimits limits);
EvalTable *eval_new_table(EvalStore *s, WasmType type, WasmLimits limits, EvalValue init);
EvalGlobal *eval_new_global(EvalStore *s, WasmType type, bool mutable, EvalValue init);

/* ---- instances ---- */

/* An entity that can be imported and exported; `space` is its kind. */
typedef struct EvalExtern {
    WasmSpace space; /* FUNC, TABLE, MEMORY, GLOBAL or TAG */
    union {
        EvalFunc *func;
        EvalTable *table;
        EvalMemory *memory;
        EvalGlobal *global;
        EvalTag *tag; /* can only be handed on */
    };
} EvalExtern;

/* Returns the entity for an import; false (or a null pointer) if there is none. The types are
 * checked afterwards. */
typedef bool (*EvalResolve)(void *ctx, const WasmImport *import, EvalExtern *what);

/*
 * Makes an instance of a module that was read and validated, and runs its start function. NULL with
 * *error if that fails; as in the specification, effects of active segments and the start function
 * on other instances before a trap stay. The module and its bytes must outlive the store, and
 * nothing may be added to it. `resolve` may be NULL if there are no imports.
 */
EvalInstance *eval_instantiate(EvalStore *s, const WasmModule *m, EvalResolve resolve, void *ctx,
                               EvalError *error);

/* The two parts of it: all but the start function, and that, if there is one. A program may go on
 * with an instance whose start function has trapped. */
EvalInstance *eval_link(EvalStore *s, const WasmModule *m, EvalResolve resolve, void *ctx,
                        EvalError *error);
bool eval_start(EvalInstance *i, EvalError *error);

/* Why a module cannot be instantiated, in *error; true if it can. */
bool eval_supported(const WasmModule *m, EvalError *error);

/* The entity that an instance exports under a name; returns false if there is none. */
bool eval_export(const EvalInstance *i, Str name, EvalExtern *what);

/* By handle (imports first); NULL if there is none. */
EvalFunc *eval_func(const EvalInstance *i, uint32_t index);
EvalMemory *eval_memory(const EvalInstance *i, uint32_t index);
EvalTable *eval_table(const EvalInstance *i, uint32_t index);
EvalGlobal *eval_global(const EvalInstance *i, uint32_t index);
EvalTag *eval_tag(const EvalInstance *i, uint32_t index);
/* The module that the instance is of. */
const WasmModule *eval_module(const EvalInstance *i);

/* The current contents of segments: empty if they were dropped, as active ones are when they have
 * been copied. */
uint32_t eval_data_size(const EvalInstance *i, uint32_t index);
uint32_t eval_elem_size(const EvalInstance *i, uint32_t index);
EvalValue eval_elem_get(const EvalInstance *i, uint32_t index, uint32_t item);

/* A type of the instance's module in terms of the store. */
WasmType eval_type(const EvalInstance *i, WasmType t);

/* ---- functions ---- */

/* The type of a function; type indices in it are the store's. Valid until something is
 * instantiated. */
const WasmTypeDef *eval_func_type(const EvalStore *s, const EvalFunc *f);

/* The instance that defines a function, and its handle there; NULL for host functions. */
EvalInstance *eval_func_instance(const EvalFunc *f, uint32_t *index);

/* Calls a function. `args` must have its parameter types; `results` has room for `nresults`, which
 * must be its number of results. False with *error on a trap; *error is not touched otherwise. */
bool eval_call(EvalStore *s, EvalFunc *f, const EvalValue *args, uint32_t nargs, EvalValue *results,
               uint32_t nresults, EvalError *error);

/* ---- counting ---- */

/* The number of executions of an instruction, including one that trapped; branches to an `end` or a
 * `loop` execute it. */
typedef struct EvalCount {
    uint32_t pc; /* its offset in the body */
    uint64_t n;
} EvalCount;

/* Counts each instruction that is executed from now on, in functions that have not been called
 * before; others are not counted. Costs a second step for each instruction, but no fuel; a store
 * that does not count pays nothing. */
void eval_count(EvalStore *s);

/* The instructions of a function that can be reached, in the order of its code. NULL with *n = 0 if
 * it was never called, or is not counted. Valid until the store is freed. */
const EvalCount *eval_counts(const EvalFunc *f, uint32_t *n);

/* ---- memories, tables, globals ---- */

/* The contents; the address is good until the memory grows. NULL if the size is 0. */
uint8_t *eval_memory_data(EvalMemory *m);
uint64_t eval_memory_size(const EvalMemory *m); /* in bytes */
/* Copies n bytes from or to the memory; false if they are not all inside. */
bool eval_memory_read(const EvalMemory *m, uint64_t at, void *to, uint64_t n);
bool eval_memory_write(EvalMemory *m, uint64_t at, const void *from, uint64_t n);
/* Grows by `pages`; false if the maximum or the store's limit forbids. */
bool eval_memory_grow(EvalStore *s, EvalMemory *m, uint64_t pages);

/* The number of items, and their type. */
uint64_t eval_table_size(const EvalTable *t);
WasmType eval_table_type(const EvalTable *t);
/* An item; false if there is none, or (set) if the value does not fit. */
bool eval_table_get(const EvalTable *t, uint64_t index, EvalValue *value);
bool eval_table_set(EvalStore *s, EvalTable *t, uint64_t index, EvalValue value);

/* The value of a global, and whether it is mutable. */
EvalValue eval_global_get(const EvalGlobal *g);
bool eval_global_mutable(const EvalGlobal *g);
/* Whether its value is unknown: it is a vector, or its initial value takes instructions that do not
 * run. It still has the value of the module's expression. */
bool eval_global_opaque(const EvalGlobal *g);
/* Sets it, mutable or not; false if the value does not fit its type. */
bool eval_global_set(EvalStore *s, EvalGlobal *g, EvalValue value);

#endif
