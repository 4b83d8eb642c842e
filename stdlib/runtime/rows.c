/*
 * runtime/rows.c - records of per-site variables, and the report made from them.
 *
 * Records and function names are on lists in the order of the report. Records of function exits,
 * which are requested before the function's other records are complete, are kept on a separate list
 * until the next function begins.
 *
 * A report is made in three walks over the records: one counts the rows of each group, one measures
 * the encoded rows, one writes them and copies the values.
 */
#include "rows.h"
#include "memory.h"
#include "site/site.h"

#ifdef __wasm__
IMPORT("whamm:reflect", "read_function_name")
uint32_t reflect_read_function_name(uint32_t fid, uint32_t to, uint32_t len);
#endif

/* A record, its values after it; or the name of a function: class_ and pc are 0, the length and
 * the bytes after it. */
typedef struct Node {
    uint32_t next, class_, fid, pc;
} Node;

typedef struct List {
    uint32_t first, last;
    uint32_t unsorted;
} List;

typedef struct Rows {
    List records, names;
    List exits;        /* of the current function */
    uint32_t function; /* 1 + its index; 0 = none yet */
    uint32_t returned; /* records of some function were interrupted by another's */
} Rows;

#ifdef __wasm__
#define R ((Rows *)VALUES_ROWS)
_Static_assert(VALUES_STATE + sizeof(Values) <= VALUES_ROWS &&
                   VALUES_ROWS + sizeof(Rows) <= VALUES_ROWS_END,
               "the state has its place");
#else
static _Thread_local Rows rows_state;
#define R (&rows_state)
#endif

INLINE Node *node(uint32_t address) {
    return (Node *)at(address);
}

INLINE const RowsClass *class_at(uint32_t address) {
    return (const RowsClass *)at(address);
}

/* ---- lists ---- */

INLINE uint32_t rank(const Node *n) {
    return n->class_ ? class_at(n->class_)->rank & ~(uint32_t)ROWS_COUNTED : 0;
}

/* Whether a may come before b. */
static bool in_order(const Node *a, const Node *b) {
    if (a->fid != b->fid)
        return a->fid < b->fid;
    if (rank(a) != rank(b))
        return rank(a) < rank(b);
    return a->pc != b->pc ? a->pc < b->pc : a->class_ <= b->class_;
}

static void append(List *l, uint32_t n) {
    node(n)->next = 0;
    if (l->last) {
        l->unsorted |= !in_order(node(l->last), node(n));
        node(l->last)->next = n;
    } else {
        l->first = n;
    }
    l->last = n;
}

/* Cuts the list after its first nodes that are in order; returns the rest. */
static uint32_t cut_run(uint32_t n) {
    while (n && node(n)->next && in_order(node(n), node(node(n)->next)))
        n = node(n)->next;
    if (!n)
        return 0;
    uint32_t rest = node(n)->next;
    node(n)->next = 0;
    return rest;
}

/* Merges two sorted lists onto a third; returns its end. */
static uint32_t merge(uint32_t last, List *into, uint32_t a, uint32_t b) {
    while (a || b) {
        bool first = !b || (a && in_order(node(a), node(b)));
        uint32_t n = first ? a : b;
        *(first ? &a : &b) = node(n)->next;
        if (last)
            node(last)->next = n;
        else
            into->first = n;
        last = n;
    }
    return last;
}

/* Merges neighbouring runs until one is left; equal nodes keep their order. */
static void sort(List *l) {
    while (l->unsorted) {
        uint32_t rest = l->first, last = 0;
        for (l->unsorted = 0; rest; l->unsorted += rest != 0) {
            uint32_t a = rest, b = cut_run(a);
            rest = cut_run(b);
            last = merge(last, l, a, b);
        }
        l->last = last;
    }
}

static void move_exits(void) {
    sort(&R->exits);
    while (R->exits.first) {
        uint32_t n = R->exits.first;
        R->exits.first = node(n)->next;
        append(&R->records, n);
    }
    R->exits.last = 0;
}

/* ---- records ---- */

static uint32_t new_node(uint32_t class_, uint32_t fid, uint32_t pc, uint64_t bytes) {
    uint32_t n = values_block(sizeof(Node) + bytes);
    *node(n) = (Node){.class_ = class_, .fid = fid, .pc = pc};
    return n;
}

