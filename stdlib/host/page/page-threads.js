// Threads of pages: the results of a page have what its workers have counted in memories of their own (memories.js), also of those that
// still run, were ended by terminate(), or wait.
//
// The page links each worker that has this script: it sends a port, through which the worker tells of its instances. The port must be
// there before the worker makes an instance, after which it may never come back to its event loop. So it goes before the first message
// with an instrumented module, which is of use only to workers with this script. Other workers say hello when they load the script, in
// a BroadcastChannel, and get a port then. A worker that is linked hands the ports of its own workers on to the page.
import { isShared, keptIn, readLeft, withContents } from '../memories.js';
import { asksFor, idOf, nodeModule, parts } from '../parts.js';
import { warn } from '../host.js';
import { startPageThread } from '../thread.js';

const LINKS = {
  MARK: 'whammc.link', CHANNEL: 'whammc.workers', // of messages with ports; of what workers say without one
  DEPTH: 4, MEMBERS: 50,                          // of messages: where modules are looked for
  ARRIVAL: 50, ANSWER: 500, OTHERS: 5000,         // how long to wait for messages in the channel, answers and ports, other threads to begin; ms
};
// The message with a port. Workers of Emscripten that have not loaded this script yet ignore it.
const GREETING = { [LINKS.MARK]: true, target: 'setimmediate' };

const wait = time => new Promise(resolve => { setTimeout(resolve, time); });

// The id of the first instrumented module in a message, '' = there is none.
function moduleIn(value, depth = LINKS.DEPTH) {
  if (typeof value !== 'object' || value === null) return '';
  if (value instanceof WebAssembly.Module) return idOf(value);
  const isPlain = Array.isArray(value) ? value.length <= LINKS.MEMBERS : [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!depth || !isPlain) return '';
  for (const member of Object.values(Object.getOwnPropertyDescriptors(value)).slice(0, LINKS.MEMBERS)) {
    const id = moduleIn(member.value, depth - 1);
    if (id) return id;
  }
  return '';
}

function broadcast(message) {
  const channel = new BroadcastChannel(LINKS.CHANNEL);
  channel.postMessage(message);
  channel.close();
}

// ---- the workers that this thread starts ----

// Calls adopt(port, link) for each that gets a port. A link: { id, isTaken }: of the module that the worker gets, '' = it is not known;
// whether a port has come. There can be a second port, if the worker has missed the first one.
function linkWorkers(adopt) {
  const { Worker } = globalThis, { postMessage } = Worker.prototype;
  const made = new Map(), links = new WeakMap(), warned = new Set(); // by address, weakly; by worker; addresses
  const silent = new WeakSet(); // workers for which arrive() has waited in vain
  const isExpected = worker => worker && !readers.has(worker) && !silent.has(worker) && !links.get(worker)?.isTaken;
  const expected = () => [...made.values()].flat().map(one => one.deref()).filter(isExpected);

  function greet(worker, id) {
    const { port1, port2 } = new MessageChannel();
    if (!links.has(worker)) links.set(worker, { id, isTaken: false });
    Reflect.apply(postMessage, worker, [{ ...GREETING, atomics: parts.atomics?.begin() }, [port2]]);
    adopt(port1, links.get(worker));
  }

  function checkLinked(worker) {
    const [address] = [...made].find(([, some]) => some.some(one => one.deref() === worker)) ?? [];
    if (links.get(worker).isTaken || warned.has(address)) return;
    warned.add(address);
    warn(`whammc: the worker ${address ?? ''} has got an instrumented module, and has not loaded what counts in workers, or not before that: ` +
      'it cannot have instances, or they are not counted');
  }

  function note(worker, given) {
    const address = String(new URL(given, globalThis.document?.baseURI ?? location.href)), others = (made.get(address) ?? []).filter(one => one.deref());
    made.set(address, [...others, new WeakRef(worker)]);
    return worker;
  }

  parts.workers?.forEach(([worker, given]) => note(worker, given));
  globalThis.Worker = new Proxy(Worker, {
    construct: (target, args, newTarget) => note(Reflect.construct(target, args, newTarget), args[0]),
  });
  Worker.prototype.constructor = globalThis.Worker;
  Worker.prototype.postMessage = new Proxy(postMessage, {
    apply(target, self, args) {
      const id = self instanceof Worker && !links.has(self) && !readers.has(self) && moduleIn(args[0]);
      if (id) {
        greet(self, id);
        setTimeout(checkLinked, LINKS.OTHERS, self);
      }
      return Reflect.apply(target, self, args);
    },
  });

  return {
    isOwn: address => made.has(address),

    /** Waits until the ports of all workers that this thread has started have come; for none of them twice. */
    async arrive() {
      for (let waited = 0; waited < LINKS.ANSWER && expected().length; waited += LINKS.ARRIVAL) await wait(LINKS.ARRIVAL);
      expected().forEach(worker => silent.add(worker));
    },

    /** A worker of this address has the script. */
    greeted(address) {
      made.get(address)?.forEach(one => {
        const worker = one.deref();
        if (worker && !links.get(worker)?.isTaken) greet(worker, '');
      });
    },
  };
}

