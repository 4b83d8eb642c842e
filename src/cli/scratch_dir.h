/*
 * cli/scratch_dir.h - temporary directories.
 */
#ifndef WHAMMC_CLI_SCRATCH_DIR_H
#define WHAMMC_CLI_SCRATCH_DIR_H

#include "cli/cli.h"

/* ---- temporary directories (scratch_dir.c) ---- */

typedef struct Place {
    char *directory;
    Vec(char *) made;
} Place;

/* Makes it, at a path without the characters in `unwanted` (NULL = any). False: errno; place_remove
 * may still be called. */
bool place_make(Place *p, const char *unwanted);
/* Returns the path, owned by the place, of a file or directory in it that the caller or another
 * program makes. NULL: errno. */
const char *place_path(Place *p, const char *name);
/* Makes a file, a directory. */
const char *place_file(Place *p, const char *name, const void *data, size_t len);
const char *place_directory(Place *p, const char *name);
/* Notes what another program has made in a directory of the place. */
void place_found(Place *p, const char *directory);
/* Removes it and all requested paths. */
void place_remove(Place *p);

#endif
