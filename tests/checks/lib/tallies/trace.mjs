// Runs calls of instrumented programs, and prints their reports.
//
// usage: node trace.mjs JOBS.json
//
// The file is a list of jobs, { module, runtime, calls, polls, shared }: a call is [name, i64, i64] as texts, or ["flush"]. `runtime` is the
// module that it imports (--link=import), `polls`: a report is made at each poll; `shared`: each list of calls is run by a thread of its
// own, with one memory. Prints a list with the texts of the reports of each job; of several threads, lists of these.
import { readFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

function run({ module, runtime, calls, polls, memory }) {
  let exports, pieces = [];
  const reports = [];
  const take = (from, at, length) => pieces.push(Buffer.from(new Uint8Array(from.buffer, at >>> 0, length >>> 0)).slice());
  // Of the module whose exports `of` returns.
  const wasi = (of) => ({
    fd_write(fd, vectors, count, written) {
      const view = new DataView(of().memory.buffer);
      let all = 0;
      for (let at = vectors; at < vectors + 8 * count; at += 8) {
        const length = view.getUint32(at + 4, true);
        take(of().memory, view.getUint32(at, true), length);
        all += length;
      }
      view.setUint32(written, all, true);
      return 0;
    },
    fd_close: () => 8,
    fd_prestat_get: () => 8,
    path_open: () => 8,
    clock_time_get: () => 0,
    proc_exit: () => 0,
  });
  function flush() {
    exports['whammc:flush']();
    reports.push(Buffer.concat(pieces).toString());
    pieces = [];
  }
  const whammc = {
    now: () => 0,
    write: (at, length) => take(exports['whammc:memory'], at, length),
    poll() {
      if (polls && exports) flush();
      return 1;
    },
  };
  const instantiate = (path, imports) => new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), imports).exports;
  const imported = runtime && instantiate(runtime, { wasi_snapshot_preview1: wasi(() => imported) });
  exports = instantiate(module, { wasi_snapshot_preview1: wasi(() => exports), whammc, whammc_runtime: imported ?? {}, env: { memory } });
  for (const [name, ...values] of calls) {
    if (name === 'flush') {
      flush();
      continue;
    }
    try {
      exports[name](...values.map(BigInt));
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    }
  }
  flush();
  return reports;
}

const thread = (job) => new Promise((resolve, reject) => {
  const worker = new Worker(new URL(import.meta.url), { workerData: job });
  worker.on('message', resolve);
  worker.on('error', reject);
});

function perform(job) {
  if (!job.shared) return run(job);
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
  return Promise.all(job.calls.map((calls) => thread({ ...job, calls, memory })));
}

if (isMainThread) {
  const results = [];
  for (const job of JSON.parse(readFileSync(process.argv[2]))) results.push(await perform(job));
  console.log(JSON.stringify(results));
} else {
  parentPort.postMessage(run(workerData));
}
