// Runs a program that Wasabi has instrumented, with an analysis that does what a monitor of ours does, as far as its hooks allow, and
// writes its CPU time in milliseconds to a file, as ../time.mjs. usage: node wasabi-time.mjs MONITOR RESULT-FILE MODULE.wasm [ARGUMENT...]
import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { WASI } from 'node:wasi';

const [monitor, result, path, ...args] = process.argv.slice(2);
const MERGED = { i8x16: 'simd', i16x8: 'simd', i32x4: 'simd', i64x2: 'simd', f32x4: 'simd', f64x2: 'simd', v128: 'simd' };

/** An analysis in which each instruction calls count(location, class). */
function eachInstruction(count) {
  const kind = op => MERGED[op.slice(0, op.indexOf('.'))] ?? 'arith';
  return {
    nop: at => count(at, 'misc'), unreachable: at => count(at, 'control'), if_: at => count(at, 'control'), br: at => count(at, 'control'),
    br_if: at => count(at, 'control'), br_table: at => count(at, 'control'), drop: at => count(at, 'misc'), select: at => count(at, 'misc'),
    begin: (at, type) => { if (type === 'block' || type === 'loop') count(at, 'control'); }, end: at => count(at, 'control'),
    call_pre: at => count(at, 'control'), return_: at => count(at, 'control'), const_: at => count(at, 'const'),
    unary: (at, op) => count(at, kind(op)), binary: (at, op) => count(at, kind(op)), load: at => count(at, 'load'), store: at => count(at, 'store'),
    memory_size: at => count(at, 'memory'), memory_grow: at => count(at, 'memory'), local: at => count(at, 'local'), global: at => count(at, 'global'),
  };
}

/** A number for each key, from 0. */
function makeTable() {
  const numbers = new Map();
  return { numbers, step: key => { numbers.set(key, (numbers.get(key) ?? 0) + 1); } };
}

const place = ({ func, instr }) => func * 0x100000 + instr;

const ANALYSES = {
  icount() {
    let all = 0;
    return { hooks: eachInstruction(() => { all++; }), total: () => all };
  },
  imix() {
    const counts = {};
    const count = (at, kind) => { counts[kind] = (counts[kind] ?? 0) + 1; };
    return { hooks: eachInstruction(count), total: () => counts };
  },
  hotness() {
    const { numbers, step } = makeTable();
    return { hooks: eachInstruction(at => step(place(at))), total: () => numbers.size };
  },
  branches() {
    const { numbers, step } = makeTable();
    const note = (at, taken) => step(2 * place(at) + (taken ? 1 : 0));
    return { hooks: { if_: note, br_if: (at, target, taken) => note(at, taken),
      br_table: (at, table, otherwise, index) => note(at, index < table.length) }, total: () => numbers.size };
  },
  // As examples/libs/cache.c: 64 sets of 8 lines of 64 bytes, of which the oldest is replaced.
  cache_sim() {
    const lines = new Int32Array(512).fill(-1), used = new Float64Array(512), { numbers, step } = makeTable();
    let now = 0;
    const touch = line => {
      let oldest = line % 64 * 8;
      now++;
      for (let i = oldest, end = i + 8; i < end; i++) {
        if (lines[i] === line) {
          used[i] = now;
          return true;
        }
        if (used[i] < used[oldest]) oldest = i;
      }
      lines[oldest] = line;
      used[oldest] = now;
      return false;
    };
    const size = op => Number(/(?:load|store)(\d+)/.exec(op)?.[1] ?? /\d+/.exec(op)[0]) / 8;
    const access = (at, op, { addr, offset }) => {
      const first = addr + offset, last = first + size(op) - 1;
      for (let line = Math.floor(first / 64); line <= Math.floor(last / 64); line++) step(2 * place(at) + (touch(line) ? 1 : 0));
    };
    return { hooks: { load: access, store: access }, total: () => numbers.size };
  },
};

const wasi = new WASI({ version: 'preview1', args: [path, ...args], env: {} });
const wasabi = createRequire(path)(path.replace(/wasm$/, 'wasabi.js'));
const { hooks, total } = ANALYSES[monitor]();
console.debug = () => {}; // it names the hooks that the analysis does not have
wasabi.analysis = hooks;
const bytes = readFileSync(path);
const before = process.cpuUsage();
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), wasi.getImportObject());
// Wasabi replaces the class that WASI looks for.
process.exitCode = wasi.start(instance);
const spent = process.cpuUsage(before);
process.stderr.write(`${JSON.stringify(total())}\n`);
appendFileSync(result, `${(spent.user + spent.system) / 1000}\n`);
