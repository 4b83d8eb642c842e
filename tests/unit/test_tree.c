/*
 * tests/unit/test_tree.c - the calling-context tree of the runtime, compared with a plain one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/image.h"
#include "stdlib/runtime/tree.h"
#include "values_fixture.h"

/* ---- a tree as one would write it down ---- */

typedef struct Context {
    uint32_t parent, function, depth;
    uint64_t calls;
    int64_t ns; /* below 0 if the clock went back */
} Context;

typedef struct Model {
    Vec(Context) all; /* by number; the first is the root */
    uint32_t current, limit;
    uint64_t since;
} Model;

static void model_begin(Model *m) {
    *m = (Model){0};
    vec_push(&m->all, (Context){0});
}

static void model_spend(Model *m, uint64_t now) {
    m->all.at[m->current].ns += (int64_t)now - (int64_t)m->since;
    m->since = now;
}

static void model_enter(Model *m, uint32_t function) {
    if (m->limit && m->all.at[m->current].depth >= m->limit) {
        function = TREE_ANY;
        if (m->all.at[m->current].function == TREE_ANY) {
            m->all.at[m->current].calls++;
            return;
        }
    }
    for (uint32_t i = 1; i < m->all.len; i++) {
        if (m->all.at[i].parent == m->current && m->all.at[i].function == function) {
            m->all.at[i].calls++;
            m->current = i;
            return;
        }
    }
    Context c = {m->current, function, m->all.at[m->current].depth + 1, 1, 0};
    m->current = m->all.len;
    vec_push(&m->all, c);
}

static void assert_same(const Model *m) {
    TreeCursor c = {0};
    uint64_t v[TREE_LEAVES];
    uint32_t i = 1;
    for (; tree_next(&c, v); i++) {
        assert_true(i < m->all.len);
        assert_int_equal(v[0], i);
        assert_int_equal(v[1], m->all.at[i].parent);
        assert_int_equal(v[2], m->all.at[i].function);
        assert_int_equal(v[3], m->all.at[i].calls);
        assert_int_equal(v[4], m->all.at[i].ns < 0 ? 0 : m->all.at[i].ns);
    }
    assert_int_equal(i, m->all.len);
    assert_int_equal(tree_next(&c, v), 0);
}

/* What a frame of the program remembers, and what the model's current node was before. */
typedef struct Frame {
    uint32_t handle, above;
} Frame;

/* Enters and leaves at random, sometimes several activations at once; looks now and then. */
static void walk(uint32_t steps, uint32_t functions, uint32_t depth, uint32_t limit, bool timed) {
    Model m;
    Vec(Frame) stack = {0};
    uint64_t now = 1000;
    start();
    model_begin(&m);
    m.limit = limit;
    if (limit)
        tree_limit(limit);
    for (uint32_t i = 0; i < steps; i++) {
        now += next_random() % 50;
        if (next_random() % 64 == 0)
            now -= next_random() % 40; /* as calibrated clocks do */
        if (timed)
            model_spend(&m, now);
        if (stack.len < depth && next_random() % 2) {
            uint32_t function = (uint32_t)(next_random() % functions), above = m.current;
            uint32_t h = timed ? tree_enter(function, now) : tree_enter_untimed(function);
            assert_int_not_equal(h, 0);
            model_enter(&m, function);
            vec_push(&stack, ((Frame){h, above}));
        } else if (stack.len) {
            uint32_t unwound = next_random() % 8 == 0 ? (uint32_t)(next_random() % stack.len) : 0;
            stack.len -= unwound;
            Frame f = stack.at[--stack.len];
            if (timed)
                tree_leave(f.handle, now);
            else
                tree_leave_untimed(f.handle);
            m.current = f.above;
        }
        if (i % (steps / 8) == 0) {
            if (timed)
                model_spend(&m, ++now);
            tree_store(1, timed ? now : 0);
            assert_int_equal(tree_lost(), 0);
            assert_same(&m);
        }
    }
    assert_same(&m);
    vec_free(&stack);
    vec_free(&m.all);
    end();
}

static void test_random(void **state) {
    (void)state;
    walk(4000, 3, 8, 0, true);
    walk(4000, 40, 6, 0, true);
    walk(4000, 2, 2000, 0, true);
    walk(4000, 5, 30, 0, false);
}

static void test_limit(void **state) {
    (void)state;
    walk(4000, 3, 20, 1, true);
    walk(4000, 3, 20, 4, true);
    walk(4000, 3, 5, 5, true); /* is not reached */
    walk(4000, 20, 20, 2, false);
}

/* Handles that no call has given. */
static void test_nothing_entered(void **state) {
    (void)state;
    TreeCursor c = {0};
    uint64_t v[TREE_LEAVES];
    start();
    assert_int_equal(tree_next(&c, v), 0);
    tree_leave(0, 5);
    tree_leave_untimed(0);
    tree_store(0, 6);
    assert_int_equal(tree_lost(), 0);
    assert_false(tree_is_shown(0));
    uint32_t h = tree_enter(7, 10);
    assert_true(tree_is_shown(0));
    assert_false(tree_is_shown(1));
    tree_leave(0, 15);
    tree_leave(h, 18);
    tree_leave(h, 20); /* once more */
    assert_int_equal(tree_next(&c, v), 1);
    assert_int_equal(v[1], 0);
    assert_int_equal(v[4], 8);
    end();
}

