/*
 * tests/unit/test_edit.c - adding to modules and editing bodies: where pieces go, and that every
 * index follows.
 */
#include "edit/catch_all.h"
#include "edit/edit.h"
#include "edit/write.h"
#include "wasm_fixture.h"

/* Pieces push and drop a number, so that they can be told apart: M(7) is i32.const 7, drop. */
#define M(n) "41 " #n " 1a "

typedef struct Edits {
    Vec(WasmPatch) patches;
    Buf code;
    WasmExceptions exceptions;
} Edits;

static void piece(Edits *e, uint32_t at, WasmWhere where, const char *hex) {
    uint32_t from = (uint32_t)e->code.len;
    put_hex(&e->code, hex);
    vec_push(&e->patches, (WasmPatch){.at = at,
                                      .where = (uint8_t)where,
                                      .exits = WASM_EXIT_ALL,
                                      .code = from,
                                      .len = (uint32_t)e->code.len - from});
}

/* A module of one function with a type and a body; 0 () -> (), 1 () -> i32, 2 () -> (i32, i64). */
static Buf one_function(const char *type, const char *body) {
    Buf b = header(), content = {0}, code = {0};
    section(&b, 1, "03 60 00 00 60 00 01 7f 60 00 02 7f 7e");
    put_hex(&content, "01");
    put_hex(&content, type);
    buf_u8(&b, 3);
    buf_u8(&b, 2);
    buf_bytes(&b, content.data, 2);
    section(&b, 13, "02 00 00 00 00");
    content.len = 0;
    put_hex(&code, body);
    buf_u8(&content, 1);
    buf_uleb(&content, code.len);
    buf_bytes(&content, code.data, code.len);
    buf_u8(&b, 10);
    buf_uleb(&b, content.len);
    buf_bytes(&b, content.data, content.len);
    buf_free(&content);
    buf_free(&code);
    return b;
}

static void expect_bytes(const uint8_t *data, size_t len, const char *hex) {
    Buf want = {0};
    put_hex(&want, hex);
    bool same = len == want.len && memcmp(data, want.data, len) == 0;
    if (!same) {
        for (size_t k = 0; k < len; k++)
            print_error("%02x ", data[k]);
        print_error("\nwanted %s\n", hex);
    }
    assert_true(same);
    buf_free(&want);
}

typedef struct Writing {
    Fixture *f;
    uint32_t func;
    Edits *edits;
    WasmTypes locals;
} Writing;

static bool write_body(void *ctx, uint32_t func, Buf *out) {
    Writing *w = ctx;
    const char *error;
    uint32_t offset;
    WasmBodyEdit edit = {.patches = w->edits->patches.at,
                         .npatches = w->edits->patches.len,
                         .code = w->edits->code.data,
                         .locals = w->locals.at,
                         .nlocals = w->locals.len,
                         .exceptions = w->edits->exceptions};
    bool ok = wasm_edit_body(&w->f->m, func, func == w->func ? &edit : NULL, out, &error, &offset);
    if (!ok)
        print_error("%s at %u\n", error, offset);
    return ok;
}

static Str local_name(void *ctx, uint32_t func, uint32_t k) {
    (void)ctx;
    (void)func;
    return k == 0 ? STR("added") : STR("");
}

static uint32_t locals_added(void *ctx, uint32_t func) {
    Writing *w = ctx;
    return func == w->func ? w->locals.len : 0;
}

/* Writes the module with edits of one function and reads it back; the result must be valid. */
static void rewrite(Writing *w, Fixture *result) {
    WasmWriter writer = {.body = write_body,
                         .ctx = w,
                         .local_name = local_name,
                         .locals_added = locals_added,
                         .threads = 3};
    Buf out = {0};
    assert_true(wasm_write(&w->f->m, &writer, &out));
    load(result, out);
}

