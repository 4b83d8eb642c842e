// Compares what instrumented programs compute by functions of a library with what the library computes by itself; prints what differs.
// usage: node compare.mjs < JSON
// {"lib": FILE, "address": type, "params": [types of each function], "pairs": [[i32, i64]], "outputs": {form: FILE}}, numbers as text
import { readFileSync } from 'node:fs';

const { lib, address, params, pairs, outputs } = JSON.parse(readFileSync(0, 'utf8'));
const narrow = n => BigInt.asIntN(64, n);

/** The sums of the script, by name. */
function expected() {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(lib)));
  const sums = params.map(() => 0n);
  for (const [first, second] of pairs) {
    const a = Number(BigInt.asIntN(32, BigInt(first))), b = narrow(BigInt(second));
    params.forEach((kinds, k) => {
      const called = () => BigInt(exports[`f${k}`](...kinds.map(kind => kind === 'i32' ? a : b)));
      const add = value => { sums[k] = narrow(sums[k] * 31n + value); };
      add(called());
      add(a > 100 ? b : narrow(called() ^ b));
    });
  }
  let state = narrow(BigInt(exports.global32()) * 17n + exports.global64());
  for (let n = 0; n < 12; n++) state = narrow(state * 31n + exports.peek(address === 'i64' ? BigInt(8 * n) : 8 * n));
  return { ...Object.fromEntries(sums.map((sum, k) => [`s${k}`, sum])), state };
}

/** The same in a program's report. */
function found(path) {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)));
  exports._start();
  exports['whammc:flush']();
  const { buffer } = exports['whammc:memory'] ?? exports.memory;
  const report = new TextDecoder().decode(new Uint8Array(buffer, exports['whammc:report_ptr'](), exports['whammc:report_len']()));
  return Object.fromEntries([...report.matchAll(/, (s\d+|state), i64, .*, (-?\d+)$/gm)].map(([, name, value]) => [name, BigInt(value)]));
}

const right = expected();
for (const [form, path] of Object.entries(outputs)) {
  const values = found(path);
  for (const [name, value] of Object.entries(right))
    if (values[name] !== value) console.log(`${form}: ${name} is ${values[name]}, not ${value}`);
}
