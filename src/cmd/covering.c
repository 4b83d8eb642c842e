/*
 * cmd/covering.c - coverage for several commands: from saved or new reports.
 */
#include "cmd/cmd.h"

#include <time.h>
#include <unistd.h>

/* ---- programs ---- */

void covering_program(CoverageRequest *s, const char *path, const char *name) {
    CoveredProgram *p = mem_zalloc(sizeof *p);
    p->path = path;
    p->name = name ? name : path;
    vec_push(&s->programs, p);
}

static void free_programs(CoverageRequest *s) {
    for (uint32_t i = 0; i < s->programs.len; i++) {
        buf_free(&s->programs.at[i]->bytes);
        debug_free(&s->programs.at[i]->debug);
        free(s->programs.at[i]);
    }
    vec_free(&s->programs);
}

/* Returns the title of the programs together. */
static const char *covering_title_of(const CoverageRequest *s) {
    return s->title ? s->title : file_title(s->programs.at[0]->name);
}

/* ---- results ---- */

int covering_messages(const Cli *cli, WhammcCoverage *c, whammc_status status) {
    unsigned flags = cli->json ? WHAMMC_JSON : cli->colour ? WHAMMC_COLOUR : 0;
    const char *text = whammc_coverage_messages(c, flags);
    message_stderr(text, strlen(text));
    return status == WHAMMC_OK ? STATUS_OK : STATUS_ERROR;
}

static void covering_put_share(const char *what, size_t executed, size_t all, Buf *out) {
    if (all)
        buf_printf(out, "%s %.1f%% (%zu/%zu)", what, (double)(1000 * executed / all) / 10, executed,
                   all);
}

/* Prints the totals in one line, if the result itself is in a file. */
static void summarise(const CoverageRequest *s, const WhammcCoverageTotals *t) {
    Buf line = {0};
    covering_put_share("lines", t->lines_executed, t->lines, &line);
    covering_put_share(", functions", t->functions_executed, t->functions, &line);
    covering_put_share(", branches", t->branches_executed, t->branches, &line);
    const char *none = s->format == WHAMMC_COVERAGE_DRCOV ? "executed blocks" : "no lines";
    buf_printf(&line, "%s: %s\n", line.len ? "" : none, s->out);
    message_stderr(line.data, line.len);
    buf_free(&line);
}

/* Returns STATUS_ERROR, after a message, if too little was executed; no lines are too little. */
static int judge(const Cli *cli, const CoverageRequest *s, const WhammcCoverageTotals *t) {
    double is = t->lines ? 100.0 * (double)t->lines_executed / (double)t->lines : 0;
    if (!s->fail_under || is >= s->least)
        return STATUS_OK;
    if (!t->lines) {
        message_one(cli, DIAG_LOW_COVERAGE, NULL,
                    "%s: expected at least %s%% of the lines to be executed, but no line is shown",
                    covering_title_of(s), s->fail_under);
        return STATUS_ERROR;
    }
    message_one(cli, DIAG_LOW_COVERAGE, NULL,
                "%s: expected at least %s%% of the lines to be executed, found %.2f%% (%zu of %zu)",
                covering_title_of(s), s->fail_under, is, t->lines_executed, t->lines);
    return STATUS_ERROR;
}

static bool covering_write_out(const Cli *cli, const CoverageRequest *s, const uint8_t *text,
                               size_t size) {
    Buf all = {.data = (uint8_t *)text, .len = size};
    if (s->out)
        return file_write(cli, s->out, text, size);
    if (s->from.len)
        message_stdout(&all);
    else
        message_result(&all);
    return true;
}

/* Copies a list, with a NULL at the end. */
static void end_list(const Words *words, Words *copy) {
    for (uint32_t i = 0; i < words->len; i++)
        vec_push(copy, words->at[i]);
    vec_push(copy, NULL);
}

