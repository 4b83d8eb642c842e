/*
 * serve/late.c - lazy loading of libraries.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_HTTP

#include "serve/late.h"

#include <dlfcn.h>

/* NULL: a message is appended to `why`. */
static void *load(const char *file, Buf *why) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        buf_printf(why, "%s", dlerror());
    return library;
}

/* Sets a pointer to the function; false if there is none, or no library. */
static bool find(void *library, const char *function, void *pointer) {
    void *at = library ? dlsym(library, function) : NULL;
    memcpy(pointer, &at, sizeof at);
    return at != NULL;
}

static void explain(const char *file, void *library, Buf *why) {
    if (library)
        buf_printf(why, "%s lacks some functions: it is too old", file);
}

const LateCurl *late_curl(Buf *why) {
    static LateCurl curl;
    if (curl.url)
        return &curl;
    LateCurl found;
    void *library = load(CURL_FILE, why);
    bool all = library != NULL;
#define CURL(name) all = find(library, "curl_" #name, &found.name) && all;
#include "serve/late.def"
    if (!all) {
        explain(CURL_FILE, library, why);
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
    void *library = load(MICROHTTPD_FILE, why);
    bool all = library != NULL;
#define MHD(name) all = find(library, "MHD_" #name, &found.name) && all;
#include "serve/late.def"
    if (!all) {
        explain(MICROHTTPD_FILE, library, why);
        return NULL;
    }
    mhd = found;
    return &mhd;
}

#endif
