/*
 * runtime/word_map.c - maps from numbers to numbers.
 *
 * A key, a number or a tuple of numbers with 64 bits or less together, is a word. Words are often
 * neighbours: addresses of an array, line numbers, small numbers. So 64 words that differ in their
 * low six bits only are a region, and its keys share a page: an array that begins and ends where
 * they do and has as many slots as keys that far apart can have, such as one for each eighth
 * address. A page gets no more than eight times as many slots as it has keys; keys that are too far
 * apart for that have a page each. Thus a region has one page of several slots at most, and fewer
 * than eight others. The index finds the pages of a region, by open addressing.
 *
 * The cache has the page that was used last of each region, where regions of all maps compete for
 * places. Code of scripts looks there first (gen/element.c): if the page has a slot for the key, and
 * the number in the slot is not zero, so that the key is in the map, that is all.
 */
#include "memory.h"

enum { REGION_LOG = 6, FIRST_SLOTS = 8, SLOTS_FOR_KEY = 8 };
enum { GONE = 8 }; /* in the index: here was a page, which is no address of one */

/* ---- words ---- */

static bool is_wide(uint8_t kind) {
    return kind == REPORT_U64 || kind == REPORT_I64 || kind == REPORT_F64;
}

static bool is_signed(uint8_t kind) {
    return kind == REPORT_I8 || kind == REPORT_I16 || kind == REPORT_I32 || kind == REPORT_I64;
}

INLINE uint64_t low_bits(uint32_t n) {
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

void words_start(MapHeader *h) {
    uint32_t d = key_description(h->type), bits = 0, last = 0, before = 0;
    uint8_t value = values_value_kind(h->type);
    if (!h->plain || value > REPORT_BOOL || h->key_leaves == 0)
        return;
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        before = last;
        bits += last = values_word_bits(next_kind(&d), h->key_leaves);
    }
    if (bits > 64)
        return;
    h->words = true;
    h->bits = (uint8_t)bits;
    h->flagged = last == 1 && before > 1 ? (uint8_t)before : 0;
    h->slot_log = is_wide(value) ? 3 : 2;
}

/* The leaves in their order, the last one lowest, from a word, or the other way round. Where a bool
 * follows a number, it is above that in a word, so that neighbours differ in low bits. */
static uint64_t in_order(const MapHeader *h, uint64_t word) {
    uint32_t n = h->flagged;
    if (!n)
        return word;
    uint64_t above = word >> n;
    return (above >> 1 << n | (word & low_bits(n))) << 1 | (above & 1);
}

static uint64_t from_order(const MapHeader *h, uint64_t leaves) {
    uint32_t n = h->flagged;
    if (!n)
        return leaves;
    uint64_t above = leaves >> 1 >> n;
    return (above << 1 | (leaves & 1)) << n | (leaves >> 1 & low_bits(n));
}

uint64_t words_pack(const MapHeader *h) {
    uint32_t d = key_description(h->type);
    uint64_t leaves = 0;
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint32_t n = values_word_bits(next_kind(&d), h->key_leaves);
        leaves = (n < 64 ? leaves << n : 0) | (V->key[i] & low_bits(n));
    }
    return from_order(h, leaves);
}

static void unpack(const MapHeader *h, uint64_t ordered, uint64_t *leaves) {
    uint32_t d = key_description(h->type), below = h->bits;
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = next_kind(&d);
        uint32_t n = values_word_bits(kind, h->key_leaves);
        below -= n;
        uint64_t leaf = ordered >> below & low_bits(n);
        if (is_signed(kind) && n < 32)
            leaf = (uint32_t)((int32_t)(leaf << (32 - n)) >> (32 - n));
        leaves[i] = leaf;
    }
}

