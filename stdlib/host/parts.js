// The parts of the host that only some programs need. `whammc instr` puts into OUT.js those that its program needs; the modules of the
// npm package have all. All scripts in one page or process share the parts: each OUT.js adds those that were missing.
//
//   traps     { createTraps }                              corrects counts after traps
//   clock     { hostClock }                                a clock that is cheap to read
//   sampler   { createHostSampler }                        a thread that takes samples
//   table     { createTable }                              the functions of the module prof
//   stacks    { add, intercept }                           stacks that wait for promises
//   modules   { createProgram, go }                        programs of several modules
//   imports   what programs import besides              of number and atomics
//   number    () => number of this thread                  for scripts that use it; parts.thread, if that is known
//   atomics   { begin, prepare, get, isAlone }                         the memory of atomic variables
//   lines     bytes => shows them                         lines that programs print; watchLines(show) calls show() from time to time
//   loader    { now, later }                               loads OUT.views.js
//   threads   { announce, others, clear, enter }           what workers of a page have counted in memories of their own
//
// What is needed only when somebody looks at a profile is in a second file, OUT.views.js, where there is one:
//
//   views     what Results are shown with                  profiles of calls
//   sampling  { Profiler, join }                           what is done with samples
//   names     { [id]: { names, demangled } }               of the functions of each program
//   threads   { begin, report, collect } besides           what threads of Node have counted when they are ended
//   save      { saveAtExit, joinAll }                      the file of WASMPROF, and texts of reports; without a second file in OUT.js
//
// Programs that are sampled are in parts.sources, each { title, module, setInterval(ms or 0), drain(take) } or, as long as nobody has
// asked for its samples, { title, module, memory }: it samples itself, its stack is in this memory, and it calls sampled() if that is
// there. drain calls take({ timestamp, stack }) for each new sample; `stack` has indices of functions, outermost first.
//
// parts.owned(module) tells whether the hook has instrumented a module, which may have come from another thread.
//
// parts.workers has the workers that a page has started before the hook was loaded, each with its address.
//
// OUT.js of several versions of whammc share them as long as INTERFACE is the same: it grows when the interface of a part changes, or
// that of WasmProf with the parts. Scripts of another INTERFACE leave the parts alone, and install() (wasmprof.js) tells of them.
export const INTERFACE = 4;
export const SHARED_PARTS = Symbol.for(`whammc.parts.${INTERFACE}`);

/** The classes of errors that end programs, in this context or in one of node:vm. */
export const errorsOf = ({ WebAssembly, RangeError }) => ({ Trap: WebAssembly.RuntimeError, Exception: WebAssembly.Exception, RangeError });

// What scripts share besides: the engine's own functions of WebAssembly.Module, which programs see changed; the import objects that
// have been made for the engine; whether a page has made hosts for itself, which it gives to its programs then; the classes of errors in
// each context that has instances; how WasmProf serves another context, and what is to be told of traps there.
const shared = {
  Module: Object.fromEntries(['imports', 'exports', 'customSections'].map(name => [name, WebAssembly.Module[name]])),
  served: new WeakSet(),
  hosts: { byHand: false },
  errors: new Set([errorsOf(globalThis)]),
  contexts: { enter: null, trapped: null },
};
export const parts = globalThis[SHARED_PARTS] ?? Object.create(shared);
if (!globalThis[SHARED_PARTS]) Object.defineProperty(globalThis, SHARED_PARTS, { value: parts });

/** Whether a value is what the engine makes of this name, such as 'Promise', in whatever context. */
export const isBuiltIn = (value, name) => Object.prototype.toString.call(value) === `[object ${name}]`;

/** Whether an error is of one of these classes, of whatever context. */
export function isErrorOf(error, ...names) {
  return [...parts.errors].some(errors => names.some(name => errors[name] && error instanceof errors[name]));
}

/** The number by which a program's own scripts know it, "" = none. */
export function idOf(module) {
  const section = parts.Module.customSections(module, 'whammc').pop();
  return section ? new TextDecoder().decode(section) : '';
}

/** Whether the program imports this function of the host. */
export function asksFor(module, wanted) {
  return parts.Module.imports(module).some(({ module: from, name }) => from === 'whammc' && name === wanted);
}

/** The address of this script, as the engine tells it in errors: '(file:///a/out.js:1:2)', '(/a/out.js:1:2)', '@http://host/out.js:1:2'. */
export function addressOfScript() {
  return /[(@]((?:\w+:)?[/\\].*):\d+:\d+\)?$/m.exec(new Error().stack)?.[1] ?? '';
}

/** A module of Node, from classic scripts and ES modules alike; null elsewhere. */
export function nodeModule(name) {
  const { process } = globalThis;
  if (process?.getBuiltinModule) return process.getBuiltinModule(name);
  return process?.versions?.node && typeof require === 'function' ? require(name) : null;
}
