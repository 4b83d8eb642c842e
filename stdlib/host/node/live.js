// The program's side of `whammc run --http` (src/serve/live.c): makes reports while the program runs, at polls
// (src/rewrite/polls.h), where no probe is active.
//
// `wanted` is a file of 4 bytes, the number of the last request; `reports` is a pipe for reports: the number of the request (4
// bytes), whether a report follows (4 bytes; otherwise a message, why it cannot be made), its size in bytes (8 bytes), all little
// endian.

// In milliseconds: how often to read `wanted`, and how often to be polled. After a report, there is none for a multiple of the time
// that it took.
const LOOK = 10, POLL = 2, REST = 4;
const MOST = 1 << 17; // polls from one call to the next, as they may become slower

/** `fs` has readSync and writeSync; make() returns the bytes of a report. The returned function is the program's import whammc.poll. */
export function createPoll(fs, [wanted, reports], make) {
  const number = new Uint32Array(1);
  let served = 0, next = 0, rest = 0, budget = 1000, last = performance.now(); // not to look, or report, before `next` and `rest`

  function send(good, bytes) {
    const head = new DataView(new ArrayBuffer(16));
    [served, good ? 1 : 0, bytes.length].forEach((value, i) => head.setUint32(4 * i, value, true));
    for (const part of [new Uint8Array(head.buffer), bytes])
      for (let at = 0; at < part.length;) at += fs.writeSync(reports, part, at);
  }

  function deliver(now) {
    let bytes = null, message = '';
    try {
      bytes = make();
    } catch (error) { // as the stack is exhausted
      message = String(error?.message ?? error);
    }
    send(bytes !== null, bytes ?? new TextEncoder().encode(message));
    const end = performance.now();
    rest = end + REST * (end - now);
    next = Math.max(rest, end + LOOK);
  }

  // A program that waits cannot be asked, so it leaves what it has got.
  function look(now, waits) {
    next = now + LOOK;
    fs.readSync(wanted, number, 0, 4, 0);
    const asked = number[0] !== served;
    served = number[0];
    if (asked || (waits && served)) deliver(now);
  }

  return waits => {
    const now = performance.now();
    if (!waits) budget = Math.max(1, Math.min(MOST, 2 * budget, Math.floor(budget * POLL / Math.max(now - last, 1e-3))));
    if (now >= (waits ? rest : next)) {
      try {
        look(now, waits);
      } catch { // nobody reads any more: the program goes on
        next = rest = Infinity;
      }
    }
    last = performance.now();
    return budget;
  };
}
