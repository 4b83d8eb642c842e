// In Node: the contexts of node:vm, in which test runners run tests. Each has a WebAssembly of its own, with classes of its own.
import { warn } from '../host.js';
import { nodeModule } from '../parts.js';

// What a context has, whatever its global object hides: the promises, objects and errors that the engine makes there.
const REALM = `typeof WebAssembly !== 'object' ? null : {
WebAssembly,
Promise: (async () => {})().constructor,
Object: ({}).constructor,
RangeError: (() => { try { ''.repeat(-1); } catch (error) { return error.constructor; } })(),
}`;

const nodeVm = () => (globalThis.process?.release?.name === 'node' && !globalThis.Deno && !globalThis.Bun ? nodeModule('vm') : null);

/**
 * Calls enter({ WebAssembly, Promise, Object, RangeError }) for each new context before anything runs in it. Returns the function that
 * calls it for another one, unless that is known.
 */
export function watchContexts(enter) {
  const entered = new WeakSet([WebAssembly]), vm = nodeVm(); // a context may have the WebAssembly of another one
  const once = realm => {
    if (!realm || entered.has(realm.WebAssembly)) return;
    entered.add(realm.WebAssembly);
    enter(realm);
  };
  if (!vm) return once;
  const { createContext, isContext, runInContext, Script } = vm;

  function create(target, self, args) {
    const isOld = isContext(Object(args[0])), context = Reflect.apply(target, self, args);
    try {
      if (!isOld) once(runInContext(REALM, context));
    } catch (error) {
      warn(`whammc: the programs of a context of node:vm are not known: ${error?.message}`);
    }
    return context;
  }

  // Of what makes a context and runs code there: of its arguments the one at `at` becomes the context before.
  const runs = at => (target, self, args) => {
    try {
      const { contextName: name, contextOrigin: origin, contextCodeGeneration: codeGeneration, microtaskMode } = args[at + 1] ?? {};
      args[at] = create(createContext, vm, [args[at] === undefined ? {} : args[at], { name, origin, codeGeneration, microtaskMode }]);
    } catch { /* the engine says why */ }
    return Reflect.apply(target, self, args);
  };
  const replace = (owner, name, apply) => { owner[name] = new Proxy(owner[name], { apply }); };
  replace(vm, 'createContext', create);
  replace(vm, 'runInNewContext', runs(1));
  replace(Script.prototype, 'runInNewContext', runs(0));
  nodeModule('module').syncBuiltinESMExports();
  return once;
}

/** The global object of Node's main context, if this script runs in another one; else null. */
export function mainContext() {
  const main = nodeVm()?.runInThisContext('globalThis') ?? globalThis;
  return main === globalThis ? null : main;
}
