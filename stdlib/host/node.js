// Modules of Node.

/** A module of Node, from classic scripts and ES modules alike; null elsewhere. */
export function nodeModule(name) {
  const { process } = globalThis;
  if (process?.getBuiltinModule) return process.getBuiltinModule(name);
  return process?.versions?.node && typeof require === 'function' ? require(name) : null;
}
