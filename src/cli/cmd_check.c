/*
 * cli/cmd_check.c - `whammc check`: parses and checks scripts.
 */
#include "cli/cli.h"

static const Option options[] = {LIBRARY_OPTION, {0}};

static int check(const Cli *cli, const LibraryOptions *libs, const char *path) {
    whammc *w = whammc_new();
    int status = STATUS_ERROR;
    library_give(cli, libs, w, false);
    if (file_add_script(cli, w, path))
        status = message_library(cli, w, whammc_check(w));
    whammc_free(w);
    return status;
}

static int check_all(Cli *cli, LibraryOptions *libs) {
    if (!cli->noperands)
        return cli_usage(cli, "which SCRIPT?");
    if (!library_read(cli, libs))
        return STATUS_ERROR;
    int status = STATUS_OK;
    for (int i = 0; i < cli->noperands; i++) {
        int one = check(cli, libs, cli->operands[i]);
        status = one > status ? one : status;
    }
    return status;
}

static int run(Cli *cli) {
    LibraryOptions libs = {0};
    const char *value;
    int key;
    bool ok = true;
    while (ok && (key = cli_option(cli, &value)) >= 0)
        ok = library_option(cli, &libs, value);
    int status = !ok               ? STATUS_USAGE
                 : key == ARGS_END ? check_all(cli, &libs)
                                   : cli_option_status(key);
    library_free(&libs);
    return status;
}

const Command cmd_check = {
    .name = "check",
    .usage = "SCRIPT...",
    .summary = "check scripts for errors",
    .about = "Parse and check each SCRIPT without a program, and show errors and warnings. "
             "A SCRIPT that is '-' is standard input.",
    .options = options,
    .examples = "  whammc check hotness.whamm\n"
                "  whammc check --message-format=json *.whamm\n"
                "  whammc check --lib cache=cache.wasm cachesim.whamm\n",
    .run = run,
};
