// What V8's profiler misses of stacks is found here: callers, and what is left out of deep ones.
//
// V8 takes a frame to be complete. In the first and last instructions of a function it is not: V8 sees that function F directly above
// the caller G of its caller T, or alone. Who can call whom is known: the section whammc.functions of the program has, in LEB128,
//   a byte FRAMES_VERSION; where the program's own bodies end;
//   for each function: distance of its body from the one before; distance of its index, zigzag, times 8, with bits; the bytes of a
//   list, and the list: functions that it calls by name, the first as distance from its own index, zigzag, others from the one before.
// If G cannot call F, T is missing. It is the function that F was called by in a sample nearby that has the same frames up to G; without
// one, what G called in the nearest sample, if that can call F, or else, of the functions that G can call and that can call F, the only one,
// or the one that has most often done so elsewhere.
// (src/rewrite/engine_frames.h describes the section, too.)
import { createReader } from '../reader.js';

const FRAMES_VERSION = 2, FRAME_BITS = 8;
const IS_HIDDEN = 1, IS_OPEN = 2, CALLS_OPEN = 4; // IS_OPEN: may be called other than by name
const MOST_FRAMES = 255; // that V8 records, the innermost ones
const NEARBY = 32; // samples
/** The function of a node for those that are left out. */
export const ANY = 4294967295;

const unzigzag = zigzag => zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;

/**
 * The functions of a program by its section: { end, has, indexOf, mayCall, between }. Functions are told by where their bodies begin; `end` is
 * where those end that are the program's.
 */
export function readFunctions(bytes) {
  const { byte, unsigned, take, more } = createReader(bytes, 'whammc.functions'), functions = new Map(), byIndex = new Map();
  let end = 0, callers = null;
  if (byte() === FRAMES_VERSION) {
    end = unsigned();
    for (let body = 0, index = 0; more();) {
      body += unsigned();
      const place = unsigned(), bits = place % FRAME_BITS;
      index += unzigzag((place - bits) / FRAME_BITS);
      const one = { body, index, bits, list: take(unsigned()), callees: null };
      functions.set(body, one);
      byIndex.set(index, one);
    }
  }

  function calleesOf(one) {
    if (one.callees) return one.callees;
    one.callees = new Set();
    const { unsigned: next, more: has } = createReader(one.list, 'whammc.functions');
    for (let index = one.index, first = true; has(); first = false) {
      index += first ? unzigzag(next()) : next();
      one.callees.add(index);
    }
    return one.callees;
  }

  function callersOf(wanted) {
    if (!callers) {
      callers = new Map();
      for (const one of functions.values()) {
        for (const index of calleesOf(one)) {
          if (!callers.has(index)) callers.set(index, []);
          callers.get(index).push(one);
        }
      }
    }
    return callers.get(wanted.index) ?? [];
  }

  // `caller` undefined: the host.
  function calls(caller, callee) {
    return Boolean((!caller || caller.bits & CALLS_OPEN) && callee.bits & IS_OPEN) || Boolean(caller && calleesOf(caller).has(callee.index));
  }

  return {
    end,
    has: body => functions.has(body),

    /** The index of the function with this body in the original program; undefined if it has no frame. */
    indexOf(body) {
      const one = functions.get(body);
      return one && !(one.bits & IS_HIDDEN) ? one.index : undefined;
    },

    /** Whether the function may call the other one, which may be unknown; a caller that is unknown is the host, or called by it. */
    mayCall(caller, callee) {
      const to = functions.get(callee);
      return !to || calls(functions.get(caller), to);
    },

    /** The functions that the caller can call, as far as it does so by name, and that can call the callee; both as for mayCall. */
    between(caller, callee) {
      const from = functions.get(caller), to = functions.get(callee);
      const named = from && !(from.bits & CALLS_OPEN);
      const found = named ? [...calleesOf(from)].map(index => byIndex.get(index)).filter(one => one && calls(one, to))
        : callersOf(to).filter(one => calls(from, one));
      return found.map(({ body }) => body);
    },
  };
}

// ---- the tree of a profile ----

// A frame of the program has the `url` of the module and where the function's `body` begins; others have a `host`, what tells it. Of a
// node that is not `whole` the outermost frames are not there. `entry`: the outermost function that is in such a section.
function newPlace(above, frame) {
  const node = { ...frame, above, depth: above ? above.depth + 1 : 0, whole: above?.whole ?? true, entry: null, children: null };
  node.entry = above?.entry ?? (frame.known ? node : null);
  return node;
}

