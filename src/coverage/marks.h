/*
 * coverage/marks.h - execution counts at code offsets, from reports.
 *
 * Counts are read from reports of the bundled script `coverage`: of function entries, of the starts
 * of basic blocks, of returns from calls (a call that does not return leaves its block), and of the
 * ways that branches take. Reports with a row for each instruction, such as hotness, have counts
 * of instructions instead.
 */
#ifndef WHAMMC_COVERAGE_MARKS_H
#define WHAMMC_COVERAGE_MARKS_H

#include "base/capped.h"
#include "report/report_read.h"

typedef enum CoverageMarkKind {
    MARK_ENTERED,     /* the function */
    MARK_BLOCK,       /* from here up to the next mark */
    MARK_INSTRUCTION, /* this one only */
    MARK_WAY, /* `way` of the branch here: br_if and the like: 0 taken, 1 not taken; br_table: the
                 index; the default's index is the number of the others */
    MARK_RETURNED, /* after this instruction, up to the next mark */
} CoverageMarkKind;

typedef struct CoverageMark {
    uint32_t fid, pc;
    uint8_t kind; /* CoverageMarkKind */
    uint32_t way;
    uint64_t count;
} CoverageMark;

/* A zeroed one is valid and empty. */
typedef struct CoverageMarks {
    Vec(CoverageMark) all; /* after marks_settle: sorted by their fields, each once */
} CoverageMarks;

/* Adds the counts of a report, whose maps are JSON (value_unify). False if it has none; then
 * nothing is added. */
bool marks_add(CoverageMarks *c, const Report *r);

/* Sorts the marks and adds up those of one location. Sums saturate. */
void marks_settle(CoverageMarks *c);

/* Frees the marks; `c` is empty then. */
void marks_free(CoverageMarks *c);

#endif
