/*
 * tests/unit/test_wasm.c - the decoder and the module reader: numbers, immediates, errors, type
 * equality.
 */
#include "wasm_fixture.h"

#include "edit/write.h"
#include "valid/valid.h"
#include "wasm/read.h"

/* ---- decoder ---- */

static WasmInstr decode(const char *hex, const char *error) {
    static Buf b; /* stays for instructions whose vec points into it */
    b.len = 0;
    put_hex(&b, hex);
    WasmCode c = wasm_code(b.data, b.len, 0);
    WasmInstr i = {0};
    bool ok = wasm_next(&c, &i);
    char text[WASM_CODE_ERROR_SIZE];
    const char *found = wasm_code_error(&c, text);
    if (error) {
        assert_false(ok);
        assert_non_null(found);
        assert_string_equal(found, error);
    } else {
        if (!ok)
            print_error("%s: %s\n", hex, found ? found : "nothing decoded");
        assert_true(ok);
        assert_int_equal(i.size, b.len);
    }
    return i;
}

static void test_unsigned(void **state) {
    (void)state;
    assert_int_equal(decode("20 00", NULL).a, 0);
    assert_int_equal(decode("20 7f", NULL).a, 127);
    assert_int_equal(decode("20 80 01", NULL).a, 128);
    assert_int_equal(decode("20 80 80 80 80 00", NULL).a, 0);
    assert_int_equal(decode("20 ff ff ff ff 0f", NULL).a, UINT32_MAX);
    assert_int_equal(decode("20 81 83 87 8f 01", NULL).a,
                     1 | 3 << 7 | 7 << 14 | 15 << 21 | 1 << 28);
    decode("20 ff ff ff ff 1f", "integer too large");
    decode("20 80 80 80 80 80 00", "integer representation too long");
    decode("20 80", "unexpected end");
    decode("20", "unexpected end");
    assert_int_equal(decode("28 02 ff ff ff ff ff ff ff ff ff 01", NULL).c, UINT64_MAX);
    assert_true(decode("28 02 ff ff ff ff 7f", NULL).c == (UINT64_C(1) << 35) - 1);
    assert_true(decode("28 02 ff ff ff ff ff 01", NULL).c == (UINT64_C(1) << 36) - 1);
    decode("28 02 ff ff ff ff ff ff ff ff ff 02", "integer too large");
    decode("28 02 80 80 80 80 80 80 80 80 80 80 00", "integer representation too long");
}

static void test_signed(void **state) {
    (void)state;
    assert_int_equal((int64_t)decode("41 3f", NULL).c, 63);
    assert_int_equal((int64_t)decode("41 40", NULL).c, -64);
    assert_int_equal((int64_t)decode("41 7f", NULL).c, -1);
    assert_int_equal((int64_t)decode("41 c0 00", NULL).c, 64);
    assert_int_equal((int64_t)decode("41 ff 7f", NULL).c, -1);
    assert_int_equal((int64_t)decode("41 ff ff ff ff 07", NULL).c, INT32_MAX);
    assert_int_equal((int64_t)decode("41 80 80 80 80 78", NULL).c, INT32_MIN);
    decode("41 80 80 80 80 08", "integer too large");
    decode("41 ff ff ff ff 77", "integer too large");
    decode("41 80 80 80 80 80 00", "integer representation too long");
    assert_true(decode("42 80 80 80 80 80 80 80 80 80 7f", NULL).c == (uint64_t)INT64_MIN);
    assert_true(decode("42 ff ff ff ff ff ff ff ff ff 00", NULL).c == INT64_MAX);
    decode("42 80 80 80 80 80 80 80 80 80 01", "integer too large");
    decode("42 80 80 80 80 80 80 80 80 80 7e", "integer too large");
}

