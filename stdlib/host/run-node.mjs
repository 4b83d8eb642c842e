// Runs an instrumented program in Node, as `whammc run --engine=node` does:
//
//   node run-node.mjs [OPTION]... MODULE.wasm REPORT PROGRAM-NAME [ARGUMENT...]
//
//   --lib=NAME=FILE           the program imports the module FILE as NAME; may be repeated
//   --clock=host|thread|auto  where the time comes from; see createClock
//   --dir=HOST::GUEST         the program may open the directory HOST, as GUEST; may be repeated
//   --env=NAME=VALUE          a variable of its environment; may be repeated
//   --live=FD,FD              reports are requested while the program runs: see live.js
//   --metrics=FILE            what compiling, instantiating, running and reporting took, as JSON; the report begins with its first piece
//   --interruptible           the parent process sends SIGINT instead of SIGTERM and SIGHUP, which are ignored
//
// Each library gets WASI and the libraries before it; what whammc_runtime writes is the report.
// SIGINT ends the program as a trap does, with a report, and then Node.
// The program gets WASI (arguments, the environment, standard streams, the current directory as '.' and by its name) and
// whammc.write, whose output is put into the file REPORT ('-': standard error); of several reports the file
// gets all. whammc.print writes to standard error. whammc.now is a clock, in milliseconds. Exports tried: _start, else main. Exit status: the
// program's; 134 if it trapped (after the engine's message on standard error and a last flush); 126 if it could
// not be loaded; 2 for wrong usage.
import { appendFileSync, readFileSync, readSync, realpathSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import './node/atomics.js';
import './lines.js';
import { createPoll } from './node/live.js';
import { CLOCK, createThreadClock } from './clock.js';
import { createEngineSampler } from './node/engine-sampler.js';
import { asksFor, parts } from './parts.js';
import { createNodeSampler } from './sampler.js';
import { startNodeThread } from './thread.js';
import { createTraps } from './traps.js';
import './node/threads.js';
import { isProgramThread, joinImports, runThreads, tellBegun, tellEnded, threadMemory, threadToRun } from './node/wasi-threads.js';

const TRAPPED = 134, NOT_LOADED = 126;
const USAGE = 'usage: node run-node.mjs [--lib=NAME=FILE]... [--clock=host|thread|auto] [--dir=HOST::GUEST]...\n' +
  '       [--env=NAME=VALUE]... [--metrics=FILE] [--live=FD,FD] [--interruptible] MODULE.wasm REPORT PROGRAM-NAME [ARGUMENT...]';

function say(text) {
  writeSync(2, `${text}\n`);
}

// node:wasi warns that it is experimental, which does not matter to users of a program.
function silenceExperimentalWarnings() {
  const listeners = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', warning => {
    const { name } = warning; // of WASI, and of what watchInterrupts() takes
    if (name !== 'ExperimentalWarning' && !name.startsWith('internal/')) listeners.forEach(listener => listener.call(process, warning));
  });
}

// Calls fn with a flag of V8, which is set for no longer than that, since with other flags Node cannot use its compiled code, and threads
// take 30 ms more to start.
function withFlag(asked, flag, before, fn) {
  try {
    if (asked) setFlagsFromString(flag);
    return fn();
  } finally {
    if (asked) setFlagsFromString(before);
  }
}

const NODE_VERSION = parseInt(process.versions.node, 10);

// Instrumented programs say which of their branches are rare. V8 reads that since version 13.7 unasked; before, only with a flag.
function compile(bytes) {
  return withFlag(NODE_VERSION < 25, '--experimental-wasm-branch-hinting', '--no-experimental-wasm-branch-hinting', () => new WebAssembly.Module(bytes));
}

// V8 before version 13 ends the process when a module with several memories imports functions that compiled code can call at once, which
// those of WASI are.
function instantiate(module, imports) {
  return withFlag(NODE_VERSION < 24, '--no-turbo-fast-api-calls', '--turbo-fast-api-calls', () => new WebAssembly.Instance(module, imports));
}

