// The calls that instances of programs have counted, and what WasmProf shows of them: the part `views` of the host.
//
// A program is here { id, title, module, names, demangled, saved }, names only if its script told them; `saved` are its instances, each
// { report, sent, before }: its report as chunks of text or bytes, the arcs that it has sent to the module prof, and both as they were at WasmProf.clear().
import './save.js';
import { parts } from './parts.js';
import { OUTSIDE, add, addNs, makeGraph, flatProfile, callGraph, functionResults, isOutside, toNs } from './gprof.js';
import { readCalls, valueInJson } from './calls.js';
import { namesOf } from './names.js';
import { encodeProfile, readStacks } from './pprof.js';

// ---- what was counted ----

// `home`: the caller is a function of the module with this number (module_id).
const keyOf = arc => `${arc.home ?? ''},${arc.caller},${arc.callee}`;

// How often functions were called in programs that were sampled.
function sumOfCalled(counted) {
  const sum = new Map();
  for (const { called } of counted) called?.forEach((calls, id) => sum.set(id, add(sum.get(id) ?? 0n, calls)));
  return sum;
}

// { arcs, timed, ids, untimed, calibrated, sampled, called } of several together.
function sumOf(counted) {
  const sum = new Map();
  for (const arc of [].concat(...counted.map(one => one.arcs))) {
    const before = sum.get(keyOf(arc));
    sum.set(keyOf(arc), before ? { ...before, calls: add(before.calls, arc.calls), ns: addNs(before.ns, arc.ns) } : arc);
  }
  const all = name => [].concat(...counted.map(one => one[name]));
  const untimed = new Map(all('untimed').map(range => [String(range), range]));
  const calibrated = counted.reduce((ns, one) => add(ns, one.calibrated), 0n), called = sumOfCalled(counted);
  const some = counted.filter(one => one.arcs.length), sampled = some.length > 0 && some.every(one => one.sampled);
  return { arcs: [...sum.values()], timed: counted.some(one => one.timed), ids: all('ids'), untimed: [...untimed.values()], calibrated,
    sampled, called: called.size ? called : null };
}

// What was counted since `before`.
function since(counted, before) {
  const known = new Map(before.arcs.map(arc => [keyOf(arc), arc])), arcs = [];
  for (const arc of counted.arcs) {
    const { calls, ns } = known.get(keyOf(arc)) || { calls: 0n, ns: 0n };
    if (arc.calls !== calls || arc.ns !== ns) arcs.push({ ...arc, calls: arc.calls - calls, ns: arc.ns - ns });
  }
  const called = counted.called && new Map([...counted.called].map(([id, calls]) => [id, calls - (before.called?.get(id) ?? 0n)])
    .filter(([, calls]) => calls > 0n));
  return { ...counted, arcs, called, calibrated: counted.calibrated - before.calibrated };
}

const NO_ARCS = { arcs: [], timed: false, ids: [], untimed: [], calibrated: 0n, sampled: false, called: null };
const NOTHING = { ...NO_ARCS, named: false, tree: null };

// Milliseconds, which can be any number, as nanoseconds.
const nsOf = ms => toNs(BigInt(Math.round(Math.max(-(2 ** 63), Math.min(ms * 1e6, 2 ** 63))) || 0));

// Arcs that a program has sent to the module prof.
function readSent(sent) {
  const arcs = [...sent].sort((a, b) => a.caller - b.caller || a.callee - b.callee)
    .map(({ caller, callee, calls, ms }) => ({ caller, callee, calls: BigInt(calls), ns: nsOf(ms) }));
  return { ...NO_ARCS, arcs, timed: arcs.some(arc => arc.ns !== 0n) };
}

const known = new WeakMap(); // what was read of the reports

// The calls in the report of an instance, { report, sent }.
function readReport(saved) {
  if (!known.has(saved)) known.set(saved, readCalls(saved.report ?? []) ?? NOTHING);
  return known.get(saved);
}

const readAll = saved => sumOf([readSent(saved.sent), readReport(saved)]);

// What an instance has counted until it was saved, or since WasmProf.clear().
const readSaved = saved => (saved.before ? since(readAll(saved), readAll(saved.before)) : readAll(saved));

// Whether the report has all calls.
const isOnly = ({ before, sent }) => !before && !sent.length;

// ---- programs ----

const countedIn = program => sumOf(program.saved.map(readSaved));

// Distinguishes functions of several programs.
const suffixOf = (program, programs) => (programs.length > 1 ? ` (${program.title})` : '');

// By which number other modules know it (module_id).
const homeOf = ({ hash }) => (hash ? Number(`0x${hash.slice(0, 8)}`) || 1 : -1);

