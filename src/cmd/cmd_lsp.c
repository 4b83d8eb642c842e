/*
 * cmd/cmd_lsp.c - `whammc lsp`: the language server on the standard streams, with the headers of
 * its base protocol; runs are further processes of whammc.
 */
#include "cli/cli.h"
#include "cli/scratch_dir.h"

#include "whammc/lsp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The largest message, and the largest file. */
enum { LARGEST_MESSAGE = 256 << 20 };

/* A program that runs: its output comes through a pipe, its report is in a file. */
typedef struct LspRun {
    unsigned number;
    pid_t process;
    int output;
    Place place;
    const char *report; /* in the place */
    uint64_t seen;      /* the hash of the report that was passed on */
} LspRun;

typedef struct Serving {
    const Cli *cli;
    whammc_server *server;
    IncludeOptions include;
    Buf file; /* read last */
    Buf input;
    Vec(LspRun) runs;
} Serving;

/* ---- what the server asks for ---- */

static void serving_send(void *ctx, const char *message, size_t len) {
    (void)ctx;
    char head[48];
    int n = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", len);
    file_write_fd(STDOUT_FILENO, head, (size_t)n);
    file_write_fd(STDOUT_FILENO, message, len);
}

static int serving_find(void *ctx, const char *from, const char *path, whammc_file *file) {
    Serving *s = ctx;
    return include_find_file(&s->include, from, path, file);
}

static const void *serving_read(void *ctx, const char *path, size_t *size) {
    Serving *s = ctx;
    s->file.len = 0;
    if (!file_read_source(path, UINT32_MAX, &s->file))
        return NULL;
    *size = s->file.len;
    return buf_cstr(&s->file);
}

/* In the new process, which ends when the server does: its output goes into the pipe; there is no
 * input. */
static void become_run(const char *report, const char *const *arguments, size_t n, int output) {
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    int input = open("/dev/null", O_RDONLY);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (len <= 0 || input < 0)
        _exit(STATUS_ERROR);
    self[len] = '\0';
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const char **argv = mem_zalloc(sizeof *argv * (n + 7));
    size_t k = 0;
    argv[k++] = "whammc";
    argv[k++] = arguments[0]; /* "run" */
    argv[k++] = "-o";
    argv[k++] = report;
    argv[k++] = "--report-format=json";
    argv[k++] = "--watch=1";
    for (size_t i = 1; i < n; i++)
        argv[k++] = arguments[i];
    execv(self, (char *const *)argv);
    _exit(STATUS_ERROR);
}

