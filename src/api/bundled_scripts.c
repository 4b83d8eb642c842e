/*
 * api/bundled_scripts.c - scripts that come with whammc.
 */
#include "api/bundled_scripts.h"

#include "whammc/whammc.h"

#include <string.h>

static const char *bundled_find(const BundledScript *s, const char *name, size_t *len) {
    for (; s->name; s++) {
        if (strcmp(s->name, name) != 0)
            continue;
        *len = *s->size;
        return (const char *)s->text;
    }
    return NULL;
}

const char *whammc_bundled_script(const char *name, size_t *len) {
    return bundled_find(bundled_scripts, name, len);
}

const char *bundled_package(const char *path, size_t *len) {
    return bundled_find(bundled_packages, path, len);
}

const char *whammc_bundled_name(size_t n) {
    const BundledScript *s = bundled_scripts;
    while (s->name && n--)
        s++;
    return s->name;
}

bool script_is_for_all(const char *text, size_t len) {
    for (const BundledScript *s = bundled_scripts; s->name; s++)
        if (s->for_all && *s->size == len && memcmp(s->text, text, len) == 0)
            return true;
    return false;
}
