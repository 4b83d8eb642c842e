// Profiles in pages, in headless Chromium: pages load programs with code of their own, the console calls WasmProf; and a
// screenshot of a flame graph. TAP on standard output.
//
//   node test_profile.mjs CHROMIUM WHAMMC
//
// If WHAMMC_PICTURE names a file, the screenshot is kept there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { decodePng, launch, serve } from './chromium.mjs';

const [chromium, whammc] = process.argv.slice(2);
const dir = makeFolder('profile'), file = name => path.join(dir, name);

// ---- programs ----

// frame(n): n squares, said one after the other. crash traps in a function below it.
const APP = `(module
  (import "page" "say" (func $say (param i32)))
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func $draw (param i32) (call $say (call $square (local.get 0))))
  (func $frame (export "frame") (param i32)
    (loop $l (call $draw (local.get 0)) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
  (func $fail unreachable)
  (func $crash (export "crash") (call $fail)))`;
const OTHER = '(module (func $inner) (func $other (export "other") (call $inner) (call $inner)))';

// The hosts that programs are instrumented for, with the bundled script.
const HOSTS = ['prof', 'js'];

function make() {
  for (const [name, text] of Object.entries({ app: APP, other: OTHER })) {
    fs.writeFileSync(file(`${name}.wat`), text);
    execFileSync('wat2wasm', ['--debug-names', file(`${name}.wat`), '-o', file(`${name}.wasm`)]);
    for (const host of HOSTS) {
      fs.mkdirSync(file(host), { recursive: true });
      execFileSync(whammc, ['instr', `--host=${host}`, '-s', 'profile', `${name}.wasm`, '-o', `${host}/${name}.wasm`], { cwd: dir, stdio: 'ignore' });
    }
  }
}

// ---- pages ----

// Code of a page that knows nothing of whammc: shows what the program says, and says it on the console.
const OWN_CODE = `
const show = text => { console.log(text); document.body.append(text, document.createElement('br')); };
const imports = { page: { say(n) { show(\`say \${n}\`); if (globalThis.onSay) onSay(n); } } };
async function start() {
  const { module, instance } = await WebAssembly.instantiateStreaming(fetch('/app.wasm'), imports);
  show(\`\${instance instanceof WebAssembly.Instance} \${module instanceof WebAssembly.Module}\`);
  globalThis.exports = instance.exports;
  const bytes = await (await fetch('/other.wasm')).arrayBuffer();
  globalThis.other = (await WebAssembly.instantiate(bytes)).instance.exports;
  instance.exports.frame(3);
  try { if (location.hash !== '#calm') instance.exports.crash(); } catch (error) { show(error.message); }
  try { await WebAssembly.instantiateStreaming(fetch('/page.js'), imports); } catch (error) { show(error); }
  try { await WebAssembly.instantiateStreaming(fetch('/plain.wasm')); } catch (error) { show(error); }
  show(String((await WebAssembly.instantiateStreaming(fetch('/plain.wasm'), imports)).instance));
  return 'done';
}
globalThis.started = start();
`;
const WORKER = `onmessage = async () => {
  const { instance } = await WebAssembly.instantiateStreaming(fetch('/app.wasm'), { page: { say() {} } });
  instance.exports.frame(2);
  postMessage(WasmProf.saveResults().json());
};`;

// With the programs as they are, or those for a host; the scripts beside them are there in each case.
function filesOf(host, instrumented) {
  const text = (type, content) => [`text/${type}`, content];
  const wasm = name => ['application/wasm', fs.readFileSync(file(instrumented ? `${host}/${name}.wasm` : `${name}.wasm`))];
  const page = scripts => text('html', `<!doctype html><link rel="icon" href="data:,">${scripts}<body></body><script src="/page.js"></script>`);
  const classic = names => names.map(name => `<script src="/${name}.js"></script>`).join('');
  const files = { '/page.js': text('javascript', OWN_CODE), '/app.wasm': wasm('app'), '/other.wasm': wasm('other'),
    '/plain.wasm': ['application/wasm', fs.readFileSync(file('app.wasm'))],
    '/none': page(''), '/classic': page(classic(['app', 'other'])), '/backwards': page(classic(['other', 'app'])),
    '/module': text('html', `<!doctype html><link rel="icon" href="data:,"><body></body>
      <script type="module">import '/app.js'; import '/other.js'; import '/page.js';</script>`),
    '/worker.js': text('javascript', `importScripts('/app.js');\n${WORKER}`),
    '/module-worker.js': text('javascript', `import '/app.js';\n${WORKER}`) };
  for (const name of ['app.js', 'app.views.js', 'other.js', 'other.views.js']) files[`/${name}`] = text('javascript', fs.readFileSync(file(`${host}/${name}`)));
  return files;
}

// ---- what is tested ----

async function visit(browser, site, name) {
  const page = await browser.open(`${site.url}/${name}`);
  await page.evaluate('await started');
  page.shown = await page.evaluate('document.body.innerText');
  return page;
}

