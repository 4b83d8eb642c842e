/*
 * base/path_pool.c - paths that are kept once.
 */
#include "base/path_pool.h"

Str path_pool_keep(PathPool *pool, Str path) {
    bool added;
    if (!path.len || path.len > PATH_LENGTH_MAX || pool->bytes + path.len > PATHS_SIZE_MAX)
        return (Str){0};
    uint32_t index = (uint32_t)*map_put(&pool->index, path, pool->paths.len, &added);
    if (added) {
        pool->bytes += path.len;
        path.ptr = arena_strndup(&pool->arena, path.ptr, path.len);
        vec_push(&pool->paths, path);
    }
    return pool->paths.at[index];
}

void path_pool_free(PathPool *pool) {
    vec_free(&pool->paths);
    map_free(&pool->index);
    arena_free(&pool->arena);
}
