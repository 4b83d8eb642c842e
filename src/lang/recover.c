/*
 * lang/recover.c - keeps the readable parts of text that does not follow the grammar, so that the
 * rest of the script can be checked without errors that follow from the first.
 */
#include "lang/parse.h"

static bool recover_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The words that may have been declared: after another word (`var x`, `fn f`, `use lib`), or
 * before a colon (`x: i32`). */
Stmt *build_broken(Parse *p, Span span) {
    bool after_word = false;
    for (uint32_t at = span.start; at < span.end && at < p->len;) {
        uint32_t start = at;
        while (at < span.end && parse_is_word(p->text[at]))
            at++;
        uint32_t end = at;
        while (at < p->len && recover_is_blank(p->text[at]))
            at++;
        if (end == start) {
            after_word = after_word && at > start;
            at += at == start;
            continue;
        }
        bool before_colon = at < p->len && p->text[at] == ':';
        if ((after_word || before_colon) && !(p->text[start] >= '0' && p->text[start] <= '9'))
            map_put(&p->script->lost_names, (Str){p->text + start, end - start}, 1, NULL);
        after_word = true;
    }
    List *arms = p->salvaged;
    p->salvaged = NULL;
    return arms ? build_broken_if(p, span, arms) : NULL;
}

void build_salvage(Parse *p, List *arms) {
    for (const ListNode *node = arms->head; node; node = node->next)
        p->salvaged = list_add(p, p->salvaged, node->item, node->span);
}

/* Declarations in a block may have been meant for the script scope. */
static void lose_declarations(Parse *p, const Stmt *s) {
    for (; s; s = s->next) {
        if (s->kind == STMT_DECL)
            map_put(&p->script->lost_names, s->var->name, 1, NULL);
        for (uint32_t i = 0; i < s->narms; i++)
            lose_declarations(p, s->arms[i].body.first);
    }
}

void build_orphans(Parse *p, Stmt *first) {
    Rule none = {.span = first->span, .broken = true};
    lose_declarations(p, first);
    build_probe(p, first->span, &none, NULL, (Block){first, true});
}

List *build_broken_arm(Parse *p, List *arms, Span span, Block body) {
    const Stmt *before = build_broken(p, span);
    for (uint32_t i = 0; before && i < before->narms; i++) {
        IfArm *arm = build_arm(p, before->arms[i].cond, before->arms[i].body);
        arms = list_add(p, arms, arm, span);
    }
    return list_add(p, arms, build_arm(p, build_bool(p, span, true), body), span);
}

Stmt *build_broken_if(Parse *p, Span span, List *arms) {
    Stmt *s = build_if(p, span, arms, NULL);
    s->broken = true;
    return s;
}

void build_broken_fn(Parse *p, Span span, Word name, Span error, Block body) {
    build_broken(p, error);
    body.incomplete = true;
    build_fn(p, span, name, NULL, &type_error, name.span, body);
    vec_last(&p->script->fns)->broken = true;
}

/* Unreadable is either the predicate or the rule itself. */
void build_broken_probe(Parse *p, Span span, Rule *rule, Span error, Block body) {
    build_broken(p, error);
    rule->broken = error.start >= p->len || p->text[error.start] != '/';
    build_probe(p, span, rule, NULL, body);
}

/* Takes the statements since the last probe or function out of the script scope: there they would
 * be errors one by one. */
void build_stray_brace(Parse *p, Span error) {
    build_broken(p, error);
    Stmt **link = &p->script->init.first, *last = NULL;
    while (*link && ((*link)->span.file != p->file || (*link)->span.start < p->open.last_block)) {
        last = *link;
        link = &last->next;
    }
    if (!p->open.last_block || !*link)
        return;
    Stmt *strays = *link;
    *link = NULL;
    p->last_stmt = last;
    build_orphans(p, strays);
}
