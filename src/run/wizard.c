/*
 * run/wizard.c - runs a program with monitors in the Wizard engine.
 *
 * If Wizard cannot link a monitor, it prints a message on standard output and runs the program
 * without it, with the program's exit status. So its standard output is piped through us: the
 * engine's messages are filtered out and become errors. Monitors are in a temporary directory,
 * whose name distinguishes the engine's messages about them from the program's output, and which
 * keeps characters that are special on the engine's command line out of their paths.
 */
#include "cli/process.h"
#include "cli/scratch_dir.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Characters with a special meaning in the engine's options. */
#define SPECIAL ",+{"

/* ---- messages of the engine ---- */

typedef enum Message {
    MESSAGE_NONE,
    MESSAGE_PARTIAL,    /* more input is needed */
    MESSAGE_LINK,       /* a monitor that cannot be linked; anywhere in a line */
    MESSAGE_ATTACH,     /* a probe that cannot be attached: the program does not run */
    MESSAGE_OPTION,     /* wrong options, files that are not modules: nothing runs */
    MESSAGE_START_TRAP, /* the monitor's start function trapped; its probes are attached */
    MESSAGE_NAME,       /* an export name that the engine does not understand and two more lines: */
    MESSAGE_NAME_TEXT,  /* the name */
    MESSAGE_NAME_MARK,  /* where it is wrong, and why */
    MESSAGE_BLANK,      /* the empty line after some messages */
} Message;

enum { CANNOT_ATTACH = 3 }; /* the engine's exit status then */

typedef struct Filter {
    const char *monitors; /* the path that messages about a monitor begin with */
    Buf held;             /* the possible beginning of a message */
    Message expected;     /* the kind of the next line, regardless of its text */
    bool inside;          /* a line of the program's is not complete */
    bool wrote;           /* the program, or a monitor, has written something */
    bool closed;          /* standard output cannot be written to any more */
    Buf last;             /* a line that is a message if nothing follows it */
    char *name;           /* MESSAGE_NAME_TEXT */
    Vec(char *) errors;
    bool unlinked; /* one of them: a monitor was left out */
    Catch *caught; /* as in WizardJob */
} Filter;

static void wizard_write_out(Filter *f, const void *bytes, size_t n) {
    bool open = n && !f->closed;
    if (open && f->caught)
        f->closed = !catch_take(f->caught, bytes, n);
    else if (open)
        f->closed = !file_write_fd(STDOUT_FILENO, bytes, n);
}

/* Passes on bytes that do not belong to a message of the engine. */
static void wizard_pass(Filter *f, const uint8_t *bytes, size_t n) {
    if (!n)
        return;
    wizard_write_out(f, f->last.data, f->last.len);
    f->last.len = 0;
    f->expected = MESSAGE_NONE;
    f->wrote = true;
    f->inside = bytes[n - 1] != '\n';
    wizard_write_out(f, bytes, n);
}

/* Adds each message once: the engine tries again at the end. */
static void wizard_add_error(Filter *f, const char *text, size_t n) {
    for (uint32_t i = 0; i < f->errors.len; i++)
        if (strlen(f->errors.at[i]) == n && memcmp(f->errors.at[i], text, n) == 0)
            return;
    vec_push(&f->errors, strndup(text, n));
}

/* Returns the part of a line after a text; the whole line if it does not contain the text. */
static Str text_after(Str line, const char *text) {
    const char *found = memmem(line.ptr, line.len, text, strlen(text));
    size_t skip = found ? (size_t)(found - line.ptr) + strlen(text) : 0;
    while (skip < line.len && line.ptr[skip] == ' ')
        skip++;
    return (Str){line.ptr + skip, line.len - (uint32_t)skip};
}

static Message begins(const uint8_t *p, size_t n, const char *text, Message m) {
    size_t len = strlen(text);
    if (n >= len)
        return memcmp(p, text, len) == 0 ? m : MESSAGE_NONE;
    return memcmp(p, text, n) == 0 ? MESSAGE_PARTIAL : MESSAGE_NONE;
}

/* Returns the kind of message that begins here, if any; `more`: after bytes that were not passed on
 * yet. */
static Message message_at(const Filter *f, const uint8_t *p, size_t n, bool line_start, bool more) {
    Message m = begins(p, n, f->monitors, MESSAGE_LINK);
    if (m || !line_start)
        return m;
    if (f->expected && !more && (f->expected != MESSAGE_BLANK || *p == '\n'))
        return f->expected;
    m = begins(p, n, "monitor:0x", MESSAGE_ATTACH);
    if (m || f->wrote || more)
        return m;
    m = begins(p, n, "wizeng: ", MESSAGE_OPTION);
    if (!m)
        m = begins(p, n, "Whamm monitor trapped in the start function\n", MESSAGE_START_TRAP);
    return m ? m : begins(p, n, "whamm warning: export[", MESSAGE_NAME);
}

