/*
 * whammc/lsp.h - the language server: what an editor asks about scripts, in the Language Server
 * Protocol 3.17 (https://microsoft.github.io/language-server-protocol/). It works in memory: its
 * user passes messages on, reads files, and runs programs. `whammc lsp` is one, on the standard
 * streams; a page can be another.
 */
#ifndef WHAMMC_LSP_H
#define WHAMMC_LSP_H

#include "whammc/whammc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct whammc_server whammc_server;

/* What the server asks of its user. All functions but `send` may be NULL. */
typedef struct whammc_server_host {
    /* Sends a message, JSON in UTF-8, to the client. */
    void (*send)(void *ctx, const char *message, size_t len);
    /* Finds a file that a script includes, as for whammc_set_files; `from` is the path of the
     * script, or its URI if that is no path. */
    whammc_find find;
    /* Reads a file: its bytes, which are valid until the next call; NULL = it cannot be read. */
    const void *(*read)(void *ctx, const char *path, size_t *size);
    /*
     * Runs whammc with `n` arguments ("run", "-s", "script.whamm", ...) in the background, and with
     * a report in JSON, of which whammc_server_report is told; then whammc_server_ran. `run`
     * identifies the call. Returns 0 if it cannot start.
     */
    int (*run)(void *ctx, unsigned run, const char *const *arguments, size_t n);
    /* Ends a run; whammc_server_ran is told of its end. */
    void (*stop)(void *ctx, unsigned run);
    void *ctx;
} whammc_server_host;

/* A new server. The host is copied; its functions get `ctx`. */
whammc_server *whammc_server_new(const whammc_server_host *host);

/* A message of the client, JSON in UTF-8, without the header. Answers are sent at once. */
void whammc_server_receive(whammc_server *s, const char *message, size_t len);

/* Nothing more is to be received at the moment: checks the scripts that have changed, and sends
 * what is wrong with them. */
void whammc_server_idle(whammc_server *s);

/* The report of a run as it is so far, and what the program printed since the last call; each may
 * be NULL. */
void whammc_server_report(whammc_server *s, unsigned run, const char *report, size_t len);
void whammc_server_output(whammc_server *s, unsigned run, const char *text, size_t len);
/* The run has ended with an exit status. */
void whammc_server_ran(whammc_server *s, unsigned run, int status);

/* Whether the client has told it to exit: 0 = not; 1 = after it had told it to shut down; 2 =
 * without. */
int whammc_server_exits(const whammc_server *s);

void whammc_server_free(whammc_server *s);

#ifdef __cplusplus
}
#endif
#endif
