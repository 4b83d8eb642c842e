/*
 * lang/dump.c - writes the tree as an S-expression; in a checked tree, with types: (+ :u32 x
 * 1:u32).
 */
#include "lang/lang.h"

#include <stdio.h>

static const char *const op_texts[] = {
    [OP_NOT] = "!",    [OP_COMPLEMENT] = "~", [OP_LOG2] = "log2", [OP_BUCKET] = "bucket",
    [OP_ABS] = "abs",  [OP_CLZ] = "clz",      [OP_CTZ] = "ctz",   [OP_POPCNT] = "popcnt",
    [OP_AND] = "&&",   [OP_OR] = "||",        [OP_BITOR] = "|",   [OP_BITXOR] = "^",
    [OP_BITAND] = "&", [OP_EQ] = "==",        [OP_NE] = "!=",     [OP_GE] = ">=",
    [OP_GT] = ">",     [OP_LE] = "<=",        [OP_LT] = "<",      [OP_SHL] = "<<",
    [OP_SHR] = ">>",   [OP_ADD] = "+",        [OP_SUB] = "-",     [OP_MUL] = "*",
    [OP_DIV] = "/",    [OP_REM] = "%",        [OP_MIN] = "min",   [OP_MAX] = "max",
};

const char *op_text(Op op) {
    return op_texts[op];
}

static void dump_put_text(Buf *out, Str s) {
    buf_u8(out, '"');
    for (uint32_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            buf_printf(out, "\\x%02x", c);
        else
            buf_u8(out, c);
    }
    buf_u8(out, '"');
}

static void dump_put_type(Buf *out, const Expr *e) {
    if (e->type)
        buf_printf(out, ":%s", e->type->text);
}

static void dump_expr(const Expr *e, Buf *out);

/* " a b c)" */
static void dump_args(const Expr *e, Buf *out) {
    for (uint32_t i = 0; i < e->nargs; i++) {
        buf_u8(out, ' ');
        dump_expr(e->args[i], out);
    }
    buf_u8(out, ')');
}

static void dump_int(const Expr *e, Buf *out) {
    if (!e->type)
        buf_printf(out, "%s%llu%s", e->negative ? "-" : "", (unsigned long long)e->integer,
                   e->too_big ? "..." : "");
    else if (type_is_signed(e->type))
        buf_printf(out, "%lld", (long long)e->integer);
    else
        buf_printf(out, "%llu", (unsigned long long)e->integer);
}

/* "(head:type a b)" */
static void dump_node(const Expr *e, const char *head, Str name, Buf *out) {
    buf_printf(out, "(%s%.*s", head, STR_ARG(name));
    dump_put_type(out, e);
    dump_args(e, out);
}

static void dump_path(const Expr *e, const char *before, Buf *out) {
    for (uint32_t i = 0; i < e->npath; i++)
        buf_printf(out, "%s%u", before, e->path[i]);
}

static void dump_expr(const Expr *e, Buf *out) {
    static const char *const annotations[] = {"", "@static ", "@init ", "@exit "};
    switch (e->kind) {
    case EXPR_INT: dump_int(e, out); break;
    case EXPR_FLOAT:
        if (e->type)
            buf_printf(out, "%.17g", e->real);
        else
            buf_str(out, e->text);
        break;
    case EXPR_BROKEN: buf_str(out, STR("broken")); break;
    case EXPR_BOOL: buf_printf(out, "%s", e->boolean ? "true" : "false"); break;
    case EXPR_STR: dump_put_text(out, e->text); break;
    case EXPR_NAME: buf_str(out, e->name); break;
    case EXPR_INDEX:
        buf_printf(out, "(index %.*s", STR_ARG(e->name));
        dump_path(e, ".", out);
        dump_put_type(out, e);
        dump_args(e, out);
        return;
    case EXPR_FIELD:
        buf_printf(out, "(field %.*s", STR_ARG(e->name));
        dump_path(e, " ", out);
        buf_u8(out, ')');
        break;
    case EXPR_UNARY:
    case EXPR_BINARY: dump_node(e, op_text(e->op), STR(""), out); return;
    case EXPR_CAST: dump_node(e, "as ", str_of(e->cast->text), out); return;
    case EXPR_COND: dump_node(e, "?", STR(""), out); return;
    case EXPR_CALL: dump_node(e, "call ", e->name, out); return;
    case EXPR_METHOD:
        buf_printf(out, "(%s%.*s.%.*s", annotations[e->annotation], STR_ARG(e->recv),
                   STR_ARG(e->name));
        dump_put_type(out, e);
        dump_args(e, out);
        return;
    case EXPR_TUPLE: dump_node(e, "tuple", STR(""), out); return;
    case EXPR_MEMBER: dump_node(e, e->name.len ? "member " : "item", e->name, out); return;
    }
    dump_put_type(out, e);
}

static void indent(Buf *out, uint32_t level) {
    buf_u8(out, '\n');
    while (level--)
        buf_bytes(out, "  ", 2);
}

static void dump_decorators(const Var *v, Buf *out) {
    buf_printf(
        out, "%s%s%s%s%s%s", v->decorators & DECO_REPORT ? " report" : "",
        v->decorators & DECO_ATOMIC ? " atomic" : "", v->decorators & DECO_SHADOW ? " shadow" : "",
        v->decorators & DECO_UNSHARED ? " unshared" : "",
        v->decorators & DECO_SHARED ? " shared" : "", v->decorators & DECO_FRAME ? " frame" : "");
}

