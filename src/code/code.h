/*
 * code/code.h - functions as trees of expressions: they are built, optimised and written as Wasm.
 *
 *   code.c           building
 *   code_fold.c      simplifies each expression by itself
 *   code_sink.c      moves values to where they are used
 *   code_share.c     lets locals share slots
 *   code_write.c     trees to bytes
 *   code_module.c    all functions to a module
 *   code_check.c     the invariants of a function, for assertions
 *
 * Control goes forward to the ends of blocks, and back to the beginnings of loops only. A variable
 * of a script, or a function that the code calls, is a *name*: a global or a function. A template
 * has the name's number, which its user replaces (gen/template.h); a module imports or defines the
 * name.
 */
#ifndef WHAMMC_CODE_CODE_H
#define WHAMMC_CODE_CODE_H

#include "wasm/module.h"
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
    CODE_NAME_SET, /* kids: the value, or none: a result of the call that it is a kid of */
    CODE_CALL,     /* n = the name; kids are the arguments, then sets of the results if several */
    CODE_PLAIN,    /* an instruction of numbers, `op` */
    CODE_LOAD,     /* `op`, bits = offset */
    CODE_STORE,
    CODE_MEMORY, /* memory.copy or memory.fill */
    CODE_SELECT, /* kids: two values, condition */
    CODE_DROP,
    CODE_BLOCK,  /* n = the label of its end, 0 = none */
    CODE_LOOP,   /* n = the label of its beginning; one kid */
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

/* A global or function that is not part of the code. */
typedef struct CodeName {
    const char *text;
    WasmType type;      /* of the value or result; WASM_NONE = several results, or none */
    bool mutable;       /* a value that calls may change */
    bool func;          /* it is called */
    const char *module; /* imported from there as `base`; NULL = defined in this module */
    const char *base;
    const WasmType *params, *results; /* of imported functions */
    uint32_t nparams, nresults;
} CodeName;

typedef struct CodeFn {
    const char *name;
    uint32_t nparams;
    WasmType result;
    CodeNode *body;
    Vec(WasmType) locals; /* without the parameters */
    const WasmType *params;
    const bool *zeros; /* by local: it must be zero when the function begins; NULL = not known */
} CodeFn;

/* Functions that are built. A zeroed one is empty. */
typedef struct CodeModule {
    Arena arena; /* of everything in it */
    Vec(CodeName) names;
    Map name_numbers;
    uint32_t nlabels;
    Vec(CodeFn) fns;
    Map fn_numbers;
} CodeModule;

void code_free(CodeModule *c);

/* ---- names ---- */

/* The number of a name, which is declared if it is new; as a global that is defined here. */
uint32_t code_name(CodeModule *c, const char *text, WasmType type, bool mutable);
/* Declares an imported global or function; nothing if there is one of that name. Texts and types
 * are copied. */
void code_import_global(CodeModule *c, const char *text, const char *module, const char *base,
                        WasmType type);
void code_import_func(CodeModule *c, const char *text, const char *module, const char *base,
                      const WasmTypeDef *type);

/* ---- building; kids are copied ---- */

/* A label that nothing else has. */
uint32_t code_label(CodeModule *c);
CodeNode *code_node(CodeModule *c, CodeKind kind, WasmType type, CodeNode *const *kids,
                    uint32_t nkids);
/* Sets CodeNode.leaves anew when kids have changed. */
void code_note_leaves(CodeNode *e);
CodeNode *code_nop(CodeModule *c);
CodeNode *code_trap(CodeModule *c);
CodeNode *code_const(CodeModule *c, WasmType type, uint64_t bits);
CodeNode *code_i32(CodeModule *c, uint32_t value);
CodeNode *code_i64(CodeModule *c, uint64_t value);
CodeNode *code_f64(CodeModule *c, double value);
CodeNode *code_null(CodeModule *c); /* ref.null func */
CodeNode *code_get(CodeModule *c, uint32_t local, WasmType type);
CodeNode *code_set(CodeModule *c, uint32_t local, CodeNode *value);
CodeNode *code_tee(CodeModule *c, uint32_t local, CodeNode *value);
CodeNode *code_global(CodeModule *c, const char *name, WasmType type);
CodeNode *code_set_global(CodeModule *c, const char *name, CodeNode *value);
/* A call of a function of this module, or of one that was imported; `result` WASM_NONE: none. */
CodeNode *code_call(CodeModule *c, const char *name, CodeNode *const *args, uint32_t nargs,
                    WasmType result);
