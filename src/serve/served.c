/*
 * serve/served.c - views of a program's reports.
 */
#include "serve/served.h"

#include "whammc/whammc.h"

WhammcReport *served_report(const ServedProgram *p, const Buf *text, const Buf *before) {
    WhammcReport *report = whammc_report_new();
    if (whammc_report_read(report, p->title, text->data, text->len, 0) != WHAMMC_OK)
        return report;
    whammc_report_set_module(report, p->title, p->module, p->module_size);
    if (p->debug)
        whammc_report_locate(report, p->debug);
    if (before && !whammc_report_error_count(report))
        whammc_report_subtract(report, p->title, before->data, before->len, 0);
    return report;
}

bool served_write(const ServedProgram *p, WhammcReport *report, const ServedView *view,
                  int64_t time, Buf *out) {
    static const char *const heap[] = {"heap", NULL};
    WhammcReportOptions look = {.title = p->title,
                                .mangled = p->mangled,
                                .value = view->value,
                                .variables = view->memory ? heap : p->timed,
                                .time = time,
                                .labels = p->labels};
    uint8_t *made = NULL;
    size_t size = 0;
    bool ok = !whammc_report_error_count(report) &&
              whammc_report_write(report, view->format, &look, &made, &size) == WHAMMC_OK;
    if (ok)
        buf_bytes(out, made, size);
    whammc_release(made);
    return ok;
}
