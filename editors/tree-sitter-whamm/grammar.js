/**
 * The grammar of Whamm for tree-sitter: grammar/whamm.y and whamm.l in the form that editors use. It is to accept the same scripts
 * (tests/checks/tree_sitter compares them), with one freedom: it does not know which words are packages, so what follows a name,
 * `a.b[c].d`, is read alike for all of them.
 *
 * `scripts/editors.mjs --parser` makes src/parser.c from it. What depends on more than the next token is in src/scanner.c.
 */

// Words that nothing can be called, and names of types. scripts/editors.mjs writes these lines.
const RESERVED = ['as', 'elif', 'else', 'false', 'fn', 'frame', 'if', 'map', 'report', 'return', 'shared', 'true', 'unshared', 'use', 'var',
  'while'];
const SCALARS = ['u8', 'u16', 'u32', 'u64', 'i8', 'i16', 'i32', 'i64', 'f32', 'f64', 'bool', 'str', 'funcref'];
const AGGREGATIONS = ['count', 'sum', 'min', 'max', 'avg', 'stats', 'hist', 'lhist', 'top'];
// end of the words
// Words that begin a statement, and are names elsewhere.
const STARTS = ['const', 'atomic', 'shadow', 'delete', 'for', 'break', 'continue', 'include', 'print', 'trap', 'assert'];

const PRECEDENCE = [['?'], ['&&', '||'], ['|'], ['^'], ['&'], ['==', '!=', '>=', '>', '<=', '<', 'in'], ['<<', '>>'], ['+', '-'], ['*', '/', '%']];

const list = rule => seq(rule, repeat(seq(',', rule)));

