/*
 * cli/cli.h - shared by the subcommands: option tables, messages, files, child processes.
 *
 * Only this folder prints, reads argv and exits; cmd/main.c has the map of the whole compiler.
 */
#ifndef WHAMMC_CLI_CLI_H
#define WHAMMC_CLI_CLI_H

#include "base/buf.h"
#include "base/diag.h"
#include "whammc/report.h"
#include "whammc/whammc.h"

#include <sys/types.h>

/* Exit statuses. `whammc run` otherwise ends as the program did. */
enum {
    STATUS_HELP = -1, /* --help was printed: the program ends, as with STATUS_OK */
    STATUS_OK = 0,
    STATUS_ERROR = 1, /* errors in a script or a module; a file that cannot be read or written */
    STATUS_USAGE = 2, /* wrong options or operands */
    STATUS_INTERNAL = 70,   /* whammc is at fault */
    STATUS_NO_ENGINE = 127, /* run: the engine was not found */
};

/* ---- commands and options (option.c, commands.def) ---- */

typedef enum CommandNumber {
#define COMMAND(NAME, name, stops, operands, usage, summary, about, examples) COMMAND_##NAME,
#include "cli/commands.def"
    NCOMMANDS
} CommandNumber;

/* The keys of options, passed to CliSet, above all letters. */
typedef enum OptionKey {
    OPTION_FIRST = 256,
#define OPTION(KEY, letter, name, argument, commands, value, text) OPTION_##KEY,
#define AGAIN(KEY, letter, name, argument, commands, value, text)
#include "cli/commands.def"
} OptionKey;

typedef struct Cli Cli;

#define COMMAND(NAME, name, stops, operands, usage, summary, about, examples)                      \
    int cmd_##name(Cli *cli); /* returns the exit status */
#include "cli/commands.def"

/* A row of commands.def. */
typedef struct Command {
    CommandNumber number;
    const char *name, *usage, *summary, *about, *examples;
    bool stops; /* options end at the first operand */
    int (*run)(Cli *cli);
} Command;

/* One call of the program. */
struct Cli {
    const Command *command;
    bool json;       /* --message-format=json */
    bool colour;     /* standard error is a terminal that shows colours */
    char **operands; /* the arguments after the options; ends with NULL */
    int noperands;
    uint32_t threads; /* read large files; 0 = one for each processor */
    /* For cli_options alone. */
    int argc;
    char **argv;
    char *letters;        /* getopt's description of the short options */
    struct option *longs; /* ... and of the long ones */
};

/* Stores an option's argument in a command's settings. Returns false, after a message, if it is
 * invalid. */
typedef bool CliSet(const Cli *cli, void *settings, int key, const char *value);

/* Calls `set` for each option but --help and --message-format, which it handles itself. Returns
 * STATUS_OK if the command is to continue, otherwise its exit status. */
int cli_options(Cli *cli, CliSet *set, void *settings);
/* Returns the index of the value among the option's choices (cli_options has checked that it is
 * one). */
