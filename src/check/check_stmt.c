/*
 * check/check_stmt.c - statements.
 */
#include "check/check_parts.h"

#include <stdio.h>

/* "'x'" for messages, cut if it is long. */
static const char *quoted(char *text, size_t size, Str name) {
    snprintf(text, size, "'%.*s'", name.len > 50 ? 50 : (int)name.len, name.ptr);
    return text;
}

static void check_decl(Check *c, Var *v) {
    if (!v->init)
        return;
    if (v->type->aggregate) {
        Diag *g =
            check_error(c, DIAG_DECORATOR, v->init->span,
                        "a %s is empty at first; it cannot have an initialiser", v->type->text);
        diag_hint(c->diags, g, "numbers are added to it with %.*s.add(x)", STR_ARG(v->name));
        return;
    }
    if (v->storage == STORAGE_FRAME) {
        check_error(
            c, DIAG_DECORATOR, v->init->span,
            "a frame variable is zero when its function starts; it cannot have an initialiser");
        return;
    }
    if (v->atomic) {
        Diag *g = check_error(c, DIAG_DECORATOR, v->init->span,
                              "an atomic variable is zero at first; it cannot have an initialiser");
        diag_hint(c->diags, g,
                  "an initialiser would run in each thread, when the others count already");
        return;
    }
    char text[64];
    if (v->constant && v->init->kind > EXPR_STR) {
        Diag *g =
            check_error(c, DIAG_BAD_CONSTANT, v->init->span,
                        "the value of the constant '%.*s' must be a literal", STR_ARG(v->name));
        hint_add(c->diags, g, HINT_CONSTANT, STR("value"));
        v->init->type = &type_error;
        return;
    }
    c->init_of = v;
    Diag *g = check_expect(c, v->init, v->type, quoted(text, sizeof text, v->name));
    if (g)
        diag_label(c->diags, g, v->type_span, "declared as %s", v->type->text);
    c->init_of = NULL;
}

/* The type of the target of an assignment or step; reports targets that are not assignable. */
static const Type *check_target(Check *c, Expr *e) {
    c->target = e;
    const Type *t = check_receiver(c, e);
    c->target = NULL;
    if (t->aggregate) {
        Diag *g = check_error(c, DIAG_NOT_ASSIGNABLE, e->span,
                              "'%.*s' cannot be assigned: it is a %s", STR_ARG(e->name), t->text);
        check_explain_name(c, g, e);
        diag_hint(c->diags, g, "numbers are added with add(x)");
        return &type_error;
    }
    if (e->var && e->var->constant && t->kind != TYPE_ERROR) {
        Diag *g = check_error(c, DIAG_NOT_ASSIGNABLE, e->span,
                              "'%.*s' cannot be assigned: it is a constant", STR_ARG(e->name));
        diag_label(c->diags, g, e->var->span, "declared here");
        return &type_error;
    }
    if (e->var && e->var->loop && e->kind != EXPR_INDEX && t->kind != TYPE_ERROR) {
        Diag *g = check_error(c, DIAG_NOT_ASSIGNABLE, e->span,
                              "'%.*s' cannot be assigned: it is the variable of a loop",
                              STR_ARG(e->name));
        diag_label(c->diags, g, e->var->span, "the loop sets it");
        return &type_error;
    }
    if (!e->is_bound || t->kind == TYPE_ERROR)
        return t;
    if (e->kind == EXPR_NAME && e->bound.assignable)
        return t;
    Diag *g = check_error(
        c, DIAG_NOT_ASSIGNABLE, e->span, "'%.*s' cannot be assigned: it is %s", STR_ARG(e->name),
        e->bound.is_static ? "a constant of the site" : "derived from other values");
    diag_hint(c->diags, g, "operands (argN), results (resN) and locals (localN) can be assigned");
    return &type_error;
}

static bool mentions(const Expr *e, const Var *v) {
    if (e->var == v)
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (mentions(e->args[i], v))
            return true;
    return false;
}

