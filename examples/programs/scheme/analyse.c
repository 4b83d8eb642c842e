/*
 * analyse.c - the first half of the compiler: expands macros and special forms, finds what each
 * name means.
 *
 * Special forms are only special where no local variable has their name. A body's internal
 * definitions become one recursive LET. Whether a variable needs a box is known when the whole form
 * has been read.
 */
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 600, POOL_BLOCK = 16 * 1024, MAX_EXPANSIONS = 1000 };

typedef struct PoolBlock {
    struct PoolBlock *next;
    _Alignas(16) char bytes[];
} PoolBlock;

void *pool_new(Pool *p, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (!p->blocks || p->size - p->used < size) {
        p->size = size > POOL_BLOCK ? size : POOL_BLOCK;
        PoolBlock *b = calloc(1, sizeof *b + p->size);
        if (!b) {
            fprintf(stderr, "scheme: out of memory\n");
            exit(70);
        }
        b->next = p->blocks;
        p->blocks = b;
        p->used = 0;
    }
    void *result = p->blocks->bytes + p->used;
    p->used += size;
    return result;
}

void pool_free(Pool *p) {
    while (p->blocks) {
        PoolBlock *next = p->blocks->next;
        free(p->blocks);
        p->blocks = next;
    }
}

/* Local variables that are visible at a place. */
typedef struct Scope {
    struct Scope *outer;
    Variable **variables;
    uint32_t len;
} Scope;

typedef struct Analysis {
    Vm *vm;
    Heap *heap;
    Pool *pool;
    Lambda *lambda; /* the innermost */
    uint32_t depth;
} Analysis;

typedef Node *SpecialForm(Analysis *a, Scope *scope, Value form);

static Node *analyse(Analysis *a, Scope *scope, Value form);
static Node *analyse_body(Analysis *a, Scope *scope, Value body);

static Node *wrong(Analysis *a, const char *message, Value form) {
    vm_fail(a->vm, message, form, UNBOUND);
    return NULL;
}

static Value symbol(Analysis *a, const char *name) {
    return intern(a->heap, name, strlen(name));
}

static bool is_named(Value v, const char *name) {
    return is_symbol(v) && strcmp(AS(Symbol, v)->name, name) == 0;
}

/* --- Nodes and variables --- */

static Node *node_new(Analysis *a, NodeKind kind, uint32_t kids) {
    Node *n = pool_new(a->pool, sizeof *n);
    n->kind = kind;
    n->len = kids;
    n->kids = pool_new(a->pool, (kids + 1) * sizeof *n->kids);
    return n;
}

static Node *constant(Analysis *a, Value v) {
    Node *n = node_new(a, NODE_CONSTANT, 0);
    n->value = v;
    return n;
}

static Variable *variable_new(Analysis *a, Value name) {
    Variable *v = pool_new(a->pool, sizeof *v);
    v->name = name;
    v->owner = a->lambda;
    return v;
}

static Variable *look_up(Scope *scope, Value name) {
    for (; scope; scope = scope->outer)
        for (uint32_t i = scope->len; i-- > 0;)
            if (scope->variables[i]->name == name)
                return scope->variables[i];
    return NULL;
}

/* Notes that the lambdas from here up to the variable's owner need its value. */
static void capture(Analysis *a, Variable *v) {
    for (Lambda *l = a->lambda; l != v->owner; l = l->outer) {
        v->captured = true;
        bool known = false;
        for (uint32_t i = 0; i < l->free_len; i++)
            known |= l->free[i] == v;
        if (known)
            continue;
        if (l->free_len == l->free_cap) {
            Variable **more = pool_new(a->pool, (l->free_cap * 2 + 4) * sizeof *more);
            if (l->free_len)
                memcpy(more, l->free, l->free_len * sizeof *more);
            l->free = more;
            l->free_cap = l->free_cap * 2 + 4;
        }
        l->free[l->free_len++] = v;
    }
}

