/*
 * link/hub.c - the core modules of a component that collect reports, and what they import.
 */
#include "link/hub.h"

#include "../../stdlib/runtime/hosts/hub.h"
#include "edit/write.h"
#include "report/embedded.h"
#include "wasm/emit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define HOST_MODULE "whammc"

/* Entries of a switch's table. */
enum { SWITCH_WRITE, SWITCH_PRINT, SWITCH_ENTRIES };

/* Handles of what is added. */
typedef struct Added {
    const Hub *hub;
    ComponentEdit *e;
    const Component *c;
    bool clock, exits; /* an instance needs them */
    char version[24];  /* of WASI's interfaces, "@0.2.3" */
    uint32_t memory;   /* of the hub, and a function that allocates in it */
    uint32_t realloc;
    uint32_t streams;    /* the instances of interfaces that more than one thing needs, */
    uint32_t descriptor; /* and types: */
    uint32_t output_stream;
    uint32_t to_hub, roll; /* core instances */
} Added;

bool hub_serves(const WasmModule *m) {
    for (uint32_t i = 0; i < m->imports.len; i++)
        if (str_is(m->imports.at[i].module, HOST_MODULE))
            return true;
    return wasm_find_export(m, WASM_SPACE_FUNC, STR("whammc:flush")) != NULL;
}

static bool some_imports(const Hub *hub, const char *name) {
    for (uint32_t i = 0; i < hub->ninstances; i++)
        if (wasm_find_import(hub->instances[i].module, STR(HOST_MODULE), str_of(name)) >= 0)
            return true;
    return false;
}

/* ---- additions to the component ---- */

/* Adds a core module that was made here, and frees it. Returns its handle. */
static uint32_t add_module(const Added *a, uint32_t before, WasmModule *m) {
    Buf bytes = {0};
    bool ok = wasm_write(m, &(WasmWriter){0}, &bytes);
    assert(ok);
    (void)ok;
    uint32_t module = component_edit_add(a->e, before, COMPONENT_ITEM_CORE_MODULE,
                                         COMPONENT_SPACE_CORE_MODULE, "%b", &bytes);
    buf_free(&bytes);
    wasm_module_free(m);
    return module;
}

static uint32_t core_alias(const Added *a, uint32_t before, uint32_t instance, const char *name) {
    return component_edit_add(a->e, before, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_CORE_FUNC,
                              "00 00 01 %i %n", instance, str_of(name));
}

/* An instance without arguments. */
static uint32_t instantiate(const Added *a, uint32_t module) {
    return component_edit_add(a->e, 0, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
                              "00 %M 00", module);
}

/* ---- WASI ---- */

/* Whether the component imports an interface of WASI in this version. */
static bool has_version(const Component *c, const char *version) {
    for (uint32_t i = 0; i < c->items.len; i++)
        if (c->items.at[i].kind == COMPONENT_ITEM_IMPORT &&
            str_begins(c->items.at[i].import->name.name, STR("wasi:")) &&
            str_ends(c->items.at[i].import->name.name, str_of(version)))
            return true;
    return false;
}

/* Chooses a version of WASI 0.2 of which the component imports nothing: a name may be imported only
 * once, perhaps with other functions, and hosts take the versions of 0.2 for the same. */
static void choose_version(Added *a) {
    for (uint32_t patch = 0;; patch++) {
        snprintf(a->version, sizeof a->version, "@0.2.%u", patch);
        if (!has_version(a->c, a->version))
            return;
    }
}

static uint32_t import_interface(const Added *a, const char *name, uint32_t type) {
    Str full = str_of(arena_printf(a->c->arena, "wasi:%s%s", name, a->version));
    return component_edit_add(a->e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_INSTANCE,
                              "00 %n 05 %t", full, type);
}

static uint32_t alias_type(const Added *a, uint32_t instance, const char *name) {
    return component_edit_add(a->e, 0, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_TYPE, "03 00 %I %n",
                              instance, str_of(name));
}

/* Lowers a function of an interface; `memory`: it reads and writes the hub's. */
static uint32_t lower(const Added *a, uint32_t instance, const char *name, bool memory) {
    uint32_t func = component_edit_add(a->e, 0, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_FUNC,
                                       "01 00 %I %n", instance, str_of(name));
    if (!memory)
        return component_edit_add(a->e, 0, COMPONENT_ITEM_CANON, COMPONENT_SPACE_CORE_FUNC,
                                  "01 00 %f 00", func);
    return component_edit_add(a->e, 0, COMPONENT_ITEM_CANON, COMPONENT_SPACE_CORE_FUNC,
                              "01 00 %f 02 03 %m 04 %F", func, a->memory, a->realloc);
}

