/*
 * tests/unit/test_valid.c - validation of small hand-made modules, with the exact messages, and the
 * types that the typer gives at instructions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>

#include <cmocka.h>

#include "valid/frame.h"
#include "valid/subtype.h"
#include "valid/typer.h"
#include "valid/valid.h"
#include "wasm/remap.h"

/* ---- making modules ---- */

/* Appends bytes written as hex digits with blanks. */
static void hex(Buf *b, const char *text) {
    unsigned byte;
    int n;
    for (; sscanf(text, " %2x%n", &byte, &n) == 1; text += n)
        buf_u8(b, (uint8_t)byte);
}

/* Contents of the sections by WasmSectionId, as hex; `body` is function 0's locals and code. */
typedef struct Parts {
    const char *section[WASM_SEC_COUNT];
    const char *body;
} Parts;

static void put_section(Buf *out, uint8_t id, const Buf *content) {
    buf_u8(out, id);
    buf_uleb(out, content->len);
    buf_bytes(out, content->data, content->len);
}

static void make_module(Buf *out, const Parts *p) {
    static const uint8_t order[] = {
        WASM_SEC_TYPE,      WASM_SEC_IMPORT, WASM_SEC_FUNCTION, WASM_SEC_TABLE, WASM_SEC_MEMORY,
        WASM_SEC_TAG,       WASM_SEC_GLOBAL, WASM_SEC_EXPORT,   WASM_SEC_START, WASM_SEC_ELEMENT,
        WASM_SEC_DATACOUNT, WASM_SEC_CODE,   WASM_SEC_DATA};
    hex(out, "00 61 73 6d 01 00 00 00");
    for (size_t k = 0; k < sizeof order; k++) {
        Buf content = {0};
        if (p->section[order[k]]) {
            hex(&content, p->section[order[k]]);
            put_section(out, order[k], &content);
        } else if (order[k] == WASM_SEC_CODE && p->body) {
            Buf body = {0};
            hex(&body, p->body);
            hex(&content, "02");
            buf_uleb(&content, body.len);
            buf_bytes(&content, body.data, body.len);
            hex(&content, "02 00 0b");
            put_section(out, order[k], &content);
            buf_free(&body);
        }
        buf_free(&content);
    }
}

/*
 * The module for bodies: types 0 [] -> [], 1 [i32] -> [i32], 2 [] -> [i32], 3 a structure (mutable
 * i32, i8, mutable (ref null 3)), 4 an array of mutable i8, 5 of i32, 6 [i32 i32] -> [], 7 of
 * mutable funcref, 8 [i32] -> []. Function 0 has the type to test, function 1 type 0; tables of
 * functions with 32 and 64 bits; memories with 32 and 64 bits; global 0 is a constant i32, 1 a
 * variable; tag 0 has type 8; a passive element and a data segment.
 */
static const Parts world = {
    .section = {
        [WASM_SEC_TYPE] =
            "09 60 00 00  60 01 7f 01 7f  60 00 01 7f  5f 03 7f 01 78 00 63 03 01  5e 78 01"
            "5e 7f 00  60 02 7f 7f 00  5e 70 01  60 01 7f 00",
        [WASM_SEC_TABLE] = "02 70 00 01 70 04 01",
        [WASM_SEC_MEMORY] = "02 00 01 04 01",
        [WASM_SEC_TAG] = "01 00 08",
        [WASM_SEC_GLOBAL] = "02 7f 00 41 00 0b 7f 01 41 00 0b",
        [WASM_SEC_ELEMENT] = "01 05 70 01 d2 01 0b",
        [WASM_SEC_DATACOUNT] = "01",
        [WASM_SEC_DATA] = "01 01 00",
    }};

/* Reads and validates; *message becomes the first message (empty = valid). */
static void validate(const Parts *p, char message[300]) {
    Buf bytes = {0};
    Diags diags = {0};
    WasmModule m;
    make_module(&bytes, p);
    DiagFileId file = diag_file(&diags, "test", bytes.data, bytes.len, true);
    bool ok = wasm_load(&m, bytes.data, bytes.len, file, &diags);
    assert_int_equal(ok, diags.list.len == 0);
    snprintf(message, 300, "%s", ok ? "" : diags.list.at[0]->message);
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&bytes);
}

/* "function 0 at code offset 3: ..." to "function 0: ...": test_places looks at offsets. */
static void leave_out_offset(char *message) {
    char *at = strstr(message, " at code offset "), *end = at ? strchr(at, ':') : NULL;
    if (end)
        memmove(at, end, strlen(end) + 1);
}

static void expect(const char *what, const Parts *p, const char *expected) {
    char message[300];
    validate(p, message);
    leave_out_offset(message);
    if (strcmp(message, expected) != 0)
        fail_msg("%s\n  expected: %s\n  found:    %s", what, expected, message);
}

/* ---- bodies ---- */

typedef struct Body {
    const char *type; /* of function 0, as hex */
    const char *code; /* locals and code */
    const char *message;
} Body;

#define F64_0  " 44 00 00 00 00 00 00 00 00 "
#define V128_0 " fd 0c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "

static void check_bodies(const Body *bodies, size_t n) {
    for (size_t k = 0; k < n; k++) {
        char function[16], expected[300] = "";
        Parts p = world;
        snprintf(function, sizeof function, "02 %s 00", bodies[k].type);
        p.section[WASM_SEC_FUNCTION] = function;
        p.body = bodies[k].code;
        if (bodies[k].message)
            snprintf(expected, sizeof expected, "function 0: %s", bodies[k].message);
        expect(bodies[k].code, &p, expected);
    }
}
#define CHECK_BODIES(bodies) check_bodies(bodies, sizeof(bodies) / sizeof *(bodies))

