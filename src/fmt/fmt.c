/*
 * fmt/fmt.c - formats a script, and compares the result with it.
 */
#include "fmt/fmt.h"

#include "fmt/fmt_parts.h"
#include "lang/lang.h"

/* Whether [a, a_end) and [b, b_end) are the same but for blanks. */
static bool same_but_blanks(const char *a, const char *a_end, const char *b, const char *b_end) {
    for (;; a++, b++) {
        while (a < a_end && fmt_is_blank(*a))
            a++;
        while (b < b_end && fmt_is_blank(*b))
            b++;
        if (a == a_end || b == b_end)
            return a == a_end && b == b_end;
        if (*a != *b)
            return false;
    }
}

/* Whether two scripts have the same tokens and comments; `of_a`: those of the first one. */
static bool fmt_is_same(Str a, const ScriptTokens *of_a, Str b) {
    ScriptTokens of_b = {0};
    lang_tokens(b.ptr, b.len, &of_b);
    bool same = of_a->len == of_b.len;
    uint32_t a_end = 0, b_end = 0;
    for (uint32_t i = 0; i < of_b.len && same; i++) {
        const ScriptToken *s = &of_a->at[i], *t = &of_b.at[i];
        uint32_t n = s->end - s->start;
        same = s->kind == t->kind && n == t->end - t->start &&
               memcmp(a.ptr + s->start, b.ptr + t->start, n) == 0 &&
               same_but_blanks(a.ptr + a_end, a.ptr + s->start, b.ptr + b_end, b.ptr + t->start);
        a_end = s->end;
        b_end = t->end;
    }
    same = same && same_but_blanks(a.ptr + a_end, a.ptr + a.len, b.ptr + b_end, b.ptr + b.len);
    vec_free(&of_b);
    return same;
}

bool fmt_script(const char *text, size_t len, DiagFileId file, Diags *diags, Buf *out) {
    if (!lang_check_syntax(text, len, file, diags))
        return false;
    Str script = {text, (uint32_t)len};
    buf_reserve(out, len + 1);
    size_t before = out->len;
    ScriptTokens found = {0};
    FmtTokens tokens = {0};
    lang_tokens(text, len, &found);
    fmt_tokens(script, &found, &tokens);
    fmt_lines(text, &tokens, out);
    Str made = {(const char *)out->data + before, (uint32_t)(out->len - before)};
    bool same = fmt_is_same(script, &found, made);
    if (!same) {
        out->len = before;
        diag(diags, DIAG_INTERNAL, (Span){file, 0, 0},
             "the formatted script would not be the same");
    }
    vec_free(&found);
    vec_free(&tokens);
    return same;
}
