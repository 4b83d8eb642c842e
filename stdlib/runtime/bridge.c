/*
 * runtime/bridge.c - WASI preview 1 for a library inside a program.
 *
 * WASI reads and writes the memory that the program exports. A library that has become part of the
 * program has a memory of its own, so its addresses are meaningless to WASI. Each function here
 * replaces the WASI function of the same name for the library: it borrows bytes of the program's
 * memory, copies the library's arguments there, calls WASI, copies the results to the library, and
 * restores the program's bytes, which are saved in the memory of this module.
 *
 * Modules app and lib (the two memories) and copy are made by the compiler (link/bridge.c), not
 * by a host. Functions that take no addresses are not here: the library calls WASI itself.
 */
#include <stdbool.h>
#include <stdint.h>

#define EXPORT(name)         __attribute__((export_name(name), visibility("default")))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define WASI(name)           IMPORT("wasi_snapshot_preview1", #name) uint32_t wasi_##name

/* ---- the two memories; `app` and `lib` are addresses there ---- */

IMPORT("app", "size") uint64_t app_size(void); /* bytes */
IMPORT("app", "load") uint32_t app_load(uint32_t app);
IMPORT("app", "store") void app_store(uint32_t app, uint32_t v);
IMPORT("lib", "size") uint64_t lib_size(void);
IMPORT("lib", "load") uint32_t lib_load(uint32_t lib);
IMPORT("lib", "store") void lib_store(uint32_t lib, uint32_t v);
IMPORT("copy", "app_lib") void copy_app_lib(uint32_t app, uint32_t lib, uint32_t len);
IMPORT("copy", "lib_app") void copy_lib_app(uint32_t lib, uint32_t app, uint32_t len);
IMPORT("copy", "app_own") void copy_app_own(uint32_t app, const void *own, uint32_t len);
IMPORT("copy", "own_app") void copy_own_app(void *own, uint32_t app, uint32_t len);

/* ---- borrowing ---- */

/* Error numbers of WASI. */
enum { SUCCESS = 0, FAULT = 21, NO_MEMORY = 48 };

enum {
    FIRST = 64, /* the first borrowed byte */
    PAGE = 65536,
    MAX_DATA = 65536, /* bytes that one call of a reading or writing function moves */
    MAX_RESULTS = 2,
};

/* A result: to be copied to the library if the call succeeds. */
typedef struct Result {
    uint32_t lib, app, len;
} Result;

static uint32_t borrowed; /* bytes after FIRST */
static uint32_t failure;
static Result results[MAX_RESULTS];
static uint32_t result_count;

extern uint8_t __heap_base[]; /* from here on the program's bytes are saved */

static void begin(void) {
    borrowed = result_count = 0;
    failure = SUCCESS;
}

/* Makes room in our memory to save `end` bytes. */
static bool can_save(uint64_t end) {
    uint64_t want = (uint64_t)(uintptr_t)__heap_base + end;
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    return want <= have ||
           __builtin_wasm_memory_grow(0, (uint32_t)((want - have + PAGE - 1) / PAGE)) != UINT32_MAX;
}

/* Borrows bytes, saving their contents; returns their address. */
static uint32_t area(uint64_t len) {
    uint32_t app = FIRST + borrowed;
    uint64_t end = borrowed + ((len + 7) & ~(uint64_t)7);
    if (failure)
        return 0;
    if (FIRST + end > app_size() || end > UINT32_MAX || !can_save(end)) {
        failure = NO_MEMORY;
        return 0;
    }
    copy_own_app(__heap_base + borrowed, app, (uint32_t)end - borrowed);
    borrowed = (uint32_t)end;
    return app;
}

/* Whether the library's memory has these bytes; a fault, as in WASI, if not. */
static bool reaches(uint64_t lib, uint64_t len) {
    if (lib + len > lib_size())
        failure = FAULT;
    return !failure;
}

/* Shows the library's bytes to WASI. */
static uint32_t show(uint32_t lib, uint64_t len) {
    uint32_t app = reaches(lib, len) ? area(len) : 0;
    if (!failure)
        copy_app_lib(app, lib, (uint32_t)len);
    return app;
}

/* The same for bytes that WASI writes, or some of them. */
static uint32_t result(uint32_t lib, uint64_t len) {
    uint32_t app = show(lib, len);
    results[result_count++] = (Result){lib, app, (uint32_t)len};
    return app;
}

