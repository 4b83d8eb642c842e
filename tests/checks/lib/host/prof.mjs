// A host for programs made with --host=prof: the five functions of module `prof` and nothing of whammc's.
//
//   node prof.mjs MODULE.wasm [CALL...]
//
// CALL is EXPORT(ARGUMENT,...): its result is printed, or what was thrown. `new` makes a second instance,
// third and so on, which further calls are of; `imports` prints the imports, `run` runs a WASI command. In the
// end the arcs of each instance are printed, sorted. Its clock goes on by one millisecond whenever it is read, so
// times are exact. What programs import from module `host`: `throw` throws an Error; `catch_NAME` calls the export
// NAME and catches what it throws; any other name calls the export of that name.
import { readFileSync } from 'node:fs';

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const instances = [];
let clock = 0;

class Prof {
  arcs = new Map();
  print = 0;

  arc(source, destination) {
    const key = `${source >>> 0} ${destination >>> 0}`;
    if (!this.arcs.has(key)) this.arcs.set(key, { source: source >>> 0, destination: destination >>> 0, calls: 0, ms: 0, set: { calls: 0, ms: 0 } });
    return this.arcs.get(key);
  }

  functions = {
    getTime: () => ++clock,
    clearResults: () => this.arcs.clear(),
    addArcData: (source, destination, calls, ms) => {
      const arc = this.arc(source, destination);
      arc.calls += calls;
      arc.ms += ms;
    },
    setArcData: (source, destination, calls, ms) => { this.arc(source, destination).set = { calls, ms }; },
    printResults: () => { console.log('results:\n' + this.text()); },
  };

  text() {
    return [...this.arcs.values()]
      .sort((a, b) => a.source - b.source || a.destination - b.destination)
      .map(a => `${a.source} -> ${a.destination}: ${a.set.calls + a.calls}, ${a.set.ms + a.ms} ms`)
      .join('\n');
  }
}

// What module `host` has under a name.
function callback(name, current) {
  if (name === 'throw') return () => { throw new Error('thrown by the host'); };
  const caught = name.startsWith('catch_');
  const callee = caught ? name.slice(6) : name;
  return (...args) => {
    try {
      return current().exports[callee](...args);
    } catch (e) {
      if (!caught) throw e;
    }
  };
}

async function instantiate() {
  const prof = new Prof();
  const made = { prof };
  const imports = { prof: prof.functions, host: {} };
  for (const i of WebAssembly.Module.imports(module)) {
    if (i.module === 'host') imports.host[i.name] = callback(i.name, () => made.instance);
    if (i.module === 'wasi_snapshot_preview1' && !made.wasi) {
      const { WASI } = await import('node:wasi');
      made.wasi = new WASI({ version: 'preview1', args: ['program'], returnOnExit: true });
      Object.assign(imports, made.wasi.getImportObject());
    }
  }
  made.instance = new WebAssembly.Instance(module, imports);
  instances.push(made);
}

function number(text) {
  return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
}

function act(what) {
  const { instance, wasi } = instances.at(-1);
  if (what === 'run') return console.log(`exit ${wasi.start(instance)}`);
  const [, name, args] = /^(.*)\((.*)\)$/.exec(what);
  try {
    console.log(`${what} = ${instance.exports[name](...args.split(',').filter(Boolean).map(number))}`);
  } catch (e) {
    console.log(`${what} throws ${e instanceof WebAssembly.Exception ? 'an exception' : e.message}`);
  }
}

await instantiate();
for (const what of process.argv.slice(3)) {
  if (what === 'new') await instantiate();
  else if (what === 'imports')
    for (const i of WebAssembly.Module.imports(module)) console.log(`${i.module}.${i.name}`);
  else act(what);
}
for (const [i, { prof }] of instances.entries())
  console.log(`${instances.length > 1 ? `instance ${i + 1}:` : 'arcs:'}\n${prof.text() || 'none'}`);
