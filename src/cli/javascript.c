/*
 * cli/javascript.c - the scripts beside an instrumented program, for pages and for Node: OUT.js has
 * the program's imports, and WasmProf with the parts that the program needs; OUT.views.js has the
 * views of profiles, which OUT.js loads on demand, and the names of the program's functions.
 *
 * The program and its scripts identify each other by a hash in a custom section of the program.
 */
#include "base/demangle.h"
#include "base/escape.h"
#include "base/workers.h"
#include "cli/cli.h"
#include "profile/profile.h"
#include "report/places.h"
#include "valid/valid.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* The parts of scripts, as stdlib/host/parts.js has them, each in one of the two files. */
typedef enum Part {
    PART_TRAPS = 1,       /* corrects counts after traps */
    PART_CLOCK = 2,       /* the time */
    PART_SAMPLER = 4,     /* samples taken by a thread */
    PART_SAMPLING = 8,    /* processes samples */
    PART_TABLE = 16,      /* the functions of the module prof */
    PART_LOADER = 32,     /* loads the second file */
    PART_SAVE = 64,       /* the file of WASMPROF, in Node */
    PART_CALLS = 128,     /* profiles of calls */
    PART_NAMES = 256,     /* the names of the program's functions */
    PART_PROFILER = 512,  /* WasmProf itself: the first file */
    PART_STACKS = 1024,   /* stacks that wait for promises */
    PART_THREADS = 2048,  /* terminated threads of Node */
    PART_MODULES = 4096,  /* programs of several modules */
    PART_WORKERS = 8192,  /* workers of pages with counts in their own memories */
    PART_NUMBER = 16384,  /* the number of the thread */
    PART_ATOMICS = 32768, /* the memory of atomic variables */
    PART_LINES = 65536,   /* lines that scripts print */
    PART_ALL = 131071
} Part;

/* The embedded modules of stdlib/host, in their order in the script: M(name, the parts that use
 * it). */
#define MODULES(M)                                                                                 \
    M(parts, PART_ALL)                                                                             \
    M(number, PART_NUMBER)                                                                         \
    M(lines, PART_LINES)                                                                           \
    M(atomics, PART_ATOMICS)                                                                       \
    M(reader, PART_TRAPS | PART_SAMPLING | PART_NAMES)                                             \
    M(traps, PART_TRAPS)                                                                           \
    M(thread, PART_CLOCK | PART_SAMPLER | PART_WORKERS)                                            \
    M(clock, PART_CLOCK)                                                                           \
    M(sampler, PART_SAMPLER)                                                                       \
    M(names, PART_SAMPLING | PART_NAMES)                                                           \
    M(traces, PART_SAMPLING)                                                                       \
    M(sampling_profiler, PART_SAMPLING)                                                            \
    M(views_code, PART_CALLS)                                                                      \
    M(views, PART_CALLS)                                                                           \
    M(signals, PART_SAVE)                                                                          \
    M(memories, PART_THREADS | PART_WORKERS)                                                       \
    M(threads, PART_THREADS)                                                                       \
    M(page_threads, PART_WORKERS)                                                                  \
    M(save, PART_SAVE)                                                                             \
    M(suspend, PART_STACKS)                                                                        \
    M(modules, PART_MODULES)                                                                       \
    M(loader, PART_LOADER)                                                                         \
    M(table, PART_TABLE)                                                                           \
    M(host, PART_PROFILER)                                                                         \
    M(contexts, PART_PROFILER)                                                                     \
    M(intercept, PART_PROFILER)                                                                    \
    M(wasmprof, PART_PROFILER)
#define MODULE_EMBEDDED(name, parts)                                                               \
    extern const unsigned char host_##name##_js[];                                                 \
    extern const unsigned long host_##name##_js_size;
MODULES(MODULE_EMBEDDED)

/* The beginning of their first lines, by which they are recognised. */
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

char *javascript_views_path(const char *script) {
    static const char *const suffixes[] = {".js", ".mjs", ".cjs"};
    size_t len = strlen(script);
    const char *suffix = "";
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (len > n && strcmp(script + len - n, suffixes[i]) == 0)
            suffix = suffixes[i];
    }
    Buf path = {0};
    buf_printf(&path, "%.*s.views%s", (int)(len - strlen(suffix)), script,
               *suffix ? suffix : ".js");
    buf_cstr(&path);
    return (char *)path.data;
}

