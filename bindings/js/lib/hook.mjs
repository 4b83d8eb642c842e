// lib/hook.mjs - what the hooks for Node (register.mjs) and for pages (register-page.mjs) share: they instrument what is compiled, and
// the program sees its modules as they were.
import { bytesOf, callEngine } from '../host/intercept.js';
import { KEY_SECTION } from './sections.mjs';

const { Module } = WebAssembly, { customSections: sectionsOf } = Module; // the engine's own

/** Whether the engine takes views of bytes that are no typed arrays: Node 24 does not. */
const takesViews = (() => {
  try {
    return WebAssembly.validate(new DataView(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0).buffer));
  } catch {
    return false;
  }
})();

/** The bytes at this moment, or null if they are none: then the engine says so. */
export function copyBytes(source) {
  try {
    return Object.prototype.toString.call(source) === '[object DataView]' && !takesViews ? null : bytesOf(source)?.slice() ?? null;
  } catch { // detached
    return null;
  }
}

/** Why the engine does not take an instrumented module. `engines`: some that have several memories. */
export function whyInvalid(bytes, engines) {
  try {
    new Module(bytes);
    return 'the engine does not take the instrumented module';
  } catch (error) {
    const hint = /memor(y count|ies)/.test(error.message) ? `; it needs multi-memory, which ${engines}` : '';
    return `the engine does not take the instrumented module: ${error.message}${hint}`;
  }
}

/** What becomes of a module that is not instrumented: it is loaded as it was, with one warning for each problem; if `strict`, it fails. */
export function createRefusal(strict, say) {
  const warned = new Set();
  return (problem, original) => {
    if (!WebAssembly.validate(original)) return original; // the engine's message is the one that is expected
    if (strict) throw new WebAssembly.CompileError(`whammc: ${problem}`);
    if (!warned.has(problem)) say(`a module of ${original.length} bytes is not instrumented: ${problem}`);
    warned.add(problem);
    return original;
  };
}

function wrap(object, name, handler) {
  const descriptor = Object.getOwnPropertyDescriptor(object, name);
  if (descriptor) Object.defineProperty(object, name, { ...descriptor, value: new Proxy(descriptor.value, handler) });
}

/** The response with instrumented bytes; one that the engine would refuse stays as it is. */
async function instrumentResponse(given, instrument, { Response = globalThis.Response }) {
  const response = await given, isOne = response instanceof Response || response instanceof globalThis.Response;
  const type = isOne && response.headers.get('content-type')?.trim().toLowerCase();
  if (!response?.ok || response.bodyUsed || type !== 'application/wasm') return response;
  const bytes = await instrument(await response.arrayBuffer(), response.url);
  const made = new Response(bytes, { headers: { 'content-type': 'application/wasm' } });
  Object.defineProperty(made, 'url', { value: response.url });
  return made;
}

/**
 * Instruments what is compiled. Goes on top of intercept(), which instantiates. `instrument` gives bytes; `instrumentLater`, for
 * what gives a promise anyway, may give a promise of them. `realm`: of which context, as for intercept().
 */
export function wrapCompilers(instrument, instrumentLater = instrument, realm = globalThis) {
  const { WebAssembly } = realm;
  const ofRealm = promise => (realm === globalThis ? promise : new realm.Promise((resolve, reject) => { promise.then(resolve, reject); }));
  for (const name of ['compile', 'instantiate'])
    wrap(WebAssembly, name, {
      apply(target, self, given) {
        const compile = bytes => Reflect.apply(target, self, [bytes, ...given.slice(1)]);
        if (!given.length) return Reflect.apply(target, self, given);
        try {
          const bytes = instrumentLater(given[0]);
          return bytes instanceof Promise ? ofRealm(bytes.then(compile)) : compile(bytes);
        } catch (error) {
          return realm.Promise.reject(error);
        }
      },
    });
  for (const name of ['compileStreaming', 'instantiateStreaming'])
    wrap(WebAssembly, name, {
      apply(target, self, given) {
        if (!given.length) return Reflect.apply(target, self, given);
        return Reflect.apply(target, self, [instrumentResponse(given[0], instrumentLater, realm), ...given.slice(1)]);
      },
    });
  wrap(WebAssembly, 'Module', {
    construct(target, given, self) {
      const made = given.length ? [instrument(given[0]), ...given.slice(1)] : given;
      return callEngine(this.construct, () => Reflect.construct(target, made, self));
    },
  });
  WebAssembly.Module.prototype.constructor = WebAssembly.Module;
}

/** By what a module was cached, null = it is not instrumented. */
export function keyOf(module) {
  const [section] = Reflect.apply(sectionsOf, Module, [module, KEY_SECTION]);
  return section ? new TextDecoder().decode(section) : null;
}

/**
 * Lets WebAssembly.Module.customSections() tell of the original modules. `originalSections(key, name)`: custom sections of an original,
 * null = they are not known.
 */
export function wrapSections(originalSections, { WebAssembly } = globalThis) {
  wrap(WebAssembly.Module, 'customSections', {
    apply(target, self, args) {
      const found = callEngine(this.apply, () => Reflect.apply(target, self, args)), key = keyOf(args[0]);
      return (key && originalSections(key, `${args[1]}`)) ?? found;
    },
  });
}