/* Puts the program's bytes back. Returns the error of the whole call. */
static uint32_t end(uint32_t error) {
    if (failure)
        error = failure;
    for (uint32_t i = 0; !error && i < result_count; i++)
        copy_lib_app(results[i].lib, results[i].app, results[i].len);
    copy_app_own(FIRST, __heap_base, borrowed);
    return error;
}

/* The end of a function: calls WASI if all arguments were copied. */
#define FINISH(call) return end(failure ? failure : (call))

/* ---- reading and writing lists of buffers ---- */

enum { IOVEC = 8 };

/* The bytes in a list of buffers. */
static uint64_t buffers_size(uint32_t list, uint32_t count) {
    uint64_t size = 0;
    if (!reaches(list, (uint64_t)count * IOVEC))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        size += lib_load(list + i * IOVEC + 4);
    return size;
}

/* Copies `n` bytes between the library's buffers, from byte `skip` of them on, and the program. */
static void move(bool to_library, uint32_t list, uint64_t skip, uint32_t app, uint32_t n) {
    for (; n && !failure; list += IOVEC) {
        uint32_t lib = lib_load(list), len = lib_load(list + 4);
        if (skip >= len) {
            skip -= len;
            continue;
        }
        lib += (uint32_t)skip;
        len -= (uint32_t)skip;
        skip = 0;
        len = len < n ? len : n;
        if (!reaches(lib, len))
            return;
        if (to_library)
            copy_lib_app(lib, app, len);
        else
            copy_app_lib(app, lib, len);
        app += len;
        n -= len;
    }
}

/* What is shown to WASI: one buffer. */
enum { AREA_PTR, AREA_LEN = 4, AREA_DONE = 8, AREA_FLAGS = 12, AREA_DATA = 16 };

static uint32_t buffer_area(uint32_t n) {
    uint32_t app = area(AREA_DATA + (uint64_t)n);
    if (failure)
        return 0;
    app_store(app + AREA_PTR, app + AREA_DATA);
    app_store(app + AREA_LEN, n);
    app_store(app + AREA_DONE, 0);
    return app;
}

static uint32_t at_most(uint64_t n) {
    return n < MAX_DATA ? (uint32_t)n : MAX_DATA;
}

/*
 * A WASI function that reads or writes the one buffer at `app`; `extra` is a further argument of
 * the function, `before` how many bytes have been moved before. The functions below are inlined
 * with it as a constant, so that each function here imports its own WASI function only.
 */
typedef uint32_t Call(uint32_t fd, uint32_t app, uint64_t extra, uint64_t before);
#define INLINE static inline __attribute__((always_inline))

/* Writes everything, in as many calls as needed, or up to a call that writes less than asked. */
INLINE uint32_t write_all(Call *call, uint32_t fd, uint32_t list, uint32_t count, uint64_t extra,
                          uint32_t written) {
    begin();
    uint64_t size = buffers_size(list, count), total = 0;
    uint32_t n, done, error;
    if (!reaches(written, 4))
        return failure;
    do {
        begin();
        n = at_most(size - total);
        uint32_t app = buffer_area(n);
        move(false, list, total, app + AREA_DATA, n);
        error = failure ? failure : call(fd, app, extra, total);
        done = error ? 0 : app_load(app + AREA_DONE);
        error = end(error);
        total += done;
    } while (!error && done == n && total < size);
    if (error && !total)
        return error;
    lib_store(written, (uint32_t)total);
    return SUCCESS;
}

INLINE uint32_t read_some(Call *call, uint32_t fd, uint32_t list, uint32_t count, uint64_t extra,
                          uint32_t read) {
    begin();
    uint64_t size = buffers_size(list, count);
    uint32_t n = at_most(size), app = reaches(read, 4) ? buffer_area(n) : 0;
    uint32_t error = failure ? failure : call(fd, app, extra, 0);
    if (!error) {
        uint32_t done = app_load(app + AREA_DONE);
        move(true, list, 0, app + AREA_DATA, done < n ? done : n);
        lib_store(read, done);
    }
    return end(error);
}

WASI(fd_write)(uint32_t fd, uint32_t list, uint32_t count, uint32_t written);
static uint32_t call_write(uint32_t fd, uint32_t app, uint64_t extra, uint64_t before) {
    (void)extra, (void)before;
    return wasi_fd_write(fd, app, 1, app + AREA_DONE);
}
EXPORT("fd_write")
uint32_t fd_write(uint32_t fd, uint32_t list, uint32_t count, uint32_t written) {
    return write_all(call_write, fd, list, count, 0, written);
}

