// Uses the package as a project does that has installed it: node use.mjs PROGRAMS-DIRECTORY. Prints a line of JSON for each test:
// its title, and what is wrong, or null.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { WASI } from 'node:wasi';
import { Worker } from 'node:worker_threads';
import * as whammc from 'whammc';
import { createHost } from 'whammc/host';

const programs = process.argv[2];
const app = readFileSync(join(programs, 'fib.wasm'));
const COUNT = 'wasm:opcode:call:before { report unshared var calls: u64; calls++; }\n';

async function test(title, body) {
  let problem = null;
  try {
    await body();
  } catch (error) {
    problem = error.stack;
  }
  console.log(JSON.stringify([title, problem]));
}

// Two memories, which Node has from version 22 on.
const canRun = WebAssembly.validate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 2, 0, 1, 0, 1));

/** A test that runs instrumented programs. */
async function testRun(title, body) {
  if (canRun) await test(title, body);
  else console.log(JSON.stringify([title, null, 'this Node has no multi-memory']));
}

const errorOf = async body => {
  try {
    await body();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
};

// Runs a WASI program whose report goes to `onReport`; the module may be instrumented or not.
async function run(bytes, onReport, args = ['fib', '15']) {
  const wasi = new WASI({ version: 'preview1', args, returnOnExit: true, stdout: 2 });
  const host = createHost({ onReport }), module = await WebAssembly.compile(bytes);
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport, ...host.imports });
  host.attach(instance, module);
  wasi.start(instance);
  host.flush();
}

async function reportOf(script, options = {}) {
  const compiler = await whammc.compile(script, options), reports = [];
  await run(compiler.instrument(app, { host: 'js' }).module, text => reports.push(text));
  return reports.at(-1);
}

await testRun('compile, instrument, run, and read the report', async () => {
  const report = await whammc.readReport(await reportOf({ name: 'count.whamm', text: COUNT }), { module: app });
  const rows = report.rows.filter(row => row.variable === 'calls');
  assert.equal(report.variables[0].name, 'calls');
  assert.equal(report.variables[0].wasmType, 'i64');
  assert.ok(rows.length > 3 && rows.every(row => typeof row.value === 'number' && row.pc !== null));
  assert.equal(rows.find(row => row.function === 'main').instruction.split(' ')[0], 'call');
  assert.match(report.table(), /calls/);
  report.add(await reportOf({ name: 'count.whamm', text: COUNT }));
  const sum = list => list.reduce((total, row) => total + row.value, 0);
  assert.equal(sum(report.rows), 2 * sum(rows));
  report.close();
  assert.throws(() => report.rows, /was closed/);
});

await testRun('threads are added up, or kept apart', async () => {
  const part = (thread, value) => [{ whammc: 1, name: 'x.wasm', thread }, { id: 0, id_type: 'global_id', name: 'n', type: 'u8', wasm_type: 'i32',
    script: 'script0', fname: null, fid: null, pc: null, probe: null, value }, { whammc: 'end' }].map(each => `${JSON.stringify(each)}\n`).join('');
  const text = part(2, 5) + part(0, 7), rowsOf = report => report.rows.map(({ thread, value }) => [thread, value]);
  assert.deepEqual(rowsOf(await whammc.readReport(text, { byThread: true })), [['0', 7], ['2', 5]]);
  assert.deepEqual(rowsOf(await whammc.readReport(text)), [[null, 12]]);
});

await testRun('aggregations are objects, and arrays of buckets', async () => {
  const values = {
    s: ['stats', [4, 8, -1, 5, 2, 36], { count: 4, sum: 8, min: -1, max: 5, mean: 2, deviation: 3 }],
    a: ['avg', [0, 0], { count: 0, sum: 0, mean: null }],
    h: ['hist', [{ key: 4, value: 1 }, { key: 0, value: 2 }], [{ low: 0, high: 1, count: 2 }, { low: 4, high: 8, count: 1 }]],
    l: ['lhist(0,6,4)', [{ key: 6, value: 1 }], [{ low: 6, high: null, count: 1 }]],
    t: ['top(1,str)', [{ key: 'f', value: 2 }], [['f', 2]]],
    m: ['map<u8,max>', [{ key: 1, value: [2, 3] }], [[1, { count: 2, max: 3 }]]],
  };
  const text = Object.entries(values).map(([name, [type, value]], id) => `${JSON.stringify({ id, id_type: 'global_id', name, type, wasm_type: 'i32',
    script: 'script0', fname: null, fid: null, pc: null, probe: null, value })}\n`).join('');
  const report = await whammc.readReport(text);
  for (const { variable, value } of report.rows) assert.deepEqual(value, values[variable][2], variable);
  report.close();
});

