/*
 * lang/leave_out.c - scripts without predicates, and without reports: what these cost is the
 * difference.
 */
#include "lang/lang.h"

void lang_leave_out_predicates(Script *s) {
    for (uint32_t i = 0; i < s->probes.len; i++)
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
