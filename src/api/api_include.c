/*
 * api/api_include.c - files that scripts include: those that were added, those that a function of
 * the library's user finds, and bundled scripts.
 */
#include "api/api.h"
#include "api/bundled_scripts.h"

void whammc_add_file(whammc *w, const char *name, const char *text, size_t len) {
    vec_push(&w->include.given, ((Source){api_copy(name, strlen(name)), api_copy(text, len), len}));
}

void whammc_set_files(whammc *w, whammc_find find, void *ctx, const char *hint) {
    w->include.find = find;
    w->include.find_ctx = ctx;
    w->include.includer.hint = hint;
}

static void free_sources(Source *at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        free(at[i].name);
        free(at[i].text);
    }
    free(at);
}

void api_free_files(whammc *w) {
    free_sources(w->include.given.at, w->include.given.len);
    free_sources(w->include.found.at, w->include.found.len);
}

static bool take(const Source *s, IncludedFile *out) {
    *out = (IncludedFile){s->name, s->text, s->len, NULL};
    return true;
}

/* Appends the path in the folder of `from`, without "." and "..", as far as these have a folder
 * before them. */
static void put_path(const char *from, const char *path, Buf *out) {
    const char *slash = strrchr(from, '/');
    if (slash && *path != '/')
        buf_bytes(out, from, (size_t)(slash - from) + 1);
    while (*path) {
        size_t n = strcspn(path, "/"), more = n + (path[n] == '/');
        bool here = n == 1 && *path == '.', up = n == 2 && memcmp(path, "..", 2) == 0;
        bool folder =
            out->len > 1 && !(out->len >= 3 && memcmp(out->data + out->len - 3, "../", 3) == 0);
        if (up && folder) {
            do
                out->len--;
            while (out->len && out->data[out->len - 1] != '/');
        } else if (!here) {
            buf_bytes(out, path, more);
        }
        path += more;
    }
}

/* A file or script that was added, by the path relative to `from`. */
static const Source *added_file(const whammc *w, const char *from, const char *path) {
    Buf name = {0};
    const Source *found = NULL;
    put_path(from, path, &name);
    for (uint32_t i = 0; i < w->include.given.len && !found; i++)
        if (str_eq(str_of(w->include.given.at[i].name), buf_view(&name)))
            found = &w->include.given.at[i];
    for (uint32_t i = 0; i < w->sources.len && !found; i++)
        if (str_eq(str_of(w->sources.at[i].name), buf_view(&name)))
            found = &w->sources.at[i];
    buf_free(&name);
    return found;
}

/* The file of the user's function; what it has found before stays as it was. */
static bool found_file(whammc *w, const char *from, const char *path, IncludedFile *out) {
    whammc_file file = {0};
    if (!w->include.find(w->include.find_ctx, from, path, &file)) {
        if (file.problem && file.name)
            *out = (IncludedFile){
                .name = arena_strndup(&w->diags.arena, file.name, strlen(file.name)),
                .problem = arena_strndup(&w->diags.arena, file.problem, strlen(file.problem))};
        return false;
    }
    for (uint32_t i = 0; i < w->include.found.len; i++)
        if (strcmp(w->include.found.at[i].name, file.name) == 0)
            return take(&w->include.found.at[i], out);
    vec_push(&w->include.found, ((Source){api_copy(file.name, strlen(file.name)),
                                          api_copy(file.text, file.len), file.len}));
    return take(&vec_last(&w->include.found), out);
}

/* A bundled script or package, by the name of its file. */
static bool bundled_file(whammc *w, const char *path, IncludedFile *out) {
    static const char ending[] = ".whamm";
    size_t len = strlen(path), end = sizeof ending - 1;
    if (len <= end || strcmp(path + len - end, ending) != 0)
        return false;
    const char *name = arena_strndup(&w->diags.arena, path, len - end);
    out->text = whammc_bundled_script(name, &out->len);
    if (!out->text)
        out->text = bundled_package(name, &out->len);
    out->name = arena_strndup(&w->diags.arena, path, len);
    return out->text != NULL;
}

static bool find_included(void *ctx, const char *from, const char *path, IncludedFile *out) {
    whammc *w = ctx;
    const Source *added = added_file(w, from, path);
    if (added)
        return take(added, out);
    if (w->include.find && (found_file(w, from, path, out) || out->problem))
        return !out->problem;
    added = added_file(w, "", path);
    return added ? take(added, out) : bundled_file(w, path, out);
}

const Includer *api_includer(whammc *w) {
    w->include.includer.find = find_included;
    w->include.includer.ctx = w;
    if (!w->include.includer.hint && w->include.given.len)
        w->include.includer.hint = "only files that were given can be included";
    return &w->include.includer;
}
