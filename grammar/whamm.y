/*
 * whamm.y - the grammar of Whamm scripts. Each action is one call of a constructor (src/lang/build.c).
 *
 * Keep the number of conflicts at zero. Syntax errors are recovered from at ';', at the end of a block and where
 * a new match rule starts; the messages are made in src/lang/syntax.c. What was read before and after a mistake stays
 * in the tree and is checked: see "broken" in lang/ast.h.
 */
%define api.pure full
%define api.prefix {lang_yy}
%define api.location.type {Span}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {Parse *p}

%code requires {
#include "lang/parse.h"
}
%code {
#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
    ((current) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                               \
                     : (Span){YYRHSLOC(rhs, 0).file, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})
#define YYMAXDEPTH 4000
}
%initial-action { @$ = (Span){p->file, 0, 0}; }

%token END 0            "end of file"
%token ID               "a name"
%token PATTERN          "a pattern"
%token INT              "an integer"
%token FLOAT            "a float"
%token STRING_LITERAL   "a string"
%token TRUE "'true'" FALSE "'false'" IF "'if'" ELIF "'elif'" ELSE "'else'" WHILE "'while'" MAP "'map'"
%token RETURN "'return'" FN "'fn'" USE "'use'" VAR "'var'" REPORT "'report'" UNSHARED "'unshared'"
%token SHARED "'shared'" FRAME "'frame'" AS "'as'"
%token <const Type *> SCALAR "a scalar type"
%token INC "'++'" DEC "'--'" AND "'&&'" OR "'||'" EQ "'=='" NE "'!='" GE "'>='" LE "'<='" SHL "'<<'" SHR "'>>'"
%token ARROW "'->'"
%token ADD_SET "'+='" SUB_SET "'-='" MUL_SET "'*='" DIV_SET "'/='" REM_SET "'%='"
%token BITAND_SET "'&='" BITOR_SET "'|='" BITXOR_SET "'^='" SHL_SET "'<<='" SHR_SET "'>>='"
%token DERIVED "'report' of a derived column" /* REPORT where a name and a colon follow */
%token CONST "'const'"   /* a word like any other elsewhere */
%token ATOMIC "'atomic'" /* likewise */
%token AGGREGATE "an aggregation" /* likewise */
%token ARRAY "'array'"   /* likewise */
%token SHADOW "'shadow'" /* likewise */
%token VALUE  "'value'"  /* likewise, after 'shadow' */
%token UNITS            "'[' before 'per'"
%token PER "'per'"       /* likewise, there */
%token DELETE "'delete'" /* likewise */
%token IN "'in'"         /* likewise */
%token INCLUDE "'include'" /* likewise, unless a string follows */
%token FOR "'for'"       /* likewise */
%token BREAK "'break'"   /* likewise */
%token CONTINUE "'continue'" /* likewise */
%token DOTS "'..'"
%token FOR_CLAUSES "'for (;;)'" /* of other languages */
%token PREDICATE        "'/' before a predicate"
%token PREDICATE_END    "'/' after the predicate"
/* Made up where a rule, or on a new line a word, starts though the statement before has no end. */
%token NEW_RULE         "a match rule"
%token NEW_STATEMENT    "a new statement"
%token BAD_TOKEN        "an unreadable token"
%token EVERY "'every'" LIMIT "'limit'" /* words like any other elsewhere */
/* Made up where an expression begins that is read by itself: a part of a text (lang/interpolate.c). */
%token PART             "a part"

%right '?' ':'
%left AND OR
%left '|'
%left '^'
%left '&'
%left EQ NE GE '>' LE '<' IN
%left SHL SHR
%left '+' '-'
%left '*' '/' '%'

%type <Word> word pattern
%type <Op> update
%type <Expr *> expr operand atom string call condition assignable member tag
%type <List *> args arg_list exprs path package params param_list types arms bounds broken
%type <const Type *> type type_argument
%type <List *> type_arguments
%type <const Type *> result
%type <Var *> declaration constant param
%type <Decorators> decorators
%type <Stmt *> statement simple if_stmt loop
%type <StmtList> statements
%type <Block> block otherwise
%type <Rule *> rule part
%type <Expr *> predicate

/* An error after an `if` whose end was not yet known takes it off the stack. */
%destructor { build_salvage(p, $$); } arms broken

%%

script:
    items                               { build_script_end(p, @$); }
  | PART expr                           { *p->part = $2; }
;

