// An instrumented program in a page, in headless Chromium: the page's own loading code stays as it is, the classic script of the
// JavaScript host is loaded before it. TAP on standard output.
//
//   node test_browser.mjs CHROMIUM WHAMMC-CLASSIC.js WHAMMC WAT2WASM
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const [chromium, classic, whammc, wat2wasm] = process.argv.slice(2);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'whammc-browser-'));

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

/** The page: instantiates in one of the usual ways, sends what it saw. */
function page(way) {
  return `<!doctype html><script src="/whammc.js"></script><script type="module">
const said = [], reports = [];
if (globalThis.whammc) whammc.onReport = text => reports.push(text);
const imports = { page: { say: n => said.push(n) } };
let instance, error = null;
try {
  if (${JSON.stringify(way)} === 'streaming')
    ({ instance } = await WebAssembly.instantiateStreaming(fetch('/app.wasm'), imports));
  else {
    const bytes = await (await fetch('/app.wasm')).arrayBuffer();
    instance = ${JSON.stringify(way)} === 'bytes' ? (await WebAssembly.instantiate(bytes, imports)).instance
      : new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
  }
  instance.exports.main(4);
  try { instance.exports.crash(); } catch (e) { error = e.constructor.name; }
  whammc.patched.flush();
} catch (e) { error = String(e); }
await fetch('/result', { method: 'POST', body: JSON.stringify({ said, error, report: reports.at(-1) ?? '' }) });
</script>`;
}

/** Opens the page of the given way in a new browser, gives what it sent. */
function visit(way, module) {
  return new Promise((resolve, reject) => {
    const files = {
      '/': ['text/html', () => page(way)],
      '/whammc.js': ['text/javascript', () => fs.readFileSync(classic)],
      '/app.wasm': ['application/wasm', () => fs.readFileSync(module)],
    };
    const server = http.createServer((request, response) => {
      if (request.method === 'POST') {
        let body = '';
        request.on('data', piece => { body += piece; });
        request.on('end', () => { response.end(); finish(null, JSON.parse(body)); });
      } else if (files[request.url]) {
        response.setHeader('Content-Type', files[request.url][0]);
        response.end(files[request.url][1]());
      } else {
        response.statusCode = 404;
        response.end();
      }
    });
    let browser;
    const timer = setTimeout(() => finish(new Error('the page sent nothing within 60 seconds')), 60000);
    function finish(error, result) {
      clearTimeout(timer);
      browser?.kill('SIGKILL');
      server.close();
      server.closeAllConnections();
      if (error) reject(error); else resolve(result);
    }
    server.listen(0, '127.0.0.1', () => {
      browser = spawn(chromium, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
        '--disable-background-networking', '--disable-component-update', '--disable-sync',
        `--user-data-dir=${path.join(dir, `profile-${way}`)}`, `http://127.0.0.1:${server.address().port}/`],
      { stdio: 'ignore' });
      browser.on('error', finish);
    });
  });
}

const EXPECTED = [
  ['calls', 'main', '4'], ['calls', 'main', '4'], ['calls', 'crash', '1'], ['calls', 'crash', '1'], ['taken_n', 'main', '3'],
];
const ways = [['streaming', 'auto'], ['bytes', 'globals'], ['constructor', 'memory']];
let failed = 0;
console.log(`1..${ways.length}`);
for (const [k, [way, storage]] of ways.entries()) {
  const out = path.join(dir, `${way}.wasm`);
  let problem = '';
  try {
    execFileSync(whammc, ['instr', '-s', path.join(dir, 'script.whamm'), path.join(dir, 'app.wasm'), '-o', out, '--host=js',
      `--storage=${storage}`], { stdio: ['ignore', 'ignore', 'ignore'] });
    const seen = await visit(way, out);
    const rows = seen.report.split('\n').filter(line => line.includes('memaddr')).map(line => line.split(', '));
    const got = rows.map(row => [row[2], row[6] === '#2' ? 'main' : row[6] === '#3' ? 'crash' : row[6], row[10]]);
    const sorted = list => JSON.stringify(list.map(String).sort());
    if (sorted(got) !== sorted(EXPECTED)) problem = `rows ${JSON.stringify(got)}`;
    if (JSON.stringify(seen.said) !== '[16,9,4,1,81]') problem += ` said ${JSON.stringify(seen.said)}`;
    if (seen.error !== 'RuntimeError') problem += ` error ${seen.error}`;
  } catch (error) {
    problem = String(error);
  }
  console.log(`${problem ? 'not ok' : 'ok'} ${k + 1} - ${way}, storage ${storage}`);
  if (problem) console.log(`# ${problem}`), failed++;
}
try {
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
} catch (error) { // a process of the browser may still write
  console.log(`# ${error.message}`);
}
process.exit(failed ? 1 : 0);
