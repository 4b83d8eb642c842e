/*
 * lang/define.c - values that constants of a script get from outside.
 */
#include "lang/parse.h"
#include "whamm-parse.h"

/* Declarations of flex for the prefix lang_yy. */
int lang_yylex_init_extra(struct Parse *extra, void **scanner);
struct yy_buffer_state *lang_yy_scan_bytes(const char *bytes, int len, void *scanner);
int lang_yylex_destroy(void *scanner);

/* The value as a literal, which the checker will compare with the type; NULL if it is none. */
static Expr *read_literal(Parse *p) {
    union LANG_YYSTYPE value;
    Span span, end;
    lang_yylex_init_extra(p, &p->scanner);
    lang_yy_scan_bytes(p->text + p->pos, (int)(p->len - p->pos), p->scanner);
    int token = lang_yylex(&value, &span, p);
    Span minus = span;
    bool negative = token == '-'; /* of -0x1 and the like: else it is a part of the literal */
    if (negative)
        token = lang_yylex(&value, &span, p);
    bool alone = token != END && lang_yylex(&value, &end, p) == END;
    lang_yylex_destroy(p->scanner);
    buf_free(&p->string);
    if (!alone || p->failed)
        return NULL;
    switch (token) {
    case INT:
    case FLOAT: {
        Expr *e = token == INT ? build_int(p, span) : build_float(p, span);
        return negative ? build_minus(p, minus, e) : e;
    }
    case TRUE:
    case FALSE: return negative ? NULL : build_bool(p, span, token == TRUE);
    default: return NULL;
    }
}

static Expr *text_literal(Parse *p) {
    Span span = {p->file, p->pos, p->len};
    buf_bytes(&p->string, p->text + p->pos, p->len - p->pos);
    Expr *e = build_string(p, span);
    buf_free(&p->string);
    return e;
}

/* Whether a literal can be the value of a constant of the type, apart from its range. */
static bool suits(const Expr *e, const Type *t) {
    switch (e->kind) {
    case EXPR_INT: return type_is_numeric(t);
    case EXPR_FLOAT: return type_is_float(t);
    case EXPR_BOOL: return t->kind == TYPE_BOOL;
    default: return t->kind == TYPE_STR;
    }
}

static void wrong_value(const Parse *p, const Var *v, Span span) {
    uint32_t len = span.end - span.start;
    const Type *t = v->type;
    Diag *g =
        diag(p->diags, DIAG_BAD_DEFINITION, span, "expected %s for the constant '%.*s', %s%.*s%s",
             t->kind == TYPE_BOOL ? "true or false"
             : type_is_float(t)   ? "a number"
                                  : "an integer",
             STR_ARG(v->name), len ? "found '" : "found nothing", len > 40 ? 40 : (int)len,
             p->text + span.start,
             len > 40 ? "...'"
             : len    ? "'"
                      : "");
    diag_label(p->diags, g, v->type_span, "declared as %s", t->text);
}

bool lang_define(Script *s, Str definition, DiagFileId file, Diags *diags) {
    const char *equals = memchr(definition.ptr, '=', definition.len);
    uint32_t len = equals ? (uint32_t)(equals - definition.ptr) : definition.len;
    Var *v = NULL;
    for (uint32_t i = 0; i < s->constants.len && !v; i++)
        if (str_eq(script_own_name(s, script_package(s, s->constants.at[i]->span.file),
                                   s->constants.at[i]->name),
                   (Str){definition.ptr, len}))
            v = s->constants.at[i];
    if (!v)
        return false;
    uint32_t start = equals ? len + 1 : len;
    Span span = {file, start, definition.len};
    /* Errors of the scanner are not worth more than that the value is none. */
    Diags unread = {0};
    Parse p = {.script = s,
               .diags = &unread,
               .text = definition.ptr,
               .len = definition.len,
               .file = file,
               .pos = start};
    Expr *e = v->type->kind == TYPE_STR ? text_literal(&p) : read_literal(&p);
    diag_free(&unread);
    p.diags = diags;
    if (v->type->kind != TYPE_ERROR && (!e || !suits(e, v->type)))
        wrong_value(&p, v, span);
    else if (e)
        v->init = e;
    return true;
}
