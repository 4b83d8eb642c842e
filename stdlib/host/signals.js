// Signals that ask a program in Node to end: what must be saved is saved before they do.

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'], SAVES = Symbol.for('whammc.saves');

/**
 * Calls save() before a signal ends the process. If the program listens to the signal, too, it decides whether and how it ends,
 * and nothing is done here. Node tells of signals between two callbacks, not in the middle of a long call of a program.
 * Returns what ends that.
 */
export function beforeSignals(save) {
  const { process } = globalThis;
  if (typeof process?.on !== 'function') return () => {};
  const saves = process[SAVES] ?? listen(process); // one listener serves all, whichever script has brought it
  saves.add(save);
  return () => saves.delete(save);
}

function listen(process) {
  const saves = new Set();
  Object.defineProperty(process, SAVES, { value: saves });
  for (const signal of SIGNALS) {
    const listener = () => {
      if (process.listenerCount(signal) > 1) return;
      try {
        saves.forEach(save => save());
      } finally {
        process.off(signal, listener); // not before: a second signal would end the process at once
        process.kill(process.pid, signal);
      }
    };
    process.on(signal, listener);
  }
  return saves;
}
