/*
 * rule.y - the grammar of the export names of monitor modules. Keep the number of conflicts at zero.
 *
 * The end of the text is where the scanner (rule.l) says that the rule is complete.
 */
%define api.pure full
%define api.prefix {rule_yy}
%define api.location.type {RuleSpan}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {RuleParse *p}

%code requires {
#include "monitor/read/rule_parse.h"
}
%code {
#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
    ((current) = (n) ? (RuleSpan){YYRHSLOC(rhs, 1).start, YYRHSLOC(rhs, n).end}                    \
                     : (RuleSpan){YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})
#define YYMAXDEPTH 1000
}
%initial-action { @$ = (RuleSpan){0, 0}; }

%token END 0                   "the end"
%token WASM                    "'wasm:'"
%token <MonitorEvent> EVENT    "an event"
%token <WasmOp> OP             "an instruction"
%token NAME                    "a name"
%token <MonitorParam> NUMBERED "argN, immN or localN"
%token BAD_TOKEN               "something else"

%type <const MonitorCall *> predicate
%type <ParamList> values params list
%type <MonitorParam> param call

%%

rule:
    WASM event predicate values         {
                                          p->rule->predicate = $3;
                                          p->rule->params = rule_list(p, $4);
                                          p->rule->nparams = $4.len;
                                        }
;

event:
    EVENT                               { p->rule->event = $1; }
  | OP                                  { p->rule->event = MONITOR_OPCODE; p->rule->op = $1; }
;

predicate:
    %empty                              { $$ = NULL; }
  | '/' call '/'                        { $$ = $2.call; }
  | '/' NAME '/'                        {
                                          if (!rule_build_bare(p, @2, @3, &$$)) YYABORT;
                                        }
;

values:
    %empty                              { $$ = (ParamList){0}; }
  | '(' params ')'                      { $$ = $2; }
;

params:
    %empty                              { $$ = (ParamList){0}; }
  | list
  | list ','
;

list:
    param                               { $$ = rule_list_add(p, (ParamList){0}, $1); }
  | list ',' param                      { $$ = rule_list_add(p, $1, $3); }
;

param:
    NAME                                { if (!rule_build_value(p, @1, &$$)) YYABORT; }
  | NUMBERED                            { $$ = $1; if (!rule_build_numbered(p, @1, &$$)) YYABORT; }
  | call
;

call:
    NAME '(' params ')'                 { $$ = rule_build_call(p, @$, @1, $3); }
;

%%

/* At most as many as can follow anywhere. */
enum { MAX_EXPECTED = 8 };

static int yyreport_syntax_error(const yypcontext_t *ctx, RuleParse *p) {
    yysymbol_kind_t expected[MAX_EXPECTED];
    const char *names[MAX_EXPECTED];
    int n = yypcontext_expected_tokens(ctx, expected, MAX_EXPECTED);
    for (int i = 0; i < n; i++)
        names[i] = yysymbol_name(expected[i]);
    rule_syntax_error(p, *yypcontext_location(ctx), names, n > 0 ? (uint32_t)n : 0);
    return 0;
}
