// A sampler for programs that keep a shadow stack (`use stack;`): a thread reads the stack at intervals, without stopping the
// program, and adds samples to a calling-context tree.
//
// The memory whammc:stack of the program is shared; stdlib/runtime/stack.h describes it. By its import next_sample the program gets
// the nodes of the tree one by one, parents first: at byte 0 of that memory the handle of the parent and the function, at byte 8
// samples and nanoseconds since the last report.
//
// Nodes are in a growing memory that both threads share. Each has NODE words: parent, function, samples, and from byte 16 on, as a
// double, nanoseconds. Node 0 stands for "nothing is running".
import { isBuiltIn, parts } from './parts.js';
import { canStartPageThread, startNodeThread, startPageThread } from './thread.js';

const SAMPLING = {
  INTERVAL: 24,                                     // where in the stack's memory: a byte
  STATE: 0, COUNT: 1, HEAD: 16,                     // words of the tree's memory
  STOPPED: 2,                                       // a state
  SEEN: 1, WRITTEN: 2, ENTRIES: 65536,              // words of the memory for samples with their times; how many it has room for
  NODE: 8, PARENT: 0, FUNCTION: 1, SAMPLES: 2, NS: 4,
};

// The thread's code. It receives { stack, tree, trace, origin } as its first message; `origin` is the time origin of the page's clock,
// in milliseconds.
function lookAtStack({ INTERVAL, STATE, COUNT, HEAD, NODE, PARENT, FUNCTION, SAMPLES, NS, SEEN, WRITTEN, ENTRIES },
  { stack: stackMemory, tree, trace, origin }) {
  const FRAMES = 16; // where in the stack's memory: a word
  const LINE = 16; // frames in a cache line
  // Of deeper stacks, the frames in between are left out.
  const OUTER = 256, INNER = 256, OMITTED = 4294967295;
  const RUNNING = 1;
  const now = () => performance.now();
  const stack = new Int32Array(stackMemory.buffer), interval = new BigUint64Array(stackMemory.buffer, INTERVAL, 1);
  const children = new Map(), copy = new Int32Array(stack.length), again = new Int32Array(stack.length);
  const traced = new Int32Array(trace.buffer), shift = performance.timeOrigin - origin;
  const stamps = new Float64Array(trace.buffer, 64, ENTRIES), nodesSeen = new Int32Array(trace.buffer, 64 + 8 * ENTRIES, ENTRIES);
  let words = new Int32Array(tree.buffer), times = new Float64Array(tree.buffer), nodes = 1;
  let size = 64; // words that are copied

  // The frames are copy[FRAMES] .. copy[FRAMES + n - 1], up to the first 0. Returns n, or -1 if the stack kept changing. Copying takes
  // a few nanoseconds per cache line, and a line is copied atomically. So a copy is consistent if a second one, made immediately,
  // differs in at most one line of frames.
  function read() {
    for (let attempt = 0; attempt < 16; attempt++) {
      const from = stack.subarray(0, size);
      copy.set(from);
      again.set(from);
      const end = copy.subarray(0, size).indexOf(0, FRAMES), n = end - FRAMES;
      if (end < 0) { // this one is deeper
        size = Math.min(2 * size, stack.length);
        continue;
      }
      if (n < size / 8) size = Math.max(size / 2, 64);
      let same = 0;
      while (same < n && copy[FRAMES + same] === again[FRAMES + same]) same++;
      if (n - same <= LINE) return n;
    }
    return -1;
  }

  function child(parent, fn) {
    const key = parent * 2097152 + fn % 2097152; // programs have fewer functions than that
    const known = children.get(key);
    if (known !== undefined) return known;
    const end = 4 * (HEAD + NODE * (nodes + 1));
    if (end > tree.buffer.byteLength) {
      try {
        tree.grow(1 + (tree.buffer.byteLength >> 18));
      } catch {
        return parent; // there is no room for more nodes
      }
      words = new Int32Array(tree.buffer);
      times = new Float64Array(tree.buffer);
    }
    const at = HEAD + NODE * nodes;
    words[at + PARENT] = parent;
    words[at + FUNCTION] = fn;
    children.set(key, nodes);
    Atomics.store(words, COUNT, ++nodes);
    return nodes - 1;
  }

  function nodeOf(n) {
    let node = 0;
    for (let i = 0; i < n; i++) {
      if (i === OUTER && n > OUTER + INNER) {
        node = child(node, OMITTED);
        i = n - INNER;
      }
      node = child(node, copy[FRAMES + i] - 1);
    }
    return node;
  }

  Atomics.store(words, COUNT, 1);
  Atomics.store(words, STATE, RUNNING);
  Atomics.notify(words, STATE);
  for (let last = now(), due = last; Atomics.load(words, STATE) === RUNNING;) {
    const step = Number(Atomics.load(interval, 0)) / 1e6 || 1; // 1 ms by default
    const next = Math.max(due + step, last);
    // Woken before, it ends, or has another interval.
    if (Atomics.wait(words, STATE, RUNNING, Math.max(0, next - now())) !== 'timed-out') continue;
    due = next;
    const n = read(), time = now();
    if (n < 0) continue; // its time is the next one's
    const node = nodeOf(n), at = HEAD + NODE * node;
    if (Atomics.load(traced, SEEN)) { // a profiler wants samples with their times; of too many, the oldest are lost
      const entry = traced[WRITTEN] & (ENTRIES - 1);
      stamps[entry] = time + shift;
      nodesSeen[entry] = node;
      Atomics.add(traced, WRITTEN, 1);
    }
    times[(at + NS) / 2] += (time - last) * 1e6;
    Atomics.add(words, at + SAMPLES, 1);
    last = time;
  }
}

