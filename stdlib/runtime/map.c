/*
 * runtime/map.c - maps.
 *
 * Maps from numbers to numbers are those of words (word_map.c). All others keep their entries in an
 * array, in the order of insertion until one is deleted, and find them through an index with open
 * addressing, whose slots are addresses of entries. So a look-up reads one slot and one key, and
 * multiplies nothing. Both tables double together.
 */
#include "memory.h"

enum { FIRST_SLOTS = 8, NO_LEAVES_ENTRY = 8 };

MapHeader *values_map_header(uint32_t map) {
    if (map < V->nmaps)
        return (MapHeader *)at(V->maps) + map;
    return map - V->nmaps < V->nmore ? (MapHeader *)at(V->more_maps) + (map - V->nmaps) : NULL;
}

INLINE MapHeader *header_of(uint32_t map) {
    if (map < V->nmaps)
        return (MapHeader *)at(V->maps) + map;
    if (map - V->nmaps >= V->nmore)
        __builtin_trap();
    return (MapHeader *)at(V->more_maps) + (map - V->nmaps);
}

static uint64_t entry_size(const MapHeader *h) {
    uint32_t leaves = (uint32_t)h->key_leaves + h->value_leaves;
    return leaves ? 8 * leaves : NO_LEAVES_ENTRY;
}

static uint32_t capacity(const MapHeader *h) {
    return h->index ? (h->mask + 1) / 2 : 0;
}

/* The first byte of the description of the type's values. */
uint8_t values_value_kind(uint32_t type) {
    uint32_t d = key_description(type), rest = 1;
    for (; rest; rest--)
        if (*at(d++) == REPORT_TUPLE)
            rest += *at(d++);
    return *at(d);
}

/* Sets up a map at its first use. */
static void map_start(MapHeader *h, uint32_t type) {
    h->type = type;
    h->key_leaves = *at(type + 4);
    h->value_leaves = *at(type + 5);
    h->plain = true;
    uint32_t d = key_description(type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = next_kind(&d);
        if (kind == REPORT_STR || kind == REPORT_F32 || kind == REPORT_F64)
            h->plain = false;
    }
    words_start(h);
}

/* A key whose leaves are at `key`. */
static uint64_t hash_key(const MapHeader *h, const uint64_t *key) {
    uint64_t hash = 0;
    uint32_t d = key_description(h->type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint64_t leaf = key[i];
        if (!h->plain && next_kind(&d) == REPORT_STR)
            leaf = values_hash_bytes((uint32_t)leaf + 4, get32((uint32_t)leaf));
        hash = hash_step(hash, leaf);
    }
    return hash;
}

static bool equal_keys(const MapHeader *h, const uint64_t *a, const uint64_t *b) {
    uint32_t d = key_description(h->type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        bool str = !h->plain && next_kind(&d) == REPORT_STR;
        if (a[i] != b[i] && !(str && values_str_eq((uint32_t)a[i], (uint32_t)b[i])))
            return false;
    }
    return true;
}

static const uint64_t *key_at(uint32_t entry) {
    return (const uint64_t *)at(entry);
}

/* The key in V->key, where all zeros are the same. */
static void normalise_key(const MapHeader *h) {
    uint32_t d = key_description(h->type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = next_kind(&d);
        if ((kind == REPORT_F32 && V->key[i] == 1u << 31) ||
            (kind == REPORT_F64 && V->key[i] == (uint64_t)1 << 63))
            V->key[i] = 0;
    }
}

INLINE uint32_t slot_address(const MapHeader *h, uint64_t place) {
    return h->index + 4 * (uint32_t)place;
}

/* The first free slot for a hash. */
static uint32_t free_slot(const MapHeader *h, uint64_t hash) {
    uint64_t place = hash >> h->shift;
    while (get32(slot_address(h, place)))
        place = (place + 1) & h->mask;
    return slot_address(h, place);
}

void values_map_reindex(MapHeader *h) {
    if (!h->index)
        return;
    __builtin_memset(at(h->index), 0, 4 * ((size_t)h->mask + 1));
    uint64_t each = entry_size(h);
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t entry = (uint32_t)(h->entries + i * each);
        set32(free_slot(h, hash_key(h, key_at(entry))), entry);
    }
}

