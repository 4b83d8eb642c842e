// lib/page.mjs - the hook for pages and workers: modules are instrumented as they are loaded, WasmProf has the results.
//
// The compiler is loaded when the first module comes that is not cached. What gives a promise waits for it; new WebAssembly.Module
// cannot, so WasmProf.ready() loads it beforehand.
import { watch } from '../host/host.js';
import { parts } from '../host/parts.js';
import { canStartPageThread, startPageThread } from '../host/thread.js';
import { install } from '../host/wasmprof.js';
import { compile } from './api.mjs';
import { BUILD } from './build.mjs';
import { createCache } from './cache.mjs';
import { showPictures } from './flame-view.mjs';
import { watchFrames } from './frames.mjs';
import { copyBytes, createRefusal, keyOf, whyInvalid, wrapCompilers, wrapSections } from './hook.mjs';
import { addSection, functionNames } from './names.mjs';
import { explainPolicy } from './policy.mjs';
import { readReport } from './report.mjs';
import { allCustomSections, appendKey, namedSections } from './sections.mjs';
import { workers } from './tag.mjs';
import { watchWorkers } from './workers.mjs';

const LOADED = Symbol.for('whammc.register'), OPTIONS = { host: 'js' };
const ENGINES = 'Chrome 120, Firefox 125 and later ones have', COMPILER = 'whammc.wasm';
const PATIENCE = 2000; // milliseconds, for a thread to begin

const say = text => console.warn(`whammc: ${text}`);

/** Constants, "NAME=VALUE;…" or an object, as an object of texts. */
function readConstants(given = '') {
  const pairs = typeof given === 'object' ? Object.entries(given ?? {}) : String(given).split(';').filter(each => each.trim()).map(each => {
    const [name, ...value] = each.split('=');
    if (!value.length) throw new Error(`data-define, WHAMMC_DEFINE: expected NAME=VALUE, found '${each.trim()}'`);
    return [name, value.join('=')];
  });
  return Object.fromEntries(pairs.map(([name, value]) => [name.trim(), String(value).trim()]));
}

/** What the page has set, as WHAMMC_SCRIPT and so on: as late as possible, since imports come before all else. */
function readSettings(defaults) {
  const setting = name => globalThis[`WHAMMC_${name}`] ?? defaults[name.toLowerCase()];
  return { script: setting('SCRIPT') ?? 'calltree', define: setting('DEFINE'), strict: ['1', 1, true].includes(setting('STRICT')),
    cache: !['off', 'no'].includes(setting('CACHE')) };
}

/** Whether a thread with the host's code begins: the page must be isolated, and its policy must allow workers of blobs. */
function canSampleByThread() {
  return canStartPageThread() && new Promise((resolve, reject) => {
    const worker = startPageThread('postMessage(0)');
    worker.onmessage = () => resolve(true);
    worker.onerror = reject;
    setTimeout(reject, PATIENCE);
  }).catch(() => false);
}

/** The constants of the script; those of `sample`, if they do not say so, with who takes the samples: a thread if there can be one, else the program. */
async function findConstants({ script, define }) {
  const constants = readConstants(define), isSaid = ['outside', 'tells', 'engine'].some(name => name in constants);
  if (script !== 'sample' || isSaid) return constants;
  return { ...constants, ...await canSampleByThread() ? { outside: 'true' } : { tells: 'true' } };
}

/** A SHA-256 as text; where pages have no crypto.subtle, as they came without encryption, a number that is used once. */
async function hash(...parts) {
  const { subtle } = globalThis.crypto ?? {};
  return subtle ? Array.from(new Uint8Array(await subtle.digest('SHA-256', await new Blob(parts).arrayBuffer())),
    byte => byte.toString(16).padStart(2, '0')).join('') : null;
}

/** Of the module's address, or of its number. */
function titleOf(url, number) {
  const name = url ? new URL(url).pathname.split('/').at(-1) : '';
  return name || `module ${number}`;
}

class Page {
  #settings = null;
  #defaults;
  #constants = null; // a promise
  #compiler = null; // a promise
  #ready = null; // what it gave
  #cache = null;
  #refuse = null;
  #originals = new Map(); // key to custom sections
  #profiler;
  #anonymous = 0;

  constructor(defaults, profiler) {
    this.#defaults = defaults;
    this.#profiler = profiler;
  }

  /** Reads the settings, once. */
  #begin() {
    if (this.#settings) return;
    this.#settings = readSettings(this.#defaults);
    this.#cache = createCache(this.#settings.cache);
    this.#refuse = createRefusal(this.#settings.strict, say);
    this.#constants = findConstants(this.#settings);
    this.#constants.catch(() => {}); // who waits for them is told
  }

