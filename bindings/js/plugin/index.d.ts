// Declarations of the plugins for bundlers: whammc/vite, whammc/rollup, whammc/webpack, whammc/rspack, whammc/esbuild.
import type { InstrumentOptions, Library, Bytes } from '../index.js';

/** A path pattern (*, **, ?, {a,b}; without a slash it matches file names), or a regular expression that is searched in the path. */
export type Pattern = string | RegExp;

export interface PluginOptions {
  /** Names of bundled scripts, paths of files (relative to the project), or texts with their names; one or several. */
  script: PluginScript | PluginScript[];
  /** The modules to instrument. Default: all that the bundle loads. */
  include?: Pattern | Pattern[];
  /** Modules not to instrument. */
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
