// whammc-classic.js, as the build makes it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The script, of the modules that Makefile.am lists. */
export function makeClassic(source) {
  const [, list] = /^javascript_files = ((?:.*\\\n)*.*)$/m.exec(readFileSync(join(source, 'Makefile.am'), 'utf8'));
  const files = list.replaceAll('\\\n', ' ').trim().split(/\s+/).map(name => join(source, name));
  return execFileSync(join(source, 'scripts/classic'), files, { encoding: 'utf8' });
}