/* Reports show the number of a function without a name. */
static void keep_name(uint32_t fid) {
    uint32_t len = reflect_read_function_name(fid, 0, 0);
    uint32_t exported = len ? 0 : site_export_name(fid);
    if (exported)
        len = get32(exported);
    if (!len)
        return;
    uint32_t n = new_node(0, fid, 0, 4 + (uint64_t)len), text = n + sizeof(Node) + 4;
    set32(n + sizeof(Node), len);
    if (exported)
        __builtin_memcpy(at(text), at(exported + 4), len);
    else
        reflect_read_function_name(fid, text, len);
    append(&R->names, n);
}

static uint32_t find_record(const List *l, uint32_t class_, uint32_t fid) {
    for (uint32_t n = l->first; n; n = node(n)->next)
        if (node(n)->class_ == class_ && node(n)->fid == fid)
            return n;
    return 0;
}

/* The record of a class with one record per function; 0 = there is none yet. */
static uint32_t exit_record(uint32_t class_, uint32_t fid) {
    uint32_t n = find_record(&R->exits, class_, fid);
    return n || !R->returned ? n : find_record(&R->records, class_, fid);
}

VALUES_EXPORT(rows_site)
uint32_t rows_site(uint32_t class_, uint32_t fid, uint32_t pc) {
    if (R->function != fid + 1) {
        R->returned |= R->function > fid + 1;
        move_exits();
        R->function = fid + 1;
        keep_name(fid);
    }
    const RowsClass *c = class_at(class_);
    bool exit = c->rank == ROWS_EXIT;
    uint32_t n = exit ? exit_record(class_, fid) : 0;
    if (!n) {
        n = new_node(class_, fid, pc, c->bytes);
        __builtin_memset(at(n + sizeof(Node)), 0, c->bytes);
        append(exit ? &R->exits : &R->records, n);
    }
    return n + sizeof(Node);
}

/* ---- the parts of an image ---- */

/* Receives bytes; with address 0 they are only counted. */
typedef struct Writer {
    uint32_t to;
    uint64_t len;
} Writer;

static void put_bytes(Writer *w, const uint8_t *p, uint32_t len) {
    if (w->to)
        __builtin_memcpy(at(w->to + (uint32_t)w->len), p, len);
    w->len += len;
}

static void put_uleb(Writer *w, uint64_t v) {
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        put_bytes(w, &byte, 1);
        v >>= 7;
    } while (v);
}

/* As image_site_row of the compiler: a pair is not written if it follows the one before, as it did
 * the first time. */
typedef struct Encoder {
    Writer out;
    uint32_t pairs; /* address of the skeleton's pairs, which tell what is expected to follow */
    uint32_t fid, pc, pair;
    bool started;
} Encoder;

static uint32_t follower(const Encoder *e) {
    return e->pairs + FORMAT_PAIR * e->pair + 8;
}

static void put_row(Encoder *e, const Node *n, uint32_t pair) {
    bool jump = n->fid != e->fid || n->pc < e->pc, other = !e->started;
    if (!other && get32(follower(e)) == UINT32_MAX)
        set32(follower(e), pair);
    if (!other)
        other = get32(follower(e)) != pair;
    uint32_t forward = jump ? n->pc : n->pc - e->pc, by = n->fid - e->fid;
    put_uleb(&e->out, (uint64_t)forward << 3 | (other ? 2 : 0) | (jump ? 1 : 0));
    if (jump)
        put_uleb(&e->out, (by << 1) ^ (0 - (by >> 31)));
    if (other)
        put_uleb(&e->out, pair);
    e->fid = n->fid;
    e->pc = n->pc;
    e->pair = pair;
    e->started = true;
}

/* ---- names ---- */

/* Escaped in pieces that fit into the buffer, which ends up empty and is never flushed. */
enum { PIECE = 512, ESCAPED = 6 };
_Static_assert(PIECE *ESCAPED + 3 <= FORMAT_OUT_SIZE, "an escaped piece fits");

static void take(Writer *w, FormatOut *o) {
    put_bytes(w, o->data, o->used);
    o->used = 0;
}

/* The length of the next piece: what follows it is not in the middle of a character. */
static uint32_t piece(const uint8_t *p, uint32_t len) {
    if (len <= PIECE)
        return len;
    for (uint32_t n = PIECE; n > PIECE - 4; n--) /* a character has 4 bytes at most */
        if ((p[n] & 0xc0) != 0x80)
            return n;
    return PIECE;
}

