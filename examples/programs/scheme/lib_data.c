/*
 * lib_data.c - built-in functions on pairs, lists, vectors, tables and on all values.
 */
#include "vm.h"

#include <stdlib.h>

static Value wrong_type(Vm *vm, const char *what, Value v) {
    return vm_fail(vm, what, v, UNBOUND);
}

/* --- Any value --- */

#define PREDICATE(name, test)                                                                      \
    static Value name(Vm *vm, uint32_t argc, Value *args) {                                        \
        (void)vm, (void)argc;                                                                      \
        return from_bool(test);                                                                    \
    }
PREDICATE(builtin_is_eq, args[0] == args[1])
PREDICATE(builtin_is_eqv, values_eqv(args[0], args[1]))
PREDICATE(builtin_is_equal, values_equal(args[0], args[1]))
PREDICATE(builtin_not, args[0] == FALSE)
PREDICATE(builtin_is_null, args[0] == NIL)
PREDICATE(builtin_is_pair, is_pair(args[0]))
PREDICATE(builtin_is_list, list_length(args[0]) >= 0)
PREDICATE(builtin_is_symbol, is_symbol(args[0]))
PREDICATE(builtin_is_boolean, args[0] == TRUE || args[0] == FALSE)
PREDICATE(builtin_is_vector, is_type(args[0], TYPE_VECTOR))
PREDICATE(builtin_is_table, is_type(args[0], TYPE_TABLE))
PREDICATE(builtin_is_condition, is_type(args[0], TYPE_CONDITION))
PREDICATE(builtin_is_eof, args[0] == END_OF_FILE)
PREDICATE(builtin_is_procedure, is_type(args[0], TYPE_CLOSURE) || is_type(args[0], TYPE_BUILTIN) ||
                                    is_type(args[0], TYPE_CONTINUATION))

/* --- Pairs and lists --- */

static Value builtin_cons(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return cons(&vm->heap, args[0], args[1]);
}

/* Follows car (a) and cdr (d) from right to left, as in c[ad]+r. */
static Value follow(Vm *vm, Value v, const char *path) {
    Value start = v;
    for (size_t i = strlen(path); i-- > 0;) {
        if (!is_pair(v))
            return wrong_type(vm, "a pair expected:", start);
        v = path[i] == 'a' ? car(v) : cdr(v);
    }
    return v;
}

#define ACCESS(path)                                                                               \
    static Value builtin_c##path##r(Vm *vm, uint32_t argc, Value *args) {                          \
        (void)argc;                                                                                \
        return follow(vm, args[0], #path);                                                         \
    }
ACCESS(a)
ACCESS(d)
ACCESS(aa)
ACCESS(ad)
ACCESS(da)
ACCESS(dd)
ACCESS(add)
ACCESS(ddd)
ACCESS(addd)

static Value builtin_set_car(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_pair(args[0]))
        return wrong_type(vm, "set-car!: a pair expected:", args[0]);
    AS(Pair, args[0])->car = args[1];
    return UNSPECIFIED;
}

static Value builtin_set_cdr(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_pair(args[0]))
        return wrong_type(vm, "set-cdr!: a pair expected:", args[0]);
    AS(Pair, args[0])->cdr = args[1];
    return UNSPECIFIED;
}

static Value builtin_list(Vm *vm, uint32_t argc, Value *args) {
    Value list = NIL;
    while (argc-- > 0)
        list = cons(&vm->heap, args[argc], list);
    return list;
}

static Value builtin_length(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    int32_t len = list_length(args[0]);
    return len < 0 ? wrong_type(vm, "length: a list expected:", args[0]) : from_int(len);
}

static Value builtin_reverse(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    Value result = NIL, list = args[0];
    if (list_length(list) < 0)
        return wrong_type(vm, "reverse: a list expected:", list);
    for (; list != NIL; list = cdr(list))
        result = cons(&vm->heap, car(list), result);
    return result;
}

static Value append_two(Vm *vm, Value a, Value b) {
    if (list_length(a) < 0)
        return wrong_type(vm, "append: a list expected:", a);
    if (a == NIL)
        return b;
    Value first = cons(&vm->heap, car(a), NIL), last = first;
    for (a = cdr(a); a != NIL; a = cdr(a)) {
        Value pair = cons(&vm->heap, car(a), NIL);
        AS(Pair, last)->cdr = pair;
        last = pair;
    }
    AS(Pair, last)->cdr = b;
    return first;
}

