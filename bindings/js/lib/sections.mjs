// lib/sections.mjs - custom sections of WebAssembly modules.

/** The custom section by which a thread finds the original of an instrumented module. */
export const KEY_SECTION = 'whammc.key';
const HEADER = 8, CUSTOM = 0, MODULE_NAME = 0;
const EMPTY = [CUSTOM, 1, 0]; // a section without a name

function number(bytes, at) {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const next = bytes[at++];
    value += (next & 127) * scale;
    if (!(next & 128)) return { value, at };
  }
}

/** The text at `at`, and where it ends. */
function nameAt(bytes, at) {
  const length = number(bytes, at), end = length.at + length.value;
  return { value: new TextDecoder().decode(bytes.subarray(length.at, end)), at: end };
}

/** The custom sections of a valid module: { name, content }, which are views. */
function* customSections(bytes) {
  for (let at = HEADER; at < bytes.length;) {
    const id = bytes[at], size = number(bytes, at + 1), end = size.at + size.value;
    if (id === CUSTOM) {
      const name = nameAt(bytes, size.at);
      yield { name: name.value, content: bytes.subarray(name.at, end) };
    }
    at = end;
  }
}

/** Copies of all of them. */
export function allCustomSections(bytes) {
  return [...customSections(bytes)].map(({ name, content }) => ({ name, content: Uint8Array.from(content) }));
}

/** What a valid module calls itself in its section `name`, in one line; '' if it does not. */
export function moduleName(bytes) {
  for (const { name, content } of customSections(bytes))
    if (name === 'name' && content[0] === MODULE_NAME) return nameAt(content, number(content, 1).at).value.replace(/\p{Cc}/gu, ' ').trim();
  return '';
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