const frameKey = frame => frame.url ? `${frame.body} ${frame.url}` : frame.host;

function placeAbove(above, frame) {
  const key = frameKey(frame), children = above.children ??= new Map(); // most have none
  let node = children.get(key);
  if (!node) children.set(key, node = newPlace(above, frame));
  return node;
}

/**
 * The tree of V8's nodes: { root, places: from V8's ids to our nodes }. isOfProgram(frame) tells frames of programs, all of which JavaScript
 * has called; functionsOf(url) gives a program's functions.
 */
function readTree({ nodes }, isOfProgram, functionsOf) {
  const byId = new Map(nodes.map(node => [node.id, node])), places = new Map(), root = newPlace(null, {});
  places.set(nodes[0].id, root);
  for (const open = [nodes[0]]; open.length;) {
    const { id, children = [] } = open.pop(), above = places.get(id);
    for (const below of children) {
      const node = byId.get(below), { url, columnNumber, lineNumber, functionName } = node.callFrame, own = isOfProgram(node.callFrame);
      const frame = own ? { url, body: columnNumber, known: functionsOf(url)?.has(columnNumber) }
        : { host: `${functionName} ${url}:${lineNumber}:${columnNumber}` };
      const place = placeAbove(above, frame);
      place.whole = above === root ? !own : above.whole && place.depth < MOST_FRAMES;
      places.set(below, place);
      open.push(node);
    }
  }
  return { root, places };
}

// ---- missing callers ----

// What `node`, or the program's function that it stands for, is to the functions of a module.
const callerIn = (node, url) => node.url === url ? node.body : undefined;

function canCall(functions, caller, { url, body }) {
  return caller.above ? functions.mayCall(callerIn(caller, url), body) : false;
}

// Finds for each sample from one end, of those before: where the function was that is called, and where its caller.
function sweepGaps(places, gaps, step, see) {
  const last = new Map(); // by node, of those that may be missing and those below: the last sample
  for (let i = step > 0 ? 0 : places.length - 1; i >= 0 && i < places.length; i += step) {
    const gap = gaps.get(places[i]);
    if (gap) see(i, gap, node => last.get(node));
    for (const node of places[i].marked) last.set(node, i);
  }
}

/** Where F is directly above G, which cannot call it. */
function findGap(node, functions) {
  const { above, url } = node, sites = [];
  for (const caller of above.children.values()) {
    // it is there, if it has called something; or it can be
    if (caller.url !== url || caller === node || !canCall(functions, caller, node)) continue;
    if (!caller.children && !canCall(functions, above, caller)) continue;
    sites.push({ caller, callee: caller.children?.get(frameKey(node)) });
  }
  return { sites, likely: null };
}

// Those that a sample at the node is of.
function markCallers(places, wanted) {
  for (const place of new Set(places)) {
    place.marked = [];
    for (let node = place; node.above; node = node.above)
      if (wanted.has(node)) place.marked.push(node);
  }
}