static void test_operands(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"00", "00 0b", NULL},
        {"02", "00 41 01 41 02 6a 0b", NULL},
        {"00", "00 41 00" F64_0 "6a 1a 0b", "i32.add: expected i32 on top of the stack, found f64"},
        {"00", "00" F64_0 "41 00 6a 1a 0b",
         "i32.add: expected i32 1 below the top of the stack, found f64"},
        {"00", "00 6a 1a 0b", "i32.add: expected i32 on top of the stack, found nothing"},
        {"00", "00 41 00 02 40 1a 0b 1a 0b",
         "drop: expected a value on top of the stack, found nothing"},
        {"02", "00 0b", "end: expected i32 on top of the stack, found nothing"},
        {"00", "00 41 00 0b", "end: 1 operand too many on the stack (i32)"},
        {"02", "00" F64_0 "41 00 0b",
         "end: 1 operand too many on the stack (f64 below the results)"},
        {"00", "00 41 00 41 00 41 00 1b 1a 0b", NULL},
        {"00", "00 41 00 42 00 41 00 1b 1a 0b",
         "select: expected i64 2 below the top of the stack, found i32"},
        {"00", "00 d0 70 d0 70 41 00 1b 1a 0b", "select: references need a select with a type"},
        {"00", "00 d0 70 d0 70 41 00 1c 01 70 1a 0b", NULL},
        {"00", "00 41 00 41 00 41 00 1c 02 7f 7f 1a 0b",
         "typed_select: expected one type, found 2"},
    };
    CHECK_BODIES(bodies);
}

static void test_control(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"00", "00 02 40", "block: the code ends before this is closed"},
        {"00", "00 01", "the code ends without an end"},
        {"00", "00 0b 01", "nop: there is code after the last end"},
        {"00", "00 0c 01 0b", "br: label 1 does not exist (there are 1)"},
        {"02", "00 02 7f 0c 00 0b 0b", "br: expected i32 on top of the stack, found nothing"},
        {"02", "00 41 00 02 01 0c 00 0b 0b", NULL},
        {"00", "00 41 00 04 7f 41 00 0b 1a 0b",
         "end: an if without else must have results of the types of its parameters"},
        {"02", "00 41 00 04 7f 41 00 05 41 01 0b 0b", NULL},
        {"00", "00 05 0b", "else: there is no open if here"},
        {"00", "00 02 40 02 7f 41 00 41 00 0e 01 00 01 0b 1a 0b 0b",
         "br_table: label 0 expects 1 operands, the default label 0"},
        {"00", "00 02 40 02 40 41 00 0e 01 00 01 0b 0b 0b", NULL},
        {"01", "00 41 00 12 01 0b",
         "return_call: the callee's results are not those of the caller"},
        {"00", "00 12 01 0b", NULL},
        {"00", "00 12 09 0b", "return_call: function 9 does not exist (the last is 1)"},
        {"00", "00 02 09 0b 0b", "block: type 9 does not exist (the last is 8)"},
        {"00", "00 02 03 0b 0b", "block: type 3 is a structure type, expected a function type"},
        {"00", "00 41 00 11 00 00 0b", NULL},
        {"00", "00 41 00 11 00 01 0b",
         "call_indirect: expected i64 on top of the stack, found i32"},
    };
    CHECK_BODIES(bodies);
}

static void test_unreachable(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"02", "00 00 0b", NULL},
        {"02", "00 00 6a 0b", NULL},
        {"02", "00 00" F64_0 "6a 0b", "i32.add: expected i32 on top of the stack, found f64"},
        {"02", "00 00 1b 0b", NULL},
        {"00", "00 00 d4 45 1a 0b", "i32.eqz: expected i32 on top of the stack, found a reference"},
        {"00", "00 00 d4 d1 1a 0b", NULL},
        {"00", "00 00 41 00 0b", "end: 1 operand too many on the stack (i32)"},
        {"00", "00 00 02 7f 0c 01 0b 1a 0b", NULL},
        {"00", "00 02 7f 02 40 00 0e 01 00 01 0b 41 00 0b 1a 0b",
         "br_table: label 0 expects 0 operands, the default label 1"},
    };
    CHECK_BODIES(bodies);
}

static void test_variables(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"01", "00 20 00 0b", NULL},
        {"01", "00 20 01 0b", "local.get: local 1 does not exist (the last is 0)"},
        {"00", "00 20 00 1a 0b", "local.get: local 0 does not exist (there is none)"},
        {"00", "01 01 64 00 20 00 1a 0b", "local.get: local 0 has no value yet"},
        {"00", "01 01 64 00 d2 01 21 00 20 00 1a 0b", NULL},
        {"00", "01 01 64 00 02 40 d2 01 21 00 0b 20 00 1a 0b",
         "local.get: local 0 has no value yet"},
        {"00", "01 01 63 20 0b", "unknown type of a local"},
        {"00", "00 41 00 24 01 0b", NULL},
        {"00", "00 41 00 24 00 0b", "global.set: global 0 cannot be changed"},
        {"00", "00 23 02 1a 0b", "global.get: global 2 does not exist (the last is 1)"},
    };
    CHECK_BODIES(bodies);
}

