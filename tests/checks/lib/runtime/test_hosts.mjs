// Tests stdlib/host: the runners for Node and wasmtime, and the JavaScript host. Needs wat2wasm.
//   node test_hosts.mjs SOURCE-DIR [PYTHON-WITH-WASMTIME]
// Without the second argument the wasmtime runner is skipped. The programs are written by hand: what they
// "report" is a fixed text that tells how far they came.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { check, finish } from './check.mjs';
import { makeClassic } from './classic.mjs';
import { limitStrings } from '../short_strings.mjs';

const source = resolve(process.argv[2] ?? '.'), python = process.argv[3];
const work = mkdtempSync(join(tmpdir(), 'whammc-hosts-'));
const { createThreadClock } = await import(pathToFileURL(join(source, 'stdlib/host/clock.js')));
const { startNodeThread } = await import(pathToFileURL(join(source, 'stdlib/host/thread.js')));
const { createHost, isInstrumented, patch } = await import(pathToFileURL(join(source, 'stdlib/host/whammc.js')));
// A program with `functions`, whose flush reports "n=N\n" where N is the digit in global $n, in two pieces.
function program({ functions = '', imports = '', host = 'js', flushes = true }) {
  const write = '(import "whammc" "write" (func $write (param i32 i32)))';
  const flush = {
    js: '(call $write (i32.const 0) (i32.const 2)) (call $write (i32.const 2) (i32.const 2)) (call $write (i32.const 0) (i32.const 0))',
    none: '(global.set $len (i32.const 4))',
  }[host];
  const text = `(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
    ${host === 'js' ? write : ''} ${imports}
    (memory $memory (export "memory") 1)
    (global $n (mut i32) (i32.const 48)) (global $len (mut i32) (i32.const 0))
    (data (i32.const 0) "n=0\\n") (data (i32.const 16) "\\20\\00\\00\\00\\06\\00\\00\\00") (data (i32.const 32) "hello\\n")
    (func $hello (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24))))
    (func $count (global.set $n (i32.add (global.get $n) (i32.const 1))))
    ${functions}
    ${host === 'none' ? '' : '(export "whammc:memory" (memory $memory))'}
    (func $flush ${flushes ? '(export "whammc:flush")' : ''} (i32.store8 (i32.const 2) (global.get $n)) ${flush})
    ${host === 'none' ? `(func (export "whammc:report_ptr") (result i32) (i32.const 0))
    (func (export "whammc:report_len") (result i32) (global.get $len))` : ''})`;
  const wat = join(work, 'program.wat'), wasm = join(work, 'program.wasm');
  writeFileSync(wat, text);
  execFileSync('wat2wasm', [wat, '-o', wasm]);
  return readFileSync(wasm);
}

function runners() {
  const list = [['node', process.execPath, [join(source, 'stdlib/host/run-node.mjs')]]];
  if (python) list.push(['wasmtime', python, [join(source, 'stdlib/host/run-wasmtime.py')]]);
  else console.log('skipped: wasmtime runner');
  return list;
}

function run([, command, first], bytes, args = ['prog'], report = join(work, 'report')) {
  const file = join(work, 'run.wasm');
  if (bytes) writeFileSync(file, bytes);
  else rmSync(file, { force: true });
  rmSync(join(work, 'report'), { force: true });
  const { status, stdout, stderr } = spawnSync(command, [...first, file, report, ...args],
    { cwd: work, encoding: 'utf8', env: { PATH: process.env.PATH, A: '1' } });
  return { status, stdout, stderr, report: existsSync(join(work, 'report')) ? readFileSync(join(work, 'report'), 'utf8') : null };
}

const is = (r, expected) => Object.entries(expected).every(([key, value]) => r[key] === value);

