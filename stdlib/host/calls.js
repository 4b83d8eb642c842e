// Reads calls from reports, in the forms described in docs/reports.md ("What views look for") and in each format. Returns { arcs:
// [{ caller, callee, calls, ns }], timed, ids, untimed, calibrated, sampled, called, named }, which makeGraph of gprof.js accepts.
import { OUTSIDE, UNKNOWN_CALLER, add, addNs, toNs } from './gprof.js';

const INTEGER = '[ui](?:32|64)';
const TUPLE = n => `\\(${INTEGER}(?:,${INTEGER}){${n - 1}}\\)`;
const IS_INTEGER = new RegExp(`^${INTEGER}$`);
const ARCS = new RegExp(`^map<${TUPLE(2)},(${INTEGER}|${TUPLE(2)}|${TUPLE(3)})>$`);
const CROSSINGS = new RegExp(`^map<${TUPLE(3)},${TUPLE(3)}>$`); // from functions of other modules
const TREE = new RegExp(`^map<${INTEGER},(${TUPLE(3)}|${TUPLE(4)})>$`);
const ONE_EACH = new RegExp(`^map<${INTEGER},${INTEGER}>$`);

/** The type of a tree with numbers of any kind at its nodes: their types are the match. */
export const ANY_TREE = new RegExp(`^map<${INTEGER},\\((${INTEGER}(?:,${INTEGER}){2,})\\)>$`);

// Rows of variables of the script or of a probe, in JSON, CSV, and CSV with quotes: name, type, value.
const ROWS = [
  /^\{"id":\d+,"id_type":"\w+","name":"([^"]*)","type":"([^"]*)",.*?"value":"?(.*?)"?\}$/,
  /^(?:\d+, \w+|\(.*?\), \(.*?\)), ([^,]*), (\S*), (?:\w+|\(.*?\)), script\d+, , , , \S*, (.*)$/,
  /^(?:\d+,\w+|\(.*?\),\(.*?\)),([^,]*),"?([^" ]*?)"?,(?:\w+|\(.*?\)),script\d+,,,,[^,]*,"?(.*?)"?\r?$/,
];

// The lines of a report, in chunks of text or bytes.
function* linesOf(chunks) {
  const decoder = new TextDecoder();
  let line = '';
  for (const chunk of chunks) {
    const [end, ...others] = (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })).split('\n');
    line += end;
    for (const next of others) {
      yield line;
      line = next;
    }
  }
  yield line + decoder.decode();
}

/** The rows of variables of scripts and probes: { name, type, value }, as text. */
export function readRows(report) {
  const rows = [];
  for (const line of linesOf(report)) {
    const found = ROWS.map(row => row.exec(line)).find(match => match !== null);
    if (found) rows.push({ name: found[1], type: found[2], value: found[3] });
  }
  return rows;
}

// The number of numbers in the values of a map that fits; else 0.
const widthOf = (row, shape) => shape.exec(row.type)[1].split(',').length;

const ZERO = 48, NINE = 57, MINUS = 45, EXACT_DIGITS = 15;

/**
 * Calls visit with the `count` numbers of each entry of a map from numbers, or tuples of them, to such, always in the
 * same array: a number of up to EXACT_DIGITS digits as Number, a longer one as BigInt.
 */
export function eachEntry({ value }, count, visit) {
  const entry = Array(count).fill(0);
  for (let at = 0, n = 0; at < value.length; at++) {
    let code = value.charCodeAt(at);
    if (code < ZERO || code > NINE) continue;
    const start = at;
    let number = 0;
    for (; code >= ZERO && code <= NINE; code = value.charCodeAt(++at)) number = number * 10 + code - ZERO;
    if (at - start > EXACT_DIGITS) number = BigInt(value.slice(start, at));
    entry[n++] = value.charCodeAt(start - 1) === MINUS ? -number : number;
    if (n === count) {
      visit(entry);
      n = 0;
    }
  }
}

export const unsigned = n => BigInt.asUintN(64, BigInt(n));
/** The number of a function, of 32 bits. */
export const funcId = n => (typeof n === 'number' ? n >>> 0 : Number(BigInt.asUintN(32, n)));

// The functions in a list such as "3,17-20", as ranges.
function rangesOf(list) {
  return list.split(',').filter(part => part).map(part => part.split('-').map(Number)).map(([from, to = from]) => [from, to]);
}

// The value of the variable with this name if it is an integer, else 0.
function integer(rows, name) {
  const found = rows.find(row => row.name === name && IS_INTEGER.test(row.type));
  return found ? BigInt(found.value) : 0n;
}

