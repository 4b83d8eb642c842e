// Declarations of the plugins for bundlers: whammc/vite, whammc/rollup, whammc/webpack, whammc/rspack, whammc/esbuild.
import type { InstrumentOptions, Library, Bytes } from '../index.js';

/** A pattern of paths (*, **, ?, {a,b}; without a slash of names), or a regular expression that the path has to match somewhere. */
export type Pattern = string | RegExp;

export interface PluginOptions {
  /** Names of bundled scripts, paths of files (relative to the project), or texts with their names; one or several. */
  script: PluginScript | PluginScript[];
  /** Which modules are instrumented: all that the bundle loads. */
  include?: Pattern | Pattern[];
  /** Which of these are not. */
  exclude?: Pattern | Pattern[];
  /** Constants of the scripts, as -D of the command. */
  define?: Record<string, string>;
  libraries?: Library[] | Record<string, Bytes>;
  /** A module that cannot be instrumented is an error, not only a warning. */
  strict?: boolean;
  instrument?: Omit<InstrumentOptions, 'host' | 'name'>;
  /** The folder for instrumented modules, relative to the project: node_modules/.cache/whammc. */
  cache?: string;
}
export type PluginScript = string | { name: string; text: string };
