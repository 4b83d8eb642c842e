/*
 * json.c - a parser of JSON with a bug, for fuzz.mjs: it takes for granted that the first half of a
 * surrogate pair, such as \ud83d, is followed by the second.
 *
 *     clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o json.wasm json.c
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { MAX_INPUT = 256, MAX_DEPTH = 20 };

static uint8_t text[MAX_INPUT + 1]; /* with a 0 at its end */
static uint32_t at;

static int value(int depth);

static int skip(uint8_t c) {
    if (text[at] != c)
        return 0;
    at++;
    return 1;
}

static void blanks(void) {
    while (skip(' ') || skip('\n') || skip('\t') || skip('\r')) {
    }
}

static int word(const char *s) {
    for (; *s; s++)
        if (!skip((uint8_t)*s))
            return 0;
    return 1;
}

static int digits(void) {
    uint32_t first = at;
    while (text[at] >= '0' && text[at] <= '9')
        at++;
    return at > first;
}

static int number(void) {
    skip('-');
    if (!digits() || (skip('.') && !digits()))
        return 0;
    if (!skip('e') && !skip('E'))
        return 1;
    if (!skip('-'))
        skip('+');
    return digits();
}

/* Four hexadecimal digits; -1 if they are not there. */
static int32_t hex(void) {
    int32_t n = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = text[at];
        if (c >= '0' && c <= '9')
            n = n * 16 + (c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            n = n * 16 + ((c | 32) - 'a' + 10);
        else
            return -1;
        at++;
    }
    return n;
}

static int escape(void) {
    if (skip('"') || skip('\\') || skip('/') || skip('b') || skip('f') || skip('n') || skip('r') ||
        skip('t'))
        return 1;
    if (!skip('u'))
        return 0;
    int32_t n = hex();
    if (n < 0xd800 || n > 0xdbff)
        return n >= 0;
    if (!skip('\\') || !skip('u') || (hex() & 0xfc00) != 0xdc00)
        __builtin_trap(); /* the bug: an assertion instead of a message */
    return 1;
}

static int string(void) {
    if (!skip('"'))
        return 0;
    while (!skip('"')) {
        if (skip('\\')) {
            if (!escape())
                return 0;
        } else if (text[at++] < ' ') {
            return 0;
        }
    }
    return 1;
}

static int list(uint8_t end, int depth, int named) {
    blanks();
    if (skip(end))
        return 1;
    do {
        blanks();
        if (named && !string())
            return 0;
        blanks();
        if ((named && !skip(':')) || !value(depth + 1))
            return 0;
        blanks();
    } while (skip(','));
    return skip(end);
}

static int value(int depth) {
    blanks();
    if (depth > MAX_DEPTH)
        return 0;
    if (skip('{'))
        return list('}', depth, 1);
    if (skip('['))
        return list(']', depth, 0);
    switch (text[at]) {
    case '"': return string();
    case 't': return word("true");
    case 'f': return word("false");
    case 'n': return word("null");
    default: return number();
    }
}

/* Where to put the input. */
EXPORT("input") uint8_t *input(void) {
    return text;
}

/* Whether the first `n` bytes of the input are JSON. */
EXPORT("run") int run(uint32_t n) {
    text[n < MAX_INPUT ? n : MAX_INPUT] = 0;
    at = 0;
    int good = value(0);
    blanks();
    return good && at == n;
}
