// Tests --link=import: reports must be those of --link=merge, byte for byte, and the program's memory must stay
// as it is. Needs wat2wasm.
//   node test_import.mjs LINK-PROGRAM [PYTHON-WITH-WASMTIME]
//   node test_import.mjs --run RUNTIME.wasm APP.wasm      used by itself: runs a program in a process of its own
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, finish } from './check.mjs';

const RUNTIME = 'whammc_runtime';
const self = fileURLToPath(import.meta.url);

// ---- a host ----

// Runs the program with WASI, and with the runtime as a second module if it is imported. Then calls whammc:flush
// and says on standard error whether the program's memory is still the same.
async function host(runtimePath, appPath) {
  const { WASI } = await import('node:wasi');
  const makeWasi = () => new WASI({ version: 'preview1', args: ['app'], env: {}, preopens: { '.': '.' }, returnOnExit: true });
  const wasi = makeWasi(), app = new WebAssembly.Module(readFileSync(appPath));
  const imports = { ...wasi.getImportObject(), env: { memory: new WebAssembly.Memory({ initial: 1, maximum: 1 }) } };
  if (WebAssembly.Module.imports(app).some((i) => i.module === RUNTIME)) {
    const its = makeWasi();
    const runtime = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(runtimePath)), its.getImportObject());
    its.initialize(runtime);
    imports[RUNTIME] = runtime.exports;
  }
  const { exports } = new WebAssembly.Instance(app, imports);
  if (exports._start) {
    try {
      wasi.start({ exports });
    } catch (error) {
      writeSync(2, `${error.message}\n`);
    }
  } else {
    if (exports.memory) wasi.initialize({ exports: { memory: exports.memory } });
    exports.main?.();
  }
  const memory = exports.memory ?? imports.env.memory, before = Buffer.from(memory.buffer.slice(0));
  exports['whammc:flush']?.();
  writeSync(2, `${before.equals(Buffer.from(memory.buffer)) ? 'same' : 'changed'} memory, ${before.length} bytes\n`);
}

if (process.argv[2] === '--run') {
  process.removeAllListeners('warning');
  await host(process.argv[3], process.argv[4]);
  process.exit(0);
}

// ---- the tests ----

const link = resolve(process.argv[2]), python = process.argv[3] && resolve(process.argv[3]);
const work = mkdtempSync(join(tmpdir(), 'whammc-import-'));
const path = (name) => join(work, name);

function assemble(name, text) {
  writeFileSync(path('text.wat'), text);
  execFileSync('wat2wasm', ['--enable-all', '--debug-names', path('text.wat'), '-o', path(name)]);
}

// Instruments app.wasm with the script to `out`.
function instrument(script, out, ...options) {
  writeFileSync(path('script.whamm'), script);
  const done = spawnSync(link, ['script.whamm', 'app.wasm', out, ...options], { cwd: work, encoding: 'utf8' });
  return { ok: done.status === 0, messages: done.stderr };
}

function run(command, ...words) {
  rmSync(path('report.csv'), { force: true });
  const done = spawnSync(command, words, { cwd: work, encoding: 'utf8', maxBuffer: 1 << 26 });
  const file = existsSync(path('report.csv')) ? readFileSync(path('report.csv'), 'utf8') : null;
  return { stdout: done.stdout, stderr: done.stderr, file };
}
const runNode = (app) => run(process.execPath, self, '--run', 'runtime.wasm', app);
const runWasmtime = (app) => run(python, join(dirname(self), 'run_import.py'), 'runtime.wasm', app);

const imports = (name) => WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(path(name))))
  .filter((i) => i.module === RUNTIME).map((i) => i.name).sort().join();

const BANNER = 'REPORT CSV FLUSH';
const reports = (text) => text.split(BANNER).length - 1;

