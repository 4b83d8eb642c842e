// Prints what observe.mjs sees in Node, Deno or Bun:
//   run.mjs PROGRAM OTHER [SCRIPT]     SCRIPT, the OUT.js, is loaded before
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [program, other, script] = process.argv.slice(2);
if (script) await import(pathToFileURL(script).href);
const { linesOf, observe } = await import('./observe.mjs');
const bytesOf = file => new Uint8Array(readFileSync(file));
console.log(linesOf(await observe({ program: bytesOf(program) }, { other: bytesOf(other) })).join('\n'));
