/*
 * base/path_pool.h - paths that are kept once, so that equal ones have equal pointers.
 */
#ifndef WHAMMC_BASE_PATH_POOL_H
#define WHAMMC_BASE_PATH_POOL_H

#include "base/buf.h"

/* Limits of the length of a path, and of all together: input that repeats a long name could
 * otherwise use any amount of memory. */
enum { PATH_LENGTH_MAX = 4096, PATHS_SIZE_MAX = 64 << 20 };

/* A zeroed PathPool is valid and empty. */
typedef struct PathPool {
    Arena arena;
    Map index; /* into `paths` */
    Vec(Str) paths;
    size_t bytes;
} PathPool;

/* The path, owned by the pool; empty if it is too long. */
Str path_pool_keep(PathPool *pool, Str path);
void path_pool_free(PathPool *pool);

#endif