// Both ways of linking, on each engine; gives what the imported one printed in Node.
function compare(what, script, { expected, flushes = 2, options = [], bytes = 65536 } = {}) {
  const merged = instrument(script, 'merged.wasm', ...options);
  const imported = instrument(script, 'imported.wasm', 'link=import', ...options);
  check(`${what}: instruments`, merged.ok && imported.ok && merged.messages === imported.messages,
    merged.messages, imported.messages);
  if (!imported.ok) return null;
  check(`${what}: imports`, imports('imported.wasm') === 'close,open,put32,put64,skip', imports('imported.wasm'));
  const a = runNode('merged.wasm'), b = runNode('imported.wasm');
  const all = (r) => r.stdout + r.stderr + (r.file ?? '');
  check(`${what}: same output`, a.stdout === b.stdout && a.file === b.file, a, b);
  // Merging may grow the program's memory, importing never does.
  check(`${what}: memory`, b.stderr.includes(`same memory, ${bytes} bytes`), b.stderr);
  check(`${what}: standard error`, a.stderr.replace(/.* memory, .*\n$/, '') === b.stderr.replace(/.* memory, .*\n$/, ''), a.stderr, b.stderr);
  if (expected) {
    for (const line of expected) check(`${what}: ${line}`, all(b).includes(`${line}\n`), all(b));
    if (!options.includes('format=json')) check(`${what}: ${flushes} reports`, reports(all(b)) === flushes, all(b));
  }
  if (python) {
    const c = runWasmtime('imported.wasm');
    check(`${what}: wasmtime`, c.stdout === b.stdout && c.file === b.file &&
      c.stderr === b.stderr.replace(/.* memory, .*\n$/, ''), b, c);
  }
  return b;
}

const HELLO = `
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\10\\00\\00\\00\\06\\00\\00\\00")
  (data (i32.const 16) "hello\\n")
  (func $hello (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $count (param $n i32) (result i32)
    (local $i i32)
    (loop $again
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    local.get $i)`;
const PROGRAM = `(module ${HELLO} (func (export "_start") call $hello (drop (call $count (i32.const 10)))))`;
const HOTNESS = 'wasm:opcode:*:before { report var count: u64; count++; }';

function testHotness() {
  assemble('app.wasm', PROGRAM);
  const r = compare('hotness', HOTNESS, { expected: [
    ', memaddr, count, u64, i64, script0, count, 3, 7, 51_wasm:opcode:i32.const:before, 10' ] });
  check('hotness: the program prints first', r?.stdout.startsWith('hello\n\n=='), r);
}

const KINDS = [['u8', 'i32'], ['i8', 'i32'], ['u16', 'i32'], ['i16', 'i32'], ['u32', 'i32'], ['i32', 'i32'], ['f32', 'f32'],
  ['u64', 'i64'], ['i64', 'i64'], ['f64', 'f64'], ['bool', 'i32']];
const VALUES = { u8: '250', i8: '-100', u16: '65000', i16: '-30000', u32: '4000000000', i32: '-2000000000',
  f32: '1.5', u64: '18000000000000000000', i64: '-9000000000000000000', f64: '-0.1', bool: 'true' };
const PRINTED = { ...VALUES, f32: '+1.5e0', f64: '-1e-1' };

// Each kind three times (an odd number, so that groups of 4-byte values need padding), unshared and shared.
function testKinds() {
  assemble('app.wasm', `(module ${HELLO} (func (export "_start") nop nop nop call $hello))`);
  const set = (name) => KINDS.map(([k]) => `${name}_${k} = ${VALUES[k]};`).join('\n');
  const declare = (how, name) => KINDS.map(([k]) => `report ${how} var ${name}_${k}: ${k};`).join('\n');
  const script = `${KINDS.map(([k]) => `report var v_${k}: ${k} = ${VALUES[k]};`).join('\n')}
    wasm:opcode:nop:before { ${declare('unshared', 'a')} ${declare('shared', 'b')} ${set('a')} ${set('b')} }`;
  const rows = KINDS.flatMap(([k, w]) => [
    ...[1, 2, 3].map((pc) => `a_${k}, ${k}, ${w}, script0, _start, 4, ${pc}, 0_wasm:opcode:nop:before, ${PRINTED[k]}`),
    `b_${k}, ${k}, ${w}, script0, , , , 0_wasm:opcode:nop:before, ${PRINTED[k]}`,
    `v_${k}, ${k}, ${w}, script0, , , , , ${PRINTED[k]}` ]);
  // Of each row only what follows the id is compared.
  const r = compare('kinds', script);
  for (const row of rows) check(`kinds: ${row}`, r?.stdout.includes(`, ${row.replace(/0_wasm/, numberOf(r.stdout))}\n`), r?.stdout);
}

// The number that reports give a probe on nop.
function numberOf(text) {
  return `${/(\d+)_wasm:opcode:nop/.exec(text)?.[1]}_wasm`;
}

