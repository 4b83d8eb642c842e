/*
 * cli/cmd_check.c - `whammc check`: parses and checks scripts.
 */
#include "cli/cli.h"

static const Option options[] = {LIBRARY_OPTION, DEFINE_OPTION, {0}};

typedef struct Settings {
    LibraryOptions libs;
    DefineOptions definitions;
} Settings;

/* Whether several scripts have the constants that are given values: it is enough that one of them
 * has. */
static bool check_definitions(const Cli *cli, const DefineOptions *definitions, const Buf *texts) {
    whammc *w = whammc_new();
    for (int i = 0; i < cli->noperands; i++)
        whammc_add_script(w, file_title(cli->operands[i]), (const char *)texts[i].data,
                          texts[i].len);
    whammc_check(w);
    bool ok = define_check(cli, definitions, w);
    whammc_free(w);
    return ok;
}

static int check(const Cli *cli, const Settings *s, const char *path, const Buf *text) {
    whammc *w = whammc_new();
    whammc_add_script(w, file_title(path), (const char *)text->data, text->len);
    library_give(cli, &s->libs, w, false);
    if (cli->noperands > 1 && s->definitions.len)
        whammc_check(w); /* tells which constants the script has */
    define_give(&s->definitions, w, cli->noperands > 1);
    int status = message_library(cli, w, whammc_check(w));
    whammc_free(w);
    return status;
}

static int check_all(Cli *cli, Settings *s) {
    if (!cli->noperands)
        return cli_usage(cli, "which SCRIPT?");
    if (!library_read(cli, &s->libs))
        return STATUS_ERROR;
    Buf *texts = mem_zalloc(sizeof *texts * (size_t)cli->noperands);
    bool *read = mem_zalloc(sizeof *read * (size_t)cli->noperands);
    int status = STATUS_OK;
    for (int i = 0; i < cli->noperands; i++)
        if (!(read[i] = file_read(cli, cli->operands[i], &texts[i])))
            status = STATUS_ERROR;
    if (cli->noperands > 1 && s->definitions.len && !check_definitions(cli, &s->definitions, texts))
        status = STATUS_ERROR;
    for (int i = 0; i < cli->noperands; i++) {
        int one = read[i] ? check(cli, s, cli->operands[i], &texts[i]) : STATUS_ERROR;
        status = one > status ? one : status;
        buf_free(&texts[i]);
    }
    free(texts);
    free(read);
    return status;
}

static int run(Cli *cli) {
    Settings s = {0};
    const char *value;
    int key;
    bool ok = true;
    while (ok && (key = cli_option(cli, &value)) >= 0)
        ok = key == 'D' ? define_option(cli, &s.definitions, value)
                        : library_option(cli, &s.libs, value);
    int status = !ok ? STATUS_USAGE : key == ARGS_END ? check_all(cli, &s) : cli_option_status(key);
    vec_free(&s.definitions);
    library_free(&s.libs);
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
