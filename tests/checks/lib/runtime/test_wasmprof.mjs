// Tests the script that `whammc instr` writes beside a program, in the Node that runs this: with code that loads programs and
// knows nothing of it. Needs wat2wasm.
//   node test_wasmprof.mjs WHAMMC
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { LIST_PARTS, firstParts, listOf } from './parts.mjs';

const whammc = resolve(process.argv[2]), work = makeFolder('wasmprof');

const file = name => join(work, name);
const write = (name, text) => writeFileSync(file(name), text);

function assemble(name, wat) {
  write(`${name}.wat`, wat);
  execFileSync('wat2wasm', ['--debug-names', '--enable-all', file(`${name}.wat`), '-o', file(`${name}.wasm`)]);
}

/** Runs a program in the directory; `words` may have options of Node. */
function run(words, env = {}) {
  const ended = spawnSync(process.execPath, ['--no-warnings', ...words], { cwd: work, encoding: 'utf8', env: { ...process.env, ...env } });
  return `${ended.stdout}${ended.stderr}${ended.status ? `status ${ended.status}\n` : ''}`;
}

// ---- programs ----

// main(n) calls step n times, which calls the page's `say`; crash traps in step.
const APP = `(module
  (import "page" "say" (func $say (param i32)))
  (func $step (param i32) (call $say (local.get 0)) (if (i32.eqz (local.get 0)) (then unreachable)))
  (func $main (export "main") (param i32)
    (loop $l (drop (i32.div_u (i32.const 6) (local.get 0))) (call $step (local.get 0)) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
  (func $crash (export "crash") (call $step (i32.const 0))))`;

// What a program with the host prof does: main(n) sends n calls of arc 3 -> 4, in 2n ms, and adds one of 4 -> 5 with half a
// millisecond. show() prints; start(n) clears first.
const PROF = `(module
  (import "prof" "getTime" (func $getTime (result f64)))
  (import "prof" "clearResults" (func $clear))
  (import "prof" "addArcData" (func $add (param i32 i32 i32 f64)))
  (import "prof" "setArcData" (func $set (param i32 i32 i32 f64)))
  (import "prof" "printResults" (func $print))
  (func $main (export "main") (param $n i32)
    (call $set (i32.const -1) (i32.const 3) (i32.const 1) (f64.const 10000))
    (call $set (i32.const 3) (i32.const 4) (local.get $n) (f64.mul (f64.const 2) (f64.convert_i32_u (local.get $n))))
    (call $add (i32.const 4) (i32.const 5) (i32.const 1) (f64.const 0.5)))
  (func (export "start") (param i32) (call $clear) (call $main (local.get 0)))
  (func (export "untimed") ;; 6 -> 7 takes no time, 7 -> 8 does: that does not add up
    (call $set (i32.const 6) (i32.const 7) (i32.const 9) (f64.const 0))
    (call $set (i32.const 7) (i32.const 8) (i32.const 9) (f64.const 3)))
  (func (export "show") (call $print))
  (func (export "clock") (result i32) (f64.gt (call $getTime) (f64.const 0))))`;

const SCRIPT = `report var arcs: map<(u32, u32), u64>;
var caller: u32 = 4294967295;
wasm:func:entry { frame var above: u32; above = caller; arcs[(above, fid)]++; caller = fid; }
wasm:func:exit { frame var above: u32; caller = above; }`;

const PROF_SCRIPT = `use prof;
wasm:begin { prof.clearResults(); }
wasm:opcode:call:before { prof.addArcData(fid as i32, imm0 as i32, 1, 0.25); }
wasm:func:entry / fname == "main" || fname == "crash" / { prof.addArcData(-1, fid as i32, 1, 2.0); }
wasm:end { prof.printResults(); }`;

// Ways to load a program, each with the same lines on the console.
const PLAY = `const imports = { page: { say: n => console.log('say', n) } };
function play(instance) {
  console.log(instance instanceof WebAssembly.Instance, typeof instance.exports.main);
  instance.exports.main(3);
  try { instance.exports.crash(); } catch (error) { console.log(error instanceof WebAssembly.RuntimeError, error.message); }
}
`;
const LOADERS = {
  'bytes.mjs': `import { readFile } from 'node:fs/promises';
    ${PLAY}
    const { module, instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), imports);
    console.log(module instanceof WebAssembly.Module);
    play(instance);`,
  'module.cjs': `const fs = require('fs');
    ${PLAY}
    WebAssembly.compile(fs.readFileSync(process.argv[2])).then(module => WebAssembly.instantiate(module, imports)).then(play);`,
  'synchronous.cjs': `const fs = require('fs');
    ${PLAY}
    play(new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(process.argv[2])), imports));`,
  'streaming.mjs': `import { readFileSync } from 'node:fs';
    ${PLAY}
    const response = new Response(readFileSync(process.argv[2]), { headers: { 'content-type': 'application/wasm' } });
    play((await WebAssembly.instantiateStreaming(Promise.resolve(response), Object.freeze(imports))).instance);`,
  'compiled-streaming.mjs': `import { readFileSync } from 'node:fs';
    ${PLAY}
    const response = new Response(readFileSync(process.argv[2]), { headers: { 'content-type': 'application/wasm' } });
    play(await WebAssembly.instantiate(await WebAssembly.compileStreaming(response), Object.create(imports)));`,
};

// ---- a program of --host=js, and the code that loads it ----

const FLAT = `Flat profile: 6 calls in all; the report has no times

     %       called  name
 66.67            4  step [1]
 16.67            1  main [2]
 16.67            1  crash [3]
`;

function testLoaders() {
  for (const name of Object.keys(LOADERS)) {
    const plain = run([name, 'app.wasm']);
    result(/true function\nsay 3\nsay 2\nsay 1\nsay 0\ntrue unreachable\n$/.test(plain), `${name}: without instrumentation`, plain);
    const preloaded = run(['--require', './out.js', name, 'app.wasm'], { WASMPROF: 'none.txt' });
    result(preloaded === plain && !readdirSync(work).includes('none.txt'), `${name}: with the script only`, preloaded);
    const instrumented = run(['--require', './out.js', name, 'out.wasm'], { WASMPROF: 'out.txt' });
    result(instrumented === plain, `${name}: instrumented`, instrumented);
    result(readFileSync(file('out.txt'), 'utf8').startsWith(FLAT), `${name}: its profile`, readFileSync(file('out.txt'), 'utf8'));
  }
  const imported = "import './out.js'; await import('./bytes.mjs'); WasmProf.saveResults().flatProfile();";
  write('imported.mjs', imported);
  result(run(['imported.mjs', 'out.wasm']).endsWith(`${FLAT}\n`), 'import');
  write('required.cjs', `const W = require('./out.js'); require('./synchronous.cjs');
    if (W === WasmProf) W.saveResults().flatProfile();`);
  result(run(['required.cjs', 'out.wasm']).endsWith(`${FLAT}\n`), 'require');
  const json = run(['--require', './out.js', 'bytes.mjs', 'out.wasm'], { WASMPROF: 'out.json' });
  result(json.includes('say') && report('out.json', ['--format=gprof']).startsWith(FLAT), 'JSON for whammc report');
}

