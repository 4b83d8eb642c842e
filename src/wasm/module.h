/*
 * wasm/module.h - the lossless module model: input, additions, and writing.
 *
 * The model keeps the input's bytes. Reading makes tables of each section's items, with the place
 * of each index in the bytes; writing copies the bytes and patches only indices that moved, so that
 * an unchanged module comes back byte for byte.
 *
 * VALID. A WasmModule that was loaded is valid: wasm_load reads and validates. The reader's result
 * has a type of its own, which only src/wasm and src/valid know (WasmUnvalidated in read.h), so
 * code that gets a WasmModule may rely on every index, type and label in it.
 *
 * HANDLES. Each entity (type, function, table, memory, global, tag, element, data) has a handle: in
 * the input, its index; an addition gets the next free handle, import or not. A handle never
 * changes. The *final index* differs only if imports were added (added imports go after the input's
 * imports, before the input's definitions); wasm_layout() computes the mapping and freezes the set
 * of imports. Types are only appended, so a type's handle is its final index.
 */
#ifndef WHAMMC_WASM_MODULE_H
#define WHAMMC_WASM_MODULE_H

#include "base/diag.h"
#include "wasm/type_def.h"

/* Index spaces. */
typedef enum WasmSpace {
    WASM_SPACE_TYPE,
    WASM_SPACE_FUNC,
    WASM_SPACE_TABLE,
    WASM_SPACE_MEMORY,
    WASM_SPACE_GLOBAL,
    WASM_SPACE_TAG,
    WASM_SPACE_ELEM,
    WASM_SPACE_DATA,
    WASM_SPACE_LOCAL,
    WASM_SPACE_COUNT
} WasmSpace;

/* How large modules may be that engines load. */
#define LIMIT(id, most, what, advice) WASM_LIMIT_##id,
typedef enum WasmLimit {
#include "wasm/limit.def"
    WASM_LIMIT_COUNT
} WasmLimit;
#undef LIMIT

#define LIMIT(id, most, what, advice) WASM_MAX_##id = most,
enum {
#include "wasm/limit.def"
};
#undef LIMIT

/* Section ids of the binary format. */
typedef enum WasmSectionId {
    WASM_SEC_CUSTOM,
    WASM_SEC_TYPE,
    WASM_SEC_IMPORT,
    WASM_SEC_FUNCTION,
    WASM_SEC_TABLE,
    WASM_SEC_MEMORY,
    WASM_SEC_GLOBAL,
    WASM_SEC_EXPORT,
    WASM_SEC_START,
    WASM_SEC_ELEMENT,
    WASM_SEC_CODE,
    WASM_SEC_DATA,
    WASM_SEC_DATACOUNT,
    WASM_SEC_TAG,
    WASM_SEC_COUNT
} WasmSectionId;

typedef struct WasmSection {
    uint8_t id;
    uint32_t header;       /* file offset of the id byte */
    uint32_t payload, end; /* file offsets of the contents */
    Str name;              /* custom sections; `payload` is then after the name */
    bool drop;             /* do not write it */
} WasmSection;

/* Place of an index in the bytes of a section other than code. In file order. */
typedef struct WasmIndexRef {
    uint32_t offset; /* in the file */
    uint8_t width;   /* bytes of the LEB128 */
    uint8_t space;   /* WasmSpace */
    uint32_t value;
} WasmIndexRef;

typedef struct WasmImport {
    Str module, name;
    uint8_t space;   /* WASM_SPACE_FUNC, TABLE, MEMORY, GLOBAL or TAG */
    uint32_t handle; /* in that space */
} WasmImport;

typedef struct WasmFunc {
    uint32_t type;
    int32_t import;          /* index into imports, or -1 */
    uint32_t body;           /* file offset of the body (after its size), input functions only */
    uint32_t body_size;      /* bytes */
    uint8_t size_width;      /* bytes of the size before the body */
    uint32_t refs, refs_end; /* in WasmModule.func_refs */
    Str name;                /* from the name section, or given when added; empty = none */
    Str shown;               /* input functions only: see wasm_shown_name */
    bool named;              /* ... which is not a number */
    bool added;
    bool exact;        /* an import that is exactly of its type, not of a subtype */
    uint32_t new_type; /* input functions: the type in the output + 1; 0 = the same */
    Buf code; /* added functions: local declarations and code, handle space unless code_final */
    bool code_final;
} WasmFunc;

