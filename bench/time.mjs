// Runs a WASI program and appends its CPU time in milliseconds to a file, without the start-up of Node. usage: node time.mjs
// RESULT-FILE MODULE.wasm [ARGUMENT...]
import { appendFileSync, readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [result, path, ...args] = process.argv.slice(2);
const bytes = readFileSync(path);
const wasi = new WASI({ version: 'preview1', args: [path, ...args], env: {} });
const before = process.cpuUsage();
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), wasi.getImportObject());
process.exitCode = wasi.start(instance);
const spent = process.cpuUsage(before);
appendFileSync(result, `${(spent.user + spent.system) / 1000}\n`);
