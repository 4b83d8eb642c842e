/*
 * runtime/hosts/hub.c - the hub: a core module in an instrumented component, which writes the reports
 * of the others through WASI 0.2.
 *
 * The compiler makes a component of it, with a memory (src/link/hub.h). Each instrumented core
 * instance has a number, its slot. What it writes comes in pieces of up to eight bytes, read from its
 * memory by code that the compiler makes: begin(slot), put(word, n) ..., end(slot). If there are
 * several slots, a line before and after each report tells whose it is, as readers expect of parts.
 *
 * Compile-time switches: HUB_FILE, reports go to a file below a folder that the host has opened;
 * lines of `print` go to standard error nevertheless. HUB_SERVES, the component serves calls of its
 * host and does not know which is the last: due() says when to report, and a random number tells
 * apart instances of the component: in the lines before reports, and at the end of the file's name.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub.h"

#define EXPORT(name)         __attribute__((export_name(name), visibility("default")))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

/* ---- WASI: lowered functions; results that are not one number go to an address ---- */

IMPORT("wasi", "stderr") uint32_t wasi_stderr(void);
IMPORT("wasi", "write")
void wasi_write(uint32_t stream, const uint8_t *p, uint32_t len, uint8_t *result);
#ifdef HUB_FILE
/* A folder that the host has opened. */
typedef struct Folder {
    uint32_t descriptor;
    const uint8_t *name;
    uint32_t len;
} Folder;

IMPORT("wasi", "folders") void wasi_folders(void *result);
IMPORT("wasi", "open")
void wasi_open(uint32_t folder, uint32_t look, const uint8_t *path, uint32_t len, uint32_t how,
               uint32_t access, uint8_t *result);
IMPORT("wasi", "write_at")
void wasi_write_at(uint32_t file, const uint8_t *p, uint32_t len, uint64_t at, uint8_t *result);
#else
IMPORT("wasi", "report") uint32_t wasi_report(void);
#endif

#ifdef HUB_SERVES
IMPORT("wasi", "now") uint64_t wasi_now(void);
IMPORT("wasi", "random") uint64_t wasi_random(void);
#endif

/* What functions return at an address: a byte that says whether it is an error, then a number. */
static _Alignas(8) uint8_t result[32];

enum { STREAM_MOST = 4096 }; /* bytes that a stream takes at once */

typedef struct Output {
    uint32_t handle; /* of a stream or file */
    bool open, broken;
    uint64_t written; /* to a file */
    uint32_t used;
    uint8_t data[STREAM_MOST];
} Output;

static Output report, lines;

/* ---- output ---- */

#ifdef HUB_SERVES
enum { RUN_DIGITS = 16 };

static uint8_t run_digit(uint32_t i) {
    static uint64_t run;
    while (!run)
        run = wasi_random();
    return (uint8_t) "0123456789abcdef"[run >> 4 * i & 15];
}
#endif

#ifdef HUB_FILE
static void open_report(void) {
    enum { CREATE = 1, TRUNCATE = 8, WRITE = 2 };
    const HubSettings *s = hub_settings();
    struct {
        Folder *at;
        uint32_t len;
    } folders = {0};
    const uint8_t *path = (const uint8_t *)(uintptr_t)s->file;
    uint32_t len = s->file_len;
#ifdef HUB_SERVES
    static uint8_t own[HUB_MAX_PATH + 1 + RUN_DIGITS];
    for (uint32_t i = 0; i < len; i++)
        own[i] = path[i];
    own[len++] = '.';
    for (uint32_t i = 0; i < RUN_DIGITS; i++)
        own[len++] = run_digit(i);
    path = own;
#endif
    wasi_folders(&folders);
    __asm__ volatile("" : : "r"(&folders) : "memory");
    report.broken = true;
    for (uint32_t i = 0; i < folders.len && report.broken; i++) {
        wasi_open(folders.at[i].descriptor, 0, path, len, CREATE | TRUNCATE, WRITE, result);
        report.broken = result[0];
        report.handle = *(uint32_t *)(result + 4);
    }
}