static int serving_run(void *ctx, unsigned number, const char *const *arguments, size_t n) {
    Serving *s = ctx;
    LspRun run = {.number = number};
    int ends[2];
    run.report = place_make(&run.place, NULL) ? place_file(&run.place, "report", "", 0) : NULL;
    bool piped = run.report && pipe(ends) == 0;
    if (piped) {
        run.process = fork();
        if (run.process == 0)
            become_run(run.report, arguments, n, ends[1]);
        close(ends[1]);
    }
    if (!piped || run.process < 0) {
        if (piped)
            close(ends[0]);
        place_remove(&run.place);
        return 0;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    run.output = ends[0];
    vec_push(&s->runs, run);
    return 1;
}

static void serving_stop(void *ctx, unsigned number) {
    Serving *s = ctx;
    for (uint32_t i = 0; i < s->runs.len; i++)
        if (s->runs.at[i].number == number)
            kill(s->runs.at[i].process, SIGTERM);
}

/* ---- runs ---- */

/* Passes the report on, if there is more of it than before. */
static void pass_report(Serving *s, LspRun *run) {
    size_t size;
    const char *text = serving_read(s, run->report, &size);
    uint64_t hash = text ? hash_more(HASH_START, text, size) : 0;
    if (text && size && hash != run->seen) {
        run->seen = hash;
        whammc_server_report(s->server, run->number, text, size);
    }
}

static void end_run(Serving *s, uint32_t index) {
    LspRun run = s->runs.at[index];
    int status = 0;
    s->runs.at[index] = s->runs.at[--s->runs.len];
    close(run.output);
    while (waitpid(run.process, &status, 0) < 0 && errno == EINTR) {
    }
    pass_report(s, &run);
    place_remove(&run.place);
    whammc_server_ran(s->server, run.number,
                      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Reads what a run has printed. False if it has ended. */
static bool read_output(Serving *s, LspRun *run) {
    char text[4096];
    ssize_t n = read(run->output, text, sizeof text);
    if (n > 0)
        whammc_server_output(s->server, run->number, text, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* ---- messages of the client ---- */

/* The length of the header at the start of the input, and that of the message that follows. 0 = it
 * is not complete yet; -1 = it is none. */
static int read_header(const Buf *input, size_t *length) {
    static const char name[] = "content-length:";
    size_t line = 0;
    bool known = false;
    for (size_t i = 0; i + 1 < input->len; i++) {
        if (input->data[i] != '\r' || input->data[i + 1] != '\n')
            continue;
        if (i == line)
            return known ? (int)i + 2 : -1;
        Str text = {(const char *)input->data + line, (uint32_t)(i - line)};
        uint64_t value;
        bool same = text.len >= sizeof name - 1;
        for (uint32_t k = 0; same && name[k]; k++)
            same = (text.ptr[k] | (text.ptr[k] >= 'A' && text.ptr[k] <= 'Z' ? 0x20 : 0)) == name[k];
        if (same) {
            text = (Str){text.ptr + sizeof name - 1, text.len - (uint32_t)(sizeof name - 1)};
            while (text.len && *text.ptr == ' ')
                text = (Str){text.ptr + 1, text.len - 1};
            if (!str_decimal(text, LARGEST_MESSAGE, &value))
                return -1;
            *length = (size_t)value;
            known = true;
        }
        line = i + 2;
    }
    return input->len > 4096 ? -1 : 0;
}

/* Passes on the messages that are complete. False if the input is none of the protocol. */
static bool take_messages(Serving *s) {
    size_t at = 0;
    int head = 0;
    while (!whammc_server_exits(s->server)) {
        Buf rest = {s->input.data + at, s->input.len - at, 0};
        size_t length;
        head = read_header(&rest, &length);
        if (head <= 0 || rest.len - (size_t)head < length)
            break;
        whammc_server_receive(s->server, (const char *)rest.data + head, length);
        at += (size_t)head + length;
    }
    memmove(s->input.data, s->input.data + at, s->input.len - at);
    s->input.len -= at;
    return head >= 0;
}

/* Reads from the client. False at the end. */
static bool read_client_input(Serving *s) {
    enum { PIECE = 1 << 16 };
    buf_reserve(&s->input, PIECE);
    ssize_t n = read(STDIN_FILENO, s->input.data + s->input.len, PIECE);
    if (n > 0)
        s->input.len += (size_t)n;
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Waits for the client or a run; without any for `wait` milliseconds. */
static int serve_once(Serving *s, int wait) {
    uint32_t n = s->runs.len;
    struct pollfd *polled = mem_zalloc(sizeof *polled * (n + 1));
    polled[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (uint32_t i = 0; i < n; i++)
        polled[i + 1] = (struct pollfd){.fd = s->runs.at[i].output, .events = POLLIN};
    int ready = poll(polled, n + 1, wait), status = -1;
    if (ready > 0 && polled[0].revents && !read_client_input(s))
        status = STATUS_ERROR; /* it is gone without 'exit' */
    if (ready > 0 && polled[0].revents && !take_messages(s)) {
        status = cli_usage(s->cli, "expected the header of a message, 'Content-Length: N', on "
                                   "standard input");
    }
    for (uint32_t i = n; ready > 0 && i-- > 0;)
        if (polled[i + 1].revents && !read_output(s, &s->runs.at[i]))
            end_run(s, i);
    for (uint32_t i = 0; i < s->runs.len && ready == 0; i++)
        pass_report(s, &s->runs.at[i]);
    free(polled);
    return status;
}

static int serve_editor(Serving *s) {
    enum { LIVE_MS = 500 };
    int status = -1;
    while (status < 0 && !whammc_server_exits(s->server)) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&input, 1, 0) == 0)
            whammc_server_idle(s->server);
        status = serve_once(s, s->runs.len ? LIVE_MS : -1);
    }
    if (status < 0)
        status = whammc_server_exits(s->server) == 1 ? STATUS_OK : STATUS_ERROR;
    return status;
}

static bool cmd_lsp_set(const Cli *cli, void *settings, int key, const char *value) {
    (void)cli;
    (void)settings;
    (void)key;
    (void)value;
    return false;
}

int cmd_lsp(Cli *cli) {
    int status = cli_options(cli, cmd_lsp_set, NULL);
    if (status != STATUS_OK)
        return status;
    if (cli->noperands)
        return cli_usage(cli, "expected no operand, found '%s'", cli->operands[0]);
    Serving s = {.cli = cli};
    whammc_server_host host = {serving_send, serving_find, serving_read,
                               serving_run,  serving_stop, &s};
    s.server = whammc_server_new(&host);
    status = serve_editor(&s);
    while (s.runs.len) {
        kill(s.runs.at[0].process, SIGTERM);
        end_run(&s, 0);
    }
    whammc_server_free(s.server);
    include_free(&s.include);
    buf_free(&s.file);
    buf_free(&s.input);
    vec_free(&s.runs);
    return status;
}
