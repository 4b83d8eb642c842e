// A flat profile and a call graph as text, in gprof's form: the output is identical to that of `whammc report --format=gprof` for
// the same calls (src/profile/graph.h explains how times are computed).
//
//   const graph = makeGraph({ arcs: [{ caller: 1, callee: 2, calls: 3n, ns: 400n }], timed: true, nameOf: id => `#${id}` });
//   console.log(flatProfile(graph, 20));
//   console.log(callGraph(graph));
//
// Calls and nanoseconds are BigInt, with 64 bits.

/** The engine or the page as a caller; an unknown function as a callee. */
export const OUTSIDE = 0xffffffff;
/** An unknown function as a caller, which only trees have. */
export const UNKNOWN_CALLER = -1;
/** Whether this is none of the program's functions. */
export const isOutside = id => id === OUTSIDE || id === UNKNOWN_CALLER;

const LARGEST = (1n << 64n) - 1n, LONGEST = (1n << 63n) - 1n;

/** The sum of calls, saturating at 64 bits. */
export function add(a, b) {
  const sum = a + b;
  return sum > LARGEST ? LARGEST : sum;
}

/** Saturates to a signed 64-bit number. */
export const toNs = ns => (ns > LONGEST ? LONGEST : ns < -LONGEST - 1n ? -LONGEST - 1n : ns);

/** The sum of nanoseconds, saturating at 64 bits, signed. */
export function addNs(a, b) {
  return toNs(a + b);
}

// ---- the graph ----

// Functions and arcs between their places in `funcs`, each pair at most once, in the order of their first occurrence. Calibrated
// times can be negative, which counts as 1 ns, because 0 means not timed.
function collect({ arcs, ids, calibrated, nameOf }) {
  const funcs = [], known = new Map(), links = [], seen = new Map();

  function place(id, caller) {
    const outside = isOutside(id), spontaneous = caller && id === OUTSIDE, key = outside && !spontaneous ? UNKNOWN_CALLER : id;
    if (!known.has(key)) {
      known.set(key, funcs.length);
      const name = !outside ? nameOf(id) : spontaneous ? '<spontaneous>' : '<unknown>';
      funcs.push({ id: outside ? OUTSIDE : id, outside, name, untimed: false, self: 0n, children: 0n, total: 0n, calls: 0n, selfCalls: 0n,
        cycle: 0, index: 0, incoming: [], outgoing: [] });
    }
    return known.get(key);
  }

  ids.forEach(id => place(id, false));
  for (const { caller, callee, calls, ns } of arcs) {
    const from = place(caller, true), to = place(callee, false), key = `${from},${to}`, same = seen.get(key);
    if (same) {
      same.calls = add(same.calls, calls);
      same.ns = addNs(same.ns, ns);
    } else {
      const link = { from, to, calls, ns, number: links.length };
      seen.set(key, link);
      links.push(link);
      funcs[from].outgoing.push(link);
      funcs[to].incoming.push(link);
    }
  }
  if (calibrated) links.filter(link => link.ns < 0n).forEach(link => { link.ns = 1n; });
  return { funcs, links };
}

// Numbers the cycles, which are strongly connected components of more than one function (Tarjan's algorithm, without recursion).
// With times, arcs without time make none. Returns the number of cycles.
function findCycles(funcs, timed) {
  const visits = funcs.map(() => null), stack = [];
  let count = 0, cycles = 0;

  function enter(at, from) {
    count++;
    visits[at] = { number: count, low: count, next: 0, from, onStack: true };
    stack.push(at);
  }

  // The functions on the stack down to this one are one component.
  function take(at) {
    const cycle = stack[stack.length - 1] === at ? 0 : ++cycles;
    let taken;
    do {
      taken = stack.pop();
      visits[taken].onStack = false;
      funcs[taken].cycle = cycle;
    } while (taken !== at);
  }

  for (let root = 0; root < funcs.length; root++) {
    if (visits[root]) continue;
    enter(root, -1);
    for (let at = root; at >= 0;) {
      const visit = visits[at];
      if (visit.next < funcs[at].outgoing.length) {
        const { to, ns } = funcs[at].outgoing[visit.next++];
        if (timed && !ns) continue;
        if (!visits[to]) {
          enter(to, at);
          at = to;
        } else if (visits[to].onStack) {
          visit.low = Math.min(visit.low, visits[to].number);
        }
        continue;
      }
      if (visit.low === visit.number) take(at);
      at = visit.from;
      if (at >= 0) visits[at].low = Math.min(visits[at].low, visit.low);
    }
  }
  return cycles;
}

