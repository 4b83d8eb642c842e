// What every host of instrumented programs in JavaScript shares: the imports whammc.write and whammc.now of one program, its report,
// and what becomes of traps. intercept.js gives them to programs; whammc.js is the interface for others.
import './traps.js';
import './clock.js';
import './modules.js';
import './sampler.js';
import './number.js';
import './lines.js';
import './node/atomics.js';
import { asksFor, isErrorOf, parts } from './parts.js';

export const FLUSH = 'whammc:flush';
const MEMORY = 'whammc:memory', PRINT = 'whammc:print';
const REPORT_PTR = 'whammc:report_ptr', REPORT_LEN = 'whammc:report_len';
let anonymous = 0; // programs of unknown origin
let isOffered = false; // whether createHost() is called to make the host of a program that has none

/** What is done with reports by default. */
export function logReport(text) {
  console.log(text);
}

function bytesIn(chunks) {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function decode(bytes) {
  try {
    return new TextDecoder().decode(bytes);
  } catch (error) {
    throw new RangeError(`a report of ${bytes.length} bytes does not fit into a string (${error.message})`);
  }
}

/** A report as text; throws a RangeError if it is longer than strings can be, which depends on the engine. */
export const textOf = chunks => decode(bytesIn(chunks));

// There is no error if that fails: the program would get it.
function giveText(chunks, onReport) {
  const bytes = bytesIn(chunks);
  let text;
  try {
    text = decode(bytes);
  } catch (error) {
    warn(`whammc: ${error.message}, and is lost; createHost({ onChunks }) takes reports of any size`);
    return;
  }
  onReport(text, bytes);
}

/** How the hosts print warnings. */
export function warn(text) {
  console.warn(text);
}

/** Whether errors of this kind end a program: traps, exhausted stack, exceptions nobody caught. */
export function isTrap(error) {
  return isErrorOf(error, 'Trap', 'RangeError', 'Exception');
}

const hostTime = () => performance.now();

/** The clock for programs, in milliseconds. */
export function programClock() {
  return parts.clock?.hostClock() ?? hostTime;
}

/**
 * The host of one instance. `onReport(text, bytes)` is called with each complete report, or instead of it `onChunks(list of Uint8Array)`;
 * `onLines(bytes)` gets what scripts print while the program runs, whole lines; `clock()` returns what programs import as whammc.now; `engine` is the program of a sampler in engine-sampler.js.
 */
export function createHost({ onReport = logReport, onChunks = chunks => giveText(chunks, onReport), clock = programClock, engine, onLines = bytes => parts.lines?.(bytes) } = {}) {
  if (!isOffered) parts.hosts.byHand = true;
  const among = parts.modules?.createProgram();
  let instance = null, traps = null, sampler = null, source = null, chunks = [], missed = false, isTold = false;

  function finish() {
    const all = chunks;
    chunks = [];
    if (all.length) onChunks(all);
  }

  function tellLost(text) {
    if (!isTold) warn(`whammc: ${text}`);
    isTold = true;
  }

  // The runtime's output, chunk by chunk: what scripts print, and the report. An empty chunk ends it, or at -1 tells that there is none.
  function write(ptr, len) {
    if (!instance) missed = true; // in the start function: nothing is exported yet, attach() makes up for it
    else if (len === 0) ptr === -1 ? tellLost('no memory for a report') : finish();
    else chunks.push(new Uint8Array(instance.exports[MEMORY].buffer, ptr >>> 0, len >>> 0).slice());
  }

  // Lines that scripts print. 0: not yet.
  function print(ptr, len) {
    if (!instance) missed = true;
    else onLines(new Uint8Array(instance.exports[MEMORY].buffer, ptr >>> 0, len >>> 0).slice());
    return instance ? 1 : 0;
  }

  // The program ends itself; the report has been made.
  function exit(status) {
    const { process } = globalThis;
    if (process?.versions?.node) process.exit(status);
    throw Object.assign(new Error(`the program has ended itself with status ${status}`), { name: 'WhammcExit', status });
  }

  // Samples of the program, if it asks for any: by a thread, or when it says that it has taken one.
  function startSampling(module, url) {
    const threaded = asksFor(module, 'next_sample'), memory = instance.exports['whammc:stack'];
    if (!threaded && !asksFor(module, 'sampled')) return;
    if (threaded) sampler = parts.sampler?.createHostSampler();
    if (!(threaded ? sampler?.attach(memory) : memory)) {
      warn('whammc: nothing is sampled, as a thread cannot have the memory of the stack here: pages must be cross-origin isolated; ' +
        'instrumented with -D tells=true instead of -D outside=true, the program samples itself');
      return;
    }
    source = { title: url || `wasm-${++anonymous}`, module, memory, setInterval: sampler?.setInterval, drain: sampler?.drain };
    (parts.sources ??= []).push(source);
    parts.sampling?.join();
  }

  const host = {
    /** The part of the import object that the program needs. */
    imports: {
      whammc: {
        __proto__: parts.imports, // what only some programs ask for
        write,
        print,
        exit,
        get now() { return clock(); }, // when a program asks for it
        next_sample: place => sampler?.next(place) ?? 0,
        sampled: () => source?.sampled?.(),
        ...among?.imports,
        ...engine?.imports,
      },
    },

    /** Connects to the instance that was made with `imports`, of `module`, which came from `url`, if that is known. */
    attach(made, module, url = '') {
      instance = made;
      traps = parts.traps?.createTraps(made, module, warn);
      engine?.attach(made, module);
      if (made.exports[PRINT]) parts.watchLines?.(made.exports[PRINT]);
      parts.stacks?.add(made.exports);
      if (among) among.exports = made.exports;
      if (module) startSampling(module, url);
      if (missed) host.flush();
      missed = false;
      return made;
    },

    /** Makes the program report what it has counted so far. False if it cannot. */
    flush() {
      const exports = instance?.exports;
      if (typeof exports?.[FLUSH] !== 'function') return false;
      exports[FLUSH]();
      if (typeof exports[REPORT_PTR] === 'function') { // --host=none: the report stays in memory
        const memory = exports[MEMORY] ?? exports.memory, bytes = exports[REPORT_LEN]() >>> 0;
        if (bytes) onChunks([new Uint8Array(memory.buffer, exports[REPORT_PTR]() >>> 0, bytes).slice()]);
        else tellLost('there is nothing to report, or no memory for a report');
      }
      return true;
    },

    /** Calls fn() as if nothing had been written, and forgets what it leaves unfinished. */
    aside(fn) {
      const before = chunks;
      chunks = [];
      try {
        return fn();
      } finally {
        chunks = before;
      }
    },

    /**
     * Takes back what the program has counted too early before it trapped. To be called with what is caught round calls
     * of exports; the same error again, and errors that are no traps, do nothing. Whether there was something to do.
     */
    trapped(error) {
      if (isTrap(error)) host.unwound();
      return traps?.correct(error) ?? false;
    },

    /** To be called when none of the program's functions is active any more, though some have not returned. */
    unwound() {
      instance?.exports['whammc:stack_reset']?.();
    },

    /** Whether trapped(error) would do something, unless the trap was in another instance of the module. */
    mayHaveTrapped: error => traps?.mayOwn(error) ?? false,

    /** fn(exports); if that traps, flushes before the error goes on. */
    run(fn) {
      try {
        return fn(instance.exports);
      } catch (error) {
        host.trapped(error);
        if (isTrap(error)) host.flush();
        throw error;
      }
    },
  };
  return host;
}

/** What makeHost() gives, with createHost(), for a program that knows nothing of hosts. */
export function offerHost(makeHost) {
  isOffered = true;
  try {
    return makeHost();
  } finally {
    isOffered = false;
  }
}

/** Tells the one of the hosts whose program trapped, if that can be known. Nobody has caught the error. */
export function tellTrapped(hosts, error) {
  hosts.forEach(host => host.unwound());
  const owners = hosts.filter(host => host.mayHaveTrapped(error));
  if (owners.length === 1) owners[0].trapped(error);
  else if (owners.length > 1)
    warn('whammc: counts of one of several instances are too high, as the engine does not tell which one trapped; see --exact-traps');
}

/** Calls onTrap(error) for traps that nobody catches, in this context or in a window. Returns what ends that. */
export function watch(onTrap, view = globalThis) {
  const inPage = typeof view.addEventListener === 'function', target = inPage ? view : view.process;
  const [on, off] = inPage ? ['addEventListener', 'removeEventListener'] : ['on', 'off'];
  const names = inPage ? ['error', 'unhandledrejection'] : ['uncaughtExceptionMonitor'];
  const listener = event => {
    const error = inPage ? event.error ?? event.reason : event;
    if (isTrap(error)) onTrap(error);
  };
  names.forEach(name => target?.[on]?.(name, listener));
  return () => names.forEach(name => target?.[off]?.(name, listener));
}