// The first variable that fits; if they have open calls, all that fit.
function readArcs(rows) {
  const fitting = rows.filter(row => ARCS.test(row.type)), [first] = fitting, arcs = [];
  if (!first) return null;
  const width = widthOf(first, ARCS), crossings = width < 3 ? [] : rows.filter(row => CROSSINGS.test(row.type));
  const chosen = width < 3 ? [first] : fitting.filter(row => widthOf(row, ARCS) === 3);
  const ended = integer(rows, 'ended');
  let timed = width === 2;
  for (const row of chosen) {
    eachEntry(row, 2 + width, ([caller, callee, calls, ns = 0, open = 0]) => {
      const time = width === 3 ? BigInt.asIntN(64, BigInt(ns) + BigInt(open) * ended) : toNs(unsigned(ns));
      timed = timed || Boolean(ns) || Boolean(open);
      arcs.push({ caller: funcId(caller), callee: funcId(callee), calls: unsigned(calls), ns: time });
    });
  }
  for (const row of crossings) {
    eachEntry(row, 6, ([home, caller, callee, calls, ns, open]) => {
      const time = BigInt.asIntN(64, BigInt(ns) + BigInt(open) * ended);
      timed = timed || Boolean(ns) || Boolean(open);
      arcs.push({ home: funcId(home), caller: funcId(caller), callee: funcId(callee), calls: unsigned(calls), ns: time });
    });
  }
  const list = rows.find(row => row.name === 'not_timed' && row.type === 'str');
  return { arcs, timed, ids: [], untimed: list && timed ? rangesOf(list.value) : [] };
}

const DURATION = /(?:^|_)(?:nanoseconds|time|ns)$/, SPACE = /(?:^|_)(?:bytes|space)$/;
const unitOf = name => (DURATION.test(name) ? 'nanoseconds' : SPACE.test(name) ? 'bytes' : 'count');

/** What the numbers of a tree with so many fields are, as docs/reports.md says ("What views look for"): [name, unit]. */
export function typesOf(rows, tree, fields) {
  const named = rows.find(row => row.name === `${tree.name}_values` && row.type === 'str');
  if (!named) return [['calls', 'count'], ['time', 'nanoseconds']].slice(0, fields - 2);
  return named.value.split(/[ ,]+/).filter(text => text).map(text => {
    const [, name, unit = unitOf(name)] = /^([^/]*)(?:\/(.*))?$/.exec(text);
    return [name, unit];
  });
}

// Which numbers of an entry of a call tree are the calls and the time of a node (-1: none); null if there are not as many as the report
// names.
function meaningOf(rows, tree) {
  const fields = widthOf(tree, TREE), types = typesOf(rows, tree, fields), first = fields - types.length;
  if (!types.length || first < 2 || first > 3) return null;
  const counts = types.findIndex(([, unit]) => unit === 'count'), areTimes = types[types.length - 1][1] === 'nanoseconds';
  return { callsAt: counts < 0 ? -1 : 1 + first + counts, selfAt: areTimes ? fields : -1, sampled: types[0][0] === 'samples',
    isTimed: areTimes && types.length === 1 };
}

// The nodes of a call tree, in the order of their numbers: of each the number, that of its parent, the function, its calls and
// its own time.
function readNodes(row, { callsAt, selfAt }) {
  const width = widthOf(row, TREE), all = { id: [], parent: [], func: [], calls: [], self: [] }, funcs = new Set();
  let sorted = true;
  eachEntry(row, 1 + width, entry => {
    const [id, parent, func] = entry;
    sorted = sorted && !(all.id.length && id <= all.id[all.id.length - 1]);
    all.id.push(id);
    all.parent.push(parent);
    all.func.push(funcId(func));
    all.calls.push(entry[callsAt] ?? 0);
    all.self.push(entry[selfAt] ?? 0);
    funcs.add(funcId(func));
  });
  const ids = [...funcs];
  if (sorted) return { ...all, ids };
  const last = new Map(all.id.map((id, at) => [id, at])); // of several with the same number the last one counts
  const order = [...last.values()].sort((a, b) => (all.id[a] < all.id[b] ? -1 : 1));
  const pick = list => order.map(at => list[at]);
  return { id: pick(all.id), parent: pick(all.parent), func: pick(all.func), calls: pick(all.calls), self: pick(all.self), ids };
}

