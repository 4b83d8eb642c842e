// Makes the words that the playground's editor knows, from the tables and the scanner of the compiler:
//
//   node words.mjs SOURCE-FOLDER >src/words.json
//
// { keywords, types, names, functions }, each an array of texts
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

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

export function makeWords(source) {
  const read = name => readFileSync(path.join(source, name), 'utf8'), functions = read('src/lang/function.def');
  return {
    ...scannerWords(read('grammar/whamm.y'), read('grammar/whamm.l')),
    names: rows(read('src/event/event.def'), 'NAME').map(([, text]) => text),
    functions: [...rows(functions, 'FUNCTION'), ...rows(functions, 'OPERATOR')].map(([, name]) => name),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(JSON.stringify(makeWords(process.argv[2]), null, 1));
