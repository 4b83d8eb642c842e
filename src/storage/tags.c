/*
 * storage/tags.c - the tags of values, for code of scripts.
 */
#include "storage/tags.h"

#include "wasm/emit.h"

static const TagSite *find_site(const TagPlaces *t, uint32_t offset) {
    uint32_t low = 0, high = t->sites.len;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->sites.at[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    bool found = low < t->sites.len && t->sites.at[low].offset == offset;
    return found ? &t->sites.at[low] : NULL;
}

/* The depth of an operand or result at an instruction; false if there is none. */
static bool find_depth(const TagPlaces *t, Tagged of, uint32_t n, uint32_t offset,
                       uint32_t *depth) {
    const TagSite *at = find_site(t, offset);
    if (!at || n >= (of == TAGGED_ARG ? at->nparams : at->nresults))
        return false;
    *depth =
        of == TAGGED_ARG ? at->height - 1 - n : at->height - at->nparams + at->nresults - 1 - n;
    return *depth < t->slots.len;
}

void tags_put(const TagPlaces *t, const WasmModule *m, const Hole *h, const Variant *v,
              const Site *site, Buf *out) {
    Tagged of = (Tagged)(h->n % TAGGED_KINDS);
    uint32_t n = h->n / TAGGED_KINDS, depth;
    bool get = h->access == HOLE_GET, code = v && v->event.kind == EVENT_OPCODE && site->instr;
    if (of == TAGGED_LOCAL && n < t->nlocals)
        put_index(out, get ? WASM_OP_LOCAL_GET : WASM_OP_LOCAL_SET, t->local + n);
    else if (of == TAGGED_RESULT && !code && n < t->nresults)
        put_index(out, get ? WASM_OP_GLOBAL_GET : WASM_OP_GLOBAL_SET,
                  wasm_final(m, WASM_SPACE_GLOBAL, t->result + t->nresults - 1 - n));
    else if (of != TAGGED_LOCAL && code && find_depth(t, of, n, site->instr->offset, &depth))
        put_index(out, get ? WASM_OP_LOCAL_GET : WASM_OP_LOCAL_SET, t->slots.at[depth]);
    else if (get)
        put_i32(out, 0);
    else
        wasm_put_op(out, WASM_OP_DROP);
}

void tags_free(TagPlaces *t) {
    vec_free(&t->slots);
    vec_free(&t->sites);
}
