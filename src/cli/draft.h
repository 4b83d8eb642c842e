/*
 * cli/draft.h - writes a file while its contents are still being made, on a thread of its own.
 *
 * The file has no name until it is complete and wanted: whatever happens before, and however this
 * process ends, nothing is left of it. Whether the file system can do that shows at the first
 * bytes. A draft that fails is not an error: whoever wanted it writes the file in the usual way.
 */
#ifndef WHAMMC_CLI_DRAFT_H
#define WHAMMC_CLI_DRAFT_H

#include "base/buf.h"
#include "whammc/whammc.h"

#include <sys/types.h>

typedef struct Draft {
    whammc_sink sink;
    struct DraftState *state; /* NULL: there is nothing to write to */
} Draft;

/* Begins a draft in the folder of `path`, which is a file's or will be; `replaces`: there is one. A
 * NULL path: without anything to write to. The draft must not move. */
void draft_begin(Draft *d, const char *path, bool replaces);

/* Waits until all is written, and what `contents` has beyond what was put. False if it cannot be.
 */
bool draft_complete(Draft *d, const Buf *contents);
/* Gives a complete file its mode and a name in the folder. False: errno, EEXIST if there is one of
 * that name. */
bool draft_name(const Draft *d, mode_t mode, const char *name);
/* Ends a draft, in whatever state it is. */
void draft_end(Draft *d);

#endif