const report = (name, options) => execFileSync(whammc, ['report', ...options, name], { cwd: work, encoding: 'utf8' });

// Results while the program waits for a function that it has called; snapshots; clear(); instances one after the other.
function testResults() {
  write('results.cjs', `const WasmProf = require('./out.js'), fs = require('fs');
    const program = new WebAssembly.Module(fs.readFileSync('out.wasm'));
    const counts = results => results.json().split('\\n')[1].match(/"value":(.*)}/)[1];
    const empty = WasmProf.saveResults(), within = [];
    const make = say => new WebAssembly.Instance(program, { page: { say } });
    console.log(empty.modules.length, JSON.stringify(empty.flatProfileText()));
    const first = make(() => within.push(WasmProf.saveResults()));
    first.exports.main(2);
    const before = WasmProf.saveResults();
    const second = make(() => {});
    second.exports.main(5);
    console.log(within.map(counts).join('\\n'));
    console.log(counts(before));
    const both = WasmProf.saveResults();
    console.log(counts(both), both.modules, both.module(0).modules, counts(both.module('out.wasm')) === counts(both), both.reports.length);
    try { both.module('no'); } catch (error) { console.log(error.message); }
    WasmProf.clear();
    console.log(counts(WasmProf.saveResults()), counts(both));
    second.exports.main(1);
    console.log(counts(WasmProf.saveResults()), \`\${before}\` === before.text());`);
  const arc = (from, to, n) => `{"key":[${from},${to}],"value":${n}}`, host = 4294967295, seen = run(['results.cjs']).split('\n');
  const expected = ['0 "Flat profile: 0 calls in all; the report has no times\\n\\n     %       called  name\\n"',
    `[${arc(2, 1, 1)},${arc(host, 2, 1)}]`, `[${arc(2, 1, 2)},${arc(host, 2, 1)}]`, `[${arc(2, 1, 2)},${arc(host, 2, 1)}]`,
    `[${arc(2, 1, 7)},${arc(host, 2, 2)}] [ 'out.wasm' ] [ 'out.wasm' ] true 2`, "there is no module 'no', but out.wasm",
    `[] [${arc(2, 1, 7)},${arc(host, 2, 2)}]`, `[${arc(2, 1, 1)},${arc(host, 2, 1)}] true`, ''];
  result(JSON.stringify(seen) === JSON.stringify(expected), 'results', seen, expected);
}

function testTwoModules() {
  for (const [first, second] of [['out', 'other'], ['other', 'out']]) {
    write('two.cjs', `require('./${first}.js'); require('./${second}.js');
      const fs = require('fs'), load = (name, imports) => new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(name)), imports).exports;
      const other = load('other.wasm'), out = load('out.wasm', { page: { say: other.note } });
      out.main(2);
      const results = WasmProf.saveResults();
      console.log(results.modules.join(), results.flatProfileText(), results.module('other.wasm').flatProfileText(), results.callGraphText(1));`);
    const seen = run(['two.cjs']);
    result(seen.includes('other.wasm,out.wasm Flat profile: 5 calls') && / 2 {2}note \(other.wasm\) \[\d\]\n/.test(seen) &&
      / 2 {2}step \(out.wasm\) \[\d\]\n/.test(seen) && seen.includes('100.00            2  note [1]\n') && seen.includes('and 2 more'),
    `two modules, ${first}.js first`, seen);
  }
}

function testWorker() {
  write('worker.cjs', `const { Worker, isMainThread, parentPort } = require('worker_threads');
    if (isMainThread) {
      new Worker(__filename).on('message', text => console.log(text, WasmProf.saveResults().modules.length));
    } else {
      const program = new WebAssembly.Module(require('fs').readFileSync('out.wasm'));
      new WebAssembly.Instance(program, { page: { say() {} } }).exports.main(2);
      parentPort.postMessage(WasmProf.saveResults().json().includes('"key":[2,1],"value":2'));
    }`);
  const seen = run(['--require', './out.js', 'worker.cjs'], { WASMPROF: 'worker.txt' });
  result(seen === 'true 0\n' && readdirSync(work).includes('worker.1.txt') && !readdirSync(work).includes('worker.txt'), 'a worker', seen);
}

// What scripts that count something else report arrives, too, in each format and under any name.
function testWholeReport() {
  const page = `const bytes = require('fs').readFileSync('whole.wasm');
    WebAssembly.instantiate(bytes, { page: { say() {} } }).then(({ instance }) => instance.exports.main(4));`;
  write('whole.cjs', page);
  write('counts.whamm', 'wasm:opcode:call:before { report var n: u32; n++; }\nreport var all: map<str, u64>;\nwasm:func:entry { all[fname]++; }');
  for (const format of ['csv', 'json', 'csv-rfc4180']) {
    const instrument = script => execFileSync(whammc, ['instr', '--host=js', `--report-format=${format}`, '-s', script, 'app.wasm', '-o', 'whole.wasm'],
      { cwd: work, stdio: 'ignore' });
    const save = name => {
      const said = run(['--require', './whole.js', 'whole.cjs'], { WASMPROF: name });
      return name === '-' ? said : said + readFileSync(file(name), 'utf8');
    };
    instrument('calltree');
    save('tree.json');
    const folded = report('tree.json', ['--format=folded']);
    result(/^main;step;say \d+$/m.test(folded), `${format}: a call tree in a file, with names`, folded, readFileSync(file('tree.json'), 'utf8'));
    result(report('tree.json', ['--format=table']).includes('tree'), `${format}: the file of a call tree has its variables`);
    instrument('counts.whamm');
    for (const name of ['whole.json', 'whole.txt', '-']) {
      const text = save(name);
      result(/\bn\b[^\n]*\b4\b/.test(text) && /step[^\n]*4/.test(text) && !text.includes('Flat profile'), `${format}: variables that are no calls, ${name}`, text);
    }
    result(/\bn\b/.test(report('whole.json', [])), `${format}: whammc report shows them`);
    execFileSync(whammc, ['instr', '--host=js', `--report-format=${format}`, '-s', 'script.whamm', '-s', 'counts.whamm', 'app.wasm', '-o', 'whole.wasm'],
      { cwd: work, stdio: 'ignore' });
    save('both.json');
    result(report('both.json', ['--format=gprof']).includes(' step [') && /\bn\b/.test(report('both.json', ['--flush=1'])),
      `${format}: calls with names, and all else`, readFileSync(file('both.json'), 'utf8'));
  }
}

