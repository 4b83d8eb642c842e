// Instruments programs with bundled scripts: node same.mjs SCRIPT,... PROGRAM... Prints the hashes of the outputs, or "error".
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { compile } from 'whammc';

const [scripts, ...programs] = process.argv.slice(2);
for (const script of scripts.split(',')) {
  for (const program of programs) {
    let hash = 'error';
    try {
      const { module } = (await compile(script)).instrument(readFileSync(program), { host: 'none', name: program });
      hash = createHash('sha256').update(module).digest('hex');
    } catch (error) {
      if (error.name !== 'WhammcError') throw error;
    }
    console.log(`${script}:${basename(program)} ${hash}`);
  }
}
