/*
 * tests/unit/test_library.c - merging whole libraries, and WASI for them.
 */
#include "wasm_fixture.h"

#include "edit/merge.h"
#include "edit/write.h"
#include "library/library.h"
#include "link/bridge.h"

/*
 * A library with something of everything: function 0 is the start function, 1 `_initialize`, 2
 * `use` (memory 1, table 0 and 1, passive segments), 3 is only in the table, 4 `other` (memory 0);
 * nothing uses memory 2. Offsets and a global are not constant.
 */
static Buf rich_library(void) {
    Buf b = header();
    section(&b, 1, "03 60 00 00 60 01 7f 01 7f 60 00 01 7f");
    section(&b, 2, "02 03 'env' 01 'g' 03 7f 00 03 'env' 01 'e' 04 00 00");
    section(&b, 3, "05 00 00 01 02 02");
    section(&b, 4, "02 40 00 70 00 02 d2 03 0b 6f 00 01");
    section(&b, 5, "03 00 01 01 01 02 00 03");
    section(&b, 6, "01 7f 01 23 00 41 05 6a 0b");
    section(&b, 7, "03 0b '_initialize' 00 01 03 'use' 00 02 05 'other' 00 04");
    section(&b, 8, "00");
    section(&b, 9,
            "04 00 23 00 41 01 6a 0b 01 03"  /* active: function 3 */
            " 06 01 41 00 0b 6f 01 d0 6f 0b" /* active, expressions, table 1 */
            " 05 70 02 d2 03 0b d0 70 0b"    /* passive, expressions */
            " 03 00 01 04");                 /* declared */
    section(&b, 12, "04");
    section(&b, 10,
            "05 06 00 41 07 24 01 0b"
            " 04 00 08 00 0b"
            " 2b 00 41 00 41 00 41 02 fc 0c 02 00" /* table.init 2 */
            " 41 00 41 00 41 01 fc 08 01 01"       /* memory.init 1, memory 1 */
            " 20 00 2d 40 01 03"                   /* i32.load8_u, memory 1 */
            " 41 00 11 02 00 6a 23 01 6a"          /* call_indirect, table 0; global 1 */
            " 41 00 25 01 d1 6a 0b"                /* table.get 1 */
            " 04 00 41 09 0b"
            " 07 00 d2 04 1a 3f 00 0b");
    section(&b, 11,
            "04 02 01 23 00 0b 02 'ab'"
            " 01 03 'xyz'"
            " 01 01 'q'"
            " 02 02 41 00 0b 01 'z'");
    return b;
}

static int64_t ask_bridge(void *ctx, const WasmImport *im) {
    return bridge_import(ctx, im);
}

static int64_t join(void *ctx, const WasmImport *im) {
    return wasm_merge_join(ctx, im);
}

static uint32_t exported(const WasmModule *m, const char *name) {
    const WasmExport *e = wasm_find_export(m, WASM_SPACE_FUNC, str_of(name));
    assert_non_null(e);
    return e->handle;
}

static void merge_root(WasmMerge *g, const char *name, Fixture *from) {
    uint32_t root = exported(g->from, name);
    bool ok = wasm_merge(g, &root, 1, &from->diags);
    if (!ok)
        print_error("%s\n", from->diags.list.at[0]->message);
    assert_true(ok);
}

static void assert_bytes(const uint8_t *bytes, const char *hex) {
    Buf want = {0};
    put_hex(&want, hex);
    assert_memory_equal(bytes, want.data, want.len);
    buf_free(&want);
}

static void write_and_load(WasmModule *m, Fixture *result) {
    Buf out = {0};
    assert_true(wasm_write(m, NULL, &out));
    load(result, out);
}

