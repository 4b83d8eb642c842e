/*
 * runtime/freestanding/base/mem.h - the compiler's header of this name, for those of its files that
 * are compiled into the runtime of monitors too: they find the headers of this folder first. Arrays
 * are blocks of the monitor's memory (site/site_compiler.c).
 */
#ifndef WHAMMC_BASE_MEM_H
#define WHAMMC_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define vec_free(v)                                                                                \
    (vec_drop_((v)->at, (v)->cap, sizeof *(v)->at), (v)->at = NULL, (v)->len = (v)->cap = 0)
/* Frees and clears an array. */
void vec_drop_(void *at, uint32_t cap, size_t item);

#define memcpy __builtin_memcpy
#define memset __builtin_memset

#endif
