/*
 * report/report_read.h - reads reports (CSV or JSON lines) back into rows.
 *
 * The text may be a program's whole output: other text is skipped. It can have reports of several
 * modules, instances and flushes: each becomes a part (report/parts.h). Reports of other tools that
 * write the same CSV columns are read too.
 */
#ifndef WHAMMC_REPORT_REPORT_READ_H
#define WHAMMC_REPORT_REPORT_READ_H

#include "base/buf.h"
#include "base/diag.h"
#include "report/run_model.h"

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
    Str formula; /* of a derived column (report/totals.h), in reports after the type and '='; else
                    .ptr is NULL */
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
    const Str *module;           /* the title of its module; NULL = there is only one */
    const Str *thread;           /* the number of its thread; NULL = it is of all threads */
    union {
        uint64_t u; /* REPORT_CLASS_UNSIGNED; REPORT_CLASS_BOOL: 0 or 1 */
        int64_t i;
        double real;
    } number;
} ReportRow;

/* A zeroed Report is valid and empty. Release with report_free. */
typedef struct Report {
    Arena arena; /* memory for its decoded texts */
    Vec(ReportRow) rows;
    bool json;       /* JSON lines: values of tuples and maps are JSON; in CSV they are not */
    bool located;    /* the report has columns with locations */
    bool cut;        /* it ends too early, perhaps in the middle of a row, which was left out */
    bool ends_early; /* `wrong` is CSV, and the rows after it were left out */
    Str wrong;       /* the first line of this report that should have been a row; no ptr = none */
} Report;

/* Receivers of the reports, in the order of the text. */
typedef struct ReportTaker {
    Arena *arena; /* for decoded texts */
    Map *vars;    /* columns -> ReportVar: equal variables of all reports are the same pointer */
    RunThreads *threads; /* facts in the text are added */
    /* Takes over a report; its rows, but not its texts, which are in the text or the arena. */
    void (*take)(void *ctx, const RunOrigin *origin, Report *r);
    void *ctx;
} ReportTaker;

/*
 * Reads the reports of a text, which must live as long as they do. Lines that belong to none of
 * them are appended to `rest`. False if the text ends before a report whose beginning was
 * announced.
 */
bool report_read(Str text, const ReportTaker *taker, Buf *rest);

/* Whether the row tells of a probe that is switched off when it takes too many steps: how often
 * that was (more than once: in several instances). */
bool report_is_stopped(const ReportRow *row);

/* Whether the rows are of the same variable at the same place. */
bool report_same_row(const ReportRow *a, const ReportRow *b);

/* Warns of problems with a report, or with some of its values, if its tuples and maps are JSON
 * (value_unify). `name`: the name of `text`, from which it was read. */
void report_warn(const Report *r, const char *name, Str text, Diags *diags);

/* Sets the row's class and number from its variable's type and its value. */
void report_classify(ReportRow *row);

/* Frees the lists of the report, not the text that it was read from. */
void report_free(Report *r);

#endif