static void map_grow(MapHeader *h) {
    uint64_t each = entry_size(h), cap = capacity(h);
    uint64_t slots = cap ? 4 * cap : FIRST_SLOTS;
    uint32_t entries = values_block(slots / 2 * each), index = values_block(4 * slots);
    __builtin_memcpy(at(entries), at(h->entries), (size_t)(h->count * each));
    values_block_free(h->entries, cap * each);
    values_block_free(h->index, 4 * (2 * cap));
    h->entries = entries;
    h->index = index;
    h->mask = (uint32_t)(slots - 1);
    h->shift = (uint8_t)(64 - __builtin_ctzll(slots));
    values_map_reindex(h);
}

/* A new entry with the key in V->key; the address of its value. */
static uint32_t insert(MapHeader *h, uint64_t hash) {
    if (h->count == capacity(h))
        map_grow(h);
    uint64_t each = entry_size(h);
    uint32_t entry = (uint32_t)(h->entries + h->count * each);
    __builtin_memcpy(at(entry), V->key, 8 * (size_t)h->key_leaves);
    __builtin_memset(at(entry + 8 * h->key_leaves), 0, 8 * (size_t)h->value_leaves);
    set32(free_slot(h, hash), entry);
    h->count++;
    return entry + 8 * h->key_leaves;
}

/* The value of a missing key. */
static uint32_t missing(uint32_t type) {
    if (values_value_kind(type) > REPORT_BOOL)
        __builtin_trap();
    return 0; /* the memory begins with zeros */
}

/* The address of the value of the key in V->key, of any type; 0 if it is missing. Sets its hash. */
static uint32_t seek(MapHeader *h, uint64_t *hash) {
    if (!h->plain)
        normalise_key(h);
    *hash = hash_key(h, V->key);
    for (uint64_t place = *hash >> h->shift; h->index; place = (place + 1) & h->mask) {
        uint32_t entry = get32(slot_address(h, place));
        if (!entry)
            break;
        if (equal_keys(h, V->key, key_at(entry)))
            return entry + 8 * h->key_leaves;
    }
    return 0;
}

__attribute__((noinline)) static uint32_t look_up(uint32_t map, uint32_t type, bool insert_it) {
    MapHeader *h = header_of(map);
    uint64_t hash;
    if (!h->type)
        map_start(h, type);
    if (h->words) /* the memory begins with zeros */
        return words_seek(map, h, words_pack(h), insert_it);
    uint32_t there = seek(h, &hash);
    return there ? there : insert_it ? insert(h, hash) : missing(type);
}

/* The same for n leaves of the plain kinds, without a loop over them. */
INLINE uint32_t look_up_plain(uint32_t map, uint32_t type, bool insert_it, uint32_t n, uint64_t k0,
                              uint64_t k1, uint64_t k2) {
    const MapHeader *h = header_of(map);
    if (h->plain && h->index && !h->words) {
        uint64_t hash = hash_step(0, k0);
        if (n > 1)
            hash = hash_step(hash, k1);
        if (n > 2)
            hash = hash_step(hash, k2);
        for (uint64_t place = hash >> h->shift;; place = (place + 1) & h->mask) {
            uint32_t entry = get32(slot_address(h, place));
            if (!entry)
                break;
            const uint64_t *key = key_at(entry);
            if (key[0] == k0 && (n < 2 || key[1] == k1) && (n < 3 || key[2] == k2))
                return entry + 8 * n;
        }
    }
    V->key[0] = k0;
    V->key[1] = k1;
    V->key[2] = k2;
    return look_up(map, type, insert_it);
}

VALUES_EXPORT(map_at1)
uint32_t values_map_at1(uint32_t map, uint32_t type, uint64_t k0) {
    MapHeader *h = header_of(map);
    if (h->words) {
        uint32_t quick = words_quick(h, k0);
        return quick ? quick : words_seek(map, h, k0, true);
    }
    return look_up_plain(map, type, true, 1, k0, 0, 0);
}

VALUES_EXPORT(map_at2)
uint32_t values_map_at2(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1) {
    return look_up_plain(map, type, true, 2, k0, k1, 0);
}

VALUES_EXPORT(map_at3)
uint32_t values_map_at3(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1, uint64_t k2) {
    return look_up_plain(map, type, true, 3, k0, k1, k2);
}

VALUES_EXPORT(map_at)
uint32_t values_map_at(uint32_t map, uint32_t type) {
    return look_up(map, type, true);
}

