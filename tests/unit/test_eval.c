/*
 * tests/unit/test_eval.c - the interpreter: results, traps with their places, limits, linking.
 *
 * Modules are made with the functions that add to a module, written and read again.
 */
#include "wasm_fixture.h"

#include "edit/write.h"
#include "eval_numbers.h"

#include <stdio.h>

enum { FUEL = 1000000 };

/* ---- modules in a store ---- */

typedef struct World {
    EvalStore *store;
    EvalInstance *in;
    EvalError error;
    Fixture modules[6];
    uint32_t nmodules;
    EvalResolve resolve;
    void *ctx;
} World;

static void begin(World *w, const EvalLimits *limits) {
    *w = (World){.store = eval_store_new(limits)};
    eval_set_fuel(w->store, FUEL);
}

static void end(World *w) {
    eval_store_free(w->store);
    for (uint32_t k = 0; k < w->nmodules; k++)
        unload(&w->modules[k]);
}

/* Makes an instance of a module, which is taken over; NULL if w->error says so. */
static EvalInstance *instantiate(World *w, Buf bytes) {
    Fixture *f = &w->modules[w->nmodules++];
    load(f, bytes);
    w->in = eval_instantiate(w->store, &f->m, w->resolve, w->ctx, &w->error);
    return w->in;
}

/* The bytes of a module that was built, which is freed. */
static Buf written(WasmModule *m) {
    Buf out = {0};
    assert_true(wasm_write(m, NULL, &out));
    wasm_module_free(m);
    return out;
}

/* A function with code in hexadecimal (local declarations first), exported under its name. */
static void add(WasmModule *m, const char *name, const char *params, const char *results,
                const char *hex) {
    WasmType types[2][8];
    uint32_t n[2] = {0, 0};
    for (uint32_t side = 0; side < 2; side++)
        for (const char *p = side ? results : params; *p; p++)
            types[side][n[side]++] = *p == 'i'   ? WASM_I32
                                     : *p == 'l' ? WASM_I64
                                     : *p == 'f' ? WASM_F32
                                     : *p == 'd' ? WASM_F64
                                     : *p == 'r' ? WASM_FUNCREF
                                                 : EVAL_EXTERNREF;
    Buf code = {0};
    put_hex(&code, hex);
    uint32_t type = wasm_add_func_type(m, types[0], n[0], types[1], n[1]);
    wasm_add_export(m, str_of(name), WASM_SPACE_FUNC,
                    wasm_add_func(m, type, str_of(name), &code, false));
}

static EvalFunc *exported(World *w, const char *name) {
    EvalExtern e;
    assert_true(eval_export(w->in, str_of(name), &e));
    assert_int_equal(e.space, WASM_SPACE_FUNC);
    return e.func;
}

/* Calls with i32 arguments; gives the i32 result. */
static bool try_call(World *w, const char *name, const uint32_t *args, uint32_t nargs,
                     uint32_t *result) {
    EvalValue values[4], results[4];
    EvalFunc *f = exported(w, name);
    uint32_t nresults = eval_func_type(w->store, f)->nresults;
    for (uint32_t k = 0; k < nargs; k++)
        values[k] = eval_i32(args[k]);
    if (!eval_call(w->store, f, values, nargs, results, nresults, &w->error))
        return false;
    *result = nresults ? (uint32_t)results[0].bits : 0;
    return true;
}