/* Adds a type of an instance; the format has its declarations. */
#define instance_type(a, ...)                                                                      \
    component_edit_add((a)->e, 0, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE, "42 " __VA_ARGS__)

/* wasi:io/streams, with all that writing needs. */
static void import_streams(Added *a) {
    uint32_t type = instance_type(a, "01 04 00 %n 03 01", STR("error"));
    uint32_t errors = import_interface(a, "io/error", type), error = alias_type(a, errors, "error");
    type = instance_type(a,
                         "0b 02 03 02 01 %t"              /* 0: error */
                         " 04 00 %n 03 00 00"             /* 1 */
                         " 04 00 %n 03 01"                /* 2: output-stream */
                         " 01 69 01"                      /* 3: own<error> */
                         " 01 71 02 %n 01 03 00 %n 00 00" /* 4, 5: stream-error */
                         " 04 00 %n 03 00 04"
                         " 01 68 02"       /* 6: borrow<output-stream> */
                         " 01 70 7d"       /* 7: list<u8> */
                         " 01 6a 00 01 05" /* 8: result<_, stream-error> */
                         " 01 40 02 %n 06 %n 07 00 08"
                         " 04 00 %n 01 09",
                         error, STR("error"), STR("output-stream"), STR("last-operation-failed"),
                         STR("closed"), STR("stream-error"), STR("self"), STR("contents"),
                         STR("[method]output-stream.blocking-write-and-flush"));
    a->streams = import_interface(a, "io/streams", type);
    a->output_stream = alias_type(a, a->streams, "output-stream");
}

/* The function get-NAME of wasi:cli/NAME, an output stream. */
static uint32_t lower_stream(const Added *a, const char *name) {
    const char *get = arena_printf(a->c->arena, "get-%s", name);
    uint32_t type = instance_type(a,
                                  "05 02 03 02 01 %t" /* 0: output-stream */
                                  " 04 00 %n 03 00 00"
                                  " 01 69 01"
                                  " 01 40 00 00 02"
                                  " 04 00 %n 01 03",
                                  a->output_stream, STR("output-stream"), str_of(get));
    uint32_t instance = import_interface(a, arena_printf(a->c->arena, "cli/%s", name), type);
    return lower(a, instance, get, false);
}

/* The cases of error-code. */
static void put_error_codes(Buf *b) {
    static const char *const codes[] = {"access",
                                        "would-block",
                                        "already",
                                        "bad-descriptor",
                                        "busy",
                                        "deadlock",
                                        "quota",
                                        "exist",
                                        "file-too-large",
                                        "illegal-byte-sequence",
                                        "in-progress",
                                        "interrupted",
                                        "invalid",
                                        "io",
                                        "is-directory",
                                        "loop",
                                        "too-many-links",
                                        "message-size",
                                        "name-too-long",
                                        "no-device",
                                        "no-entry",
                                        "no-lock",
                                        "insufficient-memory",
                                        "insufficient-space",
                                        "not-directory",
                                        "not-empty",
                                        "not-recoverable",
                                        "unsupported",
                                        "no-tty",
                                        "no-such-device",
                                        "overflow",
                                        "not-permitted",
                                        "pipe",
                                        "read-only",
                                        "invalid-seek",
                                        "text-file-busy",
                                        "cross-device"};
    enum { N = sizeof codes / sizeof *codes };
    buf_uleb(b, N);
    for (uint32_t i = 0; i < N; i++) {
        Str code = str_of(codes[i]);
        buf_uleb(b, code.len);
        buf_bytes(b, code.ptr, code.len);
    }
}

