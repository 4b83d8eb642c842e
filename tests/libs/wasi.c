/*
 * wasi.c - a library for tests: each function calls functions of WASI and makes one number of what
 * they give, which must be the same wherever the library is.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wasi/api.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { DIRECTORY = 3 };

static char text[70000];

/* Joins a result and an error number into a running check sum. */
static uint32_t mix(uint32_t sum, uint64_t n) {
    return (sum ^ (uint32_t)n ^ (uint32_t)(n >> 32)) * 0x01000193u;
}

static uint32_t mix_bytes(uint32_t sum, const void *bytes, size_t len) {
    const uint8_t *p = bytes;
    while (len--)
        sum = mix(sum, *p++);
    return sum;
}

static uint32_t mix_strings(uint32_t sum, uint8_t **list, size_t n) {
    for (size_t i = 0; i < n; i++)
        sum = mix_bytes(sum, list[i], strlen((const char *)list[i]));
    return sum;
}

static int32_t error_count;

static uint32_t count_error(uint32_t error) {
    error_count += error != 0;
    return error;
}
#define CALL(name, ...) count_error(__wasi_##name(__VA_ARGS__))

/* How many of the calls below have failed. */
EXPORT("errors") int32_t errors(void) {
    return error_count;
}

/* Arguments and environment. */
EXPORT("strings") int32_t strings(void) {
    static uint8_t *list[200];
    static uint8_t bytes[20000];
    size_t n = 0, size = 0;
    uint32_t sum = mix(0, CALL(environ_sizes_get, &n, &size));
    if (n <= 200 && size <= sizeof bytes)
        sum = mix_strings(mix(sum, CALL(environ_get, list, bytes)), list, n);
    sum = mix(mix(sum, n), size);
    sum = mix(sum, CALL(args_sizes_get, &n, &size));
    if (n <= 200 && size <= sizeof bytes)
        sum = mix(sum, CALL(args_get, list, bytes));
    for (size_t i = 0; i < n; i++) /* the first is the name of the module */
        sum = mix(sum, list[i] >= bytes && list[i] < bytes + size);
    return (int32_t)mix(sum, n);
}

enum {
    FILE_RIGHTS = __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_WRITE | __WASI_RIGHTS_FD_SEEK |
                  __WASI_RIGHTS_FD_TELL | __WASI_RIGHTS_FD_SYNC | __WASI_RIGHTS_FD_DATASYNC |
                  __WASI_RIGHTS_FD_FILESTAT_GET | __WASI_RIGHTS_FD_FILESTAT_SET_SIZE |
                  __WASI_RIGHTS_FD_FDSTAT_SET_FLAGS,
};

static uint32_t open_file(const char *name, __wasi_oflags_t flags, uint64_t rights,
                          __wasi_fd_t *fd) {
    return CALL(path_open, DIRECTORY, 0, name, flags, rights, 0, 0, fd);
}

/* Steps over `done` bytes of a list of buffers; false at its end. */
static bool step(__wasi_iovec_t *list, size_t n, size_t done) {
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = list[i].buf_len < done ? list[i].buf_len : done;
        list[i].buf += k;
        list[i].buf_len -= k;
        done -= k;
        left += list[i].buf_len;
    }
    return left;
}

/* All of a list of buffers, however much one call moves. `at` -1 = where the file stands. */
static uint32_t move_all(bool write, __wasi_fd_t fd, __wasi_iovec_t *list, size_t n, int64_t at) {
    size_t done;
    uint32_t error;
    do {
        const __wasi_ciovec_t *out = (const __wasi_ciovec_t *)list;
        done = 0;
        if (write)
            error = at < 0 ? CALL(fd_write, fd, out, n, &done)
                           : CALL(fd_pwrite, fd, out, n, (uint64_t)at, &done);
        else
            error = at < 0 ? CALL(fd_read, fd, list, n, &done)
                           : CALL(fd_pread, fd, list, n, (uint64_t)at, &done);
        at += at < 0 ? 0 : (int64_t)done;
    } while (!error && done && step(list, n, done));
    return error;
}