int covering_show(const Cli *cli, const CoverageRequest *s, WhammcCoverage *c) {
    SourceFiles sources;
    Words include = {0}, exclude = {0};
    end_list(&s->include, &include);
    end_list(&s->exclude, &exclude);
    int fd = s->from.len ? STDOUT_FILENO : STDERR_FILENO;
    WhammcCoverageOptions look = {
        .source = source_files_text,
        .ctx = &sources,
        .all_files = s->all_files,
        .include = include.at,
        .exclude = exclude.at,
        .no_markers = s->no_markers,
        .mangled = s->no_demangle,
        .title = s->format == WHAMMC_COVERAGE_HTML ? file_base(covering_title_of(s)) : NULL,
        .time = (uint64_t)time(NULL),
        .width = s->out ? 0 : show_width(fd)};
    uint8_t *text;
    size_t size;
    source_files_begin(&sources, s->programs.at[0]->path);
    for (uint32_t i = 1; i < s->programs.len; i++)
        source_files_also(&sources, s->programs.at[i]->path);
    sources.app = s->title ? s->title : sources.app;
    int status =
        covering_messages(cli, c, whammc_coverage_write(c, s->format, &look, &text, &size));
    source_files_end(cli, &sources);
    if (status == STATUS_OK && !covering_write_out(cli, s, text, size))
        status = STATUS_ERROR;
    if (status == STATUS_OK) {
        WhammcCoverageTotals t = whammc_coverage_totals(c);
        if (s->out && strcmp(s->out, "-") != 0)
            summarise(s, &t);
        status = judge(cli, s, &t);
    }
    whammc_release(text);
    vec_free(&include);
    vec_free(&exclude);
    return status;
}

/* ---- inputs ---- */

/* Adds the contents of a file to the coverage. */
typedef whammc_status Taker(WhammcCoverage *c, const char *name, const void *bytes, size_t size);

static int give_files(const Cli *cli, const Words *paths, WhammcCoverage *c, Taker *take) {
    int status = STATUS_OK;
    for (uint32_t i = 0; i < paths->len && status == STATUS_OK; i++) {
        Buf bytes = {0};
        const char *path = paths->at[i];
        status = STATUS_ERROR;
        if (file_read(cli, path, &bytes))
            status = covering_messages(cli, c, take(c, file_title(path), bytes.data, bytes.len));
        buf_free(&bytes);
    }
    return status;
}

/* Returns the program that --debug-file and --names are for: the only one, or else the largest,
 * with a message. */
static const CoveredProgram *main_program(const Cli *cli, const CoverageRequest *s) {
    const CoveredProgram *largest = s->programs.at[0];
    for (uint32_t i = 1; i < s->programs.len; i++)
        if (s->programs.at[i]->bytes.len > largest->bytes.len)
            largest = s->programs.at[i];
    if (s->programs.len > 1 && (s->debug.file || s->names))
        message_one(cli, DIAG_MORE_MODULES, s->title ? "choose one with --module=APP" : NULL,
                    "%s is for the largest of %u programs, %s",
                    s->debug.file ? s->debug.file : s->names, s->programs.len,
                    file_title(largest->name));
    return largest;
}

static int covering_add_program(const Cli *cli, const CoverageRequest *s, WhammcCoverage *c,
                                CoveredProgram *p, bool main) {
    for (uint32_t i = 0; i < s->debug.maps.len; i++)
        vec_push(&p->debug.maps, s->debug.maps.at[i]);
    p->debug.file = main ? s->debug.file : NULL;
    if ((main && !names_give(cli, p->path, s->names, &p->bytes)) ||
        !debug_prepare(cli, &p->debug, p->name, &p->bytes))
        return STATUS_ERROR;
    int status = covering_messages(
        cli, c, whammc_coverage_add_module(c, file_title(p->name), p->bytes.data, p->bytes.len));
    whammc_coverage_locate(c, &p->debug.info);
    return status;
}

int covering_open(const Cli *cli, CoverageRequest *s, WhammcCoverage *c) {
    int status = STATUS_OK;
    for (uint32_t i = 0; i < s->programs.len; i++)
        if (!file_read_module(cli, s->programs.at[i]->path, &s->programs.at[i]->bytes))
            return STATUS_ERROR;
    const CoveredProgram *main = main_program(cli, s);
    for (uint32_t i = 0; i < s->programs.len && status == STATUS_OK; i++)
        status = covering_add_program(cli, s, c, s->programs.at[i], s->programs.at[i] == main);
    return status == STATUS_OK ? give_files(cli, &s->objects, c, whammc_coverage_include_objects)
                               : status;
}

int covering_check_objects(const Cli *cli, const char *out, const Words *objects) {
    return out ? cli_check_other(cli, out, objects->at, objects->len, "an object file") : STATUS_OK;
}

int covering_saved(const Cli *cli, CoverageRequest *s) {
    WhammcCoverage *c = whammc_coverage_new();
    int status = covering_open(cli, s, c);
    if (status == STATUS_OK)
        status = give_files(cli, &s->from, c, whammc_coverage_add);
    if (status == STATUS_OK)
        status = covering_show(cli, s, c);
    whammc_coverage_free(c);
    return status;
}

void covering_free(CoverageRequest *s) {
    vec_free(&s->from);
    vec_free(&s->include);
    vec_free(&s->exclude);
    vec_free(&s->objects);
    free_programs(s);
    debug_free(&s->debug);
}
