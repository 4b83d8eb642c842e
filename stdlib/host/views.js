// The calls that instances of programs have counted, and what WasmProf shows of them: the part `calls` of the host.
//
// A program is here { title, names, demangled, reports, calls }, with what save() of createCalls() gave for each of its instances.
import { parts } from './parts.js';
import { makeGraph, flatProfile, callGraph, functionResults, OUTSIDE } from './gprof.js';
import { readCalls, valueInJson } from './calls.js';
import { encodeProfile, readStacks } from './pprof.js';

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

// What was counted since `before`.
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

/** The calls of one instance, from what it sends to the module prof, and from its report as reportOf() gives it now. */
function createCalls(reportOf) {
  const table = createTable();
  let before = NOTHING, known = { report: '', calls: NOTHING };

  // Whether the report has all calls.
  const isOnly = () => before === NOTHING && table.isEmpty();

  function readReport() {
    const report = reportOf();
    if (known.report !== report) known = { report, calls: readCalls(report) || NOTHING };
    return known.calls;
  }

  // Everything counted, regardless of clear().
  const readAll = () => sumOf([table.read(), readReport()]);

  return {
    /** What a program imports of the module prof. */
    imports: {
      clearResults() {
        table.clear();
        before = NOTHING;
      },
      addArcData: table.add,
      setArcData: table.set,
    },

    /** Whether the program's report has all data, including names if it has calls. */
    isTold() {
      const calls = readReport();
      return isOnly() && (calls.arcs.length === 0 || calls.named);
    },

    /**
     * What was counted until now, or since clear(): { counted, tree, readStacks }; `tree`: a variable of the report that tells all
     * of it, or null; readStacks() gives the stacks in the report, if that tells all, else it is null.
     */
    save() {
      const report = reportOf(), only = isOnly();
      return { counted: since(readAll(), before), tree: only ? readReport().tree : null, readStacks: only ? () => readStacks(report) : null };
    },

    clear() {
      before = readAll();
    },
  };
}

// ---- programs ----

const countedIn = program => sumOf(program.calls.map(one => one.counted));

// Distinguishes functions of several programs.
const suffixOf = (program, programs) => (programs.length > 1 ? ` (${program.title})` : '');

// All arcs, and the functions' names. Functions of several programs get numbers and names of their own.
function join(programs) {
  const names = new Map(), demangled = new Map(), counted = [];
  let base = 0;
  for (const program of programs) {
    const { names: own, demangled: shown } = program, one = countedIn(program), suffix = suffixOf(program, programs), first = base;
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

function graphOf(programs) {
  const { demangled, ...counted } = join(programs);
  return makeGraph({ ...counted, nameOf: id => demangled.get(id) });
}

// The calls as a report: see Results.json().
function reportCalls(programs) {
  const { arcs, timed, untimed, calibrated, names } = join(programs);
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
  const { tree } = programs.length === 1 && programs[0].calls.length === 1 ? programs[0].calls[0] : {};
  if (tree) {
    return head + [tree, ...tree.beside].map((one, i) => (one.type === 'str'
      ? row(i, 'global_id', one.name, one.type, '(i32; i32)', valueInJson(one))
      : row(1 + i, 'map_id', one.name, one.type, 'i32', valueInJson(one)))).join('');
  }
  return head +
    map(1, 'arcs', `map<(u32,u32),${timed ? '(u64,u64)' : 'u64'}>`,
      arcs.map(arc => [`[${arc.caller},${arc.callee}]`, timed ? `[${arc.calls},${some(arc.ns)}]` : `${arc.calls}`]));
}

// A profile for pprof: the stacks of a program of which one instance has recorded all, else its arcs.
function encodeCalls(programs) {
  return encodeProfile(programs.map(program => ({ ...program, counted: countedIn(program), suffix: suffixOf(program, programs),
    readStacks: program.calls.length === 1 ? program.calls[0].readStacks : null })));
}

parts.calls ??= {
  createCalls,
  areIn: programs => programs.some(program => countedIn(program).arcs.length > 0),
  flatProfileText: (programs, n) => flatProfile(graphOf(programs), n),
  callGraphText: (programs, n) => callGraph(graphOf(programs), n),
  funcResults: programs => functionResults(graphOf(programs)),
  json: reportCalls,
  pprof: encodeCalls,
};