// The engine's message and the program's own frames.
function describe(error) {
  if (typeof WebAssembly.Exception === 'function' && error instanceof WebAssembly.Exception)
    return 'uncaught exception of the program';
  const frames = String(error?.stack ?? '').split('\n').filter(line => line.includes('wasm://'));
  return [`${error?.name ?? 'error'}: ${error?.message ?? error}`, ...frames.slice(0, 20)].join('\n');
}

// The times of phases that follow each other; each begins when the one before it ends.
function makeStopwatch() {
  const phases = {}, { performance } = globalThis; // loaded here: there is none for good if an interrupt ends its loading
  let current = null, wall = 0, cpu = 0;
  function begin(name) {
    const time = performance.now(), { user, system } = process.cpuUsage();
    if (current) phases[current] = { wall_ms: time - wall, cpu_ms: (user + system) / 1000 - cpu };
    [current, wall, cpu] = [name, time, (user + system) / 1000];
  }
  return { begin, isAt: name => current === name, phases };
}

// Appends bytes to the file of the report.
function putInto(file) {
  return bytes => (file === '-' ? writeSync(2, bytes) : appendFileSync(file, bytes));
}

// A host for the module's reports. Pieces that come before there is an instance (start function) cannot be
// read; the flush at the end has the same report.
function makeReporter(out, stopwatch) {
  let instance = null, traps = null, missed = false, aside = null;
  function put(bytes) {
    if (stopwatch.isAt('run')) stopwatch.begin('report');
    if (aside) aside.push(bytes.slice());
    else out(bytes);
  }
  function write(ptr, len) {
    if (!instance) missed = true;
    else if (len) put(new Uint8Array(instance.exports['whammc:memory'].buffer, ptr >>> 0, len >>> 0));
  }
  // False: not yet.
  function print(ptr, len) {
    if (!instance) missed = true;
    else parts.lines(new Uint8Array(instance.exports['whammc:memory'].buffer, ptr >>> 0, len >>> 0));
    return instance ? 1 : 0;
  }
  function flush() {
    if (!instance?.exports['whammc:flush']) return;
    instance.exports['whammc:flush']();
    readMemory();
  }
  // --host=none: the report stays in memory.
  function readMemory() {
    const { 'whammc:report_ptr': ptr, 'whammc:report_len': len, 'whammc:memory': own, memory } = instance.exports;
    if (ptr) put(new Uint8Array((own ?? memory).buffer, ptr() >>> 0, len() >>> 0));
  }
  function attach(made, module) {
    instance = made;
    traps = createTraps(made, module, say);
    if (missed) flush();
  }
  // The report after an error, which may have come while another one was made.
  function flushAfter(error) {
    aside = null;
    traps?.correct(error);
    flush();
  }
  // The bytes of a report as it is now. Text that scripts have printed before goes to its destination.
  function snapshot() {
    instance.exports['whammc:text']?.();
    aside = [];
    try {
      flush();
      return Buffer.concat(aside);
    } finally {
      aside = null;
    }
  }
  return { put, write, print, flush, flushAfter, readMemory, attach, snapshot };
}

// What ends a program that ends itself.
class ProgramExit extends Error {
  constructor(status) {
    super(`exit(${status})`);
    this.status = status;
  }
}

function exit(status) {
  throw new ProgramExit(status & 255);
}

// Calls an export with zeros for its parameters.
function callWithZeros(fn) {
  const zeros = Array(fn.length).fill(0);
  try {
    return fn(...zeros);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return fn(...zeros.map(BigInt)); // the parameters are i64
  }
}

// Runs the program; returns its exit status.
function execute(wasi, instance) {
  const { _start, main, memory } = instance.exports;
  if (_start && memory) return wasi.start(instance);
  if (memory) wasi.initialize({ exports: { memory, ...pick(instance.exports, '_initialize') } });
  if (_start) _start();
  const result = !_start && typeof main === 'function' ? callWithZeros(main) : 0;
  return typeof result === 'number' ? result & 255 : 0;
}

