/*
 * annotate/source.c - reads source files and splits them into lines.
 */
#include "annotate/source.h"
#include "locations/url.h"

#include <assert.h>

static void split(SourceText *t) {
    const char *p = (const char *)t->bytes.data, *end = p + t->bytes.len;
    while (p < end) {
        const char *feed = memchr(p, '\n', (size_t)(end - p)), *stop = feed ? feed : end;
        uint32_t len = (uint32_t)(stop - p);
        vec_push(&t->lines, ((Str){p, len && p[len - 1] == '\r' ? len - 1 : len}));
        p = feed ? feed + 1 : end;
    }
}

static bool read_at(Sources *s, Str folder, Str path, Buf *out) {
    Buf whole = {0};
    buf_str(&whole, folder);
    buf_str(&whole, path);
    bool ok = s->read(s->ctx, buf_cstr(&whole), SOURCE_SIZE_MAX, out);
    buf_free(&whole);
    return ok;
}

static bool read_bytes(Sources *s, Str path, Buf *out) {
    if (!s->read || !path.len || memchr(path.ptr, '\0', path.len) || s->size > SOURCES_SIZE_MAX)
        return false;
    bool ok = read_at(s, STR(""), path, out);
    if (!ok && path.ptr[0] != '/' && s->folder.len) {
        out->len = 0;
        ok = read_at(s, s->folder, path, out);
    }
    return ok && !memchr(out->data, '\0', out->len);
}

static SourceText *source_read_text(Sources *s, Str path) {
    Buf bytes = {0};
    buf_reserve(&bytes, 1); /* memchr takes no NULL */
    Str embedded;
    if (s->embedded && locations_text(s->embedded, path, &embedded)) {
        buf_str(&bytes, embedded);
    } else if (!read_bytes(s, path, &bytes)) {
        buf_free(&bytes);
        return NULL;
    }
    SourceText *t = mem_zalloc(sizeof *t);
    t->bytes = bytes;
    s->size += bytes.len;
    split(t);
    return t;
}

const SourceText *source_text(Sources *s, Str path) {
    bool added;
    uint32_t index = (uint32_t)*map_put(&s->index, path, s->texts.len, &added);
    if (added)
        vec_push(&s->texts, source_read_text(s, path));
    return s->texts.at[index];
}

bool source_is_same(const SourceText *a, const SourceText *b) {
    return a->bytes.len == b->bytes.len &&
           (!a->bytes.len || memcmp(a->bytes.data, b->bytes.data, a->bytes.len) == 0);
}

/* The plain path, if the same file is there, or none at the other one. */
static Str same_file(Sources *s, Str plain, Str other) {
    if (!plain.len || str_eq(plain, other))
        return other;
    const SourceText *at = source_text(s, other), *there = source_text(s, plain);
    return (there ? !at || source_is_same(at, there) : !at) ? plain : other;
}

Str source_shown_path(Sources *s, Str path, Arena *arena) {
    Buf plain = {0};
    Str shown = path, recorded;
    if (s->embedded && locations_recorded(s->embedded, path, &recorded))
        shown = same_file(s, path, recorded);
    if (shown.len && memmem(shown.ptr, shown.len, "/../", 4)) { /* path maps can have it, too */
        url_resolve(STR(""), shown, &plain);
        shown = same_file(s, buf_view(&plain), shown);
    }
    if (shown.ptr != path.ptr)
        shown.ptr = arena_strndup(arena, shown.ptr, shown.len);
    buf_free(&plain);
    return shown;
}

Str source_line(const SourceText *t, uint32_t line) {
    return t && line && line <= t->lines.len ? t->lines.at[line - 1] : (Str){NULL, 0};
}

void source_check_length(ShortSource *s, Str path, const SourceText *t, uint32_t line) {
    assert(line || !t);
    if (!t || line <= t->lines.len || s->files++)
        return;
    s->path = path;
    s->lines = t->lines.len;
    s->line = line;
}

void source_warn_short(const ShortSource *s, const char *program, Diags *diags) {
    if (!s->files)
        return;
    Buf text = {0};
    buf_printf(&text, "%s: its source file %.*s has %u line%s, but the program has code of line %u",
               program, (int)s->path.len, s->path.ptr, s->lines, s->lines == 1 ? "" : "s", s->line);
    if (s->files > 1)
        buf_printf(&text, "; %u other%s also too short", s->files - 1,
                   s->files == 2 ? " is" : "s are");
    Diag *g = diag(diags, DIAG_CHANGED_SOURCE, NO_SPAN, "%s", buf_cstr(&text));
    diag_hint(diags, g,
              "the file has changed since the program was compiled; lines that it no "
              "longer has are counted, too");
    buf_free(&text);
}

void sources_free(Sources *s) {
    for (uint32_t i = 0; i < s->texts.len; i++) {
        if (!s->texts.at[i])
            continue;
        vec_free(&s->texts.at[i]->lines);
        buf_free(&s->texts.at[i]->bytes);
        free(s->texts.at[i]);
    }
    vec_free(&s->texts);
    map_free(&s->index);
    *s = (Sources){0};
}
