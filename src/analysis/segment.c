/*
 * analysis/segment.c - segments, their classes, the spanning tree and the equations.
 */
#include "analysis/segment.h"

#include <assert.h>

struct SegmentLabel {
    uint16_t op;    /* WasmOp of the opener or part; WASM_OP_COUNT for the body */
    bool live;      /* the opener can be reached */
    bool targeted;  /* control may come to its end other than from the instruction before it */
    uint32_t class; /* the node to which branches to it lead */
    uint32_t other; /* of an if: where its false edge starts */
    /* of the estimate: */
    uint32_t depth;     /* loops: the node to which branches to it lead */
    uint64_t entered;   /* the opener's weight */
    uint64_t arrives;   /* of branches to the end */
    uint64_t otherwise; /* of an if: the false edge's */
};

enum { CLASS_ENTRY, CLASS_EXIT, NONE = UINT32_MAX };

/* Sets n items to a value. */
static void segment_fill(uint32_t *at, uint32_t n, uint32_t value) {
    for (uint32_t i = 0; i < n; i++)
        at[i] = value;
}

/* ---- sets of classes ---- */

static uint32_t new_class(Segments *s) {
    vec_push(&s->merged, s->merged.len);
    return s->merged.len - 1;
}

static uint32_t segment_find(uint32_t *parent, uint32_t c) {
    while (parent[c] != c)
        c = parent[c] = parent[parent[c]];
    return c;
}

/* False if they were in one set already. */
static bool unite(uint32_t *parent, uint32_t a, uint32_t b) {
    a = segment_find(parent, a);
    b = segment_find(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
    return a != b;
}

/* ---- segments ---- */

static void start_segment(Segments *s, uint32_t offset, uint32_t class) {
    vec_push(&s->at, ((Segment){.start = offset,
                                .depth = s->walk.depth,
                                .weight = s->walk.weight,
                                .in = class,
                                .out = NONE,
                                .dead = !s->walk.live}));
}

/* One that begins with a `loop` or an `end` to which branches lead, too. */
static void start_at_label(Segments *s, uint32_t offset, uint32_t class) {
    start_segment(s, offset, class);
    vec_last(&s->at).at_label = true;
}

/* The class in which the current segment, which is live, ends. */
static uint32_t out_class(Segments *s) {
    Segment *now = &vec_last(&s->at);
    if (now->out == NONE)
        now->out = new_class(s);
    return now->out;
}

static void lead_to(Segments *s, uint32_t class) {
    Segment *now = &vec_last(&s->at);
    if (now->out == NONE)
        now->out = class;
    else
        unite(s->merged.at, now->out, class);
}

/* Where a branch leads: the class of a label, at whose construct's end it may be. */
static uint32_t segment_target(Segments *s, uint32_t depth) {
    SegmentLabel *label = &s->labels.at[s->labels.len - 1 - depth];
    label->targeted |= label->op != WASM_OP_LOOP;
    return label->class;
}

static void segment_branch(Segments *s, uint32_t depth) {
    lead_to(s, segment_target(s, depth));
}

/* ---- the estimate ---- */

/* Loops are taken to be executed eight times, and arms half of the time. */
enum { LOOP_LOG2 = 3, ENTRY_LOG2 = 24, MAX_LOG2 = 56 };

/* So much of the current weight goes to a label, and leaves the loops between. */
static void send(Segments *s, uint32_t depth, uint64_t weight) {
    SegmentLabel *label = &s->labels.at[s->labels.len - 1 - depth];
    uint32_t loops = s->walk.depth - label->depth;
    if (label->op != WASM_OP_LOOP)
        label->arrives += loops < 16 ? weight >> loops * LOOP_LOG2 : 0;
}

/* Splits the weight at a conditional branch; the remainder falls through. */
static void send_part(Segments *s, uint32_t depth) {
    const SegmentLabel *label = &s->labels.at[s->labels.len - 1 - depth];
    if (label->op == WASM_OP_LOOP && label->depth == s->walk.depth) {
        s->walk.weight >>= LOOP_LOG2;
    } else if (label->depth < s->walk.depth) { /* out of a loop */
        send(s, depth, s->walk.weight);
        s->walk.weight -= s->walk.weight >> LOOP_LOG2;
    } else {
        send(s, depth, s->walk.weight / 2);
        s->walk.weight /= 2;
    }
}

static void weigh_table(Segments *s, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    uint64_t each = s->walk.weight / ((uint64_t)i->count + 1);
    for (uint32_t k = 0; k < i->count; k++)
        send(s, wasm_vec_u32(&at), each);
    send(s, i->a, each);
    s->walk.weight = each;
}

static void weigh_branch(Segments *s, const WasmInstr *i, WasmFlow flow) {
    if (!s->estimates)
        return;
    if (flow == WASM_FLOW_BRANCH)
        send(s, i->a, s->walk.weight);
    else if (flow == WASM_FLOW_BRANCH_IF)
        send_part(s, i->a);
    else if (flow == WASM_FLOW_BRANCH_TABLE)
        weigh_table(s, i);
}

/* Handlers are rarely entered. */
static void weigh_part(Segments *s, const WasmInstr *i) {
    SegmentLabel *label = &vec_last(&s->labels);
    label->arrives += s->walk.live ? s->walk.weight : 0;
    s->walk.weight = i->op == WASM_OP_ELSE ? label->otherwise : label->entered >> 2 * LOOP_LOG2;
    label->otherwise = 0;
}

static void weigh_end(Segments *s, const SegmentLabel *label) {
    s->walk.weight = (s->walk.live ? s->walk.weight : 0) + label->arrives + label->otherwise;
    if (label->op == WASM_OP_LOOP && s->walk.weight > label->entered)
        s->walk.weight = label->entered;
}

/* ---- control instructions ---- */

static void branch_table(Segments *s, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        segment_branch(s, wasm_vec_u32(&at));
    if (!s->splits_tables) {
        segment_branch(s, i->a);
        return;
    }
    start_segment(s, i->offset + i->size, out_class(s));
    Segment *otherwise = &vec_last(&s->at);
    otherwise->otherwise = true;
    otherwise->out = segment_target(s, i->a);
}

/* Exceptions come from calls, which lead to EXIT; so do exceptions that are caught here. */
static void segment_catches(Segments *s, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        unite(s->merged.at, segment_target(s, wasm_vec_catch(&at).label), CLASS_EXIT);
}

/* The same for suspended stacks. */
static void handles(Segments *s, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        if (!h.switches)
            unite(s->merged.at, segment_target(s, h.label), CLASS_EXIT);
    }
}

