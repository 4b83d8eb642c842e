/*
 * lang/build.c - the constructors of the tree, called by the grammar's actions.
 */
#include "lang/parse.h"

#include <assert.h>

List *list_add(Parse *p, List *list, void *item, Span span) {
    if (!list)
        list = arena_new(&p->script->arena, List);
    ListNode *node = arena_new(&p->script->arena, ListNode);
    *node = (ListNode){item, span, NULL};
    if (list->last)
        list->last->next = node;
    else
        list->head = node;
    list->last = node;
    list->len++;
    return list;
}

/* The items of a list as an array in the arena; NULL if it is empty. */
static void *list_array(Parse *p, const List *list, uint32_t *n) {
    *n = list ? list->len : 0;
    if (!*n)
        return NULL;
    void **items = arena_array(&p->script->arena, void *, *n);
    uint32_t i = 0;
    for (const ListNode *node = list->head; node; node = node->next)
        items[i++] = node->item;
    return items;
}

static Str build_source(const Parse *p, Span span) {
    return (Str){p->text + span.start, span.end - span.start};
}

/* Names that end with '_' are no script's, in text of our own: "(n)" for n_. */
Word build_word(Parse *p, Span span) {
    Str text = build_source(p, span);
    if (p->made && text.len && text.ptr[text.len - 1] == '_')
        text = str_of(arena_printf(&p->script->arena, "(%.*s)", (int)text.len - 1, text.ptr));
    return (Word){text, span};
}

Word build_id(Parse *p, Span span) {
    Word word = build_word(p, span);
    const char *dot = memchr(word.text.ptr, '.', word.text.len);
    if (!dot || p->alone)
        return word;
    Script *s = p->script;
    uint32_t len = (uint32_t)(dot - word.text.ptr);
    const PackageUse *use = script_package_use(s, parse_package(p), (Str){word.text.ptr, len});
    assert(use); /* the scanner has joined the words */
    Str name = {dot + 1, word.text.len - len - 1};
    if (name.ptr[0] == '_') {
        Diag *g = parse_error(p, DIAG_PRIVATE_NAME, span, "'%.*s' is private to the package '%.*s'",
                              STR_ARG(name), STR_ARG(s->files.packages.at[use->package - 1].name));
        diag_hint(p->diags, g, "names that begin with '_' can be used in their package only");
    }
    return (Word){script_own_name(s, use->package, name), span};
}

/* ---- expressions ---- */

static Expr *build_new_expr(Parse *p, ExprKind kind, Span span) {
    Expr *e = arena_new(&p->script->arena, Expr);
    e->kind = kind;
    e->span = span;
    return e;
}

/* Sets the operands of e. Where the tree would get too deep, that is reported and they are left
 * out. */
static Expr *with_args(Parse *p, Expr *e, Expr **args, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (args[i]->depth >= e->depth)
            e->depth = args[i]->depth + 1;
    if (e->depth > LANG_MAX_DEPTH) {
        if (!p->too_deep)
            parse_error(p, DIAG_NESTING, e->span,
                        "this expression is nested too deeply: more than %d levels",
                        LANG_MAX_DEPTH);
        p->failed = p->too_deep = true;
        return build_new_expr(p, EXPR_BROKEN, e->span);
    }
    e->nargs = n;
    e->args = arena_array(&p->script->arena, Expr *, n);
    if (n)
        memcpy(e->args, args, sizeof *args * n);
    return e;
}

static Expr *build_named(Parse *p, ExprKind kind, Span span, Word name) {
    Expr *e = build_new_expr(p, kind, span);
    e->name = name.text;
    e->name_span = name.span;
    return e;
}

static uint32_t digit_value(char c) {
    return c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10);
}

Expr *build_int(Parse *p, Span span) {
    Expr *e = build_new_expr(p, EXPR_INT, span);
    Str s = build_source(p, span);
    uint32_t i = 0, base = 10;
    if (s.len && s.ptr[0] == '-')
        e->negative = true, i = 1;
    if (s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] | 0x20) == 'x')
        base = 16, i = 2;
    else if (s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] | 0x20) == 'b')
        base = 2, i = 2;
    for (; i < s.len; i++) {
        if (s.ptr[i] == '_')
            continue;
        uint32_t digit = digit_value(s.ptr[i]);
        if (e->integer > (UINT64_MAX - digit) / base)
            e->too_big = true;
        e->integer = e->integer * base + digit;
    }
    e->text = s;
    return e;
}

/* The value is computed by the checker, at the width that the context wants. */
Expr *build_float(Parse *p, Span span) {
    Expr *e = build_new_expr(p, EXPR_FLOAT, span);
    e->text = build_source(p, span);
    return e;
}

