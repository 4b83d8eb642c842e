/*
 * coverage/format.h - the output formats of coverage, one file each. All functions append text.
 */
#ifndef WHAMMC_COVERAGE_FORMAT_H
#define WHAMMC_COVERAGE_FORMAT_H

#include "coverage/coverage.h"

typedef enum CoverageFormat {
    COVERAGE_TEXT,
    COVERAGE_LCOV,
    COVERAGE_COBERTURA,
    COVERAGE_HTML,
    COVERAGE_JSON,
} CoverageFormat;

/* A table with the coverage and the lines not executed of each file; `width` in columns, 0 =
 * unlimited. */
void coverage_text(const Coverage *c, uint32_t width, Buf *out);
/* A tracefile, as geninfo(1) of lcov describes it. */
void coverage_lcov(const Coverage *c, Str test, Buf *out);
/* Cobertura's XML (coverage-04.dtd); paths are relative to the folder that all files are in. `time`
 * is in seconds since 1970. */
void coverage_cobertura(const Coverage *c, uint64_t time, Buf *out);
/* One page, with the sources. */
void coverage_html(const Coverage *c, Str title, Buf *out);
/* All numbers, one object. */
void coverage_json(const Coverage *c, Buf *out);

/* "87.5", of coverage_tenths. */
void coverage_percent(CoverageRatio r, Buf *out);

#endif
