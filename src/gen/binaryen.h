/*
 * gen/binaryen.h - Binaryen's functions, in a table: binaryen.Call is BinaryenCall.
 *
 * Where there is a shared library it is loaded when code is to be compiled, since relocating it
 * takes longer than instrumenting a small program, and scripts that only count have no code.
 * Elsewhere, and with sanitizers, it is linked.
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

/* Must succeed before the functions are called; not by several threads at once. False: reported. */
bool binaryen_load(Diags *diags);

#endif
