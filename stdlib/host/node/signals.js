// Saves data before a signal ends a program in Node.

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'], SAVES = Symbol.for('whammc.saves');

/**
 * Calls save() before a signal ends the process. If the program also handles the signal, it decides whether and how it ends, and
 * nothing is done here. Node delivers signals between callbacks, not during a long call of a program. Returns a function that
 * cancels this.
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
