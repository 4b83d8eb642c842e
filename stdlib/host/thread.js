// Threads of the host, in Node and in pages. Their errors are not the program's: the thread does not begin, or ends.

/** Starts a thread that executes this code, given Node's module node:worker_threads; it does not keep Node alive. */
export function startNodeThread({ Worker }, code, workerData) {
  const worker = new Worker(code, { eval: true, execArgv: [], workerData });
  worker.on('error', () => {});
  worker.unref();
  return worker;
}

/** Whether a page can start threads that share memory. */
export function canStartPageThread() {
  return typeof globalThis.Worker === 'function' && Boolean(globalThis.crossOriginIsolated);
}

/** Starts a thread in a page; throws if the page's policy forbids it. */
export function startPageThread(code) {
  const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  try {
    const worker = new Worker(`${url}#whammc`); // by which others know it
    worker.addEventListener('error', event => event.preventDefault());
    return worker;
  } finally {
    setTimeout(() => URL.revokeObjectURL(url), 10000); // when it has been loaded
  }
}
