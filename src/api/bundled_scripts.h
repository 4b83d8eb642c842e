/*
 * api/bundled_scripts.h - bundled scripts: those in stdlib/ and examples/scripts/, embedded (see
 * Makefile.am).
 */
#ifndef WHAMMC_API_BUNDLED_SCRIPTS_H
#define WHAMMC_API_BUNDLED_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct BundledScript {
    const char *name; /* of the file, without ".whamm" */
    const unsigned char *text;
    const unsigned long *size;
    bool for_all; /* it fits all programs: a probe without sites is not reported */
} BundledScript;

/* In alphabetical order; the last one has no name. Packages, "std/alloc", are those in stdlib/std/.
 */
extern const BundledScript bundled_scripts[], bundled_packages[];

/* The text of a package, by the path of its file without ".whamm"; NULL if there is none. */
const char *bundled_package(const char *path, size_t *len);

/* Whether this is the text of a script that is `for_all`. */
bool script_is_for_all(const char *text, size_t len);

#endif
