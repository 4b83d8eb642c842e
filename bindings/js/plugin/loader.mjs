// plugin/loader.mjs - the loader for webpack and Rspack, which gets each module as bytes before anything else does.
import { instrumenters } from './registry.mjs';

export const raw = true;

/** Returns the instrumented module. If the script has errors, the plugin has reported them, and the module is left unchanged. */
export default async function load(bytes) {
  const done = this.async(), instrumenter = instrumenters.get(this.getOptions().id);
  instrumenter.files.forEach(file => this.addDependency(file));
  try {
    if (await instrumenter.load().then(() => false, () => true)) return done(null, bytes);
    const made = await instrumenter.instrument(bytes, this.resourcePath);
    if (made?.problem && instrumenter.strict) return done(new Error(made.problem.text));
    if (made?.problem) this.emitWarning(new Error(made.problem.text));
    return done(null, made?.bytes ? Buffer.from(made.bytes) : bytes);
  } catch (error) {
    return done(error);
  }
}
