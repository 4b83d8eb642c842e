/*
 * api/api_define.c - constants of scripts: setting and listing them.
 */
#include "api/api.h"

void whammc_define(whammc *w, const char *name, const char *value) {
    Buf text = {0};
    buf_printf(&text, "%s=%s", name, value);
    vec_push(&w->definitions, api_copy(text.data, text.len));
    buf_free(&text);
}

/* Adds the existing constants to the message about a definition of a missing one. */
static void hint_constants(whammc *w, Diag *g) {
    Buf text = {0};
    for (uint32_t i = 0; i < w->scripts.len; i++) {
        const Script *s = w->scripts.at[i];
        for (uint32_t k = 0; k < s->constants.len; k++) {
            const Var *v = s->constants.at[k];
            buf_printf(&text, "%s%.*s (%s)", text.len ? ", " : "", STR_ARG(v->name), v->type->text);
        }
    }
    if (text.len)
        diag_hint(&w->diags, g, "there are %s", buf_cstr(&text));
    else
        diag_hint(&w->diags, g, "the scripts have no constants: const NAME: TYPE = VALUE;");
    buf_free(&text);
}

void api_define(whammc *w) {
    bool whole = true; /* all constants are known */
    for (uint32_t i = 0; i < w->scripts.len; i++)
        whole &= !w->scripts.at[i]->broken;
    for (uint32_t i = 0; i < w->definitions.len; i++) {
        Str text = str_of(w->definitions.at[i]);
        DiagFileId file = diag_file(&w->diags, "<define>", text.ptr, text.len, false);
        bool found = false;
        for (uint32_t k = 0; k < w->scripts.len; k++)
            found |= lang_define(w->scripts.at[k], text, file, &w->diags);
        if (found || !whole)
            continue;
        uint32_t len = (uint32_t)strcspn(text.ptr, "=");
        Diag *g = diag(&w->diags, DIAG_BAD_DEFINITION, (Span){file, 0, len},
                       "no script has a constant '%.*s'", (int)len, text.ptr);
        hint_constants(w, g);
    }
}

/* The value of a constant as text; NULL if it has no valid one. */
static const char *api_define_value_of(whammc *w, const Var *v) {
    Buf text = {0};
    const Expr *e = v->init;
    if (e->type != v->type)
        return NULL;
    switch (e->kind) {
    case EXPR_BOOL: buf_printf(&text, e->boolean ? "true" : "false"); break;
    case EXPR_STR: buf_str(&text, e->text); break;
    case EXPR_FLOAT: buf_printf(&text, "%.17g", e->real); break;
    default:
        if (type_is_signed(e->type))
            buf_printf(&text, "%lld", (long long)e->integer);
        else
            buf_printf(&text, "%llu", (unsigned long long)e->integer);
    }
    const char *copy = arena_strndup(&w->read.names, (const char *)text.data, text.len);
    buf_free(&text);
    return copy;
}

const whammc_constant *whammc_constants(whammc *w, size_t *n) {
    w->read.constants.len = 0;
    for (uint32_t i = 0; i < w->scripts.len; i++) {
        const Script *s = w->scripts.at[i];
        for (uint32_t k = 0; k < s->constants.len; k++) {
            const Var *v = s->constants.at[k];
            const char *name = arena_strndup(&w->read.names, v->name.ptr, v->name.len);
            vec_push(&w->read.constants,
                     ((whammc_constant){diag_file_name(&w->diags, v->span.file), name,
                                        v->type->text, api_define_value_of(w, v)}));
        }
    }
    *n = w->read.constants.len;
    return w->read.constants.at;
}
