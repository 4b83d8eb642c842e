// Runs a WASI program. usage: node run-wasi.mjs MODULE.wasm [ARGUMENT...]
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [path, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: ['program', ...args], env: {}, returnOnExit: true });
const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), wasi.getImportObject());
process.exitCode = wasi.start(instance);
