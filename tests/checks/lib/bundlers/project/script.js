// A worker that imports nothing, as classic workers do.
const log = (at, length) => { said = new TextDecoder().decode(new Uint8Array(program.memory.buffer, at, length)); };
let said = '', program;
const done = fetch('/copied.wasm').then(answer => WebAssembly.instantiateStreaming(answer, { './counter_bg.js': { log } })).then(({ instance }) => {
  program = instance.exports;
  program.greet();
  return { output: `${said} ${program.fib(10)}`, reports: [] };
}).catch(error => ({ output: String(error), reports: [] }));
onmessage = async ({ ports: [port] }) => {
  const { output } = await done;
  port.postMessage({ output, reports: [...globalThis.WasmProf?.saveResults().reports ?? []] });
};