typedef struct WasmTable {
    WasmType type;
    WasmLimits limits;
    int32_t import;
    Str name;
    uint32_t init, init_len; /* input: file range of the initial expression, 0 = none */
    Buf code;                /* added: the initial expression, handle space; empty = null */
} WasmTable;

typedef struct WasmMemory {
    WasmLimits limits;
    int32_t import;
    Str name;
    /* The input's active data, from the first byte to after the last; both 0 if there are none. */
    uint64_t data_start, data_end;
    bool data_unknown;         /* where some of it goes is not known */
    bool relimited;            /* limits differ from the input's: the entry is rewritten */
    uint32_t entry, entry_len; /* file range of the limits */
} WasmMemory;

/* Rarely used properties of globals and data segments, whose number may be very large; in
 * WasmModule.extras. */
typedef struct WasmExtra {
    Str name;
    Buf code;    /* added: the initial expression, or the offset of an active segment; handle space,
                    with `end` */
    Buf content; /* added segments: the contents */
} WasmExtra;

/* There is one for each counter, so it is small. */
typedef struct WasmGlobal {
    WasmType type;
    uint32_t mutable : 1, imported : 1;
    uint32_t constant : 1; /* input: it begins at a wasm_short_const of its type */
    uint32_t extra : 29;   /* wasm_extra; its code, of an added one: empty = zero or null */
    union {
        uint32_t import; /* if it is imported */
        uint32_t init;   /* input: file range of the expression, `end` included */
    };
    uint32_t init_len;
} WasmGlobal;

typedef struct WasmTag {
    uint32_t type;
    int32_t import;
    Str name;
} WasmTag;

typedef struct WasmExport {
    Str name;
    uint8_t space;
    uint32_t handle;
} WasmExport;

typedef enum WasmSegmentMode { WASM_ACTIVE, WASM_PASSIVE, WASM_DECLARATIVE } WasmSegmentMode;

typedef struct WasmElem {
    uint8_t mode;
    WasmType type;
    uint32_t table;
    uint32_t offset, offset_len; /* file range of the offset expression, active only */
    uint32_t count;              /* items */
    uint32_t items;              /* file offset of the first item */
    bool exprs;                  /* items are expressions, not function indices */
    Buf code;                    /* added, active: the offset expression with `end` */
    const uint32_t *added_funcs; /* added: function handles (arena), */
    Buf content;                 /* or, if exprs, the expressions, each with `end`; handle space */
} WasmElem;

typedef struct WasmData {
    uint32_t memory;
    uint32_t offset, offset_len; /* file range of the offset expression, active input segments */
    uint32_t bytes, size;        /* file range of the contents, input segments */
    uint32_t extra;              /* wasm_extra */
    uint8_t mode;
    uint8_t implicit; /* bytes of the flags before `offset` if they stand for memory 0, else 0 */
    uint8_t constant; /* the type of the offset if it is a wasm_short_const, which the reader has
                         noted in the memory's data_start and data_end; else 0 */
    bool joins;       /* the layout makes it a part of the one before, behind `gap` zeros */
    uint32_t gap;
} WasmData;

#define WASM_BRANCH_HINTS "metadata.code.branch_hint"
#define WASM_CALL_TARGETS "metadata.code.call_targets"
/* An item of a custom section metadata.code.* (branch hints): a note on an instruction. */
typedef struct WasmHint {
    uint32_t func, offset; /* the instruction's offset in the body */
    uint32_t moved;        /* offset in the edited body, set by wasm_edit_body; UINT32_MAX = gone */
    uint32_t section;      /* index into sections */
    uint32_t data, size;   /* file range of the contents */
} WasmHint;

/* An added instruction `if` that is rarely executed. */
typedef struct WasmRare {
    uint32_t func, at; /* its offset in the new body */
} WasmRare;