static void write_report(const uint8_t *p, uint32_t len) {
    wasi_write_at(report.handle, p, len, report.written, result);
    report.broken = result[0];
    report.written += len;
}
#else
static void open_report(void) {
    report.handle = wasi_report();
}

static void write_report(const uint8_t *p, uint32_t len) {
    wasi_write(report.handle, p, len, result);
    report.broken = result[0];
}
#endif

static void flush_output(Output *o) {
    if (!o->open && o == &lines)
        o->handle = wasi_stderr();
    else if (!o->open)
        open_report();
    o->open = true;
    if (o->used && !o->broken && o == &lines) {
        wasi_write(o->handle, o->data, o->used, result);
        o->broken = result[0];
    } else if (o->used && !o->broken) {
        write_report(o->data, o->used);
    }
    o->used = 0;
}

static void put_bytes(Output *o, const uint8_t *p, uint32_t len) {
    while (len--) {
        if (o->used == STREAM_MOST)
            flush_output(o);
        o->data[o->used++] = *p++;
    }
}

static void put_word(Output *o, uint64_t word, uint32_t n) {
    for (; n; n--, word >>= 8) {
        if (o->used == STREAM_MOST)
            flush_output(o);
        o->data[o->used++] = (uint8_t)word;
    }
}

static void put_number(uint32_t n) {
    uint8_t digits[10];
    uint32_t at = sizeof digits;
    do
        digits[--at] = (uint8_t)('0' + n % 10);
    while (n /= 10);
    put_bytes(&report, digits + at, sizeof digits - at);
}

/* ---- for instances ---- */

static bool begun; /* a piece of the report */

#ifdef HUB_SERVES
static void put_run(void) {
    put_bytes(&report, (const uint8_t *)"\"run\":\"", 7);
    for (uint32_t i = 0; i < RUN_DIGITS; i++)
        put_word(&report, run_digit(i), 1);
    put_bytes(&report, (const uint8_t *)"\",", 2);
}

/* Whether to report now: at the first time, and when so much time has gone by since. */
EXPORT("due") uint32_t hub_due(void) {
    static uint64_t last;
    static bool any;
    uint64_t now = wasi_now();
    if (any && now - last < hub_settings()->every_ns)
        return false;
    last = now;
    return any = true;
}
#endif

EXPORT("begin") void hub_begin(uint32_t slot) {
    const HubSlot *s = &hub_settings()->slots[slot];
    if (!begun && s->head_len) {
        put_bytes(&report, (const uint8_t *)(uintptr_t)s->head, s->head_len);
#ifdef HUB_SERVES
        put_run();
#endif
        put_bytes(&report, (const uint8_t *)"\"instance\":", 11);
        put_number(slot);
        put_bytes(&report, (const uint8_t *)"}\n", 2);
    }
    begun = true;
}

EXPORT("put") void hub_put(uint64_t word, uint32_t n) {
    put_word(&report, word, n);
}

EXPORT("end") void hub_end(uint32_t slot) {
    const HubSlot *s = &hub_settings()->slots[slot];
    static const char end[] = "{\"whammc\":\"end\"}\n";
    if (begun && s->head_len)
        put_bytes(&report, (const uint8_t *)end, sizeof end - 1);
    flush_output(&report);
    begun = false;
}

/* There was no memory for a report. */
EXPORT("lost") void hub_lost(void) {
    static const char text[] = "whammc: no memory for a report\n";
    put_bytes(&lines, (const uint8_t *)text, sizeof text - 1);
    flush_output(&lines);
}

EXPORT("put_line") void hub_put_line(uint64_t word, uint32_t n) {
    put_word(&lines, word, n);
}

EXPORT("end_lines") void hub_end_lines(void) {
    flush_output(&lines);
}
