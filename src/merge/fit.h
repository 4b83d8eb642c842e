/*
 * merge/fit.h - whether a report is of a program.
 */
#ifndef WHAMMC_MERGE_FIT_H
#define WHAMMC_MERGE_FIT_H

#include "base/buf.h"
#include "report/report_read.h"
#include "report/places.h"

enum { FIT_HASH = 17 }; /* with a NUL */

/* The hash by which the lines before reports name the program, in hexadecimal. */
void fit_hash(const void *module, size_t size, char hash[FIT_HASH]);

/*
 * Whether the report can be of this program: it has the functions and the sites that the report
 * names, and most of the names are the same. If not, `why` says what is different. The tuples and
 * maps of the report must be JSON (value_unify).
 */
bool fit_program(const Report *r, const Places *places, Buf *why);

#endif
