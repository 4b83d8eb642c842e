/*
 * api/script.h - scripts that come with whammc: those in stdlib/, embedded (see Makefile.am).
 */
#ifndef WHAMMC_API_SCRIPT_H
#define WHAMMC_API_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct BundledScript {
    const char *name; /* of the file, without ".whamm" */
    const unsigned char *text;
    const unsigned long *size;
} BundledScript;

/* In alphabetical order; the last one has no name. */
extern const BundledScript bundled_scripts[];

/* Whether this is the text of one of them. */
bool script_is_bundled(const char *text, size_t len);

#endif
