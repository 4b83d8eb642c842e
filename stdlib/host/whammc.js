// The JavaScript host of instrumented programs: provides the imports whammc.write and whammc.now, and collects
// reports.
// An ES module for Node and browsers; scripts/classic makes a classic script of it, which pages load before
// their own code.
//
//   import { createHost } from './whammc.js';
//   const host = createHost({ onReport: text => console.log(text) });
//   const { instance } = await WebAssembly.instantiate(bytes, { ...imports, ...host.imports });
//   host.attach(instance);
//   host.run(exports => exports.main());   // flushes too if main traps
//   host.flush();                          // at any time: the report as it is now
//
// Or, without touching the code that loads the program: patch({ onReport }) once, before that code runs.

const FLUSH = 'whammc:flush', MEMORY = 'whammc:memory';
const REPORT_PTR = 'whammc:report_ptr', REPORT_LEN = 'whammc:report_len';

/** What happens to reports if nothing else was said. */
function logReport(text) {
  console.log(text);
}

/** Whether errors of this kind end a program: traps, exhausted stack, exceptions nobody caught. */
export function isTrap(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError ||
    (typeof WebAssembly.Exception === 'function' && error instanceof WebAssembly.Exception);
}

/**
 * The host of one instance. `onReport(text, bytes)` is called with each complete report.
 */
export function createHost({ onReport = logReport } = {}) {
  let instance = null, pieces = [], missed = false;

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

  const host = {
    /** The part of the import object that the program needs. */
    imports: { whammc: { write, now: () => performance.now() } },

    /** Connects to the instance that was made with `imports`. */
    attach(made) {
      instance = made;
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

    /** fn(exports); if that traps, flushes before the error goes on. */
    run(fn) {
      try {
        return fn(instance.exports);
      } catch (error) {
        if (isTrap(error)) host.flush();
        throw error;
      }
    },
  };
  return host;
}

/** Whether the module is an instrumented one that wants this host. */
export function isInstrumented(module) {
  return WebAssembly.Module.imports(module).some(i => i.module === 'whammc') ||
    WebAssembly.Module.exports(module).some(e => e.name === FLUSH);
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
  const original = { instantiate: WebAssembly.instantiate, instantiateStreaming: WebAssembly.instantiateStreaming,
    Instance: WebAssembly.Instance };

  // One instantiation: the arguments for the engine, and what is to be done with the instance.
  function begin(args, caller = 'instantiate') {
    const imports = args[1];
    let host = null, foreign = false;
    if (args.length === 0 || imports === null || !['undefined', 'object', 'function'].includes(typeof imports))
      return { args, finish: instance => instance }; // which the engine does not take
    function get(_, name) {
      const own = imports?.[name];
      if (names.includes(name)) {
        foreign = foreign || own !== undefined;
        if (own === undefined) return (host = host ?? makeHost()).imports[name];
      } else if (imports === undefined) { // what the engine would have said
        throw new TypeError(`WebAssembly.${caller}(): Imports argument must be present and must be an object`);
      }
      return own;
    }
    function finish(instance, module) {
      if (!host && !foreign && typeof instance.exports[FLUSH] === 'function') host = makeHost(); // --host=none
      if (host) host.attach(instance, module);
      return instance;
    }
    return { args: [args[0], new Proxy({}, { get }), ...args.slice(2)], finish };
  }

  // instantiate and instantiateStreaming: both give a promise, for the instance or for { module, instance }.
  function later(name) {
    return new Proxy(original[name], {
      async apply(target, self, given) {
        const { args, finish } = begin(given);
        const result = await Reflect.apply(target, self, args);
        if (result.instance) finish(result.instance, result.module);
        else finish(result, given[0]);
        return result;
      },
    });
  }

  WebAssembly.instantiate = later('instantiate');
  if (original.instantiateStreaming) WebAssembly.instantiateStreaming = later('instantiateStreaming');
  WebAssembly.Instance = new Proxy(original.Instance, {
    construct(target, given, newTarget) {
      const { args, finish } = begin(given, 'Instance');
      return finish(Reflect.construct(target, args, newTarget), given[0]);
    },
  });
  original.Instance.prototype.constructor = WebAssembly.Instance;

  return () => {
    WebAssembly.instantiate = original.instantiate;
    if (original.instantiateStreaming) WebAssembly.instantiateStreaming = original.instantiateStreaming;
    WebAssembly.Instance = original.Instance.prototype.constructor = original.Instance;
  };
}

/**
 * Lets code that knows nothing of whammc load instrumented programs: see intercept. Also flushes all of them when an
 * uncaught trap is seen and, in a browser, when the page goes away.
 * Options: as for createHost. Returns { hosts, flush(), restore() }.
 */
export function patch(options = {}) {
  const hosts = [];
  const putBack = intercept(['whammc'], () => {
    const host = createHost(options);
    return { imports: host.imports, attach: instance => { hosts.push(host); host.attach(instance); } };
  });

  const flush = () => hosts.forEach(host => host.flush());
  const onError = event => { if (isTrap(event.error ?? event.reason)) flush(); };
  const onNodeError = error => { if (isTrap(error)) flush(); };
  const inBrowser = typeof globalThis.addEventListener === 'function';
  if (inBrowser) {
    globalThis.addEventListener('error', onError);
    globalThis.addEventListener('unhandledrejection', onError);
    globalThis.addEventListener('pagehide', flush);
  } else {
    globalThis.process?.on?.('uncaughtExceptionMonitor', onNodeError);
  }

  function restore() {
    putBack();
    if (inBrowser) {
      globalThis.removeEventListener('error', onError);
      globalThis.removeEventListener('unhandledrejection', onError);
      globalThis.removeEventListener('pagehide', flush);
    } else {
      globalThis.process?.off?.('uncaughtExceptionMonitor', onNodeError);
    }
  }
  return { hosts, flush, restore };
}
