/*
 * tests/unit/test_code.c - optimised code does what the code did: random functions, run both ways,
 * and what becomes of some of which the result is known.
 */
#include "wasm_fixture.h"

#include "code/code.h"
#include "eval/eval.h"
#include "wasm/emit.h"
#include "wasm/op_text.h"

#include <stdio.h>

/* ---- modules with a function in two forms ---- */

/* Names are numbered like the globals and functions of these modules. */
enum { COUNT, SUM, TOUCH, NOTE, FIXED };
enum { PARAMS = 2, NARROW = 4, WIDE = 3, BUDGET = PARAMS + NARROW + WIDE, MAX_LABELS = 4 };
enum { PLAIN, OPTIMISED };

static void declare_func(CodeModule *c, const char *name, WasmType param, WasmType result) {
    WasmTypeDef type = {.params = &param, .nparams = 1, .results = &result};
    type.nresults = result != WASM_NONE;
    code_import_func(c, name, "", name, &type);
}

static void declare(CodeModule *c) {
    code_name(c, "count", WASM_I32, true);
    code_name(c, "sum", WASM_I64, true);
    declare_func(c, "touch", WASM_I32, WASM_I32);
    declare_func(c, "note", WASM_I64, WASM_NONE);
    code_name(c, "fixed", WASM_I32, false);
}

static void put_body(Buf *out, const CodeFn *f) {
    Buf body = {0};
    buf_uleb(&body, f->locals.len);
    for (uint32_t i = 0; i < f->locals.len; i++) {
        buf_uleb(&body, 1);
        wasm_put_type(&body, f->locals.at[i]);
    }
    /* locals of probes keep what other probes have left in them, where they need not be zero */
    for (uint32_t i = 0; f->zeros && i < f->locals.len; i++)
        if (!f->zeros[i])
            emit(&body, "%s.const 85 local.set %u", emit_type(f->locals.at[i]), PARAMS + i);
    code_write(f, NULL, &body);
    buf_vec(out, &body);
    buf_free(&body);
}

/* touch(x): count = 3 * count + x, changes memory, gives count; note(v): sum = 5 * sum + v, stores
 * it. */
static void put_callee(Buf *out, const char *code) {
    Buf body = {0};
    buf_u8(&body, 0);
    emit(&body, "%s", code);
    buf_u8(&body, 0x0b);
    buf_vec(out, &body);
    buf_free(&body);
}

/* The two forms are functions (i32, i64) -> i32. */
static Buf module_of(const Buf *plain, const Buf *optimised) {
    Buf b = header(), code = {0};
    section(&b, 1, "03 60 02 7f 7e 01 7f 60 01 7f 01 7f 60 01 7e 00");
    section(&b, 3, "04 00 00 01 02");
    section(&b, 5, "01 00 01");
    section(&b, 6, "05 7f 01 41 07 0b 7e 01 42 09 0b 7f 00 41 00 0b 7f 00 41 00 0b 7f 00 41 05 0b");
    buf_uleb(&code, 4);
    buf_bytes(&code, plain->data, plain->len);
    buf_bytes(&code, optimised->data, optimised->len);
    put_callee(&code, "global.get 0 i32.const 3 i32.mul local.get 0 i32.add global.set 0"
                      " i32.const 8 i32.const 8 i32.load 0 0 global.get 0 i32.xor i32.store 0 0"
                      " global.get 0");
    put_callee(&code, "global.get 1 i64.const 5 i64.mul local.get 0 i64.add global.set 1"
                      " i32.const 16 global.get 1 i64.store 0 0");
    buf_u8(&b, 10);
    buf_vec(&b, &code);
    buf_free(&code);
    return b;
}

/* What a call leaves. */
typedef struct Outcome {
    bool ended;
    uint64_t result, count, sum, memory;
} Outcome;