static Node *reference(Analysis *a, Scope *scope, Value name) {
    Variable *v = look_up(scope, name);
    Node *n = node_new(a, v ? NODE_LOCAL : NODE_GLOBAL, 0);
    n->value = name;
    n->variable = v;
    if (v)
        capture(a, v);
    return n;
}

/* Analyses the elements of a list into kids from `first`. */
static bool analyse_all(Analysis *a, Scope *scope, Node *n, uint32_t first, Value list) {
    for (; is_pair(list); list = cdr(list), first++)
        if (!(n->kids[first] = analyse(a, scope, car(list))))
            return false;
    return true;
}

/* --- Special forms --- */

static Node *special_quote(Analysis *a, Scope *scope, Value form) {
    (void)scope;
    return list_length(form) == 2 ? constant(a, cadr(form))
                                  : wrong(a, "quote: one datum expected", form);
}

static Node *special_if(Analysis *a, Scope *scope, Value form) {
    int32_t len = list_length(form);
    if (len != 3 && len != 4)
        return wrong(a, "if: a condition and one or two expressions expected", form);
    Node *n = node_new(a, NODE_IF, 3);
    n->kids[2] = constant(a, UNSPECIFIED);
    return analyse_all(a, scope, n, 0, cdr(form)) ? n : NULL;
}

static Node *special_begin(Analysis *a, Scope *scope, Value form) {
    int32_t len = list_length(form);
    if (len < 1)
        return wrong(a, "begin: a list expected", form);
    if (len == 1)
        return constant(a, UNSPECIFIED);
    Node *n = node_new(a, NODE_SEQUENCE, (uint32_t)len - 1);
    return analyse_all(a, scope, n, 0, cdr(form)) ? n : NULL;
}

static Node *special_and(Analysis *a, Scope *scope, Value form) {
    Value rest = cdr(form);
    if (rest == NIL)
        return constant(a, TRUE);
    if (cdr(rest) == NIL)
        return analyse(a, scope, car(rest));
    Node *n = node_new(a, NODE_IF, 3);
    n->kids[2] = constant(a, FALSE);
    return (n->kids[0] = analyse(a, scope, car(rest))) && (n->kids[1] = special_and(a, scope, rest))
               ? n
               : NULL;
}

static Node *special_or(Analysis *a, Scope *scope, Value form) {
    int32_t len = list_length(form);
    if (len < 1)
        return wrong(a, "or: a list expected", form);
    if (len == 1)
        return constant(a, FALSE);
    if (len == 2)
        return analyse(a, scope, cadr(form));
    Node *n = node_new(a, NODE_OR, (uint32_t)len - 1);
    return analyse_all(a, scope, n, 0, cdr(form)) ? n : NULL;
}

/* The parameters of a lambda: a list of symbols, perhaps with a dotted end, or one symbol. */
static bool add_parameters(Analysis *a, Lambda *l, Scope *scope, Value list, Value form) {
    uint32_t count = 0;
    for (Value v = list; is_pair(v); v = cdr(v))
        count++;
    l->required = count;
    l->parameters = pool_new(a->pool, (count + 1) * sizeof *l->parameters);
    count = 0;
    for (; list != NIL; list = is_pair(list) ? cdr(list) : NIL) {
        Value name = is_pair(list) ? car(list) : list;
        l->rest = !is_pair(list);
        if (!is_symbol(name)) {
            wrong(a, "lambda: a parameter is not a name", form);
            return false;
        }
        Variable *v = variable_new(a, name);
        v->slot = (uint16_t)count;
        l->parameters[count++] = v;
    }
    scope->variables = l->parameters;
    scope->len = count;
    return true;
}

static Node *make_lambda(Analysis *a, Scope *scope, Value name, Value parameters, Value body,
                         Value form) {
    Node *n = node_new(a, NODE_LAMBDA, 0);
    Lambda *l = n->lambda = pool_new(a->pool, sizeof *l);
    l->outer = a->lambda;
    l->name = name;
    a->lambda = l;
    Scope inner = {scope, NULL, 0};
    bool good =
        add_parameters(a, l, &inner, parameters, form) && (l->body = analyse_body(a, &inner, body));
    a->lambda = l->outer;
    return good ? n : NULL;
}

