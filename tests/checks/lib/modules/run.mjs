// Runs a program of several modules that call each other: run.mjs PLAN. The plan is a JSON file:
//   instances: [{ module, imports: { name: [target, function, way] }, late }]; `target` is the number of an instance. A way:
//     direct    the function that the target exports
//     closure   a function of JavaScript that calls it; 5 if the target is not there yet
//     late      the same, but the target is loaded first
//     guarded   a closure that catches what is thrown, but for traps; then it returns 6
//   calls: [[instance, function, depth]]; trap: which of the instructions that may trap does, in the fourth call, 0 = none
//   waits: all are called at a time, by WebAssembly.promising(), where the program imports something or when nothing else is to be done
//   allocators: the first instance exports malloc and free, the second one _Znwm and _ZdlPv, if the program has these
//   weight: how often each function goes through an empty loop when it begins
// Prints what the calls return or throw, and what the modules import and export; with TOOK, how many milliseconds the calls took.
import { readFileSync } from 'node:fs';

const { instances, functions, calls, trap, waits, weight } = JSON.parse(readFileSync(process.argv[2]));
const tag = new WebAssembly.Tag({ parameters: ['i32'] }), doom = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
const raw = new WebAssembly.Global({ value: 'i32', mutable: true }, 0), object = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
const table = new WebAssembly.Table({ element: 'anyfunc', initial: functions * instances.length });
const modules = new Map(), ready = [], begun = [], started = [];
let turns = 0, loaded = false;

function moduleOf(path) {
  if (!modules.has(path)) {
    const module = new WebAssembly.Module(readFileSync(path));
    modules.set(path, module);
    console.log(JSON.stringify([WebAssembly.Module.imports(module), WebAssembly.Module.exports(module)]));
  }
  return modules.get(path);
}

const waiting = () => (turns++ % 4 ? new Promise(done => { setTimeout(done, turns % 3); }) : undefined);

function start() {
  if (!waits || !loaded || started.length === calls.length) return;
  const turn = started.push(null) - 1, [number, f, d] = calls[turn];
  started[turn] = WebAssembly.promising(ready[number][`f${f}`])(d).catch(shown);
}

function load(number) {
  begun[number] = true;
  const made = n => ready[1]?._Znwm(n) ?? 0, deleted = at => ready[1]?._ZdlPv(at);
  const allocators = { malloc: ready[0]?.malloc, free: ready[0]?.free, _Znwm: ready[1]?._Znwm ?? made, _ZdlPv: ready[1]?._ZdlPv ?? deleted };
  const imports = { env: { ...allocators, raw, object, tag, doom, table, weight, base: functions * number, fail() { throw new Error('failed'); },
    fill() {},
    wait: waits ? new WebAssembly.Suspending(waiting) : waiting,
    pick(slot) {
      start();
      return ready[Math.floor(slot / functions)]?.[`f${slot % functions}`] ?? null;
    } } };
  for (const [name, [target, f, way]] of Object.entries(instances[number].imports)) {
    const call = d => ready[target]?.[`f${f}`](d) ?? 5;
    imports.env[name] = {
      direct: ready[target]?.[`f${f}`],
      closure: call,
      late(d) {
        if (!begun[target]) load(target);
        return call(d);
      },
      guarded(d) {
        try {
          return call(d);
        } catch (error) {
          if (error instanceof WebAssembly.RuntimeError) throw error;
          return 6;
        }
      },
    }[way];
  }
  const { exports } = new WebAssembly.Instance(moduleOf(instances[number].module), imports);
  console.log(number, Object.keys(exports).join());
  ready[number] = exports;
}

const shown = error => (error instanceof WebAssembly.Exception ? `exception ${error.getArg(tag, 0)}` : `${error.name}: ${error.message}`);

function caught(call) {
  try {
    return call();
  } catch (error) {
    return shown(error);
  }
}

for (const [number, { late }] of instances.entries()) if (!late) load(number);
loaded = true;
const began = performance.now();
for (const [turn, [number, f, d]] of calls.entries()) {
  doom.value = turn === 3 ? trap : 0;
  if (!waits) console.log(caught(() => ready[number]?.[`f${f}`](d)));
  while (waits && turn >= started.length) start();
}
for (const one of started) console.log(await one);
if (process.env.TOOK) console.log(performance.now() - began);
