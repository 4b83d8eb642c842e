#!/usr/bin/env node
// The command line. If the native program of the same version is installed, it is run instead, because it is faster.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { findNative } from '../lib/native.mjs';

function runNative(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (status, signal) => resolve(signal ? 128 + constants.signals[signal] : status));
  });
}

const native = findNative(), args = process.argv.slice(2);
if (native) {
  try {
    process.exitCode = await runNative(native, args);
  } catch (error) {
    console.error(`whammc: WHAMMC_NATIVE: ${native}: ${error.message}`);
    process.exitCode = 1;
  }
} else {
  await import('../index.mjs'); // it says where whammc.wasm is
  if (args.length === 1 && args[0] === 'lsp') { // the module cannot wait for input
    const { serveEditor } = await import('../lib/lsp-node.mjs');
    process.exit(await serveEditor());
  }
  const { main } = await import('../lib/node.mjs');
  process.exitCode = await main(args);
}
