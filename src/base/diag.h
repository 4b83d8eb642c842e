/*
 * base/diag.h - diagnostics: messages with a location, hints and secondary locations, collected,
 * not printed.
 *
 * A location is a span of bytes in a file that was registered with diag_file(). Text files are
 * shown with line, column and carets; binary files with the byte offset. Rendering (text with
 * carets, JSON lines) is in base/diag.c as well and writes into a Buf, so that only the command
 * line decides where it goes.
 */
#ifndef WHAMMC_BASE_DIAG_H
#define WHAMMC_BASE_DIAG_H

#include "base/buf.h"

typedef enum DiagSeverity { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } DiagSeverity;

/* DIAG_<ID>, in the order of diag.def. */
typedef enum DiagTag {
#define DIAG(id, severity, tag, summary) DIAG_##id,
#include "base/diag.def"
    DIAG_TAG_COUNT
} DiagTag;

/* A file that spans can point into. Owned by the Diags; text is borrowed and must outlive it. */
typedef uint32_t DiagFileId; /* 0 = no file */

typedef struct Span {
    DiagFileId file;
    uint32_t start, end; /* byte offsets, end exclusive; start == end marks a point */
} Span;

#define NO_SPAN ((Span){0})

/* The smallest span over both; they must be in the same file (else `a`). */
Span span_join(Span a, Span b);

typedef struct DiagLabel {
    Span span;
    const char *text; /* a description of that place; may be NULL */
} DiagLabel;

typedef struct Diag {
    DiagTag tag;
    DiagSeverity severity;
    Span span;
    const char *message;
    Vec(DiagLabel) labels;   /* secondary locations */
    Vec(const char *) hints; /* how to mend it */
    Str quote; /* text around the span in a binary file, which begins at quote_start; empty = none
                */
    uint32_t quote_start;
} Diag;

typedef struct DiagFile {
    const char *name;
    const char *text;
    size_t len;
    bool binary;
    Span included;       /* where another file includes it; no file = it is not included */
    Vec(uint32_t) lines; /* offsets of line starts; made when first needed */
    uint32_t at, column; /* the last position that was asked for, 0-based: lines can be long */
} DiagFile;

/* A list of diagnostics and the files they point into. A zeroed Diags is valid and empty. */
typedef struct Diags {
    Arena arena;
    Vec(DiagFile) files;
    Vec(Diag *) list;
    uint32_t errors, warnings;
    uint32_t max_errors; /* further errors are counted but not kept; 0 = 20 */
    Diag spare;          /* the result of diag() for messages that are not kept */
} Diags;

/* Registers a file; the name is copied, the text borrowed. Text: spans show lines and carets. One
 * that is registered with this name and text already keeps its number. */
DiagFileId diag_file(Diags *d, const char *name, const void *text, size_t len, bool binary);
/* A file is read where another one includes it, at `where`: messages about it say so. */
void diag_included(Diags *d, DiagFileId file, Span where);
/* The name that a file was registered with; "" for no file. */
const char *diag_file_name(const Diags *d, DiagFileId file);

/*
 * Adds a message with the tag's severity from diag.def. printf-like. The result can be given to
 * diag_label and diag_hint; it is never NULL (past max_errors it is a throw-away). A message that
 * is already there with the same tag and place is neither kept nor counted again: probes are
 * checked once per combination of types.
 */
Diag *diag(Diags *d, DiagTag tag, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a second place; the same text at the same place only once. */
void diag_label(Diags *d, Diag *g, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_hint(Diags *d, Diag *g, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The bytes from `start` of the binary file that the message is about are text, with the message's
 * span in it: it is copied and shown with carets, unless it is very long. */
void diag_quote(Diags *d, Diag *g, uint32_t start, Str text);

/* 1-based line and column (in code points) of an offset in a text file. */
void diag_position(Diags *d, DiagFileId file, uint32_t offset, uint32_t *line, uint32_t *column);

/* The stable name of a tag ("undeclared-name") and its one-line explanation. */
const char *diag_tag_name(DiagTag tag);
const char *diag_tag_summary(DiagTag tag);

/* Renders all messages, in the order of their locations, as text with carets (ANSI colours if
 * `colour`). */
void diag_render_text(Diags *d, Buf *out, bool colour);
/*
 * Renders all messages as JSON, one object a line: severity, tag, message, file, offset, end_offset
 * and, in text files, line, column, end_line, end_column (1-based, in code points, end exclusive);
 * labels (the same place members and message); hints.
 */
void diag_render_json(Diags *d, Buf *out);

/* Frees the messages, the texts of files, and all else; `d` is empty then. */
void diag_free(Diags *d);

#endif
