/*
 * runtime/shadow_memory.c - shadow memories of scripts.
 */
#include "memory.h"

/* Before the directory. */
typedef struct Head {
    uint64_t value; /* of the element for which there is no page */
    uint64_t lost;
    uint32_t unit; /* of that element */
    uint32_t element_log, unit_log;
    uint32_t unused;
} Head;

enum { PAGE_UNITS = 65536, ENTRY = 4 };

INLINE Head *head(uint32_t shadow) {
    return (Head *)(void *)at(shadow - (uint32_t)sizeof(Head));
}

INLINE uint32_t entry(uint32_t shadow, uint32_t unit) {
    return shadow + ENTRY * (unit / PAGE_UNITS);
}

INLINE uint32_t entries(const Head *h) {
    return PAGE_UNITS >> h->unit_log;
}

VALUES_EXPORT(shadow_new)
uint32_t values_shadow_new(uint32_t element_log, uint32_t unit_log) {
    Head h = {.element_log = element_log, .unit_log = unit_log};
    uint32_t bytes = (uint32_t)sizeof h + ENTRY * entries(&h), block = values_block(bytes);
    __builtin_memset(at(block), 0, bytes);
    *(Head *)(void *)at(block) = h;
    return block + (uint32_t)sizeof h;
}

VALUES_EXPORT(shadow_unit)
uint32_t values_shadow_unit(uint64_t address, uint32_t unit_log) {
    return (address >> 32 ? UINT32_MAX : (uint32_t)address) >> unit_log;
}

/* ---- elements ---- */

INLINE uint32_t postpone(uint32_t shadow, uint32_t unit, uint64_t value) {
    head(shadow)->unit = unit;
    head(shadow)->value = value;
    return 1;
}

#define ELEMENT(T, page, unit) ((T *)(void *)at(page))[(unit) % PAGE_UNITS]

#define ELEMENTS(bits, T, Value)                                                                   \
    VALUES_EXPORT(shadow_get##bits)                                                                \
    Value values_shadow_get##bits(uint32_t shadow, uint32_t unit) {                                \
        uint32_t page = get32(entry(shadow, unit));                                                \
        return page ? ELEMENT(T, page, unit) : 0;                                                  \
    }                                                                                              \
    VALUES_EXPORT(shadow_set##bits)                                                                \
    uint32_t values_shadow_set##bits(uint32_t shadow, Value value, uint32_t unit) {                \
        uint32_t page = get32(entry(shadow, unit));                                                \
        if (!page)                                                                                 \
            return postpone(shadow, unit, value);                                                  \
        ELEMENT(T, page, unit) = (T)value;                                                         \
        return 0;                                                                                  \
    }                                                                                              \
    VALUES_EXPORT(shadow_add##bits)                                                                \
    uint32_t values_shadow_add##bits(uint32_t shadow, Value value, uint32_t unit) {                \
        uint32_t page = get32(entry(shadow, unit));                                                \
        if (!page)                                                                                 \
            return postpone(shadow, unit, value);                                                  \
        ELEMENT(T, page, unit) = (T)(ELEMENT(T, page, unit) + value);                              \
        return 0;                                                                                  \
    }

ELEMENTS(8, uint8_t, uint32_t)
ELEMENTS(16, uint16_t, uint32_t)
ELEMENTS(32, uint32_t, uint32_t)
ELEMENTS(64, uint64_t, uint64_t)

/* ---- ranges ---- */

/* Units one after the other, of one page. */
typedef struct Part {
    uint32_t entry; /* address in the directory */
    uint32_t begin; /* offset in bytes in the page */
} Part;

/* Part of a range of units: its first ones, of which there are `units` in the page. */
INLINE Part part_at(uint32_t shadow, const Head *h, uint32_t unit) {
    return (Part){entry(shadow, unit), unit % PAGE_UNITS << h->element_log};
}

/* The first unit of n bytes from an address on; sets the number of units. */
static uint32_t units_of(const Head *h, uint64_t address, uint64_t n, uint64_t *units) {
    const uint64_t end = (uint64_t)1 << 32;
    *units = 0;
    if (!n || address >= end)
        return 0;
    uint64_t last = n < end - address ? address + n - 1 : end - 1;
    *units = (last >> h->unit_log) - (address >> h->unit_log) + 1;
    return (uint32_t)(address >> h->unit_log);
}

