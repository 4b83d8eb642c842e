// Runs programs of tests/checks/profile_sums, whose clock only they themselves advance: node sums.mjs HOST-MODULE, and on
// standard input a JSON list of { path, entries, goesOn: after a trap }. Prints a list of { report, trapped }.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { createHost } = await import(pathToFileURL(process.argv[2]).href);

// (module (func (export "stop") (unreachable)))
const stops = new WebAssembly.Module(Buffer.from('0061736d01000000010401600000030201000708010473746f7000000a05010300000b', 'hex'));

function run({ path, entries, goesOn }) {
  let report = '', instance = null, trapped = false;
  const now = () => Number(instance.exports.clock.value);
  const host = createHost({ onReport: text => { report = text; }, clock: () => now });
  const spend = ms => { instance.exports.clock.value += BigInt(ms); };
  const call = index => { spend(1); instance.exports.table.get(index)(); spend(2); };
  const env = {
    leaf: () => spend(5),
    call,
    twice(index) { call(index); call(index); },
    careful(index) {
      try {
        call(index);
      } catch (error) {
        if (error instanceof WebAssembly.RuntimeError) throw error;
      }
    },
    fail(index) { call(index); throw new Error('no'); },
    again() { call(0); call(1); },
  };
  const module = new WebAssembly.Module(readFileSync(path));
  const proc_exit = () => new WebAssembly.Instance(stops).exports.stop();
  instance = new WebAssembly.Instance(module, { env, wasi_snapshot_preview1: { proc_exit }, ...host.imports });
  host.attach(instance, module);
  for (const entry of entries) {
    try {
      instance.exports[entry]();
    } catch (error) {
      trapped = trapped || error instanceof WebAssembly.RuntimeError;
      if (trapped && !goesOn) break;
    }
    spend(3);
  }
  host.flush();
  return { report, trapped };
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(run)));
