// Runs each compiled report runtime on the images of dump_image and compares with the native rendering:
// node test_runtime.mjs DUMP_IMAGE DIRECTORY-OF-WASM. The hosts here are made by hand, so that partial
// writes, failing calls and what happens to the borrowed memory can be seen.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sectionsOf } from './sections.mjs';
import { check, finish } from './check.mjs';

const [dump, wasmDir] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'whammc-runtime-'));
const STACK_BASE = 65536 + 4096, STACK = 16384;
const VALUES = 64, DERIVED = 88; // FORMAT_VALUES, FORMAT_DERIVED

// A memory with the runtime's stack and the image somewhere after the first page, all other bytes marked.
function place(name) {
  const image = readFileSync(join(work, `${name}.image`));
  const values = readFileSync(join(work, `${name}.values`));
  const at = STACK_BASE + STACK, valuesAt = (at + image.length + 7) & ~7;
  const end = valuesAt + values.length;
  const memory = new WebAssembly.Memory({ initial: Math.ceil(end / 65536) + 1 });
  const bytes = new Uint8Array(memory.buffer).fill(0xa5);
  bytes.set(image, at);
  bytes.set(values, valuesAt);
  const before = bytes.slice();
  const derived = image.readUInt32LE(DERIVED) * 8; // words at the end of the values, which are computed
  return { memory, image: at, size: image.length, values: valuesAt, derived: [end - derived, end], before,
    expected: readFileSync(join(work, `${name}.expected`)) };
}

// Nothing but the stack and derived words (or `except`) has changed.
function untouched(p, [from, to] = p.derived) {
  const now = new Uint8Array(p.memory.buffer);
  for (let i = 0; i < p.before.length; i++)
    if (now[i] !== p.before[i] && !(i >= STACK_BASE && i < STACK_BASE + STACK) && !(i >= from && i < to))
      return false;
  return true;
}

const modules = {};
for (const host of ['js', 'none', 'wasi', 'wasi_file', 'borrow', 'borrow_file'])
  modules[host] = new WebAssembly.Module(readFileSync(join(wasmDir, `${host}.wasm`)));

function instantiate(host, p, imports) {
  const stack = new WebAssembly.Global({ value: 'i32', mutable: true }, STACK_BASE + STACK);
  const env = { memory: p.memory, __stack_pointer: stack, __memory_base: 0 };
  const instance = new WebAssembly.Instance(modules[host], { env, ...imports });
  return { report: () => {
    instance.exports.whammc_report(p.image, p.size, p.values);
    check(`${host}: stack pointer is back`, stack.value === STACK_BASE + STACK);
  }, exports: instance.exports };
}

// Sums may be asked for while a report is made: they leave the stack, and all memory, alone.
function testSum(host) {
  const memory = new WebAssembly.Memory({ initial: 1 }), view = new DataView(memory.buffer);
  const parts = [0x01, 0x1f, 0x00, 0x18], words = 64; // 1 * counter 0, -4 * counter 2, 12 * counter 3
  view.setUint32(8, parts.length, true);
  new Uint8Array(memory.buffer).set(parts, 12);
  [1000n, 7n, 100n, 3n].forEach((v, i) => view.setBigUint64(words + 8 * i, v, true));
  const before = Buffer.from(new Uint8Array(memory.buffer)), p = { memory };
  const nothing = new Proxy({}, { get: () => () => 0 });
  const { exports } = instantiate(host, p, { whammc: nothing, wasi_snapshot_preview1: nothing, app: nothing });
  check(`${host}: sum`, exports.whammc_sum(8, words) === 1000n - 400n + 36n, exports.whammc_sum(8, words));
  check(`${host}: sum changes nothing`, before.equals(Buffer.from(new Uint8Array(memory.buffer))));
}