static void test_memory(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"00", "00 41 00 28 02 00 1a 0b", NULL},
        {"00", "00 41 00 28 03 00 1a 0b",
         "i32.load: expected an alignment of at most 2^2 bytes, found 2^3"},
        {"00", "00 41 00 fe 10 01 00 1a 0b",
         "i32.atomic.load: expected an alignment of 2^2 bytes, found 2^1"},
        {"00", "00 42 00 42 00 fe 02 03 00 1a 0b",
         "memory.atomic.wait64: expected i32 2 below the top of the stack, found nothing"},
        {"00", "00 41 00 28 42 01 00 1a 0b",
         "i32.load: expected i64 on top of the stack, found i32"},
        {"00", "00 42 00 28 42 01 ff ff ff ff ff 01 1a 0b", NULL},
        {"00", "00 41 00 28 02 ff ff ff ff ff 01 1a 0b",
         "i32.load: offset 68719476735 is outside the memory's 32 bits"},
        {"00", "00 41 00 28 42 02 00 1a 0b", "i32.load: memory 2 does not exist (the last is 1)"},
        {"00", "00 41 00 42 00 41 00 fc 0a 00 01 0b", NULL},
        {"00", "00 42 00 42 00 42 00 fc 0a 01 01 0b", NULL},
        {"00", "00 41 00 42 00 42 00 fc 0a 00 01 0b",
         "memory.copy: expected i32 on top of the stack, found i64"},
        {"00", "00" V128_0 "fd 1b 04 1a 0b",
         "i32x4.extract_lane: lane 4 does not exist (the last is 3)"},
        {"00", "00" V128_0 V128_0 "fd 0d 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 20 1a 0b",
         "i8x16.shuffle: lane 32 does not exist (the last is 31)"},
        {"00", "00 41 00" V128_0 "fd 56 02 00 04 1a 0b",
         "v128.load32_lane: lane 4 does not exist (the last is 3)"},
        {"00", "00 fc 09 00 0b", NULL},
        {"00", "00 fc 09 01 0b", "data.drop: data segment 1 does not exist (the last is 0)"},
        {"00", "00 42 00 41 00 41 00 fc 0c 00 01 0b", NULL},
        {"00", "00 41 00 25 02 1a 0b", "table.get: table 2 does not exist (the last is 1)"},
    };
    CHECK_BODIES(bodies);
}

static void test_gc(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"00", "00 fb 01 03 fb 02 03 00 1a 0b", NULL},
        {"00", "00 fb 01 03 fb 02 03 01 1a 0b",
         "struct.get: the type read is packed, which needs a sign"},
        {"00", "00 fb 01 03 fb 03 03 00 1a 0b", "struct.get_s: the type read is not packed"},
        {"00", "00 fb 01 03 fb 02 03 03 1a 0b",
         "struct.get: field 3 does not exist (the last is 2)"},
        {"00", "00 fb 01 03 41 00 fb 05 03 01 0b",
         "struct.set: field 1 of type 3 cannot be changed"},
        {"00", "00 d0 6f fb 02 03 00 1a 0b",
         "struct.get: expected (ref null 3) on top of the stack, found externref"},
        {"00", "00 d0 71 fb 02 03 00 1a 0b", NULL},
        {"00", "00 fb 01 04 1a 0b",
         "struct.new_default: type 4 is an array type, expected a structure type"},
        {"00", "00 d0 05 41 00 41 00 fb 0e 05 0b",
         "array.set: elements of type 5 cannot be changed"},
        {"00", "00 41 00 41 00 fb 09 04 00 1a 0b", NULL},
        {"00", "00 41 00 41 00 fb 09 07 00 1a 0b",
         "array.new_data: expected an array of numbers or vectors, found one of funcref"},
        {"00", "00 41 00 41 00 fb 0a 07 00 1a 0b", NULL},
        {"00", "00 41 00 41 00 fb 0a 04 00 1a 0b",
         "array.new_elem: expected elements of type i8, found funcref"},
        {"00", "00 d2 00 1a 0b",
         "ref.func: function 0 is not declared (exported or in an element segment)"},
        {"00", "00 d2 01 1a 0b", NULL},
        {"00", "00 d2 01 14 00 0b", NULL},
        {"00", "00 d2 01 fb 14 6b 1a 0b",
         "ref.test: expected anyref on top of the stack, found (ref 0)"},
        {"00", "00 fb 01 03 fb 14 6b 1a 0b", NULL},
        {"00", "00 02 64 03 fb 01 03 fb 18 00 00 6b 03 00 0b 1a 0b", NULL},
        {"00", "00 02 64 03 fb 01 03 fb 18 00 00 6a 03 00 0b 1a 0b",
         "br_on_cast: expected (ref array) on top of the stack, found (ref 3)"},
        {"00", "00 02 64 03 fb 01 03 fb 18 00 00 70 03 00 0b 1a 0b",
         "br_on_cast: no reference is of the types (ref 3) and (ref func)"},
        {"00", "00 02 40 fb 01 03 d5 00 1a 0b 0b", NULL},
        {"00", "00 02 40 41 00 d5 00 1a 0b 0b",
         "br_on_null: expected a reference on top of the stack, found i32"},
    };
    CHECK_BODIES(bodies);
}

