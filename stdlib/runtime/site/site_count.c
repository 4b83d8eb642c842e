/*
 * runtime/site/site_count.c - probes that only count, counted by segments.
 *
 * At the first query about a function, the monitor walks through its body: src/analysis/segment.c,
 * which is also compiled into the runtime, finds the segments; then the monitor's code visits each
 * instruction and records what it counts there. After the walk it is known which segments are
 * needed, and a few get counters, each attached to an instruction of the segment.
 *
 * For each function it keeps the counters, consecutive i64; how further *words* are derived from
 * them at the end (runtime/sums.h); and in each row the address of the word with its value (0 =
 * none: never executed), which is replaced by the value at the end.
 */
#include "site_count.h"
#include "../rows.h"
#include "../sums.h"
#include "analysis/segment.h"
#include "site_state.h"

/* Something that is counted at the current location: for a row or a variable. */
typedef struct Note {
    uint32_t slot; /* address in a record; of sums: number of the variable */
    uint32_t segment : 31, flag : 1;
    uint64_t amount;
} Note;

/* Where a segment could be counted: pc and rank, the best lowest. */
typedef enum Place {
    PLACE_FREE,   /* before an instruction of it without other probes */
    PLACE_AT,     /* at the function's entry */
    PLACE_SHARED, /* as PLACE_FREE, with other probes */
    PLACE_AT_SHARED,
    PLACE_FALLS, /* at the br_if, or `if`, before it */
    PLACE_NONE,
} Place;
enum { PLACE_SHIFT = 3, PLACE_MASK = 7 };

/* How the word of a row is computed when the counts are known; addresses. */
typedef struct Made {
    uint32_t to, count,
        flag; /* flag: it is the amount if the count is not 0; else the amount times the count */
    uint32_t amount[2];
} Made;

typedef struct Count {
    uint32_t func;     /* + 1, at hand */
    uint32_t segments; /* address of a Segments; 0 = none yet */
    uint32_t busy;     /* str: bit k of byte k / 8 is WasmOp k = there may be other probes */
    uint32_t traps;    /* str: such bits of instructions that end segments since they can trap */
    uint32_t exact;    /* bool: site_count_exact was called */
    uint32_t falling;  /* bool: PLACE_FALLS can be used */
    uint32_t pc, next; /* of the current instruction, of the one after it */
    uint32_t cursor, segment, front; /* front: the segment that enters the loop */
    SiteBlock rows, sums;            /* Note */
    SiteBlock latest;                /* by variable: u32 index of its latest note in `sums` */
    SiteBlock places;                /* by segment: pc << PLACE_SHIFT | Place */
    SiteBlock words, needed;         /* by segment: address of its count, bool */
    SiteBlock counters, falls;       /* pairs: pc, address */
    uint32_t nrows, nsums;
    uint32_t ncounters, nfalls, counter, fall; /* in words; the next one to be requested */
    /* kept until the end */
    SiteBlock derived;                /* a table of runtime/sums.h: words are 8 bytes of memory */
    SiteBlock made;                   /* Made */
    SiteBlock parts;                  /* u32 number of a variable, address, u64 weight */
    uint32_t nderived, nmade, nparts; /* bytes, words, words */
    uint32_t word, term;              /* of the table: the next word, the last term */
} Count;

#define C ((Count *)SITE_COUNT)
_Static_assert(SITE_STATE + sizeof(SiteState) <= SITE_COUNT &&
                   SITE_COUNT + sizeof(Count) <= VALUES_TEXT,
               "the state has its place");

#define NEVER UINT32_MAX /* the segment of what cannot be reached */

INLINE Segments *segments(void) {
    return (Segments *)at(C->segments);
}

INLINE Note *notes(const SiteBlock *b) {
    return (Note *)(void *)at(b->at);
}

/* ---- what src/analysis/segment.c needs ---- */

/* Bit n of a str; 0 after its end. */
static bool bit(uint32_t str, uint32_t n) {
    return n / 8 < get32(str) && *at(str + 4 + n / 8) >> (n & 7) & 1;
}

bool site_can_trap(uint32_t op) {
    return bit(C->traps, op);
}

/* ---- places of counters ---- */

static bool is_busy(uint32_t op) {
    return bit(C->busy, op);
}

