// lib/native.mjs - the native whammc that is used instead of the package's own: WHAMMC_NATIVE names it ('no': none), or it is found in
// PATH and has the same version.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether a file is a native program: npm puts scripts into PATH that run the package's own. */
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

/** Its path, or null. It runs without the hook of this process. */
export function findNative() {
  const given = process.env.WHAMMC_NATIVE;
  if (given === 'no') return null;
  if (given) return given;
  const found = (process.env.PATH ?? '').split(delimiter).filter(Boolean).map(folder => join(folder, 'whammc')).find(isNative);
  if (!found) return null;
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const { stdout } = spawnSync(found, ['--version'], { encoding: 'utf8' });
  return stdout?.split('\n')[0] === `whammc ${version}` ? found : null;
}
