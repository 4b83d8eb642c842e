/*
 * runtime/hosts/host_wasi.c - the report goes out through WASI preview 1.
 *
 * Compile-time switches:
 *
 *   HOST_BORROW  the runtime has a memory of its own, but WASI reads and writes the program's
 *                memory 0: the arguments of a call are copied to BORROW_SIZE bytes of it at
 *                BORROW_AT, which are saved before and restored after each call. app.copy_in and
 *                app.copy_out are copies between the two memories, made by the compiler, not by a
 *                host. The program's memory must have a page.
 *   HOST_FILE    reports to files: imports path_open, fd_prestat_get and fd_close besides fd_write.
 *   HOST_IMPORT  part of the module that programs import, see host_import.c
 *   MONITOR      part of a monitor module, with what runtime/rows.h and site/site.h declare
 *   VALUES       text of scripts, and the clock. Text goes out line by line; into a file when there
 *                is a bufferful, before a report, and at values_flush, and the file is open only
 *                then. Lines of `print` go to standard error
 */
#include "../host.h"
#ifdef VALUES
#include "../values.h"
#endif

#define WASI(name) IMPORT("wasi_snapshot_preview1", name)

/* Arguments that are addresses are addresses in the memory that WASI sees. */
WASI("fd_write")
uint32_t wasi_fd_write(uint32_t fd, uint32_t iovs, uint32_t count, uint32_t written);
#ifdef HOST_FILE
WASI("path_open")
uint32_t wasi_path_open(uint32_t dir, uint32_t look, uint32_t path, uint32_t path_len,
                        uint32_t open_flags, uint64_t rights, uint64_t inherited, uint32_t fd_flags,
                        uint32_t fd);
WASI("fd_prestat_get") uint32_t wasi_fd_prestat_get(uint32_t fd, uint32_t prestat);
WASI("fd_close") uint32_t wasi_fd_close(uint32_t fd);
#endif

#ifdef VALUES
WASI("proc_exit") void wasi_proc_exit(uint32_t status);
WASI("clock_time_get")
uint32_t wasi_clock_time_get(uint32_t clock, uint64_t precision, uint32_t time);
#endif

/* Where host_message writes: with the engine's own messages, if we are a monitor. */
#ifdef MONITOR
enum { MESSAGES = REPORT_STDOUT };
#else
enum { MESSAGES = REPORT_STDERR };
#endif

enum { BORROW_AT = 1024, BORROW_SIZE = 1024, AREA_HEAD = 16, AREA_DATA = BORROW_SIZE - AREA_HEAD };

/* The memory that WASI sees during a call. */
typedef struct Area {
    uint32_t ptr, len; /* an iovec; or a prestat */
    uint32_t result;
    uint32_t pad;
    uint8_t data[AREA_DATA];
} Area;

typedef struct State {
    FormatOut out; /* first, so that its address is the state's */
    uint32_t fd;   /* 0: not open; of text */
    Area area;
#ifdef HOST_BORROW
    Area saved;
#endif
} State;

#ifdef HOST_BORROW
IMPORT("app", "copy_in") void app_copy_in(void *own, uint32_t app, uint32_t len);
IMPORT("app", "copy_out") void app_copy_out(uint32_t app, const void *own, uint32_t len);

/* The address of the area for WASI. */
static uint32_t area_address(const State *s) {
    (void)s;
    return BORROW_AT;
}

/* Shows the area to WASI; after the call, copies its head back. */
static void area_show(State *s) {
    app_copy_in(&s->saved, BORROW_AT, BORROW_SIZE);
    app_copy_out(BORROW_AT, &s->area, BORROW_SIZE);
}

static void area_take(State *s) {
    app_copy_in(&s->area, BORROW_AT, AREA_HEAD);
    app_copy_out(BORROW_AT, &s->saved, BORROW_SIZE);
}
#else
static uint32_t area_address(const State *s) {
    return (uint32_t)(uintptr_t)&s->area;
}

static void area_show(const State *s) {
    __asm__ volatile(""
                     :
                     : "r"(s)
                     : "memory"); /* the call that follows reads and writes the area */
}

