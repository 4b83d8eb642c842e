// The plugins in their bundlers, on the project beside this file.
//   node test_bundlers.mjs PACKAGE MODULES WHAMMC CHROMIUM
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { end, removeFolder, result } from '../tap.mjs';
import {
  OPTIONS, attempt, browser, dist, esbuild, folder, html, modules, must, plugins, project, rollup, rspack, serve, visit, vite, viteConfig, watch, webpack, whammc,
} from './setup.mjs';

const FIB = 177; // calls of fib(10)

const hasEmscripten = spawnSync('emcc', ['--version']).status === 0;
if (hasEmscripten) must('emcc', 'app.c', '-O1', '-g2', '-sMODULARIZE', '-sEXPORT_ES6', '-sENVIRONMENT=web', '-o', 'app.mjs');

// ---- what runs ----

const page = '<!doctype html><script type="module" src="./main.js"></script>';

async function visitFolder(root) {
  if (!fs.existsSync(path.join(root, 'index.html'))) fs.writeFileSync(path.join(root, 'index.html'), page);
  const server = await serve(root);
  try {
    return await visit(`http://127.0.0.1:${server.address().port}/index.html`);
  } finally {
    server.close();
  }
}

// ---- what it counts natively ----

const CALLS = /^.*calls.*$/gm;
const callsOf = ({ reports }) => reports.flatMap(text => text.match(CALLS) ?? []).join('\n');

/** The report of a module that the native whammc has instrumented: `run(bytes)` is code that loads it. */
function native(module, code) {
  must(whammc, 'instr', '--host=js', '-s', 'count.whamm', module, '-o', 'native.wasm');
  fs.writeFileSync(path.join(project, 'native.mjs'), `import './native.cjs'; import fs from 'node:fs';
    globalThis.wasmBytes = fs.readFileSync('native.wasm'); ${code}`);
  fs.renameSync(path.join(project, 'native.js'), path.join(project, 'native.cjs'));
  return JSON.parse(must('node24', '--no-warnings', 'native.mjs'));
}

const wanted = native('counter_bg.wasm', "await import('./main.js');");
result(wanted.output === 'hello from wasm 55' && new RegExp(`\\b${FIB + 1}\\b`).test(callsOf(wanted)), 'natively: 177 calls of fib and one of greet', wanted);
const wantedApp = hasEmscripten ? native('app.wasm', `const { default: create } = await import('./app-node.mjs'); const { show } = await import('./show.js');
  const lines = []; const app = await create({ print: line => lines.push(line), wasmBinary: wasmBytes }); app._work(10); show(lines.join('\\n'));`
  .replace("'./app-node.mjs'", "(fs.writeFileSync('app-node.mjs', fs.readFileSync('app.mjs', 'utf8')), './app-node.mjs')")
  .replace(/^/, 'globalThis.window = globalThis; globalThis.self = globalThis;')) : null;
if (hasEmscripten) result(/^\d+ steps$/.test(wantedApp.output) && callsOf(wantedApp) !== '', 'natively: the Emscripten project', wantedApp);

// ---- the bundlers ----

/** `build(plugins, out, entry)` makes a bundle; it is run plain and with the plugin. */
async function compare(title, make, expected, run = visitFolder) {
  if (run === visitFolder && !browser) return console.log(`# ${title}: there is no Chromium`);
  await attempt(title, async () => {
    const seen = [];
    for (const instrumented of [false, true]) {
      fs.rmSync(dist, { recursive: true, force: true });
      fs.mkdirSync(dist);
      seen.push(await run(await make(instrumented, dist) ?? dist));
    }
    const [plain, counted] = seen;
    result(plain.output === expected.output && plain.reports.length === 0, `${title}: as it is`, plain, expected);
    result(counted.output === plain.output && callsOf(counted) !== '' && callsOf(counted) === callsOf(expected), `${title}: instrumented`, counted, expected);
  });
}

const inNode = root => JSON.parse(must('node24', '--no-warnings', path.join(root, 'main.js')));
async function viteBuild(entry, instrumented, out, build = {}) {
  html(entry);
  await vite.build(viteConfig(instrumented, { build: { outDir: out, emptyOutDir: true, target: 'esnext', ...build } }));
}

