// All that a program can see of WebAssembly and of its modules, as [what, value]: in each engine, with instrumentation and without.
//
// What must differ is left out: names of exported functions (their numbers), the section `name`, the stacks of errors that reject
// promises, frames of whammc in those of the program's own errors, and the text of functions that are replaced. Promises that take
// longer than a few microtasks are settled 'later', and so are those of streams. Of Bun, neither the exact number of microtasks nor
// where errors were thrown is looked at.
const TICKS = 3, EMPTY = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
const SECTIONS = ['producers', 'dylink.0', 'whammc', 'whammc.traps', 'whammc.key', '', 'other'];
const IS_BUN = globalThis.Bun !== undefined, PLACES = ['line', 'column', 'originalLine', 'originalColumn', 'sourceURL', 'stack'];
const pause = ms => new Promise(done => { setTimeout(done, ms); });
const typed = body => new Response(body, { headers: { 'content-type': 'application/wasm' } });

const attributes = ({ value, get, set, ...rest }) => [typeof value, typeof get, typeof set, rest];
const describe = object => Reflect.ownKeys(object).map(key => [String(key), attributes(Object.getOwnPropertyDescriptor(object, key))]);

/** An error: its class, message and properties; with `stack` the places in this file, too. */
function tell(error, stack = false) {
  if (!(error instanceof Error)) return ['thrown', String(error)];
  const lines = String(error.stack).split('\n'), isOfEngine = error.message.startsWith('WebAssembly.');
  const places = lines.slice(1).filter(line => /^ {4}at /.test(line) && (isOfEngine || /observe\.mjs/.test(line))).map(line => line.replace(/^.*[(\/ ](.*?)\)?$/, '$1'));
  const message = error.message.replace(/ \(evaluating '.*'\)$/s, ''); // Bun says what was called
  return [error.constructor.name, message, describe(error).filter(([name]) => !IS_BUN || !PLACES.includes(name)), error.constructor === globalThis[error.name] || error.constructor === WebAssembly[error.name],
    stack && !IS_BUN ? [lines[0], places] : []];
}

// ---- import objects ----

const object = value => (typeof value === 'object' && value !== null) || typeof value === 'function';

/** The object, which writes down all that is done to it. */
function recording(target, name, log) {
  return new Proxy(target, new Proxy({}, {
    get: (_, trap) => (...args) => {
      log.push(`${trap} ${name}.${typeof args[1] === 'object' ? '' : String(args[1] ?? '')} ${trap === 'get' ? args[2] === undefined : ''}`);
      return Reflect[trap](...args);
    },
  }));
}

/** Emscripten's GOT: each name that is asked for becomes an entry. */
const got = (name, log) => new Proxy({}, { get(_, field) {
  log.push(`entry ${name}.${String(field)}`);
  return new WebAssembly.Global({ value: 'i32', mutable: true }, 7);
} });