await testRun('derived columns', async () => {
  const text = [['hits', 'u64', 5], ['all', 'u64', 8], ['rate', 'f64=hits all /', 'NaN']].map(([name, type, value], id) => `${JSON.stringify({ id,
    id_type: 'global_id', name, type, wasm_type: 'i64', script: 'script0', fname: null, fid: null, pc: null, probe: null, value })}\n`).join('');
  const report = await whammc.readReport(text);
  assert.deepEqual(report.variables.map(({ type, formula }) => [type, formula]), [['u64', null], ['u64', null], ['f64', 'hits all /']]);
  assert.equal(report.rows[2].value, 0.625);
  report.close();
});

await testRun('several modules and instances in one text', async () => {
  const part = (name, instance, value) => [{ whammc: 1, name, instance }, { id: 0, id_type: 'global_id', name: 'n', type: 'u8', wasm_type: 'i32',
    script: 'script0', fname: null, fid: null, pc: null, probe: null, value }, { whammc: 'end' }].map(each => `${JSON.stringify(each)}\n`).join('');
  const report = await whammc.readReport(part('x.wasm', 1, 1) + part('y.wasm', 1, 20) + part('x.wasm', 2, 3));
  assert.deepEqual(report.rows.map(({ module, value }) => [module, value]), [['x.wasm', 4], ['y.wasm', 20]]);
  assert.deepEqual(report.addModule(app).select('y').rows.map(({ module, value }) => [module, value]), [[null, 20]]);
  assert.throws(() => report.select('z'), /it has no module 'z'/);
  report.close();
});

await testRun('a call tree as pictures and profiles', async () => {
  const report = await whammc.readReport(await reportOf('calltree'), { module: app });
  assert.match(report.svg({ title: '<fib>' }), /^<\?xml|^<svg/);
  assert.ok(!report.svg({ title: '<fib>' }).includes('<fib>'));
  assert.ok(JSON.parse(report.speedscope()).profiles.length);
  assert.ok(JSON.parse(report.cpuprofile()).nodes.length);
  assert.match(report.folded(), /fib;fib/);
  assert.deepEqual([...report.pprof().slice(0, 2)], [0x1f, 0x8b]);
  const { functions, nodes, timed, sampled } = report.profile('tree');
  assert.ok(timed && !sampled && nodes.length > 5 && nodes[0].parent === null);
  assert.ok(nodes.every((node, i) => node.parent === null || node.parent < i));
  assert.ok(functions.some(each => each.name === 'fib' && each.fid !== null));
  assert.ok(report.profile('calls').arcs.some(arc => functions[arc.caller] && arc.calls > 0));
  assert.throws(() => report.write('speedscope', { tittle: 'x' }), /there is no option tittle/);
  assert.throws(() => report.write('xls'), /there is no format 'xls'/);
  const error = await errorOf(() => report.write('svg', { variables: ['nope'] }));
  assert.equal(error.name, 'WhammcError');
  assert.match(report.folded(), /fib;fib/); // it can still be used
});

await testRun('coverage', async () => {
  const text = await reportOf('coverage'), asked = [];
  const options = { source: path => (asked.push(path), path.endsWith('fib.c') ? 'int fib;\n'.repeat(80) : null) };
  const lcov = await whammc.coverage(app, text, { ...options, format: 'lcov' });
  assert.match(lcov.text, /^SF:.*fib\.c$/m);
  assert.ok(lcov.totals.linesExecuted > 5 && lcov.totals.lines >= lcov.totals.linesExecuted);
  assert.ok(asked.some(path => path.endsWith('fib.c')));
  assert.ok(JSON.parse((await whammc.coverage(app, [text, text], { ...options, format: 'json' })).text));
  await assert.rejects(whammc.coverage(app, 'nothing', options), { name: 'WhammcError' });
  const both = await whammc.coverage(readFileSync(join(programs, 'matmul.wasm')), text, { ...options, modules: [{ name: 'fib.wasm', bytes: app }] });
  assert.equal(both.totals.linesExecuted, lcov.totals.linesExecuted);
  assert.equal((await whammc.coverage(app, text, { ...options, objects: [{ name: 'app.o', bytes: app }] })).text, lcov.text);
  const damaged = await errorOf(() => whammc.coverage(app, text, { ...options, objects: [{ name: 'x.a', bytes: new TextEncoder().encode('!<arch>\nx') }] }));
  assert.match(damaged.message, /x\.a/);
});