static void test_whole(void **state) {
    (void)state;
    Fixture from, to, result;
    load(&from, rich_library());
    load(&to, fixture());
    WasmMerge g = {.to = &to.m,
                   .from = &from.m,
                   .whole = true,
                   .resolve = join,
                   .ctx = &g,
                   .prefix = STR("lib.")};
    merge_root(&g, "use", &from);
    const uint32_t *memories = g.handles[WASM_SPACE_MEMORY], *datas = g.handles[WASM_SPACE_DATA];
    assert_int_equal(memories[0], UINT32_MAX);
    assert_int_equal(memories[1], 1);
    assert_int_equal(memories[2], UINT32_MAX);
    assert_int_equal(g.handles[WASM_SPACE_GLOBAL][0], 0); /* the import that both have */
    assert_int_equal(g.handles[WASM_SPACE_FUNC][4], UINT32_MAX);
    assert_int_equal(g.start, 5);
    assert_int_equal(g.initialize, 6);
    assert_int_equal(datas[0], 1);
    assert_int_equal(datas[1], 2);
    assert_int_equal(datas[2], UINT32_MAX);
    assert_int_equal(datas[3], UINT32_MAX);
    /* Later, more of it. */
    uint32_t funcs = to.m.funcs.len;
    merge_root(&g, "other", &from);
    assert_int_equal(memories[1], 1);
    assert_int_equal(memories[0], 2);
    assert_int_equal(to.m.funcs.len, funcs + 1);
    assert_int_equal(to.m.datas.len, 3);
    assert_int_equal(to.m.tables.len, 3);
    write_and_load(&to.m, &result);

    const WasmModule *r = &result.m;
    assert_int_equal(r->memories.len, 3);
    assert_int_equal(r->memories.at[1].limits.max, 2);
    assert_int_equal(r->start, 1); /* the program's */
    /* table.init 3 (table 1), memory.init 2 (memory 1) and so on. */
    uint32_t use = g.handles[WASM_SPACE_FUNC][2];
    assert_bytes(wasm_func_body(r, use), "00 41 00 41 00 41 02 fc 0c 03 01"
                                         " 41 00 41 00 41 01 fc 08 02 01 20 00 2d 40 01 03"
                                         " 41 00 11 02 01 6a 23 03 6a 41 00 25 02 d1 6a 0b");
    assert_bytes(wasm_func_body(r, g.handles[WASM_SPACE_FUNC][4]), "00 d2 09 1a 3f 02 0b");
    assert_bytes(wasm_func_body(r, g.handles[WASM_SPACE_FUNC][1]), "00 08 00 0b");
    assert_int_equal(r->tags.len, 2);
    assert_int_equal(r->tags.at[0].import, 2);
    /* The table's initial value, and the offsets, as they were. */
    assert_bytes(r->bytes + r->tables.at[1].init, "d2 08 0b");
    assert_int_equal(r->tables.at[2].type, WASM_REF(1, WASM_HEAP(WASM_HEAP_EXTERN)));
    assert_bytes(r->bytes + r->globals.at[3].init, "23 00 41 05 6a 0b");
    assert_int_equal(r->elems.at[1].table, 1);
    assert_bytes(r->bytes + r->elems.at[1].offset, "23 00 41 01 6a 0b");
    assert_int_equal(r->elems.at[2].table, 2);
    assert_true(r->elems.at[2].exprs);
    assert_bytes(r->bytes + r->elems.at[3].items, "d2 08 0b d0 70 0b");
    assert_int_equal(r->datas.at[1].memory, 1);
    assert_bytes(r->bytes + r->datas.at[1].offset, "23 00 0b");
    assert_bytes(r->bytes + r->datas.at[2].bytes, "'xyz'");
    assert_true(str_is(r->memories.at[1].name, "lib.memory"));
    wasm_merge_free(&g);
    unload(&result);
    unload(&to);
    unload(&from);
}

static void test_keep_memories(void **state) {
    (void)state;
    Fixture from, to, result;
    load(&from, rich_library());
    load(&to, fixture());
    WasmMerge g = {.to = &to.m,
                   .from = &from.m,
                   .whole = true,
                   .keep_memories = true,
                   .resolve = join,
                   .ctx = &g};
    merge_root(&g, "use", &from);
    write_and_load(&to.m, &result);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(g.handles[WASM_SPACE_MEMORY][k], k + 1);
    assert_int_equal(result.m.datas.len, 4);
    assert_int_equal(result.m.datas.at[3].memory, 3);
    wasm_merge_free(&g);
    unload(&result);
    unload(&to);
    unload(&from);
}

/* ---- what cannot be merged ---- */

/* A library that exports a function `f`, which calls what it imports. */
static Buf small_library(const char *imports, const char *others) {
    Buf b = header();
    section(&b, 1, "02 60 00 00 60 04 7f 7f 7f 7f 01 7f");
    section(&b, 2, imports);
    section(&b, 3, "01 00");
    put_hex(&b, others);
    return b;
}

/* A program with a memory; `limits` as in the binary format. */
static Buf program(const char *limits) {
    Buf b = header();
    section(&b, 5, limits);
    section(&b, 7, "01 06 'memory' 02 00");
    return b;
}

