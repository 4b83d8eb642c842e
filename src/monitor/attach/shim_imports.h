/*
 * monitor/attach/shim_imports.h - replacements of the functions that a monitor imports, shared by
 * shim.c, shim_text.c and shim_reflect.c. Only they include this.
 */
#ifndef WHAMMC_ATTACH_SHIM_IMPORTS_H
#define WHAMMC_ATTACH_SHIM_IMPORTS_H

#include "monitor/attach/reflect.h"
#include "monitor/attach/shim.h"
#include "wasm/emit.h"

/* The handle in the program of the memory that functions of the engine use for a module, which it
 * exports first; -1 = it exports none. */
int64_t bind_memory(const Frozen *module);

/* A function of the program with this code, whose ownership passes; the type is the import's. */
uint32_t bind_add_func(const Frozen *module, const WasmImport *im, Buf *code);

/* Code (see wasm/emit.h) that traps unless the bytes at an address, so many of them, are inside a
 * memory; both are i32 locals. */
const char *bind_check(WasmModule *m, uint32_t memory, const char *at, const char *len);

/* ---- shim_text.c: wizeng, and text through WASI. A handle, -1 = there is no such function, -2 =
 * with a message. ---- */

/* The function of the program for an import of the module wizeng. */
int64_t bind_wizeng(BindShim *s, const Frozen *module, const WasmImport *im);
/* Whether the text runtime serves as a module's WASI: the program's host is not WASI, and the
 * monitors use only standard output, standard error and the clock. */
bool bind_replaces_wasi(const BindShim *s, const Frozen *module);
/* The function of the program for an import from WASI, then. */
int64_t bind_wasi(BindShim *s, const Frozen *module, const WasmImport *im);
/* The function that writes the text that is still buffered; -1 = nothing is printed. */
int64_t bind_text_flush(const BindShim *s);
/* Where text goes; HOST_AUTO = nothing is printed. */
HostChoice bind_text_host(const BindShim *s);
/* Whether the text runtime serves as a clock, and the host has none. */
bool bind_text_clockless(const BindShim *s);
/* Frees the members that bind_wizeng allocates. */
void bind_text_free(BindShim *s);

/* ---- shim_reflect.c: whamm:reflect ---- */

/* The function of the program for an import of whamm:reflect; a handle, or -1 = there is no such
 * function. */
int64_t bind_answer(BindShim *s, const Frozen *module, const Reflect *reflect,
                    const WasmImport *im);
/* Adds the answers of the functions. */
void bind_answer_finish(BindShim *s);
/* Frees the members that bind_answer allocates. */
void bind_answer_free(BindShim *s);

#endif