// ---- processes and signals ----

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const wait = ms => new Promise(done => { setTimeout(done, ms); });

// A program that goes on until a signal comes: the profile is there, and the process has ended by the signal.
async function testSignals() {
  write('endless.cjs', `const program = new WebAssembly.Module(require('fs').readFileSync('out.wasm'));
    const { main } = new WebAssembly.Instance(program, { page: { say() {} } }).exports;
    main(2);
    console.log('running');
    setInterval(() => main(2), 1);`);
  const problems = [];
  for (let turn = 0; turn < 18; turn++) {
    const signal = SIGNALS[turn % 3], name = `signal${turn}.txt`;
    const child = spawn(process.execPath, ['--require', './out.js', 'endless.cjs'], { cwd: work, env: { ...process.env, WASMPROF: name } });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    await wait(Math.random() * 20);
    child.kill(signal);
    if (turn % 2) child.kill(signal); // as a terminal and a shell do it
    const [status, by] = await ended;
    const text = readdirSync(work).includes(name) ? readFileSync(file(name), 'utf8') : '';
    if (by !== signal || !text.startsWith('Flat profile') || !text.includes('Call graph')) problems.push([signal, status, by, text]);
  }
  result(problems.length === 0, 'the profile is there after signals', ...problems);
  // A program that listens itself decides.
  write('listens.cjs', `process.on('SIGTERM', () => { console.log('mine'); process.exit(3); });
    require('./endless.cjs');`);
  const child = spawn(process.execPath, ['--require', './out.js', 'listens.cjs'], { cwd: work, env: { ...process.env, WASMPROF: 'listens.txt' } });
  const ended = once(child, 'exit');
  let said = '';
  child.stdout.on('data', text => { said += text; });
  while (!said.includes('running')) await wait(5);
  child.kill('SIGTERM');
  const [status] = await ended;
  result(status === 3 && said.includes('mine') && readFileSync(file('listens.txt'), 'utf8').startsWith('Flat profile'), 'a program that listens to signals', status, said);
}

// Each process has a file of its own, at the same time or one after the other; a later run writes over those of an earlier one.
function testProcesses() {
  write('parent.cjs', `const { spawn } = require('child_process'), { readFileSync } = require('fs');
    const program = new WebAssembly.Module(readFileSync('out.wasm'));
    new WebAssembly.Instance(program, { page: { say() {} } }).exports.main(2);
    const depth = Number(process.argv[2]);
    for (let i = 0; i < (depth ? 3 : 0); i++) spawn(process.execPath, [__filename, String(depth - 1)], { stdio: 'inherit' });`);
  const files = prefix => readdirSync(work).filter(name => name.startsWith(prefix));
  const environment = name => ({ WASMPROF: name, NODE_OPTIONS: '--require=./out.js' });
  for (const [name, title] of [['many.txt', 'processes'], ['each.%p.txt', 'processes, %p'], ['none', 'processes, a name without ending']]) {
    const said = run(['parent.cjs', '2'], environment(name)), prefix = name.slice(0, 4);
    const texts = files(prefix).map(one => readFileSync(file(one), 'utf8'));
    result(said === '' && texts.length === 13 && texts.every(text => text.startsWith('Flat profile')), title, said, files(prefix));
    files(prefix).forEach(one => rmSync(file(one)));
  }
  for (let turn = 0; turn < 2; turn++) run(['parent.cjs', '0'], environment('twice.txt'));
  result(files('twice').length === 1, 'a later run writes over an earlier one\'s', files('twice'));
  const said = run(['parent.cjs', '0'], environment('none/such.txt'));
  result(/^whammc: the profile cannot be written: ENOENT[^\n]*\n$/.test(said), 'a file that cannot be written', said);
}

// An engine without multi-memory is told what it lacks, by each way to load a program.
function testWithoutMultiMemory() {
  execFileSync(whammc, ['instr', '--host=js', '--storage=memory', '-s', 'script.whamm', 'memory.wasm', '-o', 'two.wasm'], { cwd: work, stdio: 'ignore' });
  write('broken.mjs', `import { readFileSync } from 'node:fs';
    const bytes = readFileSync('two.wasm'), body = () => new Response(bytes, { headers: { 'content-type': 'application/wasm' } });
    const ways = [() => WebAssembly.instantiate(bytes), () => WebAssembly.compile(Uint8Array.from(bytes).buffer), async () => new WebAssembly.Module(bytes),
      () => WebAssembly.instantiateStreaming(body(), {}), () => WebAssembly.compileStreaming(body())];
    for (const way of ways) await way().then(() => console.log('good'), error => console.log(error.name, error.message));
    console.log(await WebAssembly.compile(readFileSync('app.wasm')) instanceof WebAssembly.Module);`);
  const lines = run(['--require', './two.js', 'broken.mjs']).trim().split('\n');
  const lacks = !WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 2, 0, 0, 0, 0]));
  const good = lacks ? line => /^CompileError .*needs multi-memory, .* Node 22/.test(line) : line => line === 'good';
  result(lines.length === 6 && lines.slice(0, 5).every(good) && lines[5] === 'true', 'an engine without multi-memory', ...lines);
}

function testLibrary() {
  write('page-host.mjs', `import './out.js';
    import { createHost } from ${JSON.stringify(new URL('../../../../stdlib/host/whammc.js', import.meta.url).href)};
    import { readFileSync } from 'node:fs';
    const host = createHost({ onReport: text => console.log(text.includes('(2,1)->2')) });
    const { instance } = await WebAssembly.instantiate(readFileSync('out.wasm'), { page: { say() {} }, ...host.imports });
    host.attach(instance);
    instance.exports.main(2);
    host.flush();
    console.log(WasmProf.saveResults().modules.length);`);
  const seen = run(['page-host.mjs']);
  result(seen === 'true\ntrue\n0\n', 'a page with a host of its own', seen);
}