async function viteServe(entry, instrumented) {
  html(entry);
  const server = await vite.createServer(viteConfig(instrumented, { base: '/', server: { host: '127.0.0.1', port: 0, watch: null, fs: { allow: [project, fs.realpathSync(modules)] } },
    cacheDir: path.join(folder, 'vite-cache') }));
  await server.listen();
  return server;
}
async function visitServer(server) {
  try {
    return await visit(`http://127.0.0.1:${server.httpServer.address().port}/`);
  } finally {
    await server.close();
  }
}

const programs = [['main.js', wanted, 'new URL'], ['url.js', wanted, '?url'], ['init.js', wanted, '?init'], ['public.js', wanted, 'public'],
  ...hasEmscripten ? [['emscripten.js', wantedApp, 'Emscripten'], ['located.js', wantedApp, 'Emscripten with locateFile']] : []];
for (const [entry, expected, what] of programs) {
  await compare(`Vite, build, ${what}`, (instrumented, out) => viteBuild(entry, instrumented, out), expected);
  await compare(`Vite, dev, ${what}`, instrumented => viteServe(entry, instrumented), expected, visitServer);
}
await compare('Vite, build, not inlined', (instrumented, out) => viteBuild('main.js', instrumented, out, { assetsInlineLimit: 0 }), wanted);

async function rollupBuild(entry, instrumented, out, more = []) {
  const bundle = await rollup({ input: path.join(project, entry), plugins: [instrumented && plugins.rollup({ ...OPTIONS, script: path.join(project, 'count.whamm') }), ...more],
    onwarn(warning) { throw Object.assign(new Error(warning.message), warning); } });
  await bundle.write({ dir: out, format: 'es', entryFileNames: 'main.js', sourcemap: true });
  await bundle.close();
  if (!instrumented) for (const name of ['counter_bg.wasm', 'app.wasm']) if (fs.existsSync(path.join(project, name))) fs.copyFileSync(path.join(project, name), path.join(out, name));
}
await compare('Rollup, new URL', (instrumented, out) => rollupBuild('main.js', instrumented, out), wanted);
if (hasEmscripten) await compare('Rollup, Emscripten', (instrumented, out) => rollupBuild('emscripten.js', instrumented, out), wantedApp);

function pack(tool, plugin, entry, instrumented, out, more = {}) {
  const compiler = tool({ context: project, mode: 'production', entry: `./${entry}`, devtool: 'source-map', output: { path: out, filename: 'main.js', publicPath: 'auto', module: true },
    experiments: { asyncWebAssembly: true, outputModule: true, topLevelAwait: true }, plugins: instrumented ? [plugin(OPTIONS)] : [], performance: false,
    resolve: { fallback: { module: false } }, ...more });
  return new Promise((resolve, reject) => compiler.run((error, stats) => compiler.close(() => {
    const { errors = [], warnings = [] } = stats?.toJson({ errors: true, warnings: true }) ?? {};
    if (error || errors.length) reject(error ?? new Error(errors.map(each => each.message).join('\n')));
    else if (warnings.length) reject(new Error(warnings.map(each => each.message).join('\n')));
    else resolve();
  })));
}
for (const [name, tool, plugin] of [['webpack', webpack, plugins.webpack], ['Rspack', rspack, plugins.rspack]]) {
  if (!tool) continue;
  await compare(`${name}, new URL`, (instrumented, out) => pack(tool, plugin, 'main.js', instrumented, out), wanted);
  await compare(`${name}, asyncWebAssembly`, (instrumented, out) => pack(tool, plugin, 'linked.js', instrumented, out), wanted);
  await compare(`${name}, asyncWebAssembly in Node`, (instrumented, out) => pack(tool, plugin, 'linked.js', instrumented, out, { target: 'node20' })
    .then(() => fs.writeFileSync(path.join(out, 'package.json'), '{ "type": "module" }')), wanted, inNode);
  if (hasEmscripten) await compare(`${name}, Emscripten`, (instrumented, out) => pack(tool, plugin, 'emscripten.js', instrumented, out), wantedApp);
}