WASI(fd_pwrite)(uint32_t fd, uint32_t list, uint32_t count, uint64_t at, uint32_t written);
static uint32_t call_pwrite(uint32_t fd, uint32_t app, uint64_t at, uint64_t before) {
    return wasi_fd_pwrite(fd, app, 1, at + before, app + AREA_DONE);
}
EXPORT("fd_pwrite")
uint32_t fd_pwrite(uint32_t fd, uint32_t list, uint32_t count, uint64_t at, uint32_t written) {
    return write_all(call_pwrite, fd, list, count, at, written);
}

WASI(fd_read)(uint32_t fd, uint32_t list, uint32_t count, uint32_t read);
static uint32_t call_read(uint32_t fd, uint32_t app, uint64_t extra, uint64_t before) {
    (void)extra, (void)before;
    return wasi_fd_read(fd, app, 1, app + AREA_DONE);
}
EXPORT("fd_read") uint32_t fd_read(uint32_t fd, uint32_t list, uint32_t count, uint32_t read) {
    return read_some(call_read, fd, list, count, 0, read);
}

WASI(fd_pread)(uint32_t fd, uint32_t list, uint32_t count, uint64_t at, uint32_t read);
static uint32_t call_pread(uint32_t fd, uint32_t app, uint64_t at, uint64_t before) {
    return wasi_fd_pread(fd, app, 1, at + before, app + AREA_DONE);
}
EXPORT("fd_pread")
uint32_t fd_pread(uint32_t fd, uint32_t list, uint32_t count, uint64_t at, uint32_t read) {
    return read_some(call_pread, fd, list, count, at, read);
}

/* ---- files ---- */

enum { TELL_SIZE = 8, FDSTAT_SIZE = 24, FILESTAT_SIZE = 64, PRESTAT_SIZE = 8, FD_SIZE = 4 };

WASI(fd_seek)(uint32_t fd, int64_t by, uint32_t whence, uint32_t at);
EXPORT("fd_seek") uint32_t fd_seek(uint32_t fd, int64_t by, uint32_t whence, uint32_t at) {
    begin();
    uint32_t to = result(at, TELL_SIZE);
    FINISH(wasi_fd_seek(fd, by, whence, to));
}

WASI(fd_tell)(uint32_t fd, uint32_t at);
EXPORT("fd_tell") uint32_t fd_tell(uint32_t fd, uint32_t at) {
    begin();
    uint32_t to = result(at, TELL_SIZE);
    FINISH(wasi_fd_tell(fd, to));
}

WASI(fd_fdstat_get)(uint32_t fd, uint32_t stat);
EXPORT("fd_fdstat_get") uint32_t fd_fdstat_get(uint32_t fd, uint32_t stat) {
    begin();
    uint32_t to = result(stat, FDSTAT_SIZE);
    FINISH(wasi_fd_fdstat_get(fd, to));
}

WASI(fd_filestat_get)(uint32_t fd, uint32_t stat);
EXPORT("fd_filestat_get") uint32_t fd_filestat_get(uint32_t fd, uint32_t stat) {
    begin();
    uint32_t to = result(stat, FILESTAT_SIZE);
    FINISH(wasi_fd_filestat_get(fd, to));
}

WASI(fd_prestat_get)(uint32_t fd, uint32_t stat);
EXPORT("fd_prestat_get") uint32_t fd_prestat_get(uint32_t fd, uint32_t stat) {
    begin();
    uint32_t to = result(stat, PRESTAT_SIZE);
    FINISH(wasi_fd_prestat_get(fd, to));
}

WASI(fd_prestat_dir_name)(uint32_t fd, uint32_t path, uint32_t len);
EXPORT("fd_prestat_dir_name")
uint32_t fd_prestat_dir_name(uint32_t fd, uint32_t path, uint32_t len) {
    begin();
    uint32_t to = result(path, len);
    FINISH(wasi_fd_prestat_dir_name(fd, to, len));
}

WASI(fd_readdir)(uint32_t fd, uint32_t buffer, uint32_t len, uint64_t cookie, uint32_t used);
EXPORT("fd_readdir")
uint32_t fd_readdir(uint32_t fd, uint32_t buffer, uint32_t len, uint64_t cookie, uint32_t used) {
    begin();
    uint32_t to = result(buffer, len), to_used = result(used, 4);
    FINISH(wasi_fd_readdir(fd, to, len, cookie, to_used));
}