/* Threads report a variable in parts, which are added up: none may be negative where its type is
 * unsigned, and each is the amount added since the last one. */
static void check_reported(Check *c, const Var *v, bool adds, bool subtracts, Span span) {
    if (!v->report || adds || (subtracts && type_is_signed(v->type)))
        return;
    Diag *g = check_error(c, DIAG_ATOMIC, span,
                          "'%.*s' is reported, in parts that are added up over the threads: %s "
                          "allowed",
                          STR_ARG(v->name),
                          subtracts ? "in an unsigned type only additions and | are"
                                    : "only additions, subtractions and | are");
    if (subtracts)
        diag_hint(c->diags, g, "declare it as %s", type_bits(v->type) == 64 ? "i64" : "i32");
    else
        diag_hint(c->diags, g,
                  "let one thread report it: report var shown: %s; wasm:end { if (thread == 0) { "
                  "shown = %.*s; } }",
                  v->type->text, STR_ARG(v->name));
}

/* The value assigned to an atomic variable may use its own value only in ways that are one
 * operation of the engine. */
static void check_one_step(Check *c, const Stmt *s) {
    const Var *v = s->target->var;
    const Expr *by = atomic_operand(s);
    Op op = by ? s->value->op : OP_NOT;
    if (!mentions(by ? by : s->value, v)) {
        check_reported(c, v, op == OP_ADD || op == OP_BITOR, op == OP_SUB, s->span);
        return;
    }
    Diag *g = check_error(c, DIAG_ATOMIC, s->value->span,
                          "'%.*s' would be read and written in two steps, between which another "
                          "thread may change it",
                          STR_ARG(v->name));
    diag_hint(c->diags, g,
              "one step is x++, x--, x = x + n, and the same with -, &, | and ^, where x is not in "
              "n; x.fetch_add(n) also tells the value before");
}

static void check_assign(Check *c, Stmt *s) {
    char text[64];
    Expr *target = s->target;
    const Type *t = check_target(c, target);
    if (t->kind == TYPE_ERROR) {
        check_value(c, s->value, NULL);
        return;
    }
    char what[96];
    quoted(text, sizeof text, target->name);
    const char *of = target->kind == EXPR_INDEX ? "an element of " : "";
    if (target->npath)
        snprintf(what, sizeof what, "field %u of %s%s", target->path[target->npath - 1], of, text);
    else
        snprintf(what, sizeof what, "%s%s", of, text);
    Diag *g = check_expect(c, s->value, t, what);
    if (g)
        check_explain_name(c, g, target);
    else if (target->var && target->var->element)
        check_shadow_write(c, s);
    else if (target->kind == EXPR_INDEX && target->var && target->var->type->length)
        lower_array(c, s);
    else if (target->kind == EXPR_NAME && target->var && target->var->atomic)
        check_one_step(c, s);
}

/* ---- updates ---- */

/* Whether code of the script, or of a library, runs to compute e. At most one value is that of a
 * '@static' call, which is made as often as it is in the tree. */
static bool runs_code(const Expr *e, bool statics) {
    bool library = e->kind == EXPR_METHOD && (!e->method || e->method == ATOMIC_FETCH_ADD);
    if ((e->kind == EXPR_CALL && !e->is_static) ||
        (library && (statics || e->annotation != ANN_STATIC)))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (runs_code(e->args[i], statics))
            return true;
    return false;
}

/* Computes the value of e before the statement, in a variable of its own, for which `uses` stand
 * afterwards. Returns the statement in its new place. */
static Stmt *compute_before(Check *c, Stmt *s, Expr *e, Expr **const *uses, uint32_t n) {
    Var *v = check_hidden_var(c, e->type, e->span);
    v->init = e;
    Stmt *moved = arena_new(&c->script->arena, Stmt);
    *moved = *s;
    *s = (Stmt){.kind = STMT_DECL, .span = e->span, .var = v, .next = moved};
    for (uint32_t i = 0; i < n; i++)
        *uses[i] = check_node_name(c, v, e->span);
    return moved;
}

