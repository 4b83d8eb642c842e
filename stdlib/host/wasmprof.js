// WasmProf: profiles of running instrumented programs, in pages and in Node, for programs with --host=prof and --host=js.
//
// `whammc instr` puts this file, and those that it imports, into the OUT.js beside each program, with the program's names. It works
// as a classic script, as an ES module and with require(); several may be loaded, in any order. The first one defines
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
import { hostClock } from './clock.js';
import { createHost, intercept, tellTrapped, watch } from './whammc.js';
import { Profiler } from './sampling-profiler.js';
import { makeGraph, flatProfile, callGraph, functionResults, OUTSIDE } from './gprof.js';
import { readCalls, valueInJson } from './calls.js';
import { encodeProfile, readStacks } from './pprof.js';
import { saveAtExit } from './save.js';

const SHARED = Symbol.for('whammc.WasmProf'), SECTION = 'whammc', PRINTED = 20;

// ---- what was counted ----

const keyOf = arc => `${arc.caller},${arc.callee}`;

// { arcs, timed, ids, untimed, calibrated } of several together.
function sumOf(counted) {
  const sum = new Map();
  for (const arc of [].concat(...counted.map(one => one.arcs))) {
    const before = sum.get(keyOf(arc));
    sum.set(keyOf(arc), before ? { ...before, calls: before.calls + arc.calls, ns: before.ns + arc.ns } : arc);
  }
  const all = name => [].concat(...counted.map(one => one[name]));
  const untimed = new Map(all('untimed').map(range => [String(range), range]));
  const calibrated = counted.reduce((ns, one) => ns + one.calibrated, 0n);
  return { arcs: [...sum.values()], timed: counted.some(one => one.timed), ids: all('ids'), untimed: [...untimed.values()], calibrated };
}

// What has come since `before` was counted.
function since(counted, before) {
  const known = new Map(before.arcs.map(arc => [keyOf(arc), arc])), arcs = [];
  for (const arc of counted.arcs) {
    const { calls, ns } = known.get(keyOf(arc)) || { calls: 0n, ns: 0n };
    if (arc.calls !== calls || arc.ns !== ns) arcs.push({ ...arc, calls: arc.calls - calls, ns: arc.ns - ns });
  }
  return { ...counted, arcs, calibrated: counted.calibrated - before.calibrated };
}

const NOTHING = { arcs: [], timed: false, ids: [], untimed: [], calibrated: 0n, named: false, tree: null };

// The table of the functions of module prof: times in milliseconds by caller and callee. A pair can have plain calls, which
// are set, and calls by reference, which are added: neither replaces the other.
const NO_CALLS = { calls: 0, ms: 0 };

function createTable() {
  const rows = new Map();

  function at(caller, callee) {
    let row = rows.get(caller);
    if (!row) rows.set(caller, row = new Map());
    let arc = row.get(callee);
    if (!arc) row.set(callee, arc = { set: NO_CALLS, calls: 0, ms: 0 });
    return arc;
  }

  return {
    clear: () => rows.clear(),

    isEmpty: () => rows.size === 0,

    add(caller, callee, calls, ms) {
      const arc = at(caller >>> 0, callee >>> 0);
      arc.calls += calls >>> 0;
      arc.ms += ms;
    },

    set(caller, callee, calls, ms) {
      at(caller >>> 0, callee >>> 0).set = { calls: calls >>> 0, ms };
    },

    /** The arcs in order. */
    read() {
      const arcs = [], ascending = (a, b) => a[0] - b[0];
      for (const [caller, row] of [...rows].sort(ascending)) {
        for (const [callee, { set, calls, ms }] of [...row].sort(ascending)) {
          const ns = BigInt(Math.round((set.ms + ms) * 1e6) || 0);
          arcs.push({ caller, callee, calls: BigInt(set.calls + calls), ns });
        }
      }
      return { arcs, timed: arcs.some(arc => arc.ns !== 0n), ids: [], untimed: [], calibrated: 0n };
    },
  };
}

// ---- results ----

/**
 * What some modules have counted: each { title, names, demangled, counted, reports, told, tree, readStacks }; `told`: the reports
 * tell all of it; `tree`: a variable of a report that does, and readStacks() what is in it.
 */
class Results {
  constructor(modules) {
    this.parts = modules;
  }

