/*
 * bindings/js/bridge.h - what JavaScript needs besides the functions of the public library: the
 * offsets of the members of structures, and callbacks.
 *
 * Read by lib/wasm.mjs. Only these files know that the module was compiled for wasm32.
 */
#ifndef WHAMMC_JS_BRIDGE_H
#define WHAMMC_JS_BRIDGE_H

#include <stdint.h>
#include <whammc/coverage.h>

/* How a member is stored. */
typedef enum JsKind {
    JS_STRUCT, /* not a member: the structure itself, with its size instead of an offset */
    JS_BOOL,
    JS_I32,
    JS_U32, /* enumerations, too */
    JS_I64,
    JS_U64,
    JS_F64,
    JS_STRING,  /* the address of a text that ends with a NUL */
    JS_POINTER, /* any other address */
} JsKind;

typedef struct JsMember {
    const char *structure, *name; /* name: "" for JS_STRUCT */
    uint32_t offset;
    JsKind kind;
} JsMember;

/* All of bridge.def; the last one has no structure. */
const JsMember *js_members(void);

/* The command line. Gives the exit status, unless it ends the process. */
int js_main(int argc, char **argv);

/* Functions to put into structures and to give to whammc_list and whammc_explain; their context is
 * the number of a JavaScript function. */
uintptr_t js_on_write(void);
uintptr_t js_on_site(void);
uintptr_t js_on_event(void);
uintptr_t js_on_source(void);
/* Those of a whammc_server_host, whose context is the number of the first of three functions that
 * follow each other: they take a message; the path of a file, as js_source; two paths and a
 * whammc_file. */
uintptr_t js_on_send(void);
uintptr_t js_on_read(void);
uintptr_t js_on_find(void);

/* whammc_coverage_totals, with the place for the result as an argument. */
void js_coverage_totals(const WhammcCoverage *c, WhammcCoverageTotals *totals);

/*
 * Imported from JavaScript. `call` is the number of a function there: it takes what scripts print
 * while they are compiled; a whammc_site or a whammc_event; the path of a source file, of which it
 * gives the address of the text (*size bytes), or 0.
 */
void js_write(uint32_t call, int stream, const void *bytes, uint32_t size);
void js_item(uint32_t call, const void *item);
const void *js_source(uint32_t call, const char *path, uint32_t *size);
/* Finds the file that `from` includes by `path`, as whammc_find. */
int js_find(uint32_t call, const char *from, const char *path, void *file);

#endif
