// The JavaScript host of instrumented programs: provides the imports whammc.write and whammc.now, and collects
// reports.
// An ES module for Node and browsers; scripts/classic makes a classic script of it, which pages load before
// their own code.
//
//   import { createHost } from './whammc.js';
//   const host = createHost({ onReport: text => console.log(text) });
//   const { instance, module } = await WebAssembly.instantiate(bytes, { ...imports, ...host.imports });
//   host.attach(instance, module);
//   host.run(exports => exports.main());   // flushes too if main traps
//   host.flush();                          // at any time: the report as it is now
//
// Or, without touching the code that loads the program: patch({ onReport }) once, before that code runs.
import './sampling-profiler.js';
import './suspend.js';
import './modules.js';
import { FLUSH, createHost, tellTrapped, watch } from './host.js';
import { intercept } from './intercept.js';
import { parts } from './parts.js';
import { beforeSignals } from './node/signals.js';
export { createHost, isTrap, tellTrapped, watch } from './host.js';
export { watchContexts } from './node/contexts.js';
export { bytesOf, callEngine, intercept } from './intercept.js';

/** Whether the module is an instrumented one that wants this host. */
export function isInstrumented(module) {
  return parts.Module.imports(module).some(i => i.module === 'whammc') ||
    parts.Module.exports(module).some(e => e.name === FLUSH);
}

/** Calls flush() when the page goes away, or a signal ends Node. Returns what ends that. */
export function watchEnd(flush) {
  if (typeof globalThis.addEventListener !== 'function') return beforeSignals(flush);
  globalThis.addEventListener('pagehide', flush);
  return () => globalThis.removeEventListener('pagehide', flush);
}

/**
 * Lets code that knows nothing of whammc load instrumented programs: see intercept. Also flushes all of them when an
 * uncaught trap is seen, before a signal ends Node and, in a browser, when the page goes away.
 * Options: as for createHost. Returns { hosts, flush(), restore() }.
 */
export function patch(options = {}) {
  const hosts = [];
  const putBack = intercept(['whammc'], () => {
    const host = createHost(options);
    const attach = (instance, module, url) => {
      hosts.push(host);
      host.attach(instance, module, url);
    };
    return { imports: host.imports, attach };
  });

  const flush = () => hosts.forEach(host => host.flush());
  const ends = [putBack, watch(error => {
    tellTrapped(hosts, error);
    flush();
  }), watchEnd(flush)];
  return { hosts, flush, restore: () => ends.forEach(end => end()) };
}