/* Children that are found by hashing, below several parents. */
static void test_wide(void **state) {
    (void)state;
    enum { PARENTS = 3, CHILDREN = 10000, ROUNDS = 20 };
    TreeCursor c = {0};
    uint64_t v[TREE_LEAVES], calls = 0;
    start();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t p = 0; p < PARENTS; p++) {
            uint32_t parent = tree_enter_untimed(p);
            for (uint32_t i = 0; i < CHILDREN; i++) {
                uint32_t child = tree_enter_untimed((i * 7919 + round) % CHILDREN);
                tree_leave_untimed(tree_enter_untimed(5));
                tree_leave_untimed(child);
            }
            tree_leave_untimed(parent);
        }
    }
    while (tree_next(&c, v)) {
        assert_int_equal(v[3], ROUNDS);
        calls += v[3];
    }
    assert_int_equal(c.number, PARENTS * (1 + 2 * CHILDREN));
    assert_int_equal(calls, ROUNDS * PARENTS * (1 + 2 * CHILDREN));
    end();
}

/* Without memory nothing fails, calls are counted or lost, and all the time is there. */
static void test_no_memory(void **state) {
    (void)state;
    enum { STEPS = 200000, DEPTH = 50 };
    for (uint32_t wide = 0; wide < 2; wide++) {
        uint32_t handles[DEPTH], depth = 0, entered = 0;
        uint64_t v[TREE_LEAVES], calls = 0, ns = 0;
        TreeCursor c = {0};
        start();
        assert_non_null(values_native_memory(VALUES_STACK + 700000));
        handles[depth++] = tree_enter(0, 100);
        for (uint64_t now = 100; entered < STEPS; now++) {
            uint32_t most = wide ? 2 : DEPTH;
            if (depth < most && (depth == 1 || next_random() % 2)) {
                handles[depth++] = tree_enter((uint32_t)(next_random() % (wide ? 100000 : 4)), now);
                assert_int_not_equal(handles[depth - 1], 0);
                entered++;
            } else {
                tree_leave(handles[--depth], now);
            }
            if (entered == STEPS) {
                uint64_t lost = tree_lost();
                tree_store(0, now);
                assert_in_range(lost, 1, STEPS);
                while (tree_next(&c, v)) {
                    calls += v[3];
                    ns += v[4];
                }
                assert_int_equal(calls + lost, STEPS + 1);
                assert_int_equal(ns, now - 100);
            }
        }
        assert_in_range(c.number, 5000, 20000);
        end();
    }
}

/* ---- as a map in reports ---- */

static void assert_printed(ImageFormat format, const char *expected) {
    static const uint8_t kinds[] = {REPORT_MAP, REPORT_U32, REPORT_TUPLE, 4,
                                    REPORT_U32, REPORT_U32, REPORT_U64,   REPORT_U64};
    Image *img = image_new();
    uint32_t var = image_var(img, REPORT_MAP, (Str){(const char *)kinds, sizeof kinds}, STR("tree"),
                             STR("t"), STR("i32"), STR("script0"));
    Buf image = {0}, text = {0}, values = {0};
    image_script_row(img, var);
    image_script_row(img, var);
    buf_u64le(&values, 2);
    buf_u64le(&values, 1);
    assert_true(image_finish(img, &(ImageOptions){.format = format, .dest = REPORT_FILE}, &image));
    image_render(image.data, (uint32_t)image.len, values.data, &text);
    if (!strstr(buf_cstr(&text), expected))
        fail_msg("got:\n%s\nexpected:\n%s", buf_cstr(&text), expected);
    buf_free(&image);
    buf_free(&text);
    buf_free(&values);
    image_free(img);
}

/* The map that is named shows the tree, others what they have; again and again. */
static void test_printed(void **state) {
    (void)state;
    start();
    assert_printed(IMAGE_CSV, ", empty map\n1, map_id, tree, t, i32, script0, , , , , empty map\n");
    uint32_t main = tree_enter(9, 1000), f = tree_enter(4294967294, 1500);
    tree_store(2, 1500);
    assert_printed(IMAGE_CSV, ", 1->(0,9,1,500);2->(1,4294967294,1,0)\n1, map_id, tree, t, i32, "
                              "script0, , , , , empty map\n");
    tree_store(2, 12000000001500);
    assert_printed(IMAGE_JSON, "\"value\":[{\"key\":1,\"value\":[0,9,1,500]},{\"key\":2,\"value\":"
                               "[1,4294967294,1,12000000000000]}]}\n");
    tree_leave(f, 12000000001501);
    tree_leave(main, 12000000001502);
    tree_store(1, 12000000001600);
    assert_printed(IMAGE_CSV_RFC4180,
                   ",\"empty map\"\r\n1,map_id,tree,t,i32,script0,,,,,\"1->(0,9,1,"
                   "501);2->(1,4294967294,1,12000000000001)\"\r\n");
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_wide),      cmocka_unit_test(test_nothing_entered),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