#define CALL(w, name, ...)                                                                         \
    call_value((w), (name), (const uint32_t[]){0, ##__VA_ARGS__},                                  \
               sizeof((const uint32_t[]){0, ##__VA_ARGS__}) / 4 - 1)
static uint32_t call_value(World *w, const char *name, const uint32_t *args, size_t n) {
    uint32_t result = 0;
    if (!try_call(w, name, args + 1, (uint32_t)n, &result))
        fail_msg("%s: %s", name, w->error.text);
    return result;
}

#define TRAPS(w, status, name, ...)                                                                \
    call_traps((w), EVAL_##status, (name), (const uint32_t[]){0, ##__VA_ARGS__},                   \
               sizeof((const uint32_t[]){0, ##__VA_ARGS__}) / 4 - 1)
static void call_traps(World *w, EvalStatus status, const char *name, const uint32_t *args,
                       size_t n) {
    uint32_t result;
    assert_false(try_call(w, name, args + 1, (uint32_t)n, &result));
    assert_string_equal(eval_status_text(w->error.status), eval_status_text(status));
}

/* ---- numeric instructions ---- */

static WasmType letter_type(char c) {
    return c == 'i' ? WASM_I32 : c == 'l' ? WASM_I64 : c == 'f' ? WASM_F32 : WASM_F64;
}

/* A function of one instruction: its operands are its parameters. */
static void check_number(size_t row) {
    const WasmOpInfo *info = &wasm_ops[eval_numbers[row].op];
    char params[3] = "", results[2] = "", hex[64];
    memcpy(params, info->operands, strlen(info->operands));
    memcpy(results, info->results, 1);
    char op[12];
    if (info->prefix)
        snprintf(op, sizeof op, "%02x %02x", info->prefix, info->code);
    else
        snprintf(op, sizeof op, "%02x", info->code);
    snprintf(hex, sizeof hex, "00 20 00%s %s 0b", params[1] ? " 20 01" : "", op);
    WasmModule m;
    wasm_module_init(&m);
    add(&m, "run", params, results, hex);
    World w;
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    EvalValue args[2] = {{letter_type(params[0]), eval_numbers[row].a},
                         {letter_type(params[1]), eval_numbers[row].b}};
    EvalValue result = {0};
    bool ok =
        eval_call(w.store, exported(&w, "run"), args, params[1] ? 2 : 1, &result, 1, &w.error);
    EvalStatus status = ok ? EVAL_OK : w.error.status;
    if (status != eval_numbers[row].trap || result.bits != eval_numbers[row].result)
        fail_msg("row %zu, %s: %s, %#llx", row, info->mnemonic, eval_status_text(status),
                 (unsigned long long)result.bits);
    assert_true(!ok || result.type == letter_type(results[0]));
    end(&w);
}

static void test_numbers(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof eval_numbers / sizeof *eval_numbers; k++)
        check_number(k);
}

/* Numbers of 128 bits, the low half first; of products, the factors. */
static void test_wide_numbers(void **state) {
    (void)state;
    enum { SUB = 0x14, MUL_S, MUL_U };
    static const uint64_t least = UINT64_C(1) << 63, most = UINT64_MAX;
    static const struct {
        uint8_t code; /* after 0xfc */
        uint64_t args[4], low, high;
    } rows[] = {
        {0x13, {most, 2, 1, 4}, 0, 7},
        {0x13, {most, most, most, most}, most - 1, most},
        {SUB, {1, 2, 3, 4}, most - 1, most - 2},
        {SUB, {0, 0, most, most}, 1, 0},
        {MUL_S, {(uint64_t)-3, 5}, (uint64_t)-15, most},
        {MUL_S, {least, most}, least, 0},
        {MUL_S, {0x123456789abcdef0, 0x0fedcba987654321}, 0x2236d88fe5618cf0, 0x0121fa00ad77d742},
        {MUL_U, {(uint64_t)-3, 5}, (uint64_t)-15, 4},
        {MUL_U, {most, most}, 1, most - 1}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint32_t n = rows[k].code < MUL_S ? 4 : 2;
        char hex[64];
        snprintf(hex, sizeof hex, "00 20 00 20 01%s fc %02x 0b", n == 4 ? " 20 02 20 03" : "",
                 rows[k].code);
        WasmModule m;
        World w;
        wasm_module_init(&m);
        add(&m, "run", n == 4 ? "llll" : "ll", "ll", hex);
        begin(&w, NULL);
        assert_non_null(instantiate(&w, written(&m)));
        EvalValue args[4], results[2] = {0};
        for (uint32_t i = 0; i < n; i++)
            args[i] = (EvalValue){WASM_I64, rows[k].args[i]};
        assert_true(eval_call(w.store, exported(&w, "run"), args, n, results, 2, &w.error));
        if (results[0].bits != rows[k].low || results[1].bits != rows[k].high)
            fail_msg("row %zu", k);
        end(&w);
    }
}

/* No other numeric instruction is missing in the table. */
static void test_all_numbers(void **state) {
    (void)state;
    bool seen[WASM_OP_COUNT] = {false};
    for (size_t k = 0; k < sizeof eval_numbers / sizeof *eval_numbers; k++)
        seen[eval_numbers[k].op] = true;
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const WasmOpInfo *i = &wasm_ops[op];
        bool numeric = i->category == WASM_CAT_ARITH || i->category == WASM_CAT_COMPARE ||
                       i->category == WASM_CAT_CONVERT;
        if (numeric && i->operands[0] != '*' && strlen(i->results) == 1 && !seen[op])
            fail_msg("%s has no row", i->mnemonic);
    }
}

/* An access to the last bytes of a page, with an offset of 1, and the same one byte further. */
static void check_access(uint16_t op, bool store, uint32_t bytes, uint64_t result) {
    static const uint8_t pattern[8] = {0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88};
    WasmModule m;
    World w;
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 1, .page_log2 = 16}, STR(""));
    char type = store ? wasm_ops[op].operands[1] : wasm_ops[op].results[0], hex[48];
    char params[3] = {'i', store ? type : 0, 0}, results[2] = {store ? 0 : type, 0};
    snprintf(hex, sizeof hex, "00 20 00 %s %02x 00 01 0b", store ? "20 01" : "", wasm_ops[op].code);
    add(&m, "run", params, results, hex);
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    EvalValue args[2] = {eval_i32(65536 - bytes - 1), {letter_type(type), 0x8887868584838281}}, r;
    EvalFunc *f = exported(&w, "run");
    uint32_t nargs = store ? 2 : 1, nresults = !store;
    uint8_t after[8] = {0};
    if (!store)
        assert_true(eval_memory_write(eval_memory(w.in, 0), 65536 - bytes, pattern, bytes));
    assert_true(eval_call(w.store, f, args, nargs, &r, nresults, &w.error));
    assert_true(eval_memory_read(eval_memory(w.in, 0), 65536 - 8, after, 8));
    assert_memory_equal(after + 8 - bytes, pattern, bytes);
    for (uint32_t k = 0; k < 8 - bytes; k++)
        assert_int_equal(after[k], 0);
    if (!store && r.bits != result)
        fail_msg("%s: %#llx", wasm_ops[op].mnemonic, (unsigned long long)r.bits);
    args[0].bits++;
    assert_false(eval_call(w.store, f, args, nargs, &r, nresults, &w.error));
    assert_int_equal(w.error.status, EVAL_MEMORY_BOUNDS);
    end(&w);
}

static void test_accesses(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof eval_stores / sizeof *eval_stores; k++)
        check_access(eval_stores[k].op, true, eval_stores[k].bytes, 0);
    for (size_t k = 0; k < sizeof eval_loads / sizeof *eval_loads; k++) {
        const char *name = wasm_ops[eval_loads[k].op].mnemonic + 8; /* behind "i32.load" */
        uint32_t bits = *name
                            ? (uint32_t)strtoul(name, NULL, 10)
                            : (uint32_t)strtoul(wasm_ops[eval_loads[k].op].mnemonic + 1, NULL, 10);
        check_access(eval_loads[k].op, false, bits / 8, eval_loads[k].result);
    }
}

/* ---- control ---- */

static void test_control(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    /* Sum of 1..n in a loop. */
    add(&m, "sum", "i", "i",
        "01 01 7f 03 40 20 01 20 00 6a 21 01 20 00 41 01 6b 22 00 0d 00 0b 20 01 0b");
    /* A branch that leaves operands behind: 7 7 (block: 1 2 3 br out with 3) -> 7 + 3. */
    add(&m, "move", "", "i", "00 41 07 02 7f 41 01 41 02 41 03 0c 00 0b 6a 0b");
    /* The same with br_if; not taken it keeps what is below: 1 + 2 + 3. */
    add(&m, "move_if", "i", "i", "00 02 7f 41 01 41 02 41 03 20 00 0d 00 6a 6a 0b 0b");
    /* br_table out of three blocks: 10, 20, 30. */
    add(&m, "table", "i", "i",
        "00 02 40 02 40 02 40 20 00 0e 02 00 01 02 0b 41 0a 0f 0b 41 14 0f 0b 41 1e 0b");
    /* br_table with a value that is moved below two operands. */
    add(&m, "table_move", "i", "i",
        "00 02 7f 41 01 41 02 41 e3 00 20 00 0e 01 00 01 0b 41 01 6a 0b");
    /* if with else, and an if without whose body is dead behind br. */
    add(&m, "pick", "i", "i", "00 20 00 04 7f 41 05 05 41 06 0b 0b");
    add(&m, "dead", "i", "i",
        "00 20 00 04 40 02 40 0c 00 41 01 04 40 05 0b 0b 41 09 0f 0b 41 08 0b");
    /* Code behind unreachable ends in a type of its own. */
    add(&m, "bottom", "", "i", "00 02 7f 41 04 0f 6a 1a 41 01 0b 0b");
    add(&m, "select", "i", "i", "00 41 01 41 02 20 00 1c 01 7f 0b");
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    assert_int_equal(CALL(&w, "sum", 100), 5050);
    assert_int_equal(CALL(&w, "move"), 10);
    assert_int_equal(CALL(&w, "move_if", 1), 3);
    assert_int_equal(CALL(&w, "move_if", 0), 6);
    assert_int_equal(CALL(&w, "table", 0), 10);
    assert_int_equal(CALL(&w, "table", 1), 20);
    assert_int_equal(CALL(&w, "table", 2), 30);
    assert_int_equal(CALL(&w, "table", 0xffffffff), 30);
    assert_int_equal(CALL(&w, "table_move", 0), 100);
    assert_int_equal(CALL(&w, "table_move", 1), 99);
    assert_int_equal(CALL(&w, "pick", 1), 5);
    assert_int_equal(CALL(&w, "pick", 0), 6);
    assert_int_equal(CALL(&w, "dead", 1), 9);
    assert_int_equal(CALL(&w, "dead", 0), 8);
    assert_int_equal(CALL(&w, "bottom"), 4);
    assert_int_equal(CALL(&w, "select", 1), 1);
    assert_int_equal(CALL(&w, "select", 0), 2);
    end(&w);
}

/* Several results, parameters of blocks. */
static void test_multi_value(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    WasmType i32[2] = {WASM_I32, WASM_I32};
    assert_int_equal(wasm_add_func_type(&m, i32, 2, i32, 2), 0);
    add(&m, "swap", "ild", "dli", "00 20 02 20 01 20 00 0b");
    /* (a, b) -> (b, a) n times in a loop with two parameters. */
    add(&m, "turn", "i", "ii",
        "01 02 7f 41 01 41 02 03 00 21 01 21 02 20 01 20 02 20 00 41 01 6b 22 00 0d 00 0b 0b");
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    EvalValue args[3] = {eval_i32(1), eval_i64(2), eval_f64(3.5)}, results[3];
    assert_true(eval_call(w.store, exported(&w, "swap"), args, 3, results, 3, &w.error));
    assert_true(results[0].type == WASM_F64 && eval_as_f64(results[0]) == 3.5);
    assert_true(results[1].type == WASM_I64 && results[1].bits == 2);
    assert_true(results[2].type == WASM_I32 && results[2].bits == 1);
    args[0] = eval_i32(3);
    assert_true(eval_call(w.store, exported(&w, "turn"), args, 1, results, 2, &w.error));
    assert_int_equal(results[0].bits, 2);
    assert_int_equal(results[1].bits, 1);
    /* Wrong arguments are errors. */
    assert_false(eval_call(w.store, exported(&w, "swap"), args, 2, results, 3, &w.error));
    assert_int_equal(w.error.status, EVAL_ARGUMENTS);
    args[1] = eval_f32(0);
    assert_false(eval_call(w.store, exported(&w, "swap"), args, 3, results, 3, &w.error));
    assert_string_equal(w.error.text, "argument 1 must be i64, not f32");
    end(&w);
}

/* ---- memories ---- */

static void test_memory(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 1, .max = 4, .has_max = true, .page_log2 = 16},
                    STR(""));
    wasm_add_memory(&m, (WasmLimits){.min = 1, .page_log2 = 16}, STR(""));
    Buf hello = {0}, world = {0};
    buf_str(&hello, STR("hello"));
    buf_str(&world, STR("world"));
    wasm_add_data_active(&m, 1, 65531, &hello, STR(""));
    wasm_add_data_passive(&m, &world, STR(""));
    add(&m, "load", "i", "i", "00 20 00 28 02 00 0b");
    add(&m, "load8_s", "i", "i", "00 20 00 2c 00 00 0b");
    add(&m, "load_far", "i", "i", "00 20 00 28 02 ff ff ff ff 0f 0b");
    add(&m, "load8_other", "i", "i", "00 20 00 2d 40 01 00 0b");
    add(&m, "store", "ii", "", "00 20 00 20 01 36 02 00 0b");
    add(&m, "store16", "ii", "", "00 20 00 20 01 3b 01 02 0b");
    add(&m, "size", "", "i", "00 3f 00 0b");
    add(&m, "grow", "i", "i", "00 20 00 40 00 0b");
    add(&m, "grow_other", "i", "i", "00 20 00 40 01 0b");
    add(&m, "fill", "iii", "", "00 20 00 20 01 20 02 fc 0b 00 0b");
    add(&m, "copy", "iii", "", "00 20 00 20 01 20 02 fc 0a 00 01 0b"); /* from the other one */
    add(&m, "init", "iii", "", "00 20 00 20 01 20 02 fc 08 01 00 0b");
    add(&m, "drop", "", "", "00 fc 09 01 0b");
    wasm_add_export(&m, STR("mem"), WASM_SPACE_MEMORY, 0);
    begin(&w, &(EvalLimits){.memory_bytes = 6 << 16});
    assert_non_null(instantiate(&w, written(&m)));
    CALL(&w, "store", 65532, 0x80fffe01);
    assert_int_equal(CALL(&w, "load", 65532), 0x80fffe01);
    assert_int_equal(CALL(&w, "load8_s", 65535), 0xffffff80);
    TRAPS(&w, MEMORY_BOUNDS, "load", 65533);
    TRAPS(&w, MEMORY_BOUNDS, "load", 0xffffffff);
    TRAPS(&w, MEMORY_BOUNDS, "load_far", 1); /* the address does not wrap */
    TRAPS(&w, MEMORY_BOUNDS, "store16", 65533, 0);
    assert_int_equal(CALL(&w, "load8_other", 65531), 'h');
    /* Growing: the maximum, then the store's limit of six pages. */
    assert_int_equal(CALL(&w, "grow", 4), 0xffffffff);
    assert_int_equal(CALL(&w, "grow", 2), 1);
    assert_int_equal(CALL(&w, "size"), 3);
    assert_int_equal(CALL(&w, "load", 65532), 0x80fffe01);
    assert_int_equal(CALL(&w, "load", 65536), 0);
    assert_int_equal(CALL(&w, "grow_other", 3), 0xffffffff);
    assert_int_equal(CALL(&w, "grow_other", 2), 1);
    assert_int_equal(CALL(&w, "grow", 1), 0xffffffff);
    /* Bulk operations do all or nothing. */
    TRAPS(&w, MEMORY_BOUNDS, "fill", 196607, 1, 2);
    CALL(&w, "fill", 0, 0x1ff, 3);
    assert_int_equal(CALL(&w, "load", 0), 0xffffff);
    CALL(&w, "copy", 8, 65531, 5);
    CALL(&w, "init", 13, 1, 4);
    TRAPS(&w, MEMORY_BOUNDS, "init", 0, 4, 2);
    CALL(&w, "drop");
    CALL(&w, "init", 0, 0, 0);
    TRAPS(&w, MEMORY_BOUNDS, "init", 0, 0, 1);
    EvalExtern e;
    char text[10] = "";
    assert_true(eval_export(w.in, STR("mem"), &e) && e.memory == eval_memory(w.in, 0));
    assert_true(eval_memory_read(e.memory, 8, text, 9));
    assert_string_equal(text, "helloorld");
    assert_true(eval_memory_write(e.memory, 196604, "abcd", 4));
    assert_int_equal(CALL(&w, "load", 196604), 0x64636261);
    assert_false(eval_memory_write(e.memory, 196605, "abcd", 4));
    assert_false(eval_memory_read(e.memory, UINT64_MAX, text, 1));
    assert_int_equal(eval_memory_size(e.memory), 3 << 16);
    assert_int_equal(eval_memory_data(e.memory)[8], 'h');
    end(&w);
}