/* wasi:filesystem/types, with what opening and writing a file needs. */
static uint32_t import_files(Added *a) {
    Buf codes = {0};
    put_error_codes(&codes);
    uint32_t type = instance_type(
        a,
        "14 04 00 %n 03 01" /* 0: descriptor */
        " 01 6e 01 %n"      /* 1, 2: path-flags */
        " 04 00 %n 03 00 01"
        " 01 6e 04 %n %n %n %n" /* 3, 4: open-flags */
        " 04 00 %n 03 00 03"
        " 01 6e 06 %n %n %n %n %n %n" /* 5, 6: descriptor-flags */
        " 04 00 %n 03 00 05"
        " 01 6d %b" /* 7, 8: error-code */
        " 04 00 %n 03 00 07"
        " 01 77" /* 9, 10: filesize */
        " 04 00 %n 03 00 09"
        " 01 68 00 01 69 00" /* 11, 12: handles of descriptors */
        " 01 6a 01 0c 01 08" /* 13: of open-at */
        " 01 40 05 %n 0b %n 02 %n 73 %n 04 %n 06 00 0d"
        " 04 00 %n 01 0e"
        " 01 70 7d 01 6a 01 0a 01 08" /* 15: list<u8>, 16: of write */
        " 01 40 03 %n 0b %n 0f %n 0a 00 10"
        " 04 00 %n 01 11",
        STR("descriptor"), STR("symlink-follow"), STR("path-flags"), STR("create"),
        STR("directory"), STR("exclusive"), STR("truncate"), STR("open-flags"), STR("read"),
        STR("write"), STR("file-integrity-sync"), STR("data-integrity-sync"),
        STR("requested-write-sync"), STR("mutate-directory"), STR("descriptor-flags"), &codes,
        STR("error-code"), STR("filesize"), STR("self"), STR("path-flags"), STR("path"),
        STR("open-flags"), STR("flags"), STR("[method]descriptor.open-at"), STR("self"),
        STR("buffer"), STR("offset"), STR("[method]descriptor.write"));
    buf_free(&codes);
    uint32_t files = import_interface(a, "filesystem/types", type);
    a->descriptor = alias_type(a, files, "descriptor");
    return files;
}

static uint32_t lower_folders(const Added *a) {
    uint32_t type =
        instance_type(a,
                      "07 02 03 02 01 %t" /* 0: descriptor */
                      " 04 00 %n 03 00 00"
                      " 01 69 01 01 6f 02 02 73 01 70 03" /* 4: list<tuple<own, string>> */
                      " 01 40 00 00 04"
                      " 04 00 %n 01 05",
                      a->descriptor, STR("descriptor"), STR("get-directories"));
    return lower(a, import_interface(a, "filesystem/preopens", type), "get-directories", true);
}

static uint32_t lower_clock(const Added *a) {
    uint32_t type = instance_type(a, "04 01 77 04 00 %n 03 00 00 01 40 00 00 01 04 00 %n 01 02",
                                  STR("instant"), STR("now"));
    return lower(a, import_interface(a, "clocks/monotonic-clock", type), "now", false);
}

static uint32_t lower_exit(const Added *a) {
    uint32_t type = instance_type(a, "03 01 6a 00 00 01 40 01 %n 00 01 00 04 00 %n 01 01",
                                  STR("status"), STR("exit"));
    return lower(a, import_interface(a, "cli/exit", type), "exit", false);
}

/* What the hub imports from "wasi". */
static uint32_t hub_imports(Added *a) {
    import_streams(a);
    uint32_t write = lower(a, a->streams, "[method]output-stream.blocking-write-and-flush", true);
    uint32_t stderr_stream = lower_stream(a, "stderr");
    if (a->hub->report == REPORT_FILE) {
        uint32_t files = import_files(a), folders = lower_folders(a);
        return component_edit_add(
            a->e, 0, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
            "01 05 %n 00 %F %n 00 %F %n 00 %F %n 00 %F %n 00 %F", STR("write"), write,
            STR("stderr"), stderr_stream, STR("folders"), folders, STR("open"),
            lower(a, files, "[method]descriptor.open-at", true), STR("write_at"),
            lower(a, files, "[method]descriptor.write", true));
    }
    uint32_t report = a->hub->report == REPORT_STDERR ? stderr_stream : lower_stream(a, "stdout");
    return component_edit_add(a->e, 0, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
                              "01 03 %n 00 %F %n 00 %F %n 00 %F", STR("write"), write,
                              STR("stderr"), stderr_stream, STR("report"), report);
}

/* ---- core modules ---- */

