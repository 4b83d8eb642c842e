/*
 * lang/interval.c - probes of wasm:interval: bodies that run by the clock.
 *
 * A body becomes a function. At loop heads and at entries of functions that call others, polls
 * count down; at zero they read the clock and call the bodies that are due. So does a call of WASI
 * that may wait, and the first poll after it. How many polls there are between two readings adapts
 * to the time that they take, as in stdlib/sample.whamm. For later layers all this is part of the
 * script.
 */
#include "lang/parse.h"

static const char polls_text[] =
    "var polls_: i32 = 16; var left_: i32 = 16; var looked_: i64;\n"
    "wasm:opcode:loop:before { left_--; if (left_ < 0) { poll_(); } }\n"
    "wasm:func:entry / fn_calls / { left_--; if (left_ < 0) { poll_(); } }\n"
    "wasm:opcode:call:before / target_fn_type == \"import\" &&\n"
    "    (target_fn_name == \"poll_oneoff\" || target_fn_name == \"fd_read\") /\n"
    "{ poll_(); left_ = 0; }\n";

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

static const char *interval_keep(Parse *p, Buf *text) {
    const char *kept = arena_strndup(&p->script->arena, buf_cstr(text), text->len);
    buf_free(text);
    return kept;
}

void build_intervals(Parse *p) {
    enum { READINGS = 16 }; /* of the clock, in the shortest interval */
    const Script *s = p->script;
    const Fn *first = ast_first_interval(s);
    uint64_t least = UINT64_MAX;
    Buf text = {0};
    if (!first || p->failed)
        return;
    for (uint32_t i = 0; i < s->fns.len; i++) {
        uint64_t interval = s->fns.at[i]->interval;
        if (interval)
            buf_printf(&text, "var due%u_: i64; ", i);
        least = interval && interval < least ? interval : least;
    }
    unsigned long long often = least / READINGS;
    buf_printf(&text,
               "fn poll_() {\n"
               "var now_: i64 = time.now_ns(); var spent_: i64 = now_ - looked_; looked_ = now_;\n"
               "if (spent_ < %llu && polls_ < 67108864) { polls_ = polls_ * 2; }\n"
               "elif (spent_ > %llu) {\n"
               "    polls_ = (polls_ as i64 * %llu / spent_) as i32;\n"
               "    if (polls_ == 0) { polls_ = 1; }\n"
               "}\n"
               "left_ = polls_;\n",
               often / 2, often * 2, often);
    for (uint32_t i = 0; i < s->fns.len; i++) {
        unsigned long long interval = s->fns.at[i]->interval;
        if (interval)
            buf_printf(&text,
                       "if (due%u_ == 0) { due%u_ = now_ + %llu; }\n"
                       "elif (now_ >= due%u_) {\n"
                       "    due%u_ = now_ + %llu - (now_ - due%u_) %% %llu;\n"
                       "    interval%u_(); looked_ = time.now_ns();\n"
                       "}\n",
                       i, i, interval, i, i, interval, i, interval, i);
    }
    buf_str(&text, STR("}\n"));
    build_made(p, first->span, interval_keep(p, &text));
}

/* For messages. */
static const char *interval_found(Script *s, Str time) {
    return time.len ? arena_printf(&s->arena, "'%.*s'", STR_ARG(time)) : "nothing";
}

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
                                                 "'wasm:interval:', found %s",
                              interval_found(s, time));
        diag_hint(p->diags, g, "write it as in wasm:interval:100ms; the units are us, ms and s");
        return true;
    }
    if (rule->nbounds)
        parse_error(p, DIAG_RULE_PARTS, rule->bounds[0].span,
                    "wasm:interval cannot have type bounds: it happens at no instruction");
    if (!ast_first_interval(s) && !p->failed)
        build_made(p, rule->span, polls_text);
    if (predicate) {
        List *arms = list_add(p, NULL, build_arm(p, predicate, body), rule->span);
        body = build_block(build_stmts((StmtList){0}, build_if(p, rule->span, arms, NULL)));
    }
    const char *name = arena_printf(&s->arena, "(interval%u)", s->fns.len);
    build_fn(p, rule->span, (Word){str_of(name), rule->span}, NULL, &type_unit, rule->span, body);
    vec_last(&s->fns)->interval = interval;
    return true;
}