static Outcome call(const WasmModule *m, uint32_t func, EvalValue args[2]) {
    EvalLimits limits = {.memory_bytes = 1 << 17, .stack_slots = 20000};
    EvalStore *s = eval_store_new(&limits);
    EvalError error;
    EvalValue result = {WASM_I32, 0};
    Outcome o = {.memory = HASH_START};
    EvalInstance *i = eval_instantiate(s, m, NULL, NULL, &error);
    assert_non_null(i);
    eval_set_fuel(s, 100000);
    o.ended = eval_call(s, eval_func(i, func), args, 2, &result, 1, &error);
    o.result = result.bits;
    o.count = eval_global_get(eval_global(i, COUNT)).bits;
    o.sum = eval_global_get(eval_global(i, SUM)).bits;
    o.memory = hash_more(o.memory, eval_memory_data(eval_memory(i, 0)), 512);
    eval_store_free(s);
    return o;
}

/* ---- random functions ---- */

static uint64_t seed;

static uint32_t pick(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

typedef struct Maker {
    CodeModule *c;
    uint32_t labels[MAX_LABELS], nlabels;
    bool loops[MAX_LABELS]; /* by label: it is the beginning of a loop */
} Maker;

static CodeNode *number(Maker *m, uint32_t depth);
static CodeNode *wide(Maker *m, uint32_t depth);
static CodeNode *statement(Maker *m, uint32_t depth);

static uint32_t narrow_local(void) {
    uint32_t n = pick(NARROW + 1);
    return n ? PARAMS + n - 1 : 0;
}

static uint32_t wide_local(void) {
    uint32_t n = pick(WIDE + 1);
    return n ? PARAMS + NARROW + n - 1 : 1;
}

static CodeNode *address(Maker *m, uint32_t depth) {
    CodeNode *x = number(m, depth);
    return pick(20) ? code_op2(m->c, WASM_OP_I32_AND, x, code_const(m->c, WASM_I32, 0xf8)) : x;
}

static CodeNode *list(Maker *m, uint32_t depth, CodeNode *value) {
    CodeNode *kids[6];
    uint32_t n = pick(5);
    for (uint32_t i = 0; i < n; i++)
        kids[i] = statement(m, depth);
    if (value)
        kids[n++] = value;
    return code_block(m->c, 0, kids, n);
}

static CodeNode *number(Maker *m, uint32_t depth) {
    static const WasmOp ops[] = {
        WASM_OP_I32_ADD,  WASM_OP_I32_SUB,   WASM_OP_I32_MUL,   WASM_OP_I32_AND,   WASM_OP_I32_OR,
        WASM_OP_I32_XOR,  WASM_OP_I32_SHL,   WASM_OP_I32_SHR_S, WASM_OP_I32_SHR_U, WASM_OP_I32_EQ,
        WASM_OP_I32_NE,   WASM_OP_I32_LT_S,  WASM_OP_I32_LT_U,  WASM_OP_I32_GE_S,  WASM_OP_I32_GT_U,
        WASM_OP_I32_LE_S, WASM_OP_I32_DIV_U, WASM_OP_I32_REM_S};
    static const WasmOp wides[] = {WASM_OP_I64_EQ, WASM_OP_I64_NE, WASM_OP_I64_LT_S,
                                   WASM_OP_I64_GE_U};
    static const uint32_t constants[] = {0, 0, 1, 1, 5, 64, UINT32_MAX, 0x80000000};
    CodeModule *c = m->c;
    switch (depth ? pick(14) : pick(4)) {
    case 0: return code_const(c, WASM_I32, constants[pick(8)]);
    case 1:
    case 2: return code_get(c, narrow_local(), WASM_I32);
    case 3: return code_global(c, pick(2) ? "count" : "fixed", WASM_I32);
    case 4:
    case 5:
    case 6: {
        CodeNode *x = number(m, depth - 1), *y = number(m, depth - 1);
        return code_op2(c, ops[pick(sizeof ops / sizeof *ops)], x, y);
    }
    case 7: return code_op1(c, WASM_OP_I32_EQZ, number(m, depth - 1));
    case 8: {
        CodeNode *x = wide(m, depth - 1), *y = wide(m, depth - 1);
        return code_op2(c, wides[pick(4)], x, y);
    }
    case 9: return code_op1(c, WASM_OP_I32_WRAP_I64, wide(m, depth - 1));
    case 10:
        return code_load(c, pick(4) ? WASM_OP_I32_LOAD : WASM_OP_I32_LOAD8_U, address(m, depth - 1),
                         8 * pick(3));
    case 11: return code_call(c, "touch", (CodeNode *[]){number(m, depth - 1)}, 1, WASM_I32);
    case 12: return code_tee(c, narrow_local(), number(m, depth - 1));
    default: {
        CodeNode *x = number(m, depth - 1);
        CodeNode *yes = pick(2) ? number(m, 0) : list(m, depth - 1, number(m, depth - 1));
        return code_if(c, x, yes, number(m, pick(2) ? depth - 1 : 0));
    }
    }
}

static CodeNode *wide(Maker *m, uint32_t depth) {
    static const WasmOp ops[] = {WASM_OP_I64_ADD, WASM_OP_I64_SUB, WASM_OP_I64_MUL,
                                 WASM_OP_I64_XOR, WASM_OP_I64_SHL, WASM_OP_I64_SHR_U};
    static const uint64_t constants[] = {0, 1, 10, UINT64_MAX};
    CodeModule *c = m->c;
    switch (depth ? pick(9) : pick(3)) {
    case 0: return code_const(c, WASM_I64, constants[pick(4)]);
    case 1: return code_get(c, wide_local(), WASM_I64);
    case 2: return code_global(c, "sum", WASM_I64);
    case 3:
    case 4: {
        CodeNode *x = wide(m, depth - 1), *y = wide(m, depth - 1);
        return code_op2(c, ops[pick(6)], x, y);
    }
    case 5:
        return code_op1(c, pick(2) ? WASM_OP_I64_EXTEND_I32_U : WASM_OP_I64_EXTEND_I32_S,
                        number(m, depth - 1));
    case 6: return code_load(c, WASM_OP_I64_LOAD, address(m, depth - 1), 8 * pick(3));
    case 7: return code_tee(c, wide_local(), wide(m, depth - 1));
    default: {
        CodeNode *x = number(m, depth - 1), *yes = wide(m, depth - 1);
        return code_if(c, x, yes, wide(m, depth - 1));
    }
    }
}

/* To a loop only so many times in a function. */
static CodeNode *branch(Maker *m, uint32_t to, uint32_t depth) {
    CodeModule *c = m->c;
    if (!m->loops[to])
        return code_branch(c, m->labels[to], pick(3) ? number(m, depth) : NULL);
    CodeNode *left =
        code_op2(c, WASM_OP_I32_SUB, code_get(c, BUDGET, WASM_I32), code_const(c, WASM_I32, 1));
    return code_branch(
        c, m->labels[to],
        code_op2(c, WASM_OP_I32_GT_S, code_tee(c, BUDGET, left), code_const(c, WASM_I32, 0)));
}

static CodeNode *labelled(Maker *m, uint32_t depth) {
    if (m->nlabels == MAX_LABELS)
        return statement(m, depth);
    bool loops = m->loops[m->nlabels] = pick(3) == 0;
    uint32_t label = m->labels[m->nlabels++] = code_label(m->c);
    CodeNode *kids[] = {list(m, depth, NULL), loops ? branch(m, m->nlabels - 1, depth) : NULL};
    CodeNode *inner = code_block(m->c, 0, kids, loops ? 2 : 1);
    m->nlabels--;
    return loops ? code_loop(m->c, label, inner) : code_block(m->c, label, &inner, 1);
}

static CodeNode *statement(Maker *m, uint32_t depth) {
    CodeModule *c = m->c;
    uint32_t less = depth ? depth - 1 : 0;
    switch (depth ? pick(14) : pick(4)) {
    case 0:
    case 1:
    case 4: return code_set(c, narrow_local(), number(m, less));
    case 2: return code_set(c, wide_local(), wide(m, less));
    case 3: return code_set_global(c, "count", number(m, less));
    case 5: return code_set_global(c, "sum", wide(m, less));
    case 6: {
        CodeNode *at = address(m, less), *value = number(m, less);
        return code_store(c, WASM_OP_I32_STORE, at, 8 * pick(3), value);
    }
    case 7: return code_drop(c, pick(2) ? number(m, less) : wide(m, less));
    case 8: return code_call(c, "note", (CodeNode *[]){wide(m, less)}, 1, WASM_NONE);
    case 9: {
        CodeNode *x = number(m, less), *yes = list(m, less, NULL);
        return code_if(c, x, yes, pick(2) ? list(m, less, NULL) : NULL);
    }
    case 10: return labelled(m, less);
    case 11:
        if (!m->nlabels)
            return list(m, less, NULL);
        return branch(m, pick(m->nlabels), less);
    case 12:
        if (pick(3))
            return list(m, less, NULL);
        return code_return(c, number(m, less));
    default: return pick(8) ? code_nop(c) : code_trap(c);
    }
}

/* A function of this seed; the same each time. */
static CodeFn *make(CodeModule *c, uint64_t from) {
    static const WasmType locals[] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32,
                                      WASM_I64, WASM_I64, WASM_I64, WASM_I32};
    static const WasmType params[] = {WASM_I32, WASM_I64};
    seed = from * 7919 + 1;
    Maker m = {.c = c};
    CodeNode *kids[9];
    uint32_t n = 2 + pick(6);
    declare(c);
    kids[0] = code_set(c, BUDGET, code_const(c, WASM_I32, 6));
    for (uint32_t i = 1; i < n; i++)
        kids[i] = statement(&m, 4);
    kids[n++] = number(&m, 3);
    code_add(c, "f", params, PARAMS, WASM_I32, locals, NARROW + WIDE + 1,
             code_block(c, 0, kids, n));
    return code_find(c, STR("f"));
}

