import start from './counter_bg.wasm?init';
import { show } from './show.js';
let said = '';
const instance = await start({ './counter_bg.js': { log: (at, length) => {
  said = new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, at, length));
} } });
instance.exports.greet();
show(`${said} ${instance.exports.fib(10)}`);
