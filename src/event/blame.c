/*
 * event/blame.c - joins the messages of a probe's groups of events.
 */
#include "event/blame.h"

#include <assert.h>

/* The number of events that are named, the others being counted; the number of errors of one group
 * that are considered. */
enum { MAX_NAMED = 5, MAX_KEPT = 60 };

void blame_event(Blame *b, Event e, uint32_t group) {
    assert(group < b->messages.len);
    vec_push(&b->events, e);
    vec_push(&b->group_of, group);
}

Diags *blame_group(Blame *b) {
    Diags *d = vec_add(&b->messages);
    *d = (Diags){.max_errors = MAX_KEPT}; /* the limit of all is applied when they are joined */
    return d;
}

void blame_free(Blame *b) {
    for (uint32_t i = 0; i < b->messages.len; i++)
        diag_free(&b->messages.at[i]);
    vec_free(&b->messages);
    vec_free(&b->events);
    vec_free(&b->group_of);
}

/* ---- words ---- */

static const char *events_word(const Event *events, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (events[i].kind != EVENT_OPCODE || events[i].mode != events[0].mode)
            return "events";
    return "instructions";
}

void blame_describe(const Event *events, uint32_t n, Buf *out) {
    assert(n);
    if (n == 1)
        event_text(out, events[0], false);
    else
        buf_printf(out, "any of the %u %s that this rule matches", n, events_word(events, n));
}

/* "call", where the rule has more than one mode "call:after", and "func:entry". */
static void name_event(Event e, bool with_mode, Buf *out) {
    if (e.kind != EVENT_OPCODE)
        buf_printf(out, "%s:%s", event_package(e.kind), event_name(e.kind));
    else if (with_mode)
        buf_printf(out, "%s:%s", wasm_ops[e.op].mnemonic, mode_surface(e.mode));
    else
        buf_printf(out, "%s", wasm_ops[e.op].mnemonic);
}

/* ---- joining ---- */

/* A message that one or more groups have at one location. */
typedef struct Finding {
    const Diag *first;
    Vec(bool) groups; /* which have it */
} Finding;

typedef Vec(Finding) Findings;

static bool is_same(const Diag *a, const Diag *b) {
    return a->tag == b->tag && a->span.file == b->span.file && a->span.start == b->span.start &&
           a->span.end == b->span.end;
}

static void blame_find(const Blame *b, Findings *all) {
    for (uint32_t i = 0; i < b->messages.len; i++) {
        for (uint32_t k = 0; k < b->messages.at[i].list.len; k++) {
            const Diag *g = b->messages.at[i].list.at[k];
            uint32_t at = 0;
            while (at < all->len && !is_same(all->at[at].first, g))
                at++;
            if (at == all->len) {
                Finding *f = vec_add(all);
                *f = (Finding){.first = g};
                for (uint32_t n = 0; n < b->messages.len; n++)
                    vec_push(&f->groups, false);
            }
            all->at[at].groups.at[i] = true;
        }
    }
}

/* "3 of the 12 instructions that this rule matches: memory.size, memory.grow, ... and 1 more" */
static void name_events(const Blame *b, const Finding *f, Buf *out) {
    const char *word = events_word(b->events.at, b->events.len);
    bool with_mode = strcmp(word, "events") == 0;
    uint32_t count = 0, named = 0;
    for (uint32_t i = 0; i < b->events.len; i++)
        count += f->groups.at[b->group_of.at[i]];
    buf_printf(out, "%u of the %u %s that this rule matches: ", count, b->events.len, word);
    uint32_t most = count == MAX_NAMED + 1 ? count : MAX_NAMED;
    for (uint32_t i = 0; i < b->events.len && named < most; i++) {
        if (!f->groups.at[b->group_of.at[i]])
            continue;
        buf_printf(out, "%s", named++ ? ", " : "");
        name_event(b->events.at[i], with_mode, out);
    }
    if (named < count)
        buf_printf(out, " and %u more", count - named);
}

static bool is_everywhere(const Blame *b, const Finding *f) {
    for (uint32_t i = 0; i < b->events.len; i++)
        if (!f->groups.at[b->group_of.at[i]])
            return false;
    return true;
}