static void take_mark(Filter *f, Str line) {
    Buf b = {0};
    Str why = text_after(line, "^");
    buf_printf(&b, "the engine does not know the export name '%s': %.*s", f->name, STR_ARG(why));
    wizard_add_error(f, (const char *)b.data, b.len);
    buf_free(&b);
    free(f->name);
    f->name = NULL;
}

/* Handles a complete line of a message. */
static void take_message(Filter *f, Message m, Str line) {
    f->expected = MESSAGE_NONE;
    switch (m) {
    case MESSAGE_LINK:
        line = text_after(line, ": ");
        wizard_add_error(f, line.ptr, line.len);
        f->unlinked = true;
        f->expected = MESSAGE_BLANK;
        break;
    case MESSAGE_ATTACH:
    case MESSAGE_OPTION:
        wizard_write_out(f, f->last.data, f->last.len);
        f->last.len = 0;
        buf_str(&f->last, line);
        buf_u8(&f->last, '\n');
        break;
    case MESSAGE_START_TRAP: wizard_add_error(f, line.ptr, line.len); break;
    case MESSAGE_NAME: f->expected = MESSAGE_NAME_TEXT; break;
    case MESSAGE_NAME_TEXT:
        f->name = strndup(line.ptr, line.len);
        f->expected = MESSAGE_NAME_MARK;
        break;
    case MESSAGE_NAME_MARK: take_mark(f, line); break;
    default: break;
    }
}

/* Passes on everything but messages; holds back a possible beginning of a message, unless the input
 * has ended. */
static void wizard_pump(Filter *f, bool end) {
    const uint8_t *p = f->held.data;
    size_t n = f->held.len, from = 0, i = 0;
    while (i < n) {
        bool line_start = i > from ? p[i - 1] == '\n' : !f->inside;
        Message m = message_at(f, p + i, n - i, line_start, i > from);
        const uint8_t *eol = m > MESSAGE_PARTIAL ? memchr(p + i, '\n', n - i) : NULL;
        if (m && !eol && !end)
            break;
        if (m <= MESSAGE_PARTIAL) {
            i++;
            continue;
        }
        wizard_pass(f, p + from, i - from);
        size_t to = eol ? (size_t)(eol - p) : n;
        take_message(f, m, (Str){(const char *)p + i, (uint32_t)(to - i)});
        i = from = eol ? to + 1 : n;
        f->inside = false;
    }
    if (from < i)
        wizard_pass(f, p + from, i - from);
    if (i < n)
        memmove(f->held.data, p + i, n - i);
    f->held.len = n - i;
}

static bool wizard_take(void *ctx, const uint8_t *bytes, size_t n) {
    Filter *f = ctx;
    buf_bytes(&f->held, bytes, n);
    wizard_pump(f, false);
    return !f->closed;
}

/* Ends the input; returns whether no message was an error. */
static bool filter_end(const Cli *cli, Filter *f, int wait_status) {
    wizard_pump(f, true);
    bool failed = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) != 0;
    Str last = buf_view(&f->last);
    if (last.len && failed) {
        last.len--; /* the line feed */
        if (last.ptr[0] == 'm')
            last = text_after(last, "error inserting Whamm! probe");
        wizard_add_error(f, last.ptr, last.len);
    } else {
        wizard_write_out(f, last.ptr, last.len);
    }
    for (uint32_t i = 0; i < f->errors.len; i++)
        message_one(cli, DIAG_NOT_ATTACHED,
                    f->unlinked ? "the program has run without this monitor" : NULL, "%s",
                    f->errors.at[i]);
    return !f->errors.len;
}

static void filter_free(Filter *f) {
    for (uint32_t i = 0; i < f->errors.len; i++)
        free(f->errors.at[i]);
    vec_free(&f->errors);
    free(f->name);
    buf_free(&f->held);
    buf_free(&f->last);
}

/* ---- inputs of the engine ---- */

/* Appends the last part of a path with the extension that the engine expects. Libraries are
 * imported by it. */
static void file_name(const char *path, Buf *out) {
    const char *base = file_base(path);
    const char *dot = strrchr(base, '.');
    for (const char *p = base; *p && p != dot; p++)
        buf_u8(out, strchr(SPECIAL, *p) ? '_' : (uint8_t)*p);
    buf_str(out, STR(".wasm"));
    buf_cstr(out);
}

/* Returns whether a library has the monitor's name: engines would then link the monitor itself. */
static bool is_shadowed(const MonitorOption *m, const Buf *name) {
    bool same = false;
    for (uint32_t k = 1; k < m->files.len; k++) {
        Buf other = {0};
        file_name(m->files.at[k].path, &other);
        same |= other.len == name->len && memcmp(other.data, name->data, name->len) == 0;
        buf_free(&other);
    }
    return same;
}

/* Writes the monitors into directories m0, m1 ..., since libraries may have equal names; appends
 * the value of --monitors. */
