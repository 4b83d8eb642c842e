/*
 * runtime/rows.h - the records of a monitor's per-site variables, and the report made from them.
 *
 * A rewritten program gets its report's image from the compiler, which knows all sites. A monitor
 * learns of them when it is attached: a callback requests a record for each location. At the end
 * the records become rows: rows_report builds the image from the compiler's skeleton (variables,
 * probes, groups, script rows; see image_skeleton) and the records, in the order in which the
 * rewriter numbers them, and prints it with whammc_report.
 *
 * That order is: functions; in each the entry, instructions by pc, the exit; classes at one
 * location by their addresses; the variables of a class in its order. Records are expected nearly
 * in that order, since engines walk a program in code order; the rest is sorted at the end.
 *
 * All addresses are offsets in the memory of values.h.
 */
#ifndef WHAMMC_RUNTIME_ROWS_H
#define WHAMMC_RUNTIME_ROWS_H

#include <stdint.h>

/* One reported per-site variable of a class. All u32, as the compiler writes them. */
typedef struct RowsVar {
    uint32_t pair;   /* (variable, probe) of the skeleton */
    uint32_t group;  /* of the skeleton */
    uint32_t offset; /* of its value in the record */
    uint32_t bytes;  /* of its value, as in the value area: 4, 8 or 8 a leaf */
} RowsVar;

typedef enum RowsRank {
    ROWS_ENTRY,
    ROWS_INSTR,
    ROWS_EXIT,        /* one record a function, whatever the pc */
    ROWS_COUNTED = 4, /* added to one of these: values are words of site/site_count.h until they are
                         resolved */
} RowsRank;

/* What the records of one probe function look like: this, then nvars RowsVar. */
typedef struct RowsClass {
    uint32_t bytes; /* of a record's values, a multiple of 8 */
    uint32_t rank;  /* RowsRank: where in a function its rows are; perhaps ROWS_COUNTED */
    uint32_t nvars;
} RowsClass;

/*
 * A record for a location: the address of its values, a multiple of 8, all zero. Called while the
 * monitor is attached; remembers the function's name. `pc` is the one in the report. For ROWS_EXIT,
 * further calls for the same class and function return the first record. Traps if there is no
 * memory.
 */
uint32_t rows_site(uint32_t class_, uint32_t fid, uint32_t pc);

/* Replaces words by their numbers, in records of counted classes. Call it once. */
void rows_resolve(void);

/*
 * Prints the report. The skeleton is an image without site rows; it is changed, but can be used for
 * further reports. `tail` are the values of shared and script rows, as value areas have them,
 * `tail_bytes` a multiple of 8. Frees the memory that it allocates. Traps if there is none.
 */
void rows_report(uint32_t skeleton, uint32_t len, uint32_t tail, uint32_t tail_bytes);

#ifndef __wasm__
/* Of whamm:reflect: copies at most `len` bytes of the function's name to `to`; returns the length
 * of the name. In the compiler itself, tests define it. */
uint32_t reflect_read_function_name(uint32_t fid, uint32_t to, uint32_t len);
#endif

#endif
