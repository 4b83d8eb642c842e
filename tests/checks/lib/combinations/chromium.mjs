// node chromium.mjs CHROMIUM DIRECTORY: as node.mjs, for lines of JSON { module, script, system, jobs }; the answers are lines
// { sums, printed }, where `printed` has what OUT.js (`script`) reports, too.
import fs from 'node:fs';
import readline from 'node:readline';
import { launch } from '../browser/chromium.mjs';
import { run } from './work.mjs';

const [chromium, directory] = process.argv.slice(2);

async function inPage(run, base64, system, jobs) {
  let printed = '';
  const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
  const sums = await run({ bytes, system, jobs, write: text => { printed += text; } });
  if (globalThis.WasmProf) printed += globalThis.WasmProf.saveResults().report();
  return { sums, printed };
}

const browser = await launch(chromium, directory);
try {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { module, script, system, jobs } = JSON.parse(line), page = await browser.open('about:blank');
    let answer;
    try {
      if (script) await page.evaluate(`${fs.readFileSync(script, 'utf8')}; 0`);
      const base64 = JSON.stringify(fs.readFileSync(module).toString('base64'));
      answer = await page.evaluate(`await (${inPage})(${run}, ${base64}, ${JSON.stringify(system)}, ${JSON.stringify(jobs)})`);
    } catch (error) {
      answer = { error: String(error) };
    }
    console.log(JSON.stringify(answer));
  }
} finally {
  await browser.close();
}
