// What the tests in JavaScript share: TAP on standard output, and a folder that goes when they end.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

let number = 0, failed = 0;

/** One test; `details` are shown if it failed. */
export function result(good, title, ...details) {
  console.log(`${good ? 'ok' : 'not ok'} ${++number} - ${title}`);
  if (good) return;
  failed++;
  for (const detail of details) {
    const text = typeof detail === 'string' ? detail : String(JSON.stringify(detail, null, 1));
    console.log(`# ${text.slice(0, 3000).replace(/\n/g, '\n# ')}`);
  }
}

/** A new folder. */
export function makeFolder(name) {
  return fs.mkdtempSync(path.join(os.tmpdir(), `whammc-${name}-`));
}

export function removeFolder(dir) {
  try {
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  } catch (error) { // a process of the browser may still write
    console.log(`# ${error.message}`);
  }
}

/** Ends this process, after the plan. */
export function end() {
  console.log(`1..${number}`);
  process.exit(failed ? 1 : 0);
}
