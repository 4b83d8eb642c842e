// Calls of functions in workers.

/** In a worker: answers calls of `functions`; what they return is sent, errors with their diagnostics. */
export function serve(functions) {
  onmessage = async ({ data: { id, name, args } }) => {
    try {
      const value = await functions[name](...args);
      postMessage({ id, value }, value?.module?.buffer instanceof ArrayBuffer ? [value.module.buffer] : []);
    } catch (error) {
      postMessage({ id, error: { message: String(error?.message ?? error), diagnostics: error?.diagnostics ?? [] } });
    }
  };
}

/** On a page: an object whose call(name, ...args) gives a promise. `make()` starts the worker. */
export function connect(make) {
  let worker = null, count = 0;
  const waiting = new Map();

  function fail(message) {
    for (const { reject } of waiting.values()) reject(new Error(message));
    waiting.clear();
  }

  function start() {
    worker = make();
    worker.onmessage = ({ data: { id, value, error } }) => {
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(Object.assign(new Error(error.message), { diagnostics: error.diagnostics }));
      else resolve(value);
    };
    worker.onerror = event => {
      event.preventDefault();
      worker.terminate();
      worker = null;
      fail(event.message || 'a part of the playground could not be loaded');
    };
  }

  return {
    call(name, ...args) {
      if (!worker) start();
      return new Promise((resolve, reject) => {
        waiting.set(++count, { resolve, reject });
        worker.postMessage({ id: count, name, args });
      });
    },
  };
}
