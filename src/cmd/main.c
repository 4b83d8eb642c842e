/*
 * cmd/main.c - the program whammc.
 *
 * The map of the folders of src/. Their dependences form no cycle; tests/checks/tree has the order
 * and enforces it.
 *
 *    a script                                     a program
 *        |                                            |
 *     lang/      text to trees                     wasm/      bytes to a model of the module
 *     check/     names and types of trees          valid/     types, validation
 *     event/     rules to events, bound names      analysis/  control flow, segments, exits
 *     library/   libraries of scripts
 *        |                                            |
 *        +-----------------+--------------------------+
 *                          |
 *                       plan/    decides what runs at which site
 *                       gen/     probe bodies to code/
 *                          |
 *        +-----------------+--------------------------+
 *        |                 |                          |
 *     rewrite/          monitor/make/             monitor/attach/  monitors into a program:
 *     scripts into      scripts into                  |          monitor/read/  what they request
 *     a program         a monitor                     |          eval/          interprets them meanwhile
 *        |                 |                          |
 *        +-----------------+--------------------------+
 *                          |
 *                       storage/   where variables live
 *                       flush/     makes the report at run time
 *                       inject/    inserts code into functions
 *                       link/      runtimes, hosts, imports
 *                       edit/      edits bodies, merges and writes modules
 *                          |
 *               the program that reports, or the monitor
 *
 *     cmd/  testing/  run/  serve/  cli/   the program whammc: commands, tests, engines, HTTP, options
 *     lsp/               the language server: what editors ask about scripts
 *     api/               the public library: everything in memory, no files
 *     format/            all output formats, one file each: tables, pictures, files for other tools
 *     report/  merge/    reports: images, readers, writers, sums
 *     profile/           calls, call trees and stacks, from reports
 *     coverage/          executed lines, functions and branches
 *     annotate/          counts beside source lines and instructions; HTML pages
 *     heap/              tables of heap profiles
 *     fmt/               formats scripts
 *     component/         components: their modules, types and validation
 *     dwarf/  locations/ source locations of code offsets: DWARF, source maps
 *     base/              memory, buffers, maps, messages
 *
 * Beside src/: stdlib/runtime is the C code that instrumented programs carry, compiled to
 * WebAssembly and embedded here; stdlib/host has the JavaScript and Python that runs programs.
 *
 * What `whammc instr` does, and where:
 *
 *   1. parse the scripts                                  lang/parse.c, lang/scan.c
 *   2. expand rules into events, check each probe for     event/event.c, check/check.c,
 *      each, cut out its static parts                     plan/make.c, plan/prune.c, plan/cut.c
 *   3. read and validate the program                      wasm/read.c, valid/valid.c
 *   4. find the sites, give each its storage              plan/match.c, storage/storage.c,
 *                                                         inject/counts.c
 *   5. compile the matched shapes to templates            gen/gen.c, gen/template.c
 *   6. add reachable code of libraries and runtime,       flush/reach.c, storage/memory.c,
 *      start and flush function                           flush/flush.c, edit/merge.c
 *   7. splice the templates in, write the module          inject/splice.c, storage/fill.c,
 *                                                         edit/write.c
 *   8. read it back and validate it                       valid/valid.c
 *
 * Steps 3 to 8 are driven by inject/program.c. `whammc bind` does the same with monitor modules
 * instead of scripts: it reads them (monitor/read/monitor.c), runs them to find the sites
 * (monitor/attach/attach_match.c) and makes them part of the program (monitor/attach/freeze.c,
 * monitor/attach/shim.c).
 *
 * `whammc monitor` has no program. It continues after step 2 with:
 *
 *   3. list the actions at each kind of location,         monitor/make/unit.c,
 *      split by static conditions                         monitor/make/unit_split.c
 *   4. lay out the monitor's memory, compile, link with   monitor/make/emit_monitor.c,
 *      the runtime (stdlib/runtime/rows.c, site/site.c)   monitor/make/monitor_code.c,
 *                                                         monitor/make/callback.c
 *   5. read it back as engines do                         monitor/read/monitor.c
 */
#include "base/demangle.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

static const Command commands[] = {
#define COMMAND(NAME, name, stops, operands, usage, summary, about, examples)                      \
    {COMMAND_##NAME, #name, usage, summary, about, examples, stops, cmd_##name},
#include "cli/commands.def"
};

static void print_version(void) {
    Buf text = {0};
    buf_printf(&text, "whammc %s\n", whammc_version());
    if (!demangle_is_there())
        buf_str(&text, STR("built without libiberty: names of functions are not demangled\n"));
    message_stdout(&text);
    buf_free(&text);
}

static void print_help(void) {
    Buf text = {0};
    buf_str(&text, STR("Usage: whammc COMMAND [OPTION]... [OPERAND]...\n"
                       "Compile Whamm scripts and instrument WebAssembly programs.\n\n"
                       "Commands:\n"));
    for (int i = 0; i < NCOMMANDS; i++)
        buf_printf(&text, "  %-8s %s\n", commands[i].name, commands[i].summary);
    buf_str(&text,
            STR("\n'whammc COMMAND --help' shows the options of a command.\n"
                "'whammc info --scripts' lists the scripts that come with whammc.\n\n"
                "Options:\n"
                "  -h, --help      show this help\n"
                "  -V, --version   show the version\n\n"
                "Exit status:\n"
                "  0    success\n"
                "  1    an error in a script or program, or in reading or writing a file\n"
                "  2    wrong usage of a command\n"
                "  70   an internal error; nothing was written\n"
                "Once 'whammc run' or 'whammc profile' runs a program, the exit status is that of\n"
                "the program.\n"));
    message_stdout(&text);
    buf_free(&text);
}

static const Command *main_find_command(const char *name) {
    for (int i = 0; i < NCOMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int wrong_command(const Cli *cli, const char *word) {
    const char *names[NCOMMANDS];
    for (int i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i].name;
    const char *kind = *word == '-' ? "option" : "command";
    const char *guess = *word == '-' ? NULL : cli_guess(word, names, NCOMMANDS);
    if (guess)
        return cli_usage(cli, "there is no %s '%s'; did you mean '%s'?", kind, word, guess);
    return cli_usage(cli, "there is no %s '%s'", kind, word);
}

static int dispatch(Cli *cli, int argc, char **argv) {
    if (argc < 2)
        return cli_usage(cli, "which command?");
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        print_version();
        return STATUS_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    cli->command = main_find_command(word);
    if (!cli->command)
        return wrong_command(cli, word);
    cli->argc = argc - 1;
    cli->argv = argv + 1;
    int status = cli->command->run(cli);
    return status == STATUS_HELP ? STATUS_OK : status;
}

/* Keeps closed standard streams unusable, so that no file opened later takes their place. */
static void reserve_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    reserve_standard_streams();
    setlocale(LC_CTYPE, ""); /* for tables only: whether the terminal shows more than ASCII */
    Cli cli = {0};
    message_setup(&cli);
    int status = dispatch(&cli, argc, argv);
    progress_end();
    return message_written_status(&cli, status);
}
