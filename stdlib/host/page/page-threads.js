// Threads of pages: the results of a page have what its workers have counted in memories of their own (memories.js), also of those that
// still run, were ended by terminate(), or wait.
//
// The page links each worker that has this script: it sends a port, through which the worker tells of its instances. The port must be
// there before the worker makes an instance, after which it may never come back to its event loop. So it goes before the first message
// with an instrumented module, which is of use only to workers with this script. Other workers say hello when they load the script, in
// a BroadcastChannel, and get a port then. A worker that is linked hands the ports of its own workers on to the page.
import { isShared, readLeft, withContents } from '../memories.js';
import { idOf, nodeModule, parts } from '../parts.js';
import { warn } from '../host.js';
import { startPageThread } from '../thread.js';

const LINKS = {
  MARK: 'whammc.link', CHANNEL: 'whammc.workers', // of messages with ports; of what workers say without one
  DEPTH: 4, MEMBERS: 50,                          // of messages: where modules are looked for
  ARRIVAL: 50, ANSWER: 500,                       // how long to wait for messages in the channel, for answers; ms
};
// The message with a port. Workers of Emscripten that have not loaded this script yet ignore it.
const GREETING = { [LINKS.MARK]: true, target: 'setimmediate' };

const wait = time => new Promise(resolve => { setTimeout(resolve, time); });

function carriesModule(value, depth = LINKS.DEPTH) {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof WebAssembly.Module) return Boolean(idOf(value));
  const isPlain = Array.isArray(value) ? value.length <= LINKS.MEMBERS : [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!depth || !isPlain) return false;
  return Object.values(Object.getOwnPropertyDescriptors(value)).slice(0, LINKS.MEMBERS).some(member => carriesModule(member.value, depth - 1));
}

function broadcast(message) {
  const channel = new BroadcastChannel(LINKS.CHANNEL);
  channel.postMessage(message);
  channel.close();
}

// ---- the workers that this thread starts ----

// Calls adopt(port, taken) for each that gets a port; taken() is to be called when it has come.
function linkWorkers(adopt) {
  const { Worker } = globalThis, { postMessage } = Worker.prototype;
  const made = new Map(), sent = new WeakSet(), linked = new WeakSet(); // the first one: by address, weakly

  function link(worker) {
    const { port1, port2 } = new MessageChannel();
    sent.add(worker);
    Reflect.apply(postMessage, worker, [GREETING, [port2]]);
    adopt(port1, () => linked.add(worker));
  }

  globalThis.Worker = new Proxy(Worker, {
    construct(target, args, newTarget) {
      const worker = Reflect.construct(target, args, newTarget), address = String(new URL(args[0], globalThis.document?.baseURI ?? location.href));
      const others = (made.get(address) ?? []).filter(one => one.deref());
      made.set(address, [...others, new WeakRef(worker)]);
      return worker;
    },
  });
  Worker.prototype.constructor = globalThis.Worker;
  Worker.prototype.postMessage = new Proxy(postMessage, {
    apply(target, self, args) {
      if (self instanceof Worker && !sent.has(self) && !readers.has(self) && carriesModule(args[0])) link(self);
      return Reflect.apply(target, self, args);
    },
  });

  return {
    isOwn: address => made.has(address),

    /** A worker of this address has the script. */
    greeted(address) {
      made.get(address)?.forEach(one => {
        const worker = one.deref();
        if (worker && !linked.has(worker)) link(worker);
      });
    },
  };
}

// ---- memories of modules of which this thread has no instance ----

// The code of a thread that reads them: an instance there, with nothing of the program's, has their contents and is asked.
function readMemories(put) {
  globalThis.onmessage = ({ data: { module, pages, memories } }) => {
    const imports = { whammc: {} }, pieces = [];
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module))
      (imports[from] ??= {})[name] = kind === 'memory' ? new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }) : () => 0;
    imports.whammc.write = (ptr, len) => {
      if (len) pieces.push(new Uint8Array(memory.buffer, ptr >>> 0, len >>> 0).slice());
    };
    const { 'whammc:memory': memory, 'whammc:flush': flush } = new WebAssembly.Instance(module, imports).exports;
    postMessage(memories.map(other => {
      pieces.length = 0;
      try {
        put(memory, other, flush);
      } catch { // its thread is changing it
        return '';
      }
      return pieces.map(piece => new TextDecoder().decode(piece)).join('');
    }));
  };
}

