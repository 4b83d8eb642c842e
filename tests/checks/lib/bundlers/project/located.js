import create from './app.mjs';
import url from './app.wasm?url';
import { show } from './show.js';
const lines = [];
await create({ print: line => lines.push(line), locateFile: () => url }).then(app => app._work(10));
show(lines.join('\n'));