// Which nodes are below each, as lists: the first child of each, the next one of the same parent (-1 = none); the parents, by place.
function linkNodes({ id, parent }) {
  const places = new Map(id.map((number, at) => [number, at])), above = new Int32Array(id.length);
  const first = new Int32Array(id.length + 1).fill(-1), next = new Int32Array(id.length).fill(-1);
  for (let at = id.length - 1; at >= 0; at--) { // the last place in `first` is for roots
    above[at] = places.get(parent[at]) ?? -1;
    const list = above[at] < 0 ? id.length : above[at];
    next[at] = first[list];
    first[list] = at;
  }
  return { above, first, next };
}

// The function of the node at this place, -1 = there is none, as a caller.
function callerOf({ func }, at) {
  if (at < 0) return OUTSIDE;
  return func[at] === OUTSIDE ? UNKNOWN_CALLER : func[at];
}

// Arcs of a call tree: from each node's parent to it, with the time in it and in all below it. Those between the same two
// functions are one. Its time is linear in the nodes, of which there may be millions.
function readTree(rows) {
  const row = rows.find(one => TREE.test(one.type));
  if (!row) return null;
  const meaning = meaningOf(rows, row);
  if (!meaning) return null;
  const nodes = readNodes(row, meaning), { above, first, next } = linkNodes(nodes), count = nodes.id.length;
  const order = new Int32Array(count), stack = []; // depth first, parents before their children
  let n = 0;
  for (let at = first[count]; at >= 0 || stack.length > 0;) {
    if (at < 0) {
      at = stack.pop();
      continue;
    }
    order[n++] = at;
    if (next[at] >= 0) stack.push(next[at]);
    at = first[at];
  }
  const ns = BigUint64Array.from(nodes.self, unsigned), found = new Map(), arcs = [];
  for (let k = n - 1; k >= 0; k--) {
    const at = order[k];
    if (above[at] >= 0) ns[above[at]] = add(ns[above[at]], ns[at]);
  }
  for (let k = 0; k < n; k++) {
    const at = order[k], caller = callerOf(nodes, above[at]), callee = nodes.func[at];
    let callees = found.get(caller), arc;
    if (!callees) found.set(caller, callees = new Map());
    if (!(arc = callees.get(callee))) {
      callees.set(callee, arc = { caller, callee, calls: 0n, ns: 0n });
      arcs.push(arc);
    }
    arc.calls = add(arc.calls, unsigned(nodes.calls[at]));
    arc.ns = addNs(arc.ns, toNs(ns[at]));
  }
  const { sampled, isTimed } = meaning, timed = isTimed || arcs.some(arc => arc.ns > 0n); // a tree without times has zeros
  const called = sampled ? readCalled(rows, row.name) : null;
  return { arcs, timed, sampled, called, ids: [...new Set([...nodes.ids, ...called?.keys() ?? []])], untimed: [],
    tree: { ...row, beside: besideTree(rows, row.name) } };
}

// How often functions were called, by function, beside a tree of samples; null if that was not counted.
function readCalled(rows, tree) {
  const row = rows.find(one => one.name === `${tree}_calls` && ONE_EACH.test(one.type)), called = new Map();
  if (row) eachEntry(row, 2, ([func, calls]) => { called.set(funcId(func), unsigned(calls)); });
  return called.size ? called : null;
}

// The rows with further data of a call tree: what its numbers mean, and how often functions were called.
function besideTree(rows, tree) {
  return rows.filter(({ name, type, value }) => (name === `${tree}_values` && type === 'str' && /^[\w ,/]*$/.test(value)) ||
    (name === `${tree}_calls` && type === 'map<u32,u64>'));
}

/** The value of a row as JSON has it, whatever the format of its report: of a call tree, or of one beside it. */
export function valueInJson({ type, value }) {
  if (type === 'str') return `"${value}"`;
  if (value.startsWith('[')) return value;
  const entries = [...value.matchAll(/(\d+)->(?:\(([^)]*)\)|(\d+))/g)];
  return `[${entries.map(([, key, tuple, one]) => `{"key":${key},"value":${one ?? `[${tuple.replaceAll(';', ',')}]`}}`).join(',')}]`;
}

/** The calls in a report, in chunks: arcs, or else those of a call tree; `named`: it has names, too; null if it has neither. */
export function readCalls(report) {
  const rows = readRows(report), calls = readArcs(rows) || readTree(rows);
  const named = rows.some(row => row.type === 'map<u32,str>');
  return calls && { tree: null, sampled: false, called: null, ...calls, calibrated: calls.timed ? unsigned(integer(rows, 'calibrated')) : 0n, named };
}
