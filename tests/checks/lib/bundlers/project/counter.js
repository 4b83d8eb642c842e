// Glue as wasm-bindgen --target web makes it.
let wasm;
const text = (at, length) => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, at, length));
const said = [];

async function load(source, imports) {
  if (typeof Response === 'function' && source instanceof Response) {
    if (typeof WebAssembly.instantiateStreaming === 'function' && source.headers.get('Content-Type') === 'application/wasm')
      return WebAssembly.instantiateStreaming(source, imports);
    return WebAssembly.instantiate(await source.arrayBuffer(), imports);
  }
  return WebAssembly.instantiate(source, imports);
}

export default async function init(source) {
  if (source === undefined) source = new URL('counter_bg.wasm', import.meta.url);
  if (typeof source === 'string' || source instanceof URL) source = fetch(source);
  const { instance } = await load(await source, { './counter_bg.js': { log: (at, length) => said.push(text(at, length)) } });
  wasm = instance.exports;
}
export function greet() { wasm.greet(); return said.at(-1); }
export function fib(n) { return wasm.fib(n); }