/* Edits a function of a module and compares the new body; frees the edits. */
static void check_edit(const char *type, const char *body, Edits *e, const char *want) {
    Fixture f, result;
    load(&f, one_function(type, body));
    wasm_exit_block_type(&f.m, 0);
    Writing w = {.f = &f, .edits = e};
    rewrite(&w, &result);
    expect_bytes(wasm_func_body(&result.m, 0), result.m.funcs.at[0].body_size, want);
    unload(&result);
    unload(&f);
    vec_free(&e->patches);
    buf_free(&e->code);
}

static void test_positions(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 0, WASM_ENTRY, M(01));
    piece(&e, 1, WASM_BEFORE, M(02));
    piece(&e, 1, WASM_AFTER, M(03));
    piece(&e, 2, WASM_BEFORE, M(04));
    piece(&e, 2, WASM_BEFORE, M(05));
    piece(&e, 2, WASM_AFTER, M(06));
    piece(&e, 4, WASM_BEFORE, M(07));
    piece(&e, 4, WASM_REPLACE, "01");
    piece(&e, 4, WASM_AFTER, M(08));
    piece(&e, 5, WASM_BEFORE, M(09));
    piece(&e, 5, WASM_AFTER, M(0a));
    piece(&e, 6, WASM_BEFORE, M(0b));
    /* nop, block, nop, end, end */
    check_edit("00", "00 01 02 40 01 0b 0b", &e,
               "00" M(02) M(01) "01" M(03) M(04) M(05) "02 40" M(06) M(07) "01" M(08)
                   M(09) "0b" M(0a) M(0b) "0b");
}

static void test_replace(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 1, WASM_REPLACE, "41 05");
    piece(&e, 3, WASM_REPLACE, "");
    check_edit("01", "00 41 01 01 0b", &e, "00 41 05 0b");
}

static void test_first_is_loop(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 0, WASM_ENTRY, M(01));
    piece(&e, 1, WASM_BEFORE, M(02));
    check_edit("00", "00 03 40 0b 0b", &e, "00" M(02) M(01) "03 40 0b 0b");
}

static void test_exits(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 0, WASM_ENTRY, M(01));
    piece(&e, 0, WASM_EXIT, M(02));
    piece(&e, 3, WASM_BEFORE, M(03));
    /* i32.const 1, return, end */
    check_edit("01", "00 41 01 0f 0b", &e, "00" M(01) "02 7f 41 01" M(03) M(02) "0f 0b" M(02) "0b");
    e = (Edits){0};
    piece(&e, 0, WASM_EXIT, M(02));
    /* block, br 1 (the function), end, unreachable, end */
    check_edit("00", "00 02 40 0c 01 0b 00 0b", &e,
               "00 02 40 02 40 0c 01 0b" M(02) "00 0b" M(02) "0b");
    e = (Edits){0};
    piece(&e, 0, WASM_EXIT, M(02));
    check_edit("02", "00 41 01 42 02 0b", &e, "00 02 02 41 01 42 02 0b" M(02) "0b");
    e = (Edits){0};
    piece(&e, 0, WASM_EXIT, M(02));
    check_edit("00", "00 12 00 0b", &e, "00 02 40" M(02) "12 00 0b" M(02) "0b");
}

static void test_exit_kinds(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 0, WASM_EXIT, M(01));
    piece(&e, 0, WASM_EXIT, M(02));
    e.patches.at[0].exits = WASM_EXIT_UNREACHABLE;
    e.patches.at[1].exits = 0;
    check_edit("00", "00 00 0f 0b", &e, "00 02 40" M(01) "00" M(01) M(02) "0f 0b" M(01) M(02) "0b");
}

static void test_after_last_end(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 3, WASM_BEFORE, M(01));
    piece(&e, 3, WASM_AFTER, M(02));
    check_edit("01", "00 41 01 0b", &e, "00 02 7f 41 01" M(01) "0b" M(02) "0b");
    e = (Edits){0};
    piece(&e, 0, WASM_EXIT, M(03));
    piece(&e, 3, WASM_AFTER, M(02));
    check_edit("01", "00 41 01 0b", &e, "00 02 7f 41 01 0b" M(02) M(03) "0b");
}

