// node node.mjs MODULE SYSTEM JOBS [threads]: prints the sums of the jobs, each in a thread of its own if `threads` is there, then
// what monitors print.
import { readFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { run } from './work.mjs';

async function report(order) {
  let printed = '';
  const sums = await run({ ...order, write: text => { printed += text; } });
  return { sums, printed };
}

if (isMainThread) {
  const [file, system, list, threads] = process.argv.slice(2), bytes = readFileSync(file), jobs = JSON.parse(list);
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 64, shared: true });
  const parts = threads ? await Promise.all(jobs.map(calls => new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { bytes, system, jobs: [calls], memory } });
    worker.on('message', resolve).on('error', reject);
  }))) : [await report({ bytes, system, jobs, memory })];
  console.log(JSON.stringify(parts.flatMap(({ sums }) => sums)));
  parts.forEach(({ printed }) => process.stdout.write(printed));
} else {
  parentPort.postMessage(await report(workerData));
}