// ---- memories of modules of which this thread has no instance ----

// The code of a thread that reads them: an instance there, with nothing of the program's, has their contents and is asked.
function readMemories(put) {
  globalThis.onmessage = ({ data: { module, pages, memories, kept, atomics } }) => {
    const imports = { whammc: {} };
    const stubs = { memory: () => new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), global: () => 0 };
    let chunks;
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = stubs[kind]?.() ?? (() => 0);
    if (atomics) imports.whammc.atomics = atomics;
    imports.whammc.write = (ptr, len) => {
      if (len) chunks.push(new Uint8Array(memory.buffer, ptr >>> 0, len >>> 0).slice());
    };
    const { 'whammc:memory': memory, 'whammc:flush': flush } = new WebAssembly.Instance(module, imports).exports;
    postMessage(memories.map(other => {
      chunks = [];
      try {
        put(memory, other, kept, flush);
      } catch { // its thread is changing it
        return [];
      }
      return chunks;
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
    setTimeout(reject, LINKS.OTHERS);
  });
  worker.postMessage({
    module, pages, memories: instances.map(({ memory }) => memory), kept: keptIn(module), atomics: asksFor(module, 'atomics') && parts.atomics?.begin(),
  });
  const reports = await answer.catch(() => []);
  worker.terminate();
  instances.forEach((one, i) => {
    if (reports[i]?.length) one.given = { report: reports[i], sent: [], before: null };
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
  // { number, port, link, isLinked, instances, answered }; port: null = it has ended; isLinked: this port has come. Each instance:
  // { id, memory, module, pages, given, before }; `pages`: of its program's memory; `given`: what it has counted, if it has been told;
  // `before`: what of that was there before clear().
  const threads = [];
  const strangers = new Map(); // those with instances that no port has reached: ids of modules by the thread's name
  const read = one => readLeft(readerOf, one) ?? one.given;
  const instances = () => threads.flatMap(thread => thread.instances);
  const unreadOf = some => some.filter(({ id, memory }) => memory && !readerOf(id));
  let silent = [], told = 0, timer; // the first one: modules of workers that have told nothing; maybe they are strangers

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
    linked(thread, name) {
      strangers.delete(name);
      thread.isLinked = thread.link.isTaken = true;
    },
    instance(thread, one) { thread.instances.push({ given: null, before: null, ...one }); },
    adopted(thread, known, [port]) { adopt(port, { id: '', isTaken: true }, known); },
    answer(thread, found) {
      found.forEach(({ at, saved }) => Object.assign(thread.instances[at], { given: saved, isTold: true }));
      thread.answered?.();
    },
  };

  function adopt(port, link, known = []) {
    const thread = { number: threads.length + 1, port, link, isLinked: known.length > 0, instances: [], answered: null };
    threads.push(thread);
    known.forEach(one => take.instance(thread, one));
    port?.addEventListener('close', () => end(thread));
    if (port) port.onmessage = ({ data: [what, value], ports }) => take[what](thread, value, ports);
  }

  // Asks all threads for what cannot be read here. They do not read for each other, as their memories change while they read.
  function ask() {
    const answers = threads.filter(({ port, isLinked }) => port && isLinked).map(thread => new Promise(resolve => {
      thread.answered = resolve;
      const unread = unreadOf(thread.instances);
      thread.port.postMessage(thread.instances.flatMap((one, at) => (unread.includes(one) ? at : [])));
    }));
    return Promise.race([Promise.all(answers), wait(LINKS.ANSWER)]);
  }

  function warnLost(lost, count) {
    if (lost > told) warn(`whammc: the counts of ${lost} of ${count} instances in workers are missing; see WasmProf.threads()`);
    told = lost;
  }

  const counterOf = ({ id, before }, thread, saved) => ({
    id, module: null, report: saved?.report ?? null, save: () => ({ report: null, sent: [], ...saved, before: saved && before, thread, isLost: !saved }),
  });

  return {
    adopt,
    strangers,

    /** What other threads have counted, as counters have it (wasmprof.js). */
    others() {
      const known = threads.flatMap(({ number, instances: some }) => some.map(one => counterOf(one, number, read(one))));
      const unknown = [...strangers].flatMap(([name, ids]) => ids.map(id => counterOf({ id, before: null }, name, null)));
      const found = [...known, ...unknown, ...unknown.length ? [] : silent.map((id, i) => counterOf({ id, before: null }, `silent${i}`, null))];
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
      silent = [...new Set(threads.map(({ link }) => link))].filter(({ id, isTaken }) => id && !isTaken).map(({ id }) => id);
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
function beginAsWorker(collector) {
  const name = Math.random().toString(36).slice(2), address = location.href, instances = [], saves = [];
  let up = null;

  function begin(port) {
    up = port;
    up.onmessage = ({ data }) => {
      up.postMessage(['answer', data.map(at => ({ at, saved: saves[at]() }))]);
    };
    up.postMessage(['linked', name]);
    instances.forEach(one => up.postMessage(['instance', one]));
    collector.handOver(up);
    broadcast({ name, isLinked: true });
  }

  globalThis.addEventListener('message', event => {
    if (event.data?.[LINKS.MARK] !== true) return;
    event.stopImmediatePropagation();
    parts.atomics?.begin(event.data.atomics);
    if (!up) begin(event.ports[0]);
  }, true);
  broadcast({ name, address });

  return {
    /** Says again what pages need to know, if no port has come. */
    repeat() {
      if (up) return;
      broadcast({ name, address });
      instances.forEach(({ id }) => broadcast({ name, address, id }));
    },

    /** Tells of an instance; save() gives what it has counted until now. */
    tell(one, save) {
      instances.push(one);
      saves.push(save);
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
  const collector = createCollector(profiler.readerOf), self = typeof DedicatedWorkerGlobalScope === 'function' ? beginAsWorker(collector) : null;
  const workers = linkWorkers((port, link) => self?.pass(port) || collector.adopt(port, link));
  const channel = new BroadcastChannel(LINKS.CHANNEL);
  channel.onmessage = ({ data: { isNew, name, address, id, isLinked } }) => {
    if (isNew) self?.repeat();
    if (isLinked) collector.strangers.delete(name);
    if (!workers.isOwn(address)) return;
    if (id) collector.strangers.set(name, [...collector.strangers.get(name) ?? [], id]);
    else workers.greeted(address);
  };
  if (parts.workers?.length) channel.postMessage({ isNew: true });
  Object.assign(parts.threads, {
    announce(id, memory, save, module, given) {
      if (isShared(memory)) self?.tell({ id, memory, module, pages: pagesOf(module, given) }, save);
    },
    others: collector.others,
    clear: collector.clear,
    tellComplete,
  });

  /** Waits until running workers have told what they have counted; a promise of WasmProf. */
  profiler.threads = async () => {
    await workers.arrive();
    await collector.settle();
    return profiler;
  };
}

parts.threads.enter ??= enter;
