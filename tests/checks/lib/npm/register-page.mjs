// whammc/register in pages and workers, in headless Chromium. TAP on standard output.
//
//   node register-page.mjs PACKAGE CHROMIUM WAT2WASM.js
//
// If WHAMMC_PICTURE names a file, a screenshot of WasmProf.flameGraph() is kept there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { launch, serve } from '../browser/chromium.mjs';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const [npmPackage, chromium, wat2wasm] = process.argv.slice(2);
const dir = makeFolder('register-page');

// The names come from exports, as there is no name section: flame graph, select and heading show them.
const HOSTILE = '</script><img src=x onerror=globalThis.hacked=1>';
const APP = `(module
  (import "page" "say" (func $say (param i32)))
  (func (export "${HOSTILE}") (param i32) (result i32) (local i32)
    (loop $spin (br_if $spin (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const 1000000))))
    (i32.mul (local.get 0) (local.get 0)))
  (func (export "frame") (param i32)
    (loop $l (call $say (call 1 (local.get 0))) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))`;

function assemble() {
  const from = path.join(dir, 'app.wat'), to = path.join(dir, 'app.wasm');
  fs.writeFileSync(from, APP);
  execFileSync('node', [wat2wasm, from, '-o', to]);
  return fs.readFileSync(to);
}

// Code that knows nothing of whammc: each way to load a module, and what it sees of it.
const OWN_CODE = `
const said = [], imports = { page: { say: n => said.push(n) } };
async function load() {
  const bytes = new Uint8Array(await (await fetch('/app.wasm')).arrayBuffer()), copy = bytes.slice();
  const ways = {
    instantiateStreaming: async () => (await WebAssembly.instantiateStreaming(fetch('/app.wasm'), imports)).instance,
    compileStreaming: async () => WebAssembly.instantiate(await WebAssembly.compileStreaming(fetch('/app.wasm')), imports),
    instantiate: async () => (await WebAssembly.instantiate(bytes, imports)).instance,
    compile: async () => new WebAssembly.Instance(await WebAssembly.compile(copy.buffer), imports),
  };
  const seen = [];
  for (const [name, way] of Object.entries(ways)) {
    const instance = await way();
    instance.exports.frame(3);
    seen.push(name, Object.keys(instance.exports).join());
  }
  const module = await WebAssembly.compile(copy), { imports: asked, exports } = WebAssembly.Module;
  seen.push(JSON.stringify([asked(module), exports(module), module instanceof WebAssembly.Module]));
  for (const bad of [() => WebAssembly.compile(copy.subarray(0, 9)), () => WebAssembly.instantiate(copy), () => WebAssembly.compile(7),
    () => WebAssembly.instantiateStreaming(fetch('/page.js'), imports)])
    seen.push(await bad().then(() => 'nothing', error => error.name + error.message.replace(/@.*/, '')));
  return JSON.stringify([said, seen]);
}
globalThis.loaded = load();
`;
const COUNTS = "WasmProf.saveResults().funcResults.map(each => [each.name, each.called]).sort((a, b) => a[1] - b[1])";
const WORKER = `onmessage = async () => {
  const own = await loaded;
  postMessage(JSON.stringify([own, globalThis.WasmProf ? ${COUNTS} : null, (await globalThis.WasmProf?.flameGraph())?.[0].svg.slice(0, 5)]));
};`;

