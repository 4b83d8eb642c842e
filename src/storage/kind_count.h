/*
 * storage/kind_count.h - counts probes by kind of instruction, if their effect is the same at all
 * instructions of a kind (Site.decided). It is determined at the first one; for the others only the
 * offset matters.
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
    bool all;          /* their effect is counted by segments, the same everywhere */
    bool decoded;      /* ... but some need more than the segment before the instruction */
    uint32_t first, n; /* of KindCounts.matches */
    enum { KIND_MORE, KIND_SHARE, KIND_ROW } only; /* if not `decoded`; the only share or row: */
    uint32_t row;                                  /* ... of KindCounts.rows */
    KindShare share;
} KindCount;

/* The actions at instructions that begin with a given byte. */
typedef struct KindSkim {
    uint8_t does;   /* SKIM_... */
    uint8_t plain;  /* WasmPlain */
    uint16_t op;    /* WasmOp */
    uint32_t match; /* SKIM_SHARE: of KindCounts.matches; its only share: */
    uint32_t var;
    uint64_t amount;
} KindSkim;

/* A row at each such instruction. */
typedef struct KindRow {
    CountedRow counted; /* without its segment */
    uint32_t group;     /* of Store.groups */
    uint32_t pair;      /* image_pair */
} KindRow;

/* A zeroed one is ready. */
typedef struct KindCounts {
    KindCount of[WASM_OP_COUNT];
    KindSkim skims[256]; /* once a kind is found */
    Vec(KindMatch) matches;
    Vec(KindShare) shares;
    Vec(KindRow) rows;
    Vec(uint32_t) next_pairs; /* for runs: a copy of image_next_pairs */
} KindCounts;

/* As store_count for all matches of a site, which are decided. False: nothing was done, and
 * store_count is to be called for each. */
bool kinds_count(KindCounts *k, Store *s, const Site *site, const Match *matches, uint32_t n);

/* The same for all instructions of a body with matches that the walk knows; the site has the
 * function. */
bool kinds_count_body(KindCounts *k, Store *s, const Matcher *w, const Site *site,
                      const WasmDecoded *body);

/*
 * The counts of a run of functions, before the run is joined to the store. Rows are encoded as in
 * the image. A row whose encoding depends on a row before the run, such as the first of each
 * group, is a *first*: the store adds it.
 */

/* The state of a group's rows at some point. */
typedef struct KindMark {
    uint32_t n;             /* rows after the last first */
    uint32_t pair, fid, pc; /* of the last row */
    size_t bytes;           /* encoded, */
    uint32_t values;        /* values, of all rows of the run */
} KindMark;
typedef struct KindFirst {
    uint32_t row; /* of KindCounts.rows */
    uint32_t func, pc;
    uint32_t value; /* of the run's Counts.values */
    KindMark end;   /* of the encoded rows after it, if there is another first */
} KindFirst;
/* Rows of a SlotGroup. */
typedef struct KindGroup {
    uint32_t first;       /* 1 + the last first in KindTally.firsts; 0 = none */
    ImageRows rows;       /* after firsts; members except bytes: since the last first */
    Vec(uint32_t) values; /* of rows that differ in value from the row before */
    uint32_t last;        /* value of a row, or COUNT_NONE */
    uint32_t segment;     /* of that row, */
    CountedAmount k;      /* and how it is counted */
} KindGroup;
typedef struct KindFunc {
    uint32_t func;
    bool any;  /* something is counted in it */
    bool rows; /* it has some */
} KindFunc;
typedef struct KindTally {
    Counts counts;
    Vec(KindFunc) funcs;
    Vec(KindFirst) firsts;
    Vec(KindGroup) groups;
    Vec(uint32_t) sites; /* by KindCounts.matches */
} KindTally;

/* Prepares for runs on threads, while none counts. They can count several runs at a time, also
 * while others are joined, as long as no further kinds are found. */
void kinds_before_runs(KindCounts *k, const Store *s);
/* Begins a run with a zeroed tally, or one that was joined. The store does not change until the run
 * is joined. */
void kinds_begin(const KindCounts *k, const Store *s, KindTally *t);
/* Counts at all instructions of the next function; at all their kinds, everything is counted by
 * segments. `any`: there is something to count. */
void kinds_tally(const KindCounts *k, Store *s, KindTally *t, const Site *func, bool any);
/* Appends the run to the store. */
void kinds_join(const KindCounts *k, Store *s, const WasmModule *m, const KindTally *t);
/* Frees a tally. */
void kinds_tally_free(KindTally *t);

/* Frees the data about all kinds. */
void kinds_free(KindCounts *k);

#endif