uint32_t option_choice(const Cli *cli, int key, const char *value);
/* Returns the choice with this index. */
Str option_word(const Cli *cli, int key, uint32_t index);
/* Returns the name of the long form. */
const char *option_name(int key);
/* Parses a decimal count; on failure, prints a message and returns false. */
bool cli_count(const Cli *cli, const char *option, const char *value, uint32_t *out);
/* Prints an error of the command line on standard error; returns STATUS_USAGE. */
int cli_usage(const Cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks that scripts and the operand APP are given and valid: STATUS_OK, or another status after a
 * message. */
int cli_check_inputs(const Cli *cli, const char *const *scripts, uint32_t n, bool one_app);
/* Checks the file for a module: it is given, and is not a terminal. */
int cli_check_output(const Cli *cli, const char *out);
/* Checks a file for a binary format: it is not a terminal. */
int cli_check_bytes(const Cli *cli, const char *out);
/* Checks that an output is none of these files, described by `what`; each may be NULL. */
int cli_check_other(const Cli *cli, const char *out, const char *const *paths, uint32_t n,
                    const char *what);
/* Checks that no output is the operand APP or another output, and that all can be written, so that
 * no long work is lost at the end; each may be NULL. */
int cli_check_outputs(const Cli *cli, const char *const *outputs, uint32_t n);
/* Checks that at most one input is standard input, of these files, each of which may be NULL, and
 * `others` more that are. */
int cli_check_stdin(const Cli *cli, const char *const *paths, uint32_t n, uint32_t others);
/* Checks the operand APP alone. */
int cli_check_app(const Cli *cli);
/* Returns the member of names[0..n) that was probably meant, or NULL. */
const char *cli_guess(const char *word, const char *const *names, size_t n);
/* Appends the text of --help. */
void cli_help(const Command *command, Buf *out);
/* Appends text in lines of at most `width` columns that begin at `indent`; the first goes on at
 * `column`. Line feeds are kept. */
void cli_wrap(Buf *out, const char *text, uint32_t indent, uint32_t column, uint32_t width);

/* ---- messages (message.c) ---- */

/* Determines the appearance of messages: NO_COLOR, terminals. */
void message_setup(Cli *cli);
/* Returns whether a descriptor is a terminal that shall show colours. */
bool message_is_colourful(int fd);
/* Prints the library's messages of its last call; returns the exit status for `status`. */
int message_library(const Cli *cli, whammc *w, whammc_status status);
int message_report(const Cli *cli, WhammcReport *r, whammc_status status);
/* Prints collected messages of the program itself. */
void message_diags(const Cli *cli, Diags *d);
/* Prints a message without a location, with a hint unless that is NULL. */
void message_one(const Cli *cli, DiagTag tag, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes to a stream of the process. If standard output cannot be written, that is an error: see
 * message_written_status. */
void message_stderr(const void *text, size_t len);
void message_stdout(const Buf *text);
/* Writes the result of a command to standard error, as standard output is the program's. */
void message_result(const Buf *text);
/* Returns `status`; or STATUS_ERROR if something could not be written to standard output, after a
 * message, or a result not to standard error. */
int message_written_status(const Cli *cli, int status);

/* Appends s, with '?' for characters that a terminal should not get; returns the number of
 * characters. */
uint32_t message_clean(Buf *out, Str s);
/* Appends "1,234". */
void message_number(Buf *out, uint64_t n);
/* Returns `one` or `many`: "site", "sites". */
const char *message_plural(uint64_t n, const char *one, const char *many);

/* ---- progress (progress.c) ---- */

/* Shows the activity `what` on `name`, of `size` bytes, on a terminal after one second. */
void progress_start(const char *what, const char *name, size_t size);
/* Removes it; to be called before messages. */
void progress_end(void);

/* ---- files (file.c) ---- */

/* Reads a whole file, "-" being standard input. On failure, prints a message and returns false. */
bool file_read(const Cli *cli, const char *path, Buf *out);
/* Returns the name of the file in messages: the path, or "<stdin>". */
const char *file_title(const char *path);
/* Appends the path of `to` relative to the folder of the file `from`; absolute if they share only
 * the root. Paths of folders end with '/'. */
void file_relative(const char *from, const char *to, Buf *out);
/* Returns the part after the last '/'. */
const char *file_base(const char *path);
/*
 * Writes a whole file, "-" being standard output. A regular file is written completely or, on
 * failure, left as it was. On failure, prints a message and returns false.
 */
bool file_write(const Cli *cli, const char *path, const void *data, size_t len);
/* Returns whether file_write could begin, as far as can be known in advance; otherwise prints its
 * message. */
bool file_check_writable(const Cli *cli, const char *path);
/* Begins the draft (cli/draft.h) of a file whose contents are still being made, if it is a regular
 * one and there are threads. */
struct Draft;
void file_draft(const Cli *cli, const char *path, struct Draft *d);
/* Writes a file as file_write does, using the draft. */
bool file_write_draft(const Cli *cli, const char *path, struct Draft *d, const Buf *contents);
/* Returns when a regular file was written, in nanoseconds since 1970; 0 = unknown. */
int64_t file_time(const char *path);
/* Returns whether two paths are one regular file, or will be when it is written; also through
 * links. */
bool file_same(const char *a, const char *b);
/* Writes all bytes to a descriptor. False: errno. */
bool file_write_fd(int fd, const void *data, size_t len);
/* Reads a module; text is assembled with wabt's wat2wasm. On failure, prints a message and returns
 * false. */
bool file_read_module(const Cli *cli, const char *path, Buf *out);
/* Returns whether bytes, or a regular file, begin as binary components do. */
bool file_begins_component(const void *bytes, size_t size);
bool file_is_component(const char *path);
/* Reads a regular file of at most `limit` bytes, without a message. */
bool file_read_source(const char *path, size_t limit, Buf *out);

/* ---- names for programs without (names_file.c) ---- */

/* Gives the module of `app_path` the names in the file at `path`; NULL: it keeps its own. Returns
 * false, after a message, if they do not fit, or the module is invalid. */
bool names_give(const Cli *cli, const char *app_path, const char *path, Buf *app);

/* ---- source locations (debug_option.c) ---- */

/* A zeroed DebugOptions is valid: nothing was given. */
typedef struct DebugOptions {
    const char *file; /* NULL = none */
    Vec(whammc_path_map) maps;
    Arena texts; /* of the following */
    Buf contents, named;
    const char *app_path; /* the program */
    const Buf *app;
    whammc_debug_info info;
} DebugOptions;

/* Accepts the option of this key; if it is wrong, prints a message and returns false. */
bool debug_option(const Cli *cli, DebugOptions *o, int key, const char *value);
/* Fills in o->info for this program, as debug_give does. */
bool debug_prepare(const Cli *cli, DebugOptions *o, const char *app_path, const Buf *app);
/* Sets where w finds source locations of this program, with `frames` also for the results of
 * whammc_list. Reads the given file; without one, the file that the program names is read when
 * needed. On failure, prints a message and returns false. The options and the program must live
 * until w is freed. */
bool debug_give(const Cli *cli, DebugOptions *o, whammc *w, const char *app_path, const Buf *app,
                bool frames);
void debug_free(DebugOptions *o);

/* ---- scripts (script_files.c) ---- */

/* Reads a script and adds it to w; if there is no such file, a name without folder may be the name
 * of a bundled script. On failure, prints a message and returns false. */
bool script_add(const Cli *cli, whammc *w, const char *path);

/* ---- the scripts beside an instrumented program (javascript.c) ---- */

/* Returns OUT.js for OUT.wasm, on the heap; NULL if OUT is not a regular file. */
char *javascript_path(const char *module);
/* Returns OUT.views.js for OUT.js, on the heap. */
char *javascript_views_path(const char *script);
/* Returns whether neither file exists, or only files that javascript_write has made. Otherwise
 * prints a message and returns false. */
bool javascript_may_write(const Cli *cli, const char *path);

enum { JAVASCRIPT_ID = 17 }; /* characters, with the NUL */
/* Appends a custom section to a module, with an identifier by which its script recognises it,
 * computed on `threads` threads. */
void javascript_tag(Buf *module, uint32_t threads, char id[JAVASCRIPT_ID]);

/* Returns whether the program requests samples of the engine's profiler (`stack.engine()`), which
 * neither scripts beside it nor engines other than Node provide. If so, prints a message: `who`
 * cannot. */
bool javascript_lacks_sampler(const Cli *cli, const char *who, const Buf *program);

typedef struct JavascriptJob {
    const char *module; /* the path of the instrumented program, "-" = standard output */
    const char *id;     /* of javascript_tag */
    const Buf *app;     /* the original program, read and valid */
    const Buf *program; /* the instrumented program */
    bool views;         /* WasmProf has profiles */
    bool times;         /* scripts read the clock, not only to sample */
} JavascriptJob;
/* Writes the script and, if the program needs them, its views. On failure, prints a message and
 * returns false. */
bool javascript_write(const Cli *cli, const char *path, const JavascriptJob *job);

/* ---- libraries (lib_option.c) ---- */

/* Accepts one of the options for the code of probes (code_option.c). */
void code_option(const Cli *cli, whammc_options *o, int key, const char *value);

typedef struct LibraryOption {
    char *name, *import_as; /* NULL = the same */
    const char *path;
    Buf module;
} LibraryOption;
typedef Vec(LibraryOption) LibraryOptions;

/* Accepts the option's argument; if it is wrong, prints a message and returns false. */
bool library_option(const Cli *cli, LibraryOptions *libs, const char *value);
/* Reads the modules. On failure, prints a message and returns false. */
bool library_read(const Cli *cli, LibraryOptions *libs);
/* Adds them to w, with their environment at compile time; `quiet`: they write to standard error,
 * since standard output has another use. */
void library_give(const Cli *cli, const LibraryOptions *libs, whammc *w, bool quiet);
/* Sets the environment of code that w runs at compile time, without libraries. */
void world_give(const Cli *cli, whammc *w, bool quiet);
void library_free(LibraryOptions *libs);

/* ---- constants (define_option.c) ---- */

typedef Vec(const char *) DefineOptions;

/* Accepts the option's argument; if it is wrong, prints a message and returns false. */
bool define_option(const Cli *cli, DefineOptions *definitions, const char *value);
/* Passes the values to w; `known_only`: only for constants that w has met in its last call. */
void define_give(const DefineOptions *definitions, whammc *w, bool known_only);
/* Returns whether w has met the constant of a definition in its last call. */
bool define_is_known(whammc *w, const char *definition);
/* Reports that there is no such constant. */
void define_unknown(const Cli *cli, const char *definition);

/* ---- files that scripts include (script_files.c) ---- */

typedef struct IncludeOptions {
    Vec(const char *) folders; /* of --include-dir */
    Vec(const char *) known;   /* scripts, and files found */
    Arena texts;               /* of paths */
    Buf text;                  /* of the last file */
} IncludeOptions;

/* Finds a file that a script includes: whammc_find of IncludeOptions. */
int include_find_file(void *options, const char *from, const char *path, whammc_file *file);
/* Lets w find the files that its scripts include. `script` is the path of one, or NULL. The options
 * must live until w is freed. */
void include_give(IncludeOptions *o, const char *script, whammc *w);
/* Returns the value of WHAMMC_PATH with which another process finds the same files; `here`: and the
 * script's folder is the current one. NULL: errno. */
const char *include_path(const IncludeOptions *o, bool here, Arena *arena);
void include_free(IncludeOptions *o);

/* ---- core modules of components (module_option.c) ---- */

typedef Vec(const char *) ModuleGlobs; /* of --module; none = all but adapters */
void modules_choose(const ModuleGlobs *globs, whammc *w);
/* Checks that the program can have been chosen from: STATUS_OK, or another status after a
 * message. */
int modules_check(const Cli *cli, const ModuleGlobs *globs, bool is_component);
/* Returns true, after a message, if the program is a component, which an option does not take. */
bool modules_refuse(const Cli *cli, const Buf *app, const char *option);
/* Appends a line for each core module of a component, which says whether it is instrumented;
 * nothing for a module. Ends what w knows of its last call. */
void modules_describe(whammc *w, const Buf *app, Buf *out);

/* ---- scripts with their libraries and constants (script_option.c) ---- */

typedef struct ScriptOptions {
    Vec(const char *) files; /* paths; NULL = the script is the text of the same index */
    Vec(const char *) texts; /* of --eval */
    IncludeOptions include;
    LibraryOptions libs;
    DefineOptions definitions;
    ModuleGlobs modules;
    unsigned steps; /* 0 = not given */
} ScriptOptions;

/* Accepts one of --script, --eval, --include-dir, --lib, --define and --module; if it is wrong,
 * prints a message and returns false. */
bool script_option(const Cli *cli, ScriptOptions *o, int key, const char *value);
/* Adds the i-th script to w, as script_add does; a text is named "<command line>". */
bool script_options_add(const Cli *cli, ScriptOptions *o, uint32_t i, whammc *w);
/* Reads libraries and scripts, and passes all to w; `quiet`: as library_give. If one of them fails,
 * prints a message and returns false. */
bool script_options_give(const Cli *cli, ScriptOptions *o, whammc *w, bool quiet);
void script_options_free(ScriptOptions *o);

/* ---- modules in the text format (wat_file.c) ---- */

/* Assembles a module in the text format with wabt. On failure, prints a message and returns false.
 */
bool text_assemble(const Cli *cli, const char *name, const Buf *text, Buf *binary);

/* ---- monitor modules to bind or run (monitor_files.c) ---- */

/* A monitor and its libraries: "MON.wasm+LIB.wasm". */
typedef struct MonitorFile {
    char *path;
    Buf module;
} MonitorFile;
typedef struct MonitorOption {
    Vec(MonitorFile) files; /* the monitor, then the libraries */
} MonitorOption;
typedef Vec(MonitorOption) MonitorOptions;

/* Accepts the option's argument. */
void monitors_add(MonitorOptions *monitors, const char *value);
/* Reads the modules; text is assembled. On failure, prints a message and returns false. */
bool monitors_read(const Cli *cli, MonitorOptions *monitors);
/* Passes them to w. */
void monitors_give(const MonitorOptions *monitors, whammc *w);
void monitors_free(MonitorOptions *monitors);

#endif