  /** Titles of the modules. */
  get modules() {
    return this.parts.map(part => part.title);
  }

  /** The reports that the programs have written (--host=js), as text. */
  get reports() {
    return [].concat(...this.parts.map(part => part.reports));
  }

  // Distinguishes functions of several modules.
  suffixOf({ title }) {
    return this.parts.length > 1 ? ` (${title})` : '';
  }

  /** The results of one module, by its title or its number in `modules`. */
  module(which) {
    const part = this.parts[typeof which === 'number' ? which : this.modules.indexOf(which)];
    if (!part) throw new RangeError(`there is no module '${which}', but ${this.modules.join(', ') || 'none'}`);
    return new Results([part]);
  }

  // All arcs, and the functions' names. Functions of several modules get numbers and names of their own.
  join() {
    const names = new Map(), demangled = new Map(), counted = [];
    let base = 0;
    for (const part of this.parts) {
      const { names: own, demangled: shown, counted: one } = part, suffix = this.suffixOf(part), first = base;
      const number = id => (id === OUTSIDE ? id : first + id);
      const take = id => {
        if (id === OUTSIDE) return;
        const name = own[id] || `#${id}`;
        names.set(number(id), name + suffix);
        demangled.set(number(id), (shown[id] || name) + suffix);
        base = Math.max(base, number(id) + 1);
      };
      one.arcs.forEach(arc => { take(arc.caller); take(arc.callee); });
      one.ids.forEach(take);
      counted.push({ ...one, ids: one.ids.map(number), untimed: one.untimed.map(range => range.map(number)),
        arcs: one.arcs.map(arc => ({ ...arc, caller: number(arc.caller), callee: number(arc.callee) })) });
    }
    return { ...sumOf(counted), names, demangled };
  }

  graph() {
    const { demangled, ...counted } = this.join();
    return makeGraph({ ...counted, nameOf: id => demangled.get(id) });
  }

  /** The functions by the time in themselves, as text: the first n, or all. */
  flatProfileText(n = 0) {
    return flatProfile(this.graph(), n);
  }

  /** Who calls whom, as text: the n functions with the most time, or all. */
  callGraphText(n = 0) {
    return callGraph(this.graph(), n);
  }

  /** Both, as `whammc report --format=gprof` shows them. */
  text(n = 0) {
    return `${this.flatProfileText(n)}\n${this.callGraphText(n)}`;
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
    return functionResults(this.graph());
  }

  /** The calls as a report in JSON for `whammc report`: a call tree if one instance has counted one, else arcs. */
  json() {
    const { arcs, timed, untimed, calibrated, names } = this.join();
    const row = (id, kind, name, type, wasmType, value) => {
      const head = JSON.stringify({ id, id_type: kind, name, type, wasm_type: wasmType, script: 'script0', fname: null,
        fid: null, pc: null, probe: null });
      return `${head.slice(0, -1)},"value":${value}}\n`;
    };
    const map = (id, name, type, entries) => row(id, 'map_id', name, type, 'i32',
      `[${entries.map(([key, value]) => `{"key":${key},"value":${value}}`).join(',')}]`);
    const list = untimed.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(',');
    const head = (list && row(0, 'global_id', 'not_timed', 'str', '(i32; i32)', `"${list}"`)) +
      (calibrated ? row(0, 'global_id', 'calibrated', 'u64', 'i64', `${calibrated}`) : '') +
      map(0, 'names', 'map<u32,str>', [...names].map(([id, name]) => [id, JSON.stringify(name)]));
    const some = ns => (calibrated && ns < 0n ? 1n : ns); // as makeGraph has it
    const { tree } = this.parts.length === 1 ? this.parts[0] : {};
    if (tree) {
      return head + [tree, ...tree.beside].map((one, i) => (one.type === 'str'
        ? row(i, 'global_id', one.name, one.type, '(i32; i32)', valueInJson(one))
        : row(1 + i, 'map_id', one.name, one.type, 'i32', valueInJson(one)))).join('');
    }
    return head +
      map(1, 'arcs', `map<(u32,u32),${timed ? '(u64,u64)' : 'u64'}>`,
        arcs.map(arc => [`[${arc.caller},${arc.callee}]`, timed ? `[${arc.calls},${some(arc.ns)}]` : `${arc.calls}`]));
  }

