// Runs instrumented modules and the program that they are made of.
//
// usage: node run.mjs < LINES
// each line: {"program": FILE, "forms": [FILES]}. Prints, for each: {"program": what it does, "forms": [{ "does", "report" } or { "error" }]}
//
// A program exports run(n) and trap(n). What it does are the results, and after each call the contents of its memories.
import { readFileSync } from 'node:fs';

const CALLS = [['run', 3], ['trap', 2], ['trap', 0], ['run', 2]];
const decoder = new TextDecoder();

/** What a program imports: memories, and how a monitor writes. */
function makeImports(module, told) {
  const env = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'memory'))
    if (from === 'env') env[name] = new WebAssembly.Memory(name === 'wide' ? { initial: 1n, address: 'i64' } : { initial: 1 });
  const fd_write = (_, list, count, result) => {
    const { buffer } = told.instance.exports.memory, view = new DataView(buffer);
    let total = 0;
    for (let at = list; at < list + 8 * count; at += 8) {
      const length = view.getUint32(at + 4, true);
      told.text += decoder.decode(new Uint8Array(buffer, view.getUint32(at, true), length));
      total += length;
    }
    view.setUint32(result, total, true);
    return 0;
  };
  return { env, wasi_snapshot_preview1: { fd_write } };
}

const sum = memory => new Uint8Array(memory.buffer).reduce((value, byte) => (value * 31 + byte) | 0, 0);

function readReport({ exports }, told) {
  if (!exports['whammc:flush']) return '';
  exports['whammc:flush']();
  if (!exports['whammc:report_ptr']) return told.text;
  const { buffer } = exports['whammc:memory'] ?? exports.memory;
  return decoder.decode(new Uint8Array(buffer, exports['whammc:report_ptr'](), exports['whammc:report_len']()));
}

/** `exported`: whether the program itself exports a memory. */
function run(path, exported) {
  const module = new WebAssembly.Module(readFileSync(path)), told = { instance: null, text: '' }, imports = makeImports(module, told), does = [];
  const instance = new WebAssembly.Instance(module, imports), memories = [...Object.values(imports.env), ...exported ? [instance.exports.memory] : []];
  told.instance = instance;
  for (const [name, n] of CALLS) {
    let outcome;
    try {
      outcome = instance.exports[name](n);
    } catch (error) {
      outcome = error.message;
    }
    does.push([outcome, ...memories.map(sum)]);
  }
  return { does: JSON.stringify(does), report: readReport(instance, told) };
}

function attempt(path, exported) {
  try {
    return run(path, exported);
  } catch (error) {
    return { error: error.message };
  }
}

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const { program, forms } = JSON.parse(line);
  const exported = WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(program))).some(({ name }) => name === 'memory');
  console.log(JSON.stringify({ program: run(program, exported).does, forms: forms.map(form => attempt(form, exported)) }));
}