static void test_immediates(void **state) {
    (void)state;
    WasmInstr i = decode("02 40", NULL);
    assert_int_equal(i.type, WASM_NONE);
    assert_int_equal(decode("02 7e", NULL).type, WASM_I64);
    assert_int_equal(decode("02 05", NULL).type, WASM_FUNC_TYPE_BIT | 5);
    assert_int_equal(decode("02 c0 00", NULL).type, WASM_FUNC_TYPE_BIT | 64);
    assert_int_equal(decode("02 63 03", NULL).type, WASM_REF(1, 3u));
    assert_int_equal(decode("02 64 70", NULL).type, WASM_REF(0, WASM_HEAP(0x70)));
    decode("02 41", "unknown value type 0x41");
    i = decode("28 42 03 81 01", NULL);
    assert_int_equal(i.a, 2);
    assert_int_equal(i.b, 3);
    assert_int_equal(i.c, 129);
    decode("28 80 01 00", "malformed memop flags 0x80");
    i = decode("fd 54 00 08 0f", NULL);
    assert_int_equal(i.op, WASM_OP_V128_LOAD8_LANE);
    assert_int_equal(i.count, 15);
    i = decode("0e 02 01 80 01 03", NULL);
    assert_int_equal(i.count, 2);
    assert_int_equal(i.a, 3);
    const uint8_t *at = i.vec;
    assert_int_equal(wasm_vec_u32(&at), 1);
    assert_int_equal(wasm_vec_u32(&at), 128);
    i = decode("1c 01 63 70", NULL);
    assert_int_equal(i.type, WASM_FUNCREF);
    at = i.vec;
    assert_int_equal(wasm_vec_type(&at), WASM_FUNCREF);
    i = decode("1f 40 02 01 04 00 02 01", NULL);
    assert_int_equal(i.count, 2);
    at = i.vec;
    WasmCatch k = wasm_vec_catch(&at);
    assert_int_equal(k.kind, 1);
    assert_int_equal(k.tag, 4);
    k = wasm_vec_catch(&at);
    assert_int_equal(k.kind, 2);
    assert_int_equal(k.label, 1);
    decode("1f 40 01 04 00", "unknown catch kind 0x04");
    i = decode("fb 18 02 01 6e 05", NULL);
    assert_int_equal(i.a, 1);
    assert_int_equal(i.type, WASM_REF(0, WASM_HEAP(0x6e)));
    assert_int_equal(i.type2, WASM_REF(1, 5u));
    decode("fb 18 04 01 6e 05", "malformed br_on_cast flags 0x04");
    assert_int_equal(decode("d0 6a", NULL).type, WASM_REF(1, WASM_HEAP(0x6a)));
    decode("d0 7f", "unknown heap type 0x7f");
    decode("d0 f0 7f", "unknown heap type 0xf0");
    assert_int_equal(decode("d0 62 85 00", NULL).type, WASM_REF(1, 5u) | WASM_EXACT_BIT);
    assert_int_equal(decode("02 64 62 03", NULL).type, WASM_REF(0, 3u) | WASM_EXACT_BIT);
    decode("d0 62 ff ff ff ff 0f", "type index too large");
    decode("d0 62", "unexpected end");
    decode("d0 e2 7f 00", "unknown heap type 0xe2");
    assert_int_equal(decode("43 00 00 80 3f", NULL).c, 0x3f800000);
    assert_true(decode("44 00 00 00 00 00 00 f0 bf", NULL).c == 0xbff0000000000000u);
    decode("fe 03 01", "zero byte expected");
}

static void test_opcodes(void **state) {
    (void)state;
    decode("27", "unknown opcode 0x27");
    decode("ff 00", "unknown opcode 0xff");
    decode("fd ff 03", "unknown opcode 0xfd 0x1ff");
    decode("fb 1f", "unknown opcode 0xfb 0x1f");
    decode("e3 00 01 02", "unknown handler kind 0x02");
    decode("fb 80 01", "unknown opcode 0xfb 0x80 (proposal reference-typed strings)");
    decode("fd d0 02", "unknown opcode 0xfd 0x150");
    assert_int_equal(decode("fd a1 02 07", NULL).op, WASM_OP_F16X8_EXTRACT_LANE);
    decode("fd", "unexpected end");
    assert_int_equal(decode("fd 80 82 80 80 00", NULL).op, WASM_OP_I8X16_RELAXED_SWIZZLE);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        Buf b = {0};
        wasm_put_op(&b, (WasmOp)op);
        size_t opcode = b.len;
        for (int k = 0; k < 20; k++)
            buf_u8(&b, 0);
        WasmCode c = wasm_code(b.data, b.len, 0);
        WasmInstr i;
        bool ok = wasm_next(&c, &i);
        assert_true(ok);
        assert_int_equal(i.op, op);
        assert_int_equal(i.opcode_size, opcode);
        buf_free(&b);
    }
}

