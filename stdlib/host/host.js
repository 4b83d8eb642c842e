// What every host of instrumented programs in JavaScript shares: the imports whammc.write and whammc.now of one program, its report,
// and how programs get them that are loaded by code which knows nothing of whammc. whammc.js is the interface for others.
import './traps.js';
import './clock.js';
import './sampler.js';
import { asksFor, parts } from './parts.js';

export const FLUSH = 'whammc:flush';
const MEMORY = 'whammc:memory';
const REPORT_PTR = 'whammc:report_ptr', REPORT_LEN = 'whammc:report_len';
let anonymous = 0; // programs of unknown origin

/** What is done with reports by default. */
export function logReport(text) {
  console.log(text);
}

/** How the hosts print warnings. */
export function warn(text) {
  console.warn(text);
}

/** Whether errors of this kind end a program: traps, exhausted stack, exceptions nobody caught. */
export function isTrap(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError ||
    (typeof WebAssembly.Exception === 'function' && error instanceof WebAssembly.Exception);
}

const hostTime = () => performance.now();

/** The clock for programs, in milliseconds. */
export function programClock() {
  return parts.clock?.hostClock() ?? hostTime;
}

/**
 * The host of one instance. `onReport(text, bytes)` is called with each complete report; `clock()` returns what programs import as
 * whammc.now; `engine` is the program of a sampler in engine-sampler.js.
 */
export function createHost({ onReport = logReport, clock = programClock, engine } = {}) {
  let instance = null, traps = null, sampler = null, source = null, pieces = [], missed = false;

  function deliver(bytes) {
    onReport(new TextDecoder().decode(bytes), bytes);
  }

  function finish() {
    const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    pieces = [];
    if (bytes.length) deliver(bytes);
  }

  // The runtime's output, piece by piece: what scripts print, and the report. An empty piece ends it.
  function write(ptr, len) {
    if (!instance) missed = true; // in the start function: nothing is exported yet, attach() makes up for it
    else if (len === 0) finish();
    else pieces.push(new Uint8Array(instance.exports[MEMORY].buffer, ptr >>> 0, len >>> 0).slice());
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
        write,
        get now() { return clock(); }, // when a program asks for it
        next_sample: place => sampler?.next(place) ?? 0,
        sampled: () => source?.sampled?.(),
        ...engine?.imports,
      },
    },

    /** Connects to the instance that was made with `imports`, of `module`, which came from `url`, if that is known. */
    attach(made, module, url = '') {
      instance = made;
      traps = parts.traps?.createTraps(made, module, warn);
      engine?.attach(made, module);
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
        const memory = exports[MEMORY] ?? exports.memory;
        deliver(new Uint8Array(memory.buffer, exports[REPORT_PTR]() >>> 0, exports[REPORT_LEN]() >>> 0).slice());
      }
      return true;
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

// (module (memory 0) (memory 0))
const TWO_MEMORIES = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 2, 0, 0, 0, 0]);

// Says more about the error of an engine without multi-memory, which could not compile `source`: bytes, or whatever has them.
function explain(error, source) {
  const bytes = source?.buffer ?? source, known = bytes instanceof ArrayBuffer;
  const ours = !known || new TextDecoder('latin1').decode(bytes).includes('whammc');
  if (error instanceof WebAssembly.CompileError && /memor(y count|ies)/.test(error.message) && ours)
    error.message += '; the instrumented program needs multi-memory, which this engine does not have, but Node 22, Chrome 120, ' +
      'Firefox 125 and later ones do; where there is WASI, `whammc instr --link=import` avoids it';
  return error;
}

// Lets what compiles say that the engine has no multi-memory. Returns what puts it back.
function explainCompilers() {
  const original = {}, names = ['Module', 'compile', 'compileStreaming', 'instantiate', 'instantiateStreaming'];
  if (WebAssembly.validate(TWO_MEMORIES)) return () => {};
  for (const name of names.filter(one => WebAssembly[one])) {
    original[name] = WebAssembly[name];
    WebAssembly[name] = new Proxy(original[name], {
      construct(target, args, newTarget) {
        try {
          return Reflect.construct(target, args, newTarget);
        } catch (error) {
          throw explain(error, args[0]);
        }
      },
      apply(target, self, args) {
        const result = Reflect.apply(target, self, args);
        return typeof result?.catch === 'function' ? result.catch(error => { throw explain(error, args[0]); }) : result;
      },
    });
  }
  original.Module.prototype.constructor = WebAssembly.Module;
  return () => {
    Object.assign(WebAssembly, original);
    original.Module.prototype.constructor = original.Module;
  };
}

