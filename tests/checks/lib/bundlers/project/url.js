import init, { fib, greet } from './counter.js';
import url from './counter_bg.wasm?url';
import { show } from './show.js';
await init(url);
show(`${greet()} ${fib(10)}`);