static void blame_copy(const Diag *from, Diags *diags, Diag *to) {
    for (uint32_t i = 0; i < from->labels.len; i++)
        diag_label(diags, to, from->labels.at[i].span, "%s", from->labels.at[i].text);
    for (uint32_t i = 0; i < from->hints.len; i++)
        diag_hint(diags, to, "%s", from->hints.at[i]);
}

/* The rule's part for events, or all of the rule. */
static Span blame_rule_place(const Rule *r) {
    return r->nparts > 2 && r->parts[2].pattern.len ? r->parts[2].span : r->span;
}

/* The text of a span in one of the files. */
static Str blame_text_of(const Diags *diags, Span span) {
    const DiagFile *f = &diags->files.at[span.file - 1];
    return (Str){f->text + span.start, span.end - span.start};
}

/* A name that some of the events do not have. */
static void report_missing(const Finding *f, const char *events, const Rule *rule, Diags *diags) {
    Str name = blame_text_of(diags, f->first->span);
    Diag *d = diag(diags, DIAG_NOT_EVERYWHERE, f->first->span, "'%.*s' does not exist on %s",
                   STR_ARG(name), events);
    diag_label(diags, d, blame_rule_place(rule), "the body must be valid for each of them");
    diag_hint(diags, d,
              "narrow the rule to the events that have it, and write another probe for the others");
}

/* The event's instruction has the name in some mode. */
static bool has_in_some_mode(WasmOp op, Str name) {
    Mode modes[MODE_COUNT];
    Bound b;
    uint32_t n = op_modes(op, modes);
    for (uint32_t i = 0; i < n; i++)
        if (event_name_lookup((Event){.kind = EVENT_OPCODE, .op = op, .mode = modes[i]}, name,
                              &b) &&
            !b.only_bound)
            return true;
    return false;
}

/* The events other than instructions that have the name, as in "wasm:block:end". */
static void put_other_events(Str name, Buf *out) {
    Bound bound;
    for (uint32_t kind = 0; kind < EVENT_OPCODE; kind++) {
        Event e = {.kind = (EventKind)kind, .op = WASM_OP_NOP};
        if (!event_name_lookup(e, name, &bound))
            continue;
        buf_printf(out, "%s", out->len ? ", " : "");
        event_text(out, e, false);
    }
}

/* The first of the instructions that have the name in some mode; returns how many have it. */
static uint32_t blame_put_instructions(Str name, Buf *out) {
    uint32_t n = 0;
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        if (has_in_some_mode((WasmOp)op, name) && n++ < MAX_NAMED)
            buf_printf(out, "%s%s", n > 1 ? ", " : "", wasm_ops[op].mnemonic);
    return n;
}

/* All the events are instructions that have the name in another mode. */
static bool is_of_other_mode(const Blame *b, Str name) {
    bool here = b->events.len > 0;
    for (uint32_t i = 0; i < b->events.len; i++)
        here &= b->events.at[i].kind == EVENT_OPCODE && has_in_some_mode(b->events.at[i].op, name);
    return here;
}

static bool has_unwind(const Blame *b) {
    bool unwinds = false;
    for (uint32_t i = 0; i < b->events.len; i++)
        unwinds |= b->events.at[i].mode == MODE_UNWIND;
    return unwinds;
}

/* Says of a name that none of the probe's events has where there is such a name; false if there is
 * none anywhere. */
static bool hint_place(const Blame *b, Str name, Diags *diags, Diag *d) {
    Buf ops = {0}, others = {0};
    uint32_t n = blame_put_instructions(name, &ops);
    put_other_events(name, &others);
    bool here = n && is_of_other_mode(b, name), tag = memchr(name.ptr, '.', name.len);
    if (here && has_unwind(b))
        diag_hint(diags, d, "'unwind' probes have no operands or results");
    else if (here)
        diag_hint(diags, d, "'%.*s' exists only in '%s' probes", STR_ARG(name),
                  tag && name.ptr[0] == 'a' ? "before" : "after");
    else if (n == WASM_OP_COUNT)
        diag_hint(diags, d, "'%.*s' exists only in probes at a location in the code",
                  STR_ARG(name));
    else if (n && n <= MAX_NAMED)
        diag_hint(diags, d, "'%.*s' is a name of %s", STR_ARG(name), buf_cstr(&ops));
    else if (n)
        diag_hint(diags, d, "'%.*s' is a name of %s and %u more instructions", STR_ARG(name),
                  buf_cstr(&ops), n - MAX_NAMED);
    else if (others.len)
        diag_hint(diags, d, "'%.*s' exists only in %s", STR_ARG(name), buf_cstr(&others));
    bool exists = n || others.len;
    buf_free(&ops);
    buf_free(&others);
    return exists;
}

