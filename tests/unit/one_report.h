/*
 * one_report.h - for tests of texts in which one report is of interest.
 */
#ifndef WHAMMC_TESTS_UNIT_ONE_REPORT_H
#define WHAMMC_TESTS_UNIT_ONE_REPORT_H

#include "report/parts.h"

/* Reads the last part, which stays valid until one_report_free. */
static inline bool one_report(Report *r, ReportParts *p, Str text, uint32_t which) {
    bool found = parts_read(p, text, which) && p->all.len;
    *r = (Report){0};
    if (found) {
        *r = vec_last(&p->all).report;
        vec_last(&p->all).report = (Report){0};
    }
    return found;
}

static inline void one_report_free(Report *r, ReportParts *p) {
    report_free(r);
    parts_free(p);
}

#endif