function files(app) {
  const page = head => ['text/html', `<!doctype html><link rel="icon" href="data:,"><title>page</title>${head}<body></body>`];
  const own = '<script type="module" src="/page.js"></script>', hook = '/whammc/register-page.mjs';
  const made = {
    '/app.wasm': ['application/wasm', app], '/page.js': ['text/javascript', OWN_CODE],
    '/plain': page(own),
    '/module': page(`<script type="module" src="${hook}"></script>${own}`),
    '/tag': page('<script src="/whammc/register.js"></script><script src="/page.js"></script>'),
    '/hotness': page('<script src="/whammc/register.js" data-script="hotness"></script><script src="/page.js"></script>'),
    '/wrong': page(`<script>globalThis.WHAMMC_SCRIPT = 'wasm:func:entry { n++; }';</script><script type="module" src="${hook}"></script>${own}`),
    '/strict': page(`<script>globalThis.WHAMMC_SCRIPT = 'wasm:func:entry { n++; }'; globalThis.WHAMMC_STRICT = '1';</script>
      <script type="module" src="${hook}"></script>${own}`),
    '/worker.js': ['text/javascript', `import '${hook}'; await import('/page.js'); ${WORKER}`],
    '/plain-worker.js': ['text/javascript', `await import('/page.js'); ${WORKER}`],
  };
  for (const name of fs.readdirSync(npmPackage, { recursive: true })) {
    const type = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm' }[path.extname(name)];
    if (type) made[`/whammc/${name}`] = [type, fs.readFileSync(path.join(npmPackage, name))];
  }
  return made;
}

async function testLoading(browser, site) {
  const plain = await browser.open(`${site.url}/plain`), wanted = await plain.evaluate('await loaded');
  for (const way of ['module', 'tag']) {
    const page = await browser.open(`${site.url}/${way}`), found = await page.evaluate('await loaded');
    result(found === wanted, `${way}: the page sees what it sees without`, found, wanted);
    const counts = await page.evaluate(COUNTS);
    result(counts.length === 3 && counts.every(([name, n]) => n === { frame: 4, [HOSTILE]: 12 }[name] || n === 12), `${way}: all four ways are counted`, counts);
    result(page.printed.length === 0, `${way}: nothing is said`, page.printed);
  }
  const worker = name => plain.evaluate(`await new Promise(done => {
    const worker = new Worker('/${name}', { type: 'module' });
    worker.onmessage = event => done(event.data);
    worker.onerror = event => done(event.message);
    setTimeout(() => worker.postMessage(0), 2000);
  })`);
  const [own, counts, svg] = JSON.parse(await worker('worker.js')), [without] = JSON.parse(await worker('plain-worker.js'));
  result(own === without && counts.map(([, n]) => n).join() === '4,12,12' && svg === '<?xml', 'in a worker', own, counts, svg);
}

async function testCache(browser, site) {
  const names = `new Promise(done => { const r = indexedDB.open('whammc'); r.onsuccess = () => {
    const all = r.result.transaction('modules').objectStore('modules').getAllKeys(); all.onsuccess = () => done(all.result.length); }; })`;
  const fetched = "performance.getEntriesByType('resource').filter(each => each.name.endsWith('whammc.wasm')).length";
  const page = await browser.open(`${site.url}/module`);
  await page.evaluate('await loaded');
  const [kept, asked, counts] = [await page.evaluate(`await ${names}`), await page.evaluate(fetched), await page.evaluate(COUNTS)];
  result(kept === 1 && asked === 0 && counts.map(([, n]) => n).join() === '4,12,12', 'a second page takes it from the cache, without the compiler', kept, asked, counts);
  const hot = await browser.open(`${site.url}/hotness`);
  await hot.evaluate('await loaded');
  result(await hot.evaluate('WasmProf.saveResults().reports[0].includes("hits")') || /count|exec/.test(await hot.evaluate('WasmProf.saveResults().reports[0]')),
    'another script is another entry', await hot.evaluate('WasmProf.saveResults().reports[0].slice(0, 300)'));
  result(await hot.evaluate(`await ${names}`) === 2, 'which is kept, too');
  const evicted = await hot.evaluate(`await import('/whammc/lib/cache.mjs').then(async ({ createCache }) => {
    const cache = createCache(true, 100), found = [], wait = () => new Promise(done => setTimeout(done, 5));
    for (const key of ['a', 'b', 'c']) { await cache.put(key, { key }, 40); await wait(); if (key === 'b') await cache.get('a'); await wait(); }
    for (const key of ['a', 'b', 'c']) found.push((await cache.get(key))?.key ?? null);
    return found.join(); })`);
  result(evicted === 'a,,c', 'of what is too much, that which was not used for the longest time goes', evicted);
  const message = await hot.evaluate('await WasmProf.flameGraph().then(() => "none", error => error.message)');
  result(/call tree|calls/.test(message), 'without a call tree there is no flame graph', message);
}

