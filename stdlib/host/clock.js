// A clock that is cheap to read. Reading the host's clock takes some 40 ns, longer than many of the calls to time. A thread
// that does nothing but write the time into shared memory brings that down to 3 ns, at the cost of a processor. So the thread
// works only while the clock is read often and processors are free: it gives up if it is kept waiting.
//
// Times are in milliseconds, with the zero of performance.now(). They do not go backwards when the thread starts or stops.

import { parts } from './parts.js';
import { canStartPageThread, startNodeThread, startPageThread } from './thread.js';

export const CLOCK = {
  STATE: 0, WANTED: 1, STARVED: 2,       // words of the memory: whether TIME is good; whether the thread is to work; whether it was kept waiting
  ASKED: 16,                             // ... whether TIME was read
  TIME: 16, LOST: 24,                    // doubles: the time; how long it stood still
  TICK: 0.001,                           // a time is written at most each microsecond, as every write makes the next read slow
  GAP: 0.05, LOST_PART: 0.05,            // for which part of the time TIME may stand still for longer than GAP:
  STEADY: 8, PATIENCE: 150,              // of STEADY before it is good, which the thread tries to reach for PATIENCE,
  ALLOWED: 4,                            // and from then on, besides ALLOWED in all
  IDLE: 20,                              // the thread ends to work if TIME was not read for so long,
  LOOK: 1,                               // which it looks for only so often, as this makes the next read slow, too
};
// The functions as they are before instrumentation replaces them.
const { Module: UntouchedModule, Instance: UntouchedInstance } = WebAssembly;

const OFTEN = 1024, BRIEF = 5, PAUSE = 250; // the thread is wanted when the clock is read OFTEN in BRIEF; if it was kept waiting, not again before PAUSE

// (module
//   (import "" "memory" (memory 1 1 shared))
//   (import "" "now" (func $host (result f64)))
//   (global $last (mut f64) (f64.const 0))
//   (func $now (export "now") (result f64) (local $time f64)
//     (local.set $time
//       (if (result f64) (i32.load (i32.const 0))
//         (then (i32.store (i32.const 64) (i32.const 1)) (f64.load (i32.const 128)))
//         (else (call $host))))
//     (if (f64.gt (local.get $time) (global.get $last)) (then (global.set $last (local.get $time))))
//     (global.get $last))
//   (func (export "now_ns") (result i64) (i64.trunc_f64_s (f64.mul (call $now) (f64.const 1e6)))))
const READER = 'AGFzbQEAAAABCQJgAAF8YAABfgIUAgAGbWVtb3J5AgMBAQADbm93AAADAwIAAQYNAXwBRAAAAAAAAAAACwcQAgNub3cAAQZub3df' +
  'bnMAAgo/Ai0BAXxBACgCAAR8QcAAQQE2AgBBgAErAwAFEAALIQAgACMAZARAIAAkAAsjAAsPABABRAAAAACAhC5BorAL';

// The zero of the times of all threads, on a scale that they share. What happens between the two readings, such as the first use of
// performance (1 ms in Node) or a switch of threads, makes the zero too early: so the latest of several is taken.
function zeroOfTime() {
  const hrtime = globalThis.process?.hrtime;
  if (!hrtime) return performance.timeOrigin;
  let zero = -Infinity;
  for (let i = 0; i < 8; i++) {
    const [seconds, nanoseconds] = hrtime();
    zero = Math.max(zero, seconds * 1e3 + nanoseconds / 1e6 - performance.now());
  }
  return zero;
}