items:
    %empty
  | items item
;

item:
    USE word ';'                        { build_use(p, $2); }
  | USE package ';'                     { build_use_package(p, @$, $2, NULL); }
  | USE package AS word ';'             { build_use_package(p, @$, $2, &$4); }
  | INCLUDE string ';'                  { build_include(p, @$, $2); }
  | statement                           { build_script_stmt(p, $1); }
  | FN word '(' params ')' result block { build_fn(p, @$, $2, $4, $6, @6, $7); }
  | rule predicate block                { build_probe(p, @$, $1, $2, $3); }
  | error '}'                           { build_stray_brace(p, @1); yyerrok; }
  | FN word error block                 { build_broken_fn(p, @$, $2, @3, $4); yyerrok; }
  | FN word error lost                  { build_broken(p, @$); yyerrok; }
  | rule error block                    { build_broken_probe(p, @$, $1, @2, $3); yyerrok; }
  | rule error lost                     { build_broken(p, @$); yyerrok; }
;

package:
    word '.' word                       { $$ = list_add(p, list_add(p, NULL, NULL, @1), NULL, @3); }
  | package '.' word                    { $$ = list_add(p, $1, NULL, @3); }
;

/* Where a function or probe without a readable head ends, if no block follows. */
lost:
    ';'
  | '}'
  | NEW_RULE
  | NEW_STATEMENT
;

/* ---- match rules ---- */

rule:
    part ':' part                       { $$ = build_rule(p, @$, $1, $3); }
  | rule ':' part                       { $$ = build_rule(p, @$, $1, $3); }
;

part:
    pattern bounds                      { $$ = build_part(p, @$, $1, $2); }
;

pattern:
    %empty                              { $$ = build_word(p, @$); }
  | PATTERN                             { $$ = build_word(p, @1); }
;

bounds:
    %empty                              { $$ = NULL; }
  | '(' param_list ')'                  { $$ = $2; }
;

predicate:
    %empty                              { $$ = NULL; }
  | PREDICATE expr PREDICATE_END        { $$ = $2; }
;

/* ---- declarations ---- */

result:
    %empty                              { $$ = &type_unit; }
  | ARROW type                          { $$ = $2; }
;

params:
    %empty                              { $$ = NULL; }
  | param_list
;

param_list:
    param                               { $$ = list_add(p, NULL, $1, @1); }
  | param_list ',' param                { $$ = list_add(p, $1, $3, @3); }
;

param:
    word ':' type                       { $$ = build_var(p, (Decorators){0}, $1, $3, @3); }
;

decorators:
    %empty                              { $$ = (Decorators){0}; }
  | decorators REPORT                   { $$ = build_decorator(p, $1, DECO_REPORT, @2); }
  | decorators UNSHARED                 { $$ = build_decorator(p, $1, DECO_UNSHARED, @2); }
  | decorators SHARED                   { $$ = build_decorator(p, $1, DECO_SHARED, @2); }
  | decorators FRAME                    { $$ = build_decorator(p, $1, DECO_FRAME, @2); }
  | decorators ATOMIC                   { $$ = build_decorator(p, $1, DECO_ATOMIC, @2); }
  | decorators SHADOW                   { $$ = build_decorator(p, $1, DECO_SHADOW, @2); }
;

declaration:
    decorators VAR word ':' type        { $$ = build_var(p, $1, $3, $5, @5); }
  | decorators VAR word ':' SCALAR UNITS PER INT ']'
                                        { $$ = build_shadow(p, $1, $3, $5, span_join(@5, @9), @8); }
  | decorators VALUE word ':' type      { $$ = build_shadow_value(p, $1, $3, $5, @5); }
;

constant:
    decorators CONST word ':' type      { $$ = build_constant(p, $1, $3, $5, @5); }
;

type:
    SCALAR
  | '(' ')'                             { $$ = build_tuple_type(p, @$, NULL); }
  | '(' types ')'                       { $$ = build_tuple_type(p, @$, $2); }
  | MAP '<' type ',' type '>'           { $$ = build_map_type(p, @$, $3, $5); }
  | ARRAY '<' type ',' INT '>'          { $$ = build_array_type(p, $3, @5); }
  | AGGREGATE                           { $$ = build_aggregate(p, @$, @1, NULL); }
  | AGGREGATE '(' type_arguments ')'    { $$ = build_aggregate(p, @$, @1, $3); }
;

