// Tests the compiled runtimes that have strings, maps and text (*_values.wasm and import.wasm):
//   node test_values.mjs DUMP_IMAGE DIRECTORY-OF-WASM VALUES.H
// Reports must be what the library renders natively from the same memory; maps are compared with JavaScript's.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sectionsOf } from './sections.mjs';
import { check, finish } from './check.mjs';

const [dump, wasmDir, header] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'whammc-values-'));
// What values.h says.
const text = readFileSync(header, 'utf8').replace(/#ifndef __wasm__[^]*?#endif/g, '');
const constant = (name) => Number(new RegExp(`\\b${name} = (\\d+)`).exec(text)[1]);
const STATE = constant('VALUES_STATE'), STACK = constant('VALUES_STACK'), START = constant('VALUES_START'), MAP_HEADER = constant('VALUES_MAP_HEADER');
const tree = readFileSync(join(dirname(header), 'tree.h'), 'utf8').replace(/---- for print.c ----[^]*/, '');
const declared = [...text.matchAll(/^\w+ values_(\w+)\(/gm), ...tree.matchAll(/^\w+ (tree_\w+)\(/gm)].map((m) => m[1]);
const forImports = (name) => /^(load|store)\d/.test(name);
const REPORT_U32 = 4, REPORT_STR = 11;

const HOSTS = ['js', 'none', 'wasi', 'wasi_file', 'borrow', 'borrow_file'];
const bytesOf = (host) => readFileSync(join(wasmDir, `${host}.wasm`));
const modules = Object.fromEntries([...HOSTS.map((h) => `${h}_values`), 'import'].map((h) => [h, new WebAssembly.Module(bytesOf(h))]));

// ---- a memory as the compiler lays it out ----

// `memory`: bytes from address 0 on, or nothing; after them image and values, then the heap.
function layOut({ memory = new Uint8Array(START), image = new Uint8Array(0), values = new Uint8Array(0), maps = 4, maximum }) {
  const align = (n) => (n + 7) & ~7;
  const mapsAt = align(memory.length), imageAt = align(mapsAt + maps * MAP_HEADER), valuesAt = align(imageAt + image.length);
  const heap = align(valuesAt + values.length);
  const wasm = new WebAssembly.Memory({ initial: Math.ceil(heap / 65536), maximum });
  const all = new Uint8Array(wasm.buffer), view = new DataView(wasm.buffer);
  all.set(memory);
  all.set(image, imageAt);
  all.set(values, valuesAt);
  const fixed = memory.length > START; // it has maps already
  const fields = [heap, fixed ? view.getUint32(STATE + 4, true) : mapsAt, fixed ? view.getUint32(STATE + 8, true) : maps,
    image.length ? imageAt : 0, image.length];
  fields.forEach((v, i) => view.setUint32(STATE + 4 * i, v, true));
  return { memory: wasm, image: imageAt, size: image.length, values: valuesAt };
}

function snapshot(name) {
  const [memory, image, values] = ['memory', 'image', 'values'].map((ext) => readFileSync(join(work, `${name}.${ext}`)));
  return { ...layOut({ memory, image, values }), expected: readFileSync(join(work, `${name}.expected`)) };
}

// Where a host's output goes: by descriptor, 'js' and 'none' for those; and what was opened and closed.
function instantiate(host, p, { canOpen = true } = {}) {
  const log = { out: {}, ends: 0, opened: 0, closed: 0 };
  const app = host.startsWith('borrow') ? new WebAssembly.Memory({ initial: 1 }) : p.memory;
  const its = () => new Uint8Array(app.buffer), own = () => new Uint8Array(p.memory.buffer), view = () => new DataView(app.buffer);
  if (app !== p.memory) its().fill(0x5a);
  const put = (fd, memory, ptr, len) => (log.out[fd] ??= []).push(Buffer.from(new Uint8Array(memory.buffer, ptr, len)));
  const stack = new WebAssembly.Global({ value: 'i32', mutable: true }, STACK);
  const instance = new WebAssembly.Instance(modules[`${host}_values`], {
    env: { memory: p.memory, __stack_pointer: stack, __memory_base: 0 },
    whammc: { write: (ptr, len) => { if (len) put('js', p.memory, ptr, len); else log.ends++; }, now: () => 1234.5, print: () => 1, exit() {} },
    app: { copy_in: (d, s, n) => own().set(its().subarray(s, s + n), d), copy_out: (d, s, n) => its().set(own().subarray(s, s + n), d) },
    wasi_snapshot_preview1: {
      proc_exit() {},
      fd_write(fd, iovs, count, written) {
        const ptr = view().getUint32(iovs, true), len = view().getUint32(iovs + 4, true);
        put(fd, app, ptr, len);
        view().setUint32(written, len, true);
        return 0;
      },
      fd_prestat_get: (fd) => (fd > 3 ? 8 : 0),
      path_open(dir, look, path, len, oflags, rights, inherited, fdflags, result) {
        if (!canOpen) return 44;
        log.opened++;
        view().setUint32(result, 40, true);
        return 0;
      },
      fd_close() { log.closed++; return 0; },
      clock_time_get(clock, precision, at) {
        if (clock !== 1) return 28;
        view().setBigUint64(at, 987654321012345678n, true);
        return 0;
      },
    },
  });
  const f = Object.fromEntries(Object.entries(instance.exports).map(([name, fn]) => [name.replace('whammc_', ''), fn]));
  const output = (fd) => (host === 'none'
    ? Buffer.from(new Uint8Array(p.memory.buffer, f.report_ptr(), f.report_len())) : Buffer.concat(log.out[fd] ?? []));
  const clean = () => stack.value === STACK && (app === p.memory || its().every((b) => b === 0x5a));
  return { ...p, f, log, output, clean };
}

const destination = (host, fd) => (host === 'js' || host === 'none' ? host : fd);
const say = (r, s) => { for (const c of Buffer.from(s)) r.f.putc(c); };

// ---- the modules ----

function testShape() {
  check('values.h was read', declared.length > 40 && declared.includes('tree_store') && STACK === 49152, declared);
  for (const host of HOSTS) {
    const module = modules[`${host}_values`], bytes = bytesOf(`${host}_values`);
    const env = WebAssembly.Module.imports(module).filter((i) => i.module === 'env').map((i) => i.name);
    check(`${host}: imports of env: ${env}`, env.every((n) => ['memory', '__stack_pointer', '__memory_base'].includes(n)));
    const exported = WebAssembly.Module.exports(module).map((e) => e.name);
    const missing = declared.filter((n) => !forImports(n) && !exported.includes(`whammc_${n}`));
    check(`${host}: exports all of values.h and tree.h`, missing.length === 0, missing);
    check(`${host}: exports nothing else`, exported.every((n) => n.startsWith('whammc_report') || n === 'whammc_sum' || declared.includes(n.slice(7))), exported);
    const sections = sectionsOf(bytes);
    check(`${host}: no table, memory, start, element, data: ${sections}`, ![4, 5, 8, 9, 11, 12].some((s) => sections.includes(s)));
    check(`${host}: at most 48 KiB`, bytes.length <= 49152, bytes.length);
  }
  const exported = WebAssembly.Module.exports(modules.import).map((e) => e.name);
  const missing = [...declared, 'setup', 'setup_text', 'memory', 'open', 'close', 'put32', 'put64'].filter((n) => !exported.includes(n));
  check('import: exports all of values.h and tree.h', missing.length === 0, missing);
}

// ---- reports and text ----

function testReports(host) {
  for (const [name, fd] of [['values-csv', 1], ['values-json', 2], ['values-quoted', host.endsWith('_file') ? 40 : 2]]) {
    const r = instantiate(host, snapshot(name)), to = destination(host, fd);
    r.f.report(r.image, r.size, r.values);
    check(`${host} ${name}`, r.output(to).equals(r.expected) && r.clean());
    say(r, 'one\ntw');
    r.f.report(r.image, r.size, r.values);
    const gap = name === 'values-quoted' ? '\n' : ''; // in a file the report has no line end in front
    const both = Buffer.concat([r.expected, Buffer.from(`one\ntw${gap}`), r.expected]);
    check(`${host} ${name}: text comes in front`, r.output(to).equals(both) && r.clean(), r.output(to).toString().slice(-300));
    check(`${host} ${name}: files are closed`, r.log.opened === r.log.closed && (fd === 40) === (r.log.opened > 0), r.log.opened);
    if (host === 'js') check(`${host} ${name}: ends`, r.log.ends === 2);
    r.f.report(r.image, r.size, r.values);
    const expected = host === 'none' ? both : Buffer.concat([both, r.expected]); // a report replaces the one just before
    check(`${host} ${name}: again`, r.output(to).equals(expected));
  }
}

function testText(host) {
  for (const [name, fd, lines] of [['values-csv', 1, true], ['values-quoted', 40, false]]) {
    if (fd === 40 && !host.endsWith('_file')) continue;
    const r = instantiate(host, snapshot(name)), to = destination(host, fd), line = lines && to === fd;
    say(r, 'a line\nand ');
    if (host !== 'none') check(`${host} ${name}: lines`, r.output(to).toString() === (line ? 'a line\n' : ''), r.output(to).toString());
    r.f.putu8(300);
    r.f.puti64(-5n);
    r.f.putf64(0.5);
    r.f.putbool(0);
    r.f.print_map(1);
    r.f.flush();
    check(`${host} ${name}: flush`, r.output(to).toString() === 'a line\nand 44-5+5e-1falseempty map\n', r.output(to).toString());
    if (host === 'js') check(`${host}: text ends`, r.log.ends === 1);
    say(r, 'x'.repeat(10000));
    r.f.flush();
    check(`${host} ${name}: long text`, r.output(to).toString().endsWith(`map\n${'x'.repeat(10000)}`) && r.clean());
  }
  const lost = instantiate(host, snapshot('values-quoted'), { canOpen: false });
  say(lost, 'text\n');
  lost.f.flush();
  const got = lost.output(destination(host, 2)).toString();
  check(`${host}: no file`, got === (host.endsWith('_file') ? "whammc: cannot open 'report.out' for the report; it follows\ntext\n" : 'text\n'), got);
  const bare = instantiate(host, layOut({}));
  say(bare, 'text\n');
  bare.f.flush();
  check(`${host}: text without an image`, bare.output(destination(host, 2)).toString() === 'text\n');
}

function testClock(host) {
  const r = instantiate(host, layOut({}));
  const expected = { js: 1234500000n, none: 0n }[host] ?? 987654321012345678n;
  check(`${host}: clock`, r.f.now_ns() === expected && r.clean());
}

// ---- maps and strings ----

let seed = 12345;
const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;

// A map's type with these descriptions of key and value: its str object, in the memory that store8 reaches.
function makeString(f, store8, bytes) {
  const s = f.str_new(bytes.length);
  bytes.forEach((b, i) => store8(s + 4 + i, b));
  return f.str_intern(s);
}
const typeBytes = (keyLeaves, key, value) => [keyLeaves, 1, ...key, ...value, 1, 75, 1, 86];

// The same on memory that is seen and through an interface.
function testMaps(what, f, access, rounds) {
  const text = (s) => makeString(f, access.store8, [...Buffer.from(s)]);
  const numbers = makeString(f, access.store8, typeBytes(1, [REPORT_U32], [REPORT_U32]));
  const pairs = makeString(f, access.store8, typeBytes(2, [13, 2, REPORT_U32, REPORT_U32], [REPORT_U32]));
  const words = makeString(f, access.store8, typeBytes(1, [REPORT_STR], [REPORT_U32]));
  const own = f.map_new(), model = [new Map(), new Map(), new Map()];
  let ok = own >= 4;
  for (let i = 0; i < rounds; i++) {
    const a = random(50000), b = random(50), which = i % 3, key = [a, `${a % 300},${b}`, `w${a % 5000}`][which];
    const at = which === 0 ? f.map_at1(0, numbers, BigInt(a)) : which === 1 ? f.map_at2(own, pairs, BigInt(a % 300), BigInt(b))
      : f.map_at1(3, words, BigInt(text(key)));
    ok &&= access.load32(at) === (model[which].get(key) ?? 0);
    access.store32(at, i);
    model[which].set(key, i);
  }
  check(`${what}: maps`, ok);
  ok = true;
  for (const [key, value] of model[0]) ok &&= access.load32(f.map_find1(0, numbers, BigInt(key))) === value;
  for (const [key, value] of model[2]) ok &&= access.load32(f.map_find1(3, words, BigInt(text(key)))) === value;
  for (const [key, value] of model[1]) {
    f.key(0, BigInt(key.split(',')[0]));
    f.key(1, BigInt(key.split(',')[1]));
    ok &&= access.load32(f.map_find(own, pairs)) === value;
  }
  ok &&= access.load32(f.map_find1(0, numbers, 999999n)) === 0;
  check(`${what}: finds all`, ok);
  const hello = text('hello, world');
  check(`${what}: strings`, f.str_eq(hello, text('hello, world')) === 1 && f.str_starts(hello, text('hell')) === 1 &&
    f.str_ends(hello, text('world')) === 1 && f.str_contains(hello, text('o, w')) === 1 && f.str_contains(hello, text('wow')) === 0 && text('') === 0);
  const block = f.mem_alloc(100000);
  f.mem_free(block);
  check(`${what}: memory`, block % 8 === 0 && f.mem_alloc(99000) === block && f.mem_alloc(0xfffffff0) === 0);
  f.map_free(own);
  check(`${what}: ids are used again`, f.map_new() === own);
}

function testMapsOf(host) {
  const r = instantiate(host, layOut({}));
  const view = () => new DataView(r.memory.buffer);
  testMaps(host, r.f, { store8: (at, v) => view().setUint8(at, v), load32: (at) => view().getUint32(at, true),
    store32: (at, v) => view().setUint32(at, v, true) }, host === 'js' ? 300000 : 3000);
  const type = makeString(r.f, (at, v) => view().setUint8(at, v), typeBytes(1, [REPORT_U32], [REPORT_STR]));
  let trapped = false;
  try { r.f.map_find1(1, type, 1n); } catch (e) { trapped = e instanceof WebAssembly.RuntimeError; }
  check(`${host}: a missing string traps`, trapped);
}

// Enters and leaves at random, several activations at once now and then; `printed` gives what the map shows.
function testTree(what, f, map, printed) {
  const nodes = [{ parent: 0, calls: 0n, ns: 0n, depth: 0 }], children = new Map(), stack = [];
  let current = 0, now = 5n, since = 0n;
  const spend = () => { nodes[current].ns += now - since; since = now; };
  const node = (fn) => {
    const key = `${current} ${fn}`;
    if (!children.has(key)) children.set(key, nodes.push({ parent: current, fn, calls: 0n, ns: 0n, depth: nodes[current].depth + 1 }) - 1);
    return children.get(key);
  };
  f.tree_limit(9);
  let ok = f.tree_lost() === 0n;
  for (let i = 0; i < 20000; i++) {
    const timed = random(3) > 0;
    if (timed) { now += BigInt(random(1000)); spend(); }
    if (stack.length < 12 && random(2)) {
      const fn = random(i < 5000 ? 5 : 30), above = current, deep = nodes[current].depth >= 9;
      stack.push({ handle: timed ? f.tree_enter(fn, now) : f.tree_enter_untimed(fn), above });
      ok &&= stack.at(-1).handle !== 0;
      if (!deep || nodes[current].fn !== 4294967295) current = node(deep ? 4294967295 : fn);
      nodes[current].calls++;
    } else if (stack.length) {
      stack.length -= random(8) ? 0 : random(stack.length);
      const { handle, above } = stack.pop();
      if (timed) f.tree_leave(handle, now); else f.tree_leave_untimed(handle);
      current = above;
    }
  }
  now += 77n;
  spend();
  f.tree_store(map, now);
  const wanted = nodes.map((n, i) => `${i}->(${n.parent},${n.fn},${n.calls},${n.ns})`).slice(1).join(';');
  check(`${what}: tree`, ok && nodes.length > 3000 && printed() === `${wanted}\n`, nodes.length, ok);
}

function testTreeOf(host) {
  const r = instantiate(host, layOut({}));
  testTree(host, r.f, 2, () => {
    r.f.print_map(2);
    r.f.flush();
    return r.output(destination(host, 2)).toString();
  });
  // In a memory that cannot grow, calls are counted or lost, and nothing traps.
  const { f } = instantiate(host, layOut({ maximum: 12 }));
  for (let i = 0; i < 50000; i++) f.tree_leave_untimed(f.tree_enter_untimed(i));
  const lost = Number(f.tree_lost());
  for (let i = 0; i < 50000; i++) f.tree_leave_untimed(f.tree_enter_untimed(i));
  check(`${host}: a tree without memory`, lost > 30000 && lost < 45000 && Number(f.tree_lost()) === 2 * lost, lost);
}

// ---- the module that programs import ----

function testImport() {
  const written = {};
  let exports = null;
  const memory = () => exports.memory.buffer;
  const wasi = { fd_write(fd, iov, count, result) {
    const view = new DataView(memory()), ptr = view.getUint32(iov, true), len = view.getUint32(iov + 4, true);
    written[fd] = (written[fd] ?? '') + Buffer.from(memory(), ptr, len).toString();
    view.setUint32(result, len, true);
    return 0;
  }, proc_exit() {}, fd_prestat_get: () => 8, path_open: () => 44, fd_close: () => 0, clock_time_get: (c, p, at) => { new DataView(memory()).setBigUint64(at, 77n, true); return 0; } };
  ({ exports } = new WebAssembly.Instance(modules.import, { wasi_snapshot_preview1: wasi }));
  const f = exports;
  check('import: address 0 is the empty string', f.load32(0) === 0 && f.load64(8) === 0n);
  f.setup(4);
  testMaps('import', f, f, 30000);
  check('import: clock', f.now_ns() === 77n);

  const shown = f.map_new();
  testTree('import', f, shown, () => {
    f.print_map(shown);
    const printed = written[2];
    written[2] = '';
    return printed;
  });

  // Text goes to standard error unless there is something better.
  say({ f }, 'early\n');
  check('import: text at first', written[2] === 'early\n', written);
  const hand = (image, values) => {
    f.open(image.length, values.length);
    const whole = Buffer.alloc((image.length + 7) & ~7);
    image.copy(whole);
    for (let i = 0; i < whole.length; i += 8) f.put64(whole.readBigInt64LE(i));
    for (let i = 0; i < values.length; i += 4) f.put32(values.readInt32LE(i));
  };
  const empty = readFileSync(join(work, 'empty.image'));
  hand(empty, Buffer.alloc(0));
  f.setup_text();
  say({ f }, 'late');
  f.print_map(1);
  check('import: text where the image says', written[1] === 'lateempty map\n', written);

  // The report of a string and a map, in a snapshot's image but with values of our own.
  const image = readFileSync(join(work, 'values-csv.image')), values = Buffer.alloc(readFileSync(join(work, 'values-csv.values')).length);
  const type = makeString(f, f.store8, typeBytes(1, [REPORT_U32], [REPORT_U32]));
  for (const k of [30n, 10n, 20n]) f.store32(f.map_at1(2, type, k), Number(k) + 1);
  values.writeUInt32LE(makeString(f, f.store8, [...Buffer.from('a str')]), 0);
  values.writeUInt32LE(2, values.length - 8);
  for (let i = 0; i < 2; i++) {
    written[1] = '';
    hand(image, values);
    f.close();
    const lines = written[1].split('\n');
    check('import: report', lines[3]?.endsWith(', #0, 0, 0, 1_wasm:opcode:call:before, a str') &&
      lines.at(-2) === '2, map_id, m, map<K,V>, i32, script0, , , , , 10->11;20->21;30->31', lines.at(-2), lines[3]);
  }
}

try {
  execFileSync(dump, [work], { stdio: 'inherit' });
  testShape();
  for (const host of HOSTS) {
    testReports(host);
    testText(host);
    testClock(host);
    testMapsOf(host);
    testTreeOf(host);
  }
  testImport();
} finally {
  rmSync(work, { recursive: true });
}
finish();