/** Whether caller and callee are in one cycle, or the same function. */
function isInner(graph, link) {
  const from = graph.funcs[link.from], to = graph.funcs[link.to];
  return link.from === link.to || (from.cycle > 0 && from.cycle === to.cycle);
}

function sumUp(graph) {
  for (const link of graph.links) {
    const caller = graph.funcs[link.from], callee = graph.funcs[link.to], inner = isInner(graph, link);
    graph.calls = add(graph.calls, link.calls);
    if (link.from === link.to) callee.selfCalls = add(callee.selfCalls, link.calls);
    else callee.calls = add(callee.calls, link.calls);
    if (!inner) caller.children = addNs(caller.children, link.ns);
    if (!callee.cycle) continue;
    const cycle = graph.cycles[callee.cycle - 1];
    if (inner) cycle.innerCalls = add(cycle.innerCalls, link.calls);
    else cycle.calls = add(cycle.calls, link.calls);
  }
  const isOther = link => link.from !== link.to;
  const time = links => links.filter(isOther).reduce((sum, link) => addNs(sum, link.ns), 0n);
  for (const func of graph.funcs) {
    func.self = func.incoming.some(isOther) ? toNs(time(func.incoming) - time(func.outgoing)) : 0n;
    if (func.self < 0n && graph.calibrated) func.self = 0n;
    func.total = addNs(func.self, func.children);
    graph.self = addNs(graph.self, func.self);
    if (!func.cycle) continue;
    const cycle = graph.cycles[func.cycle - 1];
    cycle.self = addNs(cycle.self, func.self);
    cycle.children = addNs(cycle.children, func.children);
  }
}

// For sort: the larger number first.
const descending = (a, b) => (a > b ? -1 : a < b ? 1 : 0);

/**
 * A call graph with times. `arcs`: { caller, callee, calls, ns } with the functions' numbers; `timed`: ns mean
 * something; `ids`: functions that come first; `untimed`: ranges [first, last] of those whose calls were counted, but not
 * timed; `calibrated`: measuring overhead in nanoseconds, which was subtracted; `sampled`: the calls are samples, and `called` has the calls
 * by function if they were counted, else null; nameOf(number) returns a name.
 */
export function makeGraph({ arcs, timed, ids = [], untimed = [], calibrated = 0n, sampled = false, called = null, nameOf }) {
  const graph = { timed, calibrated, sampled, called, ...collect({ arcs, ids, calibrated, nameOf }), cycles: [], calls: 0n, self: 0n, order: [] };
  if (untimed.length) {
    for (const func of graph.funcs) func.untimed = untimed.some(([first, last]) => first <= func.id && func.id <= last);
  }
  for (let n = findCycles(graph.funcs, timed); n > 0; n--)
    graph.cycles.push({ self: 0n, children: 0n, calls: 0n, innerCalls: 0n });
  sumUp(graph);
  graph.order = graph.funcs.filter(func => !func.outside || func.incoming.length > 0);
  graph.order.sort((a, b) => descending(a.total, b.total) ||
    descending(add(a.calls, a.selfCalls), add(b.calls, b.selfCalls)) || a.id - b.id);
  graph.order.forEach((func, i) => { func.index = i + 1; });
  return graph;
}

/**
 * The functions, the most time with what they called first: { name, selfTime, cumulativeTime (with what it called), called (calls of itself
 * included), parents, children }, times in milliseconds. Parents and children, without itself: { function, arc: { count, time } }; who
 * calls from outside is a function that is not in the list.
 */
export function functionResults(graph) {
  const results = graph.funcs.map(func => ({ name: func.name, selfTime: ms(func.self), cumulativeTime: ms(func.total),
    called: Number(add(func.calls, func.selfCalls)), parents: [], children: [] }));
  for (const link of graph.links.filter(({ from, to }) => from !== to)) {
    const arc = { count: Number(link.calls), time: ms(link.ns) };
    results[link.from].children.push({ function: results[link.to], arc });
    results[link.to].parents.push({ function: results[link.from], arc });
  }
  const places = new Map(graph.funcs.map((func, i) => [func, i]));
  return graph.order.map(func => results[places.get(func)]);
}

