// Samples of V8's own profiler, in Node, for programs instrumented with `stack.engine()`.
//
// A profile has the whole stack of the thread at each sample. Its WebAssembly frames tell their module, by the address that V8 gives it,
// and where the function's body begins in the module's file. The section whammc.functions says which function of the original program
// that is, with numbers in LEB128:
//   a byte VERSION; where the program's own bodies end;
//   for each function: distance of its body from the one before, distance of its index (zigzag).
// Bodies that are not in it are of functions that were excluded, or added: what they take is their callers'.
//
// A thread has one profile for all programs in it. Node cannot be asked for the part of it that is new: to make a report, the profile is
// ended, and another one begun.
import { createReader } from './reader.js';

const FUNCTIONS = 'whammc.functions', FUNCTIONS_VERSION = 1;
const MOST_FRAMES = 255; // that V8 records, the innermost ones; now and then it sees only the innermost of all
const ANY = 4294967295; // the function of a node for those that are left out
const NEAR = 100; // frames in which the program is looked for that reports

/** { end, functions: Map from where a body begins to the function's index } of the section. */
function readFunctions(bytes) {
  const { byte, unsigned, more } = createReader(bytes, FUNCTIONS), functions = new Map();
  if (byte() !== FUNCTIONS_VERSION) return { end: 0, functions };
  const end = unsigned();
  for (let body = 0, index = 0; more();) {
    body += unsigned();
    const change = unsigned();
    index += change % 2 ? -(change + 1) / 2 : change / 2;
    functions.set(body, index);
  }
  return { end, functions };
}

/** The active functions, from the caller of `called` outwards: { url, position }. */
function callersOf(called) {
  const { prepareStackTrace, stackTraceLimit } = Error, at = {};
  try {
    Error.stackTraceLimit = NEAR;
    Error.prepareStackTrace = (_, sites) => sites.map(site => ({ url: site.getFileName() ?? '', position: site.getPosition() }));
    Error.captureStackTrace(at, called);
    const { stack } = at;
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    return stack;
  } catch {
    return []; // the program keeps Error as it is
  }
}

const newNode = () => ({ children: new Map(), samples: 0, ns: 0 });

function child({ children }, key) {
  let found = children.get(key);
  if (!found) children.set(key, found = newNode());
  return found;
}

/** The sampler of this thread: { program, stop }. load(name) gives a module of Node; say(text) prints a message. */
export function createEngineSampler(load, say) {
  const found = new Map(); // by module, a tree of what has not been reported yet, by where bodies begin
  const urls = new Set(); // of the modules
  let session = null, begun = false, running = false;

  // Not what V8 compiles to call functions from JavaScript.
  const isOfProgram = frame => (frame?.url.startsWith('wasm:') || urls.has(frame?.url)) && !frame.functionName.startsWith('js-to-wasm:');

  function post(method, parameters) {
    let answer = null;
    session.post(method, parameters, (error, result) => {
      if (error) throw new Error(error.message);
      answer = result;
    });
    return answer;
  }

  function begin(ns) {
    if (begun) return; // another program has asked for it
    begun = true;
    try {
      const { Session } = load('node:inspector');
      session = new Session();
      session.connect();
      post('Profiler.enable');
      post('Profiler.setSamplingInterval', { interval: Math.max(1, Math.round(Number(ns) / 1000)) });
      post('Profiler.start');
      running = true;
    } catch (error) {
      say(`nothing is sampled, as V8's profiler cannot be used here (${error.message}): try --sampler=thread`);
    }
  }

  // Samples and time of each node. Collecting garbage is part of what was running before.
  function sumUp({ nodes, samples, timeDeltas }) {
    const collecting = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === '(garbage collector)').map(({ id }) => id));
    const sums = new Map();
    let last = 0;
    samples.forEach((id, i) => {
      if (!collecting.has(id)) last = id;
      const sum = sums.get(last) ?? { samples: 0, ns: 0 };
      sum.samples++;
      sum.ns += 1000 * Math.max(0, timeDeltas[i]);
      sums.set(last, sum);
    });
    return sums;
  }

  function add(profile) {
    const nodes = new Map(profile.nodes.map(({ id, callFrame }) => [id, { ...callFrame, above: 0 }]));
    for (const { id, children } of profile.nodes)
      for (const below of children ?? []) nodes.get(below).above = id;
    for (const [id, { samples, ns }] of sumUp(profile)) {
      const stack = [], places = new Map();
      let depth = 0, outermost = null;
      for (let node = nodes.get(id); node?.above; node = nodes.get(node.above), depth++) { // not the root
        if (isOfProgram(node)) stack.push(node);
        outermost = node;
      }
      const cutOff = depth >= MOST_FRAMES || isOfProgram(outermost); // JavaScript has called that
      while (stack.length > 0) {
        const { url, columnNumber } = stack.pop();
        let place = places.get(url);
        if (!place) {
          if (!found.has(url)) found.set(url, newNode());
          place = cutOff ? child(found.get(url), ANY) : found.get(url);
        }
        places.set(url, child(place, columnNumber));
      }
      for (const place of places.values()) {
        place.samples += samples;
        place.ns += ns;
      }
    }
  }

  function take(goesOn) {
    if (!running) return;
    running = false;
    add(post('Profiler.stop').profile);
    if (goesOn) post('Profiler.start');
    running = goesOn;
  }

  // What is to be reported of a node.
  function reportable({ samples, ns, children }, functions) {
    const below = [];
    for (const [body, node] of children) {
      const index = body === ANY ? ANY : functions.get(body), part = reportable(node, functions);
      if (index === undefined) {
        samples += part.samples;
        ns += part.ns;
        below.push(...part.below);
      } else {
        below.push({ index, ...part });
      }
    }
    return { samples, ns, below };
  }

  return {
    /**
     * { imports, attach } of one program. If it `ends`, the report that it makes when none of its functions is active is its last one.
     */
    program({ ends = false } = {}) {
      let addSamples = null, end = 0, functions = null, url = '';

      function report(parent, { below }) {
        for (const node of below) report(addSamples(parent, node.index, BigInt(node.samples), BigInt(node.ns)), node);
      }

      return {
        imports: {
          sample_every: function start(ns) {
            url = callersOf(start)[0]?.url ?? '';
            urls.add(url);
            begin(ns);
          },
          collect_samples: function collect() {
            take(!ends || callersOf(collect).some(one => urls.has(one.url) && (one.url !== url || one.position < end)));
            if (!functions || !found.has(url)) return;
            const tree = found.get(url);
            found.delete(url);
            report(0, reportable(tree, functions));
          },
        },
        /** Connects to the instance that was made with `imports`, of `module`. */
        attach(instance, module) {
          const [section] = WebAssembly.Module.customSections(module, FUNCTIONS);
          addSamples = instance.exports['whammc:add_samples'];
          if (section && addSamples) ({ end, functions } = readFunctions(new Uint8Array(section)));
        },
      };
    },

    /** Ends sampling; reports have what has been found. */
    stop() {
      take(false);
    },
  };
}
