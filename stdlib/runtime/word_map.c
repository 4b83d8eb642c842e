/*
 * runtime/word_map.c - maps from numbers to numbers.
 *
 * A key, a number or a tuple of numbers with 64 bits or less together, is a word. Words are often
 * neighbours: addresses of an array, line numbers, small numbers. Therefore they share pages. A
 * page has a slot for each word base + (n << shift), n < slots of a block, which is 1 << level
 * words that differ in their lower bits only. It begins as one slot in a block of 64, its region.
 * Pages of a region are united if the result has at most eight slots per key. When half of the
 * slots are used, a page grows to the block of twice the size, with all keys in it, unless the
 * result has more than four slots per key. A key for which a large page has no slot, since it is
 * between its words, makes the slots finer, on the same condition; otherwise it gets a small page
 * within the block. If several pages have a slot for a key, it is in the largest of them. So memory
 * is bounded by the number of keys, a dense map is an array, and a sparse one has a page for each
 * key. The index finds pages by level and block, by open addressing.
 *
 * The code of scripts remembers, for each access, the page that it used last (gen/page.c). If that
 * page has a slot for the key, and the slot is not zero, the key is in this page and the look-up is
 * over. Therefore headers of pages are never used for anything else, and those of maps that live
 * for the whole run stay with their maps.
 */
#include "memory.h"

enum { REGION = 6, MAX_LEVEL = 26, FIRST_PLACES = 8 };
enum { SLOTS_FOR_KEY = 8, KEYS_TO_GROW = 4 };
enum { PAGE_SHIFT_BITS = 5 };

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
    h->bits = (uint8_t)bits;
    h->flagged = last == 1 && before > 1 ? (uint8_t)before : 0;
    h->slot_log = is_wide(value) ? 3 : 2;
    uint32_t top =
        (h->flagged ? before : last) - 1; /* above it, words are not in the keys' order */
    h->words = (uint8_t)(top < REGION ? REGION : top < MAX_LEVEL ? top : MAX_LEVEL);
}

/* Converts a word to leaves in their order, the last one lowest, or back. Where a bool follows a
 * number, it is above that in a word, so that neighbours differ in low bits. */
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

INLINE uint32_t slot_at(const MapHeader *h, const Page *page, uint32_t n) {
    return page->values + (n << h->slot_log);
}

INLINE uint64_t base_of(const Page *page) {
    return (uint64_t)page->high << 32 | page->low;
}

INLINE void set_base(Page *page, uint64_t base) {
    page->low = (uint32_t)base;
    page->high = (uint32_t)(base >> 32);
}

INLINE uint32_t slots_of(const Page *page) {
    return page->shape >> PAGE_SHIFT_BITS;
}

INLINE uint32_t shift_of(const Page *page) {
    return page->shape & ((1u << PAGE_SHIFT_BITS) - 1);
}

/* The number of the slot that a word would have; `slots` or more: it has none. */
INLINE uint64_t slot_of(const Page *page, uint64_t word) {
    uint64_t n = word - base_of(page);
    uint32_t shift = shift_of(page);
    return n >> shift | n << (-shift & 63);
}

INLINE uint64_t word_of(const Page *page, uint32_t n) {
    return base_of(page) + ((uint64_t)n << shift_of(page));
}

/* Marks of 64 slots: those that are in the map. A page of one slot is never without a key. */
INLINE uint64_t *marks_of(Page *page, uint32_t n) {
    return slots_of(page) > 64 ? (uint64_t *)at((uint32_t)page->own) + n / 64 : &page->own;
}

static uint64_t marks_at(const Page *page, uint32_t n) {
    return slots_of(page) > 1 ? *marks_of((Page *)page, n) : page->keys;
}

/* The list of free headers for pages of a map. */
static uint32_t *free_headers(uint32_t map) {
    return map < V->nmaps ? &values_map_header(map)->free_page : &V->free_page;
}

/* A header that has no slots. */
static uint32_t new_header(uint32_t map) {
    uint32_t *list = free_headers(map), item = *list;
    if (item)
        *list = (uint32_t)page_at(item)->own;
    else
        item = values_block(sizeof(Page));
    *page_at(item) = (Page){.map = map};
    return item;
}

