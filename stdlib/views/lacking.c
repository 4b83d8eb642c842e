/*
 * lacking.c - replaces parts of whammc that views lack: programs, with their code and source
 * locations (these functions are never called), zlib, and libiberty: JavaScript demangles names.
 */
#include "../runtime/format.h"
#include "analysis/call_sites.h"
#include "api/api.h"
#include "api/api_locate.h"
#include "base/demangle.h"
#include "format/gzip.h"
#include "locations/locations.h"
#include "locations/section.h"
#include "valid/valid.h"
#include "wasm/op.h"
#include "wasm/op_text.h"

#include <locale.h>

#define IMPORT(name) __attribute__((import_module("views"), import_name(#name)))

/* ---- names ---- */

/* The size of the readable name of a symbol, which is there until the next call; 0 = none. */
IMPORT(demangle) uint32_t name_of_symbol(const char *symbol, uint32_t len);
/* Copies it. */
IMPORT(name) void copy_name(uint8_t *to);

bool demangle_is_there(void) {
    return true;
}

bool demangle(Str symbol, Buf *out) {
    uint32_t size = name_of_symbol(symbol.ptr, symbol.len);
    buf_reserve(out, size);
    if (size)
        copy_name(out->data + out->len);
    out->len += size;
    return size > 0;
}

/* ---- bytes ---- */

void format_flush(FormatOut *o) {
    uint32_t used = o->used;
    o->used = 0;
    buf_bytes(o->sink, o->data, used);
}

/* Compresses nothing. */
struct Gzip {
    Buf *out;
};

Gzip *gzip_begin(Buf *out) {
    Gzip *g = mem_alloc(sizeof *g);
    g->out = out;
    return g;
}

void gzip_add(Gzip *g, const void *bytes, size_t size) {
    buf_bytes(g->out, bytes, size);
}

void gzip_end(Gzip *g) {
    free(g);
}

/* ---- locales: numbers are always written as reports have them ---- */

locale_t newlocale(int mask, const char *name, locale_t base) {
    (void)mask, (void)name, (void)base;
    return (locale_t)0;
}

locale_t uselocale(locale_t locale) {
    return locale;
}

void freelocale(locale_t locale) {
    (void)locale;
}

/* ---- programs ---- */

void wasm_module_free(WasmModule *m) {
    (void)m;
}

bool wasm_names_funcs(const WasmModule *m) {
    (void)m;
    return false;
}

uint32_t wasm_func_locals(const WasmModule *m, uint32_t func, WasmTypes *out, const char **error) {
    (void)m, (void)func, (void)out, (void)error;
    return 0;
}

bool wasm_next(WasmCode *c, WasmInstr *i) {
    (void)c, (void)i;
    return false;
}

const WasmOpInfo wasm_ops[WASM_OP_COUNT];

void wasm_instr_text(Buf *out, const WasmInstr *i) {
    (void)out, (void)i;
}

void call_sites_open(CallSites *c, const WasmModule *m, Str passed) {
    (void)m, (void)passed;
    *c = (CallSites){0};
}

uint32_t call_sites_next(CallSites *c, uint32_t caller, uint32_t callee, uint32_t *at) {
    (void)c, (void)caller, (void)callee, (void)at;
    return CALL_SITES_END;
}

void call_sites_free(CallSites *c) {
    (void)c;
}

/* ---- source locations ---- */

void api_locator_begin(ApiLocator *l, const whammc_debug_info *info, const char *name,
                       Diags *diags) {
    (void)l, (void)info, (void)name, (void)diags;
}

void api_locator_end(ApiLocator *l) {
    (void)l;
}

bool locations_mentioned(Str module) {
    (void)module;
    return false;
}

void locations_beginning(const LocationFrame *frame, Str *file, uint32_t *line) {
    (void)frame, (void)file, (void)line;
}

uint32_t locator_at(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                    const LocationFrame **frames) {
    (void)l, (void)m, (void)func, (void)pc, (void)frames;
    return 0;
}

const LocatorPlace *locator_place(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc) {
    static const LocatorPlace unknown;
    (void)l, (void)m, (void)func, (void)pc;
    return &unknown;
}

Str locator_function(Locator *l, const LocationFrame *frame) {
    (void)l, (void)frame;
    return STR("");
}
