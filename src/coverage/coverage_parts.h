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
    const CoverageCounts *counts;
    const CoverageOptions *options;
    Map files;     /* path -> index */
    Str last_path; /* of `last_file` */
    uint32_t last_file;
} CoverageMaker;

/* The index of the file with this path. */
uint32_t coverage_file(CoverageMaker *maker, Str path);
/* Adds a function; without a name or place it is left out. */
void coverage_function(CoverageMaker *maker, Str path, CoverageFunction f);

/* coverage_code.c: adds what was executed of the program's functions. */
void coverage_walk(CoverageMaker *maker);

/* coverage_marker.c: takes the lines and branches away that markers in the text exclude, and what
 * is beyond its end. */
void coverage_exclude(CoverageFile *f);

#endif