/* Throws that a handler in the function surely catches are no exits. */
static void test_throws(void **state) {
    (void)state;
    static const struct {
        const char *body, *want;
    } cases[] = {
        /* throw 0 */
        {"00 08 00 0b", "00 02 40" M(01) "08 00 0b" M(01) "0b"},
        /* block try_table (catch 0 0) throw 0 end end */
        {"00 02 40 1f 40 01 00 00 00 08 00 0b 0b 0b",
         "00 02 40 02 40 1f 40 01 00 00 00 08 00 0b 0b 0b" M(01) "0b"},
        /* ... throw 1: another tag */
        {"00 02 40 1f 40 01 00 00 00 08 01 0b 0b 0b",
         "00 02 40 02 40 1f 40 01 00 00 00" M(01) "08 01 0b 0b 0b" M(01) "0b"},
        /* block try_table (catch_all 0) throw 1 end end */
        {"00 02 40 1f 40 01 02 00 08 01 0b 0b 0b",
         "00 02 40 02 40 1f 40 01 02 00 08 01 0b 0b 0b" M(01) "0b"},
        /* try throw 0 catch 0 rethrow 0 end */
        {"00 06 40 08 00 07 00 09 00 0b 0b",
         "00 02 40 06 40 08 00 07 00" M(01) "09 00 0b 0b" M(01) "0b"},
        /* try try throw 0 catch 1 end catch_all end: the outer one catches */
        {"00 06 40 06 40 08 00 07 01 0b 19 0b 0b",
         "00 02 40 06 40 06 40 08 00 07 01 0b 19 0b 0b" M(01) "0b"},
        /* try try throw 0 delegate 0 catch_all end: to the outer one */
        {"00 06 40 06 40 08 00 18 00 19 0b 0b",
         "00 02 40 06 40 06 40 08 00 18 00 19 0b 0b" M(01) "0b"},
        /* try try throw 0 delegate 1 catch_all end: to the caller */
        {"00 06 40 06 40 08 00 18 01 19 0b 0b",
         "00 02 40 06 40 06 40" M(01) "08 00 18 01 19 0b 0b" M(01) "0b"},
        /* try try throw 0 catch_all rethrow 0 end catch 0 end: the outer one may catch */
        {"00 06 40 06 40 08 00 19 09 00 0b 07 00 0b 0b",
         "00 02 40 06 40 06 40 08 00 19 09 00 0b 07 00 0b 0b" M(01) "0b"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Edits e = {0};
        piece(&e, 0, WASM_EXIT, M(01));
        check_edit("00", cases[k].body, &e, cases[k].want);
    }
}

static void test_unwind(void **state) {
    (void)state;
    Edits e = {0};
    piece(&e, 0, WASM_ENTRY, M(01));
    piece(&e, 0, WASM_EXIT, M(02));
    piece(&e, 0, WASM_UNWIND, M(03));
    /* i32.const 1, br 0 (the function), end */
    check_edit("01", "00 41 01 0c 00 0b", &e,
               "00" M(01) "06 7f 41 01 0c 00 19" M(03) "09 00 0b" M(02) "0b");
    e = (Edits){.exceptions = WASM_EXCEPTIONS_REFS};
    piece(&e, 0, WASM_EXIT, M(02));
    piece(&e, 0, WASM_UNWIND, M(03));
    piece(&e, 5, WASM_AFTER, M(04));
    check_edit("01", "00 41 01 0c 00 0b", &e,
               "00 02 69 1f 7f 01 03 00 41 01 0c 00 0b" M(04) M(02) "0f 0b" M(03) "0a 0b");
    e = (Edits){0};
    piece(&e, 0, WASM_UNWIND, M(03));
    piece(&e, 1, WASM_BEFORE, M(04));
    check_edit("00", "00 0b", &e, "00" M(04) "06 40 19" M(03) "09 00 0b 0b");
}

static void test_locals(void **state) {
    (void)state;
    static const WasmType added[] = {WASM_I64, WASM_I64, WASM_F32, WASM_FUNCREF};
    Fixture f, result;
    load(&f, one_function("00", "01 01 7f 0b"));
    Edits e = {0};
    piece(&e, 0, WASM_ENTRY, "42 05 21 01"); /* local.set 1 */
    Writing w = {.f = &f, .edits = &e};
    for (size_t k = 0; k < 4; k++)
        vec_push(&w.locals, added[k]);
    rewrite(&w, &result);
    expect_bytes(wasm_func_body(&result.m, 0), result.m.funcs.at[0].body_size,
                 "04 01 7f 02 7e 01 7d 01 70 42 05 21 01 0b");
    unload(&result);
    unload(&f);
    vec_free(&e.patches);
    vec_free(&w.locals);
    buf_free(&e.code);
}

static void test_bad_edits(void **state) {
    (void)state;
    static const uint32_t places[] = {2, 0, 7, 100};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        Fixture f;
        load(&f, one_function("00", "00 41 c0 00 1a 0b"));
        wasm_layout(&f.m);
        Edits e = {0};
        piece(&e, 0, WASM_EXIT, "");
        piece(&e, places[k], WASM_BEFORE, M(01));
        WasmBodyEdit edit = {
            .patches = e.patches.at, .npatches = e.patches.len, .code = e.code.data};
        const char *error = NULL;
        uint32_t offset = 0;
        Buf out = {0};
        assert_false(wasm_edit_body(&f.m, 0, &edit, &out, &error, &offset));
        assert_string_equal(error, "there is no instruction at this offset");
        assert_int_equal(out.len, 0);
        unload(&f);
        buf_free(&out);
        vec_free(&e.patches);
        buf_free(&e.code);
    }
}

