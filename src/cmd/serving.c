/*
 * cmd/serving.c - reports while a program runs: over HTTP, and as tables.
 */
#include "cmd/cmd.h"
#include "run/run.h"

#include <errno.h>
#include <unistd.h>

/* "1" or "1s" */
static bool watch_seconds(const Cli *cli, const char *value, uint32_t *seconds) {
    size_t len = strlen(value);
    char number[12];
    if (len > 1 && len < sizeof number && value[len - 1] == 's')
        len--;
    if (len >= sizeof number)
        return cli_count(cli, "watch", value, seconds);
    memcpy(number, value, len);
    number[len] = 0;
    if (!cli_count(cli, "watch", number, seconds))
        return false;
    if (!*seconds)
        cli_usage(cli, "--watch=%s: expected a number of seconds from 1", value);
    return *seconds > 0;
}

bool http_option(const Cli *cli, HttpOptions *o, int key, const char *value) {
    switch (key) {
    case OPTION_HTTP: o->address = value; break;
    case OPTION_HTTP_TOKEN: o->token = value; break;
    case OPTION_PUSH: o->push = value; break;
    case OPTION_WATCH: return watch_seconds(cli, value, &o->watch);
    default: return cli_count(cli, "push-seconds", value, &o->seconds);
    }
    return true;
}

bool http_wanted(const HttpOptions *o) {
    return o->address || o->push || o->watch;
}

int http_check(const Cli *cli, const HttpOptions *o) {
    Buf why = {0};
    int status = STATUS_OK;
    if (o->token && !o->address)
        status = cli_usage(cli, "--http-token needs --http");
    else if (o->seconds && !o->push)
        status = cli_usage(cli, "--push-seconds needs --push");
    else if (o->seconds > PUSH_SECONDS_MAX)
        status = cli_usage(cli, "--push-seconds=%u: expected a number up to %d", o->seconds,
                           PUSH_SECONDS_MAX);
    else if (o->watch > PUSH_SECONDS_MAX)
        status = cli_usage(cli, "--watch=%u: expected a number of seconds up to %d", o->watch,
                           PUSH_SECONDS_MAX);
    else if (o->address && !serve_check(o->address, o->token, &why))
        status = cli_usage(cli, "--http=%s: %s", o->address, buf_cstr(&why));
    else if (o->push && !push_check(o->push, &why))
        status = cli_usage(cli, "--push=%s: %s", o->push, buf_cstr(&why));
    buf_free(&why);
    return status;
}

/* Returns the description of the program. */
static ServedProgram served_program(const Running *r) {
    ServedProgram of = r->served;
    of.title = file_base(file_title(r->cli->operands[0]));
    of.module = r->app.data;
    of.module_size = r->app.len;
    return of;
}

static bool begin_server(const Running *r, Serving *s, Buf *why) {
    ServeOptions options = {.address = r->http->address,
                            .token = r->http->token,
                            .of = served_program(r),
                            .command_line = (const char *const *)r->cli->operands};
    s->serve = serve_start(&options, s->live, why);
    if (!s->serve) {
        message_one(r->cli, DIAG_CANNOT_SERVE, NULL, "--http=%s: %s", r->http->address,
                    buf_cstr(why));
        return false;
    }
    buf_printf(why, "whammc: reports at %s\n", serve_url(s->serve));
    message_stderr(why->data, why->len);
    return true;
}

/* Reports a rejected profile. It is included in the next one; the program continues. */
static void serving_tell_failure(void *ctx, const char *why) {
    const Running *r = ctx;
    message_one(r->cli, DIAG_NOT_PUSHED, NULL, "--push: %s", why); /* URLs can have passwords */
}

static bool begin_pushing(const Running *r, Serving *s, Buf *why) {
    PushOptions options = {.url = r->http->push,
                           .seconds = r->http->seconds ? r->http->seconds : PUSH_SECONDS,
                           .of = served_program(r),
                           .failed = serving_tell_failure,
                           .ctx = (void *)(uintptr_t)r};
    s->push = push_start(&options, s->live, why);
    if (!s->push)
        serving_tell_failure(options.ctx, buf_cstr(why));
    return s->push != NULL;
}

/* Writes a report to the file, or shows its tables. Where the program writes something at the same
 * time, it comes before or after them. */
static void show_taken(void *ctx, const LiveReport *taken) {
    const Running *r = ctx;
    const ServedProgram of = served_program(r);
    WhammcReport *report = served_report(&of, &taken->text, NULL);
    Buf shown = {0};
    uint8_t *text;
    size_t size;
    WhammcReportFormat format = r->http->file ? r->http->format : WHAMMC_REPORT_TABLE;
    bool made = whammc_report_write(report, format, &r->http->look, &text, &size) == WHAMMC_OK;
    if (made && r->http->file) {
        file_write(r->cli, r->http->file, text, size);
    } else if (made) {
        if (isatty(STDERR_FILENO))
            buf_str(&shown, STR("\033[H\033[2J"));
        buf_bytes(&shown, text, size);
        buf_u8(&shown, '\n');
        message_stderr(shown.data, shown.len);
    }
    whammc_release(text);
    whammc_report_free(report);
    buf_free(&shown);
}

static bool begin_watching(const Running *r, Serving *s, Buf *why) {
    s->watch = (LiveTimer){
        .live = s->live, .seconds = r->http->watch, .on = show_taken, .ctx = (void *)(uintptr_t)r};
    bool ok = live_timer_start(&s->watch, why);
    if (!ok)
        message_one(r->cli, DIAG_CANNOT_SERVE, NULL, "--watch: %s", buf_cstr(why));
    return ok;
}

int serving_begin(const Running *r, Serving *s) {
    *s = (Serving){0};
    if (!r->http || !http_wanted(r->http))
        return STATUS_OK;
    Buf why = {0};
    s->live = live_open();
    bool ok = s->live != NULL;
    if (!ok)
        message_one(r->cli, DIAG_CANNOT_SERVE, NULL, "%s", strerror(errno));
    if (ok && r->http->address)
        ok = begin_server(r, s, &why);
    if (ok)
        live_begin(s->live);
    if (ok && r->http->push)
        ok = begin_pushing(r, s, &why);
    if (ok && r->http->watch)
        ok = begin_watching(r, s, &why);
    if (!ok)
        serving_end(s, &(Buf){0});
    buf_free(&why);
    return ok ? STATUS_OK : STATUS_ERROR;
}

void serving_end(Serving *s, const Buf *report) {
    if (s->live)
        live_end(s->live, report); /* waiting clients get it */
    live_timer_end(&s->watch);
    push_finish(s->push, report);
    serve_stop(s->serve);
    live_close(s->live);
    *s = (Serving){0};
}