/* The bits that say of leaves in order that one is negative. */
static uint64_t sign_bits(const MapHeader *h) {
    uint32_t d = key_description(h->type), below = h->bits;
    uint64_t signs = 0;
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = next_kind(&d);
        below -= values_word_bits(kind, h->key_leaves);
        if (is_signed(kind))
            signs |= (uint64_t)1 << (below + values_word_bits(kind, h->key_leaves) - 1);
    }
    return signs;
}

/* ---- pages ---- */

INLINE Page *page_at(uint32_t item) {
    return (Page *)at(item);
}

INLINE uint32_t slot_at(const MapHeader *h, uint32_t page, uint32_t n) {
    return page + (uint32_t)sizeof(Page) + (n << h->slot_log);
}

static uint64_t page_size(const MapHeader *h, uint32_t log) {
    return sizeof(Page) + ((uint64_t)1 << log << h->slot_log);
}

/* The number of the slot that a word would have; `slots` or more: it has none. */
INLINE uint64_t slot_of(const Page *page, uint64_t word) {
    uint64_t n = word - page->base;
    return n >> page->shift | n << (-page->shift & 63);
}

static uint32_t new_page(uint32_t map, const MapHeader *h, uint64_t base, uint32_t shift,
                         uint32_t log) {
    uint32_t item = values_block(page_size(h, log));
    __builtin_memset(at(item), 0, (size_t)page_size(h, log));
    Page *page = page_at(item);
    page->base = base;
    page->map = map;
    page->slots = (uint16_t)(1u << log);
    page->shift = (uint8_t)shift;
    page->log = (uint8_t)log;
    return item;
}

#ifdef HOST_IMPORT
INLINE void remember(uint32_t map, uint64_t word, uint32_t item) {
    (void)map, (void)word, (void)item;
}

INLINE void forget(uint32_t item) {
    (void)item;
}
#else
INLINE void remember(uint32_t map, uint64_t word, uint32_t item) {
    set32(VALUES_CACHE + 4 * values_cache_place(map, word), item);
}

/* Before the page goes. */
static void forget(uint32_t item) {
    const Page *page = page_at(item);
    uint32_t place = VALUES_CACHE + 4 * values_cache_place(page->map, page->base);
    if (get32(place) == item)
        set32(place, 0);
}
#endif

static void free_page(const MapHeader *h, uint32_t item) {
    forget(item);
    values_block_free(item, page_size(h, page_at(item)->log));
}

/* ---- the index ---- */

INLINE uint32_t place_at(const MapHeader *h, uint64_t place) {
    return h->index + 4 * (uint32_t)(place & h->mask);
}

INLINE uint64_t first_place(const MapHeader *h, uint64_t word) {
    return hash_step(0, word >> REGION_LOG) >> h->shift;
}

/* Places, and room to sort the pages. */
static uint64_t index_size(uint64_t places) {
    return 4 * places + 2 * places;
}

static void put_page(MapHeader *h, uint32_t item) {
    uint64_t place = first_place(h, page_at(item)->base);
    while (get32(place_at(h, place)) > GONE)
        place++;
    h->used += get32(place_at(h, place)) == 0;
    set32(place_at(h, place), item);
}

static void index_grow(MapHeader *h) {
    uint64_t old = h->index ? (uint64_t)h->mask + 1 : 0, live = 0;
    MapHeader before = *h;
    for (uint64_t i = 0; i < old; i++)
        live += get32(place_at(h, i)) > GONE;
    uint64_t places = !old ? FIRST_SLOTS : 4 * live > old ? 2 * old : old;
    h->index = values_block(index_size(places));
    h->mask = (uint32_t)(places - 1);
    h->shift = (uint8_t)(64 - __builtin_ctzll(places));
    h->used = 0;
    __builtin_memset(at(h->index), 0, 4 * (size_t)places);
    for (uint64_t i = 0; i < old; i++) {
        uint32_t item = get32(place_at(&before, i));
        if (item > GONE)
            put_page(h, item);
    }
    values_block_free(before.index, index_size(old));
}

/* ---- insertion ---- */