class Private {
  #env;
  #log;
  constructor(env, log) {
    this.#env = env;
    this.#log = log;
  }
  get env() {
    this.#log.push('private env');
    return this.#env;
  }
  get ['GOT.mem']() { return got('mem', this.#log); }
  get ['GOT.func']() { return got('func', this.#log); }
}

function accessors(values, name, log) {
  const made = {};
  for (const key of Object.keys(values)) Object.defineProperty(made, key, { get() { log.push(`getter ${name}.${key} ${this === made}`); return values[key]; } });
  return made;
}

/** The import objects that are tried, each made anew; `log` is for what is done to them. */
function importObjects(log) {
  const env = () => ({ f: n => { log.push(`f ${n}`); return n + 1; }, started: () => { log.push('started'); }, 'whammc:': 1 });
  const all = () => ({ env: env(), 'GOT.mem': got('mem', log), 'GOT.func': got('func', log) });
  return {
    plain: all,
    frozen: () => Object.freeze({ ...all(), env: Object.freeze(env()) }),
    'no prototype': () => Object.assign(Object.create(null), all()),
    inherited: () => Object.create(all()),
    accessors: () => accessors({ ...all(), env: accessors(env(), 'env', log) }, 'imports', log),
    recording: () => recording({ ...all(), env: recording(env(), 'env', log) }, 'imports', log),
    private: () => new Private(env(), log),
    function: () => Object.assign(() => {}, all()),
    'of our names': () => ({ ...all(), whammc: 5, prof: null }),
    nothing: () => undefined,
    null: () => null,
    number: () => 5,
    text: () => 'text',
    empty: () => recording({}, 'imports', log),
    'a number as module': () => ({ ...all(), env: 5 }),
    'no function': () => ({ ...all(), env: { started() {} } }),
    'a number as function': () => ({ ...all(), env: { ...env(), f: 1 } }),
    'a module that throws': () => ({ get env() { throw new RangeError('mine'); } }),
    'a function that throws': () => ({ ...all(), env: { get f() { throw 'text'; } } }),
    'a start that throws': () => ({ ...all(), env: { ...env(), started() { throw new SyntaxError('at the start'); } } }),
  };
}

// ---- outcomes ----

/** How many microtasks pass until the promise is settled, or 'later'. */
async function ticksOf(promise) {
  let settled = false, ticks = 0;
  const done = () => { settled = true; };
  promise.then(done, done);
  while (!settled && ticks < TICKS) {
    await null;
    ticks++;
  }
  return settled ? (IS_BUN ? 'soon' : ticks) : 'later';
}

/** What comes of make(): thrown, returned or promised, and when; look(value) shows it. */
async function outcome(make, look, streams = false) {
  let value;
  try {
    value = make();
  } catch (error) {
    return ['throws', tell(error, true)];
  }
  const isPromise = value instanceof Promise;
  if (!isPromise) return ['returns', look(value)];
  const kind = [Object.getPrototypeOf(value) === Promise.prototype, describe(value), streams ? 'later' : await ticksOf(value)];
  try {
    return ['fulfils', kind, look(await value)];
  } catch (error) {
    return ['rejects', kind, tell(error)];
  }
}

function lookAtModule(module) {
  const { Module } = WebAssembly;
  const shown = one => [Module.imports(one), Module.exports(one), SECTIONS.map(name => Module.customSections(one, name).map(each => [...new Uint8Array(each)]))];
  const copy = structuredClone(module);
  return [Object.getPrototypeOf(module) === Module.prototype, module.constructor === Module, describe(module), String(module), shown(module), copy !== module, shown(copy)];
}

function lookAtInstance(instance) {
  const { Instance } = WebAssembly, { exports } = instance, enumerated = [];
  for (const name in exports) enumerated.push(name);
  const wrapped = new Proxy(instance, { get: (target, key) => (key === 'exports' ? { ...target.exports, more: 1 } : Reflect.get(target, key, target)) });
  const around = new Proxy(exports, {});
  let cloned;
  try {
    cloned = structuredClone(instance);
  } catch (error) {
    cloned = error.name; // the message has the name of the constructor, which is a Proxy
  }
  return [Object.getPrototypeOf(instance) === Instance.prototype, instance.constructor === Instance, describe(instance), String(instance), Object.isExtensible(instance),
    exports === instance.exports, Object.getPrototypeOf(exports), Object.isFrozen(exports), describe(exports), Object.keys(exports), enumerated,
    Object.entries(exports).map(([name, value]) => [name, Object.prototype.toString.call(value), typeof value === 'function' ? [value.length, describe(value)] : describe(value)]),
    ['whammc:flush', 'whammc:memory', 'get_entries', 'toString', 'then'].map(name => [name in exports, name in instance, exports[name]]),
    Object.keys(wrapped.exports), wrapped.exports.main?.(3), Object.keys(around), Object.getOwnPropertyNames(around).length, cloned,
    Reflect.set(exports, 'main', 1), Reflect.defineProperty(exports, 'extra', { value: 1 }), Reflect.set(instance, 'exports', 1),
    exports.main?.(4), exports.half?.(8), exports.table?.length, exports.g?.value];
}

const lookAtBoth = both => [Object.getPrototypeOf(both) === Object.prototype, describe(both), lookAtModule(both.module), lookAtInstance(both.instance)];

// ---- what is tried ----

async function unhandled(make) {
  const seen = [], { process } = globalThis;
  const take = error => { seen.push(tell(error)[0]); };
  const listener = event => { event.preventDefault(); take(event.reason); };
  const inPage = typeof globalThis.addEventListener === 'function' && !process?.on;
  if (inPage) globalThis.addEventListener('unhandledrejection', listener);
  else process.on('unhandledRejection', take);
  make();
  await pause(60);
  if (inPage) globalThis.removeEventListener('unhandledrejection', listener);
  else process.off('unhandledRejection', take);
  return seen;
}

/** Whether import objects, modules of functions and bytes are collected when nobody else has them. */
async function collected(bytes) {
  if (!globalThis.gc) return 'unknown';
  const log = [], refs = [];
  await (async () => {
    const copy = Uint8Array.from(bytes), imports = importObjects(log).plain();
    refs.push(new WeakRef(copy), new WeakRef(imports), new WeakRef(imports.env), new WeakRef(imports['GOT.mem']));
    globalThis.kept = [(await WebAssembly.instantiate(copy, imports)).instance];
    const other = importObjects(log).plain();
    refs.push(new WeakRef(other), new WeakRef(other.env));
    globalThis.kept.push(new WebAssembly.Instance(new WebAssembly.Module(copy), other));
  })();
  for (let i = 0; i < 5; i++) {
    await pause(5);
    globalThis.gc();
  }
  return refs.map(ref => ref.deref() === undefined);
}

/** Of the functions themselves. */
function ofFunctions(record) {
  const { Module, Instance } = WebAssembly;
  for (const holder of [WebAssembly, Module, Instance, Module.prototype, Instance.prototype]) record('properties', describe(holder));
  for (const one of [...Object.values(Object.getOwnPropertyDescriptors(WebAssembly)), ...Object.values(Object.getOwnPropertyDescriptors(Module)),
    Object.getOwnPropertyDescriptor(Instance.prototype, 'exports')].map(each => each.value ?? each.get).filter(each => typeof each === 'function'))
    record(`function ${one.name}`, [one.name, one.length, Object.getPrototypeOf(one) === Function.prototype, describe(one), 'prototype' in one]);
  record('constructors', [Module.prototype.constructor === Module, Instance.prototype.constructor === Instance]);
}

/** Arguments that are wrong. */
async function ofArguments(record, bytes, module) {
  const { Module, Instance } = WebAssembly, detached = Uint8Array.from(bytes);
  structuredClone(detached, { transfer: [detached.buffer] });
  const sources = { none: undefined, null: null, number: 5, text: 'text', object: {}, empty: new Uint8Array(), garbage: new Uint8Array(9), cut: bytes.subarray(0, 60),
    'no end': bytes.subarray(0, -1), detached, module: EMPTY, wide: new Uint16Array(EMPTY.buffer), view: new DataView(EMPTY.buffer), buffer: EMPTY.buffer };
  for (const [name, source] of Object.entries(sources)) {
    record(`validate ${name}`, await outcome(() => WebAssembly.validate(source), value => value));
    record(`new Module ${name}`, await outcome(() => new Module(source), lookAtModule));
    record(`new Instance ${name}`, await outcome(() => new Instance(source, {}), lookAtInstance));
    record(`compile ${name}`, await outcome(() => WebAssembly.compile(source), lookAtModule));
    record(`instantiate ${name}`, await outcome(() => WebAssembly.instantiate(source, {}), lookAtBoth));
    record(`instantiate ${name}, alone`, await outcome(() => WebAssembly.instantiate(source), lookAtBoth));
    if (!WebAssembly.compileStreaming || source === undefined) continue;
    record(`compileStreaming ${name}`, await outcome(() => WebAssembly.compileStreaming(source), lookAtModule, true));
    record(`instantiateStreaming ${name}`, await outcome(() => WebAssembly.instantiateStreaming(source, {}), lookAtBoth, true));
    if (!(source instanceof Uint8Array) || name === 'detached') continue;
    record(`compileStreaming of a response: ${name}`, await outcome(() => WebAssembly.compileStreaming(typed(source)), lookAtModule, true));
    record(`instantiateStreaming of a response: ${name}`, await outcome(() => WebAssembly.instantiateStreaming(typed(source), {}), lookAtBoth, true));
  }
  for (const name of ['compile', 'instantiate', 'validate', 'compileStreaming', 'instantiateStreaming'].filter(one => WebAssembly[one])) {
    record(`${name}()`, await outcome(() => WebAssembly[name](), value => value, name.endsWith('Streaming')));
    record(`new ${name}`, await outcome(() => new WebAssembly[name](bytes), value => value));
    const taken = WebAssembly[name];
    record(`${name}, taken out`, await outcome(() => taken(EMPTY), value => typeof value, name.endsWith('Streaming')));
  }
  for (const one of [Module, Instance]) {
    record(`${one.name} without new`, await outcome(() => one(module), value => value));
    record(`new ${one.name}()`, await outcome(() => new one(), value => value));
  }
  for (const name of ['imports', 'exports', 'customSections'])
    for (const args of [[], [5], [{}], [module], [module, undefined], [module, { toString: () => 'other' }]])
      record(`Module.${name} of ${args.length}`, await outcome(() => Module[name](...args), value => value.length));
  const { get } = Object.getOwnPropertyDescriptor(Instance.prototype, 'exports');
  for (const self of [undefined, 5, {}, Instance.prototype, new Proxy(new Instance(new Module(EMPTY)), {})])
    record('exports of something else', await outcome(() => get.call(self), value => value));
  record('Module, derived', await outcome(() => new (class Mine extends Module { get mine() { return 1; } })(bytes), made => [made.mine, made instanceof Module, Module.exports(made)]));
  if (!WebAssembly.compileStreaming) return;
  record('another type', await outcome(() => WebAssembly.instantiateStreaming(new Response(bytes), {}), lookAtBoth, true));
  record('not found', await outcome(() => WebAssembly.instantiateStreaming(new Response(bytes, { status: 404, headers: { 'content-type': 'application/wasm' } }), {}), lookAtBoth, true));
  record('rejected', await outcome(() => WebAssembly.instantiateStreaming(Promise.reject(new RangeError('mine')), {}), lookAtBoth, true));
  record('wrong imports', await outcome(() => WebAssembly.instantiateStreaming(typed(bytes), 5), lookAtBoth, true));
}

/** All ways to load a program, with all import objects. */
async function ofProgram(record, title, bytes) {
  const { Module } = WebAssembly, module = new Module(bytes), log = [];
  record(`${title}: new Module`, lookAtModule(module));
  record(`${title}: compile`, await outcome(() => WebAssembly.compile(bytes), lookAtModule));
  record(`${title}: validate`, WebAssembly.validate(bytes));
  if (WebAssembly.compileStreaming) record(`${title}: compileStreaming`, await outcome(() => WebAssembly.compileStreaming(typed(bytes)), lookAtModule, true));
  const { port1, port2 } = new MessageChannel();
  const sent = await new Promise(done => { port2.onmessage = done; port1.postMessage(module); });
  record(`${title}: sent`, lookAtModule(sent.data));
  port1.close();
  const ways = {
    'new Instance': imports => [() => new WebAssembly.Instance(module, imports), lookAtInstance],
    'a derived Instance': imports => [() => new (class Mine extends WebAssembly.Instance { get mine() { return 1; } })(module, imports), made => [made.mine, Object.keys(made.exports)]],
    'instantiate a module': imports => [() => WebAssembly.instantiate(module, imports), lookAtInstance],
    'instantiate a copy': imports => [() => WebAssembly.instantiate(sent.data, imports), lookAtInstance],
    'instantiate bytes': imports => [() => WebAssembly.instantiate(bytes, imports), lookAtBoth],
    'instantiate a buffer': imports => [() => WebAssembly.instantiate(Uint8Array.from(bytes).buffer, imports), lookAtBoth],
    ...WebAssembly.instantiateStreaming && {
      instantiateStreaming: imports => [() => WebAssembly.instantiateStreaming(typed(bytes), imports), lookAtBoth],
      'instantiateStreaming a promise': imports => [() => WebAssembly.instantiateStreaming(Promise.resolve(typed(bytes)), imports), lookAtBoth],
    },
  };
  for (const [way, make] of Object.entries(ways))
    for (const [kind, imports] of Object.entries(importObjects(log))) {
      log.length = 0;
      const given = imports(), [call, look] = make(given);
      const seen = await outcome(call, value => [log.splice(0), look(value)], /Streaming/.test(way));
      record(`${title}: ${way}, ${kind}: imports`, seen);
      record(`${title}: ${way}, ${kind}: what was read`, [...log]);
    }
  record(`${title}: not handled`, [await unhandled(() => WebAssembly.instantiate(bytes, {})), await unhandled(() => WebAssembly.instantiate(module, {})),
    await unhandled(() => { WebAssembly.instantiate(module, {}).catch(() => {}); })]);
  record(`${title}: collected`, await collected(bytes));
}

/** `programs`: bytes by name; `others`: the same of modules that are not instrumented. Gives [what, value]. */
export async function observe(programs, others) {
  Error.stackTraceLimit = 50;
  const seen = [], record = (what, value) => { seen.push([what, value]); };
  ofFunctions(record);
  const [bytes] = Object.values(others);
  await ofArguments(record, bytes, new WebAssembly.Module(bytes));
  for (const [title, program] of Object.entries({ ...programs, ...others })) await ofProgram(record, title, program);
  ofFunctions(record);
  return seen;
}

/** How many values there are in what was seen. */
export const count = value => (object(value) ? Object.values(value).reduce((sum, each) => sum + count(each), 0) : 1);

/** As lines, so that they can be compared. */
export const linesOf = seen => seen.map(([what, value]) => JSON.stringify([what, count(value), value], (_, each) => (each === undefined ? 'undefined' : typeof each === 'bigint' ? `${each}` : each)));
