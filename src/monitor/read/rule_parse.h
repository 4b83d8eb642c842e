/*
 * monitor/read/rule_parse.h - interfaces between the scanner, the grammar and the constructors of
 * export names. Private to the parser of export names.
 *
 * Engines read a name from left to right and stop where a rule is complete; so does the scanner,
 * which returns the end of the text there.
 */
#ifndef WHAMMC_MONITOR_RULE_PARSE_H
#define WHAMMC_MONITOR_RULE_PARSE_H

#include "monitor/read/rule.h"

/* A part of the name, in bytes. */
typedef struct RuleSpan {
    uint32_t start, end;
} RuleSpan;

/* A list of values under construction, in the arena. */
typedef struct ParamNode {
    MonitorParam param;
    struct ParamNode *next;
} ParamNode;

typedef struct ParamList {
    ParamNode *first, *last;
    uint32_t len;
} ParamList;

typedef struct RuleParse {
    Str name;
    bool hints; /* are wanted */
    Arena *arena;
    MonitorRule *rule;
    RuleError *error;
    RuleStatus status;
    void *scanner;
    uint32_t pos;   /* offset of the next byte that the scanner reads */
    uint32_t rest;  /* where the rule ended */
    uint32_t depth; /* open parentheses */
    bool in_predicate, had_predicate;
    bool nested; /* a call among the values of a call was seen, at: */
    RuleSpan nesting;
} RuleParse;

union RULE_YYSTYPE;
/* The scanner that bison calls, and flex's. */
int rule_yylex(union RULE_YYSTYPE *value, RuleSpan *span, RuleParse *p);
int rule_scan(union RULE_YYSTYPE *value, RuleSpan *span, void *scanner);

/* ---- for the actions of grammar/rule.l ---- */

/* The span of the next token, of `len` bytes. */
void rule_place(RuleParse *p, RuleSpan *span, uint32_t len);
/* The token is only its first `len` bytes. */
void rule_cut(RuleParse *p, RuleSpan *span, uint32_t len);
/* The length of the argN, immN or localN at the beginning of a word, and its kind; 0 = it is
 * another word. */
uint32_t rule_numbered(Str word, MonitorParam *param);
/* Looks an instruction up; tells if there is none. */
bool rule_find_op(RuleParse *p, RuleSpan span, WasmOp *op);
/* Reports that there is no such event at `at`, or (`op`) no such instruction. */
void rule_unknown_event(RuleParse *p, uint32_t at, bool op);

/* ---- constructors; false after an error ---- */

/* A value by its name. */
bool rule_build_value(RuleParse *p, RuleSpan span, MonitorParam *out);
/* argN, immN or localN, whose kind and number rule_numbered has set. */
bool rule_build_numbered(RuleParse *p, RuleSpan span, MonitorParam *out);
/* A call, with its name and parameters. */
MonitorParam rule_build_call(RuleParse *p, RuleSpan span, RuleSpan name, ParamList params);
/* A predicate without parentheses, if it looks like the name of one: "$p"; `next` follows it. False
 * with the error. */
bool rule_build_bare(RuleParse *p, RuleSpan name, RuleSpan next, const MonitorCall **out);
/* Appends a parameter. */
ParamList rule_list_add(RuleParse *p, ParamList list, MonitorParam param);
/* The parameters of a list, one after the other. */
const MonitorParam *rule_list(RuleParse *p, ParamList list);

/* ---- messages ---- */

/* The first error is kept. */
void rule_fail(RuleParse *p, RuleStatus status, RuleSpan span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void rule_hint(RuleParse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports a token that does not fit; the n names of tokens that could follow. */
void rule_syntax_error(RuleParse *p, RuleSpan span, const char *const *expected, uint32_t n);
/* Bison's own: the stack is full. */
void rule_yyerror(const RuleSpan *span, RuleParse *p, const char *message);

#endif
