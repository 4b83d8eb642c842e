// Compares maps of instrumented programs with those of JavaScript; prints what differs.
// usage: node compare.mjs '{"key": [types], "value": type, "steps": N, "seed": N}' MODULE.wasm...
import { readFileSync } from 'node:fs';

const { key, value, steps, seed } = JSON.parse(process.argv[2]);
const OPERATIONS = 7;

let state = BigInt(seed) * 0x9e3779b97f4a7c15n + 88172645463325252n;
function random() {
  state = BigInt.asUintN(64, state ^ (state << 13n));
  state ^= state >> 7n;
  state = BigInt.asUintN(64, state ^ (state << 17n));
  return BigInt.asUintN(64, state * 2685821657736338717n);
}
const below = (n) => Number(random() % BigInt(n));
const pick = (list) => list[below(list.length)];

// ---- keys ----

const BASES = [0n, 0n, 1n << 16n, 5326072n, 0x7fffffc0n, 0xffffff00n, -64n, -(1n << 31n), 1n << 40n, (1n << 63n) - 500n, -(1n << 63n)];
const STRIDES = [1n, 1n, 2n, 4n, 8n, 8n, 8n, 12n, 16n, 24n, 40n, 63n, 64n, 100n, 4096n, 65536n, 65537n, 1n << 20n, 1n << 32n];

/** A way to make keys, for some time: up or down in steps, at random in a range, or in clusters. */
function keyMaker() {
  const base = pick(BASES) + BigInt(below(4)), stride = pick(STRIDES), range = pick([3, 60, 500, 4000, 30000]);
  let n = 0;
  return pick([
    () => base + stride * BigInt(n++ % range),
    () => base - stride * BigInt(n++ % range),
    () => base + stride * BigInt(below(range)),
    () => base + stride * BigInt((n++ * 173) % range),
    () => base + BigInt(below(range)) * 1024n + pick([0n, 1n, 4n, 8n, 33n]),
    () => random() >> BigInt(below(64)),
  ]);
}

/** Calls back with the number of an operation, a key, and a number for the rest. */
function* operations() {
  for (let done = 0; done < steps;) {
    const make = keyMaker(), times = 1 + below(steps / 8), usual = below(OPERATIONS), rest = random();
    for (let i = 0; i < times && done < steps; i++, done++)
      yield [below(3) ? usual : below(OPERATIONS), BigInt.asIntN(64, make()), BigInt.asIntN(64, below(4) ? rest : random())];
  }
}

// ---- the model ----

const bits = (type) => (type === 'bool' ? 1 : Number(type.slice(1)));
const as = (type, n) => (type[0] === 'i' ? BigInt.asIntN(bits(type), n) : BigInt.asUintN(bits(type), n));

function fieldOf(i, local0, local1) {
  const type = key[i], last = i === key.length - 1 || (i === key.length - 2 && key.length > 1);
  if (type === 'bool') return (local1 >> BigInt(i)) & 1n;
  if (last && key.length === 1) return as(type, local0);
  return as(type, (local0 >> (last ? 0n : 40n)) ^ (local1 >> (last ? 60n : 56n)));
}

const model = new Map();
let seen = 0n;
function apply(operation, local0, local1) {
  const fields = key.map((_, i) => fieldOf(i, local0, local1)), name = fields.join();
  const entry = model.get(name), now = entry ? entry.value : 0n;
  if (operation === 3) {
    seen = BigInt.asIntN(64, seen + BigInt.asIntN(64, now));
    return;
  }
  if (operation > 3) {
    if (operation === 4) model.delete(name);
    if (operation === 6 && local1 % 500n === 0n) model.clear();
    seen = BigInt.asIntN(64, seen + (operation === 5 ? BigInt(Boolean(entry)) : operation === 6 ? BigInt(model.size) : 0n));
    return;
  }
  const next = as(value, operation === 0 ? now + 1n : operation === 1 ? now - 1n : local1);
  if (entry) entry.value = next;
  else model.set(name, { fields, value: next });
}

function compareFields(a, b) {
  for (let i = 0; i < a.fields.length; i++)
    if (a.fields[i] !== b.fields[i]) return a.fields[i] < b.fields[i] ? -1 : 1;
  return 0;
}

function expected() {
  const text = (type, n) => (type === 'bool' ? String(n === 1n) : String(n));
  const all = [...model.values()].sort(compareFields).map(({ fields, value: v }) => {
    const texts = fields.map((n, i) => text(key[i], n));
    return `${key.length > 1 ? `(${texts.join(',')})` : texts[0]}->${v}`;
  });
  return all.length ? all.join(';') : 'empty map';
}

// ---- the programs ----

function start(path) {
  const chunks = [];
  let exports;
  function fd_write(fd, vectors, count, written) {
    const { buffer } = exports.memory, view = new DataView(buffer);
    let all = 0;
    for (let at = vectors; at < vectors + 8 * count; at += 8) {
      const length = view.getUint32(at + 4, true);
      chunks.push(Buffer.from(new Uint8Array(buffer, view.getUint32(at, true), length)));
      all += length;
    }
    view.setUint32(written, all, true);
    return 0;
  }
  const wasi = { fd_write, clock_time_get: () => 0 };
  ({ exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), { wasi_snapshot_preview1: wasi }));
  function report() {
    exports._start();
    return Buffer.concat(chunks).toString();
  }
  return { path, report, functions: Array.from({ length: OPERATIONS }, (_, k) => exports[`f${k}`]) };
}

const programs = process.argv.slice(3).map(start);
for (const [operation, local0, local1] of operations()) {
  apply(operation, local0, local1);
  for (const program of programs) program.functions[operation](local0, local1);
}

function difference(found, wanted) {
  let at = 0;
  while (at < found.length && found[at] === wanted[at]) at++;
  return `at ${at} of ${wanted.length}: ${JSON.stringify(found.slice(Math.max(0, at - 60), at + 60))}, expected ${JSON.stringify(wanted.slice(Math.max(0, at - 60), at + 60))}`;
}

const wanted = expected();
for (const program of programs) {
  const rows = program.report().split('\n'), last = (name) => (rows.find((row) => row.includes(`, ${name}, `)) ?? '').split(', , , , , ')[1] ?? '';
  if (last('m') !== wanted) console.log(`${program.path}: m ${difference(last('m'), wanted)}`);
  if (last('seen') !== String(seen)) console.log(`${program.path}: seen ${last('seen')}, expected ${seen}`);
}
