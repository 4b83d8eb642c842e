// Runs one instrumented program with WASI in its own worker, which the page can terminate.
import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI, WASIProcExit } from '@bjorn3/browser_wasi_shim';
import { createHost, isTrap } from 'whammc/host';

const SEND = 50; // ms between pieces of output
const MOST_OUTPUT = 1 << 20; // bytes of it that are shown
const FIRST_LIVE = 300, LIVE = 700, REST = 4; // ms until a report of a running program, between two, and how often as long as one took
const POLL = 5, MOST_POLLS = 1 << 17;

// ---- output ----

/** What the program writes, in pieces, as fast as a page can take them. */
function createOutput(stream) {
  const decoder = new TextDecoder();
  let text = '', size = 0, last = 0, cut = false;
  const send = () => {
    if (text) postMessage({ kind: 'output', stream, text });
    text = '';
    last = performance.now();
  };
  return {
    fd: new ConsoleStdout(bytes => {
      if (cut) return;
      size += bytes.length;
      text += decoder.decode(bytes, { stream: true });
      if (size > MOST_OUTPUT) {
        cut = true;
        text += `\n[whammc playground: more than ${MOST_OUTPUT >> 10} KiB; the rest is not shown]\n`;
        send();
      } else if (performance.now() - last > SEND) send();
    }),
    end() {
      text += decoder.decode();
      send();
    },
  };
}

// ---- files ----

/** The folder that programs can open as ".", as "/" and without a name. */
function makeFolder(files) {
  const root = new Map();
  for (const { name, bytes } of files) root.set(name, new File(bytes));
  return { root, fds: ['.', '/'].map(name => new PreopenDirectory(name, root)) };
}

/** Files that the program has written: those that were not there, or were different. */
function writtenFiles(root, before) {
  const known = new Map(before.map(({ name, bytes }) => [name, bytes])), found = [];
  const walk = (folder, path) => {
    for (const [name, entry] of folder) {
      if (entry instanceof Directory) walk(entry.contents, `${path}${name}/`);
      else if (entry instanceof File) {
        const old = known.get(path + name), now = entry.data;
        if (!old || old.length !== now.length || old.some((byte, i) => byte !== now[i])) found.push({ name: path + name, bytes: now });
      }
    }
  };
  walk(root, '');
  return found;
}

// ---- running ----

/** What a module imports that is not here; the text says it all. */
function missingImports(module, imports) {
  const missing = WebAssembly.Module.imports(module).filter(({ module: from, name }) => imports[from]?.[name] === undefined);
  if (!missing.length) return '';
  const names = missing.slice(0, 8).map(({ module: from, name }) => `${from}.${name}`);
  return `the program imports what this page does not have: ${names.join(', ')}${missing.length > 8 ? ` and ${missing.length - 8} more` : ''}; ` +
    'it has WASI (wasi_snapshot_preview1)';
}

/** Calls an export with zeros for its parameters. */
function callWithZeros(fn) {
  const zeros = Array(fn.length).fill(0);
  try {
    return fn(...zeros);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return fn(...zeros.map(BigInt)); // the parameters are i64
  }
}

/** As `whammc run` does it: _start, else main. Gives the exit status. */
function execute(wasi, instance) {
  const { _start, _initialize, main, memory } = instance.exports;
  wasi.inst = instance;
  if (_start) {
    _start();
    return 0;
  }
  if (memory) _initialize?.();
  const result = typeof main === 'function' ? callWithZeros(main) : 0;
  return typeof result === 'number' ? result & 255 : 0;
}

/** whammc.poll: now and then a report of the program as it is. The result is after how many polls to be called again. */
function createPoll(flush) {
  let budget = 1000, last = performance.now(), next = last + FIRST_LIVE;
  return () => {
    const now = performance.now();
    budget = Math.max(1, Math.min(MOST_POLLS, 2 * budget, Math.floor(budget * POLL / Math.max(now - last, 1e-3))));
    if (now >= next) {
      flush();
      const end = performance.now();
      next = end + Math.max(LIVE, REST * (end - now));
    }
    last = performance.now();
    return budget;
  };
}

function describe(error) {
  if (typeof WebAssembly.Exception === 'function' && error instanceof WebAssembly.Exception) return 'uncaught exception of the program';
  const frames = String(error?.stack ?? '').split('\n').filter(line => line.includes('wasm')).slice(0, 12);
  return [`${error?.name ?? 'Error'}: ${error?.message ?? error}`, ...frames].join('\n');
}

async function run({ bytes, args, stdin, files }) {
  const out = createOutput('out'), err = createOutput('err'), folder = makeFolder(files);
  const wasi = new WASI(args, [], [new OpenFile(new File(stdin)), out.fd, err.fd, ...folder.fds], { debug: false });
  let live = false;
  const host = createHost({ onReport: text => postMessage({ kind: 'report', text, live }) });
  let instance = null;
  const poll = createPoll(() => {
    live = true;
    instance.exports['whammc:text']?.();
    host.flush();
    live = false;
  });
  const imports = { wasi_snapshot_preview1: wasi.wasiImport, wasi_unstable: wasi.wasiImport, whammc: { ...host.imports.whammc, poll } };
  const begin = performance.now();
  let status = 0, trap = null;
  try {
    const module = await WebAssembly.compile(bytes), missing = missingImports(module, imports);
    if (missing) return { missing };
    instance = await WebAssembly.instantiate(module, imports);
    host.attach(instance, module);
    postMessage({ kind: 'started' });
    status = execute(wasi, instance);
  } catch (error) {
    if (error instanceof WASIProcExit) status = error.code;
    else if (!instance && !isTrap(error)) return { missing: describe(error) };
    else trap = error;
  }
  if (trap) host.trapped(trap);
  try {
    if (instance && trap) host.flush(); // when it ends otherwise, it has reported itself
  } catch (error) {
    postMessage({ kind: 'output', stream: 'err', text: `the report is lost: ${describe(error)}\n` });
  }
  out.end();
  err.end();
  return { status: trap ? 134 : status, trap: trap && describe(trap), ms: performance.now() - begin, files: writtenFiles(folder.root, files) };
}

onmessage = async ({ data }) => {
  try {
    postMessage({ kind: 'end', ...await run(data) });
  } catch (error) {
    postMessage({ kind: 'end', missing: describe(error) });
  }
};