type_arguments:
    type_argument                       { $$ = list_add(p, NULL, (void *)$1, @1); }
  | type_arguments ',' type_argument    { $$ = list_add(p, $1, (void *)$3, @3); }
;

type_argument:
    type
  | INT                                 { $$ = NULL; }
;

types:
    type                                { $$ = list_add(p, NULL, (void *)$1, @1); }
  | types ',' type                      { $$ = list_add(p, $1, (void *)$3, @3); }
;

/* ---- statements ---- */

block:
    '{' statements '}'                  { $$ = build_block($2); }
  | '{' statements simple '}'           { $$ = build_block(build_unended(p, $2, $3, @4)); }
  | '{' statements error '}'            { $$ = build_block(build_stmts($2, build_broken(p, @3))); yyerrok; }
;

statements:
    %empty                              { $$ = (StmtList){0}; }
  | statements statement                { $$ = build_stmts($1, $2); }
;

statement:
    simple ';'                          { $$ = $1; }
  | if_stmt
  | '@' word block                      { $$ = build_annotated_block(p, @$, $2, $3); }
  | loop
  | simple NEW_RULE                     { $$ = $1; missing_semicolon(p, $1, @2); }
  | simple NEW_STATEMENT                { $$ = $1; missing_semicolon(p, $1, @2); }
  | error ';'                           { $$ = build_broken(p, @1); yyerrok; }
  | error NEW_RULE                      { $$ = build_broken(p, @1); yyerrok; }
  | error NEW_STATEMENT                 { $$ = build_broken(p, @1); yyerrok; }
  | broken                              { $$ = build_broken_if(p, @$, $1); }
;

/* An unreadable statement up to the end of its block, so that one slip does not unbalance the braces. */
broken:
    error block                         { $$ = build_broken_arm(p, NULL, @1, $2); yyerrok; }
  | broken ELSE block                   { $$ = build_broken_arm(p, $1, @2, $3); }
  | broken ELIF condition block         { $$ = list_add(p, $1, build_arm(p, $3, $4), @2); }
  | broken ELSE IF condition block      { $$ = list_add(p, $1, build_arm(p, $4, $5), @2); }
;

simple:
    declaration                         { $$ = build_decl(p, @$, $1, NULL); }
  | declaration '=' expr                { $$ = build_decl(p, @$, $1, $3); }
  | constant '=' expr                   { $$ = build_decl(p, @$, $1, $3); }
  | DERIVED word ':' type '=' expr      { $$ = build_derived(p, @$, $2, $4, @4, $6); }
  | assignable '=' expr                 { $$ = build_assign(p, @$, $1, $3); }
  | assignable update expr              { $$ = build_update(p, @$, $1, $2, $3); }
  | assignable INC                      { $$ = build_step(p, @$, STMT_INC, $1); }
  | assignable DEC                      { $$ = build_step(p, @$, STMT_DEC, $1); }
  | RETURN                              { $$ = build_return(p, @$, NULL); }
  | RETURN expr                         { $$ = build_return(p, @$, $2); }
  | call                                { $$ = build_call_stmt(p, @$, $1); }
  | BREAK                               { $$ = build_jump(p, @$, STMT_BREAK); }
  | CONTINUE                            { $$ = build_jump(p, @$, STMT_CONTINUE); }
  | DELETE word '[' expr ']'            { $$ = build_call_stmt(p, @$, build_map_call(p, @$, build_name(p, $2), "delete", $4)); }
  | call EVERY atom                     { $$ = build_paced(p, @$, $1, true, $3); }
  | call LIMIT atom                     { $$ = build_paced(p, @$, $1, false, $3); }
;

update:
    ADD_SET                             { $$ = OP_ADD; }
  | SUB_SET                             { $$ = OP_SUB; }
  | MUL_SET                             { $$ = OP_MUL; }
  | DIV_SET                             { $$ = OP_DIV; }
  | REM_SET                             { $$ = OP_REM; }
  | BITAND_SET                          { $$ = OP_BITAND; }
  | BITOR_SET                           { $$ = OP_BITOR; }
  | BITXOR_SET                          { $$ = OP_BITXOR; }
  | SHL_SET                             { $$ = OP_SHL; }
  | SHR_SET                             { $$ = OP_SHR; }
;

if_stmt:
    arms otherwise                      { $$ = build_if(p, @$, $1, @2.start < @2.end ? &$2 : NULL); }
;