VALUES_EXPORT(map_find1)
uint32_t values_map_find1(uint32_t map, uint32_t type, uint64_t k0) {
    MapHeader *h = header_of(map);
    if (h->words) {
        uint32_t quick = words_quick(h, k0);
        return quick ? quick : words_seek(map, h, k0, false);
    }
    return look_up_plain(map, type, false, 1, k0, 0, 0);
}

VALUES_EXPORT(map_find2)
uint32_t values_map_find2(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1) {
    return look_up_plain(map, type, false, 2, k0, k1, 0);
}

VALUES_EXPORT(map_find3)
uint32_t values_map_find3(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1, uint64_t k2) {
    return look_up_plain(map, type, false, 3, k0, k1, k2);
}

VALUES_EXPORT(map_find)
uint32_t values_map_find(uint32_t map, uint32_t type) {
    return look_up(map, type, false);
}

/* The lower bound of bucket k of a histogram, whose type ends with three numbers: the least and
 * the most of its steps and their size, which is 0 where buckets are powers of two: from bucket 64
 * on of positive numbers, unless the first one is 64, too. */
static uint64_t bucket_bound(uint32_t type, uint32_t k, uint32_t n) {
    uint32_t steps = type + 4 + get32(type) - 24;
    uint64_t least = get64(steps), most = get64(steps + 8), step = get64(steps + 16);
    if (!step) {
        k += (uint32_t)least;
        return k > 64 ? (uint64_t)1 << (k - 65) : k == 64 ? 0 : 0 - ((uint64_t)1 << (63 - k));
    }
    return k == 0 ? (uint64_t)1 << 63 : k == n - 1 ? most : least + (k - 1) * step;
}

static void add_counts(uint32_t map, uint32_t type, uint32_t counts, uint32_t n, uint32_t marked) {
    uint32_t size = marked & 1 ? 16 : 8;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t count = counts + size * k, mark = count + size - 8;
        if (!get64(mark))
            continue;
        uint64_t sum = get64(count);
        set64(count, 0);
        set64(mark, 0);
        uint64_t key = marked & 2 ? bucket_bound(type, k, n) : k;
        uint32_t value = values_map_at1(map, type, key);
        if (header_of(map)->slot_log == 3)
            set64(value, get64(value) + sum);
        else
            set32(value, get32(value) + (uint32_t)sum);
    }
}

VALUES_EXPORT(map_tally)
void values_map_tally(uint32_t map, uint32_t step, uint32_t times, uint32_t type, uint32_t counts,
                      uint32_t n, uint32_t marked) {
    for (; times; times--, map += step, counts += (marked & 1 ? 16 : 8) * n)
        add_counts(map, type, counts, n, marked);
}

VALUES_EXPORT(map_has)
uint32_t values_map_has(uint32_t map) {
    uint64_t hash;
    MapHeader *h = header_of(map);
    if (!h->type)
        return false;
    return h->words ? words_seek(map, h, words_pack(h), false) != 0 : seek(h, &hash) != 0;
}

VALUES_EXPORT(map_len)
uint32_t values_map_len(uint32_t map) {
    return header_of(map)->count;
}

/* Frees a slot of the index: entries that it kept from their first slots move up. */
static void free_place(const MapHeader *h, uint64_t place) {
    uint64_t hole = place & h->mask;
    for (uint64_t next = (hole + 1) & h->mask;; next = (next + 1) & h->mask) {
        uint32_t entry = get32(slot_address(h, next));
        if (!entry)
            break;
        uint64_t first = hash_key(h, key_at(entry)) >> h->shift;
        if (((next - first) & h->mask) < ((next - hole) & h->mask))
            continue; /* it may not move before its first slot */
        set32(slot_address(h, hole), entry);
        hole = next;
    }
    set32(slot_address(h, hole), 0);
}

/* The slot of the index that has an entry, which is in the map. */
static uint64_t place_of(const MapHeader *h, uint32_t entry) {
    uint64_t place = hash_key(h, key_at(entry)) >> h->shift;
    while (get32(slot_address(h, place)) != entry)
        place = (place + 1) & h->mask;
    return place;
}

/* The last entry takes the place of the deleted one: no reader depends on the order of entries. */
static void delete_entry(MapHeader *h, uint32_t entry) {
    uint64_t each = entry_size(h);
    uint32_t last = (uint32_t)(h->entries + (h->count - 1) * each);
    free_place(h, place_of(h, entry));
    if (entry != last) {
        set32(slot_address(h, place_of(h, last)), entry);
        __builtin_memcpy(at(entry), at(last), (size_t)each);
    }
    h->count--;
}

