// Runs tests/fixtures/monitor/site.c on programs without an engine, and prints the monitor's checksums:
//   node test_site.mjs MONITOR.wasm PROGRAM.wasm...
//   node test_site.mjs MONITOR.wasm PROGRAM.wasm QUESTION ROUNDS
// With a question (op, arg, block), how many MB of code it goes through a second.
import { readFileSync } from 'node:fs';

const [monitorPath, ...programs] = process.argv.slice(2);
const monitor = new WebAssembly.Module(readFileSync(monitorPath));
const QUESTIONS = ['op', 'arg', 'block'];
const measured = QUESTIONS.includes(programs[1]) ? programs.splice(1) : null;

// What read_section and the others give of the current program.
let program, sections, bodies, at, imported, instance, output;
const uleb = () => {
  let v = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = program[at++];
    v += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return v;
  }
};
const read = (path) => {
  program = readFileSync(path);
  [sections, bodies, at] = [{}, [], 8];
  while (at < program.length) {
    const id = program[at++], size = uleb();
    if (id) sections[id] = program.subarray(at, at + size);
    if (id === 10) {
      for (let n = uleb(); n; n--) {
        const length = uleb();
        bodies.push(program.subarray(at, at + length));
        at += length;
      }
    } else {
      at += size;
    }
  }
  imported =
    (WebAssembly.validate(program) ? WebAssembly.Module.imports(new WebAssembly.Module(program)) : [])
      .filter((i) => i.kind === 'function').length;
};

const memory = () => new Uint8Array(instance.exports.memory.buffer);
const give = (bytes, ptr, len) => {
  memory().set(bytes.subarray(0, len), ptr);
  return bytes.length;
};
const none = new Uint8Array(0);
const reflect = {
  read_section: (id, ptr, len) => give(sections[id] ?? none, ptr, len),
  read_function_body: (fid, ptr, len) => give(bodies[fid - imported] ?? none, ptr, len),
  read_function_name: (_fid, ptr, len) => give(none, ptr, len),
  read_module_path: (ptr, len) => give(none, ptr, len),
  read_module_name: (ptr, len) => give(none, ptr, len),
};
const wasi = {
  fd_write(fd, iovs, count, written) {
    const view = new DataView(instance.exports.memory.buffer);
    const ptr = view.getUint32(iovs, true), len = view.getUint32(iovs + 4, true);
    output += Buffer.from(memory().subarray(ptr, ptr + len)).toString();
    view.setUint32(written, len, true);
    return 0;
  },
  clock_time_get: () => 0,
};
const walk = ({ walk, measure, 'wasm:exit': exit }) => {
  if (!measured) {
    walk(imported, imported + bodies.length);
    return exit();
  }
  const [question, rounds] = measured, size = bodies.reduce((sum, body) => sum + body.length, 0);
  const start = performance.now();
  for (let k = 0; k < Number(rounds); k++) measure(QUESTIONS.indexOf(question), imported, imported + bodies.length);
  const seconds = (performance.now() - start) / 1000;
  output = `${question}: ${(Number(rounds) * size / seconds / 1e6).toFixed(1)} MB/s of ${size} bytes\n`;
};

for (const path of programs) {
  read(path);
  output = '';
  instance = new WebAssembly.Instance(monitor, { 'whamm:reflect': reflect, wasi_snapshot_preview1: wasi });
  try {
    walk(instance.exports);
  } catch (error) {
    output += `${error.name}\n`;
  }
  process.stdout.write(output);
}
