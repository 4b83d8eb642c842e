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

parts.lines ??= bytes => {
  const fs = globalThis.process?.versions?.node ? nodeModule('fs') : null;
  if (fs) writeLines(fs, bytes);
  else console.log(new TextDecoder().decode(bytes.subarray(0, -1)));
};
