// The second file beside programs, OUT.views.js, in headless Chromium: loaded when a profile is wanted and not before, in pages, workers,
// modules and bundles, under a strict policy; and what is said if it is missing. TAP on standard output.
//
//   node test_views.mjs CHROMIUM WHAMMC MODULES
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { launch, serve } from './chromium.mjs';

const [chromium, whammc, modules] = process.argv.slice(2);
const dir = makeFolder('views'), file = name => path.join(dir, name), esbuild = path.resolve(modules, 'esbuild-wasm/bin/esbuild');

const APP = '(module (func $step) (func (export "main") (call $step) (call $step)))';
const SCRIPT = 'report var arcs: map<(u32, u32), u64>; wasm:func:entry / fname == "step" / { arcs[(4294967295, fid)]++; }';
const RUN = `WebAssembly.instantiateStreaming(fetch('/app.wasm')).then(({ instance }) => instance.exports.main())`;
const html = text => ['text/html', `<!doctype html><link rel="icon" href="data:,">${text}<body></body>`];
const SHOWN = / 2 {2}step /, MESSAGE = 'whammc: app.views.js, which has the profiles of WasmProf, cannot be loaded (';
const STRICT = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

function make() {
  fs.writeFileSync(file('app.wat'), APP);
  execFileSync('wat2wasm', ['--debug-names', file('app.wat'), '-o', file('plain.wasm')]);
  fs.writeFileSync(file('script.whamm'), SCRIPT);
  execFileSync(whammc, ['instr', '--host=js', '-s', 'script.whamm', 'plain.wasm', '-o', 'app.wasm'], { cwd: dir, stdio: 'ignore' });
  execFileSync(whammc, ['instr', '--host=js', '-s', 'sample', '-D', 'tells=true', 'plain.wasm', '-o', 'sampled.wasm'], { cwd: dir, stdio: 'ignore' });
  const files = { '/app.wasm': ['application/wasm', fs.readFileSync(file('app.wasm'))] };
  for (const name of ['app.js', 'app.views.js', 'sampled.js', 'sampled.views.js']) files[`/${name}`] = ['text/javascript', fs.readFileSync(file(name))];
  for (const name of ['app.js', 'app.views.js']) files[`/far/${name}`] = files[`/${name}`];
  files['/alone/app.js'] = files['/app.js'];
  files['/script'] = html('<script src="/far/app.js"></script>');
  files['/module'] = html('<script type="module">import "/far/app.js";</script>');
  files['/alone'] = html('<script src="/alone/app.js"></script>');
  files['/both'] = html('<script src="/app.views.js"></script><script src="/alone/app.js"></script>');
  files['/sampled'] = html('<script src="/sampled.js"></script>');
  files['/empty'] = html('');
  const work = `${RUN}.then(() => postMessage(WasmProf.saveResults().text()), error => postMessage(String(error)));`;
  files['/worker.js'] = ['text/javascript', `importScripts('/far/app.js'); ${work}`];
  files['/worker.mjs'] = ['text/javascript', `import '/far/app.js'; ${work}`];
  return files;
}

const LOADED = "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.views.js')).length";
const TEXT = 'WasmProf.saveResults().text()';

/** What a page shows at once, and how often it had loaded the second file before and after. */
const show = page => page.evaluate(`await (async () => { await ${RUN};
  const before = ${LOADED}, text = ${TEXT};
  return { before, text, after: ${LOADED} }; })()`);

