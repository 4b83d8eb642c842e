// What WasmProf shows of the calls that instances of programs have counted: the part `views` of the host. It is made by the code of
// `whammc report`, compiled to WebAssembly (stdlib/views/views.c), from the text that WasmProf's report() is.
//
// A program is here { id, title, module, names, demangled, saved }, names only if its script told them; `saved` are its instances, each
// { report, sent, before }: its report as chunks of text or bytes, the arcs that it has sent to the module prof, and both as they were at WasmProf.clear().
import './save.js';
import { nodeModule, parts } from './parts.js';
import { namesOf } from './names.js';
import { VIEWS_CODE } from './views-code.js';

// ---- the module ----

// Those of the engine, where a hook replaces them later.
const engine = { Module: WebAssembly.Module, Instance: WebAssembly.Instance };
let viewsModule;

function compileViews() {
  const bytes = nodeModule('buffer')?.Buffer.from(VIEWS_CODE, 'base64') ?? Uint8Array.from(atob(VIEWS_CODE), char => char.charCodeAt(0));
  return new engine.Module(bytes);
}

// The readable names of functions, by their symbols.
function readableNames(programs) {
  const all = new Map();
  for (const { names, demangled } of programs.map(namesOf))
    for (const [id, name] of Object.entries(demangled)) all.set(names[id], name);
  return all;
}

// What a function of the module makes of a text in chunks, as bytes. Each call has an instance of its own, whose memory ends with it.
function makeView(name, programs, chunks, ...args) {
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  let readable, found;
  const outOfMemory = () => { throw new RangeError('the memory does not suffice'); };
  const { exports } = new engine.Instance(viewsModule ??= compileViews(), {
    views: {
      demangle(at, size) {
        readable ??= readableNames(programs);
        found = encoder.encode(readable.get(decoder.decode(bytesAt(at, size))) ?? '');
        return found.length;
      },
      name: at => bytesAt(at, found.length).set(found),
    },
    wasi_snapshot_preview1: new Proxy({}, { get: () => outOfMemory }),
  });
  const bytesAt = (at, size) => new Uint8Array(exports.memory.buffer, at >>> 0, size >>> 0);
  const all = chunks.map(chunk => (typeof chunk === 'string' ? encoder.encode(chunk) : chunk)), size = all.reduce((sum, { length }) => sum + length, 0);
  let at = exports.views_room(size) >>> 0;
  for (const chunk of all) {
    bytesAt(at, chunk.length).set(chunk);
    at += chunk.length;
  }
  const isMade = exports[name](...args), made = bytesAt(exports.views_made(), exports.views_size()).slice();
  if (!isMade) throw new Error(decoder.decode(made).trimEnd());
  return made;
}

// ---- reports ----

// What report() is.
const reportOf = programs => parts.save.joinAll(programs, { tellNames, tellSent });

// The same, whatever functions have been called: to find these, the reports would have to be read before.
function reportWithNames(programs) {
  const tellAll = (program, saved) => (saved !== program.saved.find(({ report, sent }) => report || sent.length) ? undefined
    : namesOf(program).names.map((value, key) => ({ key, value })).filter(({ value }) => value));
  return parts.save.joinAll(programs, { tellNames: tellAll, tellSent });
}

const topOf = n => (n >= 1 ? Math.min(Math.floor(n), 2 ** 32 - 1) : 0);

// Milliseconds, which can be any number, as nanoseconds.
const nsOf = ms => BigInt.asIntN(64, BigInt(Math.round(Math.max(-(2 ** 63), Math.min(ms * 1e6, 2 ** 63 - 1024))) || 0));

// The arcs that an instance has sent to the module prof, since WasmProf.clear(): { caller, callee, calls, ns }.
function sentBy({ sent, before }) {
  const arcs = new Map();
  const add = (list, sign) => list.forEach(({ caller, callee, calls, ms }) => {
    const key = `[${caller >>> 0},${callee >>> 0}]`, arc = arcs.get(key) ?? { key, caller, callee, calls: 0n, ns: 0n };
    arcs.set(key, { ...arc, calls: arc.calls + sign * BigInt(calls), ns: arc.ns + sign * nsOf(ms) });
  });
  add(sent, 1n);
  add(before?.sent ?? [], -1n);
  return [...arcs.values()].filter(({ calls, ns }) => calls || ns).sort((a, b) => a.caller - b.caller || a.callee - b.callee);
}