/* Addresses and sizes of 64 bits, offsets beyond 32. */
static void test_memory64(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 1, .is64 = true, .page_log2 = 16}, STR(""));
    add(&m, "load", "l", "i", "00 20 00 28 02 04 0b");
    add(&m, "far", "", "i", "00 42 00 28 02 80 80 80 80 80 01 0b");
    add(&m, "grow", "l", "l", "00 20 00 40 00 0b");
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    EvalValue arg = eval_i64(65528), result;
    assert_true(eval_call(w.store, exported(&w, "load"), &arg, 1, &result, 1, &w.error));
    arg.bits = UINT64_MAX - 3; /* the address does not wrap to 0 */
    assert_false(eval_call(w.store, exported(&w, "load"), &arg, 1, &result, 1, &w.error));
    assert_int_equal(w.error.status, EVAL_MEMORY_BOUNDS);
    TRAPS(&w, MEMORY_BOUNDS, "far");
    arg.bits = UINT64_C(1) << 60;
    assert_true(eval_call(w.store, exported(&w, "grow"), &arg, 1, &result, 1, &w.error));
    assert_true(result.type == WASM_I64 && result.bits == UINT64_MAX);
    end(&w);
}

/* ---- tables, references and calls ---- */

static void test_table(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    WasmType i32 = WASM_I32;
    uint32_t type = wasm_add_func_type(&m, &i32, 1, &i32, 1); /* type 0 */
    wasm_add_table(&m, WASM_FUNCREF, (WasmLimits){.min = 4, .max = 6, .has_max = true}, STR(""));
    assert_int_equal(type, 0);
    add(&m, "twice", "i", "i", "00 20 00 41 02 6c 0b");                /* 0 */
    add(&m, "wrong", "", "", "00 0b");                                 /* 1 */
    add(&m, "call", "ii", "i", "00 20 00 20 01 11 00 00 0b");          /* 2 */
    add(&m, "set", "i", "", "00 20 00 d2 00 26 00 0b");                /* 3 */
    add(&m, "is_null", "i", "i", "00 20 00 25 00 d1 0b");              /* 4 */
    add(&m, "grow", "i", "i", "00 d2 00 20 00 fc 0f 00 0b");           /* 5 */
    add(&m, "size", "", "i", "00 fc 10 00 0b");                        /* 6 */
    add(&m, "fill", "ii", "", "00 20 00 d0 70 20 01 fc 11 00 0b");     /* 7 */
    add(&m, "copy", "iii", "", "00 20 00 20 01 20 02 fc 0e 00 00 0b"); /* 8 */
    add(&m, "init", "iii", "", "00 20 00 20 01 20 02 fc 0c 00 00 0b"); /* 9 */
    add(&m, "drop", "", "", "00 fc 0d 00 0b");                         /* 10 */
    add(&m, "same", "x", "x", "00 20 00 0b");                          /* 11 */
    wasm_add_elem_passive(&m, (uint32_t[]){0, 1}, 2);
    wasm_add_elem_active(&m, 0, 1, (uint32_t[]){0, 1}, 2);
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    assert_int_equal(CALL(&w, "call", 21, 1), 42);
    TRAPS(&w, CALL_TYPE, "call", 1, 2);
    TRAPS(&w, UNINITIALIZED_ELEMENT, "call", 1, 3);
    TRAPS(&w, UNDEFINED_ELEMENT, "call", 1, 4);
    CALL(&w, "set", 3);
    assert_int_equal(CALL(&w, "call", 4, 3), 8);
    TRAPS(&w, TABLE_BOUNDS, "set", 4);
    TRAPS(&w, TABLE_BOUNDS, "is_null", 4);
    assert_int_equal(CALL(&w, "is_null", 0), 1);
    assert_int_equal(CALL(&w, "grow", 3), 0xffffffff);
    assert_int_equal(CALL(&w, "grow", 2), 4);
    assert_int_equal(CALL(&w, "size"), 6);
    assert_int_equal(CALL(&w, "call", 5, 5), 10);
    TRAPS(&w, TABLE_BOUNDS, "fill", 5, 2);
    CALL(&w, "fill", 4, 2);
    assert_int_equal(CALL(&w, "is_null", 5), 1);
    CALL(&w, "copy", 2, 1, 3); /* overlapping */
    assert_int_equal(CALL(&w, "call", 7, 2), 14);
    TRAPS(&w, CALL_TYPE, "call", 7, 3);
    CALL(&w, "init", 0, 0, 2);
    assert_int_equal(CALL(&w, "call", 8, 0), 16);
    TRAPS(&w, TABLE_BOUNDS, "init", 0, 1, 2);
    CALL(&w, "drop");
    TRAPS(&w, TABLE_BOUNDS, "init", 0, 0, 1);
    /* From outside. */
    EvalTable *t = eval_table(w.in, 0);
    EvalValue v, x = eval_externref(77), y = {0};
    uint32_t index;
    assert_true(eval_table_get(t, 0, &v));
    assert_ptr_equal(eval_as_func(v), exported(&w, "twice"));
    assert_ptr_equal(eval_func_instance(eval_as_func(v), &index), w.in);
    assert_int_equal(index, 0);
    assert_false(eval_table_get(t, 6, &v));
    assert_false(eval_table_set(w.store, t, 0, eval_externref(1)));
    assert_true(eval_table_set(w.store, t, 5, eval_funcref(exported(&w, "twice"))));
    assert_int_equal(CALL(&w, "call", 9, 5), 18);
    assert_true(eval_call(w.store, exported(&w, "same"), &x, 1, &y, 1, &w.error));
    assert_true(y.type == EVAL_EXTERNREF && y.bits == 77);
    end(&w);
}

