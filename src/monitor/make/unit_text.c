/*
 * monitor/make/unit_text.c - expressions and bodies as text, without decided conditions.
 */
#include "monitor/make/unit_text.h"

#include "monitor/make/known.h"

#include <assert.h>

static void unit_text_put_text(Buf *out, Str s) {
    buf_u8(out, '"');
    for (uint32_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\' || c < 0x20)
            buf_printf(out, "\\%02x", c);
        else
            buf_u8(out, c);
    }
    buf_u8(out, '"');
}

static void unit_text_put_value(Value v, Buf *out) {
    switch (v.kind) {
    case TYPE_BOOL: buf_printf(out, v.bits ? "true" : "false"); break;
    case TYPE_STR: unit_text_put_text(out, v.text); break;
    case TYPE_F32:
    case TYPE_F64: buf_printf(out, "%.17g", v.real); break;
    case TYPE_I8:
    case TYPE_I16:
    case TYPE_I32:
    case TYPE_I64: buf_printf(out, "%lld", (long long)v.bits); break;
    default: buf_printf(out, "%llu", (unsigned long long)v.bits);
    }
}

/* Bound names. Names that only derived names expand to are not in the language. */
static void put_bound(const Expr *e, Buf *out) {
    int id = e->bound.id;
    if (id >= NAME_COUNT)
        buf_printf(out, "#%d.%u", id - NAME_COUNT, e->bound.n);
    else if (event_name_is_numbered((NameId)id))
        buf_printf(out, "%.*s%u", (int)strlen(name_infos[id].text) - 1, name_infos[id].text,
                   e->bound.n);
    else
        buf_printf(out, "%s", name_infos[id].text);
    if (id == NAME_ARG || id == NAME_LOCAL || id >= NAME_COUNT)
        buf_printf(out, ":%s", e->type->text);
}

/* The condition is decided: its value. */
static Tri unit_text_decided(const Decided *d, const Expr *e) {
    Value v;
    if (e->type->kind != TYPE_BOOL)
        return TRI_UNKNOWN;
    if (known_value(d->event, e, &v))
        return tri_of(v.bits);
    return d->variant ? shape_decide(d->variant, d->known, d->atoms, e) : TRI_UNKNOWN;
}

static void unit_text_put(const Decided *d, const Expr *e, bool nested, Buf *out);

static void unit_text_put_list(const Decided *d, const Expr *e, uint32_t from, Buf *out) {
    buf_u8(out, '(');
    for (uint32_t i = from; i < e->nargs; i++) {
        if (i > from)
            buf_printf(out, ", ");
        unit_text_put(d, e->args[i], false, out);
    }
    buf_u8(out, ')');
}

/* `a && b` with one side decided is the other side. */
static const Expr *unit_text_rest_of(const Decided *d, const Expr *e) {
    Tri neutral = tri_not(tri_decisive(e->op));
    for (uint32_t i = 0; i < 2; i++)
        if (unit_text_decided(d, e->args[i]) == neutral)
            return e->args[1 - i];
    return NULL;
}

static void put_binary(const Decided *d, const Expr *e, bool nested, Buf *out) {
    const Expr *rest = e->op == OP_AND || e->op == OP_OR ? unit_text_rest_of(d, e) : NULL;
    if (rest) {
        unit_text_put(d, rest, nested, out);
        return;
    }
    if (nested)
        buf_u8(out, '(');
    unit_text_put(d, e->args[0], true, out);
    buf_printf(out, " %s ", op_text(e->op));
    unit_text_put(d, e->args[1], true, out);
    if (nested)
        buf_u8(out, ')');
}

static void unit_text_put_condition(const Decided *d, const Expr *e, bool nested, Buf *out) {
    Tri c = unit_text_decided(d, e->args[0]);
    if (c != TRI_UNKNOWN) {
        unit_text_put(d, e->args[c == TRI_YES ? 1 : 2], nested, out);
        return;
    }
    buf_u8(out, '(');
    for (uint32_t i = 0; i < 3; i++) {
        buf_printf(out, "%s", i == 0 ? "" : i == 1 ? " ? " : " : ");
        unit_text_put(d, e->args[i], true, out);
    }
    buf_u8(out, ')');
}

/* The fields that e names. */
static void unit_text_put_path(const Expr *e, Buf *out) {
    for (uint32_t i = 0; i < e->npath; i++)
        buf_printf(out, ".%u", e->path[i]);
}