/* The library's message in a merge into the program; both are taken over. */
static void assert_refused(Buf program, Buf library, const char *message) {
    Fixture from, to;
    load(&from, library);
    load(&to, program);
    Bridge bridge;
    WasmMerge g = {
        .to = &to.m, .from = &from.m, .whole = true, .resolve = ask_bridge, .ctx = &bridge};
    bridge_init(&bridge, &g, &from.diags);
    uint32_t root = exported(&from.m, "f");
    assert_false(wasm_merge(&g, &root, 1, &from.diags));
    assert_int_equal(from.diags.list.len, 1);
    assert_string_equal(from.diags.list.at[0]->message, message);
    assert_int_equal(from.diags.list.at[0]->tag, DIAG_CANNOT_MERGE);
    bridge_free(&bridge);
    wasm_merge_free(&g);
    unload(&to);
    unload(&from);
}

/* Sections 5 to 10 of a library whose function 1 calls function 0. */
#define MEMORY      "05 03 01 00 01 "
#define EXPORT_F    "07 05 01 01 'f' 00 01 "
#define CALL_0      "0a 06 01 04 00 10 00 0b"
#define CALL_WITH_4 "0a 0f 01 0d 00 41 00 41 00 41 00 41 00 10 00 1a 0b"
#define WASI        "16 'wasi_snapshot_preview1' "

static void test_refusals(void **state) {
    (void)state;
    assert_refused(program("01 00 01"),
                   small_library("01 03 'env' 03 'foo' 00 00", EXPORT_F CALL_0),
                   "nothing is supplied for the imported function env.foo");
    assert_refused(
        fixture(),
        small_library("02 03 'env' 03 'foo' 00 00 03 'env' 0f '__stack_pointer' 03 7f 01",
                      EXPORT_F "0a 08 01 06 00 23 00 1a 0f 0b"),
        "the module imports its stack pointer: it was linked as a dynamic library "
        "(--shared), and has to be linked with a memory of its own");
    assert_refused(program("01 00 01"),
                   small_library("01 " WASI "09 'sock_recv' 00 00", MEMORY EXPORT_F CALL_0),
                   "the library imports wasi_snapshot_preview1.sock_recv, which a library that is "
                   "part of a program cannot call");
    assert_refused(program("01 00 01"),
                   small_library("01 " WASI "08 'fd_write' 00 01", EXPORT_F CALL_WITH_4),
                   "the library imports wasi_snapshot_preview1.fd_write, but has no memory for it");
    assert_refused(
        fixture(),
        small_library("01 0d 'wasi_unstable' 08 'fd_write' 00 01", MEMORY EXPORT_F CALL_WITH_4),
        "the library imports wasi_unstable.fd_write, of an old version of WASI; it has to be "
        "compiled for wasi_snapshot_preview1");
    const char *wasi = "01 " WASI "08 'fd_write' 00 01";
    assert_refused(program("01 03 01 02"), small_library(wasi, MEMORY EXPORT_F CALL_WITH_4),
                   "the library imports wasi_snapshot_preview1.fd_write, for which bytes of the "
                   "program's memory have to be borrowed, but other threads use that memory too");
    Buf odd = header();
    section(&odd, 6, "01 7f 00 41 05 0b");
    section(&odd, 7, "01 06 'memory' 03 00");
    assert_refused(
        odd, small_library(wasi, MEMORY EXPORT_F CALL_WITH_4),
        "the library imports wasi_snapshot_preview1.fd_write, which looks at the exported "
        "'memory', but what the program exports under that name is a global");
    assert_refused(
        program("01 00 01"),
        small_library("01 " WASI "07 'fd_seek' 00 01", MEMORY EXPORT_F CALL_WITH_4),
        "the imported function wasi_snapshot_preview1.fd_seek is (i32, i32, i32, i32) -> "
        "(i32) here, but what is supplied for it is (i32, i64, i32, i32) -> (i32)");
}

/* ---- WASI ---- */

static uint32_t import_count(const WasmModule *m, const char *name) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->imports.len; k++)
        n += str_is(m->imports.at[k].name, name);
    return n;
}

/* Merges a library that calls fd_write; gives the function that it then calls. */
static uint32_t merge_writer(Buf bytes, Fixture *result) {
    Fixture from, to;
    load(&from, small_library("01 " WASI "08 'fd_write' 00 01", MEMORY EXPORT_F CALL_WITH_4));
    load(&to, bytes);
    Bridge bridge;
    WasmMerge g = {
        .to = &to.m, .from = &from.m, .whole = true, .resolve = ask_bridge, .ctx = &bridge};
    bridge_init(&bridge, &g, &from.diags);
    merge_root(&g, "f", &from);
    write_and_load(&to.m, result);
    uint32_t func = g.handles[WASM_SPACE_FUNC][0];
    bridge_free(&bridge);
    wasm_merge_free(&g);
    unload(&to);
    unload(&from);
    return func;
}

