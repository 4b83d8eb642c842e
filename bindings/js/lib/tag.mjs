// lib/tag.mjs - what register.js has left, if it was loaded: as the element of a script tag, or in a worker. To be imported before all
// that takes functions of WebAssembly: it puts the engine's back.
const tag = globalThis[Symbol.for('whammc.tag')];
tag?.begin();

/** The element's attributes data-script and so on. */
export const settings = tag?.settings;
/** The workers that the page has started since, each with what it gave for the address. */
export const workers = tag?.workers ?? [];
/** Where register.js is. */
export const address = tag?.address;