loop:
    WHILE condition block               { $$ = build_while(p, @$, $2, $3); }
  | FOR '(' word IN expr DOTS expr ')' block { $$ = build_for(p, @$, $3, $5, $7, $9); }
  | FOR '(' word IN assignable ')' block { $$ = build_for_keys(p, @$, $3, NULL, $5, $7); }
  | FOR '(' word ',' word IN assignable ')' block { $$ = build_for_keys(p, @$, $3, &$5, $7, $9); }
;

arms:
    IF condition block                  { $$ = list_add(p, NULL, build_arm(p, $2, $3), @$); }
  | arms ELIF condition block           { $$ = list_add(p, $1, build_arm(p, $3, $4), @$); }
  | arms ELSE IF condition block        { $$ = list_add(p, $1, build_arm(p, $4, $5), @$); }
;

otherwise:
    %empty                              { $$ = (Block){0}; }
  | ELSE block                          { $$ = $2; }
;

condition:
    '(' expr ')'                        { $$ = $2; }
;

/* ---- expressions ---- */

expr:
    operand
  | expr '?' expr ':' expr              { $$ = build_cond(p, @$, $1, $3, $5); }
  | expr AND expr                       { $$ = build_binary(p, @$, OP_AND, $1, $3); }
  | expr OR expr                        { $$ = build_binary(p, @$, OP_OR, $1, $3); }
  | expr '|' expr                       { $$ = build_binary(p, @$, OP_BITOR, $1, $3); }
  | expr '^' expr                       { $$ = build_binary(p, @$, OP_BITXOR, $1, $3); }
  | expr '&' expr                       { $$ = build_binary(p, @$, OP_BITAND, $1, $3); }
  | expr EQ expr                        { $$ = build_binary(p, @$, OP_EQ, $1, $3); }
  | expr NE expr                        { $$ = build_binary(p, @$, OP_NE, $1, $3); }
  | expr GE expr                        { $$ = build_binary(p, @$, OP_GE, $1, $3); }
  | expr '>' expr                       { $$ = build_binary(p, @$, OP_GT, $1, $3); }
  | expr LE expr                        { $$ = build_binary(p, @$, OP_LE, $1, $3); }
  | expr '<' expr                       { $$ = build_binary(p, @$, OP_LT, $1, $3); }
  | expr IN assignable                  { $$ = build_map_call(p, @$, $3, "in", $1); }
  | expr SHL expr                       { $$ = build_binary(p, @$, OP_SHL, $1, $3); }
  | expr SHR expr                       { $$ = build_binary(p, @$, OP_SHR, $1, $3); }
  | expr '+' expr                       { $$ = build_binary(p, @$, OP_ADD, $1, $3); }
  | expr '-' expr                       { $$ = build_binary(p, @$, OP_SUB, $1, $3); }
  | expr '*' expr                       { $$ = build_binary(p, @$, OP_MUL, $1, $3); }
  | expr '/' expr                       { $$ = build_binary(p, @$, OP_DIV, $1, $3); }
  | expr '%' expr                       { $$ = build_binary(p, @$, OP_REM, $1, $3); }
;

operand:
    atom
  | atom AS SCALAR                      { $$ = build_cast(p, @$, $1, $3); }
  | '!' atom                            { $$ = build_unary(p, @$, OP_NOT, $2); }
  | '~' atom                            { $$ = build_unary(p, @$, OP_COMPLEMENT, $2); }
  | '-' atom                            { $$ = build_minus(p, @1, $2); }
  | '!' atom AS SCALAR                  { $$ = build_unary(p, @$, OP_NOT, build_cast(p, span_join(@2, @4), $2, $4)); }
  | '~' atom AS SCALAR                  { $$ = build_unary(p, @$, OP_COMPLEMENT, build_cast(p, span_join(@2, @4), $2, $4)); }
  | '-' atom AS SCALAR                  { $$ = build_minus(p, @1, build_cast(p, span_join(@2, @4), $2, $4)); }
;

atom:
    assignable
  | member
  | member '.' word args                { $$ = build_element_method(p, @$, $1, $3, $4); }
  | tag '.' word args                   { $$ = build_element_method(p, @$, $1, $3, $4); }
  | call
  | INT                                 { $$ = build_int(p, @1); }
  | FLOAT                               { $$ = build_float(p, @1); }
  | string
  | TRUE                                { $$ = build_bool(p, @1, true); }
  | FALSE                               { $$ = build_bool(p, @1, false); }
  | '(' expr ')'                        { $$ = build_parens(@$, $2); }
  | '(' ')'                             { $$ = build_tuple(p, @$, NULL); }
  | '(' exprs ',' expr ')'              { $$ = build_tuple(p, @$, list_add(p, $2, $4, @4)); }
