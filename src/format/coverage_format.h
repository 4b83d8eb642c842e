/*
 * format/coverage_format.h - the output formats of coverage, one file each. All functions append
 * text.
 */
#ifndef WHAMMC_FORMAT_COVERAGE_FORMAT_H
#define WHAMMC_FORMAT_COVERAGE_FORMAT_H

#include "coverage/coverage.h"

/* Those of formats.def. */
typedef enum CoverageFormat {
#define COVERAGE(NAME, name, write, ending) COVERAGE_##NAME,
#include "format/formats.def"
} CoverageFormat;

/* The data to show, and options. */
typedef struct CoverageView {
    const Coverage *c;
    Str title, test; /* of a page; of a tracefile, which may be empty */
    uint32_t width;  /* of a table, in columns; 0 = unlimited */
    uint64_t time;   /* for Cobertura: in seconds since 1970 */
} CoverageView;

/* A table with the coverage and the lines not executed of each file. */
void format_coverage_text(const CoverageView *v, Buf *out);
/* A tracefile, as geninfo(1) of lcov describes it. */
void format_lcov(const CoverageView *v, Buf *out);
/* Cobertura's XML (coverage-04.dtd); paths are relative to the folder that all files are in. */
void format_cobertura(const CoverageView *v, Buf *out);
/* One page, with the sources. */
void format_coverage_html(const CoverageView *v, Buf *out);
/* All numbers, one object. */
void format_coverage_json(const CoverageView *v, Buf *out);
/* The executed blocks, which must be there, as a log of DynamoRIO's drcov. */
void format_drcov(const CoverageView *v, Buf *out);

/* "87.5", of coverage_tenths. */
void format_coverage_percent(CoverageRatio r, Buf *out);

#endif
