/*
 * check/check_access.c - values of the program by members: args[0], args.path.str(), args.p->next.
 *
 * What such an expression means depends on the place in the program: the scope knows it there, and
 * the expression becomes one of bound names and calls of read_u32 and the like. Where the place is
 * not known, the expression has &type_error, without a message.
 */
#include "check/check_parts.h"

#include <assert.h>

#define T(K) (&type_scalar[TYPE_##K])

/* So many characters str() reads at most. */
enum { TEXT_MAX = 4096 };

static bool is_args_item(const Expr *e) {
    return e->kind == EXPR_INDEX && str_is(e->name, "args") && !e->npath;
}

bool access_root(const Expr *e, Str *root) {
    bool method = e->kind == EXPR_METHOD && !e->received && str_is(e->recv, "args");
    if (e->kind != EXPR_MEMBER && !is_args_item(e) && !method)
        return false;
    while (e->kind == EXPR_MEMBER)
        e = e->args[0];
    *root = method ? e->recv : e->name;
    return true;
}

void access_text(const Expr *e, Buf *out) {
    bool item = e->kind == EXPR_INDEX || (e->kind == EXPR_MEMBER && !e->name.len);
    if (e->kind == EXPR_MEMBER)
        access_text(e->args[0], out);
    buf_printf(out, "%s%.*s", e->kind == EXPR_MEMBER && !item ? "." : "", STR_ARG(e->name));
    if (item)
        buf_printf(out, "[%llu]", (unsigned long long)e->args[e->nargs - 1]->integer);
}

bool check_is_access(const Check *c, const Expr *e) {
    Str root;
    Bound bound;
    return access_root(e, &root) && !check_find_var(c, root) && !check_bound_name(c, root, &bound);
}

bool check_is_access_method(const Check *c, const Expr *e) {
    Str root;
    if (e->received)
        return e->nargs && check_is_access(c, e->args[0]);
    return access_root(e, &root) && !check_find_var(c, root) && !check_uses(c, root);
}

/* Indices are numbers that are known when the script is checked. */
static bool check_items(Check *c, Expr *e) {
    bool ok = true;
    for (; e->kind == EXPR_MEMBER || e->kind == EXPR_INDEX; e = e->args[0]) {
        Expr *index = e->kind == EXPR_INDEX ? e->args[0] : e->nargs > 1 ? e->args[1] : NULL;
        const Type *t = index ? check_value(c, index, T(U32)) : T(U32);
        if (index && (index->kind != EXPR_INT || !type_is_integer(t)) && t->kind != TYPE_ERROR) {
            check_error(
                c, DIAG_EARLY_VALUE, index->span,
                "an index of arguments and arrays of the program is a number or a constant");
            ok = false;
        }
        ok &= t->kind != TYPE_ERROR;
        if (e->kind == EXPR_INDEX)
            break;
    }
    return ok;
}

/* Reports the members of something that has none. */
static const Type *no_members(Check *c, Expr *e) {
    Expr *root = e;
    while (root->kind == EXPR_MEMBER)
        root = root->args[0];
    const Type *t = check_value(c, root, NULL);
    if (t->kind == TYPE_ERROR)
        return t;
    Diag *g = check_error(c, DIAG_NOT_A_TUPLE, e->span,
                          "expected a value of the program before '.', found %s", t->text);
    check_explain(c, g, root);
    diag_hint(c->diags, g, "tuples have fields with numbers; methods are called with ()");
    return &type_error;
}

/* e + offset as an address, of 32 bits. One of 64 bits that is beyond them becomes the last one, at
 * which no number is. */
static Expr *address_at(Check *c, Expr *e, uint32_t offset) {
    bool wide = e->type->kind == TYPE_I64 || e->type->kind == TYPE_U64;
    const Type *t = wide ? T(U64) : T(U32);
    e = check_node_cast(c, e, t);
    if (offset) {
        uint64_t n = wide ? (uint64_t)(int64_t)(int32_t)offset : offset; /* frames' are negative */
        e = check_node_op(c, OP_ADD, t, e, check_node_int(c, t, n, e->span));
    }
    if (wide && e->kind != EXPR_INT)
        e = check_node_op(c, OP_MIN, t, e, check_node_int(c, t, UINT32_MAX, e->span));
    return check_node_cast(c, e, T(U32));
}

