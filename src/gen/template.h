/*
 * gen/template.h - functions of a module become templates: code to be spliced into other functions,
 * with holes.
 */
#ifndef WHAMMC_GEN_TEMPLATE_H
#define WHAMMC_GEN_TEMPLATE_H

#include "gen/gen.h"

/* Where a temporary is first touched, to tell whether it must be zeroed. */
typedef struct TempUse {
    WasmType type;
    bool seen, zero;
    uint32_t owner; /* the construct of its first write */
} TempUse;

/* A function on its way to a template. Begin with m, func, put and ctx, the rest zeros. */
typedef struct TemplateMaker {
    const WasmModule *m;
    uint32_t func; /* handle, of the input */
    /*
     * Appends an instruction, or holes for it. Not asked for what is done for all functions:
     * `return` becomes a branch to the end, the function's own `end` goes, locals behind the
     * parameters become temporaries. Labels stay as they are. NULL = bytes are copied. False if
     * there is no template of this function.
     */
    bool (*put)(void *ctx, struct TemplateMaker *t, const uint8_t *bytes, const WasmInstr *i);
    void *ctx;
    const Buf *source; /* code to take instead of the function's own; NULL = that */

    Buf code;
    Vec(Hole) holes;
    Vec(TempUse) temps;
    uint32_t nparams, first; /* of the function: parameters; offset of the first instruction */
    Vec(uint32_t) open;      /* ids of the constructs around the current instruction */
    uint32_t next_construct;
    bool jumps; /* there are branches to the end of the template */
} TemplateMaker;

/* Looks at the function's locals. False if they are malformed. Then code and temporaries can be
 * added that come in front. */
bool template_begin(TemplateMaker *t);

uint32_t template_add_temp(TemplateMaker *t, WasmType type);
/* Reads or writes a temporary. */
void template_use_temp(TemplateMaker *t, uint32_t n, HoleAccess access);
/* Adds a hole behind the code so far. */
void template_add_hole(TemplateMaker *t, Hole h);

/* Adds a template behind the code so far, with temporaries of its own. */
void template_add(TemplateMaker *t, const Template *inner);

/* The template, in the arena; NULL if the function cannot be one. */
const Template *template_make(TemplateMaker *t, Arena *arena);

/* A template of what was added, without a function: begin with a zeroed TemplateMaker. */
const Template *template_close(TemplateMaker *t, WasmType result, Arena *arena);

void template_maker_free(TemplateMaker *t);

#endif