// Code that goes through all exports, as Emscripten's loader does, finds what the program exports without instrumentation. The
// exports that instrumentation has added come after those, the first as whammc:...; they are there for those who know their names.
// Some grow the memory. Scripts of Go's programs keep a view of that, which `renew` makes anew, until the program has ended.
function hideExports(instance, renew) {
  const { exports } = instance, names = Object.keys(exports), first = names.findIndex(name => name.startsWith('whammc:'));
  if (first < 0) return;
  const own = Object.create(null);
  const renewing = f => (...args) => {
    const result = f(...args);
    try { renew(0); } catch { /* it has ended */ }
    return result;
  };
  names.forEach((name, i) => {
    const value = exports[name], enumerable = i < first;
    Object.defineProperty(own, name, { value: !enumerable && renew && value.call ? renewing(value) : value, enumerable });
  });
  Object.defineProperty(instance, 'exports', { value: Object.freeze(own) });
}

/**
 * Replaces WebAssembly.instantiate, WebAssembly.instantiateStreaming and WebAssembly.Instance, so that code that
 * knows nothing of whammc can load programs that import one of the modules `names`, or export whammc:flush.
 * makeHost() gives the host of such an instance: { imports, attach(instance, module) }. What the page itself gives
 * goes first.
 *
 * The engine gets an import object that asks the page's own for everything; only what that has not got is
 * looked for here. So for all other modules nothing changes: the engine itself compiles them, in one go, and says
 * what is wrong with them. Returns what puts it all back.
 */
export function intercept(names, makeHost) {
  const endExplaining = explainCompilers();
  const { instantiate, instantiateStreaming, Instance } = WebAssembly;

  // One instantiation: the arguments for the engine, and what is to be done with the instance.
  function begin(args, caller = 'instantiate') {
    const imports = args[1];
    let host = null, foreign = false, renew;
    if (args.length === 0 || imports === null || !['undefined', 'object', 'function'].includes(typeof imports))
      return { args, finish: instance => instance }; // which the engine does not take
    function get(_, name) {
      const own = imports?.[name];
      renew ??= own?.['runtime.resetMemoryDataView'];
      if (names.includes(name)) {
        foreign ||= own !== undefined;
        if (own === undefined) return (host ??= makeHost()).imports[name];
      } else if (imports === undefined) { // what the engine would have said
        throw new TypeError(`WebAssembly.${caller}(): Imports argument must be present and must be an object`);
      }
      return own;
    }
    function finish(instance, module, url) {
      if (!host && !foreign && typeof instance.exports[FLUSH] === 'function') host = makeHost(); // --host=none
      if (host) {
        host.attach(instance, module, url);
        hideExports(instance, renew);
      }
      return instance;
    }
    return { args: [args[0], new Proxy({}, { get }), ...args.slice(2)], finish };
  }

  // instantiate and instantiateStreaming: both give a promise, for the instance or for { module, instance }.
  function later(original) {
    return new Proxy(original, {
      async apply(target, self, given) {
        const { args, finish } = begin(given);
        const result = await Reflect.apply(target, self, args);
        const url = original === instantiateStreaming ? (await given[0]).url : '';
        if (result.instance) finish(result.instance, result.module, url);
        else finish(result, given[0]);
        return result;
      },
    });
  }

  WebAssembly.instantiate = later(instantiate);
  if (instantiateStreaming) WebAssembly.instantiateStreaming = later(instantiateStreaming);
  WebAssembly.Instance = new Proxy(Instance, {
    construct(target, given, newTarget) {
      const { args, finish } = begin(given, 'Instance');
      return finish(Reflect.construct(target, args, newTarget), given[0]);
    },
  });
  Instance.prototype.constructor = WebAssembly.Instance;

  return () => {
    WebAssembly.instantiate = instantiate;
    if (instantiateStreaming) WebAssembly.instantiateStreaming = instantiateStreaming;
    WebAssembly.Instance = Instance.prototype.constructor = Instance;
    endExplaining();
  };
}

/** Tells the one of the hosts whose program trapped, if that can be known. Nobody has caught the error. */
export function tellTrapped(hosts, error) {
  hosts.forEach(host => host.unwound());
  const owners = hosts.filter(host => host.mayHaveTrapped(error));
  if (owners.length === 1) owners[0].trapped(error);
  else if (owners.length > 1)
    warn('whammc: counts of one of several instances are too high, as the engine does not tell which one trapped; see --exact-traps');
}

/** Calls onTrap(error) for traps that nobody catches. Returns what ends that. */
export function watch(onTrap) {
  const inPage = typeof globalThis.addEventListener === 'function', target = inPage ? globalThis : globalThis.process;
  const [on, off] = inPage ? ['addEventListener', 'removeEventListener'] : ['on', 'off'];
  const names = inPage ? ['error', 'unhandledrejection'] : ['uncaughtExceptionMonitor'];
  const listener = event => {
    const error = inPage ? event.error ?? event.reason : event;
    if (isTrap(error)) onTrap(error);
  };
  names.forEach(name => target?.[on]?.(name, listener));
  return () => names.forEach(name => target?.[off]?.(name, listener));
}