await test('diagnostics', async () => {
  const text = 'wasm:opcode:call:before {\n  x = 1;\n}\n';
  const found = await whammc.check({ name: 'a.whamm', text });
  assert.equal(found.length, 1);
  const [{ severity, tag, file, range }] = found;
  assert.deepEqual({ severity, tag, file }, { severity: 'error', tag: 'undeclared-name', file: 'a.whamm' });
  assert.deepEqual(range, { start: { offset: 28, line: 2, column: 3 }, end: { offset: 29, line: 2, column: 4 } });
  const error = await errorOf(() => whammc.compile({ name: 'a.whamm', text }));
  assert.ok(error instanceof whammc.WhammcError && !error.internal);
  assert.deepEqual(error.diagnostics, found);
  assert.match(error.message, /^a\.whamm:2:3: error: /);
  assert.deepEqual(await whammc.check('hotness'), []);
  const files = { 'lib/a.whamm': 'include "b.whamm";', 'lib/b.whamm': 'const b: u32 = 1;' };
  assert.deepEqual(await whammc.check('include "lib/a.whamm"; wasm:begin / b == 1 / { }', { files }), []);
  const [missing] = await whammc.check('include "a.whamm"; wasm:begin { }', { files });
  assert.equal(missing.tag, 'include');
  await assert.rejects(whammc.check('hotnes'), { name: 'WhammcError', message: /no bundled script 'hotnes'; did you mean 'hotness'\?$/ });
  await assert.rejects(whammc.check('something'), { name: 'WhammcError', message: /no bundled script 'something'; there are .*calltree/ });
});

await test('programs that are none', async () => {
  const compiler = await whammc.compile('hotness');
  for (const bytes of [new Uint8Array(0), new Uint8Array([0, 97, 115, 109]), app.subarray(0, 500), new TextEncoder().encode('(module)')]) {
    const error = await errorOf(() => compiler.instrument(bytes));
    assert.equal(error.name, 'WhammcError');
    assert.ok(error.diagnostics.some(diagnostic => diagnostic.severity === 'error'));
  }
  assert.throws(() => compiler.instrument('app.wasm'), /program: expected bytes .*, found string/);
  assert.throws(() => compiler.instrument(app, { host: 'node' }), /option host: expected 'auto', .*, found "node"/);
  assert.throws(() => compiler.instrument(app, { hosts: 'js' }), /there is no option hosts/);
  await assert.rejects(whammc.compile('hotness', { defines: {} }), /there is no option defines/);
  await assert.rejects(whammc.compile(3), TypeError);
  await assert.rejects(whammc.compile({ name: 'a\0b', text: '' }), /NUL/);
  const looped = async options => (await whammc.compile('report var n: u32; wasm:begin { while (true) { n++; } }', options)).instrument(app).module;
  assert.notDeepEqual(await looped({ steps: 5 }), await looped());
  assert.ok(compiler.instrument(app).module.length > app.length / 2);
});

await test('list, probes and constants', async () => {
  const compiler = await whammc.compile('calltree', { define: { timed: false } });
  assert.equal(compiler.constants.find(constant => constant.name === 'timed').value, 'false');
  const { sites, probes } = compiler.list(app);
  assert.equal(sites.length, probes.reduce((sum, probe) => sum + probe.sites, 0));
  assert.ok(sites.some(site => site.function === 'fib' && site.frames[0]?.file.endsWith('fib.c')));
  await assert.rejects(whammc.compile('calltree', { define: { timed: 'perhaps' } }), { name: 'WhammcError' });
});

await test('components', async () => {
  const core = Buffer.from('0061736d01000000010401600000030201000a070105000101010b', 'hex'), part = [1, core.length, ...core];
  const component = Uint8Array.from([0, 97, 115, 109, 13, 0, 1, 0, ...part, ...part, 2, 7, 2, 0, 0, 0, 0, 1, 0]);
  const compiler = await whammc.compile('wasm:opcode:nop:before { report unshared var n: u64; n++; }');
  const all = compiler.list(component).sites, second = compiler.list(component, { modules: ['*1'] }).sites;
  assert.deepEqual([...new Set(all.map(site => site.module))], ['module 0', 'module 1']);
  assert.deepEqual(second, all.filter(site => site.module === 'module 1'));
  const { module, report } = compiler.instrument(component), other = compiler.instrument(component, { modules: ['module 0'] });
  assert.equal(report.host, 'component');
  assert.equal(new Set([component, module, other.module].map(bytes => bytes.length)).size, 3);
  assert.throws(() => compiler.instrument(component, { modules: ['main'] }), { name: 'WhammcError' });
});

