// node --import whammc/register PROGRAM: see the manual, docs/npm.md.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { findNative } from './lib/native.mjs';
import { register } from './lib/register.mjs';

const path = name => fileURLToPath(new URL(name, import.meta.url)), COMPILER = path('./whammc.wasm');
const { Module } = WebAssembly; // the engine's own
const isOff = process.env.WHAMMC_REGISTER === 'off', native = isOff ? null : findNative();
const { mainNow } = isOff || native ? {} : await import('./lib/node.mjs');
let compiler = null;

/** Runs a command in this process, when the program has ended: starting another one takes twice as long. Most functions are never called. */
function runHere(args) {
  setFlagsFromString('--wasm-lazy-validation');
  compiler ??= new Module(readFileSync(COMPILER));
  return mainNow(compiler, args);
}

const own = { words: [process.execPath, '--no-warnings', path('./bin/whammc.mjs')], parts: [path('./package.json'), COMPILER], runHere };
await register(import.meta.url, native ? { words: [native], parts: [native] } : own);
