/*
 * cmd/monitor_info.c - shows a monitor module for `whammc info`: its probes as match rules and the
 * values that they request.
 */
#include "cmd/cmd.h"

#include <stdio.h>

enum {
    WIDTH = 100,      /* columns of the output */
    SHOWN_OTHER = 6,  /* further places of a probe shown without -v */
    MANY_VALUES = 50, /* repeated callbacks are recognised among the first values */
};

typedef struct Show {
    const whammc_monitor *m;
    uint32_t *next; /* by probe: the next one of its group, 0 = it is the last */
    bool verbose;
    Buf out;
} Show;

/* ---- which files are modules ---- */

static bool has_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), k = strlen(suffix);
    return n > k && strcmp(path + n - k, suffix) == 0;
}

static bool has_magic(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    char bytes[4];
    bool magic = fread(bytes, 1, sizeof bytes, file) == sizeof bytes &&
                 memcmp(bytes, "\0asm", sizeof bytes) == 0;
    fclose(file);
    return magic;
}

bool monitor_is_file(const char *operand) {
    return has_suffix(operand, ".wasm") || has_suffix(operand, ".wat") || has_magic(operand);
}

/* ---- showing ---- */

static void monitor_info_put_name(Buf *out, const char *name) {
    message_clean(out, str_of(name));
}

static void link_groups(Show *s) {
    Vec(uint32_t) last = {0}; /* by group */
    s->next = mem_zalloc(sizeof *s->next * (s->m->nprobes + 1));
    for (uint32_t i = 0; i < s->m->nprobes; i++) {
        uint32_t group = s->m->probes[i].group;
        if (group == last.len)
            vec_push(&last, i);
        else
            s->next[last.at[group]] = i;
        last.at[group] = i;
    }
    vec_free(&last);
}

/* Counts the probes of a group, and their functions. */
static void count_group(const Show *s, uint32_t first, uint32_t *probes, uint32_t *funcs) {
    Map seen = {0};
    *probes = 0;
    for (uint32_t i = first; i || !*probes; i = s->next[i]) {
        uint32_t fid = s->m->probes[i].fid;
        map_put(&seen, (Str){(const char *)&fid, sizeof fid}, 0, NULL);
        ++*probes;
    }
    *funcs = seen.len;
    map_free(&seen);
}

/* Shows "function 7 'count' (i32, i32), 23 bytes, can be inlined". */
static void show_function(Show *s, const whammc_monitor_probe *p, uint32_t funcs) {
    if (funcs > 1)
        buf_printf(&s->out, "  %u equal functions", funcs);
    else
        buf_printf(&s->out, "  function %u", p->fid);
    if (funcs == 1 && *p->fname) {
        buf_str(&s->out, STR(" '"));
        monitor_info_put_name(&s->out, p->fname);
        buf_u8(&s->out, '\'');
    }
    buf_printf(&s->out, " %s", p->type);
    if (p->size)
        buf_printf(&s->out, ", %u %s", p->size, message_plural(p->size, "byte", "bytes"));
    if (p->not_inlined)
        buf_printf(&s->out, ", is not inlined: %s\n", p->not_inlined);
    else
        buf_str(&s->out, STR(", can be inlined\n"));
}

static void show_calls(Show *s, const whammc_monitor_probe *p) {
    if (p->predicate)
        buf_printf(&s->out, "  predicate %s %s\n", p->predicate->name, p->predicate->type);
    for (size_t i = 0; i < p->nvalues; i++) {
        const whammc_monitor_call *call = p->values[i].call;
        bool again = false;
        for (size_t k = 0; call && k < i && k < MANY_VALUES && !again; k++)
            again = p->values[k].call && strcmp(p->values[k].call->name, call->name) == 0;
        if (call && !again)
            buf_printf(&s->out, "  callback %s %s\n", call->name, call->type);
    }
}

/* The width of the texts and types of values. */
typedef struct Widths {
    int text, type;
} Widths;

static void monitor_info_measure(Widths *w, const whammc_monitor_value *values, size_t n,
                                 int indent) {
    for (size_t i = 0; i < n; i++) {
        int text = indent + (int)strlen(values[i].text), type = (int)strlen(values[i].type);
        w->text = text > w->text ? text : w->text;
        w->type = type > w->type ? type : w->type;
        if (values[i].call)
            monitor_info_measure(w, values[i].call->values, values[i].call->nvalues, indent + 2);
    }
}

static void values_table(Show *s, const whammc_monitor_value *values, size_t n, Widths w,
                         int indent) {
    for (size_t i = 0; i < n; i++) {
        const whammc_monitor_value *v = &values[i];
        buf_printf(&s->out, "  %*s%-*s  %-*s  ", indent, "", w.text - indent, v->text, w.type,
                   v->type);
        if (v->call)
            buf_printf(&s->out, "the value of %s\n", v->call->name);
        else
            buf_printf(&s->out, "%s\n", v->doc);
        if (v->call)
            values_table(s, v->call->values, v->call->nvalues, w, indent + 2);
    }
}

