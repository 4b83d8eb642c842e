/*
 * serve/no_server.c - stubs for serve/serve.c, serve/push.c and serve/live.c in builds without HTTP
 * (configure --without-http), which reject every address.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "serve/push.h"
#include "serve/serve.h"

#ifndef HAVE_HTTP

#include <errno.h>

bool serve_check(const char *address, const char *token, Buf *why) {
    (void)address, (void)token;
    buf_printf(why, "this build of whammc has no HTTP");
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

bool push_check(const char *url, Buf *why) {
    return serve_check(url, NULL, why);
}

Push *push_start(const PushOptions *options, Live *live, Buf *why) {
    (void)live;
    push_check(options->url, why);
    return NULL;
}

void push_finish(Push *p, const Buf *report) {
    (void)p, (void)report;
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

void live_end(Live *l, const Buf *report) {
    (void)l, (void)report;
}

bool live_timer_start(LiveTimer *t, Buf *why) {
    serve_check("", NULL, why);
    t->live = NULL;
    return false;
}

void live_timer_end(LiveTimer *t) {
    (void)t;
}

void live_close(Live *l) {
    (void)l;
}

#endif
