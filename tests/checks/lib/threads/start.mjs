// node start.mjs MODULE NUMBER ARGUMENT: what a program for WASI writes when its thread NUMBER has been started with ARGUMENT, and asked to report.
import { readFileSync } from 'node:fs';

const [file, number, argument] = process.argv.slice(2);
const memory = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
let written = '';

function write(fd, list, count, sum) {
  const view = new DataView(memory.buffer);
  let all = 0;
  for (let i = 0; i < count; i++) {
    const at = view.getUint32(list + 8 * i, true), size = view.getUint32(list + 8 * i + 4, true);
    written += new TextDecoder().decode(new Uint8Array(view.buffer, at, size).slice());
    all += size;
  }
  view.setUint32(sum, all, true);
  return 0;
}

const imports = { env: { memory }, wasi_snapshot_preview1: { fd_write: write } };
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), imports);
exports.wasi_thread_start(Number(number), Number(argument));
exports['whammc:flush']();
process.stdout.write(written);
