// Threads of programs for WASI (wasi-threads): the program imports its memory, which is shared, and wasi.thread-spawn, and exports
// wasi_thread_start. Each thread of the program, the first one as well, is a worker of Node with an instance of its own; the main thread of
// Node starts them, waits for the end, and puts their reports together, as parts (docs/reports.md).
//
// The program ends when its first thread returns, or when any thread calls proc_exit or traps. Threads that still run then are ended. What
// they have counted is in their memory whammc:memory, if that is shared; another instance, of which nothing runs, makes the report of it.
// Who makes the report of a thread is decided by its state, a word of shared memory.
import { Worker, parentPort, workerData } from 'node:worker_threads';
import { createReader } from '../reader.js';

const STATES = { running: 0, reporting: 1, ended: 2 }; // runs; makes its report; is ended by the main thread

const IMPORTS = 2; // the section's number
const KINDS = { func: 0, table: 1, memory: 2, global: 3, tag: 4 };

function importSection(bytes) {
  const reader = createReader(bytes.subarray(8), 'the module');
  while (reader.more()) {
    const id = reader.byte(), contents = reader.take(reader.unsigned());
    if (id === IMPORTS) return createReader(contents, 'the import section');
    if (id > IMPORTS) break;
  }
  return null;
}

function takeLimits({ byte, unsigned }) {
  const HAS_MAXIMUM = 1, HAS_PAGE_SIZE = 8, flags = byte(), initial = unsigned();
  const maximum = flags & HAS_MAXIMUM ? unsigned() : undefined;
  if (flags & HAS_PAGE_SIZE) unsigned();
  return { initial, maximum };
}

function skipType({ byte, signed }) {
  const [REF_NULL, REF] = [0x63, 0x64], type = byte();
  if (type === REF_NULL || type === REF) signed();
}

/** The memory that a program with threads imports, { module, name, initial, maximum }; null if the program has none, or is damaged. */
export function threadMemory(bytes) {
  try {
    return findThreadMemory(bytes);
  } catch { // the engine says what is wrong
    return null;
  }
}

function findThreadMemory(bytes) {
  const reader = importSection(bytes), text = () => new TextDecoder().decode(reader.take(reader.unsigned()));
  let memory = null, spawns = false;
  for (let left = reader?.unsigned() ?? 0; left > 0; left--) {
    const module = text(), name = text(), kind = reader.byte();
    spawns ||= module === 'wasi' && name === 'thread-spawn';
    if (kind === KINDS.func) {
      reader.unsigned();
    } else if (kind === KINDS.memory) {
      const limits = takeLimits(reader);
      memory ??= { module, name, ...limits };
    } else if (kind === KINDS.tag) {
      reader.byte();
      reader.unsigned();
    } else {
      skipType(reader);
      if (kind === KINDS.table) takeLimits(reader);
      else reader.byte();
    }
  }
  return spawns ? memory : null;
}

/** Imports of several sources; those of one module come together. */
export function joinImports(...sources) {
  const all = {};
  for (const source of sources)
    for (const [module, names] of Object.entries(source)) all[module] = { ...all[module], ...names };
  return all;
}

// ---- the main thread of Node ----

/**
 * Runs a program in workers that execute `source`. `settings` are for them. `makeReport(left, id)` gives what a thread has counted that
 * has left this memory, put(bytes) takes the reports, and stopped(end) is called at once: end(status) ends the program. Gives
 * { status, said }: what is to be said of a trap.
 */
export async function runThreads({ source, module, type, name, settings, makeReport, put, stopped }) {
  const memory = new WebAssembly.Memory({ initial: type.initial, maximum: type.maximum, shared: true });
  const ids = new Int32Array(new SharedArrayBuffer(4)), threads = new Map();
  ids[0] = 1;
  const end = await new Promise(resolve => {
    let isOver = false;
    function finish(result) {
      isOver = true;
      resolve(result);
    }

    function begin(id, argument) {
      const state = new Int32Array(new SharedArrayBuffer(4));
      const worker = new Worker(source, { execArgv: [], workerData: { isProgram: true, module, memory, type, ids, state, id, argument, settings } });
      const thread = { worker, state, began: false, left: null, report: null };
      thread.gone = new Promise(done => { worker.on('exit', done); });
      threads.set(id, thread);
      worker.on('exit', () => { if (id === 0) finish({ status: null }); }); // if it has not told how it has ended
      worker.on('error', error => finish({ status: null, said: String(error?.message ?? error) }));
      worker.on('message', ({ spawn, left, report, result }) => {
        if (spawn && !isOver) begin(...spawn);
        if (left !== undefined) Object.assign(thread, { began: true, left });
        if (report) thread.report = report;
        if (result) finish(result);
      });
    }
    stopped(finish);
    begin(0, 0);
  });
  await graceFor([...threads.values()].filter(({ left }) => !left));
  const running = [...threads.values()].filter(({ state }) => Atomics.compareExchange(state, 0, STATES.running, STATES.ended) === STATES.running);
  await Promise.all(running.map(({ worker }) => worker.terminate()));
  await Promise.all([...threads.values()].map(({ gone }) => gone));
  writeParts(threads, name, makeReport, put);
  return end;
}

// Threads that nobody can read once they are ended get a moment to end themselves: those that others have waited for are about to.
async function graceFor(threads) {
  const GRACE = 200; // ms
  let timer;
  const late = new Promise(done => { timer = setTimeout(done, GRACE); });
  await Promise.race([late, Promise.all(threads.map(({ gone }) => gone))]);
  clearTimeout(timer);
}

function writeParts(threads, name, makeReport, put) {
  const began = [...threads].filter(([, thread]) => thread.began).sort(([a], [b]) => a - b);
  let complete = 0;
  for (const [id, thread] of began) {
    const report = thread.report ?? (thread.left && makeReport(thread.left, id));
    if (!report) continue;
    complete++;
    if (!report.length) continue;
    put(Buffer.from(`${JSON.stringify({ whammc: 1, module: name, name, thread: id, instance: 0 })}\n`));
    put(report);
    put(Buffer.from('{"whammc":"end"}\n'));
  }
  put(Buffer.from(`${JSON.stringify({ whammc: 'run', threads: began.length, complete })}\n`));
}

// ---- the workers ----

/** Whether this is a worker for a thread of a program. */
export const isProgramThread = workerData?.isProgram === true;

/** In a worker: what it is to run, { module, memory, type, id, argument, settings }, and spawn, what the program imports. */
export function threadToRun() {
  const { ids, ...thread } = workerData;
  function spawn(argument) {
    const id = Atomics.add(ids, 0, 1);
    parentPort.postMessage({ spawn: [id, argument] });
    return id;
  }
  return { ...thread, spawn };
}

/** The thread has an instance, with this memory for its counts, if it is shared. */
export function tellBegun(memory) {
  const isShared = memory?.buffer instanceof SharedArrayBuffer;
  parentPort.postMessage({ left: isShared ? memory : null });
}

/** The thread has ended; `result` is that of the program, if it ends with it. finish() makes the report, but not if the thread is ended. */
export function tellEnded(result, finish) {
  if (Atomics.compareExchange(workerData.state, 0, STATES.running, STATES.reporting) !== STATES.running) return;
  parentPort.postMessage({ report: finish(), result });
}