/* ---- indices follow ---- */

static void add_imports(WasmModule *m) {
    WasmType i32 = WASM_I32;
    uint32_t type = wasm_add_func_type(m, &i32, 1, NULL, 0);
    assert_int_equal(type, 4);
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    assert_int_equal(wasm_add_import_func(m, STR("w"), STR("f"), type), 5);
    assert_int_equal(wasm_add_import_global(m, STR("w"), STR("g"), WASM_I64, true), 3);
    assert_int_equal(wasm_add_import_memory(m, STR("w"), STR("m"), limits), 1);
}

/* What every part of the fixture must look like when one function, global and memory came in front.
 */
static void check_followed(const WasmModule *r) {
    assert_int_equal(wasm_find_import(r, STR("w"), STR("f")), 1);
    assert_int_equal(r->funcs.at[0].type, 0);
    assert_int_equal(r->funcs.at[1].type, 4);
    assert_int_equal(r->funcs.at[2].type, 0);
    assert_int_equal(wasm_find_export(r, WASM_SPACE_FUNC, STR("run"))->handle, 3);
    assert_int_equal(wasm_find_export(r, WASM_SPACE_MEMORY, STR("mem"))->handle, 1);
    assert_int_equal(wasm_find_export(r, WASM_SPACE_GLOBAL, STR("gl"))->handle, 2);
    assert_int_equal(r->start, 2);
    const WasmGlobal *g = &r->globals.at[3];
    expect_bytes(r->bytes + g->init, g->init_len, "d2 02 0b");
    expect_bytes(r->bytes + r->globals.at[2].init, 3, "23 00 0b");
    expect_bytes(r->bytes + r->elems.at[0].items, 3, "00 02 03");
    assert_int_equal(r->datas.at[0].memory, 1);
    assert_memory_equal(r->bytes + r->datas.at[0].bytes, "hi", 2);
    assert_true(str_is(r->name, "mod"));
    assert_true(str_is(r->funcs.at[3].name, "two"));
    assert_true(str_is(r->funcs.at[4].name, "th"));
    assert_true(str_is(wasm_extra(r, r->globals.at[2].extra)->name, "gl"));
    assert_int_equal(r->hints.at[0].func, 3);
    expect_bytes(wasm_func_body(r, 2), r->funcs.at[2].body_size, "00 10 00 0b");
    expect_bytes(wasm_func_body(r, 4), r->funcs.at[4].body_size, "00 23 02 0b");
}

