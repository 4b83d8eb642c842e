/*
 * tests/unit/test_merge.c - merging a module into another, and the public C interface.
 */
#include "wasm_fixture.h"

#include "api/api_module.h"
#include "edit/merge.h"
#include "edit/write.h"

/* ---- merging ---- */

/*
 * A library as position-independent code is linked: functions 0 and 1 imported, 2 calls 1 and 3 and
 * loads from its data, 3 calls itself and through the table, 4 is not used by the others.
 */
static Buf library(void) {
    Buf b = header();
    /* 0 () -> (), 1 (i32) -> i32, 2 () -> i32 */
    section(&b, 1, "03 60 00 00 60 01 7f 01 7f 60 00 01 7f");
    section(&b, 2,
            "06 03 'env' 0d '__memory_base' 03 7f 00 03 'env' 0c '__table_base' 03 7f 00"
            " 03 'env' 0f '__stack_pointer' 03 7f 01 03 'env' 06 'memory' 02 00 01"
            " 03 'env' 06 'unused' 00 00 03 'env' 05 'write' 00 01");
    section(&b, 3, "03 02 01 00");
    section(&b, 4, "01 70 00 04");
    section(&b, 6, "02 7f 01 41 07 0b 7f 00 41 09 0b");
    section(&b, 9, "01 00 23 01 0b 01 03");
    section(&b, 10,
            "03"
            /* global.get 0, i32.load8_u, call 3, call 1, global.get 3, i32.add, end */
            " 0e 00 23 00 2d 00 00 10 03 10 01 23 03 6a 0b"
            /* i32.const 1, call 3, drop, local.get 0, i32.const 0, call_indirect (type 1) */
            " 0e 00 41 01 10 03 1a 20 00 41 00 11 01 00 0b"
            " 04 00 10 00 0b");
    section(&b, 11, "01 00 23 00 0b 03 'xyz'");
    section(&b, 0, "04 'name' 01 0b 02 02 03 'run' 03 03 'rec'");
    return b;
}

static int64_t resolve(void *ctx, const WasmImport *im) {
    WasmModule *to = ctx;
    if (str_is(im->name, "__stack_pointer"))
        return 1;
    if (str_is(im->name, "write")) {
        WasmType i32 = WASM_I32;
        return wasm_add_import_func(to, STR("host"), STR("write"),
                                    wasm_add_func_type(to, &i32, 1, &i32, 1));
    }
    return -1;
}

static void test_merge(void **state) {
    (void)state;
    Fixture to, from, result;
    load(&to, fixture());
    Buf bytes = library();
    load(&from, bytes);
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    WasmMerge g = {.to = &to.m,
                   .from = &from.m,
                   .memory = wasm_add_memory(&to.m, limits, STR("rt")),
                   .memory_base = 1024,
                   .resolve = resolve,
                   .ctx = &to.m,
                   .prefix = STR("rt.")};
    uint32_t root = 2;
    bool ok = wasm_merge(&g, &root, 1, &from.diags);
    if (!ok)
        print_error("%s\n", from.diags.list.at[0]->message);
    assert_true(ok);
    assert_int_equal(g.handles[WASM_SPACE_FUNC][0], UINT32_MAX);
    assert_int_equal(g.handles[WASM_SPACE_FUNC][4], UINT32_MAX);
    wasm_add_export(&to.m, STR("rt"), WASM_SPACE_FUNC, g.handles[WASM_SPACE_FUNC][2]);
    Buf out = {0};
    assert_true(wasm_write(&to.m, NULL, &out));
    load(&result, out);
    const WasmModule *r = &result.m;
    /* env.f, host.write, the fixture's four, two copied ones. */
    assert_int_equal(r->funcs.len, 8);
    assert_true(str_is(r->funcs.at[6].name, "rt.run"));
    assert_true(str_is(r->funcs.at[7].name, "rt.rec"));
    assert_int_equal(r->datas.at[1].memory, 1);
    const WasmData *d = &r->datas.at[1];
    Buf want = {0};
    put_hex(&want, "41 80 08 0b");
    assert_memory_equal(r->bytes + d->offset, want.data, want.len);
    assert_memory_equal(r->bytes + d->bytes, "xyz", 3);
    want.len = 0;
    /* The base is a constant global, the load goes to memory 1, the table is the second. */
    put_hex(&want, "00 23 03 2d 40 01 00 10 07 10 01 23 04 6a 0b");
    assert_int_equal(r->funcs.at[6].body_size, want.len);
    assert_memory_equal(wasm_func_body(r, 6), want.data, want.len);
    want.len = 0;
    put_hex(&want, "00 41 01 10 07 1a 20 00 41 00 11 01 01 0b");
    assert_int_equal(r->funcs.at[7].body_size, want.len);
    assert_memory_equal(wasm_func_body(r, 7), want.data, want.len);
    assert_int_equal(r->elems.at[1].table, 1);
    buf_free(&want);
    wasm_merge_free(&g);
    unload(&result);
    unload(&to);
    unload(&from);
}

