// Loads modules in all the ways that there are, and prints what it sees: the same with the hook and without.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';

const [file] = process.argv.slice(2), bytes = readFileSync(file), { Module } = WebAssembly;
const show = (...values) => console.log(JSON.stringify(values));
const respond = (body, type = 'application/wasm', status = 200) => new Response(body, { status, headers: { 'content-type': type } });
const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);

function look(title, module) {
  show(title, module instanceof Module, module.constructor === Module, Object.prototype.toString.call(module), Object.keys(module));
  show(Module.imports(module), Module.exports(module));
  for (const name of ['name', 'producers', 'whammc.key', 'whammc.traps', ''])
    show(name, Module.customSections(module, name).map(section => [section instanceof ArrayBuffer, Buffer.from(section).toString('base64')]));
}

function use(title, instance) {
  const { exports } = instance;
  show(title, instance instanceof WebAssembly.Instance, instance.constructor === WebAssembly.Instance, Object.keys(exports),
    Object.isFrozen(exports), Object.getPrototypeOf(exports), exports === instance.exports, Reflect.set(exports, 'other', 1));
  show(exports.run(10), exports.run(3), exports.g.value, exports.t.length, exports.memory.buffer.byteLength);
}

async function attempt(title, make) {
  let result;
  try {
    result = make();
    show(title, 'returns', result instanceof Promise);
    await result;
    show(title, 'is fulfilled');
  } catch (error) {
    show(title, result ? 'rejects' : 'throws', error.constructor.name, error.message);
  }
}

const module = new Module(bytes), imports = { host: { f: n => 2 * n + 1 } };
look('new Module', module);
use('new Instance', new WebAssembly.Instance(module, imports));
look('compile', await WebAssembly.compile(bytes));
use('instantiate module', await WebAssembly.instantiate(module, imports));
const both = await WebAssembly.instantiate(bytes, imports);
show(Object.keys(both));
look('instantiate', both.module);
use('instantiate bytes', both.instance);
look('ArrayBuffer', new Module(Uint8Array.from(bytes).buffer));
await attempt('DataView', () => look('DataView', new Module(new DataView(Uint8Array.from([0, ...bytes]).buffer, 1))));
const changed = Uint8Array.from(bytes), pending = WebAssembly.compile(changed);
changed.fill(0); // the bytes were copied
look('changed afterwards', await pending);
if (WebAssembly.compileStreaming) {
  look('compileStreaming', await WebAssembly.compileStreaming(respond(bytes)));
  use('instantiateStreaming', (await WebAssembly.instantiateStreaming(Promise.resolve(respond(bytes)), imports)).instance);
  await attempt('another type', () => WebAssembly.compileStreaming(respond(bytes, 'text/plain')));
  await attempt('not found', () => WebAssembly.compileStreaming(respond(bytes, 'application/wasm', 404)));
  await attempt('no response', () => WebAssembly.compileStreaming(bytes));
  await attempt('a rejected one', () => WebAssembly.instantiateStreaming(Promise.reject(new RangeError('mine'))));
}
const { port1, port2 } = new MessageChannel();
port1.postMessage(module);
look('a copy', receiveMessageOnPort(port2).message);
look('nothing in it', new Module(empty));

for (const [title, wrong] of Object.entries({ nothing: undefined, number: 1, none: new Uint8Array(), cut: bytes.subarray(0, 60), text: 'wasm' })) {
  await attempt(`Module ${title}`, () => new Module(wrong));
  await attempt(`compile ${title}`, () => WebAssembly.compile(wrong));
  await attempt(`instantiate ${title}`, () => WebAssembly.instantiate(wrong, {}));
  await attempt(`validate ${title}`, () => show(WebAssembly.validate(wrong)));
}
show(WebAssembly.validate(bytes), WebAssembly.validate(empty));
await attempt('Module without new', () => Module(bytes));
await attempt('no imports', () => new WebAssembly.Instance(module));
await attempt('imports without functions', () => WebAssembly.instantiate(module, { host: {} }));
await attempt('exports of nothing', () => Module.exports({}));
await attempt('sections without a name', () => Module.customSections(module));
for (const one of [Module, WebAssembly.compile, WebAssembly.instantiate, WebAssembly.Instance, Module.exports]) show(one.name, one.length);
show(Object.getOwnPropertyNames(WebAssembly).sort(), createRequire(import.meta.url)('node:vm') !== undefined);