// A WASI whose memory is `memory`: collects what is written per descriptor, at most `most` bytes a call.
function wasi(memory, { most = 1 << 30, fail = false, preopens = 2, canOpen = () => true } = {}) {
  const log = { written: {}, opened: [], closed: [], calls: 0 };
  const view = () => new DataView(memory.buffer);
  return { log, wasi_snapshot_preview1: {
    fd_write(fd, iovs, count, written) {
      log.calls++;
      if (fail) return 29;
      if (count !== 1) return 28;
      const ptr = view().getUint32(iovs, true), len = Math.min(view().getUint32(iovs + 4, true), most);
      (log.written[fd] ??= []).push(Buffer.from(new Uint8Array(memory.buffer, ptr, len)));
      view().setUint32(written, len, true);
      return 0;
    },
    fd_prestat_get(fd, at) {
      if (fd >= 3 + preopens) return 8;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return 0;
    },
    path_open(dir, look, path, len, oflags, rights, inherited, fdflags, result) {
      const name = Buffer.from(new Uint8Array(memory.buffer, path, len)).toString();
      log.opened.push([dir, name, oflags, rights, fdflags]);
      if (!canOpen(dir, name)) return 44;
      view().setUint32(result, 40 + dir, true);
      return 0;
    },
    fd_close(fd) { log.closed.push(fd); return 0; },
  } };
}

const text = (log, fd) => Buffer.concat(log.written[fd] ?? []);

function testShape() {
  for (const [host, module] of Object.entries(modules)) {
    const env = WebAssembly.Module.imports(module).filter((i) => i.module === 'env').map((i) => i.name);
    check(`${host}: imports of env: ${env}`, env.every((n) => ['memory', '__stack_pointer', '__memory_base'].includes(n)));
    const exported = WebAssembly.Module.exports(module).map((e) => e.name);
    check(`${host}: exports ${exported}`, exported.includes('whammc_report') && exported.every((n) => n.startsWith('whammc_report') || n === 'whammc_sum' || n === 'whammc_no_memory'));
    const bytes = readFileSync(join(wasmDir, `${host}.wasm`)), sections = sectionsOf(bytes);
    check(`${host}: no table, memory, start, element, data: ${sections}`, ![4, 5, 8, 9, 11, 12].some((s) => sections.includes(s)));
    check(`${host}: at most 8 KiB`, bytes.length <= 8192);
  }
}

function testJs(name) {
  const p = place(name), pieces = [];
  let ends = 0;
  const r = instantiate('js', p, { whammc: { write: (ptr, len) => {
    if (len === 0) ends++;
    pieces.push(Buffer.from(new Uint8Array(p.memory.buffer, ptr, len)));
  } } });
  r.report();
  check(`js ${name}`, Buffer.concat(pieces).equals(p.expected) && ends === 1);
  check(`js ${name}: memory`, untouched(p));
}

function testNone(name) {
  const p = place(name), r = instantiate('none', p, {});
  for (let i = 0; i < 3; i++) {
    if (i === 2) p.memory.grow(1); // somebody else's page after the text: it must move or still fit
    r.report();
    const ptr = r.exports.whammc_report_ptr(), len = r.exports.whammc_report_len();
    check(`none ${name}, report ${i}`, Buffer.from(new Uint8Array(p.memory.buffer, ptr, len)).equals(p.expected));
  }
  check(`none ${name}: memory`, untouched(p));
}

function testNoneFull() {
  const p = place('large');
  const pages = p.memory.buffer.byteLength / 65536;
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages + 1 });
  new Uint8Array(memory.buffer).set(new Uint8Array(p.memory.buffer));
  p.memory = memory;
  const r = instantiate('none', p, {});
  r.report();
  check('none: nothing, rather than a part, when memory is full', r.exports.whammc_report_len() === 0);
}

// Without memory for a report there is a message, and all memory is as it was.
function testNoMemory(host) {
  for (const fail of [false, true]) {
    const p = place('csv'), w = wasi(p.memory, { fail });
    instantiate(host, p, w).exports.whammc_no_memory();
    check(`${host}: no memory`, fail || text(w.log, 2).toString() === 'whammc: no memory for a report\n');
    check(`${host}: no memory, as it was`, w.log.calls === 1 && Buffer.from(p.memory.buffer).equals(Buffer.from(p.before)));
  }
}

function testWasi(host, name, fd) {
  for (const most of [1 << 30, 100, 1]) {
    if (most === 1 && name === 'large') continue;
    const p = place(name);
    const app = host.startsWith('borrow') ? new WebAssembly.Memory({ initial: 1 }) : p.memory;
    const own = () => new Uint8Array(p.memory.buffer), its = () => new Uint8Array(app.buffer);
    if (app !== p.memory) its().fill(0x5a);
    const w = wasi(app, { most });
    const copies = { copy_in: (d, s, n) => own().set(its().subarray(s, s + n), d),
      copy_out: (d, s, n) => its().set(own().subarray(s, s + n), d) };
    instantiate(host, p, { ...w, app: copies }).report();
    check(`${host} ${name} by ${most}`, text(w.log, fd).equals(p.expected) && Object.keys(w.log.written).length === 1);
    check(`${host} ${name}: memory`, untouched(p));
    if (app !== p.memory) check(`${host} ${name}: program's memory`, its().every((b) => b === 0x5a));
  }
}

