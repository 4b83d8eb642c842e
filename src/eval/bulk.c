/*
 * eval/bulk.c - operations on ranges of memories and tables, and their growth.
 *
 * Bounds are checked before anything is changed.
 */
#include "eval/store.h"

#include <assert.h>

/* At least `want` items of room for something that may have at most `most`, with space to grow. */
static uint64_t roomier(uint64_t cap, uint64_t want, uint64_t most) {
    uint64_t room = cap + cap / 2;
    return room < want ? want : room > most ? most : room;
}

bool eval_memory_grow(EvalStore *s, EvalMemory *m, uint64_t pages) {
    assert(m->size <= s->memory_bytes && s->memory_bytes <= s->limits.memory_bytes);
    uint64_t left = s->limits.memory_bytes - s->memory_bytes;
    uint64_t most = m->is64 ? UINT64_MAX : UINT32_MAX;
    if (m->page_log2)
        most = (most >> m->page_log2) + 1;
    if (m->has_max && m->max < most)
        most = m->max;
    if (pages > most - eval_pages(m) || pages > left >> m->page_log2)
        return false;
    uint64_t more = pages << m->page_log2, size = m->size + more;
    if (size > (uint64_t)1 << 32) /* prepared code has offsets of 32 bits */
        return false;
    if (size > m->cap) {
        uint64_t cap = roomier(m->cap, size, m->size + left);
        /* A new memory comes zeroed, mostly without being touched. */
        uint8_t *data = m->data ? realloc(m->data, cap) : calloc(cap, 1);
        if (!data)
            return false;
        if (m->data)
            memset(data + m->cap, 0, cap - m->cap);
        m->data = data;
        m->cap = cap;
    }
    m->size = size;
    s->memory_bytes += more;
    return true;
}

bool eval_table_grow(EvalStore *s, EvalTable *t, uint64_t n, uint64_t init) {
    assert(t->size <= s->table_items && s->table_items <= s->limits.table_items);
    uint64_t left = s->limits.table_items - s->table_items;
    uint64_t most = t->has_max ? t->max : t->is64 ? UINT64_MAX : UINT32_MAX;
    if (n > most - t->size || n > left)
        return false;
    uint64_t size = t->size + n;
    if (size > t->cap) {
        uint64_t cap = roomier(t->cap, size, t->size + left);
        uint64_t *items = realloc(t->items, cap * sizeof *items);
        if (!items)
            return false;
        t->items = items;
        t->cap = cap;
    }
    for (uint64_t k = t->size; k < size; k++)
        t->items[k] = init;
    t->size = size;
    s->table_items += n;
    return true;
}

/* ---- memories ---- */

static bool outside(uint64_t at, uint64_t n, uint64_t size) {
    return at > size || n > size - at;
}

EvalStatus eval_memory_init(EvalMemory *m, const EvalBytes *d, uint64_t to, uint64_t from,
                            uint64_t n) {
    if (outside(from, n, d->len) || outside(to, n, m->size))
        return EVAL_MEMORY_BOUNDS;
    if (n)
        memcpy(m->data + to, d->at + from, n);
    return EVAL_OK;
}

EvalStatus eval_memory_copy(EvalMemory *to, uint64_t at, const EvalMemory *from, uint64_t from_at,
                            uint64_t n) {
    if (outside(from_at, n, from->size) || outside(at, n, to->size))
        return EVAL_MEMORY_BOUNDS;
    if (n)
        memmove(to->data + at, from->data + from_at, n);
    return EVAL_OK;
}

EvalStatus eval_memory_fill(EvalMemory *m, uint64_t at, uint8_t byte, uint64_t n) {
    if (outside(at, n, m->size))
        return EVAL_MEMORY_BOUNDS;
    if (n)
        memset(m->data + at, byte, n);
    return EVAL_OK;
}

/* ---- tables ---- */

EvalStatus eval_table_init(EvalTable *t, const EvalElems *e, uint64_t to, uint64_t from,
                           uint64_t n) {
    if (outside(from, n, e->len) || outside(to, n, t->size))
        return EVAL_TABLE_BOUNDS;
    if (n)
        memcpy(t->items + to, e->items + from, n * sizeof *t->items);
    return EVAL_OK;
}

EvalStatus eval_table_copy(EvalTable *to, uint64_t at, const EvalTable *from, uint64_t from_at,
                           uint64_t n) {
    if (outside(from_at, n, from->size) || outside(at, n, to->size))
        return EVAL_TABLE_BOUNDS;
    if (n)
        memmove(to->items + at, from->items + from_at, n * sizeof *to->items);
    return EVAL_OK;
}

EvalStatus eval_table_fill(EvalTable *t, uint64_t at, uint64_t value, uint64_t n) {
    if (outside(at, n, t->size))
        return EVAL_TABLE_BOUNDS;
    for (uint64_t k = 0; k < n; k++)
        t->items[at + k] = value;
    return EVAL_OK;
}