;

string:
    STRING_LITERAL                      { $$ = build_string(p, @1); }
;

exprs:
    expr                                { $$ = list_add(p, NULL, $1, @1); }
  | exprs ',' expr                      { $$ = list_add(p, $1, $3, @3); }
;

assignable:
    word                                { $$ = build_name(p, $1); }
  | word '[' expr ']'                   { $$ = build_index(p, @$, $1, $3, NULL); }
  | word '[' expr ']' path              { $$ = build_index(p, @$, $1, $3, $5); }
  | word path                           { $$ = build_field(p, @$, $1, $2); }
  | tag
;

tag:
    word '.' word                       { $$ = build_tag(p, @$, $1, $3); }
;

path:
    '.' INT                             { $$ = list_add(p, NULL, NULL, @2); }
  | path '.' INT                        { $$ = list_add(p, $1, NULL, @3); }
;

/* Parts of values of the program. */
member:
    tag '.' word                        { $$ = build_member(p, @$, $1, $3); }
  | tag ARROW word                      { $$ = build_member(p, @$, $1, $3); }
  | tag '[' expr ']'                    { $$ = build_item(p, @$, $1, $3); }
  | word ARROW word                     { $$ = build_member(p, @$, build_name(p, $1), $3); }
  | word '[' expr ']' '.' word          { $$ = build_member(p, @$, build_index(p, span_join(@1, @4), $1, $3, NULL), $6); }
  | word '[' expr ']' ARROW word        { $$ = build_member(p, @$, build_index(p, span_join(@1, @4), $1, $3, NULL), $6); }
  | member '.' word                     { $$ = build_member(p, @$, $1, $3); }
  | member ARROW word                   { $$ = build_member(p, @$, $1, $3); }
  | member '[' expr ']'                 { $$ = build_item(p, @$, $1, $3); }
;

call:
    word args                           { $$ = build_call(p, @$, $1, $2); }
  | word '.' word args                  { $$ = build_method(p, @$, $1, $3, $4); }
  | word '[' expr ']' '.' word args     { $$ = build_element_method(p, @$, build_index(p, span_join(@1, @4), $1, $3, NULL), $6, $7); }
  | '@' word word '.' word args         { $$ = build_annotated(p, @$, $2, build_method(p, span_join(@3, @6), $3, $5, $6)); }
;

args:
    '(' ')'                             { $$ = NULL; }
  | '(' arg_list ')'                    { $$ = $2; }
;

arg_list:
    exprs
;

word:
    ID                                  { $$ = build_id(p, @1); }
  | AGGREGATE                           { $$ = build_word(p, @1); }
;

%%

/* Asks bison what was found and what could follow, and leaves the wording to lang/syntax.c. */
static int yyreport_syntax_error(const yypcontext_t *context, Parse *p) {
    enum { MAX_EXPECTED = 64 };
    yysymbol_kind_t kinds[MAX_EXPECTED];
    const char *names[MAX_EXPECTED];
    int n = yypcontext_expected_tokens(context, kinds, MAX_EXPECTED);
    for (int i = 0; i < n; i++)
        names[i] = yysymbol_name(kinds[i]);
    yysymbol_kind_t found = yypcontext_token(context);
    const char *name = found == YYSYMBOL_YYEMPTY ? "" : yysymbol_name(found);
    syntax_error(p, *yypcontext_location(context), name, names, n > 0 ? (uint32_t)n : 0);
    return 0;
}

const char *lang_keyword(uint32_t n) {
    enum { MAX_WORD = 16 };
    static char words[YYNTOKENS][MAX_WORD];
    for (int kind = 0; kind < YYNTOKENS; kind++) {
        const char *name = yysymbol_name((yysymbol_kind_t)kind);
        size_t len = strlen(name);
        bool word = len > 2 && len - 2 < MAX_WORD && name[0] == '\'' && name[len - 1] == '\'';
        for (size_t i = 1; i + 1 < len; i++)
            word &= name[i] >= 'a' && name[i] <= 'z';
        if (word && n-- == 0)
            return memcpy(words[kind], name + 1, len - 2);
    }
    return NULL;
}
