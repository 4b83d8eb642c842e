import type { Plugin } from 'esbuild';
import type { PluginOptions } from './index.js';

export type { Pattern, PluginOptions, PluginScript } from './index.js';
/** The plugin for esbuild. */
export default function whammc(options: PluginOptions): Plugin;