static void area_take(State *s) {
    __asm__ volatile("" : : "r"(s) : "memory");
}
#endif

/* Errors of a pipe that is full and does not wait, as standard output is in Node, and of a signal:
 * try again. */
enum { ERROR_AGAIN = 6, ERROR_INTERRUPTED = 27 };

/* Writes everything, or as much as can be written. */
static void write_all(State *s, const uint8_t *p, uint32_t len) {
    Area *a = &s->area;
    uint32_t at = area_address(s);
    while (len) {
        uint32_t n = len < AREA_DATA ? len : AREA_DATA;
        __builtin_memcpy(a->data, p, n);
        a->ptr = at + AREA_HEAD;
        a->len = n;
        a->result = 0;
        area_show(s);
        uint32_t error = wasi_fd_write(s->fd, at, 1, at + 8);
        area_take(s);
        if (error == ERROR_AGAIN || error == ERROR_INTERRUPTED)
            continue;
        if (error || a->result == 0)
            return;
        n = a->result < n ? a->result : n;
        p += n;
        len -= n;
    }
}

#ifdef VALUES
static void write_text(State *s);
#endif

void format_flush(FormatOut *o) {
    State *s = (State *)o;
#ifdef VALUES
    if (s->fd == 0)
        write_text(s);
    else
#endif
        write_all(s, o->data, o->used);
    o->used = 0;
}

#ifdef HOST_FILE
enum { FIRST_PREOPEN = 3, OPEN_CREATE = 1, FD_APPEND = 1, RIGHT_WRITE = 1 << 6 };

/* Opens the path for appending in the first preopened directory that allows it. */
static bool open_report(State *s, const uint8_t *path, uint32_t len) {
    Area *a = &s->area;
    uint32_t at = area_address(s);
    if (len > AREA_DATA)
        return false;
    __builtin_memcpy(a->data, path, len);
    for (uint32_t dir = FIRST_PREOPEN;; dir++) {
        area_show(s);
        bool gone = wasi_fd_prestat_get(dir, at) != 0;
        bool opened = !gone && wasi_path_open(dir, 0, at + AREA_HEAD, len, OPEN_CREATE, RIGHT_WRITE,
                                              0, FD_APPEND, at + 8) == 0;
        area_take(s);
        if (gone || opened) {
            s->fd = a->result;
            return opened;
        }
    }
}

static bool to_file(State *s, const uint8_t *image, uint32_t size) {
    uint32_t len;
    const uint8_t *path = format_text(image, size, FORMAT_PATH, &len);
    if (open_report(s, path, len))
        return true;
    s->fd = REPORT_STDERR;
    const uint8_t *message = format_text(image, size, FORMAT_FAILED, &len);
    write_all(s, message, len);
    return false;
}
#endif

/* Sets `fd` as the image says; true if it must be closed. */
static bool open_destination(State *s, const uint8_t *image, uint32_t len) {
    s->fd = image[2] == REPORT_STDOUT ? REPORT_STDOUT : REPORT_STDERR;
#ifdef HOST_FILE
    return image[2] == REPORT_FILE && to_file(s, image, len);
#else
    (void)len;
    return false;
#endif
}

static void close_destination(const State *s, bool file) {
#ifdef HOST_FILE
    if (file)
        wasi_fd_close(s->fd);
#else
    (void)s, (void)file;
#endif
}

#if defined HOST_IMPORT || defined MONITOR
void host_message(const uint8_t *text, uint32_t len) {
    State s;
    s.fd = MESSAGES;
    write_all(&s, text, len);
}
#endif
#ifndef HOST_IMPORT
EXPORT("whammc_report")
#endif
void whammc_report(const uint8_t *image, uint32_t len, uint8_t *values) {
    State s;
    if (len < FORMAT_HEADER)
        return;
#ifdef VALUES
    values_text_before(image);
#endif
    s.out.used = 0;
    bool file = open_destination(&s, image, len);
    format_report(&s.out, image, len, values);
    close_destination(&s, file);
}

