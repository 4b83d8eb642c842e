/*
 * cli/script_option.c - the options for scripts, their libraries and their constants.
 */
#include "cli/cli.h"

bool script_option(const Cli *cli, ScriptOptions *o, int key, const char *value) {
    switch (key) {
    case OPTION_SCRIPT: vec_push(&o->files, value); return true;
    case OPTION_DEFINE: return define_option(cli, &o->definitions, value);
    default: return library_option(cli, &o->libs, value);
    }
}

bool script_options_give(const Cli *cli, ScriptOptions *o, whammc *w, bool quiet) {
    define_give(&o->definitions, w, false);
    bool ok = library_read(cli, &o->libs);
    library_give(cli, &o->libs, w, quiet);
    for (uint32_t i = 0; i < o->files.len; i++)
        ok &= script_add(cli, w, o->files.at[i]);
    return ok;
}

void script_options_free(ScriptOptions *o) {
    vec_free(&o->files);
    vec_free(&o->definitions);
    library_free(&o->libs);
}
