/*
 * runtime/rows.h - the records of a monitor's per-site variables, and the report made of them.
 *
 * A rewritten program has its report's image from the compiler, which knows all sites. A monitor
 * gets to know them when it is attached: for each place a callback asks for a record here. At the
 * end the records become rows: rows_report puts the image together from what the compiler knew
 * (variables, probes, script rows: the skeleton) and the records, in the order in which the
 * rewriter would have numbered them, and prints it by whammc_report.
 */
#ifndef WHAMMC_RUNTIME_ROWS_H
#define WHAMMC_RUNTIME_ROWS_H

#include <stdint.h>

/* One per-site variable of a class. All u32, as the compiler writes them. */
typedef struct RowsVar {
    uint32_t pair;   /* (variable, probe) of the image; ROWS_HIDDEN = not reported */
    uint32_t group;  /* of the image */
    uint32_t offset; /* of its value in the record */
    uint32_t bytes;  /* in the value area: 4, 8 or 8 a leaf */
} RowsVar;
#define ROWS_HIDDEN UINT32_MAX

/* What the records of one probe function look like. */
typedef struct RowsClass {
    uint32_t bytes; /* of a record's values, a multiple of 8 */
    uint32_t rank;  /* order among rows of one function: 0 entry, 1 instructions (by pc), 2 exit */
    uint32_t once;  /* one record a function, whatever the pc (func:exit) */
    uint32_t nvars;
    RowsVar vars[];
} RowsClass;

/*
 * A record for a place: the address of its values, all zero. Called while the monitor is attached;
 * remembers the function's name. Traps if there is no memory. With `once`, a second call for the
 * same class and function gives the record of the first.
 */
uint32_t rows_site(const RowsClass *class_, uint32_t fid, uint32_t pc);

/* Prints the report: the skeleton is an image without site rows; `tail` are the values of shared
 * and script rows, as the image has them. */
void rows_report(const uint8_t *skeleton, uint32_t len, const uint8_t *tail, uint32_t tail_bytes);

#endif