static void diverge(Segments *s, uint32_t next) {
    s->walk.live = false;
    start_segment(s, next, NONE);
}

/* Control continues after the instruction, or elsewhere. */
static void go_on(Segments *s, uint32_t next) {
    start_segment(s, next, out_class(s));
}

enum { MAX_TRAPS = 32 }; /* of a segment */

static bool has_many_traps(const Segments *s) {
    return s->traps.len >= MAX_TRAPS &&
           s->traps.at[s->traps.len - MAX_TRAPS].segment == s->at.len - 1;
}

static inline void note_trap(Segments *s, bool hides, uint32_t offset, uint32_t next) {
    if (s->walk.exact_traps || hides || has_many_traps(s)) {
        lead_to(s, CLASS_EXIT);
        go_on(s, next);
    } else {
        vec_push(&s->traps, ((SegmentTrap){s->at.len - 1, offset}));
    }
}

static void segment_open_construct(Segments *s, const WasmInstr *i) {
    SegmentLabel label = {
        .op = i->op, .live = s->walk.live, .class = NONE, .other = NONE, .entered = s->walk.weight};
    if (i->op == WASM_OP_LOOP) {
        s->walk.depth++;
        s->walk.weight <<= s->walk.weight >> MAX_LOG2 ? 0 : LOOP_LOG2;
    }
    label.depth = s->walk.depth;
    bool loops = s->walk.live && i->op == WASM_OP_LOOP,
         decides = s->walk.live && i->op == WASM_OP_IF;
    label.class = loops ? out_class(s) : new_class(s);
    if (loops && s->polls)
        unite(s->merged.at, label.class, CLASS_EXIT);
    if (loops)
        start_at_label(s, i->offset, label.class);
    if (decides) {
        label.other = out_class(s);
        label.otherwise = s->walk.weight /= 2;
        go_on(s, i->offset + i->size);
    }
    vec_push(&s->labels, label);
}