static void test_indices_follow(void **state) {
    (void)state;
    Fixture f, result;
    load(&f, fixture());
    add_imports(&f.m);
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    check_followed(&result.m);
    assert_int_equal(result.m.hints.at[0].offset, 9);
    /* Nothing but the indices changed, and they kept their width: only the added items make it
     * longer. */
    uint32_t type = 5, imports = 6 + 7 + 7, flags = 1;
    assert_int_equal(out.len, f.bytes.len + type + imports - 1 + flags);
    unload(&result);
    unload(&f);
}

static void test_edit_and_follow(void **state) {
    (void)state;
    Fixture f, result;
    load(&f, fixture());
    add_imports(&f.m);
    Edits e = {0};
    piece(&e, 0, WASM_ENTRY, M(01));
    piece(&e, 0, WASM_EXIT, M(02));
    piece(&e, 9, WASM_BEFORE, M(03));
    piece(&e, 11, WASM_AFTER, M(04));
    wasm_exit_block_type(&f.m, 2);
    Writing w = {.f = &f, .func = 2, .edits = &e};
    vec_push(&w.locals, WASM_I32);
    vec_push(&w.locals, WASM_I32);
    rewrite(&w, &result);
    const WasmModule *r = &result.m;
    check_followed(r);
    expect_bytes(wasm_func_body(r, 3), r->funcs.at[3].body_size,
                 "02 02 7e 02 7f" M(01) "02 7f 20 00 02 40 20 00" M(03) "0d 00 10 00" M(
                     04) "01 0b" M(02) "0f 0b" M(02) "0b");
    assert_int_equal(r->hints.len, 1);
    assert_int_equal(r->hints.at[0].offset, 19);
    assert_int_equal(wasm_func_body(r, 3)[19], 0x0d);
    /* The name section tells of the first of the two locals, whose index is 3. */
    const WasmSection *names = &vec_last(&r->sections);
    Buf want = {0};
    put_hex(&want, "02 0e 01 03 02 00 02 'p0' 03 05 'added'");
    bool found = false;
    for (uint32_t k = names->payload; k + want.len <= names->end; k++)
        found |= memcmp(r->bytes + k, want.data, want.len) == 0;
    assert_true(found);
    unload(&result);
    unload(&f);
    buf_free(&want);
    vec_free(&e.patches);
    vec_free(&w.locals);
    buf_free(&e.code);
}

/* Functions that notes name get their new index. */
static void test_hint_targets(void **state) {
    (void)state;
    Fixture f, result;
    Buf b = fixture();
    section(&b, 0, "1a 'metadata.code.call_targets' 01 02 01 09 05 02 32 01 80 00");
    load(&f, b);
    assert_int_equal(f.m.hints.len, 2);
    add_imports(&f.m);
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    const WasmModule *r = &result.m;
    assert_int_equal(r->hints.len, 2);
    const WasmHint *h = &r->hints.at[1];
    assert_int_equal(h->func, 3);
    expect_bytes(r->bytes + h->data, h->size, "03 32 02 00");
    unload(&result);
    unload(&f);
}

static void test_hint_of_removed(void **state) {
    (void)state;
    Fixture f, result;
    load(&f, fixture());
    Edits e = {0};
    piece(&e, 9, WASM_REPLACE, "1a"); /* drop instead of br_if */
    Writing w = {.f = &f, .func = 2, .edits = &e};
    rewrite(&w, &result);
    assert_int_equal(result.m.hints.len, 0);
    unload(&result);
    unload(&f);
    vec_free(&e.patches);
    buf_free(&e.code);
}

/* Non-minimal numbers stay non-minimal, and keep their width when the index changes. */
static void test_width(void **state) {
    (void)state;
    Buf b = header();
    section(&b, 1, "01 60 00 00");
    section(&b, 3, "81 00 00");
    section(&b, 7, "01 01 'r' 00 80 80 00");
    section(&b, 10, "01 88 80 00 00 10 80 80 80 80 00 0b");
    Fixture f, result;
    load(&f, b);
    Buf same = {0}, out = {0};
    assert_true(wasm_write(&f.m, NULL, &same));
    assert_int_equal(same.len, f.bytes.len);
    assert_memory_equal(same.data, f.bytes.data, same.len);
    unload(&f);
    Buf again = same;
    load(&f, again);
    wasm_add_import_func(&f.m, STR("w"), STR("f"), 0);
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    const WasmModule *r = &result.m;
    expect_bytes(wasm_func_body(r, 1) - 3, 3 + r->funcs.at[1].body_size,
                 "88 80 00 00 10 81 80 80 80 00 0b");
    expect_bytes(r->bytes + r->refs.at[0].offset, 3, "81 80 00");
    unload(&result);
    unload(&f);
}

