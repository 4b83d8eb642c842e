/*
 * cmd/cmd_list.c - `whammc list`: shows where probes match, without instrumenting.
 */
#include "cmd/cmd.h"

#include <fnmatch.h>

enum { COLUMN_MAX = 64 };

/* A site. Strings are stored once, sanitised for terminals, and referred to by number. */
typedef struct Row {
    uint32_t fid, pc, number;
    uint32_t module, function, instruction, event, location, source; /* texts */
} Row;

typedef struct List {
    const char *functions; /* GLOB; NULL = all */
    const char *names;     /* a file; NULL = none */
    bool count, verbose, lines;
    bool inside; /* there are sites in modules inside of a component */
    DebugOptions debug;
    ScriptOptions scripts;
    Map texts;            /* as the module has it -> index into the following */
    Vec(Str) shown;       /* ... as it is shown; in the arena */
    Vec(uint32_t) widths; /* ... in characters */
    Arena arena;
    Vec(struct { Vec(Row) rows; }) probes;
} List;

/* ---- finding ---- */

static uint32_t cmd_list_text(List *l, const char *s) {
    bool added;
    uint32_t index = (uint32_t)*map_put(&l->texts, str_of(s), l->texts.len, &added);
    if (added) {
        Buf b = {0};
        uint32_t width = message_clean(&b, str_of(s)), len = (uint32_t)b.len;
        vec_push(&l->shown, ((Str){arena_strndup(&l->arena, buf_cstr(&b), len), len}));
        vec_push(&l->widths, width);
        buf_free(&b);
    }
    return index;
}

/* Appends FILE:LINE:COLUMN, as far as known. */
static void cmd_list_put_place(Buf *b, const whammc_frame *f) {
    buf_str(b, str_of(f->file));
    if (f->line)
        buf_printf(b, ":%u", f->line);
    if (f->line && f->column)
        buf_printf(b, ":%u", f->column);
}

static uint32_t location(List *l, const whammc_site *s) {
    Buf b = {0};
    if (s->nframes && s->frames[0].line)
        cmd_list_put_place(&b, &s->frames[0]);
    uint32_t index = cmd_list_text(l, buf_cstr(&b));
    buf_free(&b);
    return index;
}

/* Returns the index of a text: the function, then each function it was inlined into, with the
 * location of the call. */
static uint32_t cmd_list_source(List *l, const whammc_site *s) {
    Buf b = {0};
    for (size_t i = 0; i < s->nframes; i++) {
        if (i)
            buf_str(&b, STR(" < "));
        buf_str(&b, str_of(s->frames[i].function));
        if (i) {
            buf_str(&b, STR(" ("));
            cmd_list_put_place(&b, &s->frames[i]);
            buf_u8(&b, ')');
        }
    }
    uint32_t index = cmd_list_text(l, buf_cstr(&b));
    buf_free(&b);
    return index;
}

static void cmd_list_add_site(void *ctx, const whammc_site *s) {
    List *l = ctx;
    if (l->functions && fnmatch(l->functions, s->fname, 0) != 0)
        return;
    while (l->probes.len <= s->probe)
        vec_add(&l->probes);
    Row row = {.fid = s->fid,
               .pc = s->pc,
               .number = s->number,
               .module = cmd_list_text(l, s->module),
               .function = cmd_list_text(l, s->fname),
               .instruction = cmd_list_text(l, s->instruction),
               .event = cmd_list_text(l, s->event)};
    l->inside |= *s->module != 0;
    if (l->lines) {
        row.location = location(l, s);
        row.source = cmd_list_source(l, s);
    }
    vec_push(&l->probes.at[s->probe].rows, row);
}

/* ---- showing ---- */

enum { MODULE, FUNCTION, FID, PC, INSTRUCTION, LOCATION, SOURCE, NUMBER, EVENT, NCOLUMNS };
static const char *const titles[NCOLUMNS] = {
    "module",   "function",        "fid",   "pc",   "instruction",
    "location", "source function", "probe", "event"};

/* Returns whether to show a column. */
static bool cmd_list_is_shown(const List *l, int column) {
    if (column == MODULE)
        return l->inside;
    if (column == NUMBER || column == EVENT)
        return l->verbose;
    return l->lines || (column != LOCATION && column != SOURCE);
}

static bool cmd_list_is_number(int column) {
    return column == FID || column == PC || column == NUMBER;
}

