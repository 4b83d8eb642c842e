// Programs that are sampled in pages, in headless Chromium: by a thread where the page is cross-origin isolated, by themselves
// everywhere. TAP on standard output.
//
//   node test_sampling.mjs CHROMIUM WHAMMC-CLASSIC.js WHAMMC
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { launch, serve } from './chromium.mjs';

const [chromium, classic, whammc] = process.argv.slice(2);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'whammc-sampling-')), file = name => path.join(dir, name);
let number = 0, failed = 0;

function result(good, title, detail) {
  console.log(`${good ? 'ok' : 'not ok'} ${++number} - ${title}`);
  if (good) return;
  failed++;
  console.log(`# ${String(JSON.stringify(detail)).slice(0, 3000)}`);
}

// run(n) calls short and long n times; long takes three times as long.
const APP = `(module
  (func $work (param $n i32) (local $x i32)
    (loop $next
      (local.set $x (i32.rotl (i32.xor (i32.mul (local.get $x) (i32.const 73)) (local.get $n)) (i32.const 7)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (global.set $kept (local.get $x)))
  (global $kept (mut i32) (i32.const 0))
  (func $short (call $work (i32.const 500000)))
  (func $long (call $work (i32.const 1500000)))
  (func (export "run") (param $n i32)
    (loop $next (call $short) (call $long) (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "crash") (call $short) (drop (i32.div_u (i32.const 1) (global.get $zero))))
  (global $zero i32 (i32.const 0)))`;
const PAGE = name => `<!doctype html><link rel="icon" href="data:,"><script src="/whammc.js"></script><script>
  whammc.onReport = text => { globalThis.report = text; };
  globalThis.started = (async () => {
    const { instance } = await WebAssembly.instantiateStreaming(fetch('/${name}.wasm'), {});
    globalThis.exports = instance.exports;
    await new Promise(done => setTimeout(done, 300)); // the thread has begun
    for (let i = 0; i < 20; i++) instance.exports.run(8);
    try { instance.exports.crash(); } catch (error) { globalThis.trapped = String(error); whammc.patched.hosts[0].trapped(error); }
    instance.exports.run(8);
    whammc.patched.flush();
  })();</script>`;

// { path of functions: [samples, nanoseconds] }
function contexts(report) {
  const line = report.split('\n').find(one => one.includes(', map_id, tree, ')), above = new Map([[0, []]]), found = {};
  for (const [, node, parent, fn, samples, ns] of line?.matchAll(/(\d+)->\((\d+),(\d+),(\d+),(\d+)\)/g) ?? []) {
    above.set(Number(node), [...above.get(Number(parent)), Number(fn)]);
    if (samples !== '0') found[above.get(Number(node))] = [Number(samples), Number(ns)];
  }
  return found;
}

async function check(browser, site, name, title) {
  const page = await browser.open(`${site.url}/${name}`);
  await page.evaluate('await started');
  const report = await page.evaluate('globalThis.report ?? ""'), found = contexts(report);
  const [work, short, long, run, crash] = [0, 1, 2, 3, 4];
  const known = [[run], [run, short], [run, long], [run, short, work], [run, long, work], [crash], [crash, short], [crash, short, work]].map(String);
  const unknown = Object.keys(found).filter(one => !known.includes(one));
  const in_ = (...path) => found[String(path)]?.[1] ?? 0;
  result(!unknown.length, `${title}: only contexts that there are, after a trap, too`, found);
  result(in_(run, long, work) > in_(run, short, work) && in_(run, short, work) > 0, `${title}: time is where the program is`, found);
  result(/divide by zero/.test(await page.evaluate('String(globalThis.trapped)')), `${title}: the trap is the program's`);
  return page;
}

async function main() {
  fs.writeFileSync(file('app.wat'), APP);
  execFileSync('wat2wasm', ['--debug-names', file('app.wat'), '-o', file('app.wasm')]);
  const files = { '/whammc.js': ['text/javascript', fs.readFileSync(classic)] };
  for (const [name, options] of [['thread', ['-D', 'outside=true']], ['program', []]]) {
    execFileSync(whammc, ['instr', '--host=js', '--link=merge', '-s', 'sample', '-D', 'min_size=0', ...options, 'app.wasm', '-o', `${name}.wasm`], { cwd: dir, stdio: 'ignore' });
    files[`/${name}.wasm`] = ['application/wasm', fs.readFileSync(file(`${name}.wasm`))];
    files[`/${name}`] = ['text/html', PAGE(name)];
  }
  const isolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
  const alone = await serve(files, isolation), open = await serve(files);
  const browser = await launch(chromium, file('profile'));
  try {
    await check(browser, alone, 'thread', 'isolated page, a thread');
    await check(browser, alone, 'program', 'isolated page, the program itself');
    await check(browser, open, 'program', 'page as usual, the program itself');
    const page = await browser.open(`${open.url}/thread`);
    await page.evaluate('await started');
    const report = await page.evaluate('globalThis.report ?? ""');
    result(report.includes('empty map') && page.printed.some(text => text.includes('cross-origin isolated')),
      'page as usual, a thread: a message', [report, page.printed]);
  } finally {
    await browser.close();
    alone.close();
    open.close();
  }
}

try {
  await main();
} catch (error) {
  result(false, 'the browser', error.stack);
}
try {
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
} catch (error) { // a process of the browser may still write
  console.log(`# ${error.message}`);
}
console.log(`1..${number}`);
process.exit(failed ? 1 : 0);
