/*
 * monitor/read/rule.c - parses export names: runs the scanner and the parser of grammar/rule.*,
 * whose actions are here, and words the messages.
 */
#include "monitor/read/rule_parse.h"
#include "rule-parse.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* Declarations of flex for the prefix rule_yy. */
int rule_yylex_init_extra(struct RuleParse *extra, void **scanner);
struct yy_buffer_state *rule_yy_scan_bytes(const char *bytes, int len, void *scanner);
int rule_yylex_destroy(void *scanner);

RuleStatus rule_parse(Str name, bool hints, Arena *arena, MonitorRule *rule, uint32_t *rest,
                      RuleError *error) {
    RuleParse p = {.name = name,
                   .hints = hints,
                   .arena = arena,
                   .rule = rule,
                   .error = error,
                   .status = RULE_OK};
    *rule = (MonitorRule){0};
    *error = (RuleError){0};
    *rest = 0;
    if (name.len > RULE_MAX_BYTES) {
        rule_fail(&p, RULE_BAD, (RuleSpan){0, 0}, "the name has %u bytes, more than %d", name.len,
                  RULE_MAX_BYTES);
        return p.status;
    }
    rule_yylex_init_extra(&p, &p.scanner);
    rule_yy_scan_bytes(name.ptr, (int)name.len, p.scanner);
    if (rule_yyparse(&p) != 0 && p.status == RULE_OK)
        rule_fail(&p, RULE_BAD, (RuleSpan){p.pos, p.pos}, "not understood");
    rule_yylex_destroy(p.scanner);
    *rest = p.rest;
    if (p.status == RULE_OK && p.nested)
        rule_fail(&p, RULE_FATAL, p.nesting,
                  "a call among the arguments of a call; engines abort there");
    return p.status;
}

int rule_yylex(union RULE_YYSTYPE *value, RuleSpan *span, RuleParse *p) {
    *span = (RuleSpan){p->pos, p->pos};
    int token = rule_scan(value, span, p->scanner);
    if (token == 0)
        *span = (RuleSpan){p->pos, p->pos};
    return token;
}

/* ---- for the actions of grammar/rule.l ---- */

void rule_place(RuleParse *p, RuleSpan *span, uint32_t len) {
    assert(p->pos + len <= p->name.len);
    *span = (RuleSpan){p->pos, p->pos + len};
    p->pos += len;
}

void rule_cut(RuleParse *p, RuleSpan *span, uint32_t len) {
    assert(span->start + len <= span->end);
    span->end = span->start + len;
    p->pos = span->end;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The letters and underscores at the beginning of a word; before digits or '$', engines take these
 * alone as the request. */
static uint32_t span_letters(Str word) {
    uint32_t n = 0;
    while (n < word.len && !is_digit(word.ptr[n]) && word.ptr[n] != '$')
        n++;
    return n;
}

/* The text of a numbered value without its N, else empty. */
static Str numbered_stem(ParamKind kind) {
    Str text = str_of(param_info[kind].text);
    bool numbered = text.ptr[text.len - 1] == 'N';
    return (Str){text.ptr, numbered ? text.len - 1 : 0};
}

uint32_t rule_numbered(Str word, MonitorParam *param) {
    Str stem = {word.ptr, span_letters(word)};
    uint32_t kind = 0;
    while (kind < PARAM_CALL && (!stem.len || !str_eq(stem, numbered_stem((ParamKind)kind))))
        kind++;
    if (kind == PARAM_CALL)
        return 0;
    uint64_t n = 0;
    uint32_t at = stem.len;
    while (at < word.len && is_digit(word.ptr[at])) {
        n = n > UINT32_MAX ? n : n * 10 + (uint64_t)(word.ptr[at] - '0');
        at++;
        if (n == 0) /* no leading zeros: the rest is another word */
            break;
    }
    *param =
        (MonitorParam){.kind = (ParamKind)kind, .n = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n};
    return at;
}

static Str rule_text_at(const RuleParse *p, RuleSpan span) {
    return (Str){p->name.ptr + span.start, span.end - span.start};
}

/* What was found at a location, in words. */
static const char *rule_describe(const RuleParse *p, RuleSpan span, char text[64]) {
    Str s = rule_text_at(p, span);
    if (s.len == 0)
        return "the end";
    for (uint32_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 || c == 0x7f)
            snprintf(text, 64, "the byte 0x%02x", c);
        else if (c >= 0x80)
            snprintf(text, 64, "a character outside ASCII");
        if (c < 0x20 || c >= 0x7f)
            return text;
    }
    snprintf(text, 64, "'%.*s%s'", s.len > 40 ? 40 : (int)s.len, s.ptr, s.len > 40 ? "..." : "");
    return text;
}

