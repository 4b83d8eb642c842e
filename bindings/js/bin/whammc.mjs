#!/usr/bin/env node
// The command line. If the native program of the same version is installed, it is run instead, because it is faster: WHAMMC_NATIVE
// names it ('no': do not use it), or it is found in PATH.
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Whether a file is a native program: npm puts scripts into PATH that run this file. */
function isNative(path) {
  try {
    if (!statSync(path).isFile()) return false;
    const fd = openSync(path), start = Buffer.alloc(2);
    readSync(fd, start, 0, 2, 0);
    closeSync(fd);
    return start.toString('latin1') !== '#!';
  } catch {
    return false;
  }
}

function findNative() {
  const given = process.env.WHAMMC_NATIVE;
  if (given === 'no') return null;
  if (given) return given;
  const found = (process.env.PATH ?? '').split(delimiter).filter(Boolean).map(folder => join(folder, 'whammc')).find(isNative);
  if (!found) return null;
  const { stdout } = spawnSync(found, ['--version'], { encoding: 'utf8' });
  return stdout?.split('\n')[0] === `whammc ${version}` ? found : null;
}

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
  const { main } = await import('../lib/node.mjs');
  process.exitCode = await main(args);
}
