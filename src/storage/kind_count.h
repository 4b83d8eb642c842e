/*
 * storage/kind_count.h - what is counted at the instructions of one kind, where that is the same at
 * all of them (Site.decided): it is found at the first one; the others are only places.
 */
#ifndef WHAMMC_STORAGE_KIND_COUNT_H
#define WHAMMC_STORAGE_KIND_COUNT_H

#include "storage/storage.h"

/* A share of a variable of Counts. */
typedef struct KindShare {
    uint32_t var;
    unsigned ways; /* of a branch: WAY_... */
    uint64_t amount;
} KindShare;

typedef struct KindMatch {
    Action *action;
    CountEvent event;
    bool before; /* ... the instruction, without more ado */
    bool ways;   /* some of it only on one way of a branch */
    uint32_t first_share, nshares, first_row, nrows;
} KindMatch;

/* The probes at a kind of instruction. */
typedef struct KindCount {
    bool found;
    bool all;          /* all that they do is counted by segments, the same everywhere */
    uint32_t first, n; /* of KindCounts.matches */
} KindCount;

/* A zeroed one is ready. */
typedef struct KindCounts {
    KindCount of[WASM_OP_COUNT];
    Vec(KindMatch) matches;
    Vec(KindShare) shares;
    Vec(CountedRow) rows; /* without their segments */
} KindCounts;

/* As store_count, for all matches of a site whose matches are decided. False if they have to go
 * that way, one by one; nothing was done then. */
bool kinds_count(KindCounts *k, Store *s, const Site *site, const Match *matches, uint32_t n);
/* The same for all instructions of a body, of which the walk knows what matches; the site has the
 * function. */
bool kinds_count_body(KindCounts *k, Store *s, const Matcher *w, const Site *site,
                      const WasmDecoded *body);
void kinds_free(KindCounts *k);

#endif
