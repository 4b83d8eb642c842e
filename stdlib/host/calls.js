// Reads calls out of reports: what docs/reports.md ("What views look for") says they look like, in each of the formats.
// Gives { arcs: [{ caller, callee, calls, ns }], timed, ids, untimed }, as makeGraph of gprof.js takes them.
import { OUTSIDE, add } from './gprof.js';

const INTEGER = '[ui](?:32|64)';
const TUPLE = n => `\\(${INTEGER}(?:,${INTEGER}){${n - 1}}\\)`;
const IS_INTEGER = new RegExp(`^${INTEGER}$`);
const ARCS = new RegExp(`^map<${TUPLE(2)},(${INTEGER}|${TUPLE(2)}|${TUPLE(3)})>$`);
const TREE = new RegExp(`^map<${INTEGER},(${TUPLE(3)}|${TUPLE(4)})>$`);

// Rows of variables of the script or of a probe, in JSON, CSV, and CSV with quotes: name, type, value.
const ROWS = [
  /^\{"id":\d+,"id_type":"\w+","name":"([^"]*)","type":"([^"]*)",.*?"value":"?(.*?)"?\}$/,
  /^(?:\d+, \w+|\(.*?\), \(.*?\)), ([^,]*), (\S*), (?:\w+|\(.*?\)), script\d+, , , , \S*, (.*)$/,
  /^(?:\d+,\w+|\(.*?\),\(.*?\)),([^,]*),"?([^" ]*?)"?,(?:\w+|\(.*?\)),script\d+,,,,[^,]*,"?(.*?)"?\r?$/,
];

function readRows(text) {
  const rows = [];
  for (const line of text.split('\n')) {
    const found = ROWS.map(row => row.exec(line)).find(match => match !== null);
    if (found) rows.push({ name: found[1], type: found[2], value: found[3] });
  }
  return rows;
}

// How many numbers the values of a map have that fits.
const widthOf = (row, shape) => shape.exec(row.type)[1].split(',').length;

// The entries of a map whose keys and values are numbers or tuples of them: arrays of all numbers of an entry.
function entriesOf(row, count) {
  const numbers = row.value.match(/-?\d+/g) || [], entries = [];
  for (let i = 0; i + count <= numbers.length; i += count) entries.push(numbers.slice(i, i + count).map(BigInt));
  return entries;
}

const unsigned = n => BigInt.asUintN(64, n);
const funcId = n => Number(BigInt.asUintN(32, n));

// The functions in a list such as "3,17-20", as ranges.
function rangesOf(list) {
  return list.split(',').filter(part => part).map(part => part.split('-').map(Number)).map(([from, to = from]) => [from, to]);
}

// The first variable that fits; with calls that may be open still, all that do.
function readArcs(rows) {
  const fitting = rows.filter(row => ARCS.test(row.type)), [first] = fitting, arcs = [];
  if (!first) return null;
  const width = widthOf(first, ARCS), chosen = width < 3 ? [first] : fitting.filter(row => widthOf(row, ARCS) === 3);
  const end = rows.find(row => row.name === 'ended' && IS_INTEGER.test(row.type)), ended = end ? BigInt(end.value) : 0n;
  let timed = width === 2;
  for (const row of chosen) {
    for (const [caller, callee, calls, ns = 0n, open = 0n] of entriesOf(row, 2 + width)) {
      const sum = unsigned(ns + open * ended), time = width === 3 && sum >> 63n ? 0n : sum;
      timed = timed || ns !== 0n || open !== 0n;
      arcs.push({ caller: funcId(caller), callee: funcId(callee), calls: unsigned(calls), ns: time });
    }
  }
  const list = rows.find(row => row.name === 'not_timed' && row.type === 'str');
  return { arcs, timed, ids: [], untimed: list && timed ? rangesOf(list.value) : [] };
}

// Arcs of a call tree: from each node's parent to it, with the time in it and in all below it.
function readTree(rows) {
  const row = rows.find(one => TREE.test(one.type));
  if (!row) return null;
  const width = widthOf(row, TREE), nodes = new Map();
  for (const [id, parent, func, calls, self = 0n] of entriesOf(row, 1 + width))
    nodes.set(id, { parent, func: funcId(func), calls: unsigned(calls), ns: unsigned(self), children: [] });
  const ids = [...nodes.values()].map(node => node.func), roots = [], inOrder = [];
  for (const id of [...nodes.keys()].sort((a, b) => (a < b ? -1 : 1))) {
    const parent = nodes.get(nodes.get(id).parent);
    (parent ? parent.children : roots).push(nodes.get(id));
  }
  for (const todo = roots.reverse(); todo.length > 0;) { // depth first, parents in front of their children
    const node = todo.pop();
    inOrder.push(node);
    node.children.reverse().forEach(child => todo.push(child));
  }
  for (const node of [...inOrder].reverse()) {
    const parent = nodes.get(node.parent);
    if (parent) parent.ns = add(parent.ns, node.ns);
  }
  const callerOf = node => (nodes.has(node.parent) ? nodes.get(node.parent).func : OUTSIDE);
  const arcs = inOrder.map(node => ({ caller: callerOf(node), callee: node.func, calls: node.calls, ns: node.ns }));
  return { arcs, timed: arcs.some(arc => arc.ns > 0n), ids, untimed: [] }; // a tree without times has zeros
}

/** The calls in the text of a report: arcs, or else those of a call tree; null if it has neither. */
export function readCalls(text) {
  const rows = readRows(text);
  return readArcs(rows) || readTree(rows);
}
