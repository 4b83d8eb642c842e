// node --import whammc/register PROGRAM: see the manual, docs/npm.md.
import { fileURLToPath } from 'node:url';
import { register } from './lib/register.mjs';

const path = name => fileURLToPath(new URL(name, import.meta.url));

register(import.meta.url, {
  words: [process.execPath, '--no-warnings', path('./bin/whammc.mjs')], parts: [path('./package.json'), path('./whammc.wasm')],
});
