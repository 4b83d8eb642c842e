// lib/wasm.mjs - the compiler's module: loads it, makes instances, and reads and writes their memory.
//
// An engine is an instance. Its memory does not shrink, and after an error in the middle of a call its state is undefined; so
// engines hold no state that cannot be recreated, and are discarded when they are large or broken.

const ENOSYS = 52; // as Emscripten's C library numbers it
const LARGE = 64 << 20; // bytes: larger memories are not kept

// ---- loading ----

const { compile: compileBytes, compileStreaming, Instance } = WebAssembly; // the engine's, also where whammc/register puts its own in their place
let standard = null; // the URL of whammc.wasm
let loading = null; // a promise of the module
let loaded = null;

/** Where whammc.wasm is if nobody says otherwise. */
export function setLocation(url) {
  standard = url;
}

async function compileFile(url) {
  const node = 'node:fs'; // not for bundlers to look at
  const { readFileSync } = await import(/* webpackIgnore: true */ /* @vite-ignore */ node);
  return compileBytes(readFileSync(url)); // of a file of this size, promises take ten times as long
}

async function compileResponse(response) {
  const answer = await response;
  if (!answer.ok) throw new Error(`whammc: ${answer.url || 'whammc.wasm'}: HTTP status ${answer.status}`);
  if (compileStreaming && /^application\/wasm\b/.test(answer.headers.get('content-type') ?? ''))
    return compileStreaming(answer);
  return compileBytes(await answer.arrayBuffer());
}

async function compileSource(source) {
  const given = await source;
  if (typeof given === 'string' || given instanceof URL) {
    const url = new URL(given, globalThis.location?.href ?? standard);
    return url.protocol === 'file:' ? compileFile(url) : compileResponse(fetch(url));
  }
  if (given instanceof WebAssembly.Module) return given;
  if (ArrayBuffer.isView(given) || given instanceof ArrayBuffer) return compileBytes(given);
  if (typeof given?.arrayBuffer === 'function') return compileResponse(given);
  throw new TypeError('whammc: init() takes a URL, a Response, bytes or a WebAssembly.Module');
}

/**
 * Loads the compiler, once; all functions do that by themselves. `source` says where it comes from, for those who come
 * first: a URL, a Response, bytes, or a WebAssembly.Module that another thread has compiled. Gives the module.
 */
export function init(source) {
  if (!loading) {
    loading = compileSource(source ?? standard).then(module => (loaded = module));
    loading.catch(() => (loading = null)); // it can be tried again
  }
  return loading;
}

// ---- the host ----

