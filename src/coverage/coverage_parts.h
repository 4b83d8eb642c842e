/*
 * coverage/coverage_parts.h - what the files that make a Coverage share: coverage.c makes it,
 * coverage_code.c walks over the code, coverage_marker.c reads the markers in sources.
 */
#ifndef WHAMMC_COVERAGE_COVERAGE_PARTS_H
#define WHAMMC_COVERAGE_COVERAGE_PARTS_H

#include "coverage/coverage.h"

/* While a Coverage is made: its lists are in no order, and have several items for one place. */
typedef struct CoverageMaker {
    Coverage *c;
    const WasmModule *m;
    const Places *places;
    Locations *l;
    const CoverageMarks *marks;
    const CoverageOptions *options;
    Map files;     /* path -> index */
    Str last_path; /* of `last_file` */
    uint32_t last_file;
} CoverageMaker;

/* The index of the file with this path. */
uint32_t coverage_file(CoverageMaker *maker, Str path);
/* Adds a function that was entered `count` times, where it is declared or else at the frame's line;
 * without a name or place it is left out. */
void coverage_function(CoverageMaker *maker, const LocationFrame *f, uint64_t count);

/* coverage_code.c: adds what was executed of the program's functions. */
void coverage_walk(CoverageMaker *maker);

/* coverage_marker.c: takes away what is beyond the end of the text, and, if `markers` count, the
 * lines and branches that they exclude. */
void coverage_exclude(CoverageFile *f, bool markers);

#endif
