/*
 * event/event.c - events and modes, and how rules expand into them.
 */
#include "event/event.h"

#include <assert.h>
#include <ctype.h>
#include <strings.h>

static const struct {
    const char *package, *event, *doc;
    bool has_modes;
} kinds[EVENT_KIND_COUNT] = {
#define EVENT(id, package, event, has_modes, doc) {package, event, doc, has_modes},
#include "event/event.def"
};

static const char *const surfaces[MODE_COUNT] = {
#define MODE(id, surface, internal) surface,
#include "event/event.def"
};

static const char *const internals[MODE_COUNT] = {
#define MODE(id, surface, internal) internal,
#include "event/event.def"
};

const char *mode_surface(Mode mode) {
    return surfaces[mode];
}

const char *mode_internal(Mode mode) {
    return internals[mode];
}

const char *event_doc(EventKind kind) {
    return kinds[kind].doc;
}

const char *event_package(EventKind kind) {
    return kinds[kind].package;
}

const char *event_name(EventKind kind) {
    return kinds[kind].event;
}

uint32_t op_modes(WasmOp op, Mode modes[MODE_COUNT]) {
    assert(op < WASM_OP_COUNT);
    static const Mode lists[][5] = {
        [MODES_ORDINARY] = {MODE_BEFORE, MODE_AFTER, MODE_ALT},
        [MODES_BRANCH] = {MODE_BEFORE, MODE_AFTER, MODE_ALT, MODE_AT_TARGET},
        [MODES_BLOCK] = {MODE_BEFORE, MODE_SEMANTIC_AFTER, MODE_BLOCK_ALT, MODE_ENTRY, MODE_EXIT},
        [MODES_END] = {MODE_BEFORE, MODE_AFTER},
        [MODES_UNREACHABLE] = {MODE_ALT, MODE_BEFORE},
        [MODES_CALL] = {MODE_BEFORE, MODE_AFTER, MODE_ALT, MODE_UNWIND},
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < 5 && lists[wasm_ops[op].modes][i] != MODE_NONE; i++)
        modes[n++] = lists[wasm_ops[op].modes][i];
    return n;
}

void event_text(Buf *out, Event e, bool internal) {
    assert(e.kind < EVENT_KIND_COUNT && (e.kind == EVENT_OPCODE) == (e.mode != MODE_NONE));
    buf_printf(out, "wasm:%s", kinds[e.kind].package);
    if (e.kind == EVENT_OPCODE)
        buf_printf(out, ":%s:%s", wasm_ops[e.op].mnemonic,
                   internal ? internals[e.mode] : surfaces[e.mode]);
    else if (*kinds[e.kind].event)
        buf_printf(out, ":%s%s%s", kinds[e.kind].event, internal ? ":" : "",
                   internal ? internals[MODE_NONE] : "");
}

/* ---- patterns ---- */

/* One alternative against text: `*` any run, `?` one character, `[...]` a set, `[!...]` its
 * complement. */
static bool glob(const char *p, const char *p_end, const char *t) {
    const char *star = NULL, *star_text = NULL;
    for (;;) {
        if (p < p_end && *p == '*') {
            star = ++p;
            star_text = t;
            continue;
        }
        bool ok = false;
        const char *next = p;
        if (p < p_end && *t) {
            if (*p == '?') {
                ok = true;
                next = p + 1;
            } else if (*p == '[' && memchr(p, ']', (size_t)(p_end - p))) {
                const char *close = memchr(p, ']', (size_t)(p_end - p));
                const char *s = p + 1;
                bool negated = *s == '!';
                for (s += negated; s < close; s++)
                    ok |= tolower((unsigned char)*s) == tolower((unsigned char)*t);
                ok ^= negated;
                next = close + 1;
            } else {
                ok = tolower((unsigned char)*p) == tolower((unsigned char)*t);
                next = p + 1;
            }
        }
        if (p == p_end && !*t)
            return true;
        if (ok) {
            p = next;
            t++;
        } else if (star && *star_text) {
            p = star;
            t = ++star_text;
        } else {
            return false;
        }
    }
}

bool pattern_matches(Str pattern, const char *text) {
    if (!pattern.len)
        return true;
    const char *p = pattern.ptr, *end = p + pattern.len;
    while (p <= end) {
        const char *bar = memchr(p, '|', (size_t)(end - p));
        if (!bar)
            bar = end;
        if (glob(p, bar, text))
            return true;
        p = bar + 1;
    }
    return false;
}