function pick(object, name) {
  return name in object ? { [name]: object[name] } : {};
}

// Null, which was said, if it cannot be read.
function readProgram(file, name) {
  try {
    return readFileSync(file);
  } catch (error) {
    say(`${name}: ${describe(error)}`);
    return null;
  }
}

// Gives { instance, module }; `imports` are the module's, or a function that makes them for the module.
function load(bytes, name, imports, compiled = () => {}) {
  try {
    const module = compile(bytes);
    compiled();
    return { instance: instantiate(module, typeof imports === 'function' ? imports(module) : imports), module };
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error; // the start function trapped
    say(`${name}: ${describe(error)}`);
    if (/memory count of \d+ exceeds/.test(error.message))
      say(`hint: it needs multi-memory, which Node ${process.version} does not have; Node 22 and wasmtime do (--engine)`);
    return null;
  }
}

// Takes the options off the front of the arguments.
function takeOptions(words) {
  const options = { libraries: [], clock: 'host', directories: [], env: {}, live: null, metrics: null, interruptible: false };
  while (words[0]?.startsWith('--')) {
    const [, name, value] = words.shift().match(/^--([^=]*)=?(.*)/s);
    if (name === 'lib') {
      const [, library, file] = value.match(/^([^=]*)=(.*)/s);
      options.libraries.push({ name: library, file });
    } else if (name === 'clock') {
      options.clock = value;
    } else if (name === 'dir') {
      const [, host, guest] = value.match(/^(.*?)::(.*)/s) ?? [null, value, value];
      options.directories.push({ host, guest });
    } else if (name === 'env') {
      const [, variable, content] = value.match(/^([^=]*)=(.*)/s);
      options.env[variable] = content;
    } else if (name === 'metrics') {
      options.metrics = value;
    } else if (name === 'live') {
      options.live = value.split(',').map(Number);
    } else if (name === 'interruptible') {
      options.interruptible = true;
    }
  }
  return options;
}

// ---- the clock ----

// A clock that a thread keeps, when it is read often (`must`: always); null if there can be none.
async function createThreadedClock(must) {
  const threads = await import('node:worker_threads');
  let worker = null;
  try {
    const clock = createThreadClock((code, data) => { worker = startNodeThread(threads, code, data); }, { always: must });
    if (must && (clock.want(), !clock.waits(5000))) {
      worker.terminate();
      return null;
    }
    const began = performance.now();
    const stop = () => {
      const end = performance.now(), behind = must ? end - Math.max(began, clock.now()) : 0; // and may never get its turn
      worker?.terminate();
      const part = Math.round(100 * (clock.lost() + (behind > CLOCK.GAP ? behind : 0)) / (end - began));
      if (must && part >= 5)
        say(`whammc: the clock stood still for ${part}% of the time, as others need the processors; try --clock=host`);
    };
    return { ...clock, stop };
  } catch { // no shared memory, or no leave to have threads
    return null;
  }
}

// The requested clock: of a thread, if there can be one, or the host's. It does not go backwards, and its zero is that of
// performance.now. now() is in milliseconds, now_ns() an i64.
async function createClock(wanted) {
  const { availableParallelism, cpus } = await import('node:os');
  const processors = availableParallelism?.() ?? cpus().length;
  const thread = wanted === 'thread' || (wanted === 'auto' && processors > 1) ? await createThreadedClock(wanted === 'thread') : null;
  if (thread) return thread;
  const now = () => performance.now();
  return { now, now_ns: () => BigInt(Math.trunc(now() * 1e6)), stop: () => {} };
}

// ---- libraries ----

// The standard output of the runtime is the report, its standard error what it says.
function reportWrite(memory, put) {
  return (fd, vectors, count, written) => {
    const view = new DataView(memory().buffer);
    let all = 0;
    for (let i = 0; i < count; i++) {
      const at = view.getUint32(vectors + 8 * i, true), len = view.getUint32(vectors + 8 * i + 4, true);
      (fd === 2 ? parts.lines : put)(new Uint8Array(view.buffer, at, len));
      all += len;
    }
    view.setUint32(written, all, true);
    return 0;
  };
}

