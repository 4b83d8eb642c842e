/*
 * lsp/symbol.c - the language server: where names are. Definition, references, rename, the outline,
 * colours, folding, links, corrections, and formatting.
 */
#include "lsp/server.h"

#include "fmt/fmt.h"
#include "lang/lang.h"

static const Meaning *meaning_of(const Request *r) {
    return meaning_at(&r->d->w->meanings, r->d->file, r->offset);
}

/* The place of the last word of a name: of "alloc.size" that of "size". */
static Span last_word(const Document *d, Span span) {
    const DiagFile *f = &d->w->diags.files.at[span.file - 1];
    for (uint32_t i = span.end; i > span.start; i--)
        if (f->text[i - 1] == '.')
            return (Span){span.file, i, span.end};
    return span;
}

/* ---- where names are ---- */

static void symbol_location(const Request *r, Span span) {
    Buf location = {0};
    buf_u8(&location, '{');
    if (document_put_location(r->s, r->d, span, &location)) {
        out_next(r->out);
        buf_str(r->out, buf_view(&location));
        buf_u8(r->out, '}');
    }
    buf_free(&location);
}

void lsp_definition(Request *r) {
    const Meaning *m = meaning_of(r);
    if (!m || !m->declaration.file)
        return;
    buf_u8(r->out, '[');
    symbol_location(r, m->declaration);
    buf_u8(r->out, ']');
}

typedef struct Places {
    Vec(Span) at; /* in the order of the text */
} Places;

