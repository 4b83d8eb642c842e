/*
 * api/api_report.h - what the files after the public interface to reports share (api_report.c,
 * api_values.c).
 */
#ifndef WHAMMC_API_API_REPORT_H
#define WHAMMC_API_API_REPORT_H

#include "base/diag.h"
#include "merge/merge_reports.h"
#include "view/view.h"
#include "whammc/report.h"

/* The report's contents as in the public interface; made on demand. */
typedef struct ReportContents {
    Arena arena;  /* names and values */
    Report shown; /* with the names that tables show; its rows are those of the report */
    Vec(WhammcVariable) variables;
    Vec(WhammcRow) rows;
    const WhammcValue **values; /* by row; NULL = not parsed yet */
} ReportContents;

struct WhammcReport {
    char *name, *text; /* the text that was read */
    Report report;     /* its tuples and maps are JSON */
    Merge *merge;      /* of the report and those that were added; or NULL */
    char *module_name;
    uint8_t *module_bytes;
    WasmModule module;
    Places places;                  /* knows nothing without a module */
    const whammc_debug_info *debug; /* NULL = the module's own sections */
    Diags diags;
    Buf rendered;
    ReportContents *contents; /* or NULL */
    Profile profile;          /* of whammc_report_profile, as what follows */
    WhammcProfile described;
    locale_t numbers; /* whose decimal point is a point */
};

/* Reads a profile and names its functions. False after a message if there is none. */
bool api_read_profile(WhammcReport *r, bool tree, const WhammcReportOptions *options, Profile *p);
/* A copy of the report with readable names for its functions, as far as they are known. It has its
 * own rows; the texts are the report's. */
void api_copy_report(const WhammcReport *r, bool mangled, Report *copy);
/* Until api_leave, this thread reads and writes numbers in the format of reports, whatever its
 * locale is. */
locale_t api_enter(const WhammcReport *r);
void api_leave(locale_t before);

/* Frees the messages of the last call; what was computed from the report: contents, profile. */
void api_forget_messages(WhammcReport *r);
void api_forget_contents(WhammcReport *r);
void api_forget_profile(WhammcReport *r);

#endif
