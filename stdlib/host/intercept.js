// How code that knows nothing of whammc loads instrumented programs: what makes instances is replaced in WebAssembly.
//
// Modules that are none of ours go to the engine with the arguments as they were given. Of the others, programs see what they would
// see without instrumentation: the engine reads their import objects, in its own order; it makes the promises and the errors; and
// what instrumentation has added to imports and exports is not shown.
import { FLUSH, offerHost } from './host.js';
import { errorsOf, isBuiltIn, parts } from './parts.js';

const EMPTY_MODULE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
// (module (memory 0) (memory 0))
const TWO_MEMORIES = Uint8Array.of(...EMPTY_MODULE, 5, 5, 2, 0, 0, 0, 0);
const IMPORTS = 2, EXPORTS = 7, CODE = 10; // sections
const GO = ['gojs', 'go'], RENEW = 'runtime.resetMemoryDataView'; // what programs of Go import
const { captureStackTrace } = Error;
const byteLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;
const getExports = Object.getOwnPropertyDescriptor(WebAssembly.Instance.prototype, 'exports').get;

// ---- errors ----

// Of whatever context.
const isError = error => error instanceof Error || isBuiltIn(error, 'Error');

/** Calls the engine; to its own errors it looks as if the program had done so, and not `trap`, a function of a Proxy. */
export function callEngine(trap, call) {
  try {
    return call();
  } catch (error) {
    if (isError(error) && /^WebAssembly\.[\w.]+(\(\))?: /.test(error.message)) captureStackTrace?.(error, trap);
    throw error;
  }
}

// An error of WebAssembly.compile becomes that of WebAssembly.instantiate, of compileStreaming that of instantiateStreaming.
function asInstantiating(error) {
  const rename = text => text.replace('WebAssembly.compile', 'WebAssembly.instantiate'), { stack } = error;
  if (!isError(error) || error.name !== 'CompileError') return error;
  error.message = rename(error.message);
  if (typeof stack === 'string') error.stack = rename(stack);
  return error;
}

// ---- modules ----

/** A view of bytes that may be a module, or null if they are none. */
export function bytesOf(source) {
  try {
    if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    Reflect.apply(byteLength, source, []); // fails if it is nothing of that kind, of whatever page or context
    return new Uint8Array(source);
  } catch {
    return null;
  }
}

// Whether these bytes may be a module that imports one of the modules `names`, or exports whammc:flush. If they only seem to be, that
// does no harm.
function mayBeOurs(source, names) {
  const bytes = bytesOf(source), marks = [...names, FLUSH].map(name => String.fromCharCode(name.length) + name);
  for (let at = EMPTY_MODULE.length; at < bytes?.length && bytes[at] !== CODE;) {
    const id = bytes[at++];
    let size = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      size += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    const text = id === IMPORTS || id === EXPORTS ? new TextDecoder('latin1').decode(bytes.slice(at, at + size)) : '';
    if (marks.some(mark => text.includes(mark))) return true;
    at += size;
  }
  return false;
}

// ---- engines without multi-memory ----

function explain(error) {
  if (isError(error) && error.name === 'CompileError' && /memor(y count|ies)/.test(error.message))
    error.message += '; the instrumented program needs multi-memory, which this engine does not have, but Node 22, Chrome 120, ' +
      'Firefox 125 and later ones do; where there is WASI, `whammc instr --link=import` avoids it';
  return error;
}

// Lets what compiles say that the engine has no multi-memory. Returns what puts it back.
function explainCompilers(names, WebAssembly) {
  const original = {}, compilers = ['Module', 'compile', 'compileStreaming', 'instantiate', 'instantiateStreaming'];
  if (WebAssembly.validate(TWO_MEMORIES)) return () => {};
  for (const name of compilers.filter(one => WebAssembly[one])) {
    original[name] = WebAssembly[name];
    const concerns = source => name.endsWith('Streaming') || mayBeOurs(source, names);
    WebAssembly[name] = new Proxy(original[name], {
      construct(target, args, newTarget) {
        try {
          return callEngine(this.construct, () => Reflect.construct(target, args, newTarget));
        } catch (error) {
          throw concerns(args[0]) ? explain(error) : error;
        }
      },
      apply(target, self, args) {
        const result = callEngine(this.apply, () => Reflect.apply(target, self, args));
        return concerns(args[0]) ? result.catch(error => { throw explain(error); }) : result;
      },
    });
  }
  original.Module.prototype.constructor = WebAssembly.Module;
  return () => {
    Object.assign(WebAssembly, original);
    original.Module.prototype.constructor = original.Module;
  };
}