module.exports = grammar({
  name: 'whamm',
  word: $ => $.identifier,
  extras: $ => [/[ \t\n]|\r\n/, $.line_comment, $.block_comment],
  externals: $ => [
    $.block_comment, // they nest
    $._rule_start, // before a match rule; has no text
    $._predicate_end, // a '/' that no operand follows
    $.string_content,
    $._text_content, // the same where braces mean something
    $._interpolation_start,
    $._interpolation_end,
    $._quoted, // \"a string\" in an interpolation
    $._float, // 1. and -inf: what follows decides
    $._never, // no text is this
  ],
  inline: $ => [$._item, $._part],
  conflicts: $ => [[$.decorator, $.derived_declaration], [$._word, $.for_statement], [$._word, $.text_call]],

  rules: {
    source_file: $ => seq(repeat(choice($.use_declaration, $._item)), optional(seq($.probe, repeat(choice($._item, $.probe))))),
    _item: $ => choice($.include_declaration, $.function_definition, $._statement),

    use_declaration: $ => seq('use', field('name', choice($._name, $.package)), ';'),
    package: $ => seq($._name, repeat1(seq('.', $._name)), optional(seq('as', field('alias', $._name)))),
    include_declaration: $ => seq('include', field('path', $.string), ';'),

    function_definition: $ => seq('fn', field('name', $._name), field('parameters', $.parameters), optional(seq('->', field('result', $._type))),
      field('body', $.block)),
    parameters: $ => seq('(', optional(list($.parameter)), ')'),
    parameter: $ => seq(field('name', $._name), ':', field('type', $._type)),

    probe: $ => seq(field('rule', $.match_rule), optional(field('predicate', $.predicate)), field('body', $.block)),
    match_rule: $ => seq($._rule_start, choice(
      seq($.pattern, ':', $.pattern),
      seq(optional($._part), ':', optional($._part), ':', optional($._part), optional(seq(':', optional($._part)))),
    )),
    _part: $ => choice($.pattern, seq($.pattern, $.bounds), $.bounds),
    pattern: _ => /\*|(\*?[A-Za-z0-9_.+\\?|!\[\]]+)+\*?/,
    bounds: $ => seq('(', list($.parameter), ')'),
    predicate: $ => seq('/', $._expression, alias($._predicate_end, '/')),

    block: $ => seq('{', repeat($._statement), '}'),
    _statement: $ => choice(
      seq($._simple, ';'),
      $.if_statement, $.while_statement, $.for_statement, $.annotated_block,
    ),
    _simple: $ => choice(
      $.variable_declaration, $.value_declaration, $.constant_declaration, $.derived_declaration, $.assignment, $.update, $.return_statement, $.break_statement,
      $.continue_statement, $.delete_statement, $.text_call, $.paced_call, $._call,
    ),
    decorator: _ => choice('report', 'unshared', 'shared', 'frame', 'atomic', 'shadow'),
    variable_declaration: $ => seq(repeat($.decorator), 'var', field('name', $._name), ':',
      field('type', choice($._type, $.shadow_type)), optional(seq('=', field('value', $._expression)))),
    value_declaration: $ => seq(repeat($.decorator), alias('shadow', $.decorator), 'value', field('name', $._name), ':',
      field('type', $._type), optional(seq('=', field('value', $._expression)))),
    constant_declaration: $ => seq(repeat($.decorator), 'const', field('name', $._name), ':', field('type', $._type), '=', field('value', $._expression)),
    derived_declaration: $ => seq(alias('report', $.decorator), field('name', $._name), ':', field('type', $._type), '=', field('value', $._expression)),
    assignment: $ => seq(field('left', $._place), choice('=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='), field('right', $._expression)),
    update: $ => seq($._place, choice('++', '--')),
    return_statement: $ => seq('return', optional($._expression)),
    break_statement: _ => 'break',
    continue_statement: _ => 'continue',
    delete_statement: $ => seq('delete', choice($._name, alias($._member, $.field_expression)), '[', $._expression, ']'),
    paced_call: $ => seq(choice($._call, $.text_call), choice('every', 'limit'), $._atom),
    annotated_block: $ => seq($.annotation, field('body', $.block)),
    if_statement: $ => prec.right(seq('if', $._condition, field('body', $.block), repeat($.else_if), optional($.else))),
    else_if: $ => seq(choice('elif', seq('else', 'if')), $._condition, field('body', $.block)),
    else: $ => seq('else', field('body', $.block)),
    while_statement: $ => seq('while', $._condition, field('body', $.block)),
    for_statement: $ => seq('for', '(', choice(
      seq(field('variable', $._name), 'in', field('from', $._expression), '..', field('to', $._expression)),
      seq(field('key', $._name), optional(seq(',', field('value', $._name))), 'in', field('map', $._place)),
    ), ')', field('body', $.block)),
    _condition: $ => seq('(', field('condition', $._expression), ')'),

    _expression: $ => choice($.conditional_expression, $.binary_expression, $._operand),
    conditional_expression: $ => prec.right(1, seq(field('condition', $._expression), '?', $._expression, ':', $._expression)),
    binary_expression: $ => choice(...PRECEDENCE.slice(1).flatMap((operators, i) => operators.map(operator =>
      prec.left(i + 2, seq(field('left', $._expression), field('operator', operator), field('right', operator === 'in' ? $._place : $._expression)))))),
    _operand: $ => choice($._atom, $.cast_expression, $.unary_expression),
    cast_expression: $ => seq($._atom, 'as', field('type', $.scalar_type)),
    unary_expression: $ => seq(field('operator', choice('!', '~', '-')), choice($._atom, $.cast_expression)),
    _atom: $ => choice($._place, $._call, $.number, $.string, alias($._quoted, $.string), $.true, $.false, $.parenthesized_expression, $.tuple),
    parenthesized_expression: $ => seq('(', $._expression, ')'),
    tuple: $ => seq('(', optional(seq($._expression, repeat1(seq(',', $._expression)))), ')'),

    // What can be changed, and what names parts of the program's values.
    _place: $ => choice($._name, $.field_expression, $.element_expression, $.index_expression),
    field_expression: $ => seq(field('value', $._place), choice('.', '->'), field('field', alias($.identifier, $.field_identifier))),
    element_expression: $ => seq(field('value', $._place), '.', field('index', alias($.digits, $.number))),
    index_expression: $ => seq(field('value', $._place), '[', field('index', $._expression), ']'),

    _call: $ => choice($.call_expression, $.annotated_call),
    call_expression: $ => seq(field('function', choice($._name, $.field_expression)), field('arguments', $.arguments)),
    annotated_call: $ => seq($.annotation, alias($.library_call, $.call_expression)),
    library_call: $ => seq(field('function', alias($._member, $.field_expression)), field('arguments', $.arguments)),
    _member: $ => seq(field('value', $._name), '.', field('field', alias($.identifier, $.field_identifier))),
    annotation: $ => seq('@', $._name),
    arguments: $ => seq('(', optional(list($._expression)), ')'),
    // print("{x}"); and the like: lang/interpolate.c
    text_call: $ => prec.dynamic(1, choice(
      seq(field('function', alias(choice('print', 'trap'), $.identifier)), '(', alias($.text, $.string), ')'),
      seq(field('function', alias('assert', $.identifier)), '(', $._expression, ',', alias($.text, $.string), ')'),
    )),

    _type: $ => choice($.scalar_type, $.tuple_type, $.map_type, $.array_type, $.aggregate_type),
    scalar_type: $ => $._scalar,
    _scalar: _ => token(choice(...SCALARS)),
    tuple_type: $ => seq('(', optional(list($._type)), ')'),
    map_type: $ => seq('map', '<', field('key', $._type), ',', field('value', $._type), '>'),
    array_type: $ => seq('array', '<', $._type, ',', $.number, '>'),
    aggregate_type: $ => seq(field('name', $.aggregation), optional(seq('(', list(choice($._type, $.number)), ')'))),
    aggregation: _ => token(choice(...AGGREGATIONS)),
    shadow_type: $ => seq($.scalar_type, '[', 'per', $.number, ']'),

    // A scanner takes a word for a keyword only where the keyword can be. So that reserved words are never names, they can be where a
    // name can, but nothing follows.
    _name: $ => choice($.identifier, alias($._word, $.identifier), seq($._reserved, $._never)),
    _word: _ => choice(...STARTS),
    _reserved: $ => choice(...RESERVED, $._scalar),
    identifier: _ => /[A-Za-z_][A-Za-z_0-9]*/,

    true: _ => 'true',
    false: _ => 'false',
    number: $ => choice($._number, $._float),
    _number: _ => token(choice(
      /-?[1-9][0-9_]*/, '0', /0[xX][0-9A-Fa-f]+/, /0[bB][01]+/, /-?[0-9][0-9_]*\.[0-9]+/, /-?[0-9][0-9_]*(\.[0-9]*)?[eE][+-]?[0-9]+/)),
    digits: _ => /[0-9][0-9_]*/,
    string: $ => seq('"', repeat(choice($.string_content, $.escape_sequence)), token.immediate('"')),
    text: $ => seq('"', repeat(choice(alias($._text_content, $.string_content), $.escape_sequence, alias($.brace, $.escape_sequence), $.interpolation)),
      token.immediate('"')),
    escape_sequence: _ => token.immediate(choice(/\\[nrt"'\\0]/, /\\x[0-9A-Fa-f]{2}/, /\\u\{[0-9A-Fa-f]+\}/)),
    brace: _ => token.immediate(choice('{{', '}}')),
    interpolation: $ => seq(alias($._interpolation_start, '{'), $._expression, optional(seq(':', optional($.format))), alias($._interpolation_end, '}')),
    format: _ => token.immediate(/[<>^]?#?[0-9]*(\.[0-9]+)?[xXboe?]|[<>^]?#?[0-9]*\.[0-9]+|[<>^]?#?[0-9]+|[<>^]#?|#/),
    line_comment: _ => token(/\/\/[^\n]*/),
  },
});