static Value builtin_append(Vm *vm, uint32_t argc, Value *args) {
    Value result = argc ? args[argc - 1] : NIL;
    for (uint32_t i = argc ? argc - 1 : 0; i-- > 0 && result != FAILED;)
        result = append_two(vm, args[i], result);
    return result;
}

static Value builtin_list_tail(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    Value list = args[0];
    for (int32_t i = is_int(args[1]) ? as_int(args[1]) : -1; i != 0; i--) {
        if (i < 0 || !is_pair(list))
            return vm_fail(vm, "list-tail: the list is too short:", args[0], args[1]);
        list = cdr(list);
    }
    return list;
}

typedef bool Same(Value a, Value b);

static bool same(Value a, Value b) {
    return a == b;
}

static Value find_member(Value item, Value list, Same *is_same) {
    for (; is_pair(list); list = cdr(list))
        if (is_same(item, car(list)))
            return list;
    return FALSE;
}

static Value find_pair(Value key, Value list, Same *is_same) {
    for (; is_pair(list); list = cdr(list))
        if (is_pair(car(list)) && is_same(key, car(car(list))))
            return car(list);
    return FALSE;
}

#define SEARCH(name, find, is_same)                                                                \
    static Value name(Vm *vm, uint32_t argc, Value *args) {                                        \
        (void)vm, (void)argc;                                                                      \
        return find(args[0], args[1], is_same);                                                    \
    }
SEARCH(builtin_memq, find_member, same)
SEARCH(builtin_member, find_member, values_equal)
SEARCH(builtin_assq, find_pair, same)
SEARCH(builtin_assoc, find_pair, values_equal)

/* --- Vectors --- */

enum { MAX_VECTOR = 1 << 24 };

static Value builtin_make_vector(Vm *vm, uint32_t argc, Value *args) {
    if (!is_int(args[0]) || as_int(args[0]) < 0 || as_int(args[0]) > MAX_VECTOR)
        return wrong_type(vm, "make-vector: a size expected:", args[0]);
    return vector_new(&vm->heap, (uint32_t)as_int(args[0]), argc > 1 ? args[1] : from_int(0));
}

static Value builtin_vector(Vm *vm, uint32_t argc, Value *args) {
    Value v = vector_new(&vm->heap, argc, FALSE);
    if (argc)
        memcpy(AS(Vector, v)->at, args, argc * sizeof *args);
    return v;
}

/* The place of args[1] in the vector args[0], or NULL. */
static Value *element(Vm *vm, Value *args) {
    if (!is_type(args[0], TYPE_VECTOR))
        wrong_type(vm, "a vector expected:", args[0]);
    else if (!is_int(args[1]) || (uint32_t)as_int(args[1]) >= AS(Vector, args[0])->len)
        wrong_type(vm, "vector index out of range:", args[1]);
    else
        return &AS(Vector, args[0])->at[as_int(args[1])];
    return NULL;
}

static Value builtin_vector_ref(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    Value *place = element(vm, args);
    return place ? *place : FAILED;
}

static Value builtin_vector_set(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    Value *place = element(vm, args);
    if (!place)
        return FAILED;
    *place = args[2];
    return UNSPECIFIED;
}

static Value builtin_vector_length(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_type(args[0], TYPE_VECTOR))
        return wrong_type(vm, "vector-length: a vector expected:", args[0]);
    return from_int((int32_t)AS(Vector, args[0])->len);
}

static Value builtin_vector_fill(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_type(args[0], TYPE_VECTOR))
        return wrong_type(vm, "vector-fill!: a vector expected:", args[0]);
    for (uint32_t i = 0; i < AS(Vector, args[0])->len; i++)
        AS(Vector, args[0])->at[i] = args[1];
    return UNSPECIFIED;
}

static Value builtin_vector_to_list(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_type(args[0], TYPE_VECTOR))
        return wrong_type(vm, "vector->list: a vector expected:", args[0]);
    return builtin_list(vm, AS(Vector, args[0])->len, AS(Vector, args[0])->at);
}

static Value builtin_list_to_vector(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    int32_t len = list_length(args[0]);
    if (len < 0)
        return wrong_type(vm, "list->vector: a list expected:", args[0]);
    Value v = vector_new(&vm->heap, (uint32_t)len, FALSE), list = args[0];
    for (int32_t i = 0; i < len; i++, list = cdr(list))
        AS(Vector, v)->at[i] = car(list);
    return v;
}

/* --- Tables --- */