// ---- text ----

// A number with this many digits after the point. Unlike toFixed it rounds what is exactly in the middle to the even
// digit, as C does.
function fixed(x, digits) {
  const text = x.toFixed(digits), longer = x.toFixed(digits + 1), lower = longer.slice(0, -1);
  const middle = longer.endsWith('5') && !/[1-9]/.test(x.toFixed(100).slice(longer.length));
  return middle && /[02468]$/.test(lower) ? lower : text;
}

const ms = ns => Number(ns) / 1e6;
const column = (x, digits, width) => fixed(x, digits).padStart(width);
const percent = (part, whole) => (whole > 0 ? 100 * Number(part) / Number(whole) : 0);

/** The name on one line. */
// eslint-disable-next-line no-control-regex
export const line = name =>
  name.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g, '?');

// The function's name and its number in the graph.
function title(func) {
  return `${line(func.name)}${func.cycle ? ` <cycle ${func.cycle}>` : ''}${func.index ? ` [${func.index}]` : ''}\n`;
}

function shown(graph, top) {
  return top >= 1 ? Math.min(Math.floor(top), graph.order.length) : graph.order.length;
}

function rest(graph, top) {
  const count = graph.order.length - shown(graph, top);
  return count ? `and ${count} more function${count === 1 ? '' : 's'}\n` : '';
}

// Which functions were only counted.
function untimedLine(graph) {
  const names = graph.order.filter(func => func.untimed).map(func => line(func.name));
  return names.length ? `\nnot timed, in self of their callers: ${names.join(', ')}\n` : '';
}

function flatRow(graph, func, calls, sum) {
  if (!graph.timed) return `${column(percent(calls, graph.calls), 2, 6)} ${String(calls).padStart(12)}  ${title(func)}`;
  const each = (ns, n) => (n ? column(ms(ns) / Number(n), 4, 11) : ''.padStart(11));
  // The time of a recursive function's inner calls is in that of the outer ones.
  return `${column(percent(func.self, graph.self), 2, 6)} ${column(ms(sum), 2, 12)} ${column(ms(func.self), 2, 12)} ` +
    `${column(ms(func.total), 2, 12)} ${String(calls).padStart(12)} ${each(func.self, calls)} ${each(func.total, func.calls)}  ${title(func)}`;
}

// The columns of a profile of samples: time is estimated, calls may have been counted.
function sampledRow(graph, func, samples, sum) {
  const called = graph.called && ` ${String((!func.outside && graph.called.get(func.id)) || '').padStart(12)}`;
  return `${column(percent(func.self, graph.self), 2, 6)} ${column(ms(sum), 2, 12)} ${column(ms(func.self), 2, 12)} ` +
    `${column(ms(func.total), 2, 12)} ${String(samples).padStart(12)}${called ?? ''}  ${title(func)}`;
}

const FEW_SAMPLES = 50n; // as in src/format/gprof.c

function sampledHead(graph) {
  const few = graph.calls < FEW_SAMPLES ? 'There are few samples, so the shares are rough: sample more often (--interval=100us), or\n' +
    'measure each call (--style=tree).\n\n' : '';
  return `Sampled profile: ${fixed(ms(graph.self), 2)} ms in all, ${graph.calls} samples\n\n${few}` +
    '     %   cumulative         self        total\n' +
    `  time           ms           ms           ms      samples${graph.called ? '       called' : ''}  name\n`;
}

// Functions with less time than what they called: the report has times that it should not have, or lacks some.
function missingLine(graph) {
  const negative = graph.order.filter(func => func.self < 0n), n = negative.length;
  const sum = negative.reduce((part, func) => addNs(part, func.self), 0n);
  return n ? `\nThe times do not add up: ${n} function${n === 1 ? ' has' : 's have'} less time than what ` +
    `${n === 1 ? 'it' : 'they'} called, ${fixed(ms(sum), 2)} ms in all\n` : '';
}

// Says that measuring time was subtracted.
function calibratedLine({ calibrated }) {
  return calibrated ? `\ncalibrated: ${fixed(ms(calibrated), 2)} ms of measuring overhead were subtracted from these times\n` : '';
}