await test('monitors', async () => {
  const compiler = await whammc.compile('hotness');
  const { module } = compiler.monitor({ report: 'stdout' });
  assert.ok(WebAssembly.validate(module));
  assert.match(compiler.explainMonitor(), /probe 0 /);
  const bound = await whammc.bind(app, { name: 'hot.wasm', module }, { host: 'js' });
  assert.ok(bound.report.attached.every(each => each.monitor === 'hot.wasm'));
  assert.ok(bound.report.attached.some(each => each.places > 1000));
  assert.ok(bound.module.length > app.length / 2);
  await assert.rejects(whammc.bind(app, app.subarray(0, 500)), { name: 'WhammcError' });
});

await test('the rest of the library', async () => {
  assert.match(await whammc.version(), /^\d+\.\d+\.\d+$/);
  const scripts = await whammc.bundledScripts();
  assert.ok(scripts.some(({ name, text }) => name === 'calltree' && text.includes('wasm:')));
  const [event] = await whammc.explain('wasm:opcode:br_if:before');
  assert.ok(event.names.some(name => name.name === 'arg0' && !name.isStatic));
  await assert.rejects(whammc.explain('wasm:nothing'), { name: 'WhammcError' });
  assert.ok(WebAssembly.validate(await whammc.runtime()));
  assert.equal(await whammc.debugReference(app), null);
  const { module } = await whammc.nameFunctions(app, app);
  assert.ok(WebAssembly.validate(module));
  const map = (await whammc.compile('hotness')).instrument(app, { sourceMapUrl: 'app.wasm.map', host: 'none' }).sourceMap;
  assert.equal(JSON.parse(map).version, 3);
});

await test('the language server', async () => {
  const sent = [], files = { '/project/part.whamm': 'var part: u32;\n' };
  const server = await whammc.languageServer({ send: message => sent.push(message), read: path => files[path] });
  const document = { uri: 'file:///project/app.whamm', version: 1, text: 'include "part.whamm";\nwasm:func:entry { part++; none++; }' };
  const tell = (method, params, id) => server.receive({ jsonrpc: '2.0', id, method, params });
  tell('initialize', { capabilities: {}, rootUri: 'file:///project' }, 1);
  tell('textDocument/didOpen', { textDocument: document });
  server.idle();
  tell('textDocument/completion', { textDocument: document, position: { line: 1, character: 18 } }, 2);
  const [, { params: { diagnostics } }, { result }] = sent;
  assert.deepEqual(diagnostics.map(each => each.code), ['undeclared-name']);
  assert(result.items.some(item => item.label === 'part'));
  server.receive('not JSON');
  assert.equal(sent.at(-1).error.code, -32700);
  tell('shutdown', {}, 3);
  tell('exit', {});
  assert(server.exited);
  server.close();
  assert.throws(() => server.idle(), /closed/);
  await assert.rejects(whammc.languageServer({}), TypeError);
});

await test('CommonJS', async () => {
  const other = createRequire(import.meta.url)('whammc');
  assert.deepEqual(Object.keys(other).sort(), Object.keys(whammc).sort());
  const a = (await other.compile('hotness')).instrument(app), b = (await whammc.compile('hotness')).instrument(app);
  assert.deepEqual(a, b);
  assert.ok((await errorOf(() => other.compile('u32 x;'))) instanceof other.WhammcError);
});

await test('workers, at the same time, with the same module', async () => {
  const code = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { init, compile } = await import(workerData.whammc);
    await init(workerData.module);
    const compiler = await compile(workerData.script);
    for (let i = 0; i < 5; i++) parentPort.postMessage(compiler.instrument(workerData.app, { host: 'none' }).module);`;
  const module = await whammc.init(), url = import.meta.resolve('whammc');
  const outputs = await Promise.all(['hotness', 'calltree', 'hotness', 'branches'].map(script => new Promise((resolve, reject) => {
    const found = [], worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`),
      { workerData: { whammc: url, module, script, app } });
    worker.on('message', bytes => found.push(Buffer.from(bytes)));
    worker.on('error', reject);
    worker.on('exit', () => resolve({ script, found }));
  })));
  for (const { script, found } of outputs) {
    const expected = Buffer.from((await whammc.compile(script)).instrument(app, { host: 'none' }).module);
    assert.equal(found.length, 5);
    assert.ok(found.every(bytes => bytes.equals(expected)));
  }
});

await testRun('calls from a callback', async () => {
  const compiler = await whammc.compile('hotness'), text = await reportOf('coverage');
  let size = 0;
  await whammc.coverage(app, text, { source: () => ((size = compiler.instrument(app).module.length), 'int x;\n') });
  assert.equal(size, compiler.instrument(app).module.length);
  await assert.rejects(whammc.coverage(app, text, { source: () => { throw new Error('mine'); } }), /mine/);
  assert.equal(size, compiler.instrument(app).module.length);
});
