/*
 * serve/served.h - the program whose reports are served or pushed, and views of its reports.
 */
#ifndef WHAMMC_SERVE_SERVED_H
#define WHAMMC_SERVE_SERVED_H

#include "base/buf.h"
#include "whammc/report.h"

#include <stdint.h>

typedef struct ServedProgram {
    const char *title;
    const void *module; /* before it was instrumented */
    size_t module_size;
    const whammc_debug_info *debug;
    bool times;                /* the report has times or other counts */
    bool memory;               /* it has the variables of the script heap */
    bool tree;                 /* there is a call tree */
    bool unsure;               /* any script: the views depend on the report */
    const char *const *timed;  /* the variables with times; NULL = the first suitable one */
    bool mangled;              /* as of WhammcReportOptions */
    const char *const *labels; /* likewise */
} ServedProgram;

/* Parses a report, with the program's names and locations; if `before` is not NULL, returns the
 * difference from that report. The result has messages if a report cannot be read. The caller frees
 * it with whammc_report_free(). */
WhammcReport *served_report(const ServedProgram *p, const Buf *text, const Buf *before);
typedef struct ServedView {
    WhammcReportFormat format;
    const char *value; /* as of WhammcReportOptions */
    bool memory;       /* of the variables of the script heap */
} ServedView;

/* Appends a view of the report to `out`; `time` is in nanoseconds since 1970. False if the report
 * has messages. */
bool served_write(const ServedProgram *p, WhammcReport *report, const ServedView *view,
                  int64_t time, Buf *out);

#endif