/* Returns the number or the text of a column. */
static uint32_t cmd_list_value(const Row *r, int column) {
    switch (column) {
    case MODULE: return r->module;
    case FUNCTION: return r->function;
    case INSTRUCTION: return r->instruction;
    case EVENT: return r->event;
    case LOCATION: return r->location;
    case SOURCE: return r->source;
    case FID: return r->fid;
    case PC: return r->pc;
    default: return r->number;
    }
}

static uint32_t cmd_list_digits(uint32_t n) {
    uint32_t count = 1;
    while (n >= 10)
        n /= 10, count++;
    return count;
}

static void put_blanks(Buf *out, uint32_t n) {
    buf_reserve(out, n);
    memset(out->data + out->len, ' ', n);
    out->len += n;
}

/* Appends a cell: s has `used` characters. Numbers are right-aligned. */
static void cmd_list_put_cell(Buf *out, Str s, uint32_t used, uint32_t width, bool right) {
    uint32_t blanks = used < width ? width - used : 0;
    put_blanks(out, 2 + (right ? blanks : 0));
    buf_str(out, s);
    if (!right)
        put_blanks(out, blanks);
}

static void cmd_list_end_row(Buf *out) {
    while (out->data[out->len - 1] == ' ')
        out->len--;
    buf_u8(out, '\n');
}

static void cmd_list_put_row(const List *l, const Row *r, const uint32_t *widths, Buf *out) {
    for (int i = 0; i < NCOLUMNS; i++) {
        uint32_t v = cmd_list_value(r, i);
        if (!cmd_list_is_shown(l, i))
            continue;
        if (cmd_list_is_number(i)) {
            char number[12];
            uint32_t len = cmd_list_digits(v), rest = v;
            for (uint32_t k = len; k > 0; rest /= 10)
                number[--k] = (char)('0' + rest % 10);
            cmd_list_put_cell(out, (Str){number, len}, len, widths[i], true);
        } else {
            cmd_list_put_cell(out, l->shown.at[v], l->widths.at[v], widths[i], false);
        }
    }
    cmd_list_end_row(out);
}

static void cmd_list_measure(const List *l, const Row *rows, uint32_t n, uint32_t *widths) {
    for (int i = 0; i < NCOLUMNS; i++) {
        widths[i] = (uint32_t)strlen(titles[i]);
        for (uint32_t k = 0; cmd_list_is_shown(l, i) && k < n; k++) {
            uint32_t v = cmd_list_value(&rows[k], i),
                     used = cmd_list_is_number(i) ? cmd_list_digits(v) : l->widths.at[v];
            if (used > widths[i])
                widths[i] = used < COLUMN_MAX ? used : COLUMN_MAX;
        }
    }
}

static void show_rows(const List *l, uint32_t probe) {
    if (probe >= l->probes.len || !l->probes.at[probe].rows.len)
        return;
    uint32_t widths[NCOLUMNS], n = l->probes.at[probe].rows.len;
    const Row *rows = l->probes.at[probe].rows.at;
    cmd_list_measure(l, rows, n, widths);
    Buf out = {0};
    for (int i = 0; i < NCOLUMNS; i++)
        if (cmd_list_is_shown(l, i))
            cmd_list_put_cell(&out, str_of(titles[i]), (uint32_t)strlen(titles[i]), widths[i],
                              cmd_list_is_number(i));
    cmd_list_end_row(&out);
    for (uint32_t k = 0; k < n; k++) {
        cmd_list_put_row(l, &rows[k], widths, &out);
        if (out.len > 1 << 16) {
            message_stdout(&out);
            out.len = 0;
        }
    }
    message_stdout(&out);
    buf_free(&out);
}

/* Shows whether the probe is counted by segments, or why not. */
static void show_counting(const whammc_counting *c) {
    Buf line = {0};
    if (c->counts)
        buf_str(&line, STR("  only counts: counted by segments\n"));
    else if (c->why)
        buf_printf(&line, "  %s counted by segments: %u:%u: %s\n", c->partly ? "not all" : "not",
                   c->line, c->column, c->why);
    message_stdout(&line);
    buf_free(&line);
}