/* Whether one of the alternatives is just this name. */
static bool pattern_names(Str pattern, const char *name) {
    size_t len = strlen(name);
    const char *p = pattern.ptr, *end = p + pattern.len;
    while (p < end) {
        const char *bar = memchr(p, '|', (size_t)(end - p));
        if (!bar)
            bar = end;
        if ((size_t)(bar - p) == len && strncasecmp(p, name, len) == 0)
            return true;
        p = bar + 1;
    }
    return false;
}

/* Atomic instructions were once spelled with '_' after "atomic": i32.atomic_rmw8_add_u. Rules can
 * name them so, but globs go by the names of today. */
static bool pattern_has_old_name(Str pattern, const char *mnemonic) {
    if (!memchr(pattern.ptr, '_', pattern.len))
        return false;
    const char *atomic = strstr(mnemonic, ".atomic.");
    char old[64];
    size_t len = strlen(mnemonic);
    if (!atomic || len >= sizeof old)
        return false;
    memcpy(old, mnemonic, len + 1);
    for (char *p = old + (atomic - mnemonic) + 1; *p; p++)
        if (*p == '.')
            *p = '_';
    return pattern_names(pattern, old);
}

bool rule_means_select(const Rule *rule, WasmOp op) {
    Str pattern = rule->parts[2].pattern;
    return op == WASM_OP_TYPED_SELECT && !pattern_matches(pattern, wasm_ops[op].mnemonic) &&
           pattern_matches(pattern, wasm_ops[WASM_OP_SELECT].mnemonic);
}

static bool matches_op(const Rule *rule, WasmOp op) {
    Str pattern = rule->parts[2].pattern;
    return pattern_matches(pattern, wasm_ops[op].mnemonic) ||
           pattern_has_old_name(pattern, wasm_ops[op].mnemonic) || rule_means_select(rule, op);
}

/* "function" is the same as "func", but globs do not match it. */
static bool matches_package(Str pattern, const char *package) {
    return pattern_matches(pattern, package) ||
           (strcmp(package, "func") == 0 && pattern_names(pattern, "function"));
}

/* ---- expansion ---- */

/* Event names that a misspelt part may mean. */
typedef struct Nearest {
    Str wanted;
    const char *name;
    uint32_t distance;
} Nearest;

static void nearest_add(Nearest *n, const char *name) {
    uint32_t d = str_distance(n->wanted, str_of(name), 3);
    if (d && d < n->distance) {
        n->distance = d;
        n->name = name;
    }
}

/* Habits from other languages, in the third part of a rule. */
static bool hint_event(const Rule *rule, Str word, const char *near, Diags *diags, Diag *d) {
    if (pattern_names(rule->parts[1].pattern, "opcode"))
        return hint_add(diags, d, HINT_OPCODE_EVENT, word);
    return matches_package(rule->parts[1].pattern, "func") &&
           (hint_add(diags, d, HINT_FUNC_EVENT, word) ||
            (!near && hint_add(diags, d, HINT_FUNC_EVENT, STR(""))));
}

static bool hint_part(const Rule *rule, uint32_t part, const char *near, Diags *diags, Diag *d) {
    Str word = rule->parts[part].pattern;
    switch (part) {
    case 0: return hint_add(diags, d, HINT_PROVIDER, word);
    case 1: return hint_add(diags, d, HINT_PACKAGE, word);
    case 2: return hint_event(rule, word, near, diags, d);
    default: return false;
    }
}

static void no_match(const Rule *rule, uint32_t part, const char *what, Nearest *n, Diags *diags) {
    part = part < rule->nparts ? part : rule->nparts - 1;
    const RulePart *p = &rule->parts[part];
    Diag *d =
        diag(diags, DIAG_NO_SUCH_EVENT, p->span, "no %s matches '%.*s'", what, STR_ARG(p->pattern));
    if (!hint_part(rule, part, n->name, diags, d) && n->name)
        diag_hint(diags, d, "did you mean '%s'?", n->name);
}

/* Matching state of one rule: how far any candidate got. */
typedef struct Expansion {
    const Rule *rule;
    Events *out;
    bool package, event, mode;
    bool suggests; /* nothing matches: find similar rules */
    Nearest near_package, near_event, near_mode;
} Expansion;

/* WasmOps in the order of their event numbers. */
static void ops_by_event(WasmOp by_event[WASM_OP_COUNT]) {
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        by_event[wasm_ops[op].event] = (WasmOp)op;
}