/* The settings of the hub, as stdlib/runtime/hosts/hub.h describes them. */
static void put_settings(const Hub *hub, Buf *b) {
    uint32_t at =
        HUB_SETTINGS + (uint32_t)sizeof(HubSettings) + hub->ninstances * (uint32_t)sizeof(HubSlot);
    buf_u32le(b, hub->ninstances);
    buf_u32le(b, at);
    buf_u32le(b, hub->file.len);
    at += hub->file.len;
    for (uint32_t i = 0; i < hub->ninstances; i++) {
        buf_u32le(b, at);
        buf_u32le(b, hub->instances[i].line.len);
        at += hub->instances[i].line.len;
    }
    buf_bytes(b, hub->file.ptr, hub->file.len);
    for (uint32_t i = 0; i < hub->ninstances; i++)
        buf_bytes(b, hub->instances[i].line.ptr, hub->instances[i].line.len);
}

/* The hub's memory, with a function that allocates in it what lowered functions return. */
static void make_memory(const Hub *hub, WasmModule *m) {
    enum { PAGE = 65536 };
    Buf settings = {0};
    wasm_module_init(m);
    put_settings(hub, &settings);
    uint32_t heap = (uint32_t)align8(HUB_SETTINGS + settings.len);
    WasmLimits limits = {.min = heap / PAGE + 1, .page_log2 = 16};
    uint32_t memory = wasm_add_memory(m, limits, STR("hub"));
    wasm_add_data_active(m, memory, HUB_SETTINGS, &settings, STR("settings"));
    uint32_t next = wasm_add_global_i32(m, true, STR("next"), (int32_t)heap);
    uint32_t realloc = emit_function(
        m, "realloc",
        "param $old i32 $had i32 $align i32 $size i32 result i32 local $at i32 $next=%u"
        " global.get $next local.get $align i32.add i32.const 1 i32.sub"
        " i32.const 0 local.get $align i32.sub i32.and local.tee $at"
        " local.get $size i32.add global.set $next"
        " block loop memory.size 0 i32.const 16 i32.shl global.get $next i32.ge_u br_if 1"
        "  i32.const 1 memory.grow 0 i32.const -1 i32.eq if unreachable end br 0 end end"
        " local.get $at local.get $old local.get $had memory.copy 0 0"
        " local.get $at",
        next);
    wasm_add_export(m, STR("memory"), WASM_SPACE_MEMORY, memory);
    wasm_add_export(m, STR("realloc"), WASM_SPACE_FUNC, realloc);
}

static uint32_t add_table(WasmModule *m, uint32_t size) {
    WasmLimits limits = {.min = size, .max = size, .has_max = true};
    uint32_t table = wasm_add_table(m, WASM_FUNCREF, limits, STR("functions"));
    wasm_add_export(m, STR("table"), WASM_SPACE_TABLE, table);
    return table;
}

/* Which instances there are: flush(slot) calls an entry of the table, if it is set. */
static void make_roll(uint32_t ninstances, WasmModule *m) {
    wasm_module_init(m);
    uint32_t table = add_table(m, ninstances), type = wasm_add_func_type(m, NULL, 0, NULL, 0);
    uint32_t flush = emit_function(m, "flush",
                                   "param $slot i32 $table=%u $type=%u"
                                   " local.get $slot table.get $table ref.is_null if else"
                                   " local.get $slot call_indirect $type $table end",
                                   table, type);
    wasm_add_export(m, STR("flush"), WASM_SPACE_FUNC, flush);
}

static uint32_t import_func(WasmModule *m, const char *module, const char *name,
                            const WasmType *params, uint32_t n, WasmType result) {
    uint32_t type = wasm_add_func_type(m, params, n, &result, result != WASM_NONE);
    return wasm_add_import_func(m, str_of(module), str_of(name), type);
}

/* What an instance imports. Before there is a tap, `write` does nothing, and `print` returns 0,
 * "not yet". */
