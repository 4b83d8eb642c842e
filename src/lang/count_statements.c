/*
 * lang/count_statements.c - counts how often each statement and each probe of a script runs, for
 * `whammc test --coverage`.
 *
 * Before each statement there is a counter more, which the report has; and beside each probe with a
 * predicate a probe without, which only counts. For later layers all this is part of the script.
 */
#include "lang/lang.h"

typedef struct Counting {
    Script *script;
    Diags *diags;
    Map constant; /* names of functions that predicates and constants may call */
} Counting;

/* Makes the statement that counts what is at a place. */
static Stmt *count_make(Counting *c, const char *what, Span span) {
    Script *s = c->script;
    uint32_t line, column;
    Stmt *declaration = arena_new(&s->arena, Stmt), *count = arena_new(&s->arena, Stmt);
    Var *v = arena_new(&s->arena, Var);
    diag_position(c->diags, span.file, span.start, &line, &column);
    v->name = str_of(arena_printf(&s->arena, "(%s %s:%u:%u)", what,
                                  diag_file_name(c->diags, span.file), line, column));
    v->decorators = DECO_REPORT;
    v->type = &type_scalar[TYPE_U64];
    v->span = v->type_span = v->decorator_span = declaration->span = count->span = span;
    declaration->kind = STMT_DECL;
    declaration->var = v;
    declaration->next = s->init.first;
    s->init.first = declaration;
    count->kind = STMT_INC;
    count->target = arena_new(&s->arena, Expr);
    *count->target = (Expr){.kind = EXPR_NAME, .span = span, .name = v->name, .name_span = span};
    return count;
}

/* Counts the statements of a block; those that the parser made have the place of `within`. */
static void count_block(Counting *c, const char *what, Block *b, Span within) {
    for (Stmt **at = &b->first; *at; at = &(*at)->next) {
        Stmt *s = *at;
        bool own = s->span.file != within.file || s->span.start > within.start;
        if (own && s->kind != STMT_DECL) {
            Stmt *count = count_make(c, what, s->span);
            count->next = s;
            *at = count;
            at = &count->next;
        }
        for (uint32_t i = 0; i < s->narms; i++)
            if (s->kind != STMT_LOOP || i == LOOP_BODY)
                count_block(c, what, &s->arms[i].body, own ? s->span : within);
    }
}

static void count_note_call(void *ctx, Expr *e) {
    Counting *c = ctx;
    if (e->kind == EXPR_CALL)
        map_put(&c->constant, e->name, 1, NULL);
}

/* Finds the functions whose calls may have to be constant: they must have no effects. */
static void find_constant(Counting *c) {
    Script *s = c->script;
    for (uint32_t i = 0; i < s->probes.len; i++)
        ast_walk_probe(&(Probe){.predicate = s->probes.at[i]->predicate}, count_note_call, c);
    ast_walk_probe(&(Probe){.body = s->init}, count_note_call, c);
    for (uint32_t before = UINT32_MAX; before != c->constant.len;) {
        before = c->constant.len;
        for (uint32_t i = 0; i < s->fns.len; i++)
            if (map_get(&c->constant, s->fns.at[i]->name))
                ast_walk_probe(&(Probe){.body = s->fns.at[i]->body}, count_note_call, c);
    }
}

/* Adds a probe that counts where another one would run without its predicate. */
static void count_events(Counting *c, const Probe *probe) {
    Script *s = c->script;
    Probe *all = arena_new(&s->arena, Probe);
    *all = (Probe){.rule = probe->rule, .span = probe->span, .made = true};
    all->index = s->probes.len;
    all->body.first = count_make(c, "event", probe->rule.span);
    vec_push(&s->probes, all);
}

void lang_count_statements(Script *s, Diags *diags) {
    Counting c = {.script = s, .diags = diags};
    uint32_t n = s->probes.len;
    if (s->broken)
        return;
    find_constant(&c);
    for (uint32_t i = 0; i < n; i++) {
        Probe *p = s->probes.at[i];
        if (p->made)
            continue;
        count_block(&c, "statement", &p->body, (Span){p->span.file, p->span.start, p->span.start});
        Stmt *first = count_make(&c, "probe", p->rule.span);
        first->next = p->body.first;
        p->body.first = first;
        if (p->predicate && !lang_may_be_alt(&p->rule))
            count_events(&c, p);
    }
    for (uint32_t i = 0; i < s->fns.len; i++) {
        Fn *fn = s->fns.at[i];
        if (*fn->name.ptr != '(' && !map_get(&c.constant, fn->name))
            count_block(&c, "function", &fn->body, fn->span);
    }
    map_free(&c.constant);
}