/* Typed references: call_ref, br_on_null, br_on_non_null, ref.as_non_null. */
static void test_references(void **state) {
    (void)state;
    World w;
    Buf b = header();
    /* 0 (i32) -> i32, 1 (ref null 0) -> i32 */
    section(&b, 1, "02 60 01 7f 01 7f 60 01 63 00 01 7f");
    section(&b, 3, "06 00 01 01 01 01 00");
    section(&b, 7,
            "06 01 'f' 00 00 04 'call' 00 01 02 'or' 00 02 03 'non' 00 03 02 'as' 00 04"
            " 04 'tail' 00 05");
    section(&b, 9, "01 03 00 01 00");
    section(&b, 10,
            "06"
            " 07 00 20 00 41 01 6a 0b"
            " 08 00 41 05 20 00 14 00 0b"                         /* call_ref */
            " 10 00 02 40 41 05 20 00 d5 00 14 00 0f 0b 41 09 0b" /* br_on_null */
            " 15 00 02 64 00 20 00 d6 00 41 08 0f 0b 21 00 41 01 20 00 14 00 0b"
            " 06 00 20 00 d4 d1 0b"         /* ref.as_non_null, is_null */
            " 08 00 20 00 d2 00 15 00 0b"); /* return_call_ref */
    begin(&w, NULL);
    assert_non_null(instantiate(&w, b));
    EvalValue null = eval_funcref(NULL), f = eval_funcref(exported(&w, "f")), r;
    const struct {
        const char *name;
        uint32_t value, trap, result;
    } rows[] = {{"call", 6, EVAL_NULL_FUNCTION, 0},
                {"or", 6, EVAL_OK, 9},
                {"non", 2, EVAL_OK, 8},
                {"as", 0, EVAL_NULL_REFERENCE, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        EvalFunc *g = exported(&w, rows[k].name);
        assert_true(eval_call(w.store, g, &f, 1, &r, 1, &w.error));
        assert_int_equal(r.bits, rows[k].value);
        bool ok = eval_call(w.store, g, &null, 1, &r, 1, &w.error);
        assert_int_equal(ok ? EVAL_OK : w.error.status, rows[k].trap);
        assert_true(!ok || r.bits == rows[k].result);
    }
    assert_int_equal(CALL(&w, "tail", 3), 4);
    /* A function of another type is no value for it. */
    f = eval_funcref(exported(&w, "call"));
    assert_false(eval_call(w.store, exported(&w, "call"), &f, 1, &r, 1, &w.error));
    assert_int_equal(w.error.status, EVAL_ARGUMENTS);
    end(&w);
}

/* Deep recursion, tail calls that need no stack, many locals. */
static void test_calls(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    add(&m, "deep", "i", "i", "00 20 00 45 04 7f 41 00 05 20 00 41 01 6b 10 00 41 01 6a 0b 0b");
    add(&m, "tail", "ii", "i",
        "00 20 00 45 04 7f 20 01 05 20 00 41 01 6b 20 01 41 02 6a 12 01 0b 0b");
    add(&m, "forever", "", "", "00 10 02 0b");
    add(&m, "wide", "", "", "01 90 4e 7e 10 03 0b"); /* 10,000 locals */
    begin(&w, &(EvalLimits){.call_depth = 1000, .stack_slots = 100000});
    assert_non_null(instantiate(&w, written(&m)));
    assert_int_equal(CALL(&w, "deep", 999), 999);
    TRAPS(&w, STACK, "deep", 1000);
    assert_int_equal(CALL(&w, "deep", 999), 999); /* nothing is left behind */
    assert_int_equal(CALL(&w, "tail", 50000, 1), 100001);
    TRAPS(&w, STACK, "forever");
    assert_int_equal(w.error.func, 2);
    TRAPS(&w, STACK, "wide");
    end(&w);
}

/* Fuel ends every loop, of whatever instructions. */
static void test_fuel(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 1, .page_log2 = 16}, STR(""));
    add(&m, "loop", "", "", "00 03 40 0c 00 0b 0b");
    add(&m, "tail", "", "", "00 12 01 0b");
    add(&m, "fill", "", "", "00 03 40 41 00 41 00 41 80 80 04 fc 0b 00 0c 00 0b 0b");
    add(&m, "add", "ii", "i", "00 20 00 20 01 6a 0b");
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    TRAPS(&w, FUEL, "loop");
    assert_int_equal(eval_fuel(w.store), 0);
    TRAPS(&w, FUEL, "add", 1, 2);
    eval_set_fuel(w.store, 3);
    TRAPS(&w, FUEL, "add", 1, 2); /* two operands, an addition, a return */
    eval_set_fuel(w.store, 4);
    assert_int_equal(CALL(&w, "add", 1, 2), 3);
    assert_int_equal(eval_fuel(w.store), 0);
    eval_set_fuel(w.store, FUEL);
    TRAPS(&w, FUEL, "tail");
    eval_set_fuel(w.store, 10000); /* a fill costs 1,024 besides its instructions */
    TRAPS(&w, FUEL, "fill");
    eval_set_fuel(w.store, 100);
    TRAPS(&w, FUEL, "fill");
    end(&w);
}

