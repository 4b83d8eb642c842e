/*
 * cli/message.c - output to standard error and standard output.
 */
#include "base/escape.h"
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

bool message_is_colourful(int fd) {
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
}

void message_setup(Cli *cli) {
    cli->colour = message_is_colourful(STDERR_FILENO);
}

void message_stderr(const void *text, size_t len) {
    progress_end();
    if (len)
        fwrite(text, 1, len, stderr); /* a failure here could not be reported */
}

/* Returns the flags for messages of the library. */
static unsigned message_flags(const Cli *cli) {
    return (cli->json ? WHAMMC_JSON : 0) | (cli->colour ? WHAMMC_COLOUR : 0);
}

/* Prints messages of the library, and returns the exit status. */
static int message_rendered(const char *text, whammc_status status) {
    message_stderr(text, strlen(text));
    switch (status) {
    case WHAMMC_OK: return STATUS_OK;
    case WHAMMC_ERROR: return STATUS_ERROR;
    default: return STATUS_INTERNAL;
    }
}

int message_library(const Cli *cli, whammc *w, whammc_status status) {
    return message_rendered(whammc_messages(w, message_flags(cli)), status);
}

int message_report(const Cli *cli, WhammcReport *r, whammc_status status) {
    return message_rendered(whammc_report_messages(r, message_flags(cli)), status);
}

void message_diags(const Cli *cli, Diags *d) {
    Buf text = {0};
    if (cli->json)
        diag_render_json(d, &text);
    else
        diag_render_text(d, &text, cli->colour);
    message_stderr(text.data, text.len);
    buf_free(&text);
}

void message_one(const Cli *cli, DiagTag tag, const char *hint, const char *format, ...) {
    char *message = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&message, format, args);
    va_end(args);
    Diags d = {0};
    Diag *g = diag(&d, tag, NO_SPAN, "%s", len < 0 ? format : message);
    if (hint)
        diag_hint(&d, g, "%s", hint);
    message_diags(cli, &d);
    diag_free(&d);
    if (len >= 0)
        free(message);
}

static int stdout_errno;
static bool result_lost; /* a result could not be written to standard error */

void message_stdout(const Buf *text) {
    errno = 0;
    if (text->len && fwrite(text->data, 1, text->len, stdout) < text->len && !stdout_errno)
        stdout_errno = errno ? errno : EIO;
}

void message_result(const Buf *text) {
    progress_end();
    result_lost |= text->len && fwrite(text->data, 1, text->len, stderr) < text->len;
}

int message_written_status(const Cli *cli, int status) {
    errno = 0;
    if (fflush(stdout) != 0 && !stdout_errno)
        stdout_errno = errno ? errno : EIO;
    if (stdout_errno)
        message_one(cli, DIAG_CANNOT_WRITE, NULL, "standard output: %s", strerror(stdout_errno));
    return status == STATUS_OK && (stdout_errno || result_lost) ? STATUS_ERROR : status;
}

uint32_t message_clean(Buf *out, Str s) {
    return escape_shown(out, s);
}

void message_number(Buf *out, uint64_t n) {
    if (n >= 1000)
        message_number(out, n / 1000);
    buf_printf(out, n >= 1000 ? ",%03" PRIu64 : "%" PRIu64, n >= 1000 ? n % 1000 : n);
}

const char *message_plural(uint64_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}
