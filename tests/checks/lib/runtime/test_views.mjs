// Compares what WasmProf shows of several instances and programs (stdlib/host/views.js) with what `whammc report` shows of the report
// that it makes of them, byte by byte: any kinds of calls, all formats, odd names, numbers up to 64 bits, clear().
//   node test_views.mjs SOURCE-DIR WHAMMC
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

// The modules with the one that is compiled, which a release has beside them.
const [source, whammc] = [resolve(process.argv[2]), resolve(process.argv[3])], work = makeFolder('views');
process.on('exit', () => removeFolder(work));
cpSync(join(source, 'stdlib/host'), join(work, 'host'), { recursive: true });
const compiled = join(dirname(whammc), 'stdlib/host/views-code.js');
if (existsSync(compiled)) copyFileSync(compiled, join(work, 'host/views-code.js'));
const load = name => import(pathToFileURL(join(work, 'host', name)).href);
const { parts } = await load('parts.js'), OUTSIDE = 4294967295;
await load('views.js');
const { makeTrace } = await load('traces.js');
const { views } = parts;
parts.names = {};

/** A pseudo-random number below n, always the same ones for a seed. */
function random(seed) {
  let state = seed * 2654435761 + 12345;
  return n => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
}

// ---- reports ----

const NAMES = ['plain', 'a"b', 'new\nline', 'tab\t', '</script><b>', '__proto__', 'constructor', 'x'.repeat(3000), 'a\u2028b', '\u202eabc', '\ufffd', '日本', '😀',
  '#3', 'a, 3, 4, 5_x', '', 'same', 'same', 'name","value":[', '\\', '<cycle 1>', '\u0085', '\ufffe', '\x7f', ' blank', '%s'];

const row = (id, kind, name, type, value) => `{"id":${id},"id_type":"${kind}","name":"${name}","type":"${type}","wasm_type":"i32","script":"script0",` +
  `"fname":null,"fid":null,"pc":null,"probe":null,"value":${value}}\n`;
const map = (id, name, type, entries) => row(id, 'map_id', name, type, `[${entries.map(([key, value]) => `{"key":${key},"value":${value}}`).join(',')}]`);
const list = values => `[${values.join(',')}]`;

function someTime(below) {
  const kinds = [() => 0, () => below(1000), () => 5000 * below(4000), () => below(1 << 24) * 1000, () => (below(20) ? 5 : '18446744073709551615'),
    () => (below(10) ? 7 : '9223372036854775807')];
  return kinds[below(kinds.length)]();
}

const someCalls = below => (below(30) ? below(1000) : below(2) ? '18446744073709551600' : '9007199254740993');

// width: 1 calls, 2 with times, 3 with times of which some are below 0.
function makeArcs(below, width) {
  const arcs = new Map(), functions = 1 + below(12), types = ['u64', '(u64,u64)', '(u64,i64,u64)'];
  for (let n = below(3 * functions) + (below(6) ? 1 : 0); n > 0; n--) {
    const key = list([below(8) ? below(functions) : OUTSIDE, below(12) ? below(functions) : OUTSIDE]), calls = someCalls(below);
    arcs.set(key, width === 1 ? calls : list(width === 2 ? [calls, someTime(below)] : [calls, below(1000000) - (below(9) ? 0 : 500000), 0]));
  }
  return map(0, 'arcs', `map<(u32,u32),${types[width - 1]}>`, [...arcs]);
}

// `alone`: also with unknown functions, which have no arcs of their own in the sum of several trees.
function makeTree(below, timed, alone) {
  const nodes = [], sampled = alone && !below(3), samples = sampled ? ['"samples, cpu/nanoseconds"', '"samples, size/bytes"'][below(2)] : '';
  for (let id = 1, count = below(60) + (below(5) ? 1 : 0); id <= count; id++)
    nodes.push([id, list([below(id), below(20) || !alone ? below(12) : OUTSIDE, below(50), ...(timed ? [someTime(below)] : [])])]);
  const called = [...Array(below(14)).keys()].map(id => [id, below(3) * 1000]);
  return map(0, 'tree', `map<u32,(u32,u32,u64${timed ? ',u64' : ''})>`, nodes) +
    (sampled && timed ? row(5, 'global_id', 'tree_values', 'str', samples) : '') + (sampled && below(3) ? map(6, 'tree_calls', 'map<u32,u64>', called) : '');
}

