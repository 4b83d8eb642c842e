import init, { fib, greet } from './counter.js';
import { show } from './show.js';
await init('./copied.wasm');
show(`${greet()} ${fib(10)}`);
