/*
 * whammc/coverage.h - how often the lines, functions and branches of a program's source were
 * executed, for people and for tools that read coverage.
 *
 *     WhammcCoverage *c = whammc_coverage_new();
 *     uint8_t *out = NULL;
 *     size_t size;
 *     if (whammc_coverage_set_module(c, "app.wasm", app, app_size) == WHAMMC_OK &&
 *         whammc_coverage_add(c, "run1.csv", text, len) == WHAMMC_OK)
 *         whammc_coverage_write(c, WHAMMC_COVERAGE_LCOV, NULL, &out, &size);
 *     fputs(whammc_coverage_messages(c, 0), stderr);
 *     whammc_release(out);
 *     whammc_coverage_free(c);
 *
 * docs/coverage.md describes the counts and the formats. Ownership, errors and threads are as in
 * whammc/report.h.
 */
#ifndef WHAMMC_COVERAGE_H
#define WHAMMC_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "whammc/whammc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WhammcCoverage WhammcCoverage;

/* Returns an object without programs and counts; never NULL. whammc_coverage_free accepts NULL. */
WhammcCoverage *whammc_coverage_new(void);
void whammc_coverage_free(WhammcCoverage *c);

/* Sets the program, as it was before instrumentation (a binary module, or a component, which stands
 * for all core modules inside). It is validated; if it is invalid, there is no program. */
whammc_status whammc_coverage_set_module(WhammcCoverage *c, const char *name, const void *bytes,
                                         size_t size);

/*
 * Adds a further program, for combined coverage. Counts of source files that several programs share
 * are added up; formats that distinguish modules (text, HTML, JSON) also have the totals of each.
 * Reports are assigned to programs by hash (docs/reports.md, "Parts"), or else to the programs that
 * they fit. An invalid program is not added.
 */
whammc_status whammc_coverage_add_module(WhammcCoverage *c, const char *name, const void *bytes,
                                         size_t size);

/* Sets an additional source of locations for the program set or added last, and for the next one;
 * NULL: the program alone. `info` is borrowed, and must outlive all further uses of `c`. */
void whammc_coverage_locate(WhammcCoverage *c, const whammc_debug_info *info);

/*
 * Adds an object file with DWARF, as the compiler wrote it for the linker, or an archive of such
 * files (.a, .rlib). Functions in it that the linker left out of the program count as not executed.
 * Counts of the program's functions do not change.
 */
whammc_status whammc_coverage_include_objects(WhammcCoverage *c, const char *name,
                                              const void *bytes, size_t size);

/*
 * Adds the counts of a report in any of the formats of whammc_format, the last one in the text.
 * Counts of several reports of the same program and script are added up. A text without a report, a
 * report without counts, or a report of none of the programs is an error; then nothing is added.
 * All programs must be set and added before.
 */
whammc_status whammc_coverage_add(WhammcCoverage *c, const char *name, const void *bytes,
                                  size_t size);

/* Returns the errors, warnings and notes of the last call of these functions: see whammc_messages.
 * "" if there are none. Valid until the next call of one of them. */
const char *whammc_coverage_messages(WhammcCoverage *c, unsigned flags);

typedef enum WhammcCoverageFormat {
    WHAMMC_COVERAGE_TEXT,      /* a table of files for people */
    WHAMMC_COVERAGE_LCOV,      /* a tracefile of lcov */
    WHAMMC_COVERAGE_COBERTURA, /* Cobertura's XML */
    WHAMMC_COVERAGE_HTML,      /* one page with the sources */
    WHAMMC_COVERAGE_JSON,      /* all numbers */
    WHAMMC_COVERAGE_DRCOV,     /* executed basic blocks, as DynamoRIO's drcov; binary, and without
                                  totals, as it needs no sources */
} WhammcCoverageFormat;

/* All zero = the defaults. */
typedef struct WhammcCoverageOptions {
    /*
     * Returns the text of a source file, *size bytes that stay valid until the next call; NULL if
     * there is none. Paths are as in locations, after path maps; relative paths are first passed as
     * they are, then in the program's folder. If the function is NULL, no file has a text.
     */
    const void *(*source)(void *ctx, const char *path, size_t *size);
    void *ctx;
    /* Files without a text are left out, unless this is set, or `source` is NULL. */
    bool all_files;
    /* Shell patterns of paths ('*' matches slashes, too); end with NULL. Files that match none of
     * `include`, unless that is NULL or empty, or one of `exclude`, are left out. */
    const char *const *include, *const *exclude;
    bool no_markers;   /* ignore LCOV_EXCL_LINE and other markers in sources */
    bool mangled;      /* names of C++ and Rust functions stay as they are in the program */
    const char *title; /* of HTML: the page's; of LCOV: the test's; NULL = the program's name, and
                          none */
    uint64_t time;     /* of COBERTURA: the time of the report, in seconds since 1970 */
    uint32_t width;    /* of TEXT: columns; 0 = as many as needed */
} WhammcCoverageOptions;

/*
 * Writes the combined coverage. options NULL = the defaults. On success *out is a new buffer of
 * *size bytes, released with whammc_release. On failure *out is NULL: there is no program, or the
 * reports are of another program.
 */
whammc_status whammc_coverage_write(WhammcCoverage *c, WhammcCoverageFormat format,
                                    const WhammcCoverageOptions *options, uint8_t **out,
                                    size_t *size);

/* Total numbers, and numbers of executed items. */
typedef struct WhammcCoverageTotals {
    size_t lines, lines_executed;
    size_t functions, functions_executed;
    size_t branches, branches_executed; /* each way of a branch */
} WhammcCoverageTotals;

/* Returns the totals of the last whammc_coverage_write; all 0 before. */
WhammcCoverageTotals whammc_coverage_totals(const WhammcCoverage *c);

#ifdef __cplusplus
}
#endif

#endif
