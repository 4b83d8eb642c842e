/*
 * base/dynamic.c - lazy loading of shared libraries.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_HTTP

#include "base/dynamic.h"

#include <dlfcn.h>

void *dynamic_load(const char *file, Buf *why) {
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        buf_printf(why, "%s", dlerror());
    return library;
}

bool dynamic_find(void *library, const char *function, void *pointer) {
    void *at = library ? dlsym(library, function) : NULL;
    memcpy(pointer, &at, sizeof at);
    return at != NULL;
}

void dynamic_explain(const char *file, void *library, Buf *why) {
    if (library)
        buf_printf(why, "%s lacks some functions: it is too old", file);
}

#endif
