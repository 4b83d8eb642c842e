/*
 * lang/interval.c - probes of wasm:interval: bodies that run by the clock.
 *
 * A body becomes a function. At loop heads and at entries of functions that call others, polls
 * count down; at zero they read the clock and call the bodies that are due. So does a call of WASI
 * that may wait, and the first poll after it. How many polls there are between two readings adapts
 * to the time that they take, as in stdlib/sample.whamm. For later layers all this is part of the
 * script, with names that no script can have.
 */
#include "lang/parse.h"

enum {
    READINGS = 16, /* of the clock, in the shortest interval */
    FIRST_POLLS = 16,
    MOST_POLLS = 1 << 26,
};

#define T(K) (&type_scalar[TYPE_##K])

/* The time that a word like 100ms is, in nanoseconds; 0 = it is none. */
static uint64_t interval_read(Str text) {
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    uint64_t n = 0, most = 86400; /* a day of seconds */
    uint32_t i = 0;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && n < UINT32_MAX; i++)
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    Str unit = {text.ptr + i, text.len - i};
    for (size_t k = 0; i && k < sizeof units / sizeof *units; k++)
        if (str_is(unit, units[k].unit) && n * units[k].ns <= most * units[2].ns)
            return n * units[k].ns;
    return 0;
}

/* ---- trees ---- */

/* Code that is made for the rule at a place of the text. */
typedef struct Maker {
    Parse *p;
    Span at;
    StmtList list;
} Maker;

static Word interval_word(const Maker *k, const char *name) {
    return (Word){str_of(name), k->at};
}

static Expr *interval_name(const Maker *k, const char *name) {
    return build_name(k->p, interval_word(k, name));
}

static Expr *interval_number(const Maker *k, uint64_t n) {
    return build_integer(k->p, k->at, n);
}

static Expr *interval_op(const Maker *k, Op op, Expr *a, Expr *b) {
    return build_binary(k->p, k->at, op, a, b);
}

static Expr *interval_call(const Maker *k, const char *name) {
    return build_call(k->p, k->at, interval_word(k, name), NULL);
}

static Stmt *interval_set(const Maker *k, const char *name, Expr *value) {
    return build_assign(k->p, k->at, interval_name(k, name), value);
}

static Stmt *interval_var(const Maker *k, const char *name, const Type *type, Expr *init) {
    Var *v = build_var(k->p, (Decorators){0}, interval_word(k, name), type, k->at);
    if (init) /* nothing else is inside it */
        init->span.end = init->span.start;
    return build_decl(k->p, k->at, v, init);
}

static void interval_put(Maker *k, Stmt *s) {
    k->list = build_stmts(k->list, s);
}

static const char *due_name(Parse *p, uint32_t n) {
    return arena_printf(&p->script->arena, "(due %u)", n);
}

/* ---- polls ---- */

/* left--; if (left < 0) { poll(); } */
static Block interval_poll(const Maker *k) {
    Expr *end = interval_op(k, OP_LT, interval_name(k, "(polls left)"), interval_number(k, 0));
    Stmt *call = build_call_stmt(k->p, k->at, interval_call(k, "(poll)"));
    Stmt *count = build_step(k->p, k->at, STMT_DEC, interval_name(k, "(polls left)"));
    return build_block_of(count, build_choice(k->p, k->at, end, build_block_of(call, NULL), NULL));
}

static void interval_probe(const Maker *k, const char *package, const char *event, const char *mode,
                           Expr *predicate, Block body) {
    Probe *probe = arena_new(&k->p->script->arena, Probe);
    const char *parts[] = {"wasm", package, event, mode};
    probe->rule = (Rule){.span = k->at, .nparts = mode ? 4 : 3};
    for (uint32_t i = 0; i < probe->rule.nparts; i++)
        probe->rule.parts[i] = (RulePart){str_of(parts[i]), k->at};
    probe->predicate = predicate;
    probe->body = body;
    probe->span = k->at;
    probe->made = true;
    probe->index = k->p->script->probes.len;
    vec_push(&k->p->script->probes, probe);
}