/* `else`, `catch`, `catch_all` */
static void segment_next_part(Segments *s, const WasmInstr *i) {
    SegmentLabel *label = &vec_last(&s->labels);
    weigh_part(s, i);
    if (s->walk.live)
        segment_branch(s, 0);
    label->op = i->op;
    s->walk.live = label->live;
    start_segment(s, i->offset + i->size, i->op == WASM_OP_ELSE ? label->other : CLASS_EXIT);
}

static void segment_close_construct(Segments *s, const WasmInstr *i) {
    SegmentLabel label = vec_last(&s->labels);
    bool was_live = s->walk.live;
    weigh_end(s, &label);
    if (label.op == WASM_OP_IF && label.live) {
        unite(s->merged.at, label.class, label.other);
        label.targeted = true;
    }
    if (label.targeted) {
        if (was_live)
            lead_to(s, label.class);
        s->walk.live = true;
    }
    s->labels.len--;
    if (label.op == WASM_OP_LOOP)
        s->walk.depth--;
    if (label.targeted && i->op == WASM_OP_DELEGATE) {
        start_segment(s, i->offset + i->size, label.class);
    } else if (label.targeted) {
        start_at_label(s, i->offset, label.class);
        vec_last(&s->at).last = !s->labels.len;
    } else if (vec_last(&s->at).depth > s->walk.depth) {
        vec_last(&s->at).depth = s->walk.depth;
    }
    if (!s->labels.len && s->walk.live)
        lead_to(s, CLASS_EXIT);
}

/* A reachable instruction other than the bracket of a construct. */
static void segment_leave(Segments *s, const WasmInstr *i, WasmFlow flow) {
    uint32_t next = i->offset + i->size;
    vec_last(&s->at).calls = flow == WASM_FLOW_CALL || flow == WASM_FLOW_TAIL_CALL;
    weigh_branch(s, i, flow);
    if (flow == WASM_FLOW_BRANCH || flow == WASM_FLOW_BRANCH_IF)
        segment_branch(s, i->a);
    else if (flow == WASM_FLOW_BRANCH_TABLE)
        branch_table(s, i);
    else
        lead_to(s, CLASS_EXIT);
    if (wasm_has_handlers(i->op))
        handles(s, i);
    if (wasm_flow_stops(flow))
        diverge(s, next);
    else
        go_on(s, next);
}

static void segment_control(Segments *s, const WasmInstr *i, WasmFlow flow) {
    switch (flow) {
    case WASM_FLOW_OPEN:
    case WASM_FLOW_LOOP:
    case WASM_FLOW_IF:
        if (s->walk.live && i->op == WASM_OP_TRY_TABLE)
            segment_catches(s, i);
        segment_open_construct(s, i);
        break;
    case WASM_FLOW_ARM: segment_next_part(s, i); break;
    case WASM_FLOW_END: segment_close_construct(s, i); break;
    default:
        if (s->walk.live)
            segment_leave(s, i, flow);
    }
}

/* Ends the segment before an instruction if it is to. */
static void end_at_cut(Segments *s, uint32_t offset) {
    uint32_t *cut = &s->walk.cut;
    while (*cut < s->ncuts && s->cuts[*cut] < offset)
        ++*cut;
    if (*cut == s->ncuts || s->cuts[*cut] > offset)
        return;
    if (s->walk.live && vec_last(&s->at).start != offset)
        go_on(s, offset);
    ++*cut;
}

void segments_begin(Segments *s, uint32_t offset, bool exact_traps) {
    s->at.len = s->equations.len = s->terms.len = s->merged.len = s->labels.len = 0;
    s->traps.len = 0;
    s->walk = (SegmentWalk){
        .live = true, .exact_traps = exact_traps, .weight = UINT64_C(1) << ENTRY_LOG2};
    new_class(s); /* CLASS_ENTRY */
    new_class(s); /* CLASS_EXIT */
    vec_push(
        &s->labels,
        ((SegmentLabel){.op = WASM_OP_COUNT, .live = true, .class = new_class(s), .other = NONE}));
    start_segment(s, offset, CLASS_ENTRY);
}