// What a program imports from WASI. Node 18 does not have getImportObject.
function wasiImports(wasi) {
  return wasi.getImportObject?.() ?? { wasi_snapshot_preview1: wasi.wasiImport };
}

// Instances of the libraries, as imports.
function loadLibraries(libraries, WASI, options, reporter, clock) {
  const imports = {};
  for (const { name, file } of libraries) {
    const wasi = new WASI(options);
    const given = wasiImports(wasi);
    let memory;
    if (name === 'whammc_runtime')
      Object.assign(given.wasi_snapshot_preview1, { fd_write: reportWrite(() => memory, reporter.put), proc_exit: exit });
    const loaded = load(readFileSync(file), name, { ...given, ...imports });
    if (!loaded) return null;
    const { instance } = loaded;
    memory = instance.exports.memory;
    // WASI refuses an instance that could be a program
    if (memory) wasi.initialize({ exports: { memory, ...pick(instance.exports, '_initialize') } });
    else instance.exports._initialize?.();
    imports[name] = instance.exports;
    if (name === 'whammc_runtime') imports[name] = { ...instance.exports, now_ns: clock.now_ns }; // WASI's is slow
  }
  return imports;
}

// ---- samples ----

// What takes samples of a program, if it asks for that: { imports, attach(instance, module), look, stop }.
function makeSampling(module, ends) {
  const sampler = asksFor(module, 'next_sample') ? createNodeSampler(createRequire('file:///')('node:worker_threads')) : null;
  const engine = asksFor(module, 'sample_every') ? createEngineSampler(createRequire('file:///'), text => say(`whammc: ${text}`)) : null;
  const program = engine?.program({ ends });
  return {
    imports: { next_sample: place => sampler?.next(place) ?? 0, sampled() {}, ...program?.imports },
    attach(instance, made) {
      sampler?.attach(instance.exports['whammc:stack']);
      program?.attach(instance, made);
    },
    look: () => engine?.look(),
    stop: () => sampler?.stop(),
  };
}

// ---- threads ----

const atomicsFor = module => (asksFor(module, 'atomics') ? { atomics: parts.atomics.get(say) } : {});

// The report of what a thread has counted that has left a memory: by an instance of which nothing runs.
function reportOf(module, type, settings, left, id) {
  const pieces = [], reporter = makeReporter(bytes => pieces.push(Buffer.from(bytes)), makeStopwatch());
  const stubs = {}, memory = new WebAssembly.Memory({ initial: type.initial, maximum: type.maximum, shared: true });
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module))
    if (kind === 'function') stubs[from] = { ...stubs[from], [name]: () => 0 };
  const own = { whammc: { write: reporter.write, print: reporter.print, exit, thread: id, ...atomicsFor(module) }, [type.module]: { [type.name]: memory } };
  const instance = instantiate(module, joinImports(stubs, own));
  reporter.attach(instance, module);
  pieces.length = 0;
  parts.threads.withContents(instance.exports['whammc:memory'], left, parts.threads.keptIn(module), reporter.flush);
  return Buffer.concat(pieces);
}

// This script, as a worker executes it: from its file, or as text where that is not in a file.
function ownScript() {
  const { _eval: text } = process;
  return new URL(text ? `data:text/javascript;charset=utf-8,${encodeURIComponent(text)}` : import.meta.url);
}

