/*
 * annotate/source.h - the texts of source files that locations name, as lines.
 *
 * A file is read on first use, and once. A file that is missing, binary or very large has no text;
 * views then show none.
 */
#ifndef WHAMMC_ANNOTATE_SOURCE_H
#define WHAMMC_ANNOTATE_SOURCE_H

#include "base/diag.h"
#include "locations/locations.h"

/* Larger files have no text; after this many bytes in total, no further file is read. */
enum { SOURCE_SIZE_MAX = 16 << 20, SOURCES_SIZE_MAX = 256 << 20 };

typedef struct SourceText {
    Vec(Str) lines; /* without the line end */
    Buf bytes;
} SourceText;

/* Reads a whole file of at most `limit` bytes; without a message if it cannot. `out` is empty
 * before, and may hold memory after false. */
typedef bool SourceReader(void *ctx, const char *path, size_t limit, Buf *out);

/* A zeroed Sources has no texts. Release with sources_free. */
typedef struct Sources {
    SourceReader *read;  /* NULL: there are no files */
    void *ctx;           /* for it */
    Locations *embedded; /* has texts, too, which come first; may be NULL */
    Str folder;          /* where relative paths are looked for that are nowhere else; ends with a
                            slash, or empty; borrowed */
    Map index;           /* path -> index into the following */
    Vec(SourceText *) texts; /* NULL = none */
    size_t size;
} Sources;

/* The text of the file at the path of a location, which is after --path-map; NULL: there is none.
 */
const SourceText *source_text(Sources *s, Str path);

/* The path to show for the path of a location: without "..", if the same file is there, or none at
 * the path that was recorded, with "..": folders may be links. In the arena if it differs. */
Str source_shown_path(Sources *s, Str path, Arena *arena);

bool source_is_same(const SourceText *a, const SourceText *b);

/* A line, counted from 1; empty, with ptr NULL, if the text does not have it. */
Str source_line(const SourceText *t, uint32_t line);

/* Sources whose text ends before a line that has code. */
typedef struct ShortSource {
    uint32_t files;       /* how many */
    Str path;             /* of the first */
    uint32_t lines, line; /* that it has, and the last one with code */
} ShortSource;

/* Adds a file if the text ends before this line; NULL: there is no text. */
void source_check_length(ShortSource *s, Str path, const SourceText *t, uint32_t line);
/* Warns of them, if there are any; `program` is a name for people. */
void source_warn_short(const ShortSource *s, const char *program, Diags *diags);

/* Frees the texts. */
void sources_free(Sources *s);

#endif
