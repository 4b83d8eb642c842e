// Makes the words that the playground's editor knows, from the tables and the scanner of the compiler:
//
//   node words.mjs SOURCE-FOLDER >src/words.json
//
// { keywords, types, events: [{ text, doc }], instructions: [{ text, detail }], names: [{ text, doc }],
//   functions: [{ name, text, doc }], methods: [{ name, detail, doc }], libraries: { NAME: [{ name, detail }] } }
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const LETTERS = { i: 'i32', l: 'i64', f: 'f32', d: 'f64', t: 'map', s: 'map' };
const STRING = /"(?:[^"\\]|\\.)*"/;

/** The rows NAME(...) of a table, each as its arguments: texts lose their quotes. */
export function rows(table, name) {
  const text = table.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^#.*$/gm, ''), found = [];
  for (const start of text.matchAll(new RegExp(`^${name}\\(`, 'gm'))) {
    const cells = [''];
    const token = new RegExp(`${STRING.source}|[(),]|[^"(),]+`, 'y');
    token.lastIndex = start.index + start[0].length;
    for (let depth = 1; depth;) {
      const [piece] = token.exec(text) ?? [];
      if (piece === undefined) throw new Error(`${name}: the row at ${JSON.stringify(text.slice(start.index, start.index + 60))} has no end`);
      if (piece === '(') depth++;
      if (piece === ')') depth--;
      if (piece === ',' && depth === 1) cells.push('');
      else if (depth) cells[cells.length - 1] += piece;
    }
    found.push(cells.map(cell => cell.trim()).map(cell => (cell[0] === '"' ? JSON.parse(cell) : cell)));
  }
  if (!found.length) throw new Error(`the table has no rows ${name}(...)`);
  return found;
}

/** The words that are tokens of the grammar (grammar/whamm.y), and the names of scalar types. */
function scannerWords(grammar, scanner) {
  const tokens = grammar.match(/^%token .*/gm) ?? [];
  const keywords = tokens.flatMap(line => [...line.matchAll(/"'([a-z]+)'"/g)].map(match => match[1])), types = [];
  const scalars = scanner.match(/^(\[ui\]\(.*\S) \{\n.*\n\s*return SCALAR;/m);
  if (!scalars || !keywords.includes('if')) throw new Error('grammar/: the keywords were not found');
  for (const piece of scalars[1].split(/\|(?![^(]*\))/)) {
    const group = piece.match(/^\[(\w+)\]\(([\w|]+)\)$/);
    if (group) for (const letter of group[1]) types.push(...group[2].split('|').map(size => letter + size));
    else types.push(piece);
  }
  return { keywords: keywords.sort(), types };
}

/** T(STR) and U32 of a table, as scripts write them. */
const scalar = type => (type === 'NULL' ? '' : type.replace(/^T\((.*)\)$/, '$1').toLowerCase());

export function makeWords(source) {
  const read = name => readFileSync(path.join(source, name), 'utf8');
  const events = read('src/event/event.def'), functions = read('src/lang/function.def'), libraries = {};
  for (const [library, name, parameters, result] of rows(read('src/library/bundled.def'), 'BUNDLED')) {
    const types = letters => [...letters].map(letter => LETTERS[letter]).join(', ');
    (libraries[library] ??= []).push({ name, detail: `(${types(parameters)})${result ? ` -> ${types(result)}` : ''}` });
  }
  return {
    ...scannerWords(read('grammar/whamm.y'), read('grammar/whamm.l')),
    events: rows(events, 'EVENT').map(([, group, event, , doc]) => ({ text: ['wasm', group, event].filter(Boolean).join(':'), doc })),
    instructions: rows(read('src/wasm/opcode.def'), 'OP')
      .map(([, text, , , category, operands, results]) => ({ text, detail: `${category.toLowerCase()} ${operands} → ${results}`.trim() })),
    names: rows(events, 'NAME').map(([, text, , , , doc]) => ({ text, doc })),
    functions: [...rows(functions, 'FUNCTION').map(([, name, text, , , , , , , , doc]) => ({ name, text, doc: doc ?? '' })),
      ...rows(functions, 'OPERATOR').map(([, name, text, , doc]) => ({ name, text, doc }))],
    methods: rows(functions, 'METHOD').map(([, name, argument, result, , doc]) => ({ name, detail: `(${scalar(argument)}) -> ${scalar(result)}`, doc })),
    libraries,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(JSON.stringify(makeWords(process.argv[2]), null, 1));