// Gives the exit status.
async function runProgramOfThreads(bytes, type, report, settings, signal) {
  const name = settings.options.args[0];
  if (settings.live) {
    say(`${name}: it has threads; reports while it runs are only there for programs without threads`);
    return NOT_LOADED;
  }
  let module;
  try {
    module = compile(bytes);
  } catch (error) {
    say(`${name}: ${describe(error)}`);
    return NOT_LOADED;
  }
  if (asksFor(module, 'atomics')) parts.atomics.begin();
  const makeReport = (left, id) => {
    try {
      return reportOf(module, type, settings, left, id);
    } catch { // there is no memory for it
      return null;
    }
  };
  const { status, said } = await runThreads({
    source: ownScript(), module, type, name, settings, makeReport, put: putInto(report),
    stopped: end => process.on('SIGINT', () => end({ status: TRAPPED })),
  });
  if (said) say(said);
  if (signal()) endBy('SIGINT');
  return status ?? TRAPPED;
}

// In a worker: runs a thread of the program.
async function runThread() {
  const { module, memory, type, id, argument, settings, spawn } = threadToRun();
  silenceExperimentalWarnings();
  const { WASI } = await import('node:wasi');
  const { options, libraries } = settings, wasi = new WASI(options), stopwatch = makeStopwatch();
  const pieces = [], reporter = makeReporter(bytes => pieces.push(Buffer.from(bytes)), stopwatch), clock = await createClock('host');
  const sampling = makeSampling(module, true);
  const finish = error => {
    if (error) reporter.flushAfter(error);
    else if (id) reporter.flush();
    reporter.readMemory();
    sampling.stop();
    return Buffer.concat(pieces);
  };
  try {
    const imported = loadLibraries(libraries, WASI, options, reporter, clock);
    const own = { whammc: { write: reporter.write, print: reporter.print, exit, now: clock.now, thread: id, ...atomicsFor(module), ...sampling.imports }, wasi: { 'thread-spawn': spawn } };
    const instance = imported && instantiate(module, joinImports(imported, wasiImports(wasi), own, { [type.module]: { [type.name]: memory } }));
    if (!instance) return tellEnded({ status: NOT_LOADED }, finish);
    reporter.attach(instance, module);
    sampling.attach(instance, module);
    wasi.initialize({ exports: { memory } });
    tellBegun(instance.exports['whammc:memory']);
    const { wasi_thread_start: begin, _start, main: other } = instance.exports;
    if (id && !begin) return tellEnded({ status: NOT_LOADED, said: `${options.args[0]}: it exports no wasi_thread_start` }, () => finish());
    const status = id ? begin(id, argument) : (_start ?? callWithZeros.bind(null, other))();
    return tellEnded(id ? null : { status: typeof status === 'number' ? status & 255 : 0 }, () => finish());
  } catch (error) {
    if (error instanceof ProgramExit) return tellEnded({ status: error.status }, () => finish());
    if (typeof error === 'symbol') return tellEnded({ status: wasi[error] }, () => finish()); // proc_exit
    const isProgram = error instanceof WebAssembly.RuntimeError || error instanceof WebAssembly.Exception || error instanceof RangeError;
    return tellEnded({ status: isProgram ? TRAPPED : NOT_LOADED, said: describe(error) }, () => finish(error));
  }
}

// ---- running ----

// Signals do not end the process before the report is written. Returns a function that returns the first one that came while no
// program ran.
function holdSignals(interruptible) {
  let first = null;
  for (const signal of interruptible ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : ['SIGINT'])
    process.on(signal, () => { first = first ?? (signal === 'SIGINT' ? signal : null); });
  return () => first;
}

