// plugin/instrumenter.mjs - shared by the plugins: selection of modules, instrumentation, errors.
import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { WhammcError, compile } from '../index.mjs';
import { expectOptions } from '../lib/api.mjs';
import { evict, noteUse } from '../lib/evict.mjs';
import { addSection, functionNames } from '../lib/names.mjs';

const OPTIONS = ['script', 'include', 'exclude', 'define', 'libraries', 'strict', 'instrument', 'cache'];
const ID_LENGTH = 16, CACHE_SIZE = 1e9; // bytes

const hash = (...parts) => parts.reduce((sum, part) => sum.update(part), createHash('sha256')).digest('hex');

/** A regular expression for a path pattern: *, **, ? and {a,b}. A pattern without a slash matches the file's name. */
export function globToRegExp(glob) {
  let depth = 0;
  const body = glob.replace(/\*\*\/|\*\*|[\s\S]/g, part => {
    if (part === '**/') return '(?:[^/]*/)*';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    if (part === '{') { depth++; return '(?:'; }
    if (part === '}' && depth) { depth--; return ')'; }
    if (part === ',' && depth) return '|';
    return part.replace(/[.+^${}()|[\]\\]/, '\\$&');
  });
  if (depth) throw new TypeError(`whammc: expected a closing '}' in the pattern '${glob}'`);
  return new RegExp(`${glob.includes('/') ? '^' : '(?:^|/)'}${body.replace(/^\.\//, '').replace(/^\\\.\//, '')}$`);
}

function toPatterns(patterns, name) {
  return [].concat(patterns ?? []).map(pattern => {
    if (pattern instanceof RegExp) return pattern;
    if (typeof pattern === 'string') return globToRegExp(pattern);
    throw new TypeError(`whammc: option ${name}: expected a pattern (a text or a RegExp), found ${typeof pattern}`);
  });
}

const matches = (patterns, ...paths) => patterns.some(pattern => paths.some(path => path.search(pattern) >= 0));

// Scripts: names of bundled ones, files, or { name, text }.
function toScripts(scripts) {
  if (scripts === undefined || scripts === null) throw new TypeError('whammc: option script: expected a script, found nothing');
  return [].concat(scripts).map(script => {
    if (typeof script?.text === 'string') return script;
    if (typeof script !== 'string') throw new TypeError(`whammc: option script: expected a text or { name, text }, found ${typeof script}`);
    return /^[\w-]+$/.test(script) ? { bundled: script } : { file: script };
  });
}

/** What a message says, in the parts that bundlers want; lines and columns from 1, null where a file has none. */
export function toProblem({ message, tag, file, range }, folder) {
  const line = range?.start.line ?? null, column = range?.start.column ?? null;
  const end = range?.end.line === line ? range.end.column : column;
  return { message: tag ? `${message} [${tag}]` : message, file: file && !isAbsolute(file) ? resolve(folder, file) : file, line, column,
    length: Math.max(1, (end ?? 1) - (column ?? 1)) };
}

/** All that an exception says, as one problem. Its text has the places; the parts are those of the first error. */
export function problemOf(error, folder) {
  const first = error.diagnostics?.find(({ severity }) => severity === 'error');
  return first ? { ...toProblem(first, folder), text: error.message } : { message: error.message, text: error.message, file: null, line: null, column: null };
}

/** Writes a file, and its folder. Others may be reading or writing it. */
async function replaceFile(path, bytes) {
  const half = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(half, bytes);
  await rename(half, path);
}

/** Instruments the modules of one bundle. */
export class Instrumenter {
  #options;
  #scripts;
  #include;
  #exclude;
  #compiled = { key: null, compiler: null };
  #made = new Map(); // by what it is made of
  #hashes = new Set(); // of what we have made
  #placed = new Set(); // the folders of files that we have made
  root = process.cwd();

