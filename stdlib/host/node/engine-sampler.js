// Samples of V8's own profiler, in Node, for programs instrumented with `stack.engine()`.
//
// A profile has the whole stack of the thread at each sample. Its WebAssembly frames tell their module, by the address that V8 gives it,
// and where the function's body begins in the module's file. The section whammc.functions says which function of the original program
// that is. Functions that are not in it were added; what they take is their callers'.
//
// Modules of a program of several (take_part) have stacks with the functions of all of them. A sample is in the tree of the module whose
// function is the innermost; as there are others above it, modules.js says what stands for these.
//
// A thread has one profile for all programs in it. Node cannot be asked for the part of it that is new: to make a report, the profile is
// ended, and another one begun.
import { parts } from '../parts.js';
import { ANY, findStacks, readFunctions } from './engine-frames.js';

const KEPT = 60000; // ms of samples that V8 keeps, where they can be taken
const ELSEWHERE = 0xfffffffa; // MARK of modules.js
const NEAR = 100; // frames in which the program is looked for that reports

/** The active functions, from the caller of `called` outwards: { url, position }. `errors`: the class Error of some context. */
function callersBy(errors, called) {
  const { prepareStackTrace, stackTraceLimit } = errors, at = new errors(); // of the same context
  try {
    errors.stackTraceLimit = NEAR;
    errors.prepareStackTrace = (_, sites) => sites.map(site => ({ url: site.getFileName() ?? '', position: site.getPosition() }));
    errors.captureStackTrace(at, called);
    return at.stack;
  } finally {
    Object.assign(errors, { prepareStackTrace, stackTraceLimit });
  }
}

const newNode = () => ({ children: new Map(), samples: 0, ns: 0 });

function child({ children }, key) {
  let found = children.get(key);
  if (!found) children.set(key, found = newNode());
  return found;
}

// The same for a function of another module: { module, index }.
const childElsewhere = (above, home) => Object.assign(child(above, `${home.index} ${home.module}`), { home });

/** The sampler of this thread: { program, look, stop }. load(name) gives a module of Node; say(text) prints a message. */
export function createEngineSampler(load, say) {
  const found = new Map(); // by module, a tree of what has not been reported yet, by where bodies begin
  const urls = new Map(); // of the modules: what gives their functions
  const linked = new Map(); // of those of programs of several: their numbers (module_id)
  let session = null, begun = false, running = false, taken = 0, errors = Error;

  // Not what V8 compiles to call functions from JavaScript.
  const isOfProgram = frame => (frame?.url.startsWith('wasm:') || urls.has(frame?.url)) && !frame.functionName.startsWith('js-to-wasm:');

  // Programs may keep their Error as it is.
  function callersOf(called) {
    try {
      return callersBy(errors, called);
    } catch {
      errors = load('node:vm').runInNewContext('Error');
    }
    try {
      return callersBy(errors, called);
    } catch (error) {
      say(`what V8's profiler finds is lost, as the stack cannot be read here (${error.message}): try --sampler=thread`);
      return [];
    }
  }

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
      taken = performance.now();
      load('node:timers').setInterval(look, KEPT / 2).unref();
    } catch (error) {
      say(`nothing is sampled, as V8's profiler cannot be used here (${error.message}): try --sampler=thread`);
    }
  }

  const indexOf = (url, body) => urls.get(url)?.()?.indexOf(body);

  // Of a program of several modules, the one that is running, whose stack is `place`; undefined: none of such a program.
  function runningModule(place) {
    let node = place;
    while (node.above && !(linked.has(node.url) && indexOf(node.url, node.body) !== undefined)) node = node.above;
    return node.url;
  }

  // Where the frame is in the tree of the module `owner`, below `above`.
  function placeOf({ url, body }, above, owner) {
    if (url === owner) return child(above, body);
    const index = indexOf(url, body);
    return index === undefined ? above : childElsewhere(above, { module: linked.get(url), index });
  }

  function add(profile) {
    const sums = new Map();
    findStacks(profile, isOfProgram, url => urls.get(url)?.() ?? null).forEach((place, i) => {
      const sum = sums.get(place) ?? { samples: 0, ns: 0 };
      sum.samples++;
      sum.ns += 1000 * Math.max(0, profile.timeDeltas[i]);
      sums.set(place, sum);
    });
    for (const [place, { samples, ns }] of sums) {
      const stack = [], places = new Map(), running = runningModule(place);
      for (let node = place; node.above; node = node.above) if (node.url || node.host === ANY) stack.push(node);
      let omitting = null; // modules that have no function yet above those that are left out
      while (stack.length > 0) {
        const frame = stack.pop();
        if (!frame.url) {
          omitting = new Set();
          continue;
        }
        const owner = running && linked.has(frame.url) ? running : frame.url;
        if (!found.has(owner)) found.set(owner, newNode());
        let above = places.get(owner) ?? found.get(owner);
        if (omitting && !omitting.has(owner)) above = child(above, ANY);
        omitting?.add(owner);
        places.set(owner, placeOf(frame, above, owner));
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
    try {
      const { profile } = post('Profiler.stop');
      if (goesOn) post('Profiler.start');
      running = goesOn;
      taken = performance.now();
      add(profile);
    } catch (error) {
      say(`samples are lost, as V8's profiler failed: ${error.message}`);
    }
  }

  // So that V8 does not keep the samples of hours.
  function look() {
    if (performance.now() - taken >= KEPT) take(true);
  }

  // What is to be reported of a node.
  function reportable({ samples, ns, children }, functions) {
    const below = [];
    for (const [body, node] of children) {
      const { home } = node, index = home ? home.index : body === ANY ? ANY : functions.indexOf(body), part = reportable(node, functions);
      if (index === undefined) {
        samples += part.samples;
        ns += part.ns;
        below.push(...part.below);
      } else {
        below.push({ index, home, ...part });
      }
    }
    return { samples, ns, below };
  }

  return {
    /**
     * { imports, attach } of one program. If it `ends`, the report that it makes when none of its functions is active is its last one.
     */
    program({ ends = false } = {}) {
      let addSamples = null, section = null, functions = null, url = '';

      // Read when it is needed.
      function ownFunctions() {
        if (section && !functions) functions = readFunctions(new Uint8Array(section));
        return functions;
      }

      function report(parent, { below }) {
        for (const node of below) {
          let above = parent;
          for (const step of node.home ? [ELSEWHERE, node.home.module] : []) above = addSamples(above, step, 0n, 0n);
          report(addSamples(above, node.index, BigInt(node.samples), BigInt(node.ns)), node);
        }
      }

      return {
        imports: {
          sample_every: function start(ns) {
            url = callersOf(start)[0]?.url ?? '';
            urls.set(url, ownFunctions);
            begin(ns);
          },
          take_part: id => { linked.set(url, id >>> 0); },
          collect_samples: function collect() {
            take(!ends || callersOf(collect).some(one => urls.has(one.url) && (one.url !== url || one.position < ownFunctions()?.end)));
            if (!ownFunctions() || !found.has(url)) return;
            const tree = found.get(url);
            found.delete(url);
            report(0, reportable(tree, functions));
          },
        },
        /** Connects to the instance that was made with `imports`, of `module`. */
        attach(instance, module) {
          addSamples = instance.exports['whammc:add_samples'];
          if (addSamples) [section] = parts.Module.customSections(module, 'whammc.functions');
        },
      };
    },

    /** To be called now and then: takes what V8 has. It is called by a timer, too, which programs keep from running that do not return. */
    look,

    /** Ends sampling; reports have what has been found. */
    stop() {
      take(false);
    },
  };
}