static void cmd_list_show(const List *l, whammc *w) {
    size_t n, ncountings;
    const whammc_counting *countings = whammc_countings(w, &ncountings);
    const whammc_probe_stats *p = whammc_probes(w, &n);
    for (size_t i = 0; i < n; i++) {
        Buf head = {0};
        buf_printf(&head, "%s:%u: %s: ", p[i].script, p[i].line, p[i].rule);
        message_number(&head, p[i].sites);
        buf_str(&head, str_of(message_plural(p[i].sites, " site", " sites")));
        if (l->functions && !l->count) {
            buf_str(&head, STR(", shown: "));
            message_number(&head, i < l->probes.len ? l->probes.at[i].rows.len : 0);
        }
        buf_u8(&head, '\n');
        message_stdout(&head);
        buf_free(&head);
        if (l->verbose && i < ncountings)
            show_counting(&countings[i]);
        if (!l->count)
            show_rows(l, (uint32_t)i);
    }
}

/* Shows which maps exist at run time. */
static void show_maps(whammc *w) {
    size_t n;
    const whammc_map *m = whammc_maps(w, &n);
    Buf out = {0};
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s:%u: %s: %s, %s\n", m[i].script, m[i].line, m[i].name, m[i].type,
                   m[i].cells ? "cells: its keys are static" : "a map at run time");
    message_stdout(&out);
    buf_free(&out);
}

static int list(const Cli *cli, List *l, const char *path) {
    whammc *w = whammc_new();
    Buf app = {0};
    bool ok = script_options_give(cli, &l->scripts, w, true);
    int status = STATUS_ERROR;
    ok = file_read_module(cli, path, &app) && names_give(cli, path, l->names, &app) && ok;
    ok = ok && debug_give(cli, &l->debug, w, path, &app, l->lines);
    if (ok) {
        progress_start("reading", file_title(path), app.len);
        status = message_library(cli, w,
                                 whammc_list(w, file_title(path), app.data, app.len,
                                             l->count ? NULL : cmd_list_add_site, l));
        if (status == STATUS_OK)
            cmd_list_show(l, w);
        if (status == STATUS_OK && l->verbose) {
            Buf modules = {0};
            show_maps(w);
            modules_describe(w, &app, &modules);
            message_stdout(&modules);
            buf_free(&modules);
        }
    }
    whammc_free(w);
    buf_free(&app);
    return status;
}

static bool cmd_list_set(const Cli *cli, void *settings, int key, const char *value) {
    List *l = settings;
    switch (key) {
    case OPTION_SCRIPT:
    case OPTION_EVAL:
    case OPTION_INCLUDE_DIR:
    case OPTION_DEFINE:
    case OPTION_MODULE:
    case OPTION_LIBRARY: return script_option(cli, &l->scripts, key, value);
    case OPTION_COUNT: l->count = true; break;
    case OPTION_VERBOSE: l->verbose = true; break;
    case OPTION_FUNCTIONS: l->functions = value; break;
    case OPTION_NAMES: l->names = value; break;
    case OPTION_LINES: l->lines = true; break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: l->lines = true; return debug_option(cli, &l->debug, key, value);
    }
    return true;
}

static void cmd_list_free(List *l) {
    for (uint32_t i = 0; i < l->probes.len; i++)
        vec_free(&l->probes.at[i].rows);
    vec_free(&l->probes);
    script_options_free(&l->scripts);
    debug_free(&l->debug);
    vec_free(&l->shown);
    vec_free(&l->widths);
    map_free(&l->texts);
    arena_free(&l->arena);
}

int cmd_list(Cli *cli) {
    List l = {0};
    int status = cli_options(cli, cmd_list_set, &l);
    if (status == STATUS_OK)
        status = cli_check_inputs(cli, l.scripts.files.at, l.scripts.files.len, true);
    if (status == STATUS_OK)
        status = list(cli, &l, cli->operands[0]);
    cmd_list_free(&l);
    return status;
}

int list_costs(const Cli *cli, const char *script, const char *path) {
    List l = {.count = true, .verbose = true};
    Buf probe = {0};
    bool rule = strchr(script, ':');
    buf_printf(&probe, "%s { report var n: u64; n++; }", script);
    int status = STATUS_ERROR;
    if (script_option(cli, &l.scripts, rule ? OPTION_EVAL : OPTION_SCRIPT,
                      rule ? buf_cstr(&probe) : script))
        status = list(cli, &l, path);
    cmd_list_free(&l);
    buf_free(&probe);
    return status;
}
