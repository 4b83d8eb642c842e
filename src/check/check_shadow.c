/*
 * check/check_shadow.c - shadow memories: what is checked becomes calls of the library ".shadow"
 * (library/bundled.def), so that nothing after the checker knows of them.
 *
 *   shadow var tag: u8[per 4];     var tag: i32 = .shadow.new(0, 2); @exit .shadow.tell(tag);
 *   tag[a]                         .shadow.get8(tag, a >> 2)
 *   tag[a] = v;                    if (.shadow.set8(tag, v, a >> 2) != 0) .shadow.begin_page(tag);
 *   tag.any(a, n)                  .shadow.any(tag, a, n)
 */
#include "check/check_parts.h"

#include <assert.h>
#include <stdio.h>

#define SCALAR(K) (&type_scalar[TYPE_##K])

/* ---- declarations ---- */

void check_shadow_var(Check *c, const Var *v) {
    if (!v->element) {
        Diag *g = check_error(c, DIAG_BAD_TYPE, v->type_span,
                              "expected the elements of the shadow memory '%.*s', found %s",
                              STR_ARG(v->name), v->type->text);
        diag_hint(c->diags, g, "one u8 for each byte is written u8[per 1], one for 8 u8[per 8]");
    } else if (!(v->decorators & DECO_SHADOW)) {
        Diag *g = check_error(c, DIAG_DECORATOR, v->span,
                              "elements per byte are those of a shadow memory");
        diag_hint(c->diags, g, "declare it with 'shadow var'");
    } else if (v->decorators & DECO_REPORT) {
        Diag *g = check_error(c, DIAG_DECORATOR, v->decorator_span,
                              "a shadow memory cannot be reported: it has an element for each "
                              "address");
        diag_hint(c->diags, g, "report a variable or a map in which its elements are counted");
    } else if (c->place != PLACE_SCRIPT || v->decorators != DECO_SHADOW) {
        check_error(c, DIAG_DECORATOR, v->decorator_span,
                    "a shadow memory is declared at script scope, with 'shadow' alone");
    } else if (v->tags && v->element->kind != TYPE_U8 && v->element->kind != TYPE_U32) {
        check_error(c, DIAG_BAD_TYPE, v->type_span, "the tags of values are u8 or u32, not %s",
                    v->element->text);
    } else if (!type_is_integer(v->element) && v->element->kind != TYPE_BOOL) {
        check_error(c, DIAG_BAD_TYPE, v->type_span,
                    "the elements of a shadow memory are integers or bool, not %s",
                    v->element->text);
    }
}

const Type *check_shadow_whole(Check *c, const Expr *e) {
    Diag *g =
        check_error(c, DIAG_OPERAND_TYPE, e->span,
                    "'%.*s' is a shadow memory: only its elements have values", STR_ARG(e->name));
    diag_label(c->diags, g, e->var->span, "declared here");
    diag_hint(c->diags, g, "the element of an address is %.*s[address]", STR_ARG(e->name));
    return &type_error;
}

/* ---- tags of values ---- */

const Type *check_shadow_tag(Check *c, Expr *e) {
    Str value = e->recv, tag = {e->name.ptr + value.len + 1, e->name.len - value.len - 1};
    const Var *v = check_find_var(c, tag);
    Bound bound;
    if (!v || !v->tags) {
        Diag *g = check_error(c, DIAG_UNDECLARED_NAME, e->name_span,
                              "'%.*s' has no '%.*s', as no shadow value is called so",
                              STR_ARG(value), STR_ARG(tag));
        diag_hint(c->diags, g,
                  "the fields of a tuple have numbers, t.0, t.1; methods are called, with "
                  "parentheses; tags of values are declared: shadow value %.*s: u8;",
                  STR_ARG(tag));
        return &type_error;
    }
    const char *name = arena_printf(&c->script->arena, "%.*s.tag", STR_ARG(value));
    if (!check_bound_name(c, str_of(name), &bound)) {
        Diag *g = check_error(c, DIAG_UNDECLARED_NAME, e->name_span, "there is no '%.*s' in %s",
                              STR_ARG(e->name), c->scope->describe);
        if (check_find_var(c, value))
            diag_hint(c->diags, g,
                      "argN.%.*s are those of operands before an instruction, resN.%.*s of results "
                      "after it and at func:exit, localN.%.*s of locals",
                      STR_ARG(tag), STR_ARG(tag), STR_ARG(tag));
        return &type_error;
    }
    e->is_bound = true;
    e->bound = bound;
    e->bound.type = v->element;
    check_early_value(c, e);
    return v->element;
}

/* ---- calls ---- */

