// Builds dist/: the extension as one file, and the grammar; if the npm package whammc is in node_modules, also the extension for browsers.
//
//   WHAMMC_SOURCE=FOLDER npm run build
import { build } from 'esbuild';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeGrammar } from './grammar.mjs';

const source = process.env.WHAMMC_SOURCE ?? '../..', modules = 'node_modules', compiler = `${modules}/whammc`;
mkdirSync('dist', { recursive: true });
writeFileSync('dist/whamm.tmLanguage.json', JSON.stringify(await makeGrammar(source)));

const common = {
  bundle: true, minify: true, metafile: true, external: ['vscode'], format: 'cjs', legalComments: 'none', logLevel: 'warning',
  alias: { 'playground/arguments': path.resolve(source, 'playground/src/arguments.mjs') },
};
const browser = { ...common, platform: 'browser', target: 'es2022' };
const built = [await build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', platform: 'node', target: 'node20' })];
let licences = '';
if (existsSync(`${compiler}/whammc.wasm`)) {
  built.push(await build({ ...browser, entryPoints: ['src/browser.ts'], outfile: 'dist/browser.js' }),
    // The worker is given whammc.wasm, so its place does not matter, but must be a URL.
    await build({ ...browser, entryPoints: ['src/server.ts'], outfile: 'dist/server.js', format: 'iife', define: { 'import.meta.url': '"file:///"' } }));
  copyFileSync(`${compiler}/whammc.wasm`, 'dist/whammc.wasm');
  licences += readFileSync(`${compiler}/LICENSES-OF-LIBRARIES`, 'utf8');
}

// The licences of the packages that have become part of the files.
const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
for (const name of [...new Set(inputs.map(input => input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]))].filter(Boolean).sort()) {
  if (name === 'whammc') continue;
  const file = readdirSync(`${modules}/${name}`).find(each => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`the package ${name} has no licence`);
  licences += `\n${name}\n${'='.repeat(name.length)}\n\n${readFileSync(`${modules}/${name}/${file}`, 'utf8')}`;
}
writeFileSync('dist/LICENSES-OF-LIBRARIES', licences.trimStart());