/* As many of `units` units as are in the page of the first. */
INLINE uint32_t in_page(uint32_t unit, uint64_t units) {
    uint32_t room = PAGE_UNITS - unit % PAGE_UNITS;
    return units < room ? (uint32_t)units : room;
}

/* Makes a page of zeros, unless it exists; its address, or 0 if there is no memory. */
static uint32_t begin(const Head *h, uint32_t entry) {
    uint32_t bytes = PAGE_UNITS << h->element_log, page = get32(entry);
    if (page)
        return page;
    page = values_block_or_none(bytes);
    if (page)
        __builtin_memset(at(page), 0, bytes);
    set32(entry, page);
    return page;
}

static void put(const Head *h, uint32_t where, uint64_t value) {
    switch (h->element_log) {
    case 0: *at(where) = (uint8_t)value; break;
    case 1: *(uint16_t *)(void *)at(where) = (uint16_t)value; break;
    case 2: set32(where, (uint32_t)value); break;
    default: set64(where, value); break;
    }
}

VALUES_EXPORT(shadow_begin_page)
void values_shadow_begin_page(uint32_t shadow) {
    Head *h = head(shadow);
    Part part = part_at(shadow, h, h->unit);
    uint32_t page = h->value ? begin(h, part.entry) : 0;
    if (page)
        put(h, page + part.begin, h->value);
    else
        h->lost += h->value != 0;
}

/* Sets a few bytes, which takes less time than a bulk instruction. */
static void fill_few(uint32_t from, uint32_t bytes, uint64_t byte) {
    uint64_t word = byte * 0x0101010101010101u;
    for (; bytes >= 8; bytes -= 8, from += 8)
        set64(from, word);
    if (bytes & 4)
        set32(from, (uint32_t)word);
    for (from += bytes & 4, bytes &= 3; bytes; bytes--)
        *at(from++) = (uint8_t)word;
}

/* Sets elements of a page. */
static void fill_bytes(const Head *h, uint32_t from, uint32_t units, uint64_t value) {
    enum { FEW = 64 };
    uint32_t bytes = units << h->element_log, size = 1u << h->element_log;
    if (bytes <= FEW && !h->element_log) {
        fill_few(from, bytes, (uint8_t)value);
        return;
    }
    if (!value || !h->element_log) {
        __builtin_memset(at(from), (int)(uint8_t)value, bytes);
        return;
    }
    put(h, from, value);
    /* The part that is filled doubles. */
    for (uint32_t done = size; done < bytes; done *= 2)
        __builtin_memcpy(at(from + done), at(from), done < bytes - done ? done : bytes - done);
}

VALUES_EXPORT(shadow_fill)
void values_shadow_fill(uint32_t shadow, uint64_t address, uint64_t n, uint64_t value) {
    Head *h = head(shadow);
    uint64_t units;
    uint32_t unit = units_of(h, address, n, &units);
    for (uint32_t some; units; units -= some, unit += some) {
        some = in_page(unit, units);
        Part part = part_at(shadow, h, unit);
        uint32_t page = value ? begin(h, part.entry) : get32(part.entry);
        if (page)
            fill_bytes(h, page + part.begin, some, value);
        else if (value)
            h->lost += some;
    }
}

static bool any_byte(uint32_t from, uint32_t end) {
    for (; end - from >= 8; from += 8)
        if (get64(from))
            return true;
    for (; from < end; from++)
        if (*at(from))
            return true;
    return false;
}

/* ---- accesses of the program ---- */

INLINE uint32_t or_bytes(uint32_t from, uint32_t n) {
    uint64_t word;
    switch (n) {
    case 1: return *at(from);
    case 2: word = *(uint16_t *)(void *)at(from); break;
    case 4: word = get32(from); break;
    case 8: word = get64(from); break;
    default: word = get64(from) | get64(from + 8); break;
    }
    word |= word >> 32;
    word |= word >> 16;
    return (word | word >> 8) & 0xff;
}

/* Of elements that are not all in one page. */
static uint32_t or_apart(uint32_t shadow, uint32_t unit, uint32_t n) {
    uint32_t bits = 0;
    for (; n && unit != UINT32_MAX; n--, unit++) {
        if (head(shadow)->element_log)
            bits |= values_shadow_get32(shadow, unit);
        else
            bits |= values_shadow_get8(shadow, unit);
    }
    return bits;
}

