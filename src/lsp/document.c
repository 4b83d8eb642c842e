/*
 * lsp/document.c - the language server: texts, their edits, positions in them; what is wrong with
 * them.
 */
#include "lsp/server.h"

#include "base/escape.h"
#include "locations/url.h"

#include <assert.h>

/* ---- URIs ---- */

static const char file_scheme[] = "file://";

void uri_of_path(const char *path, Buf *out) {
    if (*path != '/') { /* it is a URI that is no path */
        buf_str(out, str_of(path));
        return;
    }
    buf_str(out, STR("file://"));
    for (; *path; path++) {
        bool plain = context_is_word(*path) || strchr("/-.~", *path);
        if (plain)
            buf_u8(out, (uint8_t)*path);
        else
            buf_printf(out, "%%%02X", (uint8_t)*path);
    }
}

char *uri_path(Str uri) {
    uint32_t n = sizeof file_scheme - 1;
    Buf path = {0};
    if (uri.len > n && memcmp(uri.ptr, file_scheme, n) == 0)
        url_decode_percent((Str){uri.ptr + n, uri.len - n}, &path);
    bool is = path.len && !memchr(path.data, 0, path.len);
    char *copy = is ? api_copy(path.data, path.len) : NULL;
    buf_free(&path);
    return copy;
}

/* ---- positions ---- */

/* Whether a line ends at this character; to the protocol "\r" alone is an end, too. */
static bool ends_line(Str text, uint32_t at) {
    bool pair = at + 1 < text.len && text.ptr[at + 1] == '\n';
    return text.ptr[at] == '\n' || (text.ptr[at] == '\r' && !pair);
}

static void document_find_lines(Document *d) {
    d->lines.len = 0;
    vec_push(&d->lines, 0);
    for (uint32_t i = 0; i < d->text.len; i++)
        if (ends_line(buf_view(&d->text), i))
            vec_push(&d->lines, i + 1);
}

