/*
 * base/escape.c - arbitrary bytes as text in reports and messages, as the runtime writes it.
 */
#include "base/escape.h"

#include "../../stdlib/runtime/format.h"

typedef void Escape(FormatOut *o, const uint8_t *p, uint32_t len);

static void escape(Escape *how, Buf *out, Str s) {
    FormatOut o;
    o.sink = out;
    o.used = 0;
    how(&o, (const uint8_t *)s.ptr, s.len);
    format_flush(&o);
}

uint32_t escape_shown(Buf *out, Str s) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s.len; count++) {
        uint32_t code, len = escape_utf8(s.ptr + i, s.len - i, &code);
        if (len && format_shown(code))
            buf_bytes(out, s.ptr + i, len);
        else
            buf_u8(out, '?');
        i += len ? len : 1;
    }
    return count;
}

void escape_json(Buf *out, Str s) {
    escape(format_json, out, s);
}

void escape_json_string(Buf *out, Str s) {
    buf_u8(out, '"');
    escape_json(out, s);
    buf_u8(out, '"');
}

void escape_xml(Buf *out, Str s) {
    Buf text = {0};
    escape_shown(&text, s);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '&')
            buf_str(out, STR("&amp;"));
        else if (c == '<')
            buf_str(out, STR("&lt;"));
        else if (c == '>')
            buf_str(out, STR("&gt;"));
        else if (c == '"')
            buf_str(out, STR("&quot;"));
        else
            buf_u8(out, c);
    }
    buf_free(&text);
}

void escape_csv(Buf *out, Str s) {
    escape(format_csv, out, s);
}

void escape_quoted(Buf *out, Str s) {
    escape(format_quoted, out, s);
}

void escape_quoted_name(Buf *out, Str s) {
    Buf clean = {0};
    escape_csv(&clean, s);
    escape_quoted(out, buf_view(&clean));
    buf_free(&clean);
}

bool escape_is_guarded(Str s, char next) {
    return format_is_guarded((const uint8_t *)s.ptr, s.len, (uint8_t)next);
}

void escape_in_quotes(Buf *out, Str s) {
    escape(format_in_quotes, out, s);
}

uint32_t escape_utf8(const char *p, size_t n, uint32_t *code) {
    return format_utf8((const uint8_t *)p, n, code);
}
