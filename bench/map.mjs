// Measures updates of a u32 -> u32 map of the runtime, in nanoseconds, without the loop around them.
// usage: node map.mjs RUNTIME.wasm MAP.wasm RUNS      (js_values.wasm; map.wat assembled)
// Prints a line for each number of keys: keys, ns with the keys 0, 1, 2 ..., ns with scattered keys.
import { readFileSync } from 'node:fs';

const [runtimePath, mapPath, runs] = process.argv.slice(2);
const compile = (path) => new WebAssembly.Module(readFileSync(path));
const STATE = 16, STACK = 49152, START = 114688, MAP_HEADER = 40, U32 = 4, ROUNDS = 5000000;

const memory = new WebAssembly.Memory({ initial: 2 });
const stack = new WebAssembly.Global({ value: 'i32', mutable: true }, STACK);
const env = { memory, __stack_pointer: stack, __memory_base: 0 };
const runtime = new WebAssembly.Instance(compile(runtimePath), { env, whammc: { write() {}, now: () => 0 } }).exports;
const fields = [START + MAP_HEADER, START, 1, 0, 0]; // heap, maps, how many, no image
fields.forEach((v, i) => new DataView(memory.buffer).setUint32(STATE + 4 * i, v, true));
const type = runtime.whammc_str_new(8);
new Uint8Array(memory.buffer).set([1, 1, U32, U32, 1, 75, 1, 86], type + 4);
runtime.whammc_str_intern(type);
const map = new WebAssembly.Instance(compile(mapPath), { env, runtime }).exports;

function time(fn, keys, spread) {
  const start = performance.now();
  fn(type, ROUNDS, keys, spread);
  return (performance.now() - start) * 1e6 / ROUNDS;
}

// The median over the runs; the map is full when measuring begins.
function measure(keys, spread) {
  runtime.whammc_map_free(0);
  map.update(type, keys, keys, spread);
  time(map.loop, keys, spread);
  const once = () => time(map.update, keys, spread) - time(map.loop, keys, spread);
  const results = Array.from({ length: Number(runs) }, once);
  return results.sort((a, b) => a - b)[results.length >> 1].toFixed(1);
}

measure(1000, 1);
for (const keys of [1, 16, 1000, 100000, 1000000]) console.log(keys, measure(keys, 1), measure(keys, 2654435761 | 0));
