#!/usr/bin/env node
// Writes the lists of words in editors/ from the compiler's tables, and the parser of the tree-sitter grammar:
//
//   scripts/editors.mjs            lists of words
//   scripts/editors.mjs --parser   these, and editors/tree-sitter-whamm/src/parser.c, with tree-sitter generate
//   scripts/editors.mjs --check    tells whether all is up to date
//
// A list is between a line that names this script and one with "end of the words".
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeWords, rows } from '../playground/words.mjs';

const SOURCE = fileURLToPath(new URL('..', import.meta.url));
const GRAMMAR = 'editors/tree-sitter-whamm/grammar.js', PARSER = 'editors/tree-sitter-whamm/src/parser.c';
// What the keywords of grammar/whamm.y are for; each is in one group.
export const GROUPS = {
  conditional: ['if', 'elif', 'else'],
  repeat: ['while', 'for', 'break', 'continue'],
  return: ['return'],
  import: ['use', 'include'],
  function: ['fn'],
  declaration: ['var', 'const', 'value'],
  decorator: ['report', 'unshared', 'shared', 'frame', 'atomic', 'shadow'],
  statement: ['delete', 'every', 'limit', 'per'],
  operator: ['as', 'in'],
  container: ['map', 'array'],
  boolean: ['true', 'false'],
};
// Where a word is a keyword, if it can be a name elsewhere: what is before it, or after it (WORD, or a character).
export const CONTEXTS = {
  const: ['', 'WORD'], atomic: ['', 'WORD'], shadow: ['', 'WORD'], delete: ['', 'WORD'], value: ['shadow', ''], include: ['', '"'], for: ['', '('],
  break: ['', ';'], continue: ['', ';'], every: [')', ''], limit: [')', ''], per: ['[', ''], array: ['', '<'],
};

const read = name => readFileSync(path.join(SOURCE, name), 'utf8');

/** The words of the language, by what they are. */
export function languageWords() {
  const made = makeWords(SOURCE), events = read('src/event/event.def'), functions = read('src/lang/function.def');
  const grouped = Object.values(GROUPS).flat();
  for (const word of made.keywords) if (!grouped.includes(word)) throw new Error(`${word} is in no group of scripts/editors.mjs`);
  for (const word of grouped) if (!made.keywords.includes(word)) throw new Error(`${word}, in a group of scripts/editors.mjs, is not a keyword`);
  const reserved = [...read('grammar/whamm.l').matchAll(/^"([a-z]+)" +\{ return [A-Z]+; \}/gm)].map(match => match[1]);
  const numbered = made.names.filter(text => text.endsWith('N'));
  const packages = [...rows(events, 'EVENT').flatMap(row => row.slice(1, 3)), ...rows(events, 'MADE').map(row => row[0])];
  return {
    reserved: reserved.sort(),
    scalars: made.types,
    aggregations: rows(read('src/lang/type.def'), 'AGGREGATE').map(row => row[1]),
    functions: made.functions,
    methods: [...new Set([...rows(functions, 'METHOD'), ...rows(functions, 'MAP_METHOD').filter(row => row[2] === 'false')].map(row => row[1]))],
    names: made.names.filter(text => !numbered.includes(text)),
    numbered: numbered.map(text => text.slice(0, -1)),
    events: [...new Set(['wasm', ...packages])].filter(Boolean),
    modes: [...new Set(rows(events, 'MODE').map(row => row[1]))].filter(Boolean),
  };
}

/** Words in lines of at most 140 columns. */
function wrap(words, first, rest, last, separator = ' ') {
  const lines = [];
  let line = first;
  words.forEach((word, i) => {
    const piece = word + (i + 1 < words.length ? separator.trimEnd() : last), blank = line.endsWith(' ') || line.endsWith('(') || line.endsWith('[') ? '' : ' ';
    if (line.length + blank.length + piece.length > 140) {
      lines.push(line.trimEnd());
      line = rest + piece;
    } else line += blank + piece;
  });
  return [...lines, line];
}

const quoted = (words, quote) => words.map(word => `${quote}${word}${quote}`);
const capital = text => text[0].toUpperCase() + text.slice(1);

function grammarLines(words) {
  const constant = (name, list) => wrap(quoted(list, "'"), `const ${name} = [`, '  ', '];', ', ');
  return [...constant('RESERVED', words.reserved), ...constant('SCALARS', words.scalars), ...constant('AGGREGATIONS', words.aggregations)];
}

function queryLines(words) {
  const of = { decorator: 'keyword.modifier', container: 'type.builtin', operator: 'keyword.operator', declaration: 'keyword', statement: 'keyword' };
  const lines = [];
  for (const [group, list] of Object.entries(GROUPS)) {
    if (group === 'boolean') continue;
    lines.push(...wrap(quoted(list, '"'), '[', '  ', `] @${of[group] ?? `keyword.${group}`}`));
  }
  const among = (pattern, capture, list) => lines.push(pattern.replace('$', `@${capture}`),
    ...wrap(quoted(list, '"'), `  (#any-of? @${capture}`, '    ', '))'));
  among('((identifier) $', 'variable.builtin', words.names);
  lines.push('((identifier) @variable.builtin', `  (#match? @variable.builtin "^(${words.numbered.join('|')})[0-9]+$"))`);
  among('((call_expression function: (identifier) $)', 'function.builtin', words.functions);
  among('((call_expression function: (field_expression field: (field_identifier) $))', 'function.method.builtin', words.methods);
  return lines;
}

