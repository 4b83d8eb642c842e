// Tests what the hosts do after traps (stdlib/host/traps.js and its users) on modules written by hand. Needs wat2wasm.
//   node test_traps.mjs SOURCE-DIR [PYTHON-WITH-WASMTIME]
// The programs write down what they are told to put right; that is their report.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { check, finish } from './check.mjs';
import { makeClassic } from './classic.mjs';

const source = resolve(process.argv[2] ?? '.'), python = process.argv[3];
const work = mkdtempSync(join(tmpdir(), 'whammc-traps-'));
const hostFile = name => join(source, 'stdlib/host', name), hostUrl = name => pathToFileURL(hostFile(name)).href;
const { findPoint, topFrame } = await import(hostUrl('traps.js'));
const { createHost, patch } = await import(hostUrl('whammc.js'));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// ---- sections ----

function unsigned(value) {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push(rest % 128 + 128);
  }
}

function signed(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest >= -64n && rest < 64n) return [...bytes, Number(rest & 127n)];
    bytes.push(Number(rest & 127n) + 128);
  }
}

// functions: [{ body, fid, segments: [{ kind, to, variables, runs: [{ at, last, pc, amounts }] }] }], with offsets of the file; of runs
// of one instruction, `last` may be left out. `to` is relative to the body of the original; none = up to its end.
function encode(functions) {
  const bytes = [2];
  let body = 0, fid = 0;
  for (const f of functions) {
    bytes.push(...unsigned(f.body - body), ...unsigned(f.fid - fid), ...unsigned(f.segments.length));
    body = f.body;
    fid = f.fid;
    let before = body, farther = 0;
    for (const { kind, to, variables = [], runs } of f.segments) {
      bytes.push(...unsigned(4 * runs.length + (variables.length ? 2 : 0) + (kind ? 1 : 0)));
      bytes.push(...[...kind ? [kind] : [], ...variables.length ? [variables.length, ...variables] : []].flatMap(unsigned));
      for (const { at, last = at, pc, amounts = [] } of runs) {
        const change = at - body - pc - farther;
        bytes.push(...unsigned(4 * (at - before) + (last > at ? 2 : 0) + (change ? 1 : 0)));
        if (change) bytes.push(...unsigned(change < 0 ? -2 * change - 1 : 2 * change));
        bytes.push(...last > at ? unsigned(last - at) : [], ...amounts.flatMap(signed));
        before = last;
        farther += change;
      }
      bytes.push(...unsigned(to === undefined ? 0 : to - 2 * (before - body - farther)));
    }
  }
  return Uint8Array.from(bytes);
}

function testSection() {
  const big = 2n ** 63n - 1n;
  const section = encode([
    { body: 70000, fid: 0, segments: [{ kind: 3, to: 9, runs: [{ at: 70002, last: 70004, pc: 1 }] }] },
    { body: 70300, fid: 200, segments: [
      { kind: 0, to: 300, variables: [0, 400], runs: [
        { at: 70310, last: 70312, pc: 10, amounts: [-1n, big] }, { at: 70330, pc: 14, amounts: [0n, -big - 1n] }] },
      { kind: 7, variables: [5], runs: [{ at: 70331, pc: 200, amounts: [64n] }, { at: 70332, pc: 201, amounts: [-64n] }] }] }]);
  const seen = offset => {
    const point = findPoint(section, offset);
    return point && [point.fid, point.from, point.to, point.kind, ...point.corrections.flatMap(c => [c.variable, String(c.amount)])];
  };
  const expected = { 70002: [0, 3, 9, 3], 70004: [0, 7, 9, 3],
    70310: [200, 21, 300, 0, 0, '-1', 400, String(big)], 70312: [200, 25, 300, 0, 0, '-1', 400, String(big)],
    70330: [200, 29, 300, 0, 0, '0', 400, String(-big - 1n)], 70331: [200, 401, 4294967295, 7, 5, '64'],
    70332: [200, 403, 4294967295, 7, 5, '-64'],
    70001: null, 70005: null, 70313: null, 70300: null, 70333: null, 5: null, 99999: null };
  for (const [offset, point] of Object.entries(expected)) check(`point ${offset}`, same(seen(+offset), point), seen(+offset));
  for (let length = 0; length < section.length; length++) {
    let result = 'nothing';
    try {
      result = findPoint(section.subarray(0, length), 70332) ?? 'nothing';
    } catch (error) {
      result = error instanceof RangeError ? 'nothing' : error;
    }
    check(`section cut off after ${length}`, result === 'nothing', result);
  }
  for (const [name, head] of [['unsigned', []], ['signed', [1, 0, 1, 4 | 2, 1, 1, 0]]]) { // one segment with one run, of one variable
    const long = new Uint8Array(1e6).fill(0x80);
    long.set([section[0], ...head]);
    let error = null;
    try {
      findPoint(long, 70332);
    } catch (thrown) {
      error = thrown;
    }
    check(`a number, ${name}, of a million bytes`, error instanceof RangeError, error);
  }
  check('a place that is lost', same(findPoint(section, 70299), { fid: 200, lost: true }), findPoint(section, 70299));
  check('another version', findPoint(Uint8Array.from([1, ...section.subarray(1)]), 70002) === null);
  check('no function', findPoint(encode([]), 1) === null);
}

