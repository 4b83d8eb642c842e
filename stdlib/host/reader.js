// Reads custom sections.

/** Reads LEB128 and bytes of the custom section `name`; throws RangeError at the end. */
export function createReader(bytes, name) {
  let at = 0;

  function byte() {
    if (at >= bytes.length) throw new RangeError(`${name} is not complete`);
    return bytes[at++];
  }

  function take(length) {
    if (length > bytes.length - at) throw new RangeError(`${name} is not complete`);
    at += length;
    return bytes.subarray(at - length, at);
  }

  function unsigned() {
    let value = 0, scale = 1, next;
    do {
      next = byte();
      value += (next & 127) * scale;
      scale *= 128;
    } while (next & 128);
    return value;
  }

  function signed() {
    let value = 0n, shift = 0n, next;
    do {
      next = byte();
      value |= BigInt(next & 127) << shift;
      shift += 7n;
    } while (next & 128);
    return next & 64 ? value - (1n << shift) : value;
  }

  return { byte, take, unsigned, signed, more: () => at < bytes.length };
}