/* A module's first function merged into another module, and what comes of it. */
typedef struct Merged {
    Fixture from, to, result;
    WasmMerge g;
} Merged;

static void merge_first(Merged *x, Buf module) {
    uint32_t root = 0;
    Buf out = {0};
    load(&x->from, module);
    load(&x->to, fixture());
    x->g = (WasmMerge){.to = &x->to.m, .from = &x->from.m};
    assert_true(wasm_merge(&x->g, &root, 1, &x->from.diags));
    assert_true(wasm_write(&x->to.m, NULL, &out));
    load(&x->result, out);
}

static void merged_free(Merged *x) {
    wasm_merge_free(&x->g);
    unload(&x->result);
    unload(&x->to);
    unload(&x->from);
}

/* Types in recursion groups come over whole; equal function types are shared. */
static void test_merge_types(void **state) {
    (void)state;
    Merged x;
    Buf b = header();
    section(&b, 1, "03 60 00 00 4e 02 5f 01 63 02 01 50 00 5e 63 01 01 60 01 64 02 01 63 01");
    section(&b, 3, "01 03");
    section(&b, 10, "01 07 01 01 63 02 d0 01 0b");
    merge_first(&x, b);
    assert_int_equal(x.g.handles[WASM_SPACE_TYPE][0], UINT32_MAX);
    assert_int_equal(x.g.handles[WASM_SPACE_TYPE][1], 4);
    assert_int_equal(x.result.m.types.len, 7);
    assert_int_equal(x.result.m.types.at[5].group, 4);
    assert_int_equal(x.result.m.types.at[5].group_len, 2);
    assert_int_equal(x.result.m.types.at[6].params[0], WASM_REF(0, 5u));
    merged_free(&x);
}

static int64_t resolve_import(void *ctx, const WasmImport *im) {
    return wasm_merge_join(ctx, im);
}

/* So do types and their descriptors, and exact types and imports. */
static void test_merge_descriptors(void **state) {
    (void)state;
    Merged x;
    Buf b = header();
    section(&b, 1, "02 60 00 00 4e 02 4d 02 5f 00 4c 01 5f 01 63 62 01 00");
    section(&b, 2, "01 01 61 01 62 20 00");
    section(&b, 3, "01 00");
    section(&b, 9, "01 03 00 01 00");
    section(&b, 10, "01 16 02 01 63 62 01 01 63 62 00 fb 01 02 fb 21 01 21 00 d2 00 21 01 0b");
    load(&x.from, b);
    load(&x.to, fixture());
    uint32_t root = 1;
    Buf out = {0};
    x.g = (WasmMerge){.to = &x.to.m, .from = &x.from.m, .resolve = resolve_import};
    x.g.ctx = &x.g;
    assert_true(wasm_merge(&x.g, &root, 1, &x.from.diags));
    assert_true(wasm_write(&x.to.m, NULL, &out));
    load(&x.result, out);
    const WasmModule *r = &x.result.m;
    uint32_t described = x.g.handles[WASM_SPACE_TYPE][1];
    assert_true(r->exact && r->types.at[described].has_descriptor);
    assert_int_equal(r->types.at[described].descriptor, described + 1);
    assert_int_equal(r->types.at[described + 1].describes, described);
    assert_int_equal(r->types.at[described + 1].fields[0].type,
                     WASM_REF(1, described) | WASM_EXACT_BIT);
    int64_t import = wasm_find_import(r, STR("a"), STR("b"));
    assert_true(import >= 0 && r->funcs.at[import].exact);
    merged_free(&x);
}

