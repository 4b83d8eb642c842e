/*
 * merge/fit.h - whether a report is of a program.
 */
#ifndef WHAMMC_MERGE_FIT_H
#define WHAMMC_MERGE_FIT_H

#include "base/buf.h"
#include "report/places.h"
#include "report/report_read.h"

enum { FIT_HASH = 17 }; /* with a NUL */

/* The hash by which the lines before reports name the program, in hexadecimal. */
void fit_hash(const void *module, size_t size, char hash[FIT_HASH]);

/* How well a report and a program go together. */
typedef enum Fit {
    FIT_NOT,
    FIT_PERHAPS, /* the program has the functions and the sites that the report names, and at least
                    half of the names are the same */
    FIT_NAMES,   /* and there are names, all equal */
} Fit;

/* If they do not, `why` names the difference. The tuples and maps of the report must be JSON
 * (value_unify). */
Fit fit_program(const Report *r, const Places *places, Buf *why);

#endif