/* ---- counting ---- */

/* What was executed of an exported function, as "PC:TIMES ...". */
static const char *counted(World *w, const char *name) {
    static char text[400];
    uint32_t n;
    const EvalCount *counts = eval_counts(exported(w, name), &n);
    char *at = text;
    *at = 0;
    for (uint32_t k = 0; k < n; k++)
        at += sprintf(at, "%s%u:%u", k ? " " : "", counts[k].pc, (unsigned)counts[k].n);
    return text;
}

static void test_counts(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    /* block loop; local.get 0; i32.eqz; br_if 1; local 0 less 1; br 0; end end; 6 / local 0; drop
     */
    add(&m, "loop", "i", "",
        "00 02 40 03 40 20 00 45 0d 01 20 00 41 01 6b 21 00 0c 00 0b 0b 41 06 20 00 6e 1a 0b");
    /* if without else; if with one, whose first arm does not come to its end; branch to the end */
    add(&m, "arms", "i", "", "00 20 00 04 40 01 0b 20 00 04 40 0f 05 01 0b 0c 00 01 0b");
    add(&m, "never", "", "", "00 0b");
    add(&m, "calls", "", "", "00 10 02 10 02 00 01 0b");
    begin(&w, NULL);
    eval_count(w.store);
    assert_non_null(instantiate(&w, written(&m)));
    assert_string_equal(counted(&w, "loop"), "");
    TRAPS(&w, DIVIDE_BY_ZERO, "loop", 3);
    assert_string_equal(
        counted(&w, "loop"),
        "1:1 3:4 5:4 7:4 8:4 10:3 12:3 14:3 15:3 17:3 19:0 20:1 21:1 23:1 25:1 26:0 27:0");
    CALL(&w, "arms", 0);
    assert_string_equal(counted(&w, "arms"), "1:1 3:1 5:0 6:1 7:1 9:1 11:0 13:1 14:1 15:1 18:1");
    CALL(&w, "arms", 1);
    assert_string_equal(counted(&w, "arms"), "1:2 3:2 5:1 6:2 7:2 9:2 11:1 13:1 14:1 15:1 18:1");
    TRAPS(&w, UNREACHABLE, "calls");
    assert_string_equal(counted(&w, "calls"), "1:1 3:1 5:1 7:0");
    assert_string_equal(counted(&w, "never"), "1:2");
    end(&w);

    wasm_module_init(&m);
    add(&m, "add", "ii", "i", "00 20 00 20 01 6a 0b");
    begin(&w, NULL);
    eval_set_fuel(w.store, 4); /* counting costs none */
    assert_non_null(instantiate(&w, written(&m)));
    CALL(&w, "add", 1, 2);
    eval_count(w.store);
    eval_set_fuel(w.store, 4);
    CALL(&w, "add", 1, 2);
    assert_string_equal(counted(&w, "add"), ""); /* it was called before */
    end(&w);

    wasm_module_init(&m);
    add(&m, "add", "ii", "i", "00 20 00 20 01 6a 0b");
    begin(&w, NULL);
    eval_count(w.store);
    eval_set_fuel(w.store, 4);
    assert_non_null(instantiate(&w, written(&m)));
    CALL(&w, "add", 1, 2);
    assert_int_equal(eval_fuel(w.store), 0);
    assert_string_equal(counted(&w, "add"), "1:1 3:1 5:1 6:1");
    end(&w);
}

