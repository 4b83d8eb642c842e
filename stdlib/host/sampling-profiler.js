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
import { createReader } from './reader.js';

const BASE = 1; // ms, of which intervals are multiples
const LEFT_OUT = 4294967295; // in stacks: functions that are left out
const FUNCTION_NAMES = 1; // a part of the section `name`
const OUR_MODULES = ['whammc', 'whammc_runtime']; // instrumentation adds imports from these modules
const TAKEN_OVER = 100; // ms; the longest delay until samples are collected while the program waits

function gcd(a, b) {
  return b ? gcd(b, a % b) : a;
}

// ---- names ----

// Names by index, of the section `name`.
function readNames(module) {
  const names = new Map(), [section] = WebAssembly.Module.customSections(module, 'name');
  if (!section) return names;
  const sections = createReader(new Uint8Array(section), 'name');
  try {
    while (sections.more()) {
      const kind = sections.byte(), part = createReader(sections.take(sections.unsigned()), 'name');
      for (let n = kind === FUNCTION_NAMES ? part.unsigned() : 0; n > 0; n--)
        names.set(part.unsigned(), new TextDecoder().decode(part.take(part.unsigned())));
    }
  } catch {
    // the section is damaged; names read so far are kept
  }
  return names;
}

/** Returns names of functions by their index in the original program. */
function createNamer(module) {
  const imports = WebAssembly.Module.imports(module).filter(one => one.kind === 'function');
  const own = imports.filter(one => !OUR_MODULES.includes(one.module)), added = imports.length - own.length;
  const names = readNames(module);
  return fid => (fid < own.length ? names.get(fid) ?? own[fid].name : names.get(fid + added)) ?? `#${fid}`;
}

// ---- the clock ----

const sources = new Set(), profilers = new Set();
let timer = null;

function commonInterval() {
  return [...profilers].map(one => one.interval).reduce(gcd, 0);
}

// Adapts the sampling interval to the active profilers.
function adjustClock() {
  const interval = commonInterval();
  for (const source of sources) source.setInterval(interval);
  for (const one of profilers) one.skip = one.interval / interval;
  if (timer !== null) clearInterval(timer);
  timer = interval ? setInterval(takeOver, TAKEN_OVER) : null;
  timer?.unref?.();
}

// Passes the collected samples to the profilers.
function takeOver() {
  for (const source of sources)
    source.drain(({ timestamp, stack }) => {
      for (const one of profilers) if (timestamp >= one.began) one.take(source, timestamp, stack);
    });
}

/**
 * Adds a program to be sampled: { title, module, setInterval(ms or 0), drain(take) }. drain calls take({ timestamp, stack }) for
 * each new sample; `stack` has indices of functions, outermost first. Programs are never removed.
 */
export function addSource(source) {
  const it = { ...source, name: createNamer(source.module) };
  sources.add(it);
  if (profilers.size) it.setInterval(commonInterval());
}

// ---- traces ----

// Makes { resources, frames, stacks, samples } of samples with frames { name, resource, ... }.
function createTrace() {
  const resources = [], frames = [], stacks = [], samples = [];
  const known = new Map();
  function once(list, key, make) {
    if (!known.has(key)) {
      known.set(key, list.length);
      list.push(make());
    }
    return known.get(key);
  }
  function frameId({ name, resource, line, column }) {
    const id = resource === undefined ? undefined : once(resources, `r ${resource}`, () => resource);
    return once(frames, `f ${name} ${id} ${line} ${column}`, () => ({ name, ...id === undefined ? {} : { resourceId: id },
      ...line === undefined ? {} : { line, column } }));
  }
  function add(timestamp, list) {
    let parent;
    for (const frame of list) {
      const frame_ = frameId(frame), above = parent;
      parent = once(stacks, `s ${above} ${frame_}`, () => ({ ...above === undefined ? {} : { parentId: above }, frameId: frame_ }));
    }
    samples.push(parent === undefined ? { timestamp } : { timestamp, stackId: parent });
  }
  return { add, trace: { resources, frames, stacks, samples } };
}

// The frames of a sample of a trace, outermost first.
function framesOf(trace, { stackId }) {
  const list = [];
  for (let id = stackId; id !== undefined; id = trace.stacks[id].parentId) {
    const { name, resourceId, line, column } = trace.frames[trace.stacks[id].frameId];
    list.unshift({ name, resource: trace.resources[resourceId], line, column });
  }
  return list;
}

// The JavaScript frames of the browser's profiler at that time, if it has a sample within one of its intervals. Its frames of
// programs, which have the URL `title` or one made by the engine, are removed.
function under(trace, interval, timestamp, title) {
  let low = 0, high = trace.samples.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trace.samples[middle].timestamp < timestamp) low = middle + 1;
    else high = middle;
  }
  const near = [trace.samples[low - 1], trace.samples[low]].filter(Boolean)
    .sort((a, b) => Math.abs(a.timestamp - timestamp) - Math.abs(b.timestamp - timestamp))[0];
  if (!near || Math.abs(near.timestamp - timestamp) > interval) return [];
  const isOfProgram = ({ name, resource }) =>
    (resource === undefined ? name === 'js-to-wasm' : resource === title || resource.startsWith('wasm:'));
  const all = framesOf(trace, near), first = all.findIndex(isOfProgram);
  return first < 0 ? all : all.slice(0, first);
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
    this.#interval = Math.max(1, Math.ceil(wanted / BASE)) * BASE;
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
    const { add, trace } = createTrace();
    const outer = this.#native ? await this.#native.stop() : null, interval = this.#native?.sampleInterval;
    for (const { source, timestamp, stack } of this.#samples.sort((a, b) => a.timestamp - b.timestamp)) {
      const own = stack.map(fid => (fid === LEFT_OUT ? { name: '...' } : { name: source.name(fid), resource: source.title }));
      const inner = own.filter(frame => Profiler.visible(frame));
      add(timestamp, [...outer && stack.length ? under(outer, interval, timestamp, source.title) : [], ...inner]);
    }
    this.#samples = [];
    return trace;
  }
}

/**
 * A program that samples itself and reports each sample to the host (its import whammc.sampled): { sampled, attach, setInterval,
 * drain } as for addSource.
 */
export function createSelfSampled() {
  const LIMIT = 65536; // samples not collected yet; of more, the oldest are lost
  let words = null, every = 0, last = 0, samples = [];
  return {
    sampled() {
      const timestamp = performance.now();
      if (!every || !words || timestamp - last < every - BASE / 2) return;
      last = timestamp;
      const stack = [...words.subarray(16, words.indexOf(0, 16))].map(frame => frame - 1); // see stdlib/runtime/stack.h
      if (stack.length > 512) stack.splice(256, stack.length - 512, LEFT_OUT);
      if (samples.length >= LIMIT) samples.shift();
      samples.push({ timestamp, stack });
    },
    attach(instance) {
      const memory = instance.exports['whammc:stack'];
      if (memory) words = new Int32Array(memory.buffer); // it does not grow
      return words !== null;
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

parts.sampling ??= { addSource, createSelfSampled, Profiler };
