/*
 * lib_string.c - built-in functions on strings, characters and symbols, and input and output.
 *
 * Strings are bytes; string-ref gives single bytes as characters.
 */
#include "vm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static Value wrong_type(Vm *vm, const char *what, Value v) {
    return vm_fail(vm, what, v, UNBOUND);
}

static Value text_to_string(Vm *vm, Text *t) {
    Value s = string_new(&vm->heap, t->bytes, t->len);
    free(t->bytes);
    return s;
}

/* --- Strings --- */

static Value builtin_is_string(Vm *vm, uint32_t argc, Value *args) {
    (void)vm, (void)argc;
    return from_bool(is_string(args[0]));
}

static Value builtin_string_length(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_string(args[0]))
        return wrong_type(vm, "string-length: a string expected:", args[0]);
    return from_int((int32_t)AS(String, args[0])->len);
}

static Value builtin_string_ref(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_string(args[0]))
        return wrong_type(vm, "string-ref: a string expected:", args[0]);
    if (!is_int(args[1]) || (uint32_t)as_int(args[1]) >= AS(String, args[0])->len)
        return wrong_type(vm, "string-ref: index out of range:", args[1]);
    return from_char((unsigned char)AS(String, args[0])->bytes[as_int(args[1])]);
}

static Value builtin_substring(Vm *vm, uint32_t argc, Value *args) {
    if (!is_string(args[0]))
        return wrong_type(vm, "substring: a string expected:", args[0]);
    int32_t len = (int32_t)AS(String, args[0])->len;
    int32_t start = is_int(args[1]) ? as_int(args[1]) : -1;
    int32_t end = argc < 3 ? len : is_int(args[2]) ? as_int(args[2]) : -1;
    if (start < 0 || end < start || end > len)
        return wrong_type(vm, "substring: range outside of the string:", args[0]);
    Value result = string_new(&vm->heap, NULL, (size_t)(end - start));
    memcpy(AS(String, result)->bytes, AS(String, args[0])->bytes + start, (size_t)(end - start));
    return result;
}

static Value builtin_string_append(Vm *vm, uint32_t argc, Value *args) {
    Text t = {0};
    for (uint32_t i = 0; i < argc; i++) {
        if (!is_string(args[i])) {
            free(t.bytes);
            return wrong_type(vm, "string-append: a string expected:", args[i]);
        }
        text_add(&t, AS(String, args[i])->bytes, AS(String, args[i])->len);
    }
    return text_to_string(vm, &t);
}

static int compare_strings(const String *a, const String *b) {
    int order = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static bool check_strings(Vm *vm, Value *args) {
    for (int i = 0; i < 2; i++)
        if (!is_string(args[i])) {
            wrong_type(vm, "a string expected:", args[i]);
            return false;
        }
    return true;
}

static Value builtin_string_equal(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return check_strings(vm, args)
               ? from_bool(compare_strings(AS(String, args[0]), AS(String, args[1])) == 0)
               : FAILED;
}

static Value builtin_string_less(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return check_strings(vm, args)
               ? from_bool(compare_strings(AS(String, args[0]), AS(String, args[1])) < 0)
               : FAILED;
}

static Value builtin_string_to_list(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_string(args[0]))
        return wrong_type(vm, "string->list: a string expected:", args[0]);
    Value list = NIL;
    for (uint32_t i = AS(String, args[0])->len; i-- > 0;)
        list = cons(&vm->heap, from_char((unsigned char)AS(String, args[0])->bytes[i]), list);
    return list;
}

static Value builtin_list_to_string(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    Text t = {0};
    for (Value v = args[0]; is_pair(v); v = cdr(v)) {
        if (!is_char(car(v))) {
            free(t.bytes);
            return wrong_type(vm, "list->string: a character expected:", car(v));
        }
        char c = (char)as_char(car(v));
        text_add(&t, &c, 1);
    }
    return text_to_string(vm, &t);
}

/* The place of the second string in the first, or #f. */
static Value builtin_string_search(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!check_strings(vm, args))
        return FAILED;
    String *text = AS(String, args[0]), *what = AS(String, args[1]);
    for (uint32_t i = 0; what->len <= text->len && i <= text->len - what->len; i++)
        if (memcmp(text->bytes + i, what->bytes, what->len) == 0)
            return from_int((int32_t)i);
    return FALSE;
}

/* --- Conversions --- */

static Value builtin_number_to_string(Vm *vm, uint32_t argc, Value *args) {
    if (!is_number(args[0]))
        return wrong_type(vm, "number->string: a number expected:", args[0]);
    int radix = argc > 1 && is_int(args[1]) ? as_int(args[1]) : 10;
    if (radix < 2 || radix > 36)
        return wrong_type(vm, "number->string: radix out of range:", args[1]);
    Text t = {0};
    print_number(&t, args[0], radix);
    return text_to_string(vm, &t);
}

static Value builtin_string_to_number(Vm *vm, uint32_t argc, Value *args) {
    if (!is_string(args[0]))
        return wrong_type(vm, "string->number: a string expected:", args[0]);
    int radix = argc > 1 && is_int(args[1]) ? as_int(args[1]) : 10;
    return parse_number(AS(String, args[0])->bytes, AS(String, args[0])->len, radix);
}

static Value builtin_symbol_to_string(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_symbol(args[0]))
        return wrong_type(vm, "symbol->string: a symbol expected:", args[0]);
    return string_new(&vm->heap, AS(Symbol, args[0])->name, AS(Symbol, args[0])->len);
}