static bool is_one(const Expr *e) {
    return (e->kind == EXPR_INT && e->integer == 1) || (e->kind == EXPR_FLOAT && e->real == 1);
}

/*
 * x op= e becomes x = x op e, where e is computed first, then the key of an element, once, and then
 * x is read. Where the order can be told, the values are computed before the assignment.
 */
static void check_update(Check *c, Stmt *s) {
    Expr *target = s->target, *sum = s->value;
    s->updates = false;
    const Type *t = check_target(c, target);
    if (t->kind == TYPE_ERROR) {
        check_value(c, sum->args[1], NULL);
        return;
    }
    Expr *old = sum->args[0] = ast_clone_expr(c->script, target);
    bool shadow = target->var && target->var->element;
    bool array = target->kind == EXPR_INDEX && target->var && target->var->type->length;
    old->inserts = target->kind == EXPR_INDEX && !shadow && !array;
    if (check_updated(c, sum)->kind == TYPE_ERROR)
        return;
    if (target->kind == EXPR_NAME && target->var && target->var->atomic)
        check_one_step(c, s);
    Expr *by = sum->args[1], *key = target->kind == EXPR_INDEX ? target->args[0] : NULL;
    bool step = (sum->op == OP_ADD || sum->op == OP_SUB) && is_one(by);
    bool key_runs = key && !step && runs_code(key, true);
    if (runs_code(by, false) || (key_runs && !by->is_static))
        s = compute_before(c, s, by, (Expr * *[]){&sum->args[1]}, 1);
    if (key_runs)
        s = compute_before(c, s, key, (Expr * *[]){&target->args[0], &old->args[0]}, 2);
    if (step) {
        s->kind = sum->op == OP_ADD ? STMT_INC : STMT_DEC;
        s->value = NULL;
    } else if (shadow) {
        check_shadow_read(c, old);
    }
    if (shadow)
        check_shadow_write(c, s);
    else if (array)
        lower_array(c, s);
}

static void check_step(Check *c, Stmt *s) {
    const Type *t = check_target(c, s->target);
    const Var *v = s->target->kind == EXPR_NAME ? s->target->var : NULL;
    if (v && v->atomic && type_is_integer(t))
        check_reported(c, v, s->kind == STMT_INC, s->kind == STMT_DEC, s->span);
    const Var *of = s->target->kind == EXPR_INDEX ? s->target->var : NULL;
    if (of && of->element && type_is_numeric(t))
        check_shadow_write(c, s);
    else if (of && of->type->length && type_is_numeric(t))
        lower_array(c, s);
    if (t->kind == TYPE_ERROR || type_is_numeric(t))
        return;
    Diag *g = check_error(c, DIAG_OPERAND_TYPE, s->span, "'%s' works on numbers, found %s",
                          s->kind == STMT_INC ? "++" : "--", t->text);
    check_explain(c, g, s->target);
}

/* ---- return ---- */

static void check_fn_return(Check *c, Stmt *s) {
    const Type *want = c->fn->result;
    if (c->lenient) {
        if (s->value)
            check_value(c, s->value, NULL);
        return;
    }
    char text[64], what[96];
    snprintf(what, sizeof what, "the result of %s", quoted(text, sizeof text, c->fn->name));
    if (!s->value && want->kind != TYPE_UNIT) {
        Diag *g = check_error(c, DIAG_BAD_RETURN, s->span, "expected %s for %s, found nothing",
                              want->text, what);
        diag_label(c->diags, g, c->fn->result_span, "the function returns %s", want->text);
    } else if (s->value && want->kind == TYPE_UNIT) {
        check_value(c, s->value, NULL);
        Diag *g =
            check_error(c, DIAG_BAD_RETURN, s->value->span, "%s returns no value",
                        c->fn->interval ? "wasm:interval" : quoted(text, sizeof text, c->fn->name));
        if (c->fn->interval)
            return;
        diag_label(c->diags, g, c->fn->span, "the function has no result type");
        diag_hint(c->diags, g, "a result type is written fn %.*s(...) -> i32 { ... }",
                  STR_ARG(c->fn->name));
    } else if (s->value) {
        Diag *g = check_expect(c, s->value, want, what);
        if (g)
            diag_label(c->diags, g, c->fn->result_span, "the function returns %s", want->text);
    }
}