Expr *build_string(Parse *p, Span span) {
    Expr *e = build_new_expr(p, EXPR_STR, span);
    e->text.len = (uint32_t)p->string.len;
    e->text.ptr = arena_strndup(&p->script->arena, (const char *)p->string.data, p->string.len);
    return e;
}

Expr *build_bool(Parse *p, Span span, bool value) {
    Expr *e = build_new_expr(p, EXPR_BOOL, span);
    e->boolean = value;
    return e;
}

Expr *build_name(Parse *p, Word name) {
    return build_named(p, EXPR_NAME, name.span, name);
}

/* The numbers after the dots. */
static void set_path(Parse *p, Expr *e, const List *path) {
    e->npath = path->len;
    e->path = arena_array(&p->script->arena, uint32_t, path->len);
    uint32_t i = 0;
    for (const ListNode *node = path->head; node; node = node->next) {
        Expr *n = build_int(p, node->span);
        bool fits = !n->negative && !n->too_big && n->integer < UINT32_MAX;
        e->path[i++] = fits ? (uint32_t)n->integer : UINT32_MAX;
    }
}

Expr *build_index(Parse *p, Span span, Word name, Expr *key, List *path) {
    Expr *e = build_named(p, EXPR_INDEX, span, name);
    if (path)
        set_path(p, e, path);
    return with_args(p, e, &key, 1);
}

Expr *build_field(Parse *p, Span span, Word name, List *path) {
    Expr *e = build_named(p, EXPR_FIELD, span, name);
    set_path(p, e, path);
    return e;
}

Expr *build_member(Parse *p, Span span, Expr *of, Word name) {
    return with_args(p, build_named(p, EXPR_MEMBER, span, name), &of, 1);
}

Expr *build_item(Parse *p, Span span, Expr *of, Expr *index) {
    return with_args(p, build_new_expr(p, EXPR_MEMBER, span), (Expr *[]){of, index}, 2);
}

Expr *build_tag(Parse *p, Span span, Word value, Word tag) {
    if (parse_has_members(value.text))
        return build_member(p, span, build_name(p, value), tag);
    Word name = {str_of(arena_printf(&p->script->arena, "%.*s.%.*s", STR_ARG(value.text),
                                     STR_ARG(tag.text))),
                 span};
    Expr *e = build_named(p, EXPR_NAME, span, name);
    e->recv = value.text;
    e->recv_span = value.span;
    return e;
}

Expr *build_unary(Parse *p, Span span, Op op, Expr *a) {
    Expr *e = build_new_expr(p, EXPR_UNARY, span);
    e->op = op;
    return with_args(p, e, &a, 1);
}

Expr *build_binary(Parse *p, Span span, Op op, Expr *a, Expr *b) {
    Expr *e = build_new_expr(p, EXPR_BINARY, span);
    e->op = op;
    return with_args(p, e, (Expr *[]){a, b}, 2);
}

/* -x is -0 - x: of floats the zero keeps its sign, so that the result has the sign it should have.
 */
Expr *build_minus(Parse *p, Span minus, Expr *a) {
    Span span = span_join(minus, a->span);
    if ((a->kind != EXPR_INT && a->kind != EXPR_FLOAT) || a->parens || a->text.ptr[0] == '-') {
        Expr *zero = build_new_expr(p, EXPR_INT, minus);
        zero->negative = true;
        zero->text = STR("-0");
        return build_binary(p, span, OP_SUB, zero, a);
    }
    char *text = arena_array(&p->script->arena, char, a->text.len + 1u);
    text[0] = '-';
    memcpy(text + 1, a->text.ptr, a->text.len);
    a->text = (Str){text, a->text.len + 1u};
    a->span = span;
    a->negative = a->kind == EXPR_INT;
    return a;
}

Expr *build_cast(Parse *p, Span span, Expr *a, const Type *to) {
    Expr *e = build_new_expr(p, EXPR_CAST, span);
    e->cast = to;
    return with_args(p, e, &a, 1);
}

Expr *build_cond(Parse *p, Span span, Expr *cond, Expr *yes, Expr *no) {
    return with_args(p, build_new_expr(p, EXPR_COND, span), (Expr *[]){cond, yes, no}, 3);
}

Expr *build_call(Parse *p, Span span, Word name, List *args) {
    uint32_t n;
    Expr **array = list_array(p, args, &n);
    return with_args(p, build_named(p, EXPR_CALL, span, name), array, n);
}

