/*
 * runtime/lines.c - what scripts print with `print`: lines, in a buffer, apart from the report.
 *
 * A statement becomes calls of the functions below, one for each run of text and each value; the
 * last one ends the line. The buffer is written when it is full and when the program asks
 * (values_print_flush), and always up to the end of a line. A format is a number (LinesFormat).
 */
#include "memory.h"

enum { FIRST_ROOM = 65536 };

/* In a block of the heap, the text after it. */
typedef struct Lines {
    uint32_t room, used;
    uint32_t whole; /* the bytes up to the end of the last complete line */
} Lines;

INLINE Lines *lines_at(uint32_t address) {
    return (Lines *)(void *)at(address);
}

INLINE uint8_t *text_of(const Lines *l) {
    return (uint8_t *)(uintptr_t)(l + 1);
}

/* The bytes of the next write: whole lines, as many as the system writes to a pipe without those of
 * other threads in between. */
static uint32_t piece_of(const uint8_t *text, uint32_t len) {
    enum { PIECE = 4096 };
    uint32_t n = len < PIECE ? len : PIECE;
    while (n && text[n - 1] != '\n')
        n--;
    if (n)
        return n;
    while (text[n] != '\n')
        n++;
    return n + 1;
}

/* Writes the complete lines, if the host takes them. */
static void write_whole(Lines *l) {
    uint8_t *text = text_of(l);
    uint32_t done = 0;
    while (done < l->whole) {
        uint32_t n = piece_of(text + done, l->whole - done);
        if (!host_print(text + done, n))
            break;
        done += n;
    }
    l->used -= done;
    l->whole -= done;
    if (done)
        __builtin_memmove(text, text + done, l->used);
}

/* Makes room for n bytes more: writes lines, or takes a larger buffer. False if there is no memory;
 * then text is lost. */
__attribute__((noinline)) static bool make_room(uint32_t n) {
    Lines *old = V->lines ? lines_at(V->lines) : NULL;
    if (old)
        write_whole(old);
    if (old && old->room - old->used >= n)
        return true;
    uint64_t need = old ? 2 * (uint64_t)old->room : FIRST_ROOM;
    while (need < (uint64_t)n + (old ? old->used : 0))
        need *= 2;
    uint32_t to = need < UINT32_MAX / 2 ? values_mem_alloc((uint32_t)need + sizeof(Lines)) : 0;
    if (!to)
        return false;
    old = V->lines ? lines_at(V->lines) : NULL;
    *lines_at(to) = (Lines){(uint32_t)need, 0, 0};
    if (old) {
        lines_at(to)->used = old->used;
        lines_at(to)->whole = old->whole;
        __builtin_memcpy(text_of(lines_at(to)), text_of(old), old->used);
        values_mem_free(V->lines);
    }
    V->lines = to;
    return true;
}

/* Room for n bytes at the end of the text, which then has them; NULL if there is no memory. */
static uint8_t *append(uint32_t n) {
    if ((!V->lines || lines_at(V->lines)->room - lines_at(V->lines)->used < n) && !make_room(n))
        return NULL;
    Lines *l = lines_at(V->lines);
    l->used += n;
    return text_of(l) + l->used - n;
}

static void append_bytes(const uint8_t *p, uint32_t n) {
    uint8_t *to = append(n);
    if (to)
        __builtin_memcpy(to, p, n);
}

static void fill(uint8_t *to, uint8_t byte, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        to[i] = byte;
}

/* ---- widths ---- */

/* Appends `n` bytes, which take `columns` columns, padded to the width of the format. Zeros go
 * after the first `sign` bytes. */
static void append_padded(const uint8_t *p, uint32_t n, uint32_t sign, uint32_t columns,
                          uint32_t format, uint32_t align) {
    uint32_t width = format & LINES_WIDTH, pad = columns < width ? width - columns : 0;
    uint32_t asked = format >> LINES_ALIGN_SHIFT & LINES_ALIGN;
    align = asked ? asked : align;
    uint8_t *to = append(n + pad);
    if (!to)
        return;
    if (format & LINES_ZERO && pad && !asked) {
        __builtin_memcpy(to, p, sign);
        fill(to + sign, '0', pad);
        __builtin_memcpy(to + sign + pad, p + sign, n - sign);
        return;
    }
    uint32_t before = align == LINES_RIGHT ? pad : align == LINES_CENTRE ? pad / 2 : 0;
    fill(to, ' ', before);
    __builtin_memcpy(to + before, p, n);
    fill(to + before + n, ' ', pad - before);
}

/* ---- values ---- */

VALUES_EXPORT(print_text)
void values_print_text(uint32_t s) {
    append_bytes(at(s + 4), get32(s));
}

VALUES_EXPORT(print_end)
void values_print_end(uint32_t s) {
    uint32_t n = get32(s);
    uint8_t *to = append(n + 1);
    if (!to)
        return;
    __builtin_memcpy(to, at(s + 4), n);
    to[n] = '\n';
    lines_at(V->lines)->whole = lines_at(V->lines)->used;
#ifdef MONITOR /* nothing says when the program writes */
    write_whole(lines_at(V->lines));
#endif
}

VALUES_EXPORT(print_flush)
void values_print_flush(void) {
    if (V->lines)
        write_whole(lines_at(V->lines));
}

