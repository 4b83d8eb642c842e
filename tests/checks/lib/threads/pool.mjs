// node pool.mjs MODULE THREADS END [alone]: threads that call `kernel` 100, 101 ... times; the main thread calls it 7 times, unless they
// are alone. They end as END says (report: by terminate(), while they write what they have counted); those of a program without shared
// memory have each their own.
import fs, { readFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const load = (module, memory) => new WebAssembly.Instance(module, { env: { memory } }).exports;

function start([file, threads, end, alone]) {
  const module = new WebAssembly.Module(readFileSync(file)), memory = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
  const workers = Array.from({ length: threads }, (_, i) =>
    new Worker(new URL(import.meta.url), { workerData: { module, memory, calls: 100 + i, end } }));
  let left = workers.length;
  if (!alone) load(module, memory).work(7);
  for (const worker of workers) {
    worker.on('error', () => {});
    worker.on('message', () => {
      if (end === 'unref') worker.unref();
      if (end === 'report') worker.terminate();
      if (--left) return;
      if (end === 'terminate') workers.forEach(one => one.terminate());
      if (['exit', 'wait', 'compute'].includes(end)) process.exit(0);
    });
  }
}

function tellWhenFilesAreOpened() {
  const { openSync } = fs;
  fs.openSync = (...args) => {
    parentPort.postMessage('reporting');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    return openSync(...args);
  };
}

function work({ module, memory, calls, end }) {
  const exports = load(module, memory);
  exports.work(calls);
  if (end === 'report') {
    tellWhenFilesAreOpened();
    return;
  }
  if (end !== 'return') parentPort.on('message', () => {});
  parentPort.postMessage('done');
  if (end === 'trap') exports.trap();
  while (end === 'compute') exports.work(1000);
  if (end === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10000);
}

if (isMainThread) start(process.argv.slice(2));
else work(workerData);
