/*
 * runtime/site/site_state.h - what the files that implement site.h share: the state, the reading of
 * bytes from whamm:reflect, the decoder. Only they include it.
 *
 * Three cursors go through function bodies, each only as far as needed: `plain` knows the
 * instruction, `flow` the basic blocks, `typer` the types of operands. Engines ask in code order,
 * so each cursor that the monitor needs goes through a body once; a question about an earlier
 * location starts again at the body's beginning. There are two of the kind `plain`, since some
 * questions are about the function's end.
 *
 * Malformed input ends in site_fail, so no function returns errors.
 */
#ifndef WHAMMC_RUNTIME_SITE_STATE_H
#define WHAMMC_RUNTIME_SITE_STATE_H

#include "../memory.h"
#include "site.h"
#include "site_ops.h"

#ifdef __wasm__
#define SITE_EXPORT(name) EXPORT("whammc_site_" #name)
#else
#define SITE_EXPORT(name)
#endif

/* ---- the engine's side; addresses are of our memory ---- */

#ifdef __wasm__
#define REFLECT(name) IMPORT("whamm:reflect", name)
#else
#define REFLECT(name)
#endif
/* clang-format off */
REFLECT("read_section") uint32_t reflect_read_section(uint32_t id, uint32_t ptr, uint32_t len, uint32_t unused);
REFLECT("read_function_body") uint32_t reflect_read_function_body(uint32_t func, uint32_t ptr, uint32_t len);
REFLECT("read_function_name") uint32_t reflect_read_function_name(uint32_t func, uint32_t ptr, uint32_t len);
REFLECT("read_module_path") uint32_t reflect_read_module_path(uint32_t ptr, uint32_t len);
REFLECT("read_module_name") uint32_t reflect_read_module_name(uint32_t ptr, uint32_t len);
/* clang-format on */

/* ---- the state ---- */

/* Memory that grows; `size` bytes, 0 = none yet. */
typedef struct SiteBlock {
    uint32_t at, size;
} SiteBlock;

/* The current instruction; fields as in WasmInstr (wasm/op.h), where WasmImm describes them. */
typedef struct SiteInstr {
    uint64_t c;
    uint32_t offset, size; /* in the body */
    uint16_t op;           /* WasmOp */
    uint8_t imm;           /* WasmImm */
    uint8_t signature;     /* its number; 0 = types are not fixed */
    uint32_t a, b, count;
    WasmType type, type2;
    uint32_t vec; /* offset in the body */
} SiteInstr;

typedef struct SiteCursor {
    uint32_t func;  /* function + 1; 0 = nowhere */
    uint32_t index; /* of the instruction `i` in the body, + 1; 0 = before the first */
    uint32_t previous, previous_a; /* the instruction before it: its WasmOp + 1, and its a */
    SiteInstr i;
} SiteCursor;

/* Functions, tables, memories, globals or tags: two words each. */
typedef enum SiteKind {
    SITE_FUNC,
    SITE_TABLE,
    SITE_MEMORY,
    SITE_GLOBAL,
    SITE_TAG,
    SITE_KINDS
} SiteKind;
typedef struct SiteEntry {
    uint32_t type; /* functions and tags: index of the type; tables and globals: WasmType */
    uint32_t bits; /* tables and memories: flags of the limits, log2 of the page size << 8 */
} SiteEntry;
enum { LIMITS_MAX = 1, LIMITS_64 = 4, LIMITS_PAGE = 8 };

typedef struct SiteList {
    SiteBlock entries;
    uint32_t count, imports;
    uint32_t loaded;
} SiteList;

/* Lists of types of the program are at `first` in the words; fields of structures and arrays are
 * parameters. */
typedef struct SiteType {
    uint32_t first, nparams, nresults;
    uint32_t form; /* its byte */
} SiteType;
enum {
    SITE_FORM_FUNC = 0x60,
    SITE_FORM_STRUCT = 0x5f,
    SITE_FORM_ARRAY = 0x5e,
    SITE_FORM_CONT = 0x5d
};

typedef struct SiteState {
    uint32_t table; /* the compiler writes this */
    /* the body read last */
    uint32_t func; /* + 1 */
    SiteBlock body;
    uint32_t body_size;
    uint32_t code; /* offset of the first instruction */
    /* its locals, if they were needed */
    uint32_t locals_func; /* + 1 */
    SiteBlock locals;
    uint32_t nlocals;
    /* what is in the function that site_fn_has was asked about last */
    uint32_t contents_func; /* + 1 */
    uint32_t contents;
    /* the module */
    SiteList lists[SITE_KINDS];
    SiteBlock types, words;
    uint32_t ntypes, nwords, types_loaded;
    SiteBlock import_names;
    uint32_t nimport_names, import_names_loaded;
    SiteBlock export_names;
    uint32_t nexport_names, export_names_loaded;
    uint32_t proc_exit, proc_exit_loaded;

    SiteCursor plain[2];

    SiteCursor flow;
    SiteBlock flow_frames;
    uint32_t nflow_frames;
    uint32_t live, starts, open_count; /* of the next instruction, and of the open block */
    uint32_t tries;                    /* open bodies of try and try_table */
    /* of the current instruction */
    uint32_t first, last, block_count, in_try, dead;

    SiteCursor typer;
    SiteBlock stack, frames, params, results;
    uint32_t nstack, nframes;
    uint32_t nparams, nresults, typed; /* typed: they are those of the current instruction */
} SiteState;

#ifdef __wasm__
#define S ((SiteState *)SITE_STATE)
#else
#define S ((SiteState *)(void *)at(SITE_STATE))
#endif
_Static_assert((int)VALUES_ROWS_END <= (int)SITE_STATE &&
                   SITE_STATE + sizeof(SiteState) <= VALUES_TEXT,
               "the state has its place");