/* Writes both forms of a function; how many bytes they are. */
static Buf both_forms(uint64_t from, size_t sizes[2]) {
    Buf forms[2] = {{0}, {0}};
    for (uint32_t form = PLAIN; form <= OPTIMISED; form++) {
        CodeModule c = {0};
        CodeFn *f = make(&c, from);
        if (form == OPTIMISED) {
            code_optimise(&c, f);
            code_share_locals(&c, f);
        }
        put_body(&forms[form], f);
        sizes[form] += forms[form].len;
        code_free(&c);
    }
    Buf module = module_of(&forms[PLAIN], &forms[OPTIMISED]);
    buf_free(&forms[PLAIN]);
    buf_free(&forms[OPTIMISED]);
    return module;
}

static void compare(const WasmModule *m, uint64_t from) {
    static const uint32_t numbers[] = {0, 1, 40, UINT32_MAX};
    for (uint32_t k = 0; k < 4; k++) {
        EvalValue args[] = {eval_i32(numbers[k]), eval_i64((uint64_t)k * 0x100000001)};
        Outcome a = call(m, PLAIN, args), b = call(m, OPTIMISED, args);
        if (memcmp(&a, &b, sizeof a) != 0)
            fail_msg("function %u with %u", (uint32_t)from, numbers[k]);
    }
}

