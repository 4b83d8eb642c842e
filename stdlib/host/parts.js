// The parts of the host that only some programs need. `whammc instr` puts into OUT.js those that its program needs; the modules of the
// npm package have all. All scripts in one page or process share the parts: each OUT.js adds those that were missing.
//
//   traps     { createTraps }                              corrects counts after traps
//   clock     { hostClock }                                a clock that is cheap to read
//   sampler   { createHostSampler }                        a thread that takes samples
//   sampling  { addSource, createSelfSampled, Profiler }   what is done with samples
//   calls     { createCalls, views of Results }            profiles of calls
//
// An OUT.js may be from another version of whammc: a part whose interface changes gets a new name.
const SHARED_PARTS = Symbol.for('whammc.parts');

export const parts = globalThis[SHARED_PARTS] ?? {};
if (!globalThis[SHARED_PARTS]) Object.defineProperty(globalThis, SHARED_PARTS, { value: parts });

/** Whether the program imports this function of the host. */
export function asksFor(module, wanted) {
  return WebAssembly.Module.imports(module).some(({ module: from, name }) => from === 'whammc' && name === wanted);
}