/* From wasm_layout: the final index of a handle. */
typedef struct WasmLayout {
    bool done;
    bool identity[WASM_SPACE_COUNT];   /* nothing has moved */
    uint32_t *final[WASM_SPACE_COUNT]; /* by handle */
    uint32_t final_cap[WASM_SPACE_COUNT];
    uint32_t *called;  /* by handle of the input: the function that the program calls in its place
                          (wasm_wrap_func); NULL = nothing is wrapped */
    uint32_t *entered; /* 1 + the function named in its place outside of code (wasm_enter_func), 0 =
                          itself; NULL = all name themselves */
} WasmLayout;

/* The instructions of a body that name functions, one after the other. */
typedef struct WasmRefs {
    const uint8_t *at, *end;
    uint32_t next; /* the offset of the next one; UINT32_MAX = none */
} WasmRefs;

typedef struct WasmModule {
    const uint8_t *bytes; /* the input, which must outlive the module; NULL for an empty module */
    size_t size;
    Arena arena;
    DiagFileId file; /* for messages */

    Vec(WasmSection) sections; /* in file order */
    Vec(WasmIndexRef) refs;    /* indices outside the code section */
    Vec(WasmHint) hints;       /* by function and offset */
    bool hints_rare;           /* `rare` becomes hints */
    Vec(WasmRare) rare;        /* by function and offset; complete when all bodies are written */
    Buf func_refs; /* where bodies name functions, as LEB128: differences of offsets (to 0 at first)
                    */
    bool has_func_refs; /* they are there: the module was validated */
    WasmOpSet *ops; /* by function of the input: the kinds of instructions in its body; NULL: they
                       are not known */

    /* By handle: the input's first (imports before definitions), then additions. */
    Vec(WasmTypeDef) types;
    Vec(WasmFunc) funcs;
    Vec(WasmTable) tables;
    Vec(WasmMemory) memories;
    Vec(WasmGlobal) globals;
    Vec(WasmTag) tags;
    Vec(WasmElem) elems;
    Vec(WasmData) datas;
    Vec(WasmExtra) extras;
    Vec(WasmImport) imports; /* the input's in order, then added ones */
    Vec(WasmExport) exports;
    int64_t start; /* function handle, -1 = none */
    bool start_changed;
    bool has_data_count;
    uint32_t data_count;    /* of the input's section; without segments that were added */
    uint32_t joined_datas;  /* how many of the input's join others (wasm_layout) */
    uint32_t skipped_datas; /* as many were not read (WasmKeptDatas), before those in `datas` */
    bool needs_data_count;  /* code that was added names data segments */
    Str name;               /* module name of the name section */

    /* How many of each came from the input, and how many of those are imports. */
    uint32_t input_count[WASM_SPACE_COUNT];
    uint32_t input_imports[WASM_SPACE_COUNT];
    uint32_t input_import_count, input_export_count;

    WasmLayout layout;

    bool exact; /* it has types with descriptors, or names exact types */

    uint8_t *declared; /* by function handle: may be used by ref.func (by the validator) */
} WasmModule;

/* The properties of a global or data segment with this `extra`; all empty if it has none. */
static inline const WasmExtra *wasm_extra(const WasmModule *m, uint32_t extra) {
    static const WasmExtra none;
    return extra ? &m->extras.at[extra - 1] : &none;
}
/* The same to be changed; valid until another one gets some. */
WasmExtra *wasm_need_extra(WasmModule *m, uint32_t *extra);
WasmExtra *wasm_global_extra(WasmModule *m, WasmGlobal *g);

/* The type of addresses: i32 or i64. */
static inline WasmType wasm_memory_address(const WasmModule *m, uint32_t memory) {
    return m->memories.at[memory].limits.is64 ? WASM_I64 : WASM_I32;
}
static inline WasmType wasm_table_address(const WasmModule *m, uint32_t table) {
    return m->tables.at[table].limits.is64 ? WASM_I64 : WASM_I32;
}

/* Names for messages, and the number of entities in a space (input and added). */
const char *wasm_space_name(WasmSpace space);
const char *wasm_section_name(uint8_t id);
/* The order of sections in a file; 0 = custom, anywhere. */
uint8_t wasm_section_rank(uint8_t id);
uint32_t wasm_space_count(const WasmModule *m, WasmSpace space);