static void random_functions(void **state) {
    size_t sizes[2] = {0, 0};
    (void)state;
    for (uint64_t from = 0; from < 10000; from++) {
        Fixture f;
        load(&f, both_forms(from, sizes));
        compare(&f.m, from);
        unload(&f);
    }
    assert_true(sizes[OPTIMISED] * 4 < sizes[PLAIN] * 3);
}

/* ---- known results ---- */

/* The text of a function's code, optimised, in one line. */
static void expect(CodeModule *c, WasmType result, CodeNode *body, const char *text) {
    static const WasmType locals[] = {WASM_I32, WASM_I32, WASM_I64};
    Buf code = {0}, got = {0};
    WasmInstr i;
    code_add(c, "f", (WasmType[]){WASM_I32, WASM_I64}, PARAMS, result, locals, 3, body);
    CodeFn *f = code_find(c, STR("f"));
    code_optimise(c, f);
    code_share_locals(c, f);
    code_write(f, NULL, &code);
    WasmCode cursor = wasm_code(code.data, (uint32_t)code.len, 0);
    while (wasm_next(&cursor, &i) && cursor.at != cursor.end) {
        buf_printf(&got, got.len ? " " : "");
        wasm_instr_text(&got, &i);
    }
    assert_string_equal(buf_cstr(&got), text);
    buf_free(&code);
    buf_free(&got);
    code_free(c);
    *c = (CodeModule){0};
}

