/*
 * lsp/workspace.c - the language server: the programs of a workspace, which whammc.json names.
 * Where the probes of a script match, runs, and what they have reported.
 *
 *   {
 *     "programs": [
 *       {"program": "app.wasm", "scripts": ["calls.whamm"], "arguments": ["--fast"], "options": []}
 *     ],
 *     "libraries": ["hash=lib/hash.wasm"]
 *   }
 *
 * Paths are relative to its folder. A program without `scripts` is one of all scripts; `options`
 * are those of `whammc run`.
 */
#include "lsp/server.h"

#include "lang/lang.h"
#include "whammc/report.h"

/* ---- whammc.json ---- */

typedef struct Program {
    const char *path;
    Elements scripts; /* paths; empty = all */
    Elements arguments, options;
} Program;

typedef struct WorkspaceLibrary {
    const char *name, *path;
    const char *bytes; /* read when they are needed first; NULL = they could not be */
    size_t size;
    bool read;
} WorkspaceLibrary;

typedef struct Run {
    unsigned number;
    char *uri; /* of the script */
} Run;

typedef struct Workspace {
    Arena arena;
    Vec(Program) programs;
    Vec(WorkspaceLibrary) libraries;
    Vec(Run) runs; /* that have not ended */
    unsigned nruns;
} Workspace;

/* What is known of a probe in a program. */
typedef struct Sites {
    char *rule;
    uint64_t sites;
    char *counting; /* how its sites count, or why they do more; NULL = not known */
} Sites;

/* The value of a reported variable. */
typedef struct Shown {
    char *name, *value;
} Shown;

typedef struct Programs {
    const Program *program; /* the first one; NULL = there is none */
    Vec(Sites) sites;       /* of the probes of the document's own text, in its order */
    Vec(Shown) values;      /* of the last run */
    unsigned run;           /* its number */
} Programs;

static const char *in_root(whammc_server *s, Arena *arena, Str path) {
    if (path.len && path.ptr[0] == '/')
        return arena_strndup(arena, path.ptr, path.len);
    return arena_printf(arena, "%s/%.*s", s->root, STR_ARG(path));
}

/* The strings of an array, kept in the workspace. */
static Elements keep_strings(whammc_server *s, Str array) {
    Elements read = {0};
    server_elements(s, array, &read);
    for (uint32_t i = 0; i < read.len; i++)
        read.at[i].ptr = arena_strndup(&s->workspace->arena, read.at[i].ptr, read.at[i].len);
    return read;
}

static void read_program(whammc_server *s, Str entry) {
    static const char *const names[] = {"program", "scripts", "arguments", "options"};
    Str of[4];
    if (!server_members(s, entry, names, 4, of) || !of[0].len)
        return;
    Program p = {.path = in_root(s, &s->workspace->arena, of[0]),
                 .scripts = keep_strings(s, of[1]),
                 .arguments = keep_strings(s, of[2]),
                 .options = keep_strings(s, of[3])};
    for (uint32_t i = 0; i < p.scripts.len; i++)
        p.scripts.at[i] = str_of(in_root(s, &s->workspace->arena, p.scripts.at[i]));
    vec_push(&s->workspace->programs, p);
}

static void clear_workspace(Workspace *w) {
    for (uint32_t i = 0; i < w->programs.len; i++) {
        vec_free(&w->programs.at[i].scripts);
        vec_free(&w->programs.at[i].arguments);
        vec_free(&w->programs.at[i].options);
    }
    w->programs.len = w->libraries.len = 0;
    arena_free(&w->arena);
}

