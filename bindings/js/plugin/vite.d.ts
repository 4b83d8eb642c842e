import type { Plugin } from 'vite';
import type { PluginOptions } from './index.js';

export type { Pattern, PluginOptions, PluginScript } from './index.js';
/** The plugin for vite. */
export default function whammc(options: PluginOptions): Plugin;