static int compare_spans(const void *a, const void *b) {
    const Span *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* All names of the same thing, or, of what is not the script's own, of the same text. */
static void symbol_places(const Request *r, const Meaning *m, bool declarations, Places *out) {
    const Meanings *all = &r->d->w->meanings;
    Str text = buf_view(&r->d->text);
    Str name = {text.ptr + m->span.start, m->span.end - m->span.start};
    for (uint32_t i = 0; i < all->list.len; i++) {
        const Meaning *other = &all->list.at[i];
        bool same = meaning_is_same(m, other);
        if (!m->declaration.file && other->kind == m->kind && other->span.file == r->d->file)
            same = str_eq(name,
                          (Str){text.ptr + other->span.start, other->span.end - other->span.start});
        if (same && (declarations || !other->declares))
            vec_push(&out->at, last_word(r->d, other->span));
    }
    if (out->at.len)
        qsort(out->at.at, out->at.len, sizeof *out->at.at, compare_spans);
}

void lsp_references(Request *r) {
    static const char *const names[] = {"context"};
    static const char *const inner[] = {"includeDeclaration"};
    Str context, declarations;
    const Meaning *m = meaning_of(r);
    if (!m)
        return;
    server_members(r->s, r->params, names, 1, &context);
    server_members(r->s, context, inner, 1, &declarations);
    Places places = {0};
    symbol_places(r, m, !str_is(declarations, "false"), &places);
    buf_u8(r->out, '[');
    for (uint32_t i = 0; i < places.at.len; i++)
        symbol_location(r, places.at.at[i]);
    buf_u8(r->out, ']');
    vec_free(&places.at);
}

void lsp_highlight(Request *r) {
    const Meaning *m = meaning_of(r);
    Places places = {0};
    if (!m)
        return;
    symbol_places(r, m, true, &places);
    buf_u8(r->out, '[');
    for (uint32_t i = 0; i < places.at.len; i++) {
        Span span = places.at.at[i];
        if (span.file != r->d->file)
            continue;
        out_next(r->out);
        buf_str(r->out, STR("{\"range\":"));
        document_put_range(r->s, r->d, span.start, span.end, r->out);
        buf_u8(r->out, '}');
    }
    buf_u8(r->out, ']');
    vec_free(&places.at);
}

/* ---- rename ---- */

/* A file that the editor can change, which is not one of whammc's own. */
static bool can_change(const Document *d, DiagFileId file) {
    return file == d->file || *diag_file_name(&d->w->diags, file) == '/';
}

static bool can_rename(const Request *r, const Meaning *m) {
    return m && (m->kind == MEANING_VAR || m->kind == MEANING_FN) &&
           can_change(r->d, m->declaration.file);
}

void lsp_prepare_rename(Request *r) {
    const Meaning *m = meaning_of(r);
    if (!can_rename(r, m))
        return;
    Span span = last_word(r->d, m->span);
    document_put_range(r->s, r->d, span.start, span.end, r->out);
}

static bool is_new_name(Str name) {
    bool ok = name.len && !(name.ptr[0] >= '0' && name.ptr[0] <= '9');
    for (uint32_t i = 0; i < name.len; i++)
        ok &= context_is_word(name.ptr[i]);
    return ok;
}

/* Whether the script has a name already, or the language does. */
static bool is_taken(const Request *r, Str name) {
    const Meanings *all = &r->d->w->meanings;
    const char *word = "";
    for (uint32_t i = 0; i < all->list.len; i++) {
        Span span = last_word(r->d, all->list.at[i].span);
        const char *text = r->d->w->diags.files.at[span.file - 1].text;
        if (str_eq(name, (Str){text + span.start, span.end - span.start}))
            return true;
    }
    for (uint32_t i = 0; word && !str_is(name, word); i++)
        word = lang_keyword(i);
    return word || type_by_name(name);
}

void lsp_rename(Request *r) {
    static const char *const names[] = {"newName"};
    Str name;
    const Meaning *m = meaning_of(r);
    server_members(r->s, r->params, names, 1, &name);
    if (!can_rename(r, m))
        r->error = "this is no name of the script that could be changed";
    else if (!is_new_name(name))
        r->error = "a name has letters, digits and '_', and does not begin with a digit";
    else if (is_taken(r, name))
        r->error = "there is something of this name already";
    if (r->error)
        return;
    Places places = {0};
    symbol_places(r, m, true, &places);
    buf_str(r->out, STR("{\"changes\":{"));
    DiagFileId file = 0;
    for (uint32_t i = 0; i < places.at.len; i++) {
        Span span = places.at.at[i];
        Buf edit = {0};
        buf_u8(&edit, '{');
        if (can_change(r->d, span.file) && document_put_location(r->s, r->d, span, &edit)) {
            /* "uri":"...","range":...: the URI becomes the key of a list */
            Str text = buf_view(&edit);
            const char *range = strstr(buf_cstr(&edit), ",\"range\":");
            uint32_t key = sizeof "{\"uri\":" - 1, len = (uint32_t)(range - text.ptr) - key;
            if (span.file != file) {
                buf_str(r->out, file ? STR("],") : STR(""));
                buf_printf(r->out, "%.*s:[", (int)len, text.ptr + key);
            }
            file = span.file;
            out_next(r->out);
            buf_printf(r->out, "{%s", range + 1);
            out_string(r->out, "newText", name);
            buf_u8(r->out, '}');
        }
        buf_free(&edit);
    }
    buf_str(r->out, file ? STR("]}}") : STR("}}"));
    vec_free(&places.at);
}

/* ---- the outline ---- */

enum { SYMBOL_FUNCTION = 12, SYMBOL_VARIABLE = 13, SYMBOL_CONSTANT = 14, SYMBOL_EVENT = 24 };

/* The end of the block that follows an offset, or of its statement. */
static uint32_t block_end(Str text, uint32_t at) {
    uint32_t depth = 0;
    while (at < text.len) {
        uint32_t past = context_skip(text, at);
        if (past != at) {
            at = past;
            continue;
        }
        char c = text.ptr[at++];
        depth += c == '{';
        if (c == '}' && depth && --depth == 0)
            return at;
        if (c == ';' && !depth)
            return at;
    }
    return at;
}

/* Where a declaration begins: at its decorators, or at the word before its name. */
static uint32_t declaration_start(const Meaning *m, Str text) {
    uint32_t at = m->span.start;
    while (at && strchr(" \t\r\n", text.ptr[at - 1]))
        at--;
    while (at && context_is_word(text.ptr[at - 1]))
        at--;
    bool decorated = m->var && m->var->decorators && m->var->decorator_span.file == m->span.file;
    return decorated && m->var->decorator_span.start < at ? m->var->decorator_span.start : at;
}

static void put_symbol(const Request *r, Str name, const char *detail, int kind, Span span,
                       uint32_t start, uint32_t end) {
    out_next(r->out);
    buf_u8(r->out, '{');
    out_string(r->out, "name", name);
    if (detail)
        out_string(r->out, "detail", str_of(detail));
    out_number(r->out, "kind", (uint64_t)kind);
    out_key(r->out, "range");
    document_put_range(r->s, r->d, start, end, r->out);
    out_key(r->out, "selectionRange");
    document_put_range(r->s, r->d, span.start, span.end, r->out);
    buf_u8(r->out, '}');
}

void lsp_symbols(Request *r) {
    const Script *script = document_script(r->d);
    Str text = buf_view(&r->d->text);
    buf_u8(r->out, '[');
    for (uint32_t i = 0; i < r->d->w->meanings.list.len; i++) {
        const Meaning *m = &r->d->w->meanings.list.at[i];
        if (!m->declares || m->span.file != r->d->file || m->kind == MEANING_LIBRARY ||
            (m->var && (m->var->storage != STORAGE_SCRIPT || m->var->loop)))
            continue;
        Str name = {text.ptr + m->span.start, m->span.end - m->span.start};
        put_symbol(r, name, m->var ? m->var->type->text : NULL,
                   m->fn              ? SYMBOL_FUNCTION
                   : m->var->constant ? SYMBOL_CONSTANT
                                      : SYMBOL_VARIABLE,
                   m->span, declaration_start(m, text), block_end(text, m->span.end));
    }
    for (uint32_t i = 0; i < script->probes.len; i++) {
        Span span = script->probes.at[i]->rule.span;
        if (script->probes.at[i]->made || span.file != r->d->file || span.start == span.end)
            continue;
        Str name = {text.ptr + span.start, span.end - span.start};
        put_symbol(r, name, NULL, SYMBOL_EVENT, span, span.start, block_end(text, span.end));
    }
    buf_u8(r->out, ']');
}

static void put_fold(const Request *r, uint32_t start, uint32_t end, bool comment) {
    uint32_t first = document_line(r->d, start), last = document_line(r->d, end);
    if (last <= first)
        return;
    out_next(r->out);
    buf_printf(r->out, "{\"startLine\":%u,\"endLine\":%u%s}", first, comment ? last : last - 1,
               comment ? ",\"kind\":\"comment\"" : "");
}

/* Braces over several lines, and comments: lines of "//" that follow each other are one. */
void lsp_folding(Request *r) {
    Str text = buf_view(&r->d->text);
    Vec(uint32_t) open = {0};
    uint32_t comment = UINT32_MAX, comment_end = 0;
    buf_u8(r->out, '[');
    for (uint32_t at = 0; at < text.len;) {
        uint32_t past = context_skip(text, at);
        char c = text.ptr[at];
        if (past != at && c == '/') {
            if (comment == UINT32_MAX)
                comment = at;
            comment_end = past;
        } else if (!strchr(" \t\r\n", c) && comment != UINT32_MAX) {
            put_fold(r, comment, comment_end, true);
            comment = UINT32_MAX;
        }
        if (c == '{')
            vec_push(&open, at);
        if (c == '}' && open.len)
            put_fold(r, open.at[--open.len], at, false);
        at = past == at ? at + 1 : past;
    }
    if (comment != UINT32_MAX)
        put_fold(r, comment, comment_end, true);
    buf_u8(r->out, ']');
    vec_free(&open);
}

/* ---- colours ---- */

#define TOKEN_TYPES                                                                                \
    T(EVENT, "event")                                                                              \
    T(VARIABLE, "variable")                                                                        \
    T(PARAMETER, "parameter")                                                                      \
    T(FUNCTION, "function")                                                                        \
    T(METHOD, "method")                                                                            \
    T(NAMESPACE, "namespace")
#define T(id, name) TOKEN_##id,
enum { TOKEN_TYPES };
#undef T
enum { MODIFIER_DECLARATION = 1, MODIFIER_READONLY = 2, MODIFIER_LIBRARY = 4 };

void lsp_token_legend(Buf *out) {
    buf_str(out, STR("{\"tokenTypes\":["));
#define T(id, name) out_string(out, NULL, STR(name));
    TOKEN_TYPES
#undef T
    buf_str(out, STR("],\"tokenModifiers\":[\"declaration\",\"readonly\",\"defaultLibrary\"]}"));
}

typedef struct Token {
    Span span;
    int type, modifiers;
} Token;

static Token token_of(const Meaning *m) {
    Token t = {m->span, TOKEN_VARIABLE, m->declares ? MODIFIER_DECLARATION : 0};
    switch (m->kind) {
    case MEANING_VAR:
        t.type = m->var->param ? TOKEN_PARAMETER : TOKEN_VARIABLE;
        t.modifiers |= m->var->constant ? MODIFIER_READONLY : 0;
        break;
    case MEANING_BOUND:
        t.modifiers |= MODIFIER_LIBRARY | (m->assignable ? 0 : MODIFIER_READONLY);
        break;
    case MEANING_FN: t.type = TOKEN_FUNCTION; break;
    case MEANING_LIBRARY_FN: t.type = TOKEN_FUNCTION; break;
    case MEANING_FUNCTION:
        t.type = TOKEN_FUNCTION;
        t.modifiers |= MODIFIER_LIBRARY;
        break;
    case MEANING_METHOD: t.type = TOKEN_METHOD; break;
    case MEANING_LIBRARY: t.type = TOKEN_NAMESPACE; break;
    }
    return t;
}

static int compare_tokens(const void *a, const void *b) {
    return compare_spans(&((const Token *)a)->span, &((const Token *)b)->span);
}

void lsp_tokens(Request *r) {
    const Document *d = r->d;
    const Script *script = document_script(d);
    Vec(Token) tokens = {0};
    for (uint32_t i = 0; i < d->w->meanings.list.len; i++)
        if (d->w->meanings.list.at[i].span.file == d->file)
            vec_push(&tokens, token_of(&d->w->meanings.list.at[i]));
    for (uint32_t i = 0; i < script->probes.len; i++) {
        const Rule *rule = &script->probes.at[i]->rule;
        for (uint32_t k = 0; k < rule->nparts; k++)
            if (rule->parts[k].span.file == d->file)
                vec_push(&tokens, ((Token){rule->parts[k].span, TOKEN_EVENT, 0}));
    }
    if (tokens.len)
        qsort(tokens.at, tokens.len, sizeof *tokens.at, compare_tokens);
    buf_str(r->out, STR("{\"data\":["));
    uint32_t line = 0, start = 0, end = 0;
    for (uint32_t i = 0; i < tokens.len; i++) {
        const Token *t = &tokens.at[i];
        uint32_t own = document_line(d, t->span.start);
        if (t->span.start < end || document_line(d, t->span.end) != own)
            continue; /* one in another one, or over several lines */
        start = own == line ? start : d->lines.at[own];
        out_next(r->out);
        buf_printf(r->out, "%u,%u,%u,%d,%d", own - line,
                   document_units(r->s, d, start, t->span.start), t->span.end - t->span.start,
                   t->type, t->modifiers);
        line = own;
        start = t->span.start;
        end = t->span.end;
    }
    buf_str(r->out, STR("]}"));
    vec_free(&tokens);
}

/* ---- links ---- */

void lsp_links(Request *r) {
    const Script *script = document_script(r->d);
    buf_u8(r->out, '[');
    for (uint32_t i = 0; i < script->files.inclusions.len; i++) {
        const Inclusion *file = &script->files.inclusions.at[i];
        const char *name = diag_file_name(&r->d->w->diags, file->file);
        if (file->where.file != r->d->file || *name != '/')
            continue;
        Buf uri = {0};
        uri_of_path(name, &uri);
        out_next(r->out);
        buf_str(r->out, STR("{\"range\":"));
        document_put_range(r->s, r->d, file->where.start, file->where.end, r->out);
        out_string(r->out, "target", buf_view(&uri));
        buf_u8(r->out, '}');
        buf_free(&uri);
    }
    buf_u8(r->out, ']');
}

/* ---- corrections ---- */

/* One that replaces the place of a message by a name that its hint proposes. */
static void put_fix(const Request *r, const Diag *g, Str name) {
    Buf title = {0};
    buf_printf(&title, "Change to '%.*s'", STR_ARG(name));
    out_next(r->out);
    buf_u8(r->out, '{');
    out_string(r->out, "title", buf_view(&title));
    out_string(r->out, "kind", STR("quickfix"));
    out_key(r->out, "edit");
    buf_str(r->out, STR("{\"changes\":{"));
    out_string(r->out, NULL, str_of(r->d->uri));
    buf_str(r->out, STR(":[{\"range\":"));
    document_put_range(r->s, r->d, g->span.start, g->span.end, r->out);
    out_string(r->out, "newText", name);
    buf_str(r->out, STR("}]}}}"));
    buf_free(&title);
}

/* The names in "did you mean 'a', 'b' or 'c'?". */
static void put_fixes(const Request *r, const Diag *g, const char *hint) {
    static const char begin[] = "did you mean ";
    if (strncmp(hint, begin, sizeof begin - 1) != 0)
        return;
    for (const char *at = strchr(hint, '\''); at; at = strchr(at + 1, '\'')) {
        const char *end = strchr(at + 1, '\'');
        if (!end)
            break;
        put_fix(r, g, (Str){at + 1, (uint32_t)(end - at - 1)});
        at = end;
    }
}

void lsp_actions(Request *r) {
    static const char *const names[] = {"range"};
    static const char *const ends[] = {"start", "end"};
    Str range, of[2];
    uint32_t start, end;
    server_members(r->s, r->params, names, 1, &range);
    if (!server_members(r->s, range, ends, 2, of) || !document_offset(r->s, r->d, of[0], &start) ||
        !document_offset(r->s, r->d, of[1], &end))
        return;
    const Diags *diags = &r->d->w->diags;
    buf_u8(r->out, '[');
    for (uint32_t i = 0; i < diags->list.len; i++) {
        const Diag *g = diags->list.at[i];
        if (g->span.file != r->d->file || g->span.end < start || g->span.start > end)
            continue;
        for (uint32_t k = 0; k < g->hints.len; k++)
            put_fixes(r, g, g->hints.at[k]);
    }
    buf_u8(r->out, ']');
}

/* ---- formatting ---- */

/* How many bytes at the beginning (or the end) of both texts are the same, in whole lines. */
static uint32_t same_lines(Str a, Str b, bool at_end) {
    uint32_t n = 0, lines = 0, most = a.len < b.len ? a.len : b.len;
    for (; n < most && a.ptr[at_end ? a.len - 1 - n : n] == b.ptr[at_end ? b.len - 1 - n : n]; n++)
        if (a.ptr[at_end ? a.len - 1 - n : n] == '\n')
            lines = at_end ? n : n + 1;
    return lines;
}

void lsp_formatting(Request *r) {
    Str text = buf_view(&r->d->text);
    uint32_t len = text.len;
    Diags diags = {0};
    Buf out = {0};
    DiagFileId file = diag_file(&diags, r->d->path, text.ptr, text.len, false);
    if (fmt_script(text.ptr, text.len, file, &diags, &out)) {
        Str made = buf_view(&out);
        buf_u8(r->out, '[');
        if (!str_eq(text, made)) {
            uint32_t begin = same_lines(text, made, false);
            text.ptr += begin, text.len -= begin;
            made.ptr += begin, made.len -= begin;
            uint32_t end = same_lines(text, made, true);
            made.len -= end;
            buf_u8(r->out, '{');
            out_key(r->out, "range");
            document_put_range(r->s, r->d, begin, len - end, r->out);
            out_string(r->out, "newText", made);
            buf_u8(r->out, '}');
        }
        buf_u8(r->out, ']');
    }
    buf_free(&out);
    diag_free(&diags);
}
