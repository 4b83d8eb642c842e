/*
 * bindings/js/bridge.c - the C part of the interface between JavaScript and the public library.
 *
 * JavaScript calls the functions of include/whammc itself, with structures that it writes into
 * memory as js_members() says. Callbacks come here, with the number of a JavaScript function as
 * their context.
 */
#include "bindings/js/bridge.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <whammc/coverage.h>
#include <whammc/lsp.h>
#include <whammc/report.h>

/* The program's, src/cmd/main.c. */
int main(int argc, char **argv);

#define KIND(structure, member)                                                                    \
    _Generic(((structure *)0)->member,                                                             \
        bool: JS_BOOL,                                                                             \
        int: JS_I32,                                                                               \
        unsigned: JS_U32,                                                                          \
        unsigned long: JS_U32,                                                                     \
        int64_t: JS_I64,                                                                           \
        uint64_t: JS_U64,                                                                          \
        double: JS_F64,                                                                            \
        const char *: JS_STRING,                                                                   \
        default: JS_POINTER)

static const JsMember members[] = {
#define STRUCT(structure) {#structure, "", sizeof(structure), JS_STRUCT},
#define MEMBER(structure, member)                                                                  \
    {#structure, #member, offsetof(structure, member), KIND(structure, member)},
#include "bindings/js/bridge.def"
#undef STRUCT
#undef MEMBER
    {0},
};

_Static_assert(sizeof(size_t) == 4 && sizeof(void *) == 4, "addresses are 32 bits");
_Static_assert(sizeof(JsMember) == 16, "lib/wasm.mjs reads them");

const JsMember *js_members(void) {
    return members;
}

/* Musl writes the first line at once, wherever it goes. */
int js_main(int argc, char **argv) {
    setvbuf(stdout, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    int status = main(argc, argv);
    fflush(NULL);
    return status;
}

/* ---- callbacks ---- */

static void on_write(void *ctx, int stream, const void *bytes, size_t size) {
    js_write((uint32_t)(uintptr_t)ctx, stream, bytes, size);
}

static void on_site(void *ctx, const whammc_site *s) {
    js_item((uint32_t)(uintptr_t)ctx, s);
}

static void on_event(void *ctx, const whammc_event *e) {
    js_item((uint32_t)(uintptr_t)ctx, e);
}

static const void *on_source(void *ctx, const char *path, size_t *size) {
    uint32_t n = 0;
    const void *text = js_source((uint32_t)(uintptr_t)ctx, path, &n);
    *size = n;
    return text;
}

static void on_send(void *ctx, const char *message, size_t size) {
    js_write((uint32_t)(uintptr_t)ctx, 0, message, size);
}

static const void *on_read(void *ctx, const char *path, size_t *size) {
    return on_source((char *)ctx + 1, path, size);
}

static int on_find(void *ctx, const char *from, const char *path, whammc_file *file) {
    return js_find((uint32_t)(uintptr_t)ctx + 2, from, path, file);
}

uintptr_t js_on_write(void) {
    return (uintptr_t)on_write;
}

uintptr_t js_on_site(void) {
    return (uintptr_t)on_site;
}

uintptr_t js_on_event(void) {
    return (uintptr_t)on_event;
}

uintptr_t js_on_source(void) {
    return (uintptr_t)on_source;
}

uintptr_t js_on_send(void) {
    return (uintptr_t)on_send;
}

uintptr_t js_on_read(void) {
    return (uintptr_t)on_read;
}

uintptr_t js_on_find(void) {
    return (uintptr_t)on_find;
}

void js_coverage_totals(const WhammcCoverage *c, WhammcCoverageTotals *totals) {
    *totals = whammc_coverage_totals(c);
}