/* From `at` to where a word of the event ends. */
static RuleSpan event_word(const RuleParse *p, uint32_t at) {
    uint32_t end = at;
    while (end < p->name.len && !memchr(" \t\n/(", p->name.ptr[end], 5))
        end++;
    return (RuleSpan){at, end};
}

/* The closest of some texts, if hints are wanted. */
typedef struct Closest {
    Str to;
    const char *text;
    uint32_t distance; /* only closer ones are of interest */
} Closest;

static Closest closest(const RuleParse *p, Str to) {
    uint32_t distance = to.len < 4 ? 2 : to.len < 8 ? 3 : 4;
    return (Closest){to, NULL, p->hints && to.len <= 40 ? distance : 0};
}

static void rule_consider(Closest *c, const char *text) {
    if (!text || !c->distance)
        return;
    uint32_t d = str_distance(c->to, str_of(text), c->distance);
    if (d && d < c->distance)
        c->distance = d, c->text = text;
}

void rule_unknown_event(RuleParse *p, uint32_t at, bool op) {
    static const char *const events[] = {"opcode:", "func:entry", "func:exit", "block:start",
                                         "block:end"};
    RuleSpan span = event_word(p, at);
    Str word = rule_text_at(p, span);
    char found[64];
    rule_fail(p, RULE_UNKNOWN, span, "unknown %s%s%s", op ? "instruction" : "event",
              span.end > span.start ? " " : "",
              span.end > span.start ? rule_describe(p, span, found) : "");
    if (op) {
        if (word.len && memchr(word.ptr, '*', word.len))
            rule_hint(p, "the only pattern is wasm:opcode:*, every instruction");
        return;
    }
    if (str_is(word, "exit"))
        rule_hint(p, "the export that runs at the end is called wasm:exit");
    Closest c = closest(p, word);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        rule_consider(&c, events[i]);
    if (c.text)
        rule_hint(p, "did you mean 'wasm:%s'?", c.text);
}

bool rule_find_op(RuleParse *p, RuleSpan span, WasmOp *op) {
    Str name = rule_text_at(p, span);
    RuleEngines engines;
    if (rule_op(name, op, &engines)) {
        p->rule->engines |= (uint8_t)engines;
        p->rule->older_name = engines == ENGINES_Y2025;
        return true;
    }
    span = event_word(p, span.start);
    name = rule_text_at(p, span);
    char found[64];
    rule_fail(p, RULE_UNKNOWN, span, "unknown instruction %s", rule_describe(p, span, found));
    Closest c = closest(p, name);
    for (uint32_t i = 0; i < WASM_OP_COUNT && p->hints; i++) {
        const char *text = rule_mnemonic((WasmOp)i, false);
        if (str_is(name, wasm_ops[i].mnemonic)) { /* as the text format has it */
            if (text)
                rule_hint(p, "engines call it '%s'", text);
            else
                rule_hint(p, "engines have no name for it; wasm:opcode:* matches it");
            return false;
        }
        rule_consider(&c, text);
    }
    if (name.len && memchr(name.ptr, '*', name.len))
        rule_hint(p, "the only pattern is wasm:opcode:*, every instruction");
    else if (c.text)
        rule_hint(p, "did you mean '%s'?", c.text);
    return false;
}

/* ---- constructors ---- */

static void unknown_value(RuleParse *p, RuleSpan span) {
    Str name = rule_text_at(p, span);
    char found[64];
    rule_fail(p, RULE_BAD, span, "%s is not a value that engines supply",
              rule_describe(p, span, found));
    Closest c = closest(p, name);
    for (uint32_t i = 0; i < PARAM_CALL; i++)
        rule_consider(&c, param_info[i].text);
    if (c.text)
        rule_hint(p, "did you mean '%s'?", c.text);
    else
        rule_hint(p, "a call of the monitor's own function needs parentheses, even if empty");
}

bool rule_build_value(RuleParse *p, RuleSpan span, MonitorParam *out) {
    Str name = rule_text_at(p, span);
    for (uint32_t i = 0; i < PARAM_CALL; i++)
        if (str_is(name, param_info[i].text) && !numbered_stem((ParamKind)i).len) {
            *out = (MonitorParam){.kind = (ParamKind)i, .start = span.start, .end = span.end};
            p->rule->engines |= param_info[i].engines;
            return true;
        }
    unknown_value(p, span);
    return false;
}

