/*
 * event/derive.h - derived names (addr, effective_addr, taken, trap, failed, target …) as
 * expressions over operands, results and constants of the instruction.
 */
#ifndef WHAMMC_EVENT_DERIVE_H
#define WHAMMC_EVENT_DERIVE_H

#include "event/event.h"

/* True if the meaning of the name differs from instruction to instruction though its type does not.
 */
bool derived_depends_on_op(int name);

/* Whether it is a condition that only some instructions have (taken, trap, back_edge). A rule for
 * several instructions may use it if one of them has it; it is false at the others. */
bool derived_is_condition(int name);

/* The definition of a derived name at event `e`, of the same type, allocated in `a`; any other
 * expression is returned unchanged. */
Expr *derive_expr(Arena *a, Expr *name, Event e);

#endif