static uint64_t values_size(const MapHeader *h, uint32_t log) {
    return (uint64_t)1 << log << h->slot_log;
}

static uint64_t marks_size(uint32_t log) {
    return (uint64_t)1 << log >> 3;
}

/* Sets the slots of a page in a header without any; false if memory is exhausted. */
static bool make_slots(const MapHeader *h, uint32_t item, uint32_t log) {
    Page *page = page_at(item);
    if (log == 0) {
        page->values = item + (uint32_t) __builtin_offsetof(Page, own);
    } else {
        uint32_t values = values_block_or_none(values_size(h, log));
        uint32_t marks = values && log > REGION ? values_block_or_none(marks_size(log)) : 0;
        if (!values || (log > REGION && !marks)) {
            values_block_free(values, values_size(h, log));
            return false;
        }
        __builtin_memset(at(values), 0, (size_t)values_size(h, log));
        if (marks)
            __builtin_memset(at(marks), 0, (size_t)marks_size(log));
        page = page_at(item);
        page->values = values;
        page->own = marks;
    }
    page->shape = 1u << log << PAGE_SHIFT_BITS;
    page->log = (uint8_t)log;
    return true;
}

static void free_slots(const MapHeader *h, Page *page) {
    if (page->log > 0)
        values_block_free(page->values, values_size(h, page->log));
    if (page->log > REGION)
        values_block_free((uint32_t)page->own, marks_size(page->log));
}

/* References to the page find no slots from now on. */
static void free_page(const MapHeader *h, uint32_t item) {
    uint32_t *list = free_headers(page_at(item)->map);
    free_slots(h, page_at(item));
    *page_at(item) = (Page){.own = *list};
    *list = item;
}

/* ---- the index ---- */

INLINE uint32_t place_at(const MapHeader *h, uint64_t place) {
    return h->index + 4 * (uint32_t)(place & h->mask);
}

/* The first slot of the index to search for pages of a block; the search goes on to the first free
 * slot. */
INLINE uint64_t first_place(const MapHeader *h, uint64_t word, uint32_t level) {
    return hash_step(level, word >> level) >> h->shift;
}

static bool is_of_block(uint32_t item, uint64_t word, uint32_t level) {
    return item != WORD_GONE && page_at(item)->level == level &&
           (base_of(page_at(item)) ^ word) >> level == 0;
}

/* The size of the index: slots, and room to sort the pages. */
static uint64_t index_size(uint64_t places) {
    return 4 * places + 2 * places;
}

static void put_page(MapHeader *h, uint32_t item) {
    uint64_t place = first_place(h, base_of(page_at(item)), page_at(item)->level);
    while (get32(place_at(h, place)) > WORD_GONE)
        place++;
    h->used += get32(place_at(h, place)) == 0;
    h->levels |= 1u << page_at(item)->level;
    set32(place_at(h, place), item);
}

/* Makes room for one page more. */
static void index_grow(MapHeader *h) {
    uint64_t old = h->index ? (uint64_t)h->mask + 1 : 0, live = 0;
    if (2 * ((uint64_t)h->used + 1) <= old)
        return;
    MapHeader before = *h;
    for (uint64_t i = 0; i < old; i++)
        live += get32(place_at(h, i)) > WORD_GONE;
    uint64_t places = !old ? FIRST_PLACES : 4 * live > old ? 2 * old : old;
    h->index = values_block(index_size(places));
    h->mask = (uint32_t)(places - 1);
    h->shift = (uint8_t)(64 - __builtin_ctzll(places));
    h->used = 0;
    __builtin_memset(at(h->index), 0, 4 * (size_t)places);
    for (uint64_t i = 0; i < old; i++) {
        uint32_t item = get32(place_at(&before, i));
        if (item > WORD_GONE)
            put_page(h, item);
    }
    values_block_free(before.index, index_size(old));
}

/* ---- pages become one ---- */

/* A block whose pages, and a new key, may become one page. */
typedef struct Union {
    uint64_t word; /* the new key, or one of its keys */
    uint32_t level;
    uint64_t differ; /* the bits in which its words differ */
    uint32_t keys, pages;
    uint32_t shift, log;
} Union;

static void add_page(Union *u, const Page *page) {
    u->differ |= (base_of(page) ^ u->word) | (uint64_t)(slots_of(page) - 1) << shift_of(page);
    u->keys += page->keys;
    u->pages++;
}

