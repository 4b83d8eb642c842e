// What register.js loads in classic workers, as one classic script that scripts/js makes of it: register-worker.js.
import { address, settings } from './lib/tag.mjs';
import { register } from './lib/page.mjs';
import { setLocation } from './lib/wasm.mjs';

setLocation(new URL('whammc.wasm', address));
register(settings);
