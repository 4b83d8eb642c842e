// lib/register.mjs - the hook that `node --import whammc/register` loads: instruments every module when the program loads it.
//
// The command whammc does the work in a process of its own, the native one or that of this package: modules must be there when
// `new WebAssembly.Module` returns, the compiler takes no memory of the program, and is not loaded where all modules are cached.
// Everything here is per thread; threads and processes that the program starts load it again.
import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, threadId } from 'node:worker_threads';
import { createEngineSampler } from '../host/node/engine-sampler.js';
import { parts } from '../host/parts.js';
import '../host/node/threads.js';
import { createHost, intercept, tellTrapped, watch, watchContexts, watchEnd } from '../host/whammc.js';
import { evict, noteUse } from './evict.mjs';
import { copyBytes, createRefusal, keyOf, whyInvalid, wrapCompilers, wrapSections } from './hook.mjs';
import { allCustomSections, appendKey, createSizes, moduleName, namedSections } from './sections.mjs';

const LOADED = Symbol.for('whammc.register');
// Endings of files, and the formats of `whammc report`.
const FORMATS = {
  '.txt': 'table', '.csv': 'csv', '.json': 'json', '.prom': 'prometheus', '.gprof': 'gprof', '.dot': 'dot', '.folded': 'folded',
  '.svg': 'svg', '.speedscope.json': 'speedscope', '.cpuprofile': 'cpuprofile', '.perfetto.json': 'perfetto', '.pb.gz': 'pprof',
  '.callgrind': 'callgrind', '.cachegrind': 'cachegrind', '.info': 'lcov', '.xml': 'cobertura', '.html': 'html', '.drcov': 'drcov',
  '.lcov': 'lcov',
};
const ENDINGS = Object.keys(FORMATS).sort((a, b) => b.length - a.length); // .speedscope.json before .json
const INCLUDES = /\binclude\s*"|\buse\s+\w+\s*\./; // in a script
const OPTIONS = ['--host=js', '--no-js'], TOLD_FILES = 3;
const CACHE_SIZE = 1000; // MB

/** Prints a message on standard error. */
function say(text) {
  try {
    fs.writeSync(2, `whammc: ${text}\n`);
  } catch { // standard error is closed
  }
}

function fail(text) {
  say(text);
  process.exit(2);
}

// ---- settings ----

function parseOutputs(list) {
  return list.split(',').filter(Boolean).map(path => {
    const ending = ENDINGS.find(each => path.endsWith(each));
    if (!ending) fail(`WHAMMC_OUT: expected names of files that end in ${Object.keys(FORMATS).join(', ')}, found '${path}'`);
    return { path: resolve(path), ending, format: FORMATS[ending] };
  });
}

function readSettings(env) {
  const script = env.WHAMMC_SCRIPT || 'calltree', isFile = /[/.]/.test(script);
  if (isFile && !fs.existsSync(script)) fail(`WHAMMC_SCRIPT: there is no file '${script}'`);
  const cache = env.WHAMMC_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'whammc');
  return {
    script: isFile ? resolve(script) : script,
    scriptText: isFile ? fs.readFileSync(script) : '',
    define: (env.WHAMMC_DEFINE ?? '').split(';').filter(Boolean),
    outputs: parseOutputs(env.WHAMMC_OUT || (script === 'calltree' ? 'whammc.svg' : 'whammc.csv')),
    // Scripts that include files are compiled anew, since those may have changed.
    cache: ['off', 'no'].includes(cache) || (isFile && INCLUDES.test(fs.readFileSync(script, 'utf8'))) ? null : resolve(cache),
    cacheSize: (Number(env.WHAMMC_CACHE_SIZE) || CACHE_SIZE) * 1e6,
    strict: env.WHAMMC_STRICT === '1',
    hasMain: !isMainThread && env.WHAMMC_MAIN === String(process.pid), // the main thread of this process has the hook, too
    written: env.WHAMMC_WRITTEN, // where to list files and their modules, for `whammc profile`
    // `node --test` has a process for each file, none of which is the first one.
    isRoot: (env.WHAMMC_ROOT ?? String(process.pid)) === String(process.pid) && !env.NODE_TEST_CONTEXT, // now: programs may change their environment
  };
}