Expr *build_method(Parse *p, Span span, Word receiver, Word name, List *args) {
    uint32_t n;
    Expr **array = list_array(p, args, &n);
    Expr *e = build_named(p, EXPR_METHOD, span, name);
    e->recv = receiver.text;
    e->recv_span = receiver.span;
    e->bundled = p->made;
    return with_args(p, e, array, n);
}

/* The annotation of a call, or (`block`) of a block; ANN_NONE if it is not known. */
static Annotation build_annotation(Parse *p, Word word, bool block) {
    if (!block && str_is(word.text, "static"))
        return ANN_STATIC;
    if (str_is(word.text, "init"))
        return ANN_INIT;
    if (str_is(word.text, "exit"))
        return ANN_EXIT;
    parse_error(p, DIAG_ANNOTATION, word.span, "expected %s, found '@%.*s'",
                block ? "'@init' or '@exit' before a block" : "'@static', '@init' or '@exit'",
                word.text.len > 40 ? 40 : (int)word.text.len, word.text.ptr);
    return ANN_NONE;
}

/* A method whose receiver is its first argument already. */
static Expr *received(Parse *p, Expr *e, Expr *receiver, Expr *const *args, uint32_t n) {
    Expr **all = arena_array(&p->script->arena, Expr *, n + 1);
    all[0] = receiver;
    for (uint32_t i = 0; i < n; i++)
        all[i + 1] = args[i];
    e->received = true;
    e->recv = receiver->name;
    e->recv_span = receiver->span;
    return with_args(p, e, all, n + 1);
}

Expr *build_element_method(Parse *p, Span span, Expr *receiver, Word name, List *args) {
    uint32_t n;
    Expr **array = list_array(p, args, &n);
    return received(p, build_named(p, EXPR_METHOD, span, name), receiver, array, n);
}

Expr *build_map_call(Parse *p, Span span, Expr *map, const char *name, Expr *key) {
    Expr *e = build_named(p, EXPR_METHOD, span, (Word){str_of(name), map->name_span});
    return received(p, e, map, &key, 1);
}

Expr *build_annotated(Parse *p, Span span, Word annotation, Expr *call) {
    call->span = span;
    call->annotation = build_annotation(p, annotation, false);
    return call;
}

Expr *build_tuple(Parse *p, Span span, List *entries) {
    uint32_t n;
    Expr **array = list_array(p, entries, &n);
    return with_args(p, build_new_expr(p, EXPR_TUPLE, span), array, n);
}

Expr *build_parens(Span span, Expr *inner) {
    inner->span = span;
    inner->parens = true;
    return inner;
}

/* ---- types ---- */

static const Type *report_type(Parse *p, Span span) {
    parse_error(p, DIAG_NESTING, span, "this type is too large or nested too deeply");
    return &type_error;
}

const Type *build_tuple_type(Parse *p, Span span, List *fields) {
    uint32_t n;
    const Type **array = list_array(p, fields, &n);
    for (uint32_t i = 0; i < n; i++)
        if (array[i]->kind == TYPE_ERROR)
            return &type_error;
    const Type *t = type_tuple(p->script, array, n);
    return t->kind == TYPE_ERROR ? report_type(p, span) : t;
}

const Type *build_array_type(Parse *p, const Type *value, Span length) {
    enum { MAX_LENGTH = 1 << 20 };
    const Expr *n = build_int(p, length);
    if (!n->negative && !n->too_big && n->integer && n->integer <= MAX_LENGTH)
        return type_array(p->script, value, (uint32_t)n->integer);
    parse_error(p, DIAG_BAD_TYPE, length, "an array has 1 to %d elements", MAX_LENGTH);
    return &type_error;
}

const Type *build_map_type(Parse *p, Span span, const Type *key, const Type *value) {
    if (key->kind == TYPE_ERROR || value->kind == TYPE_ERROR)
        return &type_error;
    const Type *t = type_map(p->script, key, value);
    return t->kind == TYPE_ERROR ? report_type(p, span) : t;
}

/* The number that an argument of a type is. */
static bool type_number(Parse *p, const ListNode *node, int64_t *out) {
    const Expr *e = node->item ? NULL : build_int(p, node->span);
    bool fits = e && !e->too_big && e->integer <= (uint64_t)INT64_MAX + e->negative;
    *out = fits ? (int64_t)(e->negative ? 0 - e->integer : e->integer) : 0;
    return fits;
}

static const Type *bad_aggregate(Parse *p, Span span, AggregateId id, const char *expected) {
    parse_error(p, DIAG_BAD_TYPE, span, "%s: expected %s", aggregate_name(id), expected);
    return &type_error;
}

