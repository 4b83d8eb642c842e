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
 * Malformed input ends in a message and a trap, so no function returns errors.
 *
 * The decoder, the typer and the control flow are the compiler's (src/wasm/decode.c,
 * src/valid/typer.c, src/analysis/flow.c), compiled with the headers of runtime/freestanding.
 */
#ifndef WHAMMC_RUNTIME_SITE_STATE_H
#define WHAMMC_RUNTIME_SITE_STATE_H

#include "../memory.h"
#include "analysis/flow.h"
#include "site.h"
#include "valid/typer.h"

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

typedef struct SiteCursor {
    uint32_t func;  /* function + 1; 0 = nowhere */
    uint32_t index; /* of the instruction `i` in the body, + 1; 0 = before the first */
    uint32_t previous, previous_a; /* the instruction before it: its WasmOp + 1, and its a */
    WasmInstr i;
} SiteCursor;

/* What imports and sections declare. */
typedef enum SiteKind {
    SITE_FUNC,
    SITE_TABLE,
    SITE_MEMORY,
    SITE_GLOBAL,
    SITE_TAG,
    SITE_TYPE,
    SITE_KINDS
} SiteKind;

/* The parts of the compiler. */
typedef struct SiteModel {
    WasmModule m; /* of it what was loaded */
    WasmTyper typer;
    Flow flow;
} SiteModel;

typedef struct SiteState {
    uint32_t table; /* the compiler writes this */
    /* the body read last */
    uint32_t func; /* + 1 */
    SiteBlock body;
    uint32_t body_size;
    uint32_t code;        /* offset of the first instruction */
    uint32_t section;     /* id of the section read last */
    uint32_t locals_func; /* + 1: the typer has its locals */
    /* what is in the function that site_fn_has was asked about last */
    uint32_t contents_func; /* + 1 */
    uint32_t contents;
    /* the module */
    uint32_t model;  /* address of a SiteModel; 0 = none yet */
    uint32_t loaded; /* bit k: SiteKind k */
    uint32_t imported_memories;
    SiteBlock types; /* lists of types */
    uint32_t ntypes; /* their bytes */
    SiteBlock import_names;
    uint32_t nimport_names, import_names_loaded;
    SiteBlock export_names;
    uint32_t nexport_names, export_names_loaded;
    uint32_t proc_exit, proc_exit_loaded;

    SiteCursor plain[2];

    SiteCursor flow;
    uint32_t tries; /* open bodies of try and try_table after the current instruction */
    /* of the current instruction */
    uint32_t first, last, block_count, in_try, dead;

    SiteCursor typer;
    uint32_t typed; /* the typer's parameters are those of the current instruction */
} SiteState;

#ifdef __wasm__
#define S ((SiteState *)SITE_STATE)
_Static_assert((int)VALUES_ROWS_END <= (int)SITE_STATE &&
                   SITE_STATE + sizeof(SiteState) <= VALUES_TEXT,
               "the state has its place");
#else
extern SiteState site_state;
#define S (&site_state)
#endif

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

typedef enum SiteError {
    SITE_NO_INSTRUCTION, /* at the location of a question */
    SITE_MALFORMED,      /* impossible numbers */
    SITE_NO_BODY,        /* an imported function, or none */
    SITE_UNCOUNTED, /* site_count.h: a segment needs a counter, but there is no place for one */
} SiteError;

/* Writes a message and traps. `func` is + 1; 0: a section, whose id is the offset. */
_Noreturn void site_fail(SiteError error, uint32_t func, uint32_t offset);
/* The same about the bytes that a cursor reads. */
_Noreturn void site_read_fail(const WasmCode *c);

/* Numbers and types; they fail instead of returning an error. */
uint8_t site_u8(WasmCode *c);
uint32_t site_u32(WasmCode *c);
WasmType site_type(WasmCode *c);
/* Skips n bytes. */
void site_skip(WasmCode *c, uint64_t n);

/* Reads the body of a function into S->body, unless it is there. */
WasmCode site_body(uint32_t fid);
/* Reads a section into a block that the caller frees with site_drop. Empty if there is no such
 * section. */
WasmCode site_section(uint32_t id, SiteBlock *b);

/* ---- instructions ---- */

/* Decodes an instruction and steps over it. */
void site_decode(WasmCode *c, WasmInstr *i);
/* A cursor's next instruction. */
void site_next(SiteCursor *c, WasmCode *r);
/* Whether a cursor must restart to get to a location; then it is before the body's first
 * instruction. */
bool site_restart(SiteCursor *c, uint32_t fid, uint32_t pc);
/* Traps unless the cursor is at the instruction at `pc`. */
void site_arrived(const SiteCursor *c, uint32_t pc);
/* Whether a cursor must advance to get to `pc`. */
INLINE bool site_before(const SiteCursor *c, uint32_t pc) {
    return c->index == 0 || c->i.offset < pc;
}
/* A `plain` cursor at a location. */
const SiteCursor *site_plain(uint32_t fid, uint32_t pc);
const WasmInstr *site_at(uint32_t fid, uint32_t pc);
/* The same for `flow`, which knows blocks and open constructs. */
const WasmInstr *site_flow(uint32_t fid, uint32_t pc);

/* ---- the module ---- */

SiteModel *site_model(void);
/* The model with everything of a kind; instructions name it by index. */
const WasmModule *site_module(SiteKind kind);
/* The type of a function. */
const WasmTypeDef *site_func_type(uint32_t fid);
/* The names of the import that function `fid` is, as strs; false if it is none. */
bool site_import_names(uint32_t fid, uint32_t *module, uint32_t *name);
/* The function that ends the program, + 1; 0 = none. */
uint32_t site_proc_exit(void);
/* The types of a function's locals, parameters first. */
const WasmTypes *site_locals(uint32_t fid);

#endif