/* Types with descriptors: 8 with 9, and below them 10 with 11. */
static void test_descriptors(void **state) {
    (void)state;
    static const char types[] =
        "0b 60 00 00  60 01 7f 01 7f  60 00 01 7f  5f 03 7f 01 78 00 63 03 01  5e 78 01"
        "5e 7f 00  60 02 7f 7f 00  5e 70 01 60 01 7f 00"
        "4e 02 50 00 4d 0a 5f 01 7f 00  50 00 4c 09 5f 00"
        "4e 02 50 01 09 4d 0c 5f 01 7f 00  50 01 0a 4c 0b 5f 00";
#define NEW    " 41 00 fb 01 0a fb 20 09 " /* (exact 9) */
#define NEW_11 " 41 00 fb 01 0c fb 20 0b " /* (exact 11) */
    static const Body bodies[] = {
        {"00", "00" NEW "fb 22 09 1a 0b", NULL},
        {"00", "01 01 63 62 0a" NEW "fb 22 09 21 00 0b", NULL},
        {"00", "01 01 63 62 0a" NEW_11 "fb 22 09 21 00 0b",
         "local.set: expected (ref null (exact 10)) on top of the stack, found (ref 10)"},
        {"00", "00 fb 01 0a fb 22 0a 1a 0b",
         "ref.get_desc: expected a type with a descriptor, found (ref null 10)"},
        {"00", "00 fb 01 09 1a 0b", "struct.new_default: type 9 has a descriptor"},
        {"00", "00 fb 20 0a 1a 0b", "struct.new_desc: type 10 has no descriptor"},
        {"00", "00 fb 01 0a fb 21 09 1a 0b", NULL},
        {"00", "00 fb 01 0c fb 21 09 1a 0b",
         "struct.new_default_desc: expected (ref null (exact 10)) on top of the stack, found (ref "
         "(exact 12))"},
        {"00", "00" NEW "fb 01 0c fb 23 09 1a 0b", NULL},
        {"00", "00" NEW "fb 01 0c fb 24 62 09 1a 0b",
         "ref.cast_desc_eq_null: expected (ref null (exact 10)) on top of the stack, found (ref "
         "(exact 12))"},
        {"00", "00 02 63 09" NEW "fb 01 0a fb 25 03 00 6e 09 1a d0 09 0b 1a 0b", NULL},
        {"00", "00 02 63 6e" NEW "fb 01 0a fb 26 01 00 6e 62 09 0b 1a 0b", NULL},
        {"00", "00 02 63 6b" NEW "fb 25 03 00 6e 6b 1a d0 09 0b 1a 0b",
         "br_on_cast_desc_eq: expected a type with a descriptor, found structref"},
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char expected[300] = "";
        Parts p = world;
        p.section[WASM_SEC_TYPE] = types;
        p.section[WASM_SEC_FUNCTION] = "02 00 00";
        p.body = bodies[k].code;
        if (bodies[k].message)
            snprintf(expected, sizeof expected, "function 0: %s", bodies[k].message);
        expect(bodies[k].code, &p, expected);
    }
}

typedef struct Section {
    uint8_t id;
    const char *content;
    const char *message;
} Section;

/* What only the code of a body says of exact types. */
static void test_exact(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "00 d2 01 1a 0b",
        "01 01 63 62 03 0b",
        "00 d0 62 03 1a 0b",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        Parts p = world;
        Buf bytes = {0};
        Diags diags = {0};
        WasmModule m;
        p.section[WASM_SEC_FUNCTION] = "02 00 00";
        p.body = bodies[k];
        make_module(&bytes, &p);
        for (uint32_t threads = 1; threads <= 2; threads++) {
            assert_true(wasm_load_program(&m, bytes.data, bytes.len, 0, threads, &diags));
            assert_int_equal(m.exact, k > 0);
            assert_int_equal(wasm_exactly(&m, 3), WASM_REF(0, 3) | (k ? WASM_EXACT_BIT : 0));
            wasm_module_free(&m);
        }
        diag_free(&diags);
        buf_free(&bytes);
    }
}

/* Handlers of continuations, 10 from and to nothing and 12 to an i32; tag 1 has an i32 as result.
 */
static void test_handlers(void **state) {
    (void)state;
    static const Section cases[] = {
        {WASM_SEC_CODE, "00 d0 0a e3 0a 01 01 00 0b",
         "function 0: resume: a tag to switch has no parameters, tag 0 has 1"},
        {WASM_SEC_CODE, "00 d0 0a e3 0a 01 01 01 0b",
         "function 0: resume: the results of continuation 10 are not those of tag 1"},
        {WASM_SEC_CODE, "00 d0 0c e3 0c 01 01 01 1a 0b", ""},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Parts p = world;
        p.section[WASM_SEC_TYPE] =
            "0d 60 00 00  60 01 7f 01 7f  60 00 01 7f  5f 03 7f 01 78 00 63 03 01  5e 78 01"
            "5e 7f 00  60 02 7f 7f 00  5e 70 01 60 01 7f 00  60 00 00 5d 09  60 00 01 7f 5d 0b";
        p.section[WASM_SEC_TAG] = "02 00 08 00 0b";
        p.section[WASM_SEC_FUNCTION] = "02 00 00";
        p.body = cases[k].content;
        expect(cases[k].content, &p, cases[k].message);
    }
}