static void move_slots(const MapHeader *h, const Page *from, Page *to) {
    for (uint32_t i = 0; i < slots_of(from); i += 64) {
        for (uint64_t marks = marks_at(from, i); marks; marks &= marks - 1) {
            uint32_t k = i + (uint32_t)__builtin_ctzll(marks);
            uint32_t n = (uint32_t)slot_of(to, word_of(from, k));
            *marks_of(to, n) |= (uint64_t)1 << (n & 63);
            __builtin_memcpy(at(slot_at(h, to, n)), at(slot_at(h, from, k)), 1u << h->slot_log);
        }
    }
    to->keys += from->keys;
}

/* Visits each page in the block: adds it to the union, or moves its keys to a page. */
static void each_page(MapHeader *h, Union *u, uint32_t to) {
    for (uint32_t level = REGION; level <= u->level; level++) {
        if (!(h->levels >> level & 1))
            continue;
        uint64_t first = u->word >> u->level << (u->level - level);
        for (uint64_t i = 0; i < (uint64_t)1 << (u->level - level); i++) {
            uint64_t word = (first + i) << level;
            uint32_t item;
            for (uint64_t p = first_place(h, word, level); (item = get32(place_at(h, p))); p++) {
                if (!is_of_block(item, word, level))
                    continue;
                if (!to) {
                    add_page(u, page_at(item));
                    continue;
                }
                move_slots(h, page_at(item), page_at(to));
                free_page(h, item);
                set32(place_at(h, p), WORD_GONE);
            }
        }
    }
}

/* Whether the block should have one page. */
static bool can_unite(MapHeader *h, Union *u, bool new_key) {
    u->keys = new_key;
    each_page(h, u, 0);
    if (!u->differ)
        return false;
    bool small = u->level == REGION;
    u->shift = (uint32_t)__builtin_ctzll(u->differ);
    u->log = (small ? 64 - (uint32_t)__builtin_clzll(u->differ) : u->level) - u->shift;
    uint64_t most = (uint64_t)u->keys * SLOTS_FOR_KEY;
    if ((uint64_t)1 << u->log > most)
        return false;
    while (u->shift + u->log < u->level && (uint64_t)2 << u->log <= most)
        u->log++; /* room for more keys */
    return true;
}

/* A page of the block, which replaces all its pages; 0 if memory is exhausted. */
static uint32_t unite(uint32_t map, MapHeader *h, Union *u) {
    index_grow(h);
    uint32_t to = new_header(map);
    if (!make_slots(h, to, u->log)) {
        free_page(h, to);
        return 0;
    }
    Page *page = page_at(to);
    set_base(page, u->word & ~(low_bits(u->shift + u->log) & ~low_bits(u->shift)));
    page->shape |= u->shift;
    page->level = (uint8_t)u->level;
    each_page(h, u, to);
    put_page(h, to);
    return to;
}

/* Whether a page is dense enough to take over the other half of the next larger block. */
static bool may_grow(const MapHeader *h, const Page *page) {
    return page->keys >= KEYS_TO_GROW && 4 * page->keys >= slots_of(page) && page->level < h->words;
}

/* Growing is tried again at twice as many keys, so trying costs no more than inserting them. */
static void refuse(Page *page) {
    page->refused = true;
    page->retry = 2 * page->keys;
}

static bool is_refused(const Page *page) {
    return page->refused && page->keys < page->retry;
}

/* Extends a page that is dense enough by the other half of the next larger block. Returns the
 * page. */
static uint32_t grow(uint32_t map, MapHeader *h, uint32_t item) {
    for (;;) {
        Page *page = page_at(item);
        if (!may_grow(h, page) || page->keys < page->retry)
            return item;
        Union u = {.word = base_of(page), .level = page->level + 1u};
        bool dense = can_unite(h, &u, false);
        uint32_t next = dense && u.pages > 1 ? unite(map, h, &u) : 0;
        if (!next) {
            refuse(page);
            page->refused = !dense;
            return item;
        }
        item = next;
    }
}

/* Extends the page in the other half of a block to it, with a new key; 0 = there is no such
 * page. */
