import init, { fib, greet } from './counter.js';
import { show } from './show.js';
await init(globalThis.wasmBytes);
show(`${greet()} ${fib(10)}`);
