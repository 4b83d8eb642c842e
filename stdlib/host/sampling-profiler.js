// Profiler: a sampling profiler for pages and Node, with the interface of the WICG's JS Self-Profiling API, for programs that keep
// a shadow stack (`whammc instr -s sample`).
//
//   const profiler = new Profiler({ sampleInterval: 5, maxBufferSize: 10000 });
//   ...                                     // the program runs
//   const trace = await profiler.stop();    // { resources, frames, stacks, samples }
//
// All profilers share one clock: programs are sampled at the greatest common divisor of the intervals, and each profiler keeps
// every n-th sample. If the browser has such a profiler for JavaScript, the stacks of both are joined: functions of the program
// appear below the JavaScript functions that called them. Each program has its own samples: if several run in turn, a sample of an
// inactive one has no stack.
import { parts } from './parts.js';
import { LEFT_OUT, makeTrace } from './traces.js';

const BASE = 1; // ms, of which intervals are multiples
const LONGEST_INTERVAL = 2 ** 31 - 1; // ms, 24 days
const STACK_HALF = 256; // of deeper stacks the frames between are left out
const TAKEN_OVER = 100; // ms; the longest delay until samples are collected while the program waits

function gcd(a, b) {
  return b ? gcd(b, a % b) : a;
}

// ---- the clock ----

const profilers = new Set();
let timer = null;

// The programs that are sampled.
const sources = () => (parts.sources ?? []).map(source => (source.drain ? source : Object.assign(source, sampleItself(source.memory))));

function commonInterval() {
  return [...profilers].map(one => one.interval).reduce(gcd, 0);
}

// Adapts the sampling interval to the active profilers.
function adjustClock() {
  const interval = commonInterval();
  for (const source of sources()) source.setInterval(interval);
  for (const one of profilers) one.skip = one.interval / interval;
  if (timer !== null) clearInterval(timer);
  timer = interval ? setInterval(takeOver, TAKEN_OVER) : null;
  timer?.unref?.();
}

// Passes the collected samples to the profilers.
function takeOver() {
  for (const source of sources())
    source.drain(({ timestamp, stack }) => {
      for (const one of profilers) if (timestamp >= one.began) one.take(source, timestamp, stack);
    });
}

// ---- programs that sample themselves ----

// Of such a program, which has this memory of its stack: { sampled, setInterval, drain }; it calls sampled() for each sample.
function sampleItself(memory) {
  const LIMIT = 65536; // samples not collected yet; of more, the oldest are lost
  const words = new Int32Array(memory.buffer); // it does not grow
  let every = 0, last = 0, samples = [];
  return {
    sampled() {
      const timestamp = performance.now();
      if (!every || timestamp - last < every - BASE / 2) return;
      last = timestamp;
      const stack = [...words.subarray(16, words.indexOf(0, 16))].map(frame => frame - 1); // see stdlib/runtime/stack.h
      if (stack.length > 2 * STACK_HALF) stack.splice(STACK_HALF, stack.length - 2 * STACK_HALF, LEFT_OUT);
      if (samples.length >= LIMIT) samples.shift();
      samples.push({ timestamp, stack });
    },
    setInterval(ms) {
      every = ms;
      if (!ms) samples = [];
    },
    drain(take) {
      const taken = samples;
      samples = [];
      taken.forEach(sample => take(sample));
    },
  };
}

// ---- the class ----

const Native = globalThis.Profiler;

// The browser's own profiler, if the page is allowed to use it.
function startNative(options) {
  try {
    return typeof Native === 'function' ? new Native(options) : null;
  } catch {
    return null; // its document policy forbids it
  }
}

// As Web IDL converts them.
function memberOf(options, name, convert) {
  if (options === null || (typeof options !== 'object' && typeof options !== 'function') || options[name] === undefined)
    throw new TypeError(`Profiler: the member ${name} is required`);
  return convert(options[name]);
}
function toDouble(value) {
  const number = Number(value);
  if (!Number.isFinite(number)) throw new TypeError('Profiler: sampleInterval is not a finite number');
  return number;
}

const Target = globalThis.EventTarget ?? class {}; // shells of engines do not have it

export class Profiler extends Target {
  #interval;
  #limit;
  #samples = [];
  #state = 'started';
  #counts = new Map(); // by program: the number of samples, kept or not
  #entry;
  #native;

  /** Whether a frame { name, resource } may be in traces; others are left out. */
  static visible = () => true;

  constructor(options) {
    super();
    const wanted = memberOf(options, 'sampleInterval', toDouble);
    this.#limit = memberOf(options, 'maxBufferSize', value => Number(value) >>> 0);
    if (wanted < 0) throw new RangeError('Profiler: sampleInterval is negative');
    this.#interval = Math.min(Math.max(1, Math.ceil(wanted / BASE)) * BASE, LONGEST_INTERVAL);
    this.#native = startNative({ sampleInterval: wanted, maxBufferSize: this.#limit });
    const take = (source, timestamp, stack) => this.#take(source, timestamp, stack);
    this.#entry = { interval: this.#interval, skip: 1, began: performance.now(), take };
    takeOver(); // earlier samples belong to other profilers
    profilers.add(this.#entry);
    adjustClock();
  }

  /** The granted interval between samples, in milliseconds. */
  get sampleInterval() {
    return this.#interval;
  }

  get stopped() {
    return this.#state === 'stopped';
  }

  #take(source, timestamp, stack) {
    if (this.#state !== 'started') return;
    const count = this.#counts.get(source) ?? 0;
    this.#counts.set(source, count + 1);
    if (count % this.#entry.skip) return;
    if (this.#samples.length >= this.#limit) {
      this.#state = 'full';
      this.#leave();
      this.dispatchEvent?.(new Event('samplebufferfull'));
      return;
    }
    this.#samples.push({ source, timestamp, stack });
  }

  #leave() {
    if (profilers.delete(this.#entry)) adjustClock();
  }

  /** Stops the profiler. Returns a promise of the trace, which is rejected if it was stopped before. */
  async stop() {
    if (this.#state === 'stopped') throw new DOMException('the profiler has been stopped', 'InvalidStateError');
    takeOver();
    this.#state = 'stopped';
    this.#leave();
    const outer = this.#native ? { trace: await this.#native.stop(), interval: this.#native.sampleInterval } : null;
    const samples = this.#samples;
    this.#samples = [];
    return makeTrace(samples, outer, Profiler.visible);
  }
}

parts.sampling ??= { Profiler, join: adjustClock };