static uint32_t extend(uint32_t map, MapHeader *h, uint64_t word) {
    for (uint32_t levels = h->levels; levels; levels &= levels - 1) {
        uint32_t level = (uint32_t)__builtin_ctz(levels), item;
        uint64_t other = word ^ (uint64_t)1 << level;
        for (uint64_t p = first_place(h, other, level); (item = get32(place_at(h, p))); p++) {
            Page *page = page_at(item);
            if (!is_of_block(item, other, level) || !may_grow(h, page) || is_refused(page))
                continue;
            Union u = {.word = word, .level = level + 1};
            uint32_t next = can_unite(h, &u, true) ? unite(map, h, &u) : 0;
            if (next)
                return next;
            refuse(page);
        }
    }
    return 0;
}

/* ---- looking keys up ---- */

/* The page that has a slot for a key; 0 = there is none. */
INLINE uint32_t find_page(const MapHeader *h, uint64_t word) {
    for (uint32_t levels = h->levels; levels; levels &= ~(1u << (31 - __builtin_clz(levels)))) {
        uint32_t item;
        uint64_t place = first_place(h, word, 31 - (uint32_t)__builtin_clz(levels));
        for (; (item = get32(place_at(h, place))); place++)
            if (item != WORD_GONE && slot_of(page_at(item), word) < slots_of(page_at(item)))
                return item;
    }
    return 0;
}

/* The page of a block larger than a region, if it has no slot for one of its keys. */
static uint32_t page_around(const MapHeader *h, uint64_t word) {
    for (uint32_t levels = h->levels >> (REGION + 1) << (REGION + 1); levels;
         levels &= levels - 1) {
        uint32_t item, level = (uint32_t)__builtin_ctz(levels);
        for (uint64_t p = first_place(h, word, level); (item = get32(place_at(h, p))); p++)
            if (is_of_block(item, word, level))
                return item;
    }
    return 0;
}

/* Makes the slots of a large page finer so that there is one for the key; 0 = they stay. */
static uint32_t refine(uint32_t map, MapHeader *h, uint32_t item, uint64_t word) {
    Page *page = page_at(item);
    uint32_t shift = (uint32_t)__builtin_ctzll(base_of(page) ^ word);
    if (is_refused(page) ||
        (uint64_t)1 << (page->level - shift) > (uint64_t)page->keys * SLOTS_FOR_KEY)
        return 0;
    Union u = {.word = word, .level = page->level};
    uint32_t next = can_unite(h, &u, true) ? unite(map, h, &u) : 0;
    if (!next)
        refuse(page);
    return next;
}

/* A page that has a slot for a new key. */
static uint32_t page_for(uint32_t map, MapHeader *h, uint64_t word) {
    uint32_t around = page_around(h, word);
    uint32_t item = around ? refine(map, h, around, word) : extend(map, h, word);
    if (item)
        return item;
    Union u = {.word = word, .level = REGION};
    if (h->index && can_unite(h, &u, true))
        item = unite(map, h, &u);
    if (item)
        return item;
    index_grow(h);
    item = new_header(map);
    make_slots(h, item, 0);
    Page *page = page_at(item);
    set_base(page, word);
    page->level = REGION;
    put_page(h, item);
    return item;
}

static bool is_there(const Page *page, uint32_t n) {
    return marks_at(page, n) >> (n & 63) & 1;
}

__attribute__((noinline)) static uint32_t insert(uint32_t map, MapHeader *h, uint32_t item,
                                                 uint64_t word) {
    if (!item)
        item = page_for(map, h, word);
    Page *page = page_at(item);
    uint32_t n = (uint32_t)slot_of(page, word);
    if (slots_of(page) > 1)
        *marks_of(page, n) |= (uint64_t)1 << (n & 63);
    page->keys++;
    h->count++;
    return grow(map, h, item);
}

uint32_t words_seek(uint32_t map, MapHeader *h, uint64_t word, bool insert_it) {
    uint32_t item = find_page(h, word);
    if (!item || !is_there(page_at(item), (uint32_t)slot_of(page_at(item), word))) {
        if (!insert_it) {
            V->page = 0; /* the page without slots: otherwise code would keep the last page, of
                            another map */
            return 0;
        }
        item = insert(map, h, item, word);
    }
    V->page = item;
    return slot_at(h, page_at(item), (uint32_t)slot_of(page_at(item), word));
}