/* Instructions with as many numbers of all lengths as any has, and bytes for those that have none.
 */
static const char *const plain_tails[] = {
    "00 00 00 00 00 00 00 00",          "3f 7f 00 00 00 00 00 00", "82 00 81 80 00 00 00 00",
    "42 81 01 ff ff 03 00 00",          "7f 00 00 00 00 00 00 00", "ff 00 ff ff ff 00 00 00",
    "80 80 80 80 00 80 80 80 80 00 00", "c1 00 80 00 85 00 00 00",
};

/* wasm_plain_next finds the end of whatever wasm_next takes, wasm_short_size that of the short
 * form. */
static void test_plain(void **state) {
    (void)state;
    Buf b = {0};
    uint32_t plain = 0;
    for (uint32_t first = 0; first < 256; first++)
        for (uint32_t k = 0; k < sizeof plain_tails / sizeof *plain_tails; k++) {
            b.len = 0;
            buf_u8(&b, (uint8_t)first);
            put_hex(&b, plain_tails[k]);
            WasmCode c = wasm_code(b.data, b.len, 0);
            WasmInstr i;
            if (!wasm_next(&c, &i))
                continue;
            const WasmShortOp *op = &wasm_short_ops[first];
            uint32_t size = wasm_short_size(b.data, b.data + b.len);
            assert_true(!size || size == i.size);
            if (!op->plain)
                continue;
            plain++;
            assert_int_equal(op->op, i.op);
            assert_int_equal(wasm_flow(i.op), WASM_FLOW_NEXT);
            assert_int_equal(wasm_plain_next((WasmPlain)op->plain, b.data) - b.data, i.size);
        }
    assert_true(plain > 1000);
    buf_free(&b);
    uint8_t *none = mem_alloc(1); /* nothing is read at the end, which an ASan build sees */
    assert_int_equal(wasm_short_size(none + 1, none + 1), 0);
    free(none);
}

/* A short constant has the value that the decoder finds; nothing else is one. */
static void test_short_const(void **state) {
    static const char *const codes[] = {
        "41 00 0b 00 00 00", "41 7f 0b 0b 0b 0b",       "41 0b 0b 00 00 00",    "41 ff ff ff 3f 0b",
        "42 80 7f 0b 00 00", "42 80 80 80 40 0b",       "41 80 80 80 80 00 0b", "41 00 41 00 6a 0b",
        "43 00 00 00 00 0b", "41 0b 41 0b 6a 0b 00 00",
    };
    (void)state;
    Buf b = {0};
    uint32_t found = 0;
    for (uint32_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        b.len = 0;
        put_hex(&b, codes[k]);
        WasmCode c = wasm_code(b.data, b.len, 0);
        WasmInstr constant, end;
        WasmType type;
        int64_t value;
        assert_true(wasm_next(&c, &constant) && wasm_next(&c, &end));
        uint32_t size = wasm_short_const(b.data, b.data + b.len, &type, &value);
        if (!size)
            continue;
        found++;
        assert_int_equal(end.op, WASM_OP_END);
        assert_int_equal(size, end.offset + end.size);
        assert_int_equal(type, constant.op == WASM_OP_I32_CONST ? WASM_I32 : WASM_I64);
        assert_int_equal(value, constant.c);
    }
    assert_int_equal(found, 6);
    buf_free(&b);
}

static void test_type_text(void **state) {
    (void)state;
    char text[32];
    assert_string_equal(wasm_type_text(WASM_I32, text), "i32");
    assert_string_equal(wasm_type_text(WASM_FUNCREF, text), "funcref");
    assert_string_equal(wasm_type_text(WASM_REF(1, 3u), text), "(ref null 3)");
    assert_string_equal(wasm_type_text(WASM_REF(0, WASM_HEAP(0x6e)), text), "(ref any)");
    assert_string_equal(wasm_type_text(WASM_REF(1, WASM_HEAP(0x71)), text), "nullref");
    WasmType exact = WASM_REF(0, WASM_MAX_TYPE_INDEX) | WASM_EXACT_BIT;
    assert_string_equal(wasm_type_text(exact, text), "(ref (exact 268435455))");
}

/* ---- reader ---- */

typedef struct BadModule {
    const char *hex; /* behind the header, unless it begins with '!' */
    DiagTag tag;
    uint32_t offset;
    const char *message; /* its beginning */
} BadModule;