/* Asserts that every index in the tables of a module exists, and that additions follow the input.
 * In builds with assertions only. */
bool wasm_module_check(const WasmModule *m);

/* Makes an empty module to add to. */
void wasm_module_init(WasmModule *m);
void wasm_module_free(WasmModule *m);
/* Frees the code and contents of additions, once they are written. */
void wasm_module_written(WasmModule *m);

/* False: the body of a function of the input has no such instruction. */
static inline bool wasm_may_have(const WasmModule *m, uint32_t func, WasmOp op) {
    return !m->ops || op_set_has(&m->ops[func], op);
}

/* The type with its index replaced by the canonical one: two types are equal iff these are. */
static inline WasmType wasm_canonical(const WasmModule *m, WasmType t) {
    if (!WASM_IS_REF(t) || (t & WASM_ABSTRACT_BIT))
        return t;
    return wasm_with_index(t, m->types.at[WASM_HEAP_OF(t)].canonical);
}

/* The type of a reference to what is made with this type: an exact one, unless the module was
 * validated and does without them. */
static inline WasmType wasm_exactly(const WasmModule *m, uint32_t type) {
    return WASM_REF(0, type) | (m->exact ? WASM_EXACT_BIT : 0);
}

/* Whether references to the function are to its type exactly. */
static inline bool wasm_is_exact_func(const WasmFunc *f) {
    return f->import < 0 || f->exact;
}

/* The name of a function: the name section's, else empty. */
Str wasm_func_name(const WasmModule *m, uint32_t func);
/* The name by which people know a function of the input: the name section's, else the first
 * export's, else "module.name" of an import, else "#5", its index. */
Str wasm_shown_name(const WasmModule *m, uint32_t func);
/* The name of the module: the name section's, else that of its file, without folders. Borrowed. */
Str wasm_shown_module(const WasmModule *m, const char *path);
/* The same as wasm_shown_name, without indices: .ptr is NULL then. */
Str wasm_known_name(const WasmModule *m, uint32_t func);
/* Whether the name section has a name for some function of the input. */
bool wasm_names_funcs(const WasmModule *m);
/* Settles these names, after names were read or given. */
void wasm_name_funcs(WasmModule *m);
/* The type of a function. */
static inline const WasmTypeDef *wasm_func_type(const WasmModule *m, uint32_t func) {
    return &m->types.at[m->funcs.at[func].type];
}
/* The bytes of an input function's body (local declarations first). */
static inline const uint8_t *wasm_func_body(const WasmModule *m, uint32_t func) {
    return m->bytes + m->funcs.at[func].body;
}
/* Goes on to the next instruction that names a function. */
static inline void wasm_next_ref(WasmRefs *r) {
    r->next = r->at == r->end ? UINT32_MAX : r->next + (uint32_t)wasm_uleb(&r->at);
}
/* The first one of a body, if has_func_refs. */
static inline WasmRefs wasm_refs(const WasmModule *m, const WasmFunc *f) {
    WasmRefs r = {0};
    if (f->refs < f->refs_end) {
        r.at = m->func_refs.data + f->refs;
        r.end = m->func_refs.data + f->refs_end;
    }
    wasm_next_ref(&r);
    return r;
}
/* The function that such an instruction names: its index is all that follows an opcode of one byte.
 */
static inline uint32_t wasm_ref_func(const WasmRefs *r, const uint8_t *body) {
    const uint8_t *index = body + r->next + 1;
    return (uint32_t)wasm_uleb(&index);
}
/* The local types of a defined function, parameters first: appended to `out` (Vec(WasmType)). Gives
 * the offset of the first instruction in the body, or 0 with *error set if the declarations are
 * malformed. */
uint32_t wasm_func_locals(const WasmModule *m, uint32_t func, WasmTypes *out, const char **error);
/* A cursor at the first instruction of an input function's body. False for an import, or if the
 * declarations of the locals are malformed. */
