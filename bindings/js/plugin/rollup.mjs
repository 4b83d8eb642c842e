// plugin/rollup.mjs - import whammc from 'whammc/rollup'
import { unplugin } from './index.mjs';

export default unplugin.rollup;
