// Programs in pages and in workers of all kinds, in each bundler: built, served and watched. As it is, and instrumented, each says the
// same, and what was instrumented has counted its own calls.
//   node test_workers.mjs PACKAGE MODULES WHAMMC CHROMIUM [TITLE]        TITLE: a regular expression of those to run
import fs from 'node:fs';
import path from 'node:path';
import { end, removeFolder, result } from '../tap.mjs';
import { attempt, browser, dist, esbuild, folder, html, modules, plugins, project, rollup, rspack, serve, visit, vite, viteConfig, watch, webpack } from './setup.mjs';

const KINDS = ['page', 'module', 'classic', 'shared', 'service'], OUTPUT = 'hello from wasm 55', CALLS = 178;
const only = new RegExp(process.argv[6] ?? '');
const SETTLED = 1000, WAIT = 60000; // milliseconds: until a watcher has seen a file, at most until it has built
const SCRIPT = path.join(project, 'watched.whamm');
const counting = step => fs.writeFileSync(SCRIPT, `report var calls: u64;\nwasm:func:entry { calls = calls + ${step}; }\n`);
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

const text = name => fs.readFileSync(path.join(project, name), 'utf8');
const entry = (name, change) => fs.writeFileSync(path.join(project, name), change(text('everywhere.js')));

// Vite leaves service workers alone, and its server serves classic workers as they are, without imports.
const byPath = code => code.replace("new URL('./service.js', import.meta.url)", "'./service.js'");
entry('main-built.js', byPath);
entry('main-served.js', code => byPath(code).replace('./classic.js', './script.js'));
entry('main-script.js', code => byPath(code).replace('./classic.js', './script.js'));

async function visitFolder(root, type) {
  fs.writeFileSync(path.join(root, 'index.html'), `<!doctype html><script ${type}src="./main.js"></script>`);
  const server = await serve(root);
  try {
    return await visit(`http://127.0.0.1:${server.address().port}/index.html`, 'everywhere');
  } finally {
    server.close();
  }
}
const MODULE = 'type="module" ', CLASSIC = 'defer ';

const sums = ({ reports }) => reports.map(report => Number(/^.*\bcalls\b.*?(\d+)\s*$/m.exec(report)?.[1])).join();

// Whether one kind, or all, say what they should. `step` is what the script counts for each call, 0 = nothing is instrumented.
const isGood = (shown, step) => shown.output === OUTPUT && sums(shown) === (step ? String(CALLS * step) : '');
const isRight = (found, step) => KINDS.every(kind => isGood(found[kind], step));

function judge(title, found, step) {
  for (const kind of KINDS) result(isGood(found[kind], step), `${title}: ${kind}`, found[kind]);
}

/** make(plugins) builds into dist. */
async function build(title, plugin, make, type = MODULE) {
  if (!only.test(title)) return;
  for (const instrumented of [false, true])
    await attempt(title, async () => {
      fs.rmSync(dist, { recursive: true, force: true });
      fs.mkdirSync(dist);
      await make(instrumented ? [plugin({ script: SCRIPT })] : []);
      judge(`${title}${instrumented ? ', instrumented' : ''}`, await visitFolder(dist, type), instrumented ? 1 : 0);
    });
}

/** start(plugins, built) begins to watch and gives what ends that; built() is to be called after each build. The script changes and changes back. */
async function watched(title, plugin, start, type = MODULE) {
  if (!only.test(`${title}, watching`)) return;
  await attempt(`${title}, watching`, async () => {
    fs.rmSync(dist, { recursive: true, force: true });
    fs.mkdirSync(dist);
    counting(1);
    let builds = 0;
    const close = await start([plugin({ script: SCRIPT })], () => { builds++; });
    for (const [i, step] of [1, 10, 1].entries()) {
      if (i) counting(step);
      let found = null;
      for (let until = Date.now() + WAIT; !found || (!isRight(found, step) && Date.now() < until); await pause(SETTLED))
        found = builds ? await visitFolder(dist, type) : null;
      judge(`${title}, watching, ${i ? `changed ${i}x` : 'at first'}`, found, step);
    }
    await pause(2 * SETTLED);
    await close();
    // A watcher may see a change twice, but it must come to rest.
    result(builds >= 3 && builds <= 9, `${title}, watching: few builds`, builds);
  });
}

counting(1);

// ---- Vite ----

const viteBuild = (list, main, more = {}) => viteConfig(false, { plugins: list, build: { outDir: dist, emptyOutDir: true, target: 'esnext', assetsInlineLimit: 0,
  rollupOptions: { input: { main: path.join(project, main), service: path.join(project, 'service.js') }, output: { entryFileNames: '[name].js' } }, ...more } });
