/*
 * cli/place.c - a temporary directory for what other programs read and write.
 */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool put_file(const char *path, const void *data, size_t len) {
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

/* For nftw. */
static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at) {
    (void)s, (void)type, (void)at;
    remove(path);
    return 0;
}

/* Removes the directories of processes that were killed: "whammc-PID-XXXXXX". */
static void sweep(const char *top) {
    DIR *d = opendir(top);
    for (struct dirent *e; d && (e = readdir(d));) {
        long pid;
        char *path = NULL;
        struct stat s;
        if (sscanf(e->d_name, "whammc-%ld-", &pid) != 1 || pid <= 0 || kill((pid_t)pid, 0) == 0 ||
            errno != ESRCH || asprintf(&path, "%s/%s", top, e->d_name) < 0)
            continue;
        if (lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == getuid())
            nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        free(path);
    }
    if (d)
        closedir(d);
}

bool place_make(Place *p, const char *unwanted) {
    const char *top = getenv("TMPDIR");
    if (!top || !*top || (unwanted && strpbrk(top, unwanted)))
        top = "/tmp";
    sweep(top);
    if (asprintf(&p->directory, "%s/whammc-%ld-XXXXXX", top, (long)getpid()) < 0)
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
    return path && put_file(path, data, len) ? path : NULL;
}

const char *place_directory(Place *p, const char *name) {
    const char *path = place_path(p, name);
    return path && mkdir(path, 0700) == 0 ? path : NULL;
}

void place_remove(Place *p) {
    while (p->made.len) {
        char *path = p->made.at[--p->made.len];
        remove(path); /* what was never made is not there */
        free(path);
    }
    vec_free(&p->made);
    if (p->directory)
        rmdir(p->directory);
    free(p->directory);
    *p = (Place){0};
}
