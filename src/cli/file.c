/*
 * cli/file.c - reads whole files, and writes them atomically.
 */
#include "base/workers.h"
#include "cli/cli.h"
#include "cli/draft.h"
#include "cli/process.h"
#include "wasm/wat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 16 };
static const size_t size_limit = INT32_MAX; /* the library's maximum size of modules */

static bool is_dash(const char *path) {
    return strcmp(path, "-") == 0;
}

const char *file_title(const char *path) {
    return is_dash(path) ? "<stdin>" : path;
}

const char *file_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Appends the absolute form of a path: its folders from the root, each with its '/', then the
 * rest. */
static void add_absolute(const char *path, Buf *out) {
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        bool up = n == 2 && memcmp(at, "..", 2) == 0, here = n == 0 || (n == 1 && *at == '.');
        if (up && out->len > 1)
            for (out->len--; out->data[out->len - 1] != '/';)
                out->len--;
        if (!up && !here)
            buf_bytes(out, at, n);
        if (!up && !here && at[n])
            buf_u8(out, '/');
        at += n + (at[n] != 0);
    }
}

static bool make_absolute(const char *path, Buf *out) {
    char here[PATH_MAX];
    if (*path != '/' && !getcwd(here, sizeof here))
        return false;
    buf_u8(out, '/');
    if (*path != '/') {
        add_absolute(here, out);
        if (out->len > 1)
            buf_u8(out, '/');
    }
    add_absolute(path, out);
    return true;
}

void file_relative(const char *from, const char *to, Buf *out) {
    Buf base = {0}, path = {0};
    size_t same = 0;
    if (!make_absolute(from, &base) || !make_absolute(to, &path)) {
        buf_str(out, str_of(to));
    } else {
        for (size_t i = 0; i < base.len && i < path.len && base.data[i] == path.data[i]; i++)
            if (base.data[i] == '/')
                same = i + 1;
        same = same > 1 ? same : 0; /* they share only the root */
        for (size_t i = same; same && i < base.len; i++)
            if (base.data[i] == '/')
                buf_str(out, STR("../"));
        buf_bytes(out, path.data + same, path.len - same);
    }
    buf_free(&base);
    buf_free(&path);
}

/* ---- reading ---- */

/* The size of the parts of a regular file that threads read. */
#ifdef NDEBUG
enum { PART = 1 << 20 };
#else
enum { PART = 1 << 12 }; /* small files have several, too */
#endif
typedef struct Parts {
    int fd;
    off_t from;
    uint8_t *to;
    size_t size;
    atomic_bool failed;
} Parts;

static void file_read_part(void *ctx, uint32_t worker, uint32_t item) {
    Parts *p = ctx;
    size_t at = (size_t)item * PART, end = at + PART < p->size ? at + PART : p->size;
    (void)worker;
    while (at < end) {
        ssize_t n = pread(p->fd, p->to + at, end - at, p->from + (off_t)at);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            atomic_store(&p->failed, true);
            return;
        }
        at += n > 0 ? (size_t)n : 0;
    }
}

/* Reads a large regular file up to its current size. If that fails, nothing is read; the caller
 * reads it then and finds out why. `out` has room for the file. */
static void file_read_parts(int fd, size_t size, uint32_t threads, Buf *out) {
    off_t from = lseek(fd, 0, SEEK_CUR);
    if (from < 0 || size <= (size_t)from)
        return;
    Parts p = {.fd = fd, .from = from, .to = out->data + out->len, .size = size - (size_t)from};
    uint32_t parts = (uint32_t)((p.size + PART - 1) / PART);
    if (parts < 2 || threads < 2)
        return;
    workers_run(threads, parts, file_read_part, &p);
    if (!p.failed && lseek(fd, (off_t)size, SEEK_SET) >= 0)
        out->len += p.size;
}

/* Reads a whole file. False: errno tells why; EFBIG if it has more than `limit` bytes. */
static bool file_read_all(int fd, size_t limit, uint32_t threads, Buf *out) {
    struct stat s;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) {
        if ((uintmax_t)s.st_size > limit) {
            errno = EFBIG;
            return false;
        }
        buf_reserve(out, (size_t)s.st_size + 1);
        file_read_parts(fd, (size_t)s.st_size, threads, out);
    }
    for (;;) {
        buf_reserve(out, out->cap - out->len ? 1 : CHUNK);
        ssize_t n = read(fd, out->data + out->len, out->cap - out->len);
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        out->len += n > 0 ? (size_t)n : 0;
        if (out->len > limit) {
            errno = EFBIG;
            return false;
        }
    }
}