// All arcs, and the functions' names. Callers that none of the programs has are outside. Functions of several programs get numbers and names of their own.
function join(programs) {
  const names = new Map(), demangled = new Map(), counted = [], firsts = new Map();
  const counts = programs.map(countedIn), crossing = counts.flatMap(({ arcs }) => arcs.filter(arc => arc.home));
  let base = 0;
  for (const [i, program] of programs.entries()) {
    const { names: own, demangled: shown } = namesOf(program), one = counts[i], home = homeOf(program), suffix = suffixOf(program, programs), first = base;
    const number = id => (isOutside(id) ? id : first + id);
    const take = id => {
      if (isOutside(id)) return;
      const name = own[id] || `#${id}`;
      names.set(number(id), name + suffix);
      demangled.set(number(id), (shown[id] || name) + suffix);
      base = Math.max(base, number(id) + 1);
    };
    one.arcs.forEach(arc => {
      if (!arc.home) take(arc.caller);
      take(arc.callee);
    });
    crossing.forEach(arc => { if (arc.home === home) take(arc.caller); });
    firsts.set(home, first);
    one.ids.forEach(take);
    const untimed = one.untimed.map(([from, to]) => [number(from), Math.min(number(to), base - 1)]).filter(([from, to]) => from <= to);
    counted.push({ ...one, ids: one.ids.map(number), untimed,
      called: one.called && new Map([...one.called].map(([id, calls]) => [number(id), calls])),
      arcs: one.arcs.map(arc => ({ ...arc, caller: arc.home ? arc.caller : number(arc.caller), callee: number(arc.callee) })) });
  }
  const callerOf = ({ home, caller }) => (!home ? caller : firsts.has(home) ? firsts.get(home) + caller : OUTSIDE);
  for (const one of counted) one.arcs = one.arcs.map(arc => ({ ...arc, caller: callerOf(arc), home: 0 }));
  return { ...sumOf(counted), names, demangled };
}

// The call tree that is reported if one instance has recorded all there is; else null, and arcs are reported.
function treeOf(programs) {
  const [saved, ...others] = programs.flatMap(program => program.saved);
  return saved && !others.length && isOnly(saved) ? readReport(saved).tree : null;
}

function graphOf(programs) {
  const { demangled, ids, ...counted } = join(programs);
  return makeGraph({ ...counted, ids: treeOf(programs) ? ids : [...counted.called?.keys() ?? []], nameOf: id => demangled.get(id) });
}

// The calls of a program as a report.
function reportCalls(program) {
  const programs = [program], { arcs, timed, untimed, calibrated, names } = join(programs);
  const row = (id, kind, name, type, wasmType, value) => {
    const head = JSON.stringify({ id, id_type: kind, name, type, wasm_type: wasmType, script: 'script0', fname: null,
      fid: null, pc: null, probe: null });
    return `${head.slice(0, -1)},"value":${value}}\n`;
  };
  const map = (id, name, type, entries) => row(id, 'map_id', name, type, 'i32',
    `[${entries.map(([key, value]) => `{"key":${key},"value":${value}}`).join(',')}]`);
  const list = untimed.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(',');
  // Ids are unique, as one that occurs again begins another report.
  const head = (list && row(0, 'global_id', 'not_timed', 'str', '(i32; i32)', `"${list}"`)) +
    (calibrated ? row(1, 'global_id', 'calibrated', 'u64', 'i64', `${calibrated}`) : '') +
    map(0, 'names', 'map<u32,str>', [...names].map(([id, name]) => [id, JSON.stringify(name)]));
  const some = ns => (calibrated && ns < 0n ? 1n : ns); // as makeGraph has it
  const signed = timed && arcs.some(arc => some(arc.ns) < 0n); // only times of open calls can be below 0
  const tree = treeOf(programs);
  if (tree) {
    return head + [tree, ...tree.beside].map((one, i) => (one.type === 'str'
      ? row(2 + i, 'global_id', one.name, one.type, '(i32; i32)', valueInJson(one))
      : row(1 + i, 'map_id', one.name, one.type, 'i32', valueInJson(one)))).join('');
  }
  return head +
    map(1, 'arcs', `map<(u32,u32),${signed ? '(u64,i64,u64)' : timed ? '(u64,u64)' : 'u64'}>`,
      arcs.map(({ caller, callee, calls, ns }) => [`[${caller >>> 0},${callee >>> 0}]`,
        timed ? `[${calls},${some(ns)}${signed ? ',0' : ''}]` : `${calls}`]));
}

// Where functions of one module are shown, another one has called from outside.
const withOutside = counted => ({ ...counted, arcs: counted.arcs.map(arc => (arc.home ? { ...arc, home: 0, caller: OUTSIDE } : arc)) });

// A profile for pprof: the stacks of a program of which one instance has recorded all, else its arcs.
function encodeCalls(programs) {
  return encodeProfile(programs.map(program => {
    const [saved, ...others] = program.saved, alone = saved && !others.length && isOnly(saved);
    return { ...namesOf(program), counted: withOutside(countedIn(program)), suffix: suffixOf(program, programs),
      readStacks: alone ? () => readStacks(saved.report) : null };
  }));
}

const areCallsIn = programs => programs.some(program => countedIn(program).arcs.length > 0);

// Names of the functions in the report of an instance, and in those of others, which may be added to it, for the line before it: undefined
// if the report has them, or no calls.
function tellNames(program, saved) {
  const { arcs, named } = readReport(saved);
  if (named || !arcs.length) return undefined;
  const all = new Set();
  for (const one of program.saved.map(readReport)) {
    for (const { home, caller, callee } of one.arcs) {
      all.add(callee);
      if (!home) all.add(caller);
    }
    one.ids.forEach(id => all.add(id));
  }
  const { names } = namesOf(program);
  return [...all].sort((a, b) => a - b).filter(id => !isOutside(id) && names[id]).map(id => ({ key: id, value: names[id] }));
}

// The arcs that an instance has sent to the module prof, as a report; null if there are none.
function tellSent(program, { sent, before }) {
  const saved = { report: null, sent, before: before && { report: null, sent: before.sent } };
  return readAll(saved).arcs.length ? [reportCalls({ ...program, saved: [saved] })] : null;
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
  json: programs => parts.save.joinAll(programs.map(program => ({ ...program, saved: [{ report: [reportCalls(program)], sent: [] }] }))).join(''),
  pprof: encodeCalls,
  tellNames,
  tellSent,
};
