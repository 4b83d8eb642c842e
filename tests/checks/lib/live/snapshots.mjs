// Runs instrumented programs (--host=js --polls) that ask for reports at each poll, and compares those of pairs.
//
//   node snapshots.mjs EVERY MOST COALESCED.wasm SITES.wasm ARGUMENT...
//
// EVERY-th polls are taken, MOST reports. Prints { "reports": n, "waits": n, "wrong": text }.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [every, most, ...rest] = process.argv.slice(2), [coalesced, sites, ...args] = rest;

class Stop extends Error {}

// The reports, as hashes, and the first as text.
function run(file) {
  const wasi = new WASI({ version: 'preview1', args: ['program', ...args], returnOnExit: true, stdout: 2 });
  let exports, pieces = [], polls = 0, waits = 0;
  const reports = [], texts = [];
  function take() {
    pieces = [];
    exports['whammc:flush']();
    const text = Buffer.concat(pieces);
    reports.push(createHash('sha1').update(text).digest('hex'));
    texts.push(text.toString());
    if (reports.length >= Number(most)) throw new Stop();
  }
  const whammc = {
    now: () => 0,
    write: (at, length) => { pieces.push(Buffer.from(new Uint8Array(exports['whammc:memory'].buffer, at >>> 0, length >>> 0)).slice()); },
    poll(wait) {
      waits += wait;
      if (exports && (wait || polls++ > 0)) take();
      return Number(every);
    },
  };
  exports = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), { ...wasi.getImportObject(), whammc }).exports;
  try {
    wasi.start({ exports });
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
  }
  return { reports, texts, waits };
}

const [a, b] = [coalesced, sites].map(run);
let wrong = a.reports.length === b.reports.length ? '' : `${a.reports.length} and ${b.reports.length} reports`;
const at = a.reports.findIndex((one, i) => one !== b.reports[i]);
if (!wrong && at >= 0) {
  const other = b.texts[at].split('\n');
  wrong = `report ${at}: ${a.texts[at].split('\n').map((line, i) => [line, other[i]]).filter(([x, y]) => x !== y).slice(0, 3).map(one => one.join(' | ')).join('; ')}`;
}
console.log(JSON.stringify({ reports: a.reports.length, waits: a.waits, wrong }));