/* Types that can be results of an instruction: a number, a reference, or a tuple of these. */
static bool has_wasm_leaves(const Type *t) {
    for (uint32_t i = 0; i < type_leaves(t); i++)
        if (!type_wasm_class(type_leaf(t, i)))
            return false;
    return type_leaves(t) > 0;
}

static bool same_wasm_leaves(const Type *a, const Type *b) {
    uint32_t n = type_leaves(a);
    if (type_leaves(b) != n || !has_wasm_leaves(b))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (type_wasm_class(type_leaf(a, i)) != type_wasm_class(type_leaf(b, i)))
            return false;
    return true;
}

static void check_probe_return(Check *c, Stmt *s) {
    const char *where = c->scope->describe ? c->scope->describe : "this probe";
    if (!s->value)
        return;
    if (c->lenient) {
        check_value(c, s->value, NULL);
        return;
    }
    const Type *want = c->scope->return_type;
    const Type *t = check_value(c, s->value, want);
    if (!c->scope->can_return_value) {
        Diag *g = check_error(c, DIAG_BAD_RETURN, s->value->span,
                              "only an alt probe returns a value, this is %s", where);
        diag_hint(c->diags, g, "'return;' leaves the body");
    } else if (t->kind != TYPE_ERROR && (want ? !same_wasm_leaves(want, t) : !has_wasm_leaves(t))) {
        Diag *g = check_error(c, DIAG_TYPE_MISMATCH, s->value->span,
                              "expected %s for the result of %s, found %s",
                              want ? want->text : "numbers", where, t->text);
        check_explain(c, g, s->value);
    }
}

static void check_return(Check *c, Stmt *s) {
    if (c->within) {
        if (s->value)
            check_error(c, DIAG_BAD_RETURN, s->value->span, "a block that runs %s returns no value",
                        check_when(c->early));
    } else if (c->place == PLACE_FN) {
        check_fn_return(c, s);
    } else if (c->place == PLACE_PROBE) {
        check_probe_return(c, s);
    } else {
        check_error(c, DIAG_BAD_RETURN, s->span,
                    "'return' is allowed only in probes and functions");
        if (s->value)
            check_value(c, s->value, NULL);
    }
}

bool check_returns(Block b) {
    if (b.incomplete) /* there may have been one */
        return true;
    for (const Stmt *s = b.first; s; s = s->next) {
        if (s->kind == STMT_RETURN)
            return true;
        bool all = s->kind == STMT_IF && !s->arms[s->narms - 1].cond;
        for (uint32_t i = 0; all && i < s->narms; i++)
            all = check_returns(s->arms[i].body);
        if (all)
            return true;
    }
    return false;
}

/* ---- all ---- */

static void check_call_stmt(Check *c, Stmt *s) {
    const Type *t;
    Expr *e = s->value;
    if (check_print(c, s))
        return;
    if (e->kind == EXPR_METHOD)
        t = e->type = check_method(c, e, true);
    else
        t = check_expr(c, e, NULL);
    if (t->kind != TYPE_UNIT && t->kind != TYPE_ERROR && e->annotation == ANN_NONE)
        diag(c->diags, DIAG_UNUSED_RESULT, e->span, "the result of '%.*s' (%s) is not used",
             STR_ARG(e->name), t->text);
    if (t->kind == TYPE_UNIT && (e->method == METHOD_ADD || e->method == METHOD_CLEAR))
        lower_aggregate(c, s);
}

