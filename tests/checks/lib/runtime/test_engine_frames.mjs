// What V8's profiler misses of stacks (stdlib/host/node/engine-frames.js), in profiles of random programs of which the truth is known, and of
// deep and of damaged ones.
//   node test_engine_frames.mjs SOURCE-DIR
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { end, result } from '../tap.mjs';

const load = name => import(pathToFileURL(join(resolve(process.argv[2]), 'stdlib/host', name)).href);
const { ANY, findStacks, readFunctions } = await load('node/engine-frames.js');
const URL = 'wasm://wasm/0', OTHER = 'wasm://wasm/1', OPEN = 2, CALLS_OPEN = 4;
const bodyOf = index => 1000 + 10 * index;

/** A pseudo-random number below n, always the same ones for a seed. */
function random(seed) {
  let state = seed * 2654435761 + 12345;
  return n => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
}

// ---- sections ----

function uleb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(128 | value % 128);
  return [...bytes, value];
}

const zigzag = distance => distance < 0 ? -2 * distance - 1 : 2 * distance;

/** The section of functions { callees: Set, bits }, by index. */
function sectionOf(functions) {
  let last = 0, before = 0;
  const rows = functions.flatMap(({ callees, bits = 0 }, index) => {
    const sorted = [...callees].sort((a, b) => a - b), body = bodyOf(index);
    const list = sorted.flatMap((callee, k) => uleb(k ? callee - sorted[k - 1] : zigzag(callee - index)));
    const row = [...uleb(body - last), ...uleb(8 * zigzag(index - before) + bits), ...uleb(list.length), ...list];
    [last, before] = [body, index];
    return row;
  });
  return new Uint8Array([2, ...uleb(bodyOf(functions.length)), ...rows]);
}

// ---- profiles ----

const JS = ['main', 'js-to-wasm::']; // what calls programs
const inProgram = indices => [...JS, ...indices];

/** A profile as V8 makes it, of stacks of names of JavaScript, and of indices or [URL, index], outermost first. */
function profileOf(stacks) {
  const newNode = (id, name, url, columnNumber) =>
    ({ id, callFrame: { functionName: name, url, lineNumber: 0, columnNumber, scriptId: '0' }, children: [] });
  const nodes = [newNode(1, '(root)', '', -1)], known = new Map();
  const samples = stacks.map(stack => {
    let at = nodes[0];
    for (const frame of stack) {
      const key = `${at.id} ${frame}`, [url, index] = Array.isArray(frame) ? frame : [URL, frame];
      if (!known.has(key)) {
        known.set(key, typeof frame === 'string' ? newNode(nodes.length + 1, frame, '', 0) : newNode(nodes.length + 1, 'f', url, bodyOf(index)));
        nodes.push(known.get(key));
        at.children.push(known.get(key).id);
      }
      at = known.get(key);
    }
    return at.id;
  });
  return { nodes, samples, timeDeltas: samples.map(() => 1000) };
}

