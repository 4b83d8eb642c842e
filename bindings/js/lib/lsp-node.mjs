// lib/lsp-node.mjs - `whammc lsp` in Node: the language server on the standard streams, without runs.
import { readFileSync } from 'node:fs';
import { languageServer } from './lsp.mjs';

const HEADER = /^(?:[^\r\n]*\r\n)*?content-length: *(\d+)\r\n(?:[^\r\n]+\r\n)*\r\n/i;
const WRONG = 2; // the exit status

function readFile(path) {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}

/** Cuts the messages that are complete off the input; gives what is left, or null if it is none of the protocol. */
function cutMessages(input, take) {
  for (;;) {
    const end = input.indexOf('\r\n\r\n');
    if (end < 0) return input;
    const [, size] = HEADER.exec(input.toString('latin1', 0, end + 4)) ?? [], from = end + 4;
    if (!size) return null;
    if (input.length < from + Number(size)) return input;
    take(input.toString('utf8', from, from + Number(size)));
    input = input.subarray(from + Number(size));
  }
}

/** Serves until the client ends it; gives the exit status. */
export async function serveEditor() {
  const send = message => {
    const text = JSON.stringify(message);
    process.stdout.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  let input = Buffer.alloc(0), told = false;
  const server = await languageServer({ send, read: readFile });
  for await (const piece of process.stdin) {
    input = cutMessages(Buffer.concat([input, piece]), text => {
      told ||= /"method" *: *"shutdown"/.test(text);
      if (!server.exited) server.receive(text);
    });
    if (input === null) {
      console.error("whammc lsp: error: expected the header of a message, 'Content-Length: N', on standard input");
      return WRONG;
    }
    if (server.exited) return told ? 0 : 1;
    if (!process.stdin.readableLength) server.idle();
  }
  return 1;
}
