/*
 * report/escape.c - arbitrary bytes as text in reports.
 */
#include "report/escape.h"

uint32_t escape_utf8(const char *p, size_t n, uint32_t *code) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = n ? (uint8_t)p[0] : 0xff;
    uint32_t len = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (len == 0 || first > 0xf4 || len > n)
        return 0;
    uint32_t c = len == 1 ? first : first & (0x7fu >> len);
    for (uint32_t i = 1; i < len; i++) {
        if (((uint8_t)p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | ((uint8_t)p[i] & 0x3f);
    }
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *code = c;
    return len;
}

static void json_ascii(Buf *out, char c) {
    switch (c) {
    case '"': buf_str(out, STR("\\\"")); break;
    case '\\': buf_str(out, STR("\\\\")); break;
    case '\n': buf_str(out, STR("\\n")); break;
    case '\r': buf_str(out, STR("\\r")); break;
    case '\t': buf_str(out, STR("\\t")); break;
    default:
        if ((uint8_t)c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", (unsigned)(uint8_t)c);
        else
            buf_u8(out, (uint8_t)c);
    }
}

void escape_json(Buf *out, Str s) {
    for (uint32_t i = 0; i < s.len;) {
        uint32_t code, len = escape_utf8(s.ptr + i, s.len - i, &code);
        if (len == 0)
            buf_str(out, STR("\xef\xbf\xbd"));
        else if (len == 1)
            json_ascii(out, s.ptr[i]);
        else
            buf_bytes(out, s.ptr + i, len);
        i += len ? len : 1;
    }
}

void escape_csv(Buf *out, Str s) {
    buf_reserve(out, s.len);
    for (uint32_t i = 0; i < s.len; i++) {
        uint8_t c = (uint8_t)s.ptr[i];
        buf_u8(out, c < 0x20 || c == 0x7f ? ' ' : c);
    }
}