/* Reports an unreadable file; if it is a command, with a hint which subcommands run commands. */
static void tell_unreadable(const Cli *cli, const char *path, int error) {
    Buf hint = {0};
    char *program = error == ENOENT && !strchr(path, '/') ? process_find(NULL, path) : NULL;
    if (program)
        buf_printf(&hint,
                   "'%s' is a command; `whammc run`, `profile`, `coverage` and `annotate --` run "
                   "commands: "
                   "`whammc profile -- %s ...`",
                   path, path);
    message_one(cli, DIAG_CANNOT_READ, hint.len ? buf_cstr(&hint) : NULL, "%s: %s",
                file_title(path), strerror(error));
    buf_free(&hint);
    free(program);
}

bool file_read(const Cli *cli, const char *path, Buf *out) {
    static bool standard_input; /* has been read */
    if (is_dash(path) && standard_input) {
        message_one(cli, DIAG_CANNOT_READ, NULL,
                    "<stdin>: only one file can be '-', standard input");
        return false;
    }
    standard_input |= is_dash(path);
    int fd = is_dash(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && file_read_all(fd, size_limit, workers_threads(cli->threads), out);
    if (!ok)
        tell_unreadable(cli, path, errno);
    if (fd >= 0 && fd != STDIN_FILENO)
        close(fd);
    return ok;
}

bool file_read_module(const Cli *cli, const char *path, Buf *out) {
    if (!file_read(cli, path, out))
        return false;
    if (!wat_is_module(path, out))
        return true;
    Buf binary = {0};
    bool ok = text_assemble(cli, file_title(path), out, &binary);
    buf_free(out);
    *out = binary;
    return ok;
}

static const uint8_t component_magic[] = {0, 'a', 's', 'm', 0x0d, 0, 1, 0};

bool file_begins_component(const void *bytes, size_t size) {
    return size >= sizeof component_magic &&
           memcmp(bytes, component_magic, sizeof component_magic) == 0;
}

bool file_is_component(const char *path) {
    struct stat s;
    if (is_dash(path) || stat(path, &s) < 0 || !S_ISREG(s.st_mode))
        return false;
    uint8_t first[sizeof component_magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, first, sizeof first) == sizeof first &&
              file_begins_component(first, sizeof first);
    if (fd >= 0)
        close(fd);
    return is;
}

bool file_read_source(const char *path, size_t limit, Buf *out) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool ok =
        fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && file_read_all(fd, limit, 1, out);
    if (fd >= 0)
        close(fd);
    return ok;
}

int64_t file_time(const char *path) {
    enum { SECOND = 1000000000 };
    struct stat s;
    int64_t ns;
    if (is_dash(path) || stat(path, &s) < 0 || !S_ISREG(s.st_mode) ||
        __builtin_mul_overflow((int64_t)s.st_mtim.tv_sec, (int64_t)SECOND, &ns))
        return 0;
    return ns + s.st_mtim.tv_nsec;
}

/* ---- writing ---- */

bool file_write_fd(int fd, const void *data, size_t len) {
    const char *p = data;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno != EINTR)
            return false;
        p += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Writes to a device or a pipe. */
static bool write_through(const char *path, const void *data, size_t len) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = file_write_fd(fd, data, len);
    int e = errno;
    if (close(fd) < 0 && ok)
        return false;
    errno = e;
    return ok;
}

static mode_t new_file_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Writes to a new file in the same folder and renames it to `path`. Its temporary name is short,
 * since that of `path` may have the maximum length. */
static bool write_and_rename(const char *path, mode_t mode, const void *data, size_t len) {
    char *temporary = NULL;
    int folder = (int)(file_base(path) - path);
    if (asprintf(&temporary, "%.*s.whammc-XXXXXX", folder, path) < 0)
        return false;
    int fd = mkostemp(temporary, O_CLOEXEC), e = errno;
    bool made = fd >= 0;
    bool ok = made && fchmod(fd, mode) == 0 && file_write_fd(fd, data, len);
    if (made) {
        e = errno;
        if (close(fd) < 0 && ok)
            ok = false, e = errno;
    }
    if (ok && rename(temporary, path) < 0)
        ok = false, e = errno;
    if (made && !ok)
        unlink(temporary);
    free(temporary);
    errno = e;
    return ok;
}

/* Returns the target of a symbolic link, on the heap, whether it exists or not. NULL: errno tells
 * why. */