VALUES_EXPORT(map_delete)
void values_map_delete(uint32_t map) {
    uint64_t hash;
    MapHeader *h = header_of(map);
    if (!h->count)
        return;
    if (h->words) {
        words_delete(h, words_pack(h));
        return;
    }
    uint32_t value = seek(h, &hash);
    if (value)
        delete_entry(h, value - 8 * h->key_leaves);
}

/* The header of the keys of a loop, which follow. */
typedef struct Keys {
    uint32_t current, next, end; /* addresses */
    uint32_t leaves;             /* of a key */
} Keys;

/* The bytes of a key; one without leaves has some, too. */
static uint32_t key_size(uint32_t leaves) {
    return leaves ? 8 * leaves : 8;
}

static void copy_keys(MapHeader *h, uint32_t to) {
    WordCursor c;
    if (h->words) {
        words_first(h, &c);
        for (uint32_t i = 0; i < h->count; i++, to += key_size(h->key_leaves))
            words_next(h, &c, (uint64_t *)at(to));
        return;
    }
    values_map_sort(h);
    for (uint32_t i = 0; i < h->count; i++, to += key_size(h->key_leaves))
        __builtin_memcpy(at(to), at(get32(h->index + 4 * i)), 8 * (size_t)h->key_leaves);
    values_map_reindex(h);
}

VALUES_EXPORT(map_keys)
uint32_t values_map_keys(uint32_t map) {
    MapHeader *h = header_of(map);
    uint64_t size = (uint64_t)key_size(h->key_leaves) * h->count;
    uint32_t keys = values_block(sizeof(Keys) + size), first = keys + sizeof(Keys);
    *(Keys *)at(keys) = (Keys){0, first, first + (uint32_t)size, h->key_leaves};
    if (h->count)
        copy_keys(h, first);
    return keys;
}

VALUES_EXPORT(keys_next)
uint32_t values_keys_next(uint32_t map, uint32_t keys) {
    Keys *k = (Keys *)at(keys);
    while (k->next != k->end) {
        k->current = k->next;
        k->next += key_size(k->leaves);
        __builtin_memcpy(V->key, at(k->current), 8 * (size_t)k->leaves);
        if (values_map_has(map))
            return true;
    }
    return false;
}

VALUES_EXPORT(keys_free)
void values_keys_free(uint32_t keys) {
    values_block_free(keys, ((const Keys *)at(keys))->end - keys);
}

VALUES_EXPORT(key)
void values_key(uint32_t n, uint64_t leaf) {
    V->key[n & VALUES_MAX_LEAVES] = leaf;
}

static void more_grow(void) {
    uint64_t cap = V->more_cap, each = sizeof(MapHeader);
    uint32_t block = values_block((cap ? 2 * cap : 8) * each);
    __builtin_memcpy(at(block), at(V->more_maps), (size_t)(cap * each));
    values_block_free(V->more_maps, cap * each);
    V->more_maps = block;
    V->more_cap = (uint32_t)(cap ? 2 * cap : 8);
}

VALUES_EXPORT(map_new)
uint32_t values_map_new(void) {
    uint32_t map = V->free_map - 1;
    if (V->free_map) {
        V->free_map = header_of(map)->mask;
    } else {
        if (V->nmore == V->more_cap)
            more_grow();
        map = V->nmaps + V->nmore++;
    }
    *header_of(map) = (MapHeader){0};
    return map;
}

VALUES_EXPORT(map_free)
void values_map_free(uint32_t map) {
    MapHeader *h = header_of(map);
    if (h->words) {
        words_free(h);
    } else {
        values_block_free(h->entries, capacity(h) * entry_size(h));
        values_block_free(h->index, 8 * (uint64_t)capacity(h));
    }
    *h = (MapHeader){.free_page = h->free_page};
    if (map >= V->nmaps) {
        h->mask = V->free_map;
        V->free_map = map + 1;
    }
}

VALUES_EXPORT(map_clear)
void values_map_clear(uint32_t map) {
    for (uint32_t other = V->free_map; other; other = header_of(other - 1)->mask)
        if (other - 1 == map)
            __builtin_trap();
    values_map_free(map);
    if (map >= V->nmaps)
        values_map_new(); /* returns the map that was freed last */
}
