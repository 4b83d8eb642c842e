/*
 * serve/serve.h - an HTTP server for the reports of a running program.
 *
 * It serves GET and HEAD requests: the paths under /debug/pprof/ that `go tool pprof` and
 * collectors request, a flame graph, the report as JSON, CSV and tables, and a page with links to
 * them. Pages of other origins cannot read the responses: there are no CORS headers, and the Host
 * header must name the address that the server listens on (against DNS rebinding), or the request
 * must have the token.
 */
#ifndef WHAMMC_SERVE_SERVE_H
#define WHAMMC_SERVE_SERVE_H

#include "serve/live.h"
#include "serve/served.h"

typedef struct ServeOptions {
    const char *address; /* "[HOST:]PORT"; HOST: a numeric address or a name; "" = 127.0.0.1 */
    const char *token;   /* required in requests; "" = none; NULL = none, on loopback only */
    ServedProgram of;
    const char *const *command_line; /* of the program; ends with NULL */
} ServeOptions;

typedef struct Serve Serve;

/* Returns whether `address` and `token` are valid; if not, appends a message to `why`. */
bool serve_check(const char *address, const char *token, Buf *why);
/* Starts the server. The caller keeps the arguments alive until serve_stop. On failure returns NULL
 * and appends a message to `why`. */
Serve *serve_start(const ServeOptions *options, Live *live, Buf *why);
/* Returns its URL, with a slash at the end. */
const char *serve_url(const Serve *s);
/* Waits a moment, after live_end(), for the answers that are being sent, closes all connections and
 * frees the server. NULL does nothing. */
void serve_stop(Serve *s);

#endif