/* A call whose several results become values of these globals. */
CodeNode *code_call_into(CodeModule *c, const char *name, CodeNode *const *args, uint32_t nargs,
                         const char *const *globals, const WasmType *types, uint32_t nresults);
/* An instruction of numbers with one operand, with two. */
CodeNode *code_op1(CodeModule *c, WasmOp op, CodeNode *x);
CodeNode *code_op2(CodeModule *c, WasmOp op, CodeNode *x, CodeNode *y);
CodeNode *code_load(CodeModule *c, WasmOp op, CodeNode *at, uint32_t offset);
CodeNode *code_store(CodeModule *c, WasmOp op, CodeNode *at, uint32_t offset, CodeNode *value);
/* memory.copy, memory.fill: its three operands in their order. */
CodeNode *code_memory(CodeModule *c, WasmOp op, CodeNode *to, CodeNode *from, CodeNode *bytes);
/* All three are evaluated, the condition last. */
CodeNode *code_select(CodeModule *c, CodeNode *condition, CodeNode *yes, CodeNode *no);
CodeNode *code_drop(CodeModule *c, CodeNode *x);
/* Has the type of the last kid; label 0: nothing branches to its end. */
CodeNode *code_block(CodeModule *c, uint32_t label, CodeNode *const *kids, uint32_t nkids);
/* Its end is left as any expression's: it is repeated by branches to the label. */
CodeNode *code_loop(CodeModule *c, uint32_t label, CodeNode *body);
CodeNode *code_if(CodeModule *c, CodeNode *condition, CodeNode *yes, CodeNode *no);
/* `condition`, `value` NULL = there is none. */
CodeNode *code_branch(CodeModule *c, uint32_t label, CodeNode *condition);
CodeNode *code_return(CodeModule *c, CodeNode *value);
/* Adds a function with locals of these types after its parameters. */
void code_add(CodeModule *c, const char *name, const WasmType *params, uint32_t nparams,
              WasmType result, const WasmType *locals, uint32_t nlocals, CodeNode *body);

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
/* Whether types, locals and labels of a function fit: for assertions, between the steps above. */
bool code_is_sound(const CodeModule *c, const CodeFn *f);
/* Appends the function's instructions up to its `end`. `handles`: of names; NULL = their numbers.
 */
void code_write(const CodeFn *f, const uint32_t *handles, Buf *out);

/* ---- modules ---- */

/* Appends a module of all functions, which it exports under their names. It has one memory. */
void code_write_module(const CodeModule *c, Buf *out);

/* ---- effects ---- */

/* The type that a letter of wasm_ops stands for; 0 = none. */
WasmType code_letter_type(char letter);

static inline bool code_is_nothing(const CodeNode *e) {
    return e->kind == CODE_NOP || (e->kind == CODE_BLOCK && !e->nkids);
}

typedef struct CodeEffects {
    uint64_t locals_read, locals_set; /* bit n % 64 */
    uint64_t names_read, names_set;   /* ... of names that are mutable */
    bool loads, stores, calls, traps, branches;
} CodeEffects;

/* Adds the effects of one node, without its kids. */
void code_add_effects(const CodeModule *c, const CodeNode *e, CodeEffects *fx);
/* ... with them. */
void code_all_effects(const CodeModule *c, const CodeNode *e, CodeEffects *fx);
/* Adds other effects. */
void code_join_effects(CodeEffects *all, const CodeEffects *fx);
/* Whether the order of two expressions matters. */
bool code_conflict(const CodeEffects *a, const CodeEffects *b);
/* Whether evaluating it does nothing but give a value. */
bool code_is_pure(const CodeModule *c, const CodeNode *e);

#endif
