/*
 * edit/handlers.c - which exceptions handlers in a function catch.
 *
 * The clauses of a legacy `try` come after its body, so one pass collects the handlers before the
 * walk.
 */
#include "edit/handlers.h"

typedef struct WasmTryInfo {
    bool all;       /* has a clause for everything */
    bool delegates; /* has no clauses, but delegates to the label `delegate` */
    uint32_t delegate;
    uint32_t tags; /* first of the list + 1, 0 = none */
} TryInfo;

typedef struct WasmTryTag {
    uint32_t tag, next;
} TryTag;

typedef struct WasmTryFrame {
    bool covers; /* in the part that the handlers of `info` cover */
    uint32_t info;
} TryFrame;

static void add_tag(WasmHandlers *h, uint32_t info, uint32_t tag) {
    TryInfo *t = &h->tries.at[info];
    vec_push(&h->tags, (TryTag){tag, t->tags});
    t->tags = h->tags.len;
}

static void add_try_table(WasmHandlers *h, const WasmInstr *i) {
    uint32_t info = h->tries.len;
    vec_add(&h->tries);
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        WasmCatch c = wasm_vec_catch(&at);
        if (c.kind < 2)
            add_tag(h, info, c.tag);
        else
            h->tries.at[info].all = true;
    }
}

/* Adds a clause to the innermost construct. */
static void add_clause(WasmHandlers *h, const WasmInstr *i) {
    if (!h->frames.len || !vec_last(&h->frames).covers)
        return;
    uint32_t info = vec_last(&h->frames).info;
    if (i->op == WASM_OP_CATCH)
        add_tag(h, info, i->a);
    else if (i->op == WASM_OP_CATCH_ALL)
        h->tries.at[info].all = true;
    if (i->op != WASM_OP_DELEGATE)
        return;
    h->tries.at[info].delegates = true;
    h->tries.at[info].delegate = i->a;
}

bool wasm_handlers_scan(WasmHandlers *h, WasmCode code) {
    bool throws = false;
    WasmInstr i;
    while (wasm_next(&code, &i)) {
        switch (i.op) {
        case WASM_OP_BLOCK:
        case WASM_OP_LOOP:
        case WASM_OP_IF: vec_push(&h->frames, (TryFrame){0}); break;
        case WASM_OP_TRY_TABLE:
            vec_push(&h->frames, (TryFrame){0});
            add_try_table(h, &i);
            break;
        case WASM_OP_TRY:
            vec_push(&h->frames, (TryFrame){true, h->tries.len});
            vec_add(&h->tries);
            break;
        case WASM_OP_CATCH:
        case WASM_OP_CATCH_ALL: add_clause(h, &i); break;
        case WASM_OP_DELEGATE:
            add_clause(h, &i);
            h->frames.len -= h->frames.len > 0;
            break;
        case WASM_OP_END: h->frames.len -= h->frames.len > 0; break;
        case WASM_OP_THROW:
        case WASM_OP_THROW_REF:
        case WASM_OP_RETHROW: throws = true; break;
        default: break;
        }
    }
    h->frames.len = 0;
    return throws;
}

void wasm_handlers_step(WasmHandlers *h, const WasmInstr *i) {
    switch (i->op) {
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF: vec_push(&h->frames, (TryFrame){0}); break;
    case WASM_OP_TRY:
    case WASM_OP_TRY_TABLE: vec_push(&h->frames, (TryFrame){true, h->seen++}); break;
    case WASM_OP_CATCH:
    case WASM_OP_CATCH_ALL:
        if (h->frames.len)
            vec_last(&h->frames).covers = false;
        break;
    case WASM_OP_DELEGATE:
    case WASM_OP_END: h->frames.len -= h->frames.len > 0; break;
    default: break;
    }
}

/* Two imports may be one tag. */
static bool may_be_same(const WasmModule *m, uint32_t a, uint32_t b) {
    if (a >= m->tags.len || b >= m->tags.len)
        return false;
    const WasmTag *x = &m->tags.at[a], *y = &m->tags.at[b];
    return x->import >= 0 && y->import >= 0 &&
           m->types.at[x->type].canonical == m->types.at[y->type].canonical;
}

/* Whether a clause for a tag catches the exceptions of `i`. */
static WasmCaught by_tag(const WasmHandlers *h, const WasmModule *m, const TryInfo *t,
                         const WasmInstr *i) {
    WasmCaught caught = WASM_NOT_CAUGHT;
    for (uint32_t k = t->tags; k; k = h->tags.at[k - 1].next) {
        uint32_t tag = h->tags.at[k - 1].tag;
        if (i->op == WASM_OP_THROW && tag == i->a)
            return WASM_CAUGHT;
        if (i->op != WASM_OP_THROW || may_be_same(m, tag, i->a))
            caught = WASM_MAYBE_CAUGHT;
    }
    return caught;
}

WasmCaught wasm_handlers_catch(const WasmHandlers *h, const WasmModule *m, const WasmInstr *i) {
    WasmCaught caught = WASM_NOT_CAUGHT;
    for (uint32_t k = h->frames.len; k-- > 0;) {
        const TryFrame *f = &h->frames.at[k];
        if (!f->covers || f->info >= h->tries.len)
            continue;
        const TryInfo *t = &h->tries.at[f->info];
        WasmCaught here = t->all ? WASM_CAUGHT : by_tag(h, m, t, i);
        if (here == WASM_CAUGHT)
            return here;
        if (here == WASM_MAYBE_CAUGHT)
            caught = here;
        if (!t->delegates)
            continue;
        if (t->delegate >= k)
            return caught; /* to the caller */
        k -= t->delegate;  /* label 0 is the construct around the try */
    }
    return caught;
}

void wasm_handlers_free(WasmHandlers *h) {
    vec_free(&h->tries);
    vec_free(&h->tags);
    vec_free(&h->frames);
}
