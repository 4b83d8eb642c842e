/*
 * lang/parse.c - parses a script: sets the scanner and the parser up and runs them.
 */
#include "lang/parse.h"
#include "whamm-parse.h"

#include <assert.h>

/* Declarations of flex for the prefix lang_yy. */
int lang_yylex_init_extra(struct Parse *extra, void **scanner);
struct yy_buffer_state *lang_yy_scan_bytes(const char *bytes, int len, void *scanner);
int lang_yylex_destroy(void *scanner);

/* One message for a file that is no text, in place of one for each byte. */
static bool is_text(Parse *p) {
    static const char module[] = {0, 'a', 's', 'm'};
    size_t begin = p->len < 64 ? p->len : 64;
    if (!memchr(p->text, 0, begin))
        return true;
    bool wasm = begin >= sizeof module && memcmp(p->text, module, sizeof module) == 0;
    parse_error(p, DIAG_BAD_CHARACTER, (Span){p->file, 0, 0}, "this is %s, not a script",
                wasm ? "a WebAssembly module" : "a binary file");
    return false;
}

Expr *parse_part(Parse *p, uint32_t from, uint32_t to) {
    Expr *expression = NULL;
    Parse part = {.script = p->script,
                  .diags = p->diags,
                  .text = p->text,
                  .len = to,
                  .file = p->file,
                  .pos = from,
                  .part = &expression,
                  .open.nparens = 1};
    lang_yylex_init_extra(&part, &part.scanner);
    lang_yy_scan_bytes(part.text + from, (int)(to - from), part.scanner);
    bool ok = lang_yyparse(&part) == 0 && !part.failed;
    p->failed |= !ok;
    lang_yylex_destroy(part.scanner);
    buf_free(&part.string);
    return ok ? expression : NULL;
}

void parse_file(Parse *p) {
    Script *s = p->script;
    s->files.bytes += p->len;
    if (is_text(p)) {
        lang_yylex_init_extra(p, &p->scanner);
        lang_yy_scan_bytes(p->text, (int)p->len, p->scanner);
        if (lang_yyparse(p) != 0)
            p->failed = true;
        lang_yylex_destroy(p->scanner);
        s->cut_off |= p->stop || p->too_deep;
    }
    s->broken |= p->failed;
    if (p->outer) {
        p->outer->failed |= p->failed;
        p->outer->last_stmt = p->last_stmt;
    }
    buf_free(&p->string);
    vec_free(&p->told);
}

static bool parse_fits(Parse *p, size_t len) {
    if (len > PARSE_MAX_BYTES)
        parse_error(p, DIAG_SCRIPT_SIZE, (Span){p->file, 0, 0},
                    "the script has %zu bytes, more than %d", len, PARSE_MAX_BYTES);
    return len <= PARSE_MAX_BYTES;
}

bool lang_check_syntax(const char *text, size_t len, DiagFileId file, Diags *diags) {
    Script s = {.file = file};
    Parse p = {.script = &s,
               .diags = diags,
               .text = text,
               .len = (uint32_t)len,
               .file = file,
               .alone = PARSE_ALONE};
    if (parse_fits(&p, len))
        parse_file(&p);
    script_free(&s);
    return !p.failed;
}

void lang_tokens(const char *text, size_t len, ScriptTokens *out) {
    union LANG_YYSTYPE value;
    Script s = {0};
    Diags diags = {0};
    Span span;
    Parse p = {.script = &s, .diags = &diags, .text = text, .len = (uint32_t)len};
    lang_yylex_init_extra(&p, &p.scanner);
    lang_yy_scan_bytes(text, (int)len, p.scanner);
    for (int kind; (kind = lang_yylex(&value, &span, &p)) != END;)
        vec_push(out, ((ScriptToken){span.start, span.end, kind}));
    lang_yylex_destroy(p.scanner);
    buf_free(&p.string);
    script_free(&s);
    diag_free(&diags);
}

bool lang_parse(Script *s, const char *text, size_t len, DiagFileId file, Diags *diags) {
    assert(!s->probes.len && !s->types);
    Parse p = {.script = s, .diags = diags, .text = text, .len = (uint32_t)len, .file = file};
    s->file = file;
    if (!parse_fits(&p, len))
        return false;
    map_put(&s->files.read, str_of(diag_file_name(diags, file)), 0, NULL);
    parse_file(&p);
    if (!p.failed)
        interpolate(&p);
    build_edges(&p);
    if (!p.failed)
        build_stack(&p);
    s->broken |= p.failed;
    return !p.failed;
}

void script_free(Script *s) {
    type_table_free(s);
    vec_free(&s->uses);
    vec_free(&s->vars);
    vec_free(&s->constants);
    vec_free(&s->derived);
    vec_free(&s->fns);
    vec_free(&s->probes);
    map_free(&s->files.read);
    vec_free(&s->files.inclusions);
    vec_free(&s->files.packages);
    vec_free(&s->files.package_uses);
    map_free(&s->var_names);
    map_free(&s->fn_names);
    map_free(&s->use_names);
    map_free(&s->frame_names);
    map_free(&s->lost_names);
    map_free(&s->told_names);
    arena_free(&s->arena);
    *s = (Script){0};
}