/* Segment k could be counted there. */
static void offer(uint32_t k, Place place, uint32_t pc) {
    uint32_t *to = words_at(C->places.at) + k;
    if ((*to & PLACE_MASK) > place)
        *to = pc << PLACE_SHIFT | place;
}

/* Adds the places at which an instruction of segment k could count it. */
static void offer_places(uint32_t k, const WasmInstr *i) {
    const Segments *s = segments();
    offer(k, is_busy(i->op) ? PLACE_SHARED : PLACE_FREE, i->offset);
    bool falls = C->falling && (i->op == WASM_OP_BR_IF || i->op == WASM_OP_IF);
    if (falls && !s->at.at[k].dead) /* a segment begins after it */
        offer(k + 1, PLACE_FALLS, i->offset);
}

/* ---- the walk ---- */

SITE_EXPORT(count_exact)
void site_count_exact(void) {
    C->exact = true;
}

SITE_EXPORT(count_begin)
uint32_t site_count_begin(uint32_t fid, uint32_t busy, uint32_t traps, uint32_t how) {
    if (C->func == fid + 1)
        return 0;
    WasmCode r = site_body(fid);
    C->func = fid + 1;
    C->busy = busy;
    C->traps = how & SITE_COUNT_EXACT || C->exact ? traps : 0;
    C->falling = how & SITE_COUNT_FALLS;
    if (!C->segments) {
        C->segments = values_block(sizeof(Segments));
        *segments() = (Segments){0};
    }
    Segments *s = segments();
    r.at = r.start + S->code;
    segments_split(s, r, C->traps != 0);
    site_reserve(&C->places, 0, 4 * (uint64_t)s->at.len);
    for (uint32_t k = 0; k < s->at.len; k++)
        words_at(C->places.at)[k] = PLACE_NONE;
    offer(0, is_busy(WASM_OP_COUNT) ? PLACE_AT_SHARED : PLACE_AT, 0);
    C->pc = 0;
    C->next = S->code;
    C->cursor = C->segment = C->front = 0;
    C->nrows = C->nsums = 0;
    C->ncounters = C->nfalls = C->counter = C->fall = 0;
    return 1;
}

SITE_EXPORT(count_next)
uint32_t site_count_next(void) {
    WasmCode r = site_body(C->func - 1);
    r.at = r.start + C->next;
    if (r.at == r.end)
        return NEVER;
    WasmInstr i;
    site_decode(&r, &i);
    C->pc = i.offset;
    C->next = i.offset + i.size;
    const Segment *s = segments_seek(segments(), &C->cursor, C->pc);
    uint32_t segment = s->dead ? NEVER : C->cursor;
    C->segment = C->front = segment;
    if (s->at_label && s->start == C->pc)
        C->front = (s - 1)->dead ? NEVER : C->cursor - 1;
    offer_places(C->cursor, &i);
    return i.op;
}

SITE_EXPORT(count_pc)
uint32_t site_count_pc(void) {
    return C->pc;
}

static void add_note(SiteBlock *b, uint32_t *n, Note note) {
    if (b->size / sizeof(Note) <= *n)
        site_reserve(b, *n * sizeof(Note), ((uint64_t)*n + 1) * sizeof(Note));
    notes(b)[(*n)++] = note;
}

static uint32_t segment_of(uint32_t how) {
    return how & SITE_COUNT_FRONT ? C->front : C->segment;
}

SITE_EXPORT(count_row)
void site_count_row(uint32_t slot, uint64_t amount, uint32_t how) {
    uint32_t segment = segment_of(how);
    bool flag = how & SITE_COUNT_FLAG;
    if (segment != NEVER && amount)
        add_note(&C->rows, &C->nrows, (Note){slot, segment & 0x7fffffff, flag, amount});
}

/* The index of a variable's latest note. An index left over from another function is that of
 * another note, or of none. */
static uint32_t *latest_of(uint32_t var) {
    uint32_t size = C->latest.size;
    if (size / 4 <= var) {
        site_reserve(&C->latest, size, 4 * ((uint64_t)var + 1));
        __builtin_memset(at(C->latest.at) + size, 0, C->latest.size - size);
    }
    return words_at(C->latest.at) + var;
}

