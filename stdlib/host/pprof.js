// Profiles for `go tool pprof`, Pyroscope, Parca and others: messages of profile.proto (src/format/profile.proto has its fields),
// not compressed. Their contents are those of `whammc report --format=pprof` for the same calls without the program.
import { OUTSIDE, UNKNOWN_CALLER, addNs, isOutside, line, toNs } from './gprof.js';
import { ANY_TREE, eachEntry, funcId, readRows, typesOf, unsigned } from './calls.js';

const DEEPEST = 1000; // calls of a stack that are told apart, as in src/profile/stacks.h

// ---- messages ----

const SAFE = BigInt(Number.MAX_SAFE_INTEGER), NUMBER = 0, PARTS = 2; // kinds of fields

// A message under construction. Fields that are 0 or empty are omitted, since these are the defaults.
function createMessage() {
  let bytes = new Uint8Array(64), length = 0;

  function reserve(count) {
    if (length + count <= bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * bytes.length, length + count));
    larger.set(bytes.subarray(0, length));
    bytes = larger;
  }

  // LEB128 of a number of 64 bits, with or without sign.
  function put(value) {
    reserve(10);
    let rest = value;
    if (typeof rest === 'bigint' && (rest < 0n || rest > SAFE)) {
      for (rest = BigInt.asUintN(64, rest); rest > 127n; rest >>= 7n) bytes[length++] = Number(rest & 127n) | 128;
    }
    for (rest = Number(rest); rest > 127; rest = Math.floor(rest / 128)) bytes[length++] = rest % 128 | 128;
    bytes[length++] = rest;
  }

  const message = {
    number(field, value) {
      if (!value) return;
      put(field << 3 | NUMBER);
      put(value);
    },

    append(field, part) {
      put(field << 3 | PARTS);
      put(part.length);
      reserve(part.length);
      bytes.set(part, length);
      length += part.length;
    },

    numbers(field, values) {
      const list = createMessage();
      values.forEach(list.put);
      message.append(field, list.done());
    },

    /** A message in this one, which fill(it) makes. */
    message(field, fill) {
      const inner = createMessage();
      fill(inner);
      message.append(field, inner.done());
    },

    put,
    done: () => bytes.subarray(0, length),
  };
  return message;
}

// ---- call trees ----

/** The first call tree in a report, in chunks: { types, nodes: [{ id, parent, func, values }] }; null if it has none. */
export function readStacks(report) {
  const rows = readRows(report), tree = rows.find(row => ANY_TREE.test(row.type));
  if (!tree) return null;
  const kinds = ANY_TREE.exec(tree.type)[1].split(','), types = typesOf(rows, tree, kinds.length);
  const first = kinds.length - types.length; // what is before the numbers: parent, function, and often the place of the call
  if (!types.length || first < 2 || first > 3) return null;
  const signed = kinds.slice(first).map(kind => kind.startsWith('i')), nodes = new Map();
  eachEntry(tree, 1 + kinds.length, ([id, parent, func, ...numbers]) => {
    const values = numbers.slice(first - 2).map((n, i) => (signed[i] ? BigInt.asIntN(64, BigInt(n)) : toNs(unsigned(n))));
    nodes.set(id, { id, parent, func: funcId(func), values });
  });
  const isTime = types[types.length - 1][1] === 'nanoseconds', all = [...nodes.values()];
  const isMeasured = !isTime || types.length === 1 || all.some(({ values }) => values[types.length - 1]);
  if (!isMeasured) all.forEach(({ values }) => values.pop());
  return { types: isMeasured ? types : types.slice(0, -1), nodes: all };
}

// ---- samples ----

// The stacks of samples, as a tree of frames: { func, above (who called it, or null), values }.
function createFrames() {
  const root = { depth: 0, callees: new Map() }, frames = [];
  return {
    frames,

    /** The frame of a function that `above` has called; that is the caller itself where stacks are too deep. */
    enter(above, func) {
      const caller = above ?? root;
      if (caller.depth === DEEPEST) return caller;
      let frame = caller.callees.get(func);
      if (!frame) {
        caller.callees.set(func, frame = { func, above, depth: caller.depth + 1, callees: new Map(), values: [] });
        frames.push(frame);
      }
      return frame;
    },

    add(frame, values) {
      frame.values = values.map((n, i) => addNs(n, frame.values[i] ?? 0n));
    },
  };
}

// Adds the nodes of a tree.
function sampleTree(nodes, number, stacks) {
  const known = new Map(nodes.map(node => [node.id, node])), entered = new Map();
  for (const node of nodes) {
    const open = [];
    for (let up = node; up && !entered.has(up.id); up = known.get(up.parent)) {
      entered.set(up.id, null); // a function that is its own caller is called from outside
      open.push(up);
    }
    while (open.length) {
      const { id, parent, func } = open.pop();
      entered.set(id, stacks.enter(entered.get(parent) ?? null, number(func)));
    }
    stacks.add(entered.get(node.id), node.values);
  }
}

