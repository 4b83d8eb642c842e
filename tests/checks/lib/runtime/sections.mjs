// The ids of a module's sections, in order.
export function sectionsOf(bytes) {
  const sections = [];
  for (let at = 8; at < bytes.length;) {
    sections.push(bytes[at++]);
    let len = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      len |= (bytes[at] & 127) << shift;
      more = bytes[at++] >= 128;
    }
    at += len;
  }
  return sections;
}
