/*
 * cli/javascript.c - the script beside an instrumented program, for pages and for Node: what the
 * program imports, WasmProf, and the names of the program's functions.
 *
 * The program and its script identify each other by a hash in a custom section of the program.
 */
#include "cli/cli.h"
#include "base/demangle.h"
#include "report/escape.h"
#include "report/places.h"
#include "valid/valid.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* Embedded from stdlib/host. */
extern const unsigned char host_profiler_js[];
extern const unsigned long host_profiler_js_size;

/* Its first line, by which it is recognised. */
static const char head[] = "// Made by whammc";

/* ---- its name ---- */

char *javascript_path(const char *module) {
    struct stat s;
    if (strcmp(module, "-") == 0 || (stat(module, &s) == 0 && !S_ISREG(s.st_mode)))
        return NULL;
    size_t len = strlen(module);
    bool suffix = len > 5 && strcmp(module + len - 5, ".wasm") == 0;
    Buf path = {0};
    buf_printf(&path, "%.*s.js", (int)(suffix ? len - 5 : len), module);
    buf_cstr(&path);
    return (char *)path.data;
}

bool javascript_may_write(const Cli *cli, const char *path) {
    FILE *file = fopen(path, "re");
    if (!file)
        return true; /* it does not exist, or writing it will report the error */
    char begin[sizeof head];
    size_t n = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    bool ours = n == 0 || (n == sizeof begin - 1 && memcmp(begin, head, n) == 0);
    if (!ours)
        message_one(cli, DIAG_CANNOT_WRITE,
                    "choose another name with --js=FILE, or omit the script with --no-js",
                    "%s: the file exists, and whammc has not written it", path);
    return ours;
}

/* ---- the identifier ---- */

static uint64_t word_at(const uint8_t *p) {
    uint32_t low = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    uint32_t high = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
    return low | (uint64_t)high << 32;
}

void javascript_tag(Buf *module, char id[JAVASCRIPT_ID]) {
    static const char name[] = "whammc";
    uint64_t hash = 14695981039346656037u; /* FNV-1a, of words of eight bytes, then bytes */
    size_t i = 0;
    for (; i + 8 <= module->len; i += 8)
        hash = (hash ^ word_at(module->data + i)) * 1099511628211u;
    for (; i < module->len; i++)
        hash = (hash ^ module->data[i]) * 1099511628211u;
    hash ^= hash >> 32; /* the low bits depend on those alone */
    snprintf(id, JAVASCRIPT_ID, "%016" PRIx64, hash);
    size_t name_len = sizeof name - 1, id_len = JAVASCRIPT_ID - 1;
    buf_u8(module, 0);
    buf_uleb(module, 1 + name_len + id_len);
    buf_uleb(module, name_len);
    buf_bytes(module, name, name_len);
    buf_bytes(module, id, id_len);
}

/* ---- the script ---- */

/* The names of all functions by their number, one a line; then those that are shown otherwise. */
static void put_names(Buf *out, const Places *places) {
    Buf text = {0};
    buf_str(out, STR("  names: [\n"));
    for (uint32_t f = 0; f < places->names.len; f++) {
        Str name = places_name(places, f);
        buf_str(out, STR("    "));
        if (name.ptr)
            escape_json_string(out, name);
        else
            buf_str(out, STR("null"));
        buf_str(out, STR(",\n"));
    }
    buf_str(out, STR("  ],\n  demangled: {\n"));
    for (uint32_t f = 0; f < places->names.len; f++) {
        Str name = places_name(places, f);
        text.len = 0;
        if (!name.ptr || !demangle(name, &text))
            continue;
        buf_printf(out, "    %u: ", f);
        escape_json_string(out, (Str){(const char *)text.data, (uint32_t)text.len});
        buf_str(out, STR(",\n"));
    }
    buf_str(out, STR("  },\n"));
    buf_free(&text);
}

static void put_script(Buf *out, const Places *places, const char *module, const char *id) {
    buf_printf(out,
               "%s for an instrumented program: load it before that, with <script>, import or "
               "require.\n",
               head);
    buf_str(out, STR("(() => {\n'use strict';\n"));
    buf_bytes(out, host_profiler_js, host_profiler_js_size);
    buf_printf(out, "\nconst profiler = install({\n  id: \"%s\",\n  title: ", id);
    escape_json_string(out, str_of(file_base(module)));
    buf_str(out, STR(",\n"));
    put_names(out, places);
    buf_str(out, STR("});\n"
                     "if (typeof module === 'object' && typeof exports === 'object' && "
                     "module.exports === exports) module.exports = profiler;\n"
                     "})();\n"));
}

bool javascript_write(const Cli *cli, const char *path, const JavascriptJob *job) {
    WasmModule m;
    Places places;
    Buf out = {0};
    wasm_load_again(&m, job->app->data, job->app->len);
    places_open(&places, &m);
    put_script(&out, &places, job->module, job->id);
    bool ok = file_write(cli, path, out.data, out.len);
    places_free(&places);
    wasm_module_free(&m);
    buf_free(&out);
    return ok;
}