/* What a page of all keys of a region would be. */
typedef struct Union {
    uint64_t differ; /* the bits in which its words differ */
    uint32_t keys;
    uint32_t shift, log;
} Union;

/* Whether the keys of the region are close enough together, with the new word, for one page. */
static bool can_unite(const MapHeader *h, uint64_t word, Union *u) {
    *u = (Union){.keys = 1};
    uint32_t item;
    for (uint64_t place = first_place(h, word); (item = get32(place_at(h, place))); place++) {
        const Page *page = page_at(item);
        if (item == GONE || (page->base ^ word) >> REGION_LOG)
            continue;
        u->differ |= (page->base ^ word) | (uint64_t)(page->slots - 1) << page->shift;
        u->keys += (uint32_t)__builtin_popcountll(page->marks);
    }
    if (!u->differ)
        return false; /* there is nothing to unite with */
    u->shift = (uint32_t)__builtin_ctzll(u->differ);
    u->log = 64 - (uint32_t)__builtin_clzll(u->differ) - u->shift;
    uint32_t most = SLOTS_FOR_KEY * u->keys;
    if (1u << u->log > most)
        return false;
    while (u->shift + u->log < REGION_LOG && 2u << u->log <= most)
        u->log++; /* soon there will be more */
    return true;
}

/* Moves what a page has into the slots of another one. */
static void move_slots(const MapHeader *h, uint32_t from, uint32_t to) {
    const Page *old = page_at(from);
    Page *page = page_at(to);
    for (uint64_t marks = old->marks; marks; marks &= marks - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(marks);
        uint32_t n = (uint32_t)slot_of(page, old->base + ((uint64_t)i << old->shift));
        page->marks |= (uint64_t)1 << n;
        __builtin_memcpy(at(slot_at(h, to, n)), at(slot_at(h, from, i)), 1u << h->slot_log);
    }
}

/* One page in place of all that a region has. */
static uint32_t unite(uint32_t map, MapHeader *h, uint64_t word, const Union *u) {
    uint64_t base = word & ~(low_bits(u->shift + u->log) & ~low_bits(u->shift));
    uint32_t to = new_page(map, h, base, u->shift, u->log), item;
    bool put = false;
    for (uint64_t place = first_place(h, word); (item = get32(place_at(h, place))); place++) {
        if (item == GONE || (page_at(item)->base ^ word) >> REGION_LOG)
            continue;
        move_slots(h, item, to);
        free_page(h, item);
        set32(place_at(h, place), put ? GONE : to);
        put = true;
    }
    return to;
}

/* A page that has a slot for a new key. */
static uint32_t page_for(uint32_t map, MapHeader *h, uint64_t word) {
    Union u;
    if (h->index && can_unite(h, word, &u))
        return unite(map, h, word, &u);
    uint32_t item = new_page(map, h, word, 0, 0);
    if (!h->index || 2 * ((uint64_t)h->used + 1) > (uint64_t)h->mask + 1)
        index_grow(h);
    put_page(h, item);
    return item;
}

/* The page that has a slot for a key; 0 = there is none. */
INLINE uint32_t find_page(const MapHeader *h, uint64_t word) {
    if (!h->index)
        return 0;
    for (uint64_t place = first_place(h, word);; place++) {
        uint32_t item = get32(place_at(h, place));
        if (!item || (item != GONE && slot_of(page_at(item), word) < page_at(item)->slots))
            return item;
    }
}

uint32_t words_seek(uint32_t map, MapHeader *h, uint64_t word, bool insert) {
    uint32_t item = find_page(h, word);
    if (!item && !insert)
        return 0;
    if (!item)
        item = page_for(map, h, word);
    remember(map, word, item);
    Page *page = page_at(item);
    uint32_t n = (uint32_t)slot_of(page, word);
    bool there = page->marks >> n & 1;
    if (!there && !insert)
        return 0;
    h->count += !there;
    page->marks |= (uint64_t)1 << n;
    return slot_at(h, item, n);
}

