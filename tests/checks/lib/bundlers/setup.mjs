// The project that the tests of bundlers build, in a folder of its own, with the bundlers and their plugins; pages that show what ran.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch } from '../browser/chromium.mjs';
import { makeFolder, result } from '../tap.mjs';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const WAIT = 20000; // milliseconds
const here = path.dirname(fileURLToPath(import.meta.url));
export const [pkg, modules, whammc, chromium] = process.argv.slice(2);
export const folder = makeFolder('bundlers'), project = path.join(folder, 'project'), dist = path.join(folder, 'dist');

export function must(command, ...args) {
  const done = spawnSync(command, args, { cwd: project, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.error ?? done.stdout + done.stderr}`);
  return done.stdout;
}

fs.cpSync(path.join(here, 'project'), project, { recursive: true });
fs.mkdirSync(path.join(project, 'node_modules'));
for (const name of fs.readdirSync(modules).filter(each => !each.startsWith('.') && each !== 'whammc'))
  fs.symlinkSync(path.join(fs.realpathSync(modules), name), path.join(project, 'node_modules', name));
fs.cpSync(pkg, path.join(project, 'node_modules', 'whammc'), { recursive: true });
fs.writeFileSync(path.join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }\n');
must('wat2wasm', '--debug-names', 'counter_bg.wat', '-o', 'counter_bg.wasm');
fs.mkdirSync(path.join(project, 'public'));
fs.copyFileSync(path.join(project, 'counter_bg.wasm'), path.join(project, 'public', 'copied.wasm'));

const require = createRequire(path.join(project, 'x.js'));
const load = async name => (await import(pathToFileURL(path.join(project, 'node_modules', name)))).default;
const use = async name => import(pathToFileURL(require.resolve(name)));
export const plugins = Object.fromEntries(await Promise.all(['vite', 'rollup', 'webpack', 'rspack', 'esbuild'].map(async name =>
  [name, await load(`whammc/plugin/${name}.mjs`)])));
export const vite = await import(pathToFileURL(path.join(project, 'node_modules/vite/dist/node/index.js')));
export const { rollup, watch } = await import(pathToFileURL(path.join(project, 'node_modules/rollup/dist/es/rollup.js')));
export const esbuild = (await use('esbuild')).default, webpack = (await use('webpack')).default;
export const rspack = fs.existsSync(path.join(modules, '@rspack/core')) ? (await use('@rspack/core')).rspack : null;

export const OPTIONS = { script: 'count.whamm' };
export const browser = chromium ? await launch(chromium, path.join(folder, 'browser')) : null;

export function serve(root) {
  const server = http.createServer((request, response) => {
    const file = path.join(root, decodeURIComponent(new URL(request.url, 'http://x').pathname));
    fs.readFile(file, (error, bytes) => {
      response.writeHead(error ? 404 : 200, { 'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
      response.end(bytes);
    });
  });
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** What show() has shown in a page, or another variable of it. */
export async function visit(url, name = 'shown') {
  const tab = await browser.open(url), until = Date.now() + WAIT;
  for (;;) {
    const shown = await tab.evaluate(`JSON.stringify(globalThis.${name} ?? null)`);
    if (shown !== 'null') return JSON.parse(shown);
    if (Date.now() > until) throw new Error(`nothing was shown at ${url}: ${tab.printed.join('\n')}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** Work that fails is a test that fails. */
export async function attempt(title, work) {
  try {
    await work();
  } catch (error) {
    result(false, title, error.stack ?? String(error));
  }
}

/** The page of Vite, which loads `entry`. */
export const html = entry => {
  fs.writeFileSync(path.join(project, 'index.html'), `<!doctype html><html><head></head><body><script type="module" src="/${entry}"></script></body></html>`);
};

export const viteConfig = (instrumented, more) => ({ root: project, configFile: false, logLevel: 'silent', clearScreen: false, base: './',
  plugins: instrumented ? [plugins.vite(OPTIONS)] : [], ...more });