SITE_EXPORT(count_sum)
void site_count_sum(uint32_t var, uint64_t amount, uint32_t how) {
    uint32_t segment = segment_of(how);
    if (segment == NEVER)
        return;
    uint32_t *latest = latest_of(var);
    Note *note = &notes(&C->sums)[*latest];
    if (*latest < C->nsums && note->slot == var && note->segment == segment) {
        note->amount += amount;
        return;
    }
    *latest = C->nsums;
    add_note(&C->sums, &C->nsums, (Note){var, segment & 0x7fffffff, false, amount});
}

/* ---- the function is over ---- */

INLINE uint32_t *word_of(uint32_t segment) {
    return words_at(C->words.at) + segment;
}

INLINE bool *needed(void) {
    return (bool *)at(C->needed.at);
}

/* A number of the table of derived words. */
static void put_uleb(uint64_t v) {
    enum { LONGEST = 10 };
    site_reserve(&C->derived, C->nderived, C->nderived + LONGEST);
    do {
        *at(C->derived.at + C->nderived++) = (uint8_t)(v & 0x7f) | (v > 0x7f ? 0x80 : 0);
    } while (v >>= 7);
}

static uint32_t zigzag(uint32_t v) {
    return v << 1 ^ (0 - (v >> 31));
}

/* Marks the segments whose counts are needed. */
static void mark_asked(void) {
    uint32_t n = segments()->at.len;
    site_reserve(&C->needed, 0, n);
    site_reserve(&C->words, 0, 4 * (uint64_t)n);
    __builtin_memset(needed(), 0, n);
    for (uint32_t i = 0; i < C->nrows; i++)
        needed()[notes(&C->rows)[i].segment] = true;
    for (uint32_t i = 0; i < C->nsums; i++)
        needed()[notes(&C->sums)[i].segment] = true;
}

static bool same_value(const Note *a, const Note *b) {
    return a->segment == b->segment && a->flag == b->flag && a->amount == b->amount;
}

/* Whether a row is just a count. */
static bool is_count(const Note *row) {
    return row->amount == 1 && !row->flag;
}

/* Whether a row needs another word than the row before. */
static bool is_new(uint32_t row) {
    const Note *note = &notes(&C->rows)[row];
    return !is_count(note) && !(row && same_value(note, note - 1));
}

/* An i64 for each needed segment, and for rows that need one. */
static uint32_t make_words(void) {
    uint64_t n = 0;
    for (uint32_t k = 0; k < segments()->at.len; k++)
        n += needed()[k];
    for (uint32_t i = 0; i < C->nrows; i++)
        n += is_new(i);
    uint32_t words = values_block(8 * n);
    __builtin_memset(at(words), 0, 8 * n);
    return words;
}

static void put_counter(uint32_t k, uint32_t address) {
    uint32_t place = words_at(C->places.at)[k];
    bool falls = (place & PLACE_MASK) == PLACE_FALLS;
    if ((place & PLACE_MASK) == PLACE_NONE)
        site_fail(SITE_UNCOUNTED, C->func, segments()->at.at[k].start);
    SiteBlock *to = falls ? &C->falls : &C->counters;
    uint32_t *n = falls ? &C->nfalls : &C->ncounters;
    site_push(to, n, place >> PLACE_SHIFT);
    site_push(to, n, address);
}

static void put_equation(const SegmentEquation *e) {
    const Segments *s = segments();
    uint32_t word = *word_of(e->segment) / 8, moved = word != C->word ? SUMS_MOVED : 0;
    put_uleb((e->to - e->from) << SUMS_TERMS_SHIFT | moved);
    if (moved)
        put_uleb(zigzag(word - C->word));
    C->word = word + 1;
    for (uint32_t t = e->from; t < e->to; t++) {
        uint32_t term = *word_of(s->terms.at[t]) / 8, distance = zigzag(term - C->term);
        put_uleb((uint64_t)distance << SUMS_TERM_SHIFT | (t >= e->middle ? SUMS_SUBTRACTED : 0));
        C->term = term;
    }
}

/* Gives words to segments; `derives`: some follow from others. */
static uint32_t put_segments(uint32_t word, bool derives) {
    const Segments *s = segments();
    for (uint32_t k = 0; k < s->at.len; k++) {
        if (!needed()[k])
            continue;
        *word_of(k) = word;
        if (!derives || s->at.at[k].counted)
            put_counter(k, word);
        word += 8;
    }
    for (uint32_t k = 0; derives && k < s->equations.len; k++)
        if (needed()[s->equations.at[k].segment])
            put_equation(&s->equations.at[k]);
    return word;
}

