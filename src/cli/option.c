/*
 * cli/option.c - the table of options (commands.def): parsing with getopt_long, --help, suggestions
 * for misspelt options.
 */
#include "cli/cli.h"

#include <unistd.h>

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

enum { HELP_COLUMN = 26, HELP_WIDTH = 80 };

/* The commands that have an option. */
enum {
#define COMMAND(NAME, name, stops, operands, usage, summary, about, examples)                      \
    NAME = 1 << COMMAND_##NAME,
#include "cli/commands.def"
    ALL = -1
};

/* The names of formats, each after a '|'. */
static const char profile_formats[] =
#define FORMAT(NAME, number, name, from, write, traits, ending) "|" name
#define ALIAS(NAME, name)                                       "|" name
#include "format/formats.def"
    ;
static const char report_formats[] =
#define FORMAT(NAME, number, name, from, write, traits, ending) "|" name
#define ALIAS(NAME, name)                                       "|" name
#define COVERAGE(NAME, name, write, ending)                     "|" name
#define COVERAGE_TABLE(NAME, name, write, ending)
#define COVERAGE_ONLY(NAME, name, write, ending)
#include "format/formats.def"
#define COVERAGE(NAME, name, write, ending)
#define COVERAGE_TABLE(NAME, name, write, ending) "|" name
#include "format/formats.def"
    ;
static const char printed_formats[] =
#define PRINTED(NAME, name) "|" name
#include "format/formats.def"
    ;
static const char coverage_formats[] =
#define COVERAGE(NAME, name, write, ending) "|" name
#include "format/formats.def"
    ;
#define PROFILE_FORMATS  (profile_formats + 1)
#define REPORT_FORMATS   (report_formats + 1)
#define PRINTED_FORMATS  (printed_formats + 1)
#define COVERAGE_FORMATS (coverage_formats + 1)

/* A row of commands.def. */
typedef struct Option {
    OptionKey key;
    int letter; /* 0 = none */
    const char *name, *argument;
    int commands;
    const char *text;
} Option;

static const Option options[] = {
#define OPTION(KEY, letter, name, argument, commands, value, text)                                 \
    {OPTION_##KEY, letter, name, argument, commands, text},
#include "cli/commands.def"
};
enum { NOPTIONS = sizeof options / sizeof *options };

/* Returns the option of a command after `o`, which is NULL at first; NULL after the last. */
static const Option *next_option(const Command *c, const Option *o) {
    for (o = o ? o + 1 : options; o < options + NOPTIONS; o++)
        if (o->commands & 1 << c->number)
            return o;
    return NULL;
}

/* Returns the option with this key or letter. */
static const Option *option_with_key(const Command *c, int key) {
    const Option *o = NULL;
    while ((o = next_option(c, o)))
        if ((int)o->key == key || o->letter == key)
            return o;
    return NULL;
}

const char *option_name(int key) {
    const Option *o = options;
    while ((int)o->key != key)
        o++;
    return o->name;
}

/* Returns whether it may be given without its argument. */
static bool is_optional(const Option *o) {
    return o->argument && *o->argument == '[' && o->argument[strlen(o->argument) - 1] == ']';
}

static int argument_kind(const Option *o) {
    return !o->argument ? no_argument : is_optional(o) ? optional_argument : required_argument;
}

/* ---- wrong usage ---- */

/* Returns whether one of the two is the beginning of the other. */
static bool is_beginning(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b), least = m < n ? m : n;
    return least >= 2 && strncmp(a, b, least) == 0;
}

const char *cli_guess(const char *word, const char *const *names, size_t n) {
    const char *best = NULL;
    uint32_t limit = (uint32_t)strlen(word) / 3 + 1, least = limit + 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t d = str_distance(str_of(word), str_of(names[i]), limit);
        if (is_beginning(word, names[i]))
            d = 1;
        if (d < least)
            best = names[i], least = d;
    }
    return best;
}

int cli_usage(const Cli *cli, const char *format, ...) {
    char *message = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&message, format, args);
    va_end(args);
    Buf command = {0}, text = {0};
    buf_printf(&command, cli->command ? "whammc %s" : "whammc",
               cli->command ? cli->command->name : "");
    const char *name = buf_cstr(&command);
    buf_printf(&text, "%s: %s\nTry '%s --help'.\n", name, len < 0 ? "wrong usage" : message, name);
    message_stderr(text.data, text.len);
    buf_free(&text);
    buf_free(&command);
    if (len >= 0)
        free(message);
    return STATUS_USAGE;
}