/** Some programs: { programs, alone: the report of the only instance, or null }. */
function makePrograms(seed) {
  const below = random(seed), count = below(4) ? 1 : 2, isCleared = !below(4), programs = [];
  for (let i = 0; i < count; i++) {
    const names = Array.from({ length: below(3) ? 13 : 4 }, () => NAMES[below(NAMES.length)]), id = `${seed}.${i}`, saved = [];
    const instances = below(3) ? 1 : 1 + below(3), kind = 1 + below(6), alone = count === 1 && instances === 1;
    const constant = (below(3) ? '' : row(8, 'global_id', 'not_timed', 'str', `"${below(3)},${3 + below(2)}-${5 + below(9)}"`)) +
      map(7, 'names', 'map<u32,str>', names.map((name, fid) => [fid, JSON.stringify(name)]));
    const calibrated = count > 1 || below(3) ? '' : row(9, 'global_id', 'calibrated', 'u64', below(2) ? 1234567 : below(2) ? 0 : '18446744073709551615');
    parts.names[id] = { names, demangled: {} };
    for (let n = 0; n < instances; n++) {
      const report = kind === 6 ? null : [(kind < 4 ? makeArcs(below, kind) : makeTree(below, kind === 5, alone)) + calibrated + constant];
      const sent = kind < 6 ? [] : Array.from({ length: 1 + below(5) }, () =>
        ({ caller: below(9) ? below(6) : OUTSIDE, callee: below(6), calls: below(100), ms: below(3) ? below(1000) / 8 : 0 }));
      saved.push({ report, sent, before: isCleared ? { report, sent } : null });
    }
    programs.push({ id, title: `"program"${i}.wasm`, module: null, saved });
  }
  const [{ saved: [only] }] = programs, isAlone = count === 1 && programs[0].saved.length === 1 && !only.before && only.report;
  return { programs, alone: isAlone ? only.report[0] : null };
}

// ---- comparisons ----

function theirs(text) {
  const ended = spawnSync(whammc, ['report', '--format=gprof', '--no-demangle', '-'], { input: text, encoding: 'utf8' });
  return ended.status ? ended.stderr : ended.stdout;
}

const differing = [], alone = [], SEEDS = 120;
for (let seed = 1; seed <= SEEDS; seed++) {
  const { programs, alone: report } = makePrograms(seed), text = views.text(programs, 0), json = views.json(programs);
  if (theirs(json) !== text) differing.push([seed, text, theirs(json), json]);
  if (report !== null && theirs(report) !== text) alone.push([seed, text, theirs(report), report]);
}
result(differing.length === 0, `${SEEDS} results as whammc report shows them`, ...(differing[0] ?? []));
result(alone.length === 0, 'those of one instance as whammc report shows its report', ...(alone[0] ?? []));