void workspace_read(whammc_server *s) {
    static const char *const names[] = {"programs", "libraries"};
    if (!s->workspace)
        s->workspace = mem_zalloc(sizeof *s->workspace);
    Workspace *w = s->workspace;
    clear_workspace(w);
    size_t size = 0;
    if (!s->root || !s->host.read)
        return;
    const char *path = arena_printf(&w->arena, "%s/whammc.json", s->root);
    const void *bytes = s->host.read(s->host.ctx, path, &size);
    if (!bytes)
        return;
    Str of[2], text = {arena_strndup(&w->arena, bytes, size), (uint32_t)size};
    if (!server_members(s, text, names, 2, of)) {
        Buf message = {0};
        buf_printf(&message, "%s: expected an object, {\"programs\": [...]}", path);
        server_log(s, buf_view(&message));
        buf_free(&message);
        return;
    }
    Elements entries = {0}, libraries = {0};
    server_elements(s, of[0], &entries);
    server_elements(s, of[1], &libraries);
    for (uint32_t i = 0; i < entries.len; i++)
        read_program(s, entries.at[i]);
    for (uint32_t i = 0; i < libraries.len; i++) {
        Str one = libraries.at[i];
        const char *equals = memchr(one.ptr, '=', one.len);
        if (!equals)
            continue;
        uint32_t n = (uint32_t)(equals - one.ptr);
        WorkspaceLibrary l = {arena_strndup(&w->arena, one.ptr, n),
                              in_root(s, &w->arena, (Str){equals + 1, one.len - n - 1}), NULL, 0,
                              false};
        vec_push(&w->libraries, l);
    }
    vec_free(&entries);
    vec_free(&libraries);
}

void workspace_give(whammc_server *s, whammc *w) {
    for (uint32_t i = 0; s->workspace && i < s->workspace->libraries.len; i++) {
        WorkspaceLibrary *l = &s->workspace->libraries.at[i];
        const void *bytes = l->read ? NULL : s->host.read(s->host.ctx, l->path, &l->size);
        l->read = true;
        if (bytes)
            l->bytes = arena_strndup(&s->workspace->arena, bytes, l->size);
        if (l->bytes)
            whammc_add_library(w, l->name, NULL, l->bytes, l->size);
    }
}

void workspace_free(whammc_server *s) {
    if (!s->workspace)
        return;
    clear_workspace(s->workspace);
    for (uint32_t i = 0; i < s->workspace->runs.len; i++)
        free(s->workspace->runs.at[i].uri);
    vec_free(&s->workspace->runs);
    vec_free(&s->workspace->programs);
    vec_free(&s->workspace->libraries);
    free(s->workspace);
}

/* The first program of the workspace that a script is for. */
static const Program *program_of(const whammc_server *s, const Document *d) {
    for (uint32_t i = 0; s->workspace && i < s->workspace->programs.len; i++) {
        const Program *p = &s->workspace->programs.at[i];
        bool all = !p->scripts.len;
        for (uint32_t k = 0; k < p->scripts.len && !all; k++)
            all = str_is(p->scripts.at[k], d->path);
        if (all)
            return p;
    }
    return NULL;
}

/* ---- sites ---- */

static void clear_sites(Programs *p) {
    for (uint32_t i = 0; i < p->sites.len; i++) {
        free(p->sites.at[i].rule);
        free(p->sites.at[i].counting);
    }
    p->sites.len = 0;
}

static void clear_values(Programs *p) {
    for (uint32_t i = 0; i < p->values.len; i++) {
        free(p->values.at[i].name);
        free(p->values.at[i].value);
    }
    p->values.len = 0;
}

void document_forget_programs(Document *d) {
    if (!d->programs)
        return;
    clear_sites(d->programs);
    clear_values(d->programs);
    vec_free(&d->programs->sites);
    vec_free(&d->programs->values);
    free(d->programs);
}

static char *describe_counting(const whammc_counting *c) {
    Buf text = {0};
    if (c->counts)
        buf_str(&text, STR("Its sites only count: the counters of a segment of code are one, and "
                           "the report computes each."));
    else if (c->why)
        buf_printf(&text, "Its code runs at each site: %s (line %u).", c->why, c->line);
    char *copy = text.len ? api_copy(text.data, text.len) : NULL;
    buf_free(&text);
    return copy;
}