// Adds arcs: of each its calls, its part of the time in the callee itself, and its time.
function sampleArcs({ arcs: counted, timed, calibrated }, number, stacks) {
  const arcs = counted.map(arc => (arc.callee === OUTSIDE ? { ...arc, callee: UNKNOWN_CALLER } : arc)); // not who calls from outside
  const self = new Map(), inner = new Map(); // by function: the time in itself, and that of its arcs, which have not got their part
  const change = (map, id, ns) => map.set(id, addNs(map.get(id) ?? 0n, ns));
  for (const { caller, callee, ns } of arcs) {
    change(self, callee, ns);
    if (caller !== OUTSIDE) change(self, caller, -ns);
    if (caller !== callee && ns > 0n) change(inner, callee, ns);
  }
  if (calibrated) self.forEach((ns, id) => { if (ns < 0n) self.set(id, 0n); });
  const partOf = ({ caller, callee, ns }) => {
    const all = inner.get(callee) ?? 0n, left = self.get(callee);
    if (caller === callee || ns <= 0n || all <= 0n) return 0n;
    const part = ns >= all ? left : BigInt(Math.trunc(Number(left) * (Number(ns) / Number(all))));
    self.set(callee, left - part);
    inner.set(callee, all - ns);
    return part;
  };
  for (const arc of arcs) {
    const above = arc.caller === OUTSIDE ? null : stacks.enter(null, number(arc.caller));
    stacks.add(stacks.enter(above, number(arc.callee)), [toNs(arc.calls), ...(timed ? [partOf(arc), arc.ns] : [])]);
  }
}

// ---- the profile ----

const CALLS = ['calls', 'count'], TIMES = [['time', 'nanoseconds'], ['total', 'nanoseconds']];

// Numbers of the functions of a module, from 1, in the order in which they are seen.
function numberFunctions({ names, demangled, suffix }, functions) {
  const known = new Map();
  return func => {
    const id = isOutside(func) ? OUTSIDE : func;
    if (!known.has(id)) {
      const symbol = id === OUTSIDE ? '<unknown>' : names[id] || `#${id}`;
      functions.push({ symbol: line(symbol + suffix), name: line((demangled[id] || symbol) + suffix) });
      known.set(id, functions.length);
    }
    return known.get(id);
  };
}

// The samples of all modules, and what their numbers are. If each has the same kind of tree these are its nodes, else its arcs.
function sampleAll(parts, functions) {
  const trees = parts.map(part => part.readStacks?.() ?? null), stacks = createFrames(), types = trees[0]?.types;
  const areSame = types && trees.every(tree => tree && String(tree.types) === String(types));
  const timed = parts.some(part => part.counted.timed);
  parts.forEach((part, i) => {
    const number = numberFunctions(part, functions);
    if (areSame) sampleTree(trees[i].nodes, number, stacks);
    else sampleArcs({ ...part.counted, timed }, number, stacks);
  });
  const samples = stacks.frames.filter(frame => frame.values.some(n => n !== 0n));
  return { types: areSame ? types : [CALLS, ...(timed ? TIMES : [])], shown: areSame ? types.length - 1 : timed ? 1 : 0, samples };
}

const timeOf = ({ arcs }) => arcs.filter(arc => arc.caller === OUTSIDE).reduce((sum, arc) => addNs(sum, arc.ns), 0n);

/** The profile of some modules, as bytes; of each: { names, demangled, suffix (of its functions' names), counted, readStacks }. */
export function encodeProfile(parts) {
  const texts = new Map([['', 0]]), functions = [], profile = createMessage(), encoder = new TextEncoder();
  const text = string => texts.get(string) ?? texts.set(string, texts.size).size - 1;
  const { types, shown, samples } = sampleAll(parts, functions);
  for (const [name, unit] of types) {
    profile.message(1, type => {
      type.number(1, text(name));
      type.number(2, text(unit));
    });
  }
  for (const sample of samples) {
    const places = [];
    for (let frame = sample; frame; frame = frame.above) places.push(frame.func);
    profile.message(2, one => {
      one.numbers(1, places);
      one.numbers(2, sample.values);
    });
  }
  functions.forEach(({ symbol, name }, i) => {
    profile.message(4, place => {
      place.number(1, i + 1);
      place.message(4, code => code.number(1, i + 1));
    });
    profile.message(5, func => {
      func.number(1, i + 1);
      func.number(2, text(name));
      func.number(3, text(symbol));
    });
  });
  profile.number(9, BigInt(Date.now()) * 1000000n);
  profile.number(10, parts.reduce((ns, { counted }) => addNs(ns, timeOf(counted)), 0n));
  profile.number(14, text(types[shown][0]));
  for (const string of texts.keys()) profile.append(6, encoder.encode(string));
  return profile.done();
}