// All formats, of the text of report(); those that whammc compresses as they are before. What cannot be shown is an error of both.
const formats = [...readFileSync(join(source, 'src/format/formats.def'), 'utf8').matchAll(/^FORMAT\(\w+, *\d+, *"([^"]+)"/gm)].map(match => match[1]);
const TIME = 1700000000, now = Date.now, plain = bytes => (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes);
Date.now = () => 1000 * TIME;

function convertBoth(programs, top, format, ...options) {
  const file = join(work, programs.length === 1 ? programs[0].title : 'report');
  writeFileSync(file, parts.save.joinAll(programs, views).join(''));
  utimesSync(file, TIME, TIME);
  const ended = spawnSync(whammc, ['report', `--format=${format}`, `--top=${top}`, ...options, file], { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  try {
    return { ours: Buffer.from(views.convert(programs, top, format)), theirs: plain(ended.stdout) };
  } catch (error) {
    return { ours: Buffer.from(error.message), theirs: Buffer.from(ended.status ? error.message : 'no error') };
  }
}

for (const format of formats) {
  const wrong = [], shown = new Set();
  for (let seed = 1; seed <= 24; seed++) {
    const { ours, theirs } = convertBoth(makePrograms(seed).programs, seed % 3 ? 0 : 2, format, '--no-demangle');
    if (!ours.equals(theirs)) wrong.push([seed, String(ours), String(theirs)]);
    shown.add(String(ours));
  }
  result(wrong.length === 0 && shown.size > (format === 'heap' ? 0 : 8), `convert(): ${format}`, shown.size, ...(wrong[0] ?? []));
}
Date.now = now;
const error = (() => { try { return views.convert(makePrograms(1).programs, 0, 'nothing'); } catch ({ message }) { return message; } })();
result(formats.length > 12 && error === "there is no format 'nothing'", 'convert(): no format', formats, error);

// The names of functions in their languages are those that the script beside the program has.
parts.names.cpp = { names: ['_ZN1a1bEi', 'main', '_Z1cv'], demangled: { 0: 'a::b(int)', 2: 'c()' } };
const cpp = [{ id: 'cpp', title: 'a.wasm', module: null, saved: [{ before: null, sent: [],
  report: [map(0, 'arcs', 'map<(u32,u32),u64>', [[list([1, 0]), 2], [list([OUTSIDE, 1]), 1], [list([0, 2]), 3]])] }] }];
const { ours, theirs: demangled } = convertBoth(cpp, 0, 'gprof');
result(ours.includes('a::b(int)') && views.text(cpp, 0) === String(ours) && (ours.equals(demangled) || String(demangled).includes('_ZN1a1bEi')), 'readable names', ours, demangled);

// What was counted before clear() is in the report of the program, but not in that of the calls after it.
const cleared = { report: [map(0, 'arcs', 'map<(u32,u32),u64>', [[list([OUTSIDE, 1]), 7]])], sent: [] };
const nothing = [{ id: '1.0', title: 'a.wasm', module: null, saved: [{ ...cleared, before: cleared }] }];
const since = parts.save.joinAll(nothing, views).join('');
result(theirs(since).startsWith('Flat profile: 0 calls'), 'nothing since clear()', since);

// The functions that are not timed are those of their program, even if there are more than have been called.
const timed = row(1, 'global_id', 'not_timed', 'str', '"1-500"') + map(0, 'arcs', 'map<(u32,u32),(u64,u64)>', [[list([OUTSIDE, 0]), list([1, 1000])]]);
const two = ['1.0', '2.0'].map((id, i) => ({ id, title: `${i}.wasm`, module: null, saved: [{ report: [i ? timed.replace(/"1-500"/, '""') : timed], sent: [], before: null }] }));
result(!views.flatProfileText(two, 0).includes('not timed'), 'functions that are not timed, of two programs', views.flatProfileText(two, 0));

// Numbers of functions that make no sense.
const [one] = makePrograms(3).programs;
const counts = [-1, NaN, 0.5, 2.7, 1e99, '2', undefined, Infinity].map(n => views.flatProfileText([one], n).trimEnd().split('\n').length);
const [all, some] = [0, 2].map(n => views.flatProfileText([one], n).trimEnd().split('\n').length);
result(all !== some && String(counts) === String([all, all, all, some, all, some, all, all]), 'numbers of functions', counts, all, some);

// Times that are no numbers, as a program can send them to the module prof.
const odd = [NaN, Infinity, -Infinity, 1e300, -1e300].map((ms, i) => ({ caller: OUTSIDE, callee: i, calls: 2 ** 60, ms }));
const oddProgram = [{ id: '1.0', title: 'a.wasm', module: null, saved: [{ report: null, sent: odd, before: null }] }];
result(theirs(views.json(oddProgram)) === views.text(oddProgram, 0) && views.pprof(oddProgram).length > 0, 'times that are no numbers', views.text(oddProgram, 0));

// Traces of samples: names are those of profiles, and without the scripts beside the program those that its module has.
function makeModule(tag) {
  const text = string => [string.length, ...[...string].map(c => c.charCodeAt(0))], part = (id, bytes) => [id, bytes.length, ...bytes];
  return new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...part(1, [1, 0x60, 0, 0]),
    ...part(2, [1, ...text('host'), ...text('wait'), 0, 0]), ...part(0, [...text('whammc'), ...text(tag).slice(1)])]));
}
parts.names.traced = { names: ['host.wait', '</script>\n', null, '__proto__'], demangled: {} };
const traced = ['traced', 'unknown'].map(tag => makeTrace([{ source: { module: makeModule(tag), title: 'a.wasm' }, timestamp: 1, stack: [3, 2, 1, 0] }],
  null, () => true).frames.map(frame => frame.name));
result(JSON.stringify(traced) === JSON.stringify([['__proto__', '#2', '</script>\n', 'host.wait'], ['#3', '#2', '#1', 'host.wait']]), 'names in traces', traced);
end();