void segments_step(Segments *s, const WasmInstr *i) {
    assert(i->op < WASM_OP_COUNT);
    bool straight = wasm_is_straight(i->op);
    if (!s->labels.len || (straight && s->walk.cut == s->ncuts))
        return;
    if (s->walk.cut < s->ncuts)
        end_at_cut(s, i->offset);
    vec_last(&s->at).last_pc = i->offset;
    WasmFlow flow = wasm_flow(i->op);
    if (flow != WASM_FLOW_NEXT)
        segment_control(s, i, flow);
    else if (s->walk.live && !straight)
        note_trap(s, op_hides_trap((WasmOp)i->op), i->offset, i->offset + i->size);
}

void segments_step_trap(Segments *s, uint32_t offset, uint32_t next) {
    assert(!s->ncuts && s->at.len);
    vec_last(&s->at).last_pc = offset;
    if (s->walk.live)
        note_trap(s, false, offset, next);
}

void segments_end(Segments *s) {
    for (uint32_t k = 0; k < s->at.len; k++) {
        Segment *seg = &s->at.at[k];
        if (seg->dead)
            continue;
        seg->in = segment_find(s->merged.at, seg->in);
        seg->out = segment_find(s->merged.at, seg->out);
    }
}

/* ---- the tree ---- */

enum { MAX_DEPTH = 16 }; /* deeper loops count as so deep */
enum { MAX_URGENCY = 64 };

static uint32_t segment_log2_of(uint64_t n) {
    uint32_t log2 = 0;
    for (uint32_t step = 32; step; step /= 2)
        if (n >> step)
            n >>= step, log2 += step;
    return log2;
}

/* How often it is executed by the estimate, and twice that if a counter costs so much. */
static uint64_t heaviness(const Segment *seg) {
    return seg->otherwise ? 2 * seg->weight : seg->weight;
}

/* Deepest first; segments without a good place for a counter before all others. */
static uint32_t urgency(const Segments *s, const Segment *seg) {
    if (seg->last || seg->unplaced)
        return 0;
    if (s->estimates)
        return MAX_URGENCY - segment_log2_of(heaviness(seg));
    return seg->depth < MAX_DEPTH ? MAX_DEPTH - seg->depth + 1 : 1;
}

/* Lists the segments, the most urgent ones first. */
static void list_by_urgency(Segments *s) {
    uint32_t from[MAX_URGENCY + 2] = {0};
    for (uint32_t i = 0; i < s->at.len; i++) {
        Segment *seg = &s->at.at[i];
        seg->urgency = (uint8_t)urgency(s, seg);
        from[seg->urgency + 1]++;
    }
    for (uint32_t u = 0; u < MAX_URGENCY + 1; u++)
        from[u + 1] += from[u];
    s->lists.len = 0;
    vec_reserve(&s->lists, s->at.len);
    for (uint32_t i = 0; i < s->at.len; i++)
        s->lists.at[from[s->at.at[i].urgency]++] = i;
}

/* The classes; the edge outside of the function may join two. */
static void join_outside(Segments *s) {
    s->joined.len = 0;
    vec_reserve(&s->joined, s->merged.len);
    for (uint32_t c = 0; c < s->merged.len; c++)
        s->joined.at[c] = c;
    unite(s->joined.at, segment_find(s->merged.at, CLASS_ENTRY),
          segment_find(s->merged.at, CLASS_EXIT));
}

static void find_tree(Segments *s) {
    list_by_urgency(s);
    join_outside(s);
    for (uint32_t i = 0; i < s->at.len; i++) {
        Segment *seg = &s->at.at[s->lists.at[i]];
        seg->counted = !seg->dead && !unite(s->joined.at, seg->in, seg->out);
    }
}

/* ---- equations ---- */

/* The segments at each class, lists.at[list_at.at[c]...list_at.at[c + 1]), as twice their number,
 * plus one if they end there; without segments that start and end in the same class. */
static void list_by_class(Segments *s) {
    uint32_t classes = s->merged.len + 2, total = 0;
    s->list_at.len = 0;
    vec_reserve(&s->list_at, classes);
    uint32_t *at = s->list_at.at;
    segment_fill(at, classes, 0);
    for (uint32_t i = 0; i < s->at.len; i++) {
        const Segment *seg = &s->at.at[i];
        if (seg->dead || seg->in == seg->out)
            continue;
        at[seg->in + 2]++;
        at[seg->out + 2]++;
        total += 2;
    }
    for (uint32_t c = 2; c < classes; c++)
        at[c] += at[c - 1];
    s->lists.len = 0;
    vec_reserve(&s->lists, total);
    for (uint32_t i = 0; i < s->at.len; i++) {
        const Segment *seg = &s->at.at[i];
        if (seg->dead || seg->in == seg->out)
            continue;
        s->lists.at[at[seg->in + 1]++] = 2 * i;
        s->lists.at[at[seg->out + 1]++] = 2 * i + 1;
    }
}

