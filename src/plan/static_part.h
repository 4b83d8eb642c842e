/*
 * plan/static_part.h - static expressions: whether their values vary, and whether they may have
 * none. Private to plan/.
 */
#ifndef WHAMMC_PLAN_STATIC_PART_H
#define WHAMMC_PLAN_STATIC_PART_H

#include "plan/plan.h"

/* Whether the value of a static expression may differ from site to site. */
bool static_has_names(const Expr *e);

/* Whether there may be sites at which a static expression has no value: an immediate that only some
 * instances of the instruction have, a division by zero, a float out of range. */
bool static_may_lack(const Expr *e);

/* Sites at which a static expression has no value do not match the variant. */
void static_note_lack(Variant *v, Expr *e);

/* The expression for leaf n of the tuple that an '@static' call returns. */
Expr *static_call_part(Plan *plan, Expr *call, uint32_t n);

#endif