function endBy(signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

// Between and after the calls of interruptibly() SIGINT would end the process: a second one, while the report is made. From here on
// it does not; returns what ends that and tells whether one came. Works with --expose-internals only.
function watchInterrupts() {
  try {
    const { internalBinding } = createRequire('file:///')('internal/test/binding');
    const { startSigintWatchdog, stopSigintWatchdog } = internalBinding('contextify');
    process.removeAllListeners('SIGINT'); // vm would, and the end of the last one takes the watchdog's handler away
    startSigintWatchdog();
    return stopSigintWatchdog;
  } catch {
    return () => false;
  }
}

// fn(); SIGINT makes it end with an exception, although nobody looks for signals meanwhile.
async function interruptibly(fn) {
  const { Script } = await import('node:vm');
  globalThis.whammcProgram = fn;
  return new Script('whammcProgram()').runInThisContext({ breakOnSigint: true });
}

// The names by which the program may open the current directory: Go's programs, which use PWD, need absolute ones.
function ownDirectory() {
  const directory = process.cwd(), named = process.env.PWD;
  const isSame = name => {
    try {
      return realpathSync(name) === realpathSync('.');
    } catch {
      return false;
    }
  };
  return { '.': '.', [directory]: '.', ...(named?.startsWith('/') && isSame(named) ? { [named]: '.' } : {}) };
}

// Null, which was said, if one of the directories cannot be opened.
function makeWasi(WASI, options) {
  try {
    return new WASI(options);
  } catch (error) {
    say(`${options.args[0]}: WASI cannot open ${Object.values(options.preopens).join(', ')}: ${describe(error)}`);
    return null;
  }
}

async function main(words) {
  const { libraries, clock: wanted, directories, env, live, metrics, interruptible } = takeOptions(words);
  const [file, report, ...args] = words;
  if (args.length === 0) {
    say(USAGE);
    return 2;
  }
  const signal = holdSignals(interruptible);
  silenceExperimentalWarnings();
  const { WASI } = await import('node:wasi');
  const preopens = { ...ownDirectory(), ...Object.fromEntries(directories.map(({ host, guest }) => [guest, host])) };
  const options = { version: 'preview1', args, env: { ...process.env, ...env }, preopens, returnOnExit: true };
  const wasi = makeWasi(WASI, options);
  if (!wasi) return NOT_LOADED;
  const stopwatch = makeStopwatch();
  const reporter = makeReporter(putInto(report), stopwatch);
  if (report !== '-') writeFileSync(report, '');
  const bytes = readProgram(file, args[0]), type = bytes && threadMemory(bytes);
  if (!bytes) return NOT_LOADED;
  if (type) return runProgramOfThreads(bytes, type, report, { libraries, options, live }, signal);
  const clock = await createClock(wanted);
  let sampling = null;
  // Gives the exit status.
  function loadAndExecute() {
    const imported = loadLibraries(libraries, WASI, options, reporter, clock);
    if (!imported) return NOT_LOADED;
    const poll = live ? createPoll({ readSync, writeSync }, live, reporter.snapshot) : null;
    stopwatch.begin('compile');
    const loaded = load(bytes, args[0], made => {
      sampling = makeSampling(made, !live);
      const polls = poll && (waits => { sampling.look(); return poll(waits); });
      return { ...imported, ...wasiImports(wasi), whammc: { write: reporter.write, print: reporter.print, exit, now: clock.now, poll: polls, thread: 0, ...sampling.imports } };
    }, () => stopwatch.begin('instantiate'));
    if (!loaded) return NOT_LOADED;
    const { instance, module } = loaded;
    reporter.attach(instance, module);
    sampling.attach(instance, module);
    stopwatch.begin('run');
    const status = execute(wasi, instance);
    reporter.readMemory();
    return status;
  }
  let interrupted = false, stopWatching = () => false;
  try {
    await new Promise(done => { setImmediate(done); }); // signals that have come are told
    if (signal()) return TRAPPED;
    stopWatching = watchInterrupts();
    return await interruptibly(loadAndExecute);
  } catch (error) {
    if (error instanceof ProgramExit) {
      reporter.readMemory();
      return error.status;
    }
    interrupted = error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
    if (!interrupted) say(describe(error));
    try {
      reporter.flushAfter(error);
    } catch (again) {
      say(`the report is lost: ${describe(again)}`);
    }
    return TRAPPED;
  } finally {
    stopwatch.begin(null);
    if (metrics) writeFileSync(metrics, `${JSON.stringify(stopwatch.phases)}\n`);
    clock.stop();
    sampling?.stop();
    if (stopWatching() || interrupted || signal()) endBy('SIGINT');
  }
}

if (isProgramThread) await runThread();
else process.exitCode = await main(process.argv.slice(2));
