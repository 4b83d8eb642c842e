// node one.mjs MODULE SCRIPT: what one instance reports, twice, with traps in between.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [file, script] = process.argv.slice(2), WasmProf = createRequire(import.meta.url)(resolve(script));
const memory = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), { env: { memory } });

function run(calls) {
  const { work, fill, trap } = instance.exports;
  work(calls);
  fill(4000);
  for (const traps of [trap, () => fill(70000)]) {
    try {
      traps();
      throw new Error('no trap');
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    }
  }
}

run(1000);
console.log(WasmProf.saveResults().report());
run(10);
console.log(WasmProf.saveResults().report(), WasmProf.exports(instance).get_total?.());