/* lhist(least, most, step) */
static const Type *build_lhist(Parse *p, Span span, const List *args) {
    enum { MAX_BUCKETS = 10000 };
    int64_t steps[3];
    uint32_t n = 0;
    for (const ListNode *node = args ? args->head : NULL; node && n <= 3; node = node->next)
        if (n == 3 || !type_number(p, node, &steps[n++]))
            n = 4;
    if (n != 3 || steps[0] >= steps[1] || steps[2] <= 0)
        return bad_aggregate(p, span, AGG_LHIST,
                             "a least and a greater most number and a positive step, as in "
                             "lhist(0, 100, 10)");
    if (((uint64_t)steps[1] - (uint64_t)steps[0] - 1) / (uint64_t)steps[2] >= MAX_BUCKETS)
        return bad_aggregate(p, span, AGG_LHIST, "at most 10,000 buckets: a larger step");
    return type_aggregate(p->script, AGG_LHIST, &type_scalar[TYPE_I64], steps);
}

/* top(N, K) */
static const Type *build_top(Parse *p, Span span, const List *args) {
    int64_t steps[3] = {0};
    const ListNode *first = args && args->len == 2 ? args->head : NULL;
    const Type *key = first ? first->next->item : NULL;
    if (!key || !type_number(p, first, &steps[0]) || steps[0] < 1)
        return bad_aggregate(p, span, AGG_TOP,
                             "how many keys are shown, and their type, as in top(10, str)");
    const Type *t = type_aggregate(p->script, AGG_TOP, key, steps);
    return t->kind == TYPE_ERROR && key->kind != TYPE_ERROR ? report_type(p, span) : t;
}

const Type *build_aggregate(Parse *p, Span span, Span name, List *args) {
    AggregateId id = aggregate_by_name(build_source(p, name));
    const Type *added = args && args->len == 1 ? args->head->item : NULL;
    bool number = added && (added == &type_scalar[TYPE_I64] || added == &type_scalar[TYPE_U64] ||
                            added == &type_scalar[TYPE_F64]);
    switch (id) {
    case AGG_LHIST: return build_lhist(p, span, args);
    case AGG_TOP: return build_top(p, span, args);
    case AGG_COUNT:
        return args ? bad_aggregate(p, span, id, "nothing in parentheses")
                    : type_aggregate(p->script, id, NULL, NULL);
    case AGG_HIST:
        if (args && (!number || type_is_float(added)))
            return bad_aggregate(p, span, id, "i64 or u64, the type of the numbers");
        break;
    default:
        if (args && !number)
            return bad_aggregate(p, span, id, "i64, u64 or f64, the type of the numbers");
    }
    return type_aggregate(p->script, id, args ? added : &type_scalar[TYPE_I64], NULL);
}

/* ---- declarations and statements ---- */

Decorators build_decorator(Parse *p, Decorators so_far, uint32_t bit, Span span) {
    if (so_far.bits & bit) {
        Str word = build_source(p, span);
        parse_error(p, DIAG_DECORATOR, span, "'%.*s' is repeated here", STR_ARG(word));
    }
    return (Decorators){so_far.bits | bit, so_far.bits ? span_join(so_far.span, span) : span};
}

Var *build_var(Parse *p, Decorators decorators, Word name, const Type *type, Span type_span) {
    Var *v = arena_new(&p->script->arena, Var);
    v->name = name.text;
    v->span = name.span;
    v->type = type;
    v->type_span = type_span;
    v->decorators = decorators.bits;
    v->decorator_span = decorators.span;
    return v;
}

Var *build_shadow(Parse *p, Decorators decorators, Word name, const Type *element, Span type_span,
                  Span bytes) {
    Var *v = build_var(p, decorators, name, &type_scalar[TYPE_I32], type_span);
    uint64_t n = build_int(p, bytes)->integer;
    v->element = element;
    while (v->unit_log < 4 && n > (uint64_t)1 << v->unit_log)
        v->unit_log++;
    if (n != (uint64_t)1 << v->unit_log)
        parse_error(p, DIAG_BAD_TYPE, bytes,
                    "a shadow memory has one element per 1, 2, 4, 8 or 16 bytes");
    return v;
}

Var *build_shadow_value(Parse *p, Decorators decorators, Word name, const Type *element,
                        Span type_span) {
    Var *v = build_var(p, decorators, name, &type_scalar[TYPE_I32], type_span);
    v->element = element;
    v->tags = true;
    return v;
}

Var *build_constant(Parse *p, Decorators decorators, Word name, const Type *type, Span type_span) {
    Var *v = build_var(p, decorators, name, type, type_span);
    v->constant = true;
    return v;
}

