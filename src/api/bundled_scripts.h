/*
 * api/bundled_scripts.h - scripts that come with whammc: those in stdlib/ and examples/scripts/,
 * embedded (see Makefile.am).
 */
#ifndef WHAMMC_API_BUNDLED_SCRIPTS_H
#define WHAMMC_API_BUNDLED_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct BundledScript {
    const char *name; /* of the file, without ".whamm" */
    const unsigned char *text;
    const unsigned long *size;
    bool for_all; /* for all programs: a probe without sites in one is not a mistake */
} BundledScript;

/* In alphabetical order; the last one has no name. */
extern const BundledScript bundled_scripts[];

/* Whether this is the text of one that is for all programs. */
bool script_is_for_all(const char *text, size_t len);

#endif
