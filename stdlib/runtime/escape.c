/*
 * runtime/escape.c - arbitrary bytes as text in reports.
 */
#include "format.h"

bool format_shown(uint32_t c) {
    if (c < 0xa0)
        return c >= 0x20 && c < 0x7f;
    bool turns = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                 (c >= 0x2066 && c <= 0x2069);
    bool ends_line = c == 0x2028 || c == 0x2029;
    return !turns && !ends_line && c != 0xfffe && c != 0xffff;
}

void format_csv(FormatOut *o, const uint8_t *p, uint32_t n) {
    while (n) {
        uint32_t code, len = format_utf8(p, n, &code);
        if (len == 0)
            format_byte(o, *p);
        else if (format_shown(code))
            format_bytes(o, p, len);
        else
            format_byte(o, ' ');
        len += len == 0;
        p += len;
        n -= len;
    }
}

void format_in_quotes(FormatOut *o, const uint8_t *p, uint32_t len) {
    for (; len; len--, p++) {
        if (*p == '"')
            format_byte(o, '"');
        format_byte(o, *p);
    }
}

bool format_wants_quotes(const uint8_t *p, uint32_t len) {
    bool quotes = false;
    for (uint32_t i = 0; i < len; i++)
        quotes |= p[i] == '"' || p[i] == ',' || p[i] == '\n' || p[i] == '\r';
    return quotes;
}

bool format_is_guarded(const uint8_t *p, uint32_t len, uint8_t next) {
    while (len && *p == '\'')
        p++, len--;
    uint8_t c = len ? *p : next;
    return c == '=' || c == '+' || c == '-' || c == '@' || c == '\t' || c == '\r';
}

void format_guard(FormatOut *o, const uint8_t *p, uint32_t len, uint8_t next) {
    if (format_is_guarded(p, len, next))
        format_byte(o, '\'');
}

void format_quoted(FormatOut *o, const uint8_t *p, uint32_t len) {
    bool quotes = format_wants_quotes(p, len);
    if (quotes)
        format_byte(o, '"');
    format_guard(o, p, len, 0);
    format_in_quotes(o, p, len); /* it contains no other characters to escape */
    if (quotes)
        format_byte(o, '"');
}

uint32_t format_utf8(const uint8_t *p, size_t n, uint32_t *code) {
    uint8_t first = n ? p[0] : 0xff;
    uint32_t len = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (len == 0 || first > 0xf4 || len > n)
        return 0;
    uint32_t c = len == 1 ? first : first & (0x7fu >> len);
    for (uint32_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    uint32_t least = len == 1 ? 0 : len == 2 ? 0x80 : len == 3 ? 0x800 : 0x10000;
    if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *code = c;
    return len;
}

static void json_escape(FormatOut *o, uint32_t c) {
    format_byte(o, '\\');
    switch (c) {
    case '"':
    case '\\': format_byte(o, (uint8_t)c); return;
    case '\n': format_byte(o, 'n'); return;
    case '\r': format_byte(o, 'r'); return;
    case '\t': format_byte(o, 't'); return;
    default: break;
    }
    format_byte(o, 'u');
    for (int shift = 12; shift >= 0; shift -= 4) {
        uint8_t digit = c >> shift & 15;
        format_byte(o, digit < 10 ? '0' + digit : 'a' + (digit - 10));
    }
}

void format_json(FormatOut *o, const uint8_t *p, uint32_t n) {
    while (n) {
        uint32_t code, len = format_utf8(p, n, &code);
        if (len == 0) {
            format_byte(o, 0xef);
            format_byte(o, 0xbf);
            format_byte(o, 0xbd);
            len = 1;
        } else if (!format_shown(code) || code == '"' || code == '\\') {
            json_escape(o, code);
        } else {
            format_bytes(o, p, len);
        }
        p += len;
        n -= len;
    }
}
