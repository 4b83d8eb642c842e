// Threads of Node: what a thread has counted is not lost when terminate() or process.exit() ends it, and nothing runs in it any more.
//
// Each thread tells the main thread of its instances, through a channel. A program with threads counts in a shared memory of its own
// (memories.js), of which the main thread then has a handle: an instance of the same module reads it when the thread has ended. Other
// instances, and those of modules that the main thread has not loaded, can be asked for what they have counted as long as their thread
// comes back to its event loop. So the main thread asks before it ends them.
//
// Who makes the report of a thread, that thread or the main thread, is decided by its state, a word of shared memory.
import { isShared, readLeft } from '../memories.js';
import { nodeModule, parts } from '../parts.js';

const CHANNELS = { announce: 'whammc.threads', ask: 'whammc.ask.' }; // the second one with the number of a thread
const RUNNING = 0, REPORTING = 1, REPORTED = 2; // states of threads
// How long the main thread waits for answers, ms: in vain in all, and for one thread that it ends; for the end of one that has begun.
const WAITS = { inVain: 1000, forOne: 200, least: 20, forEnd: 10000 };
const UNREAD = 16; // memories of ended threads, before they are read
let begun = false;

/** Whether this thread is the one that makes its report, from now on. */
const claim = state => Atomics.compareExchange(state, 0, RUNNING, REPORTING) === RUNNING;

function release(state) {
  Atomics.store(state, 0, REPORTED);
  Atomics.notify(state, 0);
}

// ---- the other threads ----

function beginInWorker({ threadId, BroadcastChannel }) {
  const state = new Int32Array(new SharedArrayBuffer(4)), instances = [];

  function post(message) {
    const channel = new BroadcastChannel(CHANNELS.announce);
    channel.postMessage({ thread: threadId, ...message });
    channel.close();
  }

  function give(prepare) {
    prepare?.();
    post({ given: instances.map(({ id, save }) => ({ id, saved: save() })) });
  }

  function answer() {
    if (!claim(state)) return;
    try {
      give();
    } finally {
      release(state);
    }
  }

  return {
    /** Tells of an instance: the id of its module, whammc:memory if it has that, and save(), which gives what it has counted until now. */
    announce(id, memory, save) {
      if (!instances.length) {
        const asked = new BroadcastChannel(CHANNELS.ask + threadId);
        asked.onmessage = answer;
        asked.unref();
      }
      instances.push({ id, save });
      post({ state, instance: { id, memory: isShared(memory) ? memory : null } });
    },

    /**
     * Makes the report of this thread, which ends, unless the main thread makes it. With prepare(), which is called before, the main
     * thread gets what this one has counted.
     */
    report(make, prepare) {
      if (!claim(state)) return;
      try {
        if (prepare && instances.length) give(prepare);
        else make();
      } finally {
        release(state);
      }
    },

    collect: () => [],
  };
}

// ---- the main thread ----