static void test_exceptions(void **state) {
    (void)state;
    static const Body bodies[] = {
        {"00", "00 41 00 08 00 0b", NULL},
        {"00", "00 08 00 0b", "throw: expected i32 on top of the stack, found nothing"},
        {"00", "00 08 01 0b", "throw: tag 1 does not exist (the last is 0)"},
        {"00", "00 06 40 07 00 1a 0b 0b", NULL},
        {"00", "00 06 40 07 00 0b 0b", "end: 1 operand too many on the stack (i32)"},
        {"00", "00 02 40 07 00 1a 0b 0b", "catch: there is no open try here"},
        {"00", "00 06 40 19 09 00 0b 0b", NULL},
        {"00", "00 06 40 09 00 0b 0b", "rethrow: label 0 is not a catch"},
        {"00", "00 06 40 06 40 18 00 0b 0b", NULL},
        {"00", "00 06 40 18 01 0b", "delegate: label 1 does not exist (there are 1)"},
        {"00", "00 02 7f 1f 40 01 00 00 00 0b 41 00 0b 1a 0b", NULL},
        {"00", "00 02 40 1f 40 01 00 00 00 0b 0b 0b",
         "try_table: catch passes 1 values, label 0 expects 0"},
        {"00", "00 02 64 69 1f 40 01 03 00 0b 00 0b 1a 0b", NULL},
        {"00", "00 02 7f 1f 40 01 03 00 0b 00 0b 1a 0b",
         "try_table: catch_all_ref passes a (ref exn), which label 0 does not expect last"},
        {"00", "00 d0 69 0a 0b", NULL},
        {"00", "00 d0 70 0a 0b", "throw_ref: expected exnref on top of the stack, found funcref"},
    };
    CHECK_BODIES(bodies);
}

/* ---- sections ---- */