static Node *special_lambda(Analysis *a, Scope *scope, Value form) {
    if (list_length(form) < 3)
        return wrong(a, "lambda: parameters and a body expected", form);
    return make_lambda(a, scope, FALSE, cadr(form), cddr(form), form);
}

/* A value that gets a name: lambdas are called by it in messages. */
static Node *analyse_named(Analysis *a, Scope *scope, Value name, Value form) {
    if (list_length(form) >= 3 && is_named(car(form), "lambda") && !look_up(scope, car(form)))
        return make_lambda(a, scope, name, cadr(form), cddr(form), form);
    return analyse(a, scope, form);
}

/* (define name value) or (define (name parameters) body): gives the name and what is analysed for
 * it. */
static bool split_define(Analysis *a, Value form, Value *name, Value *value) {
    if (list_length(form) < 2)
        return wrong(a, "define: a name and a value expected", form), false;
    Value target = cadr(form);
    if (is_pair(target)) {
        *name = car(target);
        *value = cons(a->heap, symbol(a, "lambda"), cons(a->heap, cdr(target), cddr(form)));
        if (cddr(form) == NIL)
            return wrong(a, "define: a body expected", form), false;
        if (is_pair(*name)) { /* (define ((f a) b) ...): a function that gives a function */
            Value inner =
                cons(a->heap, car(form), cons(a->heap, *name, cons(a->heap, *value, NIL)));
            return split_define(a, inner, name, value);
        }
    } else {
        *name = target;
        *value = cddr(form) == NIL ? UNSPECIFIED : car(cddr(form));
    }
    return is_symbol(*name) || (wrong(a, "define: what is defined is not a name", form), false);
}

static Node *special_define(Analysis *a, Scope *scope, Value form) {
    Value name, value;
    if (scope)
        return wrong(a, "define: not allowed after expressions", form);
    if (!split_define(a, form, &name, &value))
        return NULL;
    Node *n = node_new(a, NODE_DEFINE, 1);
    n->value = name;
    AS(Symbol, name)->macro = FALSE;
    return (n->kids[0] = analyse_named(a, scope, name, value)) ? n : NULL;
}

static Node *special_set(Analysis *a, Scope *scope, Value form) {
    if (list_length(form) != 3 || !is_symbol(cadr(form)))
        return wrong(a, "set!: a name and a value expected", form);
    Node *n = reference(a, scope, cadr(form));
    n->kind = n->variable ? NODE_SET_LOCAL : NODE_SET_GLOBAL;
    n->len = 1;
    n->kids = pool_new(a->pool, sizeof *n->kids);
    if (n->variable)
        n->variable->assigned = true;
    return (n->kids[0] = analyse(a, scope, car(cddr(form)))) ? n : NULL;
}

/* A LET of lists of names and values; both lists have the same length. */
static Node *make_let(Analysis *a, Scope *scope, Value names, Value values, Value body,
                      bool recursive) {
    uint32_t count = (uint32_t)list_length(names);
    Node *n = node_new(a, NODE_LET, count + 1);
    n->recursive = recursive;
    n->variables = pool_new(a->pool, (count + 1) * sizeof *n->variables);
    Scope inner = {scope, n->variables, count};
    uint32_t i = 0;
    for (Value v = names; v != NIL; v = cdr(v)) {
        n->variables[i] = variable_new(a, car(v));
        n->variables[i++]->assigned = recursive;
    }
    i = 0;
    for (Value v = values; v != NIL; v = cdr(v), names = cdr(names))
        if (!(n->kids[i++] = analyse_named(a, recursive ? &inner : scope, car(names), car(v))))
            return NULL;
    return (n->kids[count] = analyse_body(a, &inner, body)) ? n : NULL;
}