static Expr *text_is(const Maker *k, const char *name, const char *text) {
    Expr *value = build_integer(k->p, k->at, 0);
    value->kind = EXPR_STR;
    value->text = str_of(text);
    return interval_op(k, OP_EQ, interval_name(k, name), value);
}

static void put_polls(const Maker *k) {
    build_script_stmt(k->p, interval_var(k, "(polls)", T(I32), interval_number(k, FIRST_POLLS)));
    build_script_stmt(k->p,
                      interval_var(k, "(polls left)", T(I32), interval_number(k, FIRST_POLLS)));
    build_script_stmt(k->p, interval_var(k, "(looked)", T(I64), NULL));
    interval_probe(k, "opcode", "loop", "before", NULL, interval_poll(k));
    interval_probe(k, "func", "entry", NULL, interval_name(k, "fn_calls"), interval_poll(k));
    Expr *waits = interval_op(k, OP_OR, text_is(k, "target_fn_name", "poll_oneoff"),
                              text_is(k, "target_fn_name", "fd_read"));
    waits = interval_op(k, OP_AND, text_is(k, "target_fn_type", "import"), waits);
    Stmt *call = build_call_stmt(k->p, k->at, interval_call(k, "(poll)"));
    Stmt *next = interval_set(k, "(polls left)", interval_number(k, 0));
    interval_probe(k, "opcode", "call", "before", waits, build_block_of(call, next));
}

/* polls = fewer or more, so that the clock is read about `often`. */
static void adapt(Maker *k, uint64_t often) {
    Expr *few = interval_op(k, OP_LT, interval_name(k, "(spent)"), interval_number(k, often / 2));
    few = interval_op(
        k, OP_AND, few,
        interval_op(k, OP_LT, interval_name(k, "(polls)"), interval_number(k, MOST_POLLS)));
    Expr *twice = interval_op(k, OP_MUL, interval_name(k, "(polls)"), interval_number(k, 2));
    Expr *wide = build_cast(k->p, k->at, interval_name(k, "(polls)"), T(I64));
    Expr *part = interval_op(k, OP_DIV, interval_op(k, OP_MUL, wide, interval_number(k, often)),
                             interval_name(k, "(spent)"));
    Expr *many = interval_op(k, OP_GT, interval_name(k, "(spent)"), interval_number(k, often * 2));
    Block less = build_block_of(
        build_choice(
            k->p, k->at, many,
            build_block_of(interval_set(k, "(polls)", build_cast(k->p, k->at, part, T(I32))), NULL),
            NULL),
        NULL);
    interval_put(k, build_choice(k->p, k->at, few,
                                 build_block_of(interval_set(k, "(polls)", twice), NULL), &less));
    Expr *none = interval_op(k, OP_EQ, interval_name(k, "(polls)"), interval_number(k, 0));
    interval_put(
        k, build_choice(k->p, k->at, none,
                        build_block_of(interval_set(k, "(polls)", interval_number(k, 1)), NULL),
                        NULL));
    interval_put(k, interval_set(k, "(polls left)", interval_name(k, "(polls)")));
}

/* if (due == 0) { due = now + interval; }
 * elif (now >= due) { due = now + interval - (now - due) % interval; body(); looked = clock(); } */
