// WasmProf: profiles of running instrumented programs, in pages and in Node, for programs with --host=prof and --host=js.
//
// `whammc instr` puts this file, and what the program needs of those that it imports (parts.js), into the OUT.js beside each program;
// what shows profiles, and the program's names, into OUT.views.js, which a view loads. It works as a classic script, as an ES module and with require(); several may be loaded, in any order,
// each before its program. The first one defines
//
//   WasmProf.saveResults()           what was counted until now: a Results object, which stays as it is
//     .flatProfile(n), .callGraph(n) write the first n functions to the console, .printResults(n) both
//     .flatProfileText(n), .callGraphText(n), .text(n) are the same as text
//     .funcResults                   the functions as objects
//     .json()                        reports of the calls for `whammc report`
//     .report()                      all that there is for `whammc report`: also what is no calls
//     .reportChunks()                the same as a list of bytes, which can be longer than a string
//     .pprof()                       a profile for `go tool pprof`, as bytes
//     .convert(format, n)            what `whammc report --format=FORMAT --top=N` makes, as bytes
//     .module(title)                 the same of one of several modules; .modules: what there is
//   WasmProf.printResults(n)         shows both in the console
//   WasmProf.pprof()                 the profile until now, to be served as /debug/pprof/profile
//   WasmProf.clear()                 begins again
//   WasmProf.exports(instance)       all exports, with those that instrumentation has added
//   await WasmProf.views()           loads the views in advance, where they cannot be loaded at once
//
// and patches WebAssembly, so that code that loads programs needs no change.
import './sampling-profiler.js';
import './save.js';
import './table.js';
import './node/threads.js';
import './page/page-threads.js';
import './views.js';
import { INTERFACE, SHARED_PARTS, addressOfScript, idOf, nodeModule, parts } from './parts.js';
import { createHost, programClock, tellTrapped, textOf, warn, watch } from './host.js';
import { mainContext, watchContexts } from './node/contexts.js';
import { allExports, intercept } from './intercept.js';

const SHARED = Symbol.for('whammc.WasmProf'), PRINTED = 20;

// ---- results ----

const NO_PROFILE = 'No profile: the scripts count no calls, or OUT.js has no views. WasmProf.saveResults().report() has what is counted.\n';
const told = new Set(), tell = error => warn(error.message);

// Whether a report has names of functions.
function isNamed(chunks) {
  try {
    return textOf(chunks).includes('map<u32,str>');
  } catch { // it is too long
    return false;
  }
}

// The views, which are loaded when they are wanted; undefined if there are none. If they cannot be loaded at once, a message says so.
function viewsNow() {
  const error = parts.loader?.now();
  if (error && !told.has(error)) tell(error);
  told.add(error);
  return parts.views;
}

/**
 * What some programs have counted: each { id, title, hash, module, names, demangled, reports, saved }, names only if the script has told them;
 * `reports`: as lists of chunks; `saved`: what each instance has counted, as views.js has it.
 */
class Results {
  constructor(programs) {
    this.programs = programs;
  }

  /** Titles of the modules. */
  get modules() {
    return this.programs.map(program => program.title);
  }

  /** The reports that the programs have written (--host=js), as text. */
  get reports() {
    return this.programs.flatMap(program => program.reports.map(textOf));
  }

  /** The results of one module, by its title or its number in `modules`. */
  module(which) {
    const program = this.programs[typeof which === 'number' ? which : this.modules.indexOf(which)];
    if (!program) throw new RangeError(`there is no module '${which}', but ${this.modules.join(', ') || 'none'}`);
    return new Results([program]);
  }