/* All classes that the tree joins with `root`, nearest first, each with the segment that leads to
 * it. */
static void segment_reach(Segments *s, uint32_t root) {
    uint32_t done = s->reached.len;
    s->via.at[root] = NONE - 1;
    vec_push(&s->reached, root);
    for (; done < s->reached.len; done++) {
        uint32_t c = s->reached.at[done];
        for (uint32_t k = s->list_at.at[c]; k < s->list_at.at[c + 1]; k++) {
            uint32_t item = s->lists.at[k];
            const Segment *seg = &s->at.at[item / 2];
            uint32_t other = item % 2 ? seg->in : seg->out;
            if (seg->counted || s->via.at[other] != NONE)
                continue;
            s->via.at[other] = item / 2;
            vec_push(&s->reached, other);
        }
    }
}

/* Appends the other segments at the class: those that `start` there (or do not) before the others.
 * Returns where the others begin. */
static uint32_t add_terms(Segments *s, uint32_t class, uint32_t segment, bool start) {
    uint32_t from = s->list_at.at[class], to = s->list_at.at[class + 1];
    vec_reserve(&s->terms, to - from);
    uint32_t low = s->terms.len, end = low + (to - from) - 1, high = end;
    for (uint32_t k = from; k < to; k++) {
        uint32_t item = s->lists.at[k], i = item / 2;
        if (i == segment)
            continue;
        if (start == (item % 2 == 0))
            s->terms.at[low++] = i;
        else
            s->terms.at[--high] = i; /* in reverse */
    }
    s->terms.len = end;
    for (uint32_t left = high, right = end; left + 1 < right; left++) {
        uint32_t term = s->terms.at[left];
        s->terms.at[left] = s->terms.at[--right];
        s->terms.at[right] = term;
    }
    return high;
}

/* As many executions start in the class as end there. */
static void add_equation(Segments *s, uint32_t class) {
    uint32_t segment = s->via.at[class];
    SegmentEquation e = {.segment = segment, .from = s->terms.len, .class = class};
    bool starts = s->at.at[segment].in == class;
    e.middle = add_terms(s, class, segment, !starts);
    e.to = s->terms.len;
    vec_push(&s->equations, e);
}

static void find_equations(Segments *s) {
    list_by_class(s);
    s->via.len = s->reached.len = 0;
    vec_reserve(&s->via, s->merged.len);
    segment_fill(s->via.at, s->merged.len, NONE);
    uint32_t entry = segment_find(s->merged.at, CLASS_ENTRY),
             exit = segment_find(s->merged.at, CLASS_EXIT);
    segment_reach(s, exit);
    if (s->via.at[entry] == NONE)
        segment_reach(s, entry); /* the edge outside of the function joins the two */
    for (uint32_t i = 0; i < s->at.len; i++)
        if (!s->at.at[i].dead && s->via.at[s->at.at[i].in] == NONE)
            segment_reach(s, s->at.at[i].in); /* it never gets to the exit */
    for (uint32_t k = s->reached.len; k-- > 0;)
        if (s->via.at[s->reached.at[k]] < NONE - 1)
            add_equation(s, s->reached.at[k]);
}

void segments_split(Segments *s, WasmCode code, bool exact_traps) {
    WasmInstr room;
    segments_begin(s, (uint32_t)(code.at - code.start), exact_traps);
    for (const WasmInstr *i; (i = wasm_step(&code, &room));)
        segments_step(s, i);
    segments_end(s);
}

void segments_solve(Segments *s) {
    assert(segments_check(s));
    find_tree(s);
    find_equations(s);
    assert(segments_check(s));
}

void segments_free(Segments *s) {
    vec_free(&s->at);
    vec_free(&s->equations);
    vec_free(&s->terms);
    vec_free(&s->traps);
    vec_free(&s->merged);
    vec_free(&s->joined);
    vec_free(&s->lists);
    vec_free(&s->list_at);
    vec_free(&s->reached);
    vec_free(&s->via);
    vec_free(&s->labels);
}

