// whammc/register under each kind of policy that lets WebAssembly run, in pages and in workers of each kind, in headless Chromium: programs
// are sampled and WasmProf has their flame graphs. TAP on standard output.
//
//   node register-policies.mjs PACKAGE CHROMIUM WAT2WASM.js
//
// If WHAMMC_PICTURES names a folder, screenshots of the flame graphs are kept there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { decodePng, launch, serve } from '../browser/chromium.mjs';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const [npmPackage, chromium, wat2wasm] = process.argv.slice(2), dir = makeFolder('register-policies');
const APP = `(module
  (func $spin (param i32) (result i32)
    (loop $l (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (local.get 0))
  (func $work (export "work") (param i32) (result i32)
    (loop $l (drop (call $spin (i32.const 200000))) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (local.get 0)))`;

const STRICT = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src 'self'";
const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const POLICIES = {
  plain: {}, isolated: ISOLATED,
  strict: { 'Content-Security-Policy': STRICT },
  'strict and isolated': { 'Content-Security-Policy': STRICT, ...ISOLATED },
};

function assemble() {
  const from = path.join(dir, 'app.wat'), to = path.join(dir, 'app.wasm');
  fs.writeFileSync(from, APP);
  execFileSync('node', [wat2wasm, '--debug-names', from, '-o', to]);
  return fs.readFileSync(to);
}

// Loads the program, and answers what was sampled while it ran, and how many flame graphs there are.
const LOAD = `
globalThis.loaded = WebAssembly.instantiateStreaming(fetch('/app.wasm')).then(({ instance }) => instance.exports);
globalThis.look = async () => {
  const { work } = await loaded, profiler = new WasmProf.Profiler({ sampleInterval: 2, maxBufferSize: 10000 });
  await new Promise(resolve => setTimeout(resolve, 300)); // a thread may have to begin
  for (const begun = performance.now(); performance.now() - begun < 300;) work(10);
  const { samples, frames } = await profiler.stop(), pictures = globalThis.document ? [] : await WasmProf.flameGraph();
  return { sampled: samples.filter(each => each.stackId !== undefined).length, names: frames.map(each => each.name).sort().join(), pictures: pictures.length };
};
const answer = port => look().then(found => port.postMessage(found), error => port.postMessage({ error: error.message }));
if (!globalThis.document) addEventListener('onconnect' in globalThis ? 'connect' : 'message', ({ ports: [port] }) => answer(port));`;

const SETTINGS = "globalThis.WHAMMC_SCRIPT = 'sample';";
const CLASSIC = `${SETTINGS} importScripts('/whammc/register.js', '/load.js');`;
const MODULE = "import '/settings.js'; import '/whammc/register-page.mjs'; import '/load.js';";

function files(app) {
  const page = head => ['text/html', `<!doctype html><title>page</title>${head}<body>`], load = '<script src="/load.js"></script>';
  const made = {
    '/app.wasm': ['application/wasm', app], '/load.js': ['text/javascript', LOAD], '/settings.js': ['text/javascript', SETTINGS],
    '/classic.js': ['text/javascript', CLASSIC], '/module.js': ['text/javascript', MODULE], '/mistake.js': ['text/javascript', "import '/whammc/register.js';"],
    '/none': page(''),
    '/tag': page(`<script src="/whammc/register.js" data-script="sample"></script>${load}`),
    '/module': page('<script type="module" src="/module.js"></script>'),
    '/tree': page(`<script src="/whammc/register.js" data-define="timed=false; max_depth=9"></script>${load}`),
    '/wrong': page(`<script src="/whammc/register.js" data-define="no_such=1"></script>${load}`),
    '/mistake': page('<script type="module" src="/mistake.js"></script>'),
  };
  for (const name of fs.readdirSync(npmPackage, { recursive: true })) {
    const type = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm' }[path.extname(name)];
    if (type) made[`/whammc/${name}`] = [type, fs.readFileSync(path.join(npmPackage, name))];
  }
  return made;
}

const MOST = 20000; // milliseconds until a worker answers
const WORKERS = `globalThis.ask = (kind, type) => new Promise((resolve, reject) => {
  const { port1, port2 } = new MessageChannel(), url = '/' + type + '.js', options = { type };
  port1.onmessage = ({ data }) => resolve(data);
  setTimeout(() => reject(new Error('no answer')), ${MOST});
  if (kind === 'shared') {
    const worker = new SharedWorker(url, options);
    worker.port.onmessage = ({ data }) => resolve(data);
    worker.onerror = () => reject(new Error('it does not begin'));
  } else if (kind === 'service') {
    navigator.serviceWorker.register(url, options).then(found => (found.installing ?? found.waiting ?? found.active).postMessage(0, [port2])).catch(reject);
  } else {
    const worker = new Worker(url, options);
    worker.onerror = event => reject(new Error(event.message));
    worker.postMessage(0, [port2]);
  }
})`;

const isSampled = ({ sampled, names }) => sampled >= 10 && /\bspin\b/.test(names) && /\bwork\b/.test(names);