static bool put_monitors(Place *p, const MonitorOptions *monitors, Buf *value) {
    uint32_t directories = 0;
    for (uint32_t i = 0; i < monitors->len; i++) {
        const MonitorOption *m = &monitors->at[i];
        for (uint32_t k = 0; k < m->files.len; k++) {
            char directory[16];
            snprintf(directory, sizeof directory, "m%u", directories++);
            Buf name = {0}, file = {0};
            file_name(m->files.at[k].path, &file);
            buf_printf(&name, "%s/%s%s", directory, !k && is_shadowed(m, &file) ? "monitor-" : "",
                       (const char *)file.data);
            buf_free(&file);
            const Buf *bytes = &m->files.at[k].module;
            const char *path = place_directory(p, directory)
                                   ? place_file(p, buf_cstr(&name), bytes->data, bytes->len)
                                   : NULL;
            buf_free(&name);
            if (!path)
                return false;
            buf_printf(value, "%s%s", k ? "+" : i ? "," : "", path);
        }
    }
    buf_cstr(value);
    return true;
}

/* Returns whether the engine can read the file by itself: it is a module, and not text. */
static bool is_module_file(const char *path) {
    char magic[4] = {0};
    size_t len = strlen(path);
    if (len < 5 || strcmp(path + len - 5, ".wasm") != 0)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_module = read(fd, magic, sizeof magic) == sizeof magic && !memcmp(magic, "\0asm", 4);
    close(fd);
    return is_module;
}

typedef struct Files {
    const char *app, *report;
    Buf monitors; /* the value of an option */
    Buf prefix;   /* of paths of monitors */
} Files;

static bool wizard_put_files(const Cli *cli, Place *p, Files *f, const WizardJob *job) {
    if (!place_make(p, SPECIAL))
        return false;
    buf_printf(&f->prefix, "%s/m", p->directory);
    buf_cstr(&f->prefix);
    f->app = cli->operands[0];
    if (!is_module_file(f->app))
        f->app = place_file(p, "app.wasm", job->app->data, job->app->len);
    f->report = world_report(p);
    return f->app && f->report && put_monitors(p, job->monitors, &f->monitors);
}

/* The environment is ours, as for the runners of Node and wasmtime, but without values with commas,
 * which the engine does not accept. */
static void engine_options(const WizardJob *job, const Place *p, const Files *f, Words *out) {
    bool mode = false;
    for (uint32_t i = 0; i < job->options->len; i++)
        mode |= strncmp(job->options->at[i], "--mode=", 7) == 0;
    if (!mode)
        words_put(out, "--mode=", "jit");
    for (uint32_t i = 0; i < job->options->len; i++)
        words_put(out, "", job->options->at[i]);
    words_put(out, "--dir=", ".");
    for (uint32_t i = 0; i < job->world->len; i++)
        words_put(out, "", job->world->at[i]);
    if (job->reports)
        words_put(out, "--dir=", p->directory);
    for (char **e = environ; *e; e++)
        if (!strchr(*e, ',') && strchr(*e, '='))
            words_put(out, "--env=", *e);
    if (job->monitors->len)
        words_put(out, "--monitors=", (const char *)f->monitors.data);
}

static int call_engine(const Cli *cli, const WizardJob *job, const Place *p, const Files *f,
                       Filter *filter) {
    Words argv = {0}, options = {0};
    engine_options(job, p, f, &options);
    vec_push(&argv, job->engine->program);
    for (uint32_t i = 0; i < options.len; i++)
        vec_push(&argv, options.at[i]);
    vec_push(&argv, f->app);
    for (int i = 1; i <= cli->noperands; i++)
        vec_push(&argv, cli->operands[i]); /* and the NULL after them */
    int status = process_read(argv.at, (ProcessStreams){.in = -1, .out = -1, .err = -1},
                              wizard_take, filter),
        error = errno;
    world_free(&options);
    vec_free(&argv);
    errno = error;
    return status;
}

int wizard_run(const Cli *cli, const WizardJob *job, Buf *report, bool *failed) {
    Place place = {0};
    Files files = {0};
    Filter filter = {0};
    process_guard();
    bool made = wizard_put_files(cli, &place, &files, job);
    int error = errno, status = -1;
    if (made) {
        filter.monitors = (const char *)files.prefix.data;
        filter.caught = job->caught;
        status = call_engine(cli, job, &place, &files, &filter);
        error = errno;
        if (status >= 0 && access(files.report, F_OK) == 0)
            file_read(cli, files.report, report);
    }
    if (status < 0)
        engine_failed(cli, made ? job->engine : NULL, &place, error);
    else
        *failed = !filter_end(cli, &filter, status);
    if (job->caught)
        catch_end(job->caught);
    filter_free(&filter);
    buf_free(&files.monitors);
    buf_free(&files.prefix);
    place_remove(&place);
    return status;
}