// Loaders that go through all exports find those of the program.
function testExports() {
  write('exports.mjs', `import { readFileSync } from 'node:fs';
    const files = process.argv.slice(2);
    for (const file of files) {
      const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), { page: { say() {} } }), { exports } = instance;
      const found = [];
      for (const name in exports) found.push([name, typeof exports[name]]);
      exports.main(1);
      console.log(JSON.stringify([found, Object.keys(exports), Object.entries(exports).map(String), Reflect.ownKeys(exports), Object.getOwnPropertyNames(instance), Object.keys(instance),
        Object.isFrozen(exports), Object.getPrototypeOf(exports) === null, instance.exports === exports, 'main' in exports, 'whammc' in exports]));
    }`);
  const normal = text => text.replace(/function (\d+)\(/g, 'function (');
  const seen = run(['--import', './out.js', 'exports.mjs', 'out.wasm']), plain = run(['exports.mjs', 'app.wasm']);
  result(normal(seen.split('\n')[0]) === normal(plain.split('\n')[0]) && plain.includes('"main"'), 'exports are those of the program', seen, plain);
}

// The bundled script, in each format: the same text as the compiler makes of the report. Calls are open in the middle of main.
function testProfileScript() {
  const page = `const WasmProf = require('./timed.js'), fs = require('fs'), bytes = fs.readFileSync('timed.wasm');
    const save = name => {
      const results = WasmProf.saveResults();
      fs.writeFileSync(\`\${name}.report\`, results.reports[0]);
      fs.writeFileSync(\`\${name}.text\`, results.text());
    };
    WebAssembly.instantiate(bytes, { page: { say: n => { if (n === 2) save('within'); } } }).then(({ instance }) => {
      instance.exports.main(4);
      save('after');
    });`;
  write('timed.cjs', page);
  for (const format of ['csv', 'json', 'csv-rfc4180']) {
    execFileSync(whammc, ['instr', '--host=js', `--report-format=${format}`, '-s', 'profile', 'app.wasm', '-o', 'timed.wasm'], { cwd: work, stdio: 'ignore' });
    const output = run(['timed.cjs']);
    for (const name of ['within', 'after']) {
      const text = readFileSync(file(`${name}.text`), 'utf8'), expected = report(`${name}.report`, ['--format=gprof', '--module=app.wasm']);
      result(output === '' && text === expected && text.includes('ms in all'), `profile, ${format}, ${name}`, output, text, expected);
    }
    result(/ 3 .*  step /.test(readFileSync(file('within.text'), 'utf8')) && / 4 .*  step /.test(readFileSync(file('after.text'), 'utf8')),
      `profile, ${format}: calls`);
  }
}

// ---- the five functions of module prof ----

function testProf() {
  write('prof.cjs', `const WasmProf = require('./names.js'), bytes = require('fs').readFileSync('prof.wasm');
    const program = new WebAssembly.Module(bytes), make = () => new WebAssembly.Instance(program).exports;
    const a = make(), b = make();
    a.main(3); a.main(7); b.main(2);
    console.log(a.clock(), WasmProf.saveResults().modules);
    WasmProf.printResults();
    const [third, fourth] = WasmProf.saveResults().funcResults;
    console.log([third, fourth].map(f => [f.name, f.selfTime, f.cumulativeTime, f.called].join(' ')).join(),
      third.parents[0].function.name, third.children[0].function === fourth, fourth.parents[0].arc);
    b.start(1);
    b.show();
    console.log(WasmProf.saveResults().json());
    WasmProf.clear();
    b.main(4);
    console.log(WasmProf.saveResults().json());
    WasmProf.clear();
    b.untimed();
    console.log(WasmProf.saveResults().json(), WasmProf.saveResults().flatProfileText());`);
  const seen = run(['prof.cjs']);
  const expected = `1 [ 'module 1' ]
Flat profile: 20000.00 ms in all

     %   cumulative         self        total                    self       total
  time           ms           ms           ms       called     ms/call     ms/call  name
 99.91     19982.00     19982.00     20000.00            2   9991.0000  10000.0000  #3 [1]
  0.08     19998.50        16.50        18.00            9      1.8333      2.0000  #4 [2]
  0.01     20000.00         1.50         1.50            3      0.5000      0.5000  #5 [3]
`;
  result(seen.startsWith(expected), 'prof: arcs that are set and added, two instances', seen);
  result(seen.includes('#3 19982 20000 2,#4 16.5 18 9 <spontaneous> true { count: 9, time: 18 }\n'), 'prof: functions as objects', seen);
  const json = seen.match(/"value":\[\{"key":\[.*\]/g) || [];
  result(json[0] === '"value":[{"key":[3,4],"value":[8,16000000]},{"key":[4,5],"value":[3,1500000]},{"key":[4294967295,3],"value":[2,20000000000]}]',
    'prof: clearResults is for the instance', json[0]);
  result(json[1] === '"value":[{"key":[3,4],"value":[3,6000000]},{"key":[4,5],"value":[1,500000]}]', 'prof: clear()', json[1]);
  result(json[2] === '"value":[{"key":[6,7],"value":[9,0]},{"key":[7,8],"value":[9,3000000]}]' &&
    seen.includes('\nThe times do not add up: 1 function has less time than what it called, -3.00 ms in all\n'),
    'prof: times that do not add up', seen);
  result(/Flat profile: 10000.00 ms in all[^]* 1 {6}2.0000 {6}2.0000 {2}#4/.test(seen.split('#5 [3]\n')[2]) ||
    seen.split('Flat profile').length === 4, 'prof: printResults writes to the console', seen);
}

// A program that whammc has made for the host prof, loaded by code that knows nothing of it.
function testHostProf() {
  execFileSync(whammc, ['instr', '--host=prof', '-s', 'prof.whamm', 'app.wasm', '-o', 'timed.wasm'], { cwd: work, stdio: 'ignore' });
  const flat = `Flat profile: 2.00 ms in all

     %   cumulative         self        total                    self       total
  time           ms           ms           ms       called     ms/call     ms/call  name
 62.50         1.25         1.25         2.00            1      1.2500      2.0000  main [1]
 37.50         2.00         0.75         0.75            3      0.2500      0.2500  say [2]
  0.00         2.00         0.00         0.75            3      0.0000      0.2500  step [3]
`;
  for (const name of Object.keys(LOADERS)) {
    const seen = run(['--require', './timed.js', name, 'timed.wasm'], { WASMPROF: 'timed.txt' });
    const [before, after] = run([name, 'app.wasm']).split('say 0'), [shown, graph = ''] = seen.split('Call graph\n');
    result(shown === `${before}${flat}\n` && / main \[1\]/.test(graph) && graph.endsWith(`-\n\nsay 0${after}`), `prof: ${name}, printResults`, seen);
    const saved = readFileSync(file('timed.txt'), 'utf8');
    result(/^Flat profile: 4.00 ms in all[^]* crash \[\d\][^]* main \[\d\][^]*Call graph/.test(saved), `prof: ${name}, its profile`, saved);
  }
}

// ---- the parts of scripts ----

const instrumentApp = (options, to) => execFileSync(whammc, ['instr', '--host=js', ...options, 'app.wasm', '-o', `${to}.wasm`], { cwd: work, stdio: 'ignore' });
const PIECES = {
  calls: { script: 'script.whamm' },
  clock: { text: 'use time; report var last: i64; wasm:func:entry { last = time.now_ns(); }' },
  traps: { text: 'report var n: u32; wasm:opcode:local.get:before { n++; }' },
};

// Each combination of what scripts do: OUT.js has what that needs, and nothing else.
function testCombinations() {
  write('parts.cjs', `console.log(${LIST_PARTS}, typeof WasmProf.Profiler);`);
  const plain = run(['bytes.mjs', 'app.wasm']), names = Object.keys(PIECES);
  for (let set = 0; set < 1 << names.length; set++) {
    const chosen = names.filter((_, i) => set & 1 << i), title = chosen.join('+') || 'none';
    const scripts = chosen.map(name => PIECES[name].script ?? (write(`${name}.whamm`, PIECES[name].text), `${name}.whamm`));
    if (!chosen.length) write('seven.whamm', 'report var n: u32; wasm:func:entry { n = 7; }');
    for (const format of ['csv', 'json', 'csv-rfc4180']) {
      const options = (chosen.length ? scripts : ['seven.whamm']).flatMap(script => ['-s', script]);
      if (!chosen.includes('traps')) options.push('--exact-traps');
      instrumentApp([...options, `--report-format=${format}`], 'some');
      const parts = run(['--require', './some.js', 'parts.cjs']), seen = run(['--require', './some.js', 'bytes.mjs', 'some.wasm'], { WASMPROF: 'some.json' });
      result(parts === `${listOf(firstParts(chosen))} undefined\n`, `parts: ${title}, ${format}`, parts);
      const kept = readFileSync(file('some.json'), 'utf8'), shown = chosen.includes('calls') ? report('some.json', ['--format=gprof']) : FLAT;
      result(seen === plain && shown.startsWith(FLAT) && (chosen.includes('calls') || /\b(n|last)\b/.test(kept)), `parts: ${title}, ${format}: runs`, seen, kept);
    }
  }
  for (const [option, parts] of [['outside', ['calls', 'sampler', 'sampling', 'stacks']], ['tells', ['calls', 'sampling', 'stacks']]]) {
    instrumentApp(['-s', 'sample', '-D', `${option}=true`], 'some');
    const seen = run(['--require', './some.js', 'parts.cjs']), ran = run(['--require', './some.js', 'bytes.mjs', 'some.wasm']);
    result(seen === `${listOf(firstParts(parts))} function\n` && ran === plain, `parts: sampled, ${option}`, seen, ran);
  }
}

// ---- the second file, which has the profiles ----

const RUN_OUT = `const program = new WebAssembly.Module(require('fs').readFileSync('out.wasm'));
  new WebAssembly.Instance(program, { page: { say() {} } }).exports.main(2);`;
const FLAT_OF_TWO = / 2 +step \[/;

// It is loaded when a profile is wanted, from any folder, whatever its name is and however its script was loaded.
function testViewsOnDemand() {
  const all = before => `${before}\n${RUN_OUT}\nconsole.log(${LIST_PARTS}); const results = WasmProf.saveResults(); console.log(${LIST_PARTS});
    console.log(results.flatProfileText()); console.log(${LIST_PARTS});`;
  write('demand.cjs', all("require('./out.js');"));
  write('plain.cjs', all(''));
  const [first, second, ...rest] = run(['demand.cjs']).split('\n'), last = rest[rest.length - 2];
  result(first === listOf(firstParts(['calls'])) && second === first && FLAT_OF_TWO.test(rest.join('\n')) && last.includes('views'),
    'views: loaded when they are wanted', first, second, rest);
  for (const name of ['a b.js', 'é#1%20?.js', 'plain', 'x.mjs', 'y.cjs', 'sub/deeper.js', "it's (2).js"]) {
    mkdirSync(file('sub'), { recursive: true });
    instrumentApp(['-s', 'script.whamm', `--js=${name}`], 'out');
    const views = name.replace(/(\.[mc]?js)?$/, (_, end) => `.views${end ?? '.js'}`);
    const said = run(['--import', pathToFileURL(file(name)).href, 'plain.cjs']);
    result(existsSync(file(views)) && FLAT_OF_TWO.test(said), `views: beside ${name}`, views, said);
  }
  instrumentApp(['-s', 'script.whamm'], 'out');
}

// One file is enough for those who join both, and both may be loaded, in either order.
function testViewsTogether() {
  const [script, views] = ['out.js', 'out.views.js'].map(name => readFileSync(file(name), 'utf8'));
  const show = `${RUN_OUT} console.log(WasmProf.saveResults().flatProfileText());`;
  mkdirSync(file('alone'), { recursive: true });
  for (const [name, text] of [['script first', script + views], ['views first', views + script]]) {
    write('alone/one.js', text);
    write('one.cjs', `require('./alone/one.js'); ${show}`);
    const seen = run(['one.cjs']);
    result(FLAT_OF_TWO.test(seen) && !seen.includes('whammc:'), `views: one file, ${name}`, seen);
  }
  for (const order of [['out.js', 'out.views.js'], ['out.views.js', 'out.js']]) {
    write('both.cjs', `${order.map(name => `require('./${name}');`).join(' ')} ${show}`);
    result(FLAT_OF_TWO.test(run(['both.cjs'])), `views: ${order.join(', then ')}`);
  }
  write('advance.cjs', `require('./out.js'); ${RUN_OUT}
    WasmProf.views().then(it => console.log(it === WasmProf, ${LIST_PARTS}, it.saveResults().flatProfileText()));`);
  const seen = run(['advance.cjs']);
  result(seen.startsWith('true files,loader,names,save,threads,views ') && FLAT_OF_TWO.test(seen), 'views: in advance', seen);
}

// Reports that are longer than strings can be.
function testLongReports() {
  const short = new URL('../short_strings.mjs', import.meta.url).href, settings = { WASMPROF: 'long.json' }, MOST = 6000; // units
  const functions = Array.from({ length: 200 }, (_, i) => `(func $a_function_${i} (export "f${i}") ${i ? `call $a_function_${i - 1}` : ''})`);
  assemble('deep', `(module ${functions.join(' ')})`);
  for (const [name, options] of [['many sites', ['-s', 'hotness']], ['calls', ['-s', 'calltree', '-D', 'timed=false']]]) {
    execFileSync(whammc, ['instr', '--host=js', ...options, file('deep.wasm'), '-o', file('long.wasm')]);
    write('long.mjs', `import { createRequire } from 'node:module';
      import { readFileSync } from 'node:fs';
      import { limitStrings } from '${short}';
      createRequire(import.meta.url)('./long.js');
      for (let i = 0; i < 2; i++) new WebAssembly.Instance(new WebAssembly.Module(readFileSync('long.wasm'))).exports.f199();
      if (process.argv[2]) limitStrings(Number(process.argv[2]));
      process.on('exit', () => {
        const results = WasmProf.saveResults(), chunks = results.reportChunks();
        console.log(chunks.every(chunk => chunk instanceof Uint8Array));
        try {
          console.log(results.report() === new TextDecoder().decode(Buffer.concat(chunks)));
        } catch (error) {
          console.log(error.name, error.message);
        }
      });`);
    const written = () => readFileSync(file('long.json'), 'utf8').replaceAll(/"run":"\w+"/g, '');
    const wanted = run(['long.mjs'], settings), text = written(), found = run(['long.mjs', String(MOST)], settings);
    result(text === written() && text.length > 2 * MOST, `a report that is longer than a string: ${name}`, text);
    result(wanted.endsWith('true\ntrue\n') && /true\nRangeError a report of \d+ bytes does not fit into a string \(.*\)\n$/.test(found),
      `a report that is longer than a string, as text: ${name}`, wanted, found);
  }
}

// A server to which only OUT.js was copied, or another build's OUT.views.js: a message says what is missing, and the report is there.
function testViewsMissing() {
  mkdirSync(file('server'), { recursive: true });
  for (const name of ['out.js', 'out.wasm', 'bytes.mjs']) copyFileSync(file(name), file(`server/${name}`));
  write('server/show.cjs', `require('./out.js'); ${RUN_OUT}
    const results = WasmProf.saveResults();
    console.log([results.text(), results.json(), results.funcResults.length, results.pprof().length, results.report().includes('arcs')].join('|'));
    WasmProf.printResults(); WasmProf.views().catch(error => console.log('rejected:', error.message));`);
  const start = (words, env) => {
    const ended = spawnSync(process.execPath, ['--no-warnings', ...words], { cwd: file('server'), encoding: 'utf8', env: { ...process.env, ...env } });
    return ended.stdout + ended.stderr;
  };
  const message = 'whammc: out.views.js, which has the profiles of WasmProf, cannot be loaded (';
  const missing = start(['show.cjs']);
  result(missing.includes('report() has what is counted.\n||0|0|true') && missing.includes(`${message}ENOENT`) && missing.includes('rejected: whammc: out.views.js') &&
    missing.includes('must be beside the script'), 'views: missing', missing);
  const unsaved = start(['--require', './out.js', 'bytes.mjs', 'out.wasm'], { WASMPROF: 'none.txt' });
  result(unsaved.startsWith('true\n') && unsaved.includes(message), 'views: missing, WASMPROF', unsaved);
  copyFileSync(file('other.views.js'), file('server/out.views.js'));
  const other = start(['show.cjs']);
  result(other.includes(`${message}it is of another program, or another build of this one)`) && / 2 +step /.test(other), 'views: of another build', other);
  write('server/out.views.js', '<!doctype html><title>Not found</title>');
  result(start(['show.cjs']).includes(`${message}Unexpected token '<')`), 'views: a page instead');
}

// After a trap that nobody catches, the instructions after it do not count, though their segment was entered.
function testTrapsPart() {
  write('crash.cjs', `const program = new WebAssembly.Module(require('fs').readFileSync('crash.wasm'));
    new WebAssembly.Instance(program).exports.crash();`);
  write('nops.whamm', 'report var nops: u32; wasm:opcode:nop:before { nops++; } report var divisions: u32; wasm:opcode:i32.div_u:before { divisions++; }');
  execFileSync(whammc, ['instr', '--host=js', '--report-format=json', '-s', 'nops.whamm', 'trap.wasm', '-o', 'crash.wasm'], { cwd: work, stdio: 'ignore' });
  for (const options of [['--require', './crash.js'], ['--require', './few.js', '--require', './crash.js'], ['--require', './crash.js', '--require', './few.js']]) {
    run([...options, 'crash.cjs'], { WASMPROF: 'crash.json' });
    const counts = readFileSync(file('crash.json'), 'utf8'), countOf = name => new RegExp(`"name":"${name}".*"value":(\\d+)`).exec(counts)?.[1];
    result(countOf('nops') === '0' && countOf('divisions') === '1', `parts: counts after a trap, ${options.join(' ')}`, counts);
  }
}

// Without views, the report is there for whammc report, and another program's script brings them.
function testWithoutViews() {
  instrumentApp(['-s', 'profile', '--report-format=json', '--no-js-views'], 'bare');
  const parts = run(['--require', './bare.js', 'parts.cjs']);
  result(!parts.includes('loader') && parts.includes('clock') && !readdirSync(work).includes('bare.views.js'), 'no views: parts', parts);
  for (const name of ['bare.json', 'bare.txt']) {
    run(['--require', './bare.js', 'bytes.mjs', 'bare.wasm'], { WASMPROF: name });
    const text = readFileSync(file(name), 'utf8'), shown = report(name, ['--format=gprof', '--module=app.wasm']);
    result(!text.includes('Flat profile') && / 4 .* step \[/.test(shown), `no views: ${name}`, text, shown);
  }
  write('bare.cjs', `require('./bare.js'); require('./out.js');
    const program = new WebAssembly.Module(require('fs').readFileSync('bare.wasm'));
    new WebAssembly.Instance(program, { page: { say() {} } }).exports.main(2);
    console.log(WasmProf.saveResults().flatProfileText());`);
  const seen = run(['bare.cjs']);
  result(/ 2 .* step \[/.test(seen), 'no views: those of another script', seen);
}

// Programs with different parts share one WasmProf, whatever comes first, and a part that comes later is there for later programs.
function testSharedParts() {
  write('few.whamm', 'report var entered: u32; wasm:func:entry { entered++; }');
  instrumentApp(['-s', 'few.whamm', '--exact-traps'], 'few');
  const main = name => `load('${name}.wasm').main(2);`, load = `const fs = require('fs');
    const load = name => new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(name)), { page: { say() {} } }).exports;`;
  for (const [first, second] of [['few', 'out'], ['out', 'few']]) {
    write('shared.cjs', `${load} require('./${first}.js'); const one = WasmProf; require('./${second}.js');
      ${main('few')} ${main('out')}
      const results = WasmProf.saveResults();
      console.log(one === WasmProf, results.modules.join(), results.reports.length, results.module('out.wasm').flatProfileText(), results.hasCalls,
        results.report().includes('entered'), results.module('few.wasm').funcResults.length);`);
    const seen = run(['shared.cjs']);
    result(seen.startsWith('true few.wasm,out.wasm 2 Flat profile: 3 calls') && seen.endsWith('\n true true 0\n'), `parts: two programs, ${first}.js first`, seen);
  }
  write('later.cjs', `${load} require('./few.js'); ${main('few')}
    const show = results => [results.text().split('\\n')[0], results.json() === '', results.pprof().length > 0, results.funcResults.length, results.hasCalls, results.report().includes('entered')].join('|');
    console.log(show(WasmProf.saveResults()));
    WasmProf.printResults(); WasmProf.clear();
    require('./out.js'); ${main('out')}
    console.log(show(WasmProf.saveResults()));`);
  const none = 'No profile: the scripts count no calls, or OUT.js has no views. WasmProf.saveResults().report() has what is counted.', seen = run(['later.cjs']);
  result(seen === `${none}|true|false|0|false|true\n${none}\n\nFlat profile: 3 calls in all; the report has no times|false|true|2|true|true\n`,
    'parts: those of a script that comes later', seen);
}

// ---- scripts of two versions of whammc ----

// A script as another version would have written it: of the same interface, with a part that this one does not know; or of the next
// interface, whose parts have functions of other names.
const RENAMED = /\b(createTraps|hostClock|createHostSampler|saveAtExit|createTable|areCallsIn|tellMore)\b/g;
const VERSIONS = {
  same: text => text.replace(/\n(const \w+ = Symbol.for\(`whammc.parts)/, "\nconsole.log('another version');\n$1").replace(/^parts\.save \?\?= /m, 'parts.extra = 5;\n$&'),
  next: text => text.replace('const INTERFACE = 4;', 'const INTERFACE = 5;').replace(RENAMED, '$1OfNext'),
};

function asVersion(version, name, to) {
  for (const suffix of ['.js', '.views.js']) {
    if (!existsSync(file(name + suffix))) continue;
    const text = readFileSync(file(name + suffix), 'utf8'), changed = VERSIONS[version](text);
    if (changed === text) throw new Error(`nothing to change in ${name}${suffix}`);
    write(to + suffix, changed.replaceAll(`./${name}.views.js`, `./${to}.views.js`));
  }
}

// Two programs, each with the script of its version, in either order: both run, and what both count is in one WasmProf.
function testVersions() {
  const load = `const fs = require('fs');
    const load = name => new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(name)), { page: { say() {} } }).exports;`;
  for (const version of Object.keys(VERSIONS)) {
    for (const name of ['few', 'out', 'timed']) asVersion(version, name, `${version}-${name}`);
    for (const [own, other] of [['out', 'few'], ['few', 'out'], ['out', 'timed'], ['timed', 'few']]) {
      const scripts = [`./${own}.js`, `./${version}-${other}.js`];
      for (const order of [scripts, [...scripts].reverse()]) {
        write('versions.cjs', `${load} const [first] = ${JSON.stringify(order)}.map(name => require(name));
          load('${own}.wasm').main(2); load('${other}.wasm').main(2);
          const results = WasmProf.saveResults();
          console.log(first === WasmProf, results.modules.join(), results.hasCalls, typeof results.pprof().length);
          console.log(results.text()); console.log(results.report().length > 100); WasmProf.clear();`);
        const seen = run(['versions.cjs']), warned = seen.includes('does not fit that of another version');
        const title = `versions: ${order.join(', ')}`, counted = [own, other].filter(name => name !== 'few');
        const shown = counted.every(name => version !== 'same' || new RegExp(`[1-9]\\d* +step( \\(${name}\\.wasm\\))? \\[`).test(seen));
        result(new RegExp(`^true ${own}.wasm,${other}.wasm (true|false) number$`, 'm').test(seen) && /^true$/m.test(seen) && shown && warned === (version === 'next') &&
          !/Error/.test(seen), title, seen);
      }
    }
  }
}

// ---- nothing changes for others ----

// Says all that can be seen of WebAssembly with modules that are not instrumented, and with arguments that are wrong.
const OTHERS = `import { readFileSync } from 'node:fs';
const bytes = readFileSync('app.wasm'), module = new WebAssembly.Module(bytes), W = WebAssembly;
const none = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]), good = { page: { say() {} } };
const prof = readFileSync('prof.wasm'), streamed = (body, type = 'application/wasm') => new Response(body, { headers: { 'content-type': type } });
const getter = { get page() { throw new Error('mine'); } }, proxy = new Proxy({}, { get: (_, name) => (name === 'page' ? good.page : undefined) });
const wrong = [undefined, null, 5, 'x', {}, { page: 1 }, { page: {} }, { page: { say: 1 } }, getter];
const own = { prof: { getTime: () => 1, clearResults() {}, addArcData() {}, setArcData() {}, printResults() {} } };
const show = value => (value instanceof W.Instance ? \`instance \${Object.keys(value.exports)} \${value.constructor === W.Instance} \${Object.isFrozen(value.exports)}\`
  : value instanceof Error ? \`\${value.constructor.name}: \${value.message} \${Object.keys(value)}\` : value?.instance ? \`both \${Object.keys(value)} \${show(value.instance)}\` : String(value));
async function attempt(title, fn) {
  let value, kind = 'gives';
  try {
    value = fn();
    if (value instanceof Promise) { kind = 'promises'; value = await value; }
  } catch (error) { kind = \`\${kind} error\`; value = error; }
  console.log(title, kind, show(value));
}
for (const [name, source] of Object.entries({ bytes, module, none, buffer: none.buffer, garbage: new Uint8Array(9), undefined, number: 5 })) {
  for (const imports of [good, proxy, Object.assign(() => {}, good), ...wrong]) {
    await attempt(\`instantiate \${name}\`, () => W.instantiate(source, imports));
    await attempt(\`Instance \${name}\`, () => new W.Instance(source, imports));
    if (source?.length) await attempt(\`streaming \${name}\`, () => W.instantiateStreaming(streamed(source), imports));
  }
  await attempt(\`one argument \${name}\`, () => W.instantiate(source));
}
await attempt('no argument', () => W.instantiate());
await attempt('no argument', () => new W.Instance());
await attempt('no new', () => W.Instance(module, good));
await attempt('no argument', () => W.instantiateStreaming());
await attempt('type', () => W.instantiateStreaming(streamed(bytes, 'text/html'), good));
await attempt('status', () => W.instantiateStreaming(new Response(bytes, { status: 404, headers: { 'content-type': 'application/wasm' } }), good));
await attempt('no response', () => W.instantiateStreaming(bytes, good));
await attempt('rejected', () => W.instantiateStreaming(Promise.reject(new Error('net')), good));
await attempt('own prof', () => W.instantiate(prof, own));
const { instantiate, Instance } = W;
await attempt('taken out', () => instantiate(bytes, good));
class Mine extends Instance { get mine() { return 'mine'; } }
const mine = new Mine(module, good);
console.log(mine.mine, mine instanceof Mine, mine instanceof W.Instance, Object.prototype.toString.call(mine), Instance.name, Instance.length);
console.log(instantiate.name, instantiate.length, W.instantiateStreaming.length, Object.keys(W), typeof Instance,
  JSON.stringify(Object.entries(Object.getOwnPropertyDescriptors(W)).map(([name, { value, ...rest }]) => [name, typeof value, rest])));
console.log(W.Instance.prototype.constructor === W.Instance, Object.getPrototypeOf(new W.Instance(module, good)) === W.Instance.prototype);
`;

function testOthers() {
  write('others.mjs', OTHERS);
  const plain = run(['others.mjs']), patched = run(['--require', './out.js', 'others.mjs']);
  const lines = plain.split('\n'), other = patched.split('\n'), differing = lines.findIndex((line, i) => line !== other[i]);
  result(lines.length > 150 && !/status \d+\n$/.test(plain), 'others: without the script', plain);
  result(plain === patched, `others: the same ${lines.length} lines with it`, lines[differing], other[differing]);
}

// ---- strings of JavaScript: builtins, and constants that the engine makes ----

const STRINGS = `(module
  (import "'" "twelve bytes" (global $text externref))
  (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
  (import "wasm:js-string" "charCodeAt" (func $at (param externref i32) (result i32)))
  (import "page" "say" (func $say (param i32)))
  (func (export "main")
    (call $say (call $length (global.get $text)))
    (call $say (call $at (global.get $text) (i32.const 1)))))`;

function testBuiltins() {
  assemble('strings', STRINGS);
  write('strings.whamm', `wasm:opcode:call:before / target_imp_module == "wasm:js-string" / { report unshared var calls: u32; calls++; }
    wasm:opcode:call(res0: i32):after / target_fn_name == "length" / { report var lengths: map<i32, u32>; lengths[res0]++; }`);
  execFileSync(whammc, ['instr', '-s', file('strings.whamm'), file('strings.wasm'), '-o', file('counted.wasm')]);
  write('strings.mjs', `import { readFileSync } from 'node:fs';
    const bytes = readFileSync(process.argv[2]), options = { builtins: ['js-string'], importedStringConstants: "'" };
    const imports = { page: { say: n => console.log('say', n) } }, response = () =>
      new Response(bytes, { headers: { 'content-type': 'application/wasm' } });
    for (const instance of [new WebAssembly.Instance(new WebAssembly.Module(bytes, options), imports),
      (await WebAssembly.instantiate(bytes, imports, options)).instance,
      await WebAssembly.instantiate(await WebAssembly.compile(bytes, options), imports),
      (await WebAssembly.instantiateStreaming(response(), imports, options)).instance]) instance.exports.main();
    console.log(WebAssembly.Module.imports(new WebAssembly.Module(bytes, options)).length);`);
  const plain = run(['strings.mjs', 'strings.wasm']);
  const counted = run(['--require', './counted.js', 'strings.mjs', 'counted.wasm'], { WASMPROF: 'strings.json' });
  const found = /calls, .* 4\n.*calls, .* 4\n.*lengths, .* 12->4\n/.test(report('strings.json', ['--format=csv']));
  result(plain === `${'say 12\nsay 119\n'.repeat(4)}1\n`, 'strings: without instrumentation', plain);
  result(counted.replace(/\d+\n$/, '1\n') === plain && found, 'strings: instrumented', counted, report('strings.json', ['--format=csv']));
}

// ---- all ----

const node = Number(process.versions.node.split('.')[0]);
try {
  assemble('app', APP);
  assemble('prof', PROF);
  assemble('trap', '(module (func (export "crash") (drop (i32.div_u (i32.const 1) (i32.const 0))) (nop)))');
  assemble('note', '(module (func $note (export "note") (param i32)))');
  assemble('memory', '(module (memory (export "memory") 1) (func (export "main")))');
  write('script.whamm', SCRIPT);
  write('prof.whamm', PROF_SCRIPT);
  for (const [name, text] of Object.entries(LOADERS)) write(name, text);
  const instrument = (from, to) => execFileSync(whammc, ['instr', '--host=js', '-s', file('script.whamm'), file(`${from}.wasm`),
    '-o', file(`${to}.wasm`)], { stdio: 'ignore' });
  instrument('app', 'out');
  instrument('note', 'other');
  execFileSync(whammc, ['instr', '--host=prof', '-s', 'prof.whamm', 'app.wasm', '-o', 'names.wasm'], { cwd: work, stdio: 'ignore' });
  testProf();
  testHostProf();
  testOthers();
  testWithoutMultiMemory();
  if (node >= 24) testBuiltins();
  if (node >= 22) { // programs with maps have two memories
    testLoaders();
    testResults();
    testTwoModules();
    testCombinations();
    testSharedParts();
    testTrapsPart();
    testWithoutViews();
    testViewsOnDemand();
    testViewsTogether();
    testViewsMissing();
    testLongReports();
    testWorker();
    testWholeReport();
    await testSignals();
    testProcesses();
    testLibrary();
    testExports();
    testProfileScript();
    testVersions();
  } else {
    result(true, 'programs with maps # SKIP this Node has no multi-memory');
  }
} finally {
  removeFolder(work);
}
end();
