// A program that imports nothing. node alone.cjs MODULE
const { readFileSync } = require('node:fs');

const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(process.argv[2])));
console.log(instance.exports.fib(11));
