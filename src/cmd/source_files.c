/*
 * cmd/source_files.c - programs of reports; their source files, and whether these have changed
 * since the program was compiled.
 */
#include "cmd/cmd.h"

bool program_add(const Cli *cli, ProgramFiles *all, const char *path, const char *name,
                 const char *names, const DebugOptions *debug, WhammcReport *r) {
    ProgramFile *p = mem_zalloc(sizeof *p);
    vec_push(all, p);
    p->debug.file = debug->file;
    for (uint32_t i = 0; i < debug->maps.len; i++)
        vec_push(&p->debug.maps, debug->maps.at[i]);
    if (!file_read_module(cli, path, &p->app) || !names_give(cli, path, names, &p->app) ||
        !debug_prepare(cli, &p->debug, name, &p->app))
        return false;
    whammc_status status = whammc_report_add_module(r, file_title(name), p->app.data, p->app.len);
    whammc_report_locate(r, &p->debug.info);
    return message_report(cli, r, status) == STATUS_OK;
}

void programs_free(ProgramFiles *all) {
    for (uint32_t i = 0; i < all->len; i++) {
        buf_free(&all->at[i]->app);
        debug_free(&all->at[i]->debug);
        free(all->at[i]);
    }
    vec_free(all);
}

void source_files_begin(SourceFiles *s, const char *app) {
    *s = (SourceFiles){.app = app, .made = file_time(app)};
}

void source_files_also(SourceFiles *s, const char *path) {
    int64_t made = file_time(path);
    s->made = made > s->made ? made : s->made;
}

/* Copies and checkouts write programs and sources at about the same time, in any order. */
enum { SAME_TIME_NS = 2000000000 };

const void *source_files_text(void *ctx, const char *path, size_t *size) {
    SourceFiles *s = ctx;
    s->text.len = 0;
    buf_reserve(&s->text, 1); /* an empty file is not NULL */
    if (!file_read_source(path, INT32_MAX, &s->text))
        return NULL;
    if (s->made && file_time(path) - s->made > SAME_TIME_NS && !s->newer++)
        buf_str(&s->first, str_of(path));
    *size = s->text.len;
    return s->text.data;
}

void source_files_end(const Cli *cli, SourceFiles *s) {
    static const char hint[] = "counts may be beside other lines than those that were executed; "
                               "compile the program again";
    if (s->newer == 1)
        message_one(cli, DIAG_CHANGED_SOURCE, hint,
                    "%s: its source file %s is newer than the program", file_title(s->app),
                    buf_cstr(&s->first));
    else if (s->newer)
        message_one(cli, DIAG_CHANGED_SOURCE, hint,
                    "%s: %u of its source files, such as %s, are newer than the program",
                    file_title(s->app), s->newer, buf_cstr(&s->first));
    buf_free(&s->first);
    buf_free(&s->text);
}
