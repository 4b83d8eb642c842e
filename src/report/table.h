/*
 * report/table.h - a report as tables for people: one table a variable, the largest values first.
 */
#ifndef WHAMMC_REPORT_TABLE_H
#define WHAMMC_REPORT_TABLE_H

#include "report/totals.h"

typedef enum TableSort {
    TABLE_BY_VALUE, /* the largest first */
    TABLE_BY_PLACE, /* in the order of the code; totals of lines and files: of their names */
    TABLE_BY_NAME,  /* of the function, line or file */
} TableSort;

typedef struct TableOptions {
    uint32_t top;   /* rows a variable; 0 = all */
    uint32_t width; /* columns of the terminal; 0 = 100 */
    bool colour;    /* ANSI colours */
    bool ascii;     /* nothing but ASCII in lines, bars and ellipses */
    /* The instruction at each row's place, by row, as of places_instructions; NULL = not shown. */
    const Str *instructions;
    bool lines;     /* the location of each row that has one */
    TotalsBy by;    /* one row for each line, function or file instead of each site */
    TableSort sort; /* the rows of each table */
    bool nonzero;   /* leave out values that are 0, false or empty */
    bool hex;       /* whole values and code offsets */
} TableOptions;

/*
 * Script and shared variables first, then a table for each of them that is a map in JSON, then one
 * for each per-site variable, in the order of the report, with an empty line between them. Names
 * that hold control characters or bytes that are not UTF-8 are shown with '?' in their place.
 */
void table_print(const Report *r, const TableOptions *options, Buf *out);

#endif