// ---- instances ----

const visible = new WeakMap(); // the exports of instances that programs see
const renewed = new WeakMap(); // all exports of instances of Go, as renewing() makes them

/** All exports of an instance, with those that instrumentation has added. */
export function allExports(instance) {
  return renewed.get(instance) ?? Reflect.apply(getExports, instance, []);
}

// The program's own exports are before those that were added, of which the first is whammc:...
function ownPart(names) {
  const first = names.findIndex(name => name.startsWith('whammc:'));
  return first < 0 ? names.length : first;
}

function ownExports(all) {
  const names = Object.keys(all), own = Object.create(null);
  for (const name of names.slice(0, ownPart(names))) own[name] = all[name];
  return Object.freeze(own);
}

// The exports for our hosts. Some grow the memory: programs of Go keep a view of that, which `renew` makes anew, until they have ended.
function renewing(all, renew) {
  const wrap = f => (...args) => {
    const result = f(...args);
    try { renew(0); } catch { /* it has ended */ }
    return result;
  };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, typeof value === 'function' ? wrap(value) : value]));
}

// Calls made(instance) when the engine fulfils the promise that make() gives, before anybody else has the instance: the engine asks
// that for a method `then`, as anything that a promise is fulfilled with. Engines which do that later never call it.
function whenMade({ prototype }, make, made) {
  const before = Object.getOwnPropertyDescriptor(prototype, 'then');
  const putBack = () => (before ? Reflect.defineProperty(prototype, 'then', before) : Reflect.deleteProperty(prototype, 'then'));
  Reflect.defineProperty(prototype, 'then', { configurable: true, get() {
    putBack();
    made(this);
  } });
  try {
    return make();
  } finally {
    putBack();
  }
}

// What the engine takes for an import object, or for a missing one.
const isTaken = imports => imports !== null && ['undefined', 'object', 'function'].includes(typeof imports);

/**
 * Replaces WebAssembly.instantiate, WebAssembly.instantiateStreaming and WebAssembly.Instance, so that code that knows nothing of
 * whammc can load programs that import one of the modules `names`, or export whammc:flush. makeHost() gives the host of such an
 * instance: { imports, attach({ exports: all of them }, module, url, what it was given for imports) }.
 *
 * Modules that are `owned` have been instrumented behind the program's back: it does not know of `names`, and does not see them. For
 * others, and in pages that have made hosts for themselves, what the program gives goes first. Returns what puts it all back.
 *
 * `realm` is the context of node:vm in which it replaces them, as contexts.js gives it.
 */
