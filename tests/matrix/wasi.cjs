// Runs a command in Node's WASI, which nothing else is given to: node wasi.cjs MODULE ARGUMENT...
const { readFileSync } = require('node:fs');
const { WASI } = require('node:wasi');

const [, , path, ...words] = process.argv;
const wasi = new WASI({ version: 'preview1', args: ['app', ...words], env: {}, returnOnExit: true });
const program = new WebAssembly.Module(readFileSync(path));
process.exitCode = wasi.start(new WebAssembly.Instance(program, wasi.getImportObject()));
