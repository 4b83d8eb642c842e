/*
 * serve/served.h - the program whose reports are served or pushed, and profiles of it.
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
    bool memory;               /* the report is of the script heap */
    bool tree;                 /* there is a call tree */
    bool mangled;              /* as of WhammcReportOptions */
    const char *const *labels; /* likewise */
} ServedProgram;

/* A report, with what is known of the program; since the report `before`, if that is not NULL. It
 * has messages if it cannot be read; whammc_report_free() frees it. */
WhammcReport *served_report(const ServedProgram *p, const Buf *text, const Buf *before);
/* Appends a view of it to `out`; `time` in nanoseconds since 1970. False if it has messages. */
bool served_write(const ServedProgram *p, WhammcReport *report, WhammcReportFormat format,
                  const char *value, int64_t time, Buf *out);

#endif
