/*
 * lang/edge.c - probes of wasm:edge: a taken edge of the control-flow graph, from one basic block
 * to another.
 *
 * The edge is taken when its second block starts, which is where the body runs; a frame variable
 * has the place of the block that started last in this activation, and 0 before the first one. It
 * is set by a last probe at the starts of blocks. For later layers all this is part of the script.
 */
#include "lang/parse.h"

static const char edge_text[] = "wasm:block:start {\n"
                                "    frame var last_: u32;\n"
                                "    if (last_ != 0) { var from: u32 = last_; if (true) { } }\n"
                                "}\n";
static const char last_text[] = "wasm:block:start { frame var last_: u32; last_ = pc; }\n";

typedef struct Edge {
    Parse *p;
    bool from; /* the name is used */
} Edge;

static bool is_edge(const Rule *r) {
    return !r->broken && r->nparts >= 2 && str_is(r->parts[0].pattern, "wasm") &&
           str_is(r->parts[1].pattern, "edge");
}

/* `to` is a constant of the place. */
static void edge_replace(void *ctx, Expr *e) {
    Edge *edge = ctx;
    if (e->kind != EXPR_NAME)
        return;
    edge->from |= str_is(e->name, "from");
    if (str_is(e->name, "to"))
        e->name = STR("pc");
}

/* Reports variables with the names of an edge, and changes of these. */
static void edge_check_names(Parse *p, Block b) {
    for (const Stmt *s = b.first; s; s = s->next) {
        const Expr *target = s->kind == STMT_DECL ? NULL : s->target;
        Str name = s->kind == STMT_DECL                  ? s->var->name
                   : target && target->kind == EXPR_NAME ? target->name
                                                         : STR("");
        if ((str_is(name, "from") || str_is(name, "to")) && target)
            parse_error(p, DIAG_NOT_ASSIGNABLE, target->span, "'%.*s' cannot be assigned",
                        STR_ARG(name));
        else if (str_is(name, "from") || str_is(name, "to"))
            parse_error(p, DIAG_DUPLICATE_NAME, s->var->span,
                        "'%.*s' is a variable and also a bound name in wasm:edge", STR_ARG(name));
        for (uint32_t i = 0; i < s->narms; i++)
            edge_check_names(p, s->arms[i].body);
    }
}

/* The statements of our own probe around the body, whose innermost `if` has it. */
static Block edge_wrap(Parse *p, const Probe *probe, bool tests) {
    Script *s = p->script;
    build_made(p, probe->rule.span, edge_text);
    Block outer = vec_last(&s->probes)->body;
    s->probes.len--;
    IfArm *inner = outer.first->next->arms[0].body.first->next->arms;
    inner->body = probe->body;
    if (tests)
        inner->cond = probe->predicate;
    return outer;
}

static void build_edge(Parse *p, Probe *probe) {
    Rule *r = &probe->rule;
    Edge edge = {.p = p};
    if (r->nparts > 2)
        parse_error(p, DIAG_RULE_PARTS, r->span,
                    "wasm:edge is an event without further parts: write 'wasm:edge'");
    edge_check_names(p, probe->body);
    ast_walk_probe(&(Probe){.predicate = probe->predicate}, edge_replace, &edge);
    bool tests = edge.from; /* what is known of a place selects places */
    ast_walk_probe(&(Probe){.body = probe->body}, edge_replace, &edge);
    r->broken = p->failed;
    if (p->failed)
        return;
    probe->body = edge_wrap(p, probe, tests);
    if (tests)
        probe->predicate = NULL;
    r->parts[1].pattern = STR("block");
    r->parts[2] = (RulePart){STR("start"), r->parts[1].span};
    r->nparts = 3;
}

void build_edges(Parse *p) {
    Script *s = p->script;
    const Probe *first = NULL;
    bool own = false; /* there is one that sees the script's variables */
    for (uint32_t i = 0; i < s->probes.len; i++) {
        if (!is_edge(&s->probes.at[i]->rule))
            continue;
        own |= !script_package(s, s->probes.at[i]->span.file);
        first = first ? first : s->probes.at[i];
        build_edge(p, s->probes.at[i]);
    }
    if (own)
        edge_check_names(p, s->init);
    if (first && !p->failed)
        build_made(p, first->rule.span, last_text);
}