static bool check_table(Vm *vm, Value v) {
    if (!is_type(v, TYPE_TABLE))
        wrong_type(vm, "a table expected:", v);
    return is_type(v, TYPE_TABLE);
}

static Value builtin_make_table(Vm *vm, uint32_t argc, Value *args) {
    (void)argc, (void)args;
    return table_new(&vm->heap);
}

static Value builtin_table_ref(Vm *vm, uint32_t argc, Value *args) {
    if (!check_table(vm, args[0]))
        return FAILED;
    return table_get(AS(Table, args[0]), args[1], argc > 2 ? args[2] : FALSE);
}

static Value builtin_table_set(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!check_table(vm, args[0]))
        return FAILED;
    table_set(&vm->heap, AS(Table, args[0]), args[1], args[2]);
    return UNSPECIFIED;
}

static Value builtin_table_delete(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!check_table(vm, args[0]))
        return FAILED;
    table_delete(AS(Table, args[0]), args[1]);
    return UNSPECIFIED;
}

static Value builtin_table_count(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return check_table(vm, args[0]) ? from_int((int32_t)AS(Table, args[0])->count) : FAILED;
}

/* All entries as a list of pairs, in the order of the slots. */
static Value builtin_table_to_list(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!check_table(vm, args[0]))
        return FAILED;
    Vector *slots = AS(Vector, AS(Table, args[0])->slots);
    Value list = NIL;
    for (uint32_t i = slots->len; i > 0; i -= 2) {
        Value key = slots->at[i - 2];
        if (key != UNBOUND && key != FAILED)
            list = cons(&vm->heap, cons(&vm->heap, key, slots->at[i - 1]), list);
    }
    return list;
}

const BuiltinRow data_builtins[] = {
    {"eq?", builtin_is_eq, 2, 2},
    {"eqv?", builtin_is_eqv, 2, 2},
    {"equal?", builtin_is_equal, 2, 2},
    {"not", builtin_not, 1, 1},
    {"null?", builtin_is_null, 1, 1},
    {"pair?", builtin_is_pair, 1, 1},
    {"list?", builtin_is_list, 1, 1},
    {"symbol?", builtin_is_symbol, 1, 1},
    {"boolean?", builtin_is_boolean, 1, 1},
    {"vector?", builtin_is_vector, 1, 1},
    {"table?", builtin_is_table, 1, 1},
    {"condition?", builtin_is_condition, 1, 1},
    {"eof-object?", builtin_is_eof, 1, 1},
    {"procedure?", builtin_is_procedure, 1, 1},
    {"cons", builtin_cons, 2, 2},
    {"car", builtin_car, 1, 1},
    {"cdr", builtin_cdr, 1, 1},
    {"caar", builtin_caar, 1, 1},
    {"cadr", builtin_cadr, 1, 1},
    {"cdar", builtin_cdar, 1, 1},
    {"cddr", builtin_cddr, 1, 1},
    {"caddr", builtin_caddr, 1, 1},
    {"cdddr", builtin_cdddr, 1, 1},
    {"cadddr", builtin_cadddr, 1, 1},
    {"set-car!", builtin_set_car, 2, 2},
    {"set-cdr!", builtin_set_cdr, 2, 2},
    {"list", builtin_list, 0, MANY},
    {"length", builtin_length, 1, 1},
    {"reverse", builtin_reverse, 1, 1},
    {"append", builtin_append, 0, MANY},
    {"list-tail", builtin_list_tail, 2, 2},
    {"memq", builtin_memq, 2, 2},
    {"member", builtin_member, 2, 2},
    {"assq", builtin_assq, 2, 2},
    {"assoc", builtin_assoc, 2, 2},
    {"make-vector", builtin_make_vector, 1, 2},
    {"vector", builtin_vector, 0, MANY},
    {"vector-ref", builtin_vector_ref, 2, 2},
    {"vector-set!", builtin_vector_set, 3, 3},
    {"vector-length", builtin_vector_length, 1, 1},
    {"vector-fill!", builtin_vector_fill, 2, 2},
    {"vector->list", builtin_vector_to_list, 1, 1},
    {"list->vector", builtin_list_to_vector, 1, 1},
    {"make-table", builtin_make_table, 0, 0},
    {"table-ref", builtin_table_ref, 2, 3},
    {"table-set!", builtin_table_set, 3, 3},
    {"table-delete!", builtin_table_delete, 2, 2},
    {"table-count", builtin_table_count, 1, 1},
    {"table->list", builtin_table_to_list, 1, 1},
    {NULL, NULL, 0, 0},
};
