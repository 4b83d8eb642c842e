/*
 * cli/metrics.c - --metrics: time and memory used by a command, as JSON.
 */
#include "cli/metrics.h"

#include "cli/process.h"

void metrics_want(Metrics *m, const char *file) {
    m->wanted = true;
    m->file = file;
    phases_start(&m->phases);
}

int metrics_check(const Cli *cli, const Metrics *m, const char *out, const char *const *inputs,
                  uint32_t n) {
    int status = cli_check_other(cli, m->file, &out, 1, "another output");
    return status == STATUS_OK ? cli_check_other(cli, m->file, inputs, n, "an input") : status;
}

void metrics_note(Metrics *m, whammc *w, size_t bytes_in, size_t bytes_out) {
    size_t n;
    const whammc_probe_stats *probes = whammc_probes(w, &n);
    m->sites = 0;
    for (size_t i = 0; i < n; i++)
        m->sites += probes[i].sites;
    const whammc_attached *attached = whammc_attachments(w, &n);
    for (size_t i = 0; i < n; i++)
        m->sites += attached[i].places;
    m->bytes_in = bytes_in;
    m->bytes_out = bytes_out;
}

static void metrics_put_time(Buf *out, const char *name, PhaseTime t) {
    buf_printf(out, "\"%s\": {\"wall_ms\": %.3f, \"cpu_ms\": %.3f}", name, (double)t.wall / 1e6,
               (double)t.cpu / 1e6);
}

static void put_phases(const Metrics *m, Buf *out) {
    PhaseTime total = {0};
    buf_str(out, STR("  \"phases\": {"));
    for (int i = 0; i < PHASE_COUNT; i++) {
        buf_str(out, i ? STR(",\n    ") : STR("\n    "));
        metrics_put_time(out, phase_names[i], m->phases.spent[i]);
        total.wall += m->phases.spent[i].wall;
        total.cpu += m->phases.spent[i].cpu;
    }
    buf_str(out, STR("\n  },\n  "));
    metrics_put_time(out, "total", total);
}

bool metrics_write(const Cli *cli, Metrics *m) {
    if (!m->wanted)
        return true;
    phases_stop();
    Buf out = {0};
    buf_printf(&out, "{\n  \"command\": \"%s\",\n", cli->command->name);
    put_phases(m, &out);
    buf_printf(&out, ",\n  \"peak_bytes\": %llu,\n  \"sites\": %llu,\n",
               (unsigned long long)process_peak(false), (unsigned long long)m->sites);
    buf_printf(&out, "  \"bytes\": {\"in\": %llu, \"out\": %llu}", (unsigned long long)m->bytes_in,
               (unsigned long long)m->bytes_out);
    if (m->phases.spent[PHASE_RUN].wall)
        buf_printf(&out, ",\n  \"engine\": {\"cpu_ms\": %.3f, \"peak_bytes\": %llu}",
                   (double)process_children_cpu() / 1e6, (unsigned long long)process_peak(true));
    while (m->run.len && m->run.data[m->run.len - 1] == '\n')
        m->run.len--;
    if (m->run.len)
        buf_printf(&out, ",\n  \"run\": %.*s", (int)m->run.len, (const char *)m->run.data);
    buf_str(&out, STR("\n}\n"));
    bool ok = true;
    if (m->file)
        ok = file_write(cli, m->file, out.data, out.len);
    else
        message_stderr(out.data, out.len);
    buf_free(&out);
    buf_free(&m->run);
    m->wanted = false;
    return ok;
}