static void test_sections(void **state) {
    (void)state;
    static const Section cases[] = {
        {WASM_SEC_TYPE, "02 50 00 5f 01 7f 00 50 01 00 5f 02 7f 00 7e 01", ""},
        {WASM_SEC_TYPE, "02 50 00 5f 01 7f 00 50 01 00 5f 01 7e 00",
         "type 1 does not match its supertype 0"},
        {WASM_SEC_TYPE, "02 50 00 5f 01 7f 01 50 01 00 5f 01 7f 00",
         "type 1 does not match its supertype 0"},
        {WASM_SEC_TYPE, "02 5f 01 7f 00 50 01 00 5f 01 7f 00",
         "type 1 has the supertype 0, which is final"},
        {WASM_SEC_TYPE, "02 50 00 60 01 6e 01 6d 50 01 00 60 01 6e 01 6c", ""},
        {WASM_SEC_TYPE, "02 50 00 60 01 6d 00 50 01 00 60 01 6c 00",
         "type 1 does not match its supertype 0"},
        {WASM_SEC_TYPE, "01 4e 02 4d 01 5f 00 4c 00 5f 00", ""},
        {WASM_SEC_TYPE, "01 4e 02 4d 01 5f 00 5f 00",
         "type 0: expected a structure of the same recursion group that describes it as "
         "descriptor, found type 1"},
        {WASM_SEC_TYPE, "01 4e 02 4c 01 5f 00 4d 00 5f 00",
         "type 0: expected an earlier structure of the same recursion group whose descriptor it "
         "is, found type 1"},
        {WASM_SEC_TYPE, "02 4e 02 50 00 4d 01 5f 00 50 00 4c 00 5f 00 50 01 00 5f 00",
         "type 2 does not match its supertype 0"},
        {WASM_SEC_TYPE, "01 4d 01 5f 00", "unknown type 1, in the type section"},
        {WASM_SEC_TYPE, "01 4e 02 4d 01 60 00 00 4c 00 5f 00",
         "type 0: expected a structure of the same recursion group that describes it as "
         "descriptor, found type 1"},
        {WASM_SEC_MEMORY, "01 01 02 01",
         "memory 0: the minimum size 2 is greater than the maximum 1"},
        {WASM_SEC_MEMORY, "01 00 81 80 04", "memory 0: size 65537, at most 65536 is possible"},
        {WASM_SEC_MEMORY, "01 04 81 80 04", ""},
        {WASM_SEC_MEMORY, "01 02 01", "memory 0: a shared memory needs a maximum size"},
        {WASM_SEC_MEMORY, "01 08 80 80 04 00", ""},
        {WASM_SEC_MEMORY, "01 08 01 08", "memory 0: page size 2^8, only 1 and 65536 are possible"},
        {WASM_SEC_TABLE, "01 64 70 00 00",
         "table 0: elements of type (ref func) need an initial value"},
        {WASM_SEC_TABLE, "01 40 00 63 70 00 00 d0 73 0b", ""},
        {WASM_SEC_TABLE, "01 40 00 63 70 00 00 d0 71 0b",
         "table 0: constant expression: end: expected funcref on top of the stack, found nullref"},
        {WASM_SEC_GLOBAL, "01 7f 00 41 01 41 02 6a 0b", ""},
        {WASM_SEC_GLOBAL, "01 7f 00 41 01 41 02 6d 0b",
         "global 0: constant expression: i32.div_s: not a constant instruction"},
        {WASM_SEC_GLOBAL, "01 7f 00 23 00 0b",
         "global 0: constant expression: global.get: the global is defined later"},
        {WASM_SEC_GLOBAL, "02 7f 01 41 00 0b 7f 00 23 00 0b",
         "global 1: constant expression: global.get: the global is mutable"},
        {WASM_SEC_GLOBAL, "02 7f 00 41 00 0b 7f 00 23 00 0b", ""},
        {WASM_SEC_GLOBAL, "01 7e 00 41 00 0b",
         "global 0: constant expression: end: expected i64 on top of the stack, found i32"},
        {WASM_SEC_GLOBAL, "01 7e 00 0b",
         "global 0: constant expression: end: expected i64 on top of the stack, found nothing"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Parts p = {.body = NULL};
        p.section[cases[k].id] = cases[k].content;
        expect(cases[k].content, &p, cases[k].message);
    }
}

/* A module of two functions of the given types with empty bodies, and one section more. */
static void test_functions(void **state) {
    (void)state;
    static const Section cases[] = {
        {WASM_SEC_EXPORT, "02 01 61 00 00 01 62 00 00", ""},
        {WASM_SEC_EXPORT, "02 01 61 00 00 01 61 00 01", "two exports have the name \"a\""},
        {WASM_SEC_START, "00", ""},
        {WASM_SEC_TAG, "01 00 02", ""},
        {WASM_SEC_ELEMENT, "01 00 41 00 0b 01 01", ""},
        {WASM_SEC_ELEMENT, "01 00 42 00 0b 01 01",
         "element segment 0: constant expression: end: expected i32 on top of the stack, found "
         "i64"},
        {WASM_SEC_ELEMENT, "01 06 00 41 00 0b 6f 00",
         "element segment 0: expected elements of type funcref as in table 0, found externref"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Parts p = world;
        p.section[WASM_SEC_FUNCTION] = "02 00 00";
        p.body = "00 0b";
        p.section[cases[k].id] = cases[k].content;
        expect(cases[k].content, &p, cases[k].message);
    }
    Parts p = world;
    p.section[WASM_SEC_FUNCTION] = "02 02 00";
    p.body = "00 41 00 0b";
    p.section[WASM_SEC_START] = "00";
    expect("start", &p,
           "the start function 0 must have neither parameters nor results, it has 0 and 1");
    p = world;
    p.section[WASM_SEC_FUNCTION] = "02 00 00";
    p.body = "00 fc 09 00 0b";
    p.section[WASM_SEC_DATACOUNT] = NULL;
    expect("data count", &p,
           "function 0: data.drop: the module has no data count section, which this instruction "
           "needs");
}

/* Messages go on behind the first wrong function, and say where. */
static void test_places(void **state) {
    (void)state;
    Buf bytes = {0};
    Diags diags = {0};
    WasmModule m;
    Parts p = {.section = {[WASM_SEC_TYPE] = "01 60 00 00",
                           [WASM_SEC_FUNCTION] = "02 00 00",
                           [WASM_SEC_CODE] = "02 04 00 01 6a 0b 03 00 ff 0b",
                           [WASM_SEC_CUSTOM] = NULL}};
    make_module(&bytes, &p);
    hex(&bytes, "00 0e 04 6e 61 6d 65 01 07 01 00 04 6d 61 69 6e"); /* function 0 is "main" */
    DiagFileId file = diag_file(&diags, "test", bytes.data, bytes.len, true);
    assert_false(wasm_load(&m, bytes.data, bytes.len, file, &diags));
    assert_int_equal(diags.list.len, 2);
    const Diag *g = diags.list.at[0];
    assert_string_equal(g->message, "function 0 (main) at code offset 2: i32.add: expected i32 on "
                                    "top of the stack, found nothing");
    assert_int_equal(g->tag, DIAG_INVALID);
    assert_int_equal(bytes.data[g->span.start], 0x6a);
    assert_int_equal(g->span.end - g->span.start, 1);
    g = diags.list.at[1];
    assert_string_equal(g->message, "function 1 at code offset 1: unknown opcode 0xff");
    assert_int_equal(g->tag, DIAG_MALFORMED);
    assert_int_equal(bytes.data[g->span.start], 0xff);
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&bytes);
}

/* ---- the typer ---- */

/* The types of all instructions of a body of function type 0: "operands -> results", one a line. */
static void types_text(const char *body, Buf *out) {
    Buf bytes = {0};
    Diags diags = {0};
    WasmModule m;
    WasmCode code;
    WasmInstr i;
    WasmTyper t = {0};
    Parts p = world;
    char text[32];
    p.section[WASM_SEC_FUNCTION] = "02 00 00";
    p.body = body;
    make_module(&bytes, &p);
    assert_true(wasm_load_own(&m, bytes.data, bytes.len, &diags));
    assert_true(wasm_typer_begin(&t, &m, 0, &code));
    WasmTypes params = {0}, results = {0};
    while (wasm_next(&code, &i)) {
        params.len = results.len = 0;
        wasm_instr_types(&t, &i, &params, &results);
        buf_printf(out, "%s%s:", wasm_ops[i.op].mnemonic, wasm_typer_dead(&t) ? " (dead)" : "");
        for (uint32_t k = 0; k < params.len; k++)
            buf_printf(out, " %s", wasm_type_text(params.at[k], text));
        buf_printf(out, " ->");
        for (uint32_t k = 0; k < results.len; k++)
            buf_printf(out, " %s", wasm_type_text(results.at[k], text));
        buf_printf(out, "\n");
        assert_true(wasm_typer_step(&t, &i));
    }
    assert_true(wasm_typer_end(&t));
    wasm_typer_free(&t);
    vec_free(&params);
    vec_free(&results);
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&bytes);
}