static Expr *access_read(Check *c, const char *function, Expr *address, Expr *more) {
    Expr *call = check_new_node(c, EXPR_CALL, &type_error, address->span);
    const Type *const *params;
    const Type *result;
    uint32_t n;
    call->name = str_of(function);
    call->is_bound =
        c->scope->function(c->scope->ctx, call->name, &call->bound, &params, &n, &result);
    assert(call->is_bound && n == (more ? 3u : 2u));
    call->type = result;
    Expr *args[] = {check_node_int(c, T(U32), 0, address->span),
                    check_node_cast(c, address_at(c, address, 0), params[1]), more};
    return check_node_args(c, call, args, n);
}

/* The value of an access. */
static Expr *access_build(Check *c, const Access *a, Span span) {
    Expr *e;
    if (a->constant) {
        e = check_node_int(c, a->start.type, a->start.value, span);
    } else {
        e = check_new_node(c, EXPR_NAME, a->start.type, span);
        e->name = str_of(a->name);
        e->is_bound = true;
        e->bound = a->start;
        e->is_static = a->start.is_static;
    }
    for (uint32_t i = 0; i < a->nsteps; i++) {
        e = address_at(c, e, a->steps[i].offset);
        if (a->steps[i].read)
            e = access_read(c, a->steps[i].read, e, NULL);
    }
    return check_node_cast(c, e, a->type);
}

/* Looks an access up. Returns the type if nothing can be built, else NULL. */
static const Type *access_find(Check *c, Expr *e, const Access **a) {
    *a = NULL;
    if (!check_is_access(c, e))
        return no_members(c, e);
    if (!check_items(c, e))
        return &type_error;
    check_early_value(c, e);
    if (!c->scope->access || !c->scope->access(c->scope->ctx, e, a)) {
        Expr root = {.kind = EXPR_NAME, .span = e->span, .name_span = e->span};
        access_root(e, &root.name);
        return check_name(c, &root); /* which says that there is no such name */
    }
    return *a ? NULL : &type_error;
}

const Type *check_access(Check *c, Expr *e) {
    const Access *a;
    Span span = e->span;
    if (c->target == e) {
        check_error(c, DIAG_NOT_ASSIGNABLE, span,
                    "values that are named by members cannot be "
                    "assigned");
        return &type_error;
    }
    const Type *t = access_find(c, e, &a);
    if (t)
        return t;
    if (a->what) {
        Buf text = {0};
        access_text(e, &text);
        Diag *g =
            check_error(c, DIAG_OPERAND_TYPE, span, "'%s' is %s, which has no value as a whole",
                        buf_cstr(&text), a->what);
        diag_hint(c->diags, g, "use one of its members");
        buf_free(&text);
        return &type_error;
    }
    Expr *value = access_build(c, a, span);
    bool parens = e->parens;
    *e = *value;
    e->parens = parens;
    return e->type;
}

/* args.len() */
static const Type *check_len(Check *c, Expr *e) {
    Expr *args = check_new_node(c, EXPR_NAME, NULL, e->recv_span);
    args->name = e->recv;
    *e = (Expr){
        .kind = EXPR_MEMBER, .span = e->span, .name = STR("len()"), .name_span = e->name_span};
    check_node_args(c, e, &args, 1);
    return check_access(c, e);
}

const Type *check_access_method(Check *c, Expr *e) {
    if (!e->received && str_is(e->name, "len") && !e->nargs)
        return check_len(c, e);
    bool known = e->received && str_is(e->name, "str") && e->nargs <= 2;
    Expr *length = known && e->nargs == 2 ? e->args[1] : NULL;
    for (uint32_t i = e->received; i < e->nargs; i++)
        check_value(c, e->args[i], T(U32));
    if (!known) {
        Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->name_span,
                              "a value of the program has no method '%.*s'", STR_ARG(e->name));
        diag_hint(c->diags, g,
                  "args.len() is the number of arguments, args[0].str() the text at an "
                  "address");
        return &type_error;
    }
    if (length && length->type->kind != TYPE_ERROR && !type_is_integer(length->type)) {
        check_error(c, DIAG_OPERAND_TYPE, length->span,
                    "expected an integer for the length, found %s", length->type->text);
        return &type_error;
    }
    const Access *a;
    const Type *t = access_find(c, e->args[0], &a);
    if (t)
        return t;
    if (!a->of_text) {
        check_error(c, DIAG_OPERAND_TYPE, e->args[0]->span,
                    "expected the address of characters before '.str', found %s",
                    a->what ? a->what : a->type->text);
        return &type_error;
    }
    Expr *address = access_build(c, a, e->span);
    *e = *access_read(c, length ? "read_str" : "read_cstr", address,
                      length ? check_node_cast(c, length, T(U32))
                             : check_node_int(c, T(U32), TEXT_MAX, e->span));
    return e->type;
}
