/*
 * value.h - what a Scheme value is.
 *
 * A value is 64 bits: a double as it is, or one of the tags below in the upper 16 bits, which no
 * double has after arithmetic. Integers have 32 bits; results that do not fit become doubles.
 */
#ifndef SCHEME_VALUE_H
#define SCHEME_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t Value;

#define TAG_INT              0xfff9u
#define TAG_OBJECT           0xfffau
#define TAG_CHAR             0xfffbu
#define TAG_CONSTANT         0xfffcu
#define TAGGED(tag, payload) ((Value)(tag) << 48 | (payload))

#define FALSE       TAGGED(TAG_CONSTANT, 0)
#define TRUE        TAGGED(TAG_CONSTANT, 1)
#define NIL         TAGGED(TAG_CONSTANT, 2)
#define UNSPECIFIED TAGGED(TAG_CONSTANT, 3)
#define END_OF_FILE TAGGED(TAG_CONSTANT, 4)
#define UNBOUND     TAGGED(TAG_CONSTANT, 5) /* the value of a variable before its definition */
/* Never seen by programs: results of built-in functions. */
#define FAILED    TAGGED(TAG_CONSTANT, 6) /* the message is in Vm.error */
#define CALL_NEXT TAGGED(TAG_CONSTANT, 7) /* go on with the call in Vm.next */
#define RESUMED   TAGGED(TAG_CONSTANT, 8) /* the stack has been replaced */

typedef enum Type {
    TYPE_PAIR,
    TYPE_SYMBOL,
    TYPE_STRING,
    TYPE_VECTOR,
    TYPE_TABLE,
    TYPE_BOX,
    TYPE_CODE,
    TYPE_CLOSURE,
    TYPE_BUILTIN,
    TYPE_CONTINUATION,
    TYPE_MACRO,
    TYPE_CONDITION,
    TYPE_COUNT
} Type;

/* The head of everything on the heap. */
typedef struct Object {
    uint8_t type; /* Type; FREE_CELL in the heap's free cells */
    uint8_t marked;
    uint8_t size_class; /* LARGE_CLASS: allocated by itself */
    uint8_t flags;
    uint32_t size; /* of a large object, in bytes */
} Object;

typedef struct Pair {
    Object head;
    Value car, cdr;
} Pair;

enum { SYMBOL_INLINED = 1 }; /* flag: the compiler has put the global's function into code */

typedef struct Symbol {
    Object head;
    Value global; /* the variable of that name at top level */
    Value macro;  /* the Macro of that name, or FALSE */
    uint32_t hash, len;
    char name[];
} Symbol;

typedef struct String {
    Object head;
    uint32_t len, pad;
    char bytes[]; /* with a NUL behind them */
} String;

typedef struct Vector {
    Object head;
    uint32_t len, pad;
    Value at[];
} Vector;

/* A hash table with open addressing; keys are compared with equal?. */
typedef struct Table {
    Object head;
    uint32_t count, used; /* used also counts deleted slots */
    Value slots; /* a Vector of key, value, key, value ...; UNBOUND: empty, FAILED: deleted */
} Table;

typedef struct Box {
    Object head;
    Value value;
} Box;

/* A compiled lambda. */
typedef struct Code {
    Object head;
    Value name;      /* a symbol or FALSE */
    Value constants; /* a Vector */
    uint32_t len;
    uint16_t required, locals; /* parameters; the most stack that it uses */
    bool rest;                 /* further arguments are a list in one more parameter */
    uint8_t bytes[];
} Code;

typedef struct Closure {
    Object head;
    Code *code;
    uint32_t len;
    Value free[];
} Closure;

struct Vm;
typedef Value BuiltinFunction(struct Vm *vm, uint32_t argc, Value *args);

typedef struct Builtin {
    Object head;
    const char *name;
    BuiltinFunction *call;
    uint16_t min, max; /* number of arguments; MANY: no upper bound */
} Builtin;
#define MANY 0xffff

typedef struct Macro {
    Object head;
    Value ellipsis_literals; /* list of literal symbols */
    Value rules;             /* list of (pattern . template) */
} Macro;

/* What `raise` and failing functions give to a handler. */
typedef struct Condition {
    Object head;
    Value message;   /* a string */
    Value irritants; /* a list */
} Condition;

static inline uint32_t tag_of(Value v) {
    return (uint32_t)(v >> 48);
}
static inline bool is_double(Value v) {
    return tag_of(v) < TAG_INT;
}
static inline bool is_int(Value v) {
    return tag_of(v) == TAG_INT;
}
static inline bool is_number(Value v) {
    return tag_of(v) <= TAG_INT;
}
static inline bool is_char(Value v) {
    return tag_of(v) == TAG_CHAR;
}
static inline bool is_object(Value v) {
    return tag_of(v) == TAG_OBJECT;
}
static inline Object *as_object(Value v) {
    return (Object *)(uintptr_t)(v & 0xffffffffffffu);
}
static inline bool is_type(Value v, Type type) {
    return is_object(v) && as_object(v)->type == type;
}
static inline bool is_pair(Value v) {
    return is_type(v, TYPE_PAIR);
}
static inline bool is_symbol(Value v) {
    return is_type(v, TYPE_SYMBOL);
}
static inline bool is_string(Value v) {
    return is_type(v, TYPE_STRING);
}
static inline bool is_true(Value v) {
    return v != FALSE;
}

static inline Value from_bool(bool b) {
    return b ? TRUE : FALSE;
}
static inline Value from_int(int32_t i) {
    return TAGGED(TAG_INT, (uint32_t)i);
}
static inline Value from_char(uint32_t c) {
    return TAGGED(TAG_CHAR, c);
}
static inline Value from_double(double d) {
    Value v;
    memcpy(&v, &d, sizeof v);
    return d != d ? 0x7ff8000000000000u : v; /* one NaN only, or its bits could look like a tag */
}
/* An integer as int or, if it is too large, as double. */
static inline Value from_int64(int64_t i) {
    return i == (int32_t)i ? from_int((int32_t)i) : from_double((double)i);
}
static inline Value from_object(const void *p) {
    return TAGGED(TAG_OBJECT, (uint64_t)(uintptr_t)p);
}
static inline int32_t as_int(Value v) {
    return (int32_t)(uint32_t)v;
}
static inline uint32_t as_char(Value v) {
    return (uint32_t)v;
}
static inline double as_double(Value v) {
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}
static inline double to_double(Value number) {
    return is_int(number) ? (double)as_int(number) : as_double(number);
}

#define AS(T, v) ((T *)(void *)as_object(v))
static inline Value car(Value pair) {
    return AS(Pair, pair)->car;
}
static inline Value cdr(Value pair) {
    return AS(Pair, pair)->cdr;
}
static inline Value cadr(Value pair) {
    return car(cdr(pair));
}
static inline Value cddr(Value pair) {
    return cdr(cdr(pair));
}

/* The length of a proper list, or -1. */
int32_t list_length(Value list);

bool values_eqv(Value a, Value b);
/* Structural equality; false below a depth that no sane program reaches. */
bool values_equal(Value a, Value b);
uint32_t value_hash(Value v); /* equal values have equal hashes */

#endif