static void dump_block(Block b, Buf *out, uint32_t level);

/* An arm of a loop, if there is anything in it. */
static void dump_arm(const Stmt *s, uint32_t arm, Buf *out, uint32_t level) {
    static const char *const names[] = {"init", "body", "step"};
    if (!s->arms[arm].body.first)
        return;
    indent(out, level + 1);
    buf_printf(out, "(%s", names[arm]);
    dump_block(s->arms[arm].body, out, level + 2);
    buf_u8(out, ')');
}

static void dump_stmt(const Stmt *s, Buf *out, uint32_t level) {
    indent(out, level);
    switch (s->kind) {
    case STMT_DECL:
        buf_printf(out, s->var->constant  ? "(const"
                        : s->var->derived ? "(derived"
                                          : "(var");
        dump_decorators(s->var, out);
        buf_printf(out, " %.*s:%s", STR_ARG(s->var->name), s->var->type->text);
        if (s->var->element)
            buf_printf(out, "[%s per %u]", s->var->element->text, 1u << s->var->unit_log);
        if (s->var->init) {
            buf_u8(out, ' ');
            dump_expr(s->var->init, out);
        }
        break;
    case STMT_ASSIGN:
        buf_printf(out, "(%s= ", s->updates ? op_text(s->value->op) : "");
        dump_expr(s->target, out);
        buf_u8(out, ' ');
        dump_expr(s->updates ? s->value->args[1] : s->value, out);
        break;
    case STMT_INC:
    case STMT_DEC:
        buf_printf(out, "(%s ", s->kind == STMT_INC ? "++" : "--");
        dump_expr(s->target, out);
        break;
    case STMT_RETURN:
        buf_printf(out, "(return");
        if (s->value) {
            buf_u8(out, ' ');
            dump_expr(s->value, out);
        }
        break;
    case STMT_CALL:
        buf_printf(out, "(do ");
        dump_expr(s->value, out);
        break;
    case STMT_ANNOTATED:
        buf_printf(out, s->annotation == ANN_INIT ? "(@init" : "(@exit");
        dump_block(s->arms[0].body, out, level + 1);
        break;
    case STMT_IF:
        buf_printf(out, "(if");
        for (uint32_t i = 0; i < s->narms; i++) {
            indent(out, level + 1);
            buf_u8(out, '(');
            if (s->arms[i].cond)
                dump_expr(s->arms[i].cond, out);
            else
                buf_printf(out, "else");
            dump_block(s->arms[i].body, out, level + 2);
            buf_u8(out, ')');
        }
        break;
    case STMT_LOOP:
        buf_printf(out, "(while ");
        dump_expr(s->arms[LOOP_BODY].cond, out);
        for (uint32_t i = 0; i < LOOP_ARMS; i++)
            dump_arm(s, i, out, level);
        break;
    case STMT_BREAK: buf_printf(out, "(break"); break;
    case STMT_CONTINUE: buf_printf(out, "(continue"); break;
    }
    buf_u8(out, ')');
}

static void dump_block(Block b, Buf *out, uint32_t level) {
    for (const Stmt *s = b.first; s; s = s->next)
        dump_stmt(s, out, level);
}

static void dump_fn(const Fn *fn, Buf *out) {
    indent(out, 1);
    buf_printf(out, "(fn %.*s (", STR_ARG(fn->name));
    for (uint32_t i = 0; i < fn->nparams; i++)
        buf_printf(out, "%s%.*s:%s", i ? " " : "", STR_ARG(fn->params[i]->name),
                   fn->params[i]->type->text);
    buf_printf(out, ") %s", fn->result->kind == TYPE_UNIT ? "()" : fn->result->text);
    dump_block(fn->body, out, 2);
    buf_u8(out, ')');
}

static void dump_rule(const Rule *r, Buf *out) {
    for (uint32_t i = 0; i < r->nparts; i++) {
        buf_printf(out, "%s%.*s", i ? ":" : "", STR_ARG(r->parts[i].pattern));
        const char *before = "(";
        for (uint32_t b = 0; b < r->nbounds; b++) {
            if (r->bounds[b].part != i)
                continue;
            buf_printf(out, "%s%.*s:%s", before, STR_ARG(r->bounds[b].name),
                       r->bounds[b].type->text);
            before = " ";
        }
        if (before[0] == ' ')
            buf_u8(out, ')');
    }
}

void lang_dump_probe(const Probe *p, Buf *out) {
    indent(out, 1);
    buf_printf(out, "(probe ");
    dump_rule(&p->rule, out);
    if (p->predicate) {
        indent(out, 2);
        buf_printf(out, "(when ");
        dump_expr(p->predicate, out);
        buf_u8(out, ')');
    }
    dump_block(p->body, out, 2);
    buf_u8(out, ')');
}

void lang_dump(const Script *s, Buf *out) {
    buf_printf(out, "(script");
    for (uint32_t i = 0; i < s->uses.len; i++) {
        indent(out, 1);
        buf_printf(out, "(use %.*s)", STR_ARG(s->uses.at[i].name));
    }
    dump_block(s->init, out, 1);
    for (uint32_t i = 0; i < s->derived.len; i++)
        dump_stmt(&(Stmt){.kind = STMT_DECL, .var = s->derived.at[i]}, out, 1);
    for (uint32_t i = 0; i < s->fns.len; i++)
        dump_fn(s->fns.at[i], out);
    for (uint32_t i = 0; i < s->probes.len; i++)
        lang_dump_probe(s->probes.at[i], out);
    buf_printf(out, ")\n");
}
