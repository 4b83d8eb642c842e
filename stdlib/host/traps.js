// Finds out where a program trapped, and corrects its counts.
//
// Instructions are counted by segments: when a segment is entered, all of it counts. If an instruction in the middle of a
// segment traps, the instructions after it were counted once too often. Engines report the location in the error's stack
// trace; the section `whammc.traps` has the amounts that are too much there, and the exports whammc:trapped and
// whammc:correct subtract them, which must happen before the program reports.
//
// The section: a byte VERSION, then for each function, with numbers in LEB128:
//   distance of its body in the file from the body before, distance of its original index, number of segments;
//   for each segment: 4 * number of runs, + 2 if variables follow, + 1 if a class follows; the class; how many variables, these;
//   for each run of instructions: 4 * distance of the first one from the instruction before (of the body's first: from the body), + 1
//   if another number follows: by how much (zigzag) the instrumented code is now shifted against the original; + 2 if another one
//   follows: distance of the last one from the first; for each variable what to add to it;
//   after the runs: where the segment ends (key), less twice the original offset of the last one; 0 = where the body ends.
// A key is 2 * the instruction's original offset in the body, + 1 for the position after it.
import { isErrorOf, parts } from './parts.js';
import { createReader } from './reader.js';

const TRAPS = 'whammc.traps', TRAPS_VERSION = 2, TOO_OFTEN = 'whammc:trapped', ADD_TO = 'whammc:correct';

const END_OF_BODY = 4294967295;

const UNKNOWN = 'a trap may have left counts too high, as the engine does not tell where it was';
const handled = new WeakSet(); // errors that have been handled, in any instance

/**
 * What is counted too often if the instruction at `offset` of the file traps: { fid, from, to, kind, corrections }, rows of
 * function `fid` whose keys are from <= key < to, what whammc:trapped calls the class, and amounts to add to variables.
 * Null if nothing is; { fid, lost } before a body, where optimised code of older versions of V8 says that it is when it
 * does not know. Throws RangeError if the section is cut off.
 */
export function findPoint(section, offset) {
  const { byte, unsigned, signed, more } = createReader(section, TRAPS);
  if (byte() !== TRAPS_VERSION) return null;
  for (let body = 0, fid = 0; more();) {
    body += unsigned();
    fid += unsigned();
    if (body === offset + 1) return { fid, lost: true };
    if (body > offset) return null;
    let at = body, farther = 0;
    for (let segments = unsigned(); segments > 0; segments--) {
      const head = unsigned(), kind = head % 2 ? unsigned() : 0;
      const variables = Array.from({ length: head & 2 ? unsigned() : 0 }, unsigned);
      let found = null;
      for (let runs = Math.floor(head / 4); runs > 0; runs--) {
        const step = unsigned(), first = at + Math.floor(step / 4);
        if (step % 2) {
          const change = unsigned();
          farther += change % 2 ? -(change + 1) / 2 : change / 2;
        }
        at = first + (step & 2 ? unsigned() : 0);
        const corrections = variables.map(variable => ({ variable, amount: signed() }));
        if (first <= offset && offset <= at) found = { fid, from: 2 * (offset - body - farther) + 1, kind, corrections };
      }
      const end = unsigned();
      if (found) return { ...found, to: end ? 2 * (at - body - farther) + end : END_OF_BODY };
    }
  }
  return null;
}

/**
 * The frame in which the error was thrown, if that was in WebAssembly: { module, index, offset }: what the engine calls the
 * module, the function's index there, and the instruction's offset in the file; {} if it was elsewhere, null if the engine
 * does not say.
 */
export function topFrame(error) {
  let stack;
  try {
    stack = error.stack; // the page may have its own way of making one
  } catch {
    return null;
  }
  if (typeof stack !== 'string') return null;
  const lines = stack.split('\n');
  // V8:      '    at name (wasm://wasm/1a2b3c4d:wasm-function[5]:0x67)', the name and its parentheses only if there is one
  // Firefox: 'name@http://host/app.wasm:wasm-function[5]:0x67'
  // Safari:  'name@wasm-function[5]' or '<?>.wasm-function[5]@[wasm code]'
  const line = lines.find(one => /^\s+at /.test(one)) ?? lines[0];
  const frame = /^(?:\s+at (?:.* \()?|.*@)(.*):wasm-function\[(\d+)\]:0x([0-9a-f]+)\)?$/.exec(line);
  if (frame) return { module: frame[1], index: Number(frame[2]), offset: parseInt(frame[3], 16) };
  return /^\s+at |@/.test(line) && !line.includes('wasm-function[') ? {} : null;
}

/**
 * Handles the traps of one instance of `module`. Errors that are not traps, or come from elsewhere, are ignored, and so are all in
 * a program without the section.
 */
export function createTraps(instance, module, warn) {
  const { [TOO_OFTEN]: tooOften, [ADD_TO]: addTo } = instance.exports;
  const warned = new Set();
  let section; // null if there is none

  function warnOnce(text) {
    if (!warned.has(text)) warn(`whammc: ${text}; see --exact-traps`);
    warned.add(text);
  }

  function readSection() {
    if (section === undefined)
      section = module ? parts.Module.customSections(module, TRAPS)[0] ?? null : null;
    return section && new Uint8Array(section);
  }

  // What the engine calls this module, which variable -1 shows.
  function ownName() {
    try {
      addTo(-1, 0n);
    } catch (error) {
      return topFrame(error)?.module;
    }
    return undefined;
  }

  // Whether the frame is one of this module, in function `fid`; instrumentation may have added imports before it.
  function isOurs(frame, fid) {
    const imports = parts.Module.imports(module).filter(one => one.kind === 'function').length;
    return frame.index >= fid && frame.index - fid <= imports && (ownName() ?? frame.module) === frame.module;
  }

  // The corrections, or null if none are needed.
  function pointOf(error) {
    if (typeof tooOften !== 'function' || !isErrorOf(error, 'Trap')) return null;
    const bytes = readSection();
    if (!bytes) {
      if (!module) warnOnce('a trap may have left counts too high, as the host was not given the module: attach(instance, module)');
      return null;
    }
    const frame = topFrame(error);
    if (!frame) warnOnce(UNKNOWN);
    if (!frame || frame.offset === undefined) return null;
    try {
      const point = findPoint(bytes, frame.offset);
      if (!point || !isOurs(frame, point.fid)) return null;
      if (point.lost) warnOnce(UNKNOWN);
      return point.lost ? null : point;
    } catch {
      return null; // the section is damaged
    }
  }

  return {
    /** Whether the error is a trap of this module, perhaps of this instance, that leaves counts too high still. */
    mayOwn: error => !handled.has(error) && pointOf(error) !== null,

    /** Corrects the counts after a trap, once for each error. Returns whether it did. */
    correct(error) {
      const point = handled.has(error) ? null : pointOf(error);
      if (!point) return false;
      handled.add(error);
      if (!tooOften(point.kind, point.fid, point.from, point.to))
        warnOnce('a program trapped at more places than are remembered; its counts there are too high');
      for (const { variable, amount } of point.corrections) addTo(variable, amount);
      return true;
    },
  };
}

parts.traps ??= { createTraps };
