/*
 * cli/find_program.c - finds other programs.
 */
#include "cli/process.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

char *process_find(const char *variable, const char *name) {
    const char *given = variable ? getenv(variable) : NULL;
    if (given && *given)
        name = given;
    if (strchr(name, '/'))
        return is_program(name) ? strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin";;) {
        size_t n = strcspn(p, ":");
        char *candidate = NULL;
        if (asprintf(&candidate, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name) < 0)
            return NULL;
        if (is_program(candidate))
            return candidate;
        free(candidate);
        if (!p[n])
            return NULL;
        p += n + 1;
    }
}
