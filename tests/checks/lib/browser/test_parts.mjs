// Scripts beside programs have the parts that their programs need: each combination of parts in a page, and programs with different
// parts in one page, in headless Chromium. TAP on standard output.
//
//   node test_parts.mjs CHROMIUM WHAMMC
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { LIST_PARTS, firstParts, listOf, viewParts } from '../runtime/parts.mjs';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { launch, serve } from './chromium.mjs';

const [chromium, whammc] = process.argv.slice(2);
const dir = makeFolder('parts'), file = name => path.join(dir, name);

// main(n): n calls of step. when fail() traps, a nop was counted too early.
const APP = `(module
  (func $step (param i32) (drop (i32.div_u (i32.const 6) (local.get 0))) (nop))
  (func $main (export "main") (param i32)
    (loop $l (call $step (local.get 0)) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
  (func (export "fail") (call $step (i32.const 0))))`;

const PIECES = {
  calls: `report var arcs: map<(u32, u32), u64>;
    wasm:func:entry / fname == "step" / { arcs[(4294967295, fid)]++; }`,
  clock: 'use time; report var last: i64; wasm:func:entry { last = time.now_ns(); }',
  traps: 'report var nops: u32; wasm:opcode:nop:before { nops++; }',
};
const SCRIPTS = { ...PIECES, none: 'report var entered: u32; wasm:func:entry { entered++; }' };

/** The programs to make: { name, parts, options }. */
function programs() {
  const names = Object.keys(PIECES), list = [];
  for (let set = 0; set < 1 << names.length; set++) {
    const parts = names.filter((_, i) => set & 1 << i), name = parts.join('-') || 'none';
    const scripts = (parts.length ? parts : ['none']).flatMap(part => ['-s', `${part}.whamm`]);
    list.push({ name, parts, options: [...scripts, ...parts.includes('traps') ? [] : ['--exact-traps']] });
  }
  const sample = ['-s', 'sample', '-D'];
  return [...list, { name: 'outside', parts: ['calls', 'sampler', 'sampling'], options: [...sample, 'outside=true'] },
    { name: 'tells', parts: ['calls', 'sampling'], options: [...sample, 'tells=true'] }];
}

function make(list) {
  fs.writeFileSync(file('app.wat'), APP);
  execFileSync('wat2wasm', ['--debug-names', file('app.wat'), '-o', file('app.wasm')]);
  for (const [name, text] of Object.entries(SCRIPTS)) fs.writeFileSync(file(`${name}.whamm`), text);
  const files = {}, put = (name, type) => { files[`/${name}`] = [type, fs.readFileSync(file(name))]; };
  const html = scripts => ['text/html', `<!doctype html><link rel="icon" href="data:,">${scripts}<body></body>`];
  for (const { name, options } of list) {
    execFileSync(whammc, ['instr', '--host=js', '--report-format=json', ...options, 'app.wasm', '-o', `${name}.wasm`], { cwd: dir, stdio: 'ignore' });
    put(`${name}.wasm`, 'application/wasm');
    put(`${name}.js`, 'text/javascript');
    if (fs.existsSync(file(`${name}.views.js`))) put(`${name}.views.js`, 'text/javascript');
    files[`/${name}`] = html(`<script src="/${name}.js"></script>`);
    for (const other of ['none', 'calls']) files[`/${other}+${name}`] = html(`<script src="/${other}.js"></script><script src="/${name}.js"></script>`);
    files[`/${name}+none`] = html(`<script src="/${name}.js"></script><script src="/none.js"></script>`);
  }
  return files;
}

const LOAD = `const load = async name => (await WebAssembly.instantiateStreaming(fetch('/' + name + '.wasm'))).instance.exports;`;
const valueOf = (report, name) => new RegExp(`"name":"${name}".*"value":(\\d+)`).exec(report)?.[1];

/** What a program reports after main(2) and, if its traps are corrected, a trap in fail(). */
async function runIn(page, { name, parts }) {
  return JSON.parse(await page.evaluate(`await (async () => { ${LOAD}
    const { main, fail } = await load('${name}');
    main(2);
    if (${parts.includes('traps')}) {
      const seen = new Promise(resolve => { addEventListener('error', event => { event.preventDefault(); resolve(); }); });
      setTimeout(() => fail());
      await seen;
    }
    const results = WasmProf.saveResults();
    return JSON.stringify({ titles: results.modules.join(), report: results.report(), text: results.text(), sampled: typeof WasmProf.Profiler });
  })()`));
}

function isRight({ name, parts }, { titles, report, text, sampled }) {
  const profiled = parts.includes('sampling'), calls = parts.includes('calls') && !profiled;
  return titles === `${name}.wasm` && (sampled === 'function') === profiled && (!calls || text.includes(`${parts.includes('traps') ? 3 : 2}  step`)) &&
    (!parts.includes('traps') || valueOf(report, 'nops') === '2') && (name !== 'none' || valueOf(report, 'entered') === '3') &&
    (!parts.includes('clock') || profiled || Number(valueOf(report, 'last')) > 0);
}

async function testAlone(browser, site, program) {
  const page = await browser.open(`${site.url}/${program.name}`), parts = await page.evaluate(LIST_PARTS), seen = await runIn(page, program);
  result(parts === listOf(firstParts(program.parts)) && isRight(program, seen), `${program.name}: alone`, parts, seen);
}

// Another program's script is in the page, too; that program runs first.
async function testTogether(browser, site, program, other, name) {
  const page = await browser.open(`${site.url}/${name}`), parts = await page.evaluate(LIST_PARTS);
  const expected = listOf([program, other].flatMap(one => firstParts(one.parts)));
  const titles = await page.evaluate(`await (async () => { ${LOAD}
    (await load('${other.name}')).main(1);
    (await load('${program.name}')).main(2);
    const results = WasmProf.saveResults();
    return [results.modules.join(), results.reports.length, /step/.test(results.text())].join(' ');
  })()`);
  const calls = [program, other].some(one => one.parts.includes('calls') && !one.parts.includes('sampling'));
  result(parts === expected && titles.startsWith(`${other.name}.wasm,${program.name}.wasm 2 `) && (!calls || titles.endsWith('true')),
    `${name}: in one page`, parts, titles);
}

let browser;
try {
  const list = programs(), site = await serve(make(list));
  browser = await launch(chromium, file('profile'));
  const [none, calls] = [list.find(one => one.name === 'none'), list.find(one => one.name === 'calls')];
  for (const program of list) {
    await testAlone(browser, site, program);
    if (program !== none) await testTogether(browser, site, program, none, `none+${program.name}`);
    if (program !== none) await testTogether(browser, site, program, none, `${program.name}+none`);
    if (program !== calls) await testTogether(browser, site, program, calls, `calls+${program.name}`);
  }
  site.close();
} catch (error) {
  result(false, 'the browser', error.stack);
} finally {
  await browser?.close();
}
removeFolder(dir);
end();
