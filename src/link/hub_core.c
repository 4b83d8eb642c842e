/*
 * link/hub_core.c - the core modules that a component gets for its reports.
 */
#include "link/hub_parts.h"

#include "../../stdlib/runtime/hosts/hub.h"
#include "wasm/emit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* Entries of a switch's table. */
enum { SWITCH_WRITE, SWITCH_PRINT, SWITCH_ENTRIES };

/* The settings of the hub, as stdlib/runtime/hosts/hub.h describes them. */
static void put_settings(const Hub *hub, const Str *heads, uint32_t nslots, Buf *b) {
    Str file = hub->file;
    uint32_t at = HUB_SETTINGS + (uint32_t)sizeof(HubSettings) + nslots * (uint32_t)sizeof(HubSlot);
    buf_u64le(b, hub->every_ns);
    buf_u32le(b, at);
    buf_u32le(b, file.len);
    at += file.len;
    for (uint32_t i = 0; i < nslots; i++) {
        buf_u32le(b, at);
        buf_u32le(b, heads[i].len);
        at += heads[i].len;
    }
    buf_bytes(b, file.ptr, file.len);
    for (uint32_t i = 0; i < nslots; i++)
        buf_bytes(b, heads[i].ptr, heads[i].len);
}

/* The hub's memory, with a function that allocates in it what lowered functions return. */
void hub_make_memory(const Hub *hub, const Str *heads, uint32_t nslots, WasmModule *m) {
    enum { PAGE = 65536 };
    Buf settings = {0};
    wasm_module_init(m);
    put_settings(hub, heads, nslots, &settings);
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

static uint32_t import_func(WasmModule *m, const char *module, const char *name,
                            const WasmType *params, uint32_t n, WasmType result) {
    uint32_t type = wasm_add_func_type(m, params, n, &result, result != WASM_NONE);
    return wasm_add_import_func(m, str_of(module), str_of(name), type);
}

void hub_make_roll(uint32_t entries, uint32_t own, bool serves, WasmModule *m) {
    static const char *const names[] = {"flush", "flush_own"};
    uint32_t funcs[2];
    wasm_module_init(m);
    uint32_t due = serves ? import_func(m, "hub", "due", NULL, 0, WASM_I32) : 0;
    uint32_t table = add_table(m, entries), type = wasm_add_func_type(m, NULL, 0, NULL, 0);
    for (uint32_t k = 0; k < 2; k++) {
        funcs[k] = emit_function(m, names[k],
                                 "local $at i32 $table=%u $type=%u $n=%u"
                                 " block loop local.get $at i32.const $n i32.ge_u br_if 1"
                                 "  local.get $at table.get $table ref.is_null if else"
                                 "   local.get $at call_indirect $type $table end"
                                 "  local.get $at i32.const 1 i32.add local.set $at br 0 end end",
                                 table, type, k ? own : entries);
        wasm_add_export(m, str_of(names[k]), WASM_SPACE_FUNC, funcs[k]);
    }
    wasm_add_export(m, STR("held"), WASM_SPACE_GLOBAL,
                    wasm_add_global_i32(m, true, STR("held"), 0));
    if (serves)
        wasm_add_export(m, STR("flush_due"), WASM_SPACE_FUNC,
                        emit_function(m, "flush_due", "call %u if call %u end", due, funcs[0]));
}

/* The clock, in milliseconds; where it cannot be read, the time when it was read last. */
static void add_now(WasmModule *m, uint32_t now, uint32_t held) {
    const uint64_t million = UINT64_C(0x412e848000000000);
    uint32_t last = wasm_add_global_zero(m, WASM_F64, true, STR("last"));
    wasm_add_export(m, STR("now"), WASM_SPACE_FUNC,
                    emit_function(m, "now",
                                  "result f64 $last=%u global.get %u if else"
                                  " call %u f64.convert_i64_u f64.const %" PRIu64
                                  " f64.div global.set $last end global.get $last",
                                  last, held, now, million));
}

/* What an instance imports. Before there is a tap, `write` does nothing, and `print` returns 0,
 * "not yet". */
void hub_make_switch(HubNeeds needs, const WasmModule *of, WasmModule *m) {
    static const WasmType two[] = {WASM_I32, WASM_I32}, i32 = WASM_I32;
    uint32_t now = 0, leave = 0;
    wasm_module_init(m);
    if (needs.now)
        now = import_func(m, "hub", "now", NULL, 0, WASM_I64);
    if (needs.exit)
        leave = import_func(m, "hub", "exit", &i32, 1, WASM_NONE);
    for (uint32_t i = 0; i < of->memories.len; i++) {
        int32_t import = of->memories.at[i].import;
        if (import < 0 || !str_is(of->imports.at[import].module, HUB_HOST))
            continue;
        uint32_t memory = wasm_add_memory(m, of->memories.at[i].limits, STR("memory"));
        wasm_add_export(m, STR("memory"), WASM_SPACE_MEMORY, memory);
    }
    uint32_t held = wasm_add_import_global(m, STR("roll"), STR("held"), WASM_I32, true);
    uint32_t table = add_table(m, SWITCH_ENTRIES);
    uint32_t writes = wasm_add_func_type(m, two, 2, NULL, 0);
    uint32_t prints = wasm_add_func_type(m, two, 2, &i32, 1);
    uint32_t write = emit_function(m, "write",
                                   "param $at i32 $len i32 $table=%u $type=%u"
                                   " global.get %u if return end"
                                   " i32.const %d table.get $table ref.is_null if else"
                                   " local.get $at local.get $len i32.const %d"
                                   " call_indirect $type $table end",
                                   table, writes, held, SWITCH_WRITE, SWITCH_WRITE);
    uint32_t print = emit_function(m, "print",
                                   "param $at i32 $len i32 result i32 $table=%u $type=%u"
                                   " global.get %u if i32.const 0 return end"
                                   " i32.const %d table.get $table ref.is_null"
                                   " if i32 i32.const 0 else"
                                   " local.get $at local.get $len i32.const %d"
                                   " call_indirect $type $table end",
                                   table, prints, held, SWITCH_PRINT, SWITCH_PRINT);
    wasm_add_export(m, STR("write"), WASM_SPACE_FUNC, write);
    wasm_add_export(m, STR("print"), WASM_SPACE_FUNC, print);
    if (needs.now)
        add_now(m, now, held);
    if (needs.exit)
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

void hub_make_tap(const WasmModule *of, uint32_t entry, WasmModule *m) {
    wasm_module_init(m);
    uint32_t table = wasm_add_import_table(m, STR("switch"), STR("table"), WASM_FUNCREF);
    uint32_t roll = wasm_add_import_table(m, STR("roll"), STR("table"), WASM_FUNCREF);
    if (wasm_find_export(of, WASM_SPACE_MEMORY, STR("whammc:memory")))
        tap_memory(m, entry, table);
    if (!wasm_find_export(of, WASM_SPACE_FUNC, STR("whammc:flush")))
        return;
    uint32_t flush = import_func(m, "instance", "whammc:flush", NULL, 0, WASM_NONE);
    wasm_add_elem_active(m, roll, entry, &flush, 1);
}

void hub_make_entry(uint32_t entry, WasmModule *m) {
    wasm_module_init(m);
    uint32_t roll = wasm_add_import_table(m, STR("roll"), STR("table"), WASM_FUNCREF);
    uint32_t func = import_func(m, "func", "func", NULL, 0, WASM_NONE);
    wasm_add_elem_active(m, roll, entry, &func, 1);
}

void hub_make_others(uint32_t n, WasmModule *m) {
    wasm_module_init(m);
    uint32_t *funcs = mem_alloc(sizeof *funcs * (n + 1u));
    for (uint32_t i = 0; i < n; i++)
        funcs[i] = import_func(m, "others", arena_printf(&m->arena, "%u", i), NULL, 0, WASM_NONE);
    Buf code = {0};
    emit_locals(&code, NULL, 0);
    emit_calls(&code, m, funcs, n);
    emit(&code, "end");
    uint32_t type = wasm_add_func_type(m, NULL, 0, NULL, 0);
    wasm_add_export(m, STR("others"), WASM_SPACE_FUNC,
                    wasm_add_func(m, type, STR("others"), &code, false));
    free(funcs);
}

void hub_make_front(uint32_t base, WasmModule *m) {
    static const char *const names[] = {"begin", "end"};
    static const WasmType i32 = WASM_I32;
    uint32_t funcs[2];
    wasm_module_init(m);
    for (uint32_t k = 0; k < 2; k++)
        funcs[k] = import_func(m, "hub", names[k], &i32, 1, WASM_NONE);
    for (uint32_t k = 0; k < 2; k++)
        wasm_add_export(
            m, str_of(names[k]), WASM_SPACE_FUNC,
            emit_function(m, names[k],
                          "param $slot i32 local.get $slot i32.const %u i32.add call %u", base,
                          funcs[k]));
}

/* The code after the function, whose result is in the local `result` and on the stack. */
static void finish_after(HubWhen when, uint32_t result, uint32_t flush, uint32_t post, Buf *b) {
    enum { CODE = 15, EXIT = 0 }; /* of what asynchronous functions return */
    if (when == HUB_AFTER_POST)
        emit(b, "local.tee %u local.get %u call %u", result, result, post);
    if (when == HUB_ENDED)
        emit(b, "local.tee %u local.get %u i32.const %d i32.and i32.const %d i32.eq if call %u end",
             result, result, CODE, EXIT, flush);
    else if (when != HUB_BEFORE)
        emit(b, "call %u", flush);
}

void hub_make_finisher(HubWhen when, const WasmTypeDef *type, WasmModule *m) {
    static const WasmType i32 = WASM_I32;
    assert(when == HUB_BEFORE || when == HUB_AFTER || type->nresults == 1);
    wasm_module_init(m);
    uint32_t flush = import_func(m, "roll", "flush", NULL, 0, WASM_NONE);
    uint32_t own =
        wasm_add_func_type(m, type->params, type->nparams, type->results, type->nresults);
    uint32_t func = wasm_add_import_func(m, STR("program"), STR("func"), own);
    uint32_t post =
        when == HUB_AFTER_POST ? import_func(m, "program", "post", &i32, 1, WASM_NONE) : 0;
    Buf code = {0};
    emit_locals(&code, &i32, 1);
    if (when == HUB_BEFORE)
        emit(&code, "call %u", flush);
    for (uint32_t i = 0; i < type->nparams; i++)
        emit(&code, "local.get %u", i);
    emit(&code, "call %u", func);
    finish_after(when, type->nparams, flush, post, &code);
    emit(&code, "end");
    wasm_add_export(m, STR("func"), WASM_SPACE_FUNC,
                    wasm_add_func(m, own, STR("func"), &code, false));
    if (when == HUB_AFTER_POST)
        wasm_add_export(m, STR("post"), WASM_SPACE_FUNC,
                        emit_function(m, "post", "param $result i32"));
}

void hub_make_holder(const WasmTypeDef *type, WasmModule *m) {
    wasm_module_init(m);
    uint32_t held = wasm_add_import_global(m, STR("roll"), STR("held"), WASM_I32, true);
    uint32_t own =
        wasm_add_func_type(m, type->params, type->nparams, type->results, type->nresults);
    uint32_t func = wasm_add_import_func(m, STR("program"), STR("func"), own);
    Buf before = {0}, after = {0};
    emit(&before, "global.get %u i32.const 1 i32.add global.set %u", held, held);
    emit(&after, "global.get %u i32.const 1 i32.sub global.set %u", held, held);
    wasm_add_export(m, STR("func"), WASM_SPACE_FUNC,
                    emit_wrapper(m, STR("func"), func, &before, &after));
    buf_free(&before);
    buf_free(&after);
}