static const BadModule bad_modules[] = {
    {"!", DIAG_NOT_WASM, 0, "the file is empty"},
    {"!00", DIAG_NOT_WASM, 0, "unexpected end: the file has only 1 bytes"},
    {"!00 61 73 6d 01 00 00", DIAG_NOT_WASM, 0, "unexpected end: the file has only 7 bytes"},
    {"!00 61 73 6d 02 00 00 00", DIAG_NOT_WASM, 4, "unknown binary version 2"},
    {"!00 61 73 6d 0d 00 01 00", DIAG_COMPONENT, 4, "this is a component"},
    {"!0a 20 3b 3b 20 78 0a 28 6d", DIAG_NOT_WASM, 0, "this is WebAssembly text"},
    {"!1f 8b 08 00 00 00 00 00", DIAG_NOT_WASM, 0, "the file is compressed"},
    {"!7f 45 4c 46 00 00 00 00", DIAG_NOT_WASM, 0, "not a WebAssembly module"},
    {"0e 00", DIAG_MALFORMED, 8, "unknown section id 14"},
    {"01 05 01 60 00", DIAG_MALFORMED, 8, "unexpected end: the section has 5 bytes"},
    {"01", DIAG_MALFORMED, 9, "unexpected end"},
    {"01 80 80 80 80 10", DIAG_MALFORMED, 9, "integer too large"},
    {"01 05 01 60 00 00 00", DIAG_MALFORMED, 14, "section size mismatch: 1 bytes"},
    {"01 01 00 01 01 00", DIAG_MALFORMED, 11, "unexpected content: the section occurs twice"},
    {"02 01 00 01 01 00", DIAG_MALFORMED, 11, "unexpected content: the section comes too late"},
    {"01 05 ff ff ff ff 0f", DIAG_MALFORMED, 10, "unexpected end: 4294967295 items"},
    {"01 04 01 61 00 00", DIAG_MALFORMED, 11, "unknown type form 0x61"},
    {"01 05 01 60 01 79 00", DIAG_MALFORMED, 13, "unknown value type"},
    {"01 06 01 60 01 63 01 00", DIAG_INVALID, 13, "unknown type 1"},
    {"01 09 01 50 02 00 00 60 00 00 00", DIAG_MALFORMED, 12, "a type has at most one supertype"},
    {"01 07 01 50 01 05 60 00 00", DIAG_INVALID, 13, "unknown type 5"},
    {"01 05 01 5e 7f 02 00", DIAG_MALFORMED, 13, "malformed mutability 0x02"},
    {"02 06 01 01 ff 00 00 00", DIAG_MALFORMED, 12, "malformed UTF-8"},
    {"02 06 01 00 00 05 00 00", DIAG_MALFORMED, 13, "malformed import kind 0x05"},
    {"02 05 01 00 00 00 00", DIAG_INVALID, 14, "unknown type 0"},
    {"01 03 01 5f 00 02 05 01 00 00 00 00", DIAG_INVALID, 19, "type 0 is not a function type"},
    {"01 04 01 60 00 00 03 02 01 00", DIAG_MALFORMED, 16, "unexpected end: 1 functions"},
    {"01 04 01 60 00 00 03 02 01 00 00 01 00", DIAG_MALFORMED, 21, "function and code section"},
    {"01 04 01 60 00 00 03 02 01 00 0a 01 00", DIAG_MALFORMED, 20, "function and code section"},
    {"0a 04 01 02 00 0b", DIAG_MALFORMED, 10, "function and code section"},
    {"04 04 01 7f 00 00", DIAG_MALFORMED, 11, "malformed reference type"},
    {"04 04 01 70 02 00", DIAG_MALFORMED, 12, "malformed limits flags 0x02"},
    {"05 03 01 10 00", DIAG_MALFORMED, 11, "malformed limits flags 0x10"},
    {"05 04 01 08 00 40", DIAG_MALFORMED, 13, "invalid custom page size"},
    {"06 06 01 7f 00 41 00 1a", DIAG_MALFORMED, 16, "unexpected end of an expression"},
    {"06 06 01 7f 00 23 07 0b", DIAG_INVALID, 14, "unknown global 7"},
    {"06 05 01 7f 00 27 0b", DIAG_MALFORMED, 13, "unknown opcode 0x27"},
    {"07 05 01 01 61 00 00", DIAG_INVALID, 14, "unknown function 0"},
    {"08 01 00", DIAG_INVALID, 10, "unknown function 0"},
    {"09 02 01 08", DIAG_MALFORMED, 11, "malformed element segment kind 8"},
    {"09 06 01 00 41 00 0b 00", DIAG_INVALID, 12, "unknown table 0"},
    {"0b 02 01 03", DIAG_MALFORMED, 11, "malformed data segment kind 3"},
    {"0b 06 01 00 41 00 0b 00", DIAG_INVALID, 11, "unknown memory 0"},
    {"0c 01 01", DIAG_MALFORMED, 11, "data count and data section"},
    {"0d 03 01 01 00", DIAG_MALFORMED, 11, "malformed tag attribute 0x01"},
    {"00 02 05 61", DIAG_MALFORMED, 12, "unexpected end"},
};

