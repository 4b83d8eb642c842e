/*
 * text.c - text to values and values to text.
 */
#include "text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 1000 };

void text_add(Text *t, const char *bytes, size_t len) {
    if (t->cap - t->len < len) {
        t->cap = (t->len + len) * 2 + 32;
        t->bytes = realloc(t->bytes, t->cap);
        if (!t->bytes) {
            fprintf(stderr, "scheme: out of memory\n");
            exit(70);
        }
    }
    if (len)
        memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

void text_add_string(Text *t, const char *s) {
    text_add(t, s, strlen(s));
}

void text_add_char(Text *t, uint32_t c) {
    char bytes[4];
    size_t len = 0;
    if (c < 0x80) {
        bytes[len++] = (char)c;
    } else if (c < 0x800) {
        bytes[len++] = (char)(0xc0 | c >> 6);
        bytes[len++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        bytes[len++] = (char)(0xe0 | c >> 12);
        bytes[len++] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[len++] = (char)(0x80 | (c & 0x3f));
    } else {
        bytes[len++] = (char)(0xf0 | (c >> 18 & 7));
        bytes[len++] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[len++] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[len++] = (char)(0x80 | (c & 0x3f));
    }
    text_add(t, bytes, len);
}

/* --- The reader --- */

static const struct {
    const char *name;
    uint32_t code;
} char_names[] = {{"space", ' '}, {"newline", '\n'}, {"tab", '\t'},
                  {"nul", 0},     {"return", '\r'},  {"delete", 127}};

enum { CHAR_NAMES = sizeof char_names / sizeof *char_names };

void reader_init(Reader *r, Heap *h, const char *text, size_t len) {
    *r = (Reader){.heap = h, .at = text, .end = text + len, .line = 1};
}

static Value fail(Reader *r, const char *what) {
    snprintf(r->error, sizeof r->error, "line %u: %s", (unsigned)r->line, what);
    return FAILED;
}

static int peek(const Reader *r) {
    return r->at < r->end ? (unsigned char)*r->at : -1;
}

static bool skip_block_comment(Reader *r) {
    int depth = 0;
    do {
        if (r->end - r->at < 2)
            return false;
        if (r->at[0] == '#' && r->at[1] == '|') {
            depth++;
            r->at += 2;
        } else if (r->at[0] == '|' && r->at[1] == '#') {
            depth--;
            r->at += 2;
        } else {
            r->line += *r->at++ == '\n';
        }
    } while (depth > 0);
    return true;
}

/* Skips blanks and comments; false if a comment has no end. */
static bool skip_blanks(Reader *r) {
    for (;;) {
        int c = peek(r);
        if (c == ';') {
            while (peek(r) >= 0 && peek(r) != '\n')
                r->at++;
        } else if (c == '#' && r->end - r->at > 1 && r->at[1] == '|') {
            if (!skip_block_comment(r))
                return false;
        } else if (c >= 0 && isspace(c)) {
            r->line += c == '\n';
            r->at++;
        } else {
            return true;
        }
    }
}

static bool is_delimiter(int c) {
    return c < 0 || isspace(c) || strchr("()\";'`,", c);
}

static Value read_escape(Reader *r, Text *t) {
    int c = peek(r);
    r->at++;
    switch (c) {
    case 'n': text_add(t, "\n", 1); return TRUE;
    case 't': text_add(t, "\t", 1); return TRUE;
    case 'r': text_add(t, "\r", 1); return TRUE;
    case '0': text_add(t, "", 1); return TRUE;
    case '"':
    case '\\': text_add(t, r->at - 1, 1); return TRUE;
    case 'x': {
        char *after;
        unsigned long code = strtoul(r->at, &after, 16);
        if (after == r->at || after >= r->end || *after != ';' || code > 0x10ffff)
            return fail(r, "malformed \\x escape in a string");
        text_add_char(t, (uint32_t)code);
        r->at = after + 1;
        return TRUE;
    }
    default: return fail(r, "unknown escape in a string");
    }
}

static Value read_string(Reader *r) {
    Text t = {0};
    Value result = TRUE;
    for (r->at++; result == TRUE;) {
        int c = peek(r);
        if (c < 0) {
            result = fail(r, "a string has no end");
        } else if (c == '"') {
            r->at++;
            result = string_new(r->heap, t.bytes, t.len);
        } else if (c == '\\') {
            r->at++;
            result = read_escape(r, &t);
        } else {
            r->line += c == '\n';
            text_add(&t, r->at++, 1);
        }
    }
    free(t.bytes);
    return result;
}

static Value read_char(Reader *r) {
    r->at += 2;
    const char *start = r->at;
    if (r->at >= r->end)
        return fail(r, "a character is missing after #\\");
    r->at++;
    while (!is_delimiter(peek(r)))
        r->at++;
    size_t len = (size_t)(r->at - start);
    if (len == 1)
        return from_char((unsigned char)*start);
    for (size_t i = 0; i < CHAR_NAMES; i++)
        if (strlen(char_names[i].name) == len && memcmp(char_names[i].name, start, len) == 0)
            return from_char(char_names[i].code);
    return fail(r, "unknown name of a character");
}

/* Elements up to the closing parenthesis, as a list; a dotted end only in lists. */
static Value read_list(Reader *r, bool dotted) {
    uint32_t line = r->line;
    Value first = NIL, last = NIL;
    for (;;) {
        if (!skip_blanks(r))
            return fail(r, "a comment has no end");
        if (peek(r) < 0) {
            char what[64];
            snprintf(what, sizeof what, "no ')' for the '(' in line %u", (unsigned)line);
            return fail(r, what);
        }
        if (peek(r) == ')') {
            r->at++;
            return first;
        }
        if (dotted && last != NIL && peek(r) == '.' && r->end - r->at > 1 &&
            is_delimiter((unsigned char)r->at[1])) {
            r->at++;
            Value rest = read_datum(r);
            if (rest == FAILED)
                return FAILED;
            AS(Pair, last)->cdr = rest;
            if (!skip_blanks(r) || peek(r) != ')')
                return fail(r, "')' expected after the end of a dotted list");
            r->at++;
            return first;
        }
        Value item = read_datum(r);
        if (item == FAILED)
            return FAILED;
        Value pair = cons(r->heap, item, NIL);
        if (last == NIL)
            first = pair;
        else
            AS(Pair, last)->cdr = pair;
        last = pair;
    }
}

static Value list_to_vector(Heap *h, Value list) {
    Value vector = vector_new(h, (uint32_t)list_length(list), FALSE);
    for (uint32_t i = 0; list != NIL; list = cdr(list))
        AS(Vector, vector)->at[i++] = car(list);
    return vector;
}

static Value read_quoted(Reader *r, const char *symbol, int len) {
    r->at += len;
    Value datum = read_datum(r);
    if (datum == FAILED)
        return FAILED;
    if (datum == END_OF_FILE)
        return fail(r, "nothing follows a quote");
    Heap *h = r->heap;
    return cons(h, intern(h, symbol, strlen(symbol)), cons(h, datum, NIL));
}

static Value read_hash(Reader *r) {
    int next = r->end - r->at > 1 ? r->at[1] : -1;
    if (next == '\\')
        return read_char(r);
    if (next == '(') {
        r->at += 2;
        Value list = read_list(r, false);
        return list == FAILED ? FAILED : list_to_vector(r->heap, list);
    }
    if (next == ';') {
        r->at += 2;
        Value skipped = read_datum(r);
        return skipped == FAILED || skipped == END_OF_FILE ? fail(r, "nothing follows #;")
                                                           : read_datum(r);
    }
    const char *start = r->at;
    while (!is_delimiter(peek(r)))
        r->at++;
    size_t len = (size_t)(r->at - start);
    if (len == 2 && (next == 't' || next == 'f'))
        return from_bool(next == 't');
    Value number = FALSE;
    if (len > 2 && (next == 'x' || next == 'b'))
        number = parse_number(start + 2, len - 2, next == 'x' ? 16 : 2);
    return number != FALSE ? number : fail(r, "unknown # syntax");
}

static Value read_atom(Reader *r) {
    const char *start = r->at;
    while (!is_delimiter(peek(r)))
        r->at++;
    size_t len = (size_t)(r->at - start);
    Value number = parse_number(start, len, 10);
    return number != FALSE ? number : intern(r->heap, start, len);
}

Value read_datum(Reader *r) {
    if (!skip_blanks(r))
        return fail(r, "a comment has no end");
    if (r->depth >= MAX_DEPTH)
        return fail(r, "nested too deeply");
    r->depth++;
    Value result;
    switch (peek(r)) {
    case -1: result = END_OF_FILE; break;
    case '(':
        r->at++;
        result = read_list(r, true);
        break;
    case ')': result = fail(r, "unexpected ')'"); break;
    case '\'': result = read_quoted(r, "quote", 1); break;
    case '`': result = read_quoted(r, "quasiquote", 1); break;
    case ',':
        result = r->end - r->at > 1 && r->at[1] == '@' ? read_quoted(r, "unquote-splicing", 2)
                                                       : read_quoted(r, "unquote", 1);
        break;
    case '"': result = read_string(r); break;
    case '#': result = read_hash(r); break;
    default: result = read_atom(r); break;
    }
    r->depth--;
    return result;
}

/* --- Numbers --- */

static int digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

static bool looks_like_float(const char *text, size_t len) {
    size_t digits = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9')
            digits++;
        else if (!(c == '.' || ((c == 'e' || c == 'E') && digits) ||
                   ((c == '-' || c == '+') && (i == 0 || digits))))
            return false;
    }
    return digits > 0;
}

Value parse_number(const char *text, size_t len, int radix) {
    size_t i = len && (text[0] == '-' || text[0] == '+');
    double value = 0;
    size_t first = i;
    while (i < len && digit_of(text[i]) < radix)
        value = value * radix + digit_of(text[i++]);
    if (i == len && i > first) {
        value = text[0] == '-' ? -value : value;
        return value == (int32_t)value ? from_int((int32_t)value) : from_double(value);
    }
    char copy[64], *after;
    if (radix != 10 || len == 0 || len >= sizeof copy || !looks_like_float(text, len))
        return FALSE;
    memcpy(copy, text, len);
    copy[len] = 0;
    value = strtod(copy, &after);
    return *after ? FALSE : from_double(value);
}

static void print_integer(Text *t, int64_t value, int radix) {
    char digits[72];
    size_t at = sizeof digits;
    bool negative = value < 0;
    uint64_t rest = negative ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[rest % (unsigned)radix];
    while (rest /= (unsigned)radix);
    if (negative)
        digits[--at] = '-';
    text_add(t, digits + at, sizeof digits - at);
}

void print_number(Text *t, Value number, int radix) {
    if (is_int(number)) {
        print_integer(t, as_int(number), radix);
        return;
    }
    double d = as_double(number);
    if (d == floor(d) && fabs(d) < 9007199254740992.0) {
        print_integer(t, (int64_t)d, radix);
        text_add(t, ".", 1);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) { /* the shortest that reads back */
        snprintf(text, sizeof text, "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    text_add_string(t, text);
}

/* --- The printer --- */

static void print_at(Text *t, Value v, bool quoted, int depth);

static void print_string(Text *t, const String *s) {
    text_add(t, "\"", 1);
    for (uint32_t i = 0; i < s->len; i++) {
        char c = s->bytes[i];
        if (c == '\n')
            text_add(t, "\\n", 2);
        else if (c == '\t')
            text_add(t, "\\t", 2);
        else {
            if (c == '"' || c == '\\')
                text_add(t, "\\", 1);
            text_add(t, &c, 1);
        }
    }
    text_add(t, "\"", 1);
}

static void print_char(Text *t, uint32_t c) {
    text_add(t, "#\\", 2);
    for (size_t i = 0; i < CHAR_NAMES; i++)
        if (char_names[i].code == c) {
            text_add_string(t, char_names[i].name);
            return;
        }
    text_add_char(t, c);
}

static void print_list(Text *t, Value v, bool quoted, int depth) {
    text_add(t, "(", 1);
    for (;;) {
        print_at(t, car(v), quoted, depth);
        v = cdr(v);
        if (!is_pair(v))
            break;
        text_add(t, " ", 1);
    }
    if (v != NIL) {
        text_add(t, " . ", 3);
        print_at(t, v, quoted, depth);
    }
    text_add(t, ")", 1);
}

static void print_vector(Text *t, const Vector *v, bool quoted, int depth) {
    text_add(t, "#(", 2);
    for (uint32_t i = 0; i < v->len; i++) {
        if (i)
            text_add(t, " ", 1);
        print_at(t, v->at[i], quoted, depth);
    }
    text_add(t, ")", 1);
}

static void print_named(Text *t, const char *what, Value name) {
    text_add_string(t, "#<");
    text_add_string(t, what);
    if (is_symbol(name)) {
        text_add(t, " ", 1);
        text_add(t, AS(Symbol, name)->name, AS(Symbol, name)->len);
    }
    text_add(t, ">", 1);
}

static void print_condition(Text *t, const Condition *c, int depth) {
    print_at(t, c->message, false, depth);
    for (Value v = c->irritants; is_pair(v); v = cdr(v)) {
        text_add(t, " ", 1);
        print_at(t, car(v), true, depth);
    }
}

static void print_object(Text *t, Value v, bool quoted, int depth) {
    switch ((Type)as_object(v)->type) {
    case TYPE_PAIR: print_list(t, v, quoted, depth); break;
    case TYPE_SYMBOL: text_add(t, AS(Symbol, v)->name, AS(Symbol, v)->len); break;
    case TYPE_STRING:
        if (quoted)
            print_string(t, AS(String, v));
        else
            text_add(t, AS(String, v)->bytes, AS(String, v)->len);
        break;
    case TYPE_VECTOR: print_vector(t, AS(Vector, v), quoted, depth); break;
    case TYPE_TABLE: print_named(t, "table", FALSE); break;
    case TYPE_BOX: print_named(t, "box", FALSE); break;
    case TYPE_CODE: print_named(t, "code", AS(Code, v)->name); break;
    case TYPE_CLOSURE: print_named(t, "procedure", AS(Closure, v)->code->name); break;
    case TYPE_BUILTIN:
        text_add_string(t, "#<builtin ");
        text_add_string(t, AS(Builtin, v)->name);
        text_add(t, ">", 1);
        break;
    case TYPE_CONTINUATION: print_named(t, "continuation", FALSE); break;
    case TYPE_MACRO: print_named(t, "macro", FALSE); break;
    case TYPE_CONDITION: print_condition(t, AS(Condition, v), depth); break;
    case TYPE_COUNT: break;
    }
}

static void print_at(Text *t, Value v, bool quoted, int depth) {
    static const char *const constants[] = {"#f",     "#t",        "()", "#<unspecified>",
                                            "#<eof>", "#<unbound>"};
    if (depth == 0)
        text_add_string(t, "...");
    else if (is_number(v))
        print_number(t, v, 10);
    else if (is_object(v))
        print_object(t, v, quoted, depth - 1);
    else if (!is_char(v))
        text_add_string(t, constants[as_char(v) < 6 ? as_char(v) : 3]);
    else if (quoted)
        print_char(t, as_char(v));
    else
        text_add_char(t, as_char(v));
}

void print_value(Text *t, Value v, bool quoted) {
    print_at(t, v, quoted, MAX_DEPTH);
}
