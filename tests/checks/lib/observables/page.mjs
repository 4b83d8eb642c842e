// Prints what observe.mjs sees in a page of Chromium:
//   page.mjs CHROMIUM DIRECTORY PROGRAM [SCRIPT]     SCRIPT, the OUT.js, is loaded before
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, serve } from '../browser/chromium.mjs';
import { removeFolder } from '../tap.mjs';

const [chromium, directory, program, script] = process.argv.slice(2);
const read = name => readFileSync(join(directory, name)), work = mkdtempSync(join(tmpdir(), 'whammc-observables-'));
const page = `<!DOCTYPE html>${script ? `<script src="${script}"></script>` : ''}<title>observables</title>`;
const files = {
  '/': ['text/html', page],
  '/observe.mjs': ['text/javascript', readFileSync(new URL('observe.mjs', import.meta.url))],
  '/program': ['application/wasm', read(program)],
  '/other': ['application/wasm', read('other.wasm')],
  ...script && { [`/${script}`]: ['text/javascript', read(script)] },
};
const server = await serve(files), browser = await launch(chromium, work);
try {
  const shown = await (await browser.open(`${server.url}/`)).evaluate(`await (async () => {
    const { linesOf, observe } = await import('/observe.mjs');
    const bytesOf = async name => new Uint8Array(await (await fetch(name)).arrayBuffer());
    return linesOf(await observe({ program: await bytesOf('/program') }, { other: await bytesOf('/other') })).join('\\n');
  })()`);
  console.log(shown);
} finally {
  server.close();
  await browser.close();
  removeFolder(work);
}
