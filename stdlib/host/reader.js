// Reads custom sections.

/** Reads LEB128 and bytes of the custom section `name`; throws RangeError at the end, or if a number has more than 64 bits. */
export function createReader(bytes, name) {
  let at = 0;

  function need(is) {
    if (!is) throw new RangeError(`${name} is damaged`);
  }

  function byte() {
    need(at < bytes.length);
    return bytes[at++];
  }

  function take(length) {
    need(length <= bytes.length - at);
    at += length;
    return bytes.subarray(at - length, at);
  }

  function unsigned() {
    let value = 0, scale = 1, next;
    do {
      need(scale < 2 ** 64);
      next = byte();
      value += (next & 127) * scale;
      scale *= 128;
    } while (next & 128);
    return value;
  }

  function signed() {
    let value = 0n, shift = 0n, next;
    do {
      need(shift < 64n);
      next = byte();
      value |= BigInt(next & 127) << shift;
      shift += 7n;
    } while (next & 128);
    return next & 64 ? value - (1n << shift) : value;
  }

  return { byte, take, unsigned, signed, more: () => at < bytes.length };
}
