/*
 * report/places.h - details of the places in a report, from the program: names of functions,
 * instructions.
 */
#ifndef WHAMMC_REPORT_PLACES_H
#define WHAMMC_REPORT_PLACES_H

#include "locations/locator.h"
#include "report/report_read.h"
#include "wasm/module.h"

/* The names of a program's functions. A zeroed one knows none. Release with places_free. */
typedef struct Places {
    const WasmModule *m;
    Vec(Str) names; /* by function; .ptr NULL = none */
    Arena arena;
} Places;

/* The names of wasm_known_name. The module must outlive the program. */
void places_open(Places *p, const WasmModule *m);
/* The function's name; .ptr is NULL if there is none. */
Str places_name(const Places *p, uint32_t fid);
void places_free(Places *p);

/* Returns functions that the report calls "#9" the names that the program has for them. */
void places_name_rows(const Places *p, Report *r);

/*
 * Sets the locations of the report's rows; rows of functions that the program does not have lose
 * theirs. Owned by the report.
 */
void places_locate(const Places *p, Locator *l, Report *r);

/* Demangles the names of functions in a report (base/demangle.h); others stay. */
void places_demangle(Report *r);

/* Appends an instruction as text; calls name the callee. */
void places_instruction(const Places *p, const WasmInstr *i, Buf *out);

/*
 * The instruction at each row's place, by row; .ptr is NULL where there is none: the row is for a
 * function, or the report is of another program. Calls name the callee. Owned by the report.
 */
const Str *places_instructions(const Places *p, Report *r);

/* A row, of the first ones, whose place the program does not have; NULL = there is none. */
const ReportRow *places_foreign(const Places *p, const Report *r);

#endif