  async #load() {
    const define = await this.#constants;
    try {
      return await compile(this.#settings.script, { define });
    } catch (error) {
      throw await explainPolicy(error, COMPILER);
    }
  }

  async ready() {
    this.#begin();
    this.#compiler ??= this.#load();
    this.#ready = await this.#compiler;
  }

  /** The bytes that the engine gets; what is cached is { bytes, sections }. */
  #admit(key, { bytes, sections }, original, url) {
    const isNew = !this.#originals.has(key);
    this.#originals.set(key, sections);
    if (isNew || url) this.#profiler.register({ id: key, title: titleOf(url, this.#originals.size), names: functionNames(original), demangled: {} });
    return bytes;
  }

  #make(key, original) {
    const { module } = this.#ready.instrument(original, OPTIONS), bytes = addSection(appendKey(module, key), 'whammc', key);
    if (!WebAssembly.validate(bytes)) throw new Error(whyInvalid(bytes, ENGINES));
    return { bytes, sections: allCustomSections(original) };
  }

  /** For new WebAssembly.Module. */
  instrument(source) {
    const original = copyBytes(source);
    if (!original) return source;
    this.#begin();
    try {
      if (!this.#ready) throw new Error('new WebAssembly.Module cannot wait for the compiler: await WasmProf.ready() before');
      const key = `${++this.#anonymous}`;
      return this.#admit(key, this.#make(key, original), original, '');
    } catch (error) {
      return this.#refuse(error.message, original);
    }
  }

  /** For all others: a promise, unless there is nothing to do. */
  instrumentLater(source, url) {
    const original = copyBytes(source);
    return original ? this.#later(original, url) : source;
  }

  async #later(original, url) {
    this.#begin();
    try {
      const constants = await this.#constants;
      const found = await hash(BUILD, JSON.stringify([this.#settings.script, constants, OPTIONS]), original), key = found ?? `${++this.#anonymous}`;
      let made = found && await this.#cache.get(found);
      if (!made || !WebAssembly.validate(made.bytes)) {
        if (!WebAssembly.validate(original)) return original; // without loading the compiler
        await this.ready();
        made = this.#make(key, original);
        if (found) await this.#cache.put(found, made, made.bytes.length + original.length);
      }
      return this.#admit(key, made, original, url);
    } catch (error) {
      return this.#refuse(error.message, original);
    }
  }

  originalSections(key, name) {
    const sections = this.#originals.get(key);
    return sections ? namedSections(sections, name) : null;
  }
}

/** The flame graphs of what was counted: { title, svg } of each module that has a call tree. */
async function makePictures(profiler) {
  await profiler.threads?.();
  const results = profiler.saveResults(), pictures = [];
  for (const [i, title] of results.modules.entries()) {
    const [first, ...others] = results.module(i).reports;
    if (!first) continue;
    const report = await readReport(first).catch(async error => { throw await explainPolicy(error, COMPILER); });
    try {
      for (const other of others) report.add(other);
      pictures.push({ title, svg: report.svg({ title }) });
    } finally {
      report.close();
    }
  }
  if (!pictures.length) throw new Error('whammc: no module has reported calls so far');
  return pictures;
}

/** `defaults`: settings that the page can change: { script, define, strict, cache }. */
export function register(defaults = {}) {
  if (globalThis[LOADED]) {
    globalThis.WasmProf ??= globalThis[LOADED]; // of the page whose frame this is
    return;
  }
  Object.assign(parts, { workers, owned: module => keyOf(module) !== null });
  const profiler = install({ id: 'whammc.register', title: '', names: [], demangled: {} });
  const page = new Page(defaults, profiler);
  function enter(realm) {
    Object.defineProperty(realm, LOADED, { value: profiler });
    wrapCompilers(source => page.instrument(source), (source, url) => page.instrumentLater(source, url), realm);
    wrapSections((key, name) => page.originalSections(key, name), realm);
  }
  enter(globalThis);
  watchWorkers(say, workers.map(([, address]) => address));
  if (globalThis.document)
    watchFrames(frame => {
      parts.contexts.enter?.(frame);
      watch(parts.contexts.trapped, frame);
      enter(frame);
    }, say);
  Object.assign(profiler, {
    /** Loads the compiler: then new WebAssembly.Module instruments, too. */
    ready: () => page.ready(),

    /** Shows the flame graphs, if there is a document, and gives them: { title, svg } of each module. */
    async flameGraph() {
      const pictures = await makePictures(profiler);
      if (globalThis.document) showPictures(pictures);
      return pictures;
    },
  });
}