/* A run of no locals has a type that nothing else uses: it is not copied. */
static void test_merge_no_locals(void **state) {
    (void)state;
    Merged x;
    Buf b = header();
    section(&b, 1, "02 60 00 00 5f 00");
    section(&b, 3, "01 00");
    section(&b, 10, "01 07 02 00 63 01 01 7f 0b");
    merge_first(&x, b);
    assert_int_equal(x.g.handles[WASM_SPACE_TYPE][1], UINT32_MAX);
    merged_free(&x);
}

/*
 * A module with each shape of immediates that names something: try_table, typed select, br_on_cast,
 * array.new_data, memory.init, table.init, call_ref, call_indirect, lanes and so on, among types
 * that are structs and arrays.
 */
static const char every_shape[] =
    "0061736d010000000120075f017f015e780160017f017f60017c0060027f63000163005e700160017f0002080101"
    "650174040006030302020204040170000205030100010d03010006060d02630001d0000b630200d2000b07070103"
    "74776f0001090e020100020001020041010b0001000c01010afb010220020163010163002000fb00002102027f1f"
    "7f02000100000000410308010b0b0bd701000240d000230041011c01630024000b41004104fb0901001a41004101"
    "fb0a05001a410041004104fc080000fc0900410041004101fc0c0000fc0d00410041004101fc0e00004100410041"
    "04fc0a0000fc10001a4101fb0000fb0200001a0263002300fb1803006d001ad0000b1a2300fb14001ad2001a4105"
    "1a23001a0263004101d00002040c010b0b1a4101230114021a410141011102001a4100fd0c000000000000000000"
    "00000000000000fd57030001fd1d001a4101fb0801011a4101fb070141004101fb070141004101fb110101200010"
    "000b0b0701010461626364006f046e616d65010b0200036f6e65010374776f020601000102017803100200010003"
    "6f7574010201016c02014c041a060001730101610201660306756e75736564040270660502666105060100037461"
    "620707020001670101680804010001700904010001640b080200026974010174";

static int64_t resolve_tag(void *ctx, const WasmImport *im) {
    WasmModule *to = ctx;
    WasmType i32 = WASM_I32;
    assert_int_equal(im->space, WASM_SPACE_TAG);
    return wasm_add_tag(to, wasm_add_func_type(to, &i32, 1, NULL, 0), im->name);
}

static void test_merge_shapes(void **state) {
    (void)state;
    Fixture from, to, result;
    Buf b = {0};
    put_hex(&b, every_shape);
    load(&from, b);
    load(&to, fixture());
    WasmMerge g = {.to = &to.m, .from = &from.m, .resolve = resolve_tag, .ctx = &to.m};
    uint32_t root = wasm_find_export(&from.m, WASM_SPACE_FUNC, STR("two"))->handle;
    assert_true(wasm_merge(&g, &root, 1, &from.diags));
    assert_int_equal(g.handles[WASM_SPACE_TYPE][3], UINT32_MAX); /* not used */
    assert_int_equal(g.handles[WASM_SPACE_FUNC][0], 5);
    assert_int_equal(g.handles[WASM_SPACE_DATA][0], 1);
    Buf out = {0};
    assert_true(wasm_write(&to.m, NULL, &out));
    load(&result, out);
    /* The same instructions, each index moved. */
    const WasmModule *r = &result.m, *f = &from.m;
    for (uint32_t k = 0; k < 2; k++) {
        WasmTypes locals = {0};
        const char *error;
        uint32_t old_at = wasm_func_locals(f, k, &locals, &error);
        WasmCode old = wasm_code(wasm_func_body(f, k), f->funcs.at[k].body_size, old_at);
        uint32_t new_at = wasm_func_locals(r, 5 + k, &locals, &error);
        WasmCode new = wasm_code(wasm_func_body(r, 5 + k), r->funcs.at[5 + k].body_size, new_at);
        WasmInstr i, j;
        while (wasm_next(&old, &i)) {
            assert_true(wasm_next(&new, &j));
            assert_int_equal(i.op, j.op);
            assert_int_equal(i.count, j.count);
            assert_true(i.c == j.c);
            if (i.op == WASM_OP_CALL || i.op == WASM_OP_REF_FUNC)
                assert_int_equal(j.a, i.a + 5);
            if (i.op == WASM_OP_TABLE_COPY)
                assert_int_equal(j.b, i.b + 1);
        }
        assert_false(wasm_next(&new, &j));
        vec_free(&locals);
    }
    wasm_merge_free(&g);
    unload(&result);
    unload(&to);
    unload(&from);
}