/* Takes what a whammc object knows of the probes of the document. */
static void take_sites(const Document *d, whammc *w) {
    size_t n, m;
    const whammc_probe_stats *probes = whammc_probes(w, &n);
    const whammc_counting *countings = whammc_countings(w, &m);
    clear_sites(d->programs);
    for (size_t i = 0; i < n; i++)
        if (strcmp(probes[i].script, d->path) == 0)
            vec_push(&d->programs->sites,
                     ((Sites){.rule = api_copy(probes[i].rule, strlen(probes[i].rule)),
                              .sites = probes[i].sites,
                              .counting = i < m ? describe_counting(&countings[i]) : NULL}));
}

void workspace_count(whammc_server *s, Document *d) {
    const Program *p = program_of(s, d);
    if (!d->programs)
        d->programs = mem_zalloc(sizeof *d->programs);
    d->programs->program = p;
    if (!p || !s->host.read) {
        clear_sites(d->programs);
        return;
    }
    size_t size;
    whammc *w = document_compiler(s, d);
    const void *bytes = s->host.read(s->host.ctx, p->path, &size);
    if (bytes && whammc_list(w, p->path, bytes, size, NULL, NULL) == WHAMMC_OK)
        take_sites(d, w);
    whammc_free(w);
}

/* What is known of the nth probe of the text, if it still has this rule. */
static const Sites *sites_of_probe(const Document *d, uint32_t n, Str rule) {
    const Programs *p = d->programs;
    return p && n < p->sites.len && str_is(rule, p->sites.at[n].rule) ? &p->sites.at[n] : NULL;
}

/* Whether the probe is one of the text itself. */
static bool is_of_text(const Document *d, const Probe *probe) {
    return !probe->made && probe->rule.span.file == d->file;
}

/* The rule without bounds, as whammc_probes has it. */
static void put_rule(const Rule *rule, Buf *out) {
    out->len = 0;
    for (uint32_t k = 0; k < rule->nparts; k++)
        buf_printf(out, "%s%.*s", k ? ":" : "", STR_ARG(rule->parts[k].pattern));
}

void workspace_describe(const Document *d, const Probe *probe, Buf *out) {
    const Script *script = document_script(d);
    uint32_t n = 0;
    for (uint32_t i = 0; i < script->probes.len && script->probes.at[i] != probe; i++)
        n += is_of_text(d, script->probes.at[i]);
    Buf rule = {0};
    put_rule(&probe->rule, &rule);
    const Sites *sites = sites_of_probe(d, n, buf_view(&rule));
    buf_free(&rule);
    if (!sites)
        return;
    const char *slash = strrchr(d->programs->program->path, '/');
    buf_printf(out, "\n%llu site%s in %s.%s%s\n", (unsigned long long)sites->sites,
               sites->sites == 1 ? "" : "s", slash ? slash + 1 : d->programs->program->path,
               sites->counting ? " " : "", sites->counting ? sites->counting : "");
}

/* ---- hints in the text ---- */

static uint32_t line_end(const Document *d, uint32_t offset) {
    const char *text = (const char *)d->text.data;
    while (offset < d->text.len && text[offset] != '\n' && text[offset] != '\r')
        offset++;
    return offset;
}

static void put_hint(const Request *r, uint32_t offset, Str label, const char *tooltip) {
    out_next(r->out);
    buf_str(r->out, STR("{\"position\":"));
    document_put_position(r->s, r->d, offset, r->out);
    out_string(r->out, "label", label);
    buf_str(r->out, STR(",\"paddingLeft\":true"));
    if (tooltip)
        out_string(r->out, "tooltip", str_of(tooltip));
    buf_u8(r->out, '}');
}

static void put_site_hints(const Request *r) {
    const Script *script = document_script(r->d);
    Buf rule = {0}, label = {0};
    for (uint32_t i = 0, n = 0; i < script->probes.len; i++) {
        const Probe *probe = script->probes.at[i];
        if (!is_of_text(r->d, probe))
            continue;
        put_rule(&probe->rule, &rule);
        const Sites *sites = sites_of_probe(r->d, n++, buf_view(&rule));
        if (!sites)
            continue;
        label.len = 0;
        buf_grouped(&label, sites->sites);
        buf_str(&label, sites->sites == 1 ? STR(" site") : STR(" sites"));
        put_hint(r, probe->rule.span.end, buf_view(&label), sites->counting);
    }
    buf_free(&rule);
    buf_free(&label);
}

