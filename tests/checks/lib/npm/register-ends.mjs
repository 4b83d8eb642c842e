// A program that ends in the way that its last argument says; in a thread or a process of its own, if that is asked for.
import { fork, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
import { Worker, isMainThread, workerData } from 'node:worker_threads';

const [file, way] = isMainThread ? process.argv.slice(2) : workerData;
const TRAPS = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11]);
const self = new URL(import.meta.url).pathname;

function run() {
  const wasi = new WASI({ version: 'preview1', args: ['fib', '10'], returnOnExit: true });
  wasi.start(new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), wasi.getImportObject()));
}

switch (way) {
  case 'worker':
    await new Promise(done => { new Worker(self, { workerData: [file, 'normal'] }).on('exit', done); });
    break;
  case 'fork':
    await new Promise(done => { fork(self, [file, 'normal']).on('exit', done); });
    break;
  case 'spawn':
    spawnSync(process.execPath, ['--no-warnings', self, file, 'normal'], { stdio: 'inherit' });
    break;
  default:
    run();
}
if (way === 'twice') run();
if (way === 'exit') process.exit(7);
if (way === 'throw') throw new Error('not caught');
if (way === 'trap') new WebAssembly.Instance(new WebAssembly.Module(TRAPS)).exports.f();
if (way.startsWith('SIG')) {
  setInterval(() => {}, 1000);
  process.kill(process.pid, way);
}
