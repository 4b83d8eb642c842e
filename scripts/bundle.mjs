// Makes one classic script of ES modules, for workers without modules and for the runtimes of bundlers.
//
//   node scripts/bundle.mjs ENTRY > OUT.js
//
// Each module becomes a function that returns its exports. It understands what the package's modules use: imports of names from relative
// files, exports of declarations, no cycles.
import fs from 'node:fs';
import path from 'node:path';

const IMPORT = /^import (?:\{([^}]*)\} from )?'(\.[^']*)';$/gm, EXPORT = /^export (?=(?:async )?(?:function\*?|class|const) )/gm;
const numbers = new Map(), parts = [];

const namesOf = code => [...code.matchAll(/^export (?:async )?(?:function\*?|class) (\w+)|^export const (.*)$/gm)]
  .flatMap(([, name, constants]) => name ?? [...constants.matchAll(/(?:^|, )(\w+) = /g)].map(match => match[1]));

// Comments that fill lines, and blanks at the beginnings of lines; no text of these modules has such lines.
const strip = code => code.replace(/^ *\/\/.*$|^ *\/\*\*[^]*?\*\/$/gm, '').replace(/^ +/gm, '').replace(/^\n/gm, '');

function add(file) {
  if (numbers.has(file)) return numbers.get(file);
  const code = fs.readFileSync(file, 'utf8');
  const body = code.replace(IMPORT, (_, names, from) => {
    const number = add(path.resolve(path.dirname(file), from));
    return names ? `const {${names.replace(/ as /g, ': ')}} = m${number};` : '';
  });
  if (/^import |^export (?:\{|default|let|\*)|\bimport\.meta\b/m.test(strip(body))) throw new Error(`${file}: this form of import or export is not known`);
  const number = numbers.size;
  numbers.set(file, number);
  parts.push(`const m${number} = (() => {\n${strip(body.replace(EXPORT, ''))}return { ${namesOf(code).join(', ')} };\n})();\n`);
  return number;
}

add(path.resolve(process.argv[2]));
process.stdout.write(`(() => {\n'use strict';\n${parts.join('')}})();\n`);
