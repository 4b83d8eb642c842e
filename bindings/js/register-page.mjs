// import 'whammc/register', or <script type="module">, in a page or a worker: see the manual, docs/npm.md.
import { settings } from './lib/tag.mjs';
import { register } from './lib/page.mjs';
import { setLocation } from './lib/wasm.mjs';

setLocation(new URL('./whammc.wasm', import.meta.url));
register(settings);
