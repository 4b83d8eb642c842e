/*
 * annotate/annotate.h - shows counts beside source lines or instructions.
 */
#ifndef WHAMMC_ANNOTATE_ANNOTATE_H
#define WHAMMC_ANNOTATE_ANNOTATE_H

#include "annotate/source.h"
#include "report/places.h"

/*
 * A line with code. `times` is the number of its executions: the largest count of its instructions,
 * without those that only mark structure (block, loop, else, end), added up over functions and
 * inlined copies. `total` is the sum of all its counts.
 */
typedef struct AnnotatedLine {
    uint32_t line;
    bool timed; /* there is such an instruction */
    uint64_t times, total;
} AnnotatedLine;

typedef struct AnnotatedFile {
    Str path;
    Vec(AnnotatedLine) lines; /* in order */
    uint64_t total;
} AnnotatedFile;

/* A count at a location in the code. */
typedef struct AnnotatedPlace {
    uint32_t fid, pc;
    uint64_t total;
} AnnotatedPlace;

/* A zeroed Annotation is valid and empty. Release with annotate_free. */
typedef struct Annotation {
    Vec(AnnotatedFile) files;   /* those with the largest totals first */
    Vec(AnnotatedPlace) places; /* in the order of the code */
    uint64_t total;
    uint64_t unknown; /* of it at locations whose line is not known */
    uint32_t foreign; /* rows at locations that the program does not have */
    uint32_t counted; /* rows at locations that it has */
    Arena arena;
} Annotation;

/* The variable with numbers at the most sites, with this name if it is not NULL; NULL if there is
 * none. */
const ReportVar *annotate_variable(const Report *r, const char *name);

/* Adds up a variable of the report; negative values and fractions do not count, `true` is 1. Sorts
 * nothing in the report. Without a locator, no source is looked for. */
void annotate_make(Annotation *a, const Places *p, Locator *l, const Report *r,
                   const ReportVar *var);
/* Joins files that the program names by several paths, with "..". */
void annotate_join(Annotation *a, Sources *sources);
void annotate_free(Annotation *a);

/* ---- showing ---- */

/* Calls put() for each line of a file that is shown: those of its text, or without a text those
 * with code. `line` is NULL for those without. */
typedef void AnnotatePutLine(void *ctx, uint32_t number, Str text, const AnnotatedLine *line);
void annotate_each_line(const AnnotatedFile *f, const SourceText *text, AnnotatePutLine *put,
                        void *ctx);

/* Calls put() for each instruction of a function; `depth` is its nesting depth, `place` NULL where
 * nothing was counted. */
typedef void AnnotatePutInstruction(void *ctx, uint32_t pc, uint32_t depth, Str text,
                                    const AnnotatedPlace *place);
void annotate_each_instruction(const Annotation *a, const Places *p, uint32_t fid,
                               AnnotatePutInstruction *put, void *ctx);

/* A function that has counts. */
typedef struct AnnotatedFunction {
    uint32_t fid;
    uint64_t total, most; /* the largest count in it */
} AnnotatedFunction;
typedef Vec(AnnotatedFunction) AnnotatedFunctions;

/* The functions with counts, those with the largest totals first; for the caller to free. */
AnnotatedFunctions annotate_functions(const Annotation *a);

typedef struct AnnotateOptions {
    const Places *places;
    Sources *sources;
    Str title;                /* of the program */
    Str variable;             /* its name */
    const char *const *files; /* show only these: names, or the ends of paths; for instructions the
                                 names of functions; ends with NULL; none = all */
    bool instructions;        /* the program's text instead of sources */
    bool colour, mangled;
} AnnotateOptions;

/* Appends the name of a function for people. */
void annotate_name(const AnnotateOptions *options, uint32_t fid, Buf *out);

/* Appends "1,234 (5.6 %)". */
void annotate_share(uint64_t part, uint64_t all, Buf *out);

/* Whether this means the file or function: it is the path or name, the end of it from a slash on,
 * or a shell pattern for one of these. */
bool annotate_fits(const char *wanted, Str path);
/* Whether the file or function is shown: options->files has one that fits, or none at all. */
bool annotate_wants(const AnnotateOptions *options, Str path);

/* Appends text for a terminal. */
void annotate_text(const Annotation *a, const AnnotateOptions *options, Buf *out);
/* Begins a page, with its title as a heading, and ends it. */
void annotate_html_begin(Str title, Buf *out);
void annotate_html_end(Buf *out);
/* Appends a program's part of a page; `first`: the first number of its anchors. Returns the next
 * program's. */
uint32_t annotate_html(const Annotation *a, const AnnotateOptions *options, uint32_t first,
                       Buf *out);

#endif