function vimLines(words) {
  const lines = [], keyword = (group, list, more = '') => lines.push(...wrap(list, `syntax keyword whamm${group}${more}`, '      \\ ', ''));
  const escaped = text => text.replace(/[()[\]<>]/g, '\\$&');
  for (const [group, list] of Object.entries(GROUPS)) {
    const name = group === 'function' ? 'FunctionWord' : capital(group), plain = list.filter(word => !CONTEXTS[word]);
    if (plain.length) keyword(name, plain);
    for (const word of list) {
      const [before, after] = CONTEXTS[word] ?? [];
      if (before) lines.push(`syntax match whamm${name} "\\v%(${escaped(before)}\\s*)@16<=<${word}>"`);
      else if (after) lines.push(`syntax match whamm${name} '\\v<${word}>%(${after === 'WORD' ? '\\s+\\h' : `\\s*${escaped(after)}`})@='`);
    }
  }
  keyword('Type', words.scalars);
  lines.push(`syntax match whammAggregation "\\v%([:<,]\\s*)@16<=(${words.aggregations.join('|')})>"`);
  keyword('Name', words.names);
  lines.push(`syntax match whammName "\\v<(${words.numbered.join('|')})\\d+>"`);
  lines.push(`syntax match whammFunction "\\v<(${words.functions.join('|')})>\\ze\\s*\\("`);
  lines.push(`syntax match whammMethod "\\v\\.\\s*\\zs(${words.methods.join('|')})>\\ze\\s*\\("`);
  keyword('Event', words.events, ' contained');
  keyword('Mode', words.modes, ' contained');
  return lines.map(line => line.trimEnd());
}

function lispLines(words) {
  const constant = (name, list, doc) => [`(defconst whamm-${name}`, ...wrap(quoted(list, '"'), "  '(", '    ', ')'), `  "${doc}")`];
  const all = Object.entries(GROUPS).filter(([group]) => group !== 'boolean').flatMap(([, list]) => list), inContext = all.filter(word => CONTEXTS[word]);
  const cells = inContext.map(word => `("${word}" ${CONTEXTS[word].map(text => JSON.stringify(text)).join(' ')})`);
  return [
    ...constant('keywords', all.filter(word => !CONTEXTS[word]), 'Keywords.'),
    '(defconst whamm-keywords-in-context', ...wrap(cells, "  '(", '    ', ')'), '  "Keywords that can be names, what is before them, what is after them.")',
    ...constant('constants', GROUPS.boolean, 'Literals.'),
    ...constant('scalars', words.scalars, 'Names of types.'),
    ...constant('aggregations', words.aggregations, 'Names of aggregations.'),
    ...constant('functions', words.functions, 'Built-in functions.'),
    ...constant('methods', words.methods, 'Methods of strings and maps.'),
    ...constant('names', words.names, 'Bound names.'),
    ...constant('numbered-names', words.numbered, 'Bound names that a number follows.'),
    ...constant('events', [...new Set([...words.events, ...words.modes])], 'Words of match rules.'),
  ];
}

const LISTS = {
  [GRAMMAR]: grammarLines,
  'editors/tree-sitter-whamm/queries/highlights.scm': queryLines,
  'editors/vim/syntax/whamm.vim': vimLines,
  'editors/emacs/whamm-mode.el': lispLines,
};

function withLists(name, words) {
  const parts = read(name).match(/^([\s\S]*?^.*scripts\/editors\.mjs writes.*\n)[\s\S]*?(^.*end of the words[\s\S]*)$/m);
  if (!parts) throw new Error(`${name} has no place for the words`);
  return `${parts[1]}${LISTS[name](words).join('\n')}\n${parts[2]}`;
}

/** The line of parser.c that says what it was made from. */
const origin = () => `/* Made from grammar.js, SHA-256 ${createHash('sha256').update(read(GRAMMAR)).digest('hex')}. */\n`;

function makeParser() {
  const directory = mkdtempSync(path.join(tmpdir(), 'whamm-')), made = file => path.join(directory, 'src', file);
  copyFileSync(path.join(SOURCE, GRAMMAR), path.join(directory, 'grammar.js'));
  execFileSync('tree-sitter', ['generate', '--abi=14'], { cwd: directory, stdio: 'inherit' });
  writeFileSync(path.join(SOURCE, PARSER), origin() + readFileSync(made('parser.c'), 'utf8'));
  copyFileSync(made('tree_sitter/parser.h'), path.join(SOURCE, path.dirname(PARSER), 'tree_sitter/parser.h'));
  rmSync(directory, { recursive: true });
}

function main() {
  const words = languageWords();
  const old = Object.keys(LISTS).filter(name => withLists(name, words) !== read(name));
  if (process.argv[2] === '--check') {
    if (!read(PARSER).startsWith(origin())) old.push(PARSER);
    for (const name of old) console.error(`${name} is out of date; run scripts/editors.mjs --parser`);
    process.exitCode = old.length ? 1 : 0;
  } else {
    for (const name of old) writeFileSync(path.join(SOURCE, name), withLists(name, words));
    if (process.argv[2] === '--parser') makeParser();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
