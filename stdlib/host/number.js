// The number of a thread, which scripts know as `thread`: in Node its threadId; 0 in a page, and a random one in each worker of a page, where
// threads have no numbers.
import { nodeModule, parts } from './parts.js';

function findThreadNumber() {
  const { WorkerGlobalScope, process } = globalThis, known = nodeModule('worker_threads')?.threadId;
  if (known === undefined && process?.versions?.node) throw new Error('whammc: this version of Node does not tell the number of the thread');
  return known ?? (WorkerGlobalScope && globalThis instanceof WorkerGlobalScope ? 1 + Math.floor(Math.random() * 0x7ffffffe) : 0);
}

parts.number ??= () => (parts.thread ??= findThreadNumber());
if (!('thread' in (parts.imports ?? {}))) parts.imports = { __proto__: parts.imports, get thread() { return parts.number(); } };
