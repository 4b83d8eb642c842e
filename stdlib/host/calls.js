// Reads calls out of reports: what docs/reports.md ("What views look for") says they look like, in each of the formats.
// Gives { arcs: [{ caller, callee, calls, ns }], timed, ids }, as makeGraph of gprof.js takes them.
import { OUTSIDE, add } from './gprof.js';

const INTEGER = '[ui](?:32|64)';
const TUPLE = n => `\\(${INTEGER}(?:,${INTEGER}){${n - 1}}\\)`;
const ARCS = new RegExp(`^map<${TUPLE(2)},(${INTEGER}|${TUPLE(2)})>$`);
const TREE = new RegExp(`^map<${INTEGER},(${TUPLE(3)}|${TUPLE(4)})>$`);

// Rows of variables of the script or of a probe, in JSON, CSV, and CSV with quotes: name, type, value.
const ROWS = [
  /^\{"id":\d+,"id_type":"\w+","name":"([^"]*)","type":"([^"]*)",.*?"value":(.*)\}$/,
  /^\d+, \w+, ([^,]*), (\S*), \S+, script\d+, , , , \S*, (.*)$/,
  /^\d+,\w+,([^,]*),"?([^" ]*?)"?,\w+,script\d+,,,,[^,]*,"?(.*?)"?\r?$/,
];

// Those that are maps or numbers.
function readRows(text) {
  const rows = [];
  for (const line of text.split('\n')) {
    const found = ROWS.map(row => row.exec(line)).find(match => match !== null);
    if (found) rows.push({ name: found[1], type: found[2], value: found[3] });
  }
  return rows;
}

// The entries of a map whose keys and values are numbers or tuples of them: arrays of all numbers of an entry.
function entriesOf(row, count) {
  const numbers = row.value.match(/-?\d+/g) || [], entries = [];
  for (let i = 0; i + count <= numbers.length; i += count) entries.push(numbers.slice(i, i + count).map(BigInt));
  return entries;
}

const unsigned = n => BigInt.asUintN(64, n);
const funcId = n => Number(BigInt.asUintN(32, n));

function readArcs(rows) {
  const first = rows.find(row => ARCS.test(row.type));
  if (!first) return null;
  const width = ARCS.exec(first.type)[1].split(',').length, arcs = [];
  for (const row of rows.filter(other => other.type === first.type)) {
    for (const [caller, callee, calls, ns = 0n] of entriesOf(row, 2 + width))
      arcs.push({ caller: funcId(caller), callee: funcId(callee), calls: unsigned(calls), ns: unsigned(ns) });
  }
  return { arcs, timed: width > 1, ids: [] };
}

// Arcs of a call tree: from each node's parent to it, with the time in it and in all below it.
function readTree(rows) {
  const row = rows.find(one => TREE.test(one.type));
  if (!row) return null;
  const width = TREE.exec(row.type)[1].split(',').length, nodes = new Map();
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
  return { arcs, timed: arcs.some(arc => arc.ns > 0n), ids }; // a tree without times has zeros
}

/** The calls in the text of a report: arcs, or else those of a call tree; null if it has neither. */
export function readCalls(text) {
  const rows = readRows(text);
  return readArcs(rows) || readTree(rows);
}