static void put_body(Maker *k, const Fn *fn, uint32_t n) {
    const char *due = due_name(k->p, n), *body = fn->name.ptr;
    build_script_stmt(k->p, interval_var(k, due, T(I64), NULL));
    Expr *next =
        interval_op(k, OP_ADD, interval_name(k, "(now)"), interval_number(k, fn->interval));
    Expr *late = interval_op(
        k, OP_REM, interval_op(k, OP_SUB, interval_name(k, "(now)"), interval_name(k, due)),
        interval_number(k, fn->interval));
    StmtList run = {0};
    run = build_stmts(run, interval_set(k, due, interval_op(k, OP_SUB, next, late)));
    run = build_stmts(run, build_call_stmt(k->p, k->at, interval_call(k, body)));
    run = build_stmts(run, interval_set(k, "(looked)", interval_call(k, CLOCK_TEXT)));
    Expr *first =
        interval_op(k, OP_ADD, interval_name(k, "(now)"), interval_number(k, fn->interval));
    Block otherwise = build_block_of(
        build_choice(k->p, k->at,
                     interval_op(k, OP_GE, interval_name(k, "(now)"), interval_name(k, due)),
                     build_block(run), NULL),
        NULL);
    interval_put(k,
                 build_choice(k->p, k->at,
                              interval_op(k, OP_EQ, interval_name(k, due), interval_number(k, 0)),
                              build_block_of(interval_set(k, due, first), NULL), &otherwise));
}

void build_intervals(Parse *p) {
    const Script *s = p->script;
    const Fn *first = ast_first_interval(s);
    if (!first)
        return;
    Maker k = {.p = p, .at = first->span};
    uint32_t nfns = s->fns.len;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < nfns; i++)
        if (s->fns.at[i]->interval && s->fns.at[i]->interval < least)
            least = s->fns.at[i]->interval;
    interval_put(&k, interval_var(&k, "(now)", T(I64), interval_call(&k, CLOCK_TEXT)));
    interval_put(&k, interval_var(&k, "(spent)", T(I64),
                                  interval_op(&k, OP_SUB, interval_name(&k, "(now)"),
                                              interval_name(&k, "(looked)"))));
    interval_put(&k, interval_set(&k, "(looked)", interval_name(&k, "(now)")));
    adapt(&k, least / READINGS);
    for (uint32_t i = 0; i < nfns; i++)
        if (s->fns.at[i]->interval)
            put_body(&k, s->fns.at[i], i);
    build_fn(p, k.at, interval_word(&k, "(poll)"), NULL, &type_unit, k.at, build_block(k.list));
}

/* ---- probes ---- */

bool build_interval(Parse *p, const Rule *rule, Expr *predicate, Block body) {
    Script *s = p->script;
    if (rule->broken || rule->nparts < 2 || !str_is(rule->parts[0].pattern, "wasm") ||
        !str_is(rule->parts[1].pattern, "interval"))
        return false;
    Str time = rule->nparts > 2 ? rule->parts[2].pattern : STR("");
    Span at = rule->nparts > 2 ? rule->parts[2].span : rule->span;
    uint64_t interval = rule->nparts == 3 ? interval_read(time) : 0;
    if (!interval) {
        Diag *g = parse_error(p, DIAG_RULE_PARTS, rule->nparts > 3 ? rule->parts[3].span : at,
                              rule->nparts > 3 ? "wasm:interval has no modes"
                                               : "expected a time from 1us to 86400s after "
                                                 "'wasm:interval:', found '%.*s'",
                              STR_ARG(time));
        diag_hint(p->diags, g, "write it as in wasm:interval:100ms; the units are us, ms and s");
        return true;
    }
    if (rule->nbounds)
        parse_error(p, DIAG_RULE_PARTS, rule->bounds[0].span,
                    "wasm:interval cannot have type bounds: it happens at no instruction");
    Maker k = {.p = p, .at = rule->span};
    if (!ast_first_interval(s))
        put_polls(&k);
    if (predicate)
        body = build_block_of(build_choice(p, rule->span, predicate, body, NULL), NULL);
    const char *name = arena_printf(&s->arena, "(interval %u)", s->fns.len);
    build_fn(p, rule->span, interval_word(&k, name), NULL, &type_unit, rule->span, body);
    vec_last(&s->fns)->interval = interval;
    return true;
}
