// A program that runs wherever it is loaded, and tells those who send it a port what it has shown.
import init, { fib, greet } from './counter.js';
import { show } from './show.js';
const done = init().then(() => show(`${greet()} ${fib(10)}`)).catch(error => { globalThis.shown = { output: String(error), reports: [] }; });
const tell = ({ ports: [port] }) => done.then(() => port.postMessage(globalThis.shown));
if (typeof document === 'undefined') addEventListener('onconnect' in globalThis ? 'connect' : 'message', tell);
export default done;
