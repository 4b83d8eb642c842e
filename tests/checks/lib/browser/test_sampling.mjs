// Programs that are sampled in pages, in headless Chromium: by a thread where the page is cross-origin isolated, by themselves
// everywhere. TAP on standard output.
//
//   node test_sampling.mjs CHROMIUM WHAMMC-CLASSIC.js WHAMMC
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { launch, serve } from './chromium.mjs';

const [chromium, classic, whammc] = process.argv.slice(2);
const dir = makeFolder('sampling'), file = name => path.join(dir, name);

// run(n) calls short and long n times; long takes three times as long. Both together do not take a multiple of the interval of
// samples on fast machines, which would always see the same places.
const APP = `(module
  (func $work (param $n i32) (local $x i32)
    (loop $next
      (local.set $x (i32.rotl (i32.xor (i32.mul (local.get $x) (i32.const 73)) (local.get $n)) (i32.const 7)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (global.set $kept (local.get $x)))
  (global $kept (mut i32) (i32.const 0))
  (func $short (call $work (i32.const 370000)))
  (func $long (call $work (i32.const 1110000)))
  (func $run (export "run") (param $n i32)
    (loop $next (call $short) (call $long) (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $crash (export "crash") (call $short) (drop (i32.div_u (i32.const 1) (global.get $zero))))
  (global $zero i32 (i32.const 0)))`;
const PAGE = name => `<!doctype html><link rel="icon" href="data:,"><script src="/whammc.js"></script><script>
  whammc.onReport = text => { globalThis.report = text; };
  globalThis.started = (async () => {
    const { instance } = await WebAssembly.instantiateStreaming(fetch('/${name}.wasm'), {});
    globalThis.exports = instance.exports;
    if ('${name}' !== 'program') await new Promise(done => setTimeout(done, 300)); // a thread has begun
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
  const [samples, time] = [0, 1].map(which => (...path) => found[String(path)]?.[which] ?? 0);
  result(!unknown.length, `${title}: only contexts that there are, after a trap, too`, found);
  // Where the machine is busy, one sample may have the time of many.
  result(samples(run, long, work) > samples(run, short, work) && time(run, short, work) > 0, `${title}: time is where the program is`, found);
  result(/divide by zero/.test(await page.evaluate('String(globalThis.trapped)')), `${title}: the trap is the program's`);
  return page;
}

// ---- the class Profiler ----

const PROFILER = name => `<!doctype html><link rel="icon" href="data:,"><script src="/whammc.js"></script><script>
  whammc.onReport = () => {};
  const { Profiler } = whammc, pause = ms => new Promise(done => setTimeout(done, ms));
  const errorOf = async make => { try { await make(); } catch (error) { return error.name; } return 'none'; };
  function outerOfPage(exports) { for (let i = 0; i < 20; i++) exports.run(8); }
  globalThis.started = (async () => {
    const { instance: { exports } } = await WebAssembly.instantiateStreaming(fetch('/${name}.wasm'), {});
    const work = async times => { for (let i = 0; i < times; i++) { exports.run(6); await pause(5); } };
    await pause(300);
    const began = performance.now();
    const fine = new Profiler({ sampleInterval: 0.3, maxBufferSize: 100000 }), coarse = new Profiler({ sampleInterval: 4.2, maxBufferSize: 100000 });
    await work(10);
    const late = performance.now(), joined = new Profiler({ sampleInterval: 2, maxBufferSize: 100000 });
    await work(10);
    const traces = { fine: await fine.stop() };
    const alone = performance.now();
    await work(10); // the common interval is longer now
    Object.assign(traces, { joined: await joined.stop(), coarse: await coarse.stop() });
    const full = new Profiler({ sampleInterval: 1, maxBufferSize: 5 });
    let filled = 0;
    full.addEventListener('samplebufferfull', () => filled++);
    await work(5);
    await pause(300);
    const before = full.stopped, trace = await full.stop();
    Profiler.visible = frame => frame.name !== 'long';
    const filtered = new Profiler({ sampleInterval: 1, maxBufferSize: 1000 });
    await work(4);
    const seen = (await filtered.stop()).frames.map(frame => frame.name);
    Profiler.visible = () => true;
    return { traces, began, late, alone, ended: performance.now(), granted: [fine, coarse, joined].map(one => one.sampleInterval),
      full: [filled, before, full.stopped, trace.samples.length], seen,
      errors: [await errorOf(() => new Profiler()), await errorOf(() => new Profiler({ sampleInterval: 10 })),
        await errorOf(() => new Profiler({ sampleInterval: -1, maxBufferSize: 10 })),
        await errorOf(() => new Profiler({ sampleInterval: NaN, maxBufferSize: 10 })), await errorOf(() => fine.stop())] };
  })();</script>`;

// What is wrong with a trace.
function faults({ resources, frames, stacks, samples }, url, from, to) {
  const wrong = [];
  const names = frames.map(frame => frame.name), known = ['run', 'short', 'long', 'work'];
  if (names.some(name => !known.includes(name)) || new Set(names).size !== names.length) wrong.push(`frames ${names}`);
  if (frames.some(frame => resources[frame.resourceId] !== url)) wrong.push(`resources ${resources}`);
  if (stacks.some(({ parentId, frameId }, i) => parentId >= i || !(frameId < frames.length))) wrong.push('stacks');
  if (samples.some(({ stackId }) => stackId !== undefined && !(stackId < stacks.length))) wrong.push('samples without their stacks');
  if (samples.some(({ timestamp }, i) => timestamp < samples[i - 1]?.timestamp || timestamp < from || timestamp > to + 1)) wrong.push('times');
  return wrong;
}

