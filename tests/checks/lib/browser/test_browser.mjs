// An instrumented program in a page, in headless Chromium: the page's own loading code stays as it is, the classic script of the
// JavaScript host is loaded before it. TAP on standard output.
//
//   node test_browser.mjs CHROMIUM WHAMMC-CLASSIC.js WHAMMC WAT2WASM
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { launch, serve } from './chromium.mjs';

const [chromium, classic, whammc, wat2wasm] = process.argv.slice(2);
const dir = makeFolder('browser');

const APP = `(module
  (import "page" "say" (func $say (param i32)))
  (memory (export "memory") 1 1)
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func (export "main") (param i32)
    (loop $l
      (call $say (call $square (local.get 0)))
      (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
  (func (export "crash") (call $say (call $square (i32.const 9))) unreachable))`;
const SCRIPT = `wasm:opcode:call:before { report unshared var calls: i64; calls++; }
wasm:opcode:br_if:before { report unshared var taken_n: i32; if (taken) { taken_n++; } }`;

fs.writeFileSync(path.join(dir, 'app.wat'), APP);
fs.writeFileSync(path.join(dir, 'script.whamm'), SCRIPT);
execFileSync(wat2wasm, ['--debug-names', path.join(dir, 'app.wat'), '-o', path.join(dir, 'app.wasm')]);

/** The page: instantiates in one of the usual ways, gives what it saw. */
function page(way) {
  return `<!doctype html><link rel="icon" href="data:,"><script src="/whammc.js"></script><script>
const said = [], reports = [];
if (globalThis.whammc) whammc.onReport = text => reports.push(text);
const imports = { page: { say: n => said.push(n) } };
async function visit() {
  let instance, error = null;
  if (${JSON.stringify(way)} === 'streaming') {
    ({ instance } = await WebAssembly.instantiateStreaming(fetch('/app.wasm'), imports));
  } else {
    const bytes = await (await fetch('/app.wasm')).arrayBuffer();
    instance = ${JSON.stringify(way)} === 'bytes' ? (await WebAssembly.instantiate(bytes, imports)).instance
      : new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
  }
  instance.exports.main(4);
  try { instance.exports.crash(); } catch (e) { error = e.constructor.name; }
  whammc.patched.flush();
  return { said, error, report: reports.at(-1) ?? '' };
}
</script>`;
}

/** Opens the page of the given way, gives what it saw. */
async function visit(browser, way, module) {
  const site = await serve({ '/': ['text/html', page(way)], '/whammc.js': ['text/javascript', fs.readFileSync(classic)],
    '/app.wasm': ['application/wasm', fs.readFileSync(module)] });
  try {
    return await (await browser.open(site.url)).evaluate('await visit()');
  } finally {
    site.close();
  }
}

const EXPECTED = [
  ['calls', 'main', '4'], ['calls', 'main', '4'], ['calls', 'crash', '1'], ['calls', 'crash', '1'], ['taken_n', 'main', '3'],
];
const ways = [['streaming', 'auto'], ['bytes', 'globals'], ['constructor', 'memory']];
const browser = await launch(chromium, path.join(dir, 'profile'));
for (const [way, storage] of ways) {
  const out = path.join(dir, `${way}.wasm`);
  let problem = '';
  try {
    execFileSync(whammc, ['instr', '-s', path.join(dir, 'script.whamm'), path.join(dir, 'app.wasm'), '-o', out, '--host=js',
      `--storage=${storage}`], { stdio: ['ignore', 'ignore', 'ignore'] });
    const seen = await visit(browser, way, out);
    const rows = seen.report.split('\n').filter(line => line.includes('memaddr')).map(line => line.split(', '));
    const got = rows.map(row => [row[2], row[6] === '#2' ? 'main' : row[6] === '#3' ? 'crash' : row[6], row[10]]);
    const sorted = list => JSON.stringify(list.map(String).sort());
    if (sorted(got) !== sorted(EXPECTED)) problem = `rows ${JSON.stringify(got)}`;
    if (JSON.stringify(seen.said) !== '[16,9,4,1,81]') problem += ` said ${JSON.stringify(seen.said)}`;
    if (seen.error !== 'RuntimeError') problem += ` error ${seen.error}`;
  } catch (error) {
    problem = String(error);
  }
  result(!problem, `${way}, storage ${storage}`, problem);
}
await browser.close();
removeFolder(dir);
end();
