/*
 * tests/fuzz/fuzz_static.c - libFuzzer target for libraries: any bytes as a library, whose
 * functions a script calls in each place and way there is: while the script is compiled, at the
 * start, at the end, and in between. No crash; the output is valid or refused with a message.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "library/library.h"
#include "valid/valid.h"
#include "whammc/whammc.h"

/* (func $f (param i32) (result i32) ...) (func (export "_start") (drop (call $f (i32.const 3)))),
 * and a memory. */
static const uint8_t program[] = {
    0,  'a', 's', 'm', 1,   0,   0,   0,                     /* */
    1,  9,   2,   96,  0,   0,   96,  1,   127, 1,   127,    /* types */
    3,  3,   2,   1,   0,                                    /* functions */
    5,  3,   1,   0,   1,                                    /* memory */
    7,  19,  2,   6,   'm', 'e', 'm', 'o', 'r', 'y', 2,   0, /* exports */
    6,  '_', 's', 't', 'a', 'r', 't', 0,   1,                /* */
    10, 17,  2,   7,   0,   32,  0,   65,  1,   106, 11,     /* code */
    7,  0,   65,  3,   16,  0,   26,  11,
};

enum { MAX_FUNCTIONS = 6, MAX_NUMBERS = 8 };

/* A function that the script can call, and what it looks like there. */
typedef struct Callee {
    Str name;
    const WasmTypeDef *type;
} Callee;

static bool is_word(Str s) {
    for (uint32_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.ptr[i]) && s.ptr[i] != '_')
            return false;
    return s.len && s.len < 100 && !isdigit((unsigned char)s.ptr[0]);
}

static bool is_number(WasmType t) {
    return library_type(t) != NULL;
}

static uint32_t callees(const WasmModule *m, Callee out[MAX_FUNCTIONS]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->exports.len && n < MAX_FUNCTIONS; i++) {
        const WasmExport *e = &m->exports.at[i];
        if (e->space != WASM_SPACE_FUNC || !is_word(e->name))
            continue;
        const WasmTypeDef *t = wasm_func_type(m, e->handle);
        bool fits = t->nparams <= MAX_NUMBERS && t->nresults <= MAX_NUMBERS;
        for (uint32_t k = 0; fits && k < t->nparams; k++)
            fits = is_number(t->params[k]);
        for (uint32_t k = 0; fits && k < t->nresults; k++)
            fits = is_number(t->results[k]);
        if (fits)
            out[n++] = (Callee){e->name, t};
    }
    return n;
}

/* "lib.f(1, 2.5)" behind `before`; arguments are small numbers or, with `sites`, the site's. */
static void put_call(Buf *b, const char *before, const Callee *c, bool sites) {
    buf_printf(b, "%slib.%.*s(", before, STR_ARG(c->name));
    for (uint32_t i = 0; i < c->type->nparams; i++) {
        const char *type = library_type(c->type->params[i])->text;
        if (sites)
            buf_printf(b, "%s%s as %s", i ? ", " : "", i % 2 ? "pc" : "fid", type);
        else
            buf_printf(b, "%s%u%s", i ? ", " : "", 3 * i, *type == 'f' ? ".5" : "");
    }
    buf_printf(b, ")");
}

static void put_type(Buf *b, const WasmTypeDef *t) {
    for (uint32_t i = 0; i < t->nresults; i++)
        buf_printf(b, "%s%s",
                   i                 ? ", "
                   : t->nresults > 1 ? "("
                                     : "",
                   library_type(t->results[i])->text);
    buf_printf(b, "%s", t->nresults > 1 ? ")" : "");
}

/* A declaration "before x3: T = @static lib.f(...);", or only the call if it gives nothing. */
static void put_variable(Buf *b, const char *before, const char *name, uint32_t n, const char *how,
                         const Callee *c, bool sites) {
    if (c->type->nresults) {
        buf_printf(b, "  %s %s%u: ", before, name, n);
        put_type(b, c->type);
        buf_printf(b, " = ");
    }
    put_call(b, how, c, sites);
    buf_printf(b, ";\n");
}

static void put_script(Buf *b, const Callee *c, uint32_t n) {
    buf_printf(b, "use lib;\n");
    for (uint32_t i = 0; i < n; i++) {
        put_variable(b, "report var", "g", i, "@static ", &c[i], false);
        put_variable(b, "var", "h", i, "", &c[i], false);
        put_call(b, "@init ", &c[i], false);
        put_call(b, ";\n@exit ", &c[i], false);
        buf_printf(b, ";\n");
    }
    buf_printf(b, "report var total: i32;\n"
                  "wasm:opcode:*:before {\n  total++;\n");
    for (uint32_t i = 0; i < n; i++) {
        put_variable(b, "report unshared var", "s", i, "@static ", &c[i], true);
        put_variable(b, "var", "l", i, "", &c[i], true);
        put_call(b, "  @init ", &c[i], true);
        put_call(b, ";\n  @exit ", &c[i], true);
        buf_printf(b, ";\n");
    }
    buf_printf(b, "}\nwasm:func:exit {\n");
    for (uint32_t i = 0; i < n; i++) {
        const WasmTypeDef *t = c[i].type;
        if (t->nresults != 1 || t->results[0] != WASM_I32)
            continue;
        put_call(b, "  if (@static ", &c[i], true);
        put_call(b, " > ", &c[i], false);
        buf_printf(b, ") { total++; }\n");
    }
    buf_printf(b, "}\n");
}

static void instrument(const Buf *script, const uint8_t *library, size_t size, uint32_t variant) {
    whammc_options options = {.host = (whammc_host)(variant & 3)};
    if (variant & 4)
        options = (whammc_options){.link = WHAMMC_LINK_IMPORT};
    whammc *w = whammc_new();
    uint8_t *out;
    size_t out_size;
    whammc_add_script(w, "script", (const char *)script->data, script->len);
    whammc_add_library(w, "lib", NULL, library, size);
    whammc_status status =
        whammc_instrument(w, "program", program, sizeof program, &options, &out, &out_size);
    if (status == WHAMMC_INTERNAL || (status == WHAMMC_ERROR && !whammc_error_count(w))) {
        fputs((const char *)script->data, stderr);
        fputs(whammc_messages(w, 0), stderr);
        abort();
    }
    whammc_release(out);
    whammc_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    WasmModule m;
    Diags diags = {0};
    Callee called[MAX_FUNCTIONS];
    Buf script = {0};
    bool valid = wasm_load(&m, data, size, 0, &diags);
    uint32_t n = valid ? callees(&m, called) : 0;
    put_script(&script, called, n);
    buf_cstr(&script);
    if (n || size % 16 == 0)
        instrument(&script, data, size, (uint32_t)size);
    buf_free(&script);
    wasm_module_free(&m);
    diag_free(&diags);
    return 0;
}