/** Calls by "caller callee" in a report. */
// The calls of each part of a report; where there are several, functions have the name of their module.
function callsOf(text) {
  const parts = text.split(/^(?=\{"whammc":1,.*\n)/m).filter(Boolean);
  return Object.assign({}, ...parts.map(part => {
    const lines = part.trim().split('\n').map(line => JSON.parse(line)), head = lines.find(line => line.whammc === 1);
    const { names, arcs } = Object.fromEntries(lines.map(({ name, value }) => [name, value]));
    const title = parts.length > 1 ? ` (${head.name})` : '', found = id => names.find(({ key }) => key === id);
    const name = id => (found(id) ? found(id).value + title : 'host');
    return Object.fromEntries(arcs.map(({ key, value }) => [key.map(name).join(' '), value[0] ?? value]));
  }));
}

const same = (a, b) => JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
const once = { 'host frame': 1, 'frame draw': 3, 'draw square': 3, 'draw say': 3, 'host crash': 1, 'crash fail': 1 };

async function testPages(browser, host) {
  const original = await serve(filesOf(host, false)), instrumented = await serve(filesOf(host, true));
  const plain = await visit(browser, original, 'none');
  result(plain.shown.startsWith('true true\nsay 9\nsay 4\nsay 1\nunreachable\nTypeError') && plain.printed.length === 8, `${host}: the page as it is`, plain);
  for (const name of ['classic', 'backwards', 'module']) {
    const before = await visit(browser, original, name);
    const alike = page => page.shown === plain.shown && String(page.printed) === String(plain.printed);
    result(alike(before), `${host}, ${name}: a program that is not instrumented`, before);
    const page = await visit(browser, instrumented, name);
    result(alike(page), `${host}, ${name}: the same output`, page, plain);
    const titles = await page.evaluate('saved = WasmProf.saveResults(); saved.modules.join()');
    const json = await page.evaluate('saved.module("app.wasm").json()');
    result(titles === 'app.wasm,other.wasm' && same(callsOf(json), once), `${host}, ${name}: calls`, titles, callsOf(json));
  }
  await testConsole(await visit(browser, instrumented, 'classic#calm'), host);
  await testWorkers(await visit(browser, instrumented, 'classic#calm'), host);
  original.close();
  instrumented.close();
}

async function testConsole(page, host) {
  const flat = await page.evaluate('WasmProf.saveResults().flatProfileText()');
  const count = name => flat.split('\n').filter(line => line.includes(`  ${name}`)).length;
  const rows = ['frame', 'square', 'draw', 'say', 'crash', 'fail', '#'].map(count);
  result(flat.startsWith('Flat profile: ') && rows.join() === '1,1,1,1,0,0,0', `${host}, console: flatProfile()`, flat);
  const graph = await page.evaluate('WasmProf.saveResults().callGraphText(1)');
  result(graph.startsWith('Call graph\n\nindex') && /\[1\]/.test(graph) && /and \d+ more functions\n$/.test(graph), `${host}, console: callGraph(1)`, graph);
  await page.evaluate('WasmProf.clear(); exports.frame(5); other.other()');
  const later = await page.evaluate('WasmProf.saveResults().json()');
  const expected = { 'host frame (app.wasm)': 1, 'frame (app.wasm) draw (app.wasm)': 5, 'draw (app.wasm) square (app.wasm)': 5,
    'draw (app.wasm) say (app.wasm)': 5, 'host other (other.wasm)': 1, 'other (other.wasm) inner (other.wasm)': 2 };
  result(same(callsOf(later), expected), `${host}, console: clear(), two programs together`, callsOf(later));
  const within = await page.evaluate(`WasmProf.clear(); onSay = n => { if (n === 4) seen = WasmProf.saveResults(); };
    exports.frame(3); seen.module('app.wasm').json()`);
  const first = { 'host frame': 1, 'frame draw': 2, 'draw square': 2, 'draw say': 2 };
  result(same(callsOf(within), first), `${host}, console: in the middle of a call`, callsOf(within));
}

async function testWorkers(page, host) {
  for (const [script, type] of [['worker.js', 'classic'], ['module-worker.js', 'module']]) {
    const json = await page.evaluate(`await new Promise(resolve => { const worker = new Worker('/${script}', { type: '${type}' });
      worker.onmessage = event => resolve(event.data); worker.postMessage(0); })`);
    result(same(callsOf(json), { 'host frame': 1, 'frame draw': 2, 'draw square': 2, 'draw say': 2 }), `${host}, a ${type} worker`, callsOf(json));
  }
}

// (module (import "whammc" "now" (func $now (result f64)))
//   (func (export "run") (param i32) (result f64) reads the clock n times; returns 0 if it never went back, or the last time before that
const READS = `(module (import "whammc" "now" (func $now (result f64))) (func (export "run") (param i32) (result f64) (local f64 f64)
  (loop $l
    (local.set 2 (call $now))
    (if (f64.lt (local.get 2) (local.get 1)) (then (return (local.get 1))))
    (local.set 1 (local.get 2))
    (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
  (f64.const 0)))`;

// Where threads can share memory, one keeps the time while a program reads the clock often.
async function testClock(browser) {
  fs.writeFileSync(file('reads.wat'), READS);
  execFileSync('wat2wasm', [file('reads.wat'), '-o', file('reads.wasm')]);
  const start = `started = 0; Worker = class extends Worker { constructor(...given) { super(...given); started++; } }`;
  const html = `<!doctype html><link rel="icon" href="data:,"><script>${start}</script><script src="/app.js"></script>`;
  const files = { ...filesOf('js', true), '/reads': ['text/html', html], '/reads.wasm': ['application/wasm', fs.readFileSync(file('reads.wasm'))] };
  const isolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
  for (const [what, headers, threads] of [['an isolated page', isolation, 1], ['another page', {}, 0]]) {
    const site = await serve(files, headers), page = await browser.open(`${site.url}/reads`);
    const seen = await page.evaluate(`await WebAssembly.instantiateStreaming(fetch('/reads.wasm')).then(async ({ instance: { exports: { run } } }) => {
      const seen = { wrong: 0, ns: [] };
      for (let i = 0; i < 40; i++) {
        const began = performance.now();
        if (run(200000)) seen.wrong++;
        seen.ns.push(Math.round((performance.now() - began) * 5));
        if (i % 10 === 0) await new Promise(done => { setTimeout(done, 60); });
      }
      return JSON.stringify({ ...seen, started });
    })`);
    const { wrong, ns, started } = JSON.parse(seen);
    console.log(`# ns for each reading of the clock: ${ns.join(' ')}`);
    result(wrong === 0 && started === threads, `the clock in ${what}`, seen);
    site.close();
  }
}

// A flame graph of main (all of the width), two functions over it (60 and 30 of 100), and one over the first of them.
async function testFlameGraph(browser) {
  const entry = ([key, value]) => `{"key":${key},"value":${JSON.stringify(value)}}`;
  const row = (id, name, type, entries) => `{"id":${id},"id_type":"map_id","name":"${name}","type":"${type}","wasm_type":"i32",` +
    `"script":"script0","fname":null,"fid":null,"pc":null,"probe":null,"value":[${entries.map(entry).join(',')}]}\n`;
  const report = row(0, 'names', 'map<u32,str>', [[0, 'main'], [1, 'parse'], [2, 'evaluate'], [3, 'collect']]) +
    row(1, 'tree', 'map<u32,(u32,u32,u64,u64)>', [[1, [0, 0, 1, 10]], [2, [1, 2, 9, 35]], [3, [1, 1, 4, 30]], [4, [2, 3, 2, 25]]]);
  const svg = execFileSync(whammc, ['report', '--format=svg', '-'], { input: report });
  const empty = '<svg xmlns="http://www.w3.org/2000/svg"/>', size = { width: 1000, height: 200 };
  const site = await serve({ '/flame.svg': ['image/svg+xml', svg], '/empty.svg': ['image/svg+xml', empty] });
  const look = async name => (await browser.open(`${site.url}/${name}`, size)).screenshot();
  const [png, nothing] = [await look('flame.svg'), decodePng(await look('empty.svg'))];
  if (process.env.WHAMMC_PICTURE) fs.writeFileSync(process.env.WHAMMC_PICTURE, png);
  const picture = decodePng(png);
  const colours = image => {
    const counts = new Map();
    for (let y = 0; y < image.height; y++)
      for (let x = 0; x < image.width; x++) counts.set(image.at(x, y), (counts.get(image.at(x, y)) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]);
  };
  const all = picture.width * picture.height, seen = colours(picture), coloured = (all - seen[0][1]) / all;
  result(colours(nothing).length === 1, 'a picture without anything is empty', colours(nothing).length);
  // Frames are in warm colours: more red than blue.
  const warm = ([colour]) => (colour >> 16) - (colour & 255) > 60, large = seen.filter(entry => warm(entry) && entry[1] > 2000);
  result(coloured > 0.1 && large.length >= 3, 'the flame graph is not empty', coloured, seen.slice(0, 8));
  const rows = large.map(([colour]) => {
    let most = 0;
    for (let y = 0; y < picture.height; y++) {
      let n = 0;
      for (let x = 0; x < picture.width; x++) n += picture.at(x, y) === colour;
      most = Math.max(most, n);
    }
    return Math.round((100 * most) / picture.width);
  });
  const fits = share => rows.some(wide => Math.abs(wide - share) <= 2);
  result([100, 60, 30, 25].every(fits), 'its frames are as wide as their times', rows, seen.slice(0, 8));
  site.close();
}

let browser;
try {
  make();
  browser = await launch(chromium, file('profile'));
  for (const host of HOSTS) await testPages(browser, host);
  await testClock(browser);
  await testFlameGraph(browser);
} catch (error) {
  result(false, 'the browser', error.stack);
} finally {
  await browser?.close();
}
removeFolder(dir);
end();