static void unit_text_put(const Decided *d, const Expr *e, bool nested, Buf *out) {
    static const char *const annotations[] = {"", "@static ", "@init ", "@exit "};
    Value v;
    Tri t = unit_text_decided(d, e);
    if (t != TRI_UNKNOWN) {
        unit_text_put_value((Value){.kind = TYPE_BOOL, .bits = t == TRI_YES}, out);
        return;
    }
    if (known_value(d->event, e, &v)) {
        unit_text_put_value(v, out);
        return;
    }
    switch (e->kind) {
    case EXPR_INT:
        unit_text_put_value((Value){.kind = e->type->kind, .bits = e->integer}, out);
        break;
    case EXPR_FLOAT: unit_text_put_value((Value){.kind = TYPE_F64, .real = e->real}, out); break;
    case EXPR_BOOL: buf_printf(out, e->boolean ? "true" : "false"); break;
    case EXPR_STR: unit_text_put_text(out, e->text); break;
    case EXPR_NAME:
        if (e->is_bound)
            put_bound(e, out);
        else
            buf_str(out, e->name);
        break;
    case EXPR_INDEX:
        buf_printf(out, "%s%.*s[", e->inserts ? "=" : "", STR_ARG(e->name));
        unit_text_put(d, e->args[0], false, out);
        buf_u8(out, ']');
        unit_text_put_path(e, out);
        break;
    case EXPR_FIELD:
        buf_str(out, e->name);
        unit_text_put_path(e, out);
        break;
    case EXPR_UNARY:
        buf_printf(out, "%s%s", op_text(e->op), *op_text(e->op) >= 'a' ? " " : "");
        if (e->op == OP_BUCKET)
            buf_printf(out, " %s ", e->cast->text);
        unit_text_put(d, e->args[0], true, out);
        break;
    case EXPR_BINARY: put_binary(d, e, nested, out); break;
    case EXPR_CAST:
        buf_u8(out, '(');
        unit_text_put(d, e->args[0], true, out);
        buf_printf(out, " as %s)", e->cast->text);
        break;
    case EXPR_COND: unit_text_put_condition(d, e, nested, out); break;
    case EXPR_CALL:
        buf_str(out, e->name);
        unit_text_put_list(d, e, 0, out);
        break;
    case EXPR_METHOD:
        if (e->method) {
            unit_text_put(d, e->args[0], true, out);
            buf_printf(out, ".%.*s", STR_ARG(e->name));
            unit_text_put_list(d, e, 1, out);
            break;
        }
        buf_printf(out, "%s%.*s.%.*s", annotations[e->annotation], STR_ARG(e->recv),
                   STR_ARG(e->name));
        unit_text_put_list(d, e, 0, out);
        if (e->annotation == ANN_STATIC) /* each call is one of its own */
            buf_printf(out, "@%u.%u.%d", e->span.file, e->span.start, (int)d->event.kind);
        break;
    case EXPR_TUPLE: unit_text_put_list(d, e, 0, out); break;
    case EXPR_MEMBER:
    case EXPR_BROKEN: assert(!"only scripts without errors have terms"); break;
    }
}

void unit_text_expr(const Decided *d, const Expr *e, Buf *out) {
    unit_text_put(d, e, false, out);
}

static void unit_text_put_block(const Decided *d, const Block *b, Buf *out);

/* Arms that cannot be taken are left out; one that is always taken is the last. */
static void unit_text_put_if(const Decided *d, const Stmt *s, Buf *out) {
    bool first = true;
    for (uint32_t i = 0; i < s->narms; i++) {
        const Expr *cond = s->arms[i].cond;
        Tri c = cond ? unit_text_decided(d, cond) : TRI_YES;
        if (c == TRI_NO)
            continue;
        if (c == TRI_UNKNOWN) {
            buf_printf(out, first ? " if (" : " elif (");
            unit_text_put(d, cond, false, out);
            buf_printf(out, ") ");
        } else if (first) {
            buf_u8(out, ' ');
        } else {
            buf_printf(out, " else ");
        }
        unit_text_put_block(d, &s->arms[i].body, out);
        if (c == TRI_YES)
            return;
        first = false;
    }
}

static void unit_text_put_loop(const Decided *d, const Stmt *s, Buf *out) {
    unit_text_put_block(d, &s->arms[LOOP_INIT].body, out);
    buf_printf(out, " while (");
    unit_text_put(d, s->arms[LOOP_BODY].cond, false, out);
    buf_printf(out, ") ");
    unit_text_put_block(d, &s->arms[LOOP_BODY].body, out);
    unit_text_put_block(d, &s->arms[LOOP_STEP].body, out);
}

static void put_stmt(const Decided *d, const Stmt *s, Buf *out) {
    if (s->kind == STMT_LOOP) {
        unit_text_put_loop(d, s, out);
        return;
    }
    if (s->kind == STMT_IF) {
        unit_text_put_if(d, s, out);
        return;
    }
    if (s->kind == STMT_ANNOTATED) {
        buf_printf(out, s->annotation == ANN_INIT ? " @init " : " @exit ");
        unit_text_put_block(d, &s->arms[0].body, out);
        return;
    }
    buf_u8(out, ' ');
    switch (s->kind) {
    case STMT_DECL:
        buf_printf(out, "var %.*s", STR_ARG(s->var->name));
        if (s->var->init) {
            buf_printf(out, " = ");
            unit_text_put(d, s->var->init, false, out);
        }
        break;
    case STMT_ASSIGN:
        unit_text_put(d, s->target, false, out);
        buf_printf(out, " = ");
        unit_text_put(d, s->value, false, out);
        break;
    case STMT_INC:
    case STMT_DEC:
        unit_text_put(d, s->target, false, out);
        buf_printf(out, s->kind == STMT_INC ? "++" : "--");
        break;
    case STMT_RETURN: buf_printf(out, "return"); break;
    case STMT_BREAK: buf_printf(out, "break"); break;
    case STMT_CONTINUE: buf_printf(out, "continue"); break;
    case STMT_CALL: unit_text_put(d, s->value, false, out); break;
    default: break;
    }
    buf_u8(out, ';');
}

static void unit_text_put_block(const Decided *d, const Block *b, Buf *out) {
    buf_printf(out, "{");
    for (const Stmt *s = b->first; s; s = s->next)
        put_stmt(d, s, out);
    buf_printf(out, " }");
}

void unit_text_probe(const Decided *d, Buf *out) {
    const Expr *predicate = d->variant->probe->predicate;
    if (predicate && unit_text_decided(d, predicate) != TRI_YES) {
        buf_printf(out, "/ ");
        unit_text_put(d, predicate, false, out);
        buf_printf(out, " / ");
    }
    unit_text_put_block(d, &d->variant->probe->body, out);
}
