import init, { fib, greet } from './counter.js';
import bytes from './counter_bg.wasm';
import { show } from './show.js';
await init(bytes instanceof Uint8Array ? bytes : new URL(bytes, import.meta.url));
show(`${greet()} ${fib(10)}`);
