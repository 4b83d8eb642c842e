// Permanent links: the state of the page, compressed, in the fragment of its address, which is not sent to servers.

const VERSION = '1.';
const MOST = 1 << 20; // bytes that a link may have when it is unpacked

const through = (bytes, stream) => new Blob([bytes]).stream().pipeThrough(stream);

/** The bytes of a stream; fails if there are more than MOST. */
async function collect(stream) {
  const pieces = [];
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST) throw new Error('too long');
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

const toBase64 = bytes => btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))
  .replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
const fromBase64 = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));

/** { script, program, args, stdin } as what stands behind the #. */
export async function encodeLink(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  if (bytes.length > MOST) throw new Error('the script and its input are too long for a link');
  return VERSION + toBase64(await collect(through(bytes, new CompressionStream('deflate-raw'))));
}

/** The reverse: null if there is nothing, and an error if it is damaged. */
export async function decodeLink(hash) {
  const text = hash.replace(/^#/, '');
  if (!text) return null;
  if (!text.startsWith(VERSION)) throw new Error('this link is not one of the playground, or is from a later version');
  let state;
  try {
    state = JSON.parse(new TextDecoder().decode(await collect(through(fromBase64(text.slice(VERSION.length)), new DecompressionStream('deflate-raw')))));
  } catch {
    throw new Error('this link is damaged: it may have been cut off');
  }
  const known = {};
  for (const name of ['script', 'program', 'args', 'stdin']) if (typeof state?.[name] === 'string') known[name] = state[name];
  return known;
}