static void test_merge_unresolved(void **state) {
    (void)state;
    Fixture to, from;
    load(&to, fixture());
    load(&from, library());
    WasmMerge g = {.to = &to.m, .from = &from.m};
    uint32_t root = 4;
    assert_false(wasm_merge(&g, &root, 1, &from.diags));
    assert_string_equal(from.diags.list.at[0]->message,
                        "nothing is supplied for the imported function env.unused");
    wasm_merge_free(&g);
    unload(&to);
    unload(&from);
}

/* ---- the public interface ---- */

static WhammcModule *open_fixture(void) {
    Buf b = fixture();
    char *error = NULL;
    WhammcModule *m = whammc_module_read(b.data, b.len, &error);
    assert_non_null(m);
    buf_free(&b);
    return m;
}

static void test_api_look(void **state) {
    (void)state;
    char *error = NULL;
    assert_null(whammc_module_read("\0asm\1\0\0\0\7", 9, &error));
    assert_string_equal(error, "0x9: unexpected end, in the export section");
    whammc_release(error);
    WhammcModule *m = open_fixture();
    assert_int_equal(whammc_module_count(m, WHAMMC_FUNC), 5);
    assert_int_equal(whammc_module_imports(m, WHAMMC_FUNC), 1);
    assert_string_equal(whammc_module_func_name(m, 0), "f");
    assert_string_equal(whammc_module_func_name(m, 2), "two");
    assert_string_equal(whammc_module_func_name(m, 4), "");
    assert_string_equal(whammc_module_func_name(m, 99), "");
    assert_int_equal(whammc_module_func_params(m, 2), 1);
    assert_int_equal(whammc_module_func_result(m, 4, 1), WHAMMC_I64);
    assert_int_equal(whammc_module_find_export(m, WHAMMC_GLOBAL, "gl"), 1);
    assert_int_equal(whammc_module_find_export(m, WHAMMC_FUNC, "gl"), WHAMMC_NONE);
    assert_int_equal(whammc_module_start(m), 1);
    assert_null(whammc_walk_new(m, 0));
    static const char *const mnemonics[] = {"local.get", "block", "local.get", "br_if", "call",
                                            "nop",       "end",   "return",    "end"};
    WhammcWalk *walk = whammc_walk_new(m, 2);
    WhammcInstr i;
    for (size_t k = 0; k < sizeof mnemonics / sizeof *mnemonics; k++) {
        assert_true(whammc_walk_next(walk, &i));
        assert_string_equal(i.mnemonic, mnemonics[k]);
        if (k == 3) {
            assert_int_equal(i.offset, 9);
            assert_int_equal(i.nimms, 1);
            assert_int_equal(i.imms[0], 0);
            assert_string_equal(i.category, "control");
        }
    }
    assert_false(whammc_walk_next(walk, &i));
    whammc_walk_free(walk);
    whammc_module_free(m);
}