static void put_value_hints(const Request *r) {
    const Meanings *all = &r->d->w->meanings;
    const Programs *p = r->d->programs;
    Str text = buf_view(&r->d->text);
    for (uint32_t i = 0; p && i < all->list.len; i++) {
        const Meaning *m = &all->list.at[i];
        if (!m->declares || !m->var || !m->var->report || m->span.file != r->d->file)
            continue;
        Str name = {text.ptr + m->span.start, m->span.end - m->span.start};
        for (uint32_t k = 0; k < p->values.len; k++) {
            if (!str_is(name, p->values.at[k].name))
                continue;
            put_hint(r, line_end(r->d, m->span.end), str_of(p->values.at[k].value), NULL);
            break;
        }
    }
}

void lsp_hints(Request *r) {
    buf_u8(r->out, '[');
    put_site_hints(r);
    put_value_hints(r);
    buf_u8(r->out, ']');
}

/* ---- lenses and commands ---- */

static void put_lens(const Request *r, const char *title, const char *command) {
    out_next(r->out);
    buf_str(r->out, STR("{\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":0,"
                        "\"character\":0}},\"command\":{"));
    out_string(r->out, "title", str_of(title));
    out_string(r->out, "command", str_of(command));
    out_key(r->out, "arguments");
    buf_u8(r->out, '[');
    out_string(r->out, NULL, str_of(r->d->uri));
    if (strcmp(command, "whammc.profile") == 0) {
        const Program *p = r->d->programs->program;
        out_string(r->out, NULL, str_of(p->path));
        out_key(r->out, NULL);
        buf_u8(r->out, '[');
        for (uint32_t i = 0; i < p->arguments.len; i++)
            out_string(r->out, NULL, p->arguments.at[i]);
        buf_u8(r->out, ']');
    }
    buf_str(r->out, STR("]}}"));
}

static bool is_running(const whammc_server *s, unsigned run) {
    for (uint32_t i = 0; i < s->workspace->runs.len; i++)
        if (s->workspace->runs.at[i].number == run)
            return true;
    return false;
}

void lsp_lenses(Request *r) {
    const Programs *p = r->d->programs;
    buf_u8(r->out, '[');
    if (p && p->program) {
        const char *slash = strrchr(p->program->path, '/');
        Buf title = {0};
        buf_printf(&title, "Run %s", slash ? slash + 1 : p->program->path);
        if (r->s->host.stop && is_running(r->s, p->run))
            put_lens(r, "Stop", "whammc.stop");
        else if (r->s->host.run)
            put_lens(r, buf_cstr(&title), "whammc.run");
        if (r->s->profiles)
            put_lens(r, "Profile", "whammc.profile");
        put_lens(r, "List sites", "whammc.list");
        if (p->values.len)
            put_lens(r, "Forget values", "whammc.forget");
        buf_free(&title);
    }
    buf_u8(r->out, ']');
}

/* The client is to ask for hints and lenses again. */
static void refresh(whammc_server *s) {
    if (s->refreshes) {
        server_begin(s, "workspace/inlayHint/refresh", true);
        buf_str(&s->out, STR("null"));
        server_end(s);
        server_begin(s, "workspace/codeLens/refresh", true);
        buf_str(&s->out, STR("null"));
        server_end(s);
    }
}