static void put_rows(uint32_t word) {
    for (uint32_t i = 0; i < C->nrows; i++) {
        const Note *note = &notes(&C->rows)[i];
        uint32_t count = *word_of(note->segment);
        if (is_new(i)) {
            const uint32_t made[] = {word, count, note->flag, (uint32_t)note->amount,
                                     (uint32_t)(note->amount >> 32)};
            for (uint32_t k = 0; k < sizeof(Made) / 4; k++)
                site_push(&C->made, &C->nmade, made[k]);
            word += 8;
        }
        set32(note->slot, is_count(note) ? count : word - 8);
    }
}

static void put_sums(void) {
    for (uint32_t i = 0; i < C->nsums; i++) {
        const Note *note = &notes(&C->sums)[i];
        const uint32_t part[] = {note->slot, *word_of(note->segment), (uint32_t)note->amount,
                                 (uint32_t)(note->amount >> 32)};
        for (uint32_t k = 0; k < 4; k++)
            site_push(&C->parts, &C->nparts, part[k]);
    }
}

SITE_EXPORT(count_close)
void site_count_close(void) {
    Segments *s = segments();
    if (!C->nrows && !C->nsums)
        return;
    for (uint32_t k = 0; k < s->at.len; k++)
        s->at.at[k].unplaced = (words_at(C->places.at)[k] & PLACE_MASK) >= PLACE_FALLS;
    mark_asked();
    bool derives = segments_may_derive(s, needed());
    if (derives) {
        segments_solve(s);
        derives = segments_choose(s, needed());
    }
    put_rows(put_segments(make_words(), derives));
    put_sums();
}

/* The counter of a list at a location; 0 = there is none. Engines ask in code order. */
static uint32_t find(const SiteBlock *b, uint32_t n, uint32_t *next, uint32_t pc) {
    const uint32_t *list = words_at(b->at);
    if (*next && list[*next - 2] >= pc)
        *next = 0;
    while (*next < n && list[*next] < pc)
        *next += 2;
    return *next < n && list[*next] == pc ? list[*next + 1] : 0;
}

SITE_EXPORT(count_at)
uint32_t site_count_at(uint32_t pc) {
    return find(&C->counters, C->ncounters, &C->counter, pc);
}

SITE_EXPORT(count_falls)
uint32_t site_count_falls(uint32_t pc) {
    return find(&C->falls, C->nfalls, &C->fall, pc);
}

SITE_EXPORT(count_done)
void site_count_done(void) {
    if (C->segments) {
        segments_free(segments());
        values_block_free(C->segments, sizeof(Segments));
    }
    site_drop(&C->rows);
    site_drop(&C->sums);
    site_drop(&C->latest);
    site_drop(&C->places);
    site_drop(&C->words);
    site_drop(&C->needed);
    site_drop(&C->counters);
    site_drop(&C->falls);
    C->func = C->segments = 0;
    site_done();
}

/* ---- the end ---- */

static void derive(void) {
    const SumsWords memory = {at(0), at(0), UINT32_MAX, UINT32_MAX};
    Reader table = {at(C->derived.at), at(C->derived.at + C->nderived)};
    sums_derive(&table, memory, (SumsTraps){0});
}

static void make_rows(void) {
    const Made *m = (const Made *)(void *)at(C->made.at), *end = m + C->nmade * 4 / sizeof *m;
    for (; m != end; m++) {
        uint64_t count = get64(m->count);
        set64(m->to,
              (m->flag ? count != 0 : count) * ((uint64_t)m->amount[1] << 32 | m->amount[0]));
    }
}

SITE_EXPORT(count_finish)
uint32_t site_count_finish(uint32_t nvars) {
    uint32_t totals = values_block(8 * (uint64_t)nvars);
    __builtin_memset(at(totals), 0, 8 * nvars);
    derive();
    make_rows();
    rows_resolve();
    const uint32_t *p = words_at(C->parts.at), *end = p + C->nparts;
    for (; p != end; p += 4) {
        uint32_t total = totals + 8 * p[0];
        set64(total, get64(total) + get64(p[1]) * ((uint64_t)p[3] << 32 | p[2]));
    }
    return totals;
}
