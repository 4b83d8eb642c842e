/*
 * report/read.h - reads reports (CSV or JSON lines) back into rows.
 *
 * The text may be a program's whole output: what is not part of a report is passed over, and of
 * several reports (a program can flush more than once, files are appended to) one is kept. Reports
 * of other tools that write the same CSV columns are read too.
 */
#ifndef WHAMMC_REPORT_READ_H
#define WHAMMC_REPORT_READ_H

#include "base/buf.h"

typedef enum ReportClass {
    REPORT_CLASS_UNSIGNED,
    REPORT_CLASS_SIGNED,
    REPORT_CLASS_REAL,
    REPORT_CLASS_BOOL,
    REPORT_CLASS_TEXT, /* strings, tuples, maps, or a number that could not be read */
} ReportClass;

typedef struct ReportRow {
    Str id, id_type, name, type, wasm_type, script;
    Str fname, probe; /* ptr is NULL if the row has none */
    bool has_place;   /* fid and pc are set */
    uint32_t fid, pc;
    Str value; /* as written (JSON strings decoded) */
    ReportClass class;
    union {
        uint64_t u; /* REPORT_CLASS_UNSIGNED; REPORT_CLASS_BOOL: 0 or 1 */
        int64_t i;
        double real;
    } number;
} ReportRow;

/* A zeroed Report is valid and empty. Release with report_free. */
typedef struct Report {
    Arena arena;
    Vec(ReportRow) rows;
    uint32_t flushes; /* reports found in the text, this one among them */
    bool cut; /* the text ends in the middle of this report's last row, which was left out */
} Report;

/*
 * Reads the `which`-th report of the text, counted from 1; 0 = the last. False if there is none.
 * The rows point into the text, which must live as long as the report. `r` must be empty.
 */
bool report_read(Report *r, Str text, uint32_t which);

void report_free(Report *r);

#endif
