// lib/names.mjs - the names of functions in a module, and sections that the page reads.

const CUSTOM = 0, EXPORTS = 7, FUNCTION = 0, FUNCTION_NAMES = 1, HEADER = 8;

class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    Object.assign(this, { bytes, at, end });
  }

  get more() {
    return this.at < this.end;
  }

  byte() {
    if (!this.more) throw new RangeError('the module ends too early');
    return this.bytes[this.at++];
  }

  number() {
    let value = 0, scale = 1, byte;
    do {
      byte = this.byte();
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte & 0x80);
    return value;
  }

  part(size = this.number()) {
    const start = this.at;
    if (start + size > this.end) throw new RangeError('the module ends too early');
    this.at += size;
    return new Reader(this.bytes, start, start + size);
  }

  text() {
    const { at, end } = this.part();
    return new TextDecoder().decode(this.bytes.subarray(at, end));
  }
}

function readNames(reader, names) {
  while (reader.more) {
    const kind = reader.byte(), part = reader.part();
    if (kind !== FUNCTION_NAMES) continue;
    for (let count = part.number(); count > 0; count--) names[part.number()] = part.text();
  }
}

function readExports(reader, names) {
  for (let count = reader.number(); count > 0; count--) {
    const name = reader.text(), kind = reader.byte(), index = reader.number();
    if (kind === FUNCTION) names[index] ??= name;
  }
}

/** The names of a module's functions by their numbers, null where there is none. What cannot be read has no names. */
export function functionNames(bytes) {
  const reader = new Reader(bytes, HEADER), named = {}, exported = {};
  try {
    while (reader.more) {
      const kind = reader.byte(), part = reader.part();
      if (kind === EXPORTS) readExports(part, exported);
      else if (kind === CUSTOM && part.text() === 'name') readNames(part, named);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const all = { ...exported, ...named }, numbers = Object.keys(all).map(Number);
  const names = Array(Math.min(numbers.reduce((most, number) => Math.max(most, number), -1) + 1, bytes.length)).fill(null);
  for (const number of numbers) if (number < names.length) names[number] = all[number];
  return names;
}

function leb(number) {
  const bytes = [];
  do {
    bytes.push(number % 128 + (number > 127 ? 128 : 0));
    number = Math.floor(number / 128);
  } while (number);
  return bytes;
}

/** The module with a custom section behind all others. */
export function addSection(module, name, text) {
  const encoder = new TextEncoder(), title = encoder.encode(name), content = encoder.encode(text);
  const inner = [...leb(title.length), ...title], head = [CUSTOM, ...leb(inner.length + content.length), ...inner];
  const bytes = new Uint8Array(module.length + head.length + content.length);
  bytes.set(module);
  bytes.set(head, module.length);
  bytes.set(content, module.length + head.length);
  return bytes;
}