/* Reports a long option that getopt_long did not find, or found twice; `word` as given. */
static void wrong_long_option(const Cli *cli, const char *word) {
    size_t n = 0, len = strcspn(word + 2, "=");
    Str given = {word + 2, (uint32_t)len};
    Buf starts = {0};
    const char *names[NOPTIONS];
    const Option *o = NULL;
    while ((o = next_option(cli->command, o))) {
        names[n++] = o->name;
        if (strncmp(o->name, given.ptr, len) == 0)
            buf_printf(&starts, "%s--%s", starts.len ? ", " : "", o->name);
    }
    if (starts.len) {
        cli_usage(cli, "--%.*s is ambiguous: it can be any of %s", STR_ARG(given),
                  buf_cstr(&starts));
    } else {
        char *name = strndup(given.ptr, len);
        const char *guess = name ? cli_guess(name, names, n) : NULL;
        if (guess)
            cli_usage(cli, "there is no option '--%s'; did you mean '--%s'?", name, guess);
        else
            cli_usage(cli, "there is no option '--%.*s'", STR_ARG(given));
        free(name);
    }
    buf_free(&starts);
}

/* Prints why getopt_long returned '?' or ':'. */
static int wrong_option(const Cli *cli, int result) {
    const Option *o = optopt ? option_with_key(cli->command, optopt) : NULL;
    if (result == ':' && o)
        cli_usage(cli, "--%s needs an argument: --%s=%s", o->name, o->name, o->argument);
    else if (o && !o->argument)
        cli_usage(cli, "--%s takes no argument", o->name);
    else if (optopt)
        cli_usage(cli, "there is no option '-%c'", optopt);
    else
        wrong_long_option(cli, cli->argv[optind - 1]);
    return STATUS_USAGE;
}

int cli_check_app(const Cli *cli) {
    if (!cli->noperands)
        return cli_usage(cli, "expected a program: give APP after the options");
    return STATUS_OK;
}

int cli_check_stdin(const Cli *cli, const char *const *paths, uint32_t n, uint32_t others) {
    for (uint32_t i = 0; i < n; i++)
        others += paths[i] && strcmp(paths[i], "-") == 0;
    if (others > 1)
        return cli_usage(cli, "only one file can be '-', standard input");
    return STATUS_OK;
}