  // What a view makes of them; `none` if there are no views.
  #view(name, none, n, kind) {
    return viewsNow()?.[name](this.programs, n, kind) ?? none;
  }

  /** The functions by the time in themselves, as text: the first n, or all. */
  flatProfileText(n) {
    return this.#view('flatProfileText', NO_PROFILE, n);
  }

  /** Who calls whom, as text: the n functions with the most time, or all. */
  callGraphText(n) {
    return this.#view('callGraphText', NO_PROFILE, n);
  }

  /** Both, as `whammc report --format=gprof` shows them. */
  text(n) {
    return this.#view('text', NO_PROFILE, n);
  }

  // Shows the text that a method makes in the console, later if the views must be loaded before.
  #show(name, n) {
    const show = () => console.log(this[name](n));
    if (viewsNow() || !parts.loader) show();
    else parts.loader.later().then(show, tell);
  }

  /** Shows them in the console. */
  flatProfile(n) {
    this.#show('flatProfileText', n);
  }

  callGraph(n) {
    this.#show('callGraphText', n);
  }

  printResults(n) {
    this.#show('text', n);
  }

  /** The functions as objects: see funcResults of views.js. */
  get funcResults() {
    return this.#view('funcResults', []);
  }

  /** The calls as a report in JSON for `whammc report`, of each program: a call tree if one instance has counted one, else arcs. */
  json() {
    return this.#view('json', '');
  }

  /**
   * A profile in the format of pprof, not compressed: the stacks of a call tree if one instance of each module has recorded one,
   * else functions with their callers.
   */
  pprof() {
    return this.#view('pprof', new Uint8Array());
  }

  /**
   * What `whammc report --format=FORMAT --top=N` makes, as bytes, not compressed; throws if there is nothing to be shown in that format.
   * null if there are no views.
   */
  convert(format, n) {
    return this.#view('convert', null, n, format);
  }

  /**
   * All that the programs have reported, as text that `whammc report` reads: a part for each instance, and another one for what it had
   * reported before clear(), which is subtracted.
   */
  report() {
    return textOf(this.reportChunks());
  }

  /** The same as bytes: a list of Uint8Array, of which a Blob can be made. */
  reportChunks() {
    const reports = this.programs.flatMap(program => program.reports), more = reports[1] || this.programs.some(({ saved: [one, other] }) => other || one.before);
    const views = !more && reports[0] && isNamed(reports[0]) ? null : viewsNow();
    const chunks = parts.save?.joinAll(this.programs, views) ?? reports.flat(), encoder = new TextEncoder();
    return chunks.map(chunk => (typeof chunk === 'string' ? encoder.encode(chunk) : chunk));
  }

  /** Whether there are calls of which profiles can be made. */
  get hasCalls() {
    return this.#view('areCallsIn', false);
  }

  toString() {
    return this.text();
  }
}

// ---- instances ----

const ignore = () => {};

// The host of one instance, with what it has counted. attached(it) is called as soon as the instance exists.
function createCounter(attached, print) {
  const host = createHost({ onChunks: chunks => { counter.report = chunks; } });
  let table, memory, before = null, quiet = false;
  const readNow = () => ({ report: counter.report, sent: table?.read() ?? [] });

  const counter = {
    module: null,
    id: '',
    report: null,
    host,

    imports: {
      ...host.imports,
      get prof() {
        table ??= parts.table?.createTable(() => { before = null; });
        return {
          addArcData: ignore, setArcData: ignore, clearResults: ignore, // without the part, as the script is of another INTERFACE
          ...table?.imports,
          get getTime() { return programClock(); },
          printResults() {
            if (!quiet) print(counter);
          },
        };
      },
    },

    attach(instance, module, url, given) {
      counter.module = module;
      counter.id = idOf(module);
      host.attach(instance, module, url);
      attached(counter);
      memory = instance.exports['whammc:memory'];
      parts.threads?.announce(counter.id, parts.atomics?.isAlone ? null : memory, () => {
        counter.ask();
        return counter.save();
      }, module, given);
    },

    /** What another instance of the module has counted that has left this memory; throws if that cannot be told. */
    saveFrom(left) {
      const { report } = counter, known = before;
      const ask = () => host.aside(() => parts.threads.withContents(memory, left, parts.threads.keptIn(counter.module), counter.ask));
      before = null;
      try {
        const sent = table ? table.readAside(ask) : ask();
        return { report: counter.report, sent: sent ?? [], before };
      } finally {
        counter.report = report;
        before = known;
      }
    },

    /** What it has counted until now, for views.js. */
    save: () => ({ ...readNow(), before }),

    /** Makes the program report what it has counted so far. */
    ask() {
      quiet = true;
      try {
        host.flush();
      } finally {
        quiet = false;
      }
    },

    clear() {
      counter.ask();
      before = readNow();
    },
  };
  return counter;
}

// ---- WasmProf ----