uint32_t document_line(const Document *d, uint32_t offset) {
    uint32_t low = 0, high = d->lines.len;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (d->lines.at[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The bytes of the character at p, and how many units of a position it is. */
static uint32_t step(const whammc_server *s, const char *p, uint32_t n, uint32_t *units) {
    uint32_t code, bytes = escape_utf8(p, n, &code);
    if (!bytes)
        bytes = 1;
    *units = s->bytes ? bytes : bytes == 4 ? 2 : 1;
    return bytes;
}

static uint32_t offset_in_line(const whammc_server *s, const Document *d, uint64_t line,
                               uint64_t character) {
    if (line >= d->lines.len)
        return (uint32_t)d->text.len;
    const char *text = (const char *)d->text.data;
    uint32_t at = d->lines.at[line];
    bool last = line + 1 == d->lines.len;
    uint32_t end = last ? (uint32_t)d->text.len : d->lines.at[line + 1] - 1;
    if (!last && end > at && text[end] == '\n' && text[end - 1] == '\r')
        end--;
    for (uint64_t n = 0; at < end && n < character;) {
        uint32_t units;
        at += step(s, text + at, end - at, &units);
        n += units;
    }
    return at;
}

bool document_offset(whammc_server *s, const Document *d, Str position, uint32_t *offset) {
    static const char *const names[] = {"line", "character"};
    Str of[2];
    uint64_t line, character;
    if (!server_members(s, position, names, 2, of) || !str_decimal(of[0], UINT32_MAX, &line) ||
        !str_decimal(of[1], UINT32_MAX, &character))
        return false;
    *offset = offset_in_line(s, d, line, character);
    return true;
}

static uint32_t text_units(const whammc_server *s, Str text, uint32_t start, uint32_t end) {
    uint32_t n = 0, units;
    for (uint32_t at = start; at < end && at < text.len; n += units)
        at += step(s, text.ptr + at, text.len - at, &units);
    return n;
}

uint32_t document_units(const whammc_server *s, const Document *d, uint32_t start, uint32_t end) {
    return text_units(s, buf_view(&d->text), start, end);
}

static void put_text_position(const whammc_server *s, Str text, uint32_t line, uint32_t start,
                              uint32_t offset, Buf *out) {
    buf_printf(out, "{\"line\":%u,\"character\":%u}", line, text_units(s, text, start, offset));
}

void document_put_position(const whammc_server *s, const Document *d, uint32_t offset, Buf *out) {
    uint32_t line = document_line(d, offset);
    put_text_position(s, buf_view(&d->text), line, d->lines.at[line], offset, out);
}

void document_put_range(const whammc_server *s, const Document *d, uint32_t start, uint32_t end,
                        Buf *out) {
    buf_str(out, STR("{\"start\":"));
    document_put_position(s, d, start, out);
    buf_str(out, STR(",\"end\":"));
    document_put_position(s, d, end, out);
    buf_u8(out, '}');
}

/* A range in another text. */
static void put_range_in(const whammc_server *s, Str text, uint32_t start, uint32_t end, Buf *out) {
    uint32_t line = 0, begin = 0;
    for (uint32_t i = 0, last = 0; i < 2; i++) {
        uint32_t offset = i ? end : start;
        for (; last < offset && last < text.len; last++)
            if (ends_line(text, last)) {
                line++;
                begin = last + 1;
            }
        buf_str(out, i ? STR(",\"end\":") : STR("{\"start\":"));
        put_text_position(s, text, line, begin, offset, out);
    }
    buf_u8(out, '}');
}

bool document_put_location(const whammc_server *s, const Document *d, Span span, Buf *out) {
    if (span.file == d->file) {
        out_string(out, "uri", str_of(d->uri));
        out_key(out, "range");
        document_put_range(s, d, span.start, span.end, out);
        return true;
    }
    const DiagFile *f = span.file ? &d->w->diags.files.at[span.file - 1] : NULL;
    if (!f || f->binary || *f->name != '/')
        return false;
    Buf uri = {0};
    uri_of_path(f->name, &uri);
    out_string(out, "uri", buf_view(&uri));
    buf_free(&uri);
    out_key(out, "range");
    put_range_in(s, (Str){f->text, (uint32_t)f->len}, span.start, span.end, out);
    return true;
}

/* ---- texts ---- */

Document *document_find(const whammc_server *s, Str uri) {
    for (uint32_t i = 0; i < s->documents.len; i++)
        if (str_is(uri, s->documents.at[i]->uri))
            return s->documents.at[i];
    return NULL;
}

static void set_text(Document *d, Str text) {
    d->text.len = 0;
    buf_str(&d->text, text);
    document_find_lines(d);
    d->changed = true;
    d->told = false;
}

Document *document_open(whammc_server *s, Str uri, int64_t version, Str text) {
    Document *d = document_find(s, uri);
    if (!d) {
        d = mem_zalloc(sizeof *d);
        d->uri = api_copy(uri.ptr, uri.len);
        d->path = uri_path(uri);
        if (!d->path)
            d->path = api_copy(uri.ptr, uri.len);
        vec_push(&s->documents, d);
    }
    d->version = version;
    set_text(d, text);
    workspace_count(s, d);
    return d;
}

static void document_free(Document *d) {
    whammc_free(d->w);
    document_forget_programs(d);
    buf_free(&d->text);
    vec_free(&d->lines);
    free(d->uri);
    free(d->path);
    free(d);
}

void document_close(whammc_server *s, Document *d) {
    server_begin(s, "textDocument/publishDiagnostics", false);
    buf_u8(&s->out, '{');
    out_string(&s->out, "uri", str_of(d->uri));
    buf_str(&s->out, STR(",\"diagnostics\":[]}"));
    server_end(s);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->documents.len; i++)
        if (s->documents.at[i] != d)
            s->documents.at[n++] = s->documents.at[i];
    s->documents.len = n;
    document_free(d);
}

void documents_free(whammc_server *s) {
    for (uint32_t i = 0; i < s->documents.len; i++)
        document_free(s->documents.at[i]);
    vec_free(&s->documents);
}

void document_edit(whammc_server *s, Document *d, Str change) {
    static const char *const names[] = {"range", "text"};
    static const char *const ends[] = {"start", "end"};
    Str of[2], range[2];
    uint32_t start, end;
    if (!server_members(s, change, names, 2, of))
        return;
    if (!of[0].ptr) {
        set_text(d, of[1]);
        return;
    }
    if (!server_members(s, of[0], ends, 2, range) || !document_offset(s, d, range[0], &start) ||
        !document_offset(s, d, range[1], &end) || start > end)
        return;
    Buf text = {0};
    buf_bytes(&text, d->text.data, start);
    buf_str(&text, of[1]);
    buf_bytes(&text, d->text.data + end, d->text.len - end);
    set_text(d, buf_view(&text));
    buf_free(&text);
}

/* ---- checking ---- */

static int document_find_file(void *ctx, const char *from, const char *path, whammc_file *file) {
    whammc_server *s = ctx;
    if (!s->host.find || !s->host.find(s->host.ctx, from, path, file))
        return 0;
    for (uint32_t i = 0; i < s->documents.len; i++) {
        const Document *d = s->documents.at[i];
        if (strcmp(d->path, file->name) == 0) {
            file->text = buf_cstr((Buf *)&d->text);
            file->len = d->text.len;
        }
    }
    return 1;
}

whammc *document_compiler(whammc_server *s, Document *d) {
    whammc *w = whammc_new();
    whammc_set_files(w, document_find_file, s, NULL);
    whammc_add_script(w, d->path, buf_cstr(&d->text), d->text.len);
    workspace_give(s, w);
    return w;
}

void document_check(whammc_server *s, Document *d) {
    if (!d->changed)
        return;
    whammc_free(d->w);
    d->w = document_compiler(s, d);
    d->w->noting = true;
    whammc_check(d->w);
    d->file = vec_last(&d->w->files);
    d->changed = false;
    d->told = false;
}

const Script *document_script(const Document *d) {
    return vec_last(&d->w->scripts);
}

/* The place in the document for something in a file that it includes: where it does that. */
static Span own_place(const Document *d, Span span) {
    uint32_t depth = 0;
    while (span.file && span.file != d->file && depth++ < 1000)
        span = d->w->diags.files.at[span.file - 1].included;
    return span.file == d->file ? span : (Span){d->file, 0, 0};
}

static void put_related(const whammc_server *s, const Document *d, const Diag *g, Buf *out) {
    out_key(out, "relatedInformation");
    buf_u8(out, '[');
    for (uint32_t i = 0; i < g->labels.len; i++) {
        const DiagLabel *label = &g->labels.at[i];
        Buf location = {0};
        buf_u8(&location, '{');
        if (document_put_location(s, d, label->span, &location)) {
            out_key(out, NULL);
            buf_str(out, STR("{\"location\":"));
            buf_str(out, buf_view(&location));
            buf_u8(out, '}');
            out_string(out, "message", str_of(label->text ? label->text : "here"));
            buf_u8(out, '}');
        }
        buf_free(&location);
    }
    buf_u8(out, ']');
}

static void put_diagnostic(const whammc_server *s, const Document *d, const Diag *g, Buf *out) {
    static const int severities[] = {3, 2, 1};
    Buf message = {0};
    Span span = own_place(d, g->span);
    if (g->span.file && g->span.file != d->file)
        buf_printf(&message, "%s: ", diag_file_name(&d->w->diags, g->span.file));
    buf_str(&message, str_of(g->message));
    for (uint32_t i = 0; i < g->hints.len; i++)
        buf_printf(&message, "\n%s", g->hints.at[i]);
    out_key(out, NULL);
    buf_str(out, STR("{\"range\":"));
    document_put_range(s, d, span.start, span.end, out);
    out_number(out, "severity", (uint64_t)severities[g->severity]);
    out_string(out, "code", str_of(diag_tag_name(g->tag)));
    out_string(out, "source", STR("whammc"));
    out_string(out, "message", buf_view(&message));
    put_related(s, d, g, out);
    buf_u8(out, '}');
    buf_free(&message);
}

void document_tell(whammc_server *s, Document *d) {
    assert(!d->changed);
    server_begin(s, "textDocument/publishDiagnostics", false);
    buf_u8(&s->out, '{');
    out_string(&s->out, "uri", str_of(d->uri));
    out_key(&s->out, "version");
    buf_printf(&s->out, "%lld", (long long)d->version);
    out_key(&s->out, "diagnostics");
    buf_u8(&s->out, '[');
    for (uint32_t i = 0; i < d->w->diags.list.len; i++)
        put_diagnostic(s, d, d->w->diags.list.at[i], &s->out);
    buf_str(&s->out, STR("]}"));
    server_end(s);
    d->told = true;
}
