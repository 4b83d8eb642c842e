/*
 * cmd/cmd_check.c - `whammc check`: parses and checks scripts.
 */
#include "cli/cli.h"

/* A script to be checked. */
typedef struct Checked {
    whammc *w;
    bool ok; /* it could be read */
} Checked;

/* Sets the values of constants; each constant must exist in at least one script. */
static bool define_all(const Cli *cli, const ScriptOptions *s, const Checked *scripts, uint32_t n) {
    bool ok = true;
    for (uint32_t i = 0; i < n && n > 1; i++)
        if (scripts[i].ok)
            whammc_check(scripts[i].w); /* finds its constants */
    for (uint32_t k = 0; k < s->definitions.len && n > 1; k++) {
        bool known = false;
        for (uint32_t i = 0; i < n; i++)
            known |= define_is_known(scripts[i].w, s->definitions.at[k]);
        if (!known)
            define_unknown(cli, s->definitions.at[k]);
        ok &= known;
    }
    for (uint32_t i = 0; i < n; i++)
        define_give(&s->definitions, scripts[i].w, n > 1);
    return ok;
}

static int check_all(Cli *cli, ScriptOptions *s) {
    for (int i = 0; i < cli->noperands; i++)
        script_option(cli, s, OPTION_SCRIPT, cli->operands[i]);
    uint32_t n = s->files.len;
    if (!n)
        return cli_usage(cli, "which SCRIPT?");
    if (!library_read(cli, &s->libs))
        return STATUS_ERROR;
    Checked *scripts = mem_zalloc(sizeof *scripts * n);
    for (uint32_t i = 0; i < n; i++) {
        scripts[i].w = whammc_new();
        library_give(cli, &s->libs, scripts[i].w, false);
        scripts[i].ok = script_options_add(cli, s, i, scripts[i].w);
    }
    int status = !s->definitions.len || define_all(cli, s, scripts, n) ? STATUS_OK : STATUS_ERROR;
    for (uint32_t i = 0; i < n; i++) {
        int one = STATUS_ERROR;
        if (scripts[i].ok)
            one = message_library(cli, scripts[i].w, whammc_check(scripts[i].w));
        status = one > status ? one : status;
        whammc_free(scripts[i].w);
    }
    free(scripts);
    return status;
}

static bool cmd_check_set(const Cli *cli, void *settings, int key, const char *value) {
    return script_option(cli, settings, key, value);
}

int cmd_check(Cli *cli) {
    ScriptOptions s = {0};
    int status = cli_options(cli, cmd_check_set, &s);
    if (status == STATUS_OK)
        status = check_all(cli, &s);
    script_options_free(&s);
    return status;
}
