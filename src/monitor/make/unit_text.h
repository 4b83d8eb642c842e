/*
 * monitor/make/unit_text.h - expressions and bodies as text, without decided conditions: for
 * people, and to find equal ones.
 */
#ifndef WHAMMC_UNIT_UNIT_TEXT_H
#define WHAMMC_UNIT_UNIT_TEXT_H

#include "monitor/make/unit.h"

/* The decided atoms. */
typedef struct Decided {
    Event event;
    const Variant *variant; /* NULL = an expression by itself */
    uint64_t known, atoms;  /* of the variant: bit k of atoms counts where bit k of known is set */
} Decided;

/* Equal texts (of one variant, or of static expressions) = equal code. */
void unit_text_expr(const Decided *d, const Expr *e, Buf *out);

/* "/ predicate / { body }" */
void unit_text_probe(const Decided *d, Buf *out);

#endif