VALUES_EXPORT(shadow_or)
uint32_t values_shadow_or(uint32_t shadow, uint32_t unit, uint32_t n) {
    uint32_t page = get32(entry(shadow, unit)), first = unit % PAGE_UNITS, bits = 0;
    if (first + n > PAGE_UNITS)
        return or_apart(shadow, unit, n);
    if (!page)
        return 0;
    if (!head(shadow)->element_log)
        return or_bytes(page + first, n);
    for (uint32_t k = 0; k < n; k++)
        bits |= get32(page + 4 * (first + k));
    return bits;
}

VALUES_EXPORT(shadow_put)
void values_shadow_put(uint32_t shadow, uint32_t value, uint32_t unit, uint32_t n) {
    uint32_t page = get32(entry(shadow, unit)), first = unit % PAGE_UNITS;
    if (first + n > PAGE_UNITS || (!page && value))
        values_shadow_fill(shadow, unit, n, value);
    else if (page && !head(shadow)->element_log)
        fill_few(page + first, n, value);
    else
        for (uint32_t k = 0; page && k < n; k++)
            set32(page + 4 * (first + k), value);
}

/* Whether one of the elements of a page is not zero. */
static bool any_of(const Head *h, Part part, uint32_t units) {
    uint32_t page = get32(part.entry), from = page + part.begin;
    return page && any_byte(from, from + (units << h->element_log));
}

VALUES_EXPORT(shadow_any)
uint32_t values_shadow_any(uint32_t shadow, uint64_t address, uint64_t n) {
    const Head *h = head(shadow);
    uint64_t units;
    uint32_t unit = units_of(h, address, n, &units);
    for (uint32_t some; units; units -= some, unit += some) {
        some = in_page(unit, units);
        if (any_of(h, part_at(shadow, h, unit), some))
            return 1;
    }
    return 0;
}

/* Copies elements from one page to another, or the same. */
static void copy_part(Head *h, Part to, Part from, uint32_t units) {
    uint32_t bytes = units << h->element_log, source = get32(from.entry);
    if (!any_of(h, from, units)) {
        if (get32(to.entry))
            __builtin_memset(at(get32(to.entry) + to.begin), 0, bytes);
        return;
    }
    uint32_t page = begin(h, to.entry);
    if (page)
        __builtin_memmove(at(page + to.begin), at(source + from.begin), bytes);
    else
        h->lost += units;
}

VALUES_EXPORT(shadow_copy)
void values_shadow_copy(uint32_t shadow, uint64_t to, uint64_t from, uint64_t n) {
    Head *h = head(shadow);
    uint64_t units, from_units;
    uint32_t t = units_of(h, to, n, &units), f = units_of(h, from, n, &from_units);
    if (from_units < units)
        units = from_units;
    bool up = t < f; /* else from the end, as the ranges may overlap */
    for (uint32_t some; units; units -= some) {
        if (up) {
            some = in_page(t, in_page(f, units));
        } else {
            uint32_t t_last = (uint32_t)(t + units - 1) % PAGE_UNITS + 1;
            uint32_t f_last = (uint32_t)(f + units - 1) % PAGE_UNITS + 1;
            some = t_last < f_last ? t_last : f_last;
            some = units < some ? (uint32_t)units : some;
        }
        uint32_t skip = up ? 0 : (uint32_t)(units - some);
        copy_part(h, part_at(shadow, h, t + skip), part_at(shadow, h, f + skip), some);
        t += up ? some : 0;
        f += up ? some : 0;
    }
}

VALUES_EXPORT(shadow_clear)
void values_shadow_clear(uint32_t shadow) {
    const Head *h = head(shadow);
    for (uint32_t i = 0; i < entries(h); i++) {
        uint32_t entry = shadow + ENTRY * i;
        if (!get32(entry))
            continue;
        values_block_free(get32(entry), PAGE_UNITS << h->element_log);
        set32(entry, 0);
    }
}

/* ---- lost elements ---- */

VALUES_EXPORT(shadow_lost)
uint64_t values_shadow_lost(uint32_t shadow) {
    return head(shadow)->lost;
}

static void put_text(uint64_t word) {
    for (; word; word >>= 8)
        values_putc((uint8_t)word);
}

VALUES_EXPORT(shadow_tell)
void values_shadow_tell(uint32_t shadow) {
    if (!head(shadow)->lost)
        return;
    values_putu64(head(shadow)->lost);
    put_text(WORD(" element"));
    put_text(WORD("s of sha"));
    put_text(WORD("dow memo"));
    put_text(WORD("ry lost:"));
    put_text(WORD(" no memo"));
    put_text(WORD("ry\n"));
}