async function testPages(browser, site) {
  for (const name of ['script', 'module']) {
    const page = await browser.open(`${site.url}/${name}`), { before, text, after } = await show(page);
    result(before === 0 && SHOWN.test(text) && after === 1 && !page.printed.join().includes('whammc:'), `${name}: loaded when it is wanted`, before, after, text, page.printed);
    result(/^\{"id":0.*\bstep\b/s.test(await page.evaluate('WasmProf.saveResults().json()')) && await page.evaluate(LOADED) === 1, `${name}: once`);
  }
  const advance = await browser.open(`${site.url}/script`);
  result(SHOWN.test(await advance.evaluate(`await (async () => { await ${RUN}; return (await WasmProf.views()).saveResults().text(); })()`)), 'in advance');
  const both = await browser.open(`${site.url}/both`), shown = await show(both);
  result(SHOWN.test(shown.text) && shown.before === 1 && shown.after === 1, 'a script of its own', shown);
}

async function testWorkers(browser, site) {
  for (const [name, options] of [['worker.js', '{}'], ['worker.mjs', "{ type: 'module' }"]]) {
    const page = await browser.open(`${site.url}/empty`);
    const text = await page.evaluate(`await new Promise(resolve => { new Worker('/${name}', ${options}).onmessage = ({ data }) => resolve(data); })`);
    result(SHOWN.test(text), name, text);
  }
}

const settled = page => page.evaluate('await new Promise(resolve => { setTimeout(resolve, 300); })');

// A policy that forbids eval: at once there is a message, and what is printed comes later.
async function testPolicy(browser, site) {
  const page = await browser.open(`${site.url}/script`), { text } = await show(page);
  result(text.startsWith('No profile') && page.printed.some(line => line.startsWith(MESSAGE) && line.includes('await WasmProf.views()')), 'policy: a message', text, page.printed);
  await page.evaluate('WasmProf.printResults()');
  for (let tries = 0; tries < 100 && !page.printed.some(line => SHOWN.test(line)); tries++) await settled(page);
  result(page.printed.some(line => SHOWN.test(line)), 'policy: printed when it is there', page.printed);
  result(SHOWN.test(await page.evaluate(TEXT)), 'policy: from then on');
  const sampled = await browser.open(`${site.url}/sampled`);
  // (What the console evaluates itself may use eval.)
  const kinds = await sampled.evaluate("await (async () => { await new Promise(setTimeout); const before = typeof WasmProf.Profiler; await WasmProf.views(); return [before, typeof WasmProf.Profiler].join(); })()");
  result(kinds === 'undefined,function', 'policy: Profiler', kinds);
}

// Only OUT.js was copied to the server.
async function testMissing(browser, site) {
  const page = await browser.open(`${site.url}/alone`), { text } = await show(page);
  result(text.startsWith('No profile') && page.printed.some(line => line.startsWith(`${MESSAGE}HTTP status 404`)), 'missing: a message', text, page.printed);
  const said = await page.evaluate('await WasmProf.views().catch(error => error.message)');
  result(said.startsWith(MESSAGE) && said.includes('beside the script'), 'missing: rejected', said);
  result((await page.evaluate('WasmProf.saveResults().report()')).includes('arcs'), 'missing: the report is there');
}

// In a bundle, esbuild has made a piece of the second file, or put it into the bundle.
async function testBundles(browser, files) {
  if (!fs.existsSync(esbuild)) {
    result(true, 'bundles # SKIP esbuild-wasm is not installed');
    return;
  }
  fs.writeFileSync(file('entry.js'), `import './app.js'; globalThis.loaded = ${RUN};`);
  for (const options of [['--format=esm', '--splitting'], ['--format=iife'], ['--format=esm', '--splitting', '--minify']]) {
    fs.rmSync(file('dist'), { recursive: true, force: true });
    execFileSync(process.execPath, [esbuild, 'entry.js', '--bundle', ...options, '--outdir=dist', '--log-level=error'], { cwd: dir });
    const dist = Object.fromEntries(fs.readdirSync(file('dist')).map(name => [`/dist/${name}`, ['text/javascript', fs.readFileSync(file(`dist/${name}`))]]));
    const site = await serve({ ...files, ...dist, '/bundle': html('<script type="module" src="/dist/entry.js"></script>') }, { 'Content-Security-Policy': STRICT });
    const page = await browser.open(`${site.url}/bundle`), split = options.includes('--splitting');
    const text = await page.evaluate('await (async () => { await loaded; return (await WasmProf.views()).saveResults().text(); })()');
    result(SHOWN.test(text) && (Object.keys(dist).length > 1) === split, `bundle, ${options.join(' ')}`, text, Object.keys(dist));
    if (split && options.includes('--minify')) result(dist['/dist/entry.js'][1].length <= 17500, 'bundle: the first piece', `${dist['/dist/entry.js'][1].length}`);
    site.close();
  }
}

let browser;
try {
  const files = make(), site = await serve(files), strict = await serve(files, { 'Content-Security-Policy': STRICT });
  browser = await launch(chromium, file('profile'));
  await testPages(browser, site);
  await testWorkers(browser, site);
  await testPolicy(browser, strict);
  await testMissing(browser, site);
  await testBundles(browser, files);
  site.close();
  strict.close();
} catch (error) {
  result(false, 'the browser', error.stack);
} finally {
  await browser?.close();
}
removeFolder(dir);
end();