function testRunner(runner) {
  const name = runner[0];
  const cases = {
    'runs _start': ['(func (export "_start") call $hello call $count call $flush)', { status: 0, stdout: 'hello\n', stderr: '', report: 'n=1\n' }],
    'passes proc_exit on': ['(func (export "_start") call $flush (call $exit (i32.const 7)))', { status: 7, stderr: '', report: 'n=0\n' }],
    'keeps all reports': ['(func (export "_start") call $flush call $count call $flush)', { status: 0, report: 'n=0\nn=1\n' }],
    'runs main': ['(func (export "main") (param i32 i32) (result i32) call $hello call $flush (i32.const 3))', { status: 3, stdout: 'hello\n', stderr: '', report: 'n=0\n' }],
    'calls main with 64-bit parameters': ['(func (export "main") (param i64) (result i32) (i32.eqz (i64.eqz (local.get 0))))', { status: 0, report: '' }],
    'reports from a start function': ['(func $s call $count call $flush) (start $s)', { status: 0, stderr: '', report: 'n=1\n' }],
    'passes arguments': ['(func (export "_start") (drop (call $args (i32.const 40) (i32.const 44))) (call $exit (i32.load (i32.const 40))))', { status: 3, stderr: '' }],
    'passes the environment': ['(func (export "_start") (drop (call $environ (i32.const 40) (i32.const 44))) (call $exit (i32.ge_u (i32.load (i32.const 40)) (i32.const 2))))', { status: 1, stderr: '' }],
  };
  for (const [what, [functions, expected]] of Object.entries(cases)) {
    const r = run(runner, program({ functions }), ['prog', 'a', 'b']);
    check(`${name} ${what}`, is(r, expected), r);
  }
  const none = { functions: '(func (export "_start") call $count call $flush)', host: 'none' };
  const r = run(runner, program(none));
  check(`${name} reads the report from memory`, is(r, { status: 0, stderr: '', report: 'n=1\n' }), r);
  const clock = run(runner, program({ imports: '(import "whammc" "now" (func $now (result f64)))', functions: `
    (func (export "_start") (local f64) (local.set 0 (call $now))
      (loop $again (br_if $again (f64.le (call $now) (local.get 0)))) (call $exit (i32.const 5)))` }));
  check(`${name} has a clock that goes on`, is(clock, { status: 5, stderr: '' }), clock);
  const dash = run(runner, program({ functions: none.functions }), ['prog'], '-');
  check(`${name} reports to standard error`, is(dash, { status: 0, stderr: 'n=1\n', report: null }), dash);
}

// One processor for two threads, which Node takes for two idle ones: the thread gives up, and the host's clock is read.
function testStarvedClock([name, command, first]) {
  if (name !== 'node' || spawnSync('taskset', ['-c', '0', 'true']).status !== 0) return;
  const fake = join(work, 'fake.cjs');
  writeFileSync(fake, `const os = require('os');
    os.availableParallelism = () => 2; os.cpus = () => [{}, {}];
    require('module').syncBuiltinESMExports();`);
  const loop = program({ imports: '(import "whammc" "now" (func $now (result f64)))', functions: `
    (func (export "_start") (local f64) (local.set 0 (f64.add (call $now) (f64.const 100)))
      (loop $again (br_if $again (f64.lt (call $now) (local.get 0)))) (call $exit (i32.const 5)))` });
  const auto = run([name, 'taskset', ['-c', '0', command, '--require', fake, ...first, '--clock=auto']], loop);
  check(`${name} has a clock that goes on where a thread would not be given a processor`, is(auto, { status: 5, stderr: '' }), auto);
}

// A thread that is not given a processor any more once the program runs: the time stands still to the end, which must be said.
function testStoppedClock([name, command, first]) {
  if (name !== 'node') return;
  const stops = join(work, 'stops.cjs');
  writeFileSync(stops, `const threads = require('worker_threads'), { Worker } = threads;
    threads.Worker = class extends Worker {
      constructor(source, options) {
        super(source.replace('while (always ||', 'const end = performance.now() + 30; ' +
          'while (performance.now() < end || Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) ||'), options);
      }
    };
    require('module').syncBuiltinESMExports();`);
  const loop = program({ functions: `
    (func (export "_start") (local i64) (loop $again
      (br_if $again (i64.lt_u (local.tee 0 (i64.add (local.get 0) (i64.const 1))) (i64.const 600000000)))) (call $exit (i32.const 5)))` });
  const r = run([name, command, ['--require', stops, ...first, '--clock=thread']], loop);
  check(`${name} says that the clock of a thread stood still to the end`, r.status === 5 && /the clock stood still for \d\d/.test(r.stderr), r);
}

function testTraps(runner) {
  const name = runner[0];
  const traps = {
    unreachable: '(func (export "_start") call $hello call $count unreachable)',
    'out of bounds': '(func (export "_start") call $hello call $count (drop (i32.load (i32.const -1))))',
    'stack overflow': '(func $f call $f call $f) (func (export "_start") call $hello call $count call $f)',
    'trap in main': '(func (export "main") (result i32) call $hello call $count unreachable)',
  };
  for (const [what, functions] of Object.entries(traps))
    for (const host of ['js', 'none']) {
      const r = run(runner, program({ functions, host }));
      check(`${name} ${what}, ${host}`, is(r, { status: 134, stdout: 'hello\n', report: 'n=1\n' }) && r.stderr.length > 10, r);
    }
  const silent = run(runner, program({ functions: traps.unreachable, flushes: false }));
  check(`${name} traps without a flush function`, is(silent, { status: 134, report: '' }), silent);
}