/** What tells apart two versions of files without reading them. */
function stamp(path) {
  const found = fs.statSync(path, { throwIfNoEntry: false });
  return found ? `${path} ${found.size} ${found.mtimeMs}` : path;
}

// ---- the command ----

const problemIn = ({ status, stderr, error }) => (status === 0 ? null : error?.message ?? (stderr.trim() || `whammc ended with status ${status}`));

function createRunner(command) {
  const env = { ...process.env, WHAMMC_REGISTER: 'off' };
  delete env.NODE_OPTIONS;
  return args => {
    const [file, ...words] = command.words;
    return problemIn(spawnSync(file, [...words, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8', maxBuffer: Infinity,
      windowsHide: true }));
  };
}

/** The same when the program has ended, in this process if that is possible. */
function createReporter(command, run) {
  return args => {
    try {
      if (command.runHere) return problemIn(command.runHere(args));
    } catch { // there is no memory left
    }
    return run(args);
  };
}

// ---- instrumented modules, by key ----

function createStore(settings, command, run) {
  const options = [...OPTIONS, ...settings.define.map(each => `--define=${each}`), '-s', settings.script];
  const base = createHash('sha256').update([...command.parts.map(stamp), ...options, process.versions.v8].join('\0'))
    .update(settings.scriptText).digest();
  const used = new Set(); // keys
  let folder = null, temporary = null;

  // A folder that cannot be written is one that is not there.
  function open() {
    if (folder) return folder;
    try {
      if (settings.cache) fs.mkdirSync(settings.cache, { recursive: true, mode: 0o700 });
      if (settings.cache) fs.accessSync(settings.cache, fs.constants.W_OK);
      folder = settings.cache;
    } catch (error) {
      say(`WHAMMC_CACHE: ${error.message}; nothing is cached`);
    }
    if (!folder) folder = temporary = fs.mkdtempSync(join(tmpdir(), 'whammc-register-'));
    return folder;
  }

  // Other processes see whole files only.
  function put(path, bytes) {
    const partial = `${path}.${randomUUID()}`;
    fs.writeFileSync(partial, bytes);
    fs.renameSync(partial, path);
  }

  const pathOf = (key, kind) => join(open(), `${key}.${kind}.wasm`);

  function read(key, kind) {
    try {
      return fs.readFileSync(pathOf(key, kind));
    } catch {
      return null;
    }
  }

  /** { bytes, key }, or { problem }. */
  function instrument(original) {
    const key = createHash('sha256').update(base).update(original).digest('hex'), cached = read(key, 'instr');
    used.add(key);
    if (cached && WebAssembly.validate(cached)) {
      noteUse(fs, pathOf(key, 'instr'));
      return { bytes: cached, key };
    }
    const app = pathOf(key, 'app'), partial = `${pathOf(key, 'instr')}.${randomUUID()}`;
    put(app, original);
    try {
      const problem = run(['instr', ...options, app, '-o', partial]);
      if (problem) return { problem };
      const bytes = appendKey(fs.readFileSync(partial), key);
      if (!WebAssembly.validate(bytes)) return { problem: whyInvalid(bytes, `Node 22 and later ones have (this is ${process.version})`) };
      put(pathOf(key, 'instr'), bytes);
      if (!temporary) evict(fs, open(), settings.cacheSize, used);
      return { bytes, key };
    } finally {
      fs.rmSync(partial, { force: true });
    }
  }

  function close() {
    if (temporary) fs.rmSync(temporary, { recursive: true, force: true });
  }
  return { instrument, original: key => read(key, 'app'), originalPath: key => pathOf(key, 'app'), folder: open, close };
}

function createInstrumenter(store, refuse) {
  const sized = createSizes();
  return source => {
    const original = copyBytes(source);
    if (!original) return source;
    try {
      const { bytes, key, problem } = store.instrument(original);
      return bytes ? sized(bytes, key) : refuse(problem, original);
    } catch (error) {
      if (error instanceof WebAssembly.CompileError) throw error;
      return refuse(error.message, original);
    }
  };
}

// ---- reports ----

/** "out.svg" is what the largest module of the first process gives; others have numbers before the ending. */
function placeOf({ path, ending }, number, isRoot, thread) {
  const parts = [];
  if (!isRoot) parts.push(process.pid);
  if (thread) parts.push(`thread${thread}`);
  if (number) parts.push(`module${number + 1}`);
  return [path.slice(0, -ending.length), ...parts].join('.') + ending;
}

