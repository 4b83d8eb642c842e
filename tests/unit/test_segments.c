/*
 * tests/unit/test_segments.c - the counts that equations give are those of instructions, in random
 * bodies that are executed with random decisions.
 *
 * Bodies need no types here: segments depend on control instructions alone. Calls return, throw or
 * end the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/flow.h"
#include "analysis/segment.h"

static uint32_t state;

static uint32_t random_below(uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

/* ---- bodies ---- */

static void put(Buf *b, uint8_t op, int32_t immediate) {
    buf_u8(b, op);
    if (immediate >= 0)
        buf_u8(b, (uint8_t)immediate);
}

enum { BLOCK_TYPE = 0x40, MAX_NESTING = 6 };

static void put_code(Buf *b, uint32_t depth, uint32_t length);

static void put_construct(Buf *b, uint32_t depth, uint32_t length) {
    uint32_t kind = random_below(6);
    if (kind == 4) { /* try ... catch_all ... end */
        put(b, 0x06, BLOCK_TYPE);
        put_code(b, depth + 1, length);
        put(b, 0x19, -1);
        put_code(b, depth + 1, length / 2);
    } else if (kind == 5) { /* try_table (catch_all N) ... end */
        put(b, 0x1f, BLOCK_TYPE);
        buf_u8(b, 1);
        put(b, 2, (int32_t)random_below(depth));
        put_code(b, depth + 1, length);
    } else {
        static const uint8_t ops[] = {0x02, 0x03, 0x04, 0x04};
        put(b, ops[kind], BLOCK_TYPE);
        put_code(b, depth + 1, length);
        if (kind == 3) {
            put(b, 0x05, -1);
            put_code(b, depth + 1, length);
        }
    }
    put(b, 0x0b, -1);
}

static void put_code(Buf *b, uint32_t depth, uint32_t length) {
    for (uint32_t i = random_below(length + 1); i > 0; i--) {
        switch (random_below(12)) {
        case 0:
        case 1:
        case 2:
            if (depth < MAX_NESTING)
                put_construct(b, depth, length);
            break;
        case 3:
        case 4: put(b, 0x0d, (int32_t)random_below(depth)); break; /* br_if */
        case 5:
            if (random_below(3) == 0)
                put(b, 0x0c, (int32_t)random_below(depth)); /* br */
            break;
        case 6:
            if (random_below(3) == 0) { /* br_table */
                put(b, 0x0e, 1);
                put(b, (uint8_t)random_below(depth), (int32_t)random_below(depth));
            }
            break;
        case 7:
            if (random_below(6) == 0)
                put(b, 0x0f, -1); /* return */
            break;
        case 8:
        case 9: put(b, 0x10, 0); break;   /* call */
        default: put(b, 0x01, -1); break; /* nop */
        }
    }
}

/* ---- executing them ---- */

typedef Vec(WasmInstr) Instrs;

typedef struct Run {
    const Instrs *code;
    const uint32_t *close; /* by opener or part: the index of what closes it */
    uint64_t *counts;      /* by instruction: executions; of an `end` or `loop` also by branches */
    uint64_t *fallen;      /* ... but for those */
    uint64_t *on;          /* of branches: those that go on to the next instruction, or of a
                              br_table to its default */
    Vec(uint32_t) open;    /* indices of openers */
    uint32_t fuel;
} Run;

static uint32_t last_part(const Run *r, uint32_t opener) {
    uint32_t at = r->close[opener];
    while (r->code->at[at].op != WASM_OP_END && r->code->at[at].op != WASM_OP_DELEGATE)
        at = r->close[at];
    return at;
}

/* Where a branch goes on; executes the `end` or `loop` that it comes to. */
static uint32_t branch_to(Run *r, uint32_t depth) {
    if (depth >= r->open.len) {
        r->counts[r->code->len - 1]++;
        return r->code->len;
    }
    uint32_t opener = r->open.at[r->open.len - 1 - depth];
    r->open.len -= depth;
    if (r->code->at[opener].op == WASM_OP_LOOP) {
        r->counts[opener]++;
        return opener + 1;
    }
    r->open.len--;
    uint32_t end = last_part(r, opener);
    r->counts[end]++;
    return end + 1;
}

/* An exception: the innermost handler, or the end of the activation. */
static uint32_t throw_from(Run *r) {
    while (r->open.len) {
        uint32_t opener = vec_last(&r->open);
        const WasmInstr *i = &r->code->at[opener];
        if (i->op == WASM_OP_TRY_TABLE) {
            const uint8_t *at = i->vec;
            uint32_t label = wasm_vec_catch(&at).label;
            r->open.len--; /* labels of handlers count from outside */
            return branch_to(r, label);
        }
        if (i->op == WASM_OP_TRY) {
            vec_last(&r->open) = r->close[opener]; /* a handler is not round itself */
            return r->close[opener] + 1;
        }
        r->open.len--;
    }
    return r->code->len;
}

