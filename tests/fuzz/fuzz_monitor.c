/*
 * tests/fuzz/fuzz_monitor.c - reads monitors and describes them. The input is a module, or lines:
 * each is a type (its first byte chooses) and the name of an export, of which a module is made.
 */
#include "api/api_monitor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Function types that names often ask for. */
static const struct {
    uint8_t nparams, params[4], nresults, results[2];
} types[] = {
    {0, {0}, 0, {0}},
    {1, {WASM_I32}, 0, {0}},
    {2, {WASM_I32, WASM_I32}, 0, {0}},
    {2, {WASM_I32, WASM_I64}, 0, {0}},
    {1, {WASM_F64}, 0, {0}},
    {1, {0x6f}, 0, {0}},
    {4, {WASM_I32, WASM_I32, WASM_I32, WASM_I32}, 0, {0}},
    {0, {0}, 1, {WASM_I32}},
    {1, {WASM_I32}, 1, {WASM_I32}},
    {2, {WASM_I32, WASM_I32}, 1, {WASM_I32}},
    {2, {WASM_I32, WASM_I64}, 1, {WASM_I64}},
    {0, {0}, 2, {WASM_I32, WASM_I32}},
};
enum { NTYPES = sizeof types / sizeof *types, MAX_EXPORTS = 1000 };

static void put_section(Buf *out, uint8_t id, const Buf *content) {
    buf_u8(out, id);
    buf_uleb(out, content->len);
    buf_bytes(out, content->data, content->len);
}

static void put_types(Buf *out) {
    buf_uleb(out, NTYPES);
    for (size_t i = 0; i < NTYPES; i++) {
        buf_u8(out, 0x60);
        buf_uleb(out, types[i].nparams);
        buf_bytes(out, types[i].params, types[i].nparams);
        buf_uleb(out, types[i].nresults);
        buf_bytes(out, types[i].results, types[i].nresults);
    }
}

/* A function of each type, which does nothing but end in a trap. */
static void put_functions(Buf *functions, Buf *code) {
    static const uint8_t body[] = {3, 0, 0x00, 0x0b}; /* unreachable end */
    buf_uleb(functions, NTYPES);
    buf_uleb(code, NTYPES);
    for (uint8_t i = 0; i < NTYPES; i++) {
        buf_uleb(functions, i);
        buf_bytes(code, body, sizeof body);
    }
}

static void put_exports(Buf *out, const uint8_t *data, size_t size) {
    Buf list = {0};
    Map seen = {0};
    const uint8_t *end = data + size;
    while (data < end && seen.len < MAX_EXPORTS) {
        const uint8_t *line = memchr(data, '\n', (size_t)(end - data));
        line = line ? line : end;
        Str name = {(const char *)data + 1, line > data ? (uint32_t)(line - data - 1) : 0};
        bool added = false;
        if (line > data)
            map_put(&seen, name, 0, &added);
        if (added) {
            buf_name(&list, name);
            buf_u8(&list, 0);
            buf_uleb(&list, *data % NTYPES);
        }
        data = line + 1;
    }
    buf_uleb(out, seen.len);
    buf_bytes(out, list.data, list.len);
    map_free(&seen);
    buf_free(&list);
}

static void make_module(Buf *out, const uint8_t *data, size_t size) {
    enum { TYPES, FUNCTIONS, EXPORTS, CODE, N };
    static const uint8_t ids[] = {WASM_SEC_TYPE, WASM_SEC_FUNCTION, WASM_SEC_EXPORT, WASM_SEC_CODE};
    Buf sections[N] = {0};
    put_types(&sections[TYPES]);
    put_functions(&sections[FUNCTIONS], &sections[CODE]);
    put_exports(&sections[EXPORTS], data, size);
    buf_bytes(out, "\0asm\1\0\0\0", 8);
    for (int i = 0; i < N; i++) {
        put_section(out, ids[i], &sections[i]);
        buf_free(&sections[i]);
    }
}

static void read_monitor(const uint8_t *bytes, size_t size) {
    Diags diags = {0};
    Monitor monitor;
    Buf text = {0};
    DiagFileId file = diag_file(&diags, "monitor", bytes, size, true);
    bool ok = monitor_read(&monitor, bytes, size, file, &diags);
    if (ok != (diags.errors == 0))
        abort();
    if (ok) {
        Arena arena = {0};
        whammc_monitor described;
        monitor_describe(&monitor, &arena, &described);
        arena_free(&arena);
    }
    diag_render_text(&diags, &text, false);
    diag_render_json(&diags, &text);
    buf_free(&text);
    monitor_free(&monitor);
    diag_free(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size >= 4 && memcmp(data, "\0asm", 4) == 0) {
        read_monitor(data, size);
        return 0;
    }
    Buf module = {0};
    make_module(&module, data, size);
    read_monitor(module.data, module.len);
    buf_free(&module);
    return 0;
}
