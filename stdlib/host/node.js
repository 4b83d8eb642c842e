// Modules of Node.

/** The address of this script, as the engine tells it in errors: '(file:///a/out.js:1:2)', '(/a/out.js:1:2)', '@http://host/out.js:1:2'. */
export function addressOfScript() {
  return /[(@]((?:\w+:)?[/\\].*):\d+:\d+\)?$/m.exec(new Error().stack)?.[1] ?? '';
}

/** A module of Node, from classic scripts and ES modules alike; null elsewhere. */
export function nodeModule(name) {
  const { process } = globalThis;
  if (process?.getBuiltinModule) return process.getBuiltinModule(name);
  return process?.versions?.node && typeof require === 'function' ? require(name) : null;
}
