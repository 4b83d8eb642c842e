import { fib, greet, memory } from './counter_bg.wasm';
import { said, setMemory } from './counter_bg.js';
import { show } from './show.js';
setMemory(memory);
greet();
show(`${said[0]} ${fib(10)}`);