int cli_check_output(const Cli *cli, const char *out) {
    if (!out)
        return cli_usage(cli, "expected an output file: give it with --output=OUT");
    if (strcmp(out, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_usage(cli,
                         "standard output is a terminal: expected a file or a pipe for the module");
    return STATUS_OK;
}

int cli_check_bytes(const Cli *cli, const char *out) {
    if (strcmp(out, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_usage(
            cli, "standard output is a terminal, but this format is binary: give a file with "
                 "--output=OUT");
    return STATUS_OK;
}

int cli_check_other(const Cli *cli, const char *out, const char *const *paths, uint32_t n,
                    const char *what) {
    for (uint32_t i = 0; out && i < n; i++)
        if (paths[i] && strcmp(out, "-") != 0 && file_same(out, paths[i]))
            return cli_usage(cli, "the output '%s' is also %s, '%s'", out, what, paths[i]);
    return STATUS_OK;
}

int cli_check_outputs(const Cli *cli, const char *const *outputs, uint32_t n) {
    int status = cli_check_app(cli);
    for (uint32_t i = 0; status == STATUS_OK && i < n; i++) {
        status =
            cli_check_other(cli, outputs[i], (const char *const *)cli->operands, 1, "the program");
        if (status == STATUS_OK)
            status = cli_check_other(cli, outputs[i], outputs + i + 1, n - 1 - i, "another output");
        if (status == STATUS_OK && outputs[i] && !file_check_writable(cli, outputs[i]))
            status = STATUS_ERROR;
    }
    return status;
}

int cli_check_inputs(const Cli *cli, const char *const *scripts, uint32_t n, bool one_app) {
    if (!n)
        return cli_usage(cli, "expected a script: give one with --script=SCRIPT, or its text with "
                              "--eval=TEXT");
    if (cli_check_app(cli) != STATUS_OK)
        return STATUS_USAGE;
    if (one_app && cli->noperands > 1)
        return cli_usage(cli, "expected only one APP, found also '%s'", cli->operands[1]);
    return cli_check_stdin(cli, scripts, n, strcmp(cli->operands[0], "-") == 0);
}

/* ---- parsing ---- */

/* Returns whether choices, "one|two", has the value, and its number. */
static bool find_choice(const char *choices, const char *value, uint32_t *number) {
    size_t len = strlen(value);
    for (*number = 0;; ++*number) {
        size_t n = strcspn(choices, "|");
        if (n == len && memcmp(choices, value, n) == 0)
            return true;
        if (!choices[n])
            return false;
        choices += n + 1;
    }
}

uint32_t option_choice(const Cli *cli, int key, const char *value) {
    uint32_t number;
    find_choice(option_with_key(cli->command, key)->argument, value, &number);
    return number;
}

Str option_word(const Cli *cli, int key, uint32_t index) {
    const char *words = option_with_key(cli->command, key)->argument;
    while (index--)
        words = strchr(words, '|') + 1;
    return (Str){words, (uint32_t)strcspn(words, "|")};
}

static void option_start(Cli *cli) {
    cli->letters = mem_zalloc(2 * NOPTIONS + 3);
    cli->longs = mem_zalloc((NOPTIONS + 1) * sizeof *cli->longs);
    char *letter = cli->letters;
    if (cli->command->stops)
        *letter++ = '+';
    *letter++ = ':'; /* tells a missing argument from an unknown option */
    struct option *longs = cli->longs;
    const Option *o = NULL;
    while ((o = next_option(cli->command, o))) {
        *longs++ = (struct option){o->name, argument_kind(o), NULL, (int)o->key};
        if (o->letter) {
            *letter++ = (char)o->letter;
            if (o->argument)
                *letter++ = ':';
        }
    }
    opterr = 0;
}

static int show_help(const Cli *cli) {
    Buf text = {0};
    cli_help(cli->command, &text);
    message_stdout(&text);
    buf_free(&text);
    return STATUS_HELP;
}

/* Handles a result of getopt. */
static int take_option(Cli *cli, CliSet *set, void *settings, int key) {
    if (key == '?' || key == ':')
        return wrong_option(cli, key);
    const Option *o = option_with_key(cli->command, key);
    uint32_t choice = 0;
    if (o->argument && strchr(o->argument, '|') && !find_choice(o->argument, optarg, &choice))
        return cli_usage(cli, "--%s=%s: expected one of %s", o->name, optarg, o->argument);
    if (o->key == OPTION_HELP)
        return show_help(cli);
    if (o->key == OPTION_MESSAGE_FORMAT)
        cli->json = choice == 1;
    else if (!set(cli, settings, (int)o->key, optarg))
        return STATUS_USAGE;
    return STATUS_OK;
}

int cli_options(Cli *cli, CliSet *set, void *settings) {
    int key, status = STATUS_OK;
    option_start(cli);
    while (status == STATUS_OK &&
           (key = getopt_long(cli->argc, cli->argv, cli->letters, cli->longs, NULL)) != -1)
        status = take_option(cli, set, settings, key);
    free(cli->letters);
    free(cli->longs);
    cli->operands = cli->argv + optind;
    cli->noperands = cli->argc - optind;
    return status;
}

bool cli_count(const Cli *cli, const char *option, const char *value, uint32_t *out) {
    uint64_t n = 0;
    const char *p = value;
    for (; *p >= '0' && *p <= '9' && n <= UINT32_MAX; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (p == value || *p || n > UINT32_MAX) {
        cli_usage(cli, "--%s=%s: expected a number", option, value);
        return false;
    }
    *out = (uint32_t)n;
    return true;
}

/* ---- help ---- */

void cli_wrap(Buf *out, const char *text, uint32_t indent, uint32_t column, uint32_t width) {
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column > indent && column + 1 + word > width) {
            buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent && word) {
            buf_u8(out, ' ');
            column++;
        }
        buf_bytes(out, text, word);
        column += (uint32_t)word;
        text += word;
        if (*text == '\n') {
            buf_printf(out, "\n%*s", text[1] == '\n' ? 0 : (int)indent, "");
            column = indent;
        }
        text += *text != 0;
    }
}

/* Appends a text of the table in lines, without its markup; code of several words, and of dashes
 * alone, is quoted. */
static void option_put_text(const char *text, uint32_t indent, Buf *out) {
    Buf plain = {0};
    for (; *text; text++) {
        size_t code = *text == '`' ? strcspn(text + 1, "`") : 0;
        bool quoted = code && (memchr(text + 1, ' ', code) || strspn(text + 1, "-") == code);
        if (code) {
            buf_printf(&plain, quoted ? "'%.*s'" : "%.*s", (int)code, text + 1);
            text += code + 1;
        } else if (*text != '[' && *text != ']') {
            buf_u8(&plain, (uint8_t)*text);
        }
    }
    cli_wrap(out, buf_cstr(&plain), indent, indent, HELP_WIDTH);
    buf_free(&plain);
}

static void help_option(const Option *o, Buf *out) {
    size_t from = out->len;
    if (o->letter)
        buf_printf(out, "  -%c, --%s", o->letter, o->name);
    else
        buf_printf(out, "      --%s", o->name);
    if (is_optional(o))
        buf_printf(out, "[=%s", o->argument + 1);
    else if (o->argument)
        buf_printf(out, "=%s", o->argument);
    size_t used = out->len - from;
    if (used + 2 > HELP_COLUMN)
        buf_printf(out, "\n%*s", HELP_COLUMN, "");
    else
        buf_printf(out, "%*s", (int)(HELP_COLUMN - used), "");
    option_put_text(o->text, HELP_COLUMN, out);
    buf_u8(out, '\n');
}

void cli_help(const Command *command, Buf *out) {
    buf_printf(out, "Usage: whammc %s [OPTION]... %s\n", command->name, command->usage);
    option_put_text(command->about, 0, out);
    buf_str(out, STR("\n\nOptions:\n"));
    const Option *o = NULL;
    while ((o = next_option(command, o)))
        help_option(o, out);
    buf_printf(out, "\nExamples:\n%s", command->examples);
}
