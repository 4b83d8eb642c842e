/*
 * coverage/archive.h - the members of an archive (ar), as the tools of GNU, LLVM and BSD and rustc
 * write them. Archives are untrusted data.
 */
#ifndef WHAMMC_COVERAGE_ARCHIVE_H
#define WHAMMC_COVERAGE_ARCHIVE_H

#include "base/buf.h"

/* Initialise with `bytes`. */
typedef struct Archive {
    Str bytes;
    uint32_t at;         /* offset of the next member; of the damaged one, after a problem */
    Str names;           /* GNU's table of long names */
    const char *problem; /* static text; NULL = there is none */
} Archive;

typedef struct ArchiveMember {
    Str name, content;
} ArchiveMember;

bool archive_is(Str bytes);

/* The next member that is a file, not a table of the archive; false at the end, or with a problem.
 */
bool archive_next(Archive *a, ArchiveMember *m);

#endif
