// <script src=".../whammc/register.js"></script> before all other scripts of a page: until the hook is loaded, which is a module, all
// that loads WebAssembly waits for it. data-script, data-strict and data-cache of the element are its settings.
(() => {
  'use strict';
  const { src, dataset } = document.currentScript, original = {};
  const begin = () => Object.assign(WebAssembly, original);
  Object.defineProperty(globalThis, Symbol.for('whammc.tag'), { value: { settings: { ...dataset }, begin } });

  // Bytes as they are now: the page may change them while it waits.
  const copy = source => {
    if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice();
    return source instanceof ArrayBuffer ? source.slice(0) : source;
  };
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
  const loaded = import(new URL('register-page.mjs', src)).catch(error => {
    begin();
    console.error(`whammc: the hook cannot be loaded, so nothing is instrumented: ${error.message}`);
  });
})();