static void check_stmt_check_if(Check *c, Stmt *s) {
    for (uint32_t i = 0; i < s->narms; i++) {
        if (s->arms[i].cond)
            check_condition(c, s->arms[i].cond,
                            i ? "the condition of 'elif'" : "the condition of 'if'");
        check_block(c, s->arms[i].body);
    }
}

static void check_annotated(Check *c, Stmt *s) {
    if (s->annotation == ANN_NONE)
        return;
    if (c->within || c->place == PLACE_FN) {
        check_error(c, DIAG_ANNOTATION, s->span, "'%s' is not allowed in %s",
                    s->annotation == ANN_INIT ? "@init" : "@exit",
                    c->within         ? "an '@init' or '@exit' block"
                    : c->fn->interval ? "wasm:interval"
                                      : "a function");
        return;
    }
    uint32_t nloops = c->nloops;
    c->nloops = 0;
    c->within = s;
    c->early = s->annotation;
    check_block(c, s->arms[0].body);
    c->nloops = nloops;
    c->within = NULL;
    c->early = ANN_NONE;
}

/* ---- loops ---- */

/* for (i in from..to): both are integers of one type, which i has, too. */
static const Type *check_range(Check *c, Expr *from, Expr *to) {
    check_operands(c, from, to, NULL);
    const Type *a = from->type, *b = to->type;
    if (a->kind == TYPE_ERROR || b->kind == TYPE_ERROR)
        return &type_error;
    const Expr *wrong = !type_is_integer(a) ? from : !type_is_integer(b) ? to : NULL;
    if (wrong) {
        Diag *g = check_error(c, DIAG_OPERAND_TYPE, wrong->span, "'..' works on integers, found %s",
                              wrong->type->text);
        check_explain(c, g, wrong);
    } else if (a != b) {
        Diag *g = check_error(c, DIAG_TYPE_MISMATCH, span_join(from->span, to->span),
                              "expected one type on both sides of '..', found %s and %s", a->text,
                              b->text);
        check_explain(c, g, from);
        check_explain(c, g, to);
    }
    return wrong || a != b ? &type_error : a;
}

static void check_declare_typed(Check *c, Var *v, const Type *t) {
    v->type = t;
    check_declare_loop(c, v);
}

/* Gives a call that the parser has made its meaning. */
static void check_made_call(Check *c, Expr *e, StrMethod method, const Type *t) {
    for (uint32_t i = 0; i < e->nargs && t->kind != TYPE_ERROR; i++)
        check_expr(c, e->args[i], NULL);
    e->method = method;
    e->type = t;
}

/* What the variable for the values of a map is. */
static const Type *check_for_value(Check *c, const Var *v, const Expr *map) {
    const Type *t = map->type->value;
    if (!t->aggregate)
        return t;
    if (t->kind != TYPE_TUPLE && t->kind != TYPE_MAP)
        return &type_scalar[t->kind];
    Diag *g = check_error(c, DIAG_OPERAND_TYPE, v->span,
                          "the values of the map are %s, which have no value as a whole", t->text);
    check_explain(c, g, map);
    diag_hint(c->diags, g, "for (k in m) goes over the keys");
    return &type_error;
}

