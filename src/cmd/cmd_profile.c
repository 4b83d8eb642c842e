/*
 * cmd/cmd_profile.c - `whammc profile`: instruments a program with one of the bundled profilers,
 * runs it, and shows where its time goes.
 *
 * Scripts and `whammc report` can do the same: the profilers are stdlib/calltree.whamm,
 * profile.whamm and sample.whamm, running.c runs, the library makes the formats.
 */
#include "base/demangle.h"
#include "cli/metrics.h"
#include "cli/process.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_MAX = 1000000 };

typedef enum Style { STYLE_SAMPLE, STYLE_TREE, STYLE_ARCS } Style;

typedef enum Sampler { SAMPLER_ENGINE, SAMPLER_THREAD, SAMPLER_PROGRAM } Sampler;

typedef struct Settings {
    ModuleGlobs modules;
    Words engine_options, world;
    Words labels; /* in the end with a NULL */
    Exclusion exclusion;
    HeapOptions heap;
    HttpOptions http;
    Metrics metrics;
    const char *engine, *clock, *out, *save, *max_depth, *names;
    Style style;
    Sampler sampler; /* commands are run by Node */
    WhammcReportFormat format;
    uint32_t top;
    char interval[24]; /* nanoseconds; empty = not given */
    char sample[12];   /* the N of 1/N; empty = not given */
    bool style_given, clock_given, sampler_given, counts;
    bool memories; /* the engine allows several */
    bool top_given, format_given, counts_only, auto_exclude, no_calibrate, no_demangle, guest,
        by_thread;
    const char *for_module; /* the last option that commands do not allow; NULL = none */
    Look look;
    DebugOptions debug;
} Settings;

/* A program to profile, and the results. */
typedef struct Profiling {
    const Cli *cli;
    const Settings *settings;
    const Engine *engine;
    const char *title; /* of the program, used in file names */
    Buf app;
    WhammcReport *report; /* of the program, once read */
    WhammcModule *module;
    bool *untimed; /* by function */
    int64_t began;
} Profiling;

/* ---- running ---- */

