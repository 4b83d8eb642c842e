/*
 * coverage/coverage.h - how often the lines, functions and branches of the source were executed.
 *
 * A line was executed as often as the instruction of it that was executed most often in one copy of
 * the code: functions that were inlined, instantiated from a template, or compiled in several units
 * have several copies, whose counts are added up. Instructions that only structure the code (block,
 * loop, else, end) do not count. What the linker has removed was executed 0 times.
 */
#ifndef WHAMMC_COVERAGE_COVERAGE_H
#define WHAMMC_COVERAGE_COVERAGE_H

#include "coverage/marks.h"
#include "locations/locations.h"
#include "report/places.h"
#include "view/source.h"

typedef struct CoverageLine {
    uint32_t line;
    uint64_t count;
} CoverageLine;

/* One way of a branch. */
typedef struct CoverageWay {
    uint32_t line, column;
    uint32_t branch; /* of those at this place in the source, in the order of the code */
    uint32_t way;    /* of the branch: br_if: 0 taken, 1 not taken; br_table: by target */
    bool reached;    /* the branch was, so that `count` may be 0 because of the condition */
    uint64_t count;
} CoverageWay;

typedef struct CoverageFunction {
    uint32_t line; /* where it is declared */
    Str name;      /* demangled unless it was wanted otherwise */
    uint64_t count;
} CoverageFunction;

/* How many there are, and how many of them were executed. */
typedef struct CoverageRatio {
    uint32_t all, hit;
} CoverageRatio;

typedef struct CoverageTotals {
    CoverageRatio lines, functions, ways;
} CoverageTotals;

typedef struct CoverageFile {
    Str path;
    const SourceText *text; /* NULL = there is none */
    /* Each is sorted by its fields, and has each item once. */
    Vec(CoverageLine) lines;
    Vec(CoverageWay) ways;
    Vec(CoverageFunction) functions;
    CoverageTotals totals;
} CoverageFile;

typedef struct CoverageOptions {
    bool mangled;               /* names of functions stay as the linker has them */
    bool without_text;          /* also files of which there is no text */
    bool no_markers;            /* LCOV_EXCL_LINE and so on in sources mean nothing */
    const char *const *include; /* shell patterns of paths; NULL or none = all */
    const char *const *exclude; /* " ; end with NULL */
} CoverageOptions;

/* A zeroed one is valid and empty. Release with coverage_free. */
typedef struct Coverage {
    Arena arena;
    Vec(CoverageFile) files; /* sorted by path */
    CoverageTotals totals;
    uint32_t left_out; /* files without a text */
    Str unread;        /* one of them, with a NUL */
    bool misplaced;    /* there are counts where the program has no instruction */
} Coverage;

/*
 * Makes the coverage of a program. The counts are settled; `sources` gives texts, which must
 * outlive the Coverage; `c` is empty.
 */
void coverage_make(Coverage *c, const WasmModule *m, const Places *places, Locations *l,
                   const CoverageMarks *marks, Sources *sources, const CoverageOptions *options);
void coverage_free(Coverage *c);

/* Per cent, to a tenth, rounded down, so that only all is 100; 100 if there is nothing. */
static inline uint32_t coverage_tenths(CoverageRatio r) {
    return r.all ? (uint32_t)((uint64_t)r.hit * 1000 / r.all) : 1000;
}

#endif