/* ---- adding ---- */

static void add_everything(WasmModule *m) {
    WasmLimits memory = {.min = 1, .page_log2 = 16}, table = {.min = 2};
    uint32_t type = wasm_add_func_type(m, NULL, 0, NULL, 0);
    uint32_t global = wasm_add_global_i32(m, true, STR("count"), -5);
    Buf code = {0}, content = {0};
    put_hex(&code, "00 23"); /* handle of the global, to be mapped */
    buf_uleb(&code, global);
    put_hex(&code, "1a 0b");
    uint32_t func = wasm_add_func(m, type, STR("added"), &code, false);
    uint32_t mem = wasm_add_memory(m, memory, STR("own"));
    uint32_t tab = wasm_add_table(m, WASM_FUNCREF, table, STR(""));
    wasm_add_elem_active(m, tab, 1, &func, 1);
    wasm_add_elem_declared(m, &func, 1);
    put_hex(&content, "'abc'");
    wasm_add_data_active(m, mem, 16, &content, STR(""));
    put_hex(&content, "'passive'");
    wasm_add_data_passive(m, &content, STR("blob"));
    wasm_add_tag(m, type, STR(""));
    wasm_add_global_zero(m, WASM_F64, false, STR("z"));
    wasm_add_global_zero(m, WASM_V128, false, STR(""));
    wasm_add_global_zero(m, WASM_REF(1, type), true, STR(""));
    wasm_add_export(m, STR("added"), WASM_SPACE_FUNC, func);
    wasm_set_start(m, func);
}

static void test_add_to_empty(void **state) {
    (void)state;
    WasmModule m;
    wasm_module_init(&m);
    add_everything(&m);
    Buf out = {0};
    assert_true(wasm_write(&m, NULL, &out));
    Fixture result;
    load(&result, out);
    const WasmModule *r = &result.m;
    assert_int_equal(r->start, 0);
    assert_true(r->has_data_count);
    assert_int_equal(r->datas.len, 2);
    assert_int_equal(r->elems.at[1].mode, WASM_DECLARATIVE);
    assert_true(str_is(r->funcs.at[0].name, "added"));
    assert_true(str_is(wasm_extra(r, r->globals.at[0].extra)->name, "count"));
    assert_true(str_is(wasm_extra(r, r->datas.at[1].extra)->name, "blob"));
    unload(&result);
    wasm_module_free(&m);
}

static void test_add_to_fixture(void **state) {
    (void)state;
    Fixture f, result;
    load(&f, fixture());
    add_imports(&f.m);
    add_everything(&f.m);
    wasm_set_export(&f.m, 0, 6);
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    const WasmModule *r = &result.m;
    assert_int_equal(r->start, 6);
    assert_int_equal(wasm_find_export(r, WASM_SPACE_FUNC, STR("run"))->handle, 6);
    assert_int_equal(wasm_find_export(r, WASM_SPACE_FUNC, STR("added"))->handle, 6);
    expect_bytes(wasm_func_body(r, 6), r->funcs.at[6].body_size, "00 23 04 1a 0b");
    assert_true(str_is(wasm_extra(r, r->globals.at[4].extra)->name, "count"));
    assert_true(str_is(wasm_extra(r, r->globals.at[2].extra)->name, "gl"));
    assert_int_equal(r->datas.at[1].memory, 2);
    unload(&result);
    unload(&f);
}