static void test_bad_modules(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof bad_modules / sizeof *bad_modules; k++) {
        const BadModule *bad = &bad_modules[k];
        Buf b = {0};
        if (*bad->hex != '!')
            put_hex(&b, "00 61 73 6d 01 00 00 00");
        put_hex(&b, *bad->hex == '!' ? bad->hex + 1 : bad->hex);
        Diags diags = {0};
        WasmModule m;
        bool ok = wasm_load(&m, b.data, b.len, 0, &diags);
        assert_false(ok);
        assert_int_equal(diags.list.len, 1);
        const Diag *d = diags.list.at[0];
        bool same = strncmp(d->message, bad->message, strlen(bad->message)) == 0;
        if (!same || d->tag != bad->tag || d->span.start != bad->offset)
            print_error("%s: %s at %u\n", bad->hex, d->message, d->span.start);
        assert_true(same);
        assert_int_equal(d->tag, bad->tag);
        assert_int_equal(d->span.start, bad->offset);
        wasm_module_free(&m);
        diag_free(&diags);
        buf_free(&b);
    }
}

/* Every beginning of a module is read without a fault, and whole sections come back as they are. */
static void test_truncated(void **state) {
    (void)state;
    Buf whole = fixture();
    for (size_t len = 0; len < whole.len; len++) {
        uint8_t *part = mem_alloc(len + 1);
        memcpy(part, whole.data, len);
        Diags diags = {0};
        WasmUnvalidated read;
        Buf out = {0};
        if (wasm_read(&read, part, len, 0, NULL, &diags)) {
            assert_true(wasm_write(&read.m, NULL, &out));
            assert_int_equal(out.len, len);
            assert_memory_equal(out.data, part, len);
        } else {
            assert_int_equal(diags.errors, 1);
        }
        wasm_module_free(&read.m);
        diag_free(&diags);
        buf_free(&out);
        free(part);
    }
    buf_free(&whole);
}

static void test_tables(void **state) {
    (void)state;
    Fixture f;
    load(&f, fixture());
    const WasmModule *m = &f.m;
    assert_int_equal(m->types.len, 4);
    assert_int_equal(m->funcs.len, 5);
    assert_int_equal(m->input_imports[WASM_SPACE_FUNC], 1);
    assert_int_equal(m->input_imports[WASM_SPACE_GLOBAL], 1);
    assert_int_equal(m->start, 1);
    assert_true(m->has_data_count);
    assert_int_equal(m->elems.at[0].count, 3);
    assert_int_equal(m->elems.at[0].type, WASM_REF(0, WASM_HEAP(WASM_HEAP_FUNC)));
    assert_int_equal(m->datas.at[0].size, 2);
    assert_memory_equal(m->bytes + m->datas.at[0].bytes, "hi", 2);
    assert_true(str_is(wasm_func_name(m, 2), "two"));
    assert_int_equal(wasm_find_import(m, STR("env"), STR("f")), 0);
    assert_int_equal(wasm_find_import(m, STR("env"), STR("g")), -1);
    assert_int_equal(wasm_find_export(m, WASM_SPACE_FUNC, STR("run"))->handle, 2);
    assert_null(wasm_find_export(m, WASM_SPACE_TABLE, STR("run")));
    assert_int_equal(m->hints.len, 1);
    WasmTypes locals = {0};
    const char *error;
    assert_int_equal(wasm_func_locals(m, 2, &locals, &error), 3);
    assert_int_equal(locals.len, 3);
    assert_int_equal(locals.at[0], WASM_I32);
    assert_int_equal(locals.at[2], WASM_I64);
    vec_free(&locals);
    unload(&f);
}