void words_free(MapHeader *h) {
    for (uint64_t i = 0; h->index && i <= h->mask; i++)
        if (get32(place_at(h, i)) > GONE)
            free_page(h, get32(place_at(h, i)));
    values_block_free(h->index, index_size((uint64_t)h->mask + 1));
}

/* ---- keys in their order ---- */

/* A page by the least key that it may have. */
static uint64_t page_order(const MapHeader *h, const WordCursor *c, uint32_t n) {
    return in_order(h, page_at(get32(c->items + 4 * n))->base) ^ c->signs;
}

/* Lets the page at `i` sink in the heap of the first n. */
static void sift(const MapHeader *h, const WordCursor *c, uint32_t i, uint32_t n) {
    uint32_t item = get32(c->items + 4 * i);
    uint64_t order = page_order(h, c, i);
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && page_order(h, c, child) < page_order(h, c, child + 1))
            child++;
        if (order >= page_order(h, c, child))
            break;
        set32(c->items + 4 * i, get32(c->items + 4 * child));
    }
    set32(c->items + 4 * i, item);
}

void words_first(const MapHeader *h, WordCursor *c) {
    *c = (WordCursor){.signs = sign_bits(h)};
    if (!h->index)
        return;
    c->items = h->index + 4 * (h->mask + 1);
    for (uint64_t i = 0; i <= h->mask; i++)
        if (get32(place_at(h, i)) > GONE)
            set32(c->items + 4 * c->nitems++, get32(place_at(h, i)));
    for (uint32_t i = c->nitems / 2; i-- > 0;)
        sift(h, c, i, c->nitems);
    for (uint32_t n = c->nitems; n-- > 1;) {
        uint32_t last = get32(c->items + 4 * n);
        set32(c->items + 4 * n, get32(c->items));
        set32(c->items, last);
        sift(h, c, 0, n);
    }
}

/* Keys of a region, and those that differ from them in the bool, lie between each other's. */
static uint32_t group_log(const MapHeader *h) {
    return REGION_LOG + (h->flagged != 0);
}

/* The group of pages that begins where the last one ended; false = there is none. */
static bool next_group(const MapHeader *h, WordCursor *c) {
    c->group = c->end;
    c->from = 0;
    while (c->end < c->nitems &&
           (page_order(h, c, c->end) ^ page_order(h, c, c->group)) >> group_log(h) == 0)
        c->end++;
    return c->group < c->end;
}

/* The least key of a page that is not below c->from in its group; false = it has no such. */
static bool least_key(const MapHeader *h, const WordCursor *c, const Page *page, uint64_t *order) {
    uint32_t from = c->from, base = (uint32_t)(page->base & low_bits(REGION_LOG));
    if (h->flagged)
        from = (from + 1 - (uint32_t)(page->base >> h->flagged & 1)) >> 1;
    uint32_t n = from > base ? (from - base + (1u << page->shift) - 1) >> page->shift : 0;
    uint64_t marks = n < 64 ? page->marks >> n << n : 0;
    if (marks)
        *order = in_order(h, page->base + ((uint64_t)__builtin_ctzll(marks) << page->shift)) ^ c->signs;
    return marks != 0;
}

uint32_t words_next(const MapHeader *h, WordCursor *c, uint64_t *leaves) {
    for (;;) {
        uint32_t found = 0;
        uint64_t least = 0, order;
        for (uint32_t i = c->group; i < c->end; i++) {
            uint32_t item = get32(c->items + 4 * i);
            if (least_key(h, c, page_at(item), &order) && (!found || order < least)) {
                found = item;
                least = order;
            }
        }
        if (found) {
            c->from = (uint32_t)(least & low_bits(group_log(h))) + 1;
            unpack(h, least ^ c->signs, leaves);
            return slot_at(h, found, (uint32_t)slot_of(page_at(found), from_order(h, least ^ c->signs)));
        }
        if (!next_group(h, c))
            return 0;
    }
}