static void make_switch(const Added *a, WasmModule *m) {
    static const WasmType two[] = {WASM_I32, WASM_I32}, i32 = WASM_I32;
    uint32_t now = 0, leave = 0;
    wasm_module_init(m);
    if (a->clock)
        now = import_func(m, "wasi", "now", NULL, 0, WASM_I64);
    if (a->exits)
        leave = import_func(m, "wasi", "exit", &i32, 1, WASM_NONE);
    uint32_t table = add_table(m, SWITCH_ENTRIES);
    uint32_t writes = wasm_add_func_type(m, two, 2, NULL, 0);
    uint32_t prints = wasm_add_func_type(m, two, 2, &i32, 1);
    uint32_t write = emit_function(m, "write",
                                   "param $at i32 $len i32 $table=%u $type=%u"
                                   " i32.const %d table.get $table ref.is_null if else"
                                   " local.get $at local.get $len i32.const %d"
                                   " call_indirect $type $table end",
                                   table, writes, SWITCH_WRITE, SWITCH_WRITE);
    uint32_t print = emit_function(m, "print",
                                   "param $at i32 $len i32 result i32 $table=%u $type=%u"
                                   " i32.const %d table.get $table ref.is_null"
                                   " if i32 i32.const 0 else"
                                   " local.get $at local.get $len i32.const %d"
                                   " call_indirect $type $table end",
                                   table, prints, SWITCH_PRINT, SWITCH_PRINT);
    wasm_add_export(m, STR("write"), WASM_SPACE_FUNC, write);
    wasm_add_export(m, STR("print"), WASM_SPACE_FUNC, print);
    if (a->clock) /* in milliseconds */
        wasm_add_export(m, STR("now"), WASM_SPACE_FUNC,
                        emit_function(m, "now",
                                      "result f64 call %u f64.convert_i64_u f64.const %" PRIu64
                                      " f64.div",
                                      now, UINT64_C(0x412e848000000000))); /* 1e6 */
    if (a->exits)
        wasm_add_export(m, STR("exit"), WASM_SPACE_FUNC,
                        emit_function(m, "exit",
                                      "param $status i32 local.get $status i32.const 0 i32.ne"
                                      " call %u",
                                      leave));
}

/* Adds a function (at, len), with code before and after, that passes these bytes of memory 0 to
 * `put`(word, n). */
static uint32_t add_reader(WasmModule *m, const char *name, const char *result, const char *before,
                           uint32_t put, const char *after) {
    return emit_function(m, name,
                         "param $at i32 $len i32 %s $put=%u"
                         " %s"
                         " block loop local.get $len i32.const 8 i32.lt_u br_if 1"
                         "  local.get $at i64.load 0 0 i32.const 8 call $put"
                         "  local.get $at i32.const 8 i32.add local.set $at"
                         "  local.get $len i32.const 8 i32.sub local.set $len br 0 end end"
                         " block loop local.get $len i32.eqz br_if 1"
                         "  local.get $at i64.load8_u 0 0 i32.const 1 call $put"
                         "  local.get $at i32.const 1 i32.add local.set $at"
                         "  local.get $len i32.const 1 i32.sub local.set $len br 0 end end"
                         " %s",
                         result, put, before, after);
}

/* What reads the memory of an instance. An empty piece ends a report; at -1 it says that there was
 * no memory for one (stdlib/runtime/hosts/host_js.c). */
static void tap_memory(WasmModule *m, uint32_t slot, uint32_t table) {
    static const WasmType i32 = WASM_I32, word[] = {WASM_I64, WASM_I32};
    char before[200], after[32];
    uint32_t begin = import_func(m, "hub", "begin", &i32, 1, WASM_NONE);
    uint32_t put = import_func(m, "hub", "put", word, 2, WASM_NONE);
    uint32_t end = import_func(m, "hub", "end", &i32, 1, WASM_NONE);
    uint32_t lost = import_func(m, "hub", "lost", NULL, 0, WASM_NONE);
    uint32_t put_line = import_func(m, "hub", "put_line", word, 2, WASM_NONE);
    uint32_t end_lines = import_func(m, "hub", "end_lines", NULL, 0, WASM_NONE);
    wasm_add_import_memory(m, STR("instance"), STR("whammc:memory"), (WasmLimits){.page_log2 = 16});
    snprintf(before, sizeof before,
             "local.get 1 i32.eqz if local.get 0 i32.const -1 i32.eq if call %u else"
             " i32.const %u call %u end return end i32.const %u call %u",
             lost, slot, end, slot, begin);
    snprintf(after, sizeof after, "call %u i32.const 1", end_lines);
    const uint32_t entries[SWITCH_ENTRIES] = {
        [SWITCH_WRITE] = add_reader(m, "write", "", before, put, ""),
        [SWITCH_PRINT] = add_reader(m, "print", "result i32", "", put_line, after)};
    wasm_add_elem_active(m, table, 0, entries, SWITCH_ENTRIES);
}