static void execute(Run *r) {
    r->open.len = 0;
    for (uint32_t at = 0; at < r->code->len && r->fuel; r->fuel--) {
        const WasmInstr *i = &r->code->at[at];
        r->fallen[at]++;
        /* running into `else` or a handler goes to the construct's end */
        if (i->op == WASM_OP_ELSE || i->op == WASM_OP_CATCH_ALL) {
            r->counts[at]++;
            at = branch_to(r, 0);
            continue;
        }
        r->counts[at]++;
        switch (i->op) {
        case WASM_OP_BLOCK:
        case WASM_OP_LOOP:
        case WASM_OP_TRY:
        case WASM_OP_TRY_TABLE: vec_push(&r->open, at++); break;
        case WASM_OP_IF:
            vec_push(&r->open, at);
            if (random_below(2)) {
                r->on[at++]++;
            } else if (r->code->at[r->close[at]].op == WASM_OP_ELSE) {
                at = r->close[at] + 1;
            } else {
                at = branch_to(r, 0);
            }
            break;
        case WASM_OP_END:
            if (r->open.len)
                r->open.len--;
            at++;
            break;
        case WASM_OP_BR: at = branch_to(r, i->a); break;
        case WASM_OP_BR_IF: {
            bool on = random_below(3);
            r->on[at] += on;
            at = on ? at + 1 : branch_to(r, i->a);
            break;
        }
        case WASM_OP_BR_TABLE: {
            bool otherwise = random_below(2);
            r->on[at] += otherwise;
            at = branch_to(r, otherwise ? i->a : i->vec[0]);
            break;
        }
        case WASM_OP_RETURN: return;
        case WASM_OP_CALL: {
            uint32_t what = random_below(30);
            if (what == 0)
                return; /* the program ends there */
            at = what < 3 ? throw_from(r) : at + 1;
            break;
        }
        default: at++; break;
        }
    }
}

/* ---- the test ---- */

static uint32_t *closers(const Instrs *code) {
    uint32_t *close = mem_zalloc(sizeof *close * (code->len + 1));
    Vec(uint32_t) open = {0};
    for (uint32_t i = 0; i < code->len; i++) {
        uint16_t op = code->at[i].op;
        bool part = op == WASM_OP_ELSE || op == WASM_OP_CATCH_ALL;
        if ((part || op == WASM_OP_END) && open.len)
            close[open.at[--open.len]] = i;
        if (opens_part((WasmOp)op))
            vec_push(&open, i);
    }
    vec_free(&open);
    return close;
}

static uint64_t total, counted; /* segments that can be reached; those with a counter */

/* How often each segment was executed, as counted while executing: at its first instruction. */
static void check_counts(const Segments *s, const Run *r) {
    uint64_t *truth = mem_zalloc(sizeof *truth * s->at.len);
    uint64_t *known = mem_zalloc(sizeof *known * s->at.len);
    uint32_t cursor = 0, first = 0;
    for (uint32_t k = 0; k < s->at.len; k++) {
        const Segment *seg = &s->at.at[k];
        while (first < r->code->len && r->code->at[first].offset < seg->start)
            first++;
        if (first < r->code->len)
            truth[k] = seg->otherwise  ? r->on[first - 1]
                       : seg->at_label ? r->counts[first]
                                       : r->fallen[first];
        known[k] = seg->counted ? truth[k] : 0;
        total += !seg->dead;
        counted += seg->counted;
    }
    for (uint32_t i = 0; i < r->code->len; i++) { /* all instructions of a segment agree */
        const Segment *seg = segments_seek(s, &cursor, r->code->at[i].offset);
        assert_int_equal(seg->dead ? 0 : truth[seg - s->at.at], r->counts[i]);
        uint16_t op = r->code->at[i].op;
        bool goes_on =
            op == WASM_OP_BR_IF || op == WASM_OP_IF || (op == WASM_OP_BR_TABLE && s->splits_tables);
        if (goes_on && !seg->dead)
            assert_int_equal(truth[seg + 1 - s->at.at], r->on[i]);
    }
    for (uint32_t k = 0; k < s->equations.len; k++) {
        const SegmentEquation *e = &s->equations.at[k];
        assert_false(s->at.at[e->segment].counted);
        for (uint32_t t = e->from; t < e->to; t++)
            known[e->segment] += t < e->middle ? known[s->terms.at[t]] : 0 - known[s->terms.at[t]];
    }
    for (uint32_t k = 0; k < s->at.len; k++)
        if (!s->at.at[k].dead)
            assert_int_equal(known[k], truth[k]);
    free(truth);
    free(known);
}

/* Random choices; those where nothing may be derived; those of them where it would be cheaper. */
static uint32_t asked, refused, missed;

/* If it is said that nothing may be derived, then hardly ever would that be cheaper: where code is
 * in a loop that is left in its first iteration. */
static void check_choice(Segments *s) {
    bool *needed = mem_zalloc(s->at.len * sizeof *needed);
    for (uint32_t n = 0; n < 4; n++) {
        for (uint32_t k = 0; k < s->at.len; k++)
            needed[k] = !s->at.at[k].dead && random_below(4) <= n;
        bool may = segments_may_derive(s, needed);
        asked++;
        refused += !may;
        missed += !may && segments_choose(s, needed);
    }
    free(needed);
}

