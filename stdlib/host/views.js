// The calls that instances of programs have counted, and what WasmProf shows of them: the part `views` of the host.
//
// A program is here { id, title, module, names, demangled, saved }, names only if its script told them; `saved` are its instances, each
// { report, sent, before }: its report, the arcs that it has sent to the module prof, and both as they were at WasmProf.clear().
import { parts } from './parts.js';
import { makeGraph, flatProfile, callGraph, functionResults, OUTSIDE } from './gprof.js';
import { readCalls, valueInJson } from './calls.js';
import { namesOf } from './names.js';
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

// Arcs that a program has sent to the module prof.
function readSent(sent) {
  const arcs = [...sent].sort((a, b) => a.caller - b.caller || a.callee - b.callee)
    .map(({ caller, callee, calls, ms }) => ({ caller, callee, calls: BigInt(calls), ns: BigInt(Math.round(ms * 1e6) || 0) }));
  return { arcs, timed: arcs.some(arc => arc.ns !== 0n), ids: [], untimed: [], calibrated: 0n };
}

const known = new WeakMap(); // what was read of the reports

// The calls in the report of an instance, { report, sent }.
function readReport(saved) {
  if (!known.has(saved)) known.set(saved, readCalls(saved.report) ?? NOTHING);
  return known.get(saved);
}

const readAll = saved => sumOf([readSent(saved.sent), readReport(saved)]);

// What an instance has counted until it was saved, or since WasmProf.clear().
const readSaved = saved => (saved.before ? since(readAll(saved), readAll(saved.before)) : readAll(saved));

// Whether the report has all calls.
const isOnly = ({ before, sent }) => !before && !sent.length;

// Whether the report has all data, including names if it has calls.
const isTold = saved => isOnly(saved) && saved.report && (!readReport(saved).arcs.length || readReport(saved).named);

// ---- programs ----

const countedIn = program => sumOf(program.saved.map(readSaved));

// Distinguishes functions of several programs.
const suffixOf = (program, programs) => (programs.length > 1 ? ` (${program.title})` : '');

// All arcs, and the functions' names. Functions of several programs get numbers and names of their own.
function join(programs) {
  const names = new Map(), demangled = new Map(), counted = [];
  let base = 0;
  for (const program of programs) {
    const { names: own, demangled: shown } = namesOf(program), one = countedIn(program), suffix = suffixOf(program, programs), first = base;
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
  const [saved, ...others] = programs.flatMap(program => program.saved);
  const tree = saved && !others.length && isOnly(saved) ? readReport(saved).tree : null;
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
  return encodeProfile(programs.map(program => {
    const [saved, ...others] = program.saved, alone = saved && !others.length && isOnly(saved);
    return { ...namesOf(program), counted: countedIn(program), suffix: suffixOf(program, programs),
      readStacks: alone ? () => readStacks(saved.report) : null };
  }));
}

const areCallsIn = programs => programs.some(program => countedIn(program).arcs.length > 0);

// What the reports do not tell: nothing if there is one that tells all, else the calls of all together.
function tellMore(programs) {
  const all = programs.flatMap(program => program.saved);
  return (all.length === 1 && all.every(isTold)) || !areCallsIn(programs) ? '' : reportCalls(programs);
}

parts.views ??= {
  areCallsIn,
  flatProfileText: (programs, n) => flatProfile(graphOf(programs), n),
  callGraphText: (programs, n) => callGraph(graphOf(programs), n),
  text(programs, n) {
    const graph = graphOf(programs);
    return `${flatProfile(graph, n)}\n${callGraph(graph, n)}`;
  },
  funcResults: programs => functionResults(graphOf(programs)),
  json: reportCalls,
  pprof: encodeCalls,
  tellMore,
};
