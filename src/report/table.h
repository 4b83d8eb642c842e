/*
 * report/table.h - a report as tables for people: one table a variable, the largest values first.
 */
#ifndef WHAMMC_REPORT_TABLE_H
#define WHAMMC_REPORT_TABLE_H

#include "report/report_read.h"

typedef struct TableOptions {
    uint32_t top;   /* rows a variable; 0 = all */
    uint32_t width; /* columns of the terminal; 0 = 100 */
    bool colour;    /* ANSI colours */
    bool ascii;     /* nothing but ASCII in lines, bars and ellipses */
    /* The instruction at each row's place, by row, as of places_instructions; NULL = not shown. */
    const Str *instructions;
} TableOptions;

/*
 * Script and shared variables first, then a table for each of them that is a map in JSON, then one
 * for each per-site variable, in the order of the report, with an empty line between them. Names
 * that hold control characters or bytes that are not UTF-8 are shown with '?' in their place.
 */
void table_print(const Report *r, const TableOptions *options, Buf *out);

/* "1,234". */
void table_number(Buf *out, uint64_t v);

#endif
