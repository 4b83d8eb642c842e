/*
 * cli/scratch_dir.c - a temporary directory for files of other programs.
 */
#include "cli/scratch_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool scratch_dir_put_file(const char *path, const void *data, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (file_write_fd(fd, data, len))
        return close(fd) == 0;
    int e = errno;
    close(fd);
    errno = e;
    return false;
}

bool place_make(Place *p, const char *unwanted) {
    const char *top = getenv("TMPDIR");
    if (!top || !*top || (unwanted && strpbrk(top, unwanted)))
        top = "/tmp";
    if (asprintf(&p->directory, "%s/whammc-XXXXXX", top) < 0)
        p->directory = NULL;
    return p->directory && mkdtemp(p->directory);
}

const char *place_path(Place *p, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", p->directory, name) < 0)
        return NULL;
    vec_push(&p->made, path);
    return path;
}

const char *place_file(Place *p, const char *name, const void *data, size_t len) {
    const char *path = place_path(p, name);
    return path && scratch_dir_put_file(path, data, len) ? path : NULL;
}

const char *place_directory(Place *p, const char *name) {
    const char *path = place_path(p, name);
    return path && mkdir(path, 0700) == 0 ? path : NULL;
}

void place_found(Place *p, const char *directory) {
    DIR *d = opendir(directory);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char *path = NULL;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            asprintf(&path, "%s/%s", directory, e->d_name) < 0)
            continue;
        vec_push(&p->made, path); /* is removed after what is in it */
        if (e->d_type == DT_DIR)
            place_found(p, path);
    }
    if (d)
        closedir(d);
}

void place_remove(Place *p) {
    while (p->made.len) {
        char *path = p->made.at[--p->made.len];
        remove(path); /* fails if it was never made */
        free(path);
    }
    vec_free(&p->made);
    if (p->directory)
        rmdir(p->directory);
    free(p->directory);
    *p = (Place){0};
}
