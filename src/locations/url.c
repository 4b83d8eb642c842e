/*
 * locations/url.c - paths and URLs of sources.
 */
#include <assert.h>

#include "locations/url.h"

/* ---- data URLs ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

static void decode_base64(Str text, Buf *out) {
    uint32_t bits = 0, n = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.ptr[i]);
        if (digit < 0)
            return;
        bits = bits << 6 | (uint32_t)digit;
        n += 6;
        if (n >= 8)
            buf_u8(out, (uint8_t)(bits >> (n -= 8)));
    }
}

void url_decode_percent(Str text, Buf *out) {
    for (uint32_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;
        if (text.ptr[i] == '%' && text.len - i > 2) {
            high = hex_digit(text.ptr[i + 1]);
            low = hex_digit(text.ptr[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            buf_u8(out, (uint8_t)(high << 4 | low));
            i += 2;
        } else {
            buf_u8(out, (uint8_t)text.ptr[i]);
        }
    }
}

bool url_is_data(Str url) {
    return url.len >= 5 && memcmp(url.ptr, "data:", 5) == 0;
}

void url_decode_data(Str url, Buf *out) {
    const char *comma = memchr(url.ptr, ',', url.len);
    if (!comma)
        return;
    uint32_t head = (uint32_t)(comma - url.ptr);
    Str text = {comma + 1, url.len - head - 1};
    if (head >= 7 && memcmp(comma - 7, ";base64", 7) == 0)
        decode_base64(text, out);
    else
        url_decode_percent(text, out);
}

/* ---- paths ---- */

/* The length of "scheme:" at the beginning, or 0. A letter alone is a drive of Windows, which is
 * treated in the same way. */
static uint32_t scheme_length(Str s) {
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.ptr[i], low = (char)(c | 0x20);
        if (c == ':')
            return i ? i + 1 : 0;
        bool letter = low >= 'a' && low <= 'z';
        if (!letter && (!i || ((c < '0' || c > '9') && c != '+' && c != '-' && c != '.')))
            return 0;
    }
    return 0;
}

bool url_is_absolute(Str url) {
    return (url.len && (*url.ptr == '/' || *url.ptr == '\\')) || scheme_length(url);
}

/* The root, which ".." cannot leave: "scheme://host/", "/", or nothing. */
static uint32_t url_root_length(Str s) {
    uint32_t n = scheme_length(s);
    if (s.len - n >= 2 && s.ptr[n] == '/' && s.ptr[n + 1] == '/') {
        n += 2;
        while (n < s.len && s.ptr[n] != '/')
            n++;
    }
    return n < s.len && s.ptr[n] == '/' ? n + 1 : n;
}

/* Removes the last folder after the root; false if there is none, or it is ".." itself. */
static bool url_leave_folder(Buf *out, size_t root) {
    size_t n = out->len;
    if (n > root && out->data[n - 1] == '/')
        n--;
    size_t end = n;
    while (n > root && out->data[n - 1] != '/')
        n--;
    if (n == end || (end - n == 2 && memcmp(out->data + n, "..", 2) == 0))
        return false;
    out->len = n;
    return true;
}

/* Appends a path part by part; `root` is the length of the root. */
static void append_parts(Str path, size_t root, Buf *out) {
    for (uint32_t i = 0; i < path.len;) {
        const char *at = path.ptr + i, *slash = memchr(at, '/', path.len - i);
        uint32_t len = slash ? (uint32_t)(slash - at) : path.len - i;
        bool up = len == 2 && memcmp(at, "..", 2) == 0;
        bool nothing = len == 0 || (len == 1 && *at == '.') ||
                       (up && url_leave_folder(out, root)) || (up && root);
        if (!nothing) {
            buf_bytes(out, at, len);
            if (slash)
                buf_u8(out, '/');
        }
        i += len + 1;
    }
}

void url_resolve(Str base, Str reference, Buf *out) {
    assert(!out->len);
    bool whole = scheme_length(reference), from_root = reference.len && *reference.ptr == '/';
    Str top = whole || (from_root && !scheme_length(base)) ? reference : base;
    uint32_t root = url_root_length(top), skipped = top.ptr == reference.ptr ? root : from_root;
    buf_bytes(out, top.ptr, root);
    if (!whole && !from_root) {
        while (base.len > root && base.ptr[base.len - 1] != '/')
            base.len--;
        append_parts((Str){base.ptr + root, base.len - root}, root, out);
    }
    append_parts((Str){reference.ptr + skipped, reference.len - skipped}, root, out);
}

bool url_begins_with(Str path, Str prefix, Str *rest) {
    if (!prefix.len || path.len < prefix.len || memcmp(path.ptr, prefix.ptr, prefix.len) != 0)
        return false;
    *rest = (Str){path.ptr + prefix.len, path.len - prefix.len};
    return !rest->len || *rest->ptr == '/' || prefix.ptr[prefix.len - 1] == '/';
}