/* Shows the values that the probe requests, with their meanings. */
static void show_values(Show *s, const whammc_monitor_probe *p) {
    Widths w = {5, 4};
    if (p->predicate)
        monitor_info_measure(&w, p->predicate->values, p->predicate->nvalues, 2);
    monitor_info_measure(&w, p->values, p->nvalues, 0);
    if (!p->nvalues && !(p->predicate && p->predicate->nvalues))
        return;
    buf_printf(&s->out, "  %-*s  %-*s  meaning\n", w.text, "value", w.type, "type");
    if (p->predicate && p->predicate->nvalues) {
        buf_printf(&s->out, "  %-*s  %-*s  the predicate\n", w.text, p->predicate->name, w.type,
                   "i32");
        values_table(s, p->predicate->values, p->predicate->nvalues, w, 2);
    }
    values_table(s, p->values, p->nvalues, w, 0);
}

/* Shows further events of a group of n probes. */
static void show_others(Show *s, uint32_t first, uint32_t n) {
    Buf text = {0};
    uint32_t shown = s->verbose ? UINT32_MAX : SHOWN_OTHER, k = 0;
    for (uint32_t i = s->next[first]; i && k < shown; i = s->next[i]) {
        const whammc_monitor_probe *p = &s->m->probes[i];
        const char *brief = strncmp(p->event, "wasm:opcode:", 12) == 0 ? p->event + 12 : p->event;
        buf_printf(&text, "%s%s", k++ ? ", " : "", brief);
    }
    if (n - 1 > k)
        buf_printf(&text, " and %u more", n - 1 - k);
    if (k) {
        buf_str(&s->out, STR("  also at "));
        cli_wrap(&s->out, buf_cstr(&text), 10, 10, WIDTH);
        buf_u8(&s->out, '\n');
    }
    buf_free(&text);
}

static void show_group(Show *s, uint32_t first) {
    const whammc_monitor_probe *p = &s->m->probes[first];
    uint32_t probes, funcs;
    count_group(s, first, &probes, &funcs);
    if (p->is_older)
        buf_str(&s->out, STR("for engines from 2025, which know this by another name:\n"));
    buf_printf(&s->out, "%s\n", p->rule);
    show_others(s, first, probes);
    show_function(s, p, funcs);
    show_calls(s, p);
    if (s->verbose)
        show_values(s, p);
    buf_u8(&s->out, '\n');
}

static void show_imports(Show *s) {
    const whammc_monitor *m = s->m;
    int width = 0;
    for (size_t i = 0; i < m->nimports; i++) {
        int w = (int)(strlen(m->imports[i].module) + strlen(m->imports[i].name)) + 1;
        width = w > width ? w : width;
    }
    buf_str(&s->out, m->nimports ? STR("imports\n") : STR("imports nothing\n"));
    for (size_t i = 0; i < m->nimports; i++) {
        const whammc_monitor_import *im = &m->imports[i];
        Buf name = {0};
        monitor_info_put_name(&name, im->module);
        buf_u8(&name, '.');
        monitor_info_put_name(&name, im->name);
        buf_printf(&s->out, "  %-*s  from %s: %s\n", width, buf_cstr(&name), im->from, im->type);
        buf_free(&name);
    }
}

static void show_monitor(Show *s) {
    const whammc_monitor *m = s->m;
    uint32_t next = 0, older = 0;
    link_groups(s);
    for (uint32_t i = 0; i < m->nprobes; i++) {
        bool first = m->probes[i].group == next;
        next += first;
        older += m->probes[i].is_older != 0;
        if (first && (s->verbose || !m->probes[i].is_older))
            show_group(s, i);
    }
    free(s->next);
    if (older && !s->verbose)
        buf_printf(&s->out, "and %u %s once more, by names that engines from 2025 know\n\n", older,
                   message_plural(older, "probe", "probes"));
    if (m->has_exit)
        buf_printf(&s->out, "wasm:exit\n  function %u, at the end of the program\n\n", m->exit_fid);
    show_imports(s);
}

int monitor_show(const Cli *cli, const char *path, bool verbose) {
    Buf bytes = {0};
    if (!file_read_module(cli, path, &bytes)) {
        buf_free(&bytes);
        return STATUS_ERROR;
    }
    whammc *w = whammc_new();
    Show s = {.verbose = verbose};
    int status = message_library(
        cli, w, whammc_read_monitor(w, file_title(path), bytes.data, bytes.len, &s.m));
    if (status == STATUS_OK) {
        show_monitor(&s);
        message_stdout(&s.out);
    }
    buf_free(&s.out);
    whammc_free(w);
    buf_free(&bytes);
    return status;
}
