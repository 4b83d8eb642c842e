/*
 * api/script.h - scripts that come with whammc: those in stdlib/, embedded (see Makefile.am).
 */
#ifndef WHAMMC_API_SCRIPT_H
#define WHAMMC_API_SCRIPT_H

typedef struct BundledScript {
    const char *name; /* of the file, without ".whamm" */
    const unsigned char *text;
    const unsigned long *size;
} BundledScript;

/* In alphabetical order; the last one has no name. */
extern const BundledScript bundled_scripts[];

#endif
