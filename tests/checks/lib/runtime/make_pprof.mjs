// Makes the profiles that JavaScript makes of reports: REPORT.pb of each.
//   node make_pprof.mjs SRCDIR REPORT...
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [source, ...reports] = process.argv.slice(2);
const load = name => import(pathToFileURL(`${source}/stdlib/host/${name}`).href);
const { encodeProfile, readStacks } = await load('pprof.js'), { readCalls } = await load('calls.js');

const NO_CALLS = { arcs: [], timed: false, ids: [], untimed: [], calibrated: 0n };
for (const path of reports) {
  const text = readFileSync(path, 'utf8'), row = text.split('\n').find(line => line.includes('"name":"names"'));
  const names = Object.fromEntries(row ? JSON.parse(row).value.map(({ key, value }) => [key, value]) : []);
  const part = { names, demangled: {}, suffix: '', counted: readCalls([text]) ?? NO_CALLS, readStacks: () => readStacks([text]) };
  writeFileSync(`${path}.pb`, encodeProfile([part]));
}
