// <script src=".../whammc/register.js"></script> before all other scripts of a page: until the hook is loaded, which is a module, all
// that loads WebAssembly waits for it. data-script, data-define, data-strict and data-cache of the element are its settings.
//
// importScripts('.../whammc/register.js') in a classic worker loads the hook at once, as a classic script; globalThis.WHAMMC_SCRIPT and so
// on are its settings.
(() => {
  'use strict';
  const element = globalThis.document?.currentScript, original = {};
  const address = element?.src ?? /(\w+:\/\/\S+?):\d+:\d+/.exec(new Error().stack)?.[1];
  const { Worker } = globalThis, workers = []; // that the page starts before the hook is there, with what it gave for their addresses
  const begin = () => {
    Object.assign(WebAssembly, original);
    if (globalThis.Worker === Early) globalThis.Worker = Worker;
  };
  const Early = Worker && new Proxy(Worker, {
    construct(target, args, newTarget) {
      const worker = Reflect.construct(target, args, newTarget);
      workers.push([worker, args[0]]);
      return worker;
    },
  });
  const isModule = () => new Error("whammc: register.js is a classic script; modules import 'whammc/register', which is register-page.mjs");
  if (!element && typeof importScripts !== 'function') throw isModule();
  Object.defineProperty(globalThis, Symbol.for('whammc.tag'), { value: { settings: { ...element?.dataset }, address, begin, workers } });

  if (!element) {
    try {
      importScripts(new URL('register-worker.js', address));
    } catch (error) {
      throw error instanceof TypeError ? isModule() : error; // in workers that are modules there is no importScripts()
    }
    return;
  }

  // Bytes as they are now: the page may change them while it waits.
  const copy = source => {
    if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice();
    return source instanceof ArrayBuffer ? source.slice(0) : source;
  };
  if (Early) globalThis.Worker = Early;
  for (const name of ['compile', 'instantiate', 'compileStreaming', 'instantiateStreaming'].filter(each => WebAssembly[each])) {
    original[name] = WebAssembly[name];
    WebAssembly[name] = new Proxy(original[name], {
      async apply(target, self, [source, ...rest]) {
        const kept = copy(source);
        await loaded;
        return Reflect.apply(WebAssembly[name], self, [kept, ...rest]);
      },
    });
  }
  const loaded = import(new URL('register-page.mjs', address)).catch(error => {
    begin();
    console.error(`whammc: the hook cannot be loaded, so nothing is instrumented: ${error.message}`);
  });
})();