function testFrames() {
  const url = 'http://user@host/a (b)/app.wasm?x=1';
  const stacks = {
    [`RuntimeError: unreachable\n    at wasm://wasm/1a2b:wasm-function[3]:0x5f\n    at x.js:1:2`]: ['wasm://wasm/1a2b', 3, 95],
    [`RuntimeError: unreachable\n    at f (wasm://wasm/app-1a2b:wasm-function[3]:0x5f)\n    at g (x.js:1:2)`]: ['wasm://wasm/app-1a2b', 3, 95],
    [`RuntimeError: unreachable\n    at a (b) c (http://h/a.wasm:wasm-function[0]:0x0)`]: ['http://h/a.wasm', 0, 0],
    [`RuntimeError: unreachable\n    at a.b.<computed> [as x] (wasm://wasm/1:wasm-function[12]:0xABCDEF)`.replace('ABCDEF', 'abcdef')]: ['wasm://wasm/1', 12, 0xabcdef],
    [`f@${url.replace(' (b)', '')}:wasm-function[7]:0x10\ng@x.js:1:2`]: ['host/a/app.wasm?x=1', 7, 16],
    [`wasm-function[7]@http://h/x.js line 3 > WebAssembly.Module:wasm-function[7]:0x10\n`]: ['http://h/x.js line 3 > WebAssembly.Module', 7, 16],
    'RuntimeError: x\n    at f (x.js:1:2)\n    at wasm://wasm/1:wasm-function[3]:0x5f': [undefined, undefined, undefined],
    'f@http://h/x.js:1:2\ng@http://h/a.wasm:wasm-function[7]:0x10': [undefined, undefined, undefined],
    '<?>.wasm-function[3]@[wasm code]\nf@x.js:1:2': null,
    'RuntimeError: unreachable': null,
    '': null,
  };
  for (const [stack, expected] of Object.entries(stacks)) {
    const frame = topFrame({ stack });
    check(`frame of ${stack}`, same(frame && [frame.module, frame.index, frame.offset], expected), frame);
  }
  check('stack that is none', topFrame({ stack: [] }) === null && topFrame({}) === null);
  check('stack that cannot be had', topFrame({ get stack() { throw new Error('no'); } }) === null);
}

// ---- programs ----

const DIV = 0x6d, LOAD = 0x28;

