// What programs send through the functions of the module prof: times in milliseconds by caller and callee.
import { parts } from './parts.js';

// A pair can have plain calls, which are set, and calls by reference, which are added: neither replaces the other.
const NO_CALLS = { calls: 0, ms: 0 };

/** The table of one instance: { imports: what the program sends with, read }; cleared() is called when it has cleared the table. */
function createTable(cleared) {
  const rows = new Map();

  function at(caller, callee) {
    let row = rows.get(caller);
    if (!row) rows.set(caller, row = new Map());
    let arc = row.get(callee);
    if (!arc) row.set(callee, arc = { set: NO_CALLS, calls: 0, ms: 0 });
    return arc;
  }

  const read = () => [...rows].flatMap(([caller, row]) => [...row].map(([callee, { set, calls, ms }]) =>
    ({ caller, callee, calls: set.calls + calls, ms: set.ms + ms })));

  return {
    imports: {
      clearResults() {
        rows.clear();
        cleared();
      },

      addArcData(caller, callee, calls, ms) {
        const arc = at(caller >>> 0, callee >>> 0);
        arc.calls += calls >>> 0;
        arc.ms += ms;
      },

      setArcData(caller, callee, calls, ms) {
        at(caller >>> 0, callee >>> 0).set = { calls: calls >>> 0, ms };
      },
    },

    /** All of it: { caller, callee, calls, ms }. */
    read,

    /** What is sent during fn(), which leaves the table as it was. */
    readAside(fn) {
      const own = [...rows];
      rows.clear();
      try {
        fn();
        return read();
      } finally {
        rows.clear();
        own.forEach(([caller, row]) => rows.set(caller, row));
      }
    },
  };
}

parts.table ??= { createTable };