/* ---- places ---- */

static void test_site(void **state) {
    (void)state;
    WasmModule m;
    World w;
    wasm_module_init(&m);
    add(&m, "bad", "i", "i", "00 41 01 20 00 6d 0b"); /* i32.div_s at 5 */
    add(&m, "outer", "i", "i", "01 01 7e 02 7f 20 00 10 00 0b 0b");
    add(&m, "stop", "i", "", "00 20 00 04 40 01 00 0b 0b"); /* unreachable at 6 */
    begin(&w, NULL);
    assert_non_null(instantiate(&w, written(&m)));
    TRAPS(&w, DIVIDE_BY_ZERO, "outer", 0);
    assert_ptr_equal(w.error.module, eval_module(w.in));
    assert_int_equal(w.error.func, 0);
    assert_int_equal(w.error.pc, 5);
    assert_string_equal(w.error.text, "integer divide by zero");
    Span at = eval_error_span(&w.error);
    assert_int_equal(at.end - at.start, 1);
    assert_int_equal(w.modules[0].bytes.data[at.start], 0x6d);
    assert_int_equal(at.file, w.modules[0].m.file);
    Diag *d = eval_report(&w.error, &w.modules[0].diags, DIAG_INVALID, "running outer");
    assert_string_equal(d->message, "running outer: integer divide by zero, in function 0 (bad)");
    assert_int_equal(d->span.start, at.start);
    CALL(&w, "stop", 0);
    TRAPS(&w, UNREACHABLE, "stop", 1);
    assert_int_equal(w.error.func, 2);
    assert_int_equal(w.error.pc, 6);
    end(&w);
}

/* ---- imports ---- */

typedef struct Host {
    World *w;
    EvalFunc *add, *again, *refuse;
    EvalGlobal *global;
    uint32_t calls;
    EvalInstance *caller;
} Host;

static bool host_add(void *ctx, EvalCall *call) {
    Host *h = ctx;
    h->calls++;
    h->caller = call->caller;
    call->results[0].bits = call->args[0].bits + call->args[1].bits;
    return true;
}

/* Calls the module's "back", which calls this again. */
static bool host_again(void *ctx, EvalCall *call) {
    Host *h = ctx;
    h->calls++;
    return eval_call(call->store, exported(h->w, "back"), NULL, 0, NULL, 0, call->error);
}

static bool host_refuse(void *ctx, EvalCall *call) {
    (void)ctx;
    return eval_fail(call->error, EVAL_HOST, "no, not %d", 7);
}

/* Gives itself, whatever it shall give. */
static bool host_self(void *ctx, EvalCall *call) {
    Host *h = ctx;
    call->results[0].bits = eval_funcref(h->refuse).bits;
    return true;
}

static bool host_resolve(void *ctx, const WasmImport *im, EvalExtern *what) {
    Host *h = ctx;
    if (im->space == WASM_SPACE_GLOBAL) {
        *what = (EvalExtern){.space = WASM_SPACE_GLOBAL, .global = h->global};
        return true;
    }
    what->space = WASM_SPACE_FUNC;
    what->func = str_is(im->name, "add")      ? h->add
                 : str_is(im->name, "again")  ? h->again
                 : str_is(im->name, "refuse") ? h->refuse
                                              : NULL;
    return what->func != NULL;
}

