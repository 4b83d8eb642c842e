/*
 * inject/splice_hole.h - filling the holes of templates: for the splicer and its back ends.
 */
#ifndef WHAMMC_INJECT_SPLICE_HOLE_H
#define WHAMMC_INJECT_SPLICE_HOLE_H

#include "inject/splice.h"

/* Appends local.get, local.set or local.tee, by HoleAccess. */
void hole_put_local(Splicer *s, uint8_t access, uint32_t local);
/* Appends global.get or global.set. */
void hole_put_global(Splicer *s, uint8_t access, uint64_t global);
/* Calls a function, a handle. */
void hole_put_call(Splicer *s, uint32_t func);
/* Moves the leaves of a tuple that a call has returned from the stack to locals (HOLE_GOT). */
void hole_take_leaves(Splicer *s, const Type *result);
/* Pushes saved operand n, extended or wrapped. */
void hole_put_operand_as(Splicer *s, uint32_t n, bool wide);
/* Pushes the top `n` saved values back, deepest first. */
void hole_restore(Splicer *s, const Saved *v, uint32_t n);
/* Returns the operand count of the replaced instruction. */
uint32_t hole_operand_count(const Site *site, const SiteTypes *types);

/* Pushes the results that an alt body has left in locals (Variant.gives). */
void hole_push_given(Splicer *s);
/* Appends the code that runs at exits, where inserted code leaves the function or, if `ends`, the
 * program. */
void hole_put_leave(Splicer *s, bool ends);

#endif