function testScalarsOnly() {
  assemble('app.wasm', PROGRAM);
  compare('script variable', 'report var n: i32;\nwasm:opcode:br_if:before { n++; }\nwasm:end { n = n + 100; }',
    { expected: ['0, global_id, n, i32, i32, script0, , , , , 110', '0, global_id, n, i32, i32, script0, , , , , 210'] });
  compare('one shared variable', 'wasm:opcode:br_if:before { report shared var n: u8; n++; }', { flushes: 2, expected: [
    '4, memaddr, n, u8, i32, script0, , , , 0_wasm:opcode:br_if:before, 10'] });
}

function testExit() {
  assemble('app.wasm', `(module ${HELLO}
    (func (export "_start") call $hello (drop (call $count (i32.const 5))) (call $exit (i32.const 0))))`);
  compare('proc_exit', HOTNESS, { flushes: 2, expected: [
    ', memaddr, count, u64, i64, script0, count, 3, 15, 11_wasm:opcode:br_if:before, 5'] });
  assemble('app.wasm', `(module ${HELLO} (func (export "_start") call $hello unreachable))`);
  compare('trap', HOTNESS, { flushes: 1 });
}

function testPlaces() {
  assemble('app.wasm', PROGRAM);
  const file = compare('file', HOTNESS, { options: ['report=report.csv'] });
  check('file: not on standard output', file?.stdout === 'hello\n' && reports(file.file ?? '') === 2, file);
  const other = compare('standard error', HOTNESS, { options: ['report=stderr'] });
  check('standard error: all there', other?.stdout === 'hello\n' && reports(other.stderr) === 2, other);
  const none = compare('no such directory', HOTNESS, { options: ['report=none/report.csv'] });
  check('no such directory: message', none?.stderr.includes("whammc: cannot open 'none/report.csv'"), none);
  const json = compare('json', HOTNESS, { options: ['format=json'] });
  const rows = json?.stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)) ?? [];
  check('json: rows', rows.length > 30 && rows.every((row) => row.name === 'count'), json);
}

// More sites than fit into one function each of values and image.
function testMany() {
  assemble('app.wasm', `(module ${HELLO} (func (export "_start") call $hello ${'nop '.repeat(5555)}))`);
  const r = compare('many', `wasm:opcode:nop:before { report var n: u8; report var m: i64; n++; m = -1; }`);
  check('many: rows', r?.stdout.split('\n').filter((line) => line.includes('nop')).length === 2 * 2 * 5555);
}

// Programs whose memory cannot hold the runtime: merged, they need an engine with several memories.
function testForeignMemory() {
  assemble('app.wasm', `(module (import "env" "memory" (memory 1 1)) (func (export "main") nop))`);
  const r = instrument('wasm:opcode:nop:before { report var n: u8; n++; }', 'imported.wasm', 'link=import');
  check('imported memory: instruments', r.ok, r.messages);
  const out = runNode('imported.wasm');
  check('imported memory: runs', reports(out.stdout) === 2 && out.stderr.endsWith('same memory, 65536 bytes\n'), out);
  assemble('app.wasm', '(module (func (export "main") nop))');
  const n = instrument('wasm:opcode:nop:before { report var n: u8; n++; }', 'imported.wasm', 'link=import');
  const small = runNode('imported.wasm');
  check('no memory', n.ok && reports(small.stdout) === 2, n, small);
  const f = instrument('report var r: f64; var x: f64 = -6.5; var y: f64 = 4.0; wasm:opcode:nop:before { r = x % y; }',
    'imported.wasm', 'link=import');
  const remainder = runNode('imported.wasm');
  check('no memory: arithmetic', f.ok && remainder.stdout.endsWith(', -2.5e0\n'), f, remainder);
}

// The report of a start function is written while the program is being instantiated.
function testStart() {
  assemble('app.wasm', '(module (func $f nop) (start $f))');
  const r = instrument('wasm:opcode:nop:before { report var n: u8; n++; }', 'imported.wasm', 'link=import');
  const out = runNode('imported.wasm');
  check('start function', r.ok && reports(out.stdout) === 2, r, out);
}

function testNothingToReport() {
  assemble('app.wasm', PROGRAM);
  const r = instrument('wasm:opcode:br_if:before { unshared var n: u8; n++; }', 'imported.wasm', 'link=import');
  check('nothing to report', r.ok && imports('imported.wasm') === '', r);
  check('nothing to report: runs', runNode('imported.wasm').stdout === 'hello\n');
}