static void test_instr_types(void **state) {
    (void)state;
    Buf out = {0};
    types_text("00 42 00 28 42 01 00 02 01 41 01 0d 00 45 0b 1a d2 01 14 00 00 6a 1a d4 1a 0b",
               &out);
    assert_string_equal(buf_cstr(&out), "i64.const: -> i64\n"
                                        "i32.load: i64 -> i32\n"
                                        "block: i32 -> i32\n"
                                        "i32.const: -> i32\n"
                                        "br_if: i32 i32 -> i32\n"
                                        "i32.eqz: i32 -> i32\n"
                                        "end: ->\n"
                                        "drop: i32 ->\n"
                                        "ref.func: -> (ref 0)\n"
                                        "call_ref: (ref null 0) ->\n"
                                        "unreachable: ->\n"
                                        "i32.add (dead): i32 i32 -> i32\n"
                                        "drop (dead): i32 ->\n"
                                        "ref.as_non_null (dead): any -> any\n"
                                        "drop (dead): any ->\n"
                                        "end (dead): ->\n");
    buf_free(&out);
}

static void test_operand(void **state) {
    (void)state;
    WasmModule m;
    wasm_module_init(&m);
    WasmTyper t = {0};
    WasmInstr i = {.op = WASM_OP_I32_CONST};
    wasm_typer_begin_expr(&t, &m, WASM_I64);
    assert_int_equal(wasm_typer_operand(&t, 0), WASM_NONE);
    assert_true(wasm_typer_step(&t, &i));
    assert_int_equal(wasm_typer_operand(&t, 0), WASM_I32);
    assert_int_equal(wasm_typer_operand(&t, 1), WASM_NONE);
    i.op = WASM_OP_UNREACHABLE;
    assert_true(wasm_typer_step(&t, &i));
    assert_true(wasm_typer_dead(&t));
    assert_int_equal(wasm_typer_operand(&t, 0), WASM_BOT);
    i.op = WASM_OP_F32_CONST;
    assert_true(wasm_typer_step(&t, &i));
    i.op = WASM_OP_END;
    i.offset = 7;
    assert_false(wasm_typer_step(&t, &i));
    assert_int_equal(t.error_offset, 7);
    assert_string_equal(t.error, "end: expected i64 on top of the stack, found f32");
    wasm_typer_free(&t);
    wasm_module_free(&m);
}

/* ---- subtyping ---- */

/* How a check of function 0 ends. */
typedef struct Verdict {
    bool ok;
    uint32_t offset;
    char text[200];
} Verdict;

static Verdict check_code(WasmTyper *t, const WasmModule *m, bool runs, uint32_t *taken) {
    WasmCode code;
    WasmInstr i;
    Verdict v = {0};
    Buf refs = {0};
    WasmNotes notes = {.refs = &refs};
    char unknown[WASM_CODE_ERROR_SIZE];
    assert_true(wasm_typer_begin(t, m, 0, &code));
    do {
        uint32_t before = (uint32_t)(code.at - code.start);
        if (runs)
            wasm_typer_run(t, &code, &notes);
        *taken += (uint32_t)(code.at - code.start) - before;
        if (!wasm_next(&code, &i)) {
            v.ok = !code.error && wasm_typer_end(t);
            v.offset = code.error ? code.error_offset : t->error_offset;
            snprintf(v.text, sizeof v.text, "%s",
                     code.error ? wasm_code_error(&code, unknown) : t->error);
            buf_free(&refs);
            return v;
        }
    } while (wasm_typer_step(t, &i));
    v.offset = t->error_offset;
    snprintf(v.text, sizeof v.text, "%s", t->error);
    buf_free(&refs);
    return v;
}

/* Validation has noted the kinds of instructions of a body, and those that name functions. */
static void check_notes(const WasmModule *m, uint32_t func) {
    WasmOpSet found = {0};
    WasmRefs refs = wasm_refs(m, &m->funcs.at[func]);
    WasmCode code;
    WasmInstr i;
    assert_true(wasm_func_code(m, func, &code));
    while (wasm_next(&code, &i)) {
        op_set_add(&found, i.op);
        if (!(wasm_op_spaces[i.op] & 1u << WASM_SPACE_FUNC))
            continue;
        assert_int_equal(refs.next, i.offset);
        wasm_next_ref(&refs);
    }
    assert_int_equal(refs.next, UINT32_MAX);
    assert_memory_equal(&found, &m->ops[func], sizeof found);
}

/* wasm_typer_run finds what wasm_typer_step alone finds, whichever byte of the code is replaced by
 * whichever. */
