/*
 * dwarf/dwarf_span.c - sorted intervals.
 */
#include <assert.h>

#include "dwarf/dwarf_parts.h"

static bool is_settled(const DwarfSpans *spans) {
    for (uint32_t i = 1; i < spans->len; i++)
        if (spans->at[i].start < spans->at[i - 1].end)
            return false;
    return true;
}

/* A span and its place in the list, which is its priority. */
typedef struct Ranked {
    DwarfSpan span;
    uint32_t rank;
} Ranked;

static int dwarf_span_by_start(const void *pa, const void *pb) {
    const Ranked *a = pa, *b = pb;
    if (a->span.start != b->span.start)
        return a->span.start < b->span.start ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* A heap with the highest rank first. */
typedef Vec(Ranked) Heap;

static void heap_push(Heap *h, Ranked r) {
    vec_push(h, r);
    uint32_t i = h->len - 1;
    for (; i && h->at[(i - 1) / 2].rank < r.rank; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = r;
}

static void heap_pop(Heap *h) {
    Ranked r = h->at[--h->len];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < h->len; i = child) {
        if (child + 1 < h->len && h->at[child + 1].rank > h->at[child].rank)
            child++;
        if (h->at[child].rank <= r.rank)
            break;
        h->at[i] = h->at[child];
    }
    if (h->len)
        h->at[i] = r;
}

static void dwarf_span_append(DwarfSpans *out, DwarfSpan span) {
    if (out->len && vec_last(out).end == span.start && vec_last(out).value == span.value)
        vec_last(out).end = span.end;
    else
        vec_push(out, span);
}

/* A sweep over the addresses; the heap has the spans that have begun. */
static void sweep(const Ranked *r, uint32_t n, DwarfSpans *out) {
    Heap heap = {0};
    uint32_t address = 0;
    for (uint32_t i = 0; i < n || heap.len;) {
        if (!heap.len)
            address = r[i].span.start;
        while (i < n && r[i].span.start <= address)
            heap_push(&heap, r[i++]);
        while (heap.len && heap.at[0].span.end <= address)
            heap_pop(&heap);
        if (!heap.len)
            continue;
        uint32_t end = heap.at[0].span.end;
        if (i < n && r[i].span.start < end)
            end = r[i].span.start;
        dwarf_span_append(out, (DwarfSpan){address, end, heap.at[0].span.value});
        address = end;
    }
    vec_free(&heap);
}

void dwarf_settle(DwarfSpans *spans) {
    if (is_settled(spans))
        return;
    uint32_t n = spans->len;
    Ranked *ranked = mem_alloc(n * sizeof *ranked);
    for (uint32_t i = 0; i < n; i++)
        ranked[i] = (Ranked){spans->at[i], i};
    qsort(ranked, n, sizeof *ranked, dwarf_span_by_start);
    spans->len = 0;
    sweep(ranked, n, spans);
    free(ranked);
    assert(is_settled(spans));
}

const DwarfSpan *dwarf_span_at(const DwarfSpans *spans, uint32_t address, uint32_t *hint) {
    if (*hint < spans->len && spans->at[*hint].start <= address && address < spans->at[*hint].end)
        return &spans->at[*hint];
    uint32_t low = 0, high = spans->len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans->at[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    *hint = low;
    return low < spans->len && spans->at[low].start <= address ? &spans->at[low] : NULL;
}
