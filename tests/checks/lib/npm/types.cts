// The same for CommonJS.
import whammc = require('whammc');

void whammc.compile('hotness').then((compiler: whammc.Compiler) => compiler.instrument(new Uint8Array()).module.length);
