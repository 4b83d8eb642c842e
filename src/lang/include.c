/*
 * lang/include.c - include "FILE"; reads a file as if its text stood there. `use std.alloc;` reads
 * the file of a package so, too, but with names of its own.
 *
 * Each file is read once in a script, or in a package, so that cycles end. Names are those of the
 * script, spans those of the file.
 *
 * A name of script scope that a package declares has the package's name before it in the tree,
 * "std.alloc.live". Where a script writes alloc.live the scanner makes one word of it, and build_id
 * that name. A word without a dot in a package is looked up with the package's name before it; no
 * later layer knows of packages.
 */
#include "lang/parse.h"

#include <assert.h>

enum {
    INCLUDE_MAX_DEPTH = 16,
    INCLUDE_MAX_FILES = 256,
};

/* Where a file is included, or NULL. */
static const Inclusion *inclusion_of(const Script *s, DiagFileId file) {
    for (uint32_t i = 0; i < s->files.inclusions.len; i++)
        if (s->files.inclusions.at[i].file == file)
            return &s->files.inclusions.at[i];
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

uint32_t script_package(const Script *s, DiagFileId file) {
    const Inclusion *in = s->files.packages.len ? inclusion_of(s, file) : NULL;
    return in ? in->package : 0;
}

Str script_own_name(Script *s, uint32_t package, Str name) {
    bool made = name.len && name.ptr[0] == '('; /* by the parser, for the whole script */
    if (!package || made || memchr(name.ptr, '.', name.len))
        return name;
    return str_of(arena_printf(&s->arena, "%.*s.%.*s",
                               STR_ARG(s->files.packages.at[package - 1].name), STR_ARG(name)));
}

const PackageUse *script_package_use(const Script *s, uint32_t within, Str alias) {
    for (uint32_t i = 0; i < s->files.package_uses.len; i++)
        if (s->files.package_uses.at[i].within == within &&
            str_eq(s->files.package_uses.at[i].alias, alias))
            return &s->files.package_uses.at[i];
    return NULL;
}

uint32_t parse_package(const Parse *p) {
    return script_package(p->script, p->file);
}

static uint32_t include_depth(const Parse *p) {
    uint32_t depth = 0;
    for (; p->outer; p = p->outer)
        depth++;
    return depth;
}

/* Asks for the file by its path from the folder of `within`, and reports why there is none. `what`
 * it is: "script". */
static bool include_find(Parse *p, const char *within, const char *path, Span span,
                         const char *what, IncludedFile *out) {
    const Includer *from = p->script->includer;
    *out = (IncludedFile){0};
    if (from && from->find(from->ctx, within, path, out))
        return true;
    Diag *g = parse_error(p, DIAG_INCLUDE, span, "expected the file '%s' of a %s, found %s%s%s",
                          path, what, out->problem ? out->name : "none", out->problem ? ": " : "",
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
    else if (p->script->files.read.len > INCLUDE_MAX_FILES)
        parse_error(p, DIAG_SCRIPT_SIZE, span, "the script includes more than %d files",
                    INCLUDE_MAX_FILES);
    else if (file->len > PARSE_MAX_BYTES - p->script->files.bytes)
        parse_error(p, DIAG_SCRIPT_SIZE, span, "with this file the script has more than %d bytes",
                    PARSE_MAX_BYTES);
    else
        return true;
    return false;
}

/* Reads text in the place of `span`. */
static void include_text(Parse *p, Span span, DiagFileId id, Str text, uint32_t package,
                         bool made) {
    vec_push(&p->script->files.inclusions, ((Inclusion){id, span, text, package}));
    parse_file(&(Parse){.script = p->script,
                        .diags = p->diags,
                        .text = text.ptr,
                        .len = text.len,
                        .file = id,
                        .made = made,
                        .outer = p,
                        .last_stmt = p->last_stmt});
}

void build_made(Parse *p, Span where, const char *text) {
    size_t len = strlen(text);
    DiagFileId id = diag_file(p->diags, diag_file_name(p->diags, where.file), text, len, false);
    include_text(p, where, id, str_of(text), parse_package(p), true);
    assert(!p->failed);
}

/* Under which it is known that a file was read. */
static Str script_file_key(Script *s, uint32_t package, const char *name) {
    return str_of(package ? arena_printf(&s->arena, "%u:%s", package, name) : name);
}

/* Reads a file that is included at `span`. */
static void include_read(Parse *p, const IncludedFile *file, uint32_t package, Span span) {
    DiagFileId id = diag_file(p->diags, file->name, file->text, file->len, false);
    diag_included(p->diags, id, span);
    include_text(p, span, id, (Str){file->text, (uint32_t)file->len}, package, false);
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
    const char *within = diag_file_name(p->diags, p->file);
    p->alone = p->alone ? PARSE_ALONE_JOINING : PARSE_WITH_ALL;
    if (p->alone || !include_find(p, within, given.ptr, path->span, "script", &file))
        return;
    map_put(&p->script->files.read, script_file_key(p->script, parse_package(p), file.name), 0,
            &added);
    if (added && include_fits(p, &file, path->span))
        include_read(p, &file, parse_package(p), span);
}

/* The file of the package `name`: std/alloc.whamm. */
static const char *package_path(Script *s, Str name) {
    char *path = arena_printf(&s->arena, "%.*s.whamm", STR_ARG(name));
    for (uint32_t i = 0; i < name.len; i++)
        if (path[i] == '.')
            path[i] = '/';
    return path;
}

/* The path of a file, or a folder with its '/', from whose folder the packages are looked for that
 * the file uses: of a package tools.count that is ../tools/count.whamm, "../". */
static const char *package_root(const Parse *p) {
    if (!parse_package(p))
        return diag_file_name(p->diags, p->file);
    const Package *package = &p->script->files.packages.at[parse_package(p) - 1];
    Str path = str_of(package->path), own = str_of(package_path(p->script, package->name));
    if (path.len < own.len || memcmp(path.ptr + path.len - own.len, own.ptr, own.len) != 0)
        return package->path;
    return arena_strndup(&p->script->arena, path.ptr, path.len - own.len);
}

/* The number of the package, which is read if the script does not have it. */
static uint32_t package_number(Parse *p, Span span, Str name) {
    Script *s = p->script;
    IncludedFile file = {0};
    bool found = !p->alone &&
                 include_find(p, package_root(p), package_path(s, name), span, "package", &file);
    for (uint32_t i = 0; i < s->files.packages.len; i++) {
        const Package *known = &s->files.packages.at[i];
        if (!str_eq(known->name, name))
            continue;
        if (found && !known->missing && strcmp(known->path, file.name) != 0) {
            Diag *g = parse_error(p, DIAG_INCLUDE, span, "'%.*s' is %s here and %s elsewhere",
                                  STR_ARG(name), file.name, known->path);
            diag_label(p->diags, g, known->span, "first used here");
        }
        return i + 1;
    }
    found = found && include_fits(p, &file, span);
    name.ptr = arena_strndup(&s->arena, name.ptr, name.len);
    vec_push(&s->files.packages, ((Package){name, file.name, span, !found}));
    uint32_t number = s->files.packages.len;
    if (!found)
        return number;
    map_put(&s->files.read, script_file_key(s, number, file.name), 0, NULL);
    include_read(p, &file, number, span);
    return number;
}

void include_package(Parse *p, Span span, Str name, Word alias) {
    Script *s = p->script;
    const PackageUse *other = script_package_use(s, parse_package(p), alias.text);
    uint32_t package = package_number(p, span, name);
    if (other && other->package != package) {
        Diag *g = parse_error(p, DIAG_DUPLICATE_NAME, alias.span,
                              "'%.*s' is already the name of a package", STR_ARG(alias.text));
        diag_label(p->diags, g, other->span, "first used here");
        diag_hint(p->diags, g, "give one of them another name: use %.*s as other;", STR_ARG(name));
    } else if (!other) {
        vec_push(&s->files.package_uses,
                 ((PackageUse){alias.text, parse_package(p), package, alias.span}));
    }
}