/* counter = counter + 1 */
static void count(WhammcCode *code, uint32_t counter) {
    whammc_code_clear(code);
    whammc_code_global_get(code, counter);
    whammc_code_i64_const(code, 1);
    assert_true(whammc_code_op(code, "i64.add", NULL, 0));
    whammc_code_global_set(code, counter);
}

static void test_api_attach(void **state) {
    (void)state;
    WhammcModule *m = open_fixture();
    WhammcCode *code = whammc_code_new();
    uint32_t counter = whammc_module_add_global(m, WHAMMC_I64, true, "counter", 0);
    uint32_t local = whammc_module_add_local(m, 2, WHAMMC_I64);
    assert_int_equal(local, 3);
    uint32_t type = whammc_module_add_type(m, NULL, 0, NULL, 0);
    uint32_t imported = whammc_module_import_func(m, "host", "tick", type);
    assert_int_equal(imported, 5);
    count(code, counter);
    assert_true(whammc_module_attach(m, 2, 9, WHAMMC_BEFORE, code));
    assert_true(whammc_module_attach(m, 2, 0, WHAMMC_ENTRY, code));
    whammc_code_clear(code);
    whammc_code_call(code, imported);
    whammc_code_i64_const(code, 3);
    whammc_code_local_set(code, local);
    assert_true(whammc_module_attach(m, 2, 0, WHAMMC_EXIT, code));
    assert_true(whammc_module_add_export(m, "counter", WHAMMC_GLOBAL, counter));
    assert_false(whammc_module_add_export(m, "counter", WHAMMC_GLOBAL, counter));
    uint32_t func = whammc_module_add_func(m, type, "more", NULL, 0, code);
    assert_int_equal(func, 6);
    uint8_t *bytes;
    size_t size;
    assert_false(whammc_module_write(m, &bytes, &size)); /* the function has no such local */
    assert_non_null(strstr(whammc_module_error(m), "local 3 does not exist"));
    whammc_module_free(m);
    whammc_code_free(code);
}

static void test_api_write(void **state) {
    (void)state;
    WhammcModule *m = open_fixture();
    WhammcCode *code = whammc_code_new();
    uint32_t type = whammc_module_add_type(m, NULL, 0, NULL, 0);
    uint32_t memory = whammc_module_add_memory(m, 1, 2, "own");
    uint32_t global = whammc_module_import_global(m, "host", "base", WHAMMC_I32, false);
    uint64_t access[] = {2, memory, 16};
    whammc_code_global_get(code, global);
    whammc_code_i32_const(code, -1);
    assert_true(whammc_code_op(code, "i32.store", access, 3));
    assert_false(whammc_code_op(code, "i32.store", access, 2));
    assert_false(whammc_code_op(code, "i32.stor", access, 3));
    assert_false(whammc_code_op(code, "br_table", access, 3));
    uint32_t func = whammc_module_add_func(m, type, "more", NULL, 0, code);
    whammc_module_add_data(m, memory, 0, "abc", 3);
    whammc_module_add_passive_data(m, "def", 3);
    whammc_code_clear(code);
    whammc_code_call(code, func);
    assert_true(whammc_module_attach(m, 2, 15, WHAMMC_REPLACE, code));
    assert_false(whammc_module_attach(m, 2, 10, WHAMMC_BEFORE, code));
    assert_string_equal(whammc_module_error(m), "no instruction begins at offset 10");
    assert_false(whammc_module_attach(m, 0, 0, WHAMMC_ENTRY, code));
    whammc_code_bytes(code, "\xff", 1);
    assert_false(whammc_module_attach(m, 2, 15, WHAMMC_BEFORE, code));
    whammc_module_set_start(m, func);
    for (int again = 0; again < 2; again++) {
        uint8_t *bytes = NULL;
        size_t size = 0;
        bool ok = whammc_module_write(m, &bytes, &size);
        if (!ok)
            print_error("%s\n", whammc_module_error(m));
        assert_true(ok);
        WhammcModule *r = whammc_module_read(bytes, size, NULL);
        assert_non_null(r);
        assert_int_equal(whammc_module_start(r), 5);
        assert_int_equal(whammc_module_count(r, WHAMMC_DATA), 3);
        WhammcWalk *walk = whammc_walk_new(r, 2);
        WhammcInstr i = {0};
        while (whammc_walk_next(walk, &i) && strcmp(i.mnemonic, "end") != 0)
            if (i.offset > 12 && strcmp(i.mnemonic, "call") == 0)
                assert_int_equal(i.imms[0], 5);
        whammc_walk_free(walk);
        whammc_module_free(r);
        whammc_release(bytes);
    }
    assert_int_equal(whammc_module_import_func(m, "a", "b", type), WHAMMC_NONE);
    whammc_module_free(m);
    whammc_code_free(code);
}