/* Programs without a memory get the library's, and nothing stands between. */
static void test_wasi_direct(void **state) {
    (void)state;
    Fixture result;
    Buf b = header();
    section(&b, 1, "01 60 04 7f 7f 7f 7f 01 7f");
    section(&b, 2, "01 " WASI "08 'fd_write' 00 00");
    assert_int_equal(merge_writer(b, &result), 0);
    assert_int_equal(result.m.imports.len, 1);
    assert_int_equal(result.m.memories.len, 1);
    assert_non_null(wasm_find_export(&result.m, WASM_SPACE_MEMORY, STR("memory")));
    unload(&result);
}

/* Programs with a memory: an adapter, with its own memory and the import that it needs. */
static void test_wasi_bridge(void **state) {
    (void)state;
    static const char *const limits[] = {"01 00 01", "01 04 01" /* 64 bits */};
    for (int k = 0; k < 2; k++) {
        Fixture result;
        merge_writer(program(limits[k]), &result);
        assert_int_equal(result.m.imports.len, 1);
        assert_int_equal(import_count(&result.m, "fd_write"), 1);
        assert_int_equal(result.m.memories.len, 3);
        assert_int_equal(result.m.exports.len, 1);
        assert_int_equal(result.m.exports.at[0].handle, 0);
        unload(&result);
    }
}

/* What a library wants called first is called by its entries, once; without such, no entry is made.
 */
static void test_entries(void **state) {
    (void)state;
    Fixture from, to, result;
    load(&from, rich_library());
    load(&to, fixture());
    Bridge bridge;
    WasmMerge g = {.to = &to.m, .from = &from.m, .whole = true, .resolve = join, .ctx = &g};
    bridge_init(&bridge, &g, &from.diags);
    merge_root(&g, "use", &from);
    uint32_t use = g.handles[WASM_SPACE_FUNC][2];
    uint32_t entry = bridge_entry(&bridge, use), again = bridge_entry(&bridge, use);
    assert_int_equal(again, entry + 1);
    g.start = g.initialize = -1;
    assert_int_equal(bridge_entry(&bridge, use), use);
    write_and_load(&to.m, &result);
    assert_bytes(wasm_func_body(&result.m, entry), "00 23 04 45 04 40 10 09 0b 20 00 10 07 0b");
    assert_bytes(wasm_func_body(&result.m, again), "00 23 04 45 04 40 10 09 0b 20 00 10 07 0b");
    assert_bytes(wasm_func_body(&result.m, entry - 1), "00 41 01 24 04 10 05 10 06 0b");
    bridge_free(&bridge);
    wasm_merge_free(&g);
    unload(&result);
    unload(&to);
    unload(&from);
}

/* What linkers wrap functions in, and what only looks like it. */
static void test_behind(void **state) {
    (void)state;
    static const struct {
        uint32_t func, behind;
    } cases[] = {
        {1, 1},   /* the function */
        {4, 1},   /* a wrapper, with calls that do nothing */
        {5, 5},   /* other operands */
        {6, 1},   /* a wrapper of the wrapper */
        {8, 8},   /* with a call that never returns */
        {9, 9},   /* of an import */
        {10, 10}, /* which changes the result */
        {11, 11}, /* of itself */
    };
    Fixture from;
    Buf b = header();
    section(&b, 1, "02 60 00 00 60 02 7f 7f 01 7f");
    section(&b, 2, "01 03 'env' 01 'f' 00 01");
    section(&b, 3, "0b 01 00 00 01 01 01 00 01 01 01 01");
    section(&b, 10,
            "0b"
            " 07 00 20 00 20 01 6a 0b"
            " 02 00 0b"
            " 06 00 10 02 10 02 0b"
            " 0c 00 10 03 20 00 20 01 10 01 10 03 0b"
            " 08 00 20 01 20 00 10 01 0b"
            " 08 00 20 00 20 01 10 04 0b"
            " 04 00 10 07 0b"
            " 0a 00 10 07 20 00 20 01 10 01 0b"
            " 08 00 20 00 20 01 10 00 0b"
            " 0b 00 20 00 20 01 10 01 41 01 6a 0b"
            " 08 00 20 00 20 01 10 0b 0b");
    load(&from, b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(library_thunk_target(&from.m, cases[i].func), cases[i].behind);
    unload(&from);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),       cmocka_unit_test(test_keep_memories),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_wasi_direct),
        cmocka_unit_test(test_wasi_bridge), cmocka_unit_test(test_entries),
        cmocka_unit_test(test_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
