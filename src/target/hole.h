/*
 * target/hole.h - filling the holes of templates: what hole.c and splice.c share. Only they include
 * it.
 */
#ifndef WHAMMC_TARGET_HOLE_H
#define WHAMMC_TARGET_HOLE_H

#include "target/splice.h"

/* local.get, local.set or local.tee, by HoleAccess. */
void hole_put_local(Splicer *s, uint8_t access, uint32_t local);
/* Pushes the top `n` saved values back, deepest first. */
void hole_restore(Splicer *s, const Saved *v, uint32_t n);
/* The operand count of the replaced instruction. */
uint32_t hole_operand_count(const Site *site, const SiteTypes *types);

/* The results of the instruction for which an alt body stands that gives them in locals
 * (Variant.gives): zero at first, where a way through the body supplies none; then pushed. */
void hole_clear_given(Splicer *s);
void hole_push_given(Splicer *s);

#endif