/* The builder's instructions are what the walk gives back. */
static void test_api_code(void **state) {
    (void)state;
    static const struct {
        const char *mnemonic;
        uint64_t imms[4];
        uint32_t given, seen;
    } ops[] = {
        {"block", {WHAMMC_VOID}, 1, 0},
        {"i32.const", {(uint64_t)-7}, 1, 1},
        {"i64.const", {1ull << 40}, 1, 1},
        {"f32.const", {0x7fc00001}, 1, 1},
        {"f64.const", {1ull << 63}, 1, 1},
        {"br_if", {300}, 1, 1},
        {"call_indirect", {1, 2}, 2, 2},
        {"i32.load8_u", {0, 3, 70000}, 3, 3},
        {"v128.load8_lane", {0, 0, 1, 15}, 4, 3},
        {"i8x16.extract_lane_s", {15}, 1, 1},
        {"memory.copy", {1, 0}, 2, 2},
        {"atomic.fence", {0}, 0, 0},
        {"i32x4.relaxed_madd", {0}, 0, UINT32_MAX},
        {"nop", {0}, 0, 0},
        {"nop", {0}, 1, UINT32_MAX},
        {"f64.const", {0}, 0, UINT32_MAX},
    };
    WhammcCode *code = whammc_code_new();
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        whammc_code_clear(code);
        bool ok = whammc_code_op(code, ops[k].mnemonic, ops[k].imms, ops[k].given);
        assert_int_equal(ok, ops[k].seen != UINT32_MAX);
        if (!ok)
            continue;
        WasmInstr i;
        WasmCode c = wasm_code(code->bytes.data, code->bytes.len, 0);
        assert_true(wasm_next(&c, &i));
        assert_int_equal(i.size, code->bytes.len);
        assert_string_equal(wasm_ops[i.op].mnemonic, ops[k].mnemonic);
        if (ops[k].seen == 3)
            assert_true(i.a == ops[k].imms[0] && i.b == ops[k].imms[1] && i.c == ops[k].imms[2]);
        if (ops[k].seen == 2)
            assert_true(i.a == ops[k].imms[0] && i.b == ops[k].imms[1]);
        if (ops[k].seen == 1)
            assert_true(i.a == ops[k].imms[0] || i.c == ops[k].imms[0]);
    }
    whammc_code_clear(code);
    whammc_code_f32_const(code, 1.5f);
    whammc_code_f64_const(code, -1.5);
    whammc_code_local_get(code, 1);
    whammc_code_local_tee(code, 200);
    Buf want = {0};
    put_hex(&want, "43 00 00 c0 3f 44 00 00 00 00 00 00 f8 bf 20 01 22 c8 01");
    assert_int_equal(code->bytes.len, want.len);
    assert_memory_equal(code->bytes.data, want.data, want.len);
    buf_free(&want);
    whammc_code_free(code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_types),
        cmocka_unit_test(test_merge_descriptors),
        cmocka_unit_test(test_merge_no_locals),
        cmocka_unit_test(test_merge_shapes),
        cmocka_unit_test(test_merge_unresolved),
        cmocka_unit_test(test_api_look),
        cmocka_unit_test(test_api_attach),
        cmocka_unit_test(test_api_code),
        cmocka_unit_test(test_api_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
