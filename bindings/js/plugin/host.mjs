// plugin/host.mjs - the part of the plugin that is in the bundle: WasmProf, and the imports of instrumented programs.
import { install } from '../host/wasmprof.js';

const SHARED = Symbol.for('whammc.plugin'), SECTION = 'whammc.names';

// Bundlers that import modules themselves (webpack's asyncWebAssembly) link these functions. They are placeholders: the host
// replaces them by its own, which need the instance.
function needsHost() {
  throw new Error('whammc: the program was not loaded by WebAssembly.instantiate');
}
export const write = () => needsHost(), now = () => needsHost(), next_sample = () => needsHost(), sampled = () => needsHost();
export const arrive = () => needsHost(), depart = () => needsHost(), thread = 0;

const shared = globalThis[SHARED] ?? { placeholders: new Set(), installed: false };
for (const each of [write, now, next_sample, sampled, arrive, depart]) shared.placeholders.add(each);

const arePlaceholders = found => Boolean(found) && Object.values(found).some(each => shared.placeholders.has(each));

// The arguments for WebAssembly.instantiate without the placeholders. What the program gives is read by the engine, as always.
function withoutPlaceholders([source, imports, ...rest]) {
  if (typeof imports !== 'object' || !imports) return [source, imports, ...rest];
  const shown = new Proxy({}, {
    get(_, name) {
      const found = Reflect.get(imports, name);
      return name === 'whammc' && arePlaceholders(found) ? undefined : found;
    },
  });
  return [source, shown, ...rest];
}

function registerNames(profiler, module) {
  for (const section of WebAssembly.Module.customSections(module, SECTION))
    profiler.register(JSON.parse(new TextDecoder().decode(section)));
}

function intercept(profiler) {
  for (const name of ['instantiate', 'instantiateStreaming']) {
    if (!WebAssembly[name]) continue;
    WebAssembly[name] = new Proxy(WebAssembly[name], {
      async apply(target, self, given) {
        const result = await Reflect.apply(target, self, given.length > 1 ? withoutPlaceholders(given) : given);
        registerNames(profiler, result.module ?? given[0]);
        return result;
      },
    });
  }
  const { Instance } = WebAssembly;
  WebAssembly.Instance = new Proxy(Instance, {
    construct(target, given, newTarget) {
      const instance = Reflect.construct(target, given.length > 1 ? withoutPlaceholders(given) : given, newTarget);
      registerNames(profiler, given[0]);
      return instance;
    },
  });
  Instance.prototype.constructor = WebAssembly.Instance;
}

if (!shared.installed) {
  shared.installed = true;
  Object.defineProperty(globalThis, SHARED, { value: shared });
  intercept(install({ id: SECTION, title: '', names: [], demangled: {} }));
}