function testWasiFails() {
  const p = place('large'), w = wasi(p.memory, { fail: true });
  instantiate('wasi', p, w).report();
  check('wasi: gives up on errors', Object.keys(w.log.written).length === 0 && w.log.calls > 0);
}

function testFile(host) {
  for (const [name, preopens, good] of [['file', 2, 3], ['file', 3, 5], ['nofile', 3, 0], ['file', 0, 0]]) {
    const p = place(name);
    const app = host.startsWith('borrow') ? new WebAssembly.Memory({ initial: 1 }) : p.memory;
    const own = () => new Uint8Array(p.memory.buffer), its = () => new Uint8Array(app.buffer);
    if (app !== p.memory) its().fill(0x5a);
    const w = wasi(app, { preopens, canOpen: (dir) => dir === good });
    const copies = { copy_in: (d, s, n) => own().set(its().subarray(s, s + n), d),
      copy_out: (d, s, n) => its().set(own().subarray(s, s + n), d) };
    instantiate(host, p, { ...w, app: copies }).report();
    const what = `${host} ${name}, ${preopens} preopens`;
    if (good) {
      check(what, text(w.log, 40 + good).equals(p.expected) && w.log.closed.join() === String(40 + good));
      const [dir, path, oflags, rights, fdflags] = w.log.opened.at(-1);
      check(`${what}: opened`, dir === good && path === 'report.out' && oflags === 1 && rights === 64n && fdflags === 1);
    } else {
      const got = text(w.log, 2).toString('latin1'), end = got.indexOf('\n') + 1;
      check(what, got.startsWith('whammc: cannot open') && w.log.closed.length === 0 &&
        got.slice(end) === p.expected.toString('latin1') && w.log.opened.length === preopens);
    }
    check(`${what}: memory`, untouched(p) && (app === p.memory || its().every((b) => b === 0x5a)));
  }
}

function testJsonIsJson() {
  const lines = readFileSync(join(work, 'json.expected'), 'utf8').split('\n').filter((l) => l);
  const keys = 'id,id_type,name,type,wasm_type,script,fname,fid,pc,probe,value';
  check('json: rows parse', lines.length > 50 && lines.every((l) => Object.keys(JSON.parse(l)).join() === keys));
}

// A damaged image must end, and neither trap nor write outside the stack.
function testDamaged() {
  let seed = 12345;
  const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
  for (let round = 0; round < 300; round++) {
    const p = place(round % 2 ? 'csv' : 'counts');
    const bytes = new Uint8Array(p.memory.buffer);
    for (let i = 0; i <= random(3); i++) {
      const at = 4 + random(p.size - 4);
      if (at < VALUES || at >= VALUES + 4) bytes[p.image + at] = random(256); // so many values there are
    }
    for (let k = p.image; k < p.image + p.size; k++) p.before[k] = bytes[k];
    let total = 0;
    const r = instantiate('js', p, { whammc: { write: (ptr, len) => { total += len; } } });
    let ok = true;
    try { r.report(); } catch (e) { ok = e instanceof WebAssembly.RuntimeError; }
    check('damaged image', ok && untouched(p, [p.values, p.derived[1]]));
  }
}

try {
  execFileSync(dump, [work], { stdio: 'inherit' });
  testShape();
  for (const host of Object.keys(modules))
    testSum(host);
  for (const name of ['empty', 'csv', 'json', 'quoted', 'counts', 'large']) {
    testJs(name);
    testNone(name);
  }
  testNoneFull();
  for (const host of ['wasi', 'wasi_file', 'borrow', 'borrow_file'])
    for (const [name, fd] of [['empty', 1], ['csv', 1], ['json', 2], ['large', 2]])
      testWasi(host, name, fd);
  testNoMemory('wasi');
  testNoMemory('wasi_file');
  testWasiFails();
  testFile('wasi_file');
  testFile('borrow_file');
  testJsonIsJson();
  testDamaged();
} finally {
  rmSync(work, { recursive: true });
}
finish();
