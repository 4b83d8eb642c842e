// Programs that trap, in pages that do not catch it, in headless Chromium: counted by segments they must count what they count
// instruction by instruction. TAP on standard output.
//
//   node test_traps.mjs CHROMIUM WHAMMC-CLASSIC.js WHAMMC
//
// Programs, the calls of one life of each, and scripts are those of tests/fixtures/traps/. Each page has both forms of a program. The host
// asks for a report at each trap; so that this does not need pages of the program's memory, there is another one.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { launch, serve } from './chromium.mjs';

const [chromium, classic, whammc] = process.argv.slice(2);
const folder = fileURLToPath(new URL('../../../fixtures/traps', import.meta.url));
const dir = makeFolder('traps'), file = name => path.join(dir, name);
const PROGRAMS = ['memory', 'arithmetic', 'tables', 'calls', 'vectors'], SCRIPTS = ['sums', 'marks'];

// Calls are made one after the other from timers, so nobody catches what they throw.
const PAGE = script => `<!doctype html><link rel="icon" href="data:,">${script}<script>
const reports = [], errors = [];
if (globalThis.whammc) whammc.onReport = text => reports.push(text);
addEventListener('error', event => errors.push(String(event.message)));
async function load(url) {
  const imports = { env: { again: value => instance.exports.again(value) } };
  const { instance } = await WebAssembly.instantiateStreaming(fetch(url), imports);
  return instance.exports;
}
function call(exports, text) {
  const [, name, words] = /^(.*)\\((.*)\\)$/.exec(text);
  return new Promise(done => setTimeout(() => {
    setTimeout(done);
    exports[name](...words.split(',').map(Number));
  }));
}
async function live(calls) {
  reports.length = errors.length = 0;
  for (const exports of [await load('/plain.wasm'), await load('/segments.wasm')])
    for (const text of calls) await call(exports, text);
  if (globalThis.WasmProf) return { errors, reports: WasmProf.saveResults().reports };
  reports.length = 0;
  whammc.patched.flush();
  return { errors, reports };
}
</script>`;

function instrument(program, script) {
  const wasm = file(`${program}.wasm`), s = path.join(folder, `${script}.whamm`);
  execFileSync('wat2wasm', ['--enable-all', path.join(folder, `${program}.wat`), '-o', wasm]);
  for (const [name, options] of [['plain', ['--no-coalesce']], ['segments', []]])
    execFileSync(whammc, ['instr', '--host=js', '--storage=memory', ...options, '-s', s, wasm, '-o', file(`${name}.wasm`)], { stdio: 'ignore' });
}

const rowsOf = report => report.split('\n').map(line => line.replace(/^\d+, /, ''));

// What is wrong with one life, in a page with `scripts` in front.
async function problem(browser, scripts, calls) {
  const files = { '/': ['text/html', PAGE(Object.keys(scripts).map(url => `<script src="${url}"></script>`).join(''))] };
  for (const [url, from] of Object.entries(scripts)) files[url] = ['text/javascript', fs.readFileSync(from)];
  for (const name of ['plain', 'segments']) files[`/${name}.wasm`] = ['application/wasm', fs.readFileSync(file(`${name}.wasm`))];
  const site = await serve(files);
  try {
    const page = await browser.open(site.url);
    const { errors, reports } = await page.evaluate(`await live(${JSON.stringify(calls)})`);
    const [plain, segments] = reports.map(rowsOf);
    if (reports.length !== 2) return `${reports.length} reports`;
    if (errors.length === 0) return 'nothing traps';
    const at = plain.findIndex((row, i) => row !== segments[i]);
    return at < 0 && plain.length === segments.length ? '' : `${plain[at]} <> ${segments[at]}`;
  } finally {
    site.close();
  }
}

const browser = await launch(chromium, file('profile'));
for (const program of PROGRAMS)
  for (const script of SCRIPTS) {
    instrument(program, script);
    const lives = [...fs.readFileSync(path.join(folder, `${program}.wat`), 'utf8').matchAll(/^;; calls: (.*)$/gm)].map(([, calls]) => calls.split(' '));
    const hosts = [['whammc-classic.js', { '/whammc.js': classic }], ['OUT.js', { '/plain.js': file('plain.js'), '/segments.js': file('segments.js') }]];
    for (const [host, scripts] of hosts) {
      const problems = [];
      for (const calls of lives) problems.push(await problem(browser, scripts, calls).catch(String));
      const wrong = problems.filter(one => one);
      result(!wrong.length, `traps in pages: ${program}, ${script}, ${host}`, ...wrong);
    }
  }
await browser.close();
removeFolder(dir);
end();