WASI(path_open)
(uint32_t dir, uint32_t look, uint32_t path, uint32_t len, uint32_t flags, uint64_t rights,
 uint64_t inherited, uint32_t fd_flags, uint32_t fd);
EXPORT("path_open")
uint32_t path_open(uint32_t dir, uint32_t look, uint32_t path, uint32_t len, uint32_t flags,
                   uint64_t rights, uint64_t inherited, uint32_t fd_flags, uint32_t fd) {
    begin();
    uint32_t from = show(path, len), to = result(fd, FD_SIZE);
    FINISH(wasi_path_open(dir, look, from, len, flags, rights, inherited, fd_flags, to));
}

WASI(path_filestat_get)
(uint32_t dir, uint32_t look, uint32_t path, uint32_t len, uint32_t stat);
EXPORT("path_filestat_get")
uint32_t path_filestat_get(uint32_t dir, uint32_t look, uint32_t path, uint32_t len,
                           uint32_t stat) {
    begin();
    uint32_t from = show(path, len), to = result(stat, FILESTAT_SIZE);
    FINISH(wasi_path_filestat_get(dir, look, from, len, to));
}

WASI(path_filestat_set_times)
(uint32_t dir, uint32_t look, uint32_t path, uint32_t len, uint64_t access, uint64_t change,
 uint32_t flags);
EXPORT("path_filestat_set_times")
uint32_t path_filestat_set_times(uint32_t dir, uint32_t look, uint32_t path, uint32_t len,
                                 uint64_t access, uint64_t change, uint32_t flags) {
    begin();
    uint32_t from = show(path, len);
    FINISH(wasi_path_filestat_set_times(dir, look, from, len, access, change, flags));
}

WASI(path_readlink)
(uint32_t dir, uint32_t path, uint32_t len, uint32_t buffer, uint32_t size, uint32_t used);
EXPORT("path_readlink")
uint32_t path_readlink(uint32_t dir, uint32_t path, uint32_t len, uint32_t buffer, uint32_t size,
                       uint32_t used) {
    begin();
    uint32_t from = show(path, len), to = result(buffer, size), to_used = result(used, 4);
    FINISH(wasi_path_readlink(dir, from, len, to, size, to_used));
}

WASI(path_create_directory)(uint32_t dir, uint32_t path, uint32_t len);
EXPORT("path_create_directory")
uint32_t path_create_directory(uint32_t dir, uint32_t path, uint32_t len) {
    begin();
    uint32_t from = show(path, len);
    FINISH(wasi_path_create_directory(dir, from, len));
}

WASI(path_remove_directory)(uint32_t dir, uint32_t path, uint32_t len);
EXPORT("path_remove_directory")
uint32_t path_remove_directory(uint32_t dir, uint32_t path, uint32_t len) {
    begin();
    uint32_t from = show(path, len);
    FINISH(wasi_path_remove_directory(dir, from, len));
}

WASI(path_unlink_file)(uint32_t dir, uint32_t path, uint32_t len);
EXPORT("path_unlink_file")
uint32_t path_unlink_file(uint32_t dir, uint32_t path, uint32_t len) {
    begin();
    uint32_t from = show(path, len);
    FINISH(wasi_path_unlink_file(dir, from, len));
}

WASI(path_rename)
(uint32_t dir, uint32_t path, uint32_t len, uint32_t new_dir, uint32_t new_path, uint32_t new_len);
EXPORT("path_rename")
uint32_t path_rename(uint32_t dir, uint32_t path, uint32_t len, uint32_t new_dir, uint32_t new_path,
                     uint32_t new_len) {
    begin();
    uint32_t from = show(path, len), to = show(new_path, new_len);
    FINISH(wasi_path_rename(dir, from, len, new_dir, to, new_len));
}

WASI(path_link)
(uint32_t dir, uint32_t look, uint32_t path, uint32_t len, uint32_t new_dir, uint32_t new_path,
 uint32_t new_len);
EXPORT("path_link")
uint32_t path_link(uint32_t dir, uint32_t look, uint32_t path, uint32_t len, uint32_t new_dir,
                   uint32_t new_path, uint32_t new_len) {
    begin();
    uint32_t from = show(path, len), to = show(new_path, new_len);
    FINISH(wasi_path_link(dir, look, from, len, new_dir, to, new_len));
}