INLINE uint32_t *words_at(uint32_t address) {
    return (uint32_t *)(void *)at(address);
}

/* Makes room for `n` bytes; keeps the first `keep`. */
void site_reserve(SiteBlock *b, uint32_t keep, uint64_t n);
/* Clears and frees the block: the memory of an attached monitor may be written to a file. */
void site_drop(SiteBlock *b);
/* Appends a word to the `*n` words. */
INLINE void site_push(SiteBlock *b, uint32_t *n, uint32_t word) {
    if (b->size / 4 <= *n)
        site_reserve(b, *n * 4, ((uint64_t)*n + 1) * 4);
    words_at(b->at)[(*n)++] = word;
}

/* ---- reading ---- */

/* Bytes of a function body, or of a section. */
typedef struct SiteReader {
    const uint8_t *start, *at, *end;
    uint32_t func;    /* + 1; 0 = a section */
    uint32_t section; /* its id */
} SiteReader;

typedef enum SiteError {
    SITE_NO_INSTRUCTION, /* at the location of a question */
    SITE_UNKNOWN,        /* instruction; detail: prefix << 16 | code */
    SITE_UNKNOWN_TYPE,   /* detail: its byte */
    SITE_SHORT,          /* the bytes end too early, or a number is too long */
    SITE_MALFORMED,      /* impossible numbers */
    SITE_NO_BODY,        /* an imported function, or none */
    SITE_UNCOUNTED, /* site_count.h: a segment needs a counter, but there is no place for one */
} SiteError;

/* Writes a message and traps. `func` is + 1; 0: a section, whose id is the offset. */
_Noreturn void site_fail(SiteError error, uint32_t func, uint32_t offset, uint32_t detail);
_Noreturn void site_read_fail(const SiteReader *r, SiteError error, uint32_t detail);

/* Numbers of more than one byte; signed ones. */
uint64_t site_uleb_slow(SiteReader *r);
int64_t site_sleb(SiteReader *r);
INLINE uint8_t site_u8(SiteReader *r) {
    if (r->at == r->end)
        site_read_fail(r, SITE_SHORT, 0);
    return *r->at++;
}
INLINE uint32_t site_u32(SiteReader *r) {
    if (r->at != r->end && *r->at < 0x80)
        return *r->at++;
    return (uint32_t)site_uleb_slow(r);
}
INLINE uint64_t site_uleb(SiteReader *r) {
    if (r->at != r->end && *r->at < 0x80)
        return *r->at++;
    return site_uleb_slow(r);
}
/* Skips n bytes. */
void site_skip(SiteReader *r, uint64_t n);
/* A value type, and a heap type as a nullable reference. */
WasmType site_type(SiteReader *r);
WasmType site_heap(SiteReader *r);

/* Reads the body of a function into S->body, unless it is there. */
SiteReader site_body(uint32_t fid);
/* Reads a section into a block that the caller frees with site_drop. Empty if there is no such
 * section. */
SiteReader site_section(uint32_t id, SiteBlock *b);

/* ---- instructions ---- */

/* Decodes an instruction and skips it. */
void site_decode(SiteReader *r, SiteInstr *i);
/* The address of the signature of an instruction that has one. */
uint32_t site_signature(const SiteInstr *i);
/* In a signature: counts, types of operands (0 = the memory's address type), result. */
enum { SIGNATURE_PARAMS = 0, SIGNATURE_RESULTS = 1, SIGNATURE_PARAM = 2, SIGNATURE_RESULT = 5 };
/* A cursor's next instruction. */
void site_next(SiteCursor *c, SiteReader *r);
/* Whether a cursor must restart to get to a location; then it is before the body's first
 * instruction. */
bool site_restart(SiteCursor *c, uint32_t fid, uint32_t pc);
/* Traps unless the cursor is at the instruction at `pc`. */
void site_arrived(const SiteCursor *c, uint32_t pc);
/* Whether a cursor must advance to get to `pc`. */
INLINE bool site_before(const SiteCursor *c, uint32_t pc) {
    return c->index == 0 || c->i.offset < pc;
}
/* The body, read from the offset `vec` of an instruction. */
SiteReader site_vec(const SiteInstr *i, uint32_t fid);
/* A `plain` cursor at a location. */
const SiteCursor *site_plain(uint32_t fid, uint32_t pc);
const SiteInstr *site_at(uint32_t fid, uint32_t pc);
/* The same for `flow`, which knows blocks and open constructs. */
const SiteInstr *site_flow(uint32_t fid, uint32_t pc);

/* ---- the module ---- */

/* Entry `n` of a list; traps if there is none. */
const SiteEntry *site_entry(SiteKind kind, uint32_t n);
/* The same for memories, without reading the others. */
const SiteList *site_memories(void);
const SiteType *site_type_def(uint32_t n);
/* List of types `first` of the program's. */
INLINE const WasmType *site_words(uint32_t first) {
    return words_at(S->words.at) + first;
}
INLINE const WasmType *site_params(const SiteType *t) {
    return site_words(t->first);
}
INLINE const WasmType *site_results(const SiteType *t) {
    return site_words(t->first + t->nparams);
}
/* The names of the import that function `fid` is, as strs; false if it is none. */
bool site_import_names(uint32_t fid, uint32_t *module, uint32_t *name);
/* The function that ends the program, + 1; 0 = none. */
uint32_t site_proc_exit(void);
/* Reads the types of a function's locals, parameters first, into S->locals. */
void site_locals(uint32_t fid);

#endif
