/*
 * lib_number.c - built-in functions on numbers. Integers that leave 32 bits become doubles.
 */
#include "vm.h"

#include <math.h>
#include <stdlib.h>

static Value not_number(Vm *vm, Value a, Value b) {
    return vm_fail(vm, "a number expected:", is_number(a) ? b : a, UNBOUND);
}

/* A double as integer if it is one and fits. */
static Value normal(double d) {
    return d == (double)(int32_t)d && !(d == 0 && signbit(d)) ? from_int((int32_t)d)
                                                              : from_double(d);
}

Value number_add(Vm *vm, Value a, Value b) {
    if (is_int(a) && is_int(b))
        return from_int64((int64_t)as_int(a) + as_int(b));
    return is_number(a) && is_number(b) ? from_double(to_double(a) + to_double(b))
                                        : not_number(vm, a, b);
}

Value number_subtract(Vm *vm, Value a, Value b) {
    if (is_int(a) && is_int(b))
        return from_int64((int64_t)as_int(a) - as_int(b));
    return is_number(a) && is_number(b) ? from_double(to_double(a) - to_double(b))
                                        : not_number(vm, a, b);
}

Value number_multiply(Vm *vm, Value a, Value b) {
    if (is_int(a) && is_int(b))
        return from_int64((int64_t)as_int(a) * as_int(b));
    return is_number(a) && is_number(b) ? from_double(to_double(a) * to_double(b))
                                        : not_number(vm, a, b);
}

static Value number_divide(Vm *vm, Value a, Value b) {
    if (!is_number(a) || !is_number(b))
        return not_number(vm, a, b);
    if (is_int(b) && as_int(b) == 0)
        return vm_fail(vm, "division by zero", UNBOUND, UNBOUND);
    double quotient = to_double(a) / to_double(b);
    return is_int(a) && is_int(b) ? normal(quotient) : from_double(quotient);
}

static Value builtin_add(Vm *vm, uint32_t argc, Value *args) {
    Value sum = from_int(0);
    for (uint32_t i = 0; i < argc && sum != FAILED; i++)
        sum = number_add(vm, sum, args[i]);
    return sum;
}

static Value builtin_multiply(Vm *vm, uint32_t argc, Value *args) {
    Value product = from_int(1);
    for (uint32_t i = 0; i < argc && product != FAILED; i++)
        product = number_multiply(vm, product, args[i]);
    return product;
}

static Value builtin_subtract(Vm *vm, uint32_t argc, Value *args) {
    if (argc == 1)
        return number_subtract(vm, from_int(0), args[0]);
    Value rest = args[0];
    for (uint32_t i = 1; i < argc && rest != FAILED; i++)
        rest = number_subtract(vm, rest, args[i]);
    return rest;
}

static Value builtin_divide(Vm *vm, uint32_t argc, Value *args) {
    if (argc == 1)
        return number_divide(vm, from_int(1), args[0]);
    Value rest = args[0];
    for (uint32_t i = 1; i < argc && rest != FAILED; i++)
        rest = number_divide(vm, rest, args[i]);
    return rest;
}

typedef bool Comparison(double a, double b);

static Value compare_all(Vm *vm, uint32_t argc, Value *args, Comparison *compare) {
    bool all = true;
    for (uint32_t i = 0; i < argc; i++)
        if (!is_number(args[i]))
            return not_number(vm, args[i], args[i]);
    for (uint32_t i = 1; i < argc; i++)
        all = all && compare(to_double(args[i - 1]), to_double(args[i]));
    return from_bool(all);
}

static bool equal(double a, double b) {
    return a == b;
}
static bool less(double a, double b) {
    return a < b;
}
static bool greater(double a, double b) {
    return a > b;
}
static bool not_greater(double a, double b) {
    return a <= b;
}
static bool not_less(double a, double b) {
    return a >= b;
}

static Value builtin_equal(Vm *vm, uint32_t argc, Value *args) {
    return compare_all(vm, argc, args, equal);
}
static Value builtin_less(Vm *vm, uint32_t argc, Value *args) {
    return compare_all(vm, argc, args, less);
}
static Value builtin_greater(Vm *vm, uint32_t argc, Value *args) {
    return compare_all(vm, argc, args, greater);
}
static Value builtin_not_greater(Vm *vm, uint32_t argc, Value *args) {
    return compare_all(vm, argc, args, not_greater);
}
static Value builtin_not_less(Vm *vm, uint32_t argc, Value *args) {
    return compare_all(vm, argc, args, not_less);
}

typedef enum Division { QUOTIENT, REMAINDER, MODULO } Division;

static int64_t divide_integers(int64_t a, int64_t b, Division what) {
    int64_t quotient = a / b, remainder = a % b;
    if (what == QUOTIENT)
        return quotient;
    return what == MODULO && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b
                                                                          : remainder;
}

static double divide_doubles(double a, double b, Division what) {
    if (what == QUOTIENT)
        return trunc(a / b);
    double remainder = fmod(a, b);
    return what == MODULO && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b
                                                                          : remainder;
}

static Value divide_whole(Vm *vm, Value *args, Division what) {
    Value a = args[0], b = args[1];
    if (!is_number(a) || !is_number(b))
        return not_number(vm, a, b);
    if (to_double(b) == 0)
        return vm_fail(vm, "division by zero", UNBOUND, UNBOUND);
    if (is_int(a) && is_int(b))
        return from_int64(divide_integers(as_int(a), as_int(b), what));
    return normal(divide_doubles(to_double(a), to_double(b), what));
}

