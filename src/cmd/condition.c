/*
 * cmd/condition.c - reads and evaluates a condition, in one go.
 */
#include "cmd/condition.h"

#include <ctype.h>
#include <stdio.h>

/* Precise enough for 64 bits on most machines. */
typedef long double Number;

enum { DEPTH_MAX = 200 };

typedef struct Reading {
    const char *text;
    uint32_t at, depth;
    DiagFileId file;
    Diags *diags;
    bool failed;
    WhammcReport *report, *base;
    Buf *used;
} Reading;

static void condition_fail(Reading *x, uint32_t from, uint32_t to, const char *message) {
    if (!x->failed)
        diag(x->diags, DIAG_CONDITION, (Span){x->file, from, to > from ? to : from + 1}, "%s",
             message);
    x->failed = true;
}

static void condition_blanks(Reading *x) {
    while (isspace((unsigned char)x->text[x->at]))
        x->at++;
}

/* Skips an operator; false if it is not there. */
static bool condition_take(Reading *x, const char *op) {
    condition_blanks(x);
    size_t n = strlen(op);
    if (strncmp(x->text + x->at, op, n) != 0)
        return false;
    x->at += (uint32_t)n;
    return true;
}

/* ---- names ---- */

/* Adds up numbers; false if there is another value. */
static bool condition_add_value(const WhammcValue *v, Number *sum) {
    switch (v->kind) {
    case WHAMMC_VALUE_UNSIGNED:
    case WHAMMC_VALUE_BOOL: *sum += (Number)v->as.u; return true;
    case WHAMMC_VALUE_SIGNED: *sum += (Number)v->as.i; return true;
    case WHAMMC_VALUE_FLOAT: *sum += (Number)v->as.f; return true;
    case WHAMMC_VALUE_MAP: /* key, value, key, value ... */
        for (size_t i = 1; i < v->size; i += 2)
            if (v->as.parts[i].kind == WHAMMC_VALUE_MAP ||
                !condition_add_value(&v->as.parts[i], sum))
                return false;
        return true;
    case WHAMMC_VALUE_BUCKETS: /* low, high, count ... */
        for (size_t i = 2; i < v->size; i += 3)
            condition_add_value(&v->as.parts[i], sum);
        return true;
    default: return false;
    }
}

static const char *total(WhammcReport *r, Str name, Number *sum) {
    size_t n, nvars;
    const WhammcRow *rows = whammc_report_rows(r, &n);
    const WhammcVariable *vars = whammc_report_variables(r, &nvars);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        const WhammcVariable *var = &vars[rows[i].variable];
        if (!str_is(name, var->name) || (var->formula && rows[i].has_place))
            continue;
        if (found && var->formula)
            return "expected one value, but this derived column has one for each module or thread";
        found = true;
        const WhammcValue *v = whammc_report_value(r, i);
        if (!v || !condition_add_value(v, sum))
            return "expected a number, or a map of numbers, but this variable is something else";
    }
    return found ? NULL : "expected a variable of the report; it has none with this name";
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static Number read_name(Reading *x) {
    static const char of_base[] = "base.";
    uint32_t from = x->at;
    bool base = strncmp(x->text + from, of_base, sizeof of_base - 1) == 0;
    if (base)
        x->at += sizeof of_base - 1;
    Str name = {x->text + x->at, 0};
    while (is_name(x->text[x->at]))
        x->at++, name.len++;
    Number sum = 0;
    const char *wrong = base && !x->base
                            ? "expected --base=REPORT as well: there is no report to compare with"
                            : total(base ? x->base : x->report, name, &sum);
    if (wrong)
        condition_fail(x, from, x->at, wrong);
    else
        buf_printf(x->used, "%s%.*s = %.17Lg", x->used->len ? ", " : "", (int)(x->at - from),
                   x->text + from, sum);
    return sum;
}

/* ---- expressions ---- */

static Number read_or(Reading *x);

static Number read_primary(Reading *x) {
    condition_blanks(x);
    char c = x->text[x->at];
    uint32_t from = x->at;
    if (x->depth++ > DEPTH_MAX) {
        condition_fail(x, from, from, "the condition is nested too deeply");
    } else if (condition_take(x, "(")) {
        Number v = read_or(x);
        if (!x->failed && !condition_take(x, ")"))
            condition_fail(x, x->at, x->at, "expected ')'");
        x->depth--;
        return v;
    } else if (condition_take(x, "-")) {
        Number v = -read_primary(x);
        x->depth--;
        return v;
    } else if (isdigit((unsigned char)c)) {
        char *end;
        Number v = strtold(x->text + x->at, &end);
        x->at = (uint32_t)(end - x->text);
        if (is_name(*end))
            condition_fail(x, from, x->at + 1, "expected a number");
        x->depth--;
        return v;
    } else if (is_name(c)) {
        Number v = read_name(x);
        x->depth--;
        return v;
    } else {
        condition_fail(x, from, from, "expected a number, a variable or '('");
    }
    return 0;
}

static Number read_product(Reading *x) {
    Number v = read_primary(x);
    while (!x->failed)
        if (condition_take(x, "*"))
            v *= read_primary(x);
        else if (condition_take(x, "/"))
            v /= read_primary(x);
        else
            break;
    return v;
}

static Number read_sum(Reading *x) {
    Number v = read_product(x);
    while (!x->failed)
        if (condition_take(x, "+"))
            v += read_product(x);
        else if (condition_take(x, "-"))
            v -= read_product(x);
        else
            break;
    return v;
}

static Number read_comparison(Reading *x) {
    Number a = read_sum(x);
    if (x->failed)
        return 0;
    if (condition_take(x, "<="))
        return a <= read_sum(x);
    if (condition_take(x, ">="))
        return a >= read_sum(x);
    if (condition_take(x, "=="))
        return a == read_sum(x);
    if (condition_take(x, "!="))
        return a != read_sum(x);
    if (condition_take(x, "<"))
        return a < read_sum(x);
    if (condition_take(x, ">"))
        return a > read_sum(x);
    return a;
}

static Number read_and(Reading *x) {
    Number v = read_comparison(x);
    while (!x->failed && condition_take(x, "&&")) {
        Number next = read_comparison(x);
        v = v != 0 && next != 0;
    }
    return v;
}

static Number read_or(Reading *x) {
    Number v = read_and(x);
    while (!x->failed && condition_take(x, "||")) {
        Number next = read_and(x);
        v = v != 0 || next != 0;
    }
    return v;
}

bool condition_holds(const char *text, WhammcReport *report, WhammcReport *base, Buf *used,
                     Diags *diags) {
    size_t len = strlen(text);
    Reading x = {.text = text,
                 .file = diag_file(diags, "--fail-if", text, len, false),
                 .diags = diags,
                 .report = report,
                 .base = base,
                 .used = used};
    Number v = read_or(&x);
    condition_blanks(&x);
    if (!x.failed && x.text[x.at])
        condition_fail(&x, x.at, x.at, "expected an operator, or the end");
    return !x.failed && v != 0;
}
