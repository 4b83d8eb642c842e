/*
 * code/code.h - functions as trees of expressions: they are built, optimised and written as Wasm.
 *
 *   code.c           building
 *   code_fold.c      simplifies each expression by itself
 *   code_sink.c      moves values to where they are used
 *   code_share.c     lets locals share slots
 *   code_write.c     trees to bytes
 *
 * A tree has no loops: control goes forward only, to the ends of blocks, and each expression is
 * evaluated at most once. What the code does not know, such as a variable of a script or a function
 * that it calls, is a *name*: it is written as the number of a global or function, which whoever
 * decodes the code replaces (gen/template.h).
 */
#ifndef WHAMMC_CODE_CODE_H
#define WHAMMC_CODE_CODE_H

#include "wasm/op.h"

typedef enum CodeKind {
    CODE_NOP,
    CODE_TRAP, /* unreachable */
    CODE_CONST,
    CODE_NULL,      /* ref.null func */
    CODE_LOCAL_GET, /* n = the local */
    CODE_LOCAL_SET,
    CODE_LOCAL_TEE,
    CODE_NAME_GET, /* n = the name */
    CODE_NAME_SET,
    CODE_CALL,  /* n = the name; kids are the arguments */
    CODE_PLAIN, /* an instruction of numbers, `op` */
    CODE_LOAD,  /* `op`, bits = offset */
    CODE_STORE,
    CODE_SELECT, /* kids: two values, condition */
    CODE_DROP,
    CODE_BLOCK,  /* n = the label, 0 = none */
    CODE_IF,     /* kids: condition, two arms (the second may be missing) */
    CODE_BRANCH, /* n = the label; kids: condition, or none */
    CODE_RETURN, /* kids: value, or none */
} CodeKind;

typedef struct CodeNode {
    uint8_t kind;
    bool leaves;   /* control does not go on after it */
    uint16_t op;   /* WasmOp */
    WasmType type; /* of its value; WASM_NONE = it has none */
    uint32_t n;
    uint32_t nkids;
    uint64_t bits; /* of a constant; an offset */
    struct CodeNode **kids;
} CodeNode;

/* What the code does not know. */
typedef struct CodeName {
    const char *text;
    WasmType type; /* of the value or result */
    bool mutable;  /* a value that calls may change */
} CodeName;

typedef struct CodeFn {
    const char *name;
    uint32_t nparams;
    WasmType result;
    CodeNode *body;
    Vec(WasmType) locals; /* without the parameters */
    const bool *zeros;    /* by local: it must be zero when the function begins; NULL = not known */
} CodeFn;

/* Functions that are built. A zeroed one is empty. */
typedef struct CodeModule {
    Arena arena; /* of everything in it */
    Vec(CodeName) names;
    Map name_numbers;
    Map labels; /* numbers from 1, by name */
    Vec(CodeFn) fns;
    Map fn_numbers;
} CodeModule;

void code_free(CodeModule *c);

/* ---- building ---- */

/* The number of a name, which is declared if it is new. */
uint32_t code_name(CodeModule *c, const char *text, WasmType type, bool mutable);
/* A label by its name; NULL = none. */
uint32_t code_label(CodeModule *c, const char *name);
/* Expressions; kids are copied. */
CodeNode *code_node(CodeModule *c, CodeKind kind, WasmType type, CodeNode *const *kids,
                    uint32_t nkids);
CodeNode *code_const(CodeModule *c, WasmType type, uint64_t bits);
/* An instruction of numbers with one or two operands (y may be NULL). */
CodeNode *code_plain(CodeModule *c, WasmOp op, CodeNode *x, CodeNode *y);
/* Its type is that of the last kid. */
CodeNode *code_block(CodeModule *c, uint32_t label, CodeNode *const *kids, uint32_t nkids);
CodeNode *code_if(CodeModule *c, CodeNode *condition, CodeNode *yes, CodeNode *no);
/* Adds a function with locals of these types after its parameters. */
void code_add(CodeModule *c, const char *name, uint32_t nparams, WasmType result,
              const WasmType *locals, uint32_t nlocals, CodeNode *body);

/* The function of that name, or NULL. */
CodeFn *code_find(CodeModule *c, Str name);

/* ---- from a function to bytes ---- */

/* Makes the function's code shorter and faster. */
void code_optimise(CodeModule *c, CodeFn *f);
/* Simplifies a tree, bottom up. */
CodeNode *code_fold(CodeModule *c, CodeNode *e);
/* Moves values that are used once to where they are used; leaves out sets that nobody reads. */
void code_sink(CodeModule *c, CodeFn *f);
/* Lets locals that are not in use at the same time share one; sets CodeFn.zeros. */
void code_share_locals(CodeModule *c, CodeFn *f);
/* Appends the function's instructions up to its `end`. */
void code_write(const CodeFn *f, Buf *out);

/* ---- what expressions do ---- */

static inline bool code_is_nothing(const CodeNode *e) {
    return e->kind == CODE_NOP || (e->kind == CODE_BLOCK && !e->nkids);
}

typedef struct CodeEffects {
    uint64_t locals_read, locals_set; /* bit n % 64 */
    uint64_t names_read, names_set;   /* ... of names that are mutable */
    bool loads, stores, calls, traps, branches;
} CodeEffects;

/* Adds what one node does, without its kids. */
void code_add_effects(const CodeModule *c, const CodeNode *e, CodeEffects *fx);
/* ... with them. */
void code_all_effects(const CodeModule *c, const CodeNode *e, CodeEffects *fx);
/* Adds what another one does. */
void code_join_effects(CodeEffects *all, const CodeEffects *fx);
/* Whether the order of two expressions matters. */
bool code_conflict(const CodeEffects *a, const CodeEffects *b);
/* Whether evaluating it does nothing but give a value. */
bool code_is_pure(const CodeModule *c, const CodeNode *e);

#endif