VALUES_EXPORT(print_int)
void values_print_int(uint64_t v, uint32_t format) {
    enum { SIZE = 68 };
    uint8_t text[SIZE];
    uint32_t from = SIZE, form = format >> LINES_FORM_SHIFT & LINES_FORM;
    bool negative = format & LINES_SIGNED && form == LINES_PLAIN && (int64_t)v < 0;
    uint32_t bits = form == LINES_BINARY ? 1 : form == LINES_OCTAL ? 3 : 4, begin;
    if (negative)
        v = 0 - v;
    if (form == LINES_PLAIN) {
        for (; v >> 32; v /= 10)
            text[--from] = (uint8_t)('0' + v % 10);
        for (uint32_t low = (uint32_t)v; low || from == SIZE; low /= 10)
            text[--from] = (uint8_t)('0' + low % 10);
    } else {
        uint8_t ten = form == LINES_UPPER ? 'A' - 10 : 'a' - 10;
        for (; v || from == SIZE; v >>= bits) {
            uint32_t digit = v & ((1u << bits) - 1);
            text[--from] = (uint8_t)(digit + (digit < 10 ? '0' : ten));
        }
    }
    begin = from;
    if (negative)
        text[--from] = '-';
    if (format & LINES_PREFIX) {
        text[--from] = form == LINES_BINARY ? 'b' : form == LINES_OCTAL ? 'o' : 'x';
        text[--from] = '0';
    }
    append_padded(text + from, SIZE - from, begin - from, SIZE - from, format, LINES_RIGHT);
}

VALUES_EXPORT(print_float)
void values_print_float(double v, uint32_t format) {
    uint8_t text[FORMAT_DECIMAL];
    uint64_t bits;
    float narrow = (float)v;
    uint32_t narrow_bits, precision = format >> LINES_PRECISION_SHIFT & LINES_PRECISION;
    __builtin_memcpy(&bits, &v, sizeof bits);
    __builtin_memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    bool is_f64 = !(format & LINES_F32),
         exponent = (format >> LINES_FORM_SHIFT & LINES_FORM) == LINES_EXPONENT;
    uint32_t n =
        format_decimal(text, is_f64 ? bits : narrow_bits, is_f64, (int)precision - 1, exponent);
    append_padded(text, n, text[0] == '-', n, format, LINES_RIGHT);
}

VALUES_EXPORT(print_bool)
void values_print_bool(uint32_t v, uint32_t format) {
    uint64_t word = v ? WORD("true") : WORD("false");
    append_padded((const uint8_t *)&word, v ? 4 : 5, 0, v ? 4 : 5, format, LINES_LEFT);
}

static uint8_t hex_digit(uint32_t v) {
    return (uint8_t)(v < 10 ? '0' + v : 'a' + v - 10);
}

/* Appends the string as scripts write it; returns how many columns that has. */
static uint32_t append_quoted(const uint8_t *p, uint32_t len) {
    uint32_t columns = 2, code;
    append_bytes((const uint8_t *)&(uint8_t){'"'}, 1);
    for (uint32_t i = 0; i < len; columns++) {
        uint32_t n = format_utf8(p + i, len - i, &code);
        uint8_t c = p[i], named = c == '\n'               ? 'n'
                                  : c == '\r'             ? 'r'
                                  : c == '\t'             ? 't'
                                  : c == 0                ? '0'
                                  : c == '"' || c == '\\' ? c
                                                          : 0;
        uint8_t escape[4] = {'\\', named ? named : 'x', hex_digit(c >> 4), hex_digit(c & 15)};
        if (named || !n || (n == 1 && !format_shown(code))) {
            append_bytes(escape, named ? 2 : 4);
            columns += named ? 1 : 3;
            n = 1;
        } else {
            append_bytes(p + i, n);
        }
        i += n;
    }
    append_bytes((const uint8_t *)&(uint8_t){'"'}, 1);
    return columns;
}

static void append_blanks(uint32_t n) {
    uint8_t *to = append(n);
    if (to)
        fill(to, ' ', n);
}

/* Pads what was appended since `from`, at the end or by moving it. */
static void pad_since(uint32_t from, uint32_t columns, uint32_t format) {
    uint32_t width = format & LINES_WIDTH, pad = columns < width ? width - columns : 0;
    uint32_t align = format >> LINES_ALIGN_SHIFT & LINES_ALIGN;
    uint32_t before = align == LINES_RIGHT ? pad : align == LINES_CENTRE ? pad / 2 : 0;
    if (!pad || !V->lines)
        return;
    append_blanks(pad);
    Lines *l = lines_at(V->lines);
    uint8_t *text = text_of(l) + l->whole + from;
    __builtin_memmove(text + before, text, l->used - pad - l->whole - from);
    fill(text, ' ', before);
}

/* Bytes that the line has. */
static uint32_t line_length(void) {
    return V->lines ? lines_at(V->lines)->used - lines_at(V->lines)->whole : 0;
}

VALUES_EXPORT(print_str)
void values_print_str(uint32_t s, uint32_t format) {
    uint32_t len = get32(s), columns = 0, from = line_length();
    const uint8_t *p = at(s + 4);
    if ((format >> LINES_FORM_SHIFT & LINES_FORM) == LINES_QUOTED) {
        columns = append_quoted(p, len);
    } else {
        append_bytes(p, len);
        for (uint32_t i = 0; format & LINES_WIDTH && i < len; i++)
            columns += (p[i] & 0xc0) != 0x80;
    }
    pad_since(from, columns, format);
}

VALUES_EXPORT(print_trap)
void values_print_trap(void) {
    values_print_flush(); /* in case a report is being made, which makes no other */
    __builtin_trap();
}

VALUES_EXPORT(print_exit)
void values_print_exit(uint32_t status) {
    host_exit(status);
    __builtin_trap();
}