static void expand_opcodes(Expansion *x) {
    WasmOp by_event[WASM_OP_COUNT];
    ops_by_event(by_event);
    for (uint32_t i = 0; i < WASM_OP_COUNT; i++) {
        WasmOp op = by_event[i];
        if (x->suggests)
            nearest_add(&x->near_event, wasm_ops[op].mnemonic);
        if (!matches_op(x->rule, op))
            continue;
        x->event = true;
        if (x->rule->nparts < 4)
            continue;
        Mode modes[MODE_COUNT];
        uint32_t n = op_modes(op, modes);
        for (uint32_t k = 0; k < n; k++) {
            if (x->suggests)
                nearest_add(&x->near_mode, surfaces[modes[k]]);
            if (pattern_matches(x->rule->parts[3].pattern, surfaces[modes[k]])) {
                x->mode = true;
                vec_push(x->out, ((Event){.kind = EVENT_OPCODE, .op = op, .mode = modes[k]}));
            }
        }
    }
}

static void expand_kind(Expansion *x, EventKind kind) {
    if (x->suggests)
        nearest_add(&x->near_package, kinds[kind].package);
    if (!matches_package(x->rule->parts[1].pattern, kinds[kind].package))
        return;
    bool two_parts = !*kinds[kind].event && !kinds[kind].has_modes;
    if (two_parts) {
        /* begin, end, report: only rules of two parts reach them. */
        if (x->rule->nparts == 2) {
            x->package = x->event = x->mode = true;
            vec_push(x->out, ((Event){.kind = kind}));
        }
        return;
    }
    x->package = true;
    if (x->rule->nparts < 3)
        return;
    if (kinds[kind].has_modes) {
        expand_opcodes(x);
        return;
    }
    if (x->suggests)
        nearest_add(&x->near_event, kinds[kind].event);
    if (!pattern_matches(x->rule->parts[2].pattern, kinds[kind].event))
        return;
    x->event = true;
    if (x->rule->nparts == 3) {
        x->mode = true;
        vec_push(x->out, ((Event){.kind = kind}));
    }
}

/* Whether the rule's package is a whole event, such as wasm:begin. */
static bool package_is_event(const Rule *rule) {
    for (uint32_t k = 0; k < EVENT_KIND_COUNT; k++)
        if (!*kinds[k].event && !kinds[k].has_modes &&
            pattern_names(rule->parts[1].pattern, kinds[k].package))
            return true;
    return false;
}

bool rule_expand(const Rule *rule, Events *out, Diags *diags) {
    assert(rule->nparts >= 2 && !rule->broken);
    Expansion x = {.rule = rule, .out = out};
    uint32_t before = out->len;
    x.near_package = (Nearest){rule->parts[1].pattern, NULL, 3};
    x.near_event = (Nearest){rule->nparts > 2 ? rule->parts[2].pattern : STR(""), NULL, 3};
    x.near_mode = (Nearest){rule->nparts > 3 ? rule->parts[3].pattern : STR(""), NULL, 3};
    if (!pattern_matches(rule->parts[0].pattern, "wasm")) {
        Nearest n = {rule->parts[0].pattern, "wasm", 3};
        no_match(rule, 0, "provider", &n, diags);
        return false;
    }
    for (uint32_t k = 0; k < EVENT_KIND_COUNT; k++)
        expand_kind(&x, (EventKind)k);
    if (out->len > before)
        return true;
    x.suggests = true;
    for (uint32_t k = 0; k < EVENT_KIND_COUNT; k++)
        expand_kind(&x, (EventKind)k);
#define MADE(package, event, doc) nearest_add(&x.near_package, package);
#include "event/event.def"
    if (!x.package && package_is_event(rule)) {
        Str package = rule->parts[1].pattern;
        diag(diags, DIAG_RULE_PARTS, rule->span,
             "wasm:%.*s is an event without further parts: write 'wasm:%.*s'", STR_ARG(package),
             STR_ARG(package));
    } else if (!x.package) {
        no_match(rule, 1, "package", &x.near_package, diags);
    } else if (rule->nparts == 2) {
        diag(diags, DIAG_RULE_PARTS, rule->span,
             "rules of package '%.*s' need an event: wasm:%.*s:<event>",
             STR_ARG(rule->parts[1].pattern), STR_ARG(rule->parts[1].pattern));
    } else if (!x.event) {
        no_match(rule, 2, "event", &x.near_event, diags);
    } else if (rule->nparts == 3) {
        Diag *d = diag(diags, DIAG_RULE_PARTS, rule->span, "a rule for instructions needs a mode");
        diag_hint(diags, d, "write wasm:opcode:%.*s:before (or after, alt)",
                  STR_ARG(rule->parts[2].pattern));
    } else if (!pattern_matches(rule->parts[1].pattern, "opcode")) {
        diag(diags, DIAG_RULE_PARTS, rule->parts[3].span, "events of package '%.*s' have no modes",
             STR_ARG(rule->parts[1].pattern));
    } else {
        no_match(rule, 3, "mode", &x.near_mode, diags);
    }
    return false;
}
