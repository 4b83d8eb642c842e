// Runs jobs of a program that waits for promises, in an order that does not depend on time: promises.mjs MODULE JOBS ACTIONS WAITS.
// The import `note` takes two ACTIONS each time: "begin" starts another job, "call" calls a job without WebAssembly.promising(), so
// that it cannot wait, "throw" throws. The import `wait` does what WAITS say: "now" has an end, "later" ends in its turn, "reject" fails
// then, "throw" throws. Prints what became of the jobs, the program's sum, and how many waits there were.
import { readFileSync } from 'node:fs';

const [, , path, count, list, ways] = process.argv;
const actions = JSON.parse(list), waits = JSON.parse(ways), JOBS = 3, ACTIONS = 2;
const outcome = Array(Number(count)).fill(null), waiting = [];
let exports, begun = 0, turn = 0, waited = 0;

function begin() {
  if (begun === outcome.length) return;
  const id = begun++;
  WebAssembly.promising(exports[`job${id % JOBS}`])(id).then(() => { outcome[id] = 'done'; }, error => { outcome[id] = error.message; });
}

function callJob() {
  try {
    exports[`job${JOBS - 1}`](0);
  } catch {
    // A wait cannot suspend the stack, or `note` has thrown.
  }
}

const env = {
  wait: new WebAssembly.Suspending(() => {
    const way = waits[waited++];
    if (way === 'throw') throw new Error('thrown');
    if (way === 'now') return Promise.resolve();
    return new Promise((resolve, reject) => {
      waiting.push(way === 'reject' ? () => reject(new Error('rejected')) : resolve);
    });
  }),
  note() {
    for (let n = 0; n < ACTIONS; n++) {
      const action = actions[turn++];
      if (action === 'begin') begin();
      else if (action === 'call') callJob();
      else if (action === 'throw') throw new Error('thrown');
    }
  },
};
process.on('unhandledRejection', () => {}); // nobody waits for some
const turnEnds = () => new Promise(done => { setImmediate(done); });
({ instance: { exports } } = await WebAssembly.instantiate(readFileSync(path), { env }));
while (begun < outcome.length || waiting.length) {
  begin();
  await turnEnds();
  waiting.shift()?.();
  await turnEnds();
  if (begun < outcome.length) callJob();
  await turnEnds();
}
console.log(JSON.stringify({ outcome, total: exports.total.value, waited }));