function createProfiler() {
  const counters = [], programs = new Map(); // by id

  // What these instances have counted, by program: instances of modules with the same id, or of the same module.
  function programsOf(chosen) {
    const found = new Map();
    for (const counter of chosen) {
      const { id, module, report } = counter, key = id || module;
      const known = programs.get(id) ?? { id, title: `module ${found.size + 1}`, names: [], demangled: {} };
      if (!found.has(key)) found.set(key, { ...known, module, reports: [], saved: [] });
      const program = found.get(key);
      program.saved.push(counter.save());
      if (report) program.reports.push(report);
    }
    return [...found.values()];
  }

  // Called by a program that was made to show its profile.
  function print(counter) {
    if (counter.module) new Results(programsOf([counter])).printResults(PRINTED);
  }

  function enter(realm) {
    intercept(['prof', 'whammc'], () => createCounter(counter => counters.push(counter), print), module => programs.has(idOf(module)) || parts.owned?.(module), realm);
  }
  enter(globalThis);
  parts.contexts.enter = watchContexts(enter);
  watch(parts.contexts.trapped = error => tellTrapped(counters.map(counter => counter.host), error));

  return {
    interface: INTERFACE,

    /** Samples of all programs that are sampled, if there are any; see sampling-profiler.js. */
    get Profiler() {
      if (parts.files?.some(file => file.samples)) viewsNow();
      return parts.sampling?.Profiler;
    },

    /** The reader of what instances of this module in other threads have left (threads.js), if there is one. */
    readerOf: id => counters.find(counter => counter.id === id)?.saveFrom,

    /** Tells of a program: { id, title, hash, names, demangled }, without names if OUT.views.js has them. */
    register(program) {
      programs.set(program.id, program);
    },

    /** What was counted until now, or since clear(); `others`: of other threads, as counters. */
    saveResults(others = parts.threads?.others() ?? []) {
      counters.forEach(counter => counter.ask());
      return new Results(programsOf([...counters, ...others]));
    },

    /** The same in the console: the first n functions, or all. */
    printResults(n) {
      this.saveResults().printResults(n);
    },

    /** The profile until now, as bytes: see Results. */
    pprof() {
      return this.saveResults().pprof();
    },

    /** Loads the views in advance, for code that wants them where they cannot be loaded at once. A promise of WasmProf. */
    async views() {
      await parts.loader?.later();
      return this;
    },

    /** The exports of an instance with those that instrumentation has added, such as get_NAME: instance.exports has the program's own. */
    exports: allExports,

    /** Begins again with nothing counted. */
    clear() {
      counters.forEach(counter => counter.clear());
      parts.threads?.clear();
    },
  };
}

// Saves the results when Node ends, if WASMPROF is set: what does that may have to be loaded.
function prepareSave(profiler) {
  if (!globalThis.process?.env?.WASMPROF) return;
  const begin = () => parts.save?.saveAtExit(profiler);
  if (parts.loader?.now()) parts.loader.later().then(begin, tell);
  else begin();
}

// In a context of node:vm, as Jest has one for each file of tests: loads this script in the main context, where the process tells of its
// end. Returns WasmProf there, with the programs of this context; null in the main context.
function installInMain() {
  const main = mainContext(), from = main?.process?.getBuiltinModule && addressOfScript();
  if (!from) return null;
  const path = from.startsWith('file:') ? nodeModule('url').fileURLToPath(from) : from;
  main.process.getBuiltinModule('module').createRequire(path)(path); // what the context has may load things into the context
  main[SHARED_PARTS].contexts.enter({ WebAssembly, Promise, Object, RangeError });
  return main[SHARED];
}

/**
 * Makes WasmProf unless another OUT.js has made it, and adds a program. A WasmProf of another INTERFACE (parts.js) stays, and serves
 * this program, too: what programs import is the same in all versions. But it has none of the parts that this script brings.
 */
export function install(program) {
  let profiler = globalThis[SHARED];
  const outer = installInMain();
  if (!profiler) {
    profiler = outer ?? createProfiler();
    Object.defineProperty(globalThis, SHARED, { value: profiler });
    if (!('WasmProf' in globalThis)) globalThis.WasmProf = profiler;
  }
  if (outer) return outer;
  profiler.register(program);
  parts.threads?.enter?.(profiler);
  if (profiler.interface === INTERFACE) prepareSave(profiler);
  else warn(`whammc: the script of ${program.title} does not fit that of another version of whammc before it: counts after traps may be ` +
    'too high, names and samples missing; instrument all programs with one version');
  return profiler;
}
