// What the scripts beside programs are made of (src/cli/javascript.c), for the tests of Node and of pages.

/** The parts that are there when OUT.js has been loaded, of a program that needs these; what shows them comes with OUT.views.js. */
export function firstParts(needed) {
  const shows = needed.includes('calls') || needed.includes('sampling');
  const first = needed.filter(part => part !== 'calls' && part !== 'sampling');
  return [...first, ...(shows ? ['files', 'loader'] : ['save'])];
}

/** The parts that OUT.views.js adds. */
export const viewParts = needed => ['names', 'save', ...(needed.includes('calls') ? ['views'] : []), ...(needed.includes('sampling') ? ['sampling'] : [])];

/** A list as the tests show the parts that are there. */
export const listOf = names => [...new Set(names)].sort().join();

/** An expression for the parts that are there. */
export const LIST_PARTS = "Object.keys(globalThis[Symbol.for('whammc.parts.4')]).filter(name => name !== 'sources').sort().join()";
