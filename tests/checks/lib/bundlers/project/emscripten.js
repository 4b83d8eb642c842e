import create from './app.mjs';
import { show } from './show.js';
const lines = [];
await create({ print: line => lines.push(line) }).then(app => app._work(10));
show(lines.join('\n'));
