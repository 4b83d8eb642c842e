// whammc for JavaScript: see README.md and index.d.ts. index.cjs is made of the same files.
import { setLocation } from './lib/wasm.mjs';

setLocation(new URL('./whammc.wasm', import.meta.url));

export { init } from './lib/wasm.mjs';
export {
  Compiler, WhammcError, bind, bundledScripts, check, compile, debugReference, explain, nameFunctions, runtime, version,
} from './lib/api.mjs';
export { languageServer } from './lib/lsp.mjs';
export { Report, coverage, readReport } from './lib/report.mjs';
