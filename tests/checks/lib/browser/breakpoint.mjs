// Stops in a program by the DevTools protocol: in Node's inspector, or in headless Chromium.
//   node breakpoint.mjs node|CHROMIUM MODULE OFFSET LOCAL ARGUMENT
// Prints as JSON what the exported function sum returned, and for each stop at the code offset: [offset, names of the functions on
// the stack, the value of the local].
import fs from 'node:fs';
import path from 'node:path';
import inspector from 'node:inspector';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { launch } from './chromium.mjs';

const [where, module, offset, local, argument] = process.argv.slice(2);
const bytes = fs.readFileSync(module).toString('base64');

// The program, where it is debugged.
const start = `globalThis.made = new WebAssembly.Instance(new WebAssembly.Module(
  Uint8Array.from(atob('${bytes}'), character => character.charCodeAt(0)))).exports; 0`;
const call = `made.sum(${Number(argument)})`;

/** What the debugger sees while the program runs: `tell` sends a command, `listen` takes who gets events. */
async function debug(tell, listen) {
  const stops = [], scripts = [];
  listen('Debugger.scriptParsed', params => { if (params.scriptLanguage === 'WebAssembly') scripts.push(params); });
  listen('Debugger.paused', async ({ callFrames }) => {
    const [frame] = callFrames, scope = frame.scopeChain.find(({ type }) => type === 'local');
    const { result } = await tell('Runtime.getProperties', { objectId: scope.object.objectId, ownProperties: true });
    const { value } = result[Number(local)], inside = await tell('Runtime.getProperties', { objectId: value.objectId });
    stops.push([frame.location.columnNumber, callFrames.map(({ functionName }) => functionName),
      inside.result.find(({ name }) => name === 'value').value.value]);
    await tell('Debugger.resume');
  });
  await tell('Debugger.enable');
  await tell('Runtime.evaluate', { expression: start });
  const [{ scriptId }] = scripts;
  await tell('Debugger.setBreakpoint', { location: { scriptId, lineNumber: 0, columnNumber: Number(offset) } });
  const { result } = await tell('Runtime.evaluate', { expression: call });
  return { result: result.value, stops };
}

/** In a worker, which debugs the main thread. */
async function inNode() {
  const session = new inspector.Session();
  session.connectToMainThread();
  const tell = (method, params) => new Promise((resolve, reject) => {
    session.post(method, params, (error, answer) => error ? reject(new Error(error.message)) : resolve(answer));
  });
  return debug(tell, (event, take) => session.on(event, ({ params }) => take(params)));
}

async function inChromium() {
  const browser = await launch(where, path.join(path.dirname(module), `profile-${process.pid}`));
  try {
    const page = await browser.open('about:blank');
    return await debug(page.tell, page.listen);
  } finally {
    await browser.close();
  }
}

if (where !== 'node') {
  console.log(JSON.stringify(await inChromium()));
} else if (isMainThread) {
  new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
    .on('message', seen => fs.writeSync(1, `${JSON.stringify(seen)}\n`) && process.exit()).on('error', error => { throw error; });
} else {
  setInterval(() => {}, 1000); // a session alone does not keep a thread
  parentPort.postMessage(await inNode());
}