const Segment *segments_seek(const Segments *s, uint32_t *cursor, uint32_t offset) {
    assert(*cursor < s->at.len && s->at.at[*cursor].start <= offset);
    while (*cursor + 1 < s->at.len && s->at.at[*cursor + 1].start <= offset)
        ++*cursor;
    return &s->at.at[*cursor];
}

/* ---- the choice ---- */

/* The edge weight of a counter: unless that is estimated, assumes eight iterations per nesting
 * level. */
static uint64_t edge_weight(const Segments *s, const Segment *seg) {
    enum { UNPLACED = 40 };
    if (s->estimates)
        return heaviness(seg);
    return UINT64_C(1) << (seg->unplaced ? UNPLACED : 3 * (seg->depth < 8 ? seg->depth : 8));
}

/* The classes are joined by the other segments first. If a needed segment then still joins two,
 * some cut of the graph consists of needed segments only, and the count of one follows from those
 * of the rest. */
bool segments_may_derive(Segments *s, const bool *needed) {
    if (s->estimates)
        return true;
    join_outside(s);
    for (uint32_t i = 0; i < s->at.len; i++)
        if (!needed[i] && !s->at.at[i].dead)
            unite(s->joined.at, s->at.at[i].in, s->at.at[i].out);
    for (uint32_t i = 0; i < s->at.len; i++)
        if (needed[i] &&
            (s->at.at[i].unplaced || unite(s->joined.at, s->at.at[i].in, s->at.at[i].out)))
            return true;
    return false;
}

bool segments_choose(Segments *s, bool *needed) {
    assert(segments_check(s));
    uint64_t direct = 0, derived = 0; /* the cost of the counters */
    s->lists.len = 0;
    vec_reserve(&s->lists, s->at.len);
    for (uint32_t i = 0; i < s->at.len; i++) {
        s->lists.at[i] = needed[i];
        direct += needed[i] ? edge_weight(s, &s->at.at[i]) : 0;
    }
    for (uint32_t k = s->equations.len; k-- > 0;) {
        const SegmentEquation *e = &s->equations.at[k];
        for (uint32_t t = e->from; needed[e->segment] && t < e->to; t++)
            needed[s->terms.at[t]] = true;
    }
    for (uint32_t i = 0; i < s->at.len; i++)
        derived += needed[i] && s->at.at[i].counted ? edge_weight(s, &s->at.at[i]) : 0;
    if (derived < direct)
        return true;
    for (uint32_t i = 0; i < s->at.len; i++)
        needed[i] = s->lists.at[i];
    return false;
}

#ifndef NDEBUG
/* Whether counters and the equations have the counts of all segments that are not dead. */
static bool check_equations(const Segments *s) {
    bool *known = mem_zalloc(s->at.len + 1u), all = true;
    for (uint32_t i = 0; i < s->at.len; i++)
        known[i] = s->at.at[i].counted || s->at.at[i].dead;
    for (uint32_t k = 0; k < s->equations.len; k++) {
        const SegmentEquation *e = &s->equations.at[k];
        assert(e->from <= e->middle && e->middle <= e->to && e->to <= s->terms.len);
        assert(e->segment < s->at.len && !known[e->segment]);
        for (uint32_t i = e->from; i < e->to; i++)
            assert(known[s->terms.at[i]] && !s->at.at[s->terms.at[i]].dead);
        known[e->segment] = true;
    }
    for (uint32_t i = 0; i < s->at.len; i++)
        all &= known[i];
    free(known);
    return all;
}

bool segments_check(const Segments *s) {
    for (uint32_t i = 0; i < s->at.len; i++) {
        const Segment *seg = &s->at.at[i];
        assert(!i || s->at.at[i - 1].start <= seg->start);
        assert(seg->dead || (seg->in < s->merged.len && seg->out < s->merged.len));
        assert(!seg->dead || !seg->counted);
    }
    for (uint32_t i = 0; i < s->traps.len; i++) {
        assert(s->traps.at[i].segment < s->at.len);
        assert(!i || s->traps.at[i - 1].offset < s->traps.at[i].offset);
    }
    assert(!s->equations.len || check_equations(s));
    return true;
}
#endif
