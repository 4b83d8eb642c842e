// Compares the profiles that JavaScript makes of reports (stdlib/host/calls.js, gprof.js) with those of `whammc report
// --format=gprof`, byte by byte: arcs and trees, with times and without, recursion and cycles, calibrated or not, in each format.
//   node test_gprof.mjs SOURCE-DIR WHAMMC
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { end, result } from '../tap.mjs';

const [source, whammc] = [resolve(process.argv[2]), resolve(process.argv[3])];
const load = name => import(pathToFileURL(join(source, 'stdlib/host', name)).href);
const { readCalls } = await load('calls.js');
const { makeGraph, flatProfile, callGraph, OUTSIDE } = await load('gprof.js');

/** A pseudo-random number below n, always the same ones for a seed. */
function random(seed) {
  let state = seed * 2654435761 + 12345;
  return n => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
}

const row = (id, name, type, entries) => `{"id":${id},"id_type":"map_id","name":"${name}","type":"${type}","wasm_type":"i32",` +
  `"script":"script0","fname":null,"fid":null,"pc":null,"probe":null,"value":[` +
  `${entries.map(([key, value]) => `{"key":${key},"value":${value}}`).join(',')}]}\n`;
const list = values => `[${values.join(',')}]`;

/** Times of which many lie in the middle between two numbers that are shown, and some are very large. */
function someTime(below) {
  const kinds = [() => 0, () => below(1000), () => 5000 * below(4000), () => 125000 * below(100), () => below(1 << 24) * 1000,
    () => 125 * 2 ** below(40), () => '18446744073709551615'];
  return kinds[below(below(30) ? kinds.length - 1 : kinds.length)]();
}

const value = (id, name, type, text) => `{"id":${id},"id_type":"global_id","name":"${name}","type":"${type}","wasm_type":"i64",` +
  `"script":"script0","fname":null,"fid":null,"pc":null,"probe":null,"value":${text}}\n`;

/** What measuring took, of two in three: some time, none, or more than there is. */
function someCalibration(seed) {
  return seed % 3 ? value(9, 'calibrated', 'u64', seed % 7 ? 1234567 * seed : seed % 2 ? 0 : '18446744073709551615') : '';
}

function randomArcs(seed, timed) {
  const below = random(seed), functions = 1 + below(seed % 3 ? 8 : 60), arcs = new Map();
  for (let n = below(3 * functions) + 1; n > 0; n--) {
    const key = [below(8) ? below(functions) : OUTSIDE, below(12) ? below(functions) : OUTSIDE];
    const calls = below(40) ? 1 + below(1000) : '18446744073709551600';
    arcs.set(list(key), timed ? list([calls, someTime(below)]) : calls);
  }
  return row(0, 'arcs', `map<(u32,u32),${timed ? '(u64,u64)' : 'u64'}>`, [...arcs]) + someCalibration(seed);
}

/** The same with calls that are open still, in two variables, the end, and functions that are not timed. */
function randomOpen(seed) {
  const below = random(seed), ended = 10 ** 15 + below(10 ** 6), functions = 3 + below(12), arcs = [new Map(), new Map()];
  for (let n = below(4 * functions) + 1; n > 0; n--) {
    const key = list([below(8) ? below(functions) : OUTSIDE, below(12) ? below(functions) : OUTSIDE]), open = below(5) ? 0 : below(3);
    const ns = BigInt(Math.min(Number(someTime(below)), 1e12)) - BigInt(open) * BigInt(ended - below(1000000));
    arcs[below(2)].set(key, list([1 + below(1000), below(50) ? ns : -7, open]));
  }
  const untimed = seed % 3 ? `${below(3)},${3 + below(2)}-${5 + below(2)}` : '';
  return value(0, 'ended', 'i64', ended) + value(1, 'not_timed', 'str', JSON.stringify(untimed)) +
    arcs.map((map, i) => row(2 + i, i ? 'others' : 'arcs', 'map<(u32,u32),(u64,i64,u64)>', [...map])).join('') + someCalibration(seed);
}

function randomTree(seed, timed) {
  const below = random(seed), nodes = [];
  for (let id = 1; id <= 200; id++)
    nodes.push([id, list([below(id), below(12), below(50), ...(timed ? [someTime(below)] : [])])]);
  return row(0, 'tree', `map<u32,(u32,u32,u64${timed ? ',u64' : ''})>`, nodes) + someCalibration(seed);
}

function ours(text, top) {
  const graph = makeGraph({ ...readCalls([text]), nameOf: id => `#${id}` });
  return `${flatProfile(graph, top)}\n${callGraph(graph, top)}`;
}

const theirs = (text, ...options) => execFileSync(whammc, ['report', ...options, '-'], { input: text, encoding: 'utf8',
  stdio: ['pipe', 'pipe', 'ignore'] });

/** The lines in which they differ. */
function report([text, top]) {
  const [mine, yours] = [ours(text, top), theirs(text, '--format=gprof', `--top=${top}`)].map(all => all.split('\n'));
  return mine.flatMap((line, i) => (line === yours[i] ? [] : [`- ${yours[i]}`, `+ ${line}`])).join('\n') + text;
}

function compare(title, reports) {
  const differing = reports.find(([text, top]) => ours(text, top) !== theirs(text, '--format=gprof', `--top=${top}`));
  result(!differing, title, differing && report(differing));
}

const seeds = Array.from({ length: 40 }, (_, i) => i + 1);
compare('arcs with times', seeds.map(seed => [randomArcs(seed, true), seed % 4 ? 0 : 3]));
compare('arcs without times', seeds.slice(0, 20).map(seed => [randomArcs(seed, false), seed % 4 ? 0 : 1]));
compare('calls that are open, functions that are not timed', seeds.map(seed => [randomOpen(seed), seed % 4 ? 0 : 2]));
compare('trees', seeds.slice(0, 10).map(seed => [randomTree(seed, seed % 2 > 0), 0]));
const counted = row(0, 'tree', 'map<u32,(u32,u32,u64,u64)>', [[1, '[0,7,2,0]'], [2, '[1,8,5,0]']]);
compare('nothing, and trees without times', [[counted, 0], [row(0, 'arcs', 'map<(u32,u32),(u64,u64)>', []), 0], [row(0, 'arcs', 'map<(i32,i32),i64>', []), 0]]);
for (const format of ['csv', 'csv-rfc4180']) {
  const texts = seeds.slice(0, 16).map(seed => (seed > 8 ? randomOpen(seed) : randomArcs(seed, seed % 2 > 0)));
  result(texts.every(text => ours(theirs(text, `--format=${format}`), 0) === ours(text, 0)), `${format} as JSON`);
}
result(readCalls(['hello\n']) === null && readCalls([]) === null, 'no report');
end();
