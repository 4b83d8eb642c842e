// WasmProf: profiles of running instrumented programs, in pages and in Node, for programs with --host=prof and --host=js.
//
// `whammc instr` puts this file, and what the program needs of those that it imports (parts.js), into the OUT.js beside each program,
// with the program's names. It works as a classic script, as an ES module and with require(); several may be loaded, in any order,
// each before its program. The first one defines
//
//   WasmProf.saveResults()           what was counted until now: a Results object, which stays as it is
//     .flatProfile(n), .callGraph(n) write the first n functions to the console, .printResults(n) both
//     .flatProfileText(n), .callGraphText(n), .text(n) are the same as text
//     .funcResults                   the functions as objects
//     .json()                        a report of the calls for `whammc report`
//     .report()                      all that there is for `whammc report`: also what is no calls
//     .pprof()                       a profile for `go tool pprof`, as bytes
//     .module(title)                 the same of one of several modules; .modules: what there is
//   WasmProf.printResults(n)         shows both in the console
//   WasmProf.pprof()                 the profile until now, to be served as /debug/pprof/profile
//   WasmProf.clear()                 begins again
//
// and patches WebAssembly, so that code that loads programs needs no change.
import './views.js';
import { parts } from './parts.js';
import { createHost, intercept, programClock, tellTrapped, watch } from './whammc.js';
import { saveAtExit } from './save.js';

const SHARED = Symbol.for('whammc.WasmProf'), SECTION = 'whammc', PRINTED = 20;

// ---- results ----

const NO_PROFILE = 'No profile: the scripts count no calls, or OUT.js has no views (--no-js-views). WasmProf.saveResults().report() has what is counted.\n';

/**
 * What some programs have counted: each { title, names, demangled, reports, told, calls }; `told`: the reports tell all of it; `calls`:
 * what createCalls() of views.js has saved of each instance.
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
    return [].concat(...this.programs.map(program => program.reports));
  }

  /** The results of one module, by its title or its number in `modules`. */
  module(which) {
    const program = this.programs[typeof which === 'number' ? which : this.modules.indexOf(which)];
    if (!program) throw new RangeError(`there is no module '${which}', but ${this.modules.join(', ') || 'none'}`);
    return new Results([program]);
  }

  /** The functions by the time in themselves, as text: the first n, or all. */
  flatProfileText(n = 0) {
    return parts.calls?.flatProfileText(this.programs, n) ?? NO_PROFILE;
  }

  /** Who calls whom, as text: the n functions with the most time, or all. */
  callGraphText(n = 0) {
    return parts.calls?.callGraphText(this.programs, n) ?? NO_PROFILE;
  }

  /** Both, as `whammc report --format=gprof` shows them. */
  text(n = 0) {
    return parts.calls ? `${this.flatProfileText(n)}\n${this.callGraphText(n)}` : NO_PROFILE;
  }

  /** Shows them in the console. */
  flatProfile(n = 0) {
    console.log(this.flatProfileText(n));
  }

  callGraph(n = 0) {
    console.log(this.callGraphText(n));
  }

  printResults(n = 0) {
    console.log(this.text(n));
  }

  /** The functions as objects: see functionResults of gprof.js. */
  get funcResults() {
    return parts.calls?.funcResults(this.programs) ?? [];
  }

  /** The calls as a report in JSON for `whammc report`: a call tree if one instance has counted one, else arcs. */
  json() {
    return parts.calls?.json(this.programs) ?? '';
  }

  /**
   * A profile in the format of pprof, not compressed: the stacks of a call tree if one instance of each module has recorded one,
   * else functions with their callers.
   */
  pprof() {
    return parts.calls?.pprof(this.programs) ?? new Uint8Array();
  }

  /**
   * All that the programs have reported, as text that `whammc report` reads: the reports as they are, and after them, if that
   * tells more (calls of several instances, or without names, or since clear()), the calls of all together.
   */
  report() {
    const { reports } = this, told = this.programs.every(program => program.told) && reports.length === 1;
    const all = reports.map(text => text.replace(/^\r?\n/, ''));
    return (told ? all : [...all, ...(this.hasCalls ? [this.json()] : [])]).join('\n');
  }

  /** Whether there are calls of which profiles can be made. */
  get hasCalls() {
    return parts.calls?.areIn(this.programs) ?? false;
  }

  toString() {
    return this.text();
  }
}