/* Splits ((name value) ...); false if it is something else. */
static bool split_bindings(Analysis *a, Value bindings, Value *names, Value *values, Value form) {
    Value name_list = NIL, value_list = NIL;
    bool good = list_length(bindings) >= 0;
    for (; good && bindings != NIL; bindings = cdr(bindings)) {
        Value b = car(bindings);
        good = list_length(b) == 2 && is_symbol(car(b));
        if (good) {
            name_list = cons(a->heap, car(b), name_list);
            value_list = cons(a->heap, cadr(b), value_list);
        }
    }
    *names = *values = NIL;
    for (; name_list != NIL; name_list = cdr(name_list), value_list = cdr(value_list)) {
        *names = cons(a->heap, car(name_list), *names);
        *values = cons(a->heap, car(value_list), *values);
    }
    return good || (wrong(a, "a binding is (name value)", form), false);
}

/* (let name ((v x) ...) body): ((letrec ((name (lambda (v ...) body))) name) x ...) */
static Node *named_let(Analysis *a, Scope *scope, Value form) {
    Value names, values, name = cadr(form), rest = cddr(form);
    if (list_length(rest) < 2 || !split_bindings(a, car(rest), &names, &values, form))
        return list_length(rest) < 2 ? wrong(a, "let: bindings and a body expected", form) : NULL;
    Heap *h = a->heap;
    Value lambda = cons(h, symbol(a, "lambda"), cons(h, names, cdr(rest)));
    Node *call = node_new(a, NODE_CALL, (uint32_t)list_length(values) + 1);
    call->kids[0] =
        make_let(a, scope, cons(h, name, NIL), cons(h, lambda, NIL), cons(h, name, NIL), true);
    return call->kids[0] && analyse_all(a, scope, call, 1, values) ? call : NULL;
}

static Node *analyse_let(Analysis *a, Scope *scope, Value form, bool recursive) {
    Value names, values;
    if (list_length(form) < 3)
        return wrong(a, "let: bindings and a body expected", form);
    if (!split_bindings(a, cadr(form), &names, &values, form))
        return NULL;
    return make_let(a, scope, names, values, cddr(form), recursive);
}

static Node *special_let(Analysis *a, Scope *scope, Value form) {
    if (list_length(form) > 1 && is_symbol(cadr(form)))
        return named_let(a, scope, form);
    return analyse_let(a, scope, form, false);
}

static Node *special_letrec(Analysis *a, Scope *scope, Value form) {
    return analyse_let(a, scope, form, true);
}

/* One let inside the other. */
static Node *special_let_star(Analysis *a, Scope *scope, Value form) {
    if (list_length(form) < 3)
        return wrong(a, "let*: bindings and a body expected", form);
    Value bindings = cadr(form);
    if (!is_pair(bindings) || cdr(bindings) == NIL)
        return analyse_let(a, scope, form, false);
    Heap *h = a->heap;
    Value inner = cons(h, car(form), cons(h, cdr(bindings), cddr(form)));
    Value outer = cons(h, car(form), cons(h, cons(h, car(bindings), NIL), cons(h, inner, NIL)));
    return analyse_let(a, scope, outer, false);
}

static Node *special_cond(Analysis *a, Scope *scope, Value form) {
    Value rest = cdr(form);
    if (rest == NIL)
        return constant(a, UNSPECIFIED);
    Value clause = is_pair(rest) ? car(rest) : NIL;
    if (list_length(clause) < 1)
        return wrong(a, "cond: a clause is (condition expression ...)", form);
    Heap *h = a->heap;
    if (is_named(car(clause), "else"))
        return special_begin(a, scope, cons(h, car(form), cdr(clause)));
    Value others = cons(h, car(form), cdr(rest));
    if (cdr(clause) == NIL) {
        Node *n = node_new(a, NODE_OR, 2);
        return (n->kids[0] = analyse(a, scope, car(clause))) &&
                       (n->kids[1] = special_cond(a, scope, others))
                   ? n
                   : NULL;
    }
    if (is_named(cadr(clause), "=>") && list_length(clause) == 3) {
        Value temporary = symbol(a, "cond value");
        Value call = cons(h, car(cddr(clause)), cons(h, temporary, NIL));
        Value test =
            cons(h, symbol(a, "if"), cons(h, temporary, cons(h, call, cons(h, others, NIL))));
        return make_let(a, scope, cons(h, temporary, NIL), cons(h, car(clause), NIL),
                        cons(h, test, NIL), false);
    }
    Node *n = node_new(a, NODE_IF, 3);
    n->kids[0] = analyse(a, scope, car(clause));
    n->kids[1] = n->kids[0] ? special_begin(a, scope, clause) : NULL;
    n->kids[2] = n->kids[1] ? special_cond(a, scope, others) : NULL;
    return n->kids[2] ? n : NULL;
}