async function bundle(entry, instrumented, out, loader, more = {}) {
  const done = await esbuild.build({ absWorkingDir: project, entryPoints: [entry], entryNames: 'main', bundle: true, format: 'esm', outdir: out, logLevel: 'silent',
    sourcemap: true, loader: { '.wasm': loader }, plugins: instrumented ? [plugins.esbuild(OPTIONS)] : [], ...more });
  if (done.warnings.length) throw new Error(JSON.stringify(done.warnings));
}
for (const loader of ['file', 'binary', 'dataurl'])
  await compare(`esbuild, loader ${loader}`, (instrumented, out) => bundle('binary.js', instrumented, out, loader), wanted);
await compare('esbuild, new URL of a copied module', (instrumented, out) => bundle('main.js', instrumented, out, 'copy',
  { entryPoints: ['main.js', 'counter_bg.wasm'], entryNames: '[name]' }), wanted);
await compare('esbuild in Node, loader binary', (instrumented, out) => bundle('binary.js', instrumented, out, 'binary', { platform: 'node', target: 'es2022' })
  .then(() => fs.writeFileSync(path.join(out, 'package.json'), '{ "type": "module" }')), wanted, inNode);

// ---- mistakes ----

const wrong = { script: { name: 'wrong.whamm', text: 'report var calls: u64;\nwasm:func:entry { cells++; }\n' } };
const failure = async work => { try { await work(); } catch (error) { return error; } return null; };
const aboutIt = text => /wrong\.whamm:2:19: error: 'cells' is not declared/.test(text);

html('main.js');
{
  const error = await failure(() => vite.build(viteConfig(false, { plugins: [plugins.vite(wrong)], build: { outDir: dist, emptyOutDir: true } })));
  result(error && aboutIt(error.message), 'Vite tells what is wrong with a script', String(error?.message));
  const rolled = await failure(() => rollup({ input: path.join(project, 'main.js'), plugins: [plugins.rollup(wrong)] }));
  result(rolled && aboutIt(rolled.message) && rolled.loc?.line === 2 && rolled.loc.column === 18, 'Rollup tells it with its place', String(rolled), rolled?.loc);
  const built = await failure(() => bundle('binary.js', false, dist, 'file', { plugins: [plugins.esbuild(wrong)] }));
  const at = built?.errors?.[0]?.location;
  result(at?.line === 2 && at.column === 18 && /wrong\.whamm$/.test(at.file), 'esbuild tells it with its place', String(built), at);
  const packed = await failure(() => pack(webpack, () => plugins.webpack(wrong), 'main.js', true, dist));
  result(packed && aboutIt(packed.message), 'webpack tells it', String(packed));
}

// A module that cannot be instrumented: a warning, and with strict an error.
fs.writeFileSync(path.join(project, 'broken.wasm'), 'no module');
fs.writeFileSync(path.join(project, 'broken.js'), "console.log(new URL('broken.wasm', import.meta.url));\n");
{
  const warnings = [], options = strict => ({ input: path.join(project, 'broken.js'), onwarn: warning => warnings.push(warning.message),
    plugins: [plugins.rollup({ script: path.join(project, 'count.whamm'), strict })] });
  await rollup(options(false));
  result(warnings.length === 1 && /broken\.wasm is not instrumented: /.test(warnings[0]), 'a module that cannot be instrumented is a warning', warnings);
  result(/broken\.wasm is not instrumented/.test((await failure(() => rollup(options(true))))?.message), 'and an error with strict');
}

// ---- source maps ----

await attempt('source maps', async () => {
  const { TraceMap, originalPositionFor } = await import(pathToFileURL(path.join(fs.realpathSync(modules), '@jridgewell/trace-mapping/dist/trace-mapping.mjs')));
  fs.rmSync(dist, { recursive: true, force: true });
  await rollupBuild('main.js', true, dist);
  const code = fs.readFileSync(path.join(dist, 'main.js'), 'utf8').split('\n'), map = new TraceMap(fs.readFileSync(path.join(dist, 'main.js.map'), 'utf8'));
  const source = fs.readFileSync(path.join(project, 'counter.js'), 'utf8').split('\n'), wrongOnes = [];
  for (const word of ['source.headers.get', 'async function init', 'fetch(source)', 'said.at(-1)', "{ './counter_bg.js'"]) {
    const line = code.findIndex(each => each.includes(word)), from = originalPositionFor(map, { line: line + 1, column: code[line].indexOf(word) });
    const to = source.findIndex(each => each.includes(word));
    if (from.line !== to + 1 || from.column !== source[to].indexOf(word)) wrongOnes.push([word, from]);
  }
  result(wrongOnes.length === 0, 'source maps tell where code was', wrongOnes);
});

