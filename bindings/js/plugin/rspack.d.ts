import type { RspackPluginInstance } from '@rspack/core';
import type { PluginOptions } from './index.js';

export type { Pattern, PluginOptions, PluginScript } from './index.js';
/** The plugin for rspack. */
export default function whammc(options: PluginOptions): RspackPluginInstance;
