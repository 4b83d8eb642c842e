/*
 * coverage/coverage.h - how often the lines, functions and branches of the source were executed.
 *
 * The count of a line in one copy of its code is the largest count of its instructions, without
 * block, loop, else and end, which only structure the code. Functions that were inlined,
 * instantiated from a template, or compiled in several units have several copies, whose counts are
 * added up. Code that the linker removed has the count 0, as far as the program's debug information
 * or the object files have it.
 */
#ifndef WHAMMC_COVERAGE_COVERAGE_H
#define WHAMMC_COVERAGE_COVERAGE_H

#include "annotate/source.h"
#include "coverage/marks.h"
#include "coverage/objects.h"
#include "locations/locations.h"
#include "report/places.h"

#include <assert.h>

typedef struct CoverageLine {
    uint32_t line;
    uint64_t count;
} CoverageLine;

/* One way of a branch. */
typedef struct CoverageWay {
    uint32_t line, column;
    uint32_t branch; /* number among the branches at this location, in code order */
    uint32_t way;    /* of the branch: br_if: 0 taken, 1 not taken; br_table: by target */
    bool reached;    /* the branch was executed, so a count of 0 is due to its condition */
    uint64_t count;
} CoverageWay;

typedef struct CoverageFunction {
    uint32_t line; /* where it is declared */
    Str name;      /* demangled unless `mangled` is set */
    uint64_t count;
} CoverageFunction;

/* The number of items, and of executed ones. */
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
    CoverageObjects *objects;   /* NULL = none */
    bool mangled;               /* names of functions are not demangled */
    bool without_text;          /* include files without text */
    bool no_markers;            /* ignore LCOV_EXCL_LINE and so on in sources */
    const char *const *include; /* shell patterns of paths; NULL or none = all */
    const char *const *exclude; /* " ; end with NULL */
} CoverageOptions;

/* One of several programs. */
typedef struct CoverageModule {
    Str title;
    CoverageTotals totals;
    Vec(Str) files; /* the paths of its files */
} CoverageModule;

/* A basic block that was executed, or the part of it before a call that did not return: bytes of
 * the program's file. */
typedef struct CoverageBlock {
    uint32_t offset, size;
} CoverageBlock;

/* The executed code of a program, in the order of the file. */
typedef struct CoverageCode {
    Str path;
    uint32_t size; /* of the file */
    Vec(CoverageBlock) blocks;
} CoverageCode;

/* A zeroed one is valid and empty. Release with coverage_free. Paths end with a NUL. */
typedef struct Coverage {
    Arena arena;
    Vec(CoverageFile) files;     /* sorted by path */
    Map paths;                   /* of coverage_join, until its end: path -> index */
    Vec(CoverageModule) modules; /* of coverage_join; else there are none */
    Vec(CoverageCode) code;      /* of coverage_add_code; else there is none */
    CoverageTotals totals;
    Vec(Str) left_out; /* files without a text */
    Str unwanted;      /* a file that --include or --exclude leaves out */
    ShortSource shortened;
    bool misplaced; /* some counts are at offsets without an instruction */
} Coverage;

/*
 * Computes the coverage of a program into an empty `c`. The marks must be settled; the texts of
 * `sources` must outlive the Coverage.
 */
void coverage_make(Coverage *c, const WasmModule *m, const Places *places, Locations *l,
                   const CoverageMarks *marks, Sources *sources, const CoverageOptions *options);
/*
 * Adds the executed code of a program, with this path, which needs no locations. The marks must be
 * settled.
 */
void coverage_add_code(Coverage *c, Str path, const WasmModule *m, const CoverageMarks *marks);
/*
 * Adds the coverage of another program to a joined one, which is empty at first: counts of files
 * with the same path are added up. If the texts of such files differ, they are different files: the
 * path of the other one then begins with the title. `from` must live as long as `c`.
 */
void coverage_join(Coverage *c, const Coverage *from, Str title);
/* After the last program. */
void coverage_join_end(Coverage *c);
void coverage_free(Coverage *c);

/* Asserts the order of files and of their items, and that totals count these. In builds with
 * assertions only. */
bool coverage_check(const Coverage *c);

/* Tenths of a per cent, rounded down, so that 100 % means all. There is no share of no items: `all`
 * must not be 0. */
static inline uint32_t coverage_tenths(CoverageRatio r) {
    assert(r.all);
    return (uint32_t)((uint64_t)r.hit * 1000 / r.all);
}

#endif