bool rule_build_numbered(RuleParse *p, RuleSpan span, MonitorParam *out) {
    Str stem = numbered_stem(out->kind);
    out->start = span.start;
    out->end = span.end;
    if (span.end - span.start == stem.len) {
        rule_fail(p, RULE_FATAL, span, "'%.*s' without a number; engines may crash", STR_ARG(stem));
        rule_hint(p, "'%.*s0' is the first", STR_ARG(stem));
    } else if (out->n > INT32_MAX) {
        rule_fail(p, RULE_FATAL, span, "the number is too large; engines may crash");
    }
    return p->status == RULE_OK;
}

MonitorParam rule_build_call(RuleParse *p, RuleSpan span, RuleSpan name, ParamList params) {
    for (const ParamNode *n = params.first; n && !p->nested; n = n->next)
        if (n->param.kind == PARAM_CALL) {
            p->nested = true;
            p->nesting = (RuleSpan){n->param.start, n->param.end};
        }
    MonitorCall *call = arena_new(p->arena, MonitorCall);
    *call = (MonitorCall){.name = rule_text_at(p, name),
                          .params = rule_list(p, params),
                          .nparams = params.len,
                          .start = span.start,
                          .end = span.end};
    return (MonitorParam){.kind = PARAM_CALL, .call = call, .start = span.start, .end = span.end};
}

bool rule_build_bare(RuleParse *p, RuleSpan name, RuleSpan next, const MonitorCall **out) {
    static const char *const wanted[] = {"'('"};
    if (p->name.ptr[name.start] != '$') {
        rule_syntax_error(p, next, wanted, 1);
        return false;
    }
    p->rule->bare_predicate = true;
    *out = rule_build_call(p, name, name, (ParamList){0}).call;
    return true;
}

ParamList rule_list_add(RuleParse *p, ParamList list, MonitorParam param) {
    ParamNode *node = arena_new(p->arena, ParamNode);
    node->param = param;
    if (list.last)
        list.last->next = node;
    else
        list.first = node;
    list.last = node;
    list.len++;
    return list;
}

const MonitorParam *rule_list(RuleParse *p, ParamList list) {
    MonitorParam *params = list.len ? arena_array(p->arena, MonitorParam, list.len) : NULL;
    uint32_t i = 0;
    for (const ParamNode *n = list.first; n; n = n->next)
        params[i++] = n->param;
    return params;
}

/* ---- messages ---- */

void rule_fail(RuleParse *p, RuleStatus status, RuleSpan span, const char *format, ...) {
    assert(status != RULE_OK);
    if (p->status != RULE_OK)
        return;
    p->status = status;
    p->error->start = span.start;
    p->error->end = span.end;
    va_list args;
    va_start(args, format);
    vsnprintf(p->error->text, sizeof p->error->text, format, args);
    va_end(args);
}

void rule_hint(RuleParse *p, const char *format, ...) {
    if (!p->hints)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(p->error->hint, sizeof p->error->hint, format, args);
    va_end(args);
}

void rule_yyerror(const RuleSpan *span, RuleParse *p, const char *message) {
    (void)message; /* the one message that bison has besides syntax errors: its stack is full */
    rule_fail(p, RULE_FATAL, *span, "calls are nested too deeply");
}

static bool rule_expects(const char *const *expected, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(expected[i], name) == 0)
            return true;
    return false;
}

/* The grammar's tokens and items, in the words of a reader. */
static const char *rule_describe_expected(const char *const *expected, uint32_t n) {
    bool close = rule_expects(expected, n, "')'");
    if (rule_expects(expected, n, "argN, immN or localN"))
        return close ? "a value or ')'" : "a value";
    if (rule_expects(expected, n, "a name"))
        return "a call of a predicate, such as $p()";
    if (close)
        return "',' or ')'";
    return n ? expected[0] : "the end";
}

void rule_syntax_error(RuleParse *p, RuleSpan span, const char *const *expected, uint32_t n) {
    char found[64];
    bool call = n == 1 && rule_expects(expected, n, "'('");
    const char *wanted = rule_describe_expected(expected, n);
    rule_fail(p, RULE_BAD, span, "expected %s, found %s", wanted, rule_describe(p, span, found));
    if (call)
        rule_hint(p, "a call needs parentheses, even if empty");
    else if (span.end > span.start && memchr(".-:@#!", p->name.ptr[span.start], 6))
        rule_hint(p, "names consist of letters, digits, '_' and '$'");
}