// The thread's code. It works when it is wanted; `always`: from then on, whatever happens.
function keepTime({ STATE, WANTED, STARVED, ASKED, TIME, LOST, TICK, GAP, LOST_PART, ALLOWED, STEADY, PATIENCE, IDLE, LOOK }, zeroHere,
  { buffer, zero, always }) {
  const words = new Int32Array(buffer), times = new Float64Array(buffer), shift = zeroHere - zero;
  const read = () => performance.now() + shift;

  function becomesSteady() {
    const began = read();
    for (let since = began, last = began, lost = 0; last - began < PATIENCE;) {
      const now = read();
      if (now - last > GAP) lost += now - last;
      last = now;
      if (now - since < STEADY) continue;
      if (lost <= LOST_PART * (now - since)) return true;
      since = now;
      lost = 0;
    }
    return false;
  }

  // Returns false if it was kept waiting.
  function work() {
    const began = read();
    let last = began, asked = began, lost = 0;
    times[TIME] = began;
    Atomics.store(words, STATE, 1);
    Atomics.notify(words, STATE);
    while (always || (last - asked <= IDLE && lost <= ALLOWED + LOST_PART * (last - began))) {
      const now = read(), gap = now - last;
      if (gap < TICK) continue;
      times[TIME] = now;
      last = now;
      if (gap > GAP) {
        lost += gap;
        times[LOST] += gap;
      }
      if (now - asked > LOOK && words[ASKED]) {
        words[ASKED] = 0;
        asked = now;
      }
    }
    Atomics.store(words, STATE, 0);
    return last - asked > IDLE;
  }

  for (;;) {
    Atomics.wait(words, WANTED, 0);
    Atomics.store(words, STARVED, (always || becomesSteady()) && work() ? 0 : 1);
    Atomics.store(words, WANTED, 0);
  }
}

// Of a worker of Node or of a browser. Names in it are those of parameters, so that minifiers may change them.
const CLOCK_THREAD = `
  const work = given => (${keepTime})(${JSON.stringify(CLOCK)}, (${zeroOfTime})(), given);
  if (typeof require === 'function') work(require('node:worker_threads').workerData);
  else onmessage = event => work(event.data);`;

/**
 * The clock of a thread that startThread(code, data) starts: now if `early`, else when it is wanted for the first time. { now, now_ns,
 * want, waits, lost }: now() in milliseconds and now_ns() in nanoseconds are functions of a module in WebAssembly; want() makes the
 * thread work.
 */
export function createThreadClock(startThread, { always = false, early = false } = {}) {
  const { STATE, WANTED, STARVED, LOST } = CLOCK;
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const words = new Int32Array(memory.buffer), times = new Float64Array(memory.buffer);
  let started = false, calls = 0, since = 0, pausedUntil = 0;

  function start() {
    if (!started) startThread(CLOCK_THREAD, { buffer: memory.buffer, zero: zeroOfTime(), always });
    started = true;
  }

  function want() {
    start();
    Atomics.store(words, WANTED, 1);
    Atomics.notify(words, WANTED);
  }

  // While the thread does not work.
  function now() {
    const time = performance.now();
    if (++calls < OFTEN) return time;
    if (time - since < BRIEF && !words[WANTED] && (!words[STARVED] || time >= pausedUntil)) {
      pausedUntil = time + PAUSE;
      want();
    }
    calls = 0;
    since = time;
    return time;
  }

  const bytes = Uint8Array.from(atob(READER), c => c.charCodeAt(0));
  const reader = new UntouchedInstance(new UntouchedModule(bytes), { '': { memory, now } });
  if (early) start();
  return {
    ...reader.exports,
    want,
    /** Waits until the thread works, for at most this many milliseconds. False if it does not. */
    waits: ms => Atomics.wait(words, STATE, 0, ms) !== 'timed-out',
    /** The total time for which the clock stood still while the thread worked. */
    lost: () => times[LOST],
  };
}

let ofHost = null;

// One for all programs of a host; null if no thread can be started, or no processor is free for it.
function createHostClock() {
  const node = globalThis.process?.getBuiltinModule;
  const processors = node ? node('node:os').availableParallelism() : globalThis.navigator?.hardwareConcurrency;
  if (!(processors > 1)) return null;
  if (node) return createThreadClock((code, data) => startNodeThread(node('node:worker_threads'), code, data));
  // Early, since threads of a page do not begin while its own thread is busy.
  return canStartPageThread() ? createThreadClock((code, data) => startPageThread(code).postMessage(data), { early: true }) : null;
}

/** The clock for programs, in milliseconds: that of a thread, if one can be started and helps, else performance.now. */
export function hostClock() {
  try {
    ofHost = ofHost ?? createHostClock() ?? { now: () => performance.now() };
  } catch { // the page's policy forbids it
    ofHost = { now: () => performance.now() };
  }
  return ofHost.now;
}

parts.clock ??= { hostClock };