/** Tells `whammc profile -- …` something, in lines that stay together where several threads do. */
function note(settings, ...lines) {
  if (settings.written) fs.appendFileSync(settings.written, `${lines.join('\n')}\n`);
}

/** What people call a module: its file, or, where it was loaded from bytes, what it calls itself. */
function titleOf(store, key, url, size) {
  return basename(url ?? '') || moduleName(store.original(key) ?? []) || `module of ${size} bytes`;
}

/** Files of reports, by module. A report is a list of chunks: it can be longer than a string. */
function createReportFiles(settings, store) {
  const groups = new Map(); // key to { key, url, size, files }
  let folder = null, count = 0;
  const sizeOf = key => fs.statSync(store.originalPath(key), { throwIfNoEntry: false })?.size ?? 0;

  function write(report) {
    folder ??= fs.mkdtempSync(join(tmpdir(), 'whammc-report-'));
    const path = join(folder, `${count++}.csv`), fd = fs.openSync(path, 'w');
    try {
      for (const chunk of report) fs.writeFileSync(fd, chunk);
    } finally {
      fs.closeSync(fd);
    }
    return path;
  }

  return {
    // Only `whammc profile` keeps threads apart: what others have left counts as the main thread's.
    add({ key, report, url, thread: other }) {
      if (!key || !report) return;
      if (!groups.has(key)) groups.set(key, { key, url, size: sizeOf(key), threads: new Map() });
      const group = groups.get(key), thread = (settings.written && other) || threadId;
      group.url ||= url;
      group.threads.set(thread, [...group.threads.get(thread) ?? [], write(report)]);
    },

    /** The largest module first: what programs load to find out what the engine can do is small. Those of one size stay in their order. */
    bySize: () => [...groups.values()].sort((a, b) => b.size - a.size),

    remove() {
      if (folder) fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Says which file has what, where there are several. `whammc profile` shows them itself. */
function tellFiles(settings, written) {
  const shown = written.slice(0, TOLD_FILES).map(({ place, size }) => `${place} is of a module of ${size} bytes`);
  if (written.length > shown.length) shown.push(`${written.length - shown.length} more files are of smaller ones`);
  if (written.length > 1 && !settings.written) say(shown.join(', '));
}

function writeReports(settings, store, run, groups) {
  const written = [];
  groups.forEach(({ key, threads, url, size }, number) => {
    for (const [thread, files] of threads)
      for (const output of settings.outputs) {
        const place = placeOf(output, number, settings.isRoot, thread), module = ['lcov', 'html', 'cobertura', 'drcov'].includes(output.format);
        const problem = run(['report', `--format=${output.format}`, '-o', place, ...module ? ['--module', store.originalPath(key)] : [], ...files]);
        if (problem) say(`${place} is not written: ${problem}`);
        else if (settings.written) note(settings, 'report', place, store.originalPath(key), titleOf(store, key, url, size));
      }
    if (settings.outputs.length) written.push({ place: placeOf(settings.outputs[0], number, settings.isRoot, threadId), size });
  });
  tellFiles(settings, written);
}

// ---- all of it ----

/** Threads have the hook from the options of Node that started them; processes, from the environment. */
function passOn(env, hook) {
  const option = `--import=${hook}`, options = env.NODE_OPTIONS ?? '';
  env.WHAMMC_ROOT ??= String(process.pid);
  if (isMainThread) env.WHAMMC_MAIN = String(process.pid);
  if (!options.includes(option)) env.NODE_OPTIONS = `${options} ${option}`.trim();
}

/** `deno test` and `bun test` end without telling of an exit. */
async function watchTests(finish) {
  if (globalThis.Deno) addEventListener('unload', finish);
  if (globalThis.Bun) await import('bun:test').then(({ afterAll }) => afterAll(finish)).catch(() => { /* no test is run */ });
}

/**
 * `hook`: the address of the module that called this; `command`: the command whammc, its words and the files that it consists of. That of
 * the package, if it is not native, can also run in this process: runHere(args) gives { status, stderr }.
 */
export function register(hook, command = { words: [process.env.WHAMMC_NATIVE], parts: [process.env.WHAMMC_NATIVE] }) {
  if (process.env.WHAMMC_REGISTER === 'off' || globalThis[LOADED]) return;
  Object.defineProperty(globalThis, LOADED, { value: true });
  const settings = readSettings(process.env);
  const run = createRunner(command), store = createStore(settings, command, run);
  const programs = [], sampler = createEngineSampler(createRequire(import.meta.url), say);
  passOn(process.env, hook);
  if (settings.script === 'first-events' || settings.scriptText.includes('atomic')) parts.atomics.prepare(); // before there are threads
  // V8 before version 13 would end the process when a module with several memories imports functions of node:wasi.
  if (parseInt(process.versions.node, 10) < 24) setFlagsFromString('--no-turbo-fast-api-calls');

  function makeHost() {
    const program = { host: null, key: null, memory: null, report: null };
    // Each report has all counts so far. Programs that are sampled read the time too seldom for a clock that is kept by a thread.
    const clock = settings.script === 'sample' ? { clock: () => () => performance.now() } : {};
    program.host = createHost({ onChunks: chunks => { program.report = chunks; }, ...clock, engine: sampler.program() });
    const attach = (instance, module, url) => {
      program.key = keyOf(module);
      program.url = url ?? '';
      if (!programs.length) note(settings, 'began');
      programs.push(program);
      program.host.attach(instance, module, url);
      program.memory = instance.exports['whammc:memory'];
      program.kept = parts.threads.keptIn(module);
      parts.threads.announce(program.key, parts.atomics.isAlone ? null : program.memory, () => flush(program) && program.report);
    };
    return { imports: program.host.imports, attach };
  }

  function flush({ host }) {
    try {
      return host.flush();
    } catch (error) {
      say(`a report is lost: ${error.message}`);
      return false;
    }
  }

  // What tells what an instance of this module has counted that has left a memory.
  function readerOf(id) {
    const program = programs.find(({ key }) => key === id), { host, memory, kept, report } = program ?? {};
    return program && (left => {
      try {
        host.aside(() => parts.threads.withContents(memory, left, kept, host.flush));
        return program.report;
      } finally {
        program.report = report;
      }
    });
  }

  // Threads that have ended without a report are counted with the main thread.
  function collectThreads() {
    const found = parts.threads.collect(), lost = found.filter(({ saved }) => saved === null).length;
    if (lost) say(`the counts of ${lost} of ${found.length} instances in threads that were ended are lost`);
    return found.map(({ id, saved, thread }) => ({ key: id, report: saved, thread }));
  }

  let finished = false;
  function finish() {
    if (finished) return;
    finished = true;
    sampler.stop();
    const files = createReportFiles(settings, store);
    try {
      for (const program of programs) {
        flush(program);
        files.add(program);
        program.report = null; // it can be large
      }
      const others = collectThreads(), silent = new Set(others.filter(({ report }) => report === null).map(({ thread }) => thread));
      others.forEach(files.add);
      writeReports(settings, store, createReporter(command, run), files.bySize());
      if (programs.length) note(settings, 'ended');
      new Set(others.map(({ thread }) => thread)).forEach(thread => silent.has(thread) || note(settings, 'ended'));
    } catch (error) {
      say(`the reports cannot be written: ${error.message}`);
    }
    files.remove();
    store.close();
  }

  const instrument = createInstrumenter(store, createRefusal(settings.strict, say));
  function enter(realm) {
    intercept(['whammc'], makeHost, module => keyOf(module) !== null, realm);
    wrapCompilers(instrument, instrument, realm);
    wrapSections((key, name) => {
      const original = store.original(key);
      return original && namedSections(allCustomSections(original), name);
    }, realm);
  }
  enter(globalThis);
  watchContexts(enter);
  watch(error => tellTrapped(programs.map(({ host }) => host), error));
  parts.thread = threadId; // older versions of Node have no other way to tell it
  parts.threads.begin(readerOf);
  // The main thread has all counts in its files, if it is there to take them. `whammc profile` keeps threads apart.
  const leave = settings.hasMain && !settings.written ? () => {
    sampler.stop();
    store.close();
  } : null;
  const end = () => parts.threads.report(finish, leave);
  watchEnd(end);
  process.on('exit', end);
  return watchTests(end);
}
