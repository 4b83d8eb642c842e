/*
 * base/buf.h - byte buffers, string slices, string-keyed maps.
 */
#ifndef WHAMMC_BASE_BUF_H
#define WHAMMC_BASE_BUF_H

#include "base/mem.h"

/* A borrowed slice of bytes; not NUL-terminated. */
typedef struct Str {
    const char *ptr;
    uint32_t len;
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})
#define STR_ARG(s)   (int)(s).len, (s).ptr /* for %.*s */

Str str_of(const char *s); /* s may be NULL: the empty slice */
/* Whether two slices have the same bytes. */
bool str_eq(Str a, Str b);
/* The order of two slices by their bytes: below, above or 0. */
int str_order(Str a, Str b);
/* Whether s begins with the text, or ends with it. */
bool str_begins(Str s, Str with);
bool str_ends(Str s, Str with);
/* A decimal number of at most `max` that is all of s; false if it is none. */
bool str_decimal(Str s, uint64_t max, uint64_t *value);
/* Whether it is this text; b may be NULL: the empty one. Inline, as most texts differ at once. */
static inline bool str_is(Str a, const char *b) {
    uint32_t i = 0;
    while (b && i < a.len && b[i] && b[i] == a.ptr[i])
        i++;
    return i == a.len && (!b || !b[i]);
}
/* Edit distance (insert, delete, replace, swap neighbours) for "did you mean"; stops counting past
 * `limit`. */
uint32_t str_distance(Str a, Str b, uint32_t limit);

/* A growable byte buffer. A zeroed Buf is valid and empty. Release with buf_free. */
typedef struct Buf {
    uint8_t *data;
    size_t len, cap;
} Buf;

/* For buf_reserve: the buffer is too small. */
void buf_reserve_slow_(Buf *b, size_t more);
/* Makes room for so many more bytes. */
static inline void buf_reserve(Buf *b, size_t more) {
    if (b->cap - b->len < more)
        buf_reserve_slow_(b, more);
}
/* Calls `moves` on this thread before the bytes of a buffer move as it grows; NULL = of none. */
void buf_watch(const Buf *b, void (*moves)(void *ctx), void *ctx);
/* All that follow append. */
static inline void buf_u8(Buf *b, uint8_t byte) {
    buf_reserve(b, 1);
    b->data[b->len++] = byte;
}
static inline void buf_bytes(Buf *b, const void *p, size_t n) {
    buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
}
/* The same, faster if there are few bytes. */
static inline void buf_short(Buf *b, const uint8_t *from, size_t n) {
    buf_reserve(b, n);
    uint8_t *to = b->data + b->len;
    b->len += n;
    if (n > 32) {
        memcpy(to, from, n);
    } else if (n > 16) { /* the two halves may overlap */
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t k = 0; k < n; k++)
            to[k] = from[k];
    }
}
/* Unsigned LEB128 at a place with room for it, 10 bytes at most; returns the end. */
static inline uint8_t *uleb_put(uint8_t *to, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        *to++ = (uint8_t)(v | 0x80);
    *to++ = (uint8_t)v;
    return to;
}
/* The same, padded to exactly `width` bytes. */
static inline void uleb_put_padded(uint8_t *to, uint64_t v, uint32_t width) {
    for (uint32_t i = 0; i + 1 < width; i++, v >>= 7)
        *to++ = (uint8_t)(v | 0x80);
    *to = (uint8_t)(v & 0x7f);
}
/* uleb_put for signed numbers. */
static inline uint8_t *sleb_put(uint8_t *to, int64_t v) {
    for (; v < -0x40 || v >= 0x40; v >>= 7) /* arithmetic on every compiler we build with */
        *to++ = (uint8_t)(v | 0x80);
    *to++ = v & 0x7f;
    return to;
}
/* For buf_uleb: a number of more than one byte. */
void buf_uleb_long_(Buf *b, uint64_t v);
/* Unsigned LEB128. */
static inline void buf_uleb(Buf *b, uint64_t v) {
    if (v < 0x80)
        buf_u8(b, (uint8_t)v);
    else
        buf_uleb_long_(b, v);
}
/* Signed LEB128; for numbers of more than one byte. */
void buf_sleb_long_(Buf *b, int64_t v);
static inline void buf_sleb(Buf *b, int64_t v) {
    if (v >= -0x40 && v < 0x40)
        buf_u8(b, (uint8_t)(v & 0x7f));
    else
        buf_sleb_long_(b, v);
}
/* Unsigned LEB128 padded to exactly `width` bytes (width must suffice). */
void buf_uleb_padded(Buf *b, uint64_t v, uint32_t width);
/* Little-endian. */
static inline uint64_t u64le(const uint8_t *p) {
    uint32_t low = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    uint32_t high = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
    return low | (uint64_t)high << 32;
}
void buf_u32le(Buf *b, uint32_t v);
void buf_u64le(Buf *b, uint64_t v);
void buf_str(Buf *b, Str s);  /* the bytes alone */
void buf_name(Buf *b, Str s); /* length as LEB128, then the bytes */
void buf_printf(Buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A NUL after the content (not counted in len); returns the content as C string. */
const char *buf_cstr(Buf *b);
void buf_free(Buf *b);
/* The content, until the buffer changes. */
static inline Str buf_view(const Buf *b) {
    return (Str){(const char *)b->data, (uint32_t)b->len};
}
/* The content of another buffer as buf_name has it. */
static inline void buf_vec(Buf *b, const Buf *content) {
    buf_uleb(b, content->len);
    buf_bytes(b, content->data, content->len);
}

/* The number of bytes that the unsigned LEB128 of v takes. */
uint32_t uleb_size(uint64_t v);

/* Continues a hash (FNV-1a, 64 bits) with these bytes; HASH_START is the hash of nothing,
 * HASH_FACTOR the factor of each step. */
#define HASH_START  0xcbf29ce484222325u
#define HASH_FACTOR 0x100000001b3u
uint64_t hash_more(uint64_t hash, const void *bytes, size_t n);

/* A map from byte strings to 64-bit values. Keys are copied. A zeroed Map is valid and empty. */
typedef struct Map {
    struct MapEntry *entries; /* in order of insertion */
    uint32_t *slots;          /* index into entries + 1, 0 = empty */
    uint32_t len, cap, nslots;
} Map;
struct MapEntry {
    Str key;
    uint64_t hash, value;
};

/* The address of key's value, or NULL. Valid until the next insertion. */
uint64_t *map_get(const Map *m, Str key);
/* The address of key's value; inserted as `value` if it was not there (*added tells, may be NULL).
 */
uint64_t *map_put(Map *m, Str key, uint64_t value, bool *added);
void map_free(Map *m);

/* Appends a number with commas between groups of three digits. */
void buf_grouped(Buf *out, uint64_t v);

#endif
