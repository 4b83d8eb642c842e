// whammc/register and the frames of a page, in headless Chromium: what they load is counted with the page, or it is said why not. TAP on
// standard output.
//
//   node register-realms.mjs PACKAGE CHROMIUM WAT2WASM.js
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { launch, serve } from '../browser/chromium.mjs';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const [npmPackage, chromium, wat2wasm] = process.argv.slice(2), dir = makeFolder('register-realms');
const APP = '(module (func $once (export "once") (result i32) (i32.const 7)) (func (export "trap") unreachable))';
const COUNT = "WasmProf.saveResults().funcResults.filter(each => each.name.startsWith('once')).reduce((sum, each) => sum + each.called, 0)";

function assemble() {
  const from = path.join(dir, 'app.wat'), to = path.join(dir, 'app.wasm');
  fs.writeFileSync(from, APP);
  execFileSync('node', [wat2wasm, '--debug-names', from, '-o', to]);
  return fs.readFileSync(to);
}

// In a window of whatever kind: loads the program in four ways, calls it, and tells what is seen.
const USE = `async function use(view) {
  const { WebAssembly, Promise, Object, fetch } = view, seen = [], get = () => fetch('/app.wasm'), bytes = await (await get()).arrayBuffer();
  const promises = [WebAssembly.instantiateStreaming(get()), WebAssembly.compileStreaming(get()), WebAssembly.instantiate(bytes), WebAssembly.compile(bytes)];
  for (const promise of promises) {
    const found = await promise, module = found.module ?? found, instance = found.instance ?? await WebAssembly.instantiate(found);
    seen.push(promise instanceof Promise, module instanceof WebAssembly.Module, instance instanceof WebAssembly.Instance, instance.exports.once(),
      found instanceof Object, WebAssembly.Module.exports(module).map(each => each.name).join());
    try { instance.exports.trap(); } catch (error) { seen.push(error instanceof WebAssembly.RuntimeError); }
  }
  seen.push(await WebAssembly.compile(bytes.slice(1)).catch(error => error instanceof WebAssembly.CompileError));
  return JSON.stringify(seen);
}`;
const CALLS = 4; // of use()
const FRAME = `<!doctype html><script>${USE}
  globalThis.used = use(globalThis);
  used.then(seen => parent.postMessage(seen, '*'), error => parent.postMessage(error.stack, '*'));</script>`;
const OWN_HOOK = '<script src="/whammc/register.js"></script>';

// Code of a page that makes a frame, and gives what that sees.
const ADD = `const frame = document.createElement('iframe'), heard = () => new Promise(done => addEventListener('message', ({ data }) => done(data), { once: true }));`;
const append = prepare => `${ADD} ${prepare}; const answer = heard(); document.body.append(frame); return await answer;`;
const COUNTED = {
  'an empty frame, by contentWindow': `${ADD} document.body.append(frame); return await use(frame.contentWindow);`,
  'an empty frame, by contentDocument': `${ADD} document.body.append(frame); return await use(frame.contentDocument.defaultView);`,
  'an empty frame, by its number': `${ADD} document.body.append(frame); await null; return await use(frames[0]);`,
  'a frame with srcdoc': append(`frame.srcdoc = ${JSON.stringify(FRAME).replaceAll('</', '<\\/')}`),
  'a frame with a page': append("frame.src = '/frame'"),
  'a frame with a page and the hook': append("frame.src = '/own'"),
  'a frame of a blob': append(`frame.src = URL.createObjectURL(new Blob([${JSON.stringify(FRAME).replaceAll('</', '<\\/').replaceAll("'/app.wasm'", '`${origin}/app.wasm`')}], { type: 'text/html' }))`),
};

// Frames that this page cannot prepare in time, by what is said of them.
const SAID = {
  'a frame of another origin': [append('frame.src = OTHER'), /: the frame http\S+\/frame is of another origin: what it loads is not counted/],
  'a frame with a sandbox': [append("frame.sandbox = 'allow-scripts'; frame.src = '/sandboxed'"), /: the frame \S+\/sandboxed is of another origin: /],
  'a second page in a frame': [`${ADD} frame.src = '/frame'; let answer = heard(); document.body.append(frame); await answer;
    answer = heard(); frame.contentWindow.location = '/frame?2'; return await answer;`, /: the frame \S+\/frame\?2 has got a new window: what it has loaded so far/],
  'a frame in the page of a frame': [append("frame.src = '/outer'"), /: the frame \S+\/frame has got a new window: /],
};

function workerFiles() {
  const script = text => ['text/javascript', text], classic = script("importScripts('/whammc/register.js');"), module = script("import '/whammc/register-page.mjs';");
  const made = { '/hooked.js': classic, '/hooked.js?shared': classic, '/hooked.js?service': classic, '/hooked.mjs': module, '/hooked.mjs?shared': module };
  for (const one of ['', '?module', '?shared', '?service']) made[`/bare.js${one}`] = script('0;');
  return made;
}

