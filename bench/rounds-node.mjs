// Runs WASI programs in turn, with the same arguments, and prints the results of rounds.mjs as JSON: CPU time of the thread. usage:
// node rounds-node.mjs ROUNDS MODULE.wasm... -- [ARGUMENT...]
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
import { measure } from './rounds.mjs';

const [rounds, ...words] = process.argv.slice(2), end = words.indexOf('--');
const memory = new WebAssembly.Memory({ initial: 1 }), time = new DataView(memory.buffer);
const system = new WASI({ version: 'preview1' });
system.initialize({ exports: { memory } });

function now() {
    system.wasiImport.clock_time_get(3, 0n, 0); // CLOCK_THREAD_CPUTIME_ID
    return Number(time.getBigUint64(0, true)) / 1e6;
}

const programs = words.slice(0, end).map(path => readFileSync(path));
console.log(JSON.stringify(await measure(programs, words.slice(end + 1), Number(rounds), now)));