/* Nanoseconds since 1970. */
static int64_t cmd_profile_now(void) {
    enum { SECOND = 1000000000 };
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* Lists the constants of the script `sample`; `javascript`: in a host that can only share
 * memories. */
static void list_sampling(const Settings *s, bool javascript, DefineOptions *out, Arena *arena) {
    vec_push(out, s->sampler == SAMPLER_PROGRAM ? "outside=false" : "outside=true");
    if (s->sampler == SAMPLER_ENGINE)
        vec_push(out, "engine=true");
    vec_push(out, javascript ? "shares=true" : "shares=false");
    if (*s->interval)
        vec_push(out, arena_printf(arena, "interval=%s", s->interval));
    if (s->counts)
        vec_push(out, "counts=true");
}

/* Lists the constants of the script that do not depend on the program. */
static void list_constants(const Settings *s, Style style, bool counts_only, DefineOptions *out,
                           Arena *arena) {
    if (counts_only)
        vec_push(out, "timed=false");
    if (s->no_calibrate)
        vec_push(out, "calibrate=false");
    if (s->heap.on && s->heap.sample_bytes)
        vec_push(out, arena_printf(arena, "sample_bytes=%u", s->heap.sample_bytes));
    if (style == STYLE_TREE && s->guest)
        vec_push(out, "guest=true");
    if (style == STYLE_TREE && *s->sample)
        vec_push(out, arena_printf(arena, "sample=%s", s->sample));
    if (style == STYLE_TREE && s->max_depth)
        vec_push(out, arena_printf(arena, "max_depth=%s", s->max_depth));
}

/* Returns whether time is measured, perhaps besides memory. */
static bool is_timed(const Settings *s) {
    return !s->heap.on || s->style_given;
}

/* Returns the variables with the times, or of the script heap; NULL = there are no others. */
static const char *const *cmd_profile_variables_of(const Settings *s, bool memory) {
    static const char *const heap[] = {"heap", NULL}, *const arcs[] = {"arcs", "others", NULL};
    return !s->heap.on || !is_timed(s) ? NULL : memory ? heap : arcs;
}

/* Returns the bundled script. */
static const char *script_of(const Settings *s, Style style) {
    static const char *const names[] = {"sample", "calltree", "profile"}; /* by Style */
    return is_timed(s) ? names[style] : "heap";
}

/* Adds the script for memory to the one for times. */
static void add_heap(Running *r) {
    size_t len;
    const char *text = whammc_bundled_script("heap", &len);
    whammc_add_script(r->w, "heap", text, len);
}

/* Runs the program with a profiler; r then has the report. Returns the exit status, as
 * running_made. */
static int run_with(Profiling *p, Style style, bool counts_only, Running *r) {
    const HeapOptions *heap = &p->settings->heap;
    DefineOptions constants = {0};
    Arena arena = {0};
    whammc_options made;
    r->cli = p->cli;
    r->engine = p->engine;
    r->engine_options = &p->settings->engine_options;
    r->world = &p->settings->world;
    r->http = r->unseen ? NULL : &p->settings->http;
    r->served = (ServedProgram){.debug = &p->settings->debug.info,
                                .times = is_timed(p->settings),
                                .memory = heap->on,
                                .tree = !is_timed(p->settings) || style != STYLE_ARCS,
                                .timed = cmd_profile_variables_of(p->settings, false),
                                .mangled = p->settings->no_demangle,
                                .labels = p->settings->labels.at};
    bool asks = !counts_only && is_timed(p->settings) &&
                style != STYLE_SAMPLE; /* else clock reads are rare */
    r->clock = asks ? p->settings->clock : "host";
    running_bundled(r, script_of(p->settings, style), &p->app, &made);
    if (heap->on && is_timed(p->settings))
        add_heap(r);
    modules_choose(&p->settings->modules, r->w);
    list_constants(p->settings, style, counts_only, &constants, &arena);
    if (style == STYLE_SAMPLE) {
        bool merge = p->settings->memories;
        made.link = merge ? WHAMMC_LINK_MERGE : WHAMMC_LINK_IMPORT;
        made.host = merge ? WHAMMC_HOST_JS : WHAMMC_HOST_WASI; /* supported by all runners */
        list_sampling(p->settings, p->engine->kind == ENGINE_NODE && !p->engine->component,
                      &constants, &arena);
    }
    define_give(&constants, r->w, false);
    vec_free(&constants);
    arena_free(&arena);
    Buf untimed = {0};
    if (p->module)
        exclude_put(p->module, p->untimed, &untimed);
    if (untimed.len)
        whammc_define(r->w, "untimed", buf_cstr(&untimed));
    buf_free(&untimed);
    if (heap->on && p->module)
        heap_define(p->cli, heap, p->module, r->w);
    p->began = cmd_profile_now();
    static const LibraryOptions none;
    return running_instrumented(r, &made, &none);
}

/* Prepares standard input to be read twice: unless it is a file or a terminal, copies it to a
 * temporary file. False: errno. */
static bool keep_input(void) {
    if (lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0 || isatty(STDIN_FILENO) || errno == EBADF)
        return true;
    FILE *f = tmpfile();
    bool ok = f != NULL;
    char bytes[1 << 16];
    for (ssize_t n; ok && (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0;)
        ok = n < 0 ? errno == EINTR : file_write_fd(fileno(f), bytes, (size_t)n);
    ok = ok && dup2(fileno(f), STDIN_FILENO) >= 0 && lseek(STDIN_FILENO, 0, SEEK_SET) == 0;
    int error = errno;
    if (f)
        fclose(f);
    errno = error;
    return ok;
}

/* Marks the functions to leave untimed, as exclude_mark does. */
static bool mark_untimed(Profiling *p, const WhammcProfile *counted) {
    if (!p->module) /* a component */
        return true;
    free(p->untimed);
    p->untimed = mem_zalloc(whammc_module_count(p->module, WHAMMC_FUNC) + 1u);
    return exclude_mark(p->cli, &p->settings->exclusion, &p->app, p->module, counted, p->untimed);
}

/* Runs the program once to find the functions that are not worth timing. */
static int rehearse(Profiling *p) {
    if (!keep_input()) {
        message_one(p->cli, DIAG_CANNOT_READ, NULL, "standard input: %s", strerror(errno));
        return STATUS_ERROR;
    }
    off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    Running r = {.unseen = true};
    int status = run_with(p, STYLE_ARCS, true, &r);
    WhammcReport *report = whammc_report_new();
    const WhammcProfile *counted = NULL;
    if (status == STATUS_OK &&
        whammc_report_read(report, "", r.report.data, r.report.len, 0) == WHAMMC_OK)
        whammc_report_profile(report, WHAMMC_PROFILE_CALLS, NULL, &counted);
    if (!mark_untimed(p, counted) && status == STATUS_OK)
        status = STATUS_ERROR;
    whammc_report_free(report);
    running_free(&r);
    if (input >= 0)
        lseek(STDIN_FILENO, input, SEEK_SET);
    return status;
}

/* ---- showing ---- */

/* Returns "app" and the suffix, on the heap, for "dir/app.wasm". */
static char *file_for(const Profiling *p, const char *suffix) {
    static const char *const endings[] = {".wasm", ".wat", ".mjs", ".cjs", ".js"};
    const char *base = strcmp(p->title, "<stdin>") == 0 ? "stdin" : p->title;
    size_t len = strlen(base);
    const char *dot = strrchr(base, '.');
    for (size_t i = 0; dot > base && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            len = (size_t)(dot - base);
    char *name;
    return asprintf(&name, "%.*s%s", (int)len, base, suffix) < 0 ? NULL : name;
}

/* A file that is written by default. */
typedef struct Unasked {
    WhammcReportFormat format;
    const char *suffix, *what;
    const char *mark; /* the first bytes of such files */
    uint32_t len;
    const char *other; /* a message if the file starts differently */
} Unasked;

static const Unasked flame_graph = {WHAMMC_REPORT_SVG,    ".flame.svg", "flame graph",
                                    "<svg id=\"frames\"", 16,           "is not a flame graph"};
static const Unasked pprof_profile = {WHAMMC_REPORT_PPROF, ".pb.gz", "profile for pprof",
                                      "\x1f\x8b\x08",      3,        "is not a compressed profile"};

/* Returns whether the file may be overwritten: it does not exist, or is of the same kind. */
static bool is_free(const char *path, const Unasked *u) {
    FILE *f = fopen(path, "re");
    if (!f)
        return access(path, F_OK) != 0;
    char head[4096];
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    return memmem(head, n, u->mark, u->len) != NULL;
}

/* Writes the report in a format, of times or `memory`; WHAMMC_REPORT_TABLE is a flat profile, or
 * the table of allocations. On failure, prints a message and returns false. */
static bool cmd_profile_make(const Profiling *p, WhammcReport *report, WhammcReportFormat format,
                             bool memory, Buf *out) {
    const Settings *s = p->settings;
    bool plain = format != WHAMMC_REPORT_TABLE && format_has(format, WHAMMC_SHOWS_ROWS);
    WhammcReportFormat table = memory ? WHAMMC_REPORT_HEAP : WHAMMC_REPORT_FLAT;
    WhammcReportOptions look = {.top = s->top,
                                .title = p->title,
                                .mangled = s->no_demangle,
                                .inlined = s->look.inlined && !plain,
                                .lines = s->look.lines && !plain,
                                .time = p->began,
                                .value = memory ? s->heap.value : NULL,
                                .variables = cmd_profile_variables_of(s, memory),
                                .labels = s->labels.at};
    uint8_t *text;
    size_t size;
    whammc_status status = whammc_report_write(
        report, format == WHAMMC_REPORT_TABLE ? table : format, &look, &text, &size);
    *out = (Buf){.data = text, .len = size, .cap = size};
    return message_report(p->cli, report, status) == STATUS_OK;
}

/* Writes a default file, or the requested one instead, and prints its path. */
static bool write_unasked(const Profiling *p, WhammcReport *report, const Unasked *u) {
    const char *out = p->settings->out;
    char *path = out ? strdup(out) : file_for(p, u->suffix);
    Buf made = {0}, line = {0};
    bool ok = path && cmd_profile_make(p, report, u->format, p->settings->heap.on, &made);
    if (ok && !out && !is_free(path, u)) {
        message_one(p->cli, DIAG_CANNOT_WRITE, "choose another file with --output=OUT",
                    "%s: the file exists and %s", path, u->other);
        ok = false;
    }
    ok = ok && file_write(p->cli, path, made.data, made.len);
    if (ok && strcmp(path, "-") != 0) {
        buf_printf(&line, "\n%s: %s\n", u->what, path);
        message_stderr(line.data, line.len);
    }
    buf_free(&line);
    buf_free(&made);
    free(path);
    return ok;
}

/* Shows the flat profile and writes the flame graph. */
static bool show_both(const Profiling *p, const Running *r, WhammcReport *report) {
    const Settings *s = p->settings;
    LeftOut left_out = {
        .m = p->module, .untimed = p->untimed, .mangled = s->no_demangle, .top = s->top};
    Buf text = {0}, times = {0};
    bool ok = !s->heap.on || !is_timed(s) ||
              cmd_profile_make(p, report, WHAMMC_REPORT_TABLE, false, &times);
    message_result(&times);
    buf_free(&times);
    ok = ok && cmd_profile_make(p, report, WHAMMC_REPORT_TABLE, s->heap.on, &text);
    if (ok && s->style != STYLE_ARCS && p->module)
        left_out_untimed(&left_out, &text);
    if (ok && s->style == STYLE_SAMPLE && !s->heap.on && p->module)
        left_out_frames(&left_out, r->w, &p->app, &text);
    message_result(&text);
    buf_free(&text);
    return ok && (p->settings->style == STYLE_ARCS || write_unasked(p, report, &flame_graph));
}

/* Writes the output of --format. */
static bool show_format(const Profiling *p, WhammcReport *report) {
    const Settings *s = p->settings;
    if (s->format == WHAMMC_REPORT_PPROF && !s->out)
        return write_unasked(p, report, &pprof_profile);
    Buf text = {0};
    bool ok = cmd_profile_make(p, report, s->format, s->heap.on, &text);
    if (ok && s->out)
        ok = file_write(p->cli, s->out, text.data, text.len);
    else if (ok)
        message_result(&text);
    buf_free(&text);
    return ok;
}

/* Reads the report of the run; false if there is none. */
static bool cmd_profile_read_run(const Profiling *p, const Running *r) {
    const char *name = file_title(p->cli->operands[0]);
    return r->report.len &&
           whammc_report_read(p->report, name, r->report.data, r->report.len, 0) == WHAMMC_OK;
}

/* Suggests alternatives to a call tree with a large report, of `size` bytes. */
static void tell_large(const Profiling *p, size_t size) {
    enum { LARGE_MB = 8, MB = 1000000 };
    const Settings *s = p->settings;
    if (s->style != STYLE_TREE || s->heap.on || size < (size_t)LARGE_MB * MB)
        return;
    message_one(p->cli, DIAG_LARGE_REPORT,
                s->counts_only ? "--style=arcs counts calls for each pair of caller and callee"
                               : "--style=arcs has a row for each pair of caller and callee, "
                                 "--style=sample only contexts that were seen",
                "the call tree has a node for each context, which makes a report of %zu MB",
                size / MB);
}

/* Shows the profile. On failure, prints a message and returns false. */
static bool cmd_profile_show(const Profiling *p, const Running *r) {
    const Settings *s = p->settings;
    bool ok = true;
    if (!cmd_profile_read_run(p, r))
        running_explain_silence(r);
    else if (s->format == WHAMMC_REPORT_TABLE)
        ok = show_both(p, r, p->report);
    else
        ok = show_format(p, p->report);
    tell_large(p, r->report.len);
    if (s->save && r->report.len)
        ok = running_save(r, s->save, WHAMMC_FORMAT_JSON) && ok;
    return ok;
}

/* ---- */

static bool cmd_profile_read_module(Profiling *p, DebugOptions *debug) {
    const char *path = p->cli->operands[0];
    if (!file_read_module(p->cli, path, &p->app) ||
        !names_give(p->cli, path, p->settings->names, &p->app) ||
        !debug_prepare(p->cli, debug, path, &p->app))
        return false;
    p->report = whammc_report_new();
    whammc_report_by_thread(p->report, p->settings->by_thread);
    whammc_report_locate(p->report, &debug->info);
    whammc_status status =
        whammc_report_set_module(p->report, file_title(path), p->app.data, p->app.len);
    if (message_report(p->cli, p->report, status) != STATUS_OK)
        return false;
    p->module = whammc_module_read(p->app.data, p->app.len, NULL);
    bool names = exclude_given(&p->settings->exclusion) || p->settings->auto_exclude ||
                 p->settings->heap.allocators.len;
    return !names || !modules_refuse(p->cli, &p->app, "options that name its functions");
}

/* Chooses the sampler: STATUS_OK, or another status after a message. */
static int choose_sampler(const Cli *cli, Settings *s, const Engine *engine) {
    if (engine->component && s->sampler_given && s->sampler != SAMPLER_PROGRAM)
        return cli_usage(cli,
                         "'%s' is a component: it can only take samples itself, with "
                         "--sampler=program",
                         file_title(cli->operands[0]));
    s->memories = engine->component || engine_has_memories(engine);
    if (engine->component)
        s->sampler = SAMPLER_PROGRAM;
    else if (!s->sampler_given)
        s->sampler = engine->kind == ENGINE_NODE ? SAMPLER_ENGINE : SAMPLER_THREAD;
    if (s->sampler == SAMPLER_THREAD && !s->memories)
        return cli_usage(cli, "--sampler=thread needs programs with several memories, which Node "
                              "has from version 22 on: use --sampler=engine or another engine");
    return STATUS_OK;
}

/* Profiles the program, and ends as it did. */
static int profile(const Cli *cli, Settings *s, const Engine *engine) {
    Profiling p = {.cli = cli,
                   .settings = s,
                   .engine = engine,
                   .title = file_base(file_title(cli->operands[0]))};
    Running r = {.metrics = &s->metrics};
    int status = cmd_profile_read_module(&p, &s->debug) ? STATUS_OK : STATUS_ERROR;
    if (status == STATUS_OK && !mark_untimed(&p, NULL))
        status = STATUS_ERROR;
    if (status == STATUS_OK && s->auto_exclude)
        status = rehearse(&p);
    if (status == STATUS_OK && process_asked())
        status = process_imitate(process_asked()); /* the rehearsal has been interrupted */
    else if (status == STATUS_OK && (status = run_with(&p, s->style, s->counts_only, &r)) == 0) {
        bool shown = cmd_profile_show(&p, &r);
        shown = metrics_write(cli, &s->metrics) && shown;
        process_unguard();
        status = process_imitate(r.wait_status);
        if (!shown && status == STATUS_OK)
            status = STATUS_ERROR;
    }
    process_unguard();
    running_free(&r);
    whammc_report_free(p.report);
    whammc_module_free(p.module);
    free(p.untimed);
    buf_free(&p.app);
    return status;
}

/* ---- commands ---- */

/* Returns the title of a command: "node --flag dir/program.mjs" is called program.mjs, other
 * commands by their names. */
static const char *command_title(const Cli *cli) {
    const char *title = file_base(cli->operands[0]);
    if (strncmp(title, "node", 4) != 0)
        return title;
    for (int i = 1; i < cli->noperands; i++)
        if (cli->operands[i][0] != '-')
            return file_base(cli->operands[i]);
    return title;
}

/* Shows the reports of a command; all threads of a module are added up. */
static bool cmd_profile_show_of_command(void *ctx, const CommandReports *all) {
    Profiling *p = ctx;
    const Settings *s = p->settings;
    const Running none = {0};
    WhammcReport *report = whammc_report_new();
    whammc_report_by_thread(report, s->by_thread);
    bool ok = message_report(p->cli, report,
                             whammc_report_read(report, p->title, all->text.data, all->text.len,
                                                0)) == STATUS_OK;
    for (uint32_t i = 0; ok && i < all->modules.len; i++) {
        const Buf *module = &all->modules.at[i].bytes;
        if (module->len)
            whammc_report_add_module(report, p->title, module->data, module->len);
    }
    if (ok)
        ok =
            s->format == WHAMMC_REPORT_TABLE ? show_both(p, &none, report) : show_format(p, report);
    tell_large(p, all->text.len);
    if (s->save)
        ok = file_write(p->cli, s->save, all->text.data, all->text.len) && ok;
    whammc_report_free(report);
    return ok;
}

/* Profiles the modules that a command loads in Node, and ends as the command did. */
static int profile_command(const Cli *cli, const Settings *s, const char *program) {
    Profiling p = {
        .cli = cli, .settings = s, .title = command_title(cli), .began = cmd_profile_now()};
    DefineOptions constants = {0};
    Arena arena = {0};
    if (s->for_module)
        return cli_usage(cli, "--%s is for a program in WebAssembly, and '%s' is a command",
                         s->for_module, cli->operands[0]);
    list_constants(s, s->style, s->counts_only, &constants, &arena);
    if (s->style == STYLE_SAMPLE)
        list_sampling(s, true, &constants, &arena);
    CommandJob job = {.program = program,
                      .script = script_of(s, s->style),
                      .definitions = &constants,
                      .take = cmd_profile_show_of_command,
                      .ctx = &p};
    int status = command_run(cli, &job);
    vec_free(&constants);
    arena_free(&arena);
    return status;
}

/* ---- the command line ---- */

/* Converts "250us", "1ms", "2s" to nanoseconds: 20 us to 10 s. */
static bool set_interval(const Cli *cli, Settings *s, const char *value) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    enum { SHORTEST = 20000 };
    const double longest = 1e10;
    char *unit;
    double n = strtod(value, &unit), ns = 0;
    for (uint32_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            ns = n * units[i].ns;
    if (!(ns >= SHORTEST && ns <= longest) || unit == value) {
        cli_usage(cli, "--interval=%s: expected a time of 20us to 10s, such as 500us or 10ms",
                  value);
        return false;
    }
    snprintf(s->interval, sizeof s->interval, "%.0f", ns);
    return true;
}

/* Accepts "1/100". */
static bool set_sample(const Cli *cli, Settings *s, const char *value) {
    unsigned n = 0;
    int end = 0;
    bool fits = sscanf(value, "1/%7u%n", &n, &end) == 1 && !value[end] && n && n <= SAMPLE_MAX;
    snprintf(s->sample, sizeof s->sample, "%u", n);
    if (!fits)
        cli_usage(cli, "--sample=%s: expected 1/N, such as 1/100, N up to %d", value, SAMPLE_MAX);
    return fits;
}

/* Returns false for wrong usage, after a message. */
static bool cmd_profile_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    uint32_t depth;
    if (option_is_for_module(key))
        s->for_module = option_name(key);
    switch (key) {
    case OPTION_STYLE:
        s->style_given = true;
        s->style = (Style)option_choice(cli, key, value);
        break;
    case OPTION_FORMAT: s->format_given = whammc_report_format(value, &s->format); break;
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_NAMES: s->names = value; break;
    case OPTION_MODULE: vec_push(&s->modules, value); break;
    case OPTION_SAVE: s->save = value; break;
    case OPTION_TOP: s->top_given = true; return cli_count(cli, "top", value, &s->top);
    case OPTION_COUNTS_ONLY: s->counts_only = true; break;
    case OPTION_NO_CALIBRATE: s->no_calibrate = true; break;
    case OPTION_EXCLUDE:
    case OPTION_MIN_SIZE:
    case OPTION_EXCLUDE_FROM: return exclude_option(cli, &s->exclusion, key, value);
    case OPTION_AUTO_EXCLUDE: s->auto_exclude = true; break;
    case OPTION_INTERVAL: return set_interval(cli, s, value);
    case OPTION_SAMPLER:
        s->sampler_given = true;
        s->sampler = (Sampler)option_choice(cli, key, value);
        break;
    case OPTION_COUNTS: s->counts = true; break;
    case OPTION_SAMPLE: return set_sample(cli, s, value);
    case OPTION_MAX_DEPTH: s->max_depth = value; return cli_count(cli, "max-depth", value, &depth);
    case OPTION_ENGINE: s->engine = value; break;
    case OPTION_ENGINE_OPTION: vec_push(&s->engine_options, value); break;
    case OPTION_DIR:
    case OPTION_ENV: return world_option(cli, &s->world, key, value);
    case OPTION_CLOCK:
        s->clock_given = true;
        s->clock = value;
        break;
    case OPTION_HTTP:
    case OPTION_HTTP_TOKEN:
    case OPTION_PUSH:
    case OPTION_PUSH_SECONDS: return http_option(cli, &s->http, key, value);
    case OPTION_CPU: s->guest = strcmp(value, "guest") == 0; break;
    case OPTION_MEMORY: s->heap.on = true; break;
    case OPTION_VALUE: s->heap.value = value; break;
    case OPTION_SAMPLE_BYTES: return cli_count(cli, "sample-bytes", value, &s->heap.sample_bytes);
    case OPTION_ALLOC: return heap_option_alloc(cli, &s->heap, value);
    case OPTION_LINES:
    case OPTION_INLINED: look_option(cli, &s->look, key, value); break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case OPTION_LABEL: return label_option(cli, &s->labels, value);
    case OPTION_METRICS: metrics_want(&s->metrics, value); break;
    case OPTION_NO_DEMANGLE: s->no_demangle = true; break;
    case OPTION_BY_THREAD: s->by_thread = true; break;
    }
    return true;
}

/* Returns the default style: tree where an option or the format needs measured calls. */
static Style default_style(const Settings *s, bool is_command) {
    bool samples = *s->interval || s->sampler_given || s->counts;
    bool shows_pairs = format_has(s->format, WHAMMC_SHOWS_PAIRS);
    bool measures = s->counts_only || s->auto_exclude || s->no_calibrate || s->clock_given ||
                    s->guest || *s->sample || s->max_depth || s->heap.on;
    bool others = is_command || shows_pairs; /* unless samples are requested */
    return measures || (others && !samples) ? STYLE_TREE : STYLE_SAMPLE;
}

/* Checks that the options and operands go together: STATUS_OK, or another status after a
 * message. */
static int cmd_profile_check(const Cli *cli, const Settings *s) {
    if (format_has(s->format, WHAMMC_IS_BINARY) && s->out &&
        cli_check_bytes(cli, s->out) != STATUS_OK)
        return STATUS_USAGE;
    if (s->style == STYLE_ARCS && format_has(s->format, WHAMMC_SHOWS_TREE))
        return cli_usage(cli, "that format shows a call tree: it needs --style=tree");
    if (s->style == STYLE_ARCS && s->format == WHAMMC_REPORT_TABLE && s->out)
        return cli_usage(cli,
                         "--style=arcs writes no flame graph; choose what to write with --format");
    if (s->style != STYLE_TREE && s->max_depth)
        return cli_usage(cli, "--max-depth needs --style=tree");
    if (s->style != STYLE_SAMPLE && (*s->interval || s->sampler_given || s->counts))
        return cli_usage(cli, "--interval, --sampler and --counts need --style=sample");
    if (s->style == STYLE_SAMPLE && (s->counts_only || s->auto_exclude))
        return cli_usage(
            cli, "--style=sample cannot be combined with --counts-only or --auto-exclude: it does "
                 "not measure calls");
    if (s->guest && (s->style != STYLE_TREE || s->counts_only || !is_timed(s)))
        return cli_usage(cli, "--cpu=guest needs the times of --style=tree");
    if (*s->sample && (s->style != STYLE_TREE || s->counts_only || !is_timed(s) || s->no_calibrate))
        return cli_usage(cli, "--sample needs the times of --style=tree, and is always calibrated");
    if (s->no_calibrate && (s->style == STYLE_SAMPLE || s->counts_only || !is_timed(s)))
        return cli_usage(cli, "--no-calibrate needs the times of --style=tree or --style=arcs");
    if (s->counts_only && s->auto_exclude)
        return cli_usage(cli,
                         "--auto-exclude has no effect with --counts-only, which times nothing");
    const HeapOptions *heap = &s->heap;
    if (!heap->on && (heap->value || heap->sample_bytes || heap->allocators.len))
        return cli_usage(cli, "--value, --sample-bytes and --alloc need --memory");
    if (heap->on && (s->counts_only || s->auto_exclude || s->max_depth))
        return cli_usage(cli, "--memory cannot be combined with --counts-only, --auto-exclude or "
                              "--max-depth: it does not measure time");
    if (heap->on && s->style_given && (s->style != STYLE_ARCS || !s->http.address || s->http.push))
        return cli_usage(cli, "--memory with a style needs --style=arcs and --http, which serves "
                              "both profiles; heap profiles have the only call tree");
    if (http_check(cli, &s->http) != STATUS_OK)
        return STATUS_USAGE;
    return cli_check_outputs(cli, (const char *[]){s->out, s->save, s->metrics.file}, 3);
}

int cmd_profile(Cli *cli) {
    Settings s = {.clock = "auto"};
    int status = cli_options(cli, cmd_profile_set, &s);
    WhammcReportFormat of_file;
    if (!s.format_given && s.out && whammc_report_format_of_file(s.out, &of_file) &&
        format_has(of_file, WHAMMC_IS_BINARY))
        s.format = of_file;
    vec_push(&s.labels, NULL);
    if (!s.top_given && s.format == WHAMMC_REPORT_TABLE)
        s.top = SHOW_TOP;
    char *command = status == STATUS_OK && cli->noperands ? command_find(cli->operands[0]) : NULL;
    if (!s.style_given)
        s.style = default_style(&s, command != NULL);
    if (status == STATUS_OK)
        status = cmd_profile_check(cli, &s);
    if (s.heap.on && !s.heap.value)
        s.heap.value = "alloc_space";
    if (status == STATUS_OK && command) {
        status = profile_command(cli, &s, command);
    } else if (status == STATUS_OK) {
        Engine engine = {0};
        if (s.sampler_given && s.sampler == SAMPLER_ENGINE && s.engine &&
            engine_kind(s.engine) != ENGINE_NODE)
            status = cli_usage(cli, "--sampler=engine is for Node, whose engine has a profiler");
        if (status == STATUS_OK)
            status = engine_find(cli, s.engine, s.clock, cli->operands[0], &engine);
        if (status == STATUS_OK && engine.kind == ENGINE_WIZARD)
            status = cli_usage(cli, "Wizard runs probes only before instructions, so it cannot "
                                    "time calls: use node or wasmtime");
        if (status == STATUS_OK)
            status = modules_check(cli, &s.modules, engine.component);
        if (status == STATUS_OK && s.style == STYLE_SAMPLE)
            status = choose_sampler(cli, &s, &engine);
        if (status == STATUS_OK)
            status = profile(cli, &s, &engine);
        engine_free(&engine);
    }
    free(command);
    vec_free(&s.engine_options);
    vec_free(&s.labels);
    vec_free(&s.modules);
    world_free(&s.world);
    vec_free(&s.exclusion.globs);
    vec_free(&s.heap.allocators);
    debug_free(&s.debug);
    return status;
}