#if !defined VALUES && !defined HOST_BORROW
/* As a number: there are no constants in memory. */
__attribute__((always_inline)) static inline uint64_t eight(const char *text) {
    uint64_t n;
    __builtin_memcpy(&n, text, sizeof n);
    return n;
}

/* There is no memory for a stack, either: locals keep what the message replaces. */
EXPORT("whammc_no_memory")
void whammc_no_memory(void) {
    enum { AT = 16, TEXT = AT + 8, LEN = 31 };
    uint64_t *p = (uint64_t *)AT, p0 = p[0], p1 = p[1], p2 = p[2], p3 = p[3], p4 = p[4];
    p[0] = TEXT | (uint64_t)LEN << 32;
    p[1] = eight("whammc: ");
    p[2] = eight("no memor");
    p[3] = eight("y for a ");
    p[4] = eight("report\n");
    wasi_fd_write(REPORT_STDERR, AT, 1, AT);
    p[0] = p0, p[1] = p1, p[2] = p2, p[3] = p3, p[4] = p4;
}
#endif

/* ---- text and the clock ---- */

#ifdef VALUES
#ifdef HOST_IMPORT
static State text;
#else
enum { TEXT_SIZE = VALUES_STACK_END - VALUES_TEXT };
_Static_assert(sizeof(State) <= TEXT_SIZE, "the state of text has its place");
#endif

static void write_text(State *s) {
    uint32_t len;
    const uint8_t *image = values_image(&len);
    if (!s->out.used)
        return;
    bool file = false;
    if (image)
        file = open_destination(s, image, len);
    else
        s->fd = REPORT_STDERR;
    write_all(s, s->out.data, s->out.used);
    close_destination(s, file);
    s->fd = 0;
}

FormatOut *host_text(void) {
#ifdef HOST_IMPORT
    return &text.out;
#else
    return (FormatOut *)VALUES_TEXT;
#endif
}

void host_exit(uint32_t status) {
    wasi_proc_exit(status);
}

bool host_print(const uint8_t *text, uint32_t len) {
#ifdef HOST_BORROW
    State s;
    s.fd = REPORT_STDERR;
    write_all(&s, text, len);
#else
    struct {
        uint32_t at, len, written;
    } v = {(uint32_t)(uintptr_t)text, len, 0};
    while (v.len) {
        uint32_t at = (uint32_t)(uintptr_t)&v;
        uint32_t error = wasi_fd_write(REPORT_STDERR, at, 1, at + 8);
        __asm__ volatile("" : : "r"(&v) : "memory"); /* it has read and written v */
        if (error == ERROR_AGAIN || error == ERROR_INTERRUPTED)
            continue;
        if (error || v.written == 0)
            break; /* nobody reads it */
        v.at += v.written;
        v.len -= v.written < v.len ? v.written : v.len;
    }
#endif
    return true;
}

void host_text_line(void) {
    uint32_t len;
    const uint8_t *image = values_image(&len);
    if (!image || image[2] != REPORT_FILE)
        format_flush(host_text());
}

#ifdef HOST_IMPORT
EXPORT("flush")
#else
EXPORT("whammc_flush")
#endif
void values_flush(void) {
    format_flush(host_text());
}

#ifdef HOST_IMPORT
EXPORT("now_ns")
#else
EXPORT("whammc_now_ns")
#endif
uint64_t values_now_ns(void) {
    enum { MONOTONIC = 1 };
    uint64_t now = 0;
#ifdef HOST_BORROW
    uint64_t saved;
    app_copy_in(&saved, BORROW_AT, sizeof saved);
    bool ok = wasi_clock_time_get(MONOTONIC, 1, BORROW_AT) == 0;
    if (ok)
        app_copy_in(&now, BORROW_AT, sizeof now);
    app_copy_out(BORROW_AT, &saved, sizeof saved);
    return now;
#else
    return wasi_clock_time_get(MONOTONIC, 1, (uint32_t)(uintptr_t)&now) == 0 ? now : 0;
#endif
}
#endif