/* A data count appears when passive data does. */
static void test_data_count(void **state) {
    (void)state;
    Fixture f, result;
    Buf b = header();
    section(&b, 1, "01 60 00 00");
    section(&b, 3, "01 00");
    section(&b, 5, "01 00 01");
    section(&b, 10, "01 02 00 0b");
    load(&f, b);
    Buf content = {0}, out = {0};
    put_hex(&content, "'x'");
    wasm_add_data_passive(&f.m, &content, STR(""));
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    assert_true(result.m.has_data_count);
    static const uint8_t order[] = {1, 3, 5, 12, 10, 11};
    assert_int_equal(result.m.sections.len, 6);
    for (uint32_t k = 0; k < 6; k++)
        assert_int_equal(result.m.sections.at[k].id, order[k]);
    unload(&result);
    unload(&f);
}

/* New sections stay behind custom sections at the front and in front of those at the end. */
static void test_custom_order(void **state) {
    (void)state;
    Fixture f, result;
    Buf b = header();
    section(&b, 0, "08 'dylink.0'");
    section(&b, 0, "05 'other'");
    section(&b, 3, "00");
    section(&b, 0, "04 'last'");
    load(&f, b);
    wasm_add_func_type(&f.m, NULL, 0, NULL, 0);
    wasm_add_global_i32(&f.m, true, STR("g"), 1);
    f.m.sections.at[1].drop = true;
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    static const uint8_t order[] = {0, 1, 3, 6, 0, 0};
    assert_int_equal(result.m.sections.len, 6);
    for (uint32_t k = 0; k < 6; k++)
        assert_int_equal(result.m.sections.at[k].id, order[k]);
    assert_true(str_is(result.m.sections.at[4].name, "last"));
    assert_true(str_is(wasm_extra(&result.m, result.m.globals.at[0].extra)->name, "g"));
    unload(&result);
    unload(&f);
}

/* Two functions with memory accesses, and names of everything. */
static Buf named(void) {
    Buf b = header();
    section(&b, 1, "02 60 00 00 5f 01 7f 00");
    section(&b, 3, "02 00 00");
    section(&b, 4, "01 70 00 00");
    section(&b, 5, "01 00 01");
    section(&b, 13, "01 00 00");
    section(&b, 6, "01 7f 00 41 00 0b");
    section(
        &b, 10,
        "02"
        " 14 00 41 00 28 02 04 1a 3f 00 1a 41 00 41 00 41 00 fc 0b 00 0b" /* i32.load, memory.size,
                                                                             memory.fill */
        " 08 00 02 40 03 40 0b 0b 0b");
    section(&b, 0,
            "04 'name' 01 04 01 01 01 'b'"
            " 02 06 01 01 01 00 01 'l'"
            " 03 0b 02 00 01 00 01 'x' 01 01 00 01 'y'"
            " 04 04 01 00 01 't'"
            " 05 04 01 00 01 'T'"
            " 06 04 01 00 01 'm'"
            " 07 04 01 00 01 'g'"
            " 0a 06 01 01 01 00 01 'f'"
            " 0b 04 01 00 01 'e'"
            " 63 02 01 02");
    return b;
}

static void expect_names(const WasmModule *m, const char *hex) {
    const WasmSection *s = &vec_last(&m->sections);
    assert_true(str_is(s->name, "name"));
    expect_bytes(m->bytes + s->payload, s->end - s->payload, hex);
}

