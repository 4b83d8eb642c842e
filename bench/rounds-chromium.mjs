// The same as rounds-node.mjs in a page of headless Chromium, in wall-clock time, with a resolution of 0.1 ms. usage: node
// rounds-chromium.mjs CHROMIUM ROUNDS MODULE.wasm... -- [ARGUMENT...]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { launch, serve } from '../tests/checks/lib/browser/chromium.mjs';

const [chromium, rounds, ...words] = process.argv.slice(2), end = words.indexOf('--');

// In the page.
async function runAll({ paths, args, rounds }) {
    const { measure } = await import('/rounds.mjs');
    const programs = [];
    for (const at of paths)
        programs.push(new Uint8Array(await (await fetch(at)).arrayBuffer()));
    window.results = JSON.stringify(await measure(programs, args, rounds, () => performance.now()));
}

const files = { '/': ['text/html', '<!doctype html><title>programs</title>'],
    '/rounds.mjs': ['text/javascript', readFileSync(new URL('rounds.mjs', import.meta.url))] };
const paths = words.slice(0, end).map((file, i) => {
    files[`/${i}.wasm`] = ['application/wasm', readFileSync(file)];
    return `/${i}.wasm`;
});
const directory = mkdtempSync(path.join(tmpdir(), 'whammc-bench-'));
const server = await serve(files), browser = await launch(chromium, directory);
try {
    const page = await browser.open(server.url + '/');
    const task = JSON.stringify({ paths, args: words.slice(end + 1), rounds: Number(rounds) });
    // Not awaited there: an answer has to come within a minute.
    await page.evaluate(`${runAll}\nwindow.results = null; runAll(${task}).catch(error => { window.results = 'failed: ' + error.stack; }); 0`);
    let results = null;
    while (!(results = await page.evaluate('window.results')))
        await new Promise(resolve => setTimeout(resolve, 200));
    if (results.startsWith('failed'))
        throw new Error(results);
    console.log(results);
} finally {
    await browser.close();
    server.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 9, retryDelay: 100 });
}