static Value list3(Heap *h, Value x, Value y, Value z) {
    return cons(h, x, cons(h, y, cons(h, z, NIL)));
}

/* A form that builds what a quasiquoted template describes. */
static Value expand_quasiquote(Analysis *a, Value t, uint32_t level) {
    Heap *h = a->heap;
    Value quote = symbol(a, "quote");
    if (!is_pair(t) || level > MAX_DEPTH)
        return cons(h, quote, cons(h, t, NIL));
    if (is_named(car(t), "unquote") && list_length(t) == 2)
        return level == 1 ? cadr(t)
                          : list3(h, symbol(a, "list"), cons(h, quote, cons(h, car(t), NIL)),
                                  expand_quasiquote(a, cadr(t), level - 1));
    if (is_named(car(t), "quasiquote") && list_length(t) == 2)
        return list3(h, symbol(a, "list"), cons(h, quote, cons(h, car(t), NIL)),
                     expand_quasiquote(a, cadr(t), level + 1));
    Value first = car(t);
    Value rest = expand_quasiquote(a, cdr(t), level);
    if (level == 1 && is_pair(first) && is_named(car(first), "unquote-splicing") &&
        list_length(first) == 2)
        return list3(h, symbol(a, "append"), cadr(first), rest);
    return list3(h, symbol(a, "cons"), expand_quasiquote(a, first, level), rest);
}

static Node *special_quasiquote(Analysis *a, Scope *scope, Value form) {
    if (list_length(form) != 2)
        return wrong(a, "quasiquote: one template expected", form);
    return analyse(a, scope, expand_quasiquote(a, cadr(form), 1));
}

static Node *special_define_syntax(Analysis *a, Scope *scope, Value form) {
    (void)scope;
    if (list_length(form) != 3 || !is_symbol(cadr(form)))
        return wrong(a, "define-syntax: a name and syntax-rules expected", form);
    Value macro = macro_new(a->vm, car(cddr(form)));
    if (macro == FAILED)
        return NULL;
    AS(Symbol, cadr(form))->macro = macro;
    return constant(a, UNSPECIFIED);
}

static const struct {
    const char *name;
    SpecialForm *analyse;
} special_forms[] = {
    {"quote", special_quote},
    {"if", special_if},
    {"define", special_define},
    {"set!", special_set},
    {"lambda", special_lambda},
    {"begin", special_begin},
    {"let", special_let},
    {"let*", special_let_star},
    {"letrec", special_letrec},
    {"letrec*", special_letrec},
    {"and", special_and},
    {"or", special_or},
    {"cond", special_cond},
    {"quasiquote", special_quasiquote},
    {"define-syntax", special_define_syntax},
};

static SpecialForm *find_special(Scope *scope, Value head) {
    if (!is_symbol(head) || look_up(scope, head))
        return NULL;
    for (size_t i = 0; i < sizeof special_forms / sizeof *special_forms; i++)
        if (is_named(head, special_forms[i].name))
            return special_forms[i].analyse;
    return NULL;
}

/* --- Bodies, macros and calls --- */