/** The program has ended, with a status. */
export class Exit extends Error {
  constructor(status) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

// For names of temporary files, and for libraries of scripts that ask for some.
function randomBytes(size) {
  const bytes = new Uint8Array(size);
  if (globalThis.crypto) crypto.getRandomValues(bytes); // not in Node 18
  else for (let i = 0; i < size; i++) bytes[i] = Math.random() * 256;
  return bytes;
}

/**
 * What an instance imports that has no files: time, memory, and messages before it gives up. Addresses come as i32, so those from 2 GB
 * on are negative.
 */
function createImports(engine) {
  const said = [];
  let high = 0;
  const putTime = (at, ns) => {
    engine.putWord(at, Math.floor(ns / 1e9));
    engine.putWord(at + 4, ns % 1e9);
    return 0;
  };
  const setTime = (clock, at) => putTime(at, Math.round((clock ? performance.now() : Date.now()) * 1e6));
  const imports = {
    emscripten_memcpy_big: (to, from, size) => {
      engine.bytes.copyWithin(to >>> 0, from >>> 0, (from >>> 0) + (size >>> 0));
    },
    emscripten_resize_heap: size => engine.grow(size >>> 0),
    emscripten_get_heap_max: () => 0xffff0000,
    abort: () => {
      throw new WebAssembly.RuntimeError(`whammc: ${said.join('').trim() || 'aborted'}`);
    },
    proc_exit: status => {
      throw new Exit(status);
    },
    exit: status => {
      throw new Exit(status);
    },
    clock_gettime: setTime,
    __clock_gettime: setTime,
    clock_getres: (clock, at) => putTime(at, 1000000),
    time: at => {
      const now = Math.floor(Date.now() / 1000);
      if (at) engine.putWord(at, now);
      return now;
    },
    setTempRet0: value => {
      high = value;
    },
    getTempRet0: () => high,
    __assert_fail: (condition, file, line) => {
      throw new WebAssembly.RuntimeError(`${engine.text(file)}:${line}: ${engine.text(condition)}`);
    },
    environ_sizes_get: (count, size) => {
      engine.putWord(count, 0);
      engine.putWord(size, 0);
      return 0;
    },
    environ_get: () => 0,
    getentropy: (at, size) => {
      engine.bytes.set(randomBytes(size), at >>> 0);
      return 0;
    },
    fd_write: (fd, vectors, count, written) => {
      let size = 0;
      for (let i = 0; i < count; i++) {
        const at = engine.u32(vectors + 8 * i), n = engine.u32(vectors + 8 * i + 4);
        said.push(decode(engine.part(at, n)));
        size += n;
      }
      engine.putWord(written, size);
      return 0;
    },
    js_write: (call, stream, at, size) => engine.call(call, stream, decode(engine.part(at, size))),
    js_item: (call, item) => engine.call(call, item),
    js_source: (call, path, size) => engine.call(call, engine.text(path), size),
    js_find: (call, from, path, file) => engine.call(call, engine.text(from), engine.text(path), file),
  };
  return imports;
}

// ---- memory ----

const decoder = new TextDecoder(), encoder = new TextEncoder();

export function decode(bytes) {
  return decoder.decode(bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice());
}

// As JsKind in bridge.h numbers them.
const STRUCT = 0, BOOL = 1, I32 = 2, U32 = 3, I64 = 4, U64 = 5, F64 = 6, STRING = 7, POINTER = 8;
const MEMBER_SIZE = 16;

/** A number where numbers are exact, else a bigint. */
export function plainNumber(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

let structures = null; // name to { size, members: [{ name, offset, kind }] }; the same for all instances

function readStructures(engine) {
  const found = new Map();
  for (let at = engine.exports.js_members(); engine.u32(at); at += MEMBER_SIZE) {
    const owner = engine.text(engine.u32(at)), name = engine.text(engine.u32(at + 4));
    const offset = engine.u32(at + 8), kind = engine.u32(at + 12);
    if (kind === STRUCT) found.set(owner, { size: offset, members: [] });
    else found.get(owner).members.push({ name, offset, kind });
  }
  return found;
}

/** An instance of the compiler. */
export class Engine {
  #callbacks = new Map();
  #calls = 0;
  #bytes = null;
  #view = null;

  /** `host(engine)` gives functions that the instance imports, by their names, besides those that all have. */
  constructor(module, host = () => ({})) {
    const functions = { ...createImports(this), ...host(this) }, imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      (imports[from] ??= {})[name] = functions[name] ?? (() => -ENOSYS);
    this.exports = new Instance(module, imports).exports;
    this.exports.__wasm_call_ctors();
    structures ??= readStructures(this);
  }

  // Views are made again when the memory has grown.
  get bytes() {
    const { buffer } = this.exports.memory;
    if (this.#bytes?.buffer !== buffer) this.#bytes = new Uint8Array(buffer);
    return this.#bytes;
  }

  get view() {
    const { buffer } = this.exports.memory;
    if (this.#view?.buffer !== buffer) this.#view = new DataView(buffer);
    return this.#view;
  }

  get isLarge() {
    return this.exports.memory.buffer.byteLength > LARGE;
  }

  /** Makes the memory at least so large, and larger than that if it can, so that it seldom has to grow. */
  grow(size) {
    const PAGE = 65536, { memory } = this.exports, now = memory.buffer.byteLength;
    for (const wanted of [Math.max(size, Math.min(now * 1.25, now + (96 << 20))), size]) {
      try {
        memory.grow(Math.ceil((Math.min(wanted, 0xffff0000) - now) / PAGE));
        return 1;
      } catch {
        // less, perhaps
      }
    }
    return 0;
  }

  u32(at) {
    return this.view.getUint32(at >>> 0, true);
  }

  /** Writes a word of 32 bits. */
  putWord(at, value) {
    this.view.setUint32(at >>> 0, value, true);
  }

  /** A view of some bytes. */
  part(at, size) {
    const from = at >>> 0;
    return this.bytes.subarray(from, from + size);
  }

  /** The text at an address; null at 0. */
  text(at) {
    if (!at) return null;
    const { bytes } = this, from = at >>> 0;
    return decode(bytes.subarray(from, bytes.indexOf(0, from)));
  }

  /** A copy of what the functions of the library have made, which is released. */
  take(at, size) {
    const from = at >>> 0, copy = this.bytes.slice(from, from + size);
    this.exports.whammc_release(at);
    return copy;
  }

  #member(at, kind) {
    const { view } = this;
    switch (kind) {
      case BOOL: return view.getUint8(at) !== 0;
      case I32: return view.getInt32(at, true);
      case I64: return plainNumber(view.getBigInt64(at, true));
      case U64: return plainNumber(view.getBigUint64(at, true));
      case F64: return view.getFloat64(at, true);
      case STRING: return this.text(view.getUint32(at, true));
      default: return view.getUint32(at, true);
    }
  }

  /** A structure as an object; addresses of anything but texts stay numbers. */
  read(name, at) {
    const object = {}, from = at >>> 0;
    for (const member of structures.get(name).members) object[member.name] = this.#member(from + member.offset, member.kind);
    return object;
  }

  /** One member of a structure. */
  readMember(name, member, at) {
    const { offset, kind } = structures.get(name).members.find(each => each.name === member);
    return this.#member((at >>> 0) + offset, kind);
  }

  /** `count` structures that follow each other. */
  readAll(name, at, count) {
    const { size } = structures.get(name), from = at >>> 0;
    return Array.from({ length: count }, (_, i) => this.read(name, from + i * size));
  }

  size(name) {
    return structures.get(name).size;
  }

  /** Puts values into a structure: numbers, truth values, addresses. */
  write(name, at, values) {
    const { members } = structures.get(name), { view } = this;
    for (const [key, value] of Object.entries(values)) {
      const { offset, kind } = members.find(member => member.name === key);
      if (kind === BOOL) view.setUint8(at + offset, value ? 1 : 0);
      else if (kind === I64 || kind === U64) view.setBigInt64(at + offset, BigInt(value), true);
      else view.setUint32(at + offset, Number(value), true);
    }
  }

  /** The number under which C calls a function. */
  callback(call) {
    this.#callbacks.set(++this.#calls, call);
    return this.#calls;
  }

  forget(number) {
    this.#callbacks.delete(number);
  }

  call(number, ...values) {
    return this.#callbacks.get(number)(...values);
  }
}

/** What is in an engine's memory for the time of some calls. */
export class Scope {
  #pointers = [];
  #callbacks = [];

  constructor(engine) {
    this.engine = engine;
  }

  zeros(size) {
    const at = this.engine.exports.malloc(Math.max(size, 1)) >>> 0;
    if (!at) throw new RangeError('whammc: there is not enough memory');
    this.#pointers.push(at);
    this.engine.bytes.fill(0, at, at + size);
    return at;
  }

  bytes(bytes) {
    const at = this.zeros(bytes.length + 1);
    this.engine.bytes.set(bytes, at);
    return at;
  }

  /** A text; 0 if it is undefined or null. */
  text(text) {
    if (text === undefined || text === null) return 0;
    const string = String(text);
    if (string.includes('\0')) throw new TypeError('whammc: a text with a NUL where none can be');
    return this.bytes(encoder.encode(string));
  }

  /** An array of texts that ends with NULL; 0 if there is none. */
  texts(list) {
    if (list === undefined || list === null) return 0;
    const pointers = list.map(text => this.text(text));
    const at = this.zeros(4 * (pointers.length + 1));
    pointers.forEach((pointer, i) => this.engine.putWord(at + 4 * i, pointer));
    return at;
  }

  structure(name, values = {}) {
    const at = this.zeros(this.engine.size(name));
    this.engine.write(name, at, values);
    return at;
  }

  callback(call) {
    const number = this.engine.callback(call);
    this.#callbacks.push(number);
    return number;
  }

  free() {
    for (const pointer of this.#pointers) this.engine.exports.free(pointer);
    for (const number of this.#callbacks) this.engine.forget(number);
    this.#pointers = [];
    this.#callbacks = [];
  }
}

/** Gives C a text, or bytes, that it has asked for, and where it wants their number; 0 if there are none. */
export function giveBytes(scope, text, what, size) {
  if (text === undefined || text === null) return 0;
  const bytes = textBytes(text, what);
  scope.engine.putWord(size, bytes.length);
  return scope.bytes(bytes);
}

// ---- using engines ----

let idle = null; // an engine that nobody uses

/** A new engine; the module must have been loaded. */
export function createEngine() {
  return new Engine(loaded);
}

/** The bytes of a program. */
export function toBytes(bytes, what) {
  if (bytes instanceof Uint8Array) return bytes;
  if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && bytes instanceof SharedArrayBuffer))
    return new Uint8Array(bytes);
  throw new TypeError(`whammc: ${what}: expected bytes (Uint8Array, ArrayBuffer), found ${bytes === null ? 'null' : typeof bytes}`);
}

/** The bytes of a text, or bytes. */
export function textBytes(text, what) {
  return typeof text === 'string' ? encoder.encode(text) : toBytes(text, what);
}

/** What becomes of errors that come out of WebAssembly itself. */
export function explainFailure(error) {
  if (error instanceof RangeError && /stack|recursion/i.test(error.message))
    return new RangeError('whammc: nested too deeply for the stack of this JavaScript engine', { cause: error });
  if (error instanceof Exit || error instanceof WebAssembly.RuntimeError)
    return new Error(`whammc: the compiler failed, perhaps because there was not enough memory (${error.message})`, { cause: error });
  return error;
}

/** Calls `work(engine, scope)` with an engine that nobody else uses meanwhile. */
export function withEngine(work) {
  const engine = idle ?? createEngine(), scope = new Scope(engine);
  idle = null;
  let result;
  try {
    result = work(engine, scope);
  } catch (error) {
    if (error.keepsEngine) keep(engine, scope);
    throw explainFailure(error);
  }
  keep(engine, scope);
  return result;
}

function keep(engine, scope) {
  scope.free();
  if (!engine.isLarge) idle = engine;
}