WASI(path_symlink)
(uint32_t path, uint32_t len, uint32_t dir, uint32_t new_path, uint32_t new_len);
EXPORT("path_symlink")
uint32_t path_symlink(uint32_t path, uint32_t len, uint32_t dir, uint32_t new_path,
                      uint32_t new_len) {
    begin();
    uint32_t from = show(path, len), to = show(new_path, new_len);
    FINISH(wasi_path_symlink(from, len, dir, to, new_len));
}

/* ---- clocks, random numbers, events ---- */

enum { TIME_SIZE = 8, SUBSCRIPTION_SIZE = 48, EVENT_SIZE = 32 };

WASI(clock_res_get)(uint32_t clock, uint32_t time);
EXPORT("clock_res_get") uint32_t clock_res_get(uint32_t clock, uint32_t time) {
    begin();
    uint32_t to = result(time, TIME_SIZE);
    FINISH(wasi_clock_res_get(clock, to));
}

WASI(clock_time_get)(uint32_t clock, uint64_t precision, uint32_t time);
EXPORT("clock_time_get")
uint32_t clock_time_get(uint32_t clock, uint64_t precision, uint32_t time) {
    begin();
    uint32_t to = result(time, TIME_SIZE);
    FINISH(wasi_clock_time_get(clock, precision, to));
}

WASI(random_get)(uint32_t buffer, uint32_t len);
static uint32_t random_piece(uint32_t buffer, uint32_t len) {
    begin();
    uint32_t to = result(buffer, len);
    FINISH(wasi_random_get(to, len));
}
EXPORT("random_get") uint32_t random_get(uint32_t buffer, uint32_t len) {
    uint32_t n, error;
    do {
        n = at_most(len);
        error = random_piece(buffer, n);
        buffer += n;
        len -= n;
    } while (!error && len);
    return error;
}

WASI(poll_oneoff)(uint32_t in, uint32_t out, uint32_t count, uint32_t happened);
EXPORT("poll_oneoff")
uint32_t poll_oneoff(uint32_t in, uint32_t out, uint32_t count, uint32_t happened) {
    begin();
    uint32_t from = show(in, (uint64_t)count * SUBSCRIPTION_SIZE);
    uint32_t to = result(out, (uint64_t)count * EVENT_SIZE), to_happened = result(happened, 4);
    FINISH(wasi_poll_oneoff(from, to, count, to_happened));
}

/* ---- arguments and environment ---- */

typedef uint32_t Lists(uint32_t a, uint32_t b);

INLINE uint32_t get_sizes(Lists *sizes, uint32_t count, uint32_t size) {
    begin();
    uint32_t to_count = result(count, 4), to_size = result(size, 4);
    FINISH(sizes(to_count, to_size));
}

/* Strings, and pointers to them, which WASI writes as addresses in the program's memory. */
INLINE uint32_t get_strings(Lists *sizes, Lists *get, uint32_t list, uint32_t text) {
    begin();
    uint32_t to_count = area(8), to_size = to_count + 4;
    uint32_t error = failure ? failure : sizes(to_count, to_size);
    if (error)
        return end(error);
    uint32_t count = app_load(to_count), size = app_load(to_size);
    uint32_t app_list = result(list, (uint64_t)count * 4), app_text = result(text, size);
    error = failure ? failure : get(app_list, app_text);
    for (uint32_t i = 0; !error && i < count; i++)
        app_store(app_list + 4 * i, app_load(app_list + 4 * i) - app_text + text);
    return end(error);
}

WASI(args_sizes_get)(uint32_t count, uint32_t size);
EXPORT("args_sizes_get") uint32_t args_sizes_get(uint32_t count, uint32_t size) {
    return get_sizes(wasi_args_sizes_get, count, size);
}

WASI(args_get)(uint32_t list, uint32_t text);
EXPORT("args_get") uint32_t args_get(uint32_t list, uint32_t text) {
    return get_strings(wasi_args_sizes_get, wasi_args_get, list, text);
}

WASI(environ_sizes_get)(uint32_t count, uint32_t size);
EXPORT("environ_sizes_get") uint32_t environ_sizes_get(uint32_t count, uint32_t size) {
    return get_sizes(wasi_environ_sizes_get, count, size);
}

WASI(environ_get)(uint32_t list, uint32_t text);
EXPORT("environ_get") uint32_t environ_get(uint32_t list, uint32_t text) {
    return get_strings(wasi_environ_sizes_get, wasi_environ_get, list, text);
}
