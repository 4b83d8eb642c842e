import type { WebpackPluginInstance } from 'webpack';
import type { PluginOptions } from './index.js';

export type { Pattern, PluginOptions, PluginScript } from './index.js';
/** The plugin for webpack. */
export default function whammc(options: PluginOptions): WebpackPluginInstance;