static void run_program(Request *r, Document *d) {
    const Program *p = d->programs->program;
    Workspace *w = r->s->workspace;
    Vec(const char *) arguments = {0};
    vec_push(&arguments, "run");
    bool saved = d->path[0] == '/';
    vec_push(&arguments, saved ? "-s" : "-e");
    vec_push(&arguments, saved ? d->path : buf_cstr(&d->text));
    for (uint32_t i = 0; i < w->libraries.len; i++)
        vec_push(&arguments, arena_printf(&r->s->arena, "--lib=%s=%s", w->libraries.at[i].name,
                                          w->libraries.at[i].path));
    for (uint32_t i = 0; i < p->options.len; i++)
        vec_push(&arguments, p->options.at[i].ptr);
    vec_push(&arguments, p->path);
    for (uint32_t i = 0; i < p->arguments.len; i++)
        vec_push(&arguments, p->arguments.at[i].ptr);
    unsigned number = ++w->nruns;
    if (r->s->host.run && r->s->host.run(r->s->host.ctx, number, arguments.at, arguments.len)) {
        vec_push(&w->runs, ((Run){number, api_copy(d->uri, strlen(d->uri))}));
        d->programs->run = number;
        buf_printf(r->out, "%u", number);
        refresh(r->s);
    }
    vec_free(&arguments);
}

static void put_site(void *ctx, const whammc_site *site) {
    Request *r = ctx;
    out_next(r->out);
    buf_u8(r->out, '{');
    out_string(r->out, "event", str_of(site->event));
    out_string(r->out, "function", str_of(site->fname));
    out_number(r->out, "fid", site->fid);
    out_number(r->out, "pc", site->pc);
    if (site->instruction)
        out_string(r->out, "instruction", str_of(site->instruction));
    if (site->nframes && site->frames[0].file) {
        out_string(r->out, "file", str_of(site->frames[0].file));
        out_number(r->out, "line", site->frames[0].line);
    }
    buf_u8(r->out, '}');
}

static void list_sites(Request *r, Document *d) {
    size_t size;
    const char *path = d->programs->program->path;
    whammc_debug_info debug = {0};
    whammc *w = document_compiler(r->s, d);
    whammc_locate(w, &debug);
    const void *bytes = r->s->host.read ? r->s->host.read(r->s->host.ctx, path, &size) : NULL;
    buf_u8(r->out, '[');
    if (bytes)
        whammc_list(w, path, bytes, size, put_site, r);
    buf_u8(r->out, ']');
    whammc_free(w);
}

void lsp_command(Request *r) {
    static const char *const names[] = {"command", "arguments"};
    Str of[2];
    Elements arguments = {0};
    server_members(r->s, r->params, names, 2, of);
    server_elements(r->s, of[1], &arguments);
    Document *d = arguments.len ? document_find(r->s, arguments.at[0]) : NULL;
    vec_free(&arguments);
    if (!d || !d->programs || !d->programs->program)
        return;
    if (str_is(of[0], "whammc.run")) {
        run_program(r, d);
    } else if (str_is(of[0], "whammc.stop")) {
        if (r->s->host.stop && is_running(r->s, d->programs->run))
            r->s->host.stop(r->s->host.ctx, d->programs->run);
    } else if (str_is(of[0], "whammc.list")) {
        list_sites(r, d);
    } else if (str_is(of[0], "whammc.forget")) {
        clear_values(d->programs);
        refresh(r->s);
    }
}

/* ---- runs ---- */

static void put_shown(const WhammcValue *v, Buf *out) {
    switch (v->kind) {
    case WHAMMC_VALUE_UNSIGNED: buf_grouped(out, v->as.u); break;
    case WHAMMC_VALUE_SIGNED: buf_printf(out, "%lld", (long long)v->as.i); break;
    case WHAMMC_VALUE_FLOAT: buf_printf(out, "%g", v->as.f); break;
    case WHAMMC_VALUE_BOOL: buf_str(out, v->as.u ? STR("true") : STR("false")); break;
    case WHAMMC_VALUE_STRING:
    case WHAMMC_VALUE_UNREADABLE:
        buf_printf(out, "\"%.*s\"", (int)(v->size < 60 ? v->size : 60), v->as.text);
        break;
    case WHAMMC_VALUE_TUPLE:
        for (size_t i = 0; i < v->size; i++) {
            buf_str(out, i ? STR(", ") : STR("("));
            put_shown(&v->as.parts[i], out);
        }
        buf_u8(out, ')');
        break;
    case WHAMMC_VALUE_MAP:
        buf_printf(out, "%zu %s", v->size / 2, v->size == 2 ? "entry" : "entries");
        break;
    case WHAMMC_VALUE_RECORD:
        for (size_t i = 0; i + 1 < v->size; i += 2) {
            buf_printf(out, "%s%s ", i ? ", " : "", v->as.parts[i].as.text);
            put_shown(&v->as.parts[i + 1], out);
        }
        break;
    case WHAMMC_VALUE_BUCKETS: buf_printf(out, "%zu buckets", v->size / 3); break;
    case WHAMMC_VALUE_NONE: buf_str(out, STR("-")); break;
    }
}