function beginInMain({ BroadcastChannel, Worker, receiveMessageOnPort }, readerOf) {
  const channel = new BroadcastChannel(CHANNELS.announce), threads = new Map();
  const workers = new Map(), { terminate } = Worker.prototype; // by thread, weakly
  let patience = WAITS.inVain;

  // A thread: { thread: its number, state, instances, given: what is known of them, null as long as nothing is, ended,
  // taken: the main thread makes its report }.
  function take({ thread, state, instance, given }) {
    const known = threads.get(thread) ?? { thread, state, instances: [], given: null, ended: false };
    threads.set(thread, known);
    if (given) known.given = given;
    else known.instances.push(instance);
  }

  function drain() {
    for (let next; (next = receiveMessageOnPort(channel));) take(next.message);
    threads.forEach((known, thread) => { // what has made its report itself
      if (!known.given && Atomics.load(known.state, 0) === REPORTED) threads.delete(thread);
    });
  }

  const isOpen = ({ state, given }) => !given && Atomics.load(state, 0) !== REPORTED;
  const mustAsk = known => isOpen(known) && !known.taken && !known.ended && known.instances.some(({ id, memory }) => !memory || !readerOf(id));

  // Asks threads, and waits for their answers to begin, and to end.
  function ask(asked, longest) {
    const start = Date.now(), deadline = start + Math.max(WAITS.least, Math.min(longest, patience));
    for (const { thread } of asked) {
      const line = new BroadcastChannel(CHANNELS.ask + thread);
      line.postMessage(null);
      line.close();
    }
    for (const { state } of asked) {
      Atomics.wait(state, 0, RUNNING, Math.max(0, deadline - Date.now()));
      Atomics.wait(state, 0, REPORTING, WAITS.forEnd);
    }
    if (asked.some(({ state }) => Atomics.load(state, 0) === RUNNING)) patience -= Date.now() - start;
    drain();
  }

  // Before a thread is ended: it makes its report, if it has begun to, or never does.
  function takeOver(known) {
    if (known.taken || known.given) return;
    known.taken = claim(known.state);
    if (!known.taken && !known.ended) Atomics.wait(known.state, 0, REPORTING, WAITS.forEnd);
  }

  // The process ends: threads that are still computing would change what is read.
  function stopAll() {
    const running = [...threads.values()].filter(known => isOpen(known) && !known.ended);
    for (const known of running) {
      takeOver(known);
      const { thread } = known, worker = workers.get(thread)?.deref();
      if (worker) Reflect.apply(terminate, worker, []);
    }
    if (running.length) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAITS.least); // until engines have noticed
    drain();
  }

  // Reads what a thread has left: nothing that can be used, if something else ended it in the middle of its report.
  function open(known) {
    takeOver(known);
    if (Atomics.load(known.state, 0) === REPORTED) return;
    known.given = known.instances.map(instance => ({ id: instance.id, saved: known.taken ? readLeft(readerOf, instance) : null }));
    known.instances = [];
    release(known.state);
  }

  function beforeTerminate(thread) {
    drain();
    const known = threads.get(thread);
    if (known && mustAsk(known)) ask([known], WAITS.forOne);
    if (known) takeOver(known);
    return known;
  }

  function afterTerminate(known) {
    known.ended = true;
    const closed = [...threads.values()].filter(one => one.ended && isOpen(one));
    if (closed.length > UNREAD) closed.forEach(open);
  }

  Worker.prototype.terminate = new Proxy(terminate, {
    apply(target, self, args) {
      const known = beforeTerminate(self?.threadId), result = Reflect.apply(target, self, args);
      if (known) result.then(() => afterTerminate(known), () => {});
      return result;
    },
  });
  globalThis.process.on('worker', worker => workers.set(worker.threadId, new WeakRef(worker)));
  channel.onmessage = ({ data }) => take(data);
  channel.unref();

  return {
    announce() {},
    report: make => make(),

    /** What the threads have counted that do not tell it themselves: { id, thread, saved }, which is null if it is lost. */
    collect() {
      drain();
      ask([...threads.values()].filter(mustAsk), WAITS.inVain);
      stopAll();
      const all = [...threads.values()];
      all.filter(isOpen).forEach(open);
      return all.flatMap(({ thread, given }) => (given ?? []).map(one => ({ ...one, thread })));
    },
  };
}

/**
 * Begins, once, before there are instances. readerOf(id) is for the main thread: if it has an instance of this module, what tells what
 * is in a memory.
 */
function begin(readerOf) {
  const threads = nodeModule('worker_threads'), { Deno, Bun } = globalThis;
  if (!threads?.receiveMessageOnPort || Deno || Bun || begun) return;
  begun = true;
  Object.assign(parts.threads, threads.isMainThread ? beginInMain(threads, readerOf) : beginInWorker(threads));
}

parts.threads.begin ??= begin;