/** The stacks that are found, in the same way; those that are left out are '...'. */
function stacksOf(profile, sections) {
  const functions = new Map(sections.map(([url, section]) => [url, readFunctions(section)]));
  const isOfProgram = ({ url, functionName }) => url.startsWith('wasm:') && !functionName.startsWith('js-to-wasm');
  return findStacks(profile, isOfProgram, url => functions.get(url)).map(place => {
    const stack = [];
    for (let node = place; node.above; node = node.above) {
      const index = (node.body - bodyOf(0)) / 10;
      stack.push(node.url === URL ? index : node.url ? [node.url, index] : node.host === ANY ? '...' : node.host.split(' ')[0]);
    }
    return stack.reverse();
  });
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// ---- random programs ----

/** Functions that call some of those after them, and sometimes themselves. */
function makeProgram(below, count) {
  const functions = Array.from({ length: count }, (_, i) => ({ callees: new Set(), bits: i ? 0 : OPEN }));
  for (let i = 1; i < count; i++)
    for (let k = 0; k < 1 + below(3); k++) functions[Math.max(0, i - 1 - below(8))].callees.add(i);
  for (const [i, { callees }] of functions.entries()) if (below(12) === 0) callees.add(i);
  for (const one of functions) one.bits |= (below(10) ? 0 : OPEN) | (below(10) ? 0 : CALLS_OPEN);
  return functions;
}

/** Stacks while it runs, each [as it is, as V8 sees it]. */
function run(functions, below, samples) {
  const stack = [0], found = [], open = [...functions.keys()].filter(i => functions[i].bits & OPEN);
  while (found.length < samples) {
    const { callees, bits } = functions[stack.at(-1)], all = [...callees, ...bits & CALLS_OPEN ? open : []];
    if (all.length && stack.length < 40 && below(5) > 1) stack.push(all[below(all.length)]);
    else if (stack.length > 1) stack.pop();
    for (let k = below(3); k > 0; k--) {
      const kind = below(10), is = inProgram(stack);
      found.push([is, stack.length > 2 && kind < 2 ? [...is.slice(0, -2), is.at(-1)] : kind === 9 ? is.slice(-1) : is]);
    }
  }
  return found;
}

const calls = (functions, from, to) => functions[from].callees.has(to) || Boolean(functions[from].bits & CALLS_OPEN && functions[to].bits & OPEN);

function impossible(functions, stack) {
  const indices = stack.filter(Number.isInteger);
  return indices.some((to, i) => i > 0 && !calls(functions, indices[i - 1], to));
}

const counts = { right: 0, wrong: 0, impossible: 0, changed: 0, alone: 0 };
for (let seed = 1; seed <= 30; seed++) {
  const below = random(seed), functions = makeProgram(below, 5 + below(60)), truth = run(functions, below, 4000);
  const found = stacksOf(profileOf(truth.map(([, seen]) => seen)), [[URL, sectionOf(functions)]]);
  truth.forEach(([is, seen], i) => {
    counts.impossible += impossible(functions, found[i]);
    if (isSame(is, seen)) {
      counts.changed += !isSame(found[i], is);
    } else if (seen.length === 1) {
      counts.alone += isSame(found[i].slice(-2), is.slice(-2));
      counts.wrong += !isSame(found[i].slice(-2), is.slice(-2));
    } else if (impossible(functions, seen)) {
      counts[isSame(found[i], is) ? 'right' : 'wrong']++;
    }
  });
}
console.log(`# ${JSON.stringify(counts)}`);
result(counts.impossible === 0, 'each function is above one that can call it', counts);
result(counts.changed === 0, 'what V8 sees is left as it is', counts);
result(counts.right + counts.alone > 9 * counts.wrong, 'most callers are those that were missing', counts);

// ---- particular ones ----

const chain = [{ callees: [1, 2], bits: OPEN }, { callees: [3] }, { callees: [3] }, { callees: [] }, { callees: [5] }, { callees: [4], bits: OPEN }];
const check = (title, seen, wanted, sections = [[URL, sectionOf(chain)]]) => {
  const found = stacksOf(profileOf(seen), sections);
  result(isSame(found, wanted), title, { found, wanted });
};
const times = (n, stack) => Array(n).fill(stack);

check('the caller in the nearest sample', [inProgram([0, 1, 3]), inProgram([0, 3]), inProgram([0, 2, 3]), inProgram([0, 2]), inProgram([0, 3])],
  [inProgram([0, 1, 3]), inProgram([0, 1, 3]), inProgram([0, 2, 3]), inProgram([0, 2]), inProgram([0, 2, 3])]);
check('one that was not seen with it, if others are far away',
  [inProgram([0, 1, 3]), ...times(40, inProgram([0, 2])), inProgram([0, 3])],
  [inProgram([0, 1, 3]), ...times(40, inProgram([0, 2])), inProgram([0, 2, 3])]);
check('the only one', [inProgram([4])], [inProgram([5, 4])]);
check('nothing that can be of several, without samples of them', [inProgram([0, 3])], [inProgram([0, 3])]);
check('of several the one that has done so elsewhere',
  [inProgram([0, 3]), inProgram([4, 5, 4, 2, 3]), inProgram([4, 5, 4, 1, 3]), inProgram([4, 5, 4, 2, 3])],
  [inProgram([0, 2, 3]), inProgram([4, 5, 4, 2, 3]), inProgram([4, 5, 4, 1, 3]), inProgram([4, 5, 4, 2, 3])]);
check('code of V8 that a function calls', [inProgram([0, 0])], [inProgram([0])]);
check('a function alone', [inProgram([0, 1]), [3], inProgram([0, 2, 3])], [inProgram([0, 1]), inProgram([0, 2, 3]), inProgram([0, 2, 3])]);
check('a function alone, without others', [[3]], [['...', 3]]);
check('garbage is collected for what runs', [inProgram([0, 1]), ['(garbage collector)'], ['(program)']], [inProgram([0, 1]), inProgram([0, 1]), ['(program)']]);
check('no samples', [], []);
check('a function of another program is called by the host', [[...JS, [OTHER, 0], 3], [...JS, [OTHER, 0], 0]],
  [[...JS, [OTHER, 0], 3], [...JS, [OTHER, 0], 0]], [[URL, sectionOf(chain)], [OTHER, sectionOf(chain)]]);
check('programs without the section', [inProgram([3]), inProgram([0, 3])], [inProgram([3]), inProgram([0, 3])], []);

const deep = [{ callees: [1, 2], bits: OPEN }, { callees: [1, 2] }, { callees: [] }], cut = Array(255).fill(1);
check('of deep stacks, the innermost functions above what is there before and after',
  [inProgram([0, 1, 1]), cut, inProgram([0, 1, 1, 1, 2])], [inProgram([0, 1, 1]), inProgram([0, 1, 1, '...', ...cut]), inProgram([0, 1, 1, 1, 2])],
  [[URL, sectionOf(deep)]]);
check('or above the outermost function, if the program does not come back',
  [inProgram([0, 2]), cut], [inProgram([0, 2]), inProgram([0, '...', ...cut])], [[URL, sectionOf(deep)]]);

// ---- long runs ----

/** How often V8's profile is ended in `minutes` of a program, if the sampler looks at it `times` a minute. */
async function endsIn(minutes, times) {
  const { createEngineSampler } = await load('node/engine-sampler.js'), posted = [], { now } = performance;
  let at = 0, every = null;
  class Session {
    connect() {}
    post(method, parameters, done) {
      posted.push(method);
      done(null, { profile: profileOf([]) });
    }
  }
  const modules = { 'node:inspector': { Session }, 'node:timers': { setInterval: look => { every = look; return { unref() {} }; } } };
  performance.now = () => at;
  try {
    const { program, look, stop } = createEngineSampler(name => modules[name], console.log);
    program().imports.sample_every(1000000n);
    for (; at <= 60000 * minutes; at += 60000 / times) (at % 7 ? look : every)();
    stop();
  } finally {
    performance.now = now;
  }
  return posted.filter(method => method === 'Profiler.stop').length;
}
const ends = [await endsIn(10, 1000), await endsIn(10, 0.1)];
result(isSame(ends, [11, 2]), 'samples are taken each minute', ends);

const damaged = sectionOf(chain).slice(0, -1);
let message = '';
try {
  readFunctions(damaged);
} catch (error) {
  ({ message } = error);
}
result(message === 'whammc.functions is damaged', 'a damaged section', message);
result(readFunctions(new Uint8Array([1, 0])).indexOf(0) === undefined, 'a section of another version');
end();
