/*
 * serve/serve.h - an HTTP server for the reports of a program while it runs.
 *
 * It answers GET and HEAD: the paths under /debug/pprof/ that `go tool pprof` and collectors ask
 * for, a flame graph, the report as JSON, CSV and tables, and a page with links to them. Pages of
 * other origins cannot read what it gives: there are no CORS headers, and requests must name the
 * address that it listens on (against DNS rebinding), or have the token.
 */
#ifndef WHAMMC_SERVE_SERVE_H
#define WHAMMC_SERVE_SERVE_H

#include "serve/live.h"
#include "serve/served.h"

typedef struct ServeOptions {
    const char *address; /* "[HOST:]PORT"; HOST: a numeric address or a name; "" = 127.0.0.1 */
    const char *token;   /* what requests must have; "" = nothing; NULL = nothing, for loopback */
    ServedProgram of;
    const char *const *command_line; /* of the program; ends with NULL */
} ServeOptions;

typedef struct Serve Serve;

/* Whether `address` and `token` can be used; else a message is appended to `why`. */
bool serve_check(const char *address, const char *token, Buf *why);
/* Begins to listen; what it gets stays the caller's. NULL: a message is appended to `why`. */
Serve *serve_start(const ServeOptions *options, Live *live, Buf *why);
/* Its URL, with a slash at the end. */
const char *serve_url(const Serve *s);
/* Ends all connections. NULL does nothing. */
void serve_stop(Serve *s);

#endif
