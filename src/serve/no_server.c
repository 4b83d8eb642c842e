/*
 * serve/no_server.c - what there is instead of the server (serve/serve.c) and of its connection to
 * the runner (serve/live.c) in builds without libmicrohttpd: no address can be used.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "serve/serve.h"

#ifndef HAVE_MICROHTTPD

#include <errno.h>

bool serve_check(const char *address, const char *token, Buf *why) {
    (void)address, (void)token;
    buf_printf(why, "this build of whammc has no HTTP server: it was built without libmicrohttpd");
    return false;
}

Serve *serve_start(const ServeOptions *options, Live *live, Buf *why) {
    (void)live;
    serve_check(options->address, options->token, why);
    return NULL;
}

const char *serve_url(const Serve *s) {
    (void)s;
    return "";
}

void serve_stop(Serve *s) {
    (void)s;
}

Live *live_open(void) {
    errno = ENOSYS;
    return NULL;
}

const char *live_option(const Live *l) {
    (void)l;
    return "";
}

void live_begin(Live *l) {
    (void)l;
}

void live_end(Live *l) {
    (void)l;
}

void live_close(Live *l) {
    (void)l;
}

#endif
