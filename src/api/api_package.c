/*
 * api/api_package.c - whammc_explain_package: the comment at the start of a package's file, and
 * what it declares for scripts, with its comments.
 */
#include "api/api.h"

/* The line with a place, without the blanks before it. */
static Str line_at(Str text, uint32_t at) {
    uint32_t start = at, end = at;
    while (start && text.ptr[start - 1] != '\n')
        start--;
    while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r')
        end++;
    while (start < end && text.ptr[start] == ' ')
        start++;
    return (Str){text.ptr + start, end - start};
}

static bool is_comment_line(Str line) {
    return line.len >= 2 && memcmp(line.ptr, "//", 2) == 0;
}

static void put_comment(Buf *out, const char *indent, Str line) {
    uint32_t from = line.len > 2 && line.ptr[2] == ' ' ? 3 : 2;
    buf_printf(out, "%s%.*s\n", line.len > from ? indent : "", (int)(line.len - from),
               line.ptr + from);
}

/* The comment at the start. */
static void put_head(Buf *out, Str text) {
    for (uint32_t at = 0; at < text.len;) {
        Str line = line_at(text, at);
        if (!is_comment_line(line))
            break;
        put_comment(out, "", line);
        const char *end = memchr(line.ptr, '\n', (size_t)(text.ptr + text.len - line.ptr));
        at = end ? (uint32_t)(end - text.ptr) + 1 : text.len;
    }
}

void api_comment_above(Str text, uint32_t at, const char *indent, Buf *out) {
    uint32_t first = at;
    for (;;) {
        while (first && text.ptr[first - 1] != '\n')
            first--;
        if (!first || !is_comment_line(line_at(text, first - 1)))
            break;
        first--;
    }
    for (uint32_t i = first; i < at;) {
        Str line = line_at(text, i);
        if (!is_comment_line(line))
            break;
        put_comment(out, indent, line);
        i = (uint32_t)(line.ptr + line.len - text.ptr);
        while (i < at && text.ptr[i++] != '\n') {
        }
    }
}

/* A declaration: its line up to what ends it, and the comment before it. */
static void put_declaration(Buf *out, Str text, uint32_t at, bool function) {
    Str line = line_at(text, at);
    uint32_t len = 0;
    while (len < line.len && line.ptr[len] != (function ? '{' : '\n'))
        len++;
    while (len && line.ptr[len - 1] == ' ')
        len--;
    buf_printf(out, "  %.*s\n", (int)len, line.ptr);
    api_comment_above(text, at, "      ", out);
}

/* Not for users of the package, or made by the parser. */
static bool is_private(Str name, uint32_t prefix) {
    return name.ptr[0] == '(' || (name.len > prefix && name.ptr[prefix] == '_');
}

static void put_description(Buf *out, const Script *s) {
    const Inclusion *file = &s->files.inclusions.at[0];
    uint32_t prefix = s->files.packages.at[0].name.len + 1;
    put_head(out, file->text);
    buf_u8(out, '\n');
    for (const Stmt *stmt = s->init.first; stmt; stmt = stmt->next)
        if (stmt->kind == STMT_DECL && stmt->span.file == file->file &&
            !is_private(stmt->var->name, 0))
            put_declaration(out, file->text, stmt->var->span.start, false);
    for (uint32_t i = 0; i < s->derived.len; i++)
        if (s->derived.at[i]->span.file == file->file && !is_private(s->derived.at[i]->name, 0))
            put_declaration(out, file->text, s->derived.at[i]->span.start, false);
    for (uint32_t i = 0; i < s->fns.len; i++)
        if (s->fns.at[i]->span.file == file->file && !is_private(s->fns.at[i]->name, prefix))
            put_declaration(out, file->text, s->fns.at[i]->span.start, true);
}

whammc_status whammc_explain_package(whammc *w, const char *name, const char **text) {
    api_reset(w);
    *text = "";
    w->explained.len = 0;
    Buf use = {0};
    buf_printf(&use, "use %s; wasm:begin {}", name);
    DiagFileId file = diag_file(&w->diags, "package", use.data, use.len, false);
    Script script = {.includer = api_includer(w)};
    if (lang_parse(&script, (const char *)use.data, use.len, file, &w->diags) &&
        script.files.packages.len) {
        put_description(&w->explained, &script);
        *text = buf_cstr(&w->explained);
    }
    script_free(&script);
    w->rule = (char *)use.data; /* messages point into it */
    return w->diags.errors ? WHAMMC_ERROR : WHAMMC_OK;
}