static Stmt *new_stmt(Parse *p, StmtKind kind, Span span) {
    Stmt *s = arena_new(&p->script->arena, Stmt);
    s->kind = kind;
    s->span = span;
    return s;
}

Stmt *build_decl(Parse *p, Span span, Var *var, Expr *init) {
    Stmt *s = new_stmt(p, STMT_DECL, span);
    s->var = var;
    var->init = init;
    return s;
}

Stmt *build_derived(Parse *p, Span span, Word name, const Type *type, Span type_span, Expr *value) {
    Var *v = build_var(p, (Decorators){.bits = DECO_REPORT, .span = span}, name, type, type_span);
    v->derived = true;
    return build_decl(p, span, v, value);
}

Stmt *build_assign(Parse *p, Span span, Expr *target, Expr *value) {
    Stmt *s = new_stmt(p, STMT_ASSIGN, span);
    s->target = target;
    s->value = value;
    return s;
}

Stmt *build_update(Parse *p, Span span, Expr *target, Op op, Expr *by) {
    Stmt *s = build_assign(p, span, target, build_binary(p, span, op, target, by));
    s->updates = s->value->kind == EXPR_BINARY;
    return s;
}

Stmt *build_step(Parse *p, Span span, StmtKind kind, Expr *target) {
    Stmt *s = new_stmt(p, kind, span);
    s->target = target;
    return s;
}

Stmt *build_return(Parse *p, Span span, Expr *value) {
    Stmt *s = new_stmt(p, STMT_RETURN, span);
    s->value = value;
    return s;
}

Stmt *build_call_stmt(Parse *p, Span span, Expr *call) {
    Stmt *s = new_stmt(p, STMT_CALL, span);
    s->value = call;
    return s;
}

/* A variable of the script for the statement at `span`; no script can name it. */
static Word pace_variable(Parse *p, Span span) {
    const char *text = arena_printf(&p->script->arena, "(printed %u %u)", span.file, span.start);
    Word name = {str_of(text), span};
    Var *v = build_var(p, (Decorators){0}, name, &type_scalar[TYPE_U64], span);
    build_script_stmt(p, build_decl(p, span, v, NULL));
    return name;
}

static Expr *new_number(Parse *p, Span span, uint64_t n) {
    Expr *e = build_new_expr(p, EXPR_INT, span);
    e->integer = n;
    return e;
}

static Block block_of(Stmt *first, Stmt *second) {
    StmtList list = build_stmts((StmtList){0}, first);
    return build_block(second ? build_stmts(list, second) : list);
}

/* The number as u64. */
static Expr *build_wide(Parse *p, const Expr *n) {
    Expr *copy = arena_new(&p->script->arena, Expr);
    *copy = *n;
    return build_cast(p, n->span, copy, &type_scalar[TYPE_U64]);
}

static Stmt *choose(Parse *p, Span span, Expr *first, Block then, const Block *otherwise) {
    List *arms = list_add(p, NULL, build_arm(p, first, then), span);
    return build_if(p, span, arms, otherwise);
}

/* When the program ends, tells how many lines `limit` has left out since that was told. */
static void tell_left_out(Parse *p, Span span, Word name, const Expr *n) {
    Script *s = p->script;
    Expr *call = build_call(p, span, (Word){STR("print"), span}, NULL);
    TextPart *parts = arena_array(&s->arena, TextPart, 2);
    Expr *args[] = {build_new_expr(p, EXPR_STR, span),
                    build_binary(p, span, OP_SUB, build_name(p, name), build_wide(p, n))};
    uint32_t line, column;
    diag_position(p->diags, p->file, span.start, &line, &column);
    args[0]->text = str_of(arena_printf(
        &s->arena,
        "whammc: lines that the limit of 'print' in line %u of the script left out: ", line));
    for (uint32_t i = 0; i < 2; i++)
        parts[i] = (TextPart){.literal = i == 0, .precision = -1};
    call->parts = parts;
    with_args(p, call, args, 2);
    Stmt *told = build_assign(p, span, build_name(p, name), build_wide(p, n));
    Expr *more = build_binary(p, span, OP_GT, build_name(p, name), build_wide(p, n));
    Stmt *tell = choose(p, span, more, block_of(build_call_stmt(p, span, call), told), NULL);
    while (p->outer)
        p = p->outer;
    Block block = block_of(tell, NULL);
    vec_push(&p->told, build_annotated_block(p, span, (Word){STR("exit"), span}, block));
}

