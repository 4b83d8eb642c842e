// Runs jobs of a program at the same time, as their waits come: jobs.mjs MODULE asyncify|jspi USE JOBS MILLISECONDS.
// JOBS: [[job, the number of its wait that is rejected, or 0], ...]; USE nested: each but the first is started by an import that
// another one calls; USE immediate: no wait waits; USE left: the first one never ends, and the process
// exits after MILLISECONDS; USE results: imports return other things than promises, too; MILLISECONDS: of each wait, 0 = few, of any length. Prints what became of the jobs,
// the program's sum, how many waits there were, and how often `then` of what is no promise was called.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const [, , path, system, use, list, wait] = process.argv;
const jobs = JSON.parse(list).map(([job, fails], id) => ({ id, name: `job${job}`, fails })), BLOCK = 8192, FIRST = 65536;
const started = [];
let exports, waits = 0, thens = 0;

class Deferred extends Promise {}
const soon = done => { setTimeout(done, 1); }, RealmsPromise = vm.runInNewContext('Promise');
const results = [
  () => new Promise(soon), () => new Deferred(soon), () => Deferred.resolve(), () => new RealmsPromise(soon), () => 1, () => undefined,
  () => ({ then(done) { thens++; soon(done); } }),
];

function waiting() {
  const turn = waits++;
  if (use === 'immediate') return null;
  if (use === 'left') return new Promise(() => {});
  if (use === 'results') return results[turn % results.length]();
  if (wait === '0' && turn % 4 === 0) return Promise.resolve();
  return new Promise(done => { setTimeout(done, wait === '0' ? turn % 3 : Number(wait)); });
}

const asyncify = {
  wait(id) {
    if (exports.asyncify_get_state() === 2) {
      exports.asyncify_stop_rewind();
      return;
    }
    const promise = waiting(), block = FIRST + id * BLOCK, words = new Int32Array(exports.memory.buffer);
    if (!promise) return;
    jobs[id].promise = promise;
    words[block >> 2] = block + 8;
    words[(block + 4) >> 2] = block + BLOCK;
    exports.asyncify_start_unwind(block);
  },
  async start({ id, name }) {
    exports[name](id);
    while (exports.asyncify_get_state() === 1) {
      exports.asyncify_stop_unwind();
      await jobs[id].promise;
      exports.asyncify_start_rewind(FIRST + id * BLOCK);
      exports[name](id);
    }
  },
};

const jspi = {
  wait(id) {
    const promise = waiting(), job = jobs[id];
    if (--job.fails) return promise ?? undefined;
    return (promise ?? Promise.resolve()).then(() => { throw new Error('rejected'); });
  },
  start: ({ id, name }) => WebAssembly.promising(exports[name])(id),
};

function start() {
  const job = jobs[started.length];
  started.push(null);
  started[job.id] = { asyncify, jspi }[system].start(job).then(() => 'done', error => error.message);
}

const imports = { env: {
  wait: system === 'jspi' ? new WebAssembly.Suspending(jspi.wait) : asyncify.wait,
  note() { if (use === 'nested' && started.length < jobs.length) start(); },
} };
({ instance: { exports } } = await WebAssembly.instantiate(readFileSync(path), imports));
if (use === 'left') {
  start();
  await new Promise(done => { setTimeout(done, Number(wait)); });
  console.log(JSON.stringify({ waits }));
  process.exit();
}
if (use !== 'nested') while (started.length < jobs.length) start();
const outcome = [];
for (let n = 0; n < jobs.length; n++) {
  if (n === started.length) start();
  outcome.push(await started[n]);
}
console.log(JSON.stringify({ outcome, total: exports.total.value, waits, thens }));
