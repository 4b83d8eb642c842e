/*
 * base/buf.c - byte buffers, string slices, string-keyed maps.
 */
#include "base/buf.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

Str str_of(const char *s) {
    return (Str){s ? s : "", s ? (uint32_t)strlen(s) : 0};
}

bool str_eq(Str a, Str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int str_order(Str a, Str b) {
    uint32_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool str_begins(Str s, Str with) {
    return s.len >= with.len && (!with.len || memcmp(s.ptr, with.ptr, with.len) == 0);
}

bool str_ends(Str s, Str with) {
    return s.len >= with.len &&
           (!with.len || memcmp(s.ptr + s.len - with.len, with.ptr, with.len) == 0);
}

bool str_decimal(Str s, uint64_t max, uint64_t *value) {
    uint64_t v = 0;
    if (s.len == 0)
        return false;
    for (uint32_t i = 0; i < s.len; i++) {
        uint32_t digit = (uint32_t)(uint8_t)s.ptr[i] - '0';
        if (digit > 9 || v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *value = v;
    return true;
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment over three rows. */
uint32_t str_distance(Str a, Str b, uint32_t limit) {
    enum { MAX = 64 };
    uint32_t diff = a.len > b.len ? a.len - b.len : b.len - a.len;
    if (a.len > MAX || b.len > MAX || diff > limit)
        return limit + 1;
    uint32_t rows[3][MAX + 1];
    for (uint32_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t *cur = rows[i % 3], *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];
        cur[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            uint32_t replace = up[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
            cur[j] = min3(up[j] + 1, cur[j - 1] + 1, replace);
            bool swapped =
                i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
            if (swapped && up2[j - 2] + 1 < cur[j])
                cur[j] = up2[j - 2] + 1;
        }
    }
    return rows[a.len % 3][b.len];
}

static _Thread_local struct {
    const Buf *buf;
    void (*moves)(void *ctx);
    void *ctx;
} watched;

void buf_watch(const Buf *b, void (*moves)(void *ctx), void *ctx) {
    assert(!b || moves);
    watched.buf = b;
    watched.moves = moves;
    watched.ctx = ctx;
}

void buf_reserve_slow_(Buf *b, size_t more) {
    if (b == watched.buf)
        watched.moves(watched.ctx);
    size_t cap = b->cap ? b->cap + b->cap / 2 : 256;
    if (cap < b->len + more)
        cap = b->len + more;
    b->data = mem_realloc(b->data, cap);
    b->cap = cap;
}

void buf_uleb_long_(Buf *b, uint64_t v) {
    buf_reserve(b, 10);
    b->len = (size_t)(uleb_put(b->data + b->len, v) - b->data);
}

void buf_sleb_long_(Buf *b, int64_t v) {
    buf_reserve(b, 10);
    b->len = (size_t)(sleb_put(b->data + b->len, v) - b->data);
}

void buf_uleb_padded(Buf *b, uint64_t v, uint32_t width) {
    buf_reserve(b, width);
    uleb_put_padded(b->data + b->len, v, width);
    b->len += width;
}

void buf_u32le(Buf *b, uint32_t v) {
    for (int i = 0; i < 4; i++)
        buf_u8(b, (uint8_t)(v >> (8 * i)));
}

void buf_u64le(Buf *b, uint64_t v) {
    for (int i = 0; i < 8; i++)
        buf_u8(b, (uint8_t)(v >> (8 * i)));
}

void buf_str(Buf *b, Str s) {
    buf_bytes(b, s.ptr, s.len);
}

void buf_name(Buf *b, Str s) {
    buf_uleb(b, s.len);
    buf_str(b, s);
}

void buf_printf(Buf *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    buf_reserve(b, (size_t)len + 1);
    vsnprintf((char *)b->data + b->len, (size_t)len + 1, format, again);
    va_end(again);
    b->len += (size_t)len;
}

const char *buf_cstr(Buf *b) {
    buf_u8(b, 0);
    b->len--;
    return (const char *)b->data;
}

void buf_free(Buf *b) {
    free(b->data);
    *b = (Buf){0};
}

uint32_t uleb_size(uint64_t v) {
    uint32_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

uint64_t hash_more(uint64_t hash, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * HASH_FACTOR;
    return hash;
}

static uint64_t hash_of(Str s) {
    uint64_t h = hash_more(HASH_START, s.ptr, s.len);
    return h ^ (h >> 32);
}

/* The slot that holds key, or the empty one where it would go. */
static uint32_t *map_slot(const Map *m, Str key, uint64_t hash) {
    uint32_t mask = m->nslots - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &m->slots[i];
        if (!*slot)
            return slot;
        const struct MapEntry *e = &m->entries[*slot - 1];
        if (e->hash == hash && str_eq(e->key, key))
            return slot;
    }
}

uint64_t *map_get(const Map *m, Str key) {
    if (!m->nslots)
        return NULL;
    uint32_t slot = *map_slot(m, key, hash_of(key));
    return slot ? &m->entries[slot - 1].value : NULL;
}

static void map_rehash(Map *m, uint32_t nslots) {
    free(m->slots);
    m->slots = mem_zalloc(sizeof *m->slots * nslots);
    m->nslots = nslots;
    for (uint32_t i = 0; i < m->len; i++)
        *map_slot(m, m->entries[i].key, m->entries[i].hash) = i + 1;
}

uint64_t *map_put(Map *m, Str key, uint64_t value, bool *added) {
    if (m->len * 2 >= m->nslots)
        map_rehash(m, m->nslots ? m->nslots * 2 : 16);
    uint64_t hash = hash_of(key);
    uint32_t *slot = map_slot(m, key, hash);
    if (added)
        *added = !*slot;
    if (*slot)
        return &m->entries[*slot - 1].value;
    if (m->len == m->cap)
        vec_grow_((void *)&m->entries, &m->cap, m->len + 1, sizeof *m->entries);
    char *copy = mem_alloc(key.len + 1u);
    if (key.len)
        memcpy(copy, key.ptr, key.len);
    copy[key.len] = 0;
    m->entries[m->len] = (struct MapEntry){{copy, key.len}, hash, value};
    *slot = ++m->len;
    return &m->entries[m->len - 1].value;
}

void map_free(Map *m) {
    for (uint32_t i = 0; i < m->len; i++)
        free((void *)m->entries[i].key.ptr);
    free(m->entries);
    free(m->slots);
    *m = (Map){0};
}

void buf_grouped(Buf *out, uint64_t v) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, v);
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            buf_u8(out, ',');
        buf_u8(out, (uint8_t)digits[i]);
    }
}
