// Memories of threads. A program with threads counts in a shared memory of its own, whammc:memory, of which other threads can have a handle:
// an instance of the same module there tells what was counted, whether the thread still runs or not.
import { isBuiltIn, parts } from './parts.js';

/** Whether threads can share this memory. */
export const isShared = memory => isBuiltIn(memory?.buffer, 'SharedArrayBuffer');

/** Calls fn() while a memory has the contents of another one. Threads have this function as text, too: it uses nothing else. */
export function withContents(memory, other, fn) {
  const bytes = new Uint8Array(other.buffer).slice(), missing = bytes.length - memory.buffer.byteLength;
  if (missing > 0) memory.grow(missing / 65536);
  const own = new Uint8Array(memory.buffer).slice();
  const put = contents => {
    const all = new Uint8Array(memory.buffer);
    all.set(contents);
    all.fill(0, contents.length);
  };
  put(bytes);
  try {
    fn();
  } finally {
    put(own);
  }
}

/** What an instance has counted whose memory this is, as the reader for its module tells it; null if there is none, or it cannot tell. */
export function readLeft(readerOf, { id, memory }) {
  try {
    return (memory && readerOf(id)?.(memory)) ?? null;
  } catch { // there is no memory for that, or the thread was changing its data when it ended
    return null;
  }
}

parts.threads ??= { withContents, announce() {}, report: make => make(), collect: () => [], others: () => [], clear() {} };
