/*
 * cli/cmd_check.c - `whammc check`: parses and checks scripts.
 */
#include "cli/cli.h"

static const Option options[] = {{0}};

static int check(const Cli *cli, const char *path) {
    whammc *w = whammc_new();
    int status = STATUS_ERROR;
    if (file_add_script(cli, w, path))
        status = message_library(cli, w, whammc_check(w));
    whammc_free(w);
    return status;
}

static int run(Cli *cli) {
    const char *value;
    int key = cli_option(cli, &value);
    if (key != ARGS_END)
        return cli_option_status(key);
    if (!cli->noperands)
        return cli_usage(cli, "which SCRIPT?");
    int status = STATUS_OK;
    for (int i = 0; i < cli->noperands; i++) {
        int one = check(cli, cli->operands[i]);
        status = one > status ? one : status;
    }
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
                "  whammc check --message-format=json *.whamm\n",
    .run = run,
};
