// Runs programs of a proposal in headless Chromium.
//   node run.mjs CHROMIUM DIRECTORY FLAG PROBE
// FLAG is V8's flag for the proposal; PROBE a module that needs it, in hexadecimal, behind the header.
// Each line of the input is JSON: { module, calls: the exports to call }. The answer, a line, is JSON: { printed: what the program noted,
// with what calls ended with, report: that of an instrumented program }, or { error }. Without the proposal: "unknown".
import fs from 'node:fs';
import readline from 'node:readline';
import { launch } from './chromium.mjs';

const [chromium, directory, flag, probe] = process.argv.slice(2);

// In the page.
function start(base64, calls) {
  const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0)), printed = [];
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { note: value => { printed.push(value); } } });
  for (const name of calls) {
    try {
      printed.push(`${name}: ${exports[name]()}`);
    } catch (error) {
      printed.push(`${name}: ${error instanceof WebAssembly.Exception ? 'exception' : error instanceof WebAssembly.RuntimeError ? 'trap' : error}`);
    }
  }
  if (!exports['whammc:flush']) return { printed };
  exports['whammc:flush']();
  const memory = exports['whammc:memory'] ?? exports.memory;
  const text = new Uint8Array(memory.buffer, exports['whammc:report_ptr'](), exports['whammc:report_len']());
  return { printed, report: new TextDecoder().decode(text) };
}

const browser = await launch(chromium, directory, [`--js-flags=${flag}`]);
try {
  const page = await browser.open('about:blank');
  const bytes = [...Buffer.from(`0061736d01000000${probe}`, 'hex')];
  const known = await page.evaluate(`WebAssembly.validate(Uint8Array.of(${bytes}))`);
  if (!known) console.log('unknown');
  else for await (const line of readline.createInterface({ input: process.stdin })) {
    const { module, calls } = JSON.parse(line);
    const base64 = JSON.stringify(fs.readFileSync(module).toString('base64'));
    let answer;
    try {
      answer = await page.evaluate(`(${start})(${base64}, ${JSON.stringify(calls)})`);
    } catch (error) {
      answer = { error: String(error) };
    }
    console.log(JSON.stringify(answer));
  }
} finally {
  await browser.close();
}