/* What is shown of a variable: its value, or the sum of its rows. */
typedef struct Summary {
    size_t rows, first;
    bool adds;
    uint64_t sum;
} Summary;

static void add_row(Summary *s, WhammcReport *report, size_t row) {
    const WhammcValue *v = whammc_report_value(report, row);
    if (!s->rows++) {
        s->first = row;
        s->adds = true;
    }
    s->adds &= v->kind == WHAMMC_VALUE_UNSIGNED || v->kind == WHAMMC_VALUE_SIGNED;
    s->sum += v->kind == WHAMMC_VALUE_UNSIGNED ? v->as.u : (uint64_t)v->as.i;
}

static void take_values(Programs *p, WhammcReport *report) {
    size_t nvars, nrows;
    const WhammcVariable *vars = whammc_report_variables(report, &nvars);
    const WhammcRow *rows = whammc_report_rows(report, &nrows);
    Summary *sums = mem_zalloc(sizeof *sums * (nvars + 1));
    for (size_t i = 0; i < nrows; i++)
        if (!vars[rows[i].variable].formula || !rows[i].has_place)
            add_row(&sums[rows[i].variable], report, i);
    clear_values(p);
    for (size_t i = 0; i < nvars; i++) {
        const Summary *s = &sums[i];
        Buf text = {0};
        buf_str(&text, STR("= "));
        if (s->rows == 1)
            put_shown(whammc_report_value(report, s->first), &text);
        else if (s->rows && s->adds)
            buf_grouped(&text, s->sum);
        if (s->rows != 1)
            buf_printf(&text, "%s%zu rows", s->adds && s->rows ? " in " : "", s->rows);
        vec_push(&p->values, ((Shown){api_copy(vars[i].name, strlen(vars[i].name)),
                                      api_copy(text.data, text.len)}));
        buf_free(&text);
    }
    free(sums);
}

/* The document of a run: NULL if it was closed, or if there is a later run. */
static Document *document_of_run(whammc_server *s, unsigned run) {
    for (uint32_t i = 0; s->workspace && i < s->workspace->runs.len; i++) {
        const Run *one = &s->workspace->runs.at[i];
        Document *d = one->number == run ? document_find(s, str_of(one->uri)) : NULL;
        if (d && d->programs && d->programs->run == run)
            return d;
    }
    return NULL;
}

void whammc_server_report(whammc_server *s, unsigned run, const char *text, size_t len) {
    Document *d = document_of_run(s, run);
    if (!d)
        return;
    WhammcReport *report = whammc_report_new();
    if (whammc_report_read(report, "report", text, len, 0) == WHAMMC_OK) {
        take_values(d->programs, report);
        refresh(s);
    }
    whammc_report_free(report);
}

void whammc_server_output(whammc_server *s, unsigned run, const char *text, size_t len) {
    (void)run;
    while (len && text[len - 1] == '\n')
        len--;
    server_log(s, (Str){text, (uint32_t)len});
}

void whammc_server_ran(whammc_server *s, unsigned run, int status) {
    Workspace *w = s->workspace;
    uint32_t n = 0;
    for (uint32_t i = 0; w && i < w->runs.len; i++) {
        if (w->runs.at[i].number == run)
            free(w->runs.at[i].uri);
        else
            w->runs.at[n++] = w->runs.at[i];
    }
    if (w)
        w->runs.len = n;
    refresh(s);
    server_begin(s, "window/showMessage", false);
    buf_printf(&s->out, "{\"type\":%d,\"message\":\"The program ended with status %d.\"}",
               status ? 2 : 3, status);
    server_end(s);
}