static void make_host(Host *h, World *w) {
    static const WasmType i32[2] = {WASM_I32, WASM_I32};
    *h = (Host){.w = w};
    h->add = eval_host_func(w->store, i32, 2, i32, 1, host_add, h);
    h->again = eval_host_func(w->store, NULL, 0, NULL, 0, host_again, h);
    h->refuse = eval_host_func(w->store, NULL, 0, NULL, 0, host_refuse, h);
    h->global = eval_new_global(w->store, WASM_I32, true, eval_i32(5));
    w->resolve = host_resolve;
    w->ctx = h;
}

static void test_host(void **state) {
    (void)state;
    WasmModule m;
    World w;
    Host h;
    wasm_module_init(&m);
    WasmType i32[2] = {WASM_I32, WASM_I32};
    uint32_t binary = wasm_add_func_type(&m, i32, 2, i32, 1);
    uint32_t none = wasm_add_func_type(&m, NULL, 0, NULL, 0);
    wasm_add_import_func(&m, STR("env"), STR("add"), binary);
    wasm_add_import_func(&m, STR("env"), STR("again"), none);
    wasm_add_import_func(&m, STR("env"), STR("refuse"), none);
    wasm_add_import_global(&m, STR("env"), STR("g"), WASM_I32, true);
    add(&m, "three", "", "i", "00 41 01 41 02 10 00 0b");
    add(&m, "three_tail", "", "i", "00 41 01 41 02 12 00 0b");
    add(&m, "back", "", "", "00 10 01 0b");
    add(&m, "refused", "", "", "00 01 10 02 0b");
    add(&m, "bump", "", "i", "00 23 00 41 01 6a 24 00 23 00 0b");
    begin(&w, NULL);
    make_host(&h, &w);
    assert_non_null(instantiate(&w, written(&m)));
    assert_int_equal(CALL(&w, "three"), 3);
    assert_ptr_equal(h.caller, w.in);
    assert_int_equal(CALL(&w, "three_tail"), 3);
    assert_int_equal(h.calls, 2);
    /* Nesting by way of the host ends. */
    TRAPS(&w, STACK, "back");
    assert_in_range(h.calls, 10, 1000);
    assert_int_equal(w.error.func, 5);
    TRAPS(&w, HOST, "refused");
    assert_string_equal(w.error.text, "no, not 7");
    assert_int_equal(w.error.func, 6);
    assert_int_equal(w.error.pc, 2);
    /* A shared global. */
    assert_int_equal(CALL(&w, "bump"), 6);
    assert_int_equal(eval_global_get(h.global).bits, 6);
    assert_true(eval_global_mutable(h.global));
    assert_true(eval_global_set(w.store, h.global, eval_i32(40)));
    assert_false(eval_global_set(w.store, h.global, eval_i64(40)));
    assert_int_equal(CALL(&w, "bump"), 41);
    /* A host function can be called from outside as well. */
    EvalValue args[2] = {eval_i32(4), eval_i32(5)}, result;
    assert_true(eval_call(w.store, h.add, args, 2, &result, 1, &w.error));
    assert_int_equal(result.bits, 9);
    assert_null(h.caller);
    /* What it gives must be of its type. */
    WasmType to_add = WASM_REF(1, 0), any = WASM_FUNCREF;
    EvalFunc *typed = eval_host_func(w.store, NULL, 0, &to_add, 1, host_self, &h);
    EvalFunc *untyped = eval_host_func(w.store, NULL, 0, &any, 1, host_self, &h);
    assert_true(eval_call(w.store, untyped, NULL, 0, &result, 1, &w.error));
    assert_ptr_equal(eval_as_func(result), h.refuse);
    assert_false(eval_call(w.store, typed, NULL, 0, &result, 1, &w.error));
    assert_string_equal(w.error.text, "result 0 of a host function does not fit its type");
    assert_null(eval_new_global(w.store, WASM_I32, true, eval_i64(1)));
    end(&w);
}

/* What another instance exports, whatever module name is asked for. */
static bool from_instance(void *ctx, const WasmImport *im, EvalExtern *what) {
    return eval_export(ctx, im->name, what);
}

static void test_linking(void **state) {
    (void)state;
    WasmModule m;
    World w;
    WasmLimits page = {.min = 1, .max = 2, .has_max = true, .page_log2 = 16};
    wasm_module_init(&m);
    wasm_add_memory(&m, page, STR(""));
    add(&m, "load", "i", "i", "00 20 00 28 02 00 0b");
    wasm_add_export(&m, STR("mem"), WASM_SPACE_MEMORY, 0);
    begin(&w, NULL);
    EvalInstance *first = instantiate(&w, written(&m));
    assert_non_null(first);

    wasm_module_init(&m);
    WasmType i32 = WASM_I32;
    uint32_t unary = wasm_add_func_type(&m, &i32, 1, &i32, 1);
    wasm_add_import_func(&m, STR("lib"), STR("load"), unary);
    wasm_add_import_memory(&m, STR("lib"), STR("mem"), page);
    add(&m, "store", "ii", "i", "00 20 00 20 01 36 02 00 20 00 10 00 0b"); /* 1 */
    add(&m, "start", "", "", "00 41 08 41 e3 00 10 01 1a 0b");             /* 2 */
    wasm_set_start(&m, 2);
    w.resolve = from_instance;
    w.ctx = first;
    assert_non_null(instantiate(&w, written(&m)));
    assert_ptr_equal(eval_memory(w.in, 0), eval_memory(first, 0));
    assert_int_equal(CALL(&w, "store", 4, 1000), 1000);
    w.in = first;
    assert_int_equal(CALL(&w, "load", 8), 99); /* the start function did that */
    assert_int_equal(CALL(&w, "load", 4), 1000);
    end(&w);
}

/* One import that cannot be bound. */
static void check_import(World *w, WasmModule *m, EvalStatus status, const char *text) {
    assert_null(instantiate(w, written(m)));
    assert_int_equal(w->error.status, status);
    assert_string_equal(w->error.text, text);
    wasm_module_init(m);
}