static void counts_follow(void **unused) {
    (void)unused;
    Segments s = {0};
    for (uint32_t seed = 1; seed <= 20000; seed++) {
        state = seed * 2654435761u;
        Buf body = {0};
        put_code(&body, 1, 2 + random_below(12));
        put(&body, 0x0b, -1);
        Instrs code = {0};
        WasmCode cursor = wasm_code(body.data, body.len, 0);
        WasmInstr i;
        while (wasm_next(&cursor, &i))
            vec_push(&code, i);
        assert_null(cursor.error);
        uint32_t *close = closers(&code);
        Run r = {.code = &code, .close = close, .fuel = 2000};
        r.counts = mem_zalloc(sizeof *r.counts * code.len);
        r.fallen = mem_zalloc(sizeof *r.fallen * code.len);
        r.on = mem_zalloc(sizeof *r.on * code.len);
        for (uint32_t n = 0; n < 20 && r.fuel; n++)
            execute(&r);
        for (uint32_t how = 0; how < 3 && r.fuel; how++) { /* else it was stopped in a segment */
            s.splits_tables = how > 0;
            s.estimates = how > 1;
            segments_split(&s, wasm_code(body.data, body.len, 0), false);
            segments_solve(&s);
            check_counts(&s, &r);
            check_choice(&s);
        }
        free(close);
        free(r.counts);
        free(r.fallen);
        free(r.on);
        vec_free(&r.open);
        vec_free(&code);
        buf_free(&body);
    }
    segments_free(&s);
    assert_true(total > 100000 && counted < total);
    print_message("%llu of %llu segments have counters\n", (unsigned long long)counted,
                  (unsigned long long)total);
    print_message("nothing may be derived in %u of %u choices, %u of which are missed\n", refused,
                  asked, missed);
    assert_true(refused > asked / 20 && refused < asked / 2 && missed < refused / 20);
}

/* ---- where counters are ---- */

/* The offsets of the counters of a body for how often its branches go which way; "c" before one
 * that is only for the default of the br_table before it. */
static void check_places(const uint8_t *body, size_t len, const char *expected) {
    Segments s = {.splits_tables = true, .estimates = true};
    Buf places = {0};
    segments_split(&s, wasm_code(body, len, 0), false);
    bool *needed = mem_zalloc(s.at.len * sizeof *needed);
    WasmCode code = wasm_code(body, len, 0);
    WasmInstr i;
    for (uint32_t cursor = 0; wasm_next(&code, &i);) {
        WasmFlow flow = wasm_flow(i.op);
        const Segment *seg = segments_seek(&s, &cursor, i.offset);
        if (flow == WASM_FLOW_IF || flow == WASM_FLOW_BRANCH_IF || flow == WASM_FLOW_BRANCH_TABLE)
            needed[seg - s.at.at] = needed[seg + 1 - s.at.at] = !seg->dead;
    }
    bool derives = segments_may_derive(&s, needed);
    segments_solve(&s);
    derives = derives && segments_choose(&s, needed);
    for (uint32_t k = 0; k < s.at.len; k++)
        if (needed[k] && (!derives || s.at.at[k].counted))
            buf_printf(&places, "%s%s%u", places.len ? " " : "", s.at.at[k].otherwise ? "c" : "",
                       s.at.at[k].start);
    assert_string_equal(buf_cstr(&places), expected);
    free(needed);
    buf_free(&places);
    segments_free(&s);
}

#define PLACES(expected, ...)                                                                      \
    do {                                                                                           \
        static const uint8_t body[] = {__VA_ARGS__};                                               \
        check_places(body, sizeof body, expected);                                                 \
    } while (0)

static void counters_are_in_arms(void **unused) {
    (void)unused;
    enum { IF = 0x04, ELSE, END = 0x0b, BR_IF = 0x0d, BR_TABLE, RETURN, LOOP = 0x03, BLOCK = 0x02 };
    enum { NOP = 1, EMPTY = 0x40 };
    /* if return end nop: one counter an execution, in the arm and after the `if` */
    PLACES("2 3", IF, EMPTY, RETURN, END, NOP, END);
    /* if nop else nop end: one in each arm */
    PLACES("2 4", IF, EMPTY, NOP, ELSE, NOP, END, END);
    /* loop br_if 0 end: each iteration, and once when it is left */
    PLACES("0 4", LOOP, EMPTY, BR_IF, 0, END, END);
    /* loop if nop end br_if 0 end: the arm, each iteration after the `if`, the way out */
    PLACES("4 5 8", LOOP, EMPTY, IF, EMPTY, NOP, END, BR_IF, 0, END, END);
    /* block block br_table 0 (default 1) end return end: where each leads */
    PLACES("8 10", BLOCK, EMPTY, BLOCK, EMPTY, BR_TABLE, 1, 0, 1, END, RETURN, END, END);
    /* block br_table 0 (default 0) end: only the operand tells */
    PLACES("0 c6", BLOCK, EMPTY, BR_TABLE, 1, 0, 0, END, END);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_follow),
                                       cmocka_unit_test(counters_are_in_arms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