const readers = new WeakSet(); // such threads

// Reads what these instances of one module have counted, in a thread that ends if it takes too long. What cannot be read stays unknown.
async function readModule(instances) {
  const [{ module, pages }] = instances, worker = startPageThread(`(${readMemories})(${withContents});`);
  readers.add(worker);
  const answer = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = reject;
    setTimeout(reject, LINKS.ANSWER);
  });
  worker.postMessage({ module, pages, memories: instances.map(({ memory }) => memory) });
  const reports = await answer.catch(() => []);
  worker.terminate();
  instances.forEach((one, i) => {
    if (reports[i]) one.given = { report: reports[i], sent: [], before: null };
  });
}

async function readAside(instances) {
  const byModule = new Map();
  for (const one of instances.filter(({ pages }) => pages)) byModule.set(one.id, [...byModule.get(one.id) ?? [], one]);
  await Promise.all([...byModule.values()].map(some => readModule(some).catch(() => {}))); // no thread can be started
}

// ---- the thread with the results ----

// The threads that it is told of, and what they have counted.
function createCollector(readerOf) {
  // { number, port, isLinked, instances, answered }; port: null = it has ended. Each instance: { id, memory, module, pages, given, before };
  // `pages`: of its program's memory; `given`: what it has counted, if it has been told; `before`: what of that was there before clear().
  const threads = [];
  const strangers = new Map(); // those with instances that no port has reached: ids of modules by the thread's name
  const read = one => readLeft(readerOf, one) ?? one.given;
  const instances = () => threads.flatMap(thread => thread.instances);
  const unreadOf = some => some.filter(({ id, memory }) => memory && !readerOf(id));
  let told = 0, timer;

  // What threads that have ended have counted stays as it is, and their memories are not needed any more.
  async function readEnded() {
    const ended = threads.filter(({ port }) => !port).flatMap(thread => thread.instances).filter(({ memory }) => memory);
    await readAside(unreadOf(ended));
    for (const one of ended) {
      one.given = read(one);
      if (one.given) one.memory = null;
    }
  }

  function end(thread) {
    thread.port = null;
    thread.answered?.();
    clearTimeout(timer);
    timer = setTimeout(readEnded, LINKS.ARRIVAL);
  }

  const take = {
    linked(thread, name, ports, taken) {
      strangers.delete(name);
      thread.isLinked = true;
      taken?.();
    },
    instance(thread, one) { thread.instances.push({ given: null, before: null, ...one }); },
    adopted(thread, known, [port]) { adopt(port, null, known); },
    answer(thread, found) {
      found.forEach(({ number, at, saved }) => Object.assign(threads[number - 1].instances[at], { given: saved, isTold: true }));
      thread.answered?.();
    },
  };

  function adopt(port, taken, known = []) {
    const thread = { number: threads.length + 1, port, isLinked: false, instances: [], answered: null };
    threads.push(thread);
    known.forEach(one => take.instance(thread, one));
    port?.addEventListener('close', () => end(thread));
    if (port) port.onmessage = ({ data: [what, value], ports }) => take[what](thread, value, ports, taken);
  }

  // Asks all threads: each tells what it can read of what cannot be read here.
  function ask() {
    const unread = threads.flatMap(({ number, instances: some }) => unreadOf(some.map(({ id, memory }, at) => ({ number, at, id, memory }))));
    const answers = threads.filter(({ port, isLinked }) => port && isLinked).map(thread => new Promise(resolve => {
      thread.answered = resolve;
      thread.port.postMessage(unread);
    }));
    return Promise.race([Promise.all(answers), wait(LINKS.ANSWER)]);
  }

  function warnLost(lost, count) {
    if (lost > told) warn(`whammc: the counts of ${lost} of ${count} instances in workers are missing; see WasmProf.threads()`);
    told = lost;
  }

  const counterOf = ({ id, before }, thread, saved) => ({
    id, module: null, report: saved?.report ?? '', save: () => ({ report: '', sent: [], ...saved, before: saved && before, thread, isLost: !saved }),
  });

  return {
    adopt,
    strangers,

    /** What other threads have counted, as counters have it (wasmprof.js). */
    others() {
      const known = threads.flatMap(({ number, instances: some }) => some.map(one => counterOf(one, number, read(one))));
      const unknown = [...strangers].flatMap(([name, ids]) => ids.map(id => counterOf({ id, before: null }, name, null)));
      const found = [...known, ...unknown];
      warnLost(found.filter(({ save }) => save().isLost).length, found.length);
      return found;
    },

    clear() {
      for (const one of instances()) one.before = read(one);
    },

    async settle() {
      await wait(LINKS.ARRIVAL);
      for (const one of instances()) one.isTold = false;
      await ask();
      await readAside(unreadOf(instances()).filter(({ isTold }) => !isTold));
    },

    /** Gives all threads to another thread. */
    handOver(to) {
      for (const { port, instances: some } of threads.splice(0))
        to.postMessage(['adopted', some], port ? [port] : []);
    },
  };
}

