// plugin/index.mjs - the plugin for all bundlers, by unplugin.
//
// A module is instrumented when the bundler reads it, so that hashes in file names are those of the contents: in webpack, Rspack
// and esbuild by a loader; in Vite and Rollup by resolving it to an instrumented copy. Modules that reach the output without being
// read by the bundler are instrumented there. host.mjs is inserted before the code that loads modules: in webpack and Rspack into the
// runtime of each entry, since entries of workers are made by webpack itself, in the others as an import.
import { createReadStream, readFileSync } from 'node:fs';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createUnplugin } from 'unplugin';
import { applyEdits, findUrls } from './edits.mjs';
import { Instrumenter, problemOf } from './instrumenter.mjs';
import { instrumenters } from './registry.mjs';

const NAME = 'whammc', HOST = 'virtual:whammc/host', WASM = /\.wasm$/;
const HOST_FILE = fileURLToPath(new URL('./host.mjs', import.meta.url)), LOADER = fileURLToPath(new URL('./loader.mjs', import.meta.url));
const HOST_SCRIPT = fileURLToPath(new URL('./host-classic.js', import.meta.url)); // the same as a classic script: scripts/js makes it
const OURS = dirname(dirname(HOST_FILE)) + sep; // the package, whose own modules are left alone

const toBuffer = bytes => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
const slashes = path => path.split(sep).join('/');

