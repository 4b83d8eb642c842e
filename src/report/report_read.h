/*
 * report/report_read.h - reads reports (CSV or JSON lines) back into rows.
 *
 * The text may be a program's whole output: what is not part of a report is passed over, and of
 * several reports (a program can flush more than once, files are appended to) one is kept. Reports
 * of other tools that write the same CSV columns are read too.
 */
#ifndef WHAMMC_REPORT_REPORT_READ_H
#define WHAMMC_REPORT_REPORT_READ_H

#include "base/buf.h"
#include "base/diag.h"

typedef enum ReportClass {
    REPORT_CLASS_UNSIGNED,
    REPORT_CLASS_SIGNED,
    REPORT_CLASS_REAL,
    REPORT_CLASS_BOOL,
    REPORT_CLASS_TEXT, /* strings, tuples, maps, or a number that could not be read */
} ReportClass;

/* A reported variable, as one kind of rows names it; shared by the rows. */
typedef struct ReportVar {
    Str id_type, name, type, wasm_type, script;
} ReportVar;

/* Where in the source a row's place is; `function` as the source calls it. */
typedef struct RowLocation {
    Str file, function;    /* empty = unknown */
    uint32_t line, column; /* 0 = unknown */
} RowLocation;

typedef struct ReportRow {
    const ReportVar *var; /* equal variables are the same pointer */
    Str id, fname, probe; /* fname.ptr, probe.ptr are NULL if the row has none */
    Str value;            /* as written (JSON strings decoded) */
    bool has_place;       /* fid and pc are set */
    bool unreadable;      /* the value is not of the variable's type, which is known */
    uint8_t class;        /* a ReportClass */
    uint32_t fid, pc;
    const RowLocation *location; /* NULL = not known: the report has none, and nobody has asked the
                                    program (places_locate) */
    union {
        uint64_t u; /* REPORT_CLASS_UNSIGNED; REPORT_CLASS_BOOL: 0 or 1 */
        int64_t i;
        double real;
    } number;
} ReportRow;

/* A zeroed Report is valid and empty. Release with report_free. */
typedef struct Report {
    Arena arena;
    Map vars; /* columns -> ReportVar */
    Vec(ReportRow) rows;
    Buf rest;         /* the lines that belong to no report */
    uint32_t flushes; /* reports found in the text, this one among them */
    bool json;        /* JSON lines: values of tuples and maps are JSON; in CSV they are not */
    bool located;     /* the report has columns with locations */
    bool cut;        /* the text ends in the middle of this report's last row, which was left out */
    bool ends_early; /* `wrong` is CSV, and the rows after it were left out */
    Str wrong;       /* the first line of this report that should have been a row; no ptr = none */
} Report;

/*
 * Reads the `which`-th report of the text, counted from 1; 0 = the last. False if there is none.
 * The rows point into the text, which must live as long as the report. `r` must be empty. It may
 * hold memory even if the result is false.
 */
bool report_read(Report *r, Str text, uint32_t which);

/* Warns of what is wrong with a report, or with some of its values, if its tuples and maps are JSON
 * (value_unify). `name`: what `text`, of which it was read, is called. */
void report_warn(const Report *r, const char *name, Str text, Diags *diags);

/* Sets the row's class and number from its variable's type and its value. */
void report_classify(ReportRow *row);

/* Frees the lists of the report, not the text that it was read from. */
void report_free(Report *r);

#endif
