// Uses the package lz4-wasm-nodejs that is in the directory of the first argument.
const { resolve } = require('node:path');

const { compress, decompress } = require(resolve(process.argv[2]));

const text = Buffer.from('all work and no play '.repeat(200));
const packed = compress(text);
console.log(packed.length < text.length, Buffer.compare(Buffer.from(decompress(packed)), text));
try {
    decompress(Buffer.from('xx'));
} catch (error) {
    console.log(String(error));
}
