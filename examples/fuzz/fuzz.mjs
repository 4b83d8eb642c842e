// A fuzzer for programs that are instrumented with the script afl: it mutates inputs, and keeps those that reach edges, or numbers
// of executions of edges, which no input before has reached. Any program will do that exports `memory`, `input`, the address of
// a buffer, and `run`, which takes the number of bytes there.
//
//     clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o json.wasm json.c
//     whammc instr --host=none --lib afl=afl.wasm -s afl json.wasm -o fuzzed.wasm
//     node fuzz.mjs fuzzed.wasm '{"a": [1, "b"]}'
//
// usage: node fuzz.mjs [--runs=N] [--seed=N] [--blind] PROGRAM.wasm INPUT...

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values: options, positionals: [path, ...inputs] } = parseArgs({ allowPositionals: true, options: {
  runs: { type: 'string', default: '2000000' }, // to end after
  seed: { type: 'string', default: '1' },
  blind: { type: 'boolean', default: false }, // ignores the coverage
} });

const MAX_INPUT = 32;
const module = new WebAssembly.Module(readFileSync(path));

// ---- random numbers: xorshift32 ----

let state = Number(options.seed) >>> 0 || 1;
function below(n) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
}

// ---- the program ----

const { exports: target } = new WebAssembly.Instance(module);
const buffer = target.input();
const reset = target['afl:reset'], news = target['afl:news'];

// Runs an input. Returns the error that it ends with, or undefined.
function run(input) {
  reset();
  new Uint8Array(target.memory.buffer).set(input, buffer);
  try {
    target.run(input.length);
    return undefined;
  } catch (error) {
    return error;
  }
}

// ---- mutations ----

// Mostly ASCII, as the inputs are text.
const byte = () => below(8) ? 32 + below(95) : below(256);

function mutate(parent, corpus) {
  const bytes = [...parent];
  for (let n = 1 + below(3); n > 0; n--) {
    const at = below(bytes.length + 1);
    switch (below(5)) {
      case 0: if (at < bytes.length) bytes[at] ^= 1 << below(8); break;
      case 1: if (at < bytes.length) bytes[at] = byte(); break;
      case 2: bytes.splice(at, 0, byte()); break;
      case 3: bytes.splice(at, 1 + below(4)); break;
      default: { // a piece of another input, or of this one
        const from = corpus[below(corpus.length)], start = below(from.length + 1);
        bytes.splice(at, 0, ...from.subarray(start, start + 1 + below(8)));
      }
    }
  }
  return Uint8Array.from(bytes.slice(0, MAX_INPUT));
}

// Picks an input, of two the later one: it has come further.
const pick = (corpus) => corpus[Math.max(below(corpus.length), below(corpus.length))];

// ---- the loop ----

const corpus = inputs.map((input) => new TextEncoder().encode(input));
if (corpus.length === 0) corpus.push(new TextEncoder().encode('0'));
for (const input of corpus) {
  run(input);
  news();
}
const limit = Number(options.runs);
for (let runs = 1; runs <= limit; runs++) {
  const input = mutate(pick(corpus), corpus);
  const error = run(input);
  if (error) {
    console.log(`${error.message}, after ${runs} runs, ${corpus.length} inputs: ${JSON.stringify(Buffer.from(input).toString('latin1'))}`);
    process.exit(1);
  }
  if (news() && !options.blind) corpus.push(input);
}
console.log(`nothing found in ${limit} runs, ${corpus.length} inputs`);