// ---- instances ----

// The number by which the program's own OUT.js knows it, "" = none.
function idOf(module) {
  const sections = WebAssembly.Module.customSections(module, SECTION);
  return sections.length ? new TextDecoder().decode(sections[sections.length - 1]) : '';
}

// The host of one instance, with what it has counted. attached(it) is called as soon as the instance exists; `ask` as of install().
function createCounter(attached, print, ask) {
  const host = createHost({ onReport: text => { counter.report = text; } });
  let calls = null, quiet = false;

  const counter = {
    module: null,
    id: '',
    report: '',
    host,

    /** Its calls; null as long as no program that was loaded counts any. */
    get calls() {
      return calls = calls ?? parts.calls?.createCalls(() => counter.report) ?? null;
    },

    imports: {
      ...host.imports,
      get prof() {
        return {
          ...counter.calls?.imports,
          get getTime() { return programClock(); },
          printResults() {
            if (!quiet) print(counter);
          },
        };
      },
    },

    attach(instance, module, url) {
      counter.module = module;
      ask(() => {
        counter.id = idOf(module);
        host.attach(instance, module, url);
      });
      attached(counter);
    },

    /** Whether the program's report tells all that is known of it. */
    isTold: () => counter.report !== '' && (counter.calls?.isTold() ?? true),

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
      counter.calls?.clear();
    },
  };
  return counter;
}

// ---- WasmProf ----

function createProfiler(ask) {
  const counters = [], programs = new Map(); // by id

  // What these instances have counted, by program: instances of modules with the same id, or of the same module.
  function programsOf(chosen) {
    const found = new Map();
    for (const counter of chosen) {
      const { id, calls, report } = counter, key = id || counter.module;
      const known = programs.get(id) || { title: `module ${found.size + 1}`, names: [], demangled: {} };
      if (!found.has(key)) found.set(key, { ...known, reports: [], calls: [], told: true });
      const program = found.get(key);
      if (calls) program.calls.push(calls.save());
      program.told = program.told && counter.isTold();
      if (report) program.reports.push(report);
    }
    return [...found.values()];
  }

  // Called by a program that was made to show its profile.
  function print(counter) {
    if (counter.module) console.log(new Results(programsOf([counter])).text(PRINTED));
  }

  intercept(['prof', 'whammc'], () => createCounter(counter => counters.push(counter), print, ask));
  watch(error => ask(() => tellTrapped(counters.map(counter => counter.host), error)));

  return {
    /** Samples of all programs that are sampled, if there are any; see sampling-profiler.js. */
    get Profiler() {
      return parts.sampling?.Profiler;
    },

    /** Tells the names of a program: { id, title, names, demangled }. */
    register(program) {
      programs.set(program.id, program);
    },

    /** What was counted until now, or since clear(). */
    saveResults() {
      counters.forEach(counter => counter.ask());
      return new Results(programsOf(counters));
    },

    /** The same in the console: the first n functions, or all. */
    printResults(n = 0) {
      this.saveResults().printResults(n);
    },

    /** The profile until now, as bytes: see Results. */
    pprof() {
      return this.saveResults().pprof();
    },

    /** Begins again with nothing counted. */
    clear() {
      counters.forEach(counter => counter.clear());
    },
  };
}

/**
 * Makes WasmProf unless another OUT.js has made it, and adds a program's names. Where the functions of WebAssembly.Module do not tell
 * of instrumented modules as they are, they do while ask(work) works.
 */
export function install(program, ask = work => work()) {
  let profiler = globalThis[SHARED];
  if (!profiler) {
    profiler = createProfiler(ask);
    Object.defineProperty(globalThis, SHARED, { value: profiler });
    if (!('WasmProf' in globalThis)) globalThis.WasmProf = profiler;
    saveAtExit(profiler);
  }
  profiler.register(program);
  return profiler;
}
