// Gives what the compiler allocates addresses above 2 GB, which are negative as i32, as large programs and reports do: node --import
// high.mjs. The memory below is not touched, so it costs nothing.
const GB = 2 ** 30;

WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, given, self) {
    const instance = Reflect.construct(target, given, self), { exports } = instance, { __wasm_call_ctors: begin } = exports;
    if (!exports.whammc_new) return instance;
    const beginHigh = () => {
      begin();
      for (const size of [GB, GB]) if (!exports.malloc(size)) throw new Error('there is no memory for that');
    };
    return { exports: { ...exports, __wasm_call_ctors: beginHigh } };
  },
});