/* "get16" */
static Str sized(Check *c, const char *name, const Var *v) {
    char text[16];
    int len = snprintf(text, sizeof text, "%s%u", name, type_bits(v->element));
    return (Str){arena_strndup(&c->script->arena, text, (size_t)len), (uint32_t)len};
}

/* ---- elements ---- */

/* An address as part of a program: of 32 or 64 bits. */
static bool check_address(Check *c, Expr *e, Str of) {
    const Type *t = check_value(c, e, check_is_flexible(c, e) ? SCALAR(U32) : NULL);
    if (type_is_integer(t) && type_bits(t) >= 32)
        return true;
    if (t->kind != TYPE_ERROR) {
        Diag *g =
            check_error(c, DIAG_TYPE_MISMATCH, e->span,
                        "expected an address in the shadow memory '%.*s', u32 or u64, found %s",
                        STR_ARG(of), t->text);
        check_explain(c, g, e);
    }
    return false;
}

const Type *check_shadow_address(Check *c, Expr *e) {
    return check_address(c, e->args[0], e->name) ? e->var->element : &type_error;
}

/* The number of an address' unit. */
static Expr *shadow_unit(Check *c, Expr *address, const Var *v) {
    Expr *log = check_node_int(c, SCALAR(I32), v->unit_log, address->span);
    if (type_bits(address->type) == 64) {
        Expr *args[] = {check_node_cast(c, address, SCALAR(I64)), log};
        return check_bundled_call(c, check_new_node(c, EXPR_METHOD, NULL, address->span),
                                  STR(".shadow"), STR("unit"), SCALAR(I32), args, 2);
    }
    if (!v->unit_log)
        return address;
    log->type = SCALAR(U32);
    return check_node_op(c, OP_SHR, SCALAR(U32), check_node_cast(c, address, SCALAR(U32)), log);
}

void check_shadow_read(Check *c, Expr *e) {
    Var *v = e->var;
    Expr *args[] = {check_node_name(c, v, e->name_span), shadow_unit(c, e->args[0], v)};
    TypeKind kind = v->element->kind;
    if (kind != TYPE_I8 && kind != TYPE_I16) {
        check_bundled_call(c, e, STR(".shadow"), sized(c, "get", v), v->element, args, 2);
        return;
    }
    Expr *call = check_bundled_call(c, check_new_node(c, EXPR_METHOD, NULL, e->span),
                                    STR(".shadow"), sized(c, "get", v), SCALAR(I32), args, 2);
    *e = (Expr){.kind = EXPR_CAST, .span = e->span, .cast = v->element};
    check_node_args(c, e, &call, 1);
}

void check_shadow_write(Check *c, Stmt *s) {
    Var *v = s->target->var;
    const Type *wide = type_bits(v->element) == 64 ? v->element : SCALAR(I32);
    bool sets = s->kind == STMT_ASSIGN;
    Expr *value =
        sets ? s->value : check_node_int(c, wide, s->kind == STMT_INC ? 1 : UINT64_MAX, s->span);
    Span span = s->target->name_span;
    Expr *args[] = {check_node_name(c, v, span), value, shadow_unit(c, s->target->args[0], v)};
    Expr *lacks =
        check_bundled_call(c, check_new_node(c, EXPR_METHOD, NULL, s->span), STR(".shadow"),
                           sized(c, sets ? "set" : "add", v), SCALAR(I32), args, 3);
    Expr *zero = check_node_int(c, SCALAR(I32), 0, s->span);
    Stmt *begin = arena_new(&c->script->arena, Stmt);
    Expr *again = check_node_name(c, v, span);
    *begin = (Stmt){.kind = STMT_CALL, .span = s->span};
    begin->value = check_bundled_call(c, check_new_node(c, EXPR_METHOD, NULL, s->span),
                                      STR(".shadow"), STR("begin_page"), &type_unit, &again, 1);
    IfArm *arm = arena_new(&c->script->arena, IfArm);
    *arm = (IfArm){check_node_op(c, OP_NE, SCALAR(BOOL), lacks, zero), {begin, false}};
    *s = (Stmt){.kind = STMT_IF, .span = s->span, .next = s->next, .narms = 1, .arms = arm};
}

/* There is one kind of tags: reports a second declaration. */
static void check_shadow_one(Check *c, const Var *v) {
    for (uint32_t i = 0; i < c->script->vars.len && v->tags; i++) {
        const Var *other = c->script->vars.at[i];
        if (other == v || !other->tags || other->span.start > v->span.start)
            continue;
        Diag *g = check_error(c, DIAG_DUPLICATE_NAME, v->span,
                              "a script has one shadow value, '%.*s' would be a second one",
                              STR_ARG(v->name));
        diag_label(c->diags, g, other->span, "the first one is declared here");
        diag_hint(c->diags, g, "the bits of a u32 can be 32 tags");
        return;
    }
}

