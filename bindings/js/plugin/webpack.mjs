// plugin/webpack.mjs - import whammc from 'whammc/webpack'
import { unplugin } from './index.mjs';

export default unplugin.webpack;
