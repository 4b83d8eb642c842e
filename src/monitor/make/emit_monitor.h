/*
 * monitor/make/emit_monitor.h - compiles a plan to a monitor module, for engines that attach
 * it to any program by themselves, and for `whammc bind`.
 */
#ifndef WHAMMC_EMIT_MONITOR_EMIT_MONITOR_H
#define WHAMMC_EMIT_MONITOR_EMIT_MONITOR_H

#include "plan/plan.h"
#include "report/image.h"

typedef struct MonitorOptions {
    ImageFormat format;
    ReportDest report;
    const char *report_file; /* REPORT_FILE; else NULL */
    bool no_optimise;        /* do not optimise the code */
    bool coalesce;           /* count by segments the parts that only count */
    bool exact_traps;        /* ... that end also where the program can trap */
} MonitorOptions;

/* Compiles the plan (made by plan_make, not used before). The output is validated, and read as
 * engines read it, before it is returned. Returns false if there were errors, such as a script that
 * an engine cannot support (tag monitor-cannot); then out is empty. */
bool monitor_module(Plan *plan, const MonitorOptions *options, Buf *out, Diags *diags);

#endif