/* Returns whether there is no such file, or only one that javascript_write has made. Otherwise
 * prints a message and returns false. */
static bool may_write(const Cli *cli, const char *path) {
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

bool javascript_may_write(const Cli *cli, const char *path) {
    char *views = javascript_views_path(path);
    bool ok = may_write(cli, path) && may_write(cli, views);
    free(views);
    return ok;
}

/* ---- the identifier ---- */

/* Continues a hash with a word. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word) {
    return (hash ^ word) * HASH_FACTOR;
}

/* Computes FNV-1a of words of eight bytes, in four interleaved hashes, so that none waits for the
 * one before it; then of these hashes and the remaining bytes. */
static uint64_t hash_bytes(const uint8_t *at, size_t size) {
    enum { WORD = 8, STEP = 4 * WORD };
    uint64_t a = 0, b = 1, c = 2, d = 3;
    const uint8_t *end = at + size;
    for (; end - at >= STEP; at += STEP) {
        a = hash_word(a, u64le(at));
        b = hash_word(b, u64le(at + WORD));
        c = hash_word(c, u64le(at + 2 * WORD));
        d = hash_word(d, u64le(at + 3 * WORD));
    }
    uint64_t hash = hash_word(hash_word(hash_word(hash_word(HASH_START, a), b), c), d);
    hash = hash_more(hash, at, (size_t)(end - at));
    return hash ^ hash >> 32; /* without this, low bits would depend on low bits only */
}

/* The hashes of a module's blocks, computed by threads. */
enum { BLOCK = 1 << 20 };
typedef struct Hashes {
    const Buf *module;
    Vec(uint64_t) at;
} Hashes;

static void hash_block(void *ctx, uint32_t worker, uint32_t item) {
    const Hashes *h = ctx;
    size_t from = (size_t)item * BLOCK, left = h->module->len - from;
    (void)worker;
    h->at.at[item] = hash_bytes(h->module->data + from, left < BLOCK ? left : BLOCK);
}

/* Returns the hash of the hashes of its blocks. */
static uint64_t hash_module(const Buf *module, uint32_t threads) {
    Hashes h = {.module = module};
    uint64_t hash = HASH_START;
    for (size_t at = 0; at < module->len; at += BLOCK)
        vec_push(&h.at, 0);
    workers_run(threads, h.at.len, hash_block, &h);
    for (uint32_t i = 0; i < h.at.len; i++)
        hash = hash_word(hash, h.at.at[i]);
    vec_free(&h.at);
    return hash ^ hash >> 32;
}

void javascript_tag(Buf *module, uint32_t threads, char id[JAVASCRIPT_ID]) {
    static const char name[] = "whammc";
    snprintf(id, JAVASCRIPT_ID, "%016" PRIx64, hash_module(module, threads));
    size_t name_len = sizeof name - 1, id_len = JAVASCRIPT_ID - 1;
    buf_u8(module, 0);
    buf_uleb(module, 1 + name_len + id_len);
    buf_uleb(module, name_len);
    buf_bytes(module, name, name_len);
    buf_bytes(module, id, id_len);
}

/* ---- names ---- */

/* Appends the names of all functions by number, one a line; then the demangled names. */
static void javascript_put_names(Buf *out, const Places *places) {
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
        escape_json_string(out, buf_view(&text));
        buf_str(out, STR(",\n"));
    }
    buf_str(out, STR("  },\n"));
    buf_free(&text);
}

/* ---- the parts of a program ---- */

/* Byte strings in imports and exports of modules that need a part. Other modules may contain them
 * by chance; their scripts are then larger, but work. */
static const struct {
    const char *bytes;
    unsigned parts;
} part_marks[] = {
    {"\16whammc:trapped", PART_TRAPS},
    {"\16whammc:suspend", PART_STACKS},
    {"\15whammc:resume", PART_STACKS},
    {"\6whammc\6arrive", PART_MODULES},
    {"\6whammc\3now", PART_CLOCK},
    {"\6whammc\6thread", PART_NUMBER},
    {"\6whammc\7atomics", PART_ATOMICS},
    {"\6whammc\5print", PART_LINES},
    {"\6whammc\13next_sample", PART_SAMPLER | PART_SAMPLING},
    {"\6whammc\7sampled", PART_SAMPLING},
    {"\4prof\7getTime", PART_CLOCK},
    {"\4prof\14clearResults", PART_TABLE | PART_CALLS},
    {"\4prof\12addArcData", PART_TABLE | PART_CALLS},
    {"\4prof\12setArcData", PART_TABLE | PART_CALLS},
    {"\4prof\14printResults", PART_CALLS},
};