/* Says of a name that none of the events has where it exists, or else which name may be meant, and
 * where that exists. */
static void hint_elsewhere(const Blame *b, Str name, Diags *diags, Diag *d) {
    bool habit = hint_exists(HINT_NAME, name) || hint_exists(HINT_FUNC_NAME, name);
    if (d == &diags->spare || (habit && d->hints.len) || hint_place(b, name, diags, d) ||
        d->hints.len)
        return;
    const char *like = event_name_like(name);
    if (!like)
        return;
    diag_hint(diags, d, "did you mean '%s'?", like);
    hint_place(b, str_of(like), diags, d);
}

/* Says of a function that none of the events has that it is one of alt probes. */
static void hint_alt(const Blame *b, Str name, Diags *diags, Diag *d) {
    static const Mode alts[] = {MODE_ALT, MODE_BLOCK_ALT};
    const Type *const *params, *result;
    uint32_t nparams;
    Bound out;
    bool here = b->events.len > 0;
    for (uint32_t i = 0; i < b->events.len; i++) {
        bool any = false;
        for (uint32_t k = 0; k < 2 && b->events.at[i].kind == EVENT_OPCODE; k++)
            any |= event_function_lookup(
                (Event){.kind = EVENT_OPCODE, .op = b->events.at[i].op, .mode = alts[k]}, name,
                &out, &params, &nparams, &result);
        here &= any;
    }
    if (here)
        diag_hint(diags, d, "'%.*s' exists only in 'alt' probes", STR_ARG(name));
}

static bool is_about_name(const Finding *f) {
    return f->first->tag == DIAG_UNDECLARED_NAME || f->first->tag == DIAG_UNKNOWN_FUNCTION;
}

/* Other mistakes about a name matter only once the name exists. */
static bool is_beside(const Findings *all, const Finding *f) {
    for (uint32_t i = 0; i < all->len && !is_about_name(f); i++) {
        const Diag *name = all->at[i].first;
        if (is_about_name(&all->at[i]) && name->span.file == f->first->span.file &&
            name->span.start == f->first->span.start && name->span.end == f->first->span.end)
            return true;
    }
    return false;
}

void blame_report(const Blame *b, const Rule *rule, Diags *diags) {
    assert(b->events.len == b->group_of.len);
    Findings all = {0};
    Buf events = {0};
    blame_find(b, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        const Finding *f = &all.at[i];
        bool everywhere = is_everywhere(b, f);
        if (is_beside(&all, f))
            continue;
        events.len = 0;
        if (!everywhere)
            name_events(b, f, &events);
        if (!everywhere && is_about_name(f) && f->first->span.file) {
            report_missing(f, buf_cstr(&events), rule, diags);
            continue;
        }
        Diag *d = diag(diags, f->first->tag, f->first->span, "%s", f->first->message);
        if (!everywhere)
            diag_label(diags, d, blame_rule_place(rule), "so on %s", buf_cstr(&events));
        blame_copy(f->first, diags, d);
        if (f->first->tag == DIAG_UNDECLARED_NAME && f->first->span.file)
            hint_elsewhere(b, blame_text_of(diags, f->first->span), diags, d);
        if (f->first->tag == DIAG_UNKNOWN_FUNCTION && f->first->span.file)
            hint_alt(b, blame_text_of(diags, f->first->span), diags, d);
    }
    for (uint32_t i = 0; i < all.len; i++)
        vec_free(&all.at[i].groups);
    vec_free(&all);
    buf_free(&events);
}
