/*
 * gen/binaryen.h - what builds code: the functions of Binaryen's interface, in a table, of Binaryen
 * or of code/code.h. binaryen.Call is BinaryenCall, or does the same.
 *
 * Templates are made with code/, monitors by Binaryen, which is loaded for that where there is a
 * shared library: relocating it takes longer than instrumenting a small program. Elsewhere, and
 * with sanitizers, it is linked.
 */
#ifndef WHAMMC_GEN_BINARYEN_H
#define WHAMMC_GEN_BINARYEN_H

#include "base/diag.h"

#include <binaryen-c.h>

typedef struct Binaryen {
#define FUNCTION(name) __typeof__(Binaryen##name) *name;
#include "gen/binaryen.def"
} Binaryen;

extern Binaryen binaryen;

struct CodeModule;

/* These two say what the table has. Binaryen keeps process-wide state, and so does the table: not
 * by several threads at once. False: Binaryen cannot be loaded (reported). */
bool binaryen_load(Diags *diags);
/* Functions that build trees in this module: those that templates need, the others are NULL. */
BinaryenModuleRef binaryen_use_code(struct CodeModule *module);

#endif