/* Returns the contents of a section; empty if there is none. */
static Str javascript_section(const Buf *module, WasmSectionId id) {
    enum { HEAD = 8 };
    const uint8_t *at = module->data + HEAD, *end = module->data + module->len;
    while (at < end) {
        uint8_t is = *at++;
        uint32_t size = (uint32_t)wasm_uleb(&at);
        if (is == id)
            return (Str){(const char *)at, size};
        at += size;
    }
    return STR("");
}

static const char *javascript_find(Str in, const char *bytes) {
    return memmem(in.ptr, in.len, bytes, strlen(bytes));
}

bool javascript_lacks_sampler(const Cli *cli, const char *who, const Buf *program) {
    bool asks =
        javascript_find(javascript_section(program, WASM_SEC_IMPORT), "\6whammc\14sample_every");
    if (asks)
        message_one(
            cli, DIAG_NO_SAMPLER,
            "use `whammc profile --sampler=engine`, or let a thread or the program take the "
            "samples",
            "%s cannot take samples by the engine's profiler", who);
    return asks;
}

/* Returns the type of a map that begins here; it ends at the first '>' unless it contains maps,
 * which maps of calls do not. */
static Str javascript_map_type(Str from) {
    enum { LONGEST = 256 };
    const char *close = memchr(from.ptr, '>', from.len < LONGEST ? from.len : LONGEST);
    return (Str){from.ptr, close ? (uint32_t)(close + 1 - from.ptr) : 0};
}

/* Returns whether the module reports maps suitable for profiles: their types are in the texts of
 * its report, which are data. '<' is rare there. */
static bool reports_calls(const Buf *module) {
    Str data = javascript_section(module, WASM_SEC_DATA);
    const char *at = data.ptr, *end = data.ptr + data.len;
    for (; at < end && (at = memchr(at, '<', (size_t)(end - at))) != NULL; at++) {
        enum { NAME = 3 };
        if (at - data.ptr < NAME || memcmp(at - NAME, "map", NAME) != 0)
            continue;
        if (profile_type_fits(javascript_map_type((Str){at - NAME, (uint32_t)(end - at + NAME)})))
            return true;
    }
    return false;
}

/* Returns how many of the module's own memories are shared. */
static unsigned shared_memories(const Buf *module) {
    enum { HAS_MAX = 1, SHARED = 2, PAGE_SIZE = 8 };
    Str memories = javascript_section(module, WASM_SEC_MEMORY);
    const uint8_t *at = (const uint8_t *)memories.ptr;
    unsigned shared = 0;
    for (uint64_t n = memories.len ? wasm_uleb(&at) : 0; n; n--) {
        uint64_t flags = wasm_uleb(&at);
        shared += (flags & SHARED) != 0;
        for (int skip = 1 + !!(flags & HAS_MAX) + !!(flags & PAGE_SIZE); skip; skip--)
            wasm_uleb(&at);
    }
    return shared;
}

/* Returns whether the program has threads, so that its counts are in a shared memory
 * (flush/flush.c). A sampling thread has another one. */
static bool counts_in_shared_memory(const Buf *module, unsigned parts) {
    return shared_memories(module) > !!(parts & PART_SAMPLER);
}

/* Returns the parts that the program needs. A sampled program whose scripts measure no times reads
 * the clock too seldom to need a clock thread, which would only cost. */
static unsigned javascript_parts_of(const Buf *module, bool times) {
    unsigned parts = reports_calls(module) ? PART_CALLS : 0;
    Str imports = javascript_section(module, WASM_SEC_IMPORT),
        exports = javascript_section(module, WASM_SEC_EXPORT);
    for (size_t i = 0; i < sizeof part_marks / sizeof *part_marks; i++)
        if (javascript_find(imports, part_marks[i].bytes) ||
            javascript_find(exports, part_marks[i].bytes))
            parts |= part_marks[i].parts;
    parts |= counts_in_shared_memory(module, parts) ? PART_THREADS | PART_WORKERS : 0;
    if (!times && javascript_find(exports, "\14whammc:stack"))
        parts &= ~(unsigned)PART_CLOCK;
    return parts;
}