/*
 * With a variable of its own, which counts:
 *   every n: if (v > 0) { v--; } else { call; v = n - 1; }
 *   limit n: if (v < n) { call; v++; } else { v++; }
 */
Stmt *build_paced(Parse *p, Span span, Expr *call, bool every, Expr *n) {
    const char *word = every ? "every" : "limit";
    if (call->kind != EXPR_CALL || !str_is(call->name, "print"))
        parse_error(p, DIAG_BAD_FORMAT, span, "'%s' can follow only a call of 'print'", word);
    else if (n->kind != EXPR_NAME && (n->kind != EXPR_INT || n->negative || !n->integer))
        parse_error(p, DIAG_BAD_FORMAT, n->span,
                    "expected a number from 1, or a constant, after '%s'", word);
    if (p->failed)
        return build_call_stmt(p, span, call);
    Word name = pace_variable(p, span);
    Expr *v = build_name(p, name);
    Stmt *made = build_call_stmt(p, span, call);
    if (every) {
        Expr *rest = build_binary(p, span, OP_SUB, build_wide(p, n), new_number(p, span, 1));
        Stmt *again = build_assign(p, span, v, rest);
        Stmt *wait = build_step(p, span, STMT_DEC, build_name(p, name));
        Expr *waits = build_binary(p, span, OP_GT, build_name(p, name), new_number(p, span, 0));
        Block print = block_of(made, again);
        return choose(p, span, waits, block_of(wait, NULL), &print);
    }
    tell_left_out(p, span, name, n);
    Expr *within = build_binary(p, span, OP_LT, v, build_wide(p, n));
    Stmt *count = build_step(p, span, STMT_INC, build_name(p, name));
    Block left_out = block_of(build_step(p, span, STMT_INC, build_name(p, name)), NULL);
    return choose(p, span, within, block_of(made, count), &left_out);
}

IfArm *build_arm(Parse *p, Expr *cond, Block body) {
    IfArm *arm = arena_new(&p->script->arena, IfArm);
    *arm = (IfArm){cond, body};
    return arm;
}

Stmt *build_annotated_block(Parse *p, Span span, Word annotation, Block body) {
    Stmt *s = new_stmt(p, STMT_ANNOTATED, span);
    s->annotation = build_annotation(p, annotation, true);
    s->narms = 1;
    s->arms = build_arm(p, NULL, body);
    return s;
}

Stmt *build_if(Parse *p, Span span, List *arms, const Block *otherwise) {
    assert(arms->len);
    Stmt *s = new_stmt(p, STMT_IF, span);
    s->narms = arms->len + (otherwise != NULL);
    s->arms = arena_array(&p->script->arena, IfArm, s->narms);
    uint32_t i = 0;
    for (const ListNode *node = arms->head; node; node = node->next)
        s->arms[i++] = *(const IfArm *)node->item;
    if (otherwise)
        s->arms[i] = (IfArm){NULL, *otherwise};
    return s;
}

Stmt *build_jump(Parse *p, Span span, StmtKind kind) {
    return new_stmt(p, kind, span);
}

static Stmt *new_loop(Parse *p, Span span, Stmt *init, Expr *condition, Block body, Stmt *step) {
    Stmt *s = new_stmt(p, STMT_LOOP, span);
    s->narms = LOOP_ARMS;
    s->arms = arena_array(&p->script->arena, IfArm, LOOP_ARMS);
    s->arms[LOOP_INIT].body.first = init;
    s->arms[LOOP_BODY] = (IfArm){condition, body};
    s->arms[LOOP_STEP].body.first = step;
    return s;
}

Stmt *build_while(Parse *p, Span span, Expr *condition, Block body) {
    return new_loop(p, span, NULL, condition, body, NULL);
}

/* The checker finds its type. */
static Stmt *build_loop_var(Parse *p, Word name, Expr *init) {
    Var *v = build_var(p, (Decorators){0}, name, &type_error, init->span);
    v->loop = true;
    return build_decl(p, name.span, v, init);
}

Stmt *build_for(Parse *p, Span span, Word name, Expr *from, Expr *to, Block body) {
    Word limit = {STR("(limit)"), to->span};
    Stmt *init = build_loop_var(p, name, from);
    init->next = build_loop_var(p, limit, to);
    Expr *below = build_binary(p, span_join(from->span, to->span), OP_LT, build_name(p, name),
                               build_name(p, limit));
    return new_loop(p, span, init, below, body,
                    build_step(p, name.span, STMT_INC, build_name(p, name)));
}