// How many samples have the function at the top of the stack's bottom, or anywhere.
const with_ = ({ frames, stacks, samples }, name) => samples.filter(({ stackId }) => {
  for (let id = stackId; id !== undefined; id = stacks[id].parentId) if (frames[stacks[id].frameId].name === name) return true;
  return false;
}).length;

async function checkProfiler(browser, site, name, title) {
  const page = await browser.open(`${site.url}/profiler-${name}`);
  const r = JSON.parse(await page.evaluate('JSON.stringify(await started)')), url = `${site.url}/${name}.wasm`;
  const { fine, coarse, joined } = r.traces;
  result(String(r.granted) === '1,5,2', `${title}: intervals are rounded up`, r.granted);
  const wrong = [...faults(fine, url, r.began, r.alone), ...faults(coarse, url, r.began, r.ended), ...faults(joined, url, r.late, r.ended)];
  result(!wrong.length, `${title}: traces are what the specification says`, wrong);
  result(with_(fine, 'long') > with_(fine, 'short') && with_(fine, 'short') > 0 && with_(coarse, 'long') > 0 && with_(joined, 'long') > 0,
    `${title}: samples are where the program is`, [fine, coarse, joined].map(one => [with_(one, 'short'), with_(one, 'long')]));
  const within = (trace, from, to) => trace.samples.filter(({ timestamp }) => timestamp >= from && timestamp < to).length;
  const both = [within(fine, r.began, r.alone), within(coarse, r.began, r.alone)];
  result(both[0] > 2 * both[1] && both[1] > 0, `${title}: each keeps every n-th sample`, both);
  result(within(coarse, r.alone, r.ended) > 0, `${title}: those that stay go on when one leaves`);
  result(String(r.full) === '1,false,true,5', `${title}: a full buffer`, r.full);
  result(!r.seen.includes('long') && r.seen.includes('work'), `${title}: a filter`, r.seen);
  result(String(r.errors) === 'TypeError,TypeError,RangeError,TypeError,InvalidStateError', `${title}: errors`, r.errors);
  return page;
}

// Nobody catches the trap: the page's own handlers see it, and the next call begins with an empty stack.
async function checkUncaught(browser, site) {
  const page = await browser.open(`${site.url}/program`);
  await page.evaluate('await started');
  const report = await page.evaluate(`await (async () => {
    const ended = new Promise(done => addEventListener('error', () => setTimeout(done)));
    setTimeout(() => globalThis.exports.crash());
    await ended;
    for (let i = 0; i < 20; i++) globalThis.exports.run(8);
    whammc.patched.flush();
    return globalThis.report;
  })()`);
  const found = Object.keys(contexts(report)), [run, crash] = ['3', '4'];
  result(found.some(one => one.startsWith(run)) && !found.some(one => one.startsWith(crash) && one.includes(run)),
    'a trap that nobody catches ends what was active', found);
}

// A page that goes while it is profiled.
async function checkLeaving(browser, site) {
  const page = await browser.open(`${site.url}/profiler-thread`);
  await page.evaluate(`await started; new whammc.Profiler({ sampleInterval: 1, maxBufferSize: 1000 }); location.href = '/profiler-tells'; 0`);
  for (let i = 0; i < 50 && !await page.evaluate("location.pathname.includes('tells') && typeof started !== 'undefined'"); i++) await new Promise(done => { setTimeout(done, 100); });
  const r = JSON.parse(await page.evaluate('JSON.stringify(await started)'));
  result(r.traces.fine.samples.length > 0, 'a page that navigates away');
}

// The browser's own profiler sees the JavaScript that called the program.
async function checkNative(browser, files, headers) {
  const site = await serve(files, { ...headers, 'Document-Policy': 'js-profiling' });
  const page = await browser.open(`${site.url}/profiler-thread`);
  await page.evaluate('await started');
  const trace = JSON.parse(await page.evaluate(`JSON.stringify(await (async () => {
    const { instance: { exports } } = await WebAssembly.instantiateStreaming(fetch('/thread.wasm'), {});
    await pause(300);
    const profiler = new whammc.Profiler({ sampleInterval: 10, maxBufferSize: 10000 });
    for (let i = 0; i < 5; i++) { outerOfPage(exports); await pause(1); }
    return profiler.stop();
  })())`));
  site.close();
  const { frames, stacks } = trace, nameOf = id => frames[stacks[id]?.frameId]?.name;
  const joined = stacks.some((stack, id) => nameOf(id) === 'run' && nameOf(stack.parentId) === 'outerOfPage');
  result(joined, "the browser's own profiler: functions hang under the JavaScript that called them", frames);
}

async function main() {
  fs.writeFileSync(file('app.wat'), APP);
  execFileSync('wat2wasm', ['--debug-names', file('app.wat'), '-o', file('app.wasm')]);
  const files = { '/whammc.js': ['text/javascript', fs.readFileSync(classic)] };
  for (const [name, options] of [['thread', ['-D', 'outside=true']], ['program', []], ['tells', ['-D', 'tells=true']]]) {
    execFileSync(whammc, ['instr', '--host=js', '--link=merge', '-s', 'sample', '-D', 'min_size=0', ...options, 'app.wasm', '-o', `${name}.wasm`], { cwd: dir, stdio: 'ignore' });
    files[`/${name}.wasm`] = ['application/wasm', fs.readFileSync(file(`${name}.wasm`))];
    files[`/${name}`] = ['text/html', PAGE(name)];
    files[`/profiler-${name}`] = ['text/html', PROFILER(name)];
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
    await checkProfiler(browser, alone, 'thread', 'Profiler, isolated page');
    await checkProfiler(browser, open, 'tells', 'Profiler, page as usual');
    await checkUncaught(browser, open);
    await checkLeaving(browser, alone);
    await checkNative(browser, files, isolation);
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
removeFolder(dir);
end();