static void known_results(void **state) {
    (void)state;
    CodeModule c = {0};
#define GET(n)        code_get(&c, n, WASM_I32)
#define SET(n, value) code_set(&c, n, value)
#define ONE           code_const(&c, WASM_I32, 1)
#define ADD(x, y)     code_op2(&c, WASM_OP_I32_ADD, x, y)
#define LIST(...)                                                                                  \
    code_block(&c, 0, (CodeNode *[]){__VA_ARGS__},                                                 \
               sizeof((CodeNode *[]){__VA_ARGS__}) / sizeof(CodeNode *))
    /* a value that is used once goes there; one that is used twice is kept */
    expect(&c, WASM_I32, LIST(SET(2, ADD(GET(0), ONE)), SET(3, GET(2)), ADD(GET(3), ONE)),
           "local.get 0 i32.const 2 i32.add");
    expect(&c, WASM_I32, LIST(SET(2, ADD(GET(0), GET(0))), ADD(GET(2), GET(2))),
           "local.get 0 local.get 0 i32.add local.tee 2 local.get 2 i32.add");
    /* not past what changes it */
    declare(&c);
    expect(
        &c, WASM_I32,
        LIST(SET(2, code_global(&c, "count", WASM_I32)), code_set_global(&c, "count", ONE), GET(2)),
        "global.get 0 local.set 2 i32.const 1 global.set 0 local.get 2");
    /* what nobody reads is left out, and locals share a slot */
    expect(&c, WASM_I32,
           LIST(SET(3, ONE), SET(2, ADD(GET(0), ONE)), SET(3, ADD(GET(2), GET(2))),
                ADD(GET(3), GET(3))),
           "local.get 0 i32.const 1 i32.add local.tee 2 local.get 2 i32.add local.tee 2 local.get 2"
           " i32.add");
    /* conditions */
    expect(&c, WASM_I32, code_if(&c, GET(0), ONE, code_const(&c, WASM_I32, 0)),
           "local.get 0 i32.const 0 i32.ne");
    expect(&c, WASM_I32, code_if(&c, code_op1(&c, WASM_OP_I32_EQZ, GET(0)), GET(2), ONE),
           "i32.const 1 local.get 2 local.get 0 select");
    /* constants; not where they trap */
    CodeNode *eight = code_const(&c, WASM_I32, 8);
    expect(&c, WASM_I32,
           code_op2(&c, WASM_OP_I32_MUL, code_op2(&c, WASM_OP_I32_DIV_S, eight, ONE), GET(0)),
           "local.get 0 i32.const 3 i32.shl");
    expect(&c, WASM_I32, code_op2(&c, WASM_OP_I32_REM_U, ONE, code_const(&c, WASM_I32, 0)),
           "i32.const 1 i32.const 0 i32.rem_u");
    declare(&c);
    /* the end of a function or block is reached without branching */
    uint32_t end = code_label(&c);
    CodeNode *wide = code_get(&c, 1, WASM_I64), *note = code_call(&c, "note", &wide, 1, WASM_NONE);
    CodeNode *inner = LIST(code_if(&c, GET(0), LIST(note, code_branch(&c, end, NULL)), NULL));
    expect(&c, WASM_NONE, code_block(&c, end, &inner, 1), "local.get 0 if local.get 1 call 3 end");
    CodeNode *returns = code_return(&c, ADD(GET(0), ONE));
    expect(&c, WASM_I32, LIST(returns, code_const(&c, WASM_I32, 0)),
           "local.get 0 i32.const 1 i32.add");
    /* nothing goes into a loop, or shares a slot with what it needs each time */
    uint32_t again = code_label(&c);
    CodeNode *body = LIST(SET(3, ADD(GET(0), GET(2))), SET(0, ADD(GET(3), GET(3))),
                          code_branch(&c, again, GET(0)));
    expect(&c, WASM_I32, LIST(SET(2, ADD(GET(0), ONE)), code_loop(&c, again, body), GET(0)),
           "local.get 0 i32.const 1 i32.add local.set 2 loop local.get 0 local.get 2 i32.add"
           " local.tee 3 local.get 3 i32.add local.tee 0 br_if 0 end local.get 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_functions),
                                       cmocka_unit_test(known_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