static void test_run(void **state) {
    (void)state;
    Parts p = world;
    p.section[WASM_SEC_FUNCTION] = "02 00 00";
    p.body = "02 02 7f 01 7e"                            /* locals */
             "20 00 21 00 41 80 01 22 00 1a 42 7f 21 02" /* local.get, ... tee, drop, i64.const */
             "43 00 00 80 3f 1a" F64_0 "99 1a 23 00 1a"  /* f32.const, f64.neg, global.get */
             "02 40 03 40 20 00 0d 00 20 00 0d 81 00 0c 01" /* block, loop, br_if, br */
             "0b 0b 20 00 04 40 01 05 20 00 04 40 0f 0b 0b" /* if, else, return */
             "41 04 20 02 37 03 08 41 00 28 02 80 01 1a"    /* i64.store, i32.load */
             "20 00 20 01 6a 45 1a 41 00 29 00 00 1a"
             "41 80 80 80 80 78 1a 20 81 80 80 80 00 1a" /* numbers of five bytes */
             "41 04 28 02 90 80 80 80 00 23 80 80 80 80 00 24 81 80 80 80 00 1a"
             "10 81 80 80 80 00 20 00 11 80 80 80 80 00 80 80 80 80 00" /* call, call_indirect */
             "20 00 20 01 20 00 11 06 00 20 00 20 00 11 01 00 1a 10 01"
             "20 00 20 01 20 00 1b 1a" F64_0 F64_0 "20 00 1b 1a"  /* select */
             "02 40 20 00 04 40 00 05 00 0b 0b 01" F64_0 "1a 0b"; /* unreachable */
    Buf bytes = {0};
    Diags diags = {0};
    WasmModule m;
    WasmTyper t = {0};
    uint32_t valid = 0, taken = 0, none = 0;
    make_module(&bytes, &p);
    assert_true(wasm_load_own(&m, bytes.data, bytes.len, &diags));
    for (uint32_t at = 5; at < m.funcs.at[0].body_size; at++) {
        uint8_t *byte = &bytes.data[m.funcs.at[0].body + at], is = *byte;
        for (uint32_t value = 0; value < 256; value++) {
            *byte = (uint8_t)value;
            Verdict a = check_code(&t, &m, true, &taken), b = check_code(&t, &m, false, &none);
            if (a.ok != b.ok || a.offset != b.offset || strcmp(a.text, b.text) != 0)
                fail_msg("byte %u = 0x%02x: %u \"%s\", expected %u \"%s\"", at, value, a.offset,
                         a.text, b.offset, b.text);
            valid += a.ok;
        }
        *byte = is;
    }
    assert_true(valid > m.funcs.at[0].body_size);
    assert_true(taken / 256 > 20 * m.funcs.at[0].body_size);
    wasm_typer_free(&t);
    wasm_module_free(&m);
    assert_true(wasm_load(&m, bytes.data, bytes.len, 0, &diags));
    check_notes(&m, 0);
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&bytes);
}

static void test_subtype(void **state) {
    (void)state;
    /* 0 and 2 are equal; 1 is below 0; 3 below 1 (and so below 2); 4 is a function type */
    Parts p = {.section = {[WASM_SEC_TYPE] = "05 50 00 5f 00  50 01 00 5f 01 7f 00  50 00 5f 00"
                                             "50 01 01 5f 02 7f 00 7f 00  60 00 00"}};
    Buf bytes = {0};
    Diags diags = {0};
    WasmModule m;
    make_module(&bytes, &p);
    assert_true(wasm_load(&m, bytes.data, bytes.len, 0, &diags));
#define ABSTRACT(null, heap) WASM_REF(null, WASM_HEAP(WASM_HEAP_##heap))
#define EXACT(null, index)   (WASM_REF(null, index) | WASM_EXACT_BIT)
    static const struct {
        WasmType a, b;
        bool below;
    } cases[] = {
        {WASM_I32, WASM_I32, true},
        {WASM_I32, WASM_I64, false},
        {WASM_BOT, WASM_I64, true},
        {WASM_I8, WASM_I16, false},
        {WASM_REF(0, 0), WASM_REF(1, 0), true},
        {WASM_REF(1, 0), WASM_REF(0, 0), false},
        {WASM_REF(0, 0), WASM_REF(0, 2), true},
        {WASM_REF(0, 2), WASM_REF(0, 0), true},
        {WASM_REF(0, 3), WASM_REF(0, 2), true},
        {WASM_REF(0, 2), WASM_REF(0, 3), false},
        {WASM_REF(0, 3), ABSTRACT(1, STRUCT), true},
        {WASM_REF(0, 3), ABSTRACT(0, ANY), true},
        {WASM_REF(0, 3), ABSTRACT(0, ARRAY), false},
        {WASM_REF(0, 3), ABSTRACT(0, FUNC), false},
        {WASM_REF(0, 4), WASM_FUNCREF, true},
        {WASM_REF(0, 4), ABSTRACT(0, ANY), false},
        {ABSTRACT(1, NONE), WASM_REF(1, 3), true},
        {ABSTRACT(1, NONE), WASM_REF(1, 4), false},
        {ABSTRACT(1, NOFUNC), WASM_REF(1, 4), true},
        {ABSTRACT(1, I31), ABSTRACT(1, EQ), true},
        {ABSTRACT(1, EQ), ABSTRACT(1, I31), false},
        {ABSTRACT(0, NOEXN), ABSTRACT(1, EXN), true},
        {ABSTRACT(0, NOEXTERN), ABSTRACT(1, ANY), false},
        {WASM_REF(0, 9), WASM_REF(0, 0), false},
        {EXACT(0, 0), WASM_REF(1, 2), true},
        {EXACT(0, 0), EXACT(1, 2), true},
        {WASM_REF(0, 0), EXACT(0, 0), false},
        {EXACT(0, 1), EXACT(0, 0), false},
        {EXACT(0, 1), WASM_REF(0, 0), true},
        {EXACT(0, 4), WASM_FUNCREF, true},
        {ABSTRACT(1, NONE), EXACT(1, 3), true},
        {ABSTRACT(1, NOFUNC), EXACT(1, 3), false},
        {WASM_REF(0, 0), WASM_I32, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (wasm_subtype(&m, cases[k].a, cases[k].b) != cases[k].below)
            fail_msg("case %zu: expected %d", k, cases[k].below);
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands),    cmocka_unit_test(test_control),
        cmocka_unit_test(test_unreachable), cmocka_unit_test(test_variables),
        cmocka_unit_test(test_memory),      cmocka_unit_test(test_gc),
        cmocka_unit_test(test_exceptions),  cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_exact),       cmocka_unit_test(test_handlers),
        cmocka_unit_test(test_sections),    cmocka_unit_test(test_functions),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_instr_types),
        cmocka_unit_test(test_operand),     cmocka_unit_test(test_subtype),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
