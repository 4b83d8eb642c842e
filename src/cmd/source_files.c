/*
 * cmd/source_files.c - source files for the commands that show them, and whether they have changed
 * since the program was compiled.
 */
#include "cmd/cmd.h"

void source_files_begin(SourceFiles *s, const char *app) {
    *s = (SourceFiles){.app = app, .made = file_time(app)};
}

void source_files_also(SourceFiles *s, const char *path) {
    int64_t made = file_time(path);
    s->made = made > s->made ? made : s->made;
}

/* Copies and checkouts write programs and sources at about the same time, in any order. */
enum { SAME_TIME_NS = 2000000000 };

bool source_files_read(void *ctx, const char *path, size_t limit, Buf *out) {
    SourceFiles *s = ctx;
    if (!file_read_source(NULL, path, limit, out))
        return false;
    if (s->made && file_time(path) - s->made > SAME_TIME_NS && !s->newer++)
        buf_str(&s->first, str_of(path));
    return true;
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
}