function testRefused() {
  assemble('app.wasm', PROGRAM);
  for (const [option, tag] of [['host=js', 'cannot-host'], ['host=none', 'cannot-host'], ['storage=memory', 'cannot-store']]) {
    const r = instrument(HOTNESS, 'refused.wasm', 'link=import', option);
    check(`refused: ${option}`, !r.ok && r.messages.includes(tag) && r.messages.includes(`--${option}`) &&
      r.messages.includes('--link=merge') && !existsSync(path('refused.wasm')), r);
  }
  const long = instrument(HOTNESS, 'refused.wasm', 'link=import', `report=${'x'.repeat(1001)}`);
  check('refused: long path', !long.ok && long.messages.includes('1000 bytes'), long);
}

// ---- the runtime by itself ----

function testRuntime() {
  const written = { 1: '', 2: '' };
  let memory = null;
  const wasi = { fd_write(fd, iov, count, result) {
    const view = new DataView(memory.buffer), ptr = view.getUint32(iov, true), len = view.getUint32(iov + 4, true);
    written[fd] += Buffer.from(memory.buffer, ptr, len).toString();
    view.setUint32(result, len, true);
    return 0;
  }, fd_prestat_get: () => 8, path_open: () => 44, fd_close: () => 0, clock_time_get: () => 0, proc_exit: () => 0 };
  const module = new WebAssembly.Module(readFileSync(path('runtime.wasm')));
  const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi });
  memory = exports.memory;
  const said = () => { const text = written[2]; written[2] = ''; return text; };
  const missing = ['close', 'memory', 'open', 'put32', 'put64'].filter((name) => !(name in exports));
  check('runtime: exports', missing.length === 0, missing);
  check('runtime: imports only WASI', WebAssembly.Module.imports(module).every((i) => i.module === 'wasi_snapshot_preview1'));

  exports.close();
  exports.put32(1);
  exports.put64(1n);
  check('runtime: nothing opened', said() === '');
  exports.open(0xffffffff, 0xffffffff);
  check('runtime: too large', said().includes('not enough memory'));
  exports.put64(1n);
  exports.close();
  check('runtime: too large, closed', said() === '');
  exports.open(64, 8);
  for (let i = 0; i < 8; i++) exports.put64(0n);
  exports.close();
  check('runtime: incomplete', said().includes('incomplete'));
  exports.open(69, 12);
  for (let i = 0; i < 20; i++) exports.put64(0x3fn);
  exports.put32(0);
  exports.put32(0);
  exports.close();
  check('runtime: another version', said().includes('another version'));
  exports.open(8, 0);
  exports.put64(1n);
  exports.close();
  check('runtime: no image', said().includes('another version'));
  check('runtime: nothing printed', written[1] === '');

  // Two programs share it.
  assemble('app.wasm', '(module (func (export "main") nop))');
  instrument('wasm:opcode:nop:before { report var n: u8; n++; }', 'imported.wasm', 'link=import');
  const program = new WebAssembly.Module(readFileSync(path('imported.wasm')));
  const [a, b] = [0, 1].map(() => new WebAssembly.Instance(program, { [RUNTIME]: exports }).exports);
  const row = (n) => `4, memaddr, n, u8, i32, script0, main, 0, 1, 0_wasm:opcode:nop:before, ${n}\n`;
  for (const [which, n] of [[a, 1], [a, 2], [b, 1], [a, 3]]) {
    written[1] = '';
    which.main();
    check(`runtime: two programs, ${n}`, written[1].endsWith(row(n)) && reports(written[1]) === 1, written[1]);
  }

  // Large reports make it grow.
  const pages = () => memory.buffer.byteLength / 65536, before = pages();
  exports.open(0, 10 << 20);
  exports.close();
  check('runtime: grows', pages() >= before + 160 && pages() < before + 320 && said().includes('incomplete'), before, pages());
  const grown = pages();
  for (let i = 0; i < 100; i++) exports.open(1000 * i, 10 << 19);
  check('runtime: keeps to that', pages() === grown, grown, pages());
}

try {
  execFileSync(link, ['--runtime', path('runtime.wasm')]);
  copyFileSync(path('runtime.wasm'), path('whammc-runtime.wasm'));
  if (!python) console.log('skipped: wasmtime');
  testHotness();
  testKinds();
  testScalarsOnly();
  testExit();
  testPlaces();
  testMany();
  testForeignMemory();
  testStart();
  testNothingToReport();
  testRefused();
  testRuntime();
} finally {
  rmSync(work, { recursive: true });
}
finish();