async function testFlameGraph(browser, site) {
  const page = await browser.open(`${site.url}/module`);
  await page.evaluate('await loaded');
  const svg = await page.evaluate('await WasmProf.flameGraph().then(all => all[0].svg)');
  result(/^<\?xml/.test(svg) && !svg.includes('<img') && svg.includes('&lt;img'), 'the flame graph, with hostile names escaped', svg.match(/<title>.*?<.title>/g));
  const shown = await page.evaluate(`await new Promise(done => setTimeout(() => { const root = [...document.body.children].at(-1).shadowRoot;
    done([root.querySelector('dialog').open, root.querySelector('h1').textContent,
      [...root.querySelectorAll('.f > title')].filter(each => each.textContent.startsWith(${JSON.stringify(HOSTILE)})).length,
      root.querySelectorAll('script, img, style, iframe').length, globalThis.hacked === undefined]); }, 1000))`);
  result(JSON.stringify(shown) === '[true,"Flame graph of app.wasm",1,0,true]', 'it is shown over the page, names as text', shown);
  const picture = await page.screenshot();
  if (process.env.WHAMMC_PICTURE) fs.writeFileSync(process.env.WHAMMC_PICTURE, picture);
  await page.evaluate("[...document.body.children].at(-1).shadowRoot.querySelector('button:last-of-type').click()");
  result(await page.evaluate('await new Promise(done => setTimeout(() => done(document.body.children.length), 200))') === 0, 'and goes when it is closed');
}

async function testSync(browser, site) {
  const sync = `(async () => { const bytes = await (await fetch('/app.wasm')).arrayBuffer();
    const make = () => new WebAssembly.Instance(new WebAssembly.Module(bytes), { page: { say() {} } });
    make().exports.frame(1); await WasmProf.ready(); make().exports.frame(2);
    return WasmProf.saveResults().funcResults.find(each => each.name === 'frame (module 2)')?.called; })()`;
  const page = await browser.open(`${site.url}/module`), calls = (await page.evaluate('await loaded'), await page.evaluate(`await ${sync}`));
  result(calls === 1 && page.printed.length === 1 && /await WasmProf.ready\(\)/.test(page.printed[0]),
    'new WebAssembly.Module is instrumented once the compiler is there; before, it is said', calls, page.printed);
}

async function testFailures(browser, site) {
  const plain = await browser.open(`${site.url}/plain`), wanted = await plain.evaluate('await loaded');
  const wrong = await browser.open(`${site.url}/wrong`), found = await wrong.evaluate('await loaded');
  result(found === wanted && wrong.printed.length === 1 && /is not instrumented: .*'n' is not declared/s.test(wrong.printed[0]), 'a script with an error: one warning',
    found, wrong.printed);
  const strict = await browser.open(`${site.url}/strict`), message = await strict.evaluate('await loaded.then(() => "none", error => error.name + error.message)');
  result(/^CompileErrorwhammc: .*'n' is not declared/s.test(message), 'WHAMMC_STRICT makes it an error', message);
}

let browser, site;
try {
  site = await serve(files(assemble()));
  browser = await launch(chromium, path.join(dir, 'profile'));
  for (const test of [testLoading, testCache, testFlameGraph, testSync, testFailures]) await test(browser, site);
} catch (error) {
  result(false, 'the browser', error.stack);
} finally {
  await browser?.close();
  site?.close();
}
removeFolder(dir);
end();