void check_shadow_declare(Check *c, Stmt *s) {
    Var *v = s->var;
    check_shadow_one(c, v);
    uint64_t bytes = type_bits(v->element) / 8;
    if (v->init)
        check_error(c, DIAG_DECORATOR, v->init->span,
                    "a shadow memory is zero at first; it cannot have an initialiser");
    if (c->place != PLACE_SCRIPT || !type_bits(v->element) || v->init)
        return;
    Expr *sizes[] = {check_node_int(c, SCALAR(I32), bytes == 8 ? 3 : bytes / 2, v->span),
                     check_node_int(c, SCALAR(I32), v->unit_log, v->span)};
    v->init = check_bundled_call(c, check_new_node(c, EXPR_METHOD, NULL, v->span), STR(".shadow"),
                                 STR("new"), SCALAR(I32), sizes, 2);
    Stmt *tell = arena_new(&c->script->arena, Stmt);
    Expr *handle = check_node_name(c, v, v->span);
    *tell = (Stmt){.kind = STMT_CALL, .span = s->span, .next = s->next};
    tell->value = check_bundled_call(c, check_new_node(c, EXPR_METHOD, NULL, v->span),
                                     STR(".shadow"), STR("tell"), &type_unit, &handle, 1);
    tell->value->annotation = ANN_EXIT;
    s->next = tell;
}

/* ---- methods ---- */

static const struct {
    const char *name, *params; /* a: an address, n: a number of bytes, v: an element */
    TypeKind result;
} shadow_methods[] = {
    {"fill", "anv", TYPE_UNIT}, {"any", "an", TYPE_BOOL}, {"copy", "aan", TYPE_UNIT},
    {"clear", "", TYPE_UNIT},   {"lost", "", TYPE_U64},
};
enum { MAX_SHADOW_PARAMS = 3 };

/* Checks the arguments, each of which becomes a u64. */
static void check_arguments(Check *c, Expr *e, const Var *v, const char *params, Expr **out) {
    for (uint32_t i = 0; i < e->nargs; i++) {
        Expr *arg = e->args[i];
        if (params[i] == 'v') {
            char what[64];
            snprintf(what, sizeof what, "argument %u of '%.*s'", i + 1, (int)e->name.len,
                     e->name.ptr);
            Diag *g = check_expect(c, arg, v->element, what);
            if (g)
                diag_label(c->diags, g, v->type_span, "the elements are %s", v->element->text);
        } else {
            check_address(c, arg, v->name);
        }
        /* 32 bits are unsigned, as addresses are */
        bool narrow = params[i] != 'v' && type_is_integer(arg->type) && type_bits(arg->type) == 32;
        if (arg->type->kind != TYPE_ERROR)
            out[i] = check_node_cast(c, narrow ? check_node_cast(c, arg, SCALAR(U32)) : arg,
                                     SCALAR(I64));
    }
}

const Type *check_shadow_method(Check *c, Expr *e, Var *v) {
    Expr *args[1 + MAX_SHADOW_PARAMS] = {check_node_name(c, v, e->recv_span)};
    args[0]->kind = EXPR_INDEX; /* it is not used as a whole */
    if (check_name(c, args[0])->kind == TYPE_ERROR)
        return &type_error;
    args[0]->kind = EXPR_NAME;
    for (size_t i = 0; i < sizeof shadow_methods / sizeof *shadow_methods; i++) {
        const char *params = shadow_methods[i].params;
        uint32_t n = (uint32_t)strlen(params);
        if (!str_is(e->name, shadow_methods[i].name))
            continue;
        if (e->annotation != ANN_NONE || e->nargs != n) {
            check_error(c, e->annotation ? DIAG_ANNOTATION : DIAG_ARGUMENT_COUNT, e->span,
                        e->annotation
                            ? "annotations apply only to library calls; '%.*s' is a method"
                            : "'%.*s' of a shadow memory takes %u argument%s, found %u",
                        STR_ARG(e->name), n, n == 1 ? "" : "s", e->nargs);
            return &type_error;
        }
        check_arguments(c, e, v, params, args + 1);
        const Type *result = shadow_methods[i].result == TYPE_UNIT
                                 ? &type_unit
                                 : &type_scalar[shadow_methods[i].result];
        if (c->ok)
            check_bundled_call(c, e, STR(".shadow"), e->name, result, args, 1 + n);
        return result;
    }
    Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->name_span,
                          "a shadow memory has no method '%.*s'", STR_ARG(e->name));
    diag_hint(c->diags, g, "the methods are fill, any, copy, clear and lost");
    return &type_error;
}