function files(app) {
  const page = text => ['text/html', `<!doctype html><link rel="icon" href="data:,">${text}`];
  const made = {
    '/app.wasm': ['application/wasm', app], '/plain': page('<body></body>'), '/page': page(`${OWN_HOOK}<body></body>`), '/frame': page(FRAME),
    '/own': page(OWN_HOOK + FRAME), '/frame?2': page(FRAME), ...workerFiles(), '/sandboxed': page("<script>parent.postMessage('here', '*')</script>"), '/parsed': page(`${OWN_HOOK}<body><iframe src="/frame"></iframe></body>`),
    '/outer': page(`<body><script>addEventListener('message', ({ data }) => parent.postMessage(data, '*'));</script><iframe src="/frame"></iframe></body>`),
  };
  for (const name of fs.readdirSync(npmPackage, { recursive: true })) {
    const type = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm' }[path.extname(name)];
    if (type) made[`/whammc/${name}`] = [type, fs.readFileSync(path.join(npmPackage, name))];
  }
  return made;
}

// ---- what is tested ----

const ready = 'await new Promise(done => { const wait = () => (globalThis.WasmProf ? done() : setTimeout(wait, 20)); wait(); })';

async function testCounted(browser, site) {
  for (const [title, code] of Object.entries(COUNTED)) {
    const plain = await browser.open(`${site.url}/plain`), wanted = await plain.evaluate(`${USE} await (async () => { ${code} })()`);
    const page = await browser.open(`${site.url}/page`);
    await page.evaluate(ready);
    const seen = await page.evaluate(`${USE} await (async () => { ${code} })()`), calls = await page.evaluate(COUNT);
    result(seen === wanted && calls === CALLS && !page.printed.length, title, `${calls} of ${CALLS}`, seen, wanted, page.printed);
    await plain.tell('Page.close');
    await page.tell('Page.close');
  }
}

// Whether a promise comes true within some seconds.
async function eventually(find) {
  for (let tries = 0; tries < 200; tries++) {
    if (await find()) return true;
    await new Promise(done => setTimeout(done, 50));
  }
  return false;
}

async function testSaid(browser, site, other) {
  for (const [title, [code, message]] of Object.entries(SAID)) {
    const page = await browser.open(`${site.url}/page`);
    await page.evaluate(ready);
    await page.evaluate(`globalThis.OTHER = '${other.url}/frame'; ${USE} await (async () => { ${code} })()`);
    const isSaid = await eventually(() => page.printed.some(line => message.test(line)));
    result(isSaid && page.printed.length === 1, `it is said: ${title}`, page.printed);
    await page.tell('Page.close');
  }
}

// A frame that is there before the hook, which the classic script loads a moment later: it is counted, or that is said.
async function testParsed(browser, site) {
  const page = await browser.open(`${site.url}/parsed`);
  await page.evaluate(ready);
  await page.evaluate('await frames[0].used');
  const isSaid = page.printed.length === 1 && /: the frame \S+\/frame has got a new window: /.test(page.printed[0]);
  const isCounted = !page.printed.length && await page.evaluate(COUNT) === CALLS;
  result(isSaid || isCounted, 'a frame that is there before the hook', page.printed);
}

// Of the workers of a page, those without the hook are said.
async function testWorkers(browser, site) {
  const page = await browser.open(`${site.url}/page`);
  await page.evaluate(ready);
  const blob = await page.evaluate(`await (async () => {
    globalThis.kept = [new Worker('/bare.js'), new Worker('/bare.js?module', { type: 'module' }), new SharedWorker('/bare.js?shared'),
      new Worker('/hooked.js'), new Worker('/hooked.mjs', { type: 'module' }), new SharedWorker('/hooked.js?shared'),
      new SharedWorker('/hooked.mjs?shared', { type: 'module' })];
    await navigator.serviceWorker.register('/bare.js?service', { scope: '/a/' });
    await navigator.serviceWorker.register('/hooked.js?service', { scope: '/b/' });
    const url = URL.createObjectURL(new Blob(['0']));
    kept.push(new Worker(url), new Worker(URL.createObjectURL(new Blob(["importScripts('" + origin + "/whammc/register.js')"]))));
    return url;
  })()`);
  const bare = ['?module', '?service', '?shared', ''].map(one => `${site.url}/bare.js${one}`), wanted = [...bare, blob].sort().join('\n');
  const said = () => page.printed.map(line => /^whammc: the worker (\S+) has not loaded the hook: /.exec(line)?.[1] ?? line).sort().join('\n');
  await eventually(() => said() === wanted);
  result(said() === wanted, 'workers without the hook are said, and no others', said(), wanted);
}

let browser, site, other;
try {
  const content = files(assemble());
  [site, other] = [await serve(content), await serve(content)];
  browser = await launch(chromium, path.join(dir, 'profile'));
  await testCounted(browser, site);
  await testSaid(browser, site, other);
  await testParsed(browser, site);
  await testWorkers(browser, site);
} catch (error) {
  result(false, 'the browser', error.stack);
} finally {
  await browser?.close();
  site?.close();
  other?.close();
}
removeFolder(dir);
end();