static Value builtin_quotient(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return divide_whole(vm, args, QUOTIENT);
}
static Value builtin_remainder(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return divide_whole(vm, args, REMAINDER);
}
static Value builtin_modulo(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return divide_whole(vm, args, MODULO);
}

static Value extreme(Vm *vm, uint32_t argc, Value *args, bool largest) {
    Value best = args[0];
    for (uint32_t i = 0; i < argc; i++) {
        if (!is_number(args[i]))
            return not_number(vm, args[i], args[i]);
        if (largest ? to_double(args[i]) > to_double(best) : to_double(args[i]) < to_double(best))
            best = args[i];
    }
    return best;
}

static Value builtin_max(Vm *vm, uint32_t argc, Value *args) {
    return extreme(vm, argc, args, true);
}
static Value builtin_min(Vm *vm, uint32_t argc, Value *args) {
    return extreme(vm, argc, args, false);
}

static Value apply_function(Vm *vm, Value v, double (*function)(double)) {
    return is_number(v) ? normal(function(to_double(v))) : not_number(vm, v, v);
}

#define UNARY(name, function)                                                                      \
    static Value name(Vm *vm, uint32_t argc, Value *args) {                                        \
        (void)argc;                                                                                \
        return apply_function(vm, args[0], function);                                              \
    }
UNARY(builtin_floor, floor)
UNARY(builtin_ceiling, ceil)
UNARY(builtin_truncate, trunc)
UNARY(builtin_round, rint)
UNARY(builtin_sqrt, sqrt)
UNARY(builtin_abs, fabs)

/* These need not give integers. */
#define UNARY_REAL(name, function)                                                                 \
    static Value name(Vm *vm, uint32_t argc, Value *args) {                                        \
        (void)argc;                                                                                \
        return is_number(args[0]) ? from_double(function(to_double(args[0])))                      \
                                  : not_number(vm, args[0], args[0]);                              \
    }
UNARY_REAL(builtin_sin, sin)
UNARY_REAL(builtin_cos, cos)
UNARY_REAL(builtin_exp, exp)
UNARY_REAL(builtin_log, log)
UNARY_REAL(builtin_inexact, (double))

static Value builtin_is_number(Vm *vm, uint32_t argc, Value *args) {
    (void)vm, (void)argc;
    return from_bool(is_number(args[0]));
}

static Value builtin_is_integer(Vm *vm, uint32_t argc, Value *args) {
    (void)vm, (void)argc;
    return from_bool(is_number(args[0]) && floor(to_double(args[0])) == to_double(args[0]));
}

static Value builtin_is_zero(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return is_number(args[0]) ? from_bool(to_double(args[0]) == 0)
                              : not_number(vm, args[0], args[0]);
}

static bool as_ints(Vm *vm, Value *args) {
    if (is_int(args[0]) && is_int(args[1]))
        return true;
    vm_fail(vm, "an integer expected:", is_int(args[0]) ? args[1] : args[0], UNBOUND);
    return false;
}

static Value builtin_bitwise_and(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return as_ints(vm, args) ? from_int(as_int(args[0]) & as_int(args[1])) : FAILED;
}

static Value builtin_bitwise_or(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return as_ints(vm, args) ? from_int(as_int(args[0]) | as_int(args[1])) : FAILED;
}

static Value builtin_bitwise_xor(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return as_ints(vm, args) ? from_int(as_int(args[0]) ^ as_int(args[1])) : FAILED;
}

/* To the left, or to the right for a negative count. */
static Value builtin_shift(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!as_ints(vm, args))
        return FAILED;
    int32_t count = as_int(args[1]);
    if (count < -31 || count > 31)
        return from_int(count < 0 && as_int(args[0]) < 0 ? -1 : 0);
    return count < 0 ? from_int(as_int(args[0]) >> -count)
                     : from_int64((int64_t)as_int(args[0]) * ((int64_t)1 << count));
}

const BuiltinRow number_builtins[] = {
    {"+", builtin_add, 0, MANY},
    {"-", builtin_subtract, 1, MANY},
    {"*", builtin_multiply, 0, MANY},
    {"/", builtin_divide, 1, MANY},
    {"=", builtin_equal, 1, MANY},
    {"<", builtin_less, 1, MANY},
    {">", builtin_greater, 1, MANY},
    {"<=", builtin_not_greater, 1, MANY},
    {">=", builtin_not_less, 1, MANY},
    {"quotient", builtin_quotient, 2, 2},
    {"remainder", builtin_remainder, 2, 2},
    {"modulo", builtin_modulo, 2, 2},
    {"max", builtin_max, 1, MANY},
    {"min", builtin_min, 1, MANY},
    {"floor", builtin_floor, 1, 1},
    {"ceiling", builtin_ceiling, 1, 1},
    {"truncate", builtin_truncate, 1, 1},
    {"round", builtin_round, 1, 1},
    {"sqrt", builtin_sqrt, 1, 1},
    {"abs", builtin_abs, 1, 1},
    {"sin", builtin_sin, 1, 1},
    {"cos", builtin_cos, 1, 1},
    {"exp", builtin_exp, 1, 1},
    {"log", builtin_log, 1, 1},
    {"inexact", builtin_inexact, 1, 1},
    {"number?", builtin_is_number, 1, 1},
    {"integer?", builtin_is_integer, 1, 1},
    {"zero?", builtin_is_zero, 1, 1},
    {"bitwise-and", builtin_bitwise_and, 2, 2},
    {"bitwise-or", builtin_bitwise_or, 2, 2},
    {"bitwise-xor", builtin_bitwise_xor, 2, 2},
    {"arithmetic-shift", builtin_shift, 2, 2},
    {NULL, NULL, 0, 0},
};