/* As escape_quoted_name of the compiler has it. */
static bool name_wants_quotes(const uint8_t *p, uint32_t len) {
    bool quotes = false;
    for (uint32_t i = 0; i < len; i++)
        quotes |= p[i] == '"' || p[i] == ',';
    return quotes;
}

static void guard_name(FormatOut *o, const uint8_t *p, uint32_t len) {
    uint32_t i = 0;
    while (i < len && p[i] == '\'')
        i++;
    if (i < len && p[i] >= ' ') /* else it becomes a blank */
        format_guard(o, p, len, 0);
}

static void put_quoted_name(FormatOut *o, const uint8_t *p, uint32_t len) {
    uint32_t run = 0;
    for (uint32_t i = 0; i < len; i++)
        if (p[i] == '"') {
            format_csv(o, p + run, i + 1 - run);
            format_byte(o, '"');
            run = i + 1;
        }
    format_csv(o, p + run, len - run);
}

static void put_escaped(Writer *w, FormatOut *o, FormatStyle style, const uint8_t *p,
                        uint32_t len) {
    bool quotes = style == FORMAT_STYLE_QUOTED && name_wants_quotes(p, len);
    if (quotes)
        format_byte(o, '"');
    if (style == FORMAT_STYLE_QUOTED)
        guard_name(o, p, len);
    for (uint32_t n; len; p += n, len -= n) {
        n = piece(p, len);
        if (style == FORMAT_STYLE_JSON)
            format_json(o, p, n);
        else if (style == FORMAT_STYLE_QUOTED)
            put_quoted_name(o, p, n);
        else
            format_csv(o, p, n);
        take(w, o);
    }
    if (quotes)
        format_byte(o, '"');
    take(w, o);
}

static void put_names(Writer *w, FormatStyle style) {
    FormatOut o;
    o.used = 0;
    uint32_t last = UINT32_MAX;
    for (uint32_t n = R->names.first; n; n = node(n)->next) {
        uint32_t fid = node(n)->fid;
        if (fid == last)
            continue;
        uint32_t bytes = n + sizeof(Node) + 4, len = get32(bytes - 4);
        Writer escaped = {0};
        put_escaped(&escaped, &o, style, at(bytes), len);
        put_uleb(w, last == UINT32_MAX ? fid : fid - last);
        put_uleb(w, escaped.len);
        if (w->to)
            put_escaped(w, &o, style, at(bytes), len);
        else
            w->len += escaped.len;
        last = fid;
    }
}

/* ---- rows ---- */

static uint32_t var_at(uint32_t class_, uint32_t i) {
    return class_ + sizeof(RowsClass) + i * sizeof(RowsVar);
}

INLINE const RowsVar *var(uint32_t class_, uint32_t i) {
    return (const RowsVar *)at(var_at(class_, i));
}

/* A group of the skeleton: its number of rows. */
static uint32_t count_at(uint32_t groups, uint32_t group) {
    return groups + group * FORMAT_GROUP + 4;
}

/* Writes the number of rows of each group into the skeleton; returns the size of all values. */
static uint64_t count_rows(uint32_t groups, uint32_t ngroups) {
    for (uint32_t g = 0; g < ngroups; g++)
        set32(count_at(groups, g), 0);
    uint64_t bytes = 0;
    for (uint32_t n = R->records.first; n; n = node(n)->next) {
        uint32_t c = node(n)->class_;
        for (uint32_t i = 0; i < class_at(c)->nvars; i++) {
            uint32_t count = count_at(groups, var(c, i)->group);
            set32(count, get32(count) + 1);
            bytes += var(c, i)->bytes;
        }
    }
    return bytes + 8 * (uint64_t)ngroups; /* with room for the gaps between groups */
}

/* The rows of all groups, and their values if they have an address. */
static void put_rows(Encoder *e, uint32_t groups, uint32_t ngroups, Writer *values) {
    for (uint32_t g = 0; g < ngroups; g++) {
        uint32_t rest = get32(count_at(groups, g));
        e->fid = e->pc = 0;
        e->started = false;
        for (uint32_t n = R->records.first; rest && n; n = node(n)->next) {
            uint32_t c = node(n)->class_;
            for (uint32_t i = 0; i < class_at(c)->nvars; i++) {
                const RowsVar *v = var(c, i);
                if (v->group != g)
                    continue;
                put_row(e, node(n), v->pair);
                put_bytes(values, at(n + sizeof(Node) + v->offset), v->bytes);
                rest--;
            }
        }
        values->len = (values->len + 7) & ~(uint64_t)7;
    }
}

