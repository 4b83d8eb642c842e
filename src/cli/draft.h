/*
 * cli/draft.h - writes a file while its contents are still being made, on a thread of its own.
 *
 * The file has no name until it is complete and requested: if this process fails or is killed
 * before, nothing is left of it. Whether the file system supports that shows at the first bytes. A
 * draft that fails is not an error: the caller writes the file in the usual way.
 */
#ifndef WHAMMC_CLI_DRAFT_H
#define WHAMMC_CLI_DRAFT_H

#include "base/buf.h"
#include "whammc/whammc.h"

#include <sys/types.h>

typedef struct Draft {
    whammc_sink sink;
    struct DraftState *state; /* NULL: no file */
} Draft;

/* Begins a draft in the folder of the file `path`; `replaces`: the file exists. A NULL path:
 * without a file. The draft must not move. */
void draft_begin(Draft *d, const char *path, bool replaces);

/* Writes the rest of `contents` that was not put, and waits until all is written. False if that
 * fails. */
bool draft_complete(Draft *d, const Buf *contents);
/* Gives a complete file its mode and a name in the folder. False: errno, EEXIST if the name
 * exists. */
bool draft_name(const Draft *d, mode_t mode, const char *name);
/* Ends a draft in any state. */
void draft_end(Draft *d);

#endif