static char *through_links(const char *path) {
    enum { MOST_LINKS = 40 };
    char target[PATH_MAX], *at = strdup(path);
    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t n = readlink(at, target, sizeof target - 1);
        if (n < 0)
            return at;
        target[n] = 0;
        int folder = *target == '/' ? 0 : (int)(file_base(at) - at);
        char *next = NULL;
        bool ok = asprintf(&next, "%.*s%s", folder, at, target) >= 0;
        free(at);
        if (!ok)
            return NULL;
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

/* Returns the file to write for a path, on the heap, and its mode. NULL: errno tells why; 0: it is
 * no regular file. A dangling link creates its target. */
static char *find_target(const char *path, mode_t *mode) {
    struct stat s;
    *mode = new_file_mode();
    if (stat(path, &s) < 0)
        return errno == ENOENT ? through_links(path) : NULL;
    *mode = s.st_mode & 07777;
    errno = S_ISDIR(s.st_mode) ? EISDIR : 0;
    /* A file that may not be written is not replaced either; links stay links. */
    return S_ISREG(s.st_mode) && access(path, W_OK) == 0 ? realpath(path, NULL) : NULL;
}

static bool write_file(const char *path, const void *data, size_t len) {
    mode_t mode;
    char *real = find_target(path, &mode);
    if (!real)
        return errno == 0 && write_through(path, data, len);
    bool ok = write_and_rename(real, mode, data, len);
    int e = errno;
    free(real);
    errno = e;
    return ok;
}

/* Returns the folder of a path, on the heap. NULL: errno. */
static char *folder_of(const char *path) {
    char *folder;
    return asprintf(&folder, "%.*s.", (int)(file_base(path) - path), path) < 0 ? NULL : folder;
}

static bool stat_folder(const char *path, struct stat *out) {
    char *folder = folder_of(path);
    bool ok = folder && stat(folder, out) == 0;
    free(folder);
    return ok;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns whether two paths that do not exist name the same file. */
static bool will_be_same(const char *a, const char *b) {
    struct stat x, y;
    char *to_a = through_links(a), *to_b = through_links(b);
    bool same = to_a && to_b && strcmp(file_base(to_a), file_base(to_b)) == 0 &&
                stat_folder(to_a, &x) && stat_folder(to_b, &y) && same_inode(&x, &y);
    free(to_a);
    free(to_b);
    return same;
}

bool file_same(const char *a, const char *b) {
    struct stat x, y;
    if (is_dash(a) || is_dash(b))
        return is_dash(a) && is_dash(b);
    bool there = stat(a, &x) == 0;
    if (there != (stat(b, &y) == 0))
        return false;
    return there ? S_ISREG(x.st_mode) && same_inode(&x, &y) : will_be_same(a, b);
}

bool file_write(const Cli *cli, const char *path, const void *data, size_t len) {
    bool ok;
    if (is_dash(path)) {
        fflush(stdout);
        ok = file_write_fd(STDOUT_FILENO, data, len);
    } else {
        process_guard(); /* so that the temporary does not stay */
        ok = write_file(path, data, len);
        int e = errno;
        process_unguard();
        errno = e;
    }
    if (!ok)
        message_one(cli, DIAG_CANNOT_WRITE, NULL, "%s: %s", is_dash(path) ? "<stdout>" : path,
                    strerror(errno));
    return ok;
}

bool file_check_writable(const Cli *cli, const char *path) {
    if (is_dash(path))
        return true;
    mode_t mode;
    char *real = find_target(path, &mode), *folder = real ? folder_of(real) : NULL;
    bool ok =
        real ? folder && access(folder, W_OK | X_OK) == 0 : errno == 0; /* a device or a pipe */
    if (!ok)
        message_one(cli, DIAG_CANNOT_WRITE, NULL, "%s: %s", path, strerror(errno));
    free(real);
    free(folder);
    return ok;
}

/* ---- drafts ---- */

void file_draft(const Cli *cli, const char *path, Draft *d) {
    mode_t mode;
    bool possible = !is_dash(path) && workers_threads(cli->threads) > 1;
    char *real = possible ? find_target(path, &mode) : NULL;
    draft_begin(d, real, real && access(real, F_OK) == 0);
    free(real);
}

/* Gives a complete draft a free temporary name, returned on the heap; NULL: none was free. */
static char *name_draft(const Draft *d, mode_t mode, const char *path) {
    enum { TRIES = 100 };
    int folder = (int)(file_base(path) - path);
    for (int i = 0; i < TRIES; i++) {
        char *name = NULL;
        if (asprintf(&name, "%.*s.whammc-%lx-%d", folder, path, (unsigned long)getpid(), i) < 0)
            return NULL;
        if (draft_name(d, mode, name))
            return name;
        free(name);
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

/* Lets a complete draft replace a file. */
static bool place_draft(const Draft *d, mode_t mode, const char *path) {
    process_guard(); /* so that the temporary name does not stay */
    char *temporary = name_draft(d, mode, path);
    bool ok = temporary && rename(temporary, path) == 0;
    if (temporary && !ok)
        unlink(temporary);
    process_unguard();
    free(temporary);
    return ok;
}

bool file_write_draft(const Cli *cli, const char *path, Draft *d, const Buf *contents) {
    mode_t mode;
    char *real = draft_complete(d, contents) ? find_target(path, &mode) : NULL;
    bool ok = real && place_draft(d, mode, real);
    free(real);
    return ok || file_write(cli, path, contents->data, contents->len);
}
