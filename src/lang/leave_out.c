/*
 * lang/leave_out.c - scripts without predicates, and without reports: the difference is their cost.
 */
#include "lang/lang.h"

bool lang_may_be_alt(const Rule *r) {
    Str mode = r->nparts ? r->parts[r->nparts - 1].pattern : (Str){0};
    for (uint32_t i = 0; i < mode.len; i++)
        if (strchr("*?[", mode.ptr[i]) || (mode.len - i >= 3 && !memcmp(mode.ptr + i, "alt", 3)))
            return r->nparts == 4;
    return false;
}

void lang_leave_out_predicates(Script *s) {
    for (uint32_t i = 0; i < s->probes.len; i++)
        if (!lang_may_be_alt(&s->probes.at[i]->rule))
            s->probes.at[i]->predicate = NULL;
}

/* In a probe, `report` alone means one variable per site. */
static void keep_to_itself(Var *v, bool in_probe) {
    if (!(v->decorators & DECO_REPORT))
        return;
    v->decorators &= ~(uint32_t)DECO_REPORT;
    if (in_probe && !v->decorators)
        v->decorators = DECO_UNSHARED;
}

static void leave_out_in(Block *b, bool in_probe) {
    for (Stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_DECL)
            keep_to_itself(s->var, in_probe);
        for (uint32_t i = 0; i < s->narms; i++)
            leave_out_in(&s->arms[i].body, in_probe);
    }
}

static bool is_report(const Rule *r) {
    return r->nparts == 2 && str_is(r->parts[0].pattern, "wasm") &&
           str_is(r->parts[1].pattern, "report");
}

void lang_leave_out_reports(Script *s) {
    uint32_t n = 0;
    leave_out_in(&s->init, false);
    s->derived.len = 0;
    for (uint32_t i = 0; i < s->probes.len; i++) {
        Probe *p = s->probes.at[i];
        leave_out_in(&p->body, true);
        if (is_report(&p->rule))
            continue;
        p->index = n;
        s->probes.at[n++] = p;
    }
    s->probes.len = n;
}