// Offsets of the bodies in the file.
function bodies(wasm) {
  let at = 8;
  const number = () => {
    let value = 0, scale = 1;
    for (;; scale *= 128) {
      const byte = wasm[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  for (;;) {
    const kind = wasm[at++], end = number() + at;
    if (kind !== 10) {
      at = end;
      continue;
    }
    return Array.from({ length: number() }, () => {
      const size = number(), start = at;
      at += size;
      return start;
    });
  }
}

// A program in which only div and load are places; the first also changes variable 2. A record of its report: four numbers
// as whammc:trapped gets them, or [-1, variable, low and high part of the amount]. There is room for `room` of them. With
// `main`, which calls something, it is a program for the runners, else it imports env.back. Ends with the bytes
// `more`; the section lacks the last `cut`.
function program({ host = 'js', section = true, room = 99, main = '', more = [], cut = 0 } = {}) {
  const keep = values => values.map((value, i) => `(i32.store offset=${4 * i} (global.get $next) ${value})`).join('\n') +
    '(global.set $next (i32.add (global.get $next) (i32.const 16)))';
  const parameters = [0, 1, 2, 3].map(i => `(local.get ${i})`);
  const text = `(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    ${main ? '(import "wasi_snapshot_preview1" "sched_yield" (func $back (result i32)))' : '(import "env" "back" (func $back (param i32)))'}
    ${host === 'js' ? '(import "whammc" "write" (func $write (param i32 i32)))' : ''}
    (memory $memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024)) (global $len (mut i32) (i32.const 0))
    (func $div (export "div") (param i32) (result i32) (i32.div_s (i32.const 5) (local.get 0)))
    (func $load (export "load") (param i32) (result i32) (i32.load (local.get 0)))
    (func $deep (export "deep") (param i32) (result i32)
      (if (result i32) (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1)))) (else (call $div (i32.const 0)))))
    (func $bad (export "bad") unreachable)
    (func (export "over") (call $over)) (func $over (call $over) (call $over))
    ${main ? `(func (export "main") ${main})` : '(func (export "through") (param i32) (call $back (local.get 0)))'}
    (func (export "exit") (call $exit (i32.const 3)))
    ${host === 'js' ? '(export "whammc:memory" (memory $memory))' : ''}
    (func (export "whammc:trapped") (param i32 i32 i32 i32) (result i32)
      ${keep(parameters)} (i32.le_u (global.get $next) (i32.const ${1024 + 16 * room})))
    (func (export "whammc:correct") (param i32 i64)
      (if (i32.eq (local.get 0) (i32.const -1)) (then unreachable))
      ${keep(['(i32.const -1)', parameters[0], '(i32.wrap_i64 (local.get 1))', '(i32.wrap_i64 (i64.shr_s (local.get 1) (i64.const 32)))'])})
    (func $flush (export "whammc:flush") ${host === 'js' ?
      '(call $write (i32.const 1024) (i32.sub (global.get $next) (i32.const 1024))) (call $write (i32.const 0) (i32.const 0))' : ''})
    ${host === 'none' ? `(func (export "whammc:report_ptr") (result i32) (i32.const 1024))
    (func (export "whammc:report_len") (result i32) (i32.sub (global.get $next) (i32.const 1024)))` : ''})`;
  writeFileSync(join(work, 'program.wat'), text);
  execFileSync('wat2wasm', [join(work, 'program.wat'), '-o', join(work, 'program.wasm')]);
  const wasm = readFileSync(join(work, 'program.wasm')), [div, load] = bodies(wasm);
  const contents = encode([
    { body: div, fid: 2, segments: [{ kind: 4, to: 12, variables: [2], runs: [{ at: wasm.indexOf(DIV, div), pc: 3, amounts: [-3n] }] }] },
    { body: load, fid: 3, segments: [{ kind: 0, to: 10, runs: [{ at: wasm.indexOf(LOAD, load), pc: 3 }] }] }]).subarray(0, cut ? -cut : undefined);
  const name = Buffer.from('whammc.traps'), size = unsigned(1 + name.length + contents.length);
  return section ? Buffer.concat([wasm, Buffer.from([0, ...size, name.length]), name, contents, Buffer.from(more)]) : wasm;
}

const DIVIDED = [[4, 2, 7, 12], [-1, 2, -3, -1]], LOADED = [[0, 3, 7, 10]];

// What a report says.
function records(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 16 }, (_, i) => [0, 4, 8, 12].map(k => view.getInt32(16 * i + k, true)));
}

const importsWith = back => ({ wasi_snapshot_preview1: { proc_exit(code) { throw { code }; } }, env: { back } });

// A program in this process: { exports, host, last() = the records of the last report, warnings }.
function load(options = {}, back = () => {}) {
  const state = { report: [] };
  const host = createHost({ onReport: (_, bytes) => { state.report = records(bytes); } });
  const module = new WebAssembly.Module(program(options));
  const instance = new WebAssembly.Instance(module, { ...importsWith(back), ...host.imports });
  host.attach(instance, options.unnamed ? undefined : module);
  return { exports: instance.exports, host, instance, module, last: () => (host.flush(), state.report) };
}

// Runs fn, which must throw; gives what is warned of meanwhile.
function throwing(fn) {
  const warnings = [], { warn } = console;
  console.warn = text => warnings.push(text);
  try {
    fn();
    warnings.push('nothing was thrown');
  } catch { // as it should be
  } finally {
    console.warn = warn;
  }
  return warnings;
}

function testHost() {
  for (const host of ['js', 'none']) {
    const cases = {
      'division by zero': [exports => exports.div(0), DIVIDED], 'load': [exports => exports.load(-1), LOADED],
      'the innermost frame': [exports => exports.deep(3), DIVIDED], 'another trap': [exports => exports.bad(), []],
      'stack overflow': [exports => exports.over(), []], 'exit': [exports => exports.exit(), []],
    };
    for (const [what, [fn, expected]] of Object.entries(cases)) {
      const one = load({ host }), warnings = throwing(() => one.host.run(fn));
      // the report of this program is empty then, as it never is of others
      const others = warnings.filter(text => host !== 'none' || expected.length || !text.includes('there is nothing to report'));
      check(`${host}: ${what}`, same(one.last(), expected) && others.length === 0, one.last(), warnings);
    }
  }
  const without = load({ section: false });
  check('no section', throwing(() => without.host.run(e => e.div(0))).length === 0 && same(without.last(), []));
  const unnamed = load({ unnamed: true });
  const warnings = [...throwing(() => unnamed.host.run(e => e.div(0))), ...throwing(() => unnamed.host.run(e => e.div(0)))];
  check('no module', warnings.length === 1 && warnings[0].includes('attach(instance, module)') && same(unnamed.last(), []), warnings);
}

function testManyTraps() {
  const one = load();
  for (const fn of [e => e.div(0), e => e.load(-1), e => e.bad(), e => e.div(0)]) throwing(() => one.host.run(fn));
  check('several traps', same(one.last(), [...DIVIDED, ...LOADED, ...DIVIDED]), one.last());
  const full = load({ room: 0 });
  const warnings = [...throwing(() => full.host.run(e => e.load(-1))), ...throwing(() => full.host.run(e => e.load(-1)))];
  check('no room', warnings.length === 1 && warnings[0].includes('more places'), warnings);
  let caught;
  const outer = load({}, () => {
    try {
      outer.host.run(e => e.div(0));
    } catch (error) {
      caught = error;
      throw error;
    }
  });
  throwing(() => outer.host.run(e => e.through(0)));
  check('one error through two calls', same(outer.last(), DIVIDED), outer.last());
  check('told again', !outer.host.trapped(caught) && same(outer.last(), DIVIDED), outer.last());
  const told = load();
  try {
    told.exports.load(-1);
  } catch (error) {
    check('told by the page', told.host.trapped(error) && same(told.last(), LOADED), told.last());
  }
}

// Errors of other programs, and of JavaScript, on the way.
function testOthers() {
  const inner = load({ more: [0, 2, 1, 120] }); // which has another section
  const outer = load({}, () => inner.exports.div(0));
  throwing(() => outer.host.run(e => e.through(0)));
  check('trap of another module', same(outer.last(), []), outer.last());
  const damaged = load({ cut: 2 });
  let error = null;
  try {
    damaged.host.run(e => e.load(-1));
  } catch (thrown) {
    error = thrown;
  }
  check('damaged section', error instanceof WebAssembly.RuntimeError && same(damaged.last(), []), error, damaged.last());
  const made = load({}, () => { throw new WebAssembly.RuntimeError('made'); });
  check('error made by JavaScript', throwing(() => made.host.run(e => e.through(0))).length === 0 && same(made.last(), []), made.last());
  const wrong = load({}, () => { throw new RangeError('wrong'); });
  throwing(() => wrong.host.run(e => e.through(0)));
  check('error of another kind', same(wrong.last(), []), wrong.last());
  const back = load({}, () => back.exports.load(-1));
  throwing(() => back.host.run(e => e.through(0)));
  check('called back', same(back.last(), LOADED), back.last());
}

function testStacks() {
  const limit = Error.stackTraceLimit, one = load();
  Error.stackTraceLimit = 1;
  throwing(() => one.host.run(e => e.deep(9)));
  check('stacks of one frame', same(one.last(), DIVIDED), one.last());
  Error.stackTraceLimit = 0;
  const warnings = throwing(() => one.host.run(e => e.div(0)));
  Error.stackTraceLimit = limit;
  check('stacks of no frame', warnings.length === 1 && warnings[0].includes('does not tell where') && same(one.last(), DIVIDED), warnings);
}

async function testPatch() {
  const source_ = `import { patch } from ${JSON.stringify(hostUrl('whammc.js'))};
    import { readFileSync, writeFileSync } from 'node:fs';
    patch({ onReport: (_, bytes) => writeFileSync(process.argv[3], bytes) });
    const imports = { wasi_snapshot_preview1: { proc_exit() {} }, env: { back() {} } };
    const made = await WebAssembly.instantiate(readFileSync(process.argv[2]), imports);
    HERE`;
  const ways = {
    'not caught': ['setTimeout(() => made.instance.exports.load(-1));', LOADED],
    'in a promise': ['Promise.resolve().then(() => made.instance.exports.div(0));', DIVIDED],
    'one of two': ['await WebAssembly.instantiate(made.module, imports); setTimeout(() => made.instance.exports.load(-1));', [], 'several instances'],
    'stack overflow': ['setTimeout(() => made.instance.exports.over());', []],
  };
  writeFileSync(join(work, 'patch.wasm'), program());
  for (const [what, [code, expected, warning]] of Object.entries(ways)) {
    writeFileSync(join(work, 'patch.mjs'), source_.replace('HERE', code));
    writeFileSync(join(work, 'report'), '');
    const { status, stderr } = spawnSync(process.execPath, [join(work, 'patch.mjs'), join(work, 'patch.wasm'), join(work, 'report')], { encoding: 'utf8' });
    const report = status ? records(readFileSync(join(work, 'report'))) : null;
    check(`patched: ${what}`, same(report, expected) && stderr.includes('whammc:') === Boolean(warning) && stderr.includes(warning ?? ''), report, stderr);
  }
}

async function testClassic() {
  const script = makeClassic(source);
  let report = [];
  const realm = vm.createContext({ TextDecoder, bytes: program(), keep: (_, bytes) => { report = records(bytes); }, console });
  vm.runInContext(script, realm);
  await vm.runInContext(`const host = whammc.createHost({ onReport: keep });
    WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: { proc_exit() {} }, env: { back() {} }, ...host.imports })
      .then(({ instance, module }) => { host.attach(instance, module); host.run(exports => exports.div(0)); })`, realm).catch(() => {});
  check('classic script', same(report, DIVIDED), report);
}

function testRunners() {
  const mains = { 'division by zero': ['(drop (call $div (i32.const 0)))', DIVIDED], 'load': ['(drop (call $load (i32.const -1)))', LOADED],
    'the innermost frame': ['(drop (call $deep (i32.const 2)))', DIVIDED], 'another trap': ['(call $bad)', []], 'stack overflow': ['(call $over)', []] };
  const runners = [['node', process.execPath, hostFile('run-node.mjs')], ...(python ? [['wasmtime', python, hostFile('run-wasmtime.py')]] : [])];
  for (const [name, command, runner] of runners)
    for (const host of ['js', 'none'])
      for (const [what, [main, expected]] of Object.entries(mains)) {
        writeFileSync(join(work, 'run.wasm'), program({ host, main }));
        const { status, stderr } = spawnSync(command, [runner, 'run.wasm', 'report', 'prog'], { cwd: work, encoding: 'utf8' });
        const report = records(readFileSync(join(work, 'report')));
        check(`${name}, ${host}: ${what}`, status === 134 && same(report, expected) && !stderr.includes('whammc:'), status, report, stderr);
      }
  if (!python) console.log('skipped: wasmtime runner');
}

try {
  testSection();
  testFrames();
  testHost();
  testManyTraps();
  testOthers();
  testStacks();
  await testPatch();
  await testClassic();
  testRunners();
} finally {
  rmSync(work, { recursive: true });
}
finish();
