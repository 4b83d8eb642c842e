// plugin/esbuild.mjs - import whammc from 'whammc/esbuild'
import { unplugin } from './index.mjs';

export default unplugin.esbuild;