/* Reading and writing at places, from and to several buffers. */
EXPORT("buffers") int32_t buffers(void) {
    __wasi_fd_t fd = 0;
    uint8_t a[5] = "", b[1] = "", c[90] = "", end[] = "end";
    __wasi_filesize_t at = 0;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * i % 251);
    uint32_t sum =
        mix(0, open_file("wasi.bin", __WASI_OFLAGS_CREAT | __WASI_OFLAGS_TRUNC, FILE_RIGHTS, &fd));
    __wasi_iovec_t out[] = {
        {(uint8_t *)text, 3}, {NULL, 0}, {(uint8_t *)text, sizeof text}, {end, 3}};
    sum = mix(sum, move_all(true, fd, out, 4, -1));
    __wasi_iovec_t more[] = {{(uint8_t *)text, 60000}, {end, 2}};
    sum = mix(sum, move_all(true, fd, more, 2, 69999));
    sum = mix(mix(sum, CALL(fd_tell, fd, &at)), at);
    sum = mix(mix(sum, CALL(fd_seek, fd, -80, __WASI_WHENCE_END, &at)), at);
    __wasi_iovec_t in[] = {{a, sizeof a}, {b, 0}, {c, sizeof c}};
    sum = mix(sum, move_all(false, fd, in, 3, -1));
    sum = mix_bytes(mix_bytes(mix_bytes(sum, a, sizeof a), b, sizeof b), c, sizeof c);
    memset(text, 0, sizeof text);
    __wasi_iovec_t large = {(uint8_t *)text, 69990};
    sum = mix(sum, move_all(false, fd, &large, 1, 5));
    sum = mix_bytes(sum, text, sizeof text);
    sum = mix(mix(sum, CALL(fd_sync, fd)), CALL(fd_datasync, fd));
    return (int32_t)mix(sum, CALL(fd_close, fd));
}

/* What is known of files, and moving them about. */
EXPORT("files") int32_t files(void) {
    __wasi_fd_t fd = 0;
    __wasi_filestat_t stat;
    __wasi_fdstat_t fdstat;
    size_t done = 0;
    uint32_t sum = mix(0, open_file("one", __WASI_OFLAGS_CREAT, FILE_RIGHTS, &fd));
    memset(&stat, 0x55, sizeof stat);
    sum = mix(mix(sum, CALL(fd_filestat_set_size, fd, 77)), CALL(fd_filestat_get, fd, &stat));
    sum = mix(mix(sum, stat.size), stat.filetype);
    sum = mix(mix(sum, CALL(fd_fdstat_get, fd, &fdstat)), fdstat.fs_filetype);
    sum = mix(mix(sum, CALL(fd_fdstat_set_flags, fd, 0)), CALL(fd_close, fd));
    sum = mix(sum, CALL(path_rename, DIRECTORY, "one", DIRECTORY, "two"));
    sum = mix(sum, CALL(path_create_directory, DIRECTORY, "sub"));
    sum = mix(sum, CALL(path_link, DIRECTORY, 0, "two", DIRECTORY, "sub/three"));
    sum = mix(sum, CALL(path_symlink, "two", DIRECTORY, "four"));
    sum = mix(mix(sum, CALL(path_readlink, DIRECTORY, "four", (uint8_t *)text, 100, &done)), done);
    sum = mix_bytes(sum, text, done);
    sum = mix(sum, CALL(path_filestat_set_times, DIRECTORY, 0, "two", 5000000000, 6000000000, 5));
    sum = mix(mix(sum, CALL(path_filestat_get, DIRECTORY, 0, "sub/three", &stat)), stat.size);
    sum = mix(mix(sum, stat.mtim), stat.nlink);
    sum = mix(sum, CALL(path_filestat_get, DIRECTORY, 0, "nothing", &stat));
    sum = mix(sum, CALL(path_unlink_file, DIRECTORY, "four"));
    sum = mix(sum, CALL(path_unlink_file, DIRECTORY, "two"));
    sum = mix(sum, CALL(path_remove_directory, DIRECTORY, "sub")); /* not empty */
    sum = mix(sum, CALL(path_unlink_file, DIRECTORY, "sub/three"));
    return (int32_t)mix(sum, CALL(path_remove_directory, DIRECTORY, "sub"));
}

