// Lets what makes strings of reports fail as if no string could have more than `limit` units: where strings end in V8, reports have
// 512 MB. With STRING_LIMIT in the environment, from the beginning: node --import short_strings.mjs.
export function limitStrings(limit) {
  const check = size => { if (size > limit) throw new Error(`Cannot create a string longer than 0x${limit.toString(16)} characters`); };
  const { decode } = TextDecoder.prototype, { join } = Array.prototype, { toString } = Buffer.prototype;
  TextDecoder.prototype.decode = function decodeSome(bytes, ...options) {
    check(bytes?.byteLength ?? 0);
    return Reflect.apply(decode, this, [bytes, ...options]);
  };
  Array.prototype.join = function joinSome(...separator) {
    const text = Reflect.apply(join, this, separator);
    check(text.length);
    return text;
  };
  Buffer.prototype.toString = function toSomeString(...how) {
    check(this.length);
    return Reflect.apply(toString, this, how);
  };
  return () => {
    TextDecoder.prototype.decode = decode;
    Array.prototype.join = join;
    Buffer.prototype.toString = toString;
  };
}

if (process.env.STRING_LIMIT) limitStrings(Number(process.env.STRING_LIMIT));
