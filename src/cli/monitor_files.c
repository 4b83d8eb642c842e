/*
 * cli/monitor_files.c - monitor modules on the command line.
 */
#include "cli/cli.h"

void monitors_add(MonitorOptions *monitors, const char *value) {
    MonitorOption m = {0};
    for (const char *p = value; p;) {
        size_t n = strcspn(p, "+");
        vec_push(&m.files, ((MonitorFile){.path = strndup(p, n)}));
        p = p[n] ? p + n + 1 : NULL;
    }
    vec_push(monitors, m);
}

bool monitors_read(const Cli *cli, MonitorOptions *monitors) {
    bool ok = true;
    for (uint32_t i = 0; i < monitors->len; i++)
        for (uint32_t k = 0; k < monitors->at[i].files.len; k++) {
            MonitorFile *f = &monitors->at[i].files.at[k];
            ok = file_read_module(cli, f->path, &f->module) && ok;
        }
    return ok;
}

void monitors_give(const MonitorOptions *monitors, whammc *w) {
    for (uint32_t i = 0; i < monitors->len; i++) {
        const MonitorOption *m = &monitors->at[i];
        for (uint32_t k = 0; k < m->files.len; k++) {
            const MonitorFile *f = &m->files.at[k];
            (k ? whammc_add_monitor_library : whammc_add_monitor)(w, f->path, f->module.data,
                                                                  f->module.len);
        }
    }
}

void monitors_free(MonitorOptions *monitors) {
    for (uint32_t i = 0; i < monitors->len; i++) {
        MonitorOption *m = &monitors->at[i];
        for (uint32_t k = 0; k < m->files.len; k++) {
            free(m->files.at[k].path);
            buf_free(&m->files.at[k].module);
        }
        vec_free(&m->files);
    }
    vec_free(monitors);
}