/* An internal method of the map, or of its keys. */
static Expr *build_loop_call(Parse *p, Expr *self, const char *name, Expr *arg) {
    Expr *e = build_named(p, EXPR_METHOD, self->span, (Word){str_of(name), self->span});
    return received(p, e, self, &arg, arg != NULL);
}

/* The keys are found before the first iteration; each begins with the next one, and its value. A
 * map that is no variable is one of the loop. */
Stmt *build_for_keys(Parse *p, Span span, Word key, const Word *value, Expr *map, Block body) {
    Word name = {map->kind == EXPR_NAME ? map->name : STR("(map)"), map->span};
    Word keys = {STR("(keys)"), map->span};
    Stmt *made =
        build_loop_var(p, keys, build_loop_call(p, build_name(p, name), MAP_KEYS_TEXT, NULL));
    Stmt *init = made;
    if (map->kind != EXPR_NAME) {
        init = build_loop_var(p, name, map);
        init->next = made;
    }
    Stmt *first = build_loop_var(p, key, build_loop_call(p, build_name(p, keys), "(key)", NULL));
    Stmt *last = first;
    if (value) {
        last = build_loop_var(p, *value, build_index(p, map->span, name, build_name(p, key), NULL));
        first->next = last;
    }
    last->next = body.first;
    body.first = first;
    return new_loop(p, span, init,
                    build_loop_call(p, build_name(p, name), "(next)", build_name(p, keys)), body,
                    NULL);
}

StmtList build_stmts(StmtList list, Stmt *stmt) {
    list.incomplete |= !stmt || stmt->broken;
    if (!stmt)
        return list;
    if (list.last)
        list.last->next = stmt;
    else
        list.first = stmt;
    list.last = stmt;
    return list;
}

StmtList build_unended(Parse *p, StmtList list, Stmt *stmt, Span brace) {
    missing_semicolon(p, stmt, brace);
    return build_stmts(list, stmt);
}

Block build_block(StmtList list) {
    return (Block){list.first, list.incomplete};
}

/* ---- the script ---- */

/* The first probe of this file, or NULL. */
static const Probe *first_probe(const Parse *p) {
    for (uint32_t i = 0; i < p->script->probes.len; i++)
        if (p->script->probes.at[i]->rule.span.file == p->file)
            return p->script->probes.at[i];
    return NULL;
}

static void build_check_use(Parse *p, Span span) {
    const Probe *first = first_probe(p);
    if (!first)
        return;
    Diag *g = parse_error(p, DIAG_USE_PLACE, span, "'use' must come before the first probe");
    diag_label(p->diags, g, first->rule.span, "the first probe is here");
}

void build_use(Parse *p, Word name) {
    build_check_use(p, name.span);
    vec_push(&p->script->uses, (Use){name.text, name.span});
}

void build_use_package(Parse *p, Span span, const List *path, const Word *alias) {
    build_check_use(p, span);
    Buf name = {0};
    const ListNode *last = path->head;
    for (const ListNode *node = path->head; node; node = node->next) {
        last = node;
        buf_str(&name, build_source(p, node->span));
        if (node->next)
            buf_u8(&name, '.');
    }
    include_package(p, span_join(path->head->span, last->span), buf_view(&name),
                    alias ? *alias : build_word(p, last->span));
    buf_free(&name);
}

void build_script_stmt(Parse *p, Stmt *stmt) {
    if (stmt && stmt->broken) { /* of a probe or a function, most likely */
        build_orphans(p, stmt);
        return;
    }
    if (stmt && stmt->kind == STMT_DECL && stmt->var->derived) {
        vec_push(&p->script->derived, stmt->var);
        return;
    }
    StmtList all = build_stmts((StmtList){p->script->init.first, p->last_stmt, false}, stmt);
    if (stmt && stmt->kind == STMT_DECL && stmt->var->constant)
        vec_push(&p->script->constants, stmt->var);
    p->script->init.first = all.first;
    p->script->init.incomplete |= all.incomplete;
    p->last_stmt = all.last;
}

enum { MAX_PARAMS = 1000 };

void build_fn(Parse *p, Span span, Word name, List *params, const Type *result, Span result_span,
              Block body) {
    p->open.last_block = span.end;
    Fn *fn = arena_new(&p->script->arena, Fn);
    fn->name = script_own_name(p->script, parse_package(p), name.text);
    fn->span = name.span;
    fn->params = list_array(p, params, &fn->nparams);
    uint32_t leaves = 0;
    for (uint32_t i = 0; i < fn->nparams; i++)
        leaves += type_leaves(fn->params[i]->type);
    if (leaves > MAX_PARAMS) {
        parse_error(
            p, DIAG_NESTING, fn->span,
            "'%.*s' has %u parameters; engines allow at most %u (each field of a tuple counts)",
            STR_ARG(fn->name), leaves, MAX_PARAMS);
        fn->nparams = 0;
        body = (Block){.incomplete = true};
    }
    for (uint32_t i = 0; i < fn->nparams; i++)
        fn->params[i]->param = true;
    fn->result = result;
    fn->result_span = result_span;
    fn->body = body;
    fn->index = p->script->fns.len;
    vec_push(&p->script->fns, fn);
}