// Of a worker of Node or of a browser. Names in it are those of parameters, so that minifiers may change them.
const SAMPLER_THREAD = `
  const look = given => (${lookAtStack})(${JSON.stringify(SAMPLING)}, given);
  if (typeof require === 'function') require('node:worker_threads').parentPort.once('message', look);
  else onmessage = event => look(event.data);`;

/**
 * A sampler whose thread `worker` runs. { next, attach, stop }: `next` is the program's import next_sample;
 * attach(memory) begins, and if it `waits` gives the thread a second to begin, too. Else the beginning of the program would be missing:
 * starting a thread takes 30 ms in Node, and longer on a busy machine.
 */
function createSampler(worker, waits) {
  const { STATE, COUNT, HEAD, STOPPED, NODE, PARENT, FUNCTION, SAMPLES, NS, INTERVAL, SEEN, WRITTEN, ENTRIES } = SAMPLING;
  const tree = new WebAssembly.Memory({ initial: 1, maximum: 65536 / 4, shared: true }); // 1 GiB
  const trace = new WebAssembly.Memory({ initial: 13, maximum: 13, shared: true }); // 12 bytes an entry
  const state = new Int32Array(tree.buffer), traced = new Int32Array(trace.buffer);
  let stack = null, interval = null, own = null, read = 0, at = 0, end = 0, last = 0, words = null, times = null;
  const told = { places: [], samples: [], ns: [] };

  // Writes the samples and time of the node since its last report.
  function put(node) {
    const here = HEAD + NODE * node, samples = Atomics.load(words, here + SAMPLES) >>> 0, ns = Math.round(times[(here + NS) / 2]);
    const view = new DataView(stack.buffer);
    view.setUint32(0, told.places[words[here + PARENT]] ?? 0, true);
    view.setUint32(4, words[here + FUNCTION], true);
    view.setBigUint64(8, BigInt(samples - (told.samples[node] ?? 0)), true);
    view.setBigUint64(16, BigInt(ns - (told.ns[node] ?? 0)), true);
    told.samples[node] = samples;
    told.ns[node] = ns;
  }

  return {
    /** The program's import: takes the handle of the previous node; returns 1, or 0 if there are no more. */
    next(place) {
      if (!stack) return 0;
      if (at) {
        told.places[last] = place;
      } else {
        words = new Int32Array(tree.buffer);
        times = new Float64Array(tree.buffer);
        end = Atomics.load(words, COUNT);
        at = 1;
      }
      if (at >= end) {
        at = 0;
        return 0;
      }
      last = at++;
      put(last);
      return 1;
    },

    /** Starts sampling the stack in this memory. False if there is none that threads can read. */
    attach(memory) {
      if (!isBuiltIn(memory?.buffer, 'SharedArrayBuffer')) return false;
      stack = memory;
      interval = new BigUint64Array(memory.buffer, INTERVAL, 1);
      worker.postMessage({ stack, tree, trace, origin: performance.timeOrigin });
      if (waits) Atomics.wait(state, STATE, 0, 1000);
      return true;
    },

    /** From now on keeps samples with their times, at this interval (ms); 0 stops that. */
    setInterval(ms) {
      own ??= Atomics.load(interval, 0);
      if (ms && !Atomics.load(traced, SEEN)) read = Atomics.load(traced, WRITTEN);
      Atomics.store(interval, 0, ms ? BigInt(Math.round(ms * 1e6)) : own);
      Atomics.store(traced, SEEN, ms ? 1 : 0);
      Atomics.notify(state, STATE);
    },

    /** take({ timestamp, stack }) for each sample since the last time: its time, the indices of functions, outermost first. */
    drain(take) {
      const written = Atomics.load(traced, WRITTEN), nodes = new Int32Array(tree.buffer);
      const stamps = new Float64Array(trace.buffer, 64, ENTRIES), seen = new Int32Array(trace.buffer, 64 + 8 * ENTRIES, ENTRIES);
      for (read = Math.max(read, written - ENTRIES); read < written; read++) {
        const stack = [];
        for (let node = seen[read & (ENTRIES - 1)]; node > 0; node = nodes[HEAD + NODE * node + PARENT])
          stack.push(nodes[HEAD + NODE * node + FUNCTION] >>> 0);
        take({ timestamp: stamps[read & (ENTRIES - 1)], stack: stack.reverse() });
      }
    },

    /** Ends the thread. */
    stop() {
      Atomics.store(state, STATE, STOPPED);
      Atomics.notify(state, STATE);
      worker.terminate();
    },
  };
}

/** A sampler in Node, given its module node:worker_threads; null if no thread can be started. */
export function createNodeSampler(threads) {
  try {
    return createSampler(startNodeThread(threads, SAMPLER_THREAD), true);
  } catch {
    return null;
  }
}

/** A sampler in Node or in a page; null if no thread that shares memory can be started. */
export function createHostSampler() {
  const threads = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (threads) return createNodeSampler(threads);
  try {
    return canStartPageThread() ? createSampler(startPageThread(SAMPLER_THREAD)) : null;
  } catch {
    return null; // the page's policy forbids it
  }
}

parts.sampler ??= { createHostSampler };