function testBad(runner) {
  const name = runner[0];
  for (const [what, bytes] of [['garbage', Buffer.from('garbage')], ['no file', null],
    ['unknown import', program({ imports: '(import "env" "no" (func))' })]]) {
    const r = run(runner, bytes);
    check(`${name} ${what}`, r.status === 126 && r.stderr.startsWith('prog: '), r);
  }
  check(`${name} usage`, run(runner, null, []).status === 2);
}

const wasi = { wasi_snapshot_preview1: { proc_exit() {}, fd_write: () => 0, args_sizes_get: () => 0, environ_sizes_get: () => 0 } };
const counting = () => program({ functions: `(func (export "count") call $count) (func (export "end") call $flush)
  (func (export "trap") call $count unreachable)` });

function testHost() {
  const reports = [];
  const host = createHost({ onReport: (text, bytes) => reports.push([text, bytes.length]) });
  check('flush before attach', host.flush() === false);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(counting()), { ...wasi, ...host.imports });
  host.attach(instance);
  instance.exports.count();
  instance.exports.end();
  check('flush', host.flush() === true);
  const earlier = host.imports.whammc.now();
  check('clock', earlier > 0 && host.imports.whammc.now() >= earlier);
  check('run gives the result', host.run(() => 5) === 5);
  let thrown = null;
  try {
    host.run(exports => exports.trap());
  } catch (error) {
    thrown = error;
  }
  check('run passes the trap on', thrown instanceof WebAssembly.RuntimeError);
  check('reports', JSON.stringify(reports) === '[["n=1\\n",4],["n=1\\n",4],["n=2\\n",4]]', reports);
}

function testLongReports() {
  const texts = [], lists = [], warnings = [], { warn } = console;
  const run = options => {
    const host = createHost(options);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(counting()), { ...wasi, ...host.imports });
    host.attach(instance);
    instance.exports.end();
  };
  const putBack = limitStrings(3);
  console.warn = text => warnings.push(text);
  try {
    run({ onReport: text => texts.push(text) });
    run({ onReport: text => texts.push(text), onChunks: chunks => lists.push(chunks) });
  } finally {
    console.warn = warn;
    putBack();
  }
  check('a report that is longer than a string is lost', texts.length === 0, texts);
  check('there is a warning', warnings.length === 1 && warnings[0].startsWith('whammc: a report of 4 bytes does not fit into a string (') &&
    warnings[0].includes('createHost({ onChunks })'), warnings);
  check('not as chunks', lists.length === 1 && Buffer.concat(lists[0]).toString() === 'n=0\n', lists);
}

// The clock of a thread begins and ends with its thread, and never goes back. `always`: the thread works, however busy the machine is.
async function testThreadClock() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 16)) return;
  const threads = await import('node:worker_threads');
  for (const always of [true, false]) {
    const workers = [], start = (code, data) => workers.push(startNodeThread(threads, code, data));
    const clock = createThreadClock(start, { always });
    check(`a thread that keeps the time is not started before it is wanted, always=${always}`, clock.now() > 0 && workers.length === 0);
    if (always) {
      clock.want();
      check('a thread keeps the time', clock.waits(60000));
    }
    const begin = performance.now();
    let last = clock.now(), back = 0, off = Infinity, reads = 0;
    while (performance.now() - begin < 400 || (off > 0.3 && performance.now() - begin < 20000)) { // until the thread gets a processor
      for (let i = 0; i < 1000; i++, reads++) {
        const now = clock.now();
        back += now < last;
        last = now;
      }
      off = Math.min(off, Math.abs(last - performance.now()));
      if (!always && reads % 100000 === 0) await new Promise(done => { setTimeout(done, 30); }); // the thread ends meanwhile
    }
    check(`its time does not go back, always=${always}`, back === 0, `${back} times of ${reads}`);
    check(`its time is that of the host, always=${always}`, off <= 0.3, `${off} ms`);
    check(`its nanoseconds, always=${always}`, Math.abs(Number(clock.now_ns()) / 1e6 - performance.now()) < 1000);
    check(`it was wanted, always=${always}`, workers.length === 1, workers.length);
    workers.forEach(worker => worker.terminate());
  }
}

function testHostStartFunction() {
  const reports = [];
  const host = createHost({ onReport: text => reports.push(text) });
  const bytes = program({ functions: '(func $s call $count call $flush) (start $s)' });
  host.attach(new WebAssembly.Instance(new WebAssembly.Module(bytes), { ...wasi, ...host.imports }));
  check('start function', reports.join() === 'n=1\n', reports);
}