/* Checks rules of two parts: they name one event and nothing else. */
static void check_short_rule(Parse *p, Rule *rule) {
    for (uint32_t i = 0; !rule->broken && rule->nparts == 2 && i < 2; i++) {
        if (rule->parts[i].pattern.len)
            continue;
        Diag *g = parse_error(p, DIAG_RULE_SHAPE, rule->span,
                              "a match rule with two parts cannot have an empty part");
        diag_hint(p->diags, g,
                  "rules for functions have three parts, rules for instructions four: "
                  "provider:package:event:mode");
        rule->broken = true;
        return;
    }
    if (!rule->broken && rule->nparts == 2 && rule->nbounds) {
        parse_error(p, DIAG_RULE_SHAPE, rule->bounds[0].span,
                    "a match rule with two parts cannot have type bounds");
        rule->nbounds = 0;
    }
}

void build_probe(Parse *p, Span span, Rule *rule, Expr *predicate, Block body) {
    if (build_interval(p, rule, predicate, body)) {
        p->open.last_block = span.end;
        return;
    }
    Probe *probe = arena_new(&p->script->arena, Probe);
    check_short_rule(p, rule);
    probe->rule = *rule;
    probe->predicate = predicate;
    probe->body = body;
    probe->span = span;
    probe->index = p->script->probes.len;
    probe->made = p->made;
    p->open.last_block = span.end;
    vec_push(&p->script->probes, probe);
}

Rule *build_part(Parse *p, Span span, Word pattern, List *bounds) {
    for (uint32_t k = 1; k < pattern.text.len; k++) {
        if (pattern.text.ptr[k] == '*' && pattern.text.ptr[k - 1] == '*') {
            Span stars = {p->file, pattern.span.start + k - 1, pattern.span.start + k + 1};
            parse_error(p, DIAG_RULE_SHAPE, stars,
                        "'**' is not a pattern; a single '*' matches any characters");
            break;
        }
    }
    Rule *rule = arena_new(&p->script->arena, Rule);
    rule->span = span;
    rule->nparts = 1;
    rule->parts[0] = (RulePart){pattern.text, pattern.span};
    rule->nbounds = bounds ? bounds->len : 0;
    rule->bounds = arena_array(&p->script->arena, TypeBound, rule->nbounds);
    uint32_t i = 0;
    for (const ListNode *node = bounds ? bounds->head : NULL; node; node = node->next) {
        const Var *v = node->item;
        rule->bounds[i++] = (TypeBound){v->name, v->span, v->type_span, v->type, 0};
    }
    return rule;
}

/* Appends a rule of one part to another one. */
Rule *build_rule(Parse *p, Span span, Rule *first, Rule *next) {
    first->span = span;
    if (first->nparts == 4) {
        Diag *g = parse_error(p, DIAG_RULE_SHAPE, next->span,
                              "a match rule has two to four parts, this is a fifth one");
        diag_hint(p->diags, g, "the parts are provider:package:event:mode");
        return first;
    }
    TypeBound *bounds = arena_array(&p->script->arena, TypeBound, first->nbounds + next->nbounds);
    for (uint32_t i = 0; i < first->nbounds; i++)
        bounds[i] = first->bounds[i];
    for (uint32_t i = 0; i < next->nbounds; i++) {
        bounds[first->nbounds + i] = next->bounds[i];
        bounds[first->nbounds + i].part = first->nparts;
    }
    first->bounds = bounds;
    first->nbounds += next->nbounds;
    first->parts[first->nparts++] = next->parts[0];
    return first;
}

void build_script_end(Parse *p, Span span) {
    bool none = !p->script->probes.len;
    if (!p->outer)
        build_intervals(p);
    for (uint32_t i = 0; i < p->told.len; i++)
        build_script_stmt(p, p->told.at[i]);
    if (!none || p->failed || p->outer || p->alone)
        return;
    Diag *g = parse_error(p, DIAG_NO_PROBE, (Span){p->file, span.end, span.end},
                          "expected at least one probe, found none");
    diag_hint(p->diags, g, "a probe is a match rule and a block: wasm:opcode:call:before { ... }");
}