// The line of a report that tells how many threads are complete; none if all are.
function tellComplete(programs) {
  const threads = new Map();
  for (const { thread, isLost } of programs.flatMap(({ saved }) => saved)) threads.set(thread, threads.get(thread) || Boolean(isLost));
  const lost = [...threads.values()].filter(Boolean).length;
  return lost ? `${JSON.stringify({ whammc: 'run', threads: threads.size, complete: threads.size - lost })}\n` : '';
}

// ---- a worker ----

// Its instances, of which it tells the page as soon as that has sent a port.
function beginAsWorker(collector, readerOf) {
  const name = Math.random().toString(36).slice(2), address = location.href, instances = [];
  let up = null;

  function begin(port) {
    up = port;
    up.onmessage = ({ data }) => {
      const found = data.map(({ number, at, ...one }) => ({ number, at, saved: readLeft(readerOf, one) }));
      up.postMessage(['answer', found.filter(({ saved }) => saved)]);
    };
    up.postMessage(['linked', name]);
    instances.forEach(one => up.postMessage(['instance', one]));
    collector.handOver(up);
    broadcast({ name, isLinked: true });
  }

  globalThis.addEventListener('message', event => {
    if (event.data?.[LINKS.MARK] !== true) return;
    event.stopImmediatePropagation();
    if (!up) begin(event.ports[0]);
  }, true);
  broadcast({ name, address });

  return {
    tell(one) {
      instances.push(one);
      if (up) up.postMessage(['instance', one]);
      else broadcast({ name, address, id: one.id });
    },
    /** Gives the page the port of a worker of this worker. Whether that was possible. */
    pass(port) {
      up?.postMessage(['adopted', []], [port]);
      return Boolean(up);
    },
  };
}

// How many pages the memory has that the program imports; 0 if nobody knows.
function pagesOf(module, given) {
  const valueOf = (object, name) => Object.getOwnPropertyDescriptor(Object(object), name)?.value;
  const wanted = parts.Module.imports(module).find(({ kind }) => kind === 'memory');
  return (valueOf(valueOf(given, wanted?.module), wanted?.name)?.buffer?.byteLength ?? 0) / 65536;
}

/** Begins, once: readerOf(id) tells what is in memories, if this thread has an instance of that module. Adds functions to WasmProf. */
function enter(profiler) {
  if (!globalThis.crossOriginIsolated || typeof Worker !== 'function' || nodeModule('worker_threads') || profiler.threads) return;
  const collector = createCollector(profiler.readerOf), self = typeof DedicatedWorkerGlobalScope === 'function' ? beginAsWorker(collector, profiler.readerOf) : null;
  const workers = linkWorkers((port, taken) => self?.pass(port) || collector.adopt(port, taken));
  const channel = new BroadcastChannel(LINKS.CHANNEL);
  channel.onmessage = ({ data: { name, address, id, isLinked } }) => {
    if (isLinked) collector.strangers.delete(name);
    if (!workers.isOwn(address)) return;
    if (id) collector.strangers.set(name, [...collector.strangers.get(name) ?? [], id]);
    else workers.greeted(address);
  };
  Object.assign(parts.threads, {
    announce(id, memory, save, module, given) {
      if (isShared(memory)) self?.tell({ id, memory, module, pages: pagesOf(module, given) });
    },
    others: collector.others,
    clear: collector.clear,
    tellComplete,
  });

  /** Waits until running workers have told what they have counted; a promise of WasmProf. */
  profiler.threads = async () => {
    await collector.settle();
    return profiler;
  };
}

parts.threads.enter ??= enter;