/* ---- words ---- */

void rows_resolve(void) {
    move_exits();
    for (uint32_t n = R->records.first; n; n = node(n)->next) {
        uint32_t c = node(n)->class_;
        for (uint32_t i = 0; class_at(c)->rank & ROWS_COUNTED && i < class_at(c)->nvars; i++) {
            uint32_t slot = n + sizeof(Node) + var(c, i)->offset, word = get32(slot);
            uint64_t v = word ? get64(word) : 0;
            __builtin_memcpy(at(slot), &v, var(c, i)->bytes < 8 ? 4 : 8);
        }
    }
}

/* ---- the report ---- */

static uint32_t field(uint32_t image, FormatField f) {
    return get32(image + f);
}

/* The skeleton with names, rows and values. */
typedef struct Report {
    uint32_t skeleton, len;
    uint32_t groups, ngroups;
    uint32_t names_size, rows_size;
    uint32_t image, values;
    uint64_t image_size, values_size; /* of the blocks */
} Report;

static Encoder encoder(const Report *r, uint32_t to) {
    return (Encoder){.out = {.to = to}, .pairs = r->skeleton + field(r->skeleton, FORMAT_PAIRS)};
}

static void measure(Report *r) {
    r->groups = r->skeleton + field(r->skeleton, FORMAT_GROUPS);
    r->ngroups = field(r->skeleton, FORMAT_NGROUPS);
    r->values_size = count_rows(r->groups, r->ngroups);
    Writer names = {0}, nowhere = {0};
    put_names(&names, (FormatStyle)*at(r->skeleton + 1));
    Encoder e = encoder(r, 0);
    put_rows(&e, r->groups, r->ngroups, &nowhere);
    r->image_size = r->len + names.len + e.out.len;
    r->names_size = (uint32_t)names.len;
    r->rows_size = (uint32_t)e.out.len;
}

static void copy(uint32_t to, uint32_t from, uint32_t len) {
    __builtin_memcpy(at(to), at(from), len);
}

static void put_image(Report *r) {
    uint32_t s = r->skeleton, names = field(s, FORMAT_NAMES), tail = field(s, FORMAT_TAIL);
    uint32_t groups = names + r->names_size, rows = groups + r->ngroups * FORMAT_GROUP;
    copy(r->image, s, names);
    Writer w = {.to = r->image + names};
    put_names(&w, (FormatStyle)*at(s + 1));
    copy(r->image + groups, r->groups, rows - groups);
    Encoder e = encoder(r, r->image + rows);
    Writer values = {.to = r->values};
    put_rows(&e, r->groups, r->ngroups, &values);
    copy(r->image + rows + r->rows_size, s + tail, r->len - tail);
    /* The measuring walk has computed everything that follows. */
    copy(r->image + field(s, FORMAT_PAIRS), s + field(s, FORMAT_PAIRS),
         FORMAT_PAIR * field(s, FORMAT_NPAIRS));
    set32(r->image + FORMAT_GROUPS, groups);
    set32(r->image + FORMAT_ROWS, rows);
    set32(r->image + FORMAT_TAIL, rows + r->rows_size);
    set32(r->image + FORMAT_VALUES, (uint32_t)values.len);
}

VALUES_EXPORT(rows_report)
void rows_report(uint32_t skeleton, uint32_t len, uint32_t tail, uint32_t tail_bytes) {
    Report r = {.skeleton = skeleton, .len = len};
    move_exits();
    sort(&R->records);
    sort(&R->names);
    measure(&r);
    r.values_size += tail_bytes;
    r.image = values_block(r.image_size);
    r.values = values_block(r.values_size);
    put_image(&r);
    uint32_t used = field(r.image, FORMAT_VALUES);
    copy(r.values + used, tail, tail_bytes);
    set32(r.image + FORMAT_VALUES, used + tail_bytes);
    whammc_report(at(r.image), (uint32_t)r.image_size, at(r.values));
    values_block_free(r.values, r.values_size);
    values_block_free(r.image, r.image_size);
}
