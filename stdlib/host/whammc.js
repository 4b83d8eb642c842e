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
 * Replaces WebAssembly.instantiate, WebAssembly.instantiateStreaming and WebAssembly.Instance, so that code
 * that knows nothing of whammc can load instrumented programs; other modules pass unchanged. Also
 * flushes all of them when an uncaught trap is seen and, in a browser, when the page goes away.
 * Options: as for createHost. Returns { hosts, flush(), restore() }.
 */
export function patch(options = {}) {
  const original = { instantiate: WebAssembly.instantiate, Instance: WebAssembly.Instance,
    instantiateStreaming: WebAssembly.instantiateStreaming };
  const hosts = [];

  // The import object with our part in it (what the page itself gives goes first), and the host.
  function prepare(module, imports) {
    if (!isInstrumented(module)) return [imports, null];
    const host = createHost(options);
    return [{ ...imports, whammc: imports?.whammc ?? host.imports.whammc }, host];
  }

  function connect(host, instance) {
    if (host) {
      hosts.push(host);
      host.attach(instance);
    }
    return instance;
  }

  async function instantiateModule(module, imports, ...rest) {
    const [all, host] = prepare(module, imports);
    return connect(host, await original.instantiate.call(WebAssembly, module, all, ...rest));
  }

  WebAssembly.instantiate = async function instantiate(source, imports, ...rest) {
    if (source instanceof WebAssembly.Module) return instantiateModule(source, imports, ...rest);
    const module = await WebAssembly.compile(source, ...rest);
    return { module, instance: await instantiateModule(module, imports, ...rest) };
  };

  if (original.instantiateStreaming) {
    WebAssembly.instantiateStreaming = async function instantiateStreaming(source, imports, ...rest) {
      const module = await WebAssembly.compileStreaming(source, ...rest);
      return { module, instance: await instantiateModule(module, imports, ...rest) };
    };
  }

  WebAssembly.Instance = new Proxy(original.Instance, {
    construct(target, [module, imports], newTarget) {
      if (!(module instanceof WebAssembly.Module)) return Reflect.construct(target, [module, imports], newTarget);
      const [all, host] = prepare(module, imports);
      return connect(host, Reflect.construct(target, [module, all], newTarget));
    },
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
    WebAssembly.instantiate = original.instantiate;
    WebAssembly.Instance = original.Instance;
    if (original.instantiateStreaming) WebAssembly.instantiateStreaming = original.instantiateStreaming;
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