/* The tap of an instance. */
static void make_tap(const WasmModule *of, uint32_t slot, WasmModule *m) {
    wasm_module_init(m);
    uint32_t table = wasm_add_import_table(m, STR("switch"), STR("table"), WASM_FUNCREF);
    uint32_t roll = wasm_add_import_table(m, STR("roll"), STR("table"), WASM_FUNCREF);
    if (wasm_find_export(of, WASM_SPACE_MEMORY, STR("whammc:memory")))
        tap_memory(m, slot, table);
    if (!wasm_find_export(of, WASM_SPACE_FUNC, STR("whammc:flush")))
        return;
    uint32_t flush = import_func(m, "instance", "whammc:flush", NULL, 0, WASM_NONE);
    wasm_add_elem_active(m, roll, slot, &flush, 1);
}

/* A module with one function, which calls `func`, an import of this type, and "finish" before or
 * after it. */
static void make_finisher(WasmType param, WasmType result, bool before, WasmModule *m) {
    wasm_module_init(m);
    uint32_t finish = import_func(m, "hub", "finish", NULL, 0, WASM_NONE);
    uint32_t func = import_func(m, "program", "func", &param, param != WASM_NONE, result);
    Buf flush = {0};
    emit_calls(&flush, m, &finish, 1);
    uint32_t wrapper =
        emit_wrapper(m, STR("func"), func, before ? &flush : NULL, before ? NULL : &flush);
    wasm_add_export(m, STR("func"), WASM_SPACE_FUNC, wrapper);
    buf_free(&flush);
}

/* ---- connecting ---- */

/* Adds a function that calls `func`, a core function, and the hub. Its handle. */
static uint32_t add_finisher(const Added *a, uint32_t at, uint32_t func, WasmType param,
                             WasmType result, bool before) {
    WasmModule m;
    make_finisher(param, result, before, &m);
    uint32_t module = add_module(a, at, &m);
    uint32_t program =
        component_edit_add(a->e, at, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
                           "01 01 %n 00 %F", STR("func"), func);
    uint32_t instance = component_edit_add(
        a->e, at, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
        "00 %M 02 %n 12 %i %n 12 %i", module, STR("program"), program, STR("hub"), a->to_hub);
    return core_alias(a, at, instance, "func");
}

/* The export of an instance that an alias names, if the item is one: its instance. */
static const ComponentAlias *alias_of(const Component *c, ComponentRef ref) {
    const ComponentItem *item = component_item(c, ref);
    bool exported = item && item->kind == COMPONENT_ITEM_ALIAS && item->alias->kind != ALIAS_OUTER;
    return exported ? item->alias : NULL;
}

/* Whether a function is one of wasi:cli/exit: each has a number and no result. */
static bool is_exit(const Component *c, uint32_t func) {
    const ComponentAlias *alias = alias_of(c, (ComponentRef){COMPONENT_SPACE_FUNC, func});
    if (!alias)
        return false;
    const ComponentItem *from =
        component_item(c, (ComponentRef){COMPONENT_SPACE_INSTANCE, alias->instance});
    return from && from->kind == COMPONENT_ITEM_IMPORT &&
           str_begins(from->import->name.name, STR("wasi:cli/exit@")) &&
           (str_is(alias->name, "exit") || str_is(alias->name, "exit-with-code"));
}

/* Whether what is lifted is the function of a command, a function from nothing to `result`. */
static bool is_run(const Component *c, const ComponentCanon *lift) {
    const ComponentAlias *alias =
        alias_of(c, (ComponentRef){COMPONENT_SPACE_CORE_FUNC, lift->func});
    const ComponentItem *type = component_item(c, (ComponentRef){COMPONENT_SPACE_TYPE, lift->type});
    return alias && str_begins(alias->name, STR("wasi:cli/run@")) && lift->noptions == 0 && type &&
           type->kind == COMPONENT_ITEM_TYPE && type->type->code == COMPONENT_TYPE_FUNC &&
           type->type->nfields == 0 && !type->type->element.none;
}

