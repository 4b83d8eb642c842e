/*
 * tests/unit/test_limits.c - what is said of outputs that are too large for engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "valid/limits.h"
#include "wasm/emit.h"

/* A module with `n` of what the limit is about. */
typedef struct Sized {
    WasmModule m;
    size_t size;
    WasmTypeDef type;
    WasmFunc func;
    WasmTable table;
    WasmExport export;
    void *room;
} Sized;

/* A function with this body. */
static void put_body(Sized *s, Buf *body) {
    s->func.import = -1;
    s->func.body_size = (uint32_t)body->len;
    s->m.bytes = s->room = body->data;
    s->m.size = body->len;
}

/* ... of so many bytes. */
static void put_nops(Sized *s, uint32_t n) {
    Buf body = {0};
    buf_u8(&body, 0);
    while (body.len + 1 < n)
        buf_u8(&body, WASM_OP_NOP);
    buf_u8(&body, WASM_OP_END);
    put_body(s, &body);
}

/* ... of a br_table with so many labels, and the other one. */
static void put_labels(Sized *s, uint32_t n) {
    Buf body = {0};
    buf_u8(&body, 0);
    put_i32(&body, 0);
    put_index(&body, WASM_OP_BR_TABLE, n);
    for (uint32_t k = 0; k <= n; k++)
        buf_u8(&body, 0);
    buf_u8(&body, WASM_OP_END);
    put_body(s, &body);
}

static void put(Sized *s, WasmLimit limit, uint32_t n) {
    WasmModule *m = &s->m;
    memset(s, 0, sizeof *s);
    s->type.kind = WASM_TYPE_FUNC;
    switch (limit) {
    case WASM_LIMIT_SIZE: m->size = s->size = n; return;
    case WASM_LIMIT_TYPES:
        m->input_count[WASM_SPACE_TYPE] = n;
        m->types.at = s->room = mem_zalloc(n * sizeof *m->types.at);
        return;
    case WASM_LIMIT_FUNCS: m->input_count[WASM_SPACE_FUNC] = n; return;
    case WASM_LIMIT_IMPORTS: m->input_import_count = n; return;
    case WASM_LIMIT_EXPORTS: m->input_export_count = n; return;
    case WASM_LIMIT_GLOBALS: m->input_count[WASM_SPACE_GLOBAL] = n; return;
    case WASM_LIMIT_TAGS: m->input_count[WASM_SPACE_TAG] = n; return;
    case WASM_LIMIT_MEMORIES: m->input_count[WASM_SPACE_MEMORY] = n; return;
    case WASM_LIMIT_TABLES:
        m->input_count[WASM_SPACE_TABLE] = n;
        m->tables.at = s->room = mem_zalloc(n * sizeof *m->tables.at);
        return;
    case WASM_LIMIT_ELEMS: m->input_count[WASM_SPACE_ELEM] = n; return;
    case WASM_LIMIT_DATAS: m->input_count[WASM_SPACE_DATA] = n; return;
    case WASM_LIMIT_NAME: s->export.name = (Str){"", n}; break;
    case WASM_LIMIT_ELEMENTS: s->table.limits.min = n; break;
    case WASM_LIMIT_PARAMS: s->type.nparams = n; break;
    case WASM_LIMIT_RESULTS: s->type.nresults = n; break;
    case WASM_LIMIT_BODY: put_nops(s, n); break;
    case WASM_LIMIT_LABELS: put_labels(s, n); break;
    default: return;
    }
    m->input_count[WASM_SPACE_TYPE] = m->input_count[WASM_SPACE_TABLE] = 1;
    m->types.at = &s->type;
    m->tables.at = &s->table;
    m->funcs.at = &s->func;
    m->exports.at = &s->export;
    m->types.len = m->tables.len = m->funcs.len = m->exports.len = 1;
}

static const uint32_t most[WASM_LIMIT_COUNT] = {
#define LIMIT(id, most, what, advice) most,
#include "wasm/limit.def"
#undef LIMIT
};

/* Whether an output of this size is accepted; `before`: its program's. */
static bool fits(WasmLimit limit, uint32_t before, uint32_t n, const char *message) {
    Sized from, to;
    Diags diags = {0};
    put(&from, limit, before);
    put(&to, limit, n);
    bool ok = limits_check(&to.m, to.size, before ? &from.m : NULL, NO_SPAN, &diags);
    assert_int_equal(diags.errors, !ok);
    if (!ok && message)
        assert_non_null(strstr(diags.list.at[0]->message, message));
    diag_free(&diags);
    free(from.room);
    free(to.room);
    return ok;
}

static void test_each(void **unused) {
    (void)unused;
    for (uint32_t k = 0; k < WASM_LIMIT_COUNT; k++) {
        if (k == WASM_LIMIT_LOCALS) /* inject/program.c compares them, function by function */
            continue;
        assert_true(fits(k, most[k] - 1, most[k], NULL));
        assert_false(fits(k, most[k], most[k] + 1, "engines allow at most"));
        assert_false(fits(k, 0, most[k] + 1, "engines allow at most")); /* made of nothing */
        assert_true(fits(k, most[k] + 1, most[k] + 2, NULL)); /* the program's own fault */
    }
}

static void test_message(void **unused) {
    (void)unused;
    assert_false(fits(WASM_LIMIT_DATAS, 100000, 100002,
                      "the output would have 100002 data segments, but engines allow at most "
                      "100000; nothing was written"));
    assert_false(fits(WASM_LIMIT_BODY, 7654321, 7654400,
                      "the output would have 7654400 bytes of code in function 0, but engines "
                      "allow at most 7654321"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each), cmocka_unit_test(test_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
