/*
 * text.h - the reader and the printer.
 */
#ifndef SCHEME_TEXT_H
#define SCHEME_TEXT_H

#include "heap.h"

/* A growable string of bytes. A zeroed Text is empty. Release with free(t->bytes). */
typedef struct Text {
    char *bytes;
    size_t len, cap;
} Text;

void text_add(Text *t, const char *bytes, size_t len);
void text_add_string(Text *t, const char *s);
void text_add_char(Text *t, uint32_t code_point); /* as UTF-8 */

typedef struct Reader {
    Heap *heap;
    const char *at, *end;
    uint32_t line, depth;
    char error[96]; /* what is wrong, if the last read failed */
} Reader;

void reader_init(Reader *r, Heap *h, const char *text, size_t len);
/* The next datum; END_OF_FILE after the last one; FAILED if it is malformed. */
Value read_datum(Reader *r);

/* A number in the given radix, or FALSE if the text is none. */
Value parse_number(const char *text, size_t len, int radix);

/* Writes a value: as program text if `quoted`, else for people (strings without quotes). */
void print_value(Text *t, Value v, bool quoted);
void print_number(Text *t, Value number, int radix);

#endif
