// Runs jobs of a program that uses Asyncify, in an order that does not depend on time: nested.mjs MODULE JOBS ACTIONS fixed|fresh.
// The import `note` takes as many ACTIONS as it says there, one after the other: "begin" starts another job, "resume" the job
// that has waited longest, "call" calls a function that does not wait, "throw" throws. Jobs that nobody has started are started from
// outside, and resumed there. `fresh`: each wait has a block of its own for Asyncify, as Emscripten's do. Prints what became of the jobs,
// the program's sum, and how many waits there were.
import { readFileSync } from 'node:fs';

const [, , path, count, list, blocks] = process.argv;
const actions = JSON.parse(list), JOBS = 3, ACTIONS = 2, BLOCK = 4096, FIRST = 65536, WORD = 4;
const outcome = Array(Number(count)).fill(null), waiting = [], unused = [];
let exports, rewinding, begun = 0, waits = 0, turn = 0, last = 0;

function blockOf(id) {
  return FIRST + BLOCK * (blocks === 'fixed' ? id : unused.shift() ?? last++);
}

function runJob(id) {
  try {
    exports[`job${id % JOBS}`](id);
  } catch (error) {
    outcome[id] = error.message;
    return;
  }
  if (exports.asyncify_get_state() !== 1) {
    outcome[id] = 'done';
    return;
  }
  exports.asyncify_stop_unwind();
}

function begin() {
  if (begun < outcome.length) runJob(begun++);
}

function resume() {
  const { id, block } = waiting.shift() ?? {};
  if (block === undefined) return;
  rewinding = block;
  exports.asyncify_start_rewind(block);
  runJob(id);
}

const env = {
  wait(id) {
    if (exports.asyncify_get_state() === 2) {
      exports.asyncify_stop_rewind();
      if (blocks === 'fresh') unused.push((rewinding - FIRST) / BLOCK);
      return;
    }
    const block = blockOf(id), words = new Int32Array(exports.memory.buffer);
    waits++;
    words[block / WORD] = block + 2 * WORD;
    words[block / WORD + 1] = block + BLOCK;
    waiting.push({ id, block });
    exports.asyncify_start_unwind(block);
  },
  note(id) {
    for (let n = 0; n < ACTIONS; n++) {
      const action = actions[turn++];
      if (action === 'begin') begin();
      else if (action === 'resume') resume();
      else if (action === 'call') exports.leaf(id);
      else if (action === 'throw') throw new Error('thrown');
    }
  },
};
({ instance: { exports } } = await WebAssembly.instantiate(readFileSync(path), { env }));
while (begun < outcome.length || waiting.length) {
  begin();
  resume();
}
console.log(JSON.stringify({ outcome, total: exports.total.value, waits }));