export function intercept(names, makeHost, owned = () => false, realm = globalThis) {
  const { WebAssembly } = realm, isOther = realm !== globalThis, errors = isOther && errorsOf(realm);
  const endExplaining = explainCompilers(names, WebAssembly), endStacks = parts.stacks?.intercept(realm, callEngine);
  const { Module, Instance, compile, compileStreaming, instantiate, instantiateStreaming } = WebAssembly;
  const { imports: importsOf, exports: exportsOf, customSections } = Module; // as scripts that were loaded before show them
  const exportsProperty = Object.getOwnPropertyDescriptor(Instance.prototype, 'exports');
  const known = new WeakMap();
  let isEarly = null; // whether whenMade() works here

  function find(module) {
    let all;
    try {
      all = importsOf(module);
    } catch {
      return null; // it is no module
    }
    const asked = all.filter(one => names.includes(one.module)).length;
    if (!asked && !exportsOf(module).some(one => one.name === FLUSH)) return null;
    return { asked, alone: asked === all.length, renews: all.some(one => GO.includes(one.module) && one.name === RENEW) };
  }

  // Promises and objects that programs see are of their own context.
  const ofRealm = promise => (isOther ? new realm.Promise((resolve, reject) => { promise.then(resolve, reject); }) : promise);
  const pairOf = (module, instance) => Object.assign(new realm.Object(), { module, instance });

  // What a module wants, or null if it is none of ours.
  function wantsOf(module) {
    if (typeof module !== 'object' || module === null) return null;
    if (!known.has(module)) known.set(module, find(module));
    return known.get(module);
  }

  // One instantiation: the arguments for the engine, and what is to be done with the instance. Null if there is nothing to do.
  function begin([module, given, ...rest]) {
    const wants = isTaken(given) && !parts.served.has(given) && wantsOf(module);
    if (!wants || (given === undefined && !wants.alone)) return null; // then the engine says what is wrong
    const isOwned = owned(module) && !parts.hosts.byHand;
    let host = null, renew;
    function get(_, name) {
      const isOurs = names.includes(name), found = given === undefined || (isOurs && isOwned) ? undefined : Reflect.get(given, name);
      if (isOurs && found === undefined) return (host ??= offerHost(makeHost)).imports[name];
      if (!wants.renews || !GO.includes(name) || !isTaken(found) || !found) return found;
      return new Proxy({}, { get(_, field) {
        const value = Reflect.get(found, field);
        if (field === RENEW) renew = value;
        return value;
      } });
    }
    function finish(instance, url = '') {
      if (!wants.asked) host = offerHost(makeHost); // --host=none
      if (!host || visible.has(instance)) return instance;
      const all = allExports(instance);
      visible.set(instance, ownExports(all));
      if (renew) renewed.set(instance, renewing(all, renew));
      if (isOther) parts.errors.add(errors);
      host.attach({ exports: allExports(instance) }, module, url, given);
      return instance;
    }
    const imports = new Proxy({}, { get });
    parts.served.add(imports);
    return { args: [module, wants.asked ? imports : given, ...rest], finish };
  }

  function tryEarly() {
    let early = false;
    try {
      whenMade(Instance, () => instantiate(new Module(EMPTY_MODULE)), () => { early = true; });
    } catch { /* where code may not be compiled, only loaded */ }
    return early;
  }

  // WebAssembly.instantiate of a module; `response`: what that came from, if it is known.
  function instantiateModule(given, response) {
    const job = begin(given);
    if (!job) return Reflect.apply(instantiate, WebAssembly, given);
    isEarly ??= tryEarly();
    const finish = async instance => job.finish(await instance, (await response)?.url);
    if (response || !isEarly) return ofRealm(finish(Reflect.apply(instantiate, WebAssembly, job.args)));
    return whenMade(Instance, () => Reflect.apply(instantiate, WebAssembly, job.args), job.finish);
  }

  // Both forms that compile, too: `module` is a promise.
  async function instantiateBoth(module, rest, response) {
    try {
      module = await module;
    } catch (error) {
      throw asInstantiating(error);
    }
    return pairOf(module, await instantiateModule([module, ...rest], response));
  }

  WebAssembly.instantiate = new Proxy(instantiate, {
    apply(target, self, given) {
      const [source, imports, ...options] = given;
      if (wantsOf(source)) return instantiateModule(given);
      if (!isTaken(imports) || !mayBeOurs(source, names)) return Reflect.apply(target, self, given);
      return ofRealm(instantiateBoth(compile(source, ...options), given.slice(1)));
    },
  });
  if (instantiateStreaming)
    WebAssembly.instantiateStreaming = new Proxy(instantiateStreaming, {
      apply(target, self, given) {
        const [response, imports, ...options] = given;
        if (!given.length || !isTaken(imports)) return Reflect.apply(target, self, given);
        return ofRealm(instantiateBoth(compileStreaming(response, ...options), given.slice(1), response));
      },
    });
  WebAssembly.Instance = new Proxy(Instance, {
    construct(target, given, newTarget) {
      const job = begin(given);
      const instance = callEngine(this.construct, () => Reflect.construct(target, job?.args ?? given, newTarget));
      return job ? job.finish(instance) : instance;
    },
  });
  Instance.prototype.constructor = WebAssembly.Instance;
  Object.defineProperty(Instance.prototype, 'exports', { ...exportsProperty, get: new Proxy(exportsProperty.get, {
    apply(target, self, args) {
      return visible.get(self) ?? callEngine(this.apply, () => Reflect.apply(target, self, args));
    },
  }) });

  const changeReflection = (name, change) => {
    Module[name] = new Proxy(Module[name], {
      apply(target, self, args) {
        const found = callEngine(this.apply, () => Reflect.apply(target, self, args));
        return owned(args[0]) ? change(found, args) : found;
      },
    });
  };
  changeReflection('imports', found => found.filter(one => !names.includes(one.module)));
  changeReflection('exports', found => found.slice(0, ownPart(found.map(one => one.name))));
  changeReflection('customSections', (found, [, name]) => (/^whammc(\.|$)/.test(name) ? [] : found));

  return () => {
    Object.assign(WebAssembly, { instantiate, Instance, ...instantiateStreaming && { instantiateStreaming } });
    Object.assign(Module, { imports: importsOf, exports: exportsOf, customSections });
    Object.defineProperty(Instance.prototype, 'exports', exportsProperty);
    Instance.prototype.constructor = Instance;
    endStacks?.();
    endExplaining();
  };
}
