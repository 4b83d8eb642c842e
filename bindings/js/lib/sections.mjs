// lib/sections.mjs - custom sections of WebAssembly modules.

/** The custom section by which a thread finds the original of an instrumented module. */
export const KEY_SECTION = 'whammc.key';
const HEADER = 8, CUSTOM = 0;
const EMPTY = [CUSTOM, 1, 0]; // a section without a name

function number(bytes, at) {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const next = bytes[at++];
    value += (next & 127) * scale;
    if (!(next & 128)) return { value, at };
  }
}

/** All custom sections of a valid module: { name, content }. */
export function allCustomSections(bytes) {
  const found = [];
  for (let at = HEADER; at < bytes.length;) {
    const id = bytes[at], size = number(bytes, at + 1), end = size.at + size.value;
    if (id === CUSTOM) {
      const length = number(bytes, size.at), start = length.at + length.value;
      found.push({ name: new TextDecoder().decode(bytes.subarray(length.at, start)), content: Uint8Array.from(bytes.subarray(start, end)) });
    }
    at = end;
  }
  return found;
}

/** Contents of those called `name`, as WebAssembly.Module.customSections gives them. */
export function namedSections(sections, name) {
  return sections.filter(each => each.name === name).map(({ content }) => content.slice().buffer);
}

/** The module with a section that holds `key`, which is at most 100 characters of ASCII. */
export function appendKey(bytes, key) {
  const content = new TextEncoder().encode(`${String.fromCharCode(KEY_SECTION.length)}${KEY_SECTION}${key}`);
  const made = new Uint8Array(bytes.length + 2 + content.length);
  made.set(bytes);
  made.set([CUSTOM, content.length], bytes.length);
  made.set(content, bytes.length + 2);
  return made;
}

/** Makes modules of different keys differ in size, by which V8 calls all of more than 16 KB: its profiles must tell them apart. */
export function createSizes() {
  const keys = new Map(); // by size
  return (bytes, key) => {
    let size = bytes.length;
    while ((keys.get(size) ?? key) !== key) size += EMPTY.length;
    keys.set(size, key);
    const made = new Uint8Array(size);
    made.set(bytes);
    for (let at = bytes.length; at < size; at += EMPTY.length) made.set(EMPTY, at);
    return made;
  };
}
