// plugin/rspack.mjs - import whammc from 'whammc/rspack'
import { unplugin } from './index.mjs';

export default unplugin.rspack;