/* Takes a page without keys out of the map. */
static void drop_page(MapHeader *h, uint32_t item) {
    uint64_t place = first_place(h, base_of(page_at(item)), page_at(item)->level);
    while (get32(place_at(h, place)) != item)
        place++;
    set32(place_at(h, place), WORD_GONE);
    free_page(h, item);
}

void words_delete(MapHeader *h, uint64_t word) {
    uint32_t item = find_page(h, word);
    Page *page = page_at(item);
    uint32_t n = item ? (uint32_t)slot_of(page, word) : 0;
    if (!item || !is_there(page, n))
        return;
    /* Code that keeps the page looks no further where the slot is not zero. */
    __builtin_memset(at(slot_at(h, page, n)), 0, 1u << h->slot_log);
    if (slots_of(page) > 1)
        *marks_of(page, n) &= ~((uint64_t)1 << (n & 63));
    page->keys--;
    h->count--;
    if (!page->keys)
        drop_page(h, item);
}

void words_free(MapHeader *h) {
    for (uint64_t i = 0; h->index && i <= h->mask; i++)
        if (get32(place_at(h, i)) > WORD_GONE)
            free_page(h, get32(place_at(h, i)));
    if (h->index)
        values_block_free(h->index, index_size((uint64_t)h->mask + 1));
}

/* ---- keys in their order ---- */

/* The order of a page's first slot. */
static uint64_t page_order(const MapHeader *h, const WordCursor *c, uint32_t i) {
    return in_order(h, base_of(page_at(get32(c->items + 4 * i)))) ^ c->signs;
}

/* Sifts the page at `i` down in the heap of the first n. */
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
    c->signs = sign_bits(h);
    c->nitems = c->item = c->nopen = 0;
    if (!h->index)
        return;
    c->items = h->index + 4 * (h->mask + 1);
    for (uint64_t i = 0; i <= h->mask; i++)
        if (get32(place_at(h, i)) > WORD_GONE)
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

/* The first slot from n on that is in the map; `slots` if there is none. */
static uint32_t next_slot(const Page *page, uint32_t n) {
    while (n < slots_of(page)) {
        uint64_t marks = marks_at(page, n) >> (n & 63);
        if (marks)
            return n + (uint32_t)__builtin_ctzll(marks);
        n = (n | 63) + 1;
    }
    return slots_of(page);
}

static uint64_t order_of(const MapHeader *h, const WordCursor *c, const OpenPage *open) {
    return in_order(h, word_of(page_at(open->page), open->slot)) ^ c->signs;
}

/* Pages whose keys may come next are open. Blocks are nested, so these are few. */
static void open_pages(const MapHeader *h, WordCursor *c, uint64_t least) {
    for (; c->item < c->nitems; c->item++) {
        if (c->nopen && page_order(h, c, c->item) > least)
            return;
        if (c->nopen == WORD_OPEN_PAGES)
            __builtin_trap();
        uint32_t item = get32(c->items + 4 * c->item);
        OpenPage open = {item, next_slot(page_at(item), 0)};
        if (open.slot == slots_of(page_at(item)))
            continue;
        c->open[c->nopen++] = open;
        if (order_of(h, c, &open) < least)
            least = order_of(h, c, &open);
    }
}

/* The open page with the smallest key. */
static uint32_t least_open(const MapHeader *h, const WordCursor *c) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < c->nopen; i++)
        if (order_of(h, c, &c->open[i]) < order_of(h, c, &c->open[found]))
            found = i;
    return found;
}

uint32_t words_next(const MapHeader *h, WordCursor *c, uint64_t *leaves) {
    open_pages(h, c, c->nopen ? order_of(h, c, &c->open[least_open(h, c)]) : ~(uint64_t)0);
    if (!c->nopen)
        return 0;
    OpenPage *open = &c->open[least_open(h, c)];
    const Page *page = page_at(open->page);
    uint32_t value = slot_at(h, page, open->slot);
    unpack(h, in_order(h, word_of(page, open->slot)), leaves);
    open->slot = next_slot(page, open->slot + 1);
    if (open->slot == slots_of(page))
        *open = c->open[--c->nopen];
    return value;
}