/* ---- the scripts ---- */

/* The parts of the first and of the second file; 0: no second file. */
typedef struct Files {
    unsigned first, second;
} Files;

static Files javascript_divide(unsigned parts, bool views) {
    enum { SHOW = PART_SAMPLING | PART_CALLS };
    if (!(parts & SHOW))
        return (Files){PART_PROFILER | PART_SAVE | parts, 0};
    if (!views)
        return (Files){PART_PROFILER | PART_SAVE | (parts & ~(unsigned)PART_CALLS), 0};
    return (Files){PART_PROFILER | PART_LOADER | (parts & ~(unsigned)(SHOW | PART_THREADS)),
                   PART_SAVE | PART_THREADS | PART_NAMES | (parts & SHOW)};
}

/* Appends everything before the parts. */
static void javascript_put_head(Buf *out, const char *what, unsigned parts) {
    buf_printf(out, "%s for an instrumented program: %s.\n(() => {\n'use strict';\n", head, what);
#define MODULE_PUT(name, users)                                                                    \
    if (parts & (users))                                                                           \
        buf_bytes(out, host_##name##_js, host_##name##_js_size);
    MODULES(MODULE_PUT)
}

/* Appends the name of the file beside the script for import(): a relative URL, in quotes. */
static void put_specifier(Buf *out, const char *path) {
    Buf url = {0};
    buf_str(&url, STR("./"));
    for (const char *p = file_base(path); *p; p++) {
        if (strchr("%?#\\", *p))
            buf_printf(&url, "%%%02X", (unsigned char)*p);
        else
            buf_u8(&url, (uint8_t)*p);
    }
    escape_json_string(out, buf_view(&url));
    buf_free(&url);
}

/* Appends the description of the second file to the first. */
static void javascript_put_file(Buf *out, const JavascriptJob *job, unsigned second,
                                const char *path) {
    buf_printf(out, "\naddFile({ id: \"%s\", samples: %s, name: ", job->id,
               second & PART_SAMPLING ? "true" : "false");
    put_specifier(out, path);
    buf_str(out, STR(", load: () => import("));
    put_specifier(out, path);
    buf_str(out, STR(") });"));
}

static void put_script(Buf *out, const JavascriptJob *job, Files files, const char *views) {
    javascript_put_head(out, "load it before that, with <script>, import or require", files.first);
    if (files.second)
        javascript_put_file(out, job, files.second, views);
    buf_printf(out, "\nconst profiler = install({\n  id: \"%s\",\n  title: ", job->id);
    escape_json_string(out, str_of(file_base(job->module)));
    char hash[WHAMMC_HASH];
    whammc_program_hash(job->app->data, job->app->len, hash);
    buf_printf(out, ",\n  hash: \"%s\"", hash);
    buf_printf(out, ",\n});\n%s", files.first & PART_ATOMICS ? "parts.atomics.prepare();\n" : "");
    buf_str(out, STR("if (typeof module === 'object' && typeof exports === 'object' && "
                     "module.exports === exports) module.exports = profiler;\n"
                     "})();\n"));
}

static void put_views(Buf *out, const JavascriptJob *job, unsigned parts) {
    WasmModule m;
    Places places;
    wasm_load_again(&m, job->app->data, job->app->len);
    places_open(&places, &m);
    javascript_put_head(
        out, "what shows its profiles; the script beside it loads it when it is needed", parts);
    buf_printf(out, "\naddNames(\"%s\", {\n", job->id);
    javascript_put_names(out, &places);
    buf_str(out, STR("});\n})();\n"));
    places_free(&places);
    wasm_module_free(&m);
}

bool javascript_write(const Cli *cli, const char *path, const JavascriptJob *job) {
    Files files = javascript_divide(javascript_parts_of(job->program, job->times), job->views);
    Buf script = {0}, views = {0};
    char *views_path = javascript_views_path(path);
    put_script(&script, job, files, views_path);
    if (files.second)
        put_views(&views, job, files.second);
    bool ok = file_write(cli, path, script.data, script.len) &&
              (!files.second || file_write(cli, views_path, views.data, views.len));
    free(views_path);
    buf_free(&script);
    buf_free(&views);
    return ok;
}