bool wasm_func_code(const WasmModule *m, uint32_t func, WasmCode *code);
/* The export called `name` in `space`, or NULL. */
const WasmExport *wasm_find_export(const WasmModule *m, WasmSpace space, Str name);
/* The indices into `exports` by name, for many such questions: those of one space. */
Map wasm_exports_by_name(const WasmModule *m, WasmSpace space);
/* The handle of the imported function module.name, or -1. */
int64_t wasm_find_import(const WasmModule *m, Str module, Str name);
/* The name is that of WASI's module, in the current or the first version. */
bool wasm_is_wasi(Str module);

/*
 * The value of a constant expression of the input, a file range: integer constants, their sums,
 * differences and products, and immutable globals (constant.c). `imported`, which may be NULL,
 * supplies imported ones. i32 values have arbitrary upper bits. False if it is anything else.
 */
bool wasm_const_value(const WasmModule *m, uint32_t offset, uint32_t len,
                      bool (*imported)(void *ctx, const WasmImport *import, uint64_t *v), void *ctx,
                      uint64_t *v);

/* ---- adding (wasm/add.c): the result is the handle; names and contents are copied ---- */

uint32_t wasm_add_func_type(WasmModule *m, const WasmType *params, uint32_t nparams,
                            const WasmType *results, uint32_t nresults); /* reuses an equal one */
/* The same without adding: -1 if there is none. */
int64_t wasm_find_func_type(const WasmModule *m, const WasmType *params, uint32_t nparams,
                            const WasmType *results, uint32_t nresults);
uint32_t wasm_add_import_func(WasmModule *m, Str module, Str name, uint32_t type);
/* The import of this name and type that is there, or else a new one. */
uint32_t wasm_need_import_func(WasmModule *m, Str module, Str name, const WasmTypeDef *type);
uint32_t wasm_add_import_global(WasmModule *m, Str module, Str name, WasmType type, bool mutable);
uint32_t wasm_add_import_memory(WasmModule *m, Str module, Str name, WasmLimits limits);
/* Of any size. */
uint32_t wasm_add_import_table(WasmModule *m, Str module, Str name, WasmType type);
uint32_t wasm_add_import_tag(WasmModule *m, Str module, Str name, uint32_t type);
/* `code`: local declarations, then instructions with the final `end`; taken over (emptied).
 * Its indices are handles, or final indices if code_final (then call wasm_layout first). */
uint32_t wasm_add_func(WasmModule *m, uint32_t type, Str name, Buf *code, bool code_final);
uint32_t wasm_add_global(WasmModule *m, WasmType type, bool mutable, Str name, Buf *init);
uint32_t wasm_add_global_i32(WasmModule *m, bool mutable, Str name, int32_t value);
/* Starts at zero, or null; takes little memory, there may be very many. */
uint32_t wasm_add_global_zero(WasmModule *m, WasmType type, bool mutable, Str name);
/* ... n of them, the first one's handle is returned. */
uint32_t wasm_add_globals_zero(WasmModule *m, WasmType type, bool mutable, uint32_t n);
/* Makes such a global, a number, start at another value. */
void wasm_set_global(WasmModule *m, uint32_t global, uint64_t bits);
/* Appends the constant zero (null) of a type. */
void wasm_put_zero(Buf *b, WasmType type);
/* Appends a constant expression, up to its `end`: a number by its bits; 0 is zero or null. */
void wasm_put_init(Buf *b, WasmType type, uint64_t bits);
uint32_t wasm_add_memory(WasmModule *m, WasmLimits limits, Str name);
uint32_t wasm_add_table(WasmModule *m, WasmType type, WasmLimits limits, Str name);
uint32_t wasm_add_tag(WasmModule *m, uint32_t type, Str name);
/* An active element segment: the functions `funcs` from index `at` of a table. */
uint32_t wasm_add_elem_active(WasmModule *m, uint32_t table, uint64_t at, const uint32_t *funcs,
                              uint32_t nfuncs);
uint32_t wasm_add_elem_passive(WasmModule *m, const uint32_t *funcs, uint32_t nfuncs);
/* A declarative one: makes the functions usable by ref.func. */
uint32_t wasm_add_elem_declared(WasmModule *m, const uint32_t *funcs, uint32_t nfuncs);
/* A segment with all that WasmElem says of added ones; added_funcs is copied, code and content are
 * taken over. */
