/*
 * serve/late.h - lazy loading of the libraries that only --http and --push need. Loading them, with
 * their own dependencies, takes as long as instrumenting a small program.
 */
#ifndef WHAMMC_SERVE_LATE_H
#define WHAMMC_SERVE_LATE_H

#include "base/buf.h"

#define CURL_DISABLE_TYPECHECK    /* its macros replace calls of the functions, not of pointers to \
                                     them */
#include <curl/curl.h>
#include <microhttpd.h>
#undef curl_easy_getinfo
#undef curl_easy_setopt

/* Functions of libcurl: curl->easy_init is curl_easy_init. */
typedef struct LateCurl {
#define CURL(name) __typeof__(curl_##name) *name;
#include "serve/late.def"
} LateCurl;

/* Functions of libmicrohttpd: mhd->start_daemon is MHD_start_daemon. */
typedef struct LateMhd {
#define MHD(name) __typeof__(MHD_##name) *name;
#include "serve/late.def"
} LateMhd;

/* Returns libcurl, initialised; on failure NULL, and a message is appended to `why`. Static
 * storage. Neither function may be called by several threads at once. */
const LateCurl *late_curl(Buf *why);
const LateMhd *late_mhd(Buf *why);

#endif