// "x.wasm?url": the path and the query.
function split(id) {
  const at = id.search(/[?#]/);
  return at < 0 ? [id, ''] : [id.slice(0, at), id.slice(at)];
}

/** A problem as Rollup and Vite have it: columns are counted from 0. */
function forRollup({ message, text, file, line, column }) {
  return { message: text ?? message, ...(file && { id: file }), ...(line !== null && { loc: { file, line, column: column - 1 } }) };
}

/** As esbuild has it: columns are bytes from 0. */
async function forEsbuild({ message, file, line, column, length }) {
  const source = file && line !== null ? await readFile(file, 'utf8').catch(() => '') : '', lineText = source.split('\n')[line - 1] ?? '';
  return { text: message, location: line === null ? null : { file: relative(process.cwd(), file), line, column: column - 1, length, lineText } };
}

// ---- Rollup and Vite ----

const isModuleOfOurs = id => id.startsWith(OURS);
const isJavaScript = (path, query) => (/\.[cm]?[jt]sx?$/.test(path) || path.startsWith('\0')) && !/[?&](raw|url|inline)\b/.test(query);
const isEsModule = code => /^\s*(?:import\b\s*[\w{*'"]|export\b\s*[\w{*])|\bimport\.meta\b/m.test(code) || /[;}]\s*export\s*(?:\{|default\b)/.test(code);

const isCommonJs = code => /\bmodule\.exports\b|\bexports\.\w+\s*=[^=]|(?<![.\w])require\s*\(/.test(code);

/** Hooks that both have. `vite` tells which of them it is: what it does with new URL(…) is left to it. */
function rollupHooks(instrumenter, vite) {
  const sources = new Set(); // files that have been instrumented

  function tell(context, problem) {
    if (!problem) return;
    if (instrumenter.strict) context.error(forRollup(problem));
    context.warn(forRollup(problem));
  }

  // The instrumented copy of a file; null if there is none.
  async function place(context, file) {
    const found = await stat(file).catch(() => null);
    if (!found?.isFile() || file.startsWith(instrumenter.folder + sep)) return null;
    sources.add(file);
    [file, ...instrumenter.files].forEach(each => context.addWatchFile(each));
    try {
      const { path, problem } = await instrumenter.place(file);
      tell(context, problem);
      return path;
    } catch (error) {
      if (!error.diagnostics) throw error;
      return context.error(forRollup(problemOf(error, instrumenter.root)));
    }
  }

  // What stands for new URL(…) of a module: in Vite the path of the copy, which it knows what to do with.
  async function replaceUrl(context, { start, end, path, whole, after }, importer) {
    const copy = await place(context, resolve(dirname(importer), path));
    if (!copy) return null;
    if (vite) {
      const to = slashes(relative(dirname(importer), copy));
      return { start, end, text: JSON.stringify(to.startsWith('.') ? to : `./${to}`) };
    }
    const reference = context.emitFile({ type: 'asset', name: basename(path), source: await readFile(copy) });
    return { start: whole, end: after, text: `new URL(import.meta.ROLLUP_FILE_URL_${reference})` };
  }

  return {
    sources,
    hooks: {
      async buildStart() {
        instrumenter.files.forEach(file => this.addWatchFile(file));
        try {
          await instrumenter.load();
        } catch (error) {
          const problem = forRollup(problemOf(error, instrumenter.root));
          if (this.meta.watchMode && vite?.command === 'serve') this.warn(problem); // the server stays; requests get the error
          else this.error(problem);
        }
      },

      // In watch mode Rollup keeps what a module was made of and resolved to, although a script may have changed since.
      shouldTransformCachedModule: ({ code }) => /\.wasm\b|\bROLLUP_FILE_URL_/.test(code),

      async resolveId(source, importer, options) {
        const [path, query] = split(source);
        if (source === HOST || (source === NAME && importer && WASM.test(split(importer)[0]))) return HOST_FILE;
        if (!WASM.test(path) || /^(?:data|https?):/.test(path)) return null;
        const resolved = await this.resolve(source, importer, { ...options, skipSelf: true });
        if (!resolved || resolved.external) return resolved;
        const copy = await place(this, split(resolved.id)[0]);
        return copy ? { ...resolved, id: slashes(copy) + (split(resolved.id)[1] || query) } : resolved;
      },

      async transform(code, id) {
        const [path, query] = split(id);
        if (!isJavaScript(path, query) || isModuleOfOurs(path)) return null;
        const serves = vite?.command === 'serve', edits = [];
        const worker = serves ? /[?&]worker_file&type=(\w+)/.exec(query)?.[1] : null; // the only entries that a server knows
        const isEntry = serves ? worker === 'module' : Boolean(this.getModuleInfo(id)?.isEntry);
        if (!path.startsWith('\0') && code.includes('.wasm')) {
          for (const url of findUrls(code)) {
            const edit = await replaceUrl(this, url, path);
            if (edit) edits.push(edit);
          }
        }
        // Imports run first wherever they stand. At the end they move nothing; those of an entry must come before its others.
        const load = `import ${JSON.stringify(HOST)};`, loads = /\bWebAssembly\b/.test(code) && isEsModule(code);
        const first = isEntry && (isEsModule(code) || !isCommonJs(code)) && !code.startsWith('#!');
        if (worker === 'classic') edits.unshift({ start: 0, end: 0, text: `importScripts(${JSON.stringify(vite.hostAddress)});` });
        if (first) edits.unshift({ start: 0, end: 0, text: load });
        if (!edits.length) return loads ? { code: `${code}\n${load}\n`, map: null } : null;
        const edited = applyEdits(code, path, edits);
        return loads && !first ? { code: `${edited.code}\n${load}\n`, map: edited.map } : edited;
      },

      // As Rollup has it, but for workers, which have no document.
      resolveFileUrl: ({ format, relativePath }) => (vite || format !== 'iife' ? null :
        `new URL(${JSON.stringify(relativePath)}, typeof document === 'undefined' ? location.href : document.currentScript?.src ?? document.baseURI).href`),

      async generateBundle(_, bundle) {
        for (const asset of Object.values(bundle)) {
          if (asset.type !== 'asset' || !WASM.test(asset.fileName) || typeof asset.source === 'string') continue;
          const made = await instrumenter.instrument(asset.source, resolve(instrumenter.root, asset.originalFileNames?.[0] ?? asset.fileName));
          tell(this, made?.problem);
          if (made?.bytes) asset.source = made.bytes;
        }
      },
    },
  };
}

/** The modules in a folder and those below it. */
async function findModules(folder) {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return found.filter(each => each.isFile() && WASM.test(each.name)).map(each => join(each.parentPath ?? each.path, each.name));
}

function viteHooks(instrumenter, isForWorkers = false) {
  const vite = { command: 'build', hostAddress: '' };
  const { hooks, sources } = rollupHooks(instrumenter, vite);
  let config = null;

  // A request for a module by its path, which no code has named so that it could be seen: that of a public file, or of a loader.
  async function serve(request, response, next) {
    try {
      const [path, query] = split(request.url ?? '');
      if (path === vite.hostAddress) {
        response.setHeader('Content-Type', 'text/javascript');
        return createReadStream(HOST_SCRIPT).on('error', next).pipe(response);
      }
      if (!['GET', 'HEAD'].includes(request.method) || !WASM.test(path) || /[?&](import|url|init|raw)\b/.test(query)) return next();
      const asked = decodeURIComponent(path), folders = [config.publicDir, config.root].filter(Boolean);
      const inBase = asked.startsWith(config.base) ? asked.slice(config.base.length) : asked;
      for (const folder of folders) {
        const file = resolve(folder, `./${inBase}`);
        if (!file.startsWith(folder.replace(/[\\/]$/, '') + sep) || /[\\/]\.(?!cache[\\/]whammc)/.test(file.slice(folder.length))) continue;
        if (!(await stat(file).catch(() => null))?.isFile() || !instrumenter.accepts(file)) continue;
        const { path: copy, problem } = await instrumenter.place(file);
        sources.add(file);
        if (problem) config.logger[instrumenter.strict ? 'error' : 'warn'](problem.text);
        if (problem && instrumenter.strict) return next(new Error(problem.text));
        if (!copy) return next();
        response.setHeader('Content-Type', 'application/wasm');
        response.setHeader('Cache-Control', 'no-cache');
        return createReadStream(copy).on('error', next).pipe(response);
      }
      return next();
    } catch (error) {
      return next(error);
    }
  }

  return {
    ...hooks,
    enforce: 'pre',

    // Workers are bundles of their own, with their own plugins.
    config(given) {
      const has = isForWorkers || given.worker?.plugins?.()?.flat(Infinity).some(each => each?.name === NAME);
      const worker = { plugins: () => [{ name: NAME, ...viteHooks(instrumenter, true) }] };
      return { optimizeDeps: { exclude: [NAME] }, ...!has && { worker } };
    },

    configResolved(resolved) {
      config = resolved;
      vite.command = resolved.command;
      vite.hostAddress = `${resolved.base}@whammc/host-classic.js`;
      instrumenter.root = resolve(resolved.root);
    },

    configureServer(server) {
      server.watcher.add(instrumenter.files);
      server.watcher.on('change', changed => {
        const file = resolve(changed);
        if (!sources.has(file) && !instrumenter.files.includes(file)) return;
        server.moduleGraph.invalidateAll();
        (server.hot ?? server.ws).send({ type: 'full-reload' });
      });
      server.middlewares.use(serve);
    },

    transformIndexHtml: {
      order: 'pre',
      handler: () => [{ tag: 'script', attrs: { type: 'module' }, children: `import ${JSON.stringify(HOST)};`, injectTo: 'head-prepend' }],
    },

    // Public files are copied without anybody being asked.
    async writeBundle(options) {
      if (!config.publicDir || !config.build.copyPublicDir) return;
      const out = resolve(config.root, options.dir ?? config.build.outDir);
      for (const file of await findModules(config.publicDir)) {
        const made = await instrumenter.instrument(await readFile(file), file);
        if (made?.problem && instrumenter.strict) this.error(forRollup(made.problem));
        if (made?.problem) this.warn(forRollup(made.problem));
        if (made?.bytes) await writeFile(join(out, relative(config.publicDir, file)), made.bytes);
      }
    },
  };
}

// ---- webpack and Rspack ----

function webpackHooks(instrumenter) {
  return compiler => {
    const { Compilation, RuntimeModule, WebpackError = Error, sources } = compiler.webpack ?? compiler.rspack;
    const id = String(instrumenters.size);
    instrumenters.set(id, instrumenter);
    instrumenter.root = compiler.context;

    const toError = ({ message, text, file, line, column }) => {
      const error = new WebpackError(text ?? message);
      if (file) error.file = relative(compiler.context, file);
      if (line !== null && line !== undefined) error.loc = { start: { line, column: column - 1 } };
      return error;
    };

    class HostModule extends RuntimeModule {
      constructor() {
        super(NAME, RuntimeModule.STAGE_BASIC);
      }

      generate() {
        return readFileSync(HOST_SCRIPT, 'utf8');
      }
    }

    // The functions that host.mjs stands in for are those of the module "whammc", which only instrumented modules import.
    compiler.options.module.rules.push({ test: WASM, enforce: 'pre', resolve: { alias: { [`${NAME}$`]: HOST_FILE } },
      use: [{ loader: LOADER, options: { id } }] });

    compiler.hooks.make.tapPromise(NAME, async compilation => {
      instrumenter.files.forEach(file => compilation.fileDependencies.add(file));
      await instrumenter.load().catch(error => compilation.errors.push(toError(problemOf(error, instrumenter.root))));
    });

    // The host, and what other plugins have copied.
    compiler.hooks.thisCompilation.tap(NAME, compilation => {
      compilation.hooks.additionalTreeRuntimeRequirements.tap(NAME, chunk => { compilation.addRuntimeModule(chunk, new HostModule()); });
      compilation.hooks.processAssets.tapPromise({ name: NAME, stage: Compilation.PROCESS_ASSETS_STAGE_ADDITIONS }, async assets => {
        if (await instrumenter.load().then(() => false, () => true)) return;
        for (const name of Object.keys(assets).filter(each => WASM.test(split(each)[0]))) {
          const { source, info } = compilation.getAsset(name), file = resolve(compiler.context, info.sourceFilename ?? split(name)[0]);
          const made = await instrumenter.instrument(Buffer.from(source.source()), file);
          if (made?.problem) compilation[instrumenter.strict ? 'errors' : 'warnings'].push(toError(made.problem));
          if (made?.bytes) compilation.updateAsset(name, new sources.RawSource(toBuffer(made.bytes)));
        }
      });
    });
  };
}

// ---- esbuild ----

function esbuildSetup(instrumenter) {
  return build => {
    const { initialOptions } = build;
    instrumenter.root = resolve(initialOptions.absWorkingDir ?? process.cwd());
    initialOptions.inject = [HOST_FILE, ...initialOptions.inject ?? []];
    const failed = async error => ({ errors: [await forEsbuild(problemOf(error, instrumenter.root))], watchFiles: instrumenter.files });

    // The host is in every bundle, so a script that is wrong is told there, even if no module is loaded.
    build.onLoad({ filter: /[\\/]host\.mjs$/ }, async ({ path }) => {
      if (path !== HOST_FILE) return null;
      try {
        await instrumenter.load();
        return { contents: await readFile(path), loader: 'js', watchFiles: instrumenter.files };
      } catch (error) {
        return failed(error);
      }
    });

    build.onLoad({ filter: WASM, namespace: 'file' }, async ({ path }) => {
      const loader = initialOptions.loader?.['.wasm'] ?? 'default', watchFiles = [path, ...instrumenter.files];
      if (await instrumenter.load().then(() => false, () => true)) return { contents: await readFile(path), loader, watchFiles };
      const made = await instrumenter.instrument(await readFile(path), path);
      const problems = made?.problem ? [await forEsbuild(made.problem)] : [];
      if (instrumenter.strict && problems.length) return { errors: problems, watchFiles };
      return { contents: made?.bytes ?? await readFile(path), loader, watchFiles, warnings: problems };
    });
  };
}

/** The plugin: see index.d.ts. */
export const unplugin = createUnplugin((options, meta) => {
  const instrumenter = new Instrumenter(options);
  return {
    name: NAME,
    ...(meta.framework === 'vite' && { vite: viteHooks(instrumenter) }),
    ...(['rollup', 'rolldown'].includes(meta.framework) && { rollup: rollupHooks(instrumenter, null).hooks }),
    ...(meta.framework === 'webpack' && { webpack: webpackHooks(instrumenter) }),
    ...(meta.framework === 'rspack' && { rspack: webpackHooks(instrumenter) }),
    ...(meta.framework === 'esbuild' && { esbuild: { setup: esbuildSetup(instrumenter) } }),
  };
});
export default unplugin;