static Value builtin_string_to_symbol(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_string(args[0]))
        return wrong_type(vm, "string->symbol: a string expected:", args[0]);
    return intern(&vm->heap, AS(String, args[0])->bytes, AS(String, args[0])->len);
}

/* A value as program text. */
static Value builtin_to_text(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    Text t = {0};
    print_value(&t, args[0], true);
    return text_to_string(vm, &t);
}

/* The first datum in a string. */
static Value builtin_from_text(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_string(args[0]))
        return wrong_type(vm, "from-text: a string expected:", args[0]);
    Reader r;
    reader_init(&r, &vm->heap, AS(String, args[0])->bytes, AS(String, args[0])->len);
    Value v = read_datum(&r);
    return v == FAILED ? vm_fail(vm, r.error, args[0], UNBOUND) : v;
}

/* --- Characters --- */

static Value builtin_is_char(Vm *vm, uint32_t argc, Value *args) {
    (void)vm, (void)argc;
    return from_bool(is_char(args[0]));
}

static Value builtin_char_to_integer(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return is_char(args[0]) ? from_int((int32_t)as_char(args[0]))
                            : wrong_type(vm, "char->integer: a character expected:", args[0]);
}

static Value builtin_integer_to_char(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    return is_int(args[0]) && as_int(args[0]) >= 0 && as_int(args[0]) <= 0x10ffff
               ? from_char((uint32_t)as_int(args[0]))
               : wrong_type(vm, "integer->char: a code point expected:", args[0]);
}

static Value classify(Vm *vm, Value v, int (*is_class)(int)) {
    if (!is_char(v))
        return wrong_type(vm, "a character expected:", v);
    return from_bool(as_char(v) < 128 && is_class((int)as_char(v)));
}

#define CLASS(name, function)                                                                      \
    static Value name(Vm *vm, uint32_t argc, Value *args) {                                        \
        (void)argc;                                                                                \
        return classify(vm, args[0], function);                                                    \
    }
CLASS(builtin_is_alphabetic, isalpha)
CLASS(builtin_is_numeric, isdigit)
CLASS(builtin_is_whitespace, isspace)

static Value builtin_char_upcase(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_char(args[0]))
        return wrong_type(vm, "char-upcase: a character expected:", args[0]);
    return as_char(args[0]) < 128 ? from_char((uint32_t)toupper((int)as_char(args[0]))) : args[0];
}

/* --- Input and output --- */

static Value print(Value v, bool quoted) {
    Text t = {0};
    print_value(&t, v, quoted);
    fwrite(t.bytes, 1, t.len, stdout);
    free(t.bytes);
    return UNSPECIFIED;
}

static Value builtin_display(Vm *vm, uint32_t argc, Value *args) {
    (void)vm;
    for (uint32_t i = 0; i < argc; i++)
        print(args[i], false);
    return UNSPECIFIED;
}

static Value builtin_write(Vm *vm, uint32_t argc, Value *args) {
    (void)vm, (void)argc;
    return print(args[0], true);
}

static Value builtin_newline(Vm *vm, uint32_t argc, Value *args) {
    (void)vm, (void)argc, (void)args;
    putchar('\n');
    return UNSPECIFIED;
}

static Value builtin_read_line(Vm *vm, uint32_t argc, Value *args) {
    (void)argc, (void)args;
    Text t = {0};
    int c = getchar();
    if (c == EOF)
        return END_OF_FILE;
    for (; c != EOF && c != '\n'; c = getchar()) {
        char byte = (char)c;
        text_add(&t, &byte, 1);
    }
    return text_to_string(vm, &t);
}

const BuiltinRow string_builtins[] = {
    {"string?", builtin_is_string, 1, 1},
    {"string-length", builtin_string_length, 1, 1},
    {"string-ref", builtin_string_ref, 2, 2},
    {"substring", builtin_substring, 2, 3},
    {"string-append", builtin_string_append, 0, MANY},
    {"string=?", builtin_string_equal, 2, 2},
    {"string<?", builtin_string_less, 2, 2},
    {"string->list", builtin_string_to_list, 1, 1},
    {"list->string", builtin_list_to_string, 1, 1},
    {"string-search", builtin_string_search, 2, 2},
    {"number->string", builtin_number_to_string, 1, 2},
    {"string->number", builtin_string_to_number, 1, 2},
    {"symbol->string", builtin_symbol_to_string, 1, 1},
    {"string->symbol", builtin_string_to_symbol, 1, 1},
    {"to-text", builtin_to_text, 1, 1},
    {"from-text", builtin_from_text, 1, 1},
    {"char?", builtin_is_char, 1, 1},
    {"char->integer", builtin_char_to_integer, 1, 1},
    {"integer->char", builtin_integer_to_char, 1, 1},
    {"char-alphabetic?", builtin_is_alphabetic, 1, 1},
    {"char-numeric?", builtin_is_numeric, 1, 1},
    {"char-whitespace?", builtin_is_whitespace, 1, 1},
    {"char-upcase", builtin_char_upcase, 1, 1},
    {"display", builtin_display, 0, MANY},
    {"write", builtin_write, 1, 1},
    {"newline", builtin_newline, 0, 0},
    {"read-line", builtin_read_line, 0, 0},
    {NULL, NULL, 0, 0},
};
