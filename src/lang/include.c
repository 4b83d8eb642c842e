/*
 * lang/include.c - include "FILE"; reads a file as if its text stood there.
 *
 * Each file is read once in a script, so that cycles end. Names are those of the script, spans
 * those of the file.
 */
#include "lang/parse.h"

#include <assert.h>

enum {
    INCLUDE_MAX_DEPTH = 16,
    INCLUDE_MAX_FILES = 256,
};

/* Where a file is included, or NULL. */
static const Inclusion *inclusion_of(const Script *s, DiagFileId file) {
    for (uint32_t i = 0; i < s->inclusions.len; i++)
        if (s->inclusions.at[i].file == file)
            return &s->inclusions.at[i];
    return NULL;
}

bool script_precedes(const Script *s, Span a, Span b) {
    while (a.file != b.file) { /* included files have greater numbers than what includes them */
        Span *inner = a.file > b.file ? &a : &b;
        const Inclusion *in = inclusion_of(s, inner->file);
        if (!in)
            break;
        *inner = in->where;
    }
    return a.start < b.start;
}

static uint32_t include_depth(const Parse *p) {
    uint32_t depth = 0;
    for (; p->outer; p = p->outer)
        depth++;
    return depth;
}

/* Asks for the file, and reports why there is none. */
static bool include_find(Parse *p, const char *path, Span span, IncludedFile *out) {
    const Includer *from = p->script->includer;
    *out = (IncludedFile){0};
    if (from && from->find(from->ctx, diag_file_name(p->diags, p->file), path, out))
        return true;
    Diag *g = parse_error(p, DIAG_INCLUDE, span, "expected the file of a script, found %s%s%s",
                          out->problem ? out->name : "none", out->problem ? ": " : "",
                          out->problem ? out->problem : "");
    if (!from || !from->hint)
        diag_hint(p->diags, g, "this script was given as text, without files that it can include");
    else if (!out->problem)
        diag_hint(p->diags, g, "%s", from->hint);
    return false;
}

/* Reports a file with which the script becomes too large. */
static bool include_fits(Parse *p, const IncludedFile *file, Span span) {
    if (include_depth(p) == INCLUDE_MAX_DEPTH)
        parse_error(p, DIAG_NESTING, span, "files are included %d deep, more are not allowed",
                    INCLUDE_MAX_DEPTH);
    else if (p->script->files.len > INCLUDE_MAX_FILES)
        parse_error(p, DIAG_SCRIPT_SIZE, span, "the script includes more than %d files",
                    INCLUDE_MAX_FILES);
    else if (file->len > PARSE_MAX_BYTES - p->script->bytes)
        parse_error(p, DIAG_SCRIPT_SIZE, span, "with this file the script has more than %d bytes",
                    PARSE_MAX_BYTES);
    else
        return true;
    return false;
}

/* Reads text in the place of `span`. */
static void include_text(Parse *p, Span span, DiagFileId id, const char *text, size_t len,
                         bool made) {
    vec_push(&p->script->inclusions, ((Inclusion){id, span, {text, (uint32_t)len}}));
    parse_file(&(Parse){.script = p->script,
                        .diags = p->diags,
                        .text = text,
                        .len = (uint32_t)len,
                        .file = id,
                        .made = made,
                        .outer = p,
                        .last_stmt = p->last_stmt});
}

void build_made(Parse *p, Span where, const char *text) {
    size_t len = strlen(text);
    DiagFileId id = diag_file(p->diags, diag_file_name(p->diags, where.file), text, len, false);
    include_text(p, where, id, text, len, true);
    assert(!p->failed);
}

void build_include(Parse *p, Span span, const Expr *path) {
    IncludedFile file;
    bool added;
    Str given = path->text;
    if (!given.len || memchr(given.ptr, 0, given.len)) {
        parse_error(p, DIAG_INCLUDE, path->span, "expected the path of a file, found %s",
                    given.len ? "a NUL in it" : "an empty one");
        return;
    }
    if (!include_find(p, given.ptr, path->span, &file))
        return;
    map_put(&p->script->files, str_of(file.name), 0, &added);
    if (!added || !include_fits(p, &file, path->span))
        return;
    DiagFileId id = diag_file(p->diags, file.name, file.text, file.len, false);
    diag_included(p->diags, id, span);
    include_text(p, span, id, file.text, file.len, false);
}