uint32_t wasm_add_elem(WasmModule *m, WasmElem e);
uint32_t wasm_add_data_passive(WasmModule *m, Buf *content, Str name);
uint32_t wasm_add_data_active(WasmModule *m, uint32_t memory, uint64_t at, Buf *content, Str name);
void wasm_add_export(WasmModule *m, Str name, WasmSpace space, uint32_t handle);
/* Points an existing export at another handle (of the same space). */
void wasm_set_export(WasmModule *m, uint32_t export, uint32_t handle);
void wasm_set_start(WasmModule *m, uint32_t func);

/* Computes final indices; after this no imports can be added (other additions can). Idempotent. */
void wasm_layout(WasmModule *m);
static inline uint32_t wasm_final(const WasmModule *m, WasmSpace space, uint32_t handle) {
    return m->layout.identity[space] ? handle : m->layout.final[space][handle];
}

/* The function `by`, of the same type, takes the place of `func`, a handle of the input, wherever
 * the program names it: in sections other than code, and in bodies that are copied with
 * wasm_program_remap. The module is laid out. */
void wasm_wrap_func(WasmModule *m, uint32_t func, uint32_t by);
/* The function `by`, of the original type of `func`, a handle of the input, takes its place in
 * sections other than code: hosts and tables get it. The module is laid out. */
void wasm_enter_func(WasmModule *m, uint32_t func, uint32_t by);
/* The final index of the function that the program calls by a handle. */
static inline uint32_t wasm_called(const WasmModule *m, uint32_t func) {
    bool wrapped = m->layout.called && func < m->input_count[WASM_SPACE_FUNC];
    return wrapped ? m->layout.called[func] : wasm_final(m, WASM_SPACE_FUNC, func);
}
/* The final index of the function that sections other than code name by a handle. */
static inline uint32_t wasm_entered(const WasmModule *m, uint32_t func) {
    bool input = m->layout.entered && func < m->input_count[WASM_SPACE_FUNC];
    uint32_t by = input ? m->layout.entered[func] : 0;
    return by ? by - 1 : wasm_called(m, func);
}

/* ---- copying code (wasm/remap.c) ---- */

/* Copies code while indices follow a mapping: map[space] (NULL = identity) by old index. Local
 * indices and labels stay unless map[WASM_SPACE_LOCAL] is given. Used by edit, merge and splicing.
 */
typedef struct WasmRemap {
    const uint32_t *map[WASM_SPACE_COUNT];
    uint32_t count[WASM_SPACE_COUNT]; /* items of map[space]; others stay; 0 = not checked */
    const uint32_t *fallback_memory;  /* not NULL: every memory index becomes *fallback_memory */
} WasmRemap;
/* The mapping from handles to final indices of a module that is laid out. */
WasmRemap wasm_layout_remap(const WasmModule *m);
/* The same for code of the program, in which some functions are wrapped. */
WasmRemap wasm_program_remap(const WasmModule *m);
/* To the end of the code; false if malformed. A LEB128 keeps its width if the new index fits. */
bool wasm_copy_code(WasmCode *from, const WasmRemap *map, Buf *out);
/* Local declarations (the start of a body), whose types follow the mapping. False if malformed. */
bool wasm_copy_locals(WasmCode *from, const WasmRemap *map, Buf *out);
/* The same for one decoded instruction whose bytes are at `bytes`. */
void wasm_copy_instr(const uint8_t *bytes, const WasmInstr *i, const WasmRemap *map, Buf *out);

/* The label that replaces `depth` at the instruction that is copied. */
typedef uint32_t WasmLabel(void *ctx, uint32_t depth);
/* True if the instruction names labels. */
bool wasm_has_labels(const WasmInstr *i);
/* Like wasm_copy_instr for an instruction that names labels, which change. */
void wasm_copy_branch(const uint8_t *bytes, const WasmInstr *i, const WasmRemap *map,
                      WasmLabel *label, void *ctx, Buf *out);

#endif
