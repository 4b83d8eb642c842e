// plugin/vite.mjs - import whammc from 'whammc/vite'
import { unplugin } from './index.mjs';

export default unplugin.vite;
