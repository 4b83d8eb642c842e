/*
 * cli/lib_option.c - the option --lib: libraries that scripts use.
 */
#include "cli/cli.h"

#include <unistd.h>

/* Accepts NAME=FILE or NAME(MODULE)=FILE. */
bool library_option(const Cli *cli, LibraryOptions *libs, const char *value) {
    const char *equals = strchr(value, '='), *open = strchr(value, '(');
    size_t name = strcspn(value, "(=");
    bool renamed = open && equals && open < equals;
    if (!equals || !name || !equals[1] || (renamed && (equals[-1] != ')' || equals - open < 3))) {
        cli_usage(cli, "--lib=%s: expected NAME=FILE or NAME(MODULE)=FILE", value);
        return false;
    }
    LibraryOption o = {.path = equals + 1};
    o.name = strndup(value, name);
    o.import_as = renamed ? strndup(open + 1, (size_t)(equals - open - 2)) : NULL;
    for (uint32_t i = 0; i < libs->len; i++) {
        if (strcmp(libs->at[i].name, o.name) != 0)
            continue;
        cli_usage(cli, "--lib: there are two libraries '%s'", o.name);
        free(o.name);
        free(o.import_as);
        return false;
    }
    vec_push(libs, o);
    return true;
}

bool library_read(const Cli *cli, LibraryOptions *libs) {
    bool ok = true;
    for (uint32_t i = 0; i < libs->len; i++)
        ok &= file_read_module(cli, libs->at[i].path, &libs->at[i].module);
    return ok;
}

/* Writes the output of libraries at compile time. A ctx that is not NULL: to standard error, since
 * standard output has another use. */
static void write_stream(void *ctx, int stream, const void *bytes, size_t size) {
    if (stream == 2 || ctx) {
        message_stderr(bytes, size);
        return;
    }
    Buf text = {0};
    buf_bytes(&text, bytes, size);
    message_stdout(&text);
    buf_free(&text);
}

void world_give(const Cli *cli, whammc *w, bool quiet) {
    static int to_stderr;
    whammc_world world = {.write = write_stream,
                          .ctx = quiet ? &to_stderr : NULL,
                          .args = (const char *const *)cli->argv,
                          .environment = (const char *const *)environ};
    whammc_set_world(w, &world);
}

void library_give(const Cli *cli, const LibraryOptions *libs, whammc *w, bool quiet) {
    world_give(cli, w, quiet);
    for (uint32_t i = 0; i < libs->len; i++) {
        const LibraryOption *o = &libs->at[i];
        whammc_add_library(w, o->name, o->import_as, o->module.data, o->module.len);
    }
}

void library_free(LibraryOptions *libs) {
    for (uint32_t i = 0; i < libs->len; i++) {
        free(libs->at[i].name);
        free(libs->at[i].import_as);
        buf_free(&libs->at[i].module);
    }
    vec_free(libs);
}