  constructor(options = {}) {
    expectOptions(options, OPTIONS);
    this.#options = options;
    this.#scripts = toScripts(options.script);
    this.#include = toPatterns(options.include ?? /\.wasm$/, 'include');
    this.#exclude = toPatterns(options.exclude, 'exclude');
    this.strict = Boolean(options.strict);
  }

  /** The files whose change makes all of it out of date. */
  get files() {
    return this.#scripts.filter(({ file }) => file).map(({ file }) => resolve(this.root, file));
  }

  /** Where instrumented modules are kept that a bundler reads as files. */
  get folder() {
    return resolve(this.root, this.#options.cache ?? join('node_modules', '.cache', 'whammc'));
  }

  accepts(file) {
    const path = file.split(sep).join('/'), inside = relative(this.root, file).split(sep).join('/');
    return matches(this.#include, path, inside) && !matches(this.#exclude, path, inside) && !file.startsWith(this.folder + sep);
  }

  /** The scripts as they are now: { compiler, key }. Throws what is wrong with them. */
  async load() {
    const { define, libraries } = this.#options;
    const scripts = await Promise.all(this.#scripts.map(async script => {
      if (script.bundled) return script.bundled;
      if (!script.file) return script;
      const text = await readFile(resolve(this.root, script.file), 'utf8').catch(error => {
        throw new Error(`whammc: cannot read the script ${script.file}: ${error.message}`);
      });
      return { name: script.file, text };
    }));
    const key = hash(JSON.stringify([scripts, define ?? null, this.#options.instrument ?? null]));
    if (this.#compiled.key !== key) {
      const made = { key, compiler: compile(scripts, { define, libraries }) };
      made.compiler.catch(() => {}); // who waits for it is told
      this.#compiled = made;
      this.#made.clear();
    }
    const { compiler } = this.#compiled;
    return { key, compiler: await compiler };
  }

  /**
   * Instruments a module: { bytes, key, problem }. What cannot be instrumented stays as it was and is a problem. Null if the module
   * is not to be instrumented or is already. Throws what is wrong with the scripts.
   */
  async instrument(bytes, file) {
    if (!this.accepts(file)) return null;
    const { compiler, key } = await this.load(), own = hash(bytes);
    if (this.#hashes.has(own)) return null;
    const whole = hash(key, own, file);
    if (!this.#made.has(whole)) this.#made.set(whole, this.#make(compiler, bytes, file, whole));
    return this.#made.get(whole);
  }

  #make(compiler, bytes, file, key) {
    const id = key.slice(0, ID_LENGTH);
    try {
      const name = relative(this.root, file) || file;
      const { module } = compiler.instrument(bytes, { keepDebug: true, ...this.#options.instrument, host: 'js', name });
      const names = JSON.stringify({ id, title: basename(file), names: functionNames(bytes), demangled: {} });
      const made = addSection(addSection(module, 'whammc', id), 'whammc.names', names);
      this.#hashes.add(hash(made));
      return { bytes: made, key, problem: null };
    } catch (error) {
      if (!(error instanceof WhammcError)) throw error;
      const problem = problemOf(error, this.root);
      const message = `${relative(this.root, file)} is not instrumented: ${error.message}`;
      return { bytes: null, key, problem: { ...problem, message, text: message } };
    }
  }

  /** As instrument() for a file, whose result becomes a file of the same name: { path, problem }, path null if there is none. */
  async place(file) {
    const made = this.accepts(file) ? await this.instrument(await readFile(file), file) : null;
    if (!made?.bytes) return { path: null, problem: made?.problem ?? null };
    const path = join(this.folder, made.key.slice(0, ID_LENGTH), basename(file));
    const there = await readFile(path).catch(() => null);
    this.#placed.add(made.key.slice(0, ID_LENGTH));
    if (there?.equals(made.bytes)) { // a watcher would take the same bytes for a change
      noteUse(fs, dirname(path));
    } else {
      await replaceFile(path, made.bytes);
      evict(fs, this.folder, CACHE_SIZE, this.#placed);
    }
    return { path, problem: null };
  }
}
