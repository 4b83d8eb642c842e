import type { Plugin } from 'rollup';
import type { PluginOptions } from './index.js';

export type { Pattern, PluginOptions, PluginScript } from './index.js';
/** The plugin for rollup. */
export default function whammc(options: PluginOptions): Plugin;
