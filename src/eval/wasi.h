/*
 * eval/wasi.h - WASI (preview 1) for modules that run at compile time.
 *
 * They get arguments, environment, clocks and random numbers; their standard output and error are
 * passed to a function; standard input is empty. There are no files. Functions that are not
 * implemented return ENOSYS, so that a library linked with more of them can still run.
 */
#ifndef WHAMMC_EVAL_WASI_H
#define WHAMMC_EVAL_WASI_H

#include "eval/eval.h"

/* The world of the modules. A zeroed one is an empty world. */
typedef struct EvalWasi {
    /* Receives output to stream 1 or 2; NULL = it is dropped. */
    void (*write)(void *ctx, int stream, const void *bytes, size_t n);
    void *ctx;
    const char *const *args;        /* end with NULL; may be NULL */
    const char *const *environment; /* "NAME=VALUE", end with NULL; may be NULL */
    bool first_memory; /* addresses are in the first memory that the module exports, whatever its
                          name, not in the one exported as "memory" */
} EvalWasi;

/*
 * The function of this name and type, owned by the store. `wasi` and `arena` must outlive the
 * store.
 */
EvalFunc *eval_wasi_func(EvalStore *s, Arena *arena, const EvalWasi *wasi, Str name,
                         const WasmTypeDef *type);

#endif
