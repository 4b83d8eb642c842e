/*
 * macro.c - syntax-rules, without hygiene: names in templates mean what they mean where the macro
 * is used.
 */
#include "vm.h"

#include <stdlib.h>

enum { MAX_BINDINGS = 64, MAX_DEPTH = 500 };

/* What a pattern variable stands for: a form or, under `depth` ellipses, a list (of lists ...) of
 * forms. */
typedef struct Binding {
    Value name, value;
    uint32_t depth;
} Binding;

typedef struct Match {
    Vm *vm;
    Value literals, ellipsis, underscore;
    Binding at[MAX_BINDINGS];
    uint32_t len, depth;
    bool failed; /* too many names or too deep */
} Match;

static bool is_literal(const Match *m, Value symbol) {
    for (Value v = m->literals; is_pair(v); v = cdr(v))
        if (car(v) == symbol)
            return true;
    return false;
}

static Binding *find_binding(Match *m, Value name) {
    for (uint32_t i = m->len; i-- > 0;)
        if (m->at[i].name == name)
            return &m->at[i];
    return NULL;
}

static void bind(Match *m, Value name, Value value, uint32_t depth) {
    if (m->len == MAX_BINDINGS)
        m->failed = true;
    else
        m->at[m->len++] = (Binding){name, value, depth};
}

static bool match(Match *m, Value pattern, Value form);

static void collect_names(Match *m, Value pattern, Value *names) {
    if (is_pair(pattern)) {
        collect_names(m, car(pattern), names);
        collect_names(m, cdr(pattern), names);
    } else if (is_symbol(pattern) && pattern != m->ellipsis && pattern != m->underscore &&
               !is_literal(m, pattern)) {
        *names = cons(&m->vm->heap, pattern, *names);
    }
}

static Value reverse(Heap *h, Value list) {
    Value result = NIL;
    for (; is_pair(list); list = cdr(list))
        result = cons(h, car(list), result);
    return result;
}

/* pattern ... rest: as many forms as leave enough for the rest. */
static bool match_ellipsis(Match *m, Value pattern, Value rest, Value form) {
    int32_t need = 0, have = 0;
    for (Value v = rest; is_pair(v); v = cdr(v))
        need++;
    for (Value v = form; is_pair(v); v = cdr(v))
        have++;
    if (have < need)
        return false;
    Heap *h = &m->vm->heap;
    Value names = NIL;
    collect_names(m, pattern, &names);
    uint32_t start = m->len;
    for (Value v = names; v != NIL; v = cdr(v))
        bind(m, car(v), NIL, 1);
    for (int32_t i = have - need; i > 0; i--, form = cdr(form)) {
        uint32_t mark = m->len;
        if (!match(m, pattern, car(form)))
            return false;
        for (uint32_t b = start; b < mark; b++) {
            Binding *found = find_binding(m, m->at[b].name);
            if (found >= &m->at[mark]) {
                m->at[b].value = cons(h, found->value, m->at[b].value);
                m->at[b].depth = found->depth + 1;
            }
        }
        m->len = mark;
    }
    for (uint32_t b = start; b < m->len; b++)
        m->at[b].value = reverse(h, m->at[b].value);
    return match(m, rest, form);
}

static bool match(Match *m, Value pattern, Value form) {
    if (m->failed || m->depth > MAX_DEPTH)
        return false;
    m->depth++;
    bool good;
    if (is_symbol(pattern)) {
        good = is_literal(m, pattern) ? pattern == form : true;
        if (good && pattern != m->underscore && !is_literal(m, pattern))
            bind(m, pattern, form, 0);
    } else if (is_pair(pattern) && is_pair(cdr(pattern)) && cadr(pattern) == m->ellipsis) {
        good = match_ellipsis(m, car(pattern), cddr(pattern), form);
    } else if (is_pair(pattern)) {
        good =
            is_pair(form) && match(m, car(pattern), car(form)) && match(m, cdr(pattern), cdr(form));
    } else {
        good = values_equal(pattern, form);
    }
    m->depth--;
    return good;
}

static Value fill_in(Match *m, Value template);

/* Repeats a template once for each value of the variables under the ellipsis; the results before
 * `rest`. */
static Value fill_in_ellipsis(Match *m, Value template, Value rest) {
    Heap *h = &m->vm->heap;
    Value names = NIL, results = NIL;
    collect_names(m, template, &names);
    uint32_t start = m->len;
    int32_t times = -1;
    for (Value v = names; v != NIL; v = cdr(v)) {
        Binding *b = find_binding(m, car(v));
        if (b && b->depth > 0) {
            int32_t len = list_length(b->value);
            bind(m, car(v), b->value, b->depth);
            times = len > times ? len : times;
        }
    }
    uint32_t end = m->len;
    for (int32_t i = 0; i < times; i++) {
        uint32_t mark = m->len;
        for (uint32_t b = start; b < end; b++)
            if (is_pair(m->at[b].value)) {
                bind(m, m->at[b].name, car(m->at[b].value), m->at[b].depth - 1);
                m->at[b].value = cdr(m->at[b].value);
            }
        results = cons(h, fill_in(m, template), results);
        m->len = mark;
    }
    m->len = start;
    Value all = fill_in(m, rest);
    for (; is_pair(results); results = cdr(results))
        all = cons(h, car(results), all);
    return all;
}

static Value fill_in(Match *m, Value template) {
    if (is_symbol(template)) {
        Binding *b = find_binding(m, template);
        return b ? b->value : template;
    }
    if (!is_pair(template) || m->failed)
        return template;
    if (++m->depth > MAX_DEPTH)
        m->failed = true;
    Value result;
    if (is_pair(cdr(template)) && cadr(template) == m->ellipsis) {
        result = fill_in_ellipsis(m, car(template), cddr(template));
    } else {
        Value first = fill_in(m, car(template));
        result = cons(&m->vm->heap, first, fill_in(m, cdr(template)));
    }
    m->depth--;
    return result;
}

Value macro_new(Vm *vm, Value form) {
    if (list_length(form) < 2 || car(form) != intern(&vm->heap, "syntax-rules", 12))
        return vm_fail(vm, "define-syntax: only syntax-rules is known", form, UNBOUND);
    for (Value v = cddr(form); v != NIL; v = cdr(v))
        if (list_length(car(v)) != 2 || !is_pair(car(car(v))))
            return vm_fail(vm, "syntax-rules: a rule is (pattern template)", car(v), UNBOUND);
    Macro *m = heap_new(&vm->heap, TYPE_MACRO, sizeof *m);
    m->ellipsis_literals = cadr(form);
    m->rules = cddr(form);
    return from_object(m);
}

Value macro_expand(Vm *vm, const Macro *macro, Value form) {
    Match *m = calloc(1, sizeof *m);
    if (!m)
        return vm_fail(vm, "out of memory", UNBOUND, UNBOUND);
    m->vm = vm;
    m->literals = macro->ellipsis_literals;
    m->ellipsis = intern(&vm->heap, "...", 3);
    m->underscore = intern(&vm->heap, "_", 1);
    Value result = FAILED;
    for (Value rule = macro->rules; is_pair(rule) && result == FAILED; rule = cdr(rule)) {
        m->len = m->depth = 0;
        if (match(m, cdr(car(car(rule))), cdr(form))) /* the macro's own name is not matched */
            result = fill_in(m, cadr(car(rule)));
    }
    bool failed = m->failed;
    free(m);
    if (failed)
        return vm_fail(vm, "a macro's form is too large", form, UNBOUND);
    return result == FAILED ? vm_fail(vm, "no rule of the macro matches", form, UNBOUND) : result;
}