async function testPages(browser, site, policy) {
  for (const way of ['tag', 'module']) {
    const page = await browser.open(`${site.url}/${way}`);
    await page.evaluate('await new Promise(done => { const wait = () => (globalThis.look ? done() : setTimeout(wait, 20)); wait(); })');
    const found = await page.evaluate('await look().catch(error => ({ error: error.message }))');
    result(isSampled(found), `${policy}: a page, ${way}: samples`, found, page.printed);
  }
}

async function testWorkers(browser, site, policy) {
  const page = await browser.open(`${site.url}/none`);
  await page.evaluate(WORKERS);
  for (const kind of ['dedicated', 'shared', 'service'])
    for (const type of ['classic', 'module']) {
      const found = await page.evaluate(`await ask('${kind}', '${type}').catch(error => ({ error: error.message }))`);
      result(isSampled(found) && found.pictures === 1, `${policy}: a ${kind} worker, ${type}: samples, a flame graph`, found, page.printed);
    }
}

// The picture is drawn, in its colours and its style: over the whole page.
async function testPicture(browser, site, policy) {
  const page = await browser.open(`${site.url}/tree`);
  await page.evaluate('(await loaded).work(3)');
  const before = page.printed.length, given = await page.evaluate('await WasmProf.flameGraph().then(all => all.length, error => error.message)');
  const shown = await page.evaluate(`(() => {
    const root = [...document.body.children].at(-1).shadowRoot, dialog = root.querySelector('dialog'), frame = [...root.querySelectorAll('.f')].at(-1);
    const { x, y, width, height } = frame.getBoundingClientRect(), style = getComputedStyle(dialog);
    frame.focus();
    return { position: style.position, display: style.display, wide: dialog.getBoundingClientRect().width === innerWidth, cursor: getComputedStyle(frame).cursor,
      x: Math.round(x + width - 4), y: Math.round(y + height / 2), details: [...root.querySelectorAll('svg > text')].at(-1).textContent };
  })()`);
  const png = await page.screenshot(), colour = decodePng(png).at(shown.x, shown.y);
  if (process.env.WHAMMC_PICTURES) fs.writeFileSync(path.join(process.env.WHAMMC_PICTURES, `${policy}.png`), png);
  result(given === 1 && shown.position === 'fixed' && shown.display === 'flex' && shown.wide && shown.cursor === 'pointer' && page.printed.length === before,
    `${policy}: the flame graph is over the page`, given, shown, page.printed);
  result((colour >> 16) > 180 && (colour & 255) < 90, `${policy}: it has its colours`, colour.toString(16), shown);
  result(shown.details === 'spin (3 calls, 75.00%)', `${policy}: it says what the frame in focus is`, shown.details);
  const zoomed = await page.evaluate(`(() => { const root = [...document.body.children].at(-1).shadowRoot, frame = [...root.querySelectorAll('.f')].at(-1);
    const press = key => frame.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })), states = [];
    for (const key of ['Enter', 'Escape']) { press(key); states.push(frame.getAttribute('width'), root.querySelector('#reset').style.display); }
    press('ArrowDown'); states.push(root.activeElement !== frame && root.activeElement?.getAttribute('class')); return states.join(); })()`);
  result(/^100\.0000%,inline,[\d.]+%,none,f$/.test(zoomed), `${policy}: keys zoom and go from frame to frame`, zoomed);
}

// What cannot be, with the reason.
async function testMistakes(browser, content) {
  const plain = await serve(content), closed = await serve(content, { 'Content-Security-Policy': "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'" });
  const wrong = await browser.open(`${plain.url}/wrong`);
  await wrong.evaluate('(await loaded).work(3)');
  result(/is not instrumented: .*no_such/s.test(wrong.printed.join('\n')), 'a constant that the script does not have is said', wrong.printed);
  const mistake = await browser.open(`${plain.url}/none`), said = await mistake.evaluate("await import('/whammc/register.js').catch(error => error.message)");
  result(/classic script.*whammc\/register/.test(said), 'register.js as a module: what to import instead', said);
  const bytes = JSON.stringify([...content['/app.wasm'][1]]), page = await browser.open(`${closed.url}/tag`);
  const work = await page.evaluate(`await WebAssembly.instantiate(new Uint8Array(${bytes})).then(({ instance }) => instance.exports.work(1))`);
  result(work === 0 && /directive connect-src/.test(page.printed.join('\n')), 'a policy that keeps the compiler away: the directive is said', work, page.printed);
  plain.close();
  closed.close();
}

const browser = await launch(chromium, path.join(dir, 'profile'));
const content = files(assemble());
for (const [policy, headers] of Object.entries(POLICIES)) {
  const site = await serve(content, headers);
  await testPages(browser, site, policy);
  await testWorkers(browser, site, policy);
  await testPicture(browser, site, policy);
  site.close();
}
await testMistakes(browser, content);
await browser.close();
removeFolder(dir);
end();