static void test_too_many_locals(void **state) {
    (void)state;
    Buf b = header();
    section(&b, 1, "01 60 00 00");
    section(&b, 3, "01 00");
    section(&b, 10, "01 08 01 ff ff ff ff 0f 7f 0b");
    Diags diags = {0};
    WasmModule m;
    assert_false(wasm_load(&m, b.data, b.len, 0, &diags));
    assert_int_equal(m.funcs.len, 0);
    assert_string_equal(diags.list.at[0]->message, "function 0: too many locals");
    diag_free(&diags);
    buf_free(&b);
}

static void test_type_equality(void **state) {
    (void)state;
    Buf b = header();
    section(&b, 1,
            "08"
            " 60 01 7f 00"                   /* 0 */
            " 60 01 7f 00"                   /* 1 = 0 */
            " 4e 02 5f 01 63 03 00 5e 7f 00" /* 2, 3: a group */
            " 4e 02 5f 01 63 05 00 5e 7f 00" /* 4, 5 = 2, 3 */
            " 5e 7f 00"                      /* 6, not 3: another group */
            " 60 01 64 02 00"                /* 7 */
            " 60 01 64 04 00"                /* 8 = 7 */
            " 50 00 60 01 7f 00");           /* 9, not 0: not final */
    Fixture f;
    load(&f, b);
    static const uint32_t canonical[] = {0, 0, 2, 3, 2, 3, 6, 7, 7, 9};
    assert_int_equal(f.m.types.len, 10);
    for (uint32_t k = 0; k < 10; k++)
        assert_int_equal(f.m.types.at[k].canonical, canonical[k]);
    assert_int_equal(f.m.types.at[5].group, 4);
    assert_int_equal(f.m.types.at[5].group_len, 2);
    assert_int_equal(wasm_canonical(&f.m, WASM_REF(1, 4u)), WASM_REF(1, 2u));
    unload(&f);
}

/* The compact import section: three imports with types of their own, then two with one type. */
static void test_compact_imports(void **state) {
    (void)state;
    Buf b = header();
    section(&b, 1, "01 60 00 00");
    section(&b, 2,
            "03 01 'a' 00 7f 03 01 'f' 00 00 01 'g' 03 7f 00 01 'm' 02 00 01"
            " 01 'b' 00 7e 00 00 02 01 'x' 01 'y'"
            " 01 'c' 01 'z' 00 00");
    Fixture f;
    load(&f, b);
    const WasmModule *m = &f.m;
    assert_int_equal(m->imports.len, 6);
    assert_int_equal(m->funcs.len, 4);
    assert_int_equal(wasm_find_import(m, STR("b"), STR("y")), 2);
    assert_int_equal(wasm_find_import(m, STR("c"), STR("z")), 3);
    assert_true(str_is(m->imports.at[2].module, "a"));
    assert_int_equal(m->imports.at[2].space, WASM_SPACE_MEMORY);
    Buf out = {0};
    assert_true(wasm_write(&f.m, NULL, &out));
    assert_int_equal(out.len, f.bytes.len);
    assert_memory_equal(out.data, f.bytes.data, out.len);
    unload(&f);
    load(&f, out);
    wasm_add_import_func(&f.m, STR("d"), STR("new"), 0);
    Fixture again;
    out = (Buf){0};
    assert_true(wasm_write(&f.m, NULL, &out));
    load(&again, out);
    assert_int_equal(wasm_find_import(&again.m, STR("d"), STR("new")), 4);
    unload(&again);
    unload(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unsigned),        cmocka_unit_test(test_signed),
        cmocka_unit_test(test_immediates),      cmocka_unit_test(test_opcodes),
        cmocka_unit_test(test_plain),           cmocka_unit_test(test_short_const),
        cmocka_unit_test(test_type_text),       cmocka_unit_test(test_bad_modules),
        cmocka_unit_test(test_truncated),       cmocka_unit_test(test_tables),
        cmocka_unit_test(test_too_many_locals), cmocka_unit_test(test_type_equality),
        cmocka_unit_test(test_compact_imports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
