// The memory of atomic variables, which all threads of a process or page have: programs import it as whammc.atomics, and share it among
// themselves (src/storage/storage_atomics.c).
//
// In Node the main thread hands it on with the environment data of workers: each has it as soon as it begins. So it must exist before the
// workers do. In pages it comes with the first message to a worker (page/page-threads.js).
import { nodeModule, parts } from '../parts.js';

const ATOMICS = 'whammc.atomics', PAGES = 64;
let memory = null;

function makeMemory() {
  return new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true });
}

function runsInMain() {
  const { WorkerGlobalScope } = globalThis, threads = nodeModule('worker_threads');
  return threads ? threads.isMainThread : !(WorkerGlobalScope && globalThis instanceof WorkerGlobalScope);
}

parts.atomics ??= {
  /** Makes the memory in the main thread; another one takes what that has made, or is `given`. Gives it; null if there is none. */
  begin(given = null) {
    const threads = nodeModule('worker_threads');
    memory ??= runsInMain() ? makeMemory() : given ?? threads?.getEnvironmentData?.(ATOMICS) ?? null;
    if (memory) threads?.setEnvironmentData?.(ATOMICS, memory);
    return memory;
  },

  /** To be called when the script of a program is loaded that has such variables. */
  prepare() {
    if (nodeModule('worker_threads')) parts.atomics.begin();
  },

  /** The memory for programs of this thread; warn(text) tells if it is for them alone. */
  get(warn = text => console.warn(text)) {
    if (parts.atomics.begin()) return memory;
    warn('whammc: this thread has atomic variables of its own, as the main thread has given it no memory for them: there the script must be ' +
      'loaded before the thread begins');
    parts.atomics.isAlone = true;
    memory = makeMemory();
    return memory;
  },
};

if (!('atomics' in (parts.imports ?? {}))) parts.imports = { __proto__: parts.imports, get atomics() { return parts.atomics.get(); } };
