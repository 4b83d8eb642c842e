// Runs an instrumented program in Node, as `whammc run --engine=node` does:
//
//   node run-node.mjs [--lib=NAME=FILE]... MODULE.wasm REPORT PROGRAM-NAME [ARGUMENT...]
//
// Each --lib is a module that the program imports as NAME; it gets WASI and the libraries in front of it, and
// what the library whammc_runtime writes is the report.
// The program gets WASI (arguments, the environment, standard streams, the current directory as '.') and
// whammc.write, whose output is put into the file REPORT ('-': standard error); of several reports the file
// gets all. whammc.now is a clock, in milliseconds. Exports tried: _start, else main. Exit status: the
// program's; 134 if it trapped (after the engine's message on standard error and a last flush); 126 if it could
// not be loaded; 2 for wrong usage.
import { appendFileSync, readFileSync, writeFileSync, writeSync } from 'node:fs';

const TRAPPED = 134, NOT_LOADED = 126;

function say(text) {
  writeSync(2, `${text}\n`);
}

// node:wasi warns that it is experimental; that is no news to who runs a program.
function silenceExperimentalWarnings() {
  const listeners = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', warning => {
    if (warning.name !== 'ExperimentalWarning') listeners.forEach(listener => listener.call(process, warning));
  });
}

// The engine's message and the program's own frames.
function describe(error) {
  if (typeof WebAssembly.Exception === 'function' && error instanceof WebAssembly.Exception)
    return 'uncaught exception of the program';
  const frames = String(error?.stack ?? '').split('\n').filter(line => line.includes('wasm://'));
  return [`${error?.name ?? 'error'}: ${error?.message ?? error}`, ...frames.slice(0, 20)].join('\n');
}

// A host for the module's reports. Pieces that come before there is an instance (start function) cannot be
// read; the flush at the end has the same report.
function makeReporter(file) {
  const put = bytes => (file === '-' ? writeSync(2, bytes) : appendFileSync(file, bytes));
  let instance = null, missed = false;
  function write(ptr, len) {
    if (!instance) missed = true;
    else if (len) put(new Uint8Array(instance.exports['whammc:memory'].buffer, ptr >>> 0, len >>> 0));
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
  function attach(made) {
    instance = made;
    if (missed) flush();
  }
  return { put, write, flush, readMemory, attach };
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

// Runs the program; gives its exit status.
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

function load(file, name, imports) {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), imports);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error; // the start function trapped
    say(`${name}: ${describe(error)}`);
    if (/memory count of \d+ exceeds/.test(error.message))
      say(`hint: it needs multi-memory, which Node ${process.version} does not have; Node 22 and wasmtime do (--engine)`);
    return null;
  }
}

// Takes the --lib options off the front of the arguments.
function libraryOptions(words) {
  const libraries = [];
  while (words[0]?.startsWith('--lib=')) {
    const [, name, file] = words.shift().split(/=([^=]*)=(.*)/s);
    libraries.push({ name, file });
  }
  return libraries;
}

// What the runtime writes to its standard output is the report.
function reportWrite(memory, put) {
  return (fd, vectors, count, written) => {
    const view = new DataView(memory().buffer);
    let all = 0;
    for (let i = 0; i < count; i++) {
      const at = view.getUint32(vectors + 8 * i, true), len = view.getUint32(vectors + 8 * i + 4, true);
      put(new Uint8Array(view.buffer, at, len));
      all += len;
    }
    view.setUint32(written, all, true);
    return 0;
  };
}

// Instances of the libraries, as imports.
function loadLibraries(libraries, WASI, options, reporter) {
  const imports = {};
  for (const { name, file } of libraries) {
    const wasi = new WASI(options);
    const given = wasi.getImportObject();
    let memory;
    if (name === 'whammc_runtime')
      given.wasi_snapshot_preview1.fd_write = reportWrite(() => memory, reporter.put);
    const instance = load(file, name, { ...given, ...imports });
    if (!instance) return null;
    memory = instance.exports.memory;
    // WASI refuses an instance that could be a program
    if (memory) wasi.initialize({ exports: { memory, ...pick(instance.exports, '_initialize') } });
    else instance.exports._initialize?.();
    imports[name] = instance.exports;
  }
  return imports;
}

async function main(words) {
  const libraries = libraryOptions(words);
  const [file, report, ...args] = words;
  if (args.length === 0) {
    say('usage: node run-node.mjs [--lib=NAME=FILE]... MODULE.wasm REPORT PROGRAM-NAME [ARGUMENT...]');
    return 2;
  }
  silenceExperimentalWarnings();
  const { WASI } = await import('node:wasi');
  const options = { version: 'preview1', args, env: process.env, preopens: { '.': '.' }, returnOnExit: true };
  const wasi = new WASI(options);
  const reporter = makeReporter(report);
  if (report !== '-') writeFileSync(report, '');
  let instance = null;
  try {
    const imported = loadLibraries(libraries, WASI, options, reporter);
    if (!imported) return NOT_LOADED;
    const ours = { write: reporter.write, now: () => performance.now() };
    const imports = { ...imported, ...wasi.getImportObject(), whammc: ours };
    instance = load(file, args[0], imports);
    if (!instance) return NOT_LOADED;
    reporter.attach(instance);
    const status = execute(wasi, instance);
    reporter.readMemory();
    return status;
  } catch (error) {
    say(describe(error));
    try {
      reporter.flush();
    } catch (again) {
      say(`the report is lost: ${describe(again)}`);
    }
    return TRAPPED;
  }
}

process.exitCode = await main(process.argv.slice(2));
