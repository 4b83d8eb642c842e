/*
 * cmd/serving.c - reports over HTTP while a program runs.
 */
#include "cmd/cmd.h"
#include "run/run.h"

#include <errno.h>

void http_option(HttpOptions *o, int key, const char *value) {
    if (key == OPTION_HTTP)
        o->address = value;
    else
        o->token = value;
}

int http_check(const Cli *cli, const HttpOptions *o) {
    if (!o->address)
        return o->token ? cli_usage(cli, "--http-token needs --http") : STATUS_OK;
    Buf why = {0};
    int status = STATUS_OK;
    if (!serve_check(o->address, o->token, &why))
        status = cli_usage(cli, "--http=%s: %s", o->address, buf_cstr(&why));
    buf_free(&why);
    return status;
}

int serving_begin(const Running *r, Serving *s) {
    *s = (Serving){0};
    if (!r->http || !r->http->address)
        return STATUS_OK;
    ServeOptions options = r->serve;
    Buf why = {0};
    options.address = r->http->address;
    options.token = r->http->token;
    options.title = file_base(file_title(r->cli->operands[0]));
    options.module = r->app.data;
    options.module_size = r->app.len;
    options.command_line = (const char *const *)r->cli->operands;
    s->live = live_open();
    if (s->live)
        s->serve = serve_start(&options, s->live, &why);
    else
        buf_printf(&why, "%s", strerror(errno));
    if (!s->serve) {
        message_one(r->cli, DIAG_CANNOT_SERVE, NULL, "--http=%s: %s", r->http->address,
                    buf_cstr(&why));
        serving_end(s);
    } else {
        live_begin(s->live);
        buf_printf(&why, "whammc: reports at %s\n", serve_url(s->serve));
        message_stderr(why.data, why.len);
    }
    buf_free(&why);
    return s->serve ? STATUS_OK : STATUS_ERROR;
}

void serving_end(Serving *s) {
    if (s->live)
        live_end(s->live); /* those who wait get what there is */
    serve_stop(s->serve);
    live_close(s->live);
    *s = (Serving){0};
}