/* for (k in m), for (k, v in m). */
static void check_for_keys(Check *c, Stmt *s) {
    Stmt *made = s->arms[LOOP_INIT].body.first, *key = s->arms[LOOP_BODY].body.first;
    Stmt *value =
        key->next && key->next->kind == STMT_DECL && key->next->var->loop ? key->next : NULL;
    Expr *map = made->next ? made->var->init : made->var->init->args[0];
    const Type *t = check_receiver(c, map);
    if (t->kind != TYPE_MAP || t->aggregate) {
        if (t->kind != TYPE_ERROR) {
            Diag *g = check_error(c, DIAG_NOT_A_MAP, map->span,
                                  "expected a map or a range after 'in', found %s", t->text);
            check_explain(c, g, map);
        }
        t = &type_error;
    }
    bool ok = t->kind == TYPE_MAP;
    if (made->next) {
        check_declare_typed(c, made->var, t);
        made = made->next;
    }
    const Type *u32 = &type_scalar[TYPE_U32];
    check_made_call(c, made->var->init, MAP_KEYS, ok ? u32 : t);
    check_declare_typed(c, made->var, ok ? u32 : t);
    check_made_call(c, s->arms[LOOP_BODY].cond, MAP_NEXT, ok ? &type_scalar[TYPE_BOOL] : t);
    check_made_call(c, key->var->init, MAP_KEY, ok ? t->key : t);
    check_declare_typed(c, key->var, ok ? t->key : t);
    if (!value)
        return;
    check_declare_typed(c, value->var, ok ? check_for_value(c, value->var, map) : t);
    if (value->var->type->kind == TYPE_ERROR)
        value->var->init = NULL; /* it was reported */
}

static void check_for_range(Check *c, Stmt *s) {
    Stmt *first = s->arms[LOOP_INIT].body.first;
    const Type *t = check_range(c, first->var->init, first->next->var->init);
    for (Stmt *d = first; d; d = d->next)
        check_declare_typed(c, d->var, t);
    check_condition(c, s->arms[LOOP_BODY].cond, "the condition of 'for'");
    check_expr(c, s->arms[LOOP_STEP].body.first->target, NULL);
}

static void check_loop(Check *c, Stmt *s) {
    uint32_t outer = c->loops.len;
    if (s->arms[LOOP_STEP].body.first)
        check_for_range(c, s);
    else if (s->arms[LOOP_INIT].body.first)
        check_for_keys(c, s);
    else
        check_condition(c, s->arms[LOOP_BODY].cond, "the condition of 'while'");
    c->nloops++;
    check_block(c, s->arms[LOOP_BODY].body);
    c->nloops--;
    c->loops.len = outer;
}

static void check_jump(Check *c, const Stmt *s) {
    if (!c->nloops && !c->lenient)
        check_error(c, DIAG_BAD_JUMP, s->span, "'%s' is allowed only in a loop",
                    s->kind == STMT_BREAK ? "break" : "continue");
}

static void check_stmt(Check *c, Stmt *s) {
    if (c->place == PLACE_SCRIPT && s->span.file)
        c->package = script_package(c->script, s->span.file);
    switch (s->kind) {
    case STMT_DECL:
        if (s->var->element)
            check_shadow_declare(c, s);
        else if (!s->var->derived) /* which was reported */
            check_decl(c, s->var);
        break;
    case STMT_ASSIGN:
        if (s->updates)
            check_update(c, s);
        else
            check_assign(c, s);
        break;
    case STMT_INC:
    case STMT_DEC: check_step(c, s); break;
    case STMT_RETURN: check_return(c, s); break;
    case STMT_IF: check_stmt_check_if(c, s); break;
    case STMT_CALL: check_call_stmt(c, s); break;
    case STMT_ANNOTATED: check_annotated(c, s); break;
    case STMT_LOOP: check_loop(c, s); break;
    case STMT_BREAK:
    case STMT_CONTINUE: check_jump(c, s); break;
    }
}

void check_block(Check *c, Block b) {
    for (Stmt *s = b.first, *next; s; s = next) {
        next = s->next; /* what checking inserts before it is checked */
        check_stmt(c, s);
        bool jumps = s->kind == STMT_BREAK || s->kind == STMT_CONTINUE;
        if ((s->kind == STMT_RETURN || jumps) && next) {
            Diag *g = diag(c->diags, DIAG_UNREACHABLE, next->span, "this is never reached");
            diag_label(c->diags, g, s->span,
                       jumps ? "control leaves the block here" : "the body ends here");
        }
    }
}