static void test_unlinkable(void **state) {
    (void)state;
    WasmModule m;
    World w;
    Host h;
    begin(&w, NULL);
    make_host(&h, &w);
    wasm_module_init(&m);
    WasmType i32 = WASM_I32;
    wasm_add_import_func(&m, STR("env"), STR("nope"), wasm_add_func_type(&m, &i32, 1, NULL, 0));
    check_import(&w, &m, EVAL_UNKNOWN_IMPORT, "unknown import env.nope");
    h.global = NULL;
    wasm_add_import_global(&m, STR("env"), STR("g"), WASM_I32, true);
    check_import(&w, &m, EVAL_UNKNOWN_IMPORT, "unknown import env.g");
    make_host(&h, &w);
    wasm_add_import_func(&m, STR("env"), STR("add"), wasm_add_func_type(&m, &i32, 1, &i32, 1));
    check_import(&w, &m, EVAL_IMPORT_TYPE,
                 "incompatible import type: env.add is not the function that is imported");
    wasm_add_import_global(&m, STR("env"), STR("g"), WASM_I32, false);
    check_import(&w, &m, EVAL_IMPORT_TYPE,
                 "incompatible import type: env.g is not the global that is imported");
    wasm_add_import_memory(&m, STR("env"), STR("add"), (WasmLimits){.page_log2 = 16});
    check_import(&w, &m, EVAL_IMPORT_TYPE,
                 "incompatible import type: env.add is not the memory that is imported");
    wasm_module_free(&m);
    end(&w);
}

/* ---- instantiation ---- */

/* Initial values with arithmetic, from other globals, of references. */
static void test_globals(void **state) {
    (void)state;
    World w;
    Buf b = header();
    section(&b, 1, "01 60 00 00");
    section(&b, 3, "01 00");
    section(&b, 6,
            "05"
            " 7f 00 41 06 41 07 6c 0b"               /* 6 * 7 */
            " 7e 00 42 7f 42 02 7c 42 0a 7d 0b"      /* -1 + 2 - 10 */
            " 7f 01 23 00 41 02 6b 0b"               /* global 0 - 2 */
            " 70 00 d2 00 0b"                        /* ref.func 0 */
            " 7c 00 44 00 00 00 00 00 00 f8 3f 0b"); /* 1.5 */
    section(&b, 10, "01 02 00 0b");
    begin(&w, NULL);
    assert_non_null(instantiate(&w, b));
    assert_int_equal(eval_global_get(eval_global(w.in, 0)).bits, 42);
    assert_true(eval_global_get(eval_global(w.in, 1)).bits == (uint64_t)-9);
    assert_int_equal(eval_global_get(eval_global(w.in, 2)).bits, 40);
    assert_ptr_equal(eval_as_func(eval_global_get(eval_global(w.in, 3))), eval_func(w.in, 0));
    assert_true(eval_as_f64(eval_global_get(eval_global(w.in, 4))) == 1.5);
    assert_null(eval_global(w.in, 5));
    assert_null(eval_func(w.in, 1));
    end(&w);
}

/* Segments that do not fit, start functions that trap, what is too large. */
static void test_uninstantiable(void **state) {
    (void)state;
    WasmModule m;
    World w;
    Buf data = {0};
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 1, .page_log2 = 16}, STR(""));
    buf_str(&data, STR("ab"));
    wasm_add_data_active(&m, 0, 65535, &data, STR(""));
    begin(&w, &(EvalLimits){.memory_bytes = 1 << 20, .table_items = 100});
    assert_null(instantiate(&w, written(&m)));
    assert_int_equal(w.error.status, EVAL_MEMORY_BOUNDS);
    assert_string_equal(w.error.text, "out of bounds memory access: data segment 0");
    wasm_module_init(&m);
    add(&m, "start", "", "", "00 00 0b");
    wasm_set_start(&m, 0);
    assert_null(instantiate(&w, written(&m)));
    assert_int_equal(w.error.status, EVAL_UNREACHABLE);
    assert_int_equal(w.error.func, 0);
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 16, .page_log2 = 16}, STR(""));
    assert_null(instantiate(&w, written(&m))); /* the first one counts too */
    assert_string_equal(w.error.text, "memory 0 is larger than the limit of 1048576");
    wasm_module_init(&m);
    wasm_add_table(&m, WASM_FUNCREF, (WasmLimits){.min = 101}, STR(""));
    assert_null(instantiate(&w, written(&m)));
    assert_int_equal(w.error.status, EVAL_TOO_LARGE);
    end(&w);
}

/* Instructions that the interpreter does not have are named when they are executed. */
static void test_unsupported(void **state) {
    (void)state;
    static const struct {
        const char *code, *text;
    } rows[] = {
        {"01 08 00 01 41 00 fd 11 1a 0b", "i32x4.splat"},
        {"01 06 00 01 fe 03 00 0b", "atomic.fence"},
        {"01 06 00 1f 40 00 0b 0b", "try_table"},
        {"01 07 00 06 40 01 19 0b 0b", "try"},
        {"01 07 00 06 40 01 18 00 0b", "try"},
        {"01 0d 01 01 7b 20 00 21 00 41 00 fd 0f 1a 0b", "i8x16.splat"},
        {"01 07 00 41 00 fb 1c 1a 0b", "ref.i31"},
        {"01 08 00 d0 6e fb 14 6e 1a 0b", "ref.test"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        World w;
        Buf b = header();
        char text[64];
        section(&b, 1, "01 60 00 00");
        section(&b, 3, "01 00");
        section(&b, 10, rows[k].code);
        begin(&w, NULL);
        EvalInstance *in = instantiate(&w, b);
        assert_non_null(in);
        assert_false(eval_call(w.store, eval_func(in, 0), NULL, 0, NULL, 0, &w.error));
        snprintf(text, sizeof text, "%s is not supported at compile time", rows[k].text);
        assert_int_equal(w.error.status, EVAL_UNSUPPORTED);
        assert_string_equal(w.error.text, text);
        assert_int_equal(w.error.func, 0);
        end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_all_numbers),
        cmocka_unit_test(test_wide_numbers), cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_control),      cmocka_unit_test(test_multi_value),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_memory64),
        cmocka_unit_test(test_table),        cmocka_unit_test(test_references),
        cmocka_unit_test(test_calls),        cmocka_unit_test(test_fuel),
        cmocka_unit_test(test_site),         cmocka_unit_test(test_host),
        cmocka_unit_test(test_linking),      cmocka_unit_test(test_unlinkable),
        cmocka_unit_test(test_globals),      cmocka_unit_test(test_uninstantiable),
        cmocka_unit_test(test_unsupported),  cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