/* The names in a new directory, in any order; the given one's name. */
EXPORT("names") int32_t names(void) {
    __wasi_prestat_t prestat;
    __wasi_fd_t fd = 0;
    uint8_t name[200] = "";
    size_t used = 0;
    uint32_t sum = mix(0, CALL(fd_prestat_get, DIRECTORY, &prestat)), all = 0;
    size_t len = prestat.u.dir.pr_name_len;
    sum = mix(mix(sum, len), CALL(fd_prestat_dir_name, DIRECTORY, name, len));
    sum = mix(mix_bytes(sum, name, sizeof name), CALL(fd_prestat_get, DIRECTORY + 10, &prestat));
    sum = mix(sum, CALL(path_create_directory, DIRECTORY, "names"));
    sum = mix(sum, CALL(path_create_directory, DIRECTORY, "names/a"));
    sum = mix(sum, CALL(path_create_directory, DIRECTORY, "names/bc"));
    sum = mix(sum, open_file("names", __WASI_OFLAGS_DIRECTORY, __WASI_RIGHTS_FD_READDIR, &fd));
    sum = mix(sum, CALL(fd_readdir, fd, (uint8_t *)text, 4096, 0, &used));
    for (size_t at = 0; at + sizeof(__wasi_dirent_t) <= used;) {
        __wasi_dirent_t entry;
        memcpy(&entry, text + at, sizeof entry);
        at += sizeof entry;
        all += mix_bytes(entry.d_type, text + at, entry.d_namlen);
        at += entry.d_namlen;
    }
    sum = mix(mix(sum, all), CALL(fd_close, fd));
    sum = mix(sum, CALL(path_remove_directory, DIRECTORY, "names/a"));
    sum = mix(sum, CALL(path_remove_directory, DIRECTORY, "names/bc"));
    return (int32_t)mix(sum, CALL(path_remove_directory, DIRECTORY, "names"));
}

/* Waits two milliseconds. */
EXPORT("waits") int32_t waits(void) {
    __wasi_subscription_t in[2];
    __wasi_event_t out[2];
    __wasi_timestamp_t before = 0, after = 0;
    size_t n = 0;
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    for (int i = 0; i < 2; i++) {
        in[i].userdata = 1000u + (unsigned)i;
        in[i].u.tag = __WASI_EVENTTYPE_CLOCK;
        in[i].u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
        in[i].u.u.clock.timeout = i ? 20000000000 : 2000000;
    }
    uint32_t sum = mix(0, CALL(clock_time_get, __WASI_CLOCKID_MONOTONIC, 0, &before));
    sum = mix(mix(sum, CALL(poll_oneoff, in, out, 2, &n)), n);
    sum = mix(sum, CALL(clock_time_get, __WASI_CLOCKID_MONOTONIC, 0, &after));
    sum = mix(mix(sum, out[0].userdata), out[0].error);
    sum = mix(mix(sum, after - before >= 1000000), after - before < 10000000000);
    return (int32_t)mix(mix(sum, CALL(poll_oneoff, in, out, 0, &n)),
                        count_error(__wasi_sched_yield()));
}

/* Random bytes: all of a long buffer, no more. */
EXPORT("random_bytes") int32_t random_bytes(void) {
    uint32_t parts = 0;
    memset(text, 0, sizeof text);
    uint32_t sum = mix(0, CALL(random_get, (uint8_t *)text, 69000));
    for (uint32_t i = 0; i < 69000; i++)
        parts |= text[i] ? 1u << i / 3000 : 0;
    for (uint32_t i = 69000; i < sizeof text; i++)
        sum = mix(sum, (uint64_t)text[i]);
    return (int32_t)mix(sum, parts);
}

/* Addresses behind the end of the memory are errors, not traps. */
EXPORT("faults") int32_t faults(void) {
    uint8_t *out = (uint8_t *)((size_t)__builtin_wasm_memory_size(0) * 65536 - 4);
    __wasi_iovec_t far = {out, 100}, *list = (void *)out;
    size_t done = 7;
    uint32_t failed = 0;
    failed += __wasi_random_get(out, 100) != 0;
    failed += __wasi_clock_time_get(__WASI_CLOCKID_REALTIME, 0, (void *)out) != 0;
    failed += __wasi_fd_read(0, list, 1, &done) != 0;
    failed += __wasi_fd_write(1, (__wasi_ciovec_t *)&far, 1, &done) != 0;
    failed += __wasi_fd_write(99, (__wasi_ciovec_t *)&far, 0, &done) != 0;
    failed += __wasi_fd_fdstat_get(1, (void *)(out - 8)) != 0;
    return (int32_t)(done == 7 ? failed : 0);
}

/* Ends the program. */
EXPORT("leave") void leave(int32_t status) {
    __wasi_proc_exit((uint32_t)status);
}