// The same as a report; null if there are none. All instances of a program have arcs of one type.
function tellSent(program, saved) {
  const arcs = sentBy(saved), all = program.saved.flatMap(sentBy), timed = all.some(({ ns }) => ns), signed = all.some(({ ns }) => ns < 0n);
  const entries = arcs.map(({ key, calls, ns }) => `{"key":${key},"value":${timed ? `[${calls},${ns}${signed ? ',0' : ''}]` : calls}}`);
  const head = JSON.stringify({ id: 1, id_type: 'map_id', name: 'arcs', type: `map<(u32,u32),${signed ? '(u64,i64,u64)' : timed ? '(u64,u64)' : 'u64'}>`,
    wasm_type: 'i32', script: 'script0', fname: null, fid: null, pc: null, probe: null });
  return arcs.length ? [`${head.slice(0, -1)},"value":[${entries.join(',')}]}\n`] : null;
}

const namesTold = new WeakMap(); // by `saved`

// Names of the functions in the reports of a program, for the lines before them: undefined if the reports have them, or no calls.
function tellNames(program) {
  const { saved } = program;
  if (!namesTold.has(saved)) {
    const ids = textOr('', 'views_nameless', [program], parts.save.joinAll([program], { tellSent, tellNames() {} })), { names } = namesOf(program);
    const told = ids.split(',').filter(id => id && names[id]).map(Number).sort((a, b) => a - b).map(id => ({ key: id, value: names[id] }));
    namesTold.set(saved, told.length ? told : undefined);
  }
  return namesTold.get(saved);
}

// ---- views ----

// A view of some programs as text; otherwise what went wrong, or `instead`.
function textOr(instead, name, programs, chunks, ...args) {
  try {
    return new TextDecoder().decode(makeView(name, programs, chunks, ...args));
  } catch (error) {
    return instead ?? `${error.message}\n`;
  }
}

const gprof = (programs, n, flat, graph) => textOr(null, 'views_gprof', programs, reportWithNames(programs), topOf(n), flat, graph);

// The calls of a program as a report.
const callsOf = program => textOr('', 'views_calls', [program], reportOf([program]));

// The functions, the most time with what they called first: { name, selfTime, cumulativeTime (with what it called), called (calls of itself
// included), parents, children }, times in milliseconds. Parents and children, without itself: { function, arc: { count, time } }; who
// calls from outside is a function that is not in the list.
function funcResults(programs) {
  const { shown, functions, arcs } = JSON.parse(textOr('{"shown":0,"functions":[],"arcs":[]}', 'views_functions', programs, reportWithNames(programs)));
  functions.forEach(func => Object.assign(func, { parents: [], children: [] }));
  for (const { from, to, ...arc } of arcs.filter(one => one.from !== one.to)) {
    functions[from].children.push({ function: functions[to], arc });
    functions[to].parents.push({ function: functions[from], arc });
  }
  return functions.slice(0, shown);
}

// What `whammc report --format=FORMAT --top=N` makes, as bytes, but not compressed; throws if there is nothing to be shown in that format.
function convert(programs, n, format, chunks = reportOf(programs)) {
  const title = programs.length === 1 ? programs[0].title : 'report';
  return makeView('views_convert', programs, [`${format}\0${title}\0`, ...chunks], topOf(n), Date.now());
}

function pprof(programs) {
  try {
    return convert(programs, 0, 'pprof', reportWithNames(programs));
  } catch {
    return new Uint8Array();
  }
}

parts.views ??= {
  areCallsIn: programs => funcResults(programs).length > 0,
  flatProfileText: (programs, n) => gprof(programs, n, true, false),
  callGraphText: (programs, n) => gprof(programs, n, false, true),
  text: (programs, n) => gprof(programs, n, true, true),
  funcResults,
  json: programs => parts.save.joinAll(programs.map(program => ({ ...program, saved: [{ report: [callsOf(program)], sent: [] }] }))).join(''),
  pprof,
  convert,
  tellNames,
  tellSent,
};
