// What programs print while they run, whole lines: to standard error in Node, elsewhere to the console.
import { nodeModule, parts } from './parts.js';

// A pipe that is full and does not wait takes a part of the bytes, or none.
function writeLines(fs, bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(2, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') return; // nobody reads them
    }
  }
}

const SHOW_MS = 200;
const waiting = new Set(); // functions that pass on what is in the buffer of a program

function showWaiting() {
  for (const show of waiting) {
    try {
      show();
    } catch {
      waiting.delete(show); // the program's memory may be anything
    }
  }
}

/**
 * Shows what a program has printed, `show()` of its exports, also if it neither calls an import nor reports any more: after a moment, and when
 * the process or the page ends.
 */
parts.watchLines ??= show => {
  if (!waiting.size) {
    globalThis.process?.on?.('exit', showWaiting);
    globalThis.addEventListener?.('pagehide', showWaiting);
    if (typeof setInterval === 'function') setInterval(showWaiting, SHOW_MS).unref?.();
  }
  waiting.add(show);
};

parts.lines ??= bytes => {
  const fs = globalThis.process?.versions?.node ? nodeModule('fs') : null;
  if (fs) writeLines(fs, bytes);
  else console.log(new TextDecoder().decode(bytes.subarray(0, -1)));
};
