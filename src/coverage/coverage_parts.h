/*
 * coverage/coverage_parts.h - shared by coverage.c, which makes a Coverage, coverage_code.c, which
 * walks over the code, coverage_missing.c, which adds functions of object files, coverage_marker.c,
 * which reads markers in sources, and coverage_join.c, which adds up programs.
 */
#ifndef WHAMMC_COVERAGE_COVERAGE_PARTS_H
#define WHAMMC_COVERAGE_COVERAGE_PARTS_H

#include "coverage/coverage.h"

/* A Coverage under construction: its lists are unsorted and may have several items per location. */
typedef struct CoverageMaker {
    Coverage *c;
    const WasmModule *m;
    const Places *places;
    Locations *l; /* NULL = only executed blocks are wanted */
    const CoverageMarks *marks;
    const CoverageOptions *options;
    Map files;     /* path -> index */
    Str last_path; /* of `last_file` */
    uint32_t last_file;
} CoverageMaker;

/* A function as it is counted. */
typedef struct CoveragePlace {
    Str path; /* empty = it is not counted, since it has no name or location */
    uint32_t line;
    Str name; /* in the arena */
} CoveragePlace;

/* Where the function of a frame is: at its declaration or, if that is unknown, at the frame's line.
 */
CoveragePlace coverage_place(CoverageMaker *maker, const LocationFrame *f);
/* The index of the file with this path. */
uint32_t coverage_file(CoverageMaker *maker, Str path);
/* Adds a function that was entered `count` times, if it has a place. */
void coverage_function(CoverageMaker *maker, const LocationFrame *f, uint64_t count);
/* Adds a line that was not executed. */
void coverage_idle_line(CoverageMaker *maker, Str path, uint32_t line);

/* coverage_code.c: adds the counts of the program's functions; without locations the executed
 * blocks to the last code. */
void coverage_walk(CoverageMaker *maker);

/* coverage_missing.c: adds the functions of object files that the program does not have, which only
 * its DWARF tells. */
void coverage_missing(CoverageMaker *maker, Sources *sources);

/* Appends the lists of another file to those of `to`. */
void coverage_append_file(CoverageFile *to, const CoverageFile *from);
/* Sorts the lists of a file, and adds up items of the same place. */
void coverage_settle_lists(CoverageFile *f);
/* Sets the totals of a file whose lists are settled, and adds them. */
void coverage_count_file(CoverageFile *f, CoverageTotals *totals);
/* Sorts the files by their paths. */
void coverage_sort_files(Coverage *c);

/* coverage_marker.c: removes the lines and branches that markers in the text exclude. */
void coverage_exclude(CoverageFile *f);

#endif
