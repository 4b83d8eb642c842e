/*
 * profile/profile_untimed.c - functions whose calls were counted, but not timed.
 */
#include "profile/profile_untimed.h"
#include "lang/list.h"

Str untimed_list(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (str_is(row->var->name, "not_timed") && str_is(row->var->type, "str"))
            return row->value;
    }
    return (Str){"", 0};
}

static void profile_untimed_mark(Profile *p, Str text) {
    Arena arena = {0};
    NumberList list = {0};
    uint32_t wrong;
    if (!list_parse(&arena, text, &list, &wrong))
        for (uint32_t i = 0; i < p->funcs.len; i++)
            p->funcs.at[i].untimed = list_has(&list, p->funcs.at[i].id);
    arena_free(&arena);
}

void untimed_mark(Profile *p, const Report *r) {
    p->untimed = untimed_list(r);
    profile_untimed_mark(p, p->untimed);
}