/** The functions by self time, or without times by their calls; `top`: the number of functions, 0 = all. */
export function flatProfile(graph, top = 0) {
  const rows = graph.order.map(func => ({ func, calls: add(func.calls, func.selfCalls) }));
  rows.sort((a, b) => descending(a.func.self, b.func.self) || descending(a.calls, b.calls) || a.func.index - b.func.index);
  let text = graph.sampled ? sampledHead(graph) : graph.timed
    ? `Flat profile: ${fixed(ms(graph.self), 2)} ms in all\n\n` +
      '     %   cumulative         self        total                    self       total\n' +
      '  time           ms           ms           ms       called     ms/call     ms/call  name\n'
    : `Flat profile: ${graph.calls} calls in all; the report has no times\n\n     %       called  name\n`;
  let sum = 0n;
  for (const { func, calls } of rows.slice(0, shown(graph, top))) {
    sum = addNs(sum, func.self);
    text += (graph.sampled ? sampledRow : flatRow)(graph, func, calls, sum);
  }
  return text + rest(graph, top) + missingLine(graph) + calibratedLine(graph) + untimedLine(graph);
}

// A caller or callee.
function arcLine(graph, link, isCaller) {
  const callee = graph.funcs[link.to], inner = isInner(graph, link);
  const whole = callee.cycle ? graph.cycles[callee.cycle - 1] : callee;
  const called = inner ? `${link.calls}` : `${link.calls}/${whole.calls}`;
  let times = graph.timed ? ''.padStart(39) : ''.padStart(13);
  if (graph.timed && !inner) {
    // The time of this arc: its share by the calls of the callee or its cycle.
    const part = Number(whole.self), all = part + Number(whole.children);
    const self = part > 0 && part < all ? part / all : part > 0 ? 1 : 0;
    times = `${''.padStart(13)} ${column(ms(link.ns) * self, 2, 12)} ${column(ms(link.ns) * (1 - self), 2, 12)}`;
  }
  return `${times} ${called.padStart(20)}      ${title(isCaller ? graph.funcs[link.from] : callee)}`;
}

const nameColumn = graph => ''.padStart(graph.timed ? 66 : 40);

// Arcs other than to itself: before the function the largest last, after it the largest first.
function arcLines(graph, links, areCallers) {
  const others = links.filter(link => link.from !== link.to);
  others.sort((a, b) => descending(a.ns, b.ns) || descending(a.calls, b.calls) || a.number - b.number);
  if (!areCallers) return others.map(link => arcLine(graph, link, false)).join('');
  if (!others.length) return `${nameColumn(graph)}<spontaneous>\n`;
  return others.reverse().map(link => arcLine(graph, link, true)).join('');
}

// The columns before the name of a function or cycle.
function wholeLine(graph, index, self, children, called) {
  if (!graph.timed) return `${index.padEnd(13)} ${called.padStart(20)}  `;
  return `${index.padEnd(6)} ${column(percent(addNs(self, children), graph.self), 1, 6)} ${column(ms(self), 2, 12)} ` +
    `${column(ms(children), 2, 12)} ${called.padStart(20)}  `;
}

function primaryLine(graph, func) {
  const called = func.selfCalls ? `${func.calls}+${func.selfCalls}` : `${func.calls}`;
  return wholeLine(graph, `[${func.index}]`, func.self, func.children, called) + title(func);
}

function cycleLines(graph, cycle, number) {
  const head = wholeLine(graph, '', cycle.self, cycle.children, `${cycle.calls}+${cycle.innerCalls}`);
  const members = graph.order.filter(func => func.cycle === number);
  return `${head}<cycle ${number} as a whole>\n${members.map(func => nameColumn(graph) + title(func)).join('')}`;
}

/** A block for each function, callers above and callees below it, and one for each cycle; `top` as above. */
export function callGraph(graph, top = 0) {
  const ruler = `${'-'.repeat(graph.timed ? 80 : 54)}\n`;
  const head = graph.timed ? `index  % time      self ms  children ms ${(graph.sampled ? 'samples' : 'called').padStart(20)}  name\n`
    : 'index                       called  name\n';
  const blocks = graph.order.slice(0, shown(graph, top)).map(func => arcLines(graph, func.incoming, true) +
    primaryLine(graph, func) + arcLines(graph, func.outgoing, false) + ruler);
  const cycles = graph.cycles.map((cycle, i) => cycleLines(graph, cycle, i + 1) + ruler);
  return `Call graph\n\n${head}${ruler}${blocks.join('')}${cycles.join('')}${rest(graph, top)}`;
}
