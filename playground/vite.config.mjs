// The build of the page; scripts/playground sets the paths:
//
//   WHAMMC_JS_PACKAGE   the npm package, as `make js` makes it
//   PLAYGROUND_ASSETS   a folder with programs/ and libraries/, which are served as they are
//   PLAYGROUND_SOURCE   the project's folder
//   PLAYGROUND_OUT      where the page goes
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vite';

const folder = name => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: build the page with \`make playground\``);
  return path.resolve(value);
};
const whammc = folder('WHAMMC_JS_PACKAGE'), assets = folder('PLAYGROUND_ASSETS'), source = folder('PLAYGROUND_SOURCE'), out = folder('PLAYGROUND_OUT');

/** The only script that is in the page's pictures, as src/format/svg.c writes it: no other one may run there. */
function pictureScript() {
  const text = `\n${readFileSync(path.join(source, 'stdlib/flame.js'), 'utf8')}`;
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const POLICY = ["default-src 'self'", `script-src 'self' 'wasm-unsafe-eval' ${pictureScript()}`, "style-src 'self' 'unsafe-inline'", "img-src 'self' data: blob:",
  "frame-src blob:", "worker-src 'self'", "object-src 'none'", "base-uri 'none'", "form-action 'none'"].join('; ');

function filesBelow(root, below = '') {
  return readdirSync(path.join(root, below), { withFileTypes: true }).flatMap(entry => {
    const name = path.posix.join(below, entry.name);
    return entry.isDirectory() ? filesBelow(root, name) : [name];
  });
}

/** The policy; programs and libraries; and a service worker that knows all files, and has a version that changes with them. */
const whole = {
  name: 'whammc-playground',
  apply: 'build',
  transformIndexHtml: html => html.replace('<meta charset="utf-8">', `$&\n  <meta http-equiv="Content-Security-Policy" content="${POLICY}">`),
  closeBundle() {
    cpSync(assets, out, { recursive: true });
    const files = filesBelow(out).filter(name => name !== 'sw.js').sort(), hash = createHash('sha256');
    for (const name of files) hash.update(name).update(readFileSync(path.join(out, name)));
    const worker = readFileSync(new URL('./sw.js', import.meta.url), 'utf8');
    writeFileSync(path.join(out, 'sw.js'), worker.replace("'@VERSION@'", JSON.stringify(hash.digest('hex').slice(0, 16)))
      .replace("'@FILES@'", JSON.stringify(['./', ...files.filter(name => name !== 'index.html')])));
  },
};

export default defineConfig({
  base: './',
  resolve: { alias: [{ find: /^whammc\/host$/, replacement: path.join(whammc, 'host/whammc.js') }, { find: /^whammc$/, replacement: path.join(whammc, 'index.mjs') }] },
  worker: { format: 'es' },
  build: { outDir: out, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 1000 },
  plugins: [whole],
});
