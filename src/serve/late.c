/*
 * serve/late.c - lazy loading of libcurl and libmicrohttpd.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_HTTP

#include "serve/late.h"
#include "base/dynamic.h"

const LateCurl *late_curl(Buf *why) {
    static LateCurl curl;
    if (curl.url)
        return &curl;
    LateCurl found;
    void *library = dynamic_load(CURL_FILE, why);
    bool all = library != NULL;
#define CURL(name) all = dynamic_find(library, "curl_" #name, &found.name) && all;
#include "serve/late.def"
    if (!all) {
        dynamic_explain(CURL_FILE, library, why);
        return NULL;
    }
    found.global_init(CURL_GLOBAL_DEFAULT);
    curl = found;
    return &curl;
}

const LateMhd *late_mhd(Buf *why) {
    static LateMhd mhd;
    if (mhd.start_daemon)
        return &mhd;
    LateMhd found;
    void *library = dynamic_load(MICROHTTPD_FILE, why);
    bool all = library != NULL;
#define MHD(name) all = dynamic_find(library, "MHD_" #name, &found.name) && all;
#include "serve/late.def"
    if (!all) {
        dynamic_explain(MICROHTTPD_FILE, library, why);
        return NULL;
    }
    mhd = found;
    return &mhd;
}

#endif