  /**
   * A profile in the format of pprof, not compressed: the stacks of a call tree if one instance of each module has recorded one,
   * else functions with their callers.
   */
  pprof() {
    return encodeProfile(this.parts.map(part => ({ ...part, suffix: this.suffixOf(part) })));
  }

  /**
   * All that the programs have reported, as text that `whammc report` reads: the reports as they are, and after them, if that
   * tells more (calls of several instances, or without names, or since clear()), the calls of all together.
   */
  report() {
    const { reports } = this, told = this.parts.every(part => part.told) && reports.length === 1;
    const all = reports.map(text => text.replace(/^\r?\n/, ''));
    return (told ? all : [...all, ...(this.hasCalls ? [this.json()] : [])]).join('\n');
  }

  /** Whether there are calls of which profiles can be made. */
  get hasCalls() {
    return this.parts.some(part => part.counted.arcs.length > 0);
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
  const table = createTable(), host = createHost({ onReport: text => { counter.report = text; } });
  let before = NOTHING, quiet = false, known = { report: '', calls: NOTHING };

  // Whether the report has all calls that there are.
  const isOnly = () => before === NOTHING && table.isEmpty();

  const counter = {
    host,
    module: null,
    id: '',
    report: '',

    imports: {
      ...host.imports,
      prof: {
        get getTime() { return hostClock(); },
        clearResults() {
          table.clear();
          before = NOTHING;
        },
        addArcData: table.add,
        setArcData: table.set,
        printResults() {
          if (!quiet) print(counter);
        },
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

    /** The calls in the program's report. */
    readReport() {
      if (known.report !== counter.report) known = { report: counter.report, calls: readCalls(counter.report) || NOTHING };
      return known.calls;
    },

    /** What there is without asking the program: all of it, and since clear(). */
    readAll() {
      return sumOf([table.read(), counter.readReport()]);
    },

    /** Whether the program's report tells all that is known of it, with names if it has calls. */
    isTold() {
      const calls = counter.readReport();
      return counter.report !== '' && isOnly() && (calls.arcs.length === 0 || calls.named);
    },

    /** The call tree in the report, if that tells all; else null. */
    readTree: () => (isOnly() ? counter.readReport().tree : null),

    /** A function that reads the stacks in the report as it is now, if that tells all; else null. */
    stacksReader() {
      const { report } = counter;
      return isOnly() ? () => readStacks(report) : null;
    },

    read() {
      return since(counter.readAll(), before);
    },

    /** Asks the program for what it has counted so far. */
    ask() {
      quiet = true;
      try {
        host.flush();
      } finally {
        quiet = false;
      }
      return counter.read();
    },

    clear() {
      counter.ask();
      before = counter.readAll();
    },
  };
  return counter;
}

// ---- WasmProf ----

function createProfiler(ask) {
  const counters = [], programs = new Map(); // by id

  // What belongs to one program: instances of modules with the same id, or of the same module.
  function partsOf(chosen, read) {
    const parts = new Map();
    for (const counter of chosen) {
      const { id } = counter, key = id || counter.module;
      const known = programs.get(id) || { title: `module ${parts.size + 1}`, names: [], demangled: {} };
      const first = !parts.has(key);
      if (first) parts.set(key, { ...known, all: [], reports: [], told: true });
      const part = parts.get(key);
      part.all.push(read(counter));
      part.told = part.told && counter.isTold();
      part.tree = first ? counter.readTree() : null;
      part.readStacks = first ? counter.stacksReader() : null;
      if (counter.report) part.reports.push(counter.report);
    }
    return [...parts.values()].map(({ all, ...part }) => ({ ...part, counted: sumOf(all) }));
  }

  // Called by a program that was made to show its profile.
  function print(counter) {
    if (counter.module) console.log(new Results(partsOf([counter], one => one.read())).text(PRINTED));
  }

  intercept(['prof', 'whammc'], () => createCounter(counter => counters.push(counter), print, ask));
  watch(error => ask(() => tellTrapped(counters.map(counter => counter.host), error)));

  return {
    /** Samples of all programs that are sampled; see sampling-profiler.js. */
    Profiler,

    /** Tells the names of a program: { id, title, names, demangled }. */
    register(program) {
      programs.set(program.id, program);
    },

    /** What was counted until now, or since clear(). */
    saveResults() {
      return new Results(partsOf(counters, counter => counter.ask()));
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
