/*
 * coverage/coverage_join.c - adds up the coverage of several programs.
 */
#include "coverage/coverage_parts.h"

#include <assert.h>

#define APPEND(to, from)                                                                           \
    do {                                                                                           \
        for (uint32_t k = 0; k < (from)->len; k++)                                                 \
            vec_push(to, (from)->at[k]);                                                           \
    } while (0)

void coverage_append_file(CoverageFile *to, const CoverageFile *from) {
    assert(to != from);
    APPEND(&to->lines, &from->lines);
    APPEND(&to->ways, &from->ways);
    APPEND(&to->functions, &from->functions);
}

/* NULL: there is no file with this path. */
static CoverageFile *find_file(const Coverage *c, Str path) {
    const uint64_t *index = map_get(&c->paths, path);
    return index ? &c->files.at[*index] : NULL;
}

/* The path of a file, unless another text has it. */
static Str joined_path(Coverage *c, const CoverageFile *f, Str title) {
    const CoverageFile *same = find_file(c, f->path);
    if (!same || !same->text || !f->text || source_is_same(same->text, f->text))
        return f->path;
    const char *path = arena_printf(&c->arena, "%.*s/%.*s", STR_ARG(title), STR_ARG(f->path));
    return str_of(path);
}

static void join_file(Coverage *c, const CoverageFile *f, Str path) {
    CoverageFile *to = find_file(c, path);
    if (!to) {
        map_put(&c->paths, path, c->files.len, NULL);
        vec_push(&c->files, ((CoverageFile){.path = path}));
        to = &vec_last(&c->files);
    }
    if (!to->text)
        to->text = f->text;
    coverage_append_file(to, f);
}

void coverage_join(Coverage *c, const Coverage *from, Str title) {
    assert(c != from && coverage_check(from));
    CoverageModule m = {.title = title, .totals = from->totals};
    for (uint32_t i = 0; i < from->files.len; i++) {
        Str path = joined_path(c, &from->files.at[i], title);
        vec_push(&m.files, path);
        join_file(c, &from->files.at[i], path);
    }
    vec_push(&c->modules, m);
    APPEND(&c->left_out, &from->left_out);
    if (from->unwanted.len)
        c->unwanted = from->unwanted;
}

/* Leaves each path once, and none that another program has a text of. */
static void settle_left_out(Coverage *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->left_out.len; i++) {
        bool added;
        map_put(&c->paths, c->left_out.at[i], 0, &added);
        if (added)
            c->left_out.at[n++] = c->left_out.at[i];
    }
    c->left_out.len = n;
}

void coverage_join_end(Coverage *c) {
    settle_left_out(c);
    map_free(&c->paths);
    for (uint32_t i = 0; i < c->files.len; i++) {
        coverage_settle_lists(&c->files.at[i]);
        coverage_count_file(&c->files.at[i], &c->totals);
    }
    coverage_sort_files(c);
}
