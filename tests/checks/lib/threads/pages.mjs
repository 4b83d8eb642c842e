// Workers of pages that count in memories of their own, in headless Chromium: the page's results have what they have counted, however they
// end. TAP on standard output.
//
//   node pages.mjs CHROMIUM WHAMMC PACKAGE
//
// PACKAGE is the npm package, if it was built, for the hook.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../browser/chromium.mjs';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const [chromium, whammc, npmPackage] = process.argv.slice(2);
const FILES = path.dirname(fileURLToPath(import.meta.url)), dir = makeFolder('pages'), OWN = 7; // calls of the page itself
const ENDS = ['return', 'terminate', 'trap', 'wait', 'compute'];
const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const ICON = '<!doctype html><link rel="icon" href="data:,">';
const EMSCRIPTEN = ['-O0', '--profiling-funcs', '-pthread', '-sENVIRONMENT=web,worker', '-sEXIT_RUNTIME=1', '-sASSERTIONS=0', '-sINITIAL_MEMORY=67108864'];
const CALLS = 85, SUM = '131'; // what pthreads.c does, and prints
const ATOMIC = `report atomic var calls: u64;
report var numbers: map<u64, u32>;
wasm:func:entry / fname == "kernel" / {
  var n: u64 = calls.fetch_add(1);
  if (n < 1000) { numbers[n]++; }
}
`;
const COUNT = 'report var calls: u64;\nwasm:func:entry / fname == "kernel" / { calls++; }\n';

// ---- files ----

// Worker i calls kernel 100 + i times, and more if it computes. When all are done, the page ends them as `end` says.
const PAGE = `
async function run(threads, end, own) {
  const module = await WebAssembly.compileStreaming(fetch('/app.wasm')), memory = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
  if (own) (await WebAssembly.instantiate(module, { env: { memory } })).exports.work(${OWN});
  const workers = Array.from({ length: threads }, () => new Worker('/worker.js')), seen = [];
  await Promise.all(workers.map((worker, i) => new Promise(done => {
    worker.onmessage = ({ data }) => { seen.push(data); done(); };
    worker.onerror = event => event.preventDefault();
    worker.postMessage({ module, memory, calls: 100 + i, end });
  })));
  if (end === 'terminate') workers.forEach(worker => worker.terminate());
  return seen.sort().join();
}`;
const WORKER = `
onmessage = async ({ data: { module, memory, calls, end } }) => {
  const { work, trap } = new WebAssembly.Instance(module, { env: { memory } }).exports;
  work(calls);
  postMessage([...WebAssembly.Module.imports(module), ...WebAssembly.Module.exports(module)].map(({ name }) => name).join(' '));
  if (end === 'trap') trap();
  while (end === 'compute') work(1000);
  if (end === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (end === 'return') close();
};`;

const read = name => fs.readFileSync(path.join(dir, name));

// How a program is counted, by OUT.js or by the hook: { app, what pages begin with, what workers begin with, files }.
function byScript(app, script = COUNT) {
  fs.writeFileSync(path.join(dir, 'count.whamm'), script);
  execFileSync(whammc, ['instr', '--host=js', '-s', 'count.whamm', app, '-o', 'out.wasm'], { cwd: dir, stdio: 'ignore' });
  return { app: read('out.wasm'), head: '<script src="/out.js"></script>', workerHead: "importScripts('/out.js');",
    files: { '/out.js': ['text/javascript', read('out.js')] } };
}

function byHook(app, script = COUNT) {
  const files = {}, settings = `globalThis.WHAMMC_SCRIPT = ${JSON.stringify(script)};`;
  for (const name of fs.readdirSync(npmPackage, { recursive: true })) {
    const type = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm' }[path.extname(name)];
    if (type) files[`/whammc/${name}`] = [type, fs.readFileSync(path.join(npmPackage, name))];
  }
  return { app: read(app), head: `<script>${settings}</script><script src="/whammc/register.js"></script>`,
    workerHead: `${settings} importScripts('/whammc/register.js');`, files };
}

// ---- what is tested ----

