// Prints as JSON what kernels.mjs measures in Node. usage: node [--require OUT.js] kernels-node.mjs MODULE.wasm FRAMES
import { readFileSync } from 'node:fs';
import { measure } from './kernels.mjs';

console.log(JSON.stringify(await measure(readFileSync(process.argv[2]), Number(process.argv[3]))));
