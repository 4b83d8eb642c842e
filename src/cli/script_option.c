/*
 * cli/script_option.c - the options for scripts, their libraries and their constants.
 */
#include "cli/cli.h"

#include <stdio.h>

bool script_option(const Cli *cli, ScriptOptions *o, int key, const char *value) {
    switch (key) {
    case OPTION_SCRIPT:
        vec_push(&o->files, value);
        vec_push(&o->texts, NULL);
        return true;
    case OPTION_EVAL:
        vec_push(&o->files, NULL);
        vec_push(&o->texts, value);
        return true;
    case OPTION_INCLUDE_DIR: vec_push(&o->include.folders, value); return true;
    case OPTION_MODULE: vec_push(&o->modules, value); return true;
    case OPTION_STEPS: return cli_count(cli, "steps", value, &o->steps);
    case OPTION_DEFINE: return define_option(cli, &o->definitions, value);
    default: return library_option(cli, &o->libs, value);
    }
}

bool script_options_add(const Cli *cli, ScriptOptions *o, uint32_t i, whammc *w) {
    include_give(&o->include, o->files.at[i], w);
    if (o->files.at[i])
        return script_add(cli, w, o->files.at[i]);
    uint32_t number = 1;
    for (uint32_t k = 0; k < i; k++)
        number += !o->files.at[k];
    char name[40] = "<command line>";
    if (number > 1)
        snprintf(name, sizeof name, "<command line %u>", number);
    whammc_add_script(w, name, o->texts.at[i], strlen(o->texts.at[i]));
    return true;
}

bool script_options_give(const Cli *cli, ScriptOptions *o, whammc *w, bool quiet) {
    whammc_set_steps(w, o->steps);
    modules_choose(&o->modules, w);
    define_give(&o->definitions, w, false);
    bool ok = library_read(cli, &o->libs);
    library_give(cli, &o->libs, w, quiet);
    for (uint32_t i = 0; i < o->files.len; i++)
        ok &= script_options_add(cli, o, i, w);
    return ok;
}

void script_options_free(ScriptOptions *o) {
    vec_free(&o->files);
    vec_free(&o->texts);
    include_free(&o->include);
    vec_free(&o->definitions);
    vec_free(&o->modules);
    library_free(&o->libs);
}