/* Lets the hub collect reports where the program ends. */
static void connect_ends(const Added *a) {
    uint32_t core_funcs = 0;
    for (uint32_t i = 0; i < a->c->items.len; i++) {
        const ComponentItem *item = &a->c->items.at[i];
        ComponentSpace space = COMPONENT_SPACE_COUNT;
        uint32_t n = component_adds(item, &space), by;
        const ComponentCanon *canon = item->kind == COMPONENT_ITEM_CANON ? item->canon : NULL;
        if (canon && canon->code == CANON_LOWER && is_exit(a->c, canon->func)) {
            by = add_finisher(a, i + 1, core_funcs, WASM_I32, WASM_NONE, true);
            component_edit_replace(a->e, i + 1,
                                   (ComponentRef){COMPONENT_SPACE_CORE_FUNC, core_funcs}, by);
        }
        if (canon && canon->code == CANON_LIFT && is_run(a->c, canon)) {
            by = add_finisher(a, i, canon->func, WASM_NONE, WASM_I32, false);
            component_edit_replace(a->e, i, (ComponentRef){COMPONENT_SPACE_CORE_FUNC, canon->func},
                                   by);
        }
        core_funcs += space == COMPONENT_SPACE_CORE_FUNC ? n : 0;
    }
}

/* Gives an instance its switch, and the tap after it. */
static void connect_instance(const Added *a, uint32_t slot, uint32_t switches, uint32_t wasi) {
    const HubInstance *instance = &a->hub->instances[slot];
    bool needs = a->clock || a->exits;
    uint32_t switched = !needs
                            ? instantiate(a, switches)
                            : component_edit_add(a->e, 0, COMPONENT_ITEM_CORE_INSTANCE,
                                                 COMPONENT_SPACE_CORE_INSTANCE, "00 %M 01 %n 12 %i",
                                                 switches, STR("wasi"), wasi);
    component_edit_argument(a->e, instance->item, STR(HOST_MODULE), switched);
    ComponentRef self = component_defines(a->c, instance->item);
    WasmModule m;
    make_tap(instance->module, slot, &m);
    uint32_t tap = add_module(a, instance->item + 1, &m);
    component_edit_add(
        a->e, instance->item + 1, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
        "00 %M 04 %n 12 %i %n 12 %i %n 12 %i %n 12 %i", tap, STR("instance"), self.index,
        STR("switch"), switched, STR("roll"), a->roll, STR("hub"), a->to_hub);
}

/* What switches import from "wasi". */
static uint32_t switch_imports(const Added *a) {
    uint32_t clock = a->clock ? lower_clock(a) : 0, leave = a->exits ? lower_exit(a) : 0;
    if (a->clock && a->exits)
        return component_edit_add(a->e, 0, COMPONENT_ITEM_CORE_INSTANCE,
                                  COMPONENT_SPACE_CORE_INSTANCE, "01 02 %n 00 %F %n 00 %F",
                                  STR("now"), clock, STR("exit"), leave);
    return component_edit_add(a->e, 0, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
                              "01 01 %n 00 %F", a->clock ? STR("now") : STR("exit"),
                              a->clock ? clock : leave);
}

void hub_add(const Hub *hub) {
    Added a = {.hub = hub,
               .e = hub->edit,
               .c = component_edit_of(hub->edit),
               .clock = some_imports(hub, "now"),
               .exits = some_imports(hub, "exit")};
    RuntimeModule runtime = runtime_component(hub->report == REPORT_FILE);
    Buf code = {0};
    WasmModule m;
    choose_version(&a);
    make_memory(hub, &m);
    uint32_t owner = instantiate(&a, add_module(&a, 0, &m));
    a.memory = component_edit_add(a.e, 0, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_CORE_MEMORY,
                                  "00 02 01 %i %n", owner, STR("memory"));
    a.realloc = core_alias(&a, 0, owner, "realloc");
    uint32_t wasi = hub_imports(&a);
    make_roll(hub->ninstances, &m);
    a.roll = instantiate(&a, add_module(&a, 0, &m));
    buf_bytes(&code, runtime.bytes, runtime.len);
    uint32_t module = component_edit_add(a.e, 0, COMPONENT_ITEM_CORE_MODULE,
                                         COMPONENT_SPACE_CORE_MODULE, "%b", &code);
    a.to_hub =
        component_edit_add(a.e, 0, COMPONENT_ITEM_CORE_INSTANCE, COMPONENT_SPACE_CORE_INSTANCE,
                           "00 %M 03 %n 12 %i %n 12 %i %n 12 %i", module, STR("env"), owner,
                           STR("wasi"), wasi, STR("instances"), a.roll);
    buf_free(&code);
    uint32_t needed = a.clock || a.exits ? switch_imports(&a) : 0;
    make_switch(&a, &m);
    uint32_t switches = add_module(&a, 0, &m);
    for (uint32_t i = 0; i < hub->ninstances; i++)
        connect_instance(&a, i, switches, needed);
    connect_ends(&a);
}