// ---- watching ----

await attempt('a changed script', async () => {
  const script = path.join(project, 'watched.whamm'), seen = [];
  fs.copyFileSync(path.join(project, 'count.whamm'), script);
  const context = await esbuild.context({ absWorkingDir: project, entryPoints: ['binary.js'], bundle: true, format: 'esm', write: false, logLevel: 'silent', outdir: dist,
    loader: { '.wasm': 'binary' }, plugins: [plugins.esbuild({ script: 'watched.whamm' }), { name: 'seen', setup: build => build.onEnd(done => { seen.push(done.outputFiles?.[0]?.text ?? ''); }) }] });
  const until = async count => { for (let i = 0; seen.length < count && i < 300; i++) await new Promise(resolve => setTimeout(resolve, 50)); };
  await context.watch();
  await until(1);
  fs.writeFileSync(script, 'report var loops: u64;\nwasm:opcode:call:before { loops++; }\n');
  await until(2);
  await context.dispose();
  result(seen.length >= 2 && seen[0] !== seen[1] && seen[1] !== '', 'esbuild builds again when a script has changed', `${seen.length} builds`);
});
await attempt('a changed script', async () => {
  const script = path.join(project, 'watched.whamm'), ends = [];
  const inline = { name: 'inline', load: id => id.endsWith('.wasm') ? `export default '${fs.readFileSync(id, 'base64')}'` : null };
  fs.copyFileSync(path.join(project, 'count.whamm'), script);
  const watcher = watch({ input: ['main.js', 'binary.js'].map(name => path.join(project, name)), plugins: [plugins.rollup({ script }), inline], output: { dir: dist, format: 'es' } });
  watcher.on('event', async event => {
    if (event.code !== 'BUNDLE_END') return;
    const { output } = await event.result.generate({ format: 'es' });
    ends.push([output.find(each => each.type === 'asset').fileName, output.find(each => each.fileName === 'binary.js').code]);
  });
  const differs = () => ends.length && ends.at(-1).every((each, i) => each !== ends[0][i]);
  const until = async test => { for (let i = 0; !test() && i < 200; i++) await new Promise(resolve => setTimeout(resolve, 50)); };
  await until(() => ends.length);
  await new Promise(resolve => setTimeout(resolve, 1000)); // for the watcher to begin
  fs.writeFileSync(script, 'report var loops: u64;\nwasm:opcode:call:before { loops++; }\n');
  await until(differs);
  await watcher.close();
  result(differs(), 'Rollup builds all modules again when a script has changed', ends.map(([name]) => name));
});
await attempt('a changed script', async () => {
  const script = path.join(project, 'watched.whamm');
  fs.copyFileSync(path.join(project, 'count.whamm'), script);
  html('main.js');
  const server = await vite.createServer(viteConfig(false, { base: '/', plugins: [plugins.vite({ script: 'watched.whamm' })],
    server: { host: '127.0.0.1', port: 0 }, cacheDir: path.join(folder, 'vite-cache') }));
  await server.listen();
  const get = async () => (await fetch(`http://127.0.0.1:${server.httpServer.address().port}/counter.js`)).text();
  const before = await get();
  let after = before;
  await new Promise(resolve => setTimeout(resolve, 1000)); // for the watcher to begin
  fs.writeFileSync(script, 'report var loops: u64;\nwasm:opcode:call:before { loops++; }\n');
  for (let i = 0; after === before && i < 100; i++) {
    await new Promise(resolve => setTimeout(resolve, 50));
    after = await get();
  }
  await server.close();
  result(after !== before && /whammc\/\w+\/counter_bg\.wasm/.test(after), "Vite's server instruments again when a script has changed", after);
});

await browser?.close();
removeFolder(folder);
end();