async function testPatch() {
  const reports = [], before = { ...Object.getOwnPropertyDescriptors(WebAssembly) };
  const patched = patch({ onReport: text => reports.push(text) });
  const bytes = counting(), module = new WebAssembly.Module(bytes);
  const made = [(await WebAssembly.instantiate(bytes, wasi)).instance, await WebAssembly.instantiate(module, wasi),
    new WebAssembly.Instance(module, wasi)];
  if (WebAssembly.instantiateStreaming && typeof Response === 'function') {
    const response = new Response(bytes, { headers: { 'content-type': 'application/wasm' } });
    made.push((await WebAssembly.instantiateStreaming(response, wasi)).instance);
  }
  check('patched Instance', made.every(i => i instanceof WebAssembly.Instance));
  made.forEach((instance, i) => { for (let k = 0; k <= i; k++) instance.exports.count(); });
  patched.flush();
  check('patched reports', reports.join('') === made.map((_, i) => `n=${i + 1}\n`).join(''), reports);
  const plain = new WebAssembly.Module(Buffer.from('0061736d01000000', 'hex'));
  check('plain module', !isInstrumented(plain) && (await WebAssembly.instantiate(plain)) instanceof WebAssembly.Instance);
  check('plain bytes', (await WebAssembly.instantiate(Buffer.from('0061736d01000000', 'hex'))).module instanceof WebAssembly.Module);
  const fails = await Promise.allSettled([WebAssembly.instantiate(Buffer.from('x')), WebAssembly.instantiate(module, {}), WebAssembly.instantiate()]);
  check('errors', fails.every(f => f.status === 'rejected') && fails[0].reason instanceof WebAssembly.CompileError && fails[1].reason instanceof TypeError);
  check('hosts', patched.hosts.length === made.length);
  patched.restore();
  check('restored', Object.keys(before).every(key => WebAssembly[key] === before[key].value));
}

async function testClassic() {
  const script = makeClassic(source);
  const reports = [];
  const realm = vm.createContext({ TextDecoder, reports, bytes: counting(), wasi, console });
  vm.runInContext(script, realm);
  const result = await vm.runInContext(`whammc.onReport = text => reports.push(text);
    WebAssembly.instantiate(bytes, wasi).then(({ instance }) => { instance.exports.count(); whammc.patched.flush(); })`, realm).catch(e => e);
  check('classic script', reports.join() === 'n=1\n', result, reports);
}

// As in Workers of Cloudflare, where modules are only loaded.
async function testWithoutCompilers() {
  const reports = [], module = new WebAssembly.Module(counting());
  const realm = vm.createContext({ TextDecoder, reports, module, wasi, console }, { codeGeneration: { wasm: false } });
  vm.runInContext(makeClassic(source), realm);
  const result = await vm.runInContext(`whammc.onReport = text => reports.push(text);
    WebAssembly.instantiate(module, wasi).then(({ exports }) => { exports.count(); whammc.patched.flush(); })`, realm).catch(e => e);
  check('where nothing may be compiled', reports.join() === 'n=1\n', result, reports);
}

function testUncaughtTrap() {
  writeFileSync(join(work, 'app.wasm'), counting());
  writeFileSync(join(work, 'app.mjs'), `import { patch } from ${JSON.stringify(pathToFileURL(join(source, 'stdlib/host/whammc.js')).href)};
    import { readFileSync } from 'node:fs';
    patch();
    const none = () => 0, wasi = { proc_exit: none, fd_write: none, args_sizes_get: none, environ_sizes_get: none };
    const { instance } = await WebAssembly.instantiate(readFileSync(new URL('app.wasm', import.meta.url)), { wasi_snapshot_preview1: wasi });
    setTimeout(() => instance.exports.trap());`);
  const r = spawnSync(process.execPath, [join(work, 'app.mjs')], { encoding: 'utf8' });
  check('uncaught trap', r.stdout === 'n=1\n\n' && r.status !== 0, r);
}

try {
  for (const runner of runners()) {
    testRunner(runner);
    testStarvedClock(runner);
    testStoppedClock(runner);
    testTraps(runner);
    testBad(runner);
  }
  testHost();
  await testThreadClock();
  testHostStartFunction();
  testLongReports();
  await testPatch();
  await testClassic();
  await testWithoutCompilers();
  testUncaughtTrap();
} finally {
  rmSync(work, { recursive: true });
}
finish();
