// Memories of threads. A program with threads counts in a shared memory of its own, whammc:memory, of which other threads can have a handle:
// an instance of the same module there tells what was counted, whether the thread still runs or not.
import { isBuiltIn, parts } from './parts.js';

/** Whether threads can share this memory. */
export const isShared = memory => isBuiltIn(memory?.buffer, 'SharedArrayBuffer');

/** The addresses of what `fn` of withContents changes that the other memory is to keep: what was reported of atomic variables. */
export function keptIn(module) {
  const section = parts.Module.customSections(module, 'whammc.atomics').pop();
  return section ? [...new Uint32Array(section)] : [];
}

/**
 * Calls fn() while a memory has the contents of another one, which keeps what is at some addresses then. Threads have this function as
 * text, too: it uses nothing else.
 */
export function withContents(memory, other, kept, fn) {
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
    for (const at of kept) new Uint8Array(other.buffer, at, 8).set(new Uint8Array(memory.buffer, at, 8));
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

parts.threads ??= { withContents, keptIn, announce() {}, report: make => make(), collect: () => [], others: () => [], clear() {} };