static void test_all_names(void **state) {
    (void)state;
    Fixture f, result;
    Buf b = named();
    load(&f, b);
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    wasm_add_import_func(&f.m, STR("w"), STR("f"), 0);
    wasm_add_import_memory(&f.m, STR("w"), STR("m"), limits);
    wasm_add_memory(&f.m, limits, STR("new"));
    Buf content = {0};
    wasm_add_data_active(&f.m, 0, 0, &content, STR("d"));
    Edits e = {0};
    piece(&e, 1, WASM_BEFORE, M(01));
    Writing w = {.f = &f, .func = 0, .edits = &e};
    vec_push(&w.locals, WASM_I32);
    rewrite(&w, &result);
    const WasmModule *r = &result.m;
    expect_bytes(wasm_func_body(r, 1), r->funcs.at[1].body_size,
                 "01 01 7f" M(01) "41 00 28 42 01 04 1a 3f 01 1a 41 00 41 00 41 00 fc 0b 01 0b");
    /* Labels of the edited function are gone; names of the added memory, data and local are there.
     */
    expect_names(r, "01 04 01 02 01 'b'"
                    " 02 0f 02 01 01 00 05 'added' 02 01 00 01 'l'"
                    " 03 06 01 02 01 00 01 'y'"
                    " 04 04 01 00 01 't'"
                    " 05 04 01 00 01 'T'"
                    " 06 09 02 01 01 'm' 02 03 'new'"
                    " 07 04 01 00 01 'g'"
                    " 09 04 01 00 01 'd'"
                    " 0a 06 01 01 01 00 01 'f'"
                    " 0b 04 01 00 01 'e'"
                    " 63 02 01 02");
    unload(&result);
    unload(&f);
    vec_free(&e.patches);
    vec_free(&w.locals);
    buf_free(&e.code);
}

static void test_new_limits(void **state) {
    (void)state;
    Fixture f, result;
    load(&f, fixture());
    f.m.memories.at[0].limits.min = 300;
    f.m.memories.at[0].relimited = true;
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    assert_int_equal(result.m.memories.at[0].limits.min, 300);
    unload(&result);
    unload(&f);
}

/* Data segments in all forms, of a memory that moves; their extent is known. */
static void test_moved_data(void **state) {
    (void)state;
    Fixture f, result;
    Buf b = header();
    section(&b, 5, "01 00 01");
    section(&b, 6, "01 7f 00 41 08 0b");
    section(&b, 11,
            "07"
            " 00 41 10 0b 02 'hi'"             /* short */
            " 80 80 00 41 05 0b 01 'a'"        /* long flags */
            " 00 41 20 0b 82 80 80 80 00 'xy'" /* a long size */
            " 00 41 80 80 80 80 00 0b 00"      /* a long offset, nothing there */
            " 00 23 00 0b 01 'b'"              /* not a constant */
            " 02 80 00 41 30 0b 01 'c'"        /* names its memory */
            " 01 01 'p'");
    load(&f, b);
    assert_int_equal(f.m.memories.at[0].data_start, 5);
    assert_int_equal(f.m.memories.at[0].data_end, 0x31);
    wasm_add_import_memory(&f.m, STR("w"), STR("m"), (WasmLimits){.min = 1, .page_log2 = 16});
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&result, out);
    const WasmSection *s = &vec_last(&result.m.sections);
    expect_bytes(result.m.bytes + s->payload, s->end - s->payload,
                 "07"
                 " 02 01 41 10 0b 02 'hi'"
                 " 02 01 41 05 0b 01 'a'"
                 " 02 01 41 20 0b 82 80 80 80 00 'xy'"
                 " 02 01 41 80 80 80 80 00 0b 00"
                 " 02 01 23 00 0b 01 'b'"
                 " 02 81 00 41 30 0b 01 'c'"
                 " 01 01 'p'");
    unload(&result);
    unload(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),       cmocka_unit_test(test_replace),
        cmocka_unit_test(test_first_is_loop),   cmocka_unit_test(test_exits),
        cmocka_unit_test(test_exit_kinds),      cmocka_unit_test(test_after_last_end),
        cmocka_unit_test(test_throws),          cmocka_unit_test(test_unwind),
        cmocka_unit_test(test_locals),          cmocka_unit_test(test_bad_edits),
        cmocka_unit_test(test_indices_follow),  cmocka_unit_test(test_edit_and_follow),
        cmocka_unit_test(test_hint_of_removed), cmocka_unit_test(test_hint_targets),
        cmocka_unit_test(test_width),           cmocka_unit_test(test_add_to_empty),
        cmocka_unit_test(test_add_to_fixture),  cmocka_unit_test(test_data_count),
        cmocka_unit_test(test_custom_order),    cmocka_unit_test(test_new_limits),
        cmocka_unit_test(test_all_names),       cmocka_unit_test(test_moved_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