await build('Vite', plugins.vite, list => vite.build(viteBuild(list, 'main-built.js')));
const forWorkers = list => ({ worker: { plugins: () => (list.length ? [plugins.vite({ script: SCRIPT })] : []) } });
await build('Vite, with plugins for workers', plugins.vite, list => vite.build({ ...viteBuild(list, 'main-built.js'), ...forWorkers(list) }));
await build('Vite, a worker without imports', plugins.vite, list => vite.build(viteBuild(list, 'main-script.js')));
await watched('Vite', plugins.vite, async (list, built) => {
  const watcher = await vite.build(viteBuild(list, 'main-built.js', { watch: {} }));
  watcher.on('event', event => { if (event.code === 'END') built(); });
  return () => watcher.close();
});
html('main-served.js');
for (const instrumented of only.test('Vite, dev') ? [false, true] : [])
  await attempt('Vite, dev', async () => {
    const server = await vite.createServer(viteConfig(false, { base: '/', plugins: instrumented ? [plugins.vite({ script: SCRIPT })] : [],
      server: { host: '127.0.0.1', port: 0, watch: null, fs: { allow: [project, fs.realpathSync(modules)] } }, cacheDir: path.join(folder, 'vite-cache') }));
    await server.listen();
    const everywhere = await visit(`http://127.0.0.1:${server.httpServer.address().port}/`, 'everywhere');
    await server.close();
    judge(`Vite, dev${instrumented ? ', instrumented' : ''}`, everywhere, instrumented ? 1 : 0);
  });

// ---- Rollup ----

// Modules share chunks; a classic worker is a bundle of its own.
const located = { name: 'located', resolveImportMeta: name => (name === 'url' ? 'location.href' : null) };
const rollupParts = list => [
  { input: { main: path.join(project, 'everywhere.js'), ...Object.fromEntries(['module', 'shared', 'service'].map(name => [name, path.join(project, `${name}.js`)])) },
    plugins: list, output: { dir: dist, format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name].js' } },
  { input: path.join(project, 'classic.js'), plugins: [...list, located], output: { dir: dist, format: 'iife', entryFileNames: 'classic.js' } },
];
await build('Rollup', plugins.rollup, async list => {
  for (const part of rollupParts(list)) await (await rollup(part)).write(part.output);
  if (!list.length) fs.copyFileSync(path.join(project, 'counter_bg.wasm'), path.join(dist, 'counter_bg.wasm'));
});
await watched('Rollup', plugins.rollup, async (list, built) => {
  const watcher = watch(rollupParts(list));
  watcher.on('event', event => { if (event.code === 'END') built(); });
  return () => watcher.close();
});

// ---- webpack, Rspack ----

for (const [name, tool, plugin] of [['webpack', webpack, plugins.webpack], ['Rspack', rspack, plugins.rspack]].filter(([, tool]) => tool)) {
  for (const asModules of [true, false]) {
    const title = `${name}${asModules ? '' : ', classic'}`, type = asModules ? MODULE : CLASSIC;
    const make = list => tool({ context: project, mode: 'production', entry: './everywhere.js', devtool: false, plugins: list, performance: false,
      output: { path: dist, filename: 'main.js', chunkFilename: '[name]-[id].js', publicPath: 'auto', module: asModules }, optimization: { minimize: false, splitChunks: false }, // which webpack's workers that are modules do not load
      experiments: { outputModule: asModules, topLevelAwait: true } });
    const failed = stats => stats?.toJson({ errors: true }).errors.map(each => each.message).join('\n');
    await build(title, plugin, list => new Promise((resolve, reject) => {
      const compiler = make(list);
      compiler.run((error, stats) => compiler.close(() => (error || failed(stats) ? reject(error ?? new Error(failed(stats))) : resolve())));
    }), type);
    await watched(title, plugin, async (list, built) => {
      const watching = make(list).watch({}, built);
      return () => new Promise(resolve => watching.close(resolve));
    }, type);
  }
}

// ---- esbuild ----

const esbuildParts = (list, more = {}) => [['esm', ['everywhere.js', 'module.js', 'shared.js', 'service.js', 'counter_bg.wasm']], ['iife', ['classic.js']]].map(([format, names]) => ({
  absWorkingDir: project, entryPoints: names.map(each => ({ in: each, out: each === 'everywhere.js' ? 'main' : path.parse(each).name })), bundle: true, format, outdir: dist,
  loader: { '.wasm': 'copy' }, plugins: list, logLevel: 'silent', define: format === 'iife' ? { 'import.meta.url': 'location.href' } : {}, ...more }));
await build('esbuild', plugins.esbuild, list => Promise.all(esbuildParts(list).map(each => esbuild.build(each))));
await watched('esbuild', plugins.esbuild, async (list, built) => {
  const seen = { name: 'seen', setup: each => { each.onEnd(() => built()); } };
  const contexts = await Promise.all(esbuildParts([...list, seen]).map(each => esbuild.context(each)));
  await Promise.all(contexts.map(each => each.watch()));
  return () => Promise.all(contexts.map(each => each.dispose()));
});

await browser.close();
removeFolder(folder);
end();