/* Applies macros to a form until its head is none; FAILED if that goes wrong. */
static Value expand_head(Analysis *a, Scope *scope, Value form) {
    for (int i = 0; is_pair(form) && is_symbol(car(form)) && !look_up(scope, car(form)); i++) {
        Value macro = AS(Symbol, car(form))->macro;
        if (macro == FALSE)
            return form;
        if (i == MAX_EXPANSIONS)
            return vm_fail(a->vm, "a macro expands forever", form, UNBOUND);
        form = macro_expand(a->vm, AS(Macro, macro), form);
        if (form == FAILED)
            return FAILED;
    }
    return form;
}

/* Takes definitions off the start of a body. Gives the rest, or FAILED. */
static Value take_definitions(Analysis *a, Scope *scope, Value body, Value *names, Value *values) {
    while (is_pair(body)) {
        Value form = expand_head(a, scope, car(body));
        if (form == FAILED)
            return FAILED;
        if (is_pair(form) && find_special(scope, car(form)) == special_begin && cdr(form) != NIL) {
            Value spliced = cdr(body);
            Value reversed = NIL;
            for (Value v = cdr(form); is_pair(v); v = cdr(v))
                reversed = cons(a->heap, car(v), reversed);
            for (; is_pair(reversed); reversed = cdr(reversed))
                spliced = cons(a->heap, car(reversed), spliced);
            body = spliced;
            continue;
        }
        if (!is_pair(form) || find_special(scope, car(form)) != special_define)
            return cons(a->heap, form, cdr(body));
        Value name, value;
        if (!split_define(a, form, &name, &value))
            return FAILED;
        *names = cons(a->heap, name, *names);
        *values = cons(a->heap, value, *values);
        body = cdr(body);
    }
    return body;
}

static Value reverse(Heap *h, Value list) {
    Value result = NIL;
    for (; is_pair(list); list = cdr(list))
        result = cons(h, car(list), result);
    return result;
}

static Node *analyse_body(Analysis *a, Scope *scope, Value body) {
    Value names = NIL, values = NIL;
    if (list_length(body) < 1)
        return wrong(a, "a body must have an expression", body);
    Value rest = take_definitions(a, scope, body, &names, &values);
    if (rest == FAILED)
        return NULL;
    if (names != NIL)
        return rest == NIL ? wrong(a, "a body must end with an expression", body)
                           : make_let(a, scope, reverse(a->heap, names), reverse(a->heap, values),
                                      rest, true);
    if (cdr(rest) == NIL)
        return analyse(a, scope, car(rest));
    Node *n = node_new(a, NODE_SEQUENCE, (uint32_t)list_length(rest));
    return analyse_all(a, scope, n, 0, rest) ? n : NULL;
}

static Node *analyse_pair(Analysis *a, Scope *scope, Value form) {
    form = expand_head(a, scope, form);
    if (form == FAILED)
        return NULL;
    if (!is_pair(form))
        return analyse(a, scope, form);
    int32_t len = list_length(form);
    if (len < 0)
        return wrong(a, "a call is not a proper list", form);
    SpecialForm *special = find_special(scope, car(form));
    if (special)
        return special(a, scope, form);
    Node *n = node_new(a, NODE_CALL, (uint32_t)len);
    return analyse_all(a, scope, n, 0, form) ? n : NULL;
}

static Node *analyse(Analysis *a, Scope *scope, Value form) {
    if (is_symbol(form))
        return reference(a, scope, form);
    if (form == NIL)
        return wrong(a, "() is not an expression", form);
    if (!is_pair(form))
        return constant(a, form);
    if (a->depth >= MAX_DEPTH)
        return wrong(a, "nested too deeply", UNBOUND);
    a->depth++;
    Node *n = analyse_pair(a, scope, form);
    a->depth--;
    return n;
}

Lambda *analyse_form(Vm *vm, Pool *pool, Value form) {
    Lambda *top = pool_new(pool, sizeof *top);
    top->name = FALSE;
    Analysis a = {.vm = vm, .heap = &vm->heap, .pool = pool, .lambda = top};
    top->body = analyse(&a, NULL, form);
    return top->body ? top : NULL;
}
