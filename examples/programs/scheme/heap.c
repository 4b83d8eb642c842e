/*
 * heap.c - segregated cells for small objects, mark and sweep, symbols and tables.
 */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 32 * 1024, FIRST_THRESHOLD = 2 * 1024 * 1024 };

typedef struct Cell {
    Object head;
    struct Cell *next;
} Cell;

typedef struct Block {
    struct Block *next;
    uint32_t cell_size, cells;
    _Alignas(16) char bytes[];
} Block;

typedef struct Large {
    struct Large *next;
    size_t size;
    _Alignas(16) char bytes[];
} Large;

static void *allocate(size_t size) {
    void *p = malloc(size);
    if (!p) {
        fprintf(stderr, "scheme: out of memory\n");
        exit(70);
    }
    return p;
}

void heap_init(Heap *h) {
    memset(h, 0, sizeof *h);
    h->threshold = FIRST_THRESHOLD;
    h->symbol_slots = 1024;
    h->symbols = allocate(h->symbol_slots * sizeof *h->symbols);
    memset(h->symbols, 0, h->symbol_slots * sizeof *h->symbols);
}

void heap_free(Heap *h) {
    for (Block *b = h->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    for (Large *l = h->large, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    free(h->symbols);
    free(h->gray);
}

/* --- Allocation --- */

static void add_block(Heap *h, uint32_t size_class) {
    uint32_t cell_size = (size_class + 1) * CLASS_STEP;
    uint32_t cells = BLOCK_BYTES / cell_size;
    Block *b = allocate(sizeof *b + (size_t)cells * cell_size);
    b->cell_size = cell_size;
    b->cells = cells;
    b->next = h->blocks;
    h->blocks = b;
    for (uint32_t i = cells; i-- > 0;) {
        Cell *cell = (Cell *)(void *)(b->bytes + (size_t)i * cell_size);
        cell->head = (Object){.type = FREE_CELL, .size_class = (uint8_t)size_class};
        cell->next = h->free[size_class];
        h->free[size_class] = cell;
    }
}

static Object *new_large(Heap *h, size_t size) {
    Large *l = allocate(sizeof *l + size);
    l->size = size;
    l->next = h->large;
    h->large = l;
    h->allocated += size;
    return (Object *)(void *)l->bytes;
}

void *heap_new(Heap *h, Type type, size_t size) {
    Object *o;
    uint32_t size_class = (uint32_t)((size - 1) / CLASS_STEP);
    if (size_class >= SIZE_CLASSES) {
        o = new_large(h, size);
        size_class = LARGE_CLASS;
    } else {
        if (!h->free[size_class])
            add_block(h, size_class);
        Cell *cell = h->free[size_class];
        h->free[size_class] = cell->next;
        h->allocated += (size_class + 1) * CLASS_STEP;
        o = &cell->head;
    }
    memset(o, 0, size);
    o->type = (uint8_t)type;
    o->size_class = (uint8_t)size_class;
    o->size = (uint32_t)size;
    return o;
}

Value cons(Heap *h, Value first, Value rest) {
    Pair *p = heap_new(h, TYPE_PAIR, sizeof *p);
    p->car = first;
    p->cdr = rest;
    return from_object(p);
}

Value string_new(Heap *h, const char *bytes, size_t len) {
    String *s = heap_new(h, TYPE_STRING, sizeof *s + len + 1);
    s->len = (uint32_t)len;
    if (bytes)
        memcpy(s->bytes, bytes, len);
    return from_object(s);
}

Value vector_new(Heap *h, uint32_t len, Value fill) {
    Vector *v = heap_new(h, TYPE_VECTOR, sizeof *v + (size_t)len * sizeof(Value));
    v->len = len;
    for (uint32_t i = 0; i < len; i++)
        v->at[i] = fill;
    return from_object(v);
}

Value box_new(Heap *h, Value value) {
    Box *b = heap_new(h, TYPE_BOX, sizeof *b);
    b->value = value;
    return from_object(b);
}

/* --- Symbols --- */

static uint32_t hash_bytes(const char *bytes, size_t len) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    return hash;
}

static void grow_symbols(Heap *h) {
    uint32_t slots = h->symbol_slots * 2;
    Symbol **table = allocate(slots * sizeof *table);
    memset(table, 0, slots * sizeof *table);
    for (uint32_t i = 0; i < h->symbol_slots; i++) {
        Symbol *s = h->symbols[i];
        if (!s)
            continue;
        uint32_t at = s->hash & (slots - 1);
        while (table[at])
            at = (at + 1) & (slots - 1);
        table[at] = s;
    }
    free(h->symbols);
    h->symbols = table;
    h->symbol_slots = slots;
}

Value intern(Heap *h, const char *name, size_t len) {
    if (h->symbol_count * 2 > h->symbol_slots)
        grow_symbols(h);
    uint32_t hash = hash_bytes(name, len);
    uint32_t at = hash & (h->symbol_slots - 1);
    for (; h->symbols[at]; at = (at + 1) & (h->symbol_slots - 1)) {
        Symbol *s = h->symbols[at];
        if (s->hash == hash && s->len == len && memcmp(s->name, name, len) == 0)
            return from_object(s);
    }
    Symbol *s = heap_new(h, TYPE_SYMBOL, sizeof *s + len + 1);
    s->global = UNBOUND;
    s->macro = FALSE;
    s->hash = hash;
    s->len = (uint32_t)len;
    memcpy(s->name, name, len);
    h->symbols[at] = s;
    h->symbol_count++;
    return from_object(s);
}

/* --- Equality and hashes --- */

int32_t list_length(Value list) {
    int32_t len = 0;
    for (; is_pair(list); list = cdr(list))
        if (++len < 0)
            return -1;
    return list == NIL ? len : -1;
}

bool values_eqv(Value a, Value b) {
    return a == b || (is_double(a) && is_double(b) && as_double(a) == as_double(b));
}

static bool equal_at(Value a, Value b, uint32_t depth);

static bool vectors_equal(const Vector *a, const Vector *b, uint32_t depth) {
    if (a->len != b->len)
        return false;
    for (uint32_t i = 0; i < a->len; i++)
        if (!equal_at(a->at[i], b->at[i], depth))
            return false;
    return true;
}

static bool equal_at(Value a, Value b, uint32_t depth) {
    if (depth == 0)
        return false;
    while (is_pair(a) && is_pair(b)) {
        if (!equal_at(car(a), car(b), depth - 1))
            return false;
        a = cdr(a);
        b = cdr(b);
    }
    if (values_eqv(a, b))
        return true;
    if (is_string(a) && is_string(b)) {
        String *s = AS(String, a), *t = AS(String, b);
        return s->len == t->len && memcmp(s->bytes, t->bytes, s->len) == 0;
    }
    if (is_type(a, TYPE_VECTOR) && is_type(b, TYPE_VECTOR))
        return vectors_equal(AS(Vector, a), AS(Vector, b), depth - 1);
    return false;
}

bool values_equal(Value a, Value b) {
    return equal_at(a, b, 2000);
}

static uint32_t mix(uint64_t v) {
    v *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(v >> 32);
}

static uint32_t hash_at(Value v, uint32_t depth) {
    if (depth == 0)
        return 1;
    if (is_double(v) && as_double(v) == 0)
        return 2; /* 0.0 and -0.0 are equal */
    if (is_pair(v))
        return hash_at(car(v), depth - 1) * 31 + hash_at(cdr(v), depth - 1);
    if (is_symbol(v))
        return AS(Symbol, v)->hash; /* not the address: the order in tables must not depend on it */
    if (is_string(v))
        return hash_bytes(AS(String, v)->bytes, AS(String, v)->len);
    if (is_type(v, TYPE_VECTOR))
        return AS(Vector, v)->len ? hash_at(AS(Vector, v)->at[0], depth - 1) + 7 : 7;
    return mix(v);
}

uint32_t value_hash(Value v) {
    return hash_at(v, 8);
}

/* --- Tables --- */

enum { FIRST_SLOTS = 8 };

Value table_new(Heap *h) {
    Value slots = vector_new(h, FIRST_SLOTS * 2, UNBOUND);
    Table *t = heap_new(h, TYPE_TABLE, sizeof *t);
    t->slots = slots;
    return from_object(t);
}

/* The slot of the key, or of the first place where it could be put. */
static Value *find_slot(const Table *t, Value key) {
    Vector *slots = AS(Vector, t->slots);
    uint32_t mask = slots->len / 2 - 1;
    Value *deleted = NULL;
    for (uint32_t i = value_hash(key) & mask;; i = (i + 1) & mask) {
        Value *slot = &slots->at[i * 2];
        if (*slot == UNBOUND)
            return deleted ? deleted : slot;
        if (*slot == FAILED)
            deleted = deleted ? deleted : slot;
        else if (values_equal(*slot, key))
            return slot;
    }
}

static bool is_occupied(Value key) {
    return key != UNBOUND && key != FAILED;
}

Value table_get(const Table *t, Value key, Value otherwise) {
    Value *slot = find_slot(t, key);
    return is_occupied(*slot) ? slot[1] : otherwise;
}

static void rehash(Heap *h, Table *t) {
    Vector *old = AS(Vector, t->slots);
    uint32_t slots = FIRST_SLOTS;
    while (slots < t->count * 3)
        slots *= 2;
    t->slots = vector_new(h, slots * 2, UNBOUND);
    for (uint32_t i = 0; i < old->len; i += 2)
        if (is_occupied(old->at[i])) {
            Value *slot = find_slot(t, old->at[i]);
            slot[0] = old->at[i];
            slot[1] = old->at[i + 1];
        }
    t->used = t->count;
}

void table_set(Heap *h, Table *t, Value key, Value value) {
    Value *slot = find_slot(t, key);
    if (!is_occupied(*slot)) {
        if (*slot == UNBOUND && (t->used + 1) * 4 > AS(Vector, t->slots)->len / 2 * 3) {
            rehash(h, t);
            slot = find_slot(t, key);
        }
        t->used += *slot == UNBOUND;
        t->count++;
        slot[0] = key;
    }
    slot[1] = value;
}

void table_delete(Table *t, Value key) {
    Value *slot = find_slot(t, key);
    if (is_occupied(*slot)) {
        slot[0] = slot[1] = FAILED;
        t->count--;
    }
}

/* --- Collection --- */

void heap_mark(Heap *h, Value v) {
    if (!is_object(v) || as_object(v)->marked)
        return;
    as_object(v)->marked = 1;
    if (h->gray_len == h->gray_cap) {
        h->gray_cap = h->gray_cap ? h->gray_cap * 2 : 1024;
        h->gray = realloc(h->gray, h->gray_cap * sizeof *h->gray);
        if (!h->gray) {
            fprintf(stderr, "scheme: out of memory\n");
            exit(70);
        }
    }
    h->gray[h->gray_len++] = as_object(v);
}

static void mark_array(Heap *h, const Value *at, uint32_t len) {
    for (uint32_t i = 0; i < len; i++)
        heap_mark(h, at[i]);
}

/* Continuations are vectors in another dress: see vm.c. */
static void mark_fields(Heap *h, Object *o) {
    switch ((Type)o->type) {
    case TYPE_PAIR:
        heap_mark(h, ((Pair *)(void *)o)->car);
        heap_mark(h, ((Pair *)(void *)o)->cdr);
        break;
    case TYPE_SYMBOL:
        heap_mark(h, ((Symbol *)(void *)o)->global);
        heap_mark(h, ((Symbol *)(void *)o)->macro);
        break;
    case TYPE_VECTOR:
    case TYPE_CONTINUATION:
        mark_array(h, ((Vector *)(void *)o)->at, ((Vector *)(void *)o)->len);
        break;
    case TYPE_TABLE: heap_mark(h, ((Table *)(void *)o)->slots); break;
    case TYPE_BOX: heap_mark(h, ((Box *)(void *)o)->value); break;
    case TYPE_CODE:
        heap_mark(h, ((Code *)(void *)o)->name);
        heap_mark(h, ((Code *)(void *)o)->constants);
        break;
    case TYPE_CLOSURE:
        heap_mark(h, from_object(((Closure *)(void *)o)->code));
        mark_array(h, ((Closure *)(void *)o)->free, ((Closure *)(void *)o)->len);
        break;
    case TYPE_MACRO:
        heap_mark(h, ((Macro *)(void *)o)->ellipsis_literals);
        heap_mark(h, ((Macro *)(void *)o)->rules);
        break;
    case TYPE_CONDITION:
        heap_mark(h, ((Condition *)(void *)o)->message);
        heap_mark(h, ((Condition *)(void *)o)->irritants);
        break;
    case TYPE_STRING:
    case TYPE_BUILTIN:
    case TYPE_COUNT: break;
    }
}

static void sweep_blocks(Heap *h) {
    memset(h->free, 0, sizeof h->free);
    for (Block *b = h->blocks; b; b = b->next)
        for (uint32_t i = 0; i < b->cells; i++) {
            Cell *cell = (Cell *)(void *)(b->bytes + (size_t)i * b->cell_size);
            uint32_t size_class = cell->head.size_class;
            if (cell->head.marked) {
                cell->head.marked = 0;
                h->live += b->cell_size;
            } else {
                cell->head.type = FREE_CELL;
                cell->next = h->free[size_class];
                h->free[size_class] = cell;
            }
        }
}

static void sweep_large(Heap *h) {
    for (Large **l = &h->large; *l;) {
        Object *o = (Object *)(void *)(*l)->bytes;
        if (o->marked) {
            o->marked = 0;
            h->live += (*l)->size;
            l = &(*l)->next;
        } else {
            Large *dead = *l;
            *l = dead->next;
            free(dead);
        }
    }
}

void heap_collect_if_due(Heap *h, void (*mark_roots)(Heap *h, void *context), void *context) {
    if (h->allocated < h->threshold)
        return;
    for (uint32_t i = 0; i < h->symbol_slots; i++)
        if (h->symbols[i])
            heap_mark(h, from_object(h->symbols[i]));
    mark_roots(h, context);
    while (h->gray_len)
        mark_fields(h, h->gray[--h->gray_len]);
    h->live = 0;
    sweep_blocks(h);
    sweep_large(h);
    h->allocated = 0;
    h->threshold = h->live > FIRST_THRESHOLD ? h->live : FIRST_THRESHOLD;
    h->collections++;
}
