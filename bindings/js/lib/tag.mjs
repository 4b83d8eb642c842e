// lib/tag.mjs - the script tag of register.js, if there was one. To be imported before all that takes functions of WebAssembly: it
// puts the engine's back.
const tag = globalThis[Symbol.for('whammc.tag')];
tag?.begin();

/** Its attributes data-script and so on. */
export const settings = tag?.settings;