/** The calls in a report, whether their numbers are different, and what its last line says of threads. */
function readReport(text) {
  fs.writeFileSync(path.join(dir, 'page.report'), text);
  const csv = spawnSync(whammc, ['report', '--format=csv', 'page.report'], { cwd: dir, encoding: 'utf8' }).stdout;
  const calls = [...csv.matchAll(/^.*, calls, u64,.* (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  const numbers = /, numbers, .*, ([^,\n]*)$/m.exec(csv)?.[1].split(';') ?? [];
  return { calls, isUnique: numbers.every(entry => /->[01]$/.test(entry)) && (!numbers.length || numbers.length <= calls), run: /\{"whammc":"run".*\}/.exec(text)?.[0] ?? '' };
}

const reportOf = async page => readReport(await page.evaluate('(await WasmProf.threads()).saveResults().report()'));

async function testEnds(browser, title, { app, head, workerHead, files }) {
  const site = await serve({ '/': ['text/html', `${ICON}<body></body>${head}<script>${PAGE}</script>`], '/worker.js': ['text/javascript', workerHead + WORKER],
    '/app.wasm': ['application/wasm', app], ...files }, ISOLATED);
  for (const ending of ENDS)
    for (const threads of [2, 8])
      for (const own of [true, false]) {
        const page = await browser.open(site.url), seen = await page.evaluate(`await run(${threads}, '${ending}', ${own})`);
        const { calls, isUnique, run } = await reportOf(page), least = (own ? OWN : 0) + threads * 100 + (threads * (threads - 1)) / 2;
        const isRight = ending === 'compute' ? calls >= least : calls === least;
        result(isRight && isUnique && seen === Array(threads).fill('memory kernel work fill trap').join() && !run && !page.printed.length,
          `${title}: ${threads} workers${own ? '' : ', none in the page'}: ${ending}`, `${calls} of ${least}`, run, seen, page.printed);
        await page.tell('Page.close');
      }
  site.close();
}

// Threads of threads, modules that workers load themselves, workers that load the script late; what was there before clear(); what is lost.
const OTHERS = {
  'workers of workers': { calls: 5 + 6 + 7, worker: `onmessage = ({ data }) => {
      const start = () => new WebAssembly.Instance(data.module, { env: { memory: data.memory } }).exports.work(data.calls);
      if (data.calls === 7) return start(), postMessage('done');
      const inner = new Worker('/worker.js');
      inner.onmessage = () => { start(); inner.terminate(); postMessage('done'); };
      inner.postMessage({ ...data, calls: data.calls + 1 });
    };` },
  'workers that load the module': { calls: 5, worker: `onmessage = async ({ data: { memory, calls } }) => {
      const { instance } = await WebAssembly.instantiateStreaming(fetch('/app.wasm'), { env: { memory } });
      instance.exports.work(calls);
      postMessage('done');
    };`, what: '{ memory, calls: 5 }' },
  'clear()': { calls: 5, before: 'await WasmProf.threads(); WasmProf.clear(); worker.postMessage({ module, memory, calls: 5 }); await answer();' },
  'asked twice': { calls: 17, before: `(await WebAssembly.instantiate(module, { env: { memory } })).exports.work(7);
      (await WasmProf.threads()).saveResults().report();
      worker.postMessage({ module, memory, calls: 5 });
      await answer();` },
  'instances in the page and in a worker': { calls: 12, before: '(await WebAssembly.instantiate(module, { env: { memory } })).exports.work(7);' },
};
const SIMPLE = `onmessage = ({ data: { module, memory, calls } }) => {
  (self.kept ??= new WebAssembly.Instance(module, { env: { memory } })).exports.work(calls);
  postMessage('done');
};`;
// What cannot be counted is said: of workers that have not loaded the script, and of such as make an instance before the page knows of
// them and never come back.
const LOST = {
  'a worker without the script': { workerHead: '', worker: 'onmessage = () => postMessage("done");' },
  'a worker that is not known': { what: '{ memory }', worker: `onmessage = ({ data: { memory } }) => {
    const request = new XMLHttpRequest();
    request.open('GET', '/app.wasm', false);
    request.responseType = 'arraybuffer';
    request.send();
    const { work } = new WebAssembly.Instance(new WebAssembly.Module(request.response), { env: { memory } }).exports;
    postMessage('done');
    for (;;) work(1000);
  };` },
};

// With the hook, new WebAssembly.Module is not instrumented then.
const LOST_BY_HOOK = { 'a worker without the script': LOST['a worker without the script'] };

async function openWith(browser, { app, head, files }, worker, what, before = '') {
  const site = await serve({ '/': ['text/html', `${ICON}<body></body>${head}`], '/worker.js': ['text/javascript', worker],
    '/app.wasm': ['application/wasm', app], ...files }, ISOLATED);
  const page = await browser.open(site.url);
  await page.evaluate(`await (async () => {
    const module = await WebAssembly.compileStreaming(fetch('/app.wasm')), memory = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
    const worker = new Worker('/worker.js'), answer = () => new Promise(done => { worker.onmessage = done; });
    worker.postMessage(${what});
    await answer();
    ${before}
  })()`);
  return { page, site };
}

const USUAL = '{ module, memory, calls: 5 }';

async function testOthers(browser, title, way, cases) {
  for (const [name, { calls: wanted = 0, workerHead = way.workerHead, worker = SIMPLE, what = USUAL, before }] of Object.entries(cases)) {
    const { page, site } = await openWith(browser, way, `${workerHead}\n${worker}`, what, before), { calls, run } = await reportOf(page);
    const isSaid = run === '{"whammc":"run","threads":1,"complete":0}' && /the counts of 1 of 1 instances in workers are missing/.test(page.printed);
    result(calls === wanted && (wanted ? !run && !page.printed.length : isSaid), `${title}: ${name}`, `${calls} of ${wanted}`, run, page.printed);
    site.close();
  }
}

async function testFlameGraph(browser) {
  const way = byHook('app.wasm', 'calltree'), { page, site } = await openWith(browser, way, `${way.workerHead}\n${SIMPLE}`, USUAL);
  const titles = await page.evaluate('(await WasmProf.flameGraph()).map(({ svg }) => /<title>kernel .*<.title>/.exec(svg)?.[0] ?? svg)');
  result(/ 5 calls/.test(titles[0]), 'hook: a flame graph has the calls of workers', titles);
  site.close();
}

// A worker that the page starts before the hook is there, and that loads the module itself.
async function testEarly(browser) {
  const way = byHook('app.wasm'), worker = OTHERS['workers that load the module'].worker, start = `<script>
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true }), worker = new Worker('/worker.js');
    globalThis.heard = new Promise(done => { worker.onmessage = done; });
    worker.postMessage({ memory, calls: 5 });</script>`;
  const { page, site } = await openWith(browser, { ...way, head: way.head + start }, `${way.workerHead}\n${worker}`, USUAL);
  await page.evaluate('await heard');
  const { calls, run } = await reportOf(page);
  result(calls === 10 && !run && !page.printed.length, 'hook: a worker that is there before it', calls, run, page.printed);
  site.close();
}

// ---- Emscripten ----

// The files of a program of Emscripten, of which each worker begins with a script: { name: text }.
function compile(name, option) {
  const environment = { ...process.env };
  try {
    fs.accessSync('/usr/share/emscripten/cache', fs.constants.W_OK);
  } catch {
    environment.EM_CACHE = path.join(dir, 'cache');
  }
  execFileSync('emcc', [...EMSCRIPTEN, path.join(FILES, 'pthreads.c'), option, '-o', `${name}.js`], { cwd: dir, env: environment, stdio: 'ignore' });
}

// `late`: workers load the script with the program, when they have got its module: what they count may be lost, but not silently.
async function testEmscripten(browser, title, name, { app, head, workerHead, files }, late) {
  const loader = `${name}.worker.js`, hasLoader = fs.existsSync(path.join(dir, loader)), page = `<script>
    var Module = { print: text => console.log(text), locateFile: file => (file.endsWith('.wasm') ? '/app.wasm' : file) };
    globalThis.ended = new Promise(done => { Module.onExit = done; });</script>`;
  const begins = (text, isFirst) => (isFirst ? `if (typeof importScripts === 'function') { ${workerHead} }\n${text}` : text);
  const site = await serve({ '/': ['text/html', `${ICON}<body></body>${head}${page}<script src="/${name}.js"></script>`],
    [`/${name}.js`]: ['text/javascript', begins(read(`${name}.js`), late || !hasLoader)],
    ...hasLoader && { [`/${loader}`]: ['text/javascript', begins(read(loader), !late)] }, '/app.wasm': ['application/wasm', app], ...files }, ISOLATED);
  const shown = await browser.open(site.url), status = await shown.evaluate('await ended'), { calls, run } = await reportOf(shown);
  const printed = shown.printed.filter(line => !/^Blocking on the main thread/.test(line));
  const isCounted = calls === CALLS && !run, isSaid = !isCounted && late && /the counts of \d+ of \d+ instances in workers are missing/.test(printed.pop());
  result((isCounted || isSaid) && status === 0 && printed.join() === SUM, `${title}, ${name}${late ? ', loaded late' : ''}`, `${calls} of ${CALLS}`, run, status, shown.printed);
  site.close();
}

async function testAllEmscripten(browser, ways) {
  if (spawnSync('emcc', ['--version']).error) {
    result(true, 'Emscripten # SKIP there is no emcc');
    return;
  }
  for (const [name, option] of Object.entries({ pool: '-sPTHREAD_POOL_SIZE=8', proxied: '-sPROXY_TO_PTHREAD' })) {
    compile(name, option);
    for (const [title, way] of Object.entries(ways)) for (const late of [false, true]) await testEmscripten(browser, `Emscripten, ${title}`, name, way(`${name}.wasm`), late);
  }
}

let browser;
try {
  execFileSync('wat2wasm', ['--enable-threads', '--debug-names', path.join(FILES, 'kernel.wat'), '-o', path.join(dir, 'app.wasm')]);
  browser = await launch(chromium, path.join(dir, 'profile'));
  const ways = { 'OUT.js': byScript, ...npmPackage && { hook: byHook } };
  for (const [title, way] of Object.entries(ways)) {
    await testOthers(browser, title, way('app.wasm'), { ...OTHERS, ...way === byHook ? LOST_BY_HOOK : LOST });
    await testEnds(browser, title, way('app.wasm'));
  }
  const atomic = [byScript('app.wasm', ATOMIC), ...npmPackage ? [byHook('app.wasm', ATOMIC)] : []];
  for (const [i, way] of atomic.entries()) {
    await testOthers(browser, `atomic, ${Object.keys(ways)[i]}`, way, OTHERS);
    await testEnds(browser, `atomic, ${Object.keys(ways)[i]}`, way);
  }
  if (npmPackage) for (const test of [testEarly, testFlameGraph]) await test(browser);
  await testAllEmscripten(browser, ways);
  if (!npmPackage) result(true, 'hook # SKIP the npm package was not built');
} catch (error) {
  result(false, 'the browser', error.stack);
} finally {
  await browser?.close();
}
removeFolder(dir);
end();