/** How many samples are at a function of the module that is directly above another one, by their bodies. */
function countCalls(places) {
  const counts = new Map();
  for (const { url, body, above } of places) {
    if (!url || above.url !== url) continue;
    const key = `${above.body} ${body} ${url}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return (caller, { url, body }) => counts.get(`${caller} ${body} ${url}`) ?? 0;
}

/** The body of what was called by `node.above` and has called the node, by what it can be; undefined if there is none, or several. */
function likelyCaller(node, functions, callsOf) {
  const possible = functions.between(callerIn(node.above, node.url), node.body);
  const most = Math.max(0, ...possible.map(body => callsOf(body, node)));
  return possible.length === 1 ? possible[0] : possible.find(body => most > 0 && callsOf(body, node) === most);
}

/** Puts what is missing between a function and the caller of its caller into `places`, the nodes of samples in the order of time. */
function findCallers(places, functionsOf) {
  const gaps = new Map(), wanted = new Set();
  for (const node of new Set(places)) {
    const functions = node.depth > 1 ? functionsOf(node.url) : null;
    if (!functions || canCall(functions, node.above, node)) continue;
    const gap = findGap(node, functions);
    gaps.set(node, gap);
    for (const { caller, callee } of gap.sites) {
      wanted.add(caller);
      if (callee) wanted.add(callee);
    }
  }
  if (gaps.size === 0) return;
  markCallers(places, wanted);
  // By sample, the nearest one of a kind: which, and the caller.
  const nearest = [[], []];
  const look = (i, { sites }, lastOf) => {
    for (const { caller, callee } of sites) {
      for (const [kind, node] of [[0, callee], [1, caller]]) {
        const at = node && lastOf(node), known = nearest[kind][i];
        if (at !== undefined && !(known && Math.abs(known.at - i) <= Math.abs(at - i))) nearest[kind][i] = { at, caller };
      }
    }
  };
  sweepGaps(places, gaps, 1, look);
  sweepGaps(places, gaps, -1, look);
  const callsOf = countCalls(places);
  places.forEach((node, i) => {
    const gap = gaps.get(node);
    if (!gap) return;
    const { url, body, above } = node, [called, there] = [nearest[0][i], nearest[1][i]];
    let caller = (called && (!there || Math.abs(called.at - i) <= NEARBY) ? called : there)?.caller;
    if (!caller) {
      gap.likely ??= { body: likelyCaller(node, functionsOf(url), callsOf) };
      if (gap.likely.body !== undefined) caller = placeAbove(above, { url, body: gap.likely.body });
    }
    if (caller) places[i] = placeAbove(caller, { url, body });
    else if (frameKey(above) === frameKey(node)) places[i] = above; // it has called code of V8
  });
}

// ---- what is left out ----

/** The innermost function on the stack of `place` that can call `node`; of these, one that has done so is preferred. Null: there is none. */
function callerOn(place, node, functions) {
  let possible = null;
  for (let caller = place; caller.above; caller = caller.above) {
    if (!(caller.url || caller.host.startsWith('js-to-wasm')) || !canCall(functions, caller, node)) continue;
    if (caller.children?.has(frameKey(node))) return caller;
    possible = possible ?? caller;
  }
  return possible;
}

/** The caller of a function that was seen alone, by the samples around it; null if these do not tell. */
function callerOfAlone(places, i, node, functions) {
  let possible = null;
  for (let distance = 1; distance <= NEARBY; distance++) {
    for (const place of [places[i - distance], places[i + distance]]) {
      const caller = place?.whole && place.above ? callerOn(place, node, functions) : null;
      if (caller?.children?.has(frameKey(node))) return caller;
      possible = possible ?? caller;
    }
  }
  return possible;
}

function commonPlace(a, b) {
  while (a !== b) {
    if (a.depth >= b.depth) a = a.above;
    else b = b.above;
  }
  return a;
}

/** Puts stacks that are not whole above what samples before and after have in common, as if that were still there. */
function putOnOthers(places, root, functionsOf) {
  const isWhole = place => place.whole && place.entry, after = [], moved = new Map();
  for (let i = places.length - 1, next = null; i >= 0; i--) {
    if (!places[i].whole) after[i] = next;
    else if (isWhole(places[i])) next = places[i];
  }

  // The same stack above `base`.
  function move(place, base) {
    if (!moved.has(base)) moved.set(base, new Map([[root, base]]));
    const known = moved.get(base), path = [];
    let node = place;
    for (; !known.has(node); node = node.above) path.push(node);
    for (let last = known.get(node); path.length;) {
      const { url, body, host } = node = path.pop();
      known.set(node, last = placeAbove(last, url ? { url, body } : { host }));
    }
    return known.get(place);
  }

  let before = null;
  const result = places.map((place, i) => {
    if (place.whole) {
      if (isWhole(place)) before = place;
      return place;
    }
    const functions = place.depth === 1 && functionsOf(place.url);
    const caller = functions ? callerOfAlone(places, i, place, functions) : null;
    if (caller) return placeAbove(caller, { url: place.url, body: place.body });
    const base = before && after[i] ? commonPlace(before, after[i]) : (before ?? after[i])?.entry ?? root;
    return move(place, placeAbove(base, { host: ANY }));
  });
  result.forEach((place, i) => { places[i] = place; });
}

/**
 * The stacks of V8's profile: for each sample in the order of time the `place` of its innermost frame, { above, url, body } of programs or
 * { above, host }, up to the root, which has no `above`. `host` is ANY for those that are left out. Collecting garbage is part of what was
 * running before. functionsOf(url): what readFunctions has given, if anything.
 */
export function findStacks(profile, isOfProgram, functionsOf) {
  const { root, places } = readTree(profile, isOfProgram, functionsOf);
  const collecting = new Set(profile.nodes.filter(({ callFrame }) => callFrame.functionName === '(garbage collector)').map(({ id }) => id));
  let last = root;
  const found = profile.samples.map(id => {
    if (!collecting.has(id)) last = places.get(id) ?? root;
    return last;
  });
  findCallers(found, functionsOf);
  putOnOthers(found, root, functionsOf);
  return found;
}
